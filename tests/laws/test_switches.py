"""Joints that release, and constraints that events switch on and off: momentum stays, energy is accounted for."""

from __future__ import annotations

import math

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.errors import MomentreeError
from momentree.results.recorder import record
from momentree.simulate.events import Event
from momentree.simulate.simulation import new_simulation

every_formulation = pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange", "absolute"])
METHODS = [
    {"formulation": "hamiltonian"},
    {"formulation": "lagrange"},
    {"formulation": "absolute"},
    {"integrator": "dopri5"},
    {"integrator": "radau"},
    {"integrator": "rk4", "step": 1e-3},
    {"integrator": "verlet", "step": 2.5e-4},
    {"integrator": "verlet4", "step": 2.5e-4},
    {"stabilization": "baumgarte"},
    {"stabilization": "none"},
    {"formulation": "lagrange", "stabilization": "none"},
]


def pendulum(**when):
    """A rod on a hinge, its centre of mass at half its length."""
    m = mt.Model("pendulum")
    rod = m.body("rod", mt.rod(mass=2.0, length=1.0, radius=0.05))
    m.joint("hinge", mt.Revolute("y"), m.ground.at((0.3, 0.1, 2.0)), rod)
    m.release("hinge", **when)
    return m


def centre(run):
    return run.position(mt.Model("x").body("rod").at((0.5, 0, 0)))


@pytest.mark.repeats(1)
@pytest.mark.parametrize("settings", METHODS, ids=str)
def test_a_pendulum_that_releases_flies_on_the_parabola_of_its_centre_of_mass(settings):
    system = pendulum(at=0.4).build()
    start = system.assemble({"hinge": 0.2}, velocities={"hinge": 3.0})
    assert start["hinge"] == pytest.approx(0.2, abs=1e-14)
    run = system.simulate(start, 1.0, every=0.05, **settings)
    ((name, at),) = run.end.events
    assert (name, at) == ("release of hinge", pytest.approx(0.4, abs=1e-14))
    released = np.flatnonzero(run.t == at)
    assert len(released) == 2
    before, after = released
    np.testing.assert_allclose(run.v[after], run.v[before], rtol=1e-13, atol=1e-13)
    # the parabola from the state at the release
    w, angle = run.velocity("hinge")[before], run["hinge"][before]
    assert abs(w) > 1
    tight = 1e-5 if "verlet" in settings.get("integrator", "") else 1e-8
    r0 = np.array([0.3, 0.1, 2.0]) + 0.5 * np.array([math.cos(angle), 0, -math.sin(angle)])
    v0 = 0.5 * w * np.array([-math.sin(angle), 0, -math.cos(angle)])
    t = (run.t[after:] - at)[:, None]
    expected = r0 + v0 * t + np.array([0, 0, -9.81]) * t**2 / 2
    np.testing.assert_allclose(centre(run)[after:], expected, atol=tight)
    # the spin stays
    np.testing.assert_allclose(run.velocity("free rod")[after:, 4], w, rtol=tight)
    assert run.energy.error < (1e-2 if tight > 1e-7 else 1e-6)
    assert run.closure_error.max() < 1e-5
    assert not run.warnings


def test_a_released_joint_transmits_nothing():
    system = pendulum(at=0.4).build()
    run = system.simulate(system.assemble({"hinge": 0.2}), 0.8, every=0.1)
    wrench = run.reactions("hinge")
    released = int(np.flatnonzero(run.t == 0.4)[-1])
    assert np.abs(wrench[:released, :3]).max(axis=1).min() > 1
    np.testing.assert_array_equal(wrench[released:], 0)
    np.testing.assert_allclose(run.reactions("free rod"), 0, atol=1e-9)


def stages(joint, **when):
    """Two stages that fly, a spring between them."""
    m = mt.Model("stages", gravity=(0, 0, 0))
    first = m.body("first", mt.cylinder(mass=5.0, radius=0.3, length=1.0))
    second = m.body("second", mt.cylinder(mass=2.0, radius=0.3, length=0.5))
    m.joint("bolt", joint, first.at((0, 0, 0.5)), second.at((0, 0, -0.25)))
    m.spring(first.at((0.1, 0, 0.4)), second.at((0.1, 0, -0.25)), stiffness=400.0, damping=0.5, rest=0.3)
    m.release("bolt", **when)
    return m


@pytest.mark.repeats(1)
@every_formulation
@pytest.mark.parametrize("joint", [mt.Fixed(), mt.Revolute("x", spring=3.0, rest=0.2)], ids=["fixed", "revolute"])
def test_stages_that_separate_keep_momentum_and_the_path_of_the_centre_of_mass(joint, formulation):
    system = stages(joint, at=0.5).build()
    assert system.mobility == 6 + (joint.freedom == 1)
    start = system.assemble({}, velocities={"free first": (1.0, -0.5, 0.2, 0.3, 0.8, -0.4)})
    run = system.simulate(start, 2.0, formulation=formulation, every=0.1, rtol=1e-11)
    momentum = system.momentum(run.q, run.v)
    scale = np.abs(momentum).max()
    np.testing.assert_allclose(momentum, np.repeat(momentum[:1], len(momentum), axis=0), atol=1e-8 * scale)
    before, after = np.flatnonzero(run.t == 0.5)
    np.testing.assert_allclose(momentum[after], momentum[before], atol=1e-14 * scale)
    bodies = mt.Model("x").body("first"), mt.Model("x").body("second")
    com = (5.0 * run.position(bodies[0]) + 2.0 * run.position(bodies[1])) / 7.0
    np.testing.assert_allclose(com, com[0] + momentum[0, :3] / 7.0 * run.t[:, None], atol=1e-8)
    # they do separate
    apart = np.linalg.norm(run.position(bodies[0]) - run.position(bodies[1]), axis=1)
    assert apart.max() > apart[0] + 0.01
    assert run.energy.error < 1e-8 * run.energy.through
    # the spring of a joint ceases with it: its energy leaves the account
    lost = run.energy.work["release of bolt"][-1]
    assert (lost < -1e-3) == (joint.freedom == 1)
    assert not run.impacts


