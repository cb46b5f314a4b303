"""The benchmark of closed loops: its exact solutions, its peers, its walker by hand, its page. No figure decides."""

from __future__ import annotations

import importlib
import math
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def load(monkeypatch):
    """A module of the benchmarks by its name."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))

    def loaded(name: str) -> ModuleType:
        return importlib.import_module(name)

    return loaded


# --- exact solutions ---


def test_the_crank_comes_back_after_the_period_that_a_quadrature_gives(load):
    exact = load("loop_references")

    def potential(crank: float) -> float:
        angles = np.array([[crank, *exact.four_bar_angles(crank)]])
        return exact.four_bar_energy(exact.Motion(np.zeros(1), angles, np.zeros((1, 3))))[0]

    level = potential(1.0)
    far = brentq(lambda a: potential(a) - level, -5.0, -4.0, xtol=1e-15)
    # dt = sqrt(I / (2 (E - V))) da, with a = middle + half cos s: smooth between the ends
    nodes, weights = np.polynomial.legendre.leggauss(200)
    s = math.pi / 2 * (nodes + 1)
    cranks = (1 + far) / 2 + (1 - far) / 2 * np.cos(s)
    slow = np.array([math.sqrt(exact.four_bar_inertia(a) / (2 * (level - potential(a)))) for a in cranks])
    period = 2 * math.pi / 2 * float(weights @ (slow * (1 - far) / 2 * np.sin(s)))
    there, back = exact.four_bar_crank(1.0, [period / 2, period])
    assert there == pytest.approx(far, abs=1e-8)
    assert back == pytest.approx(1.0, abs=1e-8)


def test_closure_error_and_energy_of_a_closed_four_bar(load):
    exact = load("loop_references")
    cranks = np.linspace(-3, 3, 7)
    angles = np.array([[a, *exact.four_bar_angles(a)] for a in cranks])
    still = exact.Motion(cranks, angles, np.zeros_like(angles))
    assert exact.four_bar_closure_error(still).max() < 1e-14
    assert exact.four_bar_closure_error(still._replace(angles=angles + np.array([0, 0, 1e-3]))) == pytest.approx(
        2e-3, rel=1e-3
    )
    # rods of 1 kg: the weight of each acts at its middle
    x = np.sin(angles)
    heights = [x[:, 0] / 2, x[:, 0] + x[:, 1], x[:, 2]]
    np.testing.assert_allclose(exact.four_bar_energy(still), 9.81 * sum(heights), rtol=1e-14)


@pytest.mark.parametrize(("n", "velocity"), [(1, 0.5), (2, 1.0), (40, 1.0), (100, 3.0)])
def test_the_row_falls_as_jacobi_says(load, n, velocity):
    exact = load("loop_references")
    # two bars of a parallelogram turn about an end, the third only moves
    inertia, moment = (n + 1) / 3 + n, (n + 1) / 2 + n
    done = solve_ivp(
        lambda t, y: [y[1], 9.81 * moment / inertia * math.sin(y[0])],
        (0, 4),
        [0, velocity],
        "DOP853",
        rtol=1e-12,
        atol=1e-14,
    )
    np.testing.assert_allclose(exact.row_angle(n, velocity, done.t), done.y[0], atol=1e-8)


def test_a_folded_row_is_found(load):
    exact = load("loop_references")
    t = np.linspace(0, 1, 5)
    fallen = -exact.row_angle(2, 1.0, t)
    angles = np.column_stack([fallen, fallen, fallen, 0 * t, 0 * t])
    whole = exact.Motion(t, angles, 0 * angles)
    assert exact.row_error(2, 1.0, whole) == 0
    assert exact.row_closure_error(2, whole) < 1e-15
    assert exact.branch_kept(2, whole)
    angles[-1, 2] += 0.5
    assert exact.row_error(2, 1.0, whole) == pytest.approx(0.5)
    assert exact.row_closure_error(2, whole) > 0.4
    assert not exact.branch_kept(2, whole)
    angles[-1, 2] = math.nan
    assert not exact.branch_kept(2, whole)
    assert math.isnan(exact.row_error(2, 1.0, whole))


# --- peers ---


@pytest.mark.parametrize(("peer", "closure_error", "error"), [("pinocchio", 1e-9, 1e-8), ("mujoco", 1e-6, 1e-5)])
def test_peers_move_the_four_bar(load, peer, closure_error, error):
    pytest.importorskip(peer)
    exact, peers = load("loop_references"), load("loop_peers")
    motion = getattr(peers, f"four_bar_{peer}")(1.0)(1.0)
    energy = exact.four_bar_energy(motion)
    assert motion.t[-1] == pytest.approx(1.0)
    assert exact.four_bar_closure_error(motion).max() < closure_error
    assert np.abs(energy - energy[0]).max() < 10 * error
    assert abs(motion.angles[-1, 0] - exact.four_bar_crank(1.0, motion.t)[-1]) < error


@pytest.mark.parametrize(
    ("peer", "options", "error"),
    [("pinocchio", [], 1e-5), ("pinocchio", ["constraintDynamics"], 1e-8), ("mujoco", [], 1e-4)],
    ids=["lcaba", "constraintDynamics", "mujoco"],
)
def test_peers_move_the_row(load, peer, options, error):
    pytest.importorskip(peer)
    exact, peers = load("loop_references"), load("loop_peers")
    simulate = getattr(peers, f"row_{peer}")(3, *options)
    for velocity in (2.0, 1.0):  # each from a new start
        motion = simulate(velocity, 0.3)
        assert motion.angles.shape == (31, 7)
        assert exact.row_error(3, velocity, motion) < error
        assert exact.row_closure_error(3, motion) < error
        assert exact.branch_kept(3, motion)


@pytest.mark.parametrize(("algorithm", "felt"), [("lcaba", False), ("constraintDynamics", True)])
def test_whether_pinocchio_feels_baumgarte_gains(load, monkeypatch, algorithm, felt):
    pytest.importorskip("pinocchio")
    peers = load("loop_peers")
    with_them = peers.row_pinocchio(1, algorithm)(2.0, 1.0)
    monkeypatch.setattr(peers, "BAUMGARTE", (0.0, 0.0))
    without = peers.row_pinocchio(1, algorithm)(2.0, 1.0)
    assert np.array_equal(with_them.angles, without.angles) is not felt


# --- the walking mechanism by hand ---


def test_the_hand_written_walker_keeps_its_energy_in_flight(load, monkeypatch):
    walker = load("walker_numpy")
    monkeypatch.setattr(walker, "SERVO", 0.0)
    monkeypatch.setattr(walker, "BRAKE", 0.0)
    q, v = walker.start()
    q[walker.Z] += 1.0
    velocities = walker.right_hand_side()
    done = solve_ivp(velocities, (0, 0.4), np.concatenate([q, v]), "DOP853", rtol=1e-10, atol=1e-12)
    energies = [walker_energy(walker, y[:10], y[10:]) for y in done.y.T]
    assert np.ptp(energies) < 1e-7
    assert np.ptp(done.y[walker.ALPHA]) > 0.5
    assert max(np.abs(walker.closure_errors(y[:10])).max() for y in done.y.T) < 1e-8


def walker_energy(walker, q, v) -> float:
    """Of the mechanism with whole legs, from velocities by finite differences."""

    def bodies(q):
        """Mass, moment, centre and angle of each."""
        y, z, phi, alpha = q[:4]
        hull = np.array([y, walker.E1 - walker.E3 + z])
        yield 20.0, 0.9, hull + 0.1 * np.array([math.sin(phi), -math.cos(phi)]), phi
        yield 3.0, 0.004, hull, phi + alpha
        for slide, lean in ((q[4], q[5]), (q[6], q[7])):
            leg, along = phi + lean, walker.E3 + slide
            top = hull + along * np.array([-math.sin(phi), math.cos(phi)])
            yield 1.2, 0.26, top + 0.75 * np.array([math.sin(leg), -math.cos(leg)]), leg

    h, found = 1e-5, 0.0
    for here, after, before in zip(bodies(q), bodies(q + h * v), bodies(q - h * v), strict=True):
        mass, moment, centre, _ = here
        velocity, turning = (after[2] - before[2]) / (2 * h), (after[3] - before[3]) / (2 * h)
        found += mass * (velocity @ velocity / 2 + 9.8 * centre[1]) + moment * turning**2 / 2
    return found


@pytest.mark.long
def test_the_hand_written_walker_walks(load):
    walker = load("walker_numpy")
    walk = walker.walk(2 * walker.PERIOD)
    rolling = 4 * (walker.E1 - walker.WEIGHT / walker.STIFFNESS) * math.asin(walker.E2 / walker.E3) / walker.PERIOD
    assert walk.gait.speed == pytest.approx(-rolling, rel=3e-3)
    assert walk.gait.touchdowns == (2, 2)
    assert not walk.gait.flight
    assert walk.closure_error < 1e-6
    np.testing.assert_allclose(walk.q[-1, 1:3], walk.q[0, 1:3], atol=1e-3)  # periodic


def test_both_walkers_start_alike(load):
    models, walker = load("loop_models"), load("walker_numpy")
    q, v = walker.start()
    state = models.mt.load(models.WALKER).build().assemble(*models.walker_given())
    joints = ("hull", "alpha", "guide1", "guide2", "pin1", "pin2")
    np.testing.assert_allclose(np.hstack([state[name] for name in joints]), q, atol=1e-14)
    np.testing.assert_allclose(np.hstack([state.velocity(name) for name in joints]), v, atol=1e-14)
    assert np.abs(walker.closure_errors(q)).max() < 1e-15


# --- ours, and the page ---


def test_ours_move_as_the_exact_solutions_do(load):
    exact, models = load("loop_references"), load("loop_models")
    motion = models.four_bar_motion(models.four_bar_momentree(1.0)(1.0))
    assert exact.four_bar_closure_error(motion).max() < 1e-12
    assert abs(motion.angles[-1, 0] - exact.four_bar_crank(1.0, motion.t)[-1]) < 1e-6
    row = models.row_motion(3, models.row_momentree(3)(1.0, 1.0))
    assert exact.row_error(3, 1.0, row) < 1e-5
    assert exact.branch_kept(3, row)


def test_ours_walks_as_the_hand_written_one(load):
    models, walker = load("loop_models"), load("walker_numpy")
    run = models.walker_momentree()(1.0)
    walk = walker.walk(1.0, 1e-8, 1e-10)
    np.testing.assert_allclose(run["hull"][-1], walk.q[-1, :3], atol=1e-5)
    assert models.walker_gait(run).touchdowns == walk.gait.touchdowns


def test_statements_are_counted(load):
    def program():
        """Not counted."""
        x = 1
        if x:
            x = 2; x = 3  # fmt: skip # noqa: E702

        def inner():
            return x

        return inner

    assert load("statement_counts").statements(program, program) == 2 * 7


def test_a_missed_goal_is_told(load):
    page = load("closed_loops_page")
    good = page.FourBar(page.OURS, 1e-13, 1e-8, 1e-8, 1e-6, 1e-3, 1.0, 12, 1e-10)
    peer = good._replace(name="Pinocchio", cpu=21e-3)
    figures = page.Figures(page.Effort(), [good, peer], [], [], [], None)
    assert [goal.met for goal in page.goals(figures)] == [True] * 4
    worse = [good._replace(closure_error=2e-12, energy=math.nan, late=6e-6, cpu=2e-3), peer]
    assert [goal.met for goal in page.goals(figures._replace(four_bars=worse))] == [False] * 4
    assert "**no**" in page.page(figures._replace(four_bars=worse), "", 0.0)
    mine = page.RowOfFourBars(page.OURS, 40, 0.01, 1e-6, 1e-13, 12, 12)
    for cpu, error, kept, met in (
        (0.21, 1e-5, 12, True),
        (0.21, 1e-7, 12, False),
        (0.19, 1e-5, 12, False),
        (0.21, math.nan, 0, True),
    ):
        rows = [mine, page.RowOfFourBars("MuJoCo", 40, cpu, error, 1e-7, kept, 12)]
        assert [goal.met for goal in page.goals(figures._replace(four_bars=[], rows=rows))] == [True, met]


@pytest.mark.long
def test_a_quick_run_writes_a_whole_page(tmp_path):
    page = tmp_path / "page.md"
    command = [sys.executable, str(BENCHMARKS / "closed_loops.py"), "--quick", "--write", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    tables = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    assert len(tables) == 5
    for table in tables:
        assert len({line.count("|") for line in table}) == 1
    assert all("Momentree" in table[2] for table in (tables[1], tables[2], tables[4]))
