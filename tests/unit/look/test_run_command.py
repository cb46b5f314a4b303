"""`momentree run --report --movie --show`: checked before anything is computed, written whatever became of the run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import momentree as mt
from command_line import command
from momentree.errors import MomentreeError
from momentree.look.run_command import Outputs, show_run

PENDULUM = Path(__file__).parents[3] / "examples" / "01_pendulum" / "model.toml"
SHORT = ("--from", "phi=1", "--t-end", 0.5)


@pytest.fixture(scope="module")
def run():
    system = mt.load(PENDULUM).build()
    return system.simulate(system.assemble({"phi": 1.0}), t_end=0.5, every=0.1)


def test_a_report_is_written(tmp_path):
    told = command("run", PENDULUM, *SHORT, "--report", "out.html", "--show", "phase of phi", cwd=tmp_path)
    assert (told.returncode, "report written to out.html" in told.stderr) == (0, True)
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert page.index("What was asked for") < page.index("Coordinates by joint")


@pytest.mark.long
def test_a_movie_is_written(tmp_path):
    told = command("run", PENDULUM, *SHORT, "--movie", "out.gif", cwd=tmp_path)
    assert (told.returncode, "movie written to out.gif" in told.stderr) == (0, True)
    assert (tmp_path / "out.gif").read_bytes().startswith(b"GIF8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--report", "out.pdf"), "out.pdf: not a page"),
        (("--report", "no/out.html"), "there is no folder no"),
        (("--movie", "out.avi"), "out.avi: not a kind of movie"),
        (("--report", "out.html", "--show", "Energy"), "Did you mean 'energy'?"),
        (("--plot", "out.svg", "--show", "reactions of psi"), "there is no joint 'psi'"),
        (
            ("--plot", "a.svg", "--show", "phi", "--show", "phi'") + ("--show", "energy") * 20,
            "do not fit in one picture",
        ),
        (("--plot", "out.svg", "-o", "out.svg"), "out.svg: two options name this file"),
    ],
)
def test_what_cannot_be_written_or_shown_is_said_before_the_simulation(words, message, tmp_path):
    endless = ("--from", "phi=1", "--t-end", 1e9)
    told = command("run", PENDULUM, *endless, *words, cwd=tmp_path)
    assert (told.returncode, told.stdout) == (1, "")
    assert message in told.stderr
    assert [*tmp_path.iterdir()] == []


def test_a_file_that_cannot_be_written_costs_no_other(run, tmp_path, capsys):
    outputs = Outputs(plot=tmp_path / "no" / "a.svg", movie=tmp_path / "out.txt", report=tmp_path / "out.html")
    assert show_run(run, outputs) == 1
    told = capsys.readouterr().err
    assert ("there is no folder" in told, "not a kind of movie" in told) == (True, True)
    assert (tmp_path / "out.html").exists()


def test_a_failed_run_has_its_report(tmp_path):
    m = mt.Model("bursting")
    m.joint("x", mt.Prismatic("x"), m.ground, m.body("b", mass=1.0))
    m.torque("x", "exp(x*x)")
    m.start_at({"x": 1.0}, t_end=10.0)
    m.save(tmp_path / "m.toml")
    told = command("run", "m.toml", "--report", "out.html", cwd=tmp_path)
    assert told.returncode == 1
    assert "failed at t" in told.stderr
    assert "WARNING: the simulation failed" in (tmp_path / "out.html").read_text(encoding="utf-8")


def test_names_are_checked_with_a_run_of_one_sample(run):
    Outputs(show=("phi", "energy", "reactions of phi", "path of rod")).check_shown(run.system, run.state(0))
    with pytest.raises(MomentreeError, match="there is nothing called 'rho' to plot"):
        Outputs(show=("rho",)).check_shown(run.system, run.state(0))


def test_the_object_that_is_printed_has_the_last_inputs_and_outputs(capsys):
    m = mt.Model("slider", gravity=(0, 0, 0))
    m.input("u", 3.0)
    m.joint("x", mt.Prismatic("x"), m.ground, m.body("block", mass=1.0, inertia=(1, 1, 1)))
    m.torque("x", "u")
    m.output("both", "x + u")
    run = m.build().simulate(t_end=2.0)
    Outputs(as_json=True).print_summary(run)
    last = json.loads(capsys.readouterr().out)["last"]
    assert last["inputs"] == {"u": 3.0}
    assert last["outputs"] == {"both": pytest.approx(last["coordinates"]["x"] + 3.0)}
