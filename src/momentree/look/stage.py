"""The stage: a scene drawn into a page of viser, with floor, axes and springs, and moved to poses.

Everything hangs below "/scene", whose frame follows a body where one is followed. Names of the user become names of
nodes only through `node_name`, and never Markdown or HTML.
"""

from __future__ import annotations

import contextlib
import io
import itertools
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.errors import MomentreeError
from momentree.look.meshes import Mesh, joined
from momentree.look.motion_frames import rotated
from momentree.look.scene import Scene
from momentree.model.colors import Color
from momentree.spatial import Z
from momentree.structure.mechanism import Attached, Mechanism

Array = NDArray[np.float64]
SPRING_COLOR: Color = (213, 94, 0)
GHOST_COLOR: Color = (150, 150, 150)
MANY = 60  # bodies; with more, each is drawn in one piece and one color
LONGEST_NAME = 40  # characters of a name that are shown
HOST = "127.0.0.1"
PANEL = 0.5  # of the radius of the mechanism: how far it stands aside of the panel
FAR_AWAY = 1e3  # times the size of the mechanism: bodies farther from the origin are drawn from a base point near them
SMALLEST, LARGEST = 1e-2, 1e4  # m: sizes of mechanisms that are drawn as they are
COILS, POINTS_OF_A_COIL = 8, 12


class Drawn(NamedTuple):
    """What is moved: the frame of each body by its number, and each spring with its two ends."""

    bodies: dict[int, Any]
    springs: list[Any]


def open_server(port: int | None = None, label: str = "Momentree") -> Any:
    """A server of viser that only this machine can reach, at a free port from `port` on; it prints nothing."""
    try:
        import viser
    except ImportError:
        raise MomentreeError("look: the 3-D page needs viser. Install it with: pip install viser") from None
    if port is not None and not (isinstance(port, int) and 1 <= port <= 65535):
        raise MomentreeError(f"look: there is no port {port}. Choose one from 1024 to 65535.")
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            server = viser.ViserServer(host=HOST, port=port or 8080, label=shown(label), verbose=False)
        except (OSError, RuntimeError, PermissionError) as error:
            raise MomentreeError(f"look: port {port or 8080} cannot be opened: {error}. Choose another.") from None
    server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(0, 114, 178))
    return server


def close_server(server: Any) -> None:
    """End a server, without a word."""
    thread = getattr(getattr(server, "_websock_server", None), "_server_thread", None)  # it says that it has stopped
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()
        if thread is not None:
            thread.join(timeout=5)


