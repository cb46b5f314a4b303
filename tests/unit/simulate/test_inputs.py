"""Inputs drive motions as closed forms say, as the same law in the model does, and as a digital controller would."""

from __future__ import annotations

import json
import os
import signal

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.errors import MomentreeError
from momentree.integrate.methods import METHODS
from momentree.results.run import RunError
from momentree.simulate.simulation import new_simulation

OMEGA = 2.0  # 1/s, of the oscillator: its mass is 1 kg
KNOTS, FORCES = np.array([0.0, 0.5, 0.75, 2.0, 3.0]), np.array([1.0, -2.0, 4.0, 4.0, 0.5])


def oscillator(stiffness: float = OMEGA**2) -> mt.Model:
    """x'' + omega^2 x = u."""
    m = mt.Model("oscillator", gravity=(0, 0, 0))
    m.input("u", unit="N")
    m.parameter("k", stiffness)
    m.joint("x", mt.Prismatic("x"), m.ground, m.body("mass", mass=1.0, inertia=(1, 1, 1)))
    m.torque("x", "u - k*x")
    m.output("power", "u*x'", unit="W")
    return m


def ramps(t: np.ndarray) -> np.ndarray:
    """x from rest under the broken line through KNOTS, FORCES: a step, and a ramp from each change of slope."""
    slopes = np.diff(FORCES) / np.diff(KNOTS)
    x = FORCES[0] * (1 - np.cos(OMEGA * t)) / OMEGA**2
    for knot, change in zip(KNOTS, np.diff(slopes, prepend=0.0), strict=False):
        s = np.maximum(t - knot, 0.0)
        x = x + change * (s - np.sin(OMEGA * s) / OMEGA) / OMEGA**2
    return x


def steps(t: np.ndarray) -> np.ndarray:
    """x from rest where each force is held until the next knot."""
    jumps = np.diff(FORCES, prepend=0.0)
    s = np.maximum(t - KNOTS[:, None], 0.0)
    return (jumps[:, None] * (1 - np.cos(OMEGA * s))).sum(axis=0) / OMEGA**2


def settings_for(integrator: str) -> dict[str, object]:
    """Such that errors are far below those of a kink within a step."""
    if METHODS[integrator].adaptive:
        return {"integrator": integrator, "rtol": 1e-10}
    return {"integrator": integrator, "step": 1e-3}


def simulated(m: mt.Model, u: object, t_end: float = 3.0, **settings: object) -> mt.Run:
    system = m.build()
    return system.simulate(system.start(), t_end, inputs={"u": u}, **settings)


# --- closed forms ---


@pytest.mark.filterwarnings("ignore::momentree.errors.RunWarning")  # of Euler's method
@pytest.mark.repeats(4)
@pytest.mark.parametrize("integrator", list(METHODS))
def test_a_broken_line_is_followed_exactly_by_every_integrator(integrator):
    run = simulated(oscillator(), (KNOTS, FORCES), every=0.05, **settings_for(integrator))
    order = METHODS[integrator].order
    limit = 1e-8 if METHODS[integrator].adaptive else max(1e-10, 10 * 1e-3**order)
    np.testing.assert_allclose(run["x"], ramps(run.t), atol=limit)
    np.testing.assert_allclose(run["u"], np.interp(run.t, KNOTS, FORCES), atol=1e-14)
    assert not run.warnings or order == 1
    assert len(run.t) == 61


@pytest.mark.repeats(2)
@pytest.mark.parametrize("integrator", ["dop853", "rk4", "verlet", "radau"])
def test_held_forces_jump_at_the_knots_and_nowhere_else(integrator):
    run = simulated(oscillator(), mt.signal(KNOTS, FORCES, "hold"), every=0.125, **settings_for(integrator))
    np.testing.assert_allclose(run["x"], steps(run.t), atol=1e-8 if METHODS[integrator].adaptive else 2e-5)
    held = FORCES[np.searchsorted(KNOTS, run.t, side="right") - 1]
    assert np.array_equal(run["u"], held)  # from each knot on, the new value
    np.testing.assert_allclose(run["power"], held * run.velocity("x"), atol=1e-15)


