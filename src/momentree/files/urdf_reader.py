"""URDF: robots of ROS as models; links become bodies, joints become joints, mimic joints become couplings.

| URDF                          | model                                                                               |
|-------------------------------|-------------------------------------------------------------------------------------|
| the root link                 | fixed to the ground, or floating                                                    |
| revolute, continuous          | Revolute; limits become stops                                                       |
| prismatic, planar             | Prismatic, Planar                                                                   |
| floating, fixed               | Free, Fixed                                                                         |
| dynamics damping, friction    | damping; a torque -f tanh(v / 0.01): full friction from about 0.02 rad/s or m/s on  |
| mimic                         | a coupling                                                                          |
| visual                        | shapes that are drawn                                                               |

A link without inertial has no mass. What has no counterpart is listed in one warning.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from momentree.errors import ModelError, choices, suggestion
from momentree.files.extended_urdf import Closures, closures_beside, idle_hinges, read_closures
from momentree.files.mesh_addresses import MeshAddresses
from momentree.files.robot_parts import MOMENTS, Choices, RobotParts, axis_of, free_name, turns, unused
from momentree.files.robot_stops import effort_of
from momentree.files.robot_xml import Element, read_xml
from momentree.model import Model
from momentree.model.frames import GROUND, Frame, rotation_of
from momentree.model.joint_type import JointType
from momentree.model.joint_types import Fixed, Free, Planar, Prismatic, Revolute, Spherical, Universal
from momentree.model.shapes import Shape, box, capsule, cylinder, sphere
from momentree.model.values import Values
from momentree.spatial.rotation import normalised

OF_MOTORS = ("calibration", "safety_controller")
TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
READ = ("link", "joint", "material")  # elements of a robot that are read
WORLD = "world"  # a link that need not be declared
# what is read, or says nothing about motion, in each element of a link or joint: its attributes, and its elements
KNOWN: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "link": (("name", "type"), ("inertial", "visual", "collision")),
    "inertial": ((), ("origin", "mass", "inertia")),
    "origin": (("xyz", "rpy", "quat_xyzw"), ()),
    "mass": (("value",), ()),
    "inertia": (MOMENTS, ()),
    "joint": (("name", "type"), ("origin", "parent", "child", "axis", "dynamics", "limit", "mimic", *OF_MOTORS)),
    "parent": (("link",), ()),
    "child": (("link",), ()),
    "axis": (("xyz",), ()),
    "dynamics": (("damping", "friction"), ()),
    "limit": (("lower", "upper", "effort", "velocity", "acceleration", "deceleration", "jerk"), ()),
    "mimic": (("joint", "multiplier", "offset"), ()),
}


def read_urdf(
    path: str | os.PathLike[str],
    packages: Sequence[str | os.PathLike[str]] = (),
    floating: bool = False,
    closures: str | os.PathLike[str] | None = None,
    choices: Choices | None = None,
    robot: Element | None = None,
    said: Sequence[str] = (),
) -> Model:
    """The model in a URDF file, with the loops of a YAML file (extended_urdf.py), by default the one beside it.

    A `robot` that xacro has made is taken as what the file has; `said` is what xacro warns of.
    """
    robot = read_xml(path, "robot") if robot is None else robot
    beside = closures_beside(path) if closures is None else None
    chosen = closures or beside
    loops = read_closures(chosen) if chosen else Closures()
    reader = _Urdf(robot, MeshAddresses(path, packages), floating, loops, choices or Choices())
    for warning in said:
        reader.notes.add("xacro says", warning)
    if beside is not None:
        reader.notes.add("loops are closed as the file beside it says", beside.name)
    return reader.model()


class _Urdf:
    """Reads a robot element by element."""

    def __init__(self, robot: Element, addresses: MeshAddresses, floating: bool, closures: Closures, choices: Choices):
        self.robot, self.floating, self.closures = robot, floating, closures
        self.parts = RobotParts(robot, robot.attributes.get("name") or "robot", addresses, choices)
        self.notes = self.parts.notes
        self.links = _by_name(robot, "link")
        self.joints = _by_name(robot, "joint")
        ends = [end for joint in self.joints.values() if (end := joint.first("parent")) is not None]
        if WORLD not in self.links and (named := [e for e in ends if e.attributes.get("link") == WORLD]):
            self.links[WORLD] = Element("link", {"name": WORLD}, named[0].line, robot.file)
            self.notes.add("link added, which the file names but does not have", WORLD)
        self.bodies = {name: free_name(name, self.links, self.notes) for name in self.links}
        self.colors = {m.attributes.get("name", ""): m for m in robot.all("material")}

    def model(self) -> Model:
        if not self.links:
            of_macros = " Xacro wrote it, from macros that nothing uses: expand a file that uses them."
            raise self.robot.error(f"has no <link>.{of_macros if 'xacro' in self.robot.attributes else ''}")
        root = self.root()
        for name, link in self.links.items():
            self.add_link(name, link)
        carrier = Free() if self.floating else Fixed()
        self.parts.joint(self.robot, unused("root", self.joints), carrier, Frame(GROUND), Frame(self.bodies[root]))
        for name, joint in self.joints.items():
            self.add_joint(name, joint)
        for name, joint in self.joints.items():
            self.add_mimic(name, joint)
        self.close_loops()
        for element in self.robot.children:
            if element.tag not in READ:
                self.notes.add(f"left out <{element.tag}>", element.attributes.get("name", ""))
        for name, element in (*self.links.items(), *self.joints.items()):
            self.list_the_rest(name, element)
        return self.parts.finished()

    def list_the_rest(self, name: str, element: Element) -> None:
        """Note what is not read of a link or joint."""
        attributes, elements = KNOWN[element.tag]
        for attribute in sorted(element.attributes.keys() - {*attributes}):
            self.notes.add(f"left out {attribute}= of <{element.tag}>", name)
        for child in element.children:
            if child.tag == "collision":
                self.notes.add("collisions left out")
            elif child.tag not in elements:
                self.notes.add(f"left out <{child.tag}> of <{element.tag}>", name)
            elif child.tag in KNOWN:
                self.list_the_rest(name, child)

    def root(self) -> str:
        """The one link that is nobody's child; an error where the links are no tree."""
        parents: dict[str, Element] = {}
        for joint in self.joints.values():
            child = self.linked(joint, "child")
            if child in parents:
                before = parents[child].attributes["name"]
                message = f"its child '{child}' is already the child of joint '{before}'; a URDF is a tree."
                raise joint.error(f"{message} Give loops in a YAML file: closures=.")
            parents[child] = joint
        roots = [name for name in self.links if name not in parents]
        if len(roots) != 1:
            if not roots:
                raise self.robot.error("every link is the child of a joint: the joints form a ring. Cut it.")
            message = f"has {len(roots)} links that no joint carries: {choices(roots)}. Connect them by joints."
            raise self.robot.error(message)
        seen, name = {roots[0]}, ""
        for name in parents:
            path = []
            while name not in seen:
                path.append(name)
                name = self.linked(parents[name], "parent")
                if name in path:
                    raise parents[name].error(f"joints lead from link '{name}' back to it. Cut that ring.")
            seen.update(path)
        return roots[0]

    def linked(self, joint: Element, role: str) -> str:
        end = joint.first(role)
        if end is None:
            raise joint.error(f"<{role}> is missing.")
        name = end.get("link")
        if name not in self.links:
            raise end.error(f"there is no link '{name}'.{suggestion(name, self.links)}")
        return name

    # --- links ---

    def add_link(self, name: str, link: Element) -> None:
        shapes = [shape for visual in link.all("visual") for shape in self.shape(visual)]
        inertial = link.first("inertial")
        mass = inertial.first("mass") if inertial is not None else None
        amount = 0.0 if mass is None else mass.number("value")
        if inertial is None:
            self.parts.body(link, self.bodies[name], 0.0, (), None, (), shapes)
            return
        origin, rotation = _origin(inertial)
        inertia = inertial.first("inertia")
        moments = (0.0,) * 6 if inertia is None else tuple(inertia.number(key, 0.0) for key in MOMENTS)
        axes = None if rotation is None else rotation_of(rotation, Values({}))
        self.parts.body(link, self.bodies[name], amount, origin, axes, moments, shapes)

    def shape(self, visual: Element) -> list[Shape]:
        """What a visual draws: nothing, where it or its mesh cannot be read, since motion does not depend on it."""
        geometry = visual.first("geometry")
        drawn = geometry.children[0] if geometry is not None and geometry.children else None
        if drawn is None:
            return []
        try:
            return self.parts.drawn(self.geometry(drawn), *_origin(visual), self.color(visual))
        except ModelError as error:
            self.notes.add("not drawn", str(error))
            return []

    def geometry(self, drawn: Element) -> Shape | None:
        if drawn.tag == "box":
            return box(size=drawn.vector("size"))
        if drawn.tag == "sphere":
            return sphere(radius=drawn.number("radius"))
        if drawn.tag == "cylinder":
            return cylinder(radius=drawn.number("radius"), length=drawn.number("length"), axis="z")
        if drawn.tag == "capsule":
            return capsule(radius=drawn.number("radius"), length=drawn.number("length"), axis="z")
        if drawn.tag != "mesh":
            self.notes.add(f"not drawn <{drawn.tag}>")
            return None
        return self.parts.mesh(drawn.get("filename"), drawn.vector("scale", (1.0, 1.0, 1.0)))

    def color(self, visual: Element) -> tuple[float, ...] | None:
        material = visual.first("material")
        if material is None:
            return None
        color = material.first("color")
        if color is None:
            known = self.colors.get(material.attributes.get("name", ""))
            color = None if known is None else known.first("color")
        if color is None or "rgba" not in color.attributes:
            return None
        return color.vector("rgba", count=4)

    # --- joints ---

    def add_joint(self, name: str, joint: Element) -> None:
        parent, child = (self.bodies[self.linked(joint, role)] for role in ("parent", "child"))
        made = self.parts.joint(joint, name, self.joint_type(name, joint), Frame(parent, *_origin(joint)), Frame(child))
        dynamics = joint.first("dynamics")
        given = {key: 0.0 if dynamics is None else dynamics.number(key, 0.0) for key in ("friction", "damping")}
        if len(made.type.velocities) == 1:
            self.parts.friction(made, (given["friction"],))
            return
        lost = [key for key in given if given[key]] if made.type.velocities else []
        limit = joint.first("limit")
        if made.type.velocities and limit is not None and ({"lower", "upper"} & {*limit.attributes}):
            lost.append("limits")
        for what in lost:
            self.notes.add(f"{what} of joints with several degrees of freedom left out", name)

    def joint_type(self, name: str, joint: Element) -> JointType:
        if name in self.closures.types:
            return self.changed_type(name)
        kind = joint.get("type")
        if kind not in TYPES:
            raise joint.error(f"there is no joint type '{kind}'.{suggestion(kind, TYPES)}")
        if kind in ("fixed", "floating"):
            return Fixed() if kind == "fixed" else Free()
        element = joint.first("axis")
        axis = (1.0, 0.0, 0.0) if element is None else element.vector("xyz", (1.0, 0.0, 0.0))
        if not any(axis):
            raise joint.error('its axis has no direction. Give axis xyz="0 0 1".')
        if kind == "planar":
            return Planar(axis_of(axis))
        options: dict[str, Any] = {}
        dynamics = joint.first("dynamics")
        damping = self.parts.damping(name, 0.0 if dynamics is None else dynamics.number("damping", 0.0))
        if damping:
            options["damping"] = damping
        limits = None if kind == "continuous" else self.limits(name, joint)
        if limits is not None:
            options["limits"] = limits
        return Prismatic(axis_of(axis), **options) if kind == "prismatic" else Revolute(axis_of(axis), **options)

    def changed_type(self, name: str) -> JointType:
        """The type that the file of closures gives to a joint."""
        kind, line = self.closures.types[name]
        if kind.startswith("UJOINT_") and {*kind[-2:]} <= {*"XYZ"} and len(kind) == 9 and kind[-1] != kind[-2]:
            return Universal(kind[-2].lower(), kind[-1].lower())
        if kind not in ("SPHERICAL", "FIXED"):
            raise self.closures.error(f"there is no joint type '{kind}'. Choose SPHERICAL, FIXED or UJOINT_XY.", line)
        return Spherical() if kind == "SPHERICAL" else Fixed()

    def limits(self, name: str, joint: Element) -> tuple[float, float] | None:
        limit = joint.first("limit")
        if limit is None:
            return None
        self.parts.efforts[name] = (effort_of(limit.attributes.get("effort", "0")),)
        return self.parts.limits(name, limit.number("lower", 0.0), limit.number("upper", 0.0))

    def add_mimic(self, name: str, joint: Element) -> None:
        mimic = joint.first("mimic")
        if mimic is None:
            return
        ratio, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
        self.parts.mimic(mimic, name, mimic.get("joint"), ratio, offset)

    # --- loops ---

    def close_loops(self) -> None:
        for name in self.closures.types:
            if name not in self.joints:
                self.notes.add("no joint has this name, so its type is not changed", name)
        if self.parts.choices.idle == "fix":
            for name in idle_hinges(self.parts.model, self.hinges_at_closures(), self.closures.motors):
                self.parts.hold(name)
                self.notes.add('hinges fixed, which meet others on one axis and would idle (idle="keep")', name)
        for closure in self.closures.loops:
            first, second = (self.frame_named(end, closure.line) for end in (closure.first, closure.second))
            type = Fixed() if closure.kind == "6d" else Spherical()
            name = unused(f"{closure.first}-{closure.second}", self.joints)
            self.parts.joint(self.robot, name, type, first, second)

    def hinges_at_closures(self) -> list[tuple[str, str]]:
        """The joints that carry what is welded, where both links carry nothing else."""
        carriers = {self.linked(joint, "child"): name for name, joint in self.joints.items()}
        carrying = {self.linked(joint, "parent") for joint in self.joints.values()}
        pairs = []
        for closure in self.closures.loops:
            ends = [name if name in self.joints else carriers.get(name, "") for name in (closure.first, closure.second)]
            links = [self.linked(self.joints[name], "child") for name in ends if name]
            if closure.kind == "6d" and len(links) == 2 and not carrying & {*links}:
                pairs.append((ends[0], ends[1]))
        return pairs

    def frame_named(self, name: str, line: int) -> Frame:
        """The frame of a link, or that of a joint's child."""
        if name in self.joints:
            return Frame(self.bodies[self.linked(self.joints[name], "child")])
        if name in self.links:
            return Frame(self.bodies[name])
        known = [*self.joints, *self.links]
        raise self.closures.error(f"there is no link or joint '{name}'.{suggestion(name, known)}", line)


def _by_name(robot: Element, tag: str) -> dict[str, Element]:
    named: dict[str, Element] = {}
    for element in robot.all(tag):
        name = element.get("name")
        if name in named:
            raise element.error(f"there is another <{tag}> of this name in line {named[name].line}. Rename one.")
        named[name] = element
    return named


def _origin(element: Element) -> tuple[tuple[float, ...], Any]:
    """Position and rotation."""
    origin, none = element.first("origin"), (0.0, 0.0, 0.0)
    if origin is not None and "quat_xyzw" in origin.attributes:
        q = origin.vector("quat_xyzw", count=4)
        if not any(q):
            raise origin.error('its quaternion is zero. Write quat_xyzw="0 0 0 1" for no rotation.')
        return origin.vector("xyz", none), normalised(q)
    position, (roll, pitch, yaw) = (none if origin is None else origin.vector(key, none) for key in ("xyz", "rpy"))
    return position, turns(roll, pitch, yaw)
