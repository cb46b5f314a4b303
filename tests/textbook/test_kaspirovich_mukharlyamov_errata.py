"""Kaspirovich and Mukharlyamov 2019: what is printed of the cart, and what must stand there (docs/theory/programme.md).

I. E. Kaspirovich, R. G. Mukharlyamov, "On methods of constructing dynamic equations with account for stabilization of
constraints", Mechanics of Solids 2019 (Izv. RAN MTT 2019 No 3), DOI 10.1134/S0572329919030115.

Each test compares the printed formula and the corrected one with something that neither of them was taken from: the
equations of Lagrange by SymPy, the paper's own matrices, eigenvalues, or the motion.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

from programme_cart import cart

PHI = np.linspace(-np.pi, np.pi, 73)
t = sp.Symbol("t")
Q = sp.Matrix([sp.Function(name)(t) for name in ("x", "y", "phi")])
QD, QDD = Q.diff(t), Q.diff(t, 2)
SPEED, TURN = 1.3, 0.7  # v and w in the formulas below, and d
DISSIPATION = (10.0, 5.0, 45.0)


def field() -> sp.Matrix:
    return sp.Matrix([SPEED * sp.cos(Q[2]), SPEED * sp.sin(Q[2]), TURN])


def dissipation() -> sp.Matrix:
    """The paper's matrix (d_j^i), below (6.5)."""
    (d1, d2, d3), r = DISSIPATION, SPEED / TURN
    across = -r * d1 * sp.cos(Q[2]), -r * d2 * sp.sin(Q[2])
    return sp.Matrix([[d1, 0, across[0]], [0, d2, across[1]], [*across, d3]])


def potential() -> sp.Expr:
    """Psi of the cart: its gradient is d v."""
    (d1, d2, d3), v, w = DISSIPATION, SPEED, TURN
    return (d3 * w - v**2 / w * (d1 + d2) / 2) * Q[2] - v**2 / w * (d1 - d2) / 4 * sp.sin(2 * Q[2])


def lagrange(L: sp.Expr, D: sp.Expr) -> sp.Matrix:
    """d/dt dL/dq' - dL/dq + dD/dq'."""
    return sp.Matrix([L.diff(qd).diff(t) - L.diff(q) + D.diff(qd) for q, qd in zip(Q, QD, strict=True)])


def at_random(expressions: sp.Matrix, accelerations, count: int = 20) -> np.ndarray:
    """Values along motions with these accelerations, at random q and q'."""
    plain = sp.symbols("a:3 b:3 c:3")
    values = dict(zip([*QDD, *QD, *Q], [*plain[6:], *plain[3:6], *plain[:3]], strict=True))
    compute = sp.lambdify(plain, list(expressions.subs(values)), "numpy")
    q, qd = np.random.default_rng(1).normal(size=(2, count, 3))
    columns = [*q.T, *qd.T, *np.asarray(accelerations(q, qd)).T]
    return np.array([np.broadcast_to(x, count) for x in compute(*columns)])


def with_coefficients(p):
    """Accelerations v' + p u of unit masses: (2.4), row i and column j of p at each q."""

    def accelerations(q, qd):
        s, c, zero = np.sin(q[:, 2]), np.cos(q[:, 2]), np.zeros(len(q))
        u = qd - np.stack([SPEED * c, SPEED * s, TURN + zero], axis=-1)
        change = SPEED * qd[:, 2:] * np.stack([-s, c, zero], axis=-1)
        return change + np.einsum("kij,kj->ki", p(q), u)

    return accelerations


def field_slopes(q: np.ndarray) -> np.ndarray:
    """dv^i/dq^j, row i and column j."""
    slopes = np.zeros((len(q), 3, 3))
    slopes[:, 0, 2], slopes[:, 1, 2] = -SPEED * np.sin(q[:, 2]), SPEED * np.cos(q[:, 2])
    return slopes


def damping(q: np.ndarray) -> np.ndarray:
    return cart(DISSIPATION, SPEED, TURN).dissipation(q)