def test_a_cubic_through_points_of_a_cubic_is_this_cubic():
    t = np.array([0.0, 0.4, 1.0, 1.7, 3.0])
    run = simulated(oscillator(), mt.signal(t, t**3, "cubic"), rtol=1e-12, every=0.1)
    exact = run.t**3 / 4 - 3 * run.t / 8 + 3 * np.sin(2 * run.t) / 16
    np.testing.assert_allclose(run["x"], exact, atol=1e-11)
    np.testing.assert_allclose(run["u"], run.t**3, atol=1e-12)


def test_steps_at_kinks_cost_no_accuracy():
    """Without a stop at the knots an integrator of order 8 would lose most of its digits there."""
    run = simulated(oscillator(), (KNOTS, FORCES), rtol=1e-13, every=0.01)
    np.testing.assert_allclose(run["x"], ramps(run.t), atol=2e-12)
    assert {*KNOTS[1:-1]} <= {*simulated(oscillator(), (KNOTS, FORCES)).t}  # each knot ends a step


def test_end_values_continue_where_that_is_asked_for():
    run = simulated(oscillator(), mt.signal([0.5, 1.0], [2.0, 3.0], outside="hold"), every=0.25)
    assert run["u"].tolist() == [2, 2, 2, 2.5, *[3.0] * 9]


def test_a_digital_controller_is_an_exact_recursion():
    """x'' = u held for h: x += h v + h^2 u / 2, v += h u."""
    h, x, v, calls = 0.05, 1.0, 0.0, []

    def control(t, state):
        calls.append(t)
        return -3.0 * state["x"] - 2.5 * state.velocity("x")

    m = oscillator(stiffness=0.0)
    m.start_at({"x": x})
    run = simulated(m, mt.sampled(control, every=h), 4.0, every=h)
    assert np.array_equal(calls, h * np.arange(80))  # not at the end, from where nothing goes on
    for k in range(80):
        u = -3.0 * x - 2.5 * v
        np.testing.assert_allclose([run["x"][k], run.velocity("x")[k], run["u"][k]], [x, v, u], atol=1e-11)
        x, v = x + h * v + h * h * u / 2, v + h * u
    assert run["u"][-1] == run["u"][-2]
    assert not run.warnings


def test_one_function_drives_several_inputs_and_is_called_once_at_each_time():
    def control(t, state):
        calls.append(t)
        return np.array([-2.0 * state["x"], 0.5 * t])

    system, calls = three_inputs().build(), []
    apart = {"u": mt.sampled(lambda t, state: -2.0 * state["x"], 0.1), "w": mt.sampled(lambda t: 0.5 * t, 0.1)}
    for _ in range(2):  # the second run calls it again, at its start too
        calls.clear()
        run = system.simulate(t_end=2.0, inputs={("u", "w"): mt.sampled(control, every=0.1), "f": 1.0}, every=0.1)
        assert len(calls) == 20
    expected = system.simulate(t_end=2.0, inputs={**apart, "f": 1.0}, every=0.1)
    assert np.array_equal(run.q, expected.q)
    assert np.array_equal(run["w"], expected["w"])
    for given, message in (
        ({("u", "w"): mt.sampled(lambda t: [t], 0.1)}, r"input 'u': .* at t = 0 s: ValueError: it gave 1 values for 2"),
        ({("u", "w"): mt.sampled(lambda t: t, 0.1)}, r"input 'u': .* at t = 0 s: TypeError"),
        ({("u", "w"): 3.0}, r"inputs 'u', 'w': several inputs are given together by a function only"),
        ({("u", "w"): mt.sampled(control, 0.1), "u": 1.0}, r"input 'u': is given twice"),
        ({("u", "v"): mt.sampled(control, 0.1)}, r"there is no input 'v'"),
    ):
        with pytest.raises(MomentreeError, match=message):
            system.simulate(t_end=2.0, inputs=given)


