"""Every model of the gallery says where its motion begins and when it ends, and it moves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import momentree as mt
from momentree.look.gallery import gallery
from momentree.model.frames import Frame

EXAMPLES = Path(__file__).parents[2] / "examples"
MODELS = sorted(EXAMPLES.glob("*/model*.toml"))
PROGRAMMES = {"22_cart_of_kaspirovich_and_mukharlyamov"}  # equations from constraints alone: no model
SLOW = {"13_walking_mechanism", "07_stage_separation"}  # to compile; they run in full elsewhere


def named(file: Path) -> str:
    return f"{file.parent.name}/{file.stem}"


def moved(run: mt.Run, body: str, size: float) -> float:
    """How far some point of a body within the size of the mechanism moves (m)."""
    points = [np.zeros(3), *(size * np.eye(3))]
    return max(float(np.ptp(run.position(Frame(body, tuple(point))), axis=0).max()) for point in points)


def test_only_programmes_have_no_model():
    without = {folder.name for folder in EXAMPLES.iterdir() if not (folder / "model.toml").exists()}
    assert without == PROGRAMMES
    assert all("mt.programme(" in (EXAMPLES / name / "run.py").read_text(encoding="utf-8") for name in without)
    assert len(gallery()) == len([folder for folder in EXAMPLES.iterdir() if folder.is_dir()])


@pytest.mark.filterwarnings("ignore::momentree.ModelWarning")
@pytest.mark.parametrize("file", MODELS, ids=named)
def test_a_model_says_where_it_starts_and_when_it_ends(file):
    m = mt.load(file)
    assert m.start is not None
    system = m.build()
    assert system.t_end is not None
    start = system.start()
    assert system.t_end > start.t


@pytest.mark.filterwarnings("ignore::momentree.ModelWarning")
@pytest.mark.repeats(4)
@pytest.mark.parametrize("file", [file for file in MODELS if file.parent.name not in SLOW], ids=named)
def test_a_model_moves_from_its_own_start(file):
    system = mt.load(file).build()
    run = system.simulate(rtol=1e-6)
    size = float(system.mechanism.size)
    assert max(moved(run, body.name, size) for body in mt.load(file).bodies) > 0.01 * size
