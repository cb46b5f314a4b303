"""Couplings with the wheels, slides and arms that they need, on any body: as the model has them, and as rows.

The row of a coupling is what its teeth, belt or thread make of velocities of bodies as seen from the arm, about and
along directions of space: how joints are written, which way round and with which sign, is no part of it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import momentree as mt
from campaign.geometry import Array, cross, turn, unit
from campaign.reading import Place, Plain, _Reader
from constraint_oracle import seen
from mechanisms import random_body, random_frame

if TYPE_CHECKING:
    from campaign.constrained import Drawing


@dataclass(frozen=True)
class Geared:
    """A sum of velocities as seen from an arm, each along weights (of the angular velocity, of the velocity)."""

    name: str
    arm: Place
    parts: tuple[tuple[Place, Array, Array], ...]
    holonomic = False

    def velocity(self, at: Any) -> Array:
        total = 0.0
        for place, w, v in self.parts:
            s = seen(at, self.arm, place)
            total += float(w @ s.w + v @ s.v)
        return np.array([total])

    def bodies(self, plain: Plain) -> set[int]:
        return {self.arm.body, *(place.body for place, _, _ in self.parts)}


@dataclass
class Member:
    """A body on the arm by a hinge or slide along n (axes of the arm); `sign`: its coordinate counts along +n or -n."""

    joint: str
    body: Any
    sign: int
    written: int  # the same of the joint's axis alone, as it is written


class Station:
    """An arm with members whose axes are parallel; its coupling is written when their coordinates are known."""

    def __init__(self, drawing: Drawing, model: mt.Model, name: str, arm: Any = None):
        self.drawing, self.model, self.name, self.random = drawing, model, name, drawing.random
        bodies = [model.ground, *model.bodies]
        self.arm = arm if arm is not None else bodies[self.random.integers(len(bodies))]
        self.n = unit(self.random.standard_normal(3))
        self.members: list[Member] = []

    def member(
        self, kind: str = "Revolute", at: Array | None = None, arm: Any = None, n: Array | None = None
    ) -> Member:
        """A new body on the arm, its frames and the joint's direction and order at random."""
        m, random = self.model, self.random
        arm, n = self.arm if arm is None else arm, self.n if n is None else n
        body = random_body(random, m, f"{self.name}b{len(self.members) + 1}")
        on_arm, on_body = random_frame(random, arm), random_frame(random, body)
        if at is not None:
            on_arm = dataclasses.replace(on_arm, position=tuple(map(float, at)))
        written, first = (int(x) for x in random.choice([-1, 1], 2))
        axis = _Reader(m).place(on_arm).R.T @ n * written
        ends = [on_arm, on_body] if first > 0 else [on_body, on_arm]
        name = f"{self.name}j{len(self.members) + 1}"
        m.joint(name, getattr(mt, kind)(tuple(map(float, axis))), *ends)
        self.members.append(Member(name, body, written * first, written))
        return self.members[-1]

    def q(self, member: Member) -> float:
        """Its coordinate, counted along n."""
        return member.sign * float(self.drawing.coordinates()[member.joint][0])

    def turned_to(self, member: Member, q: float) -> None:
        """Let its coordinate, counted along n, be another one while all bodies stay: its second frame is turned."""
        drawing = self.drawing
        slot = drawing.slots()[member.joint]
        change = member.sign * q - float(drawing.q[slot][0])
        at = next(i for i, joint in enumerate(drawing.model.joints) if joint.name == member.joint)
        joint = drawing.model.joints[at]
        place = drawing.place(joint.second)
        R = place.R @ turn(unit(np.array(joint.type.axis, dtype=float)), change)
        second = dataclasses.replace(joint.second, rotation=tuple(tuple(map(float, row)) for row in R))
        drawing.model.joints[at] = dataclasses.replace(joint, second=second)
        drawing.q[slot] += change

    def keep(
        self, element: Any, *rows: tuple[tuple[Member, float], ...], arm: Any = None, n: Array | None = None
    ) -> None:
        """The rows of the coupling: weights of turns (or, of slides, of paths) of members about (along) n."""
        arm, n = self.arm if arm is None else arm, self.n if n is None else n
        kinds = {joint.name: type(joint.type).__name__ for joint in self.drawing.model.joints}
        place, nothing = self.drawing.place, np.zeros(3)
        for k, row in enumerate(rows):
            parts = []
            for member, weight in row:
                slides = kinds[member.joint] == "Prismatic"
                both = (nothing, weight * n) if slides else (weight * n, nothing)
                parts.append((place(member.body.at((0, 0, 0))), *both))
            self.drawing.conditions.append(Geared(f"{element.name} {k}", place(arm.at((0, 0, 0))), tuple(parts)))
        self.drawing.kinds.append(element.kind)
        self.drawing.freedom -= len(rows)


