"""Rusanov 2014, line by line: the printed derivations of both examples are the steps of the paper.

Numbers in parentheses are the paper's; D1, D2, ... are those of our page. The paper's point A is our block, B (or C)
the center of mass of our rod; V_x = x', V_tau = l phi', tau = cos(phi) i + sin(phi) j. It projects on tau, we on the
partial velocity l tau (l tau / 2 in example 2). (8) and (9) have a misprint in the sign of the weight: see
test_rusanov.py.
"""

from __future__ import annotations

import pytest
import sympy as sp
from sympy import cos, sin

from momentree.symbols.trigonometry import Trigonometry
from rusanov_examples import slider

M, m, l, g, c0, x, phi = sp.symbols("M m l g c0 x phi", real=True)
V_x, w, a_x, eps = sp.symbols("x' phi' x'' phi''", real=True)

EXAMPLE_1 = [
    ("D1", "V(block) = x′ i", "before (7)"),
    ("D2", "V(rod) = x′ i + l (cos(φ) i + sin(φ) j) φ′", "(7): V_B = V_x i + V_tau tau"),
    ("D3", "ω(rod) = φ′ k", "the rod turns with phi = s/l"),
    ("D4", "v_x(block) = i", "(4), (5): dL/dq_s"),
    ("D5", "v_x(rod) = i", "(4), (5)"),
    ("D6", "v_φ(rod) = l (cos(φ) i + sin(φ) j)", "tau, below (10)"),
    ("D7", "w_φ(rod) = k", "(4), (5): dH/dq_s"),
    ("D8", "T = ½ M x′² + ½ m (x′² + l (l φ′ + 2 x′ cos(φ)) φ′)", "(6): T = [M V_A V_A + m V_B V_B]/2"),
    ("D9", "a(block) = x″ i", "a_A^x"),
    ("D10", "a(rod) = x″ i + l (cos(φ) i + sin(φ) j) φ″ + l (cos(φ) j - sin(φ) i) φ′²", "a_B = a_A + a_BA"),
    ("D11", "ε(rod) = φ″ k", "-"),
    ("D12", "R(block) = l c₀ (sin(φ) - 1) i - (M g + l c₀ cos(φ)) j", "(6): M g + F_D, F_D = -F_B; N has no power"),
    ("D13", "m(block) = -l² c₀ cos(φ) k", "F_D acts at D; its moment has no power, since the block does not turn"),
    ("D14", "R(rod) = l c₀ (1 - sin(φ)) i + (l c₀ cos(φ) - m g) j", "(6): m g + F_B, F_B = c0 l [(1 - sin) i + cos j]"),
    ("D15", "dT/dt = (M a(block)·v_x(block) + m a(rod)·v_x(rod)) x′ + m φ′ a(rod)·v_φ(rod)", "before (8): dT/dt"),
    ("D16", "W = (R(block)·v_x(block) + R(rod)·v_x(rod)) x′ + φ′ R(rod)·v_φ(rod)", "before (8): W; with D15, (8)"),
    ("D17", "a(block)·v_x(block) = x″", "a_A^x"),
    ("D18", "R(block)·v_x(block) = l c₀ (sin(φ) - 1)", "F_D i"),
    ("D19", "a(rod)·v_x(rod) = x″ + l (φ″ cos(φ) - φ′² sin(φ))", "a_B^x, below (10)"),
    ("D20", "R(rod)·v_x(rod) = l c₀ (1 - sin(φ))", "F_B i"),
    ("D21", "M a(block)·v_x(block) + m a(rod)·v_x(rod) = R(block)·v_x(block) + R(rod)·v_x(rod)", "(9), first"),
    ("D22", "a(rod)·v_φ(rod) = l² φ″ + l x″ cos(φ)", "a_B^tau, below (10), times l"),
    ("D23", "R(rod)·v_φ(rod) = l² c₀ cos(φ) - m g l sin(φ)", "(9), second, right side, times l"),
    ("D24", "m a(rod)·v_φ(rod) = R(rod)·v_φ(rod)", "(9), second, times l"),
    ("D25", "(M + m) x″ + m l φ″ cos(φ) - m l φ′² sin(φ) = 0", "(10), first"),
    ("D26", "m l x″ cos(φ) + m l² φ″ = l² c₀ cos(φ) - m g l sin(φ)", "(10), second, times l"),
]


@pytest.fixture(scope="module", name="first")
def _first():
    return slider(1).build().equations("energy").derivation()


@pytest.fixture(scope="module", name="second")
def _second():
    return slider(2).build().equations("energy").derivation()


def test_example_1_has_these_lines_and_no_others(first):
    assert [(line.number, first.text(line)) for line in first.lines] == [
        (number, text) for number, text, _ in EXAMPLE_1
    ]


def test_steps_are_those_of_the_algorithm(first):
    # "Step 1. Introduce coordinates and velocities. Step 2. (5) of each body. Step 3. T_s and Q_s by (4). Step 4. (3)."
    titles = [step.title for step in first.steps]
    assert titles == [
        "Coordinates and velocities",  # step 1
        "Velocities of centers of mass, angular velocities",  # step 2
        "Partial velocities",  # step 2: derivatives of (5)
        "Kinetic energy",  # (6)
        "Accelerations",  # step 3: "having expressed the accelerations ..."
        "Active forces and their moments about centers of mass",  # step 3: "... and forces by coordinates"
        "The theorem of kinetic energy, gathered by velocities",  # (2), (8)
        "Projection on each velocity",  # (3), (4), (9)
        "Equations of motion",  # step 4, (10)
    ]


