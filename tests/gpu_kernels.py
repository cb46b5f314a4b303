"""Kernels of GPUs in tests: their text run on the processor, thread by thread, and assembled where ptxas is there."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from llvmlite import binding

from momentree.compile.emit import ptx
from momentree.compile.execute.machine_code import Target, loaded

PASSES = False  # whether the passes of LLVM that kernels go through are run on the processor too
INDICES = ("tid", "ctaid", "ntid", "nctaid")


class KernelOnProcessor:
    """The very text of a kernel, linked into this process."""

    def __init__(self, text: str, name: str):
        text = ptx.on_processor(text)
        self._library = loaded(_passed(text) if PASSES else text, Target.host(), [name, *INDICES], {})
        self._address = self._library[name]

    def run(self, *arguments: Any, threads: int = 1) -> None:
        """All threads, one after the other; blocks have two threads where there are several."""
        kinds = [ctypes.c_void_p if isinstance(x, ctypes.Array) else type(x) for x in arguments]
        function = ctypes.CFUNCTYPE(None, *kinds)(self._address)
        of_block = 2 if threads % 2 == 0 else 1
        for thread in range(threads):
            now = thread % of_block, thread // of_block, of_block, threads // of_block
            for name, index in zip(INDICES, now, strict=True):
                ctypes.c_int32.from_address(self._library[name]).value = index
            function(*(ctypes.addressof(x) if isinstance(x, ctypes.Array) else x for x in arguments))


def _passed(text: str) -> str:
    """The text after the passes that kernels go through."""
    target = binding.Target.from_default_triple()
    machine = target.create_target_machine(cpu=Target.host().cpu, features=Target.host().features)
    module = binding.parse_assembly(text, binding.create_context())
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    ptx.optimize(module, machine)
    return str(module)


def assembler() -> str:
    """The path of NVIDIA's assembler; a test that needs it is skipped where there is none."""
    tool = os.environ.get("PTXAS") or shutil.which("ptxas")
    if not tool:
        pytest.skip("no ptxas: install NVIDIA's assembler, or name it in $PTXAS")
    return tool


def assembled(code: str, folder: Path, card: str = "sm_90") -> tuple[int, int]:
    """Registers, and bytes of spilled registers, of the kernel that NVIDIA's assembler makes of PTX."""
    tool = assembler()
    (folder / "kernel.ptx").write_text(code)
    command = [tool, f"-arch={card}", "-v", str(folder / "kernel.ptx"), "-o", str(folder / "kernel.cubin")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
    spills = [int(x) for x in re.findall(r"(\d+) bytes spill stores", done.stderr)]
    return max(int(x) for x in re.findall(r"Used (\d+) registers", done.stderr)), sum(spills)
