"""Closing the loops of many configurations at once: the search of closing_search.py, for all rows of a batch together.

Closure errors and constraint Jacobians come from machine code. Each row has a damping of its own and stops by itself,
so that it takes the same steps as alone: both follow closing_rules.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.assembly import closing_rules as rules
from momentree.assembly.closing_rules import CREEPING, EXACT, STRICT
from momentree.assembly.configuration import Array
from momentree.assembly.scaled_constraints import CUT_OFF, column_scales, constraint_scales, constraint_tolerances
from momentree.compile.execute.kernel import compiled_once
from momentree.compile.trace.right_hand_sides import kernel_of_configuration
from momentree.equations.evaluation import Evaluation
from momentree.equations.loops.constraint_jacobian import constraint_rows
from momentree.spatial import Scalar
from momentree.structure.mechanism import Mechanism, TreeBody

if TYPE_CHECKING:
    from momentree.system import System

Indices = NDArray[np.intp]  # of rows of a batch
Mask = NDArray[np.bool_]


class Residuals(NamedTuple):
    """Rows of a batch at one configuration each, scaled as in assembly/scaled_constraints.py.

    | field | shape    | meaning                                                       |
    |-------|----------|---------------------------------------------------------------|
    | g     | k, r     | closure errors                                                |
    | drift | k, r     | velocities that prescribed motion alone causes                |
    | exact | k, r     | round-off of the closure errors of a closed configuration     |
    | J     | k, r, nv | constraint Jacobians                                          |
    """

    g: Array
    drift: Array
    exact: Array
    J: Array

    @property
    def size(self) -> Array:
        return np.asarray(np.linalg.norm(self.g, axis=1))

    @property
    def exact_size(self) -> Array:
        return np.asarray(np.linalg.norm(self.exact, axis=1))

    @property
    def closed_exactly(self) -> Mask:
        return np.asarray((np.abs(self.g) <= self.exact).all(axis=1))

    def of(self, rows: Indices | Mask) -> Residuals:
        """Some of the rows."""
        return Residuals(*(part[rows] for part in self))

    def put(self, rows: Indices, other: Residuals) -> None:
        """Replace some rows."""
        for part, new in zip(self, other, strict=True):
            part[rows] = new


class ClosedBatch(NamedTuple):
    """Where searches ended: `Closed` (closing_search.py) of each row."""

    q: Array
    misfit: Array
    exact: Mask


class BatchOfRows:
    """The mechanism of a system with as many sets of values of its free parameters as there are rows (k, n)."""

    def __init__(self, system: System, parameters: Array, t: float):
        self.system, self.parameters, self.t, self.count = system, parameters, t, len(parameters)
        self.mechanism = system._numeric

    @cached_property
    def batched(self) -> Mechanism:
        """The mechanism whose numbers are columns, one entry for each row."""
        if not self.system.mechanism.free:
            return self.mechanism
        return self.system.mechanism.in_batches(self.system._free.names_of(self.parameters))

    @cached_property
    def constraint_scales(self) -> Array:
        """k x r."""
        return self._by_row(constraint_scales(self.batched))

    @cached_property
    def velocity_scales(self) -> Array:
        """k x rows, those on velocities only included."""
        return self._by_row(constraint_scales(self.batched, on_velocities=True))

    @cached_property
    def columns(self) -> Array:
        """k x nv: how far each velocity may carry."""
        return self._by_row(column_scales(self.batched))

    @cached_property
    def tolerances(self) -> Array:
        """k x r."""
        return self._by_row(constraint_tolerances(self.batched))

    @cached_property
    def sizes(self) -> Array:
        """k: of the mechanism (m)."""
        return np.array(np.broadcast_to(self.batched.size, (self.count,)), dtype=float)

    def _by_row(self, columns: Array) -> Array:
        """k x n from n, or n x k."""
        return np.ascontiguousarray(np.broadcast_to(columns.T, (self.count, len(columns))))

    @property
    def bodies(self) -> list[TreeBody]:
        """Those whose joints move freely."""
        return [body for body in self.mechanism.bodies if body.laws is None]

    # --- closure errors and Jacobians ---

    def at(self, q: Array, rows: Indices) -> Residuals:
        """Some rows at configurations q."""
        nv = self.mechanism.nv
        table = self._measured(q, rows).reshape(len(rows), sum(self._rows_of_loops), nv + 3)
        scales, count, sizes = self.constraint_scales[rows], self.joints_around, self.loop_sizes_of_rows[rows]
        exact = rules.round_off(count, table[..., 2], sizes)
        J = table[..., 3:] * self.columns[rows][:, None, :] / scales[..., None]
        return Residuals(table[..., 0] / scales, table[..., 1] / scales, exact, J)

    def closure_errors(self, q: Array, rows: Indices) -> Array:
        """k x r: the closure errors of some rows (m, rad)."""
        table = self._measured(q, rows).reshape(len(rows), sum(self._rows_of_loops), self.mechanism.nv + 3)
        return np.ascontiguousarray(table[..., 0])

    @cached_property
    def joints_around(self) -> Array:
        """r: of each row, how many joints of the tree are in its loop."""
        around = [sum(map(len, self.mechanism.paths(loop)[:2])) for loop in self.mechanism.loops]
        return np.repeat(np.array(around, dtype=float), self._rows_of_loops)

    @cached_property
    def loop_sizes_of_rows(self) -> Array:
        """k x r: of each row, the size of its loop (m)."""
        sizes = [np.broadcast_to(size, (self.count,)) for size in self.batched.loop_sizes]
        return np.repeat(np.array(sizes, dtype=float).reshape(-1, self.count).T, self._rows_of_loops, axis=1)

    @cached_property
    def _rows_of_loops(self) -> list[int]:
        return [len(loop.position_rows) for loop in self.mechanism.loops]

    @cached_property
    def _measured(self) -> Callable[[Array, Indices], Array]:
        """Rows of `constraint_rows` one after the other, by machine code or, where that would be long, by NumPy."""
        system = self.system
        if not self.mechanism.loops:
            return lambda q, rows: np.zeros((len(q), 0))
        kernel = compiled_once(system, "constraint rows", lambda: kernel_of_configuration(system.mechanism, flat_rows))
        if kernel is None:
            return self._by_numpy
        t = np.array([self.t])

        def measured(q: Array, rows: Indices) -> Array:
            constants = [np.ascontiguousarray(self.parameters[rows])] if system.mechanism.free else []
            return np.asarray(kernel([np.ascontiguousarray(q), t, *constants]))

        return measured

    def _by_numpy(self, q: Array, rows: Indices) -> Array:
        names = self.system._free.names_of(self.parameters[rows])
        numbers = flat_rows(Evaluation(self.system.mechanism.evaluated(names), [*q.T], self.t, names))
        return np.stack([np.broadcast_to(np.asarray(x, dtype=float), len(q)) for x in numbers], axis=1)

    # --- steps of the coordinates along velocities ---

    def integrated(self, q: Array, step: Array) -> Array:
        """The coordinates after steps."""
        moved = q.copy()
        for body in self.bodies:
            new = body.joint.type.integrate(tuple(q[:, body.q].T), tuple(step[:, body.v].T))
            for i, column in enumerate(new):
                moved[:, body.q.start + i] = column
        return moved

    def difference(self, q: Array, later: Array) -> Array:
        """The steps that `integrated` needs from q to later."""
        step = np.zeros((len(q), self.mechanism.nv))
        for body in self.bodies:
            steps = body.joint.type.difference(tuple(q[:, body.q].T), tuple(later[:, body.q].T))
            for i, column in enumerate(steps):
                step[:, body.v.start + i] = column
        return step


class BatchClosing:
    """What must close, with some velocities of the tree held: `Closing` for a batch."""

    def __init__(self, batch: BatchOfRows, held: Collection[int]):
        self.batch = batch
        self.moving = np.array(sorted({*range(batch.mechanism.nv)}.difference(held)), dtype=int)

    def close(self, q: Array, rows: Indices) -> ClosedBatch:
        """The configurations that steps downhill lead to; those closed exactly do not move."""
        q, at = q.copy(), self._at(q, rows)
        open_ = np.flatnonzero(~at.closed_exactly)
        if len(open_):
            near, there = self._downhill(q[open_], at.of(open_), rows[open_])
            near, there = self._polished(near, there, rows[open_], CUT_OFF)
            q[open_], there = self._strictly(near, there, rows[open_])
            at.put(open_, there)
        return ClosedBatch(q, self._misfits(at, rows), np.asarray((np.abs(at.g) <= EXACT * at.exact).all(axis=1)))

    def _downhill(self, q: Array, at: Residuals, rows: Indices) -> tuple[Array, Residuals]:
        """Levenberg-Marquardt steps until all closure errors are within tolerance, or no step makes them smaller."""
        damping, size = np.full(len(rows), rules.FIRST_DAMPING), at.size
        earlier, accepted = np.repeat(size[:, None], CREEPING, axis=1), np.ones(len(rows), dtype=int)
        active = np.flatnonzero(self._misfits(at, rows) > 1)
        for _ in range(rules.DOWNHILL_STEPS):
            if not len(active):
                break
            before, tried = size[active], damping[active]
            trial, there = self._tried(q, at, rows, active, rules.regularization(tried, before))
            new = there.size
            smaller, worthwhile = rules.is_smaller(new, before), rules.is_worthwhile(new, before)
            damping[active] = rules.next_damping(tried, smaller)
            moved = active[smaller]
            q[moved], size[moved] = trial[smaller], new[smaller]
            at.put(moved, there.of(smaller))
            earlier[moved] = np.concatenate([earlier[moved, 1:], new[smaller, None]], axis=1)
            accepted[moved] += 1
            creeps = rules.creeps(size[active], earlier[active, 0], accepted[active])
            arrived = smaller & (self._misfits(there, rows[active]) <= 1)
            active = active[np.where(smaller, worthwhile, tried <= rules.LARGEST_DAMPING) & ~creeps & ~arrived]
        return q, at

    def misfits(self, q: Array, rows: Indices) -> Array:
        """The largest closure error of each by its tolerance: closed up to 1."""
        return self._misfits(self._at(q, rows), rows)

    def _misfits(self, at: Residuals, rows: Indices) -> Array:
        return np.asarray((np.abs(at.g) / self.batch.tolerances[rows]).max(axis=1, initial=0.0))

    def _at(self, q: Array, rows: Indices) -> Residuals:
        residuals = self.batch.at(q, rows)
        return residuals._replace(J=residuals.J[:, :, self.moving])

    def _tried(
        self, q: Array, at: Residuals, rows: Indices, active: Indices, damping: Array
    ) -> tuple[Array, Residuals]:
        """A damped step of the rows that are active: C J' (J J' + damping E)^-1 g, on the smaller side."""
        J, g = at.J[active], at.g[active, :, None]
        Jt, (m, n) = np.swapaxes(J, 1, 2), J.shape[1:]
        unit = np.eye(min(m, n)) * damping[:, None, None]
        step = Jt @ np.linalg.solve(J @ Jt + unit, g) if m <= n else np.linalg.solve(Jt @ J + unit, Jt @ g)
        trial = self._moved(q[active], np.asarray(-step[..., 0]), rows[active])
        return trial, self._at(trial, rows[active])

    def _polished(self, q: Array, at: Residuals, rows: Indices, cut: float) -> tuple[Array, Residuals]:
        """Newton steps for as long as the closure errors shrink."""
        active = np.flatnonzero(~rules.is_polished(at.size, at.exact_size))
        for _ in range(rules.NEWTON_STEPS):
            if not len(active):
                break
            step = shortest(at.J[active], at.g[active], cut)
            near = np.abs(step).max(axis=1, initial=0.0) <= rules.NEAR  # otherwise it would leave the branch
            active, step = active[near], step[near]
            trial = self._moved(q[active], -step, rows[active])
            there = self._at(trial, rows[active])
            better = there.size < np.linalg.norm(at.g[active], axis=1)
            active = active[better]
            q[active] = trial[better]
            at.put(active, there.of(better))
            active = active[~rules.is_polished(there.size, there.exact_size)[better]]
        return q, at

    def _strictly(self, q: Array, at: Residuals, rows: Indices) -> tuple[Array, Residuals]:
        """Near a toggle weak directions close the loop too: if they do, to round-off, and not far from here."""
        open_ = np.flatnonzero(~at.closed_exactly)
        if len(open_):
            copied = Residuals(*(x.copy() for x in at.of(open_)))
            near, there = self._polished(q[open_].copy(), copied, rows[open_], STRICT)
            step = self.batch.difference(q[open_], near)[:, self.moving] / self._columns(rows[open_])
            distance = np.abs(step).max(axis=1, initial=0.0)
            better = rules.is_strictly_closed(there.size, there.exact_size, distance, at.size[open_])
            q[open_[better]] = near[better]
            at.put(open_[better], there.of(better))
        return q, at

    def _columns(self, rows: Indices) -> Array:
        return self.batch.columns[rows][:, self.moving]

    def _moved(self, q: Array, step: Array, rows: Indices) -> Array:
        """After scaled steps, none longer than a branch is wide."""
        length = np.abs(step).max(axis=1, initial=0.0)
        whole = np.zeros((len(q), self.batch.mechanism.nv))
        whole[:, self.moving] = step * rules.shortening(length)[:, None] * self._columns(rows)
        return self.batch.integrated(q, whole)


def finite(J: Array) -> Mask:
    """Rows that hold neither NaN nor infinity."""
    return np.asarray(np.isfinite(J).all(axis=(1, 2)))


def shortest(J: Array, g: Array, cut: float) -> Array:
    """The shortest x with J x = g of each row, as far as directions stronger than the cut-off allow."""
    if not J.size:
        return np.zeros((len(J), J.shape[2]))
    sound = finite(J)
    U, sizes, V = np.linalg.svd(np.where(sound[:, None, None], J, 0.0), full_matrices=False)
    inverse = np.where(sizes > cut, 1 / np.where(sizes > cut, sizes, 1.0), 0.0)
    x = np.swapaxes(V, 1, 2) @ (inverse[..., None] * (np.swapaxes(U, 1, 2) @ g[..., None]))
    return np.asarray(np.where(sound[:, None], x[..., 0], np.nan))


def flat_rows(at: Evaluation) -> list[Scalar]:
    """Closure error, drift, slides and Jacobian of each constraint."""
    rows: list[Any] = constraint_rows(at)
    return [x for row in rows for x in (row.error, row.drift, row.slid, *row.J)]
