"""`momentree run` as a user meets it: exit statuses, what goes where."""

from __future__ import annotations

import json
import math
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import typer

import momentree as mt
from command_line import command
from mechanisms import four_bar
from momentree.analyse import mobility

PENDULUM = Path(__file__).parents[2] / "examples" / "01_pendulum" / "model.toml"
START = ("--from", "phi=1", "--velocity", "phi=0.5")
# one that takes a while, with a chunk after every block
SLOW = ("--integrator", "rk4", "--step", "2e-6", "--every", "2e-3", "--t-end", "100")
OFTEN = "import sys, momentree.results.recorder as r; r.SECONDS = 0.0; from momentree.cli import main; main()"


def run(*words, cwd=None):
    return command("run", *words, cwd=cwd)


def test_the_summary_and_the_file(tmp_path):
    told = run(PENDULUM, *START, "--t-end", 2, "-o", "run.nc", "--plot", "run.svg", cwd=tmp_path)
    assert told.returncode == 0
    assert "0 to 2 s, arrived" in told.stdout
    assert "evaluations" in told.stdout
    assert "run written to run.nc" in told.stderr
    assert (tmp_path / "run.svg").read_text().count("<path") > 10
    found = mt.load_run(tmp_path / "run.nc")
    assert found["phi"][0] == 1
    assert found.velocity("phi")[0] == pytest.approx(0.5, abs=1e-12)
    assert {path.name for path in tmp_path.iterdir()} == {"run.nc", "run.svg"}


FOUR_BAR = PENDULUM.parents[1] / "08_four_bar" / "model.toml"


@pytest.mark.parametrize("what", ["run", "compare"])
def test_degrees_of_freedom_are_counted_only_to_say_where_a_loop_stays_open(what, tmp_path, monkeypatch):
    counted = []
    plain = mobility.mobility
    monkeypatch.setattr(mobility, "mobility", lambda *given: counted.append(given) or plain(*given))
    assert command(what, FOUR_BAR, "--t-end", 0.001).returncode == 0
    assert not counted
    four_bar((1.0, 0.3, 0.3, 2.5)).save(tmp_path / "short.toml")
    told = command(what, tmp_path / "short.toml", "--t-end", 0.001)
    assert (told.returncode, len(counted)) == (1, 1)
    line = (tmp_path / "short.toml").read_text().splitlines().index('name = "C"')
    assert f"short.toml:{line}: joint 'C': closes a loop, but cannot" in told.stderr


def test_the_picture_shows_what_is_named(tmp_path):
    told = run(PENDULUM, *START, "--t-end", 1, "--plot", "run.svg", "--show", "phi'", "--show", "energy", cwd=tmp_path)
    assert told.returncode == 0
    assert {"phi', rad/s", "energy, J"} <= {*re.findall(r">([^<]*, [^<]*)</text>", (tmp_path / "run.svg").read_text())}
    assert run(PENDULUM, *START, "--show", "phi").returncode == 2
    told = run(PENDULUM, *START, "--t-end", 1, "--plot", "other.svg", "--show", "Energy", cwd=tmp_path)
    assert (told.returncode, "Did you mean 'energy'?" in told.stderr) == (1, True)


def test_json_is_one_object():
    told = run(PENDULUM, *START, "--t-end", 1, "--formulation", "lagrange", "--rtol", 1e-10, "--every", 0.5, "--json")
    data = json.loads(told.stdout)
    assert data["end"]["reason"] == "arrived"
    assert data["samples"] == 3
    assert data["settings"]["formulation"] == "lagrange"
    assert data["settings"]["rtol"] == 1e-10
    assert data["energy_J"]["largest_imbalance"] < 1e-7
    assert data["warnings"] == []
    assert set(data["last"]["coordinates"]) == {"phi"}


@pytest.mark.parametrize(
    "words",
    [
        (),
        (PENDULUM, "--resume"),
        (PENDULUM, "--from", "phi"),
        (PENDULUM, "--from", "=1"),
        (PENDULUM, "--velocity", "phi=fast"),
        (PENDULUM, "--t-end", "soon"),
        (PENDULUM, "--wrong"),
    ],
)
def test_wrong_command_lines_have_status_2(words, tmp_path):
    told = run(*words, cwd=tmp_path)
    assert told.returncode == 2
    assert "Traceback" not in told.stderr
    assert told.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("none.toml",), "none.toml"),
        ((PENDULUM, "--from", "psi=1"), "there is no joint 'psi'"),
        ((PENDULUM, "--formulation", "newton"), "formulation 'newton' is not known"),
        ((PENDULUM, "--plot", "run.gif"), "run.gif: not a kind of picture"),
        ((PENDULUM, "-o", "no/run.nc"), "there is no folder no"),
        (("--resume", "-o", "run.nc"), "run.nc: there is nothing to continue. Give a model file to begin."),
    ],
)
def test_mistakes_have_status_1_and_a_message(words, message, tmp_path):
    told = run(*words, cwd=tmp_path)
    assert told.returncode == 1
    assert message in told.stderr
    assert "Traceback" not in told.stderr
    assert told.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_a_failed_simulation_has_status_1_and_its_file(tmp_path):
    m = mt.load(PENDULUM)
    m.torque("phi", "1/(1 - t)")
    m.save(tmp_path / "singular.toml")
    told = run("singular.toml", "--t-end", 2, "-o", "run.nc", cwd=tmp_path)
    assert told.returncode == 1
    assert "failed at t = " in told.stderr
    assert "WARNING: the simulation failed at t = " in told.stdout
    found = mt.load_run(tmp_path / "run.nc")
    assert found.end.reason == "failed"
    assert found.t[-1] == pytest.approx(1.0, abs=1e-3)


