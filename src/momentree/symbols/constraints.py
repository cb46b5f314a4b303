"""Constraint equations in symbols: positions g(q, t) = 0 and velocities J u + j = 0 of loops and of expressions.

A loop is seen from the body where its two branches meet (the ground, for most): the offset of the closing joint's
second frame M from its first frame F is resolved in axes of that body, so that a hinge closes a planar loop by the two
equations of a textbook, a cos(A) + b cos(A + B) - c cos(D) - d = 0 and the same with sines.

| constraint of the closing joint   | position g                                                              |
|-----------------------------------|-------------------------------------------------------------------------|
| offset, all directions            | the components of the offset, in axes of the body where branches meet   |
| offset along n, fixed in F        | n . offset                                                              |
| rotation about m = p x q          | q . p, where q is fixed in F and p in M; p is the joint's axis          |
| rotation in a planar loop         | the sum of its angles, up to full turns                                 |
| angle between two axes            | a . b less the cosine that the joint keeps                              |
| thread                            | n . offset less advance times angle                                     |

Velocities are the exact time derivatives of these. Constraints that hold out of the plane of a planar loop are left
out (structure/loop_constraints.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import sympy as sp

from momentree.equations.kinematics import records
from momentree.equations.loops.residual import residual
from momentree.equations.sweeps import Records
from momentree.model.expressions.expression import Reference
from momentree.model.higher_pairs import POSITION, Distance, HigherPair, OnSurfaces
from momentree.model.joint_type import angle_about
from momentree.model.joint_types import Screw
from momentree.model.values import TIME
from momentree.spatial import IDENTITY, ZERO, Force, Motion, Rotation, Scalar, Transform, Vector
from momentree.spatial.vector import X, Y, Z, axis_name, normals
from momentree.structure.loop_constraints import loop_constraints, plane_of
from momentree.structure.mechanism import Attached, Constraint, Loop, Mechanism
from momentree.symbols.parallel import carriers
from momentree.symbols.scalars import ExactLaw, Symbolic, exact
from momentree.symbols.shortest import simplified

AXES = (X, Y, Z)


@dataclass(frozen=True)
class ScalarConstraint:
    """One scalar constraint in symbols.

    | field    | meaning                                                                   |
    |----------|---------------------------------------------------------------------------|
    | of       | the joint or constraint that imposes it                                   |
    | meaning  | which of its constraints: "offset along x"; empty if it has only one      |
    | position | g(q, t), zero; None if it is nonholonomic                                 |
    | J, j     | its velocity J u + j, zero: the derivative of g where there is one        |
    """

    of: str
    meaning: str
    position: sp.Expr | None
    J: tuple[sp.Expr, ...]
    j: sp.Expr


def constraints_of(mechanism: Mechanism, s: Symbolic) -> list[ScalarConstraint]:
    """All scalar constraints of a mechanism, which has numbers for its directions, on the symbols s made of it."""
    if not mechanism.loops and not mechanism.constraints:
        return []
    at_rest = records(s.evaluation, (sp.Integer(0),) * len(s.u))
    found: list[ScalarConstraint] = []
    for loop, on_symbols in zip(mechanism.loops, s.mechanism.loops, strict=True):
        found += LoopInSymbols(mechanism, s, at_rest, loop, on_symbols).constraints()
    return found + [_of_expression(constraint, s, at_rest) for constraint in s.mechanism.constraints]


# --- loops -----------------------------------------------------------------------------------------------------------


class Seen(NamedTuple):
    """A frame seen from the body where the branches of its loop meet: placement, and twists at its origin.

    | field   | meaning                                                       |
    |---------|---------------------------------------------------------------|
    | X       | placement                                                     |
    | columns | the twist for a unit of each velocity that moves it, by index |
    | drift   | the twist by prescribed joints                                |
    """

    X: Transform
    columns: dict[int, Motion]
    drift: Motion


def seen(s: Symbolic, placed: Records, axes: Rotation, path: Sequence[int], placement: Transform) -> Seen:
    """A frame on the last body of a path outward, seen from the body where the path begins, in some axes of it."""
    X, through = Transform(axes), []
    for number in path:
        chain = placed[number].X
        X = X @ chain.mount @ chain.joint
        through.append((number, X))
    X = X @ placement
    columns: dict[int, Motion] = {}
    drift = Motion(ZERO, ZERO)
    for number, X_B in through:
        body, record = s.mechanism.bodies[number - 1], placed[number]
        if body.laws is not None:
            drift = drift + _at_point(record.A @ record.u, X_B, X.offset)
        else:
            indices = range(body.v.start, body.v.stop)
            columns |= {
                i: _at_point(column, X_B, X.offset) for i, column in zip(indices, record.A.columns, strict=True)
            }
    return Seen(X, columns, drift)


class LoopInSymbols:
    """A loop on symbols; directions of its joints are numbers in `loop`, and all else is on symbols."""

    def __init__(self, mechanism: Mechanism, s: Symbolic, placed: Records, loop: Loop, on_symbols: Loop):
        self.mechanism, self.s, self.placed, self.loop = mechanism, s, placed, loop
        self.type, self.carried = on_symbols.joint_type, carriers(mechanism, s)
        first, second, self.base = mechanism.paths(loop)
        self.paths = (first[::-1], second[::-1])
        self.F, self.M = (
            seen(s, placed, self._axes(), path, frame.placement)
            for path, frame in zip(self.paths, (on_symbols.first, on_symbols.second), strict=True)
        )
        self.offset = self.M.X.offset - self.F.X.offset

    def constraints(self) -> Iterator[ScalarConstraint]:
        """Its scalar constraints: offsets, then rotations."""
        if isinstance(self.type, HigherPair):
            yield from self._higher_pair(self.type)
            return
        rows = loop_constraints(self.mechanism, self.loop)
        pure = [row for row in rows if _is_zero(row.linear) or _is_zero(row.angular)]
        offsets = [_exact(row.linear) for row in pure if _is_zero(row.angular)]
        rotations = [_exact(row.angular) for row in pure if _is_zero(row.linear)]
        planar = len(rows) < len(self.loop.rows)
        if len(offsets) == (2 if planar else 3):
            yield from map(self._offset, self._plane() if planar else AXES)
        else:
            yield from map(self._offset_in_first, offsets)
        if self.type.crossed_axes is not None:
            yield self._angle_between(*self.type.crossed_axes)
        elif planar:
            yield from (self._angle_in_plane(axis) for axis in rotations)
        else:
            yield from map(self._rotation, rotations)
        yield from (self._thread(row) for row in rows if row not in pure)

    # --- kinds of constraints --------------------------------------------------------------------------------------

    def _offset(self, e: Vector) -> ScalarConstraint:
        """The offset along an axis of the body where the branches meet; the first branch counts positive."""
        e = -e if self.paths[0] else e
        return self._constraint(
            f"offset along {axis_name(e).lstrip('-')}", e @ self.offset, lambda F, M: e @ (M.linear - F.linear)
        )

    def _offset_in_first(self, n: Vector) -> ScalarConstraint:
        """The offset along a direction that F carries."""
        d = self.F.X.rotation @ n
        return self._constraint(
            f"offset along {axis_name(n)} of its first frame",
            d @ self.offset,
            self._power_of(Force(d, ZERO)),
        )

    def _rotation(self, m: Vector) -> ScalarConstraint:
        """Rotation about m = p x q."""
        columns = self.type.motion_subspace(self.type.reference()).columns
        axes = [column.angular for column in columns if not _is_zero(column.angular)]
        p, q = (axes[0], m.cross(axes[0])) if axes else normals(m)
        return self._angle(f"rotation about {axis_name(m)}", p, q, sp.Integer(0))

    def _angle_between(self, a: Vector, b: Vector) -> ScalarConstraint:
        """The angle between an axis of F and one of M."""
        return self._angle("angle between its axes", b, a, a @ b)

    def _angle(self, meaning: str, p: Vector, q: Vector, kept: Scalar) -> ScalarConstraint:
        """q . p = kept, where q is fixed in F and p in M."""
        of_M, of_F = self.M.X.rotation @ p, self.F.X.rotation @ q
        m = of_M.cross(of_F)
        return self._constraint(meaning, of_F @ of_M - kept, lambda F, M: m @ (M.angular - F.angular))

    def _angle_in_plane(self, n: Vector) -> ScalarConstraint:
        """The sum of the angles around a planar loop."""
        R_F, R_M = (self._at_reference(i) for i in (0, 1))
        axis = R_F @ n
        turned = sp.S(angle_about(n, R_F.T @ R_M))
        angle = exact(float(turned)) if turned.is_number else turned
        for path, sign in zip(self.paths, (-1, 1), strict=True):
            R = self._axes()
            for number in path:
                body, record = self.s.mechanism.bodies[number - 1], self.placed[number]
                R = R @ body.mount.rotation @ body.joint_type.placement(body.joint.type.reference()).rotation
                for column, q in zip(record.A.columns, record.q, strict=True):
                    if not _is_zero(column.angular):
                        angle = angle + sign * (axis @ (R @ column.angular)) * q
        return self._constraint("sum of angles, up to full turns", angle, lambda F, M: axis @ (M.angular - F.angular))

    def _thread(self, row: Force) -> ScalarConstraint:
        """Turning coupled with sliding: the row is the force -n / advance with the moment n."""
        if not isinstance(self.type, Screw):
            return self._along(row)
        n, advance = self.type.axis, sp.S(self.type.pitch) / (2 * sp.pi)
        d, angle = self.F.X.rotation @ n, angle_about(n, self.F.X.rotation.T @ self.M.X.rotation)
        return self._constraint(
            f"thread along {axis_name(n)}, up to full turns",
            d @ self.offset - advance * angle,
            self._power_of(Force(d, d * -advance)),
        )

    def _higher_pair(self, pair: HigherPair) -> Iterator[ScalarConstraint]:
        """The rows of a higher pair; distances squared, and surfaces as they are given: not divided by gradients."""
        R, X_FM = self.F.X.rotation, self.F.X.inverse() @ self.M.X
        names = {TIME: self.s.t, **self.s.free}
        if isinstance(pair, Distance):
            length = sp.S(pair.length)
            rows = [(Force(X_FM.offset * 2, ZERO), X_FM.offset @ X_FM.offset - length**2, sp.Integer(0))]
        elif isinstance(pair, OnSurfaces):
            at = {**names, **dict(zip(POSITION, X_FM.offset, strict=True))}
            rows = [_surface_row(ExactLaw(g, {}), at) for g in pair.expressions]
        else:
            rows = list(zip(pair.rows(X_FM, names), pair.errors(X_FM, names), pair.drifts(X_FM, names), strict=True))
        for name, holonomic, (row, error, drift) in zip(pair.row_names, pair.holonomic, rows, strict=True):
            constraint = self._constraint(
                name if len(rows) > 1 else "",
                error if holonomic else None,
                self._power_of(Force(R @ row.linear, R @ row.angular)),
            )
            constraint = self._without_sizes(constraint)
            yield replace(constraint, j=constraint.j + sp.S(drift))

    def _without_sizes(self, constraint: ScalarConstraint) -> ScalarConstraint:
        """Roots of squares taken as positive: of a disc, the cosine of its inclination."""
        positive: list[sp.Expr] = []

        def root(base: sp.Expr, power: sp.Expr) -> sp.Expr:
            size = sp.sqrt(simplified(base, self.carried))
            if isinstance(size, sp.Abs):
                positive.append(size.args[0])
                size = size.args[0]
            return size ** (2 * power)

        def rooted(x: sp.Expr) -> sp.Expr:
            return x.replace(lambda e: e.is_Pow and e.exp.is_Rational and e.exp.q == 2, lambda e: root(*e.args))

        position = None if constraint.position is None else rooted(constraint.position)
        J = tuple(map(rooted, constraint.J))
        where = [f"{x} > 0" for x in dict.fromkeys(positive)]
        meaning = ", ".join([*([constraint.meaning] if constraint.meaning else []), *where])
        return replace(constraint, meaning=meaning, position=position, J=J, j=rooted(constraint.j))

    def _along(self, row: Force) -> ScalarConstraint:
        """Any other wrench, fixed in F; its closure error is that of residual.py."""
        R = self.F.X.rotation
        f, m = (Vector(*map(self.s.scalar, part)) for part in (row.linear, row.angular))
        X_FM = self.F.X.inverse() @ self.M.X
        error = residual(X_FM, self.type.placement(self.type.fit(X_FM)))
        return self._constraint(
            "combined offset and rotation",
            f @ error.offset + m @ error.small_angle,
            self._power_of(Force(R @ f, R @ m)),
        )

    # --- kinematics ------------------------------------------------------------------------------------------------

    def _constraint(
        self, meaning: str, position: Scalar | None, velocity: Callable[[Motion, Motion], Scalar]
    ) -> ScalarConstraint:
        """A constraint from its velocity as a linear function of the twists of F and M."""
        still = Motion(ZERO, ZERO)
        J = [sp.S(velocity(self.F.columns.get(i, still), self.M.columns.get(i, still))) for i in range(len(self.s.u))]
        j = sp.S(velocity(self.F.drift, self.M.drift))
        return ScalarConstraint(self._name, meaning, None if position is None else sp.S(position), tuple(J), j)

    def _power_of(self, wrench: Force) -> Callable[[Motion, Motion], Scalar]:
        """The power of a wrench at the origin of M for the motion of M relative to F."""
        f, m = wrench.linear, wrench.angular
        return lambda F, M: f @ (M.linear - F.linear - F.angular.cross(self.offset)) + m @ (M.angular - F.angular)

    @property
    def _name(self) -> str:
        return f"joint '{self.loop.name}'" if self.loop.joint is not None else f"'{self.loop.name}'"

    def _axes(self) -> Rotation:
        """From the frame used here for the body where branches meet to the user's frame of it."""
        own = self.s.mechanism.bodies[self.base - 1].own.rotation if self.base else IDENTITY
        return own.T

    def _at_reference(self, end: int) -> Rotation:
        """The rotation of F (0) or M (1), all joints at reference."""
        R = self._axes()
        for number in self.paths[end]:
            body = self.s.mechanism.bodies[number - 1]
            R = R @ body.mount.rotation @ body.joint_type.placement(body.joint.type.reference()).rotation
        loop = self.s.mechanism.loops[self.mechanism.loops.index(self.loop)]
        return R @ (loop.second if end else loop.first).placement.rotation

    def _plane(self) -> tuple[Vector, Vector]:
        """Two axes in the plane of a planar loop; those of the body where branches meet, if they are."""
        normal = plane_of(self.mechanism, self.loop)
        assert normal is not None
        n = self._at_reference(0) @ _exact(normal)
        for axis, pair in ((X, (Y, Z)), (Y, (X, Z)), (Z, (X, Y))):
            if _is_zero(n.cross(axis)):
                return pair
        return normals(n)


