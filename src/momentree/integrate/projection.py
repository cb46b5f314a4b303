"""Projection after a step onto the constraints of loops: positions first, then momenta or velocities."""

from __future__ import annotations

from typing import NamedTuple

from momentree.compile.emit.lanes import LanesCode
from momentree.compile.trace.right_hand_sides import closed_code, positions_code
from momentree.equations.formulations import Formulation
from momentree.equations.loops.constraint_jacobian import typical_norms
from momentree.spatial import ZERO
from momentree.structure.mechanism import Mechanism

NEWTON, NEAR = 4, 1e-7  # steps of Newton's method, at most; the last is one that changed q by less
OPEN = 2e-6  # closure error, by the size of the mechanism, up to which loops count as closed after twice as many steps
CLOSED = 1e-9  # the same for linkages that close but for round-off
ROUND_OFF = 1e-13  # of coordinates, which Newton's method does not go below


class Projection(NamedTuple):
    """Closes loops after a step.

    | field     | meaning                                                                                      |
    |-----------|----------------------------------------------------------------------------------------------|
    | positions | code of q moved towards where loops close; behind it the closure errors before               |
    | momenta   | code of the momenta or velocities then; None: impulses stay in them, and must leak away      |
    | nq, nv    | numbers of coordinates and of momenta or velocities                                          |
    | sizes     | the length by which each closure error is divided                                            |
    | near      | the change of q below which no further Newton step is needed                                 |
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
    """The projection for an integrator; positions alone where impulses leak away."""
    closed = None if leaking else closed_code(mechanism, formulation, code)
    sizes, near = closure_sizes(mechanism), least_move(mechanism)
    return Projection(positions_code(mechanism, code), closed, mechanism.nq, mechanism.nv, sizes, near)


def closure_sizes(mechanism: Mechanism) -> tuple[float, ...]:
    """The length by which each closure error is divided."""
    loops = zip(mechanism.loop_constraints, mechanism.loop_sizes, strict=True)
    rows = [(row, size) for constraints, size in loops for row in constraints]
    sizes = tuple(size if row.linear != ZERO else 1.0 for row, size in rows)
    return sizes + tuple(typical_norms(mechanism.at_defaults()))


def least_move(mechanism: Mechanism) -> float:
    """The change of q below which no further Newton step is needed."""
    return max(NEAR * min(mechanism.size, 1.0), ROUND_OFF)