class Stage:
    """A scene on a server, and what moves on it."""

    def __init__(self, server: Any, scene: Scene, mechanism: Mechanism, positions: Array, wxyz: Array):
        self.server, self.scene, self.mechanism = server, scene, mechanism
        self.up = upward(mechanism)
        server.scene.set_up_direction(tuple(self.up))
        server.scene.configure_default_lights(enabled=True, cast_shadow=False)
        self.root = server.scene.add_frame("/scene", show_axes=False)
        self.pieces = scene.pieces
        self.names = node_names(scene.bodies)
        self.meshes: list[tuple[int, Any]] = []
        self.base, self.unit = np.zeros(3), 1.0
        points = self._vertices(positions, wxyz)
        self.size = max(scene.size, float(np.linalg.norm(np.ptp(points, axis=0))) / 2)
        self.base, self.unit = base_point(points, self.size), page_unit(self.size)
        self.length = self.size / self.unit
        self.main = self._draw("/scene/bodies")
        self.axes = server.scene.add_frame(
            "/scene/axes",
            axes_length=0.2 * self.length,
            axes_radius=0.005 * self.length,
            origin_radius=0,
            position=self.on_page(np.zeros(3)),
        )
        self.show(positions, wxyz)
        self.ghost: Drawn | None = None

    def on_page(self, points: Array) -> Array:
        """Points in inertial space (m) as the page has them: from the base point, in units of the page."""
        return np.asarray((points - self.base) / self.unit)

    def in_space(self, points: Any) -> Array:
        """Points of the page in inertial space (m)."""
        return np.asarray(np.asarray(points, dtype=float) * self.unit + self.base)

    def draw_ghost(self) -> None:
        """The same bodies once more, pale and transparent, for another run."""
        self.ghost = self._draw("/scene/ghost", ghost=True)

    def _draw(self, under: str, ghost: bool = False) -> Drawn:
        add, bodies = self.server.scene, {}
        look: dict[str, Any] = {"side": "double", "opacity": 0.3 if ghost else None}
        many = len(self.names) > MANY
        for number, name in enumerate(self.names):
            pieces = [piece for piece in self.pieces if piece.body == number]
            if not number or self.unit != 1:
                base = np.zeros(3) if number else self.base
                scaled = [Mesh((mesh.vertices - base) / self.unit, mesh.faces) for mesh in (p.mesh for p in pieces)]
                pieces = [piece._replace(mesh=mesh) for piece, mesh in zip(pieces, scaled, strict=True)]
            if pieces and many:  # one node for each body: a page takes its time for each node
                first, whole = pieces[0], joined([piece.mesh for piece in pieces])
                pieces = [first._replace(mesh=whole)]
            elif pieces:
                bodies[number] = add.add_frame(f"{under}/{name}", show_axes=False)
            for i, piece in enumerate(pieces, 1):
                node = f"{under}/{name}" if many else f"{under}/{name}/{piece.kind} {i}"
                color = GHOST_COLOR if ghost else piece.color
                flat = len(piece.mesh.faces) <= 12
                mesh = add.add_mesh_simple(node, *piece.mesh, color=color, flat_shading=flat, **look)
                bodies.setdefault(number, mesh)
                if piece.kind == "body" and not ghost:
                    self.meshes.append((number, mesh))
        shapes = {"spring": _coil(), "rod": _bar()}
        springs = [
            add.add_line_segments(
                f"{under}/strand {i}",
                shapes[strand.kind],
                GHOST_COLOR if ghost else SPRING_COLOR,
                thickness=2.0,
                thickness_units="screen",
            )
            for i, strand in enumerate(self.scene.strands, 1)
        ]
        return Drawn(bodies, springs)

    def show(self, positions: Array, wxyz: Array, ghost: bool = False) -> None:
        """Move bodies to positions (n, 3) and unit quaternions (n, 4), and springs with them."""
        drawn = self.ghost if ghost else self.main
        if drawn is None:
            return
        near = self.on_page(positions)
        near[0] += rotated(wxyz[0], self.base) / self.unit  # the ground is drawn from there
        for number, handle in drawn.bodies.items():
            place(handle, near[number], wxyz[number])
        for strand, handle in zip(self.scene.strands, drawn.springs, strict=True):
            ends = [near[end.body] + rotated(wxyz[end.body], self._drawn(end)) for end in strand.ends]
            _stretch(handle, ends[0], ends[1], 0.03 * self.length)

    def _drawn(self, end: Attached) -> Array:
        """The origin of a frame, in its body as it is drawn."""
        offset = np.array([*end.placement.offset], dtype=float)
        return (offset if end.body else offset - self.base) / self.unit

    def draw_floor(self, positions: Array, wxyz: Array) -> None:
        """A grid normal to gravity: through the origin if bodies touch the ground there, else below all bodies."""
        reach, lowest = self._extent(positions, wxyz)
        section = 10.0 ** np.floor(np.log10(1.5 * self.length))
        turn = turned_to(self.up)
        ground = float(self.on_page(np.zeros(3)) @ self.up)
        height = ground if touches_ground(self.mechanism) else lowest - 0.02 * self.length
        self.server.scene.add_grid(
            "/scene/floor",
            infinite_grid=True,
            plane="xy",
            cell_size=section / 2,
            section_size=section,
            cell_color=(220, 220, 220),
            section_color=(170, 170, 170),
            fade_distance=float(15 * reach),
            shadow_opacity=0.0,
            wxyz=turn,
            position=self.up * height,
        )

    def aim_camera(self, *moments: tuple[Array, Array], aside: float = 0.0) -> None:
        """Look at the middle of the bodies across their thinnest extent, `aside` of a panel on the right.

        At each moment they have positions and quaternions.
        """
        points = np.concatenate([self._vertices(positions, wxyz, self._outermost) for positions, wxyz in moments])
        points = points[np.isfinite(points).all(axis=1)] if np.isfinite(points).any() else np.zeros((1, 3))
        middle = (points.min(axis=0) + points.max(axis=0)) / 2
        radius = max(float(np.linalg.norm(points - middle, axis=1).max()), 0.3 * self.length)
        sight = self._sight(points)
        middle = middle + aside * radius * np.cross(self.up, sight)
        camera = self.server.initial_camera
        camera.up = tuple(self.up)
        camera.look_at = tuple(middle)
        camera.position = tuple(middle + (2.2 + aside) * radius * sight)
        camera.near, camera.far = radius * 1e-3, radius * 1e3

    def _sight(self, points: Array) -> Array:
        """The direction from the mechanism to the eye: along its thinnest horizontal extent, somewhat aside, above."""
        side = np.cross(self.up, [0.0, 1.0, 0.0] if abs(self.up[1]) < 0.9 else [1.0, 0.0, 0.0])
        side /= np.linalg.norm(side)
        front = np.cross(side, self.up)
        spans = [float(np.ptp(points @ axis)) for axis in (side, front)]
        thin, wide = (side, -front) if spans[0] <= spans[1] else (front, side)
        if thin @ np.array([1.0, -1.0, 1.0]) < 0:
            thin, wide = -thin, -wide
        sight = thin + 0.35 * wide + 0.35 * self.up
        return np.asarray(sight / np.linalg.norm(sight))

    def _vertices(self, positions: Array, wxyz: Array, chosen: Sequence[tuple[int, Array]] | None = None) -> Array:
        """All vertices of all bodies on the page; or some of them, with the number of their body."""
        all_of = [(piece.body, piece.mesh.vertices) for piece in self.pieces] if chosen is None else chosen
        placed = [
            self.on_page(positions[body] + rotated(wxyz[body], vertices))
            for body, vertices in all_of
            if np.isfinite(vertices).all()
        ]
        return np.concatenate(placed) if placed else np.zeros((1, 3))

    @cached_property
    def _outermost(self) -> list[tuple[int, Array]]:
        """Of each piece the vertices farthest out, in 26 directions."""
        directions = np.array([d for d in itertools.product((-1, 0, 1), repeat=3) if any(d)], dtype=float)
        found = ((piece.body, piece.mesh.vertices) for piece in self.pieces if len(piece.mesh.vertices))
        return [(body, points[np.unique(np.argmax(points @ directions.T, axis=0))]) for body, points in found]

    def _extent(self, positions: Array, wxyz: Array) -> tuple[float, float]:
        """How far from the middle anything is, and the lowest height; positions (k, n, 3) or (n, 3)."""
        many = positions.ndim == 3
        moments = range(0, len(positions), max(1, len(positions) // 40)) if many else [0]
        lowest, reach = np.inf, self.length
        for i in moments:
            points = self._vertices(positions[i], wxyz[i]) if many else self._vertices(positions, wxyz)
            lowest = min(lowest, float((points @ self.up).min()))
            reach = max(reach, float(np.linalg.norm(points - points.mean(axis=0), axis=1).max()))
        return reach, lowest


# --- names ---


def shown(name: str) -> str:
    """A name of the user as it is shown: printable characters, not too many."""
    clean = "".join(c if c.isprintable() else " " for c in str(name))
    clean = clean.encode("utf-8", "replace").decode("utf-8").strip() or "?"
    return clean if len(clean) <= LONGEST_NAME else f"{clean[: LONGEST_NAME - 1]}…"


def node_name(name: str) -> str:
    """The same as the name of a node: without the slash that parts nodes."""
    return shown(str(name).replace("/", "∕"))


def node_names(names: Iterable[str]) -> list[str]:
    """Names of nodes, all different."""
    return distinct([node_name(name) for name in names])


def distinct(names: Sequence[str]) -> list[str]:
    """The names, those that come again with a number: "leg", "leg (2)"."""
    seen: set[str] = set()
    found = []
    for name in names:
        number, unique = 1, name
        while unique in seen:
            number += 1
            unique = f"{name} ({number})"
        seen.add(unique)
        found.append(unique)
    return found


# --- geometry ---


def upward(mechanism: Mechanism) -> Array:
    """Against gravity; z where there is none."""
    g = np.array([*mechanism.gravity], dtype=float)
    length = float(np.linalg.norm(g))
    return -g / length if length > 0 else np.array([0.0, 0.0, 1.0])


def touches_ground(mechanism: Mechanism) -> bool:
    """Whether the plane of a contact is the floor: through the origin, normal to gravity."""
    up = upward(mechanism)
    for contact in mechanism.contacts:
        placement = contact.against.placement
        normal = np.array([*(placement.rotation @ Z)], dtype=float)
        offset = np.array([*placement.offset], dtype=float)
        if contact.against.body == 0 and contact.ball is None and normal @ up > 1 - 1e-9 and abs(offset @ up) < 1e-12:
            return True
    return False


def turned_to(axis: Array) -> Array:
    """The unit quaternion of the shortest turn from z to an axis."""
    w = 1 + float(axis[2])
    if w < 1e-9:
        return np.array([0.0, 1.0, 0.0, 0.0])
    q = np.array([w, -axis[1], axis[0], 0.0])
    return np.asarray(q / np.linalg.norm(q))


def _coil() -> Array:
    """A coil about z from 0 to 1 with a radius of 1 and straight ends, as segments (N, 2, 3)."""
    turns = np.linspace(0, 2 * np.pi * COILS, COILS * POINTS_OF_A_COIL + 1)
    heights = np.linspace(0.15, 0.85, len(turns))
    helix = np.stack([np.cos(turns), np.sin(turns), heights], axis=-1)
    path = np.concatenate([[[0, 0, 0], [0, 0, 0.15]], helix, [[0, 0, 0.85], [0, 0, 1]]])
    return np.stack([path[:-1], path[1:]], axis=1)


def _bar() -> Array:
    """A straight line along z from 0 to 1, as one segment (1, 2, 3)."""
    return np.array([[[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]])


def _stretch(handle: Any, begin: Array, end: Array, radius: float) -> None:
    """Put a coil or a bar between two points."""
    along = end - begin
    length = float(np.linalg.norm(along))
    place(handle, begin, turned_to(along / length) if length > 0 else np.array([1.0, 0.0, 0.0, 0.0]))
    handle.scale = (radius, radius, max(length, 1e-9 * radius))


def base_point(points: Array, size: float) -> Array:
    """What positions on the page are counted from: the origin, or a point near bodies that are far from it.

    A page draws in 32-bit floats, which tell points apart by 6e-8 of their distance from the base.
    """
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    return np.round(middle / size) * size if np.linalg.norm(middle) > FAR_AWAY * size else np.zeros(3)


def page_unit(size: float) -> float:
    """What 1 on the page means (m): 1, or a power of ten for mechanisms that are tiny or huge."""
    return 1.0 if SMALLEST <= size <= LARGEST else float(10.0 ** np.round(np.log10(size)))


def place(handle: Any, position: Array, wxyz: Array | None = None) -> None:
    """Move a node exactly there. By itself, viser leaves out movements of less than 1e-5 of a coordinate."""
    for name, value in (("position", position), ("wxyz", wxyz)):
        if value is not None and not np.array_equal(getattr(handle, name), value):
            getattr(handle, name).fill(np.nan)
            setattr(handle, name, value)