@pytest.mark.long
def test_springs_of_joints_that_release_one_after_another_leave_the_account_one_by_one():
    m = mt.Model("chain")
    before = m.ground
    for i in range(2):
        body = m.body(f"b{i}", mt.rod(mass=1.0, length=0.5, radius=0.05))
        m.joint(f"j{i}", mt.Revolute("y", spring=5.0, rest=1.0), before, body)
        before = body.at((0.5, 0, 0))
    for i in (1, 0):
        m.release(f"j{i}", at=0.1 + 0.1 * i)
    system = m.build()
    run = system.simulate(system.assemble({}, velocities={"j1": 1.0}), 0.4, every=0.05)
    assert [name for name, _ in run.end.events] == [f"release of j{i}" for i in range(2)]
    again = np.flatnonzero(np.diff(run.t) == 0)
    for i, k in enumerate(again):
        spring = 5.0 * (run[f"j{i}"][k] - 1.0) ** 2 / 2
        assert run.energy.work[f"release of j{i}"][-1] == pytest.approx(-spring, rel=1e-9)
        assert run.energy.potential[k] - run.energy.potential[k + 1] == pytest.approx(spring, rel=1e-9)
    assert run.energy.error < 1e-9


@pytest.mark.repeats(1)
@every_formulation
def test_a_four_bar_whose_joint_releases_is_the_open_chain_from_the_same_state(formulation):
    m = four_bar()
    m.release("C", at=0.3)
    system = m.build()
    start = system.assemble({"A": 1.0}, velocities={"A": 2.0})
    run = system.simulate(start, 0.8, formulation=formulation, every=0.1, rtol=1e-11)
    after = int(np.flatnonzero(np.diff(run.t) == 0)[0]) + 1
    chain = four_bar()
    chain.joints = [joint for joint in chain.joints if joint.name != "C"]
    opened = chain.build()
    names = {joint.name for joint in chain.joints}
    state = run.state(after)
    begin = opened.assemble(
        {name: state[name] for name in names}, velocities={name: state.velocity(name) for name in names}, t=0.3
    )
    other = opened.simulate(begin, 0.8, every=0.1, rtol=1e-11)
    for name in names:
        assert run[name][-1] == pytest.approx(other[name][-1], abs=1e-8)
        assert run.velocity(name)[-1] == pytest.approx(other.velocity(name)[-1], abs=1e-7)
    # until then it is the four-bar
    whole = four_bar().build().simulate(four_bar().build().assemble({"A": 1.0}, velocities={"A": 2.0}), 0.3, rtol=1e-11)
    assert run["A"][after] == pytest.approx(whole["A"][-1], abs=1e-9)


# --- switching on: plastic impacts ---


def swinging_rods():
    """Two equal rods on one axis, side by side; a weld couples them when the first arrives at the second."""
    m = mt.Model("rods", gravity=(0, 0, 0))
    bodies = [m.body(name, mt.rod(mass=mass, length=1.0, radius=0.01)) for name, mass in (("a", 2.0), ("b", 1.0))]
    for name, body in zip("AB", bodies, strict=True):
        m.joint(name, mt.Revolute("z"), m.ground, body)
    m.joint("weld", mt.Fixed(), bodies[0].at((1, 0, 0)), bodies[1].at((1, 0, 0)))
    m.switch("weld", on="A - B")
    return m


@pytest.mark.repeats(1)
@pytest.mark.parametrize("settings", METHODS, ids=str)
def test_flywheels_that_are_coupled_turn_on_with_their_common_momentum(settings):
    system = swinging_rods().build()
    assert system.mobility == 2  # the weld does not act yet
    start = system.assemble({"A": 0.0, "B": 1.0}, velocities={"A": 3.0, "B": -1.0})
    run = system.simulate(start, 1.0, every=0.05, **settings)
    ((name, at),) = run.end.events
    assert (name, at) == ("weld switched on", pytest.approx(0.25, rel=1e-10))
    after = int(np.flatnonzero(run.t == run.t[np.flatnonzero(np.diff(run.t) == 0)[0]])[-1])
    I = np.array([2.0, 1.0]) * (1 / 3 + 0.01**2 / 4)
    together = I @ [3.0, -1.0] / I.sum()
    np.testing.assert_allclose(run.v[after:], together, rtol=1e-9)
    np.testing.assert_allclose(run.q[-1], 0.75 + together * 0.75, rtol=1e-8)
    lost = I[0] * I[1] / I.sum() * 4.0**2 / 2
    assert run.energy.work["weld switched on"][-1] == pytest.approx(-lost, rel=1e-9)
    assert run.energy.error < 1e-8
    (impact,) = run.impacts
    assert impact.lost == pytest.approx(lost, rel=1e-9)
    assert impact.events == ("weld switched on",)
    assert impact.impulses["B'"] == pytest.approx(I[1] * (together + 1), rel=1e-9)
    assert impact.impulses["A'"] == pytest.approx(-I[1] * (together + 1), rel=1e-9)
    # the weld acts at the tips by a force across the rods and by a moment about z: together J' eta is the impulse
    force, moment = (impact.constraints[f"weld: {what}"] for what in ("translation along y", "rotation about z"))
    assert force + moment == pytest.approx(I[1] * (together + 1), rel=1e-9)
    assert not run.warnings


