"""Ivanov 2022, (10) to (12): how the iteration for eta converges, and what X dF^+ makes of it.

V. N. Ivanov, "Motion Equations of Rigid Bodies Systems with Closed Kinematic Chains in Hamiltonian Variables" (in
Russian), Bulletin of Perm University. Mathematics. Mechanics. Computer Science, 2022, issue 4(59), pages 18-28. The
paper prints no numbers for it. Each claim here is one of docs/theory/errata.md, on linkages of ours.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import momentree as mt
from mechanisms import bennett, four_bar, four_bars_in_a_row, single_loop_of_hinges
from momentree.analyse.ivanov_iteration import SplitBodies, conjugate_gradients, from_differences, simple_iteration
from momentree.assembly.configuration import Configuration
from momentree.equations import hamiltonian
from momentree.equations.evaluation import Evaluation

WALKER = Path(__file__).parents[2] / "examples" / "13_walking_mechanism" / "model.toml"
SEVEN = [(1.0, 0.5, 0.1), (0.8, -0.9, 0.3), (1.1, 1.1, -0.2), (0.9, 0.4, 0.2), (1.2, -0.7, 0.1), (0.7, 0.9, -0.3),
         (1.0, 1.3, 0.2)]  # fmt: skip


def split(m, body, joint, share=0.5):
    m.split(body, joint, share)
    return m


def row(n, share=0.5):
    m = four_bars_in_a_row(n)
    for i in range(n):
        m.split(f"bar{i}", f"R{i}", share)
    return m


def twice():
    """A long bar on three posts, split for two of them."""
    m = mt.Model("bar on three posts")
    bar = m.body("bar", mt.rod(mass=2.0, length=2.0))
    for i in range(3):
        post = m.body(f"post{i}", mt.rod(mass=1.0, length=1.0, along="y"))
        m.joint(f"G{i}", mt.Revolute("z"), m.ground.at((i, 0, 0)), post)
        m.joint(f"P{i}", mt.Revolute("z"), post.at((0, 1, 0)), bar.at((i, 0, 0)))
    m.split("bar", "P1", 0.4)
    m.split("bar", "P2", 0.2)
    return m


def driven():
    m = mt.Model("driven four-bar")
    crank, coupler, rocker = (m.body(n, mt.rod(mass=1.0, length=x)) for n, x in (("a", 1.0), ("b", 2.0), ("c", 2.0)))
    m.joint("A", mt.Revolute("y", motion="1 + 0.7*t"), m.ground, crank)
    m.joint("B", mt.Revolute("y"), crank.at((1.0, 0, 0)), coupler)
    m.joint("D", mt.Revolute("y"), m.ground.at((2.5, 0, 0)), rocker)
    m.joint("C", mt.Revolute("y"), coupler.at((2.0, 0, 0)), rocker.at((2.0, 0, 0)))
    m.split("b", "C")
    return m


LINKAGES = {  # what is built, coordinates and velocities that are given, rank of its rows
    "four-bar": (lambda: split(four_bar(), "coupler", "C"), {"A": 1.0}, {"A": 0.5}, 3),
    "four-bar, light": (lambda: split(four_bar(), "coupler", "C", 0.01), {"A": 1.0}, {"A": 0.5}, 3),
    "Bennett": (lambda: split(bennett(), "link2", "R3"), {"R1": 1.0}, {"R1": 0.7}, 3),
    "7R": (lambda: split(single_loop_of_hinges(SEVEN), "link3", "R4"), {}, {}, 6),
    "7R, light": (lambda: split(single_loop_of_hinges(SEVEN), "link3", "R4", 0.02), {}, {}, 6),
    "walker": (lambda: mt.load(WALKER), {"alpha": 0.3}, {"alpha": 1.0}, 6),
    "3 in a row": (lambda: row(3), {"G0": 0.5}, {"G0": 0.5}, 9),
    "5 in a row": (lambda: row(5), {"G0": 0.5}, {"G0": 0.5}, 15),
    "4 in a row, light": (lambda: row(4, 0.01), {"G0": 0.5}, {"G0": 0.5}, 12),
}
everywhere = pytest.mark.parametrize("name", LINKAGES)


@cache
def struck(name):
    """A linkage that moves, at the moment when something has struck it, so that eta is not zero."""
    build, given, velocities, _ = LINKAGES[name]
    system = build().build()
    state = system.assemble(given, velocities=velocities)
    p = np.array(hamiltonian.momenta(Evaluation(system.mechanism, state.q.tolist()), state.v.tolist()))
    p += np.random.default_rng(1).standard_normal(system.nv)
    return system, SplitBodies(system.mechanism, state.q, p)


@cache
def right(name):
    """The velocities after the blow, from M u - J' eta = p*, J u = 0: dense, and with the closure rows of assembly."""
    system, bodies = struck(name)
    J = Configuration(system.mechanism, np.array(bodies.q)).jacobian()
    K = np.block([[system.mass_matrix(bodies.q), J.T], [J, np.zeros((len(J), len(J)))]])
    return np.linalg.lstsq(K, np.concatenate([bodies.p, np.zeros(len(J))]), rcond=1e-13)[0][: system.nv]


