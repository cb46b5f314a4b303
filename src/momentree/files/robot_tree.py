"""A model as robot formats see it: a tree of links in numbers, its joints taken apart into turns and slides.

The tree is the one that the library computes with; joints that close its loops are apart. A joint of several freedoms
is a sequence of steps, each along or about one axis, with a massless carrier between them:

| joint type   | steps, from the first frame to the second         |
|--------------|---------------------------------------------------|
| Revolute     | turn                                              |
| Prismatic    | slide                                             |
| Screw        | turn; slide, which follows it                     |
| Cylindrical  | slide, turn                                       |
| PinSlot      | slide along the slot, turn about the pin          |
| Universal    | turn about the first axis, turn about the second  |
| Planar       | slide, slide, turn                                |

Where the tree runs through a joint from its second frame, the steps are in reverse order about the opposite axes: the
coordinates stay the same.
"""

from __future__ import annotations

import dataclasses
import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from momentree.errors import ModelError
from momentree.files.robot_parts import FRICTION_VELOCITY, unused
from momentree.files.writing_notes import WritingNotes
from momentree.model import Model
from momentree.model.bodies import Body, _symmetric
from momentree.model.constraint_elements import CONSTRAINT_ELEMENTS
from momentree.model.couplings import coordinate_of
from momentree.model.elements import Joint
from momentree.model.expressions.expression import Reference
from momentree.model.frames import GROUND, Frame
from momentree.model.joint_type import JointType
from momentree.model.joint_types import Cylindrical, PinSlot, Planar, Prismatic, Revolute, Screw, Universal
from momentree.model.pair_elements import PAIRS
from momentree.model.shapes import Shape
from momentree.model.values import TIME, Values
from momentree.spatial import RigidInertia, Transform, Vector
from momentree.spatial.inertia import Symmetric, turned_symmetric
from momentree.spatial.vector import normals

if TYPE_CHECKING:
    from momentree.system import System

Closers = tuple[tuple[type[JointType], ...], ...]  # types of joints that close loops, the best group last
FRICTION = re.compile(r"-([^*]*)\*tanh\((.*)/([^/]*)\)")


class Solid(NamedTuple):
    """The mass of a body, its center, and the inertia about it (xx, yy, zz, xy, xz, yz), in some frame of the body."""

    mass: float
    com: Vector
    J: Symmetric

    def seen_from(self, X_BL: Transform) -> Solid:
        """The same in the frame L."""
        R = X_BL.rotation.T
        return Solid(self.mass, R @ (self.com - X_BL.offset), turned_symmetric(R, self.J))


class Step(NamedTuple):
    """One coordinate of a joint.

    | field   | meaning                                                                       |
    |---------|-------------------------------------------------------------------------------|
    | turns   | about the axis; else it slides along it                                       |
    | axis    | in the frames of the joint                                                    |
    | place   | of the coordinate in the joint                                                |
    | name    | that of the joint or, if it has several, with that of the coordinate          |
    | pitch   | of the slide of a screw: m per rad of its turn; else 0                        |
    | options | spring, damping, armature, rest, limits, stops, friction: where there are any |
    """

    turns: bool
    axis: Vector
    place: int
    name: str
    pitch: float
    options: dict[str, Any]


@dataclass(frozen=True)
class TreeLink:
    """A body of the tree and the joint that carries it.

    | field   | meaning                                                                     |
    |---------|-----------------------------------------------------------------------------|
    | parent  | the body that carries it, or "ground"                                       |
    | joint   | in numbers                                                                  |
    | reverse | the tree runs through the joint from its second frame                       |
    | X_PF    | placement of the joint's frame in the parent                                |
    | X_BM    | placement of the joint's frame in the body                                  |
    | steps   | of the joint, in the order of the tree; none of Fixed, Spherical and Free   |
    | solid   | in the body's own frame; None if it has no mass                             |
    """

    name: str
    body: Body
    parent: str
    joint: Joint
    reverse: bool
    X_PF: Transform
    X_BM: Transform
    steps: tuple[Step, ...]
    solid: Solid | None

    @property
    def type(self) -> JointType:
        return self.joint.type


class Closing(NamedTuple):
    """A joint that closes a loop, and the placements of its frames in the bodies."""

    joint: Joint
    X_AF: Transform
    X_BM: Transform


class Coupled(NamedTuple):
    """A linear equation of coordinates: the sum of `terms` (coefficients by coordinate) is `value`."""

    name: str
    kind: str
    terms: dict[Reference, float]
    value: float


