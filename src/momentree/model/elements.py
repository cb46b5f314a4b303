"""The elements of a model: joints, torques, latches, forces, springs, contacts, constraints, splits."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from momentree.model.expressions.affine import not_affine
from momentree.model.expressions.expression import Expression, Reference
from momentree.model.field_words import KEPT
from momentree.model.frames import GROUND, Frame, NamedFrame
from momentree.model.joint_type import JointType
from momentree.model.values import Mistake, Raw, Values, checked, differentiable, not_negative, plain, positive
from momentree.spatial import Scalar


@dataclass(frozen=True)
class Joint:
    """A joint of the model: its type, and the two frames that it connects."""

    name: str
    type: JointType
    first: Annotated[Frame, KEPT]
    second: Annotated[Frame, KEPT]

    @property
    def coordinates(self) -> tuple[Reference, ...]:
        """The names of its coordinates in expressions: the joint's name alone if there is only one."""
        if len(self.type.coordinates) == 1:
            return (Reference(self.name),)
        return tuple(Reference(self.name, component) for component in self.type.coordinates)

    @property
    def velocities(self) -> tuple[Reference, ...]:
        """The names of its velocities in expressions: `alpha'`, `hull.y'`, `ball.wx`."""
        if len(self.type.velocities) == 1:
            return (Reference(self.name, velocity=True),)
        return tuple(Reference(self.name, name.rstrip("'"), name.endswith("'")) for name in self.type.velocities)


@dataclass(frozen=True)
class _Element:
    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, Frame):
                object.__setattr__(self, field.name, plain(value))


@dataclass(frozen=True)
class Torque(_Element):
    """Generalized forces at a joint: one law for each velocity (N or N m)."""

    joint: str
    law: Raw

    def laws(self, joint: Joint, values: Values, known: dict[Reference, str]) -> tuple[Expression, ...]:
        laws = self.law if isinstance(self.law, tuple) else (self.law,)
        velocities = joint.type.velocities
        if len(laws) != len(velocities):
            counted = f"{len(laws)} law{'s' * (len(laws) != 1)}"
            kind = joint.type.kind
            raise Mistake(f"has {counted}; a {kind} joint takes {len(velocities)}: {', '.join(velocities)}.", "law")
        if joint.type.motion is not None:
            raise Mistake(
                f"joint '{self.joint}' has a prescribed motion: a torque on it has no effect.",
                "joint",
            )
        return tuple(values.law(law, known) for law in laws)


@dataclass(frozen=True)
class Latch(_Element):
    """A joint with one degree of freedom that locks, for good, when its coordinate reaches `at` (m or rad)."""

    joint: str
    at: Raw

    def place(self, joint: Joint, values: Values) -> Scalar:
        """The coordinate at which it locks."""
        if len(joint.type.velocities) != 1:
            count = len(joint.type.velocities)
            raise Mistake(f"joint '{self.joint}' has {count} degrees of freedom; a latch needs one.", "joint")
        if joint.type.motion is not None:
            raise Mistake(f"joint '{self.joint}' has a prescribed motion, so there is nothing to lock.", "joint")
        return values.scalar(self.at, "at")


@dataclass(frozen=True)
class PointForce(_Element):
    """A force (N) at the origin of a frame and a moment (N m), in axes of the ground or of the frame ("body")."""

    frame: Frame
    law: Raw = (0, 0, 0)
    moment: Raw = (0, 0, 0)
    axes: str = GROUND

    def laws(self, values: Values, known: dict[Reference, str]) -> tuple[Expression, ...]:
        if self.axes not in (GROUND, "body"):
            raise Mistake(f"axes is {self.axes!r}; use 'ground' or 'body'.", "axes")
        for what, laws in (("law", self.law), ("moment", self.moment)):
            if not isinstance(laws, tuple) or len(laws) != 3:
                raise Mistake(f'{what} needs three components, such as (0, 0, "-5*z\'").', what)
        force, moment = ([values.law(law, known, what) for law in getattr(self, what)] for what in ("law", "moment"))
        return (*force, *moment)


