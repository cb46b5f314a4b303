"""Constraints of every kind in plain NumPy: the dense equations of the first kind of all bodies, with their rows.

The campaign's oracle gives every joint its rows on the bodies. Here further conditions are added: couplings and other
expressions, rolling, skating, distances, surfaces. Each is a function of where the bodies are and how they move, and
its rows and their derivatives are differences of that function: no slope is written down. No code of the library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from campaign.geometry import Array, cross, turn, unit
from campaign.laws import names_in, value
from campaign.oracle import Motion, Oracle
from campaign.reading import Place, Plain

STEP = 0.01  # of differences: of the eighth order, so that round-off and truncation are about 1e-13
FIRST = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
SECOND = {0: -205 / 72, 1: 8 / 5, 2: -1 / 5, 3: 8 / 315, 4: -1 / 560}


class Seen(NamedTuple):
    """A frame M as seen from a frame F, in axes of F: position, rotation, velocity of the origin, angular velocity."""

    p: Array
    R: Array
    v: Array
    w: Array


def seen(at: Oracle, first: Place, second: Place) -> Seen:
    m, R_F = at.motion, at.motion.R[first.body] @ first.R
    O_F = m.r[first.body] + m.R[first.body] @ first.p
    O_M = m.r[second.body] + m.R[second.body] @ second.p
    v_M = m.v[second.body] + cross(m.w[second.body], O_M - m.r[second.body])
    v_F = m.v[first.body] + cross(m.w[first.body], O_M - m.r[first.body])
    R = R_F.T @ m.R[second.body] @ second.R
    return Seen(R_F.T @ (O_M - O_F), R, R_F.T @ (v_M - v_F), R_F.T @ (m.w[second.body] - m.w[first.body]))


@dataclass(frozen=True)
class Expression:
    """A text kept at zero, of joints, named frames and time."""

    name: str
    text: str
    holonomic: bool
    frames: Mapping[str, Place] = field(default_factory=dict)

    def value(self, at: Oracle) -> Array:
        return np.array([value(self.text, {**at.plain.parameters, "t": at.t, **self._names(at)})])

    velocity = value  # of one that names velocities

    def bodies(self, plain: Plain) -> set[int]:
        used = self._used
        ends = [end for joint in plain.joints if joint.name in used for end in (joint.first, joint.second)]
        return {end.body for end in (*ends, *(place for name, place in self.frames.items() if name in used))}

    @property
    def _used(self) -> set[str]:
        return {name.rstrip("'").partition(".")[0] for name in names_in(self.text)}

    def _names(self, at: Oracle) -> dict[str, float]:
        used = self._used
        found: dict[str, float] = {}
        for joint in at.plain.joints:
            if joint.name in used:
                jm = at._joint(joint)
                found |= dict(zip((*joint.names, *joint.velocities), (*jm.q, *jm.u), strict=True))
        for name in used & self.frames.keys():
            tip = seen(at, Place(0, np.zeros(3), np.eye(3)), self.frames[name])
            for i, axis in enumerate("xyz"):
                found |= {f"{name}.{axis}": tip.p[i], f"{name}.{axis}'": tip.v[i], f"{name}.w{axis}": tip.w[i]}
        return found


class Pair:
    """A condition on two frames."""

    first: Place
    second: Place

    def bodies(self, plain: Plain) -> set[int]:
        return {self.first.body, self.second.body}


@dataclass(frozen=True)
class Rolls(Pair):
    """The point of a ball or disc that touches a plane z = 0, or a ball, is at rest on it."""

    name: str
    first: Place
    second: Place
    radius: float
    disc: Array | None = None
    ball: float | None = None
    holonomic = False

    def contact(self, s: Seen) -> Array:
        """From the centre to the point in contact."""
        n = np.array([0.0, 0.0, 1.0]) if self.ball is None else s.p
        if self.disc is not None:
            a = s.R @ self.disc
            n = n - a * (n @ a)
        return -unit(n) * self.radius * (1 if self.ball is None or self.ball > 0 else -1)

    def gap(self, at: Oracle) -> float:
        s = seen(at, self.first, self.second)
        touched = s.p + self.contact(s)
        return float(touched[2] if self.ball is None else np.linalg.norm(touched) - abs(self.ball))

    def velocity(self, at: Oracle) -> Array:
        s = seen(at, self.first, self.second)
        return s.v + cross(s.w, self.contact(s))


@dataclass(frozen=True)
class Skates(Pair):
    """No velocity along an axis of the second frame."""

    name: str
    first: Place
    second: Place
    across: Array
    holonomic = False

    def velocity(self, at: Oracle) -> Array:
        s = seen(at, self.first, self.second)
        return np.array([(s.R @ self.across) @ s.v])


@dataclass(frozen=True)
class Apart(Pair):
    """Two origins at a distance."""

    name: str
    first: Place
    second: Place
    length: float
    holonomic = True

    def value(self, at: Oracle) -> Array:
        return np.array([np.linalg.norm(seen(at, self.first, self.second).p) - self.length])


@dataclass(frozen=True)
class Guided(Pair):
    """An origin on surfaces, texts of x, y, z and t kept at zero."""

    name: str
    first: Place
    second: Place
    texts: tuple[str, ...]
    holonomic = True

    def value(self, at: Oracle) -> Array:
        x, y, z = seen(at, self.first, self.second).p
        names = {**at.plain.parameters, "x": x, "y": y, "z": z, "t": at.t}
        return np.array([value(text, names) for text in self.texts])


class ConstrainedOracle(Oracle):
    """The oracle with further conditions; their rows come after those of the joints, each of unit length."""

    least_demand = 1e-4  # at rest differences leave 1e-12
    step = STEP

    def __init__(self, plain: Plain, t: float, conditions: list[Any], length: float | None = None):
        super().__init__(plain, t, length)
        self.conditions = conditions

    def moving(self, motion: Motion, coordinates: Mapping[str, Any] | None = None) -> Oracle:
        self.__dict__.pop("further", None)
        return super().moving(motion, coordinates)

    @cached_property
    def G(self) -> tuple[Array, list[slice], list[Array]]:
        rows, slices, Ks = Oracle.G.func(self)  # type: ignore[attr-defined]
        return np.concatenate([rows, self.further[0]]), slices, Ks

    def _gamma(self) -> Array:
        return np.concatenate([super()._gamma(), self.further[1]])

    def _velocity_side(self) -> Array:
        sizes = self.further[2]
        return np.concatenate([super()._velocity_side(), -self.condition_velocities(0 * self.body_velocities) / sizes])

    @cached_property
    def further(self) -> tuple[Array, Array, Array]:
        """The rows of the conditions, what they demand of accelerations, and the lengths of the rows as they were."""
        rows, demands = [np.zeros((0, 6 * len(self.plain.bodies)))], [np.zeros(0)]
        for condition in self.conditions:
            row, demand = self._rows(condition)
            rows.append(row)
            demands.append(-demand)
        sizes = np.linalg.norm(np.concatenate(rows), axis=1)
        sizes = np.where(sizes > 1e-9, sizes, 1.0)
        return np.concatenate(rows) / sizes[:, None], np.concatenate(demands) / sizes, sizes

    def _rows(self, condition: Any) -> tuple[Array, Array]:
        x, units = self.body_velocities, np.eye(6 * len(self.plain.bodies))
        step = self.step / max(1.0, np.abs(x).max())
        moved = [6 * body - 6 + i for body in sorted(condition.bodies(self.plain) - {0}) for i in range(6)]
        if condition.holonomic:
            parts = [
                _difference(lambda h, e=e: condition.value(self.at(h, e, still=True)), self.step) for e in units[moved]
            ]
            demand = _second_difference(lambda h: condition.value(self.at(h, x)), step)
        else:
            here = condition.velocity(self)
            parts = [condition.velocity(self.at(0.0, x + e)) - here for e in units[moved]]
            demand = _difference(lambda h: condition.velocity(self.at(h, x)), step)
        rows = np.zeros((len(demand), len(units)))
        rows[:, moved] = np.array(parts).T.reshape(len(demand), -1)
        return rows, demand

    @property
    def body_velocities(self) -> Array:
        """Of all bodies: of the centre by L, and angular."""
        m, offsets = self.motion, self._com_offsets()
        parts = [[*(m.v[i + 1] + cross(m.w[i + 1], d)) / self.L, *m.w[i + 1]] for i, d in enumerate(offsets)]
        return np.array(parts).reshape(-1)

    def at(self, h: float, x: Array, still: bool = False) -> Oracle:
        """After a time h at constant velocities x of the bodies; the ground moves on, unless it is `still`."""
        later = Oracle(self.plain, self.t if still else self.t + h, self.L)
        m, offsets, g = self.motion, self._com_offsets(), later.ground
        R, r, w, v = (part.copy() for part in m)
        R[0], r[0], w[0], v[0] = g.R, g.r, g.w, g.v
        for i, (part, offset) in enumerate(zip(x.reshape(-1, 6), offsets, strict=True), 1):
            spin = float(np.linalg.norm(part[3:]))
            R[i] = turn(part[3:] / spin, spin * h) @ m.R[i] if spin else m.R[i]
            arm = R[i] @ self.plain.bodies[i - 1].com
            r[i] = m.r[i] + offset + part[:3] * self.L * h - arm
            w[i], v[i] = part[3:], part[:3] * self.L - cross(part[3:], arm)
        return later.moving(Motion(R, r, w, v), self.coordinates)

    def condition_errors(self) -> Array:
        """How far each condition on positions is from being met."""
        errors = [c.value(self) if c.holonomic else [getattr(c, "gap", lambda at: 0.0)(self)] for c in self.conditions]
        return np.concatenate([np.zeros(0), *errors])

    def condition_velocities(self, x: Array | None = None) -> Array:
        """The velocity of each condition, where bodies move as they do, or with the velocities x."""
        x, found = self.body_velocities if x is None else x, [np.zeros(0)]
        for condition in self.conditions:
            if condition.holonomic:
                step = self.step / max(1.0, np.abs(x).max())
                found.append(_difference(lambda h, c=condition: c.value(self.at(h, x)), step))
            else:
                found.append(condition.velocity(self.at(0.0, x)))
        return np.concatenate(found)


def _difference(f: Callable[[float], Array], step: float) -> Array:
    total = sum(weight * (f(k * step) - f(-k * step)) for k, weight in FIRST.items())
    return np.asarray(total) / step


def _second_difference(f: Callable[[float], Array], step: float) -> Array:
    total = sum(weight * (f(k * step) + f(-k * step)) * (0.5 if k == 0 else 1) for k, weight in SECOND.items())
    return np.asarray(total) / step**2
