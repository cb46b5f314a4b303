"""The driver of GPUs: what it refuses is told by name, with a way out; memory layouts are those of the C headers."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from momentree.compile.execute import gpu_driver
from momentree.compile.execute.gpu_driver import Copy2D, Driver, GpuError, OutOfGpuMemory, refusal
from momentree.errors import MomentreeError


def test_the_layout_of_a_copy_is_that_of_cuda_h():
    # CUDA_MEMCPY2D_v2: two groups of x, y, kind (padded), host, device, array, pitch; then width and height
    offsets = [getattr(Copy2D, name).offset for name, _ in Copy2D._fields_]
    assert offsets == [0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120]
    assert ctypes.sizeof(Copy2D) == 128


def test_errors_have_a_name_and_a_way_out():
    error = refusal("cuMemAlloc_v2", "CUDA_ERROR_OUT_OF_MEMORY", 2)
    assert isinstance(error, OutOfGpuMemory)
    assert isinstance(error, MomentreeError)
    assert error.name == "CUDA_ERROR_OUT_OF_MEMORY"
    assert "fewer motions" in str(error)
    unknown = refusal("cuLaunchKernel", "CUDA_ERROR_SOMETHING", 4711)
    assert not isinstance(unknown, OutOfGpuMemory)
    assert "cuLaunchKernel failed (4711)" in str(unknown)


def test_without_a_driver_the_error_says_so_and_what_to_do():
    code = "from momentree.compile.execute.gpu_devices import chosen; chosen('gpu')"
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}  # on machines that have a GPU
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=hidden)
    assert done.returncode == 1
    assert "NVIDIA GPU" in done.stderr
    assert "device='cpu'" in done.stderr


def test_a_library_that_lacks_a_function_is_too_old():
    with pytest.raises(GpuError, match="has no function cuInit"):
        Driver(ctypes.CDLL(None)).call("cuInit", 0)


def test_every_function_that_is_called_is_declared():
    folder = Path(gpu_driver.__file__).parent
    texts = [path.read_text().partition("_FUNCTIONS")[0] for path in folder.glob("gpu_*.py")]
    texts.append(Path(gpu_driver.__file__).read_text().rpartition("class Driver")[2])
    called = {name for text in texts for name in re.findall(r'"(cu[A-Z]\w+)"', text)}
    assert called == {*gpu_driver._FUNCTIONS}


@pytest.mark.gpu
def test_the_driver_is_new_enough_and_knows_the_names_of_errors():
    driver = gpu_driver.driver()
    assert driver.version >= gpu_driver.OLDEST
    assert driver.name_of(2) == "CUDA_ERROR_OUT_OF_MEMORY"
    assert driver.name_of(600) == "CUDA_ERROR_NOT_READY"
