"""Plates: triangles of flat outlines with a thickness: polygons, toothed wheels and toothed rings, along z."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from momentree.look.meshes import Mesh

Array = NDArray[np.float64]
Index = NDArray[np.int64]
ADDENDUM, DEDENDUM = 1.0, 1.25  # of the module: how far teeth reach beyond the pitch circle and below it
TIP, ROOT = 0.1, 0.33  # of the pitch: half the width of a tooth at its tip and at its root
RIM = 3.0  # of the module: from the pitch circle of a ring to its outside


def prism(outline: Sequence[Sequence[float]] | Array, thickness: float) -> Mesh:
    """A plate with any simple outline, (n, 2), half its thickness above z = 0 and half below."""
    points = np.asarray(outline, dtype=float)
    if signed_area(points) < 0:
        points = points[::-1]
    return _between(points, triangulated(points), thickness)


def toothed_wheel(radius: float, teeth: int, thickness: float, angle: float = 0.0) -> Mesh:
    """A gear by its pitch radius, with a tooth at this angle (rad)."""
    module = 2 * radius / teeth
    rim = _teeth(radius + ADDENDUM * module, max(radius - DEDENDUM * module, 0.3 * radius), teeth, angle)
    n = len(rim)
    fan = np.stack([np.arange(n), (np.arange(n) + 1) % n, np.full(n, n)], axis=1)
    return _between(np.vstack([rim, [(0.0, 0.0)]]), fan, thickness, rim=n)


def toothed_ring(radius: float, teeth: int, thickness: float, angle: float = 0.0) -> Mesh:
    """A gear with its teeth inside, by its pitch radius, with a tooth at this angle (rad)."""
    module = 2 * radius / teeth
    inner = _teeth(radius - ADDENDUM * module, radius + DEDENDUM * module, teeth, angle)
    outer = inner / np.linalg.norm(inner, axis=1, keepdims=True) * (radius + RIM * module)
    n, i = len(inner), np.arange(len(inner))
    k = (i + 1) % n
    caps = np.concatenate([np.stack([i, k, n + i], axis=1), np.stack([k, n + k, n + i], axis=1)])
    height = _heights(2 * n, thickness)
    vertices = np.column_stack([np.tile(np.vstack([outer, inner]), (2, 1)), height])
    faces = [caps, caps[:, ::-1] + 2 * n, _sides(i, k, 2 * n), _sides(n + k, n + i, 2 * n)]
    return Mesh(vertices, np.concatenate(faces).astype(np.int64))


def triangulated(points: Array) -> Index:
    """Triangles of a simple polygon whose corners run counterclockwise, by cutting off ears (Meisters)."""
    left, triangles = list(range(len(points))), []
    while len(left) > 3:
        at = _ear(points, left)
        triangles.append((left[at - 1], left[at], left[(at + 1) % len(left)]))
        del left[at]
    return np.array([*triangles, tuple(left)], dtype=np.int64)


def signed_area(points: Array) -> float:
    """Positive if the corners run counterclockwise."""
    ahead = np.roll(points, -1, axis=0)
    return float(np.sum(points[:, 0] * ahead[:, 1] - ahead[:, 0] * points[:, 1]) / 2)


def _ear(points: Array, left: list[int]) -> int:
    """A corner whose triangle with its neighbors is inside and holds no other corner."""
    p = points[left]
    before, after = np.roll(p, 1, axis=0), np.roll(p, -1, axis=0)
    turning = _cross(p - before, after - p)
    others = p[turning <= 0]  # only corners that turn inwards can be in the way
    for at in np.flatnonzero(turning > 0):
        a, b, c = before[at], p[at], after[at]
        rest = others[~((others == a).all(axis=1) | (others == c).all(axis=1))]
        inside = (_cross(b - a, rest - a) >= 0) & (_cross(c - b, rest - b) >= 0) & (_cross(a - c, rest - c) >= 0)
        if not inside.any():
            return int(at)
    return int(np.argmin(np.abs(turning)))  # what is left is flat


def _cross(u: Array, v: Array) -> Array:
    return np.asarray(u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0])


def _teeth(tip: float, root: float, teeth: int, angle: float) -> Array:
    """A toothed rim, (4 teeth, 2), counterclockwise."""
    pitch = 2 * np.pi / teeth
    middles = angle + pitch * np.arange(teeth)[:, None]
    angles = (middles + pitch * np.array([-ROOT, -TIP, TIP, ROOT])).ravel()
    radii = np.tile([root, tip, tip, root], teeth)
    return np.column_stack([radii * np.cos(angles), radii * np.sin(angles)])


def _between(points: Array, cap: Index, thickness: float, rim: int | None = None) -> Mesh:
    """The same cap above and below, and sides along the first `rim` points."""
    n = len(points)
    i = np.arange(n if rim is None else rim)
    vertices = np.column_stack([np.tile(points, (2, 1)), _heights(n, thickness)])
    faces = [cap, cap[:, ::-1] + n, _sides(i, np.roll(i, -1), n)]
    return Mesh(vertices, np.concatenate(faces).astype(np.int64))


def _heights(count: int, thickness: float) -> Array:
    return np.repeat([thickness / 2, -thickness / 2], count)


def _sides(i: Index, k: Index, below: int) -> Index:
    """Two triangles for each edge of a rim, from a point i above to the next, k; points below are so much later."""
    return np.concatenate([np.stack([i, i + below, k], axis=1), np.stack([k, i + below, k + below], axis=1)])
