"""Rolled code: the steps of the sweeps traced once for all bodies that are alike, to be run by compiled loops.

`RolledRecords` takes the place of the plain records. A step that it is asked to run is put off until somebody needs
its result; then all steps that wait, which are one pass along the tree, are traced on a tape of one body for each group
of bodies whose records have the same form. What is computed between the passes (laws, forces between bodies) is
recorded on the main tape as in straight-line code. rolled_text.py writes the loops.

A number in a record is known by its key, the field and its place in it: "v.0.2" is the third component of the linear
part of v. On the tape of a group an input is called by its key if it is the body's own, with "^" before it if it is its
parent's, with "first^" if it is that of the record which the body's record knows as `first`. Such records may belong to
other records of the same `Program`, as bodies and loops do.

| a body's number is       | when                                            | in the loop                        |
|--------------------------|-------------------------------------------------|------------------------------------|
| constant                 | the same in all bodies of the group             | written into the code              |
| data                     | a constant of each body                         | read from a table                  |
| an argument              | an entry of q, v, ... of the call               | read from there, by a table        |
| kept                     | made by an earlier pass, or on the main tape    | read from the body's slots         |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from momentree.compile.trace.field_layout import Form, general, places, put_together, taken_apart
from momentree.compile.trace.tape import Tape, Variable
from momentree.equations.sweeps import Fields, InwardStep, LocalStep, OutwardStep, Record, Records, check_summed
from momentree.spatial import Scalar

FEW = 8  # bodies: fewer that are alike share a group of a more general form, if there is one
_NAMES = ("number", "parent", "sweep")  # what says which body it is
Forms = Mapping[str, tuple[Form, tuple[Scalar | None, ...]]]  # general forms; numbers that are constant, else None


class Program:
    """All records that are swept for one result, and the passes along them, in their order.

    | field  | meaning                                                                              |
    |--------|--------------------------------------------------------------------------------------|
    | sweeps | the records; a pass knows its own by their place here                                |
    | reads  | inputs of the main tape that are read from slots: by name, which records, body and key |
    """

    def __init__(self, tape: Tape):
        self.tape = tape
        self.sweeps: list[RolledRecords] = []
        self.passes: list[Pass] = []
        self.reads: dict[str, tuple[int, int, str]] = {}
        self.waiting: list[tuple[RolledRecords, str, Any]] = []
        self._numbers: dict[Any, int] = {}
        self._general: dict[int, int] = {}

    def number_of(self, form: Any) -> int:
        """The same for equal forms: numbers are compared faster."""
        return self._numbers.setdefault(form, len(self._numbers))

    def numbers_of(self, form: Form) -> tuple[int, int]:
        """The number of a form, and that of its general form."""
        number = self.number_of(form)
        known = self._general.get(number)
        if known is None:
            known = self._general[number] = self.number_of(general(form))
        return number, known

    def put_off(self, sweep: RolledRecords, way: str, step: Any) -> None:
        """Run a step later, in one pass with those that wait, if it can be."""
        # a local step begins fields that children will add to, so it never shares a pass with an inward one
        if self.waiting:
            first, before, _ = self.waiting[0]
            if first is not sweep or (way == "inward") != (before == "inward"):
                self.run_waiting()
        self.waiting.append((sweep, way, step))

    def run_waiting(self) -> None:
        """Trace the steps that wait, as one pass."""
        steps, self.waiting = self.waiting, []
        if steps:
            steps[0][0].run([(way, step) for _, way, step in steps])


class RolledRecord(Record):
    """The record of one body of many: a field that a pass has made is read from its slots.

    Its sweep is told of every field that is set: what is known of the others need not be found again.
    """

    sweep: RolledRecords

    def __init__(self, record: Record, sweep: RolledRecords):
        self.__dict__.update(vars(record), sweep=sweep)

    def give(self, fields: Fields, giver: object) -> None:
        super().give(fields, giver)
        for name in fields:
            self.sweep.changed(self.number, name)

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
    | links     | records that each body knows: which sweep, and their numbers, by name            |
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
    links: dict[str, tuple[int, list[int]]] = field(default_factory=dict)

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
    """Steps that one loop over the bodies of a sweep runs, outward or inward."""

    sweep: int
    inward: bool
    groups: list[Group]


class _Other:
    """Another record as a step sees it, the parent's (link "") or a known one: read from its slots, in general forms.

    What the ground does not have is a single number.
    """

    def __init__(self, group: Group, link: str, forms: Forms):
        self._group, self._link, self._forms = group, link, forms

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        form, numbers = self._forms.get(name, (None, (None,)))
        keys = [f"{self._link}^{name}{place}" for place in places(form)]
        found = (self._group.input(key) if x is None else x for key, x in zip(keys, numbers, strict=True))
        return put_together(form, found)


class _Given(NamedTuple):
    """What a record was given: the numbers of its forms and of their general ones, and the records that it knows."""

    forms: int
    loose: int
    links: tuple[tuple[str, RolledRecord], ...]


class _Apart(NamedTuple):
    """A given field, taken apart; equal forms, and equal general forms, have equal numbers."""

    form: Form
    numbers: list[Scalar]
    kind: int
    general: int


class RolledRecords(Records):
    """The ground and the bodies of a tree, or loops, swept by loops that are written later."""

    def __init__(self, bodies: Iterable[Record], program: Program, order: Sequence[int] | None = None):
        super().__init__((RolledRecord(body, self) for body in bodies), order)
        self.program, self.tape, self.place = program, program.tape, len(program.sweeps)
        program.sweeps.append(self)
        self._made: list[dict[str, Made]] = [{} for _ in self]
        self._history = [0] * len(self)  # equal in bodies whose fields were made in the same groups
        self._histories: dict[tuple[int, int], int] = {}
        self._apart: list[dict[str, _Apart]] = [{} for _ in self]
        self._kinds: dict[int, tuple[Forms, int]] = {}
        self._known: list[_Given | None] = [None] * len(self)
        self._versions: Counter[str] = Counter()  # of each field: how often it was set
        self._columns: dict[tuple[tuple[int, ...], str, bool], tuple[int, Form, list[tuple[Scalar, ...]]]] = {}

    def changed(self, number: int, name: str) -> None:
        """A field of a record was set, or is now made by a pass."""
        self._known[number] = None
        self._apart[number].pop(name, None)
        self._versions[name] += 1
        if number == 0:
            self._kinds.pop(-1, None)

    # --- the sweeps put off their steps ---

    def outward(self, step: OutwardStep) -> None:
        self.program.put_off(self, "outward", step)

    def locally(self, step: LocalStep) -> None:
        self.program.put_off(self, "locally", step)

    def inward(self, step: InwardStep) -> None:
        self.program.put_off(self, "inward", step)

    def read(self, number: int, name: str) -> Any:
        """A field of a body that a pass made, as variables of the main tape."""
        self.program.run_waiting()
        if name not in self._made[number]:
            raise AttributeError(f"no step has made '{name}' of body {number} yet")
        made = self._made[number][name]
        keys = [name + place for place in places(made.form)]
        return put_together(
            made.form,
            [self._slot(number, key) if x is None else x for key, x in zip(keys, made.numbers, strict=True)],
        )

    def _slot(self, number: int, key: str) -> Variable:
        name = f"slot {self.place} {number} {key}"
        self.program.reads[name] = self.place, number, key
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

    def run(self, steps: Sequence[tuple[str, Any]]) -> None:
        """Trace steps, as one pass."""
        if len(self) == 1:
            return
        inward = steps[0][0] == "inward"
        alike = list(self._alike(inward))
        summed = self._summed(steps, alike) if inward else set()
        groups: list[Group] = []
        for bodies, generally in alike:
            group = Group(len(groups), bodies)
            record = self._record(group, summed, generally)
            self._trace(group, record, steps)
            groups.append(group)
        self.program.passes.append(Pass(self.place, inward, groups))
        self._make(groups, summed)

    def _make(self, groups: Sequence[Group], summed: set[str]) -> None:
        """Note in all records what a pass has made of them."""
        loose: dict[int, Made] = {}
        for made_before in self._made if summed else ():
            for name in summed & made_before.keys():
                old = made_before[name]
                if id(old) not in loose:
                    form = general(old.form)
                    loose[id(old)] = Made(old.group, form, [None] * len(places(form)))
                made_before[name] = loose[id(old)]
        for group in groups:
            made = {name: Made(group, *_with_slots(value)) for name, value in group.fields.items()}
            for number in group.bodies:
                self._made[number].update(made)
                for name in made.keys() & vars(self[number]).keys():
                    del vars(self[number])[name]
                    self.changed(number, name)
                self._history[number] = self._follow(self._history[number], group, self._made[number])
        ground = self._kinds.pop(-1, None)
        self._kinds = {} if ground is None else {-1: ground}

    def _follow(self, history: int, group: Group, made: Mapping[str, Made]) -> int:
        """The history of a body after a pass, the same for all bodies of one history in one group."""
        step = history, id(group)
        if step not in self._histories:
            names = tuple((name, id(field.group)) for name, field in made.items())
            self._histories[step] = self.program.number_of(("history", names))
        return self._histories[step]

    def _trace(self, group: Group, record: Record, steps: Sequence[tuple[str, Any]]) -> None:
        parent = _Other(group, "", self._forms(0))
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
            record.give(made, step)
            group.fields.update(made)

    def _add(self, group: Group, name: str, value: Any) -> None:
        """What the parent's field becomes when the value is added to it."""
        form, _ = taken_apart(value, generally=True)
        keys = [name + place for place in places(form)]
        total = put_together(form, [group.input(f"^{key}") for key in keys]) + value
        group.added.update(zip(keys, taken_apart(total, generally=True)[1], strict=True))

    def _summed(self, steps: Sequence[tuple[str, Any]], alike: Sequence[tuple[tuple[int, ...], bool]]) -> set[str]:
        """Fields to which children add, found by tracing one body on a tape that is thrown away."""
        names: set[str] = set()
        for bodies, generally in alike:
            group = Group(0, bodies[:1])
            made_before = set(self._made[bodies[0]])  # as inputs: a body's own inertia may be zero before children add
            record = self._record(group, made_before, generally)
            for _, step in steps:
                made, to_parent = step(record)
                record.give(made, step)
                check_summed(to_parent, step)
                names |= set(to_parent)
        return names

    def _forms(self, number: int) -> Forms:
        """How the fields of a record are read from outside: the ground's as given, those of others as made."""
        return self._kind(number)[0]

    def _kind(self, number: int) -> tuple[Forms, int]:
        """The same, and a number that is equal for equal forms."""
        kind = self._history[number] if number else -1
        if kind not in self._kinds:
            forms: Forms
            if number:
                forms = {name: _seen(field) for name, field in self._made[number].items()}
            else:
                given = {name: vars(self[0])[name] for name in self._given(0)}
                forms = {name: _from_slots(taken_apart(value, generally=True)[0]) for name, value in given.items()}
            self._kinds[kind] = forms, self.program.number_of(tuple(forms.items()))
        return self._kinds[kind]

    def _record(self, group: Group, summed: set[str], generally: bool) -> Record:
        """The record of any body of the group, in numbers that all share and in inputs of the group's tape."""
        first = group.bodies[0]
        fields = {}
        for name, made in self._made[first].items():
            form = general(made.form) if name in summed else made.form
            keys = [name + place for place in places(form)]
            numbers = [None] * len(keys) if name in summed else made.numbers
            scalars = [group.input(key) if x is None else x for key, x in zip(keys, numbers, strict=True)]
            fields[name] = put_together(form, scalars)
        for name in self._given(first):  # given after it was made, if it was
            form, columns = self._table(group.bodies, name, generally)
            keys = [name + place for place in places(form)]
            scalars = [self._scalar(group, key, column) for key, column in zip(keys, columns, strict=True)]
            fields[name] = put_together(form, scalars)
        for name, other in self._links(first).items():
            fields[name] = _Other(group, name, other.sweep._forms(other.number))
            group.links[name] = other.sweep.place, [vars(self[number])[name].number for number in group.bodies]
        return Record(**fields)

    def _table(self, bodies: tuple[int, ...], name: str, generally: bool) -> tuple[Form, list[tuple[Scalar, ...]]]:
        """The form of a field that bodies were given, and each of its numbers in all of them."""
        known = self._columns.get((bodies, name, generally))
        if known is not None and known[0] == self._versions[name]:
            return known[1:]
        if generally:
            parts = [taken_apart(vars(self[number])[name], True) for number in bodies]
        else:
            parts = [self._taken_apart(number, name)[:2] for number in bodies]
        columns = [_shortened(column) for column in zip(*(numbers for _, numbers in parts), strict=True)]
        self._columns[bodies, name, generally] = self._versions[name], parts[0][0], columns
        return parts[0][0], columns

    def _scalar(self, group: Group, key: str, column: tuple[Scalar, ...]) -> Scalar:
        """A number of the group: the one that all bodies share, or an input."""
        if len(column) == 1 and not isinstance(column[0], Variable):
            return column[0]
        if not isinstance(column[0], Variable) and not any(isinstance(x, Variable) for x in column):
            group.data[key] = [float(x) for x in column]
            return group.input(key)
        names = [self.tape.name_of(x) for x in column]
        if all(name is not None and name not in self.program.reads for name in names):
            group.arguments[key] = [name for name in names if name is not None]
        else:
            group.values[key] = list(column)
        return group.input(key)

    # --- which bodies are alike ---

    def _given(self, number: int) -> list[str]:
        fields = vars(self[number])
        return [name for name in fields if name not in _NAMES and not isinstance(fields[name], RolledRecord)]

    def _links(self, number: int) -> dict[str, RolledRecord]:
        """The records that a body knows."""
        return {name: value for name, value in vars(self[number]).items() if isinstance(value, RolledRecord)}

    def _taken_apart(self, number: int, name: str) -> _Apart:
        known = self._apart[number].get(name)
        if known is None:
            form, numbers = taken_apart(vars(self[number])[name])
            known = self._apart[number][name] = _Apart(form, numbers, *self.program.numbers_of(form))
        return known

    def _look_at(self, number: int) -> _Given:
        """What a record was given."""
        apart, links = self._apart[number], list[tuple[str, RolledRecord]]()
        forms, loose = list[str | int](), list[str | int]()
        for name, value in vars(self[number]).items():
            if name in _NAMES:
                continue
            if isinstance(value, RolledRecord):
                links.append((name, value))
                continue
            known = apart.get(name) or self._taken_apart(number, name)
            forms += (name, known.kind)
            loose += (name, known.general)
        number_of = self.program.number_of
        found = self._known[number] = _Given(number_of(tuple(forms)), number_of(tuple(loose)), tuple(links))
        return found

    def _alike(self, inward: bool) -> Iterable[tuple[tuple[int, ...], bool]]:
        """Groups of bodies, and whether their records are told in general forms."""
        kinds: dict[Any, dict[Any, list[int]]] = {}
        for number in range(1, len(self)):
            given = self._known[number] or self._look_at(number)
            others = tuple((name, other.sweep.place, other.sweep._kind(other.number)[1]) for name, other in given.links)
            rest = self._history[number], inward and self[number].parent == 0, others
            kinds.setdefault((given.loose, rest), {}).setdefault(given.forms, []).append(number)
        for family in kinds.values():
            few = [bodies for bodies in family.values() if len(bodies) < FEW]
            together = len(few) > 1 or (len(few) == 1 and len(family) > 1)
            if together:
                yield tuple(sorted(number for bodies in few for number in bodies)), True
            for bodies in family.values():
                if not together or len(bodies) >= FEW:
                    yield tuple(bodies), False


def _shortened(column: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    """One number where all bodies have the same."""
    first = column[0]
    same = not isinstance(first, Variable) and column.count(first) == len(column)
    return column[:1] if same else column


def _from_slots(form: Form) -> tuple[Form, tuple[None, ...]]:
    return form, (None,) * len(places(form))


def _seen(field: Made) -> tuple[Form, tuple[Scalar | None, ...]]:
    """A made field as others read it."""
    form = general(field.form)
    return (form, tuple(field.numbers)) if places(form) == places(field.form) else _from_slots(form)


def _with_slots(value: Any) -> tuple[Form, list[Scalar | None]]:
    """The form of what a step made, and its numbers; those that vary from body to body are None."""
    form, numbers = taken_apart(value)
    return form, [None if isinstance(x, Variable) else x for x in numbers]
