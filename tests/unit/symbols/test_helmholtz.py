"""Helmholtz conditions: Lagrangian systems pass, others fail at a witness point that really violates a condition."""

from __future__ import annotations

import json
import random

import pytest
import sympy as sp
from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols

import momentree as mt
from constrained import parametrized
from momentree.errors import MomentreeError
from momentree.symbols.helmholtz import helmholtz

x, y, z, t, c, k = sp.symbols("x y z t c k")
xd, yd, zd, xdd, ydd, zdd = sp.symbols("x' y' z' x'' y'' z''")
OSCILLATOR = xdd + c * xd + x
CIRCULATORY = [xdd + k * y, ydd - k * x]
PLANE = ([x, y], [xd, yd], [xdd, ydd])
SPACE = ([x, y, z], [xd, yd, zd], [xdd, ydd, zdd])


def euler_lagrange(L, q, qd, qdd, D=0):
    """d/dt dL/dq' - dL/dq + dD/dq', by hand."""
    along = [*zip((*q, *qd), (*qd, *qdd), strict=True), (t, 1)]
    left = [sum(L.diff(v).diff(a) * b for a, b in along) - L.diff(u) for u, v in zip(q, qd, strict=True)]
    return [sp.expand(e + sp.S(D).diff(v)) for e, v in zip(left, qd, strict=True)]


def numbers(report):
    return {failure.number for failure in report.failures}


# --- Lagrangian systems ---


def test_sympys_double_pendulum_is_lagrangian():
    a, b = dynamicsymbols("a b")
    m1, m2, l1, l2, g = sp.symbols("m1 m2 l1 l2 g", positive=True)
    first, second = sp.Matrix([l1 * sp.sin(a), -l1 * sp.cos(a)]), sp.Matrix([l2 * sp.sin(b), -l2 * sp.cos(b)])
    v1, v2 = first.diff(dynamicsymbols._t), (first + second).diff(dynamicsymbols._t)
    L = m1 * v1.dot(v1) / 2 + m2 * v2.dot(v2) / 2 - g * (m1 * first[1] + m2 * (first + second)[1])
    f = LagrangesMethod(L, [a, b]).form_lagranges_equations()
    report = helmholtz(f, [a, b])
    assert report
    assert report.proved


def test_equations_of_a_mechanism_are_lagrangian_until_it_is_damped():
    """Momentree's own equations, by the theorem of kinetic energy, of two hinged rods with a spring and a damper."""
    m = parametrized("arm", (0, -9.81, 0), l=1.0, k=2.0, c=0.5)
    first, second = (m.body(name, mt.rod(mass=1.0, length="l")) for name in ("first", "second"))
    m.joint("A", mt.Revolute("z"), m.ground, first)
    m.joint("B", mt.Revolute("z"), first.at(("l", 0, 0)), second)
    m.torque("B", "-k*B")
    m.torque("A", "-c*A'")
    found = m.build().equations().expanded.sympy()
    f = found["A"] * sp.Matrix(found["accelerations"]) + found["b"] - found["Q"]
    damped = (found["coordinates"], found["velocities"], found["accelerations"])
    (failure,) = helmholtz(f, *damped).failures
    assert (failure.number, failure.names, str(failure.residual)) == ("(3.3)", ("A", "A"), "2*c")
    assert str(helmholtz(sp.ImmutableMatrix(f), *damped, dissipation="unknown").rayleigh) == "A'**2*c/2"


def test_a_charge_in_a_magnetic_field_is_lagrangian():
    A = [y * z**2, sp.sin(x) * z, x**2 * y]
    L = (xd**2 + yd**2 + zd**2) / 2 + k * sum(a * v for a, v in zip(A, SPACE[1], strict=True)) - x * y
    f = euler_lagrange(L, *SPACE)
    assert helmholtz(f, *SPACE).proved
    # a field with sources (div B = 1) has no vector potential: by hand f = x'' - k x' x B, B = (x, 0, 0)
    monopole = [xdd, ydd - k * zd * x, zdd + k * yd * x]
    assert numbers(helmholtz(monopole, *SPACE)) == {"(3.4)"}


@pytest.mark.long
def test_geodesics_are_lagrangian():
    m = sp.Matrix([[1 + x**2, x * y], [x * y, 2 + sp.cos(x)]])
    v = sp.Matrix([xd, yd])
    f = euler_lagrange((v.T * m * v)[0] / 2, *PLANE)
    assert helmholtz(f, *PLANE).proved
    # solved for the accelerations it is the same motion, but no Lagrangian has the equations in this form
    assert numbers(helmholtz(m.inv() * sp.Matrix(f), *PLANE)) == {"(3.3)", "(3.4)"}


