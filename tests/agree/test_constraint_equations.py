"""Equations with constraints in symbols against the accelerations that the program computes in numbers."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from constrained import accelerations_of_reduced, in_numbers, parametrized, solved
from mechanisms import bennett, four_bar, random_configuration, slider_crank
from momentree.symbols.constraints import constraints_of
from momentree.symbols.equations import freed
from momentree.symbols.scalars import symbolic

ACCURACY = 1e-10


# --- mechanisms with loops ---


def four_bar_in_letters():
    m = parametrized("four-bar", (0, "-g", 0), g=9.81, a=1.0, b=2.0, c=2.0, d=2.5, m1=1.0, m2=0.7, m3=1.3)
    rods = [m.body(f"rod {i}", mt.rod(mass=f"m{i}", length=length)) for i, length in ((1, "a"), (2, "b"), (3, "c"))]
    m.joint("A", mt.Revolute("z"), m.ground, rods[0])
    m.joint("B", mt.Revolute("z"), rods[0].at(("a", 0, 0)), rods[1])
    m.joint("D", mt.Revolute("z", damping=0.3), m.ground.at(("d", 0, 0)), rods[2])
    m.joint("C", mt.Revolute("z"), rods[1].at(("b", 0, 0)), rods[2].at(("c", 0, 0)))
    m.torque("A", "0.3*sin(3*t) - 0.1*A'")
    return m


def on_a_carriage():
    """A four-bar whose branches meet in a body that moves, on a ground that moves."""
    m = parametrized("on a carriage", (0, "-g", 0), g=9.81, a=1.0, h=0.2)
    frame = m.body("frame", mass=2.0, inertia=(0.3, 0.4, 0.5), com=(0.1, "h", 0.2))
    m.joint("T", mt.Revolute("y"), m.ground, frame.at((0, "h", 0), mt.turn("x", "20*deg")))
    crank, rod = m.body("crank", mt.rod(mass=1.0, length="a")), m.body("rod", mt.rod(mass=1.0, length=2.0))
    rocker = m.body("rocker", mt.rod(mass=1.0, length=2.0))
    m.joint("A", mt.Revolute("z"), frame, crank)
    m.joint("B", mt.Revolute("z"), crank.at(("a", 0, 0)), rod)
    m.joint("D", mt.Revolute("z"), frame.at((2.5, 0, 0)), rocker)
    m.joint("C", mt.Revolute("z"), rod.at((2, 0, 0)), rocker.at((2, 0, 0)))
    m.ground.moves((0, "0.1*cos(2*t)", 0))
    return m


def driven_slider_crank():
    """The crank turns as prescribed: the constraints have velocities of their own."""
    m = parametrized("driven", (0, "-g", 0), g=9.81, w=2.0, l=3.0)
    crank, rod = m.body("crank", mt.rod(mass=1.0, length=1.0)), m.body("rod", mt.rod(mass=1.0, length="l"))
    slider = m.body("slider", mt.box(mass=1.0, size=(0.2, 0.2, 0.2)))
    m.joint("A", mt.Revolute("z", motion="w*t + 0.3"), m.ground, crank)
    m.joint("B", mt.Revolute("z"), crank.at((1, 0, 0)), rod)
    m.joint("D", mt.Prismatic("x"), m.ground, slider)
    m.joint("C", mt.Revolute("z"), rod.at(("l", 0, 0)), slider)
    return m


def guided_by_its_own_frame():
    """A slide that closes a loop, its axis carried by the coupler."""
    m = parametrized("guided", (0, "-g", 0), g=9.81, a=1.0, d=2.0)
    crank, rod = m.body("crank", mt.rod(mass=1.0, length="a")), m.body("rod", mt.rod(mass=1.0, length=3.0))
    swivel = m.body("swivel", mass=0.5, inertia=(0.1, 0.1, 0.1))
    m.joint("A", mt.Revolute("z"), m.ground, crank)
    m.joint("B", mt.Revolute("z"), crank.at(("a", 0, 0)), rod)
    m.joint("S", mt.Revolute("-z"), m.ground.at(("d", 0, 0)), swivel)
    m.joint("P", mt.Prismatic("x"), rod, swivel)
    m.cut("P")
    return m


def cut_at(joint, model):
    m = model()
    m.cut(joint)
    return m


def held(kind):
    """A free body, held by a joint that closes a loop."""
    joints = {"Screw": mt.Screw("z", pitch=0.3), "PinSlot": mt.PinSlot("x", "z"), "Universal": mt.Universal("x", "y")}
    m = parametrized(kind, (0.3, 0.2, "-g"), g=9.81, m=1.2)
    body = m.body("body", mass="m", com=(0.2, 0.1, -0.1), inertia=(0.3, 0.4, 0.5))
    m.joint("free", mt.Free(), m.ground, body)
    m.joint("K", joints.get(kind) or getattr(mt, kind)(), m.ground.at((0.1, 0.2, 0.3)), body.at((0, 0.1, 0)))
    m.cut("K")
    return m


LOOPS = {
    "four-bar": (four_bar, {"A": 1.1}, {"A": 2.0}),
    "four-bar in letters": (four_bar_in_letters, {"A": 1.1}, {"A": 2.0}),
    "four-bar cut at B": (lambda: cut_at("B", four_bar_in_letters), {"A": 1.1}, {"A": 2.0}),
    "slider-crank": (slider_crank, {"A": 1.1}, {"A": 2.0}),
    "slider-crank cut at A": (lambda: cut_at("A", slider_crank), {"A": 1.1}, {"A": 2.0}),
    "on a carriage": (on_a_carriage, {"A": 1.1, "T": 0.4}, {"A": 2.0, "T": 0.7}),
    "guided": (guided_by_its_own_frame, {"A": 1.1}, {"A": 2.0}),
    "driven slider-crank": (driven_slider_crank, {}, {}),
    "bennett": (bennett, {"R1": 1.0}, {"R1": 1.3}),
    **{
        f"held by {kind}": ((lambda kind=kind: held(kind)), {}, None)
        for kind in ("Spherical", "Universal", "Revolute", "Prismatic", "Cylindrical", "PinSlot", "Planar", "Screw")
    },
}
SLOW = (
    "bennett",
    "held by Prismatic",
    "held by Screw",
    "held by Universal",
    "held by PinSlot",
    "held by Cylindrical",
    "held by Planar",
)
CASES = [pytest.param(*case, id=name, marks=[pytest.mark.long] * (name in SLOW)) for name, case in LOOPS.items()]


def closed_state(system, given, velocities):
    """A state at which all constraints hold, found in numbers; of a body that is held, by what holds it."""
    if velocities is None:
        joint = system.mechanism.loops[0].joint_type
        n = len(joint.velocities)
        q = joint.integrate(joint.reference(), np.linspace(0.2, 0.4, n))
        given = {"K": list(q) if len(q) > 1 else q[0]}
        velocities = {"K": [*np.linspace(0.5, 1.0, n)] if n > 1 else 0.5}
    state = system.assemble(given, velocities=velocities)
    return np.array(state.q), np.array(state.v)


@pytest.mark.repeats(1)
@pytest.mark.parametrize(("model", "given", "velocities"), CASES)
def test_multipliers_give_the_accelerations_of_closed_loops(model, given, velocities):
    system = model().build()
    equations = system.equations()
    q, u = closed_state(system, given, velocities)
    A, d, J, j, change, g = in_numbers(system, equations, q, u, 0.0)
    turns = 0.3 * np.round(g[-1] / 0.3) if "Screw" in system.mechanism.name else 0.0  # by so much it may advance
    assert np.abs([*g[:-1], g[-1] - turns]).max() < 1e-9
    assert np.abs(J @ u + j).max() < 1e-9
    expected = system.forward_dynamics(q, u)
    assert np.abs(solved(A, d, J, change) - expected).max() < ACCURACY * max(1, np.abs(expected).max())


@pytest.mark.repeats(2)
@pytest.mark.parametrize("name", [name for name in LOOPS if name != "held by Screw"])
def test_velocities_of_loops_are_derivatives_of_positions(name):
    """At any state, closed or not; of a thread only where it is closed."""
    system = LOOPS[name][0]().build()
    mechanism = freed(system._model)
    s = symbolic(mechanism)
    random = np.random.default_rng(2)
    numbers = {symbol: float(mechanism.values.scalar(symbol.name)) for symbol in s.parameters} | {s.t: 0.3}
    numbers |= dict(zip(s.q, random_configuration(random, system), strict=True))
    numbers |= dict(zip(s.u, random.uniform(-1, 1, system.nv), strict=True))
    for row in constraints_of(mechanism, s):
        velocity = sum(J * u for J, u in zip(row.J, s.u, strict=True)) + row.j
        assert float(s.total_derivative(row.position).subs(numbers)) == pytest.approx(float(velocity.subs(numbers)))


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["four-bar in letters", "guided", "slider-crank", "four-bar cut at B", "on a carriage"]
)
def test_reduced_equations_give_the_accelerations_of_closed_loops(name):
    model, given, velocities = LOOPS[name]
    system = model().build()
    q, u = closed_state(system, given, velocities)
    found = accelerations_of_reduced(system, system.equations(reduced=True), q, u, 0.0)
    assert found == pytest.approx(system.forward_dynamics(q, u), rel=1e-10)
