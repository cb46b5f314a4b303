"""Simulation, side by side: a seven-dof arm by Momentree, MuJoCo and SciPy driving Pinocchio, in one process.

    python benchmarks/simulation.py [--write docs/simulation-speed.md] [--quick]

The contestants take turns, each many times; medians and their ratios are printed. All start from the same states, and
their ends are compared first. One core. What is made once (machine code, models) is made before.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from contestants import MuJoCoModel, bodies_of, installed, pinocchio_model
from example_models import States, aligned_arm, random_states
from forward_dynamics import alone, pin_to_one_core
from forward_dynamics_page import table

import momentree as mt
from momentree.assembly.state import State
from momentree.simulate.settings import Settings
from momentree.simulate.simulation import new_simulation

STEP = 1e-3  # s
STARTS = 512  # motions of the batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="the page to write")
    parser.add_argument("--quick", action="store_true", help="few turns, rough figures")
    given = parser.parse_args()
    alone()
    text = report(3 if given.quick else 15)
    if given.write:
        given.write.write_text(text, encoding="utf-8")
    print(text)


def report(turns: int) -> str:
    load = os.getloadavg()[0]
    pin_to_one_core()
    system = aligned_arm().build()
    states = random_states(system, STARTS)
    quiet = States(states.q * 0.3, states.v * 0.3, states.tau * 0)
    peers = installed(("mujoco", "pinocchio"))
    lines = [
        "# Simulation, side by side",
        "",
        "Made by `python benchmarks/simulation.py --write docs/simulation-speed.md`.",
    ]
    lines += ["", f"A seven-dof arm with aligned axes, one core; load before the start {load:.1f}.", ""]
    rows = [
        *(fixed(system, quiet, turns) if "mujoco" in peers else []),
        *(adaptive(system, quiet, turns) if "pinocchio" in peers else []),
    ]
    lines += table(["what", "Momentree", "peer", "times as fast", "wanted", "met"], rows)
    lines += ["", *NOTES, ""]
    return "\n".join(lines)


NOTES = (
    "- RK4 with steps of 1 ms: microseconds per step. MuJoCo makes its steps in one call of `mj_step`, contacts,",
    "  constraints, sensors and actuators switched off. The batch is 512 motions, several in the lanes of a vector.",
    "- dop853, relative tolerance 1e-8: milliseconds per simulated second. The peer is `solve_ivp` of SciPy with",
    "  DOP853 and the same tolerances, driving `pin.aba`.",
    "- Momentree runs with its default formulation; single motions account for energy. In Lagrangian variables its",
    "  RK4 gives MuJoCo's numbers, which is checked first.",
    "- Medians of turns taken one after the other in one process.",
)


def fixed(system: mt.System, states: States, turns: int) -> list[list[str]]:
    """RK4, against MuJoCo in C."""
    import mujoco

    peer = MuJoCoModel(system)
    peer.model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    peer.model.opt.timestep = STEP
    over = peer.over(states)

    def theirs(count: int) -> np.ndarray:
        data = peer.data
        mujoco.mj_resetData(peer.model, data)
        data.qpos[:], data.qvel[:] = over.q[0], over.v[0]
        mujoco.mj_step(peer.model, data, nstep=count)
        return np.array(data.qpos)[peer.at_q]

    def ours(count: int) -> np.ndarray:
        return one(system, states, t_end=count * STEP, integrator="rk4", step=STEP, every=count * STEP)

    def batch(count: int) -> np.ndarray:
        settings = Settings(count * STEP, integrator="rk4", step=STEP, every=count * STEP)
        many = system.simulate_many(states.q, states.v, threads=1, **vars(settings))
        return many.q[0, -1]

    # in the same variables the same numbers; in others, other errors of the method
    same = one(system, states, t_end=500 * STEP, integrator="rk4", step=STEP, every=500 * STEP, formulation="lagrange")
    np.testing.assert_allclose(same, theirs(500), rtol=0, atol=1e-11)
    for found in (ours(500), batch(500)):
        np.testing.assert_allclose(found, theirs(500), rtol=0, atol=1e-6)
    count = 2000
    mine, many, other = take_turns([lambda: ours(count), lambda: batch(count), lambda: theirs(count)], turns)
    per_step, in_batch, peers = mine / count * 1e6, many / count / STARTS * 1e6, other / count * 1e6
    return [
        row("RK4, 1 ms, one arm, µs a step", per_step, peers, "MuJoCo", 6),
        row(f"RK4, 1 ms, {STARTS} arms, µs a step", in_batch, peers, "MuJoCo", 30),
    ]


def adaptive(system: mt.System, states: States, turns: int) -> list[list[str]]:
    """dop853, against SciPy driving Pinocchio."""
    import pinocchio as pin
    from scipy.integrate import solve_ivp

    model = pinocchio_model(bodies_of(system.mechanism), np.array([*system.mechanism.gravity]))
    data, none, n = model.createData(), np.zeros(system.nv), system.nv

    def derivatives(t: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[n:], pin.aba(model, data, y[:n], y[n:], none)])

    def theirs(seconds: float) -> np.ndarray:
        start = np.concatenate([states.q[0], states.v[0]])
        return solve_ivp(derivatives, (0, seconds), start, method="DOP853", rtol=1e-8, atol=1e-10).y[:n, -1]

    def ours(seconds: float) -> np.ndarray:
        return one(system, states, t_end=seconds, rtol=1e-8, atol=1e-10)

    np.testing.assert_allclose(ours(1.0), theirs(1.0), atol=1e-6)
    mine, other = take_turns([lambda: ours(5.0), lambda: theirs(5.0)], turns)
    return [row("dop853, rtol 1e-8, one arm, ms a second", mine / 5 * 1e3, other / 5 * 1e3, "SciPy and Pinocchio", 30)]


def one(system: mt.System, states: States, **settings: Any) -> np.ndarray:
    """The last coordinates of the first motion."""
    key = tuple(sorted(settings.items()))
    if key not in _made:
        start = State(system.mechanism, states.q[0], states.v[0], 0.0)
        made = new_simulation(system, start, **settings)
        _made[key] = made, made.checkpoint()
    made, begin = _made[key]
    made.restore(begin)
    last = None
    while (block := made.advance()) is not None:
        last = block.q[-1]
    assert last is not None
    return last


_made: dict[Any, Any] = {}


def take_turns(contestants: Sequence[Callable[[], Any]], turns: int) -> list[float]:
    """Medians of the seconds that each takes."""
    for contestant in contestants:
        contestant()
    times: list[list[float]] = [[] for _ in contestants]
    for _ in range(turns):
        for contestant, found in zip(contestants, times, strict=True):
            began = time.perf_counter()
            contestant()
            found.append(time.perf_counter() - began)
    return [statistics.median(found) for found in times]


def row(what: str, ours: float, theirs: float, peer: str, wanted: float) -> list[str]:
    ratio = theirs / ours
    met = "yes" if ratio >= wanted else "no"
    return [what, f"{ours:.3g}", f"{theirs:.3g} ({peer})", f"{ratio:.1f}", f"{wanted}", met]


if __name__ == "__main__":
    main()
