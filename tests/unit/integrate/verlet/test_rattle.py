"""Loops in the steps of "verlet" and "verlet4": closed to round-off, of the order told, reversible, canonical."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import bennett, four_bar, four_bars_in_a_row
from momentree.assembly.configuration import Configuration
from momentree.compile.trace.right_hand_sides import work_terms_of
from momentree.equations.evaluation import Evaluation
from momentree.equations.hamiltonian import momenta
from momentree.errors import MomentreeError
from momentree.integrate.records import Status
from momentree.integrate.verlet.composition import COMPOSITIONS
from momentree.integrate.verlet.stepper import VerletStepper
from plain_steps import plain_step, velocities


def with_balls() -> mt.Model:
    """Crank, coupler on a ball, rocker: a loop in space that a ball closes (RSSR)."""
    m = mt.Model("RSSR", gravity=(1.0, 2.0, -9.0))
    crank, rocker = m.body("crank", mt.rod(mass=1.0, length=1.0)), m.body("rocker", mt.rod(mass=1.0, length=2.0))
    coupler = m.body("coupler", mt.box(mass=1.0, size=(2.0, 0.3, 0.4)))
    m.joint("A", mt.Revolute("y"), m.ground, crank)
    m.joint("B", mt.Spherical(), crank.at((1, 0, 0)), coupler.at((-1, 0, 0)))
    m.joint("D", mt.Revolute((0.3, 1.0, 0.2)), m.ground.at((2.5, 0.2, 0)), rocker)
    m.joint("C", mt.Spherical(), coupler.at((1, 0, 0)), rocker.at((2, 0, 0)))
    m.cut("C")
    return m


def floating() -> mt.Model:
    """A four-bar linkage that floats, its frame a free body; a ball closes it."""
    m = mt.Model("floating loop", gravity=(0, 0, 0))
    frame = m.body("frame", mt.box(mass=3.0, size=(2.5, 0.5, 0.6)))
    lengths = {"a": 1.0, "b": 2.0, "c": 2.0}
    a, b, c = (m.body(name, mt.box(mass=1.0, size=(length, 0.2, 0.3))) for name, length in lengths.items())
    m.joint("F", mt.Free(), m.ground, frame)
    m.joint("A", mt.Revolute("y"), frame, a)
    m.joint("B", mt.Universal("y", "z"), a.at((1, 0, 0)), b)
    m.joint("D", mt.Revolute((0.1, 1.0, 0.2)), frame.at((2.5, 0, 0)), c)
    m.joint("C", mt.Spherical(), b.at((2, 0, 0)), c.at((2, 0, 0)))
    m.cut("C")
    return m


def driven() -> mt.Model:
    """Five bars, one of them moved as prescribed, on a ground that moves; a damper and a torque."""
    m = mt.Model("five-bar")
    m.ground.moves(("0.1*sin(2*t)", 0, "0.05*t^2"), (0, "0.2*sin(t)", 0))
    lengths = {"a": 1.0, "b": 2.0, "c": 2.0, "d": 1.0}
    a, b, c, d = (m.body(name, mt.rod(mass=1.0, length=length)) for name, length in lengths.items())
    m.joint("A", mt.Revolute("y", motion="1 + 0.3*sin(2*t)"), m.ground, a)
    m.joint("B", mt.Revolute("y", damping=0.2), a.at((1, 0, 0)), b)
    m.joint("E", mt.Revolute("y"), m.ground.at((2.5, 0, 0)), d)
    m.joint("D", mt.Revolute("y"), d.at((1, 0, 0)), c)
    m.joint("C", mt.Revolute("y"), b.at((2, 0, 0)), c.at((2, 0, 0)))
    m.cut("C")
    m.torque("E", "2*cos(3*t)")
    return m


LOOPS = {
    "four-bar": (four_bar, {"A": 1.0}, {"A": 0.5}),
    "Bennett": (bennett, {"R1": 1.0}, {"R1": 0.7}),  # three of five rows are redundant
    "balls": (with_balls, {"A": 1.0}, {"A": 0.5}),
    "floating": (floating, {"A": 1.0}, {"A": 4.0}),
    "coupled": (lambda: four_bars_in_a_row(2), {"G0": -1.2}, {"G0": 1.2}),
    "driven": (driven, {"E": 0.5}, {"E": 0.4}),
}


def started(name):
    """A system, and the state y = (q, p) in which it starts."""
    build, given, moving = LOOPS[name]
    system = build().build()
    start = system.assemble(given, velocities=moving)
    return system, start, state_of(system, start)


def state_of(system, start):
    p = momenta(Evaluation(system._numeric, start.q.tolist(), start.t), start.v.tolist())
    return np.array([*start.q, *p], dtype=float)


def moved(system, y, h, t_end, integrator="verlet", t=0.0):
    """Where a motion is at t_end."""
    integration = VerletStepper(system.mechanism, COMPOSITIONS[integrator], with_work=False).start(y[:, None], t, h)
    assert integration.advance(t_end, 10, 10**9)[0] == Status.ARRIVED
    return integration.y[: len(y)].copy()


def openings(system, y, t):
    """The largest closure error, and the largest velocity of opening by the velocities of the tree."""
    q, p = y[: system.nq], y[system.nq :]
    at = Configuration(system._numeric, q, velocities(system._numeric, q, p, t), t)
    return np.abs(at.closure_errors()).max(), np.abs(at.constraint_velocities()).max()


# --- steps ---


@pytest.mark.repeats(1)
@pytest.mark.parametrize("name", LOOPS)
def test_machine_code_takes_the_steps_of_the_formulas(name):
    system, _, y = started(name)
    expected = y
    for k in range(3):
        expected = plain_step(system._numeric, expected, 0.01 * k, 0.01)
    assert moved(system, y, 0.01, 0.03) == pytest.approx(expected, rel=1e-11, abs=1e-11)


@pytest.mark.repeats(2)
@pytest.mark.parametrize("integrator", COMPOSITIONS)
@pytest.mark.parametrize("name", LOOPS)
def test_every_step_ends_closed_and_does_not_open(name, integrator):
    system, _, y = started(name)
    integration = VerletStepper(system.mechanism, COMPOSITIONS[integrator], with_work=False).start(
        y[:, None], 0.0, 0.01
    )
    status, records = integration.advance(2.0, 200)
    assert status == Status.ARRIVED
    t, _, ys, _ = integration.unpacked(records)
    found = np.array([openings(system, y[:, 0], at) for at, y in zip(t, ys, strict=True)])
    assert found[:, 0].max() < 1e-14
    assert found[:, 1].max() < 2e-13
    assert np.abs(ys[-1, : system.nq, 0] - y[: system.nq]).max() > 0.1


@pytest.mark.repeats(2)
@pytest.mark.parametrize(("integrator", "order", "off"), [("verlet", 2, 2e-2), ("verlet4", 4, 1e-5)])
@pytest.mark.parametrize("name", LOOPS)
def test_the_error_is_of_the_order_that_is_told(name, integrator, order, off):
    system, start, y = started(name)
    expected = system.simulate(start, 1.0, integrator="dop853", rtol=1e-12).q[-1]
    errors = [np.abs(moved(system, y, h, 1.0, integrator)[: system.nq] - expected).max() for h in (0.02, 0.01, 0.005)]
    slopes = np.log2(np.divide(errors[:-1], errors[1:]))
    assert slopes[-1] == pytest.approx(order, abs=0.15), errors
    assert errors[-1] < off


# --- structure ---


@pytest.mark.repeats(2, of="integrator")
@pytest.mark.parametrize("integrator", COMPOSITIONS)
@pytest.mark.parametrize("name", LOOPS)
def test_the_way_back_is_the_way_there(name, integrator):
    system, _, y = started(name)
    there = moved(system, y, 0.01, 0.5, integrator)
    back = moved(system, there, 0.01, 0.0, integrator, t=0.5)
    assert np.abs(there - y).max() > 0.05
    assert back == pytest.approx(y, rel=1e-11, abs=1e-11)


@pytest.mark.repeats(1, of="integrator")
@pytest.mark.parametrize("integrator", COMPOSITIONS)
@pytest.mark.parametrize(("name", "crank"), [("four-bar", "A"), ("Bennett", "R1"), ("coupled", "G0")])
def test_a_step_keeps_areas_of_motions_that_close(name, crank, integrator):
    system, start, _ = started(name)
    d, h, place = 1e-4, 0.05, [str(x) for x in system.mechanism.coordinates].index(crank)
    angle, rate = start.q[place], start.v[place]

    def ends(by):
        near = system.assemble({crank: angle + by[0]}, velocities={crank: rate + by[1]}, guess=start)
        y = state_of(system, near)
        return np.array([y, moved(system, y, h, h, integrator)])

    along = [(ends(by) - ends(-by)) / (2 * d) for by in d * np.eye(2)]
    n = system.nq
    before, after = (one[:n] @ other[n:] - other[:n] @ one[n:] for one, other in zip(*along, strict=True))
    assert abs(before) > 0.1
    assert after == pytest.approx(before, rel=1e-7)


def test_a_loop_that_floats_keeps_its_momentum():
    system, _, y = started("floating")
    kept = []
    for t_end in (0.0, 5.0):
        end = moved(system, y, 0.01, t_end) if t_end else y
        q, p = end[: system.nq], end[system.nq :]
        kept.append(system.momentum(q, velocities(system._numeric, q, p, t_end)))
    assert np.linalg.norm(kept[0]) > 0.1
    assert kept[1] == pytest.approx(kept[0], abs=1e-12)


# --- singular configurations, lanes, interruptions, rest ---


@pytest.mark.parametrize("integrator", COMPOSITIONS)
@pytest.mark.repeats(1)
def test_parallelograms_pass_where_all_bars_are_in_line(integrator):
    system = four_bars_in_a_row(2).build()
    y = state_of(system, system.assemble({"G0": 0.5}, velocities={"G0": 2.0}))
    integration = VerletStepper(system.mechanism, COMPOSITIONS[integrator], with_work=False).start(
        y[:, None], 0.0, 0.01
    )
    status, records = integration.advance(2.0, 200)
    assert status == Status.ARRIVED
    t, _, ys, _ = integration.unpacked(records)
    posts = ys[:, :3, 0]
    assert (posts[0] < np.pi / 2).all()
    assert (posts[-1] > 3 * np.pi / 2 - 0.5).all()
    assert np.ptp(posts, axis=1).max() < 1e-6
    assert max(openings(system, y[:, 0], at)[0] for at, y in zip(t, ys, strict=True)) < 1e-10


@pytest.mark.parametrize("integrator", COMPOSITIONS)
def test_a_motion_goes_on_where_it_was_left_to_the_last_bit(integrator):
    system, _, y = started("driven")
    y = np.append(y, np.zeros(len(work_terms_of(system.mechanism))))
    stepper = VerletStepper(system.mechanism, COMPOSITIONS[integrator])
    whole, parts, restored = (stepper.start(y[:, None], 0.0, 0.01) for _ in range(3))
    _, records = whole.advance(0.5, 100, 5)
    status, first = parts.advance(0.5, 4, 5)
    assert status == Status.FULL
    restored.y[:], restored.control[:], restored.counts[:] = parts.y, parts.control, parts.counts
    _, rest = restored.advance(0.5, 100, 5)
    again = restored.unpacked(np.concatenate([first, rest]))
    assert all(np.array_equal(x, y) for x, y in zip(again[:3], whole.unpacked(records)[:3], strict=True))


def test_a_linkage_at_rest_stays_there():
    m = four_bars_in_a_row(2)
    m.gravity = (0, -9.81, 0)
    system = m.build()
    start = system.assemble({"G0": np.pi})
    integration = VerletStepper(system.mechanism, with_work=False).start(state_of(system, start)[:, None], 0.0, 0.01)
    assert integration.advance(100.0, 1, 10**9)[0] == Status.ARRIVED
    assert integration.y[: system.nq] == pytest.approx(start.q, abs=1e-12)


def test_a_step_that_is_too_long_says_so_and_is_not_taken():
    system, _, y = started("four-bar")
    integration = VerletStepper(system.mechanism, with_work=False).start(y[:, None], 0.0, 5.0)
    status, records = integration.advance(10.0, 10)
    assert (status, len(records), integration.t) == (Status.TOO_SHORT, 0, 0.0)
    assert np.array_equal(integration.y[: len(y)], y)


# --- simulate ---


@pytest.mark.parametrize(("integrator", "off"), [("verlet", 5e-3), ("verlet4", 1e-5)])
@pytest.mark.parametrize("name", ["four-bar", "driven"])
@pytest.mark.repeats(2)
def test_simulate_samples_and_accounts_for_the_energy(name, integrator, off):
    system, start, _ = started(name)
    run = system.simulate(start, 2.0, integrator=integrator, step=0.005, every=0.25)
    expected = system.simulate(start, 2.0, rtol=1e-12, every=0.25)
    assert run.t == pytest.approx(expected.t)
    assert np.abs(run.q - expected.q).max() < off
    assert np.abs(run.energy.balance).max() < off
    assert np.abs(expected.energy.balance).max() < 1e-9
    assert np.ptp(run.q, axis=0).max() > 0.3


@pytest.mark.parametrize(("integrator", "off"), [("verlet", 2e-3), ("verlet4", 1e-6)])
@pytest.mark.repeats(1)
def test_events_are_found_within_steps_by_dense_output(integrator, off):
    system, start, _ = started("four-bar")
    events = {"half way": {"when": "A - 1.3", "stop": True}}
    run = system.simulate(start, 5.0, integrator=integrator, step=0.01, events=events)
    expected = system.simulate(start, 5.0, rtol=1e-12, events=events)
    assert run.end.reason == "event"
    assert run.end.t == pytest.approx(expected.end.t, abs=off)
    assert run.v[-1] == pytest.approx(expected.v[-1], abs=10 * off)
    assert np.abs(Configuration(system.mechanism, run.q[-1], run.v[-1]).closure_errors()).max() < 1e-13


def test_many_motions_close_their_loops_as_one_does():
    system = four_bar().build()
    starts = [system.assemble({"A": 1.0 + 0.1 * i}, velocities={"A": 0.5}) for i in range(5)]
    given = {"t_end": 2.0, "every": 0.25, "integrator": "verlet4", "step": 0.01}
    found = system.simulate_many([s.q for s in starts], [s.v for s in starts], **given)
    for start, q, v in zip(starts, found.q, found.v, strict=True):
        one = system.simulate(start, **given)
        np.testing.assert_allclose(q, one.q, rtol=0, atol=1e-14)
        np.testing.assert_allclose(v, one.v, rtol=0, atol=1e-13)
        assert one.closure_error.max() < 1e-14


def test_what_it_cannot_do_is_refused():
    system, start, _ = started("four-bar")
    with pytest.raises(MomentreeError, match=r"verlet closes loops within its steps. Leave stabilization='project'"):
        system.simulate(start, 1.0, integrator="verlet", step=0.01, stabilization="leak")
    m = four_bar()
    m.cut("C")
    m.torque("C", 1.0)
    with pytest.raises(MomentreeError, match="joint 'C': closes a loop; verlet does not compute forces on it"):
        VerletStepper(m.build().mechanism)