Write = Callable[[], None]


def gear(drawing: Drawing, model: mt.Model, name: str) -> Write:
    """Two wheels on an arm; ratio, teeth or radii; outside or inside; one perhaps on what carries the arm, in line."""
    if drawing.chance(0.4):
        return _carried_gear(drawing, model, name)
    s = Station(drawing, model, name)
    one, other = s.member(), s.member()

    def write() -> None:
        ratio, given, internal = _ratio(drawing)
        signed = -ratio if internal else ratio
        offset = one.sign * (s.q(one) + signed * s.q(other))
        element = drawing.model.gear(one.joint, other.joint, **given, internal=internal, offset=offset)
        s.keep(element, ((one, 1.0), (other, signed)))

    return write


def _carried_gear(drawing: Drawing, model: mt.Model, name: str) -> Write:
    s, arm, n, at = _arm(drawing, model, name)
    planet, centre = s.member(arm=arm.body, n=n), s.member(at=at)

    def write() -> None:
        ratio, given, internal = _ratio(drawing)
        signed = -ratio if internal else ratio
        offset = planet.sign * (s.q(planet) + signed * (s.q(centre) - s.q(arm)))
        element = drawing.model.gear(
            planet.joint, centre.joint, **given, internal=internal, carrier=arm.joint, offset=offset
        )
        s.keep(element, ((planet, 1.0), (centre, signed)), arm=arm.body, n=n)

    return write


def _arm(drawing: Drawing, model: mt.Model, name: str, holder: Any = None) -> tuple[Station, Member, Array, Array]:
    """A station whose first member is an arm; the axis in axes of the arm, and a point on it in the holder."""
    s = Station(drawing, model, name, holder)
    at = s.random.uniform(-1, 1, 3)
    arm = s.member(at=at)
    joint = model.joints[-1]
    frame = joint.second if joint.second.body == arm.body.name else joint.first
    axis = _Reader(model).place(frame).R @ np.array(joint.type.axis, dtype=float)
    return s, arm, unit(axis) * arm.written, at + s.n * float(s.random.uniform(-1, 1))


def _ratio(drawing: Drawing) -> tuple[float, dict[str, Any], bool]:
    ratio, internal = abs(drawing.number()) + 0.05, drawing.chance(0.4)
    one = abs(drawing.number())
    given: list[tuple[float, dict[str, Any]]] = [
        (ratio, {"ratio": ratio}),
        (ratio, {"radii": (one, one * ratio)}),
        (27 / 13, {"teeth": (13, 27)}),
    ]
    return *given[drawing.random.integers(3)], internal


def belt(drawing: Drawing, model: mt.Model, name: str) -> Write:
    s = Station(drawing, model, name)
    one, other = s.member(), s.member()

    def write() -> None:
        r1, r2, crossed = abs(drawing.number()), abs(drawing.number()), drawing.chance(0.5)
        signed = r2 / r1 * (1 if crossed else -1)
        offset = one.sign * (s.q(one) + signed * s.q(other))
        element = drawing.model.belt(one.joint, other.joint, (r1, r2), crossed, offset)
        s.keep(element, ((one, r1), (other, r1 * signed)))

    return write


