"""A Model as a TOML document, and back: what is saved loads equal."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from momentree.errors import ModelError, Problem, suggestion
from momentree.files.toml_reader import Document, parse_document, read_document
from momentree.files.toml_writer import write_document
from momentree.model import Model
from momentree.model.bodies import SHAPES
from momentree.model.elements import Connection, Constraint, Contact, PointForce, Split, Spring, Torque
from momentree.model.frames import Frame, Turn
from momentree.model.joints import JOINTS, Joint
from momentree.model.values import plain

FORMAT = 1  # of the file; a file that says more was written by a later Momentree

# the keys that a frame has in each kind of entry -> the field that it fills
FRAME_KEYS: dict[str, dict[str, str]] = {
    "joint": {"from": "first", "to": "second"},
    "force": {"on": "frame"},
    "spring": {"from": "first", "to": "second"},
    "contact": {"of": "frame", "against": "against"},
}
ELEMENTS: dict[str, tuple[str, type]] = {
    "torque": ("torques", Torque),
    "force": ("forces", PointForce),
    "spring": ("springs", Spring),
    "contact": ("contacts", Contact),
    "constraint": ("constraints", Constraint),
}


def load(path: str | os.PathLike[str]) -> Model:
    """The model in a file, or one error with every problem that it has, each with its line."""
    return _checked(read_document(path), os.fspath(path))


def loads(text: str, name: str = "model text") -> Model:
    """The model in a text."""
    return _checked(parse_document(text, name), name)


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model so that it loads equal; the file appears whole or not at all."""
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        beside.write_text(dumps(model), encoding="utf-8", newline="\n")
        beside.replace(target)
    except OSError as error:
        raise ModelError([Problem(str(path), f"cannot be written: {error.strerror or error}.")]) from None
    finally:
        beside.unlink(missing_ok=True)


def dumps(model: Model) -> str:
    """The text of a model's file."""
    return write_document(to_document(model))


# --- Model -> document -----------------------------------------------------------------------------------------------


def to_document(model: Model) -> dict[str, Any]:
    """The plain dict that a file holds; defaults are left out."""
    document: dict[str, Any] = {"momentree": FORMAT, "name": model.name, "gravity": _out(model.gravity)}
    if model.parameters:
        document["parameters"] = dict(model.parameters)
    ground = {key: _out(value) for key, value in vars(model.ground).items() if value is not None}
    if ground:
        document["ground"] = ground
    splits = [_fields_out(split, "split") for split in model.splits]
    structure = {"cut": list(model.cuts), "split": splits}
    if any(structure.values()):
        document["structure"] = {key: value for key, value in structure.items() if value}
    document["body"] = [_body_out(body) for body in model.bodies]
    document["joint"] = [_joint_out(connection) for connection in model.joints]
    for kind, (place, _) in ELEMENTS.items():
        document[kind] = [_fields_out(element, kind) for element in getattr(model, place)]
    return {key: value for key, value in document.items() if value != []}


def _body_out(body: Any) -> dict[str, Any]:
    entry = _fields_out(body, "body")
    if body.shape is not None:
        del entry["shape"]
        entry[body.shape.kind] = _fields_out(body.shape, "shape")
    return entry


def _joint_out(connection: Connection) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": connection.name, "type": connection.joint.kind}
    entry.update(_fields_out(connection.joint, "type"))
    return {**entry, "from": _frame_out(connection.first), "to": _frame_out(connection.second)}


def _fields_out(thing: Any, kind: str) -> dict[str, Any]:
    keys = {field: key for key, field in FRAME_KEYS.get(kind, {}).items()}
    entry = {}
    for field in dataclasses.fields(thing):
        value = getattr(thing, field.name)
        if value is not None and not _is_default(field, value):
            entry[keys.get(field.name, field.name)] = _frame_out(value) if isinstance(value, Frame) else _out(value)
    return entry


def _is_default(field: dataclasses.Field[Any], value: Any) -> bool:
    return field.default is not dataclasses.MISSING and type(value) is type(field.default) and value == field.default


def _frame_out(frame: Frame) -> Any:
    entry = _fields_out(frame, "frame")
    if "position" in entry:
        entry = {"body": frame.body, "at": entry.pop("position"), **entry}
    return frame.body if len(entry) == 1 else entry


