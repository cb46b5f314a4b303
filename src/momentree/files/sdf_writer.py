"""Models as SDF, the format of Gazebo: links placed where all coordinates are zero, and joints, loops included.

| model                          | SDF                                                           |
|--------------------------------|---------------------------------------------------------------|
| the ground                     | world, with its gravity                                       |
| a body                         | link; the frame of one that floats is moved to its Free joint |
| Revolute, Prismatic, Spherical | revolute or continuous, prismatic, ball                       |
| Universal, Screw, Fixed        | universal, screw, fixed                                       |
| Free                           | no joint: the link floats                                     |
| limits, damping, dry friction  | limit, dynamics                                               |
| spring, rest                   | spring_stiffness, spring_reference                            |
| couplings of two coordinates   | mimic (SDF 1.11)                                              |
| named frames, shapes           | frame, visual                                                 |

A joint has one pose in SDF, so that its frames must coincide in the poses of the file. Where loops are open at zero
coordinates, the file has the poses of the model's start instead, from which all coordinates then count.
"""

from __future__ import annotations

import os
from typing import Any

from momentree.files.pose_text import is_identity, pose
from momentree.files.posed_tree import PosedTree
from momentree.files.robot_drawings import address, drawn_on
from momentree.files.robot_parts import MOMENTS, unused
from momentree.files.robot_tree import Coupled, RobotTree, Step, TreeLink, note_impossible, steps_of, tree_of
from momentree.files.writing_notes import WritingNotes
from momentree.files.xml_text import Tag, digits
from momentree.model import Model
from momentree.model.elements import Joint
from momentree.model.expressions.expression import Reference
from momentree.model.frames import GROUND
from momentree.model.joint_type import STOPS, JointType
from momentree.model.joint_types import Fixed, Free, Prismatic, Revolute, Screw, Spherical, Universal
from momentree.spatial import Transform, turn

WORLD = "world"
KINDS: dict[type[JointType], str] = {
    Prismatic: "prismatic",
    Spherical: "ball",
    Universal: "universal",
    Screw: "screw",
    Fixed: "fixed",
}


def sdf_text(model: Model, path: str | os.PathLike[str], lossy: bool = False) -> str:
    """A model as the text of the SDF file at a path."""
    notes = WritingNotes(model, path, "SDF", lossy)
    text = _Sdf(tree_of(model, notes, _rule), notes, os.path.dirname(os.path.abspath(path))).written()
    notes.report()
    return text


def _rule(name: str) -> str:
    plain = name.strip().replace("::", "_")
    if plain.startswith("__") and plain.endswith("__"):
        plain = plain.strip("_")
    return f"{WORLD}_link" if plain == WORLD else plain