# --- the same law, said otherwise ---


def driven(law: str) -> mt.Model:
    m = four_bar()
    m.torque("A", f"{law} - 0.3*A'")
    m.start_at({"A": 1.0}, guess={"D": 1.0, "B": -0.5})
    return m


def with_input() -> mt.Model:
    m = four_bar()
    m.input("motor", unit="N m", description="torque of the motor")
    m.torque("A", "motor - 0.3*A'")
    m.start_at({"A": 1.0}, guess={"D": 1.0, "B": -0.5})
    m.output("angle of C", "C + motor*0")
    return m


@pytest.mark.repeats(1)
@pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange", "absolute"])
def test_loops_follow_a_law_as_if_it_stood_in_the_model(formulation):
    law = "4 + 2*t - 1*B'"
    settings = {"formulation": formulation, "rtol": 1e-10, "every": 0.1}
    a, b = driven(law).build(), with_input().build()
    other = a.simulate(a.start(), 1.5, **settings)
    run = b.simulate(b.start(), 1.5, inputs={"motor": law}, **settings)
    assert np.array_equal(run.q, other.q)
    np.testing.assert_allclose(run["motor"], 4 + 2 * run.t - run.velocity("B"), atol=1e-12)
    np.testing.assert_allclose(run.reactions("C"), other.reactions("C"), atol=1e-9)
    np.testing.assert_allclose(run["angle of C"], run["C"])
    assert not run.warnings


@pytest.mark.parametrize("given", [(KNOTS, FORCES), "3 - t^2", mt.sampled(lambda t, state: 1 - state["x"], 0.1), 2.5])
def test_a_drive_transmits_the_value_of_each_sample(given):
    run = simulated(oscillator(), given, every=0.05)
    along = run["u"] - 4 * run["x"]
    np.testing.assert_allclose(run.reactions("x")[:, 0], along, atol=1e-12)
    work = run.energy.work["torque on x"]
    np.testing.assert_allclose(work, run.velocity("x") ** 2 / 2, atol=1e-9)  # all of it becomes kinetic energy


@pytest.mark.long
@pytest.mark.parametrize("stabilization", ["project", "baumgarte"])
def test_reactions_of_loops_take_the_value_of_each_sample(stabilization):
    a, b = driven("4 + 2*t").build(), with_input().build()
    settings = {"rtol": 1e-10, "every": 0.1, "stabilization": stabilization}
    other = a.simulate(a.start(), 1.5, **settings)
    run = b.simulate(b.start(), 1.5, inputs={"motor": ([0, 0.7, 2], [4, 5.4, 8])}, **settings)
    np.testing.assert_allclose(run.q, other.q, atol=1e-8)
    for joint in "ABCD":
        np.testing.assert_allclose(run.reactions(joint), other.reactions(joint), atol=1e-6)
    work, torque = run.energy.work["torque on A"], run["motor"] - 0.3 * run.velocity("A")
    power = torque * run.velocity("A")
    np.testing.assert_allclose(work, np.append(0, np.cumsum((power[1:] + power[:-1]) / 2 * 0.1)), atol=0.2)
    assert not run.warnings


def test_a_constant_input_is_a_parameter():
    system = oscillator().build(free=["k"])
    assert system.inputs == ("u",)
    assert system.outputs == ("power",)
    assert system.parameters == {"k": 4.0, "u": 0.0}
    run = system.simulate(system.start(), 2.0, inputs={"u": 3.0}, every=0.1)
    same = system.simulate(system.start(), 2.0, parameters={"u": 3.0}, every=0.1)
    assert np.array_equal(run.q, same.q)
    assert run.parameters["u"] == 3.0
    np.testing.assert_allclose(run["x"], 0.75 * (1 - np.cos(2 * run.t)), atol=1e-9)
    np.testing.assert_allclose(system.forward_dynamics([0.5], [0.0], parameters={"u": 5.0}), [3.0])
    text = system.simulate(system.start(), 2.0, inputs={"u": "1 + 2"}, every=0.1)
    assert np.array_equal(run.q, text.q)


