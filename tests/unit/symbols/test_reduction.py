"""Reduced equations: what textbooks derive with generalized speeds, and what cannot be reduced."""

from __future__ import annotations

from pathlib import Path

import pytest
import sympy as sp

import momentree as mt
from constrained import blade, four_bar_in_letters, parametrized, two_wheels
from mechanisms import bennett, four_bar, slider_crank


def symbols(names):
    return sp.symbols(names, real=True)


def lines(equations):
    return [line.strip() for line in str(equations).splitlines()[2:]]


# --- textbooks ---


@pytest.mark.parametrize("by", ["energy", "aggregative"])
def test_chaplygin_sleigh(by):
    """u' = a w^2, w' = -m a u w / (J + m a^2): Neimark and Fufaev 1972."""
    equations = blade().build().equations(by, velocities={"s.angle": "w"}, reduced=True)
    u, w, du, dw, m, a, J = symbols("u w u' w' m a J")
    assert equations.velocities == (u, w)
    (solution,) = sp.solve(equations.sympy()["equations"], [du, dw], dict=True)
    assert sp.simplify(solution[du] - a * w**2) == 0
    assert sp.simplify(solution[dw] + m * a * u * w / (J + m * a**2)) == 0
    angle = sp.Symbol("s_angle", real=True)
    assert list(dict(equations.dependent).values()) == [u * sp.cos(angle), u * sp.sin(angle)]


def test_gears_keep_one_angle():
    m = two_wheels(("mesh", "A + i*B - 0.1"))
    m.torque("A", "-0.2*A + 3*t")
    equations = m.build().equations(reduced=True)
    assert lines(equations) == [
        "(J₂ + J₁ i²) B″ = i (0.02 - 3 t - 0.2 i B)",
        "",
        "with",
        "A = 0.1 - i B",
        "A′ = -i B′",
    ]
    assert [str(x) for x in equations.coordinates] == ["B"]
    assert str(equations).splitlines()[0].endswith("reduced to B′")


@pytest.mark.long
def test_the_caller_chooses_what_remains():
    kept = [str(two_wheels(("mesh", "A + i*B")).build().equations(reduced=name).velocities[0]) for name in ("A", ["B"])]
    assert kept == ["A'", "B'"]
    system = four_bar_in_letters().build()
    for name in ("A", "B", "D"):
        assert [str(x) for x in system.equations(reduced=[name]).velocities] == [f"{name}'"]


def test_a_cart_with_two_axles():
    """The bicycle model of vehicles: the heading changes with u tan(steer) / L."""
    m = parametrized("cart", m=5.0, J=0.4, L=1.5)
    cart = m.body("cart", mass="m", inertia=("J", "J", "J"))
    m.joint("c", mt.Planar("z"), m.ground, cart)
    fork = m.body("fork", mass=0.1, inertia=(0.01, 0.01, 0.01))
    m.joint("steer", mt.Revolute("z"), cart.at(("L", 0, 0)), fork)
    m.constrain("-sin(c.angle)*c.x' + cos(c.angle)*c.y'", "rear")
    m.constrain("-sin(c.angle + steer)*c.x' + cos(c.angle + steer)*c.y' + L*cos(steer)*c.angle'", "front")
    equations = m.build().equations(reduced=["steer"]).expanded
    u, steer, L = symbols("u steer L")
    heading = dict(equations.dependent)[sp.Symbol("c_angle'", real=True)]
    assert [str(x) for x in equations.velocities] == ["u", "steer'"]
    assert sp.simplify(heading - u * sp.tan(steer) / L) == 0


@pytest.mark.long
def test_rotating_ratios_of_a_four_bar():
    """D'/A' = a sin(B) / (c sin(A + B - D)), by the law of sines of velocities."""
    equations = four_bar_in_letters().build().equations(reduced=True).expanded
    A, B, D, dA, dD, a, c = symbols("A B D A' D' a c")
    ratio = dict(equations.dependent)[dD] / dA
    assert sp.simplify(ratio - a * sp.sin(B) / (c * sp.sin(A + B - D))) == 0