class _Sdf:
    """Writes links and joints of one model in a world."""

    def __init__(self, tree: RobotTree, notes: WritingNotes, folder: str):
        self.tree, self.notes, self.folder = tree, notes, folder
        self.version: tuple[int, ...] = (1, 7)
        self.X_BL = {link.name: link.X_BM if isinstance(link.type, Free) else Transform() for link in tree.links}
        self.X_BL[GROUND] = Transform()
        self.by_name = {link.name: link for link in tree.links}
        self.taken = {*tree.bodies.values()}
        self.posed = PosedTree(tree, coupled=False, strict=True)
        self.X_WB, self.zero = self.posed.X_WB, self.zeros()
        self.joints: dict[str, Tag] = {}
        self.axes: dict[Reference, tuple[str, str]] = {}  # coordinates: the joint and its axis

    def written(self) -> str:
        tree, notes = self.tree, self.notes
        self.model = Tag("model", {"name": tree.model.name.strip() or "robot"})
        floating = [link.name for link in tree.links if isinstance(link.type, Free)]
        for body in sorted(tree.model.bodies, key=lambda body: body.name not in floating):
            self.add_link(self.by_name[body.name])
        in_tree = {link.joint.name: link.joint for link in tree.links}
        closing = {c.joint.name: c.joint for c in tree.closings}
        order = {joint.name: number for number, joint in enumerate(tree.model.joints)}
        for name in sorted({**in_tree, **closing}, key=lambda name: order.get(name, len(order))):
            self.add_joint({**in_tree, **closing}[name], name in closing)
        for couple in tree.couples:
            self.add_mimic(couple)
        for named in tree.model.frames:
            self.add_frame(named.name, named.frame.body, tree.placed(named.frame))
        if any(shape.frame.body == GROUND for shape in tree.model.shapes):
            notes.change("shapes on the ground are not drawn")
        note_impossible(tree, notes)
        if tree.model.start is not None:
            notes.change("left out", "start")
        sdf = Tag("sdf", {"version": ".".join(map(str, self.version))})
        world = sdf.add("world", name=WORLD)
        world.add("gravity", digits(*tree.gravity))
        world.children.append(self.model)
        return sdf.document()

    def needs(self, *version: int) -> None:
        self.version = max(self.version, version)

    # --- where everything is in the file ---

    def zeros(self) -> dict[str, tuple[float, ...]]:
        """The coordinates of each joint in the poses of the file: zero if all loops are closed there."""
        closings = [c.joint for c in self.tree.closings]
        if self.posed.start is None:
            return self.posed.q | {joint.name: tuple(joint.type.reference()) for joint in closings}
        placed = {c.joint.name: self.posed.relative_placement(c) for c in self.tree.closings}
        zero = self.posed.q | {joint.name: tuple(joint.type.fit(placed[joint.name])) for joint in closings}
        for joint in (*(link.joint for link in self.tree.links), *closings):
            if zero[joint.name] != tuple(joint.type.reference()):
                what = "coordinates count from the start, since loops are open where they are zero"
                self.notes.change(what, joint.name)
        return zero

    # --- links ---

    def add_link(self, link: TreeLink) -> None:
        element = self.model.add("link", name=self.tree.bodies[link.name])
        parent = link.parent
        X = (self.X_WB[parent] @ self.X_BL[parent]).inverse() @ self.X_WB[link.name] @ self.X_BL[link.name]
        if not is_identity(X) or parent != GROUND:
            relative = None if parent == GROUND else self.tree.bodies[parent]
            element.add("pose", pose(X), relative_to=relative)
        inertial = element.add("inertial")
        if link.solid is None:
            what = "has no mass, which SDF does not allow"
            self.notes.problem("body", link.name, what, "Give it a small one", "or let it be 0")
            self.notes.change("mass 0, which Gazebo refuses", link.name)
            inertial.add("mass", "0")
            moments: tuple[float, ...] = (0.0,) * 6
        else:
            solid = link.solid.seen_from(self.X_BL[link.name])
            if any(solid.com):
                inertial.add("pose", digits(*solid.com, 0, 0, 0))
            inertial.add("mass", digits(solid.mass))
            moments = tuple(map(float, solid.J))
        inertia = inertial.add("inertia")
        for key, moment in zip(MOMENTS, moments, strict=True):
            inertia.add(key, digits(moment))
        self.add_visuals(element, link.name)

    def add_visuals(self, element: Tag, body: str) -> None:
        X_LB = self.X_BL[body].inverse()
        for number, drawn in enumerate(drawn_on(self.tree, body, self.notes), 1):
            visual = element.add("visual", name=f"visual_{number}")
            X = X_LB @ drawn.X
            if not is_identity(X):
                visual.add("pose", pose(X))
            shape = visual.add("geometry").add(drawn.kind)
            if drawn.kind == "box":
                shape.add("size", digits(*drawn.sizes))
            elif drawn.kind == "mesh":
                shape.add("uri", address(drawn.file, self.folder))
                if drawn.sizes != (1.0,):
                    shape.add("scale", digits(*drawn.sizes * 3))
            else:
                for key, size in zip(("radius", "length"), drawn.sizes, strict=False):
                    shape.add(key, digits(size))
            if drawn.kind == "capsule":
                self.needs(1, 8)
            if drawn.color is not None:
                visual.add("material").add("diffuse", digits(*drawn.color, 1))

    def add_frame(self, name: str, body: str, X_BN: Transform) -> None:
        if body == GROUND:
            self.notes.change("named frames of the ground left out", name)
            return
        element = self.model.add("frame", name=self.unique(name, "frame"), attached_to=self.tree.bodies[body])
        element.add("pose", pose(self.X_BL[body].inverse() @ X_BN))

    def unique(self, name: str, kind: str) -> str:
        """A name that neither a link nor a joint or frame has: SDF has one list of names for all of them."""
        plain = _rule(name)
        found = plain if plain not in self.taken else unused(f"{plain}_{kind}", self.taken)
        if found != name:
            self.notes.change("renamed", f"{name} to {found}")
        self.taken.add(found)
        return found

    # --- joints ---

    def add_joint(self, joint: Joint, closes: bool) -> None:
        type = joint.type
        if isinstance(type, Free):
            if not closes:
                self.note_of_free(joint)
            return
        if not isinstance(type, (Revolute, Prismatic, Screw, Universal, Spherical, Fixed)):
            message = f"is {type.kind}, which SDF does not have. Write URDF or MJCF"
            self.notes.forbid("joint", joint.name, f"{message}, or build it of Revolute and Prismatic joints.")
            return
        friction = self.friction_of(joint)
        steps = [step for step in steps_of(joint, joint.name, friction, set()) if not step.pitch]
        reverse = joint.second.body == GROUND
        parent, child = (joint.second, joint.first) if reverse else (joint.first, joint.second)
        kind = KINDS.get(type.__class__, "continuous")
        if isinstance(type, Revolute) and "limits" in steps[0].options:
            kind = "revolute"
        name = self.unique(self.tree.joints[joint.name], "joint")
        element = self.joints[name] = self.model.add("joint", name=name, type=kind)
        X_LJ = self.X_BL[child.body].inverse() @ self.tree.placed(child)
        if not is_identity(X_LJ):
            element.add("pose", pose(X_LJ))
        element.add("parent", WORLD if parent.body == GROUND else self.tree.bodies[parent.body])
        element.add("child", self.tree.bodies[child.body])
        if isinstance(type, Screw):
            self.needs(1, 10)
            element.add("screw_thread_pitch", digits(type.pitch))
        if isinstance(type, Spherical):
            self.note_of_ball(joint)
        self.add_axes(element, name, joint, steps, reverse)

    def note_of_free(self, joint: Joint) -> None:
        """What is said of a joint that SDF does not have: its link floats."""
        link = next(link for link in self.tree.links if link.joint is joint)
        if joint.name != "root":
            self.notes.change("Free joints have no names in SDF", joint.name)
        if link.parent != GROUND or link.reverse:
            self.notes.change("coordinates of Free joints are those in the world", joint.name)
        if joint.type.damping is not None and any(joint.type.damping):
            self.notes.lose("joint", joint.name, "has damping and is Free", "Write MJCF")

    def note_of_ball(self, joint: Joint) -> None:
        if joint.type.damping is not None and any(joint.type.damping):
            self.notes.lose("joint", joint.name, "has damping and is Spherical", "Write MJCF")
        if joint.second.body == GROUND:
            self.notes.change("coordinates of joints to the ground are inverse", joint.name)

    def friction_of(self, joint: Joint) -> dict[Reference, float]:
        for link in self.tree.links:
            if link.joint is joint:
                return {joint.velocities[step.place]: step.options.get("friction", 0.0) for step in link.steps}
        return {}

    def add_axes(self, element: Tag, name: str, joint: Joint, steps: list[Step], reverse: bool) -> None:
        """One axis for each coordinate; seen from the ground, if the joint ends there."""
        zero = self.zero[joint.name]
        if reverse:
            steps = [step._replace(axis=-step.axis) for step in reversed(steps)]
            if len(steps) > 1:
                self.notes.change("axes of joints to the ground are in reverse order", joint.name)
        for number, step in enumerate(steps):
            tag = "axis" if number == 0 else "axis2"
            n = step.axis
            if number + 1 < len(steps):  # carried along by the turn about the next one
                later = steps[number + 1]
                n = turn(later.axis, -zero[later.place]) @ n
            axis = element.add(tag)
            axis.add("xyz", digits(*n))
            self.add_options(axis, joint.name, step.options, zero[step.place])
            self.axes[joint.coordinates[step.place]] = (name, tag)

    def add_options(self, axis: Tag, name: str, options: dict[str, Any], zero: float) -> None:
        if "limits" in options:
            limit = axis.add("limit")
            for key, end in zip(("lower", "upper"), options["limits"], strict=True):
                if abs(end) != float("inf"):
                    limit.add(key, digits(end - zero))
            if options.get("stops", STOPS) != STOPS:
                for key, number in zip(("stiffness", "dissipation"), options["stops"], strict=True):
                    limit.add(key, digits(number))
        keys = {"damping": "damping", "friction": "friction", "spring": "spring_stiffness"}
        if any(what in options for what in keys):
            dynamics = axis.add("dynamics")
            for what, key in keys.items():
                if what in options:
                    dynamics.add(key, digits(options[what]))
            if "spring" in options:
                dynamics.add("spring_reference", digits(options.get("rest", 0.0) - zero))
        if "armature" in options:
            self.notes.lose("joint", name, "has an armature", "Write MJCF")

    # --- couplings ---

    def add_mimic(self, couple: Coupled) -> None:
        places = [self.axes[reference] for reference in couple.terms if reference in self.axes]
        free = [place for place in places if self.axis_at(place).children[-1].tag != "mimic"]
        if len(couple.terms) != 2 or len(places) != 2 or not free:
            what = "is not an equation of two joints, of which one follows no other yet"
            self.notes.lose(couple.kind, couple.name, what, "Write MJCF")
            return
        self.needs(1, 11)
        value = couple.value - sum(c * self.zero_of(reference) for reference, c in couple.terms.items())
        (first, second), (a, b) = places, couple.terms.values()
        unlimited = [place for place in free if not [*self.axis_at(place).inside("limit")]]
        if first not in free or (first not in unlimited and second in unlimited):  # limits of followers go unread
            first, second, a, b = second, first, b, a
        mimic = self.axis_at(first).add("mimic", joint=second[0], axis=second[1])
        mimic.add("multiplier", digits(-b / a))
        mimic.add("offset", digits(value / a))
        mimic.add("reference", "0")

    def axis_at(self, place: tuple[str, str]) -> Tag:
        return next(self.joints[place[0]].inside(place[1]))

    def zero_of(self, reference: Reference) -> float:
        joint = next(link.joint for link in self.tree.links if reference in link.joint.coordinates)
        return self.zero[joint.name][joint.coordinates.index(reference)]
