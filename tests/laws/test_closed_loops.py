"""Closed loops do not depend on their position, the length of a run, redundant constraints, or where they are cut."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import bennett, four_bar, four_bars_in_a_row


def far_away(shift):
    """A parallelogram so far from the origin, which lies flat twice a turn."""
    m = mt.Model("parallelogram", gravity=(0, -9.81, 0))
    posts = [m.body(f"post{i}", mt.rod(mass=1.0, length=1.0, along="y")) for i in (0, 1)]
    bar = m.body("bar", mt.rod(mass=1.0, length=1.0))
    for i, post in enumerate(posts):
        m.joint(f"G{i}", mt.Revolute("z"), m.ground.at((shift + i, 0, 0)), post)
    m.joint("L", mt.Revolute("z"), posts[0].at((0, 1, 0)), bar)
    m.joint("R", mt.Revolute("z"), bar.at((1, 0, 0)), posts[1].at((0, 1, 0)))
    return m.build()


def test_a_linkage_far_from_the_origin_moves_as_one_at_it():
    ends = []
    for shift in (0.0, 1000.0):
        system = far_away(shift)
        ends.append(system.simulate(system.assemble({"G0": 0.0}, velocities={"G0": -1.0}), 5.0).q[-1])
    np.testing.assert_array_equal(*ends)


def test_an_overconstrained_linkage_runs_100_s_without_a_setting_being_touched():
    # Bennett 1903: tangents of half the neighbouring angles have a constant ratio; three constraints are redundant
    m = bennett()
    m.gravity = (0, -9.81, 0)
    system = m.build()
    run = system.simulate(system.assemble({"R1": 1.0}, velocities={"R1": 2.0}), 100.0)
    assert run.end.reason == "arrived"
    assert run.closure_error.max() < 1e-12
    assert np.abs(np.diff(run["R1"])).sum() > 2 * np.pi  # it did move
    ratios = np.tan(run["R1"] / 2) * np.tan(run["R2"] / 2)
    here = np.abs(np.cos(run["R1"] / 2)) > 0.1
    assert np.ptp(ratios[here]) < 1e-9 * np.abs(ratios[here]).max()
    assert run.energy.error < 1e-5


def three_cranks():
    """A bar on three equal parallel cranks: two loops, of which one would do."""
    m = mt.Model("three cranks", gravity=(0, 0, -9.81))
    bar = m.body("bar", mt.rod(mass=2.0, length=2.0))
    for i in range(3):
        crank = m.body(f"crank{i}", mt.rod(mass=1.0, length=0.5))
        m.joint(f"A{i}", mt.Revolute("y"), m.ground.at((i, 0, 0)), crank)
        m.joint(f"B{i}", mt.Revolute("y"), crank.at((0.5, 0, 0)), bar.at((i, 0, 0)))
    return m.build()


@pytest.mark.repeats(1)
@pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange", "absolute"])
def test_a_redundant_loop_changes_no_motion(formulation):
    # one free angle: (3 m/3 + M) l^2 a'' = -g l (3 m/2 + M) cos a, a from the horizontal
    system = three_cranks()
    assert system.mobility == 1
    run = system.simulate(system.assemble({"A0": 0.6, "A1": 0.6, "A2": 0.6}), 3.0, formulation=formulation)
    a, w = np.array([run["A0"], run.velocity("A0")])
    height = np.sin(a)  # angles about y are positive downwards
    total = 0.5 * (1.0 + 2.0) * 0.25 * w**2 - 9.81 * 0.5 * (1.5 + 2.0) * height
    assert np.ptp(total) < 1e-7
    assert run.closure_error.max() < 1e-12
    for other in ("A1", "A2"):
        np.testing.assert_allclose(run[other], a, rtol=0, atol=1e-9)


def test_constraints_out_of_the_plane_of_a_loop_are_left_out():
    flat = four_bar().build().mechanism
    assert [len(constraints) for constraints in flat.loop_constraints] == [2]
    m = four_bar()
    m.split("coupler", "C")
    split = m.build().mechanism
    assert [len(constraints) for constraints in split.loop_constraints] == [3]
    spatial = bennett().build().mechanism
    assert [len(constraints) for constraints in spatial.loop_constraints] == [5]


def test_in_a_chain_of_loops_constraints_are_coupled_with_their_neighbours_only():
    mechanism = four_bars_in_a_row(60).build().mechanism
    plan = mechanism.elimination(fixed_ground=True).plan
    assert len(plan.nodes) == 1 + 121 + 60
    assert max(node.slots.rows for node in plan.nodes) <= 6
    seen = {0}
    for number in plan.order:
        assert plan.nodes[number].parent in seen
        seen.add(number)
    assert len(seen) == len(plan.nodes)


@pytest.mark.parametrize("cut", ["B", "D"])
@pytest.mark.repeats(1)
def test_the_wrench_transmitted_by_a_joint_does_not_depend_on_where_the_loop_is_cut(cut):
    def reactions(joint):
        m = four_bar()
        m.joints[-1] = type(m.joints[-1])("C", mt.Revolute("y", damping=0.4, spring=3.0), *_ends(m.joints[-1]))
        m.cut(joint)
        system = m.build()
        start = system.assemble({"A": 1.0}, velocities={"A": 0.7}, guess={"B": -0.5, "D": 1.5})
        run = system.simulate(start, 0.5, every=0.1, rtol=1e-11)
        return run.reactions("C")[:, [0, 2, 4]]  # in the plane: what is out of it is not determined

    np.testing.assert_allclose(reactions("C"), reactions(cut), rtol=0, atol=1e-6)


def _ends(joint):
    return joint.first, joint.second


def test_a_joint_without_constraints_closes_no_loop():
    ends = []
    for joined in (False, True):
        m = mt.Model("two rods", gravity=(0, 0, -9.81))
        upper, lower = (m.body(name, mt.rod(mass=1.0, length=1.0)) for name in ("upper", "lower"))
        m.joint("A", mt.Revolute("y"), m.ground, upper)
        m.joint("B", mt.Revolute("y"), upper.at((1, 0, 0)), lower)
        if joined:
            m.joint("F", mt.Free(), m.ground, lower)
            m.cut("F")
        system = m.build()
        ends.append(system.simulate(system.assemble({"A": 0.3}), 1.0, rtol=1e-11).q[-1])
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-10)