@pytest.mark.repeats(1)
@every_formulation
def test_bodies_that_meet_in_a_hinge_lose_what_a_plastic_impact_takes(formulation):
    """A ball flies into a hinge at the tip of a rod at rest: the closed form of a point mass on a lever."""
    m = mt.Model("catch", gravity=(0, 0, 0))
    rod = m.body("rod", mt.rod(mass=3.0, length=1.0, radius=0.02))
    ball = m.body("ball", mt.sphere(mass=0.5, radius=0.1))
    m.joint("A", mt.Revolute("z"), m.ground, rod)
    m.joint("flight", mt.Free(), m.ground, ball)
    m.joint("socket", mt.Spherical(), rod.at((1, 0, 0)), ball)
    m.switch("socket", on="flight.y")
    system = m.build()
    start = system.assemble({"flight": (1, -0.5, 0, 0, 0, 0, 1)}, velocities={"flight": (0.7, 2.0, 0, 0, 0, 5.0)})
    # the ball moves outward too: it must be at the tip when it arrives
    start.q[system.mechanism.by_joint["flight"].q.start] = 1 - 0.7 * 0.25
    run = system.simulate(start, 1.0, formulation=formulation, every=0.1)
    ((_, at),) = run.end.events
    assert at == pytest.approx(0.25, rel=1e-9)
    I = 3.0 * (1 / 3 + 0.02**2 / 4)
    w = 0.5 * 2.0 / (I + 0.5)  # angular momentum about the pivot
    after = int(np.flatnonzero(np.diff(run.t) == 0)[0]) + 1
    assert run.velocity("A")[after] == pytest.approx(w, rel=1e-9)
    assert run.velocity("flight")[after, 5] == pytest.approx(5.0, rel=1e-12)  # nothing acts on its spin
    lost = 0.5 * (0.7**2 + 2.0**2) / 2 - (I + 0.5) * w**2 / 2
    assert run.impacts[0].lost == pytest.approx(lost, rel=1e-8)
    # along the rod the pivot takes the impulse
    assert run.impacts[0].constraints["socket: translation along x"] == pytest.approx(-0.5 * 0.7, rel=1e-8)
    assert run.energy.error < 1e-8
    assert run.closure_error[after:].max() < 1e-9


def test_a_constraint_that_is_open_cannot_be_switched_on():
    m = swinging_rods()
    m.switches.clear()
    m.switch("weld", on="t - 0.1")
    system = m.build()
    start = system.assemble({"A": 0.0, "B": 1.0}, velocities={"A": 3.0, "B": -1.0})
    with pytest.raises(
        MomentreeError, match=r"at t = 0\.1 s 'weld' is switched on, but it is open: closure error 0\.6"
    ):
        system.simulate(start, 1.0)


def oscillators():
    """Two masses on springs, periods 1 s and 0.5 s, welded together during 0.5 s of every 1.5 s."""
    m = mt.Model("oscillators", gravity=(0, 0, 0))
    for name, k in (("A", 1.0), ("B", 4.0)):
        body = m.body(name.lower(), mt.box(mass=1.0, size=(0.1, 0.1, 0.1)))
        m.joint(name, mt.Prismatic("x", spring=k * math.tau**2), m.ground, body)
    m.joint("weld", mt.Fixed(), m.bodies[0], m.bodies[1])
    m.switch("weld", off="sin(2*pi*(t - 0.5)/1.5)")
    m.switch("weld", on="sin(2*pi*t/1.5)")
    return m


@pytest.mark.repeats(1)
@every_formulation
def test_a_weld_goes_on_and_off_again_and_again(formulation):
    """Between two welds each mass makes whole periods: together they go on as if nothing had happened."""
    system = oscillators().build()
    run = system.simulate(system.assemble({"A": 0.3}), 3.4, formulation=formulation, every=0.1, rtol=1e-11)
    names, times = zip(*run.end.events, strict=True)
    assert names == ("release of weld", "weld switched on") * 2
    np.testing.assert_allclose(times, [0.5, 1.5, 2.0, 3.0], rtol=1e-12)
    w = math.tau * math.sqrt(2.5)
    assert run["A"][-1] == pytest.approx(0.3 * math.cos(1.4 * w), abs=1e-8)
    assert run.velocity("B")[-1] == pytest.approx(-0.3 * w * math.sin(1.4 * w), abs=1e-7)
    for impact in run.impacts:
        assert impact.lost == pytest.approx(0, abs=1e-9)
    assert run.energy.error < 1e-8
    assert run.closure_error.max() < 1e-9
    free = (run.t > 0.5) & (run.t < 1.5)
    assert np.abs(run["A"] - run["B"])[free].max() > 0.1


# --- when conditions act ---


@pytest.mark.parametrize("when", [{"at": 0.0}, {"at": -1.0}, {"when": "hinge + 1"}, {"when": "hinge - 0.2"}])
@pytest.mark.repeats(2)
def test_a_condition_that_is_positive_at_the_start_acts_at_once(when):
    system = pendulum(**when).build()
    run = system.simulate(system.assemble({"hinge": 0.2}, velocities={"hinge": 1.0}), 0.5, every=0.1)
    assert run.end.events == (("release of hinge", 0.0),)
    assert run.t[:2].tolist() == [0, 0]
    r0 = centre(run)[0]
    v0 = 0.5 * np.array([-math.sin(0.2), 0, -math.cos(0.2)])
    expected = r0 + v0 * 0.5 + np.array([0, 0, -9.81]) * 0.5**2 / 2
    np.testing.assert_allclose(centre(run)[-1], expected, atol=1e-10)


