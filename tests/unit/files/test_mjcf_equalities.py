"""Equalities of MJCF: closing joints, couplings, polynomials, tendons; tests/agree/test_mjcf.py compares motions."""

from __future__ import annotations

import pytest

import momentree as mt
from mjcf_texts import LOOPS

pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[test]'")
pytestmark = pytest.mark.filterwarnings("ignore::momentree.files.counterparts.FileNotes")


def loaded(folder, text=LOOPS):
    path = folder / "robot.xml"
    path.write_text(text, encoding="utf-8")
    return mt.load(path)


def test_connect_and_weld_close_loops_between_their_frames(tmp_path):
    model = loaded(tmp_path)
    pin, held = model.joints[-2:]
    assert (pin.name, pin.type.kind, pin.first.body, pin.second.body) == ("pin", "Spherical", "rocker", "ground")
    assert (pin.first.position, pin.second.position) == ((0, 0, -0.5), (1, 0, 0))
    assert (held.type.kind, held.first.body, held.second.body) == ("Fixed", "free", "p")
    assert (held.first.position, held.second.position) == ((0.1, -2, 0), (0.1, 0, 0))
    assert model.cuts == ["pin", "held"]


def test_couplings_count_from_the_references(tmp_path):
    """p - 0.2 = 0.1 - 2 (q - 0.3), r = 0.5 y + 0.25 y^2 with y = q - 0.3, r + 2 s = 0.4."""
    model = loaded(tmp_path)
    assert [couple.name for couple in model.couples] == ["geared", "tendon_4"]
    system = model.build()
    assert system.mobility == 2  # of the four-bar, and of p, q, r, s with what is welded to p
    state = system.assemble({"q": 0.5}, guess=model.start.guess)
    y = 0.5 - 0.3
    assert state["p"] == pytest.approx(0.2 + 0.1 - 2 * y)
    assert state["r"] == pytest.approx(0.5 * y + 0.25 * y * y)
    assert state["r"] + 2 * state["s"] == pytest.approx(0.4)


def test_one_joint_alone_keeps_its_place(tmp_path):
    text = LOOPS.replace('joint1="p" joint2="q" polycoef="0.1 -2 0 0 0"', 'joint1="p" polycoef="0.1 0 0 0 0"')
    system = loaded(tmp_path, text).build()
    assert system.start()["p"] == pytest.approx(0.3)


def test_a_weld_without_torque_is_a_ball(tmp_path):
    text = LOOPS.replace('anchor="0.1 0 0"', 'anchor="0.1 0 0" torquescale="0"')
    assert loaded(tmp_path, text).joints[-1].type.kind == "Spherical"


def test_a_closure_of_bodies_that_are_fixed_to_each_other_says_nothing(tmp_path):
    text = LOOPS.replace('<site name="foot"', '<body name="toe" pos="0 0 -0.5"/><site name="foot"')
    text = text.replace("<equality>", '<equality><connect name="vain" body1="rocker" body2="toe" anchor="0 0 0"/>')
    with pytest.warns(UserWarning, match="bodies that do not move relative to each other: 'vain'"):
        model = loaded(tmp_path, text)
    assert "vain" not in [joint.name for joint in model.joints]


def test_equalities_that_the_file_switches_off(tmp_path):
    text = LOOPS.replace("<worldbody>", '<option><flag equality="disable"/></option><worldbody>', 1)
    model = loaded(tmp_path, text)
    assert (model.cuts, model.couples, model.constraints) == ([], [], [])
