"""Velocities and masses that jump: no decay rate is proven across, and one is where they do not."""

from __future__ import annotations

import math

import numpy as np
import pytest

import momentree as mt

JUMPING = {
    "velocity by sign": ({"velocity": {"x": "1 + 0.5*sign(x - 0.3)"}}, "the velocity of 'x' may jump"),
    "velocity by select": ({"velocity": {"x": "select(x - 0.3, 2, 1)"}}, r"may jump where x in \[.*by select"),
    "velocity by an angle": ({"velocity": {"x": "2 + 0.1*atan2(x - 0.3, -1)"}}, "atan2"),
    "mass by sign": ({"velocity": {"x": 1}, "mass": "2 + sign(x - 0.3)"}, r"the mass \(x, x\) may jump"),
    "in time": ({"velocity": {"x": "select(t - 1, 2, 1)"}}, "the velocity of 'x' may jump"),
}
REGION = {"x": (0, 1), "t": (0, 2)}


@pytest.mark.parametrize("name", JUMPING)
def test_jumps_are_refused_by_name(name):
    described, words = JUMPING[name]
    p = mt.programme("x", gain=2, **described)
    with pytest.raises(mt.MomentreeError, match=words):
        p.certify(REGION, prove=True)


@pytest.mark.parametrize("name", JUMPING)
def test_on_one_side_of_a_jump_rates_are_proven(name):
    p = mt.programme("x", gain=2, **JUMPING[name][0])
    assert p.certify({"x": (0.4, 1), "t": (0, 0.9)}, prove=True).proven == pytest.approx(2, rel=0.06)


CONTINUOUS = ["1 + abs(x - 0.3)", "max(x, 0.5)", "select(x^2 + 0.1, 1, 2)", "sign(2 + sin(x))", "min(x, t)"]


@pytest.mark.parametrize("law", CONTINUOUS)
def test_kinks_and_conditions_that_hold_throughout_are_no_jumps(law):
    p = mt.programme("x y", velocity={"x": law, "y": 0}, gain=5)
    assert p.certify(REGION, prove=True).proven > 0


def test_the_refused_rate_would_have_been_false():
    """x' = 1 + sign(x - 1/2)/2 with the gain 2: a deviation is more than its bound soon after the jump."""
    p = mt.programme("x", velocity={"x": "1 + 0.5*sign(x - 0.5)"}, gain=2)
    run = p.simulate([0.0], [0.501], t_end=1.5, integrator="rk4", step=1e-4)
    bound = run.size[0] * np.exp(-2 * run.t)
    assert (run.size / bound).max() > 100
    assert math.isclose(p.decay_rate({"x": (0, 1)}).rate, 2)
