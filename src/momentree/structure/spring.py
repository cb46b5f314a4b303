"""Spring: a spring and damper between two points; or a thread, which only pulls."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from momentree.spatial import Force, Scalar, Vector
from momentree.spatial.moving_frame import MovingFrame
from momentree.spatial.scalar import maximum, select, sqrt
from momentree.structure.force_element import ForceElement, Names, WorkTerm
from momentree.structure.parts import Attached

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Spring(ForceElement):
    """A spring and damper between the origins of two frames.

    The force on the first end is (k (l - l0) + c l') e, along e to the second end.
    """

    kind = "spring"

    first: Attached
    second: Attached
    stiffness: Scalar
    damping: Scalar
    rest: Scalar
    tension_only: bool

    @classmethod
    def random(cls, frames: Sequence[Attached], generator: np.random.Generator) -> Self:
        """One that is stretched."""
        return dataclasses.replace(super().random(frames, generator), rest=0.1)

    def wrenches(self, ends: Sequence[MovingFrame], names: Names) -> tuple[Force, ...]:
        first, second = ends
        pull = self.pull(ends)
        return first.force(pull), second.force(-pull)

    def pull(self, ends: Sequence[MovingFrame]) -> Vector:
        """The force on the first end, in inertial axes."""
        if self.rest == 0 and self.damping == 0:
            force: Vector = _between(ends) * self.stiffness  # regular also where the ends meet
            return force
        e, length, speed = self.stretch(ends)
        force = e * self.tension(length, speed)
        return force

    def stretch(self, ends: Sequence[MovingFrame]) -> tuple[Vector, Scalar, Scalar]:
        """The direction e from the first end to the second, the length l, and l' (0 where nothing damps it)."""
        first, second = ends
        along = _between(ends)
        length = sqrt(along @ along)
        e = along / length
        return e, length, 0 if self.damping == 0 else e @ (second.velocity - first.velocity)

    def tension(self, length: Scalar, speed: Scalar) -> Scalar:
        """k (l - l0) + c l' at the speed l'; a thread is slack while it is shorter than l0, and never pushes."""
        pull = self.stiffness * (length - self.rest)
        if self.damping != 0:
            pull = pull + self.damping * speed
        return select(length - self.rest, maximum(pull, 0), 0) if self.tension_only else pull

    def elastic_tension(self, length: Scalar) -> Scalar:
        """The part of the tension that has a potential."""
        stretched = length - self.rest
        return self.stiffness * (maximum(stretched, 0) if self.tension_only else stretched)

    def potential(self, ends: Sequence[MovingFrame]) -> Scalar:
        length = _between(ends).norm
        return self.elastic_tension(length) * (length - self.rest) / 2

    @property
    def works(self) -> tuple[WorkTerm, ...]:
        if self.damping == 0 and not self.tension_only:
            return ()
        return (WorkTerm(self.title, "spring damping", stores=self.tension_only, loses=self.damping != 0),)

    def powers(self, ends: Sequence[MovingFrame], names: Names) -> tuple[Scalar, ...]:
        if self.damping == 0 and not self.tension_only:
            return ()
        first, second = ends
        e, length, _ = self.stretch(ends)
        speed = e @ (second.velocity - first.velocity)
        pull = self.tension(length, speed)
        return ((-pull if self.tension_only else self.elastic_tension(length) - pull) * speed,)

    @property
    def smooth_part(self) -> Self | None:
        return None if self.tension_only else self

    @property
    def other_part(self) -> Self | None:
        if self.tension_only:
            return self
        return dataclasses.replace(self, stiffness=self.stiffness * 0) if self.damping != 0 else None


def _between(ends: Sequence[MovingFrame]) -> Vector:
    first, second = ends
    along: Vector = second.origin - first.origin
    return along
