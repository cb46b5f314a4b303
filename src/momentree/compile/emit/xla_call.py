"""Machine code that XLA, the compiler of JAX, calls on its own buffers, without Python in between.

The handler of a kernel follows the typed foreign function interface of XLA (xla/ffi/api/c_api.h, version 0.1), whose
layout in memory is fixed:

    XLA_FFI_CallFrame   8 extensions, 72 buffers of the arguments, 112 buffers of the results
    XLA_FFI_Buffer      24 data, 32 number of axes, 40 their lengths
    extension           8 type: 1 asks which version the handler has, 24 where to write that
    XLA_FFI_Metadata    24 and 28 version, 32 traits

XLA asks once, when a handler is registered. All arguments have the leading axes of the result (a batch), row after row.
"""

from __future__ import annotations

import ctypes
import hashlib
import threading
from typing import Any

from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import address_in_c, loaded

ENTRY = "xla_call"
_registered: dict[str, Any] = {}  # what keeps the code alive: XLA holds its address until the process ends
_lock = threading.Lock()

_VERSION = """
  %extension.at = getelementptr i8, ptr %frame, i64 8
  %extension = load ptr, ptr %extension.at
  %plain = icmp eq ptr %extension, null
  br i1 %plain, label %call, label %look
look:
  %type.at = getelementptr i8, ptr %extension, i64 8
  %type = load i32, ptr %type.at
  %asked = icmp eq i32 %type, 1
  br i1 %asked, label %describe, label %call
describe:
  %metadata.at = getelementptr i8, ptr %extension, i64 24
  %metadata = load ptr, ptr %metadata.at
  %major = getelementptr i8, ptr %metadata, i64 24
  store i32 0, ptr %major
  %minor = getelementptr i8, ptr %metadata, i64 28
  store i32 1, ptr %minor
  %traits = getelementptr i8, ptr %metadata, i64 32
  store i32 0, ptr %traits
  ret ptr null
"""

_ROWS = """
  %buffers.at = getelementptr i8, ptr %frame, i64 72
  %buffers = load ptr, ptr %buffers.at
  %results.at = getelementptr i8, ptr %frame, i64 112
  %results = load ptr, ptr %results.at
  %result = load ptr, ptr %results
  %out.at = getelementptr i8, ptr %result, i64 24
  %out = load ptr, ptr %out.at
  %axes.at = getelementptr i8, ptr %result, i64 32
  %axes = load i64, ptr %axes.at
  %last = sub i64 %axes, 1
  %lengths.at = getelementptr i8, ptr %result, i64 40
  %lengths = load ptr, ptr %lengths.at
  br label %head
head:
  %axis = phi i64 [ 0, %call ], [ %next, %longer ]
  %rows = phi i64 [ 1, %call ], [ %more, %longer ]
  %leading = icmp slt i64 %axis, %last
  br i1 %leading, label %longer, label %compute
longer:
  %length.at = getelementptr i64, ptr %lengths, i64 %axis
  %length = load i64, ptr %length.at
  %more = mul i64 %rows, %length
  %next = add i64 %axis, 1
  br label %head
"""


ALIGNED = 64  # bytes
_DECLARED = "declare ptr @malloc(i64)\ndeclare void @free(ptr)"
_TAKE = """  %memory = call ptr @malloc(i64 {size})
  %taken = ptrtoint ptr %memory to i64
  %after = add i64 %taken, {up}
  %rounded = and i64 %after, {down}
  %scratch = inttoptr i64 %rounded to ptr
"""
_FREE = """
  call void @free(ptr %memory)"""


def handler(kernel: Kernel, width: int) -> str:
    """The text of the handler of a kernel for so many rows at a time, in the language of LLVM."""
    count = len(kernel.arrays)
    strides = ", ".join(f"i64 {columns}" for _, columns in kernel.arrays)
    lines = [f"declare void @rows_{width}(ptr, ptr, ptr, i64, i64, ptr)"]
    lines += [f"@strides = internal constant [{count} x i64] [{strides}]"]
    lines += [f"define ptr @{ENTRY}(ptr %frame) nounwind {{", f"start:{_VERSION}call:"]
    lines += [f"  %arguments = alloca ptr, i64 {count}{_ROWS}compute:"]
    for k in range(count):
        lines += [f"  %buffer{k}.at = getelementptr ptr, ptr %buffers, i64 {k}"]
        lines += [f"  %buffer{k} = load ptr, ptr %buffer{k}.at"]
        lines += [
            f"  %data{k}.at = getelementptr i8, ptr %buffer{k}, i64 24",
            f"  %data{k} = load ptr, ptr %data{k}.at",
        ]
        lines += [f"  %argument{k} = getelementptr ptr, ptr %arguments, i64 {k}"]
        lines += [f"  store ptr %data{k}, ptr %argument{k}"]
    size = 8 * kernel.scratch(width).size
    take, free = (_TAKE.format(size=size + ALIGNED, up=ALIGNED - 1, down=-ALIGNED), _FREE) if size else ("", "")
    memory = "ptr %scratch" if size else "ptr null"
    call = f"  call void @rows_{width}(ptr %arguments, ptr @strides, ptr %out, i64 0, i64 %rows, {memory})"
    return "\n".join([*lines, f"{take}{call}{free}", "  ret ptr null", "}", *([_DECLARED] if size else [])])


def registered(jax: Any, kernel: Kernel, width: int) -> str:
    """The name under which XLA knows a kernel that computes so many rows at a time.

    It is a hash of all that the code is made of: what JAX has compiled and cached on disk may name it in a later
    process, where it must not mean anything else.
    """
    texts = [handler(kernel, width), *(kernel.ir(each) for each in {1, width}), *kernel.target]
    name = f"momentree_{hashlib.sha256(chr(0).join(texts).encode()).hexdigest()[:32]}"
    with _lock:
        if name not in _registered:
            others = {f"rows_{width}": kernel.address(width), **{f: address_in_c(f) for f in ("malloc", "free")}}
            library = loaded(handler(kernel, width), kernel.target, ENTRY, others)
            address = _SIGNATURE(int(library[ENTRY]))
            capsule = jax.ffi.pycapsule(ctypes.cast(address, ctypes.c_void_p))
            jax.ffi.register_ffi_target(name, capsule, platform="cpu")
            _registered[name] = (kernel, library)
    return name


_SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
