"""What the mechanisms of closed_loops.py do exactly, and how far a motion is from it. Nothing of Momentree is used.

Both move in the plane x, y, gravity along -y; every angle is that of a bar, from x (the posts of the row: from y)
towards y.
"""

from __future__ import annotations

from math import acos, atan2, cos, hypot, sin, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipkm1

Array = NDArray[np.float64]
GRAVITY = 9.81  # m/s2


class Motion(NamedTuple):
    """Samples of the angles of the bars, and of their velocities, k x bars.

    Of the four-bar: crank, coupler, rocker. Of the row: its posts, then its bars.
    """

    t: Array
    angles: Array
    velocities: Array


# --- a four-bar linkage ---

CRANK, COUPLER, ROCKER, GROUND = 1.0, 2.0, 2.0, 2.5  # m; 1 kg each, uniform


def four_bar_angles(crank: float) -> tuple[float, float]:
    """Coupler and rocker, on the branch with the coupler's far end above: the law of cosines."""
    x, y = CRANK * cos(crank), CRANK * sin(crank)
    across, along = hypot(GROUND - x, y), atan2(-y, GROUND - x)
    coupler = along + acos((COUPLER**2 + across**2 - ROCKER**2) / (2 * COUPLER * across))
    return coupler, atan2(y + COUPLER * sin(coupler), x + COUPLER * cos(coupler) - GROUND)


def four_bar_derivatives(t: float, state: Array) -> list[float]:
    """The crank's velocity and acceleration: I w' + I' w^2 / 2 + V' = 0 with the reduced inertia I of its angle alone.

    With k and l the velocities of coupler and rocker per velocity of the crank, 2 T = I w^2.
    """
    a, w = state
    b, c = four_bar_angles(a)
    s, r = sin(b - c), cos(b - c)
    k, l = CRANK / COUPLER * sin(c - a) / s, CRANK / ROCKER * sin(b - a) / s
    dk = CRANK / COUPLER * (cos(c - a) * (l - 1) / s - sin(c - a) * r * (k - l) / s**2)
    dl = CRANK / ROCKER * (cos(b - a) * (k - 1) / s - sin(b - a) * r * (k - l) / s**2)
    inertia = four_bar_inertia(a)
    slope = 2 / 3 * (COUPLER**2 * k * dk + ROCKER**2 * l * dl)
    slope += CRANK * COUPLER * (dk * cos(a - b) - k * (1 - k) * sin(a - b))
    fall = GRAVITY / 2 * (3 * CRANK * cos(a) + COUPLER * k * cos(b) + ROCKER * l * cos(c))
    return [w, -(fall + slope * w**2 / 2) / inertia]


def four_bar_inertia(crank: float) -> float:
    """I, twice the kinetic energy at unit velocity of the crank."""
    b, c = four_bar_angles(crank)
    s = sin(b - c)
    velocities = np.array([1.0, CRANK / COUPLER * sin(c - crank) / s, CRANK / ROCKER * sin(b - crank) / s])
    motion = Motion(np.zeros(1), np.array([[crank, b, c]]), velocities[None])
    return float(2 * _kinetic(motion)[0])


def four_bar_crank(start: float, times: Array, rtol: float = 3e-14) -> Array:
    """The crank's angle at these times, from rest at 0: an ODE in it alone."""
    span, state = (0.0, float(times[-1])), [start, 0.0]
    return solve_ivp(four_bar_derivatives, span, state, "DOP853", times, rtol=rtol, atol=rtol / 100).y[0]


def four_bar_energy(motion: Motion) -> Array:
    """Kinetic and potential (J)."""
    a, b, c = np.sin(motion.angles.T)
    return _kinetic(motion) + GRAVITY / 2 * (3 * CRANK * a + COUPLER * b + ROCKER * c)


def _kinetic(motion: Motion) -> Array:
    a, b, _ = motion.angles.T
    u, v, w = motion.velocities.T
    return (4 * (CRANK * u) ** 2 + (COUPLER * v) ** 2 + (ROCKER * w) ** 2) / 6 + CRANK * COUPLER / 2 * u * v * np.cos(
        a - b
    )


def four_bar_closure_error(motion: Motion) -> Array:
    """From the coupler's far end to the rocker's (m)."""
    lengths = np.array([CRANK, COUPLER, -ROCKER])
    return np.hypot(np.cos(motion.angles) @ lengths - GROUND, np.sin(motion.angles) @ lengths)


# --- N four-bars in a row: benchmark A02 of IFToMM ---


def row_angle(n: int, velocity: float, t: Array) -> Array:
    """How far the posts have fallen clockwise from upright, where they had this velocity; exact, by Jacobi's amplitude.

    All posts stay parallel and no bar turns: (th')^2 = velocity^2 + 4 a sin(th/2)^2, and psi = (th - pi)/2 is the
    amplitude of s (t - t_half) at the parameter a/s^2, with s^2 = velocity^2/4 + a.
    """
    a = GRAVITY * ((n + 1) / 2 + n) / ((n + 1) / 3 + n)
    s = sqrt(velocity**2 / 4 + a)
    quarter = float(ellipkm1(velocity**2 / 4 / s**2))
    u = s * np.asarray(t, dtype=float) - quarter
    turns = np.round(u / (2 * quarter))
    psi = ellipj(u - 2 * quarter * turns, a / s**2)[3] + np.pi * turns
    return 2 * psi + np.pi


def row_error(n: int, velocity: float, motion: Motion) -> float:
    """The largest of any post at any sample (rad); nan where the motion is not finite."""
    exact = -row_angle(n, velocity, motion.t)
    return float(np.abs(motion.angles[:, : n + 1] - exact[:, None]).max())


def row_closure_error(n: int, motion: Motion) -> float:
    """The largest of any loop at any sample (m)."""
    posts, bars = motion.angles[:, : n + 1], motion.angles[:, n + 1 :]
    x, y = -np.sin(posts), np.cos(posts)
    return float(np.hypot(x[:, :-1] + np.cos(bars) - 1 - x[:, 1:], y[:, :-1] + np.sin(bars) - y[:, 1:]).max())


def branch_kept(n: int, motion: Motion) -> bool:
    """Whether the posts stayed parallel (0.1 rad) at every sample: the other branches fold."""
    posts = motion.angles[:, : n + 1]
    return bool(np.isfinite(posts).all() and np.abs(posts - posts[:, :1]).max() < 0.1)
