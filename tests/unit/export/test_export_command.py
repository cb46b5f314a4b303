"""`momentree export`: the ending says what is written; what is free, an input or a start value is said by options."""

from __future__ import annotations

import zipfile
from xml.etree import ElementTree

import pytest

from command_line import command
from fmu_models import pendulum_chain
from momentree.export import fmu_export


@pytest.fixture
def file(tmp_path):
    pendulum_chain().save(tmp_path / "chain.toml")
    return tmp_path / "chain.toml"


def description(path):
    with zipfile.ZipFile(path) as archive:
        return ElementTree.fromstring(archive.read("modelDescription.xml"))


def test_an_fmu_with_parameters_inputs_and_a_start(tmp_path, file):
    out = tmp_path / "chain.fmu"
    words = ["--free", "k", "--input", "u", "--parameter", "mass=2.5", "--from", "J0=30*deg", "--velocity", "J1=0.5"]
    done = command("export", file, out, *words, "--fmi", "2.0", "--kind", "co-simulation", "--sources-only")
    assert done.stdout == f"{out} written\n"
    root = description(out)
    assert root.get("fmiVersion") == "2.0"
    assert root.find("ModelExchange") is None
    found = {each.get("name"): (each.get("causality"), each.find("Real").get("start")) for each in root[-2]}
    assert found["k"] == ("parameter", "3.0")
    assert found["mass"] == ("parameter", "2.5")
    assert found["u"] == ("input", "0.0")
    assert float(found["J0"][1]) == pytest.approx(0.5235987755982988)
    assert found["J1'"][1] == "0.5"


def test_all_parameters_may_stay_free_and_c_has_steps(tmp_path, file):
    assert command("export", file, tmp_path / "chain.c", "--free", "all").returncode == 0
    header = (tmp_path / "chain.h").read_text()
    assert "#define CHAIN_NP 3" in header
    assert "int chain_step(double *state, double t, double h, const double *parameters, double *work);" in header


@pytest.mark.parametrize(
    ("out", "words", "said"),
    [
        ("chain.zip", [], "chain.zip: the ending says what is written. Choose .fmu or .c."),
        ("chain.fmu", ["--free", "kk"], "there is no parameter 'kk'."),
        ("chain.fmu", ["--fmi", "1.0"], "version is '1.0'. Choose '3.0' or '2.0'."),
    ],
)
def test_mistakes_are_one_line_and_leave_no_file(tmp_path, file, out, words, said):
    done = command("export", file, tmp_path / out, *words)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / out).exists()


def test_a_missing_compiler_is_said_in_one_line(tmp_path, file, monkeypatch):
    monkeypatch.setattr(fmu_export, "compiler", lambda: None)
    done = command("export", file, tmp_path / "chain.fmu")
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert "has sources only, no library: there is no C compiler here" in done.stderr
