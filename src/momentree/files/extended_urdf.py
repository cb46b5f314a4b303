"""Extended URDF (LAAS): loops of a URDF in a small YAML file beside it, and joints that URDF has no type for.

    closed_loop: [['knee_A', 'knee_B'], ['foot_A', 'foot_B']]    # pairs of links or joints whose frames are connected
    type: ['6d', '3d']                                           # rigidly, or by a ball joint
    joint_name: ['hip', 'ankle']                                 # joints of the URDF that have another type:
    joint_type: ['SPHERICAL', 'UJOINT_XY']                       # SPHERICAL, FIXED, UJOINT_ and two axes
    name_mot: ['motor']                                          # joints with motors

Of YAML these are read: keys with a list, in brackets over any number of lines or with dashes; texts with or without
quotes; comments. There are no anchors, tags or nested tables in such files, and none are understood.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from momentree.errors import ModelError, choices
from momentree.files.model_bytes import file_error, is_regular, printed_name, read_bytes
from momentree.model import Model
from momentree.model.joint_types import Revolute
from momentree.model.values import Mistake, Values

KEYS = ("closed_loop", "type", "name_mot", "joint_name", "joint_type")
CLOSINGS = {"6d": "Fixed", "3d": "Spherical"}
TOKENS = re.compile(r"""\s+|\#[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\n]|'')*'|[\[\],]|[^\s\[\],'"\#][^\n\[\],\#]*""")
PARALLEL = 1e-12  # of the cosine between two axes
DEEPEST = 3  # lists inside each other


@dataclass(frozen=True)
class Closure:
    """Two links or joints of a URDF whose frames are connected: by "6d" rigidly, by "3d" in a point."""

    first: str
    second: str
    kind: str
    line: int


@dataclass(frozen=True)
class Closures:
    """What the file beside a URDF says.

    | field  | meaning                                                                      |
    |--------|------------------------------------------------------------------------------|
    | types  | joints that have another type: "SPHERICAL", "FIXED", "UJOINT_XY", and lines  |
    | motors | joints with motors                                                           |
    """

    file: str = ""
    loops: tuple[Closure, ...] = ()
    types: dict[str, tuple[str, int]] = field(default_factory=dict)
    motors: tuple[str, ...] = ()

    def error(self, message: str, line: int) -> ModelError:
        """A mistake in the file."""
        return file_error(self.file, message, line)


def closures_beside(urdf: str | os.PathLike[str]) -> Path | None:
    """The file with the same name but .yaml, or robot.yaml, if it is there and says closed_loop."""
    for path in (Path(urdf).with_suffix(".yaml"), Path(urdf).with_name("robot.yaml")):
        if not is_regular(path):
            continue
        with contextlib.suppress(OSError), open(path, "rb") as file:
            if re.search(rb"(?m)^closed_loop\s*:", file.read(100_000)):
                return path
    return None


def read_closures(path: str | os.PathLike[str]) -> Closures:
    """The closures in a file."""
    name = printed_name(os.fsdecode(path))
    try:
        text = read_bytes(path, name).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise file_error(name, "is not text in UTF-8.", 1) from None
    return parse_closures(text, name)


def parse_closures(text: str, name: str) -> Closures:
    """The closures in a text; `name` is what errors call the file."""
    entries = {}
    for key, line, value in _entries(text, name):
        if key in entries:
            raise file_error(name, f"{key} is given twice. Remove one.", line)
        if key in KEYS:
            entries[key] = (_value(value, line, name, key), line)
    if "closed_loop" not in entries:
        raise file_error(name, "has no closed_loop: a list of pairs of frames, [['knee_A', 'knee_B']].", 1)
    pairs, line = entries["closed_loop"]
    kinds, kinds_line = entries.get("type", (["6d"] * len(pairs), line))
    if len(kinds) != len(pairs):
        raise file_error(name, f"type has {len(kinds)} entries for {len(pairs)} pairs in closed_loop.", kinds_line)
    loops = tuple(_closure(pair, kind, name, line) for pair, kind in zip(pairs, kinds, strict=True))
    joints, joints_line = entries.get("joint_name", ([], line))
    types, types_line = entries.get("joint_type", ([], line))
    if len(types) != len(joints):
        message = f"joint_type has {len(types)} entries for {len(joints)} in joint_name."
        raise file_error(name, message, types_line if types else joints_line)
    changed = {
        _text(joint, name, joints_line): (_text(kind, name, types_line), joints_line)
        for joint, kind in zip(joints, types, strict=True)
    }
    return Closures(name, loops, changed, tuple(map(str, entries.get("name_mot", ([], 0))[0])))


