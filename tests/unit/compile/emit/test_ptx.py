"""Kernels of GPUs: the very text that a GPU runs gives the processor's bits, and becomes PTX without libm."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest

import momentree as mt
from gpu_kernels import KernelOnProcessor, assembled
from mechanisms import four_bar, random_configuration, random_tree
from momentree.compile.emit import ptx
from momentree.compile.emit.interleaved import WARP, interleaved
from momentree.compile.emit.number_tables import table_text
from momentree.compile.execute.arrays import quaternions
from momentree.compile.execute.choice import kernel_of
from momentree.compile.execute.gpu_code import job_of
from momentree.compile.execute.gpu_quantities import NONE, THREAD, kernel_text
from momentree.integrate.methods import METHODS
from momentree.simulate.motions_batch import Batch
from momentree.simulate.settings import settings_of
from rolled_systems import chain

KINDS = ["Free", "Revolute", "Spherical", "Cylindrical", "Universal"]


def tree(seed: int = 0) -> mt.System:
    return random_tree(np.random.default_rng(seed), KINDS).build()


def rows_on_processor(system: mt.System, what: str, arguments, threads: int = 4, code=None) -> tuple[np.ndarray, list]:
    """A quantity by the text of its kernel, and what it says of bad rows."""
    return rows_of_kernel(system, kernel_of(system.mechanism, what, code, False, THREAD), arguments, threads)


def rows_of_kernel(system: mt.System, kernel, arguments, threads: int = 4) -> tuple[np.ndarray, list]:
    m, count = system.mechanism, len(arguments[0])
    text, scratch = kernel_text(kernel, [each.start for each in quaternions(m)])
    out, bad, t = np.full((count, kernel.outputs), np.nan), np.full(2, NONE, dtype=np.uint64), np.zeros(1)
    memory = np.zeros(ptx.memory_of_threads(scratch, threads) + 1)
    slots = [count, out.ctypes.data, bad.ctypes.data]
    slots += [x for array in arguments for x in (array.ctypes.data, array.shape[-1])] + [t.ctypes.data, 0]
    run = KernelOnProcessor(text, "rows").run
    run(job_of(slots), ctypes.c_void_p(memory.ctypes.data), threads=threads)
    return out, bad.tolist()


@pytest.mark.repeats(1, of="code")
@pytest.mark.parametrize("code", ["straight-line", "rolled"])
@pytest.mark.parametrize("what", ["forward_dynamics", "inverse_dynamics", "mass_matrix"])
def test_rows_of_a_kernel_are_those_of_the_processor(what, code):
    random = np.random.default_rng(1)
    system = random_tree(random, KINDS).build(code=code)
    q = np.array([random_configuration(random, system) for _ in range(9)])
    v, u = random.normal(size=(2, 9, system.nv))
    arguments = [q] if what == "mass_matrix" else [q, v, u]
    out, bad = rows_on_processor(system, what, arguments, code=code)
    assert np.array_equal(out, getattr(system, what)(*arguments).reshape(9, -1))
    assert bad == [NONE, NONE]


@pytest.mark.parametrize(
    "make",
    [
        lambda: random_tree(np.random.default_rng(1), ["Revolute", "Spherical", "Cylindrical"]).build(),
        lambda: random_tree(np.random.default_rng(1), ["Free", *["Revolute"] * 8]).build(),
        lambda: chain(24),
    ],
    ids=["all entries", "columns", "columns of rolled code"],
)
def test_derivatives_in_a_kernel_are_those_of_the_processor(make):
    random, system = np.random.default_rng(1), make()
    q = np.array([random_configuration(random, system) for _ in range(9)])
    arguments = [q, *random.normal(size=(2, 9, system.nv))]
    d = system.derivatives("forward_dynamics", by=("q", "v"))
    out, bad = rows_of_kernel(system, d._new_kernel(False, THREAD), arguments)
    assert np.array_equal(out, d(*arguments).reshape(9, -1))
    assert bad == [NONE, NONE]


def test_bad_rows_are_found():
    random, system = np.random.default_rng(1), tree()
    q = np.array([random_configuration(random, system) for _ in range(9)])
    v, u = random.normal(size=(2, 9, system.nv))
    u[5, 1] = np.nan
    q[7, quaternions(system.mechanism)[0].start] += 1e-4
    q[3, quaternions(system.mechanism)[-1].start] += 1e-4
    _, bad = rows_on_processor(system, "forward_dynamics", [q, v, u])
    assert bad == [5, 3]


def test_large_memory_is_interleaved_and_gives_the_same_bits(monkeypatch):
    monkeypatch.setattr(ptx, "LARGE", 0)
    random = np.random.default_rng(2)
    system = random_tree(random, KINDS).build(code="rolled")
    q, v = np.array([random_configuration(random, system) for _ in range(6)]), random.normal(size=(6, system.nv))
    for what, arguments in (("bias", [q, v]), ("mass_matrix", [q])):
        text, scratch = kernel_text(kernel_of(system.mechanism, what, "rolled", False, THREAD), [])
        assert f"getelementptr [{WARP} x double], ptr %scratch" in text
        assert ptx.memory_of_threads(scratch, 33) == 2 * WARP * scratch
        out, _ = rows_on_processor(system, what, arguments, threads=6, code="rolled")
        assert np.array_equal(out, getattr(system, what)(*arguments).reshape(6, -1))


def test_memory_that_is_interleaved_here_and_not_there_is_found():
    text = """define void @one(ptr %a, i64 %n) nounwind {
entry:
  %there = getelementptr double, ptr %a, i64 %n
  store double 0.0, ptr %there
  ret void
}
define void @all(ptr %own, ptr %work) nounwind {
entry:
  %at = getelementptr double, ptr %work, i64 3
  call void @one(ptr %at, i64 1)
  ret void
}
"""
    changed = interleaved(text, "all")
    assert changed.count("getelementptr [32 x double]") == 2
    mixed = text.replace("  ret void\n}\n", "  call void @one(ptr %own, i64 1)\n  ret void\n}\n").replace(
        "  call void @one(ptr %own, i64 1)\n  ret void\n}\n", "  ret void\n}\n", 1
    )
    with pytest.raises(AssertionError, match="all calls one"):
        interleaved(mixed, "all")


def test_rows_become_columns():
    rows = np.arange(15.0).reshape(5, 3)
    columns = np.zeros((3, 5))
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (rows, columns)]
    KernelOnProcessor(ptx.columns_kernel(), "columns").run(*pointers, ctypes.c_int64(5), ctypes.c_int64(3), threads=4)
    assert np.array_equal(columns, rows.T)


# --- PTX ---


def test_nothing_fuses_in_ptx_but_what_the_text_fuses():
    kernel = kernel_of(tree().mechanism, "forward_dynamics", None, False, THREAD)
    code = ptx.ptx_of(kernel_text(kernel, [])[0])
    assert re.search(r"\bfma\.rn\.f64", code)
    assert re.search(r"\bmul\.rn\.f64", code)
    assert not re.search(r"\b(add|sub|mul)\.f64", code)  # without a rounding mode, the assembler may fuse them
    assert not re.search(r"\.approx|\.ftz", code)
    assert f".target {ptx.CARD}" in code
    assert f".maxntid {ptx.THREADS}" in code
    assert ".minnctapersm 1" in code


def test_numbers_of_a_model_are_constants_of_the_module():
    kernel = kernel_of(four_bar().build().mechanism, "forward_dynamics", None, False, THREAD)
    code = ptx.ptx_of(kernel_text(kernel, [])[0])
    assert re.search(r"\.const .*rows_1_\$_numbers|\.const .*numbers", code)
    assert "ld.const" in code


def test_tables_that_are_searched_stay_in_global_memory():
    text = table_text("f_1.numbers", ["0x3FF0000000000001"]) + "\n" + table_text("g.numbers", ["0x3FF0000000000001"])
    text += "\n  %a = load double, ptr getelementptr (double, ptr @f_1.numbers, i64 0), align 8"
    text += "\n  %b = load double, ptr getelementptr (double, ptr @g.numbers, i64 0), align 8"
    text += "\n  %c = getelementptr double, ptr @g.numbers, i64 %i"
    changed = ptx._constants(text)
    assert "@f_1.numbers = internal addrspace(4) externally_initialized constant" in changed
    assert "@g.numbers = internal constant" in changed
    assert "load double, ptr getelementptr (double, ptr @g.numbers" in changed


@pytest.mark.parametrize("card", ["sm_75", "sm_90"])
def test_code_is_assembled_for_newer_cards(card, tmp_path):
    kernel = kernel_of(four_bar().build().mechanism, "forward_dynamics", None, False, THREAD)
    registers, spilled = assembled(ptx.ptx_of(kernel_text(kernel, [])[0]), tmp_path, card)
    assert registers <= 255
    assert spilled == 0


# --- kernels of motions ---


@pytest.mark.parametrize("integrator", ["rk4", "dop853", "radau", "verlet"])
def test_threads_of_a_block_meet_once_in_a_step_and_memory_is_private(integrator):
    how = {} if METHODS[integrator].adaptive else {"step": 1e-3}
    settings = settings_of(t_end=0.01, every=0.01, integrator=integrator, **how)
    program = Batch(four_bar().build(), settings, 0.0).program(1)
    text = ptx.motions_kernel(program.text, program.work)
    assert text.count("call void @llvm.nvvm.barrier.sync") == 1
    body = text.partition("define internal void @motions_1(")[2].partition("\n")[2].partition("\n}")[0]
    used = [line for line in body.splitlines() if "%room" in line]
    assert used in ([], ["  %work = getelementptr double, ptr %room, i64 0"])
    assert not used or "ptr %work" not in body
    assert "barrier" not in ptx.on_processor(text)
