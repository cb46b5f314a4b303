"""Kaspirovich and Mukharlyamov 2019: the cart of section 6, its figure, and what else could hold its constraints.

I. E. Kaspirovich, R. G. Mukharlyamov, "On methods of constructing dynamic equations with account for stabilization of
constraints", Mechanics of Solids 2019 (Izv. RAN MTT 2019 No 3), DOI 10.1134/S0572329919030115.

The paper prints no numbers and a figure. Those below are of an independent prototype in plain Python: explicit Euler,
h = 0.01, 1000 steps, from (6.7), for five pairs of a dissipation and of v = w. (The paper does not give v and w. Its
circle of radius 1 means v = w.)
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import momentree as mt
from momentree.errors import MomentreeError
from momentree.programmes import Programme
from momentree.results.programme_run import ProgrammeRun
from programme_cart import KNIFE, cart

STABLE, UNSTABLE = (10, 5, 11), (10, 50, 10)  # d_1^1, d_2^2, d_3^3 of both cases of the figure
START = (0, -1, 0)  # (6.7)

# q(10), q'(10); |u|(10), max |u|, max |a.q'|, max |r - 1|; the largest Floquet exponent
CASES = {
    ("stable", 1.0): (
        (-0.5474637349668209, 0.8356474403272411, 10.015089358459456),
        (-0.8334400819886091, -0.5579632880516612, 1.0024895880261437),
        (0.0038918417496728967, 0.003952608347348494, 0.0005146138386603605, 0.005568671639837097),
        -1.455748652302482,
    ),
    ("stable", 0.5): (
        (-0.9567161746856438, -0.2828720133430066, 5.001909936945846),
        (0.14278754054698262, -0.479420184065709, 0.5001106962597899),
        (0.00025834894252983146, 0.0006060196217437478, 4.676019026278455e-05, 0.002636694711887655),
        -1.4297223875388405,
    ),
    ("unstable", 1.0): (
        (-0.06457878373300868, -0.682738570140512, 516.8749923621496),
        (10.731854289415574, 25.12767595689979, 49.190470237285),
        (54.96900340351194, 78.50929443012147, 40.73154595185086, 0.8614337628407333),
        12.04597301767662,
    ),
    ("unstable", 2.0): (
        (0.0016380413896160823, 0.6876184952053678, 557.7824045121628),
        (-10.697395348847943, -27.849450226934188, 51.41700260177353),
        (56.853289979260595, 79.13010051612028, 41.059854805362136, 0.8526449337961932),
        12.038768238954724,
    ),
    ("unstable", 5.0): (
        (0.1707611148369165, 0.5398762971935349, 632.2246125557923),
        (-10.621655005089067, 16.215561670332534, 70.31037370358695),
        (68.5695821372262, 81.69906074996598, 42.440409336069784, 0.8421523920203348),
        12.030391156888868,
    ),
}
every_case = pytest.mark.parametrize(("kind", "v"), CASES)


def paper_cart(kind: str, v: float) -> Programme:
    return cart(STABLE if kind == "stable" else UNSTABLE, v, v)


def by_euler(programme: Programme, **more) -> ProgrammeRun:
    return programme.simulate(START, t_end=10, integrator="euler", step=0.01, **more)


@every_case
def test_the_cart_by_euler_is_that_of_an_independent_program(kind, v):
    q, qd, (u_end, u_max, blade, radius), _ = CASES[kind, v]
    run = by_euler(paper_cart(kind, v))
    near = {"rel": 1e-9} if kind == "stable" else {"rel": 1e-5}  # rounding errors grow with the instability
    assert len(run.t) == 1001
    assert run.q[-1] == pytest.approx(q, **near)
    assert run.qd[-1] == pytest.approx(qd, **near)
    assert (run.size[-1], run.size.max()) == pytest.approx((u_end, u_max), **near)
    assert abs(run.constraint_error).max() == pytest.approx(blade, **near)
    assert abs(np.hypot(run["x"], run["y"]) - 1).max() == pytest.approx(radius, **near)


def test_the_circle_of_the_figure_is_held():
    run = by_euler(cart())
    exact = np.column_stack([np.sin(run.t), -np.cos(run.t), run.t])
    assert abs(run.q - exact).max() < 0.02  # Euler's h/2 and a little
    assert run.size.max() < 0.004
    assert cart().simulate(START, t_end=10, rtol=1e-12).q[-1] == pytest.approx(exact[-1], abs=1e-9)


def test_the_dissipation_of_the_second_case_is_refused():
    with pytest.raises(MomentreeError, match=r"dissipation is not positive semidefinite: .* -23\.8.* at x = "):
        cart(UNSTABLE, dissipative=True)


@pytest.mark.parametrize("step", [0.01, 0.0025])
def test_the_instability_is_that_of_the_equations_not_of_euler(step):
    """RK4 runs away in the same way, however small its steps, from a deviation that the first case forgets."""
    pushed = {"qd": (1, 0, 1 + 1e-6), "t_end": 10, "integrator": "rk4", "step": step}
    away = cart(UNSTABLE).simulate(START, **pushed)
    assert away.t[np.argmax(away.size > 1)] == pytest.approx(1.375, abs=0.01)
    assert away.size.max() == pytest.approx(77.25, abs=0.05)
    assert abs(np.hypot(away["x"], away["y"]) - 1).max() > 0.8
    held = cart(STABLE).simulate(START, **pushed)
    assert held.size.max() == held.size[0]
    assert held.size[-1] < 0.05 * held.size[0]  # what is left are errors of RK4


def test_euler_runs_away_at_once():
    run = by_euler(cart(UNSTABLE))
    assert [run.t[np.argmax(run.size > size)] for size in (0.1, 1)] == pytest.approx([0.87, 1.03])


LEAST = {  # eigenvalues on the circle, of the symmetric part of -p and of d
    ("stable", 1.0): (0.46123727, 0.4875078),
    ("stable", 0.5): (0.48091809, 0.4875078),
    ("unstable", 1.0): (-23.857505, -23.851648),
    ("unstable", 2.0): (-23.875123, -23.851648),
    ("unstable", 5.0): (-23.997930, -23.851648),
}


@every_case
def test_the_least_eigenvalues_of_the_decay_matrix_and_of_the_dissipation(kind, v):
    programme, phi = paper_cart(kind, v), np.linspace(-np.pi, np.pi, 10001)
    q = np.column_stack([0 * phi, 0 * phi, phi])
    found = [np.linalg.eigvalsh(matrix)[:, 0].min() for matrix in (programme.decay_matrix(q), programme.dissipation(q))]
    assert found == pytest.approx(LEAST[kind, v], rel=5e-6)  # sampled there


# --- Floquet exponents of u' = p u on the circle ---


def exponents(programme: Programme, v: float, pieces: int = 500) -> np.ndarray:
    """Of the variational equation along the orbit, largest first: Magnus' method of order 4, then QR factorizations.

    (The eigenvalues of the product of all pieces will not do: the others are lost in the rounding of the largest.)
    """
    h = 2 * np.pi / v / pieces

    def p(t):
        q = np.stack([np.sin(v * t), -np.cos(v * t), v * t], axis=-1)
        return programme.coefficients(q, programme.velocity(q))

    middle = (np.arange(pieces) + 0.5) * h
    one, two = p(middle - h / np.sqrt(12)), p(middle + h / np.sqrt(12))
    Q = np.eye(3)
    for _ in range(3):
        total = np.zeros(3)
        for piece in expm(h / 2 * (one + two) + np.sqrt(3) / 12 * h**2 * (two @ one - one @ two)):
            Q, R = np.linalg.qr(piece @ Q)
            total += np.log(abs(np.diag(R)))
    return total * v / (2 * np.pi)


@every_case
@pytest.mark.repeats(1)
def test_the_floquet_exponents_of_the_cart(kind, v):
    found = exponents(paper_cart(kind, v), v)
    assert found[0] == pytest.approx(CASES[kind, v][-1], rel=1e-6)
    # Liouville: all of them add up to the trace of p
    assert found.sum() == pytest.approx(-sum(STABLE if kind == "stable" else UNSTABLE), rel=1e-6)


def test_the_run_decays_as_the_floquet_exponent_says():
    run = cart().simulate(START, (1.1, -0.2, 1.15), t_end=4 * np.pi, rtol=1e-12, atol=1e-14, every=np.pi)
    period = run.size[4] / run.size[2]
    assert np.log(period) / (2 * np.pi) == pytest.approx(-1.455748652302482, rel=1e-5)


# --- the other ways to hold constraints, by Euler, from (6.7) and from a perturbed start ---

PUSHED = (1.1, -0.2, 1.15)  # q'(0); the programme has (1, 0, 1)
# |u|(10), max |u| and max |a.q'| after the start, |a.q'|(10), q(10)
COMPARED = {
    ("section 3", False): (0.05529015, 0.05529015, 0.01012116, 0.008602207, (-0.6698383, 0.7314875, 10.24473)),
    ("section 3", True): (0.3058222, 0.4863908, 0.2242496, 0.1911531, (1.269456, -3.477474, 12.52277)),
    ("paper", False): (0.003891842, 0.003952608, 0.0005146138, 0.0003715051, (-0.5474637, 0.8356474, 10.01509)),
    ("paper", True): (0.003776763, 0.26136, 0.1911954, 0.0003102678, (-0.6169388, 0.7365949, 10.1141)),
    ("gain 10", False): (0.0004977915, 0.0004977915, 4.79025e-5, 4.79025e-5, (-0.5350827, 0.8426856, 10.00005)),
    ("gain 10", True): (0.0004977915, 0.2434765, 0.1810236, 4.79025e-5, (-0.5562379, 0.8113825, 10.01712)),
    ("gain 50", False): (9.998974e-5, 9.998974e-5, 1.666319e-6, 1.666319e-6, (-0.5348739, 0.8419611, 10)),
    ("gain 50", True): (9.998974e-5, 0.1357776, 0.1005689, 1.666319e-6, (-0.5385439, 0.8362415, 10.00308)),
}
PEERS = {
    (0.0, False): (0.009589256, 0.01000001, 0.01000001, 0.009190824, (-0.5255245, 0.8944351, 10)),
    (0.0, True): (0.2652099, 0.2697793, 0.2242328, 0.01207708, (0.2440563, -2.48447, 11.5)),
    (10.0, False): (0.0004977637, 0.0004977637, 4.790181e-5, 4.790181e-5, (-0.5350475, 0.8427192, 10)),
    (10.0, True): (0.0004977637, 0.2423568, 0.1810236, 4.790181e-5, (-0.5524614, 0.8130019, 10.015)),
    (50.0, False): (9.998972e-5, 9.998972e-5, 1.666318e-6, 1.666318e-6, (-0.5348736, 0.8419614, 10)),
    (50.0, True): (9.998972e-5, 0.1346535, 0.1005689, 1.666318e-6, (-0.5383957, 0.8362885, 10.003)),
    (100.0, False): (4.999986e-5, 4.999986e-5, 3.3333e-7, 3.3333e-7, (-0.5348479, 0.8418686, 10)),
    (100.0, True): (4.999986e-5, 6.612476e-5, 5.069516e-7, 3.3333e-7, (-0.5366099, 0.8390492, 10.0015)),
}


def circling(gain: float | None = None) -> Programme:
    """The same programme in mode DU: d = gain E, or no dissipation, which is section 3."""
    return mt.programme("x y phi", [KNIFE], velocity={"x": "cos(phi)", "phi": 1}, gain=gain)


PROGRAMMES = {"section 3": circling, "paper": cart, "gain 10": lambda: circling(10), "gain 50": lambda: circling(50)}


def assert_compared(q, u, blade, expected):
    size = np.linalg.norm(u, axis=1)
    found = size[-1], size[1:].max(), abs(blade[1:]).max(), abs(blade[-1])
    assert found == pytest.approx(expected[:-1], rel=6e-7, abs=1e-13)
    assert q[-1] == pytest.approx(expected[-1], rel=6e-7)


@pytest.mark.parametrize(("how", "pushed"), COMPARED)
def test_programmes_with_and_without_dissipation(how, pushed):
    run = by_euler(PROGRAMMES[how](), qd=PUSHED if pushed else None)
    assert_compared(run.q, run.u, run.constraint_error[:, 0], COMPARED[how, pushed])


@pytest.mark.parametrize(("k", "pushed"), PEERS)
def test_the_peers_of_a_programme_are_no_equations_of_lagrange(k, pushed):
    """Twice differentiated constraints, u' = 0, and Baumgarte's u' = -k u, as a few lines of Euler.

    They hold the constraints as well as a programme of the gain k does. But p = -k E is not -(dv/dq)' less a symmetric
    matrix, so no Rayleigh function gives them with unit masses.
    """
    programme, h = circling(), 0.01
    q, qd = np.zeros((1001, 3)), np.zeros((1001, 3))
    q[0], qd[0] = START, PUSHED if pushed else (1, 0, 1)
    for i in range(1000):
        s, c = np.sin(q[i, 2]), np.cos(q[i, 2])
        qdd = np.array([-s, c, 0]) * qd[i, 2] - k * (qd[i] - (c, s, 1))  # q'' = v' - k u
        q[i + 1], qd[i + 1] = q[i] + h * qd[i], qd[i] + h * qdd
    blade = qd[:, 0] * np.sin(q[:, 2]) - qd[:, 1] * np.cos(q[:, 2])
    assert_compared(q, programme.deviation(q, qd), blade, PEERS[k, pushed])


def test_without_dissipation_deviations_stay_and_with_it_they_die_out():
    """u -> 0 is a matter of velocities: a push is forgotten, but the way that it went is not."""
    bare, held, quick = (by_euler(PROGRAMMES[how](), qd=PUSHED) for how in ("section 3", "paper", "gain 50"))
    assert bare.size[-1] > bare.size[0]
    assert held.size[-1] < held.size[0] / 50
    assert quick.size[-1] < held.size[-1] / 30
    rested = circling(50).simulate(START, PUSHED, t_end=10, rtol=1e-12)
    assert rested.size[-1] < 1e-12
    assert abs(rested.q[-1] - (np.sin(10), -np.cos(10), 10)).max() > 2e-3  # 1/50 of the push, for good
