"""Every example of the gallery with every integrator: a GPU's kernel gives the bits of the processor.

Without a GPU the very text of the kernel runs on the processor, thread by thread, one motion at a time, and is compared
with motions in the lanes of vectors. With one, the GPU itself is compared.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import momentree as mt
from gpu_kernels import KernelOnProcessor, assembled, assembler
from momentree.compile.emit import ptx
from momentree.compile.execute.gpu_code import job_of
from momentree.errors import MomentreeError
from momentree.integrate.methods import METHODS
from momentree.simulate.motions_batch import Batch, Job
from momentree.simulate.settings import settings_of

EXAMPLES = Path(__file__).parents[2] / "examples"
MODELS = sorted(path.parent.name for path in EXAMPLES.glob("*/model.toml"))
MOTIONS, THREADS = 3, 2
every_case = [pytest.param(name, method, id=f"{name}-{method}") for name in MODELS for method in METHODS]


@pytest.fixture(autouse=True)
def quickly_compiled(monkeypatch):
    monkeypatch.setenv("MOMENTREE_OPTIMIZE", "0")


@cache
def system_of(name: str) -> mt.System:
    system = mt.load(EXAMPLES / name / "model.toml").build()
    if system.mechanism.latches or system.mechanism.switches:
        pytest.skip("joints with latches and switched constraints are simulated one by one")
    return system


def batch_of(name: str, integrator: str) -> tuple[Batch, np.ndarray, np.ndarray]:
    """Some steps of motions from the start of a model, at several speeds; and values of its inputs."""
    system = system_of(name)
    step = {} if METHODS[integrator].adaptive else {"step": 1e-3}
    settings = settings_of(t_end=0.004, every=0.002, integrator=integrator, **step)
    try:
        settings.check(0.0)
        batch = Batch(system, settings, 0.0)
        batch.program(1)
    except MomentreeError as error:
        pytest.skip(f"the processor refuses it too: {error}")
    start, free = system.start(), [*system.parameters.values()]
    rows = np.array([[*start.q, *(speed * start.v)] for speed in (1.0, 0.5, 0.0)])
    return batch, rows, np.tile(free, (MOTIONS, 1)).reshape(MOTIONS, len(free))


def on_lanes(batch: Batch, rows: np.ndarray, parameters: np.ndarray) -> Job:
    job = batch.job(rows, parameters)
    batch.compute(job, threads=1)
    return job


def by_kernel(batch: Batch, rows: np.ndarray, parameters: np.ndarray) -> Job:
    program, job = batch.program(1), batch.job(rows, parameters)
    job.values[:], job.ends[:] = 7.0, 7.0
    memory = np.zeros(ptx.memory_of_threads(program.work, THREADS) + 1)
    kernel = KernelOnProcessor(ptx.motions_kernel(program.text, program.work), "motions")
    kernel.run(job_of(job.slots().tolist()), ctypes.c_void_p(memory.ctypes.data), threads=THREADS)
    return job


@pytest.mark.repeats(4)
@pytest.mark.parametrize(("name", "integrator"), every_case)
def test_the_text_of_the_kernel_gives_the_bits_of_the_processor(name, integrator):
    case = batch_of(name, integrator)
    expected, found = on_lanes(*case), by_kernel(*case)
    assert np.array_equal(found.ends, expected.ends, equal_nan=True)
    assert np.array_equal(found.values, expected.values, equal_nan=True)


@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
def test_memory_that_is_given_changes_nothing(integrator, monkeypatch):
    case = batch_of("08_four_bar", integrator)
    private = by_kernel(*case)
    monkeypatch.setattr(ptx, "LARGE", 0)
    given = by_kernel(*case)
    assert np.array_equal(private.ends, given.ends)
    assert np.array_equal(private.values, given.values)


@pytest.mark.parametrize(("name", "integrator"), [("08_four_bar", "rk4"), ("04_double_pendulum", "dop853")])
def test_passes_of_llvm_change_no_bit(name, integrator, monkeypatch):
    case = batch_of(name, integrator)
    plain = by_kernel(*case)
    monkeypatch.setattr("gpu_kernels.PASSES", True)
    passed = by_kernel(*case)
    assert np.array_equal(plain.ends, passed.ends)
    assert np.array_equal(plain.values, passed.values)


@pytest.mark.repeats(1)
@pytest.mark.parametrize(
    ("name", "integrator"),
    [case for case in every_case if case.values[0] == "08_four_bar" or case.values[1] in ("rk4", "dopri5")],
)
def test_ptx_is_assembled(name, integrator, tmp_path):
    assembler()
    batch, _, _ = batch_of(name, integrator)
    program = batch.program(1)
    code = ptx.ptx_of(ptx.motions_kernel(program.text, program.work))
    registers, _ = assembled(code, tmp_path)
    assert registers <= 255


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "integrator"), every_case)
def test_a_gpu_gives_the_bits_of_the_processor(name, integrator):
    from momentree.activity import activity
    from momentree.compile.execute.gpu_devices import chosen
    from momentree.simulate.many_on_gpu import code_on, computed, job_of_rows

    case = batch_of(name, integrator)
    expected = on_lanes(*case)
    with activity("") as phase:
        found, _ = computed(code_on(case[0], chosen("gpu")), job_of_rows(*case), phase)
    assert np.array_equal(found.ends, expected.ends, equal_nan=True)
    assert np.array_equal(found.values, expected.values, equal_nan=True)
