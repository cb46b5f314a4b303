"""Kaspirovich and Mukharlyamov, "On methods of constructing dynamics equations with account for the stabilization of
constraints", Mech. Solids 54(3) (2019): formulas of sections 3 to 5 as printed fail, and as corrected they hold.

Printed formulas stand in this file only. Known Lagrangian systems decide which version of a condition is right.
"""

from __future__ import annotations

import itertools

import pytest
import sympy as sp

from momentree.symbols.helmholtz import helmholtz

X = sp.symbols("x y z", real=True)
V = sp.symbols("x' y' z'", real=True)
A = sp.symbols("x'' y'' z''", real=True)
J = sp.symbols("x''' y''' z'''", real=True)
t = sp.Symbol("t", real=True)
x, y, z = X
FIELDS = {  # velocity fields v(q), no two of whose components or sizes are constant
    2: ([x * y, sp.sin(x)], [[2 + sp.cos(y), x], [x, 3 + y**2]]),
    3: ([y * z, sp.sin(x), x + y**2], [[2 + y**2, x, 0], [x, 3 + z**2, sp.cos(x)], [0, sp.cos(x), 2]]),
}
DISSIPATION = {2: [[3, x], [x, 2]], 3: [[3, x, 0], [x, 2, sp.sin(y)], [0, sp.sin(y), 4]]}
both = pytest.mark.parametrize("n", [2, 3])
three_if_long = pytest.mark.parametrize("n", [2, pytest.param(3, marks=pytest.mark.long)])


def symbols(n):
    return X[:n], V[:n], A[:n]


def along(f, n):
    """The total derivative by time."""
    pairs = zip((*X[:n], *V[:n], *A[:n]), (*V[:n], *A[:n], *J[:n]), strict=True)
    return f.diff(t) + sum(f.diff(a) * b for a, b in pairs)


def euler_lagrange(L, n):
    return [along(L.diff(v), n) - L.diff(q) for q, v in zip(X[:n], V[:n], strict=True)]


def is_zero(*expressions):
    """By expansion, or else at a point, in 40 digits."""
    point = {symbol: sp.Rational(i, 7) + 1 for i, symbol in enumerate((*X, *V, *A, *J, t), 1)}
    return all(sp.expand(e) == 0 or abs(sp.N(e.subs(point), 40)) < 1e-35 for e in expressions)


def magnetic():
    """A charge in the plane in the magnetic field x: L = v^2/2 + (x^2/2) y'."""
    return euler_lagrange((V[0] ** 2 + V[1] ** 2) / 2 + x**2 * V[1] / 2, 2)


def geodesic():
    """Geodesics of the surface of revolution with radius exp(x)."""
    return euler_lagrange((V[0] ** 2 + sp.exp(2 * x) * V[1] ** 2) / 2, 2)


# --- (3.2) to (3.5): q' is printed where q'' is meant, and where q is meant on the left side of (3.4) ---


def test_lagrangian_systems_satisfy_the_corrected_conditions():
    assert helmholtz(magnetic(), *symbols(2)).proved
    assert helmholtz(geodesic(), *symbols(2)).proved


def test_lagrangian_systems_violate_the_printed_conditions():
    f, g = magnetic(), geodesic()
    # (3.2) df_i/dq'_k = df_k/dq'_i, by the gyroscopic force
    assert not is_zero(f[0].diff(V[1]) - f[1].diff(V[0]))
    # (3.3) df_i/dq'_k + df_k/dq'_i = 2 d/dt df_i/dq'_k
    assert not is_zero(f[0].diff(V[1]) + f[1].diff(V[0]) - 2 * along(f[0].diff(V[1]), 2))
    # (3.4) df_i/dq'_k - df_k/dq'_i = 1/2 d/dt (df_i/dq'_k - df_k/dq'_i)
    turned = f[0].diff(V[1]) - f[1].diff(V[0])
    assert not is_zero(turned - along(turned, 2) / 2)
    # (3.5) d2f_i/dq'_j dq'_k = 0, by centrifugal forces
    assert not is_zero(g[0].diff(V[1], V[1]))


# --- section 3: P, G and the gyroscopic force ---


def section_3(n):
    """v, its Jacobian, the gyroscopic matrix g_ij = dv^j/dq^i - dv^i/dq^j, and f of (3.8)."""
    v = sp.Matrix(FIELDS[n][0])
    v_q = v.jacobian(X[:n])
    g = v_q.T - v_q
    return v, v_q, g, sp.Matrix(A[:n]) + g * sp.Matrix(V[:n]) - v_q.T * v


