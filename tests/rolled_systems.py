"""Systems whose rolled code is looked at, and what a code gives for random rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import momentree as mt
from mechanisms import (
    EVERY_JOINT,
    four_bars_in_a_row,
    random_body,
    random_configuration,
    random_frame,
    random_joint,
    random_tree,
)
from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import Target


def chain(n: int, twigs: bool = False) -> mt.System:
    """Links one after the other; with twigs, each carries one more."""
    m = mt.Model("chain")
    last = m.ground
    for i in range(n):
        link = m.body(f"link{i}", mt.rod(mass=1.0 + 0.1 * i, length=0.5, radius=0.03))
        m.joint(f"hinge{i}", mt.Revolute("xyz"[i % 3]), last.at((0.5, 0.1, 0.2)), link)
        if twigs:
            m.joint(f"fork{i}", mt.Revolute("y"), link, m.body(f"twig{i}", mt.rod(mass=0.2, length=0.1, radius=0.01)))
        last = link
    return m.build()


def every_joint_in_a_row() -> mt.System:
    """A chain of every joint type, and a tree of all of them on one of its bodies."""
    random, m = np.random.default_rng(7), mt.Model("row")
    last = m.ground
    for i, kind in enumerate(EVERY_JOINT):
        body = random_body(random, m, f"link{i}")
        m.joint(f"joint{i}", random_joint(random, kind), random_frame(random, last), random_frame(random, body))
        last = body
    return random_tree(random, EVERY_JOINT, m).build()


def arguments(code: Any, system: mt.System, rows: int) -> list[np.ndarray]:
    """Random rows, made alike for all codes of one shape."""
    random = np.random.default_rng(3)
    arrays = []
    for name, columns in code.arrays:
        numbers = 0.3 * random.standard_normal((rows, columns))
        if columns >= system.nq and name not in ("v", "tau"):
            numbers[:, : system.nq] = [random_configuration(random, system) for _ in range(rows)]
        arrays.append(numbers)
    return arrays


def results(code: Any, system: mt.System, rows: int, width: int) -> np.ndarray:
    """Of random rows, so many at a time."""
    return Kernel(code, width, Target.host())(arguments(code, system, rows))


SYSTEMS: dict[str, Callable[[], mt.System]] = {
    "chain": lambda: chain(20),
    "twigs": lambda: chain(8, twigs=True),
    "every joint": every_joint_in_a_row,
    "loops": lambda: four_bars_in_a_row(6).build(),
}


# --- like bodies side by side ---


def legs(count: int = 8, hinges: int = 6) -> mt.System:
    """A free body with legs of skew hinges and any inertias."""
    random, m = np.random.default_rng(5), mt.Model("legs")
    hull = random_body(random, m, "hull")
    m.joint("free", mt.Free(), m.ground, hull)
    for i in range(count):
        last = hull
        for k in range(hinges):
            body = random_body(random, m, f"leg{i}.{k}")
            m.joint(f"hinge{i}.{k}", mt.Revolute("xyz"[k % 3]), random_frame(random, last), random_frame(random, body))
            last = body
    return m.build()


def binary_tree(depth: int) -> mt.System:
    """Each body carries two, from the first one on the ground."""
    random, m = np.random.default_rng(6), mt.Model("binary tree")
    level = [m.ground]
    for k in range(depth):
        parents, level = level, []
        for i, parent in enumerate(parents * (2 if k else 1)):
            body = random_body(random, m, f"body{k}.{i}")
            ends = random_frame(random, parent), random_frame(random, body)
            m.joint(f"hinge{k}.{i}", mt.Revolute("xyz"[k % 3]), *ends)
            level.append(body)
    return m.build()


def four_bars_side_by_side(count: int = 12) -> mt.System:
    """Four-bars of their own lengths on the ground."""
    m = mt.Model("four-bars")
    for i in range(count):
        crank, coupler, rocker = (
            m.body(f"{name}{i}", mt.rod(mass=1.0 + 0.1 * i, length=length))
            for name, length in (("crank", 1.0 + 0.01 * i), ("coupler", 2.0), ("rocker", 2.0))
        )
        m.joint(f"A{i}", mt.Revolute("y"), m.ground.at((0, i, 0)), crank)
        m.joint(f"B{i}", mt.Revolute("y"), crank.at((1.0 + 0.01 * i, 0, 0)), coupler)
        m.joint(f"C{i}", mt.Revolute("y"), m.ground.at((2.5, i, 0)), rocker)
        m.joint(f"D{i}", mt.Revolute("y"), coupler.at((2.0, 0, 0)), rocker.at((2.0, 0, 0)))
    return m.build()


def brush(count: int = 40) -> mt.System:
    """Pendulums on one slider."""
    random, m = np.random.default_rng(8), mt.Model("brush")
    slider = random_body(random, m, "slider")
    m.joint("slide", mt.Prismatic("x"), m.ground, slider)
    for i in range(count):
        body = random_body(random, m, f"pendulum{i}")
        m.joint(f"hinge{i}", mt.Revolute("y"), random_frame(random, slider), random_frame(random, body))
    return m.build()


def mixed_branches(count: int = 9) -> mt.System:
    """Branches of several joint types with springs, forces and contacts, on two bodies of a short chain."""
    random, m = np.random.default_rng(9), mt.Model("mixed branches")
    m.parameter("k", 7.0)
    trunk = [m.ground]
    for i, kind in enumerate(("Cylindrical", "Universal")):
        trunk.append(random_body(random, m, f"trunk{i}"))
        m.joint(f"trunk{i}", random_joint(random, kind), *(random_frame(random, body) for body in trunk[-2:]))
    for i in range(count):
        last = trunk[1 + i % 2]
        for k, kind in enumerate(("Spherical", "Prismatic", "Revolute", "Cylindrical")[: 4 - (i == 4)]):
            body = random_body(random, m, f"twig{i}.{k}")
            joint = random_joint(random, kind)
            if kind == "Revolute":
                joint = mt.Revolute("y", spring=3.0 + i, damping="0.1*k")
            m.joint(f"joint{i}.{k}", joint, random_frame(random, last), random_frame(random, body))
            last = body
        m.contact(random_frame(random, last), stiffness="k", radius=6.0, damping=0.3, friction=0.5, slip="0.1*k")
        m.force(random_frame(random, last), ("t", 1 + i, 2))
    m.spring(random_frame(random, m.bodies[8]), random_frame(random, m.bodies[-1]), "k", damping=2.0, rest=0.1)
    return m.build()


SIDE_BY_SIDE: dict[str, Callable[[], mt.System]] = {
    "8 legs of 6": legs,
    "binary tree of 63": lambda: binary_tree(6),
    "12 four-bars": four_bars_side_by_side,
    "brush of 40": brush,
    "mixed branches": mixed_branches,
    "random tree of 60": lambda: random_tree(np.random.default_rng(1), ["Revolute"] * 60).build(),
}
