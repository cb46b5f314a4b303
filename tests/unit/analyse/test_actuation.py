"""Torques that make mechanisms with loops move as asked: against virtual work, and put back into forward dynamics."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import MOVING, bennett, bennett_off, closed_state, four_bar, joint_pair, random_loops, slider_crank
from momentree.assembly.configuration import Configuration
from momentree.equations.evaluation import Evaluation
from momentree.equations.joint_reactions import joint_reactions
from momentree.errors import MomentreeError


def generalized(system, found):
    """The torques at joints of the tree, as forward dynamics takes them."""
    velocities = [r.name for r in system.mechanism.velocities]
    tau = np.zeros((*np.shape(found.redundant), system.nv))
    for joint, torque in found.torques.items():
        places = [i for i, name in enumerate(velocities) if name == joint]
        tau[..., places] = torque if len(places) > 1 else np.asarray(torque)[..., None]
    return tau


def five_bar() -> mt.Model:
    m = mt.Model("five-bar")
    bodies = [m.body(name, mt.rod(mass=1.0, length=1.0)) for name in ("left", "up", "down", "right")]
    left, up, down, right = bodies
    m.joint("A", mt.Revolute("y"), m.ground, left)
    m.joint("B", mt.Revolute("y"), left.at((1, 0, 0)), up)
    m.joint("C", mt.Revolute("y"), up.at((1, 0, 0)), down)
    m.joint("D", mt.Revolute("y"), down.at((1, 0, 0)), right.at((1, 0, 0)))
    m.joint("E", mt.Revolute("y"), m.ground.at((1.2, 0, 0)), right)
    m.cut("D")
    return m


FIVE = {"A": -1.9, "E": -1.2}


def test_a_crank_takes_what_the_energy_gains():
    # virtual work: tau A' = dE/dt along the motion A = 1 + 0.4 sin t, whatever passes through the other joints
    system = four_bar().build()

    def at(t):
        return system.assemble({"A": 1 + 0.4 * np.sin(t)}, velocities={"A": 0.4 * np.cos(t)})

    def slope(t, h):
        ahead, behind = (system.energy(state.q, state.v).total for state in (at(t + h), at(t - h)))
        return (ahead - behind) / (2 * h)

    for t in (0.2, 0.9, 2.5):
        start = at(t)
        found = system.actuation(start.q, start.v, {"A": -0.4 * np.sin(t)}, joints=["A"])
        gained = (4 * slope(t, 5e-4) - slope(t, 1e-3)) / 3
        assert found.torques["A"] * 0.4 * np.cos(t) == pytest.approx(gained, abs=1e-8)
        assert found.redundant == 0
        assert found.missing == found.notes == ()


def test_a_crank_holds_a_piston_by_its_lever():
    # at rest: tau dA + F dx = 0, with x = cos A +- sqrt(9 - sin2 A), by the side on which the piston is
    m = slider_crank()
    m.gravity = (0, 0, 0)
    m.force("slider", (-50.0, 0, 0))
    for cut in "ABCD":
        m.cuts[:] = [cut]
        system = m.build()
        for angle in (0.4, 1.0, 2.0):
            start = system.assemble({"A": angle})
            side = np.sign(system.position(start, "slider")[0])
            lever = -np.sin(angle) - side * np.sin(angle) * np.cos(angle) / np.sqrt(9 - np.sin(angle) ** 2)
            found = system.actuation(start.q, start.v, np.zeros(system.nv), joints=["A"])
            assert found.torques["A"] == pytest.approx(50.0 * lever, abs=1e-9)
            np.testing.assert_allclose(found.reactions["A"][5], 50.0 * lever, rtol=0, atol=1e-9)
            # and the piston itself needs the force that acts on it
            found = system.actuation(start.q, start.v, np.zeros(system.nv), joints=["D"])
            assert found.torques["D"] == pytest.approx(50.0, abs=1e-9)


@pytest.mark.parametrize("joints", [["A"], ["B"], ["D"], ["A", "D"], ["A", "B", "D"]])
def test_torques_put_into_forward_dynamics_give_the_motion_back(joints):
    system = four_bar().build()
    random = np.random.default_rng(2)
    starts = [system.assemble({"A": angle}, velocities={"A": 0.7}) for angle in (0.5, 1.0, 2.0)]
    q, v = np.array([start.q for start in starts]), np.array([start.v for start in starts])
    vdot = system.forward_dynamics(q, v, random.standard_normal((3, system.nv)))
    found = system.actuation(q, v, vdot, joints=joints)
    np.testing.assert_allclose(system.forward_dynamics(q, v, generalized(system, found)), vdot, rtol=0, atol=1e-8)
    assert found.redundant.tolist() == [len(joints) - 1] * 3
    one = system.actuation(q[1], v[1], vdot[1], joints=joints)
    for joint in joints:
        assert np.shape(one.torques[joint]) == ()
        assert one.torques[joint] == found.torques[joint][1]
        np.testing.assert_array_equal(one.reactions[joint], found.reactions[joint][1])


def test_of_too_many_torques_the_shortest_are_given_and_it_is_said():
    system = four_bar().build()
    start = system.assemble({"A": 1.0}, velocities={"A": 0.5})
    alone = {joint: system.actuation(start.q, start.v, {"A": 2.0}, [joint]).torques[joint] for joint in "AD"}
    both = system.actuation(start.q, start.v, {"A": 2.0}, ["A", "D"])
    # of all a, d with a / alone_A + d / alone_D = 1
    weights = np.array([1 / alone["A"], 1 / alone["D"]])
    shortest = weights / (weights @ weights)
    np.testing.assert_allclose([both.torques["A"], both.torques["D"]], shortest, rtol=1e-9)
    assert both.redundant == 1
    assert "the actuation is redundant: the motion leaves one direction of the torques open" in str(both)


@pytest.mark.parametrize("cut", "ABCD")
def test_a_joint_that_closes_a_loop_may_be_actuated(cut):
    m = four_bar()
    system = m.build()
    start = system.assemble({"A": 1.0}, velocities={"A": 0.5})
    whole = system.actuation(start.q, start.v, {"A": 2.0}, ["A", "C"])
    m.cuts.append(cut)
    other = m.build()
    again = other.assemble({"A": 1.0}, velocities={"A": 0.5})
    known = {name: x for name, x in zip("ABD", whole.vdot, strict=True) if name != cut}
    found = other.actuation(again.q, again.v, known, ["A", "C"])
    for joint in "AC":
        assert found.torques[joint] == pytest.approx(float(whole.torques[joint]), abs=1e-9)
    for joint in "ABCD":
        np.testing.assert_allclose(found.reactions[joint], whole.reactions[joint], rtol=0, atol=1e-9)


def test_reactions_are_those_of_the_free_motion_where_nothing_has_to_be_driven():
    system = bennett().build()
    start = system.assemble({"R1": 1.0}, velocities={"R1": 0.7})
    run = system.simulate(start, 0.1, every=0.1)
    vdot = system.forward_dynamics(run.q, run.v)
    found = system.actuation(run.q, run.v, vdot, joints=[])
    for joint in system.mechanism.by_joint:
        np.testing.assert_allclose(found.reactions[joint], run.reactions(joint), rtol=0, atol=1e-7)
    assert len(found.missing) == 1
    assert found.notes[0].startswith("not actuated, and nothing has to act along it: the motion R")


def test_one_motor_does_not_move_a_five_bar_as_it_likes():
    system = five_bar().build()
    start = system.assemble(FIVE, velocities={"A": 0.3, "E": 0.2})
    with pytest.raises(
        MomentreeError, match=r"is not sufficient: nothing drives the motion .*= 1, .* must act"
    ) as told:
        system.actuation(start.q, start.v, {"A": 1.0, "E": -1.0}, joints=["A"])
    assert "Actuate 'B' or 'C' or 'E' or 'D' too" in str(told.value)
    assert "A' =" not in str(told.value)  # it does not move what is actuated
    both = system.actuation(start.q, start.v, {"A": 1.0, "E": -1.0}, joints=["A", "E"])
    assert both.redundant == 0
    # but what it does by itself it can do with one
    tau = np.where([r.name == "A" for r in system.mechanism.velocities], 3.0, 0.0)
    one = system.actuation(start.q, start.v, system.forward_dynamics(start.q, start.v, tau), joints=["A"])
    assert one.torques["A"] == pytest.approx(3.0, abs=1e-9)
    assert len(one.missing) == 1


@pytest.mark.repeats(1)
@pytest.mark.parametrize("seed", range(4))
def test_all_joints_of_random_loops_are_driven_as_asked(seed):
    random = np.random.default_rng(seed)
    closing = [["Spherical"], ["Universal"], ["Cylindrical"], ["Revolute"]][seed]
    model, q = random_loops(random, ["Revolute", "Universal", "Spherical", "Cylindrical", "Planar"], closing)
    system = model.build()
    J = Configuration(system.mechanism, q).jacobian()
    v = random.standard_normal(system.nv)
    v -= np.linalg.pinv(J) @ (J @ v)
    vdot = system.forward_dynamics(q, v, random.standard_normal(system.nv))
    joints = [body.joint.name for body in system.mechanism.bodies]
    found = system.actuation(q, v, vdot, joints)
    assert found.redundant == np.linalg.matrix_rank(J)
    np.testing.assert_allclose(system.forward_dynamics(q, v, generalized(system, found)), vdot, rtol=0, atol=1e-7)


def test_a_tree_is_driven_as_inverse_dynamics_says():
    m = mt.Model("pair")
    upper, lower = (m.body(name, mt.rod(mass=1.0, length=1.0, along="-z")) for name in ("upper", "lower"))
    m.joint("A", mt.Universal("x", "y"), m.ground, upper)
    m.joint("B", mt.Revolute("y"), upper.at((0, 0, -1)), lower)
    system = m.build()
    q, v, vdot = np.array([0.3, 0.2, 0.4]), np.array([1.0, -1.0, 0.5]), np.array([0.1, 0.2, 0.3])
    found = system.actuation(q, v, {"A": vdot[:2], "B": vdot[2]}, ["A", "B"])
    expected = system.inverse_dynamics(q, v, vdot)
    np.testing.assert_allclose([*found.torques["A"], found.torques["B"]], expected, rtol=0, atol=1e-12)


def test_a_prescribed_crank_needs_no_torque_and_tells_what_drives_it():
    m = four_bar()
    (A,) = [joint for joint in m.joints if joint.name == "A"]
    m.joints.remove(A)
    m.joint("A", mt.Revolute("y", motion="1 + 0.5*t + t^2"), A.first, A.second)
    driven, free = m.build(), four_bar().build()
    start = driven.assemble(t=0.0)
    found = driven.actuation(start.q, start.v, {}, [])
    other = free.assemble({"A": 1.0}, velocities={"A": 0.5})
    expected = free.actuation(other.q, other.v, {"A": 2.0}, ["A"])
    assert found.reactions["A"][4] == pytest.approx(float(expected.torques["A"]), abs=1e-9)
    with pytest.raises(MomentreeError, match="joint 'A' has a prescribed motion"):
        driven.actuation(start.q, start.v, {}, ["A"])


def test_what_is_wrong_is_named():
    system = four_bar().build()
    start = system.assemble({"A": 1.0}, velocities={"A": 0.5})
    q, v, zero = start.q, start.v, np.zeros(3)
    wrong = {
        "there is no joint 'Z'": (q, v, zero, ["Z"]),
        "named twice": (q, v, zero, ["A", "A"]),
        "opens 'C: translation along .': closure error": (q + 0.1, v, zero, ["A"]),
        "opens 'C: translation along .': velocity": (q, v + 0.1, zero, ["A"]),
        "opens 'C': acceleration": (q, v, zero, ["A"]),
        "opens 'C: translation along .' in row 1: closure error": ([q, q + 0.1], v, {"A": 1.0}, ["A"]),
        "by no joints is not sufficient": (q, v, {"A": 1.0}, []),
        "vdot leaves the motion .* open. Give vdot of more joints": (q, v, {}, ["A"]),
        "vdot of 'A', 'B' together would open the loops": (q, v, {"A": 1.0, "B": 1.0}, ["A"]),
        "'C' is not a free joint of the spanning tree": (q, v, {"C": 1.0}, ["A"]),
        "vdot holds NaN": (q, v, [np.nan] * 3, ["A"]),
        "leading axes of q, v, vdot do not fit": ([q] * 2, [v] * 3, {"A": 1.0}, ["A"]),
    }
    for message, given in wrong.items():
        with pytest.raises(MomentreeError, match=message):
            system.actuation(*given)
    m = four_bar()
    m.constrain("A - 1")
    with pytest.raises(MomentreeError, match="opens 'constraint 1': velocity"):
        m.build().actuation(q, v, zero, ["A"])


# --- the same shortest reactions as those of the free motion ---


def assert_free_reactions(system, state):
    """Actuation without torques, of the motion that the mechanism makes by itself, against what passes then."""
    vdot = system.forward_dynamics(state.q, state.v)
    found = system.actuation(state.q, state.v, vdot, joints=[])
    free = joint_reactions(Evaluation(system.mechanism, state.q.tolist()), state.v.tolist())
    size = max(np.abs([*wrench]).max() for wrench in free.values())
    for joint, wrench in free.items():
        np.testing.assert_allclose(found.reactions[joint], [*wrench], rtol=0, atol=1e-9 * size)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("kind", ["Revolute", "Prismatic", "Cylindrical", "Screw"])
def test_what_two_joints_on_one_axis_share_is_what_they_share_in_free_motion(kind):
    for seed in range(6):
        random = np.random.default_rng(seed)
        system = joint_pair(kind, random).build()
        assert_free_reactions(system, closed_state(random, system, system.assemble().q))


@pytest.mark.repeats(1)
@pytest.mark.parametrize("seed", range(6))
def test_redundant_loops_share_forces_as_in_free_motion(seed):
    random = np.random.default_rng(seed)
    closing = list(random.choice(["Revolute", "Cylindrical", "Fixed", "Universal", "Prismatic"], 2))
    m, q = random_loops(random, list(random.choice(MOVING, 5)), closing)
    system = m.build()
    assert_free_reactions(system, closed_state(random, system, q))


def test_a_bennett_linkage_is_borne_as_in_free_motion():
    system = bennett().build()
    assert_free_reactions(system, system.assemble({"R1": 0.8}, velocities={"R1": 1.3}))


@pytest.mark.parametrize("off", [{}, {"axis": 1e-6}, {"length": 1e-6}])
def test_imprecise_linkages_are_driven_as_exact_ones(off):
    exact, system = bennett().build(), bennett_off(**off).build()
    torques = []
    for one in (exact, system):
        start = one.assemble({"R1": 0.8}, velocities={"R1": 1.0})
        torques.append(one.actuation(start.q, start.v, {"R1": 2.0}, ["R1"]).torques["R1"])
    assert torques[1] == pytest.approx(torques[0], rel=1e-4)


@pytest.mark.parametrize("scale", [1e-3, 1e5])
def test_torques_scale_with_the_mechanism(scale):
    def crank(length):
        m = mt.Model("slider-crank", gravity=(0, -9.81, 0))
        crank = m.body("crank", mt.rod(mass=1.0, length=length))
        rod = m.body("rod", mt.rod(mass=1.0, length=3 * length))
        slider = m.body("slider", mt.box(mass=1.0, size=(length / 5,) * 3))
        m.joint("A", mt.Revolute("z"), m.ground, crank)
        m.joint("B", mt.Revolute("z"), crank.at((length, 0, 0)), rod)
        m.joint("C", mt.Revolute("z"), rod.at((3 * length, 0, 0)), slider)
        m.joint("D", mt.Prismatic("x"), m.ground, slider)
        system = m.build()
        start = system.assemble({"A": 0.7})
        both = system.actuation(start.q, start.v, {"A": 0.0}, ["A", "D"])
        return float(both.torques["A"]), float(both.torques["D"]), both.redundant

    torque, force, redundant = crank(1.0)
    scaled = crank(scale)
    assert scaled == (pytest.approx(torque * scale, rel=1e-9), pytest.approx(force, rel=1e-9), redundant == 1)
