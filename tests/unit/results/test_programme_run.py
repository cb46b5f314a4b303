"""Runs of programmes: columns by name, the measured decay, tables and files."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from momentree.errors import MomentreeError

CART = mt.programme("x y phi", ["x'*sin(phi) = y'*cos(phi)"], velocity={"x": "cos(phi)", "phi": 1}, gain=3, name="cart")
RUN = CART.simulate([0, -1, 0], [1.2, 0.1, 0.9], t_end=2.0, every=0.1)


def test_columns_have_names():
    assert (RUN["phi"] == RUN.q[:, 2]).all()
    assert (RUN["y'"] == RUN.qd[:, 1]).all()
    with pytest.raises(MomentreeError, match=r"no coordinate 'ph'. Did you mean 'phi'"):
        RUN["ph"]


def test_deviations_and_constraint_errors_are_those_of_the_programme():
    assert RUN.u == pytest.approx(RUN.qd - CART.velocity(RUN.q, RUN.t))
    assert RUN.size == pytest.approx(np.linalg.norm(RUN.u, axis=1))
    expected = RUN["x'"] * np.sin(RUN["phi"]) - RUN["y'"] * np.cos(RUN["phi"])
    assert RUN.constraint_error[:, 0] == pytest.approx(expected, abs=1e-12)


def test_the_measured_decay_is_the_slowest_from_the_start():
    later = slice(1, None)
    assert RUN.decay_rate() == pytest.approx(min(-np.log(RUN.size[later] / RUN.size[0]) / RUN.t[later]))
    with pytest.raises(MomentreeError, match="no deviation"):
        CART.simulate([0, -1, 0], t_end=0.1).decay_rate()


def test_a_run_is_a_dataset_and_a_table(tmp_path):
    assert RUN.data.q.sel(coordinate="phi").values == pytest.approx(RUN["phi"])
    RUN.to_csv(tmp_path / "cart.csv")
    table = np.genfromtxt(tmp_path / "cart.csv", delimiter=",", names=True, deletechars="")
    assert (table["phi"] == RUN["phi"]).all()
    assert (table["u.x"] == RUN.u[:, 0]).all()


def test_a_run_prints_what_matters():
    text = str(RUN)
    assert text.startswith("cart: 21 samples, arrived at t = 2 s")
    assert "|u|" in text
