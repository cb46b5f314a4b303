"""Steppers: the machine code of one method for one problem; and integrations, which are what is in progress with it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from momentree.compile.emit.lanes import LanesCode
from momentree.compile.execute.kernel import aligned
from momentree.compile.execute.machine_code import Target
from momentree.compile.execute.rows_of_lanes import SamplesKernel
from momentree.compile.execute.tiers import TieredFunction
from momentree.integrate.records import HEAD, Status
from momentree.integrate.tableau import Interpolant

Array = NDArray[np.float64]
_ADVANCE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 8)


class Layout(Protocol):
    """How many numbers a method needs.

    | attribute | meaning                                                                               |
    |-----------|---------------------------------------------------------------------------------------|
    | size      | of y, filled up, with what the method keeps there                                      |
    | record    | of a record                                                                           |
    | work      | of working memory                                                                     |
    | memory    | of `control`, behind the six that all methods have                                     |
    """

    size: int
    record: int
    work: int
    memory: int


class Stepper:
    """Takes steps of one method.

    | argument    | meaning                                                                                |
    |-------------|----------------------------------------------------------------------------------------|
    | text        | the LLVM module of advance_1                                                           |
    | n           | numbers of a state                                                                     |
    | parts, part | how many y and stages for dense output stand in a record, and the numbers of each         |
    | interpolant | dense output, where records hold the stages that it needs; otherwise None                |
    | adaptive    | whether the step size is controlled                                                    |
    | projected   | whether loops are closed after each step                                                |
    | scratch     | numbers of memory that the functions in the text need                                   |
    | codes       | the code of functions in the text that others may call too, by name                     |
    """

    def __init__(
        self, text: str, layout: Layout, n: int, parts: int, part: int, interpolant: Interpolant | None,
        adaptive: bool, projected: bool, scratch: Iterable[int], target: Target,
        codes: Mapping[str, LanesCode] | None = None,
    ):  # fmt: skip
        self.layout, self.n, self.parts, self.part = layout, n, parts, part
        self.interpolant, self.adaptive, self.projected, self.scratch = (
            interpolant,
            adaptive,
            projected,
            max(8, *scratch),
        )
        self._codes, self._target = codes or {}, target
        others = [f"{name}_1" for name in self._codes]
        self._function = TieredFunction(text, target, "advance_1", others, _ADVANCE)

    def start(
        self,
        y: Array,
        t: float,
        h: float,
        rtol: float = 0.0,
        atol: float | None = None,
        parameters: Array | None = None,
    ) -> Integration:
        """An integration from a state (n, 1) at t, with a first or fixed step size h; parameters (count, 1).

        Without atol, errors are relative to sizes of the mechanism where those of the state are smaller.
        """
        return Integration(self, y, t, h, rtol, atol, parameters)

    def call(self, *arrays: NDArray[Any]) -> None:
        """The machine code on control, counts, y, parameters, floor, work, records and scratch."""
        self._function(*(array.ctypes.data for array in arrays))

    def kernel(self, name: str) -> SamplesKernel | None:
        """A function of its machine code on arrays of samples; None where it has none of this name."""
        code = self._codes.get(name)
        return None if code is None else SamplesKernel(code, f"{name}_1", self._function.library, self._target)

    def columns(self, values: Array) -> Array:
        """Values (n, 1) as an array that is filled up with zeros."""
        columns = aligned(self.layout.size)
        columns[:] = 0
        columns[: values.size] = values.reshape(-1)
        return columns

    def floors(self, sized: bool) -> Array:
        """The array `floor`; `sized` where sizes of the mechanism count. Methods without an error norm read none."""
        return aligned(8)

    def failure(self, status: Status, t: float, h: float) -> str:
        """Why the machine code went no further, and the way out, where that depends on the method; otherwise ""."""
        return ""


class Integration:
    """An integration in progress: t and y, the step size, counts of steps and evaluations."""

    def __init__(
        self, stepper: Stepper, y: Array, t: float, h: float, rtol: float, atol: float | None, parameters: Array | None
    ):
        self._stepper, layout = stepper, stepper.layout
        self.y = stepper.columns(y)
        self.control = np.concatenate([[t, h, t, rtol, atol or 0.0, np.inf], np.zeros(layout.memory)])
        self._floor = stepper.floors(atol is None)
        self.counts = np.zeros(8, dtype=np.int64)
        self._parameters = aligned(1 if parameters is None else parameters.size)
        self._parameters[:] = 0 if parameters is None else parameters.reshape(-1)
        self._work, self._scratch = aligned(layout.work), aligned(stepper.scratch)
        self._work[:] = 0

    @property
    def t(self) -> float:
        return float(self.control[0])

    @property
    def adaptive(self) -> bool:
        """Whether the step size is controlled."""
        return self._stepper.adaptive

    @property
    def interpolant(self) -> Interpolant | None:
        """Dense output, where records hold the stages that it needs."""
        return self._stepper.interpolant

    @property
    def open(self) -> float:
        """The closure error, by the size of the mechanism, up to which loops count as closed after a step."""
        return float(self._floor[-1])

    @open.setter
    def open(self, most: float) -> None:
        self._floor[-8:] = most

    @property
    def projected(self) -> bool:
        """Whether loops are closed after each step."""
        return self._stepper.projected

    def change_last_parameters(self, numbers: Array) -> None:
        """Go on with other values of the last parameters."""
        self._parameters[len(self._parameters) - len(numbers) :] = numbers

    @property
    def state(self) -> Array:
        """A copy of y, (n, 1)."""
        return self.y[: self._stepper.n].reshape(-1, 1).copy()

    def skip_to(self, t: float) -> None:
        """Go on from another time with the same state."""
        self.control[0] = t

    def advance(self, stop: float, room: int, each: int = 1, longest: float = np.inf) -> tuple[Status, Array]:
        """Go on until `stop`, for at most `room` records, one after `each` steps; `longest` bounds the step size."""
        layout, y_before, t_before = self._stepper.layout, self.y.copy(), self.t
        records = aligned(room * layout.record)
        self.control[2], self.control[5] = stop, longest
        self.counts[3:7] = 0, room, 0, each
        arrays: list[NDArray[Any]] = [self.control, self.counts, self.y, self._parameters, self._floor]
        self._stepper.call(*arrays, self._work, records, self._scratch)
        made = int(self.counts[5])
        records = records[: made * layout.record].reshape(made, layout.record)
        if not self.adaptive:
            _, _, y, _ = self.unpacked(records)
            good = int(np.cumprod(np.isfinite(y).all(axis=(1, 2))).sum())
            if good < made:  # a fixed step size goes on whatever it meets: back to the last finite record
                self.control[0] = records[good - 1, 0] if good else t_before
                part = self._stepper.part
                self.y[:part] = records[good - 1, HEAD : HEAD + part] if good else y_before[:part]
                return Status.NOT_FINITE, records[:good]
        return Status(int(self.counts[3])), records

    def unpacked(self, records: Array) -> tuple[Array, Array, Array, Array | None]:
        """t, h, y (records, n, 1) and, for dense output, the stages (records, stages, n, 1)."""
        n, shape = self._stepper.n, (len(records), self._stepper.parts)
        values = records[:, HEAD:].reshape(*shape, self._stepper.part)[:, :, :n, None]
        return records[:, 0], records[:, 1], values[:, 0], values[:, 1:] if self.interpolant else None

    def failure(self, status: Status) -> str:
        """Why it went no further, and the way out, where that depends on the method; otherwise ""."""
        return self._stepper.failure(status, self.t, abs(float(self.control[1])))
