"""From a configuration to the nearest one that closes every loop: steps downhill, in scaled rows and columns.

Levenberg-Marquardt steps along the velocities of the tree (so that quaternions stay unit), then Newton steps along the
directions that are stronger than the cut-off (scaled_constraints.py), until round-off. What is closed already does
not move. What redundant constraints leave open within their tolerance is not chased. docs/theory/closure.md, eq. (5).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from momentree.assembly.configuration import Array, Configuration
from momentree.assembly.named_values import Entry
from momentree.assembly.scaled_constraints import CUT_OFF, ScaledConstraints, Scales, constraint_tolerances
from momentree.structure.mechanism import Mechanism

EPS = float(np.finfo(float).eps)
CLOSED = 1e-11  # scaled: constraints and given coordinates that are not simply held must fit so well
CREEPING = 12  # steps that together take off less than 1e-5 of the closure errors lead nowhere
STRICT = 1e-10  # cut-off of the steps that may close a loop near a toggle
STRICT_WAY = 10.0  # such steps may go so many times the root of the closure error
EXACT = 100.0  # times what round-off leaves of closure errors: what is open by more is not closed exactly
LONGEST = 0.6  # rad, or of the size: a longer step would leave the branch


class Open(NamedTuple):
    """How far a configuration is from closed.

    | field | meaning                                                              |
    |-------|----------------------------------------------------------------------|
    | at    | the configuration                                                    |
    | closure errors  | scaled, one a row                                                    |
    | rows  | J there, of the velocities that may change                           |
    | exact | what round-off leaves of the closure errors of a closed configuration          |
    """

    at: Configuration
    closure_errors: Array
    rows: ScaledConstraints
    exact: Array

    @property
    def size(self) -> float:
        return float(np.linalg.norm(self.closure_errors))

    @property
    def closed_exactly(self) -> bool:
        return bool((np.abs(self.closure_errors) <= self.exact).all())


class Closed(NamedTuple):
    """Where a search ended: the configuration, its largest closure error by the tolerance (closed up to 1), and by round-off."""

    at: Configuration
    misfit: float
    exact: bool

    @property
    def q(self) -> Array:
        return self.at.q


class Closing:
    """What must close, with some velocities of the tree held and some coordinates wanted besides."""

    def __init__(self, mechanism: Mechanism, t: float, held: Collection[int] = (), wanted: Sequence[Entry] = ()):
        self.mechanism, self.t, self.wanted = mechanism, t, wanted
        self.moving = np.setdiff1d(np.arange(mechanism.nv), np.array(sorted(held), dtype=int))
        self.scales = Scales(mechanism)
        others = sum(c.holonomic for c in mechanism.constraints) + len(wanted)
        self.tolerances = np.concatenate([constraint_tolerances(mechanism), np.full(others, CLOSED)])

    def holding(self, entries: Sequence[Entry]) -> Closing:
        """The same with more coordinates held or wanted."""
        held = set(range(self.mechanism.nv)).difference(self.moving.tolist())
        held |= {i for entry in entries for i in entry.held}
        return Closing(self.mechanism, self.t, held, [*self.wanted, *(entry for entry in entries if not entry.held)])

    def residual(self, q: Array) -> Open:
        """Closure errors and J, with a row more for each coordinate that is wanted."""
        at = Configuration(self.mechanism, q, t=self.t)
        misses, slopes = [], []
        for entry in self.wanted:
            miss = at.coordinates_of(entry.joint)[entry.index] - entry.value
            misses.append(math.remainder(miss, 2 * math.pi) if entry.angle else miss)
            slopes.append((at.coordinate_slopes(entry.joint)[entry.index], entry.unit))
        rows = self.scales.scaled(at, more=slopes)
        closure_errors = rows.scaled(np.concatenate([at.closure_errors(), misses]))
        return Open(at, closure_errors, rows.among(self.moving), self._exact(at, len(closure_errors)))

    def _exact(self, at: Configuration, count: int) -> Array:
        """Some units in the last place of the lengths around each loop, slides included."""
        found = []
        for joint, size in zip(at.joints, self.mechanism.loop_sizes, strict=True):
            slides = sum(math.hypot(*at.bodies[number].X.joint.offset) for number in joint.path)
            found += [4 * EPS * (len(joint.path) + 1) * (1 + slides / size)] * len(joint.rows)
        return np.concatenate([found, np.full(count - len(found), 4 * EPS)])

    def misfit(self, q: Array) -> float:
        """The largest closure error by its tolerance: closed up to 1."""
        return self._misfit(self.residual(q))

    def _misfit(self, at: Open) -> float:
        return float((np.abs(at.closure_errors) / self.tolerances).max(initial=0.0))

    # --- the steps ---

    def close(self, q: Array) -> Closed:
        """The configuration that steps downhill lead to."""
        here = self.residual(q)
        if here.closed_exactly:
            return self._closed(here)
        return self._strictly(self._polished(self._downhill(here), CUT_OFF))

    def _downhill(self, here: Open) -> Open:
        """Levenberg-Marquardt steps until all closure errors are within tolerance, or no step makes them smaller."""
        damping, sizes = 1e-3, [here.size]
        for _ in range(200):
            if self._misfit(here) <= 1 or (sizes[-1] > (1 - 1e-5) * sizes[-CREEPING:][0] and len(sizes) > CREEPING):
                break
            there = self._stepped(here, here.rows.damped(here.closure_errors, damping * here.size**2 + CUT_OFF**2))
            if there.size**2 < here.size**2 * (1 - 1e-12):
                downhill = here.size**2 - there.size**2 > 1e-6 * here.size**2
                here, damping = there, max(damping / 5, 1e-12)
                sizes.append(here.size)
                if not downhill:
                    break
            elif damping > 1e8:
                break
            else:
                damping = max(damping * 8, 1e-9)
        return here

    def _polished(self, here: Open, cut: float) -> Open:
        """Newton steps for as long as the closure errors shrink."""
        for _ in range(16):
            if here.size <= 0.1 * float(np.linalg.norm(here.exact)):
                break
            step = here.rows.shortest(here.closure_errors, cut)
            if self._length(step) > 0.5:  # not near a solution: it would leave the branch
                break
            there = self._stepped(here, step)
            if not there.size < here.size:
                break
            here = there
        return here

    def _strictly(self, here: Open) -> Closed:
        """Near a toggle weak directions close the loop too: if they do, to round-off, and not far from here.

        There the distance is the root of the closure error. Where constraints are redundant within their tolerance it is closure error by
        tolerance: these steps would chase along the motion what they cannot close.
        """
        if not here.closed_exactly and here.rows.dense:
            there = self._polished(here, STRICT)
            way = self._length(difference(self.mechanism, here.at.q, there.at.q)[self.moving])
            if there.size <= 2 * float(np.linalg.norm(there.exact)) and way <= STRICT_WAY * math.sqrt(here.size):
                here = there
        return self._closed(here)

    def _closed(self, here: Open) -> Closed:
        return Closed(here.at, self._misfit(here), bool((np.abs(here.closure_errors) <= EXACT * here.exact).all()))

    def _stepped(self, here: Open, step: Array) -> Open:
        """A step backwards along what would open it."""
        whole = np.zeros(self.mechanism.nv)
        whole[self.moving] = -step * min(1.0, LONGEST / max(self._length(step), LONGEST))
        return self.residual(integrate(self.mechanism, here.at.q, whole))

    def _length(self, step: Array) -> float:
        return float(np.abs(step / self.scales.columns[self.moving]).max(initial=0.0))


def reference(mechanism: Mechanism) -> Array:
    """Every joint at its reference: the second frame on the first."""
    q = np.zeros(mechanism.nq)
    for body in mechanism.bodies:
        if body.laws is None:
            q[body.q] = body.joint.type.reference()
    return q


def integrate(mechanism: Mechanism, q: Array, step: Array) -> Array:
    """The coordinates after a step along the velocities of the tree."""
    moved = q.copy()
    for body in mechanism.bodies:
        if body.laws is None:
            moved[body.q] = body.joint.type.integrate(tuple(q[body.q]), tuple(step[body.v]))
    return moved


def difference(mechanism: Mechanism, q: Array, later: Array) -> Array:
    """The step that `integrate` needs from q to later."""
    step = np.zeros(mechanism.nv)
    for body in mechanism.bodies:
        if body.laws is None:
            step[body.v] = body.joint.type.difference(tuple(q[body.q]), tuple(later[body.q]))
    return step
