"""Mutated robot files of every format: each is a model, or one error with a line, in bearable time."""

from __future__ import annotations

import re
import time
import warnings

import pytest

import momentree as mt
from mutated_robots import FORMATS, mutated

QUICK, ALL, CHUNK = 96, 1000, 8
LONGEST = 2.0  # s of the processor
NEEDED = {".xml": "mujoco", ".mjcf": "mujoco"}


def outcome(folder, seed):
    """ "model" or "error", or what is wrong with the way a file was answered."""
    kind, files = mutated(seed)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    first = next(iter(files))
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mt.load(folder / first)
        said = "model"
    except mt.MomentreeError as error:
        message = str(error)
        wrong = not re.search(rf"(?m)^{re.escape(str(folder))}[^\n]*\.(urdf|sdf|xml|mjcf|yaml):\d+: ", message)
        wrong |= len(message) > 200_000 or any(not (c.isprintable() or c == "\n") for c in message)
        said = f"error without a line: {message[:300]}" if wrong else "error"
    except Exception as error:
        said = f"bare {type(error).__name__}: {str(error)[:300]}"
    seconds = time.process_time() - began
    if seconds > LONGEST:
        said = f"{seconds:.1f} s, then {said}"
    return f"seed {seed}, {kind}: {said}" if said not in ("model", "error") else said


def outcomes(folder, seeds):
    pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[mjcf]'")
    return [outcome(folder, seed) for seed in seeds]


@pytest.mark.parametrize("first", range(0, QUICK, CHUNK))
def test_mutated_files_are_models_or_errors_with_a_line(tmp_path, first):
    assert {*outcomes(tmp_path, range(first, first + CHUNK))} <= {"model", "error"}


@pytest.mark.long
@pytest.mark.parametrize("first", range(QUICK, ALL, 113))
def test_a_thousand_mutated_files_are_models_or_errors_with_a_line(tmp_path, first):
    found = outcomes(tmp_path, range(first, min(first + 113, ALL)))
    assert {*found} == {"model", "error"}


def test_files_that_are_not_mutated_are_models(tmp_path):
    pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[mjcf]'")
    for name, files in FORMATS.items():
        for file, text in files().items():
            (tmp_path / file).write_text(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert mt.load(tmp_path / name).bodies
