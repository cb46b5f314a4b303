"""MJCF: bodies, every joint, options of joints, starts, what is left out; tests/agree/test_mjcf.py compares motions."""

from __future__ import annotations

import builtins
import math
import warnings

import numpy as np
import pytest

import momentree as mt
from mjcf_texts import EVERY, LOOPS, WITHOUT
from momentree.files.counterparts import FileNotes

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[test]'")


def written(folder, text, name="robot.xml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def loaded(folder, text, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileNotes)
        return mt.load(written(folder, text), **options)


def world(inside):
    return f"<mujoco><compiler angle='radian'/><worldbody>{inside}</worldbody></mujoco>"


@pytest.fixture
def every(tmp_path):
    return loaded(tmp_path, EVERY)


def types(model):
    return {joint.name: joint.type for joint in model.joints}


def test_names_and_kinds_of_joints(every):
    kinds = {name: type.kind for name, type in types(every).items()}
    chain = {"yaw": "Revolute", "pitch": "Revolute", "reach": "Prismatic", "wrist": "Spherical", "flight": "Free"}
    assert kinds == {"base_fixed": "Fixed", **chain, "joint_5": "Revolute", "b": "Revolute"}
    named = ["base", "arm", "hand", "ball", "body_5", "tip"]
    assert [body.name for body in every.bodies] == [*named, "yaw_carrier", "pitch_carrier"]
    assert (every.name, every.gravity) == ("every", (0.0, 0.0, -9.8))


def test_options_of_joints_with_defaults_and_degrees(every):
    yaw, pitch, wrist = (types(every)[name] for name in ("yaw", "pitch", "wrist"))
    assert yaw.limits == pytest.approx((-math.pi / 2, math.radians(120)))
    assert (yaw.damping, yaw.armature) == (0.5, 0.02)
    assert (pitch.spring, pitch.rest, pitch.axis) == (2, pytest.approx(math.radians(10)), "y")
    assert wrist.damping == (0.2, 0.2, 0.2)
    (torque,) = every.torques
    assert (torque.joint, torque.law) == ("reach", "-0.3*tanh(reach'/0.01)")


def test_coordinates_are_mujocos_and_motions_start_where_its_do(tmp_path, every):
    """With ref, the bodies are where the file has them at qpos = ref, and elsewhere as MuJoCo places them."""
    m = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    d = mujoco.MjData(m)
    system = every.build()
    for qpos in (m.qpos0, m.qpos0 + np.array([0.3, -0.2, 0.1, *[0] * 11, 0.4, 0.5])):
        d.qpos[:] = qpos
        mujoco.mj_forward(m, d)
        moved = {name: float(d.joint(name).qpos[0]) for name in ("yaw", "pitch", "reach", "b")}
        state = system.start({**moved, "joint_5": float(qpos[-2])})
        for name in ("arm", "hand", "tip", "ball"):
            assert system.position(state, name) == pytest.approx(d.body(name).xpos, abs=1e-14)
    assert every.start.coordinates["flight"] == (1, 2, 3, 0, 0, 0, 1)


def test_limits_are_as_soft_as_mujocos(tmp_path):
    """Beyond a limit a hinge without other forces returns as MuJoCo's does, whose impedance is next to 1 here."""
    joint = '<joint name="j" axis="0 0 1" range="-1 1" solreflimit="{}" solimplimit="0.9999 0.9999 0.001"/>'
    for solref in ("0.05 0.7", "-300 -20"):
        body = f'<body>{joint.format(solref)}<geom size="0.1" pos="1 0 0"/></body>'
        text = world(body).replace("<worldbody>", "<option gravity='0 0 0' timestep='1e-4'/><worldbody>", 1)
        text = text.replace("angle='radian'", "angle='radian' autolimits='true'")
        system = loaded(tmp_path, text).build()
        m = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
        d = mujoco.MjData(m)
        d.qpos[:], d.qvel[:] = 1.1, -0.3
        mujoco.mj_forward(m, d)
        assert system.forward_dynamics([1.1], [-0.3]) == pytest.approx(d.qacc, rel=1e-3)


def test_higher_orders_of_springs_and_dampers_and_the_rotor_of_an_actuator(tmp_path):
    joint = '<joint name="j" type="slide" stiffness="1 2 3" damping="0.5 0.25 0.125" springref="0.1"/>'
    text = world(f"<body>{joint}<geom size='0.1'/></body>").replace(
        "</worldbody>", "</worldbody><actuator><motor joint='j' gear='2' armature='0.3' damping='0.1'/></actuator>"
    )
    model = loaded(tmp_path, text)
    assert (model.joints[0].type.armature, model.joints[0].type.damping) == (1.2, pytest.approx(0.9))
    system, x, v = model.build(), 0.7 - 0.1, -1.5
    force = -(x + 2 * x**2 + 3 * x**3) - (0.9 * v - 0.25 * v * v + 0.125 * v**3)
    mass = 1000 * 4 / 3 * math.pi * 0.1**3
    assert system.forward_dynamics([0.7], [v]) == pytest.approx([force / (mass + 1.2) - 9.81 * mass / (mass + 1.2)])


def test_switches_of_the_file_are_kept(tmp_path):
    flags = 'gravity="disable" spring="disable" damper="disable" limit="disable" frictionloss="disable"'
    joint = '<joint stiffness="1 1" damping="1 1" range="0 1" limited="true" frictionloss="1"/>'
    body = f'<body>{joint}<geom size="0.1"/></body>'
    text = world(body).replace("<worldbody>", f"<option><flag {flags}/></option><worldbody>", 1)
    model = loaded(tmp_path, text)
    plain = mt.Revolute("z")
    assert (model.joints[0].type, model.torques, model.gravity) == (plain, [], (0, 0, 0))


def test_weight_that_is_compensated(tmp_path):
    body = "<body gravcomp='1'><joint type='slide'/><geom size='0.1'/></body>"
    assert loaded(tmp_path, world(body)).build().forward_dynamics([0.0], [0.0]) == pytest.approx([0])


def test_keyframes_are_starts(tmp_path):
    ball = "<body name='b' pos='1 0 0'><freejoint name='f'/><geom size='0.1'/></body>"
    half = math.sqrt(0.5)
    key = f"<key qpos='1 2 3 {half} 0 0 {half}' qvel='0 5 0 1 2 3'/>"
    model = loaded(tmp_path, world(ball).replace("</mujoco>", f"<keyframe>{key}</keyframe></mujoco>"))
    assert model.start.coordinates["f"] == pytest.approx((1, 2, 3, 0, 0, half, half))
    assert model.start.velocities["f"] == pytest.approx((5, 0, 0, 1, 2, 3))  # the body's x is the world's y
    assert model.build().start().v == pytest.approx([5, 0, 0, 1, 2, 3])


def test_what_has_no_counterpart_is_listed_once(tmp_path):
    with pytest.warns(FileNotes) as caught:
        model = mt.load(written(tmp_path, WITHOUT))
    (note,) = caught
    told = str(note.message)
    for part in (
        "body renamed to 'ground_body': 'ground'",
        "mocap bodies, which do not move here: 'ground_body'",
        "armature of ball and free joints left out: 'turn'",
        "springs of ball and free joints left out: 'turn'",
        "limits of ball and free joints left out: 'turn'",
        "friction of ball and free joints left out: 'turn'",
        "limits of tendons left out: 'cable'",
        "friction of tendons left out: 'cable'",
        "armature of tendons left out: 'cable'",
        "spatial tendons left out: 'string'",
        "equalities of spatial tendons left out: 'stretch'",
        "inactive equalities left out: 'idle'",
        "left out (give their forces by torque laws): 'motor'",
        "sensors left out: 'angle'",
        "cameras left out: 'view'",
        "lights left out: 'sun'",
        "contacts of geoms left out (4)",
        "keyframes after the first left out: 'away'",
        "forces of the fluid left out",
        "not drawn: plane without bounds",
    ):
        assert part in told
    assert model.start.coordinates == {"hinge": 0.5, "slider": 0.25}
    assert model.start.velocities == {"hinge": 1.0}


@pytest.mark.parametrize("text", [EVERY, WITHOUT, LOOPS])
def test_a_model_from_a_robot_is_saved_and_loads_equal(tmp_path, text):
    model = loaded(tmp_path, text)
    model.save(tmp_path / "robot.toml")
    assert mt.load(tmp_path / "robot.toml") == model


def test_it_floats_if_asked(tmp_path):
    body = "<body name='b' pos='0 0 1'><geom size='0.1'/></body>"
    assert loaded(tmp_path, world(body)).build().nv == 0
    system = loaded(tmp_path, world(body), floating=True).build()
    assert (system.nv, system.position(system.start(), "b").tolist()) == (6, [0, 0, 1])


def test_the_options_of_other_formats_are_refused(tmp_path):
    with pytest.raises(mt.ModelError, match="takes no packages="):
        mt.load(written(tmp_path, EVERY), packages=["folder"])
    with pytest.raises(mt.ModelError, match="Leave out closures="):
        mt.load(written(tmp_path, EVERY), closures="robot.yaml")


def test_without_mujoco_the_way_out_is_named(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "mujoco":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(mt.ModelError, match=r"pip install 'momentree\[mjcf\]'"):
        mt.load(written(tmp_path, EVERY))


def test_problems_of_the_model_have_a_line(tmp_path):
    """What MuJoCo accepts, but no motion can be computed with."""
    text = "<mujoco>\n<worldbody>\n<body name='b'>\n<joint name='j'/><geom size='0.1'/></body></worldbody></mujoco>"
    model = loaded(tmp_path, text)
    assert model.place_of("joint", "j") == f"{tmp_path / 'robot.xml'}:4"
    assert model.place_of("body", "b") == f"{tmp_path / 'robot.xml'}:3"
    heavy = text.replace("<geom size='0.1'/>", "<inertial pos='0 0 0' mass='1e200' diaginertia='1 1 1'/>")
    with pytest.raises(mt.ModelError, match=r"robot.xml:3: body 'b': mass is larger than"):
        loaded(tmp_path, heavy)


def test_a_run_with_mujoco_and_here_is_the_same(tmp_path):
    """A double pendulum for half a second, MuJoCo by Runge and Kutta with small steps."""
    inner = "<body pos='0 0 -0.5'><joint name='b' axis='0 1 0' damping='0.01'/><geom size='0.1' pos='0 0 -0.4'/></body>"
    joint = "<joint name='a' axis='0 1 0' ref='0.3'/>"
    text = world(f"<body>{joint}<geom size='0.1' pos='0 0 -0.4'/>{inner}</body>")
    text = text.replace("<worldbody>", "<option timestep='1e-4' integrator='RK4'/><worldbody>", 1)
    text = text.replace("</mujoco>", "<keyframe><key qpos='1.5 0.7'/></keyframe></mujoco>")
    system = loaded(tmp_path, text).build()
    m = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    d = mujoco.MjData(m)
    d.qpos[:] = [1.5, 0.7]
    for _ in range(5000):
        mujoco.mj_step(m, d)
    m_end = system.simulate(system.start(), t_end=0.5).q[-1]
    assert np.abs(m_end - d.qpos).max() < 1e-6


def test_without_a_keyframe_joints_begin_within_limits(tmp_path):
    """As those of other robot files; where a keyframe says, they begin there, whatever the limits are."""
    inner = "<body pos='1 0 0'><joint name='b' range='.5 1' limited='true'/><geom size='.1'/></body>"
    text = world(f"<body pos='0 0 2'><freejoint name='f'/><geom size='.1'/>{inner}</body>")
    with pytest.warns(FileNotes, match="begin inside their limits, since 0 is beyond them: 'b'"):
        model = mt.load(written(tmp_path, text))
    state = model.build().start()
    assert (state["b"], state["f"][2]) == (pytest.approx(0.55), 2)
    key = "<keyframe><key qpos='0 0 2 1 0 0 0 0.25'/></keyframe></mujoco>"
    system = loaded(tmp_path, text.replace("</mujoco>", key)).build()
    assert system.start()["b"] == 0.25
    with pytest.warns(mt.RunWarning, match=r"joint 'b': angle = 0.25 is outside its limits \(0.5, 1\)"):
        assert system.simulate(t_end=0.01).end.reason == "arrived"
    assert loaded(tmp_path, text, limits="drop").build().start()["b"] == 0
    laws = loaded(tmp_path, text.replace("'b' ", "'b' frictionloss='2' "), friction_velocity=0.1).torques
    assert [torque.law for torque in laws] == ["-2.0*tanh(b'/0.1)"]
