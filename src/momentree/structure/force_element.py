"""ForceElement: what every frozen kind of force element says of itself; and PointForce, the simplest of them.

A force element acts on the frames among its fields, of one body or of several, by wrenches that depend on how these
frames move and on the values of laws. Passes over all elements know no kind. What they need is found by the fields
(structure/parts.py), where a field of laws says `Annotated[..., LAW]`, or by the methods below.

| a kind has                  | and it is used by                                                                    |
|-----------------------------|--------------------------------------------------------------------------------------|
| `wrenches`                  | all equations of motion, arrows                                                      |
| `potential`, if it has one  | the energy                                                                           |
| `works` and `powers`        | the energy account; they add up to power of the wrenches + d/dt of the potential, or |
|                             | to the power of the wrenches alone where one of them `stores` the potential          |
| `smooth_part`, `other_part` | Lagrange's equations in symbols: the part that enters by its potential, and the rest |
| `arrow`                     | pictures                                                                             |

tests/contract/test_force_elements.py is the contract; every kind is held against it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Self, get_type_hints

from momentree.model.expressions.expression import Expression, Reference, parse
from momentree.model.field_words import LAW
from momentree.spatial import Force, Scalar, Vector
from momentree.spatial.moving_frame import MovingFrame
from momentree.structure.parts import Attached, frames_of

if TYPE_CHECKING:
    import numpy as np

Names = Mapping[Reference, Scalar]  # of time, free parameters, coordinates and velocities that laws name


class WorkTerm(NamedTuple):
    """A part of the energy account: "friction of contact 1", "friction".

    | field  | meaning                                                                                              |
    |--------|------------------------------------------------------------------------------------------------------|
    | stores | its power is that of the whole force, with the potential: smooth where the elastic part is not       |
    | loses  | whether it may lose energy                                                                           |
    """

    name: str
    kind: str
    stores: bool = False
    loses: bool = True


@dataclass(frozen=True)
class ForceElement:
    """What every kind is: `name` is "spring 1", `where` tells its bodies, "between leg and arm", if the name does not.

    `ends` of a method are the frames of the element as they move, in the order of its fields.
    """

    kind: ClassVar[str]

    name: str
    where: str

    @property
    def title(self) -> str:
        """Its name in messages and in the energy account."""
        return f"{self.name} {self.where}".rstrip()

    @cached_property
    def frames(self) -> tuple[Attached, ...]:
        """The frames that it acts on, in the order of its fields."""
        return frames_of(self)

    def wrenches(self, ends: Sequence[MovingFrame], names: Names) -> tuple[Force, ...]:
        """What acts at each end: a wrench on its body, by `MovingFrame.force` or `wrench`."""
        raise NotImplementedError

    def potential(self, ends: Sequence[MovingFrame]) -> Scalar:
        """J."""
        return 0

    @property
    def has_potential(self) -> bool:
        """Whether this kind has one."""
        return type(self).potential is not ForceElement.potential

    @property
    def works(self) -> tuple[WorkTerm, ...]:
        """Its parts that are not conservative: all of it, if it has no potential."""
        return () if self.has_potential else (WorkTerm(self.title, self.kind),)

    def powers(self, ends: Sequence[MovingFrame], names: Names) -> tuple[Scalar, ...]:
        """The power (W) of each of `works`."""
        return () if self.has_potential else (total_power(self, ends, names),)

    @property
    def smooth_part(self) -> Self | None:
        """The element whose potential stands in a Lagrangian; it has derivatives everywhere."""
        return None

    @property
    def other_part(self) -> Self | None:
        """The element that acts besides `smooth_part`, as a force."""
        return self

    @classmethod
    def random(cls, frames: Sequence[Attached], generator: np.random.Generator) -> Self:
        """An element of this kind with random numbers, on the first of these frames, for tests.

        A kind with fields besides frames, numbers, flags and laws of t has a `random` of its own.
        """
        free, found = list(frames), dict[str, Any]()
        for name, hint in get_type_hints(cls, include_extras=True).items():
            if hint is Attached:
                found[name] = free.pop(0)
            elif LAW in getattr(hint, "__metadata__", ()):
                found[name] = tuple(parse(f"{x:.3f}*cos({x:.3f}*t)") for x in generator.uniform(0.5, 2.0, 3))
            elif hint is bool:
                found[name] = bool(generator.integers(2))
            elif name not in ("kind", "name", "where"):
                found[name] = float(generator.uniform(0.5, 2.0))
        return cls(name=f"{cls.kind} 1", where="", **found)

    def arrow(self, ends: Sequence[MovingFrame], names: Names) -> tuple[Vector, Vector]:
        """Where the force on its first body acts, and this force, in inertial axes."""
        return ends[0].origin, ends[0].body.X_0.rotation @ self.wrenches(ends, names)[0].linear


def total_power(element: ForceElement, ends: Sequence[MovingFrame], names: Names) -> Scalar:
    """The power (W) of all its wrenches."""
    first, *rest = (end.power(wrench) for end, wrench in zip(ends, element.wrenches(ends, names), strict=True))
    return sum(rest, first)


@dataclass(frozen=True)
class PointForce(ForceElement):
    """A force and a moment (three laws each) at a frame, in its axes (`carried`) or in those of the ground."""

    kind = "force"

    frame: Attached
    force: Annotated[tuple[Expression, ...], LAW]
    moment: Annotated[tuple[Expression, ...], LAW]
    carried: bool

    def wrenches(self, ends: Sequence[MovingFrame], names: Names) -> tuple[Force, ...]:
        (end,) = ends
        f, m = (Vector(*(law.evaluate(names) for law in laws)) for laws in (self.force, self.moment))
        if not self.carried:
            R = end.rotation.T @ end.ground.X_0.rotation
            f, m = R @ f, R @ m
        return (end.wrench(Force(f, m)),)
