"""SDF: robots of Gazebo as models; links become bodies, and loops arise where a link is in several joints.

| SDF                            | model                                                                            |
|--------------------------------|----------------------------------------------------------------------------------|
| world                          | the ground, with its gravity                                                     |
| static models                  | drawn on the ground                                                              |
| models without a joint to it   | float (a Free joint named root), or are fixed with floating=False                |
| links                          | bodies; without inertial 1 kg and 1 kg m2, as SDF has it                         |
| joints                         | sdf_joints.py                                                                    |
| visual                         | shapes that are drawn                                                            |

All coordinates are zero in the poses that the file gives. Read as they are: versions 1.4 to 1.12. Before 1.5, axes are
in the frame of the model; before 1.7, poses name frames by `frame`. What has no counterpart is listed in one warning.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from momentree.errors import ModelError
from momentree.files.mesh_addresses import MeshAddresses
from momentree.files.rigid_groups import Groups
from momentree.files.robot_parts import MOMENTS, Choices, RobotParts, frame_of, free_name, lift, unused
from momentree.files.robot_xml import Element, read_xml
from momentree.files.sdf_frames import Frames, Node, Scope, number, relative_to, said, scope_of, transform_of, truth
from momentree.files.sdf_joints import SdfJoints
from momentree.model import Model
from momentree.model.frames import GROUND, Frame
from momentree.model.joint_types import Fixed, Free
from momentree.model.shapes import Shape, box, capsule, cylinder, sphere
from momentree.spatial import Transform

OLDEST, NEWEST = (1, 4), (1, 12)
GRAVITY = (0.0, 0.0, -9.8)  # m/s2, of a world that says nothing else
COUPLING = ("gearbox_ratio", "gearbox_reference_body")
SCOPES = ("world", "model", "link", "joint")  # elements that are listed by themselves
FLATTEN = "flatten the file: gz sdf -p FILE > flat.sdf"
SHAPES = ("collision", "visual", "geometry", "material")  # whose inside is drawn, or left out with them
# what is read, or says nothing about motion, in each element
PLACED = ("pose", "frame")
WORLD = ("model", "joint", "gravity", "physics", "scene", "light", "gui", "atmosphere", "wind", "audio")
KNOWN: dict[str, tuple[str, ...]] = {
    "world": (*PLACED, *WORLD, "magnetic_field", "spherical_coordinates"),
    "model": (*PLACED, "model", "link", "joint", "static", "self_collide", "allow_auto_disable", "description"),
    "link": (*PLACED, "inertial", "collision", "visual", "gravity", "self_collide", "must_be_base_link", "light"),
    "inertial": (*PLACED, "mass", "inertia", "density"),
    "inertia": MOMENTS,
    "joint": (*PLACED, "parent", "child", "axis", "axis2", *COUPLING, "thread_pitch", "screw_thread_pitch"),
    "axis": ("xyz", "dynamics", "limit", "mimic", "use_parent_model_frame"),
    "dynamics": ("damping", "friction", "spring_stiffness", "spring_reference"),
    "limit": ("lower", "upper", "effort", "velocity", "stiffness", "dissipation"),
    "mimic": ("multiplier", "offset", "reference"),
}
KNOWN |= {"axis2": KNOWN["axis"], "sdf": ("world", *KNOWN["world"])}
WITHOUT_EFFECT = {  # elements that say nothing about motion where this is their text, as they often do
    "enable_wind": ("0", "false"),
    "kinematic": ("0", "false"),
    "initial_position": ("0", "0.0"),
}


def read_sdf(
    path: str | os.PathLike[str],
    packages: Sequence[str | os.PathLike[str]] = (),
    floating: bool = True,
    choices: Choices | None = None,
    sdf: Element | None = None,
    said: Sequence[str] = (),
) -> Model:
    """The model in an SDF file, or in what xacro made of one; `packages` are folders of model:// addresses."""
    sdf = read_xml(path, "sdf") if sdf is None else sdf
    reader = _Sdf(sdf, MeshAddresses(path, packages), floating, choices or Choices())
    for warning in said:
        reader.parts.notes.add("xacro says", warning)
    return reader.model()


