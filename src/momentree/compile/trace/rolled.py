"""Rolled code: the steps of the sweeps traced once for each group of similar bodies, to be run by compiled loops.

`RolledRecords` stand in for plain records. They defer a step until its result is read; then all deferred steps, which
make up one pass along the tree, are traced on a tape of one body for each group of bodies whose records have the same
form (field_layout.py). Laws and forces between bodies, computed between the passes, are recorded on the main tape as in
straight-line code. emit/rolled_llvm.py writes the loops.

The key of a number in a record is the name of the field and the path to the number in it: "v.0.2" is the third
component of the linear part of v. On the tape of a group an input of the body itself is named by its key, one of its
parent by "^" and the key, one of a linked record, a field `first` of the body's record, by "first^" and the key. Linked
records may belong to another sweep of the same `Program`, as loops and bodies do.

| a body's number is       | when                                            | in the loop                        |
|--------------------------|-------------------------------------------------|------------------------------------|
| constant                 | the same in all bodies of the group             | written into the code              |
| data                     | a constant of each body                         | read from a table                  |
| an argument              | an entry of q, v, ... of the call               | read from there, by a table        |
| stored                   | computed by an earlier pass or on the main tape | read from the body's slots         |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from momentree.compile.trace.field_layout import Form, flatten, general, number_paths, unflatten
from momentree.compile.trace.tape import Tape, Variable
from momentree.equations.sweeps import Fields, InwardStep, LocalStep, OutwardStep, Record, Records, check_summed
from momentree.spatial import Scalar

FEW = 8  # bodies: smaller groups of similar bodies share one group of a more general form, if there is one
_NAMES = ("number", "parent", "sweep")  # fields that identify a body
# by field: its general form, and each of its numbers if that is constant, else None
Forms = Mapping[str, tuple[Form, tuple[Scalar | None, ...]]]


class Program:
    """All records that are swept for one result, and the passes along them, in their order.

    | field  | meaning                                                                                |
    |--------|----------------------------------------------------------------------------------------|
    | sweeps | the records; a pass has the index of its own                                           |
    | reads  | inputs of the main tape that are read from slots: by name, which records, body and key |
    """

    def __init__(self, tape: Tape):
        self.tape = tape
        self.sweeps: list[RolledRecords] = []
        self.passes: list[Pass] = []
        self.reads: dict[str, tuple[int, int, str]] = {}
        self.deferred: list[tuple[RolledRecords, str, Any]] = []
        self._numbers: dict[Any, int] = {}
        self._general: dict[int, int] = {}

    def number_of(self, form: Any) -> int:
        """An integer that is equal for equal forms, since integers are compared faster."""
        return self._numbers.setdefault(form, len(self._numbers))

    def numbers_of(self, form: Form) -> tuple[int, int]:
        """The number of a form, and that of its general form."""
        number = self.number_of(form)
        general_number = self._general.get(number)
        if general_number is None:
            general_number = self._general[number] = self.number_of(general(form))
        return number, general_number

    def defer(self, sweep: RolledRecords, direction: str, step: Any) -> None:
        """Run a step later, in one pass with those deferred before, if it can be."""
        # a local step begins fields that children will add to, so it never shares a pass with an inward one
        if self.deferred:
            first, before, _ = self.deferred[0]
            if first is not sweep or (direction == "inward") != (before == "inward"):
                self.run_deferred()
        self.deferred.append((sweep, direction, step))

    def run_deferred(self) -> None:
        """Trace the deferred steps, as one pass."""
        steps, self.deferred = self.deferred, []
        if steps:
            steps[0][0].run([(direction, step) for _, direction, step in steps])


class RolledRecord(Record):
    """The record of one body of many: a field that a pass computes is read from its slots.

    It reports every field that is assigned to its sweep, whose cached forms of the other fields stay valid.
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
class ComputedField:
    """A field that a pass computes for all bodies of a group: its form, and its numbers; None: stored in slots."""

    group: Group
    form: Form
    numbers: list[Scalar | None]


