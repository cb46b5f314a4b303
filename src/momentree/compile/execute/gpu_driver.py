"""The driver of NVIDIA GPUs, libcuda, called by ctypes: no toolkit is needed, only what runs the card anyway.

`driver()` loads and initialises it once; `driver().call("cuMemAlloc_v2", ...)` raises a `GpuError` that names the call,
the reason and the way out. Functions whose names end in _v2 are those of all drivers since CUDA 4.
"""

from __future__ import annotations

import ctypes
import functools
import glob
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from momentree.errors import MomentreeError

OLDEST = 11000  # version of the driver, 1000 major + 10 minor: the first that takes all that we hand to it
NOTHING_FOUND = (
    "no NVIDIA GPU can be used here: the library of its driver ({names}) was not found. "
    "Install the driver, or choose device='cpu'."
)
_FOLDERS = ["/usr/lib/wsl/lib", "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/lib/x86_64-linux-gnu"]
_FOLDERS += ["/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"]

# what went wrong, by the name that the driver gives it, and the way out
_REASONS = {
    "CUDA_ERROR_OUT_OF_MEMORY": "not enough memory on the GPU. Give fewer motions or rows at a time, or free memory.",
    "CUDA_ERROR_NO_DEVICE": "there is no NVIDIA GPU, or CUDA_VISIBLE_DEVICES hides it. Choose device='cpu'.",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "the library of the driver and the driver have different versions. Restart.",
    "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE": "this card needs its own driver, not a compatibility package.",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": "the driver is too old for this code. Install a newer one.",
    "CUDA_ERROR_NO_BINARY_FOR_GPU": "the card is too old: compute capability 7.0 or higher is needed.",
    "CUDA_ERROR_INVALID_PTX": "the driver does not accept the code. Please report this, with the lines above.",
    "CUDA_ERROR_LAUNCH_TIMEOUT": "the display's watchdog stopped the computation. Give fewer motions at a time.",
    "CUDA_ERROR_ILLEGAL_ADDRESS": "the computation read or wrote where it must not. Please report this.",
    "CUDA_ERROR_ECC_UNCORRECTABLE": "the memory of the card is damaged. Restart, or choose another device.",
    "CUDA_ERROR_DEVICES_UNAVAILABLE": "another program has the card for itself. End it, or choose another device.",
    "CUDA_ERROR_NOT_INITIALIZED": "this process was forked from one that uses the GPU. Start processes by 'spawn'.",
    "CUDA_ERROR_NOT_PERMITTED": "this user may not use the card. Ask for access to /dev/nvidia*.",
}

_int, _size, _pointer, _text = ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_char_p
_unsigned, _address = ctypes.c_uint, ctypes.c_uint64
_to = ctypes.c_void_p  # where a result is written

# the arguments of each function, which gives 0 where all is well
_FUNCTIONS: dict[str, Sequence[Any]] = {
    "cuInit": (_unsigned,),
    "cuDriverGetVersion": (_to,),
    "cuDeviceGetCount": (_to,),
    "cuDeviceGet": (_to, _int),
    "cuDeviceGetName": (_text, _int, _int),
    "cuDeviceTotalMem_v2": (_to, _int),
    "cuDeviceGetAttribute": (_to, _int, _int),
    "cuDevicePrimaryCtxRetain": (_to, _int),
    "cuCtxPushCurrent_v2": (_pointer,),
    "cuCtxPopCurrent_v2": (_to,),
    "cuMemGetInfo_v2": (_to, _to),
    "cuModuleLoadDataEx": (_to, _pointer, _unsigned, _to, _to),
    "cuModuleUnload": (_pointer,),
    "cuModuleGetFunction": (_to, _pointer, _text),
    "cuFuncGetAttribute": (_to, _int, _pointer),
    "cuFuncSetCacheConfig": (_pointer, _int),
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": (_to, _pointer, _int, _size),
    "cuMemAlloc_v2": (_to, _size),
    "cuMemFree_v2": (_address,),
    "cuMemHostRegister_v2": (_pointer, _size, _unsigned),
    "cuMemHostUnregister": (_pointer,),
    "cuMemcpyHtoDAsync_v2": (_address, _pointer, _size, _pointer),
    "cuMemcpyDtoHAsync_v2": (_pointer, _address, _size, _pointer),
    "cuMemcpy2DAsync_v2": (_to, _pointer),
    "cuPointerGetAttribute": (_to, _int, _address),
    "cuStreamCreate": (_to, _unsigned),
    "cuStreamDestroy_v2": (_pointer,),
    "cuStreamSynchronize": (_pointer,),
    "cuStreamWaitEvent": (_pointer, _pointer, _unsigned),
    "cuEventCreate": (_to, _unsigned),
    "cuEventDestroy_v2": (_pointer,),
    "cuEventRecord": (_pointer, _pointer),
    "cuEventSynchronize": (_pointer,),
    "cuEventElapsedTime": (_to, _pointer, _pointer),
    "cuLaunchKernel": (_pointer, *[_unsigned] * 7, _pointer, _to, _to),
}


