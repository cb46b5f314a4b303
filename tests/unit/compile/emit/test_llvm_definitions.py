"""The elementary functions of machine code: units of the last place, special cases, lanes, processors, GPUs."""

import itertools
import math
import operator
import os
import re
import shutil
import subprocess

import mpmath
import numpy as np
import pytest

from momentree.compile.emit.llvm import compile_tape
from momentree.compile.emit.llvm_definitions import definitions
from momentree.compile.emit.llvm_functions import FUNCTIONS
from momentree.compile.emit.llvm_trigonometry import LARGEST
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


def next_to_zeros(count=600_000):
    """The doubles nearest to k pi/2 and their neighbours: small k, the worst k, others at random."""
    random = np.random.default_rng(2)
    k = np.concatenate([np.arange(1, 200), random.integers(200, count, 800), [count]])
    near = np.array([float(mpmath.pi / 2 * int(n)) for n in k])
    # worst: where sin or cos is smallest
    x = np.arange(1, 600_000) * (np.pi / 2)
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
    "exp": (mpmath.exp, -745, 709),
    "log": (mpmath.log, 1e-9, 3),
    "sqrt": (mpmath.sqrt, 0, 1e6),
}


@pytest.mark.parametrize("name", RANGES)
def test_functions_are_right_to_one_unit_of_the_last_place(name):
    exact, low, high = RANGES[name]
    random = np.random.default_rng(5)
    near_zero = np.exp(random.uniform(-740 if name != "log" else -744, -1, 100))
    near_one = np.clip(1 + np.exp(random.uniform(-36, -1, 100)) * random.choice([-1, 1], 100), -1, max(high, 1))
    x = np.concatenate([random.uniform(low, high, 300), near_zero, near_one, [low, high, 1.0]])
    if name in ("asin", "acos"):
        x = np.clip(x, -1, 1)
    found = [kernel_of(lambda x: [getattr(scalar, name)(x)], 1, width)([x[:, None]])[:, 0] for width in (1, 4)]
    np.testing.assert_array_equal(bits(found[0]), bits(found[1]))
    with mpmath.workprec(1200):
        assert ulps(found[0], [exact(mpmath.mpf(float(a))) for a in x]) < 0.9


def test_powers_and_angles_are_right_to_one_unit_of_the_last_place():
    random = np.random.default_rng(6)
    usual = np.stack([random.uniform(0, 20, 200), random.uniform(-20, 20, 200)], axis=1)
    base = np.exp(random.uniform(-700, 700, 200))
    wide = np.stack([base, random.uniform(-744, 709, 200) / np.log(base)], axis=1)
    near_one = 1 + np.exp(random.uniform(-35, -3, 100))
    steep = np.stack([near_one, random.uniform(-700, 700, 100) / np.log(near_one)], axis=1)
    x = np.concatenate([usual, wide, steep])
    found = kernel_of(lambda x, y: [x**y, scalar.atan2(y, x), scalar.atan2(x, y)], 2)([x])
    with mpmath.workprec(300):
        for column, exact in enumerate((mpmath.power, lambda x, y: mpmath.atan2(y, x), mpmath.atan2)):
            assert ulps(found[:, column], [exact(mpmath.mpf(float(a)), mpmath.mpf(float(b))) for a, b in x]) < 0.9


# --- special cases, as IEEE 754-2019 (9.2.1) has them ---

