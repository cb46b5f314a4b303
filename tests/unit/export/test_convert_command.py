"""`momentree convert IN OUT`: exit status, messages, --lossy, --closures, --load."""

from __future__ import annotations

import subprocess
import sys

import pytest

import momentree as mt
from command_line import command


@pytest.fixture
def folder(tmp_path):
    m = mt.Model("bars")
    a, b = (m.body(name, mt.rod(mass=1.0, length=1.0, radius=0.02)) for name in "ab")
    m.joint("A", mt.Revolute("y", spring=1.0), m.ground, a)
    m.joint("B", mt.Revolute("y"), m.ground.at((0.5, 0, 0)), b)
    m.joint("C", mt.Spherical(), a.at((1, 0, 0)), b.at((1, 0, 0)))
    m.save(tmp_path / "bars.toml")
    return tmp_path


def test_there_and_back(folder):
    there = command("convert", "bars.toml", "bars.sdf", cwd=folder)
    assert (there.returncode, there.stdout) == (0, "")
    assert "warning: bars.sdf: coordinates count from the start" in there.stderr
    assert command("convert", "bars.sdf", "again.toml", cwd=folder).returncode == 0
    assert mt.load(folder / "again.toml").build().mobility == mt.load(folder / "bars.toml").build().mobility
    assert command("check", "bars.sdf", cwd=folder).returncode == 0


def test_what_is_lost_is_an_error_or_a_warning(folder):
    refused = command("convert", "bars.toml", "bars.urdf", cwd=folder)
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 2
    assert refused.stderr.startswith("bars.toml:")
    assert "joint 'A': has a spring, which URDF cannot express" in refused.stderr
    assert "joint 'C': closes a loop" in refused.stderr
    assert not (folder / "bars.urdf").exists()
    done = command("convert", "bars.toml", "bars.urdf", "--lossy", "--closures", "bars.yaml", cwd=folder)
    assert done.returncode == 0
    assert done.stderr == "warning: bars.urdf: left out (has a spring): 'A'\n"
    loaded = command("convert", "bars.urdf", "x.toml", "--load", "closures=bars.yaml", cwd=folder)
    assert loaded.returncode == 0
    assert mt.load(folder / "x.toml").build().mobility == mt.load(folder / "bars.toml").build().mobility


def test_wrong_words(folder):
    assert command("convert", "bars.toml", cwd=folder).returncode == 2
    same = command("convert", "bars.toml", "bars.toml", cwd=folder)
    assert (same.returncode, same.stderr) == (1, "bars.toml: is the file that is converted. Choose another name.\n")
    ending = command("convert", "bars.toml", "bars.dae", cwd=folder)
    assert ending.returncode == 1
    assert "the ending says the format. Choose '.toml', '.urdf', '.sdf', '.xml' or '.mjcf'." in ending.stderr
    missing = command("convert", "nothing.toml", "x.urdf", cwd=folder)
    assert missing.returncode == 1
    assert "nothing.toml" in missing.stderr
    assert "Traceback" not in missing.stderr


def test_in_a_process_of_its_own(folder):
    words = [sys.executable, "-m", "momentree", "convert", "bars.toml", "bars.sdf"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    assert (folder / "bars.sdf").read_text().startswith("<?xml")
