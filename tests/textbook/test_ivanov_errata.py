"""Ivanov 2022: what is printed, and what must stand there (docs/theory/errata.md). Split bodies, six rows each.

V. N. Ivanov, "Motion Equations of Rigid Bodies Systems with Closed Kinematic Chains in Hamiltonian Variables" (in
Russian), Bulletin of Perm University. Mathematics. Mechanics. Computer Science, 2022, issue 4(59), pages 18-28.

With p = p* + J' eta the tree moves as if it had no loops, so that its own equations at p are (6) as printed.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import momentree as mt
from mechanisms import bennett, four_bar
from momentree.analyse.ivanov_iteration import SplitBodies
from momentree.equations import hamiltonian
from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import frame_jacobian

SECONDS = 0.3
WALKER = Path(__file__).parents[2] / "examples" / "13_walking_mechanism" / "model.toml"


def linkage(build, body, joint, given, velocities):
    m = build()
    m.split(body, joint)
    system = m.build()
    return system, system.assemble(given, velocities=velocities)


LINKAGES = {
    "four-bar": (four_bar, "coupler", "C", {"A": 1.0}, {"A": 2.0}),
    "Bennett": (bennett, "link2", "R3", {"R1": 1.0}, {"R1": 3.0}),
}
everywhere = pytest.mark.parametrize("name", LINKAGES)


def closed(mechanism, q, p_star):
    bodies = SplitBodies(mechanism, q, p_star)
    return bodies, -np.linalg.pinv(bodies.Phi, rcond=1e-9, hermitian=True) @ bodies.b


def printed(mechanism, q, p_star):
    """q' and p*' by (6) with mu."""
    bodies, eta = closed(mechanism, q, p_star)
    found = hamiltonian.right_hand_side(Evaluation(bodies.tree, bodies.q), bodies.momenta(eta))
    return np.array(found.q, dtype=float), np.array(found.p, dtype=float)


def excess(mechanism, q, p_star):
    """(A'' - A' Omega) nu, nu = mu - mu*: what (6) has too much with mu."""
    bodies, eta = closed(mechanism, q, p_star)
    moving, impulses = bodies.moving(eta), bodies.impulses(eta)
    found = np.zeros(mechanism.nv)
    for body, nu in zip(mechanism.bodies, impulses[1:], strict=True):
        at = moving[body.number]
        turning = at.joint_type.motion_subspace_derivative(at.q, at.u).along(nu)
        found[body.v] = np.subtract(turning, at.A.along(at.v.cross_force(nu)))
    return found


def corrected(mechanism, q, p_star):
    """q' and p*' by (6) with mu*."""
    dq, dp = printed(mechanism, q, p_star)
    return dq, dp - excess(mechanism, q, p_star)


def motion(system, start, velocities, seconds=SECONDS):
    """The end of the motion from q and p*."""
    n = system.nq
    found = solve_ivp(
        lambda t, y: np.concatenate(velocities(system.mechanism, y[:n], y[n:])),
        (0, seconds),
        np.concatenate(start),
        method="DOP853",
        rtol=1e-9,
        atol=1e-10,
    )
    return found.y[:n, -1], found.y[n:, -1]


def started(name):
    system, state = linkage(*LINKAGES[name])
    p = np.array(hamiltonian.momenta(Evaluation(system.mechanism, state.q.tolist()), state.v.tolist()), dtype=float)
    return system, (state.q, p)


def velocities_of(system, q, p_star):
    bodies, eta = closed(system.mechanism, q, p_star)
    return bodies.velocities(eta)


def energy(system, q, p_star):
    return float(system.energy(q, velocities_of(system, q, p_star)).total)


def inertial_rows(mechanism, q):
    """J of the split body: six rows in inertial axes, pre-image less image."""
    placed = SplitBodies(mechanism, q, np.zeros(mechanism.nv)).placed
    (loop,) = mechanism.loops
    first, second = (frame_jacobian(mechanism, placed, end) for end in (loop.first, loop.second))
    return np.array([[*(a - b)] for a, b in zip(first, second, strict=True)], dtype=float).T


def transport(bodies, eta):
    """(0; v_O x f)."""
    (loop,) = bodies.mechanism.loops
    body = bodies.moving(eta)[loop.first.body]
    v_O = body.X_0.rotation @ (body.v.linear + body.v.angular.cross(loop.first.placement.offset))
    return np.concatenate([np.zeros(3), np.cross([*v_O], eta[:3])])


# --- (6): mu* in place of mu ---


@everywhere
@pytest.mark.repeats(1)
def test_with_mu_star_energy_is_kept_and_with_mu_it_is_not(name):
    system, start = started(name)
    before = energy(system, *start)
    right, wrong = motion(system, start, corrected), motion(system, start, printed)
    assert energy(system, *right) == pytest.approx(before, abs=1e-7)
    assert abs(energy(system, *wrong) - before) > 1e-3
    assert np.abs(wrong[0] - right[0]).max() > 1e-3


@everywhere
def test_what_mu_has_too_much_is_the_change_of_the_jacobian(name):
    system, start = started(name)
    mechanism = system.mechanism
    q, p = start[0], start[1] + np.random.default_rng(6).standard_normal(system.nv)
    bodies, eta = closed(mechanism, q, p)
    u, h = bodies.velocities(eta), 1e-5
    J, after, before = (inertial_rows(mechanism, q + step * u) for step in (0, h, -h))
    expected = ((after - before) / (2 * h)).T @ eta - J.T @ transport(bodies, eta)
    wrong = excess(mechanism, q, p)
    np.testing.assert_allclose(wrong, expected, rtol=0, atol=1e-8)
    inside = J.T @ np.linalg.lstsq(J.T, wrong, rcond=1e-9)[0]
    assert np.abs(wrong - inside).max() > 1e-2  # eta cannot absorb it


@everywhere
def test_mu_star_makes_the_closing_force_the_derivative_of_eta(name):
    # M u' + bias = J' lambda with lambda = eta' + (0; v_O x f), against the equations of the first kind
    system, start = started(name)
    mechanism = system.mechanism
    q, p = start[0], start[1] + np.random.default_rng(7).standard_normal(system.nv)
    bodies, eta = closed(mechanism, q, p)
    u = bodies.velocities(eta)
    dq, dp = corrected(mechanism, q, p)
    h = 1e-5
    eta_rate = (closed(mechanism, q + h * dq, p + h * dp)[1] - closed(mechanism, q - h * dq, p - h * dp)[1]) / (2 * h)
    J, after, before = (inertial_rows(mechanism, q + step * u) for step in (0, h, -h))
    M, zero = system.mass_matrix(q), np.zeros((6, 6))
    right = np.concatenate([-system.bias(q, u), -(after - before) @ u / (2 * h)])
    force = -J.T @ np.linalg.lstsq(np.block([[M, J.T], [J, zero]]), right, rcond=1e-10)[0][system.nv :]
    scale = np.abs(force).max()
    np.testing.assert_allclose(J.T @ (eta_rate + transport(bodies, eta)), force, rtol=0, atol=1e-5 * scale)
    assert np.abs(J.T @ eta_rate - force).max() > 1e-2 * scale  # the origin moves


# --- why the walking mechanism does not show it ---


def test_the_hull_of_the_walking_mechanism_never_feels_the_error():
    system = mt.load(WALKER).build()
    mechanism = system.mechanism
    given = {"hull": (0.1, 0.02, 0.05), "alpha": 0.3}
    state = system.assemble(given, velocities={"hull": (0.3, -0.2, 0.7), "alpha": 2.4})
    p = np.array(hamiltonian.momenta(Evaluation(mechanism, state.q.tolist()), state.v.tolist()), dtype=float)
    wrong = excess(mechanism, state.q, p + np.random.default_rng(8).standard_normal(system.nv))
    assert np.abs(wrong).max() > 1e-2
    # the closed mechanism has four freedoms: three of the hull, on which both loops hang, and the crank with the legs
    crank = system.assemble(given, velocities={"hull": (0, 0, 0), "alpha": 1.0}).v
    assert np.abs(wrong[mechanism.by_joint["hull"].v]).max() < 1e-12
    assert abs(wrong @ crank) > 1e-2


# --- eta ---


def test_eta_grows_while_a_linkage_hangs_at_rest():
    # a parallelogram, its coupler (1 kg, 2 m) halved: each half is held at one end and would fall, were it not for the
    # moment m g / 2 x 1 m between them, whose impulse is eta
    m = four_bar((1.0, 2.0, 1.0, 2.0))
    m.split("coupler", "C")
    system = m.build()
    mechanism = system.mechanism
    hanging = system.assemble({"A": np.pi / 2}, guess={"B": -np.pi / 2, "D": np.pi / 2})
    tree = dataclasses.replace(mechanism, loops=())
    force = np.array(
        hamiltonian.right_hand_side(Evaluation(tree, hanging.q.tolist()), [0.0] * system.nv).p, dtype=float
    )
    weight = float(np.linalg.norm([*mechanism.gravity]))
    for t in (1.0, 10.0, 100.0):
        bodies, eta = closed(mechanism, hanging.q, t * force)  # p*' = Q, as long as nothing moves
        assert np.abs(bodies.velocities(eta)).max() < 1e-12 * t
        assert np.abs(eta[[0, 1, 2, 3, 5]]).max() < 1e-12 * t
        assert abs(eta[4]) == pytest.approx(weight / 2 * t, rel=1e-12)


@everywhere
def test_p_star_may_be_changed_by_any_impulses_along_the_rows(name):
    system, (q, p) = started(name)
    p = p + np.random.default_rng(9).standard_normal(system.nv)
    bodies, eta = closed(system.mechanism, q, p)
    again, less = closed(system.mechanism, q, bodies.momenta(np.arange(1.0, 7.0)))
    np.testing.assert_allclose(again.velocities(less), bodies.velocities(eta), rtol=0, atol=1e-11)
    np.testing.assert_allclose(again.momenta(less), bodies.momenta(eta), rtol=0, atol=1e-11)
    # p itself is one such p*, and needs no eta
    assert np.abs(closed(system.mechanism, q, bodies.momenta(eta))[1]).max() < 1e-12


@pytest.mark.long
def test_starting_again_from_p_on_the_way_changes_nothing():
    system, start = started("four-bar")
    end = motion(system, start, corrected)
    half = motion(system, start, corrected, SECONDS / 2)
    bodies, eta = closed(system.mechanism, *half)
    assert np.abs(eta).max() > 0.1
    again = motion(system, (half[0], np.array(bodies.momenta(eta))), corrected, SECONDS / 2)
    np.testing.assert_allclose(again[0], end[0], rtol=0, atol=1e-7)
    assert np.abs(again[1] - end[1]).max() > 0.1  # p* is another, the motion is the same


# --- (4) ---


def test_an_angular_velocity_whose_integral_vanishes_turns_a_body_all_the_same():
    # w of constant length whose direction turns once in the plane: the integral of (4) is 0, the orientation is not
    n = 5000
    angles = (np.arange(n) + 0.5) * 2 * np.pi / n
    steps = 2 * np.pi / n * np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    assert np.abs(steps.sum(axis=0)).max() < 1e-12
    R = Rotation.identity()
    for step in steps:
        R = Rotation.from_rotvec(step) * R
    # in axes that turn with w it turns with (1, 0, -1) all the time: sqrt(2) turns, less the one of the axes
    assert R.magnitude() == pytest.approx(2 * np.pi * (np.sqrt(2) - 1), abs=1e-5)
