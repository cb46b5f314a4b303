"""Mechanisms that the tests share: textbook linkages, random trees with every joint type, random loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import momentree as mt
from momentree.assembly.configuration import Configuration
from momentree.assembly.configuration_space import integrate, reference
from momentree.assembly.scaled_constraints import CUT_OFF, Scales
from momentree.assembly.state import State
from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import records
from momentree.model.joint_types import JOINTS
from momentree.spatial import Vector

EVERY_JOINT = tuple(JOINTS)
MOVING = tuple(kind for kind in JOINTS if JOINTS[kind].velocities)


# --- textbook ---


def four_bar(lengths: tuple[float, float, float, float] = (1.0, 2.0, 2.0, 2.5), axis: str = "y") -> mt.Model:
    """Crank, coupler, rocker, ground; hinges A, B, D and C, which closes the loop."""
    a, b, c, d = lengths
    m = mt.Model("four-bar")
    crank = m.body("crank", mt.rod(mass=1.0, length=a))
    coupler = m.body("coupler", mt.rod(mass=1.0, length=b))
    rocker = m.body("rocker", mt.rod(mass=1.0, length=c))
    m.joint("A", mt.Revolute(axis), m.ground, crank)
    m.joint("B", mt.Revolute(axis), crank.at((a, 0, 0)), coupler)
    m.joint("D", mt.Revolute(axis), m.ground.at((d, 0, 0)), rocker)
    m.joint("C", mt.Revolute(axis), coupler.at((b, 0, 0)), rocker.at((c, 0, 0)))
    return m


def slider_crank() -> mt.Model:
    m = mt.Model("slider-crank")
    crank = m.body("crank", mt.rod(mass=1.0, length=1.0))
    rod = m.body("rod", mt.rod(mass=1.0, length=3.0))
    slider = m.body("slider", mt.box(mass=1.0, size=(0.2, 0.2, 0.2)))
    m.joint("A", mt.Revolute("z"), m.ground, crank)
    m.joint("B", mt.Revolute("z"), crank.at((1, 0, 0)), rod)
    m.joint("C", mt.Revolute("z"), rod.at((3, 0, 0)), slider)
    m.joint("D", mt.Prismatic("x"), m.ground, slider)
    return m


def single_loop_of_hinges(links: list[tuple[float, float, float]]) -> mt.Model:
    """A closed chain of hinges about z by Denavit and Hartenberg: (length a, twist alpha, offset d) of each link."""
    m = mt.Model("loop of hinges")
    body: Any = m.ground
    for i, (a, alpha, d) in enumerate(links):
        # the link runs from one hinge to the next: along its normal, twisted, then offset along the next axis
        end = (a, -math.sin(alpha) * d, math.cos(alpha) * d)
        twisted = mt.turn("x", alpha)
        if i == len(links) - 1:
            m.joint(f"R{i + 1}", mt.Revolute("z"), body.at(end, twisted), m.ground)
            break
        link = m.body(f"link{i + 1}", mass=1.0, inertia=(0.1, 0.1, 0.1))
        m.joint(f"R{i + 1}", mt.Revolute("z"), body.at(end, twisted), link)
        body = link
    return m


def bennett(a: float = 1.0, b: float = 1.5, alpha: float = 0.6) -> mt.Model:
    """Bennett's linkage: four hinges, sin(alpha)/a = sin(beta)/b; overconstrained, yet it moves (Bennett 1903)."""
    beta = math.asin(b * math.sin(alpha) / a)
    return single_loop_of_hinges([(a, alpha, 0), (b, beta, 0), (a, alpha, 0), (b, beta, 0)])


def hexapod() -> mt.Model:
    """A Gough-Stewart platform: six legs of a universal, a prismatic and a ball joint."""
    m = mt.Model("hexapod")
    plate = m.body("plate", mt.cylinder(mass=5.0, radius=0.5, length=0.1))
    for i in range(6):
        low = m.body(f"low{i}", mt.rod(mass=1.0, length=0.5, radius=0.02, along="z"))
        high = m.body(f"high{i}", mt.rod(mass=1.0, length=0.5, radius=0.02, along="z"))
        a, b = math.radians(60 * i + 10 * (-1) ** i), math.radians(60 * i + 25 * (-1) ** (i + 1))
        m.joint(f"U{i}", mt.Universal("x", "y"), m.ground.at((math.cos(a), math.sin(a), 0)), low)
        m.joint(f"P{i}", mt.Prismatic("z"), low, high)
        m.joint(f"S{i}", mt.Spherical(), high.at((0, 0, 0.8)), plate.at((0.5 * math.cos(b), 0.5 * math.sin(b), 0)))
    return m


