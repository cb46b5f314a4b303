"""Layout of a record's field: `flatten` gives its form and its numbers, `unflatten` builds it from them.

A form consists of tuples, so that forms compare by value: None stands for a number, ("is", thing) for a thing without
numbers, (make, parts) for `make` called with its parts. A form has one `leaf` for all numbers: None or, where numbers
are dual (spatial/dual.py), that of a pair. Vectors that are ZERO, rotations that are IDENTITY and turns
about a coordinate axis have special forms, since sweeps need fewer operations for them; `general` replaces these.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

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
from momentree.spatial.dual import Dual, dual_or_plain
from momentree.spatial.dual import parts as parts_of_dual
from momentree.spatial.moments import MassMoments
from momentree.spatial.rotation import Turn
from momentree.spatial.vector import Vector
from momentree.structure.constraint_formulas import ConstraintFormula
from momentree.structure.elimination import ConstraintSlots
from momentree.structure.mechanism import Reversed
from momentree.structure.reach import Reach

Form = Any
Plain = tuple[Scalar | None, ...]

PLAIN = (0, 1, -1)  # numbers that spare operations

_VECTOR: Form = (Vector, (None,) * 3)
_WHOLE = (bool, str, ConstraintSlots, ConstraintFormula, Expression, Reference)  # things without numbers
_NUMBER_TYPES = {float, int, Variable}
_NOT_SWEPT = ("motion", "limits")  # fields of joints: motions enter as coordinates, limits as stops


def flatten(thing: Any, generally: bool = False, leaf: Form = None) -> tuple[Form, list[Scalar]]:
    """The form of a field, or its general form, and its numbers, of any scalar type."""
    numbers: list[Scalar] = []
    return _form(thing, numbers, generally, leaf), numbers


def dual_leaf(leaf: Form = None) -> Form:
    """The form of a number that is dual, of numbers of this form."""
    return dual_or_plain, (leaf, leaf)


class FlatField(NamedTuple):
    """A field, flattened; `kind` is an integer, equal for fields of equal form with the same 0, 1 and -1 in it."""

    form: Form
    numbers: list[Scalar]
    kind: int


class FieldKind(NamedTuple):
    """What fields of one kind have in common.

    | field   | meaning                                                                 |
    |---------|-------------------------------------------------------------------------|
    | form    | an integer for the form                                                 |
    | general | an integer for the general form                                         |
    | plain   | each number that spares operations, 0, 1 or -1, and None for each other |
    """

    form: int
    general: int
    plain: Plain


class FormTable:
    """Forms that were met, by integers, since these are compared faster; and constant fields, flattened once.

    A mechanism keeps one for all that is traced of it: its bodies have the same mounts and inertias each time.
    """

    def __init__(self, leaf: Form = None) -> None:
        self.leaf = leaf
        self._numbers: dict[Form, int] = {}
        self._kinds: dict[tuple[Form, Plain], int] = {}
        self._of_kind: list[FieldKind] = []
        self._flat: dict[int, tuple[Any, FlatField]] = {}  # by identity; the field itself is held, so that it stays so

    def flattened(self, thing: Any) -> FlatField:
        """A field, its form and numbers."""
        known = self._flat.get(id(thing))
        if known is not None and known[0] is thing:
            return known[1]
        plain = self.leaf is None and type(thing) is tuple
        if plain and _NUMBER_TYPES.issuperset(map(type, thing)):  # coordinates, momenta: new each time
            form, numbers = _tuple_form(len(thing)), list(thing)
            return FlatField(form, numbers, self._kind_of(form, numbers))
        form, numbers = flatten(thing, leaf=self.leaf)
        flat = FlatField(form, numbers, self._kind_of(form, numbers))
        if type(thing) is not list and Variable not in map(type, numbers):
            self._flat[id(thing)] = thing, flat
        return flat

    def about(self, kind: int) -> FieldKind:
        """What fields of a kind have in common."""
        return self._of_kind[kind]

    def _kind_of(self, form: Form, numbers: Sequence[Scalar]) -> int:
        plain = tuple([x if type(x) is not Variable and x in PLAIN else None for x in numbers])
        kind = self._kinds.get((form, plain))
        if kind is None:
            kind = self._kinds[form, plain] = len(self._of_kind)
            self._of_kind.append(FieldKind(self._number_of(form), self._number_of(general(form, self.leaf)), plain))
        return kind

    def _number_of(self, form: Form) -> int:
        return self._numbers.setdefault(form, len(self._numbers))


def unflatten(form: Form, numbers: Iterable[Scalar]) -> Any:
    """The field of this form with these numbers."""
    return _unflattened(form, iter(numbers))


def general(form: Form, leaf: Form = None) -> Form:
    """The form that any field of this kind fits: vectors of three numbers, rotations of nine."""
    if form is None:
        return None
    make, parts = form
    if make == "is":
        return _vector(leaf) if parts is ZERO else _rotation(leaf) if parts is IDENTITY else form
    if isinstance(make, _TurnAbout):
        return _rotation(leaf)
    return make, tuple(general(part, leaf) for part in parts)


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


def _form(thing: Any, numbers: list[Scalar], generally: bool, leaf: Form) -> Form:
    kind = type(thing)
    if kind is float or kind is int or kind is Variable or kind is Dual:
        return _number(thing, numbers, leaf)
    if kind is Vector and leaf is None:
        if thing is ZERO and not generally:
            return "is", thing
        numbers += (thing.x, thing.y, thing.z)
        return _VECTOR
    special = thing is ZERO or thing is IDENTITY
    if (special and not generally) or thing is None or isinstance(thing, _WHOLE):
        return "is", thing
    make, parts = _parts(thing, generally)
    if parts is None:
        return _number(thing, numbers, leaf)
    return make, tuple([_form(part, numbers, generally, leaf) for part in parts])


def _number(x: Scalar, numbers: list[Scalar], leaf: Form) -> Form:
    """A number, taken apart where it is dual."""
    if leaf is None:
        numbers.append(x)
    else:
        for part, inner in zip(parts_of_dual(x), leaf[1], strict=True):
            _number(part, numbers, inner)
    return leaf


@functools.cache
def _vector(leaf: Form) -> Form:
    return Vector, (leaf,) * 3


@functools.cache
def _rotation(leaf: Form) -> Form:
    return Rotation, (_vector(leaf),) * 3


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


@functools.cache
def _tuple_form(count: int) -> Form:
    """The form of a tuple of numbers."""
    return _tuple, (None,) * count


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