@dataclass(frozen=True)
class RobotTree:
    """What writers need of a model.

    | field    | meaning                                                       |
    |----------|---------------------------------------------------------------|
    | bodies   | names of bodies -> as they are written                        |
    | joints   | names of joints -> as they are written                        |
    | links    | parents before children                                       |
    | closings | joints that close loops                                       |
    | couples  | linear equations of coordinates                               |
    """

    model: Model
    values: Values
    system: System
    bodies: dict[str, str]
    joints: dict[str, str]
    links: tuple[TreeLink, ...]
    closings: tuple[Closing, ...]
    couples: tuple[Coupled, ...]

    @cached_property
    def children(self) -> dict[str, list[TreeLink]]:
        """The bodies that each body and the ground carries."""
        found: dict[str, list[TreeLink]] = {name: [] for name in (GROUND, *self.bodies)}
        for link in self.links:
            found[link.parent].append(link)
        return found

    @cached_property
    def shapes(self) -> dict[str, tuple[Shape, ...]]:
        """The shapes of each body."""
        return {link.name: link.body.shapes for link in self.links}

    def placed(self, frame: Frame) -> Transform:
        """The placement of a frame in its body."""
        return frame.placement(self.values)

    def coordinates(self, state: Any) -> dict[str, tuple[float, ...]]:
        """The coordinates of the joints of the tree at a state; those of prescribed joints too."""
        found = {}
        for body in self.system._numeric.bodies:
            if body.laws is None:
                found[body.joint.name] = tuple(float(x) for x in state.q[body.q])
            else:
                laws = [[float(law.evaluate({TIME: state.t})) for law in each] for each in body.laws]
                found[body.joint.name] = tuple(float(x) for x in body.joint.type.prescribed(*laws).q)
        return found

    @property
    def gravity(self) -> tuple[float, ...]:
        return tuple(float(g) for g in self.values.vector(self.model.gravity, "gravity"))


def tree_of(
    model: Model,
    notes: WritingNotes,
    rule: Callable[[str], str] = str.strip,
    closing_types: Closers = (),
) -> RobotTree:
    """The tree of a model that can be built; what no robot format can express is noted.

    The rule says how the format changes a name that it cannot have; `closing_types` are those of the joints that it can
    close loops with, the best last.
    """
    plain = model.copied()
    plain.splits, plain.releases, plain.switches = [], [], []  # without bodies and joints that these add
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of impossible inertias, which the model allows
        system = _opened_at(closing_types, plain)
    values = Values(dict(model.parameters), frames=[frame.name for frame in model.frames])
    _lose_elements(model, notes)
    friction = _friction(model, notes)
    in_tree = [body.joint for body in system._numeric.bodies]
    closing = [loop.joint for loop in system._numeric.loops if loop.joint is not None]
    names = _written("body", [body.name for body in model.bodies], rule, notes)
    joints = _written("joint", [joint.name for joint in (*in_tree, *closing)], rule, notes)
    taken = {*joints.values()}
    bodies = {body.name: body for body in model.bodies}
    links = []
    for tree_body in system._numeric.bodies:
        steps = steps_of(tree_body.joint, joints[tree_body.joint.name], friction, taken)
        links.append(_link(tree_body, bodies[tree_body.name], steps, values))
    closings = [Closing(joint, joint.first.placement(values), joint.second.placement(values)) for joint in closing]
    for joint in (*in_tree, *closing):
        if joint.type.motion is not None:
            notes.lose("joint", joint.name, "has a prescribed motion")
    for output in model.outputs:
        notes.change("outputs left out", output.name)
    for name, _ in model.parameters:
        notes.change("parameters written as their values", name)
    couples = _couples(model, system, notes)
    return RobotTree(model, values, system, names, joints, tuple(links), tuple(closings), couples)


def note_impossible(tree: RobotTree, notes: WritingNotes) -> None:
    """Inertias that no body has are written as they are, where the model allows them."""
    for body in tree.model.bodies:
        if body.impossible(tree.values) is not None:
            notes.change('impossible inertias kept (load with inertia_check="warn")', body.name)


def _opened_at(types: Closers, plain: Model) -> System:
    """The system whose loops are closed by joints of these types as far as possible, the last ones best.

    Joints that constraints name stay in the tree. Nothing changes where the user says where loops are opened.
    """

    def rank(joint: Joint) -> int:
        return next((i for i, group in enumerate(types, 1) if isinstance(joint.type, group)), 0)

    def cost(system: System) -> list[int]:
        """How many joints of each rank, the worst first, close loops."""
        ranks = [rank(loop.joint) for loop in system._numeric.loops if loop.joint is not None]
        return [ranks.count(worst) for worst in range(len(types))]

    system = plain.build()
    if not any(cost(system)) or plain.cuts:
        return system
    named = {r.name for constraint in system._numeric.constraints for r in constraint.expression.references()}
    # a spanning tree by Kruskal's algorithm, of the joints that cannot close loops as far as possible
    group = {name: name for name in (GROUND, *(body.name for body in plain.bodies))}

    def find(name: str) -> str:
        while group[name] != name:
            group[name] = name = group[group[name]]
        return name

    opened = plain.copied()
    for joint in sorted(plain.joints, key=lambda joint: (joint.name not in named, rank(joint))):
        one, other = find(joint.first.body), find(joint.second.body)
        if one == other:
            opened.cuts.append(joint.name)
        group[one] = other
    try:
        found = opened.build()
    except ModelError:
        return system
    return found if cost(found) < cost(system) else system


