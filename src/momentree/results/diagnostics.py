"""Diagnostics: warnings of a run that was cut short, whose loops open, whose energy is out of balance, that slips.

| measure                                                         | limit                                            |
|-----------------------------------------------------------------|--------------------------------------------------|
| closure error, by the size of the mechanism; angles as they are | 1e-6, 100 rtol or the length tolerance, the most |
| its velocity, by size and by the fastest velocity               | the same                                         |
| imbalance of energy, by the energy exchanged                    | 1e4 rtol, or 1e-6 where that is more,            |
|                                                                 | and round-off of the largest energy              |
| strength of constraints (scaled singular values of J)           | not from 1e-7 to 5e-5 from the start to the end  |
| rounding of the time after each step, summed up                 | 1e-8 or 10 rtol of the duration, the most        |
| normal force of a rolling contact                               | it pushes, but for round-off                     |
| coefficient of friction that it needs                           | its `friction`, where one is given               |
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from momentree.assembly.configuration import Array, Configuration, constraint_names
from momentree.assembly.samples import Samples
from momentree.assembly.scaled_constraints import LARGEST_DENSE, Scales
from momentree.integrate.methods import METHODS

if TYPE_CHECKING:
    from momentree.results.run import Run

CLOSURE_ERROR, CLOSURE_ERROR_BY_TOLERANCE = 1e-6, 100.0
IMBALANCE_BY_TOLERANCE, IMBALANCE = 1e4, 1e-6
LATE, LATE_BY_TOLERANCE = 1e-8, 10.0
ROUND_OFF = 1e-12
WEAK = (1e-7, 5e-5)  # strengths of constraints that are neither redundant nor surely independent
RTOL = 1e-8  # of a simulation that has none


def warnings_of(run: Run) -> Iterator[str]:
    """Warnings, each with its time, its culprit and the way out."""
    end = run.end
    if end.reason == "failed":
        yield f"the simulation failed at t = {end.t:.9g} s: {end.message or 'the reason is unknown.'}"
    if end.reason == "interrupted":
        until = run.settings.get("t_end")
        yield f"the simulation was interrupted at t = {end.t:g} s{f' of {until:g} s' if until is not None else ''}."
    yield from _opened(run)
    yield from _nearly_singular(run)
    yield from _out_of_balance(run)
    yield from _far_from_zero(run)
    yield from _slipping(run)


def tolerance(run: Run) -> float:
    """The relative tolerance that the simulation was asked for; where it switched, that of the second integrator."""
    asked = run.settings.get("rtol")
    if run.statistics.switched_to:
        asked = run.settings.get("rtol_if_stiff") or asked
    return float(asked) if isinstance(asked, (int, float)) else RTOL


def closure_limit(run: Run) -> float:
    """The largest closure error without a warning, by the size of the mechanism; angles as they are."""
    by_size = run.mechanism.tolerance / run.mechanism.size
    return float(max(CLOSURE_ERROR, CLOSURE_ERROR_BY_TOLERANCE * tolerance(run), by_size))


def closure_scales(run: Run) -> tuple[float, float, float, float]:
    """What closure errors (m, rad) and their velocities (m/s, rad/s) are compared with, column by column."""
    size, speed = run.mechanism.size, max(1.0, float(np.abs(run.v).max(initial=0.0)))
    return size, 1.0, size * speed, speed


def energy_limit(run: Run) -> float:
    """The largest imbalance of energy without a warning (J)."""
    account, part = run.energy, energy_share(run)
    largest = float(np.abs(account.kinetic).max(initial=0.0) + np.abs(account.potential).max(initial=0.0))
    return part * account.through + ROUND_OFF * largest


def energy_share(run: Run) -> float:
    """The part of the energy exchanged that may be out of balance."""
    return max(IMBALANCE_BY_TOLERANCE * tolerance(run), IMBALANCE)


def _opened(run: Run) -> Iterator[str]:
    if not len(run.t) or not (run.mechanism.whole or run.mechanism).constrained:
        return
    limit, scaled = closure_limit(run), run.openings / closure_scales(run)
    closure_errors, velocities = scaled[:, :2], scaled[:, 2:]
    for what, unit, relative, measure in (
        ("closure error", "m or rad", closure_errors, run.closure_error),
        ("velocity", "m/s or rad/s", velocities, run.closure_velocity),
    ):
        worst = worst_of(relative.max(axis=1))
        if not relative[worst].max() <= limit:
            yield (
                f"{_culprit(run, worst, what)} opens: {what} {measure[worst]:.3g} {unit} at t = {run.t[worst]:g} s, "
                f'more than {limit:.1e} of its size. Use stabilization="project" or a smaller rtol.'
            )
            return  # what opens also moves


def _culprit(run: Run, index: int, what: str) -> str:
    """The constraint with the largest violation: "C: translation along x"."""
    part, mechanism = slice(index, index + 1), run.mechanism_at(index)
    with np.errstate(all="ignore"):
        at = Samples(mechanism, run.q[part], run.v[part], run.t[part])
        violations = np.abs(at.closure_errors() if what == "closure error" else at.constraint_velocities())[0]
    names = constraint_names(mechanism, on_velocities=what != "closure error")
    return f"'{names[worst_of(violations)]}'"


def _nearly_singular(run: Run) -> Iterator[str]:
    """Loops that are so near to a singular configuration, from the start to the end, that it is not clear who moves."""
    if not len(run.t) or not run.mechanism_at(0).constrained or not np.isfinite(run.q[[0, -1]]).all():
        return
    found = [_weak(run, index) for index in (0, len(run.t) - 1)]
    for name in found[0]:
        if name in found[1]:
            yield (
                f"'{name}' is nearly singular from the start to the end: it holds with {found[0][name]:.1e} of what a "
                "constraint usually has, and accelerations along it are not determined. Leave out its joint, or give "
                "lengths and axes that should be exact with all digits; a larger rtol lets steps be longer."
            )


def _weak(run: Run, index: int) -> dict[str, float]:
    """Constraints that are strongest in the weak directions at a sample, and how strong these are."""
    mechanism = run.mechanism_at(index)
    if len(Scales(mechanism).velocity_rows) * mechanism.nv > LARGEST_DENSE:
        return {}
    rows = Scales(mechanism).scaled(Configuration(mechanism, run.q[index], t=float(run.t[index])), on_velocities=True)
    if not rows.dense:
        return {}
    names = constraint_names(mechanism, on_velocities=True)
    weak = [k for k, strength in enumerate(rows.strengths) if WEAK[0] < strength < WEAK[1]]
    return {names[int(np.abs(rows.directions[:, k]).argmax())]: float(rows.strengths[k]) for k in weak}


def _out_of_balance(run: Run) -> Iterator[str]:
    account = run.energy
    if not len(run.t):
        return
    if not account.error <= energy_limit(run):
        worst = worst_of(np.abs(account.balance))
        yield (
            f"energy is out of balance by {account.error:.3g} J at t = {run.t[worst]:g} s; {account.through:.3g} J "
            f"was exchanged, and {energy_share(run):.1e} of that is allowed. Use a smaller rtol or step."
        )


def _far_from_zero(run: Run) -> Iterator[str]:
    """A start at so large a time that steps are rounded with it."""
    if not len(run.t):
        return
    method, steps = METHODS.get(str(run.settings.get("integrator"))), run.statistics.accepted
    rounded = math.sqrt(steps) if method is None or method.adaptive else steps  # the same error in all fixed steps
    late = float(rounded * np.spacing(np.abs(run.t).max()) / 2)
    if late > max(LATE, LATE_BY_TOLERANCE * tolerance(run)) * (run.t[-1] - run.t[0]):
        yield (
            f"at t = {run.t[-1]:g} s numbers are {np.spacing(run.t[-1]):.1g} s apart, and steps are rounded to one: "
            f"the motion may be late by {late:.1g} s. Start at t = 0, with laws that count from there."
        )


def _slipping(run: Run) -> Iterator[str]:
    """Rolling contacts that would lift off, or that need more friction than there is."""
    for name, forces in run.rolling.items() if len(run.t) else ():
        lifted = np.flatnonzero(forces.lifts)
        if len(lifted):
            yield (
                f"rolling contact '{name}' would have to pull from t = {run.t[lifted[0]]:g} s on, with "
                f"{-forces.normal[lifted].min():.3g} N at most: there it lifts off. "
                "End the simulation before, or use m.contact instead of rolling."
            )
        needed = np.nan_to_num(np.where(forces.lifts, 0.0, forces.friction), nan=0.0, posinf=np.inf)
        limit = forces.limit
        if limit is not None and needed.max() > limit * (1 + ROUND_OFF):
            first, worst = int((needed > limit).argmax()), int(needed.argmax())
            most = f"a coefficient of {needed[worst]:.3g} at t = {run.t[worst]:g} s"
            most = (
                most
                if np.isfinite(needed[worst])
                else f"more than any at t = {run.t[worst]:g} s, where nothing presses"
            )
            yield (
                f"rolling contact '{name}' would slip from t = {run.t[first]:g} s on: it needs {most}, and friction "
                f"is {limit:g}. Raise it, or use m.contact, which may slip."
            )


def worst_of(values: Array) -> int:
    """Where the largest is; before it, the first that is no number."""
    unknown = np.flatnonzero(~np.isfinite(values))
    return int(unknown[0]) if len(unknown) else int(values.argmax())
