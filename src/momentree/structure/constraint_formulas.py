"""Formulas of expression constraints: slopes along joints and frames, their derivatives, and what they start from.

A constraint keeps an expression g at zero. With the coordinates of joints and the positions of named frames,

    holonomic:      velocity = sum of (dg/dq) q' + sum of (dg/dx) x' + drift ,   drift = dg/dt
    nonholonomic:   velocity = g , affine in the velocities: sum of a u + drift ,   drift = g at zero velocities

Formulas of constraints that differ in numbers only are equal, so that compiled loops share them: numbers are inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from momentree.errors import ModelError, Problem
from momentree.model.expressions.expression import ZERO, Expression, Reference, fold
from momentree.model.joint_type import JointType
from momentree.model.values import TIME
from momentree.spatial import Scalar
from momentree.structure.mechanism import Attached, Constraint, Mechanism, TreeBody

POSITIONS, TURNS = ("x", "y", "z"), ("wx", "wy", "wz")  # components of a frame: of its position, of its turning
Slopes = tuple[tuple[Expression, ...], ...]


@dataclass(frozen=True)
class ConstraintFormula:
    """What a constraint computes, in names of its own: joint and frame by index, inputs by number.

    | field            | meaning                                                                                |
    |------------------|----------------------------------------------------------------------------------------|
    | joint_types      | of the joints that it names, None where velocities are derivatives of coordinates      |
    | frames           | how many it names                                                                      |
    | value            | g, None where the constraint is on velocities                                          |
    | drift            | the velocity without that of joints and frames, and its derivative                     |
    | by_joint         | of each joint: slopes by its coordinates or, if not holonomic, by its velocities       |
    | by_frame         | of each frame: slopes by its position or velocity, and by its angular velocity         |
    | *_derivative     | their time derivatives                                                                 |
    | moves            | whether it depends on time explicitly, and may do work                                 |
    """

    joint_types: tuple[JointType | None, ...]
    frames: int
    value: Expression | None
    drift: Expression
    drift_derivative: Expression
    by_joint: Slopes
    by_joint_derivative: Slopes
    by_frame: Slopes
    by_frame_derivative: Slopes

    @property
    def holonomic(self) -> bool:
        return self.value is not None

    @property
    def moves(self) -> bool:
        return self.drift.value != 0


class FrozenFormula(NamedTuple):
    """The formula of one constraint: the bodies after its joints by number, its frames, its inputs, names of frames."""

    constraint: Constraint
    formula: ConstraintFormula
    bodies: tuple[int, ...]
    frames: tuple[Attached, ...]
    inputs: tuple[Expression, ...]
    frame_names: tuple[str, ...]

    @property
    def ends(self) -> tuple[int, ...]:
        """The bodies at its ends: after its joints, of its frames, and the ground where it has frames."""
        return (*self.bodies, *(frame.body for frame in self.frames), *((0,) if self.frames else ()))


def coordinate(joint: int, index: int) -> Reference:
    """A coordinate of a joint in a formula; of a constraint on velocities its slopes depend on them too."""
    return Reference(f"joint {joint}", str(index))


def position(frame: int, component: str) -> Reference:
    """A component of the position of a frame in a formula."""
    return Reference(f"frame {frame}", component)


def derivative_of(reference: Reference) -> Reference:
    """The time derivative of a coordinate or position."""
    return Reference(reference.name, reference.component, True)


def input_of(number: int) -> Reference:
    """An input of a formula: time, a free parameter or a number."""
    return Reference(f"input {number}")


def constraint_formula(mechanism: Mechanism, constraint: Constraint) -> FrozenFormula:
    """The formula of a constraint of a mechanism."""
    expression, frames = constraint.expression, dict(mechanism.frames)
    named = sorted({reference.name for reference in expression.references()})
    bodies = [_body(mechanism, constraint, name) for name in named if name in mechanism.by_joint]
    frame_names = [name for name in named if name in frames and name not in mechanism.by_joint]
    own: dict[Reference, Reference] = {}
    for j, body in enumerate(bodies):
        own |= {old: coordinate(j, i) for i, old in enumerate(body.joint.coordinates)}
    for k, name in enumerate(frame_names):
        own |= {Reference(name, component): position(k, component) for component in POSITIONS}
    make = _Maker(expression, own, constraint.holonomic, constraint.still)
    by_joint = [body.joint.coordinates if constraint.holonomic else body.joint.velocities for body in bodies]
    by_frame = [_frame_references(name, constraint.holonomic) for name in frame_names]
    parts = make.parts(by_joint, by_frame)
    formula = ConstraintFormula(tuple(_mapped_type(body.joint.type) for body in bodies), len(frame_names), *parts)
    ends = tuple(body.number for body in bodies), tuple(frames[name] for name in frame_names)
    return FrozenFormula(constraint, formula, *ends, tuple(make.inputs), tuple(frame_names))


def _body(mechanism: Mechanism, constraint: Constraint, joint: str) -> TreeBody:
    """The body after a joint of the tree."""
    of = mechanism.by_joint[joint]
    if not isinstance(of, TreeBody):
        message = (
            f"names joint '{joint}', which closes a loop and has no coordinate of its own in the tree. "
            "Cut another joint of that loop."
        )
        raise ModelError([Problem(f"constraint '{constraint.name}'", message, ("constraint", constraint.name))])
    return of


def _mapped_type(joint: JointType) -> JointType | None:
    return None if len(joint.coordinates) == len(joint.velocities) else type(joint)()


def _frame_references(name: str, holonomic: bool) -> tuple[Reference, ...]:
    positions = tuple(Reference(name, component, not holonomic) for component in POSITIONS)
    return positions + (() if holonomic else tuple(Reference(name, component) for component in TURNS))


class _Maker:
    """Makes the parts of a formula, in the order of the fields of `ConstraintFormula`."""

    def __init__(self, expression: Expression, own: dict[Reference, Reference], holonomic: bool, still: bool):
        self.expression, self.own, self.holonomic, self.still = expression, own, holonomic, still
        self.inputs: list[Expression] = []
        self._numbers: dict[Expression, Reference] = {}

    def parts(self, by_joint: Sequence[Sequence[Reference]], by_frame: Sequence[Sequence[Reference]]) -> list[Any]:
        g = self.expression
        velocities = {r: ZERO for group in (*by_joint, *by_frame) for r in group}
        drift = ZERO if self.still else g.derivative(TIME) if self.holonomic else g.substitute(velocities)
        slopes = [tuple(tuple(g.derivative(r) for r in group) for group in groups) for groups in (by_joint, by_frame)]
        parts: list[Any] = [self.own_terms(g) if self.holonomic else None]
        parts += [self.own_terms(drift), self.own_terms(self.total_derivative(drift))]
        for groups in slopes:
            parts.append(self._each(groups, self.own_terms))
            parts.append(self._each(groups, lambda slope: self.own_terms(self.total_derivative(slope))))
        return parts

    def _each(self, groups: Slopes, f: Callable[[Expression], Expression]) -> Slopes:
        return tuple(tuple(map(f, group)) for group in groups)

    def total_derivative(self, f: Expression) -> Expression:
        """The time derivative along the motion."""
        total = f.derivative(TIME)
        for r in sorted(f.references() & self.own.keys()):
            total = total + f.derivative(r) * Expression("reference", (derivative_of(r),))
        return total

    def own_terms(self, f: Expression) -> Expression:
        """An expression in the names of the formula, its numbers replaced by inputs."""
        names = {old: Expression("reference", (new,)) for old, new in self.own.items()}
        names |= {derivative_of(o): Expression("reference", (derivative_of(n),)) for o, n in self.own.items()}
        return self._with_inputs(f.substitute(names))

    def _with_inputs(self, f: Expression) -> Expression:
        """Numbers, time and free parameters become inputs, but for exponents and structural zeros and ones."""

        def leaf(node: Expression) -> Expression:
            if node.op == "number":
                return node if node.value in (-1, 0, 1, 2) else self._input(node)
            return node if node.args[0].name.startswith(("joint ", "frame ")) else self._input(node)

        def combine(node: Expression, parts: list[Expression]) -> Expression:
            if node.op == "^" and node.args[1].op == "number":
                parts = [parts[0], node.args[1]]
            return fold(node.op, *parts)

        result: Expression = f._computed(leaf, combine)
        return result

    def _input(self, node: Expression) -> Expression:
        if node not in self._numbers:
            self._numbers[node] = input_of(len(self.inputs))
            self.inputs.append(node)
        return Expression("reference", (self._numbers[node],))


def names_of_formula(
    inputs: Iterable[Scalar], q: Iterable[Iterable[Scalar]], x: Iterable[Iterable[Scalar]]
) -> dict[Reference, Scalar]:
    """The values of the names in a formula, from inputs, coordinates of its joints and positions of its frames."""
    names: dict[Reference, Scalar] = {input_of(number): value for number, value in enumerate(inputs)}
    for j, coordinates in enumerate(q):
        names |= {coordinate(j, i): value for i, value in enumerate(coordinates)}
    for k, components in enumerate(x):
        names |= {position(k, name): value for name, value in zip(POSITIONS, components, strict=True)}
    return names


def derivatives_of_formula(dq: Iterable[Iterable[Scalar]], dx: Iterable[Iterable[Scalar]]) -> dict[Reference, Scalar]:
    """The values of the time derivatives of its coordinates and positions."""
    names: dict[Reference, Scalar] = {}
    for j, velocities in enumerate(dq):
        names |= {derivative_of(coordinate(j, i)): value for i, value in enumerate(velocities)}
    for k, components in enumerate(dx):
        names |= {derivative_of(position(k, name)): v for name, v in zip(POSITIONS, components, strict=True)}
    return names
