"""Energy under ideal constraints of every kind is kept, and drifts where the change of their impulses is left out."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from momentree.equations.formulations import FORMULATIONS
from momentree.equations.loops import constraint_rows, expression_constraints, wrenches
from momentree.spatial import Force


def variable_gears():
    """Two rods coupled by a ratio that changes with the angle."""
    m = mt.Model("variable gears")
    for name in "AB":
        m.joint(name, mt.Revolute("y"), m.ground, m.body(name.lower(), mt.rod(mass=1.0, length=1.0)))
    m.constrain("B = A + 0.5*sin(2*A)")
    return m, {"A": 0.3}, {"A": 2.0}


def guided_tip():
    """The end of a double pendulum, a named frame, on a line that it bends around."""
    m = mt.Model("guided tip")
    upper, lower = (m.body(name, mt.rod(mass=1.0, length=1.0)) for name in ("upper", "lower"))
    m.joint("A", mt.Revolute("y"), m.ground, upper)
    m.joint("B", mt.Revolute("y"), upper.at((1, 0, 0)), lower)
    m.frame("tip", lower.at((1, 0, 0)))
    m.constrain("tip.z = 0.4*tip.x^2 - 1.5")
    return m, {"A": 1.2}, {"A": 1.0}


def rolling_disc():
    m = mt.Model("rolling disc")
    disc = m.body("disc", mt.cylinder(mass=1.0, radius=0.5, length=0.02, axis="y"))
    m.joint("F", mt.Free(), m.ground, disc)
    m.roll(disc, radius=0.5, disc="y", name="rolling")
    angle = 0.3
    turned = (np.sin(angle / 2), 0.0, 0.0, np.cos(angle / 2))
    return m, {"F": (0, 0, 0.5 * np.cos(angle), *turned)}, {"F.wx": 0.2, "F.wy": 4.0, "F.wz": 1.0}


def bead_on_a_curve():
    """A heavy body guided along a curve in space, free to turn."""
    m = mt.Model("bead")
    bead = m.body("bead", mass=1.0, com=(0.1, 0.05, 0), inertia=(0.02, 0.03, 0.04))
    m.joint("F", mt.Free(), m.ground, bead)
    m.on_curve(bead, ("y = sin(2*x)", "z = 0.5*x^2 + 0.2*y"), name="wire")
    return m, {"F.x": 0.4}, {"F.vx": 1.5, "F.wx": 0.5, "F.wy": 1.0, "F.wz": 0.3}


MODELS = {"coupling": variable_gears, "frame": guided_tip, "disc": rolling_disc, "curve": bead_on_a_curve}


def drift(name, formulation="hamiltonian", **settings):
    """The largest change of energy, by that of its kinetic part."""
    m, given, velocities = MODELS[name]()
    system = m.build()
    start = system.assemble(given, velocities=velocities)
    run = system.simulate(start, 2.0, formulation=formulation, every=0.05, rtol=1e-10, **settings)
    assert run.end.reason == "arrived"
    energies = [system.energy(q, v) for q, v in zip(run.q, run.v, strict=True)]
    total, kinetic = (np.array([getattr(e, part) for e in energies]) for part in ("total", "kinetic"))
    return np.abs(total - total[0]).max() / kinetic.max()


@pytest.mark.repeats(1)
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", MODELS)
def test_ideal_constraints_do_no_work(name, formulation):
    assert drift(name, formulation) < 1e-8


@pytest.mark.parametrize("name", ["coupling", "frame"])
def test_without_the_change_of_slopes_the_energy_drifts(monkeypatch, name):
    """p*' with J'' eta left out: impulses only leak, they do not turn with their rows."""

    def no_change(constraint, eta, kappa):
        return expression_constraints.expression_forces(constraint, kappa * eta)

    monkeypatch.setattr(wrenches, "expression_impulse_changes", no_change)
    with pytest.warns(mt.RunWarning, match="energy is out of balance"):
        assert drift(name) > 1e-3


@pytest.mark.parametrize("name", ["disc", "curve"])
@pytest.mark.repeats(1)
def test_without_the_change_of_rows_of_higher_pairs_the_energy_drifts(monkeypatch, name):
    monkeypatch.setattr(constraint_rows, "pair_row_derivatives", lambda loop: (Force.zero(),) * len(loop.rows))
    with pytest.warns(mt.RunWarning, match="energy is out of balance"):
        assert drift(name) > 1e-3
