"""Initial velocities: those that are given, all loops kept closed, and otherwise nearest to rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from momentree.assembly.configuration import Array, Configuration, constraint_names
from momentree.assembly.named_values import Entry, velocities_given
from momentree.assembly.nearby_configurations import constraints_at, regular_rank
from momentree.assembly.scaled_constraints import CUT_OFF, ScaledConstraints, Scales
from momentree.errors import AssemblyError
from momentree.structure.mechanism import Mechanism

FITS = 1e-9  # scaled, by the largest velocity: tolerated error of the given ones
DISTINCT = 1e-7  # strength of the weakest direction from which on round-off of closing does not decide its branch
ROUND_OFF = 1e-12  # strength below which a direction is mere round-off


def closed_velocities(
    mechanism: Mechanism, q: Array, given: Mapping[str, Any], t: float, unmoved: bool = False
) -> Array:
    """The velocities nearest to rest that have the given ones and keep everything closed.

    `unmoved`: every coordinate is as it was asked for. Otherwise, so near to a toggle that closing cannot tell which
    branch it is on, velocities must say it.
    """
    at = Configuration(mechanism, q, t=t)
    entries = list(velocities_given(mechanism, given))
    still = [at.velocities_of(e.joint)[e.index] for e in entries]  # of a closing joint, from prescribed motion alone
    wanted = np.concatenate([-at.constraint_velocities(), [e.value - s for e, s in zip(entries, still, strict=True)]])
    if not wanted.any():
        return np.zeros(mechanism.nv)
    slopes = [(at.velocity_slopes(entry.joint)[entry.index], entry.velocity_unit) for entry in entries]
    scales = Scales(mechanism)
    rows = scales.scaled(at, on_velocities=True, more=slopes)
    cut = _cut_off(at, rows, unmoved, entries)
    right = rows.scaled(wanted)
    v = rows.shortest(right, cut)
    v = v + rows.shortest(right - rows.J @ (v / rows.column_scales), cut)
    size = max(float(np.abs(x).max(initial=0.0)) for x in (right, v / rows.column_scales, _carried(at)))
    try:
        _check_fit(mechanism, entries, rows, right - rows.J @ (v / rows.column_scales), size)
    except AssemblyError:
        if entries:
            closed_velocities(mechanism, q, {}, t, unmoved)  # constraints that contradict each other are named first
        raise
    return v


def _carried(at: Configuration) -> Array:
    """How fast both ends of each loop move by prescribed motion alone (1/s): their difference has its round-off.

    So have velocities of named frames in constraints, as seen from a moving ground.
    """
    mechanism, velocities = at.mechanism, [np.zeros(0)]
    loops = zip(mechanism.loops, mechanism.loop_sizes, strict=True)
    ends = [(end, length) for loop, length in loops for end in (loop.first, loop.second)]
    named = {r.name for constraint in mechanism.constraints for r in constraint.expression.references()}
    ends += [(frame, mechanism.size) for name, frame in mechanism.frames if name in named]
    for end, length in ends:
        motion = end.placement.motion(at.moving.bodies[end.body].v)
        velocities.append(np.array([*(x / length for x in motion.linear), *motion.angular], dtype=float))
    return np.concatenate(velocities)


def _cut_off(at: Configuration, rows: ScaledConstraints, unmoved: bool, entries: Sequence[Entry]) -> float:
    """Which directions of the constraints count: near a toggle as many as elsewhere, if they are distinct."""
    mechanism, closure = at.mechanism, constraints_at(at)
    if not closure.dense or not len(closure.constraint_scales):
        return CUT_OFF
    rank = closure.rank(CUT_OFF)
    regular = _regular_rank(at, rank)
    if rank >= regular:
        return CUT_OFF
    weakest = float(closure.strengths[regular - 1])
    below = float(closure.strengths[regular]) if len(closure.strengths) > regular else 0.0
    distinct = weakest > (ROUND_OFF if unmoved else DISTINCT)
    if distinct and below < 0.01 * weakest:
        return float(np.sqrt(max(below, 1e-3 * weakest) * weakest))
    if rows.rank(CUT_OFF) < mechanism.nv:
        raise AssemblyError(_ambiguous(mechanism, closure, rank, regular, entries))
    return CUT_OFF


def freedoms(at: Configuration) -> int:
    """Degrees of freedom of the mechanism where its constraints are not singular."""
    return at.mechanism.nv - _regular_rank(at, constraints_at(at).rank(CUT_OFF))


def _regular_rank(at: Configuration, rank: int) -> int:
    """The rank where the constraints are not singular: cached for all configurations that have it too."""
    regular: int | None = vars(at.mechanism).get("_regular_rank")
    if regular is None or rank != regular:
        regular = regular_rank(at)
        vars(at.mechanism).setdefault("_regular_rank", regular)
    return regular


def _ambiguous(
    mechanism: Mechanism, closure: ScaledConstraints, rank: int, regular: int, entries: Sequence[Entry]
) -> str:
    """Which motion is ambiguous, and which velocities would decide it."""
    given = {entry.joint for entry in entries}
    _, sizes, V = np.linalg.svd(closure.J)
    free = V[rank:].T  # motions that the strong directions let pass
    moves = np.abs(free).max(axis=1) > 1e-3
    names = [
        str(name) for name, moving in zip(mechanism.velocities, moves, strict=True) if moving and name.name not in given
    ]
    more = "one velocity" if regular - rank == 1 else f"{regular - rank} velocities"
    message = f"the configuration is a toggle, within {float(sizes[regular - 1]):.1e} rad: the constraints have rank"
    message = f"{message} {rank} there, {regular} elsewhere, so that the motion is ambiguous"
    choose = f"Give {more} more, of {' or '.join(names[:6])}" if names else "Give more velocities"
    return f"{message}. {choose}, or all coordinates of a configuration on the branch that is meant."


def _check_fit(
    mechanism: Mechanism, entries: Sequence[Entry], rows: ScaledConstraints, residual: Array, size: float
) -> None:
    """The residual must be what redundant constraints leave, within their tolerance."""
    loops = len(rows.constraint_scales) - len(entries) - len(mechanism.constraints)
    limit = np.full(len(residual), FITS)
    limit[:loops] = CUT_OFF
    if (np.abs(residual) <= limit * size).all():
        return
    miss = float(np.abs(residual * rows.constraint_scales).max())
    names = constraint_names(mechanism, on_velocities=True)
    share = np.abs(residual[: len(names)])
    open_rows = [name for name, x in zip(names, share, strict=True) if x > 0.01 * share.max(initial=0.0) > 0]
    if not entries and not mechanism.has_prescribed_motion:
        listed = ", ".join(map(repr, open_rows[:6]))
        conflict = f"velocities under the constraints {listed} contradict each other, by {miss:.4g} at best"
        raise AssemblyError(f"{conflict}. Change one of them.")
    given_velocities = ", ".join(f"{e.label}={e.value:g}" for e in entries)
    driven = ", ".join(f"'{body.joint.name}'" for body in mechanism.bodies if body.laws)
    cause = f"the velocities {given_velocities}" if entries else f"the prescribed motions of joints {driven}"
    way_out = "Give fewer." if entries else "Leave one of the joints free."
    raise AssemblyError(f"{cause} do not fit together: they open the loops at {miss:.4g} m/s or rad/s. {way_out}")
