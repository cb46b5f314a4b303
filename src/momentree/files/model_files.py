"""Model files: a Model as a TOML document, and back; what is saved loads equal."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from momentree.errors import ModelError, Problem, spell_checked, suggestion
from momentree.files.atomic_write import printable, reason_and_way_out, write_whole
from momentree.files.input_entries import inputs_out, parameters_out, read_input
from momentree.files.shape_entries import read_drawn_shape, read_shapes, shape_out, shapes_out
from momentree.files.table_entries import read_table, table_out
from momentree.files.toml_reader import Document, parse_document, read_document
from momentree.files.toml_writer import write_document
from momentree.model import Model
from momentree.model.bodies import Body
from momentree.model.check import problems_of
from momentree.model.constraint_elements import CONSTRAINT_ELEMENTS
from momentree.model.elements import Contact, Joint, Latch, PointForce, Split, Spring, Torque
from momentree.model.frames import GROUND, Frame, NamedFrame, Turn
from momentree.model.inputs import Output
from momentree.model.joint_types import JOINTS
from momentree.model.shapes import SHAPES, DrawnShape
from momentree.model.start import ENTRIES, Start
from momentree.model.switches import Release, Switch
from momentree.model.values import plain

FORMAT = 1  # of the file; a file with a greater number was written by a later version

# the keys that a frame has in each kind of entry -> the field that it fills
FRAME_KEYS: dict[str, dict[str, str]] = {
    "joint": {"from": "first", "to": "second"},
    "force": {"on": "frame"},
    "spring": {"from": "first", "to": "second"},
    "contact": {"of": "frame", "against": "against"},
    **{cls.kind: cls.frames for cls in CONSTRAINT_ELEMENTS},
}
ELEMENTS: dict[str, tuple[str, type]] = {
    "torque": ("torques", Torque),
    "latch": ("latches", Latch),
    "force": ("forces", PointForce),
    "spring": ("springs", Spring),
    "contact": ("contacts", Contact),
    **{cls.kind: (cls.collection, cls) for cls in CONSTRAINT_ELEMENTS},
    "release": ("releases", Release),
    "switch": ("switches", Switch),
    "output": ("outputs", Output),
}
NUMBERED = {cls.kind for cls in CONSTRAINT_ELEMENTS}  # whose names, where they have none, are their kind and number


def load_toml(path: str | os.PathLike[str], inertia_check: str | None = None) -> Model:
    """The model in a TOML file, or one error with every problem that it has, each with its line."""
    return _checked(read_document(path), os.fspath(path), os.path.dirname(os.path.abspath(path)), inertia_check)


@spell_checked
def loads(text: str, name: str = "model text") -> Model:
    """The model in a text."""
    return _checked(parse_document(text, name), name)


def save_toml(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model so that it loads equal; the file appears whole or not at all."""
    try:
        text = dumps(model, os.path.dirname(os.path.abspath(path)))
    except (TypeError, ValueError) as error:
        raise ModelError([Problem(str(path), f"cannot be written as TOML: {error}.")]) from None
    try:
        write_whole(path, text)
    except OSError as error:
        raise ModelError([Problem(printable(path), reason_and_way_out(path, error))]) from None


def dumps(model: Model, folder: str | None = None) -> str:
    """The text of a model's file in this folder, to which paths of meshes are relative; None: they are absolute."""
    return write_document(to_document(model, folder))


# --- Model -> document -----------------------------------------------------------------------------------------------


