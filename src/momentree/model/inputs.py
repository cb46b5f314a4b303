"""Inputs and outputs of a model by name: what a motion is driven by, and what is looked at.

An input is a parameter that stays free when the model is built; its default value is that of the parameter, and stands
with the others in `Model.parameters`. An output is an expression of time, parameters, coordinates, velocities and
positions of named frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from momentree.model.expressions.expression import Reference
from momentree.model.values import TIME, Mistake, Raw, Values, plain

if TYPE_CHECKING:
    from momentree.model.model import Model

Check = tuple[str, tuple[str | int, ...], Callable[[], object]]  # where, path, and what raises Mistake
LONGEST_UNIT = 40  # characters


@dataclass(frozen=True)
class Input:
    """An input: its name in laws, its unit, and what it is. Its default is the value of the parameter."""

    name: str
    unit: str = ""
    description: str = ""


@dataclass(frozen=True)
class Output:
    """A named quantity of a motion: an expression, its unit, and what it is."""

    name: str
    expression: Raw
    unit: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "expression", plain(self.expression))


def default_of(model: Model, name: str) -> Raw:
    """The value of an input unless another is given."""
    return dict(model.parameters)[name]


def input_checks(model: Model, values: Values, known: Mapping[Reference, str]) -> Iterator[Check]:
    """What is to be checked of inputs and outputs, each with its place; names of inputs are those of parameters."""
    parameters = {name for name, _ in model.parameters if isinstance(name, str)}
    joints = {joint.name for joint in model.joints if isinstance(joint.name, str)}
    for i, said in enumerate(model.inputs):
        where = f"input {said.name!r}"
        yield from _texts(said, where, "input", i)
        if isinstance(said.name, str) and said.name not in parameters:
            yield where, ("input", i, "name"), partial(_raise, "has no value. Declare it by m.input(name, default).")
    seen: dict[Any, int] = {}
    for i, output in enumerate(model.outputs):
        where, path = f"output {output.name!r}", ("output", i)
        seen[str(output.name)] = seen.get(str(output.name), 0) + 1
        yield where, (*path, "name"), partial(_check_name, output.name, seen[str(output.name)], parameters, joints)
        yield from _texts(output, where, "output", i)
        yield where, (*path, "expression"), partial(values.law, output.expression, known, "expression", _KINDS)


_KINDS = "t, parameters, coordinates, velocities and frames"


def _check_name(name: Any, times: int, parameters: set[str], joints: set[str]) -> None:
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or "`" in name:
        raise Mistake(f"name is {name!r}; names must be printable strings without backquotes.")
    if name == TIME.name:
        raise Mistake("is the name of time, in laws and in results. Rename it.")
    if times > 1:
        raise Mistake("the name is used twice. Names of outputs must be unique.")
    for kind, others in (("joint", joints), ("parameter", parameters)):
        if name in others:
            raise Mistake(f"has the same name as a {kind}; results cannot tell them apart. Rename one.")


def _texts(said: Input | Output, where: str, *path: str | int) -> Iterator[Check]:
    for what in ("unit", "description"):
        text = getattr(said, what)
        if not isinstance(text, str) or not text.isprintable():
            message = f"{what} is {text!r}; a printable string is expected."
            yield where, (*path, what), partial(_raise, message)
        elif what == "unit" and len(text) > LONGEST_UNIT:
            yield where, (*path, what), partial(_raise, f"unit has {len(text)} characters; at most {LONGEST_UNIT}.")


def _raise(message: str) -> None:
    raise Mistake(message)
