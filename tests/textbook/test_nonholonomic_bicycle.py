"""The benchmark bicycle: Meijaard, Papadopoulos, Ruina and Schwab, Proc. R. Soc. A 463 (2007), 1955-1982.

Axes of the paper: x forward, y to the right, z down, the origin at the rear contact. Its linear motion about straight
running is M q'' + v C1 q' + (g K0 + v^2 K2) q = 0 with q = (lean, steer). Here it comes from differences of
accelerations of the nonlinear bicycle at states that keep all constraints.
"""

from __future__ import annotations

from functools import cache
from math import cos, pi, sin

import numpy as np
import pytest
from scipy.optimize import brentq

import momentree as mt

WHEEL_BASE, TRAIL, TILT = 1.02, 0.08, pi / 10
REAR, FRONT = 0.3, 0.35  # radii
WEAVE, CAPSIZE = 4.29238253634111, 6.02426201538837  # m/s
EIGENVALUES = {  # v: table 2 of the paper
    0.0: (3.13164324790656, -3.13164324790656, 5.53094371765393, -5.53094371765393),
    5.0: (
        -0.77534188219585 + 4.46486771378823j,
        -0.77534188219585 - 4.46486771378823j,
        -0.32286642900409,
        -14.07838969279822,
    ),
}
M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
C1 = np.array([[0, 33.86641391492494], [-0.85035641456978, 1.6854039739756]])
K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
K2 = np.array([[0, 76.59734589573222], [0, 2.65431523794604]])


def bicycle(**settings):
    """Rear frame with rider, fork and two wheels; the frame moves by heading, height, lean and pitch in turn."""
    m = mt.Model("bicycle", gravity=(0, 0, 9.81))
    heading, height, leaning = (m.body(name, massless=True) for name in ("heading", "height", "leaning"))
    frame = m.body("frame", mass=85, com=(0.3, 0, -0.9), inertia=(9.2, 11, 2.8, 0, 2.4, 0))
    fork = m.body("fork", mass=4, com=(0.9, 0, -0.7), inertia=(0.05892, 0.06, 0.00708, 0, -0.00756, 0))
    rear = m.body("rear wheel", mass=2, inertia=(0.0603, 0.12, 0.0603))
    front = m.body("front wheel", mass=3, inertia=(0.1405, 0.28, 0.1405))
    m.joint("track", mt.Planar("z"), m.ground, heading)
    m.joint("height", mt.Prismatic("z"), heading, height)
    m.joint("lean", mt.Revolute("x"), height, leaning)
    m.joint("pitch", mt.Revolute("y"), leaning, frame)
    m.joint("rear", mt.Revolute("y"), frame.at((0, 0, -REAR)), rear)
    on_axis = (WHEEL_BASE + TRAIL, 0, 0)  # the steer axis meets the ground there
    m.joint("steer", mt.Revolute((sin(TILT), 0, cos(TILT))), frame.at(on_axis), fork.at(on_axis))
    m.joint("front", mt.Revolute("y"), fork.at((WHEEL_BASE, 0, -FRONT)), front)
    road = m.ground.at((0, 0, 0), mt.turn("x", pi))  # its z axis points up
    m.roll(rear, on=road, radius=REAR, disc="y", name="rear contact")
    m.roll(front, on=road, radius=FRONT, disc="y", name="front contact")
    return m.build(**settings)


@cache
def built():
    return bicycle()


def accelerations(v, lean, steer, dlean, dsteer):
    """lean'' and steer'' of the bicycle at the speed v of the rear wheel's rim."""
    system = built()
    start = system.assemble({"lean": lean, "steer": steer}, {"lean": dlean, "steer": dsteer, "rear": -v / REAR})
    vdot = system.forward_dynamics(start.q, start.v)
    names = [reference.name for reference in system.mechanism.velocities]
    return vdot[[names.index("lean"), names.index("steer")]]


def linearized(v, step=1e-3):
    """The derivative of (lean', steer', lean'', steer'') by (lean, steer, lean', steer'), by differences of order 4."""
    A = np.zeros((4, 4))
    A[:2, 2:] = np.eye(2)
    for k in range(4):
        at = {h: accelerations(v, *(h * step * np.eye(4)[k])) for h in (-2, -1, 1, 2)}
        A[2:, k] = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * step)
    return A


def sorted_spectrum(values):
    return np.array(sorted(np.asarray(values, dtype=complex), key=lambda z: (round(z.real, 5), z.imag)))


def published(v):
    """The derivative by the paper's matrices."""
    K = 9.81 * K0 + v**2 * K2
    return np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, v * C1)]])


def test_the_paper_agrees_with_itself():
    for v, expected in EIGENVALUES.items():
        found = np.linalg.eigvals(published(v))
        np.testing.assert_allclose(sorted_spectrum(found), sorted_spectrum(expected), rtol=0, atol=1e-12)


def test_the_bicycle_has_three_velocities():
    # lean, steer and the speed; in positions seven freedoms, since four no-slip constraints bind velocities only
    assert built().mobility == 3


@pytest.mark.parametrize("v", EIGENVALUES)
def test_eigenvalues_of_the_bicycle(v):
    found = np.linalg.eigvals(linearized(v))
    np.testing.assert_allclose(sorted_spectrum(found), sorted_spectrum(EIGENVALUES[v]), rtol=0, atol=1e-7)


@pytest.mark.parametrize("v", [2.5, 5.0, 8.0])
def test_linear_equations_of_the_bicycle(v):
    np.testing.assert_allclose(linearized(v), published(v), rtol=1e-7, atol=1e-7)


def test_weave_and_capsize_speeds_of_the_bicycle():
    def weave(v):
        return max(z.real for z in np.linalg.eigvals(linearized(v)) if abs(z.imag) > 1)

    def capsize(v):
        return max(z.real for z in np.linalg.eigvals(linearized(v)) if abs(z.imag) < 1e-9)

    assert brentq(weave, 4.2, 4.4, xtol=1e-9) == pytest.approx(WEAVE, abs=1e-7)
    assert brentq(capsize, 5.9, 6.1, xtol=1e-9) == pytest.approx(CAPSIZE, abs=1e-7)


@pytest.mark.long
def test_a_small_motion_of_the_bicycle_follows_its_eigenvalues():
    # the nonlinear motion from a small push, against the exponential of the paper's matrix
    from scipy.linalg import expm

    system, push = built(), 1e-5
    start = system.assemble(velocities={"lean": push, "rear": -5.0 / REAR})
    run = system.simulate(start, t_end=2.0, every=0.1)
    expected = np.array([expm(published(5.0) * t) @ (0, 0, push, 0) for t in run.t])
    found = np.stack([run["lean"], run["steer"], run.velocity("lean"), run.velocity("steer")], axis=1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5 * push)


@pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange"])
@pytest.mark.repeats(1)
def test_energy_of_the_bicycle_over_a_hundred_seconds(formulation):
    # pushed hard, at a stable speed; the paper's figure 4 is this motion for small pushes
    system = built()
    start = system.assemble(velocities={"lean": 0.5, "rear": -4.6 / REAR})
    run = system.simulate(start, t_end=100.0, every=0.1, formulation=formulation)
    assert run.energy.error < 1e-8 * run.energy.kinetic.max()
    assert run.closure_error.max() < 1e-12
    assert run.closure_velocity.max() < 1e-11
    assert np.abs(run["lean"][-100:]).max() < 1e-3  # upright again, on another heading