def test_a_condition_that_falls_from_zero_at_the_start_does_not_act():
    system = pendulum(when="0.2 - hinge").build()
    run = system.simulate(system.assemble({"hinge": 0.2}, velocities={"hinge": 1.0}), 0.2, every=0.1)
    assert run.end.events == ()


def test_an_angle_that_passes_pi_is_no_crossing():
    """The angle of a closing joint jumps there from pi to -pi, and the condition with it."""
    m = pendulum(when="3 - hinge")
    m.gravity = (0, 0, 0)
    system = m.build()
    start = system.assemble({"hinge": 3.05}, velocities={"hinge": 1.0})
    run = system.simulate(start, 0.3, every=0.1)
    assert run.end.events == ()
    back = system.simulate(system.assemble({"hinge": 3.05}, velocities={"hinge": -1.0}), 0.3, every=0.1)
    assert back.end.events == (("release of hinge", pytest.approx(0.05, rel=1e-10)),)


@pytest.mark.repeats(1)
@every_formulation
@pytest.mark.long
def test_a_switch_whose_condition_jumps_at_an_impact_acts_at_the_same_instant(formulation):
    m = swinging_rods()
    m.joint("C", mt.Revolute("z"), m.ground, m.body("c", mt.rod(mass=1.0, length=1.0, radius=0.01)))
    m.release("C", when="2.5 - A'")  # A' jumps from 3 to 5/3
    system = m.build()
    start = system.assemble({"A": 0.0, "B": 1.0}, velocities={"A": 3.0, "B": -1.0, "C": 1.0})
    run = system.simulate(start, 1.0, formulation=formulation, every=0.1)
    assert [name for name, _ in run.end.events] == ["weld switched on", "release of C"]
    assert run.end.events[0][1] == pytest.approx(run.end.events[1][1], rel=1e-12)
    assert (np.diff(run.t) == 0).sum() == 1
    # from then on the third rod flies on
    centre_c = run.position(mt.Model("x").body("c").at((0.5, 0, 0)))
    after = int(np.flatnonzero(np.diff(run.t) == 0)[0]) + 1
    v = 0.5 * np.array([-math.sin(0.25), math.cos(0.25), 0])
    np.testing.assert_allclose(centre_c[-1], centre_c[after] + v * 0.75, atol=1e-8)


@pytest.mark.repeats(1)
@every_formulation
def test_a_latch_and_a_release_at_the_same_instant(formulation):
    """A disc turns on another until it locks; at that instant the first one leaves its axle."""
    m = mt.Model("discs", gravity=(0, 0, 0))
    first, second = (m.body(name, mt.cylinder(mass=1.0, radius=r, length=0.1)) for name, r in (("a", 2.0), ("b", 1.0)))
    m.joint("A", mt.Revolute("z"), m.ground, first)
    m.joint("B", mt.Revolute("z"), first, second)
    m.latch("B", at=1.0)
    m.release("A", when="B - 1")
    system = m.build()
    start = system.assemble({"A": 0.0, "B": 0.0}, velocities={"A": 0.0, "B": 3.0})
    run = system.simulate(start, 2.0, formulation=formulation, every=0.25, rtol=1e-11)
    assert {name for name, _ in run.end.events} == {"latch of B", "release of A"}
    together = 0.5 * 3.0 / 2.5
    assert run.velocity("free a")[-1, 5] == pytest.approx(together, rel=1e-9)
    assert run.energy.error < 1e-9
    (impact,) = run.impacts
    assert impact.events == ("latch of B",)
    # the impulse of a latch acts along the locked velocity alone
    assert impact.impulses["B'"] == pytest.approx(0.5 * (together - 3.0), rel=1e-9)
    assert max(abs(x) for name, x in impact.impulses.items() if name != "B'") < 1e-9


@pytest.mark.repeats(1)
@pytest.mark.parametrize("settings", [{}, {"every": 0.1}, {"integrator": "radau", "every": 0.1}], ids=str)
def test_a_release_at_the_end_is_the_last_that_happens(settings):
    system = pendulum(at=1.0).build()
    run = system.simulate(system.assemble({"hinge": 0.2}), 1.0, **settings)
    assert (run.end.reason, run.end.events) == ("arrived", (("release of hinge", 1.0),))
    assert run.t[-3] < run.t[-2] == run.t[-1] == 1.0


def test_an_event_that_ends_the_motion_comes_first():
    system = pendulum(at=0.4).build()
    events = {"end": Event("t - 0.4", stop=True)}
    run = system.simulate(system.assemble({"hinge": 0.2}), 1.0, events=events)
    assert run.end.reason == "event"
    assert run.closure_error.max() < 1e-9
    assert np.abs(run.reactions("hinge")[-1]).max() > 1


# --- runs that are interrupted, kept, loaded ---


def test_a_run_that_is_interrupted_knows_what_is_switched_and_goes_on(tmp_path, monkeypatch):
    system = oscillators().build()
    start = system.assemble({"A": 0.3})
    whole = system.simulate(start, 3.4, every=0.01)
    simulation = new_simulation(system, start, t_end=3.4, every=0.01, stabilization="project")
    advance, blocks = simulation.advance, iter(range(2))

    def interrupted():
        if next(blocks, None) is None:
            raise KeyboardInterrupt
        return advance()

    monkeypatch.setattr(simulation, "advance", interrupted)
    path = tmp_path / "run.nc"
    with pytest.warns(mt.RunWarning, match="interrupted"):
        part = record(simulation, path)
    kept = mt.load_run(path)
    count = len(part.t)
    assert 0 < count < len(whole.t)
    for run in (part, kept):
        assert run.end.events == whole.end.events[: len(run.end.events)] != ()
        np.testing.assert_array_equal(run.closure_error, whole.closure_error[:count])
        np.testing.assert_array_equal(run.reactions("weld"), whole.reactions("weld")[:count])
    resumed = mt.resume_run(path)
    np.testing.assert_array_equal(resumed.q, whole.q)
    np.testing.assert_array_equal(resumed.samples.work, whole.samples.work)
    assert resumed.end == whole.end


