"""Reactions of joints in loops: weight at rest, change of momentum, equal and opposite wrenches, work of the drive."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import bennett, four_bar, four_bars_in_a_row, slider_crank
from momentree.assembly.configuration import Configuration
from momentree.assembly.configuration_space import integrate
from momentree.equations.balance import momentum
from momentree.equations.evaluation import Evaluation


def spatial_crank() -> mt.Model:
    """Crank and rocker turn about axes across each other; a ball and a universal joint hold the coupler."""
    m = mt.Model("spatial crank")
    crank = m.body("crank", mt.rod(mass=1.0, length=0.5))
    coupler = m.body("coupler", mt.rod(mass=1.0, length=2.0))
    rocker = m.body("rocker", mt.rod(mass=1.0, length=1.5))
    m.joint("A", mt.Revolute("z"), m.ground, crank)
    m.joint("B", mt.Spherical(), crank.at((0.5, 0, 0)), coupler)
    m.joint("C", mt.Universal("y", "z"), coupler.at((2.0, 0, 0)), rocker.at((1.5, 0, 0)))
    m.joint("D", mt.Revolute("y"), m.ground.at((1.5, 0.5, 1.0)), rocker)
    return m


LINKAGES = {
    "four-bar": (four_bar, {"A": 1.0}, "AD"),
    "slider-crank": (slider_crank, {"A": 1.0}, "AD"),
    "Bennett": (bennett, {"R1": 1.0}, ["R1", "R4"]),  # three of five constraints are redundant
    "two four-bars": (lambda: four_bars_in_a_row(2), {"G0": 0.5}, ["G0", "G1", "G2"]),
    "spatial crank": (spatial_crank, {"A": 0.5}, "AD"),
}


def from_the_ground(system, run, joints):
    """The wrench of the joints at the ground on the mechanism, about the inertial origin."""
    total = np.zeros((len(run.t), 6))
    for name in joints:
        joint = system.mechanism.by_joint[name].joint
        found = run.reactions(name)
        moment = found[:, 3:] + np.cross(run.position(joint.second), found[:, :3])
        sign = -1 if joint.second.body == "ground" else 1
        total += sign * np.concatenate([found[:, :3], moment], axis=1)
    return total


def weights(mechanism, q):
    """Of all bodies, about the inertial origin."""
    g, placed = np.array([*mechanism.gravity]), Configuration(mechanism, q).bodies
    first = [
        placed[b.number].X_0.rotation @ b.inertia.h + placed[b.number].X_0.offset * b.inertia.mass
        for b in mechanism.bodies
    ]
    mass = sum(body.inertia.mass for body in mechanism.bodies)
    return np.concatenate([mass * g, np.cross(np.sum([[*moment] for moment in first], axis=0), g)])


@pytest.mark.repeats(1)
@pytest.mark.parametrize("name", LINKAGES)
def test_reactions_of_the_ground_and_weight_are_the_derivative_of_momentum(name):
    # reactions that are undetermined one by one are determined in their sum
    build, given, joints = LINKAGES[name]
    system = build().build()
    start = system.assemble(given, velocities=dict.fromkeys(given, 0.7))
    run = system.simulate(start, 0.05, every=0.05)
    found, m = from_the_ground(system, run, joints), system.mechanism
    for k in range(len(run.t)):
        q, v, a = run.q[k], run.v[k], system.forward_dynamics(run.q[k], run.v[k])

        def slope(h, q=q, v=v, a=a):
            ends = [momentum(Evaluation(m, integrate(m, q, s * v + s * s / 2 * a)), v + s * a) for s in (h, -h)]
            return (np.array([*ends[0]]) - np.array([*ends[1]])) / (2 * h)

        change = (4 * slope(1e-4) - slope(2e-4)) / 3
        np.testing.assert_allclose(found[k] + weights(m, q), change, rtol=0, atol=1e-6 * np.abs(found).max())


def replaced(model, name, **fields):
    """The model with a joint that is prescribed, or that no longer is."""
    (old,) = [joint for joint in model.joints if joint.name == name]
    place = model.joints.index(old)
    turned = fields.pop("turned", False)
    ends = (old.second, old.first) if turned else (old.first, old.second)
    model.joints.remove(old)
    model.joint(name, old.type.with_fields(**fields), *ends)
    model.joints.insert(place, model.joints.pop())
    return model


def test_at_rest_the_ground_bears_the_weight():
    system = replaced(four_bar(), "A", motion="1").build()  # nothing can move
    run = system.simulate(system.assemble(), 0.1, every=0.1)
    expected = -np.stack([weights(system.mechanism, q) for q in run.q])
    np.testing.assert_allclose(from_the_ground(system, run, "AD"), expected, rtol=0, atol=1e-10)
    # moments about the middle of the rocker: across it both its hinges bear half of its weight
    along = run.position(system.mechanism.by_joint["C"].joint.second)[0] - run.position("rocker")[0]
    across = np.cross(along, [0, 1.0, 0]) / 2.0
    for name in "CD":
        assert run.reactions(name)[0, :3] @ across == pytest.approx(9.81 / 2 * across[2], abs=1e-10)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("name", "ABCD")
def test_a_joint_acts_on_its_two_bodies_with_opposite_wrenches(name):
    def found(turned):
        system = replaced(four_bar(), name, turned=turned).build()
        angle = 0.7 * (-1 if turned and name == "A" else 1)
        start = system.assemble({"A": angle}, velocities={"A": angle}, guess=None)
        return system.simulate(start, 0.2, every=0.1, rtol=1e-11).reactions(name)

    np.testing.assert_allclose(found(True), -found(False), rtol=0, atol=1e-8)


# --- the energy account ---

STABILIZATIONS = {"hamiltonian": ("project", "leak"), "lagrange": ("project", "baumgarte", "programme")}


@pytest.mark.repeats(1)
@pytest.mark.parametrize(
    ("formulation", "stabilization"), [(name, each) for name, those in STABILIZATIONS.items() for each in those]
)
def test_the_drive_of_a_crank_does_the_work_that_the_energy_shows(formulation, stabilization):
    model = replaced(four_bar(), "A", motion="1 + 0.5*sin(3*t)")
    replaced(model, "D", damping=0.1)
    model.cut("C")
    system = model.build()
    run = system.simulate(system.assemble(), 1.0, formulation, stabilization, rtol=1e-11, every=0.1)
    assert np.ptp(run.energy.work["motion of A"]) > 1
    assert run.energy.error < 1e-8
    # the work is that of the moment at A along its velocity, by trapezia on a fine grid
    fine = system.simulate(system.assemble(), 1.0, formulation, stabilization, rtol=1e-11, every=1e-3)
    power = fine.reactions("A")[:, 4] * fine.velocity("A")
    work = np.sum((power[1:] + power[:-1]) / 2 * np.diff(fine.t))
    assert fine.energy.work["motion of A"][-1] == pytest.approx(work, abs=1e-4)


def test_a_moving_ground_does_the_work_that_the_energy_shows():
    model = four_bar()
    model.ground.moves(("0.1*sin(5*t)", 0, "0.2*t^2"), (0, "0.3*sin(2*t)", 0))
    system = model.build()
    run = system.simulate(system.assemble({"A": 1.0}), 1.0, rtol=1e-11, every=0.1)
    assert np.ptp(run.energy.work["motion of the ground"]) > 1
    assert run.energy.error < 1e-8


def test_without_constraint_forces_of_the_loop_the_energy_account_does_not_balance(monkeypatch):
    from momentree.compile.trace import right_hand_sides

    monkeypatch.setattr(right_hand_sides, "constraint_wrenches", lambda mechanism, moving: [])
    system = replaced(four_bar(), "A", motion="1 + 0.5*sin(3*t)").build()
    with pytest.warns(mt.RunWarning, match="energy is out of balance"):
        run = system.simulate(system.assemble(), 1.0, every=0.1)
    assert run.energy.error > 0.1


# --- latches ---


def chain(joint_of):
    """Three rods in a row; the joints B and C are what is asked for."""
    m = mt.Model("chain")
    bodies = [m.body(name, mt.rod(mass=1.0, length=1.0, along="-z")) for name in ("upper", "middle", "lower")]
    m.joint("A", mt.Revolute("y"), m.ground, bodies[0])
    for name, first, second in zip("BC", bodies, bodies[1:], strict=False):
        joint, turned = joint_of(name)
        m.joint(name, joint, first.at((0, 0, -1)), second.at((0, 0, 0), mt.turn("y", -turned)))
    return m


def test_locked_joints_transmit_the_wrench_of_welds():
    at = {"B": 0.3, "C": 0.6}
    m = chain(lambda name: (mt.Revolute("y"), 0.0))
    for name, angle in at.items():
        m.latch(name, angle)
    system = m.build()
    run = system.simulate(system.assemble({"A": 0.3}, velocities={"B": 5.0, "C": 8.0}), 1.0, every=0.05, rtol=1e-11)
    names, times = zip(*run.end.events, strict=True)
    assert len(times) == 2
    locked = set()
    for name, t in zip(names, times, strict=True):
        locked.add(name.removeprefix("latch of "))
        after = int(np.flatnonzero(run.t == t)[-1])
        assert run.t[after - 1] == t
        other = chain(lambda joint: (mt.Fixed(), at[joint]) if joint in locked else (mt.Revolute("y"), 0.0)).build()
        free = [joint for joint in "ABC" if joint not in locked]
        start = {joint: run[joint][after] for joint in free}, {joint: run.velocity(joint)[after] for joint in free}
        again = other.simulate(other.assemble(*start, t=t), t + 1e-3)
        for joint in "ABC":
            np.testing.assert_allclose(run.reactions(joint)[after], again.reactions(joint)[0], rtol=0, atol=1e-9)
        hinges = [np.abs(run.reactions(joint)[[after - 1, after], 4]) for joint in "BC" if joint in locked]
        assert hinges[-1][1] > 1e-3
    assert np.abs(run.reactions("B")[0, 4]) < 1e-9


def test_a_linkage_that_has_locked_rests_on_the_ground():
    model = four_bar()
    model.latch("A", 1.5)
    system = model.build()
    run = system.simulate(system.assemble({"A": 1.0}), 1.0, every=0.1)
    assert len(run.end.events) == 1
    assert np.abs(run.v[-1]).max() < 1e-9
    np.testing.assert_allclose(
        from_the_ground(system, run, "AD")[-1], -weights(system.mechanism, run.q[-1]), rtol=0, atol=1e-8
    )
