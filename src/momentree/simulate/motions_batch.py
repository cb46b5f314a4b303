"""A batch of motions of one system: its program, the job that a machine works on, and all cores of this one.

    batch = Batch(system, settings, t_start)
    batch.times                        # of the samples
    program = batch.program(1)         # text of motions_1, sizes of its arrays (integrate/motions/program.py)
    job = batch.job(starts, parameters)
    batch.compute(job, threads=4)      # in the lanes of vectors, on cores of this machine
    job.values, job.ends               # what was computed: (k, nq + nv, m) and (8, m)

Starts (m, nq + nv) are coordinates and velocities, parameters (m, count). A `Job` holds the arrays of
integrate/motions/job.py in the memory of this machine; `Job.slots` are the slots that point to them, or to arrays at
other addresses. Every machine computes the same bits, in any order, so motions may be parted at will.
"""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from momentree.compile.execute import threads as cores
from momentree.compile.execute.kernel import aligned, compiled_once
from momentree.compile.execute.machine_code import Target, loaded
from momentree.equations.formulations import FORMULATIONS
from momentree.integrate.motions.job import ENDS, SLOTS, Slot
from momentree.integrate.motions.program import MotionsProgram
from momentree.integrate.motions.programs import motions_program
from momentree.integrate.stepper import Array
from momentree.simulate.open_loops import most_open
from momentree.simulate.settings import Settings
from momentree.simulate.step_plan import StepPlan

if TYPE_CHECKING:
    from momentree.system import System

MOST_OF_CHUNK = 512  # motions of one call of the machine code
LEAST_OF_CHUNK = 4  # motions for each lane
PARTS = 8  # chunks for each thread, so that one that is held up leaves its motions to others
PATIENCE = 0.1  # s between two looks at what is done
_MOTIONS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 3, ctypes.c_void_p)
Range = tuple[int, int]  # the motions from begin to end


class Job:
    """Arrays of motions, in columns: number i of motion m is at [i, m].

    | attribute  | shape      | meaning                                                              |
    |------------|------------|----------------------------------------------------------------------|
    | starts     | nq + nv, m | coordinates and velocities                                           |
    | parameters | count, m   | free parameters                                                      |
    | times      | k          | of the samples                                                       |
    | values     | k, n, m    | coordinates and velocities, n = nq + nv, NaN behind a failure        |
    | ends       | 8, m       | how each motion ended (integrate/motions/job.py)                     |
    | floor      |            | sizes for the error norm                                             |
    | numbers    |            | the slots that hold numbers                                          |
    """

    def __init__(self, starts: Array, parameters: Array, times: Array, floor: Array, numbers: Mapping[Slot, float]):
        self.count, n = starts.shape
        self.starts, self.parameters = (np.ascontiguousarray(rows.T) for rows in (starts, parameters))
        self.times, self.floor, self.numbers = np.ascontiguousarray(times), floor, dict(numbers)
        self.values, self.ends = np.empty((len(times), n, self.count)), np.empty((ENDS, self.count))

    @property
    def arrays(self) -> dict[Slot, Array]:
        """The arrays by their slots."""
        named = (self.starts, self.parameters, self.times, self.values, self.ends, self.floor)
        slots = (Slot.STARTS, Slot.PARAMETERS, Slot.TIMES, Slot.VALUES, Slot.ENDS, Slot.FLOOR)
        return dict(zip(slots, named, strict=True))

    def slots(self, addresses: Mapping[Slot, int] | None = None, count: int | None = None) -> NDArray[np.int64]:
        """The slots; with arrays at other addresses, for another count of motions, where they are given."""
        slots = np.zeros(SLOTS, dtype=np.int64)
        slots[Slot.COUNT], slots[Slot.SAMPLES] = self.count if count is None else count, len(self.times)
        own = {slot: array.ctypes.data for slot, array in self.arrays.items()}
        for slot, address in (own | dict(addresses or {})).items():
            slots[slot] = address
        for slot, number in self.numbers.items():
            if slot == Slot.EACH:
                slots[slot] = int(number)
            else:
                slots.view(np.float64)[slot] = number
        return slots