@pytest.mark.parametrize("blocks", [1, 2, 3, 4])
@pytest.mark.repeats(2)
def test_a_checkpoint_knows_what_is_switched(blocks):
    system = oscillators().build()
    start = system.assemble({"A": 0.3})
    whole = new_simulation(system, start, t_end=3.4, every=0.01)
    for _ in range(blocks):
        whole.advance()
    again = new_simulation(system, start, t_end=3.4, every=0.01)
    again.restore(whole.checkpoint())
    assert again.mechanism.loops == whole.mechanism.loops
    rest, found = ([*iter(simulation.advance, None)] for simulation in (whole, again))
    for name in ("t", "q", "v", "work"):
        theirs, ours = (np.concatenate([getattr(block, name) for block in each]) for each in (rest, found))
        np.testing.assert_array_equal(ours, theirs)
    assert again.end == whole.end


def test_a_run_file_knows_what_is_switched(tmp_path):
    system = oscillators().build()
    run = system.simulate(system.assemble({"A": 0.3}), 3.4, every=0.01, path=tmp_path / "run.nc")
    loaded = mt.load_run(tmp_path / "run.nc")
    assert [impact.lost for impact in loaded.impacts] == [impact.lost for impact in run.impacts]
    np.testing.assert_array_equal(loaded.reactions("weld"), run.reactions("weld"))
    np.testing.assert_array_equal(loaded.openings, run.openings)
    assert loaded.warnings == ()
    again = loaded.system.simulate(loaded.state(0), 3.4, every=0.01)
    np.testing.assert_array_equal(again.q, run.q)


def test_many_motions_with_switches_are_refused():
    system = oscillators().build()
    starts = [system.assemble({"A": 0.3}), system.assemble({"A": 0.2})]
    with pytest.raises(MomentreeError, match="where joints are released or constraints are switched"):
        system.simulate_many(starts, t_end=1.0, every=0.1)


@pytest.mark.long
def test_conditions_follow_free_parameters():
    m = pendulum(at="T")
    m.parameter("T", 0.4)
    system = m.build(free=["T"])
    start = system.assemble({"hinge": 0.2})
    assert system.simulate(start, 1.0).end.events[0][1] == pytest.approx(0.4)
    assert system.simulate(start, 1.0, parameters={"T": 0.7}).end.events[0][1] == pytest.approx(0.7)


# --- constraints by expressions ---


def flywheels(expression, **conditions):
    m = mt.Model("flywheels", gravity=(0, 0, 0))
    for name, radius in (("A", 1.0), ("B", 2.0)):
        body = m.body(name.lower(), mt.cylinder(mass=1.0, radius=radius, length=0.1))
        m.joint(name, mt.Revolute("z"), m.ground, body)
    m.constrain(expression, name="clutch")
    m.switch("clutch", **conditions)
    return m


@pytest.mark.repeats(2)
@pytest.mark.parametrize("settings", [*METHODS[:3], METHODS[4]], ids=str)
@pytest.mark.parametrize(
    ("expression", "ratio", "on"),
    [("A' - B'", 1.0, "t - 0.5"), ("A' + 2*B'", -2.0, "t - 0.5"), ("A - 2*B - 0.75", 2.0, "A - 2*B - 0.75")],
)
def test_a_clutch_between_flywheels_conserves_what_it_does_not_act_on(expression, ratio, on, settings):
    """With A' = ratio B' after the impact, ratio p_A + p_B is kept."""
    system = flywheels(expression, on=on).build()
    start = system.assemble({}, velocities={"A": 2.0, "B": 0.25})
    run = system.simulate(start, 1.0, every=0.1, **settings)
    I = np.array([0.5, 2.0])
    B = (ratio * I[0] * 2.0 + I[1] * 0.25) / (ratio**2 * I[0] + I[1])
    after = int(np.flatnonzero(np.diff(run.t) == 0)[0]) + 1
    assert run.t[after] == pytest.approx(0.5, rel=1e-9)
    np.testing.assert_allclose(run.v[after:], [[ratio * B, B]] * (len(run.t) - after), rtol=1e-9)
    lost = I @ [4.0, 0.0625] / 2 - I @ [(ratio * B) ** 2, B**2] / 2
    (impact,) = run.impacts
    assert impact.lost == pytest.approx(lost, rel=1e-9)
    assert run.energy.work["clutch switched on"][-1] == pytest.approx(-lost, rel=1e-9)
    # the constraint impulse acts with the coefficients of the expression
    eta = impact.constraints["clutch"]
    assert eta == pytest.approx(I[0] * (ratio * B - 2.0), rel=1e-9)
    assert impact.impulses["A'"] == pytest.approx(eta, rel=1e-9)
    assert impact.impulses["B'"] == pytest.approx(-ratio * eta, rel=1e-9)
    assert run.energy.error < 1e-9
    assert not run.warnings


