"""`system.export`: the ending says what is written, with the values of free parameters."""

from __future__ import annotations

import warnings

import pytest

import momentree as mt
from momentree.errors import MomentreeError


def pendulum() -> mt.System:
    m = mt.Model("pendulum")
    mass = m.parameter("m", 2.0)
    m.joint("A", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(mass=mass, length=1.0, radius=0.01)))
    return m.build(free=["m"])


def test_each_ending(tmp_path):
    system = pendulum()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("x.urdf", "x.sdf", "x.toml", "x.c"):
            system.export(tmp_path / name)
    assert "mass_matrix" in (tmp_path / "x.c").read_text()
    assert (tmp_path / "x.h").exists()
    for name in ("x.urdf", "x.sdf", "x.toml"):
        assert mt.load(tmp_path / name).build().mass_matrix([0.0])[0, 0] == pytest.approx(2 / 3 + 2e-4 / 4)


def test_free_parameters_have_their_values(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pendulum().with_parameters(m=5.0).export(tmp_path / "x.urdf")
    assert mt.load(tmp_path / "x.urdf").bodies[1].mass == 5.0


def test_options_and_mistakes(tmp_path):
    pendulum().export(tmp_path / "x.c", what="mass_matrix")
    assert "forward_dynamics" not in (tmp_path / "x.c").read_text()
    with pytest.raises(MomentreeError, match=r"x\.urfd: the ending says what is written\. .*Did you mean '\.urdf'\?"):
        pendulum().export(tmp_path / "x.urfd")