@dataclass(eq=False)
class Group:
    """Similar bodies in a pass, and the tape of one of them.

    | field     | meaning                                                                             |
    |-----------|-------------------------------------------------------------------------------------|
    | data      | constants of each body, by key                                                      |
    | arguments | names of inputs of the main tape, one for each body, by key                         |
    | values    | results on the main tape, one for each body, by key: stored before the pass         |
    | fields    | results of the steps, on the group's tape                                           |
    | added     | fields of the parent after this body has added to them: by key, on the group's tape |
    | results   | where each body's number belongs in the output, by key                              |
    | links     | linked records by field: the index of their sweep, and their numbers                |
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
        variable = self.tape.known_input(name)
        return variable if variable is not None else self.tape.input(name)

    def computed_numbers(self) -> dict[str, Scalar]:
        """All numbers of `fields`, by key, in special and in general forms."""
        by_key: dict[str, Scalar] = {}
        for name, value in self.fields.items():
            for generally in (False, True):
                form, numbers = flatten(value, generally)
                by_key.update({name + path: number for path, number in zip(number_paths(form), numbers, strict=True)})
        return by_key


@dataclass(eq=False)
class Pass:
    """Steps that one loop over the bodies of a sweep runs, outward or inward."""

    sweep: int
    inward: bool
    groups: list[Group]


class _LinkedRecord:
    """Another record as a step reads it, the parent (link "") or a linked one: from its slots, in general forms.

    A field that the ground does not have is read as a single number.
    """

    def __init__(self, group: Group, link: str, forms: Forms):
        self._group, self._link, self._forms = group, link, forms

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        form, numbers = self._forms.get(name, (None, (None,)))
        keys = [f"{self._link}^{name}{path}" for path in number_paths(form)]
        scalars = (self._group.input(key) if x is None else x for key, x in zip(keys, numbers, strict=True))
        return unflatten(form, scalars)


class _RecordForms(NamedTuple):
    """Assigned fields of a record: integers for their forms and for their general forms, and the linked records."""

    forms: int
    general_forms: int
    links: tuple[tuple[str, RolledRecord], ...]


class _FlatField(NamedTuple):
    """An assigned field, flattened; `kind` and `general` are integers for its form and its general form."""

    form: Form
    numbers: list[Scalar]
    kind: int
    general: int


class RolledRecords(Records):
    """The ground and the bodies of a tree, or loops, swept by loops of compiled code."""

    def __init__(self, bodies: Iterable[Record], program: Program, order: Sequence[int] | None = None):
        super().__init__((RolledRecord(body, self) for body in bodies), order)
        self.program, self.tape, self.sweep_index = program, program.tape, len(program.sweeps)
        program.sweeps.append(self)
        self._computed: list[dict[str, ComputedField]] = [{} for _ in self]
        self._history = [0] * len(self)  # equal for bodies whose fields were computed in the same groups
        self._histories: dict[tuple[int, int], int] = {}
        self._flat: list[dict[str, _FlatField]] = [{} for _ in self]
        self._kinds: dict[int, tuple[Forms, int]] = {}
        self._record_forms: list[_RecordForms | None] = [None] * len(self)
        self._versions: Counter[str] = Counter()  # of each field: how often it was set
        self._columns: dict[tuple[tuple[int, ...], str, bool], tuple[int, Form, list[tuple[Scalar, ...]]]] = {}

    def changed(self, number: int, name: str) -> None:
        """A field of a record was assigned, or is computed by a pass from now on."""
        self._record_forms[number] = None
        self._flat[number].pop(name, None)
        self._versions[name] += 1
        if number == 0:
            self._kinds.pop(-1, None)

    # --- the sweeps defer their steps ---

    def outward(self, step: OutwardStep) -> None:
        self.program.defer(self, "outward", step)

    def locally(self, step: LocalStep) -> None:
        self.program.defer(self, "locally", step)

    def inward(self, step: InwardStep) -> None:
        self.program.defer(self, "inward", step)

    def read(self, number: int, name: str) -> Any:
        """A field of a body that a pass computes, as variables of the main tape."""
        self.program.run_deferred()
        if name not in self._computed[number]:
            raise AttributeError(f"no step has computed '{name}' of body {number} yet")
        computed = self._computed[number][name]
        keys = [name + path for path in number_paths(computed.form)]
        return unflatten(
            computed.form,
            [self._slot(number, key) if x is None else x for key, x in zip(keys, computed.numbers, strict=True)],
        )

    def _slot(self, number: int, key: str) -> Variable:
        name = f"slot {self.sweep_index} {number} {key}"
        self.program.reads[name] = self.sweep_index, number, key
        variable = self.tape.known_input(name)
        return variable if variable is not None else self.tape.input(name)

    def ground_numbers(self) -> dict[str, Scalar]:
        """The numbers in the fields of the ground, by key, on the main tape."""
        by_key: dict[str, Scalar] = {}
        for name in self._assigned(0):
            form, numbers = flatten(vars(self[0])[name], generally=True)
            by_key.update({name + path: number for path, number in zip(number_paths(form), numbers, strict=True)})
        return by_key

    # --- tracing ---

    def run(self, steps: Sequence[tuple[str, Any]]) -> None:
        """Trace steps, as one pass."""
        if len(self) == 1:
            return
        inward = steps[0][0] == "inward"
        similar = list(self._similar_bodies(inward))
        summed = self._summed(steps, similar) if inward else set()
        groups: list[Group] = []
        for bodies, generally in similar:
            group = Group(len(groups), bodies)
            record = self._record(group, summed, generally)
            self._trace(group, record, steps)
            groups.append(group)
        self.program.passes.append(Pass(self.sweep_index, inward, groups))
        self._store(groups, summed)

    def _store(self, groups: Sequence[Group], summed: set[str]) -> None:
        """Enter the fields that a pass computes in all records."""
        general_forms: dict[int, ComputedField] = {}
        for computed_before in self._computed if summed else ():
            for name in summed & computed_before.keys():
                old = computed_before[name]
                if id(old) not in general_forms:
                    form = general(old.form)
                    general_forms[id(old)] = ComputedField(old.group, form, [None] * len(number_paths(form)))
                computed_before[name] = general_forms[id(old)]
        for group in groups:
            computed = {name: ComputedField(group, *_with_slots(value)) for name, value in group.fields.items()}
            for number in group.bodies:
                self._computed[number].update(computed)
                for name in computed.keys() & vars(self[number]).keys():
                    del vars(self[number])[name]
                    self.changed(number, name)
                self._history[number] = self._next_history(self._history[number], group, self._computed[number])
        ground = self._kinds.pop(-1, None)
        self._kinds = {} if ground is None else {-1: ground}

    def _next_history(self, history: int, group: Group, computed: Mapping[str, ComputedField]) -> int:
        """The history of a body after a pass, the same for all bodies of one history in one group."""
        step = history, id(group)
        if step not in self._histories:
            names = tuple((name, id(field.group)) for name, field in computed.items())
            self._histories[step] = self.program.number_of(("history", names))
        return self._histories[step]

    def _trace(self, group: Group, record: Record, steps: Sequence[tuple[str, Any]]) -> None:
        parent = _LinkedRecord(group, "", self._forms(0))
        top = self[group.bodies[0]].parent == 0
        for direction, step in steps:
            if direction == "outward":
                fields = step(record, parent)
            elif direction == "locally":
                fields = step(record)
            else:
                fields, to_parent = step(record)
                for name, value in {} if top else to_parent.items():
                    self._add(group, name, value)
            record.give(fields, step)
            group.fields.update(fields)

    def _add(self, group: Group, name: str, value: Any) -> None:
        """Record the field of the parent with the value added to it."""
        form, _ = flatten(value, generally=True)
        keys = [name + path for path in number_paths(form)]
        total = unflatten(form, [group.input(f"^{key}") for key in keys]) + value
        group.added.update(zip(keys, flatten(total, generally=True)[1], strict=True))

    def _summed(self, steps: Sequence[tuple[str, Any]], similar: Sequence[tuple[tuple[int, ...], bool]]) -> set[str]:
        """Names of the fields to which children add, by tracing one body on a tape that is discarded."""
        names: set[str] = set()
        for bodies, generally in similar:
            group = Group(0, bodies[:1])
            # as inputs: a body's own inertia may be zero before children add
            computed_before = set(self._computed[bodies[0]])
            record = self._record(group, computed_before, generally)
            for _, step in steps:
                fields, to_parent = step(record)
                record.give(fields, step)
                check_summed(to_parent, step)
                names |= set(to_parent)
        return names

    def _forms(self, number: int) -> Forms:
        """The forms in which other records read this one: assigned fields of the ground, computed fields of bodies."""
        return self._kind(number)[0]

    def _kind(self, number: int) -> tuple[Forms, int]:
        """`_forms`, and an integer that is equal for equal ones."""
        kind = self._history[number] if number else -1
        if kind not in self._kinds:
            forms: Forms
            if number:
                forms = {name: _as_read(field) for name, field in self._computed[number].items()}
            else:
                assigned = {name: vars(self[0])[name] for name in self._assigned(0)}
                forms = {name: _from_slots(flatten(value, generally=True)[0]) for name, value in assigned.items()}
            self._kinds[kind] = forms, self.program.number_of(tuple(forms.items()))
        return self._kinds[kind]

    def _record(self, group: Group, summed: set[str], generally: bool) -> Record:
        """The record of any body of the group, in numbers that all share and in inputs of the group's tape."""
        first = group.bodies[0]
        fields = {}
        for name, computed in self._computed[first].items():
            form = general(computed.form) if name in summed else computed.form
            keys = [name + path for path in number_paths(form)]
            numbers = [None] * len(keys) if name in summed else computed.numbers
            scalars = [group.input(key) if x is None else x for key, x in zip(keys, numbers, strict=True)]
            fields[name] = unflatten(form, scalars)
        for name in self._assigned(first):  # assigned after a pass computed it, if one did
            form, columns = self._table(group.bodies, name, generally)
            keys = [name + path for path in number_paths(form)]
            scalars = [self._scalar(group, key, column) for key, column in zip(keys, columns, strict=True)]
            fields[name] = unflatten(form, scalars)
        for name, other in self._links(first).items():
            fields[name] = _LinkedRecord(group, name, other.sweep._forms(other.number))
            group.links[name] = other.sweep.sweep_index, [vars(self[number])[name].number for number in group.bodies]
        return Record(**fields)

    def _table(self, bodies: tuple[int, ...], name: str, generally: bool) -> tuple[Form, list[tuple[Scalar, ...]]]:
        """The form of an assigned field, and for each of its numbers the column of its values in all bodies."""
        cached = self._columns.get((bodies, name, generally))
        if cached is not None and cached[0] == self._versions[name]:
            return cached[1:]
        if generally:
            parts = [flatten(vars(self[number])[name], True) for number in bodies]
        else:
            parts = [self._flattened(number, name)[:2] for number in bodies]
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

    # --- which bodies are similar ---

    def _assigned(self, number: int) -> list[str]:
        fields = vars(self[number])
        return [name for name in fields if name not in _NAMES and not isinstance(fields[name], RolledRecord)]

    def _links(self, number: int) -> dict[str, RolledRecord]:
        """The linked records of a body, by field."""
        return {name: value for name, value in vars(self[number]).items() if isinstance(value, RolledRecord)}

    def _flattened(self, number: int, name: str) -> _FlatField:
        flat = self._flat[number].get(name)
        if flat is None:
            form, numbers = flatten(vars(self[number])[name])
            flat = self._flat[number][name] = _FlatField(form, numbers, *self.program.numbers_of(form))
        return flat

    def _classify(self, number: int) -> _RecordForms:
        """The forms of the assigned fields of a record, and its links."""
        flat_fields, links = self._flat[number], list[tuple[str, RolledRecord]]()
        forms, general_forms = list[str | int](), list[str | int]()
        for name, value in vars(self[number]).items():
            if name in _NAMES:
                continue
            if isinstance(value, RolledRecord):
                links.append((name, value))
                continue
            flat = flat_fields.get(name) or self._flattened(number, name)
            forms += (name, flat.kind)
            general_forms += (name, flat.general)
        number_of = self.program.number_of
        record_forms = _RecordForms(number_of(tuple(forms)), number_of(tuple(general_forms)), tuple(links))
        self._record_forms[number] = record_forms
        return record_forms

    def _similar_bodies(self, inward: bool) -> Iterable[tuple[tuple[int, ...], bool]]:
        """Groups of bodies, and whether their records are read in general forms."""
        kinds: dict[Any, dict[Any, list[int]]] = {}
        for number in range(1, len(self)):
            record_forms = self._record_forms[number] or self._classify(number)
            others = tuple(
                (name, other.sweep.sweep_index, other.sweep._kind(other.number)[1])
                for name, other in record_forms.links
            )
            rest = self._history[number], inward and self[number].parent == 0, others
            kinds.setdefault((record_forms.general_forms, rest), {}).setdefault(record_forms.forms, []).append(number)
        for family in kinds.values():
            few = [bodies for bodies in family.values() if len(bodies) < FEW]
            together = len(few) > 1 or (len(few) == 1 and len(family) > 1)
            if together:
                yield tuple(sorted(number for bodies in few for number in bodies)), True
            for bodies in family.values():
                if not together or len(bodies) >= FEW:
                    yield tuple(bodies), False


def _shortened(column: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    """The column, or a single number where all bodies have the same."""
    first = column[0]
    same = not isinstance(first, Variable) and column.count(first) == len(column)
    return column[:1] if same else column


def _from_slots(form: Form) -> tuple[Form, tuple[None, ...]]:
    return form, (None,) * len(number_paths(form))


def _as_read(field: ComputedField) -> tuple[Form, tuple[Scalar | None, ...]]:
    """A computed field in the form in which other records read it."""
    form = general(field.form)
    return (form, tuple(field.numbers)) if number_paths(form) == number_paths(field.form) else _from_slots(form)


def _with_slots(value: Any) -> tuple[Form, list[Scalar | None]]:
    """The form of a result of a step, and its numbers; those that vary from body to body are None."""
    form, numbers = flatten(value)
    return form, [None if isinstance(x, Variable) else x for x in numbers]
