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
| summed                   | what children add, of a key with a "+" before   | read from the body's slots         |
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from momentree.compile.trace.field_layout import (
    FlatField,
    Form,
    FormTable,
    Plain,
    flatten,
    general,
    number_paths,
    unflatten,
)
from momentree.compile.trace.rolled_groups import ComputedField, Forms, Group, LinkedRecord, Pass
from momentree.compile.trace.tape import Tape, Variable
from momentree.equations.fields import DECLARED, SUMMED
from momentree.equations.sweeps import Fields, InwardStep, LocalStep, OutwardStep, Record, Records, check_summed
from momentree.spatial import Scalar

FEW = 8  # bodies: smaller groups of similar bodies share one group of a more general form, if there is one
_NAMES = ("number", "parent", "sweep")  # fields that identify a body


class Program:
    """All records that are swept for one result, and the passes along them, in their order.

    | field  | meaning                                                                                |
    |--------|----------------------------------------------------------------------------------------|
    | sweeps | the records; a pass has the index of its own                                           |
    | reads  | inputs of the main tape that are read from slots: by name, which records, body and key |
    """

    def __init__(self, tape: Tape, forms: FormTable | None = None):
        self.tape, self.forms = tape, forms or FormTable()
        self.sweeps: list[RolledRecords] = []
        self.passes: list[Pass] = []
        self.reads: dict[str, tuple[int, int, str]] = {}
        self.deferred: list[tuple[RolledRecords, str, Any]] = []
        self._numbers: dict[Any, int] = {}
        self._records: dict[tuple[Any, ...], tuple[int, int, Plain]] = {}

    def number_of(self, form: Any) -> int:
        """An integer that is equal for equal forms, since integers are compared faster."""
        return self._numbers.setdefault(form, len(self._numbers))

    def record_forms(self, signature: tuple[str | int, ...]) -> tuple[int, int, Plain]:
        """Forms, general forms and plain numbers of a record with these fields: name, kind, name, kind ..."""
        known = self._records.get(signature)
        if known is None:
            names, kinds = signature[::2], [self.forms.about(kind) for kind in signature[1::2] if isinstance(kind, int)]
            forms, general_forms = (names, *(k.form for k in kinds)), (names, *(k.general for k in kinds))
            plain = tuple(x for kind in kinds for x in kind.plain)
            known = self._records[signature] = self.number_of(forms), self.number_of(general_forms), plain
        return known

    def defer(self, sweep: RolledRecords, direction: str, step: Any) -> None:
        """Run a step later, in one pass with those deferred before, if it can be."""
        directions = {direction for _, direction, _ in self.deferred}
        later: list[tuple[RolledRecords, str, Any]] = []
        if self.deferred and self.deferred[0][0] is not sweep:
            self.run_deferred()
        elif direction == "inward" and "outward" in directions:
            # local steps, which begin what children add to, are part of the inward pass: what they give is not stored
            while self.deferred[-1][1] == "locally":
                later.insert(0, self.deferred.pop())
            self.run_deferred()
        elif direction != "inward" and "inward" in directions:
            self.run_deferred()
        self.deferred += [*later, (sweep, direction, step)]

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


class _RecordForms(NamedTuple):
    """Assigned fields of a record: integers for their forms and for their general forms, and the linked records."""

    forms: int
    general_forms: int
    plain: Plain
    links: tuple[tuple[str, RolledRecord], ...]


class _Seen:
    """The first fields of a record, so many, that were classified: names and forms, and linked records."""

    __slots__ = ("count", "links", "signature")

    def __init__(self) -> None:
        self.count = 0
        self.signature: list[str | int] = []
        self.links: dict[str, RolledRecord] = {}


class _Column(NamedTuple):
    """A number of an assigned field in all bodies of a group: "constant", or its column in `data`, `arguments` ..."""

    kind: str
    column: list[Any]

    def enter(self, group: Group, key: str) -> Scalar:
        """The number on the tape of a group: the one that all bodies share, or an input."""
        if self.kind == "constant":
            return self.column[0]
        getattr(group, self.kind)[key] = self.column
        return group.input(key)