def test_power_of_reduced_equations():
    """Kinetic energy of the reduced equations is that of the full ones."""
    system = four_bar().build()
    full, reduced = system.equations().expanded, system.equations(reduced=True).expanded
    u = sp.Matrix(full.velocities).xreplace(dict(reduced.dependent))
    energy = (u.T * full.A * u)[0]
    w = sp.Matrix(reduced.velocities)
    at = dict(zip((*full.coordinates, *full.velocities), (1.1, -0.7, 0.6, 2.0, 0.1, 0.2), strict=True))
    assert float((energy - (w.T * reduced.A * w)[0]).subs(at)) == pytest.approx(0, abs=1e-12)


def test_moving_constraints_add_to_velocities():
    """A bead on a wire that is pushed: x = z^2 + sin(t)."""
    m = parametrized("bead", (0, 0, "-g"), g=9.81, m=2.0)
    carriage = m.body("carriage", massless=True)
    m.joint("x", mt.Prismatic("x"), m.ground, carriage)
    m.joint("z", mt.Prismatic("z"), carriage, m.body("bead", mass="m"))
    m.constrain("x - z^2 - sin(t)", "wire")
    equations = m.build().equations(reduced=True)
    z, dz, ddz, t, g, mass = symbols("z z' z'' t g m")
    equation = equations.sympy()["equations"][0]
    # m x'' x'_z + m z'' = -m g, with x'' = 2 z z'' + 2 z'^2 - sin(t)
    right = mass * (2 * z * (2 * z * ddz + 2 * dz**2 - sp.sin(t)) + ddz + g)
    assert sp.expand(equation.lhs - equation.rhs - right) == 0
    assert dict(equations.dependent)[sp.Symbol("x'", real=True)] == 2 * z * dz + sp.cos(t)


def test_redundant_constraints_are_left_out():
    once, twice = (
        two_wheels(*(("mesh", "A + i*B"), ("again", "2*A + 2*i*B"))[:n]).build().equations(reduced=True) for n in (1, 2)
    )
    assert (once.A, once.b, once.Q) == (twice.A, twice.b, twice.Q)


# --- as they are shown ---


def test_latex_and_data_of_reduced_equations():
    equations = slider_crank().build().equations(reduced=True)
    assert equations.reduced
    assert r"\dot{C} &= " in equations.latex()
    data = equations.data()
    assert data["velocities"] == ["A'"]
    assert set(data["dependent"]) == {"C", "B'", "C'"}
    assert data["multipliers"] == []
    assert equations.operations().divisions > 0


def test_the_page_shows_what_is_printed():
    page = (Path(__file__).parents[3] / "docs" / "equations.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    exec(page.partition("```python\n")[2].partition(".show()")[0] + "", names)
    system = names["system"]
    for reduced in (False, True):
        assert f"```\n{system.equations(velocities={'s.angle': 'w'}, reduced=reduced)}\n```" in page


# --- what cannot be ---


@pytest.mark.repeats(1)
@pytest.mark.parametrize(
    ("model", "reduced", "told"),
    [
        (four_bar, ["crnk"], "there is no velocity 'crnk'"),
        (four_bar, ["A", "D"], "A', D' cannot all remain: they depend on each other by joint 'C'"),
        (bennett, True, "are too many to be solved in symbols. Leave out reduced="),
    ],
)
def test_what_cannot_be_reduced(model, reduced, told):
    with pytest.raises(mt.MomentreeError) as error:
        model().build().equations(reduced=reduced)
    assert told in str(error.value)


def test_a_start_where_bars_are_collinear():
    """A parallelogram has one redundant constraint there, and either of two branches."""
    with pytest.raises(mt.MomentreeError, match="not independent, at least in the initial configuration"):
        four_bar((1.0, 2.0, 1.0, 2.0)).build().equations(reduced=True)
