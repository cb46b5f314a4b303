"""Layout of a record's field: `flatten` gives its form and its numbers, `unflatten` builds it from them.

A form consists of tuples, so that forms compare by value: None stands for a number, ("is", thing) for a thing without
numbers, (make, parts) for `make` called with its parts. Vectors that are ZERO, rotations that are IDENTITY and turns
about a coordinate axis have special forms, since sweeps need fewer operations for them; `general` replaces these.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from momentree.compile.trace.tape import Variable
from momentree.equations.loops.elimination import OpenConstraints
from momentree.equations.newton_euler import Spin
from momentree.model.expressions.expression import Expression, Reference
from momentree.model.joint_type import JointType
from momentree.spatial import (
    IDENTITY,
    ZERO,
    ChainTransform,
    Force,
    Motion,
    MotionSubspace,
    RigidInertia,
    Rotation,
    Scalar,
    Transform,
)
from momentree.spatial.articulated import ArticulatedInertia
from momentree.spatial.moments import MassMoments
from momentree.spatial.rotation import Turn
from momentree.spatial.vector import Vector
from momentree.structure.constraint_formulas import ConstraintFormula
from momentree.structure.elimination import ConstraintSlots
from momentree.structure.mechanism import Reversed
from momentree.structure.reach import Reach

Form = Any

_VECTOR: Form = (Vector, (None,) * 3)
_ROTATION: Form = (Rotation, (_VECTOR,) * 3)
_WHOLE = (bool, str, ConstraintSlots, ConstraintFormula, Expression, Reference)  # things without numbers
_NOT_SWEPT = ("motion", "limits")  # fields of joints: motions enter as coordinates, limits as stops


def flatten(thing: Any, generally: bool = False) -> tuple[Form, list[Scalar]]:
    """The form of a field, or its general form, and its numbers, of any scalar type."""
    numbers: list[Scalar] = []
    return _form(thing, numbers, generally), numbers


def unflatten(form: Form, numbers: Iterable[Scalar]) -> Any:
    """The field of this form with these numbers."""
    return _unflattened(form, iter(numbers))


def general(form: Form) -> Form:
    """The form that any field of this kind fits: vectors of three numbers, rotations of nine."""
    if form is None:
        return None
    make, parts = form
    if make == "is":
        return _VECTOR if parts is ZERO else _ROTATION if parts is IDENTITY else form
    if isinstance(make, _TurnAbout):
        return _ROTATION
    return make, tuple(general(part) for part in parts)


@functools.lru_cache(maxsize=4096)
def number_paths(form: Form) -> tuple[str, ...]:
    """The path to each number, as ".0.2": equal in special and general forms, except in a rotation about an axis."""
    if form is None:
        return ("",)
    make, parts = form
    if make == "is":
        return ()
    turn = "t" if isinstance(make, _TurnAbout) else ""
    return tuple(f".{turn}{i}{path}" for i, part in enumerate(parts) for path in number_paths(part))


def _form(thing: Any, numbers: list[Scalar], generally: bool) -> Form:
    kind = type(thing)
    if kind is float or kind is int or kind is Variable:
        numbers.append(thing)
        return None
    if kind is Vector:
        if thing is ZERO and not generally:
            return "is", thing
        numbers += (thing.x, thing.y, thing.z)
        return _VECTOR
    special = thing is ZERO or thing is IDENTITY
    if (special and not generally) or thing is None or isinstance(thing, _WHOLE):
        return "is", thing
    make, parts = _parts(thing, generally)
    if parts is None:
        numbers.append(thing)
        return None
    return make, tuple([_form(part, numbers, generally) for part in parts])


def _unflattened(form: Form, numbers: Iterator[Scalar]) -> Any:
    if form is None:
        return next(numbers)
    make, parts = form
    return parts if make == "is" else make(*(_unflattened(part, numbers) for part in parts))


class _Tuple:
    """Builds a tuple of its parts."""

    def __call__(self, *parts: Any) -> tuple[Any, ...]:
        return parts


@dataclasses.dataclass(frozen=True)
class _JointLike:
    """Builds a joint type like the example, with other numbers."""

    kind: type[JointType]
    coordinates: tuple[str, ...]
    names: tuple[str, ...]
    example: JointType = dataclasses.field(compare=False)

    def __call__(self, *parts: Any) -> JointType:
        return self.example.with_fields(**dict(zip(self.names, parts, strict=True)))


@dataclasses.dataclass(frozen=True)
class _TurnAbout:
    axis: int

    def __call__(self, c: Scalar, s: Scalar) -> Turn:
        return Turn(self.axis, c, s)


_tuple = _Tuple()


def _parts(thing: Any, generally: bool) -> tuple[Callable[..., Any] | None, tuple[Any, ...] | None]:
    """The callable that builds such a thing, and its arguments; None, None for a number."""
    kind = type(thing)
    if kind is Turn and not generally:
        return _TurnAbout(thing.axis), (thing.c, thing.s)
    if kind is tuple or kind is list:
        return _tuple, tuple(thing)
    if kind in _FIELDS:
        return kind, tuple([getattr(thing, name) for name in _FIELDS[kind]])
    if isinstance(thing, Rotation):
        return Rotation, thing.rows
    if isinstance(thing, JointType):
        names = [field.name for field in dataclasses.fields(thing) if field.name not in _NOT_SWEPT]
        names += ["offset"] * hasattr(thing, "offset")
        parts = tuple(getattr(thing, name) for name in names)
        return _JointLike(type(thing), thing.coordinates, tuple(names), thing), parts
    if isinstance(thing, (tuple, list)):
        return _tuple, tuple(thing)
    return None, None


# the fields of each type, in the order of its arguments
_FIELDS: dict[type, tuple[str, ...]] = {
    Vector: ("x", "y", "z"),
    Motion: ("linear", "angular"),
    Force: ("linear", "angular"),
    Transform: ("rotation", "offset"),
    ChainTransform: ("mount", "joint"),
    RigidInertia: ("mass", "h", "J"),
    MassMoments: ("mass", "h", "pseudo"),
    ArticulatedInertia: ("K", "H", "J"),
    OpenConstraints: ("F", "b", "Phi", "scale"),
    Reach: ("f", "m", "d"),
    MotionSubspace: ("columns",),
    Spin: ("rows",),
    Reversed: ("joint_type",),
}
