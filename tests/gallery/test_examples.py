"""Every example runs and asserts; each folder has its story, its file and its script."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").iterdir())


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_the_example_runs(folder, tmp_path):
    told = subprocess.run([sys.executable, str(folder / "run.py")], cwd=tmp_path, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    script = (folder / "run.py").read_text(encoding="utf-8")
    assert "assert " in script
    assert len(script.splitlines()) <= 40


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_the_example_has_its_files(folder):
    assert {path.name for path in folder.iterdir()} >= {"README.md", "model.toml", "run.py"}
