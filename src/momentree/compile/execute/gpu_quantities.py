"""Quantities of a mechanism for arrays that live on a GPU: the same code as on the processor, a row in each thread.

All arrays must be on one GPU. A number, or a single row on the host, serves all rows. The result is a `DeviceArray`.
Results that are not finite, and quaternions that are not of unit length, are errors, as on the processor.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from momentree.activity import activity
from momentree.compile.emit.ptx import memory_of_threads, rows_kernel
from momentree.compile.execute.arrays import Array, Quaternion, coordinate_array, numbers
from momentree.compile.execute.gpu_arrays import DeviceArray, TakenArray, is_on_gpu
from momentree.compile.execute.gpu_code import GpuKernel, job_of
from momentree.compile.execute.gpu_devices import Gpu, Stream
from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import Target
from momentree.errors import MomentreeError

NONE = 2**64 - 1  # at `bad` of the kernel where no row is


class ThreadTarget(Target):
    """A thread of a GPU: it has no vectors."""

    def lanes(self, live: int) -> int:
        return 1


THREAD = ThreadTarget("gpu")


class GpuRequest(NamedTuple):
    """A call of a quantity.

    | field       | meaning                                                                     |
    |-------------|-----------------------------------------------------------------------------|
    | what        | the name of the quantity                                                    |
    | arguments   | names, numbers of columns (None: a number) and values                       |
    | constants   | free parameters (n,) or (..., n); None if there are none                    |
    | shape       | of the result of one row                                                    |
    | quaternions | in the first argument                                                       |
    | out         | where the result goes; None: into a new array                               |
    | kernel      | makes the code for parameters that are the same for all rows, or varied     |
    | made        | kernels on GPUs made so far                                                 |
    """

    what: str
    arguments: Sequence[tuple[str, int | None, Any]]
    constants: Array | None
    shape: tuple[int, ...]
    quaternions: Sequence[Quaternion]
    out: Any
    kernel: Callable[[bool], Kernel]
    made: dict[Any, _Compiled]


class _Compiled(NamedTuple):
    kernel: GpuKernel
    scratch: int


class _Rows(NamedTuple):
    """An argument on the GPU: where its rows start, how far they are apart, and what keeps it there."""

    address: int
    stride: int
    keeper: Any


def any_on_gpu(values: Sequence[Any]) -> bool:
    """Whether some argument lives on a GPU."""
    return any(is_on_gpu(value) for value in values)


def computed_on_gpu(request: GpuRequest) -> Any:
    """The result, on the GPU where the arguments are; it is complete when this returns."""
    streams = functools.cache(Stream)
    taken = {name: TakenArray(x, name, streams) for name, _, x in request.arguments if is_on_gpu(x)}
    gpu = _common_gpu(request.what, taken)
    stream = streams(gpu)
    batch = _batch(request, taken)
    rows = [_rows(*each, taken, batch, gpu, stream) for each in request.arguments]
    one = request.constants is None or request.constants.size == request.constants.shape[-1]
    if request.constants is not None:
        rows.append(_host_rows("parameters", request.constants, batch, gpu, stream))
    shape, count = (*batch, *request.shape), math.prod(batch)
    out = _out(request, shape, gpu, streams)
    address = out.address if isinstance(out, TakenArray) else out._memory.address
    if math.prod(shape):
        _launch(request, _compiled(request, gpu, one), rows, count, address, stream)
    stream.wait()
    return request.out if request.out is not None else out


def _common_gpu(what: str, taken: Mapping[str, TakenArray]) -> Gpu:
    (first, at), *others = taken.items()
    for name, other in others:
        if other.gpu is not at.gpu:
            message = f"{what}: {first} is on GPU {at.gpu.number}, but {name} on GPU {other.gpu.number}"
            raise MomentreeError(f"{message}. Move them to one.")
    return at.gpu


def _batch(request: GpuRequest, taken: Mapping[str, TakenArray]) -> tuple[int, ...]:
    """The leading axes: those of all arrays that have more than one row."""
    columns = {name: count for name, count, _ in request.arguments}
    leading = {}
    for name, array in taken.items():
        if columns[name] is not None and (not array.shape or array.shape[-1] != columns[name]):
            shape = "x".join(map(str, array.shape)) or "a single number"
            raise MomentreeError(f"{name} has the shape {shape}; its last axis must have length {columns[name]}.")
        leading[name] = array.shape if columns[name] is None else array.shape[:-1]
    if request.constants is not None and request.constants.ndim > 1:
        leading["parameters"] = request.constants.shape[:-1]
    batches = {axes for axes in leading.values() if math.prod(axes) != 1}
    if len(batches) > 1:
        shapes = ", ".join(f"{name} has {'x'.join(map(str, axes))}" for name, axes in leading.items() if axes)
        message = f"{request.what}: the leading axes do not fit together: {shapes}"
        raise MomentreeError(f"{message}. On a GPU give each the same, or a single row that serves all.")
    return batches.pop() if batches else max(leading.values(), key=len)


def _rows(
    name: str, columns: int | None, value: Any, taken: Mapping[str, TakenArray], batch: tuple[int, ...], gpu: Gpu,
    stream: Stream,
) -> _Rows:  # fmt: skip
    """An argument that is on the GPU, or is brought there."""
    count = 1 if columns is None else columns
    if name in taken:
        array = taken[name]
        single = math.prod(array.shape) == count
        return _Rows(array.address, 0 if single else count, array)
    host = numbers(value, name, "a number")[..., None] if columns is None else coordinate_array(value, columns, name)
    if host.size != count:
        message = f"{name} is on the host, and other arrays are on GPU {gpu.number}"
        raise MomentreeError(f"{message}. Move it there, or give a single row that serves all.")
    return _host_rows(name, host, batch, gpu, stream)


def _host_rows(name: str, host: Array, batch: tuple[int, ...], gpu: Gpu, stream: Stream) -> _Rows:
    if not np.isfinite(host).all():
        raise MomentreeError(f"{name} holds NaN or infinity.")
    columns = host.shape[-1]
    array = np.ascontiguousarray(host, dtype=float)
    memory = gpu.allocate(array.nbytes)
    gpu.upload(array, memory.address, stream)
    return _Rows(memory.address, 0 if array.size == columns else columns, (memory, array))


def _out(request: GpuRequest, shape: tuple[int, ...], gpu: Gpu, streams: Callable[[Gpu], Stream]) -> Any:
    """A new array, or the one that is given, if it can hold the results."""
    if request.out is None:
        return DeviceArray(gpu.allocate(8 * math.prod(shape)), shape)
    if not is_on_gpu(request.out):
        raise MomentreeError(f"out is a {type(request.out).__name__}. Give an array on GPU {gpu.number}, or none.")
    out = TakenArray(request.out, "out", streams)
    if out.gpu is not gpu or out.shape != shape:
        has, wanted = f"{out.shape} on GPU {out.gpu.number}", f"{shape} on GPU {gpu.number}"
        raise MomentreeError(f"out has the shape {has}; {wanted} is expected.")
    return out


def _compiled(request: GpuRequest, gpu: Gpu, one: bool) -> _Compiled:
    key = request.what, gpu.number, one
    if key not in request.made:
        with activity(f"compiling {request.what} for", gpu.name):
            kernel = request.kernel(not one)
            text, scratch = kernel_text(kernel, [each.start for each in request.quaternions])
            request.made[key] = _Compiled(GpuKernel(gpu, text, "rows"), scratch)
    return request.made[key]


def kernel_text(kernel: Kernel, quaternions: Sequence[int]) -> tuple[str, int]:
    """The text of the kernel around rows_1 of a quantity, and how many numbers of memory a thread needs."""
    text, scratch = kernel.without_vectors()
    return rows_kernel(text, len(kernel.arrays), kernel.outputs, scratch, quaternions), scratch


def _launch(request: GpuRequest, code: _Compiled, rows: Sequence[_Rows], count: int, out: int, stream: Stream) -> None:
    """Compute all rows, and see whether all results are finite."""
    gpu = code.kernel.gpu
    threads = min(code.kernel.threads, count) if code.scratch else count
    numbers, bad = memory_of_threads(code.scratch, code.kernel.rounded(threads)), np.full(2, NONE, dtype=np.uint64)
    memory = gpu.allocate(8 * numbers)
    where = gpu.allocate(16)
    gpu.upload(bad, where.address, stream)
    slots = [count, out, where.address, *(x for row in rows for x in (row.address, row.stride))]
    code.kernel.launch(threads, [job_of(slots), ctypes.c_uint64(memory.address)], stream)
    gpu.download(where.address, bad, stream)
    stream.wait()
    _explain(request, int(bad[1]), int(bad[0]))


def _explain(request: GpuRequest, turned: int, broken: int) -> None:
    if turned != NONE:
        names = " or ".join(f"'{each.joint}'" for each in request.quaternions)
        message = f"q: a quaternion of joint {names} is not of unit length in row {turned}"
        raise MomentreeError(f"{message}. Its order is (x, y, z, w).")
    if broken != NONE:
        message = f"{request.what}: a result is not a finite number in row {broken}"
        raise MomentreeError(f"{message}: a number of that row may be NaN or too large, or a law outside its domain.")
