"""Rows of arrays computed by a kernel on all cores, wherever they stand in memory."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.compile.execute import threads
from momentree.compile.execute.kernel import Kernel

Array = NDArray[np.float64]


class Strided(NamedTuple):
    """An argument of a kernel: row r begins `step` numbers after row r - 1, the first at the first number of `array`.

    A step of 0 gives the same row to all.
    """

    array: Array
    step: int

    @classmethod
    def of(cls, array: Array) -> Strided:
        """Rows of a contiguous array (rows, columns), or one row (columns) for all."""
        return cls(array, array.shape[1] if array.ndim == 2 else 0)


def compute_rows(kernel: Kernel, arguments: Sequence[Strided], out: Array, limit: int | None = None) -> None:
    """Fills out (rows, outputs), contiguous; each row is computed alike in any order and by any number of threads."""
    rows = len(out)
    if not rows or not kernel.outputs:
        return
    assert out.flags.c_contiguous
    assert out.shape[1] == kernel.outputs
    assert len(arguments) == len(kernel.arrays)
    starts = (ctypes.c_void_p * len(arguments))(*[array.ctypes.data for array, _ in arguments])
    steps = (ctypes.c_int64 * len(arguments))(*[step for _, step in arguments])
    width = kernel.width if rows >= kernel.width else 1
    function, to = kernel.function(width), out.ctypes.data

    def new() -> threads.Compute:
        scratch = kernel.scratch(width)
        return lambda begin, end: function(starts, steps, to, begin, end, scratch.ctypes.data)

    threads.share(new, rows, threads.available(limit))
