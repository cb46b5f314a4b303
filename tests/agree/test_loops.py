"""Loops in Hamiltonian variables: closed at the velocity level, they move as the equations of the first kind say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import momentree as mt
from mechanisms import bennett, four_bar, four_bars_in_a_row, slider_crank
from momentree.assembly.configuration import Configuration
from momentree.equations import hamiltonian
from momentree.equations.aggregative import generalized_momenta
from momentree.equations.evaluation import Evaluation
from momentree.spatial import Force

SECONDS = 0.3
LINKAGES = {
    "four-bar": (four_bar, {"A": 1.0}, {"A": 0.5}),
    "slider-crank": (slider_crank, {"A": 1.0}, {"A": 0.5}),
    "Bennett": (bennett, {"R1": 1.0}, {"R1": 0.7}),  # three of five constraints are redundant
    "two four-bars": (lambda: four_bars_in_a_row(2), {"G0": 0.5}, {"G0": 0.5}),
}


def started(name):
    build, given, velocities = LINKAGES[name]
    system = build().build()
    return system, system.assemble(given, velocities=velocities)


def first_kind(system, start):
    """The end of M u' + d = J' lambda, J u' + J' u = 0, constraints redundant or not; dJ/dt by differences."""
    n, mechanism = system.nq, system.mechanism

    def velocities(t, y):
        q, u = y[:n], y[n:]
        J, after, before = (Configuration(mechanism, q + h * u, u, t).jacobian() for h in (0, 1e-5, -1e-5))
        K = np.block([[system.mass_matrix(q), J.T], [J, np.zeros((len(J), len(J)))]])
        right = np.concatenate([-system.bias(q, u), -(after - before) @ u / 2e-5])
        return np.concatenate([u, np.linalg.lstsq(K, right, rcond=1e-10)[0][:n]])

    return solve_ivp(velocities, (0, SECONDS), [*start.q, *start.v], method="DOP853", rtol=1e-9, atol=1e-10).y[:n, -1]


def by_momenta(system, start, velocities=hamiltonian.right_hand_side):
    n, mechanism = system.nq, system.mechanism
    p = hamiltonian.momenta(Evaluation(mechanism, start.q.tolist()), start.v.tolist())

    def change(t, y):
        return np.concatenate([*velocities(Evaluation(mechanism, y[:n].tolist(), t), y[n:].tolist())])

    return solve_ivp(change, (0, SECONDS), [*start.q, *p], method="DOP853", rtol=1e-10, atol=1e-11)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("name", LINKAGES)
def test_loops_move_as_the_equations_of_the_first_kind_say(name):
    system, start = started(name)
    found = by_momenta(system, start)
    np.testing.assert_allclose(found.y[: system.nq, -1], first_kind(system, start), rtol=0, atol=1e-9)
    closure_errors = Configuration(system.mechanism, found.y[: system.nq, -1], start.v, SECONDS).closure_errors()
    assert np.abs(closure_errors).max() < 1e-10
    assert found.nfev < 400  # p*' is smooth, redundant constraints or not


@pytest.mark.repeats(1)
@pytest.mark.parametrize("name", LINKAGES)
def test_energy_is_kept(name):
    system, start = started(name)
    found = by_momenta(system, start)
    q, p = found.y[: system.nq, -1].tolist(), found.y[system.nq :, -1].tolist()
    moving = hamiltonian.changing_bodies(Evaluation(system.mechanism, q), p)
    u = np.concatenate([moving[body.number].u for body in system.mechanism.bodies])
    assert system.energy(q, u).total == pytest.approx(system.energy(start.q, start.v).total, abs=1e-8)


def test_with_mu_instead_of_mu_star_the_motion_is_wrong(monkeypatch):
    # Ivanov 2022 (6) as printed
    def printed(at, *given):
        moving = closed(at, *given)
        generalized_momenta(at.mechanism, moving)  # Z: the momentum of a body and of all that it carries
        for record in moving[1:]:
            vars(record)["mu_star"] = record.Z
        return moving

    closed = hamiltonian.moving_bodies
    system, start = started("four-bar")
    right = by_momenta(system, start).y[: system.nq, -1]
    monkeypatch.setattr(hamiltonian, "moving_bodies", printed)
    assert np.abs(by_momenta(system, start).y[: system.nq, -1] - right).max() > 1e-3


def test_without_the_wrench_of_turning_rows_the_motion_is_wrong(monkeypatch):
    system, start = started("four-bar")
    right = by_momenta(system, start).y[: system.nq, -1]
    nothing = {"wrench_on0": Force.zero(), "wrench_on1": Force.zero()}
    monkeypatch.setattr(hamiltonian, "apply_impulse_changes", lambda kappa: lambda loop: nothing)
    assert np.abs(by_momenta(system, start).y[: system.nq, -1] - right).max() > 1e-3


def test_impulses_along_the_rows_leave_the_loops_closed():
    system, start = started("Bennett")
    p = np.array(hamiltonian.momenta(Evaluation(system.mechanism, start.q.tolist()), start.v.tolist()))
    p += np.random.default_rng(1).standard_normal(system.nv)  # an external impulse
    moving = hamiltonian.changing_bodies(Evaluation(system.mechanism, start.q.tolist()), p.tolist())
    u = np.concatenate([moving[body.number].u for body in system.mechanism.bodies])
    assert np.abs(Configuration(system.mechanism, start.q, u).constraint_velocities()).max() < 1e-12


@pytest.mark.long
def test_a_slider_crank_with_no_torque_speeds_up_and_slows_down_as_the_equation_of_its_crank_angle_says():
    # masses and lengths after the slider-crank of the IVP test set (Mazzia and Magherini 2008), its links rigid and
    # their moments of inertia taken as central ones; phi1 and phi1' at t are from the one equation of its crank angle
    m = mt.Model("slider-crank", gravity=(0, 0, 0))
    crank = m.body("crank", mass=0.36, com=(0.075, 0, 0), inertia=(0.002727, 0.002727, 0.002727))
    rod = m.body("rod", mass=0.151104, com=(0.15, 0, 0), inertia=(0.0045339259, 0.0045339259, 0.0045339259))
    slider = m.body("slider", mass=0.075552)
    m.joint("A", mt.Revolute("z"), m.ground, crank)
    m.joint("B", mt.Revolute("z"), crank.at((0.15, 0, 0)), rod)
    m.joint("C", mt.Revolute("z"), rod.at((0.3, 0, 0)), slider)
    m.joint("D", mt.Prismatic("x"), m.ground, slider)
    m.cut("C")
    system = m.build()
    start = system.assemble({"A": 0.0}, velocities={"A": 150.0})
    n, mechanism = system.nq, system.mechanism
    p = hamiltonian.momenta(Evaluation(mechanism, start.q.tolist()), start.v.tolist())

    def change(t, y):
        return np.concatenate([*hamiltonian.right_hand_side(Evaluation(mechanism, y[:n].tolist(), t), y[n:].tolist())])

    times = [0.01, 0.02, 0.05, 0.1]
    found = solve_ivp(change, (0, 0.1), [*start.q, *p], method="DOP853", rtol=1e-13, atol=1e-13, t_eval=times)
    angle = found.y[[str(name) for name in mechanism.coordinates].index("A")]
    expected = [1.3033241062998660, 2.6427133922841563, 6.7630601990444770, 13.469381183029512]
    np.testing.assert_allclose(angle, expected, rtol=0, atol=1e-9)
    moving = hamiltonian.changing_bodies(Evaluation(mechanism, found.y[:n, -1].tolist()), found.y[n:, -1].tolist())
    assert moving[mechanism.by_joint["A"].number].u[0] == pytest.approx(121.14899262814002, rel=1e-9)
