"""Mechanisms with loops by which programs are compared: four-bars in a row (A02) and Andrews' squeezer (A03).

A02 is from the IFToMM benchmark library (M. González, D. Dopico, U. Lugrís and J. Cuadrado, "A benchmarking system for
MBS simulation software: Problem standardization and performance measurement", Multibody System Dynamics 16, 2006,
pages 179-190). It has one degree of freedom, and its motion is Jacobi's amplitude; of 50 digits 17 are stored.

A03 is Andrews' mechanism (W. Schiehlen, ed., Multibody Systems Handbook, 1990; E. Hairer and G. Wanner, Solving
Ordinary Differential Equations II). The test set for initial value problems (F. Mazzia and C. Magherini, release 2.4,
2008) publishes its state at 0.03 s in 16 digits, of which 9 (angles) and 7 (velocities) are right: those of the
motion 1e-12 s later. Closer numbers are from a program written apart from this library, extrapolation (Gragg, Bulirsch
and Stoer) in the one angle beta: two tolerances agree to 4e-14, and equations of the first kind in seven angles to
7e-12.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.special import ellipj

import momentree as mt
from mechanisms import four_bars_in_a_row

EXAMPLES = Path(__file__).parents[2] / "examples"

every_method = pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange"])


# --- four-bars in a row: rods of 1 kg and 1 m, upright at the start, ends of posts at 1 m/s ---

CHAIN = {  # bars, t: position and velocity of the end of the first post
    (2, 1): (-0.19502030194943509, -0.98079920566217383, -6.6766780368811581, 1.3275783251604872),
    (2, 10): (0.32845811154081538, 0.94451853817860096, 1.4230514702069441, -0.49486884548704296),
    (40, 10): (0.18051222668672839, 0.98357274058231157, 1.1484412774694141, -0.21077006677942393),
    (40, 20): (0.41090115376294522, 0.91167990097198065, 1.5667853719090699, -0.70616223559383731),
}
TURN = {2: 1.94251492260708368, 40: 1.96560192870465044}  # s


def jacobi(t, n):
    """Where the end of the first post is, and how it moves: half of the angle from upright is am(t/2 | -4a)."""
    a = 9.81 * ((n + 1) / 2 + n) / ((n + 1) / 3 + n)
    k = np.sqrt(1 + 4 * a)
    sn, cn, dn, _ = ellipj(k * t / 2, 4 * a / k**2)  # of the positive parameter: Abramowitz and Stegun, 16.10
    sn, cn, dn = sn / (k * dn), cn / dn, 1 / dn
    x, y = 2 * sn * cn, cn**2 - sn**2
    return np.stack([x, y, y * dn, -x * dn], axis=-1)


def fallen(n, t_end, **settings):
    """The run of n four-bars, and the position and velocity of the end of each post: k x posts x 4."""
    m = four_bars_in_a_row(n)
    m.gravity = (0, -9.81, 0)
    system, posts = m.build(), [f"G{i}" for i in range(n + 1)]
    start = system.assemble(dict.fromkeys(posts, 0.0), velocities=dict.fromkeys(posts, -1.0))
    run = system.simulate(start, t_end=t_end, every=0.1, **settings)
    angle, velocity = (-np.stack([of(post) for post in posts], axis=1) for of in (run.__getitem__, run.velocity))
    x, y = np.sin(angle), np.cos(angle)
    return run, np.stack([x, y, y * velocity, -x * velocity], axis=-1)


@pytest.mark.parametrize("case", CHAIN, ids=str)
def test_stored_positions_are_those_of_jacobis_amplitude(case):
    n, t = case
    np.testing.assert_allclose(jacobi(t, n), CHAIN[case], rtol=0, atol=1e-13)
    np.testing.assert_allclose(jacobi(t + TURN[n], n), CHAIN[case], rtol=0, atol=1e-12)


@every_method
@pytest.mark.repeats(1)
def test_two_four_bars_after_a_second(formulation):
    # through the line of all rods once, after 0.71 s
    _, ends = fallen(2, 1.0, rtol=1e-12, formulation=formulation)
    np.testing.assert_allclose(ends[-1, 0], CHAIN[2, 1], rtol=0, atol=1e-10)


@every_method
def test_two_four_bars_after_ten_seconds(formulation):
    # through the line ten times; reactions grow without bound on the way there, so that smaller tolerances gain nothing
    run, ends = fallen(2, 10.0, rtol=3e-13, formulation=formulation)
    np.testing.assert_allclose(ends[-1, 0], CHAIN[2, 10], rtol=0, atol=1e-9)
    np.testing.assert_allclose(ends[:, 0], jacobi(run.t, 2), rtol=0, atol=2e-8)


@every_method
def test_four_bars_stay_parallelograms(formulation):
    # where all rods are in line each might cross over; none does
    run, ends = fallen(2, 10.0, rtol=1e-10, formulation=formulation)
    assert np.ptp(ends, axis=1).max() < 1e-5
    assert run.closure_error.max() < 1e-12
    assert run.energy.error < 1e-4


@pytest.mark.long
def test_forty_four_bars_after_ten_and_twenty_seconds():
    run, ends = fallen(40, 20.0, rtol=1e-12)
    np.testing.assert_allclose(ends[100, 0], CHAIN[40, 10], rtol=0, atol=1e-9)
    np.testing.assert_allclose(ends[200, 0, :2], CHAIN[40, 20][:2], rtol=0, atol=1e-9)
    np.testing.assert_allclose(ends[200, 0, 2:], CHAIN[40, 20][2:], rtol=0, atol=2e-9)  # m/s
    assert np.ptp(ends, axis=1).max() < 1e-6
    assert run.closure_error.max() < 1e-12


# --- Andrews' squeezer ---

START = {
    "beta": -0.0617138900142764496,
    "theta": 0.0,
    "gamma": 0.455279819163070380,
    "phi": 0.222668390165885885,
    "delta": 0.487364979543842550,
    "Omega": -0.222668390165885885,
    "epsilon": 1.23054744454982119,
}
PUBLISHED = {  # at 0.03 s, by the program PSIDE at a tolerance of 1e-14: angles, velocities
    "beta": (0.1581077119629904e2, 0.1139920302151208e4),
    "theta": (-0.1575637105984298e2, -0.1424379294994111e4),
    "gamma": (0.4082224013073101e-1, 0.1103291221937134e2),
    "phi": (-0.5347301163226948, None),
    "delta": (0.5244099658805304, None),
    "Omega": (0.5347301163226948, None),
    "epsilon": (0.1048080741042263e1, None),
}
CLOSER = {  # the same, with more digits that are right
    "beta": (15.8107711951537068, 1139.92030225910607),
    "theta": (-15.7563710584118391, -1424.37929517754008),
    "gamma": (0.0408222401196458020, 11.0329119106185062),
    "phi": (-0.534730116342079599, 19.2933741050318877),
    "delta": (0.524409965879954069, 0.573569914829497875),
    "Omega": (0.534730116342079599, -19.2933741050318877),
    "epsilon": (1.04808074104193787, 0.323179149249128165),
}


def squeezer():
    return mt.load(EXAMPLES / "12_andrews_squeezer" / "model.toml").build()


def squeezed(formulation):
    system = squeezer()
    return system.simulate(system.assemble(START), t_end=0.03, rtol=1e-13, every=0.001, formulation=formulation)


def test_the_squeezer_is_closed_where_it_is_published_to_start():
    # of the seven angles, one is given; the others follow
    guess = {name: round(angle, 2) for name, angle in START.items()}
    start = squeezer().assemble({"theta": 0.0}, guess=guess)
    np.testing.assert_allclose([start[name] for name in START], list(START.values()), rtol=0, atol=1e-14)


@every_method
@pytest.mark.repeats(1)
def test_the_squeezer_after_three_hundredths_of_a_second(formulation):
    run = squeezed(formulation)
    for name, (angle, velocity) in CLOSER.items():
        assert run[name][-1] == pytest.approx(angle, rel=0, abs=1e-9), name
        assert run.velocity(name)[-1] == pytest.approx(velocity, rel=1e-9), name


def test_default_settings_on_the_squeezer():
    system = squeezer()
    run = system.simulate(system.assemble(START), t_end=0.03)
    for name, (angle, velocity) in CLOSER.items():
        assert run[name][-1] == pytest.approx(angle, rel=0, abs=1e-9), name
        assert run.velocity(name)[-1] == pytest.approx(velocity, rel=1e-9, abs=4e-8), name  # of more than 1000 rad/s


def test_the_squeezer_is_where_others_found_it():
    run = squeezed("hamiltonian")
    for name, (angle, velocity) in PUBLISHED.items():
        assert run[name][-1] == pytest.approx(angle, rel=1e-9), name
        if velocity is not None:
            assert run.velocity(name)[-1] == pytest.approx(velocity, rel=1e-7), name


@every_method
@pytest.mark.repeats(1)
def test_the_work_of_the_squeezers_motor_is_its_gain_of_energy(formulation):
    # its torque is constant: work is torque times angle
    run = squeezed(formulation)
    gained = run.energy.total - run.energy.total[0]
    np.testing.assert_allclose(gained, 0.033 * (run["beta"] - run["beta"][0]), rtol=0, atol=1e-11)
    assert gained[-1] > 0.5
