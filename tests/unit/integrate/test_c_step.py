"""Whole steps in C: they compile without a warning, move as `simulate` does, and keep loops closed."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from c_motion import ARRIVED, NOT_FINITE, OPEN, Motion, closure_error, needs_compiler, spatial_loop
from mechanisms import bennett, four_bar
from momentree.assembly.state import State
from momentree.compile.execute.arrays import quaternions


@needs_compiler
@pytest.mark.parametrize(
    ("build", "start"),
    [
        pytest.param(
            four_bar, lambda system: system.assemble({"A": 1.0}, {"A": 2.0}, guess={"D": 0.5}), marks=pytest.mark.long
        ),
        pytest.param(bennett, lambda system: system.assemble({"R1": 1.0}, {"R1": 0.7}), marks=pytest.mark.long),
        (spatial_loop, lambda system: system.assemble({"A": 0.4}, {"A": 1.0}, guess={"D": -1.2})),
    ],
)
def test_loops_move_as_in_simulate_and_stay_closed(tmp_path, build, start):
    system = build().build()
    begin = start(system)
    q, v = Motion(system, tmp_path, begin).states(5.0, 0.05)
    run = system.simulate(begin, t_end=5.0, every=0.05)
    np.testing.assert_allclose(q, run.q[1:], rtol=0, atol=1e-8)
    np.testing.assert_allclose(v, run.v[1:], rtol=0, atol=1e-7)
    assert closure_error(system, q, v) < 1e-12


@pytest.mark.long
@needs_compiler
def test_free_parameters_and_laws_of_time(tmp_path):
    m = mt.Model("driven chain")
    for name, value in (("length", 1.0), ("k", 3.0)):
        m.parameter(name, value)
    upper = m.body("upper", mt.rod(mass=1.0, length="length"))
    m.joint("A", mt.Revolute("y", spring="k"), m.ground, upper)
    m.joint("B", mt.Revolute("y"), upper.at(("length", 0, 0)), m.body("lower", mt.rod(mass=2.0, length=0.7)))
    m.torque("B", "sin(3*t)")
    system, values = m.build(free=["k", "length"]), {"k": 7.0, "length": 1.3}
    q, v = Motion(system, tmp_path, parameters=[*values.values()]).states(5.0, 0.1)
    run = system.simulate(t_end=5.0, every=0.1, parameters=values)
    np.testing.assert_allclose(q, run.q[1:], rtol=0, atol=1e-8)
    np.testing.assert_allclose(v, run.v[1:], rtol=0, atol=1e-7)
    assert Motion(system, tmp_path).parameters.tolist() == [3.0, 1.0]


@needs_compiler
@pytest.mark.long
@pytest.mark.filterwarnings("ignore::momentree.RunWarning")  # steps of euler are too large for a good balance of energy
@pytest.mark.parametrize("integrator", ["rk4", "euler"])
def test_fixed_steps_are_those_of_simulate(tmp_path, integrator):
    """In the same variables: q and v."""
    system = spatial_loop().build()
    start = system.assemble({"A": 0.4}, {"A": 1.0}, guess={"D": -1.2})
    q, v = Motion(system, tmp_path, start, integrator).states(1.0, 0.01)
    run = system.simulate(start, t_end=1.0, step=0.01, integrator=integrator, formulation="lagrange")
    np.testing.assert_allclose(np.hstack([q, v]), np.hstack([run.q, run.v])[1:], rtol=0, atol=1e-12)


@needs_compiler
@pytest.mark.long
@pytest.mark.parametrize(("integrator", "rtol"), [("dopri5", 1e-6), ("dop853", 1e-11)])
def test_the_tolerance_bounds_the_error(tmp_path, integrator, rtol):
    system = four_bar().build()
    start = system.assemble({"A": 1.0}, {"A": 2.0}, guess={"D": 0.5})
    motion = Motion(system, tmp_path, start, integrator)
    motion.work[1] = rtol
    q, _ = motion.states(2.0, 2.0)
    exact = system.simulate(start, t_end=2.0, rtol=1e-13).q[-1]
    assert np.abs(q[-1] - exact).max() < 1e3 * rtol
    assert rtol < 1e-8 or np.abs(q[-1] - exact).max() > rtol / 1e4  # it is not the same for all


@needs_compiler
def test_close_moves_a_guess_to_where_loops_close(tmp_path):
    system = spatial_loop().build()
    motion = Motion(system, tmp_path, system.assemble({"A": 0.4}, {"A": 1.0}, guess={"D": -1.2}))
    motion.state += np.linspace(-0.05, 0.05, len(motion.state))
    assert motion.call("close") == ARRIVED
    q, v = np.split(motion.state, [system.nq])
    state = State(system._numeric, q, v)
    assert state.closure_error < 1e-12
    assert state.closure_velocity < 1e-12
    assert np.linalg.norm(q[quaternions(system.mechanism)[0].start :][:4]) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.long
@needs_compiler
def test_what_cannot_go_on_says_why_and_keeps_the_last_good_state(tmp_path):
    system = four_bar().build()
    motion = Motion(system, tmp_path, system.assemble({"A": 1.0}, guess={"D": 0.5}))
    before = motion.state.copy()
    motion.state[0] = np.nan
    assert motion.step(0.1) == NOT_FINITE
    assert motion.call("close") == OPEN
    motion.state[:], motion.work[:] = before, 0.0
    assert motion.step(0.1) == ARRIVED


@pytest.mark.long
@needs_compiler
def test_a_loop_that_is_driven_out_of_reach_ends_open(tmp_path):
    """A crank turns at a given speed, but the others cannot follow it beyond A = pi."""
    m = mt.Model("short of reach")
    crank, rod, rocker = (m.body(name, mt.rod(mass=1.0, length=1.0)) for name in ("crank", "rod", "rocker"))
    m.joint("A", mt.Revolute("y", motion="-t"), m.ground, crank)
    m.joint("B", mt.Revolute("y"), crank.at((1, 0, 0)), rod)
    m.joint("D", mt.Revolute("y"), m.ground.at((2.0, 0, 0)), rocker)
    m.joint("C", mt.Revolute("y"), rod.at((1, 0, 0)), rocker.at((1.0, 0, 0)))
    system = m.build()
    motion = Motion(system, tmp_path, system.assemble(guess={"B": 1.0, "D": 2.0}))
    statuses = [motion.step(0.1) for _ in range(15)]
    assert statuses[0] == ARRIVED
    assert statuses[-1] != ARRIVED
    assert np.isfinite(motion.state).all()


def test_methods_without_steps_in_c_are_refused_by_name(tmp_path):
    with pytest.raises(mt.MomentreeError, match=r"integrator 'radau' is not available in C\. Choose .*dop853"):
        four_bar().build().export_c(tmp_path / "it.c", "step", integrator="radau")
    with pytest.raises(mt.MomentreeError, match="integrator 'rk5' is not known"):
        four_bar().build().export_c(tmp_path / "it.c", "step", integrator="rk5")
    assert list(tmp_path.iterdir()) == []
