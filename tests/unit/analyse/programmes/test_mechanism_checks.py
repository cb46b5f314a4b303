"""Constraints of a programme that a mechanism has no freedom for, and starts that it cannot have, are named."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar


def refused(words: str, constraints=(), model=None, **said):
    with pytest.raises(mt.MomentreeError, match=words):
        mt.programme(model or four_bar(), constraints, **said)


def test_a_second_velocity_of_a_linkage_with_one_freedom():
    words = "'B' = 1' follows from 'C: row 1 in its plane'; 'C: row 2.*A' = 1.*contradicts them"
    refused(words, velocity={"A": 1, "B": 1})


def test_a_constraint_that_follows_from_another():
    refused("'2\\*A = 0.2\\*t' follows from 'A = 0.1\\*t'.*Leave it out", ["A = 0.1*t", "2*A = 0.2*t"])
    refused("'A = 0.3' follows from 'A = 0.1'.*contradicts them", ["A = 0.1", "A = 0.3"], position_gain=1)


def test_a_constraint_that_follows_from_the_model():
    m = four_bar()
    m.constrain("A' = t", name="drive")
    refused("'A' = 1' follows from 'drive'.*contradicts them by 1", velocity={"A": 1}, model=m)


def test_a_constraint_of_what_cannot_move():
    m = four_bar()
    m.frame("tip", m.bodies[0].at((1, 0, 0)))
    refused("'tip.y = 0' restrains no velocity", ["tip.y = 0"], model=m)


def test_dissipation_must_be_symmetric_and_not_drive():
    m = mt.Model("two")
    for name in "ab":
        m.joint(name, mt.Revolute("y"), m.ground, m.body(f"rod {name}", mt.rod(mass=1, length=1)))
    refused(r"not symmetric: entry \(a, b\) is 1, entry \(b, a\) is 2", model=m, dissipation=[[1, 1], [2, 5]])
    refused("dissipation is not positive semidefinite: its least eigenvalue is -1", model=m, dissipation=[1, -1])
    p = mt.programme(m, wanted={"a": 1}, dissipation=[1, -1], dissipative=False)
    np.testing.assert_allclose(p.dissipation([0, 0]), np.diag([1, -1]))


@pytest.fixture(scope="module")
def turning():
    return mt.programme(four_bar(), velocity={"A": 1.5}, gain=5, position_gain=1)


def test_velocities_that_open_a_loop_are_no_start(turning):
    start = turning.system.assemble({"A": 1.0})
    with pytest.raises(mt.MomentreeError, match=r"the velocities open 'C: row \d in its plane' by .*system.assemble"):
        turning.simulate(start.q, [1, 0, 0], t_end=1)
    m = mt.Model("other")
    m.joint("x", mt.Prismatic("x"), m.ground, m.body("b", mt.rod(mass=1, length=1)))
    other = m.build().assemble()
    with pytest.raises(mt.MomentreeError, match="the state has other coordinates than the programme: A, B, D"):
        turning.simulate(other, t_end=1)


def test_a_singular_start_is_refused():
    m = mt.Model("pendulum")
    bob = m.body("bob", mass=1, com=(0, 0, -1))
    m.joint("A", mt.Revolute("y"), m.ground, bob)
    m.frame("tip", bob.at((0, 0, -1)))
    p = mt.programme(m, ["tip.z = -0.8"], position_gain=1, gain=5)
    with pytest.raises(mt.MomentreeError, match=r"no velocities satisfy 'tip.z = -0.8' at A = 0, t = 0: .*singular"):
        p.simulate([0.0], t_end=1)
    assert p.simulate([0.3], t_end=20).q[-1] == pytest.approx(np.arccos(0.8), abs=1e-6)


def test_a_state_starts_with_its_own_velocities_and_time(turning):
    start = turning.system.assemble({"A": 1.0}, velocities={"A": 0.2}, t=3.0)
    run = turning.simulate(start, t_end=4.0, every=0.5)
    assert run.t[0] == 3
    assert run["A'"][0] == pytest.approx(0.2)
    assert run["A'"][-1] == pytest.approx(1.5, abs=0.03)
    assert str(run).startswith("programme: 3 samples")


def test_other_gains(turning):
    start = turning.system.assemble({"A": 1.0}, velocities={"A": 0.2})
    rates = [p.simulate(start, t_end=0.2).decay_rate() for p in (turning, turning.with_gain(50))]
    assert rates[1] > 5 * rates[0]


def test_symbols_are_for_expressions(turning):
    with pytest.raises(mt.MomentreeError, match="given by a mechanism, not by expressions"):
        _ = turning.expressions


def test_more_constraints_than_freedoms_are_named_as_such_at_a_singular_configuration():
    m = mt.Model("arm")
    bodies = [m.body(name, mt.rod(mass=1.0, length=1.0)) for name in ("upper", "lower")]
    m.joint("A", mt.Revolute("y"), m.ground, bodies[0])
    m.joint("B", mt.Revolute("y"), bodies[0].at((1, 0, 0)), bodies[1])
    m.frame("tip", bodies[1].at((1, 0, 0)))  # the arm is stretched where it is assembled
    with pytest.raises(
        mt.MomentreeError, match=r"'A = 0.1' follows from .*'tip.x = 1.2'.*has no freedom|contradicts them"
    ):
        mt.programme(m, ["tip.x = 1.2", "tip.z = 0.3", "A = 0.1"], gain=3)
