"""Kernels for NVIDIA GPUs: the text of a module, which the processor runs too, with a kernel around one function.

One thread computes what the function computes with W = 1. A module becomes part of a kernel's text by these changes,
none of which touches an operation: tables of numbers are constants, functions are internal, and those that are short or
called once are inlined. `ptx_of` then runs LLVM's passes (inlining, constant loops unrolled, arrays in registers) and
its NVPTX code generator; products and sums fuse where the text says so, and nowhere else. `on_processor` replaces the
index of the thread by arguments, so that the very same text runs on the processor.

PTX is made for an old card (`CARD`) and translated for the one that runs it by its driver.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from momentree.compile.emit.interleaved import WARP, interleaved
from momentree.compile.emit.llvm_functions import Lines
from momentree.compile.emit.private_areas import with_private_areas
from momentree.compile.execute.arrays import UNIT

CARD = "sm_70"
THREADS = 256  # of a block, at most
TRIPLE = "nvptx64-nvidia-cuda"
JOB = 32  # slots of the job of `motions_kernel`
SHORT, SMALL = 150, 6000  # lines of functions that are inlined wherever they are called, in modules of so many lines
LARGE = 4096  # numbers of working memory above which it is not private to a thread but given, interleaved

SELDOM = ("sample_1",)  # functions that are called now and then: not inlined, the rest has more registers

_INDICES = ("tid", "ctaid", "ntid", "nctaid")  # of the thread in its block, of the block; how many of each
_THREAD = """  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %of.block = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %blocks = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %before = mul i32 %block, %of.block
  %index = add i32 %before, %tid
  %all = mul i32 %blocks, %of.block
  %thread = zext i32 %index to i64
  %threads = zext i32 %all to i64"""
_DECLARED = "\n".join(f"declare i32 @llvm.nvvm.read.ptx.sreg.{index}.x()" for index in _INDICES)
_ATTRIBUTES = f'attributes #9 = {{ nounwind "nvvm.maxntid"="{THREADS}" "nvvm.minctasm"="1" }}'
_INTERLEAVED = f"""  %warp = udiv i64 %thread, {WARP}
  %lane = urem i64 %thread, {WARP}
  %warp.from = mul i64 %warp, {{numbers}}
  %from = add i64 %warp.from, %lane
  %own = getelementptr double, ptr addrspace(1) %memory, i64 %from
  %work = addrspacecast ptr addrspace(1) %own to ptr"""
_STEP = "\nstep:\n"  # where a step of motions_1 begins
_TOGETHER = "  call void @llvm.nvvm.barrier.sync(i32 0)\n"  # the threads of a block wait for each other
_JOB = f"ptr byval([{JOB} x i64]) align 8 %job"

_TABLE = re.compile(r"^(@\S+\.numbers) = dso_local global ", re.MULTILINE)
_READ = re.compile(r"load double, ptr getelementptr \(double, ptr (@\S+\.numbers), i64 (\d+)\), align 8")
_DEFINED = re.compile(
    r"^define (?:internal )?((?:fastcc )?)([^\n@]*?) @([\w.]+)\(([^\n()]*)\)([^\n]*)\{$", re.MULTILINE
)
_CALLED = re.compile(r"\bcall\b[^\n@]*@([\w.]+)\(")
_CONSTANT = "addrspace(4)"  # the memory of constants, which an operation reads beside registers


def motions_kernel(text: str, work: int) -> str:
    """The kernel `motions` around motions_1: each thread takes the motions at its index, and at multiples further.

    The job is passed by value. `work` is how many numbers of memory a thread needs. Threads of a block begin each step
    together, so that they read the same instructions at the same time: the code of a step is longer than what a
    multiprocessor keeps. Those that have ended are not waited for, and nothing passes between threads.
    """
    inside = _inside(text, "motions_1")
    inside = f"{inside.replace(_STEP, _STEP + _TOGETHER)}\ndeclare void @llvm.nvvm.barrier.sync(i32)\n"
    if work > LARGE:
        inside, memory = interleaved(inside, "motions_1"), _INTERLEAVED.format(numbers=work * WARP)
    else:
        inside, memory = with_private_areas(inside, "motions_1", work), "  %work = getelementptr i8, ptr %job, i64 0"
    return f"""{inside}
define ptx_kernel void @motions({_JOB}, ptr addrspace(1) noalias %memory) #9 {{
entry:
{_THREAD}
{memory}
  %count = load i64, ptr %job, align 8
  call void @motions_1(ptr %job, i64 %thread, i64 %count, i64 %threads, ptr %work)
  ret void
}}
{_DECLARED}
{_ATTRIBUTES}
"""


def memory_of_threads(work: int, threads: int) -> int:
    """How many numbers `memory` of `motions_kernel` must hold for so many threads."""
    return -(-threads // WARP) * WARP * work if work > LARGE else 0


def rows_kernel(text: str, arguments: int, outputs: int, scratch: int, quaternions: Sequence[int] = ()) -> str:
    """The kernel `rows` around rows_1 (execute/kernel.py): one row in each thread, and rows at multiples further.

    The job is an array of 64-bit slots: rows, out, `bad`, then the start and the stride of each argument. At `bad` are
    the least row whose results are not finite, and the least whose `quaternions`, which start in these columns of
    argument 0, are not of unit length. `scratch` is how many numbers of memory a thread needs.
    """
    inside, memory = _inside(text, "rows_1"), f"  %work = alloca [{max(scratch, 1)} x double], align 64"
    if scratch > LARGE:
        inside, memory = interleaved(inside, "rows_1"), _INTERLEAVED.format(numbers=scratch * WARP)
    return f"""{inside}
