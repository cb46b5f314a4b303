"""Every kind of force element of the library, kinds that only tests have, and a skew mechanism that carries any.

The kinds of the library are found by their classes. Those that only tests have are of sorts that it lacks: they use the
axes of both frames, take any number of frames, or have a potential or a dissipation alone.
"""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import pkgutil
import sys
import types
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import momentree as mt
from momentree import structure
from momentree.model.expressions.expression import reference
from momentree.spatial import ZERO, Force, Scalar, X, Z
from momentree.structure.force_element import ForceElement, WorkTerm
from momentree.structure.parts import Attached
from recipes import recipes


def subclasses(cls):
    """All of a class that the library has."""
    for module in pkgutil.iter_modules(structure.__path__):
        importlib.import_module(f"{structure.__name__}.{module.name}")
    found = [each for direct in cls.__subclasses__() for each in (direct, *subclasses(direct))]
    return [each for each in found if each.__module__.startswith("momentree.")]


KINDS = subclasses(ForceElement)


# --- kinds that only tests have ---


@dataclass(frozen=True)
class Aligner(ForceElement):
    """Turns the z axis of the first frame towards the x axis of the second: -k z1.x2, and damps the rotation."""

    kind = "aligner"
    first: Attached
    second: Attached
    k: Scalar
    c: Scalar

    def wrenches(self, ends, names):
        first, second = ends
        a, b = first.direction(Z), second.direction(X)
        moment = a.cross(b) * self.k - (first.angular_velocity - second.angular_velocity) * self.c
        parts = zip(ends, (moment, -moment), strict=True)
        return tuple(end.wrench(Force(ZERO, end.rotation.T @ part)) for end, part in parts)

    def potential(self, ends):
        first, second = ends
        return -self.k * (first.direction(Z) @ second.direction(X))

    @property
    def works(self):
        return (WorkTerm(self.title, "drag"),)

    def powers(self, ends, names):
        w = ends[0].angular_velocity - ends[1].angular_velocity
        return (-self.c * (w @ w),)


@dataclass(frozen=True)
class Cushion(ForceElement):
    """Three springs along the axes of the first frame, with a damper that moves along."""

    kind = "cushion"
    first: Attached
    second: Attached
    stiffness: tuple[Scalar, Scalar, Scalar]
    c: Scalar

    @classmethod
    def random(cls, frames, generator):
        return cls("cushion 1", "", *frames[:2], tuple(map(float, generator.uniform(0.5, 2, 3))), 0.3)

    def _motion(self, ends):
        first, second = ends
        d, R = second.origin - first.origin, first.rotation
        return R.T @ d, R.T @ (second.velocity - first.velocity - first.angular_velocity.cross(d))

    def wrenches(self, ends, names):
        first, second = ends
        p, u = self._motion(ends)
        parts = zip(self.stiffness, p, u, strict=True)
        f = first.rotation @ type(p)(*(-k * x - self.c * v for k, x, v in parts))
        return first.force(-f, second.origin - first.origin), second.force(f)

    def potential(self, ends):
        return sum(k * x * x / 2 for k, x in zip(self.stiffness, self._motion(ends)[0], strict=True))

    @property
    def works(self):
        return (WorkTerm(self.title, "drag"),)

    def powers(self, ends, names):
        _, u = self._motion(ends)
        return (-self.c * (u @ u),)


@dataclass(frozen=True)
class Cable(ForceElement):
    """A cable over any number of points under a constant tension: a tuple of frames, and a potential alone."""

    kind = "cable"
    via: tuple[Attached, ...]
    tension: Scalar

    @classmethod
    def random(cls, frames, generator):
        return cls("cable 1", "", tuple(frames), float(generator.uniform(1, 3)))

    def wrenches(self, ends, names):
        total = [Force.zero() for _ in ends]
        for i, (a, b) in enumerate(itertools.pairwise(ends)):
            d = b.origin - a.origin
            f = d * (self.tension / d.norm)
            total[i], total[i + 1] = total[i] + a.force(f), total[i + 1] + b.force(-f)
        return tuple(total)

    def potential(self, ends):
        return self.tension * sum((b.origin - a.origin).norm for a, b in itertools.pairwise(ends))


