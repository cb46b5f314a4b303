"""ProgrammeRun: a motion by a programme; coordinates, velocities, deviations, constraint errors, measured decay."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from momentree.errors import MomentreeError, spell_checked, suggestion
from momentree.files.atomic_write import write_file
from momentree.files.csv_text import csv_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from momentree.analyse.programmes.decay_rate import Certificate
    from momentree.programmes import Programme

Array = NDArray[np.float64]


@spell_checked
@dataclass(frozen=True, eq=False)
class ProgrammeRun:
    """A motion by a programme.

    | field            | shape | meaning                                                                    |
    |------------------|-------|----------------------------------------------------------------------------|
    | t                | k     | time (s)                                                                   |
    | q, qd            | k, n  | coordinates and their velocities                                           |
    | u                | k, n  | deviations q' - v                                                          |
    | size             | k     | \\|u\\| in the metric of the mass matrix, sqrt(u' m u)                       |
    | constraint_error | k, m  | a q' - b of each constraint                                                |
    | stopped          |       | why it ended before its time; "" if it arrived                             |
    | programme        |       | what it is a motion by; None if the run comes from a file                  |
    """

    name: str
    coordinates: tuple[str, ...]
    constraints: tuple[str, ...]
    t: Array
    q: Array
    qd: Array
    u: Array
    size: Array
    constraint_error: Array
    stopped: str = ""
    evaluations: int = 0
    programme: Programme | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Without the programme, whose machine code belongs to this process."""
        return {**vars(self), "programme": None}

    def __getitem__(self, name: str) -> Array:
        """A coordinate by its name, or a velocity: run["phi"], run["phi'"]."""
        column, values = (name[:-1], self.qd) if name.endswith("'") else (name, self.q)
        if column not in self.coordinates:
            raise MomentreeError(f"the run has no coordinate '{column}'.{suggestion(column, self.coordinates)}")
        return np.asarray(values[:, self.coordinates.index(column)])

    @property
    def arrived(self) -> bool:
        """Whether the motion came to its end."""
        return not self.stopped

    def decay_rate(self, floor: float = 1e-9) -> float:
        """The slowest decay (1/s) from the start, min of -log(|u|/|u_0|)/t, while |u| is above floor |u_0|."""
        first = float(self.size[0])
        if not first > 0:
            raise MomentreeError("the run starts on its programme: there is no deviation that could decay.")
        later = (self.t > self.t[0]) & (self.size > floor * first)
        if not later.any():
            return np.inf
        return float((-np.log(self.size[later] / first) / (self.t[later] - self.t[0])).min())

    @property
    def data(self) -> Any:
        """Everything as an xarray.Dataset."""
        import xarray

        columns = {"coordinate": list(self.coordinates), "constraint": list(self.constraints), "t": self.t}
        by_coordinate = {name: (("t", "coordinate"), getattr(self, name)) for name in ("q", "qd", "u")}
        errors = {"constraint_error": (("t", "constraint"), self.constraint_error), "size": ("t", self.size)}
        said = {"name": self.name, "stopped": self.stopped}
        return xarray.Dataset({**by_coordinate, **errors}, coords=columns, attrs=said)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write t, coordinates, velocities, deviations and constraint errors, one line for each sample."""
        names = [
            *self.coordinates,
            *(f"{name}'" for name in self.coordinates),
            *(f"u.{name}" for name in self.coordinates),
        ]
        header = ["t", *names, "size", *(f"constraint {i}" for i in range(1, len(self.constraints) + 1))]
        table = np.column_stack([self.t, self.q, self.qd, self.u, self.size, self.constraint_error])
        write_file(path, csv_text(header, table.tolist()))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a NetCDF file, from which `load_programme_run` gives it back to the last bit."""
        from momentree.results.programme_run_files import save

        save(self, path)

    def plot(self, path: str | os.PathLike[str] | None = None, rate: float | None = None) -> Figure:
        """The path, coordinates, |u| and constraint errors, as a figure; saved if a path is given (.svg, .png, .pdf).

        With a decay `rate` (1/s), such as that of a certificate, its bound |u_0| exp(-rate t) is drawn too.
        """
        from momentree.look.programme_picture import draw_programme_run

        return draw_programme_run(self, path, rate)

    def report(
        self, path: str | os.PathLike[str], title: str | None = None, *, certificate: Certificate | None = None
    ) -> None:
        """Write one page (.html) with everything about it: motion, plots, accuracy, equations (docs/report.md).

        A `certificate` of the programme is said on the page, and its bound is drawn.
        """
        from momentree.look.programme_report import save_programme_report

        save_programme_report(self, path, title, certificate)

    def _repr_html_(self) -> str:
        from momentree.look.notebook import programme_run_html

        return programme_run_html(self)

    def __str__(self) -> str:
        largest = np.abs(self.constraint_error).max(initial=0.0)
        end = self.stopped or f"arrived at t = {self.t[-1]:g} s"
        lines = [f"{self.name}: {len(self.t)} samples, {end}"]
        lines += [
            f"  |u|  {self.size[0]:.3g} at the start, {self.size.max():.3g} at most, {self.size[-1]:.3g} at the end"
        ]
        return "\n".join([*lines, f"  constraint errors up to {largest:.3g}"])


@spell_checked
def load_programme_run(path: str | os.PathLike[str]) -> ProgrammeRun:
    """The motion by a programme in a NetCDF file, as it was saved."""
    from momentree.results.programme_run_files import load

    return load(path)