def idle_hinges(model: Model, pairs: Iterable[tuple[str, str]], motors: Collection[str]) -> Iterator[str]:
    """Of two hinges whose links are welded to each other, the one that is superfluous if they have one axis.

    A hinge that ends in a weld with another hinge is one hinge, as it is meant; what is welded would turn between them
    by itself, with the least inertia of all. A motor stays, and so does a hinge with a force or a coupling.
    """
    hinges = {joint.name: joint.type for joint in model.joints if isinstance(joint.type, Revolute)}
    named = {torque.joint for torque in model.torques} | {*motors}
    named |= {name for couple in model.couples for name in (couple.joint, couple.to)}
    for pair in pairs:
        if not {*pair} <= hinges.keys():
            continue
        try:
            first, second = (Values({}).axis(hinges[name].axis) for name in pair)
        except Mistake:  # which the check of the model reports
            continue
        if abs(abs(first @ second) - 1) > PARALLEL:
            continue
        plain = [name for name in pair if name not in named and not _is_hindered(hinges[name])]
        yield from plain[:1]


def _is_hindered(hinge: Revolute) -> bool:
    return bool(hinge.damping or hinge.spring) or hinge.limits is not None


def _closure(pair: Any, kind: Any, name: str, line: int) -> Closure:
    if not isinstance(pair, list) or len(pair) != 2:
        raise file_error(name, f"closed_loop has {pair!r:.60}; pairs of frames are expected, ['A', 'B'].", line)
    first, second = (_text(end, name, line) for end in pair)
    known = _text(kind, name, line).lower()
    if known not in CLOSINGS:
        raise file_error(name, f"there is no type '{known[:40]}'. Choose {choices(list(CLOSINGS))}.", line)
    return Closure(first, second, known, line)


def _text(value: Any, name: str, line: int) -> str:
    if not isinstance(value, str):
        raise file_error(name, f"{value!r:.60} is a list; a name is expected.", line)
    return value


# --- the little YAML that such files have ----------------------------------------------------------------------------


def _entries(text: str, name: str) -> list[tuple[str, int, str]]:
    """Keys at the beginning of lines, their lines, and the text up to the next key."""
    starts = list(re.finditer(r"(?m)^([A-Za-z_][\w -]*?)[ \t]*:(?=\s|\[|$)", text))
    first = text[: starts[0].start()] if starts else text
    if re.sub(r"#[^\n]*|^---[ \t]*$", "", first, flags=re.MULTILINE).strip():
        raise file_error(name, "is not the YAML of closures: a line begins with no key.", 1)
    entries, line, at = [], 1, 0
    for start, after in zip(starts, [*(s.start() for s in starts), len(text)][1:], strict=True):
        line += text.count("\n", at, start.start())
        at = start.start()
        entries.append((start[1], line, text[start.end() : after]))
    return entries


def _value(text: str, line: int, name: str, key: str) -> list[Any]:
    """The list that a key has."""
    dashes = re.sub(r"(?m)#[^\n]*$", "", text).strip()
    if dashes.startswith("- ") or dashes.startswith("-\n"):
        items = re.split(r"(?m)^[ \t]*-(?=\s)", f"\n{dashes}")[1:]
        text = "[" + ",".join(item if not re.match(r"\s*- ", item) else f"[{item}]" for item in items) + "]"
    outer: list[Any] = []
    open_lists, at, after_value = [outer], 0, False
    while at < len(text):
        token = TOKENS.match(text, at)
        if token is None:
            raise file_error(name, f"{key}: there is something that is not a list.", line + text.count("\n", 0, at))
        here, at = token[0], token.end()
        if here.isspace() or here.startswith("#"):
            continue
        if here == "[" and not after_value and len(open_lists) <= DEEPEST:
            inner: list[Any] = []
            open_lists[-1].append(inner)
            open_lists.append(inner)
        elif here == "]" and len(open_lists) > 1:
            open_lists.pop()
            after_value = True
        elif here == "," and len(open_lists) > 1:
            after_value = False
        elif here not in "[]," and not after_value and len(open_lists) > 1:
            open_lists[-1].append(_plain(here))
            after_value = True
        else:
            raise file_error(name, f"{key}: '{here[:20]}' is not expected here.", line + text.count("\n", 0, at))
    if len(open_lists) > 1 or len(outer) != 1:
        raise file_error(name, f"{key}: a list in brackets is expected, and its end.", line)
    found: list[Any] = outer[0]
    return found


def _plain(token: str) -> str:
    """A text without its quotes."""
    if token[0] == "'" and token[-1] == "'":
        return token[1:-1].replace("''", "'")
    return token[1:-1] if token[0] == '"' else token.strip()
