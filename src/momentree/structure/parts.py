"""All frames, numbers and laws of a frozen thing, found by the fields of its dataclasses, so that none is left out.

A pass visits every field that does not say otherwise. What a field holds follows from the type of its value; that its
expressions are laws, not numbers, or that it is about the thing and no part of it, is said by the field:
model/field_words.py.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from momentree.model.expressions.expression import Expression, Reference
from momentree.model.field_words import NOTHING, Says, words
from momentree.spatial import IDENTITY, ZERO, RigidInertia, Rotation, Scalar, Transform, Vector
from momentree.spatial.rotation import Turn


class Laws(NamedTuple):
    """Prescribed functions of time and their first and second derivatives."""

    values: tuple[Expression, ...]
    velocities: tuple[Expression, ...]
    accelerations: tuple[Expression, ...]


class Attached(NamedTuple):
    """A frame fixed in a body of the tree: the body's number and X_BF."""

    body: int
    placement: Transform

    def evaluated(self, parameters: Mapping[Reference, Scalar]) -> Attached:
        """The same with scalars of any kind for free parameters."""
        frame: Attached = with_numbers(self, lambda x: x.evaluate(parameters) if isinstance(x, Expression) else x)
        return frame


def frames_of(thing: Any) -> tuple[Attached, ...]:
    """Every frame of a frozen thing: of an element, or of a whole mechanism."""
    return _met(with_frames, thing)


def with_frames(thing: Any, moved: Callable[[Attached], Attached]) -> Any:
    """The same thing, each frame of it moved."""
    if isinstance(thing, Attached):
        return moved(thing)
    return rebuilt(thing, lambda part, _: with_frames(part, moved))


def laws_in(thing: Any) -> tuple[Expression, ...]:
    """Every law of a frozen thing."""
    return _met(with_laws, thing)


def with_laws(thing: Any, f: Callable[[Expression], Any], inside: bool = False) -> Any:
    """The same thing with f of each law; `inside` a field of laws, what can be evaluated is one."""
    if isinstance(thing, Laws):
        return Laws(*(tuple(map(f, level)) for level in thing))
    if inside and hasattr(thing, "evaluate"):  # an Expression, or a law of exact numbers in its place
        return f(thing)
    return rebuilt(thing, lambda part, said: with_laws(part, f, inside or said.law))


def with_numbers(thing: Any, f: Callable[[Scalar], Scalar]) -> Any:
    """Anything made of numbers, with f of each number; laws stay, and zeros and ones that are structural."""
    match thing:
        case float() | Expression():
            return f(thing)
        case Laws():
            return thing
        case Vector():
            return thing if thing is ZERO else Vector(*(with_numbers(component, f) for component in thing))
        case Turn():
            return Turn(thing.axis, with_numbers(thing.c, f), with_numbers(thing.s, f))
        case Rotation():
            return thing if thing is IDENTITY else Rotation(*(with_numbers(row, f) for row in thing.rows))
        case Transform():
            return Transform(with_numbers(thing.rotation, f), with_numbers(thing.offset, f))
        case RigidInertia():
            return RigidInertia(with_numbers(thing.mass, f), with_numbers(thing.h, f), with_numbers(thing.J, f))
    return rebuilt(thing, lambda part, said: part if said.law else with_numbers(part, f))


def numbers_in(thing: Any) -> tuple[Scalar, ...]:
    """Every number of a frozen thing, but for those that are structural."""
    return _met(with_numbers, thing)


def _met(visit: Callable[[Any, Callable[[Any], Any]], Any], thing: Any) -> tuple[Any, ...]:
    """All that a pass over a thing comes to."""
    found: list[Any] = []

    def note(part: Any) -> Any:
        found.append(part)
        return part

    visit(thing, note)
    return tuple(found)


def rebuilt(thing: Any, change: Callable[[Any, Says], Any]) -> Any:
    """A tuple or a dataclass with another value of each entry or field that is not kept; itself if none changes."""
    if isinstance(thing, tuple):
        entries = [change(entry, NOTHING) for entry in thing]
        if all(new is old for new, old in zip(entries, thing, strict=True)):
            return thing
        return type(thing)(*entries) if hasattr(thing, "_fields") else tuple(entries)
    if isinstance(thing, (list, dict, set, frozenset)):
        raise TypeError(f"a field holds {thing!r}: parts of a mechanism stand in tuples, or their field says KEPT")
    if not dataclasses.is_dataclass(thing) or isinstance(thing, type):
        return thing
    changed = {}
    for name, said in words(type(thing)).items():
        old = getattr(thing, name)
        new = old if said.kept else change(old, said)
        if new is not old:
            changed[name] = new
    if not changed:
        return thing
    return thing.with_fields(**changed) if hasattr(thing, "with_fields") else dataclasses.replace(thing, **changed)