def to_document(model: Model, folder: str | None = None) -> dict[str, Any]:
    """The plain dict that a file holds; defaults are omitted."""
    document: dict[str, Any] = {"momentree": FORMAT, "name": model.name, "gravity": _out(model.gravity)}
    if model.tolerance is not None:
        document["tolerance"] = model.tolerance
    if model.inertia_check != "error":
        document["inertia_check"] = model.inertia_check
    if parameters := parameters_out(model):
        document["parameters"] = parameters
    document["input"] = inputs_out(model)
    ground = {key: _out(value) for key, value in vars(model.ground).items() if value is not None}
    if ground:
        document["ground"] = ground
    splits = [_fields_out(split, "split") for split in model.splits]
    structure = {"cut": list(model.cuts), "split": splits}
    if any(structure.values()):
        document["structure"] = {key: value for key, value in structure.items() if value}
    if model.start is not None:
        said = _fields_out(model.start, "start")
        document["start"] = {key: value for key, value in said.items() if value != {}}
    document["table"] = [table_out(table, _fields_out) for table in model.tables]
    document["body"] = [_body_out(body, folder) for body in model.bodies]
    document["joint"] = [_joint_out(joint) for joint in model.joints]
    document["frame"] = [_named_frame_out(frame) for frame in model.frames]
    document["shape"] = [_drawn_shape_out(drawn, folder) for drawn in model.shapes]
    for kind, (attribute, _) in ELEMENTS.items():
        document[kind] = [_fields_out(element, kind) for element in getattr(model, attribute)]
    return {key: value for key, value in document.items() if value != []}


def _body_out(body: Body, folder: str | None) -> dict[str, Any]:
    entry = _fields_out(body, "body")
    entry.pop("shapes", None)
    return {**entry, **shapes_out(body, _fields_out, folder)}


def _drawn_shape_out(drawn: DrawnShape, folder: str | None) -> dict[str, Any]:
    frame = _frame_out(drawn.frame)
    return {**({} if frame == GROUND else {"on": frame}), **shape_out(drawn.shape, _fields_out, folder)}


def _joint_out(joint: Joint) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": joint.name, "type": joint.type.kind}
    entry.update(_fields_out(joint.type, "type"))
    return {**entry, "from": _frame_out(joint.first), "to": _frame_out(joint.second)}


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


def _named_frame_out(named: NamedFrame) -> dict[str, Any]:
    frame = _frame_out(named.frame)
    return {"name": named.name, **(frame if isinstance(frame, dict) else {"body": frame})}


def _out(value: Any) -> Any:
    if isinstance(value, Turn):
        return {"axis": _out(value.axis), "angle": value.angle}
    if isinstance(value, dict):
        return {key: _out(entry) for key, entry in value.items()}
    return [_out(entry) for entry in value] if isinstance(value, tuple) else value


# --- document -> Model -----------------------------------------------------------------------------------------------


def _checked(document: Document, name: str, folder: str | None = None, inertia_check: str | None = None) -> Model:
    reader = _Reader(document.data, folder)
    model = reader.model()
    model.inertia_check = inertia_check or model.inertia_check

    model.source = functools.partial(_place_of, document, reader, name)
    problems = [model.placed(problem) for problem in reader.problems]
    problems += [model.placed(problem) for problem in problems_of(model) if not reader.follows(problem)]
    if problems:
        raise ModelError(sorted(problems, key=lambda problem: document.line(reader.in_file(problem.path)) or 0))
    return model


def _place_of(document: Document, reader: _Reader, name: str, path: tuple[str | int, ...]) -> str:
    """The file and line of what the model has at a path; not a function inside another, so that models pickle."""
    line = document.line(reader.in_file(path))
    return f"{name}:{line}" if line else name


