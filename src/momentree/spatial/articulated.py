"""Articulated-body inertia (ABA): 21 numbers, a symmetric 6x6 matrix by its blocks."""

from __future__ import annotations

from collections.abc import Sequence

from momentree.spatial.inertia import RigidInertia, Symmetric, symmetric_product, turned_symmetric
from momentree.spatial.motion import Force, Motion, MotionSubspace
from momentree.spatial.rotation import IDENTITY, Rotation, Turn
from momentree.spatial.scalar import Scalar
from momentree.spatial.transform import ChainTransform, Transform
from momentree.spatial.vector import ZERO, Vector

Rows = tuple[Vector, Vector, Vector]

_PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # rows and columns of a Symmetric's entries


class ArticulatedInertia:
    """M* = [[K, H], [H', J]], order linear, angular; K and J symmetric: `M @ v`, `M + N`, `M.less(A, W, K)`."""

    __slots__ = ("H", "J", "K")

    def __init__(self, K: Symmetric, H: Rows, J: Symmetric):
        self.K, self.H, self.J = K, H, J

    @classmethod
    def of(cls, M: RigidInertia) -> ArticulatedInertia:
        """A rigid body as an articulated one: K = m E, H = -[h x]."""
        m, h = M.mass, M.h
        return cls((m, m, m, 0, 0, 0), (Vector(0, h.z, -h.y), Vector(-h.z, 0, h.x), Vector(h.y, -h.x, 0)), M.J)

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        K, J = (tuple(a + b for a, b in zip(*pair, strict=True)) for pair in ((self.K, other.K), (self.J, other.J)))
        a, b, c = (one + two for one, two in zip(self.H, other.H, strict=True))
        return ArticulatedInertia(K, (a, b, c), J)

    def __matmul__(self, v: Motion) -> Force:
        x, y, z = self.H
        linear = symmetric_product(self.K, v.linear) + Vector(x @ v.angular, y @ v.angular, z @ v.angular)
        return Force(linear, _transposed_product(self.H, v.linear) + symmetric_product(self.J, v.angular))

    def less(
        self,
        A: MotionSubspace,
        W: Sequence[Force],
        weighted: Sequence[Force],
        armature: Sequence[Scalar] | None = None,
    ) -> ArticulatedInertia:
        """M* - W D W': what remains when the joint articulates; W = M* A, and W D as `weighted_columns` gives it.

        Without an armature nothing remains along A, so rows and columns of axes that are coordinate axes are zero, and
        are not computed.
        """
        gone = set(A.coordinate_axes()) if armature is None else set()
        if len(gone) == 6:
            return ArticulatedInertia((0,) * 6, (ZERO, ZERO, ZERO), (0,) * 6)
        K, H, J = self._changed(W, [-column for column in weighted])
        for entry, (i, j) in enumerate(_PAIRS):
            K[entry] = 0 if i in gone or j in gone else K[entry]
            J[entry] = 0 if i + 3 in gone or j + 3 in gone else J[entry]
        a, b, c = (
            Vector(*(0 if i in gone or j + 3 in gone else x for j, x in enumerate(row))) for i, row in enumerate(H)
        )
        return ArticulatedInertia(tuple(K), (a, b, c), tuple(J))

    def plus_products(self, F: Sequence[Force], G: Sequence[Force]) -> ArticulatedInertia:
        """M* + F G', where that is symmetric."""
        K, H, J = self._changed(F, G)
        a, b, c = (Vector(*row) for row in H)
        return ArticulatedInertia(tuple(K), (a, b, c), tuple(J))

    def _changed(self, F: Sequence[Force], G: Sequence[Force]) -> tuple[list[Scalar], list[list[Scalar]], list[Scalar]]:
        """The blocks of M* + F G'."""
        K, H, J = list(self.K), [list(row) for row in self.H], list(self.J)
        for one, other in zip(F, G, strict=True):
            f, m = tuple(one.linear), tuple(one.angular)
            g, n = tuple(other.linear), tuple(other.angular)
            for entry, (i, j) in enumerate(_PAIRS):
                K[entry] = K[entry] + f[i] * g[j]
                J[entry] = J[entry] + m[i] * n[j]
            for i in range(3):
                for j in range(3):
                    H[i][j] = H[i][j] + f[i] * n[j]
        return K, H, J

    def to_parent(self, X: ChainTransform) -> ArticulatedInertia:
        """At the parent, through the joint and then the mount."""
        return self.moved(X.joint).moved(X.mount)

    def moved(self, X: Transform) -> ArticulatedInertia:
        """C' M* C: turned, then moved by p: H - K[p x], J - H'[p x] + [p x](H - K[p x])."""
        R, p = X.rotation, X.offset
        K, H, J = self.K, self.H, self.J
        if R is not IDENTITY:
            K, H, J = turned_symmetric(R, K), turned_rows(R, H), turned_symmetric(R, J)
        if p is ZERO:
            return ArticulatedInertia(K, H, J)
        xx, yy, zz, xy, xz, yz = K
        k = Vector(xx, xy, xz), Vector(xy, yy, yz), Vector(xz, yz, zz)
        moved = (H[0] - k[0].cross(p), H[1] - k[1].cross(p), H[2] - k[2].cross(p))
        before = [tuple(column.cross(p)) for column in _transposed(H)]
        after = [tuple(p.cross(column)) for column in _transposed(moved)]
        shifted = (entry - before[i][j] + after[j][i] for entry, (i, j) in zip(J, _PAIRS, strict=True))
        return ArticulatedInertia(K, moved, tuple(shifted))


