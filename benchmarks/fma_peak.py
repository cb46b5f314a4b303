"""How much of what the core can do a batch does: flops per second against the fastest run of fused multiply-adds.

The peak is a loop of independent fused multiply-adds, compiled here for vectors of 4 and of 8 numbers; the better one
counts, 2 flops for each number. The batch is the articulated-body algorithm of a model, traced on a tape. Its flops:

| what                          | flops                                                                        |
|-------------------------------|------------------------------------------------------------------------------|
| multiplication, addition      | 1, also where the two are fused                                              |
| division                      | 1                                                                            |
| pair of sin and cos           | the fadd, fsub, fmul and fma of the function `sincos`, for angles below 1e6  |
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from example_models import States
from llvmlite import binding

from momentree.compile.emit.llvm import compile_tape
from momentree.compile.emit.llvm_trigonometry import sincos
from momentree.compile.trace.tape import Tape
from momentree.equations import articulated
from momentree.equations.evaluation import Evaluation
from momentree.structure import Mechanism

CHAINS = 12  # independent sums: more than two units of latency 4 can keep busy, few enough for 16 registers
ROWS = 1024


class Work(NamedTuple):
    """Something that can be run, its flops at each run, and what it is."""

    run: Callable[[], Any]
    flops: int
    label: str


# --- the peak ---


def peak(width: int, turns: int = 20_000) -> Work:
    """Fused multiply-adds on vectors of so many numbers; nothing is read from memory."""
    address, engine = _compiled(_fma_loop(width))
    function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64, ctypes.c_double)(address)
    function.engine = engine  # kept alive
    return Work(lambda: function(turns, 0.5), 2 * width * CHAINS * turns, f"{width} wide")


def _fma_loop(width: int) -> str:
    """x <- x a + a, over and over, in independent chains."""
    kind, fma = f"<{width} x double>", f"@llvm.fma.v{width}f64"
    chains = range(CHAINS)
    starts = [f"  %x{i} = phi {kind} [ splat (double {i}.0), %entry ], [ %y{i}, %loop ]" for i in chains]
    steps = [f"  %y{i} = call {kind} {fma}({kind} %x{i}, {kind} %a, {kind} %a)" for i in chains]
    sums = [f"  %s0 = fadd {kind} %y0, %y0"]
    sums += [f"  %s{i} = fadd {kind} %s{i - 1}, %y{i}" for i in chains[1:]]
    lines = [
        f"declare {kind} {fma}({kind}, {kind}, {kind})",
        "define double @peak(i64 %turns, double %value) {",
        "entry:",
        f"  %first = insertelement {kind} poison, double %value, i64 0",
        f"  %a = shufflevector {kind} %first, {kind} poison, <{width} x i32> zeroinitializer",
        "  br label %loop",
        "loop:",
        "  %turn = phi i64 [ 0, %entry ], [ %next, %loop ]",
        *starts,
        *steps,
        "  %next = add i64 %turn, 1",
        "  %more = icmp slt i64 %next, %turns",
        "  br i1 %more, label %loop, label %done",
        "done:",
        *sums,
        f"  %result = extractelement {kind} %s{CHAINS - 1}, i64 0",
        "  ret double %result",
        "}",
    ]
    return "\n".join(lines)


def _compiled(text: str) -> tuple[int, Any]:
    """Where the function is, and what keeps it alive."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(), features=binding.get_host_cpu_features().flatten(), opt=2
    )
    engine = binding.create_mcjit_compiler(binding.parse_assembly(text), machine)
    engine.finalize_object()
    return engine.get_function_address("peak"), engine


# --- the batch ---


def batch(mechanism: Mechanism, states: States) -> Work:
    """The articulated-body algorithm on rows that stay in the cache."""
    tape = Tape()
    names = [(name, [f"{name}{i}" for i in range(array.shape[1])]) for name, array in zip("qvf", states, strict=True)]
    q, u, tau = (tape.inputs(*columns) for _, columns in names)
    tape.outputs(articulated.forward_dynamics(Evaluation(mechanism, q), u, tau))
    kernel = compile_tape(tape, names)
    arrays = [np.ascontiguousarray(array[:ROWS]) for array in states]
    out = np.empty((ROWS, kernel.outputs))
    flops, label = counted(tape)
    return Work(lambda: kernel(arrays, out), flops * ROWS, f"{kernel.width} wide; {label}")


def counted(tape: Tape) -> tuple[int, str]:
    """Flops of a row, and how they come about."""
    operations, nodes = tape.operations(), tape.nodes
    pairs = len({nodes[index][1] for index in tape.live() if nodes[index][0] in ("sin", "cos")})
    before, _, rare = sincos(1).partition("beyond:")
    usual = before + rare.partition("reduced:")[2]
    each = len(re.findall(r"= f(?:add|sub|mul) |@llvm\.fma\.", usual))
    simple = operations.multiplications + operations.additions + operations.divisions
    label = (
        f"{operations.multiplications} multiplications, {operations.additions} additions, "
        f"{operations.divisions} divisions, {pairs} pairs of sin and cos of {each} flops each"
    )
    return simple + pairs * each, label
