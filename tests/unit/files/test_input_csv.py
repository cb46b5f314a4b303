"""Inputs from files of comma-separated values, and on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

import momentree as mt
from command_line import command
from momentree.errors import MomentreeError
from momentree.files.input_csv import read_input_csv

MODEL = """
gravity = [0, 0, 0]
input = [{ name = "u", unit = "N" }]
body = [{ name = "b", mass = 1, inertia = [1, 1, 1] }]
joint = [{ name = "x", type = "Prismatic", axis = "x", from = "ground", to = "b" }]
torque = [{ joint = "x", law = "u" }]
output = [{ name = "twice", expression = "2*x" }]
start = { t_end = 2 }
"""


@pytest.mark.parametrize(
    "text",
    [
        "0,1\n1,3\n2,5\n",
        "t,value\n0,1\n1,3\n2,5\n",
        "\ufefft [s],x [m],u [N]\n0,9,1\n\n1,9,3\n2,9,5\n",
        '"t [s]","u [N]"\r\n0,1\r\n1,3e0\r\n2,5\r\n',
    ],
)
def test_columns_are_t_and_value_or_by_name(tmp_path, text):
    (tmp_path / "u.csv").write_text(text, encoding="utf-8")
    assert read_input_csv(tmp_path / "u.csv", "u") == ([0, 1, 2], [1, 3, 5])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"t,a,b\n0,1,2\n", r"u.csv: has no column 'u'"),
        (b"", r"u.csv: has no numbers"),
        (b"t,u\n", r"u.csv: has no numbers"),
        (b"0,1\n1\n", r"u.csv:2: '1' is not a time and a value"),
        (b"0,1\n1,two\n", r"u.csv:2: '1, two' is not a time and a value"),
        (b"\xff\xfe\x00", r"u.csv: is not a text of comma-separated values"),
    ],
)
def test_damaged_files_are_refused_with_their_line(tmp_path, content, message):
    (tmp_path / "u.csv").write_bytes(content)
    with pytest.raises(MomentreeError, match=message):
        read_input_csv(tmp_path / "u.csv", "u")
    with pytest.raises(MomentreeError, match=r"no.csv: cannot be read"):
        read_input_csv(tmp_path / "no.csv", "u")


def test_the_command_line_drives_inputs(tmp_path):
    (tmp_path / "m.toml").write_text(MODEL)
    (tmp_path / "u.csv").write_text("0,0\n1,1\n2,0\n")
    rise, fall = 1 / 6, 1 / 6 + 1 / 2 + 1 / 2 - 1 / 6  # x at 1 and 2 s under the broken line
    assert (rise, fall) == (pytest.approx(1 / 6), pytest.approx(1.0))
    for value, x in (("3.0", 6.0), ("3*t", 4.0), ("u.csv", fall), ("u.csv,hold", 0.5), ("0.5*2 + 0*t", 2.0)):
        done = command("run", "m.toml", "--input", f"u={value}", "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["last"]["coordinates"]["x"] == pytest.approx(x, abs=1e-9)
    for words, message, status in (
        (["w=3"], "there is no input 'w'. Choose 'u'.", 1),
        (["u=u.csv,cubik"], "what may follow the file is hold, linear, cubic, continue", 2),
        (["u"], "write NAME=VALUE", 2),
        (["u=1", "--input", "u=2"], "u is given twice", 2),
        (["u=no.csv"], "no.csv: cannot be read", 1),
        (["u=u.csv", "--t-end", "3"], "its values are given from t = 0 to 2 s", 1),
    ):
        done = command("run", "m.toml", "--input", *words, cwd=tmp_path)
        assert (done.returncode, message in done.stderr) == (status, True), done.stderr
    done = command("run", "m.toml", "--input", "u=u.csv,continue", "--t-end", "3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_run_is_resumed_with_the_inputs_it_was_begun_with(tmp_path):
    (tmp_path / "m.toml").write_text(MODEL)
    (tmp_path / "u.csv").write_text("0,0\n1,1\n2,0\n")
    (tmp_path / "w.csv").write_text("0,0\n1,1\n2,0.5\n")
    words = ["run", "m.toml", "-o", "run.nc", "--every", "0.1"]
    assert command(*words, "--input", "u=u.csv", cwd=tmp_path).returncode == 0
    assert command(*words, "--input", "u=u.csv", "--resume", cwd=tmp_path).returncode == 0
    done = command(*words, "--input", "u=w.csv", "--resume", cwd=tmp_path)
    assert done.returncode == 1
    assert "input 'u': the run was begun with other values" in done.stderr
    done = command(*words, "--input", "u=3", "--resume", cwd=tmp_path)
    assert "was begun with another model" in done.stderr
    run = mt.load_run(tmp_path / "run.nc")
    np.testing.assert_allclose(run["u"], np.interp(run.t, [0, 1, 2], [0, 1, 0]), atol=1e-14)
    np.testing.assert_array_equal(run["twice"], 2 * run["x"])
