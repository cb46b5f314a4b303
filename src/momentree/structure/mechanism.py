"""The frozen mechanism: a properly numbered tree of bodies, the loops opened to get it, and the elements on them.

An element here has the name that it has in the user's model (model/elements.py) and is distinguished by its module:
`structure.mechanism.Torque` is `model.elements.Torque` with its body by number and its values in numbers. The same
holds for Constraint and Latch, and for the force elements PointForce, Spring and Contact (force_element.py). What
passes over all numbers, frames or laws visits every field of these dataclasses that does not say otherwise (parts.py).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from momentree.errors import ModelError, Problem, suggestion
from momentree.model.elements import Joint
from momentree.model.expressions.expression import Expression, Reference
from momentree.model.field_words import KEPT, LAW
from momentree.model.frames import GROUND, Frame
from momentree.model.higher_pairs import HigherPair
from momentree.model.joint_type import ConstraintRow, Coordinates, JointType
from momentree.model.values import Values
from momentree.spatial import Force, MotionSubspace, RigidInertia, Scalar, Transform, Vector
from momentree.structure.contact import Contact
from momentree.structure.elimination import paths_inward
from momentree.structure.force_element import ForceElement, PointForce
from momentree.structure.given import NOTHING, Given
from momentree.structure.graph import Graph
from momentree.structure.parts import Attached as Attached
from momentree.structure.parts import Laws as Laws
from momentree.structure.parts import with_frames, with_laws, with_numbers
from momentree.structure.spring import Spring

if TYPE_CHECKING:
    from momentree.structure.constraint_formulas import FrozenFormula
    from momentree.structure.loop_elimination import LoopElimination


Kind = TypeVar("Kind", bound=ForceElement)


class Reversed:
    """A joint type traversed from its second frame: the tree runs from M to F, coordinates keep the user's meaning."""

    def __init__(self, joint_type: JointType):
        self.joint_type = joint_type

    @property
    def armature(self) -> Any:
        return self.joint_type.armature

    def placement(self, q: Coordinates) -> Transform:
        return self.joint_type.placement(q).inverse()

    def motion_subspace(self, q: Coordinates) -> MotionSubspace:
        X_FM = self.joint_type.placement(q)
        return MotionSubspace([-X_FM.motion_to_parent(column) for column in self.joint_type.motion_subspace(q).columns])

    def motion_subspace_derivative(self, q: Coordinates, u: Coordinates) -> MotionSubspace:
        """-(X_FM)' A - X_FM A', where X_FM changes as M moves: by v_M x."""
        joint_type = self.joint_type
        X_FM, A, dA = (
            joint_type.placement(q),
            joint_type.motion_subspace(q),
            joint_type.motion_subspace_derivative(q, u),
        )
        v_M = A @ u
        both = zip(A.columns, dA.columns, strict=True)
        return MotionSubspace([-X_FM.motion_to_parent(v_M.cross(column) + change) for column, change in both])

    def coordinate_derivatives(self, q: Coordinates, u: Coordinates) -> tuple[Scalar, ...]:
        return self.joint_type.coordinate_derivatives(q, u)

    def coordinate_map(self, q: Coordinates) -> list[tuple[Scalar, ...]] | None:
        return self.joint_type.coordinate_map(q)

    def coordinate_map_derivative(self, q: Coordinates, u: Coordinates) -> list[tuple[Scalar, ...]]:
        return self.joint_type.coordinate_map_derivative(q, u)


@dataclass(frozen=True)
class TreeBody:
    """A body of the tree and the joint that precedes it.

    Its frame here is the joint's frame on its side; velocity, momentum and inertia refer to it (NOTATION.md).

    | field      | meaning                                                                 |
    |------------|-------------------------------------------------------------------------|
    | parent     | number of the preceding body, 0 for the ground                          |
    | joint      | the joint as the user described it, in numbers                          |
    | reverse    | the tree runs through the joint from its second frame to its first      |
    | mount      | placement in the parent of the joint's frame on the parent's side       |
    | own        | placement, in the frame used here, of the user's frame of the body      |
    | inertia    | at the frame used here; a split body's share                            |
    | q, v       | indices of its coordinates and velocities; empty for a prescribed joint |
    | laws       | of a prescribed joint, else None                                        |
    | image_of   | number of the pre-image if this is the image of a split body, else 0    |
    """

    name: str
    number: int
    parent: int
    joint: Joint
    reverse: bool
    mount: Transform
    own: Transform
    inertia: RigidInertia
    q: slice
    v: slice
    laws: Laws | None
    image_of: int = 0

    @cached_property
    def joint_type(self) -> JointType | Reversed:
        """The type of the joint as the tree runs through it, from the parent to the body."""
        return Reversed(self.joint.type) if self.reverse else self.joint.type


