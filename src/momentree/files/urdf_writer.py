"""Models as URDF: a tree of links; its loops, if asked for, in the YAML file of Extended URDF beside it.

| model                          | URDF                                                                         |
|--------------------------------|------------------------------------------------------------------------------|
| the ground                     | a link "world"; none where one body is Fixed to the ground by a joint "root" |
| a body                         | a link; its frame is moved to the joint that carries it, if it is not there  |
| Revolute, Prismatic, Fixed     | revolute or continuous, prismatic, fixed                                     |
| Free, Planar                   | floating, planar                                                             |
| Screw, Cylindrical, PinSlot,   | turns and slides one after another, massless links between them; the         |
| Universal, Planar with options | slide of a Screw mimics its turn                                             |
| Spherical                      | SPHERICAL in the YAML file                                                   |
| limits, damping, dry friction  | limit, dynamics                                                              |
| couplings of two coordinates   | mimic                                                                        |
| joints that close loops        | pairs of links in the YAML file: Fixed 6d, Spherical 3d, Revolute 3d twice   |
| shapes                         | visual; a capsule is a cylinder and two spheres                              |

URDF has no gravity: whoever reads it assumes (0, 0, -9.81).
"""

from __future__ import annotations

import os
from typing import NamedTuple

from momentree.files.pose_text import is_identity, xyz_rpy
from momentree.files.robot_drawings import Drawn, address, color_text, drawn_on
from momentree.files.robot_parts import MOMENTS, NO_LIMIT, unused
from momentree.files.robot_stops import efforts_of_stops
from momentree.files.robot_tree import (
    Closing,
    Coupled,
    RobotTree,
    Step,
    TreeLink,
    note_impossible,
    plain_options,
    tree_of,
)
from momentree.files.writing_notes import WritingNotes
from momentree.files.xml_text import Tag, digits
from momentree.model import Model
from momentree.model.expressions.expression import Reference
from momentree.model.frames import GROUND
from momentree.model.joint_type import STOPS
from momentree.model.joint_types import Fixed, Free, Planar, Prismatic, Revolute, Spherical
from momentree.spatial import IDENTITY, Transform, Vector

GRAVITY = (0.0, 0.0, -9.81)  # that readers of URDF assume
Efforts = tuple[float, ...] | None
UNKNOWN = {"effort": NO_LIMIT, "velocity": NO_LIMIT}  # limits that URDF wants and models do not have
CLOSING = ((Revolute,), (Fixed, Spherical, Free))  # types of joints that close loops, the best ones last
LOOPS = 'Give closures="FILE.yaml" (--closures) for Extended URDF, or write SDF or MJCF'


class Urdf(NamedTuple):
    """The texts of a URDF file and of its YAML file; None if there is none."""

    robot: str
    closures: str | None


def urdf_text(model: Model, path: str | os.PathLike[str], lossy: bool = False, closures: bool = False) -> Urdf:
    """A model as the text of the URDF file at a path, and with `closures` that of the YAML file with its loops."""
    notes = WritingNotes(model, path, "URDF", lossy)
    tree = tree_of(model, notes, closing_types=CLOSING)
    written = _Urdf(tree, notes, os.path.dirname(os.path.abspath(path)), closures).written()
    notes.report()
    return written


