"""Rigid bodies that move in a plane, on their own: absolute angles, hinges by multipliers, one dense matrix.

An independent program to compare examples with: it shares nothing with the library. Points are complex, x + i y; bodies
are described about their centres of mass, and the motion is (position, angle) of each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

Array = np.ndarray


@dataclass
class Plane:
    """Bodies with masses and moments of inertia, n each; where they are and how they move, n each.

    | field  | meaning                                                                                         |
    |--------|-------------------------------------------------------------------------------------------------|
    | hinges | (i, a, j, b): the point a of body i is the point b of body j, both from the centres of mass     |
    | locked | (i, j): bodies that turn together                                                               |
    | loads  | (r, angle, v, w) -> complex forces and moments, n each                                          |
    """

    mass: Array
    inertia: Array
    loads: Callable[..., tuple[Array, Array]]
    r: Array
    angle: Array
    hinges: list[tuple[int, complex, int, complex]] = field(default_factory=list)
    locked: list[tuple[int, int]] = field(default_factory=list)
    v: Array = field(init=False)
    w: Array = field(init=False)
    t: float = 0.0

    def __post_init__(self) -> None:
        self.v, self.w = 0 * self.r, 0 * self.angle

    def constraints(self, angle: Array, w: Array) -> tuple[Array, Array]:
        """J and -J' v of all hinges and locked pairs; velocities are x, y and angle of each body in turn."""
        n, rows, drift = len(self.mass), [], []
        for i, a, j, b in self.hinges:
            a, b = a * np.exp(1j * angle[i]), b * np.exp(1j * angle[j])
            for part in (np.real, np.imag):
                row = np.zeros((n, 3))
                row[i] += [part(1), part(1j), part(1j * a)]
                row[j] -= [part(1), part(1j), part(1j * b)]
                rows.append(row.ravel())
                drift.append(part(w[i] ** 2 * a - w[j] ** 2 * b))
        for i, j in self.locked:
            row = np.zeros((n, 3))
            row[i, 2], row[j, 2] = 1, -1
            rows.append(row.ravel())
            drift.append(0.0)
        return np.reshape(rows, (-1, 3 * n)), np.array(drift)

    def solve(self, J: Array, first: Array, second: Array) -> Array:
        """x of M x - J' lambda = first, J x = second."""
        M = np.diag(np.stack([self.mass, self.mass, self.inertia], axis=1).ravel())
        matrix = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
        return np.linalg.solve(matrix, np.concatenate([first, second]))[: 3 * len(self.mass)].reshape(-1, 3)

    def derivatives(self, t: float, state: Array) -> Array:
        r, angle, v, w = self.unpacked(state)
        force, moment = self.loads(r, angle, v, w)
        J, drift = self.constraints(angle, w)
        a = self.solve(J, np.stack([force.real, force.imag, moment], axis=1).ravel(), drift)
        return np.concatenate([v.real, v.imag, w, a[:, 0], a[:, 1], a[:, 2]])

    def unpacked(self, state: Array) -> tuple[Array, Array, Array, Array]:
        x, y, angle, vx, vy, w = state.reshape(6, -1)
        return x + 1j * y, angle, vx + 1j * vy, w

    def move(self, t_end: float, until: dict[str, Callable[..., float]]) -> str | None:
        """Integrate to t_end, or to the first zero crossing of a function of (r, angle): its name."""
        names = [*until]
        events: list[Any] = []
        for name in names:
            event: Any = lambda t, state, name=name: until[name](*self.unpacked(state)[:2])  # noqa: E731
            event.terminal = True
            events.append(event)
        state = np.concatenate([self.r.real, self.r.imag, self.angle, self.v.real, self.v.imag, self.w])
        found = solve_ivp(self.derivatives, (self.t, t_end), state, "DOP853", events=events, rtol=1e-11, atol=1e-12)
        self.t, state = found.t[-1], found.y[:, -1]
        self.r, self.angle, self.v, self.w = self.unpacked(state)
        crossed = [name for name, times in zip(names, found.t_events, strict=True) if len(times)]
        return crossed[0] if crossed else None

    def lock(self, i: int, j: int) -> float:
        """From now on two bodies turn together: an impact, and the kinetic energy that it costs."""
        before = self.kinetic
        self.locked.append((i, j))
        J, drift = self.constraints(self.angle, 0 * self.w)
        momentum = np.stack([self.mass * self.v.real, self.mass * self.v.imag, self.inertia * self.w], axis=1)
        after = self.solve(J, momentum.ravel(), drift)
        self.v, self.w = after[:, 0] + 1j * after[:, 1], after[:, 2]
        return before - self.kinetic

    @property
    def kinetic(self) -> float:
        return float(self.mass @ np.abs(self.v) ** 2 + self.inertia @ self.w**2) / 2
