"""What a user says of a programme on a mechanism: what is taken, and what is refused with a way out."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.structure.programme_mechanism import programme_mechanism, unloaded


def crank() -> mt.Model:
    m = mt.Model("crank")
    m.parameter("w", 3)
    m.joint("A", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(mass=1, length=1)))
    return m


def test_constraints_of_a_programme_are_added_to_a_copy():
    m = four_bar()
    given = programme_mechanism(m, None, ["A = 0.1*t"], velocity={"B": "0.5"}, wanted={"D": "A*t"}, gain="2 + t")
    assert m.constraints == []
    assert [c.name for c in given.own.constraints] == []
    assert [c.name for c in given.whole.constraints] == ["A = 0.1*t", "B' = 0.5"] == list(given.texts)
    assert given.own.coordinates == given.whole.coordinates
    assert [str(law) for law in given.wanted] == ["0", "0", "A*t"]
    assert given.with_gain(7).gain.value == 7


def test_a_system_keeps_its_spanning_tree_and_a_model_gets_one_that_suits():
    m = four_bar()
    system = m.build()
    closing = system.mechanism.loops[0].name
    with pytest.raises(mt.MomentreeError, match=f"'{closing}' is named by"):
        mt.programme(system, velocity={closing: 1})
    given = programme_mechanism(m, None, velocity={closing: 1})
    assert closing in {body.joint.name for body in given.own.bodies}
    assert {loop.name for loop in given.own.loops} == {loop.name for loop in given.whole.loops} != {closing}


def test_parameters_of_model_and_programme():
    p = mt.programme(crank(), velocity={"A": "w + k"}, parameters={"k": 2})
    assert p.parameters == {"k": 2}
    assert p.velocity([0.4]) == pytest.approx(5)
    assert p.with_parameters(k=4).velocity([0.4]) == pytest.approx(7)
    assert p.with_parameters(k=4).system.parameters == {"k": 4}
    system = crank().build(free=["w"])
    q = mt.programme(system, wanted={"A": "w"}, gain="w")
    assert q.with_parameters(w=9).velocity([0.1]) == pytest.approx(9)
    assert q.with_parameters(w=9).dissipation([0.1]) == pytest.approx(9 * q.mass_matrix([0.1]))
    with pytest.raises(mt.MomentreeError, match="'w' is a parameter of the model already"):
        mt.programme(crank(), velocity={"A": "w"}, parameters={"w": 2})


def test_velocities_and_wanted_ones_are_named_by_joint_and_component():
    m = mt.Model("hull")
    m.joint("c", mt.Planar("z"), m.ground, m.body("hull", mass=1, com=(0, 0, 0), inertia=(1, 1, 1)))
    p = mt.programme(m, velocity={"c.x": "cos(c.angle)"}, wanted={"c": (9, 2, "t")})
    np.testing.assert_allclose(p.velocity([0, 0, 0.3], 0.5), (np.cos(0.3), 2, 0.5))
    p = mt.programme(m, wanted=(1, 2, 3), dissipation=[1, 2, 3])
    np.testing.assert_allclose(p.velocity([0, 0, 0.3]), (1, 2, 3))
    np.testing.assert_allclose(p.dissipation([0, 0, 0.3]), np.diag([1, 2, 3]))
    np.testing.assert_allclose(mt.programme(m, wanted={"c.y'": 1}).velocity([0, 0, 0]), (0, 1, 0))


def test_forces_of_the_model_do_not_enter():
    m = crank()
    m.torque("A", "5")
    mechanism = unloaded(m.build().mechanism)
    assert not mechanism.torques
    assert mechanism.gravity.norm == 0


def latched() -> mt.Model:
    m = crank()
    m.latch("A", 1)
    return m


def released() -> mt.Model:
    m = crank()
    m.release("A", at=1)
    return m


def switched() -> mt.Model:
    m = crank()
    m.constrain("A' = 1", name="clutch")
    m.switch("clutch", on="t - 1")
    return m


def with_joint(joint, name="A") -> mt.Model:
    m = mt.Model("one")
    m.joint(name, joint, m.ground, m.body("body", mass=1, com=(0, 0, 0.1), inertia=(1, 1, 1)))
    return m


def chain(n: int) -> mt.Model:
    m, last = mt.Model("chain"), None
    for i in range(n):
        body = m.body(f"b{i}", mt.rod(mass=1, length=1))
        m.joint(f"j{i}", mt.Revolute("y"), last or m.ground, body)
        last = body.at((1, 0, 0))
    return m


@pytest.mark.parametrize(
    ("model", "said", "words"),
    [
        (latched(), {"velocity": {"A": 1}}, "'A' has a latch.*for each phase"),
        (released(), {"velocity": {"A": 1}}, "'A' is released.*for each phase"),
        (switched(), {"velocity": {"A": 1}}, "'clutch' is switched.*for each phase"),
        (with_joint(mt.Spherical()), {}, r"joint 'A' \(Spherical\) has a quaternion.*Revolute, Prismatic or Planar"),
        (with_joint(mt.Free()), {}, r"joint 'A' \(Free\) has a quaternion"),
        (with_joint(mt.Revolute("y", motion="t")), {}, "no joint of the mechanism moves freely"),
        (chain(17), {}, "17 coordinates; at most 16"),
        (crank(), {"velocity": {"B": 1}}, "there is no joint 'B' with one velocity. Choose 'A'"),
        (crank(), {"velocity": [1]}, "by the names of joints"),
        (crank(), {"wanted": {"B": 1}}, "'B' is no joint of the spanning tree"),
        (crank(), {"wanted": [1, 2]}, "wanted has 2 entries. Give one for each of A'"),
        (crank(), {"wanted": {"A": (1, 2)}}, "joint 'A' has 1 velocities, and 2 are given"),
        (crank(), {"wanted": {"A": "omega"}}, "unknown name 'omega' in wanted of A"),
        (crank(), {"constraints": ["A = t", "A = t"]}, "'A = t' is given twice"),
        (crank(), {"constraints": ["AA = t"]}, "unknown name 'AA'"),
        (crank(), {"constraints": ["A", " A "]}, "'A = 0' is given twice"),
        (crank(), {"constraints": 7}, "constraints is 7. Give a list of equations"),
        (crank(), {"gain": 1, "dissipation": 1}, "gain and dissipation both say what d is"),
        (crank(), {"dissipation": [[1, 2], [3, 4]]}, "not a matrix of 1 rows and columns, for A"),
        (crank(), {"position_gain": "A"}, "position_gain is 'A'. Give a number"),
        (crank(), {"position_gain": -1}, "position_gain is -1. Give a number"),
        (crank(), {"mass": 3}, "mass is for programmes that are given by expressions"),
        (crank(), {"mode": "DQ"}, "mode is for programmes that are given by expressions"),
    ],
)
def test_what_cannot_be_is_refused_with_a_way_out(model, said, words):
    with pytest.raises(mt.MomentreeError, match=words):
        mt.programme(model, said.pop("constraints", ()), **said)


def test_names_with_spaces():
    m = with_joint(mt.Prismatic("x"), "first slide")
    p = mt.programme(m, velocity={"first slide": 2}, wanted={"first slide": 3})
    assert p.constraints == ("first slide' = 2",)
    assert p.velocity([0]) == pytest.approx(2)
    assert mt.programme(m, ["`first slide` = t\n"], position_gain=1).constraints == ("first slide = t",)
    run = p.simulate({"first slide": 1.0}, t_end=1)
    assert run["first slide"][-1] == pytest.approx(3)
    assert mt.programme(m, wanted={"first slide": 3}).control([0.5], actuators="first slide").units == {
        "first slide": "N"
    }
