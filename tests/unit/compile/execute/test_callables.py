"""Quantities as functions of arrays: what is taken, what is refused, batches, threads, and how long things live."""

from __future__ import annotations

import copy
import gc
import inspect
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import momentree as mt
from contract.abuse import PLAIN
from mechanisms import EVERY_JOINT, random_configuration, random_tree
from momentree.compile.execute import callables, threads
from momentree.compile.execute.callables import Quantity
from momentree.compile.trace.quantities import ARGUMENTS
from momentree.equations import articulated
from momentree.equations.evaluation import Evaluation


@pytest.fixture(scope="module")
def system():
    return random_tree(np.random.default_rng(3), list(EVERY_JOINT)).build()


@pytest.fixture(scope="module")
def states(system):
    """q, v, w and t of 40 rows; w serves as tau and as vdot."""
    random = np.random.default_rng(4)
    q = np.array([random_configuration(random, system) for _ in range(40)])
    return q, random.standard_normal((40, system.nv)), random.standard_normal((40, system.nv)), random.uniform(0, 1, 40)


def plain(system, what, q, v, w, t):
    """By the sweeps on floats."""
    columns = {"v": v, "vdot": w, "tau": w}
    names = [name for name in ARGUMENTS[what] if name in columns]
    return PLAIN[what](Evaluation(system.mechanism, q, t), *(columns[name] for name in names))


def given(what, q, v, w, t):
    columns = {"q": q, "v": v, "vdot": w, "tau": w, "t": t}
    return tuple(columns[name] for name in ARGUMENTS[what])


def near(found, expected, tolerance=1e-12):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max()))


# --- what is taken ---


@pytest.mark.parametrize("what", ARGUMENTS)
@pytest.mark.repeats(2)
def test_single_rows_agree_with_the_sweeps_on_floats(system, states, what):
    for row in zip(*states, strict=True):
        near(getattr(system, what)(*given(what, *row)), plain(system, what, *row))


@pytest.mark.parametrize("what", ARGUMENTS)
@pytest.mark.parametrize("rows", [1, 5, 40, 2000])
@pytest.mark.repeats(2)
def test_a_row_of_a_batch_is_the_single_call_to_the_last_bit(system, states, what, rows):
    many = [np.resize(array, (rows, *array.shape[1:])) for array in states]
    f = getattr(system, what)
    found = f(*given(what, *many))
    assert found.shape == (rows, *f(*given(what, *(x[0] for x in states))).shape)
    for i in {*range(min(rows, 40)), rows - 1}:
        np.testing.assert_array_equal(found[i], f(*given(what, *(array[i] for array in many))))


def test_rolled_code_is_called_in_the_same_way():
    m = mt.Model("chain")
    end = m.ground
    for i in range(60):
        link = m.body(f"l{i}", mt.box(mass=1.0, size=(0.1, 0.05, 0.04)))
        m.joint(f"j{i}", mt.Revolute("xyz"[i % 3]) if i else mt.Spherical(), end, link)
        end = link.at((0.1, 0, 0))
    system, random = m.build(), np.random.default_rng(5)
    q = np.array([random_configuration(random, system, 0.3) for _ in range(7)])
    v, tau = random.uniform(-1, 1, (2, 7, system.nv))
    found = system.forward_dynamics(np.resize(q, (1503, system.nq)), np.resize(v, (1503, system.nv)), tau[0], 0.5)
    for i in range(7):
        single = system.forward_dynamics(q[i], v[i], tau[0], 0.5)
        near(single, articulated.forward_dynamics(Evaluation(system.mechanism, q[i], 0.5), v[i], tau[0]), 1e-10)
        np.testing.assert_array_equal(found[i::7], np.broadcast_to(single, found[i::7].shape))
    with pytest.raises(mt.MomentreeError, match="joint 'j0' is not of unit length"):
        system.forward_dynamics(2 * q, v)


def test_leading_axes_broadcast_also_those_of_t(system, states):
    q, v, tau, t = states
    f = system.forward_dynamics
    found = f(q[:6].reshape(2, 1, 3, -1), v[:4].reshape(4, 1, -1), tau[0], t[:2].reshape(2, 1, 1))
    assert found.shape == (2, 4, 3, system.nv)
    for i, j, k in np.ndindex(2, 4, 3):
        np.testing.assert_array_equal(found[i, j, k], f(q[3 * i + k], v[j], tau[0], t[i]))


