"""Torques of mechanisms with couplings, rolling and constraints: closed forms, and put back into forward dynamics."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from laws.test_constraint_forces import SETS, T, constrained
from momentree.analyse.actuation import actuation
from momentree.equations.articulated import forward_dynamics
from momentree.equations.constraint_forces import multipliers_of, reacting_constraints
from momentree.equations.evaluation import Evaluation
from momentree.errors import MomentreeError


def gear_pair(J=(0.5, 2.0), load="-3") -> mt.Model:
    m = mt.Model("gear pair", gravity=(0, 0, 0))
    for name, inertia, at in (("A", J[0], 0.0), ("B", J[1], 0.3)):
        m.joint(name, mt.Revolute("z"), m.ground.at((at, 0, 0)), m.body(name, mass=1.0, inertia=(1, 1, inertia)))
    m.gear("A", "B", radii=(0.1, 0.2))
    m.torque("B", load)
    return m


def test_a_pinion_holds_a_load_by_the_ratio_of_the_radii():
    system = gear_pair().build()
    start = system.assemble({"A": 0.7})
    found = system.actuation(start.q, start.v, {"A": 0.0}, joints=["A"])
    assert found.torques["A"] == pytest.approx(-1.5, rel=1e-12)  # tau_A A' + tau_B B' = 0 with B' = -A' / 2
    assert found.multipliers["gear 1"][0] == pytest.approx(1.5, rel=1e-12)  # A + 2 B = 0: 2 lambda holds the load
    assert found.reactions["A"] == pytest.approx([0, 0, 0, 0, 0, 0], abs=1e-12)  # the drive and the gear cancel
    assert found.reactions["B"][5] == pytest.approx(0, abs=1e-12)


def test_a_pinion_accelerates_both_inertias():
    system = gear_pair(load="0").build()
    start = system.assemble({"A": 0.7}, velocities={"A": 3.0})
    found = system.actuation(start.q, start.v, {"A": 5.0}, joints=["A"])
    assert found.torques["A"] == pytest.approx((0.5 + 2.0 / 4) * 5, rel=1e-12)
    assert found.vdot == pytest.approx([5, -2.5], rel=1e-12)
    other = system.actuation(start.q, start.v, {"B": -2.5}, joints=["B"])  # or driven by the wheel
    assert other.torques["B"] == pytest.approx((2.0 + 0.5 * 4) * -2.5, rel=1e-12)
    both = system.actuation(start.q, start.v, {"A": 5.0}, joints=["A", "B"])
    assert both.redundant == 1
    assert both.torques["A"] - both.torques["B"] / 2 == pytest.approx(5.0, rel=1e-12)


def test_a_differential_needs_a_torque_on_two_of_its_three_shafts():
    m = mt.Model("differential", gravity=(0, 0, 0))
    for name, inertia in (("left", 0.3), ("right", 0.7), ("case", 1.1)):
        m.joint(name, mt.Revolute("x"), m.ground, m.body(f"{name} shaft", mass=1.0, inertia=(inertia, 1, 1)))
    m.differential("left", "right", "case")
    system = m.build()
    start = system.assemble({"left": 0.4, "right": 0.2}, velocities={"left": 2.0, "right": 1.0})
    found = system.actuation(start.q, start.v, {"left": 1.0, "right": 0.5}, joints=["left", "right"])
    # left and right each bear half of what turns the case
    assert found.torques["left"] == pytest.approx(0.3 * 1.0 + 1.1 * 0.75 / 2, rel=1e-12)
    assert found.torques["right"] == pytest.approx(0.7 * 0.5 + 1.1 * 0.75 / 2, rel=1e-12)
    with pytest.raises(MomentreeError, match=r"actuation by 'case' is not sufficient: nothing drives the motion"):
        system.actuation(start.q, start.v, {"left": 1.0, "right": 0.5}, joints=["case"])
    with pytest.raises(MomentreeError, match=r"vdot leaves the motion .* open"):
        system.actuation(start.q, start.v, {"left": 1.0}, joints=["left", "right"])


def test_a_wheel_drives_a_cart_by_rolling():
    m = mt.Model("cart")
    cart = m.body("cart", mass=8.0, inertia=(1, 1, 1))
    wheel = m.body("wheel", mass=2.0, inertia=(0.1, 0.09, 0.1))
    m.joint("slide", mt.Prismatic("x"), m.ground.at((0, 0, 0.3)), cart)
    m.joint("axle", mt.Revolute("y"), cart, wheel)
    m.roll(wheel, radius=0.3, disc="y")
    system = m.build()
    start = system.assemble({"slide": 0.2}, velocities={"slide": 1.5})
    found = system.actuation(start.q, start.v, {"slide": 2.0}, joints=["axle"])
    assert found.torques["axle"] == pytest.approx((10 * 0.3 + 0.09 / 0.3) * 2.0, rel=1e-10)
    # the force along the ground accelerates the cart
    assert found.reactions["roll 1"][0] == pytest.approx(10 * 2.0, rel=1e-10)
    assert np.linalg.norm(found.multipliers["roll 1"][1:]) == pytest.approx(20.0, rel=1e-10)


@pytest.mark.repeats(2)
@pytest.mark.parametrize(("names", "seed"), [(names, seed) for seed, names in enumerate(SETS)])
def test_torques_and_multipliers_are_those_of_forward_dynamics(names, seed):
    _, m, q, v = constrained(names, seed)
    random = np.random.default_rng(seed)
    joints = [body.joint.name for body in m.bodies if body.v.stop > body.v.start]
    tau = random.standard_normal(m.nv)
    a = np.array(forward_dynamics(Evaluation(m, q, T), v, tau), dtype=float)
    found = actuation(m, q, v, a, joints, T)
    again = np.concatenate([np.atleast_1d(found.torques[joint]) for joint in joints])
    np.testing.assert_allclose(
        np.array(forward_dynamics(Evaluation(m, q, T), v, again), dtype=float), a, rtol=0, atol=1e-7 * np.abs(a).max()
    )
    assert found.redundant >= len(names) - 1
    # without torques, everything is as it moves freely
    free = np.array(forward_dynamics(Evaluation(m, q, T), v, [0] * m.nv), dtype=float)
    found, reacting = actuation(m, q, v, free, joints, T), reacting_constraints(Evaluation(m, q, T), v)
    largest = max(np.abs(x).max() for x in found.multipliers.values())
    for name in names:
        right = np.array(multipliers_of(m, reacting, name), dtype=float)
        np.testing.assert_allclose(found.multipliers[name], right, rtol=0, atol=1e-6 * largest)


def test_motions_that_violate_constraints_are_refused_by_name():
    system = gear_pair().build()
    start = system.assemble({"A": 0.7}, velocities={"A": 1.0})
    q, v = start.q, start.v
    wrong = {
        "the motion opens 'gear 1': closure error": (q + 0.1, v, [0, 0], ["A"]),
        "the motion opens 'gear 1': velocity": (q, v + 0.1, [0, 0], ["A"]),
        "the motion opens 'gear 1': acceleration": (q, v, [1, 1], ["A"]),
        "vdot of 'A', 'B' together would open the loops": (q, v, {"A": 1.0, "B": 1.0}, ["A"]),
    }
    for message, given in wrong.items():
        with pytest.raises(MomentreeError, match=message):
            system.actuation(*given)
