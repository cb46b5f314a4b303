"""Projection: what closes loops after a step, positions first and then momenta or velocities."""

from __future__ import annotations

from typing import NamedTuple

from momentree.compile.emit.lanes import LanesCode
from momentree.compile.trace.right_hand_sides import closed_code, positions_code
from momentree.equations.formulations import Formulation
from momentree.spatial import ZERO
from momentree.structure.mechanism import Mechanism

NEWTON, NEAR = 4, 1e-7  # steps of Newton's method that close loops, at most; the last is one that moved q by less
OPEN = 2e-6  # closure error, by the size of the mechanism, up to which loops count as closed after twice as many steps
CLOSED = 1e-9  # the same of linkages that close but for round-off
ROUND_OFF = 1e-13  # of coordinates, which Newton's method does not go below


class Projection(NamedTuple):
    """What closes loops after a step.

    | field     | meaning                                                                                      |
    |-----------|----------------------------------------------------------------------------------------------|
    | positions | code of q moved towards where loops close; behind it the closure errors before               |
    | momenta   | code of what stands behind q then; None: impulses stay in the momenta, and must leak away    |
    | nq, nv    | how many coordinates there are, and momenta                                                  |
    | sizes     | of each closure error, what it is divided by                                                 |
    | near      | the move of q after which no further one is needed                                           |
    """

    positions: LanesCode
    momenta: LanesCode | None
    nq: int
    nv: int
    sizes: tuple[float, ...]
    near: float = NEAR


def projection_of(
    mechanism: Mechanism, formulation: Formulation, code: str | None = None, leaking: bool = False
) -> Projection:
    """What closes loops after a step of an integrator; of one that lets impulses leak away, positions alone."""
    closed = None if leaking else closed_code(mechanism, formulation, code)
    loops = zip(mechanism.loop_constraints, mechanism.loop_sizes, strict=True)
    rows = [(row, size) for constraints, size in loops for row in constraints]
    sizes = tuple(size if row.linear != ZERO else 1.0 for row, size in rows)
    near = max(NEAR * min(mechanism.size, 1.0), ROUND_OFF)
    return Projection(positions_code(mechanism, code), closed, mechanism.nq, mechanism.nv, sizes, near)
