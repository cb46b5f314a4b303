"""The elements that become higher pairs: rolling, skates, distances, points on surfaces and on curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from momentree.model.elements import ConstraintElement
from momentree.model.expressions.expression import Expression
from momentree.model.frames import GROUND, Frame
from momentree.model.higher_pairs import POSITION, Distance, HigherPair, OnSurfaces, Rolling, Skating
from momentree.model.values import Mistake, Raw, Values, check_later, differentiable, not_negative, plain, positive

GROUND_FRAME = Frame(GROUND)


@dataclass(frozen=True)
class PairElement(ConstraintElement):
    """Any of them; `pair` is the higher pair in numbers."""

    def ends(self) -> tuple[Frame, Frame]:
        """The frame of the supporting body, and that of the one that it guides."""
        raise NotImplementedError

    def pair(self, values: Values) -> HigherPair:
        """The higher pair in numbers; raises Mistake."""
        raise NotImplementedError


@dataclass(frozen=True)
class Roll(PairElement):
    """A ball, disc or wheel that rolls without slip on a plane, a ball or another wheel.

    | field    | meaning                                                                                          |
    |----------|--------------------------------------------------------------------------------------------------|
    | wheel    | the frame at its centre                                                                          |
    | on       | the frame whose z axis is the normal of the plane; with `ball`, the centre of a ball or wheel    |
    | radius   | m                                                                                                |
    | disc     | axis of the disc or wheel in its frame; None: a ball                                             |
    | ball     | m, radius of the ball or wheel that it rolls on, negative: inside of it; None: a plane           |
    | friction | the coefficient that must suffice: a run warns where more would be needed                        |
    """

    kind, collection = "roll", "rolls"
    frames = {"wheel": "wheel", "on": "on"}  # noqa: RUF012

    wheel: Frame
    on: Frame = GROUND_FRAME
    radius: Raw = None
    disc: Raw = None
    ball: Raw = None
    friction: Raw = None

    def ends(self) -> tuple[Frame, Frame]:
        return self.on, self.wheel

    def pair(self, values: Values) -> HigherPair:
        if self.radius is None:
            raise Mistake("radius is missing: a body that rolls has a radius. Give radius=.", "radius")
        radius = positive(values.scalar(self.radius, "radius"), "radius", "m")
        disc = None if self.disc is None else values.axis(self.disc, "disc")
        ball = None if self.ball is None else values.scalar(self.ball, "ball")
        if ball is not None and (isinstance(ball, Expression) or isinstance(radius, Expression)):
            check_later(_check_ball, ball, radius)
        elif ball is not None:
            _check_ball(ball, radius)
        friction = None if self.friction is None else not_negative(values.scalar(self.friction, "friction"), "friction")
        return Rolling(radius, disc, ball, friction)


@dataclass(frozen=True)
class Skate(PairElement):
    """A blade: the origin of a frame does not move along this axis of the frame, as seen from the frame `on`."""

    kind, collection = "skate", "skates"
    frames = {"frame": "frame", "on": "on"}  # noqa: RUF012

    frame: Frame
    across: Raw = "y"
    on: Frame = GROUND_FRAME

    def ends(self) -> tuple[Frame, Frame]:
        return self.on, self.frame

    def pair(self, values: Values) -> HigherPair:
        return Skating(values.axis(self.across, "across"))


@dataclass(frozen=True)
class DistanceElement(PairElement):
    """A massless rod of this length (m) between the origins of two frames."""

    kind, collection = "distance", "distances"
    frames = {"from": "first", "to": "second"}  # noqa: RUF012

    first: Frame
    second: Frame
    length: Raw

    def ends(self) -> tuple[Frame, Frame]:
        return self.first, self.second

    def pair(self, values: Values) -> HigherPair:
        return Distance(positive(values.scalar(self.length, "length"), "length", "m"))


@dataclass(frozen=True)
class OnSurface(PairElement):
    """The origin of a frame stays on a surface: an equation of its x, y, z in axes of the frame `of`, and of t."""

    kind, collection = "surface", "surfaces"
    frames = {"frame": "frame", "of": "of"}  # noqa: RUF012

    frame: Frame
    expression: Raw
    of: Frame = GROUND_FRAME

    def ends(self) -> tuple[Frame, Frame]:
        return self.of, self.frame

    def pair(self, values: Values) -> HigherPair:
        return OnSurfaces((_surface(self.expression, values, "expression"),))


@dataclass(frozen=True)
class OnCurve(PairElement):
    """The origin of a frame stays on a curve, in which two surfaces meet: two equations, as for a surface."""

    kind, collection = "curve", "curves"
    frames = {"frame": "frame", "of": "of"}  # noqa: RUF012

    frame: Frame
    expressions: Raw
    of: Frame = GROUND_FRAME

    def ends(self) -> tuple[Frame, Frame]:
        return self.of, self.frame

    def pair(self, values: Values) -> HigherPair:
        if not isinstance(self.expressions, tuple) or len(self.expressions) != 2:
            raise Mistake('expressions must be two equations, such as ("y = sin(x)", "z = 0").', "expressions")
        first, second = (_surface(each, values, "expressions") for each in self.expressions)
        if first == second:
            raise Mistake("both equations are the same, which is a surface. Give another one.", "expressions")
        return OnSurfaces((first, second))


PAIRS: tuple[type[PairElement], ...] = (Roll, Skate, DistanceElement, OnSurface, OnCurve)


def _surface(raw: Raw, values: Values, what: str) -> Expression:
    """The expression that is zero on a surface."""
    for axis in POSITION:
        if axis.name in values.names:
            raise Mistake(f"'{axis}' is a coordinate here, but also a parameter. Rename the parameter.", what)
    known: dict[Any, str] = dict.fromkeys(POSITION, "position")
    expression = values.law(plain(raw), known, what, "x, y, z, t and parameters", equation=True)
    if not any(axis in expression.references() for axis in POSITION):
        raise Mistake(f"{what}: '{raw}' names none of x, y and z, so it is not a surface.", what)
    return expression if not values.tables else differentiable(expression, 2, what)


def _check_ball(ball: float, radius: float) -> None:
    if ball == 0:
        raise Mistake("ball is 0 m; it must not be zero. Leave it out for a plane.", "ball")
    if ball < 0 and -ball <= radius:
        message = f"ball is {ball:g} m, a hollow one, in which a radius of {radius:g} m has no room to roll."
        raise Mistake(f"{message} Give a larger ball or a smaller radius.", "ball")
