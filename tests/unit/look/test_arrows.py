"""Arrows: velocities against differences of positions, forces and reactions against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.look.arrows import forces, reactions, velocities
from momentree.look.gallery import find
from momentree.look.motion_frames import motion_frames


def test_velocities_are_derivatives_of_positions():
    system = four_bar().build()
    run = system.simulate(system.assemble({"A": 1.0}), t_end=0.5, every=1e-3)
    frames = motion_frames(run, t=run.t)
    arrows = velocities(run, frames)
    slopes = np.gradient(arrows.points, run.t, axis=0)
    assert arrows.vectors[1:-1] == pytest.approx(slopes[1:-1], abs=2e-4)
    assert np.abs(slopes).max() > 1


def test_reactions_hold_the_weight_of_a_body_at_rest():
    m = mt.Model("hanging", gravity=(0, 0, -9.81))
    bob = m.body("bob", mass=2.0, com=(0, 0, -1), inertia=(1, 1, 1))
    m.joint("A", mt.Revolute("y"), m.ground.at((0, 0, 3)), bob)
    m.force(bob.at((0, 0, -2)), (0, 4.0, 0))
    m.spring(m.ground.at((0, 0, 4)), bob.at((0, 0, 0)), stiffness=6.0)
    system = m.build()
    run = system.simulate(system.assemble(), t_end=0.1, every=0.05)
    frames = motion_frames(run, t=run.t)
    found = reactions(run, frames)
    assert found.points[:, 0] == pytest.approx(np.tile([0, 0, 3], (len(run.t), 1)))
    assert found.vectors[0, 0] == pytest.approx([0, -4, 2 * 9.81 - 6], abs=1e-9)
    load, pull = forces(run, frames).vectors[0]
    assert pull == pytest.approx([0, 0, -6])  # on the first end, in the ground
    assert load == pytest.approx([0, 4, 0])
    assert forces(run, frames).points[0, 0] == pytest.approx([0, 0, 1])


def test_the_feet_of_the_walker_carry_its_weight():
    run = mt.load(find("walking-mechanism").model).build().simulate(t_end=0.2, every=0.02)
    frames = motion_frames(run, t=run.t)
    found = forces(run, frames)
    assert found.vectors[0].sum(axis=0)[2] == pytest.approx(25.4 * 9.8, rel=0.05)
    for i, name in enumerate(contact.name for contact in run.mechanism.contacts):
        assert found.vectors[:, i] == pytest.approx(run.contact_force(name), abs=1e-9)
    assert found.points[0, 0, 2] == pytest.approx(0, abs=0.01)  # on the floor
