"""Pinocchio computes the same motion: 48 random trees with every joint, met from either side."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from agree.peers import (
    DIRECTIONS,
    EVERY_AXIS,
    EVERY_COMBINATION,
    KINDS,
    SEEDS,
    SIZES,
    Pinocchio,
    agree,
    axes_met,
    combinations,
    loaded,
    sample,
)
from mechanisms import random_configuration, random_frame

pytest.importorskip("pinocchio", reason="Pinocchio is not installed: pip install 'momentree[test]'")

TREES = [(direction, seed) for direction in DIRECTIONS for seed in SEEDS]
SOME = TREES[::5]
some_trees = pytest.mark.parametrize(("direction", "seed"), SOME)


def every_tree(test):
    """On all 48 trees; two of each direction, with 5 and with 12 bodies, are not long."""
    return pytest.mark.repeats(2, of="direction")(pytest.mark.parametrize(("direction", "seed"), TREES)(test))


@cache
def both(direction, seed):
    """The sample, and the same mechanism in Pinocchio."""
    at = sample(direction, seed)
    return at, Pinocchio(at.system.mechanism)


def test_the_trees_have_every_joint_met_from_either_side_on_the_ground_and_on_bodies():
    samples = [sample(*tree) for tree in TREES]
    assert len(samples) >= 40
    assert {len(at.model.bodies) for at in samples} == {*SIZES}
    assert combinations(samples) == EVERY_COMBINATION
    assert axes_met(samples) == EVERY_AXIS
    assert {kind for kind, _, _ in combinations([sample(*tree) for tree in SOME])} == {*KINDS}
    for direction, reverse in (("along", {False}), ("against", {True})):
        pointed = combinations([sample(direction, seed) for seed in SEEDS])
        assert {met for _, met, _ in pointed} == reverse


# --- configurations ---


@every_tree
def test_configurations_are_integrated_and_compared(direction, seed):
    """By steps from nearly nothing to nearly half a turn. The axes of a ball met from its second frame are Pinocchio's
    other ones, but velocities that are constant in one are so in the other."""
    at, peer = both(direction, seed)
    pin, system, (q_peer, G, _) = peer.pin, at.system, peer.over(at.q)
    for size in (1e-9, 1e-3, 0.5, 1.8):
        v = size * np.random.default_rng(seed).uniform(-1, 1, system.nv)
        later = system.integrate(at.q, v)
        ours, theirs = peer.over(later)[0], pin.integrate(peer.model, q_peer, G @ v)
        assert np.abs(pin.difference(peer.model, ours, theirs)).max(initial=0) < 1e-12
        assert np.abs(system.difference(at.q, later) - v).max(initial=0) < 1e-12
        assert np.abs(G @ v - pin.difference(peer.model, q_peer, ours)).max(initial=0) < 1e-12


# --- the tree and its weight ---


@every_tree
@pytest.mark.repeats(2)
def test_inverse_dynamics(direction, seed):
    at, peer = both(direction, seed)
    state = at.q, at.v, at.vdot
    assert agree(at.system.inverse_dynamics(*state), peer.inverse_dynamics(*state))


@every_tree
@pytest.mark.repeats(2)
def test_forward_dynamics(direction, seed):
    at, peer = both(direction, seed)
    state = at.q, at.v, at.tau
    assert agree(at.system.forward_dynamics(*state), peer.forward_dynamics(*state))


@every_tree
def test_mass_matrix(direction, seed):
    at, peer = both(direction, seed)
    assert agree(at.system.mass_matrix(at.q), peer.mass_matrix(at.q))


@every_tree
def test_bias(direction, seed):
    at, peer = both(direction, seed)
    assert agree(at.system.bias(at.q, at.v), peer.bias(at.q, at.v))


@every_tree
@pytest.mark.repeats(1)
def test_inertial_and_gravity_terms_and_the_inverse_mass_matrix(direction, seed):
    at, peer = both(direction, seed)
    coriolis = peer.coriolis_forces(at.q, at.v)
    assert agree(at.system.coriolis_forces(at.q, at.v), coriolis)
    assert agree(at.system.coriolis_matrix(at.q, at.v) @ at.v, coriolis)
    assert agree(at.system.aggregative_matrix(at.q, at.v) @ at.v, coriolis)
    assert agree(at.system.gravity_forces(at.q), peer.gravity_forces(at.q))
    assert agree(at.system.inverse_mass_matrix(at.q), peer.inverse_mass_matrix(at.q))


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


# --- what else acts: added to tau ---


def between(peer, q, link):
    return peer.position(q, link.second) - peer.position(q, link.first)


def analytic_forces(mechanism, peer, q, v):
    """Generalized forces of springs, dampers, forces and threads, by Pinocchio's Jacobians; and the springs' energy."""
    tau, energy = np.zeros(mechanism.nv), 0.0
    for body in mechanism.bodies:
        joint = body.joint.type
        if joint.spring:
            stretch = q[body.q] - joint.rest
            tau[body.v] -= joint.spring * stretch
            energy += joint.spring @ stretch**2 / 2
        if joint.damping:
            tau[body.v] -= joint.damping * v[body.v]
    for push in mechanism.forces:
        wrench = np.array([law.evaluate({}) for law in (*push.force, *push.moment)])
        if push.carried:
            wrench = np.kron(np.eye(2), peer.placement(q, push.frame).rotation) @ wrench
        tau += peer.jacobian(q, push.frame).T @ wrench
    for link in mechanism.springs:
        first, second = (peer.jacobian(q, end)[:3] for end in (link.first, link.second))
        along = between(peer, q, link)
        length = np.linalg.norm(along)
        e = along / length
        if link.tension_only and length < link.rest:
            continue
        tension = link.stiffness * (length - link.rest) + link.damping * (e @ (second - first) @ v)
        tau += (first - second).T @ (e * max(tension, 0) if link.tension_only else e * tension)
        energy += link.stiffness * (length - link.rest) ** 2 / 2
    return tau, energy


@every_tree
@pytest.mark.repeats(1)
def test_springs_dampers_pushes_and_threads_add_to_tau(direction, seed):
    plain, peer = both(direction, seed)
    at = loaded(np.random.default_rng(seed), plain)
    tau, energy = analytic_forces(at.system.mechanism, peer, at.q, at.v)
    assert agree(at.system.bias(at.q, at.v), peer.bias(at.q, at.v) - tau)
    assert agree(at.system.inverse_dynamics(at.q, at.v, at.vdot), peer.inverse_dynamics(at.q, at.v, at.vdot) - tau)
    assert agree(at.system.forward_dynamics(at.q, at.v, at.tau), peer.forward_dynamics(at.q, at.v, at.tau + tau))
    assert agree(at.system.mass_matrix(at.q), peer.mass_matrix(at.q))
    assert agree(at.system.energy(at.q, at.v), np.add(peer.energy(at.q, at.v), (0, energy)))


@every_tree
def test_one_thread_is_taut_and_one_is_slack(direction, seed):
    plain, peer = both(direction, seed)
    *_, taut, slack = loaded(np.random.default_rng(seed), plain).system.mechanism.springs
    assert np.linalg.norm(between(peer, plain.q, taut)) > taut.rest
    assert np.linalg.norm(between(peer, plain.q, slack)) < slack.rest


@pytest.mark.repeats(1)
@some_trees
def test_torque_laws_add_to_tau(direction, seed):
    plain, peer = both(direction, seed)
    random = np.random.default_rng(seed)
    at = loaded(random, plain)
    tau, _ = analytic_forces(at.system.mechanism, peer, at.q, at.v)
    for body in plain.system.mechanism.bodies:
        names = [str(r) for r in (*body.joint.coordinates, *body.joint.velocities)]
        values = [*at.q[body.q], *at.v[body.v]]
        factors = random.standard_normal((len(body.joint.velocities), len(names)))
        if len(factors):
            laws = [" + ".join(f"({float(f)!r})*{name}" for f, name in zip(row, names, strict=True)) for row in factors]
            at.model.torque(body.joint.name, laws)
            tau[body.v] += factors @ values
    system = at.model.build()
    assert agree(system.bias(at.q, at.v), peer.bias(at.q, at.v) - tau)
    assert agree(system.forward_dynamics(at.q, at.v, at.tau), peer.forward_dynamics(at.q, at.v, at.tau + tau))


# --- many states at once ---


def of_states(who, frame, q, v, vdot, tau):
    """Everything that follows from a state or a batch of them."""
    return {
        "mass matrix": who.mass_matrix(q),
        "bias": who.bias(q, v),
        "inverse dynamics": who.inverse_dynamics(q, v, vdot),
        "forward dynamics": who.forward_dynamics(q, v, tau),
        "energy": np.stack(who.energy(q, v), axis=-1),
        "momentum": who.momentum(q, v),
        "position": who.position(q, frame),
        "jacobian": who.jacobian(q, frame),
    }


def batch_of(at, random, count):
    q = np.array([random_configuration(random, at.system, 3) for _ in range(count)])
    return q, *random.standard_normal((3, count, at.system.nv))


@pytest.mark.repeats(1, of="forces")
@some_trees
@pytest.mark.parametrize("forces", ["weight alone", "every force"])
def test_a_batch_of_7_states_is_7_states_one_at_a_time(direction, seed, forces):
    at, peer = both(direction, seed)
    random = np.random.default_rng(seed)
    at = loaded(random, at) if forces == "every force" else at
    batch = batch_of(at, random, 7)
    frame = random_frame(random, at.model.bodies[-1])
    found = of_states(at.system, frame, *batch)
    ours = [of_states(at.system, frame, *state) for state in zip(*batch, strict=True)]
    attached = at.system.mechanism.attach(frame)
    theirs = [of_states(peer, attached, *state) for state in zip(*batch, strict=True)]
    for name, values in found.items():
        assert agree(values, np.array([each[name] for each in ours])), name
        if forces == "weight alone":
            assert agree(values, np.array([each[name] for each in theirs])), name


@pytest.mark.repeats(1)
@some_trees
def test_leading_axes_broadcast(direction, seed):
    at, _ = both(direction, seed)
    random = np.random.default_rng(seed)
    system, (q, v, vdot, tau) = loaded(random, at).system, batch_of(at, random, 7)
    nv = system.nv
    grid = system.inverse_dynamics(q[:, None], v[:3], vdot[0])
    forward = system.forward_dynamics(q[:, None], v[:3], tau[0])
    kinetic, potential = system.energy(q[:, None], v[:3])
    momentum = system.momentum(q[:, None], v[:3])
    assert grid.shape == forward.shape == (7, 3, nv)
    assert kinetic.shape == potential.shape == (7, 3)
    assert momentum.shape == (7, 3, 6)
    assert system.mass_matrix(q[None]).shape == (1, 7, nv, nv)
    for i in range(7):
        for j in range(3):
            assert agree(grid[i, j], system.inverse_dynamics(q[i], v[j], vdot[0]))
            assert agree(forward[i, j], system.forward_dynamics(q[i], v[j], tau[0]))
            assert agree((kinetic[i, j], potential[i, j]), system.energy(q[i], v[j]))
            assert agree(momentum[i, j], system.momentum(q[i], v[j]))
    # one state of a kind for a batch of another
    assert agree(system.bias(q[0], v), [system.bias(q[0], each) for each in v])
    assert agree(system.bias(q, v[0]), [system.bias(each, v[0]) for each in q])
    assert agree(system.forward_dynamics(q[0], v[0], tau), [system.forward_dynamics(q[0], v[0], each) for each in tau])