@dataclass(frozen=True)
class Loop:
    """A loop that was opened, closed by a joint from a frame of one body to a frame of another.

    A split body is closed by a weld between pre-image and image, at the frame that the user calls the body's own.
    Rolling, skating and the like close loops as well: the type is then a HigherPair (model/higher_pairs.py).
    """

    name: str
    joint_type: JointType
    first: Attached
    second: Attached
    joint: Joint | None  # None for a split body and for a higher pair

    @cached_property
    def rows(self) -> tuple[ConstraintRow, ...]:
        """The constraints of the joint, at its reference; the same everywhere but for a universal joint."""
        return self.joint_type.constraint_rows(self.joint_type.reference())

    @property
    def kind(self) -> str:
        """What closes it, in words of the model: a joint, a (split) body, or a constraint if it is a higher pair."""
        if isinstance(self.joint_type, HigherPair):
            return "constraint"
        return "body" if self.joint is None else "joint"

    @cached_property
    def position_rows(self) -> tuple[ConstraintRow, ...]:
        """Those that constrain positions: all but rolling and skating."""
        return tuple(row for row in self.rows if row.holonomic)


@dataclass(frozen=True)
class Constraint:
    """An expression kept at zero; holonomic, on positions, if it names no velocity; else affine in the velocities."""

    name: str
    expression: Annotated[Expression, LAW]
    holonomic: bool
    still: bool = False  # as if time stood still: without the velocity that it has by itself
    kind: str = "constraint"  # or "gear", "belt", ...: the element that it is made of


@dataclass(frozen=True)
class Torque:
    """Generalized forces of a joint, one law for each velocity; it precedes `body`, 0 if it closes a loop."""

    joint: str
    body: int
    laws: Annotated[tuple[Expression, ...], LAW]


@dataclass(frozen=True)
class Latch:
    """The joint that precedes a body locks when its coordinate arrives `at` a value."""

    body: int
    at: Scalar


@dataclass(frozen=True)
class Switch:
    """A constraint, by its name, starts (`turns_on`) or ceases to act when an expression rises through zero."""

    name: str
    when: Annotated[Expression, LAW]
    turns_on: bool


