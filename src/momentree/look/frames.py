"""Frames: a run as shaded pictures, one for each moment, drawn without a browser or a graphics card.

The triangles of the scene are projected and painted from the farthest to the nearest; of many bodies, lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from momentree.look.graph_layout import GREY, INK
from momentree.look.graph_picture import short
from momentree.look.mechanism_drawing import FLOATING
from momentree.look.mechanism_symbols import PLAIN, zigzag
from momentree.look.projection import View, joint_places
from momentree.look.scene import THICKNESS, Piece, Poses, Scene, _own
from momentree.model.higher_pairs import Rolling
from momentree.spatial import Z
from momentree.structure.mechanism import Mechanism

if TYPE_CHECKING:
    from matplotlib.collections import LineCollection

Array = NDArray[np.float64]
Pixels = NDArray[np.uint8]
MOST_FACES = 25_000  # triangles of a frame; a scene with more is drawn as lines
TRAVEL = 2.0  # of the largest extent at a moment: what moves farther is followed
MARGIN = 1.12  # of the extent of what is shown
LOOKED_AT = 200  # moments at which the extent is measured
AMBIENT = 0.6  # the least part of a color that is seen
INCH = 100  # dots


class Frames:
    """Pictures of a scene at the moments of `poses`; `frames(k)` has the pixels, height x width x 3."""

    def __init__(self, scene: Scene, mechanism: Mechanism, poses: Poses, view: View, size: tuple[int, int]):
        self.scene, self.poses, self.view, self.size = scene, poses, view, size
        self.as_lines = sum(len(piece.mesh.faces) for piece in scene.pieces) > MOST_FACES
        floating = {place.name for place in joint_places(mechanism) if place.type.kind in FLOATING}
        seen = [piece for piece in scene.pieces if piece.kind != "joint" or piece.name not in floating]
        pieces = [piece for piece in seen if not self.as_lines or piece.kind in ("body", "rim")]
        meshes = [_segment(piece.mesh.vertices) if self._is_line(piece) else piece.mesh.vertices for piece in pieces]
        starts = np.cumsum([0, *(len(vertices) for vertices in meshes)])
        self.vertices = np.concatenate([np.zeros((0, 3)), *meshes])
        self.bodies = np.repeat([piece.body for piece in pieces], np.diff(starts)).astype(int)
        groups = [self._faces(piece) + start for piece, start in zip(pieces, starts, strict=False)]
        self.faces = np.concatenate([np.zeros((0, 2 if self.as_lines else 3), dtype=int), *groups])
        colors = [np.repeat([piece.color[:3]], len(group), axis=0) for piece, group in zip(pieces, groups, strict=True)]
        self.colors = np.concatenate([np.zeros((0, 3)), *colors]) / 255
        closed = [np.full(len(group), not self.as_lines and _is_closed(group)) for group in groups]
        self.closed = np.concatenate([np.zeros(0, dtype=bool), *closed])
        self.floor = _floors(mechanism)
        self.centers, self.extent = self._looked_at()
        self._set_up()

    def __call__(self, k: int) -> Pixels:
        """The picture at moment k."""
        shown, colors = self._painted(k)
        self.collection.set_verts(list(self.view.flat(shown)))
        self.collection.set_color(colors)
        unit = 2 * THICKNESS * self.scene.size
        lines = []
        for strand in self.scene.strands:
            a, b = (self.view.flat(self.poses.points(end)[k]) for end in strand.ends)
            lines.append(zigzag(a, b, unit) if strand.kind == "spring" else np.stack([a, b]))
        self.strands.set_segments(lines)
        half = self.extent / 2
        self.axes.set(
            xlim=self.centers[k, 0] + np.array([-half[0], half[0]]),
            ylim=self.centers[k, 1] + np.array([-half[1], half[1]]),
        )
        self.clock.set_text(f"t = {self.poses.t[k]:.2f} s")
        self.canvas.draw()
        return np.asarray(self.canvas.buffer_rgba())[..., :3].copy()

    def pixel(self, k: int, point: Any) -> Array:
        """Where a point in space is on the picture at moment k: column and row."""
        x, y = (self.view.flat(point) - self.centers[k]) / self.extent + 0.5
        return np.array([x * self.size[0], (1 - y) * self.size[1]])

    # --- what is painted ---

    def _placed(self, k: int) -> Array:
        R, position = self.poses.rotations[k][self.bodies], self.poses.positions[k][self.bodies]
        return np.asarray(position + np.einsum("nij,nj->ni", R, self.vertices))

    def _is_line(self, piece: Piece) -> bool:
        """Whether a piece is drawn by one line; of a rim, all edges are."""
        return self.as_lines and piece.kind != "rim"

    def _faces(self, piece: Piece) -> NDArray[np.int64]:
        """Indices of the vertices of its triangles, or of the ends of its lines."""
        if self._is_line(piece):
            return np.array([[0, 1]])
        return piece.mesh.faces[:, :2] if self.as_lines else piece.mesh.faces

    def _flat(self, k: int) -> Array:
        """Everything that must be seen at moment k, on the sheet; where there is a floor, only what moves."""
        placed = self._placed(k)[self.bodies > 0] if self.floor else self._placed(k)
        ends = [self.poses.points(end)[k][None] for strand in self.scene.strands for end in strand.ends]
        found = self.view.flat(np.concatenate([placed, *ends]))
        return found if len(found) else np.zeros((1, 2))

    def _painted(self, k: int) -> tuple[Array, Array]:
        """Triangles or lines from the farthest to the nearest, and their colors in the light."""
        corners = self._placed(k)[self.faces]
        order = np.argsort(self.view.depth(corners.mean(axis=1)), kind="stable")
        corners, colors, closed = corners[order], self.colors[order], self.closed[order]
        if self.as_lines:
            return corners, colors
        n = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        n /= np.maximum(np.linalg.norm(n, axis=1, keepdims=True), 1e-300)
        away = n @ self.view.towards < 1e-9
        n *= np.where(away, -1.0, 1.0)[:, None]
        light = self.view.towards + 0.6 * self.view.up - 0.4 * self.view.right
        bright = AMBIENT + (1 - AMBIENT) * np.clip(n @ (light / np.linalg.norm(light)), 0, 1)
        seen = ~(away & closed)  # the far side of a solid is hidden by its near side
        return corners[seen], (colors * bright[:, None])[seen]

    def _looked_at(self) -> tuple[Array, Array]:
        """The middle of the picture at each moment, and its width and height (m).

        What travels far over a floor is followed; without a floor, nobody would see that it moves.
        """
        count = len(self.poses.t)
        moments = np.unique(np.linspace(0, count - 1, min(count, LOOKED_AT)).astype(int))
        flat = [self._flat(k) for k in moments]
        low, high = (np.array([pick(one, axis=0) for one in flat]) for pick in (np.min, np.max))
        largest = np.maximum((high - low).max(axis=0), 0.2 * self.scene.size)
        total = high.max(axis=0) - low.min(axis=0)
        followed = (total > TRAVEL * largest) & bool(self.floor)
        middle = np.where(followed, (low + high) / 2, (low.min(axis=0) + high.max(axis=0)) / 2)
        window = min(2 * (len(moments) // 20) + 1, len(moments))
        padded = np.pad(middle, ((window // 2, window // 2), (0, 0)), mode="edge")
        smooth = np.stack([np.convolve(column, np.ones(window) / window, "valid") for column in padded.T], axis=1)
        centers = np.stack([np.interp(np.arange(count), moments, column) for column in smooth.T], axis=1)
        reach = np.abs(np.stack([low - smooth, high - smooth])).max(axis=(0, 1)) * 2 * MARGIN
        # as wide and as high as the picture, so that a meter is as long in both directions
        per_pixel = float((reach / self.size).max())
        return centers, np.array(self.size) * per_pixel

    def _set_up(self) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.collections import LineCollection, PolyCollection
        from matplotlib.figure import Figure

        width, height = ((side + 0.01) / INCH for side in self.size)
        figure = Figure(figsize=(width, height), dpi=INCH, facecolor="white")
        self.canvas: Any = FigureCanvasAgg(figure)
        self.axes = figure.add_axes((0, 0, 1, 1))
        self.axes.set_axis_off()
        self.axes.add_collection(self._floor_lines())
        self.collection: Any = (
            LineCollection([], linewidths=2.5, capstyle="round", zorder=2)
            if self.as_lines
            else PolyCollection([], linewidths=0.8, zorder=2)
        )
        self.axes.add_collection(self.collection)
        self.strands = LineCollection([], colors=INK, linewidths=1.4, zorder=3)
        self.axes.add_collection(self.strands)
        how: Any = {"transform": self.axes.transAxes, "fontsize": 11, "color": INK, "zorder": 4, **PLAIN}
        self.axes.text(0.015, 0.98, short(self.scene.name, 60), va="top", **how)
        self.clock = self.axes.text(0.015, 0.02, "", **how)

    def _floor_lines(self) -> LineCollection:
        """The ground to stand on: a grid, which is a line with ticks where it is seen edge on."""
        from matplotlib.collections import LineCollection

        lines: list[Any] = []
        for origin, n in self.floor:
            right = self.view.right - (self.view.right @ n) * n
            if np.linalg.norm(right) < 1e-6:
                continue
            ex = right / np.linalg.norm(right)
            ey = np.cross(n, ex)
            step = float(self.extent.max()) / 12
            travel = self.poses.positions[:, 1:].reshape(-1, 3) - origin
            far = 1.5 * self.extent.max()
            x, y = (np.arange((travel @ e).min() - far, (travel @ e).max() + far, step)[:400] for e in (ex, ey))
            if np.linalg.norm(self.view.flat(n)) > 0.98:
                tick = 0.3 * step * (-n - ex)
                lines.append(self.view.flat([origin + x[0] * ex, origin + x[-1] * ex]))
                lines += [self.view.flat([origin + a * ex, origin + a * ex + tick]) for a in x]
                continue
            lines += [self.view.flat([origin + a * ex + y[0] * ey, origin + a * ex + y[-1] * ey]) for a in x]
            lines += [self.view.flat([origin + x[0] * ex + b * ey, origin + x[-1] * ex + b * ey]) for b in y]
        return LineCollection(lines, colors=GREY, linewidths=0.8, alpha=0.45, zorder=1)


def _segment(vertices: Array) -> Array:
    """The two ends of a mesh along its longest direction."""
    middle = vertices.mean(axis=0)
    direction = np.linalg.svd(vertices - middle, full_matrices=False)[2][0]
    along = (vertices - middle) @ direction
    return np.asarray(middle + np.array([[along.min()], [along.max()]]) * direction)


def _is_closed(faces: NDArray[np.int64]) -> bool:
    """Whether triangles enclose a solid: every edge belongs to two of them."""
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    return bool(np.all(np.unique(edges, axis=0, return_counts=True)[1] == 2))


def _floors(mechanism: Mechanism) -> list[tuple[Array, Array]]:
    """Planes of the ground that something rolls on or touches: a point and the normal, each once."""
    planes = [contact.against for contact in mechanism.contacts if contact.ball is None]
    planes += [
        loop.first for loop in mechanism.loops if isinstance(loop.joint_type, Rolling) and loop.joint_type.ball is None
    ]
    found: list[tuple[Array, Array]] = []
    for plane in (_own(mechanism, plane) for plane in planes if not plane.body):
        origin, n = (np.array([*v], dtype=float) for v in (plane.placement.offset, plane.placement.rotation @ Z))
        if not any(abs((origin - other) @ n) < 1e-9 and abs(abs(n @ m) - 1) < 1e-9 for other, m in found):
            found.append((origin, n))
    return found