@dataclass(frozen=True)
class Spring(_Element):
    """A spring (N/m) and damper (N s/m) between two points, free at length `rest` (m); pulls only if `tension_only`."""

    first: Frame
    second: Frame
    stiffness: Raw
    damping: Raw = 0
    rest: Raw = 0
    tension_only: bool = False

    def numbers(self, values: Values) -> tuple[Raw, ...]:
        return _not_negative(self, ("stiffness", "damping", "rest"), values)


@dataclass(frozen=True)
class Contact(_Element):
    """A point, ball or disc carried by `frame` against a plane (z axis of `against` is its normal) or a ball.

    d is how deep one is in the other (m), d' how fast it gets deeper; N is the normal force, which never pulls.

    | field     | meaning                                                                                       |
    |-----------|-----------------------------------------------------------------------------------------------|
    | radius    | m, of the ball or disc about the frame's origin; 0 is a point                                 |
    | disc      | axis of the disc, in the frame: its rim touches, the nearest point of it; None is a ball      |
    | ball      | m, radius of a ball at `against` instead of its plane; None is the plane                      |
    | law       | "linear": N = k d + c d' min(1, d / ramp); "hunt-crossley": N = k d^exponent (1 + 1.5 c d')   |
    | stiffness | k: N/m, or N/m^exponent                                                                       |
    | damping   | c: N s/m; or s/m, and an impact at speed v rebounds with about (1 - c v) v                      |
    | ramp      | m, depth over which linear damping sets in, so that nothing jumps; 1e-3 unless given          |
    | exponent  | of "hunt-crossley", at least 1; 1.5 (balls, Hertz) unless given                               |
    | friction  | Coulomb coefficient; the force is friction N tanh(speed / slip) against the sliding           |
    | slip      | m/s, speed at which friction has 76 % of its strength                                         |
    """

    LAWS: ClassVar[tuple[str, ...]] = ("linear", "hunt-crossley")
    RAMP: ClassVar[float] = 1e-3
    EXPONENT: ClassVar[float] = 1.5

    frame: Frame
    against: Frame
    radius: Raw = 0
    disc: Raw = None
    ball: Raw = None
    law: str = "linear"
    stiffness: Raw = None
    damping: Raw = 0
    ramp: Raw = None
    exponent: Raw = None
    friction: Raw = 0
    slip: Raw = 0.01

    def numbers(self, values: Values) -> dict[str, Any]:
        """Its fields in numbers: None where the law does not use them; "linear" has the exponent 1."""
        if self.law not in self.LAWS:
            raise Mistake(f"law is {self.law!r}; use one of {', '.join(repr(law) for law in self.LAWS)}.", "law")
        numbers: dict[str, Any] = {"disc": None if self.disc is None else values.axis(self.disc, "disc")}
        for name in ("stiffness", "slip"):
            numbers[name] = positive(values.scalar(getattr(self, name), name), name)
        numbers["ball"] = None if self.ball is None else positive(values.scalar(self.ball, "ball"), "ball")
        names = ("radius", "damping", "friction")
        numbers.update(zip(names, _not_negative(self, names, values), strict=True))
        if numbers["disc"] is not None and numbers["radius"] == 0:
            raise Mistake("a disc needs a radius; without disc= it is a point.", "disc")
        return numbers | self._of_law(values)

    def _of_law(self, values: Values) -> dict[str, Any]:
        linear = self.law == "linear"
        unused = "exponent" if linear else "ramp"
        if getattr(self, unused) is not None:
            other = next(law for law in self.LAWS if law != self.law)
            raise Mistake(f"law '{self.law}' has no {unused}. Leave it out, or use law '{other}'.", unused)
        if linear:
            ramp = self.RAMP if self.ramp is None else self.ramp
            return {"ramp": positive(values.scalar(ramp, "ramp"), "ramp"), "exponent": 1}
        exponent = values.scalar(self.EXPONENT if self.exponent is None else self.exponent, "exponent")
        return {"ramp": None, "exponent": checked(exponent, lambda v: v >= 1, "exponent", "", "it must be at least 1")}


