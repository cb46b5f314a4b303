"""Frames chosen for machine code: how far they may stand from their bodies, and axes that are almost parallel."""

from __future__ import annotations

import math

import numpy as np
import pytest

import momentree as mt
from momentree.equations.joint_frames import in_joint_frames
from momentree.spatial.rotation import IDENTITY, Turn


def row_of_rods(at) -> mt.Model:
    """Two rods on skew hinges, the first on the ground at a place."""
    m = mt.Model("rods")
    first, second = (m.body(name, mt.rod(mass=1.0, length=0.5, radius=0.1)) for name in ("first", "second"))
    m.joint("A", mt.Revolute((1, 2, 3)), m.ground.at(at), first)
    m.joint("B", mt.Revolute((3, -1, 1)), first.at((0.5, 0.1, 0.2)), second)
    return m


@pytest.mark.parametrize("code", ["straight-line", "rolled"])
def test_where_a_mechanism_stands_does_not_cost_digits_of_how_it_accelerates(code):
    q, v = np.array([0.4, -1.1]), np.array([1.3, 0.6])
    near, far = (row_of_rods(at).build(code=code).forward_dynamics(q, v) for at in ((0, 0, 0), (1e5, -2e5, 3e5)))
    np.testing.assert_allclose(far, near, rtol=1e-13)


# --- axes that are almost parallel ---


TILTS = [1e-6, 1.4e-7, 3e-8, 1e-10, 1e-12, 1e-13, 1e-14, 1e-15]
INERTIA = np.array([[0.5, 0.03, -0.02], [0.03, 0.4, 0.05], [-0.02, 0.05, 0.3]])
COM, ARM = np.array([0.3, -0.2, 0.4]), np.array([0.5, 0.1, 0.2])
MOMENTS = (0.5, 0.4, 0.3, 0.03, -0.02, 0.05)  # of INERTIA: xx, yy, zz, xy, xz, yz


def rodrigues(n, angle):
    """R of a turn, accurate for the smallest angles: 1 - cos as 2 sin^2 of the half."""
    K = np.array([[0, -n[2], n[1]], [n[2], 0, -n[0]], [-n[1], n[0], 0]])
    return np.eye(3) + math.sin(angle) * K + 2 * math.sin(angle / 2) ** 2 * K @ K


def tilted_chain(tilt, given) -> mt.Model:
    """Three hinges about z, each tilted against the one before, by its axis or by its mount."""
    m = mt.Model("tilted", gravity=(0, 0, 0))
    end, c, s = m.ground, math.cos(tilt), math.sin(tilt)
    for i, (sign, about) in enumerate(((1, "y"), (-2, "x"), (1, "y"))):
        link = m.body(f"link{i}", mass=2.0, com=tuple(COM), inertia=MOMENTS)
        angle, axis, R = sign * tilt, mt.Revolute("z"), None
        s, c = math.sin(angle), math.cos(angle)
        along_y = about == "y"
        match given:
            case "axis":
                axis = mt.Revolute((s, 0, c) if along_y else (0, -s, c))
            case "turn":
                R = mt.turn(about, angle)
            case "quaternion":
                half = math.sin(angle / 2)
                R = (0, half, 0, math.cos(angle / 2)) if along_y else (half, 0, 0, math.cos(angle / 2))
            case "matrix":
                R = ((c, 0, s), (0, 1, 0), (-s, 0, c)) if along_y else ((1, 0, 0), (0, c, -s), (0, s, c))
        m.joint(f"j{i}", axis, end.at(tuple(ARM) if i else (0, 0, 0), rotation=R), link)
        end = link
    return m


def dense_mass_matrix(tilt, given, q):
    R, p, J_w, J_v, M = np.eye(3), np.zeros(3), np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    for i, (sign, n) in enumerate(((1, (0, 1, 0)), (-2, (1, 0, 0)), (1, (0, 1, 0)))):
        T = rodrigues(n, sign * tilt)
        offset = R @ ARM if i else np.zeros(3)
        J_v = J_v + np.cross(J_w, offset, axis=0)  # of the joint's origin
        p = p + offset
        axis = R @ T[:, 2]
        J_w, J_v = J_w.copy(), J_v.copy()
        J_w[:, i] = axis
        R = R @ rodrigues(T[:, 2], q[i]) if given == "axis" else R @ T @ rodrigues((0, 0, 1), q[i])
        J_c = J_v + np.cross(J_w, R @ COM, axis=0)
        M += 2.0 * J_c.T @ J_c + J_w.T @ R @ INERTIA @ R.T @ J_w
    return M


@pytest.mark.repeats(3, of="given")
@pytest.mark.parametrize("tilt", TILTS)
@pytest.mark.parametrize("given", ["axis", "turn", "quaternion", "matrix"])
def test_axes_that_are_almost_parallel_stay_as_they_were_given(tilt, given):
    q = np.array([0.4, -1.1, 0.7])
    expected = dense_mass_matrix(tilt, given, q)
    system = tilted_chain(tilt, given).build()
    for found in (system.mass_matrix(q), np.linalg.inv(system.inverse_mass_matrix(q))):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
    if tilt >= 1e-12:  # what was asked for is more than the tolerance
        assert np.abs(dense_mass_matrix(0.0, given, q) - expected).max() > 0.2 * tilt


@pytest.mark.parametrize("tilt", [1e-6, 1e-8, 1e-10, 1e-12])
def test_frames_of_tilted_hinges_are_still_those_with_the_fewest_operations(tilt):
    for body in in_joint_frames(tilted_chain(tilt, "axis").build().mechanism).bodies[1:]:
        R = body.mount.rotation
        assert isinstance(R, Turn)
        assert (R.axis, R.c) == (0, pytest.approx(1, abs=1e-11))
        assert abs(R.s) == pytest.approx(math.sqrt(5) * tilt, rel=1e-2)


@pytest.mark.parametrize("degrees", [0, 90, 180, 270, 360, -90])
def test_right_angles_still_give_zeros(degrees):
    m = mt.Model("right angles")
    end = m.ground
    for i, about in enumerate("zxyzx"):
        link = m.body(f"link{i}", mass=2.0, com=(0.1, 0.2, 0.3), inertia=(1, 1, 1))
        turned = (mt.turn(about, math.radians(degrees)), mt.turn("y", math.radians(degrees)))
        m.joint(f"j{i}", mt.Revolute("xyz"[i % 3]), end.at((0.5, 0, 0), rotation=turned), link)
        end = link
    for body in in_joint_frames(m.build().mechanism).bodies:
        R = body.mount.rotation
        assert R is IDENTITY or all(x in (-1, 0, 1) or abs(x) < 1e-15 for row in R.rows for x in row)
        assert sum(x == 0 for row in R.rows for x in row) >= (6 if not isinstance(R, Turn) else 4)
