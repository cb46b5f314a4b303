"""Many assemblies at once are the assemblies one by one: the same branch, to round-off, or the same refusal."""

from __future__ import annotations

import math

import numpy as np
import pytest

import momentree as mt
from mechanisms import MOVING, four_bar, hexapod, integrate, random_loops
from momentree.assembly import batch_assembly
from momentree.assembly.configuration import Configuration
from momentree.assembly.state import State
from momentree.equations.evaluation import Evaluation
from momentree.equations.loops.constraint_jacobian import constraint_rows
from parametric import linkage


@pytest.fixture(scope="module")
def system():
    return linkage().build(free=["a", "b", "d", "m", "far"])


@pytest.fixture
def alone(monkeypatch):
    """The rows that are not closed together."""
    found = []
    original = batch_assembly._Assemblies._alone
    monkeypatch.setattr(batch_assembly._Assemblies, "_alone", lambda self, k: found.append(k) or original(self, k))
    return found


def near(found, expected, tolerance=1e-12):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max(initial=0.0)))


def rows_of(values, i):
    """What one row is given."""
    return {name: value if np.ndim(value) == 0 else value[i] for name, value in values.items()}


@pytest.mark.parametrize("guess", [None, {"D": -0.5, "B": 2.0}, {"B": np.linspace(-2, 2, 25)}])
@pytest.mark.repeats(1)
def test_four_bars_of_many_lengths_and_cranks(system, alone, guess):
    random = np.random.default_rng(3)
    parameters = {"a": random.uniform(0.5, 1.1, 25), "b": random.uniform(1.8, 2.2, 25), "m": 2.0}
    given, velocities = {"A": random.uniform(-3, 3, 25)}, {"A": random.uniform(-1, 1, 25)}
    found = system.assemble_many(given, velocities, guess, parameters=parameters)
    assert len(found) == 25
    assert not any(found.reasons)
    assert not alone
    for i in (7, 24):
        hint = None if guess is None else rows_of(guess, i)
        one = system.assemble(rows_of(given, i), rows_of(velocities, i), hint, parameters=rows_of(parameters, i))
        near(found.q[i], one.q)
        near(found.v[i], one.v)
        assert found[i].parameters == one.parameters
    assert found[7].closure_error < 1e-14


@pytest.mark.parametrize("seed", [1, 4, 5, 6])
def test_random_loops_of_every_joint(seed, alone):
    random = np.random.default_rng(seed)
    kinds, closing = ([str(kind) for kind in random.choice(MOVING, n)] for n in (4, 1))
    model, q = random_loops(random, kinds, closing)
    system = model.build()
    guess = np.array([integrate(system.mechanism, q, 0.15 * random.standard_normal(system.nv)) for _ in range(4)])
    found = system.assemble_many(guess=guess)
    states = [system.assemble(guess=State(system.mechanism, each, np.zeros(system.nv))) for each in guess]
    near(found.q, [state.q for state in states], 1e-10)
    assert not alone
    again = system.assemble_many(guess=states)  # what is closed does not move
    assert np.array_equal(again.q, [state.q for state in states])


@pytest.mark.parametrize("seed", range(4))
def test_constraint_rows_on_any_scalar_are_those_in_floats(seed):
    random = np.random.default_rng(seed)
    kinds, closing = ([str(kind) for kind in random.choice(MOVING, n)] for n in (4, 2))
    model, _ = random_loops(random, kinds, closing)
    mechanism = model.build().mechanism
    q = integrate(mechanism, random_loops(random, kinds, closing)[1], random.uniform(-1, 1, mechanism.nv))
    at, rows = Configuration(mechanism, q), constraint_rows(Evaluation(mechanism, q))
    near([row.error for row in rows], at.closure_errors(), 1e-14)
    near(np.array([row.J for row in rows]).reshape(-1, mechanism.nv), at.jacobian(), 1e-14)


