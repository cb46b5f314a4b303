"""The checksum of a run file: SHA-256 of all bytes before it, as a line of text at the very end of the file.

HDF5 knows where its own data end and ignores what follows, so that every reader of NetCDF opens the file as before.
The line is checked by plain reading, before HDF5 sees the file: HDF5 may loop for ever on damaged bytes.

    head -c -105 run.nc | sha256sum; tail -n 1 run.nc
"""

from __future__ import annotations

import hashlib
from typing import BinaryIO

MARK = b"\nSHA-256 of the bytes before this line: "
LENGTH = len(MARK) + 64 + 1
_PIECE = 1 << 20  # bytes read at a time


class Damaged(Exception):
    """The content of a file is not that of its checksum, or this has been lost."""


def checksum_line(content: bytes | memoryview) -> bytes:
    """What is to follow this content."""
    return MARK + hashlib.sha256(content).hexdigest().encode() + b"\n"


def has_checksum(file: BinaryIO) -> bool:
    """Whether a file carries its checksum; Damaged if it does not fit the content."""
    size = file.seek(0, 2)
    if size < LENGTH:
        return False
    file.seek(size - LENGTH)
    line = file.read(LENGTH)
    if not line.startswith(MARK):
        return False
    file.seek(0)
    total, remaining = hashlib.sha256(), size - LENGTH
    while remaining and (piece := file.read(min(_PIECE, remaining))):
        total.update(piece)
        remaining -= len(piece)
    if remaining or line != MARK + total.hexdigest().encode() + b"\n":
        raise Damaged("is damaged: its checksum (SHA-256) does not fit.")
    file.seek(0)
    return True