@both
def test_equations_3_8_are_lagrangian(n):
    assert helmholtz(section_3(n)[3], *symbols(n)).proved


@both
def test_the_potential_energy_is_minus_half_the_square_of_v(n):
    """With L = T - P and the force -g q': P = -v^2/2; the printed +v^2/2 leaves 2 v_ji v_j."""
    v, v_q, g, f = section_3(n)
    qd = sp.Matrix(V[:n])
    for sign, right in ((-1, True), (1, False)):
        P = sign * v.dot(v) / 2
        left = sp.Matrix(euler_lagrange(qd.dot(qd) / 2 - P, n)) + g * qd
        assert is_zero(*(left - f)) == right
    printed = sp.Matrix(euler_lagrange(qd.dot(qd) / 2 - v.dot(v) / 2, n)) + g * qd - f
    assert is_zero(*(printed - 2 * v_q.T * v))


@both
def test_the_gyroscopic_function_is_identically_zero(n):
    _, _, g, _ = section_3(n)
    qd = sp.Matrix(V[:n])
    assert sp.expand((qd.T * g * qd)[0] / 2) == 0
    assert not (g * qd).is_zero_matrix


@both
def test_the_gyroscopic_force_is_minus_g_times_q_and_comes_from_the_linear_term(n):
    """Printed: d/dt dL/dq' - dL/dq = +g q' with L = T - P."""
    v, _, g, f = section_3(n)
    qd = sp.Matrix(V[:n])
    left = sp.Matrix(euler_lagrange(qd.dot(qd) / 2 + v.dot(v) / 2, n))
    assert is_zero(*(left + g * qd - f))
    assert not is_zero(*(left - g * qd - f))
    whole = sp.Matrix(euler_lagrange((qd - v).dot(qd - v) / 2, n))
    assert is_zero(*(whole - f))


# --- section 4: dissipation ---


def section_4(n, p, v):
    """f of (2.5) with coefficients p."""
    v_q = v.jacobian(X[:n])
    return sp.Matrix(A[:n]) - (v_q + p) * sp.Matrix(V[:n]) + p * v


def potential_field(n):
    """v, d and Psi with d v = grad Psi: the cart (n = 3), and a field along x (n = 2)."""
    if n == 2:
        return sp.Matrix([1, x * y]), sp.Matrix([[3 + 2 * x**2 * y**2, -2 * x * y], [-2 * x * y, 2]]), 3 * x
    c, s = sp.cos(z), sp.sin(z)
    d = sp.Matrix([[10, 0, -10 * c], [0, 5, -5 * s], [-10 * c, -5 * s, 11]])
    return sp.Matrix([c, s, 1]), d, sp.Rational(7, 2) * z - sp.Rational(5, 4) * sp.sin(2 * z)


def rayleigh(d, n):
    qd = sp.Matrix(V[:n])
    return (qd.T * d * qd)[0] / 2


@both
@pytest.mark.repeats(1)
def test_the_coefficients_4_8(n):
    """p_ij = -dv^j/dq^i - d_ij; printed are dv_j^i/dq^i (a second derivative), and dv^i/dq^j in (6.6)."""
    v, d, _ = potential_field(n)
    v_q = v.jacobian(X[:n])
    D = rayleigh(d, n)
    assert helmholtz(section_4(n, -v_q.T - d, v), *symbols(n), dissipation=D).proved
    literally = sp.Matrix(n, n, lambda i, j: v_q[i, j].diff(X[i]))
    for printed, number in ((-literally - d, "(4.2)"), (-v_q - d, "(4.3)")):
        report = helmholtz(section_4(n, printed, v), *symbols(n), dissipation=D)
        assert number in {failure.number for failure in report.failures}


@both
def test_the_lagrangian_of_section_4_needs_psi(n):
    """dPsi/dq_i = d_ij v^j; without Psi the force d v is missing."""
    v, d, psi = potential_field(n)
    assert is_zero(*(sp.Matrix([psi.diff(q) for q in X[:n]]) - d * v))
    f = section_4(n, -v.jacobian(X[:n]).T - d, v)
    u, qd = sp.Matrix(V[:n]) - v, sp.Matrix(V[:n])
    for L, right in ((u.dot(u) / 2 + psi, True), (u.dot(u) / 2, False)):
        left = sp.Matrix(euler_lagrange(L, n)) + d * qd
        assert is_zero(*(left - f)) == right


