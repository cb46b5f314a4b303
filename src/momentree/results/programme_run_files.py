"""A ProgrammeRun as a NetCDF file, and back: what is saved loads equal, to the last bit; damage is noticed.

The file is that of `run.data` with a checksum in its last line, as files of runs have it (checksum.py).
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from momentree.errors import MomentreeError
from momentree.files.atomic_write import printable, reason_of, source, write_file
from momentree.results.checksum import Damaged, checksum_line, has_checksum
from momentree.results.run_export import check_run_path

if TYPE_CHECKING:
    from momentree.results.programme_run import ProgrammeRun

KIND, FORMAT = "a motion by a programme", 1
COLUMNS = ("q", "qd", "u", "size", "constraint_error")


def save(run: ProgrammeRun, path: str | os.PathLike[str]) -> None:
    """Write the file whole or not at all."""
    check_run_path(path)
    about = {"name": run.name, "stopped": run.stopped, "evaluations": run.evaluations}
    names = {"coordinates": run.coordinates, "constraints": run.constraints}
    attributes = {"kind": KIND, "format": FORMAT, "about": json.dumps({**about, **names})}
    # the names of columns are in the attributes: two constraints may have the same text
    data = run.data.drop_vars(["coordinate", "constraint"])
    data.attrs = attributes
    written = memoryview(data.to_netcdf(engine="h5netcdf"))
    write_file(path, written, checksum_line(written))


def load(path: str | os.PathLike[str]) -> ProgrammeRun:
    """The run in a file, or an error that says what is wrong with it."""
    name, target = printable(path), source(path)
    try:
        if not target.exists():
            raise MomentreeError(f"{name}: there is no such file.")
        if not target.is_file():
            raise MomentreeError(f"{name}: is not a regular file but a folder, a pipe or a device.")
        with target.open("rb") as file:
            if not has_checksum(file):
                raise Damaged("has no checksum (SHA-256): it was cut short, or is no run of Momentree.")
            return _loaded(file, name)
    except Damaged as error:
        raise MomentreeError(f"{name}: {error} Restore it from a copy, or compute it again.") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise MomentreeError(f"{name}: is damaged, or not {KIND}.") from None
    except OSError as error:
        raise MomentreeError(f"{name}: cannot be read: {reason_of(error)}.") from None


def _loaded(file: BinaryIO, name: str) -> ProgrammeRun:
    import xarray

    from momentree.results.programme_run import ProgrammeRun

    with xarray.open_dataset(file, engine="h5netcdf", decode_times=False) as dataset:
        data = dataset.load()
    if data.attrs.get("kind") != KIND:
        raise MomentreeError(f"{name}: is not {KIND}. Files of other runs are loaded by momentree.load_run.")
    if int(data.attrs["format"]) > FORMAT:
        raise MomentreeError(f"{name}: was written by a later version of Momentree, which can read it.")
    about: dict[str, Any] = json.loads(data.attrs["about"])
    names = about["name"], tuple(about["coordinates"]), tuple(about["constraints"])
    columns: dict[str, Any] = {column: np.array(data[column].values, dtype=float) for column in ("t", *COLUMNS)}
    return ProgrammeRun(*names, **columns, stopped=about["stopped"], evaluations=about["evaluations"])
