"""A run file is loaded equal to what was saved, or refused: never other data, never a hang, never a bare error."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import momentree as mt
from children import ended, limit_child
from momentree.errors import MomentreeError
from momentree.results import checkpoints, recorder
from momentree.results.recorder import record, resume_run
from slider import Falling, falling

CAMPAIGN = Path(__file__).parents[3] / "benchmarks" / "damaged_files.py"


@pytest.fixture
def run():
    return record(falling())


def same(a, b):
    return np.array_equal(a.q, b.q) and np.array_equal(a.samples.work, b.samples.work) and a.end == b.end


def interrupted(path, blocks=5, **settings):
    """A run that was interrupted after so many blocks, a chunk each."""
    seen = []

    def stop(t, closure_error):
        seen.append(t)
        if len(seen) == blocks:
            signal.raise_signal(signal.SIGINT)

    before, recorder.SECONDS = recorder.SECONDS, 0.0
    try:
        with pytest.warns(mt.RunWarning, match="interrupted"):
            return record(falling(**settings), path, stop)
    finally:
        recorder.SECONDS = before


# --- damage ---


def campaign(count, seed):
    command = [sys.executable, str(CAMPAIGN), "-n", str(count), "--seed", str(seed)]
    told = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    found = json.loads(told.stdout)
    assert found["bad"] == []
    assert told.returncode == 0
    assert found["files"] == count
    assert sum(sum(found[state].values()) for state in ("finished", "interrupted")) == count


@pytest.mark.long
def test_sixty_damaged_files_load_equal_or_are_refused():
    campaign(60, 0)


@pytest.mark.long
def test_a_thousand_damaged_files_load_equal_or_are_refused():
    campaign(1000, 1_000_000)


def test_every_byte_of_a_file_is_guarded(tmp_path, run):
    path = tmp_path / "run.nc"
    run.save(path)
    content = path.read_bytes()
    for at in [*range(0, len(content), 997), *range(len(content) - 110, len(content), 7)]:
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(MomentreeError, match=r"run.nc: is damaged: its checksum \(SHA-256\)"):
            mt.load_run(path)


@pytest.mark.long
def test_a_block_of_zeros_in_a_file_without_a_checksum_is_an_error_and_no_hang(tmp_path, run):
    path = tmp_path / "old.nc"
    content = bytearray(run.data.to_netcdf(engine="h5netcdf"))
    content[512 : 512 + 64] = bytes(64)  # HDF5 2.0 never comes back from these
    path.write_bytes(content)
    code = "import sys, momentree\ntry: momentree.load_run(sys.argv[1])\nexcept momentree.MomentreeError as e: print(e)"
    told = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=120)
    assert told.stdout == f"{path}: is damaged, or not a run of Momentree.\n"


def test_a_damaged_chunk_is_told_and_what_is_before_it_is_there(tmp_path):
    path = tmp_path / "run.nc"
    whole = interrupted(path)
    chunk = tmp_path / "run.nc.parts" / "chunk-000004.npz"
    chunk.write_bytes(chunk.read_bytes()[:-100])
    with pytest.raises(mt.RunError, match=r"chunk-000004.npz: is damaged; .* up to t = 0.2 s, .*resume_run") as told:
        mt.load_run(path)
    assert np.array_equal(told.value.run.q, whole.q[:21])
    with pytest.warns(mt.RunWarning, match="computed again"):
        assert same(resume_run(path, make=Falling), record(falling()))


def test_every_byte_of_a_manifest_is_guarded(tmp_path):
    path = tmp_path / "run.nc"
    interrupted(path, blocks=1)
    for chunk in (tmp_path / "run.nc.parts").glob("chunk*"):
        chunk.unlink()  # nothing but its own sum guards it
    manifest = tmp_path / "run.nc.parts" / "manifest.json"
    content = manifest.read_bytes()
    assert json.loads(content)["format"] == checkpoints.FORMAT
    assert len(mt.load_run(path).t) == 0
    for at in range(0, len(content), 7):
        manifest.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(MomentreeError, match=r"manifest.json: is damaged"):
            mt.load_run(path)


def test_a_new_run_does_not_sweep_away_chunks_that_cannot_be_read(tmp_path):
    path = tmp_path / "run.nc"
    interrupted(path)
    (tmp_path / "run.nc.parts" / "chunk-000001.npz").write_bytes(b"")
    with pytest.raises(MomentreeError, match=r"holds an unfinished run"):
        record(falling(), path)
    assert (tmp_path / "run.nc.parts" / "chunk-000005.npz").exists()


# --- the checksum ---


def test_the_last_line_is_the_sum_of_all_before_and_hdf5_does_not_mind_it(tmp_path, run):
    import h5py
    import xarray

    path = tmp_path / "run.nc"
    run.save(path)
    content = path.read_bytes()
    told, line = content[:-105], content[-105:].decode()
    assert line == f"\nSHA-256 of the bytes before this line: {hashlib.sha256(told).hexdigest()}\n"
    with h5py.File(path) as file:
        assert np.array_equal(file["q"][:], run.q)
    with xarray.open_dataset(path, engine="h5netcdf", decode_times=False) as found:
        assert found.attrs["checksum"] == "SHA-256, in the last line of the file"


def test_a_file_of_an_earlier_version_loads_with_a_warning(tmp_path, run):
    path = tmp_path / "old.nc"
    path.write_bytes(run.data.to_netcdf(engine="h5netcdf"))  # as versions without a checksum did
    with pytest.warns(mt.RunWarning, match=r"old.nc: has no checksum.*Save it again"):
        old = mt.load_run(path)
    assert same(old, run)
    old.save(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same(mt.load_run(path), run)


def test_a_file_that_another_program_changed_is_refused(tmp_path, run):
    import h5py

    path = tmp_path / "run.nc"
    run.save(path)
    with h5py.File(path, "r+") as file:
        file["q"][3, 0] += 1e-3
    with pytest.raises(MomentreeError, match="changed by another program"):
        mt.load_run(path)


def test_a_manifest_of_an_earlier_version_goes_on(tmp_path):
    path = tmp_path / "run.nc"
    folder = checkpoints.folder_of(path)
    interrupted(path, blocks=1)
    for chunk in folder.glob("chunk*"):
        chunk.unlink()
    data = json.loads((folder / "manifest.json").read_bytes())
    del data["sum"]
    (folder / "manifest.json").write_text(json.dumps({**data, "format": 1}, indent=1))
    assert same(resume_run(path, make=Falling), record(falling()))


# --- paths ---


@pytest.mark.parametrize("read", [mt.load_run, resume_run])
@pytest.mark.parametrize("name", ["a\0b.nc", "\ud800.nc", "x" * 300])
def test_names_that_no_file_can_have_are_refused(tmp_path, read, name):
    with pytest.raises(MomentreeError, match=r"cannot be read: (no file can have this name|File name too long)"):
        read(os.path.join(tmp_path, name))


def test_what_is_no_regular_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.nc")
    for path in (tmp_path, tmp_path / "pipe.nc"):
        with pytest.raises(MomentreeError, match="cannot be read: it is not a regular file"):
            mt.load_run(path)


def test_a_run_recorded_through_a_link_goes_on_and_is_read_under_both_names(tmp_path):
    (tmp_path / "disk").mkdir()
    link, target = tmp_path / "run.nc", tmp_path / "disk" / "real.nc"
    link.symlink_to(target)
    so_far = interrupted(link)
    assert same(mt.load_run(link), so_far)
    assert same(mt.load_run(target), so_far)
    with pytest.raises(MomentreeError, match="holds an unfinished run"):
        record(falling(), target)
    assert same(resume_run(link, make=Falling), record(falling()))
    assert link.is_symlink()
    assert same(mt.load_run(target), record(falling()))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["disk", "real.nc", "run.nc"]


def test_names_of_all_scripts_are_kept(tmp_path, run):
    for name in ("Läufe ü.nc", "運動.nc", "\U0001f9be.nc", os.fsdecode(b"\xff\n.nc")):
        run.save(tmp_path / name)
        assert same(mt.load_run(tmp_path / name), run)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only the administrator can mount")
def test_a_read_only_disk_is_told_and_read(tmp_path, run):
    mounted = ["mount", "-t", "tmpfs", "none", str(tmp_path)]
    if subprocess.run(mounted, capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        run.save(tmp_path / "run.nc")
        so_far = interrupted(tmp_path / "other.nc")
        (tmp_path / "run.nc.parts").mkdir()  # left by a process that was killed at the very end
        subprocess.run(["mount", "-o", "remount,ro", str(tmp_path)], check=True)
        assert same(mt.load_run(tmp_path / "run.nc"), run)
        assert same(resume_run(tmp_path / "run.nc"), run)
        assert same(mt.load_run(tmp_path / "other.nc"), so_far)
        for work in (
            lambda: resume_run(tmp_path / "other.nc", make=Falling),
            lambda: record(falling(), tmp_path / "new.nc"),
            lambda: run.save(tmp_path / "new.nc"),
            lambda: run.plot(tmp_path / "new.svg"),
            lambda: run.system._model.save(tmp_path / "new.toml"),
        ):
            with pytest.raises(MomentreeError, match="cannot be written: Read-only file system"):
                work()
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


# --- processes ---

FORKS = """
import os, sys, time, slider
from momentree.results.recorder import record
def fork(t, closure_error):
    if t > 0.3:
        child = os.fork()
        if child == 0:
            os.close(1)
            time.sleep(60)
            os._exit(0)
        print(child, flush=True)
        os.kill(os.getpid(), 9)
