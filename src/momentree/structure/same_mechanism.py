"""Whether two mechanisms are the same, and if not, by what they differ: for states that come from elsewhere."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

from momentree.model.expressions.expression import Expression
from momentree.model.field_words import words
from momentree.structure.mechanism import Mechanism

ASIDE = {"name", "added", "free", "inputs", "frames"}  # of no effect on states
CLOSE, ROUND_OFF = 1e-9, 1e-12  # numbers that differ by less, relatively or in all, are the same
PROBES = (0.37, 0.83)  # laws are compared at these values of what they name, counted on


def first_difference(ours: Mechanism, theirs: Mechanism) -> str:
    """What of two mechanisms in floats differs, in words; "" if nothing does."""
    if ours.coordinates != theirs.coordinates:
        return "it has other joints"
    for name in ours.values.names:
        if name in theirs.values.names:
            mine, its = (each.values.scalar(name) for each in (ours, theirs))
            if not _same(mine, its):
                return f"parameter '{name}' is {_shown(its)} there, and {_shown(mine)} here"
    parts = [name for name, said in words(Mechanism).items() if not said.kept and name not in ASIDE]
    for name in parts:
        if not _equal(getattr(ours, name), getattr(theirs, name)):
            return f"its {_named(getattr(ours, name), getattr(theirs, name)) or name} differ"
    return ""


def _named(ours: Any, theirs: Any) -> str:
    """The first of several things that differs, if they have names."""
    if isinstance(ours, tuple) and isinstance(theirs, tuple) and len(ours) == len(theirs):
        for mine, its in zip(ours, theirs, strict=True):
            if not _equal(mine, its) and hasattr(mine, "name"):
                return f"{type(mine).__name__.lower().removeprefix('tree')} '{mine.name}' and others"
    return ""


def _equal(ours: Any, theirs: Any) -> bool:
    mine, its = list(_leaves(ours)), list(_leaves(theirs))
    return len(mine) == len(its) and all(_same(a, b) for a, b in zip(mine, its, strict=True))


def _leaves(thing: Any) -> Iterator[Any]:
    """The numbers, laws and words that something consists of."""
    if isinstance(thing, (Expression, str, int, float, slice)) or thing is None:
        yield thing
    elif dataclasses.is_dataclass(thing):
        kind: Any = type(thing)
        for name in (name for name, said in words(kind).items() if not said.kept):
            yield from _leaves(getattr(thing, name))
    elif hasattr(thing, "__iter__"):
        for entry in thing:
            yield from _leaves(entry)
    else:
        slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
        for name in slots or vars(thing):
            yield from _leaves(getattr(thing, name))


def _same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, (int, float)) and isinstance(theirs, (int, float)):
        return math.isclose(ours, theirs, rel_tol=CLOSE, abs_tol=ROUND_OFF)
    if isinstance(ours, Expression) and isinstance(theirs, Expression):
        return str(ours) == str(theirs) or _same_law(ours, theirs)
    return bool(ours == theirs)


def _same_law(ours: Expression, theirs: Expression) -> bool:
    """Whether two laws, which may be written differently, have the same values."""
    references = sorted({*ours.references(), *theirs.references()})
    for probe in PROBES:
        names = {reference: probe + 0.1 * i for i, reference in enumerate(references)}
        try:
            if not _same(float(ours.evaluate(names)), float(theirs.evaluate(names))):
                return False
        except (ArithmeticError, ValueError, TypeError):
            return False
    return True


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)