define ptx_kernel void @rows({_JOB}, ptr addrspace(1) noalias %memory) #9 {{
entry:
{_THREAD}
{memory}
  %starts = alloca [{max(arguments, 1)} x ptr], align 8
  %strides = alloca [{max(arguments, 1)} x i64], align 8
  %rows = load i64, ptr %job, align 8
  %out.at = getelementptr i64, ptr %job, i64 1
  %out = load ptr, ptr %out.at, align 8
  %bad.at = getelementptr i64, ptr %job, i64 2
  %bad = load ptr, ptr %bad.at, align 8
{_passed(arguments)}
{_EACH_ROW.format(outputs=outputs)}
{_unit(quaternions)}
  br label %go.on
go.on:
  %row.next = add i64 %row, %threads
  br label %next
done:
  ret void
}}
{_DECLARED}
{_ATTRIBUTES}
"""


# a loop over rows: each is computed, and its results are looked at
_EACH_ROW = """  br label %next
next:
  %row = phi i64 [ %thread, %entry ], [ %row.next, %go.on ]
  %more = icmp slt i64 %row, %rows
  br i1 %more, label %one, label %done
one:
  %row.end = add i64 %row, 1
  call void @rows_1(ptr %starts, ptr %strides, ptr %out, i64 %row, i64 %row.end, ptr %work)
  %first = mul i64 %row, {outputs}
  br label %look
look:
  %i = phi i64 [ 0, %one ], [ %i.next, %look ]
  %seen = phi double [ 0.0, %one ], [ %seen.next, %look ]
  %place = add i64 %first, %i
  %result.at = getelementptr double, ptr %out, i64 %place
  %result = load double, ptr %result.at, align 8
  %zero = fsub double %result, %result
  %seen.next = fadd double %seen, %zero
  %i.next = add i64 %i, 1
  %i.more = icmp slt i64 %i.next, {outputs}
  br i1 %i.more, label %look, label %looked
looked:
  %finite = fcmp oeq double %seen.next, 0.0
  br i1 %finite, label %turns, label %broken
broken:
  %old = atomicrmw umin ptr %bad, i64 %row monotonic
  br label %turns
turns:"""


def _passed(arguments: int) -> str:
    """Where the rows of arguments start, and how far they are apart, from the slots of the job."""
    lines = []
    for k in range(arguments):
        for name, kind, slot in (("starts", "ptr", 3 + 2 * k), ("strides", "i64", 4 + 2 * k)):
            lines += [
                f"  %{name}{k}.at = getelementptr i64, ptr %job, i64 {slot}",
                f"  %{name}{k} = load {kind}, ptr %{name}{k}.at, align 8",
                f"  %{name}{k}.to = getelementptr {kind}, ptr %{name}, i64 {k}",
                f"  store {kind} %{name}{k}, ptr %{name}{k}.to, align 8",
            ]
    return "\n".join(lines)


def _unit(quaternions: Sequence[int]) -> str:
    """Note the row where | |q|^2 - 1 | is not below what is allowed."""
    lines = ["  %q.offset = mul i64 %row, %strides0"] if quaternions else []
    for start in quaternions:
        lines += [f"  %q{start}.first = add i64 %q.offset, {start}"]
        square = "-1.0"
        for k in range(4):
            name = f"%q{start}.{k}"
            lines += [
                f"  {name}.place = add i64 %q{start}.first, {k}",
                f"  {name}.at = getelementptr double, ptr %starts0, i64 {name}.place",
                f"  {name} = load double, ptr {name}.at, align 8",
                f"  {name}.squared = fmul double {name}, {name}",
                f"  {name}.sum = fadd double {square}, {name}.squared",
            ]
            square = f"{name}.sum"
        most = Lines(1).number(2 * UNIT)
        lines += [
            f"  %q{start}.low = fcmp oge double {square}, {Lines(1).number(-2 * UNIT)}",
            f"  %q{start}.high = fcmp ole double {square}, {most}",
            f"  %q{start}.fine = and i1 %q{start}.low, %q{start}.high",
            f"  br i1 %q{start}.fine, label %q{start}.done, label %q{start}.off",
            f"q{start}.off:",
            f"  %q{start}.to = getelementptr i64, ptr %bad, i64 1",
            f"  %q{start}.old = atomicrmw umin ptr %q{start}.to, i64 %row monotonic",
            f"  br label %q{start}.done",
            f"q{start}.done:",
        ]
    return "\n".join(lines)


def columns_kernel() -> str:
    """The kernel `columns`: rows (count, n) at `from` as columns (n, count) at `to`."""
    return f"""define ptx_kernel void @columns(ptr addrspace(1) %from, ptr addrspace(1) %to, i64 %count, i64 %n) #9 {{
