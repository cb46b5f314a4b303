"""Readable equations of programmes: they follow from the Lagrangian and the Rayleigh function beside them."""

from __future__ import annotations

import json
from functools import cache

import mpmath
import numpy as np
import pytest
import sympy as sp

from momentree.errors import MomentreeError
from momentree.programmes import programme

BLADE = "x'*sin(phi) = y'*cos(phi)"
COUPLED = [
    ["d1", 0, "-v/w*d1*cos(phi)"],
    [0, "d2", "-v/w*d2*sin(phi)"],
    ["-v/w*d1*cos(phi)", "-v/w*d2*sin(phi)", "d3"],
]
PLANE = [["2 + cos(y)", "x/4"], ["x/4", 3]]
SPACE = [["2 + cos(y)", "x/8", 0], ["x/8", "3 + y^2", "sin(t)/2"], [0, "sin(t)/2", "2 + x^2"]]


def cart(mode="DQ", **more):
    parameters = {"v": 1, "w": 1, "d1": 10, "d2": 5, "d3": 11}
    return programme(
        "x y phi",
        [BLADE],
        velocity={"x": "v*cos(phi)", "phi": "w"},
        **{"dissipation": COUPLED, "parameters": parameters, "mode": mode, "name": "cart", **more},
    )


@cache
def cart_equations():
    return cart().equations()


def rheonomic_plane():
    return programme("x y", "y' = sin(x) + t", velocity={"x": "x*y"}, mass=PLANE, gain=2)


def rheonomic_space():
    velocity = {"x": "y*z", "y": "sin(x) + t"}
    return programme("x y z", "z' = x*y' + x'", velocity=velocity, mass=SPACE, dissipation=["2 + y^2", 3, 4])


def rayleigh_plane():
    """Mode DQ with Psi = 3 x + y^2 t + x y/2, which increases along v."""
    velocity = {"x": "1 + x^2", "y": "2*t*y"}
    K = [[1, 0], [0, "2 + sin(x)"]]
    return programme(
        "x y", "y' = 2*t*y", velocity=velocity, mass=PLANE, potential="3*x + y^2*t + x*y/2", K=K, mode="DQ"
    )


def rayleigh_space():
    return cart(mass=["2 + x^2", 1, "3 + cos(phi)"])


def circle():
    """Round the origin, and toward the circle of radius r."""
    how = {"wanted": ["-y", "x"], "position_gain": 2, "parameters": {"r": 1}}
    return programme("x y", "x^2 + y^2 = r^2", gain=2, region={"x": (0.5, 1)}, **how)


long_space = pytest.param(rheonomic_space, marks=pytest.mark.long)


@pytest.mark.parametrize("make", [cart, rheonomic_plane, rheonomic_space, rayleigh_plane, rayleigh_space])
@pytest.mark.repeats(1)
def test_the_equations_follow_from_the_lagrangian_and_the_rayleigh_function(make):
    """f_i = d/dt dL/dq'_i - dL/dq_i + dD/dq'_i, differentiated by SymPy; and q'' solves f = 0."""
    made = make()
    equations = made.equations()
    all_of, chosen = equations.sympy(), np.random.default_rng(3)
    q, qd, qdd, t = (all_of[name] for name in ("coordinates", "velocities", "accelerations", "t"))
    L, D = equations.lagrangian, all_of["D"]
    along = [*zip((*q, *qd), (*qd, *qdd), strict=True), (t, sp.Integer(1))]
    expected = [
        sum(L.diff(v).diff(a) * b for a, b in along) - L.diff(x) + D.diff(v) for x, v in zip(q, qd, strict=True)
    ]
    solved = [equation.rhs for equation in all_of["equations"]]
    symbols = [*q, *qd, t, *all_of["parameters"]]
    one, other, right = (
        sp.lambdify([*symbols, *qdd], xs, "mpmath", cse=True) for xs in (expected, [*all_of["f"]], solved)
    )
    with mpmath.workdps(40):
        for _ in range(3):
            at = [mpmath.mpf(int(chosen.integers(1, 20))) / 13 for _ in symbols]
            anything = [mpmath.mpf(i) / 7 for i in range(len(q))]
            assert all(abs(a - b) < 1e-30 for a, b in zip(one(*at, *anything), other(*at, *anything), strict=True))
            assert all(abs(x) < 1e-30 for x in other(*at, *right(*at, *anything)))
            assert max(map(abs, other(*at, *anything))) > 1e-3
    assert made.helmholtz()


