"""Springs, contacts and higher pairs as arcs: one for each pair of bodies, as the lecture unites them."""

from pathlib import Path

import numpy as np
import pytest

import momentree as mt

EXAMPLES = Path(__file__).parents[3] / "examples"
PIN = mt.Revolute("y")


def model(*names):
    m = mt.Model("bodies and springs", gravity=(0, 0, 0))
    return m, [m.body(name, mt.box(mass=1.0, size=(1.0, 0.1, 0.1))) for name in names]


def test_pushers_make_two_stages_adjacent_that_no_joint_joins():
    m, (lower, upper) = model("lower", "upper")
    m.joint("lower", mt.Free(), m.ground, lower)
    m.joint("upper", mt.Free(), m.ground.at((0, 0, 1)), upper)
    for x in (-0.4, -0.2, 0.2, 0.4):
        m.contact(upper.at((x, 0, 0)), lower, stiffness=1e3)
    structure = m.build().structure
    assert not structure.graph.are_adjacent(1, 2)
    assert [(arc.kind, arc.first, arc.second) for arc in structure.force_arcs] == [("contact", 2, 1)] * 4
    counted = structure.named_graph(force_arcs=True)
    assert counted.graph.are_adjacent(1, 2)
    assert (counted.arcs, counted.kinds) == (("lower", "upper", "4 contacts"), ("Free", "Free", "force"))
    assert counted.forces == (3,)
    # S and T count the pushers: the path of the upper stage runs through them, not through its Free joint
    assert counted.graph.cut == (2,)
    assert counted.graph.S.tolist() == [[-1, -1], [0, 1]]
    assert counted.graph.T.tolist() == [[-1, -1], [0, 1]]
    assert structure.named_graph().graph == structure.graph


def test_what_acts_between_bodies_that_a_joint_joins_is_part_of_that_joint():
    m, (crank, rod) = model("crank", "rod")
    m.joint("A", PIN, m.ground, crank)
    m.joint("B", PIN, crank.at((1, 0, 0)), rod)
    m.spring(crank, rod.at((1, 0, 0)), stiffness=10.0)
    m.spring(rod.at((1, 0, 0)), m.ground, stiffness=10.0)
    m.spring(m.ground.at((1, 0, 0)), rod, stiffness=10.0)
    m.contact(rod.at((1, 0, 0)), m.ground, stiffness=1e3)
    counted = m.build().structure.named_graph(force_arcs=True)
    assert counted.arcs == ("A", "B", "2 springs, 1 contact")
    assert counted.graph.arcs.tolist() == [[0, 1], [1, 2], [2, 0]], "in the direction of the first of them"
    assert counted.graph.parallel == ()
    assert (counted.graph.tree, counted.graph.cut) == ((1, 2), (3,)), "joints come before forces"
    assert counted.graph.cycles[0].arcs == (3, 1, 2)


def test_forces_on_one_body_and_torques_in_a_joint_are_no_arcs():
    m, (bar,) = model("bar")
    m.joint("A", PIN, m.ground, bar)
    m.force(bar, (0, 0, 1))
    m.torque("A", 1.0)
    structure = m.build().structure
    assert structure.force_arcs == ()
    assert structure.named_graph(force_arcs=True).arcs == ("A",)


def test_a_body_that_floats_on_springs_is_reached_along_them():
    m, (base, mass) = model("base", "mass")
    m.joint("A", PIN, m.ground, base)
    m.spring(base, mass, stiffness=1.0)
    structure = m.build().structure
    assert structure.graph.parents.tolist() == [0, 0], "its Free joint is on the ground"
    counted = structure.named_graph(force_arcs=True).graph
    number = structure.numbering
    assert counted.parents[number["mass"] - 1] == number["base"]


@pytest.mark.parametrize("carries", [{"damping": (1.0,) * 6}, {"motion": ("t", 0, 0, 0, 0, 0)}])
def test_a_free_joint_that_transmits_something_is_no_less_than_any_other(carries):
    m, (base, mass) = model("base", "mass")
    m.joint("A", PIN, m.ground, base)
    m.joint("F", mt.Free(**carries), m.ground, mass)
    m.spring(base, mass, stiffness=1.0)
    counted = m.build().structure.named_graph(force_arcs=True)
    assert counted.graph.cut == counted.forces == (3,)


def test_a_contact_acts_through_the_free_joint_of_its_bodies():
    m, (base, mass) = model("base", "mass")
    m.joint("A", PIN, m.ground, base)
    m.joint("F", mt.Free(), m.ground, mass)
    m.spring(base, mass, stiffness=1.0)
    m.contact(mass, m.ground, stiffness=1.0)
    counted = m.build().structure.named_graph(force_arcs=True)
    assert counted.graph.cut == counted.forces == (3,)


def test_a_joint_that_the_user_cuts_stays_cut():
    """Else it would take the place of the Free joint, through which nothing acts."""
    m, (hull, arm) = model("hull", "arm")
    m.joint("F", mt.Free(), m.ground, hull)
    m.joint("A", PIN, hull, arm)
    m.joint("C", PIN, m.ground.at((1, 0, 0)), arm.at((1, 0, 0)))
    m.cut("C")
    counted = m.build().structure.named_graph(force_arcs=True)
    assert counted.graph.cut == (3,)
    assert counted.arcs[2] == "C"


def test_a_driven_free_joint_too():
    m, (base, mass) = model("base", "mass")
    m.joint("A", PIN, m.ground, base)
    m.joint("F", mt.Free(), m.ground, mass)
    m.spring(base, mass, stiffness=1.0)
    m.torque("F", (1, 0, 0, 0, 0, 0))
    assert m.build().structure.named_graph(force_arcs=True).graph.cut == (3,)


def test_rolling_is_an_arc_too():
    structure = mt.load(EXAMPLES / "16_rolling_disc" / "model.toml").build().structure
    counted = structure.named_graph(force_arcs=True)
    assert counted.graph.arcs.tolist() == structure.graph.arcs.tolist(), "the disc has a Free joint on the ground"
    structure = mt.load(EXAMPLES / "19_bicycle" / "model.toml").build().structure
    counted = structure.named_graph(force_arcs=True)
    ground = [sorted(counted.graph.arcs[arc - 1].tolist()) for arc in counted.forces]
    assert len(ground) >= 1
    assert all(first == 0 for first, _ in ground)


def test_images_of_split_bodies_and_cut_joints_stay():
    structure = mt.load(EXAMPLES / "13_walking_mechanism" / "model.toml").build().structure
    counted = structure.named_graph(force_arcs=True)
    assert counted.graph.images == structure.graph.images
    assert (counted.graph.T == structure.graph.T).all()
    assert counted.arcs[-2:] == ("contact 1 of leg 1", "contact 2 of leg 2")
    four_bar = mt.load(EXAMPLES / "08_four_bar" / "model.toml").build().structure
    assert four_bar.named_graph(force_arcs=True).graph.cut == four_bar.graph.cut
    assert np.array_equal(four_bar.named_graph(force_arcs=True).graph.S, four_bar.S)
