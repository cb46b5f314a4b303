"""Values of free parameters are checked as the numbers of a model are, by the same texts, one set or a large batch."""

from __future__ import annotations

import math

import numpy as np
import pytest

import momentree as mt
from momentree.structure import free_parameters
from parametric import linkage, tree


@pytest.fixture(scope="module")
def system():
    return linkage().build(free=["a", "b", "m", "k", "w", "far"])


@pytest.mark.parametrize(
    "value", [{"m": -1.0}, {"a": 0.0}, {"far": -0.5}, {"k": -2}, {"m": 1e-9, "a": -3}, {"w": -1.0, "far": 0}]
)
def test_what_a_model_cannot_have_is_refused_with_the_text_of_its_check(system, value):
    with pytest.raises(mt.ModelError) as expected:
        linkage(**value).build()
    told = ", ".join(f"{name} = {x:g}" for name, x in value.items())
    for call in (
        lambda: system.assemble({"A": 0.8}, parameters=value),
        lambda: system.simulate(parameters=value),
        lambda: system.start(parameters=value),
        lambda: system.branches({"A": 0.8}, parameters=value),
        lambda: system.mobility_at(parameters=value),
        lambda: system.mass_matrix(np.zeros(3), parameters=value),
        lambda: system.energy(np.zeros(3), np.zeros(3), parameters=value),
        lambda: system.actuation(np.zeros(3), np.zeros(3), np.zeros(3), ["A"], parameters=value),
        lambda: system.assemble_many({"A": 0.8}, parameters=value),
    ):
        with pytest.raises(mt.ModelError) as found:
            call()
        assert [p.message for p in found.value.problems] == [p.message for p in expected.value.problems]
        for problem, wanted in zip(found.value.problems, expected.value.problems, strict=True):
            assert problem.where.endswith(wanted.where)
            assert all(f"{name} = {x:g}" in problem.where for name, x in value.items()), told


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"m": math.nan}, "parameter 'm': its value is nan; a finite number is expected"),
        ({"m": -math.inf}, "parameter 'm': its value is -inf; a finite number is expected"),
        ({"m": "3"}, "parameter 'm': its value is '3'; a number, or an array of numbers, is expected"),
        ({"m": None}, "parameter 'm': its value is None; a number"),
        ({"m": True}, "parameter 'm': its value is True; a number"),
        ({"m": 1j}, "parameter 'm': its value is 1j; a number"),
        ({"m": [1.0, 2.0]}, "parameter 'm': its value has the shape 2; one number is expected here"),
        ({"mm": 1.0}, "'mm' is not a free parameter of this system. Did you mean 'm'"),
        ({"d": 1.0}, r"'d' is not a free parameter of this system.*Build it with m.build\(free=\['d'\]\)"),
        ([("m", 1.0)], "parameters is .*; names and numbers are expected"),
        (3.0, "parameters is 3.0; names and numbers are expected"),
    ],
)
def test_what_is_no_value_is_refused_by_name(system, given, told):
    with pytest.raises(mt.MomentreeError, match=told):
        system.assemble({"A": 0.8}, parameters=given)
    with pytest.raises(mt.MomentreeError, match=told):
        system.with_parameters(given)


def test_a_system_without_free_parameters_says_how_to_have_some():
    with pytest.raises(mt.MomentreeError, match=r"'m' is not a free parameter.*m.build\(free=\['m'\]\)"):
        linkage().build().assemble({"A": 0.8}, parameters={"m": 2.0})


