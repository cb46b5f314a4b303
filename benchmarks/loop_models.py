"""The mechanisms of closed_loops.py in Momentree: what a user writes, and the motion bar by bar."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from linkages import row_of_four_bars, row_start
from loop_references import COUPLER, CRANK, GRAVITY, GROUND, ROCKER, Array, Motion
from walker_numpy import E1, Gait, gait
from walker_numpy import start as walker_start

import momentree as mt

WALKER = Path(__file__).parents[1] / "examples" / "13_walking_mechanism" / "model.toml"


# --- the four-bar linkage ---


def four_bar_momentree(start: float, **settings: float) -> Callable[[float], mt.Run]:
    m = mt.Model("four-bar", gravity=(0, -GRAVITY, 0))
    crank = m.body("crank", mt.rod(mass=1.0, length=CRANK))
    coupler = m.body("coupler", mt.rod(mass=1.0, length=COUPLER))
    rocker = m.body("rocker", mt.rod(mass=1.0, length=ROCKER))
    m.joint("A", mt.Revolute("z"), m.ground, crank)
    m.joint("B", mt.Revolute("z"), crank.at((CRANK, 0, 0)), coupler)
    m.joint("D", mt.Revolute("z"), m.ground.at((GROUND, 0, 0)), rocker)
    m.joint("C", mt.Revolute("z"), coupler.at((COUPLER, 0, 0)), rocker.at((ROCKER, 0, 0)))
    system = m.build()
    return lambda seconds: system.simulate(system.assemble({"A": start}), t_end=seconds, **settings)


def four_bar_motion(run: mt.Run) -> Motion:
    """Angles of the bars from x, as the peers' motions have them."""
    angles, velocities = (
        np.column_stack([of("A"), of("A") + of("B"), of("D")]) for of in (run.__getitem__, run.velocity)
    )
    return Motion(run.t, angles, velocities)


# --- four-bars in a row ---


ROW_RTOL = 1e-8  # the rivals' errors are larger by far


def row_momentree(n: int) -> Callable[[float, float], mt.Run]:
    system = row_of_four_bars(n).build()

    def simulate(velocity: float, seconds: float) -> mt.Run:
        return system.simulate(row_start(system, velocity), t_end=seconds, rtol=ROW_RTOL)

    return simulate


def row_motion(n: int, run: mt.Run) -> Motion:
    """Angles of the posts from y, then of the bars from x. No hinge on the left of a bar closes a loop."""
    bodies = {body.joint.name: body for body in run.mechanism.bodies}
    posts, bars = ([bodies[f"{kind}{i}"] for i in range(count)] for kind, count in (("G", n + 1), ("L", n)))

    def absolute(values: Array, at_posts: list[slice], at_bars: list[slice]) -> Array:
        turned = np.hstack([values[:, at] for at in at_posts])
        return np.hstack([turned, np.hstack([values[:, at] for at in at_bars]) + turned[:, :-1]])

    angles = absolute(run.q, [post.q for post in posts], [bar.q for bar in bars])
    return Motion(run.t, angles, absolute(run.v, [post.v for post in posts], [bar.v for bar in bars]))


# --- the walking mechanism ---


def walker_momentree(**settings: str | float) -> Callable[[float], mt.Run]:
    """examples/13_walking_mechanism from the periodic gait."""
    system = mt.load(WALKER).build()
    begin = system.assemble(*walker_given())

    def simulate(seconds: float) -> mt.Run:
        return system.simulate(begin, t_end=seconds, **settings)

    return simulate


def walker_given() -> list[dict[str, list[float]]]:
    """What fixes the start: coordinates, then velocities, of hull and disc."""
    return [{"hull": x[:3].tolist(), "alpha": x[3:4].tolist()} for x in walker_start()]


def walker_command(seconds: float) -> list[str]:
    """The words after `momentree` that give the same run."""
    words = ["run", str(WALKER), "--t-end", repr(seconds)]
    for option, part in zip(("--from", "--velocity"), walker_given(), strict=True):
        for name, values in part.items():
            words += [option, f"{name}={','.join(map(repr, values))}"]
    return words


def walker_gait(run: mt.Run) -> Gait:
    """The legs are rounded about their upper ends, their origins."""
    legs = [body for body in mt.load(WALKER).bodies if body.name.startswith("leg")]
    depths = np.column_stack([E1 - run.position(leg)[:, 2] for leg in legs])
    y, _, phi = run["hull"].T
    return gait(run.t, y, phi, depths)
