"""A function of an integrator's machine code on arrays of samples: no second compilation of what is there already.

Integrators hold functions on columns of lanes (emit/lanes.py), as that of one Newton step by which loops close. Samples
need the same functions. A loop over rows that calls the function is a few lines of text for LLVM, instead of tens of
thousands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from momentree.compile.emit.lanes import row_by_row, row_of_argument, row_of_results
from momentree.compile.emit.llvm_functions import Lines
from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import Target

MANY_ROWS = 200_000  # from which on rows in the lanes of a vector are worth a compilation, whatever the operations


class RowsOfLanes:
    """The code (kernel.py) of rows_1 that calls a linked function on columns of lanes, of one lane, for each row.

    | attribute | meaning                               |
    |-----------|---------------------------------------|
    | calls     | the address of what it calls, by name |
    """

    def __init__(self, code: Any, name: str, address: int):
        self.arrays, self.outputs = code.arrays, code.outputs
        self.constant: tuple[bool, ...] = code.constant
        self.calls: Mapping[str, int] = {name: address}
        self._name, self._scratch = name, code.scratch

    def scratch(self, width: int) -> int:
        """What the function needs."""
        return int(self._scratch(width))

    def text(self, width: int) -> str:
        """The module that defines rows_1."""
        lines, count = Lines(1), len(self.arrays)
        pointers = [row_of_argument(lines, k) for k in range(count)]
        to = row_of_results(lines, self.outputs)
        arguments = ", ".join(f"ptr {pointer}" for pointer in (*pointers, to, "%scratch"))
        lines.do(f"call void @{self._name}({arguments})")
        declaration = f"declare void @{self._name}({', '.join(['ptr'] * (count + 2))})"
        return f"{declaration}\n\n{row_by_row(width, lines)}\n"


class SamplesKernel:
    """A function of an integrator on arrays, as `Kernel` is; for very many rows its code is made in lanes as well.

    Every row gives the same bits either way; but where there are parameters, which a kernel computes with beforehand,
    these might differ, and rows stay as they are.
    """

    def __init__(self, code: Any, name: str, library: Any, target: Target):
        self._library = library  # it keeps the machine code alive
        self._code, self._target, self._rows = code, target, 0
        self._kernel = Kernel(RowsOfLanes(code, name, int(library[name])), 1, target)

    def __call__(self, inputs: Sequence[numpy.ndarray], out: numpy.ndarray | None = None) -> numpy.ndarray:
        """The results, a row for each row of the arguments: see `Kernel`."""
        self._rows += max((len(array) for array in inputs if array.ndim == 2), default=1)
        if self._code is not None and self._rows > MANY_ROWS:
            code, self._code = self._code, None
            if not any(code.constant) and hasattr(code, "text"):
                self._kernel = Kernel(code, self._target.lanes(0), self._target)
        return self._kernel(inputs, out)