def _surface_row(g: ExactLaw, at: Mapping[Reference, Scalar]) -> tuple[Force, Scalar, Scalar]:
    """Gradient, value and explicit time derivative of a surface equation."""
    f = Vector(*(g.derivative(x).evaluate(at) for x in POSITION))
    return Force(f, ZERO), g.evaluate(at), g.derivative(TIME).evaluate(at)


def _at_point(v: Motion, X_B: Transform, point: Vector) -> Motion:
    """A twist of body B, in the axes in which it is placed, at a point of it."""
    w = X_B.rotation @ v.angular
    return Motion(X_B.rotation @ v.linear + w.cross(point - X_B.offset), w)


def _is_zero(v: Vector) -> bool:
    return all(component == 0 for component in v)


def _exact(v: Vector) -> Vector:
    return Vector(*(exact(float(component)) for component in v))


# --- expressions -----------------------------------------------------------------------------------------------------


class Quantity(NamedTuple):
    """What a name stands for in a constraint: its value, and its time derivative, linear in the velocities."""

    value: sp.Expr
    derivative: sp.Expr | None


def _of_expression(constraint: Constraint, s: Symbolic, placed: Records) -> ScalarConstraint:
    """The scalar constraint of an expression of coordinates, velocities, named frames, time and parameters."""
    expression = constraint.expression
    known = {r: quantity for r in expression.references() if (quantity := _quantity(r, s, placed)) is not None}
    values = {r: quantity.value for r, quantity in known.items()}
    value = sp.S(ExactLaw(expression, s.free).evaluate(values))
    velocity = value
    if constraint.holonomic:
        changing = [(r, quantity.derivative) for r, quantity in known.items() if quantity.derivative is not None]
        parts = [ExactLaw(expression.derivative(r), s.free).evaluate(values) * change for r, change in changing]
        velocity = sp.Add(*parts)
    J = tuple(velocity.diff(u) for u in s.u)
    j = velocity.xreplace(dict.fromkeys(s.u, sp.Integer(0)))
    return ScalarConstraint(f"'{constraint.name}'", "", value if constraint.holonomic else None, J, j)


