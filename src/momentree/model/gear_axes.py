"""Axes of gears, pulleys and racks: the body that carries them, and motions relative to it in one direction.

Two wheels mesh as seen from a body in which both axes stand still: one that both joints are on, or the arm of a
planetary gear, whose own hinge is in line with one of them. Joints may be written in either order, with axes in either
direction: what counts is how the bodies turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from momentree.model.elements import Joint, Scope
from momentree.model.expressions.expression import Expression, as_expression
from momentree.model.frames import GROUND, Frame
from momentree.model.joint_types import Fixed, Revolute
from momentree.model.values import Mistake, Values
from momentree.spatial import Transform, Vector
from momentree.spatial.vector import Z

IN_LINE = 1e-6  # sine of the angle between axes that are parallel; and their distance, by how far off they are


class Seen(NamedTuple):
    """The motion of a joint's wheel or slide relative to a body that carries its axis, counted as the joint does.

    | field   | meaning                                                                                          |
    |---------|--------------------------------------------------------------------------------------------------|
    | amount  | its coordinate, and those of hinges in line with it that are between                             |
    | axis    | the direction about or along which it is positive, in axes of the body                           |
    | point   | a point on the axis, in the body                                                                 |
    | order   | 1 if the wheel is the second body of the joint, so that `axis` is the joint's; -1 if it is opposite |
    | through | the names of the hinges between                                                                  |
    """

    amount: Expression
    axis: Vector
    point: Vector
    order: int
    through: tuple[str, ...] = ()

    def along(self, other: Seen) -> int:
        """1 or -1: whether both count in the same direction; axes across each other are taken as they are written."""
        if _parallel(self.axis, other.axis):
            return 1 if self.axis @ other.axis > 0 else -1
        return self.order * other.order


def bodies_of(joint: Joint) -> tuple[str, str]:
    """The bodies that a joint connects."""
    return joint.first.body, joint.second.body


def on_one_body(names: Sequence[str], scope: Scope, what: str, way_out: str) -> list[Seen]:
    """The motions of joints relative to the one body that carries all their axes; raises Mistake about the field."""
    joints = [scope.joints[name] for name in names]
    common = set(bodies_of(joints[0])).intersection(*map(bodies_of, joints[1:]))
    said = " and ".join(f"'{name}'" for name in names)
    if len(common) == 2:
        raise Mistake(f"joints {said} connect the same two bodies, so that neither can turn by itself.", what)
    values = scope.values
    if common:
        (body,) = common
        return [_directly(joint, body, values) for joint in joints]
    reached = [reach(joint, scope.joints, values) for joint in joints]
    carrying = [body for body in reached[0] if all(body in others for others in reached[1:])]
    ways = {body: [others[body] for others in reached] for body in carrying}
    hinges = {body: sum(len(seen.through) for seen in way) for body, way in ways.items()}
    nearest = [body for body in carrying if hinges[body] == min(hinges.values())]
    if not nearest:
        between = "; ".join(
            f"'{joint.name}' is between '{a}' and '{b}'" for joint in joints for a, b in [bodies_of(joint)]
        )
        raise Mistake(f"no body carries the axes of {said}: {between}. {way_out}", what)
    if len({tuple(seen.amount for seen in ways[body]) for body in nearest}) > 1:
        several = " or ".join(f"'{body}'" for body in nearest)
        raise Mistake(f"the axes of {said} are in line, and either of {several} may carry them. {way_out}", what)
    return ways[nearest[0]]


def on_the_arm(carrier: str, names: Sequence[str], scope: Scope) -> tuple[str, list[Seen], Seen]:
    """The arm of a carrier, motions of joints relative to it, and that of what carries the arm; raises Mistake."""
    hinge, joints, values = scope.joints[carrier], [scope.joints[name] for name in names], scope.values
    arms = [body for body in bodies_of(hinge) if body != GROUND]
    if len(arms) == 2:
        arms = [body for body in arms if all(_carried(joint, hinge, body, values) for joint in joints)]
        holders = [body for body in arms if not all(body in bodies_of(joint) for joint in joints)]
        arms = holders if len(arms) == 2 and len(holders) == 1 else arms
    if len(arms) != 1:
        either = " or ".join(f"'{body}'" for body in bodies_of(hinge))
        message = f"carrier '{carrier}': neither axis tells which of {either} is the arm."
        raise Mistake(f"{message} Place the gear whose joint is not on the arm in line with the carrier.", "carrier")
    (arm,) = arms
    found = []
    for joint in joints:
        seen = _directly(joint, arm, values) if arm in bodies_of(joint) else None
        seen = seen or reach(joint, scope.joints, values, carrier).get(arm)
        if seen is None:
            bodies = " nor on ".join(f"'{body}'" for body in bodies_of(hinge))
            message = f"joint '{joint.name}' is neither on {bodies}, which carrier '{carrier}' connects."
            raise Mistake(f"{message} Name the carrier that one of the two gears is on.", "carrier")
        found.append(seen)
    return arm, found, _directly(hinge, arm, values)


def _carried(joint: Joint, hinge: Joint, arm: str, values: Values) -> bool:
    """Whether a joint is on the arm, or on what carries the arm, in line with its hinge."""
    if arm in bodies_of(joint):
        return True
    (other,) = {*bodies_of(hinge)} - {arm}
    if other not in bodies_of(joint):
        return True
    return _in_line(_directly(joint, other, values), _directly(hinge, other, values))


def reach(joint: Joint, joints: Mapping[str, Joint], values: Values, carrier: str = "") -> dict[str, Seen]:
    """How its motion is seen from each body that carries its axis: its own two, others welded or hinged in line."""
    reached = {body: _directly(joint, body, values) for body in bodies_of(joint)}
    waiting = list(reached)
    while waiting:
        body = waiting.pop(0)
        for other, seen in _onward(joint, body, reached[body], joints, values, carrier):
            if other not in reached:
                reached[other] = seen
                waiting.append(other)
    return reached


def _onward(
    joint: Joint, body: str, seen: Seen, joints: Mapping[str, Joint], values: Values, carrier: str
) -> Iterator[tuple[str, Seen]]:
    """The bodies next to one that carry the axis as well."""
    for between in joints.values():
        if body not in bodies_of(between) or between is joint or not isinstance(between.type, (Fixed, Revolute)):
            continue
        here, there = between.first, between.second
        if body != here.body:
            here, there = there, here
        X = _placement(there, values) @ _placement(here, values).inverse()
        if isinstance(between.type, Fixed):
            yield there.body, seen._replace(axis=X.rotation @ seen.axis, point=X.point(seen.point))
            continue
        hinge = _directly(between, there.body, values)  # how this body turns as seen from the other one
        same = hinge._replace(axis=_axis(between, here, values) * hinge.order, point=_placement(here, values).offset)
        if not isinstance(joint.type, Revolute) or not (between.name == carrier or _in_line(seen, same)):
            continue
        sign = seen.along(same)
        amount = seen.amount + hinge.amount if sign > 0 else seen.amount - hinge.amount
        axis = hinge.axis * sign if _parallel(seen.axis, same.axis) else X.rotation @ seen.axis
        yield there.body, Seen(amount, axis, hinge.point, seen.order, (*seen.through, between.name))


def _directly(joint: Joint, body: str, values: Values) -> Seen:
    """The motion of the other body of a joint relative to one of its two."""
    frame, order = (joint.first, 1) if body == joint.first.body else (joint.second, -1)
    amount, axis = as_expression(joint.coordinates[0]), _axis(joint, frame, values)
    return Seen(amount, axis * order, _placement(frame, values).offset, order)


def _axis(joint: Joint, frame: Frame, values: Values) -> Vector:
    """The axis of a hinge or slide, in the body of one of its frames."""
    axis = joint.type.axis  # type: ignore[attr-defined]
    try:
        axis = axis if isinstance(axis, Vector) else values.axis(axis)
    except Mistake:  # which is a problem of its own
        axis = Z
    return _placement(frame, values).rotation @ axis


def _placement(frame: Frame, values: Values) -> Transform:
    """In floats, with free parameters at the values that the model gives them."""
    try:
        X = frame.placement(values)
        if all(isinstance(x, (int, float)) for x in (*X.offset, *(x for row in X.rotation.rows for x in row))):
            return X
        return frame.placement(values.replaced({}))
    except Mistake:  # which is a problem of its own
        return Transform()


def _in_line(one: Seen, other: Seen) -> bool:
    """Whether two axes in the same body are one line."""
    off = (other.point - one.point).cross(one.axis).norm
    return _parallel(one.axis, other.axis) and off <= IN_LINE * (one.point.norm + other.point.norm)


def _parallel(a: Vector, b: Vector) -> bool:
    return bool(a.cross(b).norm < IN_LINE)
