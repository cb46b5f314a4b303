"""Quantities in symbols: closed forms of a textbook, identities that are exactly zero, and the same as in numbers."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import momentree as mt
from constrained import four_bar_in_letters
from mechanisms import random_body, random_configuration
from momentree.symbols.quantities import MANY_TERMS, terms


def pendulum_on_a_slider():
    m = mt.Model("pendulum on a slider", gravity=(0, 0, "-g"))
    for name, value in {"g": 9.81, "M": 2.0, "m": 1.0, "l": 0.5}.items():
        m.parameter(name, value)
    cart, bob = (m.body(name, mass=mass, com=(0, 0, z), inertia=(0, 0, 0)) for name, mass, z in
                 (("cart", "M", 0), ("bob", "m", "-l")))  # fmt: skip
    m.joint("x", mt.Prismatic("x"), m.ground, cart)
    m.joint("phi", mt.Revolute("y"), cart, bob)
    m.torque("phi", "2*t")
    return m, bob


def zero(expression):
    return sp.simplify(sp.expand_trig(sp.sympify(expression))) == sp.zeros(*getattr(expression, "shape", (1, 1)))


def test_a_pendulum_on_a_slider_has_the_quantities_of_a_textbook():
    """x along the rail, phi from the vertical, turning x towards -x: docs/theory/coriolis.md (C6)."""
    model, bob = pendulum_on_a_slider()
    at = model.build().symbols
    (x, phi), (dx, dphi), t = at.q, at.v, at.t
    g, M, m, l = at.parameters
    c, s = sp.cos(phi), sp.sin(phi)
    assert zero(sp.Matrix([at.kinetic_energy - (M * dx**2 + m * (dx**2 - 2 * l * c * dx * dphi + l**2 * dphi**2)) / 2]))
    assert zero(sp.Matrix([at.potential_energy + m * g * l * c]))
    assert at.lagrangian == at.kinetic_energy - at.potential_energy
    assert zero(at.mass_matrix - sp.Matrix([[M + m, -m * l * c], [-m * l * c, m * l**2]]))
    assert zero(at.inverse_mass_matrix * at.mass_matrix - sp.eye(2))
    assert at.coriolis_matrix == sp.Matrix([[0, m * l * dphi * s], [0, 0]])
    assert at.aggregative_matrix == sp.Matrix([[0, m * l * dphi * s], [m * l * dphi * s, -m * l * dx * s]])
    assert zero(at.coriolis_forces - at.coriolis_matrix * sp.Matrix(at.v))
    assert at.gravity_forces == sp.Matrix([0, m * g * l * s])
    assert zero(at.generalized_forces - sp.Matrix([0, 2 * t - m * g * l * s]))
    assert zero(sp.Matrix([at.virtual_work - (2 * t - m * g * l * s) * at.virtual_displacements[1]]))
    assert zero(at.bias - at.coriolis_forces + at.generalized_forces)
    assert zero(at.generalized_momenta - sp.Matrix([at.kinetic_energy]).jacobian(at.v).T)
    assert zero(at.generalized_momenta - at.mass_matrix * sp.Matrix(at.v))
    U, D, D_inverse = at.factors
    assert zero(U * D * U.T - at.mass_matrix)
    assert D * D_inverse == sp.eye(2)
    assert at.position(bob.at((0, 0, "-l"))) == sp.Matrix([x - l * s, 0, -l * c])
    tip = at.partial_velocities(bob.at((0, 0, "-l")))
    assert tip.linear == sp.Matrix([[1, 0, 0], [-l * c, 0, l * s]])
    assert tip.angular == sp.Matrix([[0, 0, 0], [0, 1, 0]])
    assert not any(tip.linear_t)
    assert not any(tip.angular_t)
    assert at.jacobian(bob)[4, 1] == 1
    assert at.constraint_jacobian.shape == (0, 2)


def test_the_derivative_of_the_mass_matrix_is_exactly_the_sum_of_coriolis_matrix_and_transpose():
    at = four_bar_in_letters((0, 0, -9.81)).build().symbols
    change = sp.zeros(3)
    for q, v in zip(at.q, at.v, strict=True):
        change += at.mass_matrix.diff(q) * v
    assert zero(change - at.coriolis_matrix - at.coriolis_matrix.T)
    B = at.aggregative_matrix
    assert not zero(change - B - B.T)
    assert zero((B - at.coriolis_matrix) * sp.Matrix(at.v))


def test_kinematic_matrices_and_forms_satisfy_their_equations_exactly():
    model, _ = pendulum_on_a_slider()
    at = model.build().symbols
    k, first, second = at.kinematic_matrices, at.first_form, at.second_form
    assert zero(k.S * k.T - sp.eye(12))
    assert zero(sp.Matrix.vstack(*first.V) - k.B * sp.Matrix(at.v))
    assert zero(sp.Matrix.vstack(*first.Z) - k.T.T * sp.Matrix.vstack(*first.Y))
    assert first.b == at.coriolis_forces
    assert second.b == at.bias
    assert zero(k.A.T * sp.Matrix.vstack(*at.subtree_momenta) - at.generalized_momenta)


def test_constraints_of_a_loop_are_those_of_the_equations_and_span_what_numbers_span():
    system = four_bar_in_letters().build()
    at = system.symbols
    assert at.constraint_jacobian == system.equations().expanded.J
    start = system.assemble({"A": 1.0})
    values = dict(zip(at.q, start.q, strict=True))
    values |= {sp.Symbol(name, real=True): value for name, value in system._model.parameters}
    J = np.array(at.constraint_jacobian.subs(values), dtype=float)
    both = np.concatenate([J, system.constraint_jacobian(start.q)])
    assert np.linalg.matrix_rank(J, 1e-9) == np.linalg.matrix_rank(both, 1e-9) == 2
    Phi = np.array(at.delassus_matrix.subs(values), dtype=float)
    np.testing.assert_allclose(Phi, J @ np.linalg.solve(system.mass_matrix(start.q), J.T), rtol=1e-10)
    assert not any(at.constraint_drift)


MATRICES = ("mass_matrix", "inverse_mass_matrix", "coriolis_matrix", "aggregative_matrix", "coriolis_forces")
MATRICES += ("gravity_forces", "generalized_forces", "generalized_momenta", "bias")
BALLS = ("Spherical", "Free")  # whose quaternions make long expressions
JOINTS = {
    "Prismatic": lambda: mt.Prismatic("x"),
    "Planar": lambda: mt.Planar("z"),
    "Universal": lambda: mt.Universal("x", "y"),
    "Spherical": mt.Spherical,
    "PinSlot": lambda: mt.PinSlot("y", "z"),
    "Free": mt.Free,
    "Screw": lambda: mt.Screw("z", pitch=0.2),
    "Cylindrical": lambda: mt.Cylindrical("y"),
}


@pytest.mark.repeats(1)
@pytest.mark.parametrize("kind", JOINTS)
def test_symbols_give_what_numbers_give(kind):
    """A body on a hinge, then on the joint; the hinge on a carrier that moves as prescribed; a spring and a law."""
    random = np.random.default_rng(len(kind))
    m = mt.Model(kind, gravity=(1, 0, -9.81))
    carrier = m.body("carrier", mt.box(mass=1.0, size=(1, 1, 1)))
    m.joint("carry", mt.Prismatic("y", motion="0.3*t^2"), m.ground, carrier)
    first, second = (m.body(n, mass=1.5, com=(0.25, 0.5, 0), inertia=(0.5, 0.75, 1)) for n in ("first", "second"))
    m.joint("turn", mt.Revolute("x", spring=2.0, damping=0.5), carrier.at((1, 0, 0.5)), first)
    m.joint("joint", JOINTS[kind](), first.at((0, 1, 0)), second.at((0, 0, 0.5)))
    m.torque("turn", "sin(t)")
    system = m.build()
    at = system.symbols
    q, v, t = random_configuration(random, system), random.standard_normal(system.nv), 0.7
    for what in MATRICES if kind not in BALLS else ("mass_matrix", "coriolis_matrix", "gravity_forces"):
        given = (q,) if what in ("mass_matrix", "inverse_mass_matrix", "gravity_forces") else (q, v)
        expression = getattr(at, what)
        found = sp.lambdify([(*at.q, *at.v, at.t)], list(expression), cse=True)([*q, *v, t])
        expected = getattr(system, what)(*given, t=t).ravel()
        np.testing.assert_allclose(np.array(found, dtype=float), expected, atol=1e-11 * max(1, np.abs(expected).max()))


def test_what_has_too_many_terms_stays_as_it_is():
    a, b = sp.symbols("a b")
    assert terms((a + b) * (a - b)) == 4
    assert terms((a + b + 1) ** 3) == 27
    assert terms(sp.sin(a + b) / (a + b)) == 2
    assert terms(((a + b) * (a - b) + 1) ** 7) > MANY_TERMS


def test_what_cannot_move_has_no_symbols():
    m = mt.Model("weld")
    m.joint("weld", mt.Fixed(), m.ground, random_body(np.random.default_rng(1), m, "block"))
    with pytest.raises(mt.MomentreeError, match="nothing in 'weld' is free to move"):
        _ = m.build().symbols