@pytest.mark.repeats(1)
@pytest.mark.parametrize("name", ["m", "a", "far", "k"])
def test_one_wrong_row_of_a_large_batch_is_found_without_building_all(system, name, monkeypatch):
    built = []
    freeze = free_parameters.freeze
    monkeypatch.setattr(free_parameters, "freeze", lambda *given: built.append(1) or freeze(*given))
    values = np.random.default_rng(0).uniform(1.0, 2.0, (3, 5_000))
    rows = {"m": values[0], "a": values[1], "k": values[2], "far": 1 + values[0]}
    unseen = fresh(system)
    assert unseen.rows(rows).shape == (5_000, 6)
    fewest = len(built)
    assert fewest < 20
    rows[name][2_345] = -1.0
    with pytest.raises(mt.ModelError, match=rf"row 2345 of the parameters, .*{name} = -1.*: .* is -1|leave no room"):
        unseen.rows(rows)
    assert len(built) < 2 * fewest + 5


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ("inertia", {"x": 5.0}),  # breaks the triangle inequality
        ("law", {"x": -0.5}),  # the root of a negative number
        ("frame", {"x": 0.0}),  # divided by zero
        ("turned", {"x": 2.0}),  # no rotation
        ("share", {"x": 2.5}),
        ("stops", {"x": -2.0}),
        ("undetermined", {"x": 0.0}),  # a joint that moves no inertia
    ],
)
def test_every_kind_of_check_is_made_in_large_batches(change, wrong):
    m = mt.Model("checks")
    m.parameter("x", 1.0)
    bar = m.body("bar", mass=1.0, inertia=("x" if change == "inertia" else 1, 1, 1))
    far = m.body("far", mass=1.0, inertia=(1, 1, 1))
    limits = {"limits": (-1, 1), "stops": (100, "1 + x")} if change == "stops" else {}
    end = ("1/x" if change == "frame" else 1, 0, 0)
    turned = ((1, 0, 0), (0, "x", 0), (0, 0, 1)) if change == "turned" else None
    m.joint("A", mt.Revolute("z", **limits), m.ground, bar)
    m.joint("B", mt.Revolute("z"), bar.at(end, turned), far)
    m.joint("C", mt.Revolute("z"), m.ground.at((1, 1, 0)), far.at((0, 1, 0)))
    m.torque("A", "t*sqrt(x)" if change == "law" else 0)
    if change == "undetermined":
        m.joint("E", mt.Revolute("x"), far, m.body("spinner", mass=1.0, inertia=("x", "x", "x")))
    if change == "share":
        m.split("bar", "B", "x/2")
    system = m.build(free=["x"])
    rows = np.ones(1000)
    rows[:500] = np.linspace(1 - 1e-9, 1, 500)
    assert len(system._free.rows({"x": rows})) == 1000
    rows[[17, 18]] = [wrong["x"], 2 * wrong["x"]]
    assert 17 in fresh(system)._doubtful(rows[:, None])  # it is seen as it is, not only as the least or the largest
    with pytest.raises(mt.ModelError, match="row 17 of the parameters"):
        system._free.rows({"x": rows})


def fresh(system):
    return free_parameters.FreeParameters(system._model, system.mechanism.free)


def test_values_are_remembered_and_systems_with_them(system, monkeypatch):
    one = system.with_parameters(m=2.5)
    assert system.with_parameters({"m": 2.5}) is one
    assert one.with_parameters() is one
    monkeypatch.setattr(free_parameters, "freeze", None)  # nothing is built again
    system.mass_matrix(np.zeros(3), parameters={"m": 2.5})
    assert one.with_parameters(k=3.0).parameters == one.parameters  # as it is in the model


def test_views_do_not_pile_up():
    system = linkage().build(free=["m"])
    for i in range(20):
        system.with_parameters(m=1.0 + i)
    assert len(system._views) <= 16


def test_a_state_carries_the_values_that_it_was_given(system):
    """Model < view < state < argument: the later wins by name."""
    start = system.assemble({"A": 0.8}, guess={"B": 0.7, "D": 0.5}, parameters={"m": 2.0})
    assert start.parameters["m"] == 2.0
    run = system.simulate(start, 0.1)
    assert run.parameters["m"] == run.state().parameters["m"] == 2.0
    assert system.simulate(run.state(), 0.2).parameters["m"] == 2.0
    assert system.simulate(run.state(), 0.2, parameters={"m": 1.0}).parameters["m"] == 1.0
    assert system.with_parameters(m=2.0).simulate(run.state(), 0.2).parameters["m"] == 2.0


def test_a_state_of_one_view_is_refused_by_another(system):
    start = system.assemble({"A": 0.8}, guess={"B": 0.7, "D": 0.5}, parameters={"m": 2.0})
    with pytest.raises(mt.MomentreeError, match=r"the state was made with m = 2, not 3\. Give parameters=\{'m': 2\}"):
        system.with_parameters(m=3.0).simulate(start, 0.1)
    assert system.with_parameters(m=3.0).simulate(start, 0.1, parameters={"m": 3.0}).parameters["m"] == 3.0


def test_an_event_and_a_latch_know_the_parameters():
    m = mt.Model("latched")
    m.parameter("x", 0.5)
    m.parameter("speed", 1.0)
    m.joint("A", mt.Revolute("z"), m.ground, m.body("arm", mass=1.0, inertia=(1, 1, 1)))
    m.latch("A", at="x")
    system = m.build(free=["x"])
    run = system.simulate(
        system.assemble({}, velocities={"A": 1.0}, parameters={"x": 0.25}),
        1.0,
        events={"half": "A - x/2"},
        parameters={"x": 0.25},
    )
    assert dict(run.end.events) == pytest.approx({"half": 0.125, "latch of A": 0.25})


def test_laws_of_a_tree_with_parameters_in_batches():
    system = tree().build(free=["l", "m", "w"])
    random = np.random.default_rng(1)
    rows = {name: random.uniform(0.5, 1.5, 5) for name in "lmw"}
    q = np.stack([system.assemble().q] * 5)
    v = random.standard_normal((5, system.nv))
    found = system.energy(q, v, 0.4, parameters=rows)
    for i in range(5):
        one = system.energy(q[i], v[i], 0.4, parameters={name: x[i] for name, x in rows.items()})
        assert found.kinetic[i] == pytest.approx(one.kinetic, rel=1e-13)
        assert found.potential[i] == pytest.approx(one.potential, rel=1e-13)
