"""Scene: what is drawn of a system, whatever draws it: pieces fixed to bodies, springs between points, and poses.

A body is drawn by its shapes or, where it has none, by rods from its joints to their middle. Joints are drawn by type:
a pin along the axis of a hinge, a sleeve along that of a slider, a ball. Gears, wheels and planes are drawn as
element_meshes.py says, rims and feet as contact_marks.py does. All viewers, pictures and movies take a Scene.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import records
from momentree.errors import MomentreeError
from momentree.look import meshes
from momentree.look.contact_marks import mark_of
from momentree.look.element_meshes import element_meshes
from momentree.look.meshes import Mesh
from momentree.model.colors import Color, color_of
from momentree.model.frames import GROUND
from momentree.model.higher_pairs import Distance, Rolling
from momentree.model.shapes import Shape
from momentree.model.values import Mistake, Values
from momentree.spatial import Transform, X, Y, Z
from momentree.structure.mechanism import Attached, Mechanism, TreeBody

if TYPE_CHECKING:
    from momentree.system import System

Array = NDArray[np.float64]
# Okabe and Ito's colors, which color-blind readers can tell apart
PALETTE: tuple[Color, ...] = (
    (0, 114, 178), (230, 159, 0), (0, 158, 115), (204, 121, 167), (86, 180, 233), (213, 94, 0), (240, 228, 66),
)  # fmt: skip
GROUND_COLOR, JOINT_COLOR, PLANE_COLOR = (130, 130, 130), (60, 60, 60), (205, 208, 210)
_AXES = (X, Y, Z)
THICKNESS = 0.012  # of the size of the mechanism: the radius of a rod between joints
SHADE = 0.75  # of the color of a body: that of its rims, which are seen before its shapes
PIN = 2.0  # of that: the radius of a pin, and 3 times its length


class Piece(NamedTuple):
    """Triangles that move with a body, which may have several pieces.

    | field | meaning                                                                                    |
    |-------|--------------------------------------------------------------------------------------------|
    | name  | of the body, the joint or the contact                                                      |
    | kind  | "body" (its shapes, gears and wheels), "joint", "ground" (its shapes), "contact" (planes,  |
    |       | balls and points that touch), "rim" (of wheels and feet: contact_marks.py)                 |
    | body  | its number; 0 is the ground                                                                |
    | mesh  | in the frame of the body that the user knows                                               |
    | color | red, green, blue, 0 to 255                                                                 |
    """

    name: str
    kind: str
    body: int
    mesh: Mesh
    color: Color


class Strand(NamedTuple):
    """Something between two frames: kind "spring", which stretches, or "rod", without mass."""

    name: str
    kind: str
    ends: tuple[Attached, Attached]


class Poses(NamedTuple):
    """Where bodies are at k moments: positions (k, n, 3), rotations (k, n, 3, 3) of their frames; 0 is the ground."""

    t: Array
    positions: Array
    rotations: Array

    def points(self, frame: Attached) -> Array:
        """The origin of a frame of a body, k x 3."""
        offset = np.array([*frame.placement.offset], dtype=float)
        return np.asarray(self.positions[:, frame.body] + self.rotations[:, frame.body] @ offset)


@dataclass(frozen=True)
class Scene:
    """What is drawn of a system.

    | field   | meaning                                                    |
    |---------|------------------------------------------------------------|
    | bodies  | the ground and the bodies, by number                       |
    | size    | of the mechanism (m): a length that fits it                |
    """

    name: str
    bodies: tuple[str, ...]
    pieces: tuple[Piece, ...]
    strands: tuple[Strand, ...]
    size: float


def scene_of(system: System) -> Scene:
    """The scene of a system."""
    mechanism = system._numeric
    values = Values({**dict(system._model.parameters), **dict(mechanism.parameters)})
    shapes = _shape_pieces(system, mechanism, values)
    extent = max((float(np.ptp(piece.mesh.vertices, axis=0).max()) for piece in shapes if piece.body), default=0.0)
    size = float(mechanism.size) or extent or 1.0
    pieces = [*shapes, *_rods(mechanism, {piece.body for piece in shapes}, size)]
    pieces += [*_element_pieces(system, mechanism, values, max(size, extent)), *_joint_pieces(mechanism, size)]
    pieces += [*_rims(mechanism, max(size, extent), {piece.body: piece.color for piece in reversed(pieces)})]
    names = (GROUND, *(body.name for body in mechanism.bodies))
    return Scene(system.name, names, tuple(pieces), tuple(_strands(mechanism)), max(size, extent))


def _strands(mechanism: Mechanism) -> Iterator[Strand]:
    for i, spring in enumerate(mechanism.springs, 1):
        yield Strand(f"spring {i}", "spring", (_own(mechanism, spring.first), _own(mechanism, spring.second)))
    for loop in mechanism.loops:
        if isinstance(loop.joint_type, Distance):
            yield Strand(loop.name, "rod", (_own(mechanism, loop.first), _own(mechanism, loop.second)))


def poses_of(mechanism: Mechanism, q: Array, t: Array) -> Poses:
    """Where the bodies of a mechanism are, their frames as the user knows them: q (k, nq), t (k,)."""
    moments = np.asarray(t, dtype=float)
    placed = records(Evaluation(mechanism, np.ascontiguousarray(np.asarray(q, dtype=float).T), moments))
    frames = [placed[0].X_0, *(placed[body.number].X_0 @ body.own for body in mechanism.bodies)]
    offsets, rotations = zip(*(_arrays(frame, len(moments)) for frame in frames), strict=True)
    return Poses(moments, np.stack(offsets, axis=1), np.stack(rotations, axis=1))


def _arrays(frame: Transform, count: int) -> tuple[Array, Array]:
    """Offset (k, 3) and rotation matrix (k, 3, 3) of a transform whose numbers are batches."""
    offset = np.stack([np.broadcast_to(x, count) for x in frame.offset], axis=-1).astype(float)
    columns = [frame.rotation @ e for e in _AXES]
    rotation = np.stack([np.stack([np.broadcast_to(x, count) for x in column], axis=-1) for column in columns], axis=-1)
    return offset, rotation.astype(float)


# --- bodies ---


def _numbers(mechanism: Mechanism) -> dict[str, int]:
    """The numbers of the ground and of the bodies; of a split one, that of its first part."""
    return {GROUND: 0, **{body.name: body.number for body in mechanism.bodies if not body.image_of}}


def _shape_pieces(system: System, mechanism: Mechanism, values: Values) -> list[Piece]:
    """The shapes of bodies, and those that are only drawn."""
    numbers, pieces = _numbers(mechanism), []
    for body in system._model.bodies:
        pieces += [_piece(body.name, numbers[body.name], shape, Transform(), values) for shape in body.shapes]
    for drawn in system._model.shapes:
        name, placement = drawn.frame.body, drawn.frame.placement(values)
        pieces.append(_piece(name, numbers[name], drawn.shape, placement, values))
    return pieces


def _piece(name: str, number: int, shape: Shape, placement: Transform, values: Values) -> Piece:
    try:
        mesh = meshes.mesh_of(shape, values).fixed(placement)
    except Mistake as mistake:  # a mesh file that was not there, or not a mesh
        raise MomentreeError(f"{name!r}, {shape.kind}: {mistake}") from None
    color = _color(number) if shape.color is None else color_of(shape.color)
    return Piece(name, "body" if number else "ground", number, mesh, color)


def _color(number: int) -> Color:
    return PALETTE[(number - 1) % len(PALETTE)] if number else GROUND_COLOR


def _rods(mechanism: Mechanism, shaped: set[int], size: float) -> Iterator[Piece]:
    """One for each body without shapes that is not the second part of a split one."""
    for body in mechanism.bodies:
        if not body.image_of and body.number not in shaped:
            mesh = _between_joints(mechanism, body, size)
            yield Piece(body.name, "body", body.number, mesh, _color(body.number))


def _element_pieces(system: System, mechanism: Mechanism, values: Values, size: float) -> Iterator[Piece]:
    """Gears and wheels of bodies, and what touches."""
    numbers = _numbers(mechanism)
    q = np.zeros(mechanism.nq)
    for body in mechanism.bodies:
        if body.laws is None:
            q[body.q] = body.joint.type.reference()
    poses = records(Evaluation(mechanism, q, 0.0))
    placed = {GROUND: poses[0].X_0, **{b.name: poses[b.number].X_0 @ b.own for b in mechanism.bodies if not b.image_of}}
    for element in element_meshes(system._model, values, size, placed):
        number = numbers[element.body]
        if element.kind in ("gear", "wheel") and number:
            yield Piece(element.body, "body", number, element.mesh, _color(number))
        else:
            color = PLANE_COLOR if element.kind == "plane" else _color(number)
            yield Piece(element.name, "contact", number, element.mesh, color)


def _rims(mechanism: Mechanism, size: float, colors: dict[int, Color]) -> Iterator[Piece]:
    """Marks of contacts with a radius and of discs that roll."""
    touching = [(c.name, c.frame, c.radius, c.disc, False) for c in mechanism.contacts]
    for loop in mechanism.loops:
        if isinstance(loop.joint_type, Rolling) and loop.joint_type.disc is not None:
            touching.append((loop.name, loop.second, loop.joint_type.radius, loop.joint_type.disc, True))
    for name, inside, radius, disc, rolls in touching:
        if not inside.body or float(radius) <= 0:
            continue
        frame, body = _own(mechanism, inside), mechanism.bodies[inside.body - 1]
        mass = body.inertia.mass
        com = np.array([*body.own.inverse().point(body.inertia.h / mass)], dtype=float) if mass else None
        mesh = mark_of(frame.placement, float(radius), disc, size, com, rolls)
        red, green, blue = (int(SHADE * x) for x in colors.get(body.image_of or body.number, _color(body.number)))
        yield Piece(name, "rim", inside.body, mesh, (red, green, blue))


def _between_joints(mechanism: Mechanism, body: TreeBody, size: float) -> Mesh:
    """Rods from the joints of a body to their middle; one rod where there are two, a ball where there is one."""
    parts = {body.number, *(other.number for other in mechanism.bodies if other.image_of == body.number)}
    frames = [frame for frame in _joint_frames(mechanism) if frame.body in parts]
    points = [np.array([*frame.placement.offset], dtype=float) for frame in frames]
    mass = body.inertia.mass
    if mass and len(points) < 2:
        com = body.own.inverse().point(body.inertia.h / mass)
        points.append(np.array([*com], dtype=float))
    radius = THICKNESS * size
    if len(points) < 3:
        return meshes.rod(points[0], points[-1], radius) if points else meshes.ball(radius)
    middle = np.mean(points, axis=0)
    return meshes.joined([meshes.rod(middle, point, radius) for point in points])


# --- joints ---


def _joint_frames(mechanism: Mechanism) -> Iterator[Attached]:
    """Both frames of every joint and spring, in the frames of bodies that the user knows."""
    for body in mechanism.bodies:
        yield _own(mechanism, Attached(body.parent, body.mount))
        yield _own(mechanism, Attached(body.number, Transform()))
    for loop in mechanism.loops:
        yield from (_own(mechanism, end) for end in (loop.first, loop.second))
    for spring in mechanism.springs:
        yield from (_own(mechanism, end) for end in (spring.first, spring.second))


def _own(mechanism: Mechanism, frame: Attached) -> Attached:
    """A frame of a body, from the frame that is used inside to the one that the user knows."""
    if not frame.body:
        return frame
    return Attached(frame.body, mechanism.bodies[frame.body - 1].own.inverse() @ frame.placement)


def _joint_pieces(mechanism: Mechanism, size: float) -> Iterator[Piece]:
    """A mark for each joint, on its first body."""
    radius = PIN * THICKNESS * size
    for body in mechanism.bodies:
        frame = Attached(body.parent, body.mount) if not body.reverse else Attached(body.number, Transform())
        yield _mark(body.joint.name, _own(mechanism, frame), body.joint.type, radius)
    for loop in mechanism.loops:
        if loop.joint is not None:
            yield _mark(loop.name, _own(mechanism, loop.first), loop.joint_type, radius)


def _mark(name: str, frame: Attached, joint_type: object, radius: float) -> Piece:
    axis = getattr(joint_type, "axis", None)
    turns = [unit == "rad" for unit in getattr(joint_type, "units", ())]
    if axis is None:
        mesh = meshes.ball(1.2 * radius) if turns else meshes.box([1.5 * radius] * 3)
    elif any(turns):
        mesh = meshes.cylinder(radius, 3 * radius, [*axis])
    else:
        mesh = meshes.cylinder(1.3 * radius, 5 * radius, [*axis])
    return Piece(name, "joint", frame.body, mesh.fixed(frame.placement), JOINT_COLOR if frame.body else GROUND_COLOR)
