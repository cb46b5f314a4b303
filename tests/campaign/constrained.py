"""The second family: random mechanisms with constraints, couplings, forces, inputs and switches of every kind.

Trees, loops, prescribed joints, a moving ground and most constraints are those of random_constraints.py; here they are
written into a model, with couplings of stations.py, force elements, and what an event would change.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import momentree as mt
import random_constraints
from campaign.generator import Sample
from campaign.geometry import Array
from campaign.stations import STATIONS
from constraint_oracle import Guided, Rolls, seen
from momentree.errors import ModelError
from momentree.model.constraint_elements import CONSTRAINT_ELEMENTS
from momentree.model.higher_pairs import Distance, Rolling, Skating
from random_constraints import KINDS, Case, well_posed

EDITION = 1  # of this family
ATTEMPTS = 300
LATER = 50  # s: switches and releases that name this time have not happened yet
ONE_COORDINATE = ("Revolute", "Prismatic", "Screw")


@dataclass(frozen=True)
class ConstrainedSample(Sample):
    """A mechanism with its conditions, as the oracle knows them."""

    conditions: tuple[Any, ...]


class Drawing(random_constraints.Drawing):
    """A case while it is drawn, with its model."""

    def __init__(self, seed: Any):
        self.waiting: list[Callable[[], None]] = []
        self.written: list[tuple[str, Any, Any]] = []  # collection, element and condition
        super().__init__(seed, (1, 4))
        self.q = np.array(self.q, dtype=float)
        self.closing = [joint.name for joint in self.model.joints if joint.name in self.model.cuts]
        for options in (sprung, damped, stopped):
            if self.chance(0.2):
                options(self)
        for write in self.waiting:
            write()
        for name, frame in self.frames.items():
            self.model.frame(name, frame)
        self.mechanism = self._without_couplings().build().mechanism
        self.oracle = Case(self.model, self.mechanism, [], self.q, []).oracle(self.q, np.zeros(self.mechanism.nv))

    def _without_couplings(self) -> mt.Model:
        """Just what moves: constraints do not change the tree."""
        m = self.model.copied()
        for kind in CONSTRAINT_ELEMENTS:
            setattr(m, kind.collection, [])
        return m

    def _surroundings(self) -> mt.Model:
        m = super()._surroundings()
        names = list(STATIONS)
        for k in range(int(self.random.choice(3, p=(0.4, 0.45, 0.15)))):
            kind = str(self.random.choice(names))
            self.waiting.append(STATIONS[kind](self, m, f"g{k}"))
        if self.chance(0.3):
            m.input("push", self.number(), "N", "of a hand")
        return m

    def slots(self) -> dict[str, slice]:
        """Where the coordinates of joints of the tree are in q."""
        return {body.joint.name: body.q for body in self.mechanism.bodies if not body.laws}

    def coordinates(self) -> dict[str, Array]:
        return {name: self.q[slot] for name, slot in self.slots().items()}

    def keep(self, kind: str, text: str, holonomic: bool) -> None:
        super().keep(kind, text, holonomic)
        condition = self.conditions[-1]
        self.written.append(("constraints", self.model.constrain(condition.text, condition.name), condition))

    def pair(self, kind: str, condition: Any, pair: Any, first: Any, second: Any, rows: int) -> None:
        if isinstance(pair, Rolling) and self._crosses(condition):
            return
        super().pair(kind, condition, pair, first, second, rows)
        m, name = self.model, condition.name
        if isinstance(pair, Rolling):
            disc = None if pair.disc is None else tuple(map(float, pair.disc))
            friction = 1e3 if self.chance(0.3) else None
            element: Any = m.roll(second, first, pair.radius, disc, pair.ball, friction, name)
        elif isinstance(pair, Skating):
            element = m.skate(second, tuple(map(float, pair.across)), first, name)
        elif isinstance(pair, Distance):
            element = m.distance(first, second, pair.length, name)
        elif len(condition.texts) == 1:
            element = m.on_surface(second, condition.texts[0], first, name)
        else:
            element = m.on_curve(second, condition.texts, first, name)
        self.written.append((element.collection, element, condition))

    def _crosses(self, rolls: Rolls) -> bool:
        """Whether a disc on a ball reaches beyond the centre of the ball, where nothing is in contact."""
        s = seen(self.oracle, rolls.first, rolls.second)
        return rolls.ball is not None and rolls.ball > 0 and float((s.p + rolls.contact(s)) @ rolls.contact(s)) > 0

    def couple(self) -> None:
        """A coordinate that follows one or two others."""
        names = [name for joint in self._simple() for name in joint.names]
        if len(names) < 3:
            return
        follower, *others = (str(name) for name in self.random.choice(names, 3, replace=False))
        ratios = {name: self.number() for name in others[: 1 + self.chance(0.5)]}
        text = follower + "".join(f" - ({ratio!r})*{name}" for name, ratio in ratios.items())
        super().keep("couple", text, True)
        condition = self.conditions[-1]
        offset = float(condition.text.rpartition(" - (")[2].rstrip(")"))
        to: Any = ratios if len(ratios) > 1 or self.chance(0.2) else next(iter(ratios))
        ratio = 1 if isinstance(to, dict) else ratios[to]
        self.written.append(("couples", self.model.couple(follower, to, ratio, offset, condition.name), condition))

    def _simple(self) -> list[Any]:
        tree = self.slots()
        joints = self.oracle.plain.joints
        return [joint for joint in joints if joint.name in tree and joint.kind not in ("Spherical", "Free", "Fixed")]

    def duplicate(self) -> None:
        """One of the constraints once more: redundant."""
        if not self.written:
            return
        collection, element, condition = self.written[self.random.integers(len(self.written))]
        again = dataclasses.replace(element, name=f"{element.name} again")
        getattr(self.model, collection).append(again)
        self.conditions.append(dataclasses.replace(condition, name=again.name))
        self.written.append((collection, again, self.conditions[-1]))
        self.kinds.append("redundant")

    def case(self) -> Case:
        return Case(self.model, self.model.build().mechanism, self.conditions, self.q, self.kinds)


# --- joints with options ---


def _with(drawing: Drawing, **options: Any) -> None:
    """Give a joint with one coordinate more options: of the tree or one that closes a loop."""
    joints = drawing.model.joints
    some = [i for i, c in enumerate(joints) if c.type.kind in ONE_COORDINATE and c.type.motion is None]
    if some:
        i = some[drawing.random.integers(len(some))]
        joints[i] = dataclasses.replace(joints[i], type=dataclasses.replace(joints[i].type, **options))


def sprung(drawing: Drawing) -> None:
    _with(drawing, spring=abs(drawing.number()) * 5, rest=drawing.number())
    drawing.kinds.append("joint spring")


def damped(drawing: Drawing) -> None:
    _with(drawing, damping=abs(drawing.number()))
    drawing.kinds.append("damping")


def stopped(drawing: Drawing) -> None:
    low = drawing.number()
    _with(drawing, limits=(low, low + 0.5), stops=(abs(drawing.number()) * 10, abs(drawing.number())))
    drawing.kinds.append("stop")


# --- forces ---


def _law(drawing: Drawing) -> str:
    (x,), (u,) = drawing.names(1), drawing.names(1, velocities=True)
    text = f"{drawing.number()}*sin({x} + t) - {drawing.number()}*{u}"
    return f"{text} + {drawing.number()}*push" if drawing.model.inputs else text


def force(drawing: Drawing) -> None:
    laws = tuple(_law(drawing) if drawing.chance(0.5) else drawing.number() for _ in range(3))
    moment = tuple(_law(drawing) if drawing.chance(0.5) else drawing.number() for _ in range(3))
    drawing.model.force(drawing.some_frame(), laws, moment, ("ground", "body")[drawing.random.integers(2)])


def torque(drawing: Drawing) -> None:
    joints = drawing._simple()
    if joints:
        joint = joints[drawing.random.integers(len(joints))]
        laws = tuple(_law(drawing) for _ in range(joint.freedom))
        drawing.model.torque(joint.name, laws[0] if len(laws) == 1 else laws)


def spring(drawing: Drawing) -> None:
    second = drawing.some_frame()
    k, c, rest = (abs(drawing.number()) for _ in range(3))
    only = drawing.chance(0.3)
    drawing.model.spring(drawing.some_frame(other_than=second), second, 5 * k, c, rest, tension_only=only)


def contact(drawing: Drawing) -> None:
    """Of a point, ball or disc with a plane or ball, in it or just outside."""
    second = drawing.some_frame()
    first = drawing.some_frame(other_than=second)
    radius = 0.0 if drawing.chance(0.2) else 0.4 * abs(drawing.number())
    disc = drawing.direction() if radius and drawing.chance(0.4) else None
    ball = 1.0 if drawing.chance(0.4) and disc is None else None
    a, b, depth = drawing.place(first), drawing.place(second), float(drawing.random.uniform(-0.02, 0.05))
    gap = Rolls("", a, b, radius, disc, ball).gap(drawing.oracle)
    if ball is None:
        first = dataclasses.replace(first, position=tuple(map(float, a.p + a.R @ np.array([0, 0, gap + depth]))))
    elif 1.0 + gap + depth < 0.1:
        return
    else:
        ball = float(1.0 + gap + depth)
    numbers: dict[str, Any] = {"radius": radius, "disc": disc, "ball": ball, "stiffness": 100.0, "damping": 0.3}
    if drawing.chance(0.4):
        numbers |= {"law": "hunt-crossley"} | ({"exponent": 1.3} if drawing.chance(0.5) else {})
    else:
        numbers |= {"ramp": 0.01} if drawing.chance(0.5) else {}
    if drawing.chance(0.6):
        numbers |= {"friction": 0.4, "slip": 0.1}
    drawing.model.contact(second, first, **numbers)


# --- what an event would change ---


def latch(drawing: Drawing) -> None:
    """Of a joint that is far from where it locks."""
    joints = [joint for joint in drawing._simple() if joint.kind in ONE_COORDINATE and joint.motion is None]
    if joints:
        joint = joints[drawing.random.integers(len(joints))]
        drawing.model.latch(joint.name, float(drawing.coordinates()[joint.name][0]) + 3)


def release(drawing: Drawing) -> None:
    if drawing.closing:
        name = drawing.closing.pop()
        drawing.model.release(name, **({"at": LATER} if drawing.chance(0.5) else {"when": f"t - {LATER}"}))


def switched(drawing: Drawing) -> None:
    """A constraint that acts until later, or one that will act, and does not yet."""
    if drawing.closing and drawing.chance(0.3):
        drawing.model.switch(drawing.closing.pop(), off=f"t - {LATER}")
        return
    if not drawing.written:
        return
    _, element, condition = drawing.written[drawing.random.integers(len(drawing.written))]
    if element.name in [switch.name for switch in drawing.model.switches]:
        return
    if drawing.chance(0.5):
        drawing.model.switch(element.name, off=f"t - {LATER}")
        return
    drawing.model.switch(element.name, on=f"t - {LATER}", off=f"t - {2 * LATER}")
    drawing.conditions.remove(condition)
    drawing.freedom += rows_of(condition)


def happening(model: mt.Model, at: float) -> mt.Model:
    """The same with joints released, and constraints that act switched off, at a time."""
    m = model.copied()
    m.switches = [dataclasses.replace(each, off=f"t - {at}") if each.on is None else each for each in model.switches]
    m.releases = [dataclasses.replace(each, when=None, at=at) for each in model.releases]
    return m


def rows_of(condition: Any) -> int:
    """How many rows a condition has."""
    return 3 if isinstance(condition, Rolls) else len(condition.texts) if isinstance(condition, Guided) else 1


MORE_KINDS: dict[str, Callable[[Any], None]] = {**KINDS, "couple": Drawing.couple}
LOADS = {"force": force, "torque": torque, "spring": spring, "contact": contact}
EVENTS = {"latch": latch, "release": release, "switch": switched}


def drawn(seed: int, attempt: int) -> Drawing | None:
    """One attempt: None where too much is constrained."""
    drawing = Drawing([7, EDITION, seed, attempt])
    names = [*MORE_KINDS, "couple", "couple"]
    for kind in drawing.random.choice(names, drawing.random.integers(0 if drawing.conditions else 1, 4)):
        if drawing.freedom > (3 if str(kind).startswith("rolling") else 2):
            MORE_KINDS[str(kind)](drawing)
    if drawing.freedom < 1 or not drawing.conditions:
        return None
    for put in LOADS.values():
        if drawing.chance(0.3):
            put(drawing)
    if drawing.chance(0.2):
        drawing.duplicate()
    for put in EVENTS.values():
        if drawing.chance(0.12):
            put(drawing)
    return drawing


def sample(seed: int) -> ConstrainedSample:
    """The mechanism of a seed, drawn again until it is well posed and can move."""
    for attempt in range(ATTEMPTS):
        drawing = drawn(seed, attempt)
        if drawing is None:
            continue
        try:
            case = drawing.case()
        except ModelError:  # gears that leave open who carries whom
            continue
        if not well_posed(case):
            continue
        case.model.name = f"constrained mechanism {seed}"
        oracle = case.oracle(case.q, np.zeros(case.mechanism.nv))
        free = [jm for jm in oracle.joints if jm.joint.motion is None and jm.joint.freedom]
        coordinates = {jm.joint.name: tuple(map(float, jm.q)) for jm in free}
        return ConstrainedSample(seed, case.model, coordinates, 0.0, features(case), tuple(case.conditions))
    raise RuntimeError("no mechanism found")


def features(case: Case) -> tuple[str, ...]:
    """What is in it: the lists of the model that are not empty, its joints, and how constraints were drawn."""
    lists = [name for name, part in vars(case.model).items() if isinstance(part, list) and part]
    joints = [joint.type.kind for joint in case.model.joints]
    prescribed = ["prescribed"] if any(joint.type.motion is not None for joint in case.model.joints) else []
    ground = ["moving ground"] if case.model.ground.position is not None else []
    return tuple(sorted({*lists, *joints, *case.kinds, *prescribed, *ground}))
