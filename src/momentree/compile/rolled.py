"""Rolled code: the steps of the sweeps traced once for all bodies that are alike, to be run by compiled loops.

`RolledRecords` takes the place of the plain records. A step that it is asked to run is put off until somebody needs
its result; then all steps that wait, which are one pass along the tree, are traced on a tape of one body for each group
of bodies whose records have the same form. What is computed between the passes (laws, forces between bodies) is
recorded on the main tape as in straight-line code. rolled_text.py writes the loops.

A number in a record is known by its key, the field and its place in it: "v.0.2" is the third component of the linear
part of v. On the tape of a group an input is called by its key if it is the body's own, with "^" before it if it is its
parent's.

| a body's number is       | when                                            | in the loop                        |
|--------------------------|-------------------------------------------------|------------------------------------|
| constant                 | the same in all bodies of the group             | written into the code              |
| data                     | a constant of each body                         | read from a table                  |
| an argument              | an entry of q, v, ... of the call               | read from there, by a table        |
| kept                     | made by an earlier pass, or on the main tape    | read from the body's slots         |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from momentree.compile.forms import Form, general, places, put_together, taken_apart
from momentree.compile.tape import Tape, Variable
from momentree.equations.sweeps import Fields, InwardStep, LocalStep, OutwardStep, Record, Records
from momentree.spatial import Scalar

FEW = 8  # bodies: fewer that are alike share a group of a more general form, if there is one
_NAMES = ("number", "parent", "sweep")  # what says which body it is


class RolledRecord(Record):
    """The record of one body of many: a field that a pass has made is read from its slots."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in _NAMES:
            raise AttributeError(name)
        return self.sweep.read(self.number, name)


@dataclass
class Made:
    """A field that a pass has made in all bodies of a group: its form, and its numbers; None are kept in slots."""

    group: Group
    form: Form
    numbers: list[Scalar | None]


@dataclass(eq=False)
class Group:
    """Bodies that are alike in a pass, and the tape of one of them.

    | field     | meaning                                                                         |
    |-----------|---------------------------------------------------------------------------------|
    | data      | constants of each body, by key                                                  |
    | arguments | names of inputs of the main tape, one for each body, by key                     |
    | values    | results on the main tape, one for each body, by key: stored before the pass      |
    | fields    | what the steps made, on the group's tape                                        |
    | added     | what is added to the parent's fields, already added: by key, on the group's tape |
    | results   | where each body's number belongs in the output, by key                          |
    """

    number: int
    bodies: tuple[int, ...]
    tape: Tape = field(default_factory=Tape)
    data: dict[str, list[float]] = field(default_factory=dict)
    arguments: dict[str, list[str]] = field(default_factory=dict)
    values: dict[str, list[Scalar]] = field(default_factory=dict)
    fields: Fields = field(default_factory=dict)
    added: dict[str, Scalar] = field(default_factory=dict)
    results: dict[str, list[int]] = field(default_factory=dict)

    def input(self, name: str) -> Variable:
        """The variable of a key on the group's tape."""
        known = self.tape.known_input(name)
        return known if known is not None else self.tape.input(name)

    def made(self) -> dict[str, Scalar]:
        """All numbers of what the steps made, by key, in special and in general forms."""
        found: dict[str, Scalar] = {}
        for name, value in self.fields.items():
            for generally in (False, True):
                form, numbers = taken_apart(value, generally)
                found.update({name + place: number for place, number in zip(places(form), numbers, strict=True)})
        return found


@dataclass(eq=False)
class Pass:
    """Steps that one loop over the bodies runs, outward or inward."""

    inward: bool
    groups: list[Group]


class _Parent:
    """The parent as an outward step sees it: fields in general form, read from the parent's slots."""

    def __init__(self, group: Group, forms: Mapping[str, Form]):
        self._group, self._forms = group, forms

    def __getattr__(self, name: str) -> Any:
        form = self._forms[name]
        return put_together(form, [self._group.input(f"^{name}{place}") for place in places(form)])


