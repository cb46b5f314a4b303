"""Random mechanisms with loops, prescribed joints, a moving ground and constraints of every kind that fit together."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import momentree as mt
from campaign.geometry import Array, unit
from campaign.reading import Place, _Reader, read
from constraint_oracle import Apart, ConstrainedOracle, Expression, Guided, Rolls, Skates, seen
from mechanisms import random_frame, random_loops
from momentree.model.expressions.expression import parse
from momentree.model.higher_pairs import Distance, OnSurfaces, Rolling, Skating
from momentree.spatial import Vector
from momentree.structure.mechanism import Constraint, Loop, Mechanism
from momentree.system import System

JOINTS = ("Revolute", "Revolute", "Prismatic", "Screw", "Cylindrical", "Universal", "PinSlot", "Spherical", "Planar")
TREE = (*JOINTS, "Free")
CLOSING = {"Spherical": 3, "Planar": 3, "Cylindrical": 4, "Universal": 4, "Revolute": 5}  # with the rows they have
WELL_POSED = 3e-3  # singular values of all rows, each of unit length: those below leave it to chance what is redundant


@dataclass
class Case:
    """A mechanism at a configuration where all fits, and its constraints as the oracle knows them."""

    model: mt.Model
    mechanism: Mechanism
    conditions: list[Any]
    q: Array
    kinds: list[str]

    def system(self, code: str | None = None) -> System:
        return System(self.mechanism, self.model, code)

    def oracle(self, q: Array, u: Array, t: float = 0.0) -> ConstrainedOracle:
        """The oracle at a state of the tree."""
        oracle = ConstrainedOracle(read(self.model), t, self.conditions)
        free = [body for body in self.mechanism.bodies if not body.laws]
        oracle.place(
            {body.joint.name: np.asarray(q)[body.q] for body in free},
            {body.joint.name: np.asarray(u)[body.v] for body in free},
        )
        return oracle

    def by_joint(self, values: dict[str, Array]) -> Array:
        """Values of the joints of the tree, in the order of its velocities."""
        free = [body for body in self.mechanism.bodies if not body.laws]
        return np.concatenate([np.zeros(0), *(values[body.joint.name] for body in free)])


class Drawing:
    """A case while it is drawn."""

    def __init__(self, seed: Any, bodies: tuple[int, int] = (3, 5)):
        self.random = np.random.default_rng(seed)
        self.model = self._surroundings()
        chosen = [str(kind) for kind in self.random.choice(TREE, self.random.integers(*bodies, endpoint=True))]
        closing = [str(kind) for kind in self.random.choice(list(CLOSING), self.random.choice(3, p=(0.35, 0.4, 0.25)))]
        self.model, self.q = random_loops(self.random, chosen, closing, self.model)
        self.mechanism = self.model.build().mechanism
        self.freedom = self.mechanism.nv - sum(CLOSING[kind] for kind in closing)
        self.frames: dict[str, Any] = {}
        self.conditions: list[Any] = []
        self.constraints: list[Constraint] = []
        self.pairs: list[tuple[str, Any, Any, Any]] = []
        self.kinds = [f"closing {kind}" for kind in closing]
        self.oracle = Case(self.model, self.mechanism, [], self.q, []).oracle(self.q, np.zeros(self.mechanism.nv))
        for name in ("tip", "rim"):
            self.frames[name] = self.some_frame()

    def _surroundings(self) -> mt.Model:
        m = mt.Model("constrained", gravity=tuple(self.random.uniform(-9, 9, 3)))
        if self.chance(0.3):
            a, b, c = self.random.uniform(-0.6, 0.6, 3)
            m.ground.moves((f"{a}*sin(2*t)", f"0.3 + {b}*t", "0.3*cos(t)"), (f"0.4 + {c}*t", "0.3*sin(t + 1)", f"{a}"))
        if self.chance(0.3):
            carrier = m.body("carrier", mt.sphere(mass=1.0, radius=0.2))
            m.joint("driver", mt.Cylindrical("z", motion=("0.3*sin(t + 1)", "0.2 + t*(1 - t)")), carrier, m.ground)
        return m

    # --- chance ---

    def chance(self, p: float) -> bool:
        return bool(self.random.random() < p)

    def number(self) -> float:
        return round(float(self.random.choice([-1, 1]) * self.random.uniform(0.3, 1.5)), 3)

    def direction(self) -> Array:
        return unit(self.random.standard_normal(3))

    def some_frame(self, other_than: Any = None) -> Any:
        bodies = [self.model.ground, *self.model.bodies]
        if other_than is not None:
            bodies = [body for body in bodies if getattr(body, "name", "ground") != other_than.body]
        return random_frame(self.random, bodies[self.random.integers(len(bodies))])

    def place(self, frame: Any) -> Place:
        return _Reader(self.model).place(frame)

    def names(self, count: int, velocities: bool = False) -> list[str]:
        """Some coordinates or velocities of the tree, or of prescribed joints."""
        tree = [body.joint.name for body in self.mechanism.bodies]
        joints = [joint for joint in self.oracle.plain.joints if joint.name in tree]
        found = [name for joint in joints for name in (joint.velocities if velocities else joint.names)]
        return [str(name) for name in self.random.choice(found, count)]

    # --- constraints ---

    def keep(self, kind: str, text: str, holonomic: bool) -> None:
        """An expression; of positions, less its value here."""
        name = f"{kind} {len(self.conditions)}"
        frames = {key: self.place(frame) for key, frame in self.frames.items()}
        if holonomic:
            text = f"{text} - ({float(Expression('', text, True, frames).value(self.oracle)[0])!r})"
        self.conditions.append(Expression(name, text, holonomic, frames))
        self.constraints.append(Constraint(name, parse(text), holonomic))
        self.kinds.append(kind)
        self.freedom -= 1

    def pair(self, kind: str, condition: Any, pair: Any, first: Any, second: Any, rows: int) -> None:
        self.conditions.append(condition)
        self.pairs.append((condition.name, pair, first, second))
        self.kinds.append(kind)
        self.freedom -= rows

    def linear_coupling(self) -> None:
        x, y, z = self.names(3)
        self.keep("linear coupling", f"{self.number()}*{x} + {self.number()}*{y} + {self.number()}*{z}", True)

    def coupling(self) -> None:
        x, y = self.names(2)
        text = f"sin({x})*{y} + {self.number()}*{x} + exp(0.2*{y})*{self.number()} + 0.4*{x}^2"
        self.keep("coupling", text, True)

    def frame_coupling(self) -> None:
        (x,) = self.names(1)
        text = f"tip.x^2*rim.y + {self.number()}*tip.z + sin(tip.y)*{x} + {self.number()}*{x}"
        self.keep("coupling with frames", text, True)

    def driven_coupling(self) -> None:
        x, y = self.names(2)
        self.keep("rheonomic", f"{self.number()}*{x} + sin({y} + 2*t)*{self.number()} + 0.3*cos(t)*rim.z", True)

    def on_velocities(self) -> None:
        (x, y), (u, w) = self.names(2), self.names(2, velocities=True)
        text = f"({self.number()} + 0.3*sin({x}))*{u} + ({y} + {self.number()})*{w} - 0.3*cos(t + {x})"
        self.keep("nonholonomic", text, False)

    def frame_velocities(self) -> None:
        (x,), (u,) = self.names(1), self.names(1, velocities=True)
        text = f"cos({x})*tip.x' + {self.number()}*tip.y' + rim.y*tip.wz + rim.x*rim.z' + t*tip.z*{u} + 0.2*rim.wx"
        self.keep("nonholonomic with frames", text, False)

    def rolling(self) -> None:
        second = self.some_frame()
        first, radius = self.some_frame(other_than=second), abs(self.number()) * 0.4
        disc = self.direction() if self.chance(0.5) else None
        ball = None if self.chance(0.5) else 1.0 if self.chance(0.7) else -1.0
        name = f"rolling {len(self.conditions)}"
        a, b = self.place(first), self.place(second)
        trial = Rolls(name, a, b, radius, disc, ball)
        s = seen(self.oracle, a, b)
        gap = trial.gap(self.oracle)
        if ball is None:  # the plane is moved along its normal
            first = dataclasses.replace(first, position=tuple(map(float, a.p + a.R @ np.array([0, 0, gap]))))
        else:
            if ball < 0 and np.linalg.norm(s.p) < 0.1:
                return
            ball = float(ball * np.linalg.norm(s.p + trial.contact(s)))
        condition = Rolls(name, self.place(first), b, radius, disc, ball)
        pair = Rolling(radius=radius, disc=None if disc is None else Vector(*map(float, disc)), ball=ball)
        self.pair(f"rolling {'ball' if disc is None else 'disc'}{'' if ball is None else ' on a ball'}",
                  condition, pair, first, second, 3)  # fmt: skip

    def skating(self) -> None:
        second = self.some_frame()
        first, across = self.some_frame(other_than=second), self.direction()
        condition = Skates(f"skating {len(self.conditions)}", self.place(first), self.place(second), across)
        self.pair("skating", condition, Skating(across=Vector(*map(float, across))), first, second, 1)

    def distance(self) -> None:
        second = self.some_frame()
        first = self.some_frame(other_than=second)
        a, b = self.place(first), self.place(second)
        length = float(np.linalg.norm(seen(self.oracle, a, b).p))
        condition = Apart(f"distance {len(self.conditions)}", a, b, length)
        self.pair("distance", condition, Distance(length=length), first, second, 1)

    def surface(self) -> None:
        self._guided((f"x^2 + sin(y)*{self.number()} + {self.number()}*z",))

    def moving_surface(self) -> None:
        self._guided((f"x*y + {self.number()}*z + sin(x + t)*0.4 + {self.number()}*x",))

    def curve(self) -> None:
        self._guided((f"{self.number()}*y - sin(x)", f"{self.number()}*z - 0.3*x*y + 0.2*x*cos(t)"))

    def _guided(self, texts: tuple[str, ...]) -> None:
        second = self.some_frame()
        first = self.some_frame(other_than=second)
        places = self.place(first), self.place(second)
        values = Guided("", *places, texts).value(self.oracle)
        texts = tuple(f"{text} - ({float(x)!r})" for text, x in zip(texts, values, strict=True))
        condition = Guided(f"guided {len(self.conditions)}", *places, texts)
        kind = "surface" if len(texts) == 1 else "curve"
        self.pair(kind, condition, OnSurfaces(expressions=tuple(map(parse, texts))), first, second, len(texts))

    def duplicate(self) -> None:
        """One of the constraints once more: redundant."""
        if self.constraints and (self.chance(0.5) or not self.pairs):
            again = self.constraints[self.random.integers(len(self.constraints))]
            of = next(c for c in self.conditions if c.name == again.name)
            text = f"-2.5*({of.text})"
            self.conditions.append(Expression(f"{of.name} again", text, of.holonomic, of.frames))
            self.constraints.append(Constraint(f"{of.name} again", parse(text), of.holonomic))
        else:
            name, *rest = self.pairs[self.random.integers(len(self.pairs))]
            of = next(c for c in self.conditions if c.name == name)
            self.conditions.append(dataclasses.replace(of, name=f"{name} again"))
            self.pairs.append((f"{name} again", *rest))
        self.kinds.append("redundant")

    def case(self) -> Case:
        mechanism = self.mechanism
        loops = [Loop(name, pair, mechanism.attach(a), mechanism.attach(b), None) for name, pair, a, b in self.pairs]
        mechanism = dataclasses.replace(
            mechanism,
            frames=tuple((name, mechanism.attach(frame)) for name, frame in self.frames.items()),
            loops=(*mechanism.loops, *loops),
            constraints=tuple(self.constraints),
        )
        return Case(self.model, mechanism, self.conditions, self.q, self.kinds)


KINDS: dict[str, Callable[[Drawing], None]] = {
    "linear coupling": Drawing.linear_coupling,
    "coupling": Drawing.coupling,
    "coupling with frames": Drawing.frame_coupling,
    "rheonomic": Drawing.driven_coupling,
    "nonholonomic": Drawing.on_velocities,
    "nonholonomic with frames": Drawing.frame_velocities,
    "rolling": Drawing.rolling,
    "skating": Drawing.skating,
    "distance": Drawing.distance,
    "surface": Drawing.surface,
    "moving surface": Drawing.moving_surface,
    "curve": Drawing.curve,
}


def constrained(seed: int, kinds: list[str] | None = None, bodies: tuple[int, int] = (3, 5)) -> Case:
    """A case with one to four constraints at random, or with these, drawn again until it is well posed and can move."""
    names = [*KINDS, *(name for name in KINDS if name.startswith(("rolling", "linear"))), "rolling"]
    for attempt in range(200):
        drawing = Drawing([seed, attempt], bodies)
        count = drawing.random.integers(1, 5)
        for kind in kinds or drawing.random.choice(names, count):
            if kinds or drawing.freedom > (3 if kind == "rolling" else 2):
                KINDS[str(kind)](drawing)
        if drawing.freedom < 1 or not drawing.conditions:
            continue
        if kinds is None and drawing.chance(0.25):
            drawing.duplicate()
        case = drawing.case()
        if well_posed(case):
            return case
    raise RuntimeError("no case found")


def well_posed(case: Case) -> bool:
    """Whether it is clear which rows are redundant, none contradicts another, and it can move."""
    oracle = case.oracle(case.q, np.zeros(case.mechanism.nv))
    sizes = oracle.singular_values
    if ((sizes > 1e-11) & (sizes < WELL_POSED)).any() or not oracle.freedom or oracle.conditioning > 1e6:
        return False
    oracle.moving(oracle.consistent(np.ones((len(oracle.plain.bodies), 6))))
    return bool(np.abs(oracle.condition_velocities()).max(initial=0.0) < 1e-9) and oracle.answer().inconsistent < 1e-7
