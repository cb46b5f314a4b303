"""Arrays on a GPU: those of CuPy, PyTorch, JAX and others taken without a copy, and ours given to them.

An array that lives on a GPU says where by `__cuda_array_interface__` or by DLPack (`__dlpack__`). What is taken must be
of float64, contiguous, row after row. Work that others have still to do on it is waited for, on the stream that they
name; what we give is complete.

| DLPack, in memory | DLManagedTensor                                              |
|-------------------|--------------------------------------------------------------|
| tensor            | data, device (kind, number), axes, type, shape, strides, offset |
| owner, deleter    | who is told when the consumer is done with it                 |
"""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from momentree.compile.execute.gpu_devices import Event, Gpu, GpuMemory, Stream, gpus
from momentree.errors import MomentreeError

CUDA, FLOAT64 = 2, (2, 64, 1)  # kind of device; code, bits and lanes of a type, in DLPack
_ROW_BY_ROW = "is not contiguous, row after row. Make it so: cupy.ascontiguousarray(x), or x.contiguous() of PyTorch"


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("kind", ctypes.c_int32),
        ("number", ctypes.c_int32),
        ("axes", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [("tensor", _Tensor), ("owner", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class DeviceArray:
    """An array of float64 on a GPU, row after row: what our functions give for arrays that live there.

    CuPy, PyTorch and JAX take it without a copy, by `cupy.asarray(x)`, `torch.from_dlpack(x)` and
    `jax.dlpack.from_dlpack(x)`; `numpy()` copies it to the host.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, memory: GpuMemory, shape: tuple[int, ...]):
        self._memory, self.shape = memory, shape

    @property
    def device(self) -> str:
        """Where it lives: "gpu:0"."""
        return f"gpu:{self._memory.gpu.number}"

    @property
    def ndim(self) -> int:
        """How many axes it has."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without axes has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, device='{self.device}')"

    def numpy(self) -> np.ndarray:
        """A copy on the host."""
        array = np.empty(self.shape)
        if array.size:
            stream = Stream(self._memory.gpu)
            self._memory.gpu.download(self._memory.address, array, stream)
            stream.wait()
        return array

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        where = self._memory.address if self.size else 0
        return {"shape": self.shape, "typestr": "<f8", "data": (where, False), "strides": None, "version": 3}

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self._memory.gpu.number

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        """A capsule; the array is complete, so that no stream has to wait for it."""
        if dl_device not in (None, self.__dlpack_device__()) or copy:
            raise BufferError("this array is given as it is, where it is: copy it there.")
        return _capsule(self)


# --- given to others ---

_given: dict[int, tuple[_Managed, Any, DeviceArray]] = {}  # what consumers of DLPack hold, until they are done
_numbers = itertools.count(1)
_api = ctypes.pythonapi
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_New", _api))
_is = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_inside = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))
_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))


def _forget(managed: int) -> None:
    """The consumer is done."""
    _given.pop(_Managed.from_address(managed).owner or 0, None)


def _forget_capsule(capsule: int) -> None:
    """A capsule is gone; if nobody has taken what is in it, nobody else will say that it is not needed."""
    if _is(capsule, b"dltensor"):
        _forget(_inside(capsule, b"dltensor"))


_deleted = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_forget)
_dropped = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_forget_capsule)


def _capsule(array: DeviceArray) -> Any:
    number, axes = next(_numbers), len(array.shape)
    shape = (ctypes.c_int64 * max(axes, 1))(*array.shape)
    code, bits, lanes = FLOAT64
    where = array._memory.address if array.size else None
    tensor = _Tensor(where, CUDA, array._memory.gpu.number, axes, code, bits, lanes, shape, None, 0)
    managed = _Managed(tensor, number, ctypes.cast(_deleted, ctypes.c_void_p).value)
    _given[number] = managed, shape, array
    return _new(ctypes.addressof(managed), b"dltensor", ctypes.cast(_dropped, ctypes.c_void_p).value)


