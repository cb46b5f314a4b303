"""The picture of a motion by a programme: what is drawn is what was computed."""

from __future__ import annotations

import dataclasses
import xml.dom.minidom

import numpy as np
import pytest

import momentree as mt
from momentree.errors import MomentreeError

CART = mt.programme(
    "x y phi", ["x'*sin(phi) = y'*cos(phi)"], velocity={"x": "cos(phi)", "phi": 1}, gain=3, name="cart"
)  # fmt: skip
RUN = CART.simulate([0, -1, 0], [1.2, 0.3, 0.8], t_end=5)


def labels(figure):
    return [axes.get_ylabel() for axes in figure.get_axes()]


def test_path_coordinates_deviation_and_errors_are_drawn():
    plane, lengths, angles, deviation, errors = RUN.plot().get_axes()
    assert (plane.get_xlabel(), plane.get_ylabel(), plane.get_aspect()) == ("x", "y", 1)
    assert np.array_equal(plane.lines[0].get_ydata(), RUN["y"])
    assert [line.get_label() for line in lengths.lines] == ["x", "y"]
    assert np.array_equal(angles.lines[0].get_ydata(), RUN["phi"])
    assert np.array_equal(deviation.lines[0].get_ydata(), RUN.size)
    assert errors.lines[0].get_label() == "x'*sin(phi) = y'*cos(phi)"
    assert np.array_equal(errors.lines[0].get_ydata(), np.abs(RUN.constraint_error[:, 0]))
    assert deviation.get_yscale() == errors.get_yscale() == "log"


def test_the_bound_of_a_rate_is_drawn_and_stays_above_where_it_holds():
    """S = 3 E + 1/2 (v_q + v_q'); v_q has one column, that of phi, (-sin phi, cos phi, 0): eigenvalues +-1/2."""
    rate = 3 - 0.5
    axes = RUN.plot(rate=rate).get_axes()[3]
    size, bound = axes.lines
    assert bound.get_ydata() == pytest.approx(RUN.size[0] * np.exp(-rate * RUN.t))
    assert np.all(size.get_ydata() <= bound.get_ydata() * (1 + 1e-9))
    assert bound.get_label() == "bound of the decay rate 2.5 1/s"


def test_one_coordinate_has_no_path_and_no_constraints_no_errors():
    run = mt.programme("phi", velocity=("1 + 0.5*sin(phi)",), gain=2).simulate([0], [3], t_end=2)
    assert labels(run.plot()) == ["angles", "|u|"]


def test_angles_do_not_make_equal_scales():
    run = mt.programme("s phi", velocity=("1", "2"), gain=2).simulate([0, 0], [3, 1], t_end=2)
    assert run.plot().get_axes()[0].get_aspect() == "auto"


def test_a_motion_on_its_programme_has_no_logarithm_of_zero():
    run = dataclasses.replace(RUN, size=0 * RUN.size, constraint_error=0 * RUN.constraint_error)
    figure = run.plot(rate=1.0)
    assert [axes.get_yscale() for axes in figure.get_axes()[3:]] == ["linear", "linear"]
    assert len(figure.get_axes()[3].lines) == 1  # a bound of 0 is none


def test_a_motion_that_stopped_says_why():
    values = {"size": RUN.size.copy(), "q": RUN.q.copy()}
    values["size"][-1], values["q"][-1] = np.inf, np.nan
    figure = dataclasses.replace(RUN, stopped="at t = 5 s the accelerations are not finite", **values).plot()
    assert figure.get_suptitle() == "cart: at t = 5 s the accelerations are not finite"


def test_only_the_first_of_many_coordinates_are_drawn():
    names = [f"x{i}" for i in range(11)]
    run = mt.programme(names, velocity=[1] * 11, gain=1).simulate([0] * 11, t_end=0.1)
    axes = run.plot().get_axes()[1]
    assert axes.get_ylabel() == "8 of 11 coordinates"
    assert len(axes.lines) == 8


@pytest.mark.long
def test_the_same_run_gives_the_same_bytes(tmp_path):
    for name in ("a.svg", "b.svg"):
        RUN.plot(tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", [r"$\undefinedmacro$ </svg>&amp;]]>", "日本語 🙂"], ids=ascii)
@pytest.mark.repeats(1)
def test_any_name_can_be_drawn(name, tmp_path):
    dataclasses.replace(RUN, name=name, constraints=(name,)).plot(tmp_path / "run.svg")
    xml.dom.minidom.parse(str(tmp_path / "run.svg"))


def test_pictures_that_cannot_be_are_errors(tmp_path):
    with pytest.raises(MomentreeError, match="not a kind of picture"):
        RUN.plot(tmp_path / "run.gif")
    with pytest.raises(MomentreeError, match=r"the decay rate is nan. Give a number"):
        RUN.plot(rate=np.nan)
