"""Accuracy of the loop solve in hard cases: redundant joints, light bodies, scales, flat configurations.

    python benchmarks/loop_solve.py [--only WORDS] [--write docs/loop-solve.md]

Each line compares with the right result: of the same body on one joint instead of two, of the same mechanism at another
size or cut elsewhere, of the motion of a parallelogram, of a run at a much smaller step size.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from linkages import bennett, bricard, row_of_four_bars
from scipy.spatial.transform import Rotation

import momentree as mt
from momentree.assembly.state import State

KINDS = ("Revolute", "Prismatic", "Cylindrical", "Screw")
DRAWER_AXES = ((1, 2, 3), (1, 0, 0), (0, 1, 1), (-1, 2, 0), (3, 1, 2), (1, 1, 1), (0.1, 5, 2), (2, -3, 1))


# --- joints that say the same twice ---


def on_joints_in_line(kind: str, seed: int, count: int = 2) -> mt.Model:
    """A body on so many joints of a kind that all allow the same motion, in general frames."""
    random = np.random.default_rng(seed)
    m = mt.Model(f"on {count} {kind} joints")
    R = Rotation.random(random_state=random).as_matrix()
    J = R @ np.diag(random.uniform(0.1, 0.19, 3)) @ R.T
    door = m.body("door", mass=2.0, com=random.uniform(-0.3, 0.3, 3), inertia=(J + J.T) / 2)
    axis = random.standard_normal(3)
    axis /= np.linalg.norm(axis)
    on_ground, on_door = random.uniform(-1, 1, 3), random.uniform(-1, 1, 3)
    turned = Rotation.random(random_state=random)
    for i in range(count):
        at = random.uniform(-1, 1, 3) * min(i, 1) if kind == "Prismatic" else axis * (0.7 * i)
        joint = getattr(mt, kind)(tuple(axis), **({"pitch": 0.2} if kind == "Screw" else {}))
        m.joint(f"J{i}", joint, m.ground.at(on_ground + turned.apply(at), turned.as_quat()), door.at(on_door + at))
    return m


def joints_in_line(kind: str, count: int = 60) -> str:
    right = mobile = kept = 0
    for seed in range(count):
        one, two = (on_joints_in_line(kind, seed, n).build() for n in (1, 2))
        q, v = np.zeros(one.nq), np.full(one.nv, 0.3)
        expected, found = (system.forward_dynamics(q, v) for system in (one, two))
        right += bool(np.abs(found - expected).max() < 1e-9 * max(1.0, np.abs(expected).max()))
        mobile += two.mobility == one.mobility
        kept += bool(np.abs(two.assemble(guess=State(two.mechanism, q, v, 0.0)).q - q).max() < 1e-12)
    return f"of {count}: accelerations right in {right}, mobility in {mobile}, closed guess kept in {kept}"


def drawer(axis: Sequence[float]) -> mt.Model:
    m = mt.Model("drawer", gravity=(0, 0, -9.81))
    box = m.body("box", mt.box(mass=3.0, size=(0.5, 0.4, 0.1)))
    m.joint("left", mt.Prismatic(tuple(axis)), m.ground, box)
    m.joint("right", mt.Prismatic(tuple(axis)), m.ground.at((0.2, 0.3, 0.1)), box.at((0.2, 0.3, 0.1)))
    return m


def drawers() -> str:
    worst, mobile = 0.0, 0
    for axis in DRAWER_AXES:
        system = drawer(axis).build()
        expected = -9.81 * axis[2] / math.hypot(*axis)
        found = system.forward_dynamics(np.zeros(1), np.zeros(1))[0]
        end = system.simulate(system.assemble({"left": 0.0}), t_end=0.5).q[-1, 0]
        worst = max(worst, abs(found - expected), abs(end - expected / 8))
        mobile += system.mobility == 1
    return f"x'' and x(0.5 s) off by {worst:.1e} at most; mobility right in {mobile} of {len(DRAWER_AXES)}"


# --- light and small parts ---


def slider_crank(size: float = 1.0, rod: float = 1.0, slider: float = 1e-4, edge: float = 0.002) -> mt.Model:
    """A crank of 10 cm and a rod of 30 cm, times `size`, with masses of rod and slider; gravity in proportion."""
    m = mt.Model("slider-crank", gravity=(0, -9.81 * size, 0))  # so that the motion is the same at every size
    crank = m.body("crank", mt.rod(mass=1.0, length=0.1 * size, radius=0.01 * size))
    link = m.body("rod", mt.rod(mass=rod, length=0.3 * size, radius=0.01 * size))
    block = m.body("slider", mt.box(mass=slider, size=(edge * size,) * 3))
    m.joint("A", mt.Revolute("z"), m.ground, crank)
    m.joint("B", mt.Revolute("z"), crank.at((0.1 * size, 0, 0)), link)
    m.joint("C", mt.Revolute("z"), link.at((0.3 * size, 0, 0)), block)
    m.joint("D", mt.Prismatic("x"), m.ground, block)
    return m


def spatial_rod(radius: float) -> mt.Model:
    """A crank and a rocker in skew planes, and between them a slender rod on two balls, which spins freely."""
    m = mt.Model("crank, rod and rocker", gravity=(0, 0, -9.81))
    crank = m.body("crank", mt.rod(mass=1.0, length=0.5, radius=0.02))
    rod = m.body("rod", mt.rod(mass=0.5, length=2.0, radius=radius))
    rocker = m.body("rocker", mt.rod(mass=1.0, length=1.5, radius=0.02))
    m.joint("A", mt.Revolute((0.1, 0.2, 1)), m.ground, crank)
    m.joint("B", mt.Spherical(), crank.at((0.5, 0, 0)), rod)
    m.joint("D", mt.Revolute((0, 1, 0.2)), m.ground.at((2.0, 0.3, 0.1)), rocker)
    m.joint("C", mt.Spherical(), rod.at((2, 0, 0)), rocker.at((1.5, 0, 0)))
    return m


def crank_acceleration(m: mt.Model, cut: str, guess: Mapping[str, float], speed: float = 3.0) -> float:
    """A'' at A = 0.7 with the loop cut at this joint."""
    m.cut(cut)
    system = m.build()
    start = system.assemble({"A": 0.7}, {"A": speed}, guess=guess)
    place = [reference.name for reference in system.mechanism.velocities].index("A")
    return float(system.forward_dynamics(start.q, start.v)[place])


def spread(found: Sequence[float]) -> float:
    return (max(found) - min(found)) / max(map(abs, found))


def light_slider() -> str:
    found = [crank_acceleration(slider_crank(), cut, {"B": -0.9}) for cut in "BCD"]
    return f"A'' by where the loop is cut differs by {spread(found):.1e}"


def sizes() -> str:
    usual = crank_acceleration(slider_crank(), "D", {"B": -0.9})
    off = {s: abs(crank_acceleration(slider_crank(s), "D", {"B": -0.9}) / usual - 1) for s in (1e-6, 1e-3, 1e3, 1e6)}
    return ", ".join(f"{size:g}: {value:.0e}" for size, value in off.items())


def light_rods() -> str:
    texts = []
    for ratio in (1e3, 1e5, 1e7):
        found = [crank_acceleration(slider_crank(1.0, 1 / ratio, 1.0, 0.1), cut, {"B": -0.9}) for cut in "BCD"]
        texts.append(f"{ratio:g}: {spread(found):.1e}")
    return ", ".join(texts)


def slender_rods() -> str:
    """At rest: at speed the spin of the rod depends on where the loop is cut, and with it the motion."""
    texts = []
    for radius in (1e-2, 1e-3, 1e-5):
        found = [crank_acceleration(spatial_rod(radius), cut, {"D": 1.9}, 0.0) for cut in "BCD"]
        texts.append(f"{radius:g} m: {spread(found):.1e}")
    return ", ".join(texts)


# --- overconstrained and singular ---


def bennett_errors(step_sizes: Sequence[float]) -> list[float]:
    """Off after 1 s by rk4, against much smaller steps (rad)."""
    system = bennett().build()
    start = system.assemble({"R1": 1.0}, {"R1": 2.0})
    ends = [system.simulate(start, 1.0, integrator="rk4", step=h, every=1.0).q[-1] for h in (*step_sizes, 1e-4)]
    return [float(np.abs(end - ends[-1]).max()) for end in ends[:-1]]


def evaluations(m: mt.Model, rtol: float, t_end: float, given: Mapping[str, float], speed: float) -> tuple[int, int]:
    """How many evaluations, and rejected steps, a run takes; the first joint given moves at this speed."""
    system = m.build()
    run = system.simulate(system.assemble(given, dict.fromkeys(given, speed)), t_end, rtol=rtol)
    return run.statistics.evaluations, run.statistics.rejected


def counts(m: mt.Model, t_end: float, given: Mapping[str, float], speed: float) -> str:
    return " / ".join("{}, {}".format(*evaluations(m, rtol, t_end, given, speed)) for rtol in (1e-6, 1e-8))


def bricard_long() -> str:
    system = bricard().build()
    ends = [system.simulate(system.assemble(), 100.0, rtol=rtol, every=100.0).q[-1] for rtol in (1e-11, 1e-13)]
    return f"{np.abs(ends[0] - ends[1]).max():.1e} rad between rtol 1e-11 and 1e-13"


def passages(seed: int, seconds: float = 10.0) -> tuple[int, float]:
    """How often chains of parallelograms, started at random or flat, become flat, and how far from parallel."""
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 4))
    system = row_of_four_bars(n).build()
    angle, speed = (math.pi / 2, -math.pi / 2, random.uniform(-3, 3))[seed % 3], random.uniform(2, 8)
    turning = {"G": 1.0, "L": -1.0, "R": 1.0}
    signs = np.array([turning[body.joint.name[0]] for body in system.mechanism.bodies])
    run = system.simulate(State(system.mechanism, signs * angle, signs * speed, 0.0), seconds, every=0.01)
    posts = np.stack([run[f"G{i}"] for i in range(n + 1)], axis=1)
    bars = np.stack([run[f"L{i}"] for i in range(n)], axis=1) + posts[:, :-1]
    crossed = int((np.diff(np.floor((posts[:, 0] - math.pi / 2) / math.pi)) != 0).sum())
    return crossed, float(max(np.abs(posts - posts[:, :1]).max(), np.abs(bars).max()))


def all_passages() -> str:
    found = [passages(seed) for seed in range(24)]
    left = sum(off > 1e-3 for _, off in found)
    total, worst = sum(count for count, _ in found), max(off for _, off in found)
    return f"{left} of 24 left their branch in {total} passages; off by {worst:.0e} rad at most"


# --- the page ---


def rows() -> Iterator[tuple[str, Callable[[], str]]]:
    yield "drawer on two parallel rails, 8 axes", drawers
    for kind in KINDS:
        yield f"body on two {kind} joints in line, general frames", lambda kind=kind: joints_in_line(kind)  # type: ignore[misc]
    yield "slider-crank with a slider of 0.1 g and 2 mm", light_slider
    yield "the same by size: A'' off, relative", sizes
    yield "a rod so many times lighter than crank and slider: A'' by where the loop is cut, relative", light_rods
    yield "a spatial rod of 2 m and this radius: A'' by where the loop is cut, relative", slender_rods
    yield "chains of 1 to 3 parallelograms passing flat configurations, 10 s", all_passages
    yield (
        "Bennett, rk4, step size 0.02, 0.01, 0.005 s: off after 1 s, rad",
        lambda: ", ".join(f"{error:.1e}" for error in bennett_errors((0.02, 0.01, 0.005))),
    )
    yield (
        "Bennett, 1 s, dop853, rtol 1e-6 / 1e-8: evaluations, rejected steps",
        lambda: counts(bennett(), 1.0, {"R1": 1.0}, 2.0),
    )
    yield (
        "Bricard, 10 s, dop853, rtol 1e-6 / 1e-8: evaluations, rejected steps",
        lambda: counts(bricard(), 10.0, {"R0": 0.0}, 0.0),
    )
    yield "Bricard after 100 s", bricard_long


def page(found: Sequence[tuple[str, str]]) -> str:
    lines = ["# Accuracy of the loop solve in hard cases", ""]
    lines += ["Written by `python benchmarks/loop_solve.py --write docs/loop-solve.md`; the theory is in"]
    lines += ["[closed loops](theory/loops.md).", "", "| mechanism | result |", "|---|---|"]
    return "\n".join([*lines, *(f"| {name} | {text} |" for name, text in found), ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="write the page there")
    parser.add_argument("--only", default="", help="only mechanisms whose name has these words")
    options = parser.parse_args()
    found = []
    for name, measured in rows():
        if options.only in name:
            found.append((name, measured()))
            print(f"{name}: {found[-1][1]}", flush=True)
    if options.write:
        options.write.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
