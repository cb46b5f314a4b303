"""Model: the user's description of a mechanism. Mutable and forgiving; `build` checks everything at once."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from momentree.errors import ModelError, Problem, renamed, spell_checked
from momentree.model.bodies import Body
from momentree.model.constraint_elements import CONSTRAINT_ELEMENTS
from momentree.model.couplings import Belt, Couple, Differential, Gear, Planetary, Rack, ScrewCoupling
from momentree.model.elements import Constraint, Contact, Joint, Latch, PointForce, Split, Spring, Torque
from momentree.model.expressions.expression import Expression, Reference
from momentree.model.frames import GROUND, Frame, NamedFrame
from momentree.model.inputs import Input, Output
from momentree.model.joint_type import JointType
from momentree.model.notes import Note
from momentree.model.pair_elements import DistanceElement, OnCurve, OnSurface, Roll, Skate
from momentree.model.shapes import DrawnShape, Shape
from momentree.model.start import Start
from momentree.model.switches import Release, Switch
from momentree.model.tables import Table
from momentree.model.values import Raw, plain

if TYPE_CHECKING:
    from momentree.system import System

Element = TypeVar("Element")


@spell_checked
@dataclass
class Ground:
    """The external body: at rest, or moving as prescribed (laws of t).

    | field    | meaning                                                              |
    |----------|----------------------------------------------------------------------|
    | position | three laws (m)                                                        |
    | rotation | three laws (rad): turns about x, then y, then z of the turned frame   |
    """

    position: Raw = None
    rotation: Raw = None

    def at(self, position: Sequence[Any], rotation: Any = None) -> Frame:
        """A frame fixed in the ground."""
        return Frame(GROUND, position, rotation)

    def moves(self, position: Any = (0, 0, 0), rotation: Any = (0, 0, 0)) -> None:
        """Prescribe the motion of the ground, e.g. `m.ground.moves(("0.1*sin(5*t)", 0, 0))`."""
        self.position, self.rotation = plain(position), plain(rotation)


@spell_checked
@dataclass(eq=False)
class Model:
    """A mechanism: bodies, joints, forces, constraints, parameters.

    >>> import momentree as mt
    >>> m = mt.Model("pendulum")
    >>> bob = m.body("bob", mt.rod(mass=1.0, length=0.5))
    >>> hinge = m.joint("hinge", mt.Revolute("y"), m.ground, bob)
    >>> m.build().nv
    1
    """

    name: str = "model"
    gravity: Raw = (0, 0, -9.81)
    tolerance: Raw = None  # m: within which constraints of loops count as redundant; None: 1e-6 of the loop's size
    inertia_check: str = "error"  # or "warn": of physically impossible inertias
    ground: Ground = field(default_factory=Ground, init=False)
    parameters: list[tuple[str, Raw]] = field(default_factory=list, init=False)  # those of inputs last
    tables: list[Table] = field(default_factory=list, init=False)
    inputs: list[Input] = field(default_factory=list, init=False)
    outputs: list[Output] = field(default_factory=list, init=False)
    bodies: list[Body] = field(default_factory=list, init=False)
    joints: list[Joint] = field(default_factory=list, init=False)
    torques: list[Torque] = field(default_factory=list, init=False)
    latches: list[Latch] = field(default_factory=list, init=False)
    forces: list[PointForce] = field(default_factory=list, init=False)
    springs: list[Spring] = field(default_factory=list, init=False)
    contacts: list[Contact] = field(default_factory=list, init=False)
    frames: list[NamedFrame] = field(default_factory=list, init=False)
    shapes: list[DrawnShape] = field(default_factory=list, init=False)
    constraints: list[Constraint] = field(default_factory=list, init=False)
    couples: list[Couple] = field(default_factory=list, init=False)
    gears: list[Gear] = field(default_factory=list, init=False)
    racks: list[Rack] = field(default_factory=list, init=False)
    belts: list[Belt] = field(default_factory=list, init=False)
    planetaries: list[Planetary] = field(default_factory=list, init=False)
    differentials: list[Differential] = field(default_factory=list, init=False)
    screws: list[ScrewCoupling] = field(default_factory=list, init=False)
    rolls: list[Roll] = field(default_factory=list, init=False)
    skates: list[Skate] = field(default_factory=list, init=False)
    distances: list[DistanceElement] = field(default_factory=list, init=False)
    surfaces: list[OnSurface] = field(default_factory=list, init=False)
    curves: list[OnCurve] = field(default_factory=list, init=False)
    releases: list[Release] = field(default_factory=list, init=False)
    switches: list[Switch] = field(default_factory=list, init=False)
    cuts: list[str] = field(default_factory=list, init=False)
    splits: list[Split] = field(default_factory=list, init=False)
    start: Start | None = field(init=False)
    source: Callable[[tuple[str | int, ...]], str] | None = field(default=None, init=False, repr=False)
    notes: tuple[Note, ...] = field(default=(), init=False)  # what a file of another format says and this does not

    def __post_init__(self) -> None:
        self.gravity, self.tolerance, self.start = plain(self.gravity), plain(self.tolerance), None

    # --- what a mechanism is made of -------------------------------------------------------------------------------

    def parameter(self, name: str, value: Any) -> Expression:
        """A named number, usable wherever a number is; may be an expression of other parameters."""
        self.parameters.insert(len(self.parameters) - len(self.inputs), (name, plain(value)))
        return Expression("reference", (Reference(name),))

    def table(
        self, name: str, x: Any, y: Any, kind: str = "cubic", periodic: bool = False, outside: str = "error"
    ) -> Table:
        """A function given by points, for laws: `cam = m.table("cam", x, y)`, then `cam(theta)` (see `Table`)."""
        self.tables.append(Table(name, x, y, kind, periodic, outside))
        return self.tables[-1]

    def input(self, name: str, default: Any = 0.0, unit: str = "", description: str = "") -> Expression:
        """A named input, usable in laws as parameters are; `simulate(inputs={name: ...})` drives it (docs/inputs.md).

        It stays free when the model is built: every function that takes `parameters=` takes its value.
        """
        self.parameters.append((name, plain(default)))
        self.inputs.append(Input(name, unit, description))
        return Expression("reference", (Reference(name),))

    def output(self, name: str, expression: Any, unit: str = "", description: str = "") -> Output:
        """A named quantity of motions: an expression of t, parameters, coordinates, velocities, frames ("tip.x")."""
        self.outputs.append(Output(name, expression, unit, description))
        return self.outputs[-1]

    def body(
        self,
        name: str,
        shape: Shape | None = None,
        *,
        shapes: Sequence[Shape] = (),
        mass: Any = None,
        com: Any = None,
        inertia: Any = None,
        about: str = "com",
        massless: bool = False,
        inertia_check: str | None = None,
    ) -> Body:
        """A rigid body, by shapes or by numbers (see `Body`).

        The inertias of its shapes with a mass or a density add up; the others are only drawn:
        `m.body("hull", shapes=[mt.box(size=(2, 1, 0.5), density=2700), mt.sphere(radius=0.1).at((0, 0, 1))])`.
        """
        several = [*shapes] if isinstance(shapes, (tuple, list)) else [shapes] if shapes is not None else []
        both: Any = several if shape is None else [shape, *several]
        self.bodies.append(Body(name, both, mass, com, inertia, about, massless, inertia_check))
        return self.bodies[-1]

    def shape(self, on: Any, shape: Shape, color: Any = None) -> DrawnShape:
        """Draw a shape without inertia on a body, a frame of it or the ground: `m.shape(m.ground, mt.box(...))`."""
        colored = shape if color is None or not isinstance(shape, Shape) else replace(shape, color=color)
        self.shapes.append(DrawnShape(as_frame(on), colored))
        return self.shapes[-1]

    def joint(self, name: str, type: JointType, first: Any, second: Any) -> Joint:
        """Connect a frame of one body with a frame of another; a body stands for its own frame.

        The joint's coordinates move the second frame as seen from the first. Joints that close loops are recognized.
        """
        self.joints.append(Joint(name, type, as_frame(first), as_frame(second)))
        return self.joints[-1]

    def frame(self, name: str, frame: Any) -> NamedFrame:
        """Name a frame, so that constraints can use its position and velocity: `tip.x`, `tip.x'`, `tip.wx`."""
        self.frames.append(NamedFrame(name, as_frame(frame)))
        return self.frames[-1]

    # --- forces and contacts ---------------------------------------------------------------------------------------

    def torque(self, joint: Joint | str, law: Any) -> Torque:
        """A joint force or torque (motor, generalized force): one law, or one for each velocity."""
        self.torques.append(Torque(_name(joint), law))
        return self.torques[-1]

    def latch(self, joint: Joint | str, at: Any) -> Latch:
        """Lock a joint when its coordinate reaches a value (m or rad), as the hinges of a solar array do."""
        self.latches.append(Latch(_name(joint), at))
        return self.latches[-1]

    def force(self, frame: Any, law: Any = (0, 0, 0), moment: Any = (0, 0, 0), axes: str = GROUND) -> PointForce:
        """A force (N) at the origin of a frame, and a moment (N m); in axes of the ground or of the frame ("body")."""
        self.forces.append(PointForce(as_frame(frame), law, moment, axes))
        return self.forces[-1]

    def spring(
        self, first: Any, second: Any, stiffness: Any, damping: Any = 0, rest: Any = 0, tension_only: bool = False
    ) -> Spring:
        """A spring and damper between the origins of two frames; a thread when it only pulls (`tension_only`)."""
        self.springs.append(Spring(as_frame(first), as_frame(second), stiffness, damping, rest, tension_only))
        return self.springs[-1]

    def contact(self, frame: Any, against: Any = GROUND, **numbers: Any) -> Contact:
        """Contact of a point, ball or disc of a body with a plane or ball of another (see `Contact`)."""
        self.contacts.append(Contact(as_frame(frame), as_frame(against), **numbers))
        return self.contacts[-1]

    # --- constraints, couplings of joints, rolling and guidance -------------------------------------------------------

    def constrain(self, expression: Any, name: str = "") -> Constraint:
        """Keep an equation "a = b", or an expression at zero: of coordinates (holonomic), or affine in velocities."""
        return self._add(self.constraints, Constraint(expression, name=name))

    def couple(self, joint: Any, to: Any, ratio: Any = 1, offset: Any = 0, name: str = "") -> Couple:
        """joint = ratio to + offset: mimic joints, gears, synchronizing cables; or to={"A": 0.5, "B": 0.5}."""
        to = {_name(key): value for key, value in to.items()} if isinstance(to, Mapping) else _name(to)
        return self._add(self.couples, Couple(_name(joint), to, ratio, offset, name=name))

    def gear(
        self,
        first: Any,
        second: Any,
        radii: Any = None,
        teeth: Any = None,
        ratio: Any = None,
        internal: bool = False,
        carrier: Any = None,
        offset: Any = 0,
        name: str = "",
    ) -> Gear:
        """Two gears, by their radii, teeth or ratio (turns of the first for one of the second): see `Gear`."""
        how = (radii, teeth, ratio, internal, _name(carrier), offset)
        return self._add(self.gears, Gear(_name(first), _name(second), *how, name=name))

    def rack(self, pinion: Any, rack: Any, radius: Any, offset: Any = 0, name: str = "") -> Rack:
        """Rack and pinion: rack = radius pinion + offset, of a Prismatic and a Revolute joint."""
        return self._add(self.racks, Rack(_name(pinion), _name(rack), radius, offset, name=name))

    def belt(self, first: Any, second: Any, radii: Any, crossed: bool = False, offset: Any = 0, name: str = "") -> Belt:
        """A belt or chain about two pulleys, which turn alike or, if it is crossed, against each other."""
        return self._add(self.belts, Belt(_name(first), _name(second), radii, crossed, offset, name=name))

    def planetary(
        self, sun: Any, ring: Any, carrier: Any, teeth: Any, planets: Sequence[Any] = (), name: str = ""
    ) -> Planetary:
        """A planetary gear set with teeth=(of the sun, of the ring); None: sun or ring is fixed to the ground."""
        names = tuple(map(_name, planets)) if isinstance(planets, (tuple, list)) else planets
        return self._add(self.planetaries, Planetary(_name(carrier), teeth, _name(sun), _name(ring), names, name=name))

    def differential(self, left: Any, right: Any, case: Any, name: str = "") -> Differential:
        """A differential: left + right = 2 case."""
        return self._add(self.differentials, Differential(_name(left), _name(right), _name(case), name=name))

    def screw(self, turn: Any, slide: Any, pitch: Any, offset: Any = 0, name: str = "") -> ScrewCoupling:
        """A screw drive: slide = pitch / (2 pi) turn + offset, of a Prismatic and a Revolute joint."""
        return self._add(self.screws, ScrewCoupling(_name(turn), _name(slide), pitch, offset, name=name))

    def roll(
        self,
        wheel: Any,
        on: Any = GROUND,
        radius: Any = None,
        disc: Any = None,
        ball: Any = None,
        friction: Any = None,
        name: str = "",
    ) -> Roll:
        """A ball, or a disc with this axis, about a frame rolls without slip on a plane or a ball: see `Roll`."""
        return self._add(self.rolls, Roll(as_frame(wheel), as_frame(on), radius, disc, ball, friction, name=name))

    def skate(self, frame: Any, across: Any = "y", on: Any = GROUND, name: str = "") -> Skate:
        """The origin of the frame does not move along this axis of the frame, as a blade on ice."""
        return self._add(self.skates, Skate(as_frame(frame), across, as_frame(on), name=name))

    def distance(self, first: Any, second: Any, length: Any, name: str = "") -> DistanceElement:
        """A massless rod between the origins of two frames."""
        return self._add(self.distances, DistanceElement(as_frame(first), as_frame(second), length, name=name))

    def on_surface(self, frame: Any, expression: Any, of: Any = GROUND, name: str = "") -> OnSurface:
        """Keep the frame's origin on a surface, "x^2 + y^2 = z" in axes of the frame `of`."""
        return self._add(self.surfaces, OnSurface(as_frame(frame), expression, as_frame(of), name=name))

    def on_curve(self, frame: Any, expressions: Any, of: Any = GROUND, name: str = "") -> OnCurve:
        """Keep the frame's origin on a curve, ("y = sin(x)", "z = 0") in axes of the frame `of`."""
        return self._add(self.curves, OnCurve(as_frame(frame), expressions, as_frame(of), name=name))

    def _add(self, elements: list[Element], element: Any) -> Element:
        """Append an element, which gets a name if it has none: its kind and its number."""
        elements.append(element if element.name else replace(element, name=f"{element.kind} {len(elements) + 1}"))
        return elements[-1]

    # --- joints that release, constraints that are switched ----------------------------------------------------------

    def release(self, joint: Joint | str, when: Any = None, at: Any = None) -> Release:
        """Let a joint cease when an expression rises through zero, or at a time (s): its bodies separate."""
        self.releases.append(Release(_name(joint), when, at))
        return self.releases[-1]

    def switch(self, name: Any, on: Any = None, off: Any = None) -> Switch:
        """Let a constraint start or cease to act when an expression rises through zero (see `Switch`)."""
        self.switches.append(Switch(_name(name), on, off))
        return self.switches[-1]

    # --- how its loops are opened ----------------------------------------------------------------------------------

    def cut(self, joint: Joint | str) -> None:
        """Open a loop at this joint; otherwise the freest joint of each loop is chosen."""
        self.cuts.append(_name(joint))

    def split(self, body: Body | str, joint: Joint | str, share: Any = 0.5) -> None:
        """Open a loop inside a body (Ivanov 2022): the joint then holds an image with this share of its inertia."""
        self.splits.append(Split(_name(body), _name(joint), share))

    # --- where its motion begins -----------------------------------------------------------------------------------

    @renamed(rates="velocities")
    def start_at(
        self,
        coordinates: Any = None,
        velocities: Any = None,
        guess: Any = None,
        t: Any = 0,
        t_end: Any = None,
        stiff: bool = False,
    ) -> Start:
        """Set where and when motions begin and end by default: joints by name, as for `assemble`.

        A `stiff` model is simulated by an implicit integrator, "radau9", unless another one is chosen.
        """
        self.start = Start(coordinates or {}, velocities or {}, guess or {}, t, t_end, stiff)
        return self.start

    # --- onwards ---------------------------------------------------------------------------------------------------

    def check(self) -> list[Problem]:
        """Every problem of the model, none if it can be built."""
        try:
            self.build()
        except ModelError as error:
            return list(error.problems)
        return []

    def placed(self, problem: Problem) -> Problem:
        """The problem with its file and line, if the model came from a file (`source` knows the lines)."""
        return replace(problem, place=self.source(problem.path)) if self.source else problem

    def place_of(self, kind: str, name: str) -> str:
        """The line of a body, joint or constraint in the file that the model came from: "x.toml:12", or ""."""
        things: dict[str, Sequence[Any]] = {"body": self.bodies} if kind == "body" else {"joint": self.joints}
        if kind != "body":  # what closes a loop is a joint or any element that constrains
            things |= {element.kind: getattr(self, element.collection) for element in CONSTRAINT_ELEMENTS}
        for table, listed in things.items():
            names = [thing.name for thing in listed]
            for known in (name, name.partition(": ")[0]):  # "planetary 1: planet B" is of "planetary 1"
                if self.source and known in names:
                    return self.source((table, names.index(known)))
        return ""

    def copied(self) -> Model:
        """A copy that does not follow later changes of this model."""
        new = copy.copy(self)
        vars(new).update({name: copy.copy(part) for name, part in vars(self).items()})
        return new

    def build(
        self,
        free: Collection[str] = (),
        code: str | None = None,
        tolerance: Any = None,
        inertia_check: str | None = None,
    ) -> System:
        """The frozen system, or one error with every problem.

        | argument      | meaning                                                                                     |
        |---------------|---------------------------------------------------------------------------------------------|
        | free          | parameters that can change without recompilation                                            |
        | code          | "straight-line" (fast code) or "rolled" (compiles fast for many bodies); None: by size      |
        | tolerance     | m: within which constraints of loops count as redundant; None: the model's own              |
        | inertia_check | "warn": use physically impossible inertias, whatever the model says of them                 |
        """
        from momentree.system import System

        chosen = copy.copy(self)
        chosen.inertia_check = inertia_check or self.inertia_check
        return System.of(chosen, free, code, tolerance)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        lossy: bool = False,
        closures: str | os.PathLike[str] | None = None,
    ) -> None:
        """Write the model to a TOML file that loads equal, or to .urdf, .sdf, .xml, .mjcf what these can express.

        `lossy` leaves out the rest, the YAML file `closures` gets the loops of a URDF (docs/robots-export.md).
        """
        from momentree.files import save

        save(self, path, lossy=lossy, closures=closures)

    def __eq__(self, other: object) -> bool:
        origin = {"source": None, "notes": ()}  # where it came from is no part of what it is
        return isinstance(other, Model) and {**vars(self), **origin} == {**vars(other), **origin}

    __hash__ = None  # type: ignore[assignment]  # a model changes while it is written

    def _repr_html_(self) -> str:
        from momentree.look.notebook import model_html

        return model_html(self)

    def __repr__(self) -> str:
        return f"Model('{self.name}': {len(self.bodies)} bodies, {len(self.joints)} joints)"


def as_frame(thing: Any) -> Frame:
    """The frame that a user means by a frame, a body, the ground or a name."""
    if isinstance(thing, Frame):
        return thing
    if isinstance(thing, NamedFrame):
        return thing.frame
    if isinstance(thing, Ground):
        return Frame(GROUND)
    if isinstance(thing, Body):
        return Frame(thing.name)
    if isinstance(thing, str):
        return Frame(thing)
    message = f"{thing!r} is not a frame. Give a body, body.at(...), the ground or a body's name."
    raise ModelError([Problem("", message)])


def _name(thing: Any) -> str:
    name: str = getattr(thing, "name", thing)
    return name