class _Reader:
    """Reads what it can and reports a problem for what it cannot; the model checks the numbers themselves.

    Something stands in for what cannot be read, so that everything else can be checked. It is recorded, so that its
    absence is not reported as a second problem:

    | field  | meaning                                                                                  |
    |--------|------------------------------------------------------------------------------------------|
    | broken | paths below which the model does not hold what the file says                             |
    | unread | (kind, name) of entries that others may refer to; the name is "" where it is unknown     |

    `aliases` has the paths of the file that differ from those of the model: `rod` is the first of `shapes`.
    """

    def __init__(self, data: Mapping[str, Any], folder: str | None = None):
        self.data, self.folder = dict(data), folder
        self.aliases: dict[tuple[str | int, ...], tuple[str | int, ...]] = {}
        self.problems: list[Problem] = []
        self.broken: set[tuple[str | int, ...]] = set()
        self.unread: set[tuple[str, str]] = set()

    def in_file(self, path: tuple[str | int, ...]) -> tuple[str | int, ...]:
        """Where the file has what the model has at a path."""
        alias = self.aliases.get(path[:4], path[:4])
        rest = ("at" if part == "position" and path[0] in ("body", "shape") else part for part in path[4:])
        return (*alias, *rest)

    def follows(self, problem: Problem) -> bool:
        """Whether a problem of the model only follows from an entry that could not be read."""
        if any(problem.path[:depth] in self.broken for depth in range(1, len(problem.path) + 1)):
            return True
        if problem.missing is None:
            return False
        kind, name = problem.missing
        kinds = ("joint", "parameters", "frame") if kind == "name" else (kind,)
        return any((kind, said) in self.unread for kind in kinds for said in ("", name))

    def model(self) -> Model:
        kinds = ("input", "table", "body", "joint", "frame", "shape", *ELEMENTS)
        settings = ("momentree", "name", "gravity", "tolerance", "inertia_check")
        known = (*settings, "parameters", "ground", "structure", "start", "study", *kinds)
        data = self.data = self.keys(self.data, known, "file")
        self.version(data.get("momentree", FORMAT))
        model = Model(self.text(data.get("name", "model"), "name"))
        if "gravity" in data:
            model.gravity = plain(data["gravity"])
        model.tolerance = plain(data.get("tolerance"))
        model.inertia_check = data.get("inertia_check", "error")
        model.parameters = [(name, plain(value)) for name, value in self.table("parameters").items()]
        model.inputs = self.each("input", lambda entry, *at: read_input(self, model, entry, *at))
        ground = self.keys(self.table("ground"), ("position", "rotation"), "ground", "ground")
        model.ground.position, model.ground.rotation = (plain(ground.get(key)) for key in ("position", "rotation"))
        model.tables = self.each("table", lambda entry, *at: read_table(self, dict(entry), *at))
        model.bodies = self.each("body", self.body)
        model.joints = self.each("joint", self.joint)
        model.frames = self.each("frame", self.named_frame)
        model.shapes = self.each("shape", lambda entry, *at: read_drawn_shape(self, dict(entry), *at))
        for kind, (attribute, cls) in ELEMENTS.items():
            setattr(model, attribute, self.each(kind, self.element(kind, cls)))
        self.openings(model)
        model.start = self.start()
        return model

    def start(self) -> Start | None:
        if not isinstance(self.data.get("start", {}), dict) or "start" not in self.data:
            self.table("start")
            return None
        known = [field.name for field in dataclasses.fields(Start)]
        table = dict(self.table("start"))
        if "rates" in table and "velocities" not in table:  # as files of version 0.1 have it
            table["velocities"] = table.pop("rates")
        entry = self.keys(table, known, "start", "start")
        for what in ENTRIES:
            if not isinstance(entry.get(what, {}), dict):
                self.problem("start", f"{what} is a table, such as {{ A = 1.0, hull = [0, 0, 1] }}.", "start", what)
                del entry[what]
        return Start(**entry)

    def openings(self, model: Model) -> None:
        structure = self.keys(self.table("structure"), ("cut", "split"), "structure", "structure")
        cuts, splits = structure.get("cut", []), structure.get("split", [])
        if not isinstance(cuts, list) or not all(isinstance(cut, str) for cut in cuts):
            self.problem("structure", 'cut is a list of joint names, such as ["C"].', "structure", "cut")
            cuts = []
        if not isinstance(splits, list) or not all(isinstance(split, dict) for split in splits):
            message = 'split is a list of tables, such as [{ body = "coupler", joint = "C", share = 0.5 }].'
            self.problem("structure", message, "structure", "split")
            splits = []
        read = self.element("split", Split)
        model.cuts = cuts
        model.splits = [self.entry(split, read, "split", "structure", "split", i) for i, split in enumerate(splits)]

    def body(self, entry: dict[str, Any], where: str, *path: str | int) -> Body:
        known = [field.name for field in dataclasses.fields(Body) if field.name != "shapes"]
        entry = self.keys(entry, (*known, "shapes", *SHAPES), where, *path)
        fields = {key: entry[key] for key in known if key in entry}
        fields["name"] = self.name(entry, "body", where, *path)
        return Body(**fields, shapes=read_shapes(self, entry, where, *path))

    def joint(self, entry: dict[str, Any], where: str, *path: str | int) -> Joint:
        kind = entry.get("type")
        likely = [JOINTS[kind]] if isinstance(kind, str) and kind in JOINTS else list(JOINTS.values())
        options = dict.fromkeys(field.name for cls in likely for field in dataclasses.fields(cls))
        keys_of = f"{where} ({kind})" if len(likely) == 1 else where
        entry = self.keys(entry, (*options, "name", "type", "from", "to"), keys_of, *path)
        name, kind = self.name(entry, "joint", where, *path), entry.get("type")
        first, second = (self.frame(entry.get(key), where, *path, key) for key in ("from", "to"))
        if isinstance(kind, str) and kind in JOINTS:
            cls = JOINTS[kind]
            fields = {field.name for field in dataclasses.fields(cls)}
            return Joint(name, cls(**{key: entry[key] for key in fields & entry.keys()}), first, second)
        said = "has no type" if kind is None else f"there is no joint type {kind!r}"
        self.problem(where, f"{said}.{suggestion(str(kind), JOINTS)}", *path, "type")
        self.broken.add(path)
        self.unread.add(("joint", name))
        return Joint(name, None, first, second)  # type: ignore[arg-type]  # the check knows what is no joint

    def element(self, kind: str, cls: Any) -> Callable[..., Any]:
        """A reader of entries whose keys are the fields of a dataclass."""
        frames = FRAME_KEYS.get(kind, {})
        fields = {field.name: field for field in dataclasses.fields(cls) if field.name not in frames.values()}
        optional = {field.name for field in dataclasses.fields(cls) if field.default is not dataclasses.MISSING}
        required = [name for name, field in fields.items() if field.default is dataclasses.MISSING]

        def read(entry: dict[str, Any], where: str, *path: str | int) -> Any:
            entry = self.keys(entry, (*fields, *frames), where, *path)
            values = {key: value for key, value in entry.items() if key in fields}
            for key, name in frames.items():
                if key in entry or name not in optional:
                    values[name] = self.frame(entry.get(key), where, *path, key)
            for name in required:
                value = values.setdefault(name, None)
                if value is None:
                    self.problem(where, f"{name} is missing. Write {name} = ...", *path, name)
                elif fields[name].type == "str" and not isinstance(value, str):
                    self.problem(where, f"{name} is {value!r}; a string in quotes is expected.", *path, name)
                else:
                    continue
                self.broken.add((*path, name))
            return cls(**values)

        return read

    def named_frame(self, entry: dict[str, Any], where: str, *path: str | int) -> NamedFrame:
        """The keys of a frame, and a name."""
        entry = self.keys(entry, ("name", "body", "at", "rotation"), where, *path)
        name = self.name(entry, "frame", where, *path)
        if not isinstance(entry.get("body"), str):
            said = "is missing" if entry.get("body") is None else f"is {entry['body']!r}"
            self.problem(
                where, f'body {said}: write the name of the body that carries it, body = "...".', *path, "body"
            )
            self.broken.add(path)
            return NamedFrame(name, Frame(GROUND))
        return NamedFrame(name, Frame(entry["body"], entry.get("at", (0, 0, 0)), self.rotation(entry.get("rotation"))))

    def frame(self, raw: Any, where: str, *path: str | int) -> Frame:
        """ "crank", or { body = "crank", at = [1, 0, 0], rotation = { axis = "z", angle = 0.5 } }."""
        if isinstance(raw, str):
            return Frame(raw)
        entry = self.keys(raw, ("body", "at", "rotation"), where, *path) if isinstance(raw, dict) else {}
        if not isinstance(entry.get("body"), str):
            said = f"{path[-1]} is missing" if raw is None else f"{path[-1]} is not a frame"
            self.problem(where, f'{said}: write a body\'s name or {{ body = "...", at = [x, y, z] }}.', *path)
            self.broken.add(path[:-1])
            return Frame(GROUND)
        return Frame(entry["body"], entry.get("at", (0, 0, 0)), self.rotation(entry.get("rotation")))

    def rotation(self, raw: Any) -> Any:
        if isinstance(raw, dict) and raw.keys() == {"axis", "angle"}:
            return Turn(raw["axis"], raw["angle"])
        return [self.rotation(entry) for entry in raw] if isinstance(raw, list) else raw

    # --- what they share -------------------------------------------------------------------------------------------

    def each(self, kind: str, read: Callable[..., Any]) -> list[Any]:
        entries = self.data.get(kind, [])
        if isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries):
            return [self.entry(entry, read, kind, kind, i) for i, entry in enumerate(entries)]
        self.problem(kind, f"write [[{kind}]], with two brackets, for each one.", kind)
        self.unread.add((kind, ""))
        return []

    def entry(self, entry: dict[str, Any], read: Callable[..., Any], kind: str, *path: str | int) -> Any:
        number = f"{kind} {int(path[-1]) + 1}"
        if kind in NUMBERED:
            entry = {"name": number, **entry}
        return read(entry, f"{kind} {entry['name']!r}" if isinstance(entry.get("name"), str) else number, *path)

    def name(self, entry: Mapping[str, Any], kind: str, where: str, *path: str | int) -> str:
        name = entry.get("name")
        if isinstance(name, str):
            return name
        said = (
            'has no name. Write name = "...".' if name is None else f"name is {name!r}; a string in quotes is expected."
        )
        self.problem(where, said, *path, "name")
        self.broken.add((*path, "name"))
        self.unread.add((kind, ""))
        return ""

    def table(self, key: str) -> dict[str, Any]:
        table = self.data.get(key, {})
        if isinstance(table, dict):
            return table
        self.problem(key, f"is not a table. Write [{key}] and its keys below.", key)
        self.unread.add((key, ""))
        return {}

    def keys(self, entry: Mapping[str, Any], known: Sequence[str], where: str, *path: str | int) -> dict[str, Any]:
        """The known keys of an entry; a misspelt key is a problem, and then read as the nearest known one."""
        right = {key: value for key, value in entry.items() if key in known}
        for key in (key for key in entry if key not in known):
            near = _nearest(key, known)
            way_out = f" Did you mean '{near}'?" if near else suggestion(key, known)
            self.problem(where, f"unknown key {key!r}.{way_out}", *path, key)
            if near and path:
                right.setdefault(near, entry[key])
                self.broken.add((*path, near))
            elif near:
                self.unread.add((near, ""))
        return right

    def text(self, raw: Any, key: str) -> str:
        if isinstance(raw, str):
            return raw
        self.problem("file", f"{key} is {raw!r}; a string in quotes is expected.", key)
        return ""

    def version(self, said: Any) -> None:
        if type(said) is not int or said != FORMAT:
            message = f"unknown format {said!r}. This version of Momentree reads format {FORMAT}."
            self.problem("file", message, "momentree")

    def problem(self, where: str, message: str, *path: str | int) -> None:
        self.problems.append(Problem(where, message, path))


def _nearest(key: str, known: Sequence[str]) -> str:
    """The known key that a misspelt one is meant to be, "" if there is none like it."""
    if key == "position" and "at" in known:
        return "at"
    return next((name for name in known if suggestion(key, known) == f" Did you mean '{name}'?"), "")