@dataclass(frozen=True)
class Mechanism:
    """The frozen mechanism: bodies numbered so that parents come first, loops, constraints, gravity, parameters.

    `bodies[i - 1]` is body i; body 0 is the ground, at rest or moving by `ground` (three positions, three turns).
    """

    name: str
    gravity: Vector
    ground: Laws | None
    bodies: tuple[TreeBody, ...]
    loops: tuple[Loop, ...]
    constraints: tuple[Constraint, ...]
    torques: tuple[Torque, ...]
    latches: tuple[Latch, ...]
    elements: tuple[ForceElement, ...]  # force elements: forces, springs, contacts
    graph: Annotated[Graph, KEPT]
    added: tuple[str, ...]  # bodies that float and were given a Free joint
    free: tuple[str, ...]  # parameters left open
    values: Annotated[Values, KEPT] = field(repr=False)
    set_tolerance: Annotated[float | None, KEPT] = None  # m, as the user says; None: by the size of each loop
    # in floats: the parameters that were left open, and their values
    parameters: Annotated[tuple[tuple[str, float], ...], KEPT] = ()
    switches: tuple[Switch, ...] = ()
    # with constraints that do not act now; None: all do
    whole: Annotated[Mechanism | None, KEPT] = field(default=None, repr=False)
    frames: tuple[tuple[str, Attached], ...] = ()  # by name, as constraints name them
    inputs: tuple[str, ...] = ()  # those of `free` that are inputs
    # in floats: inputs that laws name, as functions of time
    signals: Annotated[tuple[tuple[str, Callable[[Any], Any]], ...], KEPT] = ()
    # on top of what the model defines
    given: Annotated[Given, KEPT] = field(default=NOTHING, repr=False, compare=False)

    def of_kind(self, kind: type[Kind]) -> tuple[Kind, ...]:
        """The force elements of a kind."""
        return tuple(element for element in self.elements if isinstance(element, kind))

    @cached_property
    def forces(self) -> tuple[PointForce, ...]:
        """Forces at frames."""
        return self.of_kind(PointForce)

    @cached_property
    def springs(self) -> tuple[Spring, ...]:
        """Springs between points."""
        return self.of_kind(Spring)

    @cached_property
    def contacts(self) -> tuple[Contact, ...]:
        """Contacts."""
        return self.of_kind(Contact)

    @cached_property
    def nq(self) -> int:
        """Number of coordinates of the tree."""
        return self.bodies[-1].q.stop if self.bodies else 0

    @cached_property
    def nv(self) -> int:
        """Number of velocities of the tree."""
        return self.bodies[-1].v.stop if self.bodies else 0

    @cached_property
    def coordinates(self) -> tuple[Reference, ...]:
        """The name of each entry of q."""
        return tuple(r for body in self.bodies if not body.laws for r in body.joint.coordinates)

    @cached_property
    def velocities(self) -> tuple[Reference, ...]:
        """The name of each entry of v."""
        return tuple(r for body in self.bodies if not body.laws for r in body.joint.velocities)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Body name -> number."""
        return {GROUND: 0, **{body.name: body.number for body in self.bodies}}

    @cached_property
    def by_joint(self) -> dict[str, TreeBody | Loop]:
        """Joint name -> the body that it precedes, or the loop that it closes."""
        in_tree: dict[str, TreeBody | Loop] = {body.joint.name: body for body in self.bodies}
        return in_tree | {loop.joint.name: loop for loop in self.loops if loop.joint is not None}

    @cached_property
    def loop_numbers(self) -> dict[str, int]:
        """The name of each joint that closes a loop -> index of the loop in `loops`."""
        return {loop.name: i for i, loop in enumerate(self.loops) if loop.joint is not None}

    @cached_property
    def size(self) -> float:
        """The largest extent of the mechanism itself (m), wherever it is: structure/size.py."""
        from momentree.structure.size import mechanism_size

        return float(mechanism_size(self.at_defaults(), self.loop_sizes))

    @cached_property
    def loop_sizes(self) -> tuple[float, ...]:
        """The size of each loop (m): half its perimeter."""
        from momentree.structure.size import loop_sizes

        return loop_sizes(self.at_defaults())

    @cached_property
    def loop_tolerances(self) -> tuple[float, ...]:
        """By how much each loop may stay open (m) where its constraints are redundant."""
        from momentree.structure.size import loop_tolerances

        return loop_tolerances(self)

    @cached_property
    def tolerance(self) -> float:
        """The length tolerance (m) of its largest loop: as set, or 1e-6 of its size."""
        from momentree.structure.size import RELATIVE_TOLERANCE

        return max(self.loop_tolerances, default=RELATIVE_TOLERANCE * self.size)

    def with_tolerance(self, tolerance: float | None) -> Mechanism:
        """The same mechanism with another length tolerance (m), if one is given."""
        if tolerance is None:
            return self
        return dataclasses.replace(
            self, set_tolerance=tolerance, whole=self.whole and self.whole.with_tolerance(tolerance)
        )

    def paths(self, loop: Loop) -> tuple[list[int], list[int], int]:
        """The bodies from the first end of a loop inward, from the second, and their common ancestor, in neither."""
        (first, second), base = paths_inward(self.parents, (loop.first.body, loop.second.body))
        return first, second, base

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """The number of each body's parent; entry 0 is the ground's."""
        return 0, *(body.parent for body in self.bodies)

    @cached_property
    def loop_constraints(self) -> tuple[tuple[Force, ...], ...]:
        """The constraint rows that close each loop: structure/loop_constraints.py."""
        from momentree.structure.loop_constraints import loop_constraints

        return tuple(loop_constraints(self, loop) for loop in self.loops)

    @property
    def constrained(self) -> bool:
        """Whether it has loops or constraints."""
        return bool(self.loops or self.constraints)

    @property
    def has_prescribed_motion(self) -> bool:
        """Whether the motion of a joint or of the ground is given."""
        return self.ground is not None or any(body.laws for body in self.bodies)

    @cached_property
    def nonholonomic(self) -> tuple[str, ...]:
        """The names of loops and constraints that constrain velocities only, in part at least."""
        loops = [loop.name for loop in self.loops if not all(row.holonomic for row in loop.rows)]
        return (*loops, *(constraint.name for constraint in self.constraints if not constraint.holonomic))

    @cached_property
    def constraint_formulas(self) -> tuple[FrozenFormula, ...]:
        """What each constraint computes: structure/constraint_formulas.py."""
        from momentree.structure.constraint_formulas import constraint_formula

        return tuple(constraint_formula(self, constraint) for constraint in self.constraints)

    def elimination(self, fixed_ground: bool) -> LoopElimination:
        """How its constraints are eliminated, made once: on a ground that neither moves nor accelerates, or another."""
        from momentree.structure.loop_elimination import loop_elimination

        made: dict[bool, LoopElimination] = vars(self).setdefault("_eliminations", {})
        if fixed_ground not in made:
            made[fixed_ground] = loop_elimination(self, fixed_ground)
        return made[fixed_ground]

    def __getstate__(self) -> dict[str, Any]:
        """Without cached results that are stored with it."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def mapped(self, f: Callable[[Scalar], Scalar]) -> Mechanism:
        """The same mechanism with every number (float, or expression in free parameters) replaced by f of it.

        Laws of time and of coordinates stay expressions: they are evaluated where they are used.
        """
        mechanism: Mechanism = with_numbers(self, f)
        return dataclasses.replace(mechanism)  # never itself: who maps it may give it sizes of its own

    def reattached(self, moved: Callable[[Attached], Attached]) -> Mechanism:
        """The same mechanism with every frame of its loops and elements, and every named one, moved."""
        mechanism: Mechanism = with_frames(self, moved)
        return mechanism

    def at_defaults(self) -> Mechanism:
        """The same mechanism in floats, its free parameters at the values that the model gives them."""
        if not self.free:
            return self
        parameters = tuple((name, float(self.values.scalar(name))) for name in self.free)
        values = {Reference(name): value for name, value in parameters}
        fixed = self.mapped(lambda x: float(x.substitute(values)) if isinstance(x, Expression) else x)
        fixed = dataclasses.replace(fixed, whole=self.whole and self.whole.at_defaults())
        return dataclasses.replace(fixed.with_laws(lambda law: law.substitute(values)), free=(), parameters=parameters)

    def evaluated(self, parameters: Mapping[Reference, Scalar]) -> Mechanism:
        """The same with scalars of any kind, batches too, for its free parameters; laws stay expressions in them."""
        return self.mapped(lambda x: x.evaluate(parameters) if isinstance(x, Expression) else x)

    def in_batches(self, parameters: Mapping[Reference, Scalar]) -> Mechanism:
        """The same with arrays of values for its free parameters, and sizes by these."""
        from momentree.structure.size import loop_sizes, mechanism_size

        batch = self.evaluated(parameters)
        sizes = loop_sizes(batch)
        vars(batch).update(size=mechanism_size(batch, sizes), loop_sizes=sizes)
        return batch

    def with_given(self, given: Given) -> Mechanism:
        """The same with what is given: values of free parameters, and the tolerance; all else only stands there."""
        values = self.values.replaced(given.parameters) if self.free else self.values
        changed = dataclasses.replace(
            self, values=values, given=given, whole=self.whole and self.whole.with_given(given)
        )
        return changed.with_tolerance(given.tolerance)

    @cached_property
    def open_values(self) -> Values:
        """Its parameters, those that were left open as symbols."""
        return self.values.replaced({}, self.free) if self.free else self.values

    def with_laws(self, f: Callable[[Expression], Expression]) -> Mechanism:
        """The same mechanism with f of every law: of motions, torques, forces, constraints and switches."""
        mechanism: Mechanism = with_laws(self, f)
        return mechanism

    def attach(self, frame: Frame) -> Attached:
        """A user's frame, in the frame used here for its body; it may stand on a frame that the model names."""
        number, placement, named = self.numbers.get(frame.body), frame.placement(self.open_values), dict(self.frames)
        if number is None:
            if frame.body in named:
                return Attached(named[frame.body].body, named[frame.body].placement @ placement)
            message = f"there is no body '{frame.body}'.{suggestion(frame.body, [*self.numbers, *named])}"
            raise ModelError([Problem("frame", message)])
        return Attached(number, self.bodies[number - 1].own @ placement if number else placement)
