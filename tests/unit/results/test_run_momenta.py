"""Momenta over a run: p = M v, p = p* + J' eta, eta as the integral of the Lagrange multipliers, conserved momenta."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson

import momentree as mt
from mechanisms import bennett, four_bar
from parametric import tree


def close(found, expected, tolerance=1e-12):
    scale = max(np.abs(expected).max(initial=0.0), 1e-300)
    assert np.abs(found - expected).max(initial=0.0) <= tolerance * scale


@pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange", "absolute"])
def test_p_is_the_mass_matrix_times_velocities_in_any_formulation(formulation):
    system = four_bar().build()
    start = system.assemble({"A": 1.0}, velocities={"A": 1.0})
    run = system.simulate(start, t_end=0.5, every=0.05, formulation=formulation)
    found = run.momenta
    close(found.p, np.einsum("kij,kj->ki", system.mass_matrix(run.q), run.v))
    close(found.p, found.p_star)
    assert not found.eta.any()
    assert found.eta.shape == (len(run.t), len(system.constraint_names))
    close(found.mu, system.subtree_momenta(run.q, run.v))
    close(found.mu_star, found.mu)


def test_prescribed_motion_is_part_of_the_momenta():
    system = tree().build()
    run = system.simulate(system.assemble(), t_end=0.2, every=0.05)
    p = run.momenta.p
    close(p, system.generalized_momenta(run.q, run.v, run.t))
    assert np.abs(p - np.einsum("kij,kj->ki", system.mass_matrix(run.q, run.t), run.v)).max() > 0.1


@pytest.mark.parametrize("stabilization", ["none", "leak"])
@pytest.mark.parametrize("make", [four_bar, bennett])
def test_p_star_is_what_was_integrated(make, stabilization):
    system = make().build()
    given, velocities = ({"A": 1.0}, {"A": 1.0}) if make is four_bar else ({"R1": 1.0}, {"R1": 0.7})
    start = system.assemble(given, velocities=velocities)
    run = system.simulate(start, t_end=1.0, every=0.01, stabilization=stabilization, rtol=1e-11, atol=1e-12)
    found = run.momenta
    impulses = np.einsum("kri,kr->ki", system.constraint_jacobian(run.q), found.eta)
    close(found.p, found.p_star + impulses, 1e-9)
    assert np.abs(impulses).max() > 0.1
    close(found.p_star[0], found.p[0], 1e-9)
    # mu* = mu - T' (rows eta): along the axes of joints, A' mu* = p*
    A = system.kinematic_matrices(run.q).A
    close(np.einsum("kij,ki->kj", A, found.mu.reshape(len(run.t), -1)), found.p)
    close(np.einsum("kij,ki->kj", A, found.mu_star.reshape(len(run.t), -1)), found.p_star, 1e-9)
    if stabilization == "none" and make is four_bar:  # eta' = lambda, where no constraint of the plane is redundant
        lagrange = system.multipliers(run.q, run.v)
        integral = cumulative_simpson(lagrange, x=run.t, axis=0, initial=0.0)
        J = system.constraint_jacobian(run.q)
        close(
            np.einsum("kri,kr->ki", J, found.eta),
            np.einsum("kri,kr->ki", J, integral),
            1e-5,
        )


def test_the_momentum_about_a_vertical_hinge_without_torque_does_not_change():
    m = mt.Model("turntable")
    table = m.body("table", mt.disc(mass=3.0, radius=1.0))
    m.joint("turn", mt.Revolute("z"), m.ground, table)
    m.joint("swing", mt.Revolute("y"), table.at((0.5, 0, 0)), m.body("rod", mt.rod(mass=1.0, length=0.7)))
    system = m.build()
    run = system.simulate(system.assemble({"swing": 0.3}, velocities={"turn": 2.0, "swing": 1.0}), t_end=2.0, every=0.1)
    p = run.momenta.p[:, 0]
    assert np.abs(p - p[0]).max() < 1e-7 * abs(p[0])
    assert np.ptp(run.momenta.p[:, 1]) > 0.1


def test_a_run_from_a_file_has_the_same_momenta(tmp_path):
    system = four_bar().build()
    start = system.assemble({"A": 1.0}, velocities={"A": 1.0})
    run = system.simulate(start, t_end=0.3, every=0.05, stabilization="leak")
    run.save(tmp_path / "run.nc")
    again = mt.load_run(tmp_path / "run.nc").momenta
    for one, other in zip(run.momenta, again, strict=True):
        close(other, one)