def test_one_degree_of_freedom_with_an_integrating_factor():
    """Bateman 1931: the damped oscillator times exp(c t) has the Lagrangian exp(c t) (x'^2 - x^2)/2."""
    assert helmholtz(sp.exp(c * t) * OSCILLATOR, x, xd, xdd, t).proved
    assert not helmholtz(sp.exp(k * t) * OSCILLATOR, x, xd, xdd, t)


def test_an_undefined_metric_is_proved_without_numbers():
    g = sp.Function("g")(x, y)
    assert helmholtz(euler_lagrange(g * (xd**2 + yd**2) / 2, *PLANE), *PLANE).proved
    with pytest.raises(MomentreeError, match="Give a formula instead of an undefined function"):
        helmholtz([xdd + g, ydd], *PLANE)


# --- systems that are not ---


def test_a_damped_oscillator_fails_without_its_rayleigh_function():
    report = helmholtz(OSCILLATOR, x, xd, xdd)
    (failure,) = report.failures
    assert (failure.number, failure.indices, failure.residual) == ("(3.3)", (1, 1), 2 * c)
    assert failure.value == pytest.approx(float((2 * c).subs(failure.witness)))
    assert helmholtz(OSCILLATOR, x, xd, xdd, dissipation=c * xd**2 / 2).proved
    assert numbers(helmholtz(OSCILLATOR, x, xd, xdd, dissipation=c * xd**2)) == {"(4.2)"}
    assert helmholtz(OSCILLATOR, x, xd, xdd, dissipation="unknown").rayleigh == c * xd**2 / 2


def test_a_circulatory_force_fails():
    (failure,) = helmholtz(CIRCULATORY, *PLANE).failures
    assert (failure.number, failure.indices, failure.residual) == ("(3.4)", (1, 2), 2 * k)
    # in a Rayleigh function it is the linear term -k (x y' - y x'), or any other that differs by a gradient
    D = helmholtz(CIRCULATORY, *PLANE, dissipation="unknown").rayleigh
    assert helmholtz(CIRCULATORY, *PLANE, dissipation=D).proved
    assert helmholtz(CIRCULATORY, *PLANE, dissipation=-k * (x * yd - y * xd)).proved
    assert D.diff(xd, y) - D.diff(yd, x) == 2 * k


@pytest.mark.parametrize(
    ("f", "number"),
    [
        ([xdd + ydd, ydd + x], "(3.2)"),
        ([xdd**2, ydd], "(3.5)"),
        ([xdd + xd, ydd], "(3.3)"),
        ([xdd + y, ydd], "(3.4)"),
        ([xdd + t * yd, ydd - t * xd], "(3.4)"),
    ],
)
def test_each_condition_is_violated_at_its_witness(f, number):
    report = helmholtz(f, *PLANE, t=t)
    assert number in numbers(report)
    for failure in report.failures:
        value = failure.residual.subs(failure.witness)
        assert value.is_Number
        assert value != 0
        assert failure.value == pytest.approx(float(value))


def test_third_derivatives_count():
    """d/dt df/dx'' holds x''' where f is not linear in x''; with it the residual of (3.3) is -4 x'''."""
    (failure,) = [one for one in helmholtz(xdd**2, x, xd, xdd).failures if one.number == "(3.3)"]
    third = next(iter(failure.residual.free_symbols))
    assert failure.residual == -4 * third
    assert str(third) == "x'''"
    assert third in failure.witness


# --- an unknown Rayleigh function ---


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 6))])
def test_an_unknown_rayleigh_function_is_found(seed):
    """Position forces always have one, linear in velocities; others only if it is the same for all of them."""
    chosen = random.Random(seed)
    qd = SPACE[1]
    terms = [x * y, sp.sin(z), y**2, x + z, sp.cos(x), sp.Integer(2), y * t, x * z**2, 1 + y]
    D = sum(chosen.choice(terms) * a * b for a in qd for b in qd) + sum(chosen.choice(terms) * a for a in qd)
    D += xd**3 * y + xd**2 * yd
    L = (2 + sp.cos(x)) * (xd**2 + yd**2 + zd**2) / 2 - x * y * z
    f = euler_lagrange(L, *SPACE, D)
    report = helmholtz(f, *SPACE, t, "unknown", samples=5)
    assert report
    assert helmholtz(f, *SPACE, t, report.rayleigh, samples=5)
    assert not helmholtz(f, *SPACE, t, report.rayleigh + x * yd, samples=5)