def test_what_is_broadcast_by_the_caller_is_not_copied(system, states):
    q, v, tau, t = states
    many = np.broadcast_to(q[0], (3, 2, system.nq))
    rows, stride = callables._rows(many, (3, 2), 6)
    assert (rows.shape, stride) == ((system.nq,), 0)
    assert np.shares_memory(rows, q)
    column = np.hstack([q, v])[:, : system.nq]
    rows, stride = callables._rows(column, (40,), 40)
    assert np.shares_memory(rows, column)
    assert stride == system.nq + system.nv
    f = system.forward_dynamics
    np.testing.assert_array_equal(f(column[::-2], v[::-2], tau[::-2], t[::-2]), f(q, v, tau, t)[::-2])


KINDS = {
    "lists": lambda x: x.tolist(),
    "tuples": lambda x: tuple(x.tolist()),
    "objects": lambda x: x.astype(object),
    "big-endian": lambda x: x.astype(">f8"),
    "every second": lambda x: np.repeat(x, 2)[::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "read-only": lambda x: np.frombuffer(x.tobytes()),
    "misaligned": lambda x: np.frombuffer(b"_" + x.tobytes(), dtype=np.uint8)[1:].view(float),
    "a class of its own": lambda x: x.view(type("Own", (np.ndarray,), {})),
    "masked, nothing hidden": lambda x: np.ma.array(x),
    "long": lambda x: x.astype(np.longdouble),
}


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_holds_the_same_numbers_gives_the_same_bits(system, states, kind):
    q, v, tau, t = (array[0] for array in states)
    expected = system.forward_dynamics(q, v, tau, t)
    found = system.forward_dynamics(*(KINDS[kind](x) for x in (q, v, tau)), t)
    np.testing.assert_array_equal(found.reshape(expected.shape), expected)


def test_arguments_by_place_and_by_name_and_left_out(system, states):
    q, v, tau, _ = (array[0] for array in states)
    f, zero = system.forward_dynamics, np.zeros(system.nv)
    same = [f(q, v, tau, 0.0), f(q, v, tau), f(q, v, tau=tau), f(q=q, v=v, tau=tau, t=0), f(q, v, tau, np.float64(0))]
    same += [mt.System.forward_dynamics(system, q, v, tau), f(q, v, tau, np.array(0.0)), f(q, v, tau, False)]
    for found in same[1:]:
        np.testing.assert_array_equal(found, same[0])
    same = [f(q, v, zero), f(q, v), f(q, v, None), f(q, v, None, 0.0), f(q, v, tau=None), f([*q], v)]
    for found in same[1:]:
        np.testing.assert_array_equal(found, same[0])


def test_results_are_written_where_the_user_wants_them(system, states, tmp_path):
    q, v, tau, t = states
    expected = system.forward_dynamics(q, v, tau, t)
    out = np.full((40, system.nv), np.nan)
    assert system.forward_dynamics(q, v, tau, t, out=out) is out
    np.testing.assert_array_equal(out, expected)
    file = np.memmap(tmp_path / "out", dtype=float, mode="w+", shape=out.shape)
    assert system.forward_dynamics(q, v, tau, t, out=file) is file
    np.testing.assert_array_equal(file, expected)
    matrix = np.empty((system.nv, system.nv))
    np.testing.assert_array_equal(system.mass_matrix(q[0], out=matrix), system.mass_matrix(q[0]))


def test_batches_of_nothing_and_mechanisms_without_freedom(system, states):
    q, v, tau, _ = states
    assert system.forward_dynamics(q[:0], v[:0], tau[0]).shape == (0, system.nv)
    assert system.mass_matrix(np.empty((3, 0, system.nq))).shape == (3, 0, system.nv, system.nv)
    m = mt.Model("weld")
    m.joint("w", mt.Fixed(), m.ground, m.body("b", mt.sphere(mass=1.0, radius=1.0)))
    welded = m.build()
    assert welded.forward_dynamics([], []).shape == (0,)
    assert welded.mass_matrix([]).shape == (0, 0)
    assert welded.bias(np.empty((5, 0)), []).shape == (5, 0)


def test_free_parameters_have_the_values_of_the_model():
    def pendulum(free):
        m = mt.Model("pendulum", gravity=(0, 0, "-g"))
        m.parameter("g", 9.81)
        m.parameter("l", 0.7)
        m.joint("A", mt.Revolute("y"), m.ground, m.body("bob", mass=2.0, com=("l", 0, 0)))
        return m.build(free=free)

    fixed, free = pendulum([]), pendulum(["l", "g"])
    for f, g in zip((fixed.bias, fixed.forward_dynamics), (free.bias, free.forward_dynamics), strict=True):
        for q in (np.array([0.3]), np.linspace(0, 1, 3000)[:, None]):
            near(f(q, np.array([0.4])), g(q, np.array([0.4])))


# --- what is refused ---

WRONG = {
    r"q has the shape 3; its last axis must have length \d+": lambda s, q, v: s.bias([1, 2, 3], v),
    "v has the shape 2x3; its last axis": lambda s, q, v: s.bias(q, np.ones((2, 3))),
    "v is None; an array of numbers": lambda s, q, v: s.bias(q, None),
    "t is None; a number is expected": lambda s, q, v: s.bias(q, v, None),
    "t is 'noon'; a number": lambda s, q, v: s.bias(q, v, "noon"),
    "t is 1j; a number": lambda s, q, v: s.bias(q, v, 1j),
    "v is .*; an array of numbers": lambda s, q, v: s.bias(q, v.astype(complex)),
    "v is array.*; an array of numbers": lambda s, q, v: s.bias(q, v.astype(str)),
    "v is .*masked": lambda s, q, v: s.bias(q, np.ma.array(v, mask=v > 0)),
    "v is .*[.][.][.]": lambda s, q, v: s.bias(q, [[1, 2], [3]] * 1000),
    "v is .1000": lambda s, q, v: s.bias(q, [10**400] * s.nv),
    "v holds NaN or infinity": lambda s, q, v: s.bias(q, np.full(s.nv, np.inf)),
    "t holds NaN or infinity": lambda s, q, v: s.bias(q, v, float("nan")),
    "q holds NaN": lambda s, q, v: s.bias([*[q] * 2999, np.full(s.nq, np.nan)], v),
    "quaternion of joint .* is not of unit length": lambda s, q, v: s.bias(1.01 * q, v),
    "leading axes do not fit together: q has 3, v has 4": lambda s, q, v: s.bias([q] * 3, [v] * 4),
    "memory": lambda s, q, v: s.bias(np.broadcast_to(q, (10**14, s.nq)), v),
    "threads is 0; give a whole number": lambda s, q, v: s.bias(q, v, threads=0),
    "out is a list": lambda s, q, v: s.bias(q, v, out=[0] * s.nv),
    "out is a MaskedArray": lambda s, q, v: s.bias(q, v, out=np.ma.zeros(s.nv)),
    "out holds float32 and has the shape": lambda s, q, v: s.bias(q, v, out=np.zeros(s.nv, np.float32)),
    r"and has the shape .3,.; float64 and .\d+,": lambda s, q, v: s.bias(q, v, out=np.zeros(3)),
    "out is read-only": lambda s, q, v: s.bias(q, v, out=np.frombuffer(bytes(8 * s.nv))),
    "out is not contiguous": lambda s, q, v: s.bias(q, v, out=np.zeros(2 * s.nv)[::2]),
    "out overlaps v": lambda s, q, v: s.bias(q, v, out=v),
}


@pytest.mark.parametrize("words", WRONG)
def test_wrong_values_are_named(system, states, words):
    q, v = states[0][0], states[1][0].copy()
    with pytest.raises(mt.MomentreeError, match=words):
        WRONG[words](system, q, v)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda f, q: f(), "bias: q and v must be given. Call bias.q, v, t=0.0"),
        (lambda f, q: f(q), "v must be given"),
        (lambda f, q: f(q, q, 0, 0), "4 arguments are too many"),
        (lambda f, q: f(q, q, v=q), "'v' is given twice"),
        (
            lambda f, q: f(q, q, tau=q),
            "there is no argument 'tau'. Choose 'q', 'v', 't', 'out', 'threads' or",
        ),
    ],
)
def test_wrong_calls_are_told_the_right_one(system, call, words):
    with pytest.raises(TypeError, match=words):
        call(system.bias, np.zeros(system.nq))