class RolledRecords(Records):
    """The ground and the bodies of a tree, swept by loops that are written later."""

    def __init__(self, bodies: Sequence[Record], tape: Tape):
        super().__init__(RolledRecord(**vars(body), sweep=self) for body in bodies)
        self.tape = tape
        self.passes: list[Pass] = []
        self.reads: dict[str, tuple[int, str]] = {}  # inputs of the main tape that are read from slots: body and key
        self._waiting: list[tuple[str, Any]] = []
        self._made: list[dict[str, Made]] = [{} for _ in bodies]
        self._apart: dict[tuple[int, str], tuple[Any, Form, list[Scalar]]] = {}

    # --- the sweeps put off their steps ---

    def outward(self, step: OutwardStep) -> None:
        self._put_off("outward", step)

    def locally(self, step: LocalStep) -> None:
        self._put_off("locally", step)

    def inward(self, step: InwardStep) -> None:
        self._put_off("inward", step)

    def _put_off(self, way: str, step: Any) -> None:
        # a local step begins fields that children will add to, so it never shares a pass with an inward one
        if self._waiting and (way == "inward") != (self._waiting[0][0] == "inward"):
            self.run_waiting()
        self._waiting.append((way, step))

    def read(self, number: int, name: str) -> Any:
        """A field of a body that a pass made, as variables of the main tape."""
        self.run_waiting()
        if name not in self._made[number]:
            raise AttributeError(f"no step has made '{name}' of body {number} yet")
        made = self._made[number][name]
        keys = [name + place for place in places(made.form)]
        return put_together(
            made.form,
            [self._slot(number, key) if x is None else x for key, x in zip(keys, made.numbers, strict=True)],
        )

    def _slot(self, number: int, key: str) -> Variable:
        name = f"slot {number} {key}"
        self.reads[name] = number, key
        known = self.tape.known_input(name)
        return known if known is not None else self.tape.input(name)

    def ground_numbers(self) -> dict[str, Scalar]:
        """What the ground's fields hold, by key, on the main tape."""
        found: dict[str, Scalar] = {}
        for name in self._given(0):
            form, numbers = taken_apart(vars(self[0])[name], generally=True)
            found.update({name + place: number for place, number in zip(places(form), numbers, strict=True)})
        return found

    # --- tracing ---

    def run_waiting(self) -> None:
        """Trace the steps that wait, as one pass."""
        steps, self._waiting = self._waiting, []
        if not steps or len(self) == 1:
            return
        inward = steps[0][0] == "inward"
        summed = self._summed(steps) if inward else set()
        groups: list[Group] = []
        for bodies, generally in self._alike(inward):
            group = Group(len(groups), bodies)
            record = self._record(group, summed, generally)
            self._trace(group, record, steps)
            groups.append(group)
        self.passes.append(Pass(inward, groups))
        self._make(groups, summed)

    def _make(self, groups: Sequence[Group], summed: set[str]) -> None:
        """Note in all records what a pass has made of them."""
        for made_before in self._made:
            for name in summed & {*made_before}:
                old = made_before[name]
                form = general(old.form)
                made_before[name] = Made(old.group, form, [None] * len(places(form)))
        for group in groups:
            made = {name: Made(group, *_with_slots(value)) for name, value in group.fields.items()}
            for number in group.bodies:
                self._made[number].update(made)
                for name in made:
                    vars(self[number]).pop(name, None)

    def _trace(self, group: Group, record: Record, steps: Sequence[tuple[str, Any]]) -> None:
        parent = _Parent(group, self._parent_forms())
        top = self[group.bodies[0]].parent == 0
        for way, step in steps:
            if way == "outward":
                made = step(record, parent)
            elif way == "locally":
                made = step(record)
            else:
                made, to_parent = step(record)
                for name, value in {} if top else to_parent.items():
                    self._add(group, name, value)
            vars(record).update(made)
            group.fields.update(made)

    def _add(self, group: Group, name: str, value: Any) -> None:
        """What the parent's field becomes when the value is added to it."""
        form, _ = taken_apart(value, generally=True)
        keys = [name + place for place in places(form)]
        total = put_together(form, [group.input(f"^{key}") for key in keys]) + value
        group.added.update(zip(keys, taken_apart(total, generally=True)[1], strict=True))

    def _summed(self, steps: Sequence[tuple[str, Any]]) -> set[str]:
        """Fields to which children add, found by tracing one body on a tape that is thrown away."""
        names: set[str] = set()
        for bodies, generally in self._alike(True):
            group = Group(0, bodies)
            record = self._record(group, set(), generally)
            for _, step in steps:
                made, to_parent = step(record)
                vars(record).update(made)
                names |= set(to_parent)
        return names

    def _parent_forms(self) -> dict[str, Form]:
        ground = {name: value for name, value in vars(self[0]).items() if name not in _NAMES}
        return {name: taken_apart(value, generally=True)[0] for name, value in ground.items()}

    def _record(self, group: Group, summed: set[str], generally: bool) -> Record:
        """The record of any body of the group, in numbers that all share and in inputs of the group's tape."""
        first = group.bodies[0]
        fields = {}
        for name in self._given(first):
            parts = [self._taken_apart(number, name, generally) for number in group.bodies]
            keys = [name + place for place in places(parts[0][0])]
            columns = zip(*(numbers for _, numbers in parts), strict=True)
            scalars = [self._scalar(group, key, column) for key, column in zip(keys, columns, strict=True)]
            fields[name] = put_together(parts[0][0], scalars)
        for name, made in self._made[first].items():
            form = general(made.form) if name in summed else made.form
            keys = [name + place for place in places(form)]
            numbers = [None] * len(keys) if name in summed else made.numbers
            scalars = [group.input(key) if x is None else x for key, x in zip(keys, numbers, strict=True)]
            fields[name] = put_together(form, scalars)
        return Record(**fields)

    def _scalar(self, group: Group, key: str, column: tuple[Scalar, ...]) -> Scalar:
        """A number of the group: the one that all bodies share, or an input."""
        if not any(isinstance(x, Variable) for x in column):
            if all(x == column[0] for x in column):
                return column[0]
            group.data[key] = [float(x) for x in column]
            return group.input(key)
        names = [self.tape.name_of(x) for x in column]
        if all(name is not None and name not in self.reads for name in names):
            group.arguments[key] = [name for name in names if name is not None]
        else:
            group.values[key] = list(column)
        return group.input(key)

    # --- which bodies are alike ---

    def _given(self, number: int) -> list[str]:
        return [name for name in vars(self[number]) if name not in _NAMES]

    def _taken_apart(self, number: int, name: str, generally: bool) -> tuple[Form, list[Scalar]]:
        value = vars(self[number])[name]
        if generally:
            return taken_apart(value, True)
        known = self._apart.get((number, name))
        if known is None or known[0] is not value:
            known = self._apart[number, name] = (value, *taken_apart(value))
        return known[1], known[2]

    def _alike(self, inward: bool) -> Iterable[tuple[tuple[int, ...], bool]]:
        """Groups of bodies, and whether their records are told in general forms."""
        kinds: dict[Any, dict[Any, list[int]]] = {}
        for number in range(1, len(self)):
            given = self._given(number)
            forms = tuple((name, self._taken_apart(number, name, False)[0]) for name in given)
            rest = (
                tuple((name, id(made.group)) for name, made in self._made[number].items()),
                inward and self[number].parent == 0,
            )
            loose = tuple((name, general(form)) for name, form in forms)
            kinds.setdefault((loose, rest), {}).setdefault(forms, []).append(number)
        for family in kinds.values():
            few = [bodies for bodies in family.values() if len(bodies) < FEW]
            together = len(few) > 1 or (len(few) == 1 and len(family) > 1)
            if together:
                yield tuple(sorted(number for bodies in few for number in bodies)), True
            for bodies in family.values():
                if not together or len(bodies) >= FEW:
                    yield tuple(bodies), False


def _with_slots(value: Any) -> tuple[Form, list[Scalar | None]]:
    """The form of what a step made, and its numbers; those that vary from body to body are None."""
    form, numbers = taken_apart(value)
    return form, [None if isinstance(x, Variable) else x for x in numbers]
