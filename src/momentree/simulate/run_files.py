"""A Run as a NetCDF file, and back: what is saved loads equal, to the last bit."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.equations.scaled_rows import rate_units
from momentree.errors import MomentreeError
from momentree.simulate.blocks import Block, End, Meter, Statistics
from momentree.simulate.parts import folder_of, read_parts, reason_of, write_whole
from momentree.simulate.run import Run, RunError

if TYPE_CHECKING:
    import xarray

FORMAT = 1
MEASURED = {"kinetic": "J", "potential": "J", "balance": "J", "closure": "m or rad", "closure_rate": "m/s or rad/s"}


def dataset(run: Run) -> xarray.Dataset:
    """The run with names and units; texts and tables as JSON in the attributes.

    | variable                       | dims             | unit                             |
    |--------------------------------|------------------|----------------------------------|
    | q, v                           | time, coordinate; time, rate | `coordinate_unit`, `rate_unit` |
    | work                           | time, meter      | J                                |
    | kinetic, potential, balance    | time             | J                                |
    | closure, closure_rate          | time             | m or rad; m/s or rad/s           |
    """
    import xarray

    moving = [body.connection for body in run.mechanism.bodies if not body.laws]
    units = [unit for connection in moving for unit in connection.joint.units]
    speeds = [f"{unit}/s" for connection in moving for unit in rate_units(connection.joint)]
    measured = {name: getattr(run.energy, name, None) for name in ("kinetic", "potential", "balance")}
    measured.update({name: getattr(run, name) for name in ("closure", "closure_rate")})
    variables: dict[str, Any] = {
        "q": (("time", "coordinate"), run.q),
        "v": (("time", "rate"), run.v),
        "work": (("time", "meter"), run.samples.work, {"units": "J"}),
        **{name: ("time", measured[name], {"units": unit}) for name, unit in MEASURED.items()},
    }
    coordinates: dict[str, Any] = {
        "time": ("time", run.t, {"units": "s"}),
        "coordinate": ("coordinate", _texts(map(str, run.mechanism.coordinates))),
        "coordinate_unit": ("coordinate", _texts(units)),
        "rate": ("rate", _texts(map(str, run.mechanism.rates))),
        "rate_unit": ("rate", _texts(speeds)),
        "meter": ("meter", _texts(meter.name for meter in run.meters)),
        "meter_kind": ("meter", _texts(meter.kind for meter in run.meters)),
    }
    return xarray.Dataset(variables, coordinates, _told(run))


def content(run: Run) -> memoryview:
    """The bytes of the file."""
    return memoryview(run.data.to_netcdf(engine="h5netcdf"))


def write(run: Run, path: Path, part: Path) -> None:
    """Write the file whole or not at all, first under another name; OSError if that is impossible."""
    write_whole(path, content(run), part)


def save(run: Run, path: Path) -> None:
    """Write the file whole or not at all."""
    if path.is_dir():
        raise RunError(f"{path}: is a folder. Name a file in it, such as {path / 'run.nc'}.", run)
    try:
        write(run, path, path.with_name(f".{path.name}.{os.getpid()}"))
    except OSError as error:
        message = f"{path}: cannot be written: {reason_of(error)}. The run is still in memory: save it elsewhere."
        raise RunError(message, run) from None


def load(path: Path) -> Run:
    """The run in a file; if there is none but its folder of parts, what is there so far."""
    import xarray

    if not path.exists() and folder_of(path).is_dir():
        return unfinished(path)
    try:
        with path.open("rb") as file, xarray.open_dataset(file, engine="h5netcdf", decode_times=False) as found:
            return _run(found.load())
    except FileNotFoundError:
        raise MomentreeError(f"{path}: there is no such file.") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError) as error:
        told = f"cannot be read: {reason_of(error)}." if isinstance(error, OSError) and error.errno else ""
        raise MomentreeError(f"{path}: {told or 'is damaged, or no run of Momentree.'}") from None


def unfinished(path: Path) -> Run:
    """What an unfinished run has on the disk."""
    manifest, chunks = read_parts(path)
    blocks = [chunk.block for chunk in chunks]
    samples = Block.joined(blocks, len(manifest.q), len(manifest.v), len(manifest.meters))
    statistics, end = (chunks[-1].statistics, chunks[-1].end) if chunks else (Statistics(), None)
    end = end or End("interrupted", float(samples.t[-1]) if len(samples) else manifest.t)
    told = (manifest.settings, statistics, end, manifest.model, manifest.free, manifest.version)
    return Run(samples, manifest.meters, *told)


def _told(run: Run) -> dict[str, str | int]:
    tables = {
        "settings": dict(run.settings),
        "statistics": dataclasses.asdict(run.statistics),
        "end": dataclasses.asdict(run.end),
        "free": run.free,
        "parameters": run.parameters,
        "warnings": run.warnings,
    }
    texts = {name: json.dumps(table) for name, table in tables.items()}
    return {"format": FORMAT, "momentree": run.version, "name": run.mechanism.name, **texts, "model": run.model}


def _run(data: xarray.Dataset) -> Run:
    told = {name: json.loads(data.attrs[name]) for name in ("settings", "statistics", "end", "free", "warnings")}
    if data.attrs["format"] != FORMAT:
        raise ValueError("another format")
    columns = [np.array(data[name].values, dtype=float) for name in ("time", "q", "v", "work")]
    meters = [Meter(str(name), str(kind)) for name, kind in zip(data.meter.values, data.meter_kind.values, strict=True)]
    end = End(**{**told["end"], "events": tuple((name, t) for name, t in told["end"]["events"])})
    about = (told["settings"], Statistics(**told["statistics"]), end, data.attrs["model"], tuple(told["free"]))
    run = Run(Block(*columns), tuple(meters), *about, data.attrs["momentree"])
    measured = {name: np.array(data[name].values, dtype=float) for name in MEASURED}
    account = run._account(measured["kinetic"], measured["potential"])
    known = {name: measured[name] for name in ("closure", "closure_rate")}
    return run.known(energy=account, warnings=tuple(told["warnings"]), **known)


def _texts(names: Any) -> Any:
    return np.array(list(names), dtype=object)