def transposed(a: np.ndarray) -> np.ndarray:
    return np.swapaxes(a, -1, -2)


def energy_of_deviation() -> sp.Expr:
    u = QD - field()
    return (u.T * u)[0] / 2


# --- (2.4), (2.5), (6.3), (6.4): which index of p is the row ---


def printed_motion() -> sp.Matrix:
    """(6.4) as printed, which is right."""
    (a, b, c), s = QD, SPEED
    turns = sp.Matrix([s * sp.sin(Q[2]) * c, -s * sp.cos(Q[2]) * c, -s * sp.sin(Q[2]) * a + s * sp.cos(Q[2]) * b])
    return QDD + turns


def test_without_dissipation_the_printed_motion_is_that_of_the_programme():
    programme = cart((0, 0, 0), SPEED, TURN)
    assert abs(at_random(printed_motion(), programme.accelerations)).max() < 1e-12
    assert abs(at_random(lagrange(energy_of_deviation(), sp.S(0)), programme.accelerations)).max() < 1e-12


def test_p_stands_in_row_3_of_the_cart_not_in_column_3():
    """(6.3): p_31 = v sin(phi), p_32 = -v cos(phi), as p_ij = -dv^j/dq^i; printed with i and j exchanged."""
    q = np.column_stack([0 * PHI, 0 * PHI, PHI])
    found = cart((0, 0, 0), SPEED, TURN).coefficients(q, np.ones_like(q))
    expected = np.zeros_like(found)
    expected[:, 2, 0], expected[:, 2, 1] = SPEED * np.sin(PHI), -SPEED * np.cos(PHI)
    assert found == pytest.approx(expected)
    right, printed = (
        with_coefficients(p) for p in (lambda q: -transposed(field_slopes(q)), lambda q: -field_slopes(q))
    )
    for law in (printed_motion(), lagrange(energy_of_deviation(), sp.S(0))):
        assert abs(at_random(law, right)).max() < 1e-12
        assert abs(at_random(law, printed)).max() > 1


def test_the_coefficients_of_2_5_are_those_of_2_4():
    """(2.5) with p_ij in row i: q'' = (dv/dq + p) q' - p v; exchanged, it is another motion and u = 0 is none."""
    programme, (q, qd) = cart(DISSIPATION, SPEED, TURN), np.random.default_rng(2).normal(size=(2, 20, 3))
    p, v = programme.coefficients(q, qd), programme.velocity(q)

    def motion(p, slopes, qd):
        return np.einsum("kij,kj->ki", slopes + p, qd) - np.einsum("kij,kj->ki", p, v)

    assert programme.accelerations(q, qd) == pytest.approx(motion(p, field_slopes(q), qd))
    assert abs(programme.accelerations(q, qd) - motion(transposed(p), field_slopes(q), qd)).max() > 1
    on_programme = programme.accelerations(q, v)
    assert on_programme == pytest.approx(
        np.einsum("kij,kj->ki", field_slopes(q), v), abs=1e-12
    )  # q'' = v': u = 0 stays
    assert abs(on_programme - motion(p, transposed(field_slopes(q)), v)).max() > 0.1


# --- section 4 and (6.5), (6.6): dissipation ---


def test_psi_of_the_cart_belongs_to_its_lagrangian():
    """Mode DQ: L = 1/2 u'u + Psi with grad Psi = d v; without Psi, which the paper leaves out, d v is left over."""
    programme, D = cart(DISSIPATION, SPEED, TURN), (QD.T * dissipation() * QD)[0] / 2
    assert abs(at_random(lagrange(energy_of_deviation() + potential(), D), programme.accelerations)).max() < 1e-10
    assert abs(at_random(lagrange(energy_of_deviation(), D), programme.accelerations)).max() > 5


