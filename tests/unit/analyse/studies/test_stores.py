"""Stores: regions of a design, results in memory and on the disk, what is refused, a disk that is full."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray
import zarr

import momentree as mt
from momentree.analyse.studies.designs import grid
from momentree.analyse.studies.stores import Regions
from momentree.analyse.studies.study import Study
from study_models import rotor

OVER = {"r": [0.5, 0.6, 0.7], "A'": [1.0, 2.0]}
OUTPUTS = {"end": "last(A)", "curve": "samples(A)"}


def study(path=None, over=OVER, outputs=OUTPUTS, **more) -> Study:
    return mt.study(rotor(), over, outputs, path=path, every=0.5, **more)


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4), (1, 1, 6)])
@pytest.mark.parametrize("most", [1, 2, 4, 7, 12, 1000])
def test_regions_are_contiguous_and_cover_the_design_once(shape, most):
    design = grid({f"x{i}": range(length) for i, length in enumerate(shape)})
    regions, seen = Regions.of(design, most), np.zeros(shape, dtype=int)
    numbers = np.arange(math.prod(shape)).reshape(shape)
    for i in range(len(regions)):
        region = regions[i]
        assert 1 <= region.end - region.begin <= most
        assert numbers[region.where].ravel().tolist() == list(range(region.begin, region.end))
        seen[region.where] += 1
    assert (seen == 1).all()


def test_a_store_holds_what_memory_holds_and_any_reader_opens_it(tmp_path):
    held, written = study().run(), study(tmp_path / "s.zarr", chunk=1).run()
    opened = xarray.open_zarr(tmp_path / "s.zarr")
    for data in (written, opened):
        for name in ("end", "curve", "status", "reason"):
            assert data[name].dims == held[name].dims
            assert (data[name].values == held[name].values).all()
    assert list(written.data_vars) == list(held.data_vars) == ["end", "curve", "reason", "status"]
    for name, variable in held.variables.items():
        assert dict(written[name].attrs) == dict(variable.attrs), name
    assert held.end.attrs == {"long_name": "last(A)", "units": "rad"}
    assert held["A'"].attrs == {"units": "rad/s", "long_name": "velocity A'"}
    assert held.attrs["title"] == "study of rotor"
    assert sorted(os.listdir(tmp_path)) == ["s.zarr"]


def test_a_study_goes_on_where_it_was_and_computes_nothing_twice(tmp_path):
    calls = tmp_path / "calls"

    def noted(run):
        with calls.open("a") as file:
            file.write("x")
        return run["A"][-1]

    outputs = {"end": noted}
    first = study(tmp_path / "s.zarr", outputs=outputs, chunk=1)
    computing = first._computed([0, 1, 2, 3, 4, 5])
    with first._store.held():
        for _ in range(4):
            next(computing)
    assert (first.done, len(calls.read_text())) == (4, 4)
    again = study(tmp_path / "s.zarr", outputs=outputs)  # the chunk is that of the store
    assert again._store.pending() == [4, 5]
    results = again.run()
    assert len(calls.read_text()) == 6
    assert np.isfinite(results.end.values).all()
    again.run()
    assert len(calls.read_text()) == 6


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"over": {"r": [0.5, 0.6, 0.8], "A'": [1.0, 2.0]}}, "the values of the design"),
        ({"over": {"r": [0.5]}}, "design names"),
        ({"outputs": {"end": "last(A')"}}, "outputs end"),
        ({"rtol": 1e-3}, "settings rtol: 1e-12 there, 0.001 here"),
        ({"parameters": {"mass": 3.0}}, "differs in"),
    ],
)
def test_a_store_of_another_study_is_refused_with_the_difference(tmp_path, change, words):
    study(tmp_path / "s.zarr").run()
    with pytest.raises(mt.MomentreeError, match="holds another study") as error:
        study(tmp_path / "s.zarr", **change)
    assert words in str(error.value)


def test_paths_that_cannot_be_are_refused(tmp_path):
    (tmp_path / "file").write_text("text")
    (tmp_path / "folder").mkdir()
    zarr.open_group(str(tmp_path / "other.zarr"), mode="w")
    for name in ("file", "folder", "other.zarr"):
        with pytest.raises(mt.MomentreeError, match="exists, and is no study of Momentree"):
            study(tmp_path / name)
    with pytest.raises(mt.MomentreeError, match="there is no folder"):
        study(tmp_path / "missing" / "s.zarr")
    assert (tmp_path / "file").read_text() == "text"


def test_a_store_of_a_later_version_is_refused(tmp_path):
    study(tmp_path / "s.zarr").run()
    meta = json.loads((tmp_path / "s.zarr" / "zarr.json").read_text())
    meta["attributes"]["momentree_study"] = 99
    (tmp_path / "s.zarr" / "zarr.json").write_text(json.dumps(meta))
    with pytest.raises(mt.MomentreeError, match="later version"):
        study(tmp_path / "s.zarr")


def test_one_process_at_a_time_writes_a_store(tmp_path):
    first = study(tmp_path / "s.zarr")
    with first._store.held(), pytest.raises(mt.MomentreeError, match="is writing it now"):
        study(tmp_path / "s.zarr").run()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(mt.MomentreeError, match="Permission denied"):
        study(tmp_path / "s.zarr").run()


def test_results_that_do_not_fit_into_memory_are_refused():
    over = {"r": np.linspace(0.5, 1, 60_000), "mass": np.linspace(1, 2, 60_000)}
    with pytest.raises(mt.MomentreeError, match=r"GiB of memory\. Give path="):
        study(over=over)


@pytest.mark.long
def test_a_full_disk_is_told_and_nothing_is_lost(tmp_path):
    """The limit on the size of files stands in for a full disk: writing fails halfway."""
    script = tmp_path / "full.py"
    script.write_text(
        "import resource, sys\n"
        "from test_stores import study\n"
        "made = study(sys.argv[1], over={'r': [0.5, 0.6, 0.7]}, chunk=1)\n"
        "done = made._computed([0, 1, 2])\n"
        "with made._store.held():\n"
        "    next(done)\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))\n"
        "    next(done)\n"
    )
    folders = os.pathsep.join(
        [str(Path(__file__).parent), os.environ.get("PYTHONPATH", ""), str(Path(__file__).parents[3])]
    )
    environment = {**os.environ, "PYTHONPATH": folders}
    command = [sys.executable, str(script), str(tmp_path / "s.zarr")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert "MomentreeError" in done.stderr
    assert "cannot be written: File too large" in done.stderr
    assert "What has been computed so far is kept" in done.stderr
    made = study(tmp_path / "s.zarr", over={"r": [0.5, 0.6, 0.7]})
    assert made.done == 1
    expected = study(over={"r": [0.5, 0.6, 0.7]}).run()
    assert (made.run().curve.values == expected.curve.values).all()
