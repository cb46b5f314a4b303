"""Machine code: every operation of a tape, whole sweeps, tapes of few things, and wrong calls."""

import ctypes
import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest

import momentree as mt
from mechanisms import EVERY_JOINT, random_configuration, random_tree
from momentree.compile.emit.llvm import _most_alive, _Recorded, compile_tape
from momentree.compile.execute.kernel import WIDTHS
from momentree.compile.execute.machine_code import WORKING_SET, Target
from momentree.compile.trace.tape import Tape
from momentree.equations import articulated
from momentree.equations.evaluation import Evaluation
from momentree.errors import MomentreeError
from momentree.spatial import scalar

OLDEST = Target()


def kernel_of(formula, columns=1, width=None, target=None):
    """The kernel of a formula of the columns of one array."""
    tape = Tape()
    names = [f"x{i}" for i in range(columns)]
    tape.outputs(list(formula(*tape.inputs(*names))))
    return compile_tape(tape, [("x", names)], width, target)


# --- every operation ---

OPERATIONS = {
    "sum": (2, lambda x, y: x + y),
    "difference": (2, lambda x, y: x - y),
    "negative sum": (2, lambda x, y: -x - y),
    "double": (1, lambda x: 2 * x),
    "product": (2, lambda x, y: -x * y),
    "quotient": (2, lambda x, y: -x / y),
    "reciprocal": (1, lambda x: 1 / x),
    "by a number": (1, lambda x: 1 - x / 3),
    "cube": (1, lambda x: x**3),
    "power": (2, lambda x, y: scalar.absolute(x) ** y),
    "power of a number": (1, lambda x: 2.5**-x),
    "root": (1, lambda x: scalar.sqrt(scalar.absolute(x))),
    "log": (1, lambda x: scalar.log(scalar.absolute(x))),
    "acos": (1, lambda x: scalar.acos(-scalar.sin(x))),
    "asin": (1, lambda x: scalar.asin(scalar.cos(x))),
    "atan2": (2, lambda x, y: scalar.atan2(-x, -y)),
    "minimum": (2, scalar.minimum),
    "maximum": (2, lambda x, y: scalar.maximum(x, -y)),
    "select": (3, scalar.select),
    "select of a number": (2, lambda x, y: scalar.select(-x, 3, -y)),
    "sine beside cosine": (1, lambda x: scalar.sin(x) + 3 * scalar.cos(x)),
    "sine by itself": (1, lambda x: scalar.sin(-x)),
}
OPERATIONS |= {
    name: (1, getattr(scalar, name))
    for name in ("cos", "tan", "atan", "sinh", "cosh", "tanh", "exp", "absolute", "sign")
}


def test_every_operation_of_a_tape_gives_what_its_replay_gives():
    random, tape = np.random.default_rng(1), Tape()
    x = tape.inputs("x", "y", "z")
    tape.outputs([formula(*x[:n]) for n, formula in OPERATIONS.values()])
    points = random.uniform(-3, 3, (37, 3))
    expected = [tape.evaluate(dict(zip("xyz", map(float, point), strict=True))) for point in points]
    for width in WIDTHS:
        for target in (None, OLDEST):
            found = compile_tape(tape, [("point", "xyz")], width, target)([points])
            np.testing.assert_allclose(found, expected, rtol=2e-15, atol=1e-15)


SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 1e-310, 1e300, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("name", ["minimum", "maximum", "atan2"])
@pytest.mark.parametrize("width", WIDTHS)
def test_functions_of_two_at_special_numbers(name, width):
    pairs = np.array([[x, y] for x in SPECIAL for y in SPECIAL])
    found = kernel_of(lambda x, y: [getattr(scalar, name)(x, y)], 2, width)([pairs])[:, 0]
    np.testing.assert_array_equal(found, [getattr(scalar, name)(float(x), float(y)) for x, y in pairs])


@pytest.mark.parametrize("width", WIDTHS)
def test_signs_choices_and_reciprocals_of_special_numbers(width):
    formula = lambda x: [scalar.sign(x), abs(x), scalar.select(x, 1, -1), 1 / x, scalar.sqrt(x), scalar.tanh(x)]  # noqa: E731
    x = np.array(SPECIAL)
    with np.errstate(all="ignore"):
        expected = np.stack([np.sign(x), np.abs(x), np.where(x > 0, 1, -1), 1 / x, np.sqrt(x), np.tanh(x)], axis=1)
    np.testing.assert_array_equal(kernel_of(formula, 1, width)([x[:, None]]), expected)


