"""A Run as a NetCDF file, and back: what is saved loads equal, to the last bit."""

from __future__ import annotations

import dataclasses
import errno
import io
import json
import mmap
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from momentree.errors import MomentreeError, RunWarning, warn
from momentree.files.atomic_write import printable, reason_of, source, write_whole
from momentree.results.checkpoints import current_settings, folder_of, read_parts
from momentree.results.checksum import Damaged, checksum_line, has_checksum
from momentree.results.global_error import ErrorEstimate
from momentree.results.programme_run_files import KIND as OF_PROGRAMME
from momentree.results.run import Run, RunError
from momentree.results.run_export import check_run_path
from momentree.results.run_inputs import with_values_so_far
from momentree.results.separate_reader import fresh_copy
from momentree.simulate.blocks import Block, End, Statistics, WorkTerm
from momentree.structure.coordinate_rows import coordinate_rows, velocity_rows

if TYPE_CHECKING:
    import xarray

FORMAT, CHECKED = 1, 2  # of a file without a checksum, as in earlier versions, and with one
SIGNATURE = b"\x89HDF\r\n\x1a\n"
WHERE = "SHA-256, in the last line of the file"  # as the file itself says
RESTORE = "Restore it from a copy, or compute it again."
CUT_SHORT = "is damaged: its checksum (SHA-256) is not there. It was cut short, or changed by another program."
UNNOTICED = "has no checksum, like files of earlier versions: damage would not be noticed. Save it again."
MEASURED = {"kinetic": "J", "potential": "J", "balance": "J"}
MEASURED |= {"closure_error": "m or rad", "closure_velocity": "m/s or rad/s"}
# what earlier versions called them
EARLIER = {"closure": "closure_error", "closure_rate": "closure_velocity"}
EARLIER |= {"rate": "velocity", "rate_unit": "velocity_unit", "meter": "work_term", "meter_kind": "work_term_kind"}


def dataset(run: Run) -> xarray.Dataset:
    """The run with names and units; texts and tables as JSON in the attributes.

    | variable                        | dims             | unit                   |
    |---------------------------------|------------------|------------------------|
    | q                               | time, coordinate | `coordinate_unit`      |
    | v                               | time, velocity   | `velocity_unit`        |
    | work                            | time, work_term  | J                      |
    | kinetic, potential, balance     | time             | J                      |
    | closure_error, closure_velocity | time             | m or rad; m/s or rad/s |
    | input, where the model has some | time, input_name | `input_unit`           |
    | output, likewise                | time, output_name| `output_unit`          |
    """
    import xarray

    units, speeds = ([row.unit for row in rows(run.mechanism)] for rows in (coordinate_rows, velocity_rows))
    measured = {name: getattr(run.energy, name, None) for name in ("kinetic", "potential", "balance")}
    measured.update({name: getattr(run, name) for name in ("closure_error", "closure_velocity")})
    variables: dict[str, Any] = {
        "q": (("time", "coordinate"), run.q),
        "v": (("time", "velocity"), run.v),
        "work": (("time", "work_term"), run.samples.work, {"units": "J"}),
        **{name: ("time", measured[name], {"units": unit}) for name, unit in MEASURED.items()},
    }
    coordinates: dict[str, Any] = {
        "time": ("time", run.t, {"units": "s"}),
        "coordinate": ("coordinate", _texts(map(str, run.mechanism.coordinates))),
        "coordinate_unit": ("coordinate", _texts(units)),
        "velocity": ("velocity", _texts(map(str, run.mechanism.velocities))),
        "velocity_unit": ("velocity", _texts(speeds)),
        "work_term": ("work_term", _texts(work_term.name for work_term in run.work_terms)),
        "work_term_kind": ("work_term", _texts(work_term.kind for work_term in run.work_terms)),
    }
    for kind, columns in run.named_columns().items():
        variables[kind] = (("time", f"{kind}_name"), np.array([column.values for column in columns]).T)
        coordinates[f"{kind}_name"] = (f"{kind}_name", _texts(column.name for column in columns))
        coordinates[f"{kind}_unit"] = (f"{kind}_name", _texts(column.unit for column in columns))
    data = xarray.Dataset(variables, coordinates, _attributes(run))
    for variable in data.variables.values():
        variable.values.flags.writeable = False
    return data


