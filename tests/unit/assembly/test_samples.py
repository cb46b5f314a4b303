"""What is told of many samples at once is what `Configuration` tells of each."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import EVERY_JOINT, MOVING, four_bar, random_loops, slider_crank
from momentree.assembly.configuration import Configuration
from momentree.assembly.configuration_space import integrate
from momentree.assembly.samples import Samples, in_batches
from momentree.model.frames import Frame
from momentree.spatial import Rotation, Vector, turn
from momentree.spatial.rotation import rotation_vector

MANY = 6


def moments(random, system, q):
    """Configurations around one, torn apart a little, with velocities and times at random."""
    torn = [integrate(system.mechanism, q, 0.4 * random.standard_normal(system.nv)) for _ in range(MANY)]
    return np.array(torn), random.standard_normal((MANY, system.nv)), random.uniform(0, 3, MANY)


def agree(system, q, v, t):
    many, last = Samples(system.mechanism, q, v, t), system.mechanism.bodies[-1].name
    for i in range(len(t)):
        one = Configuration(system.mechanism, q[i], v[i], t[i])
        assert many.closure_errors()[i] == pytest.approx(one.closure_errors(), abs=1e-12)
        assert many.constraint_velocities()[i] == pytest.approx(one.constraint_velocities(), abs=1e-11)
        largest = max(many.openings()[i, :2])
        assert largest == pytest.approx(np.abs(one.closure_errors()).max(initial=0), abs=1e-12)
        for joint in system.mechanism.by_joint:
            assert many.coordinates_of(joint)[i] == pytest.approx(one.coordinates_of(joint), abs=1e-12)
            assert many.velocities_of(joint)[i] == pytest.approx(one.velocities_of(joint), abs=1e-10)
        energy = system.energy(q[i], v[i], t[i])
        assert many.energy().kinetic[i] == pytest.approx(energy.kinetic, rel=1e-12)
        assert many.energy().potential[i] == pytest.approx(energy.potential, rel=1e-11, abs=1e-11)
        position = many.position(system.mechanism.attach(Frame(last)))[i]
        assert position == pytest.approx(system.position(q[i], last, t[i]), abs=1e-12)


@pytest.mark.repeats(10)
@pytest.mark.parametrize("closing", EVERY_JOINT)
@pytest.mark.parametrize("seed", range(3))
def test_loops_closed_by_every_joint(closing, seed):
    random = np.random.default_rng(seed)
    m, q = random_loops(random, list(random.choice(MOVING, 4)), [closing, "Universal"])
    system = m.build()
    agree(system, *moments(random, system, q))


def test_constraints_on_positions_and_rates_prescribed_joints_and_a_moving_ground():
    m = four_bar()
    m.ground.moves(("0.1*sin(5*t)", 0, 0), (0, 0, "0.2*t"))
    ball = m.body("ball", mt.sphere(mass=1.0, radius=0.1))
    m.joint("free", mt.Free(), m.ground, ball)
    arm = m.body("arm", mt.rod(mass=1.0, length=1.0))
    m.joint("turned", mt.Spherical(motion=("t", "0.3*t", "sin(t)")), m.ground, arm)
    m.constrain("2*A - B + 0.1*t", "gears")
    m.constrain("free.x*free.z + sin(D)", "track")
    m.constrain("free.vx - A'*B + t", "rolling")
    system = m.build()
    random = np.random.default_rng(5)
    agree(system, *moments(random, system, np.concatenate([random.uniform(-1, 1, 3), [0, 0, 0, 0, 0, 0, 1.0]])))


def test_samples_that_are_not_numbers_spoil_only_themselves():
    system = slider_crank().build()
    state = system.assemble({"A": 0.7}, velocities={"A": 1.0})
    q, v = np.array([state.q, np.full(3, np.nan), state.q]), np.array([state.v, state.v, np.full(3, np.inf)])
    with np.errstate(all="ignore"):
        samples = Samples(system.mechanism, q, v, np.zeros(3))
        closure_errors, velocities = samples.closure_errors(), samples.velocities_of(system.mechanism.loops[0].name)
    assert np.isnan(closure_errors).any(1).tolist() == [False, True, False]
    assert np.isfinite(velocities).all(1).tolist() == [True, False, False]


def test_rotation_vectors_up_to_half_a_turn():
    random = np.random.default_rng(1)
    axes = random.standard_normal((40, 3))
    angles = np.concatenate([np.logspace(-16, 0.49, 20), np.pi - np.logspace(-16, -1, 19), [0.0]])
    units = axes / np.linalg.norm(axes, axis=1, keepdims=True)
    R = [turn(Vector(*axis), angle) for axis, angle in zip(units, angles, strict=True)]
    entries = np.array([[tuple(row) for row in matrix.rows] for matrix in R])
    batch = Rotation(*(Vector(*(entries[:, i, j] for j in range(3))) for i in range(3)))
    many = np.stack([*rotation_vector(batch)], axis=-1)
    for found, matrix in zip(many, R, strict=True):
        assert found == pytest.approx(tuple(rotation_vector(matrix)), abs=1e-14)


def test_batches_are_cut_at_the_same_places():
    assert in_batches(0) == []
    assert in_batches(10_000) == [slice(0, 4096), slice(4096, 8192), slice(8192, 10_000)]
