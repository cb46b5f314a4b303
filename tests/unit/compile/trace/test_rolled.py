"""Rolled records: bodies are classified from where they were, and constants once for all that is traced."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from mechanisms import four_bars_in_a_row
from momentree.compile.trace import field_layout
from momentree.compile.trace.field_layout import FormTable
from momentree.compile.trace.right_hand_sides import closed_code, positions_code, velocities_code
from momentree.compile.trace.rolled import Program, RolledRecords
from momentree.compile.trace.tape import Tape
from momentree.equations.formulations import FORMULATIONS
from momentree.equations.sweeps import Record
from momentree.spatial import REST, ZERO, Force, Motion, Vector


@pytest.fixture
def flattened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often things of each type were taken apart."""
    counts, plain = Counter[str](), field_layout.flatten

    def counted(thing: Any, generally: bool = False, leaf: Any = None) -> tuple[Any, list[Any]]:
        counts[type(thing).__name__] += 1
        return plain(thing, generally, leaf)

    monkeypatch.setattr(field_layout, "flatten", counted)
    return counts


def test_what_is_constant_in_bodies_is_taken_apart_once_for_all_tracings(flattened: Counter[str]) -> None:
    mechanism, formulation = four_bars_in_a_row(20).build().mechanism, FORMULATIONS["hamiltonian"]
    closed_code(mechanism, formulation)
    assert flattened["Revolute"] >= len(mechanism.bodies)  # of all joints, those that close loops too
    flattened.clear()
    for trace in (positions_code, velocities_code, lambda m: closed_code(m, formulation)):
        trace(mechanism)
    assert flattened["Revolute"] == 0


def test_coordinates_and_momenta_are_not_taken_apart_at_all(flattened: Counter[str]) -> None:
    velocities_code(four_bars_in_a_row(20).build().mechanism)
    assert flattened["tuple"] == 41 + 20  # `reach` of bodies and `fixed_rows` of loops, but no q and p


def records_of(*bodies: Record) -> RolledRecords:
    return RolledRecords([Record(number=0, X_0=ZERO, v=REST), *bodies], Program(Tape(), FormTable()))


def test_a_body_is_classified_as_if_all_fields_had_been_there_from_the_start() -> None:
    late = records_of(Record(number=1, parent=0, mount=1.0), Record(number=2, parent=0, mount=1.0))
    first = late._classify(1)
    for body in (1, 2):
        late[body].q = (1.0,)
    assert late._classify(1).forms == late._classify(2).forms != first.forms
    late[1].v = Motion(Vector(1, 2, 3), ZERO)
    late[2].v = Motion(Vector(1, 2, 3), ZERO)
    assert late._classify(1).forms == late._classify(2).forms


def test_a_field_or_link_that_is_given_again_is_classified_again() -> None:
    sweep = records_of(Record(number=1, parent=0, u=(0.0,)), Record(number=2, parent=0, u=(0.0,)))
    before = sweep._classify(1)
    sweep[1].u = (0.0, 0.0)
    assert sweep._classify(1).forms != before.forms
    sweep[1].u = (1.0,)
    assert sweep._classify(1).forms == before.forms
    sweep[1].body0 = sweep[2]
    assert sweep._classify(1).links == (("body0", sweep[2]),)
    vars(sweep[1])["body0"] = sweep[0]
    sweep.changed(1, "body0")
    assert sweep._classify(1).links == (("body0", sweep[0]),)


def test_special_and_general_forms_are_told_apart() -> None:
    sweep = records_of(
        Record(number=1, parent=0, applied=Force(ZERO, Vector(1, 2, 3))),
        Record(number=2, parent=0, applied=Force(Vector(4, 5, 6), Vector(1, 2, 3))),
    )
    one, other = sweep._classify(1), sweep._classify(2)
    assert one.forms != other.forms
    assert one.general_forms == other.general_forms


def test_records_are_let_go_once_code_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made, plain = list[RolledRecords](), RolledRecords.__init__

    def kept(self: RolledRecords, *given: Any) -> None:
        plain(self, *given)
        made.append(self)

    monkeypatch.setattr(RolledRecords, "__init__", kept)
    mechanism = four_bars_in_a_row(20).build().mechanism
    velocities_code(mechanism)
    assert len(made) == 2  # bodies, and loops
    assert not any(made)