def error(name, eta):
    return np.linalg.norm(struck(name)[1].velocities(eta) - right(name)) / np.linalg.norm(right(name))


def shortest(bodies):
    return -np.linalg.pinv(bodies.Phi, rcond=1e-9, hermitian=True) @ bodies.b


def rank(bodies):
    sizes = np.linalg.eigvalsh(bodies.Phi)
    return int((sizes > 1e-9 * sizes[-1]).sum())


# --- the equation ---


@everywhere
@pytest.mark.repeats(3)
def test_the_halves_come_apart_by_phi_eta_and_b(name):
    # (7)
    _, bodies = struck(name)
    eta = np.random.default_rng(2).standard_normal(bodies.size)
    expected = bodies.Phi @ eta + bodies.b
    np.testing.assert_allclose(bodies.grad_f(eta), expected, rtol=0, atol=1e-12 * np.abs(bodies.Phi).max())
    assert rank(bodies) == LINKAGES[name][3]


@everywhere
def test_the_direct_solution_closes_the_loops_with_the_right_rates(name):
    _, bodies = struck(name)
    assert np.abs(bodies.grad_f(shortest(bodies))).max() < 1e-10
    assert error(name, shortest(bodies)) < 1e-10


def test_w_is_the_inverse_of_what_the_bare_halves_do():
    _, bodies = struck("7R, light")
    loop = bodies.mechanism.loops[0]
    Ma = 50 / 49 * bodies.inertia(loop) * bodies.mechanism.bodies[loop.first.body - 1].inertia.mass  # of the whole
    inverse = np.linalg.inv
    np.testing.assert_allclose(bodies.W, inverse(inverse(0.98 * Ma) + inverse(0.02 * Ma)), rtol=1e-12, atol=1e-14)


def test_a_quarter_of_the_sum_will_do_for_equal_halves_only():
    # the remark after the algorithm, read as eps Ma eps' / 4
    for name, equal in (("7R", True), ("7R, light", False)):
        _, bodies = struck(name)
        whole = bodies.inertia(bodies.mechanism.loops[0])  # 1 kg
        assert np.allclose(bodies.W, whole / 4, rtol=1e-12, atol=1e-14) == equal


# --- (10) ---


@everywhere
def test_no_eigenvalue_of_w_phi_is_outside_0_and_1(name):
    # 0 <= B (B' M B)^-1 B' <= M^-1, hence 0 <= Phi <= eps Ma^-1 eps'
    _, bodies = struck(name)
    assert bodies.eigenvalues[0] <= 1 + 1e-12
    assert bodies.eigenvalues[-1] >= -1e-12
    assert bodies.eigenvalues[rank(bodies) - 1] > 1e-6  # those of independent directions are not zero


def test_a_body_that_is_split_twice_has_one_w():
    system = twice().build()
    state = system.assemble({"G0": 0.5})
    p = np.random.default_rng(3).standard_normal(system.nv)
    bodies = SplitBodies(system.mechanism, state.q, p)
    assert np.abs(bodies.W[:6, 6:]).max() > 0.01
    assert -1e-12 <= bodies.eigenvalues[-1] <= bodies.eigenvalues[0] <= 1 + 1e-12
    found = simple_iteration(bodies, most=100_000)
    assert found.converged
    np.testing.assert_allclose(bodies.velocities(found.eta), bodies.velocities(shortest(bodies)), rtol=0, atol=1e-8)


def test_a_split_four_bar_takes_some_fifty_iterations():
    _, bodies = struck("four-bar")
    found = simple_iteration(bodies)
    assert found.converged
    assert 40 < found.iterations < 80
    assert error("four-bar", found.eta) < 1e-8


def test_a_light_split_body_takes_thousands():
    _, bodies = struck("four-bar, light")
    found = simple_iteration(bodies)
    assert found.converged
    assert found.iterations > 1500


@pytest.mark.parametrize("name", ["four-bar", "four-bar, light", "Bennett", "walker"])
def test_the_weakest_direction_says_how_many(name):
    _, bodies = struck(name)
    weakest = bodies.eigenvalues[rank(bodies) - 1]
    expected = math.log(1e-10) / math.log(1 - weakest)
    assert simple_iteration(bodies).iterations == pytest.approx(expected, rel=0.25)