def rack(drawing: Drawing, model: mt.Model, name: str) -> Write:
    s = Station(drawing, model, name)
    pinion = s.member()
    across = unit(cross(s.n, s.random.standard_normal(3)))
    slide = s.member("Prismatic", n=across)

    def write() -> None:
        radius = abs(drawing.number())
        place = drawing.place
        # about and along their axes as these are written
        turned, moved = pinion.written * s.q(pinion), slide.written * s.q(slide)
        offset = slide.written * slide.sign * (moved - radius * turned)
        element = drawing.model.rack(pinion.joint, slide.joint, radius, offset)
        parts = (
            (place(pinion.body.at((0, 0, 0))), -radius * pinion.written * s.n, np.zeros(3)),
            (place(slide.body.at((0, 0, 0))), np.zeros(3), slide.written * across),
        )
        drawing.conditions.append(Geared(element.name, place(s.arm.at((0, 0, 0))), parts))
        drawing.kinds.append(element.kind)
        drawing.freedom -= 1

    return write


def screw(drawing: Drawing, model: mt.Model, name: str) -> Write:
    s = Station(drawing, model, name)
    turned, slide = s.member(), s.member("Prismatic")

    def write() -> None:
        lead = drawing.number()
        offset = slide.sign * (s.q(slide) - lead / math.tau * s.q(turned))
        element = drawing.model.screw(turned.joint, slide.joint, lead, offset)
        s.keep(element, ((slide, 1.0), (turned, -lead / math.tau)))

    return write


def differential(drawing: Drawing, model: mt.Model, name: str) -> Write:
    s = Station(drawing, model, name)
    left, right, case = s.member(), s.member(), s.member()

    def write() -> None:
        s.turned_to(case, (s.q(left) + s.q(right)) / 2)
        element = drawing.model.differential(left.joint, right.joint, case.joint)
        s.keep(element, ((left, 1.0), (right, 1.0), (case, -2.0)))

    return write


def planetary(drawing: Drawing, model: mt.Model, name: str) -> Write:
    """Sun and ring on the ground or another holder, one of them perhaps fixed to the ground; perhaps a planet."""
    fixed = [None, "sun", "ring"][drawing.random.integers(3)]
    s, arm, n, at = _arm(drawing, model, name, model.ground if fixed else None)
    wheels = {what: s.member(at=at + 0.1 * k * s.n) for k, what in enumerate(("sun", "ring")) if what != fixed}
    planet = s.member(arm=arm.body, n=n) if drawing.chance(0.5) else None

    def write() -> None:
        teeth = {"sun": 20.0, "ring": 50.0}
        ground = Member(arm.joint, s.arm, 1, 1)
        turns = {what: s.q(wheel) - s.q(arm) for what, wheel in wheels.items()}
        if fixed:
            turns[fixed] = -s.q(arm)
        moved = "ring" if "ring" in wheels else "sun"
        other = "sun" if moved == "ring" else "ring"
        s.turned_to(wheels[moved], s.q(arm) - teeth[other] / teeth[moved] * turns[other])
        sun = s.q(wheels["sun"]) - s.q(arm) if "sun" in wheels else -s.q(arm)
        if planet:
            s.turned_to(planet, -teeth["sun"] / 15.0 * sun)
        sun_gear, ring_gear = (wheels[what].joint if what in wheels else None for what in ("sun", "ring"))
        planets = (planet.joint,) if planet else ()
        element = drawing.model.planetary(sun_gear, ring_gear, arm.joint, (20, 50), planets)
        both = {what: wheels.get(what, ground) for what in teeth}
        rows = [tuple((both[what], teeth[what]) for what in teeth)]
        if planet:
            rows.append(((both["sun"], teeth["sun"]), (planet, 15.0)))
        s.keep(element, *rows, arm=arm.body, n=n)

    return write


STATIONS: dict[str, Callable[[Drawing, mt.Model, str], Write]] = {
    function.__name__: function for function in (gear, belt, rack, screw, differential, planetary)
}
