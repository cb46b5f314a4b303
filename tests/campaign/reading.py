"""A model as plain numbers for the oracle, read from what the user wrote by rules of its own."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from campaign.geometry import FREEDOM, Array, axis_of, from_quaternion, skew, turn
from campaign.laws import parameters_of, value

AXIS_FIELDS = {"PinSlot": ("slot", "pin"), "Universal": ("first", "second"), "Planar": ("normal",)}
NO_AXIS = ("Spherical", "Free", "Fixed")
STOPS = (1e4, 100.0)  # docs/model-file.md
RAMP = 1e-3


@dataclass
class Place:
    """A frame fixed in a body: 0 is the ground."""

    body: int
    p: Array
    R: Array


@dataclass
class PlainBody:
    """Mass (kg), centre of mass (m) and inertia about it (kg m2), in the body's own frame."""

    name: str
    mass: float
    com: Array
    J: Array


@dataclass
class PlainJoint:
    """A joint in numbers; options have one value for each velocity, None where there is none."""

    name: str
    kind: str
    first: Place
    second: Place
    axes: list[Array]
    pitch: float
    motion: tuple[Any, ...] | None
    spring: tuple[float, ...] | None
    rest: tuple[float, ...] | None
    damping: tuple[float, ...] | None
    limits: tuple[tuple[float, float], ...] | None
    stops: tuple[tuple[float, float], ...] | None
    torques: list[tuple[Any, ...]] = field(default_factory=list)
    names: tuple[str, ...] = ()  # of its coordinates in laws
    velocities: tuple[str, ...] = ()

    @property
    def freedom(self) -> int:
        return FREEDOM[self.kind]


@dataclass
class PlainSpring:
    first: Place
    second: Place
    stiffness: float
    damping: float
    rest: float
    tension_only: bool


@dataclass
class PlainForce:
    at: Place
    force: tuple[Any, ...]
    moment: tuple[Any, ...]
    carried: bool


@dataclass
class PlainContact:
    at: Place
    against: Place
    numbers: dict[str, Any]


@dataclass
class Plain:
    """Everything that the oracle knows of a model."""

    gravity: Array
    ground: tuple[Any, ...] | None
    bodies: list[PlainBody]
    joints: list[PlainJoint]
    springs: list[PlainSpring]
    forces: list[PlainForce]
    contacts: list[PlainContact]
    parameters: dict[str, float]

    @property
    def places(self) -> list[Place]:
        """Every frame that somebody uses."""
        found = [end for joint in self.joints for end in (joint.first, joint.second)]
        found += [end for spring in self.springs for end in (spring.first, spring.second)]
        found += [force.at for force in self.forces]
        return found + [end for contact in self.contacts for end in (contact.at, contact.against)]


class _Reader:
    def __init__(self, model: Any):
        self.known = parameters_of(model.parameters)
        self.numbers = {"ground": 0, **{body.name: i for i, body in enumerate(model.bodies, 1)}}

    def number(self, raw: Any) -> float:
        return value(raw, self.known)

    def vector(self, raw: Any) -> Array:
        return np.array([self.number(x) for x in raw])

    def axis(self, raw: Any) -> Array:
        return axis_of(raw if isinstance(raw, str) else self.vector(raw))

    def place(self, frame: Any) -> Place:
        return Place(self.numbers[frame.body], self.vector(frame.position), self.rotation(frame.rotation))

    def rotation(self, raw: Any) -> Array:
        if raw is None:
            return np.eye(3)
        if hasattr(raw, "angle"):
            return turn(self.axis(raw.axis), self.number(raw.angle))
        if hasattr(raw[0], "angle"):
            R = np.eye(3)
            for one in raw:
                R = R @ self.rotation(one)
            return R
        if len(raw) == 4:
            return from_quaternion(self.vector(raw))
        U, _, V = np.linalg.svd(np.array([self.vector(row) for row in raw]))
        return U @ V

    # --- bodies ---

    def body(self, body: Any) -> PlainBody:
        if body.massless:
            return PlainBody(body.name, 0.0, np.zeros(3), np.zeros((3, 3)))
        if body.shape is not None:
            return PlainBody(body.name, *self.shape(body.shape))
        mass = self.number(body.mass)
        com = np.zeros(3) if body.com is None else self.vector(body.com)
        J = np.zeros((3, 3)) if body.inertia is None else self.inertia(body.inertia)
        if body.about == "origin" and body.inertia is not None:
            J = J + mass * skew(com) @ skew(com)
        return PlainBody(body.name, mass, com, J)

    def inertia(self, raw: Any) -> Array:
        if isinstance(raw[0], tuple):
            J = np.array([self.vector(row) for row in raw])
            return (J + J.T) / 2
        xx, yy, zz, *off = (self.number(x) for x in raw)
        xy, xz, yz = off or (0.0, 0.0, 0.0)
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    def shape(self, shape: Any) -> tuple[float, Array, Array]:
        m = self.number(shape.mass)
        if shape.kind == "box":
            a, b, c = self.vector(shape.size)
            return m, self.vector(shape.centre), np.diag([b * b + c * c, a * a + c * c, a * a + b * b]) * m / 12
        if shape.kind == "sphere":
            return m, self.vector(shape.centre), np.eye(3) * 0.4 * m * self.number(shape.radius) ** 2
        rod = shape.kind == "rod"
        n = self.axis(shape.along if rod else shape.axis)
        length, r = self.number(shape.length), self.number(shape.radius)
        about, across = m * r * r / 2, m * (3 * r * r + length * length) / 12
        J = across * np.eye(3) + (about - across) * np.outer(n, n)
        return m, n * length / 2 if rod else self.vector(shape.centre), J

    # --- joints ---

    def joint(self, c: Any, torques: list[Any]) -> PlainJoint:
        joint, kind = c.type, type(c.type).__name__
        fields = () if kind in NO_AXIS else AXIS_FIELDS.get(kind, ("axis",))
        pitch = self.number(joint.pitch) if kind == "Screw" else 0.0
        n = FREEDOM[kind]

        def each(raw: Any) -> tuple[Any, ...] | None:
            return None if raw is None else tuple(raw) if isinstance(raw, tuple) else (raw,)

        def numbers(raw: Any) -> tuple[float, ...] | None:
            return None if raw is None else tuple(self.number(x) for x in each(raw) or ())

        limits = None
        if joint.limits is not None:
            limits = tuple((self._limit(a), self._limit(b)) for a, b in ([joint.limits] if n == 1 else joint.limits))
        stops = None
        if limits is not None:
            raw = joint.stops if joint.stops is not None else STOPS
            pairs = [raw] * n if not any(isinstance(entry, tuple) for entry in raw) else raw
            stops = tuple((self.number(a), self.number(b)) for a, b in pairs)
        return PlainJoint(
            c.name,
            kind,
            self.place(c.first),
            self.place(c.second),
            [self.axis(getattr(joint, name)) for name in fields],
            pitch,
            each(joint.motion),
            numbers(joint.spring),
            numbers(joint.rest),
            numbers(joint.damping),
            limits,
            stops,
            [each(torque.law) or () for torque in torques if torque.joint == c.name],
            *_names(c.name, joint),
        )

    def _limit(self, raw: Any) -> float:
        return float(raw) if raw in (math.inf, -math.inf) else self.number(raw)


