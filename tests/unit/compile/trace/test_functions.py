"""Functions recorded for other programs: entries, columns and rows of their derivatives agree, loops are exact."""

import numpy as np
import pytest

from mechanisms import bennett, four_bar, random_configuration, random_tree
from momentree.compile.trace import functions
from momentree.compile.trace.functions import FUNCTIONS, traced_function

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


@pytest.mark.parametrize("what", FUNCTIONS)
def test_every_function_has_the_shape_that_it_says(what):
    mechanism = four_bar().build().mechanism
    function = traced_function(mechanism, what, "rocker" if what == "position" else None)
    assert [name for name, _ in function.arguments] == list(FUNCTIONS[what])
    assert np.prod(function.shape, dtype=int) == len(function.outputs)
