"""`momentree study`: it runs, goes on, prints a table or JSON, and tells mistakes with their lines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import xarray

from command_line import command
from momentree.look import study_command
from study_models import rotor

STUDY = """
[study]
every = 0.5

[study.over]
mass = [1, 2, -3]
"A'" = [1, 2]

[study.outputs]
pull = "max(A.force)"
half = "crossing(A - pi/2)"
"""


@pytest.fixture
def folder(tmp_path):
    rotor().save(tmp_path / "model.toml")
    with (tmp_path / "model.toml").open("a") as file:
        file.write(STUDY)
    return tmp_path


def test_a_study_is_run_and_continued(folder):
    first, again = command("study", "model.toml", cwd=folder), command("study", "model.toml", cwd=folder)
    assert (first.returncode, first.stdout) == (0, again.stdout)
    assert "a grid of 3 x 2 = 6 motions" in first.stdout
    assert "6 computed, 2 of them failed" in first.stdout
    assert "mass is -3" in first.stdout
    assert "pull" in first.stdout
    results = xarray.open_zarr(folder / "model-study.zarr", consolidated=False)
    assert float(results.pull.sel({"mass": 2, "A'": 2})) == pytest.approx(2 * 0.5 * 4)


def test_json_is_one_object(folder):
    told = json.loads(command("study", "model.toml", "--json", "--path", "out.zarr", cwd=folder).stdout)
    assert (told["motions"], told["computed"], told["failed"]) == (6, 6, 2)
    assert told["outputs"]["pull"]["max"] == pytest.approx(4.0)
    assert told["outputs"]["half"]["units"] == "s"
    assert sum(told["reasons"].values()) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("model.toml", "--device", "tpu"), "device is 'tpu'"),
        (("nothing.toml",), "nothing.toml"),
        (("model.toml", "--path", "missing/out.zarr"), "there is no folder"),
        (("model.toml", "--path", "model.toml"), "is no study of Momentree"),
    ],
)
def test_a_mistake_is_one_message(folder, words, message):
    told = command("study", *words, cwd=folder)
    assert told.returncode == 1
    assert message in told.stderr
    assert "Traceback" not in told.stderr


def test_ctrl_c_says_how_to_go_on(folder):
    text = (folder / "model.toml").read_text().replace("mass = [1, 2, -3]", "mass = { from = 1, to = 2, count = 3000 }")
    (folder / "model.toml").write_text(text.replace("every = 0.5", "every = 0.01\nchunk = 20"))
    folders = [os.environ.get("PYTHONPATH", ""), str(Path(__file__).parents[3] / "src")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    words = [sys.executable, "-m", "momentree", "study", "model.toml"]
    with subprocess.Popen(words, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True) as process:
        while not (folder / "model-study.zarr" / "status" / "c").exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "of 6,000 motions are in" in errors
    assert "The same command goes on from there." in errors


def test_reasons_that_differ_in_their_numbers_are_counted_together():
    reasons = {
        "joint 'C2': closure error 0.3 m at best.": 2,
        "joint 'C1': closure error 1 m at best.": 1,
        "joint 'C2': closure error 1.5e-3 m at best.": 4,
        "length is -1 m": 1,
    }
    assert study_command._alike(reasons) == [
        ("joint 'C2': closure error 0.3 m at best. (for one of them)", 6),
        ("joint 'C1': closure error 1 m at best.", 1),
        ("length is -1 m", 1),
    ]
