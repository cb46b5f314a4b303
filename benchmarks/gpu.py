"""Many motions on a GPU: steps per second by the GPU's clock, bits against the processor, a million arms into NumPy.

    python benchmarks/gpu.py [--parts speed,adaptive,million,arrays,gallery,peers] [--write docs/gpu.md] [--json FILE]
                             [--only arm7,four-bar] [--dry] [--device gpu:0]

Needs NumPy and llvmlite besides this package. Times of motions are those of the kernel, between two events on the GPU;
the least of several repetitions counts. Each case is compared with the processor, bit for bit, on a few motions, and
all motions with each other: those that start alike must end alike, whatever ran beside them.
`--dry` runs everything with few motions, by the text of the kernels on the processor: it tests this script.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import momentree as mt
from momentree.activity import activity
from momentree.compile.emit import ptx
from momentree.compile.execute.gpu_devices import Gpu, Stream, chosen
from momentree.integrate.methods import METHODS
from momentree.integrate.motions.job import End
from momentree.integrate.records import Status
from momentree.simulate.many_on_gpu import code_on, computed, job_of_rows
from momentree.simulate.motions_batch import Batch
from momentree.simulate.settings import settings_of

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
BEGIN, END = "<!-- figures: benchmarks/gpu.py -->\n", "<!-- end of figures -->\n"
COMPARED = 64  # motions that the processor computes too
REPEATS = 3
Array = np.ndarray
Named = dict[str, float] | None
PARTS = ("speed", "adaptive", "million", "arrays", "gallery", "peers")


class Case(NamedTuple):
    """Motions of one model.

    | field    | meaning                                                            |
    |----------|--------------------------------------------------------------------|
    | name     | of the model: MODELS                                               |
    | method   | the integrator                                                     |
    | count    | how many motions                                                   |
    | t_end    | of each, s                                                         |
    | goal     | figure to reach: steps/s, or simulated s/s where it is adaptive    |
    | step     | s; None: by the tolerance                                          |
    | rtol     | relative tolerance                                                 |
    """

    name: str
    method: str
    count: int
    t_end: float
    goal: float
    step: float | None = None
    rtol: float | None = None


SPEED = [
    Case("arm7", "rk4", 2**20, 1.0, 3.4e9, 1e-3),
    Case("four-bar", "rk4", 2**20, 1.0, 6.5e9, 1e-3),
    Case("Bennett", "rk4", 2**18, 1.0, 1.7e9, 1e-3),
    Case("Bricard", "rk4", 2**18, 1.0, 1.1e9, 1e-3),
    Case("humanoid35", "rk4", 2**17, 0.1, 4e7, 1e-3),
    Case("chain of 300", "rk4", 2**16, 0.02, 2e6, 1e-3),
    Case("100 four-bars", "rk4", 2**16, 0.02, 1.1e6, 1e-3),
]
ADAPTIVE = [
    Case("arm7", "dop853", 2**18, 1.0, 5e6, rtol=1e-8),
    Case("four-bar", "dop853", 2**19, 10.0, 5e7, rtol=1e-8),
    Case("Bennett", "dop853", 2**18, 1.0, 9e6, rtol=1e-8),
    Case("Bricard", "dop853", 2**18, 1.0, 3e6, rtol=1e-8),
    Case("walker", "dopri5", 2**17, 0.25, 2e4, rtol=1e-8),
    *(Case("walker", name, 2**15, 0.05, 2e4, rtol=1e-8) for name, method in METHODS.items() if method.stiff),
]


# --- models and starts ---


def random_rows(system: mt.System, rows: int) -> Array:
    """Coordinates and velocities of a tree, angles all around."""
    from example_models import random_states

    q, v, _ = random_states(system, rows)
    return np.hstack([q, v])


def along_a_motion(
    given: dict[str, float] | None, speeds: dict[str, float] | None, t_end: float
) -> Callable[..., Array]:
    """Starts that close all loops: states along one motion."""

    def rows(system: mt.System, count: int) -> Array:
        start = system.start() if given is None else system.assemble(given, speeds)
        many = system.simulate_many([start], t_end=t_end, every=t_end / 64)
        return np.hstack([many.q[0], many.v[0]])[:count]

    return rows


def falling_rows(system: mt.System, count: int) -> Array:
    """Four-bars in a row that begin to fall, each faster than the one before."""
    from linkages import row_start

    states = [row_start(system, speed) for speed in np.linspace(0.5, 3.0, min(count, 64))]
    return np.array([[*state.q, *state.v] for state in states])


def example(name: str) -> Callable[[], mt.Model]:
    return lambda: mt.load(EXAMPLES / name / "model.toml")


def _loop_model(name: str, *arguments: Any) -> mt.Model:
    import linkages

    made: mt.Model = getattr(linkages, name)(*arguments)
    return made


def _example_model(name: str, *arguments: Any) -> mt.Model:
    import example_models

    made: mt.Model = getattr(example_models, name)(*arguments)
    return made


MODELS: dict[str, tuple[Callable[[], mt.Model], Callable[[mt.System, int], Array]]] = {
    "arm7": (lambda: _example_model("aligned_arm"), random_rows),
    "four-bar": (example("08_four_bar"), along_a_motion({"A": 1.0}, {"A": 0.0}, 2.0)),
    "Bennett": (lambda: _loop_model("bennett"), along_a_motion({"R1": 1.0}, {"R1": 2.0}, 1.0)),
    "Bricard": (lambda: _loop_model("bricard"), along_a_motion({"R0": 0.0}, {"R0": 0.0}, 1.0)),
    "humanoid35": (lambda: _example_model("humanoid"), random_rows),
    "chain of 300": (lambda: _example_model("random_chain", 300), random_rows),
    "100 four-bars": (lambda: _loop_model("row_of_four_bars", 100), falling_rows),
    "walker": (example("13_walking_mechanism"), along_a_motion(None, None, 1.0)),
}
_systems: dict[str, tuple[mt.System, Array]] = {}


def system_of(name: str) -> tuple[mt.System, Array]:
    """A system, and some starts."""
    if name not in _systems:
        model, rows = MODELS[name]
        system = model().build()
        _systems[name] = system, rows(system, 256)
    return _systems[name]


def which_start(rows: int, count: int) -> Array:
    """Of as many motions as wanted, the start: all of them, then at random."""
    which = np.arange(count)
    which[rows:] = np.random.default_rng(5).integers(0, rows, max(count - rows, 0))
    return which % rows


def tiled(rows: Array, count: int) -> Array:
    """As many starts as wanted."""
    return rows[which_start(len(rows), count)]


def unlike(job: Any, which: Array) -> int:
    """How many motions differ in any bit from the first one with the same start, whatever ran beside them."""
    different = np.zeros(len(which), dtype=bool)
    for column in (*job.values.reshape(-1, len(which)), *job.ends):
        bits = np.ascontiguousarray(column).view(np.int64)
        different |= bits != bits[which]
    return int(different.sum())


# --- measuring ---


class Machine:
    """What computes: a GPU, or in a dry run the processor by the text of the kernels."""

    def __init__(self, gpu: Gpu | None):
        self.gpu = gpu

    @property
    def name(self) -> str:
        return self.gpu.name if self.gpu else "dry run"

    def count(self, wanted: int) -> int:
        return wanted if self.gpu else min(wanted, 3)

    def motions(self, batch: Batch, rows: Array) -> tuple[Any, float, dict[str, Any]]:
        """The job with its results, seconds of the kernel, and what is known of the kernel."""
        parameters = np.zeros((len(rows), 0))
        if self.gpu is None:
            return _by_text(batch, rows, parameters)
        began = time.perf_counter()
        code = code_on(batch, self.gpu)
        made = {"compiled_s": round(time.perf_counter() - began, 2), "registers": code.kernel.registers}
        made |= {"local_bytes": code.kernel.local, "threads": code.kernel.threads}
        best, job = np.inf, None
        for _ in range(REPEATS):
            with activity("") as phase:
                job, seconds = computed(code, job_of_rows(batch, rows, parameters), phase)
            best = min(best, seconds)
        return job, best, made


def _by_text(batch: Batch, rows: Array, parameters: Array) -> tuple[Any, float, dict[str, Any]]:
    sys.path.insert(0, str(HERE.parent / "tests"))
    import ctypes

    from gpu_kernels import KernelOnProcessor
    from momentree.compile.execute.gpu_code import job_of

    program, job = batch.program(1), batch.job(rows, parameters)
    kernel = KernelOnProcessor(ptx.motions_kernel(program.text, program.work), "motions")
    memory = np.zeros(ptx.memory_of_threads(program.work, 1) + 1)
    began = time.perf_counter()
    kernel.run(job_of(job.slots().tolist()), ctypes.c_void_p(memory.ctypes.data))
    return job, time.perf_counter() - began, {}


def batch_of(system: mt.System, case: Case, dry: bool) -> Batch:
    t_end = min(case.t_end, 0.005) if dry else case.t_end
    chosen = {"step": case.step} if case.step else {"rtol": case.rtol}
    return Batch(system, settings_of(t_end=t_end, every=t_end, integrator=case.method, **chosen), 0.0)


def measure(machine: Machine, case: Case) -> dict[str, Any]:
    """One case: steps and simulated seconds per second, and whether bits are those of the processor."""
    system, starts = system_of(case.name)
    batch, rows = batch_of(system, case, machine.gpu is None), tiled(starts, machine.count(case.count))
    job, seconds, made = machine.motions(batch, rows)
    few = min(COMPARED if len(starts) > 1 else 1, len(rows))
    there = batch.job(rows[:few], np.zeros((few, 0)))
    batch.compute(there)
    same = np.array_equal(job.values[:, :, :few], there.values, equal_nan=True)
    same &= np.array_equal(job.ends[:, :few], there.ends, equal_nan=True)
    ended, steps = job.ends[End.STATUS], job.ends[End.ACCEPTED].sum()
    t_end = float(batch.settings.t_end)
    result = {"model": case.name, "method": case.method, "motions": len(rows), "t_end": t_end, "goal": case.goal}
    result |= {"seconds": seconds, "steps_per_s": steps / seconds, "simulated_s_per_s": len(rows) * t_end / seconds}
    result |= {"steps": steps / len(rows), "rejected": job.ends[End.REJECTED].mean()}
    result |= {"failed": int((ended != Status.ARRIVED).sum()), "same_bits": bool(same)}
    result |= {"unlike": unlike(job, which_start(len(starts), len(rows))), **made}
    return result


def speed(machine: Machine, cases: list[Case], only: list[str]) -> Iterator[dict[str, Any]]:
    for case in cases:
        if only and case.name not in only and case.method not in only:
            continue
        try:
            result = measure(machine, case)
        except Exception as error:
            result = {"model": case.name, "method": case.method, "error": f"{type(error).__name__}: {error}"[:500]}
        print(json.dumps(result), flush=True)
        yield result


def million(machine: Machine) -> dict[str, Any]:
    """A million arms, ten samples each, into NumPy; the time of the whole call, once the kernel is compiled."""
    system, starts = system_of("arm7")
    count = machine.count(10**6)
    rows = tiled(starts, count)
    q, v = np.ascontiguousarray(rows[:, : system.nq]), np.ascontiguousarray(rows[:, system.nq :])
    how: dict[str, Any] = {"t_end": 0.9, "every": 0.1, "integrator": "rk4", "step": 1e-3}
    if machine.gpu is None:
        how |= {"t_end": 0.09, "every": 0.01}
    else:
        how["device"] = f"gpu:{machine.gpu.number}"
    system.simulate_many(q[:1000], v[:1000], **how)
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        motions = system.simulate_many(q, v, **how)
        times.append(time.perf_counter() - began)
        finite = bool(np.isfinite(motions.q[-1]).all()) and bool(np.isinf(motions.failed).all())
    _show_where_time_goes(lambda: system.simulate_many(q, v, **how))
    result = {"motions": count, "samples": len(motions.t), "steps": int(motions.steps[0]), "seconds": min(times)}
    result |= {"all_seconds": times, "bytes": motions.q.nbytes + motions.v.nbytes, "finite": finite, "goal": 1.0}
    print(json.dumps(result), flush=True)
    return result


def _show_where_time_goes(call: Callable[[], Any]) -> None:
    import cProfile
    import pstats

    profile = cProfile.Profile()
    profile.runcall(call)
    pstats.Stats(profile).sort_stats("tottime").print_stats(12)


def arrays(machine: Machine) -> Iterator[dict[str, Any]]:
    """Quantities on arrays that live on the GPU."""
    from momentree.compile.execute.gpu_arrays import DeviceArray

    if machine.gpu is None:
        return
    for name, count in (("arm7", 2**20), ("humanoid35", 2**17)):
        system, starts = system_of(name)
        rows = tiled(starts, count)
        parts = [rows[:, : system.nq], rows[:, system.nq :], np.random.default_rng(0).normal(size=(count, system.nv))]
        there = []
        for part in map(np.ascontiguousarray, parts):
            memory, stream = machine.gpu.allocate(part.nbytes), Stream(machine.gpu)
            machine.gpu.upload(part, memory.address, stream)
            stream.wait()
            there.append(DeviceArray(memory, part.shape))
        for what in ("forward_dynamics", "inverse_dynamics", "mass_matrix"):
            function = getattr(system, what)
            taken = 1 if what == "mass_matrix" else 3
            out = function(*there[:taken])
            times = []
            for _ in range(2 * REPEATS):
                began = time.perf_counter()
                function(*there[:taken], out=out)
                times.append(time.perf_counter() - began)
            few = [np.ascontiguousarray(part[:COMPARED]) for part in parts[:taken]]
            same = np.array_equal(out.numpy()[:COMPARED], function(*few))
            result = {"model": name, "quantity": what, "rows": count, "per_s": count / min(times), "same_bits": same}
            print(json.dumps(result), flush=True)
            yield result


# --- every example with every integrator ---


def _gallery_case(arguments: tuple[str, str, str | None]) -> dict[str, Any]:
    """In a process of its own: a few steps on the GPU and on the processor."""
    name, method, device = arguments
    os.environ["MOMENTREE_OPTIMIZE"] = "0"
    result: dict[str, Any] = {"model": name, "method": method}
    try:
        system = mt.load(EXAMPLES / name / "model.toml").build()
        if system.mechanism.latches or system.mechanism.switches:
            return {**result, "skipped": "latches or switches: simulated one by one"}
        step = {} if METHODS[method].adaptive else {"step": 1e-3}
        settings = settings_of(t_end=0.01, every=0.005, integrator=method, **step)
        settings.check(0.0)
        batch = Batch(system, settings, 0.0)
        batch.program(1)
    except mt.MomentreeError as error:
        return {**result, "skipped": str(error)[:200]}
    start, free = system.start(), [*system.parameters.values()]
    rows = np.array([[*start.q, *(speed * start.v)] for speed in (1.0, 0.5, 0.0)])
    parameters = np.tile(free, (3, 1)).reshape(3, len(free))
    there = batch.job(rows, parameters)
    batch.compute(there, threads=1)
    if device is None:
        job = _by_text(batch, rows, parameters)[0]
    else:
        with activity("") as phase:
            job, _ = computed(code_on(batch, chosen(device)), job_of_rows(batch, rows, parameters), phase)
    same = np.array_equal(job.values, there.values, equal_nan=True)
    return {**result, "same_bits": bool(same and np.array_equal(job.ends, there.ends, equal_nan=True))}


def gallery(device: str | None, only: list[str]) -> list[dict[str, Any]]:
    """Bits of every example with every integrator, on many processes: most of the time is compiling."""
    import multiprocessing as mp

    names = sorted(path.parent.name for path in EXAMPLES.glob("*/model.toml"))
    cases = [(name, method, device) for name in names for method in METHODS]
    cases = [case for case in cases if not only or case[0] in only or case[1] in only]
    with mp.get_context("spawn").Pool(max(1, min(14, (os.cpu_count() or 2) - 2))) as pool:
        results = []
        for result in pool.imap_unordered(_guarded_case, cases):
            results.append(result)
            if len(results) % 20 == 0:
                print(f"{len(results)} of {len(cases)}", flush=True)
            if not result.get("same_bits", True) or "error" in result:
                print(json.dumps(result), flush=True)
    same = sum(result.get("same_bits", False) for result in results)
    skipped = [result for result in results if "skipped" in result]
    print(f"gallery: {same} of {len(results) - len(skipped)} cases have the processor's bits, {len(skipped)} refused")
    return results


def _guarded_case(arguments: tuple[str, str, str | None]) -> dict[str, Any]:
    try:
        return _gallery_case(arguments)
    except Exception as error:
        return {"model": arguments[0], "method": arguments[1], "error": f"{type(error).__name__}: {error}"[:500]}


# --- the page ---


def figures(results: dict[str, Any]) -> str:
    """The tables of the page."""
    lines = [f"Measured on {results['gpu']} by `python benchmarks/gpu.py`, {results['date']}.", ""]
    if rows := [row for row in (*results.get("speed", ()), *results.get("adaptive", ())) if "error" not in row]:
        lines += [
            "| model | integrator | motions | steps/s | simulated s per s | same bits |",
            "|---|---|---|---|---|---|",
        ]
        for row in rows:
            figure = f"{row['steps_per_s']:.2e} | {row['simulated_s_per_s']:.2e}"
            same = "yes" if row["same_bits"] and not row["unlike"] else "**no**"
            lines.append(f"| {row['model']} | {row['method']} | {row['motions']} | {figure} | {same} |")
        lines.append("")
    if rows := results.get("peers"):
        lines += ["| peer, single precision | model | steps/s | ours over it |", "|---|---|---|---|"]
        ours = {row["model"]: row["steps_per_s"] for row in results.get("speed", ()) if "error" not in row}
        for row in rows:
            ratio = f"{ours[row['model']] / row['steps_per_s']:.0f}" if row["model"] in ours else ""
            lines.append(f"| {row['peer']} | {row['model']} | {row['steps_per_s']:.2e} | {ratio} |")
        lines.append("")
    if rows := results.get("arrays"):
        lines += ["| quantity on arrays of the GPU | model | rows/s |", "|---|---|---|"]
        lines += [f"| {row['quantity']} | {row['model']} | {row['per_s']:.2e} |" for row in rows]
        lines.append("")
    if "million" in results:
        row = results["million"]
        what = f"{row['motions']} arms of 7 joints, {row['steps']} steps of RK4 and {row['samples']} samples each"
        lines += [f"{what}, are in NumPy after {row['seconds']:.2f} s ({row['bytes'] / 1e9:.2f} GB).", ""]
    if rows := results.get("gallery"):
        same, skipped = sum(row.get("same_bits", False) for row in rows), sum("skipped" in row for row in rows)
        lines += [f"Examples with integrators: {same} of {len(rows) - skipped} give the bits of the processor.", ""]
    return "\n".join(lines) + "\n"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--only", default="", help="models or integrators, comma between")
    parser.add_argument("--device", default="gpu")
    parser.add_argument("--dry", action="store_true")
    parser.add_argument("--small", type=int, help="lines of modules in which short functions are inlined (ptx.SMALL)")
    parser.add_argument("--write", type=Path)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def main() -> None:
    """Measure the parts that are asked for, and write what is known after each."""
    sys.path.insert(0, str(HERE))
    options = arguments()
    ptx.SMALL = ptx.SMALL if options.small is None else options.small
    parts, only = options.parts.split(","), [name for name in options.only.split(",") if name]
    machine = Machine(None if options.dry else chosen(options.device))
    results: dict[str, Any] = {"gpu": machine.name, "host": platform.node(), "date": time.strftime("%Y-%m-%d")}
    print(machine.name, flush=True)
    measured: dict[str, Callable[[], Any]] = {
        "speed": lambda: list(speed(machine, SPEED, only)),
        "adaptive": lambda: list(speed(machine, ADAPTIVE, only)),
        "million": lambda: million(machine),
        "arrays": lambda: list(arrays(machine)),
        "gallery": lambda: gallery(None if options.dry else f"gpu:{machine.gpu.number}", only),  # type: ignore[union-attr]
        "peers": lambda: _peers(only),
    }
    for part in parts:
        began = time.perf_counter()
        results[part] = measured[part]()
        print(f"{part}: {time.perf_counter() - began:.1f} s", flush=True)
        if options.json:
            options.json.write_text(json.dumps(results, indent=1, default=float))
    if options.write:
        page = options.write.read_text(encoding="utf-8")
        before, rest = page.split(BEGIN)
        options.write.write_text(before + BEGIN + figures(results) + END + rest.split(END)[1], encoding="utf-8")


def _peers(only: list[str]) -> list[dict[str, Any]]:
    from gpu_peers import peers

    return list(peers(only))


if __name__ == "__main__":
    main()
