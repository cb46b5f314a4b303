"""The command line as a user meets it: exit statuses, what goes where."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import momentree as mt
from command_line import command
from mechanisms import four_bar

WALKER = Path(__file__).parents[2] / "examples" / "13_walking_mechanism" / "model.toml"


def run(*words, cwd=None):
    return command(*words, cwd=cwd)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "four-bar.toml"
    four_bar().save(path)
    return path


def test_check_of_a_good_file(file):
    told = run("check", file)
    assert told.returncode == 0
    assert "fine. 3 bodies, 4 joints, 1 loop, 1 degree of freedom, 3 redundant constraints" in told.stdout
    assert told.stderr == ""


def test_check_names_parameters_that_nothing_uses(file):
    file.write_text(f"{file.read_text()}\n[parameters]\nk = 3.0\n")
    assert "\n  parameters that nothing uses: k\n" in run("check", file).stdout


def test_check_reports_all_mistakes_of_all_files_with_lines(file, tmp_path):
    text = file.read_text()
    bad = tmp_path / "bad.toml"
    bad.write_text(text.replace('from = "ground"', 'from = "gruond"').replace("mass = 1.0", "mass = -1.0"))
    told = run("check", file, bad)
    assert told.returncode == 1
    assert "Did you mean 'ground'?" in told.stderr
    assert told.stderr.count("mass is -1 kg; it must be positive") == 3
    line = bad.read_text().splitlines().index('from = "gruond"') + 1
    assert f"bad.toml:{line}: joint 'A'" in told.stderr
    assert "fine" in told.stdout


def test_check_says_which_loop_cannot_close(tmp_path):
    four_bar((1.0, 0.3, 0.3, 2.5)).save(tmp_path / "short.toml")
    told = run("check", tmp_path / "short.toml")
    assert told.returncode == 1
    assert "joint 'C': closes a loop, but cannot: closure error 0.9 m" in told.stderr
    line = (tmp_path / "short.toml").read_text().splitlines().index('name = "C"') + 1
    assert f"short.toml:{line - 1}: joint 'C'" in told.stderr
    assert "Traceback" not in told.stderr


def test_structure_prints_tables_and_matrices():
    told = run("structure", WALKER)
    assert told.returncode == 0
    for words in (
        "k = {0, 1, 1, 1, 2, 2}",
        "degrees of freedom (mobility): 4; by Gruebler's count: -2",
        "10 velocities of the tree, 12 constraints of rank 6",
        "6 redundant constraints:",
        "leg 2: rotation about z",
        "S0 = [ +1   0   0   0   0   0 ]",
        "epsilon = [  0   0  +1   0  -1   0 ]",
    ):
        assert words in told.stdout


def test_structure_as_json_is_one_object(file):
    told = run("structure", "--json", file)
    data = json.loads(told.stdout)
    assert data["mobility"]["true"] == 1
    assert data["mobility"]["gruebler"] == -2
    assert data["S"] == [[-1, 1, 0], [0, -1, 0], [0, 0, -1]]
    assert data["loops"][0]["closed_by"] == "joint C"
    assert sorted(data["mobility"]["configuration"]) == ["A", "B", "D"]


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
@pytest.mark.repeats(1)
def test_structure_draws_the_graph(file, tmp_path, suffix):
    told = run("structure", file, "--picture", tmp_path / f"graph.{suffix}")
    assert told.returncode == 0
    assert (tmp_path / f"graph.{suffix}").stat().st_size > 1000


def test_a_picture_in_an_unknown_format_is_refused(file, tmp_path):
    told = run("structure", file, "--picture", tmp_path / "graph.gif")
    assert told.returncode == 1
    assert "svg" in told.stderr
    assert "Traceback" not in told.stderr


def test_wrong_command_lines_have_status_2(file):
    for words in (["check"], ["bogus"], ["structure"], ["structure", file, "--wrong"], ["check", "--json"]):
        told = run(*words)
        assert told.returncode == 2
        assert "Traceback" not in told.stderr


def test_help_and_version():
    assert f"momentree {mt.__version__}" in run("--version").stdout
    told = run("--help").stdout
    for name in ("check", "structure", "demo"):
        assert name in told
        assert "Usage" in run(name, "--help").stdout


@pytest.mark.long
def test_demo_lists_and_runs(tmp_path):
    assert "walking-mechanism" in run("demo").stdout
    told = run("demo", "walking-mechanism", cwd=tmp_path)
    assert told.returncode == 0
    assert "degrees of freedom (mobility): 4" in told.stdout
    report = tmp_path / "demo-report" / "walking-mechanism"
    pictures = {
        f"{name}.{suffix}" for name in ("graph", "motion", "steps", "walk", "diagnostics") for suffix in ("svg", "png")
    }
    assert {path.name for path in report.iterdir()} == {"structure.txt", "summary.txt", "report.html", *pictures}
    page = (report / "report.html").read_text(encoding="utf-8")
    assert len(page) < 5e6
    assert page.count("<iframe") == 1
    assert "2 steps a period" in page
    assert told.stdout.endswith("open demo-report/walking-mechanism/report.html in a browser\n")
    summary = (report / "summary.txt").read_text()
    assert summary in told.stdout
    for words in ("0 to 52 s, arrived", "20 and 20 in 20 periods: 2 steps a period", "it never flies", "CPU time"):
        assert words in summary


def test_a_demo_simulates_what_its_model_says(tmp_path):
    told = run("demo", "pendulum", cwd=tmp_path)
    assert told.returncode == 0
    assert "0 to 6 s, arrived" in told.stdout
    report = tmp_path / "demo-report" / "pendulum"
    assert {path.name for path in report.iterdir()} >= {"structure.txt", "graph.svg", "summary.txt", "report.html"}
    assert "<iframe" in (report / "report.html").read_text(encoding="utf-8")
    assert run("demo", "pendulum", "--all").returncode == 2


def test_a_demo_that_is_not_there_is_suggested():
    wrong = run("demo", "walkin-mechanism")
    assert wrong.returncode == 1
    assert "Did you mean 'walking-mechanism'?" in wrong.stderr


def test_output_cut_short_by_its_reader_is_no_error(file):
    process = subprocess.run(
        f"{sys.executable} -m momentree structure {file} | head -n 1", shell=True, capture_output=True, text=True
    )
    assert process.stdout.startswith("four-bar")
    assert "Traceback" not in process.stderr


SDF = """<sdf version="1.7"><model name="arm"><link name="a"><inertial><mass>1</mass><inertia>
<ixx>1</ixx><iyy>1</iyy><izz>3</izz></inertia></inertial></link>
<joint name="j" type="revolute"><parent>world</parent><child>a</child><axis><xyz>0 0 1</xyz></axis></joint>
<plugin name="p"/></model></sdf>"""


def test_robots_are_read_with_the_options_that_load_takes(tmp_path):
    (tmp_path / "arm.sdf").write_text(SDF)
    told = run("check", "arm.sdf", cwd=tmp_path)
    assert told.returncode == 1
    assert "arm.sdf:1: body 'a': inertia violates the triangle inequality" in told.stderr
    told = run("check", "--load", "inertia_check=warn", "arm.sdf", cwd=tmp_path)
    assert told.returncode == 0
    assert "warning: arm.sdf: left out <plugin>: 'p'\n" in told.stderr
    assert "1 body, 1 joint" in told.stdout
    assert "\n  left out <plugin> (1): 'p'\n" in told.stdout
    told = run("run", "arm.sdf", "--load=inertia_check=warn", "--t-end", "0.1", cwd=tmp_path)
    assert told.returncode == 0
    told = run("structure", "arm.sdf", "--load", "inertia_chek=warn", cwd=tmp_path)
    assert told.returncode == 1
    assert "--load inertia_chek=warn: write NAME=VALUE. Choose 'inertia_check=...'" in told.stderr
    told = run("structure", "arm.sdf", "--load", "floating=maybe", cwd=tmp_path)
    assert "write floating=true or floating=false" in told.stderr
    assert "--load NAME=VALUE" in run("structure", "--help").stdout
