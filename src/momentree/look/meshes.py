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
SIDES = 24  # of a cylinder
MOST_TRIANGLES = 40_000  # of a mesh that is drawn
LENGTHS = ("extents", "radius", "height")
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


def coarser(mesh: Mesh, most: int) -> Mesh:
    """A mesh with at most so many triangles: vertices in one cell of a grid become one, the mean of them.

    Rossignac and Borrel, Multi-resolution 3D approximations for rendering complex scenes (1993). Only for the eye.
    """
    cells = int(np.sqrt(most))
    found = mesh
    low, extent = mesh.vertices.min(axis=0), float(np.ptp(mesh.vertices, axis=0).max())
    while len(found.faces) > most and cells > 1:
        at = np.floor((mesh.vertices - low) * (cells / extent)).astype(np.int64)
        _, of, count = np.unique(
            (at[:, 0] * (cells + 1) + at[:, 1]) * (cells + 1) + at[:, 2], return_inverse=True, return_counts=True
        )
        means = np.stack([np.bincount(of, mesh.vertices[:, i]) / count for i in range(3)], axis=1)
        faces = of[mesh.faces]
        faces = faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])]
        _, once = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
        found, cells = Mesh(means, faces[np.sort(once)]), int(0.8 * cells)
    return found


def box(size: Sequence[float]) -> Mesh:
    """A box about the origin."""
    return _made("box", max(size), extents=size)


def ball(radius: float) -> Mesh:
    """A ball about the origin."""
    return _made("icosphere", radius, subdivisions=2, radius=radius)


def cylinder(radius: float, length: float, axis: Point = (0, 0, 1)) -> Mesh:
    """A cylinder about the origin, along an axis."""
    upright = _made("cylinder", max(radius, length), radius=radius, height=length, sections=SIDES)
    return upright.placed(along(axis), (0, 0, 0))


def capsule(radius: float, length: float, axis: Point = (0, 0, 1)) -> Mesh:
    """A cylinder with a half ball at each end, about the origin, along an axis."""
    upright = _made("capsule", max(radius, length), radius=radius, height=length, count=[SIDES, SIDES // 2])
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
    return coarser(Mesh(vertices * float(shape.scaling(values)), faces), MOST_TRIANGLES)


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


def _made(kind: str, size: float, **lengths: Any) -> Mesh:
    """A mesh of trimesh, made of size 1: it merges points that are nearer than 1e-8."""
    from trimesh import creation

    unit = {name: np.asarray(value) / size if name in LENGTHS else value for name, value in lengths.items()}
    made = getattr(creation, kind)(**unit)
    return Mesh(np.array(made.vertices, dtype=float) * size, np.array(made.faces, dtype=np.int64))
