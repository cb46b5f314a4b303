"""Kernels on a GPU: PTX of their text, cached on disk, loaded by the driver, and launched.

The driver translates PTX for the card when a module is loaded, and keeps the result in a cache of its own.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import weakref
from collections.abc import Sequence
from typing import Any

from momentree.activity import activity
from momentree.compile.emit.interleaved import WARP
from momentree.compile.emit.ptx import CARD, JOB, THREADS, columns_kernel, ptx_of
from momentree.compile.execute import cache
from momentree.compile.execute.gpu_devices import Gpu, Stream, freed
from momentree.compile.execute.gpu_driver import Driver, refusal

_LOG = 16384  # characters
_ERROR_LOG, _ERROR_LOG_SIZE = 5, 6  # options of the driver's compiler
_LOCAL_BYTES, _REGISTERS, _PREFER_L1 = 3, 4, 2


def cached_ptx(text: str) -> str:
    """PTX of the text of a kernel: the cached one, or a new one."""
    import llvmlite
    from llvmlite import binding

    version = ".".join(map(str, binding.llvm_version_info))
    key = cache.key_of("ptx", text, CARD, version, llvmlite.__version__, sys.modules["momentree"].__version__)
    stored = cache.get(key)
    if stored is not None:
        return stored.decode()
    with activity("generating code for the GPU"):
        ptx = ptx_of(text)
    cache.put(key, ptx.encode())
    return ptx


class GpuKernel:
    """One kernel on one GPU.

    | attribute | meaning                                                               |
    |-----------|-----------------------------------------------------------------------|
    | registers | of a thread                                                           |
    | local     | bytes of private memory of a thread, spilled registers among them      |
    | block     | threads of a block                                                    |
    | threads   | that run at the same time on the whole GPU                            |
    """

    def __init__(self, gpu: Gpu, text: str, name: str):
        self.gpu = gpu
        ptx = cached_ptx(text).encode() + b"\0"
        with gpu.current() as call:
            self._module = _loaded(gpu, ptx)
            weakref.finalize(self, freed, gpu, "cuModuleUnload", self._module)
            self._function = call.handle("cuModuleGetFunction", self._module, name.encode())
            call.code("cuFuncSetCacheConfig", self._function, _PREFER_L1)
            self.registers = call.integer("cuFuncGetAttribute", _REGISTERS, self._function)
            self.local = call.integer("cuFuncGetAttribute", _LOCAL_BYTES, self._function)
            sizes = (THREADS, THREADS // 2)
            fitting = {size: self._fitting(call, size) for size in sizes}
        # large blocks, which read instructions together, unless more threads run in small ones
        self.block = max(sizes, key=lambda size: fitting[size] * size)
        self.threads = gpu.multiprocessors * max(fitting[self.block], 1) * self.block

    def _fitting(self, call: Driver, size: int) -> int:
        """How many blocks of that size run at the same time on a multiprocessor."""
        return call.integer("cuOccupancyMaxActiveBlocksPerMultiprocessor", self._function, size, 0)

    def rounded(self, threads: int) -> int:
        """How many threads start where so many are wanted: whole blocks."""
        return -(-max(threads, 1) // self._of_block(threads)) * self._of_block(threads)

    def _of_block(self, threads: int) -> int:
        """Few threads are spread over all multiprocessors."""
        return self.block if threads >= self.block * self.gpu.multiprocessors else WARP

    def launch(self, threads: int, arguments: Sequence[Any], stream: Stream) -> None:
        """Start so many threads, `rounded`, with these arguments, values of ctypes; it returns at once."""
        passed = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(each) for each in arguments))
        size = self._of_block(threads)
        blocks, one = self.rounded(threads) // size, (1, 1)
        with self.gpu.current() as call:
            call.call("cuLaunchKernel", self._function, blocks, *one, size, *one, 0, stream.handle, passed, None)


def _loaded(gpu: Gpu, ptx: bytes) -> int:
    log, module = ctypes.create_string_buffer(_LOG), ctypes.c_uint64()
    options = (ctypes.c_int * 2)(_ERROR_LOG, _ERROR_LOG_SIZE)
    values = (ctypes.c_void_p * 2)(ctypes.addressof(log), _LOG)
    with gpu.current() as call, activity("compiling code for the GPU"):
        code = call.code("cuModuleLoadDataEx", ctypes.byref(module), ptx, 2, options, values)
    if code:
        error = refusal("cuModuleLoadDataEx", call.name_of(code), code)
        said = log.value.decode(errors="replace").strip()
        raise type(error)("\n".join(part for part in (said, str(error)) if part), error.name)
    return module.value


def job_of(slots: Sequence[int | float]) -> Any:
    """The 64-bit slots of a job as one argument: whole numbers and addresses, and numbers with a fraction."""
    job = (ctypes.c_int64 * JOB)()
    for k, slot in enumerate(slots):
        is_number = isinstance(slot, float)
        job[k] = ctypes.c_int64.from_buffer(ctypes.c_double(slot)).value if is_number else int(slot)
    return job


@functools.cache
def columns_on(gpu: Gpu) -> GpuKernel:
    """The kernel that turns rows into columns."""
    return GpuKernel(gpu, columns_kernel(), "columns")