class _Urdf:
    """Writes a robot link by link."""

    def __init__(self, tree: RobotTree, notes: WritingNotes, folder: str, closures: bool):
        self.tree, self.notes, self.folder, self.closures = tree, notes, folder, closures
        self.robot = Tag("robot", {"name": tree.model.name})
        self.efforts = efforts_of_stops(tree.model)
        self.coupled = {reference.name for couple in tree.couples for reference in couple.terms}
        self.X_BL = {GROUND: Transform()} | {link.name: self.link_frame(link) for link in tree.links}
        self.taken = {*tree.bodies.values()}
        self.world = unused("world", self.taken)
        self.written_joints: dict[str, Tag] = {}
        self.of_coordinate: dict[Reference, str] = {}
        self.pairs: list[tuple[str, str, str]] = []  # closures: two links, and "3d" or "6d"
        self.balls: list[str] = []

    def written(self) -> Urdf:
        tree, notes = self.tree, self.notes
        if tree.gravity != GRAVITY:
            what = f"gravity is {tree.gravity}, not {GRAVITY}"
            notes.lose("", "gravity", what, "Write SDF or MJCF", "left out")
        note_impossible(tree, notes)
        for named in tree.model.frames:
            notes.change("named frames left out", named.name)
        if tree.model.start is not None:
            notes.change("left out", "start")
        root = self.root()
        if root is None:
            self.add_visuals(self.robot.add("link", name=self.world), GROUND)
        by_name = {link.name: link for link in tree.links}
        for body in tree.model.bodies:
            self.add_link(by_name[body.name])
        order = {joint.name: number for number, joint in enumerate(tree.model.joints)}
        for link in sorted(tree.links, key=lambda link: order.get(link.joint.name, len(order))):
            if link is not root:
                self.add_joints(link)
        for couple in tree.couples:
            self.add_mimic(couple)
        for closing in tree.closings:
            self.close(closing)
        return Urdf(self.robot.document(), self.yaml() if self.closures else None)

    def root(self) -> TreeLink | None:
        """The body that stands for the ground, as a file without a world is read."""
        on_ground = self.tree.children[GROUND]
        drawn = any(shape.frame.body == GROUND for shape in self.tree.model.shapes)
        ends = {frame.body for closing in self.tree.closings for frame in (closing.joint.first, closing.joint.second)}
        if len(on_ground) != 1 or drawn or GROUND in ends:
            return None
        link = on_ground[0]
        placed = is_identity(link.X_PF) and is_identity(link.X_BM)
        return link if isinstance(link.type, Fixed) and link.joint.name == "root" and placed else None

    def is_plane(self, link: TreeLink) -> bool:
        """Whether a joint is written as planar: none that has options or is coupled, which planar joints cannot be."""
        plain = not link.reverse and link.joint.name not in self.coupled
        return isinstance(link.type, Planar) and plain and not any(step.options for step in link.steps)

    def link_frame(self, link: TreeLink) -> Transform:
        """X_BL: the frame of the link in its body: where URDF needs it, with the body's axes if possible."""
        if isinstance(link.type, (Fixed, Prismatic)):
            return Transform()
        if self.is_plane(link) or isinstance(link.type, (Free, Spherical)):
            return link.X_BM
        return Transform(IDENTITY, link.X_BM.offset)

    def name(self, body: str) -> str:
        return self.world if body == GROUND else self.tree.bodies[body]

    # --- links ---

    def add_link(self, link: TreeLink) -> None:
        element = self.robot.add("link", name=self.name(link.name))
        if link.solid is not None:
            solid = link.solid.seen_from(self.X_BL[link.name])
            inertial = element.add("inertial")
            if any(solid.com):
                inertial.add("origin", xyz=digits(*solid.com))
            inertial.add("mass", value=digits(solid.mass))
            inertial.add("inertia", **{key: digits(J) for key, J in zip(MOMENTS, solid.J, strict=True)})
        if is_identity(self.X_BL[link.name]) is False:
            self.notes.change("frames of links moved to their joints", link.name)
        self.add_visuals(element, link.name)

    def add_visuals(self, element: Tag, body: str) -> None:
        X_LB = self.X_BL[body].inverse()
        for drawn in drawn_on(self.tree, body, self.notes):
            for part in _parts(drawn):
                visual = element.add("visual")
                place = xyz_rpy(X_LB @ part.X)
                if place:
                    visual.add("origin", **place)
                geometry = visual.add("geometry")
                if part.kind == "box":
                    geometry.add("box", size=digits(*part.sizes))
                elif part.kind == "sphere":
                    geometry.add("sphere", radius=digits(*part.sizes))
                elif part.kind == "cylinder":
                    geometry.add("cylinder", radius=digits(part.sizes[0]), length=digits(part.sizes[1]))
                else:
                    scale = digits(*part.sizes * 3) if part.sizes != (1.0,) else None
                    geometry.add("mesh", filename=address(part.file, self.folder), scale=scale)
                if part.color is not None:
                    material = visual.add("material", name=color_text(part.color))
                    material.add("color", rgba=digits(*part.color, 1))

    # --- joints ---

    def add_joints(self, link: TreeLink) -> None:
        X_LF = self.X_BL[link.parent].inverse() @ link.X_PF
        X_ML = link.X_BM.inverse() @ self.X_BL[link.name]
        type, name = link.type, self.tree.joints[link.joint.name]
        parent, child = self.name(link.parent), self.name(link.name)
        if isinstance(type, Fixed):
            self.add_joint(name, "fixed", parent, child, X_LF @ X_ML)
        elif isinstance(type, (Free, Spherical)):
            if isinstance(type, Spherical):
                self.add_ball(name)
            if link.reverse:
                self.notes.change("coordinates of joints from the second frame to the first are inverse", name)
            if type.damping is not None and any(type.damping):
                self.notes.lose("joint", name, f"has damping and is {type.kind}")
            self.add_joint(name, "floating", parent, child, X_LF)
        elif self.is_plane(link):
            normal: Vector = getattr(type, "normal")  # noqa: B009  # of a Planar joint
            self.add_joint(name, "planar", parent, child, X_LF).add("axis", xyz=digits(*normal))
        else:
            self.add_steps(link, parent, X_LF, X_ML)

    def add_ball(self, name: str) -> None:
        if not self.closures:
            message = "is a ball joint, which URDF does not have. Write SDF or MJCF"
            self.notes.forbid("joint", name, f'{message}, or give closures="FILE.yaml" (--closures) for Extended URDF.')
        self.balls.append(name)

    def add_steps(self, link: TreeLink, parent: str, X_LF: Transform, X_ML: Transform) -> None:
        """One joint for each step, with massless links between them, whose axes are those of the joint."""
        if len(link.steps) > 1:
            what = f"{link.type.kind} joints written as several, with massless links between them"
            self.notes.change(what, link.joint.name)
        for number, step in enumerate(link.steps):
            last = number == len(link.steps) - 1
            X = X_LF if number == 0 else Transform()
            if last:
                X, axis, carried = X @ X_ML, X_ML.rotation.T @ step.axis, self.name(link.name)
            else:
                axis, carried = step.axis, unused(f"{step.name}_carrier", self.taken)
                self.taken.add(carried)
                self.robot.add("link", name=carried)
            self.add_step(step, parent, carried, X, axis, self.efforts.get(link.joint.name))
            if step.pitch:
                other = next(s.name for s in link.steps if s.turns)
                self.written_joints[step.name].add("mimic", joint=other, multiplier=digits(step.pitch))
            else:
                self.of_coordinate[link.joint.coordinates[step.place]] = step.name
            parent = carried

    def add_step(self, step: Step, parent: str, child: str, X: Transform, axis: Vector, efforts: Efforts) -> None:
        """A joint for a step; `efforts` are those that make its stops what they are, None if they are others."""
        limits = step.options.get("limits")
        kind = "prismatic" if not step.turns else "continuous" if limits is None else "revolute"
        joint = self.add_joint(step.name, kind, parent, child, X)
        joint.add("axis", xyz=digits(*axis))
        if kind != "continuous":
            low, high = (-NO_LIMIT, NO_LIMIT) if limits is None else limits
            ends = {"lower": max(low, -NO_LIMIT), "upper": min(high, NO_LIMIT)} | UNKNOWN
            if efforts is not None:
                ends["effort"] = efforts[step.place]
            joint.add("limit", **{key: digits(end) for key, end in ends.items()})
        dynamics = {key: digits(step.options[key]) for key in ("damping", "friction") if key in step.options}
        if dynamics:
            joint.add("dynamics", **dynamics)
        for what, others in (("spring", "SDF or MJCF"), ("armature", "MJCF"), ("stops", "MJCF")):
            if what in step.options and step.options[what] != STOPS and (what != "stops" or efforts is None):
                said = {"spring": "has a spring", "armature": "has an armature", "stops": "has stops of its own"}[what]
                self.notes.lose("joint", step.name, said, f"Write {others}")

    def add_joint(self, name: str, kind: str, parent: str, child: str, X: Transform) -> Tag:
        joint = self.written_joints[name] = self.robot.add("joint", name=name, type=kind)
        place = xyz_rpy(X)
        if place:
            joint.add("origin", **place)
        joint.add("parent", link=parent)
        joint.add("child", link=child)
        return joint

    def add_mimic(self, couple: Coupled) -> None:
        """A joint that follows another; each may follow one."""
        names = [self.of_coordinate.get(reference) for reference in couple.terms]
        followers = set() if None in names or len(names) != 2 else {*names} - self.following()
        if not followers:
            what = "is not an equation of two joints, of which one follows no other yet"
            self.notes.lose(couple.kind, couple.name, what, "Write MJCF")
            return
        (first, second), (a, b) = names, couple.terms.values()
        limited = {name for name in names if self.written_joints[str(name)].attributes["type"] == "revolute"}
        if first not in followers or (first in limited and second in followers - limited):
            first, second, a, b = second, first, b, a
        said = {"joint": second, "multiplier": digits(-b / a)}
        if couple.value:
            said["offset"] = digits(couple.value / a)
        self.written_joints[str(first)].add("mimic", **said)

    def following(self) -> set[str | None]:
        return {n for n, joint in self.written_joints.items() if any(inner.tag == "mimic" for inner in joint.children)}

    # --- loops ---

    def close(self, closing: Closing) -> None:
        joint, type = closing.joint, closing.joint.type
        if isinstance(type, Free):
            return
        if not self.closures:
            self.notes.lose("joint", joint.name, "closes a loop", LOOPS)
            return
        if not isinstance(type, (Fixed, Spherical, Revolute)):
            others = "Open the loop at another joint: cut"
            self.notes.lose("joint", joint.name, f"closes a loop and is {type.kind}", others)
            return
        if not plain_options(type) and not isinstance(type, Fixed):
            self.notes.lose("joint", joint.name, "has springs, damping or limits and closes a loop")
        points = [Vector(0.0, 0.0, 0.0)]
        if isinstance(type, Revolute):
            self.notes.change("hinges that close loops are two balls on their axis", joint.name)
            points.append(type.axis * self.tree.system._numeric.size)
        for number, point in enumerate(points):
            at = Transform(IDENTITY, point)
            ends = [
                self.tip(body, X @ at, f"{joint.name}_{role}{'_2' * number}")
                for body, X, role in (
                    (joint.first.body, closing.X_AF, "first"),
                    (joint.second.body, closing.X_BM, "second"),
                )
            ]
            self.pairs.append((ends[0], ends[1], "6d" if isinstance(type, Fixed) else "3d"))

    def tip(self, body: str, X_BT: Transform, name: str) -> str:
        """A link whose frame is at a place of a body: its own, or a new one that is fixed to it."""
        X_LT = self.X_BL[body].inverse() @ X_BT
        if is_identity(X_LT) and body != GROUND:
            return self.name(body)
        name = unused(name, self.taken)
        self.taken.add(name)
        self.robot.add("link", name=name)
        self.add_joint(f"{name}_fixed", "fixed", self.name(body), name, X_LT)
        return name

    def yaml(self) -> str:
        """What Extended URDF says beside it."""

        def quoted(names: list[str]) -> str:
            return ", ".join("'" + name.replace("'", "''") + "'" for name in names)

        pairs = ",\n  ".join(f"[{quoted([first, second])}]" for first, second, _ in self.pairs)
        lines = [f"closed_loop: [{pairs}]", f"type: [{quoted([kind for *_, kind in self.pairs])}]"]
        if self.balls:
            kinds = quoted(["SPHERICAL"] * len(self.balls))
            lines += [f"joint_name: [{quoted(self.balls)}]", f"joint_type: [{kinds}]"]
        return "\n".join([*lines, ""])


def _parts(drawn: Drawn) -> list[Drawn]:
    if drawn.kind != "capsule":
        return [drawn]
    radius, length = drawn.sizes
    ends = [Transform(IDENTITY, Vector(0.0, 0.0, sign * length / 2)) for sign in (1, -1)]
    balls = [Drawn("sphere", (radius,), drawn.X @ end, drawn.color) for end in ends]
    return [drawn._replace(kind="cylinder"), *balls]