def _out(value: Any) -> Any:
    if isinstance(value, Turn):
        return {"axis": _out(value.axis), "angle": value.angle}
    return [_out(entry) for entry in value] if isinstance(value, tuple) else value


# --- document -> Model -----------------------------------------------------------------------------------------------


def _checked(document: Document, name: str) -> Model:
    reader = _Reader(document.data)
    model = reader.model()

    def place(path: tuple[str | int, ...]) -> str:
        line = document.line(path)
        return f"{name}:{line}" if line else name

    model.source = place
    problems = [model.placed(problem) for problem in reader.problems]
    # what could not be read is not complained of a second time by the check of the model
    told = {problem.path[:2] for problem in problems}
    problems += [problem for problem in model.check() if problem.path[:2] not in told]
    if problems:
        raise ModelError(problems)
    return model


class _Reader:
    """Reads what it can and keeps a problem for what it cannot; the numbers themselves are the model's to check."""

    def __init__(self, data: Mapping[str, Any]):
        self.data = data
        self.problems: list[Problem] = []

    def model(self) -> Model:
        data = self.data
        kinds = ("body", "joint", *ELEMENTS)
        self.keys(data, ("momentree", "name", "gravity", "parameters", "ground", "structure", *kinds), "file")
        self.version(data.get("momentree", FORMAT))
        model = Model(self.text(data.get("name", "model"), "name"))
        if "gravity" in data:
            model.gravity = plain(data["gravity"])
        model.parameters = list(self.table("parameters").items())
        ground = self.table("ground")
        self.keys(ground, ("position", "rotation"), "ground", "ground")
        model.ground.position, model.ground.rotation = (plain(ground.get(key)) for key in ("position", "rotation"))
        model.bodies = self.each("body", self.body)
        model.joints = self.each("joint", self.joint)
        for kind, (place, cls) in ELEMENTS.items():
            setattr(model, place, self.each(kind, self.element(kind, cls)))
        self.openings(model)
        return model

    def openings(self, model: Model) -> None:
        structure = self.table("structure")
        self.keys(structure, ("cut", "split"), "structure", "structure")
        cuts = structure.get("cut", [])
        if not isinstance(cuts, list) or not all(isinstance(cut, str) for cut in cuts):
            self.problem("structure", "cut is a list of joint names.", "structure", "cut")
            cuts = []
        model.cuts = cuts
        splits = structure.get("split", [])
        if not isinstance(splits, list):
            self.problem("structure", "split is a list of {body, joint, share}.", "structure", "split")
            splits = []
        read = self.element("split", Split)
        for i, entry in enumerate(splits):
            if (split := self.entry(entry, read, "split", "structure", "split", i)) is not None:
                model.splits.append(split)

    def body(self, entry: dict[str, Any], where: str, *path: str | int) -> Any:
        from momentree.model.bodies import Body

        shapes = [kind for kind in SHAPES if kind in entry]
        if len(shapes) > 1:
            self.problem(where, f"has two shapes, {shapes[0]} and {shapes[1]}; a body has one.", *path)
        fields = {key: value for key, value in entry.items() if key not in SHAPES}
        known = [field.name for field in dataclasses.fields(Body) if field.name != "shape"]
        self.keys(fields, (*known, *SHAPES), where, *path)
        fields = {key: value for key, value in fields.items() if key in known}
        if shapes:
            shape = entry[shapes[0]]
            read = self.element("shape", SHAPES[shapes[0]])
            if not isinstance(shape, dict):
                self.problem(where, f"{shapes[0]} is a table, such as {{ mass = 1.0, ... }}.", *path, shapes[0])
                return None
            fields["shape"] = read(shape, f"{where}, {shapes[0]}", *path, shapes[0])
            if fields["shape"] is None:
                return None
        if not isinstance(fields.get("massless", False), bool):
            self.problem(where, "massless is true or false.", *path, "massless")
            return None
        return Body(**fields)

    def joint(self, entry: dict[str, Any], where: str, *path: str | int) -> Connection | None:
        fields = dict(entry)
        name, kind = fields.pop("name"), fields.pop("type", None)
        ends = [self.frame(fields.pop(key, None), where, *path, key) for key in ("from", "to")]
        if not isinstance(kind, str) or kind not in JOINTS:
            said = "has no type" if kind is None else f"there is no joint type {kind!r}"
            self.problem(where, f"{said}.{suggestion(str(kind), JOINTS)}", *path, "type")
            return None
        joint: Joint | None = self.element("type", JOINTS[kind])(fields, f"{where} ({kind})", *path)
        if joint is None or ends[0] is None or ends[1] is None:
            return None
        return Connection(name, joint, ends[0], ends[1])

    def element(self, kind: str, cls: Any) -> Callable[..., Any]:
        """A reader of entries whose keys are the fields of a dataclass."""

        def read(entry: dict[str, Any], where: str, *path: str | int) -> Any:
            frames = FRAME_KEYS.get(kind, {})
            fields = {field.name: field for field in dataclasses.fields(cls)}
            names = [name for name in fields if name not in frames.values()]
            self.keys(entry, (*names, *frames), where, *path)
            values = {key: value for key, value in entry.items() if key in names}
            for key, name in frames.items():
                if key in entry or fields[name].default is dataclasses.MISSING:
                    values[name] = self.frame(entry.get(key), where, *path, key)
            missing = [n for n, f in fields.items() if n not in values and f.default is dataclasses.MISSING]
            for name in missing:
                self.problem(where, f"{name} is missing.", *path)
            if missing or any(value is None for value in values.values()):
                return None
            return cls(**values)

        return read

    def frame(self, raw: Any, where: str, *path: str | int) -> Frame | None:
        """ "crank", or { body = "crank", at = [1, 0, 0], rotation = { axis = "z", angle = 0.5 } }."""
        if isinstance(raw, str):
            return Frame(raw)
        if not isinstance(raw, dict) or not isinstance(raw.get("body"), str):
            said = f"{path[-1]} is missing" if raw is None else f"{path[-1]} is no frame"
            self.problem(where, f'{said}: write a body\'s name or {{ body = "...", at = [x, y, z] }}.', *path)
            return None
        self.keys(raw, ("body", "at", "rotation"), where, *path)
        return Frame(raw["body"], raw.get("at", (0, 0, 0)), self.rotation(raw.get("rotation")))

    def rotation(self, raw: Any) -> Any:
        if isinstance(raw, dict) and raw.keys() == {"axis", "angle"}:
            return Turn(raw["axis"], raw["angle"])
        return [self.rotation(entry) for entry in raw] if isinstance(raw, list) else raw

    # --- what they share -------------------------------------------------------------------------------------------

    def each(self, kind: str, read: Callable[..., Any]) -> list[Any]:
        entries = self.data.get(kind, [])
        if not isinstance(entries, list):
            self.problem(kind, f"write [[{kind}]], with two brackets, for each one.", kind)
            return []
        found = [self.entry(entry, read, kind, kind, i) for i, entry in enumerate(entries)]
        return [thing for thing in found if thing is not None]

    def entry(self, entry: Any, read: Callable[..., Any], kind: str, *path: str | int) -> Any:
        if not isinstance(entry, dict):
            self.problem(kind, "is no table of keys and values.", *path)
            return None
        where = f"{kind} {entry['name']!r}" if isinstance(entry.get("name"), str) else f"{kind} {int(path[-1]) + 1}"
        if kind in ("body", "joint") and not isinstance(entry.get("name"), str):
            self.problem(where, 'has no name. Write name = "...".', *path)
            return None
        if kind == "constraint":
            entry = {"name": f"constraint {int(path[-1]) + 1}", **entry}
        return read(entry, where, *path)

    def table(self, key: str) -> dict[str, Any]:
        table = self.data.get(key, {})
        if isinstance(table, dict):
            return table
        self.problem(key, f"is no table; write [{key}] and its keys below.", key)
        return {}

    def keys(self, entry: Mapping[str, Any], known: Sequence[str], where: str, *path: str | int) -> None:
        for key in entry:
            if key not in known:
                self.problem(where, f"unknown key '{key}'.{suggestion(key, known)}", *path, key)

    def text(self, raw: Any, key: str) -> str:
        if isinstance(raw, str):
            return raw
        self.problem("file", f"{key} is {raw!r}; a text in quotes is expected.", key)
        return ""

    def version(self, said: Any) -> None:
        if said != FORMAT:
            message = f"format {said!r} is not known; this Momentree reads format {FORMAT}."
            self.problem("file", message, "momentree")

    def problem(self, where: str, message: str, *path: str | int) -> None:
        self.problems.append(Problem(where, message, path))
