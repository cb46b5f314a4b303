"""Hamiltonian variables, velocities and maximal coordinates give one motion, of trees and of loops of all kinds."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import momentree as mt
from mechanisms import (
    bennett,
    closed_state,
    four_bar,
    four_bars_in_a_row,
    random_configuration,
    random_loops,
    random_planar_loops,
    random_tree,
    slider_crank,
)
from momentree.assembly.configuration import Configuration
from momentree.assembly.state import State
from momentree.equations import absolute
from momentree.equations.evaluation import Evaluation
from momentree.equations.formulations import FORMULATIONS
from momentree.equations.kinematics import records
from momentree.structure.maximal_coordinates import in_maximal_coordinates

TIGHT = {"rtol": 1e-12}


def placed(system, q, t):
    """Where all bodies are, and how they are turned."""
    found = records(Evaluation(system.mechanism, q.tolist(), t))[1:]
    return np.array([[*record.X_0.offset, *(x for row in record.X_0.rotation.rows for x in row)] for record in found])


def agree(system, start, duration=0.3, **settings):
    """The last sample is the same by each formulation."""
    ends = []
    for name in FORMULATIONS:
        run = system.simulate(start, start.t + duration, formulation=name, **{**TIGHT, **settings})
        assert run.end.reason == "arrived"
        assert run.energy.error < 1e-8, name
        assert run.closure_error.max(initial=0.0) < 1e-9, name
        ends.append((placed(system, run.q[-1], run.t[-1]), run.v[-1]))
    for other in ends[1:]:
        for found, expected in zip(other, ends[0], strict=True):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    assert np.abs(ends[0][0] - placed(system, start.q, start.t)).max() > 0.01  # it does move


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_trees(seed):
    random = np.random.default_rng(seed)
    kinds = [["Revolute", "Screw", "Spherical"], ["PinSlot", "Universal", "Planar", "Free"]][seed]
    m = random_tree(random, kinds, mt.Model("tree", gravity=(1, -2, -9)))
    system = m.build()
    q = random_configuration(random, system)
    agree(system, State(system.mechanism, q, random.standard_normal(system.nv)))


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_planar_loops(seed):
    random = np.random.default_rng(seed)
    m, q = random_planar_loops(random, 5, 2)
    system = m.build()
    agree(system, closed_state(random, system, q))


SPATIAL = {  # by what closes the loop, with a seed that lets it move
    "hinge": (1, ["Spherical", "Spherical"], ["Revolute"]),
    "ball": (8, ["Revolute", "Prismatic", "Universal"], ["Spherical"]),
    "Cardan joint": (2, ["Spherical", "Universal"], ["Universal"]),
    "screw": (1, ["Spherical", "Spherical"], ["Screw"]),
    "two loops": (1, ["Revolute", "Spherical", "Cylindrical"], ["Spherical", "Planar"]),
}
OTHERS = ("ball", "Cardan joint", "screw")


@pytest.mark.long
@pytest.mark.parametrize("name", ["hinge", "two loops", *OTHERS])
def test_spatial_loops(name):
    seed, kinds, closing = SPATIAL[name]
    random = np.random.default_rng(seed)
    m, q = random_loops(random, kinds, closing)
    system = m.build(code="straight-line")
    agree(system, closed_state(random, system, q))


@pytest.mark.repeats(1)
@pytest.mark.parametrize("joint", [mt.Spherical(), mt.Cylindrical("y"), mt.Universal("y", "x")], ids=lambda j: j.kind)
def test_loops_of_hinges_that_another_joint_closes(joint):
    m = four_bar()
    m.joints[-1] = dataclasses.replace(m.joints[-1], type=joint)
    m.cut("C")
    system = m.build()
    start = closed_state(np.random.default_rng(1), system, four_bar().build().assemble({"A": 1.0}).q)
    agree(system, start)


def test_a_screw_that_locks_a_hinge():
    random = np.random.default_rng(4)
    m, q = random_loops(random, ["Cylindrical", "Spherical", "Revolute"], ["Screw"])
    system = m.build()
    run = system.simulate(closed_state(random, system, q), 0.3)
    assert run.closure_error.max() < 1e-10
    assert run.energy.error < 1e-6


@pytest.mark.long
def test_a_loop_with_redundant_constraints():
    system = bennett().build()
    agree(system, system.assemble({"R1": 1.0}, velocities={"R1": 0.7}))


@pytest.mark.long
def test_coupled_loops_in_a_row():
    system = four_bars_in_a_row(3).build()
    agree(system, system.assemble({"G0": 0.5}, velocities={"G0": 0.5}))


@pytest.mark.long
def test_moving_pivots():
    random = np.random.default_rng(0)
    m = mt.Model("moving pivots")
    m.ground.moves(("0.5*t", "t^2", "sin(t)"), ("0.4*t", "-0.7*t", "t*(1+t)"))
    carrier, arm = (m.body(name, mt.sphere(mass=1.0, radius=0.1)) for name in ("carrier", "arm"))
    m.joint("driver", mt.Cylindrical("z", motion=("0.3*sin(t)", "2*t*(1 - t)")), carrier, m.ground)
    m.joint("swivel", mt.Revolute("x", motion="0.3*cos(2*t)"), carrier.at((1, 0, 0)), arm)
    m, q = random_loops(random, ["Spherical", "Universal"], ["Spherical"], m)
    system = m.build()
    agree(system, closed_state(random, system, q))


def test_everything_that_acts_on_joints():
    m = four_bar()
    options = {
        "A": {"damping": 0.4},
        "B": {"spring": 3.0, "rest": 0.2, "damping": 0.1},
        "C": {"spring": 2.0, "damping": 0.3},
        "D": {"limits": (1.2, 1.8), "stops": (50.0, 1.0)},
    }
    m.joints = [dataclasses.replace(c, type=mt.Revolute("y", **options[c.name])) for c in m.joints]
    m.torque("A", "2*cos(t) - 0.2*D'")
    m.torque("C", "sin(3*t) + 0.1*B'")
    system = m.build()
    agree(system, system.assemble({"A": 1.0}, velocities={"A": 1.5}), 0.5, step=2e-4)


def test_bodies_without_inertia_of_their_own_stay_on_their_joints():
    m = mt.Model("carriers")
    carrier, bob, slider = m.body("carrier", massless=True), m.body("bob", mt.rod(1.0, 1.0)), m.body("dot", mass=2.0)
    m.joint("A", mt.Revolute("y"), m.ground, carrier)
    m.joint("B", mt.Revolute("z"), carrier.at((0.5, 0, 0)), bob)
    m.joint("C", mt.Prismatic("x"), m.ground.at((0, 0, 1)), slider)
    m.spring(slider.at((0, 0, 0)), bob.at((1, 0, 0)), 5.0, rest=0.3)
    system = m.build()
    maximal = in_maximal_coordinates(system.mechanism)
    assert [body.joint.name for body in maximal.bodies] == ["A", "B", "C"]
    agree(system, system.assemble({"A": 0.4, "B": 0.3, "C": 0.2}, velocities={"A": 1.0}), 0.5)


# --- the same mechanism, cut elsewhere ---


def opened(cut=None, split=None, share=0.5):
    m = four_bar()
    m.body("load", mt.box(mass=2.0, size=(0.2, 0.3, 0.4)))
    m.joint("L", mt.Revolute("y"), m.bodies[1].at((1.0, 0, 0)), "load")
    if cut:
        m.cut(cut)
    if split:
        m.split(*split, share=share)
    return m.build()


OPENED = [{"cut": "A"}, {"cut": "B"}, {"cut": "D"}, {"split": ("coupler", "C")}]
OPENED += [{"split": ("coupler", "C"), "share": 0.02}, {"split": ("rocker", "D")}]


@pytest.mark.long
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_motion_does_not_depend_on_where_a_loop_is_cut(formulation):
    reference = opened("C")
    begun = reference.assemble({"A": 1.0, "L": 0.5}, velocities={"A": 1.5, "L": -1.0})
    at = Configuration(begun.mechanism, begun.q)
    guess = {name: at.coordinates_of(name)[0] for name in "ABCDL"}
    ends = []
    for how in [{"cut": "C"}, *(OPENED[::2] if formulation == "absolute" else OPENED)]:
        system = opened(**how)
        given = {"A": 1.0, "L": 0.5}, {"A": 1.5, "L": -1.0}
        start = system.assemble(*given, guess={k: guess[k] for k in guess if k in system.mechanism.by_joint})
        run = system.simulate(start, 0.7, formulation=formulation, **TIGHT)
        ends.append([*(run[name][-1] for name in "ADL"), *(run.velocity(name)[-1] for name in "ADL")])
    for end in ends[1:]:
        np.testing.assert_allclose(end, ends[0], rtol=0, atol=1e-9)
    assert abs(ends[0][0] - 1.0) > 0.3


# --- maximal coordinates ---


def test_in_maximal_coordinates_bodies_are_independent_and_every_joint_is_a_constraint():
    maximal = in_maximal_coordinates(bennett().build().mechanism)
    assert [body.joint.type.kind for body in maximal.bodies] == ["Planar", "Free", "Free"]  # link 1 is on a hinge
    assert [body.parent for body in maximal.bodies] == [0, 0, 0]
    assert sorted(loop.name for loop in maximal.loops) == ["R1", "R2", "R3", "R4"]


def test_bodies_of_planar_mechanisms_have_three_coordinates():
    maximal = in_maximal_coordinates(slider_crank().build().mechanism)
    assert {body.joint.type.kind for body in maximal.bodies} == {"Planar"}
    assert maximal.nq == maximal.nv == 9


@pytest.mark.parametrize("seed", range(3))
def test_conversion_to_maximal_coordinates_and_back_is_the_identity(seed):
    random = np.random.default_rng(seed)
    m, q = random_loops(random, ["Revolute", "Cylindrical", "Universal", "PinSlot", "Planar", "Screw"], ["Spherical"])
    m.ground.moves(("0.5*t", "t^2", "sin(t)"), ("0.4*t", "-0.7*t", "t*(1+t)"))
    mechanism = m.build().mechanism
    u, t = random.standard_normal(mechanism.nv), 0.3
    maximal = absolute.maximal_mechanism(mechanism)
    there = absolute.maximal_state(Evaluation(mechanism, q.tolist(), t), maximal, u.tolist())
    back = absolute.tree_state(Evaluation(maximal, there.q, t), mechanism, there.u)
    np.testing.assert_allclose(back.q, q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(back.u, u, rtol=0, atol=1e-12)


def test_full_turns_are_counted():
    m = mt.Model("wheel", gravity=(0, 0, 0))
    m.joint("A", mt.Revolute("z"), m.ground, m.body("wheel", mt.box(mass=1.0, size=(1, 1, 1))))
    system = m.build()
    run = system.simulate(system.assemble({"A": 7.0}, velocities={"A": 30.0}), 1.0, formulation="absolute", every=0.5)
    np.testing.assert_allclose(run["A"], [7, 22, 37], rtol=0, atol=1e-6)


def test_events_see_the_coordinates_of_the_tree():
    system = four_bar().build()
    start = system.assemble({"A": 1.0}, velocities={"A": 2.0})
    times = [
        system.simulate(start, 1.0, formulation=name, events={"up": "A - 1.5"}, **TIGHT).end.events[0][1]
        for name in FORMULATIONS
    ]
    np.testing.assert_allclose(times, times[0], rtol=0, atol=1e-9)


def test_a_latch_locks_in_maximal_coordinates_too():
    def ends(name):
        m = mt.Model("latch")
        m.joint("A", mt.Revolute("y"), m.ground, m.body("a", mt.rod(1.0, 1.0)))
        m.joint("B", mt.Revolute("y"), m.bodies[0].at((1, 0, 0)), m.body("b", mt.rod(1.0, 1.0)))
        m.latch("B", at=0.5)
        system = m.build()
        run = system.simulate(system.assemble({}, velocities={"B": 5.0}), 1.0, formulation=name, **TIGHT)
        assert len(run.end.events) == 1
        return [*run.q[-1], *run.v[-1], *(work[-1] for work in run.energy.work.values())]

    first, *others = (ends(name) for name in FORMULATIONS)
    for other in others:
        np.testing.assert_allclose(other, first, rtol=0, atol=1e-9)


def test_a_law_that_depends_on_an_angle_is_refused_in_maximal_coordinates():
    m = four_bar()
    m.torque("A", "sin(B)")
    system = m.build()
    start = system.assemble({"A": 1.0})
    with pytest.raises(mt.MomentreeError, match=r"the torque on A, sin\(B\), depends on the angle B.*hamiltonian"):
        system.simulate(start, 1.0, formulation="absolute")


def test_a_spring_that_is_wound_beyond_half_a_turn_is_refused_in_maximal_coordinates():
    m = mt.Model("clock")
    m.joint("A", mt.Revolute("z", spring=0.1), m.ground, m.body("wheel", mt.box(mass=1.0, size=(1, 1, 1))))
    system = m.build()
    for angle in (4.0, 3.0):
        with pytest.raises(mt.MomentreeError, match="joint 'A': turns beyond pi"):
            system.simulate(system.assemble({"A": angle}, velocities={"A": 3.0}), 1.0, formulation="absolute")


@pytest.mark.parametrize("stabilization", FORMULATIONS["absolute"].stabilizations)
@pytest.mark.repeats(2)
def test_closures_of_absolute_coordinates(stabilization):
    system = four_bar().build()
    start = system.assemble({"A": 1.0}, velocities={"A": 2.0})
    expected = system.simulate(start, 1.0, rtol=1e-11).q[-1]
    run = system.simulate(start, 1.0, formulation="absolute", stabilization=stabilization, rtol=1e-11)
    np.testing.assert_allclose(run.q[-1], expected, rtol=0, atol=1e-7)
    assert run.closure_error.max() < {"project": 1e-12}.get(stabilization, 1e-8)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_implicit_integrator_projects_too(formulation):
    system = four_bar().build()
    start = system.assemble({"A": 1.0}, velocities={"A": 2.0})
    expected = system.simulate(start, 0.5, rtol=1e-11).q[-1]
    run = system.simulate(start, 0.5, formulation=formulation, integrator="radau", rtol=1e-8)
    np.testing.assert_allclose(run.q[-1], expected, rtol=0, atol=1e-6)
    assert run.closure_error.max() < 1e-12


def test_many_motions_in_absolute_coordinates_are_refused():
    system = random_tree(np.random.default_rng(1), ["Revolute"]).build()
    with pytest.raises(mt.MomentreeError, match=r"formulation 'absolute'.*one by one"):
        system.simulate_many([[0.0]], [[0.0]], 1.0, every=0.1, formulation="absolute")
