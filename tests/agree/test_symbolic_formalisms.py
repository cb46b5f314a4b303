"""Equations in symbols by every formalism are the same equations: exactly on trees, to round-off on random loops.

Lagrange's equations differentiate T and V, which know nothing of partial velocities, accelerations or momenta: they are
an independent route. Differences of two formalisms are proved to be zero by normal forms (symbols/trigonometry.py).
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp

import momentree as mt
from constrained import parametrized
from mechanisms import random_loops
from momentree.equations.aggregative import inverse_dynamics
from momentree.equations.energy import equations_of_motion
from momentree.equations.evaluation import Evaluation
from momentree.equations.hamiltonian import momenta, momentum_derivatives
from momentree.equations.kinematics import coordinate_derivatives, move, records
from momentree.spatial.dual import Dual
from momentree.symbols.differentiation import Differentiation
from momentree.symbols.equations import freed
from momentree.symbols.formalisms import FORMALISMS
from momentree.symbols.scalars import symbolic
from momentree.symbols.trigonometry import Trigonometry

TREE_FORMALISMS = ("energy", "aggregative", "lagrange", "hamiltonian")
ACCURACY = 1e-12


# --- ten trees -------------------------------------------------------------------------------------------------------


def _chain(n, name="chain"):
    m = parametrized(name, (0, "-g", 0), g=9.81, m=1.2, r=0.4, l=0.9, J=0.1)
    end = m.ground
    for i in range(1, n + 1):
        link = m.body(f"link {i}", mass="m", com=("r", 0, 0), inertia=("J", "J", "J"))
        m.joint(f"q{i}", mt.Revolute("z"), end, link)
        end = link.at(("l", 0, 0))
    return m


def slider_with_a_thread():
    m = parametrized("slider", (0, "-g", 0), M=3.0, m=1.2, l=0.8, g=9.81, c0=15.0)
    block = m.body("block", mass="M", inertia=(1, 1, 1))
    rod = m.body("rod", mt.rod(mass="m", length="l", along="-y"))
    m.joint("x", mt.Prismatic("x", spring="c0", rest=0.1, damping=0.3), m.ground, block)
    m.joint("phi", mt.Revolute("z"), block, rod)
    m.spring(rod.at((0, "-l", 0)), block.at(("l", 0, 0)), stiffness="c0", damping=0.2)
    return m


def top():
    m = parametrized("top", (0, 0, "-g"), g=9.81, m=1.4, r=0.4, J1=0.3, J2=0.5, J3=0.2)
    body = m.body("top", mass="m", com=(0.05, 0, "r"), inertia=("J1", "J2", "J3"))
    m.joint("ball", mt.Spherical(damping=(0.1, 0.2, 0.1)), m.ground, body)
    return m


def floating_arm():
    m = parametrized("floating", (0, 0, "-g"), g=9.81, m=2.0, J=0.3)
    base = m.body("base", mass="m", com=(0.1, 0, 0), inertia=("J", 0.4, 0.5))
    m.joint("base", mt.Free(), m.ground, base)
    arm = m.body("arm", mass=1.0, com=(0.2, 0, 0), inertia=(0.1, 0.2, 0.2))
    m.joint("A", mt.Revolute("y"), base.at((0.3, 0, 0)), arm)
    return m


def arm():
    m = parametrized("arm", (0, 0, "-g"), g=9.81, m1=3.0, m2=2.0, l=0.5, r=0.2, Jx=0.1, Jy=0.12, Jz=0.15)
    column = m.body("column", mass="m1", inertia=("Jx", "Jy", "Jz"))
    upper = m.body("upper", mass="m2", com=("r", 0, 0), inertia=("Jx", "Jy", "Jz"))
    m.joint("q1", mt.Revolute("z"), m.ground, column)
    m.joint("q2", mt.Revolute("y"), column.at((0, 0, "l")), upper)
    m.torque("q2", "sin(3*t) - 0.1*q2'")
    return m


def on_a_moving_ground():
    m = parametrized("moving", (0, "-g", 0), g=9.81, m=1.0, w=2.0)
    rod = m.body("rod", mt.rod(mass="m", length=1.0))
    bead = m.body("bead", mass=0.5, inertia=(0.1, 0.1, 0.1))
    m.joint("turning", mt.Revolute("z", motion="w*t"), m.ground, rod)
    m.joint("r", mt.Prismatic("x"), rod, bead)
    m.ground.moves((0, "0.1*cos(2*t)", 0))
    return m


def several_freedoms():
    m = parametrized("several", (0, 0, "-g"), g=9.81, m=1.5, a=0.3)
    first = m.body("first", mass="m", com=("a", 0, 0.1), inertia=(0.2, 0.3, 0.4))
    m.joint("U", mt.Universal("x", "y"), m.ground, first)
    second = m.body("second", mass=0.7, com=(0, "a", 0), inertia=(0.1, 0.2, 0.2))
    m.joint("C", mt.Cylindrical("z"), first.at(("a", 0, 0)), second)
    return m


def against_the_joint():
    """Joints that the tree traverses from their second frames."""
    m = parametrized("reversed", (0, 0, "-g"), g=9.81, m=1.5)
    body = m.body("body", mass="m", com=(0.2, 0.1, 0), inertia=(0.2, 0.3, 0.4))
    m.joint("ball", mt.Spherical(), body.at((0.1, 0, 0)), m.ground)
    m.joint("P", mt.Planar("y"), m.body("disc", mass=0.4, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.2)), body)
    return m


def pushed():
    m = parametrized("pushed", (0, "-g", 0), g=9.81, m=1.5, k=40.0)
    cart = m.body("cart", mass="m", inertia=(0.2, 0.3, 0.4))
    m.joint("s", mt.Planar("z"), m.ground, cart)
    m.force(cart.at((0.2, 0, 0)), ("3*sin(t)", "-2*s.x'", 0))
    m.spring(cart.at((0, 0.3, 0)), m.ground.at((1, 0, 0)), stiffness="k", rest=0.4, tension_only=True)
    return m


TREES = {
    "double pendulum": lambda: _chain(2),
    "chain of four": lambda: _chain(4),
    "slider with a thread": slider_with_a_thread,
    "top": top,
    "floating arm": floating_arm,
    "arm": arm,
    "moving ground": on_a_moving_ground,
    "several freedoms": several_freedoms,
    "against the joint": against_the_joint,
    "pushed": pushed,
}
SLOW = ("chain of four", "floating arm", "against the joint", "several freedoms")
SHORTEST = 3  # of random systems, this one has the shortest equations
CASES = [pytest.param(model, id=name, marks=[pytest.mark.long] * (name in SLOW)) for name, model in TREES.items()]


def total_change(s, x):
    """The time derivative of p(q, u, t), accelerations included."""
    return Differentiation({**s.derivatives, **dict(zip(s.u, s.du, strict=True)), s.t: sp.Integer(1)})(x)


def motion_equations(s, by):
    """A u' + b - Q of each velocity; by Hamilton, d/dt p(q, u, t) - p'(q, u, t)."""
    if by == "hamiltonian":
        p = [sp.S(x) for x in momenta(s.evaluation, s.u)]
        changes = momentum_derivatives(s.evaluation, s.u)
        return [total_change(s, x) - sp.S(change) for x, change in zip(p, changes, strict=True)]
    n = len(s.u)
    rows = [[sp.S(x) for x in row] for row in FORMALISMS[by].rows(s)]
    A, b, Q = rows[:n], rows[n], rows[n + 1]
    return [
        sp.Add(*(x * du for x, du in zip(row, s.du, strict=True)), c, -f) for row, c, f in zip(A, b, Q, strict=True)
    ]


@pytest.mark.parametrize("model", CASES)
def test_formalisms_agree_exactly_on_trees(model):
    s = symbolic(freed(model()))
    found = {by: motion_equations(s, by) for by in TREE_FORMALISMS}
    for by in TREE_FORMALISMS[1:]:
        differences = [x - y for x, y in zip(found["energy"], found[by], strict=True)]
        normal = Trigonometry(differences, quaternions=s.quaternions).polynomials
        assert not any(normal), by


@pytest.mark.parametrize("by", ["aggregative", "lagrange", "hamiltonian"])
def test_a_mistake_would_be_seen(by):
    s = symbolic(freed(slider_with_a_thread()))
    right, other = motion_equations(s, "energy"), motion_equations(s, by)
    wrong = [x - y + s.u[0] * sp.sin(s.q[1]) / 1000 for x, y in zip(right, other, strict=True)]
    assert all(Trigonometry(wrong, quaternions=s.quaternions).polynomials)


# --- random systems with loops ---------------------------------------------------------------------------------------

JOINTS = ("Revolute", "Prismatic", "Universal", "Spherical", "Cylindrical", "PinSlot", "Planar")
CLOSING = ("Spherical", "Revolute", "Cylindrical", "Universal", "Planar")


def random_system(seed):
    """A random mechanism of two to four bodies with one or two loops, springs and a law; and coordinates that fit."""
    random = np.random.default_rng(seed)
    kinds = [str(kind) for kind in random.choice(JOINTS, random.integers(2, 4))]
    closing = [str(kind) for kind in random.choice(CLOSING, random.integers(1, 3))]
    start = mt.Model(f"random {seed}", gravity=tuple(random.uniform(-9, 9, 3)))
    if random.random() < 0.3:
        start.ground.moves((0, "0.2*sin(3*t)", 0))
    model, q = random_loops(random, kinds, closing, start)
    bodies = model.bodies
    model.spring(bodies[0].at((0.1, 0.2, 0)), bodies[-1].at((0, 0, 0.3)), stiffness=12.0, rest=0.3, damping=0.2)
    return model, q


def numbers_of(expressions, values):
    """Values of expressions at a point; parts that occur several times are computed once."""
    known = dict(values)

    def number(x):
        if x not in known:
            parts = [number(part) for part in x.args]
            if x.is_Number:
                known[x] = float(x)
            elif x.is_Add:
                known[x] = math.fsum(parts)
            elif x.is_Mul:
                known[x] = math.prod(parts)
            elif x.is_Pow:
                known[x] = parts[0] ** parts[1]
            else:
                known[x] = float(x.func(*parts))
        return known[x]

    return np.array([number(sp.S(x)) for x in expressions])


def in_numbers(mechanism, by, q, u, du, t):
    """A u' + b - Q of the tree in floats, by the sweeps that symbols run too; d/dt of momenta by dual numbers."""
    if by == "energy":
        return np.array(equations_of_motion(Evaluation(mechanism, q, t), u, du))
    if by == "aggregative":
        return np.array(inverse_dynamics(Evaluation(mechanism, q, t), u, du))
    moving = records(Evaluation(mechanism, q, t), u)
    moving.locally(move)
    changing = list(map(Dual, q, coordinate_derivatives(mechanism, moving)))
    p = momenta(Evaluation(mechanism, changing, Dual(t, 1.0)), list(map(Dual, u, du)))
    changes = [x.derivative if isinstance(x, Dual) else 0.0 for x in p]
    return np.array(changes) - np.array(momentum_derivatives(Evaluation(mechanism, q, t), u))


@pytest.mark.parametrize("seed", [pytest.param(s, marks=[pytest.mark.long] * (s != SHORTEST)) for s in range(40)])
def test_formalisms_agree_on_random_systems_with_loops(seed):
    model, q = random_system(seed)
    mechanism = freed(model)
    s, random = symbolic(mechanism), np.random.default_rng([1, seed])
    u, du = (random.uniform(-1, 1, len(s.u)).tolist() for _ in range(2))
    found = {by: in_numbers(mechanism, by, list(q), u, du, 0.3) for by in ("energy", "aggregative", "hamiltonian")}
    values = {**dict(zip((*s.q, *s.u, *s.du), map(float, (*q, *u, *du)), strict=True)), s.t: 0.3}
    found["lagrange"] = numbers_of(motion_equations(s, "lagrange"), values)
    size = max(1.0, np.abs(found["energy"]).max())
    for by in TREE_FORMALISMS[1:]:
        assert np.abs(found[by] - found["energy"]).max() < ACCURACY * size, by
