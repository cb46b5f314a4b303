"""Places where forces and constraints have no direction: an error that names the culprit, never another one."""

from __future__ import annotations

import itertools

import pytest

import momentree as mt

CALLS = {
    "forward_dynamics": lambda s, q, v: s.forward_dynamics(q, v),
    "constraint_jacobian": lambda s, q, v: s.constraint_jacobian(q),
    "constraint_drift": lambda s, q, v: s.constraint_drift(q),
    "delassus_matrix": lambda s, q, v: s.delassus_matrix(q),
    "multipliers": lambda s, q, v: s.multipliers(q, v),
    "constraint_forces": lambda s, q, v: s.constraint_forces(q, v),
    "simulate": lambda s, q, v: s.simulate(s.assemble(), 0.1),
}


def sprung(**numbers):
    m = mt.Model("sprung", gravity=(0, 0, 0))
    block = m.body("block", mass=1.0, inertia=(1, 1, 1))
    m.joint("x", mt.Prismatic("x"), m.ground, block)
    m.spring(m.ground, block, 10.0, **numbers)
    return m.build(), [0.0], [1.0]


def on(kind, equations):
    m = mt.Model(kind, gravity=(0, 0, -1))
    bead = m.body("bead", mass=1.0, inertia=(1, 1, 1))
    m.joint("f", mt.Free(), m.ground, bead)
    getattr(m, f"on_{kind}")(bead, equations, name="guide")
    return m.build(), [0.0] * 6 + [1.0], [1.0] + [0.0] * 5


def between(kind):
    m = mt.Model(kind)
    bead = m.body("bead", mass=1.0, inertia=(1, 1, 1))
    m.joint("f", mt.Free(), m.ground, bead)
    if kind == "rod":
        m.distance(m.ground, bead, 0.5, name="guide")
    elif kind == "balls":
        m.roll(bead, radius=0.3, ball=0.4, name="guide")
    else:
        m.roll(bead, radius=0.3, disc="z", name="guide")
    return m.build(), [0.0] * 6 + [1.0], [1.0] + [0.0] * 5


SPRINGS = {"damped": lambda: sprung(damping=1.0), "at rest": lambda: sprung(rest=0.3)}
PAIRS = {
    "cone": lambda: on("surface", "x^2 + y^2 - z^2 = 0"),
    "crossing": lambda: on("curve", ("x^2 - y^2 = 0", "z = 0")),
    "growing": lambda: on("surface", "x^2 + y^2 - z^2 = t^2"),
    **{kind: (lambda kind=kind: between(kind)) for kind in ("rod", "balls", "disc")},
}


@pytest.mark.parametrize("call", ["forward_dynamics", "simulate"])
@pytest.mark.parametrize("name", SPRINGS)
def test_a_spring_without_length(name, call):
    system, q, v = SPRINGS[name]()
    with pytest.raises(mt.MomentreeError, match=r"spring 1 between ground and block has no length|zero length"):
        CALLS[call](system, q, v)


# assembly finds another place, and the rows of a disc that lies flat have a direction, though it cannot move on
HAD = [(name, "simulate") for name in ("rod", "balls", "disc")]
HAD += [("disc", call) for call in ("constraint_jacobian", "constraint_drift", "delassus_matrix")]


@pytest.mark.parametrize(("name", "call"), [case for case in itertools.product(PAIRS, CALLS) if case not in HAD])
def test_a_higher_pair_without_direction(name, call):
    system, q, v = PAIRS[name]()
    expected = "not a finite number" if call == "forward_dynamics" else "constraint 'guide' has no direction here"
    with pytest.raises(mt.MomentreeError, match=expected):
        CALLS[call](system, q, v)


def test_a_spring_that_only_pulls_both_ends_together_has_a_force_everywhere():
    system, q, v = sprung()
    assert system.forward_dynamics(q, v) == pytest.approx([0.0])
