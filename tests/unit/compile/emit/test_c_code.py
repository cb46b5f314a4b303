"""Exported C: it compiles without a warning, gives the numbers of the system and of the tape, and explains itself."""

from __future__ import annotations

import ctypes
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mechanisms
import momentree as mt
from mechanisms import EVERY_JOINT, bennett, four_bar, random_configuration, random_frame, random_tree
from momentree.compile.emit.c_code import c_function, c_number, c_preamble
from momentree.compile.trace.quantities import FEW, QUANTITIES, _signature, cost, methods, trace
from momentree.compile.trace.tape import Tape
from momentree.equations import newton_euler
from momentree.equations.evaluation import Evaluation
from momentree.spatial.scalar import FUNCTIONS

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", "-ffp-contract=off"]
TIGHT = 1e-12  # of the largest number that is compared
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
needs_gxx = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")


def compiled(source):
    library = source.with_suffix(".so")
    subprocess.run(["gcc", *STRICT, "-shared", "-fPIC", source, "-o", library, "-lm"], check=True)
    return ctypes.CDLL(str(library))


def called(function, size, *arguments):
    """The result of a function of the library; numbers are passed by value, the rest as arrays."""
    out = np.full(size, np.nan)
    passed = [ctypes.c_double(x) if isinstance(x, float) else as_pointer(np.asarray(x, float)) for x in arguments]
    function.restype = None
    function(*passed, as_pointer(out))
    return out


def as_pointer(array):
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def near(found, expected, tolerance=TIGHT):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max(initial=0.0)))


def compare(system, folder, q, v, x, t, parameters=(), expected=None):
    """Every exported function against the system (or another one that stands for it)."""
    expected, n = expected or system, system.nv
    system.export_c(folder / "it.c")
    library, more = compiled(folder / "it.c"), [parameters] if len(parameters) else []
    near(called(library.it_mass_matrix, n * n, q, t, *more).reshape(n, n), expected.mass_matrix(q, t))
    near(called(library.it_bias, n, q, v, t, *more), expected.bias(q, v, t))
    near(called(library.it_inverse_dynamics, n, q, v, x, t, *more), expected.inverse_dynamics(q, v, x, t))
    near(called(library.it_forward_dynamics, n, q, v, x, t, *more), expected.forward_dynamics(q, v, x, t))


# --- mechanisms ---


def arm(n=6):
    """Hinges about coordinate axes, two of them met from their second frame, with a spring, damping and a torque."""
    random = np.random.default_rng(n)
    m = mt.Model("arm")
    body = m.ground
    for i in range(n):
        frame = body.at(random.uniform(-0.5, 0.5, 3), mt.turn("x", random.uniform(-1, 1)))
        body = m.body(f"link{i}", mass=random.uniform(1, 2), com=random.uniform(-0.2, 0.2, 3), inertia=(0.3, 0.4, 0.5))
        ends = [frame, body.at((0.1, 0.2, 0.3))]
        joint = mt.Revolute("zxy"[i % 3], spring=2.0 * (i == 2), damping=0.1 * i)
        m.joint(f"hinge{i}", joint, *(reversed(ends) if i in (1, 4) else ends))
    m.torque("hinge0", "0.3*sin(hinge0) - hinge1'")
    return m


def loaded(random):
    """Every joint type, a moving ground, prescribed joints, every kind of force."""
    m = mt.Model("loaded", gravity=(1.0, -2.0, -9.0))
    m.ground.moves(("0.5*t", "t^2", "sin(t)"), ("0.4*t", "-0.7*t", "t*(1+t)"))
    carrier = m.body("carrier", mt.sphere(mass=1.0, radius=0.1))
    m.joint("driver", mt.Cylindrical("z", motion=("0.3*sin(t)", "2*t*(1 - t)")), m.ground, carrier)
    arm = m.body("arm", mt.box(mass=1.0, size=(0.3, 0.2, 0.1)))
    m.joint("swivel", mt.Spherical(motion=("t", "-2*t", "0.5*t + 0.1*t^2")), carrier.at((1, 0, 0)), arm)
    m = random_tree(random, list(random.permutation(EVERY_JOINT)), m)
    wheel = m.body("wheel", mt.cylinder(mass=1.0, radius=0.2, length=0.1))
    m.joint("hinge", mt.Revolute("y", spring=3.0, rest=0.2, damping=0.5), arm.at((0, 0.2, 0)), wheel)
    m.torque("hinge", "max(sin(t), -2*hinge) + min(hinge', 1) + sign(hinge)*select(hinge', tanh(hinge'), 2)")
    m.force(random_frame(random, wheel), ("t", "1 + hinge", 2), moment=(0.1, "hinge'", 0), axes="body")
    m.force(random_frame(random, m.bodies[3]), (1, "cos(t)", -2), moment=(0, 0.3, 0))
    m.spring(random_frame(random, wheel), random_frame(random, m.bodies[5]), 20.0, damping=2.0, rest=0.1)
    m.spring(m.ground.at((0, 0, 5)), random_frame(random, m.bodies[4]), 10.0, rest=0.5, tension_only=True)
    return m.build()


