"""One of many motions as a run. The work of forces, which many motions leave out, is computed when it is asked for."""

from __future__ import annotations

import os
import warnings
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.compile.trace.right_hand_sides import work_terms_of
from momentree.errors import MomentreeError, RunWarning
from momentree.results.energy_account import EnergyAccount
from momentree.results.run import Run
from momentree.simulate.blocks import Block, End, Statistics

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, eq=False)
class MotionRun(Run):
    """A run of one of many motions: the same samples.

    Where forces do work, it is simulated once more, alone, for the energy account and for files.
    """

    @cached_property
    def energy(self) -> EnergyAccount:
        """Kinetic, potential and total energy, the work of each work term, and the balance (J)."""
        return super().energy if self._accounted is self else self._accounted.energy

    @property
    def data(self) -> xarray.Dataset:
        """Everything with names and units."""
        return super().data if self._accounted is self else self._accounted.data

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a NetCDF file."""
        if self._accounted is self:
            super().save(path)
        else:
            self._accounted.save(path)

    @cached_property
    def _accounted(self) -> Run:
        """The same samples with the work of forces; itself where none does work."""
        if not work_terms_of(self.mechanism) or not len(self.t):
            return self
        settings = {**self.settings, "verify": False}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RunWarning)  # of a motion that failed: this one says so, too
            alone = self.system.simulate(self.state(0), progress=False, **settings)  # type: ignore[arg-type]
        if len(alone.t) < len(self.t) or not np.array_equal(alone.t[: len(self.t)], self.t):
            message = (
                f"the work of forces could not be computed: simulated alone, the motion ends at t = {alone.end.t:g} s"
            )
            raise MomentreeError(f"{message}. {alone.end.message}")
        samples = Block(self.t, self.q, self.v, alone.samples.work[: len(self.t)])
        return Run.of(self.system, samples, alone.work_terms, self.settings, self.statistics, self.end)


def run_of_motion(motions: Any, i: int) -> Run:
    """Of `Motions`, motion i as a run, up to the time at which it failed."""
    count = len(motions)
    if isinstance(i, bool) or not isinstance(i, (int, np.integer)) or not -count <= i < count:
        raise MomentreeError(f"there are {count} motions; there is no motion {i!r}.")
    values = dict(zip(motions.system.mechanism.free, motions.parameters[i].tolist(), strict=True))
    own = {name: values[name] for name in motions.given}
    failed = float(motions.failed[i])
    done = np.isfinite(motions.q[i]).all(axis=1) & np.isfinite(motions.v[i]).all(axis=1)
    kept = len(done) if done.all() else int(np.argmin(done))
    t, q, v = (each.copy() for each in (motions.t[:kept], motions.q[i, :kept], motions.v[i, :kept]))
    end = End("arrived", float(motions.t[-1])) if failed == np.inf else End("failed", failed, motions.reasons[i])
    settings = {} if motions.settings is None else asdict(motions.settings)
    steps, rejected, evaluations = (int(n[i]) for n in (motions.steps, motions.rejected, motions.evaluations))
    statistics = Statistics(steps, rejected, evaluations)
    block = Block(t, q, v, np.zeros((kept, 0)))
    return MotionRun.of(motions.system.with_parameters(own), block, (), settings, statistics, end)