def test_psi_of_the_first_case_of_the_figure():
    """Psi = 7 phi/2 - 5 sin(2 phi)/4 with (10, 5, 11), v = w = 1: 7 pi more after a turn, so no function of place."""
    programme, q = cart(), np.column_stack([0 * PHI, 0 * PHI, PHI])
    v, d = programme.velocity(q), programme.dissipation(q)
    gradient = np.einsum("kij,kj->ki", d, v)
    assert gradient == pytest.approx(np.column_stack([0 * PHI, 0 * PHI, 3.5 - 2.5 * np.cos(2 * PHI)]), abs=1e-12)
    power = np.einsum("ki,ki->k", v, gradient)  # v'd v = dPsi/dt along the programme
    assert power.min() > 0
    assert np.trapezoid(power, PHI) == pytest.approx(7 * np.pi)


@pytest.mark.parametrize(("index", "holds"), [("i", True), ("j", False)])
def test_the_third_term_of_4_7_has_d_ik(index, holds):
    """(4.7) with p_ij = -dv^j/dq^i - d_ij: 0 everywhere with d_i^k in the third term, not with the printed d_j^k."""
    v, d = field(), dissipation()
    p = -v.jacobian(Q).T - d
    sums = v.jacobian(Q) + p
    force = p * v
    left = []
    for i, k in ((0, 1), (0, 2), (1, 2), (2, 0)):
        total = force[i].diff(Q[k]) - force[k].diff(Q[i])
        for j in range(3):
            third = sums[k, i] + (d[k, i] if index == "i" else d[k, j])
            terms = (sums[k, j] + d[k, j]).diff(Q[i]) - (sums[i, j] + d[i, j]).diff(Q[k]) - third.diff(Q[j])
            total += terms * QD[j]
        left.append(total)
    found = abs(at_random(sp.Matrix(left), lambda q, qd: qd)).max()
    assert found < 1e-12 if holds else found > 1


def test_p_of_4_8_and_6_6_is_minus_the_matrix_that_the_paper_prints():
    """-dv^j/dq^i - d_ij. (6.6) says -dv^i/dq^j - d_ij; (4.8) says -d^2 v^i/dq^i dq^j - d_ij, which is -d_ij here."""
    q = np.column_stack([0 * PHI, 0 * PHI, PHI])
    (d1, d2, d3), r, s, c, o = DISSIPATION, SPEED / TURN, np.sin(PHI), np.cos(PHI), 0 * PHI
    below_6_6 = [
        [d1 + o, o, -r * d1 * c],
        [o, d2 + o, -r * d2 * s],
        [-SPEED * s - r * d1 * c, SPEED * c - r * d2 * s, d3 + o],
    ]
    matrix = np.moveaxis(np.array(below_6_6), -1, 0)
    assert cart(DISSIPATION, SPEED, TURN).coefficients(q, np.ones_like(q)) == pytest.approx(-matrix)
    law = lagrange(energy_of_deviation() + potential(), (QD.T * dissipation() * QD)[0] / 2)
    assert abs(at_random(law, with_coefficients(lambda q: -transposed(field_slopes(q)) - damping(q)))).max() < 1e-10
    assert abs(at_random(law, with_coefficients(lambda q: -field_slopes(q) - damping(q)))).max() > 1
    assert abs(at_random(law, with_coefficients(lambda q: -damping(q)))).max() > 1


def test_6_5_with_its_indices_is_the_motion_and_keeps_u_at_0():
    """q'' + g q' + p v = -d q', g_ij = dv^j/dq^i - dv^i/dq^j, p = -dv^j/dq^i - d: both sides have d, as they must."""
    programme, (q, qd) = cart(DISSIPATION, SPEED, TURN), np.random.default_rng(3).normal(size=(2, 20, 3))
    slopes, d, v = field_slopes(q), programme.dissipation(q), programme.velocity(q)
    g, p = transposed(slopes) - slopes, -transposed(slopes) - d

    def motion(p, qd):
        return -np.einsum("kij,kj->ki", g + d, qd) - np.einsum("kij,kj->ki", p, v)

    assert programme.accelerations(q, qd) == pytest.approx(motion(p, qd))
    without = motion(-transposed(slopes), v)  # p of (3.8): dissipation stops the cart instead of its deviation
    assert abs(without - np.einsum("kij,kj->ki", slopes, v)).max() > 1


