"""Geoms and sites of MJCF: shapes that are drawn, as MuJoCo's viewer shows them, and named frames."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from momentree.files.counterparts import Notes
from momentree.files.mjcf_compiler import Compiled
from momentree.files.mjcf_values import Names, floats, placement, quaternion
from momentree.files.robot_parts import rgb
from momentree.model import Model
from momentree.model.frames import Frame
from momentree.model.mesh_files import FORMATS
from momentree.model.shapes import Shape, box, capsule, cylinder, mesh, polygon, sphere
from momentree.spatial import Transform
from momentree.spatial.rotation import rotation_quaternion

PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH, SDF = range(9)  # as MuJoCo numbers them (mjtGeom)
NAMES = ("plane", "height field", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "signed distance")
SHOWN = 3  # groups of geoms that MuJoCo's viewer shows at first: 0, 1 and 2; collision geoms are in others
GRAY = (0.5, 0.5, 0.5, 1.0)  # of geoms without a color


def shapes_of(made: Compiled, body: int, notes: Notes) -> list[Shape]:
    """What is drawn of a body."""
    mj = made.mj
    first = int(mj.body_geomadr[body])
    geoms = range(first, first + int(mj.body_geomnum[body]))
    return [shape for geom in geoms if (shape := _shape(made, geom, notes)) is not None]


def add_sites(model: Model, mj: Any, names: Names) -> None:
    """Sites with names become named frames, for constraints and looking."""
    for site in range(mj.nsite):
        said = names.of("site", site)
        if said:
            body = names.bodies[int(mj.site_bodyid[site])]
            frame = Frame(body, floats(mj.site_pos[site]), quaternion(mj.site_quat[site]))
            model.frame(names.unused(said), frame)


def _shape(made: Compiled, geom: int, notes: Notes) -> Shape | None:
    mj = made.mj
    color = _color(mj, geom)
    if mj.geom_group[geom] >= SHOWN or color[3] == 0:
        return None
    kind = int(mj.geom_type[geom])
    position, turned = floats(mj.geom_pos[geom]), quaternion(mj.geom_quat[geom])
    found = _mesh(made, geom, notes) if kind == MESH else _solid(mj, geom, kind, notes)
    if found is None:
        return None
    if kind != MESH:
        found = found.at(position, turned)
    return found if color == GRAY else replace(found, color=rgb(color))


def _solid(mj: Any, geom: int, kind: int, notes: Notes) -> Shape | None:
    a, b, c = floats(mj.geom_size[geom])
    if kind == SPHERE:
        return sphere(radius=a)
    if kind == CAPSULE:
        return capsule(radius=a, length=2 * b, axis="z")
    if kind == CYLINDER:
        return cylinder(radius=a, length=2 * b, axis="z")
    if kind == BOX:
        return box(size=(2 * a, 2 * b, 2 * c))
    if kind == PLANE and a > 0 and b > 0:
        return polygon(outline=((-a, -b), (a, -b), (a, b), (-a, b)))
    what = NAMES[kind] if kind < len(NAMES) else "shape"
    notes.add(f"not drawn: {what}{' without bounds' * (kind == PLANE)}")
    return None


def _mesh(made: Compiled, geom: int, notes: Notes) -> Shape | None:
    """The file of a mesh at its own place: MuJoCo moves the vertices to the center of mass and the principal axes."""
    mj, number = made.mj, int(made.mj.geom_dataid[geom])
    address = int(mj.mesh_pathadr[number])
    path = "" if address < 0 else bytes(mj.paths[address : mj.paths.index(b"\0", address)]).decode(errors="replace")
    if os.path.splitext(path)[1][1:].lower() not in FORMATS or not os.path.isfile(path):
        notes.add("meshes not drawn, in another format than STL, OBJ or PLY", os.path.basename(path))
        return None
    scale = floats(mj.mesh_scale[number])
    if len({*scale}) > 1 or scale[0] <= 0:
        notes.add("meshes not drawn, scaled differently along the axes", os.path.basename(path))
        return None
    moved = placement(mj.mesh_pos[number], mj.mesh_quat[number])
    reference = made.references[number]
    scaled = Transform(reference.rotation, reference.offset * scale[0])
    X = placement(mj.geom_pos[geom], mj.geom_quat[geom]) @ moved.inverse() @ scaled.inverse()
    return mesh(path, scale=scale[0]).at(tuple(X.offset), tuple(rotation_quaternion(X.rotation)))


def _color(mj: Any, geom: int) -> tuple[float, ...]:
    """Its own color, or that of its material where it has none of its own."""
    own, material = floats(mj.geom_rgba[geom]), int(mj.geom_matid[geom])
    rounded = tuple(round(entry, 6) for entry in own)
    if material >= 0 and rounded == GRAY:
        return floats(mj.mat_rgba[material])
    return GRAY if rounded == GRAY else own
