"""Forces of constraints in runs: rolling down a slope and off a ball, gears, moving constraints, and their names."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import momentree as mt
from momentree.errors import MomentreeError
from momentree.look.run_tables import run_data

g = 9.81
SOLID = 0.4  # inertia of a solid ball by m r^2


def ball(model, mass=2.0, radius=0.1):
    return model.body("ball", mass=mass, inertia=(SOLID * mass * radius**2,) * 3)


def slope(angle, **roll):
    """A ball on a slope, at rest."""
    m = mt.Model("ball on a slope")
    body = ball(m)
    m.joint("J", mt.Free(), m.ground, body)
    m.roll(body, on=m.ground.at((0, 0, 0), mt.turn("y", angle)), radius=0.1, **roll)
    return m.build()


def quietly(system, start, t_end, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mt.RunWarning)
        return system.simulate(start, t_end, **how)


@pytest.mark.parametrize("angle", [0.0, 0.3, 0.9])
@pytest.mark.repeats(1)
def test_a_ball_on_a_slope_needs_two_sevenths_of_its_tangent(angle):
    system = slope(angle)
    run = quietly(system, system.assemble(), 0.5, every=0.1)
    np.testing.assert_allclose(run.friction_needed("roll 1"), 2 / 7 * math.tan(angle), rtol=0, atol=1e-9)
    forces = run.rolling_forces("roll 1")
    np.testing.assert_allclose(forces.normal, 2 * g * math.cos(angle), rtol=1e-9)
    np.testing.assert_allclose(forces.tangential, 2 / 7 * 2 * g * math.sin(angle), rtol=1e-9, atol=1e-12)
    # the same as a wrench on the ball about its centre: the force has a moment by the radius
    wrench = run.reactions("roll 1")
    np.testing.assert_allclose(np.linalg.norm(wrench[:, :3], axis=1), np.hypot(forces.normal, forces.tangential))
    np.testing.assert_allclose(np.linalg.norm(wrench[:, 3:], axis=1), 0.1 * forces.tangential, atol=1e-12)
    assert run.warnings == ()


def test_a_run_warns_where_friction_does_not_suffice():
    system = slope(0.9, friction=0.3)  # it needs 0.36
    with pytest.warns(mt.RunWarning, match="rolling contact 'roll 1' would slip from t = 0 s on: it needs"):
        run = system.simulate(system.assemble(), 0.3, every=0.1)
    assert "a coefficient of 0.36" in run.warnings[0]
    assert "friction is 0.3. Raise it" in run.warnings[0]
    assert "rolling       roll 1 needs a friction coefficient of 0.36 at most" in str(run)
    assert run_data(run)["friction_needed"]["roll 1"] == pytest.approx(2 / 7 * math.tan(0.9), rel=1e-9)
    enough = slope(0.9, friction=0.37)
    assert enough.simulate(enough.assemble(), 0.3, every=0.1).warnings == ()


def on_a_ball(large, small, **roll):
    """A ball near the top of a large one that is fixed, or near the bottom of a hollow one."""
    m = mt.Model("ball on a ball")
    body = ball(m, radius=small)
    m.joint("J", mt.Free(), m.ground, body)
    m.roll(body, on="ground", radius=small, ball=large, **roll)
    return m.build()


def test_a_ball_leaves_a_ball_where_the_cosine_is_ten_seventeenths():
    system = on_a_ball(1.0, 0.1)
    tilt = 0.05
    start = system.assemble({"J.x": 1.1 * math.sin(tilt), "J.y": 0.0, "J.z": 1.1 * math.cos(tilt)})
    with pytest.warns(mt.RunWarning, match="rolling contact 'roll 1' would have to pull from t = "):
        run = system.simulate(start, 3.0, every=0.002)
    cosine = run["J"][:, 2] / 1.1
    forces, leaves = run.rolling_forces("roll 1"), 10 / 17 * math.cos(tilt)
    first = int(np.flatnonzero(forces.lifts)[0])
    assert cosine[first] < leaves < cosine[first - 1]
    assert np.isfinite(run.friction_needed("roll 1")[:first]).all()
    assert np.isinf(run.friction_needed("roll 1")[first])
    assert f"from t = {run.t[first]:g} s on" in run.warnings[0]


def test_a_hollow_ball_pushes_inwards():
    system = on_a_ball(-1.0, 0.1, friction=1.0)
    start = system.assemble({"J.x": 0.3, "J.y": 0.0}, guess={"J.z": -0.8})
    run = system.simulate(start, 1.0, every=0.05)
    assert run["J"][0, 2] < 0
    # at rest: N = m g cos, T = 2/7 m g sin
    angle = math.asin(0.3 / 0.9)
    assert run.rolling_forces("roll 1").normal[0] == pytest.approx(2 * g * math.cos(angle), rel=1e-9)
    assert run.friction_needed("roll 1")[0] == pytest.approx(2 / 7 * math.tan(angle), rel=1e-9)
    assert (run.rolling_forces("roll 1").normal > 0).all()
    assert run.warnings == ()


# --- couplings ---


def geared_pendulums(**latch):
    m = mt.Model("geared pendulums")
    for i, name in enumerate("AB"):
        rod = m.body(f"rod {name}", mt.rod(mass=1.0 + i, length=1.0, along="-z"))
        m.joint(name, mt.Revolute("y"), m.ground.at((3.0 * i, 0, 0)), rod)
    m.gear("A", "B", ratio=2.0)
    for joint, at in latch.items():
        m.latch(joint, at)
    return m.build()


def test_a_gear_transmits_what_the_acceleration_takes():
    system = geared_pendulums()
    run = system.simulate(system.assemble({"A": 0.8}), 1.0, every=0.1, rtol=1e-11)
    forces = run.reactions("gear 1")
    # J q'' = -m g l/2 sin q + force of the gear, of each rod by itself
    a = system.forward_dynamics(run.q, run.v)
    for i, name in enumerate("AB"):
        mass = 1.0 + i
        needed = mass / 3 * a[:, i] + mass * g / 2 * np.sin(run[name])
        np.testing.assert_allclose(forces[name], needed, rtol=0, atol=1e-10)
    np.testing.assert_allclose(forces.joints["B"], 2 * forces.joints["A"], rtol=1e-14)  # A + 2 B = 0
    np.testing.assert_allclose(run.multipliers("gear 1")[:, 0], forces.multiplier)
    assert run.multipliers("gear 1").shape == (len(run.t), 1)
    # the gear acts along the joint, and is part of what the joint transmits
    np.testing.assert_allclose(run.reactions("A")[:, 4], forces["A"], rtol=0, atol=1e-10)
    assert np.abs(run.constraint_power("gear 1")).max() < 1e-12


@pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange", "absolute"])
def test_multipliers_do_not_depend_on_the_formulation(formulation):
    system = geared_pendulums()
    run = system.simulate(system.assemble({"A": 0.8}), 1.0, formulation, every=0.25, rtol=1e-11)
    other = system.simulate(system.assemble({"A": 0.8}), 1.0, every=0.25, rtol=1e-12)
    np.testing.assert_allclose(run.multipliers("gear 1"), other.multipliers("gear 1"), rtol=0, atol=1e-8)


def test_a_gear_holds_what_is_coupled_with_a_joint_that_has_locked():
    system = geared_pendulums(A=0.2)
    run = system.simulate(system.assemble({"A": 0.8}), 2.0, every=0.1)
    assert len(run.end.events) == 1
    forces = run.reactions("gear 1")
    assert forces["B"][-1] == pytest.approx(2 * g / 2 * math.sin(-0.1), rel=1e-9)  # the weight of the second rod
    assert forces["B"][0] != pytest.approx(forces["B"][-1], rel=1e-2)


def test_points_on_a_circle_feel_a_force_at_the_frame():
    m = mt.Model("bead on a circle")
    bead = m.body("bead", mass=2.0, inertia=(1e-3, 1e-3, 1e-3))
    m.joint("J", mt.Free(), m.ground, bead)
    m.frame("point", bead.at((0, 0, 0)))
    m.constrain("point.x^2 + point.z^2 = 1", "circle")
    m.constrain("point.y", "plane")
    system = m.build()
    run = system.simulate(system.assemble({"J.x": math.sin(0.5), "J.z": -math.cos(0.5)}), 1.0, every=0.1, rtol=1e-11)
    forces, x = run.reactions("circle"), run.position("bead")
    speed2 = (run.v[:, :3] ** 2).sum(axis=1)
    tension = 2 * (speed2 - g * x[:, 2])  # towards the centre
    np.testing.assert_allclose(forces["point"][:, :3], -tension[:, None] * x, rtol=0, atol=1e-8)
    np.testing.assert_allclose(forces.frames["point"][:, 3:], 0, atol=1e-12)
    np.testing.assert_allclose(forces.multiplier, -tension / 2, rtol=0, atol=1e-8)  # the gradient is 2 (x, z)
    with pytest.raises(MomentreeError, match=r"constraint 'circle': names no joint or frame 'pont'. Did you mean"):
        forces["pont"]


def test_the_work_of_a_constraint_that_moves_is_in_the_energy_account():
    m = mt.Model("swing")
    rod = m.body("rod", mt.rod(mass=1.0, length=1.0, along="-z"))
    m.joint("x", mt.Prismatic("x"), m.ground, m.body("cart", mass=3.0, inertia=(1, 1, 1)))
    m.joint("A", mt.Revolute("y"), m.bodies[1], rod)
    m.constrain("x = 0.3*sin(4*t)", "shaker")
    system = m.build()
    run = system.simulate(system.assemble({"A": 0.4}), 1.0, every=1e-3, rtol=1e-11)
    power = run.constraint_power("shaker")
    np.testing.assert_allclose(power, run.reactions("shaker")["x"] * run.velocity("x"), rtol=0, atol=1e-9)
    work = np.concatenate([[0], np.cumsum((power[1:] + power[:-1]) / 2 * np.diff(run.t))])
    assert np.ptp(work) > 1
    np.testing.assert_allclose(run.energy.work["motion of shaker"], work, rtol=0, atol=2e-4)


def test_multipliers_of_a_closing_joint_are_its_reaction_along_its_constraints():
    m = mt.Model("four-bar")
    bodies = [m.body(name, mt.rod(mass=1.0, length=length)) for name, length in (("a", 1.0), ("b", 2.0), ("c", 2.0))]
    m.joint("A", mt.Revolute("y"), m.ground, bodies[0])
    m.joint("B", mt.Revolute("y"), bodies[0].at((1, 0, 0)), bodies[1])
    m.joint("C", mt.Revolute("y"), bodies[1].at((2, 0, 0)), bodies[2].at((2, 0, 0)))
    m.joint("D", mt.Revolute("y"), m.ground.at((2.5, 0, 0)), bodies[2])
    m.cut("C")
    system = m.build()
    run = system.simulate(system.assemble({"A": 1.0}), 0.5, every=0.1)
    found, wrench = run.multipliers("C"), run.reactions("C")
    assert found.shape == (len(run.t), 5)
    np.testing.assert_allclose((found**2).sum(axis=1), (wrench**2).sum(axis=1), rtol=1e-10)
    assert np.abs(run.constraint_power("C")).max() < 1e-10
    with pytest.raises(MomentreeError, match=r'joint .A. is one of the spanning tree.*run.reactions\("A"\)'):
        run.multipliers("A")
    with pytest.raises(MomentreeError, match=r"there is no constraint 'gear 1'. Choose 'C'"):
        run.multipliers("gear 1")
    with pytest.raises(MomentreeError, match="there is no rolling contact 'roll 1'"):
        run.friction_needed("roll 1")
    with pytest.raises(MomentreeError, match="there is no joint 'Z'"):
        run.reactions("Z")


# --- constraints that are switched ---


def test_a_gear_that_is_switched_on_transmits_nothing_before():
    m = mt.Model("clutch", gravity=(0, 0, 0))
    for i, name in enumerate("AB"):
        m.joint(name, mt.Revolute("z"), m.ground.at((float(i), 0, 0)), m.body(name, mass=1.0, inertia=(1, 1, 1.0 + i)))
    m.torque("A", "6")
    m.constrain("A' = B'", "clutch")
    m.switch("clutch", on="t - 0.5")
    system = m.build()
    run = system.simulate(system.assemble(), 1.0, every=0.1)
    engaged = int(np.flatnonzero(run.t == 0.5)[-1])
    forces = run.reactions("clutch")
    assert np.abs(forces["B"][:engaged]).max() == np.abs(run.multipliers("clutch")[:engaged]).max() == 0
    # then both turn with the acceleration 6 / (1 + 2): the second takes 4 of the 6 N m
    np.testing.assert_allclose(forces["B"][engaged:], 4.0, rtol=1e-9)
    np.testing.assert_allclose(forces["A"][engaged:], -4.0, rtol=1e-9)
    assert np.abs(run.constraint_power("clutch")).max() < 1e-10


def test_a_ball_that_is_switched_to_rolling_needs_friction_only_then():
    m = mt.Model("ball that begins to roll")
    body = ball(m)
    m.joint("J", mt.Free(), m.ground, body)
    m.roll(body, on=m.ground.at((0, 0, 0), mt.turn("y", 0.3)), radius=0.1)
    m.switch("roll 1", off="t - 0.4")
    system = m.build()
    run = system.simulate(system.assemble(), 0.6, every=0.1)
    off = int(np.flatnonzero(run.t == 0.4)[-1])
    np.testing.assert_allclose(run.friction_needed("roll 1")[:off], 2 / 7 * math.tan(0.3), rtol=1e-9)
    np.testing.assert_array_equal(run.friction_needed("roll 1")[off:], 0)
    np.testing.assert_array_equal(run.reactions("roll 1")[off:], 0)
    assert run.warnings == ()
