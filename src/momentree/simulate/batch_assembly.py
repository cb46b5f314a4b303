"""Many assemblies at once: the first search of `assemble`, from the guess itself, for all rows together.

Closure errors and constraint Jacobians come from machine code; Levenberg-Marquardt and Newton steps, each row with a
damping of its own, are those of assemble.py, so that a row goes the same way to the same branch. A row that does not
close on this way is searched for by `assemble`, alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.equations.batches import coordinate_array
from momentree.equations.closure import Array
from momentree.equations.closure_rows import constraint_rows
from momentree.equations.forces import Names
from momentree.equations.sweeps import Runner
from momentree.errors import AssemblyError, MomentreeError
from momentree.simulate.assemble import CLOSED, NULL, RANK, assemble, rate_units, reference
from momentree.simulate.given import Column, columns_given
from momentree.simulate.integrators.rates import kernel_of_configuration
from momentree.simulate.phase import kept
from momentree.simulate.state import State
from momentree.spatial import Scalar
from momentree.structure.mechanism import Mechanism, TreeBody

if TYPE_CHECKING:
    from momentree.system import System

Indices = NDArray[np.intp]  # of rows of a batch
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class States:
    """Many states of one system: `states[i]` is one of them.

    | field      | shape | meaning                                                            |
    |------------|-------|--------------------------------------------------------------------|
    | q, v       | m, n  | coordinates and velocities of the tree; NaN where it does not close |
    | t          |       | time (s)                                                           |
    | parameters | m     | by name, the values of free parameters                             |
    | reasons    | m     | why a state does not close; "" where it does                       |
    """

    system: Any = field(repr=False)
    q: Array
    v: Array
    t: float
    parameters: Mapping[str, Array]
    reasons: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.q)

    def __getitem__(self, i: int) -> State:
        own = {name: float(values[i]) for name, values in self.parameters.items()}
        return State(self.system.with_parameters(own)._numeric, self.q[i].copy(), self.v[i].copy(), self.t)


def assemble_many(
    system: System,
    given: Mapping[str, Any],
    velocities: Mapping[str, Any],
    guess: Any,
    t: float,
    parameters: Mapping[str, Any],
    strict: bool = True,
) -> States:
    """The states that `assemble` gives for each row; `System.assemble_many` tells of the arguments."""
    mechanism = system._numeric
    held, rates = columns_given(mechanism, given, "given"), columns_given(mechanism, velocities, "velocities")
    rows = system._free.rows(parameters)
    near = _guessed(mechanism, guess)
    count = _count(held, rates, near, rows)
    task = _Batch(system, held, rates, near, np.broadcast_to(rows, (count, rows.shape[-1])), float(t))
    return task.solved(strict)


def _count(held: Sequence[Column], rates: Sequence[Column], near: _Guess, rows: Array) -> int:
    shapes = {column.entry.label: column.values.shape for column in (*held, *rates, *near.columns)}
    shapes |= {"guess": near.q.shape[:-1], "parameters": rows.shape[:-1]}
    try:
        (count,) = np.broadcast_shapes(*shapes.values(), (1,))
    except ValueError:
        told = ", ".join(f"{name} {shape}" for name, shape in shapes.items() if shape)
        raise MomentreeError(f"assemble_many: rows do not fit together: {told}. Give one or as many of each.") from None
    return int(count)


class _Guess(NamedTuple):
    """Coordinates (..., nq), and what is said of some of them by name."""

    q: Array
    columns: list[Column]


def _guessed(mechanism: Mechanism, guess: Any) -> _Guess:
    if guess is None:
        return _Guess(reference(mechanism), [])
    if isinstance(guess, (State, States)):
        return _Guess(guess.q, [])
    if isinstance(guess, Mapping):
        return _Guess(reference(mechanism), columns_given(mechanism, guess, "guess"))
    if isinstance(guess, Sequence) and len(guess) and all(isinstance(one, State) for one in guess):
        return _Guess(np.array([one.q for one in guess]), [])
    return _Guess(coordinate_array(guess, mechanism.nq, "guess"), [])


class _Residual(NamedTuple):
    """k rows of a batch: closure errors (k, r), velocities by prescribed motion (k, r), Jacobians (k, r, nv)."""

    g: Array
    drift: Array
    J: Array

    def where(self, better: Mask, other: _Residual) -> _Residual:
        """These, but the other where it is better."""
        pairs = zip(other, self, strict=True)
        return _Residual(*(np.where(better.reshape(-1, *[1] * (new.ndim - 1)), new, old) for new, old in pairs))

    def taken(self, rows: Indices) -> _Residual:
        return _Residual(*(part[rows] for part in self))

    @property
    def size(self) -> Array:
        """The square of the norm of the closure errors."""
        return np.asarray(np.square(self.g).sum(axis=1))


class _Batch:
    """One call: what is held, where each row starts, how far from closed it is."""

    def __init__(
        self, system: System, held: Sequence[Column], rates: Sequence[Column], near: _Guess, rows: Array, t: float
    ):
        self.system, self.mechanism, self.held, self.rates = system, system._numeric, held, rates
        self.near, self.rows, self.t, self.count = near, rows, t, len(rows)
        nv = self.mechanism.nv
        fixed = {i for column in held for i in column.entry.held}
        self.moving = np.setdiff1d(np.arange(nv), sorted(fixed)).astype(int)
        self.guess = np.array(np.broadcast_to(near.q, (self.count, self.mechanism.nq)), dtype=float)
        for column in (*near.columns, *held):
            place = column.entry.place
            if isinstance(place, TreeBody):
                self.guess[:, place.q.start + column.entry.index] = column.values

    @property
    def together(self) -> bool:
        """Whether rows can be closed together: all that is given is held, and loops alone are to be closed."""
        tree = all(isinstance(column.entry.place, TreeBody) for column in (*self.held, *self.rates))
        return tree and all(column.entry.held for column in self.held) and not self.mechanism.closures

    # --- the search ---

    def solved(self, strict: bool) -> States:
        """All states, those that do not close together one by one."""
        q, v = np.full((self.count, self.mechanism.nq), np.nan), np.full((self.count, self.mechanism.nv), np.nan)
        left, reasons = np.arange(self.count), [""] * self.count
        if self.together and self.count:
            with np.errstate(all="ignore"):
                q, closed = self.closed()
                v, moving = self.velocities(q)
            left = np.flatnonzero(~(closed & moving))
        for k in left.tolist():
            q[k], v[k] = np.nan, np.nan
            try:
                state = self._alone(k)
                q[k], v[k] = state.q, state.v
            except AssemblyError as error:
                reasons[k] = str(error)
                if strict:
                    raise AssemblyError(f"row {k}: {error}", error.culprit) from None
        parameters = {name: self.rows[:, i].copy() for i, name in enumerate(self.system.mechanism.free)}
        return States(self.system, q, v, self.t, parameters, tuple(reasons))

    def _alone(self, k: int) -> State:
        """The state of one row, by `assemble`."""
        own = dict(zip(self.system.mechanism.free, self.rows[k].tolist(), strict=True))
        mechanism = self.system.with_parameters(own)._numeric
        given, rates = (_of_row(columns, k) for columns in (self.held, self.rates))
        return assemble(mechanism, given, rates, State(mechanism, self.guess[k].copy(), np.zeros(0), self.t), self.t)

    def closed(self) -> tuple[Array, Mask]:
        """The configurations to which steps downhill lead, and whether they are closed."""
        q = self.guess.copy()
        found = self.residual(q, np.arange(self.count))
        damping = np.full(self.count, 1e-3)
        active = np.flatnonzero(np.sqrt(found.size) > 1e-9 * self.lengths)
        for _ in range(200):
            if not len(active):
                break
            here, size = found.taken(active), found.size[active]
            step = self.damped_steps(here, active, damping[active] * size)
            trial = self._moved(q[active], step)
            new = self.residual(trial, active)
            better = new.size < size * (1 - 1e-12)
            downhill = size - new.size > 1e-6 * size
            tried = damping[active]
            damping[active] = np.where(better, np.maximum(tried / 5, 1e-12), np.maximum(tried * 8, 1e-9))
            q[active] = np.where(better[:, None], trial, q[active])
            for old, part in zip(found, here.where(better, new), strict=True):
                old[active] = part
            go_on = np.where(better, downhill, tried <= 1e8) & (
                np.sqrt(found.size[active]) > 1e-9 * self.lengths[active]
            )
            active = active[go_on]
        q, gap = self._polished(q, found)
        q = self._unwound(q)
        return q, gap <= self.tolerances

    def _polished(self, q: Array, found: _Residual) -> tuple[Array, Array]:
        """Newton steps for as long as the closure error shrinks."""
        active = np.arange(self.count)
        for _ in range(12):
            here = found.taken(active)
            step = self.damped_steps(here, active)
            near = ~(np.abs(step / self.scales[active]).max(axis=1, initial=0.0) > 0.5)
            trial = self._moved(q[active], step)
            new = self.residual(trial, active)
            better = near & (np.sqrt(new.size) < np.sqrt(here.size))
            q[active] = np.where(better[:, None], trial, q[active])
            for old, part in zip(found, here.where(better, new), strict=True):
                old[active] = part
            active = active[better]
            if not len(active):
                break
        return q, np.sqrt(found.size)

    def damped_steps(self, at: _Residual, rows: Indices, damping: Any = 0.0) -> Array:
        """-D (J D)'((J D)(J D)' + damping E)^-1 g of each row, solved on the smaller side; at most 0.6 rad long."""
        scale = self.scales[rows][:, self.moving]
        Js, step = at.J[:, :, self.moving] * scale[:, None, :], np.zeros((len(rows), self.mechanism.nv))
        if not Js.size:
            return step
        squares = np.square(Js).sum(axis=(1, 2))
        damping = np.where(squares > 0, np.maximum(damping, NULL * squares / min(Js.shape[1:])), 1.0)
        turned = np.swapaxes(Js, 1, 2)
        if Js.shape[1] <= Js.shape[2]:
            unit = np.eye(Js.shape[1]) * damping[:, None, None]
            solved = turned @ np.linalg.solve(Js @ turned + unit, at.g[..., None])
        else:
            unit = np.eye(Js.shape[2]) * damping[:, None, None]
            solved = np.linalg.solve(turned @ Js + unit, turned @ at.g[..., None])
        step[:, self.moving] = -scale * solved[..., 0]
        largest = np.abs(step / self.scales[rows]).max(axis=1, initial=0.0)
        return np.asarray(step * np.minimum(1.0, 0.6 / np.where(largest > 0, largest, 1.0))[:, None])

    def _unwound(self, q: Array) -> Array:
        """The same configurations without full turns away from the guess, where turns do not matter."""
        turns = np.zeros_like(q)
        for body in self._free_bodies():
            angles = np.array([unit == "rad" for unit in body.connection.joint.units], dtype=bool)
            away = np.round((q[:, body.q] - self.guess[:, body.q]) / (2 * np.pi))
            turns[:, body.q] = np.where(angles, away, 0) if len(angles) == away.shape[1] else 0
        wound = np.flatnonzero(turns.any(axis=1))
        if len(wound):
            back = q[wound] - 2 * np.pi * turns[wound]
            errors = np.abs(self.residual(back, wound).g).max(axis=1, initial=0.0)
            still_closed = errors <= self.tolerances[wound]  # not so with gears or screws
            q[wound] = np.where(still_closed[:, None], back, q[wound])
        return q

    def _moved(self, q: Array, step: Array) -> Array:
        """The coordinates after steps along the velocities of the tree."""
        moved = q.copy()
        for body in self._free_bodies():
            new = body.connection.joint.integrate(tuple(q[:, body.q].T), tuple(step[:, body.v].T))
            for i, column in enumerate(new):
                moved[:, body.q.start + i] = column
        return moved

    def _free_bodies(self) -> list[TreeBody]:
        return [body for body in self.mechanism.bodies if body.laws is None]

    # --- velocities ---

    def velocities(self, q: Array) -> tuple[Array, Mask]:
        """The velocities nearest to rest that have the given ones and keep loops closed, and whether there are any."""
        at, nv = self.residual(q, np.arange(self.count)), self.mechanism.nv
        places = [column.entry.place.v.start + column.entry.index for column in self.rates]  # type: ignore[union-attr]
        given = np.zeros((self.count, len(places)))
        for i, column in enumerate(self.rates):
            given[:, i] = column.values
        wanted = np.concatenate([-at.drift, given], axis=1)
        if not wanted.size or not wanted.any():
            return np.zeros((self.count, nv)), np.ones(self.count, dtype=bool)
        rows = np.broadcast_to(np.eye(nv)[places], (self.count, len(places), nv))
        matrix = np.concatenate([at.J, rows], axis=1)
        sound = np.isfinite(matrix).all(axis=(1, 2))
        inverse = np.linalg.pinv(np.where(sound[:, None, None], matrix, 0.0), rcond=RANK)
        v = inverse @ wanted[..., None]
        v = v + inverse @ (wanted[..., None] - matrix @ v)
        miss = np.abs(matrix @ v - wanted[..., None]).max(axis=(1, 2), initial=0.0)
        fits = miss <= 1e-9 * np.maximum(1.0, np.abs(wanted).max(axis=1, initial=0.0))
        return v[..., 0], sound & fits

    # --- what rows are measured by ---

    @cached_property
    def lengths(self) -> Array:
        """The characteristic length of each row (assemble.py)."""
        evaluated = self.system.mechanism.evaluated(self.system._free.names_of(self.rows))
        longest = offset_lengths(evaluated, self.count).max(axis=0, initial=0.0)
        return np.where(longest > 0, longest, 1.0)

    @cached_property
    def tolerances(self) -> Array:
        return CLOSED * np.maximum(1.0, self.lengths)

    @cached_property
    def scales(self) -> Array:
        """How far each velocity may carry: k x nv."""
        units = [unit for body in self._free_bodies() for unit in rate_units(body.connection.joint)]
        slides = np.array([unit == "m" for unit in units], dtype=bool)
        return np.where(slides[None, :], self.lengths[:, None], 1.0)

    # --- closure errors and Jacobians ---

    def residual(self, q: Array, rows: Indices) -> _Residual:
        """Of some rows, at configurations q."""
        flat, nv = self._measure(q, rows), self.mechanism.nv
        table = flat.reshape(len(q), flat.shape[1] // (nv + 2), nv + 2)
        return _Residual(table[..., 0].copy(), table[..., 1].copy(), table[..., 2:].copy())

    @cached_property
    def _measure(self) -> Callable[[Array, Indices], Array]:
        """Rows of `constraint_rows` one after the other, by machine code or, where that would be long, by NumPy."""
        if not self.mechanism.loops:
            return lambda q, rows: np.zeros((len(q), 0))
        system = self.system
        kernel = kept(system, "constraint rows", lambda: kernel_of_configuration(system.mechanism, _flat))
        if kernel is None:
            return self._by_numpy
        t = np.array([self.t])

        def measured(q: Array, rows: Indices) -> Array:
            constants = [np.ascontiguousarray(self.rows[rows])] if system.mechanism.free else []
            return np.asarray(kernel([np.ascontiguousarray(q), t, *constants]))

        return measured

    def _by_numpy(self, q: Array, rows: Indices) -> Array:
        names = self.system._free.names_of(self.rows[rows])
        found = _flat(self.system.mechanism.evaluated(names), [*q.T], self.t, names)
        return np.stack([np.broadcast_to(np.asarray(x, dtype=float), len(q)) for x in found], axis=1)


def offset_lengths(mechanism: Mechanism, count: int) -> Array:
    """n x count: how far each frame of a joint is from the frame of its body (m), of a mechanism in batches."""
    places = [body.mount for body in mechanism.bodies]
    places += [end.placement for loop in mechanism.loops for end in (loop.first, loop.second)]
    found = [np.sqrt(sum(np.square(x, dtype=float) for x in X.offset)) for X in places]
    return np.array([np.broadcast_to(length, count) for length in found]).reshape(-1, count)


def _flat(
    told: Mechanism, q: Sequence[Scalar], t: Scalar, parameters: Names, run: Runner | None = None
) -> list[Scalar]:
    """Error, drift and Jacobian of each row."""
    return [x for row in constraint_rows(told, q, t, parameters) for x in (row.error, row.drift, *row.J)]


def _of_row(columns: Sequence[Column], k: int) -> dict[str, Any]:
    """What a row says by name, as `assemble` takes it."""
    found: dict[str, list[float]] = {}
    for column in columns:
        values = np.broadcast_to(column.values, (max(k + 1, column.values.size),))
        found.setdefault(column.key, []).append(float(values[k]))
    return {key: numbers if len(numbers) > 1 else numbers[0] for key, numbers in found.items()}
