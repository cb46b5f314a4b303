"""GPUs: which one a name means; memory, copies, streams and events of one that is there."""

from __future__ import annotations

import numpy as np
import pytest

from momentree.compile.execute import gpu_devices
from momentree.compile.execute.gpu_devices import Event, Stream, chosen, gpus, is_gpu
from momentree.compile.execute.gpu_driver import GpuError, OutOfGpuMemory
from momentree.errors import MomentreeError


def test_devices_are_named_cpu_or_gpu():
    assert not is_gpu("cpu")
    assert not is_gpu(None)
    assert is_gpu("gpu")
    assert is_gpu("gpu:3")


@pytest.mark.parametrize("device", ["cuda", "gpu:", "gpu:x", "gpu:-1", "GPU", 0, ("gpu",), "gpu:1:2", "gpu:²"])
def test_other_names_are_refused(device):
    with pytest.raises(MomentreeError, match="Choose 'cpu', 'gpu'"):
        is_gpu(device)


def test_the_variable_names_a_gpu(monkeypatch):
    monkeypatch.setenv("MOMENTREE_GPU", "2")
    assert gpu_devices._number("gpu") == 2
    assert gpu_devices._number("gpu:1") == 1
    monkeypatch.setenv("MOMENTREE_GPU", "fast")
    with pytest.raises(MomentreeError, match="MOMENTREE_GPU is 'fast'"):
        is_gpu("gpu")


@pytest.mark.gpu
def test_a_gpu_that_is_not_there_is_told():
    with pytest.raises(GpuError, match=f"there is no GPU {len(gpus())}"):
        chosen(f"gpu:{len(gpus())}")


@pytest.mark.gpu
def test_numbers_go_there_and_back():
    gpu = chosen("gpu")
    stream, sent = Stream(gpu), np.random.default_rng(0).normal(size=(6, 1000))
    memory, back, wide = gpu.allocate(sent.nbytes), np.empty_like(sent), np.zeros((6, 3000))
    begin = Event(gpu).record(stream)
    gpu.upload(sent, memory.address, stream)
    gpu.download(memory.address, back, stream)
    with gpu.pinned(wide) as pinned:
        assert pinned
        gpu.download_columns(memory.address, 1000, wide, 1500, stream)
        end = Event(gpu).record(stream)
        end.wait()
    assert end.since(begin) > 0
    assert np.array_equal(back, sent)
    assert np.array_equal(wide[:, 1500:2500], sent)
    assert not wide[:, :1500].any()
    assert not wide[:, 2500:].any()


@pytest.mark.gpu
def test_memory_that_is_not_there_is_told_and_freed_memory_returns():
    gpu = chosen("gpu")
    with pytest.raises(OutOfGpuMemory, match="not enough memory on the GPU"):
        gpu.allocate(2**60)
    before = gpu.free_memory
    memory = gpu.allocate(2**28)
    assert gpu.free_memory <= before - 2**27
    memory.free()
    assert gpu.free_memory >= before - 2**24