def test_a_run_may_begin_where_another_ended_with_another_input():
    system = oscillator().build()
    first = system.simulate(system.start(), 1.0, inputs={"u": 3.0})
    second = system.simulate(first.state(), 2.0, inputs={"u": "3"}, rtol=1e-11)
    np.testing.assert_allclose(second["x"], 0.75 * (1 - np.cos(2 * second.t)), atol=1e-8)


# --- continuing ---


def inputs_of_every_kind() -> dict[str, object]:
    return {
        "u": (KNOTS, FORCES),
        "w": "sin(t) - x' - 30*x^3",
        "f": mt.sampled(lambda t, state: -state["x"], every=0.04),
    }


def three_inputs() -> mt.Model:
    m = oscillator()
    m.input("w")
    m.input("f")
    m.torque("x", "w + f")
    return m


@pytest.mark.repeats(1, of="without")
@pytest.mark.parametrize("without", ["f", "w"])  # without the function, the simulation also stops within segments
@pytest.mark.parametrize("integrator", ["radau", "dop853", "rk4"])
def test_a_simulation_continues_from_any_checkpoint_bit_for_bit(integrator, without):
    system, settings = three_inputs().build(), {**settings_for(integrator), "step": 0.001, "t_end": 3.0}

    def simulation():
        inputs = inputs_of_every_kind()
        del inputs[without]
        return new_simulation(system, system.start(), None, inputs, **settings)

    whole, blocks = simulation(), []
    checkpoints = [whole.checkpoint()]
    while (block := whole.advance()) is not None:
        blocks.append(block)
        checkpoints.append(whole.checkpoint())
    assert len(blocks) > 4
    for k in (0, 1, 3, len(blocks) - 1):
        again = simulation()
        if k:
            again.restore(checkpoints[k])
        for block in blocks[k:]:
            other = again.advance()
            assert np.array_equal(other.t, block.t)
            assert np.array_equal(other.q, block.q)
        assert again.advance() is None


def test_a_failed_function_loses_nothing_and_the_run_goes_on_with_a_better_one(tmp_path):
    system = oscillator().build()

    def good(t, state):
        return 1 - state["x"]

    def bad(t, state):
        if t > 0.93:
            raise ZeroDivisionError("no signal")
        return good(t, state)

    settings = {"t_end": 2.0, "every": 0.01}
    whole = system.simulate(inputs={"u": mt.sampled(good, every=0.05)}, **settings)
    with pytest.raises(
        RunError, match=r"input 'u': its function 'bad' failed at t = 0.95 s: ZeroDivisionError"
    ) as error:
        system.simulate(inputs={"u": mt.sampled(bad, every=0.05)}, path=tmp_path / "run.nc", **settings)
    assert error.value.run.t[-1] == pytest.approx(0.95)
    assert np.array_equal(error.value.run["u"][:95], whole["u"][:95])
    assert np.array_equal(mt.load_run(tmp_path / "run.nc")["u"][:95], whole["u"][:95])
    with pytest.raises(MomentreeError, match=r"was the Python function 'bad'.*Give it again: inputs="):
        mt.resume_run(tmp_path / "run.nc")
    with pytest.raises(MomentreeError, match=r"every 0.05 s, not 0.1 s"):
        mt.resume_run(tmp_path / "run.nc", inputs={"u": mt.sampled(good, every=0.1)})
    run = mt.resume_run(tmp_path / "run.nc", inputs={"u": mt.sampled(good, every=0.05)})
    assert np.array_equal(run.q, whole.q)
    assert np.array_equal(run["u"], whole["u"])
    loaded = mt.load_run(tmp_path / "run.nc")
    assert np.array_equal(loaded["u"], whole["u"])
    assert np.array_equal(loaded["power"], whole["power"])


