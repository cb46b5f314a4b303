"""Arrays on a GPU: what others give without a copy and what they get; wrong ones are refused with a way out.

The memory layout of DLPack is checked on arrays of NumPy, which speaks it too.
"""

from __future__ import annotations

import gc

import numpy as np
import pytest

from momentree.compile.execute import gpu_arrays
from momentree.compile.execute.gpu_arrays import CUDA, FLOAT64, DeviceArray, is_on_gpu


class Memory:
    """Memory of the host in the place of a GPU's: what is tested is how an array is described."""

    class gpu:  # noqa: N801
        number = 3

    def __init__(self, array: np.ndarray):
        self.array, self.address = array, array.ctypes.data


def test_the_layout_of_dlpack_is_that_of_numpy():
    array = np.arange(24.0).reshape(2, 3, 4)
    capsule = array.__dlpack__()
    tensor = gpu_arrays._Managed.from_address(gpu_arrays._of(capsule, b"dltensor")).tensor
    assert (tensor.data or 0) + tensor.offset == array.ctypes.data
    assert (tensor.kind, tensor.number) == array.__dlpack_device__()
    assert (tensor.code, tensor.bits, tensor.lanes) == FLOAT64
    assert [tensor.shape[k] for k in range(tensor.axes)] == [2, 3, 4]


def test_what_is_given_is_described_and_held_until_it_is_not_needed():
    numbers = np.arange(6.0)
    given = DeviceArray(Memory(numbers), (2, 3))
    assert given.__dlpack_device__() == (CUDA, 3)
    assert given.device == "gpu:3"
    capsule = given.__dlpack__(stream=1, max_version=(1, 0))
    tensor = gpu_arrays._Managed.from_address(gpu_arrays._of(capsule, b"dltensor")).tensor
    assert (tensor.data, tensor.kind, tensor.number) == (numbers.ctypes.data, CUDA, 3)
    assert [tensor.shape[0], tensor.shape[1]] == [2, 3]
    held = len(gpu_arrays._given)
    del capsule
    gc.collect()
    assert len(gpu_arrays._given) == held - 1
    interface = given.__cuda_array_interface__
    assert interface["shape"] == (2, 3)
    assert interface["typestr"] == "<f8"
    assert interface["data"] == (numbers.ctypes.data, False)
    with pytest.raises(BufferError):
        given.__dlpack__(copy=True)
    with pytest.raises(BufferError):
        given.__dlpack__(dl_device=(1, 0))


def test_what_lives_on_a_gpu_is_found():
    class There:
        __cuda_array_interface__ = ()

    assert is_on_gpu(DeviceArray(Memory(np.zeros(3)), (3,)))
    assert is_on_gpu(There())
    for here in (np.zeros(3), [1.0], 2.0, None, "text", memoryview(b"abc")):
        assert not is_on_gpu(here)
