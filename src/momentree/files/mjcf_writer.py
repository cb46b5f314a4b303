"""Models as MJCF, the format of MuJoCo: nested bodies with their joints, loops as equalities, the start as keyframe.

| model                                | MJCF                                                                         |
|--------------------------------------|------------------------------------------------------------------------------|
| the ground                           | worldbody                                                                    |
| a body                               | body, in its own frame; inertial by principal moments                        |
| Revolute, Prismatic, Spherical, Free | hinge, slide, ball, free; Fixed: a body without joint                        |
| Cylindrical, PinSlot, Universal,     | several hinges and slides of one body; a Screw's are coupled                 |
| Planar, Screw                        |                                                                              |
| massless bodies that carry one other | their joints are joints of that one                                          |
| spring, damping, armature, limits,   | stiffness and springref, damping, armature, range, solreflimit, frictionloss |
| stops, dry friction                  |                                                                              |
| joints that close loops              | weld; Spherical: weld without torques; Revolute: two of these                |
| couplings                            | equality of joints, or of a fixed tendon for three joints and more           |
| named frames, shapes                 | site, geom without contact                                                   |
| start                                | keyframe; where loops or couplings are open at zero, also qpos0: the poses   |
|                                      | of bodies are those of the start, and joints have its coordinates as ref     |
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

import numpy as np

from momentree.errors import AssemblyError
from momentree.files.pose_text import is_identity, pos_quat, turns
from momentree.files.posed_tree import PosedTree
from momentree.files.robot_drawings import Drawn, address, drawn_on
from momentree.files.robot_parts import NO_LIMIT
from momentree.files.robot_tree import Closing, Coupled, RobotTree, Solid, Step, TreeLink, plain_options, tree_of
from momentree.files.writing_notes import WritingNotes
from momentree.files.xml_text import Tag, digits
from momentree.model import Model
from momentree.model.expressions.expression import Reference
from momentree.model.frames import GROUND
from momentree.model.joint_type import STOPS
from momentree.model.joint_types import Fixed, Free, Revolute, Spherical
from momentree.spatial import IDENTITY, Rotation, Transform, Vector
from momentree.spatial.rotation import quaternion_product, quaternion_rotation, rotation_quaternion

WORLD = "world"
LEAST = 1e-14  # kg m2; MuJoCo refuses bodies that move with less than 1e-15
RAISED = 1e-9  # of the largest moment: what a moment that is nearly zero is raised to
SLACK = 1e-9  # of the largest moment: by which round-off may violate the triangle inequality
CLOSING = ((Revolute,), (Fixed, Spherical, Free))  # types of joints that close loops, the best ones last
MESHES = (".stl", ".obj")  # that MuJoCo reads
MOST_TRIANGLES = 200_000  # of an STL file that it reads


def mjcf_text(model: Model, path: str | os.PathLike[str], lossy: bool = False) -> str:
    """A model as the text of the MJCF file at a path."""
    notes = WritingNotes(model, path, "MJCF", lossy)
    writer = _Mjcf(tree_of(model, notes, _rule, CLOSING), notes, os.path.dirname(os.path.abspath(path)))
    text = writer.written()
    notes.report()
    return text


def _rule(name: str) -> str:
    return f"{WORLD}_body" if name.strip() == WORLD else name.strip()


class _Mjcf:
    """Writes a mechanism body by body."""

    def __init__(self, tree: RobotTree, notes: WritingNotes, folder: str):
        self.tree, self.notes, self.folder = tree, notes, folder
        self.root = Tag("mujoco", {"model": tree.model.name})
        self.root.add("compiler", angle="radian", inertiafromgeom="false")
        self.root.add("option", gravity=digits(*tree.gravity))
        self.root.add("default").add("geom", contype="0", conaffinity="0")
        self.asset, self.worldbody = Tag("asset"), Tag("worldbody")
        self.tendon, self.equality = Tag("tendon"), Tag("equality")
        self.meshes: dict[tuple[str, float], str] = {}
        self.X_BL = {GROUND: Transform()} | {link.name: _link_frame(link) for link in tree.links}
        self.by_name = {link.name: link for link in tree.links}
        self.posed = PosedTree(tree, coupled=True, strict=False)
        self.refs: dict[str, float] = {}  # of hinges and slides as they are written: qpos0
        self.element = {GROUND: self.worldbody}
        self.ends = {frame.body for c in tree.closings for frame in (c.joint.first, c.joint.second)}
        self.merged = {link.name for link in tree.links if self.merges(link)}
        self.of_coordinate: dict[Reference, str] = {}
        self.raised: set[str] = set()  # bodies whose smallest moments of inertia are raised
        self.changed_start = ""  # why the start cannot be written

    def written(self) -> str:
        tree = self.tree
        self.add_contents(GROUND)
        for link in tree.links:
            if link.name not in self.merged:
                self.add_body(link)
        for couple in tree.couples:
            self.add_couple(couple)
        for closing in tree.closings:
            self.close(closing)
        parts = [self.asset, self.worldbody, self.tendon, self.equality]
        self.root.children += [part for part in parts if part.children or part is self.worldbody]
        self.add_start()
        return self.root.document()

    # --- bodies ---

    def merges(self, link: TreeLink) -> bool:
        """Whether a body without mass only carries another one, which then has the joints of both."""
        carried = self.tree.children[link.name]
        if link.solid is not None or not link.steps or len(carried) != 1 or link.name in self.ends:
            return False
        return not isinstance(carried[0].type, (Free, Fixed))

    def chain(self, link: TreeLink) -> list[TreeLink]:
        """The bodies whose joints a body gets: merged ones, and itself."""
        links = [link]
        while links[0].parent in self.merged:
            links.insert(0, self.by_name[links[0].parent])
        return links

    def add_body(self, link: TreeLink) -> None:
        chain = self.chain(link)
        # second frames of all joints of the chain in the written frame
        X = [self.X_BL[link.name].inverse() @ link.X_BM]
        for after, before in zip(chain[:0:-1], chain[-2::-1], strict=True):
            X.insert(0, X[0] @ self.posed.moved(after).inverse() @ after.X_PF.inverse() @ before.X_BM)
        parent = chain[0].parent
        placed = self.X_BL[parent].inverse() @ chain[0].X_PF @ self.posed.moved(chain[0]) @ X[0].inverse()
        if isinstance(link.type, Free):
            parent, placed = GROUND, self.floating(link, placed)
        name = self.tree.bodies[link.name]
        body = self.element[link.name] = self.element[parent].add("body", name=name, **pos_quat(placed))
        self.add_inertial(body, link)
        for each, X_LM in zip(chain, X, strict=True):
            self.add_joints(body, each, X_LM)
        for each in chain[:-1]:
            self.notes.change("massless bodies merged with those that they carry", each.name)
            if any(named.frame.body == each.name for named in self.tree.model.frames):
                self.notes.change("named frames of merged bodies left out", each.name)
        self.add_contents(link.name)

    def floating(self, link: TreeLink, placed: Transform) -> Transform:
        """Where a free body is in the world; MuJoCo's coordinates are its place there."""
        if link.parent != GROUND:
            self.changed_start = f"joint '{link.joint.name}' is Free, but not from the ground"
            placed = self.posed.X_WB[link.parent] @ self.X_BL[link.parent] @ placed
        if link.parent != GROUND or not is_identity(link.X_PF) or link.reverse:
            self.notes.change("coordinates of Free joints are those in the world", link.joint.name)
        return placed

    def add_inertial(self, body: Tag, link: TreeLink) -> None:
        rigid = self.rigid(link)
        if link.type.velocities and not any(each.solid and each.solid.mass for each in rigid):
            message = "moves and has no mass, which MuJoCo refuses. Give it a mass and an inertia"
            self.notes.forbid("body", link.name, f"{message}, or weld it to a body that has them.")
        elif link.type.velocities and not any(each.solid and min(self.moments(each)) > LEAST for each in rigid):
            slender = next(each for each in rigid if each.solid)
            what = "has no inertia about some axis, which MuJoCo refuses"
            way_out = "Give its shape a radius or a thickness, or give it numbers"
            self.notes.problem("body", slender.name, what, way_out, "or let it get a little")
            self.notes.change("without inertia about some axis, given 1e-9 of the largest moment", slender.name)
            self.raised.add(slender.name)
        if link.solid is None:
            return
        solid = link.solid.seen_from(self.X_BL[link.name])
        moments, R = principal(solid)
        if link.name in self.raised:
            floor = max(RAISED * max(moments), 10 * LEAST)
            moments = tuple(max(moment, floor) for moment in moments)
        moments = self.possible(link, tuple(max(moment, 0.0) for moment in moments))
        place = pos_quat(Transform(R, solid.com))
        body.add("inertial", **({"pos": "0 0 0"} | place), mass=digits(solid.mass), diaginertia=digits(*moments))

    def rigid(self, link: TreeLink) -> list[TreeLink]:
        """A body and those that are fixed to it: MuJoCo wants one of them to have mass and inertia."""
        found = [link]
        for each in found:  # grows as it is read
            found += [child for child in self.tree.children[each.name] if isinstance(child.type, Fixed)]
        return found

    def moments(self, link: TreeLink) -> tuple[float, ...]:
        return (0.0,) if link.solid is None or not link.solid.mass else principal(link.solid)[0]

    def possible(self, link: TreeLink, moments: tuple[float, ...]) -> tuple[float, ...]:
        """Principal moments that MuJoCo accepts: none is larger than the sum of the two others, not by round-off."""
        a, b, c = sorted(moments)
        if a + b >= c:
            return moments
        if a + b < c * (1 - SLACK):
            what = "has a physically impossible inertia, which MuJoCo refuses"
            self.notes.problem("body", link.name, what, "Correct it", "or let it be changed")
            self.notes.change("impossible inertias changed: the largest moment is the sum of the others", link.name)
        return tuple(min(moment, a + b) for moment in moments)

    # --- joints ---

    def add_joints(self, body: Tag, link: TreeLink, X_LM: Transform) -> None:
        type, name = link.type, self.tree.joints[link.joint.name]
        if isinstance(type, (Free, Spherical)):
            if link.reverse:
                self.changed_start = f"joint '{link.joint.name}' runs from its second frame to its first in the tree"
                self.notes.change("coordinates of joints from the second frame to the first are inverse", name)
            kind = "free" if isinstance(type, Free) else "ball"
            if kind == "ball" and self.posed.q[link.joint.name] != tuple(type.reference()):
                what = "coordinates of balls count from the start, since loops are open where they are zero"
                self.notes.change(what, link.joint.name)
            at = digits(*X_LM.offset) if kind == "ball" and any(X_LM.offset) else None
            body.add("joint", name=name, type=kind, pos=at, damping=self.equal_damping(link))
            return
        if len(link.steps) > 1:
            self.notes.change(f"{type.kind} joints written as several", link.joint.name)
        frames = {}
        for step in reversed(link.steps):
            frames[step.name] = X_LM
            self.refs[step.name], moved = self.posed.step(link, step)
            X_LM = X_LM @ moved.inverse()
        for step in link.steps:
            self.add_step(body, link, step, frames[step.name])
        if any(step.pitch for step in link.steps):
            turn, slide = sorted(link.steps, key=lambda step: bool(step.pitch))
            self.couple(f"{name}_thread", slide.name, turn.name, 0.0, slide.pitch)

    def equal_damping(self, link: TreeLink) -> str | None:
        damping = link.type.damping
        if damping is None or not any(damping):
            return None
        if len({*damping}) > 1:
            self.notes.lose("joint", link.joint.name, f"has different damping along its {len(damping)} velocities")
            return None
        return digits(damping[0])

    def add_step(self, body: Tag, link: TreeLink, step: Step, X_LM: Transform) -> None:
        axis, options = X_LM.rotation @ step.axis, step.options
        said = {"name": step.name, "type": "hinge" if step.turns else "slide"}
        if any(X_LM.offset) and step.turns:
            said["pos"] = digits(*X_LM.offset)
        said["axis"] = digits(*axis)
        if self.refs[step.name]:
            said["ref"] = digits(self.refs[step.name])
        keys = {"spring": "stiffness", "rest": "springref", "friction": "frictionloss"}
        for what in ("spring", "rest", "damping", "armature", "friction"):
            if what in options:
                said[keys.get(what, what)] = digits(options[what])
        if "limits" in options:
            low, high = options["limits"]
            said["range"] = digits(max(low, -NO_LIMIT), min(high, NO_LIMIT))
            if options.get("stops", STOPS) != STOPS:
                weight = self.inverse_weight(link, step)
                said["solreflimit"] = digits(*(-number * weight for number in options["stops"]))
        body.add("joint", **said)
        if not step.pitch:
            self.of_coordinate[link.joint.coordinates[step.place]] = step.name

    def inverse_weight(self, link: TreeLink, step: Step) -> float:
        """How much a coordinate accelerates under a unit force at qpos0, as MuJoCo has it."""
        if not hasattr(self, "_weights"):
            system = self.tree.system
            q = [x for body in system._numeric.bodies if not body.laws for x in self.posed.q[body.joint.name]]
            self._weights = np.linalg.inv(system.mass_matrix(np.array(q))).diagonal()
        place = next(body for body in self.tree.system._numeric.bodies if body.name == link.name).v
        return float(self._weights[place.start + step.place])

    # --- constraints ---

    def add_couple(self, couple: Coupled) -> None:
        names = [self.of_coordinate.get(reference) for reference in couple.terms]
        if None in names:
            self.notes.lose(couple.kind, couple.name, "names a coordinate of a joint that is one of several in MJCF")
            return
        first, *others = couple.terms.values()
        if len(others) < 2:
            follower, *leader = [str(name) for name in names]
            ratio = -others[0] / first if others else 0.0
            self.couple(couple.name, follower, leader[0] if leader else None, couple.value / first, ratio)
            return
        fixed = self.tendon.add("fixed", name=couple.name)
        for name, factor in zip(names, couple.terms.values(), strict=True):
            fixed.add("joint", joint=name, coef=digits(factor))
        drawn = sum(factor * self.refs[str(n)] for n, factor in zip(names, couple.terms.values(), strict=True))
        left = couple.value - drawn
        self.equality.add("tendon", name=couple.name, tendon1=couple.name, polycoef=digits(left, 0, 0, 0, 0))

    def couple(self, name: str, follower: str, leader: str | None, offset: float, ratio: float) -> None:
        """follower = offset + ratio leader, which MuJoCo has for both without their qpos0."""
        offset += ratio * self.refs.get(leader or "", 0.0) - self.refs[follower]
        self.equality.add("joint", name=name, joint1=follower, joint2=leader, polycoef=digits(offset, ratio, 0, 0, 0))

    def close(self, closing: Closing) -> None:
        """A weld, explicit about both frames; a ball is a weld without torques, a hinge two balls on its axis."""
        joint, type, name = closing.joint, closing.joint.type, self.tree.joints[closing.joint.name]
        if isinstance(type, Free):
            return
        if not isinstance(type, (Fixed, Spherical, Revolute)):
            self.notes.lose("joint", joint.name, f"closes a loop and is {type.kind}", "Open the loop elsewhere: cut")
            return
        if not plain_options(type):
            self.notes.lose("joint", joint.name, "has springs, damping or limits and closes a loop")
        points = [Vector(0.0, 0.0, 0.0)]
        if isinstance(type, Revolute):
            self.notes.change("hinges that close loops are two balls on their axis", joint.name)
            points.append(type.axis * self.tree.system._numeric.size)
        bodies = [joint.first.body, joint.second.body]
        X_AF, X_BM = (self.X_BL[b].inverse() @ X for b, X in zip(bodies, closing[1:], strict=True))
        x, y, z, w = rotation_quaternion(X_AF.rotation @ X_BM.rotation.T)
        for number, point in enumerate(points):
            said: dict[str, Any] = {"name": name + "_2" * number}
            said |= {"body1": self.written_name(bodies[0]), "body2": self.written_name(bodies[1])}
            said["anchor"] = digits(*X_BM.point(point))
            said["relpose"] = digits(*X_AF.point(point), w, x, y, z)
            if not isinstance(type, Fixed):
                said["torquescale"] = "0"
            self.equality.add("weld", **said)

    def written_name(self, body: str) -> str:
        return WORLD if body == GROUND else self.tree.bodies[body]

    # --- frames, shapes, start ---

    def add_contents(self, body: str) -> None:
        """Geoms and sites."""
        X_LB, element = self.X_BL[body].inverse(), self.element[body]
        for drawn in drawn_on(self.tree, body, self.notes):
            self.add_geom(element, drawn, X_LB @ drawn.X)
        for named in self.tree.model.frames:
            if named.frame.body == body:
                element.add("site", name=named.name.strip(), **pos_quat(X_LB @ self.tree.placed(named.frame)))

    def add_geom(self, element: Tag, drawn: Drawn, X: Transform) -> None:
        rgba = None if drawn.color is None else digits(*drawn.color, 1)
        if drawn.kind != "mesh":
            half = {"box": (0.5, 0.5, 0.5), "sphere": (1.0,)}.get(drawn.kind, (1.0, 0.5))
            size = digits(*(part * each for part, each in zip(half, drawn.sizes, strict=True)))
            element.add("geom", type=drawn.kind, size=size, **pos_quat(X), rgba=rgba)
        elif unread := _unread(drawn.file):
            self.notes.change(f"meshes not drawn, which MuJoCo does not read: {unread}", os.path.basename(drawn.file))
        else:
            key = (drawn.file, drawn.sizes[0])
            if key not in self.meshes:
                self.meshes[key] = f"mesh_{len(self.meshes)}"
                scale = digits(*drawn.sizes * 3) if drawn.sizes != (1.0,) else None
                file = address(drawn.file, self.folder)
                self.asset.add("mesh", name=self.meshes[key], file=file, scale=scale, inertia="shell")
            element.add("geom", type="mesh", mesh=self.meshes[key], **pos_quat(X), rgba=rgba)

    def add_start(self) -> None:
        """The start of the model, with its loops closed, in the order of MuJoCo's coordinates."""
        state, reason = self.posed.start, "its loops cannot be closed" if self.posed.open else ""
        if state is None and self.tree.model.start is None and not reason:
            return
        if state is None and not reason:
            reason = self.changed_start
            try:
                state = self.tree.system.start()
            except AssemblyError:
                reason = "its loops cannot be closed"
        if state is None or reason:
            self.notes.change(f"left out, since {reason}", "start")
            return
        q: dict[str, list[float]] = {}
        v: dict[str, list[float]] = {}
        coordinates = self.tree.coordinates(state)
        for body in self.tree.system._numeric.bodies:
            link, speeds = self.by_name[body.name], [float(x) for x in state.v[body.v]]
            self.add_state(link, coordinates[body.joint.name], speeds or [0.0] * len(link.type.velocities), q, v)
        names = [joint.attributes["name"] for joint in self.worldbody.inside("joint")]
        key = self.root.add("keyframe").add("key", name="start")
        key.attributes["qpos"] = digits(*(x for name in names for x in q[name]))
        moving = any(x for name in names for x in v[name])
        if moving and self.changed_start:
            self.notes.change(f"velocities left out, since {self.changed_start}", "start")
        elif moving:
            key.attributes["qvel"] = digits(*(x for name in names for x in v[name]))

    def add_state(self, link: TreeLink, q: tuple[float, ...], v: list[float], all_q: Any, all_v: Any) -> None:
        """Coordinates and velocities of a joint as MuJoCo has them, w first, velocities of free bodies in the world."""
        name = self.tree.joints[link.joint.name]
        if isinstance(link.type, (Free, Spherical)) and self.posed.start is not None:  # in the poses of the file
            X = self.posed.X_WB[link.name] @ self.X_BL[link.name]
            x, y, z, w = rotation_quaternion(X.rotation) if isinstance(link.type, Free) else (0.0, 0.0, 0.0, 1.0)
            all_q[name] = [*(X.offset if isinstance(link.type, Free) else ()), w, x, y, z]
            all_v[name] = [*(X.rotation @ Vector(*v[:3])), *v[3:]] if isinstance(link.type, Free) else v
        elif isinstance(link.type, Free):
            turned = quaternion_product(rotation_quaternion(link.X_PF.rotation), tuple(q[3:]))
            x, y, z, w = turned
            all_q[name] = [*link.X_PF.point(Vector(*q[:3])), w, x, y, z]
            all_v[name] = [*(quaternion_rotation(turned) @ Vector(*v[:3])), *v[3:]]
        elif isinstance(link.type, Spherical):
            all_q[name], all_v[name] = [q[3], *q[:3]], v
        for step in link.steps:
            factor = step.pitch or 1.0
            all_q[step.name], all_v[step.name] = [factor * q[step.place]], [factor * v[step.place]]


