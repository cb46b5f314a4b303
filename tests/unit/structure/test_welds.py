"""Welded bodies as one: the same mechanics, with fewer bodies."""

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar, random_configuration, random_frame, random_loops, random_tree
from momentree.compile.trace.functions import traced_function
from momentree.structure.welds import without_welds

KINDS = ["Fixed", "Revolute", "Fixed", "Fixed", "Spherical", "Fixed", "Prismatic", "Fixed", "Fixed", "Revolute"]


def welded(seed):
    """A random tree whose forces act on bodies that are welded to others, as a parameter says."""
    random, m = np.random.default_rng(seed), mt.Model("welded")
    m.parameter("k", 7.0)
    m = random_tree(random, KINDS, m)
    bodies = m.bodies
    m.joint(
        "plate on its mount", mt.Fixed(), bodies[3].at(("0.1*k", 0, 0)), m.body("plate", mt.sphere("k", radius=0.1))
    )
    m.spring(random_frame(random, bodies[2]), random_frame(random, bodies[8]), "k", damping=2.0, rest=0.1)
    m.force(random_frame(random, bodies[7]), (1, "t", -2), moment=(0, 0.3, 0), axes="body")
    m.contact(random_frame(random, bodies[5]), stiffness="k", radius=6.0, damping=0.3)
    return random, m


def value(system, what, frame=None, **given):
    """A function of the mechanism without welds."""
    function = traced_function(system.mechanism, what, frame)
    given |= {"parameters": list(system.parameters.values())}
    columns = [(given.get(name, np.zeros(len(inputs))), inputs) for name, inputs in function.arguments]
    values = {name: float(x) for numbers, inputs in columns for name, x in zip(inputs, numbers, strict=True)}
    return np.reshape(function.recorded().evaluate(values), function.shape)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("free", [(), ("k",)])
def test_welded_bodies_move_as_one(seed, free):
    random, m = welded(seed)
    system = m.build(free=free)
    q, (v, tau) = random_configuration(random, system), random.standard_normal((2, system.nv))
    left = {body.name for body in without_welds(system.mechanism).bodies}
    fixed = [body for body in system.mechanism.bodies if body.joint.type.kind == "Fixed" and body.parent]
    assert left == {body.name for body in system.mechanism.bodies} - {body.name for body in fixed}
    assert len(left) < 8
    t = 0.7
    found = value(system, "forward_dynamics", q=q, v=v, tau=tau, t=[t])
    np.testing.assert_allclose(found, system.forward_dynamics(q, v, tau, t), rtol=1e-11)
    energy = system.energy(q, v, t)
    np.testing.assert_allclose(value(system, "kinetic_energy", q=q, v=v, t=[t]), energy.kinetic, rtol=1e-13)
    np.testing.assert_allclose(value(system, "potential_energy", q=q, t=[t]), energy.potential, rtol=1e-13)
    for body in system.mechanism.bodies:
        found = value(system, "position", body.name, q=q)
        np.testing.assert_allclose(found, system.position(q, body.name), rtol=0, atol=1e-13)


def test_loops_close_at_bodies_that_are_welded_to_others():
    random = np.random.default_rng(5)
    m, q = random_loops(random, ["Revolute", "Fixed", "Spherical", "Revolute", "Fixed", "Universal"], ["Universal"])
    system = m.build()
    assert len(without_welds(system.mechanism).bodies) < len(system.mechanism.bodies)
    v, tau = np.zeros(system.nv), random.standard_normal(system.nv)
    found = value(system, "forward_dynamics", q=q, v=v, tau=tau)
    np.testing.assert_allclose(found, system.forward_dynamics(q, v, tau), rtol=1e-9)


def test_without_welds_nothing_changes():
    mechanism = four_bar().build().mechanism
    assert without_welds(mechanism) is mechanism
    m = mt.Model("welded to the ground")
    m.joint("A", mt.Fixed(), m.ground, m.body("post", mt.rod(mass=1.0, length=1.0)))
    mechanism = m.build().mechanism
    assert without_welds(mechanism) is mechanism


def test_split_bodies_stay():
    m = four_bar()
    m.joint("W", mt.Fixed(), m.bodies[1].at((0.5, 0, 0)), m.body("plate", mt.sphere(mass=1.0, radius=0.1)))
    m.split("coupler", "C")
    mechanism = m.build().mechanism
    names = {body.name for body in mechanism.bodies}
    assert {body.name for body in without_welds(mechanism).bodies} == names - {"plate"}
