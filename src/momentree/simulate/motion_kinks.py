"""Kinks of prescribed motions: no step reaches across one, and where a prescribed velocity jumps there is an impact.

A law with abs, sign, min, max or select of time is smooth but where their arguments pass through zero. Where its
velocity jumps, the impulse acts along the prescribed joint alone: coordinates and the momenta of free velocities stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from momentree.assembly.configuration import Configuration
from momentree.assembly.samples import Samples
from momentree.equations.constraint_forces import every_multiplier
from momentree.equations.evaluation import Evaluation
from momentree.equations.formulations import FORMULATIONS
from momentree.equations.hamiltonian import momenta, moving_bodies
from momentree.equations.kinematics import records
from momentree.errors import MomentreeError
from momentree.integrate.stepper import Array
from momentree.model.expressions.derivative import switching_arguments
from momentree.model.expressions.expression import Expression
from momentree.model.values import TIME
from momentree.simulate.settings import Settings
from momentree.structure.locked_joints import unprescribed
from momentree.structure.mechanism import Laws, Mechanism

FEWEST, MOST = 1024, 2**20  # parts of the time that are searched: twice as many until no more kinks are found
AROUND = 8  # spacings of numbers: so near to a kink, steps end and begin
JUMP = 1e-9  # of a value: what changes by more jumps


class Kink(NamedTuple):
    """Where steps end, where the next begins (s), and whether a prescribed velocity may jump between."""

    before: float
    after: float
    jumps: bool


def kinks_between_steps(mechanism: Mechanism, t_start: float, settings: Settings) -> list[Kink]:
    """Those at which steps end: none where they have a fixed size."""
    if settings.method.adaptive:
        return motion_kinks(mechanism, t_start, float(settings.t_end))
    refuse_jumps(mechanism, t_start, settings)
    return []


def motion_kinks(mechanism: Mechanism, t_start: float, t_end: float) -> list[Kink]:
    """Those within this time, in order; a prescribed position that jumps is an error."""
    around = AROUND * float(np.spacing(max(abs(t_start), abs(t_end))))
    laws = [law for _, of in _prescribed(mechanism) for level in of for law in level]
    constraints = [constraint.expression for constraint in mechanism.constraints]
    arguments = dict.fromkeys(one for law in [*laws, *constraints] for one in switching_arguments(law))
    times = {t for one in arguments if one.references() == {TIME} for t in _zeros(one, t_start, t_end)}
    moving, kinks = any(map(switching_arguments, constraints)), list[Kink]()
    for t in sorted(times):
        before, after = t - around, t + around
        if after + around < t_end and not (kinks and before < kinks[-1].after):
            kinks.append(Kink(before, after, moving or bool(_jumping(mechanism, before, after))))
    return kinks


def refuse_jumps(mechanism: Mechanism, t_start: float, settings: Settings) -> None:
    """Prescribed velocities that jump within steps are an error where these are steps of velocities, not of momenta."""
    if FORMULATIONS[settings.formulation].momenta:
        return
    for kink in motion_kinks(mechanism, t_start, float(settings.t_end)):
        for name in _jumping(mechanism, kink.before, kink.after):
            raise MomentreeError(
                f"the motion of {name}: its velocity jumps at t = {kink.after:.9g} s, where steps do not end, and "
                f"formulation='{settings.formulation}' does not see it. Use formulation='hamiltonian', or simulate one "
                "by one with an adaptive integrator."
            )


def _jumping(mechanism: Mechanism, before: float, after: float) -> list[str]:
    """The prescribed joints, and the ground, whose velocities jump between two times."""
    names = []
    for name, laws in _prescribed(mechanism):
        for law in laws.values:
            if _differ((law,), before, after):
                message = f"the motion of {name}, {law}, jumps at t = {after:.9g} s, which no body can"
                raise MomentreeError(f"{message}. Give a law that is continuous.")
        if _differ(laws.velocities, before, after):
            names.append(name)
    return names


def impact_work(
    mechanism: Mechanism, q: Array, before: tuple[Array, float], after: tuple[Array, float]
) -> dict[str, float]:
    """The work (J) of each prescribed motion at such an impact, from velocities at a time to others at another.

    It is the impulse along a prescribed joint, or of a constraint, times the mean velocity; the ground does the rest.
    """
    (q0, u0), (q1, u1) = (_all_moves(mechanism, q, *at) for at in (before, after))
    free, middle = unprescribed(mechanism), (u0 + u1) / 2
    p0, p1 = (
        np.array(momenta(Evaluation(free, x.tolist(), t), u.tolist()), dtype=float)
        for x, u, t in ((q0, u0, before[1]), (q1, u1, after[1]))
    )
    impulses, work = p1 - p0, dict[str, float]()
    if mechanism.constrained:
        p = momenta(Evaluation(mechanism, q.tolist(), before[1]), before[0].tolist())
        moving = moving_bodies(Evaluation(mechanism, q.tolist(), after[1]), p)
        eta = np.array(every_multiplier(mechanism, moving), dtype=float)
        J = Configuration(free, q1, t=after[1]).jacobian(on_velocities=True)
        impulses -= J.T @ eta
        names = [loop.name for loop in mechanism.loops for _ in loop.rows] + [c.name for c in mechanism.constraints]
        for name, change in zip(names, eta * (J @ middle), strict=True):
            work[f"motion of {name}"] = work.get(f"motion of {name}", 0.0) + float(change)
    for own, body in zip(mechanism.bodies, free.bodies, strict=True):
        if own.laws:
            work[f"motion of {own.joint.name}"] = float(impulses[body.v] @ middle[body.v])
    if mechanism.ground:
        both = (Samples(mechanism, q[None], u[None], np.array([t])) for u, t in (before, after))
        earlier, later = (float(samples.energy().total[0]) for samples in both)
        work["motion of the ground"] = later - earlier - sum(work.values())
    return work


def _prescribed(mechanism: Mechanism) -> Iterator[tuple[str, Laws]]:
    for body in mechanism.bodies:
        if body.laws:
            yield f"joint '{body.joint.name}'", body.laws
    if mechanism.ground:
        yield "the ground", mechanism.ground


def _differ(laws: Sequence[Expression], before: float, after: float) -> bool:
    a, b = (np.array([_at(law, np.array(t)) for law in laws]) for t in (before, after))
    return bool((np.abs(a - b) > JUMP * np.maximum(np.abs(a) + np.abs(b), 1.0)).any())


def _at(law: Expression, t: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.broadcast_to(np.asarray(law.evaluate({TIME: t}), dtype=float), t.shape)


def _zeros(argument: Expression, t_start: float, t_end: float) -> set[float]:
    """Where it passes through zero, or begins at zero."""
    parts, found = FEWEST, -1
    while True:
        t = np.linspace(t_start, t_end, parts + 1)
        sign = np.sign(_at(argument, t))
        crossed = np.flatnonzero(sign[:-1] * sign[1:] < 0)
        exact = np.flatnonzero((sign[1:-1] == 0) & (sign[:-2] * sign[2:] < 0)) + 1
        if len(crossed) + len(exact) <= found or parts >= MOST:
            break
        parts, found = 2 * parts, len(crossed) + len(exact)
    low, high = t[crossed], t[crossed + 1]
    for _ in range(64):
        middle = (low + high) / 2
        same = np.sign(_at(argument, middle)) == sign[crossed]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    at_start = [t_start] if sign[0] == 0 and sign[1] != 0 else []
    return {*high.tolist(), *t[exact].tolist(), *at_start}


def _all_moves(mechanism: Mechanism, q: Array, v: Array, t: float) -> tuple[Array, Array]:
    """Coordinates and velocities of all joints of the tree, prescribed ones too."""
    bodies = records(Evaluation(mechanism, q.tolist(), t), v.tolist())[1:]
    all_q, all_u = ([float(x) for body in bodies for x in getattr(body, part)] for part in "qu")
    return np.array(all_q), np.array(all_u)
