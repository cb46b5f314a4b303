"""Events are found where they happen; latches lock joints as blows do: momentum stays, lost energy is accounted for."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.errors import ModelError, MomentreeError
from momentree.simulate.events import Event
from momentree.simulate.simulation import new_simulation

PERIOD = 2.367841947576237449  # s: of the pendulum of IFToMM benchmark A01, from the horizontal (Jacobi)


def pendulum():
    m = mt.Model("A01", gravity=(0, -9.81, 0))
    bob = m.body("bob", mass=1.0, com=(-1, 0, 0))
    m.joint("A", mt.Revolute("z"), m.ground, bob)
    return m


def blocks(simulation):
    found = []
    while (block := simulation.advance()) is not None:
        found.append(block)
    return found


def started(m, **given):
    system = m.build()
    return system, system.assemble(given)


@pytest.mark.parametrize(("integrator", "step"), [("dop853", None), ("dopri5", None), ("rk4", 1e-3)])
def test_a_pendulum_passes_its_lowest_point_twice_in_a_period(integrator, step):
    system, start = started(pendulum(), A=0.0)
    events = {"lowest": "A - pi/2"}
    run = system.simulate(start, 10.0, integrator=integrator, step=step, rtol=1e-12, every=0.5, events=events)
    times = np.array([t for _, t in run.end.events])
    np.testing.assert_allclose(np.diff(times), PERIOD / 2, rtol=1e-11)
    assert times[0] == pytest.approx(PERIOD / 4, rel=1e-11)
    assert run.end.reason == "arrived"
    assert len(run.t) == 21


@pytest.mark.parametrize(
    ("direction", "quarters"), [("rising", (1, 5, 9)), ("falling", (3, 7, 11)), ("either", range(1, 12, 2))]
)
def test_the_direction_of_a_passage_counts(direction, quarters):
    system, start = started(pendulum(), A=0.0)
    run = system.simulate(start, 3 * PERIOD, rtol=1e-11, events={"lowest": Event("A - pi/2", direction=direction)})
    np.testing.assert_allclose([t for _, t in run.end.events], PERIOD / 4 * np.array([*quarters]), rtol=1e-9)


@pytest.mark.parametrize("every", [None, 0.1])
def test_an_event_can_end_the_motion_and_the_last_sample_stands_there(every):
    system, start = started(pendulum(), A=0.0)
    run = system.simulate(
        start, 10.0, rtol=1e-12, every=every, events={"turns": Event("A'", stop=True, direction="falling")}
    )
    assert run.end.reason == "event"
    assert "'turns' happened" in run.end.message
    assert run.t[-1] == run.end.t == pytest.approx(PERIOD / 2, rel=1e-11)
    assert run.q[-1, 0] == pytest.approx(np.pi, abs=1e-10)
    assert run.v[-1, 0] == pytest.approx(0, abs=1e-9)
    assert (np.diff(run.t) > 0).all()


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ({"x": "B - 1"}, "event 'x': .*'B'"),
        ({"x": "A +"}, "event 'x'"),
        ({"x": 3.0}, "event 'x': give an expression"),
        ({"x": {"when": "A", "halt": True}}, "event 'x': give an expression"),
        ({"x": Event("A", direction="risng")}, "event 'x': direction 'risng' is not known.*Did you mean 'rising'"),
        ({"x": {"when": "A", "stop": "no"}}, "event 'x': stop must be True or False, not 'no'"),
    ],
)
def test_events_that_cannot_be_meant_are_refused(events, words):
    system, start = started(pendulum(), A=0.0)
    with pytest.raises(MomentreeError, match=words):
        system.simulate(start, 1.0, events=events)


@pytest.mark.parametrize(
    ("when", "times"),
    [
        ("tan(3*t)", (math.pi / 3, 2 * math.pi / 3)),  # and poles halfway between
        ("1/(t - 1)", ()),
        ("1/(A - 2)", ()),
        ("1/(t - 2)^2 - 1", (1.0,)),
        ("log(t - 0.2)", (1.2,)),
        ("sqrt(t - 1.1) - 0.5", (1.35,)),
        ("sqrt(1.1 - t) - 0.5", (0.85,)),
        ("select(t - 1.5, 1 + t, -1)", (1.5,)),  # a jump through zero counts
    ],
)
@pytest.mark.filterwarnings("error")
def test_poles_and_places_without_a_value_are_no_crossings(when, times):
    m = mt.Model("wheel", gravity=(0, 0, 0))
    m.joint("A", mt.Revolute("z"), m.ground, m.body("wheel", mt.sphere(mass=1.0, radius=0.1)))
    system, start = started(m, A=0.0)
    start = system.assemble({"A": 0.0}, velocities={"A": 2.0})
    run = system.simulate(start, 2.5, every=0.1, events={"x": when})
    assert [t for _, t in run.end.events] == pytest.approx(times, rel=1e-12)


# --- latches ---


@pytest.mark.parametrize(
    ("when", "direction", "happens"),
    [
        ("B' - 1", "falling", True),
        ("B' - 1", "rising", False),
        ("A' - 0.1", "rising", True),
        ("A' - 0.1", "falling", False),
        ("B'", "falling", True),  # zero from there on
        ("A' - 1", "either", False),
    ],
)
@pytest.mark.parametrize("stop", [False, True])
def test_an_expression_that_jumps_through_zero_at_an_impact_is_an_event(when, direction, happens, stop):
    """The latch takes A' from 0 to 0.6, and B' from 3 to 0."""
    system = two_discs().build()
    start = system.assemble({"A": 0.0, "B": 0.0}, velocities={"A": 0.0, "B": 3.0})
    run = system.simulate(start, 2.0, every=0.3, events={"jump": Event(when, stop, direction)})
    names, times = zip(*run.end.events, strict=True)
    assert names == ("latch of B", "jump")[: 1 + happens]
    assert len(set(times)) == 1
    assert run.end.reason == ("event" if happens and stop else "arrived")
    if happens and stop:
        assert run.t[-1] == run.end.t == times[0]
        np.testing.assert_allclose(run.v[-2:], [[0, 3], [0.6, 0]], atol=1e-9)
        assert run.energy.error < 1e-9


def test_what_an_event_that_stops_comes_before_has_not_happened():
    system = two_discs().build()
    start = system.assemble({"A": 0.0, "B": 0.0}, velocities={"A": 0.0, "B": 3.0})
    events = {"there": Event("B - 1", stop=True), "seen": "1 - B"}
    run = system.simulate(start, 2.0, every=0.3, events=events)
    assert {name for name, _ in run.end.events} == {"there", "seen"}
    assert run.end.message == "'there' happened"
    assert run.v[-1] == pytest.approx([0.0, 3.0])
    assert run.impacts == ()


def test_an_event_with_the_name_of_one_of_the_model_is_refused():
    system, start = started(two_discs())
    with pytest.raises(MomentreeError, match="event 'latch of B': an event of the model itself has this name"):
        system.simulate(start, 1.0, events={"latch of B": "A - 1"})


def two_discs():
    """On one axis; the second turns on the first and is locked to it after one radian."""
    m = mt.Model("discs", gravity=(0, 0, 0))
    first, second = (m.body(name, mt.cylinder(mass=1.0, radius=r, length=0.1)) for name, r in (("a", 2.0), ("b", 1.0)))
    m.joint("A", mt.Revolute("z"), m.ground, first)
    m.joint("B", mt.Revolute("z"), first, second)
    m.latch("B", at=1.0)
    return m


@pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange"])
def test_two_discs_that_lock_turn_on_with_their_common_momentum(formulation):
    system = two_discs().build()
    start = system.assemble({"A": 0.0, "B": 0.0}, velocities={"A": 0.0, "B": 3.0})
    run = system.simulate(start, 2.0, formulation=formulation, every=0.25, rtol=1e-11)
    I1, I2 = 1.0 * 2.0**2 / 2, 1.0 / 2
    together = I2 * 3.0 / (I1 + I2)
    ((name, t),) = run.end.events
    assert (name, t) == ("latch of B", pytest.approx(1 / 3, rel=1e-10))
    after = run.t > t
    np.testing.assert_allclose(run.v[after], [[together, 0]] * after.sum(), atol=1e-12)
    np.testing.assert_allclose(run.q[after, 1], 1.0, rtol=1e-14)
    np.testing.assert_allclose(run.q[-1, 0], together * (2 - 1 / 3), rtol=1e-10)
    # before and after the blow, both at its time
    assert (run.t == t).sum() == 2
    lost = I2 * 3.0**2 / 2 - (I1 + I2) * together**2 / 2
    assert run.energy.work["latch of B"][-1] == pytest.approx(-lost, rel=1e-10)
    assert np.abs(run.energy.balance).max() < 1e-10


@pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange"])
@pytest.mark.repeats(1)
def test_latches_in_a_free_flight_change_no_momentum(formulation):
    m = mt.Model("array", gravity=(0, 0, 0))
    body = m.body("hub", mt.box(mass=20.0, size=(1, 1, 1)))
    m.joint("flight", mt.Free(), m.ground, body)
    for i, (rest, at) in enumerate([(2.0, np.pi / 2), (-1.0, 0.0)]):
        panel = m.body(f"panel{i}", mt.rod(mass=4.0, length=1.0, radius=0.2))
        m.joint(
            f"h{i}", mt.Revolute("z", spring=2.0, rest=rest, damping=0.1), body.at((0.5 + i / 2, 0, 0.1 * i)), panel
        )
        m.latch(f"h{i}", at=at)
        body = panel
    system = m.build()
    start = system.assemble({"h0": 0.0, "h1": np.pi}, velocities={"flight": (0.1, 0, 0.2, 0.3, -0.2, 0.1)})
    run = system.simulate(start, 5.0, formulation=formulation, rtol=1e-11)
    assert [name for name, _ in run.end.events] == ["latch of h0", "latch of h1"]
    momentum = system.momentum(run.q, run.v)
    np.testing.assert_allclose(momentum, np.repeat(momentum[:1], len(momentum), axis=0), atol=1e-8)
    assert np.abs(run.energy.balance).max() < 1e-8


def test_a_latch_is_part_of_a_checkpoint():
    system = two_discs().build()
    start = system.assemble({"A": 0.0, "B": 0.0}, velocities={"A": 0.0, "B": 3.0})
    whole = new_simulation(system, start, t_end=2.0, every=0.01)
    first = whole.advance()
    kept = whole.checkpoint()
    rest = blocks(whole)
    again = new_simulation(system, start, t_end=2.0, every=0.01)
    again.restore(kept)
    found = blocks(again)
    assert first.t[-1] > 1 / 3
    for name in ("t", "q", "v", "work"):
        theirs, ours = (np.concatenate([getattr(block, name) for block in each]) for each in (rest, found))
        np.testing.assert_array_equal(ours, theirs)
    assert again.end == whole.end
    assert again.statistics == whole.statistics


def test_a_model_with_latches_loads_as_it_was_saved(tmp_path):
    m = two_discs()
    m.save(tmp_path / "discs.toml")
    assert mt.load(tmp_path / "discs.toml") == m


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.latch("C", at=1.0), "latch of 'C'.*joint 'C'"),
        (lambda m: m.latch("B", at=2.0), "'B' already has a latch"),
        (lambda m: m.latch("A", at="x"), "latch of 'A'.*'x'"),
        (
            lambda m: m.joint("S", mt.Spherical(), m.ground, m.body("c", mt.sphere(1.0, 0.1))) and m.latch("S", at=0.0),
            "3 degrees of freedom",
        ),
    ],
)
def test_latches_that_cannot_be_meant_are_refused(change, words):
    m = two_discs()
    change(m)
    with pytest.raises(ModelError, match=words):
        m.build()


@pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange"])
def test_joints_that_arrive_together_lock_together(formulation):
    m = mt.Model("twins", gravity=(0, 0, 0))
    for i in range(2):
        rod = m.body(f"rod{i}", mt.rod(mass=1.0, length=1.0))
        m.joint(f"h{i}", mt.Revolute("y", spring=2.0), m.ground.at((i, 0, 0)), rod)
        m.latch(f"h{i}", at=0.0)
    system = m.build()
    run = system.simulate(system.assemble({"h0": 1.0, "h1": 1.0}), 5.0, formulation=formulation)
    assert [name for name, _ in run.end.events] == ["latch of h0", "latch of h1"]
    # a quarter of a period of the spring
    np.testing.assert_allclose([t for _, t in run.end.events], np.pi / 2 / np.sqrt(2.0 / (1 / 3)), rtol=1e-7)
    np.testing.assert_array_equal(run.q[-1], 0)
    assert run.energy.total[-1] == pytest.approx(0, abs=1e-7)
    assert np.abs(run.energy.balance).max() < 1e-6


def test_steps_beyond_the_end_are_not_counted():
    system, start = started(pendulum(), A=0.0)
    run = system.simulate(start, 10.0, events={"lowest": Event("A - pi/2", stop=True)})
    assert run.statistics.accepted == len(run.t) - 1


def test_a_start_of_another_system_is_refused():
    system, _ = started(pendulum(), A=0.0)
    other = mt.Model("other")
    other.joint("B", mt.Revolute("z"), other.ground, other.body("bob", mass=1.0, com=(-1, 0, 0)))
    with pytest.raises(MomentreeError, match="the state belongs to another system"):
        system.simulate(other.build().assemble({"B": 0.0}), 1.0)


def test_an_event_between_samples_far_apart_in_any_formulation():
    """A stretch of the motion between two events may hold no sample at all."""
    found = []
    for formulation in ("hamiltonian", "absolute"):
        system = four_bar().build()
        start = system.assemble({"A": 1.0})
        given = {"every": 2.0, "integrator": "rk4", "step": 1e-3, "formulation": formulation}
        run = system.simulate(start, t_end=4.0, events={"up": "A - 1.2"}, **given)
        assert run.t.tolist() == [0, 2, 4]
        found.append([t for _, t in run.end.events])
    assert len(found[0]) > 0
    assert found[1] == pytest.approx(found[0], abs=1e-9)


def test_a_start_at_which_an_event_is_zero_is_kept_to_the_last_digit():
    # loops that are closed to round-off do not move: otherwise the event would pass zero at once
    system = four_bar().build()
    start = system.assemble({"A": 1.0}, velocities={"A": 10.0})
    run = system.simulate(start, t_end=0.02, rtol=1e-11, every=0.01, events={"turn": "sin((A - 1)/2)"})
    assert (run.q[0] == start.q).all()
    assert run.end.events == ()


def test_events_may_name_frames_in_axes_of_a_ground_that_moves():
    m = pendulum()
    m.ground.moves((0, "3*t", 0), (0, 0, "t"))
    m.gravity = (0, 0, 0)
    system = m.build()
    bob = system.mechanism.attach(m.bodies[0].at((-1, 0, 0)))
    system.mechanism = dataclasses.replace(system.mechanism, frames=(("tip", bob),))
    start = system.assemble({"A": 0.0}, velocities={"A": 0.5})
    events = {"level": "tip.y + sin(1)", "speed": "tip.x' - 0.2", "spin": "tip.wz - A"}
    run = system.simulate(start, 2.5, events=events)
    # no force acts on it: relative to the ground it turns evenly, A = t/2, x = -cos A, y = -sin A
    expected = {"spin": 1.0, "speed": 2 * np.arcsin(0.4), "level": 2.0}
    assert dict(run.end.events) == pytest.approx(expected, rel=1e-8)