def test_an_interrupted_run_goes_on_with_its_saved_inputs(tmp_path):
    system, t, calls = oscillator().build(), np.linspace(0, 15, 301), []
    data = t, np.sin(t**2 / 10)

    def interrupt(t, closure_error):
        calls.append(t)
        if len(calls) == 1:
            os.kill(os.getpid(), signal.SIGINT)

    settings = {"t_end": 12.0, "every": 0.01}
    whole = system.simulate(inputs={"u": data}, **settings)
    with pytest.warns(mt.RunWarning, match="interrupted"):
        part = system.simulate(inputs={"u": data}, path=tmp_path / "run.nc", progress=interrupt, **settings)
    assert 0 < len(part.t) < len(whole.t)
    with pytest.raises(MomentreeError, match=r"input 'u': the run was begun with other values"):
        mt.resume_run(tmp_path / "run.nc", inputs={"u": (t, data[1] + 1)})
    with pytest.raises(MomentreeError, match=r"input 'w': the run was begun without it"):
        mt.resume_run(tmp_path / "run.nc", inputs={"w": 1.0})
    run = mt.resume_run(tmp_path / "run.nc", inputs={"u": data})
    assert np.array_equal(run.q, whole.q)
    assert np.array_equal(run["u"], whole["u"])


def test_the_error_is_estimated_with_the_same_inputs():
    system = oscillator().build()
    run = system.simulate(t_end=3.0, inputs={"u": (KNOTS, FORCES)}, rtol=1e-7, every=0.05, verify=True)
    true = np.abs(run["x"] - ramps(run.t)).max()
    assert run.error.length == pytest.approx(true, rel=0.1)


# --- with events ---


def test_an_event_may_name_an_input_that_does_not_jump():
    system = oscillator().build()
    for given in ((KNOTS, FORCES), "1 - 6*t"):
        run = system.simulate(t_end=0.5, inputs={"u": given}, events={"none": "u"})
        assert run.end.events[0] == ("none", pytest.approx(1 / 6))
    for given in (mt.signal(KNOTS, FORCES, "hold"), mt.sampled(lambda t: t, 0.1)):
        with pytest.raises(MomentreeError, match=r"event 'none': names input 'u', which jumps"):
            system.simulate(t_end=0.5, inputs={"u": given}, events={"none": "u"})


def test_a_joint_locks_within_a_segment_and_the_input_goes_on():
    m = oscillator(stiffness=0.0)
    m.latch("x", 0.5)
    system = m.build()
    run = system.simulate(t_end=3.0, inputs={"u": mt.signal([0, 0.5, 2.5, 4], [1, 1, 2, 0])}, every=0.125)
    assert run["x"][-1] == 0.5
    assert run.velocity("x")[-1] == 0
    np.testing.assert_allclose(run["u"], np.interp(run.t, [0, 0.5, 2.5, 4], [1, 1, 2, 0]))
    assert not run.warnings


def test_other_joints_go_on_after_one_has_locked():
    m = oscillator()
    m.joint("y", mt.Prismatic("y"), m.ground, m.body("other", mass=1.0, inertia=(1, 1, 1)))
    m.torque("y", 2.0)
    m.latch("y", 1.1**2)
    run = m.build().simulate(t_end=3.0, inputs={"u": (KNOTS, FORCES)}, every=0.1, rtol=1e-10)
    assert run.end.events == (("latch of y", pytest.approx(1.1)),)  # within a segment
    np.testing.assert_allclose(run["x"], ramps(run.t), atol=1e-8)


