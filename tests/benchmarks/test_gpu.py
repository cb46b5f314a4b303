"""The benchmark of GPUs: its cases run without one, by the text of their kernels, and its page shows what they gave."""

from __future__ import annotations

import importlib

import numpy as np
import pytest


@pytest.fixture
def gpu(monkeypatch):
    from pathlib import Path

    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    monkeypatch.setenv("MOMENTREE_OPTIMIZE", "0")
    return importlib.import_module("gpu")


def test_a_case_is_measured_and_compared_with_the_processor(gpu):
    case = next(case for case in gpu.SPEED if case.name == "four-bar")
    result = gpu.measure(gpu.Machine(None), case)
    assert result["same_bits"]
    assert result["unlike"] == 0
    assert result["failed"] == 0
    assert result["steps"] == 5
    page = gpu.figures({"gpu": "some GPU", "date": "today", "speed": [result]})
    assert "| four-bar | rk4 | 3 |" in page
    assert "| yes |" in page


def test_motions_that_start_alike_and_end_otherwise_are_found(gpu):
    class Job:
        values, ends = np.zeros((2, 3, 5)), np.zeros((8, 5))

    which = np.array([0, 1, 0, 1, 0])
    assert gpu.unlike(Job, which) == 0
    Job.values[1, 2, 4] = -0.0
    Job.ends[3, 3] = np.nan
    assert gpu.unlike(Job, which) == 2


def test_every_model_of_a_case_is_there(gpu):
    assert {case.name for case in (*gpu.SPEED, *gpu.ADAPTIVE)} <= {*gpu.MODELS}
