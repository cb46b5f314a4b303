"""The motion of frames: closed forms, differences of dense runs through every phase, and Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import momentree as mt
from agree.peers import Pinocchio, agree, parts, sample
from mechanisms import four_bar, random_frame
from momentree.assembly.samples import Samples
from momentree.errors import MomentreeError
from momentree.files import loads
from momentree.results.frame_motion import frame_accelerations, frame_velocities, rotation_matrices

G = 9.81


@pytest.fixture(scope="module")
def pendulum():
    m = mt.Model("pendulum")
    rod = m.body("rod", mt.rod(mass=2.0, length=0.5))
    m.joint("phi", mt.Revolute("y"), m.ground, rod)
    m.frame("tip", rod.at((0.5, 0, 0), mt.turn("y", 0.3)))
    system = m.build()
    return system.simulate(system.assemble({"phi": 0.4}), 1.0, every=0.05)


def test_a_pendulum_has_the_accelerations_of_the_textbook(pendulum):
    """phi'' = 3 g cos(phi) / (2 l) of a rod that hangs from its end; its tip is at l (cos phi, 0, -sin phi)."""
    l, phi, rate = 0.5, pendulum["phi"], pendulum.velocity("phi")
    turning = 1.5 * G / l * np.cos(phi)
    c, s, zero = np.cos(phi), np.sin(phi), np.zeros_like(phi)
    v = np.stack([-l * s * rate, zero, -l * c * rate, zero, rate, zero], axis=1)
    x = -l * (c * rate**2 + s * turning)
    z = l * (s * rate**2 - c * turning)
    a = np.stack([x, zero, z, zero, turning, zero], axis=1)
    np.testing.assert_allclose(pendulum.frame_velocity("tip"), v, atol=1e-12)
    np.testing.assert_allclose(pendulum.frame_acceleration("tip"), a, atol=1e-11)
    # the frame is turned by 0.3 more about y
    expected = Rotation.from_rotvec(np.outer(phi + 0.3, [0, 1, 0]))
    np.testing.assert_allclose(pendulum.orientation("tip", as_matrix=True), expected.as_matrix(), atol=1e-13)
    np.testing.assert_allclose(Rotation.from_quat(pendulum.orientation("tip")).as_matrix(), expected.as_matrix())
    for ours, inertial in ((pendulum.frame_velocity, v), (pendulum.frame_acceleration, a)):
        turned = [expected.inv().apply(part) for part in (inertial[:, :3], inertial[:, 3:])]
        np.testing.assert_allclose(ours("tip", axes="frame"), np.hstack(turned), atol=1e-11)


def test_frames_of_every_kind_are_understood(pendulum):
    m = loads(pendulum.model)
    for frame in ("rod", m.bodies[0], m.bodies[0].at((0, 0, 0))):
        np.testing.assert_array_equal(pendulum.position(frame), pendulum.position("rod"))
    np.testing.assert_array_equal(pendulum.position("tip"), pendulum.position(m.frames[0]))
    np.testing.assert_allclose(pendulum.system.position(pendulum.q, "tip"), pendulum.position("tip"), atol=1e-15)
    with pytest.raises(MomentreeError, match=r"there is no body 'tap'. Did you mean 'tip'"):
        pendulum.position("tap")
    assert not pendulum.frame_velocity("ground").any()
    assert not pendulum.frame_acceleration(m.ground.at((1, 2, 3))).any()
    np.testing.assert_array_equal(pendulum.orientation("ground"), [[0, 0, 0, 1]] * len(pendulum.t))
    with pytest.raises(MomentreeError, match=r"there is no body 'rud'. Did you mean 'rod'"):
        pendulum.frame_acceleration("rud")
    with pytest.raises(MomentreeError, match=r"frame_velocity: there are no axes 'body'. Choose 'inertial' or 'frame'"):
        pendulum.frame_velocity("rod", axes="body")


# --- differences of dense runs ---

H = 1e-3


def derivative(values):
    """By central differences of fourth order; two samples are lost at either end."""
    return (values[:-4] - 8 * values[1:-3] + 8 * values[3:-1] - values[4:]) / (12 * H)


def agree_with_differences(run, frames, part=slice(None), atol=1e-6):
    """Velocities are derivatives of positions, accelerations those of velocities."""
    np.testing.assert_allclose(np.diff(run.t[part]), H, atol=1e-9)
    for frame in frames:
        v, a = run.frame_velocity(frame)[part], run.frame_acceleration(frame)[part]
        R = run.orientation(frame, as_matrix=True)[part]
        np.testing.assert_allclose(v[2:-2, :3], derivative(run.position(frame)[part]), atol=atol)
        spin = derivative(R.reshape(-1, 9)).reshape(-1, 3, 3) @ R[2:-2].transpose(0, 2, 1)
        np.testing.assert_allclose(v[2:-2, 3:], np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], 1), atol=atol)
        np.testing.assert_allclose(a[2:-2], derivative(v), atol=atol)


def dense(system, start, t_end):
    return system.simulate(start, t_end, every=H, rtol=1e-11, atol=1e-12)


def test_frames_on_a_moving_ground_with_a_driven_joint_and_a_ball():
    m = mt.Model("shaken")
    m.ground.moves(("0.1*sin(3*t)", "0.2*t^2", 0), ("0.3*sin(2*t)", "0.2*t", 0))
    wheel = m.body("wheel", mt.cylinder(mass=1.0, radius=0.2, length=0.1))
    bob = m.body("bob", mass=1.0, com=(0.2, 0.05, 0), inertia=(0.01, 0.02, 0.025))
    m.joint("drive", mt.Revolute("y", motion="t + 0.2*sin(4*t)"), m.ground, wheel)
    m.joint("ball", mt.Spherical(damping=(0.01, 0.01, 0.02)), wheel.at((0.2, 0, 0)), bob.at((-0.1, 0, 0)))
    m.torque("ball", (0.02, "0.01*sin(5*t)", 0))
    system = m.build()
    run = dense(system, system.assemble({}, velocities={"ball": (1.0, -2.0, 3.0)}), 0.05)
    agree_with_differences(run, [wheel.at((0.1, 0.2, 0.3)), bob.at((0.3, 0.1, 0), mt.turn("x", 1.0)), m.ground])


def test_frames_of_a_loop_with_forces():
    m = four_bar()
    m.torque("A", "3*cos(2*t)")
    m.spring("coupler", m.ground.at((1, 0, 1)), stiffness=50.0, damping=1.0, rest=0.3)
    system = m.build()
    run = dense(system, system.assemble({"A": 1.0}, velocities={"A": 2.0}), 0.05)
    agree_with_differences(run, [m.bodies[1].at((1.0, 0.2, 0.3)), "rocker"])


def phases_of(run):
    return [phase.part for phase in run.phases()]


def test_a_joint_that_locks_and_one_that_is_released():
    """In each phase the accelerations are those of its own mechanism; they jump where it changes."""
    m = four_bar()
    m.release("C", at=0.05)
    system = m.build()
    run = dense(system, system.assemble({"A": 1.0}, velocities={"A": 1.0}), 0.1)
    before, after = phases_of(run)
    for part in (before, after):
        agree_with_differences(run, ["coupler"], part)
    a = run.frame_acceleration("coupler")
    assert np.abs(a[after.start] - a[before.stop - 1]).max() > 1.0

    m = mt.Model("array", gravity=(0, 0, 0))
    panel, tip = (m.body(name, mt.rod(mass=1.0, length=1.0)) for name in ("panel", "tip"))
    m.joint("A", mt.Revolute("z", spring=1.0, rest=1.0), m.ground, panel)
    m.joint("B", mt.Revolute("z"), panel.at((1, 0, 0)), tip)
    m.latch("B", at=0.05)
    system = m.build()
    run = dense(system, system.assemble({"A": 0.0, "B": 0.0}, velocities={"B": 1.0}), 0.1)
    before, after = phases_of(run)
    agree_with_differences(run, [tip.at((1, 0, 0))], slice(before.start, before.stop - 1))
    agree_with_differences(run, [tip.at((1, 0, 0))], slice(after.start + 1, after.stop - 1))
    # locked, both turn alike
    relative = run.frame_acceleration("tip") - run.frame_acceleration("panel")
    np.testing.assert_allclose(relative[after, 5], 0, atol=1e-12)
    assert np.abs(relative[before, 5]).min() > 0.1


def test_a_constraint_that_is_switched_on():
    m = mt.Model("clutch", gravity=(0, 0, 0))
    for name in "AB":
        m.joint(name, mt.Revolute("z"), m.ground, m.body(f"wheel {name}", mt.cylinder(mass=1, radius=0.5, length=0.1)))
    m.torque("A", 2.0)
    m.constrain("A' = B'", name="clutch")
    m.switch("clutch", on="t - 0.05")
    system = m.build()
    run = dense(system, system.assemble({}), 0.1)
    before, after = phases_of(run)
    inertia = 1 * 0.5**2 / 2
    for part, driven, other in ((before, 2.0 / inertia, 0.0), (after, 1.0 / inertia, 1.0 / inertia)):
        np.testing.assert_allclose(run.frame_acceleration("wheel A")[part, 5], driven, rtol=1e-12)
        np.testing.assert_allclose(run.frame_acceleration("wheel B")[part, 5], other, rtol=1e-12, atol=1e-12)


def test_quaternions_do_not_jump():
    """Three turns about one axis: w of a quaternion with w >= 0 would jump at each half turn."""
    m = mt.Model("spinner", gravity=(0, 0, 0))
    m.joint("A", mt.Revolute((1, 2, 2), motion="6*pi*t"), m.ground, m.body("top", mt.sphere(mass=1.0, radius=0.1)))
    system = m.build()
    run = system.simulate(system.assemble({}), 1.0, every=0.01)
    half = 3 * np.pi * run.t
    expected = np.column_stack([np.outer(np.sin(half), [1, 2, 2]) / 3, np.cos(half)])
    np.testing.assert_allclose(run.orientation("top"), expected, atol=1e-12)


# --- another program ---


@pytest.mark.parametrize(("direction", "seed"), [("along", 0), ("against", 1), ("either", 5)])
@pytest.mark.repeats(1)
def test_pinocchio_has_the_same_velocities_and_accelerations(direction, seed):
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed: pip install 'momentree[test]'")
    at = sample(direction, seed)
    mechanism = at.system.mechanism
    peer, random = Pinocchio(mechanism), np.random.default_rng(seed)
    vdot = peer.forward_dynamics(at.q, at.v, np.zeros(mechanism.nv))
    q, G, _ = peer.over(at.q)
    pin.forwardKinematics(peer.model, peer.data, q, G @ at.v, G @ vdot)
    samples = Samples(mechanism, at.q[None], at.v[None], np.zeros(1))
    for body in at.model.bodies:
        frame = mechanism.attach(random_frame(random, body))
        joint, X = peer.carriers[frame.body]
        F = X * pin.SE3(*parts(frame.placement))
        R = (peer.data.oMi[joint] * F).rotation
        v, a = F.actInv(peer.data.v[joint]), F.actInv(peer.data.a[joint])
        classic = pin.classicAcceleration(v, a)
        assert agree(rotation_matrices(samples, frame)[0].reshape(3, 3), R)
        assert agree(frame_velocities(samples, frame, "frame")[0], np.hstack([v.linear, v.angular]))
        assert agree(frame_velocities(samples, frame, "inertial")[0], np.hstack([R @ v.linear, R @ v.angular]))
        assert agree(frame_accelerations(samples, frame, "frame")[0], np.hstack([classic, a.angular]))
        assert agree(frame_accelerations(samples, frame, "inertial")[0], np.hstack([R @ classic, R @ a.angular]))