def released(law: str) -> mt.Model:
    """A load that an arm lets go at 0.52 s."""
    m = mt.Model("release")
    m.input("u")
    arm, load = m.body("arm", mt.rod(mass=1.0, length=1.0)), m.body("load", mt.box(mass=1.0, size=(0.1, 0.1, 0.1)))
    m.joint("A", mt.Revolute("y"), m.ground, arm)
    m.joint("hold", mt.Fixed(), arm.at((1, 0, 0)), load)
    m.torque("A", law)
    m.release("hold", at=0.52)
    return m


@pytest.mark.long
@pytest.mark.parametrize("knot", [0.4, 0.52])
def test_after_an_event_the_input_is_what_it_was(knot):
    other, settings = released("30 + 20*t").build(), {"t_end": 1.0, "every": 0.1, "rtol": 1e-10}
    expected, system = other.simulate(**settings), released("u").build()
    run = system.simulate(inputs={"u": ([0, knot, 2], [30, 30 + 20 * knot, 70])}, **settings)
    np.testing.assert_allclose(run.q, expected.q, atol=1e-8)
    np.testing.assert_allclose(run.reactions("A"), expected.reactions("A"), atol=1e-6)
    assert run.end.events == (("release of hold", 0.52),)


# --- many motions, fixed steps ---


def test_many_motions_take_one_constant_each():
    system, u = oscillator().build(), np.array([0.0, 1.0, -2.5])
    motions = system.simulate_many(np.zeros((3, 1)), np.zeros((3, 1)), 1.0, inputs={"u": u}, every=0.1)
    exact = u[:, None] / 4 * (1 - np.cos(2 * motions.t))
    np.testing.assert_allclose(motions.q[..., 0], exact, atol=1e-9)
    for given in ((KNOTS, FORCES), "sin(t)", mt.sampled(lambda t: t, 0.1)):
        with pytest.raises(MomentreeError, match=r"input 'u': many motions .* constant inputs only"):
            system.simulate_many(np.zeros((3, 1)), np.zeros((3, 1)), 1.0, inputs={"u": given}, every=0.1)


def test_fixed_steps_end_at_knots_or_are_refused():
    with pytest.raises(MomentreeError, match=r"input 'u': changes at t = 0.5 s, within a step of rk4 \(0.3 s\)"):
        simulated(oscillator(), (KNOTS, FORCES), integrator="rk4", step=0.3)
    with pytest.raises(MomentreeError, match=r"input 'u': changes at t = 0.015 s, within a step of rk4"):
        simulated(oscillator(), mt.sampled(lambda t: t, 0.015), integrator="rk4", step=0.01)
    run = simulated(oscillator(), (KNOTS, FORCES), integrator="rk4", step=0.025, every=0.2)  # knots between samples
    np.testing.assert_allclose(run.t, 0.2 * np.arange(16), atol=1e-12)
    np.testing.assert_allclose(run["x"], ramps(run.t), atol=1e-6)


