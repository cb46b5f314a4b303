"""Nothing that was computed is lost: killed at any call, full disks, Ctrl-C, damage, two processes at once."""

from __future__ import annotations

import io
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import momentree as mt
from children import in_child
from momentree.errors import MomentreeError
from momentree.results import checkpoints, recorder
from momentree.results.recorder import record, resume_run
from slider import Falling, falling

HOSTILE = ("replace", "fsync", "unlink", "open", "rmdir", "mkdir", "ftruncate")


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """A chunk after every block."""
    monkeypatch.setattr(recorder, "SECONDS", 0.0)


def same(a, b):
    """Bit for bit, with everything that stands beside the samples."""
    for name in ("t", "q", "v", "closure_error", "closure_velocity"):
        assert np.array_equal(getattr(a, name), getattr(b, name), equal_nan=True), name
    assert np.array_equal(a.samples.work, b.samples.work)
    assert np.array_equal(a.energy.balance, b.energy.balance)
    beside = ("end", "statistics", "settings", "work_terms", "model", "free", "warnings")
    assert [getattr(a, name) for name in beside] == [getattr(b, name) for name in beside]
    return True


def test_a_file_holds_what_memory_holds_and_nothing_is_left_beside_it(tmp_path):
    run = record(falling(), tmp_path / "run.nc")
    assert same(run, record(falling()))
    assert same(run, mt.load_run(tmp_path / "run.nc"))
    assert [path.name for path in tmp_path.iterdir()] == ["run.nc"]


@pytest.mark.long
def test_a_finished_run_knows_its_start_though_velocities_follow_from_momenta(tmp_path):
    m = mt.Model("double pendulum")
    upper, lower = (m.body(name, mt.rod(mass=1.3, length=0.7, along="-z")) for name in ("upper", "lower"))
    m.joint("A", mt.Revolute("y"), m.ground, upper)
    m.joint("B", mt.Revolute("y"), upper.at((0, 0, -0.7)), lower)
    system = m.build()
    start = system.assemble({"A": 0.4, "B": 0.7}, velocities={"A": 2.1, "B": -0.3})
    run = system.simulate(start, t_end=0.1, path=tmp_path / "run.nc")
    assert not np.array_equal(run.v[0], start.v)  # M^-1 (M v)
    begun = recorder.begun(tmp_path / "run.nc")
    assert begun.starts_at(start)
    assert not begun.starts_at(system.assemble({"A": 0.4, "B": 0.7}, velocities={"A": 2.1, "B": -0.3 + 1e-9}))


@pytest.mark.long
def test_killed_at_every_call_to_the_system_it_goes_on_to_the_same_file(tmp_path):
    whole = tmp_path / "whole.nc"
    record(falling(t_end=0.3), whole)
    path, deaths = tmp_path / "run.nc", 0
    for fatal in range(1, 1000):

        def work(fatal=fatal):
            left = [fatal]

            def deadly(function, before=True):
                def call(*arguments, **options):
                    left[0] -= 1
                    done = None if before and left[0] == 0 else function(*arguments, **options)
                    if left[0] == 0:
                        os.kill(os.getpid(), signal.SIGKILL)
                    return done

                return call

            for name in HOSTILE:
                setattr(os, name, deadly(getattr(os, name)))
            io.open = deadly(io.open, before=False)  # what was opened to be written is empty then
            record(falling(t_end=0.3), path)

        outcome = in_child(work)
        deaths += outcome == -signal.SIGKILL
        if not checkpoints.folder_of(path).exists() and not path.exists():
            assert fatal < 3  # it was killed before there was anything to go on with
            continue
        if (checkpoints.folder_of(path) / "manifest.json").exists() or path.exists():
            same(resume_run(path, make=Falling), mt.load_run(whole))
            assert path.read_bytes() == whole.read_bytes()
            path.unlink()
        shutil.rmtree(checkpoints.folder_of(path), ignore_errors=True)
        if outcome == 0:
            break
    assert outcome == 0
    assert deaths > 20