def swing(length, rest=0.4, w=1.5, free=()):
    """Parameters in a place, an inertia, a spring, a prescribed motion and a torque."""
    m = mt.Model("swing")
    for name, value in (("length", length), ("rest", rest), ("w", w)):
        m.parameter(name, value)
    post, beam = (m.body(name, mt.rod(mass=1.0, length="length")) for name in ("post", "beam"))
    tip = m.body("tip", mass="2*length", inertia=(0.1, 0.2, 0.15))
    m.joint("drive", mt.Revolute("z", motion="sin(w*t)"), m.ground, post)
    m.joint("A", mt.Revolute("y", spring=3.0, rest="rest"), post.at(("length", 0, 0)), beam)
    m.joint("B", mt.Revolute("x"), beam.at(("length", 0, 0.1)), tip)
    m.torque("B", "w^2*cos(w*t) - rest*B'")
    return m.build(free=free)


def prescribed():
    m = mt.Model("on a turntable")
    table, link, slider = (m.body(name, mt.rod(mass=1.0, length=1.0)) for name in ("table", "link", "slider"))
    m.joint("turn", mt.Revolute("z", motion="0.5*t^2"), m.ground, table)
    m.joint("A", mt.Universal("x", "y"), table.at((0.4, 0, 0)), link)
    m.joint("S", mt.Prismatic("x"), link.at((0.2, 0, 0)), slider)
    return m.build()


# --- the numbers of the system ---


@pytest.mark.long
@needs_gcc
def test_an_arm_of_six_hinges(tmp_path):
    compare(arm().build(), tmp_path, *np.random.default_rng(0).uniform(-2, 2, (3, 6)), 0.0)


@needs_gcc
def test_a_loop_whose_rows_are_redundant(tmp_path):
    system = bennett().build()
    start = system.assemble({"R1": 1.0}, velocities={"R1": 0.7})
    compare(system, tmp_path, start.q, start.v, np.array([1.0, -2.0, 3.0]), 0.0)


@pytest.mark.long
@needs_gcc
def test_a_tree_with_every_joint_type_and_every_force(tmp_path):
    random = np.random.default_rng(3)
    system = loaded(random)
    q = random_configuration(random, system)
    compare(system, tmp_path, q, *random.standard_normal((2, system.nv)), 0.7)


@needs_gcc
@pytest.mark.parametrize("t", [0.0, 1.3])
def test_prescribed_joints_move_with_time(tmp_path, t):
    compare(prescribed(), tmp_path, *np.random.default_rng(1).uniform(-1, 1, (3, 3)), t)


@needs_gcc
def test_free_parameters_are_one_argument_more_in_the_order_given(tmp_path):
    q, v, x = np.random.default_rng(2).uniform(-1, 1, (3, 2))
    system = swing(1.0, free=["w", "length", "rest"])
    compare(system, tmp_path, q, v, x, 0.6, parameters=(2.5, 1.7, -0.2), expected=swing(1.7, -0.2, 2.5))


@needs_gcc
def test_free_masses_still_regroup(tmp_path):
    def build(mass, free=()):
        m = arm(3)
        m.parameter("mass", mass)
        m.joint("last", mt.Revolute("z"), m.bodies[-1].at((0.2, 0, 0)), m.body("tool", mass="mass", inertia=(1, 1, 1)))
        return m.build(free=free)

    at = np.random.default_rng(4).uniform(-1, 1, (3, 4))
    compare(build(1.0, ["mass"]), tmp_path, *at, 0.0, parameters=(3.5,), expected=build(3.5))


@needs_gcc
def test_a_mechanism_that_cannot_move_has_functions_of_nothing(tmp_path):
    m = mt.Model("statue")
    m.joint("weld", mt.Fixed(), m.ground, m.body("stone", mt.sphere(mass=1.0, radius=1.0)))
    compare(m.build(), tmp_path, [], [], [], 0.0)


# --- the numbers of the tape ---

