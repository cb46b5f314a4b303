"""The elimination of a mechanism's constraints: their rows, plan and reaches, the same at all configurations.

Loops come first, then the constraints that are expressions. Made once with the mechanism (`Mechanism.elimination`) and
used by everything that closes loops.
"""

from __future__ import annotations

from typing import NamedTuple

from momentree.spatial import ZERO, Force, Scalar
from momentree.structure.elimination import ConstraintEnds, EliminationPlan, elimination_plan
from momentree.structure.mechanism import Mechanism
from momentree.structure.reach import Bound, ConstraintReach, Reach, loop_lengths, loop_reach, reaches


class LoopElimination(NamedTuple):
    """How the constraints of a mechanism are eliminated.

    | field   | meaning                                                                        |
    |---------|--------------------------------------------------------------------------------|
    | rows    | of each loop: its constraint rows, wrenches in axes of its first frame         |
    | lengths | of each loop: its perimeter (m)                                                |
    | plan    | where each constraint is closed (structure/elimination.py)                     |
    | reaches | of each body and each row open in it: how much its joint could move it at most |
    """

    rows: tuple[tuple[Force, ...], ...]
    lengths: tuple[Scalar, ...]
    plan: EliminationPlan
    reaches: tuple[tuple[Bound, ...], ...]


def loop_elimination(mechanism: Mechanism, fixed_ground: bool) -> LoopElimination:
    """The elimination of all constraints, on a ground that does not move or accelerate, or on any other."""
    rows, lengths = mechanism.loop_constraints, tuple(loop_lengths(mechanism))
    pairs = list(zip(mechanism.loops, rows, strict=True))
    ends = [ConstraintEnds(len(each), (loop.first.body, loop.second.body)) for loop, each in pairs]
    bounds = [loop_reach(loop, each, length) for (loop, each), length in zip(pairs, lengths, strict=True)]
    for of in mechanism.constraint_formulas:
        ends.append(ConstraintEnds(1, of.ends, len(of.bodies)))
        bounds.append(ConstraintReach(((Reach(0.0, 0.0, ZERO),),) * len(of.ends), 0.0))  # slopes may be of any size
    plan = elimination_plan(mechanism.parents, ends, fixed_ground)
    return LoopElimination(rows, lengths, plan, tuple(reaches(mechanism.bodies, plan, bounds)))