def test_quaternions_are_refused_exactly_where_the_sweeps_refuse_them():
    m = mt.Model("ball")
    m.joint("ball", mt.Spherical(), m.ground, m.body("b", mt.sphere(mass=1.0, radius=1.0)))
    system, v = m.build(), np.zeros(3)
    system.bias(np.array([0, 0, 0, 1.0]), v)
    for off in (-1.01e-6, -0.99e-6, -0.94e-6, 0.94e-6, 0.99e-6, 1.01e-6):
        q = np.array([0, 0, 0.6, 0.8]) * (1 + off)
        for f, given_q in ((system.bias, q), (system.bias, [q] * 3), (system.energy, q)):
            if abs(off) < 1e-6:
                f(given_q, v)
                continue
            with pytest.raises(mt.MomentreeError, match="joint 'ball' is not of unit length"):
                f(given_q, v)


def test_where_llvm_cannot_be_had_the_call_says_so_and_access_does_not(monkeypatch):
    def broken(*_):
        raise ImportError("no LLVM")

    monkeypatch.setattr("momentree.compile.execute.fast_calls.linked", broken)
    monkeypatch.setattr("momentree.compile.execute.kernel.loaded", broken)
    m = mt.Model("pendulum")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(mass=1.0, length=1.0)))
    system = m.build()
    assert isinstance(system.bias, Quantity)
    with pytest.raises(ImportError, match="no LLVM"):
        system.bias([0.0], [0.0])


