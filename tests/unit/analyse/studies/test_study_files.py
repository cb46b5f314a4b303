"""The [study] of a file: what it says, and its mistakes with their lines."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from momentree.analyse.studies.study_files import read_study
from study_models import rotor

STUDY = """
[study]
every = 0.5

[study.over]
r = [0.5, "0.3*2"]
mass = { from = 1, to = 3, count = 5 }

[study.outputs]
pull = { of = "max(A.force)", units = "N", long_name = "pull of the hinge" }
end = "last(A)"
"""


@pytest.fixture
def model(tmp_path):
    rotor().save(tmp_path / "model.toml")
    return tmp_path / "model.toml"


def made(path):
    found, arguments = read_study(path)
    return mt.study(found, **arguments)


def test_a_model_file_may_hold_its_study(model):
    model.write_text(model.read_text() + STUDY)
    found, arguments = read_study(model)
    assert found == rotor() == mt.load(model)
    assert arguments["over"].columns[1].tolist() == [1, 1.5, 2, 2.5, 3]
    assert arguments["over"].columns[0].tolist() == [0.5, 0.6]
    results = mt.study(found, **arguments).run()
    assert results.pull.attrs == {"units": "N", "long_name": "pull of the hinge"}
    assert results.pull.shape == (2, 5)


def test_a_study_file_names_its_model_and_draws(model, tmp_path):
    text = f'model = "model.toml"\n{STUDY}'.replace(
        "every = 0.5", 'every = 0.5\ndesign = "random"\nmotions = 9\nseed = 4'
    )
    text = text.replace('[0.5, "0.3*2"]', "[0.5, 0.6]").replace(
        "from = 1, to = 3, count = 5", "normal = [2, 0.1], low = 1.9"
    )
    (tmp_path / "study.toml").write_text(text.replace("[study.over]", 'path = "out.zarr"\n\n[study.over]'))
    found, arguments = read_study(tmp_path / "study.toml")
    assert found == rotor()
    assert arguments["over"].digest == mt.random(9, seed=4, r=(0.5, 0.6), mass=mt.normal(2, 0.1, low=1.9)).digest
    assert arguments["path"] == tmp_path / "out.zarr"
    assert np.all(arguments["over"].columns[1] >= 1.9)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("every = 0.5", "evry = 0.5", ":4: [study] has no 'evry'. Did you mean 'every'?"),
        ("every = 0.5", 'design = "gird"', "there is no design 'gird'. Choose 'grid'"),
        ("every = 0.5", "seed = 3", "seed belongs to a design that is drawn"),
        ("every = 0.5", 'design = "random"', "needs motions"),
        ("r = [0.5", "r = [true", ":7: True is not a number"),
        ('"0.3*2"', '"x"', ":7: 'x' is not a number"),
        ('r = [0.5, "0.3*2"]', "r = []", "'r' has no values"),
        ("count = 5", "count = 0", "count is a whole number"),
        ("from = 1, to = 3, count = 5", "frm = 1", "'mass' is none of"),
        ("from = 1, to = 3, count = 5", "normal = [1]", "two numbers"),
        ("from = 1, to = 3, count = 5", "normal = [1, -1]", "not negative"),
        ("of =", "off =", "output 'pull' has no 'off'"),
        ('end = "last(A)"', "end = 3", None),
        ("[study]", "[study]\nover = 3", None),
        ('model = "model.toml"', 'model = "nothing.toml"', "nothing.toml"),
        ('model = "model.toml"', "model = 3", ":1: model is the name"),
        ('model = "model.toml"', 'model = "model.toml"\ncolor = "red"', ":2: a study file has no 'color'"),
    ],
)
def test_a_mistake_is_told_with_its_line(model, tmp_path, old, new, words):
    text = f'model = "model.toml"\n{STUDY}'
    assert old in text
    (tmp_path / "study.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(mt.MomentreeError) as error:
        made(tmp_path / "study.toml")
    assert words is None or words in str(error.value)


def test_a_file_without_a_study_is_refused(model):
    with pytest.raises(mt.MomentreeError, match=r"there is no \[study\] in it"):
        read_study(model)
