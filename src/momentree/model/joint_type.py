"""JointType: what every type of joint is and may carry; the types themselves are in joint_types.py.

A joint connects a first frame F with a second frame M. Its coordinates q place M in F (`placement`). Its velocities u
give M the twist A u, where the columns of A span the motion subspace (in axes and at the origin of M). The constraint
wrench subspace is its complement, spanned by the `constraint_rows` in axes of F. `fit` finds the coordinates that come
nearest to a placement, for joints that close a loop.

A new type of joint defines the methods that raise NotImplementedError below, and `random` if it has parameters besides
axes; tests/ takes all types from the table JOINTS. These are assumed of every type:

| number | contract                                                                                              |
|--------|-------------------------------------------------------------------------------------------------------|
| 1      | at `reference()` the frames coincide                                                                  |
| 2      | where there are more coordinates than velocities, the last four are a unit quaternion                 |
| 3      | the constraint rows are fixed in F, but for the last one of a joint with `crossed_axes`               |
| 4      | A' A is the same at all coordinates                                                                   |
| 5      | `fit` is the nearest placement; a joint that is `threaded` or has `crossed_axes` comes near to it     |
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Self

from numpy.typing import NDArray

from momentree.model.expressions.expression import Expression
from momentree.model.field_words import LAW
from momentree.model.values import Mistake, Raw, Values, check_later, checked, not_negative, plain
from momentree.spatial import REST, ZERO, Force, MotionSubspace, Rotation, Scalar, Transform, Vector
from momentree.spatial.scalar import atan2
from momentree.spatial.vector import axis_name

if TYPE_CHECKING:
    import numpy as np

Coordinates = Sequence[Scalar] | NDArray[Any]
# of stops: N/m or N m/rad, and N s/m or N m s/rad; 1 kg or 1 kg m2 rebounds with about 0.3 of its speed
STOPS = (1e4, 100.0)
WITHIN = 1e-9  # of the room between two limits, or of 1 m or rad beside one: as far beyond is still within


class Prescribed(NamedTuple):
    """The motion of a prescribed joint at one time: coordinates, velocities, and the derivatives of the velocities."""

    q: tuple[Scalar, ...]
    u: tuple[Scalar, ...]
    du: tuple[Scalar, ...]


class ConstraintRow(NamedTuple):
    """One scalar constraint of a joint: its name, and the wrench by which it acts, in axes of F.

    A row that is not holonomic constrains velocities only: rolling, skating (higher_pairs.py).
    """

    name: str
    direction: Force
    holonomic: bool = True


@dataclass(frozen=True)
class JointType:
    """What every joint may carry, one value for each velocity (a single value for joints of one freedom).

    | field    | meaning                                                                                        |
    |----------|------------------------------------------------------------------------------------------------|
    | motion   | prescribed coordinates, laws of t; a ball takes turns about x, then y, then z                  |
    | spring   | stiffness (N/m or N m/rad) towards `rest` (m or rad)                                           |
    | damping  | N s/m or N m s/rad                                                                             |
    | armature | inertia of its motor's rotor, seen at the joint (kg or kg m2): times the square of gear ratios |
    | limits   | (lowest, highest) coordinate; -inf, inf where there is none                                    |
    | stops    | (stiffness, damping) of the stops at the limits, one pair or one for each velocity; or `STOPS` |
    """

    coordinates: ClassVar[tuple[str, ...]] = ()
    units: ClassVar[tuple[str, ...]] = ()  # of the coordinates: "m", "rad", or "1" for those of a quaternion
    velocities: ClassVar[tuple[str, ...]] = ()  # the coordinate's name and a prime, or a name of its own
    axis_fields: ClassVar[tuple[str, ...]] = ()  # those that are directions
    coaxial: ClassVar[bool] = False  # M only turns about and slides along `axis`: A is the same in axes of F and of M
    threaded: ClassVar[bool] = False  # the last row couples turning with sliding, and `fit` counts full turns by it

    motion: Annotated[Raw, LAW] = dataclasses.field(default=None, kw_only=True)
    spring: Raw = dataclasses.field(default=None, kw_only=True)
    damping: Raw = dataclasses.field(default=None, kw_only=True)
    armature: Raw = dataclasses.field(default=None, kw_only=True)
    rest: Raw = dataclasses.field(default=None, kw_only=True)
    limits: Raw = dataclasses.field(default=None, kw_only=True)
    stops: Raw = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, plain(getattr(self, field.name)))

    # --- kinematics, on resolved joints -----------------------------------------------------------------------------

    def placement(self, q: Coordinates) -> Transform:
        """X_FM at coordinates q."""
        raise NotImplementedError

    def motion_subspace(self, q: Coordinates) -> MotionSubspace:
        """A(q): M moves with the twist A u, in axes of M."""
        raise NotImplementedError

    def motion_subspace_derivative(self, q: Coordinates, u: Coordinates) -> MotionSubspace:
        """The time derivative of A, component by component in axes of M: zero where its columns are fixed in M."""
        return MotionSubspace([REST] * len(self.velocities))

    def fit(self, X_FM: Transform) -> tuple[Scalar, ...]:
        """The coordinates whose placement is nearest to a given one."""
        raise NotImplementedError

    def constraint_rows(self, q: Coordinates) -> tuple[ConstraintRow, ...]:
        """The constraint wrench subspace: (6 - freedom) wrenches in axes of F, at the origin of M."""
        raise NotImplementedError

    @property
    def crossed_axes(self) -> tuple[Vector, Vector] | None:
        """An axis of F and one of M whose angle the joint keeps: its last row is the moment about their normal."""
        return None

    def reference(self) -> tuple[Scalar, ...]:
        """The coordinates at which M coincides with F."""
        return (0.0,) * len(self.coordinates)

    def integrate(self, q: Coordinates, step: Coordinates) -> tuple[Scalar, ...]:
        """The coordinates after a unit of time at constant velocities: the exponential of the joint's group."""
        return tuple(a + b for a, b in zip(q, step, strict=True))

    def difference(self, q: Coordinates, later: Coordinates) -> tuple[Scalar, ...]:
        """The velocities that take `integrate` from q to later: the logarithm; a rotation goes the shorter way."""
        return tuple(b - a for a, b in zip(q, later, strict=True))

    def coordinate_derivatives(self, q: Coordinates, u: Coordinates) -> tuple[Scalar, ...]:
        """Time derivatives of the coordinates at velocities u."""
        return tuple(u)

    def coordinate_map(self, q: Coordinates) -> list[tuple[Scalar, ...]] | None:
        """Derivatives of the coordinates at a unit of each velocity; None where velocities are their derivatives."""
        if len(self.coordinates) == len(self.velocities):
            return None
        count = range(len(self.velocities))
        return [self.coordinate_derivatives(q, [int(i == k) for i in count]) for k in count]

    def coordinate_map_derivative(self, q: Coordinates, u: Coordinates) -> list[tuple[Scalar, ...]]:
        """The time derivatives of `coordinate_map`, as the joint moves."""
        raise NotImplementedError

    def prescribed(self, laws: Coordinates, velocities: Coordinates, accelerations: Coordinates) -> Prescribed:
        """Coordinates, velocities and their derivatives, for motion laws with these values and time derivatives."""
        return Prescribed(tuple(laws), tuple(velocities), tuple(accelerations))

    # --- random joints, for tests ----------------------------------------------------------------------------------

    @classmethod
    def random(cls, generator: np.random.Generator) -> Self:
        """A joint of this type with random general axes and parameters, as a user would write it, about 1 m large.

        Every type draws the same two directions first, so that to change one joint of a random mechanism leaves the
        others as they are. A type with parameters besides its axes has a `random` of its own.
        """
        own = [field.name for field in dataclasses.fields(cls) if not field.kw_only]
        if set(own) != set(cls.axis_fields):
            parameters = ", ".join(name for name in own if name not in cls.axis_fields)
            raise NotImplementedError(f"joint type {cls.__name__} needs its own `random`, to choose {parameters}")
        return cls(**cls._random_axes(generator))

    @classmethod
    def _random_axes(cls, generator: np.random.Generator) -> dict[str, Raw]:
        directions = generator.standard_normal((max(2, len(cls.axis_fields)), 3)).tolist()
        return {name: tuple(n) for name, n in zip(cls.axis_fields, directions, strict=False)}

    # --- what the user wrote ---------------------------------------------------------------------------------------

    @property
    def turning(self) -> tuple[int, ...]:
        """Which coordinates a placement tells only up to full turns: angles, but those that a thread counts."""
        return () if self.threaded else tuple(i for i, unit in enumerate(self.units) if unit == "rad")

    @property
    def kind(self) -> str:
        return type(self).__name__

    @property
    def velocity_units(self) -> tuple[str, ...]:
        """Units of the velocities times seconds: those of the coordinates, radians for the rotation of a ball."""
        if len(self.coordinates) == len(self.velocities):
            return self.units
        return ("m",) * (len(self.velocities) - 3) + ("rad",) * 3

    @property
    def freedom(self) -> int:
        """Degrees of freedom: the number of velocities, none for a prescribed joint."""
        return 0 if self.motion is not None else len(self.velocities)

    def resolved(self, values: Values) -> Self:
        """The same joint in numbers: unit axes, options as tuples with one value for each velocity."""
        axes = {name: values.axis(getattr(self, name), name) for name in self.axis_fields}
        motion = None
        if self.motion is not None:
            motion = tuple(values.motion(law, "motion") for law in self._each(self.motion, "motion"))
        hindered = (self.spring, self.damping, self.armature, self.limits, self.stops)
        if motion is not None and any(option is not None for option in hindered):
            raise Mistake(
                "has a prescribed motion: a spring, damping, armature or limits on it have no effect.",
                "motion",
            )
        return self.with_fields(**axes, motion=motion, **self._options(values))

    def with_fields(self, **fields: Any) -> Self:
        """A copy with resolved fields, instead of those that the user wrote; itself where it has these already."""
        own = vars(self)
        if all(name in own and own[name] is value for name, value in fields.items()):
            return self
        joint = copy.copy(self)
        for name, value in fields.items():
            object.__setattr__(joint, name, value)
        return joint

    def _options(self, values: Values) -> dict[str, Any]:
        options: dict[str, Any] = {}
        for name in ("spring", "damping", "armature", "rest", "limits", "stops"):
            raw = getattr(self, name)
            if raw is None:
                continue
            if name == "armature":
                self._check_armature()
            if name != "damping" and len(self.coordinates) != len(self.velocities):
                message = f"a {self.kind} joint takes no {name}: its orientation has no single angle. Use a torque law."
                raise Mistake(message, name)
            if name == "limits":
                pairs = (raw,) if len(self.velocities) == 1 else self._each(raw, name)
                options[name] = tuple(_limits(pair, values) for pair in pairs)
            elif name == "stops":
                options[name] = tuple(_stop(pair, values) for pair in self._each_stop(raw))
            else:
                options[name] = tuple(values.scalar(one, name) for one in self._each(raw, name))
        for name in ("spring", "damping", "armature"):
            for value in options.get(name, ()):
                not_negative(value, name)
        if "rest" in options and "spring" not in options:
            raise Mistake("has a rest position but no spring. Give spring=.", "rest")
        if "stops" in options and "limits" not in options:
            raise Mistake("has stops but no limits to stop at. Give limits=.", "stops")
        if "limits" in options:
            options.setdefault("stops", (STOPS,) * len(self.velocities))
        return options

    def _check_armature(self) -> None:
        """Its velocities must be derivatives of coordinates."""
        if self.velocities != tuple(f"{name}'" for name in self.coordinates):
            others = f"a {self.kind} joint takes no armature: its velocities are not derivatives of coordinates."
            raise Mistake(f"{others} Give the rotor a body of its own, and a gear.", "armature")

    def _each_stop(self, raw: Raw) -> tuple[Raw, ...]:
        """A pair for each velocity: one for all of them, or one for each."""
        one = not isinstance(raw, tuple) or not any(isinstance(entry, tuple) for entry in raw)
        return self._each((raw,) * len(self.velocities) if one else raw, "stops")

    def _each(self, raw: Raw, what: str) -> tuple[Raw, ...]:
        count = len(self.velocities)
        if count == 0:
            raise Mistake(f"a {self.kind} joint does not move and takes no {what}.", what)
        entries = raw if isinstance(raw, tuple) else (raw,)
        if len(entries) != count:
            counted = f"{len(entries)} value{'s' * (len(entries) != 1)}"
            message = f"{what} has {counted}; a {self.kind} joint takes {count}: {', '.join(self.velocities)}."
            raise Mistake(message, what)
        return entries


