"""The elementary functions of machine code, in units of the last place of the exact result."""

import mpmath
import numpy as np
import pytest

from momentree.compile.emit.llvm import compile_tape
from momentree.compile.emit.llvm_functions import LARGEST
from momentree.compile.execute.kernel import WIDTHS
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.tape import Tape
from momentree.spatial import scalar

OLDEST = Target()


def kernel_of(formula, columns=1, width=None, target=None):
    """The kernel of a formula of the columns of one array."""
    tape = Tape()
    names = [f"x{i}" for i in range(columns)]
    tape.outputs(list(formula(*tape.inputs(*names))))
    return compile_tape(tape, [("x", names)], width, target)


def bits(x):
    return np.ascontiguousarray(x).view(np.int64)


def ulps(found, exact):
    return max(
        float(abs(mpmath.mpf(float(a)) - b) / mpmath.mpf(float(np.spacing(abs(float(b))))))
        for a, b in zip(found, exact, strict=True)
    )


def next_to_zeros(count=100_000):
    """The doubles nearest to k pi/2 and their neighbours: small k, the worst k, others at random."""
    random = np.random.default_rng(2)
    k = np.concatenate([np.arange(1, 200), random.integers(200, count, 800), [count]])
    near = np.array([float(mpmath.pi / 2 * int(n)) for n in k])
    # worst: where sin or cos is smallest
    x = np.arange(1, 60_000) * (np.pi / 2)
    closure_error = np.minimum(np.abs(np.sin(x)), np.abs(np.cos(x)))
    near = np.concatenate([near, x[np.argsort(closure_error)[:50]]])
    return np.concatenate([near, np.nextafter(near, 0), -np.nextafter(near, np.inf)])


def arguments_of_sincos():
    random = np.random.default_rng(3)
    uniform = [random.uniform(-size, size, 600) for size in (1, 10, LARGEST)]
    tiny = np.exp(random.uniform(-740, 0, 300)) * random.choice([-1, 1], 300)
    edge = [np.nextafter(LARGEST, 0), LARGEST, np.nextafter(LARGEST, np.inf), -LARGEST, 1e9, -1e22, 1e300, 5e-324]
    return np.concatenate([*uniform, tiny, edge])


@pytest.mark.repeats(1)
@pytest.mark.parametrize("target", [None, OLDEST], ids=["host", "oldest"])
@pytest.mark.parametrize("where", [next_to_zeros, arguments_of_sincos])
def test_sine_and_cosine_are_right_to_the_last_bit_but_one_and_the_same_in_every_lane(where, target):
    x = where()
    found = kernel_of(lambda x: [scalar.sin(x), scalar.cos(x)], 1, 1, target)([x[:, None]])
    with mpmath.workprec(180 if where is next_to_zeros else 1300):  # enough for 1e300
        assert ulps(found[:, 0], [mpmath.sin(float(a)) for a in x]) < 0.8
        assert ulps(found[:, 1], [mpmath.cos(float(a)) for a in x]) < 0.8
    for width in WIDTHS[1:]:
        again = kernel_of(lambda x: [scalar.sin(x), scalar.cos(x)], 1, width, target)([x[:, None]])
        np.testing.assert_array_equal(bits(again), bits(found))


@pytest.mark.parametrize("width", WIDTHS)
def test_sine_and_cosine_of_zeros_and_of_no_numbers(width):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -0.0])
    found = kernel_of(lambda x: [scalar.sin(x), scalar.cos(x)], 1, width)([x[:, None]])
    expected = [[0, 1], [-0.0, 1], *[[np.nan, np.nan]] * 3, [0, 1], [-0.0, 1], [np.sin(1), np.cos(1)], [-0.0, 1]]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found[[0, 1, 5, 6, 8], 0]), [False, True, False, True, True])


RANGES = {
    "tan": (mpmath.tan, -50, 50),
    "asin": (mpmath.asin, -1, 1),
    "acos": (mpmath.acos, -1, 1),
    "atan": (mpmath.atan, -20, 20),
    "sinh": (mpmath.sinh, -30, 30),
    "cosh": (mpmath.cosh, -30, 30),
    "tanh": (mpmath.tanh, -20, 20),
    "exp": (mpmath.exp, -700, 700),
    "log": (mpmath.log, 1e-9, 3),
    "sqrt": (mpmath.sqrt, 0, 1e6),
}


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.repeats(4)
def test_functions_are_right_to_two_units_of_the_last_place(name):
    exact, low, high = RANGES[name]
    near_zero = np.exp(np.random.default_rng(4).uniform(-300, -1, 100))
    x = np.concatenate([np.random.default_rng(5).uniform(low, high, 400), near_zero, [low, high, 1.0]])
    found = [kernel_of(lambda x: [getattr(scalar, name)(x)], 1, width)([x[:, None]])[:, 0] for width in (1, 4)]
    np.testing.assert_array_equal(bits(found[0]), bits(found[1]))
    with mpmath.workprec(600):
        assert ulps(found[0], [exact(mpmath.mpf(float(a))) for a in x]) < 2


def test_powers_and_angles_are_right_to_two_units_of_the_last_place():
    random = np.random.default_rng(6)
    x = np.stack([random.uniform(0, 20, 500), random.uniform(-20, 20, 500)], axis=1)
    found = kernel_of(lambda x, y: [x**y, scalar.atan2(y, x), scalar.atan2(x, y)], 2)([x])
    with mpmath.workprec(200):
        for column, exact in enumerate((mpmath.power, lambda x, y: mpmath.atan2(y, x), mpmath.atan2)):
            assert ulps(found[:, column], [exact(mpmath.mpf(float(a)), mpmath.mpf(float(b))) for a, b in x]) < 2