class GpuError(MomentreeError):
    """What the driver of a GPU refused; `name` is its own word for it, CUDA_ERROR_..."""

    def __init__(self, message: str, name: str = ""):
        self.name = name
        super().__init__(message)


class OutOfGpuMemory(GpuError):
    """Memory of the GPU did not suffice."""


class Copy2D(ctypes.Structure):
    """CUDA_MEMCPY2D: rows of `width` bytes that lie `pitch` bytes apart, on the host or on the GPU."""

    _fields_ = [
        ("source_x", _size),
        ("source_y", _size),
        ("source_kind", _int),
        ("source_host", _pointer),
        ("source_device", _address),
        ("source_array", _pointer),
        ("source_pitch", _size),
        ("target_x", _size),
        ("target_y", _size),
        ("target_kind", _int),
        ("target_host", _pointer),
        ("target_device", _address),
        ("target_array", _pointer),
        ("target_pitch", _size),
        ("width", _size),
        ("height", _size),
    ]


HOST, DEVICE = 1, 2  # kinds of memory in Copy2D


class Driver:
    """The library of the driver, with the arguments of its functions declared."""

    def __init__(self, library: Any):
        self._library = library
        for name, kinds in _FUNCTIONS.items():
            function = getattr(library, name, None)
            if function is not None:
                function.argtypes, function.restype = list(kinds), _int

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function; what it refuses is an error."""
        code = self.code(name, *arguments)
        if code:
            raise refusal(name, self.name_of(code), code)

    def code(self, name: str, *arguments: Any) -> int:
        """Call a function, and give the number that it returns: 0 where all is well."""
        function: Callable[..., int] | None = getattr(self._library, name, None)
        if function is None:
            raise GpuError(f"the driver of the GPU has no function {name}: it is too old. Install a newer one.")
        return function(*arguments)

    def name_of(self, code: int) -> str:
        """The driver's name of an error."""
        name = ctypes.c_char_p()
        known = self._library.cuGetErrorName(_int(code), ctypes.byref(name)) == 0
        return name.value.decode() if known and name.value else f"error {code}"

    def integer(self, name: str, *arguments: Any) -> int:
        """A function that writes an int at its first argument."""
        value = _int()
        self.call(name, ctypes.byref(value), *arguments)
        return value.value

    def handle(self, name: str, *arguments: Any) -> int:
        """A function that writes a handle or an address at its first argument."""
        value = _address()
        self.call(name, ctypes.byref(value), *arguments)
        return value.value

    @functools.cached_property
    def version(self) -> int:
        """Of CUDA that the driver knows: 1000 major + 10 minor."""
        return self.integer("cuDriverGetVersion")


def refusal(function: str, name: str, code: int = 0) -> GpuError:
    """The error for what the driver said."""
    reason = _REASONS.get(name, f"{function} failed ({code}). See NVIDIA's list of CUDA errors.")
    kind = OutOfGpuMemory if name == "CUDA_ERROR_OUT_OF_MEMORY" else GpuError
    return kind(f"GPU: {name}: {reason}", name)


@functools.cache
def driver() -> Driver:
    """The driver, initialised; without one, or with one that is too old, an error that says what to do."""
    library, names = _found()
    if library is None:
        raise GpuError(NOTHING_FOUND.format(names=" or ".join(names)))
    made = Driver(library)
    made.call("cuInit", 0)
    if made.version < OLDEST:
        has, needed = (f"{v // 1000}.{v % 1000 // 10}" for v in (made.version, OLDEST))
        raise GpuError(f"the driver of the GPU is too old: it knows CUDA {has}, and {needed} is needed. Renew it.")
    return made


def _found() -> tuple[Any, Sequence[str]]:
    """The library, or None; and the names that were tried."""
    names: Sequence[str] = ("nvcuda.dll",) if sys.platform == "win32" else ("libcuda.so.1", "libcuda.so")
    folders = [] if sys.platform == "win32" else _FOLDERS
    paths = [path for folder in folders for path in sorted(glob.glob(os.path.join(folder, "libcuda.so*")))]
    for path in (*names, *paths):
        try:
            return ctypes.CDLL(path), names  # on 64 bits there is one calling convention, on Windows too
        except OSError:
            continue
    return None, names