# --- taken from others ---


def is_on_gpu(x: Any) -> bool:
    """Whether an argument is an array that lives on a GPU."""
    if isinstance(x, (np.ndarray, float, int, list, tuple)):
        return False
    if hasattr(type(x), "__dlpack_device__"):
        return int(x.__dlpack_device__()[0]) == CUDA
    return hasattr(x, "__cuda_array_interface__")


class TakenArray:
    """An array of somebody else on a GPU: `address`, `shape`, `gpu`; it is alive as long as this."""

    def __init__(self, x: Any, what: str, stream_of: Callable[[Gpu], Stream]):
        self._what, self._kept = what, x
        if isinstance(x, DeviceArray):
            self.gpu, self.shape, self.address = x._memory.gpu, x.shape, x._memory.address
        elif hasattr(type(x), "__dlpack__"):
            self._take_dlpack(x, stream_of)
        else:
            self._take_interface(x, stream_of)

    def _take_dlpack(self, x: Any, stream_of: Callable[[Gpu], Stream]) -> None:
        self.gpu = self._gpu(int(x.__dlpack_device__()[1]))
        try:
            capsule = x.__dlpack__(stream=stream_of(self.gpu).handle)
        except (BufferError, RuntimeError, TypeError) as error:  # such as a tensor of PyTorch that requires gradients
            raise MomentreeError(f"{self._what} cannot be shared: {error}") from None
        self._kept = x, capsule
        tensor = _Managed.from_address(_of(capsule, b"dltensor")).tensor
        self._check_type((tensor.code, tensor.bits, tensor.lanes) == FLOAT64, getattr(x, "dtype", "other numbers"))
        self.shape = tuple(tensor.shape[k] for k in range(tensor.axes))
        strides = [tensor.strides[k] for k in range(tensor.axes)] if tensor.strides else None
        self._check_contiguous(strides)
        self.address = (tensor.data or 0) + tensor.offset

    def _take_interface(self, x: Any, stream_of: Callable[[Gpu], Stream]) -> None:
        said = x.__cuda_array_interface__
        self._check_type(said["typestr"] in ("<f8", "=f8"), said["typestr"])
        self.shape, self.address = tuple(said["shape"]), int(said["data"][0] or 0)
        strides = said.get("strides")
        self._check_contiguous(None if strides is None else [step / 8 for step in strides])
        self.gpu = _gpu_at(self.address)
        if said.get("mask") is not None:
            raise MomentreeError(f"{self._what} has a mask. Give an array of which every number counts.")
        if said.get("stream", 1) is not None:  # an interface that knows of no streams means the default one
            stream_of(self.gpu).after(Event(self.gpu).record(int(said.get("stream", 1))))

    def _gpu(self, number: int) -> Gpu:
        there = gpus()
        if number >= len(there):
            raise MomentreeError(f"{self._what} is on GPU {number}, but there are {len(there)}.")
        return there[number]

    def _check_type(self, right: bool, kind: Any) -> None:
        if not right:
            hint = 'x.astype("float64"), in JAX with jax.config.update("jax_enable_x64", True)'
            raise MomentreeError(f"{self._what} holds {kind}. Make it float64: {hint}.")

    def _check_contiguous(self, strides: list[Any] | None) -> None:
        """Row after row; steps along axes of one number, or of an empty array, do not matter."""
        expected = 1
        for length, step in zip(reversed(self.shape), reversed(strides or []), strict=False):
            if length != 1 and step != expected and 0 not in self.shape:
                raise MomentreeError(f"{self._what} {_ROW_BY_ROW}.")
            expected *= length


def _gpu_at(address: int) -> Gpu:
    """The GPU that an address belongs to."""
    there = gpus()
    if len(there) == 1 or not address:
        return there[0]
    with there[0].current() as call:
        number = call.integer("cuPointerGetAttribute", 9, address)  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    return there[number]
