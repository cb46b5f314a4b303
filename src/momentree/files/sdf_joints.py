"""Joints of SDF: their types, axes, limits and dynamics; gearboxes and mimic joints become couplings.

| SDF                        | model                                                                                |
|----------------------------|--------------------------------------------------------------------------------------|
| revolute, continuous       | Revolute                                                                             |
| prismatic, ball, fixed     | Prismatic, Spherical, Fixed                                                          |
| universal, revolute2       | Universal about axis and axis2                                                       |
| screw                      | Screw with the pitch screw_thread_pitch (m per turn), or -2 pi / thread_pitch        |
| gearbox                    | a coupling of the joints between the reference body and the parent, and the child    |
| mimic                      | a coupling: multiplier (leader - reference) + offset                                 |
| limit                      | limits; stops: stiffness and dissipation, or the library's own where these are usual |
| damping, friction          | damping; a torque -f tanh(v / friction_velocity)                                     |
| spring_stiffness           | a spring towards spring_reference                                                    |
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from momentree.errors import suggestion
from momentree.files.robot_parts import NO_LIMITS, RobotParts, axis_of, frame_of
from momentree.files.robot_stops import effort_of
from momentree.files.robot_xml import Element
from momentree.files.sdf_frames import OWN, Frames, Node, Scope, number, said, truth
from momentree.model.elements import Joint
from momentree.model.frames import GROUND
from momentree.model.joint_type import STOPS, JointType
from momentree.model.joint_types import Fixed, Prismatic, Revolute, Screw, Spherical, Universal
from momentree.spatial import Transform, Vector

HINGES = ("revolute", "continuous")
CROSSED = ("universal", "revolute2")
TYPES = (*HINGES, "prismatic", "ball", *CROSSED, "fixed", "screw", "gearbox")
PARALLEL = 1e-3  # rad: the axes of a gearbox and of its joints may differ by this
USUAL_STOPS = {"stiffness": 1e8, "dissipation": 1.0}  # of SDF: so stiff that nothing bounces within a time step
SNAP = 1e-15  # components of axes that are round-off


class SdfJoints:
    """Reads all joints; `names` are theirs afterwards."""

    def __init__(self, parts: RobotParts, frames: Frames, bodies: Mapping[Node, str], version: tuple[int, ...]):
        self.parts, self.frames, self.bodies, self.version = parts, frames, bodies, version
        self.names: set[str] = set()
        self.axes: dict[str, Vector] = {}  # of hinges, in the world
        self.by_ends: dict[tuple[str, str], Joint] = {}  # the first hinge between two bodies, either way

    def read(self) -> None:
        each = [(scope, joint) for scope in self.frames.world.all() for joint in scope.element.all("joint")]
        self.names = {scope.prefix + joint.get("name") for scope, joint in each}
        for scope, joint in each:
            kind = joint.get("type")
            if kind not in TYPES:
                raise joint.error(f"there is no joint type '{kind}'.{suggestion(kind, TYPES)}")
            if kind != "gearbox":
                self.add(scope, joint)
        for scope, joint in each:
            if joint.get("type") == "gearbox":
                self.add_gearbox(scope, joint)
            else:
                self.add_mimics(scope, joint)

    def add(self, scope: Scope, element: Element) -> None:
        name = scope.prefix + element.attributes["name"]
        (parent, X_WP), (child, X_WC) = (self.end(scope, element, role) for role in ("parent", "child"))
        X_WJ = self.frames.of(scope, element)
        if parent == child == GROUND:
            self.parts.notes.add("left out, since both ends do not move", name)
            return
        type = self.joint_type(scope, element, name, X_WJ)
        first, second = frame_of(parent, X_WP.inverse() @ X_WJ), frame_of(child, X_WC.inverse() @ X_WJ)
        joint = self.parts.joint(element, name, type, first, second)
        if element.attributes["type"] in HINGES:
            self.axes[name] = self.axis(scope, element, "axis", X_WJ, Transform())
            self.by_ends.setdefault((parent, child), joint)
            self.by_ends.setdefault((child, parent), joint)
        axes = self.moving_axes(element)
        self.parts.friction(joint, tuple(number(axis.first("dynamics"), "friction", 0.0) for axis in axes))

    def end(self, scope: Scope, element: Element, role: str) -> tuple[str, Transform]:
        """The body at one end of a joint, and where it is."""
        node = self.frames.link(self.frames.node(scope, said(element, role), element))
        body = self.bodies.get(node, GROUND)
        return body, Transform() if body == GROUND else self.frames.placement(node)

    # --- types, axes and options ---

    def joint_type(self, scope: Scope, element: Element, name: str, X_WJ: Transform) -> JointType:
        kind = element.attributes["type"]
        if element.first("axis2") is not None and kind not in CROSSED:
            self.parts.notes.add(f"left out <axis2> of {kind} joints", name)
        if kind in ("fixed", "ball"):
            if kind == "ball" and any(element.all("axis")):
                self.parts.notes.add("left out <axis> of ball joints", name)
            return Fixed() if kind == "fixed" else Spherical()
        axes = [axis_of(tuple(self.axis(scope, element, axis.tag, X_WJ, X_WJ))) for axis in self.moving_axes(element)]
        options = self.options(element, name)
        if kind in CROSSED:
            return Universal(axes[0], axes[1], **options)
        if kind == "screw":
            return Screw(axes[0], _pitch(element), **options)
        return Prismatic(axes[0], **options) if kind == "prismatic" else Revolute(axes[0], **options)

    def moving_axes(self, element: Element) -> list[Element]:
        """The elements of the axes that a joint moves along or about."""
        kind = element.attributes["type"]
        tags = () if kind in ("fixed", "ball") else ("axis", "axis2") if kind in CROSSED else ("axis",)
        return [self.axis_element(element, tag) for tag in tags]

    def axis_element(self, element: Element, tag: str) -> Element:
        axis = element.first(tag)
        if axis is None:
            raise element.error(f"<{tag}> is missing. Write <{tag}><xyz>0 0 1</xyz></{tag}>.")
        return axis

    def axis(self, scope: Scope, element: Element, tag: str, X_WJ: Transform, X_WA: Transform) -> Vector:
        """An axis of a joint in axes of a frame A."""
        axis = self.axis_element(element, tag)
        xyz = axis.first("xyz")
        x, y, z = (0.0, 0.0, 1.0) if xyz is None else xyz.numbers(3)
        n = Vector(x, y, z)
        if not any((x, y, z)) or not math.isfinite(n.norm):
            raise axis.error("its axis has no direction. Write <xyz>0 0 1</xyz>.")
        said = "" if xyz is None else xyz.attributes.get("expressed_in", "")
        if truth(axis, "use_parent_model_frame") or self.version < (1, 5):
            said = said or OWN
        if said:
            R = self.frames.placement(self.frames.node(scope, said, axis)).rotation
            if X_WA is X_WJ:
                R = X_WJ.rotation.T @ R
        else:
            R = Transform().rotation if X_WA is X_WJ else X_WJ.rotation
        turned = R @ (n / n.norm)
        return Vector(*(0.0 if abs(c) < SNAP else 1.0 if c > 1 - SNAP else -1.0 if c < SNAP - 1 else c for c in turned))

    def options(self, element: Element, name: str) -> dict[str, Any]:
        """Damping, springs and limits, one for each axis."""
        axes = self.moving_axes(element)
        dynamics = [axis.first("dynamics") for axis in axes]
        given: dict[str, list[Any]] = {
            "damping": [self.parts.damping(name, number(each, "damping", 0.0)) for each in dynamics],
            "spring": [number(each, "spring_stiffness", 0.0) for each in dynamics],
        }
        if any(given["spring"]):
            given["rest"] = [number(each, "spring_reference", 0.0) for each in dynamics]
        options = {key: entries for key, entries in given.items() if any(entries) or key == "rest"}
        if element.attributes["type"] != "continuous":
            limits = [self.limits(name, axis) for axis in axes]
            if any(limits):
                options["limits"] = [NO_LIMITS if pair is None else pair for pair in limits]
                stops = [self.stops(name, axis) for axis in axes]
                options |= {"stops": [pair or STOPS for pair in stops]} if any(stops) else {}
                self.parts.efforts[name] = tuple(map(_effort, axes))
        return {key: entries[0] if len(axes) == 1 else tuple(entries) for key, entries in options.items()}

    def limits(self, name: str, axis: Element) -> tuple[float, float] | None:
        limit = axis.first("limit")
        if limit is None:
            return None
        low, high = (number(limit, tag, far, infinite=True) for tag, far in (("lower", -math.inf), ("upper", math.inf)))
        return self.parts.limits(name, low, high)

    def stops(self, name: str, axis: Element) -> tuple[float, float] | None:
        """Stiffness and damping of the stops; None where the file has those of all SDF files."""
        given = [number(axis.first("limit"), key, usual) for key, usual in USUAL_STOPS.items()]
        if tuple(given) == tuple(USUAL_STOPS.values()):
            return None
        if given[0] <= 0 or given[1] < 0:
            self.parts.notes.add("stiffness of stops left out, since it is not positive", name)
            return None
        return given[0], given[1]

    # --- couplings ---

    def add_gearbox(self, scope: Scope, element: Element) -> None:
        """theta_2 = -ratio theta_1: angles of the child and of the parent as seen from the reference body."""
        name = scope.prefix + element.attributes["name"]
        bodies = [self.end(scope, element, role)[0] for role in ("gearbox_reference_body", "parent", "child")]
        X_WJ = self.frames.of(scope, element)
        turning = []
        for body, tag in zip(bodies[1:], ("axis", "axis2"), strict=True):
            joint = self.by_ends.get((bodies[0], body))
            if joint is None:
                message = f"there is no revolute joint between its reference body '{bodies[0]}' and '{body}'"
                raise element.error(f"{message}, whose angle it could couple. Add that joint.")
            said_axis = tag if tag == "axis" or element.first("axis2") is not None else "axis"
            along = self.axis(scope, element, said_axis, X_WJ, Transform()) @ self.axes[joint.name]
            if abs(along) < math.cos(PARALLEL):
                raise element.error(f"its <{said_axis}> is not parallel to the axis of joint '{joint.name}'.")
            turning.append((joint.name, math.copysign(1.0, along) * (1 if joint.first.body == bodies[0] else -1)))
        (of_parent, one), (of_child, other) = turning
        ratio = -number(element, "gearbox_ratio", 1.0) * one * other
        for axis in element.all("axis", "axis2"):
            for left in axis.all("limit", "dynamics", "mimic"):
                self.parts.notes.add(f"left out <{left.tag}> of gearbox joints", name)
        self.parts.from_element("couple", element)
        self.parts.model.couple(of_child, of_parent, ratio=ratio, name=name)

    def add_mimics(self, scope: Scope, element: Element) -> None:
        for axis in element.all("axis", "axis2"):
            mimic = axis.first("mimic")
            if mimic is None:
                continue
            leader = scope.prefix + mimic.get("joint")
            ratio, reference = number(mimic, "multiplier", 1.0), number(mimic, "reference", 0.0)
            follower = self.coordinate(scope.prefix + element.attributes["name"], axis.tag)
            to = self.coordinate(leader, mimic.attributes.get("axis", "axis"))
            offset = number(mimic, "offset", 0.0) - ratio * reference
            self.parts.mimic(mimic, follower, to, ratio, offset)

    def coordinate(self, name: str, tag: str) -> str:
        """The coordinate that belongs to an axis of a joint."""
        joint = next((joint for joint in self.parts.model.joints if joint.name == name), None)
        crossed = joint is not None and isinstance(joint.type, Universal)
        return f"{name}.angle{2 if tag == 'axis2' else 1}" if crossed else name


def _effort(axis: Element) -> float:
    """Of the motor of an axis."""
    limit = axis.first("limit")
    effort = None if limit is None else limit.first("effort")
    return effort_of("" if effort is None else effort.text)


def _pitch(element: Element) -> float:
    """m per turn."""
    if element.first("screw_thread_pitch") is None and element.first("thread_pitch") is not None:
        turning = number(element, "thread_pitch", 1.0)  # rad/m, positive for a left-handed thread
        if turning == 0:
            raise element.error("<thread_pitch> is 0. Write <screw_thread_pitch>, in m per turn.")
        return -math.tau / turning
    return number(element, "screw_thread_pitch", 1.0)