def test_what_is_left_of_a_killed_run_can_be_looked_at_and_is_not_overwritten(tmp_path):
    path = tmp_path / "run.nc"
    assert in_child(lambda: record(falling(), path, lambda t, closure_error: t > 0.5 and os.kill(os.getpid(), 9))) == -9
    so_far = mt.load_run(path)
    whole = record(falling())
    assert so_far.end.reason == "interrupted"
    assert 0.4 < so_far.end.t < 0.6
    assert np.array_equal(so_far.q, whole.q[: len(so_far.t)])
    with pytest.raises(MomentreeError, match=r"holds an unfinished run, computed up to t = 0\.\d+ s.*resume_run"):
        record(falling(), path)
    assert same(resume_run(path, make=Falling), whole)
    assert same(resume_run(path, make=Falling), whole)  # nothing is left to do


def test_killed_while_it_tidies_up_it_is_finished_and_not_computed_again(tmp_path):
    path, deleted, unlink = tmp_path / "run.nc", [], os.unlink

    def work():
        def deadly(*arguments, **options):
            if len(deleted) == 3:
                os.kill(os.getpid(), signal.SIGKILL)
            deleted.append(unlink(*arguments, **options))

        os.unlink = deadly
        record(falling(), path)

    assert in_child(work) == -signal.SIGKILL
    assert (tmp_path / "run.nc.parts").is_dir()
    assert same(resume_run(path, make=lambda *system, **settings: pytest.fail("not again")), record(falling()))
    assert not (tmp_path / "run.nc.parts").exists()


