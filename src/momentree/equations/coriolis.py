"""Coriolis matrices: C(q, u) with M' - 2 C skew, and B(q, u) of the aggregative form; C u = B u.

With the partial velocities S' of the bodies (columns of twists, one for each velocity), their change by components in
the axes of the bodies, and the same as spatial vectors, S'^ = dS'/dt + V x S',

    C = S (M S'^ + B S')               B of each body: spatial/coriolis.py (1)                                (1)
    B = S (M dS'/dt + Omega M S')      Belkov and Konoplev 1997 (1.1), their dots restored                    (2)

C_ij is the sum of dm (partial velocity i) . d/dt (partial velocity j) over all mass, so that M' = C + C' at once, with
any velocities, also those of balls and free bodies; where u = q', these are the Christoffel symbols of the first kind
times q'. B is another factor of the same b: B u = b, but M' - 2 B is not skew. docs/theory/coriolis.md.

With prescribed joints or a moving ground, V and dS'/dt are those of the whole motion, M' is the whole derivative, and
b = C u + what the prescribed motion adds.
"""

from __future__ import annotations

from momentree.equations.aggregative import compose
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import generalized
from momentree.equations.kinematics import records
from momentree.equations.sweeps import Fields, LocalStep, Record
from momentree.model.joint_type import Coordinates
from momentree.spatial import REST, MotionSubspace, Scalar
from momentree.spatial.coriolis import CoriolisOperator


def change_axes(body: Record) -> Fields:
    """A^ = A' + V x A: how the motion subspace of the joint changes, as spatial vectors."""
    changes = body.joint_type.motion_subspace_derivative(body.q, body.u).columns
    both = zip(changes, body.A.columns, strict=True)
    return {"A_change": MotionSubspace([change + body.v.cross(axis) for change, axis in both])}


def begin_composites(body: Record) -> Fields:
    """Composite inertia and Coriolis operator begin with those of the body."""
    return {"composite": body.inertia, "B": CoriolisOperator.of(body.inertia, body.v)}


def compose_operators(body: Record) -> tuple[Fields, Fields]:
    """B of a body and of all that it carries."""
    return {}, {"B": body.B.to_parent(body.X)}


def carry_direction(body: Record, parent: Record) -> Fields:
    """xi = S' x, the twist that velocities x in place of u cause."""
    return {"xi": body.X.motion(parent.xi) + body.A @ body.x}


def begin_with_coriolis(body: Record) -> Fields:
    """Of (1), transposed: the momentum M xi, which S^ is to project, and B' xi, which S is to project."""
    B = CoriolisOperator.of(body.inertia, body.v)
    return {"momentum": body.inertia @ body.xi, "Z": B.transposed(body.xi)}


def begin_with_aggregative(body: Record) -> Fields:
    """Of (2), transposed: M xi, and Omega M xi - M (V x xi)."""
    momentum = body.inertia @ body.xi
    return {"momentum": momentum, "Z": body.v.cross_force(momentum) - body.inertia @ body.v.cross(body.xi)}


def gather_transposed(body: Record) -> tuple[Fields, Fields]:
    """b = A^' momentum + A' Z, of the body and all that it carries."""
    both = zip(body.A_change.along(body.momentum), body.A.along(body.Z), strict=True)
    up = {"momentum": body.X.force_to_parent(body.momentum), "Z": body.X.force_to_parent(body.Z)}
    return {"b": tuple(change + force for change, force in both)}, up


def coriolis_matrix(at: Evaluation, u: Coordinates) -> list[list[Scalar]]:
    """C(q, u) of (1), by composite bodies and a walk to the ground from each."""
    mechanism = at.mechanism
    moving = records(at, u)
    moving.locally(change_axes)
    moving.locally(begin_composites)
    moving.inward(compose)
    moving.inward(compose_operators)
    C: list[list[Scalar]] = [[0] * mechanism.nv for _ in range(mechanism.nv)]
    for body in mechanism.bodies:
        own: Record = moving[body.number]
        columns = zip(range(body.v.start, body.v.stop), own.A.columns, own.A_change.columns, strict=False)
        for j, axis, change in columns:
            force = own.composite @ change + own.B @ axis  # of the column j, on ancestors
            momentum, turned = own.composite @ axis, own.B.transposed(axis)  # of the row j, from ancestors
            node = body
            while True:
                here: Record = moving[node.number]
                for i, other, other_change in zip(
                    range(node.v.start, node.v.stop), here.A.columns, here.A_change.columns, strict=False
                ):
                    C[i][j] = other @ force
                    if node is not body:
                        C[j][i] = other_change @ momentum + other @ turned
                if not node.parent:
                    break
                force, momentum, turned = (here.X.force_to_parent(f) for f in (force, momentum, turned))
                node = mechanism.bodies[node.parent - 1]
    return C


def aggregative_matrix(at: Evaluation, u: Coordinates) -> list[list[Scalar]]:
    """B(q, u) of (2), row by row."""
    n = at.mechanism.nv
    return [list(aggregative_transposed_product(at, u, [int(i == j) for i in range(n)])) for j in range(n)]


def coriolis_transposed_product(at: Evaluation, u: Coordinates, x: Coordinates) -> tuple[Scalar, ...]:
    """C(q, u)' x in O(n): for a unit vector x, a row of C."""
    return _transposed_product(at, u, x, begin_with_coriolis)


def aggregative_transposed_product(at: Evaluation, u: Coordinates, x: Coordinates) -> tuple[Scalar, ...]:
    """B(q, u)' x in O(n): for a unit vector x, a row of B."""
    return _transposed_product(at, u, x, begin_with_aggregative)


def _transposed_product(at: Evaluation, u: Coordinates, x: Coordinates, begin: LocalStep) -> tuple[Scalar, ...]:
    moving = records(at, u)
    moving[0].xi = REST
    for body in at.mechanism.bodies:
        moving[body.number].x = (0,) * len(body.joint.type.velocities) if body.laws else tuple(x[body.v])
    moving.locally(change_axes)
    moving.outward(carry_direction)
    moving.locally(begin)
    moving.inward(gather_transposed)
    return generalized(at.mechanism, moving, "b")
