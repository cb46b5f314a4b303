"""Frames: a run as shaded pictures, one for each moment, drawn without a browser or a graphics card.

The triangles of the scene are projected and painted, what is nearest in front (raster.py); of many bodies, lines.
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
from momentree.look.raster import Triangles, corner_normals, painted
from momentree.look.scene import PLANE_COLOR, THICKNESS, Piece, Poses, Scene, _own
from momentree.model.higher_pairs import Rolling
from momentree.spatial import Z
from momentree.structure.mechanism import Mechanism

if TYPE_CHECKING:
    from matplotlib.collections import LineCollection

Array = NDArray[np.float64]
Pixels = NDArray[np.uint8]
MOST_FACES = 25_000  # triangles of a frame; a scene with more is drawn as lines
TRAVEL = 2.0  # of the largest extent at a moment: what moves farther is followed
STEADY = 0.1  # of that extent: what keeps so near to a uniform motion is followed uniformly
MARGIN = 1.12  # of the extent of what is shown
LOOKED_AT = 200  # moments at which the extent is measured
AMBIENT = 0.6  # the least part of a color that is seen
LAYER = 1e-6  # of the size of the scene: how much nearer each piece is than the one before
INCH = 100  # dots


class Frames:
    """Pictures of a scene at the moments of `poses`; `frames(k)` has the pixels, height x width x 3."""

    def __init__(
        self,
        scene: Scene,
        mechanism: Mechanism,
        poses: Poses,
        view: View,
        size: tuple[int, int],
        captions: bool = True,
    ):
        self.scene, self.poses, self.view, self.size, self.captions = scene, poses, view, size, captions
        self.as_lines = sum(len(piece.mesh.faces) for piece in scene.pieces) > MOST_FACES
        floating = {place.name for place in joint_places(mechanism) if place.type.kind in FLOATING}
        seen = [piece for piece in scene.pieces if piece.kind != "joint" or piece.name not in floating]
        seen = [piece for piece in seen if piece.body or piece.color != PLANE_COLOR]  # the floor is a grid
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
        numbers = {(piece.body, piece.color): i for i, piece in enumerate(pieces)}  # alike: no line between them
        which = [numbers[piece.body, piece.color] for piece in pieces]
        self.pieces = np.repeat(which, [len(group) for group in groups]).astype(int)
        self.normals = np.zeros((0, 3, 3)) if self.as_lines else corner_normals(self.vertices, self.faces)
        self.floor = _floors(mechanism)
        self.centers, self.extent = self._looked_at()
        self._set_up()

    def __call__(self, k: int) -> Pixels:
        """The picture at moment k."""
        if self.as_lines:
            shown, colors = self._lines(k)
            self.collection.set_segments(list(self.view.flat(shown)))
            self.collection.set_color(colors)
        else:
            self.collection.set_data(painted(self._painted(k), self.size))
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

    def _lines(self, k: int) -> tuple[Array, Array]:
        """Lines from the farthest to the nearest, and their colors."""
        ends = self._placed(k)[self.faces]
        order = np.argsort(self.view.depth(ends.mean(axis=1)), kind="stable")
        return ends[order], self.colors[order]

    def _painted(self, k: int) -> Triangles:
        """Triangles on the sheet, and their colors in the light; the far side of a solid is hidden by its near side."""
        corners = self._placed(k)[self.faces]
        n = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        away = n @ self.view.towards < 1e-9 * np.linalg.norm(n, axis=1)
        seen = ~(away & self.closed)
        corners, sign = corners[seen], np.where(away[seen], -1.0, 1.0)
        R = self.poses.rotations[k][self.bodies[self.faces[seen, 0]]]
        normals = np.einsum("nij,ncj->nci", R, self.normals[seen]) * sign[:, None, None]
        light = self.view.towards + 0.6 * self.view.up - 0.4 * self.view.right
        bright = AMBIENT + (1 - AMBIENT) * np.clip(normals @ (light / np.linalg.norm(light)), 0, 1)
        sheet = (self.view.flat(corners) - self.centers[k]) / self.extent * (1, -1) + 0.5
        # of faces in one plane, those of later pieces are seen
        depth = self.view.depth(corners) + LAYER * self.scene.size * self.pieces[seen, None]
        return Triangles(sheet * self.size, depth, bright, self.colors[seen], self.pieces[seen])

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
        smooth = _smooth(middle, self.poses.t[moments], STEADY * largest)
        centers = np.stack([np.interp(np.arange(count), moments, column) for column in smooth.T], axis=1)
        reach = np.abs(np.stack([low - smooth, high - smooth])).max(axis=(0, 1)) * 2 * MARGIN
        # as wide and as high as the picture, so that a meter is as long in both directions
        per_pixel = float((reach / self.size).max())
        return centers, np.array(self.size) * per_pixel

    def _set_up(self) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.collections import LineCollection
        from matplotlib.figure import Figure
        from matplotlib.image import BboxImage

        width, height = ((side + 0.01) / INCH for side in self.size)
        figure = Figure(figsize=(width, height), dpi=INCH, facecolor="white")
        self.canvas: Any = FigureCanvasAgg(figure)
        self.axes = figure.add_axes((0, 0, 1, 1))
        self.axes.set_axis_off()
        self.axes.add_collection(self._floor_lines())
        self.collection: Any = LineCollection([], linewidths=2.5, capstyle="round", zorder=2)
        if not self.as_lines:
            self.collection = BboxImage(self.axes.bbox, interpolation="nearest", origin="upper", zorder=2)
        self.axes.add_artist(self.collection)
        self.strands = LineCollection([], colors=INK, linewidths=1.4, zorder=3)
        self.axes.add_collection(self.strands)
        how: Any = {"transform": self.axes.transAxes, "fontsize": 11, "color": INK, "zorder": 4, **PLAIN}
        name = self.axes.text(0.015, 0.98, short(self.scene.name, 60), va="top", **how)
        self.clock = self.axes.text(0.985, 0.98, "", va="top", ha="right", **how)
        for text in (name, self.clock):
            text.set_visible(self.captions)

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
            step = _round_number(float(self.extent.max()) / 12)
            travel = self.poses.positions[:, 1:].reshape(-1, 3) - origin
            edge_on = np.linalg.norm(self.view.flat(n)) > 0.98
            x, y = (
                step * np.arange(np.floor((travel @ e).min() / step - by), np.ceil((travel @ e).max() / step + by) + 1)
                for e, by in ((ex, 18 if edge_on else 6), (ey, 3))
            )
            x, y = x[:400], y[:400]
            if edge_on:
                tick = 0.3 * step * (-n - ex)
                lines.append(self.view.flat([origin + x[0] * ex, origin + x[-1] * ex]))
                lines += [self.view.flat([origin + a * ex, origin + a * ex + tick]) for a in x]
                continue
            lines += [self.view.flat([origin + a * ex + y[0] * ey, origin + a * ex + y[-1] * ey]) for a in x]
            lines += [self.view.flat([origin + x[0] * ex + b * ey, origin + x[-1] * ex + b * ey]) for b in y]
        return LineCollection(lines, colors=GREY, linewidths=0.8, alpha=0.45, zorder=1)


def _smooth(middle: Array, t: Array, near: Array) -> Array:
    """Where to look, without the wobbling of what is followed: uniformly if it moves so, else averaged for a while."""
    ramp = np.stack([np.ones(len(t)), t - t.mean()], axis=1)
    uniform = ramp @ np.linalg.lstsq(ramp, middle, rcond=None)[0]
    window = min(2 * (len(t) // 20) + 1, len(t))
    padded = np.pad(middle, ((window // 2, window // 2), (0, 0)), mode="edge")
    averaged = np.stack([np.convolve(column, np.ones(window) / window, "valid") for column in padded.T], axis=1)
    return np.where((np.abs(middle - uniform) <= near).all(axis=0), uniform, averaged)


def _round_number(length: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is not greater."""
    power = 10.0 ** np.floor(np.log10(length))
    return float(power * max(k for k in (1, 2, 5) if k * power <= length * (1 + 1e-9)))


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