# --- threads ---


@pytest.fixture
def eager(monkeypatch):
    """Many threads, for however little work."""
    monkeypatch.setenv("MOMENTREE_THREADS", "7")
    monkeypatch.setattr(threads, "PAYS", 1e-12)


@pytest.mark.parametrize("rows", [257, 1000, 1024, 5003])
def test_with_threads_or_without_the_bits_are_the_same(system, states, eager, rows):
    many = [np.resize(array, (rows, *array.shape[1:])) for array in states]
    for what in ("mass_matrix", "forward_dynamics"):
        f = getattr(system, what)
        np.testing.assert_array_equal(f(*given(what, *many)), f(*given(what, *many), threads=1))


def test_one_bad_row_is_found_whatever_thread_meets_it(system, states, eager):
    q, v = (np.resize(array, (5000, array.shape[1])) for array in states[:2])
    for row in (0, 255, 256, 3001, 4999):
        v[row, 3] = np.nan
        with pytest.raises(mt.MomentreeError, match="v holds NaN"):
            system.bias(q, v)
        v[row, 3] = 0


@pytest.mark.parametrize("threads_", [1, 2, 5])
@pytest.mark.parametrize("rows", [0, 1, 255, 256, 257, 264, 1000, 4096])
def test_every_row_is_computed_once_and_parts_start_at_multiples_of_every_width(eager, threads_, rows):
    done: list[tuple[int, int]] = []
    threads.share(lambda: lambda begin, end: done.append((begin, end)), rows, threads_)
    assert sorted(i for begin, end in done for i in range(begin, end)) == list(range(rows))
    assert all(begin % 8 == 0 for begin, _ in done)


def test_an_error_in_a_thread_is_told_and_ends_the_call(eager):
    def compute(begin, end):
        if begin > 2000:
            raise ValueError(begin)

    with pytest.raises(ValueError, match="2"):
        threads.share(lambda: compute, 4096, 4)


def test_how_many_threads(monkeypatch):
    monkeypatch.setenv("MOMENTREE_THREADS", "3")
    assert [threads.available(limit) for limit in (None, 1, 2, 3, 64)] == [3, 1, 2, 3, 3]
    monkeypatch.delenv("MOMENTREE_THREADS")
    assert threads.available() >= 1
    for wrong in ("0", "many", "-1", "1.5"):
        monkeypatch.setenv("MOMENTREE_THREADS", wrong)
        with pytest.raises(mt.MomentreeError, match="MOMENTREE_THREADS"):
            threads.available()