# --- mistakes ---


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"v": 1.0}, r"there is no input 'v'\. Choose 'u'\."),
        ({"k": 1.0}, r"there is no input 'k'\. It is a parameter: give parameters=\."),
        ({"u": float("nan")}, r"input 'u': its value is nan; a finite number is expected"),
        (
            {"u": None},
            r"input 'u': its value is None; give a number, \(t, values\), a law as text, or momentree.sampled",
        ),
        ({"u": True}, r"input 'u': its value is True"),
        ({"u": ([0, 1, 1], [0, 1, 2])}, r"input 'u': signal: t must increase, but t\[1\] = 1 and t\[2\] = 1\. Sort"),
        ({"u": ([0, 1], [0, float("nan")])}, r"input 'u': signal: values\[1\] is nan"),
        ({"u": ([0, 1], [0, 1, 2])}, r"input 'u': signal: there are 2 times and 3 values"),
        ({"u": ([0], [1])}, r"input 'u': signal: 'linear' needs at least two points"),
        ({"u": ([0, 1], ["a", "b"])}, r"input 'u': signal: values is \['a', 'b'\]"),
        ({"u": ([0, 1], [1, 2])}, r"input 'u': its values are given from t = 0 to 1 s, and the motion from 0 to 3"),
        ({"u": ([1, 5], [1, 2])}, r"input 'u': its values are given from t = 1 to 5 s.*outside='hold'"),
        ({"u": ([0, 1e-320], [0, 1e300])}, r"input 'u': signal: its slopes are too large"),
        ({"u": ((0, 1), 3)}, r"input 'u': its value is \(\(0, 1\), 3\); give a number"),
        ({"u": ([[0, 1], [2]], [1, 2])}, r"input 'u': its value is"),
        ({"u": 1j}, r"input 'u': its value is 1j"),
        ({"u": "2*y"}, r"input 'u': unknown name 'y' in its law"),
        ({"u": "2*u + t"}, r"input 'u': its law names itself"),
        ({"u": "2*"}, r"input 'u': its law: unexpected end"),
        ({"u": abs}, r"input 'u': a Python function needs sample times: give momentree\.sampled"),
        ({"u": {"t": [0, 1]}}, r"input 'u': its value is \{'t': \[0, 1\]\}"),
        ([("u", 1)], r"inputs is \[\('u', 1\)\]; give inputs="),
    ],
)
def test_mistakes_name_the_input_and_the_way_out(given, message):
    system = oscillator().build()
    with pytest.raises(MomentreeError, match=message):
        system.simulate(t_end=3.0, inputs=given)


def test_mistakes_of_functions():
    for every in (0, -1.0, float("inf"), "x", None, True):
        with pytest.raises(MomentreeError, match=r"sampled: every is .*; give a positive number of seconds"):
            mt.sampled(lambda t: t, every=every)
    with pytest.raises(MomentreeError, match=r"sampled: 3 is not a function"):
        mt.sampled(3, every=1.0)
    with pytest.raises(MomentreeError, match=r"takes 3 arguments. Write it as f\(t\) or f\(t, state\)"):
        mt.sampled(lambda t, q, v: t, every=1.0)
    with pytest.raises(MomentreeError, match=r"interpolation 'spline' is not known"):
        mt.signal([0, 1], [0, 1], "spline")
    system = oscillator().build()
    for value in (None, float("nan"), "x", [1.0, 2.0]):
        with pytest.raises(RunError, match=r"input 'u': its function '<lambda>' gave .* at t = 0 s; a finite number"):
            system.simulate(t_end=1.0, inputs={"u": mt.sampled(lambda t, value=value: value, every=0.1)})
    with pytest.raises(MomentreeError, match=r"input 'u': a Python function may remember .* Omit verify"):
        system.simulate(t_end=1.0, inputs={"u": mt.sampled(lambda t: t, every=0.1)}, verify=True)
    with pytest.raises(MomentreeError, match=r"input 'u': is given in parameters= too"):
        system.simulate(t_end=1.0, inputs={"u": 1.0}, parameters={"u": 1.0})


def test_two_inputs_do_not_follow_each_other():
    system = three_inputs().build()
    with pytest.raises(MomentreeError, match=r"input 'w': its law names input 'u', which is not constant"):
        system.simulate(t_end=1.0, inputs={"u": "t", "w": "2*u"})
    run = system.simulate(t_end=1.0, inputs={"u": 2.0, "w": "2*u"}, every=0.1)
    np.testing.assert_allclose(run["w"], 4.0)


def test_a_parameter_that_an_input_defines_follows_it_or_is_refused():
    m = oscillator()
    m.parameter("twice", "2*u")
    m.torque("x", "twice")
    run = m.build().simulate(t_end=1.0, inputs={"u": (KNOTS, FORCES)}, every=0.1, rtol=1e-10)
    np.testing.assert_allclose(run["x"], 3 * ramps(run.t), atol=1e-8)
    with pytest.raises(MomentreeError, match=r"input 'u': the free parameter 'twice' depends on it"):
        m.build(free=["twice"]).simulate(t_end=1.0, inputs={"u": "t"})


