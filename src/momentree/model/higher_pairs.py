"""Higher pairs: rolling, skating, distances, points on surfaces and curves; they close loops as joints do.

A lower pair (joint_types.py) keeps two frames together along fixed directions. A higher pair connects a frame F of the
supporting body with a frame M of the guided one by rows that change with the placement X_FM. All rows are in axes of F,
wrenches at the origin of M: with p' the velocity of that origin relative to F and w the relative angular velocity,

    velocity of a row = f . p' + m . w + drift ,

where (f, m) is the row and the drift is that of surfaces that move. A holonomic row is the derivative of its error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from momentree.model.expressions.expression import Expression, Reference
from momentree.model.field_words import LAW
from momentree.model.joint_type import ConstraintRow, Coordinates, JointType
from momentree.model.values import TIME
from momentree.spatial import ZERO, Force, Motion, MotionSubspace, Scalar, Transform, Vector
from momentree.spatial.scalar import absolute, select
from momentree.spatial.vector import X, Y, Z

Names = Mapping[Reference, Scalar]
POSITION = (Reference("x"), Reference("y"), Reference("z"))  # of M's origin in axes of F, in surface equations


@dataclass(frozen=True)
class HigherPair(JointType):
    """What every higher pair defines; it has no coordinates of its own.

    | member     | meaning                                                                            |
    |------------|------------------------------------------------------------------------------------|
    | row_names  | of each row                                                                        |
    | holonomic  | of each row: whether it is a constraint on positions                               |
    | extent     | a length that is typical of it (m), 0 if there is none                             |
    | names      | time and the free parameters that its rows depend on                               |
    | singular   | where it has no direction                                                          |
    """

    row_names: ClassVar[tuple[str, ...]] = ()
    holonomic: ClassVar[tuple[bool, ...]] = ()
    singular: ClassVar[str] = ""

    def __post_init__(self) -> None:
        """Fields are resolved numbers already."""

    @property
    def extent(self) -> Scalar:
        return 0.0

    @property
    def names(self) -> tuple[Reference, ...]:
        """Time and the free parameters that its rows depend on."""
        return ()

    def rows(self, X_FM: Transform, names: Names) -> tuple[Force, ...]:
        """The rows (f, m)."""
        raise NotImplementedError

    def row_derivatives(self, X_FM: Transform, v: Motion, names: Names) -> tuple[Force, ...]:
        """Their derivatives as M moves with the twist v relative to F, components in axes of F."""
        raise NotImplementedError

    def errors(self, X_FM: Transform, names: Names) -> tuple[Scalar, ...]:
        """The closure errors of holonomic rows, zero for the others."""
        raise NotImplementedError

    def drifts(self, X_FM: Transform, names: Names) -> tuple[Scalar, ...]:
        """The velocities of the rows while M is at rest in F."""
        return (0,) * len(self.row_names)

    def drift_derivatives(self, X_FM: Transform, v: Motion, names: Names) -> tuple[Scalar, ...]:
        """Their derivatives as M moves."""
        return (0,) * len(self.row_names)

    def typical_rows(self) -> tuple[Force, ...]:
        """Rows as large as they are at any placement: for scales and bounds."""
        raise NotImplementedError

    # --- as a joint type ---

    def constraint_rows(self, q: Coordinates) -> tuple[ConstraintRow, ...]:
        return self.named(self.typical_rows())

    def named(self, rows: tuple[Force, ...]) -> tuple[ConstraintRow, ...]:
        """Rows with their names."""
        return tuple(map(ConstraintRow, self.row_names, rows, self.holonomic))

    @property
    def freedom(self) -> int:
        return 6 - len(self.row_names)

    def motion_subspace(self, q: Coordinates) -> MotionSubspace:
        """As if M could slide: bounds on constraints take it so."""
        return MotionSubspace([Motion(axis, ZERO) for axis in (X, Y, Z)])


@dataclass(frozen=True)
class Rolling(HigherPair):
    """A ball or disc rolls without slip on a plane, or on a ball: the point in contact is at rest.

    | field    | meaning                                                                                        |
    |----------|------------------------------------------------------------------------------------------------|
    | radius   | of the ball or disc about the origin of M (m)                                                  |
    | disc     | axis of the disc in M, of which the rim rolls; None: a ball                                    |
    | ball     | radius of a ball about the origin of F (m), negative: a hollow one; None: the plane z = 0 of F |
    | friction | the coefficient that must suffice, or None                                                     |
    """

    holonomic: ClassVar[tuple[bool, ...]] = (True, False, False)
    singular: ClassVar[str] = "its disc lies flat, or both centers are at one point"
    radius: Scalar = 0.0
    disc: Vector | None = None
    ball: Scalar | None = None
    friction: Scalar | None = None

    @property
    def row_names(self) -> tuple[str, ...]:  # type: ignore[override]
        along = ("x", "y") if self.ball is None else ("ahead", "aside")
        return ("contact", f"no slip {along[0]}", f"no slip {along[1]}")

    @property
    def extent(self) -> Scalar:
        return self.radius

    def rows(self, X_FM: Transform, names: Names) -> tuple[Force, ...]:
        c, axes, _ = self._contact(X_FM)
        return tuple(Force(e, c.cross(e)) for e in axes)

    def row_derivatives(self, X_FM: Transform, v: Motion, names: Names) -> tuple[Force, ...]:
        c, axes, _ = self._contact(X_FM)
        dc, changes = self._contact_derivatives(X_FM, v)
        both = zip(axes, changes, strict=True)
        return tuple(Force(de, dc.cross(e) + c.cross(de)) for e, de in both)

    def errors(self, X_FM: Transform, names: Names) -> tuple[Scalar, ...]:
        return self._contact(X_FM)[2], 0, 0

    def typical_rows(self) -> tuple[Force, ...]:
        return tuple(Force(e, (Z * -self.radius).cross(e)) for e in (Z, X, Y))

    def _contact(self, X_FM: Transform) -> tuple[Vector, tuple[Vector, Vector, Vector], Scalar]:
        """The point in contact from the origin of M; the normal and two tangents; how far it is from contact."""
        p = X_FM.offset
        if self.ball is None:
            d = Z if self.disc is None else self._towards(Z, X_FM)
            c = d * -self.radius
            return c, (Z, X, Y), p.z + c.z
        if self.disc is None:
            n = _unit(p)
            t, c = _tangent(n), n * -self._signed_radius
            return c, (n, t, n.cross(t)), p.norm - self._signed_radius - absolute(self.ball)
        w, outward = self._from_centre(X_FM)
        n = _unit(w) * outward
        t = _unit((X_FM.rotation @ self.disc).cross(n))
        return w - p, (n, t, n.cross(t)), w.norm * outward - absolute(self.ball)

    def _from_centre(self, X_FM: Transform) -> tuple[Vector, Scalar]:
        """The point of the rim in contact from the centre of the ball; -1 if it is beyond the centre, where none is."""
        d = self._towards(X_FM.offset, X_FM)
        beyond = d @ X_FM.offset - self._signed_radius
        return X_FM.offset - d * self._signed_radius, select(beyond, 1.0, -1.0)

    def _contact_derivatives(self, X_FM: Transform, v: Motion) -> tuple[Vector, tuple[Vector, Vector, Vector]]:
        p = X_FM.offset
        if self.ball is None:
            dd = ZERO if self.disc is None else self._towards_derivative(Z, ZERO, X_FM, v)
            return dd * -self.radius, (ZERO, ZERO, ZERO)
        if self.disc is None:
            n, dn = p / p.norm, _unit_derivative(p, v.linear)
            t, dt = _tangent(n), _tangent_derivative(n, dn)
            return dn * -self._signed_radius, (dn, dt, dn.cross(t) + n.cross(dt))
        w, outward = self._from_centre(X_FM)
        dc = self._towards_derivative(p, v.linear, X_FM, v) * -self._signed_radius
        n, dn = w / w.norm * outward, _unit_derivative(w, v.linear + dc) * outward
        a = X_FM.rotation @ self.disc
        b, db = a.cross(n), v.angular.cross(a).cross(n) + a.cross(dn)
        t, dt = b / b.norm, _unit_derivative(b, db)
        return dc, (dn, dt, dn.cross(t) + n.cross(dt))

    @property
    def _signed_radius(self) -> Scalar:
        assert self.ball is not None
        return self.radius * (self.ball / absolute(self.ball))

    def _towards(self, n: Vector, X_FM: Transform) -> Vector:
        """The unit vector in the plane of the disc that is nearest to a direction."""
        assert self.disc is not None
        a = X_FM.rotation @ self.disc
        return _unit(n - a * (n @ a))

    def _towards_derivative(self, n: Vector, dn: Vector, X_FM: Transform, v: Motion) -> Vector:
        assert self.disc is not None
        a = X_FM.rotation @ self.disc
        da = v.angular.cross(a)
        return _unit_derivative(n - a * (n @ a), dn - a * (dn @ a + n @ da) - da * (n @ a))


@dataclass(frozen=True)
class Skating(HigherPair):
    """The origin of M does not move relative to F along an axis of M: a blade, or a wheel that only rolls ahead."""

    row_names: ClassVar[tuple[str, ...]] = ("no slip across",)
    holonomic: ClassVar[tuple[bool, ...]] = (False,)
    across: Vector = Y

    def rows(self, X_FM: Transform, names: Names) -> tuple[Force, ...]:
        return (Force(X_FM.rotation @ self.across, ZERO),)

    def row_derivatives(self, X_FM: Transform, v: Motion, names: Names) -> tuple[Force, ...]:
        return (Force(v.angular.cross(X_FM.rotation @ self.across), ZERO),)

    def errors(self, X_FM: Transform, names: Names) -> tuple[Scalar, ...]:
        return (0,)

    def typical_rows(self) -> tuple[Force, ...]:
        return (Force(self.across, ZERO),)


@dataclass(frozen=True)
class Distance(HigherPair):
    """The origins of F and M keep their distance: a massless rod between two ball joints."""

    row_names: ClassVar[tuple[str, ...]] = ("distance",)
    holonomic: ClassVar[tuple[bool, ...]] = (True,)
    singular: ClassVar[str] = "both ends of its rod are at one point"
    length: Scalar = 1.0

    @property
    def extent(self) -> Scalar:
        return self.length

    def rows(self, X_FM: Transform, names: Names) -> tuple[Force, ...]:
        return (Force(_unit(X_FM.offset), ZERO),)

    def row_derivatives(self, X_FM: Transform, v: Motion, names: Names) -> tuple[Force, ...]:
        return (Force(_unit_derivative(X_FM.offset, v.linear), ZERO),)

    def errors(self, X_FM: Transform, names: Names) -> tuple[Scalar, ...]:
        return (X_FM.offset.norm - self.length,)

    def typical_rows(self) -> tuple[Force, ...]:
        return (Force(X, ZERO),)


@dataclass(frozen=True)
class OnSurfaces(HigherPair):
    """The origin of M stays on surfaces, each an expression of x, y, z (in axes of F), t and parameters kept at zero.

    One is a surface, two are the curve in which they meet. Rows and errors are divided by the gradient: lengths.
    """

    singular: ClassVar[str] = "the gradient of its surface vanishes, as at the apex of a cone"
    expressions: Annotated[tuple[Expression, ...], LAW] = ()
    still: bool = False  # as if time stood still

    @property
    def row_names(self) -> tuple[str, ...]:  # type: ignore[override]
        if len(self.expressions) == 1:
            return ("on the surface",)
        return tuple(f"on the curve, {i}" for i in range(1, len(self.expressions) + 1))

    @property
    def holonomic(self) -> tuple[bool, ...]:  # type: ignore[override]
        return (True,) * len(self.expressions)

    @property
    def names(self) -> tuple[Reference, ...]:
        return tuple(sorted({r for g in self.expressions for r in g.references()} - {*POSITION}))

    def rows(self, X_FM: Transform, names: Names) -> tuple[Force, ...]:
        at = _at(X_FM, names)
        return tuple(Force(_unit(_gradient(g, at)), ZERO) for g in self.expressions)

    def row_derivatives(self, X_FM: Transform, v: Motion, names: Names) -> tuple[Force, ...]:
        at = _at(X_FM, names)
        changes = ((_gradient(g, at), _gradient_derivative(g, at, v)) for g in self.expressions)
        return tuple(Force(_unit_derivative(f, df), ZERO) for f, df in changes)

    def errors(self, X_FM: Transform, names: Names) -> tuple[Scalar, ...]:
        at = _at(X_FM, names)
        return tuple(_over(g.evaluate(at), _gradient(g, at).norm) for g in self.expressions)

    def drifts(self, X_FM: Transform, names: Names) -> tuple[Scalar, ...]:
        if self.still:
            return (0,) * len(self.expressions)
        at = _at(X_FM, names)
        return tuple(_over(g.derivative(TIME).evaluate(at), _gradient(g, at).norm) for g in self.expressions)

    def drift_derivatives(self, X_FM: Transform, v: Motion, names: Names) -> tuple[Scalar, ...]:
        at, changes = _at(X_FM, names), []
        for g in self.expressions:
            drift, f = g.derivative(TIME), _gradient(g, at)
            rate = _gradient(drift, at) @ v.linear + drift.derivative(TIME).evaluate(at)
            growth = (f / f.norm) @ _gradient_derivative(g, at, v)
            changes.append((rate - drift.evaluate(at) / f.norm * growth) / f.norm)
        return tuple(changes)

    def typical_rows(self) -> tuple[Force, ...]:
        return tuple(Force(axis, ZERO) for axis in (Z, X, Y)[: len(self.expressions)])


# --- vectors ---


def _unit(v: Vector) -> Vector:
    """v / |v|; no direction, zero, where v vanishes: a disc that lies flat, a rod without length."""
    norm = v.norm
    if isinstance(norm, float) and norm == 0:
        return ZERO
    unit: Vector = v / norm
    return unit


def _over(value: Scalar, size: Scalar) -> Scalar:
    """value / size; the value itself where the size vanishes."""
    return value if isinstance(size, float) and size == 0 else value / size


def _unit_derivative(v: Vector, dv: Vector) -> Vector:
    """The derivative of v / |v|."""
    n = v / v.norm
    derivative: Vector = (dv - n * (n @ dv)) / v.norm
    return derivative


def _tangent(n: Vector) -> Vector:
    """A unit vector perpendicular to n that turns with it, but where n passes through z = 0 (then it jumps)."""
    s = select(n.z, 1.0, -1.0)
    a = 1 / (s + n.z)
    return Vector(1 - n.x * n.x * a * s, -n.x * n.y * a * s, -n.x * s)


def _tangent_derivative(n: Vector, dn: Vector) -> Vector:
    s = select(n.z, 1.0, -1.0)
    a = 1 / (s + n.z)
    da = -dn.z * a * a
    by_x = dn.x * n.x * a * 2 + n.x * n.x * da
    by_y = (dn.x * n.y + n.x * dn.y) * a + n.x * n.y * da
    return Vector(-by_x * s, -by_y * s, -dn.x * s)


def _at(X_FM: Transform, names: Names) -> dict[Reference, Scalar]:
    return {**names, **dict(zip(POSITION, X_FM.offset, strict=True))}


def _gradient(g: Expression, at: Names) -> Vector:
    return Vector(*(g.derivative(x).evaluate(at) for x in POSITION))


def _gradient_derivative(g: Expression, at: Names, v: Motion) -> Vector:
    """Of the gradient, as the point moves and time passes."""
    parts = (g.derivative(x) for x in POSITION)
    return Vector(*(_gradient(part, at) @ v.linear + part.derivative(TIME).evaluate(at) for part in parts))
