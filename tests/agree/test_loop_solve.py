"""The loop solve does not depend on where loops are cut, on size, on light bodies, or on redundant joints.

The mechanisms are those of benchmarks/loop_solve.py.
"""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path

import numpy as np
import pytest

import momentree as mt
from momentree.equations import articulated, hamiltonian
from momentree.equations.evaluation import Evaluation
from momentree.equations.loops.closing_step import closing_step

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
hard = importlib.import_module("loop_solve")


@pytest.mark.repeats(1)
@pytest.mark.parametrize("code", ["straight-line", "rolled"])
@pytest.mark.parametrize("kind", hard.KINDS)
def test_a_redundant_joint_in_line_with_the_first_changes_no_acceleration(kind, code):
    for seed in range(2 if code == "straight-line" else 1):
        one, two = (hard.on_joints_in_line(kind, seed, n).build(code=code) for n in (1, 2))
        q, v = np.zeros(one.nq), np.full(one.nv, 0.3)
        expected = one.forward_dynamics(q, v)
        np.testing.assert_allclose(two.forward_dynamics(q, v), expected, rtol=1e-9, atol=1e-9)
        several = two.forward_dynamics(np.tile(q, (40, 1)), np.tile(v, (40, 1)))  # in lanes
        np.testing.assert_allclose(several, np.tile(expected, (40, 1)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", hard.KINDS)
def test_a_redundant_joint_changes_no_velocity_and_no_closing_step_on_floats(kind):
    for seed in range(10):
        one, two = (hard.on_joints_in_line(kind, seed, n).build().mechanism for n in (1, 2))
        q, p = np.zeros(one.nq), np.linspace(0.5, 1.0, one.nv)
        alone, held = (hamiltonian.moving_bodies(Evaluation(each, q), p)[1].u for each in (one, two))
        np.testing.assert_allclose(np.array(held, float), np.array(alone, float), rtol=1e-9, atol=1e-12)
        step = np.array(closing_step(Evaluation(two, q))[1].u, float)
        np.testing.assert_allclose(step, 0, atol=1e-14)


@pytest.mark.repeats(2)
@pytest.mark.parametrize("axis", hard.DRAWER_AXES)
def test_a_drawer_on_two_rails_slides_as_on_an_inclined_plane(axis):
    system = hard.drawer(axis).build()
    along = -9.81 * axis[2] / np.linalg.norm(axis)
    assert system.forward_dynamics(np.zeros(1), np.zeros(1))[0] == pytest.approx(along, abs=1e-12)
    run = system.simulate(system.assemble({"left": 0.0}), t_end=0.5)
    assert run.q[-1, 0] == pytest.approx(along / 8, abs=1e-12)


def test_the_redundant_rail_transmits_no_force():
    # the multipliers of least norm: zero along constraints that nothing can violate
    system = hard.drawer((1, 2, 3)).build()
    run = system.simulate(system.assemble({"left": 0.0}), t_end=0.1)
    closing = system.mechanism.loops[0].name
    assert np.abs(run.reactions(closing)).max() < 1e-9


@pytest.mark.repeats(1)
@pytest.mark.parametrize(("slider", "edge"), [(1e-4, 0.002), (1e-6, 0.002), (1e-4, 0.2), (1.0, 1e-4), (1e3, 0.1)])
def test_accelerations_do_not_depend_on_where_the_loop_is_cut(slider, edge):
    found = [hard.crank_acceleration(hard.slider_crank(1.0, 1.0, slider, edge), cut, {"B": -0.9}) for cut in "BCD"]
    assert hard.spread(found) < 1e-9


@pytest.mark.repeats(1)
@pytest.mark.parametrize("ratio", [1e3, 1e5, 1e7])
def test_accelerations_with_a_light_rod_do_not_depend_on_the_cut(ratio):
    models = [hard.slider_crank(1.0, 1 / ratio, 1.0, 0.1) for _ in "BCD"]
    found = [hard.crank_acceleration(m, cut, {"B": -0.9}) for m, cut in zip(models, "BCD", strict=True)]
    assert hard.spread(found) < 1e-15 * ratio + 1e-12


@pytest.mark.repeats(1)
@pytest.mark.parametrize("radius", [1e-2, 1e-3, 1e-5])
def test_accelerations_with_a_slender_spinning_rod_do_not_depend_on_the_cut(radius):
    # its least inertia is known to round-off of the largest, (length / radius)^2 times as large
    found = [hard.crank_acceleration(hard.spatial_rod(radius), cut, {"D": 1.9}, 0.0) for cut in "BCD"]
    assert hard.spread(found) < 1e-16 * (2 / radius) ** 2 + 1e-11


@pytest.mark.parametrize("size", [1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.repeats(2)
def test_a_mechanism_moves_alike_at_every_size(size):
    usual, found = (hard.crank_acceleration(hard.slider_crank(s), "D", {"B": -0.9}) for s in (1.0, size))
    assert found == pytest.approx(usual, rel=1e-11)


def test_an_overconstrained_linkage_keeps_the_order_of_the_integrator():
    errors = hard.bennett_errors((0.02, 0.01))
    assert errors[0] < 1e-7
    assert 12 < errors[0] / errors[1] < 20  # fourth order: 16


def test_an_overconstrained_linkage_takes_no_more_evaluations_than_others():
    # 804, 29 steps rejected, where redundant constraints lock it at stages that are not closed
    count, rejected = hard.evaluations(hard.bennett(), 1e-6, 1.0, {"R1": 1.0}, 2.0)
    assert count < 402
    assert rejected < 10


@pytest.mark.repeats(1)
@pytest.mark.parametrize("seed", range(3))
def test_parallelograms_stay_on_their_branch_in_flat_configurations(seed):
    crossed, off = hard.passages(seed, 3.0)
    assert crossed > 1
    assert off < 1e-9


def test_the_scale_of_a_constraint_does_not_vanish_where_the_constraint_does():
    """A flat parallelogram: one direction of its closing hinge is moved by nothing there."""
    mechanism = hard.row_of_four_bars(1).build().mechanism
    signs = np.array([{"G": 1.0, "L": -1.0, "R": 1.0}[body.joint.name[0]] for body in mechanism.bodies])
    found = []
    for angle in (math.pi / 2, 1.0):
        q = signs * angle
        moving = articulated.accelerating_bodies(Evaluation(mechanism, q), np.zeros(3), [0] * 3)
        rows = moving.constraints[1].node.open
        found.append((float(rows.at(0, 0) * rows.at(1, 1) - rows.at(0, 1) ** 2), *map(float, rows.scale[:2])))
    assert found[0][0] < 1e-20 < 1e-3 < found[1][0]
    for k in (1, 2):
        assert 0.1 < found[0][k] / found[1][k] < 10


def test_a_constraint_force_through_the_axis_of_a_hinge_still_has_a_scale():
    m = mt.Model("ball on the axis of a hinge")
    door = m.body("door", mt.box(mass=2.0, size=(1.0, 0.1, 2.0)))
    m.joint("hinge", mt.Revolute((1, 2, 3)), m.ground, door)
    m.joint("ball", mt.Spherical(), m.ground.at((0.3, 0.6, 0.9)), door.at((0.3, 0.6, 0.9)))
    mechanism = m.build().mechanism
    (packed, _), *_ = mechanism.elimination(fixed_ground=True).reaches[1]
    assert packed[0] > 1e-3


# --- small bodies between two hinges with one axis, as robots from CAD files have them ---


def parallelogram(ball: float | None = None) -> mt.Model:
    """Two cranks of 0.04 m and a rod of 0.1 m; a ball of this mass sits between each crank and the rod."""
    m = mt.Model("parallelogram")
    rod = m.body("rod", mt.rod(mass=0.01, length=0.1, radius=0.002))
    for name, x in (("A", 0.0), ("B", 0.1)):
        end = crank = m.body(f"crank{name}", mt.rod(mass=0.005, length=0.04, radius=0.002))
        m.joint(name, mt.Revolute("z"), m.ground.at((x, 0, 0)), crank)
        if ball is not None:
            end = m.body(f"ball{name}", mt.sphere(mass=ball, radius=0.0025))
            m.joint(f"{name}_crank", mt.Revolute("z"), crank.at((0.04, 0, 0)), end)
        place = end.at((0.04, 0, 0)) if ball is None else end
        m.joint(f"{name}_rod", mt.Revolute("z"), place, rod.at((x, 0, 0)))
    m.start_at(guess={"A_rod" if ball is None else "A_crank": -1.2})
    return m


def test_small_bodies_between_hinges_do_not_widen_what_counts_as_redundant():
    system = parallelogram(6.5e-6).build()
    at, nv = Evaluation(system.mechanism, system.assemble({"A": 1.0}).q), system.nv
    moving = articulated.accelerating_bodies(at, np.zeros(nv), [0] * nv)
    rows = moving.constraints[1].node.open
    shares = [float(rows.at(k, k) / rows.scale[k]) for k in range(2)]
    assert min(shares) > 0.01  # 1e-6 where the spin of the balls counts, which move nothing


@pytest.mark.parametrize("ball", [None, 6.5e-6, pytest.param(6.5e-9, marks=pytest.mark.long)])
def test_a_parallelogram_with_balls_passes_its_flat_configurations(ball):
    system = parallelogram(ball).build()
    start = system.assemble({"A": 1.2, "B": 1.2}, velocities={"A": -20.0})
    run = system.simulate(start, t_end=0.3, every=0.05)
    assert run.end.reason == "arrived"
    assert run.closure_error.max() < 1e-12
    # cranks turn uniformly, and the rod does not turn; flat at 0 and at -pi
    np.testing.assert_allclose(run["A"], 1.2 - 20 * run.t, atol=1e-8)
    np.testing.assert_allclose(run["B"], run["A"], atol=1e-8)
