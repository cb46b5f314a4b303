"""Object files cached on disk, so that a new process need not compile them again.

A file holds a mark, the SHA-256 of its key and content, and the content. It is written under another name and then
renamed, so that it is complete or absent; a damaged one counts as absent. A file that cannot be read or
written is never an error: the machine code is compiled again.

| where                                   | on            |
|-----------------------------------------|---------------|
| $MOMENTREE_CACHE; "" or "off" keeps none | every system  |
| $XDG_CACHE_HOME or ~/.cache, /momentree | Linux, others |
| ~/Library/Caches/momentree              | macOS         |
| %LOCALAPPDATA%\\momentree               | Windows       |

Stored code will be run. A folder or a file is used only if it belongs to this user or the administrator and neither
its group nor everybody may write to it. Both are checked after they were opened, so that it does not matter who may
rename the folders above. The folder is created with mode 700, files with 600.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

LIMIT = 512 * 2**20  # bytes of the whole folder
_MARK = b"momentree object file 1\n"
_LOOKS = 16  # one write in so many looks whether the folder is full
_ABANDONED = 3600  # seconds after which a file that was never renamed is one of a dead process
_OURS = re.compile(r"[0-9a-f]{64}\.(o|[0-9a-f]{16}\.part)")


def folder() -> str | None:
    """Where object files are stored; None where they are not."""
    named = os.environ.get("MOMENTREE_CACHE")
    if named is not None:
        return None if named in ("", "off") else os.path.expanduser(named)
    if sys.platform == "win32":
        above = os.environ.get("LOCALAPPDATA", "")
    elif sys.platform == "darwin":
        above = os.path.expanduser("~/Library/Caches")
    else:
        above = os.environ.get("XDG_CACHE_HOME", "")
        above = above if os.path.isabs(above) else os.path.expanduser("~/.cache")
    return os.path.join(above, "momentree") if os.path.isabs(above) else None


def key_of(*parts: str) -> str:
    """The key of the object file made from these texts."""
    digest = hashlib.sha256()
    for part in parts:
        text = part.encode()
        digest.update(len(text).to_bytes(8, "little") + text)
    return digest.hexdigest()


def get(key: str) -> bytes | None:
    """What is stored under a key; None where nothing is, or where it is damaged."""
    with contextlib.suppress(OSError):
        where = folder()
        if where is None:
            return None
        path = _path(where, key)
        stored = _read(where, os.path.basename(path))
        if stored is None:
            return None
        content = stored[len(_head(key, b"")) :]
        if stored == _head(key, content) + content:
            with contextlib.suppress(OSError):
                os.utime(path)  # it was used now
            return content
    return None


def put(key: str, content: bytes) -> None:
    """Store content under a key, where that is possible."""
    where = folder()
    if where is None or len(content) > LIMIT // 8:
        return
    with contextlib.suppress(OSError):
        os.makedirs(where, mode=0o700, exist_ok=True)
        if _trusted(where):
            _write(_path(where, key), _head(key, content) + content)
            if int(key[:8], 16) % _LOOKS == 0:  # keys are as good as random
                sweep(where, LIMIT)


def sweep(where: str, limit: int) -> None:
    """Delete files abandoned by dead processes and, where the rest exceeds the limit, the least recently used.

    A quarter of the limit is then free. Several processes may do so at once: files already deleted do not matter.
    """
    now, files = time.time(), list(_files(where))
    for file in files:
        if file.path.endswith(".part") and now - file.used > _ABANDONED:
            _delete(file.path)
    stored = sorted((file for file in files if file.path.endswith(".o")), key=lambda file: file.used)
    room = sum(file.size for file in stored)
    wanted = limit * 3 // 4 if room > limit else limit
    for file in stored:
        if room <= wanted:
            return
        _delete(file.path)
        room -= file.size


class _File(NamedTuple):
    path: str
    size: int
    used: float


def _files(where: str) -> Iterator[_File]:
    """Files of this cache in the folder, which may hold others."""
    with os.scandir(where) as entries:
        for entry in entries:
            if _OURS.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    yield _File(entry.path, status.st_size, status.st_mtime)


def _path(where: str, key: str) -> str:
    return os.path.join(where, f"{key}.o")


def _head(key: str, content: bytes) -> bytes:
    return _MARK + hashlib.sha256(key.encode() + content).digest()


def _write(path: str, content: bytes) -> None:
    """The whole file or none, also when several processes write it at once, or one is killed while it does."""
    unfinished = f"{path.removesuffix('.o')}.{os.urandom(8).hex()}.part"
    try:
        with open(unfinished, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(content)
        os.replace(unfinished, path)
    except BaseException:
        _delete(unfinished)
        raise


def _delete(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _read(where: str, name: str) -> bytes | None:
    """A file of the folder; None where others may have written it."""
    if sys.platform == "win32":
        with open(os.path.join(where, name), "rb") as file:
            return file.read()
    folder = os.open(where, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not _is_ours(os.fstat(folder)):
            return None
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    finally:
        os.close(folder)
    with open(handle, "rb") as file:
        return file.read() if _is_ours(os.fstat(handle)) else None


def _trusted(where: str) -> bool:
    """Whether only this user and the administrator can have written there."""
    return sys.platform == "win32" or _is_ours(os.stat(where))


def _is_ours(status: os.stat_result) -> bool:
    if sys.platform == "win32":
        return True
    others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid in (0, os.geteuid()) and not others
