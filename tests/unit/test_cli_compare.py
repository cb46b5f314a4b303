"""`momentree compare` as a user meets it: exit statuses, what goes where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import command
from momentree.equations.formulations import FORMULATIONS

EXAMPLES = Path(__file__).parents[2] / "examples"
PENDULUM, FOUR_BAR = (EXAMPLES / name / "model.toml" for name in ("01_pendulum", "08_four_bar"))


def compare(*words):
    return command("compare", *words)


def test_the_table():
    told = compare(FOUR_BAR, "--from", "A=1", "--velocity", "A=2", "--t-end", 0.5)
    assert told.returncode == 0
    lines = told.stdout.splitlines()
    assert "0 to 0.5 s by dop853, rtol 1e-08" in lines[0]
    ways = [[name, each] for name, record in FORMULATIONS.items() for each in record.stabilizations]
    assert [line.split()[:2] for line in lines[3:]] == ways
    assert told.stderr == ""


def test_json_is_one_object():
    told = compare(PENDULUM, "--from", "phi=1", "--t-end", 0.5, "--integrator", "rk4", "--step", 0.01, "--json")
    data = json.loads(told.stdout)
    assert data["integrator"] == "rk4"
    in_maximal = len(FORMULATIONS["absolute"].stabilizations)
    assert [row["formulation"] for row in data["rows"]] == ["hamiltonian", "lagrange"] + ["absolute"] * in_maximal
    assert {row["steps"] for row in data["rows"]} == {50}
    assert max(row["difference"] for row in data["rows"]) < 1e-6


def test_where_nothing_arrives_the_exit_status_tells():
    told = compare(PENDULUM, "--integrator", "rk4", "--json")
    assert told.returncode == 1
    assert all("Give step=" in row["failed"] and row["energy"] is None for row in json.loads(told.stdout)["rows"])


@pytest.mark.parametrize(
    ("words", "status"),
    [((), 2), ((PENDULUM, "--from", "phi"), 2), ((PENDULUM, "--rtol", "much"), 2), (("no.toml",), 1)],
)
def test_mistakes_are_told_without_a_traceback(words, status):
    told = compare(*words)
    assert told.returncode == status
    assert told.stderr
    assert "Traceback" not in told.stderr
