"""Hamilton's equations in symbols: the motion of the program, derivatives of H, and what is printed."""

from __future__ import annotations

import json

import numpy as np
import pytest
import sympy as sp

import momentree as mt
from constrained import blade, four_bar_in_letters, parametrized
from momentree.errors import MomentreeError
from momentree.symbols.hamilton import HamiltonEquations
from momentree.symbols.identities import vanishes


def double_pendulum():
    m = parametrized("double pendulum", (0, "-g", 0), g=9.81, m=1.2, l=0.9)
    first, second = (m.body(f"rod {i}", mt.rod(mass="m", length="l", along="-y")) for i in (1, 2))
    m.joint("A", mt.Revolute("z"), m.ground, first)
    m.joint("B", mt.Revolute("z"), first.at((0, "-l", 0)), second)
    return m


def bead():
    """A bead on a rod that turns as prescribed: momenta at rest do not vanish where the rod is offset."""
    m = parametrized("bead", (0, "-g", 0), g=9.81, w=2.0, d=0.3)
    rod = m.body("rod", mt.rod(mass=1.0, length=1.0))
    m.joint("turning", mt.Revolute("z", motion="w*t"), m.ground, rod)
    m.joint("r", mt.Prismatic("x"), rod.at((0, "d", 0)), m.body("bead", mass=0.5, inertia=(0.1, 0.1, 0.1)))
    return m


@pytest.mark.parametrize("model", [double_pendulum, bead])
def test_both_sets_are_derivatives_of_the_hamiltonian(model):
    equations = model().build().equations("hamiltonian").expanded
    assert isinstance(equations, HamiltonEquations)
    solved = dict(equations.solved)
    pairs = zip(equations.velocities, equations.coordinates, equations.momenta, equations.changes, strict=True)
    for u, q, p, change in pairs:
        assert vanishes(sp.diff(equations.hamiltonian, p) - solved[u])
        assert vanishes(sp.diff(equations.hamiltonian, q) + change.xreplace(solved))


def accelerations(system, equations, q, u, eta, at=0.0):
    """u' by the derivative of A u + a = p + J' eta, with p' as the equations give it, and J u' + J' u + j' = 0."""
    e = equations.expanded
    s, values = e.symbols, system.mechanism.values
    numbers = {sp.Symbol(name, real=True): float(values.scalar(name)) for name in values.names}
    state = {**numbers, s.t: at, **dict(zip(s.q, q, strict=True)), **dict(zip(s.u, u, strict=True))}
    state |= dict(zip(e.multipliers, eta, strict=True))
    form = e.form

    def number(x):
        return np.array(sp.Matrix(x).xreplace(state).evalf(), dtype=float)

    left = form.A * sp.Matrix(s.u) + e.at_rest
    moving = number([s.total_derivative(x) for x in left])[:, 0]
    J, dJ = number(form.J), number(form.J.applyfunc(s.total_derivative))
    change = number([s.total_derivative(x) for x in form.J * sp.Matrix(s.u) + form.j])[:, 0]
    right = number(e.changes)[:, 0] + dJ.T @ eta - moving
    A, m = number(form.A), len(J)
    matrix = np.block([[A, -J.T], [J, np.zeros((m, m))]])
    return np.linalg.lstsq(matrix, np.concatenate([right, -change]), rcond=1e-10)[0][: len(A)]


@pytest.mark.parametrize("eta", [(0.0, 0.0), (1.3, -0.7)])
def test_impulses_of_any_size_give_the_motion_of_the_loop(eta):
    system = four_bar_in_letters((0, -9.81, 0)).build()
    state = system.assemble({"A": 1.1}, velocities={"A": 2.0})
    found = accelerations(system, system.equations("hamiltonian"), state.q, state.v, np.array(eta))
    assert found == pytest.approx(system.forward_dynamics(state.q, state.v), rel=1e-9)


def test_nonholonomic_constraints_too():
    system = blade().build()
    q, u = np.array([0.3, -0.2, 0.7]), np.array([0.8 * np.cos(0.7), 0.8 * np.sin(0.7), 1.1])
    found = accelerations(system, system.equations("hamiltonian"), q, u, np.array([0.9]))
    assert found == pytest.approx(system.forward_dynamics(q, u), rel=1e-9)


def test_what_is_printed():
    m = parametrized("pendulum", (0, "-g", 0), g=9.81, m=1.3, J=0.2, r=0.4)
    m.joint("phi", mt.Revolute("z"), m.ground, m.body("bob", mass="m", com=(0, "-r", 0), inertia=("J", "J", "J")))
    equations = m.build().equations("hamiltonian")
    assert str(equations).splitlines() == [
        "pendulum: Hamilton's equations",
        "",
        "momenta",
        "  (J + m r²) φ′ = p_φ",
        "",
        "hence velocities",
        "  φ′ = p_φ/(J + m r²)",
        "",
        "momenta change by",
        "  p_φ′ = -m g r sin(φ)",
        "",
        "Hamiltonian",
        "  H = ½ p_φ²/(J + m r²) - m g r cos(φ)",
    ]
    assert r"\dot{p}_{\phi} &= -m g r \sin \phi" in equations.latex()
    assert json.loads(json.dumps(equations.data()))["momentum derivatives"] == ["-g*m*r*sin(phi)"]
    assert equations.operations().trigonometric == 1
    assert equations.sympy()["momentum equations"][0].rhs == sp.Symbol("p_phi", real=True)


def test_they_are_not_reduced():
    with pytest.raises(MomentreeError, match="'hamiltonian' are not reduced"):
        four_bar_in_letters().build().equations("hamiltonian", reduced=True)