def test_a_coupling_that_is_switched_off_lets_both_turn_on():
    system = flywheels("A' - B'", off="A - 1").build()
    start = system.assemble({}, velocities={"A": 2.0})
    run = system.simulate(start, 1.0, every=0.1)
    assert run.end.events == (("clutch switched off", pytest.approx(0.5, rel=1e-10)),)
    np.testing.assert_allclose(run.v, 2.0, rtol=1e-12)
    assert run.impacts == ()


def test_a_clutch_on_a_driven_shaft_engages_again_and_again():
    """A motor on A; in each half second that the clutch is engaged, both turn on together."""
    m = flywheels("A' - B'", off="t - 0.5")
    m.switch("clutch", on="sin(2*pi*t)*cos(pi*t/4)")
    m.torque("A", 1.0)
    system = m.build()
    run = system.simulate(system.assemble({}), 1.5, every=0.125)
    assert [name for name, _ in run.end.events] == ["clutch switched off", "clutch switched on"]
    # together for 0.5 s, A alone for 0.5 s, an impact, together for 0.5 s
    w = 0.5 / 2.5
    after = (0.5 * (w + 0.5 / 0.5) + 2.0 * w) / 2.5
    np.testing.assert_allclose(run.v[-1], after + 0.5 / 2.5, rtol=1e-9)
    assert run.energy.error < 1e-9


def test_a_constraint_that_names_a_released_joint_is_refused():
    m = flywheels("A' - B'", off="t - 0.5")
    m.release("A", at=1)
    with pytest.raises(mt.ModelError, match="constraint 'clutch': it names joint 'A', which is switched or released"):
        m.build()


# --- higher pairs, couplings, named frames ---


@every_formulation
@pytest.mark.repeats(1)
def test_a_ball_that_falls_on_a_plane_and_sticks_rolls_on_with_five_sevenths_of_its_speed(formulation):
    r, drop = 0.1, 0.45
    m = mt.Model("ball")
    ball = m.body("ball", mt.sphere(mass=2.0, radius=r))
    m.joint("flight", mt.Free(), m.ground, ball)
    m.roll(ball, radius=r, name="rolling")
    m.switch("rolling", on="0.1 - flight.z")
    system = m.build()
    start = system.assemble({"flight": (0, 0, r + drop, 0, 0, 0, 1)}, velocities={"flight": (1.4, 0, 0, 0, 0, 3.0)})
    run = system.simulate(start, 1.0, formulation=formulation, every=0.1)
    ((name, at),) = run.end.events
    assert (name, at) == ("rolling switched on", pytest.approx(math.sqrt(2 * drop / 9.81), rel=1e-9))
    after = int(np.flatnonzero(np.diff(run.t) == 0)[0]) + 1
    # angular momentum about the point of contact is kept, and the spin about the normal
    vx, vy, vz, wx, wy, wz = run.velocity("flight")[after]  # in axes of the ball
    found = math.hypot(vx, vy), vz, math.hypot(wx, wy), wz
    np.testing.assert_allclose(found, [1, 0, 10, 3], atol=1e-8)
    np.testing.assert_allclose(run["flight"][-1][:3], [1.4 * at + (1 - at), 0, r], atol=1e-8)
    lost = 2.0 * 9.81 * drop + 2.0 * 1.4**2 / 2 * (2 / 7)
    assert run.impacts[0].lost == pytest.approx(lost, rel=1e-8)
    assert run.energy.error < 1e-8
    assert not run.warnings


def test_rolling_that_starts_later_is_checked_for_friction_too():
    """A ball is set on a slope of 45 degrees: rolling needs 2/7 of the slope."""
    m = mt.Model("slope", gravity=(9.81, 0, -9.81))
    ball = m.body("ball", mt.sphere(mass=2.0, radius=0.1))
    m.joint("flight", mt.Free(), m.ground, ball)
    m.roll(ball, radius=0.1, friction=0.2, name="rolling")
    m.switch("rolling", on="t")
    system = m.build()
    start = system.assemble({"flight": (0, 0, 0.1, 0, 0, 0, 1)})
    with pytest.warns(mt.RunWarning, match="rolling contact 'rolling' would slip.*coefficient of 0.286"):
        run = system.simulate(start, 0.2, every=0.1)
    np.testing.assert_allclose(run.friction_needed("rolling")[1:], 2 / 7, rtol=1e-9)
    assert (run.multipliers("rolling")[0] == 0).all()
    assert run["flight"][-1][0] == pytest.approx(5 / 7 * 9.81 * 0.2**2 / 2, rel=1e-9)


@every_formulation
@pytest.mark.repeats(1)
def test_a_string_that_becomes_taut_takes_the_radial_velocity(formulation):
    m = mt.Model("string", gravity=(0, 0, 0))
    puck = m.body("puck", mt.sphere(mass=0.5, radius=0.05))
    m.joint("flight", mt.Free(), m.ground, puck)
    m.frame("p", puck.at((0, 0, 0)))
    m.distance(m.ground, puck, 1.0, name="string")
    m.switch("string", on="p.x^2 + p.y^2 - 1")
    system = m.build()
    start = system.assemble({"flight": (0, 0.6, 0, 0, 0, 0, 1)}, velocities={"flight": (2.0, 0, 0, 0, 0, 0)})
    run = system.simulate(start, 1.0, formulation=formulation, every=0.1)
    assert run.end.events == (("string switched on", pytest.approx(0.4, rel=1e-9)),)
    after = int(np.flatnonzero(np.diff(run.t) == 0)[0]) + 1
    # at (0.8, 0.6) the velocity (2, 0) has the radial part 1.6 and the tangential one 1.2, clockwise
    np.testing.assert_allclose(run.velocity("flight")[after, :3], [1.2 * 0.6, -1.2 * 0.8, 0], atol=1e-8)
    assert run.impacts[0].lost == pytest.approx(0.5 * 1.6**2 / 2, rel=1e-8)
    (impulse,) = run.impacts[0].constraints.values()
    assert abs(impulse) == pytest.approx(0.5 * 1.6, rel=1e-8)
    angle = math.atan2(0.6, 0.8) - 1.2 * 0.6
    np.testing.assert_allclose(run["flight"][-1][:2], [math.cos(angle), math.sin(angle)], atol=1e-8)
    assert run.energy.error < 1e-9


