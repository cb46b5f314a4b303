"""Joint reactions: the wrenches transmitted by the joints of the tree, by those that close loops, by higher pairs.

    of the tree:  Z = M dv + Omega M v - F + sum of C' Z over children     on the body, from its joint
    of a loop:    sum of rows times lambda, and generalized forces Q       on the first body, from the joint

A wrench includes constraint forces, drives, springs and dampers of the joint. It is that on the joint's second body, in
inertial axes, about the origin of the joint's second frame, in whatever direction the tree runs and wherever the loops
are cut. Forces of gears and other couplings along a joint are part of it, as those of its drives are. That of a higher
pair, rolling for example, acts on the guided body.
"""

from __future__ import annotations

from momentree.equations.aggregative import carried_forces
from momentree.equations.articulated import reacting_bodies
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import generalized
from momentree.equations.loops.records import loops_with_records
from momentree.equations.loops.wrenches import constraint_wrenches
from momentree.equations.sweeps import Record, Records
from momentree.model.higher_pairs import HigherPair
from momentree.model.joint_type import Coordinates
from momentree.spatial import Force, Rotation, Vector
from momentree.structure.mechanism import TreeBody


def joint_reactions(at: Evaluation, u: Coordinates) -> dict[str, Force]:
    """By joint and higher pair, while the mechanism moves freely under the forces of the model.

    Redundant constraints leave the Lagrange multipliers undetermined: lambda of each loop is then the shortest.
    """
    moving = reacting_bodies(at, u, [0] * at.mechanism.nv)
    return reactions_of(at, moving, u, generalized(at.mechanism, moving, "du"))


def reactions_of(at: Evaluation, reacting: Records, u: Coordinates, du: Coordinates) -> dict[str, Force]:
    """By joint and higher pair, at accelerations du and with the wrenches of loops in their records."""
    mechanism = at.mechanism
    carried = carried_forces(at, u, du, constraint_wrenches(mechanism, reacting))
    wrenches = {body.joint.name: _on_second(carried, body) for body in mechanism.bodies}
    for number, (loop, record) in enumerate(loops_with_records(mechanism, reacting), 1):
        if loop.joint is not None or isinstance(loop.joint_type, HigherPair):
            R, wrench, driven = record.body1.X_0.rotation, record.wrench_on1, carried.constraints[number]
            if driven.loaded:
                wrench = wrench + driven.wrench_on1
            wrenches[loop.name] = _turned(R, _about(loop.second.placement.offset, wrench))
    return wrenches


def _on_second(carried: Records, body: TreeBody) -> Force:
    """Of a joint of the tree; where the tree runs through it backwards, the second body is the parent."""
    record: Record = carried[body.number]
    R = record.X_0.rotation
    if not body.reverse:
        return _turned(R, record.Z)
    M = carried[body.parent].X_0 @ body.mount
    return -_about(M.offset - record.X_0.offset, _turned(R, record.Z))


def _turned(R: Rotation, wrench: Force) -> Force:
    return Force(R @ wrench.linear, R @ wrench.angular)


def _about(point: Vector, wrench: Force) -> Force:
    """The same wrench, its moment about another point."""
    return Force(wrench.linear, wrench.angular - point.cross(wrench.linear))