def four_bars_in_a_row(n: int) -> mt.Model:
    """n parallelograms: 2n + 1 rods of 1 m (IFToMM benchmark A02)."""
    m = mt.Model(f"{n} four-bars")
    posts = [m.body(f"post{i}", mt.rod(mass=1.0, length=1.0, along="y")) for i in range(n + 1)]
    for i, post in enumerate(posts):
        m.joint(f"G{i}", mt.Revolute("z"), m.ground.at((i, 0, 0)), post)
    for i in range(n):
        bar = m.body(f"bar{i}", mt.rod(mass=1.0, length=1.0))
        m.joint(f"L{i}", mt.Revolute("z"), posts[i].at((0, 1, 0)), bar)
        m.joint(f"R{i}", mt.Revolute("z"), bar.at((1, 0, 0)), posts[i + 1].at((0, 1, 0)))
    return m


def bennett_off(length: float = 0.0, axis: float = 0.0, scale: float = 1.0) -> mt.Model:
    """Bennett's linkage with one bar too long (m) and one axis turned (rad): it should not move, nor close."""
    beta = math.asin(1.5 * math.sin(0.6))
    a, b = (scale, 0.6, 0), (1.5 * scale, beta, 0)
    return single_loop_of_hinges([(scale + length, 0.6 + axis, 0), b, a, b])


def delta_robot(base: float = 0.2, plate_radius: float = 0.05, arm: float = 0.3, rod: float = 0.6) -> mt.Model:
    """Three arms on motors M0, M1, M2, each with two parallel rods to a plate (Clavel 1988)."""
    m = mt.Model("delta robot")
    plate = m.body("plate", mt.cylinder(mass=0.3, radius=plate_radius, length=0.01))
    for i in range(3):
        c, s = math.cos(2 * math.pi * i / 3), math.sin(2 * math.pi * i / 3)
        upper = m.body(f"arm{i}", mt.rod(mass=0.4, length=arm, radius=0.01))
        motor = m.ground.at((base * c, base * s, 0), mt.turn("z", 2 * math.pi * i / 3))
        m.joint(f"M{i}", mt.Revolute("y"), motor, upper)
        for side, y in (("l", 0.04), ("r", -0.04)):
            lower = m.body(f"rod{i}{side}", mt.rod(mass=0.1, length=rod, radius=0.005, along="z"))
            m.joint(f"U{i}{side}", mt.Universal("x", "y"), upper.at((arm, y, 0), mt.turn("x", math.pi)), lower)
            corner = plate.at((plate_radius * c - y * s, plate_radius * s + y * c, 0))
            m.joint(f"S{i}{side}", mt.Spherical(), lower.at((0, 0, rod)), corner)
    return m


# --- random ---


def random_joint(random: np.random.Generator, kind: str) -> Any:
    return JOINTS[kind].random(random)


def random_frame(random: np.random.Generator, body: Any) -> Any:
    return body.at(random.uniform(-1, 1, 3), Rotation.random(random_state=random).as_quat())


def random_body(random: np.random.Generator, m: mt.Model, name: str) -> Any:
    principal = random.uniform(1, 1.9, 3)  # no moment exceeds the sum of the others
    R = Rotation.random(random_state=random).as_matrix()
    J = R @ np.diag(principal) @ R.T
    return m.body(name, mass=random.uniform(0.5, 2), com=random.uniform(-0.3, 0.3, 3), inertia=(J + J.T) / 2)


def random_tree(random: np.random.Generator, kinds: list[str], m: mt.Model | None = None) -> mt.Model:
    """One body for each joint type named, on a random earlier one, frames at random, joints in either direction."""
    m = m or mt.Model("random tree")
    bodies: list[Any] = [m.ground, *m.bodies]
    for i, kind in enumerate(kinds, 1):
        body = random_body(random, m, f"b{i}")
        ends = [random_frame(random, bodies[random.integers(len(bodies))]), random_frame(random, body)]
        if random.random() < 0.5:
            ends.reverse()
        m.joint(f"j{i}", random_joint(random, kind), *ends)
        bodies.append(body)
    return m


def random_configuration(random: np.random.Generator, system: mt.System, size: float = 1.0) -> np.ndarray:
    mechanism = system.mechanism
    return integrate(mechanism, reference(mechanism), random.uniform(-size, size, mechanism.nv))


def random_loops(
    random: np.random.Generator, kinds: list[str], closing: list[str], m: mt.Model | None = None
) -> tuple[mt.Model, np.ndarray]:
    """A random tree and joints that close loops in it, made to fit at the configuration that comes with it."""
    m = random_tree(random, kinds, m)
    tree = m.build()
    q = random_configuration(random, tree)
    placed = records(Evaluation(tree.mechanism, q))
    names = [body.name for body in m.bodies]
    for i, kind in enumerate(closing, 1):
        a, b = random.choice(len(names) + 1, 2, replace=False)
        first, second = (m.ground if k == len(names) else m.bodies[k] for k in (a, b))
        F = random_frame(random, first)
        joint = random_joint(random, kind)
        resolved = joint.resolved(tree.mechanism.values)
        wanted = resolved.placement(
            resolved.integrate(resolved.reference(), random.uniform(-1, 1, len(joint.velocities)))
        )
        attached = tree.mechanism.attach(F)
        X_M = placed[attached.body].X_0 @ attached.placement @ wanted
        own = tree.mechanism.attach(second.at((0, 0, 0)))
        X_BM = (placed[own.body].X_0 @ own.placement).inverse() @ X_M
        m.joint(f"c{i}", joint, F, second.at(tuple(X_BM.offset), [tuple(row) for row in X_BM.rotation.rows]))
        m.cut(f"c{i}")
    return m, q