def _names(name: str, joint: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """How laws call the coordinates and velocities of a joint."""
    if len(joint.coordinates) == 1:
        return (name,), (f"{name}'",)
    return tuple(f"{name}.{part}" for part in joint.coordinates), tuple(f"{name}.{part}" for part in joint.velocities)


def read(model: Any) -> Plain:
    """The model in plain numbers. Splits and cuts say how to compute, not what moves: they are not read."""
    r = _Reader(model)
    ground = None
    if model.ground.position is not None or model.ground.rotation is not None:
        ground = (*(model.ground.position or (0, 0, 0)), *(model.ground.rotation or (0, 0, 0)))
    springs = [
        PlainSpring(
            r.place(s.first),
            r.place(s.second),
            r.number(s.stiffness),
            r.number(s.damping),
            r.number(s.rest),
            s.tension_only,
        )
        for s in model.springs
    ]
    forces = [PlainForce(r.place(f.frame), f.law, f.moment, f.axes == "body") for f in model.forces]
    contacts = [PlainContact(r.place(c.frame), r.place(c.against), _contact(c, r)) for c in model.contacts]
    return Plain(
        r.vector(model.gravity),
        ground,
        [r.body(body) for body in model.bodies],
        [r.joint(c, model.torques) for c in model.joints],
        springs,
        forces,
        contacts,
        r.known,
    )


def _contact(contact: Any, r: _Reader) -> dict[str, Any]:
    linear = contact.law == "linear"
    found: dict[str, Any] = {name: r.number(getattr(contact, name)) for name in ("radius", "stiffness", "damping")}
    found |= {name: r.number(getattr(contact, name)) for name in ("friction", "slip")}
    found["linear"] = linear
    found["ramp"] = RAMP if contact.ramp is None else r.number(contact.ramp)
    found["exponent"] = 1.0 if linear else 1.5 if contact.exponent is None else r.number(contact.exponent)
    found["ball"] = None if contact.ball is None else r.number(contact.ball)
    found["disc"] = None if contact.disc is None else r.axis(contact.disc)
    return found


def perturbed(plain: Plain, random: np.random.Generator, size: float) -> Plain:
    """The same model with every length, direction and inertia changed by this part of itself, at random."""
    other = copy.deepcopy(plain)

    def scaled(x: Any) -> Any:
        return x * (1 + size * random.standard_normal(np.shape(x)))

    for place in other.places:
        place.p, place.R = scaled(place.p), place.R @ _small_turn(random, size)
    for body in other.bodies:
        E = np.eye(3) + size * random.standard_normal((3, 3))
        body.mass, body.com, body.J = scaled(body.mass), scaled(body.com), E @ body.J @ E.T
    return other


def _small_turn(random: np.random.Generator, size: float) -> Array:
    a = size * random.standard_normal(3)
    return np.eye(3) + skew(a) + 0.5 * np.outer(a, a) - 0.5 * (a @ a) * np.eye(3)