def test_a_planetary_set_is_switched_as_a_whole():
    m = mt.Model("set", gravity=(0, 0, 0))
    wheels = {name: m.body(name, mt.cylinder(mass=1.0, radius=0.2, length=0.1)) for name in ("s", "r", "c", "p")}
    for name in "src":
        m.joint(name, mt.Revolute("z"), m.ground, wheels[name])
    m.joint("p", mt.Revolute("z"), wheels["c"].at((0.3, 0, 0)), wheels["p"])
    m.planetary("s", "r", "c", teeth=(20, 60), planets=["p"], name="gears")
    m.switch("gears", off="t - 0.5")
    m.torque("s", 0.1)
    system = m.build()
    assert system.mobility == 2
    run = system.simulate(system.assemble({}), 1.0, every=0.1)
    before, after = np.flatnonzero(run.t == 0.5)
    assert len(run.mechanism_at(before).constraints) == 2
    assert run.mechanism_at(after).constraints == ()
    # afterwards only the sun is driven
    I = 0.2**2 / 2
    assert run.velocity("s")[-1] - run.velocity("s")[after] == pytest.approx(0.1 * 0.5 / I, rel=1e-9)
    for name in "rcp":
        assert run.velocity(name)[-1] == pytest.approx(run.velocity(name)[after], rel=1e-9)


def test_a_switch_that_chatters_ends_the_motion_with_a_reason():
    m = flywheels("A' - B'", off="sin(1e9*t)")
    m.switch("clutch", on="-sin(1e9*t)")
    system = m.build()
    with pytest.warns(mt.RunWarning, match="'clutch switched o(n|ff)' happens again and again. Leave a gap"):
        run = system.simulate(system.assemble({}, velocities={"A": 1.0}), 1.0, integrator="rk4", step=1e-9)
    assert run.end.reason == "failed"
    assert run.end.t < 1e-6


def test_toggles_are_looked_for_only_while_the_loop_is_closed():
    """A parallelogram is singular where its bars are in line; once it is open, no more."""
    m = four_bar((1.0, 2.5, 1.0, 2.5))
    m.gravity = (0, 0, 0)
    found = []
    for released in (False, True):
        if released:
            m.release("C", when="A - 1")
        system = m.build()
        start = system.assemble({"A": 0.5}, velocities={"A": 2.0}, guess={"D": 0.5})
        run = system.simulate(start, 2.5, every=0.01)
        found.append([toggle.t for toggle in system.toggles(run)])
        assert (run["A"][-1] > 3.2) or released
    assert len(found[0]) == 1
    assert found[1] == []


def test_a_gear_that_does_not_mesh_is_refused_with_the_way_out():
    system = flywheels("A - 2*B", on="t - 0.5").build()
    start = system.assemble({}, velocities={"A": 2.0})
    with pytest.raises(MomentreeError, match=r"'clutch' is switched on, but it is open: closure error 1 .*velocities"):
        system.simulate(start, 1.0)


@pytest.mark.long
def test_all_formulations_agree_on_a_mechanism_with_everything():
    """Moving ground, a prescribed joint, a latch, a loop, a release and a rod that becomes taut."""
    m = mt.Model("everything")
    m.ground.moves(("0.1*sin(3*t)", 0, 0), (0, 0, "0.2*t"))
    arm = m.body("arm", mt.rod(mass=1.0, length=0.5, radius=0.05))
    m.joint("drive", mt.Revolute("z", motion="t + 0.3*sin(2*t)"), m.ground, arm)
    fore = m.body("fore", mt.box(mass=0.8, size=(0.4, 0.1, 0.2)))
    m.joint("elbow", mt.Revolute("y", spring=2.0, damping=0.1), arm.at((0.5, 0, 0)), fore.at((-0.2, 0, 0)))
    m.latch("elbow", at=0.35)
    hand = m.body("hand", mt.box(mass=0.5, size=(0.3, 0.2, 0.1)))
    m.joint("wrist", mt.Spherical(damping=(0.02, 0.02, 0.02)), fore.at((0.2, 0, 0)), hand.at((-0.15, 0, 0)))
    m.release("wrist", at=0.3)
    m.frame("palm", hand.at((0, 0, 0)))
    m.distance(m.ground, hand, 1.2, name="rope")
    m.switch("rope", on="palm.x^2 + palm.y^2 + palm.z^2 - 1.2^2")
    system = m.build()
    start = system.assemble({}, velocities={"elbow": 0.5, "wrist": (0.3, 1.0, -0.5)})
    runs = [
        system.simulate(start, 0.8, formulation=name, every=0.1, rtol=1e-11) for name in ("hamiltonian", "lagrange")
    ]
    runs.append(system.simulate(start, 0.8, formulation="absolute", every=0.1, rtol=1e-11))
    names = {name for name, _ in runs[0].end.events}
    assert names == {"latch of elbow", "release of wrist", "rope switched on"}
    for run in runs:
        assert dict(run.end.events) == pytest.approx(dict(runs[0].end.events), rel=1e-8)
        assert run.energy.error < 1e-7
        assert not run.warnings
        for name in ("palm", "elbow"):
            at = run[name] if name == "elbow" else run.position(hand)
            expected = runs[0][name] if name == "elbow" else runs[0].position(hand)
            np.testing.assert_allclose(at[-1], expected[-1], atol=1e-8)
        assert [impact.lost for impact in run.impacts] == pytest.approx([i.lost for i in runs[0].impacts], rel=1e-6)


