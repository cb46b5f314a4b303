"""Every example runs and asserts; each folder has its story, its file and its script."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

import momentree as mt
from momentree.look.gallery import gallery

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").iterdir())


@pytest.mark.repeats(2)
@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_the_example_runs(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "report", raising=False)  # that of another example
    monkeypatch.syspath_prepend(str(folder.parents[1] / "benchmarks"))
    from picture_checks import differences

    runpy.run_path(str(folder / "run.py"), run_name="__main__")
    for picture in tmp_path.glob("*.svg"):
        assert not differences(picture, folder / picture.name), f"{picture.name} is not up to date: make pictures"
    script = (folder / "run.py").read_text(encoding="utf-8")
    assert "assert " in script
    assert len(script.splitlines()) <= 40


@pytest.mark.parametrize("folder", [EXAMPLES[0], *(pytest.param(f, marks=pytest.mark.long) for f in EXAMPLES[1:])])
def test_the_example_runs_in_an_interpreter_of_its_own(folder, tmp_path):
    done = subprocess.run([sys.executable, str(folder / "run.py")], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_the_example_has_its_files(folder):
    assert {path.name for path in folder.iterdir()} >= {"README.md", "run.py"}
    assert (folder / "model.toml").exists() or "mt.programme(" in (folder / "run.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_the_pictures_of_its_story_are_there(folder):
    shown = re.findall(r"!\[[^]]*\]\(([^)]+)\)", (folder / "README.md").read_text(encoding="utf-8"))
    assert shown
    for name in shown:
        assert name.endswith(".svg")
        assert "<svg" in (folder / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("example", gallery(), ids=lambda example: example.name)
def test_the_example_has_a_thumbnail(example):
    with Image.open(example.thumbnail) as picture:
        assert picture.size == (480, 320)
        assert len(picture.convert("RGB").getcolors(maxcolors=300)) > 3
    assert example.thumbnail.stat().st_size < 20_000


@pytest.mark.parametrize("file", sorted(path for folder in EXAMPLES for path in folder.glob("*.toml")), ids=str)
def test_a_file_of_an_example_loads_as_it_was_saved(file, tmp_path):
    model = mt.load(file)
    model.save(tmp_path / "again.toml")
    assert mt.load(tmp_path / "again.toml") == model


@pytest.mark.long
def test_the_study_of_the_walker_finds_that_it_walks_and_falls(monkeypatch):
    folder = next(folder for folder in EXAMPLES if folder.name.endswith("walking_mechanism"))
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "report", raising=False)  # that of another example
    import study

    slow, fast = study.results((2.6, 0.5), turns=9, settled=3)
    assert (slow.verdict, fast.verdict) == ("walks", "falls")
    assert (slow.steps, slow.flight, slow.fell) == (pytest.approx(2, abs=0.2), 0, float("inf"))
    assert slow.speed == pytest.approx(slow.rolling, rel=0.03)
    assert 0.5 < slow.factor < 1.5
    assert fast.fell < 1
    assert "| 2.6 | 2.417 |" in study.table([slow, fast])
    assert "walks" in (folder / "study.md").read_text(encoding="utf-8")


@pytest.mark.long
def test_the_walker_walks_with_every_setting_at_its_default():
    folder = next(folder for folder in EXAMPLES if folder.name.endswith("walking_mechanism"))
    run = mt.load(folder / "model.toml").build().simulate()
    assert run.t[-1] == 52
    assert -run["hull"][-1, 0] / 52 == pytest.approx(0.384, rel=0.01)
    assert run.closure_error.max() < 1e-9
    assert run.settings["integrator"] == "radau9"  # the model says that it is stiff
    forces = sum(run.contact_force(f"contact {i} of leg {i}")[:, 2] for i in (1, 2))
    assert forces.min() > 0  # no flight
