"""Tableaux: their order conditions again, from all rooted trees, and wrong coefficients that are found at once."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from momentree.errors import MomentreeError
from momentree.integrate import order_conditions
from momentree.integrate.methods import METHODS
from momentree.integrate.tableau import ImplicitTableau, Interpolant, Tableau

RUNGE_KUTTA = {name: method.tableau for name, method in METHODS.items() if method.tableau is not None}
EXPLICIT = {name: tableau for name, tableau in RUNGE_KUTTA.items() if not isinstance(tableau, ImplicitTableau)}
ADAPTIVE = {name: tableau for name, tableau in EXPLICIT.items() if tableau.adaptive}


# --- order conditions, written again ---


def dense_rows(tableau):
    """a as a full matrix, b and c: as the books print them."""
    s = tableau.stages
    a = np.zeros((s, s))
    for i, row in enumerate(tableau.a):
        for j, x in row.items():
            a[i, j] = x
    b = np.array([tableau.b.get(i, 0) for i in range(s)])
    return a, b, np.array(tableau.c, dtype=float)


def trees(order):
    """All rooted trees with so many nodes, each the sorted tuple of its branches."""
    if order == 1:
        return {()}
    found = set()
    for part in partitions(order - 1):
        for branches in itertools.product(*(sorted(trees(k)) for k in part)):
            found.add(tuple(sorted(branches)))
    return found


def partitions(n, most=None):
    most = n if most is None else most
    if n == 0:
        return [()]
    return [(k, *rest) for k in range(min(n, most), 0, -1) for rest in partitions(n - k, k)]


def size(tree):
    return 1 + sum(map(size, tree))


def density(tree):
    return size(tree) * int(np.prod([density(branch) for branch in tree])) if tree else 1


def weight(tree, a):
    """The vector of elementary weights: of a leaf 1, of a tree the product of a times those of its branches."""
    found = np.ones(len(a))
    for branch in tree:
        found = found * (a @ weight(branch, a))
    return found


@pytest.mark.parametrize("name", RUNGE_KUTTA)
def test_the_order_conditions_of_all_rooted_trees_hold(name):
    # Butcher 1963: b' Phi(tree) = 1 / gamma(tree) for every tree of up to `order` nodes
    tableau = RUNGE_KUTTA[name]
    a, b, c = dense_rows(tableau)
    np.testing.assert_allclose(a.sum(axis=1), c, rtol=0, atol=1e-14)
    for order in range(1, tableau.order + 1):
        for tree in trees(order):
            assert b @ weight(tree, a) == pytest.approx(1 / density(tree), abs=2e-14), tree


@pytest.mark.parametrize("name", ADAPTIVE)
def test_the_error_vanishes_for_what_its_order_integrates(name):
    tableau = ADAPTIVE[name]
    a, b, _ = dense_rows(tableau)
    # f at the end is one more stage, whose row is b
    a = np.block([[a, np.zeros((len(b), 1))], [b, 0]])
    for error, order in zip(tableau.errors, tableau.error_orders, strict=True):
        e = np.array([error.get(i, 0) for i in range(len(a))])
        conditions = [abs(e @ weight(tree, a)) for k in range(1, order + 1) for tree in trees(k)]
        assert max(conditions) < 1e-14
        assert max(abs(e @ weight(tree, a)) for tree in trees(order + 1)) > 1e-6


def test_grafting_makes_all_rooted_trees():
    for order, count in enumerate(
        (1, 1, 2, 4, 9, 20, 48, 115), start=1
    ):  # Hairer, Norsett and Wanner 1993, table II.2.1
        assert len({_sorted(tree) for tree in order_conditions.trees(order)}) == count == len(trees(order))


def _sorted(tree):
    return tuple(sorted(_sorted(branch) for branch in tree))


@pytest.mark.parametrize("name", RUNGE_KUTTA)
def test_elementary_weights_are_those_of_the_trees_that_name_them(name):
    a, _, _ = dense_rows(RUNGE_KUTTA[name])
    for order, (phi, gamma) in enumerate(order_conditions.elementary_weights(a, 6), start=1):
        for k, tree in enumerate(order_conditions.trees(order)):
            np.testing.assert_allclose(phi[k], weight(tree, a), rtol=1e-12, atol=1e-12)
            assert gamma[k] == pytest.approx(density(tree))


def test_a_condition_is_written_as_in_the_books():
    assert order_conditions.condition(()) == "sum b_i"
    assert order_conditions.condition(((), ((),), ())) == "sum b_i c_i c_i a_ij c_j"
    assert order_conditions.condition((((), ()),), "e") == "sum e_i a_ij c_j c_j"


# --- wrong coefficients ---


def changed(tableau):
    """The tableau with each of its coefficients changed in the ninth digit, one at a time: arguments of `replace`."""
    by = 1 + 1e-9

    def rows(table):
        for i, row in enumerate(table):
            for j in row:
                yield tuple({**other, j: other[j] * by} if k == i else other for k, other in enumerate(table))

    yield from ({"a": a} for a in rows(tableau.a))
    yield from ({"b": b} for (b,) in rows((tableau.b,)))
    yield from ({"errors": errors} for errors in rows(tableau.errors))
    for i, (node, _) in enumerate(tableau.extra):
        yield {"extra": tuple((c * by if k == i else c, row) for k, (c, row) in enumerate(tableau.extra))}
        assert node
    for table in rows(tuple(row for _, row in tableau.extra)):
        yield {"extra": tuple((c, row) for (c, _), row in zip(tableau.extra, table, strict=True))}
    for table in rows(tableau.dense.rows if tableau.dense else ()):
        yield {"dense": dataclasses.replace(tableau.dense, rows=table)}
    for i, c in enumerate(tableau.c):
        if c:
            yield {"c": tuple(x * by if k == i else x for k, x in enumerate(tableau.c))}


@pytest.mark.parametrize("name", RUNGE_KUTTA)
def test_every_wrong_coefficient_is_found(name):
    tableau, count = RUNGE_KUTTA[name], 0
    for change in changed(tableau):
        with pytest.raises(MomentreeError, match=f"tableau '{name}': .* (does not hold|not -1)"):
            dataclasses.replace(tableau, **change)
        count += 1
    assert count >= 2 * tableau.stages


@pytest.mark.parametrize("name", RUNGE_KUTTA)
def test_an_order_that_is_too_high_is_refused(name):
    with pytest.raises(MomentreeError, match=r"order condition of order \d+: sum b_i .* = 1/\d+ does not hold"):
        dataclasses.replace(RUNGE_KUTTA[name], order=RUNGE_KUTTA[name].order + 1)
    dense = RUNGE_KUTTA[name].dense
    with pytest.raises(MomentreeError, match=r"sum b\(x\)\[x\^\d\]_i .* does not hold"):
        dataclasses.replace(RUNGE_KUTTA[name], dense=dataclasses.replace(dense, order=dense.order + 1))


HEUN = {"name": "heun", "order": 2, "c": (0, 1), "a": ({}, {0: 1.0}), "b": {0: 0.5, 1: 0.5}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"b": {0: 0.5, 1: 0.4}}, r"order condition of order 1: sum b_i = 1/1 does not hold: it is 0.9"),
        ({"b": {0: 0.4, 1: 0.6}}, r"order condition of order 2: sum b_i c_i = 1/2 does not hold: it is 0.6"),
        ({"c": (0, 0.9)}, "stage 1: c_i = sum_j a_ij does not hold"),
        ({"a": ({1: 1.0}, {0: 1.0})}, "stage 0 takes stage 1, so it is not explicit"),
        ({"a": ({},)}, "2 nodes c, and 1 rows a"),
        ({"b": {0: 0.5, 2: 0.5}}, "b_2 is not zero, but there is no stage 2"),
        ({"errors": ({0: -0.5, 1: 0.6},), "error_orders": (1,)}, "sum e_i = 0 does not hold: it is 0.1"),
        ({"errors": ({0: -0.5, 1: 0.5},)}, "as many error_orders"),
        ({"dense": Interpolant(1, ({0: 1.0},))}, "dense output at x = 1"),
        ({"dense": Interpolant(2, ({0: 1.0}, {0: -0.5, 1: 0.4}))}, "dense output at x = 1"),
        ({"extra": ((0.5, {0: 0.5}),)}, "which a fixed step does not have"),
    ],
)
def test_the_condition_that_does_not_hold_is_named(change, message):
    Tableau(**HEUN)
    with pytest.raises(MomentreeError, match=message):
        Tableau(**{**HEUN, **change})


def test_a_last_stage_that_is_the_first_of_the_next_step_is_left_out():
    a = ({}, {0: 1.0}, {0: 0.5, 1: 0.5})
    errors = {"errors": ({0: -0.5, 1: 0.5},), "error_orders": (1,)}
    with pytest.raises(MomentreeError, match=r"its last stage is f at the end of the step \(FSAL\)"):
        Tableau(**{**HEUN, "c": (0, 1, 1), "a": a, **errors})
