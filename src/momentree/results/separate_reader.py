"""Files without a checksum, read in a process of their own: HDF5 may crash or loop for ever on damaged bytes.

The child reads the file from its standard input and writes a fresh copy to its standard output. It may use so much
time and memory as the size of the file justifies; the system ends it if it uses more.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from typing import BinaryIO

_CHILD = "from momentree.results.separate_reader import main; main()"
_SECONDS, _BYTES_PER_SECOND = 2.0, 20_000_000  # of computing in the child
_WAIT = 60  # seconds, where the system counts no computing time, and however busy it is
_ROOM = 1 << 30  # bytes of memory besides


def fresh_copy(file: BinaryIO) -> bytes | None:
    """The same NetCDF file written again; None if it cannot be read. OSError if no process can be started."""
    file.seek(0)
    size = os.fstat(file.fileno()).st_size
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable or "python3", "-P", "-W", "ignore", "-c", _CHILD]
    try:
        child = subprocess.run(
            command, stdin=file, capture_output=True, env=environment, timeout=_WAIT + size / _BYTES_PER_SECOND
        )
    except subprocess.TimeoutExpired:
        return None
    return child.stdout if child.returncode == 0 else None


def main() -> None:
    """What the child does."""
    import xarray

    # before the limits: all that xarray imports with the first variables it reads, Dask too where it is installed
    small = xarray.Dataset({"number": ("i", [0.0])}, {"i": ["text"]})
    with xarray.open_dataset(io.BytesIO(small.to_netcdf(engine="h5netcdf")), engine="h5netcdf") as read:
        read.load().to_netcdf(engine="h5netcdf")
    file = sys.stdin.buffer
    _limit(os.fstat(file.fileno()).st_size)
    with xarray.open_dataset(file, engine="h5netcdf", decode_times=False) as dataset:
        copy = dataset.load().to_netcdf(engine="h5netcdf")
    sys.stdout.buffer.write(copy)


def _limit(size: int) -> None:
    """Let the system end this process if it computes or takes more than reading so large a file needs."""
    if sys.platform == "win32":
        return
    import resource

    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, _SECONDS + size / _BYTES_PER_SECOND)  # its signal ends the process
    with open("/proc/self/statm", "rb") if os.path.exists("/proc/self/statm") else open(os.devnull, "rb") as table:
        pages = table.read().split()[:1]
    if pages:
        _lower(resource.RLIMIT_AS, int(pages[0]) * resource.getpagesize() + _ROOM + 8 * size)
    _lower(resource.RLIMIT_CORE, 0)


def _lower(which: int, limit: int) -> None:
    import resource

    _, hardest = resource.getrlimit(which)
    resource.setrlimit(which, (limit if hardest == resource.RLIM_INFINITY else min(limit, hardest), hardest))
