"""Switched joints close loops, with a Free joint beside them where they alone hold a part."""

from __future__ import annotations

import dataclasses

import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.errors import ModelError
from momentree.structure.switched_constraints import inactive_at_start, switched


def stout_four_bar():
    """Its bodies have inertia about every axis."""
    m = four_bar()
    m.bodies = [dataclasses.replace(body, shapes=dataclasses.replace(body.shape, radius=0.05)) for body in m.bodies]
    return m


def chain(n=3, grounded=True):
    m = mt.Model("chain")
    before = m.ground
    for i in range(n):
        body = m.body(f"b{i}", mt.rod(mass=1.0, length=1.0, radius=0.1))
        if i or grounded:
            m.joint(f"j{i}", mt.Revolute("y"), before if i == 0 else before.at((1, 0, 0)), body)
        before = body
    return m


def joints(m):
    return [body.joint.name for body in m.build().mechanism.bodies]


def test_a_part_that_comes_off_gets_a_free_joint_in_the_same_frames():
    m = chain()
    m.release("j1", at=1)
    system = m.build()
    assert joints(m) == ["j0", "free b1", "j2"]
    assert [loop.name for loop in system.mechanism.loops] == ["j1"]
    assert system.mobility == 3
    state = system.assemble({"j0": 0.1, "j1": 0.2, "j2": 0.3}, velocities={"j1": 2.0})
    assert [state[name] for name in ("j0", "j1", "j2")] == pytest.approx([0.1, 0.2, 0.3], abs=1e-13)
    assert state.velocity("j1") == pytest.approx(2.0, rel=1e-13)
    # what is not given stays at zero, as without the release
    plain = system.assemble({"j1": 0.2})
    assert plain["j0"] == plain["j2"] == 0


def test_several_parts_come_off_one_from_another():
    m = chain(4)
    for name in ("j3", "j1", "j2"):
        m.release(name, at=1)
    assert joints(m) == ["j0", "free b1", "free b2", "free b3"]


def test_a_part_that_floats_comes_off_another_one():
    m = chain(2, grounded=False)
    m.release("j1", at=1)
    assert joints(m) == ["free b0", "free b1"]


def test_a_joint_against_the_direction_of_the_tree():
    m = mt.Model("reverse")
    body = m.body("b", mt.rod(mass=1.0, length=1.0, radius=0.1))
    m.joint("j", mt.Revolute("y"), body, m.ground)
    m.release("j", at=1)
    system = m.build()
    (tree,) = system.mechanism.bodies
    assert (tree.joint.name, tree.reverse, tree.joint.first.body) == ("free b", False, "ground")
    assert system.assemble({"j": 0.4})["j"] == pytest.approx(0.4, abs=1e-13)


def test_a_joint_of_a_loop_needs_no_free_joint():
    m = four_bar()
    m.release("B", at=1)
    mechanism = m.build().mechanism
    assert [loop.name for loop in mechanism.loops] == ["B"]
    assert not any(body.joint.name.startswith("free") for body in mechanism.bodies)


def test_two_joints_of_one_loop():
    m = stout_four_bar()
    m.release("B", at=1)
    m.release("C", at=2)
    system = m.build()
    assert sorted(loop.name for loop in system.mechanism.loops) == ["B", "C"]
    assert system.mobility == four_bar().build().mobility


def test_what_is_first_switched_on_does_not_act_before():
    m = stout_four_bar()
    m.switch("C", on="t - 1", off="t - 2")
    m.switch("B", off="t - 1")
    m.switch("B", on="t - 2")
    mechanism = m.build().mechanism
    assert inactive_at_start(mechanism) == {"C"}
    assert [loop.name for loop in mechanism.loops] == ["B"]
    assert [loop.name for loop in mechanism.whole.loops] == [loop.name for loop in switched(mechanism, ()).loops]
    assert [loop.name for loop in switched(mechanism, ["B"]).loops] == ["C"]
    assert switched(switched(mechanism, ["B"]), ["C"]).loops == mechanism.loops


def test_the_structure_shows_loops_that_are_closed_later():
    m = four_bar()
    m.switch("C", on="t - 1")
    system = m.build()
    assert [loop.closed_by for loop in system.structure.loops] == ["joint C"]
    assert "joint C" in str(system)


def test_torques_cease_with_their_joint():
    m = four_bar()
    m.torque("C", 1.0)
    m.release("C", at=1)
    mechanism = m.build().mechanism
    assert len(mechanism.torques) == 1
    assert switched(mechanism, ["C"]).torques == ()


def test_a_massless_body_must_not_come_off():
    m = chain(1)
    tip = m.body("tip", massless=True)
    m.joint("pin", mt.Revolute("y"), m.bodies[0].at((1, 0, 0)), tip)
    m.release("pin", at=1)
    with pytest.raises(ModelError, match="tip"):
        m.build()


def test_the_report_says_what_is_switched_and_when():
    m = chain()
    m.release("j1", at=2.5)
    m.switch("j2", off="j0 - 1")
    text = str(m.build())
    assert "'j1' ceases to act where t - 2.5 rises through zero." in text
    assert "'j2' ceases to act where j0 - 1 rises through zero." in text
    assert "free b1" in text
