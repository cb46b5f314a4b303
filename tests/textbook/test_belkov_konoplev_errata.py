"""Belkov and Konoplev 1997: what is printed is not what the sweeps give, and what must stand there is.

The example is the two-link pendulum on a slider, with c and s of theta6; the tree is that of the paper's figure, nine
elements, with random wrenches and transforms. docs/theory/errata.md lists all.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import momentree as mt
from momentree.equations.aggregative import first_form, second_form
from momentree.equations.evaluation import Evaluation
from momentree.spatial import Motion
from momentree.spatial.vector import ZERO, X, Y, Z

MODEL = Path(__file__).parents[2] / "examples" / "02_pendulum_on_a_slider" / "model.toml"
Q, U = [0.25, 0.6, -0.9], [0.8, -1.1, 2.3]
m2, m, I44, I55, I66, J55, r2, p, r, g = 2.0, 1.5, 0.02, 0.05, 0.06, 0.08, 0.3, 0.7, 0.4, 9.81
(do, w5, w6), s, c = U, np.sin(Q[2]), np.cos(Q[2])
alpha, beta = ((I44 - I55) * c - m * (p + r * c) * r) * s, -m * r * s
UNITS = [Motion(e, ZERO) for e in (X, Y, Z)] + [Motion(ZERO, e) for e in (X, Y, Z)]


def rows(vectors) -> np.ndarray:
    return np.array([[*vector] for vector in vectors], dtype=float)


@pytest.fixture(scope="module")
def pendulum():
    mechanism = mt.load(MODEL).build().mechanism.at_defaults()
    at = Evaluation(mechanism, Q)
    S_T = np.array([rows(first_form(at, unit).V).ravel() for unit in np.eye(3).tolist()]).T  # V = S' q'
    M = np.zeros((18, 18))
    for i, body in enumerate(mechanism.bodies):
        M[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = rows(body.inertia @ unit for unit in UNITS).T
    return first_form(at, U), second_form(at, U), S_T, M


def force_cross(V: np.ndarray) -> np.ndarray:
    """Omega of (v; w)."""

    def skew(a: np.ndarray) -> np.ndarray:
        return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])

    return np.block([[skew(V[3:]), np.zeros((3, 3))], [skew(V[:3]), skew(V[3:])]])


# --- dots that are lost ---


def test_b_needs_the_derivative_of_s(pendulum):
    form, _, S_T, M = pendulum
    V, x = rows(form.V), rows(form.X).ravel()
    Omega = np.zeros((18, 18))
    for i in range(3):
        Omega[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = force_cross(V[i])
    gyroscopic = Omega @ M @ V.ravel()
    assert S_T.T @ (M @ x + gyroscopic) == pytest.approx(np.array(form.b), abs=1e-14)
    printed = S_T.T @ (M @ S_T @ U + gyroscopic)  # (1.1), (2.1) without the dot: X = S' q' would be V
    assert abs(printed - np.array(form.b)).max() > 0.1


def test_x_of_the_root_is_zero_where_its_axis_is_constant(pendulum):
    form, _, S_T, _ = pendulum
    printed = S_T[:6, 0] * U[0]  # (2.2): X_11 = M f q'
    assert rows(form.X)[0] == pytest.approx(0)
    assert abs(printed).max() == pytest.approx(do)


# --- the example ---


@pytest.mark.parametrize(
    ("place", "what", "body", "entry", "right", "printed"),
    [
        ("X_3 after (2.2)", "X", 3, 5, -s * w5 * w6, -s * do * w6),
        ("Y_2: Theta_2 V_2 has I55 of body 2", "MV", 2, 5, (J55 + m2 * r2**2) * w5, (I55 + m2 * r2**2) * w5),
        ("Z_2, third entry", "Z", 2, 3, -2 * beta * w5 * w6, -beta * w5 * w6),
        (
            "Z_2, fourth entry",
            "Z",
            2,
            4,
            (I66 + (I44 - I55) * np.cos(2 * Q[2]) + 2 * m * r**2 * s**2) * w5 * w6,
            (I66 + 2 * (I44 - I55) * c * Q[2] * Q[2] + 2 * m * r**2 * s**2) * w5 * w6,
        ),
        ("Z_2, fifth entry", "Z", 2, 5, 2 * alpha * w5 * w6, 2 * alpha),
        ("V_3' before (3.11)", "X", 3, 1, c * do * w6, c * do * c),
    ],
)
def test_entries_of_the_example(pendulum, place, what, body, entry, right, printed):
    form, _, _, M = pendulum
    found = {"X": rows(form.X), "Z": rows(form.Z), "MV": (M @ rows(form.V).ravel()).reshape(3, 6)}[what]
    assert found[body - 1][entry - 1] == pytest.approx(right, abs=1e-14), place
    assert abs(printed - right) > 1e-2, place


def test_the_sixth_row_of_omega_theta_has_six_entries_and_minus_i44(pendulum):
    form, _, _, M = pendulum
    V = rows(form.V)[2]
    row = force_cross(V)[5] @ M[12:, 12:]
    right = [-m * c * do, m * s * do, -m * r * s * w5, -I44 * c * w5, (I55 + m * r**2) * s * w5, m * r * s * do]
    assert row == pytest.approx(np.array(right), abs=1e-14)
    assert row @ V == pytest.approx(-beta * do * w6 - alpha * w5**2)
    printed = [*right[:3], I44 * c * w5, *right[4:]]  # (3.11)
    assert abs(np.array(printed) @ V - row @ V) > 1e-3


# --- d ---


def test_the_selectors_of_3_10_are_those_of_the_joints(pendulum):
    _, form, _, _ = pendulum
    W = rows(form.Z)
    assert [W[0][1], W[1][4], W[2][5]] == pytest.approx([*form.b], abs=1e-13)
    assert [W[1][1], W[2][1]] != pytest.approx([*form.b[1:]], rel=0.1)  # f_2 in all three


def test_the_weights_in_3_12_and_3_13(pendulum):
    first, second, S_T, _ = pendulum
    theta = Q[1]
    down = np.array([np.cos(theta), 0, np.sin(theta)]) * g  # gravity along x, in axes of body 2
    down3 = np.array([c * down[0] + s * down[1], -s * down[0] + c * down[1], down[2]])
    F2 = np.r_[m2 * down, np.cross([r2, 0, 0], m2 * down)]
    F3 = np.r_[m * down3, np.cross([r, 0, 0], m * down3)]
    L3F3 = S_T.reshape(3, 6, 3)[2][:, 1] @ F3  # f_5' L_3 F_3
    d2 = 2 * alpha * w5 * w6 - F2[4] - L3F3
    assert second.b[1] == pytest.approx(d2)
    assert abs(2 * alpha * w5 * w6 - (L3F3 - F2[4]) - d2) > 1  # -f_5' (L_3 F_3 - F_2)
    # (3.13): the slider moves along axis 2; f_5 would take a moment about it
    assert second.b[0] == pytest.approx(beta * w6**2 - S_T[:, 0] @ np.r_[np.zeros(6), F2, F3])
    assert abs(-m * r * Q[2] * w6**2 - beta * w6**2) > 0.1  # theta6 where its sine is meant
    assert first.b[0] == pytest.approx(beta * w6**2)


# --- the tree of the figure ---

PARENT = {11: 0, 12: 11, 13: 12, 23: 12, 24: 23, 34: 23, 42: 11, 43: 42, 44: 43}


@pytest.fixture(scope="module")
def figure():
    """Y of each element, and L(a, b) that carries a wrench on b to a."""
    random = np.random.default_rng(3)
    y = {k: random.normal(size=6) for k in PARENT}
    step = {k: random.normal(size=(6, 6)) for k in PARENT}

    def L(a: int, b: int) -> np.ndarray:
        return np.eye(6) if a == b else L(a, PARENT[b]) @ step[b]

    def path(k: int) -> list[int]:
        return [k, *path(PARENT[k])] if k else []

    z = {a: sum(L(a, b) @ y[b] for b in PARENT if a in path(b)) for a in PARENT}
    return y, z, L


def test_z_is_summed_over_children(figure):
    y, z, L = figure
    for a in PARENT:
        children = [b for b, parent in PARENT.items() if parent == a]
        assert z[a] == pytest.approx(y[a] + sum(L(a, b) @ z[b] for b in children))


def test_what_is_printed_of_the_figure_is_another_sum(figure):
    y, z, L = figure
    # the list of nine: L_23 Y_13 in Z_12
    others = sum(L(12, b) @ y[b] for b in (13, 24, 34))
    assert z[12] == pytest.approx(y[12] + L(12, 23) @ y[23] + others)
    assert abs(y[12] + L(12, 23) @ y[13] + others - z[12]).max() > 0.1
    # Z_43 with L_44^42 and Y_44
    assert z[43] == pytest.approx(y[43] + L(43, 44) @ z[44])
    assert abs(y[44] + L(42, 44) @ z[44] - z[43]).max() > 0.1
    # Z_42 over (43) and (44): Y_44 is counted twice
    assert z[42] == pytest.approx(y[42] + L(42, 43) @ z[43])
    twice = y[42] + L(42, 43) @ z[43] + L(42, 44) @ z[44]
    assert twice - z[42] == pytest.approx(L(42, 44) @ y[44])
    # Z_11 with L_42 (..) twice
    assert z[11] == pytest.approx(y[11] + L(11, 12) @ z[12] + L(11, 42) @ z[42])
    # the formal proof: Z_p inside the sum where Y_p is meant
    inner = sum(L(23, b) @ z[b] for b in (23, 24, 34))
    assert abs(inner - z[23]).max() > 0.1