class Scope(NamedTuple):
    """What the elements that become constraints may name.

    | field  | meaning                                                                        |
    |--------|--------------------------------------------------------------------------------|
    | values | the parameters                                                                 |
    | joints | by name                                                                        |
    | known  | "coordinate", "position" (of a named frame) or "velocity", of every reference  |
    """

    values: Values
    joints: Mapping[str, Joint]
    known: Mapping[Reference, str]


def known_references(joints: Iterable[Joint], frames: Iterable[NamedFrame] = ()) -> dict[Reference, str]:
    """The names that expressions may use: each joint's coordinates and velocities; in constraints, those of frames."""
    kinds: dict[Reference, str] = {}
    for joint in joints:
        kinds.update(dict.fromkeys(joint.coordinates, "coordinate"))
        kinds.update(dict.fromkeys(joint.velocities, "velocity"))
    for frame in frames:
        kinds.update(dict.fromkeys(frame.positions, "position"))
        kinds.update(dict.fromkeys(frame.velocities, "velocity"))
    return kinds


@dataclass(frozen=True)
class ConstraintElement(_Element):
    """An element that constrains: it has a name, "gear 1" unless it is given another.

    | class variable | meaning                                                                       |
    |----------------|-------------------------------------------------------------------------------|
    | kind           | "gear": its table in a file, and the beginning of its name                    |
    | collection     | "gears": the list of the model that holds it                                  |
    | frames         | its keys in a file that are frames -> the fields that they fill               |
    """

    kind: ClassVar[str] = ""
    collection: ClassVar[str] = ""
    frames: ClassVar[dict[str, str]] = {}

    name: str = dataclasses.field(default="", kw_only=True)


@dataclass(frozen=True)
class Constraint(ConstraintElement):
    """An expression kept at zero, or an equation: of coordinates and t (holonomic), or affine in the velocities."""

    kind, collection = "constraint", "constraints"

    expression: Raw

    def equations(self, scope: Scope) -> tuple[tuple[str, Expression], ...]:
        """Its name, and the expression that is kept at zero."""
        return ((self.name, self.resolved(scope.values, scope.known)),)

    def resolved(self, values: Values, known: Mapping[Reference, str]) -> Expression:
        """The expression that is kept at zero, with the fixed parameters put in."""
        kinds = "t, parameters, joint coordinates and named frames" if values.frames else ""
        expression = values.law(self.expression, known, "constraint", kinds, equation=True)
        velocities = {r for r in expression.references() if known.get(r) == "velocity"}
        wrong = not_affine(expression, velocities) if velocities else None
        if wrong is not None:
            message = f"is not affine in the velocity {wrong}; constraints must be affine in the velocities"
            raise Mistake(f"{message}, such as r*A' + sin(B)*C' = 2*t.", "expression")
        if not any(r in known for r in expression.references()):
            message = "names no joint coordinate and no frame, so there is nothing to constrain."
            raise Mistake(message, "expression")
        return expression if not values.tables else differentiable(expression, 1 if velocities else 2, "expression")


@dataclass(frozen=True)
class Split(_Element):
    """A body opened in two: the joint holds the image, which takes this share of the inertia."""

    body: str
    joint: str
    share: Raw = 0.5

    def portion(self, values: Values) -> Raw:
        share = values.scalar(self.share, "share")
        return checked(share, lambda v: 0 < v < 1, "share", "", "both halves need inertia, so 0 < share < 1")


def _not_negative(element: _Element, names: tuple[str, ...], values: Values) -> tuple[Raw, ...]:
    return tuple(not_negative(values.scalar(getattr(element, name), name), name) for name in names)