@pytest.mark.parametrize("share", [0.1, 0.01, 0.001])
def test_the_weakest_direction_is_as_weak_as_the_lighter_part_is_light(share):
    def weakest(share):
        system = split(four_bar(), "coupler", "C", share).build()
        state = system.assemble({"A": 1.0})
        return SplitBodies(system.mechanism, state.q, np.ones(system.nv)).eigenvalues[2]

    assert weakest(share) / weakest(share / 10) == pytest.approx(10, rel=0.15)


def test_iterations_that_do_not_suffice_are_no_solution():
    _, bodies = struck("7R, light")
    found = simple_iteration(bodies, most=5000)
    assert not found.converged
    assert found.iterations == 5000
    assert found.history[-1] < found.history[0]


# --- (11), (12) ---


@pytest.mark.parametrize("name", ["four-bar", "walker"])
def test_x_df_plus_serves_planar_loops_of_heavy_halves(name):
    _, bodies = struck(name)
    found = from_differences(bodies)
    assert found.iterations == bodies.size
    assert found.rank == LINKAGES[name][3]
    assert error(name, found.eta) < 1e-8


def test_x_df_plus_is_not_the_pseudo_inverse():
    # of a Bennett linkage: the velocities are right, but eta is not the shortest, as the paper says it should be
    _, bodies = struck("Bennett")
    found, Phi_plus = from_differences(bodies), np.linalg.pinv(bodies.Phi, rcond=1e-9, hermitian=True)
    assert np.linalg.norm(found.Phi_plus - Phi_plus) > 0.1 * np.linalg.norm(Phi_plus)
    assert np.linalg.norm(found.eta) > 1.02 * np.linalg.norm(shortest(bodies))
    assert error("Bennett", found.eta) < 1e-12


def test_x_df_plus_loses_digits_where_all_rows_are_independent():
    _, bodies = struck("7R")
    assert error("7R", from_differences(bodies).eta) > 1e-9
    assert error("7R", shortest(bodies)) < 1e-11


def test_x_df_plus_loses_the_solution_where_the_split_body_is_light():
    _, bodies = struck("7R, light")
    for cut_off in (1e-15, 1e-12, 1e-10, 1e-8):
        found = from_differences(bodies, cut_off)
        assert not found.converged
        assert found.left > 1e-3 * found.history[0]
        assert error("7R, light", found.eta) > 0.05
    assert from_differences(bodies).rank < 6  # the iterates hardly differ in direction
    assert error("7R, light", shortest(bodies)) < 1e-10


@pytest.mark.parametrize(("name", "wrong"), [("5 in a row", 1e-7), ("4 in a row, light", 1e-2)])
def test_x_df_plus_runs_out_of_directions_where_loops_are_many(name, wrong):
    _, bodies = struck(name)
    found = from_differences(bodies)
    assert found.rank < LINKAGES[name][3]
    assert error(name, found.eta) > wrong
    assert error(name, shortest(bodies)) < 1e-10


# --- conjugate gradients ---


@everywhere
def test_conjugate_gradients_take_as_many_steps_as_the_rank(name):
    _, bodies = struck(name)
    found = conjugate_gradients(bodies)
    assert found.converged
    assert found.iterations <= LINKAGES[name][3] + 2  # two for rounding
    assert error(name, found.eta) < 1e-9


# --- what it is for ---


def test_a_prescribed_joint_opens_the_loop_by_itself():
    system = driven().build()
    state = system.assemble(t=0.2)
    bodies = SplitBodies(system.mechanism, state.q, np.zeros(system.nv), 0.2)
    assert np.abs(bodies.b).max() > 0.1
    for solved in (simple_iteration(bodies), from_differences(bodies), conjugate_gradients(bodies)):
        assert solved.converged
        np.testing.assert_allclose(bodies.velocities(solved.eta), state.v, rtol=0, atol=1e-8)


def test_a_loop_that_is_cut_at_a_joint_is_refused_with_the_way_out():
    system = four_bar().build()
    with pytest.raises(mt.MomentreeError, match=r"joint 'C': .* m\.split\('rocker', 'C'\)"):
        SplitBodies(system.mechanism, np.zeros(system.nq), np.zeros(system.nv))
    m = four_bar()
    m.split("rocker", "C")
    SplitBodies(m.build().mechanism, np.zeros(4), np.zeros(4))  # the way out leads out
    m.constrain("A - B", "gear")
    with pytest.raises(mt.MomentreeError, match="constraint 'gear'"):
        SplitBodies(m.build().mechanism, np.zeros(4), np.zeros(4))


def test_a_tree_needs_no_eta():
    m = mt.Model("pendulum")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("bob", mt.rod(mass=1.0, length=1.0)))
    bodies = SplitBodies(m.build().mechanism, [0.3], [0.7])
    for solved in (simple_iteration(bodies), from_differences(bodies), conjugate_gradients(bodies)):
        assert (solved.iterations, len(solved.eta), solved.converged) == (0, 0, True)