def test_a_run_out_of_balance_warns_in_one_line(tmp_path):
    told = run(PENDULUM, *START, "--t-end", 20, "--integrator", "rk4", "--step", 0.2)
    assert told.returncode == 0
    assert "WARNING: energy is out of balance" in told.stdout
    assert "warning: pendulum: energy is out of balance" in told.stderr
    assert ".py" not in told.stderr


def test_help_helps():
    told = run("--help").stdout
    for words in ("--from", "--resume", "--every", "NAME=VALUE", "hull=0,0,1", "never lost", "--velocity"):
        assert words in told


@pytest.mark.repeats(1)
@pytest.mark.parametrize(
    ("words", "new"),
    [
        (("--closure", "leak"), "--stabilization"),
        (("--closure=leak",), "--stabilization=leak"),
        (("--rate", "A=1"), "--velocity"),
    ],
)
def test_an_old_option_is_answered_with_the_new_one(words, new):
    command = [sys.executable, "-m", "momentree", "run", str(PENDULUM), *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert f"{words[0].partition('=')[0]} is now called {new.partition('=')[0]}: write {new}." in done.stderr


def test_numbers_may_be_expressions():
    from momentree.look.command_words import named_numbers

    assert named_numbers(["A=30*deg", "hull=0,-pi/2,1"], "--from") == {"A": math.pi / 6, "hull": [0, -math.pi / 2, 1]}
    for entry in ("A", "A=", "A=x", "A=1,", "A=1 +"):
        with pytest.raises(typer.BadParameter, match="write NAME=VALUE, such as"):
            named_numbers([entry], "--from")


def wait_for(condition, process):
    for _ in range(6000):
        if condition():
            return
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    raise AssertionError("waited in vain")


def test_ctrl_c_keeps_what_there_is_and_says_how_to_go_on(tmp_path):
    words = [sys.executable, "-c", OFTEN, "run", str(PENDULUM), *START, *SLOW, "-o", "run.nc"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(words, cwd=tmp_path, **pipes)
    wait_for(lambda: list(tmp_path.glob("run.nc.parts/chunk-*.npz")), process)
    process.send_signal(signal.SIGINT)
    out, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted at t = " in told
    assert "continue with momentree.resume_run" in told
    assert "momentree run --resume -o run.nc" in told
    assert "Traceback" not in told
    assert "interrupted" in out
    refused = run(PENDULUM, *START, *SLOW, "-o", "run.nc", cwd=tmp_path)
    assert refused.returncode == 1
    assert "holds an unfinished run" in refused.stderr


@pytest.mark.long
def test_resuming_with_other_words_is_refused_and_a_finished_run_is_shown(tmp_path):
    words = (PENDULUM, *START, "--t-end", 2, "-o", "run.nc", "--resume")
    first = run(*words, cwd=tmp_path)  # there is nothing yet: it begins
    assert first.returncode == 0
    content = (tmp_path / "run.nc").read_bytes()
    assert run(*words, cwd=tmp_path).stdout == first.stdout
    assert run("--resume", "-o", "run.nc", cwd=tmp_path).stdout == first.stdout
    assert (tmp_path / "run.nc").read_bytes() == content
    other = PENDULUM.parents[1] / "08_four_bar" / "model.toml"
    for changed, message in (
        ((PENDULUM, "--t-end", 3), "was begun with t_end = 2.0"),
        ((PENDULUM, "--from", "phi=2"), "another start"),
        ((other,), f"another model than {other}"),
    ):
        told = run(*changed, "--resume", "-o", "run.nc", cwd=tmp_path)
        assert told.returncode == 1
        assert message in told.stderr


START_OF_FILE = """
[start]
t_end = "3/2"
coordinates = { phi = "60*deg" }
velocities = { phi = 0.25 }
"""


@pytest.fixture
def begun(tmp_path):
    """A file that says where to begin."""
    m = mt.load(PENDULUM)
    m.start = None
    m.save(tmp_path / "model.toml")
    text = (tmp_path / "model.toml").read_text()
    (tmp_path / "model.toml").write_text(text.replace("\n[[", START_OF_FILE + "\n[[", 1))
    return tmp_path / "model.toml"


def test_a_file_says_where_to_begin_and_when_to_end(begun):
    data = json.loads(run(begun, "--every", 1.5, "--json").stdout)
    assert data["last"]["t"] == 1.5
    system = mt.load(begun).build()
    start = system.start()
    assert (start["phi"], start.velocity("phi")) == (pytest.approx(np.pi / 3, abs=1e-15), 0.25)
    mine = system.simulate(every=1.5)
    assert mine["phi"][-1] == data["last"]["coordinates"]["phi"]


@pytest.mark.long
def test_words_replace_what_the_file_says_of_the_same_joint(begun):
    run(begun, "--from", "phi=0.1", "--t-end", 1, "-o", begun.with_name("run.nc"))
    found = mt.load_run(begun.with_name("run.nc"))
    assert (found["phi"][0], found.velocity("phi")[0]) == (0.1, pytest.approx(0.25, abs=1e-12))
    assert found.t[-1] == 1
    again = run("--resume", "-o", begun.with_name("run.nc"), begun, "--from", "phi=0.1")
    assert again.returncode == 0
    other = run("--resume", "-o", begun.with_name("run.nc"), begun, "--from", "phi=0.2")
    assert other.returncode == 1
    assert "another start" in other.stderr


def test_a_run_without_an_end_is_refused():
    m = mt.load(PENDULUM)
    m.start_at()
    system = m.build()
    with pytest.raises(mt.MomentreeError, match="simulate: the model has no end time"):
        system.simulate(system.start())


def test_a_start_that_does_not_close_is_told_with_its_line(tmp_path):
    text = (PENDULUM.parents[1] / "08_four_bar" / "model.toml").read_text()
    path = tmp_path / "four-bar.toml"
    path.write_text(text.replace("coordinates = { A = 1 }", "coordinates = { A = 1, D = 0 }"))
    told = command("check", path)
    assert told.returncode == 1
    assert "four-bar.toml:6: start: " in told.stderr
    assert "closes a loop, but cannot" in told.stderr
    assert run(path, "--from", "D=1.7275688", "--t-end", 0.1).returncode == 1


def test_a_guess_chooses_the_branch():
    m = mt.load(PENDULUM.parents[1] / "08_four_bar" / "model.toml")
    m.start_at({"A": 1.0}, guess={"D": -2.5})
    assert m.build().start()["D"] == pytest.approx(-2.538732, abs=1e-6)
    m.start_at({"A": 1.0}, velocities={"A": 2.0}, guess={"D": 1.7})
    start = m.build().start()
    assert start["D"] == pytest.approx(1.727569, abs=1e-6)
    assert start.closure_velocity < 1e-14


def test_a_run_from_python_is_the_run_of_the_command(tmp_path):
    run(PENDULUM, *START, "--t-end", 2, "-o", "run.nc", cwd=tmp_path)
    system = mt.load(PENDULUM).build()
    mine = system.simulate(system.assemble({"phi": 1.0}, velocities={"phi": 0.5}), t_end=2.0)
    assert np.array_equal(mine.q, mt.load_run(tmp_path / "run.nc").q)


def test_parameters_of_the_file_are_replaced(tmp_path):
    told = run(PENDULUM, *START, "--parameter", "l=0.4", "--parameter", "m=2", "--t-end", 1, "-o", tmp_path / "run.nc")
    assert told.returncode == 0, told.stderr
    found = mt.load_run(tmp_path / "run.nc")
    assert found.parameters == {"l": 0.4, "m": 2.0}
    model = mt.load(PENDULUM)
    model.parameters = [("m", 2.0), ("l", 0.4), ("g", 9.81)]
    system = model.build()
    expected = system.simulate(system.start({"phi": 1.0}, {"phi": 0.5}), 1.0)
    np.testing.assert_allclose(found.q[-1], expected.q[-1], rtol=0, atol=1e-10)
    # the same command with --resume finds it finished, another one does not fit
    words = (*START, "--t-end", 1, "-o", tmp_path / "run.nc", "--resume", "--parameter", "m=2")
    assert run(PENDULUM, *words, "--parameter", "l=0.4").returncode == 0
    other = run(PENDULUM, *words, "--parameter", "l=0.5")
    assert other.returncode == 1
    assert "was begun with another model than" in other.stderr
    assert "with these parameters" in other.stderr


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("mm=1", "there is no parameter 'mm'. Did you mean 'm'"),
        ("m=-1", "with m = -1: body 'rod', rod: mass is -1 kg; it must be positive"),
        ("m=nan", "parameter 'm': its value is nan; a finite number is expected"),
        ("m=1,2", "parameter 'm': its value has the shape 2; one number is expected"),
    ],
)
def test_parameters_that_cannot_be_are_refused(word, told):
    found = run(PENDULUM, *START, "--parameter", word)
    assert found.returncode == 1
    assert told in found.stderr
    assert "Traceback" not in found.stderr
