"""Couplings of joints: mimic joints, gears, racks, belts, planetary gear sets, differentials, screws; as equations.

Each becomes holonomic constraints, linear in the coordinates of the joints that it names. Ratios, radii, numbers of
teeth, pitches and offsets may be expressions of parameters. Angles of gears and pulleys are counted as seen from the
body that carries their axes, in one direction about them, however joints are written (gear_axes.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from momentree.errors import choices, suggestion
from momentree.model.elements import ConstraintElement, Joint, Scope
from momentree.model.expressions.expression import Expression, Reference, as_expression
from momentree.model.gear_axes import Seen, bodies_of, on_one_body, on_the_arm
from momentree.model.joint_type import JointType
from momentree.model.joint_types import Prismatic, Revolute
from momentree.model.values import Mistake, Raw, Values, check_later, checked, plain, positive
from momentree.spatial import Scalar

Equations = tuple[tuple[str, Expression], ...]  # the name of each, and what is kept at zero
BOTH_ON_ONE = "Connect both with one body, or use couple."


@dataclass(frozen=True)
class Coupling(ConstraintElement):
    """Any of the couplings; `equations` are its constraints."""

    def equations(self, scope: Scope) -> Equations:
        """The name of each constraint, and the expression that is kept at zero; raises Mistake."""
        raise NotImplementedError

    def _check_hinge(self, what: str, scope: Scope) -> None:
        """A field must name a Revolute joint."""
        self._check_type(getattr(self, what), what, Revolute, scope)

    def _check_type(self, name: Any, what: str, wanted: type[JointType], scope: Scope) -> None:
        joint = named_joint(name, scope.joints, what)
        if not isinstance(joint.type, wanted):
            message = f"joint '{name}' is {joint.type.kind}; {what} must be a {wanted.__name__} joint."
            raise Mistake(f"{message} Use couple or constrain for other joints.", what)

    def _offset(self, scope: Scope) -> Scalar:
        return scope.values.scalar(getattr(self, "offset"), "offset")  # noqa: B009  # not all couplings have one

    def _distinct(self, *fields: str) -> None:
        """The fields must name different joints."""
        seen: dict[Any, str] = {}
        for field in fields:
            named = getattr(self, field)
            for name in named if isinstance(named, tuple) else (named,):
                if isinstance(name, str) and name in seen:
                    message = f"joint '{name}' is both {seen[name]} and {field}."
                    raise Mistake(f"{message} Name two different joints.", field)
                if isinstance(name, str):
                    seen[name] = field


@dataclass(frozen=True)
class Couple(Coupling):
    """A coordinate follows others: joint = ratio to + offset, or joint = sum of ratios times coordinates + offset.

    | field  | meaning                                                                                     |
    |--------|---------------------------------------------------------------------------------------------|
    | joint  | the coordinate that follows: a joint, "A", or one coordinate of it, "hull.x"                |
    | to     | the coordinate that it follows; or several with their ratios, {"A": 0.5, "B": 0.5}          |
    | ratio  | of both, not zero; negative: they move against each other                                   |
    | offset | m or rad                                                                                    |
    """

    kind, collection = "couple", "couples"

    joint: str
    to: Raw
    ratio: Raw = 1
    offset: Raw = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.to, Mapping):
            object.__setattr__(self, "to", {key: plain(ratio) for key, ratio in self.to.items()})

    def equations(self, scope: Scope) -> Equations:
        follower = coordinate_of(self.joint, scope.joints, "joint")
        rest, seen = as_expression(follower), {follower}
        for name, ratio in self._ratios():
            what = "to" if isinstance(self.to, Mapping) else "ratio"
            if isinstance(ratio, Mapping):
                component = next(iter(ratio), "x")
                raise Mistake(f'to has a table; the key of a component is in quotes: "{name}.{component}" = 1.', what)
            coordinate = coordinate_of(name, scope.joints, "to")
            if coordinate in seen:
                message = (
                    f"coordinate '{coordinate}' is named twice. A coordinate follows others than itself, each once."
                )
                raise Mistake(message, "to")
            seen.add(coordinate)
            rest = less(rest, not_zero(scope.values.scalar(ratio, what), what), as_expression(coordinate))
        return ((self.name, rest - self._offset(scope)),)

    def _ratios(self) -> list[tuple[Any, Raw]]:
        if not isinstance(self.to, Mapping):
            return [(self.to, self.ratio)]
        if not self.to:
            raise Mistake("to names no coordinate. Write one, or several with their ratios.", "to")
        if self.ratio != 1:
            raise Mistake("to has a ratio for each coordinate already. Leave ratio out.", "ratio")
        return list(self.to.items())


@dataclass(frozen=True)
class Gear(Coupling):
    """Two gears on Revolute joints: first = -ratio second + offset; internal gears turn alike, with +ratio.

    Angles are counted in one direction, as seen from the body that carries both axes. Exactly one of radii, teeth and
    ratio says how fast.

    | field    | meaning                                                                                       |
    |----------|-----------------------------------------------------------------------------------------------|
    | radii    | of the first and the second gear (m)                                                          |
    | teeth    | numbers of teeth of the first and the second                                                  |
    | ratio    | turns of the first for one of the second, positive                                            |
    | internal | whether one of them is a ring with teeth inside                                               |
    | carrier  | the Revolute joint of an arm that carries one of them; a gear whose joint is not on the arm   |
    |          | turns by its angle less that of the carrier; None: where no body has both joints, the arm     |
    |          | whose hinge is in line with one of them                                                       |
    | offset   | rad                                                                                           |
    """

    kind, collection = "gear", "gears"

    first: str
    second: str
    radii: Raw = None
    teeth: Raw = None
    ratio: Raw = None
    internal: bool = False
    carrier: Raw = None
    offset: Raw = 0

    def equations(self, scope: Scope) -> Equations:
        first, second = self.seen(scope)
        ratio = self._ratio(scope.values)
        alike = self.internal == (first.along(second) > 0)
        follows = ratio * second.amount
        rest = first.amount - follows if alike else first.amount + follows
        return ((self.name, rest - self._offset(scope)),)

    def seen(self, scope: Scope) -> list[Seen]:
        """The two gears as seen from the body that carries them."""
        true_or_false(self.internal, "internal")
        self._check_hinge("first", scope)
        self._check_hinge("second", scope)
        self._distinct("first", "second", "carrier")
        if self.carrier is None:
            way_out = "Name the Revolute joint of the arm that carries one of them: carrier=."
            return on_one_body((self.first, self.second), scope, "second", way_out)
        self._check_hinge("carrier", scope)
        return on_the_arm(self.carrier, (self.first, self.second), scope)[1]

    def _ratio(self, values: Values) -> Scalar:
        given = [what for what in ("radii", "teeth", "ratio") if getattr(self, what) is not None]
        if len(given) != 1:
            said = f"{' and '.join(given)} are given" if given else "has neither radii nor teeth nor a ratio"
            raise Mistake(f"{said}. Give exactly one of radii, teeth and ratio.", given[-1] if given else "")
        what = given[0]
        if what == "ratio":
            ratio = positive(values.scalar(self.ratio, what), what)
        else:
            one, other = pair_of_positive(getattr(self, what), what, values)
            ratio = other / one
        if self.internal:
            _check_together(lambda number: _check_internal(number, what), ratio)
        return ratio


@dataclass(frozen=True)
class Rack(Coupling):
    """A rack (Prismatic) driven by a pinion (Revolute): rack = radius pinion + offset; radius and offset in m.

    Along and about their axes as these are written, which says on which side of the pinion the rack is.
    """

    kind, collection = "rack", "racks"

    pinion: str
    rack: str
    radius: Raw
    offset: Raw = 0

    def equations(self, scope: Scope) -> Equations:
        self._check_hinge("pinion", scope)
        self._check_type(self.rack, "rack", Prismatic, scope)
        radius = positive(scope.values.scalar(self.radius, "radius"), "radius", "m")
        pinion, rack = on_one_body((self.pinion, self.rack), scope, "rack", BOTH_ON_ONE)
        follows = radius * pinion.amount
        rest = rack.amount - follows if rack.order == pinion.order else rack.amount + follows
        return ((self.name, rest - self._offset(scope)),)


@dataclass(frozen=True)
class Belt(Coupling):
    """A belt or chain about two pulleys: r1 first = r2 second, or = -r2 second if it is crossed.

    | field  | meaning                                                  |
    |--------|----------------------------------------------------------|
    | radii  | r1 and r2 (m)                                            |
    | offset | rad: first = (r2 / r1) second + offset                   |
    """

    kind, collection = "belt", "belts"

    first: str
    second: str
    radii: Raw
    crossed: bool = False
    offset: Raw = 0

    def equations(self, scope: Scope) -> Equations:
        true_or_false(self.crossed, "crossed")
        self._check_hinge("first", scope)
        self._check_hinge("second", scope)
        self._distinct("first", "second")
        one, other = pair_of_positive(self.radii, "radii", scope.values)
        first, second = on_one_body((self.first, self.second), scope, "second", BOTH_ON_ONE)
        follows = (other / one) * second.amount
        against = self.crossed == (first.along(second) > 0)
        rest = first.amount + follows if against else first.amount - follows
        return ((self.name, rest - self._offset(scope)),)


@dataclass(frozen=True)
class Planetary(Coupling):
    """A planetary gear set: z_sun (sun - carrier) + z_ring (ring - carrier) = 0 (Willis).

    | field   | meaning                                                                                         |
    |---------|-------------------------------------------------------------------------------------------------|
    | carrier | the Revolute joint of the arm that carries the planets                                          |
    | teeth   | z_sun, z_ring; the ring has more                                                                |
    | sun     | Revolute joint; None: the sun is fixed to the ground                                            |
    | ring    | likewise                                                                                        |
    | planets | Revolute joints of planets on the carrier, each with one more constraint:                       |
    |         | z_sun (sun - carrier) + z_planet planet = 0, where z_planet = (z_ring - z_sun) / 2              |
    """

    kind, collection = "planetary", "planetaries"

    carrier: str
    teeth: Raw
    sun: Raw = None
    ring: Raw = None
    planets: Raw = ()

    def equations(self, scope: Scope) -> Equations:
        if self.sun is None and self.ring is None:
            raise Mistake("sun and ring are both fixed, so that the set is locked. Name the joint of one of them.")
        self._check_hinge("carrier", scope)
        wheels = [what for what in ("sun", "ring") if getattr(self, what) is not None]
        for what in wheels:
            self._check_hinge(what, scope)
        if not isinstance(self.planets, tuple):
            raise Mistake(f"planets is {self.planets!r}; a list of joints is expected.", "planets")
        self._distinct("sun", "ring", "carrier", "planets")
        z_sun, z_ring = pair_of_positive(self.teeth, "teeth", scope.values)
        _check_together(_check_ring, z_sun, z_ring)
        for name in self.planets:
            self._check_type(name, "planets", Revolute, scope)
        arm, found, held = on_the_arm(self.carrier, (*(getattr(self, what) for what in wheels), *self.planets), scope)
        turns = [_counted(seen, held) for seen in found]
        fixed = as_expression(0) - as_expression(scope.joints[self.carrier].coordinates[0])
        sun, ring = (turns[wheels.index(what)] if what in wheels else fixed for what in ("sun", "ring"))
        equations = [(self.name, z_sun * sun + z_ring * ring)]
        for name, planet in zip(self.planets, turns[len(wheels) :], strict=True):
            if arm not in bodies_of(scope.joints[name]):
                message = f"joint '{name}' is not on '{arm}', the arm of carrier '{self.carrier}'."
                raise Mistake(f"{message} Connect the planet with the arm.", "planets")
            equations.append((f"{self.name}: planet {name}", z_sun * sun + (z_ring - z_sun) / 2 * planet))
        return tuple(equations)


@dataclass(frozen=True)
class Differential(Coupling):
    """A differential with equal side gears, all joints Revolute: left + right = 2 case."""

    kind, collection = "differential", "differentials"

    left: str
    right: str
    case: str

    def equations(self, scope: Scope) -> Equations:
        fields = ("left", "right", "case")
        for what in fields:
            self._check_hinge(what, scope)
        self._distinct(*fields)
        left, right, case = on_one_body((self.left, self.right, self.case), scope, "case", BOTH_ON_ONE)
        rest = left.amount + right.amount if left.along(right) > 0 else left.amount - right.amount
        twice = 2 * case.amount
        return ((self.name, rest - twice if left.along(case) > 0 else rest + twice),)


@dataclass(frozen=True)
class ScrewCoupling(Coupling):
    """A Revolute joint drives a Prismatic one by a screw: slide = pitch / (2 pi) turn + offset.

    | field  | meaning                                                              |
    |--------|----------------------------------------------------------------------|
    | pitch  | m per turn, as of a Screw joint; negative: a left-handed screw       |
    | offset | m                                                                    |
    """

    kind, collection = "screw", "screws"

    turn: str
    slide: str
    pitch: Raw
    offset: Raw = 0

    def equations(self, scope: Scope) -> Equations:
        self._check_hinge("turn", scope)
        self._check_type(self.slide, "slide", Prismatic, scope)
        pitch = not_zero(scope.values.scalar(self.pitch, "pitch"), "pitch", "m")
        turn, slide = on_one_body((self.turn, self.slide), scope, "slide", BOTH_ON_ONE)
        advance = (pitch if slide.along(turn) > 0 else -pitch) / math.tau
        return ((self.name, less(slide.amount, advance, turn.amount) - self._offset(scope)),)


COUPLINGS: tuple[type[Coupling], ...] = (Couple, Gear, Rack, Belt, Planetary, Differential, ScrewCoupling)


# --- the joints that they name ---------------------------------------------------------------------------------------


def named_joint(name: Any, joints: Mapping[str, Joint], what: str) -> Joint:
    """The joint of that name."""
    if not isinstance(name, str):
        raise Mistake(f"{what} is {'missing' if name is None else repr(name)}; the name of a joint is expected.", what)
    if name not in joints:
        raise Mistake(f"there is no joint '{name}'.{suggestion(name, joints)}", what, ("joint", name))
    return joints[name]


def coordinate_of(raw: Any, joints: Mapping[str, Joint], what: str) -> Reference:
    """The coordinate that a text names, as in expressions: "A", "hull.x"."""
    text = raw.replace("`", "") if isinstance(raw, str) else raw
    if isinstance(text, str) and text.endswith("'"):
        raise Mistake(f"'{raw}' is a velocity; name a coordinate. Use constrain for velocities.", what)
    component = ""
    if isinstance(text, str) and text not in joints:
        text, _, component = text.rpartition(".") if "." in text else (text, "", "")
    joint = named_joint(text, joints, what)
    units = dict(zip(joint.type.coordinates, joint.type.units, strict=True))
    named = [str(coordinate) for coordinate, unit in zip(joint.coordinates, units.values(), strict=True) if unit != "1"]
    wanted = Reference(text, component) if component else Reference(text)
    if wanted in joint.coordinates and units.get(component) != "1":
        return wanted
    if len(units) == 1 and component in units:
        return joint.coordinates[0]
    kind = f"joint '{text}' ({joint.type.kind})"
    if not named:
        raise Mistake(f"{kind} has no coordinate that is a length or an angle. Name another joint.", what)
    said = f"{kind} has no coordinate '{component}' to couple" if component else f"{kind} has several coordinates"
    raise Mistake(f"{said}. Choose {choices(named)}.", what)


def _counted(seen: Seen, held: Seen) -> Expression:
    """A turn as seen from an arm, in the direction in which the arm turns."""
    return seen.amount if seen.along(held) < 0 else -seen.amount


# --- their numbers ---------------------------------------------------------------------------------------------------


def less(minuend: Expression, factor: Scalar, coordinate: Expression) -> Expression:
    """minuend - factor coordinate, without two signs in a row."""
    if isinstance(factor, Expression) or factor >= 0:
        return minuend - as_expression(factor) * coordinate
    return minuend + as_expression(-factor) * coordinate


def not_zero(value: Scalar, what: str, unit: str = "") -> Scalar:
    """The value, which must not be zero."""
    return checked(value, lambda v: v != 0, what, unit, "it must not be zero")


def pair_of_positive(raw: Raw, what: str, values: Values) -> tuple[Scalar, Scalar]:
    """Two positive numbers."""
    one, other = (positive(value, what) for value in values.scalars(raw, 2, what))
    return one, other


def true_or_false(raw: Any, what: str) -> None:
    if not isinstance(raw, bool):
        raise Mistake(f"{what} is {raw!r}; use true or false.", what)


def _check_together(check: Callable[..., None], *numbers: Scalar) -> None:
    """Check numbers together, now or when free parameters have values."""
    if any(isinstance(number, Expression) for number in numbers):
        check_later(check, *numbers)
    else:
        check(*numbers)


def _check_internal(ratio: float, what: str) -> None:
    if ratio == 1:
        raise Mistake("an internal gear and its pinion need different sizes; the ratio of these is 1.", what)


def _check_ring(sun: float, ring: float) -> None:
    if ring <= sun:
        message = f"teeth are ({sun:g}, {ring:g}), of sun and ring: the ring must have more than the sun."
        raise Mistake(message, "teeth")
