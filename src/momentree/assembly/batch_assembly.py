"""Many assemblies at once: the search of `assemble` (assembly_search.py) for all rows together, by machine code.

A row that does not close so, that is near a toggle, or whose given coordinates cannot simply be held (those of a joint
that closes a loop, some components of a ball), is assembled by `assemble`, alone.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from momentree.activity import activity, showing
from momentree.assembly.assemble import own_guess, searched_state
from momentree.assembly.assembly_search import (
    ATTEMPTS,
    COMPARED,
    LEAST_ATTEMPTS,
    MET,
    UNFIT,
    UNGUESSED,
    AssemblySearch,
    angular_velocities,
    has_settled,
    steps_around,
    widest_loop,
    without_turns,
)
from momentree.assembly.batch_closing import BatchClosing, BatchOfRows, ClosedBatch, Indices, Mask, finite, shortest
from momentree.assembly.branch_following import SAME, BranchFollowing, finite_rows, is_sweep
from momentree.assembly.closed_velocities import FITS
from momentree.assembly.compiled_closing import CompiledRows
from momentree.assembly.configuration import Array, Configuration
from momentree.assembly.configuration_space import beginning
from momentree.assembly.named_values import Column, by_name, columns_given, columns_of, values_of_row, warn_of_degrees
from momentree.assembly.nearby_configurations import regular_rank
from momentree.assembly.samples import in_batches
from momentree.assembly.scaled_constraints import CUT_OFF, LARGEST_DENSE
from momentree.assembly.state import State, States
from momentree.compile.execute.arrays import coordinate_array
from momentree.compile.execute.choice import is_rolled
from momentree.errors import AssemblyError, AssemblyWarning, ExpressionError, MomentreeError, warn
from momentree.model.expressions.expression import Reference
from momentree.model.values import Values
from momentree.structure.mechanism import Mechanism, TreeBody

if TYPE_CHECKING:
    from momentree.system import System

FEW_ROWS, MANY_ROWS = 4096, 65_536


def assemble_many(
    system: System,
    given: Mapping[str, Any] | None,
    velocities: Mapping[str, Any] | None,
    guess: Any,
    t: float,
    parameters: Mapping[str, Any],
    strict: bool = True,
    follow: bool | None = None,
) -> States:
    """The states that `assemble` gives for each row; `System.assemble_many` describes the arguments."""
    mechanism = system._numeric
    rows = system._free.rows(parameters)
    names = system._free.names_of(rows)
    held = columns_given(mechanism, by_name(given, "given"), "given", names)
    moving = columns_given(mechanism, by_name(velocities, "velocities"), "velocities", names)
    near = _own_guess(system, rows, names) if guess is None else _guessed(mechanism, guess, names)
    count = _count(held, moving, near, rows)
    warn_of_degrees("assemble_many", ((column.entry, column.values) for column in (*held, *near.columns)))
    rows = np.ascontiguousarray(np.broadcast_to(rows, (count, rows.shape[-1])))
    many = _Many(system, rows, held, moving, float(t))
    sweep = (guess is None or not near.many) and is_sweep(held, rows) if follow is None else follow
    found = many.all(near, strict and not sweep)
    branch = many.followed(found, near, strict) if sweep and count > 1 else np.full(count, -1)
    unclosed = np.flatnonzero([bool(reason) for reason in found.reasons])
    if strict and len(unclosed):
        many.assemblies(unclosed[:1], near).states(strict, unclosed)  # says why not
    own = {name: rows[:, i].copy() for i, name in enumerate(system.mechanism.free)}
    given = {**system.given.parameters, **{name: own[name] for name in parameters}}
    return States(system, found.q, found.v, float(t), own, tuple(map(str, found.reasons)), branch, given)


def jumped(system: System, alone: States, followed: States) -> Indices:
    """Rows of a sweep that were assembled one by one on another branch than the row before; from both ways to do it."""
    step = BatchOfRows(system, np.zeros((len(alone), 0)), alone.t).difference(alone.q, followed.q)
    angular = angular_velocities(system._numeric)
    step[:, angular] = without_turns(step[:, angular])
    other = np.abs(step).max(axis=1, initial=0.0) > SAME
    both = (followed.branch[1:] >= 0) & (followed.branch[:-1] >= 0)
    changes = (other[1:] != other[:-1]) | (np.diff(followed.branch) != 0)
    return np.asarray(1 + np.flatnonzero(both & changes))


class _Many(NamedTuple):
    """What many states are made of: values of free parameters (m, n), given coordinates and velocities, time."""

    system: System
    rows: Array
    held: list[Column]
    velocities: list[Column]
    t: float

    def all(self, near: _Guess, strict: bool) -> _Assembled:
        """The states of all rows."""
        parts, count = [], len(self.rows)
        with activity(f"assembling {count} states of", self.system.name) as phase:
            for part in in_batches(count, _at_once(self.system)) or [slice(0, 0)]:
                rows = np.arange(count)[part]
                parts.append(self.assemblies(rows, near).states(strict, rows))
                phase.tell(f"{part.stop} done", part.stop / max(count, 1))
        return _Assembled(*(np.concatenate([getattr(each, name) for each in parts]) for name in _Assembled._fields))

    def assemblies(self, rows: Indices, near: _Guess) -> _Assemblies:
        """Some rows; guesses are those of all rows, or one."""
        held, velocities = columns_of(self.held, rows), columns_of(self.velocities, rows)
        return _Assemblies(BatchOfRows(self.system, self.rows[rows], self.t), held, velocities, near.part(rows))

    def near(self, parameters: Array, held: Sequence[Column], q: Array) -> _Assemblies:
        """Assemblies from these configurations, with any parameters and given coordinates."""
        return _Assemblies(BatchOfRows(self.system, parameters, self.t), held, [], _Guess(q, [], False))

    def followed(self, found: _Assembled, near: _Guess, strict: bool) -> Indices:
        """The branch of each row, where those that jumped are put back on that of the row nearest to its guess."""
        rows = np.arange(len(found.q))
        misses = [self.assemblies(rows[part], near).miss(found.q[part]) for part in in_batches(len(rows))]
        batch = BatchOfRows(self.system, self.rows, self.t)
        result = BranchFollowing(batch, self.held, found.q, self.near).follow(np.concatenate(misses))
        if len(result.moved):
            again = self.assemblies(result.moved, _Guess(found.q, [], False)).states(strict, result.moved)
            for part, new in zip(found, again, strict=True):
                part[result.moved] = new
        for message in result.warnings():
            warn(AssemblyWarning(message))
        return np.where(finite_rows(found.q), result.branch, -1)


def _at_once(system: System) -> int:
    """How many rows are assembled together: fewer where NumPy closes them, for it holds all matrices at once."""
    return FEW_ROWS if is_rolled(system.mechanism, None) else MANY_ROWS


class _Guess(NamedTuple):
    """Guessed coordinates (..., nq), and values of some of them by name."""

    q: Array
    columns: list[Column]
    named: bool

    @property
    def many(self) -> bool:
        """Whether each row has its own."""
        return (self.q.ndim > 1 and len(self.q) > 1) or any(column.values.size > 1 for column in self.columns)

    def part(self, part: Indices) -> _Guess:
        """Some of many rows."""
        many = self.q.ndim > 1 and len(self.q) > 1
        return _Guess(self.q[part] if many else self.q, columns_of(self.columns, part), self.named)


def _own_guess(system: System, rows: Array, names: Mapping[Reference, Array]) -> _Guess:
    """Where rows begin unless a guess is given: as `own_guess` says, with the parameters of each row."""
    mechanism, start = system._numeric, system._model.start
    if rows.ndim < 2 or not len(rows):
        return _guessed(mechanism, own_guess(mechanism, system._model), names)
    near = _Guess(beginning(system.mechanism.in_batches(names)), [], False)
    if start is None or not (start.coordinates or start.guess):
        return near
    held = columns_given(mechanism, start.coordinates, "given", names)
    near = near._replace(columns=columns_given(mechanism, start.guess, "guess", names), named=True)
    t = start.times(Values(dict(system._model.parameters)))[0]
    q = _Many(system, rows, held, [], t).all(near, False).q
    return _Guess(np.where(finite_rows(q)[:, None], q, near.q), [], False)


def _guessed(mechanism: Mechanism, guess: Any, parameters: Mapping[Reference, Array]) -> _Guess:
    if guess is None:
        return _Guess(beginning(mechanism), [], True)
    if isinstance(guess, (State, States)):
        return _Guess(guess.q, [], False)
    if isinstance(guess, Mapping):
        return _Guess(beginning(mechanism), columns_given(mechanism, guess, "guess", parameters), True)
    if isinstance(guess, Sequence) and len(guess) and all(isinstance(one, State) for one in guess):
        return _Guess(np.array([one.q for one in guess]), [], False)
    return _Guess(coordinate_array(guess, mechanism.nq, "guess"), [], False)


def _count(held: Sequence[Column], velocities: Sequence[Column], near: _Guess, rows: Array) -> int:
    named = {"given": held, "velocities": velocities, "guess": near.columns}
    shapes = {f"{what} {c.entry.label}": c.values.shape for what, columns in named.items() for c in columns}
    shapes |= {"guess": near.q.shape[:-1], "parameters": rows.shape[:-1]}
    try:
        (count,) = np.broadcast_shapes(*shapes.values(), (1,))
    except ValueError:
        many = ", ".join(f"{name} {shape}" for name, shape in shapes.items() if shape)
        raise MomentreeError(f"assemble_many: rows do not fit together: {many}. Give one or as many of each.") from None
    return 0 if any(0 in shape for shape in shapes.values()) else int(count)


class _Assembled(NamedTuple):
    """Coordinates and velocities of some rows, and why they are not closed."""

    q: Array
    v: Array
    reasons: Any


class _Assemblies:
    """One call: given and guessed coordinates, starts, and distances from the guesses."""

    def __init__(self, batch: BatchOfRows, held: Sequence[Column], velocities: Sequence[Column], near: _Guess):
        self.batch, self.held, self.velocities, self.near = batch, held, velocities, near
        self.mechanism, self.count = batch.mechanism, batch.count
        self.guess = np.array(np.broadcast_to(near.q, (self.count, self.mechanism.nq)), dtype=float)
        for column in (*near.columns, *held):
            body = column.entry.body_or_loop
            if isinstance(body, TreeBody):
                self.guess[:, body.q.start + column.entry.index] = column.values
        fixed = {i for column in held for i in column.entry.held}
        self.hints = [column for column in near.columns if not fixed & {*column.entry.held}]
        self.closing = BatchClosing(batch, fixed)
        self.compiled = CompiledRows.of(batch) if self.together else None
        self.weights = np.ones(self.mechanism.nv)
        if self.hints:
            self.weights[:] = UNGUESSED
            self.weights[[i for column in (*self.hints, *held) for i in column.entry.held]] = 1.0
        self.partly = bool(self.hints) and bool((self.weights[self.closing.moving] < 1).any())
        self.towards = BatchClosing(batch, fixed | {i for column in self.hints for i in column.entry.held})

    @property
    def together(self) -> bool:
        """Whether rows can be closed together: given coordinates are held, and there are loops alone to close."""
        columns = (*self.held, *self.hints)
        mechanism = self.mechanism
        simple = all(column.entry.held for column in columns) and not (mechanism.constraints or mechanism.nonholonomic)
        simple &= all(isinstance(column.entry.body_or_loop, TreeBody) for column in self.velocities)
        rows = sum(6 - loop.joint_type.freedom for loop in mechanism.loops) + len(self.velocities)
        return simple and bool(self.count) and rows * mechanism.nv <= LARGEST_DENSE

    def nearest(self) -> Array:
        """Where steps downhill lead from the guesses alone; NaN where that is not closed."""
        if self.together:
            with np.errstate(all="ignore"):
                end = self._closed(self.closing, self.guess, np.arange(self.count))[0]
            return np.where(end.misfit[:, None] <= 1, end.q, np.nan)
        q = np.full_like(self.guess, np.nan)
        for k in range(self.count):
            search = self._search(k)
            with contextlib.suppress(ExpressionError):  # a constraint, such as one by a table, has no value there
                end_alone = search.closing.close(search.guess)
                q[k] = end_alone.q if end_alone.misfit <= 1 else np.nan
        return q

    def miss(self, q: Array) -> Array:
        """Distances of configurations from the guesses; NaN of those that are not closed."""
        if self.together:
            return self.misses(q, np.arange(self.count))[0]
        closed = finite_rows(q)
        return np.array([self._search(k).miss(q[k]) if closed[k] else np.nan for k in range(self.count)])

    def jacobians(self) -> Array:
        """The constraint Jacobians at the guesses, scaled, of the velocities that may change; no rows of large ones."""
        if self.together:
            return self.batch.at(self.guess, np.arange(self.count)).J[:, :, self.closing.moving]
        searches = [self._search(k) for k in range(self.count)]
        constraints = [search.closing.residual(search.guess).rows for search in searches]
        if not all(each.dense for each in constraints):
            return np.zeros((self.count, 0, len(self.closing.moving)))
        return np.array([each.J for each in constraints])

    def _search(self, k: int) -> AssemblySearch:
        mechanism = self._own(k)
        return AssemblySearch(mechanism, *self._arguments_of(k, mechanism), self.batch.t)

    def states(self, strict: bool, numbers: Indices) -> _Assembled:
        """All states, those that do not close together one by one; `numbers` are those of the rows."""
        q, v = np.full((self.count, self.mechanism.nq), np.nan), np.full((self.count, self.mechanism.nv), np.nan)
        alone, reasons = np.arange(self.count), [""] * self.count
        if self.together:
            with np.errstate(all="ignore"):
                q, missed = self.solved()
                closed, fits = np.flatnonzero(~np.isfinite(missed)), np.zeros(self.count, dtype=bool)
                v[closed], fits[closed] = self.closed_velocities(q[closed], closed)
            alone = np.flatnonzero(~fits | np.isfinite(missed))
            if not strict:
                open_ = np.flatnonzero(np.isfinite(missed))
                for k, reason in self._reasons(q[open_], open_):
                    reasons[k] = reason
                q[open_] = np.nan
                alone = np.flatnonzero(~fits & ~np.isfinite(missed))
        with activity("one by one") as phase, showing(False):
            for done, k in enumerate(alone.tolist()):
                phase.tell(f"{done} of {len(alone)}", done / len(alone))
                q[k], v[k] = np.nan, np.nan
                try:
                    q[k], v[k] = self._alone(k)
                except AssemblyError as error:
                    reasons[k] = str(error)
                    if strict:
                        raise AssemblyError(f"row {numbers[k]}: {error}", error.culprit) from None
        v[np.isnan(q).any(axis=1)] = np.nan
        return _Assembled(q, v, np.array(reasons, dtype=object))

    # --- one by one ---

    def _own(self, k: int) -> Mechanism:
        """The mechanism of one row in floats."""
        names = self.batch.system.mechanism.free
        own = dict(zip(names, self.batch.parameters[k].tolist(), strict=True))
        return self.batch.system.with_parameters(own)._numeric

    def _arguments_of(self, k: int, mechanism: Mechanism) -> tuple[dict[str, Any], Any]:
        """The given and guessed coordinates of one row, as `assemble` takes them."""
        if self.near.named:
            return values_of_row(self.held, k), values_of_row(self.near.columns, k)
        return values_of_row(self.held, k), State(mechanism, self.guess[k].copy(), np.zeros(mechanism.nv), self.batch.t)

    def _alone(self, k: int) -> tuple[Array, Array]:
        state = searched_state(self._search(k), values_of_row(self.velocities, k))
        return state.q, state.v

    def _reasons(self, q: Array, rows: Indices) -> Iterator[tuple[int, str]]:
        """Which loop of each of these rows cannot close, and by how much."""
        loops, batched = self.mechanism.loops, self.batch.batched
        errors = np.split(self.batch.closure_errors(q, rows), np.cumsum([len(loop.position_rows) for loop in loops]), 1)
        tolerances, sizes = (
            np.array([np.broadcast_to(x, (self.count,)) for x in each]).reshape(len(loops), self.count)
            for each in (batched.loop_tolerances, batched.loop_sizes)
        )
        for i, k in enumerate(rows.tolist()):
            own = [part[i] for part in errors[: len(loops)]]
            widest = widest_loop(loops, own, tolerances[:, k].tolist(), sizes[:, k].tolist())
            yield k, f"{widest[1] if widest else UNFIT}."

    # --- the search ---

    def solved(self) -> tuple[Array, Array]:
        """The closed configurations nearest to the guesses; where there is none, that of least misfit; and misfits.

        Misfits are NaN where a row is closed. Those that are closed exactly go before others.
        """
        nearest, best = self.guess.copy(), np.full((2, self.count), np.inf)  # how near: closed exactly, and otherwise
        missed, near = np.full((ATTEMPTS, self.count), np.inf), self.guess.copy()  # of those that are not closed
        active = np.arange(self.count)
        for attempt, steps in enumerate(self._starts()):
            start = self.guess[active]
            if attempt:
                start = (self.compiled or self.batch).integrated(start, steps * self.batch.columns[active])
            if self.partly:
                start = self._closed(self.towards, start, active)[0].q
            (q, misfit, exact), ranks = self._closed(self.closing, start, active)
            closed = misfit <= 1
            least = ~closed & (misfit < missed[:, active].min(axis=0))
            near[active[least]] = q[least]
            missed[attempt, active[~closed]] = np.where(np.isfinite(misfit), misfit, np.inf)[~closed]
            loose = self._loose(q, active, closed & ~exact, ranks) if attempt == 0 and not self.partly else ~closed
            q[closed] = self._unwound(q[closed], active[closed])
            miss, hinted = self.misses(q, active)
            exactly, otherwise = best[:, active]
            nearer = closed & np.where(exact, miss < exactly, np.isinf(exactly) & (miss < otherwise))
            nearest[active[nearer]] = q[nearer]
            best[np.where(exact[nearer], 0, 1), active[nearer]] = miss[nearer]
            enough = closed & (hinted <= MET) if self.partly else closed & (attempt == 0) & ~loose
            ever = np.isfinite(best[:, active]).any(axis=0)
            enough |= np.where(ever, attempt >= COMPARED, (attempt >= LEAST_ATTEMPTS) & has_settled(missed[:, active]))
            active = active[~enough]
            if not len(active):
                break
        closed = np.isfinite(best).any(axis=0)
        return np.where(closed[:, None], nearest, near), np.where(closed, np.nan, missed.min(axis=0))

    def _closed(self, closing: BatchClosing, q: Array, rows: Indices) -> tuple[ClosedBatch, Indices]:
        """Where steps downhill lead; and the rank of the constraints there, of rows that are not closed exactly."""
        if self.compiled is not None:
            return self.compiled.close(q, rows, closing.moving)
        end = closing.close(q, rows)
        ranks, some = np.full(len(rows), -1), np.flatnonzero((end.misfit <= 1) & ~end.exact)
        ranks[some] = _ranks(self.batch.at(end.q[some], rows[some]).J[:, :, closing.moving])
        return end, ranks

    def _loose(self, q: Array, rows: Indices, among: Mask, ranks: Indices) -> Mask:
        """Rows among these with more degrees of freedom, the given ones held, than others have."""
        loose, some = np.zeros(len(q), dtype=bool), np.flatnonzero(among)
        if len(some):
            regular = self._regular_ranks(q[some], rows[some])[1]
            freedom = len(self.closing.moving) - ranks[some]
            loose[some] = freedom > np.maximum(0, self.mechanism.nv - regular - len(self.held))
        return loose

    def _regular_ranks(self, q: Array, rows: Indices) -> tuple[Array, Array]:
        """The ranks of the constraints, and those which they have nearby, where they are not singular."""
        if self.compiled is not None:
            return self.compiled.ranks(q, rows)
        each = [Configuration(self._own(int(k)), at, t=self.batch.t) for k, at in zip(rows, q, strict=True)]
        regular = [regular_rank(at) for at in each]
        return _ranks(self.batch.at(q, rows).J).astype(float), np.array(regular, dtype=float)

    def _starts(self) -> Iterator[Array]:
        """Scaled steps from the guesses to where searches begin, the same for all."""
        moving = self.closing.moving
        if self.partly:
            moving = moving[self.weights[moving] < 1]
        return steps_around(moving, self.mechanism.nv, ATTEMPTS)

    def _unwound(self, q: Array, rows: Indices) -> Array:
        """The same configurations without full turns away from the guesses, where turns do not matter."""
        turns = np.zeros_like(q)
        for body in self.batch.bodies:
            angles = [body.q.start + i for i, unit in enumerate(body.joint.type.units) if unit == "rad"]
            turns[:, angles] = np.round((q[:, angles] - self.guess[rows][:, angles]) / (2 * math.pi))
        wound = turns.any(axis=1)
        back = q[wound] - 2 * math.pi * turns[wound]
        closed = self.closing.misfits(back, rows[wound]) <= 1  # not so with gears or screws
        q[wound] = np.where(closed[:, None], back, q[wound])
        return q

    def misses(self, q: Array, rows: Indices) -> tuple[Array, Array]:
        """Distances of configurations from the guesses, and from the coordinates guessed by name alone."""
        step = (self.compiled or self.batch).difference(self.guess[rows], q)
        step[:, self._angular] = without_turns(step[:, self._angular])
        whole = np.linalg.norm(self.weights * step / self.batch.columns[rows], axis=1)
        square = np.zeros(len(rows))
        for column in self.hints:
            body: Any = column.entry.body_or_loop
            miss = q[:, body.q.start + column.entry.index] - np.broadcast_to(column.values, (self.count,))[rows]
            square += np.square(without_turns(miss) if column.entry.angle else miss / self.batch.sizes[rows])
        return np.hypot(whole, np.sqrt(square)), np.sqrt(square)

    @cached_property
    def _angular(self) -> Mask:
        return angular_velocities(self.mechanism)

    # --- velocities ---

    def closed_velocities(self, q: Array, rows: Indices) -> tuple[Array, Mask]:
        """The velocities nearest to rest that have the given ones and keep loops closed, and whether they surely do.

        Near a toggle, where the constraints have a lower rank than elsewhere, they do not surely.
        """
        indices, values, slopes = self._given_velocities(rows)
        v, fits, wanted = (
            self._solved_velocities(q, rows, indices, values, slopes)
            if self.compiled is None
            else self.compiled.velocities(q, rows, indices, values, slopes)
        )
        v[~wanted] = 0.0
        doubtful = np.flatnonzero(wanted & fits)
        if len(doubtful):
            ranks, regular = self._regular_ranks(q[doubtful], rows[doubtful])
            fits[doubtful] = ranks == regular
        return v, fits | ~wanted

    def _given_velocities(self, rows: Indices) -> tuple[list[int], Array, Array]:
        """Which velocities of the tree are given; their scaled values, and what each is by the scaled velocity."""
        values, slopes = np.zeros((2, len(rows), len(self.velocities)))
        indices = []
        for i, column in enumerate(self.velocities):
            body: Any = column.entry.body_or_loop
            indices.append(body.v.start + column.entry.index)
            scale = self.batch.sizes[rows] if column.entry.velocity_unit == "m" else np.ones(len(rows))
            values[:, i] = np.broadcast_to(column.values, (self.count,))[rows] / scale
            slopes[:, i] = self.batch.columns[rows, indices[-1]] / scale
        return indices, values, slopes

    def _solved_velocities(
        self, q: Array, rows: Indices, indices: Sequence[int], values: Array, slopes: Array
    ) -> tuple[Array, Mask, Mask]:
        """By NumPy: the shortest velocities, whether they fit, and whether any is asked for."""
        at, below = self.batch.at(q, rows), np.zeros((*values.shape, self.mechanism.nv))
        below[:, np.arange(len(indices)), indices] = slopes
        right, J = np.concatenate([-at.drift, values], axis=1), np.concatenate([at.J, below], axis=1)
        v = shortest(J, right, CUT_OFF)
        v = v + shortest(J, right - _times(J, v), CUT_OFF)
        size = np.maximum(np.abs(right).max(axis=1, initial=0.0), np.abs(v).max(axis=1, initial=0.0))
        limit = np.repeat([CUT_OFF, FITS], [at.g.shape[1], len(indices)])
        fits = (np.abs(right - _times(J, v)) <= limit * size[:, None]).all(axis=1)
        return v * self.batch.columns[rows], fits & finite(at.J), np.asarray(right.any(axis=1))


def _times(J: Array, v: Array) -> Array:
    return np.asarray((J @ v[..., None])[..., 0])


def _ranks(J: Array) -> Indices:
    """k: how many constraints of each are independent."""
    if not J.size:
        return np.zeros(len(J), dtype=np.intp)
    return np.asarray((np.linalg.svd(J, compute_uv=False) > CUT_OFF).sum(axis=1), dtype=np.intp)