def _quantity(r: Reference, s: Symbolic, placed: Records) -> Quantity | None:
    """A coordinate, a velocity, time, or a component of a named frame; None for a parameter."""
    mechanism = s.mechanism
    if r == TIME:
        return Quantity(s.t, sp.Integer(1))
    if r in mechanism.coordinates:
        q = s.q[mechanism.coordinates.index(r)]
        return Quantity(q, s.derivatives[q])
    if r in mechanism.velocities:
        return Quantity(s.u[mechanism.velocities.index(r)], None)
    for body in mechanism.bodies:
        record = placed[body.number]
        for names, values, changes in (
            (body.joint.coordinates, record.q, record.u),
            (body.joint.velocities, record.u, (None,) * len(record.u)),
        ):
            if body.laws is not None and r in names and len(values) == len(changes):
                return Quantity(sp.S(values[names.index(r)]), changes[names.index(r)])
    frame = dict(mechanism.frames).get(r.name)
    return None if frame is None else _of_frame(r, frame, s, placed)


def _of_frame(r: Reference, frame: Attached, s: Symbolic, placed: Records) -> Quantity:
    """A component of the position, velocity or angular velocity of a named frame, in axes of the ground."""
    path: list[int] = []
    number = frame.body
    while number:
        path.insert(0, number)
        number = s.mechanism.parents[number]
    frame_seen = seen(s, placed, IDENTITY, path, frame.placement)
    twist = frame_seen.drift
    for i, column in frame_seen.columns.items():
        twist = twist + column * s.u[i]
    axis = "xyz".index(r.component[-1])
    if r.component.startswith("w"):
        return Quantity(sp.S(tuple(twist.angular)[axis]), None)
    velocity = sp.S(tuple(twist.linear)[axis])
    if r.velocity:
        return Quantity(velocity, None)
    return Quantity(sp.S(tuple(frame_seen.X.offset)[axis]), velocity)