@both
@pytest.mark.repeats(1)
def test_4_10_decides_whether_d_is_admissible(n):
    v, d = sp.Matrix(FIELDS[n][0]), sp.Matrix(DISSIPATION[n])
    f = section_4(n, -v.jacobian(X[:n]).T - d, v)
    failures = helmholtz(f, *symbols(n), dissipation=rayleigh(d, n)).failures
    assert {failure.number for failure in failures} == {"(4.3)"}
    force = d * v
    fails = [
        (i + 1, k + 1)
        for i, k in itertools.combinations(range(n), 2)
        if not is_zero(force[i].diff(X[k]) - force[k].diff(X[i]))
    ]
    assert [failure.indices for failure in failures] == fails
    # as a function of q' - v it always is
    u = sp.Matrix(V[:n]) - v
    assert helmholtz(f, *symbols(n), dissipation=(u.T * d * u)[0] / 2).proved


# --- section 5: a mass matrix ---


def section_5(n, v, corrected, d=None):
    """f of (5.2) with the coefficients (5.3), where u^j = q'^j - v^j; v_k is covariant."""
    m, qd = sp.Matrix(FIELDS[n][1]), sp.Matrix(V[:n])
    lowered = m * v
    p = sp.zeros(n, n)
    for i, k in itertools.product(range(n), repeat=2):
        by_i = [m[k, j].diff(X[i]) for j in range(n)]
        if corrected:
            p[i, k] = sum(by_i[j] * (qd[j] + v[j]) for j in range(n)) / 2 - lowered[k].diff(X[i])
        else:
            p[i, k] = sum(by_i[j] * qd[j] for j in range(n)) - lowered[k].diff(X[i])
    if d is not None:
        p -= d
    momentum = m * (qd - v)
    return sp.Matrix([along(momentum[i], n) - (p * (qd - v))[i] for i in range(n)])


@pytest.mark.parametrize(
    ("n", "constant"), [(2, False), (2, True), (3, False), pytest.param(3, True, marks=pytest.mark.long)]
)
@pytest.mark.repeats(1)
def test_the_coefficients_5_3(n, constant):
    """Printed + dm_kj/dq^i q'^j; right is + 1/2 dm_kj/dq^i (q'^j + v^j). With v = const (5.7) holds: no help."""
    v = sp.Matrix([2, -1, 3][:n] if constant else FIELDS[n][0])
    m, u = sp.Matrix(FIELDS[n][1]), sp.Matrix(V[:n]) - v
    right = section_5(n, v, corrected=True)
    assert helmholtz(right, *symbols(n)).proved
    assert is_zero(*(sp.Matrix(euler_lagrange((u.T * m * u)[0] / 2, n)) - right))
    printed = helmholtz(section_5(n, v, corrected=False), *symbols(n))
    assert {failure.number for failure in printed.failures} >= {"(3.3)", "(3.4)"}


@three_if_long
def test_the_coefficients_at_the_end_of_section_5(n):
    v, d = sp.Matrix(FIELDS[n][0]), sp.Matrix(DISSIPATION[n])
    u = sp.Matrix(V[:n]) - v
    D = (u.T * d * u)[0] / 2
    assert helmholtz(section_5(n, v, True, d), *symbols(n), dissipation=D).proved
    assert not helmholtz(section_5(n, v, False, d), *symbols(n), dissipation=D)


# --- what no multiplier cures ---


def test_a_system_without_any_lagrangian():
    """x'' = x^2 + y^2, y'' = y has no regular Lagrangian even if multiplied by a matrix g.

    Douglas, Trans. AMS 50 (1941) 71-128: g has to be symmetric, and so have g Phi, g Phi', ..., with Phi = -df/dq
    for forces f(q). Here the second row of Phi' is zero: both demand the same two equations of g_11 and g_12.
    """
    force = sp.Matrix([x**2 + y**2, y])
    Phi = force.jacobian(X[:2])
    later = Phi.applyfunc(lambda e: along(e, 2))
    g = sp.Matrix(2, 2, sp.symbols("g1 g2 g2 g3"))
    conditions = [(g * P)[0, 1] - (g * P)[1, 0] for P in (Phi, later)]
    matrix, _ = sp.linear_eq_to_matrix(conditions, [g[0, 0], g[0, 1]])
    assert matrix.det() != 0
    assert all(not condition.has(g[1, 1]) for condition in conditions)
    report = helmholtz(sp.Matrix(A[:2]) - force, *symbols(2))
    assert {failure.number for failure in report.failures} == {"(3.4)"}