INF, NAN, HUGE, TINY = math.inf, math.nan, 1.7976931348623157e308, 5e-324
OF_ONE = {
    "tan": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (TINY, TINY), (-1e-300, -1e-300)],
    "asin": [(0.0, 0.0), (-0.0, -0.0), (1.0, math.pi / 2), (-1.0, -math.pi / 2), (1.0000000000000002, NAN), (INF, NAN)],
    "acos": [(1.0, 0.0), (-1.0, math.pi), (0.0, math.pi / 2), (-0.0, math.pi / 2), (-1.0000000000000002, NAN)],
    "atan": [(0.0, 0.0), (-0.0, -0.0), (INF, math.pi / 2), (-INF, -math.pi / 2), (TINY, TINY), (1.0, math.pi / 4)],
    "sinh": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (710.5, INF), (-710.5, -INF), (TINY, TINY)],
    "cosh": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (710.5, INF), (-710.5, INF), (TINY, 1.0)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (HUGE, 1.0), (-TINY, -TINY)],
    "exp": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (709.8, INF), (-746.0, 0.0), (-745.0, TINY), (HUGE, INF)],
    "log": [(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (INF, INF), (-1.0, NAN), (-INF, NAN), (-TINY, NAN)],
    "floor": [(0.0, 0.0), (-0.0, -0.0), (0.9999999999999999, 0.0), (-TINY, -1.0), (1.5, 1.0), (-1.5, -2.0), (2.5, 2.0),
              (-2.0, -2.0), (2.0**52 + 1, 2.0**52 + 1), (2.0**52 - 0.5, 2.0**52 - 1), (INF, INF), (-HUGE, -HUGE)],
}  # fmt: skip
_ODD, _EVEN, _BROKEN = (-3.0, 1.0, 5.0, -(2.0**53 - 1)), (-2.0, 4.0, 2.0**53), (-0.5, 0.3, 2.5)
POWERS = [
    *((x, y, 1.0) for x in (0.0, -0.0, 1.5, -2.0, INF, -INF, NAN) for y in (0.0, -0.0)),
    *((1.0, y, 1.0) for y in (3.0, -INF, INF, NAN, HUGE)),
    *((-1.0, y, 1.0) for y in (INF, -INF, 2.0, 2.0**53, HUGE)),
    *((0.0, y, 0.0 if y > 0 else INF) for y in (*_ODD, *_EVEN, *_BROKEN, INF, -INF)),
    *((-0.0, y, -0.0 if y > 0 else -INF) for y in _ODD),
    *((-0.0, y, 0.0 if y > 0 else INF) for y in (*_EVEN, *_BROKEN, INF, -INF)),
    *((INF, y, INF if y > 0 else 0.0) for y in (*_ODD, *_EVEN, *_BROKEN, INF, -INF)),
    *((-INF, y, -INF if y > 0 else -0.0) for y in _ODD),
    *((-INF, y, INF if y > 0 else 0.0) for y in (*_EVEN, *_BROKEN, INF, -INF)),
    *((x, y, INF if (abs(x) > 1) == (y > 0) else 0.0) for x in (0.5, -0.5, 2.0, -2.0) for y in (INF, -INF)),
    *((x, y, NAN) for x in (-1.0, -2.0, -0.5, -TINY, -HUGE) for y in _BROKEN),
    *((x, y, NAN) for x, y in ((NAN, 1.0), (2.0, NAN), (NAN, NAN), (-INF, NAN), (0.0, NAN))),
    (-2.0, 3.0, -8.0), (-2.0, -3.0, -0.125), (-2.0, 4.0, 16.0), (2.0, 0.5, math.sqrt(2)), (2.0, -1074.0, TINY),
    (2.0, -1075.5, 0.0), (-2.0, -1077.0, -0.0), (2.0, 1024.0, INF), (-2.0, 1025.0, -INF), (TINY, 1.0, TINY),
    (HUGE, 1.0, HUGE), (HUGE, -1.0, 5.562684646268003e-309), (10.0, 22.0, 1e22), (1.0000000000000002, HUGE, INF),
]  # fmt: skip
_PI = math.pi
ANGLES = [  # y, x
    (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0), (0.0, -0.0, _PI), (-0.0, -0.0, -_PI), (0.0, 3.0, 0.0), (-0.0, -3.0, -_PI),
    (2.0, 0.0, _PI / 2), (2.0, -0.0, _PI / 2), (-2.0, 0.0, -_PI / 2), (1.0, INF, 0.0), (-1.0, INF, -0.0),
    (1.0, -INF, _PI), (-1.0, -INF, -_PI), (INF, 7.0, _PI / 2), (-INF, -7.0, -_PI / 2), (INF, INF, _PI / 4),
    (-INF, INF, -_PI / 4), (INF, -INF, 3 * _PI / 4), (-INF, -INF, -3 * _PI / 4), (NAN, 1.0, NAN), (1.0, NAN, NAN),
    (1.0, 1.0, _PI / 4), (-1.0, -1.0, -3 * _PI / 4), (HUGE, HUGE, _PI / 4), (TINY, TINY, _PI / 4), (TINY, HUGE, 0.0),
    (HUGE, TINY, _PI / 2), (-TINY, -HUGE, -_PI), (TINY, 2.0, 0.0), (TINY, 1.0, TINY), (TINY, 0.5, 1e-323),
]  # fmt: skip


