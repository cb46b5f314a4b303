"""MuJoCo computes the same motion: 48 random trees with every joint, met from either side.

MuJoCo has no screw: there one is a slide and a turn that our velocity drives together, which leaves its qacc nothing to
compare. Forward dynamics is compared on 48 trees without screws.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from agree.peers import (
    DIRECTIONS,
    EVERY_AXIS,
    EVERY_COMBINATION,
    SEEDS,
    MuJoCo,
    agree,
    axes_met,
    combinations,
    loaded,
    sample,
)
from mechanisms import random_frame

pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[test]'")

TREES = [(direction, seed) for direction in DIRECTIONS for seed in SEEDS]


def every_tree(test):
    """On all 48 trees; two of each direction, with 5 and with 12 bodies, are not long."""
    return pytest.mark.repeats(2, of="direction")(pytest.mark.parametrize(("direction", "seed"), TREES)(test))


@cache
def both(direction, seed, without=""):
    """The sample, and the same mechanism in MuJoCo."""
    at = sample(direction, seed, without)
    return at, MuJoCo(at.system.mechanism)


def test_the_trees_have_every_joint_met_from_either_side_on_the_ground_and_on_bodies():
    assert combinations([sample(*tree) for tree in TREES]) == EVERY_COMBINATION
    assert axes_met([sample(*tree) for tree in TREES]) == EVERY_AXIS
    without_screws = {each for each in EVERY_COMBINATION if each[0] != "Screw"}
    assert combinations([sample(*tree, "Screw") for tree in TREES]) == without_screws


# --- the tree and its weight ---


@every_tree
@pytest.mark.repeats(2)
def test_mass_matrix(direction, seed):
    at, peer = both(direction, seed)
    assert agree(at.system.mass_matrix(at.q), peer.mass_matrix(at.q))


@every_tree
@pytest.mark.repeats(2)
def test_bias(direction, seed):
    at, peer = both(direction, seed)
    assert agree(at.system.bias(at.q, at.v), peer.bias(at.q, at.v))


@every_tree
@pytest.mark.repeats(2)
def test_forward_dynamics(direction, seed):
    at, peer = both(direction, seed, "Screw")
    state = at.q, at.v, at.tau
    assert agree(at.system.forward_dynamics(*state), peer.forward_dynamics(*state))


@every_tree
def test_energy(direction, seed):
    at, peer = both(direction, seed)
    assert agree(at.system.energy(at.q, at.v), peer.energy(at.q, at.v))


@every_tree
def test_momentum(direction, seed):
    at, peer = both(direction, seed)
    assert agree(at.system.momentum(at.q, at.v), peer.momentum(at.q, at.v))


@every_tree
def test_position_and_jacobian_of_a_frame_on_every_body(direction, seed):
    at, peer = both(direction, seed)
    random = np.random.default_rng(seed)
    for body in at.model.bodies:
        frame = random_frame(random, body)
        attached = at.system.mechanism.attach(frame)
        assert agree(at.system.position(at.q, frame), peer.position(at.q, attached))
        assert agree(at.system.jacobian(at.q, frame), peer.jacobian(at.q, attached))


# --- MuJoCo's own springs, dampers, tendons and applied forces ---


@every_tree
@pytest.mark.repeats(2)
def test_bias_and_energy_with_springs_dampers_pushes_and_threads(direction, seed):
    plain, _ = both(direction, seed)
    at = loaded(np.random.default_rng(seed), plain, alike=True)
    peer = MuJoCo(at.system.mechanism)
    assert agree(at.system.bias(at.q, at.v), peer.bias(at.q, at.v))
    assert agree(at.system.energy(at.q, at.v), peer.energy(at.q, at.v))


@every_tree
@pytest.mark.repeats(2)
def test_forward_dynamics_with_springs_dampers_pushes_and_threads(direction, seed):
    plain, _ = both(direction, seed, "Screw")
    at = loaded(np.random.default_rng(seed), plain, alike=True)
    peer = MuJoCo(at.system.mechanism)
    assert agree(at.system.forward_dynamics(at.q, at.v, at.tau), peer.forward_dynamics(at.q, at.v, at.tau))
