"""What robot files of all formats share: bodies, shapes that are drawn, options of joints, friction, names, starts."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from momentree.errors import suggestion
from momentree.files.counterparts import Notes
from momentree.files.massless_links import settle_massless
from momentree.files.mesh_addresses import MeshAddresses
from momentree.files.robot_stops import choose_stops
from momentree.files.robot_xml import Element
from momentree.model import Model
from momentree.model.elements import Joint
from momentree.model.expressions.expression import Reference
from momentree.model.frames import GROUND, Frame, Turn
from momentree.model.joint_type import JointType, beyond
from momentree.model.joint_types import Fixed, Revolute, Universal
from momentree.model.shapes import Shape, mesh
from momentree.model.start import inside_limits
from momentree.model.values import Mistake, Values
from momentree.spatial import Rotation, Transform
from momentree.spatial.inertia import turned_symmetric
from momentree.spatial.rotation import rotation_quaternion

FRICTION_VELOCITY = 0.01  # rad/s or m/s, at which friction reaches tanh 1 of its force, unless a user chooses another
NO_LIMIT = 1e10  # rad or m: a limit so far away is none
ROUND_OFF = 1e-15  # of rotations
NO_LIMITS = (-math.inf, math.inf)
MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
LETTERS = {
    (1.0, 0.0, 0.0): "x",
    (0.0, 1.0, 0.0): "y",
    (0.0, 0.0, 1.0): "z",
    (-1.0, 0.0, 0.0): "-x",
    (0.0, -1.0, 0.0): "-y",
    (0.0, 0.0, -1.0): "-z",
}


@dataclass(frozen=True)
class Choices:
    """What becomes of parts of published robots that cannot be used as they are.

    | field             | meaning                                                                                  |
    |-------------------|------------------------------------------------------------------------------------------|
    | massless          | "fix" or "light": links without mass whose motion nothing determines (massless_links.py) |
    | mimic             | "drop": couplings that name a joint that is not there, or has no single coordinate       |
    | idle              | "keep": hinges that would turn by themselves, being welded to others on the same axis    |
    | without           | joints that are left out                                                                 |
    | limits            | "drop": limits of joints                                                                 |
    | friction_velocity | rad/s or m/s, at which friction reaches tanh 1 of its force                              |
    """

    massless: str = "error"
    mimic: str = "error"
    idle: str = "fix"
    without: tuple[str, ...] = ()
    limits: str = "keep"
    friction_velocity: float = FRICTION_VELOCITY


class RobotParts:
    """Adds what a robot file says to a model, and remembers from which element each part came.

    | field  | meaning                                                                    |
    |--------|----------------------------------------------------------------------------|
    | model  | what has been read                                                         |
    | notes  | what was changed or left out                                               |
    | places | by kind, "body" or "joint": the elements of the file, in the model's order |
    """

    def __init__(self, root: Element, name: str, addresses: MeshAddresses, choices: Choices):
        self.root, self.addresses, self.choices = root, addresses, choices
        self.model = Model(name)
        self.notes = Notes(root.file)
        self.places: dict[str, list[Element]] = {}
        self.types: dict[str, JointType] = {}  # of joints, by name
        self.efforts: dict[str, tuple[float, ...]] = {}  # of their motors, N or N m, for each velocity

    def finished(self) -> Model:
        """The model, when all has been read; what could not be kept is said once."""
        self.leave_out(self.choices.without)
        if self.choices.limits == "drop":
            drop_limits(self.model, self.notes)
        self.keep("couple", settle_massless(self.model, self.choices.massless, self.notes))
        choose_stops(self.model, self.efforts, self.notes)
        guess = within_limits(self.model, {}, self.notes)
        if guess:
            self.model.start_at(guess=guess)
        self.notes.report(self.model)
        self.model.source = self.place_of
        return self.model

    def keep(self, kind: str, numbers: Sequence[int]) -> None:
        """Forget where other parts of a kind came from, which are no longer there."""
        if kind in self.places:
            self.places[kind] = [self.places[kind][number] for number in numbers]

    def leave_out(self, names: Sequence[str]) -> None:
        """Remove joints, with their forces and couplings."""
        model = self.model
        for name in names:
            if name not in self.types:
                raise self.root.error(f"there is no joint '{name}' to leave out.{suggestion(name, self.types)}")
            self.notes.add("joints left out, as asked (without=)", name)
        joints = [i for i, joint in enumerate(model.joints) if joint.name not in names]
        gone = {*names, *(f"{name}.angle{k}" for name in names for k in (1, 2))}
        couples = [i for i, couple in enumerate(model.couples) if not {couple.joint, couple.to} & gone]
        model.joints, model.couples = [model.joints[i] for i in joints], [model.couples[i] for i in couples]
        model.torques = [torque for torque in model.torques if torque.joint not in names]
        self.keep("joint", joints)
        self.keep("couple", couples)

    def place_of(self, path: tuple[str | int, ...]) -> str:
        """The file and line of what the model has at a path."""
        kind, number = (*path, "", "")[:2]
        known = self.places.get(str(kind), [])
        line = known[number].line if isinstance(number, int) and number < len(known) else self.root.line
        return f"{self.root.file}:{line}"

    def from_element(self, kind: str, element: Element) -> None:
        """Remember the element of the body, joint or coupling that is added next."""
        self.places.setdefault(kind, []).append(element)

    # --- bodies and shapes ---

    def body(
        self,
        element: Element,
        name: str,
        mass: float,
        com: tuple[float, ...],
        rotation: Rotation | None,
        moments: tuple[float, ...],
        shapes: list[Shape],
    ) -> None:
        """A body with these moments of inertia about its centre of mass, in axes turned by `rotation`."""
        self.from_element("body", element)
        if mass == 0 and not any(moments):
            self.model.body(name, shapes=shapes, massless=True)
            return
        if rotation is not None:
            moments = turned_symmetric(rotation, moments)
        self.model.body(name, shapes=shapes, mass=mass, com=com, inertia=moments)

    def drawn(self, shape: Shape | None, position: Any, rotation: Any, color: tuple[float, ...] | None) -> list[Shape]:
        """The shape at its place, as a list; an empty one if it cannot be drawn."""
        if shape is None:
            return []
        placed = replace(shape, position=position, rotation=rotation, color=None if color is None else rgb(color))
        try:
            placed.check(Values({}))
        except Mistake as mistake:
            self.notes.add("not drawn", f"{shape.kind}: {mistake}")
            return []
        return [placed]

    def mesh(self, address: str, scale: tuple[float, ...]) -> Shape | None:
        """A mesh, unless it cannot be found or drawn."""
        if not self.addresses.drawable(address):
            self.notes.add("meshes not drawn, in another format than STL, OBJ or PLY", address)
            return None
        path = self.addresses.find(address)
        if path is None:
            self.notes.add("meshes not found (name their folder: packages=)", address)
            return None
        if len({*scale}) > 1:
            self.notes.add("meshes not drawn, scaled differently along the axes", address)
            return None
        return mesh(path, scale=scale[0])

    # --- joints ---

    def joint(self, element: Element, name: str, type: JointType, first: Frame, second: Frame) -> Joint:
        """A joint that came from an element."""
        self.from_element("joint", element)
        self.types[name] = type
        return self.model.joint(name, type, first, second)

    def hold(self, name: str) -> None:
        """Make a joint Fixed, where it is at zero."""
        number = next(i for i, joint in enumerate(self.model.joints) if joint.name == name)
        self.types[name] = Fixed()
        self.model.joints[number] = replace(self.model.joints[number], type=Fixed())

    def mimic(self, mimic: Element, follower: str, leader: str, ratio: float, offset: float) -> None:
        """A joint that follows another; coordinates may be those of an axis, "name.angle1"."""
        following, leading = self.type_of(follower), self.type_of(leader)
        usable = all(type is not None and len(type.coordinates) <= 1 for type in (following, leading))
        if isinstance(following, Fixed):
            self.notes.add("mimic left out, of joints that are fixed", follower)
        elif not usable or follower == leader or "`" in follower + leader:
            self.refuse_mimic(mimic, follower, leader)
        elif isinstance(leading, Fixed) or ratio == 0:
            self.from_element("constraint", mimic)
            self.model.constrain(f"{Reference(follower)} = {offset!r}")
            self.notes.add("held, since they follow what does not move", follower)
            self.unlimit(follower)
        else:
            self.from_element("couple", mimic)
            self.model.couple(follower, leader, ratio=ratio, offset=offset)
            self.unlimit(follower)

    def unlimit(self, follower: str) -> None:
        """Leave out the limits of a coordinate that follows another: those of what it follows act."""
        name, _, angle = follower.rpartition(".angle") if follower not in self.types else (follower, "", "")
        number = next(i for i, joint in enumerate(self.model.joints) if joint.name == name)
        joint, limits = self.model.joints[number], self.types[name].limits
        if limits is None or (angle and limits[int(angle) - 1] == NO_LIMITS):
            return
        others = tuple(NO_LIMITS if str(k) == angle else pair for k, pair in enumerate(limits, 1)) if angle else ()
        left = others if any(pair != NO_LIMITS for pair in others) else None
        self.types[name] = replace(joint.type, limits=left)
        self.model.joints[number] = replace(joint, type=self.types[name])
        self.notes.add("limits left out, of joints that follow others", follower)

    def type_of(self, coordinate: str) -> JointType | None:
        """The type of the joint "name"; of one axis of a Universal joint, "name.angle1", a hinge."""
        crossed = self.types.get(coordinate.rpartition(".angle")[0])
        return Revolute() if isinstance(crossed, Universal) else self.types.get(coordinate)

    def refuse_mimic(self, mimic: Element, follower: str, leader: str) -> None:
        """An error, unless such couplings are to be left out."""
        if self.choices.mimic == "drop":
            self.notes.add('mimic left out, of a joint that cannot be followed (mimic="drop")', follower)
            return
        wrong = f"there is no joint '{leader}'.{suggestion(leader, self.types)}"
        if leader in self.types:
            wrong = f"'{follower}' cannot follow '{leader}': two joints with one coordinate each are expected."
        raise mimic.error(f'{wrong} Or leave out such couplings: mimic="drop".')

    def limits(self, name: str, lower: float, upper: float) -> tuple[float, float] | None:
        """Limits of a coordinate, or None where there are none."""
        if lower >= upper:
            self.notes.add("limits left out, since they leave no room", name)
            return None
        low, high = -math.inf if lower <= -NO_LIMIT else lower, math.inf if upper >= NO_LIMIT else upper
        return None if (low, high) == NO_LIMITS else (low, high)

    def damping(self, name: str, damping: float) -> float:
        """Damping of a coordinate; what drives instead of damping is left out."""
        if damping < 0:
            self.notes.add("damping left out, since it is negative", name)
        return max(damping, 0.0)

    def friction(self, joint: Joint, forces: tuple[float, ...]) -> None:
        """Dry friction along each velocity of a joint: -f tanh(v / friction_velocity)."""
        if any(forces) and "`" not in joint.name:
            along = zip(forces, _components(joint), strict=True)
            width = self.choices.friction_velocity
            laws = [friction_law(f, Reference(joint.name, component, True), width) for f, component in along]
            self.model.torque(joint.name, laws[0] if len(laws) == 1 else tuple(laws))


def drop_limits(model: Model, notes: Notes) -> None:
    """Leave out the limits of all joints, as asked."""
    for number, joint in enumerate(model.joints):
        if joint.type.limits is not None:
            model.joints[number] = replace(joint, type=replace(joint.type, limits=None, stops=None))
            notes.add('limits left out, as asked (limits="drop")', joint.name)


def within_limits(model: Model, drawn: Mapping[str, float], notes: Notes) -> dict[str, float]:
    """Where joints begin whose limits do not allow the place that the file draws: inside, near the nearer limit.

    Drawn are they at zero, or where `drawn` says. It is only a guess: loops may move it, which is why it is not at the
    limit itself.
    """
    guess = {}
    for joint in model.joints:
        if joint.type.limits is None or len(joint.type.velocities) > 1:
            continue
        (low, high), at = joint.type.limits, drawn.get(joint.name, 0.0)
        if any(excess > 0 for excess in beyond((low, high), at)):
            guess[joint.name] = at + inside_limits(low - at, high - at)
            notes.add(f"begin inside their limits, since {'0' if not at else 'qpos0'} is beyond them", joint.name)
    return guess


def lift(model: Model, body: str, com: Sequence[float], mass: float, share: float = 1.0) -> None:
    """A force at the center of mass that bears a share of the weight, so that gravity does not act, or less."""
    if any(model.gravity):
        model.force(Frame(body, tuple(com)), tuple(-share * mass * g for g in model.gravity))


def friction_law(force: float, velocity: Reference, width: float) -> str | int:
    return f"-{abs(force)!r}*tanh({velocity}/{width!r})" if force else 0


def _components(joint: Joint) -> tuple[str, ...]:
    names = joint.type.coordinates
    return ("",) if len(names) == 1 else names


def free_name(name: str, taken: Collection[str], notes: Notes) -> str:
    """The name of a body: that of the link, unless it is the ground's."""
    if name != GROUND:
        return name
    other = f"{name}_link"
    while other in taken:
        other += "_"
    notes.add(f"link renamed to '{other}'", name)
    return other