class _Sdf:
    """Reads a file scope by scope."""

    def __init__(self, sdf: Element, addresses: MeshAddresses, floating: bool, choices: Choices):
        self.version, self.floating = _version(sdf), floating
        worlds = sdf.all("world")
        self.world = _world(worlds[0] if worlds else sdf)
        self.frames = Frames(self.world)
        models = [scope.element for scope in self.world.inner.values()]
        name = models[0].attributes["name"] if len(models) == 1 else self.world.element.attributes.get("name", "")
        self.parts = RobotParts(sdf, name or "robot", addresses, choices)
        for world in worlds[1:]:
            self.parts.notes.add("left out <world>, since only the first one is read", world.attributes.get("name", ""))
        if self.version > NEWEST:
            self.parts.notes.add(f"version {'.'.join(map(str, self.version))} is read as 1.12")
        self.bodies: dict[Node, str] = {}  # of links; "ground" of those that do not move

    def model(self) -> Model:
        model, world = self.parts.model, self.world.element
        gravity = world.first("gravity")
        physics = world.first("physics")
        if gravity is None and physics is not None and self.version < (1, 6):  # where it was until then
            gravity = physics.first("gravity")
        if world.tag == "world":
            model.gravity = GRAVITY
        if gravity is not None:
            model.gravity = gravity.numbers(3)
        links = [(scope, link) for scope in self.world.all() for link in scope.element.all("link")]
        if not links:
            raise self.parts.root.error(f"has no model with a <link>. If it includes others, {FLATTEN}.")
        names = {scope.prefix + link.attributes["name"] for scope, link in links}
        for scope, link in links:
            name = free_name(scope.prefix + link.attributes["name"], names, self.parts.notes)
            self.add_link(scope, link, GROUND if scope.static else name)
        joints = SdfJoints(self.parts, self.frames, self.bodies, self.version)
        joints.read()
        self.add_roots(joints.names)
        for scope in self.world.all():
            self.list_the_rest(scope)
        return self.parts.finished()

    def list_the_rest(self, scope: Scope) -> None:
        """Note what is not read of a model or the world, its links and joints."""
        for element in scope.element.children:
            if element.tag in ("link", "joint"):
                self.list_inside(scope.prefix + element.attributes["name"], element)
        self.list_inside("", scope.element)

    def list_inside(self, name: str, element: Element) -> None:
        """Note what is not read of an element, and of those inside it; `name` is that of the link or joint."""
        for child in element.children:
            effect = child.text.strip().lower() not in WITHOUT_EFFECT.get(child.tag, ())
            if child.tag == "include":
                uri = child.first("uri")
                self.parts.notes.add(f"left out <include> ({FLATTEN})", "" if uri is None else uri.text.strip())
            elif child.tag == "collision":
                self.parts.notes.add("collisions left out")
            elif child.tag not in KNOWN.get(element.tag, ()) and effect and not _is_zero(child):
                of = f" of <{element.tag}>" if name else ""
                self.parts.notes.add(f"left out <{child.tag}>{of}", child.attributes.get("name", "") or name)
            elif child.tag in KNOWN and child.tag not in SCOPES:
                self.list_inside(name, child)

    # --- links ---

    def add_link(self, scope: Scope, link: Element, name: str) -> None:
        node = (scope, link.attributes["name"])
        self.bodies[node] = name
        shapes = [shape for visual in link.all("visual") for shape in self.shape(node, visual)]
        if name == GROUND:
            for shape in shapes:
                self.parts.from_element("shape", link)
                self.parts.model.shape(GROUND, shape)
            return
        inertial = link.first("inertial")
        if inertial is None:
            self.parts.notes.add("without inertial, so 1 kg and 1 kg m2", name)
        elif inertial.attributes.get("auto", "").strip() in ("true", "1"):
            raise inertial.error('auto inertia is not computed here. Write mass and inertia, and remove auto="true".')
        pose = None if inertial is None else inertial.first("pose")
        X = Transform() if pose is None else transform_of(pose)
        inertia = None if inertial is None else inertial.first("inertia")
        moments = tuple(number(inertia, key, 1.0 if key[1] == key[2] else 0.0) for key in MOMENTS)
        mass = number(inertial, "mass", 1.0)
        if mass == 0 and inertia is None:
            self.parts.notes.add("mass 0, so without inertia", name)
            moments = (0.0,) * 6
        self.parts.body(link, name, mass, tuple(X.offset), X.rotation, moments, shapes)
        gravity = link.first("gravity")
        if mass and gravity is not None and not truth(link, "gravity"):
            lift(self.parts.model, name, tuple(X.offset), mass)

    def shape(self, node: Node, visual: Element) -> list[Shape]:
        """What a visual draws: nothing, where it or its mesh cannot be read, since motion does not depend on it."""
        try:
            return self.drawn(node, visual)
        except ModelError as error:
            self.parts.notes.add("not drawn", str(error))
            return []

    def drawn(self, node: Node, visual: Element) -> list[Shape]:
        geometry = visual.first("geometry")
        drawn = geometry.children[0] if geometry is not None and geometry.children else None
        if drawn is None or drawn.tag == "empty":
            return []
        pose = visual.first("pose")
        X = Transform() if pose is None else transform_of(pose)
        relative = relative_to(pose)
        if relative:
            there = self.frames.placement(self.frames.node(node[0], relative, visual))
            X = self.frames.placement(node).inverse() @ there @ X
        if self.bodies[node] == GROUND:
            X = self.frames.placement(node) @ X
        frame = frame_of(self.bodies[node], X)
        return self.parts.drawn(self.geometry(drawn), frame.position, frame.rotation, _color(visual))

    def geometry(self, drawn: Element) -> Shape | None:
        if drawn.tag == "box":
            return box(size=_numbers(drawn, "size", (1.0, 1.0, 1.0)))
        if drawn.tag == "sphere":
            return sphere(radius=number(drawn, "radius", 1.0))
        if drawn.tag in ("cylinder", "capsule"):
            made = cylinder if drawn.tag == "cylinder" else capsule
            return made(radius=number(drawn, "radius", 1.0), length=number(drawn, "length", 1.0), axis="z")
        if drawn.tag == "mesh":
            return self.parts.mesh(said(drawn, "uri"), _numbers(drawn, "scale", (1.0, 1.0, 1.0)))
        self.parts.notes.add(f"not drawn <{drawn.tag}>")
        return None

    # --- what carries the models ---

    def add_roots(self, taken: set[str]) -> None:
        """A Free or Fixed joint for each group of links that no joint connects with the ground."""
        groups = Groups()
        for joint in self.parts.model.joints:
            groups.join(joint.first.body, joint.second.body)
        for scope in self.world.all():
            if scope is not self.world and scope.outer is self.world and any(scope.element.all("link", "model")):
                self.add_root(self.frames.link(self.frames.canonical(scope)), groups, taken)
        for node in self.bodies:
            self.add_root(node, groups, taken)

    def add_root(self, node: Node, groups: Groups, taken: set[str]) -> None:
        body = self.bodies[node]
        if groups.of(body) == groups.of(GROUND):
            return
        groups.join(body, GROUND)
        name = unused("root", taken)
        taken.add(name)
        link = node[0].named[node[1]]
        carrier = Free() if self.floating else Fixed()
        self.parts.joint(link, name, carrier, frame_of(GROUND, self.frames.placement(node)), Frame(body))
        if self.floating:
            self.parts.notes.add("floats, since no joint holds it (floating=False fixes it)", body)


