"""`momentree.study`: a sweep as one object, over a design of parameters and starts; run, interrupted, continued."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.activity import activity, showing
from momentree.analyse.studies.chunks import ChunkResults, computed_chunk, run_from
from momentree.analyse.studies.cluster import computed_on
from momentree.analyse.studies.description import (
    StudyDescription,
    computed_together,
    kinds_of,
    settings_for,
    start_of,
)
from momentree.analyse.studies.designs import Design, design_of
from momentree.analyse.studies.output_expressions import RESERVED, read_outputs
from momentree.analyse.studies.sealed_metadata import METADATA
from momentree.analyse.studies.stores import FAILED, MemoryStore, ZarrStore
from momentree.analyse.studies.study_files import read_study
from momentree.compile.execute.gpu_devices import chosen, is_gpu
from momentree.errors import MomentreeError, spell_checked
from momentree.model import Model

if TYPE_CHECKING:
    import xarray

    from momentree.results.run import Run
    from momentree.system import System

NUMBERS, NUMBERS_ON_GPU = 2_000_000, 50_000_000  # coordinates and velocities of all samples of a chunk
MOST, MOST_ON_GPU, MOST_ONE_BY_ONE = 512, 65_536, 16  # motions of a chunk


@spell_checked
class Study:
    """A sweep: what is varied, what is kept, and the results so far. Made by `momentree.study`.

    | member         | meaning                                                                                 |
    |----------------|-----------------------------------------------------------------------------------------|
    | run()          | computes what is missing; all results, an xarray.Dataset                                |
    | results        | the results so far                                                                      |
    | design         | names and values of what is varied                                                      |
    | simulate(i)    | one motion as a run, by its number or by its indices in a grid                          |
    | done, failed   | how many motions are computed, and how many of these failed                             |
    """

    def __init__(self, description: StudyDescription, store: MemoryStore | ZarrStore, how: Mapping[str, Any]):
        self.description, self._store, self._how = description, store, how

    @property
    def design(self) -> Design:
        """Names and values of what is varied."""
        return self.description.design

    @property
    def system(self) -> System:
        """The system that moves."""
        return self.description.system

    @property
    def path(self) -> os.PathLike[str] | None:
        """Where the store is; None if results are in memory."""
        return self._store.path

    def __len__(self) -> int:
        return len(self.design)

    def run(self) -> xarray.Dataset:
        """Compute all motions that are not computed yet; the results.

        Ctrl-C, an error or a kill lose at most the chunks that are being computed: the same study goes on from there.
        """
        store, name = self._store, self.system.name
        with showing(self._how["progress"]), activity("study of", name) as phase, store.held():
            pending = store.pending()
            total = sum(store.regions[i].end - store.regions[i].begin for i in pending)
            done = failed = 0
            for i, failures in self._computed(pending):
                region = store.regions[i]
                done, failed = done + region.end - region.begin, failed + failures
                news = f"{len(self) - total + done:,} of {len(self):,} motions"
                phase.tell(f"{news}, {failed:,} failed" if failed else news, done / total)
        return self.results

    def _computed(self, pending: list[int]) -> Iterator[tuple[int, int]]:
        """Compute and keep each region; its number, and how many motions failed."""
        store, client = self._store, self._how["client"]
        threads, device = self._how["threads"], self._how["device"]
        if client is not None and pending:
            for i, found in computed_on(client, store, pending, threads, device):
                if isinstance(found, ChunkResults):
                    store.write(i, found)
                yield i, found.failed if isinstance(found, ChunkResults) else found
            missing = store.pending() if store.path else []
            if missing:
                raise MomentreeError(
                    f"{store.path}: the workers wrote their results, but they are not there. "
                    "Give a path= that this machine and all workers share."
                )
            return
        if is_gpu(device):
            chosen(device)  # one that is not there is an error of the study, not of its motions
        for i in pending:
            region = store.regions[i]
            results = computed_chunk(self.description, region.begin, region.end, threads, device)
            store.write(i, results)
            yield i, results.failed

    @property
    def results(self) -> xarray.Dataset:
        """The results so far, with units and names; motions that are not computed yet, or that failed, are NaN."""
        return self._store.dataset()

    @property
    def done(self) -> int:
        """How many motions are computed."""
        return int((self.results["status"].values > 0).sum())

    @property
    def failed(self) -> int:
        """How many of them failed; `results.reason` says why."""
        return int((self.results["status"].values == FAILED).sum())

    def simulate(self, *index: int) -> Run:
        """One motion as a run, computed by `System.simulate`: by its number, or by its indices in the grid."""
        shape = self.design.shape if len(index) > 1 else (len(self),)
        try:
            number = int(np.ravel_multi_index([range(n)[i] for n, i in zip(shape, index, strict=True)], shape))
        except (ValueError, IndexError, TypeError):
            limits = " x ".join(map(str, self.design.shape))
            message = f"there is no motion {', '.join(map(repr, index)) or 'without a number'}: there are {limits}"
            raise MomentreeError(f"study: {message}.") from None
        study, rows = self.description, self.design.rows(number, number + 1)
        given = {name: float(x[0]) for name, x in study.named("coordinate", rows).items()}
        velocities = {name: float(x[0]) for name, x in study.named("velocity", rows).items()}
        parameters = {name: float(x[0]) for name, x in study.named("parameter", rows).items()}
        state = study.system.assemble(
            {**study.start.coordinates, **given},
            {**study.start.velocities, **velocities},
            study.start.guess or None,
            study.t_start,
            parameters=parameters,
        )
        return run_from(study, state)

    def __repr__(self) -> str:
        return (
            f"Study('{self.system.name}': {self.design}, outputs {', '.join(o.name for o in self.description.outputs)})"
        )

    def __str__(self) -> str:
        study = self.description
        lines = [f"study of {self.system.name}: {self.design}"]
        for name, column in zip(self.design.names, self.design.columns, strict=True):
            lines.append(f"  over {name}: {column.min():g} to {column.max():g}")
        lines += [f"  output {one.name}: {one.attributes['long_name']}" for one in study.outputs]
        where = f"in {self.path}" if self.path else "in memory"
        if self.path is None or os.path.exists(self.path):
            lines.append(f"  {self.done:,} computed, {self.failed:,} of them failed; {where}")
        else:
            lines.append(f"  nothing computed yet; {where}")
        return "\n".join(lines)


@spell_checked
def study(
    system: System | Model,
    over: Any,
    outputs: Mapping[str, Any],
    *,
    path: str | os.PathLike[str] | None = None,
    given: Mapping[str, Any] | None = None,
    velocities: Mapping[str, Any] | None = None,
    guess: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    events: Mapping[str, Any] | None = None,
    together: bool | None = None,
    client: Any = None,
    device: str = "cpu",
    threads: int | None = None,
    chunk: int | None = None,
    progress: bool | None = None,
    **settings: Any,
) -> Study:
    """A sweep over parameters, initial coordinates and velocities: nothing is computed until `run()` (docs/studies.md).

    | argument                   | meaning                                                                           |
    |----------------------------|-----------------------------------------------------------------------------------|
    | system                     | with free parameters; or a model, whose parameters are then left free as needed   |
    | over                       | {"k": [1, 2], "A'": [0, 5]}: a grid; or `grid`, `points`, `random`,               |
    |                            | `latin_hypercube`. Names of parameters, coordinates and velocities                |
    | outputs                    | {"peak": "max(C.force)"}: expressions, functions of a run, or pairs of these      |
    |                            | and attributes: ("max(C.force)", {"units": "N"})                                  |
    | path                       | of a Zarr store, which is made or continued; without it, results are in memory    |
    | given, velocities, guess   | of the start, instead of the model's                                              |
    | parameters                 | values of free parameters that are the same for all motions                       |
    | events                     | expressions by name, as for `System.simulate`; then motions are computed singly   |
    | together                   | False: one by one by `System.simulate`, with everything that a run has            |
    | client                     | of Dask: chunks are computed by its workers                                       |
    | device, threads            | "cpu" or "gpu"; how many cores                                                    |
    | chunk                      | motions that are computed and written at a time, at most                          |
    | settings                   | t_end, every (s) and all others of `System.simulate`                              |

    >>> study = mt.study(model, {"k": [1.0, 2.0]}, {"peak": "max(C.force)"}, every=0.01)   # doctest: +SKIP
    >>> study.run().peak.plot()   # doctest: +SKIP
    """
    design = design_of(over)
    built = _built(system, design, parameters)
    kinds = kinds_of(built, design.names)
    start = start_of(built, dict(zip(design.names, kinds, strict=True)), given, velocities, guess)
    wanted = settings_for(built, design, start, settings)
    happenings = dict(events or {})
    singly = not computed_together(built, wanted, happenings, together)
    kept = tuple(read_outputs(built, outputs, happenings))
    _check_names(design, parameters or {}, [output.name for output in kept], path is not None)
    if is_gpu(device) and singly:
        raise MomentreeError("study: motions that are computed one by one need device='cpu'.")
    description = StudyDescription(built, design, kinds, start, kept, wanted, happenings, not singly)
    most = _motions_at_a_time(description, chunk, is_gpu(device))
    store = MemoryStore(description, most) if path is None else ZarrStore(description, path, most)
    return Study(description, store, {"client": client, "device": device, "threads": threads, "progress": progress})


def _check_names(design: Design, parameters: Mapping[str, Any], outputs: list[str], written: bool) -> None:
    """Refuse what is varied and has its name twice, or one that its results cannot have."""
    for name in design.names:
        if name in RESERVED:
            message = f"'{name}' is varied, and the results have a variable of this name of their own"
            raise MomentreeError(f"study: {message}. Give the parameter or joint another name.")
        if written and (name in (".", "..", METADATA) or "/" in name or "\\" in name):
            message = f"'{name}' is varied, and no file of a store can have this name"
            raise MomentreeError(f"study: {message}. Give the joint another name, or leave path= out.")
        if name in parameters:
            raise MomentreeError(f"study: '{name}' is varied, and given in parameters= too. Give it once.")
        if name in outputs:
            raise MomentreeError(f"study: '{name}' is varied, and an output has its name. Choose another name.")


@spell_checked
def load_study(file: str | os.PathLike[str], *, how_to_load: Mapping[str, Any] | None = None, **instead: Any) -> Study:
    """The study that a file describes (docs/studies.md); arguments of `study` replace what the file says.

    >>> results = mt.load_study("model.toml", threads=2).run()   # doctest: +SKIP
    """
    model, arguments = read_study(file, how_to_load)
    return study(model, **{**arguments, **instead})


def _built(system: System | Model, design: Design, parameters: Mapping[str, Any] | None) -> System:
    """The system, of a model with free parameters as needed, at values that are the same for all motions."""
    if isinstance(system, Model):
        known = [name for name, _ in system.parameters]
        system = system.build(free=[name for name in known if name in (*design.names, *(parameters or {}))])
    if not hasattr(system, "simulate_many"):
        raise MomentreeError(f"study: {type(system).__name__} cannot be studied. Give a system or a model.")
    return system.with_parameters(parameters)


def _motions_at_a_time(study: StudyDescription, chunk: Any, on_gpu: bool) -> int:
    if chunk is not None:
        if isinstance(chunk, bool) or not isinstance(chunk, (int, np.integer)) or chunk < 1:
            raise MomentreeError(f"study: chunk is {chunk!r}; give a number of motions, at least 1.")
        return int(chunk)
    numbers = max(len(study.t) * (study.system.nq + study.system.nv), 1)
    if on_gpu:
        return max(1, min(MOST_ON_GPU, NUMBERS_ON_GPU // numbers))
    return max(1, min(MOST if study.together else MOST_ONE_BY_ONE, NUMBERS // numbers))
