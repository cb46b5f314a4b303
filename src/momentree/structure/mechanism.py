"""Mechanism: a model frozen into a properly numbered tree of bodies and the loops that were opened to get it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from momentree.errors import ModelError, Problem, suggestion
from momentree.model.elements import Connection
from momentree.model.expressions import Expression, Reference
from momentree.model.frames import GROUND, Frame
from momentree.model.joints import Coordinates, Joint
from momentree.model.values import Values
from momentree.spatial import Axes, RigidInertia, Transform, Vector
from momentree.structure.graph import Graph


class Reversed:
    """A joint met from its second frame: the tree runs from M to F, the coordinates keep the user's meaning."""

    def __init__(self, joint: Joint):
        self.joint = joint

    def placement(self, q: Coordinates) -> Transform:
        return self.joint.placement(q).inverse()

    def axes(self, q: Coordinates) -> Axes:
        X_FM = self.joint.placement(q)
        return Axes([-X_FM.motion_to_parent(column) for column in self.joint.axes(q).columns])


class Laws(NamedTuple):
    """Prescribed functions of time and their first and second derivatives."""

    values: tuple[Expression, ...]
    rates: tuple[Expression, ...]
    accelerations: tuple[Expression, ...]


class Attached(NamedTuple):
    """A frame fixed in a body of the tree: the body's number and X_BF."""

    body: int
    placement: Transform


@dataclass(frozen=True)
class TreeBody:
    """A body of the tree and the joint that precedes it.

    Its frame here is the joint's frame on its side: there stand its velocity, momentum and inertia (NOTATION.md).

    | field      | meaning                                                                         |
    |------------|---------------------------------------------------------------------------------|
    | parent     | number of the preceding body, 0 for the ground                                   |
    | connection | the joint as the user described it, in numbers                                   |
    | reverse    | the tree runs through the joint from its second frame to its first               |
    | mount      | where the joint's frame on the parent's side stands in the parent                |
    | own        | where the frame that the user calls the body's own stands in the frame used here |
    | inertia    | at the frame used here; a split body's share                                     |
    | q, v       | where its coordinates and rates stand; empty for a prescribed joint              |
    | laws       | of a prescribed joint, else None                                                 |
    | image_of   | number of the pre-image if this is the image of a split body, else 0             |
    """

    name: str
    number: int
    parent: int
    connection: Connection
    reverse: bool
    mount: Transform
    own: Transform
    inertia: RigidInertia
    q: slice
    v: slice
    laws: Laws | None
    image_of: int = 0

    @cached_property
    def joint(self) -> Joint | Reversed:
        """The joint as the tree meets it, from the parent to the body."""
        return Reversed(self.connection.joint) if self.reverse else self.connection.joint


@dataclass(frozen=True)
class Loop:
    """A loop that was opened, closed by a joint from a frame of one body to a frame of another.

    A split body is closed by a weld between pre-image and image, at the frame that the user calls the body's own.
    """

    name: str
    joint: Joint
    first: Attached
    second: Attached
    connection: Connection | None  # None for a split body


@dataclass(frozen=True)
class Closure:
    """A constraint expression; on positions if it names no rate."""

    name: str
    expression: Expression
    holonomic: bool


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
    closures: tuple[Closure, ...]
    graph: Graph
    added: tuple[str, ...]  # bodies that float and were given a Free joint
    free: tuple[str, ...]  # parameters left open
    values: Values = field(repr=False)

    @cached_property
    def nq(self) -> int:
        """Number of coordinates of the tree."""
        return self.bodies[-1].q.stop if self.bodies else 0

    @cached_property
    def nv(self) -> int:
        """Number of rates of the tree."""
        return self.bodies[-1].v.stop if self.bodies else 0

    @cached_property
    def coordinates(self) -> tuple[Reference, ...]:
        """What each entry of q is called."""
        return tuple(r for body in self.bodies if not body.laws for r in body.connection.coordinates)

    @cached_property
    def rates(self) -> tuple[Reference, ...]:
        """What each entry of v is called."""
        return tuple(r for body in self.bodies if not body.laws for r in body.connection.rates)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Body name -> number."""
        return {GROUND: 0, **{body.name: body.number for body in self.bodies}}

    @cached_property
    def by_joint(self) -> dict[str, TreeBody | Loop]:
        """Joint name -> the body that it precedes, or the loop that it closes."""
        found: dict[str, TreeBody | Loop] = {body.connection.name: body for body in self.bodies}
        found.update({loop.connection.name: loop for loop in self.loops if loop.connection is not None})
        return found

    def attach(self, frame: Frame) -> Attached:
        """A user's frame, in the frame used here for its body."""
        if frame.body not in self.numbers:
            message = f"there is no body '{frame.body}'.{suggestion(frame.body, self.numbers)}"
            raise ModelError([Problem("frame", message)])
        number = self.numbers[frame.body]
        placement = frame.placement(self.values)
        return Attached(number, self.bodies[number - 1].own @ placement if number else placement)