record(slider.falling(), sys.argv[1], fork)
"""


def test_a_child_does_not_keep_the_lock_of_a_dead_parent(tmp_path):
    path, tests = tmp_path / "run.nc", str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", FORKS, str(path)]
    told = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert told.returncode == -signal.SIGKILL
    child = int(told.stdout)
    try:
        os.kill(child, 0)  # it lives
        assert same(resume_run(path, make=Falling), record(falling()))
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_child_that_goes_on_with_the_run_of_its_parent_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(recorder, "SECONDS", 0.0)
    path, children = tmp_path / "run.nc", []

    def fork(t, closure_error):
        if t > 0.3 and not children:
            children.append(os.fork())
            if children == [0]:
                limit_child()

    me = os.getpid()
    try:
        run = record(falling(), path, fork)
    except BaseException as error:
        if os.getpid() == me:
            raise
        os._exit(0 if isinstance(error, mt.RunError) and "from which this one was forked" in str(error) else 1)
    if os.getpid() != me:
        os._exit(2)
    assert ended(children[0]) == 0
    assert same(mt.load_run(path), run)
    assert same(run, record(falling()))


# --- a later run beside a finished one ---


def test_a_run_beside_which_a_later_one_was_not_finished_is_loaded_with_a_warning(tmp_path):
    path = tmp_path / "run.nc"
    first = record(falling(), path)
    mt.load_run(path)  # without a warning
    checkpoints.Parts.begin(path, recorder._manifest(falling(every=0.02))).close()  # killed before the first chunk
    words = r"run\.nc: holds a run that was finished; run\.nc\.parts beside it holds a later one, up to t = "
    with pytest.warns(mt.RunWarning, match=f"{words}0 s"):
        assert same(mt.load_run(path), first)
    interrupted(path, every=0.02)
    with pytest.warns(mt.RunWarning, match=rf"{words}0\.[1-9]"):
        assert same(mt.load_run(path), first)
    assert not same(resume_run(path, make=Falling), first)
    assert len(mt.load_run(path).t) < len(first.t)


def test_a_run_that_was_killed_after_its_file_was_written_is_loaded_without_one(tmp_path, monkeypatch):
    path = tmp_path / "run.nc"
    monkeypatch.setattr(recorder, "SECONDS", 0.0)
    monkeypatch.setattr(checkpoints.Parts, "delete", lambda parts: None)
    first = record(falling(), path)
    assert (tmp_path / "run.nc.parts").is_dir()
    assert same(mt.load_run(path), first)


def test_a_relative_path_is_that_of_the_beginning(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    record(falling(), "run.nc", lambda t, closure_error: os.chdir(tmp_path / "elsewhere"))
    assert os.listdir(tmp_path / "elsewhere") == []
    assert (tmp_path / "run.nc").is_file()
