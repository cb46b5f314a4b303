"""Checkpoints: the folder in which a run is kept while it is computed, run.nc.parts beside run.nc.

| file              | holds                                                                                          |
|-------------------|------------------------------------------------------------------------------------------------|
| manifest.json     | what the run is of: model, start, settings, work terms, and a sum (SHA-256)                    |
| chunk-000001.npz  | samples, the checkpoint after them, statistics, the end if it was reached, and a sum (SHA-256) |
| lock              | the number of the process that writes here                                                     |

Each file is written under another name, forced to the disk and then renamed: it is there whole or not at all. The sum
of a chunk is over its content and the sum before it, so that a chunk counts only where all before it are whole too.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentree.errors import MomentreeError
from momentree.files.atomic_write import printable, reason_of, write_whole
from momentree.results.folder_lock import Lock
from momentree.simulate.blocks import Block, End, Setting, Statistics, WorkTerm

FORMAT, UNCHECKED = 2, 1  # of the manifest; earlier versions gave it no sum
MANIFEST = "manifest.json"
WHOLE = "whole.nc"  # the file that is to become run.nc
_OURS = re.compile(r"(manifest\.json|chunk-\d{6,}\.npz|whole\.nc)(\.part)?")
_TRIES = 20  # to enter a folder that others delete
_SAMPLES = ("t", "q", "v", "work")


@dataclass(frozen=True)
class Manifest:
    """What a run is of.

    | field      | meaning                                                            |
    |------------|--------------------------------------------------------------------|
    | model      | the text of its model file                                         |
    | free       | parameters that were left free when the model was built            |
    | settings   | what the simulation was made with                                  |
    | work_terms | whose work is accounted for                                        |
    | t, q, v    | the start                                                          |
    | version    | of the Momentree that computed it                                  |
    | code       | which machine code was asked for, if any                           |
    | given      | what the start carries on top of the model: `Given.table`          |
    """

    model: str
    free: tuple[str, ...]
    settings: Mapping[str, Setting]
    work_terms: tuple[WorkTerm, ...]
    t: float
    q: tuple[float, ...]
    v: tuple[float, ...]
    version: str
    code: str | None = None
    given: Mapping[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        """As JSON, the format first, the sum of all before it last; numbers are read back to the last bit."""
        text = json.dumps({"format": FORMAT, **dataclasses.asdict(self)}, indent=1).removesuffix("\n}")
        return text + _sum_entry(text)

    @classmethod
    def of_text(cls, text: str) -> Manifest:
        """From what `text` gave; ValueError, KeyError or TypeError if it is something else."""
        data = json.loads(text)
        form, total = data.pop("format"), data.pop("sum", None)
        length = len(_sum_entry(""))
        if form != (UNCHECKED if total is None else FORMAT):
            raise ValueError("another format")
        if form == FORMAT and text[-length:] != _sum_entry(text[:-length]):
            raise ValueError("another sum")
        work_terms = data.pop("meters", None) or data.pop("work_terms", ())  # `meters` in earlier versions
        data["work_terms"] = tuple(WorkTerm(**work_term) for work_term in work_terms)
        data["settings"] = current_settings(data["settings"])
        return cls(**{**data, **{name: tuple(data[name]) for name in ("free", "q", "v")}})


def current_settings(settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """Settings by the names that they have now; earlier versions said `closure` for `stabilization`."""
    return {"stabilization" if name == "closure" else name: value for name, value in settings.items()}


@dataclass(frozen=True, eq=False)
class Chunk:
    """A piece of a run, and all that is needed to go on after it."""

    block: Block
    checkpoint: dict[str, NDArray[Any]]
    statistics: Statistics
    end: End | None = None
    events: tuple[tuple[str, float], ...] = ()  # all until then


class Parts:
    """The folder of one run, held by this process until `close` or `delete`."""

    def __init__(self, path: Path, manifest: Manifest, lock: Lock, chunks: list[Chunk], sums: list[bytes]):
        self.path, self.manifest, self.chunks = path, manifest, chunks
        self.dropped: list[str] = []  # files that were not whole
        self._lock, self._sums = lock, sums

    @classmethod
    def begin(cls, path: Path, manifest: Manifest) -> Parts:
        """A folder for a new run; an unfinished one is refused, not overwritten."""
        lock = _entered(path)
        try:
            reached = _leftover(path)
            if reached is not None:
                raise MomentreeError(
                    f"{folder_of(path)}: holds an unfinished run, computed up to t = {reached:g} s. "
                    f'Continue it with momentree.resume_run("{path}") or `momentree run --resume -o {path}`, '
                    "delete the folder, or choose another file."
                )
            _sweep(folder_of(path))
            text = manifest.text().encode()
            _write(folder_of(path) / MANIFEST, text)
        except BaseException as error:
            lock.release()
            if isinstance(error, OSError):
                raise _unwritable(path, error) from None
            raise
        return cls(path, manifest, lock, [], [hashlib.sha256(text).digest()])

    @classmethod
    def open(cls, path: Path) -> Parts:
        """The folder of a run that is to go on; chunks that are not whole are deleted."""
        if not os.path.isdir(folder_of(path)):
            raise MomentreeError(f"{path}: there is nothing to continue: no folder {folder_of(path).name} beside it.")
        lock = _entered(path)
        try:
            manifest, chunks, sums, damaged = _read(path)
            parts = cls(path, manifest, lock, chunks, sums)
            for file in damaged:
                file.unlink()
                parts.dropped.append(file.name)
        except BaseException as error:
            lock.release()
            if isinstance(error, OSError):
                raise _unwritable(path, error) from None
            raise
        return parts

    @classmethod
    def discard(cls, path: Path) -> None:
        """Delete the rest of a folder whose run is finished."""
        if os.path.isdir(folder_of(path)):
            with contextlib.suppress(MomentreeError):  # another process does so, or the disk is read-only
                _delete(folder_of(path), _entered(path))

    @property
    def folder(self) -> Path:
        """Where it is."""
        return folder_of(self.path)

    @property
    def reached(self) -> float:
        """The time (s) up to which it is on the disk."""
        return _reached(self.manifest, self.chunks)

    def append(self, chunk: Chunk) -> None:
        """Write one more chunk; an OSError leaves those before it as they are."""
        self.confirm()
        arrays = _arrays(chunk)
        total = _sum(self._sums[-1], arrays)
        file = io.BytesIO()
        named: dict[str, Any] = {"sum": np.frombuffer(total, np.uint8), **arrays}
        np.savez(file, **named)
        _write(self.folder / f"chunk-{len(self.chunks) + 1:06d}.npz", file.getbuffer())
        self.chunks.append(chunk)
        self._sums.append(total)

    def confirm(self) -> None:
        """Raise OSError unless this process holds it."""
        self._lock.confirm()

    def close(self) -> None:
        """Let another process have it."""
        self._lock.release()

    def delete(self) -> None:
        """Delete everything, the manifest first: if this is cut short, the remaining files count as nothing."""
        _delete(self.folder, self._lock)


def folder_of(path: Path) -> Path:
    """The folder that belongs to a file."""
    return path.with_name(f"{path.name}.parts")


def read_parts(path: Path) -> tuple[Manifest, list[Chunk], list[str]]:
    """The chunks of an unfinished run so far, also while another process writes it, and those that are damaged."""
    manifest, chunks, _, damaged = _read(path)
    return manifest, chunks, [file.name for file in damaged]


# --- inside ----------------------------------------------------------------------------------------------------------


def _entered(path: Path) -> Lock:
    """The lock on the folder, which is made where it is not there yet."""
    for attempt in range(_TRIES):
        try:
            folder_of(path).mkdir(exist_ok=True)
            return Lock(folder_of(path), str(path))
        except OSError as error:
            deleted = isinstance(error, FileNotFoundError)  # perhaps by a process that has just finished
            if not deleted or attempt == _TRIES - 1:
                raise _unwritable(path, error) from None
    raise AssertionError("not reached")


def _unwritable(path: Path, error: OSError) -> MomentreeError:
    reason = f"{printable(folder_of(path))}: cannot be written: {reason_of(error)}"
    return MomentreeError(f"{reason}. Nothing was computed yet. Choose another folder.")


def _write(file: Path, content: bytes | memoryview) -> None:
    """Write it atomically, first under a name that `_sweep` knows, should this process be killed."""
    write_whole(file, content, part=file.with_name(f"{file.name}.part"))


def _leftover(path: Path) -> float | None:
    """The time (s) reached by a run that was not finished; a folder without a manifest or chunks holds nothing."""
    if not os.path.exists(folder_of(path) / MANIFEST) or not _chunk_files(folder_of(path)):
        return None
    return _reached(*_read(path)[:2])


def _reached(manifest: Manifest, chunks: list[Chunk]) -> float:
    return next((float(chunk.block.t[-1]) for chunk in reversed(chunks) if len(chunk.block)), manifest.t)


def _read(path: Path) -> tuple[Manifest, list[Chunk], list[bytes], list[Path]]:
    """Manifest and whole chunks, the sums of both, and the files of chunks that are damaged or come after such."""
    file = folder_of(path) / MANIFEST
    try:
        text = file.read_bytes()
        manifest = Manifest.of_text(text.decode())
        files, chunks, sums = _chunk_files(folder_of(path)), list[Chunk](), [hashlib.sha256(text).digest()]
        while len(chunks) < len(files):
            file = files[len(chunks)]
            read = _chunk(file, sums[-1], len(chunks) + 1)
            if read is None:
                break
            chunks.append(read[0])
            sums.append(read[1])
        return manifest, chunks, sums, files[len(chunks) :]
    except FileNotFoundError:
        raise MomentreeError(f"{path}: there is nothing to continue: {file} is not there.") from None
    except OSError as error:
        raise MomentreeError(f"{file}: cannot be read: {reason_of(error)}.") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise MomentreeError(
            f"{file}: is damaged, or was written by another version of Momentree: the run cannot be continued. "
            "Delete the folder."
        ) from None


def _chunk(file: Path, before: bytes, number: int) -> tuple[Chunk, bytes] | None:
    """A chunk and its sum; None if it is not whole, or not the one that comes here."""
    if file.name != f"chunk-{number:06d}.npz":
        return None
    content = io.BytesIO(file.read_bytes())
    try:
        with zipfile.ZipFile(content) as archive:
            if archive.testzip() is not None:
                return None
        content.seek(0)
        with np.load(content, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        about = json.loads(arrays["told"].tobytes())
        total = arrays.pop("sum").tobytes()
        if total != _sum(before, arrays):
            return None
        end = about["end"] and End(**{**about["end"], "events": tuple((name, t) for name, t in about["end"]["events"])})
        state = {name.partition("/")[2]: array for name, array in arrays.items() if name.startswith("checkpoint/")}
        block = Block(*(arrays[name] for name in _SAMPLES))
        events = tuple(
            (str(name), float(t)) for name, t in about.get("events", ())
        )  # which earlier versions do not have
        return Chunk(block, state, Statistics(**about["statistics"]), end, events), total
    except MemoryError:
        raise  # of this process: the file is fine so far
    except Exception:  # whatever a damaged archive makes zipfile, numpy and json raise
        return None


def _arrays(chunk: Chunk) -> dict[str, NDArray[Any]]:
    about = {
        "statistics": dataclasses.asdict(chunk.statistics),
        "end": chunk.end and dataclasses.asdict(chunk.end),
        "events": chunk.events,
    }
    arrays: dict[str, NDArray[Any]] = {name: getattr(chunk.block, name) for name in _SAMPLES}
    arrays.update({f"checkpoint/{name}": np.asarray(array) for name, array in chunk.checkpoint.items()})
    return {**arrays, "told": np.frombuffer(json.dumps(about).encode(), np.uint8)}


def _sum_entry(text: str) -> str:
    """The end of a manifest: the sum of what comes before."""
    return f',\n "sum": "{hashlib.sha256(text.encode()).hexdigest()}"\n}}'


def _sum(before: bytes, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """SHA-256 of what every array is, and of the sum before."""
    total = hashlib.sha256(before)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"{name} {array.dtype.str} {arrays[name].shape}\n".encode())
        total.update(array.tobytes())
    return total.digest()


def _chunk_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("chunk-*.npz"), key=lambda file: (len(file.name), file.name))


def _ours(folder: Path) -> Iterator[Path]:
    """The manifest first."""
    yield from sorted((file for file in folder.iterdir() if _OURS.fullmatch(file.name)), key=lambda f: f.name[0] != "m")


def _sweep(folder: Path) -> None:
    for file in _ours(folder):
        file.unlink(missing_ok=True)


def _delete(folder: Path, lock: Lock) -> None:
    with contextlib.suppress(OSError):
        _sweep(folder)
    with contextlib.suppress(OSError):
        lock.release(delete=True)
        folder.rmdir()
