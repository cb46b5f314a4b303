"""Where results of a study are kept: in memory, or in a Zarr store on the disk that is written region by region.

A store is a folder that `xarray.open_zarr` reads. Each chunk of motions is a region of its own, one file of each
variable, which appears whole or not at all; `status` is written last. So a study that was killed at any moment goes on
where it was: a chunk whose status is there is complete, and any other is computed again. Chunks and metadata have
checksums (checked_folder.py, sealed_metadata.py).

| variable          | dims                | meaning                                                                    |
|-------------------|---------------------|----------------------------------------------------------------------------|
| name of an output | design, or and time | its value; NaN where the motion failed                                     |
| reason            | design              | why a motion failed; "" where it did not                                   |
| status            | design              | 0 not computed yet, 1 computed, 2 failed                                   |
| names varied      | their own; motion   | the values of the design                                                   |
| time              | time                | of samples, where an output keeps them (s)                                 |

The design has an axis for each name of a grid; other designs have the axis `motion`.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import shutil
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from momentree.analyse.studies.chunks import ChunkResults
from momentree.analyse.studies.description import FORMAT, UNCHECKED, StudyDescription, differences
from momentree.analyse.studies.sealed_metadata import ATTRIBUTE, check_seal, seal
from momentree.errors import MomentreeError
from momentree.files.atomic_write import printable, reason_and_way_out, reason_of
from momentree.results.folder_lock import Lock

if TYPE_CHECKING:
    import xarray

    from momentree.analyse.studies.designs import Design

MOST_BYTES = 2**34  # of results in memory
COMPUTED, FAILED = 1, 2
STATUS = {"flag_values": [0, 1, 2], "flag_meanings": "not_computed computed failed", "long_name": "status"}
EVERY_CHUNK = {"write_empty_chunks": True}  # those without values, too: a file that is missing is known to be
REASON = {"long_name": "why the motion failed"}


class Region(NamedTuple):
    """Motions that are computed together, begin to end - 1, and where they stand in the axes of the design."""

    begin: int
    end: int
    where: tuple[slice, ...]


@dataclass(frozen=True)
class Regions:
    """A design cut into regions: blocks of its axes that are contiguous, one chunk of the store each."""

    shape: tuple[int, ...]
    block: tuple[int, ...]

    @classmethod
    def of(cls, design: Design, most: int) -> Regions:
        """Of at most so many motions each: whole last axes, and a part of one axis before them."""
        block, left = [1] * len(design.shape), most
        for axis in reversed(range(len(design.shape))):
            block[axis] = max(1, min(design.shape[axis], left))
            left //= design.shape[axis]
            if block[axis] < design.shape[axis]:
                break
        return cls(design.shape, tuple(block))

    @property
    def counts(self) -> tuple[int, ...]:
        """How many there are along each axis."""
        return tuple(-(-length // size) for length, size in zip(self.shape, self.block, strict=True))

    def __len__(self) -> int:
        return math.prod(self.counts)

    def __getitem__(self, i: int) -> Region:
        index = np.unravel_index(i, self.counts)
        limits = [
            (int(k) * size, min((int(k) + 1) * size, length))
            for k, size, length in zip(index, self.block, self.shape, strict=True)
        ]
        first = int(np.ravel_multi_index([begin for begin, _ in limits], self.shape))
        count = math.prod(end - begin for begin, end in limits)
        return Region(first, first + count, tuple(slice(*both) for both in limits))


def variables_of(study: StudyDescription) -> dict[str, tuple[tuple[str, ...], dict[str, Any]]]:
    """The dims and attributes of each output."""
    return {
        output.name: ((*study.design.dims, *(("time",) * output.over_time)), dict(output.attributes))
        for output in study.outputs
    }


def coordinates_of(study: StudyDescription) -> dict[str, tuple[tuple[str, ...], Any, dict[str, Any]]]:
    """The values of the design, and times where some output keeps them: dims, values, attributes."""
    design, units = study.design, study.units()
    found: dict[str, tuple[tuple[str, ...], Any, dict[str, Any]]] = {}
    for name, column, kind in zip(design.names, design.columns, study.kinds, strict=True):
        attributes = {"units": units[name], "long_name": f"{kind} {name}"}
        found[name] = ((name if design.is_grid else "motion",), column, attributes)
    if any(output.over_time for output in study.outputs):
        found["time"] = (("time",), study.t, {"units": "s", "long_name": "time"})
    return found


class MemoryStore:
    """Results in memory."""

    path: Path | None = None

    def __init__(self, study: StudyDescription, most: int):
        self.study, self.regions = study, Regions.of(study.design, most)
        numbers = sum(len(study.t) if output.over_time else 1 for output in study.outputs) + len(study.design.names) + 2
        if study.design.count * numbers * 8 > MOST_BYTES:
            size = study.design.count * numbers * 8 / 2**30
            raise MomentreeError(
                f"study: the results take {size:.3g} GiB of memory. Give path=, a Zarr store on the disk."
            )
        shape = study.design.shape
        self._status, self._reason = np.zeros(shape, dtype=np.uint8), np.full(shape, "", dtype=object)
        dims = variables_of(study)
        lengths = {**dict(zip(study.design.dims, shape, strict=True)), "time": len(study.t)}
        self._values = {name: np.full([lengths[one] for one in of], np.nan) for name, (of, _) in dims.items()}

    def pending(self) -> list[int]:
        """The regions that are not computed yet."""
        return [i for i in range(len(self.regions)) if not self._status[self.regions[i].where].all()]

    def write(self, i: int, results: ChunkResults) -> None:
        """Keep the results of a region."""
        shaped, region = _shaped(results, self.regions[i]), self.regions[i].where
        for name, values in self._values.items():
            values[region] = shaped[name]
        self._reason[region], self._status[region] = shaped["reason"], shaped["status"]

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """While it is written; nobody else can."""
        yield

    def dataset(self) -> xarray.Dataset:
        """All results, those that are not computed yet as NaN."""
        import xarray

        dims, design = variables_of(self.study), self.study.design.dims
        variables: dict[str, Any] = {name: (*dims[name][:1], self._values[name], dims[name][1]) for name in dims}
        variables |= {"reason": (design, self._reason, REASON), "status": (design, self._status, STATUS)}
        return xarray.Dataset(variables, coordinates_of(self.study), attributes_of(self.study))


def _shaped(results: ChunkResults, region: Region) -> dict[str, Any]:
    """What is written to a region, in its shape."""
    shape = [one.stop - one.start for one in region.where]
    found: dict[str, Any] = {name: x.reshape(*shape, *x.shape[1:]) for name, x in results.values.items()}
    reasons = np.array(results.reasons, dtype=object)
    found["status"] = np.where(reasons == "", COMPUTED, FAILED).astype(np.uint8).reshape(shape)
    found["reason"] = reasons.reshape(shape)
    return found


def attributes_of(study: StudyDescription) -> dict[str, Any]:
    """What the results say of themselves; the identity as JSON, where there is one: in memory there need not be."""
    design = study.design
    about = {
        "title": f"study of {study.system.name}",
        "momentree_study": FORMAT,
        "design": design.kind if design.seed is None else f"{design.kind}, seed {design.seed}",
    }
    with contextlib.suppress(MomentreeError):
        about |= {"momentree": study.identity["momentree"], "study": json.dumps(study.identity)}
    return about


# --- on the disk -----------------------------------------------------------------------------------------------------


def zarr_module() -> Any:
    """The library, or an error that says how to get it."""
    try:
        import zarr
    except ImportError:
        message = "a study with path= needs the library zarr, which is not installed"
        raise MomentreeError(f'{message}. Install it by: pip install "momentree[study]"') from None
    if tuple(map(int, zarr.__version__.split(".")[:2])) < (3, 1):
        message = f"a study with path= needs zarr 3.1 or later; {zarr.__version__} is installed"
        raise MomentreeError(f'{message}. Install it by: pip install "momentree[study]"')
    return zarr


class ZarrStore:
    """Results in a folder; made if it is not there, and continued if it holds the same study."""

    def __init__(self, study: StudyDescription, path: str | os.PathLike[str], most: int):
        self.study, self.path = study, Path(os.path.abspath(path))
        zarr_module()
        if not study.identity["model"]:
            message = "the model cannot be written as text, and so a store could not say what it holds"
            raise MomentreeError(f"study: {message}. Leave path= out.")
        self.regions, self._checked = Regions.of(study.design, most), True
        if os.path.lexists(self.path):
            self._continue()
        elif not self.path.parent.is_dir():
            error = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            raise MomentreeError(f"{printable(self.path)}: {reason_and_way_out(self.path, error)}")

    # --- begun and continued ---

    def _continue(self) -> None:
        """Take the regions of a store that is there, if it holds this study."""
        name = printable(self.path)
        advice = "Choose another path, or delete it."
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                group = zarr_module().open_group(str(self.path), mode="r", use_consolidated=False)
                theirs = json.loads(str(group.attrs["study"]))
                format = int(group.attrs["momentree_study"])
                if format > FORMAT:
                    raise MomentreeError(f"{name}: was written by a later version of Momentree. {advice}")
                self._checked = ATTRIBUTE in group.attrs or format > UNCHECKED
                if self._checked:
                    check_seal(self.path, group.attrs)
                block = tuple(group["status"].chunks)
        except MomentreeError:
            raise
        except PermissionError as error:
            raise MomentreeError(f"{name}: cannot be read: {reason_of(error)}.") from None
        except Exception:  # whatever a library says of a folder that is none of its own, or a file
            message = "exists, and is no study of Momentree, or its metadata are damaged"
            raise MomentreeError(f"{name}: {message}. {advice}") from None
        found = differences(self.study.identity, theirs)
        if found:
            more = f", and in {len(found) - 1} more" if len(found) > 1 else ""
            raise MomentreeError(f"{name}: holds another study. It differs in {found[0]}{more}. {advice}")
        self.regions = Regions(self.study.design.shape, block)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """While it is written: by one process and the workers of it. The store is made first, if it is not there."""
        beside = self.path.parent / f".{self.path.name}.lock"
        with _told(self.path):
            beside.mkdir(exist_ok=True)
            lock = Lock(beside, printable(self.path))
        try:
            if not os.path.lexists(self.path):
                self._make()
            else:
                self._continue()
                self._restore_design()
            _remove_parts(self.path)
            yield
        finally:
            lock.release(delete=True)
            with contextlib.suppress(OSError):
                beside.rmdir()

    def _make(self) -> None:
        """A store without results, whole or not at all."""
        part = self.path.parent / f".momentree-{os.urandom(8).hex()}.part"
        try:
            with _told(self.path):
                self._fill(part)
                os.rename(part, self.path)
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def _fill(self, folder: Path) -> None:
        design, dims = self.study.design, variables_of(self.study)
        lengths = {**dict(zip(design.dims, design.shape, strict=True)), "time": len(self.study.t)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what other implementations of Zarr know
            group = zarr_module().open_group(str(folder), mode="w", attributes=attributes_of(self.study))
            for name, (of, attributes) in dims.items():
                chunks = (*self.regions.block, *((lengths["time"],) if "time" in of[len(design.dims) :] else ()))
                shape = tuple(lengths[one] for one in of[: len(design.dims)]) + chunks[len(design.dims) :]
                _array(group, name, shape, chunks, "f8", of, attributes, fill_value=np.nan)
            _array(group, "reason", design.shape, self.regions.block, str, design.dims, REASON, fill_value="")
            _array(group, "status", design.shape, self.regions.block, "u1", design.dims, STATUS, fill_value=0)
            for name, (of, values, attributes) in coordinates_of(self.study).items():
                values = np.asarray(values, dtype=float)
                made = _array(group, name, values.shape, values.shape, "f8", of, attributes, fill_value=np.nan)
                made[:] = values
            group.attrs["coordinates"] = " ".join(coordinates_of(self.study))
            zarr_module().consolidate_metadata(str(folder))  # readers open it at once
        seal(folder)

    def _restore_design(self) -> None:
        """Write values of the design again whose file is missing."""
        for name, (_, values, _) in coordinates_of(self.study).items() if self._checked else ():
            if not (self.path / name / "c" / "0").exists():
                with _told(self.path):
                    self._group[name][:] = np.asarray(values, dtype=float)

    # --- regions ---

    @cached_property
    def _group(self) -> Any:
        return zarr_module().open_group(self._folder(), mode="r+", use_consolidated=False)

    def _folder(self, read_only: bool = False) -> Any:
        """What Zarr reads and writes; stores of earlier versions have no checksums."""
        if not self._checked:
            return str(self.path)
        from momentree.analyse.studies.checked_folder import CheckedFolder

        return CheckedFolder(self.path, read_only=read_only)

    def pending(self) -> list[int]:
        """The regions that are not computed yet, or of which a file is missing."""
        if not self.path.exists():
            return list(range(len(self.regions)))
        with _told(self.path):
            status = self._group["status"][...]
            computed = [i for i in range(len(self.regions)) if status[self.regions[i].where].all()]
            whole = {i for i in computed if not self._checked or all(file.exists() for file in self._files(i))}
        return [i for i in range(len(self.regions)) if i not in whole]

    def _files(self, i: int) -> list[Path]:
        """Those that a region has, its status last."""
        index = [str(k) for k in np.unravel_index(i, self.regions.counts)]
        all_dims = {name: dims for name, (dims, _) in variables_of(self.study).items()}
        chunks = {name: [*index, *["0" for _ in dims[len(index) :]]] for name, dims in all_dims.items()}
        chunks |= {"reason": index, "status": index}
        return [self.path.joinpath(name, "c", *chunk) for name, chunk in chunks.items()]

    def write(self, i: int, results: ChunkResults) -> None:
        """Keep the results of a region, its status last."""
        shaped, region = _shaped(results, self.regions[i]), self.regions[i].where
        with _told(self.path), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._files(i)[-1].unlink(missing_ok=True)  # it is not computed while it is written again
            for name in [*variables_of(self.study), "reason", "status"]:
                self._group[name].with_config(EVERY_CHUNK)[region] = shaped[name]

    def dataset(self) -> xarray.Dataset:
        """What is there, opened: numbers are read when they are used."""
        import xarray

        if not self.path.exists():
            raise MomentreeError(f"{printable(self.path)}: there are no results yet. Call run().")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            opened = xarray.open_zarr(self._folder(read_only=True), chunks=None, consolidated=False)
            named = opened.set_coords([*coordinates_of(self.study)])
        chosen: xarray.Dataset = named[[*variables_of(self.study), "reason", "status"]]
        return chosen

    def __getstate__(self) -> dict[str, Any]:
        """Without the open group, which belongs to this process."""
        return {name: value for name, value in vars(self).items() if name != "_group"}


def _array(
    group: Any, name: str, shape: Any, chunks: Any, dtype: Any, dims: Any, attributes: dict[str, Any], fill_value: Any
) -> Any:
    from momentree.analyse.studies.checked_folder import CODECS

    return group.create_array(
        name,
        shape=shape,
        chunks=tuple(max(1, size) for size in chunks),
        dtype=dtype,
        fill_value=fill_value,
        compressors=CODECS,
        dimension_names=dims,
        attributes=attributes,
    )


def _remove_parts(path: Path) -> None:
    """What writers left that were killed."""
    for part in path.rglob("*.partial"):
        with contextlib.suppress(OSError):
            part.unlink()


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    """What the disk refuses, as an error that says what to do."""
    try:
        yield
    except OSError as error:
        kept = "What has been computed so far is kept: the same study goes on from there."
        raise MomentreeError(f"{printable(path)}: {reason_and_way_out(path, error)} {kept}") from None