entry:
{_THREAD}
  %size = mul i64 %count, %n
  br label %next
next:
  %i = phi i64 [ %thread, %entry ], [ %i.next, %one ]
  %more = icmp slt i64 %i, %size
  br i1 %more, label %one, label %done
one:
  %column = udiv i64 %i, %count
  %row = urem i64 %i, %count
  %start = mul i64 %row, %n
  %at = add i64 %start, %column
  %source = getelementptr double, ptr addrspace(1) %from, i64 %at
  %x = load double, ptr addrspace(1) %source, align 8
  %target = getelementptr double, ptr addrspace(1) %to, i64 %i
  store double %x, ptr addrspace(1) %target, align 8
  %i.next = add i64 %i, %threads
  br label %next
done:
  ret void
}}
{_DECLARED}
{_ATTRIBUTES}
"""


def _inside(text: str, entry: str) -> str:
    """The text of a module as a part of that of a kernel, which calls `entry`."""
    calls, lengths = Counter(_CALLED.findall(text)), _lengths(text)
    small = sum(lengths.values()) <= SMALL  # a multiprocessor keeps some ten thousand instructions

    def internal(found: re.Match[str]) -> str:
        convention, kind, name, arguments, rest = found.groups()
        inline = name == entry or calls[name] <= 1 or (small and lengths[name] <= SHORT)
        how = "" if "noinline" in rest else "alwaysinline " if inline and name not in SELDOM else "noinline "
        return f"define internal {convention}{kind} @{name}({arguments}) {how}{rest.strip()} {{"

    return _constants(_DEFINED.sub(internal, text))


def _constants(text: str) -> str:
    """Tables of numbers as constants; those that are read at fixed places only, in the memory of constants.

    Those are marked as filled from outside, so that no pass writes the numbers into instructions, which takes two
    moves each.
    """
    fixed = Counter(name for name, _ in _READ.findall(text))
    used = Counter(re.findall(r"@\S+\.numbers\b", text))
    apart = {name for name, times in fixed.items() if used[name] == times + 1}

    def table(found: re.Match[str]) -> str:
        where = f"{_CONSTANT} externally_initialized " if found[1] in apart else ""
        return f"{found[1]} = internal {where}constant "

    def read(found: re.Match[str]) -> str:
        at = f"ptr {_CONSTANT} getelementptr (double, ptr {_CONSTANT} {found[1]}, i64 {found[2]})"
        return f"load double, {at}, align 8" if found[1] in apart else found[0]

    return _READ.sub(read, _TABLE.sub(table, text))


def _lengths(text: str) -> dict[str, int]:
    """How many lines each function of a module has."""
    lengths: dict[str, int] = {}
    for part in re.split(r"^(?=define )", text, flags=re.MULTILINE):
        found = _DEFINED.match(part)
        if found:
            lengths[found[3]] = part.partition("\n}")[0].count("\n")
    return lengths


# --- for the processor ---


def on_processor(text: str) -> str:
    """The same text for the processor: one thread does all, unless the four variables of its index are set."""
    text = text.replace(_TOGETHER, "").replace("declare void @llvm.nvvm.barrier.sync(i32)\n", "")
    text = text.replace("define ptx_kernel ", "define ").replace(f"byval([{JOB} x i64]) align 8 ", "")
    text = re.sub(r"addrspacecast ptr addrspace\(1\) (%\S+) to ptr", r"getelementptr i8, ptr \1, i64 0", text)
    text = re.sub(r" addrspace\([14]\)( externally_initialized)?", "", text)
    text = re.sub(r"attributes #9 = \{[^}]*\}", "attributes #9 = { nounwind }", text)
    for index in _INDICES:
        name = f"llvm.nvvm.read.ptx.sreg.{index}.x"
        instead = f"""@{index} = dso_local global i32 {int(index in ("ntid", "nctaid"))}
define internal i32 @read.{index}() nounwind {{
  %now = load i32, ptr @{index}
  ret i32 %now
}}"""
        text = text.replace(f"declare i32 @{name}()", instead).replace(f"@{name}()", f"@read.{index}()")
    return text


# --- for the GPU ---


def ptx_of(text: str, card: str = CARD) -> str:
    """PTX of the text of a kernel."""
    from llvmlite import binding

    machine = _machine(card)
    module = binding.parse_assembly(text, binding.create_context())
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    optimize(module, machine)
    return str(machine.emit_assembly(module))


def optimize(module: Any, machine: Any) -> None:
    """Run the passes of LLVM on a module. None of them changes a floating-point result."""
    from llvmlite import binding

    options = binding.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = False
    passes = binding.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)


def _machine(card: str) -> Any:
    from llvmlite import binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding.Target.from_triple(TRIPLE).create_target_machine(cpu=card, opt=2)