def _link_frame(link: TreeLink) -> Transform:
    """X_BL: the body's own frame, but for balls the axes of the joint, and for free bodies the frame of the joint."""
    if isinstance(link.type, Free):
        return link.X_BM
    return Transform(link.X_BM.rotation) if isinstance(link.type, Spherical) and turns(link.X_BM) else Transform()


def principal(solid: Solid) -> tuple[tuple[float, ...], Rotation]:
    """Principal moments of inertia, and the rotation from principal axes to those of the body."""
    xx, yy, zz, xy, xz, yz = (float(entry) for entry in solid.J)
    if xy == xz == yz == 0:
        return (xx, yy, zz), IDENTITY
    moments, axes = np.linalg.eigh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if np.linalg.det(axes) < 0:
        axes = -axes
    return tuple(map(float, moments)), Rotation(*(Vector(*map(float, row)) for row in axes))


def _unread(file: str) -> str:
    """Why MuJoCo does not read a mesh; "" where it does. A binary STL file has 84 bytes, and 50 for each triangle."""
    ending = os.path.splitext(file)[1].lower()
    if ending not in MESHES:
        return f"files {ending}"
    if ending == ".stl":
        with contextlib.suppress(OSError), open(file, "rb") as content:
            count = int.from_bytes(content.read(84)[80:], "little")
            if os.path.getsize(file) != 84 + 50 * count:
                return "STL as text"
            if count > MOST_TRIANGLES:
                return f"STL of more than {MOST_TRIANGLES:,} triangles"
    return ""