@pytest.mark.repeats(2)
@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "swap", "gone"])
@pytest.mark.parametrize("last", [True, False])
def test_a_damaged_chunk_is_found_dropped_and_computed_again(tmp_path, damage, last):
    path, whole = tmp_path / "run.nc", record(falling())
    in_child(lambda: record(falling(), path, lambda t, closure_error: t > 0.7 and os.kill(os.getpid(), 9)))
    chunks = sorted((tmp_path / "run.nc.parts").glob("chunk-*.npz"))
    victim = chunks[-1] if last else chunks[2]
    content = bytearray(victim.read_bytes())
    if damage == "flip":
        content[len(content) // 3] ^= 4
    elif damage == "swap":
        content = bytearray(chunks[1].read_bytes())
    victim.write_bytes(content[: {"cut": len(content) // 2, "empty": 0}.get(damage, len(content))])
    if damage == "gone":
        victim.unlink()
    if damage == "gone" and last:  # then there is nothing to see
        assert same(resume_run(path, make=Falling), whole)
        return
    with pytest.warns(mt.RunWarning, match=f"{chunks[-1].name} damaged: computed again from t = "):
        run = resume_run(path, make=Falling)
    assert same(run, whole)


def test_a_damaged_manifest_is_told(tmp_path):
    path = tmp_path / "run.nc"
    in_child(lambda: record(falling(), path, lambda t, closure_error: t > 0.5 and os.kill(os.getpid(), 9)))
    manifest = tmp_path / "run.nc.parts" / "manifest.json"
    manifest.write_text(manifest.read_text()[:-9])
    with pytest.raises(MomentreeError, match=r"manifest.json: is damaged.*Delete the folder"):
        resume_run(path, make=Falling)


def test_nothing_to_continue_is_told(tmp_path):
    with pytest.raises(MomentreeError, match="there is nothing to continue"):
        resume_run(tmp_path / "run.nc")


# --- interruptions and failures ---


def test_ctrl_c_ends_it_after_a_block_and_it_can_go_on(tmp_path):
    def interrupt(t, closure_error):
        if 0.4 < t < 0.6:
            signal.raise_signal(signal.SIGINT)

    path = tmp_path / "run.nc"
    with pytest.warns(mt.RunWarning, match=r"slider: the simulation was interrupted at t = 0\.\d+ s of 1 s"):
        run = record(falling(), path, interrupt)
    assert run.end.reason == "interrupted"
    assert run.end.t == run.t[-1] < 0.6
    assert not path.exists()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert same(resume_run(path, make=Falling), record(falling()))


def test_ctrl_c_without_a_file_gives_what_there_is():
    with pytest.warns(mt.RunWarning, match="interrupted"):
        run = record(falling(), progress=lambda t, closure_error: t > 0.5 and signal.raise_signal(signal.SIGINT))
    assert np.array_equal(run.q, record(falling()).q[: len(run.t)])


def test_an_interrupt_in_the_midst_of_a_block_keeps_those_before(tmp_path, monkeypatch):
    monkeypatch.setattr(recorder, "SECONDS", 1e9)  # nothing is on the disk yet
    simulation, path = falling(), tmp_path / "run.nc"
    advance = simulation.advance

    def interrupted():
        if simulation.blocks == 4:
            simulation.y += 1e9  # it was changing its state
            raise KeyboardInterrupt
        return advance()

    monkeypatch.setattr(simulation, "advance", interrupted)
    with pytest.warns(mt.RunWarning, match="interrupted"):
        assert len(record(simulation, path).t) == 28
    assert same(resume_run(path, make=Falling), record(falling()))


def test_elsewhere_than_in_the_main_thread_signals_are_left_alone(tmp_path):
    found = []
    thread = threading.Thread(target=lambda: found.append(record(falling(), tmp_path / "run.nc")))
    thread.start()
    thread.join()
    assert same(found[0], record(falling()))


def test_a_simulation_that_fails_keeps_everything_up_to_then_and_says_why(tmp_path):
    with pytest.warns(mt.RunWarning, match=r"failed at t = 0.5 s: joint 'z': the steps became too short"):
        run = record(falling(fails_at=0.5), tmp_path / "run.nc")
    assert run.end.reason == "failed"
    assert len(run.t) == 51
    assert same(run, mt.load_run(tmp_path / "run.nc"))
    assert "WARNING: the simulation failed at t = 0.5 s: joint 'z'" in str(run)


def test_a_simulation_that_raises_keeps_everything_up_to_then(tmp_path):
    with pytest.raises(
        mt.RunError, match=r"the push has no value at t = 0.5 s. All .*, up to t = 0.48 s, .*run.nc.parts"
    ) as told:
        record(falling(raises_at=0.5), tmp_path / "run.nc")
    assert np.array_equal(told.value.run.q, record(falling()).q[:49])
    assert np.array_equal(mt.load_run(tmp_path / "run.nc").q, told.value.run.q)


def test_an_error_of_another_kind_carries_the_run_too(monkeypatch):
    simulation = falling()
    monkeypatch.setattr(simulation, "checkpoint", lambda: 1 / 0 if simulation.blocks == 3 else {})
    advance = simulation.advance
    monkeypatch.setattr(simulation, "advance", lambda: 1 / 0 if simulation.blocks == 2 else advance())
    with pytest.raises(ZeroDivisionError) as told:
        record(simulation)
    assert len(told.value.run.t) == 14
    assert "up to t = 0.13 s, is in memory" in told.value.__notes__[0]


# --- disks ---


def limited(limit, work):
    """In a child whose files cannot grow beyond a limit, as on a full disk; 0 if the right error came."""

    def child():
        warnings.simplefilter("ignore")
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            work()
        except mt.RunError as error:
            print(error, file=sys.stderr)
            return 0 if len(error.run.t) and "cannot be written: File too large" in str(error) else 1
        return 2

    return in_child(child)


def test_a_disk_that_fills_up_loses_nothing_that_is_on_it(tmp_path, capfd):
    path, whole = tmp_path / "run.nc", record(falling(growing=3))
    assert limited(2500, lambda: record(falling(growing=3), path)) == 0
    told = capfd.readouterr().err
    assert "run.nc.parts has it up to t = 0." in told
    assert "Continue with momentree.resume_run" in told
    assert not list((tmp_path / "run.nc.parts").glob("*.part"))
    so_far = mt.load_run(path)
    assert 0 < len(so_far.t) < len(whole.t)
    assert np.array_equal(so_far.q, whole.q[: len(so_far.t)])
    assert same(resume_run(path, make=Falling), whole)


def test_a_disk_that_is_full_when_the_file_is_made_keeps_the_parts(tmp_path, capfd):
    path, whole = tmp_path / "run.nc", record(falling())
    assert limited(9000, lambda: record(falling(), path)) == 0
    assert "run.nc.parts has it up to t = 1 s" in capfd.readouterr().err
    assert len(mt.load_run(path).t) == len(whole.t)
    assert not path.exists()
    assert same(resume_run(path, make=Falling), whole)


def test_a_disk_that_is_full_from_the_start_is_told_before_anything_is_computed(tmp_path):
    def work():
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
        with pytest.raises(MomentreeError, match=r"cannot be written: File too large. Nothing was computed yet"):
            record(falling(), tmp_path / "run.nc")

    assert in_child(work) == 0


def test_a_folder_that_vanishes_leaves_the_run_in_memory(tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    with pytest.raises(
        mt.RunError, match=r"cannot be written: No such file.*is in memory.*nothing of it is on the disk"
    ) as told:
        record(
            falling(), folder / "run.nc", lambda t, closure_error: t > 0.5 and shutil.rmtree(folder, ignore_errors=True)
        )
    run = told.value.run
    assert np.array_equal(run.q, record(falling()).q[: len(run.t)])
    run.save(tmp_path / "saved.nc")
    assert same(mt.load_run(tmp_path / "saved.nc"), run)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only the administrator can become another user")
def test_a_folder_that_may_not_be_written_is_told_before_anything_is_computed(tmp_path):
    def work():
        os.setuid(65534)
        with pytest.raises(MomentreeError, match=r"cannot be written: Permission denied. Nothing was computed yet"):
            record(falling(), tmp_path / "run.nc")

    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == "root" and "pytest" in str(folder):
            folder.chmod(0o755)
    assert in_child(work) == 0


@pytest.mark.parametrize(("name", "told"), [("no/run.nc", "there is no folder"), (".", "is a folder")])
def test_a_path_that_cannot_be_is_told(tmp_path, name, told):
    with pytest.raises(MomentreeError, match=told):
        record(falling(), tmp_path / name)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no such file system here")
def test_a_folder_in_which_none_can_be_made_is_told():
    with pytest.raises(MomentreeError, match="cannot be written"):
        record(falling(), "/proc/run.nc")


# --- two processes ---


@pytest.mark.long
def test_the_second_process_on_a_file_is_refused_with_the_number_of_the_first(tmp_path):
    path = tmp_path / "run.nc"

    def second(t, closure_error):
        code = "import sys, slider; from momentree.results.recorder import *; RUN"
        for words in ("record(slider.falling(), sys.argv[1])", "resume_run(sys.argv[1], make=slider.Falling)"):
            command = [sys.executable, "-c", code.replace("RUN", words), str(path)]
            tests, others = str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")
            environment = {**os.environ, "PYTHONPATH": f"{tests}{os.pathsep}{others}"}
            told = subprocess.run(command, env=environment, capture_output=True, text=True)
            assert f"run.nc: process {os.getpid()} is writing it now" in told.stderr
        seen.append(t)

    seen = []
    run = record(falling(samples=60), path, second)
    assert len(seen) == 2
    assert same(run, record(falling(samples=60)))


def test_a_lock_that_a_dead_process_left_locks_nothing(tmp_path):
    folder = tmp_path / "run.nc.parts"
    folder.mkdir()
    (folder / "lock").write_text("1\n")  # a number that is in use, by another program
    assert same(record(falling(), tmp_path / "run.nc"), record(falling()))
    assert not folder.exists()


# --- the simulation itself ---


@pytest.mark.repeats(1)
@pytest.mark.parametrize(
    ("integrator", "formulation", "how"),
    [
        ("dopri5", "lagrange", {"rtol": 1e-7}),
        ("rk4", "hamiltonian", {"step": 0.01}),
        ("dop853", "hamiltonian", {"rtol": 1e-10}),
        ("dop853", "lagrange", {"rtol": 1e-12, "every": 0.1}),
        ("radau", "hamiltonian", {"rtol": 1e-5}),
    ],
)
def test_a_simulation_stopped_after_every_block_ends_as_if_never_stopped(tmp_path, integrator, formulation, how):
    m = mt.Model("driven pendulum")
    bob = m.body("bob", mt.rod(mass=1.0, length=0.5))
    m.joint("A", mt.Revolute("y", damping=0.05), m.ground, bob)
    m.joint("ball", mt.Spherical(), bob.at((0.5, 0, 0)), m.body("top", mt.box(mass=0.3, size=(0.1, 0.2, 0.3))))
    m.torque("A", "0.4*sin(3*t)")
    system = m.build()
    start = system.assemble({"A": 1.0}, velocities={"ball": (1.0, 2.0, 3.0)})
    chosen = {
        "t_end": 100.0,
        "formulation": formulation,
        "integrator": integrator,
        "events": {"low": "A - pi/2"},
        **how,
    }
    path, stops = tmp_path / "run.nc", 0

    def stop(t, closure_error):
        signal.raise_signal(signal.SIGINT)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = system.simulate(start, **chosen)
        run = system.simulate(start, **chosen, path=path, progress=stop)
        while run.end.reason == "interrupted":
            stops += 1
            run = resume_run(path, stop)
    assert stops >= 2
    assert run.end.reason == "arrived"
    assert len(run.end.events) > 5
    assert same(run, whole)
    assert same(mt.load_run(path), whole)