def test_prescribed_motion_makes_velocities(alone):
    m = four_bar()
    slider = m.body("slider", mt.box(mass=1.0, size=(0.1, 0.1, 0.1)))
    m.joint("S", mt.Prismatic("x", motion="0.1*sin(3*t)"), m.ground, slider)
    m.joints[0] = mt.model.elements.Joint("A", m.joints[0].type, slider.at((0, 0, 0)), m.joints[0].second)
    system, given = m.build(), {"A": np.linspace(0.5, 1.5, 5)}
    found = system.assemble_many(given, {"A": 0.2}, t=0.7)
    for i in range(5):
        one = system.assemble(rows_of(given, i), {"A": 0.2}, t=0.7)
        near(found.q[i], one.q)
        near(found.v[i], one.v)
    assert not alone


def test_the_same_by_numpy_where_code_would_be_long(system, monkeypatch):
    given, parameters = {"A": np.linspace(0, 1, 5)}, {"a": np.linspace(0.9, 1.1, 5)}
    expected = system.assemble_many(given, parameters=parameters)
    monkeypatch.setattr("momentree.assembly.batch_closing.kernel_of_configuration", lambda *what: None)
    fresh = linkage().build(free=["a"])
    near(fresh.assemble_many(given, parameters=parameters).q, expected.q)


def test_joints_of_several_coordinates_and_balls():
    system = hexapod().build()
    heights = np.linspace(0.9, 1.1, 3)
    given = {"P0": heights, "P1": heights, "P2": 1.0}
    guess = {"P3": 1.0, "P4": heights, "P5": 1.0}
    found = system.assemble_many(given, guess=guess)
    for i in range(3):
        near(found.q[i], system.assemble(rows_of(given, i), guess=rows_of(guess, i)).q, 1e-9)
    ball = mt.Model("ball")
    ball.joint("S", mt.Spherical(), ball.ground, ball.body("b", mass=1.0, inertia=(1, 1, 1)))
    turned = ball.build().assemble_many({"S": [[0, 0, 2.0, 0], [0, 0, 0, 1]]}, {"S": [1.0, 2.0, 3.0]})
    near(turned.q, [[0, 0, 1, 0], [0, 0, 0, 1]])
    near(turned.v, [[1, 2, 3]] * 2)


def test_what_is_given_of_a_closing_joint_is_assembled_alone(system, alone):
    given, guess = {"C": np.array([0.9, 1.1])}, {"A": 1.0, "B": 0.7, "D": 0.5}
    found = system.assemble_many(given, guess=guess, follow=False)
    assert alone == [0, 1]
    for i in range(2):
        near(found.q[i], system.assemble(rows_of(given, i), guess=guess).q)


def test_rows_that_cannot_close_are_refused_by_index_or_left_out(system):
    given, parameters = {"A": np.array([0.1, 2.9, 0.2])}, {"d": 3.5}
    with pytest.raises(
        mt.AssemblyError, match=r"row 1: joint 'C': closes a loop, but cannot: closure error 0\..* The nearest"
    ):
        system.assemble_many(given, parameters=parameters)
    found = system.assemble_many(given, {"A": 1.0}, parameters=parameters, strict=False)
    assert [bool(reason) for reason in found.reasons] == [False, True, False]
    assert "joint 'C': closes a loop, but cannot: closure error 0." in found.reasons[1]
    assert np.isnan(found.q[1]).all()
    assert np.isnan(found.v[1]).all()
    near(found.q[2], system.assemble({"A": 0.2}, parameters=parameters).q)
    with pytest.raises(mt.MomentreeError, match=r"1 states do not close, the first is 1: joint 'C'"):
        system.simulate_many(found, t_end=1.0, every=0.5)


