"""Many motions on a GPU: slices, memory, failures and refusals; bits are compared in tests/gpu."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.activity import activity
from momentree.compile.execute.gpu_devices import chosen, gpus
from momentree.compile.execute.gpu_driver import GpuError
from momentree.errors import MomentreeError
from momentree.simulate import many_on_gpu
from momentree.simulate.many_on_gpu import SMALLEST, GpuMemoryWarning, code_on, computed, job_of_rows, slice_size
from momentree.simulate.motions_batch import Batch
from momentree.simulate.settings import settings_of

THREADS = 33792  # of an H200 with 255 registers each


def pendulum() -> mt.System:
    """It fails at t = a, where its torque has no value."""
    m = mt.Model("pendulum", gravity=(0, 0, -9.81))
    m.parameter("a", 10.0)
    m.joint("A", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(mass=1.0, length=1.0)))
    m.torque("A", "0.01*log(a - t)")
    return m.build(free=["a"])


# --- slices ---


@pytest.mark.parametrize("count", [1, 31, 1000, 10**5, 10**6, 10**9])
@pytest.mark.parametrize("room", [0, 10**6, 10**9, 10**11])
def test_slices_fit_into_memory_two_at_a_time(count, room):
    size = slice_size(count, 1500, room, THREADS)
    assert size >= 1
    assert size <= max(count, SMALLEST)
    assert 2 * size * 1500 <= room or size <= SMALLEST or size <= max(room // 3000, SMALLEST)


def test_slices_are_whole_loads_of_all_threads_and_several():
    size = slice_size(10**6, 1500, 10**11, THREADS)
    assert size % THREADS == 0
    assert -(-(10**6) // size) >= 7
    assert slice_size(10**9, 1500, 10**10, THREADS) % THREADS == 0


def test_a_watchdog_has_one_load_at_a_time():
    assert slice_size(10**6, 1500, 10**11, THREADS, watched=True) == THREADS


# --- refusals ---


def test_a_device_must_be_one():
    system = four_bar().build()
    with pytest.raises(MomentreeError, match=r"device is 'cuda'\. Choose 'cpu', 'gpu'"):
        system.simulate_many([system.assemble({"A": 1.0})], t_end=0.1, every=0.1, device="cuda")


def test_without_a_gpu_there_is_one_clear_error():
    system = four_bar().build()
    try:
        gpus()
    except GpuError:
        with pytest.raises(GpuError, match="device='cpu'"):
            system.simulate_many([system.assemble({"A": 1.0})], t_end=0.1, every=0.1, device="gpu")
    else:
        pytest.skip("there is a GPU")


def test_starts_are_taken_as_they_are():
    batch = Batch(pendulum(), settings_of(t_end=0.1, every=0.05), 0.0)
    rows, parameters = np.arange(8.0).reshape(4, 2), np.full((4, 1), 10.0)
    job = job_of_rows(batch, rows, parameters)
    assert job.count == 4
    assert np.shares_memory(job.starts, rows)
    assert np.array_equal(job.starts, rows.T)
    assert np.array_equal(job.times, [0.0, 0.05, 0.1])


# --- on a GPU ---


@pytest.mark.gpu
def test_failures_are_told_by_index_and_reason_and_the_others_are_unharmed():
    system, random = pendulum(), np.random.default_rng(0)
    q, v = random.normal(size=(2, 5000, 1))
    a = np.full(5000, 10.0)
    a[[17, 4711]] = 0.4, 0.2
    there, here = (
        system.simulate_many(q, v, t_end=1.0, every=0.1, parameters={"a": a}, device=device)
        for device in ("gpu", "cpu")
    )
    assert np.flatnonzero(np.isfinite(there.failed)).tolist() == [17, 4711]
    assert "finite" in there.reasons[17]
    assert there.reasons == here.reasons
    for name in ("q", "v", "failed", "steps", "rejected", "evaluations"):
        assert np.array_equal(getattr(there, name), getattr(here, name), equal_nan=True), name


@pytest.mark.gpu
@pytest.mark.parametrize("size", [1, 33, 1000, 4096])
def test_slices_of_any_size_give_the_same_bits(size, monkeypatch):
    system = pendulum()
    q = np.linspace(-1, 1, 3000)[:, None]
    whole = system.simulate_many(q, np.zeros_like(q), t_end=0.5, every=0.1, device="gpu")
    monkeypatch.setattr(many_on_gpu, "slice_size", lambda *arguments: size)
    count = 100 if size == 1 else 3000
    parts = system.simulate_many(q[:count], np.zeros_like(q[:count]), t_end=0.5, every=0.1, device="gpu")
    assert np.array_equal(parts.q, whole.q[:count])
    assert np.array_equal(parts.v, whole.v[:count])


@pytest.mark.gpu
def test_memory_that_does_not_suffice_is_told_halved_and_gone_on(monkeypatch):
    system, gpu = pendulum(), chosen("gpu")
    q = np.linspace(-1, 1, 60000)[:, None]
    expected = system.simulate_many(q, np.zeros_like(q), t_end=0.1, every=0.001, device="gpu")
    monkeypatch.setattr(many_on_gpu, "slice_size", lambda *arguments: 60000)  # 104 MB
    taken = gpu.allocate(gpu.free_memory - 60 * 2**20)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = system.simulate_many(q, np.zeros_like(q), t_end=0.1, every=0.001, device="gpu")
    taken.free()
    assert any(issubclass(one.category, GpuMemoryWarning) for one in told)
    assert np.array_equal(found.q, expected.q)


@pytest.mark.gpu
def test_kernel_time_is_measured_by_the_clock_of_the_gpu():
    batch = Batch(pendulum(), settings_of(t_end=1.0, every=1.0, integrator="rk4", step=1e-3), 0.0)
    rows, parameters = np.zeros((1000, 2)), np.full((1000, 1), 10.0)
    with activity("") as phase:
        _, seconds = computed(code_on(batch, chosen("gpu")), job_of_rows(batch, rows, parameters), phase)
    assert 1e-6 < seconds < 10
