"""Functions recorded for other programs: entries, columns and rows of their derivatives agree, loops are exact."""

from pathlib import Path

import numpy as np
import pytest

import momentree as mt
from mechanisms import bennett, four_bar, random_configuration, random_tree
from momentree.compile.trace import functions
from momentree.compile.trace.functions import FUNCTIONS, rolled_function, traced_function

EXAMPLES = Path(__file__).parents[4] / "examples"
SOLVED = ("forward_dynamics", "closed_velocities")
EIGHTH_ORDER = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}  # of central differences


def jacobian(mechanism, what, given, by=("q", "v")):
    """The derivatives of a function, from machine code."""
    function = traced_function(mechanism, what)
    columns = [np.asarray(given.get(name, np.zeros(len(inputs)))) for name, inputs in function.arguments]
    derivative = function.derivative(by)
    if not derivative.seeds:
        return derivative.function.kernel()(columns).reshape(derivative.shape)
    found = derivative.function.kernel()([*columns, np.eye(derivative.seeds)])
    return found if derivative.by_rows else found.T


def state(system, random):
    return {"q": random_configuration(random, system), "v": random.standard_normal(system.nv)}


@pytest.mark.parametrize("make", [four_bar, lambda: random_tree(np.random.default_rng(1), ["Revolute", "Spherical"])])
def test_columns_or_rows_are_those_of_all_entries(make, monkeypatch):
    system = make().build()
    given = state(system, np.random.default_rng(0))
    expected = jacobian(system.mechanism, "forward_dynamics", given)
    monkeypatch.setattr(functions, "LONG", 0)
    np.testing.assert_allclose(jacobian(system.mechanism, "forward_dynamics", given), expected, rtol=1e-11, atol=1e-11)
    for what, by in (("forward_dynamics", ("v",)), ("bias", ("v",))):  # as many rows as columns
        found = jacobian(system.mechanism, what, given, by)
        monkeypatch.setattr(functions, "LONG", 10**6)
        np.testing.assert_allclose(jacobian(system.mechanism, what, given, by), found, rtol=1e-11, atol=1e-11)
        monkeypatch.setattr(functions, "LONG", 0)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("long", [0, 10**6], ids=["rows", "all entries"])
def test_overconstrained_loops_have_exact_derivatives_along_their_motion(long, monkeypatch):
    """Bennett's linkage, with three redundant constraints: states assembled around one, differences of eighth order."""
    system, h = bennett().build(), 2e-3
    at = system.assemble({"R1": 1.0}, velocities={"R1": 2.0})
    tau = np.linspace(-1, 1, 3)
    near = {k: system.assemble({"R1": 1 + k * h}, velocities={"R1": 2.0}, guess=at) for k in range(-4, 5)}

    def slope(f):
        return sum(c * (f(near[k]) - f(near[-k])) for k, c in EIGHTH_ORDER.items()) / h

    along = np.concatenate([slope(lambda each: each.q), slope(lambda each: each.v)])
    expected = slope(lambda each: system.forward_dynamics(each.q, each.v, tau))
    monkeypatch.setattr(functions, "LONG", long)
    J = jacobian(system.mechanism, "forward_dynamics", {"q": at.q, "v": at.v, "tau": tau})
    np.testing.assert_allclose(J @ along, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


KINDS = ["Free", "Revolute", "Spherical", "Fixed", "Prismatic"]


@pytest.mark.repeats(4)
@pytest.mark.parametrize(
    ("what", "loop"),
    [(what, loop) for loop in (True, False) for what in FUNCTIONS if loop or what not in functions._OF_CONSTRAINTS],
)
def test_loops_over_bodies_give_what_straight_line_code_gives(what, loop):
    """Values, and derivatives in tangent space."""
    random = np.random.default_rng(3)
    system = four_bar().build() if loop else random_tree(random, KINDS).build()
    given = {"v": random.standard_normal(system.nv), "q": random_configuration(random, system)}
    if loop:
        at = system.assemble({"A": 0.7}, velocities={"A": 1.0})
        given = {"q": at.q, "v": at.v}
    frame = system.mechanism.bodies[-1].name if what == "position" else None
    straight, rolled = (make(system.mechanism, what, frame) for make in (traced_function, rolled_function))
    rows = [given.get(name, np.ones(len(inputs))) for name, inputs in straight.arguments]
    assert (straight.arguments, straight.shape) == (rolled.arguments, rolled.shape)
    for one, other in ((f.kernel()(rows) for f in (rolled, straight)), (tangents(f, rows) for f in (rolled, straight))):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-13 * max(1.0, np.abs(other).max()))


def tangents(function, rows):
    derivative = function.derivative(("q", "v"), tangent=True)
    gives = ("row" if derivative.by_rows else "column") if derivative.seeds else ""
    return derivative.function.kernel(gives=gives)(rows).reshape(derivative.shape)


@pytest.mark.repeats(4)
@pytest.mark.parametrize("what", FUNCTIONS)
def test_every_function_has_the_shape_that_it_says(what):
    mechanism = four_bar().build().mechanism
    function = traced_function(mechanism, what, "rocker" if what == "position" else None)
    assert [name for name, _ in function.arguments] == list(FUNCTIONS[what])
    assert np.prod(function.shape, dtype=int) == len(function.outputs)


LOOPS = (
    "08_four_bar",
    "12_andrews_squeezer",
    "16_rolling_disc",
    "19_bicycle",
    "24_coupler_on_a_curve",
    "14_gear_train",
)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("example", LOOPS)
def test_derivatives_along_closed_states_are_those_that_differences_approach(example):
    """States near one of an example, closed by steps of Newton's method: differences of fourth order along a line."""
    system = mt.load(EXAMPLES / example / "model.toml").build()
    start, random, h = system.start(), np.random.default_rng(3), 1e-4
    kernels = {what: traced_function(system.mechanism, what).kernel() for what in ("closed_coordinates", *SOLVED)}
    t = np.array([start.t])
    parameters = [np.array([*system.parameters.values()])] if system.parameters else []
    direction = random.standard_normal(system.nq), random.standard_normal(system.nv)

    def states(s):
        q = start.q + s * direction[0]
        for _ in range(4):
            q = kernels["closed_coordinates"]([q, t, *parameters])
        return q, kernels["closed_velocities"]([q, start.v + s * direction[1], t, *parameters])

    def slope(values):
        a, b, c, d = (np.concatenate(values(k * h)) for k in (-2, -1, 1, 2))
        return (a - 8 * b + 8 * c - d) / (12 * h)

    tau = random.standard_normal(system.nv)
    q, v = states(0.0)
    expected = slope(lambda s: [kernels["forward_dynamics"]([*states(s), tau, t, *parameters])])
    J = jacobian(system.mechanism, "forward_dynamics", {"q": q, "v": v, "tau": tau, "t": t})
    np.testing.assert_allclose(J @ slope(states), expected, rtol=0, atol=1e-7 * np.abs(expected).max())