VALUES = [0.3, -0.7, 1.9, -2.6, 0.0, 1e3, -1e-9, math.inf, -math.inf, math.nan]
ARITHMETIC = {
    "sum": lambda x, y, z: x + y - z * 0.1,
    "product": lambda x, y, z: -x * y * -3 / 7,
    "quotient": lambda x, y, z: x / y,
    "power": lambda x, y, z: abs(x) ** y,
    "powers": lambda x, y, z: x**3 + y**-2,
    "negated extremes": lambda x, y, z: mt.select(-x, -y, 2.5) - FUNCTIONS["max"](-x, 0.3) * FUNCTIONS["min"](y, -x),
}
OF_TWO = {"atan2", "min", "max"}
FORMULAS = ARITHMETIC | {
    name: (lambda x, y, z, f=f, name=name: f(x, y, z) if name == "select" else f(x, y) if name in OF_TWO else f(x))
    for name, f in FUNCTIONS.items()
}


@needs_gcc
def test_every_operation_gives_what_the_tape_gives(tmp_path):
    tape = Tape()
    inputs = tape.inputs("v5", "x", "t")  # the names of inputs never meet those of operations
    tape.outputs([formula(*inputs) for formula in FORMULAS.values()])
    text = c_function(tape, "formulas", [("a", ["v5", "x"]), ("t", ["t"])])
    (tmp_path / "formulas.c").write_text(
        f"void formulas(const double *, double, double *);\n{c_preamble([tape])}{text}"
    )
    library = compiled(tmp_path / "formulas.c")
    triples = np.random.default_rng(0).choice(VALUES, (400, 3))
    for x, y, z in triples.tolist():
        expected = tape.evaluate({"v5": x, "x": y, "t": z})
        found = called(library.formulas, len(FORMULAS), [x, y], z)
        # libraries of functions differ in the last digit
        np.testing.assert_allclose(found, np.array(expected, dtype=float), rtol=1e-15, atol=0, err_msg=f"{x, y, z}")


@pytest.mark.parametrize(
    ("value", "text"),
    [(2, "2.0"), (-0.5, "-0.5"), (0.1, "0x1.999999999999ap-4"), (1e22, "1e+22"), (math.inf, "INFINITY")],
)
def test_numbers_are_exact(value, text):
    assert c_number(value) == text
    assert math.isinf(value) or (float.fromhex(text) if "0x" in text else float(text)) == value


def test_what_is_not_needed_is_not_written():
    tape = Tape()
    x, y = tape.inputs("x", "y")
    _ = FUNCTIONS["sin"](y)
    tape.outputs([x * x])
    text = c_function(tape, "square", [("x", ["x"]), ("y", ["y"])])
    assert text == (
        "void square(double x, double y, double *restrict out)\n{\n"
        "    (void)y;\n    const double v6 = x * x;\n    out[0] = v6;\n}\n"
    )
    assert c_preamble([tape]) == "#include <math.h>\n"


# --- the methods ---


def test_forward_dynamics_is_traced_by_the_method_with_fewer_operations():
    for n, names in ((6, ["forward_dynamics", "_by_solving"]), (FEW + 1, ["forward_dynamics"])):
        mechanism = arm(n).build().mechanism
        signature, tried = _signature(mechanism, "forward_dynamics"), methods(mechanism, "forward_dynamics")
        costs = {method.formula.__name__: cost(method.tape(mechanism, signature)) for method in tried}
        assert list(costs) == names
        assert cost(trace(mechanism, "forward_dynamics")[0]) == costs[names[-1]] == min(costs.values())


def test_inverse_dynamics_regroups_inertias():
    mechanism = arm().build().mechanism
    plain = Tape()
    q, v, a = ([plain.input(f"{name}{i}") for i in range(6)] for name in "qva")
    plain.outputs(newton_euler.inverse_dynamics(Evaluation(mechanism, q), v, a))
    assert cost(trace(mechanism, "inverse_dynamics")[0]) < 0.9 * cost(plain)


# --- the files ---


@needs_gxx
@pytest.mark.parametrize("build", [lambda: arm().build(), lambda: swing(1.0, free=["w"])])
def test_the_header_is_c_plus_plus_too_and_may_be_included_twice(tmp_path, build):
    build().export_c(tmp_path / "it.c")
    (tmp_path / "main.cpp").write_text(
        '#include "it.h"\n#include "it.h"\nstatic double out[IT_NV > 0 ? IT_NV * IT_NQ : 1];\n'
        "int main() { const auto bias = &it_bias; (void)bias; return out[0] > 0; }\n"
    )
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    subprocess.run(["g++", *strict, "main.cpp"], cwd=tmp_path, check=True)


