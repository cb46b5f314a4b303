"""Impacts of a run: the jump of M u is J' eta and what latches add; a run without impacts has none."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.assembly.configuration import Configuration


def test_a_run_without_impacts_has_none():
    m = four_bar()
    m.release("C", at=0.1)
    system = m.build()
    run = system.simulate(system.assemble({"A": 1.0}), 0.2, every=0.1)
    assert run.impacts == ()
    assert [(phase.part.start, phase.inactive) for phase in run.phases()] == [(0, frozenset()), (2, {"C"})]
    assert [loop.name for loop in run.mechanism_at(1).loops] == ["C"]
    assert run.mechanism_at(-1).loops == ()


def test_the_jump_of_momentum_is_that_of_the_constraint_impulses():
    """A gear train with a latch: the joint that locks has an impulse of its own, the others only J' eta."""
    m = mt.Model("train", gravity=(0, 0, 0))
    for name, radius in (("A", 1.0), ("B", 2.0), ("C", 0.5)):
        body = m.body(name.lower(), mt.cylinder(mass=1.0, radius=radius, length=0.1))
        m.joint(name, mt.Revolute("z"), m.ground, body)
    m.constrain("A + 2*B", name="mesh 1")
    m.constrain("B + 3*C", name="mesh 2")
    m.latch("C", at=0.3)
    system = m.build()
    start = system.assemble({}, velocities={"C": 1.0})
    run = system.simulate(start, 1.0, every=0.1)
    (impact,) = run.impacts
    assert impact.events == ("latch of C",)
    assert impact.t == pytest.approx(0.3, rel=1e-10)
    np.testing.assert_allclose(run.v[-1], 0, atol=1e-12)
    # everything stops: each wheel loses its momentum
    v = np.array([6.0, -3.0, 1.0])
    I = np.array([1.0, 4.0, 0.25]) / 2
    np.testing.assert_allclose([impact.impulses[f"{name}'"] for name in "ABC"], -I * v, rtol=1e-9)
    assert impact.lost == pytest.approx(I @ v**2 / 2, rel=1e-9)
    J = Configuration(run.mechanism, run.q[-1]).jacobian(on_velocities=True)
    eta = np.array([impact.constraints[name] for name in ("mesh 1", "mesh 2")])
    np.testing.assert_allclose((J.T @ eta)[:2], (-I * v)[:2], rtol=1e-9)
