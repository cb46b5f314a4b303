"""Following a branch of assembly along a sweep: rows that jumped to another branch are closed again, from a neighbour.

A sweep is rows in an order: row k + 1 lies one step of the given values and parameters from row k, and in between both
change linearly. A passage from k to k + 1 is continuous where the chord between both rows agrees with the branch's
tangents at its ends. Where it does not, the branch is walked with steps of its own: the tangent predicts, closing
corrects, and the step is halved where both disagree. So a wide step is distinguished from the end of a branch.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np

from momentree.assembly.assembly_search import angular_velocities, without_turns
from momentree.assembly.batch_closing import BatchOfRows, Indices, Mask, finite
from momentree.assembly.configuration import Array
from momentree.assembly.named_values import Column
from momentree.assembly.samples import in_batches
from momentree.assembly.scaled_constraints import CUT_OFF, column_scales
from momentree.errors import listed

BEND = 0.1  # of its length: how far a chord may be from the tangents at its ends, and a step from its prediction
WIDE = 1.0  # rad: a step of a given angle on which other joints may turn by more than a half turn
PROBE = 2.0**-12  # of the passage between two rows: the step that measures a tangent
LEAST_STEP = 2.0**-10  # likewise, of a walk: a branch on which it must be smaller ends there
FOLD = 2.5  # at a dead center the branch goes twice as far as its tangent: so far from there the target may be
NEAR_FOLD = 16 * LEAST_STEP  # so near to a dead center walks end
WALKED = 4000  # steps of a walk, at most
SAME = 1e-6  # scaled: two configurations that are one
STILL = 1e-9  # scaled: nothing moves
STRIDE = 1 / 3  # of the range of a value: a longer step back and forth is not that of a sweep
CROSSED = 0.05  # how much weaker constraints are near a change point than at the rows beside it
SEVERAL = 4  # directions, of which two may turn over at once
HALVINGS = 8  # of a passage, to find a change point
TINY = 1e-300  # no stride
LISTED = 6  # ranges of rows that a warning names


def is_sweep(held: Sequence[Column], parameters: Array) -> bool:
    """Whether rows are in an order that a user gave them, rather than independent of each other.

    Every value that varies goes one way; or they all go back and forth, by no more than a third of their range at once.
    """
    columns = [c.values for c in held if c.values.size > 1] + [*parameters.T]
    steps = [np.diff(each) for each in columns if each.size > 1 and np.ptp(each) > 0]
    one_way = all((step >= 0).all() or (step <= 0).all() for step in steps)
    smooth = all(np.abs(step).max() <= STRIDE * abs(np.ptp(np.cumsum(step))) for step in steps)
    return bool(steps) and (one_way or smooth)


class Followed(NamedTuple):
    """What following found.

    | field  | meaning                                                                   |
    |--------|---------------------------------------------------------------------------|
    | branch | of each row, the number of its branch; -1 where it does not close         |
    | moved  | rows whose configuration is another one now, or the same by other turns   |
    | ends   | rows at which a branch ended, so that they and later ones lie on another  |
    | met    | rows from and to which branches meet: (3, 3) at a row, (5, 6) between two |
    """

    branch: Indices
    moved: Indices
    ends: Indices
    met: list[tuple[int, int]]

    def warnings(self) -> Iterator[str]:
        """Where rows lie on other branches than those before them, or could."""
        if len(self.ends):
            rows = f"row{'s' * (len(self.ends) > 1)} {listed(list(map(str, self.ends)), LISTED)}"
            yield (
                f"assemble_many: no continuous motion leads to {rows} from the row before: the branch ends there, and "
                "later rows lie on another (States.branch). If rows are independent of each other, give follow=False."
            )
        if self.met:
            where = [f"at row {i}" if i == k else f"between rows {i} and {k}" for i, k in self.met]
            yield (
                f"assemble_many: branches meet {listed(where, LISTED)} (change points: the constraints are singular). "
                "The sweep goes straight on there; the motion could change to the other branch."
            )


class Assembling(Protocol):
    """Assemblies of some rows, from guesses."""

    def nearest(self) -> Array:
        """The closed configurations that steps downhill lead to; NaN where there are none."""
        ...

    def jacobians(self) -> Array:
        """The constraint Jacobians at the guesses, scaled, of the velocities that may change."""
        ...


class BranchFollowing:
    """The rows of one sweep: parameters (m, n), given columns, configurations q (m, nq), NaN where they do not close.

    `near` makes assemblies from parameters, given columns and guesses. q changes in place.
    """

    def __init__(
        self,
        batch: BatchOfRows,
        held: Sequence[Column],
        q: Array,
        near: Callable[[Array, Sequence[Column], Array], Assembling],
    ):
        self.batch, self.held, self.q, self.near = batch, held, q, near
        self.closed: Mask = finite_rows(q)
        self.columns = column_scales(batch.mechanism)
        self.angular = angular_velocities(batch.mechanism)
        self.given = sorted({i for column in held for i in column.entry.held})
        values = [c.values for c in held if c.values.size > 1] + [*batch.parameters.T]
        ranges = [np.ptp(each) or 1.0 for each in values]
        steps = [np.diff(each) / range_ for each, range_ in zip(values, ranges, strict=True)]
        self.strides = np.linalg.norm(steps, axis=0) if steps else np.zeros(len(q) - 1)
        turning = [np.abs(np.diff(c.values)) for c in held if c.values.size > 1 and c.entry.angle]
        self.wide: Mask = np.max([np.zeros(len(q) - 1), *turning], axis=0) > WIDE
        self.travel = np.full_like(q[1:], np.nan)  # from row to row, full turns included, where it was walked

    def follow(self, misses: Array) -> Followed:
        """Put rows on the branch of the one nearest to its guess, going from there to the last row and to the first.

        `misses` (m) are distances from the guesses; of several that are equal, the first counts.
        """
        if not self.closed.any():
            none = np.zeros(0, dtype=np.intp)
            return Followed(np.full(len(self.q), -1), none, none, [])
        first = int(np.argmax(misses <= np.nanmin(misses[self.closed]) * (1 + SAME)))
        before, ends, rows = self.q.copy(), np.zeros(len(self.q), dtype=bool), np.arange(len(self.q))
        singular = self._singular()
        for order in (rows[first:], rows[first::-1]):
            part = self._in_order(order)
            ended = part._go(singular[order])
            ends[np.maximum(order[ended], order[ended - 1])] = True
            self.q[order], self.closed[order] = part.q, part.closed
            edges = np.minimum(order[1:], order[:-1])
            self.travel[edges] = part.travel if order[-1] > first else -part.travel
        c = self.closed
        gaps = np.concatenate([[False], c[1:] & ~c[:-1] & np.logical_or.accumulate(c[:-1])])
        branch = np.where(c, np.cumsum(ends | gaps), -1)
        self._unwind(branch)
        singular = self._singular()
        met = [(k, k) for k in np.flatnonzero(singular).tolist()]
        edges = np.flatnonzero(c[1:] & c[:-1] & ~ends[1:] & ~singular[1:] & ~singular[:-1])
        met += [(k, k + 1) for part in in_batches(len(edges)) for k in self._crossings(edges[part])]
        moved = np.flatnonzero((self.q != before).any(axis=1) & c)
        return Followed(branch, moved, np.flatnonzero(ends), sorted(met))

    def _in_order(self, order: Indices) -> BranchFollowing:
        """The rows in another order."""
        held = [replace(c, values=np.broadcast_to(c.values, (len(self.q),))[order]) for c in self.held]
        batch = BatchOfRows(self.batch.system, self.batch.parameters[order], self.batch.t)
        return BranchFollowing(batch, held, self.q[order], self.near)

    def _go(self, singular: Mask) -> Indices:
        """Go along the rows; where one is on another branch than the row before, or open, close it again from there.

        The rows at which a branch ended.
        """
        ok, ahead = self._passages()
        ok[1:] &= ~singular[1:-1] | ~self.closed[2:] | ~self.closed[:-2]
        ok &= ~self.closed[:-1] | self.closed[1:]
        ends, at = np.zeros(len(self.q), dtype=bool), 0
        for edge in np.flatnonzero(~ok).tolist():
            if edge < at:
                continue
            at = edge + 1
            if not self.closed[at]:
                ahead[edge] = self._straight_on(edge)
            elif singular[edge]:
                ahead[edge] = self._leaving(edge, bool(edge) and not ends[edge], ahead[edge])
            for row, here in itertools.chain([(at, ahead[edge])], self._onward(at)):
                at = row
                if not np.isfinite(here).all():
                    ends[row] = self.closed[row]
                    break
                self.closed[row] = True
                self.travel[row - 1] = here - self.q[row - 1]
                if self._are_same(here[None], self.q[row][None])[0]:
                    break
                self.q[row] = here
        return np.flatnonzero(ends)

    def _leaving(self, row: int, arrived: bool, ahead: Array) -> Array:
        """Where the branch leads from a singular row: straight on; or else to the next row, if that leads back."""
        if arrived:
            ahead = self._straight_on(row)
        if np.isfinite(ahead).all():
            return ahead
        back = self._in_order(np.array([row + 1, row]))
        return self.q[row + 1] if back._passages()[0][0] else ahead

    def _straight_on(self, row: int) -> Array:
        """Where the branch leads from a row to the next, in the direction in which it came to it."""
        came = np.zeros((1, len(self.columns)))
        if row and self.closed[row - 1]:
            came = self._step(self.q[[row - 1]], self.q[[row]]) * self.strides[row] / max(self.strides[row - 1], TINY)
        return np.asarray(self._walked(np.array([row]), self.q[[row]], self.q[[row + 1]], came)[0])

    def _unwind(self, branch: Indices) -> None:
        """Angles without full turns from row to row, where turns do not matter."""
        given = {c.entry.body_or_loop.q.start + c.entry.index for c in self.held if c.entry.held}  # type: ignore[union-attr]
        units = {body.q.start + i: unit for body in self.batch.bodies for i, unit in enumerate(body.joint.type.units)}
        angles = [i for i, unit in units.items() if unit == "rad" and i not in given]
        steps = np.diff(self.q[:, angles], axis=0)
        turns = np.round((steps - np.nan_to_num(self.travel[:, angles])) / (2 * math.pi))
        turns[~np.isfinite(turns) | (np.diff(branch) != 0)[:, None]] = 0.0
        total = np.concatenate([np.zeros((1, len(angles))), np.cumsum(turns, axis=0)])
        _, first, of = np.unique(branch, return_index=True, return_inverse=True)
        total -= total[first[of]]  # the first row of each branch stays as it is
        rows = np.flatnonzero(total.any(axis=1) & self.closed)
        if len(rows):
            back = self.q[rows]
            back[:, angles] -= 2 * math.pi * total[rows]
            again = self._close(rows - 1, np.ones(len(rows)), back)
            same = (np.abs(again - back) <= SAME).all(axis=1)  # not so with gears or screws
            self.q[rows[same]] = back[same]

    def _onward(self, row: int) -> Iterator[tuple[int, Array]]:
        """The next rows on the branch of a row, one after the other; NaN where it ends."""
        ahead = 1
        while row + 1 < len(self.q):
            chain = self._extrapolated(row, ahead)
            edges = np.arange(row, row + len(chain) - 1)
            good = self._are_smooth(edges, chain)
            count = len(good) if good.all() else int(good.argmin())
            for i in range(count):
                yield row + 1 + i, chain[i + 1]
            if not count:
                yield row + 1, self._straight_on(row)
            row += max(count, 1)
            ahead = 2 * count or 1

    def _extrapolated(self, row: int, count: int) -> Array:
        """A row and those after it, each closed from where the last step leads."""
        last = min(row + count, len(self.q) - 1)
        rows = np.arange(row + 1, last + 1)
        step = self._step(self.q[[row - 1]], self.q[[row]]) * self.columns
        far = np.cumsum(self.strides[rows - 1]) / max(self.strides[row - 1], TINY)
        guess = self.batch.integrated(np.repeat(self.q[[row]], len(rows), axis=0), far[:, None] * step)
        return np.concatenate([self.q[[row]], self._close(rows - 1, np.ones(len(rows)), guess)])

    # --- passages between rows ---

    def _passages(self) -> tuple[Mask, Array]:
        """Which passages from one row to the next are continuous; where others lead, NaN where the branch ends."""
        ok, ahead = np.ones(len(self.q) - 1, dtype=bool), np.full_like(self.q[1:], np.nan)
        for part in in_batches(len(ok)):
            ok[part] = self._are_smooth(np.arange(part.start, part.stop), self.q[part.start : part.stop + 1])
        both = self.closed[1:] & self.closed[:-1]
        ok[~both] = True
        doubtful = np.flatnonzero(~ok)
        if len(doubtful):
            start, target = self.q[doubtful], self.q[doubtful + 1]
            ahead[doubtful] = self._walked(doubtful, start, target, self._step(start, target))
            ok[doubtful] = self._are_same(ahead[doubtful], target)
            self.travel[doubtful] = ahead[doubtful] - start
        return ok, ahead

    def _are_smooth(self, edges: Indices, chain: Array) -> Mask:
        """Whether successive configurations (k + 1, nq) lie on one branch: chords agree with neighbours or tangents."""
        chords, strides = self._step(chain[:-1], chain[1:]), self.strides[edges]
        sizes = np.linalg.norm(chords, axis=1)
        slopes = chords / np.where(strides > 0, strides, 1.0)[:, None]
        bends = np.linalg.norm(np.diff(slopes, axis=0), axis=1)
        limits = BEND * np.linalg.norm(slopes, axis=1)
        straight = np.zeros(len(edges), dtype=bool)
        if len(edges) > 2:
            inner = limits[1:-1]
            straight[1:-1] = (bends[:-1] <= inner) & (bends[1:] <= inner) & (strides > 0)[1:-1]
        smooth = straight | (sizes <= STILL)
        some = np.flatnonzero(~smooth & np.isfinite(sizes))
        if len(some):
            first, last = chain[some], chain[some + 1]
            tangents = [
                self._tangent(edges[some], np.full(len(some), s), q, chords[some])
                for s, q in ((0.0, first), (1.0, last))
            ]
            smooth[some] = _agree(chords[some], tangents[0]) & _agree(chords[some], tangents[1])
        return np.asarray(smooth & ~self.wide[edges])

    def _walked(self, edges: Indices, start: Array, target: Array, guide: Array) -> Array:
        """Where the branch leads from the first row of passages to the second; the target itself if it is joined to it.

        With freedom left, a branch is a surface: then the target is reached within it, with the values of its row.
        """
        end = self._walk(edges, start, target, guide)
        apart = np.flatnonzero(finite_rows(end) & ~self._are_same(end, target))
        if len(apart):
            chord = self._step(end[apart], target[apart])
            there = self._walk(edges[apart], end[apart], target[apart], chord, within=True)
            left, first = np.linalg.norm(self._step(there, target[apart]), axis=1), np.linalg.norm(chord, axis=1)
            joined = apart[left <= BEND * first]
            end[joined] = self._towards(end[joined], target[joined])
        return end

    def _walk(self, edges: Indices, start: Array, target: Array, guide: Array, within: bool = False) -> Array:
        """Steps along the branch, s from 0 to 1, each halved until its prediction is good; NaN where it ends."""
        q, h, far = start.copy(), np.ones(len(edges)), np.zeros(len(edges))
        tangents = self._tangent(edges, far, q, guide, within)
        active = np.arange(len(edges))
        for _ in range(WALKED):
            if not len(active):
                break
            h[active] = np.minimum(h[active], 1 - far[active])
            step, later = h[active, None] * tangents[active], far[active] + h[active]
            predicted = self.batch.integrated(q[active], step * self.columns)
            there = self._close(edges[active], np.ones(len(active)) if within else later, predicted)
            ahead = tangents[active]
            if within:
                ahead = self._step(there, target[active]) / np.maximum(1 - later, LEAST_STEP)[:, None]
            tangent = self._tangent(edges[active], later, there, ahead, within)
            miss = np.linalg.norm(self._step(predicted, there), axis=1)
            good = miss <= BEND * np.linalg.norm(step, axis=1) + STILL
            good &= within | _agree(tangents[active], tangent)
            moved = active[good]
            q[moved], tangents[moved], far[moved] = there[good], tangent[good], later[good]
            h[active] *= np.where(good, 2.0, 0.5)
            active = active[(far[active] < 1) & (h[active] >= LEAST_STEP)]
        rest = (1 - far) * np.linalg.norm(tangents, axis=1)
        dead = (far < 1) & (far >= 1 - NEAR_FOLD)
        dead &= np.linalg.norm(self._step(q, target), axis=1) <= FOLD * rest
        q[dead] = self._towards(q[dead], target[dead])
        q[~dead & (far < 1)] = np.nan
        return q

    def _tangent(self, edges: Indices, s: Array, q: Array, guide: Array, within: bool = False) -> Array:
        """How fast the branch goes (scaled), by a small step; `guide` chooses where that is not unique."""
        probe = np.where((s < 1) | within, PROBE, -PROBE)
        moved = self.batch.integrated(q, probe[:, None] * guide * self.columns)
        near = self._close(edges, np.ones(len(s)) if within else s + probe, moved)
        return self._step(q, near) / probe[:, None]

    # --- change points ---

    def _singular(self) -> Mask:
        """Rows at which the constraints are weaker than at others."""
        rows, found = np.flatnonzero(self.closed), np.zeros(len(self.q), dtype=bool)
        ranks = np.zeros(len(rows), dtype=np.intp)
        for part in in_batches(len(rows)):
            J = self._jacobians(rows[part])
            ranks[part] = (np.linalg.svd(J, compute_uv=False) > CUT_OFF).sum(axis=1) if J.size else 0
        found[rows] = ranks < ranks.max(initial=0)
        return found

    def _crossings(self, edges: Indices) -> list[int]:
        """Rows after which, before the next one, the constraints are singular: directions turn over there."""
        J = self._jacobians(edges)
        if not len(edges) or J.shape[1] < J.shape[2] or not J.size:
            return []
        U, sizes, V = np.linalg.svd(J, full_matrices=False)
        turned = (sizes[:, -1] > CUT_OFF) & _is_turned(U, V, self._jacobians(edges + 1))
        edges, U, V, weakest = edges[turned], U[turned], V[turned], sizes[turned, -1]
        first, last, low, high = self.q[edges], self.q[edges + 1], np.zeros(len(edges)), np.ones(len(edges))
        least = weakest.copy()
        for _ in range(HALVINGS if len(edges) else 0):
            s = (low + high) / 2
            middle = self._close(edges, s, self.batch.integrated(first, self._step(first, last) / 2 * self.columns))
            J = self._near(edges, s, middle).jacobians()
            J = np.where(finite(J)[:, None, None], J, 0.0)
            least = np.minimum(least, np.linalg.svd(J, compute_uv=False)[:, -1])
            later = ~_is_turned(U, V, J)
            first, low = np.where(later[:, None], middle, first), np.where(later, s, low)
            last, high = np.where(later[:, None], last, middle), np.where(later, high, s)
        return [int(k) for k in edges[least <= CROSSED * weakest]]

    def _jacobians(self, rows: Indices) -> Array:
        """The constraint Jacobians at rows."""
        return self._near(rows - 1, np.ones(len(rows)), self.q[rows]).jacobians()

    # --- one configuration between two rows ---

    def _close(self, edges: Indices, s: Array, q: Array) -> Array:
        """The closed configurations nearest to q, a part s of the way from row k to k + 1; NaN where there are none."""
        near, found = finite_rows(q), np.full_like(q, np.nan)
        if near.any():
            found[near] = self._near(edges[near], s[near], q[near]).nearest()
        return found

    def _near(self, k: Indices, s: Array, q: Array) -> Assembling:
        """Assemblies from q with the values there."""
        first, last = self.batch.parameters[k], self.batch.parameters[k + 1]
        parameters = np.where(s[:, None] == 1, last, first + s[:, None] * (last - first))
        return self.near(parameters, self._columns(k, s), q)

    def _columns(self, k: Indices, s: Array) -> list[Column]:
        """The given values there; quaternions by the shorter way."""
        found: list[Column] = []
        for _, group in itertools.groupby(self.held, key=lambda column: column.key):
            columns = list(group)
            first, last = (
                np.array([np.broadcast_to(c.values, (len(self.q),))[rows] for c in columns]) for rows in (k, k + 1)
            )
            ball = [i for i, c in enumerate(columns) if c.entry.unit == "1"]
            first[ball] *= np.where((first[ball] * last[ball]).sum(axis=0) < 0, -1.0, 1.0)
            values = np.where(s == 1, last, first + s * (last - first))
            if ball:
                values[ball] /= np.linalg.norm(values[ball], axis=0)
            found += [replace(column, values=each) for column, each in zip(columns, values, strict=True)]
        return found

    def _step(self, q: Array, later: Array) -> Array:
        """The scaled step from q to a later configuration, without what is given and without full turns."""
        step = self.batch.difference(q, later)
        step[:, self.angular] = without_turns(step[:, self.angular])
        step[:, self.given] = 0.0
        return np.asarray(step / self.columns)

    def _towards(self, q: Array, target: Array) -> Array:
        """The target, with the turns that are nearest to q."""
        return self.batch.integrated(q, self._step(q, target) * self.columns)

    def _are_same(self, q: Array, other: Array) -> Mask:
        return np.asarray(np.linalg.norm(self._step(q, other), axis=1) <= SAME)


def _is_turned(U: Array, V: Array, J: Array) -> Mask:
    """Whether J was singular on its way from another one, whose axes are given: directions in them have turned over.

    Several at once, as of many parallelograms, need not change the sign of the determinant.
    """
    inside = np.swapaxes(U, 1, 2) @ J @ np.swapaxes(V, 1, 2)
    if inside.shape[1] < SEVERAL:
        return np.asarray(np.linalg.det(inside) < 0)
    return np.asarray((np.linalg.eigvals(inside).real < 0).any(axis=1))


def finite_rows(q: Array) -> Mask:
    """Rows that close: the others hold NaN."""
    return np.asarray(np.isfinite(q).all(axis=1))


def _agree(a: Array, b: Array) -> Mask:
    """Whether directions with speeds differ little."""
    sizes = np.maximum(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1))
    return np.asarray(np.linalg.norm(a - b, axis=1) <= BEND * sizes + STILL)
