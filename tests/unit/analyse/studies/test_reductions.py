"""Reductions over time against closed forms; none depends on the motions beside it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from momentree.analyse.studies.reductions import REDUCTIONS

T = np.append(np.arange(0, 2.0, 0.01), 1.995)  # the last interval is shorter
X = np.stack([np.sin(3 * T), np.exp(T) - 3, 0 * T + 1, T - 5])
CLOSED = {
    "max": [1, math.exp(1.995) - 3, 1, -3.005],
    "min": [-1, -2, 1, -5],
    "peak": [1, math.exp(1.995) - 3, 1, 5],
    "range": [2, math.exp(1.995) - 1, 0, 1.995],
    "first": [0, -2, 1, -5],
    "last": [math.sin(5.985), math.exp(1.995) - 3, 1, -3.005],
    "integral": [(1 - math.cos(5.985)) / 3, math.exp(1.995) - 1 - 3 * 1.995, 1.995, 1.995**2 / 2 - 5 * 1.995],
    "mean": [(1 - math.cos(5.985)) / 3 / 1.995, (math.exp(1.995) - 1) / 1.995 - 3, 1, 1.995 / 2 - 5],
    "time_of_max": [math.pi / 6, 1.995, 0, 1.995],
    "time_of_min": [math.pi / 2, 0, 0, 0],
    "crossing": [math.pi / 3, math.log(3), math.nan, math.nan],
    "crossings": [2, 1, 0, 0],
}


@pytest.mark.parametrize("name", CLOSED)
def test_a_reduction_has_its_closed_form(name):
    x = X.copy()
    if name == "crossings":
        x[0] = np.sin(3 * T + 0.5)
    found = REDUCTIONS[name].of(T, x)
    assert found.shape == (4, 1)
    tolerance = 1e-2 if name.startswith("time_of") else 1e-3 if name in ("max", "min", "peak", "range") else 2e-4
    assert found[:, 0].tolist() == pytest.approx(CLOSED[name], abs=tolerance, nan_ok=True)


def test_a_crossing_between_samples_is_accurate_to_the_fourth_order():
    errors = []
    for step in (0.02, 0.01):
        t = np.arange(0, 2, step)
        errors.append(abs(float(REDUCTIONS["crossing"].of(t, np.exp(t)[None] - 3.3)[0, 0]) - math.log(3.3)))
    assert errors[0] < 1e-7
    assert errors[1] < errors[0] / 8


def test_few_samples_suffice():
    t, x = np.array([0.0, 1.0]), np.array([[-1.0, 1.0]])
    assert REDUCTIONS["crossing"].of(t, x)[0, 0] == pytest.approx(0.5)
    for name, reduction in REDUCTIONS.items():
        assert np.isfinite(reduction.of(t[:1], np.array([[2.0]]))).all() == (name not in ("crossing",)), name


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_motion_gives_the_same_bits_in_any_batch(name):
    x = np.random.default_rng(1).normal(size=(37, 203)).cumsum(axis=1)
    t = np.arange(203) * 0.01
    alone = np.concatenate([REDUCTIONS[name].of(t, x[i : i + 1]) for i in range(37)])
    assert np.array_equal(REDUCTIONS[name].of(t, x), alone, equal_nan=True)


def test_rms_of_a_sine_over_whole_periods():
    t = np.linspace(0, 1, 101)
    assert REDUCTIONS["rms"].of(t, 3 * np.sin(2 * np.pi * t)[None])[0, 0] == pytest.approx(3 / math.sqrt(2), abs=1e-12)