@pytest.mark.long
@pytest.mark.parametrize("make", [cart, rheonomic_plane, circle, long_space])
def test_what_is_shown_is_what_is_compiled(make):
    """Blocks are simplified: at random states they have the values of machine code."""
    made = make()
    equations, chosen = made.equations(), np.random.default_rng(1)
    s, n = equations.symbols, len(made.coordinates)
    q, qd, t = chosen.normal(size=n), chosen.normal(size=n), 0.7
    u = made.deviation(q, qd, t)
    qdd = made.accelerations(q, qd, t)
    at = dict(zip((*s.q, *s.qd, *s.u, *s.qdd), (*q, *qd, *u, *qdd), strict=True)) | {s.t: t} | dict(s.parameters)
    blocks = {block.kind: block for block in equations.blocks}
    assert all(
        float((left - right).subs(at)) == pytest.approx(0, abs=1e-10)
        for kind in ("deviations", "motion")
        for left, right in blocks[kind].lines
    )
    for kind, matrix in (
        ("perturbations", made.coefficients(q, qd, t)),
        ("decay", made.decay_matrix(q, t)),
        ("dissipation", made.dissipation(q, t)),
    ):
        shown = {str(left): float(right.subs(at)) for left, right in blocks[kind].lines}
        names = [
            f"{name}_{i + 1}{j + 1}" for name in [str(blocks[kind].lines[0][0])[0]] for i in range(n) for j in range(n)
        ]
        kept = [name for name in names if name in shown]
        assert [shown[name] for name in kept] == pytest.approx([matrix[int(x[2]) - 1, int(x[3]) - 1] for x in kept])


def test_the_gyroscopic_force_has_the_sign_of_the_theory():
    """3.8 with v = (0, x): g_12 = dv_2/dx = 1, and x'' = -g_12 y' + ..."""
    made = programme("x y", velocity={"x": 0, "y": "x"}, constraints="y' = x*1 + 0*x'")
    all_of = made.equations().sympy()
    assert all_of["g"] == sp.Matrix([[0, 1], [-1, 0]])
    x, yd = all_of["coordinates"][0], all_of["velocities"][1]
    assert sp.expand(all_of["equations"][0].rhs - (x - yd)) == 0


# --- mode DQ ---


def test_psi_of_the_cart():
    """programme.md 4.2: Psi = 7 phi/2 - 5 sin(2 phi)/4 for d = (10, 5, 11), v = w = 1."""
    equations = cart_equations()
    phi = equations.symbols.q[2]
    psi = equations.psi.subs(equations.symbols.parameters)
    assert sp.simplify(psi - (sp.Rational(7, 2) * phi - sp.Rational(5, 4) * sp.sin(2 * phi))) == 0


def test_a_given_potential_is_psi():
    equations = rayleigh_plane().equations()
    x, y = equations.symbols.q
    assert equations.psi == 3 * x + y**2 * equations.symbols.t + x * y / 2


def test_dissipation_without_a_potential_has_no_lagrangian_in_mode_dq():
    """d = diag(10, 5, 11): (d v)_1 = 10 cos(phi) depends on phi, (d v)_3 does not depend on x."""
    made = cart(dissipation=["d1", "d2", "d3"])
    report = made.helmholtz()
    assert {failure.number for failure in report.failures} == {"(4.3)", "(4.10)"}
    pairs = {(failure.indices, failure.names) for failure in report.failures if failure.number == "(4.10)"}
    assert pairs == {((1, 3), ("x", "phi")), ((2, 3), ("y", "phi"))}
    for failure in report.failures:
        assert failure.value == pytest.approx(float(failure.residual.subs(failure.witness)))
    equations = made.equations()
    with pytest.raises(MomentreeError, match=r"no Lagrangian, because d v is no gradient: \(4.10\) fails for"):
        _ = equations.lagrangian
    assert equations.sympy()["L"] is None
    assert "Mode 'DQ' has no Lagrangian here" in str(equations)
    assert cart("DU", dissipation=["d1", "d2", "d3"]).helmholtz().proved


