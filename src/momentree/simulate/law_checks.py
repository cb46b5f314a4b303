"""Laws of motion, torque and force with which no integrator can go on: not finite, without bound, or with jumps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from momentree.assembly.configuration import Array
from momentree.assembly.configuration_space import integrate
from momentree.equations.articulated import forward_dynamics
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import laws_of, names_of
from momentree.equations.kinematics import records
from momentree.errors import MomentreeError
from momentree.model.expressions.expression import Expression, Reference
from momentree.model.expressions.lookup import beyond_tables
from momentree.model.values import TIME
from momentree.structure.mechanism import Mechanism

LITTLE, JUMP, MOST_TRIED = 1e-6, 0.1, 60  # what jumps: changes by so much of itself; how many velocities are tried
HALVINGS, MOST_SUSPECTS = 16, 8  # of the way in which it changes; laws that are looked at so


def laws_without_value(mechanism: Mechanism, q: Array, v: Array, t: float, ahead: float) -> list[str]:
    """Laws that have no finite value a little ahead, as the user knows them."""
    if ahead:
        a = np.array(forward_dynamics(Evaluation(mechanism, q.tolist(), t), v.tolist(), [0.0] * len(v)), dtype=float)
        q, v = integrate(mechanism, q, ahead * v), v + ahead * a
    without = []
    for name, laws, names in _laws_at(mechanism, q, v, t + ahead):
        if not all(math.isfinite(_value(law, names)) for law in laws):
            reasons = dict.fromkeys(reason for law in laws for reason in beyond_tables(law, names))
            without.append(f"{name} has no finite value{': ' if reasons else ''}{'; '.join(reasons)}")
    return without


def unbounded_laws(mechanism: Mechanism, q: Array, v: Array, t: float) -> list[str]:
    """Laws that are many times what they were a billionth of a second, or of the time, before, or 100 times that."""
    now, unbounded = law_values(mechanism, q, v, t), dict[str, None]()
    for part in (1e-9, 1e-7):
        before = law_values(mechanism, q, v, t - part * max(abs(t), 1.0))
        unbounded |= dict.fromkeys(law for law in now if abs(now[law]) > 10 * (1 + abs(before.get(law, 0.0))))
    return [f"{law} grows without bound" for law in unbounded]


def discontinuous_laws(mechanism: Mechanism, q: Array, v: Array, t: float) -> list[str]:
    """Laws that jump where velocities or coordinates are a little larger or smaller; those that are steep do not."""
    now, suspects = law_values(mechanism, q, v, t), dict[str, tuple[float, Array]]()
    least = {law: JUMP * max(abs(value), math.sqrt(LITTLE)) for law, value in now.items()}
    for little in LITTLE * np.eye(mechanism.nv)[:MOST_TRIED]:
        for moved in (-little, little):
            for law, value in law_values(mechanism, integrate(mechanism, q, moved), v + moved, t).items():
                change = abs(value - now[law]) / least[law]
                if change > suspects.get(law, (1.0, moved))[0]:
                    suspects[law] = change, moved
    most = sorted(suspects, key=lambda law: -suspects[law][0])[:MOST_SUSPECTS]
    return [f"{law} jumps there" for law in now if law in most and _jumps(mechanism, q, v, t, law, suspects[law][1])]


def _jumps(mechanism: Mechanism, q: Array, v: Array, t: float, law: str, moved: Array) -> bool:
    """Whether what a law changes by remains when the way is halved again and again: what is only steep changes less."""

    def value(part: float) -> float:
        return law_values(mechanism, integrate(mechanism, q, part * moved), v + part * moved, t)[law]

    low, high, below, above = 0.0, 1.0, value(0.0), value(1.0)
    whole = abs(above - below)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        between = value(middle)
        if abs(between - below) > abs(above - between):
            high, above = middle, between
        else:
            low, below = middle, between
    return abs(above - below) > whole / 4  # in two halves where a sign is 0 between them


def law_values(mechanism: Mechanism, q: Array, v: Array, t: float) -> dict[str, float]:
    """The value of each law by what it is called; of a motion, the largest of the law and its derivatives."""
    laws = _laws_at(mechanism, q, v, t)
    return {name: max((_value(law, names) for law in levels), key=_magnitude) for name, levels, names in laws}


def _laws_at(
    mechanism: Mechanism, q: Array, v: Array, t: float
) -> Iterator[tuple[str, Sequence[Expression], Mapping[Reference, Any]]]:
    """Each law by what it is called, a motion with its derivatives, and the values of the names in it.

    Where a motion has no value, nothing else has one, and only motions are listed. Of constraints, those beyond the
    ends of a table.
    """
    motions = [(f"the motion of {body.joint.name}", body.laws) for body in mechanism.bodies if body.laws]
    motions += [("the motion of the ground", mechanism.ground)] if mechanism.ground else []
    now, finite = {TIME: t}, True
    for name, levels in motions:
        for level in zip(*levels, strict=True):
            finite = finite and all(math.isfinite(_value(law, now)) for law in level)
            yield f"{name}, {level[0]}, or a derivative of it", level, now
    if finite:
        at = Evaluation(mechanism, q.tolist(), t)
        names = names_of(at, records(at, v.tolist()))
        for name, law in laws_of(mechanism):
            yield f"{name}, {law},", (law,), names
        for constraint in mechanism.constraints:
            if beyond_tables(constraint.expression, names):
                yield f"the constraint {constraint.name}, {constraint.expression} = 0,", (constraint.expression,), names


def _value(law: Any, names: Mapping[Any, Any]) -> float:
    try:
        return float(law.evaluate(names))
    except (ArithmeticError, ValueError, MomentreeError):
        return math.nan


def _magnitude(value: float) -> float:
    return abs(value) if math.isfinite(value) else math.inf