class Batch:
    """How motions of a system are integrated and sampled; see above."""

    def __init__(self, system: System, settings: Settings, t_start: float):
        self.system, self.settings, self.t_start = system, settings, t_start
        self.plan = StepPlan(settings, t_start)
        self.times = self.plan.sample_times()
        self._made: MotionsProgram | None = None  # any of the programs

    def program(self, width: int = 1, vectors: bool = False) -> MotionsProgram:
        """The machine code of so many motions at a time, as text, and its sizes.

        Where there is one at a time, it has no vectors, unless they are allowed; they change no bit.
        """
        system, settings = self.system, self.settings
        formulation = FORMULATIONS[settings.formulation]

        def make() -> MotionsProgram:
            what = system.mechanism, formulation, settings.integrator, system.code, width
            return motions_program(*what, settings.constraint_gains, settings.projects, vectors)

        what = f"text of motions by {settings.integrator} {settings.formulation} {settings.closing}, {width} {vectors}"
        made: MotionsProgram = compiled_once(system, what, make)
        self._made = made
        return made

    def width_for(self, count: int) -> int:
        """How many motions this processor computes at a time, where there are so many."""
        return self.settings.method.lanes(Target.host().lanes(0)) if count > 1 else 1

    def job(self, starts: Array, parameters: Array, most: float = np.inf) -> Job:
        """The arrays of motions from these starts; beyond so many tries one is STALLED."""
        system, settings, plan = self.system, self.settings, self.plan
        rtol, atol = settings.tolerances
        numbers = {
            Slot.T_START: self.t_start,
            Slot.FIRST: plan.first,
            Slot.STOP: float(settings.t_end),
            Slot.RTOL: rtol,
            Slot.ATOL: atol or 0.0,
            Slot.LONGEST: plan.longest,
            Slot.MOST: most,
            Slot.EACH: float(plan.steps_between_records(dense=False)),
        }
        floors = (self._made or self.program(self.width_for(len(starts)), vectors=True)).floors  # all have the same
        floor = floors[atol is None]
        if system.mechanism.set_tolerance is not None:  # loops of imprecise linkages stay as open as they must
            floor = floor.copy()
            floor[-8:] = most_open(system._numeric)
        return Job(starts, parameters, self.times, floor, numbers)

    def compute(
        self, job: Job, threads: int | None = None, width: int | None = None, chunk: int | None = None,
        vectors: bool = True, tell: Callable[[int], None] = lambda done: None,
    ) -> None:  # fmt: skip
        """All motions of a job, on as many cores; `tell` hears how many are done, and may raise to stop."""
        if not job.count:
            return
        width = width or self.width_for(job.count)
        workers, program = max(1, cores.available(threads)), self.program(width, vectors)
        function, slots = self._function(width, vectors), job.slots()
        ranges = _ranges(job.count, width, workers, chunk)
        workers, done, stopped = min(workers, len(ranges)), list[int](), threading.Event()

        def work(alone: bool) -> None:
            room = aligned(program.work)
            while not stopped.is_set():
                try:
                    begin, end = ranges.popleft()
                except IndexError:
                    return
                function(slots.ctypes.data, begin, end, 1, room.ctypes.data)
                done.append(end - begin)
                if alone:
                    tell(sum(done))

        if workers == 1:
            work(alone=True)
        else:
            _together(work, workers, stopped, lambda: tell(sum(done)))

    def _function(self, width: int, vectors: bool) -> Any:
        """motions_W, which takes addresses and releases the interpreter while it runs."""
        program, settings = self.program(width, vectors), self.settings

        def make() -> tuple[Any, Any]:
            library = loaded(program.text, Target.host(), f"motions_{width}", {})
            return _MOTIONS(library[f"motions_{width}"]), library

        what = f"motions by {settings.integrator} {settings.formulation} {settings.closing}, {width} {vectors}"
        return compiled_once(self.system, what, make)[0]


def _ranges(count: int, width: int, workers: int, chunk: int | None) -> deque[Range]:
    """The motions in chunks."""
    fair = min(MOST_OF_CHUNK, -(-count // (workers * PARTS)))
    long = min(LEAST_OF_CHUNK * width, -(-count // workers))  # so that a lane that is done finds another motion
    size = chunk or max(fair, long) + -max(fair, long) % width
    return deque((begin, min(begin + size, count)) for begin in range(0, count, size))


def _together(work: Callable[[bool], None], workers: int, stopped: threading.Event, look: Callable[[], None]) -> None:
    """The work of several threads; where this one is interrupted, the others end after their chunk."""
    from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

    with ThreadPoolExecutor(workers, thread_name_prefix="momentree") as pool:
        futures = [pool.submit(work, False) for _ in range(workers)]
        try:
            waiting = set(futures)
            while waiting:
                done, waiting = wait(waiting, PATIENCE, FIRST_EXCEPTION)
                for future in done:
                    future.result()
                look()
        finally:
            stopped.set()