def test_many_threads_may_make_the_first_call_at_once(states):
    system = random_tree(np.random.default_rng(3), list(EVERY_JOINT)).build()
    q, v, tau, t = (array[0] for array in states)
    together, found = threading.Barrier(8), []

    def call():
        together.wait()
        found.append(system.forward_dynamics(q, v, tau, t))

    workers = [threading.Thread(target=call) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 8
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork")
def test_a_forked_process_has_threads_of_its_own():
    code = """
import os, sys, numpy, momentree as mt
from momentree.compile.execute import threads
threads.PAYS = 1e-12
m = mt.Model("pendulum")
m.joint("A", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(mass=1.0, length=1.0)))
f, q = m.build().forward_dynamics, numpy.linspace(0, 1, 5000)[:, None]
expected = f(q, q)
child = os.fork()
if child == 0:
    os._exit(0 if numpy.array_equal(f(q, q), expected) else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    environment = {**os.environ, "MOMENTREE_THREADS": "4"}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=environment, timeout=60)
    assert done.returncode == 0


# --- of the system ---


@pytest.mark.skipif(
    sys.implementation.name != "cpython"
    or sys.byteorder != "little"
    or sys.maxsize < 2**62
    or not getattr(sys, "_is_gil_enabled", lambda: True)()
    or "MOMENTREE_ENTRY" in os.environ,
    reason="the fast function is for the usual interpreter",
)
def test_the_usual_interpreter_has_the_fast_function(system):
    assert inspect.isbuiltin(system.forward_dynamics)


@pytest.mark.parametrize("what", ARGUMENTS)
def test_the_method_is_documented_and_its_signature_is_that_of_the_function(system, what):
    described, function = getattr(mt.System, what), getattr(system, what)
    assert described.__doc__ == function.__doc__
    assert function.__name__ == what
    ours = list(inspect.signature(described).parameters.values())[1:]
    theirs = list(inspect.signature(function).parameters.values())
    assert [(p.name, p.default, p.kind) for p in ours] == [(p.name, p.default, p.kind) for p in theirs]
    assert getattr(system, what) is function


def test_systems_and_their_functions_are_copied_and_pickled(system, states):
    q, v, tau, t = (array[0] for array in states)
    expected = system.forward_dynamics(q, v, tau, t)
    for other in (copy.copy(system), copy.deepcopy(system), pickle.loads(pickle.dumps(system))):
        assert "forward_dynamics" not in vars(other)
        np.testing.assert_array_equal(other.forward_dynamics(q, v, tau, t), expected)
    f = pickle.loads(pickle.dumps(system.forward_dynamics))
    np.testing.assert_array_equal(f(q, v, tau, t), expected)
    np.testing.assert_array_equal(f([q], v, tau, t), [expected])
    assert f.__name__ == "forward_dynamics"


def test_a_derived_class_may_put_its_own_method_before_ours(system, states):
    class Doubled(mt.System):
        def bias(self, q, v, t=0.0):
            return 2 * super().bias(q, v, t)

    other = Doubled(system.mechanism, system._model)
    for _ in range(3):
        near(other.bias(states[0][0], states[1][0]), 2 * system.bias(states[0][0], states[1][0]))
        near(mt.System.bias(other, states[0][0], states[1][0]), system.bias(states[0][0], states[1][0]))


def test_a_function_outlives_its_system_and_nothing_outlives_the_function(states):
    system = random_tree(np.random.default_rng(3), list(EVERY_JOINT)).build()
    q, v, tau, t = (array[0] for array in states)
    f = system.forward_dynamics
    expected = f(q, v, tau, t)
    general, kernel = (weakref.ref(x) for x in (f.__self__, f.__self__._kernel))
    gone = weakref.ref(system)
    del system
    assert gone() is None  # without waiting for the collector
    np.testing.assert_array_equal(f(q, v, tau, t), expected)
    np.testing.assert_array_equal(f([q], v, tau, t), [expected])
    del f
    assert general() is None
    assert kernel() is None
    gc.collect()


def test_code_for_several_rows_is_made_only_for_calls_with_many(states, system):
    f, (q, v, _, _) = Quantity(system.mechanism, "bias"), states
    f(q[: callables.WORTH - 1], v[0])
    assert set(f._kernel._functions) == {1}
    f(q[: callables.WORTH], v[0])
    assert set(f._kernel._functions) == {1, f._kernel.width}


def test_the_same_call_gives_the_same_bits_whatever_was_called_before(states, system):
    f, (q, v, tau, t) = Quantity(system.mechanism, "forward_dynamics"), states
    calls = [(q[:5], v[:5], tau[:5], t[:5]), (q[0], v[0], tau[0], t[0]), (q, v, tau, t)]
    before = [f(*given) for given in calls]
    f(*(np.resize(array, (3000, *array.shape[1:])) for array in states))
    for given, expected in zip(calls, before, strict=True):
        np.testing.assert_array_equal(f(*given), expected)


@pytest.mark.repeats(2, of="rows")
@pytest.mark.parametrize("what", ["forward_dynamics", "inverse_dynamics", "bias", "mass_matrix"])
@pytest.mark.parametrize("rows", [2, 40])
def test_plain_tables_take_the_short_way_with_the_same_bits(system, states, what, rows, monkeypatch):
    quantity = Quantity(system.mechanism, what)
    columns = {"q": states[0], "v": states[1], "vdot": states[2], "tau": states[2]}
    tables = [columns[name][:rows].copy() for name in ARGUMENTS[what] if name != "t"]
    expected = quantity(*tables, t=0.0)
    assert quantity._plain_rows(tables) is not None
    general = quantity._computed
    monkeypatch.setattr(quantity, "_computed", None)
    short = quantity(*tables)
    assert np.array_equal(short, expected)
    monkeypatch.setattr(quantity, "_computed", general)
    for other in (tables[0][:, ::-1], tables[0].astype(np.float32), tables[0][:1], tables[0][:-1], tables[0].tolist()):
        assert quantity._plain_rows([other, *tables[1:]]) is None or len(tables) == 1
    tables[0][1, 0] = np.nan
    with pytest.raises(mt.MomentreeError, match="q"):
        quantity(*tables)
