"""Fields of sweep records: declared once, given once, by those who are declared to give them."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections import defaultdict

import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.compile.emit.rolled_llvm import Rolled
from momentree.compile.trace.quantities import QUANTITIES, trace
from momentree.compile.trace.right_hand_sides import (
    closed_code,
    loop_codes,
    physical_right_hand_side_code,
    positions_code,
    right_hand_side_code,
    split_code,
)
from momentree.compile.trace.tape import Tape
from momentree.equations import aggregative, articulated, factors, hamiltonian, joint_reactions
from momentree.equations.energy import equations_of_motion
from momentree.equations.evaluation import Evaluation
from momentree.equations.fields import BODY, DECLARED, FORCES, ONCE, REVISED, SUMMED, FieldError
from momentree.equations.forces import loaded_loops
from momentree.equations.formulations import FORMULATIONS
from momentree.equations.kinematics import records
from momentree.equations.sweeps import Record
from momentree.model.expressions.expression import parse
from momentree.model.frames import Frame
from momentree.model.higher_pairs import OnSurfaces, Rolling
from momentree.structure.mechanism import Constraint, Loop
from momentree.system import System

STRAIGHT = "straight-line"


def sprung_four_bar():
    """Driven and hindered in the tree and where its loop closes, on a ground that moves."""
    m = four_bar()
    m.ground.moves(("0.1*t", 0, 0), (0, 0, "0.2*t"))
    for i, joint in enumerate(m.joints):
        hindered = dataclasses.replace(joint.type, spring=3.0, damping=0.1)
        m.joints[i] = dataclasses.replace(joint, type=hindered)
        m.torque(joint.name, f"-{joint.name}'")
    return m.build()


def double_pendulum():
    m, end = mt.Model("double pendulum"), None
    for name in "AB":
        rod = m.body(name.lower(), mt.rod(mass=1.0, length=1.0))
        m.joint(name, mt.Revolute("y"), m.ground if end is None else end.at((1, 0, 0)), rod)
        end = rod
    return m.build()


def geared_pendulum():
    """With a coupling, a condition on velocities of a frame, a bead on a curve that moves and a rolling wheel."""
    system = double_pendulum()
    mechanism = system.mechanism
    tip, hub = (mechanism.attach(Frame(body, (0.9, 0.1, 0.2))) for body in "ab")
    ground = mechanism.attach(Frame("ground"))
    surface = OnSurfaces(expressions=(parse("x + 0.3*z - sin(t)"),))
    loops = Loop("bead", surface, ground, tip, None), Loop("wheel", Rolling(radius=0.2), ground, hub, None)
    laws = Constraint("gear", parse("A - 2*B"), True), Constraint("guide", parse("tip.x' - A'*tip.z"), False)
    with_all = dataclasses.replace(mechanism, frames=(("tip", tip),), loops=loops, constraints=laws)
    return System(with_all, double_pendulum()._model)


def evaluate_everything(system):
    """Every formalism and quantity, on the plain runner."""
    mechanism, n = system.mechanism, system.nv
    at, zeros = Evaluation(mechanism, [0.1] * system.nq, 0.3), [0.0] * n
    for quantity in QUANTITIES:
        trace(mechanism, quantity)
    for formulation in FORMULATIONS.values():
        own, counted = mechanism, []
        if formulation.maximal:
            own = formulation.maximal.maximal_mechanism(mechanism)
            counted = formulation.maximal.counted_angles(mechanism, own)
        for gains in formulation.stabilizations.values():
            right_hand_side_code(own, formulation, STRAIGHT, constraint_gains=gains(1.0), counted=counted)
        closed_code(own, formulation, STRAIGHT)
    if not loaded_loops(mechanism):
        physical_right_hand_side_code(mechanism, STRAIGHT)
        split_code(mechanism, STRAIGHT)
    if mechanism.constrained:
        positions_code(mechanism, STRAIGHT)
        loop_codes(mechanism, STRAIGHT)
    if mechanism.loops and not mechanism.constraints:
        start = system.assemble({"A": 1.0})
        system.actuation(start.q[None], start.v[None], 0 * start.v[None], ["A"], start.t)
    equations_of_motion(at, zeros, zeros)
    aggregative.first_form(at, zeros)
    aggregative.inverse_dynamics(at, zeros, zeros)
    aggregative.inertia_product(at, zeros)
    articulated.inverse_inertia_product(at, zeros)
    factors.factors(at)
    joint_reactions.joint_reactions(at, zeros)
    hamiltonian.momenta(at, zeros)


def room_of(module: str) -> str:
    return module.removeprefix("momentree.equations.").split(".")[0]


@pytest.fixture
def givers(monkeypatch):
    """By field: the files of the equations that have given it."""
    seen, give, init = defaultdict(set), Record.give, Record.__init__

    def note(name, giver):
        field = DECLARED[name]
        if getattr(giver, "__qualname__", "").startswith("with_constraints") and "loops" not in field.given_by:
            giver = inspect.getclosurevars(giver).nonlocals["step"]  # of the formalism, which is run within
        if not callable(giver):
            frame = sys._getframe(2)
            while frame.f_globals["__name__"] in (__name__, "momentree.equations.sweeps"):
                frame = frame.f_back
            seen[field.name].add(room_of(frame.f_globals["__name__"]))
            return
        seen[field.name].add(room_of(giver.__module__))

    def giving(self, fields, giver):
        for name in fields:
            note(name, giver)
        give(self, fields, giver)

    def made(self, **fields):
        for name in fields:
            note(name, None)
        init(self, **fields)

    monkeypatch.setattr(Record, "give", giving)
    monkeypatch.setattr(Record, "__init__", made)
    return seen


@pytest.mark.long
def test_every_field_is_given_by_the_files_that_the_table_names_and_by_no_others(givers):
    for system in (double_pendulum(), four_bar().build(), sprung_four_bar(), geared_pendulum()):
        evaluate_everything(system)
    declared = {field.name: set(field.given_by) for field in DECLARED.values()}
    assert dict(givers) == declared


def test_a_field_that_is_not_declared_is_refused():
    placed = records(Evaluation(double_pendulum().mechanism, [0.1, 0.2]))

    def weigh_twice(body):
        return {"weight_twice": 2 * body.inertia.mass}

    with pytest.raises(FieldError, match=r"'.*weigh_twice' gives the field 'weight_twice'.*fields\.py"):
        placed.locally(weigh_twice)
    with pytest.raises(FieldError, match="'colour'"):
        placed[1].colour = "red"
    with pytest.raises(FieldError, match="'colour'"):
        Record(number=1, colour="red")


def test_a_field_that_is_given_already_is_refused():
    at = Evaluation(double_pendulum().mechanism, [0.1, 0.2])
    moving = hamiltonian.changing_bodies(at, [0.3, 0.4])

    def gravitate(body):
        return {"g": 9.81}

    with pytest.raises(FieldError, match=r"gravitate' gives the field 'g' \(acceleration of free fall.* second time"):
        moving.locally(gravitate)
    with pytest.raises(FieldError, match="'M_star'"):
        moving.locally(hamiltonian.begin)
    moving[1].applied = moving[1].applied  # declared REVISED


def test_children_add_to_sums_only():
    placed = records(Evaluation(double_pendulum().mechanism, [0.1, 0.2]))

    def count_bodies(body):
        return {}, {"number": 1}

    with pytest.raises(FieldError, match="'number', which is not declared SUMMED"):
        placed.inward(count_bodies)


@pytest.mark.parametrize(
    ("fields", "message"), [({"colour": 1.0}, "'paint' gives the field 'colour'"), ({"X": 1.0}, "'X' .* second time")]
)
def test_rolled_sweeps_refuse_the_same(fields, message):
    tape, mechanism = Tape(), double_pendulum().mechanism
    q = tape.inputs("q0", "q1")

    def paint(body):
        return fields

    paint.__qualname__ = "paint"

    def formula(run):
        placed = records(Evaluation(mechanism, q, run=run))
        placed.locally(paint)
        return [placed[2].X_0.offset.x]

    with pytest.raises(FieldError, match=message):
        Rolled.of(tape, (("q", ("q0", "q1")),), formula)


def test_a_copy_for_another_step_changes_nothing():
    record = Record(number=1, q=(0.1,))
    assert record.having(q=(0.2,)).q == (0.2,)
    assert record.q == (0.1,)
    assert isinstance(record.having(), Record)


def test_numbered_fields_are_declared_by_their_stem():
    assert DECLARED["eta3"] is DECLARED["eta"]
    assert "colour3" not in DECLARED
    with pytest.raises(KeyError):
        DECLARED["colour3"]


def test_names_are_declared_once_and_revisions_say_when():
    fields = {id(field): field for field in DECLARED.values()}.values()
    assert len({field.name for field in fields}) == len(fields)
    assert {field.kind for field in (*BODY, *FORCES)} == {ONCE, REVISED}
    for field in fields:
        assert field.meaning
        assert field.given_by
        assert (field.kind is REVISED) == ("revised" in field.meaning or "likewise" in field.meaning)
        assert field.kind in (ONCE, SUMMED, REVISED)