@pytest.mark.long
def test_4_10_may_hold_for_the_given_parameters_alone():
    d = [["d1", 0, "-d1*cos(phi)"], [0, "d2", "-d2*sin(phi)"], ["-d1*cos(phi)", "-d2*sin(phi)", "d3"]]
    made = cart(dissipation=d)
    assert made.helmholtz()
    equations = made.equations()
    assert "(4.10) holds for these values" in str(equations)
    assert not equations.violations
    other = made.with_parameters(v=2)
    assert not other.helmholtz()
    assert other.equations().violations


def test_psi_without_a_closed_form_is_said_to_have_none():
    made = programme("x y", "y' = 0", velocity={"x": 1}, dissipation=["3 + sin(sin(x))", 1], mode="DQ")
    assert made.helmholtz()
    equations = made.equations()
    assert "Ψ = " not in str(equations)
    assert "Psi was not found in closed form" in str(equations)
    with pytest.raises(MomentreeError, match="not found in closed form"):
        _ = equations.lagrangian


# --- as a reader sees them ---


def test_the_cart_as_a_lecturer_writes_it():
    lines = str(cart_equations()).splitlines()
    assert lines[:9] == [
        "cart: equations of motion built from constraints, mode DQ",
        "",
        "constraints a q′ = b (2.1)",
        "  x′ sin(φ) - y′ cos(φ) = 0",
        "",
        "programme q′ = v (2.2)",
        "  x′ = v cos(φ)",
        "  y′ = v sin(φ)",
        "  φ′ = w",
    ]
    for line in (
        "  x″ = v (d₁ cos(φ)/w - sin(φ)) φ′ - d₁ x′",
        "  y″ = v (cos(φ) + d₂ sin(φ)/w) φ′ - d₂ y′",
        "  T₂ = ½ (x′² + y′² + φ′²)",
        "  g₁₃ = v sin(φ)",
        "  d₁₃ = -v d₁ cos(φ)/w",
        "  p₁₁ = -d₁",
    ):
        assert line in lines
    assert len(lines) < 60


def test_undamped_equations_are_those_of_6_4():
    """x'' + v sin(phi) phi' = 0, y'' - v cos(phi) phi' = 0, phi'' - v sin(phi) x' + v cos(phi) y' = 0."""
    lines = str(cart("DU", dissipation=None).equations()).splitlines()
    assert "  x″ = -v φ′ sin(φ)" in lines
    assert "  y″ = v φ′ cos(φ)" in lines
    assert any(line in lines for line in ("  φ″ = v (x′ sin(φ) - y′ cos(φ))", "  φ″ = v x′ sin(φ) - v y′ cos(φ)"))


@pytest.mark.long
def test_common_factors_of_quotients_are_cancelled():
    lines = str(circle().equations()).splitlines()
    assert "  x′ = x (r² - x² - y²)/(x² + y²) - y" in lines
    assert "  g₁₂ = 2" in lines


def test_latex_and_data(tmp_path):
    equations = cart_equations()
    fragment = equations.latex(tmp_path / "cart.tex")
    assert r"\ddot{x} &= v \left(\frac{d_{1} \cos \phi}{w} - \sin \phi\right) \dot{\phi} - d_{1} \dot{x}" in (
        fragment.replace(r"& \ddot{x} = ", r"\ddot{x} &= ")
    )
    assert r"\begin{document}" in (tmp_path / "cart.tex").read_text(encoding="utf-8")
    assert equations._repr_latex_() == fragment
    with pytest.raises(MomentreeError, match=r"\.tex file"):
        equations.latex(tmp_path / "cart.pdf")
    data = json.loads(json.dumps(equations.data()))
    assert data["mode"] == "DQ"
    assert data["operations"]["trigonometric"] == 2


def test_show_prints(capsys):
    cart_equations().show()
    assert "Lagrangian" in capsys.readouterr().out
