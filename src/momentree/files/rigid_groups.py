"""Bodies in groups: those that joints connect, and those that Fixed joints make one rigid body."""

from __future__ import annotations

from momentree.model import Model
from momentree.model.joint_types import Fixed


class Groups:
    """Names that are joined; each group is known by one of them."""

    def __init__(self) -> None:
        self.leader: dict[str, str] = {}

    def of(self, name: str) -> str:
        """The name by which the group of a name is known."""
        path = []
        while self.leader.get(name, name) != name:
            path.append(name)
            name = self.leader[name]
        for each in path:
            self.leader[each] = name
        return name

    def join(self, first: str, second: str) -> None:
        """Make one group of two."""
        self.leader[self.of(first)] = self.of(second)


def rigid_groups(model: Model) -> Groups:
    """Bodies that Fixed joints connect."""
    groups = Groups()
    for joint in model.joints:
        if isinstance(joint.type, Fixed):
            groups.join(joint.first.body, joint.second.body)
    return groups
