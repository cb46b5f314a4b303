"""Switched constraints: the same mechanism without the loops and constraints that do not act, and its tree for that.

A joint that is released or switched closes a loop, since the coordinates of a run stay the same throughout. Where it
alone holds a part, this part gets a Free joint between the same two frames: it is at rest in its reference where the
switched joint is, and the loop that the latter closes leads through no other joint.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from momentree.model import Model
from momentree.model.elements import Joint
from momentree.model.expressions.expression import Reference
from momentree.model.frames import GROUND
from momentree.model.joint_types import Fixed, Free
from momentree.model.switches import conditions_of
from momentree.model.values import Values
from momentree.structure.mechanism import Constraint, Loop, Mechanism, Switch


def switched(mechanism: Mechanism, inactive: Collection[str]) -> Mechanism:
    """The mechanism with all its constraints but the inactive ones, given by name; torques on such joints go too."""
    whole = mechanism.whole or mechanism
    absent, gone = named_constraints(whole, inactive)
    if not absent and not gone:
        return whole
    names = {loop.name for loop in absent}
    return dataclasses.replace(
        whole,
        loops=tuple(loop for loop in whole.loops if loop not in absent),
        constraints=tuple(constraint for constraint in whole.constraints if constraint not in gone),
        torques=tuple(torque for torque in whole.torques if torque.body or torque.joint not in names),
        whole=whole,
    )


def named_constraints(mechanism: Mechanism, names: Collection[str]) -> tuple[list[Loop], list[Constraint]]:
    """The loops and the constraints of these names; an element may have several constraints, "set: planet A"."""
    loops = [loop for loop in mechanism.loops if loop.name in names and _switchable(loop)]
    return loops, [c for c in mechanism.constraints if c.name in names or c.name.partition(": ")[0] in names]


def inactive_at_start(mechanism: Mechanism) -> frozenset[str]:
    """The constraints that are first switched on."""
    first: dict[str, bool] = {}
    for switch in mechanism.switches:
        first.setdefault(switch.name, switch.turns_on)
    return frozenset(name for name, turns_on in first.items() if turns_on)


def at_start(mechanism: Mechanism) -> Mechanism:
    """The mechanism with those constraints that act at the start."""
    return switched(mechanism, inactive_at_start(mechanism))


def acting_where(mechanism: Mechanism, inactive: frozenset[str] | None) -> Mechanism:
    """The mechanism as it acts where these constraints do not; None: as it is."""
    return mechanism if inactive in (None, inactive_at_start(mechanism)) else switched(mechanism, inactive or ())


def frozen_switches(model: Model, values: Values, references: dict[Reference, str]) -> tuple[Switch, ...]:
    """The switches of a model, releases first."""
    return tuple(Switch(*condition) for condition in conditions_of(model, values, references))


def separating_joints(joints: Sequence[Joint], switched_names: Collection[str], cuts: Collection[str]) -> list[Joint]:
    """A Free joint beside each switched joint without which a part would not be connected to the rest."""
    parts = _Parts()
    for joint in joints:
        if joint.name not in switched_names and joint.name not in cuts:
            parts.join(joint.first.body, joint.second.body)
    names, added = {joint.name for joint in joints}, list[Joint]()
    held = [joint for joint in joints if joint.name in switched_names]
    while held:
        # outward from the ground, so that a Free joint leads to the part that comes off
        joint = next((c for c in held if parts.grounded(c.first.body) or parts.grounded(c.second.body)), held[0])
        held.remove(joint)
        near, far = joint.first, joint.second
        if parts.grounded(far.body) and not parts.grounded(near.body):
            near, far = far, near
        if parts.join(near.body, far.body):
            name = f"free {far.body}"
            while name in names:
                name += "*"
            names.add(name)
            added.append(Joint(name, Free(), near, far))
    return added


class _Parts:
    """Bodies in connected parts."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def part(self, body: str) -> str:
        """A body that stands for its part."""
        while body in self._above:
            above = self._above[body]
            if above in self._above:
                self._above[body] = self._above[above]
            body = above
        return body

    def grounded(self, body: str) -> bool:
        """Whether it is connected to the ground."""
        return self.part(body) == self.part(GROUND)

    def join(self, first: str, second: str) -> bool:
        """Make one part of two; False if they are one already."""
        a, b = self.part(first), self.part(second)
        if a != b:
            self._above[a] = b
        return a != b


def _switchable(loop: Loop) -> bool:
    """Whether a loop is closed by a joint or a higher pair; a split body has its own name, and is always closed."""
    return loop.joint is not None or not isinstance(loop.joint_type, Fixed)
