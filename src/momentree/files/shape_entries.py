"""Shapes in model files: `rod = { ... }` or `shapes = [{ kind = "rod", ... }]` of a body, and [[shape]], only drawn.

Places of shapes are called `at`, as those of frames are. Paths of meshes are relative to the file.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from momentree.errors import choices, suggestion
from momentree.model.bodies import Body
from momentree.model.frames import GROUND, Frame
from momentree.model.shapes import SHAPES, DrawnShape, MeshShape, Shape, Sphere

if TYPE_CHECKING:
    from momentree.files.model_files import _Reader

Path = tuple[str | int, ...]
LAST = ("color", "at", "rotation")  # keys that stand behind the sizes


# --- Model -> document -----------------------------------------------------------------------------------------------


def shapes_out(body: Body, fields_out: Callable[[Any, str], dict[str, Any]], folder: str | None) -> dict[str, Any]:
    """The keys of a body that are its shapes: one by its kind, several in a list."""
    tables = [shape_out(shape, fields_out, folder) for shape in body.shapes]
    if len(tables) == 1:
        kind = tables[0].pop("kind")
        return {kind: tables[0]}
    return {"shapes": tables} if tables else {}


def shape_out(shape: Shape, fields_out: Callable[[Any, str], dict[str, Any]], folder: str | None) -> dict[str, Any]:
    """The table of a shape, with its kind."""
    entry = fields_out(shape, "shape")
    if isinstance(shape, MeshShape) and folder is not None and isinstance(shape.file, str):
        entry["file"] = _relative(shape.file, folder)
    if "position" in entry:
        entry["at"] = entry.pop("position")
    last = {key: entry.pop(key) for key in LAST if key in entry}
    return {"kind": shape.kind, **entry, **last}


def _relative(file: str, folder: str) -> str:
    try:
        return os.path.relpath(file, folder).replace(os.sep, "/")
    except ValueError:  # on another drive
        return file


# --- document -> Model -----------------------------------------------------------------------------------------------


def read_shapes(reader: _Reader, entry: Mapping[str, Any], where: str, *path: str | int) -> tuple[Shape, ...]:
    """The shapes of a body's entry."""
    alone = [key for key in entry if key in SHAPES]
    if len(alone) > 1:
        message = f"has two shapes, {alone[0]} and {alone[1]}, but a body has one such key"
        reader.problem(where, f"{message}. {_in_a_list(alone)}", *path, alone[1])
    elif alone and "shapes" in entry:
        reader.problem(where, f"has {alone[0]} and shapes. {_in_a_list(alone)}", *path, alone[0])
    if "shapes" in entry:
        return _several(reader, entry["shapes"], where, *path)
    for kind in alone[:1]:
        reader.aliases[*path, "shapes", 0] = (*path, kind)
        if isinstance(entry[kind], dict):
            return (_fields(reader, SHAPES[kind], entry[kind], f"{where}, {kind}", *path, "shapes", 0),)
        reader.problem(where, f"{kind} is a table, such as {{ mass = 1.0, ... }}.", *path, kind)
        reader.broken.add(path)
    return ()


def _in_a_list(kinds: list[str]) -> str:
    tables = ", ".join(f'{{ kind = "{kind}", ... }}' for kind in kinds[:2])
    return f"Write shapes = [{tables}, ...]."


def _several(reader: _Reader, raw: Any, where: str, *path: str | int) -> tuple[Shape, ...]:
    if not isinstance(raw, list) or not all(isinstance(entry, dict) for entry in raw):
        message = 'shapes is a list of tables, such as [{ kind = "box", mass = 1.0, size = [1, 1, 1] }].'
        reader.problem(where, message, *path, "shapes")
        reader.broken.add(path)
        return ()
    return tuple(
        _of_kind(reader, dict(entry), f"{where}, shape {k}", *path, "shapes", k - 1) for k, entry in enumerate(raw, 1)
    )


def read_drawn_shape(reader: _Reader, entry: dict[str, Any], where: str, *path: str | int) -> DrawnShape:
    """An entry of [[shape]]: the frame `on`, and the keys of a shape."""
    on = entry.pop("on", GROUND) if isinstance(entry, dict) else GROUND
    frame = Frame(GROUND) if on == GROUND else reader.frame(on, where, *path, "on")
    return DrawnShape(frame, _of_kind(reader, entry, where, *path))


def _of_kind(reader: _Reader, entry: dict[str, Any], where: str, *path: str | int) -> Shape:
    kind = entry.pop("kind", None)
    if isinstance(kind, str) and kind in SHAPES:
        return _fields(reader, SHAPES[kind], entry, f"{where} ({kind})", *path)
    if kind is None:
        reader.problem(where, f"has no kind. Choose {choices([*SHAPES])}.", *path, "kind")
    else:
        reader.problem(where, f"there is no kind of shape {kind!r}.{suggestion(str(kind), SHAPES)}", *path, "kind")
    reader.broken.add(path)
    return Sphere(radius=1, mass=1 if entry.keys() & {"mass", "density"} else None)  # stands in for it


def _fields(reader: _Reader, cls: type[Shape], raw: Mapping[str, Any], where: str, *path: str | int) -> Shape:
    known = ["at" if field.name == "position" else field.name for field in dataclasses.fields(cls)]
    entry = reader.keys(raw, known, where, *path)
    if "at" in entry:
        entry["position"] = entry.pop("at")
    if "rotation" in entry:
        entry["rotation"] = reader.rotation(entry["rotation"])
    if reader.folder is not None and isinstance(entry.get("file"), str) and entry["file"]:
        entry["file"] = os.path.join(reader.folder, entry["file"])
    shape: Shape = reader.element("shape", cls)(entry, where, *path)
    return shape
