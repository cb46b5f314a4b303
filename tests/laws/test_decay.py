"""Deviations from a programme die out as certified: V' = -u' S u exactly, and no motion decays more slowly."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import sympy as sp

from momentree.equations.programme import ProgrammeFields, decay_matrix
from programme_cart import ONCE_AROUND, cart, random_programme

TIME = {"t": (0, 2 * math.pi)}
LONG = pytest.mark.long


# --- V' = -u' S u ---


class Polynomials:
    """Random v(q, t), m(q, t), d(q, t) with rational coefficients; motions by Euler and Lagrange's equations alone."""

    def __init__(self, n: int, seed: int):
        self.rng = random.Random(seed)
        self.n, self.t = n, sp.Symbol("t")
        self.q, self.qd, self.qdd = (sp.symbols(f"{name}1:{n + 1}") for name in ("q", "v", "a"))
        self.v = sp.Matrix([self.polynomial() for _ in range(n)])
        self.m, self.d = (self.symmetric() + size * sp.eye(n) for size in (20, 5))
        self.u = sp.Matrix(self.qd) - self.v

    def polynomial(self) -> sp.Expr:
        terms = [sp.Rational(self.rng.randint(-4, 4), 4) * x * y for x in (1, *self.q) for y in (1, *self.q, self.t)]
        return sum(self.rng.sample(terms, 4))

    def symmetric(self) -> sp.Matrix:
        A = sp.Matrix(self.n, self.n, lambda i, j: self.polynomial())
        return A + A.T

    def along(self, f: sp.Expr) -> sp.Expr:
        """d/dt along a motion."""
        parts = [(self.q, self.qd), (self.qd, self.qdd)]
        return sp.diff(f, self.t) + sum(sp.diff(f, x) * y for xs, ys in parts for x, y in zip(xs, ys, strict=True))

    def fields(self, at: dict[sp.Symbol, sp.Rational]) -> ProgrammeFields:
        def exact(A: sp.Matrix) -> list[list[sp.Rational]]:
            return A.subs(at).tolist()

        return ProgrammeFields(
            v=list(self.v.subs(at)),
            v_q=exact(self.v.jacobian(self.q)),
            v_t=list(self.v.diff(self.t).subs(at)),
            m=exact(self.m),
            m_q=[exact(self.m.diff(x)) for x in self.q],
            m_t=exact(self.m.diff(self.t)),
            d=exact(self.d),
        )


@pytest.mark.parametrize(("n", "seed"), [(1, 0), (2, 1), (2, 2), (3, 3)])
@pytest.mark.repeats(2)
def test_V_changes_by_the_decay_matrix_exactly(n, seed):
    """Rational arithmetic: q'' from E-L(1/2 u' m u) + d u = 0, then V' by the chain rule. No rounding."""
    w = Polynomials(n, seed)
    V, force = (w.u.T * w.m * w.u)[0] / 2, w.d * w.u
    at = {x: sp.Rational(w.rng.randint(-9, 9), 8) for x in (*w.q, *w.qd, w.t)}
    equations = [w.along(sp.diff(V, v)) - sp.diff(V, x) + f for v, x, f in zip(w.qd, w.q, force, strict=True)]
    motion = sp.solve([equation.subs(at) for equation in equations], w.qdd, dict=True)[0]
    S, u = sp.Matrix(decay_matrix(w.fields(at))), w.u.subs(at)
    assert w.along(V).subs(at).subs(motion) == -(u.T * S * u)[0] != 0


@pytest.mark.parametrize(("n", "seed"), [(2, 0), (3, 2)])
@pytest.mark.repeats(1)
def test_compiled_motions_lose_V_by_the_decay_matrix(n, seed):
    """V' by differences along q' and q'' of machine code, for waves as masses and velocities."""
    p, rng, h = random_programme(n, seed, gain=2), np.random.default_rng(seed), 1e-5
    q, qd, t = rng.uniform(-3, 3, (50, n)), rng.uniform(-3, 3, (50, n)), rng.uniform(0, 6, 50)
    qdd = p.accelerations(q, qd, t)

    def V(s):
        at, u = (q + s * qd, t + s), p.deviation(q + s * qd, qd + s * qdd, t + s)
        return np.einsum("ki,kij,kj->k", u, p.mass_matrix(*at), u) / 2

    u = p.deviation(q, qd, t)
    lost = np.einsum("ki,kij,kj->k", u, p.decay_matrix(q, t), u)
    assert (V(h) - V(-h)) / (2 * h) == pytest.approx(-lost, abs=1e-7, rel=1e-7)


# --- no motion decays more slowly than certified ---


def slowest(p, count, seed, t_end, where=(-3, 3)):
    """The least measured decay rate of random starts, in the region of the certificate."""
    rng, n = np.random.default_rng(seed), len(p.coordinates)
    found = []
    for _ in range(count):
        q, u = rng.uniform(*where, n), rng.normal(size=n) * rng.choice([0.1, 1, 10])
        run = p.simulate(q, p.velocity(q) + u, t_end=t_end, rtol=1e-10)
        assert run.arrived
        found.append(run.decay_rate(floor=1e-5))
    return min(found)


def test_a_hundred_starts_of_the_cart():
    """Its decay matrix has the period 2 pi: once around is everywhere. It slows down to 1.46 1/s (Floquet exponent)."""
    p = cart()
    measured = slowest(p, 100, seed=0, t_end=6)
    assert p.certify(ONCE_AROUND).rate <= measured < 1.4558


@pytest.mark.parametrize(("n", "seed", "rate"), [(2, 3, 2.0), (3, 1, 1.0), pytest.param(2, 0, 0.5, marks=LONG)])
@pytest.mark.repeats(1)
def test_a_hundred_starts_of_random_programmes(n, seed, rate):
    """Masses and velocities that change with coordinates and time; the gain of a wanted rate."""
    region = {"t": (0, 2.0)} if n < 3 else {"t": (0, 1.0)}
    p = random_programme(n, seed)
    p = p.with_gain(p.auto_k(rate, region))
    certified = p.certify(region).rate
    assert certified == pytest.approx(rate, abs=1e-5)
    assert certified - 1e-6 <= slowest(p, 100, seed, t_end=region["t"][1])


@pytest.mark.parametrize("n", [2, pytest.param(3, marks=LONG)])
def test_the_rate_is_reached_where_it_is_least(n):
    """A deviation in the slowest direction, at the slowest point: it begins to decay with the certified rate."""
    p = random_programme(n, 7, gain=3)
    found = p.decay_rate(TIME)
    start = np.array([found.where[name] for name in p.coordinates])
    u, t = np.array(list(found.direction.values())), found.where["t"]
    for size in (1e-3, 1.0):
        run = p.simulate(start, p.velocity(start, t) + size * u, t_start=t, t_end=t + 1e-4, rtol=1e-12)
        measured = -math.log(run.size[-1] / run.size[0]) / 1e-4
        assert measured == pytest.approx(found.rate, abs=3e-3 * (1 + size))


def test_bounds_of_a_certificate_hold_at_all_times():
    p = cart()
    found = p.certify(ONCE_AROUND)
    run = p.simulate([0, -1, 0], [1, -2, 3], t_end=8)
    assert (run.size <= found.bound(run.size[0], run.t) * (1 + 1e-9)).all()
