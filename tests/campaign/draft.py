"""A mechanism while it is drawn: bodies stand somewhere, and joints are put between them so that all of them fit."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import momentree as mt
from campaign.geometry import ANGLES, COORDINATES, FREEDOM, LETTERS, Array, axis_of, cross, placed, to_quaternion, unit

GRAVITY = 9.81


@dataclass
class Drawn:
    """A joint as it was drawn, with the coordinates at which it fits."""

    name: str
    kind: str
    ends: tuple[str, str]
    q: tuple[float, ...]
    loop: bool  # whether it is part of one
    P: Array
    prescribed: bool = False


@dataclass
class Draft:
    """What has been drawn so far; `sizes` are the length (m) and mass (kg) that everything is measured by."""

    random: np.random.Generator
    length: float
    mass: float
    spread: float  # of masses: powers of ten, either way
    model: mt.Model = field(init=False)
    placements: dict[str, tuple[Array, Array]] = field(default_factory=dict)
    joints: list[Drawn] = field(default_factory=list)
    masses: dict[str, float] = field(default_factory=dict)
    features: set[str] = field(default_factory=set)
    freedom: int = 0  # by Gruebler's count, of what is not overconstrained
    origin: Array = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        self.model = mt.Model("random mechanism")
        self.placements["ground"] = (np.eye(3), np.zeros(3))

    # --- chance ---

    def chance(self, p: float) -> bool:
        return bool(self.random.random() < p)

    def pick(self, things: Any) -> Any:
        things = list(things)
        return things[int(self.random.integers(len(things)))]

    def number(self, low: float, high: float) -> float:
        return float(self.random.uniform(low, high))

    def direction(self) -> Array:
        return unit(self.random.standard_normal(3))

    def rotation(self) -> Array:
        Q, R = np.linalg.qr(self.random.standard_normal((3, 3)))
        Q = Q * np.sign(np.diag(R))
        return Q if np.linalg.det(Q) > 0 else -Q

    def point(self, size: float = 1.0) -> Array:
        return self.length * size * self.random.uniform(-1, 1, 3)

    @property
    def frequency(self) -> float:
        """1/s: how fast a thing of this length swings."""
        return math.sqrt(GRAVITY / self.length)

    @property
    def bodies(self) -> list[str]:
        """All but the ground."""
        return [name for name in self.placements if name != "ground"]

    def handle(self, name: str) -> Any:
        """The ground or the body of that name, as the model knows it."""
        return self.model.ground if name == "ground" else next(b for b in self.model.bodies if b.name == name)

    # --- bodies ---

    def place_of(self, base: str) -> Array:
        """Where things are put that are near a body; the ground is wherever the mechanism is."""
        return self.origin if base == "ground" else self.placements[base][1]

    def body(self, near: Array, massless: bool = False) -> str:
        """A body with its frame somewhere near a point."""
        name = f"b{len(self.placements)}"
        self.placements[name] = (self.rotation(), near + self.point(0.6))
        m = self.mass * 10 ** self.number(-self.spread, self.spread)
        self.masses[name] = 0.0 if massless else m
        if massless:
            self.model.body(name, massless=True)
            self.features.add("massless carrier")
        elif self.chance(0.35):
            self._shaped(name, m)
        else:
            self._numbered(name, m)
        return name

    def _shaped(self, name: str, m: float) -> None:
        L = self.length
        a, b, c = (L * self.number(0.1, 1.0) for _ in range(3))
        axis: Any = self.pick(["x", "y", "z", tuple(self.random.standard_normal(3))])
        shapes = (
            mt.rod(mass=m, length=a, radius=0.1 * b, along=axis),
            mt.box(mass=m, size=(a, b, c), centre=tuple(self.point(0.3))),
            mt.sphere(mass=m, radius=0.3 * a, centre=tuple(self.point(0.3))),
            mt.cylinder(mass=m, radius=0.3 * a, length=b, axis=axis, centre=tuple(self.point(0.3))),
        )
        self.model.body(name, self.pick(shapes))

    def _numbered(self, name: str, m: float) -> None:
        second = (self.length * self.random.uniform(0.05, 0.4, 3)) ** 2  # of the mass, along three axes
        R = self.rotation()
        J = m * R @ np.diag(second.sum() - second) @ R.T
        J, com = (J + J.T) / 2, self.point(0.4)
        if self.chance(0.2):
            J = J + m * (com @ com * np.eye(3) - np.outer(com, com))
            self.model.body(name, mass=m, com=tuple(com), inertia=J, about="origin")
        elif self.chance(0.3):
            six = (J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
            self.model.body(name, mass=m, com=tuple(com), inertia=tuple(map(float, six)))
        else:
            self.model.body(name, mass=m, com=tuple(com), inertia=J)

    # --- joints ---

    def connect(
        self,
        kind: str,
        a: str,
        b: str,
        point: Array | None = None,
        axes: list[Array] | None = None,
        pitch: float | None = None,
        loop: bool = False,
        **options: Any,
    ) -> Drawn:
        """A joint between two bodies that stand where they stand; F's origin at a point, axes in space, if given."""
        if self.chance(0.5):
            a, b = b, a
        point = self._between(a, b) if point is None else point
        if kind == "PinSlot" or kind == "Universal":
            axes = axes or self._pair()
        elif kind not in ("Spherical", "Free", "Fixed"):
            axes = axes or [self.direction()]
        R_F, axes_of_joint = self._first_axes(a, axes or [])
        pitch = (self.length * self.number(0.2, 1.0) if pitch is None else pitch) if kind == "Screw" else None
        q = self._coordinates(kind)
        local = [axis_of(axis) for axis in axes_of_joint]
        x, R_FM = placed(kind, local, pitch or 0.0, q)
        P, R_M = point + R_F @ x, R_F @ R_FM
        name = f"j{len(self.joints) + 1}"
        arguments = {} if pitch is None else {"pitch": pitch}
        joint = getattr(mt, kind)(*axes_of_joint, **arguments, **options)
        self.model.joint(name, joint, self._frame(a, point, R_F), self._frame(b, P, R_M))
        self.joints.append(Drawn(name, kind, (a, b), tuple(map(float, q)), loop, P))
        self.features.add(kind)
        return self.joints[-1]

    def _between(self, a: str, b: str) -> Array:
        share = self.number(0, 1)
        return share * self.place_of(a) + (1 - share) * self.place_of(b) + self.point(0.4)

    def _pair(self) -> list[Array]:
        """Two axes that are clearly not parallel."""
        first = self.direction()
        across = unit(cross(first, self.direction()))
        angle = math.pi / 2 if self.chance(0.5) else self.number(0.6, 2.5)
        return [first, math.cos(angle) * first + math.sin(angle) * across]

    def _first_axes(self, a: str, axes: list[Array]) -> tuple[Array, list[Any]]:
        """The axes of F, and the joint's axes in them: by letters, as the body's own, or anyhow."""
        if axes and self.chance(0.4):
            letter = self.pick("xyz")
            sign = self.pick((1.0, -1.0))
            R = _turned_to(np.array(LETTERS[letter]) * sign, axes[0], self.number(-3, 3))
            axes_of_joint: list[Any] = [f"{'-' if sign < 0 else ''}{letter}"]
            return R, axes_of_joint + [tuple(map(float, R.T @ axis)) for axis in axes[1:]]
        R = self.placements[a][0] if self.chance(0.3) else self.rotation()
        return R, [tuple(map(float, R.T @ axis * self.pick((1.0, 1.0, 2.5)))) for axis in axes]

    def _coordinates(self, kind: str) -> Any:
        """At random: slides as long as the mechanism, angles well inside a turn."""
        if self.chance(0.1):
            zero = np.zeros(COORDINATES[kind])
            if kind in ("Spherical", "Free"):
                zero[-1] = 1.0
            return zero
        if kind == "Spherical":
            return to_quaternion(self.rotation())
        if kind == "Free":
            return np.concatenate([self.point(), to_quaternion(self.rotation())])
        if kind == "Screw":
            return self.random.uniform(-4, 4, 1)
        q = self.random.uniform(-0.7, 0.7, COORDINATES[kind]) * self.length
        for i in ANGLES.get(kind, ()):
            q[i] = self.number(-2.6, 2.6)
        return q

    def _frame(self, body: str, p: Array, R: Array) -> Any:
        """A frame at a place in space, as the user would give it in the body."""
        R_B, r_B = self.placements[body]
        local = R_B.T @ R
        position = tuple(map(float, R_B.T @ (p - r_B)))
        if R is R_B:
            return self.handle(body).at(position)
        quaternion = to_quaternion(local)
        style = self.number(0, 1)
        if style < 0.3:
            angle = 2 * math.atan2(np.linalg.norm(quaternion[:3]), quaternion[3])
            return self.handle(body).at(position, mt.turn(tuple(quaternion[:3]), float(angle)))
        if style < 0.5:
            return self.handle(body).at(position, local)
        return self.handle(body).at(position, tuple(map(float, quaternion)))

    def frame(self, body: str) -> Any:
        """Any frame of a body."""
        if body == "ground":
            return self._frame(body, self.origin + self.point(), self.rotation())
        return self._frame(body, self.placements[body][1] + self.point(0.5), self.rotation())

    def count(self, kinds: list[str], bodies: int) -> None:
        """Gruebler's count of what was added."""
        self.freedom += 6 * bodies - sum(6 - FREEDOM[kind] for kind in kinds)


def _turned_to(letter: Array, n: Array, spin: float) -> Array:
    """A rotation that takes one unit vector to another, and turns about it."""
    helper = np.eye(3)[int(np.abs(letter).argmin())]
    from_axes = np.column_stack([letter, helper, cross(letter, helper)])
    e = unit(cross(n, np.eye(3)[int(np.abs(n).argmin())]))
    f = cross(n, e)
    c, s = math.cos(spin), math.sin(spin)
    return np.column_stack([n, c * e + s * f, c * f - s * e]) @ from_axes.T