# --- the Lyapunov step ---


def least(programme, phi=PHI) -> tuple[float, np.ndarray]:
    """The least eigenvalue of S on the circle, where it is and its vector."""
    q = np.column_stack([0 * phi, 0 * phi, phi])
    S = programme.decay_matrix(q)
    assert pytest.approx(S) == transposed(S)
    values, vectors = np.linalg.eigh(S)
    k = int(values[:, 0].argmin())
    return float(values[k, 0]), q[k], vectors[k, :, 0]


def test_positive_minors_of_a_matrix_that_is_not_symmetric_prove_nothing():
    """v = w = 5, d = (10, 5, 11): every minor that the paper asks for is positive, and yet V grows."""
    programme = cart((10, 5, 11), 5, 5)
    q = np.column_stack([0 * PHI, 0 * PHI, PHI])
    minus_p = -programme.coefficients(q, programme.velocity(q))
    for size in (1, 2, 3):
        assert np.linalg.det(minus_p[:, :size, :size]).min() > 0
    value, at, u = least(programme)
    assert value == pytest.approx(-0.112, abs=5e-4)
    run = programme.simulate(at, programme.velocity(at) + u, t_end=0.02, rtol=1e-12)
    assert run.size.max() > 1.0005 * run.size[0]
    change = np.log(run.size[1] / run.size[0]) / run.t[1]
    assert change == pytest.approx(-value, rel=0.05)  # V' = -u'S u


def test_v_decreases_where_s_is_positive():
    programme = cart()
    value, at, u = least(programme, np.linspace(-np.pi, np.pi, 20001))
    assert value == pytest.approx(0.46123725)
    run = programme.simulate(at, programme.velocity(at) + u, t_end=3, rtol=1e-12)
    assert (np.diff(run.size) < 0).all()
    assert run.decay_rate() > value - 1e-8


def corrected(d, v, w, phi):
    """The least d_3^3 of the corrected criterion."""
    (d1, d2, _), c, s = d, np.cos(phi), np.sin(phi)
    return (v / w) ** 2 * (d1 * c**2 + d2 * s**2) + v**2 / 4 * (s**2 / d1 + c**2 / d2)


@pytest.mark.long
def test_the_corrected_criterion_is_that_of_the_symmetric_part():
    """S > 0 iff d_3^3 > (v/w)^2 (d1 c^2 + d2 s^2) + v^2/4 (s^2/d1 + c^2/d2); the last term is missing in the paper."""
    chance, between = np.random.default_rng(4), 0
    for _ in range(40):
        d1, d2, v, w = chance.uniform(0.5, 5, 4)
        phi = chance.uniform(-np.pi, np.pi, 1)
        bound = float(corrected((d1, d2, 0), v, w, phi)[0])
        printed = float((v / w) ** 2 * (d1 * np.cos(phi) ** 2 + d2 * np.sin(phi) ** 2)[0])
        for d3, positive in ((1.001 * bound, True), (0.999 * bound, False), ((bound + printed) / 2, False)):
            programme = cart((d1, d2, d3), v, w)
            assert (least(programme, phi)[0] > 0) == positive
            between += (not positive) and d3 > printed
    assert between >= 40  # where the printed criterion says that V decreases, and it does not


@pytest.mark.parametrize(("d3", "positive"), [(10.049, False), (10.051, True)])
def test_the_decay_rate_of_the_cart_changes_its_sign_at_10_05(d3, positive):
    value, at, _ = least(cart((10, 5, d3)))
    assert (value > 0) == positive
    assert abs(np.cos(at[2])) == pytest.approx(1)