# --- sweeps ---


def arm(n=7):
    random, m = np.random.default_rng(7), mt.Model("arm")
    body = m.ground
    for i in range(n):
        link = m.body(f"link{i}", mass=random.uniform(1, 2), com=random.uniform(-0.2, 0.2, 3), inertia=(0.4, 0.5, 0.3))
        m.joint(f"hinge{i}", mt.Revolute("zxy"[i % 3]), body.at(random.uniform(0.1, 0.5, 3)), link)
        body = link
    return m


SYSTEMS = {"arm": arm, "tree": lambda: random_tree(np.random.default_rng(8), list(EVERY_JOINT))}


@pytest.fixture(scope="module", params=SYSTEMS)
def dynamics(request):
    """A tape of the forward dynamics, its arrays, 64 rows of arguments and the results of the float sweep."""
    random, system = np.random.default_rng(9), SYSTEMS[request.param]().build()
    mechanism, tape = system.mechanism, Tape()
    arrays = [(x, [f"{x}{i}" for i in range(n)]) for x, n in (("q", system.nq), ("u", system.nv), ("tau", system.nv))]
    q, u, tau = (list(tape.inputs(*names)) for _, names in arrays)
    tape.outputs(articulated.forward_dynamics(Evaluation(mechanism, q), u, tau))
    q = np.array([random_configuration(random, system) for _ in range(64)])
    given = [q, random.uniform(-1, 1, (64, system.nv)), random.uniform(-1, 1, (64, system.nv))]
    rows = zip(*(array.tolist() for array in given), strict=True)
    return (
        tape,
        arrays,
        given,
        np.array([articulated.forward_dynamics(Evaluation(mechanism, q), u, tau) for q, u, tau in rows]),
    )


def assert_agree(found, expected):
    assert found.shape == expected.shape
    assert np.max(np.abs(found - expected)) <= 1e-12 * np.max(np.abs(expected))


@pytest.mark.repeats(1)
@pytest.mark.parametrize("width", [None, *WIDTHS])
def test_forward_dynamics_agrees_with_the_sweep_on_floats(dynamics, width):
    tape, arrays, given, expected = dynamics
    kernel = compile_tape(tape, arrays, width)
    for rows in (1, 2, 7, 8, 9, 64):
        assert_agree(kernel([x[:rows] for x in given]), expected[:rows])
    out = np.full((9, len(expected[0])), np.nan)
    assert kernel([x[:9] for x in given], out) is out
    assert_agree(out, expected[:9])
    assert_agree(kernel([x[3] for x in given]), expected[3])


@pytest.mark.repeats(1)
def test_forward_dynamics_on_the_oldest_processor(dynamics):
    tape, arrays, given, expected = dynamics
    kernel = compile_tape(tape, arrays, target=OLDEST)
    assert kernel.width == 2
    assert_agree(kernel([x[:9] for x in given]), expected[:9])


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.repeats(1)
def test_one_row_serves_all(dynamics, width):
    tape, arrays, (q, u, tau), _ = dynamics
    kernel = compile_tape(tape, arrays, width)
    expected = kernel([q[:9], np.tile(u[0], (9, 1)), np.tile(tau[5], (9, 1))])
    np.testing.assert_array_equal(kernel([q[:9], u[0], tau[5:6]]), expected)
    np.testing.assert_array_equal(kernel([q[:9], u[:1], tau[5]]), expected)
    assert kernel([q[:0], u[:1], tau[5]]).shape == (0, expected.shape[1])


def test_the_machine_code_computes_the_rows_it_is_asked_for(dynamics):
    tape, arrays, given, expected = dynamics
    kernel = compile_tape(tape, arrays, 4)
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_int64)
    starts = (ctypes.c_void_p * 3)(*[x.ctypes.data for x in given])
    strides = (ctypes.c_int64 * 3)(*[x.shape[1] for x in given])
    out = np.full(expected.shape, np.nan)
    kind(kernel.address())(starts, strides, out.ctypes.data, 3, 14)
    assert_agree(out[3:14], expected[3:14])
    assert np.isnan(out[:3]).all()
    assert np.isnan(out[14:]).all()


# --- tapes of few things ---


@pytest.mark.parametrize("width", WIDTHS)
def test_constants_inputs_and_signs_among_the_outputs(width):
    kernel = kernel_of(lambda x, y: [3, -x, x, -0.5, x, np.inf, 1 - 1], 2, width)
    found = kernel([np.array([[1.0, 2.0]] * 5)])
    np.testing.assert_array_equal(found, [[3, -1, 1, -0.5, 1, np.inf, 0]] * 5)