def translations(*directions: Vector) -> tuple[ConstraintRow, ...]:
    return tuple(ConstraintRow(f"translation along {axis_name(n)}", Force(n, ZERO)) for n in directions)


def rotations(*directions: Vector) -> tuple[ConstraintRow, ...]:
    return tuple(ConstraintRow(f"rotation about {axis_name(n)}", Force(ZERO, n)) for n in directions)


def angle_about(n: Vector, R: Rotation) -> Scalar:
    """The turn about n that is nearest to R: tan = n.(R32-R23, R13-R31, R21-R12) / (tr R - n.R n)."""
    a, b, c = R.rows
    axial = Vector(c.y - b.z, a.z - c.x, b.x - a.y)
    return atan2(n @ axial, a.x + b.y + c.z - n @ (R @ n))


def beyond(limits: tuple[Scalar, Scalar], q: Scalar) -> list[Scalar]:
    """By how much a coordinate is beyond each of its limits, less what counts as within; not positive within them."""
    infinite = [isinstance(limit, (int, float)) and math.isinf(limit) for limit in limits]
    sides = [(sign, limit) for sign, limit, none in zip((-1, 1), limits, infinite, strict=True) if not none]
    slack = WITHIN * (limits[1] - limits[0] if len(sides) == 2 else 1.0)
    return [sign * (q - limit) - slack for sign, limit in sides]


def _limits(pair: Raw, values: Values) -> tuple[Scalar, Scalar]:
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise Mistake("limits are a pair (lowest, highest); write -inf or inf where there is none.", "limits")
    low, high = (one if one in (-math.inf, math.inf) else values.scalar(one, "limits") for one in pair)
    if isinstance(low, Expression) or isinstance(high, Expression):
        check_later(_check_limits, low, high)
    else:
        _check_limits(low, high)
    return low, high


def _check_limits(low: float, high: float) -> None:
    if low >= high:
        raise Mistake(f"limits ({low:g}, {high:g}) leave no room: the first must be the smaller.", "limits")


def _stop(pair: Raw, values: Values) -> tuple[Scalar, Scalar]:
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise Mistake("stops are a pair (stiffness, damping), or one pair for each velocity.", "stops")
    stiffness, damping = (values.scalar(one, "stops") for one in pair)
    checked(stiffness, lambda v: v > 0, "stops", "", "the stiffness must be positive")
    return stiffness, checked(damping, lambda v: v >= 0, "stops", "", "the damping may not be negative")
