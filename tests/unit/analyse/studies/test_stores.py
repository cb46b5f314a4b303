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
from study_models import four_bar, rotor

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


@pytest.mark.parametrize("built", [{"tolerance": 1e-4}, {"code": "rolled"}, {"free": ["a", "b"]}])
def test_a_system_that_was_built_otherwise_is_another(tmp_path, built):
    arguments = {"over": {"a": [1.0]}, "outputs": {"end": "last(A)"}, "every": 0.1, "path": tmp_path / "s.zarr"}
    mt.study(four_bar().build(free=["a"]), **arguments).run()
    with pytest.raises(mt.MomentreeError, match=f"holds another study. It differs in {next(iter(built))}"):
        mt.study(four_bar().build(**{"free": ["a"], **built}), **arguments)


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


# --- damage ---


def flipped(file: Path, place: float) -> bytes:
    """What the file is; in its place is one with another bit."""
    content = file.read_bytes()
    changed = bytearray(content)
    changed[int(place * (len(content) - 1))] ^= 1 << int(place * 97) % 8
    file.write_bytes(changed)
    return content


def read_again(path: Path, **more) -> xarray.Dataset:
    return study(path, chunk=2, **more).results.load()


def read_or_refused(path: Path, named: str) -> xarray.Dataset | None:
    try:
        return read_again(path)
    except mt.MomentreeError as error:
        return None if named in str(error) else pytest.fail(str(error))


@pytest.fixture
def whole(tmp_path) -> tuple[Path, xarray.Dataset]:
    return tmp_path / "s.zarr", study(tmp_path / "s.zarr", chunk=2).run().load()


def test_a_flipped_bit_anywhere_is_refused_by_the_name_of_its_file_or_changes_nothing(whole):
    path, expected = whole
    files = sorted(file for file in path.rglob("*") if file.is_file())
    assert {"zarr.json", "0"} == {file.name for file in files}
    assert len(files) > 20
    refused = 0
    for k, file in enumerate(files):
        for place in (k / len(files), 1 - k / len(files)):
            content = flipped(file, place)
            found = read_or_refused(path, str(file if file != path / "zarr.json" else path))
            assert found is None or found.identical(expected), file
            refused += found is None
            file.write_bytes(content)
    assert refused > 0.9 * 2 * len(files)  # the others are between words of JSON


def test_other_readers_refuse_a_flipped_bit_too(whole):
    path, _ = whole
    flipped(path / "curve" / "c" / "1" / "0" / "0", 0.5)
    with pytest.raises(ValueError, match="checksum"):
        xarray.open_zarr(path).load()


@pytest.mark.parametrize("damage", ["missing", "cut", "empty"])
def test_a_chunk_that_is_missing_is_computed_again_and_one_that_is_cut_short_is_named(whole, damage):
    path, expected = whole
    chunks = sorted(file for file in path.rglob("*") if file.is_file() and file.name != "zarr.json")
    for file in chunks:
        if damage == "missing":
            file.unlink()
        else:
            file.write_bytes(file.read_bytes()[: -3 if damage == "cut" else 0])
            with pytest.raises(
                mt.MomentreeError, match=r"is damaged: its checksum is another\. Delete this file"
            ) as error:
                read_again(path)
            assert str(file) in str(error.value)
            file.unlink()  # as it says
        if "status" not in file.parts:
            with pytest.raises(mt.MomentreeError, match=r"is missing.*Run the same study again") as error:
                read_again(path)
            assert str(file) in str(error.value)
        assert study(path).run().load().identical(expected)


def test_a_store_of_an_earlier_version_without_checksums_goes_on(whole, monkeypatch, tmp_path):
    _, expected = whole
    monkeypatch.setattr("momentree.analyse.studies.checked_folder.CODECS", "auto")
    monkeypatch.setattr("momentree.analyse.studies.stores.FORMAT", 1)
    monkeypatch.setattr("momentree.analyse.studies.stores.seal", lambda folder: None)
    monkeypatch.setattr("momentree.analyse.studies.stores.EVERY_CHUNK", {})
    old = study(tmp_path / "old.zarr", chunk=2)
    with old._store.held():
        old._store.write(0, next(_results(old)))
    monkeypatch.undo()
    again = study(tmp_path / "old.zarr")
    assert again.done == 2
    assert again.run().load().drop_attrs().identical(expected.drop_attrs())


def _results(made):
    from momentree.analyse.studies.chunks import computed_chunk

    yield computed_chunk(made.description, 0, 2)
