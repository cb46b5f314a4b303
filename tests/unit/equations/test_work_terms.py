"""Each meter of the account of work by its own formula."""

from __future__ import annotations

import math

import pytest

import momentree as mt
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import names_of
from momentree.equations.kinematics import records
from momentree.equations.work_terms import motion_powers, motion_terms, powers, stored_energies, work_terms


def account(system, q, v, t=0.0):
    m = system.mechanism
    moving = records(Evaluation(m, q, t), v)
    found = powers(m, moving, names_of(Evaluation(m, q, t), moving))
    return dict(zip(work_terms(m), found, strict=True))


def stored(system, q):
    m = system.mechanism
    return stored_energies(m, records(Evaluation(m, q)))


def slider(m=None, **options):
    """A mass of 2 kg along x."""
    m = m or mt.Model("slider", gravity=(0, 0, 0))
    mass = m.body("mass", mt.sphere(mass=2.0, radius=0.1))
    m.joint("x", mt.Prismatic("x", **options), m.ground, mass)
    return m, mass


def test_torques_of_one_joint_are_one_drive():
    m, _ = slider()
    m.torque("x", "3*t")
    m.torque("x", "-2*x")
    assert account(m.build(), [0.5], [4.0], 1.0) == {("torque on x", "drive"): pytest.approx((3.0 - 1.0) * 4.0)}


def test_forces_and_moments_work_on_the_frame_that_they_act_on():
    m = mt.Model("pendulum", gravity=(0, 0, 0))
    bob = m.body("bob", mt.rod(mass=1.0, length=1.0))
    m.joint("A", mt.Revolute("y"), m.ground, bob)
    m.force(bob.at((1, 0, 0)), (0, 0, 5.0))
    m.force(bob, moment=(0, 0.5, 0), axes="body")
    found = account(m.build(), [0.3], [2.0])
    assert found["force 1 on bob", "force"] == pytest.approx(-5.0 * 2.0 * math.cos(0.3))
    assert found["force 2 on bob", "force"] == pytest.approx(0.5 * 2.0)


def test_dampers_and_stops():
    m, _ = slider(damping=0.5, limits=(-1, 1), stops=(1e3, 20.0))
    found = account(m.build(), [1.01], [4.0])
    assert found["damper of x", "damper"] == pytest.approx(-0.5 * 16.0)
    assert found["stops of x", "stop"] == pytest.approx(-1e3 * 0.01 * 4.0 - 20.0 * 16.0)
    # leaving faster than the spring pushes, the stop does nothing: what the spring held is lost
    assert account(m.build(), [1.01], [-4.0])["stops of x", "stop"] == 0
    assert stored(m.build(), [1.01]) == {"stops of x": pytest.approx(1e3 * 1e-4 / 2)}


def test_springs_between_points_lose_by_damping_and_threads_by_going_slack():
    m, mass = slider()
    m.spring(m.ground.at((-1, 0, 0)), mass, 100.0, damping=3.0, rest=0.5)
    m.spring(m.ground.at((-1, 0, 0)), mass, 100.0, damping=3.0, rest=0.5, tension_only=True)
    m.spring(m.ground.at((-1, 0, 0)), mass, 100.0, rest=0.5)
    names = [(f"spring {i} between ground and mass", "spring damping") for i in (1, 2)]
    assert list(account(m.build(), [0.5], [2.0])) == names
    assert [*account(m.build(), [0.5], [2.0]).values()] == pytest.approx([-12.0, -12.0 - 100.0 * 2.0])
    # 1 m longer than at rest it pulls with 100 N: shortened faster than 100/3 m/s a thread is slack, and what it stores
    # is lost
    assert [*account(m.build(), [0.5], [-50.0]).values()] == pytest.approx([-3.0 * 2500.0, 0.0])
    assert [*account(m.build(), [-0.8], [2.0]).values()] == pytest.approx([-12.0, 0.0])
    for q, energy in ((0.5, 50.0), (-0.8, 0.0)):
        assert stored(m.build(), [q]) == {names[1][0]: pytest.approx(energy)}


def test_contacts_lose_by_damping_and_by_friction():
    m = mt.Model("block", gravity=(0, 0, 0))
    block = m.body("block", mass=1.0, inertia=(1, 1, 1))
    m.joint("block", mt.Planar("y"), m.ground, block)
    m.contact(block, stiffness=1e3, damping=20.0, friction=0.5, slip=0.1)
    m.contact(block, stiffness=1e3)
    system = m.build()
    names = [str(r) for r in system.mechanism.coordinates]
    q, v = [0.0] * 3, [0.0] * 3
    q[names.index("block.z")], v[names.index("block.z")], v[names.index("block.x")] = -0.01, -0.3, 2.0
    found = account(system, q, v)
    assert found == {
        ("contact 1 of block", "contact"): pytest.approx(-(10.0 + 6.0) * 0.3),
        ("friction of contact 1 of block", "friction"): pytest.approx(-0.5 * (10.0 + 6.0) * math.tanh(20.0) * 2.0),
    }


def test_a_prescribed_slider_and_a_ground_that_moves_lift_a_weight():
    m = mt.Model("lift", gravity=(0, 0, -10.0))
    mass = m.body("mass", mt.sphere(mass=2.0, radius=0.1))
    m.joint("lift", mt.Prismatic("z", motion="t^2"), m.ground, mass)
    m.ground.moves((0, 0, "3*t"))
    mechanism = m.build().mechanism
    assert motion_terms(mechanism) == (("motion of lift", "motion"), ("motion of the ground", "ground"))
    # the force is m (g + 2), the joint moves with 2 t and the ground with 3
    assert motion_powers(Evaluation(mechanism, [], 1.5), [], []) == pytest.approx([24.0 * 3.0, 24.0 * 3.0])
    assert work_terms(mechanism) == ()


def test_a_ground_that_moves_stretches_what_hangs_on_it():
    m, mass = slider()
    m.ground.moves(("2*t", 0, 0))
    m.spring(m.ground.at((-1, 0, 0)), mass, 100.0, rest=0.5)
    m.force(m.ground, (7.0, 0, 0))
    system = m.build()
    a = system.forward_dynamics([0.5], [0.0])
    (ground,) = motion_powers(Evaluation(system.mechanism, [0.5]), [0.0], a)
    # whoever moves the ground holds it against the spring, which draws it along x with 100 N, and against the push
    assert ground == pytest.approx((-100.0 - 7.0) * 2.0)
    assert account(system, [0.5], [0.0]) == {("force 1 on ground", "force"): pytest.approx(14.0)}
