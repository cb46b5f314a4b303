"""GPUs: which there are, which one is used, and what a call does with it: memory, streams, events.

`chosen("gpu")` is the first one that can be used, or number $MOMENTREE_GPU; `chosen("gpu:1")` the second. Each works in
its primary context, the one that CuPy, PyTorch and JAX use too: their arrays are ours without a copy.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from momentree.compile.execute.gpu_driver import DEVICE, HOST, Copy2D, Driver, GpuError, driver
from momentree.errors import MomentreeError

OLDEST_CARD = (7, 0)  # compute capability
# attributes of a device in the driver's numbering
_MULTIPROCESSORS, _WATCHDOG, _MAJOR, _MINOR = 16, 17, 75, 76
_THREADS_OF_A_MULTIPROCESSOR = 39
_LONGEST_PITCH = 2**31 - 1  # bytes between rows of one copy


class Gpu:
    """One GPU.

    | attribute       | meaning                                                                 |
    |-----------------|-------------------------------------------------------------------------|
    | number          | among those that the driver shows, from 0 on                            |
    | name            | as its maker calls it                                                   |
    | memory          | bytes of it                                                             |
    | capability      | compute capability, (9, 0)                                              |
    | multiprocessors | how many                                                                |
    | threads         | that one multiprocessor can hold, at most                               |
    | watched         | whether a display's watchdog stops computations of more than seconds     |
    """

    def __init__(self, number: int):
        self._driver = driver()
        self.number, self._device = number, self._driver.integer("cuDeviceGet", number)
        name, memory = ctypes.create_string_buffer(256), ctypes.c_size_t()
        self._driver.call("cuDeviceGetName", name, 256, self._device)
        self._driver.call("cuDeviceTotalMem_v2", ctypes.byref(memory), self._device)
        self.name, self.memory = name.value.decode(errors="replace"), memory.value
        self.capability = self._attribute(_MAJOR), self._attribute(_MINOR)
        self.multiprocessors, self.watched = self._attribute(_MULTIPROCESSORS), bool(self._attribute(_WATCHDOG))
        self.threads = self._attribute(_THREADS_OF_A_MULTIPROCESSOR)
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<GPU {self.number}: {self.name}, {self.memory / 2**30:.0f} GiB>"

    def _attribute(self, which: int) -> int:
        return self._driver.integer("cuDeviceGetAttribute", which, self._device)

    @property
    def objection(self) -> str:
        """Why it cannot be used; "" if it can."""
        if self.capability >= OLDEST_CARD:
            return ""
        has, needed = (".".join(map(str, x)) for x in (self.capability, OLDEST_CARD))
        return f"its compute capability is {has}, and {needed} is needed"

    @functools.cached_property
    def _context(self) -> int:
        return self._driver.handle("cuDevicePrimaryCtxRetain", self._device)

    @contextlib.contextmanager
    def current(self) -> Iterator[Driver]:
        """Within, calls of the driver go to this GPU; afterwards, to that of the caller again."""
        with self._lock:
            context = self._context
        self._driver.call("cuCtxPushCurrent_v2", context)
        try:
            yield self._driver
        finally:
            self._driver.code("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    @property
    def free_memory(self) -> int:
        """Bytes that nobody has taken."""
        free, all_ = ctypes.c_size_t(), ctypes.c_size_t()
        with self.current() as call:
            call.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(all_))
        return free.value

    # --- memory ---

    def allocate(self, size: int) -> GpuMemory:
        """Memory of so many bytes, freed when nothing refers to it."""
        with self.current() as call:
            return GpuMemory(self, call.handle("cuMemAlloc_v2", max(size, 16)), max(size, 16))

    def upload(self, array: np.ndarray, to: int, stream: Stream) -> None:
        """Copy a contiguous array to an address of the GPU; it must not change before the stream has come so far."""
        with self.current() as call:
            call.call("cuMemcpyHtoDAsync_v2", to, array.ctypes.data, array.nbytes, stream.handle)

    def download(self, address: int, to: np.ndarray, stream: Stream) -> None:
        """Copy from an address of the GPU into a contiguous array."""
        with self.current() as call:
            call.call("cuMemcpyDtoHAsync_v2", to.ctypes.data, address, to.nbytes, stream.handle)

    def download_columns(self, address: int, count: int, to: np.ndarray, begin: int, stream: Stream) -> None:
        """Copy rows of `count` numbers from the GPU to begin, ... of the rows of an array (rows, numbers)."""
        rows, numbers = to.shape
        if 8 * numbers >= _LONGEST_PITCH:
            for row in range(rows):
                self.download(address + 8 * count * row, to[row, begin : begin + count], stream)
            return
        copy = Copy2D(source_kind=DEVICE, source_device=address, source_pitch=8 * count, width=8 * count, height=rows)
        copy.target_kind, copy.target_host, copy.target_pitch = HOST, to.ctypes.data + 8 * begin, 8 * numbers
        with self.current() as call:
            call.call("cuMemcpy2DAsync_v2", ctypes.byref(copy), stream.handle)

    @contextlib.contextmanager
    def pinned(self, array: np.ndarray) -> Iterator[bool]:
        """Within, the array stays where it is in the memory of the host, so that copies are fast and in the background.

        False where the system does not allow it: copies are slower then, and wait.
        """
        with self.current() as call:
            done = array.nbytes > 0 and call.code("cuMemHostRegister_v2", array.ctypes.data, array.nbytes, 1) == 0
        try:
            yield done
        finally:
            if done:
                with self.current() as call:
                    call.code("cuMemHostUnregister", array.ctypes.data)


def freed(gpu: Gpu, function: str, handle: int) -> None:
    """When an object is gone, or the program ends: nothing is said where the driver is gone too."""
    with contextlib.suppress(Exception), gpu.current() as call:
        call.code(function, handle)


class GpuMemory:
    """Memory on a GPU: `address` and `size` in bytes."""

    def __init__(self, gpu: Gpu, address: int, size: int):
        self.gpu, self.address, self.size = gpu, address, size
        self._finish = weakref.finalize(self, freed, gpu, "cuMemFree_v2", address)

    def free(self) -> None:
        """Give it back now."""
        self._finish()


class Stream:
    """Work on a GPU that is done in order, beside that of other streams."""

    def __init__(self, gpu: Gpu):
        with gpu.current() as call:
            self.gpu, self.handle = gpu, call.handle("cuStreamCreate", 1)  # independent of the default stream
        weakref.finalize(self, freed, gpu, "cuStreamDestroy_v2", self.handle)

    def wait(self) -> None:
        """Until all its work is done; what failed in it is an error here."""
        with self.gpu.current() as call:
            call.call("cuStreamSynchronize", self.handle)

    def settle(self) -> None:
        """Wait until nothing runs in it any more, whether or not it failed."""
        with self.gpu.current() as call:
            call.code("cuStreamSynchronize", self.handle)

    def after(self, event: Event) -> None:
        """What follows in this stream begins after the event."""
        with self.gpu.current() as call:
            call.call("cuStreamWaitEvent", self.handle, event.handle, 0)


class Event:
    """A point in the work of a stream, with the time at which it was reached."""

    def __init__(self, gpu: Gpu):
        with gpu.current() as call:
            self.gpu, self.handle = gpu, call.handle("cuEventCreate", 0)
        weakref.finalize(self, freed, gpu, "cuEventDestroy_v2", self.handle)

    def record(self, stream: Stream | int) -> Event:
        """Set it behind all that a stream has to do now; streams of others by their handles."""
        with self.gpu.current() as call:
            call.call("cuEventRecord", self.handle, stream if isinstance(stream, int) else stream.handle)
        return self

    def wait(self) -> None:
        """Until it is reached; what failed before it is an error here."""
        with self.gpu.current() as call:
            call.call("cuEventSynchronize", self.handle)

    def since(self, other: Event) -> float:
        """Seconds from another event to this one, by the clock of the GPU; both must have been reached."""
        milliseconds = ctypes.c_float()
        with self.gpu.current() as call:
            call.call("cuEventElapsedTime", ctypes.byref(milliseconds), other.handle, self.handle)
        return milliseconds.value / 1e3


# --- which there are ---


@functools.cache
def gpus() -> tuple[Gpu, ...]:
    """All that the driver shows; an error where there is no driver."""
    return tuple(Gpu(number) for number in range(driver().integer("cuDeviceGetCount")))


def chosen(device: Any) -> Gpu:
    """The GPU that "gpu" or "gpu:1" means; one that is not there, or cannot be used, is an error."""
    number = _number(device)
    there = gpus()
    if not there:
        raise GpuError("there is no NVIDIA GPU, or CUDA_VISIBLE_DEVICES hides it. Choose device='cpu'.")
    if number is None:
        usable = [gpu for gpu in there if not gpu.objection]
        number = usable[0].number if usable else 0
    if number >= len(there):
        names = ", ".join(f"'gpu:{gpu.number}' ({gpu.name})" for gpu in there)
        raise GpuError(f"device '{device}': there is no GPU {number}. Choose {names}.")
    if there[number].objection:
        raise GpuError(f"GPU {number} ({there[number].name}) cannot be used: {there[number].objection}.")
    return there[number]


def is_gpu(device: Any) -> bool:
    """Whether a device that a user named is a GPU; a device that is neither that nor "cpu" is an error."""
    if device is None or device == "cpu":
        return False
    _number(device)
    return True


def _number(device: Any) -> int | None:
    """That of "gpu:1"; of "gpu", $MOMENTREE_GPU, or None: the first that can be used."""
    kind, colon, number = device.partition(":") if isinstance(device, str) else ("", "", "")
    if kind != "gpu" or (colon and not _counts(number)):
        raise MomentreeError(f"device is {device!r}. Choose 'cpu', 'gpu', or 'gpu:0', 'gpu:1', ... for one of several.")
    if colon:
        return int(number)
    named = os.environ.get("MOMENTREE_GPU", "")
    if named and not _counts(named):
        raise MomentreeError(f"MOMENTREE_GPU is '{named}'; give the number of a GPU, 0 or higher, or unset it.")
    return int(named) if named else None


def _counts(text: str) -> bool:
    return text.isascii() and text.isdecimal()
