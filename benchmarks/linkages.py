"""Linkages that several benchmarks measure: those of Bennett and Bricard, and four-bars in a row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import momentree as mt
from momentree.assembly.state import State

GRAVITY = 9.81


def bennett(a: float = 1.0, b: float = 1.5, alpha: float = 0.6) -> mt.Model:
    """Bennett's linkage: four hinges, sin(alpha)/a = sin(beta)/b (Bennett 1903)."""
    m, body = mt.Model("Bennett", gravity=(0.3, -0.2, -9.81)), None
    beta = math.asin(b * math.sin(alpha) / a)
    for i, (length, twist) in enumerate([(a, alpha), (b, beta), (a, alpha), (b, beta)], 1):
        link = m.ground if i == 4 else m.body(f"link{i}", mass=1.0, inertia=(0.1, 0.1, 0.1))
        m.joint(f"R{i}", mt.Revolute("z"), (body or m.ground).at((length, 0, 0), mt.turn("x", twist)), link)
        body = link
    return m


def bricard() -> mt.Model:
    """Six bars of 1 m along edges of a cube, each hinge across both its bars (IFToMM benchmark A05)."""
    m = mt.Model("Bricard", gravity=(0, -9.81, 0))
    points = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], dtype=float)
    along = np.roll(points, -1, axis=0) - points
    axes = np.cross(np.roll(along, 1, axis=0), along)
    frames = [np.column_stack([x, np.cross(z, x), z]) for x, z in zip(along, axes, strict=True)]
    bars = [m.body(f"bar{i}", mt.rod(mass=1.0, length=1.0, radius=0.05)) for i in range(5)]

    def frame(k: int, i: int) -> Any:
        """Hinge i in bar k, which runs from point k to point k + 1; the sixth is the ground."""
        if k % 6 == 5:
            return m.ground.at(tuple(points[i]), frames[i].tolist())
        return bars[k].at(tuple(frames[k].T @ (points[i] - points[k])), (frames[k].T @ frames[i]).tolist())

    for i in range(6):
        m.joint(f"R{i}", mt.Revolute("z"), frame(i - 1, i), frame(i, i))
    return m


def row_of_four_bars(n: int) -> mt.Model:
    """n parallelograms of 2 n + 1 rods of 1 m and 1 kg: posts on the ground, and bars between their tops."""
    m = mt.Model(f"{n} four-bars", gravity=(0, -GRAVITY, 0))
    posts = [m.body(f"post {i}", mt.rod(mass=1.0, length=1.0, along="y")) for i in range(n + 1)]
    for i, post in enumerate(posts):
        m.joint(f"G{i}", mt.Revolute("z"), m.ground.at((i, 0, 0)), post)
    for i in range(n):
        bar = m.body(f"bar {i}", mt.rod(mass=1.0, length=1.0))
        m.joint(f"L{i}", mt.Revolute("z"), posts[i].at((0, 1, 0)), bar)
        m.joint(f"R{i}", mt.Revolute("z"), bar.at((1, 0, 0)), posts[i + 1].at((0, 1, 0)))
    return m


def row_start(system: mt.System, velocity: float) -> State:
    """Posts upright, falling clockwise at this velocity; the bars do not turn. Nothing is left to assemble."""
    turning = {"G": -velocity, "L": velocity, "R": -velocity}
    v = np.zeros(system.nv)
    for body in system.mechanism.bodies:
        v[body.v] = turning[body.joint.name[0]]
    return State(system.mechanism.at_defaults(), np.zeros(system.nq), v, 0.0)