def same(found, said):
    return not any(Trigonometry([sp.S(found) - said]).polynomials)


def components(steps, number):
    """A vector of a line by its components along i, j, k."""
    basis = [symbol for symbol, spelling in steps.labels.items() if spelling.text in ("i", "j", "k")]
    basis.sort(key=lambda symbol: steps.labels[symbol].text)
    return [sp.expand(steps[number].right).coeff(e) for e in basis]


def test_formulas_of_example_1(first):
    V_B = [V_x + l * w * cos(phi), l * w * sin(phi), 0]  # (7)
    a_B = [a_x + l * eps * cos(phi) - l * w**2 * sin(phi), l * eps * sin(phi) + l * w**2 * cos(phi), 0]
    F_B = [c0 * l * (1 - sin(phi)), c0 * l * cos(phi), 0]
    tau = [l * cos(phi), l * sin(phi), 0]
    assert all(map(same, components(first, "D2"), V_B))
    assert all(map(same, components(first, "D6"), tau))
    assert same(first["D8"].right, (M * V_x**2 + m * (V_B[0] ** 2 + V_B[1] ** 2)) / 2)  # (6)
    assert all(map(same, components(first, "D10"), a_B))
    assert all(map(same, components(first, "D14"), [F_B[0], F_B[1] - m * g, 0]))  # (6): m g + F_B
    assert all(map(same, components(first, "D12"), [-F_B[0], -F_B[1] - M * g, 0]))  # (6): M g + F_D
    assert same(first["D22"].right, l * (a_x * cos(phi) + l * eps))  # a_B^tau
    assert same(first["D23"].right, sum(p * q for p, q in zip(tau, [F_B[0], F_B[1] - m * g, 0], strict=True)))
    # (10)
    assert same(first["D25"].left, M * a_x + m * (a_x + l * eps * cos(phi) - l * w**2 * sin(phi)))
    assert same(
        first["D26"].left - first["D26"].right,
        l * (m * (a_x * cos(phi) + l * eps) + m * g * sin(phi) - c0 * l * cos(phi)),
    )


def test_the_balance_is_equation_8_with_its_sign_corrected(first):
    # {(M a_A + m a_B) i} V_x + {(m a_B - m g - F_B) tau} V_tau; the paper prints + m g - F_B
    meaning = {first[number].left: first[number].right for number in ("D17", "D18", "D19", "D20", "D22", "D23")}
    surplus = (first["D15"].right - first["D16"].right).xreplace(meaning)
    a_B = a_x + l * eps * cos(phi) - l * w**2 * sin(phi)
    bracket = m * (a_x * cos(phi) + l * eps) + m * g * sin(phi) - c0 * l * cos(phi)
    assert same(surplus, (M * a_x + m * a_B) * V_x + bracket * l * w)
    as_printed = m * (a_x * cos(phi) + l * eps) - m * g * sin(phi) - c0 * l * cos(phi)
    assert not same(surplus, (M * a_x + m * a_B) * V_x + as_printed * l * w)


EXAMPLE_2 = [
    ("D2", "V(rod) = x′ i + ½ l (cos(φ) i + sin(φ) j) φ′", "before (12): V_C = V_x i + 0.5 l w tau"),
    ("D3", "ω(rod) = φ′ k", "before (12): w = w_z k"),
    ("D10", "a(rod) = x″ i + ½ l (cos(φ) i + sin(φ) j) φ″ + ½ l (cos(φ) j - sin(φ) i) φ′²", "below (13): a_C"),
    ("D11", "ε(rod) = φ″ k", "below (13)"),
    ("D14", "R(rod) = l c₀ (1 - sin(φ)) i + (l c₀ cos(φ) - m g) j", "below (13): m g, F_B"),
    ("D15", "m(rod) = ½ l² c₀ cos(φ) k", "F_B acts at B, half a rod from C"),
    ("D21", "a(rod)·v_x(rod) = x″ + ½ l (φ″ cos(φ) - φ′² sin(φ))", "(13), P"),
]


def test_example_2(second):
    found = {second.text(line) for line in second.lines}
    assert all(text in found for _, text, _ in EXAMPLE_2)
    by_text = {second.text(line).split(" = ")[0]: line for line in second.lines}
    J_C = m * l**2 / 12
    # (11), with the misprint M (V_A . A) corrected
    V_C = [V_x + l * w * cos(phi) / 2, l * w * sin(phi) / 2]
    assert same(by_text["T"].right, (M * V_x**2 + m * (V_C[0] ** 2 + V_C[1] ** 2) + J_C * w**2) / 2)
    # (12): dT/dt, W; (13): Q = J_C eps + M_A(m a_C) - M_A(m g) - M_A(F_B)
    (moment,) = [line for line in second.lines if second.text(line).startswith("I ε(rod)·w_φ(rod) +")]
    assert second.text(moment) == "I ε(rod)·w_φ(rod) + m a(rod)·v_φ(rod) = R(rod)·v_φ(rod) + m(rod)·w_φ(rod)"
    *_, last_but_one, last = second.lines
    assert same(last_but_one.left, M * a_x + m * (a_x + l * eps * cos(phi) / 2 - l * w**2 * sin(phi) / 2))
    J_A = m * l**2 / 3
    assert same(last.left, m * l * cos(phi) * a_x / 2 + J_A * eps)
    assert same(last.right, -m * g * l * sin(phi) / 2 + c0 * l**2 * cos(phi))
