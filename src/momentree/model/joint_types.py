"""The joint types: placement, motion subspace and constraints of each, on any scalar (joint_type.py has the contract).

A screw fits a placement by its advance, a universal joint by its second axis first; the others come nearest to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from momentree.errors import fields_spell_checked
from momentree.model.joint_type import (
    ConstraintRow,
    Coordinates,
    JointType,
    Prescribed,
    angle_about,
    rotations,
    translations,
)
from momentree.model.values import Mistake, Raw, Values, checked
from momentree.spatial import REST, ZERO, Force, Motion, MotionSubspace, Scalar, Transform, Vector, X, Y, Z, turn
from momentree.spatial.rotation import (
    cardan_acceleration,
    cardan_quaternion,
    cardan_velocity,
    displacement,
    displacement_velocity,
    normalised,
    quaternion_product,
    quaternion_rotation,
    quaternion_vector,
    rotation_quaternion,
    vector_quaternion,
)
from momentree.spatial.scalar import atan2
from momentree.spatial.vector import axis_name, normals

if TYPE_CHECKING:
    import numpy as np


@fields_spell_checked
@dataclass(frozen=True)
class Revolute(JointType):
    """A hinge: M turns about an axis of F."""

    coordinates, units, velocities, axis_fields = ("angle",), ("rad",), ("angle'",), ("axis",)
    coaxial = True
    axis: Raw = "z"
    offset: ClassVar[Scalar] = 0  # rad: of M in F where the angle is 0, in frames that joint_frames.py chose

    def placement(self, q: Coordinates) -> Transform:
        return Transform(turn(self.axis, q[0] + self.offset))

    def motion_subspace(self, q: Coordinates) -> MotionSubspace:
        return MotionSubspace([Motion(ZERO, self.axis)])

    def fit(self, X_FM: Transform) -> tuple[Scalar, ...]:
        return (angle_about(self.axis, X_FM.rotation) - self.offset,)

    def constraint_rows(self, q: Coordinates) -> tuple[ConstraintRow, ...]:
        return translations(X, Y, Z) + rotations(*normals(self.axis))


@fields_spell_checked
@dataclass(frozen=True)
class Prismatic(JointType):
    """A slider: M moves along an axis of F without turning."""

    coordinates, units, velocities, axis_fields = ("slide",), ("m",), ("slide'",), ("axis",)
    coaxial = True
    axis: Raw = "z"

    def placement(self, q: Coordinates) -> Transform:
        return Transform(offset=self.axis * q[0])

    def motion_subspace(self, q: Coordinates) -> MotionSubspace:
        return MotionSubspace([Motion(self.axis, ZERO)])

    def fit(self, X_FM: Transform) -> tuple[Scalar, ...]:
        return (self.axis @ X_FM.offset,)

    def constraint_rows(self, q: Coordinates) -> tuple[ConstraintRow, ...]:
        return translations(*normals(self.axis)) + rotations(X, Y, Z)


@fields_spell_checked
@dataclass(frozen=True)
class Screw(JointType):
    """A nut on a screw: M turns about an axis of F and advances by `pitch` (m) at each turn."""

    coordinates, units, velocities, axis_fields = ("angle",), ("rad",), ("angle'",), ("axis",)
    coaxial = threaded = True
    axis: Raw = "z"
    pitch: Raw = None

    @classmethod
    def random(cls, generator: np.random.Generator) -> Self:
        axes = cls._random_axes(generator)
        return cls(**axes, pitch=float(generator.uniform(0.1, 0.5)))

    def resolved(self, values: Values) -> Self:
        pitch = values.scalar(self.pitch, "pitch")
        checked(pitch, lambda v: v != 0, "pitch", "m", "without an advance use a Revolute joint")
        return super().resolved(values).with_fields(pitch=pitch)

    @property
    def advance(self) -> Scalar:
        """m per rad."""
        return self.pitch / (2 * math.pi)

    def placement(self, q: Coordinates) -> Transform:
        return Transform(turn(self.axis, q[0]), self.axis * (self.advance * q[0]))

    def motion_subspace(self, q: Coordinates) -> MotionSubspace:
        return MotionSubspace([Motion(self.axis * self.advance, self.axis)])

    def fit(self, X_FM: Transform) -> tuple[Scalar, ...]:
        # from the advance, which counts full turns; the rotation alone does not
        return ((self.axis @ X_FM.offset) / self.advance,)

    def constraint_rows(self, q: Coordinates) -> tuple[ConstraintRow, ...]:
        n = self.axis
        thread = ConstraintRow(f"thread along {axis_name(n)}", Force(n * (-1 / self.advance), n))
        return translations(*normals(n)) + rotations(*normals(n)) + (thread,)


@fields_spell_checked
@dataclass(frozen=True)
class Cylindrical(JointType):
    """M slides along an axis of F and turns about it."""

    coordinates, units, velocities = ("slide", "angle"), ("m", "rad"), ("slide'", "angle'")
    axis_fields = ("axis",)
    coaxial = True
    axis: Raw = "z"

    def placement(self, q: Coordinates) -> Transform:
        return Transform(turn(self.axis, q[1]), self.axis * q[0])

    def motion_subspace(self, q: Coordinates) -> MotionSubspace:
        return MotionSubspace([Motion(self.axis, ZERO), Motion(ZERO, self.axis)])

    def fit(self, X_FM: Transform) -> tuple[Scalar, ...]:
        return self.axis @ X_FM.offset, angle_about(self.axis, X_FM.rotation)

    def constraint_rows(self, q: Coordinates) -> tuple[ConstraintRow, ...]:
        return translations(*normals(self.axis)) + rotations(*normals(self.axis))


@fields_spell_checked
@dataclass(frozen=True)
class PinSlot(JointType):
    """A pin in a slot: M slides along one axis of F and turns about another."""

    coordinates, units, velocities = ("slide", "angle"), ("m", "rad"), ("slide'", "angle'")
    axis_fields = ("slot", "pin")
    slot: Raw = "x"
    pin: Raw = "z"

    def placement(self, q: Coordinates) -> Transform:
        return Transform(turn(self.pin, q[1]), self.slot * q[0])

    def motion_subspace(self, q: Coordinates) -> MotionSubspace:
        return MotionSubspace([Motion(turn(self.pin, q[1]).T @ self.slot, ZERO), Motion(ZERO, self.pin)])

    def motion_subspace_derivative(self, q: Coordinates, u: Coordinates) -> MotionSubspace:
        along = turn(self.pin, q[1]).T @ self.slot
        return MotionSubspace([Motion(along.cross(self.pin) * u[1], ZERO), REST])

    def fit(self, X_FM: Transform) -> tuple[Scalar, ...]:
        return self.slot @ X_FM.offset, angle_about(self.pin, X_FM.rotation)

    def constraint_rows(self, q: Coordinates) -> tuple[ConstraintRow, ...]:
        return translations(*normals(self.slot)) + rotations(*normals(self.pin))


@fields_spell_checked
@dataclass(frozen=True)
class Universal(JointType):
    """A Cardan joint: M turns about the second axis, which F carries along as it turns it about the first."""

    coordinates, units, velocities = ("angle1", "angle2"), ("rad", "rad"), ("angle1'", "angle2'")
    axis_fields = ("first", "second")
    first: Raw = "x"
    second: Raw = "y"

    def resolved(self, values: Values) -> Self:
        joint = super().resolved(values)
        if joint.first.cross(joint.second).norm < 1e-6:
            raise Mistake("the two axes are parallel. Use a Revolute joint, or turn one of them.", "second")
        return joint

    @classmethod
    def random(cls, generator: np.random.Generator) -> Self:
        joint = super().random(generator)
        a, b = (Vector(*axis) / Vector(*axis).norm for axis in (joint.first, joint.second))
        return joint if a.cross(b).norm > 0.2 else cls(joint.first, tuple(normals(a)[0]))  # not nearly parallel

    @property
    def crossed_axes(self) -> tuple[Vector, Vector] | None:
        return self.first, self.second

    def placement(self, q: Coordinates) -> Transform:
        return Transform(turn(self.first, q[0]) @ turn(self.second, q[1]))

    def motion_subspace(self, q: Coordinates) -> MotionSubspace:
        return MotionSubspace([Motion(ZERO, turn(self.second, q[1]).T @ self.first), Motion(ZERO, self.second)])

    def motion_subspace_derivative(self, q: Coordinates, u: Coordinates) -> MotionSubspace:
        about = turn(self.second, q[1]).T @ self.first
        return MotionSubspace([Motion(ZERO, about.cross(self.second) * u[1]), REST])

    def fit(self, X_FM: Transform) -> tuple[Scalar, ...]:
        a, b = self.first, self.second
        carried = X_FM.rotation @ b
        angle1 = atan2(a @ b.cross(carried), b @ carried - (a @ b) * (a @ carried))
        return angle1, angle_about(b, turn(a, angle1).T @ X_FM.rotation)

    def constraint_rows(self, q: Coordinates) -> tuple[ConstraintRow, ...]:
        blocked = self.first.cross(turn(self.first, q[0]) @ self.second)
        return (*translations(X, Y, Z), ConstraintRow("rotation across both axes", Force(ZERO, blocked / blocked.norm)))


@fields_spell_checked
@dataclass(frozen=True)
class Spherical(JointType):
    """A ball: coordinates a unit quaternion (x, y, z, w), velocities the angular velocity in axes of M."""

    coordinates, units = ("qx", "qy", "qz", "qw"), ("1",) * 4
    velocities = ("wx", "wy", "wz")

    def placement(self, q: Coordinates) -> Transform:
        return Transform(quaternion_rotation(tuple(q)))

    def motion_subspace(self, q: Coordinates) -> MotionSubspace:
        return MotionSubspace([Motion(ZERO, axis) for axis in (X, Y, Z)])

    def fit(self, X_FM: Transform) -> tuple[Scalar, ...]:
        return rotation_quaternion(X_FM.rotation)

    def constraint_rows(self, q: Coordinates) -> tuple[ConstraintRow, ...]:
        return translations(X, Y, Z)

    def reference(self) -> tuple[Scalar, ...]:
        return 0.0, 0.0, 0.0, 1.0

    def integrate(self, q: Coordinates, step: Coordinates) -> tuple[Scalar, ...]:
        return normalised(quaternion_product(tuple(q), vector_quaternion(Vector(*step))))

    def difference(self, q: Coordinates, later: Coordinates) -> tuple[Scalar, ...]:
        x, y, z, w = q
        return tuple(quaternion_vector(quaternion_product((-x, -y, -z, w), tuple(later))))

    def coordinate_derivatives(self, q: Coordinates, u: Coordinates) -> tuple[Scalar, ...]:
        return tuple(e / 2 for e in quaternion_product(tuple(q), (*u, 0)))

    def coordinate_map_derivative(self, q: Coordinates, u: Coordinates) -> list[tuple[Scalar, ...]]:
        dq = self.coordinate_derivatives(q, u)  # the map is linear in the quaternion
        return [self.coordinate_derivatives(dq, unit) for unit in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]

    def prescribed(self, laws: Coordinates, velocities: Coordinates, accelerations: Coordinates) -> Prescribed:
        _, b, c = laws
        w, dw = (
            cardan_velocity(b, c, tuple(velocities)),
            cardan_acceleration(b, c, tuple(velocities), tuple(accelerations)),
        )
        return Prescribed(cardan_quaternion(*laws), tuple(w), tuple(dw))


@fields_spell_checked
@dataclass(frozen=True)
class Planar(JointType):
    """M moves in a plane of F and turns about its normal.

    The coordinates are named for the axes they run along: a plane with normal "x" has y, z and angle.
    """

    coordinates, units = ("slide1", "slide2", "angle"), ("m", "m", "rad")
    velocities = ("slide1'", "slide2'", "angle'")
    axis_fields = ("normal",)
    normal: Raw = "z"

    def __post_init__(self) -> None:
        super().__post_init__()
        plane = {"x": ("y", "z"), "y": ("z", "x"), "z": ("x", "y")}
        if isinstance(self.normal, str) and self.normal in plane:
            names = (*plane[self.normal], "angle")
            object.__setattr__(self, "coordinates", names)
            object.__setattr__(self, "velocities", tuple(f"{name}'" for name in names))

    def placement(self, q: Coordinates) -> Transform:
        n1, n2 = normals(self.normal)
        return Transform(turn(self.normal, q[2]), n1 * q[0] + n2 * q[1])

    def motion_subspace(self, q: Coordinates) -> MotionSubspace:
        R_MF = turn(self.normal, q[2]).T
        return MotionSubspace([*(Motion(R_MF @ n, ZERO) for n in normals(self.normal)), Motion(ZERO, self.normal)])

    def motion_subspace_derivative(self, q: Coordinates, u: Coordinates) -> MotionSubspace:
        R_MF = turn(self.normal, q[2]).T
        turning = [Motion((R_MF @ n).cross(self.normal) * u[2], ZERO) for n in normals(self.normal)]
        return MotionSubspace([*turning, REST])

    def fit(self, X_FM: Transform) -> tuple[Scalar, ...]:
        n1, n2 = normals(self.normal)
        return n1 @ X_FM.offset, n2 @ X_FM.offset, angle_about(self.normal, X_FM.rotation)

    def constraint_rows(self, q: Coordinates) -> tuple[ConstraintRow, ...]:
        return translations(self.normal) + rotations(*normals(self.normal))


@fields_spell_checked
@dataclass(frozen=True)
class Free(JointType):
    """No connection: coordinates position in F and unit quaternion, velocities the velocity of M in axes of M."""

    coordinates = ("x", "y", "z", "qx", "qy", "qz", "qw")
    units = ("m", "m", "m", "1", "1", "1", "1")
    velocities = ("vx", "vy", "vz", "wx", "wy", "wz")

    def placement(self, q: Coordinates) -> Transform:
        return Transform(quaternion_rotation(tuple(q[3:])), Vector(*q[:3]))

    def motion_subspace(self, q: Coordinates) -> MotionSubspace:
        return MotionSubspace([Motion(axis, ZERO) for axis in (X, Y, Z)] + [Motion(ZERO, axis) for axis in (X, Y, Z)])

    def fit(self, X_FM: Transform) -> tuple[Scalar, ...]:
        return (*X_FM.offset, *rotation_quaternion(X_FM.rotation))

    def constraint_rows(self, q: Coordinates) -> tuple[ConstraintRow, ...]:
        return ()

    def reference(self) -> tuple[Scalar, ...]:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0

    def integrate(self, q: Coordinates, step: Coordinates) -> tuple[Scalar, ...]:
        moved = self.placement(q).point(displacement(Vector(*step[3:]), Vector(*step[:3])))
        return (*moved, *Spherical().integrate(q[3:], step[3:]))

    def difference(self, q: Coordinates, later: Coordinates) -> tuple[Scalar, ...]:
        turned = Spherical().difference(q[3:], later[3:])
        moved = self.placement(q).inverse().point(Vector(*later[:3]))
        return (*displacement_velocity(Vector(*turned), moved), *turned)

    def coordinate_derivatives(self, q: Coordinates, u: Coordinates) -> tuple[Scalar, ...]:
        v = quaternion_rotation(tuple(q[3:])) @ Vector(*u[:3])
        return (*v, *Spherical().coordinate_derivatives(q[3:], u[3:]))

    def coordinate_map_derivative(self, q: Coordinates, u: Coordinates) -> list[tuple[Scalar, ...]]:
        R, w = quaternion_rotation(tuple(q[3:])), Vector(*u[3:])
        turning = Spherical().coordinate_map_derivative(q[3:], u[3:])
        return [(*(R @ w.cross(n)), 0, 0, 0, 0) for n in (X, Y, Z)] + [(0, 0, 0, *part) for part in turning]

    def prescribed(self, laws: Coordinates, velocities: Coordinates, accelerations: Coordinates) -> Prescribed:
        q, w, dw = Spherical().prescribed(laws[3:], velocities[3:], accelerations[3:])
        R = quaternion_rotation(q).T
        v = R @ Vector(*velocities[:3])
        dv = R @ Vector(*accelerations[:3]) - Vector(*w).cross(v)
        return Prescribed((*laws[:3], *q), (*v, *w), (*dv, *dw))


@fields_spell_checked
@dataclass(frozen=True)
class Fixed(JointType):
    """A weld: M coincides with F."""

    def placement(self, q: Coordinates) -> Transform:
        return Transform()

    def motion_subspace(self, q: Coordinates) -> MotionSubspace:
        return MotionSubspace([])

    def fit(self, X_FM: Transform) -> tuple[Scalar, ...]:
        return ()

    def constraint_rows(self, q: Coordinates) -> tuple[ConstraintRow, ...]:
        return translations(X, Y, Z) + rotations(X, Y, Z)


JOINTS: dict[str, type[JointType]] = {
    joint.__name__: joint
    for joint in (Revolute, Prismatic, Screw, Cylindrical, PinSlot, Universal, Spherical, Planar, Free, Fixed)
}
