"""Where the bodies of a model are in a robot file: where all coordinates are zero or, if that is open, at the start."""

from __future__ import annotations

from typing import Any

from momentree.errors import AssemblyError
from momentree.files.robot_tree import Closing, RobotTree, Step, TreeLink
from momentree.model.frames import GROUND
from momentree.model.joint_types import Free, Spherical
from momentree.spatial import Transform
from momentree.spatial import turn as turn_about

CLOSED = 1e-9  # of the size of the mechanism, and of unit vectors


class PosedTree:
    """The tree with its bodies placed.

    | field  | meaning                                                                              |
    |--------|--------------------------------------------------------------------------------------|
    | q      | coordinates of each joint of the tree, by name                                       |
    | X_WB   | placement of each body in the world                                                  |
    | start  | the start of the model, where that is the pose; None where all coordinates are zero  |
    | open   | loops that the file will have open: the start cannot be assembled                    |
    """

    def __init__(self, tree: RobotTree, coupled: bool, strict: bool):
        """Whether couplings count as loops do; unless `strict`, all is at zero where the start cannot be assembled."""
        self.tree, self.open = tree, False
        self.start: Any = None
        zero = {link.joint.name: tuple(link.type.reference()) for link in tree.links}
        self.place(zero)
        if all(map(self.closed, tree.closings)) and not (coupled and self.decoupled()):
            return
        try:
            self.start = tree.system.start()
        except AssemblyError:
            if strict:
                raise
            self.open = True
            return
        self.place(tree.coordinates(self.start))

    def place(self, q: dict[str, tuple[float, ...]]) -> None:
        self.q, self.X_WB = q, {GROUND: Transform()}
        for link in self.tree.links:
            self.X_WB[link.name] = self.X_WB[link.parent] @ link.X_PF @ self.moved(link) @ link.X_BM.inverse()

    def moved(self, link: TreeLink) -> Transform:
        """The placement of a joint of the tree, in the direction of the tree."""
        X_FM = link.type.placement(self.q[link.joint.name])
        return X_FM.inverse() if link.reverse else X_FM

    def step(self, link: TreeLink, step: Step) -> tuple[float, Transform]:
        """The coordinate of one step of a joint, and its placement."""
        x = float((step.pitch or 1.0) * self.q[link.joint.name][step.place])
        return x, Transform(turn_about(step.axis, x)) if step.turns else Transform(offset=step.axis * x)

    def relative_placement(self, closing: Closing) -> Transform:
        """X_FM of a joint that closes a loop."""
        first, second = closing.joint.first.body, closing.joint.second.body
        return (self.X_WB[first] @ closing.X_AF).inverse() @ self.X_WB[second] @ closing.X_BM

    def closed(self, closing: Closing) -> bool:
        """Whether the frames of a joint coincide, those of a ball in their origins."""
        if isinstance(closing.joint.type, Free):
            return True
        X_FM, size = self.relative_placement(closing), self.tree.system._numeric.size
        if max(map(abs, X_FM.offset)) > CLOSED * size:
            return False
        a, b, c = X_FM.rotation.rows
        turned = max(abs(a.y), abs(a.z), abs(b.x), abs(b.z), abs(c.x), abs(c.y), 1 - min(a.x, b.y, c.z))
        return isinstance(closing.joint.type, Spherical) or turned < CLOSED

    def decoupled(self) -> bool:
        """Whether couplings do not hold here."""
        at = {
            reference: x
            for link in self.tree.links
            for reference, x in zip(link.joint.coordinates, self.q[link.joint.name], strict=True)
        }
        sums = [
            sum(c * at.get(reference, 0.0) for reference, c in couple.terms.items()) for couple in self.tree.couples
        ]
        return any(abs(x - couple.value) > CLOSED for x, couple in zip(sums, self.tree.couples, strict=True))