class RolledRecords(Records):
    """The ground and the bodies of a tree, or loops, swept by loops of compiled code."""

    def __init__(self, bodies: Iterable[Record], program: Program, order: Sequence[int] | None = None):
        super().__init__((RolledRecord(body, self) for body in bodies), order)
        self.program, self.tape, self.sweep_index = program, program.tape, len(program.sweeps)
        program.sweeps.append(self)
        self._first: dict[int, int] = {}  # of the children of a body, the one that an inward pass comes to first
        self._computed: list[dict[str, ComputedField]] = [{} for _ in self]
        self._history = [0] * len(self)  # equal for bodies whose fields were computed in the same groups
        self._histories: dict[tuple[int, int], int] = {}
        self._flat: list[dict[str, FlatField]] = [{} for _ in self]
        self._kinds: dict[int, tuple[Forms, int]] = {}
        self._record_forms: list[_RecordForms | None] = [None] * len(self)
        self._seen = [_Seen() for _ in self]
        self._versions: Counter[str] = Counter()  # of each field: how often it was set
        self._columns: dict[tuple[tuple[int, ...], str, bool], tuple[int, Form, list[_Column]]] = {}
        self._numbers_of_links: dict[tuple[tuple[int, ...], str], tuple[int, list[int]]] = {}

    def changed(self, number: int, name: str) -> None:
        """A field of a record was assigned, or is computed by a pass from now on."""
        self._record_forms[number] = None
        seen = self._seen[number]
        if self._flat[number].pop(name, None) is not None or name in seen.links:
            self._seen[number] = _Seen()  # otherwise it follows those that were classified
        self._versions[name] += 1
        if number == 0:
            self._kinds.pop(-1, None)

    def forget(self) -> None:
        """Let go of the records once code is made of them: they refer to one another, and would be freed much later."""
        for record in self:
            vars(record).clear()
        self.clear()
        vars(self).clear()

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
        numbers = zip(computed.paths, computed.slots(), strict=True)
        return unflatten(computed.form, [self._slot(number, name + path) if x is None else x for path, x in numbers])

    def _slot(self, number: int, key: str) -> Variable:
        name = f"slot {self.sweep_index} {number} {key}"
        self.program.reads[name] = self.sweep_index, number, key
        variable = self.tape.known_input(name)
        return variable if variable is not None else self.tape.input(name)

    def ground_numbers(self) -> dict[str, Scalar]:
        """The numbers in the fields of the ground, by key, on the main tape."""
        by_key: dict[str, Scalar] = {}
        for name in self._assigned(0):
            form, numbers = self._general_form(vars(self[0])[name])
            by_key.update({name + path: number for path, number in zip(number_paths(form), numbers, strict=True)})
        return by_key

    # --- tracing ---

    def run(self, steps: Sequence[tuple[str, Any]]) -> None:
        """Trace steps, as one pass."""
        if len(self) == 1:
            return
        inward = any(direction == "inward" for direction, _ in steps)
        if inward:
            self._first = {self[number].parent: number for number in self.order}
        groups = self._traced(steps, list(self._similar_bodies(inward)))
        self.program.passes.append(Pass(self.sweep_index, inward, groups))
        self._store(groups)

    def _traced(self, steps: Sequence[tuple[str, Any]], similar: Sequence[tuple[tuple[int, ...], bool]]) -> list[Group]:
        """Trace each group of bodies, again and again until what varies is known.

        At first nothing that children add varies, and of a parent only what varies in the ground.
        """
        varying: set[str] | None = set()
        of_ground = {key: x for key, x in self.ground_numbers().items() if not isinstance(x, Variable)}
        fixed, ground = of_ground, self._ground_forms(of_ground)
        while True:
            groups: list[Group] = []
            parent = self._ground_forms(fixed)
            try:
                for bodies, generally in similar:
                    groups.append(Group(len(groups), bodies, self.program.forms.leaf))
                    on_ground = all(self[number].parent == 0 for number in bodies)
                    record = self._record(groups[-1], generally)
                    self._trace(groups[-1], record, ground if on_ground else parent, steps, varying)
            except ZeroDivisionError:  # a body's own inertia may be zero before children add
                if varying is None:
                    raise
                varying = None
                continue
            found = {key for group in groups for key in group.added}
            made = [group.computed_numbers() for group in groups]
            still_fixed = {key: x for key, x in fixed.items() if all(numbers.get(key) == x for numbers in made)}
            if varying is not None and found <= varying and len(still_fixed) == len(fixed):
                return groups
            varying, fixed = found | (varying or set()), still_fixed

    def _ground_forms(self, fixed: Mapping[str, Scalar]) -> Forms:
        """The forms in which bodies read their parent: as the ground is, with these of its numbers constant."""
        return {
            name: (form, tuple(fixed.get(name + path, x) for path, x in zip(number_paths(form), slots, strict=True)))
            for name, (form, slots) in self._forms(0).items()
        }

    def _store(self, groups: Sequence[Group]) -> None:
        """Enter the fields that a pass computes in all records."""
        for group in groups:
            computed = {name: ComputedField.of(group, value) for name, value in group.fields.items()}
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

    def _trace(
        self, group: Group, record: Record, ground: Forms, steps: Sequence[tuple[str, Any]], varying: set[str] | None
    ) -> None:
        parent = LinkedRecord(group, "", ground)
        top, gathered = self[group.bodies[0]].parent == 0, False
        for direction, step in steps:
            if direction == "outward":
                fields = step(record, parent)
            elif direction == "locally":
                fields = step(record)
            else:
                if not gathered and group.bodies[0] in self._first:
                    self._gather(group, record, varying)
                gathered = True
                fields, to_parent = step(record)
                check_summed(to_parent, step)
                for name, value in {} if top else to_parent.items():
                    self._add(group, name, value, varying)
            record.give(fields, step)
            group.fields.update(fields)

    def _is_first(self, number: int) -> bool:
        """Whether nothing has been added to the parent of a body before."""
        return self._first[self[number].parent] == number

    def _gather(self, group: Group, record: Record, varying: set[str] | None) -> None:
        """Add to the fields of a body what its children have summed up."""
        for name, value in list(vars(record).items()):
            if name in _NAMES or DECLARED[name].kind is not SUMMED:
                continue
            form, _ = self._general_form(value)
            keys = [f"+{name}{path}" for path in number_paths(form)]
            if varying is None or not varying.isdisjoint(keys):
                sums = [group.input(key) if varying is None or key in varying else 0 for key in keys]
                vars(record)[name] = group.fields[name] = value + unflatten(form, sums)

    def _add(self, group: Group, name: str, value: Any, varying: set[str] | None) -> None:
        """Record the sum over children of the parent with the value added to it."""
        form, numbers = self._general_form(value)
        first = self._is_first(group.bodies[0])
        for path, x in zip(number_paths(form), numbers, strict=True):
            key = f"+{name}{path}"
            if isinstance(x, Variable) or x != 0 or (varying is not None and key in varying):
                group.added[key] = x if first else group.input(f"^{key}") + x

    def _forms(self, number: int) -> Forms:
        """The forms in which other records read this one: assigned fields of the ground, computed fields of bodies."""
        return self._kind(number)[0]

    def _kind(self, number: int) -> tuple[Forms, int]:
        """`_forms`, and an integer that is equal for equal ones."""
        kind = self._history[number] if number else -1
        if kind not in self._kinds:
            forms: Forms
            if number:
                forms = {
                    name: _as_read(field, self.program.forms.leaf) for name, field in self._computed[number].items()
                }
            else:
                assigned = {name: vars(self[0])[name] for name in self._assigned(0)}
                forms = {name: _from_slots(self._general_form(value)[0]) for name, value in assigned.items()}
            self._kinds[kind] = forms, self.program.number_of(tuple(forms.items()))
        return self._kinds[kind]

    def _record(self, group: Group, generally: bool) -> Record:
        """The record of any body of the group, in numbers that all share and in inputs of the group's tape."""
        first = group.bodies[0]
        fields = {}
        for name, computed in self._computed[first].items():
            keys = [name + path for path in number_paths(computed.form)]
            scalars = [group.read(key, x) for key, x in zip(keys, computed.numbers, strict=True)]
            fields[name] = unflatten(computed.form, scalars)
        for name in self._assigned(first):  # assigned after a pass computed it, if one did
            form, columns = self._table(group.bodies, name, generally)
            keys = [name + path for path in number_paths(form)]
            scalars = [column.enter(group, key) for key, column in zip(keys, columns, strict=True)]
            fields[name] = unflatten(form, scalars)
        for name, other in self._links(first).items():
            fields[name] = LinkedRecord(group, name, other.sweep._forms(other.number))
            group.links[name] = other.sweep.sweep_index, self._link_numbers(group.bodies, name)
        return Record(**fields)

    def _link_numbers(self, bodies: tuple[int, ...], name: str) -> list[int]:
        """The numbers of the linked records of some bodies."""
        cached = self._numbers_of_links.get((bodies, name))
        if cached is None or cached[0] != self._versions[name]:
            cached = self._versions[name], [vars(self[number])[name].number for number in bodies]
            self._numbers_of_links[bodies, name] = cached
        return cached[1]

    def _table(self, bodies: tuple[int, ...], name: str, generally: bool) -> tuple[Form, list[_Column]]:
        """The form of an assigned field, and for each of its numbers the column of its values in all bodies."""
        cached = self._columns.get((bodies, name, generally))
        if cached is not None and cached[0] == self._versions[name]:
            return cached[1:]
        parts: Sequence[tuple[Form, Sequence[Scalar]] | FlatField]
        if generally:
            parts = [self._general_form(vars(self[number])[name]) for number in bodies]
        else:
            flat = self._flat
            parts = [flat[number].get(name) or self._flattened(number, name) for number in bodies]
        form, columns = parts[0][0], [self._column(column) for column in zip(*[part[1] for part in parts], strict=True)]
        self._columns[bodies, name, generally] = self._versions[name], form, columns
        return form, columns

    def _general_form(self, field: Any) -> tuple[Form, list[Scalar]]:
        return flatten(field, True, self.program.forms.leaf)

    def _column(self, column: tuple[Scalar, ...]) -> _Column:
        """A number of a field in all bodies: which column of a group it belongs in."""
        first = column[0]
        if not isinstance(first, Variable) and column.count(first) == len(column):
            return _Column("constant", [first])
        if Variable not in map(type, column):
            return _Column("data", [float(x) for x in column])
        names = [self.tape.name_of(x) for x in column]
        if all(name is not None and name not in self.program.reads for name in names):
            return _Column("arguments", names)
        return _Column("values", list(column))

    # --- which bodies are similar ---

    def _assigned(self, number: int) -> list[str]:
        fields = vars(self[number])
        return [name for name in fields if name not in _NAMES and not isinstance(fields[name], RolledRecord)]

    def _links(self, number: int) -> dict[str, RolledRecord]:
        """The linked records of a body, by field."""
        return {name: value for name, value in vars(self[number]).items() if isinstance(value, RolledRecord)}

    def _flattened(self, number: int, name: str) -> FlatField:
        flat = self._flat[number].get(name)
        if flat is None:
            flat = self._flat[number][name] = self.program.forms.flattened(vars(self[number])[name])
        return flat

    def _classify(self, number: int) -> _RecordForms:
        """The forms of the assigned fields of a record, and its links."""
        fields, seen = vars(self[number]), self._seen[number]
        flat_fields, flattened = self._flat[number], self.program.forms.flattened
        signature, links = seen.signature, seen.links
        for name, value in itertools.islice(fields.items(), seen.count, None):
            if name in _NAMES:
                continue
            if type(value) is RolledRecord:
                links[name] = value
                continue
            flat = flat_fields.get(name)
            if flat is None:
                flat = flat_fields[name] = flattened(value)
            signature += name, flat.kind
        seen.count = len(fields)
        known = self.program.record_forms(tuple(signature))
        record_forms = self._record_forms[number] = _RecordForms(*known, tuple(links.items()))
        return record_forms

    def _similar_bodies(self, inward: bool) -> Iterable[tuple[tuple[int, ...], bool]]:
        """Groups of bodies, and whether their records are read in general forms."""
        kinds: dict[Any, dict[Any, dict[Any, list[int]]]] = {}
        for number in range(1, len(self)):
            record_forms = self._record_forms[number] or self._classify(number)
            links = record_forms.links
            others = [(name, other.sweep.sweep_index, other.sweep._kind(other.number)[1]) for name, other in links]
            top = inward and self[number].parent == 0
            among = (top, number in self._first, top or self._is_first(number)) if inward else ()
            rest = self._history[number], among, tuple(others)
            family = kinds.setdefault((record_forms.general_forms, rest), {}).setdefault(record_forms.forms, {})
            family.setdefault(record_forms.plain, []).append(number)
        for forms in kinds.values():
            alike = [_alike(by_plain) for by_plain in forms.values()]
            few = [bodies for groups in alike for bodies in groups if len(bodies) < FEW]
            together = len(few) > 1 or (len(few) == 1 and len(forms) > 1)
            if together:
                yield tuple(sorted(number for bodies in few for number in bodies)), True
            for groups in alike:
                for bodies in groups:
                    if not together or len(bodies) >= FEW:
                        yield tuple(bodies), False


def _alike(by_plain: Mapping[Plain, list[int]]) -> list[list[int]]:
    """Groups of bodies whose records have the same form: those with the same numbers 0, 1 and -1, if they are many.

    A few others join a group that has only such of these numbers as they have; else they make up one.
    """
    groups = {plain: list(bodies) for plain, bodies in by_plain.items() if len(bodies) >= FEW}
    rest: list[int] = []
    for plain, bodies in by_plain.items():
        if plain not in groups:
            fitting = (group for group in groups if all(x is None or x == y for x, y in zip(group, plain, strict=True)))
            groups.get(next(fitting, ()), rest).extend(bodies)
    return [sorted(bodies) for bodies in (*groups.values(), rest) if bodies]


def _from_slots(form: Form) -> tuple[Form, tuple[None, ...]]:
    return form, (None,) * len(number_paths(form))


def _as_read(field: ComputedField, leaf: Form) -> tuple[Form, tuple[Scalar | None, ...]]:
    """A computed field in the form in which other records read it."""
    form = general(field.form, leaf)
    return (form, tuple(field.slots())) if number_paths(form) == number_paths(field.form) else _from_slots(form)
