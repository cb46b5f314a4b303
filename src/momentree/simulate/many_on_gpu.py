"""Many motions on a GPU, in slices: while one is computed, the results of the one before go to the host.

A slice has its own memory on the GPU, at least two of them at a time, and a stream each: starts go there, become
columns, the kernel computes whole motions, one in each thread, and samples come back into the columns of one array on
the host, which is held in place meanwhile.
Where there is not enough memory on the GPU, slices are halved, with a warning. Between slices Ctrl-C is heard.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentree.activity import Activity, activity
from momentree.compile.emit.ptx import memory_of_threads, motions_kernel
from momentree.compile.execute.gpu_code import GpuKernel, columns_on, job_of
from momentree.compile.execute.gpu_devices import Event, Gpu, Stream
from momentree.compile.execute.gpu_driver import OutOfGpuMemory
from momentree.compile.execute.kernel import compiled_once
from momentree.errors import MomentreeError, warn
from momentree.integrate.motions.job import ENDS, Slot
from momentree.simulate.motions_batch import Batch, Job

Array = NDArray[np.float64]
SLICES = 8  # at least, where there are motions enough to keep the GPU busy: results come back while others are computed
SHARE = 0.85  # of free memory that is used
SMALLEST = 32  # motions of a slice
PINNED = 0.25  # of the memory of the host, at most, that is held in place for results


_PLACES = {Slot.STARTS: "starts", Slot.PARAMETERS: "parameters", Slot.TIMES: "times", Slot.VALUES: "samples"}
_PLACES |= {Slot.ENDS: "ends", Slot.FLOOR: "floor"}


class GpuMemoryWarning(UserWarning):
    """There was not enough memory on the GPU for a slice; it was halved."""


@dataclass(frozen=True)
class GpuMotions:
    """The kernel of many motions on one GPU; `work` is how many numbers of memory a motion needs."""

    kernel: GpuKernel
    work: int

    @classmethod
    def of(cls, gpu: Gpu, text: str, work: int) -> GpuMotions:
        """From the text of motions_1."""
        return cls(GpuKernel(gpu, motions_kernel(text, work), "motions"), work)


def computed_on_gpu(batch: Batch, starts: Array, parameters: Array, gpu: Gpu) -> Job:
    """The job of all motions from these starts (m, nq + nv), with its results."""
    code = code_on(batch, gpu)
    with activity(f"simulating {len(starts)} motions of", batch.system.name) as phase:
        return computed(code, job_of_rows(batch, starts, parameters), phase)[0]


def code_on(batch: Batch, gpu: Gpu) -> GpuMotions:
    """The kernel of a batch, made when it is first needed."""
    settings, program = batch.settings, batch.program(1)
    what = f"motions by {settings.integrator} {settings.formulation} {settings.closing} on gpu:{gpu.number}"
    made: GpuMotions = compiled_once(batch.system, what, lambda: GpuMotions.of(gpu, program.text, program.work))
    return made


def job_of_rows(batch: Batch, starts: Array, parameters: Array) -> Job:
    """A job with starts and parameters as they are, row after row: they become columns on the GPU."""
    job = batch.job(starts[:0], parameters[:0])
    job.count, job.starts, job.parameters = len(starts), starts.T, parameters.T
    return job


def computed(code: GpuMotions, job: Job, phase: Activity) -> tuple[Job, float]:
    """The job with its results, and seconds of the kernel by the clock of the GPU."""
    n, count, k = *job.starts.shape, len(job.times)
    try:
        samples, job.ends = np.empty((k * n, count)), np.empty((ENDS, count))
    except MemoryError:
        raise MomentreeError(f"not enough memory for {k} samples of {count} motions. Give fewer at a time.") from None
    job.values = samples.reshape(k, n, count)
    gpu, done, seconds = code.kernel.gpu, 0, 0.0
    size = slice_size(count, _bytes_of_motion(job), _room(code), code.kernel.threads, gpu.watched)
    while done < count:
        try:
            for end, taken in _slices(code, job, samples, done, size):
                done, seconds = end, seconds + taken
                phase.tell(f"{done} of {count} on {gpu.name}", done / count)
        except OutOfGpuMemory:
            if size <= SMALLEST:
                raise
            size = max(size // 2, SMALLEST)
            warn(GpuMemoryWarning(f"{gpu.name}: not enough memory; going on with slices of {size} motions."))
    return job, seconds


def slice_size(count: int, bytes_each: int, room: int, threads: int, watched: bool = False) -> int:
    """How many motions a slice has: whole loads of all threads, several slices, and two of them in memory.

    Where a watchdog would stop long computations, one load.
    """
    most = max(room // (2 * bytes_each), SMALLEST)
    wanted = 1 if watched else max(-(-count // SLICES), 1)
    loads = max(-(-wanted // threads), 1) * threads
    if loads > most:
        loads = most // threads * threads or most
    return min(loads, count) if count > SMALLEST else SMALLEST


def _bytes_of_motion(job: Job) -> int:
    n, p = len(job.starts), len(job.parameters)
    return 8 * (2 * (n + p) + len(job.times) * n + ENDS)


def _room(code: GpuMotions) -> int:
    """Bytes of the GPU for slices: what is free, less what the driver will take for private memory of threads."""
    gpu = code.kernel.gpu
    private = code.kernel.local * gpu.multiprocessors * gpu.threads
    shared = 8 * 2 * memory_of_threads(code.work, code.kernel.threads)
    return max(int(gpu.free_memory * SHARE) - private - shared, 0)


def _slices(code: GpuMotions, job: Job, samples: Array, begin: int, size: int) -> Iterator[tuple[int, float]]:
    """Compute slice after slice; gives how many motions are done, and seconds of the kernel.

    The kernel of a slice waits for that before it: only what it takes beyond the end of that counts.
    """
    spans = [(at, min(at + size, job.count)) for at in range(begin, job.count, size)]
    buffers = [_Buffer(code, job, min(size, job.count - begin)) for _ in spans[:2]]
    while len(buffers) < min(len(spans), SLICES) and buffers[0].bytes <= _room(code):
        buffers.append(_Buffer(code, job, size))  # their kernels are queued before the host does anything else
    count = len(buffers)
    with ExitStack() as stack:
        try:
            for buffer, span in zip(buffers, spans, strict=False):
                buffer.begin(job, span)
            first, ended = buffers[0].events[0], 0.0
            if samples.nbytes + job.ends.nbytes <= _most_pinned():
                for array in (samples, job.ends):
                    stack.enter_context(code.kernel.gpu.pinned(array))
            for i, (_, end) in enumerate(spans):
                buffer, events = buffers[i % count], buffers[i % count].events
                finished = buffer.finish(samples, job.ends)
                if i + count < len(spans):
                    buffer.begin(job, spans[i + count])
                finished.wait()
                started, before = events[0].since(first), ended
                ended = max(events[1].since(first), before)
                yield end, ended - min(max(started, before), ended)
        finally:
            for buffer in buffers:  # nothing may be written once the arrays are gone
                buffer.stream.settle()


class _Buffer:
    """Memory of one slice on the GPU, and the stream in which it is computed."""

    def __init__(self, code: GpuMotions, job: Job, size: int):
        self._code, gpu = code, code.kernel.gpu
        n, p, k = len(job.starts), len(job.parameters), len(job.times)
        self._threads = code.kernel.rounded(min(code.kernel.threads, size))
        sizes = {"rows": size * max(n, p), "starts": size * n, "parameters": size * p, "times": k}
        sizes |= {"samples": size * n * k, "ends": size * ENDS, "floor": job.floor.size}
        sizes["work"] = memory_of_threads(code.work, self._threads)
        self._memory = {name: gpu.allocate(8 * count) for name, count in sizes.items()}
        self._at = {name: memory.address for name, memory in self._memory.items()}
        self.bytes = sum(memory.size for memory in self._memory.values())
        self.stream, self._first, self._last = Stream(gpu), 0, 0
        for name, array in (("times", job.times), ("floor", job.floor)):
            gpu.upload(np.ascontiguousarray(array), self._at[name], self.stream)
        self.stream.wait()
        self.events = Event(gpu), Event(gpu)

    def begin(self, job: Job, span: tuple[int, int]) -> None:
        """Bring the starts of a slice there, and start the kernel."""
        self._first, self._last = span
        count, stream = self._last - self._first, self.stream
        self.events = Event(self._code.kernel.gpu), Event(self._code.kernel.gpu)
        for name, columns in (("starts", job.starts), ("parameters", job.parameters)):
            self._bring(columns[:, self._first : self._last].T, name)
        slots = job.slots({slot: self._at[name] for slot, name in _PLACES.items()}, count)
        self.events[0].record(stream)
        self._code.kernel.launch(
            min(self._threads, count), [job_of(slots.tolist()), ctypes.c_uint64(self._at["work"])], stream
        )
        self.events[1].record(stream)

    def _bring(self, rows: Array, name: str) -> None:
        """Rows of the host as columns on the GPU."""
        count, columns = rows.shape
        if not rows.size:
            return
        gpu = self._code.kernel.gpu
        gpu.upload(np.ascontiguousarray(rows), self._at["rows"], self.stream)
        arguments: list[Any] = [ctypes.c_uint64(self._at["rows"]), ctypes.c_uint64(self._at[name])]
        arguments += [ctypes.c_int64(count), ctypes.c_int64(columns)]
        columns_on(gpu).launch(min(rows.size, 2**20), arguments, self.stream)

    def finish(self, samples: Array, ends: Array) -> Event:
        """Let the results go to the host; gives the event at which they are there."""
        gpu, count = self._code.kernel.gpu, self._last - self._first
        for name, array in (("samples", samples), ("ends", ends)):
            if array.size:
                gpu.download_columns(self._at[name], count, array, self._first, self.stream)
        return Event(gpu).record(self.stream)


def _most_pinned() -> int:
    """Bytes of the host that may be held in place."""
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * PINNED)
    except (AttributeError, OSError, ValueError):  # Windows
        return 2**31
