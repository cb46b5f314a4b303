"""A lock that one process holds on a folder; the system lets go of it when the process ends, however it ends."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import weakref
from pathlib import Path

from momentree.errors import MomentreeError

NAME = "lock"


class Lock:
    """Held from its making until `release`; a folder that another process holds is refused, with that one's number.

    The file holds the number of the process for people to read. What counts is the lock of the operating system on
    it: a file that a dead process left locks nothing. Nor does a process that was forked from the holder: the lock
    belongs to the open file, which both share, so that the child closes its own at once.
    """

    def __init__(self, folder: Path, what: str):
        self._file, self._handle = folder / NAME, -1
        while self._handle < 0:
            self._handle = self._taken(what)
        os.ftruncate(self._handle, 0)
        os.write(self._handle, f"{os.getpid()}\n".encode())
        _HELD.add(self)

    def confirm(self) -> None:
        """Raise OSError unless this process holds the lock: one that was forked from the holder does not."""
        if self._handle < 0:
            raise OSError(errno.ENOLCK, "another process, from which this one was forked, is writing it")

    def _taken(self, what: str) -> int:
        """The open file, locked; -1 if it was deleted meanwhile by the process that had it before."""
        handle = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if not _lock(handle):
                holder = os.pread(handle, 20, 0).decode(errors="replace").strip() if hasattr(os, "pread") else ""
                raise MomentreeError(
                    f"{what}: process {holder or 'of another program'} is writing it now. Wait until it has finished, "
                    "stop it, or choose another file."
                )
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), os.stat(self._file)):
                    kept, handle = handle, -1
                    return kept
            return -1
        finally:
            if handle >= 0:
                os.close(handle)

    def release(self, delete: bool = False) -> None:
        """Release the lock; with its file, if nothing remains to protect."""
        if self._handle < 0:
            return
        if delete and sys.platform != "win32":  # while it is held: nobody else can have it
            self._file.unlink(missing_ok=True)
        _HELD.discard(self)
        self._close()
        if delete and sys.platform == "win32":
            with contextlib.suppress(OSError):
                self._file.unlink(missing_ok=True)

    def _close(self) -> None:
        handle, self._handle = self._handle, -1
        os.close(handle)


_HELD: weakref.WeakSet[Lock] = weakref.WeakSet()


def _leave_to_parent() -> None:
    """In a child: close what is inherited. The parent, which has the same file open, keeps the lock."""
    for lock in list(_HELD):
        with contextlib.suppress(OSError):
            lock._close()
    _HELD.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def _lock(handle: int) -> bool:
    """Whether the lock could be had at once. Where a file system knows no locks, everybody has it."""
    if sys.platform == "win32":
        import msvcrt

        try:
            os.lseek(handle, 1 << 20, os.SEEK_SET)  # a byte that nobody reads
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            os.lseek(handle, 0, os.SEEK_SET)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