def unused(name: str, taken: Collection[str]) -> str:
    """A name that nothing has yet."""
    while name in taken:
        name += "_"
    return name


def rgb(color: tuple[float, ...]) -> tuple[int, int, int]:
    """A color as three bytes, from numbers between 0 and 1."""
    red, green, blue = (round(255 * min(max(x, 0.0), 1.0)) for x in color[:3])
    return red, green, blue


def axis_of(axis: tuple[float, ...]) -> Any:
    """ "x" or "-x" for an axis along one of the frame's, else its components."""
    x, y, z = axis
    return LETTERS.get((x, y, z), (x, y, z))


def turns(roll: float, pitch: float, yaw: float) -> Any:
    """Yaw about z, then pitch about y, then roll about x, each about axes already turned."""
    made = tuple(Turn(axis, angle) for axis, angle in (("z", yaw), ("y", pitch), ("x", roll)) if angle)
    return None if not made else made[0] if len(made) == 1 else made


def frame_of(body: str, X: Transform) -> Frame:
    """A frame of a body at a placement."""
    a, b, c = X.rotation.rows
    small = (a.y, a.z, b.x, b.z, c.x, c.y)
    turned = max(map(abs, small)) > ROUND_OFF or min(a.x, b.y, c.z) < 0
    return Frame(body, tuple(X.offset), tuple(rotation_quaternion(X.rotation)) if turned else None)