def _world(element: Element) -> Scope:
    """The world; the names of one model alone have no prefix."""
    models = element.all("model")
    for link in element.all("link"):
        raise link.error("is in no <model>. Put it into one.")
    world = Scope(element)
    for child in element.all("model", "frame", "joint"):
        name = child.get("name")
        if name in world.named:
            raise child.error(f"there is another element of this name in line {world.named[name].line}. Rename one.")
        world.named[name] = child
        if child.tag == "model":
            world.inner[name] = scope_of(child, "" if len(models) == 1 else f"{name}::", world)
    return world


def _is_zero(element: Element) -> bool:
    """Whether it has elements that all say 0, as <velocity_decay> mostly has."""
    return bool(element.children) and all(child.text.strip() in ("0", "0.0") for child in element.children)


def _version(sdf: Element) -> tuple[int, ...]:
    text = sdf.get("version").strip()
    try:
        version = tuple(int(part) for part in text.split("."))
    except ValueError:
        version = ()
    if len(version) != 2 or version < OLDEST:
        raise sdf.error(f"version is '{text[:20]}'; 1.4 or later is read. Convert the file: gz sdf -p FILE > new.sdf.")
    return version


def _numbers(element: Element, tag: str, default: tuple[float, ...]) -> tuple[float, ...]:
    child = element.first(tag)
    return default if child is None else child.numbers(len(default))


def _color(visual: Element) -> tuple[float, ...] | None:
    material = visual.first("material")
    for tag in ("diffuse", "ambient"):
        color = None if material is None else material.first(tag)
        if color is not None:
            return color.numbers(len(color.text.split()) if len(color.text.split()) in (3, 4) else 4)
    return None
