"""Checks of a programme on a mechanism, at its assembled configuration and nearby: constraints that are independent.

A box of coordinates, as for programmes given by expressions, would hold no configuration with closed loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from momentree.analyse.programmes.checks import Fields, Region, Rows, check_fields
from momentree.assembly.assemble import initial_state
from momentree.assembly.configuration import Array, Configuration
from momentree.assembly.nearby_configurations import nearby_configurations
from momentree.assembly.scaled_constraints import CUT_OFF, Scales
from momentree.errors import MomentreeError
from momentree.structure.programme_mechanism import ProgrammeMechanism

NEARBY = 3  # configurations of a tree that are tried besides the assembled one
STEP = 0.2  # how far they are, in rad and sizes of the mechanism
MISSED = 1e-6  # of its terms: what the velocity of a constraint may be
SHARE = 1e-6  # of the largest weight: what counts in a combination


class Sampled(NamedTuple):
    """A programme at k configurations: rows a (k, m, n) and b (k, m), v (k, n), mass matrix and dissipation."""

    q: Array
    t: Array
    a: Array
    b: Array
    fields: Fields


def configurations(given: ProgrammeMechanism) -> tuple[Array, float]:
    """q (k, n) with closed loops, the assembled one first, and the time there."""
    own = given.own.at_defaults()
    state = initial_state(own, given.model)
    here = Configuration(own, state.q, t=state.t)
    near = [closed.at.q for closed in nearby_configurations(here) if closed.misfit <= 1]
    if not own.constrained:
        steps = np.random.default_rng(2019).uniform(-STEP, STEP, (NEARBY, own.nq))
        near = list(state.q + steps * Scales(own).columns)
    return np.stack([state.q, *near]), state.t


def check_on_mechanism(
    given: ProgrammeMechanism, names: Sequence[str], sampled: Callable[[Array, Array], Sampled], dissipative: bool
) -> None:
    """Raise the first thing that is wrong; `names` are those of the rows."""
    q, t = configurations(given)
    s = sampled(q, np.full(len(q), t))
    everywhere = Region((*given.coordinates, "t"), ((0.0, 0.0),) * (s.q.shape[1] + 1))
    rows = Rows(everywhere, s.q, s.t, s.a[:, :0], s.b[:, :0])
    _check_independent(given, names, s, rows)
    _check_satisfied(names, s, rows, Scales(given.own.at_defaults()).columns)
    check_fields(rows, s.fields, (), "", dissipative)


def _check_independent(given: ProgrammeMechanism, names: Sequence[str], s: Sampled, rows: Rows) -> None:
    """At some configuration each constraint of the programme must restrain what the others leave free."""
    own = np.array([name not in given.texts for name in names], dtype=bool)
    if own.all():
        return
    a = s.a * Scales(given.own.at_defaults()).columns
    sizes = np.linalg.norm(a, axis=2)
    unit = a / np.where(sizes > 0, sizes, 1.0)[:, :, None]
    ranks = [(_rank(each[own]), _rank(each)) for each in unit]
    if any(every == part + int((~own).sum()) for part, every in ranks):
        return
    order = [*np.flatnonzero(own), *np.flatnonzero(~own)]
    k = max(range(len(unit)), key=lambda k: (ranks[k][1], (sizes[k] > 0).sum()))  # the least singular
    for count in range(int(own.sum()), len(order)):
        before, row = order[:count], order[count]
        if _rank(unit[k][order[: count + 1]]) == _rank(unit[k][before]):
            _refuse(names, s, rows.at(k), k, before, row, sizes[k, row] == 0)


def _refuse(names: Sequence[str], s: Sampled, where: str, k: int, before: Sequence[int], row: int, empty: bool) -> None:
    """`row` is a combination of those before it."""
    if empty:
        message = f"programme: '{names[row]}' restrains no velocity"
        raise MomentreeError(f"{message}, for example at {where}. Name what moves, or leave it out.")
    weights = np.linalg.lstsq(s.a[k, before].T, s.a[k, row], rcond=CUT_OFF)[0]
    among = [names[i] for i, w in zip(before, weights, strict=True) if abs(w) > SHARE * np.abs(weights).max()]
    left = float(s.b[k, row] - weights @ s.b[k, before])
    terms = abs(float(s.b[k, row])) + float(np.abs(weights) @ np.abs(s.b[k, before]))
    several = "; ".join(dict.fromkeys(f"'{name}'" for name in among))
    message = f"programme: '{names[row]}' follows from {several}, for example at {where}"
    if abs(left) > MISSED * terms:
        raise MomentreeError(f"{message}, and contradicts them by {left:.4g}. Correct one of them, or leave it out.")
    raise MomentreeError(f"{message}. Leave it out: the mechanism has no freedom for it.")


def _check_satisfied(names: Sequence[str], s: Sampled, rows: Rows, scales: Array) -> None:
    """a v = b at one of the configurations at least; others may be singular."""
    missed = _missed(s.a, s.b, s.fields.v, scales)
    if missed.size and not (missed <= MISSED).all(axis=1).any():
        _refuse_missed(names, missed[0], rows.at(0))


def _missed(a: Array, b: Array, v: Array, scales: Array) -> Array:
    """(k, m): a v - b of each row, by the size of its terms."""
    terms = np.abs(a * scales).sum(axis=2) * np.abs(v / scales).max(axis=1)[:, None] + np.abs(b)
    return np.asarray(np.abs(np.einsum("kmn,kn->km", a, v) - b) / np.where(terms > 0, terms, 1.0))


def _refuse_missed(names: Sequence[str], missed: Array, where: str) -> None:
    row = int(np.nan_to_num(missed, nan=np.inf).argmax())
    message = f"programme: no velocities satisfy '{names[row]}' at {where}: the constraints are singular there"
    raise MomentreeError(f"{message}. Start elsewhere, or change them.")


def _rank(rows: Array) -> int:
    return int(np.linalg.matrix_rank(rows, tol=CUT_OFF)) if rows.size else 0


class Start(NamedTuple):
    """Where a motion begins: q and t, velocities and those of the programme, rows a (m, n) and b (m)."""

    q: Array
    t: float
    qd: Array
    v: Array
    a: Array
    b: Array


def check_start(given: ProgrammeMechanism, names: Sequence[str], at: Start) -> None:
    """The programme must be defined there, and deviations must not open what exists physically."""
    scales = Scales(given.own.at_defaults()).columns
    missed = _missed(at.a[None], at.b[None], at.v[None], scales)[0]
    if missed.size and not missed.max() <= MISSED:
        where = Region((*given.coordinates, "t"), ()).words(at.q, at.t)
        _refuse_missed(names, missed, where)
    fastest = max(np.abs(x / scales).max(initial=0.0) for x in (at.qd, at.v))
    for name, row in zip(names, at.a, strict=True):
        opening = abs(float(row @ (at.qd - at.v)))
        if name not in given.texts and opening > MISSED * float(np.abs(row * scales).sum()) * fastest:
            message = f"programme: the velocities open '{name}' by {opening:.3g}, and the mechanism cannot move so"
            raise MomentreeError(f"{message}. Make them by system.assemble(..., velocities=...), or leave out qd.")
