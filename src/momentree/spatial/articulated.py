"""The inertia of an articulated body: 21 numbers, a symmetric 6x6 matrix by its blocks."""

from __future__ import annotations

from collections.abc import Sequence

from momentree.spatial.inertia import RigidInertia
from momentree.spatial.motion import Force, Motion
from momentree.spatial.scalar import Scalar
from momentree.spatial.transform import Path, Transform
from momentree.spatial.vector import Vector

Rows = tuple[Vector, Vector, Vector]


class ArticulatedInertia:
    """M* = [[K, H], [H', J]], order linear, angular; K and J symmetric: `M @ v`, `M + N`, `M.less(W, D)`."""

    __slots__ = ("H", "J", "K")

    def __init__(self, K: Rows, H: Rows, J: Rows):
        self.K, self.H, self.J = K, H, J

    @classmethod
    def of(cls, M: RigidInertia) -> ArticulatedInertia:
        """A rigid body as an articulated one: K = m E, H = -[h x]."""
        m, h = M.mass, M.h
        xx, yy, zz, xy, xz, yz = M.J
        return cls(
            (Vector(m, 0, 0), Vector(0, m, 0), Vector(0, 0, m)),
            (Vector(0, h.z, -h.y), Vector(-h.z, 0, h.x), Vector(h.y, -h.x, 0)),
            (Vector(xx, xy, xz), Vector(xy, yy, yz), Vector(xz, yz, zz)),
        )

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        return ArticulatedInertia(_sum(self.K, other.K), _sum(self.H, other.H), _sum(self.J, other.J))

    def __matmul__(self, v: Motion) -> Force:
        a, b, c = _transposed(self.H)
        linear = _times(self.K, v.linear) + _times(self.H, v.angular)
        return Force(linear, Vector(a @ v.linear, b @ v.linear, c @ v.linear) + _times(self.J, v.angular))

    def less(self, W: Sequence[Force], D: Sequence[Sequence[Scalar]]) -> ArticulatedInertia:
        """M* - W D W': what is left when a joint gives way; W = M* A, D = (A' W)^-1."""
        K, H, J = self.K, self.H, self.J
        for i, w in enumerate(W):
            weighted = Force(Vector(0, 0, 0), Vector(0, 0, 0))
            for j, other in enumerate(W):
                weighted = weighted + other * D[i][j]
            K = _less(K, w.linear, weighted.linear)
            H = _less(H, w.linear, weighted.angular)
            J = _less(J, w.angular, weighted.angular)
        return ArticulatedInertia(_mirrored(K), H, _mirrored(J))

    def to_parent(self, X: Path) -> ArticulatedInertia:
        """At the parent, through the joint and then the mount."""
        return self.moved(X.joint).moved(X.mount)

    def moved(self, X: Transform) -> ArticulatedInertia:
        """C' M* C: turned, then moved by p: H - K[p x], J - H'[p x] + [p x](H - K[p x])."""
        p = X.offset
        K, H, J = (_turned(X.rotation.rows, block) for block in (self.K, self.H, self.J))
        K, J = _mirrored(K), _mirrored(J)
        moved = (H[0] - K[0].cross(p), H[1] - K[1].cross(p), H[2] - K[2].cross(p))
        a, b, c = (column.cross(p) for column in _transposed(H))
        across = _crossed(p, moved)
        J = (J[0] - a + across[0], J[1] - b + across[1], J[2] - c + across[2])
        return ArticulatedInertia(K, moved, _mirrored(J))


def _times(rows: Rows, v: Vector) -> Vector:
    return Vector(rows[0] @ v, rows[1] @ v, rows[2] @ v)


def _sum(A: Rows, B: Rows) -> Rows:
    return (A[0] + B[0], A[1] + B[1], A[2] + B[2])


def _less(A: Rows, v: Vector, w: Vector) -> Rows:
    """A - v w'."""
    return (A[0] - w * v.x, A[1] - w * v.y, A[2] - w * v.z)


def _transposed(A: Rows) -> Rows:
    a, b, c = A
    return (Vector(a.x, b.x, c.x), Vector(a.y, b.y, c.y), Vector(a.z, b.z, c.z))


def _mirrored(A: Rows) -> Rows:
    """A symmetric matrix by its upper half, so that the lower one costs nothing."""
    a, b, c = A
    return (a, Vector(a.y, b.y, b.z), Vector(a.z, b.z, c.z))


def _turned(R: Rows, A: Rows) -> Rows:
    """R A R'."""
    columns = _transposed(A)
    half = [Vector(row @ columns[0], row @ columns[1], row @ columns[2]) for row in R]
    return tuple(Vector(row @ R[0], row @ R[1], row @ R[2]) for row in half)  # type: ignore[return-value]


def _crossed(p: Vector, A: Rows) -> Rows:
    """[p x] A."""
    x, y, z = _transposed(A)
    return _transposed((p.cross(x), p.cross(y), p.cross(z)))