@needs_gcc
def test_the_header_names_every_entry_and_no_name_ends_its_comment(tmp_path):
    m = mt.Model("a */ b /* c ??/")
    m.parameter("length", 1.25)
    m.joint("hip */", mt.Revolute("y"), m.ground, m.body("leg", mt.rod(mass=1.0, length="length")))
    m.joint("ball", mt.Spherical(), m.bodies[0].at((1, 0, 0)), m.body("foot", mt.sphere(mass=1.0, radius=0.1)))
    m.build(free=["length"]).export_c(tmp_path / "leg.c")
    compiled(tmp_path / "leg.c")
    header = (tmp_path / "leg.h").read_text(encoding="utf-8")
    for line in (
        "#ifndef LEG_H",
        "#define LEG_H",
        "#define LEG_NQ 5",
        "#define LEG_NV 4",
        "#define LEG_NP 1",
        " *     q[0]  `hip * /`  (rad)",
        " *     q[4]  ball.qw  (1)",
        " *     v[1]  ball.wx  (rad/s; vdot rad/s2; tau N m)",
        " *     parameters[0]  length  (in the model 1.25)",
        "void leg_mass_matrix(const double *q, double t, const double *parameters, double *out);",
    ):
        assert f"\n{line}\n" in header


@pytest.mark.long
def test_the_same_system_gives_the_same_text_in_every_process(tmp_path):
    paths = [str(Path(__file__).parent), str(Path(mechanisms.__file__).parent)]
    code = f"import sys; sys.path[:0] = {paths}; from test_c_code import swing; "
    code += "swing(1.0, free=['w', 'rest']).export_c('it.c')"
    texts = []
    for seed in "12":
        (tmp_path / seed).mkdir()
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path / seed, env=environment, check=True)
        texts.append([(tmp_path / seed / f"it.{suffix}").read_bytes() for suffix in "ch"])
    assert texts[0] == texts[1]


def test_only_what_is_wanted_is_written(tmp_path):
    system = four_bar().build()
    system.export_c(tmp_path / "linkage.c", what="mass_matrix")
    written = (tmp_path / "linkage.c").read_text() + (tmp_path / "linkage.h").read_text()
    assert [what for what in QUANTITIES if f"linkage_{what}(" in written] == ["mass_matrix"]


@pytest.mark.parametrize(
    ("build", "file", "what", "words"),
    [
        (prescribed, "arm.cpp", QUANTITIES, r"the name of a C file must end in \.c\. Try '.*arm\.c'"),
        (prescribed, "arm", QUANTITIES, r"the name of a C file must end in \.c"),
        (prescribed, "nowhere/arm.c", QUANTITIES, "there is no folder '.*nowhere'"),
        (prescribed, "six-axis.c", QUANTITIES, "file 'six-axis': C names are .* Try 'six_axis'"),
        (prescribed, "class.c", QUANTITIES, "file 'class': the name means something else"),
        (prescribed, "arm.c", ["mass"], "no quantity 'mass' to trace. .*'mass_matrix'"),
        (prescribed, "arm.c", [], "`what` is empty"),
    ],
)
def test_refusals_name_the_culprit_and_leave_no_file(tmp_path, build, file, what, words):
    with pytest.raises(mt.MomentreeError, match=words):
        build().export_c(tmp_path / file, what)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "arm.c").mkdir()
    with pytest.raises(mt.MomentreeError, match=r"arm\.c: cannot be written: it is a folder"):
        prescribed().export_c(tmp_path / "arm.c")


@pytest.mark.parametrize(
    "name", ["", "2fast", "a b", "a-b", "_hidden", "größe", "x;", "x\n", "while", "class", "sin", "NAN"]
)
def test_names_that_are_no_identifiers_are_refused(name):
    tape = Tape()
    tape.outputs([tape.input("x")])
    with pytest.raises(mt.MomentreeError, match="function '"):
        c_function(tape, name, [("a", ["x"])])
    with pytest.raises(mt.MomentreeError, match="argument '"):
        c_function(tape, "f", [(name, ["x"])])


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ([("a", ["x"])], "input 'y' is in no argument, but the outputs need it"),
        ([("a", ["x", "y"]), ("b", ["x"])], "argument 'b': 'x' appears in two columns"),
        ([("a", ["x"]), ("a", ["y"])], "argument 'a' appears twice"),
        ([("out", ["x"]), ("a", ["y"])], "argument 'out': the name is taken"),
        ([("v3", ["x"]), ("a", ["y"])], "argument 'v3': the name is taken"),
    ],
)
def test_arguments_that_do_not_fit_the_tape_are_refused(arrays, words):
    tape = Tape()
    x, y = tape.inputs("x", "y")
    tape.outputs([x * y])
    with pytest.raises(mt.MomentreeError, match=words):
        c_function(tape, "f", arrays)
