"""Changes of a model that change its motion in a known way: turned, carried along, in other units, mirrored, ...

A change says what becomes of frames, of names in laws and of numbers; what is a force, a length or an axis is told here
from the fields of the elements. Nothing comes from how the library computes.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import momentree as mt
from campaign.geometry import Array, to_quaternion
from campaign.laws import _TOKEN, FUNCTIONS
from campaign.reading import RAMP, STOPS, Place, _Reader
from momentree.model.constraint_elements import CONSTRAINT_ELEMENTS
from momentree.model.frames import Frame

MIRROR = np.diag([1.0, -1.0, 1.0])
TURNING = {"Revolute": ("axis",), "Universal": ("first", "second"), "PinSlot": ("pin",), "Screw": ("axis",)}
SLIDING = {"Prismatic": ("axis",), "PinSlot": ("slot",), "Cylindrical": ("axis",)}


def coordinate_lengths(kind: str) -> Array:
    """Which coordinates of a joint are lengths."""
    counts = {"Prismatic": [1], "Revolute": [0], "Screw": [0], "Universal": [0, 0], "Planar": [1, 1, 0], "Fixed": []}
    counts |= {"Spherical": [0] * 4, "Free": [1] * 3 + [0] * 4, "Cylindrical": [1, 0], "PinSlot": [1, 0]}
    return np.array(counts[kind], dtype=float)


def velocity_lengths(kind: str) -> Array:
    return {"Spherical": np.zeros(3), "Free": np.repeat([1.0, 0.0], 3)}.get(kind, coordinate_lengths(kind))


def times(raw: Any, factor: float) -> Any:
    """A number, a law or several of them, times a factor."""
    if raw is None or factor == 1:
        return raw
    if isinstance(raw, tuple):
        return tuple(times(x, factor) for x in raw)
    return f"({raw})*({factor!r})" if isinstance(raw, str) else raw * factor


def each(raw: Any, factors: Any) -> Any:
    """One value or law for each velocity of a joint, times its factor."""
    if raw is None:
        return None
    if not isinstance(raw, tuple):
        return times(raw, float(factors[0]))
    return tuple(times(x, float(f)) for x, f in zip(raw, factors, strict=True))


def renamed(law: Any, names: Mapping[str, str]) -> Any:
    """A law, or several, with names replaced by texts."""
    if isinstance(law, tuple):
        return tuple(renamed(x, names) for x in law)
    if not isinstance(law, str):
        return law

    def put(found: re.Match[str]) -> str:
        name = found.group(2)
        return found.group() if not name or name in FUNCTIONS else names.get(name, found.group())

    return _TOKEN.sub(put, law)


def vector_in_texts(texts: tuple[Any, ...], R: Array) -> tuple[Any, ...]:
    """R times a vector of laws."""
    if np.array_equal(R, np.diag(np.diag(R))):
        return tuple(times(text, float(R[i, i])) for i, text in enumerate(texts))
    return tuple(" + ".join(f"({float(R[i, k])!r})*({text})" for k, text in enumerate(texts)) for i in range(3))


class Change:
    """No change at all; others say what they change."""

    def __init__(self, model: mt.Model):
        self.old, self.reader = model, _Reader(model)

    def applies(self) -> bool:
        return True

    # --- what a change says ---

    def place(self, body: str, place: Place) -> Place:
        return place

    def names(self) -> dict[str, str]:
        """What stands for names of coordinates and velocities in laws."""
        return {}

    def element(self, element: Any) -> Any:
        """One whose frames and laws have been changed already."""
        return element

    def joint(self, joint: Any) -> Any:
        """The type of a joint."""
        return joint.type

    def body(self, body: Any) -> Any:
        return body

    def rest(self, m: mt.Model) -> None:
        """Gravity and the ground."""

    def coordinates(self, kind: str, q: Array) -> Array:
        return q

    def velocities(self, kind: str, u: Array) -> Array:
        return u

    # --- the changed model ---

    def model(self) -> mt.Model:
        m, names = self.old.copied(), self.names()
        m.ground = dataclasses.replace(self.old.ground)
        m.bodies = [self.body(body) for body in self.old.bodies]
        m.frames = [dataclasses.replace(f, frame=self.frame(f.frame)) for f in self.old.frames]
        m.joints = [
            dataclasses.replace(j, type=self.joint(j), first=self.frame(j.first), second=self.frame(j.second))
            for j in self.old.joints
        ]
        plain = ("torques", "forces", "springs", "contacts", "releases", "switches", "latches")
        for name in (*plain, *(kind.collection for kind in CONSTRAINT_ELEMENTS)):
            setattr(m, name, [self.element(self._renamed(element, names)) for element in getattr(self.old, name)])
        self.rest(m)
        return m

    def frame(self, frame: Any) -> Any:
        old = self.reader.place(frame)
        new = self.place(frame.body, old)
        if new is old:
            return frame
        return Frame(frame.body, tuple(map(float, new.p)), tuple(map(float, to_quaternion(new.R))))

    def _renamed(self, element: Any, names: dict[str, str]) -> Any:
        changed = {}
        for field in dataclasses.fields(element):
            value = getattr(element, field.name)
            if isinstance(value, Frame):
                changed[field.name] = self.frame(value)
            elif field.name in ("law", "moment", "when", "on", "off", "expression", "expressions"):
                changed[field.name] = renamed(value, names)
        return dataclasses.replace(element, **changed) if changed else element

    def numbered(self, body: Any, mass: float, lengths: float, mirrored: bool = False) -> Any:
        """A body in numbers."""
        if body.massless:
            return body
        plain, S = self.reader.body(body), MIRROR if mirrored else np.eye(3)
        J = S @ plain.J @ S * (mass * lengths**2)
        com = tuple(map(float, S @ plain.com * lengths))
        return mt.Model("other").body(body.name, mass=plain.mass * mass, com=com, inertia=(J + J.T) / 2)


class Turned(Change):
    """Everything turned and shifted, gravity turned with it; the ground stands still."""

    def __init__(self, model: mt.Model, random: np.random.Generator):
        super().__init__(model)
        Q = np.linalg.qr(random.standard_normal((3, 3)))[0]
        self.R, self.d = Q * np.linalg.det(Q), random.uniform(-1, 1, 3)

    def applies(self) -> bool:
        return self.old.ground.position is None and self.old.ground.rotation is None

    def place(self, body: str, place: Place) -> Place:
        return Place(place.body, self.R @ place.p + self.d, self.R @ place.R) if body == "ground" else place

    def names(self) -> dict[str, str]:
        found = {}
        for name in (frame.name for frame in self.old.frames):
            for before, after, d in (("", "", self.d), ("", "'", 0 * self.d), ("w", "", 0 * self.d)):
                parts = [f"({name}.{before}{axis}{after} - ({float(d[i])!r}))" for i, axis in enumerate("xyz")]
                turned = vector_in_texts(tuple(parts), self.R.T)
                found |= {f"{name}.{before}{axis}{after}": f"({turned[i]})" for i, axis in enumerate("xyz")}
        return found

    def element(self, element: Any) -> Any:
        if getattr(element, "axes", None) == "ground":
            laws = (vector_in_texts(getattr(element, what), self.R) for what in ("law", "moment"))
            return dataclasses.replace(element, **dict(zip(("law", "moment"), laws, strict=True)))
        return element

    def rest(self, m: mt.Model) -> None:
        m.gravity = vector_in_texts(self.old.gravity, self.R)


class Carried(Change):
    """All of it on a ground that moves on steadily and, where it stands still, is turned for good."""

    def __init__(self, model: mt.Model, random: np.random.Generator):
        super().__init__(model)
        self.v, self.angle = random.uniform(-3, 3, 3), float(random.uniform(-3, 3))

    def rest(self, m: mt.Model) -> None:
        before = self.old.ground.position or (0, 0, 0)
        m.ground.position = tuple(f"{x} + ({float(v)!r})*(t - 2)" for x, v in zip(before, self.v, strict=True))
        if self.old.ground.rotation is None and self.old.ground.position is None:
            c, s = math.cos(self.angle), math.sin(self.angle)
            m.ground.rotation = (0, 0, self.angle)
            m.gravity = vector_in_texts(self.old.gravity, np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]))


class Units(Change):
    """Lengths in millimetres, masses in grams: every number in the units that it has."""

    L, M = 1000.0, 1000.0

    def applies(self) -> bool:  # the damper of a stop sets in over 1 mm, whatever the size
        slides = [j for j in self.old.joints if velocity_lengths(j.type.kind).any()]
        return all(joint.type.limits is None for joint in slides)

    def place(self, body: str, place: Place) -> Place:
        return Place(place.body, place.p * self.L, place.R)

    def names(self) -> dict[str, str]:
        found = {"x": f"(x/{self.L})", "y": f"(y/{self.L})", "z": f"(z/{self.L})"}  # of surfaces
        for joint in self.old.joints:
            kind = joint.type.kind
            pairs = [*zip(joint.coordinates, coordinate_lengths(kind), strict=True)]
            pairs += zip(joint.velocities, velocity_lengths(kind), strict=True)
            found |= {str(name): f"({name}/{self.L})" for name, length in pairs if length}
        for name in (frame.name for frame in self.old.frames):
            names = [f"{name}.{axis}{prime}" for axis in "xyz" for prime in ("", "'")]
            found |= {each: f"({each}/{self.L})" for each in names}
        return found

    def body(self, body: Any) -> Any:
        return self.numbered(body, self.M, self.L)

    def joint(self, joint: Any) -> Any:
        type_, L, M = joint.type, self.L, self.M
        lengths = L ** velocity_lengths(type_.kind)
        strengths = M * (L / lengths) ** 2
        changed: dict[str, Any] = {"spring": each(type_.spring, strengths), "damping": each(type_.damping, strengths)}
        changed |= {"rest": each(type_.rest, lengths), "motion": each(type_.motion, self._motion(type_.kind))}
        if type_.limits is not None:
            one = not isinstance(type_.limits[0], tuple)
            stops = STOPS if type_.stops is None else type_.stops
            stops = stops if isinstance(stops[0], tuple) else (stops,) * len(lengths)
            limits = each((type_.limits,) if one else type_.limits, lengths)
            stops = each(stops, strengths)
            changed |= {"limits": limits[0] if one else limits, "stops": stops[0] if one else stops}
        if type_.kind == "Screw":
            changed["pitch"] = times(type_.pitch, L)
        known = {field.name for field in dataclasses.fields(type_)}
        return dataclasses.replace(type_, **{name: x for name, x in changed.items() if name in known and x is not None})

    def _motion(self, kind: str) -> Array:
        return self.L ** velocity_lengths(kind)

    def element(self, element: Any) -> Any:
        L, M = self.L, self.M
        kind = type(element).__name__
        if kind == "Contact":
            return self._contact(element)
        factors: dict[str, dict[str, float]] = {
            "PointForce": {"law": M * L, "moment": M * L * L},
            "Spring": {"stiffness": M, "damping": M, "rest": L},
            "Rack": {"radius": L, "offset": L},
            "ScrewCoupling": {"pitch": L, "offset": L},
            "Roll": {"radius": L, "ball": L},
            "DistanceElement": {"length": L},
        }
        by_joint = {joint.name: joint for joint in self.old.joints}
        if kind == "Torque":
            lengths = L ** velocity_lengths(by_joint[element.joint].type.kind)
            return dataclasses.replace(element, law=each(element.law, M * L * L / lengths))
        if kind == "Latch":
            (length,) = coordinate_lengths(by_joint[element.joint].type.kind)
            factors["Latch"] = {"at": L**length}
        if kind == "Couple":
            return self._couple(element)
        mine = {name: times(getattr(element, name), factor) for name, factor in factors.get(kind, {}).items()}
        return dataclasses.replace(element, **mine) if mine else element

    def _contact(self, c: Any) -> Any:
        L, M, linear = self.L, self.M, c.law == "linear"
        exponent = 1.5 if c.exponent is None else c.exponent
        changed = {name: times(getattr(c, name), L) for name in ("radius", "ball", "slip")}
        changed["stiffness"] = times(c.stiffness, M if linear else M * L ** (1 - exponent))
        changed["damping"] = times(c.damping, M if linear else 1 / L)
        if linear:
            changed["ramp"] = times(RAMP if c.ramp is None else c.ramp, L)
        return dataclasses.replace(c, **changed)

    def _couple(self, c: Any) -> Any:
        lengths = {
            str(name): float(self.L**length)
            for joint in self.old.joints
            for name, length in zip(joint.coordinates, coordinate_lengths(joint.type.kind), strict=True)
        }
        own = lengths[c.joint]
        if isinstance(c.to, Mapping):
            to: Any = {name: ratio * own / lengths[name] for name, ratio in c.to.items()}
            return dataclasses.replace(c, to=to, offset=c.offset * own)
        return dataclasses.replace(c, ratio=c.ratio * own / lengths[c.to], offset=c.offset * own)

    def rest(self, m: mt.Model) -> None:
        m.gravity = times(self.old.gravity, self.L)
        m.ground.position = times(self.old.ground.position, self.L)

    def coordinates(self, kind: str, q: Array) -> Array:
        return q * self.L ** coordinate_lengths(kind)

    def velocities(self, kind: str, u: Array) -> Array:
        return u * self.L ** velocity_lengths(kind)


class Mirrored(Change):
    """Seen in a mirror, y becomes -y: axes of turns are reversed besides, so that most coordinates stay."""

    def applies(self) -> bool:  # the axes of a plane are a convention that the mirror does not keep
        return all(joint.type.kind != "Planar" for joint in self.old.joints)

    def place(self, body: str, place: Place) -> Place:
        return Place(place.body, MIRROR @ place.p, MIRROR @ place.R @ MIRROR)

    def signs(self, kind: str, velocities: bool = False) -> Array:
        """Of coordinates and velocities."""
        turned = [-1.0, 1.0, -1.0]
        if kind in ("Spherical", "Free"):
            return np.array([1.0, -1.0, 1.0] * (kind == "Free") + turned + ([] if velocities else [1.0]))
        return np.array([1.0, -1.0]) if kind == "Cylindrical" else np.ones(len(coordinate_lengths(kind)))

    def names(self) -> dict[str, str]:
        found = {"y": "(-y)"}  # of surfaces
        for joint in self.old.joints:
            kind = joint.type.kind
            pairs = [*zip(joint.coordinates, self.signs(kind), strict=True)]
            pairs += zip(joint.velocities, self.signs(kind, velocities=True), strict=True)
            found |= {str(name): f"(-{name})" for name, sign in pairs if sign < 0}
        for name in (frame.name for frame in self.old.frames):
            found |= {f"{name}.{end}": f"(-{name}.{end})" for end in ("y", "y'", "wx", "wz")}
        return found

    def body(self, body: Any) -> Any:
        return self.numbered(body, 1.0, 1.0, mirrored=True)

    def joint(self, joint: Any) -> Any:
        type_, kind = joint.type, joint.type.kind
        axes = [(name, -1.0) for name in TURNING.get(kind, ())] + [(name, 1.0) for name in SLIDING.get(kind, ())]
        changed: dict[str, Any] = {
            name: tuple(map(float, sign * MIRROR @ self.reader.axis(getattr(type_, name)))) for name, sign in axes
        }
        if kind == "Screw":
            changed["pitch"] = times(type_.pitch, -1.0)
        if type_.motion is not None:
            changed["motion"] = each(type_.motion, self.signs(kind, velocities=True))
        if kind == "Cylindrical":
            changed["rest"] = each(type_.rest, (1.0, -1.0))
            if type_.limits is not None:
                slide, (low, high) = type_.limits
                changed["limits"] = (slide, (times(high, -1.0), times(low, -1.0)))
        return dataclasses.replace(type_, **changed)

    def element(self, element: Any) -> Any:
        kind, by_joint = type(element).__name__, {joint.name: joint for joint in self.old.joints}
        axis = {"Roll": "disc", "Skate": "across", "Contact": "disc"}.get(kind)
        if axis and getattr(element, axis) is not None:
            mirrored = tuple(map(float, MIRROR @ self.reader.axis(getattr(element, axis))))
            return dataclasses.replace(element, **{axis: mirrored})
        if kind == "PointForce":
            law, moment = vector_in_texts(element.law, MIRROR), vector_in_texts(element.moment, -MIRROR)
            return dataclasses.replace(element, law=law, moment=moment)
        if kind == "Torque":
            return dataclasses.replace(
                element, law=each(element.law, self.signs(by_joint[element.joint].type.kind, velocities=True))
            )
        if kind == "ScrewCoupling":
            return dataclasses.replace(element, pitch=times(element.pitch, -1.0))
        return self._couple(element) if kind == "Couple" else element

    def _couple(self, c: Any) -> Any:
        signs = {
            str(name): float(sign)
            for joint in self.old.joints
            for name, sign in zip(joint.coordinates, self.signs(joint.type.kind), strict=True)
        }
        own = signs[c.joint]
        if isinstance(c.to, Mapping):
            to: Any = {name: ratio * own * signs[name] for name, ratio in c.to.items()}
            return dataclasses.replace(c, to=to, offset=c.offset * own)
        return dataclasses.replace(c, ratio=c.ratio * own * signs[c.to], offset=c.offset * own)

    def rest(self, m: mt.Model) -> None:
        m.gravity = vector_in_texts(self.old.gravity, MIRROR)
        if self.old.ground.position is not None:
            m.ground.position = vector_in_texts(self.old.ground.position, MIRROR)
        if self.old.ground.rotation is not None:
            m.ground.rotation = vector_in_texts(self.old.ground.rotation, -MIRROR)

    def coordinates(self, kind: str, q: Array) -> Array:
        return q * self.signs(kind)

    def velocities(self, kind: str, u: Array) -> Array:
        return u * self.signs(kind, velocities=True)


class Permuted(Change):
    """Bodies, joints, forces and constraints in another order."""

    def __init__(self, model: mt.Model, random: np.random.Generator):
        super().__init__(model)
        self.random = random

    def rest(self, m: mt.Model) -> None:
        for name, part in vars(m).items():
            if isinstance(part, list) and name not in ("parameters", "inputs", "switches"):
                setattr(m, name, [part[i] for i in self.random.permutation(len(part))])


class Split(Change):
    """A body of a loop opened in two."""

    def __init__(self, model: mt.Model, random: np.random.Generator, closing: tuple[str, ...]):
        super().__init__(model)
        taken = {each.joint for each in (*model.splits, *model.releases)} | {each.name for each in model.switches}
        heavy = {body.name for body in model.bodies if not body.massless} - {each.body for each in model.splits}
        joints = [joint for joint in model.joints if joint.name in closing]
        ends = [(j.name, f.body) for j in joints for f in (j.first, j.second) if f.body in heavy]
        self.ends = [end for end in ends if end[0] not in taken]
        self.chosen = self.ends[random.integers(len(self.ends))] if self.ends else None
        self.share = float(random.uniform(0.2, 0.8))

    def applies(self) -> bool:
        return self.chosen is not None

    def rest(self, m: mt.Model) -> None:
        assert self.chosen is not None
        joint, body = self.chosen
        m.cuts = [name for name in m.cuts if name != joint]
        m.split(body, joint, self.share)


CHANGES: dict[str, Callable[..., Change]] = {
    "turned": lambda m, random, closing: Turned(m, random),
    "carried": lambda m, random, closing: Carried(m, random),
    "units": lambda m, random, closing: Units(m),
    "mirrored": lambda m, random, closing: Mirrored(m),
    "permuted": lambda m, random, closing: Permuted(m, random),
    "split": Split,
}