def _written(kind: str, names: list[str], rule: Callable[[str], str], notes: WritingNotes) -> dict[str, str]:
    """Names as the format can have them, all different."""
    written: dict[str, str] = {}
    kept = {name for name in names if rule(name) == name}
    for name in names:
        changed = name if name in kept else unused(rule(name) or kind, kept)
        if changed != name:
            notes.change("renamed", f"{name} to {changed}")
        kept.add(changed)
        written[name] = changed
    return written


def _link(tree_body: Any, body: Body, steps: tuple[Step, ...], values: Values) -> TreeLink:
    joint: Joint = tree_body.joint
    near, far = (joint.second, joint.first) if tree_body.reverse else (joint.first, joint.second)
    if tree_body.reverse:
        steps = tuple(step._replace(axis=-step.axis) for step in reversed(steps))
    X_PF, X_BM = near.placement(values), far.placement(values)
    return TreeLink(body.name, body, near.body, joint, tree_body.reverse, X_PF, X_BM, steps, solid_of(body, values))


def solid_of(body: Body, values: Values) -> Solid | None:
    """Mass, center and inertia about the center; without the detour over the origin where the model has it so."""
    if body.massless:
        return None
    if not body.solids and (body.about == "com" or body.inertia is None):
        mass = float(values.scalar(body.mass, "mass"))
        com = Vector(0.0, 0.0, 0.0) if body.com is None else values.vector(body.com, "com")
        J = (0.0,) * 6 if body.inertia is None else _symmetric(body.inertia, values)
        return Solid(mass, com, J)
    parts = [shape.inertia(values) for shape in body.solids] or [body._from_numbers(values)]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole + part
    com = whole.h / whole.mass
    centered: list[RigidInertia] = [part.shifted(-com) for part in parts]
    return Solid(
        float(whole.mass), com, tuple(sum(entries) for entries in zip(*(part.J for part in centered), strict=True))
    )


# --- joints ---------------------------------------------------------------------------------------------------------


def steps_of(joint: Joint, name: str, friction: dict[Reference, float], taken: set[str]) -> tuple[Step, ...]:
    """The steps of a joint in numbers, from its first frame to its second, by names that nothing has yet."""
    type = joint.type
    if isinstance(type, Screw):
        turn = _step(joint, True, type.axis, 0, name, friction)
        return turn, Step(False, type.axis, 0, _new(f"{name}_slide", taken), float(type.advance), {})
    axes: list[tuple[bool, Vector, int]] = []
    if isinstance(type, (Revolute, Prismatic)):
        axes = [(isinstance(type, Revolute), type.axis, 0)]
    elif isinstance(type, Cylindrical):
        axes = [(False, type.axis, 0), (True, type.axis, 1)]
    elif isinstance(type, PinSlot):
        axes = [(False, type.slot, 0), (True, type.pin, 1)]
    elif isinstance(type, Universal):
        axes = [(True, type.first, 0), (True, type.second, 1)]
    elif isinstance(type, Planar):
        n1, n2 = normals(type.normal)
        axes = [(False, n1, 0), (False, n2, 1), (True, type.normal, 2)]
    names = [name]
    if len(axes) > 1:
        names = [_new(f"{name}_{coordinate}", taken) for coordinate in type.coordinates]
    return tuple(_step(joint, turns, axis, index, names[index], friction) for turns, axis, index in axes)


def _new(name: str, taken: set[str]) -> str:
    found = unused(name, taken)
    taken.add(found)
    return found


def _step(joint: Joint, turns: bool, axis: Vector, index: int, name: str, friction: dict[Reference, float]) -> Step:
    options = {}
    for what in ("spring", "damping", "armature", "rest", "limits", "stops"):
        given = getattr(joint.type, what)
        if given is not None and (what == "limits" or given[index]):
            options[what] = given[index]
    if options.get("limits") == (-math.inf, math.inf):
        del options["limits"]
    if "spring" not in options:
        options.pop("rest", None)
    force = friction.get(joint.velocities[index])
    if force:
        options["friction"] = force
    return Step(turns, axis, index, name, 0.0, options)