def test_tapes_of_nothing():
    tape = Tape()
    tape.outputs([])
    assert compile_tape(tape, [])([]).shape == (0,)
    tape = Tape()
    tape.outputs([2.5])
    np.testing.assert_array_equal(compile_tape(tape, [])([]), [2.5])
    assert kernel_of(lambda x: [])([np.ones((5, 1))]).shape == (5, 0)
    with pytest.raises(MomentreeError, match="no outputs yet"):
        compile_tape(Tape(), [])


@pytest.mark.parametrize("width", WIDTHS)
def test_what_depends_on_parameters_alone_is_computed_before_the_loop(width):
    tape = Tape()
    x, (a, b) = tape.input("x"), (tape.parameter("a"), tape.parameter("b"))
    tape.outputs([scalar.sin(a) * x - scalar.exp(b), a * b, -a, scalar.cos(a) + scalar.cos(x)])
    kernel = compile_tape(tape, [("x", ["x"]), ("p", ["b", "a"])], width)
    before, loop = kernel.ir().split("head:")
    assert "@exp_1" in before
    assert "@exp" not in loop.split("rest:")[0]
    values = np.linspace(-1, 1, 11)
    found = kernel([values[:, None], np.array([0.3, 0.7])])
    one = np.ones(11)
    expected = [np.sin(0.7) * values - np.exp(0.3), 0.21 * one, -0.7 * one, np.cos(0.7) + np.cos(values)]
    np.testing.assert_allclose(found, np.transpose(expected), rtol=1e-15, atol=1e-15)
    with pytest.raises(MomentreeError, match=r"'p' holds parameters.*one row, not 11"):
        kernel([values[:, None], np.ones((11, 2))])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("gives", ["row", "column"])
def test_a_matrix_comes_by_the_unit_vectors_of_the_last_argument(width, gives):
    tape = Tape()
    x, y, *units = tape.inputs("x", "y", *"abcde")
    tape.outputs([x * units[0] + units[4], scalar.sin(x) * units[1] - y * units[3], x * y * units[2]])
    kernel = compile_tape(tape, [("point", ["x", "y"]), ("units", [*"abcde"])], width, gives=gives)
    assert (kernel.arrays, kernel.outputs) == ((("point", 2),), 15)
    points = np.random.default_rng(0).standard_normal((7, 2))
    found = kernel([points]).reshape(7, *((5, 3) if gives == "row" else (3, 5)))
    for (x, y), matrix in zip(points, found, strict=True):
        expected = np.array([[x, 0, 0, 0, 1], [0, np.sin(x), 0, -y, 0], [0, 0, x * y, 0, 0]])
        np.testing.assert_allclose(matrix, expected.T if gives == "row" else expected, rtol=1e-15)
    once, loop = kernel.ir(1).split("define ", 2)[1].split("head:")
    assert ("@sincos" in once, "@sincos" in loop) == (True, False)


def test_what_is_recorded_later_changes_no_kernel():
    tape = Tape()
    x = tape.input("x")
    tape.outputs([x + 1])
    kernel = compile_tape(tape, [("x", ["x"])])
    tape.outputs([x * 3, x])
    np.testing.assert_array_equal(kernel([np.ones((20, 1))]), np.full((20, 1), 2.0))


def test_sine_and_cosine_of_one_argument_are_computed_together():
    loop = kernel_of(lambda x: [scalar.sin(-x), scalar.cos(x)], 1, 2).ir().split("rest:")[0]
    assert loop.count("@sincos_2") == 1


# --- how wide ---