def test_the_factor_of_the_determinant_s_is_d1_d2_v2_w():
    """|-p| = |d| + |s|, where s has the factor d1 d2 v^2/w; printed v^2/w. On the cart |s| = 0, so nobody noticed.

    With the angle of d and that of dv/dq told apart, |s| is not 0.
    """
    (d1, d2, _), r = DISSIPATION, SPEED / TURN
    q = np.random.default_rng(5).uniform(-3, 3, size=(20, 2))
    one, other = (np.column_stack([0 * x, 0 * x, x]) for x in q.T)
    minus_p = transposed(field_slopes(one)) + damping(other)
    left = np.linalg.det(minus_p) - np.linalg.det(damping(other))
    rows = np.zeros((20, 3, 3))
    rows[:, 0, 0] = rows[:, 1, 1] = 1
    rows[:, 0, 2], rows[:, 1, 2] = np.cos(other[:, 2]), np.sin(other[:, 2])
    rows[:, 2, 0], rows[:, 2, 1] = np.sin(one[:, 2]), -np.cos(one[:, 2])
    printed = SPEED * r * np.linalg.det(rows)
    assert left == pytest.approx(d1 * d2 * printed, rel=1e-9)
    assert abs(left - printed).max() > 10
    same = transposed(field_slopes(one)) + damping(one)
    assert np.linalg.det(same) == pytest.approx(np.linalg.det(damping(one)), rel=1e-9)


# --- the conclusion of section 6 survives all the same ---


def turning(d, v, w, phi=0.4):
    """u' = A u in axes that turn with the cart: A = R p R' + w J, J of the plane."""
    q = np.array([0, 0, phi])
    programme = cart(d, v, w)
    c, s = np.cos(phi), np.sin(phi)
    R = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
    return R @ programme.coefficients(q, programme.velocity(q)) @ R.T + np.array([[0, w, 0], [-w, 0, 0], [0, 0, 0]])


@pytest.mark.long
def test_with_equal_d1_and_d2_the_motion_is_stable_exactly_where_d_is_positive():
    """Routh and Hurwitz: |-A| = (d^2 + w^2)(d_3^3 - (v/w)^2 d), and the other conditions follow from its sign."""
    chance = np.random.default_rng(6)
    for _ in range(30):
        d, v, w, factor = chance.uniform(0.3, 4, 4)
        bound = (v / w) ** 2 * d
        A = turning((d, d, factor * bound), v, w)
        constant = np.array([[-d, w, v / w * d], [-w, -d, 0], [v / w * d, -v, -factor * bound]])
        assert pytest.approx(constant) == A
        assert pytest.approx(turning((d, d, factor * bound), v, w, -1.9)) == A
        assert np.linalg.det(-A) == pytest.approx((d**2 + w**2) * (factor - 1) * bound, rel=1e-8)
        assert (np.linalg.eigvals(A).real.max() < 0) == (factor > 1)


@pytest.mark.repeats(2)
@pytest.mark.parametrize("seed", range(40))
def test_a_positive_d_has_no_growing_deviation_even_where_v_grows_for_a_while(seed):
    """No counterexample to the paper's conclusion, though its proof fails: S is indefinite in every case here."""
    chance = np.random.default_rng(seed)
    (d1, d2), (v, w) = chance.uniform(0.3, 5, 2), chance.uniform(0.5, 5, 2)
    printed = (v / w) ** 2 * max(d1, d2)
    d = d1, d2, printed + 0.5 * (corrected((d1, d2, 0), v, w, PHI).max() - printed)
    programme = cart(d, v, w)
    assert least(programme)[0] < 0
    u = chance.normal(size=3)
    period = 2 * np.pi / w
    run = programme.simulate(
        (0, -1, 0), programme.velocity((0, -1, 0)) + 1e-3 * u, t_end=30 * period, every=period, rtol=1e-11
    )
    assert run.size[-1] < max(0.9 * run.size[-10], 1e-9 * run.size[0])


def test_without_dissipation_a_deviation_ahead_never_dies_out():
    """Section 3: u_1 and u_2 are constant, as rows 1 and 2 of p are 0."""
    run = cart((0, 0, 0)).simulate((0, -1, 0), (1.1, -0.2, 1.15), t_end=10, rtol=1e-12)
    assert abs(run.u[:, :2] - run.u[0, :2]).max() < 1e-10
