"""Programmes on any scalar: their equations are Euler and Lagrange's of 1/2 u' m u with Rayleigh's dissipation."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

from momentree.equations import programme
from momentree.equations.programme import ProgrammeFields

T = sp.Symbol("t")


class Symbols:
    """A programme of two or three coordinates with a velocity field, masses and dissipation of no special form."""

    def __init__(self, n: int):
        self.q = sp.symbols(f"q1:{n + 1}")
        self.qd = sp.symbols(f"w1:{n + 1}")
        self.qdd = sp.symbols(f"z1:{n + 1}")
        x, y, z = (*self.q, sp.Rational(1, 3))[:3]
        self.v = [sp.sin(y) + x * T / 2, x * y - sp.cos(T), z * x + sp.sin(y + T)][:n]
        full = [
            [3 + x**2 + sp.sin(T) / 2, x * y / 4, z / 5],
            [x * y / 4, 4 + sp.cos(y), sp.sin(x) / 3],
            [z / 5, sp.sin(x) / 3, 5 + z**2],
        ]
        self.m = [row[:n] for row in full[:n]]
        d = [[2 + y**2, x / 7, 0], [x / 7, 3, z], [0, z, 4 + sp.cos(T)]]
        self.d = [row[:n] for row in d[:n]]

    def fields(self) -> ProgrammeFields:
        return ProgrammeFields(
            self.v,
            [[a.diff(b) for b in self.q] for a in self.v],
            [a.diff(T) for a in self.v],
            self.m,
            [[[a.diff(b) for a in row] for row in self.m] for b in self.q],
            [[sp.S(a).diff(T) for a in row] for row in self.m],
            self.d,
        )

    def rate(self, x: sp.Expr) -> sp.Expr:
        """The time derivative along a motion."""
        pairs = [*zip(self.q, self.qd, strict=True), *zip(self.qd, self.qdd, strict=True)]
        return x.diff(T) + sum(x.diff(a) * b for a, b in pairs)

    def lagrange(self, L: sp.Expr) -> list[sp.Expr]:
        return [self.rate(L.diff(b)) - L.diff(a) for a, b in zip(self.q, self.qd, strict=True)]

    def point(self, seed: int) -> dict[sp.Symbol, float]:
        values = np.random.default_rng(seed).uniform(-1, 1, 3 * len(self.q) + 1)
        return dict(zip((*self.q, *self.qd, *self.qdd, T), values.tolist(), strict=True))


def value(x: object, at: dict[sp.Symbol, float]) -> float:
    return float(sp.S(x).subs(at))


@pytest.fixture(params=[2, 3])
def symbols(request):
    return Symbols(request.param)


@pytest.mark.repeats(1)
def test_the_accelerations_are_those_of_lagranges_equations(symbols):
    f = symbols.fields()
    u = programme.deviation(f, symbols.qd)
    L, D = programme.deviation_energy(f, symbols.qd), programme.rayleigh_function(f, u)
    residuals = [a + D.diff(b) for a, b in zip(symbols.lagrange(L), symbols.qd, strict=True)]
    for seed in range(3):
        at = symbols.point(seed)
        numeric = numbers(f, at)
        qd = [at[w] for w in symbols.qd]
        qdd = programme.accelerations(numeric, qd)
        at |= dict(zip(symbols.qdd, qdd, strict=True))
        assert [value(residual, at) for residual in residuals] == pytest.approx([0] * len(qd), abs=1e-12)


@pytest.mark.repeats(1)
def test_the_energy_of_the_deviation_decays_by_the_decay_matrix(symbols):
    f = symbols.fields()
    V = programme.deviation_energy(f, symbols.qd)
    for seed in range(3):
        at = symbols.point(seed)
        numeric, qd = numbers(f, at), [at[w] for w in symbols.qd]
        at |= dict(zip(symbols.qdd, programme.accelerations(numeric, qd), strict=True))
        u = np.array(programme.deviation(numeric, qd))
        assert value(symbols.rate(V), at) == pytest.approx(
            -u @ np.array(programme.decay_matrix(numeric)) @ u, abs=1e-12
        )


def test_the_coefficients_are_the_corrected_5_3(symbols):
    f = symbols.fields()
    n = range(len(f.v))
    v = [sum(f.m[j][k] * f.v[k] for k in n) for j in n]  # covariant
    at = symbols.point(1)
    numeric, qd = numbers(f, at), [at[w] for w in symbols.qd]
    p = programme.coefficients(numeric, qd)
    for i in n:
        for j in n:
            half = sum(sp.S(f.m[j][k]).diff(symbols.q[i]) * (symbols.qd[k] + f.v[k]) for k in n) / 2
            assert p[i][j] == pytest.approx(value(-v[j].diff(symbols.q[i]) + half - f.d[i][j], at))


def test_the_parts_of_the_lagrangian_add_up_to_the_energy_of_the_deviation(symbols):
    f = symbols.fields()
    parts = programme.lagrangian_parts(f, symbols.qd, potential=sp.Symbol("Psi"))
    difference = parts.T2 + parts.T1 - parts.P - programme.deviation_energy(f, symbols.qd)
    assert sp.expand(difference) == sp.Symbol("Psi")


def test_the_gyroscopic_force_comes_from_the_linear_part_of_the_lagrangian(symbols):
    f = symbols.fields()
    T1 = programme.lagrangian_parts(f, symbols.qd).T1
    g = programme.gyroscopic_form(f)
    momentum = [sum(f.m[i][k] * f.v[k] for k in range(len(f.v))) for i in range(len(f.v))]
    at = symbols.point(2)
    for i, force in enumerate(symbols.lagrange(T1)):
        gyroscopic = sum(g[i][j] * symbols.qd[j] for j in range(len(g)))
        assert value(force - gyroscopic + momentum[i].diff(T), at) == pytest.approx(0, abs=1e-12)


def test_inertial_forces_are_lagranges_of_the_kinetic_energy(symbols):
    f = symbols.fields()
    kinetic = programme.lagrangian_parts(f, symbols.qd).T2
    at = symbols.point(3)
    forces = programme.inertial_forces(numbers(f, at), [at[w] for w in symbols.qd], [at[z] for z in symbols.qdd])
    assert forces == pytest.approx([value(x, at) for x in symbols.lagrange(kinetic)])


def numbers(f: ProgrammeFields, at: dict[sp.Symbol, float]) -> ProgrammeFields:
    def of(part: object) -> object:
        return [of(inner) for inner in part] if isinstance(part, list) else value(part, at)

    return ProgrammeFields(*map(of, f))


# --- programmes from constraints ---


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7])
def test_the_cross_product_is_at_right_angles_and_gives_the_determinant(n):
    random = np.random.default_rng(n)
    rows, w = random.normal(size=(n - 1, n)), random.normal(size=n)
    v = np.array(programme.cross_product(rows.tolist()))
    assert rows @ v == pytest.approx(np.zeros(n - 1), abs=1e-12)
    assert v @ w == pytest.approx(np.linalg.det(np.vstack([w, rows])))
    if n == 3:
        assert v == pytest.approx(np.cross(*rows))


def test_given_velocities_are_kept_and_the_others_follow():
    random = np.random.default_rng(5)
    a, b = random.normal(size=(3, 5)), random.normal(size=3)
    v = np.array(programme.completed(a.tolist(), b.tolist(), {1: 0.5, 4: -2.0}))
    assert (v[1], v[4]) == (0.5, -2.0)
    assert a @ v == pytest.approx(b)


def test_the_nearest_velocities_have_the_least_kinetic_energy_of_the_change():
    random = np.random.default_rng(6)
    a, b, wanted = random.normal(size=(2, 4)), random.normal(size=2), random.normal(size=4)
    root = random.normal(size=(4, 4))
    m = root @ root.T + np.eye(4)
    v = np.array(programme.nearest(a.tolist(), b.tolist(), wanted.tolist(), m.tolist()))
    assert a @ v == pytest.approx(b)
    null = np.linalg.svd(a)[2][2:]
    assert null @ m @ (v - wanted) == pytest.approx(np.zeros(2), abs=1e-12)
    assert programme.nearest([], [], [1.0, 2.0], m) == [1.0, 2.0]


def test_every_admissible_dissipation_takes_v_to_the_gradient():
    random = np.random.default_rng(7)
    v, g, root = random.normal(size=3), random.normal(size=3), random.normal(size=(3, 3))
    g = g if g @ v > 0 else -g
    d = np.array(programme.admissible_dissipation(v.tolist(), g.tolist(), (root @ root.T).tolist()))
    assert d @ v == pytest.approx(g)
    assert np.linalg.eigvalsh(d)[0] > 0
    # and d itself is the one of K = d: nothing is left out
    assert np.array(programme.admissible_dissipation(v.tolist(), g.tolist(), d.tolist())) == pytest.approx(d)
