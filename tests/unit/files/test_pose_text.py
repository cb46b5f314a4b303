"""Placements as texts: SciPy's rotations for the same angles and quaternions, to round-off, near a right angle too."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation as Peer

from momentree.files.pose_text import is_identity, pos_quat, pose, roll_pitch_yaw, xyz_rpy
from momentree.spatial import Rotation, Transform, Vector

EPS = 2e-15


def rotation(matrix: np.ndarray) -> Rotation:
    return Rotation(*(Vector(*row) for row in matrix.tolist()))


def rebuilt(angles: tuple[float, float, float]) -> np.ndarray:
    roll, pitch, yaw = angles
    return Peer.from_euler("ZYX", [yaw, pitch, roll]).as_matrix()


@pytest.mark.parametrize("seed", range(20))
def test_angles_rebuild_any_rotation(seed):
    R = Peer.random(random_state=seed).as_matrix()
    assert np.abs(rebuilt(roll_pitch_yaw(rotation(R))) - R).max() < EPS


@pytest.mark.parametrize("off", [0.0, 1e-16, 1e-12, 1e-9, 1e-8, 1e-6, 1e-3])
@pytest.mark.parametrize("sign", [1, -1])
def test_angles_rebuild_a_pitch_of_nearly_a_right_angle(off, sign):
    R = Peer.from_euler("ZYX", [0.7, sign * (math.pi / 2 - off), -1.1]).as_matrix()
    assert np.abs(rebuilt(roll_pitch_yaw(rotation(R))) - R).max() < EPS


def test_a_turn_about_y_is_a_pitch():
    R = Peer.from_euler("ZYX", [0, 2.5, 0]).as_matrix()
    assert roll_pitch_yaw(rotation(R)) == pytest.approx((0, 2.5, 0), abs=1e-15)


def test_texts_of_the_formats():
    quarter = Transform(
        rotation(np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])), Vector(1.0, 0.0, -2.5)
    )
    assert xyz_rpy(quarter) == {"xyz": "1 0 -2.5", "rpy": "0 0 1.5707963267948966"}
    assert pose(quarter) == "1 0 -2.5 0 0 1.5707963267948966"
    w, x, y, z = map(float, pos_quat(quarter)["quat"].split())
    assert [w, x, y, z] == pytest.approx([math.sqrt(0.5), 0, 0, math.sqrt(0.5)])
    assert xyz_rpy(Transform()) == pos_quat(Transform()) == {}
    assert is_identity(Transform())
    assert not is_identity(quarter)