def test_near_a_toggle_a_row_is_assembled_alone(alone):
    # a parallelogram that lies flat: closing cannot tell its branch
    system = four_bar((1.0, 2.0, 1.0, 2.0)).build()
    with pytest.raises(mt.AssemblyError, match=r"row 1: .*toggle"):
        system.assemble_many({"A": [0.5, 0.0]}, {"A": 1.0}, {"D": 0.3}, follow=False)
    assert alone == [1]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"given": {"A": [0.1, math.nan]}}, "given: 'A' is nan in row 1; finite numbers are expected"),
        ({"given": {"A": "x"}}, "given: unknown name 'x' in 'A'"),
        ({"given": {"A": [[1.0, 2.0]]}}, "given: 'A' is .* expected a number, or many rows of that"),
        ({"given": {"E": 1.0}}, "given: there is no joint 'E'"),
        ({"velocities": {"A": [0.0, math.inf]}}, "velocities: 'A' is inf in row 1"),
        (
            {"given": {"A": [1.0, 2.0]}, "velocities": {"A": [1.0] * 3}},
            r"rows do not fit together: given A \(2,\), velocities A \(3,\). Give one or as",
        ),
        ({"given": {"A": [1.0, 2.0]}, "parameters": {"a": [1.0] * 3}}, "rows do not fit together"),
        ({"parameters": {"a": [1.0, -1.0]}}, "row 1 of the parameters, a = -1: .*length is -1 m; it must be positive"),
        ({"guess": [[0.0, 1.0]]}, "guess has the shape 1x2; its last axis must have length 3"),
    ],
)
def test_what_is_wrong_is_named(system, given, told):
    with pytest.raises(mt.MomentreeError, match=told):
        system.assemble_many(**given)


def test_long_batches_are_closed_in_parts(system, monkeypatch):
    random = np.random.default_rng(8)
    given, guess = {"A": random.uniform(0, 1.5, 7)}, {"B": random.uniform(0, 1, 7), "D": 0.5}
    parameters, velocities = {"a": random.uniform(0.9, 1.1, 7)}, {"A": random.uniform(-1, 1, 7)}
    expected = system.assemble_many(given, velocities, guess, parameters=parameters)
    monkeypatch.setattr(batch_assembly, "in_batches", lambda *count: [slice(0, 3), slice(3, 6), slice(6, 7)])
    found = system.assemble_many(given, velocities, guess, parameters=parameters)
    near(found.q, expected.q)
    near(found.v, expected.v)
    assert found[5].parameters == expected[5].parameters
    given["A"][5] = 2.9
    with pytest.raises(mt.AssemblyError, match="row 5: joint 'C'"):
        system.assemble_many(given, velocities, guess, parameters={"d": 3.5})
    again = system.assemble_many(guess=expected.q, parameters=parameters)
    near(again.q, expected.q)


def test_none_are_none(system):
    nothing = system.assemble_many({"A": np.zeros(0)})
    assert nothing.q.shape == (0, 3)
    assert nothing.v.shape == (0, 3)
    assert len(system.assemble_many({"A": 0.5})) == 1


@pytest.mark.parametrize("chosen", [slice(0, 2), slice(None, None, -2), slice(9, 9), [2, 0], np.array([1]), (-1, 0)])
def test_some_states_are_states(chosen):
    m = four_bar()
    m.parameter("g", 9.81)
    system = m.build(free=["g"])
    states = system.assemble_many({"A": np.linspace(0.5, 1.0, 4)}, parameters={"g": [1.0, 2.0, 3.0, 4.0]})
    some, numbers = states[chosen], np.arange(4)[chosen if isinstance(chosen, slice) else list(chosen)]
    assert type(some) is type(states)
    assert (some.q == states.q[numbers]).all()
    assert (some.parameters["g"] == states.parameters["g"][numbers]).all()
    assert len(some.reasons) == len(some) == len(numbers)
    assert [one.parameters for one in some] == [states[int(i)].parameters for i in numbers]


def test_states_are_gone_through_and_others_are_refused():
    states = four_bar().build().assemble_many({"A": np.linspace(0.5, 1.0, 3)})
    assert [state["A"] for state in states] == pytest.approx([0.5, 0.75, 1.0])
    assert states[np.array([True, False, True])].q.shape == (2, states.q.shape[1])
    assert states[-1]["A"] == pytest.approx(1.0)
    for wrong in (3, -4, "A", 1.5, [0, 7], None, slice("a", "b"), True, [[0, 1]]):
        with pytest.raises(mt.MomentreeError, match=r"there is no state .*; there are 3"):
            states[wrong]
