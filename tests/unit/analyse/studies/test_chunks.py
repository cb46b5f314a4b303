"""Chunks: motions that fail are recorded with their reason, and leave the others as they are."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import momentree as mt
from momentree.analyse.studies.chunks import computed_chunk
from study_models import four_bar, rotor

LENGTHS = [0.9, -1.0, 1.0, 9.0, 1.1, 1.05]  # a rod of negative length, and a loop that cannot close
OUTPUTS = {"peak": "max(C.force)", "end": "last(D)", "curve": "samples(A)"}


@pytest.fixture(scope="module")
def study():
    return mt.study(four_bar(), {"a": LENGTHS}, OUTPUTS, every=0.05)


@pytest.fixture(scope="module")
def whole(study):
    return computed_chunk(study.description, 0, len(LENGTHS))


def test_failed_motions_have_a_reason_and_nan(whole):
    assert "length is -1 m; it must be positive" in whole.reasons[1]
    assert "cannot" in whole.reasons[3]
    assert [bool(reason) for reason in whole.reasons] == [False, True, False, True, False, False]
    for values in whole.values.values():
        assert np.isnan(values[[1, 3]]).all()
        assert np.isfinite(values[[0, 2, 4, 5]]).all()
    assert whole.failed == 2


@pytest.mark.parametrize("size", [1, 2, 5])
def test_where_chunks_are_cut_changes_no_bit(study, whole, size):
    parts = [computed_chunk(study.description, k, min(k + size, 6)) for k in range(0, 6, size)]
    assert [reason for part in parts for reason in part.reasons] == whole.reasons
    for name in OUTPUTS:
        joined = np.concatenate([part.values[name] for part in parts])
        assert np.array_equal(joined, whole.values[name], equal_nan=True)


@pytest.mark.parametrize("chunk", [None, 4, 9])
def test_motions_of_a_grid_that_start_on_another_branch_are_said(chunk):
    over = {"A": np.linspace(0, 6.2, 13)}
    study = mt.study(four_bar(), over, {"D": "first(D)"}, every=0.005, t_end=0.005, chunk=chunk)
    with pytest.warns(mt.AssemblyWarning, match=r"study: motions? .* on another branch than the motion before") as told:
        D = study.run().D.values
    said = sorted(int(k) for one in told for k in re.findall(r"\d+", str(one.message)))
    assert said == [8, 10]  # the warning of each chunk has its own
    assert study.simulate(9)["D"][0] == pytest.approx(D[9], abs=1e-12)  # each is assembled by itself
    followed = study.system.assemble_many(over, study.description.start.velocities, guess={"A": 1.0}).q[:, 2]
    apart = np.abs(np.exp(1j * followed) - np.exp(1j * D)) > 1e-6
    assert np.flatnonzero(np.diff(apart)).tolist() == [7, 9]


@pytest.mark.parametrize("over", [{"A": np.linspace(0.3, 2, 9)}, {"A'": [1.0, 2.0]}, mt.random(9, seed=1, A=(0, 6))])
def test_other_motions_are_not_said_to(over):
    with warnings.catch_warnings():
        warnings.simplefilter("error", mt.AssemblyWarning)
        mt.study(four_bar(), over, {"D": "first(D)"}, every=0.005, t_end=0.005).run()


def test_peak_reactions_are_those_of_single_runs(study, whole):
    for i in (0, 2, 4, 5):
        force = np.linalg.norm(study.simulate(i).reactions("C")[:, :3], axis=1)
        assert whole.values["peak"][i] == pytest.approx(force.max(), rel=1e-6)


def test_functions_are_called_with_runs_and_may_fail():
    def inverse(run):
        if run.parameters["r"] > 0.9:
            raise ZeroDivisionError("no")
        return run["A"][-1]

    study = mt.study(rotor(), {"r": [0.5, 1.0]}, {"f": inverse, "g": lambda run: "text"}, every=0.5)
    results = study.run()
    assert "output 'g': MomentreeError: it gave 'text', not a number" in str(results.reason.values[0])
    only = mt.study(rotor(), {"r": [0.5, 1.0]}, {"f": inverse}, every=0.5).run()
    assert only.f.values[0] == pytest.approx(2.25, abs=1e-12)
    assert np.isnan(only.f.values[1])
    assert only.reason.values.tolist() == ["", "output 'f': ZeroDivisionError: no"]


def test_the_work_of_forces_is_known_together_and_one_by_one():
    m = rotor()
    m.torque("A", "0.5")
    outputs = {"work": lambda run: next(iter(run.energy.work.values()))[-1], "turned": "last(A) - first(A)"}
    for together in (None, False):
        found = mt.study(m, {"r": [0.5, 1.0]}, outputs, every=0.5, together=together).run()
        assert np.allclose(found.work.values, 0.5 * found.turned.values, rtol=1e-9)


def test_events_have_exact_times():
    study = mt.study(
        rotor(),
        {"A'": [1.0, 2.0, 0.1]},
        {"when": "half.time", "often": "half.count", "end": "last(A)", "curve": "samples(A)"},
        events={"half": "A - pi/2"},
        every=0.5,
    )
    results = study.run()
    expected = [np.pi / 2 - 0.25, (np.pi / 2 - 0.25) / 2, np.nan]
    assert np.allclose(results.when.values, expected, atol=1e-9, equal_nan=True)
    assert results.often.values.tolist() == [1, 1, 0]
    assert np.allclose(results.curve.values[1], 0.25 + 2 * results.time.values, atol=1e-9)


def test_an_integration_that_fails_says_when_and_why():
    m = rotor()
    m.torque("A", "1/(1.5 - A)")
    results = mt.study(m, {"A'": [-0.1, 3.0]}, {"end": "last(A)"}, every=0.5, t_end=1.0).run()
    assert results.status.values.tolist() == [1, 2]
    assert "failed at t =" in str(results.reason.values[1])
