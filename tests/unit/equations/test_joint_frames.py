"""Frames chosen for machine code: how far they may stand from their bodies."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt


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
