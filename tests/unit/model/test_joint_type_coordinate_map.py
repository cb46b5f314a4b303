"""The coordinate map of a joint type: derivatives of its coordinates by its velocities, and how it changes."""

from __future__ import annotations

import numpy as np
import pytest

from momentree.model.joint_types import JOINTS
from momentree.model.values import Values

MAPPED = [kind for kind, joint in JOINTS.items() if len(joint.coordinates) != len(joint.velocities)]


def at_random(kind):
    random = np.random.default_rng(4)
    joint = JOINTS[kind].random(random).resolved(Values({}))
    u = random.standard_normal((2, len(joint.velocities)))
    return joint, joint.integrate(joint.reference(), u[0]), u[1]


@pytest.mark.parametrize("kind", MAPPED)
def test_the_map_times_velocities_is_the_derivative_of_coordinates(kind):
    joint, q, u = at_random(kind)
    columns = np.array(joint.coordinate_map(q), dtype=float)
    np.testing.assert_allclose(u @ columns, joint.coordinate_derivatives(q, u), rtol=0, atol=1e-14)
    after, before = (np.array(joint.integrate(q, u * h), dtype=float) for h in (1e-6, -1e-6))
    np.testing.assert_allclose(u @ columns, (after - before) / 2e-6, rtol=0, atol=1e-8)


@pytest.mark.parametrize("kind", MAPPED)
def test_its_derivative_is_that_along_the_motion(kind):
    joint, q, u = at_random(kind)
    after, before = (np.array(joint.coordinate_map(joint.integrate(q, u * h)), dtype=float) for h in (1e-5, -1e-5))
    found = np.array(joint.coordinate_map_derivative(q, u), dtype=float)
    np.testing.assert_allclose(found, (after - before) / 2e-5, rtol=0, atol=1e-8)


def test_velocities_of_other_joints_are_derivatives_of_their_coordinates():
    assert sorted(MAPPED) == ["Free", "Spherical"]
    for kind in sorted(set(JOINTS) - {*MAPPED}):
        joint, q, _ = at_random(kind)
        assert joint.coordinate_map(q) is None