def plain_options(type: JointType) -> bool:
    """Whether a joint has neither springs nor damping, armature or limits."""
    given = (type.spring, type.damping, type.armature, type.limits)
    return all(option is None or not any(option) for option in given)


# --- forces and constraints -----------------------------------------------------------------------------------------

# what no robot format has: collections of a model, what is said of each, and by which field it is known
ELEMENTS = {
    "forces": ("a force on body", "frame"),
    "springs": ("a spring from body", "first"),
    "contacts": ("a contact of body", "frame"),
    "latches": ("a latch of joint", "joint"),
    "releases": ("a release of joint", "joint"),
    "switches": ("a switch of", "name"),
}
# lists of a model that have a place in a robot file, or are looked through elsewhere; all that is in others is lost
TAKEN = {"parameters", "tables", "inputs", "outputs", "bodies", "joints", "torques", "frames", "shapes", "cuts"}
TAKEN |= {"splits"} | {kind.collection for kind in CONSTRAINT_ELEMENTS}


def _lose_elements(model: Model, notes: WritingNotes) -> None:
    others = [name for name, part in vars(model).items() if isinstance(part, list) and name not in {*ELEMENTS, *TAKEN}]
    for collection in (*ELEMENTS, *others):
        for element in getattr(model, collection):
            fields = [field.name for field in dataclasses.fields(element)]
            what, field = ELEMENTS.get(collection, (f"one of the {collection} at", fields[0]))
            known = getattr(element, field)
            name = known.body if isinstance(known, Frame) else known
            notes.lose("", name, f"there is {what} '{name}'", listed=f"{collection} left out")
    for kind in PAIRS:
        for element in getattr(model, kind.collection):
            notes.lose(element.kind, element.name, "is a constraint between bodies")
    if model.ground.position is not None or model.ground.rotation is not None:
        notes.lose("", "", "the ground moves")


def _friction(model: Model, notes: WritingNotes) -> dict[Reference, float]:
    """Torque laws that are dry friction, as robot files are read: -f tanh(v / friction_velocity)."""
    joints = {joint.name: joint for joint in model.joints}
    found: dict[Reference, float] = {}
    for torque in model.torques:
        laws = torque.law if isinstance(torque.law, tuple) else (torque.law,)
        velocities = joints[torque.joint].velocities
        read = [_friction_of(law, velocity) for law, velocity in zip(laws, velocities, strict=True)]
        if None in read or any(velocity in found for velocity in velocities):
            notes.lose("joint", torque.joint, "has a torque law")
            continue
        known = [(v, *pair) for v, pair in zip(velocities, read, strict=True) if pair is not None and pair[0]]
        found |= {v: force for v, force, _ in known}
        for width in {width for _, _, width in known if width != FRICTION_VELOCITY}:
            notes.change(
                f"friction that is full from another velocity on (load with friction_velocity={width!r})", torque.joint
            )
    return found


def _friction_of(law: Any, velocity: Reference) -> tuple[float, float] | None:
    """The force, and the velocity at which it reaches tanh 1 of it."""
    if law == 0:
        return 0.0, FRICTION_VELOCITY
    match = FRICTION.fullmatch(law) if isinstance(law, str) else None
    if match is None or match[2] != str(velocity):
        return None
    try:
        return float(match[1]), float(match[3])
    except ValueError:
        return None


def _couples(model: Model, system: System, notes: WritingNotes) -> tuple[Coupled, ...]:
    """Constraints and couplings that are linear in coordinates, with numbers as coefficients; who follows is first."""
    joints = {joint.name: joint for joint in model.joints}
    followers = {couple.name: coordinate_of(couple.joint, joints, "joint") for couple in model.couples}
    found = []
    for constraint in system._numeric.constraints:
        expression = constraint.expression
        slopes = {reference: expression.derivative(reference).value for reference in sorted(expression.references())}
        if TIME in slopes:
            notes.lose(constraint.kind, constraint.name, "depends on time")
            continue
        if not constraint.holonomic or None in slopes.values():
            notes.lose(constraint.kind, constraint.name, "is not a linear equation of coordinates")
            continue
        terms = {reference: float(slope) for reference, slope in slopes.items() if slope}
        rest = expression.evaluate(dict.fromkeys(slopes, 0.0))
        first = followers.get(constraint.name)
        ordered = {reference: terms[reference] for reference in sorted(terms, key=lambda r: r != first)}
        found.append(Coupled(constraint.name, constraint.kind, ordered, -float(rest)))
    return tuple(found)
