"""A batch of motions: its job, its chunks, and what becomes of it when it is interrupted."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from momentree.integrate.motions.job import SLOTS, End, Slot
from momentree.simulate.motions_batch import MOST_OF_CHUNK, Batch, _ranges
from momentree.simulate.settings import settings_of


def pendulums(count, **settings):
    m = mt.Model("pendulum")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("bob", mass=1.0, com=(0, 0, -1)))
    system = m.build()
    batch = Batch(system, settings_of(**{"t_end": 1.0, "every": 0.25} | settings), 0.0)
    rows = np.stack([np.linspace(0.1, 1.0, count), np.zeros(count)], axis=1)
    return batch, rows, np.zeros((count, 0))


@pytest.mark.parametrize("count", [1, 7, 8, 9, 100, 5000, 100_000])
@pytest.mark.parametrize("workers", [1, 2, 64])
@pytest.mark.parametrize("width", [1, 8])
def test_chunks_hold_every_motion_once_and_keep_all_cores_busy(count, workers, width):
    ranges = _ranges(count, width, workers, None)
    assert [m for begin, end in ranges for m in range(begin, end)] == list(range(count))
    fair = -(-count // workers)
    assert max(end - begin for begin, end in ranges) <= min(MOST_OF_CHUNK, fair + -fair % width)


def test_a_job_holds_numbers_and_addresses_in_its_slots():
    batch, rows, none = pendulums(3, rtol=1e-7, atol=1e-9)
    job = batch.job(rows, none)
    slots = job.slots()
    assert len(slots) == SLOTS
    assert slots[Slot.COUNT] == 3
    assert slots[Slot.SAMPLES] == 5
    assert slots[Slot.STARTS] == job.starts.ctypes.data
    numbers = slots.view(np.float64)
    assert numbers[Slot.RTOL] == 1e-7
    assert numbers[Slot.ATOL] == 1e-9
    assert numbers[Slot.STOP] == 1.0
    other = job.slots({Slot.VALUES: 4096}, count=2)
    assert (other[Slot.VALUES], other[Slot.COUNT], other[Slot.STARTS]) == (4096, 2, slots[Slot.STARTS])


def test_part_of_the_motions_of_a_job_can_be_computed():
    # every third, as the threads of a GPU do it
    batch, rows, none = pendulums(10)
    whole, part = batch.job(rows, none), batch.job(rows, none)
    batch.compute(whole)
    part.values[:], part.ends[:] = -1.0, -1.0
    room = np.empty(batch.program(1).work + 8)
    start = room.ctypes.data + -room.ctypes.data % 64
    slots = part.slots()
    batch._function(1, False)(slots.ctypes.data, 1, 10, 3, start)
    batch._function(1, False)(slots.ctypes.data, 5, 5, 1, start)  # none
    chosen = np.arange(10) % 3 == 1
    assert np.array_equal(part.values[:, :, chosen], whole.values[:, :, chosen])
    assert (part.values[:, :, ~chosen] == -1.0).all()
    assert (part.ends[End.T] == np.where(chosen, 1.0, -1.0)).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_who_listens_hears_how_many_are_done_and_may_stop_it(threads, monkeypatch):
    monkeypatch.setenv("MOMENTREE_THREADS", "2")
    batch, rows, none = pendulums(64)
    heard = []
    batch.compute(batch.job(rows, none), threads, chunk=8, tell=heard.append)
    assert heard[-1] == 64
    assert heard == sorted(heard)

    def interrupt(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        batch.compute(batch.job(rows, none), threads, chunk=8, tell=interrupt)


def test_no_motion_at_all_is_none():
    batch, rows, none = pendulums(0)
    job = batch.job(rows, none)
    batch.compute(job)
    assert job.values.shape == (5, 2, 0)
