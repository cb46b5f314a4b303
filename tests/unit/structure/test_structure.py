"""The structure of a model: names, numbers, loops, cuts and split bodies."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import EVERY_JOINT, four_bar, random_configuration, random_tree
from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import records


def pendulums(*pairs: tuple[str, str]) -> mt.Model:
    """Bodies named by the pairs, hinged in the order given, arcs from the first to the second."""
    m = mt.Model("pendulums")
    for name in dict.fromkeys(name for pair in pairs for name in pair if name != "ground"):
        m.body(name, mt.rod(mass=1.0, length=1.0))
    for first, second in pairs:
        m.joint(f"{first}-{second}", mt.Revolute("y"), first, second)
    return m


def test_the_lecture_example():
    # Yudintsev 2019: S and T of the tree 0-1, 1-2, 1-3, 3-4
    s = pendulums(("ground", "a"), ("a", "b"), ("a", "c"), ("c", "d")).build().structure
    assert s.bodies == ("ground", "a", "b", "c", "d")
    assert s.parents.tolist() == [0, 1, 1, 3]
    assert s.S0.tolist() == [1, 0, 0, 0]
    assert s.S.tolist() == [[-1, 1, 1, 0], [0, -1, 0, 0], [0, 0, -1, 1], [0, 0, 0, -1]]
    assert s.T.tolist() == [[-1, -1, -1, -1], [0, -1, 0, 0], [0, 0, -1, -1], [0, 0, 0, -1]]
    assert s.numbering == {"ground": 0, "a": 1, "b": 2, "c": 3, "d": 4}


def test_bodies_written_from_the_leaves_are_numbered_from_the_root():
    s = pendulums(("tip", "middle"), ("middle", "base"), ("base", "ground")).build().structure
    assert s.bodies == ("ground", "base", "middle", "tip")
    assert s.joints == ("base-ground", "middle-base", "tip-middle")
    assert s.parents.tolist() == [0, 1, 2]
    assert (np.eye(3) == s.S @ s.T).all()
    assert s.T.tolist() == [[1, 1, 1], [0, 1, 1], [0, 0, 1]]  # every arc points towards the ground


def test_the_freest_joint_of_a_loop_is_cut():
    m = four_bar()
    m.joints[1] = type(m.joints[1])("B", mt.Spherical(), m.joints[1].first, m.joints[1].second)
    loop = m.build().structure.loops[0]
    assert (loop.closed_by, loop.kind, loop.rows) == ("joint B", "Spherical", 3)


def test_the_user_chooses_where_a_loop_is_opened():
    m = four_bar()
    m.cut("A")
    s = m.build().structure
    assert s.loops[0].closed_by == "joint A"
    assert set(s.loops[0].bodies) == {"crank", "coupler", "rocker", "ground"}
    assert {name for name, _ in s.loops[0].joints} == {"A", "B", "C", "D"}


def test_a_split_body_shares_its_inertia_with_its_image():
    m = four_bar()
    m.split("coupler", "C", share=0.25)
    mechanism = m.build().mechanism
    masses = {body.name: body.inertia.mass for body in mechanism.bodies}
    assert masses == {"crank": 1.0, "coupler": 0.75, "coupler (image)": 0.25, "rocker": 1.0}
    s = m.build().structure
    assert sorted(s.epsilon[0].tolist()) == [-1, 0, 0, 1]
    assert s.epsilon[0][s.numbering["coupler"] - 1] == 1
    assert s.epsilon[0][s.numbering["coupler (image)"] - 1] == -1


def test_a_body_split_twice():
    m = four_bar()
    m.body("second rocker", mt.rod(mass=1.0, length=2.0))
    m.joint("E", mt.Revolute("y"), m.ground.at((3.5, 0, 0)), "second rocker")
    m.joint("F", mt.Revolute("y"), m.bodies[1].at((2.0, 0, 0)), m.bodies[3].at((2.0, 0, 0)))
    m.split("coupler", "C", share=0.25)
    m.split("coupler", "F", share=0.25)
    mechanism = m.build().mechanism
    assert [body.inertia.mass for body in mechanism.bodies if "coupler" in body.name] == [0.5, 0.25, 0.25]
    assert len(mechanism.loops) == 2


def test_cut_joints_that_hold_the_mechanism_are_refused():
    m = pendulums(("ground", "a"), ("a", "b"))
    m.cut("a-b")
    with pytest.raises(
        mt.ModelError, match="cut: without 'a-b' a part of the mechanism is not connected to the ground"
    ):
        m.build()


def test_splitting_a_body_that_closes_no_loop_is_refused():
    m = pendulums(("ground", "a"), ("a", "b"))
    m.split("a", "ground-a")
    with pytest.raises(mt.ModelError, match="is in no loop"):
        m.build()


def test_every_floating_part_gets_one_free_joint():
    m = pendulums(("ground", "a"), ("b", "c"), ("c", "d"), ("d", "b"))
    m.body("e", mt.sphere(mass=1.0, radius=1.0))
    mechanism = m.build().mechanism
    assert mechanism.added == ("b", "e")
    assert [body.joint.type.kind for body in mechanism.bodies].count("Free") == 2


def test_a_joint_through_which_the_tree_runs_backwards_keeps_its_meaning():
    # the same hinge written from either side: its coordinate has the other sign, the motion is the same
    places = []
    for ends in (("ground", "arm"), ("arm", "ground")):
        m = mt.Model("arm")
        m.body("arm", mt.rod(mass=1.0, length=1.0))
        m.joint("A", mt.Revolute("z"), *ends)
        system = m.build()
        places.append(system.position([0.5 if ends[0] == "ground" else -0.5], m.bodies[0].at((1, 0, 0))))
    assert places[0] == pytest.approx(places[1], abs=1e-15)
    assert places[0] == pytest.approx([np.cos(0.5), np.sin(0.5), 0])


@pytest.mark.parametrize("seed", range(5))
def test_the_order_and_direction_of_writing_do_not_move_any_body(seed):
    # a random tree and the same tree with bodies and joints shuffled: equal placements at equal joint coordinates
    random = np.random.default_rng(seed)
    m = random_tree(random, list(random.permutation(EVERY_JOINT)))
    other = mt.Model("shuffled")
    other.bodies = [m.bodies[i] for i in random.permutation(len(m.bodies))]
    other.joints = [m.joints[i] for i in random.permutation(len(m.joints))]
    a, b = m.build(), other.build()
    qa = random_configuration(random, a)
    qb = np.zeros(b.nq)
    slices = {body.joint.name: body.q for body in a.mechanism.bodies}
    for body in b.mechanism.bodies:
        qb[body.q] = qa[slices[body.joint.name]]
    for body in m.bodies:
        frame = body.at(random.uniform(-1, 1, 3))
        assert a.position(qa, frame) == pytest.approx(b.position(qb, frame), abs=1e-13)


def test_the_inertia_in_the_joint_frame_has_the_same_kinetic_energy():
    random = np.random.default_rng(3)
    m = random_tree(random, ["Revolute", "Free", "Spherical"])
    system = m.build()
    q, u = random_configuration(random, system), random.standard_normal(system.nv)
    moving = records(Evaluation(system.mechanism, q), u)
    for body in system.mechanism.bodies:
        v = moving[body.number].v
        joint_frame = v @ (body.inertia @ v)
        own = body.own.motion(v)
        user = next(b for b in m.bodies if b.name == body.name).rigid_inertia(system.mechanism.values)
        assert own @ (user @ own) == pytest.approx(joint_frame, rel=1e-12)


def test_a_massless_leaf_is_refused_and_a_massless_carrier_is_not():
    m = mt.Model("carrier")
    m.body("cross", massless=True)
    m.joint("A", mt.Revolute("x"), "ground", "cross")
    with pytest.raises(mt.ModelError, match="body 'cross': has no mass, and no body that it carries"):
        m.build()
    m.body("wheel", mt.sphere(mass=1.0, radius=1.0))
    m.joint("B", mt.Revolute("y"), "cross", "wheel")
    assert m.build().nv == 2


def test_a_body_that_nothing_connects_is_told_so():
    m = mt.Model("loose")
    m.body("c", mt.rod(mass=1.0, length=1.0))
    with pytest.raises(
        mt.ModelError, match="body 'c': floats, since no joint connects it, and can move along wx without"
    ):
        m.build()


@pytest.mark.parametrize(
    ("body", "joint", "rate"),
    [
        ({"shape": mt.rod(mass=1.0, length=1.0)}, mt.Free(), "wx"),
        ({"shape": mt.rod(mass=1.0, length=1.0)}, mt.Revolute("x"), "angle'"),
        ({"mass": 1.0}, mt.Spherical(), "w"),
        ({"mass": 1.0, "com": (0, 0, 1.0)}, mt.Spherical(), "wz"),
        ({"shape": mt.rod(mass=1.0, length=1.0)}, mt.Cylindrical("x"), "angle'"),
    ],
)
def test_a_freedom_that_moves_no_inertia_is_named(body, joint, rate):
    m = mt.Model("needle")
    m.body("needle", **body)
    m.joint("A", joint, "ground", "needle")
    with pytest.raises(mt.ModelError, match=f"body 'needle': joint 'A' can move it along {rate}"):
        m.build()
    # what hangs on it across the weak direction makes it whole
    m.body("arm", mt.rod(mass=1.0, length=1.0, along="y"))
    m.joint("B", mt.Fixed(), m.bodies[0].at((0.5, 0.5, 0.5), mt.turn("x", 0.4)), m.bodies[1].at((0, 0.3, 0)))
    assert m.build().nv == len(joint.velocities)


def test_slender_rods_and_point_masses_are_fine_where_they_are_not_spun():
    m = mt.Model("mathematical pendulum on a slender rod")
    rod = m.body("rod", mt.rod(mass=1.0, length=1.0))
    m.body("bob", mass=1.0)
    m.joint("A", mt.Universal("y", "z"), "ground", rod)
    m.joint("B", mt.Revolute("y"), rod.at((1, 0, 0)), m.bodies[1].at((-0.5, 0, 0)))
    assert m.build().nv == 3


def test_free_parameters_stay_open_and_the_others_are_put_in():
    m = mt.Model("pendulum")
    length, mass = m.parameter("length", 2.0), m.parameter("mass", 3.0)
    m.parameter("half", length / 2)
    bob = m.body("bob", mass=mass, com=("half", 0, 0))
    m.joint("A", mt.Revolute("y"), m.ground, bob)
    fixed = m.build().mechanism.bodies[0].inertia
    assert (fixed.mass, fixed.h.x) == (3.0, 3.0)
    open_mass = m.build(free=["mass"]).mechanism.bodies[0].inertia
    assert str(open_mass.mass) == "mass"
    assert str(open_mass.h.x) in ("mass", "1.0*mass", "mass*1.0")
    with pytest.raises(mt.ModelError, match=r"there is no parameter 'mas'\. Did you mean 'mass'"):
        m.build(free=["mas"])


def test_free_parameters_have_their_defaults_where_numbers_are_asked_for():
    def pendulum():
        m = mt.Model("driven pendulum")
        k = m.parameter("k", 2.0)
        m.ground.moves(("sin(k*t)", 0, 0))
        carrier = m.body("carrier", mt.sphere(mass=k, radius=0.1))
        m.joint("A", mt.Prismatic("z", motion="0.1*k*t^2"), m.ground, carrier)
        m.joint(
            "B", mt.Revolute("y", spring="3*k"), carrier.at((0, 0, k)), m.body("bob", mt.rod(mass=1.0, length="k/2"))
        )
        m.torque("B", "-k*B'")
        return m

    fixed, free = pendulum().build(), pendulum().build(free=["k"])
    for found, expected in (
        (free.mass_matrix([0.3]), fixed.mass_matrix([0.3])),
        (free.bias([0.3], [0.4], t=0.7), fixed.bias([0.3], [0.4], t=0.7)),
        (free.forward_dynamics([0.3], [0.4], t=0.7), fixed.forward_dynamics([0.3], [0.4], t=0.7)),
        (free.energy([0.3], [0.4], t=0.7).total, fixed.energy([0.3], [0.4], t=0.7).total),
        (free.momentum([0.3], [0.4], t=0.7), fixed.momentum([0.3], [0.4], t=0.7)),
    ):
        assert found == pytest.approx(expected, rel=1e-13)


def test_a_direction_may_not_depend_on_a_free_parameter():
    m = mt.Model("tilted")
    m.parameter("tilt", 0.3)
    m.joint("A", mt.Revolute((0, "tilt", 1)), m.ground, m.body("b", mt.sphere(mass=1.0, radius=1.0)))
    assert m.build().nv == 1
    with pytest.raises(mt.ModelError, match="free: axis depends on a free parameter"):
        m.build(free=["tilt"])


def test_a_model_may_change_after_it_is_built_without_changing_the_system():
    m = four_bar()
    system = m.build()
    before = str(system)
    m.body("more", mt.sphere(mass=1.0, radius=1.0))
    m.cut("A")
    assert str(system) == before
