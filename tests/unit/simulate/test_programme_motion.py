"""Motions by programmes: every integrator arrives where SciPy does; what cannot be integrated is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import momentree as mt
from momentree.errors import MomentreeError
from momentree.integrate.methods import METHODS

PENDULUM = mt.programme(
    "x y", velocity=("cos(y) - x/3", "sin(t) - x*y/5"), mass=[["2 + cos(y)", "x/5"], ["x/5", 2]], gain=2,
    region={"x": (-1, 1)},
)  # fmt: skip
Q, QD = [0.3, -0.2], [0.5, 1.0]


def reference(t_end):
    def rhs(t, y):
        return [*y[2:], *PENDULUM.accelerations(y[:2], y[2:], t)]

    return solve_ivp(rhs, (0, t_end), [*Q, *QD], method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]


@pytest.mark.parametrize("integrator", [name for name, method in METHODS.items() if not method.hamiltonian])
def test_every_integrator_arrives_where_scipy_does(integrator):
    order = METHODS[integrator].order
    step = None if METHODS[integrator].adaptive else 0.01
    run = PENDULUM.simulate(Q, QD, t_end=2.0, integrator=integrator, step=step)
    assert run.arrived
    error = np.abs([*run.q[-1], *run.qd[-1]] - reference(2.0)).max()
    assert error < (1e-7 if step is None else 5 * step**order)


def test_samples_lie_where_they_are_asked_for():
    run = PENDULUM.simulate(Q, QD, t_end=1.0, every=0.3)
    assert run.t == pytest.approx([0, 0.3, 0.6, 0.9, 1.0])
    assert [*run.q[-1], *run.qd[-1]] == pytest.approx(reference(1.0), abs=1e-8)
    fixed = PENDULUM.simulate(Q, QD, t_end=1.0, every=0.25, integrator="rk4", step=0.05)
    assert fixed.t == pytest.approx([0, 0.25, 0.5, 0.75, 1.0])
    late = PENDULUM.simulate(Q, QD, t_start=0.4, t_end=0.9)
    assert (late.t[0], late.t[-1]) == (0.4, 0.9)


def test_a_motion_on_the_programme_stays_on_it():
    run = PENDULUM.simulate(Q, t_end=3.0)
    assert run.size.max() < 1e-7
    assert run.qd[0] == pytest.approx(PENDULUM.velocity(Q, 0.0))


def test_long_motions_are_whole():
    run = PENDULUM.simulate(Q, QD, t_end=20.0, integrator="rk4", step=0.01)
    assert len(run.t) == 2001
    assert np.diff(run.t) == pytest.approx(np.full(2000, 0.01))


def test_where_accelerations_are_not_finite_the_motion_stops_and_says_so():
    p = mt.programme("x", velocity=("-1/x",), gain=1, region={"x": (0.5, 1)})
    run = p.simulate([0.5], t_end=1.0)
    assert not run.arrived
    assert "not defined there" in run.stopped
    assert run.t[-1] == pytest.approx(0.125, abs=1e-3)  # x^2 = 1/4 - 2 t


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"integrator": "verlet", "step": 0.1}, "verlet needs a Hamiltonian system. Choose"),
        ({"integrator": "rk5"}, "'rk5' is not known"),
        ({"integrator": "rk4"}, "rk4 has a fixed step size. Give step="),
        ({"t_end": -1.0}, "t_end is -1.0"),
        ({"t_start": float("nan")}, "t_start is nan"),
        ({"q": [1.0]}, "q is .*finite number for each of x, y"),
        ({"q": {"x": 1.0}}, "'y' is missing"),
        ({"q": {"x": 1.0, "z": 0.0, "y": 1.0}}, "'z' is not a coordinate"),
        ({"qd": [1.0, float("inf")]}, "qd is"),
    ],
)
def test_mistakes_are_named_with_the_way_out(change, message):
    with pytest.raises(MomentreeError, match=message):
        PENDULUM.simulate(**{"q": Q, "qd": QD, "t_end": 1.0, **change})
