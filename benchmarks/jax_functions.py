"""Functions for JAX: the time to compile, of a call in a loop of JAX, and of a batch against the call without JAX.

    python benchmarks/jax_functions.py [--quick]

Of forward dynamics and its Jacobian by q, v and tau, for a pendulum, an arm of seven hinges and two linkages. The
callback is `jax.pure_callback` on the same machine code. Figures are the best of several; `--quick` measures too little
to tell. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import momentree as mt
from momentree.compile.emit.jax import Columns, through_python
from momentree.compile.trace.functions import traced_function

ROWS, STEPS = 4096, 2000


def arm(joints: int = 7) -> mt.Model:
    """A chain of hinges, each perpendicular to the one before."""
    m = mt.Model(f"arm of {joints}")
    last: Any = m.ground
    for i in range(joints):
        link = m.body(f"link{i}", mt.rod(mass=1.0, length=0.3))
        m.joint(f"J{i}", mt.Revolute("zy"[i % 2]), last if i == 0 else last.at((0.3, 0, 0)), link)
        last = link
    return m


def systems() -> dict[str, mt.System]:
    """By name, smallest first."""
    made = {"arm of 1": arm(1), "arm of 7": arm(7)}
    made |= {name: mt.load(f"examples/{name}/model.toml") for name in ("08_four_bar", "10_bennett_linkage")}
    return {name: model.build() for name, model in made.items()}


def best(call: Callable[[], Any], repeats: int) -> float:
    """The shortest of several calls (s), after one that does not count."""
    jax.block_until_ready(call())
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        jax.block_until_ready(call())
        times.append(time.perf_counter() - began)
    return min(times)


def in_a_loop(f: Callable[..., Any], q: Any, v: Any, steps: int) -> Callable[[], Any]:
    """So many calls, each from the result of the one before."""

    def step(state: Any, _: None) -> Any:
        return (state[0], state[1] + 1e-12 * f(*state)), None

    loop = jax.jit(lambda q, v: jax.lax.scan(step, (q, v), None, length=steps)[0])
    return lambda: loop(q, v)


def figures(system: mt.System, rows: int = ROWS, steps: int = STEPS, repeats: int = 20) -> dict[str, float]:
    """What is measured, by name."""
    at, nv = system.assemble(), system.nv
    q, v, tau = at.q, np.zeros(nv), np.zeros(nv)
    Q, V, T = (np.tile(x, (rows, 1)) for x in (q, v, tau))

    began = time.perf_counter()
    f = system.jax_function("forward_dynamics")
    jax.block_until_ready(jax.jit(f)(q, v, tau))
    compiled = time.perf_counter() - began
    began = time.perf_counter()
    J = jax.jit(jax.jacrev(f, argnums=(0, 1, 2)))
    jax.block_until_ready(J(q, v, tau))
    differentiated = time.perf_counter() - began

    columns = Columns(traced_function(system.mechanism, "forward_dynamics"))
    still = jax.numpy.zeros
    by_callback = lambda q, v: through_python(q, v, still(nv), still(1), function=columns)  # noqa: E731
    many, many_J = jax.jit(f), jax.jit(jax.vmap(jax.jacrev(f, argnums=(0, 1, 2))))
    return {
        "first call (s)": compiled,
        "first Jacobian (s)": differentiated,
        "call in a loop (us)": 1e6 * best(in_a_loop(f, q, v, steps), repeats) / steps,
        "the same by a callback (us)": 1e6 * best(in_a_loop(by_callback, q, v, steps // 10), 3) / (steps // 10),
        "Jacobian in a loop (us)": 1e6
        * best(in_a_loop(lambda q, v: J(q, v, tau)[0].sum(0), q, v, steps), repeats)
        / steps,
        f"batch of {rows} (ms)": 1e3 * best(lambda: many(Q, V, T), repeats),
        "the same without JAX (ms)": 1e3 * best(lambda: system.forward_dynamics(Q, V, T), repeats),
        f"Jacobians of {rows} (ms)": 1e3 * best(lambda: many_J(Q, V, T), repeats),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    jax.config.update("jax_enable_x64", True)
    os.environ.setdefault("MOMENTREE_CACHE", "off")  # the time to compile is measured
    print(f"JAX {jax.__version__}, Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores\n")
    found = {
        name: figures(system, *(64, 20, 1) if quick else (ROWS, STEPS, 20))
        for name, system in ([*systems().items()][:1] if quick else systems().items())
    }
    names = list(next(iter(found.values())))
    print("| |", " | ".join(found), "|")
    print("|---|", "|".join("---:" for _ in found), "|", sep="")
    for name in names:
        print(f"| {name} |", " | ".join(f"{each[name]:.3g}" for each in found.values()), "|")


if __name__ == "__main__":
    main()
