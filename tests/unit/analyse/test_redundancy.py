"""Rank, redundant rows and the weakest direction of what closes a mechanism."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import MOVING, bennett, four_bar, random_loops, slider_crank
from momentree.analyse.ivanov_iteration import SplitBodies
from momentree.analyse.redundancy import (
    Toggle,
    constraint_impulses,
    jacobians,
    redundancy,
    singularity,
    strengths,
    toggles,
)
from momentree.assembly.configuration import Configuration
from momentree.assembly.configuration_space import integrate
from momentree.assembly.scaled_constraints import column_scales, constraint_scales
from momentree.results.run import Run
from momentree.simulate.blocks import Block, End, Statistics
from other_samples import with_coordinates


def run_of(system, t, q, v):
    samples = Block(np.asarray(t, dtype=float), q, v, np.zeros((len(t), 0)))
    return Run.of(system, samples, (), {}, Statistics(), End("arrived", float(t[-1])))


def parallelogram(angles):
    """A run whose crank has these angles, one each second; flat at 0 and pi."""
    system = four_bar((1.0, 2.0, 1.0, 2.0)).build()
    turning = np.array([{"A": 1, "B": -1, "D": 1}[name.name] for name in system.mechanism.coordinates])
    angles = np.asarray(angles, dtype=float)
    v = np.gradient(angles) if len(angles) > 1 else np.zeros(1)
    return run_of(system, np.arange(len(angles)), np.outer(angles, turning), np.outer(v, turning))


LINKAGES = {
    "four-bar": (four_bar, {"A": 1.0}),
    "slider-crank": (slider_crank, {"A": 1.0}),
    "Bennett": (bennett, {"R1": 1.0}),
}
everywhere = pytest.mark.parametrize("name", LINKAGES)


def assembled(name):
    build, given = LINKAGES[name]
    system = build().build()
    return system, system.assemble(given)


# --- J and Phi ---


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.repeats(1)
def test_the_jacobians_of_samples_are_those_of_configurations(seed):
    random = np.random.default_rng(seed)
    kinds = list(random.permutation(MOVING))
    m, q = random_loops(random, kinds, ["Revolute", "Universal", "Spherical"])
    free, hinge = (f"j{kinds.index(kind) + 1}" for kind in ("Free", "Revolute"))
    m.constrain(f"{free}.x*{free}.qx - {hinge}^2*t", "on positions")
    m.constrain(f"{free}.vx - 3*{hinge}' + t", "on velocities")
    mechanism = m.build().mechanism
    t = np.array([0.0, 0.3, 0.7])
    qs = np.stack([integrate(mechanism, q, step * random.standard_normal(mechanism.nv)) for step in (0, 0.01, 0.02)])
    for J, one, at in zip(jacobians(mechanism, qs, t), qs, t, strict=True):
        expected = Configuration(mechanism, one, t=float(at)).jacobian(on_velocities=True)
        np.testing.assert_allclose(J, expected, rtol=0, atol=1e-12)


@everywhere
def test_eigenvalues_rank_and_pseudo_inverse_are_those_of_phi(name):
    system, state = assembled(name)
    found = redundancy(system.mechanism, state.q)
    J = Configuration(system.mechanism, state.q).jacobian()
    Phi = J @ np.linalg.solve(system.mass_matrix(state.q), J.T)
    rows, columns = constraint_scales(system.mechanism), column_scales(system.mechanism)
    scaled = J * columns / rows[:, None]
    np.testing.assert_allclose(found.eigenvalues, np.linalg.eigvalsh(scaled @ scaled.T)[::-1], rtol=0, atol=1e-11)
    expected = np.linalg.pinv(Phi, rcond=1e-9, hermitian=True)
    np.testing.assert_allclose(found.Phi_plus, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    assert found.condition == pytest.approx(found.eigenvalues[0] / found.eigenvalues[1], rel=1e-12)
    assert singularity(system.mechanism, state.q) == pytest.approx(found.condition**-0.5, rel=1e-9)


@everywhere
def test_redundant_rows_have_the_names_that_the_mobility_report_gives_them(name):
    system, state = assembled(name)
    found, report = redundancy(system.mechanism, state.q), system.mobility_report
    assert (found.rows, found.rank) == (report.rows, report.rank)
    assert len(found.redundant) == len(report.redundant) == len(found.rows) - found.rank
    if name == "four-bar":
        assert set(found.redundant) == {"C: translation along y", "C: rotation about x", "C: rotation about z"}


def test_rows_that_are_redundant_stay_so_a_little_off_closure():
    # the third eigenvalue grows with the square of the closure error, and so does the cut-off
    system, state = assembled("Bennett")
    off = np.random.default_rng(4).standard_normal(system.nv)
    weak = []
    for closure_error in (1e-6, 1e-5, 1e-4, 1e-2):
        found = redundancy(system.mechanism, integrate(system.mechanism, state.q, closure_error * off))
        assert found.rank == 2
        weak.append(found.eigenvalues[2] / found.eigenvalues[0])
    assert weak[1] / weak[0] == pytest.approx(100, rel=0.1)
    assert weak[2] / weak[1] == pytest.approx(100, rel=0.1)


# --- the shortest impulses ---


@everywhere
def test_the_constraint_impulses_close_what_opens(name):
    system, state = assembled(name)
    mechanism, M = system.mechanism, system.mass_matrix(state.q)
    u = np.random.default_rng(5).standard_normal(system.nv)
    eta = constraint_impulses(mechanism, state.q, u)
    J = -Configuration(mechanism, state.q).jacobian()  # first body less second
    closed = u + np.linalg.solve(M, J.T @ eta)
    assert np.abs(Configuration(mechanism, state.q, closed).constraint_velocities()).max() < 1e-12
    K = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
    shortest = np.linalg.lstsq(K, np.concatenate([M @ u, np.zeros(len(J))]), rcond=1e-12)[0]
    np.testing.assert_allclose(closed, shortest[: system.nv], rtol=0, atol=1e-10)
    assert np.linalg.norm(eta) <= np.linalg.norm(shortest[system.nv :]) * (1 + 1e-9)


def test_the_impulses_of_a_split_body_are_those_of_the_momenta_turned_into_its_axes():
    m = four_bar()
    m.split("coupler", "C", 0.3)
    system = m.build()
    mechanism, state = system.mechanism, system.assemble({"A": 1.0})
    u = np.random.default_rng(6).standard_normal(system.nv)
    bodies = SplitBodies(mechanism, state.q, system.mass_matrix(state.q) @ u)
    turned = (bodies.placed[mechanism.loops[0].first.body].X_0 @ mechanism.loops[0].first.placement).rotation
    R = np.kron(np.eye(2), [tuple(row) for row in turned.rows])
    expected = -np.linalg.pinv(bodies.Phi, rcond=1e-9, hermitian=True) @ bodies.b
    np.testing.assert_allclose(R @ constraint_impulses(mechanism, state.q, u), expected, rtol=0, atol=1e-10)


def test_a_constraint_is_a_row_too():
    m = mt.Model("gears")
    for name in ("alpha", "beta"):
        wheel = m.body(f"wheel {name}", mt.cylinder(mass=1.0, radius=0.1, length=0.02))
        m.joint(name, mt.Revolute("z"), m.ground, wheel)
    m.constrain("alpha + 2*beta", "gear")
    m.constrain("alpha' + 2*beta'", "the same again, on velocities")
    mechanism = m.build().mechanism
    found = redundancy(mechanism, np.zeros(2))
    assert (found.rank, found.redundant) == (1, ("the same again, on velocities",))
    u = np.array([1.0, 0.0])
    inertia = 0.5 * 0.1**2  # of a wheel: the impulse is shared by both rows
    np.testing.assert_allclose(constraint_impulses(mechanism, np.zeros(2), u), -inertia / 5 / 2, rtol=1e-12)


# --- singular configurations ---


def test_where_nothing_can_drop_nothing_is_singular():
    m = mt.Model("pendulum")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("bob", mt.rod(mass=1.0, length=1.0)))
    system = m.build()
    assert redundancy(system.mechanism, np.zeros(1)).rank == 0
    assert redundancy(system.mechanism, np.zeros(1)).condition == 1
    assert singularity(system.mechanism, np.zeros(1)) == 1
    assert toggles(run_of(system, [0.0, 1.0], np.zeros((2, 1)), np.zeros((2, 1)))) == ()
    m.joint("A2", mt.Revolute("y"), m.ground.at((0, 1, 0)), m.bodies[0].at((0, 1, 0)))  # in line: all rows redundant
    system = m.build()
    assert redundancy(system.mechanism, np.zeros(1)).rank == 0
    assert singularity(system.mechanism, np.zeros(1)) == 1


def test_the_weakest_direction_vanishes_in_proportion_to_the_distance():
    mechanism = four_bar((1.0, 2.0, 1.0, 2.0)).build().mechanism
    at = [singularity(mechanism, np.array([x, -x, x]), rank=2) for x in (0.0, 1e-3, 2e-3)]
    assert at[0] == 0
    assert at[2] / at[1] == pytest.approx(2, rel=1e-4)
    assert singularity(mechanism, np.zeros(3)) == 0  # the rank of other configurations is found


def test_instants_between_samples_are_found():
    run = parallelogram(np.linspace(-0.9, 2.0, 8))
    (found,) = toggles(run)
    assert found.drops
    assert (found.rank, found.regular) == (1, 2)
    assert found.t == pytest.approx(0.9 / 2.9 * 7, abs=1e-9)
    assert found.ratio < 1e-9 < found.usual


def test_a_run_may_start_and_end_at_one():
    assert [found.t for found in toggles(parallelogram(np.linspace(0, np.pi, 9)))] == pytest.approx([0, 8], abs=1e-9)


def test_a_stretch_that_is_singular_counts_once():
    run = parallelogram([0.8, 0.4, 0.0, 1e-9, 0.0, 2e-9, 0.4, 0.8])
    assert len(toggles(run)) == 1


def test_nearly_is_said_where_it_turns_back_before():
    (found,) = toggles(parallelogram([0.6, 0.3, 0.1, 0.005, 0.1, 0.3, 0.6]))
    assert not found.drops
    assert found.t == pytest.approx(3, abs=0.05)
    assert str(found).startswith("nearly singular at t = ")
    assert toggles(parallelogram([0.6, 0.3, 0.1, 0.3, 0.6])) == ()


def test_samples_that_are_no_numbers_are_left_out():
    run = parallelogram(np.linspace(-0.9, 2.0, 8))
    assert len(toggles(with_coordinates(run, -1, np.nan))) == 1
    assert toggles(with_coordinates(run, slice(None), np.nan)) == ()


def test_a_toggle_says_what_and_when():
    drop, near = Toggle(0.5, 0.0, 0.3, 1, 2), Toggle(0.25, 0.001, 0.3, 2, 2)
    assert str(drop) == "singular at t = 0.5 s: the rank of the constraints drops from 2 to 1"
    assert str(near) == (
        "nearly singular at t = 0.25 s: the weakest direction of the constraints is 0.001 of the strongest, 0.3 at best"
    )


def test_a_joint_that_is_not_there_is_named():
    system, state = assembled("slider-crank")
    with pytest.raises(mt.MomentreeError, match="there is no joint 'E'"):
        singularity(system.mechanism, state.q, driven="E")


def test_strengths_of_many_samples_are_those_of_each():
    run = parallelogram(np.linspace(0.1, 3.0, 5))
    together = strengths(run.mechanism, run.q, run.t)
    for i in range(5):
        np.testing.assert_array_equal(together[i], strengths(run.mechanism, run.q[[i]], run.t[[i]])[0])
