"""Closing the loops of one configuration: the nearest one that satisfies all constraints, in scaled rows and columns.

Levenberg-Marquardt steps along the velocities of the tree (so that quaternions stay unit), then Newton steps along the
directions that are stronger than the cut-off (scaled_constraints.py), until round-off. What is closed already does
not move. What redundant constraints leave open within their tolerance is not chased. docs/theory/closure.md, eq. (K5).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from momentree.assembly import closing_rules as rules
from momentree.assembly.closing_rules import CLOSED, CREEPING, EPS, EXACT, STRICT
from momentree.assembly.configuration import Array, Configuration
from momentree.assembly.configuration_space import difference, integrate
from momentree.assembly.named_values import Entry
from momentree.assembly.scaled_constraints import CUT_OFF, ScaledConstraints, Scales, constraint_tolerances
from momentree.errors import ExpressionError
from momentree.structure.mechanism import Mechanism

HALVINGS = 30  # of a step whose end lies where a constraint has no value, as beyond the end of a table


class ScaledResidual(NamedTuple):
    """How far a configuration is from closed.

    | field          | meaning                                                          |
    |----------------|------------------------------------------------------------------|
    | at             | the configuration                                                |
    | closure_errors | scaled, one for each constraint                                  |
    | rows           | the constraint Jacobian there, of the velocities that may change |
    | exact          | round-off of the closure errors of a closed configuration        |
    """

    at: Configuration
    closure_errors: Array
    rows: ScaledConstraints
    exact: Array

    @property
    def size(self) -> float:
        return float(np.linalg.norm(self.closure_errors))

    @property
    def exact_size(self) -> float:
        return float(np.linalg.norm(self.exact))

    @property
    def closed_exactly(self) -> bool:
        return bool((np.abs(self.closure_errors) <= self.exact).all())


class Closed(NamedTuple):
    """Where a search ended.

    | field  | meaning                                                                |
    |--------|------------------------------------------------------------------------|
    | at     | the configuration                                                      |
    | misfit | its largest closure error by the tolerance: closed up to 1             |
    | exact  | whether it is closed to round-off                                      |
    """

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
        self.moving = np.array(sorted({*range(mechanism.nv)}.difference(held)), dtype=int)
        self.scales = Scales(mechanism)
        others = sum(c.holonomic for c in mechanism.constraints) + len(wanted)
        self.tolerances = np.concatenate([constraint_tolerances(mechanism), np.full(others, CLOSED)])

    def holding(self, entries: Sequence[Entry]) -> Closing:
        """The same with more coordinates held or wanted."""
        held = set(range(self.mechanism.nv)).difference(self.moving.tolist())
        held |= {i for entry in entries for i in entry.held}
        return Closing(self.mechanism, self.t, held, [*self.wanted, *(entry for entry in entries if not entry.held)])

    def residual(self, q: Array) -> ScaledResidual:
        """Closure errors and constraint Jacobian, with a row more for each coordinate that is wanted."""
        at = Configuration(self.mechanism, q, t=self.t)
        misses, slopes = [], []
        for entry in self.wanted:
            miss = at.coordinates_of(entry.joint)[entry.index] - entry.value
            misses.append(math.remainder(miss, 2 * math.pi) if entry.angle else miss)
            slopes.append((at.coordinate_slopes(entry.joint)[entry.index], entry.unit))
        rows = self.scales.scaled(at, more=slopes)
        closure_errors = rows.scaled(np.concatenate([at.closure_errors(), misses]))
        return ScaledResidual(at, closure_errors, rows.among(self.moving), self._exact(at, len(closure_errors)))

    def _exact(self, at: Configuration, count: int) -> Array:
        """What round-off leaves of closure errors."""
        exact: list[float] = []
        for joint, size in zip(at.joints, self.mechanism.loop_sizes, strict=True):
            slides = sum(math.hypot(*at.bodies[number].X.joint.offset) for number in joint.path)
            exact += [rules.round_off(len(joint.path), slides, size)] * len(joint.loop.position_rows)
        return np.concatenate([exact, np.full(count - len(exact), 4 * EPS)])

    def misfit(self, q: Array) -> float:
        """The largest closure error by its tolerance: closed up to 1; infinite where a constraint has no value."""
        try:
            return self._misfit(self.residual(q))
        except ExpressionError:
            return math.inf

    def _misfit(self, at: ScaledResidual) -> float:
        return float((np.abs(at.closure_errors) / self.tolerances).max(initial=0.0))

    # --- the steps ---

    def close(self, q: Array) -> Closed:
        """The configuration that steps downhill lead to."""
        here = self.residual(q)
        if here.closed_exactly:
            return self._closed(here)
        return self._strictly(self._polished(self._downhill(here), CUT_OFF))

    def _downhill(self, here: ScaledResidual) -> ScaledResidual:
        """Levenberg-Marquardt steps until all closure errors are within tolerance, or no step makes them smaller."""
        damping, sizes = rules.FIRST_DAMPING, [here.size]
        for _ in range(rules.DOWNHILL_STEPS):
            if self._misfit(here) <= 1 or rules.creeps(sizes[-1], sizes[-CREEPING:][0], len(sizes)):
                break
            step = here.rows.damped(here.closure_errors, rules.regularization(damping, here.size))
            there = self._stepped(here, step)
            smaller, worthwhile = rules.is_smaller(there.size, here.size), rules.is_worthwhile(there.size, here.size)
            if not smaller and damping > rules.LARGEST_DAMPING:
                break
            damping = float(rules.next_damping(damping, smaller))
            if smaller:
                here = there
                sizes.append(here.size)
                if not worthwhile:
                    break
        return here

    def _polished(self, here: ScaledResidual, cut: float) -> ScaledResidual:
        """Newton steps for as long as the closure errors shrink."""
        for _ in range(rules.NEWTON_STEPS):
            if rules.is_polished(here.size, here.exact_size):
                break
            step = here.rows.shortest(here.closure_errors, cut)
            if self._length(step) > rules.NEAR:  # not near a solution: it would leave the branch
                break
            there = self._stepped(here, step)
            if not there.size < here.size:
                break
            here = there
        return here

    def _strictly(self, here: ScaledResidual) -> Closed:
        """Near a toggle weak directions close the loop too: if they do, to round-off, and not far from here.

        There the distance is the root of the closure error. Where constraints are redundant within their tolerance
        it is closure error by tolerance: these steps would move along the allowed motion without closing it.
        """
        if not here.closed_exactly and here.rows.dense:
            there = self._polished(here, STRICT)
            distance = self._length(difference(self.mechanism, here.at.q, there.at.q)[self.moving])
            if rules.is_strictly_closed(there.size, there.exact_size, distance, here.size):
                here = there
        return self._closed(here)

    def _closed(self, here: ScaledResidual) -> Closed:
        return Closed(here.at, self._misfit(here), bool((np.abs(here.closure_errors) <= EXACT * here.exact).all()))

    def _stepped(self, here: ScaledResidual, step: Array) -> ScaledResidual:
        """A step against the direction in which it opens; shorter where a constraint has no value at its end."""
        whole = np.zeros(self.mechanism.nv)
        whole[self.moving] = -step * rules.shortening(self._length(step))
        for _ in range(HALVINGS):
            try:
                return self.residual(integrate(self.mechanism, here.at.q, whole))
            except ExpressionError:
                whole /= 2
        return here

    def _length(self, step: Array) -> float:
        return float(np.abs(step / self.scales.columns[self.moving]).max(initial=0.0))
