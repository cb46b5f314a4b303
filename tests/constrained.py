"""Models with loops and constraints in letters, and their equations in numbers, for tests of equations in symbols."""

from __future__ import annotations

import numpy as np
import sympy as sp

import momentree as mt

t = sp.Symbol("t", real=True)


def parametrized(name, gravity=(0, 0, 0), **parameters):
    """A model with parameters."""
    m = mt.Model(name, gravity=gravity)
    for parameter, value in parameters.items():
        m.parameter(parameter, value)
    return m


def four_bar_in_letters(gravity=(0, 0, 0)):
    """Crank a, coupler b, rocker c, ground d; hinges A, B, D, and C, which closes the loop."""
    m = parametrized("four-bar", gravity, a=1.0, b=2.0, c=2.0, d=2.5)
    rods = [m.body(f"rod {length}", mt.rod(mass=1.0, length=length)) for length in "abc"]
    m.joint("A", mt.Revolute("z"), m.ground, rods[0])
    m.joint("B", mt.Revolute("z"), rods[0].at(("a", 0, 0)), rods[1])
    m.joint("D", mt.Revolute("z"), m.ground.at(("d", 0, 0)), rods[2])
    m.joint("C", mt.Revolute("z"), rods[1].at(("b", 0, 0)), rods[2].at(("c", 0, 0)))
    return m


def two_wheels(*constraints):
    """Two wheels about parallel axes, and constraints between them."""
    m = parametrized("wheels", J1=0.4, J2=0.3, i=3.0)
    for name, inertia in (("A", "J1"), ("B", "J2")):
        wheel = m.body(f"wheel {name}", mass=1.0, inertia=(inertia, inertia, inertia))
        m.joint(name, mt.Revolute("z"), m.ground, wheel)
    for name, text in constraints:
        m.constrain(text, name)
    return m


def blade():
    """A plane body on a blade at its origin, its centre of mass `a` ahead of it: Chaplygin's sleigh."""
    m = parametrized("sleigh", m=1.2, J=0.4, a=0.3)
    m.joint("s", mt.Planar("z"), m.ground, m.body("sleigh", mass="m", com=("a", 0, 0), inertia=("J", "J", "J")))
    m.constrain("-sin(s.angle)*s.x' + cos(s.angle)*s.y'", "blade")
    return m


# --- in numbers ---


def in_numbers(system, equations, q, u, at):
    """A, b - Q, J, j, J' u + j' and positions at a state."""
    expanded = equations.expanded
    values = system.mechanism.values
    numbers = {sp.Symbol(name, real=True): float(values.scalar(name)) for name in values.names}
    still = dict.fromkeys(expanded.accelerations, sp.Integer(0))
    changes = sp.Matrix([x.xreplace(still) for x in expanded.constraint_accelerations()])
    positions = sp.Matrix([c.position for c in expanded.constraints if c.position is not None])
    wanted = [sp.Matrix(x) for x in (expanded.A, expanded.b - expanded.Q, expanded.J, expanded.j)]
    compute = sp.lambdify(
        [expanded.coordinates, expanded.velocities, t, list(numbers)], [*wanted, changes, positions], "numpy"
    )
    A, d, J, j, change, g = compute(q, u, at, list(numbers.values()))
    return A, np.ravel(d), J, np.ravel(j), np.ravel(change), np.ravel(g)


def solved(A, d, J, change):
    """u' of A u' + d = J' lambda, J u' + change = 0; redundant rows do no harm."""
    m = len(J)
    matrix = np.block([[A, -J.T], [J, np.zeros((m, m))]])
    return np.linalg.lstsq(matrix, -np.concatenate([d, change]), rcond=1e-10)[0][: len(A)]


def accelerations_of_reduced(system, equations, q, u, at):
    """All accelerations by reduced equations: u = V(q, w, t), hence u' = (dV/dw) w' + dV/dt where w is constant."""
    expanded, s, values = equations.expanded, equations.symbols, system.mechanism.values
    by_name = {sp.Symbol(name, real=True): float(values.scalar(name)) for name in values.names}
    state = {**by_name, t: at, **dict(zip(s.q, q, strict=True))}
    V = sp.Matrix(s.u).xreplace(dict(expanded.dependent))
    w = sp.Matrix(expanded.velocities)
    B = np.array(V.jacobian(w).subs(state), dtype=float)
    rest = np.array(V.xreplace(dict.fromkeys(w, sp.Integer(0))).subs(state), dtype=float)[:, 0]
    speeds, *_ = np.linalg.lstsq(B, u - rest, rcond=None)
    assert np.abs(B @ speeds + rest - u).max() < 1e-9 * max(1, np.abs(u).max())
    state |= dict(zip(w, speeds, strict=True))
    A, d = (np.array(x.subs(state), dtype=float) for x in (expanded.A, expanded.b - expanded.Q))
    # velocities of coordinates by full names, those of V itself by w
    held = {x: sp.Dummy() for x in w}
    state |= dict(zip(s.u, u, strict=True)) | {held[x]: speed for x, speed in zip(w, speeds, strict=True)}
    change = np.array([s.total_derivative(x).subs(state) for x in V.xreplace(held)], dtype=float)
    return B @ np.linalg.solve(A, -d[:, 0]) + change
