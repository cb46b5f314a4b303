"""Outlines of plates: corners of a polygon in a plane, the moments of its area, and whether it crosses itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from momentree.model.expressions.expression import Expression
from momentree.model.values import LARGEST_LENGTH, Mistake, Raw, Values, check_later
from momentree.spatial import Scalar

MOST_CORNERS = 1000
Point = tuple[Scalar, Scalar]


class Moments(NamedTuple):
    """Integrals over the area of 1, a, b, a a, b b and a b; all negative signs if the corners run clockwise."""

    area: Scalar
    a: Scalar
    b: Scalar
    aa: Scalar
    bb: Scalar
    ab: Scalar


def moments_of(points: Sequence[Point]) -> Moments:
    """By Green's theorem, an integral along each edge, from (a, b) to (c, d) with w = a d - c b.

    area = sum w / 2, of a: sum w (a + c) / 6, of a a: sum w (a a + a c + c c) / 12,
    of a b: sum w (2 a b + a d + c b + 2 c d) / 24.
    """
    sums: list[Scalar] = [0] * 6
    for (a, b), (c, d) in zip(points, [*points[1:], points[0]], strict=True):
        w = a * d - c * b
        terms = (1, a + c, b + d, a * a + a * c + c * c, b * b + b * d + d * d, 2 * a * b + a * d + c * b + 2 * c * d)
        sums = [total + w * term for total, term in zip(sums, terms, strict=True)]
    return Moments(*(total / part for total, part in zip(sums, (2, 6, 6, 12, 12, 24), strict=True)))


def corners(raw: Raw, values: Values) -> list[Point]:
    """The corners that a user wrote."""
    if not isinstance(raw, tuple) or len(raw) < 3 or not all(isinstance(point, tuple) for point in raw):
        said = "is missing" if raw is None else f"is {raw!r}" if len(repr(raw)) <= 60 else "is something else"
        message = f"outline {said}; at least three corners are expected, such as [[0, 0], [1, 0], [0, 1]]."
        raise Mistake(message, "outline")
    if len(raw) > MOST_CORNERS:
        message = f"outline has {len(raw)} corners; a polygon has at most {MOST_CORNERS}. Use a mesh."
        raise Mistake(message, "outline")
    points = []
    for point in raw:
        a, b = values.scalars(point, 2, "outline")
        if any(not isinstance(x, Expression) and abs(x) > LARGEST_LENGTH for x in (a, b)):
            raise Mistake(f"outline is larger than {LARGEST_LENGTH:g} m, too large to compute with.", "outline")
        points.append((a, b))
    return points


def check_outline(points: Sequence[Point]) -> None:
    """Raises Mistake for corners that enclose no area, or whose edges meet; later, where parameters are free."""
    numbers = [x for point in points for x in point]
    if any(isinstance(x, Expression) for x in numbers):
        check_later(lambda *flat: check_outline([*zip(flat[::2], flat[1::2], strict=True)]), *numbers)
        return
    crossing = _crossing(np.array(points, dtype=float))
    if crossing is not None:
        i, k = crossing
        n = len(points)
        edges = [f"{a + 1}-{(a + 1) % n + 1}" for a in (i, k)]
        message = f"outline crosses or touches itself: the edges between corners {edges[0]} and {edges[1]} meet."
        raise Mistake(f"{message} Write the corners one after another along the rim.", "outline")


def _crossing(p: np.ndarray) -> tuple[int, int] | None:
    """Two edges that meet where they should not: edges that are not neighbors, or a neighbor that turns back."""
    q = np.roll(p, -1, axis=0)
    n = len(p)
    size = float(np.abs(p - p[0]).max())
    for i in range(n):
        if np.array_equal(p[i], q[i]):
            return i, (i + 1) % n
        u, v = q[i] - p[i], q[(i + 1) % n] - q[i]
        if abs(_cross(u, v)) <= 1e-14 * size * size and u @ v < 0:
            return i, (i + 1) % n
        others = np.arange(i + 2, n if i else n - 1)  # without its neighbors
        if not len(others):
            continue
        a, b = p[others], q[others]
        sides = [_cross(u, a - p[i]), _cross(u, b - p[i]), _cross(b - a, p[i] - a), _cross(b - a, q[i] - a)]
        apart = (sides[0] * sides[1] > 0) | (sides[2] * sides[3] > 0) | _boxes_apart(p[i], q[i], a, b)
        if not apart.all():
            return i, int(others[np.argmin(apart)])
    return None


def _boxes_apart(p: np.ndarray, q: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether the bounding boxes of edge p-q and edges a-b do not meet: along one line the sides say nothing."""
    below = np.maximum(a, b) < np.minimum(p, q)
    above = np.minimum(a, b) > np.maximum(p, q)
    apart: np.ndarray = (below | above).any(axis=1)
    return apart


def _cross(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    across: np.ndarray = u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]
    return across