def test_a_law_and_an_output_may_use_tables():
    m = oscillator(stiffness=0.0)
    m.table("cam", [0.0, 1.0, 2.0], [0.0, 1.0, 4.0])
    m.output("lift", "cam(x)")
    run = m.build().simulate(t_end=1.0, inputs={"u": "cam(t) + cam(t)"}, every=0.1)
    np.testing.assert_allclose(run["x"], run.t**4 / 6, atol=1e-9)  # the table is cubic: t^2
    np.testing.assert_allclose(run["u"], 2 * run.t**2, atol=1e-12)
    np.testing.assert_allclose(run["lift"], run["x"] ** 2, atol=1e-12)
    run = m.build().simulate(t_end=1.0, inputs={"u": 2.0}, every=0.1, events={"lifted": "cam(x) - 0.25"})
    np.testing.assert_allclose(run["lift"], run.t**4, atol=1e-9)
    assert run.end.events == (("lifted", pytest.approx(0.5**0.5)),)


def changing(m: mt.Model) -> mt.Model:
    m.input("s", 0.2)
    return m


def pendulum(**joint: object) -> mt.Model:
    m = mt.Model("pendulum")
    m.joint("A", mt.Revolute("y", **joint), m.ground, m.body("bob", mt.rod(mass=1.0, length=1.0)))
    return changing(m)


def test_what_cannot_change_in_a_motion_takes_constant_inputs_only():
    moved, sprung = pendulum(motion="s*t"), pendulum(spring="s")
    tilted, bound = pendulum(), changing(four_bar())
    tilted.gravity = (0, 0, "-9.81*s")
    bound.constrain("A - s*t", name="drive")
    bound.start_at(guess={"A": 0.0, "D": 1.0, "B": -0.5})
    places = {"the motion of joint 'A'": moved, "joint 'A'": sprung, "gravity": tilted, "constraint 'drive'": bound}
    for place, m in places.items():
        system = m.build()
        with pytest.raises(MomentreeError, match=f"input 's': .*{place} depends on it, and so it has to be constant"):
            system.simulate(t_end=0.5, inputs={"s": "t"})
    assert moved.build().simulate(t_end=0.1, inputs={"s": 0.3})["A"][-1] == pytest.approx(0.03)


def test_a_start_takes_constant_inputs_only():
    m = oscillator()
    m.start_at({"x": "2*u"})
    assert m.build().simulate(t_end=0.1, inputs={"u": 0.5})["x"][0] == 1.0
    with pytest.raises(MomentreeError, match=r"input 'u': the start of the model depends on it"):
        m.build().simulate(t_end=0.1, inputs={"u": "t"})


def test_code_is_made_once_for_all_values_of_a_kind():
    system = oscillator().build()
    made = []
    for values in ([0, 1], [3, 2]):
        system.simulate(t_end=1.0, inputs={"u": ([0, 1], values)})
        made.append(len(next(code for key, code in vars(system)["_code_of_phases"].items() if "inputs" in key)))
    assert made[0] == made[1]
    assert sum("inputs" in key for key in vars(system)["_code_of_phases"]) == 1


def test_inputs_survive_in_settings_as_plain_data():
    system = three_inputs().build()
    run = system.simulate(t_end=1.0, inputs=inputs_of_every_kind() | {"u": mt.signal(KNOTS, FORCES, "cubic")})
    saved = json.loads(json.dumps(run.settings))["inputs"]
    assert saved["u"]["t"] == KNOTS.tolist()
    assert saved["u"]["interpolation"] == "cubic"
    assert saved["w"] == {"law": "sin(t) - x' - 30*x^3"}
    assert saved["f"]["every"] == 0.04
    assert len(saved["f"]["values"]) == 25
