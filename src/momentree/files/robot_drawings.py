"""Shapes as robot formats have them: boxes, balls, cylinders and capsules along z, meshes; each at its place."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from momentree.files.robot_tree import RobotTree
from momentree.files.writing_notes import WritingNotes
from momentree.model.colors import color_of
from momentree.model.shapes import Box, Capsule, Cylinder, Disc, MeshShape, Rod, Shape, Sphere
from momentree.model.values import Values
from momentree.spatial import IDENTITY, Rotation, Transform, Vector
from momentree.spatial.vector import normals

THIN = 0.02  # of their length or radius: how thick rods and discs without thickness are drawn


class Drawn(NamedTuple):
    """A shape.

    | field | meaning                                                                             |
    |-------|-------------------------------------------------------------------------------------|
    | kind  | "box", "sphere", "cylinder", "capsule" or "mesh"                                    |
    | sizes | edges; radius; radius and length; radius and length without the half balls; scale   |
    | X     | placement, where its axis is z, in the frame of the body                            |
    | color | red, green, blue from 0 to 1, or None                                               |
    | file  | of a mesh                                                                           |
    """

    kind: str
    sizes: tuple[float, ...]
    X: Transform
    color: tuple[float, ...] | None
    file: str = ""


def drawn_on(tree: RobotTree, body: str, notes: WritingNotes) -> Iterator[Drawn]:
    """What is drawn of a body, or of the ground."""
    for shape in tree.shapes.get(body, ()):
        yield from _drawn(shape, Transform(), tree.values, notes)
    for drawn in tree.model.shapes:
        if drawn.frame.body == body:
            yield from _drawn(drawn.shape, tree.placed(drawn.frame), tree.values, notes)


def _drawn(shape: Shape, X_BF: Transform, values: Values, notes: WritingNotes) -> Iterator[Drawn]:
    X = X_BF @ shape.placement(values)
    color = None if shape.color is None else tuple(byte / 255 for byte in color_of(shape.color))

    def number(what: str) -> float:
        return float(values.scalar(getattr(shape, what), what))

    def round_about(axis: Vector, center: Vector, *sizes: float, kind: str = "cylinder") -> Drawn:
        return Drawn(kind, sizes, X @ Transform(_upright(axis), center), color)

    if isinstance(shape, Box):
        edges = tuple(float(edge) for edge in values.scalars(shape.size, 3, "size"))
        yield Drawn("box", edges, X @ Transform(IDENTITY, values.vector(shape.centre)), color)
    elif isinstance(shape, Sphere):
        yield Drawn("sphere", (number("radius"),), X @ Transform(IDENTITY, values.vector(shape.centre)), color)
    elif isinstance(shape, Rod):
        length, axis = number("length"), values.axis(shape.along)
        yield round_about(axis, axis * (length / 2), number("radius") or THIN * length, length)
    elif isinstance(shape, (Cylinder, Capsule)):
        axis, center, kind = values.axis(shape.axis), values.vector(shape.centre), shape.kind
        yield round_about(axis, center, number("radius"), number("length"), kind=kind)
    elif isinstance(shape, Disc):
        axis, center, radius = values.axis(shape.axis), values.vector(shape.centre), number("radius")
        yield round_about(axis, center, radius, number("thickness") or THIN * radius)
    elif isinstance(shape, MeshShape):
        yield Drawn("mesh", (number("scale"),), X, color, str(shape.file))
    else:
        notes.change(f"not drawn: {shape.kind}")


def _upright(axis: Vector) -> Rotation:
    """From z to the axis of a shape."""
    n1, n2 = normals(axis)
    return Rotation(n1, n2, axis).T if axis != Vector(0, 0, 1) else IDENTITY


def address(file: str, folder: str) -> str:
    """The path of a mesh, relative to the folder of the file that names it."""
    try:
        return os.path.relpath(file, folder).replace(os.sep, "/")
    except ValueError:  # on another drive
        return file


def color_text(color: Any) -> str:
    """ "#rrggbb": the name of a color."""
    return "#" + "".join(f"{round(255 * part):02x}" for part in color)
