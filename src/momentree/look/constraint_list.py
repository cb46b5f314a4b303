"""The constraints of a system besides its joints: higher pairs, couplings and expressions, by names."""

from __future__ import annotations

from typing import Any, NamedTuple

from momentree.model.higher_pairs import HigherPair, OnSurfaces
from momentree.structure import Structure
from momentree.structure.constraint_formulas import FrozenFormula
from momentree.structure.mechanism import Loop, Mechanism


class ListedConstraint(NamedTuple):
    """A constraint by names.

    | field     | meaning                                                                               |
    |-----------|---------------------------------------------------------------------------------------|
    | kind      | Rolling, Skating, Distance, OnSurfaces; or gear, belt, ..., constraint                |
    | pair      | whether it is a higher pair                                                           |
    | between   | the two bodies of a pair; the joints and frames that an expression names              |
    | bodies    | their numbers: of the pair, or after the joints and of the frames                     |
    | holonomic | of each of its rows: whether it constrains positions                                  |
    | equations | expressions that it keeps at zero; none of a pair without                             |
    """

    name: str
    kind: str
    pair: bool
    between: tuple[str, ...]
    bodies: tuple[int, ...]
    holonomic: tuple[bool, ...]
    equations: tuple[str, ...]

    @property
    def position_rows(self) -> int:
        return sum(self.holonomic)

    @property
    def velocity_rows(self) -> int:
        return len(self.holonomic) - sum(self.holonomic)


def listed_constraints(structure: Structure) -> list[ListedConstraint]:
    """Higher pairs, then expression constraints, in the order of the mechanism."""
    mechanism = structure.mechanism
    pairs = [_pair(structure, loop) for loop in mechanism.loops if isinstance(loop.joint_type, HigherPair)]
    return pairs + [_expression(mechanism, of) for of in mechanism.constraint_formulas]


def constraint_data(constraint: ListedConstraint) -> dict[str, Any]:
    """As plain data, for --json."""
    return {
        "name": constraint.name,
        "kind": constraint.kind,
        "between": list(constraint.between),
        "constraints": len(constraint.holonomic),
        "holonomic": list(constraint.holonomic),
        "equations": list(constraint.equations),
    }


def _pair(structure: Structure, loop: Loop) -> ListedConstraint:
    pair, numbers = loop.joint_type, (loop.first.body, loop.second.body)
    bodies = tuple(structure.bodies[number] for number in numbers)
    surfaces = tuple(f"{g} = 0" for g in pair.expressions) if isinstance(pair, OnSurfaces) else ()
    holonomic = tuple(row.holonomic for row in loop.rows)
    return ListedConstraint(loop.name, pair.kind, True, bodies, numbers, holonomic, surfaces)


def _expression(mechanism: Mechanism, of: FrozenFormula) -> ListedConstraint:
    joints = tuple(mechanism.bodies[number - 1].joint.name for number in of.bodies)
    numbers = tuple(dict.fromkeys([*of.bodies, *(frame.body for frame in of.frames)]))
    between, constraint = (*joints, *of.frame_names), of.constraint
    equations = (f"{constraint.expression} = 0",)
    return ListedConstraint(
        constraint.name, constraint.kind, False, between, numbers, (constraint.holonomic,), equations
    )