def weighted_columns(
    A: MotionSubspace, W: Sequence[Force], D: Sequence[Sequence[Scalar]], armature: Sequence[Scalar] | None = None
) -> list[Force]:
    """W D by its columns; D = (A' W)^-1, or (A' W + armature)^-1.

    Without an armature A' W D = E, so rows of axes that are coordinate axes are known and not computed.
    """
    columns = []
    for i, row in enumerate(D):  # which is symmetric, so its rows serve as columns
        column = Force.zero()
        for w, d in zip(W, row, strict=True):
            column = column + w * d
        unit = [1 if i == j else 0 for j in range(len(W))]
        columns.append(column if armature else A.given_along(column, unit))
    return columns


def across_joint(
    A: MotionSubspace,
    K: Sequence[Force],
    at_rest: Sequence[Scalar],
    w: Motion,
    armature: Sequence[Scalar] | None = None,
) -> tuple[tuple[Scalar, ...], Motion]:
    """u = at_rest - K' w and w + A u, of velocities or accelerations; K as `weighted_columns` gives it.

    Without an armature K is 1 in the row of an axis that is a coordinate axis: w + A u does not depend on w along it.
    """
    axes = {j: (axis, sign) for axis, (j, sign) in A.coordinate_axes().items()} if armature is None else {}
    u, moved = list[Scalar](), [*w]
    for j, (rest, column) in enumerate(zip(at_rest, K, strict=True)):
        if j in axes:
            axis, sign = axes[j]
            others = [0 if i == axis else x for i, x in enumerate(column)]
            along = rest - w @ Force(Vector(*others[:3]), Vector(*others[3:]))
            moved[axis] = along * sign
            u.append(along - [*w][axis] * sign)
        else:
            u.append(rest - w @ column)
    v = Motion(Vector(*moved[:3]), Vector(*moved[3:]))
    for j, direction in enumerate(A.columns):
        v = v if j in axes else v + direction * u[j]
    return tuple(u), v


def _transposed(A: Rows) -> Rows:
    a, b, c = A
    return (Vector(a.x, b.x, c.x), Vector(a.y, b.y, c.y), Vector(a.z, b.z, c.z))


def _transposed_product(A: Rows, v: Vector) -> Vector:
    a, b, c = _transposed(A)
    return Vector(a @ v, b @ v, c @ v)


def turned_rows(R: Rotation, A: Rows) -> Rows:
    """R A R' of a matrix by its rows, of any kind."""
    if isinstance(R, Turn):
        return _turned_about_axis(R, A)
    x, y, z = _transposed(A)
    half = [Vector(row @ x, row @ y, row @ z) for row in R.rows]
    a, b, c = R.rows
    return tuple(Vector(row @ a, row @ b, row @ c) for row in half)  # type: ignore[return-value]


def _turned_about_axis(R: Turn, A: Rows) -> Rows:
    """R A R' of a turn, by g = s (Aii - Ajj) + c (Aij + Aji): Aii - s g, Ajj + s g, c g - Aji, c g - Aij."""
    k, c, s = R.axis, R.c, R.s
    i, j = (k + 1) % 3, (k + 2) % 3
    old = [[*row] for row in A]
    new = [[*row] for row in A]
    g = s * (old[i][i] - old[j][j]) + c * (old[i][j] + old[j][i])
    new[i][i], new[j][j] = old[i][i] - s * g, old[j][j] + s * g
    new[i][j], new[j][i] = c * g - old[j][i], c * g - old[i][j]
    new[i][k], new[j][k] = c * old[i][k] - s * old[j][k], s * old[i][k] + c * old[j][k]
    new[k][i], new[k][j] = c * old[k][i] - s * old[k][j], s * old[k][i] + c * old[k][j]
    x, y, z = (Vector(*row) for row in new)
    return x, y, z
