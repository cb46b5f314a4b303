"""Reactions of joints in loops: against Newton's and Euler's equations of all bodies, and wherever loops are cut."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import bennett, four_bar, four_bars_in_a_row, random_loops, slider_crank
from momentree.assembly.configuration import Configuration
from momentree.assembly.configuration_space import integrate
from momentree.equations.articulated import forward_dynamics
from momentree.equations.evaluation import Evaluation
from momentree.equations.joint_reactions import joint_reactions

# bodies of the four-bar: mass, length, and where rods begin; hinges: (body, its end), (body, its end), -1 is the ground
LENGTHS = (1.0, 2.0, 2.0)
HINGES = {"A": ((-1, 0.0), (0, 0.0)), "B": ((0, 1.0), (1, 0.0)), "D": ((-1, 2.5), (2, 0.0)), "C": ((1, 2.0), (2, 2.0))}


def newton_and_euler(angles, velocities):
    """Forces (x, z) of each hinge on its second body, and angular accelerations, of rods in the plane x, z.

    Unknown are accelerations of the centres of mass, angular accelerations and forces; rods turn about y.
    """
    n, h = len(LENGTHS), len(HINGES)
    inertia = [length**2 / 12 for length in LENGTHS]
    K, right = np.zeros((3 * n + 2 * h, 3 * n + 2 * h)), np.zeros(3 * n + 2 * h)
    K[: 3 * n, : 3 * n] = np.diag(np.repeat(1.0, 3 * n))
    for i in range(n):
        K[3 * i + 2, 3 * i + 2] = inertia[i]
        right[3 * i + 1] = -9.81

    def out(i, s):  # from the centre of mass of a rod to its point s
        return (s - LENGTHS[i] / 2) * np.array([np.cos(angles[i]), -np.sin(angles[i])])

    for k, (first, second) in enumerate(HINGES.values()):
        row = 3 * n + 2 * k
        for sign, (i, s) in ((-1, first), (1, second)):
            if i < 0:
                continue
            r = out(i, s)
            turned = np.array([r[1], -r[0]])  # d r / d angle about y
            for axis in range(2):
                K[3 * i + axis, row + axis] -= sign
                K[3 * i + 2, row + axis] -= sign * turned[axis]
                K[row + axis, 3 * i + axis] += sign
                K[row + axis, 3 * i + 2] += sign * turned[axis]
                right[row + axis] += sign * velocities[i] ** 2 * r[axis]
    x = np.linalg.solve(K, right)
    return {name: x[3 * n + 2 * k :][:2] for k, name in enumerate(HINGES)}, x[2 : 3 * n : 3]


def turning(model, seconds=1.0):
    system = model.build()
    return system, system.simulate(system.assemble({"A": 1.0}, velocities={"A": 0.5}), seconds, every=0.1, rtol=1e-10)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("cut", ["A", "B", "C", "D"])
def test_reactions_of_a_four_bar_obey_newton_and_euler(cut):
    model = four_bar()
    model.cut(cut)
    system, run = turning(model)
    angles = np.stack([run["A"], run["A"] + run["B"], run["D"]], axis=1)
    velocities = np.stack([run.velocity("A"), run.velocity("A") + run.velocity("B"), run.velocity("D")], axis=1)
    found = {name: run.reactions(name) for name in HINGES}
    for k in range(len(run.t)):
        forces, turns = newton_and_euler(angles[k], velocities[k])
        for name, force in forces.items():
            np.testing.assert_allclose(found[name][k], [force[0], 0, force[1], 0, 0, 0], rtol=0, atol=1e-9)
        a = dict(zip(map(str, system.mechanism.velocities), system.forward_dynamics(run.q, run.v)[k], strict=True))
        assert a.get("A'", turns[0]) == pytest.approx(turns[0], abs=1e-9)
        assert a.get("D'", turns[2]) == pytest.approx(turns[2], abs=1e-9)


def test_reactions_do_not_depend_on_which_half_of_a_split_body_has_the_mass():
    _, run = turning(four_bar())
    for share in (0.3, 0.8):
        model = four_bar()
        model.split("coupler", "C", share=share)
        _, split = turning(model)
        for name in HINGES:
            np.testing.assert_allclose(split.reactions(name), run.reactions(name), rtol=0, atol=1e-7)


def sliding(cut, turned):
    """A pin of a crank drives a slide: its guide has a moment, and a place for it."""
    m = slider_crank()
    (guide,) = [joint for joint in m.joints if joint.name == "D"]
    if turned:
        m.joints.remove(guide)
        m.joint("D", mt.Prismatic("x"), guide.second, guide.first)
    m.cut(cut)
    system = m.build()
    run = system.simulate(system.assemble({"A": 1.0}, velocities={"A": 0.5}), 0.5, every=0.1, rtol=1e-11)
    return {name: run.reactions(name) for name in "ABCD"}


@pytest.mark.long
def test_sign_and_reference_point_of_reactions_do_not_depend_on_the_cut():
    # in the plane everything is determined
    plane = [0, 1, 5]
    found = {cut: sliding(cut, turned=False) for cut in "ABCD"}
    for cut in "BCD":
        for name in "ABCD":
            np.testing.assert_allclose(found[cut][name][:, plane], found["A"][name][:, plane], rtol=0, atol=1e-8)
    for cut in "AD":
        back = sliding(cut, turned=True)["D"]
        np.testing.assert_allclose(back[:, :2], -found["A"]["D"][:, :2], rtol=0, atol=1e-8)
        # about the ground's origin, not the slider's: it has the moment of the force there
        assert np.abs(back[:, 5]).min() > 1e-3
    np.testing.assert_allclose(sliding("A", True)["D"][:, plane], sliding("D", True)["D"][:, plane], rtol=0, atol=1e-8)


def changes_of_momentum(mechanism, q, v, a, t=0.0):
    """Of each body, in inertial axes about the inertial origin, by differences along the motion."""

    def slope(h):
        ends = []
        for k in (h, -h):
            at = integrate(mechanism, q, k * v + k * k / 2 * a), v + k * a
            ends.append(body_momenta(mechanism, *at))
        return (ends[0] - ends[1]) / (2 * h)

    return (4 * slope(5e-5) - slope(1e-4)) / 3


def body_momenta(mechanism, q, v):
    bodies = Configuration(mechanism, q, v).bodies
    return np.array([[*record.X_0.force_to_parent(record.inertia @ record.v)] for record in bodies[1:]], dtype=float)


@pytest.mark.parametrize("seed", range(6))
def test_reactions_and_forces_change_the_momentum_of_each_body_of_random_loops(seed):
    random = np.random.default_rng(seed)
    kinds = ["Revolute", "Universal", "Spherical", "Cylindrical", "Free", "Planar", "Prismatic"]
    closing = [["Spherical"], ["Universal"], ["Cylindrical"], ["Revolute"], ["PinSlot", "Spherical"], ["Screw"]][seed]
    model, q = random_loops(random, kinds, closing)
    system = model.build()
    m = system.mechanism
    J = Configuration(m, q).jacobian()
    v = random.standard_normal(m.nv)
    v -= np.linalg.pinv(J) @ (J @ v)
    a = np.array(forward_dynamics(Evaluation(m, q), v, [0] * m.nv), dtype=float)
    found = {name: np.array([*wrench], dtype=float) for name, wrench in joint_reactions(Evaluation(m, q), v).items()}
    # weights
    total = np.zeros((len(m.bodies) + 1, 6))
    placed = Configuration(m, q).bodies
    for body in m.bodies:
        X = placed[body.number].X_0
        weight = np.array([*m.gravity]) * body.inertia.mass
        centre = X.rotation @ body.inertia.h / body.inertia.mass + X.offset
        total[body.number] += [*weight, *np.cross([*centre], weight)]
    # joints: each pushes its second body, and its first back
    for joint in model.joints:
        first, second = m.attach(joint.first), m.attach(joint.second)
        point = [*(placed[second.body].X_0 @ second.placement).offset]
        f, moment = found[joint.name][:3], found[joint.name][3:]
        wrench = np.array([*f, *(moment + np.cross(point, f))])
        total[second.body] += wrench
        total[first.body] -= wrench
    np.testing.assert_allclose(changes_of_momentum(m, q, v, a), total[1:], rtol=0, atol=2e-6 * np.abs(total).max())
    assert np.abs(found["c1"]).max() > 1e-3  # and the loop does something


LINKAGES = {
    "four-bar": (four_bar, {"A": 1.0}),
    "slider-crank": (slider_crank, {"A": 1.0}),
    "Bennett": (bennett, {"R1": 1.0}),  # three of five constraints are redundant
    "two four-bars": (lambda: four_bars_in_a_row(2), {"G0": 0.5}),
}


@pytest.mark.parametrize("name", LINKAGES)
@pytest.mark.repeats(2)
def test_forward_dynamics_with_loops_solves_the_equations_of_the_first_kind(name):
    build, given = LINKAGES[name]
    system = build().build()
    start = system.assemble(given, velocities=dict.fromkeys(given, 0.7))
    random = np.random.default_rng(1)
    tau = random.standard_normal((40, system.nv))
    found = system.forward_dynamics(start.q, start.v, tau)
    q, v, m = start.q, start.v, system.mechanism
    J, after, before = (Configuration(m, q + h * v, v).jacobian() for h in (0, 1e-4, -1e-4))
    K = np.block([[system.mass_matrix(q), J.T], [J, np.zeros((len(J), len(J)))]])
    turning = np.broadcast_to((after - before) @ v / 2e-4, (40, len(J)))
    right = np.concatenate([tau - system.bias(q, v), -turning], axis=1)
    expected = np.linalg.lstsq(K, right.T, rcond=1e-9)[0][: system.nv].T
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(system.forward_dynamics(q, v, tau[3]), found[3], rtol=0, atol=1e-11)
