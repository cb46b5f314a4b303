"""What a programme cannot be is an error that says which constraint or entry, and where."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from momentree.analyse.programmes.checks import Region
from momentree.errors import MomentreeError

BLADE = "x'*sin(phi) - y'*cos(phi) = 0"
CART = {"coordinates": "x y phi", "constraints": [BLADE], "velocity": {"x": "cos(phi)", "phi": 1}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"constraints": [BLADE, "phi' = 1", "2*x'*sin(phi) - 2*y'*cos(phi) + phi' = 1"], "velocity": {}},
            r"constraint 3, '.*', is a combination of constraint 1, 2 everywhere .* Leave it out",
        ),
        (
            {"constraints": [BLADE, "2*x'*sin(phi) - 2*y'*cos(phi) = 1"], "velocity": None, "wanted": (1, 0, 0)},
            r"constraint 2, .* is a combination of constraint 1, and contradicts it: .* differ by 1 at x = ",
        ),
        ({"constraints": ["0*x' + y'*0 = 0"], "velocity": {"x": 1, "y": 1}}, "constraint 1, .* restrains no velocity"),
        (
            {"velocity": None, "completion": [("3*sin(phi)", "-3*cos(phi)", 0)]},
            "completion is parallel to the constraints: the cross product is 0 everywhere",
        ),
        ({"velocity": (1, 1, 1)}, r"constraint 1, .*: velocity violates it: a v - b = [-\d.]+ at x = "),
        (
            {"velocity": None, "null_space": [("cos(phi)", "sin(phi)", 0), (0, 1, 0)], "along": [1, 1]},
            "a vector of null_space is not in the null space of a",
        ),
        ({"dissipation": [[1, 2, 0], [1, 5, 0], [0, 0, 1]]}, r"dissipation is not symmetric: entry \(x, y\) is 2"),
        (
            {"dissipation": (1, "cos(phi)", 1)},
            r"dissipation is not positive semidefinite: .* eigenvalue is -1 at .*phi",
        ),
        ({"mass": (1, 1, "phi")}, r"mass is not positive definite: .* at .*phi = -"),
        ({"mass": [[1, 0, 0], [0, 1, 0.5], [0, 0, 1]]}, r"mass is not symmetric: entry \(y, phi\)"),
        ({"velocity": {"x": "log(-1 - x^2)", "phi": 1}}, "v is not finite anywhere"),
    ],
)
def test_what_is_wrong_is_named_with_the_place(change, message):
    with pytest.raises(MomentreeError, match=message):
        mt.programme(**{**CART, **change})


def test_an_indefinite_dissipation_is_allowed_where_it_is_asked_for_or_lies_elsewhere():
    assert mt.programme(**CART, dissipation=(1, 1, "cos(phi)"), dissipative=False)
    assert mt.programme(**CART, dissipation=(1, 1, "cos(phi)"), region={"phi": (-1.5, 1.5)})


def test_rows_that_are_dependent_at_single_points_only_are_fine():
    p = mt.programme("x y", ["x*x' + y*y' = 0"], completion=[], region={"x": (-1, 1)})
    assert p.velocity([3.0, 4.0]) == pytest.approx([4, -3])


def test_a_region_needs_known_names_and_limits_in_order():
    for given, message in (
        ({"z": (0, 1)}, "no coordinate 'z'"),
        ({"x": (1, 0)}, "the lower first"),
        ({"x": 3}, "'x' is 3. Give its lowest and highest"),
        ({"x": (0, np.inf)}, "finite numbers"),
    ):
        with pytest.raises(MomentreeError, match=message):
            Region.of(("x",), given)
    with pytest.raises(MomentreeError, match="'x' is missing"):
        Region.of(("x",), {}, needed=("x",))


def test_samples_fill_the_region():
    region = Region.of(("x", "y"), {"x": (2, 3), "t": (5, 5)})
    q, t = region.samples(256)
    assert q.shape == (256, 2)
    assert (q[:, 0].min() >= 2) & (q[:, 0].max() <= 3)
    assert (t == 5).all()
    assert np.histogram(q[:, 0], 8, (2, 3))[0] == pytest.approx(np.full(8, 32), abs=1)


def test_units_do_not_matter():
    tiny = mt.programme("x y phi", [BLADE], completion=[("1e-12*cos(phi)", "1e-12*sin(phi)", "-1e-12")], gain=1)
    assert tiny.velocity([0.0, 0.0, 0.0]) == pytest.approx([1e-12, 0, 1e-12], rel=1e-12)
    mixed = mt.programme("x phi", velocity=(1, 1), mass=[["1e6", "1e-5"], ["1e-5", "1e-14"]], gain=1)
    assert mixed.simulate([0, 0], [2, 2], t_end=1.0).decay_rate() == pytest.approx(1, rel=1e-6)
    with pytest.raises(MomentreeError, match="mass is not positive definite"):
        mt.programme("x phi", velocity=(1, 1), mass=[["1e6", "2e-4"], ["2e-4", "1e-14"]], gain=1)
    with pytest.raises(MomentreeError, match="contradicts it"):
        mt.programme("x y", ["x' = 1e-12", "x' = 2e-12"])
