"""Groups of similar bodies in rolled code: the tape of one of them, and what differs from body to body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from momentree.compile.trace.field_layout import Form, flatten, number_paths, unflatten
from momentree.compile.trace.tape import Tape, Variable
from momentree.equations.sweeps import Fields
from momentree.spatial import Scalar


class TableEntry(NamedTuple):
    """A number of a computed field that is merely read: data of the group that computed it, or an argument, by key."""

    group: Group
    key: str
    sign: int = 1


Number = Scalar | TableEntry | None  # of a computed field: constant, read from a table, or stored in a slot
# by field: its general form, and each of its numbers if that is constant, else None
Forms = Mapping[str, tuple[Form, tuple[Scalar | None, ...]]]


@dataclass
class ComputedField:
    """A field that a pass computes for all bodies of a group: its form, and its numbers."""

    group: Group
    form: Form
    numbers: list[Number]

    @classmethod
    def of(cls, group: Group, value: Any) -> ComputedField:
        """The field of this value on the tape of the group."""
        form, numbers = flatten(value, leaf=group.leaf)
        return cls(group, form, [group.known(x) for x in numbers])

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The path to each number."""
        return number_paths(self.form)

    def slots(self) -> list[Scalar | None]:
        """Its numbers as other records read them: constant, or None."""
        return [None if isinstance(x, TableEntry) else x for x in self.numbers]


@dataclass(eq=False)
class Group:
    """Similar bodies in a pass, and the tape of one of them.

    | field     | meaning                                                                             |
    |-----------|-------------------------------------------------------------------------------------|
    | data      | constants of each body, by key                                                      |
    | arguments | names of inputs of the main tape, one for each body, by key                         |
    | values    | results on the main tape, one for each body, by key: stored before the pass         |
    | fields    | results of the steps, on the group's tape                                           |
    | added     | sums over children of the parent, this body included: by key, on the group's tape   |
    | results   | where each body's number belongs in the output, by key                              |
    | links     | linked records by field: the index of their sweep, and their numbers                |
    | leaf      | the form of a number in its fields                                                  |
    """

    number: int
    bodies: tuple[int, ...]
    leaf: Form = None
    tape: Tape = field(default_factory=Tape)
    data: dict[str, list[float]] = field(default_factory=dict)
    arguments: dict[str, list[str]] = field(default_factory=dict)
    values: dict[str, list[Scalar]] = field(default_factory=dict)
    fields: Fields = field(default_factory=dict)
    added: dict[str, Scalar] = field(default_factory=dict)
    results: dict[str, list[int]] = field(default_factory=dict)
    links: dict[str, tuple[int, list[int]]] = field(default_factory=dict)

    @cached_property
    def place(self) -> dict[int, int]:
        """The place of each body in columns."""
        return {body: i for i, body in enumerate(self.bodies)}

    def known(self, x: Scalar) -> Number:
        """A number on the tape: constant, merely read from a table, or else None."""
        if not isinstance(x, Variable):
            return x
        name, opposite = self.tape.name_of(x), self.tape.name_of(-x)
        if opposite is not None and opposite in self.data:
            return TableEntry(self, opposite, -1)
        return TableEntry(self, name) if name is not None and (name in self.data or name in self.arguments) else None

    def read(self, key: str, number: Number) -> Scalar:
        """A number that an earlier pass computed, as an input of the tape where it is not constant."""
        if isinstance(number, TableEntry):
            before, sign = number.group, number.sign
            places = [before.place[body] for body in self.bodies]
            if number.key in before.data:
                self.data[key] = [sign * before.data[number.key][i] for i in places]
            else:
                self.arguments[key] = [before.arguments[number.key][i] for i in places]
        return self.input(key) if number is None or isinstance(number, TableEntry) else number

    def input(self, name: str) -> Variable:
        """The variable of a key on the group's tape."""
        variable = self.tape.known_input(name)
        return variable if variable is not None else self.tape.input(name)

    def computed_numbers(self) -> dict[str, Scalar]:
        """All numbers of `fields`, by key, in special and in general forms."""
        by_key: dict[str, Scalar] = {}
        for name, value in self.fields.items():
            for generally in (False, True):
                form, numbers = flatten(value, generally, self.leaf)
                by_key.update({name + path: number for path, number in zip(number_paths(form), numbers, strict=True)})
        return by_key


@dataclass(eq=False)
class Pass:
    """Steps that one loop over the bodies of a sweep runs, outward or inward."""

    sweep: int
    inward: bool
    groups: list[Group]


class LinkedRecord:
    """Another record as a step reads it, the parent (link "") or a linked one: from its slots, in general forms.

    A field that the ground does not have is read as a single number.
    """

    def __init__(self, group: Group, link: str, forms: Forms):
        self._group, self._link, self._forms = group, link, forms

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        leaf = self._group.leaf
        form, numbers = self._forms.get(name) or (leaf, (None,) * len(number_paths(leaf)))
        keys = [f"{self._link}^{name}{path}" for path in number_paths(form)]
        scalars = (self._group.input(key) if x is None else x for key, x in zip(keys, numbers, strict=True))
        return unflatten(form, scalars)