@pytest.mark.parametrize(
    ("f", "name"),
    [
        ([xdd + xd * ydd, ydd + xd * xdd, zdd], "K1"),  # s_11 = y''
        ([xdd + yd * xd, ydd, zdd], "K2"),  # s_11 = y', s_12 = x'/2
        ([xdd, ydd - k * zd * x, zdd + k * yd * x], "K3"),  # a magnetic field with sources: s = 0, r_23 = k x'
        ([xdd, ydd - t * zd * x, zdd + t * yd * x], "K4"),  # one that grows: r_23 = x + t x'
    ],
)
def test_forces_without_any_rayleigh_function(f, name):
    report = helmholtz(f, *SPACE, t, "unknown")
    assert name in {failure.name for failure in report.failures}
    assert report.rayleigh is None


def test_coulomb_friction_is_tried_at_points():
    real = sp.Symbol("u", real=True)
    report = helmholtz(xdd + k * sp.sign(real), x, real, xdd, dissipation=k * sp.Abs(real))
    assert report


# --- what is proved and what is tried ---


def test_roots_are_tried_at_random_points_where_they_are_real():
    root = sp.sqrt(sp.sqrt(x + 1) + 1)
    L = xd**2 / (2 * root) + xd**2 * root / (2 * sp.sqrt(x + 1) + 2)
    f = euler_lagrange(L, [x], [xd], [xdd])
    report = helmholtz(f, x, xd, xdd, samples=7)
    assert report
    assert all(result.holds in ("identically", "at 7 random points") for result in report.results)
    with pytest.raises(MomentreeError, match="not real and finite at any"):
        helmholtz(xdd + sp.sqrt(-1 - x**2), x, xd, xdd)


def test_floats_are_taken_for_what_they_stand_for():
    assert helmholtz([xdd + 0.1 * y + 0.2 * y, ydd + 0.3 * x], *PLANE).proved
    assert helmholtz([xdd + 0.123456789012345 * y, ydd + 0.123456789012346 * x], *PLANE)
    assert not helmholtz([xdd + 0.1234 * y, ydd + 0.1235 * x], *PLANE)


def test_a_report_is_read_by_people_and_programs():
    report = helmholtz(OSCILLATOR, x, xd, xdd)
    lines = str(report).splitlines()
    assert lines[0] == "no Lagrangian has these equations as they stand (multiplied by a matrix, one may)"
    assert lines[5].split()[:2] == ["H3", "(3.3)"]
    assert lines[5].endswith("fails")
    assert lines[7].startswith("(3.3) fails for (i, k) = (1, 1), that is x, x: 2*c is not zero")
    data = json.loads(json.dumps(report.data()))
    assert not data["holds"]
    assert data["failures"][0]["residual"] == "2*c"
    assert str(helmholtz(xdd + x, x, xd, xdd)).startswith("these equations have a Lagrangian\n")


# --- mistakes ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([xdd], [x, y], [xd, yd], [xdd, ydd]), "1 equations f, 2 coordinates q"),
        (("x'' + x", x, xd, xdd), "Give a list of SymPy expressions"),
        ((["x'' + x"], x, xd, xdd), "text is not read here"),
        ((xdd + x, "x", xd, xdd), r"q\[0\] is 'x'"),
        ((xdd + x, x), "qd is missing"),
        ((xdd + x, x, x, xdd), "'x' is used for two of"),
        ((xdd + yd, x, xd, xdd), "has 'y'', which is not in q, qd or qdd"),
        ((xdd + sp.Symbol("x", real=True), x, xd, xdd), "they have other assumptions"),
        ((xdd + t * x, x, xd, xdd), "Say t=t if that is time"),
        ((xd + x, x, xd, xdd), "none of the accelerations x'' occurs in f"),
        ((xdd + x, x, xd, xdd, None, "unknwon"), "or 'unknown': is there any"),
        ((xdd + sp.zoo * x, x, xd, xdd), "is not finite"),
        ((xdd + x, x, xd, xdd, None, xdd), "dissipation depends on accelerations"),
    ],
)
def test_mistakes_are_named(arguments, message):
    with pytest.raises(MomentreeError, match=message):
        helmholtz(*arguments)


def test_functions_of_time_that_are_no_coordinates_are_named():
    a, b = dynamicsymbols("a b")
    with pytest.raises(MomentreeError, match="which is none of"):
        helmholtz(a.diff(dynamicsymbols._t, 2) + b, a)