def as_list(formula):
    """One result."""
    return lambda *arguments: [formula(*arguments)]


def assert_same(found, expected, arguments):
    """Equal, NaN and the signs of zeros included."""
    equal = (found == expected) & (np.signbit(found) == np.signbit(expected)) | (np.isnan(found) & np.isnan(expected))
    assert equal.all(), [(arguments[i], found[i], expected[i]) for i in np.flatnonzero(~equal)]


@pytest.mark.parametrize("width", WIDTHS)
def test_special_cases(width):
    tables = [(getattr(scalar, name), [*cases, (NAN, NAN)]) for name, cases in OF_ONE.items()]
    for formula, cases in [*tables, (operator.pow, POWERS), (scalar.atan2, ANGLES)]:
        *columns, expected = np.array(cases).T
        x = np.stack(columns, axis=1)
        assert_same(kernel_of(as_list(formula), len(columns), width)([x])[:, 0], expected, x)


# --- lanes, processors ---


def any_numbers(count=3000):
    """Any bits at all, and special numbers: each row is as good as random."""
    random = np.random.default_rng(7)
    some = random.integers(-(2**63), 2**63, (count, 2)).view(float)
    usual = random.uniform(-4, 4, (count, 2))
    special = np.array(list(itertools.product([0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 1e6, 0.5, TINY], repeat=2)))
    return np.concatenate([some, usual, special])[random.permutation(2 * count + len(special))]


@pytest.mark.parametrize("name", ["sin", "cos", *FUNCTIONS])
def test_lanes_and_processors_without_fused_multiply_adds_give_the_same_bits(name):
    x = any_numbers()
    formulas = {"power": operator.pow, "atan2": scalar.atan2}
    formula = formulas.get(name, lambda x, y: getattr(scalar, name)(x) + 0 * y)
    found = kernel_of(as_list(formula), 2, 1)([x])
    for width, target in [(2, None), (4, None), (8, None), (1, OLDEST), (2, OLDEST)]:
        other = kernel_of(as_list(formula), 2, width, target)([x])
        number = ~np.isnan(found)
        np.testing.assert_array_equal(np.isnan(other), ~number)
        np.testing.assert_array_equal(bits(other[number]), bits(found[number]))


# --- GPUs ---


def gpu_text():
    """Every function, called by a kernel, as text for NVIDIA GPUs."""
    binding = pytest.importorskip("llvmlite.binding")
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    names = sorted({"sincos", *FUNCTIONS})
    lines = []
    for i, name in enumerate(names):
        kind = "{ double, double }" if name == "sincos" else "double"
        arguments = ", ".join(f"double %x{k}" for k in range(1 + (name in ("power", "atan2"))))
        lines.append(f"  %y{i} = call fastcc {kind} @{name}_1({arguments})")
        if name == "sincos":
            lines.append(f"  %s{i} = extractvalue {kind} %y{i}, 1")
        lines.append(f"  %p{i} = getelementptr double, ptr %out, i64 {i}")
        lines.append(f"  store double %{'s' if name == 'sincos' else 'y'}{i}, ptr %p{i}")
    head = "define ptx_kernel void @all_of_them(double %x0, double %x1, ptr %out)"
    text = definitions((name, 1) for name in names) + f"\n{head} {{\n" + "\n".join(lines) + "\n  ret void\n}\n"
    machine = binding.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu="sm_80", opt=2)
    module = binding.parse_assembly(text, binding.create_context())
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    return machine.emit_assembly(module)


def test_text_for_gpus_calls_nothing_that_it_does_not_define():
    text = gpu_text()
    called = set(re.findall(r"call\.uni[^;]*?(\w+),?\s*\(", text)) - {"retval0"}
    assert ".extern" not in text
    assert called <= set(re.findall(r"\.func[^;{]*?(\w+)\s*\(", text))
    assert not re.findall(r"\b(?:mul|add|sub)\.f64", text), "an assembler could fuse what is not marked .rn"


def test_text_for_gpus_is_assembled(tmp_path):
    assembler = os.environ.get("PTXAS") or shutil.which("ptxas")
    if assembler is None:
        pytest.skip("no ptxas on the PATH or in $PTXAS")
    source = tmp_path / "functions.ptx"
    source.write_text(gpu_text(), encoding="utf-8")
    command = [assembler, "-arch=sm_90", source, "-o", tmp_path / "functions.cubin"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
