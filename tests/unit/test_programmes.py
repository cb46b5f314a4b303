"""Programmes as users meet them: batches, parameters without new code, gains."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from momentree.errors import MomentreeError

CART = mt.programme(
    "x y phi", ["x'*sin(phi) - y'*cos(phi) = 0"], velocity={"x": "v*cos(phi)", "phi": "w"}, mass=(2, 2, 0.5),
    gain="k", parameters={"v": 1, "w": 2, "k": 3},
)  # fmt: skip


def test_leading_axes_are_batches():
    q, qd, t = np.random.default_rng(2).normal(size=(3, 4, 5, 3))[0], np.ones((5, 3)), np.zeros((4, 1))
    u = CART.deviation(q, qd, t)
    assert u.shape == (4, 5, 3)
    assert u[2, 3] == pytest.approx(CART.deviation(q[2, 3], qd[3]))
    assert CART.decay_matrix(q).shape == (4, 5, 3, 3)
    with pytest.raises(MomentreeError, match="leading axes of q, qd and t do not fit"):
        CART.deviation(q, np.ones((2, 3)))
    with pytest.raises(MomentreeError, match=r"q has shape .* Its last axis is x, y, phi"):
        CART.velocity([1.0, 2.0])


def test_parameters_change_without_new_machine_code():
    faster = CART.with_parameters(v=5)
    assert faster.velocity([0, 0, 0.0]) == pytest.approx([5, 0, 2])
    assert CART.velocity([0, 0, 0.0]) == pytest.approx([1, 0, 2])
    assert faster._kernels is CART._kernels
    with pytest.raises(MomentreeError, match=r"no parameter 'vv'. Did you mean 'v'"):
        CART.with_parameters(vv=1)


@pytest.mark.long
def test_a_gain_is_dissipation_in_proportion_to_the_mass():
    stiffer = CART.with_gain(7)
    assert stiffer.dissipation([0, 0, 1.0]) == pytest.approx(7 * np.diag([2, 2, 0.5]))
    assert stiffer.parameters == CART.parameters


@pytest.mark.long
def test_deviations_decay_with_the_coefficients():
    q, qd = np.array([0.3, 0.2, 1.1]), np.array([1.0, 0.4, -0.3])
    u = CART.deviation(q, qd)
    h = 1e-6
    later = CART.deviation(q + h * qd, qd + h * CART.accelerations(q, qd), h)
    assert CART.mass_matrix(q) @ (later - u) / h == pytest.approx(CART.coefficients(q, qd) @ u, abs=1e-5)