def content(run: Run) -> tuple[memoryview, bytes]:
    """The bytes of the file, and the line with their checksum."""
    data = run.data.assign_attrs(format=CHECKED, checksum=WHERE)
    written = memoryview(data.to_netcdf(engine="h5netcdf"))
    return written, checksum_line(written)


def write(run: Run, path: Path, part: Path | None = None) -> None:
    """Write the file whole or not at all, first under another name; OSError if that is impossible."""
    write_whole(path, *content(run), part=part)


def save(run: Run, path: Path) -> None:
    """Write the file whole or not at all."""
    check_run_path(path)
    try:
        write(run, path)
    except OSError as error:
        if error.errno == errno.EISDIR:
            raise RunError(f"{path}: is a folder. Name a file in it, such as {path / 'run.nc'}.", run) from None
        message = f"{printable(path)}: cannot be written: {reason_of(error)}."
        raise RunError(f"{message} The run is still in memory: save it elsewhere.", run) from None


def load(path: Path) -> Run:
    """The run in a file; if there is none but its folder of parts, what is there so far."""
    target = source(path)
    if not os.path.exists(target) and os.path.isdir(folder_of(target)):
        try:
            return unfinished(target)
        except MomentreeError:
            if not os.path.exists(target):  # otherwise it has just been finished
                raise
    try:
        if not stat.S_ISREG(target.stat().st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file but a folder, a pipe or a device")
        with target.open("rb") as file:
            run = _loaded(file, printable(path))
    except FileNotFoundError:
        raise MomentreeError(f"{printable(path)}: there is no such file.") from None
    except OSError as error:
        raise MomentreeError(f"{printable(path)}: cannot be read: {reason_of(error)}.") from None
    if os.path.isdir(folder_of(target)):
        _warn_of_later(run, target)
    return run


def _warn_of_later(run: Run, path: Path) -> None:
    """Say that there is a later run, which is not finished, beside the one in the file."""
    try:
        later = unfinished(path)
    except RunError as error:
        later = error.run
    except MomentreeError:  # nothing that could be continued
        return
    t, count = later.end.t, len(later.t)
    same = later.model == run.model and dict(later.settings) == dict(run.settings) and count <= len(run.t)
    if same and all(np.array_equal(getattr(later, name), getattr(run, name)[:count]) for name in ("t", "q", "v")):
        return  # all of it is in the file
    name = printable(path)
    message = f"holds a run that was finished; {folder_of(path).name} beside it holds a later one, up to t = {t:g} s"
    way_out = f'Continue that with momentree.resume_run("{name}"), which replaces the file, or delete the folder'
    warn(RunWarning(f"{name}: {message}. {way_out}."))


def _loaded(file: BinaryIO, name: str) -> Run:
    """The run in an open file; a checksum, if there is one, is verified before HDF5 reads the file."""
    try:
        checked = has_checksum(file)
        data = _opened(file if checked else io.BytesIO(_fresh(file)))
        if data.attrs.get("kind") == OF_PROGRAMME:
            raise MomentreeError(f"{name}: is {OF_PROGRAMME}. It is loaded by momentree.load_programme_run.")
        if int(data.attrs["format"]) > CHECKED:
            raise MomentreeError(f"{name}: was written by a later version of Momentree, which can read it.")
        if checked != (data.attrs["format"] == CHECKED):
            raise Damaged(CUT_SHORT)
        run = _run(data)
    except Damaged as error:
        raise MomentreeError(f"{name}: {error} {RESTORE}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        raise MomentreeError(f"{name}: is damaged, or not a run of Momentree.") from None
    if not checked:
        warn(RunWarning(f"{name}: {UNNOTICED}"))
    return run


def _opened(file: BinaryIO) -> xarray.Dataset:
    import xarray

    with xarray.open_dataset(file, engine="h5netcdf", decode_times=False) as dataset:
        return dataset.load()


def _fresh(file: BinaryIO) -> bytes:
    """A copy of a file that has no checksum, made where HDF5 may fail; ValueError if it is none of NetCDF."""
    file.seek(0)
    if file.read(8) != SIGNATURE:
        raise ValueError("not HDF5")
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as seen:
        if seen.find(WHERE.encode()) >= 0:
            raise Damaged(CUT_SHORT)
    copy = fresh_copy(file)
    if copy is None:
        raise ValueError("not readable")
    return copy


def unfinished(path: Path) -> Run:
    """What an unfinished run has on the disk; if a chunk is damaged, a RunError with what is before it."""
    manifest, chunks, damaged = read_parts(path)
    blocks = [chunk.block for chunk in chunks]
    samples = Block.joined(blocks, len(manifest.q), len(manifest.v), len(manifest.work_terms))
    statistics, end = (chunks[-1].statistics, chunks[-1].end) if chunks else (Statistics(), None)
    events = chunks[-1].events if chunks else ()
    end = end or End("interrupted", float(samples.t[-1]) if len(samples) else manifest.t, "", events)
    settings = with_values_so_far(manifest.settings, chunks[-1].checkpoint) if chunks else manifest.settings
    about = (settings, statistics, end, manifest.model, manifest.free, manifest.version, manifest.given)
    run = Run(samples, manifest.work_terms, *about)
    if damaged:
        raise RunError(
            f"{printable(folder_of(path) / damaged[0])}: is damaged; what is whole, up to t = {end.t:g} s, is `run` of "
            f'this error. momentree.resume_run("{printable(path)}") computes the rest again.',
            run,
        )
    return run


def _attributes(run: Run) -> dict[str, str | int]:
    tables = {
        "settings": dict(run.settings),
        "statistics": dataclasses.asdict(run.statistics),
        "end": dataclasses.asdict(run.end),
        "free": run.free,
        "given": dict(run.given),
        "parameters": run.parameters,
        "warnings": run.warnings,
        "error": run.error and dataclasses.asdict(run.error),
    }
    texts = {name: json.dumps(table) for name, table in tables.items()}
    return {"format": FORMAT, "momentree": run.version, "name": run.mechanism.name, **texts, "model": run.model}


def _run(data: xarray.Dataset) -> Run:
    data = data.rename({old: new for old, new in EARLIER.items() if old in data.variables or old in data.dims})
    tables = {name: json.loads(data.attrs[name]) for name in ("settings", "statistics", "end", "free", "warnings")}
    columns = [np.array(data[name].values, dtype=float) for name in ("time", "q", "v", "work")]
    work_terms = [
        WorkTerm(str(name), str(kind))
        for name, kind in zip(data.work_term.values, data.work_term_kind.values, strict=True)
    ]
    settings = current_settings(tables["settings"])
    end = End(**{**tables["end"], "events": tuple((name, t) for name, t in tables["end"]["events"])})
    about = (settings, Statistics(**tables["statistics"]), end, data.attrs["model"], tuple(tables["free"]))
    given = json.loads(data.attrs.get("given", "{}"))  # which runs have from this version on
    run = Run(Block(*columns), tuple(work_terms), *about, data.attrs["momentree"], given)
    measured = {name: np.array(data[name].values, dtype=float) for name in MEASURED}
    account = run._account(measured["kinetic"], measured["potential"])
    measures: dict[str, Any] = {name: measured[name] for name in ("closure_error", "closure_velocity")}
    error = json.loads(data.attrs.get("error", "null"))  # which runs have from this version on
    measures["error"] = error and ErrorEstimate(**error)
    return run.with_measures(energy=account, warnings=tuple(tables["warnings"]), **measures)


def _texts(names: Any) -> Any:
    return np.array(list(names), dtype=object)