def random_planar_loops(random: np.random.Generator, bodies: int, closing: int) -> tuple[mt.Model, np.ndarray]:
    """A random tree of hinges about z, sliders and pins in slots, in one plane, and hinges that close loops in it."""
    m = mt.Model("random planar loops")
    found: list[Any] = [m.ground]

    def frame(body: Any) -> Any:
        return body.at((*random.uniform(-1, 1, 2), 0), mt.turn("z", random.uniform(-3, 3)))

    for i in range(1, bodies + 1):
        body = m.body(f"b{i}", mass=random.uniform(0.5, 2), com=(*random.uniform(-0.3, 0.3, 2), 0), inertia=(1, 1, 1))
        kind = random.choice(["Revolute", "Revolute", "Prismatic", "PinSlot"])
        joint = {"Revolute": mt.Revolute("z"), "Prismatic": mt.Prismatic("x"), "PinSlot": mt.PinSlot("y", "z")}[kind]
        m.joint(f"j{i}", joint, frame(found[random.integers(len(found))]), frame(body))
        found.append(body)
    tree = m.build()
    q = random_configuration(random, tree)
    for i in range(1, closing + 1):
        first, second = (found[k] for k in random.choice(len(found), 2, replace=False))
        at = random.uniform(-1, 1, 3) * (1, 1, 0)
        ends = [body.at(_seen(tree, q, body, at)) for body in (first, second)]
        m.joint(f"c{i}", mt.Revolute("z"), *ends)
        m.cut(f"c{i}")
    return m, q


def joint_pair(kind: str, random: np.random.Generator, scale: float = 1.0, far: float = 0.0) -> mt.Model:
    """A body held twice by the same kind of joint, about or along one axis, all frames at random: closed at zero.

    Of prismatic joints the second is beside the first. `far` is the distance from the origin (m).
    """
    m = mt.Model(f"two {kind} joints")
    inertia = tuple(random.uniform(1, 1.9, 3) * max(scale**2, 1e-11))
    body = m.body("body", mass=1.0, com=tuple(random.uniform(-0.3, 0.3, 3) * scale), inertia=inertia)
    R_F, R_M, Q = (Rotation.random(random_state=random) for _ in range(3))
    p_F = far * np.array([0.6, -0.48, 0.64]) + random.uniform(-1, 1, 3) * scale
    p_M = random.uniform(-1, 1, 3) * scale
    axis = random.standard_normal(3)
    shift = axis / np.linalg.norm(axis) * random.uniform(0.2, 1) * scale
    if kind == "Prismatic":
        shift = shift + np.cross(axis, random.standard_normal(3)) * 0.5 * scale
    # where the second pair of frames stands in the first, and so in the ground and in the body
    on_ground = m.ground.at(tuple(p_F + R_F.apply(shift)), (R_F * Q).as_quat())
    on_body = body.at(tuple(p_M + R_M.apply(shift)), (R_M * Q).as_quat())
    pitch = {"pitch": 0.3 * scale} if kind == "Screw" else {}
    m.joint(
        "one", JOINTS[kind](tuple(axis), **pitch), m.ground.at(tuple(p_F), R_F.as_quat()), body.at(p_M, R_M.as_quat())
    )
    m.joint("two", JOINTS[kind](tuple(Q.inv().apply(axis)), **pitch), on_ground, on_body)
    return m


def _seen(tree: mt.System, q: np.ndarray, body: Any, point: np.ndarray) -> tuple[float, ...]:
    """A point of space in the axes of a body."""
    own = tree.mechanism.attach(body.at((0, 0, 0)))
    X = records(Evaluation(tree.mechanism, q))[own.body].X_0 @ own.placement
    return tuple(X.inverse().point(Vector(*point)))


def closed_state(random: np.random.Generator, system: mt.System, q: np.ndarray, t: float = 0.0) -> State:
    """A state at a configuration where all constraints are met, with random velocities that keep them so."""
    v = random.standard_normal(system.nv)
    at = Configuration(system.mechanism, q, v, t)
    rows = Scales(system.mechanism).scaled(at, on_velocities=True)
    return State(system.mechanism, q, v - rows.shortest(rows.scaled(at.constraint_velocities()), CUT_OFF), t)