@pytest.mark.parametrize("off", [0.41, 0.5, 0.61])
@pytest.mark.parametrize(
    "settings",
    [{}, {"formulation": "lagrange"}, {"stabilization": "baumgarte"}, {"stabilization": "none"}, {"rtol": 1e-5}],
    ids=str,
)
@pytest.mark.parametrize("stiff", [0, 1])
def test_a_condition_that_a_constraint_held_at_zero_must_leave_zero_before_it_rises_again(stiff, settings, off):
    """Two oscillators are welded where they meet. Released, the distance between them begins at zero."""
    m = mt.Model("oscillators", gravity=(0, 0, 0))
    for i, name in enumerate("AB"):
        body = m.body(name.lower(), mt.box(mass=1.0, size=(0.1, 0.1, 0.1)))
        m.joint(name, mt.Prismatic("x", spring=math.tau**2 * (4.0 if i == stiff else 1.0)), m.ground, body)
    m.joint("weld", mt.Fixed(), *m.bodies)
    m.switch("weld", on="A - B")
    m.switch("weld", off=f"t - {off}")
    system = m.build()
    run = system.simulate(system.assemble({"A": -0.3, "B": 0.2}), off + 0.2, every=0.1, **settings)
    assert [name for name, _ in run.end.events] == ["weld switched on", "release of weld"]


# --- several events at one instant ---


def test_latches_at_one_instant_take_each_what_its_own_impulse_takes():
    m = mt.Model("sliders", gravity=(0, 0, 0))
    for i in range(3):
        body = m.body(f"b{i}", mt.box(mass=1.0 + i, size=(0.1, 0.1, 0.1)))
        m.joint(f"x{i}", mt.Prismatic("x"), m.ground, body)
        m.latch(f"x{i}", at=0.5)
    system = m.build()
    run = system.simulate(system.assemble({}, velocities=dict.fromkeys(["x0", "x1", "x2"], 1.0)), 1.0, every=0.1)
    work = {name: each[-1] for name, each in run.energy.work.items()}
    assert work == pytest.approx({"latch of x0": -0.5, "latch of x1": -1.0, "latch of x2": -1.5}, rel=1e-12)
    assert len(run.impacts) == 1


@pytest.mark.parametrize("seed", range(3))
def test_the_energy_of_an_impact_is_divided_among_events_by_their_impulses(seed):
    """Wheels on a common carrier: one locks, a clutch and a gear begin to act, all at one instant."""
    random = np.random.default_rng(seed)
    m = mt.Model("wheels", gravity=(0, 0, 0))
    carrier = m.body("carrier", mt.cylinder(mass=1.0, radius=1.0, length=0.1))
    m.joint("C", mt.Revolute("z"), m.ground, carrier)
    for name in "ABDE":
        wheel = m.body(
            name.lower(), mt.cylinder(mass=random.uniform(0.5, 2), radius=random.uniform(0.3, 1), length=0.1)
        )
        m.joint(name, mt.Revolute("z"), carrier, wheel)
    m.latch("A", at=0.6)
    for name, expression in (("clutch", "C' - B'"), ("gear", "D' + 2*E' - 0.5*B'")):
        m.constrain(expression, name=name)
        m.switch(name, on="A - 0.6")
    system = m.build()
    start = system.assemble({}, velocities={"A": 2.0, **dict(zip("BCDE", random.uniform(-3, 3, 4), strict=True))})
    run = system.simulate(start, 0.8, every=0.1)
    assert len(run.end.events) == 3
    (impact,) = run.impacts
    after = int(np.flatnonzero(np.diff(run.t) == 0)[0]) + 1
    middle = {name: run.velocity(name)[[after - 1, after]].mean() for name in "ABCDE"}
    clutch, gear = impact.constraints["clutch"], impact.constraints["gear"]
    expected = {
        "latch of A": impact.impulses["A'"] * middle["A"],
        "clutch switched on": clutch * (middle["C"] - middle["B"]),
        "gear switched on": gear * (middle["D"] + 2 * middle["E"] - 0.5 * middle["B"]),
    }
    assert {name: work[-1] for name, work in run.energy.work.items()} == pytest.approx(expected, rel=1e-9)
    assert sum(expected.values()) == pytest.approx(-impact.lost, rel=1e-9)
    assert run.energy.error < 1e-9 * run.energy.through


def test_joints_that_release_at_one_instant_take_each_the_energy_of_its_own_spring():
    m = mt.Model("released", gravity=(0, 0, 0))
    for i, k in enumerate((5.0, 8.0)):
        rod = m.body(f"b{i}", mt.rod(mass=1.0, length=0.5, radius=0.05))
        m.joint(f"j{i}", mt.Revolute("y", spring=k, rest=1.0), m.ground.at((0, i, 0)), rod)
        m.release(f"j{i}", at=0.1)
    system = m.build()
    run = system.simulate(system.assemble(), 0.3, every=0.1)
    before = int(np.flatnonzero(np.diff(run.t) == 0)[0])
    for i, k in enumerate((5.0, 8.0)):
        spring = k * (run[f"j{i}"][before] - 1.0) ** 2 / 2
        assert run.energy.work[f"release of j{i}"][-1] == pytest.approx(-spring, rel=1e-9)
    assert run.energy.error < 1e-9
