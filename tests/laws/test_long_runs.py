"""What a structure-preserving integrator conserves in long runs: momenta to round-off, energy without drift."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar, random_body, random_configuration, random_frame
from momentree.assembly.samples import Samples
from momentree.compile.trace.right_hand_sides import velocity_kernel
from momentree.equations.evaluation import Evaluation
from momentree.equations.hamiltonian import momenta
from momentree.integrate.records import Status
from momentree.integrate.verlet.composition import COMPOSITIONS
from momentree.integrate.verlet.stepper import VerletStepper

LENGTHS = [30_000, *(pytest.param(count, marks=pytest.mark.long) for count in (100_000, 1_000_000))]
EACH = 97  # steps between samples: so many that they do not fall in with the motion


def states(system, integrator, q, v, h, count):
    """Samples (t, q, p) of a motion, its start first."""
    p = momenta(Evaluation(system._numeric, list(q)), list(v))
    start = np.array([*q, *p], dtype=float)
    integration = VerletStepper(system.mechanism, COMPOSITIONS[integrator], with_work=False).start(
        start[:, None], 0.0, h
    )
    status, records = integration.advance(count * h, count // EACH + 2, EACH)
    assert status == Status.ARRIVED
    t, _, y, _ = integration.unpacked(records)
    y = np.concatenate([start[None], y[:, :, 0]])
    return np.append(0.0, t), y[:, : system.nq].copy(), y[:, system.nq :].copy()


def run(system, integrator, q, v, h, count):
    """Samples (t, q, v) of a motion, its start first."""
    t, q, p = states(system, integrator, q, v, h, count)
    return t, q, velocity_kernel(system.mechanism)([np.concatenate([q, p], axis=1), t[:, None].copy()])


def slope(t, x):
    """Of the straight line through x, by least squares, and its standard error."""
    t = t - t.mean()
    found = t @ x / (t @ t)
    left = x - x.mean() - found * t
    return found, np.sqrt(left @ left / (len(t) - 2) / (t @ t))


def does_not_drift(t, energy, off):
    """Energy errors are bounded, and no slope is found in them."""
    energy = energy - energy[0]
    found, error = slope(t, energy)
    assert np.abs(energy).max() < off
    assert abs(found) < 3 * error
    return True


@pytest.mark.parametrize("count", LENGTHS)
@pytest.mark.parametrize(("integrator", "h", "off"), [("verlet", 0.01, 0.02), ("verlet4", 0.02, 1e-4)])
def test_a_double_pendulum_neither_gains_nor_loses_energy(integrator, h, off, count):
    m = mt.Model("double pendulum")
    a, b = (m.body(name, mt.rod(mass=1.0, length=1.0)) for name in "ab")
    m.joint("A", mt.Revolute("y"), m.ground, a)
    m.joint("B", mt.Revolute("y"), a.at((1, 0, 0)), b)
    system = m.build()
    t, q, v = run(system, integrator, (0.3, 0.4), (0.5, -0.2), h, count)
    assert np.ptp(q, axis=0).min() > 1
    assert does_not_drift(t, system.energy(q, v).total, off)


@pytest.mark.repeats(1, of="integrator")
@pytest.mark.parametrize("count", LENGTHS)
@pytest.mark.parametrize(("integrator", "h", "off"), [("verlet", 0.01, 2e-3), ("verlet4", 0.02, 1e-6)])
@pytest.mark.parametrize("velocity", [0.0, 0.5])
def test_a_four_bar_linkage_stays_closed_and_keeps_its_energy(velocity, integrator, h, off, count):
    system = four_bar().build()
    start = system.assemble({"A": 1.0}, velocities={"A": velocity})
    t, q, p = states(system, integrator, start.q, start.v, h, count)
    v = np.linalg.solve(system.mass_matrix(q), p[..., None])[..., 0]  # of the tree: not projected
    at = Samples(system._numeric, q, v, t)
    assert np.ptp(q[:, 0]) > 0.5
    assert np.abs(at.closure_errors()).max() < 1e-13
    assert np.abs(at.constraint_velocities()).max() < 1e-13
    assert does_not_drift(t, system.energy(q, v).total, off)


@pytest.mark.parametrize("count", LENGTHS)
@pytest.mark.parametrize(("integrator", "h", "off"), [("verlet", 0.01, 1e-5), ("verlet4", 0.02, 1e-9)])
@pytest.mark.parametrize("joint", [mt.Spherical(), mt.Free()], ids=lambda joint: joint.kind)
@pytest.mark.repeats(2)
def test_a_body_without_torque_conserves_its_angular_momentum(joint, integrator, h, off, count):
    m = mt.Model("asymmetric body", gravity=(0, 0, 0))
    body = m.body("body", mass=1.3, inertia=(1.0, 1.6, 2.1))
    m.joint("J", joint, m.ground, body)
    system = m.build()
    v = np.array([0.5, -0.2, 0.1, 0.3, 1.1, -0.2])[-system.nv :]
    q = np.array([0, 0, 0, 0, 0, 0, 1.0])[-system.nq :]
    t, q, v = run(system, integrator, q, v, h, count)
    kept = system.momentum(q, v)
    linear, angular = kept[:, :3], kept[:, 3:]
    if joint.kind == "Free":
        assert np.abs(linear - linear[0]).max() < 1e-12 * np.linalg.norm(linear[0])
    assert np.abs(angular - angular[0]).max() < 1e-10 * np.linalg.norm(angular[0])
    assert np.abs(np.linalg.norm(q[:, -4:], axis=1) - 1).max() < 1e-15 * 4
    assert does_not_drift(t, system.energy(q, v).total, off)


@pytest.mark.repeats(1, of="integrator")
@pytest.mark.parametrize("integrator", COMPOSITIONS)
@pytest.mark.parametrize("seed", range(3))
def test_a_floating_tree_conserves_its_momentum(seed, integrator):
    random = np.random.default_rng(seed)
    m = mt.Model("satellite", gravity=(0, 0, 0))
    bodies = [random_body(random, m, name) for name in "abcd"]
    m.joint("base", mt.Free(), m.ground, bodies[0])
    for name, joint, i, j in (("B", mt.Spherical(), 0, 1), ("C", mt.Universal(), 2, 0), ("D", mt.Revolute(), 2, 3)):
        m.joint(name, joint, random_frame(random, bodies[i]), random_frame(random, bodies[j]))
    system = m.build()
    q, v = random_configuration(random, system), 0.5 * random.standard_normal(system.nv)
    _, q, v = run(system, integrator, q, v, 0.01, 10_000)
    kept = system.momentum(q, v)
    assert np.abs(kept - kept[0]).max() < 1e-10 * np.linalg.norm(kept[0])
    assert np.abs(v - v[0]).max() > 0.1
    energy = system.energy(q, v).total
    assert np.abs(energy - energy[0]).max() < (5e-3 if integrator == "verlet" else 1e-5)
