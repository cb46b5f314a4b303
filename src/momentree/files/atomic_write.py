"""Atomic writing: a file appears whole or not at all, and replaces the old one only when it is complete.

Everything that Momentree writes for a user goes through here: models, runs, pictures, C, LaTeX, reports.

| what                                  | then                                                                       |
|---------------------------------------|----------------------------------------------------------------------------|
| the file exists                       | it keeps its permissions and, where the system allows, its owner           |
| it is write-protected                 | an error, although its folder may be written                               |
| it is a symbolic link                 | what it points to is written, the link stays                               |
| it is a pipe, a socket or a device    | an error: these cannot be replaced                                         |
| writing fails or is interrupted       | no other file remains;    only a killed process leaves .momentree-*.part  |
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from momentree.errors import MomentreeError

Where = str | os.PathLike[str]
Content = str | bytes | memoryview
_MAKE_ROOM = "Make room on the disk, or choose another folder."
_PERMIT = "Change the permissions of the file or its folder, or choose another."
_WAYS_OUT = {
    **dict.fromkeys((errno.ENOSPC, errno.EFBIG, errno.EDQUOT), _MAKE_ROOM),
    **dict.fromkeys((errno.EACCES, errno.EPERM), _PERMIT),
    errno.EROFS: "Choose a folder on another disk.",
    errno.ENAMETOOLONG: "Choose a shorter name.",
}


def write_file(path: Where, *content: Content) -> None:
    """Write a file atomically; a MomentreeError names the path, the reason and the way out."""
    write_files({path: content})


def write_files(files: Mapping[Where, tuple[Content, ...]]) -> None:
    """Write files that belong together, all or none: the first is replaced when all of them are on the disk."""
    written: list[tuple[str, Path]] = []
    path: Where = ""
    try:
        for path, content in files.items():
            target = _target(path)
            written.append((_part_beside(target), target))
            _write(written[-1][0], content, target)
        _replace_all(written)
    except OSError as error:
        raise MomentreeError(unwritable(path, error)) from None
    finally:
        for part, _ in written:
            _discard(part)
    for folder in {target.parent for _, target in written}:
        _force(folder)


def write_whole(path: Where, *content: Content, part: Path | None = None) -> None:
    """Write a file atomically, first under the name `part` if one is given; OSError if that is impossible."""
    target = _target(path)
    beside = os.fspath(part) if part is not None else _part_beside(target)
    try:
        _write(beside, content, target)
        os.replace(beside, target)
    except BaseException:
        _discard(beside)
        raise
    _force(target.parent)


def destination(path: Where) -> Path:
    """Where a file will be written, links followed; a MomentreeError where none can be, before work is put into it."""
    try:
        target = _target(path)
        if not target.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    except OSError as error:
        raise MomentreeError(unwritable(path, error)) from None
    return target


def real_path(path: Where) -> Path:
    """What a symbolic link points to; any other path as it is. OSError for a name that no file can have."""
    try:
        if b"\0" in os.fsencode(path):
            raise ValueError("NUL")
        return Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)
    except ValueError:  # NUL, or characters that the file system cannot encode
        raise OSError(errno.EINVAL, "no file can have this name") from None


def source(path: Where) -> Path:
    """Where a file will be read, links followed, whether it is there or not; a MomentreeError where none can be."""
    try:
        target = real_path(path)
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.stat(target)
    except OSError as error:
        raise MomentreeError(f"{printable(path)}: cannot be read: {reason_of(error)}.") from None
    return target


def unwritable(path: Where, error: OSError) -> str:
    """Path, reason and way out: "run.nc: cannot be written: Read-only file system. Choose another folder."."""
    return f"{printable(path)}: {reason_and_way_out(path, error)}"


def reason_and_way_out(path: Where, error: OSError) -> str:
    """Why a file cannot be written, and what to do about it."""
    if error.errno == errno.EISDIR:
        return "cannot be written: it is a folder. Name a file in it."
    if error.errno in (errno.ENOENT, errno.ENOTDIR) and not os.path.isdir(parent := Path(path).parent):
        missing = f"there is no folder {printable(parent)}. Create it, or choose another."
        return f"cannot be written: {reason_of(error)}: {missing}"
    way_out = _WAYS_OUT.get(error.errno or 0, "Choose another file or folder.")
    return f"cannot be written: {reason_of(error)}. {way_out}"


def printable(path: Where) -> str:
    """A path as it can be shown on every terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in os.fspath(path))


def reason_of(error: OSError) -> str:
    """What the system says: "No space left on device"."""
    return error.strerror or str(error) or type(error).__name__


# --- inside ----------------------------------------------------------------------------------------------------------


def _target(path: Where) -> Path:
    """The regular file that is to be written, or where it will be; OSError if something else is there."""
    target = real_path(path)
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return target
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is a pipe, a socket or a device")
    if any(_is_open_as(handle, status) for handle in (1, 2)):
        raise OSError(errno.EINVAL, "it is the output of this process")
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return target


def _is_open_as(handle: int, status: os.stat_result) -> bool:
    with contextlib.suppress(OSError):
        return os.path.samestat(os.fstat(handle), status)
    return False


def _part_beside(target: Path) -> str:
    """A name for the time being; short, for the name of the file may be as long as names can be."""
    return os.path.join(target.parent, f".momentree-{os.urandom(8).hex()}.part")


def _write(part: str, content: tuple[Content, ...], target: Path) -> None:
    """Write a new file with the permissions of the one that it will replace, and force it to the disk."""
    _discard(part)  # left by a process that was killed
    try:
        old = os.stat(target)
    except FileNotFoundError:
        old = None
    mode = stat.S_IMODE(old.st_mode) if old else 0o666
    with open(part, "xb", opener=lambda name, flags: os.open(name, flags, mode & 0o777)) as file:
        if old is not None and sys.platform != "win32":
            with contextlib.suppress(OSError):
                if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
                    os.fchown(file.fileno(), old.st_uid, old.st_gid)
            with contextlib.suppress(OSError):
                os.fchmod(file.fileno(), mode)
        for piece in content:
            file.write(piece.encode() if isinstance(piece, str) else piece)
        file.flush()
        os.fsync(file.fileno())


def _replace_all(written: Sequence[tuple[str, Path]]) -> None:
    """Rename each; if one fails, give those before it back what they were, by a second name of the old file."""
    done: list[tuple[str, Path]] = []
    try:
        for part, target in written:
            old, is_new = f"{part}.old", not os.path.exists(target)
            if len(written) > 1:
                with contextlib.suppress(OSError):
                    os.link(target, old)
            done.append(("" if is_new else old, target))
            os.replace(part, target)
    except BaseException:
        for old, target in done[:-1]:
            with contextlib.suppress(OSError):
                os.replace(old, target) if old else os.unlink(target)
        raise
    finally:
        for old, _ in done:
            _discard(old)


def _discard(part: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(part)


def _force(folder: Path) -> None:
    """The new name too must reach the disk, where folders can be forced."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
