"""Links without mass that nothing determines: held without any effect on the rest, or given a little inertia."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import momentree as mt

INERTIAL = """<inertial><origin xyz="0.1 0.02 0"/><mass value="{}"/>
<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial>"""


def link(name, mass=None):
    return f'<link name="{name}">{"" if mass is None else INERTIAL.format(mass)}</link>'


def joint(name, parent, child, inside="", type="continuous", axis="0 1 0", at="0.3 0 0"):
    ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{at}"/><axis xyz="{axis}"/>'
    return f'<joint name="{name}" type="{type}">{ends}{inside}</joint>'


def robot(*parts):
    return f'<robot name="r">{"".join(parts)}</robot>'


@pytest.fixture
def loaded(tmp_path):
    def load(text, name="r.urdf", **options):
        (tmp_path / name).write_text(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return mt.load(tmp_path / name, **options)

    return load


def accelerations(system, joints):
    """Of these joints, at some state in which the others are at rest at zero."""
    rows = {row.joint: row.index for row in system.velocities}
    q, v = np.zeros(system.nq), np.zeros(system.nv)
    for number, name in enumerate(joints):
        q[rows[name]], v[rows[name]] = 0.3 + 0.2 * number, 0.5 - 0.3 * number
    vdot = system.forward_dynamics(q, v)
    return np.array([vdot[rows[name]] for name in joints])


def held_and_cut(massless_part, **options):
    """A robot of two arms, and the same with a part beyond them."""
    arms = [link("base"), link("a", 1), link("b", 2), joint("A", "base", "a"), joint("B", "a", "b")]
    return robot(*arms), robot(*arms, *massless_part)


def test_massless_ends_are_refused_with_the_option_that_lets_them_through(loaded):
    part = [link("c"), link("d"), link("e"), joint("C", "b", "c"), joint("D", "c", "d", axis="1 0 0")]
    part += [joint("E", "d", "e", type="fixed")]
    without, text = held_and_cut(part)
    with pytest.raises(mt.MomentreeError) as caught:
        loaded(text).build()
    lines = str(caught.value).splitlines()
    assert len(lines) == 2
    assert all(line.endswith('Or load the file with massless="fix".') for line in lines)
    model = loaded(text, massless="fix")
    assert {joint.name for joint in model.joints if joint.type.kind == "Fixed"} == {"root", "C", "D", "E"}
    (note,) = (note for note in model.notes if "massless" in note.kind)
    assert (note.names, note.count) == (("D", "C"), 2)
    found, expected = (accelerations(loaded(t, massless="fix").build(), ["A", "B"]) for t in (text, without))
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("tip", [None, 0.5])
def test_a_massless_carrier_between_bodies_with_mass_is_left_as_it_is(loaded, tip):
    part = [link("c"), link("d", tip), joint("C", "b", "c", axis="0 0 1"), joint("D", "c", "d")]
    _, text = held_and_cut(part)
    fixed = [joint.name for joint in loaded(text, massless="fix").joints if joint.type.kind == "Fixed"]
    assert fixed == (["root"] if tip else ["root", "C", "D"])


def test_a_body_that_is_fixed_to_a_massless_one_gives_it_inertia(loaded):
    part = [link("c"), link("d", 0.5), joint("C", "b", "c"), joint("D", "c", "d", type="fixed")]
    _, text = held_and_cut(part)
    assert loaded(text).build().nv == loaded(text, massless="fix").build().nv == 3


def test_two_arms_that_follow_a_massless_joint_follow_each_other(loaded):
    """The virtual joint of many grippers: f = 2 m + 0.1 and g = -3 m + 0.2, so g = -1.5 f + 0.35."""
    fingers = [link("base"), link("f", 1), link("g", 2)]
    virtual = [link("m"), joint("M", "base", "m", type="prismatic")]
    f = joint("F", "base", "f", '<mimic joint="M" multiplier="2" offset="0.1"/>')
    g = joint("G", "base", "g", '<mimic joint="M" multiplier="-3" offset="0.2"/>', axis="0 0 1")
    direct = joint("G", "base", "g", '<mimic joint="F" multiplier="-1.5" offset="0.35"/>', axis="0 0 1")
    text = robot(*fingers, *virtual, f, "\n", g)
    with pytest.raises(mt.MomentreeError, match=r'body \'m\'.*massless="fix"'):
        loaded(text).build()
    model, plain = loaded(text, massless="fix"), loaded(robot(*fingers, joint("F", "base", "f"), direct))
    (couple,) = model.couples
    assert (couple.joint, couple.to, couple.offset) == ("G", {"F": pytest.approx(-1.5)}, pytest.approx(0.35))
    assert model.source(("couple", 0)).endswith(f"r.urdf:{text.count(chr(10)) + 1}")  # the line of g's own
    found, expected, light = (
        system.forward_dynamics(start.q, start.v)
        for system in (model.build(), plain.build(), loaded(text, massless="light").build())
        for start in [system.start({"F": 0.4}, velocities={"F": 2.0})]
    )
    assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()
    assert np.abs(light[:2] - expected).max() < 1e-4 * np.abs(expected).max()


def test_forces_of_massless_joints_that_couplings_pass_on_are_not_lost(loaded):
    """A spring would be: such a joint keeps its freedom, and gets a little inertia if asked to."""
    damped = '<mimic joint="A" multiplier="2"/><dynamics damping="3"/>'
    _, text = held_and_cut([link("c"), joint("C", "b", "c", damped)])
    with pytest.raises(mt.MomentreeError, match='massless="light"'):
        loaded(text, massless="fix").build()
    system = loaded(text, massless="light").build()
    q, v = np.zeros(3), np.zeros(3)
    rows = {row.joint: row.index for row in system.velocities}
    v[rows["A"]], v[rows["C"]] = 1.0, 2.0
    with_damping = system.forward_dynamics(q, v)
    free = loaded(text.replace('<dynamics damping="3"/>', ""), massless="light").build().forward_dynamics(q, v)
    # the damper at C acts on A through the coupling: -2 * 3 * 2 N m
    M = loaded(held_and_cut([])[0]).build().mass_matrix(np.zeros(2))
    expected = np.linalg.solve(M, [-12.0, 0.0])
    found = (with_damping - free)[[rows["A"], rows["B"]]]
    assert np.abs(found - expected).max() < 1e-4 * np.abs(expected).max()


def test_an_idle_turn_in_a_loop_is_given_a_little_inertia(loaded, tmp_path):
    """A massless pin between two hinges with one axis turns by itself; nothing else depends on it."""
    part = [link("pin"), link("d", 1), link("end"), joint("P", "b", "pin")]
    part += [joint("Q", "base", "d", at="0.8 0 0.1"), joint("R", "d", "end")]
    _, text = held_and_cut(part)
    (tmp_path / "r.yaml").write_text("closed_loop: [['pin', 'end']]\ntype: ['6d']\n")
    with pytest.raises(mt.MomentreeError, match='massless="light"'):
        loaded(text).build()
    system = loaded(text, massless="light").build()
    assert system.mobility == 1 + 1
    run = system.simulate(t_end=0.2)
    assert run.end.reason == "arrived"
    assert run.closure_error.max() < 1e-8


def test_a_point_mass_on_the_axis_gets_a_little_inertia(loaded):
    point = '<link name="c"><inertial><mass value="0.3"/></inertial></link>'
    _, text = held_and_cut([point, joint("C", "b", "c")])
    with pytest.raises(mt.MomentreeError, match=r'body \'c\'.*massless="light"'):
        loaded(text).build()
    system = loaded(text, massless="light").build()
    M = system.mass_matrix(np.zeros(3))
    expected = 1e-6 * 3.3 * 0.1**2  # a millionth of the robot's mass, turning at 0.1 m
    assert M[2, 2] == pytest.approx(expected, rel=1e-12)


def test_carriers_of_mjcf_that_nothing_determines_get_a_little_inertia(loaded):
    """MuJoCo refuses bodies without mass, but between two hinges of one body there is one."""
    pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[mjcf]'")
    text = """<mujoco><worldbody><body name="a"><joint name="A" axis="0 1 0"/>
      <joint name="B" axis="0 {} 1" armature="{}"/><geom size="0.1" mass="1"/>{}</body></worldbody></mujoco>"""
    assert loaded(text.format(1, 0, ""), "r.xml").build().nv == 2
    assert "massless" not in str(loaded(text.format(1, 0, ""), "r.xml", massless="fix").notes)
    along = text.format(1e-13, 0, "").replace('1e-13 1"', '1 0"')
    with pytest.raises(mt.MomentreeError, match=r'body .A_carrier.*massless="light"'):
        loaded(along, "r.xml").build()
    M = loaded(along, "r.xml", massless="light").build().mass_matrix(np.zeros(2))
    assert np.linalg.det(M) == pytest.approx(1e-6 * 0.1**2 * 0.4 * 0.1**2, rel=1e-6)  # of the carrier and the ball
    empty = text.format(1, 0, '<body name="b"><joint name="C"/></body>')
    with pytest.raises(mt.MomentreeError, match=r"'b': MuJoCo cannot compile it: mass .*boundmass="):
        loaded(empty, "r.xml")


def test_only_known_choices_and_only_for_robots(loaded, tmp_path):
    text, _ = held_and_cut([])
    with pytest.raises(mt.MomentreeError, match=re.escape("massless is 'drop'. Choose 'error', 'fix' or 'light'.")):
        loaded(text, massless="drop")
    with pytest.raises(mt.MomentreeError, match="takes no massless="):
        loaded("", "r.toml", massless="fix")
