"""From a simulation to a Run, so that nothing computed is lost: what is kept on disk is there whole or not at all.

With a path, samples and checkpoints go into a folder beside the file about once a second (checkpoints.py); at the end
they become the file, and the folder is deleted. A process may be killed at any moment: `resume_run` continues from the
last whole chunk, and the file is the same, bit for bit, as if nothing had happened.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentree.activity import activity, showing
from momentree.assembly.samples import Samples
from momentree.assembly.state import State
from momentree.errors import MomentreeError, RunWarning, spell_checked, warn
from momentree.files import loads
from momentree.files.atomic_write import destination, reason_of, source
from momentree.results.checkpoints import MANIFEST, WHOLE, Chunk, Manifest, Parts, folder_of, read_parts
from momentree.results.global_error import error_of
from momentree.results.run import Run, RunError, load_run, text_of
from momentree.results.run_export import check_run_path
from momentree.results.run_files import write
from momentree.results.run_states import given_to_begin
from momentree.simulate.blocks import Block, End, RecordableSimulation, Setting, Statistics
from momentree.simulate.fastest_motion import fastest_motion
from momentree.simulate.inputs import inputs_again
from momentree.simulate.simulation import new_simulation
from momentree.structure.given import Given

SECONDS = 1.0  # of computing after which samples are written, or
SAMPLES = 200_000  # so many of them
PATIENCE = 10.0  # seconds of computing after which the line of progress says what keeps steps short
Where = str | os.PathLike[str]
ProgressCallback = Callable[
    [float, float], None
]  # of the time (s) and the largest closure error (m, rad) after a block


def record(
    simulation: RecordableSimulation, path: Where | None = None, progress: ProgressCallback | bool | None = None
) -> Run:
    """Run a simulation to its end; with a path, into a NetCDF file that survives whatever happens.

    | argument | meaning                                                                                        |
    |----------|------------------------------------------------------------------------------------------------|
    | path     | run.nc: written at the end, kept in run.nc.parts until then                                    |
    | progress | None: a bar on a terminal, once it takes more than a moment; False: none;                      |
    |          | or called with (t, closure error)                                                              |

    Ctrl-C ends it after the block that is being computed; the run then says "interrupted", and keeps what there is.
    """
    if path is None:
        return _Recording(simulation, None, progress).run()
    check_run_path(path)
    target = Path(os.path.abspath(destination(path)))  # a callback may change the working directory
    parts = Parts.begin(target, _manifest(simulation))
    with contextlib.closing(parts):
        return _Recording(simulation, parts, progress).run()


@spell_checked
def resume_run(
    path: Where,
    progress: ProgressCallback | bool | None = None,
    make: Callable[..., RecordableSimulation] | None = None,
    inputs: Mapping[str, Any] | None = None,
) -> Run:
    """Go on with a run that was interrupted or killed while it was written to this file; a finished one is loaded.

    `make(system, start, **settings)` makes the simulation again; that of Momentree by default. Inputs are saved, but
    Python functions have to be given again: inputs={"u": sampled(f, every=0.01)}.
    """
    path = Path(os.path.abspath(source(path)))
    if os.path.exists(path) and not os.path.exists(folder_of(path) / MANIFEST):
        Parts.discard(path)
        finished = load_run(path)
        begun_with: Any = finished.settings.get("inputs", {})
        inputs_again(begun_with, inputs)
        return finished
    parts = Parts.open(path)
    if parts.dropped:
        message = f"{parts.folder}: {', '.join(parts.dropped)} damaged: computed again"
        warn(RunWarning(f"{message} from t = {parts.reached:g} s."))
    with contextlib.closing(parts), showing(progress):
        simulation = _made_again(parts, make or new_simulation, inputs)
        return _Recording(simulation, parts, progress).run()


def _manifest(simulation: RecordableSimulation) -> Manifest:
    from momentree import __version__

    system, start = simulation.system, simulation.start
    made_with = (dict(simulation.settings), tuple(simulation.work_terms))
    q, v = (tuple(float(x) for x in values) for values in (start.q, start.v))
    given = given_to_begin(system, start)
    about = (*made_with, float(start.t), q, v, __version__, getattr(system, "code", None), given)
    return Manifest(text_of(system), system.mechanism.free, *about)


@dataclass(frozen=True)
class Begun:
    """What a run, finished or not, was begun with."""

    model: str
    settings: Mapping[str, Setting]
    q: Sequence[float]
    v: Sequence[float]
    t: float

    def starts_at(self, state: State) -> bool:
        """Whether this is the state that it started from, to round-off: velocities of samples follow from momenta."""
        pairs = ((self.q, state.q), (self.v, state.v))
        return self.t == state.t and all(
            np.shape(mine) == np.shape(its)
            and np.allclose(mine, its, rtol=0, atol=1e-12 * np.max(np.abs(its), initial=1))
            for mine, its in pairs
        )


def begun(path: Path) -> Begun | None:
    """What the run at a path was begun with; None if there is no run."""
    path = source(path)
    if os.path.exists(folder_of(path) / MANIFEST):
        manifest = read_parts(path)[0]
        return Begun(manifest.model, manifest.settings, manifest.q, manifest.v, manifest.t)
    if not os.path.exists(path):
        return None
    run = load_run(path)
    return Begun(run.model, run.settings, run.q[0], run.v[0], float(run.t[0])) if len(run.t) else None


def _made_again(
    parts: Parts, make: Callable[..., RecordableSimulation], inputs: Mapping[str, Any] | None = None
) -> RecordableSimulation:
    """The simulation as it was after the last whole chunk."""
    manifest = parts.manifest
    given = Given.of_table(manifest.given)
    system = loads(manifest.model, f"the model in {parts.folder}").build(manifest.free, manifest.code).at(given)
    mechanism = dataclasses.replace(system.mechanism.at_defaults(), given=given)
    start = State(mechanism, np.array(manifest.q), np.array(manifest.v), manifest.t)
    settings: dict[str, Any] = dict(manifest.settings)
    if inputs or "inputs" in settings:
        settings["inputs"] = inputs_again(settings.get("inputs", {}), inputs)
    simulation = make(system, start, **settings)
    if parts.chunks:
        simulation.restore(parts.chunks[-1].checkpoint)
    return simulation


class _Recording:
    """One simulation in progress.

    | field   | meaning                                                     |
    |---------|-------------------------------------------------------------|
    | blocks  | all that was computed                                       |
    | pending | how many of them, the last, are not on the disk yet         |
    | after   | checkpoint and statistics after the last of them            |
    | happened | events until then, and their times                        |
    | slow     | when to find out what keeps steps short, its `cause`        |
    """

    def __init__(self, simulation: RecordableSimulation, parts: Parts | None, progress: ProgressCallback | bool | None):
        self.simulation, self.parts, self.progress = simulation, parts, progress
        self.mechanism = simulation.system.mechanism.at_defaults()
        chunks = parts.chunks if parts else []
        self.blocks, self.pending, self.written = [chunk.block for chunk in chunks], 0, time.monotonic()
        self.slow, self.cause = self.written + PATIENCE, ""
        self.end = chunks[-1].end if chunks else None
        self.happened: tuple[tuple[str, float], ...] = chunks[-1].events if chunks else ()
        self.after: tuple[dict[str, NDArray[Any]], Statistics] = (
            (chunks[-1].checkpoint, chunks[-1].statistics) if chunks else ({}, simulation.statistics)
        )

    def run(self) -> Run:
        """Compute to the end, keep it, and say what is wrong with it."""
        if self.end is None:
            self._compute()
        run = self._verified(self._so_far())
        if self.parts is not None and self.end is not None and self.end.reason != "interrupted":
            self._finish(run)
        for message in run.warnings:
            warn(RunWarning(f"{run.mechanism.name}: {message}"))
        return run

    def _verified(self, run: Run) -> Run:
        """The run with an estimate of its error, where the simulation makes one; without it if that is interrupted."""
        if not (self.simulation.settings.get("verify") and len(run.t)) or run.end.reason == "interrupted":
            return run
        second = activity("estimating the error by a second simulation of", self.mechanism.name)
        with contextlib.suppress(KeyboardInterrupt), showing(self.progress), second:
            return run.with_measures(error=error_of(self.simulation, run))
        return run

    # --- computing ---

    def _compute(self) -> None:
        with _interrupts() as asked, self._shown() as show:
            while self.end is None:
                if asked():
                    self.end = self._interrupted()
                    break
                self._advance()
                show(self)
                if self._due():
                    self._flush()
        if self.end is not None and self.end.reason == "interrupted":
            self._flush()

    def _advance(self) -> None:
        """The next block; whatever goes wrong, what was there before is kept."""
        try:
            block = self.simulation.advance()
        except KeyboardInterrupt:  # it may be anywhere within a step; the last checkpoint is not
            self.end = self._interrupted()
            return
        except Exception as error:
            self._rescue(error)
            raise
        if block is not None and len(block):
            self.blocks.append(Block(*(np.array(getattr(block, name)) for name in ("t", "q", "v", "work"))))
            self.pending += 1
        checkpoint = {name: np.array(array) for name, array in self.simulation.checkpoint().items()}
        self.after = (checkpoint, self.simulation.statistics)
        self.happened = tuple(getattr(self.simulation, "events", ()))
        self.end = self.simulation.end
        if block is None and self.end is None:
            raise RuntimeError("the simulation gave no block and no end")

    def _rescue(self, error: Exception) -> None:
        """Keep what there is, and say where."""
        with contextlib.suppress(RunError):
            self._flush()
        run = self._so_far(End("failed", self._t, str(error), self.happened))
        if isinstance(error, MomentreeError):
            raise RunError(f"{error} {self._kept()}", run) from error
        error.add_note(self._kept())
        error.run = run  # type: ignore[attr-defined]

    @property
    def _t(self) -> float:
        """The time reached."""
        return float(self.blocks[-1].t[-1]) if self.blocks else float(self.simulation.t_start)

    def _interrupted(self) -> End:
        return End("interrupted", self._t, "", self.happened)

    # --- keeping ---

    def _due(self) -> bool:
        if self.parts is None or not self.pending:
            return False
        count = sum(map(len, self.blocks[-self.pending :]))
        return count >= SAMPLES or time.monotonic() - self.written >= SECONDS

    def _flush(self) -> None:
        """Write what is not on the disk yet; an end that is none, an interruption, is not written."""
        final = self.end if self.end is not None and self.end.reason != "interrupted" else None
        if self.parts is None or not (self.pending or final):
            return
        checkpoint, statistics = self.after
        manifest = self.parts.manifest
        pending = self.blocks[len(self.blocks) - self.pending :]
        block = Block.joined(pending, len(manifest.q), len(manifest.v), len(manifest.work_terms))
        try:
            self.parts.append(Chunk(block, checkpoint, statistics, final, self.happened))
        except OSError as error:
            message = f"{self.parts.folder}: cannot be written: {reason_of(error)}. {self._kept()}"
            raise RunError(message, self._so_far()) from None
        self.blocks[len(self.blocks) - self.pending :] = [block] if self.pending else []
        self.pending, self.written = 0, time.monotonic()

    def _finish(self, run: Run) -> None:
        """The chunks become the file; a run that was over before the first was due needs none."""
        assert self.parts is not None
        if self.parts.chunks and self.parts.chunks[-1].end is None:
            self._flush()
        try:
            self.parts.confirm()
            write(run, self.parts.path, self.parts.folder / f"{WHOLE}.part")
        except OSError as error:
            message = f"{self.parts.path}: cannot be written: {reason_of(error)}. {self._kept()}"
            raise RunError(message, run) from None
        self.parts.delete()

    def _kept(self) -> str:
        """What is kept, and where."""
        memory = f"All that was computed, up to t = {self._t:g} s, is in memory, as `run` of this error"
        if self.parts is None:
            return f"{memory}."
        on_disk = [chunk for chunk in self.parts.chunks if len(chunk.block)]
        if not on_disk or not self.parts.folder.is_dir():
            return f"{memory}; nothing of it is on the disk."
        return (
            f"{memory}; {self.parts.folder} has it up to t = {on_disk[-1].block.t[-1]:g} s. "
            f"Continue with {how_to_continue(self.parts.path)}."
        )

    def _so_far(self, end: End | None = None) -> Run:
        return _run_of(self.simulation, self.blocks, end or self.end or self._interrupted(), self.after[1])

    # --- showing ---

    @contextlib.contextmanager
    def _shown(self) -> Iterator[Callable[[_Recording], None]]:
        """What is called after each block."""
        if callable(self.progress):
            callback = self.progress
            with showing(callback):
                yield lambda recording: callback(recording._t, recording.closure_error())
            return
        from momentree.look.progress import bar

        name, times = self.mechanism.name, (self.simulation.t_start, self.simulation.t_end)
        with bar(name, *times, self.progress) as show:
            yield lambda recording: show(recording._t, recording.closure_error, recording.news)

    def news(self) -> str:
        """By which integrator it goes on since it was found to be stiff; what steps follow, where it takes long."""
        to = self.after[1].switched_to
        if time.monotonic() >= self.slow:
            mechanism, last = getattr(self.simulation, "mechanism", self.mechanism), self.blocks[-1]
            self.slow = math.inf
            fastest = fastest_motion(mechanism, last.q[-1], last.v[-1], float(last.t[-1]))
            self.cause = f", {fastest}" if fastest else ""
        return f"{f', stiff: by {to}' if to else ''}{self.cause}"

    def closure_error(self) -> float:
        """The largest closure error now (m, rad)."""
        last = self.blocks[-1]
        mechanism = getattr(self.simulation, "mechanism", self.mechanism)
        with np.errstate(all="ignore"):
            errors = Samples(mechanism, last.q[-1:], last.v[-1:], last.t[-1:]).closure_errors()
        return float(np.abs(errors).max(initial=0.0))


def how_to_continue(path: Path) -> str:
    """What to call, and what to type."""
    return f'momentree.resume_run("{path}"), or `momentree run --resume -o {path}`'


def _run_of(
    simulation: RecordableSimulation, blocks: list[Block], end: End | None, statistics: Statistics | None = None
) -> Run:
    """A run of these blocks; without an end, it was interrupted."""
    system, work_terms = simulation.system, tuple(simulation.work_terms)
    given = given_to_begin(system, simulation.start)
    samples = Block.joined(blocks, system.nq, system.nv, len(work_terms))
    t = float(samples.t[-1]) if len(samples) else float(simulation.t_start)
    about = (work_terms, simulation.settings, statistics or simulation.statistics, end or End("interrupted", t))
    return Run.of(system, samples, *about, given)


@contextlib.contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Ctrl-C is remembered for the end of the block, a second one acts at once; elsewhere than in the main thread, and
    where somebody else takes care of it, nothing is changed.
    """
    asked: list[bool] = []

    def remember(signum: int, frame: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(True)

    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: False
        return
    signal.signal(signal.SIGINT, remember)
    try:
        yield lambda: bool(asked)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
