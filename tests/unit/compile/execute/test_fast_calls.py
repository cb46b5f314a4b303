"""The fast function: it answers what it should by itself, hands on the rest, and counts references exactly."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import momentree as mt
from mechanisms import EVERY_JOINT, random_configuration, random_tree
from momentree.compile.execute import fast_calls
from momentree.compile.execute.callables import Quantity

pytestmark = pytest.mark.skipif(not fast_calls.available(), reason="this interpreter has no fast function")


@pytest.fixture(scope="module")
def system():
    return random_tree(np.random.default_rng(3), [*EVERY_JOINT, "Free"]).build()


@pytest.fixture(scope="module")
def state(system):
    random = np.random.default_rng(4)
    return random_configuration(random, system), *random.standard_normal((2, system.nv))


@pytest.fixture
def function(system, state, monkeypatch):
    """A fast function, and the calls that it handed on."""
    handed: list[tuple] = []
    general = Quantity(system.mechanism, "forward_dynamics", "What it does.")
    fast = general.fastest()
    fast(*state)  # makes the machine code
    plain = Quantity.__call__
    monkeypatch.setattr(Quantity, "__call__", lambda self, *a, **k: handed.append(a) or plain(self, *a, **k))
    return fast, handed


def test_calls_that_are_as_they_should_be_are_answered_at_once(function, state):
    f, handed = function
    q, v, tau = state
    expected = f.__self__(q, v, tau, 0.0)
    handed.clear()
    for given in [(q, v, tau), (q, v, tau, 0.0), (q, v, tau, np.float64(0)), (q, v, tau, -0.0)]:
        found = f(*given)
        assert type(found) is np.ndarray
        assert found.flags.owndata
        assert found.flags.writeable
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(f(q, v), f(q, v, None, 0.0))
    tau.flags.writeable = False
    f(q, v, tau)
    tau.flags.writeable = True
    assert not handed


def test_all_other_calls_are_handed_on(function, state):
    f, handed = function
    q, v, tau = state
    n = len(v)
    wrong = [np.full(n, np.nan), np.full(n, -np.inf), np.zeros(n + 1), np.zeros(0), np.zeros((1, n)), np.array(1.0)]
    wrong += [v.astype(np.float32), v.astype(">f8"), v.astype(complex), v.astype(object), np.repeat(v, 2)[::2], [*v]]
    wrong += [
        v[::-1],
        v.view(type("Own", (np.ndarray,), {})),
        np.frombuffer(b"_" * (8 * n + 1), np.uint8)[1:].view(float),
    ]
    calls = [(), (q,), (q, v, tau, 0.0, 1), (q, v, tau, 0), (q, v, tau, None), (q, None), (q, v, tau, np.array(0.0))]
    calls += [(q, each, tau) for each in wrong] + [(q, v, each) for each in wrong] + [(q, v, tau, float("nan"))]
    calls += [(1.1 * q, v, tau), (v, q, tau), (q, v, tau, float("inf")), (q, v, tau, True)]
    for given in calls:
        handed.clear()
        with contextlib.suppress(mt.MomentreeError, TypeError):
            f(*given)
        assert len(handed) == 1, given
        assert all(a is b for a, b in zip(handed[0], given, strict=True))
    handed.clear()
    f(q, v, tau=tau)
    f(q, v, **{})
    assert len(handed) == 1


def test_a_number_that_is_not_finite_is_found_wherever_it_stands(function, state):
    f, handed = function
    q, v, tau = (array.copy() for array in state)
    for array in (q, v, tau):
        for i in range(len(array)):
            for bad in (np.nan, np.inf, -np.inf):
                kept, array[i] = array[i], bad
                with pytest.raises(mt.MomentreeError, match="holds NaN"):
                    f(q, v, tau)
                array[i] = kept
    handed.clear()
    for fine in (1e100, -1e100, 5e-324):
        v[3] = fine  # a slider on the ground: accelerations do not depend on its velocity
        f(q, v, tau)
    assert not handed
    v[4] = 1.7e308  # the square of an angular velocity is not finite
    with pytest.raises(mt.MomentreeError, match="is not a finite number: numbers may be too large"):
        f(q, v, tau)


@pytest.mark.parametrize("rows", [None, 3, 500])
def test_a_law_that_leaves_its_domain_is_told_not_returned(rows):
    m = mt.Model("law")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("box", mt.box(mass=1.0, size=(0.1, 0.2, 0.3))))
    m.torque("A", "log(A)")
    f = m.build().forward_dynamics
    q = np.ones(1) if rows is None else np.ones((rows, 1))
    before = f(q, q)
    bad = q.copy()
    bad[-1] = -1.0
    where = "" if rows is None else f" in row {rows - 1}"
    with pytest.raises(
        mt.MomentreeError, match=f"the result for A' is not a finite number{where}: .* a law may be outside its domain"
    ):
        f(bad, q)
    np.testing.assert_array_equal(f(q, q), before)


@pytest.mark.parametrize("count", range(1, 14))
def test_short_and_long_arrays_are_searched_to_their_ends(count):
    m = mt.Model("sliders")
    for i in range(count):
        m.joint(f"s{i}", mt.Prismatic("x"), m.ground, m.body(f"b{i}", mt.sphere(mass=1.0 + i, radius=1.0)))
    f, zero = m.build().forward_dynamics, np.zeros(count)
    np.testing.assert_allclose(f(zero, zero, np.ones(count)), 1 / np.arange(1, count + 1), rtol=1e-15)
    for i in range(count):
        bad = zero.copy()
        bad[i] = np.nan
        with pytest.raises(mt.MomentreeError, match="tau holds NaN"):
            f(zero, zero, bad)


@pytest.mark.long
def test_references_are_counted_exactly(system, state):
    f, (q, v, tau) = system.forward_dynamics, state
    f(q, v, tau)
    t, n = 0.25, len(v)
    bad, named, none = np.zeros(n + 1), {"tau": tau}, None
    shared = [q, v, tau, bad, f, f.__self__, np.ndarray, f.__self__._entry, np.dtype(float)]
    before = [sys.getrefcount(x) for x in shared]
    for _ in range(40_000):
        f(q, v, tau)
        f(q, v, tau, t)
        f(q, v, none)
    assert [sys.getrefcount(x) for x in shared] == before
    for _ in range(2_000):
        f(q, v, **named)
        with pytest.raises(mt.MomentreeError):
            f(q, bad)
        with pytest.raises(TypeError):
            f()
    assert [sys.getrefcount(x) for x in shared][:-1] == before[:-1]  # numpy.empty itself miscounts its dtype


def test_no_memory_is_lost(system, state):
    f, (q, v, tau) = system.forward_dynamics, state

    def calls(count):
        for _ in range(count):
            f(q, v, tau)
            with contextlib.suppress(mt.MomentreeError):
                f(q, v, tau[:2])

    calls(500)
    tracemalloc.start()
    calls(100)
    before, _ = tracemalloc.get_traced_memory()
    calls(5_000)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 50_000  # an array of results is 200 bytes and more


def test_functions_come_and_go(system, state):
    expected = system.forward_dynamics(*state)
    for _ in range(50):
        f = Quantity(system.mechanism, "forward_dynamics").fastest()
        del f
    for _ in range(5):
        general = Quantity(system.mechanism, "forward_dynamics")
        f, g = general.fastest(), general.fastest()
        del general
        np.testing.assert_array_equal(f(*state), expected)
        del f
        np.testing.assert_array_equal(g(*state), expected)


def test_it_looks_like_a_function(function):
    f, _ = function
    assert f.__name__ == "forward_dynamics"
    assert f.__doc__ == "What it does."
    assert f.__text_signature__ == "(q, v, tau=None, t=0.0, *, out=None, threads=None, parameters=None)"
    assert "forward_dynamics(q, v, tau=None, t=0.0" in repr(f.__self__)


@pytest.mark.parametrize("name", ["_DATA", "_AXES", "_SHAPE", "_DTYPE", "_FLAGS", "_TYPE", "_NUMBER"])
def test_where_parts_of_arrays_stand_elsewhere_there_is_no_fast_function(monkeypatch, name):
    assert fast_calls._layouts_match.__wrapped__()
    monkeypatch.setattr(fast_calls, name, getattr(fast_calls, name) + 8 if name != "_AXES" else 40)
    if name == "_SHAPE":
        monkeypatch.setattr(fast_calls, name, 40)  # strides, which are addresses one can follow
    assert not fast_calls._layouts_match.__wrapped__()


def test_unknown_tables_and_interpreters_have_no_fast_function(monkeypatch):
    with monkeypatch.context() as changed:
        changed.setattr(fast_calls, "_VERSIONS", ())
        assert not fast_calls._layouts_match.__wrapped__()
    with monkeypatch.context() as changed:
        changed.setattr(fast_calls, "_numpy_table", lambda: None)
        assert not fast_calls._layouts_match.__wrapped__()
    with monkeypatch.context() as changed:
        changed.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
        assert not fast_calls._layouts_match.__wrapped__()


def test_the_user_can_switch_it_off(system, state, monkeypatch):
    monkeypatch.setenv("MOMENTREE_ENTRY", "off")
    f = Quantity(system.mechanism, "forward_dynamics").fastest()
    assert isinstance(f, Quantity)
    np.testing.assert_array_equal(f(*state), system.forward_dynamics(*state))


def test_a_function_may_be_called_until_the_very_end_of_the_interpreter():
    code = """
import atexit, numpy, momentree as mt
m = mt.Model("pendulum")
m.joint("A", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(mass=1.0, length=1.0)))
f, x = m.build().forward_dynamics, numpy.zeros(1)
class Last:
    def __init__(self, f, x): self.f, self.x = f, x
    def __del__(self): print(self.f(self.x, self.x).shape)
f(x, x)
last = Last(f, x)
atexit.register(lambda: print(f(x, x, x).shape))
"""
    done = subprocess.run([sys.executable, "-c", code], env=os.environ, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split("\n")[:2] == ["(1,)", "(1,)"]
