"""Hamiltonian variables of trees: what momenta are, and how they change."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from agree.test_dynamics import SEEDS, loaded, near
from mechanisms import EVERY_JOINT, random_configuration, random_tree
from momentree.assembly.configuration_space import integrate
from momentree.equations.articulated import accelerating_bodies, forward_dynamics
from momentree.equations.balance import energy
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import generalized
from momentree.equations.hamiltonian import changing_bodies, momenta, moving_bodies, right_hand_side
from momentree.equations.kinematics import records
from momentree.spatial import Motion, Vector

HOLONOMIC = [
    kind for kind in EVERY_JOINT if kind not in ("Spherical", "Free")
]  # velocities are derivatives of coordinates

on_random_trees = pytest.mark.parametrize("seed", SEEDS)


def rates_from(mechanism, q, p, t=0.0):
    return np.array(generalized(mechanism, moving_bodies(Evaluation(mechanism, q, t), p), "u"), dtype=float)


def slope(f, h=1e-4):
    """The derivative at 0 by central differences, with the error of second order taken off (Richardson)."""
    coarse, fine = ((np.asarray(f(k)) - np.asarray(f(-k))) / (2 * k) for k in (h, h / 2))
    return (4 * fine - coarse) / 3


def lively(seed):
    """A tree whose velocities are derivatives of coordinates: with gravity and a spring, joint and ground moving."""
    random = np.random.default_rng(seed)
    m = mt.Model("lively", gravity=(1.0, -2.0, -9.0))
    m.ground.moves(("0.5*t", "t^2", "sin(t)"), ("0.4*t", "-0.7*t", "t*(1+t)"))
    carrier = m.body("carrier", mt.box(mass=1.0, size=(0.3, 0.2, 0.1)))
    m.joint("driver", mt.Cylindrical("z", motion=("0.3*sin(t)", "2*t*(1 - t)")), m.ground, carrier)
    m = random_tree(random, list(random.permutation(HOLONOMIC)), m)
    m.spring(m.bodies[2].at((0.1, 0, 0)), m.bodies[5].at((0, 0.2, 0)), 20.0, rest=0.1)
    system = m.build()
    return system.mechanism, random_configuration(random, system), random.standard_normal(system.nv), 0.7


# --- what momenta are ---


@on_random_trees
@pytest.mark.repeats(3)
def test_momenta_are_the_mass_matrix_times_rates_and_what_prescribed_motions_give(seed):
    system, q, u, _, t = loaded(seed)
    given = np.array(momenta(Evaluation(system.mechanism, q, t), np.zeros(system.nv)))
    near(momenta(Evaluation(system.mechanism, q, t), u), system.mass_matrix(q, t) @ u + given)
    assert np.abs(given).max() > 0.1


@on_random_trees
@pytest.mark.repeats(3)
def test_nothing_prescribed_gives_no_momenta_of_its_own(seed):
    random = np.random.default_rng(seed)
    system = random_tree(random, list(EVERY_JOINT)).build()
    q, u = random_configuration(random, system), random.standard_normal(system.nv)
    near(momenta(Evaluation(system.mechanism, q), u), system.mass_matrix(q) @ u)


@on_random_trees
@pytest.mark.repeats(3)
def test_momenta_are_the_derivatives_of_kinetic_energy_by_the_rates(seed):
    # it is a polynomial of second order in them, so that differences over any length are exact
    system, q, u, _, t = loaded(seed)
    kinetic = [
        [energy(Evaluation(system.mechanism, q, t), u + h * e).kinetic for e in np.eye(system.nv)] for h in (1, -1)
    ]
    near(momenta(Evaluation(system.mechanism, q, t), u), np.subtract(*kinetic) / 2)


@on_random_trees
def test_rates_from_momenta_undo_momenta_from_rates(seed):
    system, q, u, _, t = loaded(seed)
    p = momenta(Evaluation(system.mechanism, q, t), u)
    near(rates_from(system.mechanism, q, p, t), u, 1e-11)
    near(
        momenta(Evaluation(system.mechanism, q, t), rates_from(system.mechanism, q, u, t)), u, 1e-11
    )  # any numbers are momenta


@on_random_trees
def test_bodies_move_by_the_momenta_as_they_do_by_the_rates(seed):
    # v of (1), and mu of (5): the momentum of a body and of all that it carries, which is M* v + phi, (H4)
    system, q, u, _, t = loaded(seed)
    mechanism = system.mechanism
    moving = changing_bodies(Evaluation(mechanism, q, t), momenta(Evaluation(mechanism, q, t), u))
    by_velocities = records(Evaluation(mechanism, q, t), u)
    mu = [body.inertia @ body.v for body in by_velocities[1:]]
    for body in reversed(mechanism.bodies):
        if body.parent:
            mu[body.parent - 1] = mu[body.parent - 1] + by_velocities[body.number].X.force_to_parent(
                mu[body.number - 1]
            )
    for found, expected, carried in zip(moving[1:], by_velocities[1:], mu, strict=True):
        near([*found.v], [*expected.v], 1e-11)
        near([*found.mu_star], [*carried], 1e-11)
        near([*(found.M_star @ found.v + found.phi)], [*carried], 1e-11)


@on_random_trees
def test_articulated_inertias_are_those_of_forward_dynamics(seed):
    # M*, W = M* A and D = (A' M* A)^-1 are quantities of the configuration alone
    system, q, u, p, t = loaded(seed)
    ours = moving_bodies(Evaluation(system.mechanism, q, t), p)
    theirs = accelerating_bodies(Evaluation(system.mechanism, q, t), u, np.zeros(system.nv))
    for body in system.mechanism.bodies:
        a, b = ours[body.number], theirs[body.number]
        near(columns(a.M_star), columns(b.M_star))
        if body.v.stop > body.v.start:
            near(a.D, b.D)
            near([[*w] for w in a.W], [[*w] for w in b.W])


def columns(M):
    """A 6 x 6 inertia by what it makes of unit motions."""
    units = [Motion(Vector(*e[:3]), Vector(*e[3:])) for e in np.eye(6)]
    return [[*(M @ unit)] for unit in units]


# --- how they change ---


@on_random_trees
def test_momenta_change_as_they_do_along_the_motion(seed):
    system, q, u, _, t = loaded(seed)
    m = system.mechanism
    a = np.array(forward_dynamics(Evaluation(m, q, t), u, np.zeros(system.nv)))

    def later(h):
        return momenta(Evaluation(m, integrate(m, q, h * u + h * h / 2 * a), t + h), u + h * a)

    near(right_hand_side(Evaluation(m, q, t), momenta(Evaluation(m, q, t), u)).p, slope(later), 1e-8)


@on_random_trees
def test_coordinates_change_as_the_joints_say(seed):
    system, q, u, _, t = loaded(seed)
    m = system.mechanism
    near(
        right_hand_side(Evaluation(m, q, t), momenta(Evaluation(m, q, t), u)).q,
        slope(lambda h: integrate(m, q, h * u)),
        1e-9,
    )


@pytest.mark.repeats(1)
@on_random_trees
def test_hamiltons_equations(seed):
    # H = p u - T + V, also where joints and the ground have prescribed motions: q' = dH/dp, p' = -dH/dq
    m, q, u, t = lively(seed)
    p = np.array(momenta(Evaluation(m, q, t), u))

    def H(q, p):
        u = rates_from(m, q, p, t)
        found = energy(Evaluation(m, q, t), u)
        return p @ u - found.kinetic + found.potential

    along = np.eye(len(p))
    near(right_hand_side(Evaluation(m, q, t), p).q, [slope(lambda h, e=e: H(q, p + h * e)) for e in along], 1e-8)
    near(right_hand_side(Evaluation(m, q, t), p).p, [-slope(lambda h, e=e: H(q + h * e, p)) for e in along], 1e-8)


@on_random_trees
def test_the_hamiltonian_is_the_energy_where_nothing_is_prescribed(seed):
    random = np.random.default_rng(seed)
    m = random_tree(random, list(EVERY_JOINT), mt.Model("tree", gravity=(1, -2, -9)))
    m.spring(m.bodies[2].at((0.1, 0, 0)), m.bodies[5].at((0, 0.2, 0)), 20.0, rest=0.1)
    system = m.build()
    q, u = random_configuration(random, system), random.standard_normal(system.nv)
    p, found = np.array(momenta(Evaluation(system.mechanism, q), u)), energy(Evaluation(system.mechanism, q), u)
    near(p @ u - found.kinetic + found.potential, found.total)
    # and so it is kept: H' = dT/dt + dV/dt = 0 along the motion
    a = np.array(forward_dynamics(Evaluation(system.mechanism, q), u, np.zeros(system.nv)))

    def later(h):
        moved = integrate(system.mechanism, q, h * u + h * h / 2 * a)
        return energy(Evaluation(system.mechanism, moved), u + h * a).total

    assert abs(slope(later)) < 1e-8 * abs(found.total)


def test_a_body_alone_is_eulers_equations():
    # p = (m v, I w) in axes of the body: p' = (p_v x w, p_w x w) without forces
    m = mt.Model("body", gravity=(0, 0, 0))
    m.joint("free", mt.Free(), m.ground, m.body("body", mass=2.0, inertia=(1, 2, 3)))
    mechanism = m.build().mechanism
    q = integrate(mechanism, [0, 0, 0, 0, 0, 0, 1], [0.1, 0.2, 0.3, -0.4, 0.5, 0.6])
    v, w = np.array([0.3, -0.2, 0.1]), np.array([0.6, 0.1, 1.0])
    p = np.concatenate([2 * v, (1, 2, 3) * w])
    near(momenta(Evaluation(mechanism, q), [*v, *w]), p)
    near(right_hand_side(Evaluation(mechanism, q), p).p, [*np.cross(2 * v, w), *np.cross((1, 2, 3) * w, w)])
