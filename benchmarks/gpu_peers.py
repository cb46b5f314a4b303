"""Peers on the same GPU: MJX and mujoco_warp, each if it can be imported; single precision, same model, steps of 1 ms.

They do more in a step than motions need: frames, sensors, models that can change at run time. Constraints are switched
off for trees; the four-bar is closed by a stiff weld of two points, which is not the same as a closed loop.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import momentree as mt

STEP = 1e-3
STEPS = 100
WORLDS = {"arm7": 2**16, "four-bar": 2**16, "humanoid35": 2**13}


def peers(only: list[str]) -> Iterator[dict[str, Any]]:
    """Steps per second of each peer that is there, on each model that it can read."""
    from gpu import MODELS

    for peer, measure in (("MJX", mjx_steps), ("mujoco_warp", warp_steps)):
        for name, worlds in WORLDS.items():
            if only and name not in only and peer not in only:
                continue
            for integrator in ("RK4", "EULER"):
                try:
                    steps = measure(mujoco_model(MODELS[name][0](), integrator), worlds)
                except ImportError as error:
                    print(f"{peer}: not here ({error})", flush=True)
                    break
                except Exception as error:
                    print(f"{peer}, {name}, {integrator}: {type(error).__name__}: {error}"[:400], flush=True)
                    continue
                print(f"{peer}, {name}, {integrator}: {steps:.3e} steps/s", flush=True)
                yield {"peer": f"{peer} {integrator}", "model": name, "worlds": worlds, "steps_per_s": steps}


def mujoco_model(model: mt.Model, integrator: str) -> Any:
    """The model as MuJoCo reads it; without loops, contacts and limits are off."""
    import mujoco

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.xml"
        model.save(path, lossy=True)
        read = mujoco.MjModel.from_xml_path(str(path))
    read.opt.timestep = STEP
    read.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator}")
    if not read.neq:
        read.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    return read


def mjx_steps(read: Any, worlds: int) -> float:
    """Steps per second of all worlds together."""
    import jax
    from mujoco import mjx

    model = mjx.put_model(read)
    data = mjx.make_data(read)
    q = np.random.default_rng(0).uniform(-0.1, 0.1, (worlds, read.nq)) + read.qpos0
    many = jax.vmap(lambda q: data.replace(qpos=q))(jax.numpy.asarray(q, dtype=jax.numpy.float32))

    @jax.jit
    def run(data: Any) -> Any:
        return jax.lax.scan(lambda d, _: (jax.vmap(mjx.step, (None, 0))(model, d), None), data, None, STEPS)[0]

    return worlds * STEPS / _least(lambda: jax.block_until_ready(run(many).qpos))


def warp_steps(read: Any, worlds: int) -> float:
    """Steps per second of all worlds together, in a CUDA graph."""
    import mujoco
    import mujoco_warp as mjw
    import warp as wp

    there = mujoco.MjData(read)
    mujoco.mj_forward(read, there)
    model, data = mjw.put_model(read), mjw.put_data(read, there, nworld=worlds)
    mjw.step(model, data)
    with wp.ScopedCapture() as capture:
        for _ in range(STEPS):
            mjw.step(model, data)

    def run() -> None:
        wp.capture_launch(capture.graph)
        wp.synchronize()

    return worlds * STEPS / _least(run)


def _least(run: Callable[[], Any], repeats: int = 3) -> float:
    """Seconds of the fastest run, after one that compiles."""
    run()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return min(times)
