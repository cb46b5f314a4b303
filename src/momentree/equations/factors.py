"""A(q) = U D U' along the tree, and its inverse as a product of elementary matrices, without ever forming A.

Column k of U has entries only for the ancestors of body k: U = E_N ... E_1 with E_k = E + u_k e_k', each entry of u_k
one transvection; U^-1 = (E - u_1 e_1') ... (E - u_N e_N') needs nothing new. Cost and storage: the sum of the depths.
Belkov and Konoplev 1997; docs/theory/aggregative.md. Joints of several freedoms make blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from momentree.equations.armature import inertia_along_joint
from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import records
from momentree.equations.sweeps import Fields, Record, Records
from momentree.spatial import REST, Motion, Scalar
from momentree.spatial.articulated import ArticulatedInertia, weighted_columns
from momentree.spatial.symmetric import inverse, product
from momentree.structure.mechanism import Mechanism, TreeBody

Block = list[list[Scalar]]


def begin_factors(body: Record) -> Fields:
    """P = M."""
    return {"P": ArticulatedInertia.of(body.inertia)}


def factor_joint(body: Record) -> tuple[Fields, Fields]:
    """W = P A, D = (A' W)^-1, K = W D; to the parent P - W D W'."""
    if not body.free:
        return {}, {"P": body.P.to_parent(body.X)}
    W = [body.P @ axis for axis in body.A.columns]
    pivot = inertia_along_joint(body, W)
    D = inverse(pivot)
    armature = body.joint_type.armature
    K = weighted_columns(body.A, W, D, armature)
    return {"pivot": pivot, "D": D, "K": K}, {"P": body.P.less(body.A, W, K, armature).to_parent(body.X)}


@dataclass(frozen=True)
class Factors:
    """U by its blocks (ancestor, body), D and D^-1 by body."""

    mechanism: Mechanism
    U: dict[tuple[int, int], Block]
    D: dict[int, Block]
    D_inverse: dict[int, Block]

    def solve(self, tau: Sequence[Scalar]) -> list[Scalar]:
        """A^-1 tau by transvections, signs flipped: inward, through D, outward."""
        y = list(tau)
        moving = [body for body in self.mechanism.bodies if body.v.stop > body.v.start]
        for k in reversed(moving):
            for j in _ancestors(self.mechanism, k):
                _subtract(y, j.v, self.U[j.number, k.number], y[k.v])
        for k in moving:
            y[k.v] = product(self.D_inverse[k.number], y[k.v])
        for k in moving:
            for j in _ancestors(self.mechanism, k):
                _subtract(y, k.v, _transposed(self.U[j.number, k.number]), y[j.v])
        return y

    def matrices(self) -> tuple[Block, Block, Block]:
        """U, D and D^-1 by rows."""
        n = self.mechanism.nv
        U, D, D_inverse = ([[int(diagonal and i == j) for j in range(n)] for i in range(n)] for diagonal in (1, 0, 0))
        v_of = {body.number: body.v for body in self.mechanism.bodies}
        blocks = [(U, v_of[j], v_of[k], block) for (j, k), block in self.U.items()]
        blocks += [(D, v_of[k], v_of[k], block) for k, block in self.D.items()]
        blocks += [(D_inverse, v_of[k], v_of[k], block) for k, block in self.D_inverse.items()]
        for into, rows, columns, block in blocks:
            for i, row in zip(range(rows.start, rows.stop), block, strict=True):
                into[i][columns] = row
        return U, D, D_inverse


def factors(at: Evaluation) -> Factors:
    """U and D of A(q) = U D U', by one sweep inward and a walk to the ground from each body."""
    mechanism, placed = at.mechanism, _factored(at)
    U: dict[tuple[int, int], Block] = {}
    moving = [body for body in mechanism.bodies if body.v.stop > body.v.start]
    for body in moving:
        forces, node = placed[body.number].K, body
        while node.parent:
            forces = [placed[node.number].X.force_to_parent(force) for force in forces]
            node = mechanism.bodies[node.parent - 1]
            if node.v.stop > node.v.start:
                axes = placed[node.number].A.columns
                U[node.number, body.number] = [[axis @ force for force in forces] for axis in axes]
    D, D_inverse = ({b.number: getattr(placed[b.number], name) for b in moving} for name in ("pivot", "D"))
    return Factors(mechanism, U, D, D_inverse)


def inverse_mass_matrix(at: Evaluation) -> list[list[Scalar]]:
    """A^-1 in O(n^2): the factors of U^-1, D^-1 and U^-T applied to each unit vector, and neither U nor A formed.

    Inward, the transvections of the path to the ground make e_k the column k of U^-1; D^-1 scales it; outward, those
    of U^-T are the response of each body to the twist of its parent. Half of the entries follow from symmetry.
    """
    mechanism, placed = at.mechanism, _factored(at)
    inverse_A: list[list[Scalar]] = [[0] * mechanism.nv for _ in range(mechanism.nv)]
    for body in mechanism.bodies:
        for column, k in enumerate(range(body.v.start, body.v.stop)):
            struck = _struck(mechanism, placed, body, column)
            twists: list[Motion] = [REST] * (body.number + 1)
            for other in mechanism.bodies[: body.number]:
                here: Record = placed[other.number]
                w = twists[other.parent] if twists[other.parent] is REST else here.X.motion(twists[other.parent])
                if not here.free:
                    twists[other.number] = w
                    continue
                u = struck.get(other.number, (0,) * len(here.K))
                if w is REST and other.number not in struck:
                    continue
                u = [x - w @ response for x, response in zip(u, here.K, strict=True)]
                twists[other.number] = w + here.A @ u
                for i, entry in enumerate(u, other.v.start):
                    inverse_A[i][k] = inverse_A[k][i] = entry
    return inverse_A


def _struck(mechanism: Mechanism, placed: Records, body: TreeBody, column: int) -> dict[int, list[Scalar]]:
    """D^-1 times a column of U^-1, by body: the transvections of the path to the ground, one after the other."""
    unit: list[Scalar] = [int(i == column) for i in range(body.v.stop - body.v.start)]
    struck = {body.number: product(placed[body.number].D, unit)}
    force, node = placed[body.number].K[column], body
    while node.parent:
        force = placed[node.number].X.force_to_parent(force)
        node = mechanism.bodies[node.parent - 1]
        here: Record = placed[node.number]
        if here.free:
            entries = [-(axis @ force) for axis in here.A.columns]
            struck[node.number] = product(here.D, entries)
            for share, response in zip(entries, here.K, strict=True):
                force = force + response * share
    return struck


def _factored(at: Evaluation) -> Records:
    """The bodies with P, D and K."""
    placed = records(at)
    for body in at.mechanism.bodies:
        placed[body.number].free = body.v.stop > body.v.start
    placed.locally(begin_factors)
    placed.inward(factor_joint)
    return placed


def _ancestors(mechanism: Mechanism, body: TreeBody) -> Iterator[TreeBody]:
    while body.parent:
        body = mechanism.bodies[body.parent - 1]
        if body.v.stop > body.v.start:
            yield body


def _subtract(y: list[Scalar], entries: slice, block: Block, x: Sequence[Scalar]) -> None:
    y[entries] = [a - b for a, b in zip(y[entries], product(block, x), strict=True)]


def _transposed(block: Block) -> Block:
    return [list(column) for column in zip(*block, strict=True)]
