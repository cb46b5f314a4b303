"""Meshes: triangles of the shapes of bodies, of joints, and of rods between points, in the frame of their body."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.model.shapes import Box, Capsule, Cylinder, Disc, MeshShape, Polygon, Rod, Shape, Sphere
from momentree.model.values import Values
from momentree.spatial import Transform, X, Y, Z
from momentree.spatial.vector import Vector, normals

Array = NDArray[np.float64]
Point = Sequence[float] | Array
SIDES, DISC_SIDES = 24, 64  # of a cylinder, and of one that is wider than long
SLENDER = 0.02  # of its length: the radius of a rod that has none, the thickness of a plate that has none


class Mesh(NamedTuple):
    """Triangles: vertices (V, 3) in m, and faces (F, 3), three indices of vertices each, seen counterclockwise."""

    vertices: Array
    faces: NDArray[np.int64]

    def placed(self, rotation: Array, offset: Point) -> Mesh:
        """Turned by a 3 x 3 matrix, then moved."""
        return Mesh(self.vertices @ np.asarray(rotation, dtype=float).T + np.asarray(offset, dtype=float), self.faces)

    def fixed(self, placement: Transform) -> Mesh:
        """Fixed in a frame, in the frame that this one is placed in."""
        R = np.array([[*(placement.rotation @ e)] for e in (X, Y, Z)], dtype=float).T
        return self.placed(R, [float(x) for x in placement.offset])


def joined(meshes: Sequence[Mesh]) -> Mesh:
    """Several meshes as one."""
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    faces = [mesh.faces + start for mesh, start in zip(meshes, starts, strict=False)]
    return Mesh(np.concatenate([mesh.vertices for mesh in meshes]), np.concatenate(faces))


def box(size: Sequence[float]) -> Mesh:
    """A box about the origin."""
    return _made("box", extents=size)


def ball(radius: float) -> Mesh:
    """A ball about the origin."""
    return _made("icosphere", subdivisions=2, radius=radius)


def cylinder(radius: float, length: float, axis: Point = (0, 0, 1)) -> Mesh:
    """A cylinder about the origin, along an axis."""
    sides = DISC_SIDES if length < 2 * radius else SIDES
    upright = _made("cylinder", radius=radius, height=length, sections=sides)
    return upright.placed(along(axis), (0, 0, 0))


def capsule(radius: float, length: float, axis: Point = (0, 0, 1)) -> Mesh:
    """A cylinder with a half ball at each end, about the origin, along an axis."""
    upright = _made("capsule", radius=radius, height=length, count=[SIDES, SIDES // 2])
    return upright.placed(along(axis), (0, 0, 0))


def rod(begin: Point, end: Point, radius: float) -> Mesh:
    """A round rod from one point to another."""
    a, b = np.asarray(begin, dtype=float), np.asarray(end, dtype=float)
    length = float(np.linalg.norm(b - a))
    if length <= radius * 1e-6:
        return ball(radius).placed(np.eye(3), a)
    return cylinder(radius, length, b - a).placed(np.eye(3), (a + b) / 2)


def mesh_of(shape: Shape, values: Values) -> Mesh:
    """The triangles of a shape in the frame of its body."""
    return _SHAPES[type(shape)](shape, values).fixed(shape.placement(values))


def _rod(shape: Rod, values: Values) -> Mesh:
    length, radius = (float(values.scalar(x)) for x in (shape.length, shape.radius))
    along = np.array([*values.axis(shape.along, "along")], dtype=float)
    return rod((0, 0, 0), along * length, radius or SLENDER * length)


def _cylinder(shape: Cylinder, values: Values) -> Mesh:
    radius, length = (float(values.scalar(x)) for x in (shape.radius, shape.length))
    axis = [*values.axis(shape.axis)]
    return cylinder(radius, length, axis).placed(np.eye(3), [*values.vector(shape.centre, "centre")])


def _box(shape: Box, values: Values) -> Mesh:
    size = [float(x) for x in values.scalars(shape.size, 3, "size")]
    return box(size).placed(np.eye(3), [*values.vector(shape.centre, "centre")])


def _disc(shape: Disc, values: Values) -> Mesh:
    radius, thickness = (float(values.scalar(x)) for x in (shape.radius, shape.thickness))
    upright = cylinder(radius, thickness or SLENDER * radius, [*values.axis(shape.axis)])
    return upright.placed(np.eye(3), [*values.vector(shape.centre, "centre")])


def _capsule(shape: Capsule, values: Values) -> Mesh:
    radius, length = (float(values.scalar(x)) for x in (shape.radius, shape.length))
    axis = [*values.axis(shape.axis)]
    return capsule(radius, length, axis).placed(np.eye(3), [*values.vector(shape.centre, "centre")])


def _polygon(shape: Polygon, values: Values) -> Mesh:
    from momentree.look.plates import prism

    outline = np.array([values.scalars(point, 2, "outline") for point in shape.outline], dtype=float)
    thickness = float(values.scalar(shape.thickness)) or SLENDER * float(np.ptp(outline, axis=0).max())
    flat = prism(outline, thickness)
    vertices = np.array([[*shape.in_space((x, y), z)] for x, y, z in flat.vertices], dtype=float)
    # x z y is a left-handed order of axes
    return Mesh(vertices, flat.faces[:, ::-1] if shape.plane == "xz" else flat.faces)


def _mesh(shape: MeshShape, values: Values) -> Mesh:
    vertices, faces = shape.triangles()
    return Mesh(vertices * float(shape.scaling(values)), faces)


def _sphere(shape: Sphere, values: Values) -> Mesh:
    return ball(float(values.scalar(shape.radius))).placed(np.eye(3), [*values.vector(shape.centre, "centre")])


_SHAPES: dict[type[Any], Callable[[Any, Values], Mesh]] = {
    Rod: _rod,
    Cylinder: _cylinder,
    Box: _box,
    Sphere: _sphere,
    Disc: _disc,
    Capsule: _capsule,
    Polygon: _polygon,
    MeshShape: _mesh,
}


def along(axis: Point) -> Array:
    """A rotation that takes z to the axis."""
    n = Vector(*(np.asarray(axis, dtype=float) / np.linalg.norm(axis)))
    return np.array([[*column] for column in (*normals(n), n)], dtype=float).T


def _made(kind: str, **sizes: Any) -> Mesh:
    from trimesh import creation

    made = getattr(creation, kind)(**sizes)
    return Mesh(np.array(made.vertices, dtype=float), np.array(made.faces, dtype=np.int64))