@dataclass(frozen=True)
class Drag(ForceElement):
    """A damper along the line between two points: a dissipation alone, which needs no word about its work."""

    kind = "drag"
    first: Attached
    second: Attached
    c: Scalar

    def wrenches(self, ends, names):
        first, second = ends
        d = second.origin - first.origin
        f = d * (self.c * (d @ (second.velocity - first.velocity)) / (d @ d))
        return first.force(f), second.force(-f)


def documented():
    """The frozen kind that docs/EXTENDING.md adds, made from what stands there."""
    (recipe,) = (each for each in recipes() if each.title == "A force element")
    (text,) = (text for path, text in recipe.files.items() if path.startswith("src/"))
    module = sys.modules["documented_force_element"] = types.ModuleType("documented_force_element")
    exec(text, vars(module))
    return next(
        kind for kind in vars(module).values() if dataclasses.is_dataclass(kind) and kind.__module__ == module.__name__
    )


ONLY_HERE = [Aligner, Cushion, Cable, Drag, documented()]


# --- a mechanism ---


class Trial(NamedTuple):
    """An element that a model is to have: a random one of a kind, its numbers free parameters or not."""

    kind: type
    seed: int
    on: tuple[mt.model.frames.Frame, ...]
    free: bool = False


def frozen_trial(trial, number, freezing):
    """A way to freeze it, for FROZEN."""
    element = trial.kind.random([freezing.attach(frame) for frame in trial.on], np.random.default_rng(trial.seed))
    if trial.free:
        element = dataclasses.replace(element, **{name: value for name, value, _ in free_numbers(element)})
    return dataclasses.replace(element, name=f"{trial.kind.kind} {number}")


def free_numbers(element):
    """Fields that are numbers: names, with free parameters as values, and what these are called."""
    for field in dataclasses.fields(element):
        value = getattr(element, field.name)
        several = value if type(value) is tuple else (value,)
        if several and all(isinstance(x, float) for x in several):
            names = {f"p_{field.name}_{i}": x for i, x in enumerate(several)}
            free = tuple(map(reference, names))
            yield field.name, free if type(value) is tuple else free[0], names


def frame_on(body, random):
    turned = mt.turn(tuple(random.normal(size=3)), float(random.uniform(0.3, 2)))
    return body.at(tuple(random.uniform(-0.3, 0.3, 3)), turned)


def skew_arm(kind=None, seed=0, loop=False, moving=True, joint=None, split=False, free=False):
    """A skew arm on a moving base, perhaps with a loop: with an element from its last link to others, or a joint."""
    random = np.random.default_rng(seed)
    m = mt.Model("skew", gravity=(0.3, -1.1, -9.0))
    if moving:
        m.ground.moves(("0.1*sin(5*t)", "0.05*t^2", 0), (0, "0.2*sin(3*t)", 0))
    links, end = [], m.ground
    for i in range(3):
        inertia = (0.02, 0.03, 0.025, 0.001, -0.002, 0.003)
        link = m.body(f"link {i}", mass=1.0 + 0.2 * i, com=tuple(random.uniform(-0.2, 0.2, 3)), inertia=inertia)
        hinge = mt.Revolute(tuple(random.normal(size=3)))
        m.joint(
            f"J{i}", joint if joint and i == 1 else hinge, frame_on(end, random) if i else end.at((0.1, 0, 0.2)), link
        )
        links.append(link)
        end = link
    if loop:
        inner, outer = (
            m.body(name, mass=0.7, com=(0, 0, 0.2), inertia=(0.02, 0.02, 0.02)) for name in ("inner", "outer")
        )
        m.joint("U", mt.Spherical(damping=(0.1, 0.1, 0.1)), links[1].at((0.3, 0.1, 0)), inner)
        m.joint("S", mt.Prismatic("z"), inner, outer)
        m.joint("V", mt.Universal("x", "y"), m.ground.at((0.5, 0.4, 0.3)), outer)
        if split:
            m.split("link 1", "U", 0.3)
    m.trials = []
    if kind is not None:
        m.trials = [
            Trial(kind, seed, tuple(frame_on(body, random) for body in (links[2], m.ground, links[0], links[1])), free)
        ]
    return m


def state(system, seed=0):
    random = np.random.default_rng(seed)
    return random.uniform(-0.5, 0.5, system.nq), random.uniform(-1, 1, system.nv), 0.37
