"""A run for others: a report to read; a table of named columns with units for programs, as CSV or pandas.DataFrame."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from momentree.assembly.configuration import Array
from momentree.errors import MomentreeError, spell_checked
from momentree.files.atomic_write import destination, printable, write_file
from momentree.files.csv_text import csv_text
from momentree.structure.coordinate_rows import coordinate_rows, joint_coordinates, joint_velocities, velocity_rows

if TYPE_CHECKING:
    import pandas

    from momentree.results.run import Run

TABLES = (".csv", ".tsv", ".txt", ".dat")
PAGES = (".html", ".htm")
PICTURES = (".svg", ".png", ".pdf", ".jpg", ".jpeg")
OTHERS = (
    ".xlsx", ".xls", ".ods", ".json", ".parquet", ".feather", ".pkl", ".pickle", ".mat", ".npz", ".npy",
    ".md", ".toml", ".yaml", ".xml", ".mp4", ".gif", ".webm", ".zip", ".gz", ".zarr", ".py",
)  # fmt: skip


@spell_checked
class RunExport:
    """What a run gives to readers and to other programs."""

    def report(
        self,
        path: str | os.PathLike[str],
        title: str | None = None,
        *,
        show: Sequence[Any] = (),
        player: bool = True,
    ) -> None:
        """Write one page (.html) with everything about it: motion in 3-D, plots, accuracy, the model (docs/report.md).

        `show` names more to plot, as for `plot`; without `player` the page is smaller by 0.9 MB or more. It plays by
        double-click and needs no network.
        """
        from momentree.look.report import save_report

        save_report(cast("Run", self), path, title, show, player)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write t, every coordinate and velocity by name, energies and closure error to a file, a line for each sample.

        The first line has names and units, "A [rad]". Numbers read back equal, to the last bit.
        """
        destination(path)
        columns = list(run_columns(cast("Run", self)))
        table = np.column_stack([column.values for column in columns])
        names = [f"{column.name} [{column.unit}]" if column.unit else column.name for column in columns]
        write_file(path, csv_text(names, table.tolist()))

    def to_pandas(self) -> pandas.DataFrame:
        """The same as a pandas.DataFrame over t: `frame["A"]`; units by column are in `frame.attrs["units"]`."""
        import pandas

        time, *columns = run_columns(cast("Run", self))
        index: Any = pandas.Index(time.values, name=time.name)
        frame = pandas.DataFrame({column.name: column.values for column in columns}, index=index)
        frame.attrs["units"] = {column.name: column.unit for column in (time, *columns)}
        return frame


class Column(NamedTuple):
    """A quantity over time."""

    name: str
    unit: str
    values: Array


def run_columns(run: Run) -> Iterator[Column]:
    """Time, q and v as `system.coordinates` and `system.velocities` list them, other joints, inputs, outputs, energies,
    closure error.

    Other joints are those that close loops or are prescribed: their coordinates are not in q. Names are distinct.
    """
    seen: dict[str, int] = {}
    for name, unit, values in _columns(run):
        seen[name] = seen.get(name, 0) + 1
        yield Column(name if seen[name] == 1 else f"{name} ({seen[name]})", unit, values)


def _columns(run: Run) -> Iterator[tuple[str, str, Array]]:
    yield "t", "s", run.t
    for rows, values in ((coordinate_rows(run.mechanism), run.q), (velocity_rows(run.mechanism), run.v)):
        yield from ((row.name, row.unit, values[:, row.index]) for row in rows)
    in_tree = {row.joint for row in coordinate_rows(run.mechanism)}
    for name, of in run._whole.by_joint.items():
        if name not in in_tree and of.joint is not None and of.joint.coordinates:
            both = ((joint_coordinates(of.joint), run[name]), (joint_velocities(of.joint), run.velocity(name)))
            for rows_of, values in both:
                table = values[:, None] if values.ndim == 1 else values
                yield from ((row.name, row.unit, table[:, row.index]) for row in rows_of)
    yield from (column for columns in run.named_columns().values() for column in columns)
    account = run.energy
    yield "kinetic energy", "J", account.kinetic
    yield "potential energy", "J", account.potential
    yield from ((f"work of {name}", "J", work) for name, work in account.work.items())
    yield "energy balance", "J", account.balance
    yield "closure error", "m or rad", run.closure_error


def check_run_path(path: str | os.PathLike[str]) -> None:
    """Refuse to save a run under a name that says it is something else than NetCDF."""
    suffix = Path(path).suffix.lower()
    if suffix not in (*TABLES, *PAGES, *PICTURES, *OTHERS):
        return
    name = printable(path)
    ways = {TABLES: f'run.to_csv("{name}")', PAGES: f'run.report("{name}")', PICTURES: f'run.plot("{name}")'}
    ways[OTHERS] = "run.data, an xarray.Dataset"
    way = next(way for suffixes, way in ways.items() if suffix in suffixes)
    message = f"{name}: runs are saved as NetCDF (HDF5), which a file that ends in {suffix} is not"
    raise MomentreeError(f"{message}. End the name in .nc, or use {way}.")