def test_the_width_follows_from_the_processor_and_the_number_of_live_values():
    assert [Target("", text).lanes(10) for text in ("", "+sse2,-avx", "+avx,+avx2", "+avx,+avx512f")] == [2, 2, 4, 8]
    wide = Target("", "+avx,+avx512f")
    assert [wide.lanes(WORKING_SET // (8 * lanes)) for lanes in (8, 4, 2)] == [8, 4, 2]
    assert wide.lanes(10**9) == 2


def test_live_values_are_counted():
    tape = Tape()
    x = tape.inputs("a", "b", "c", "d")
    squares = [value * value for value in x]
    tape.outputs([squares[0] + squares[1] + squares[2] + squares[3]])
    assert _most_alive(_Recorded.on(tape)) == 5  # four squares, and the last input


# --- wrong calls ---


def test_arrays_that_do_not_fit_the_tape():
    tape = Tape()
    x, y, p = *tape.inputs("x", "y"), tape.parameter("p")
    tape.outputs([x * y + p])
    with pytest.raises(MomentreeError) as told:
        compile_tape(tape, [("a", ["x", "x"]), ("b", ["yy"])])
    for part in (
        "'x' appears in two columns",
        "no input 'yy'",
        "input 'y' is in no argument",
        "parameter 'p' is in no argument",
    ):
        assert part in str(told.value)
    with pytest.raises(MomentreeError, match="argument 'a' mixes inputs and parameters"):
        compile_tape(tape, [("a", ["x", "y", "p"])])
    with pytest.raises(MomentreeError, match="width 3: choose one of 1, 2, 4, 8"):
        compile_tape(tape, [("a", ["x", "y"]), ("p", ["p"])], width=3)
    with pytest.raises(MomentreeError, match="width 16: choose"):
        compile_tape(tape, [("a", ["x", "y"]), ("p", ["p"])]).address(16)


GOOD = np.ones((5, 2))
WRONG = {
    r"the kernel takes 2 arrays \(q, u\), not 1": ([GOOD], None),
    "'u' has shape .5, 3.. Give it .2,. or .rows, 2.": ([GOOD, np.ones((5, 3))], None),
    "'q' has shape .1, 5, 2.": ([GOOD[None], GOOD], None),
    "'q' has shape ..": ([np.array(1.0), GOOD], None),
    "'q' holds float32": ([GOOD.astype(np.float32), GOOD], None),
    "'q' holds >f8": ([GOOD.astype(">f8"), GOOD], None),
    "'u' holds int64": ([GOOD, GOOD.astype(int)], None),
    "'u' is a list": ([GOOD, [[1.0, 2.0]]], None),
    "'q' is not contiguous": ([np.ones((2, 5)).T, GOOD], None),
    "'u' is not contiguous, row after row": ([GOOD, np.ones((10, 2))[::2]], None),
    "'u' has 4 rows, but another has 5": ([GOOD, GOOD[:4]], None),
    "'u' has 0 rows, but another has 5": ([GOOD, GOOD[:0]], None),
    "out has shape .5, 2., but the results have .5, 1.": ([GOOD, GOOD], np.ones((5, 2))),
    "out has shape .1, 1., but the results have .1,.": ([GOOD[0], GOOD[0]], np.ones((1, 1))),
    "out holds float32": ([GOOD, GOOD], np.ones((5, 1), np.float32)),
    "out is not contiguous": ([GOOD, GOOD], np.ones((10, 1))[::2]),
    "out is read-only": ([GOOD, GOOD], np.broadcast_to(np.ones((5, 1)), (5, 1))),
    "out overlaps array 'q'": ([GOOD, GOOD], GOOD.reshape(-1)[:5].reshape(5, 1)),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_calls_are_told_what_is_wrong(message):
    tape = Tape()
    a, b, c, d = tape.inputs("a", "b", "c", "d")
    tape.outputs([a * b + c * d])
    kernel = compile_tape(tape, [("q", ["a", "b"]), ("u", ["c", "d"])])
    inputs, out = WRONG[message]
    with pytest.raises(MomentreeError, match=message):
        kernel(inputs, out)


# --- life and death of machine code ---


def test_kernels_live_side_by_side_and_are_freed():
    kernels = [kernel_of(lambda x, k=k: [scalar.sin(x) * k], 1, 4) for k in range(1, 9)]
    x = np.linspace(0, 1, 6)[:, None]
    for k, kernel in enumerate(kernels, 1):
        np.testing.assert_allclose(kernel([x]), k * np.sin(x), rtol=1e-15)
    gone = [weakref.ref(kernel) for kernel in kernels[::2]]
    del kernels[::2], kernel
    gc.collect()
    assert not any(ref() for ref in gone)
    for k, kernel in zip((2, 4, 6, 8), kernels, strict=True):
        np.testing.assert_allclose(kernel([x]), k * np.sin(x), rtol=1e-15)


def test_the_interpreter_ends_well_and_loads_llvmlite_only_when_something_is_compiled():
    code = """
import sys, numpy, momentree
from momentree.compile.emit.llvm import compile_tape
from momentree.compile.trace.tape import Tape
assert "llvmlite" not in sys.modules
tape = Tape()
tape.outputs([tape.input("x").exp()])
kernel = compile_tape(tape, [("x", ["x"])])
print(kernel([numpy.zeros((20, 1))]).sum())
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "20.0"
    assert not told.stderr
