"""Names and placements of MuJoCo's model: unique, printable, not those of functions; quaternions with w last."""

from __future__ import annotations

import pytest
from scipy.spatial.transform import Rotation

from momentree.files.counterparts import Notes
from momentree.files.mjcf_values import Names, placement, quaternion

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[test]'")


def names(inside):
    notes = Notes("robot.xml")
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{inside}</worldbody></mujoco>")
    return Names(model, notes), notes


def test_what_has_no_name_gets_one_that_nothing_has():
    found, _ = names("<body><joint name='joint_1'/><joint type='slide'/><geom size='1'/></body><body name='body_1'/>")
    assert (found.joints, found.bodies) == (["joint_1", "joint_1_"], ["ground", "body_1", "body_1_"])
    assert (found.unused("joint_1"), found.unused_body("body_1")) == ("joint_1__", "body_1__")


def test_names_that_cannot_stay():
    found, notes = names("<body name='ground'><joint name='sin'/><geom size='1'/></body><body name='a`b'/>")
    assert (found.bodies, found.joints) == (["ground", "ground_body", "a_b"], ["sin_"])
    assert {*notes.by_kind} == {
        "body renamed to 'ground_body'",
        "renamed to 'sin_', since it means a function in expressions",
    }


def test_quaternions_and_placements():
    assert quaternion((1, 0, 0, 0)) is None
    assert quaternion((0.6, 0, 0.8, 0)) == (0, 0.8, 0, 0.6)
    X = placement((1, 2, 3), (0.6, 0, 0.8, 0))
    assert tuple(X.offset) == (1, 2, 3)
    for ours, theirs in zip(X.rotation.rows, Rotation.from_quat((0, 0.8, 0, 0.6)).as_matrix(), strict=True):
        assert tuple(ours) == pytest.approx(tuple(theirs))
