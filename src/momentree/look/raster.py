"""Raster: triangles as pixels, what is nearest in front, with soft light, dark outlines and smooth edges.

Each triangle is filled row by row; a depth for each pixel of a grid that is finer than the picture decides which one is
seen there. Pixels are averaged at the end, so that edges are smooth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.int64]
FINE = 2  # pixels of the grid to one of the picture, in each direction
MOST = 16_000_000  # pixels of the grid: larger pictures are drawn less finely
AT_ONCE = 4_000_000  # pixels that are filled before they are compared with what is there
OUTLINE = 0.45  # of its light: what is left at the outline of a piece
CREASE = np.cos(np.radians(35))  # faces that meet at a larger angle have an edge


class Triangles(NamedTuple):
    """What is painted.

    | field  | shape     | meaning                                                              |
    |--------|-----------|----------------------------------------------------------------------|
    | sheet  | n x 3 x 2 | corners in pixels of the picture: to the right, and downwards        |
    | depth  | n x 3     | how near each corner is to the viewer; more is nearer                |
    | light  | n x 3     | the part of its color that is seen at each corner, 0 to 1            |
    | colors | n x 3     | red, green, blue, 0 to 1                                             |
    | pieces | n         | numbers; two pieces are told apart by an outline                     |
    """

    sheet: Array
    depth: Array
    light: Array
    colors: Array
    pieces: Index


def painted(triangles: Triangles, size: tuple[int, int]) -> NDArray[np.uint8]:
    """The picture, height x width x 4: red, green, blue, and how opaque it is."""
    whole = np.zeros((size[1], size[0], 4), dtype=np.uint8)
    # only where there is anything
    low = np.clip(np.floor(triangles.sheet.reshape(-1, 2).min(axis=0, initial=np.inf)), 0, size).astype(int)
    high = np.clip(np.ceil(triangles.sheet.reshape(-1, 2).max(axis=0, initial=-np.inf)), low, size).astype(int)
    width, height = high - low
    if not width or not height:
        return whole
    fine = max(k for k in range(1, FINE + 1) if k == 1 or width * height * k * k <= MOST)
    part = Triangles((triangles.sheet - low) * fine, *triangles[1:])
    grid = _shaded(part, (height * fine, width * fine))
    mean = grid.reshape(height, fine, width, fine, 4).mean(axis=(1, 3))
    opaque = mean[..., 3:]
    mean[..., :3] /= np.where(opaque > 0, opaque, 1)
    whole[low[1] : high[1], low[0] : high[0]] = np.round(255 * mean)
    return whole


def _shaded(triangles: Triangles, shape: tuple[int, int]) -> NDArray[np.float32]:
    """What is seen at each pixel of the grid: red, green, blue, and 1 where there is anything, else zeros."""
    seen, depth = _nearest(triangles, shape)
    there = np.flatnonzero(seen >= 0)
    which = seen.ravel()[there]
    light = _affine(triangles.sheet[which], triangles.light[which], there % shape[1], there // shape[1])
    pieces = np.full(shape, -1)
    pieces.ravel()[there] = triangles.pieces[which]
    light = np.clip(light, 0, 1) * np.where(_outlines(pieces, depth).ravel()[there], OUTLINE, 1)
    rgba = np.zeros((shape[0] * shape[1], 4), dtype=np.float32)
    rgba[there, :3] = triangles.colors[which] * light[:, None]
    rgba[there, 3] = 1
    return rgba.reshape(*shape, 4)


def _nearest(triangles: Triangles, shape: tuple[int, int]) -> tuple[Index, Array]:
    """The number of the triangle that is seen at each pixel, -1 where there is none; and how near it is."""
    depth, seen = np.full(shape, -np.inf), np.full(shape, -1, dtype=np.int64)
    near, at = depth.ravel(), seen.ravel()
    which, row, first, count = _spans(triangles.sheet, shape)
    ends = np.cumsum(count)
    begin = 0
    while begin < len(count):
        filled = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, filled + AT_ONCE, side="right")))
        part, some = slice(begin, end), count[begin:end]
        column = np.repeat(first[part], some) + np.arange(some.sum()) - np.repeat(np.cumsum(some) - some, some)
        owner, line = np.repeat(which[part], some), np.repeat(row[part], some)
        z = _affine(triangles.sheet[owner], triangles.depth[owner], column, line)
        pixel = line * shape[1] + column
        np.maximum.at(near, pixel, z)
        wins = z >= near[pixel]
        at[pixel[wins]] = owner[wins]
        begin = end
    return seen, depth


def _spans(sheet: Array, shape: tuple[int, int]) -> tuple[Index, Index, Index, Index]:
    """Triangle, row, first column and number of pixels of every row of every triangle, whose centers are inside."""
    low, high = sheet[..., 1].min(axis=1), sheet[..., 1].max(axis=1)
    top = np.clip(np.ceil(low - 0.5), 0, shape[0]).astype(np.int64)
    rows = np.clip(np.floor(high - 0.5).astype(np.int64) + 1 - top, 0, shape[0] - top)
    which = np.repeat(np.arange(len(sheet)), rows)
    row = np.repeat(top, rows) + np.arange(rows.sum()) - np.repeat(np.cumsum(rows) - rows, rows)
    left, right = np.full(len(which), np.inf), np.full(len(which), -np.inf)
    for i in range(3):  # where the row crosses each side
        (ax, ay), (bx, by) = sheet[which, i].T, sheet[which, (i + 1) % 3].T
        rise = by - ay
        with np.errstate(divide="ignore", invalid="ignore"):
            s = (row + 0.5 - ay) / rise
            x = np.where((s >= 0) & (s <= 1), ax + s * (bx - ax), np.nan)
        left, right = np.fmin(left, x), np.fmax(right, x)
    left, right = (np.clip(side, -1, shape[1] + 1) for side in (left, right))
    first = np.maximum(np.ceil(left - 0.5), 0).astype(np.int64)
    count = np.clip(np.floor(right - 0.5).astype(np.int64) + 1, 0, shape[1]) - first
    kept = count > 0
    return which[kept], row[kept], first[kept], count[kept]


def _affine(sheet: Array, values: Array, column: Index, row: Index) -> Array:
    """Values between those at the corners of triangles, at the center of a pixel in each."""
    a, u, v = sheet[:, 0], sheet[:, 1] - sheet[:, 0], sheet[:, 2] - sheet[:, 0]
    area = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
    area = np.where(np.abs(area) > 1e-12, area, np.inf)  # seen edge on: as at its first corner
    dx, dy = column + 0.5 - a[:, 0], row + 0.5 - a[:, 1]
    s, t = (dx * v[:, 1] - dy * v[:, 0]) / area, (dy * u[:, 0] - dx * u[:, 1]) / area
    return np.asarray(values[:, 0] + s * (values[:, 1] - values[:, 0]) + t * (values[:, 2] - values[:, 0]))


def _outlines(pieces: Index, depth: Array) -> NDArray[np.bool_]:
    """Pixels beside another piece that is farther away."""
    found = np.zeros(pieces.shape, dtype=bool)
    for here, there in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1, :], np.s_[1:, :])):
        differs = pieces[here] != pieces[there]
        nearer = depth[here] >= depth[there]
        found[here] |= differs & nearer
        found[there] |= differs & ~nearer
    return found


def corner_normals(vertices: Array, faces: Index) -> Array:
    """Unit normals at the corners of the faces of a mesh, n x 3 x 3: of round surfaces they turn along the face.

    At a corner, the normals of the faces that meet there are averaged, by area, unless they meet at an edge.
    """
    corners = vertices[faces]
    n = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    unit = n / np.maximum(np.linalg.norm(n, axis=1, keepdims=True), 1e-300)
    order = np.argsort(faces.ravel(), kind="stable")
    at = faces.ravel()[order]
    starts = np.searchsorted(at, np.arange(len(vertices) + 1))
    counts = np.diff(starts)[faces.ravel()]
    corner = np.repeat(np.arange(faces.size), counts)
    ahead = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    other = order[np.repeat(starts[faces.ravel()], counts) + ahead] // 3
    smooth = np.einsum("ij,ij->i", unit[corner // 3], unit[other]) > CREASE
    total = np.zeros((faces.size, 3))
    np.add.at(total, corner[smooth], n[other[smooth]])
    total = np.where(np.linalg.norm(total, axis=1, keepdims=True) > 0, total, np.repeat(unit, 3, axis=0))
    return np.asarray(total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-300)).reshape(-1, 3, 3)
