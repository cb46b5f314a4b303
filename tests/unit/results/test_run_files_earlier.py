"""Runs that earlier versions wrote still load and go on, and everything in them has the names of today.

`earlier/` was made by version 0.1.0 of commit 05b597f, which said closure for stabilization, rate for velocity, gap for
closure error and meter for work term: a four-bar of whose coupler the mass is free, simulated with closure="leak",
verify=True and two events. `finished.nc` was run to its end; the process that wrote `killed.nc.parts` was killed by
SIGKILL after its third chunk.
"""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

import momentree as mt
from momentree.errors import RunWarning

EARLIER = Path(__file__).parent / "earlier"
OLD_WORDS = ("closure", "closure_rate", "rate", "rate_unit", "meter", "meter_kind", "meters", "rates", "gap")


@pytest.fixture
def finished():
    return mt.load_run(EARLIER / "finished.nc")


@pytest.fixture
def killed(tmp_path):
    shutil.copytree(EARLIER / "killed.nc.parts", tmp_path / "killed.nc.parts")
    return tmp_path / "killed.nc"


def check_names(run):
    assert {*run.data.dims} == {"time", "coordinate", "velocity", "work_term"}
    assert not {*OLD_WORDS} & {*run.data.variables, *run.data.dims, *run.data.attrs, *run.settings}
    assert run.settings["stabilization"] == "leak"
    assert run.settings["verify"] is True
    assert [(term.name, term.kind) for term in run.work_terms] == [("torque on A", "drive"), ("damper of D", "damper")]
    assert run.data.work_term.values.tolist() == [*run.energy.work] == ["torque on A", "damper of D"]
    assert run.data.velocity.values.tolist() == ["A'", "B'", "D'"]
    assert set(run.data.velocity_unit.values) == {"rad/s"}
    assert run.free == ("m",)
    assert run.parameters == {"m": 1.25}
    assert run.velocity("A")[0] == pytest.approx(np.deg2rad(30), rel=1e-15)


def test_a_finished_run_loads_with_all_its_measures(finished):
    check_names(finished)
    assert finished.end.reason == "arrived"
    assert finished.end.events == (("rocker turns", pytest.approx(0.91187, 1e-5)),)
    assert len(finished.t) == 21
    assert finished.t[-1] == 1.0
    assert finished.closure_error.shape == finished.closure_velocity.shape == (21,)
    assert finished.closure_error.max() == pytest.approx(1.82e-14, rel=1e-2)
    assert finished.error.angle == pytest.approx(1.3e-14, rel=0.1)
    assert {*finished.error.velocities} == {
        "A'",
        "B'",
        "D'",
    }
    assert finished.warnings == ()
    assert "closure error" in str(finished)


def test_a_finished_run_is_what_is_computed_today(finished):
    run = finished.system.simulate(every=0.05, step=2e-4, stabilization="leak")  # start and end are in its model
    assert np.abs(run.q - finished.q).max() < 1e-13
    assert np.abs(run.samples.work - finished.samples.work).max() < 1e-12


def test_a_finished_run_is_saved_in_the_names_of_today(finished, tmp_path):
    finished.save(tmp_path / "again.nc")
    again = mt.load_run(tmp_path / "again.nc")
    check_names(again)
    assert (again.closure_error == finished.closure_error).all()
    assert again.error == finished.error
    import h5netcdf

    with h5netcdf.File(tmp_path / "again.nc") as file:
        assert not {*OLD_WORDS} & {*file.variables, *file.dimensions}


def test_an_unfinished_run_shows_what_it_has(killed):
    run = mt.load_run(killed)
    check_names(run)
    assert run.end.reason == "interrupted"
    assert 0 < run.t[-1] < 1


def test_an_unfinished_run_resumes_to_the_end(killed, finished):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RunWarning)
        run = mt.resume_run(killed, progress=False)
    check_names(run)
    assert run.end.reason == "arrived"
    assert not killed.with_name("killed.nc.parts").exists()
    assert (run.t == finished.t).all()
    assert np.abs(run.q - finished.q).max() < 1e-13
    assert run.end.events == (("rocker turns", pytest.approx(finished.end.events[0][1], abs=1e-12)),)
    assert run.error is not None
    assert (mt.load_run(killed).q == run.q).all()
