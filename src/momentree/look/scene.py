"""Scene: what is drawn of a system, whatever draws it: pieces fixed to bodies, springs between points, and poses.

A body is drawn by its shape or, where it has none, by rods from its joints to their middle. Joints are drawn by type:
a pin along the axis of a hinge, a sleeve along that of a slider, a ball. All viewers, pictures and movies take a Scene.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import records
from momentree.look import meshes
from momentree.look.meshes import Mesh
from momentree.model.values import Values
from momentree.spatial import Transform, X, Y, Z
from momentree.structure.mechanism import Attached, Mechanism, TreeBody

if TYPE_CHECKING:
    from momentree.system import System

Array = NDArray[np.float64]
Color = tuple[int, int, int]
# Okabe and Ito's colors, which color-blind readers can tell apart
PALETTE: tuple[Color, ...] = (
    (0, 114, 178), (230, 159, 0), (0, 158, 115), (204, 121, 167), (86, 180, 233), (213, 94, 0), (240, 228, 66),
)  # fmt: skip
GROUND_COLOR, JOINT_COLOR = (130, 130, 130), (60, 60, 60)
_AXES = (X, Y, Z)
THICKNESS = 0.012  # of the size of the mechanism: the radius of a rod between joints
PIN = 2.0  # of that: the radius of a pin, and 3 times its length


class Piece(NamedTuple):
    """Triangles that move with a body.

    | field | meaning                                                        |
    |-------|----------------------------------------------------------------|
    | name  | of the body, or of the joint                                   |
    | kind  | "body", "joint" or "ground"                                    |
    | body  | its number; 0 is the ground                                    |
    | mesh  | in the frame of the body that the user knows                   |
    | color | red, green, blue, 0 to 255                                     |
    """

    name: str
    kind: str
    body: int
    mesh: Mesh
    color: Color


class Strand(NamedTuple):
    """Something that stretches between two frames: a spring, a rod without mass."""

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
    size = float(mechanism.size) or 1.0
    pieces = [*_body_pieces(system, mechanism, size), *_joint_pieces(mechanism, size)]
    strands = tuple(
        Strand(f"spring {i}", "spring", (_own(mechanism, spring.first), _own(mechanism, spring.second)))
        for i, spring in enumerate(mechanism.springs, 1)
    )
    names = ("ground", *(body.name for body in mechanism.bodies))
    return Scene(system.name, names, tuple(pieces), strands, size)


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


def _body_pieces(system: System, mechanism: Mechanism, size: float) -> Iterator[Piece]:
    """One for each body that is not the second part of a split one."""
    values = Values(dict(system._model.parameters))
    shapes = {body.name: body.shape for body in system._model.bodies}
    for body in mechanism.bodies:
        if body.image_of:
            continue
        shape = shapes.get(body.name)
        mesh = meshes.mesh_of(shape, values) if shape is not None else _between_joints(mechanism, body, size)
        yield Piece(body.name, "body", body.number, mesh, PALETTE[(body.number - 1) % len(PALETTE)])


def _between_joints(mechanism: Mechanism, body: TreeBody, size: float) -> Mesh:
    """Rods from the joints of a body to their middle; one rod where there are two, a ball where there is one."""
    frames = [frame for frame in _joint_frames(mechanism) if frame.body == body.number]
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
    """Both frames of every joint, in the frames of bodies that the user knows."""
    for body in mechanism.bodies:
        yield _own(mechanism, Attached(body.parent, body.mount))
        yield _own(mechanism, Attached(body.number, Transform()))
    for loop in mechanism.loops:
        yield from (_own(mechanism, end) for end in (loop.first, loop.second))


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
    R = frame.placement.rotation
    rotation = np.array([[*(R @ e)] for e in _AXES], dtype=float).T
    placed = mesh.placed(rotation, [float(x) for x in frame.placement.offset])
    return Piece(name, "joint", frame.body, placed, JOINT_COLOR if frame.body else GROUND_COLOR)
