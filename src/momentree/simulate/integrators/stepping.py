"""Integrators as callables: the machine code of a tableau for one mechanism, and the arrays that it works on."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentree.compile.kernel import aligned
from momentree.compile.machine_code import Target, linked, object_code
from momentree.simulate.integrators import explicit, radau
from momentree.simulate.integrators.explicit import HEAD, LanesCode, Projection, Status
from momentree.simulate.integrators.tableaux import TABLEAUX, Tableau

Array = NDArray[np.float64]
INTEGRATORS = {**TABLEAUX, radau.RADAU.name: radau.RADAU}
_WRITERS = {radau.RADAU.name: radau}  # modules with a Layout and an advance_text of their own
_ADVANCE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 8)


class Stepper:
    """Takes steps of one method, of W motions at a time.

    | argument    | meaning                                                                        |
    |-------------|--------------------------------------------------------------------------------|
    | code        | the derivatives of y, of y, t and parameters (simulate/integrators/rates.py)                |
    | floor       | least size of each entry of y for the error; infinite where it does not matter   |
    | quaternions | the columns of y where they start                                              |
    | parameters  | how many there are                                                             |
    | dense       | whether records hold the stages that dense output needs                         |
    | projection  | what closes loops after each step, if anything does                             |
    """

    def __init__(
        self, code: LanesCode, tableau: Tableau, floor: Array, quaternions: list[int], parameters: int = 0,
        width: int = 1, dense: bool = False, target: Target | None = None, projection: Projection | None = None,
    ):  # fmt: skip
        target = target or Target.host()
        self.n, self.width, self.tableau, self.dense = len(floor), width, tableau, dense
        controlled = int(np.isfinite(floor).sum())
        lanes = target.lanes(0)
        writer: Any = _WRITERS.get(tableau.name, explicit)
        self.projected = projection is not None
        self.layout = writer.Layout(self.n, width, lanes, tableau, dense, self.projected)
        shape = quaternions, parameters > 0, width, lanes, dense, projection
        text = writer.advance_text(code, tableau, self.n, controlled, *shape)
        self._library = linked(object_code(text, target), f"advance_{width}", {})
        self._function = _ADVANCE(self._library[f"advance_{width}"])
        self._floor = self.columns(np.repeat(floor[:, None], width, axis=1))
        codes, widest = [code, *(projection[:2] if projection else ())], max(width, getattr(self.layout, "lanes", 1))
        self._scratch_size = max(8, *(each.scratch(widest) for each in codes if each is not None))

    def columns(self, values: Array) -> Array:
        """Values (n, W) as the columns of an array that is filled up with zeros."""
        found = aligned(self.layout.size)
        found[:] = 0
        found[: values.size] = values.reshape(-1)
        return found

    def motion(self, y: Array, t: float, h: float, rtol: float, atol: float, parameters: Array | None = None) -> Motion:
        """W motions (n, W) that begin at t; parameters (count, W)."""
        return Motion(self, y, t, h, rtol, atol, parameters)


class Motion:
    """Motions in progress: where they are, and what was counted."""

    def __init__(
        self, stepper: Stepper, y: Array, t: float, h: float, rtol: float, atol: float, parameters: Array | None
    ):
        self._stepper, layout = stepper, stepper.layout
        self.y = stepper.columns(y)
        memory = np.zeros(getattr(layout, "memory", 0))  # of methods that look back at steps before
        self.control = np.concatenate([[t, h, t, rtol, atol, np.inf], memory])
        self.counts = np.zeros(8, dtype=np.int64)
        self._parameters = aligned(1 if parameters is None else parameters.size)
        self._parameters[:] = 0 if parameters is None else parameters.reshape(-1)
        self._work, self._scratch = aligned(layout.work), aligned(stepper._scratch_size)
        self._work[:] = 0

    @property
    def t(self) -> float:
        return float(self.control[0])

    @property
    def tableau(self) -> Tableau:
        return self._stepper.tableau

    @property
    def projected(self) -> bool:
        """Whether loops are closed after each step."""
        return self._stepper.projected

    @property
    def state(self) -> Array:
        """A copy of y, (n, W)."""
        n, W = self._stepper.n, self._stepper.width
        return self.y[: n * W].reshape(n, W).copy()

    def advance(self, stop: float, room: int, each: int = 1, longest: float = np.inf) -> tuple[Status, Array]:
        """Go on until `stop`, but for at most so many records; one record for `each` so many steps."""
        layout, y_before, t_before = self._stepper.layout, self.y.copy(), self.t
        records = aligned(room * layout.record)
        self.control[2], self.control[5] = stop, longest
        self.counts[3:7] = 0, room, 0, each
        arrays: list[Any] = [self.control, self.counts, self.y, self._parameters, self._stepper._floor]
        arrays += [self._work, records, self._scratch]
        self._stepper._function(*(array.ctypes.data for array in arrays))
        made = int(self.counts[5])
        records = records[: made * layout.record].reshape(made, layout.record)
        if not self.tableau.adaptive:
            _, _, y, _ = self.unpacked(records)
            good = int(np.cumprod(np.isfinite(y).all(axis=(1, 2))).sum())
            if good < made:  # steps of a fixed length go on whatever they find: back to the last finite record
                self.control[0] = records[good - 1, 0] if good else t_before
                self.y[:] = records[good - 1, HEAD : HEAD + layout.size] if good else y_before
                return Status.NOT_FINITE, records[:good]
        return Status(int(self.counts[3])), records

    def unpacked(self, records: Array) -> tuple[Array, Array, Array, Array | None]:
        """t, h, y (records, n, W) and, for dense output, the stages (records, stages, n, W)."""
        stepper, size = self._stepper, self._stepper.layout.size
        n, W = stepper.n, stepper.width
        parts = (stepper.layout.record - HEAD) // size
        body = records[:, HEAD:].reshape(len(records), parts, size)[:, :, : n * W].reshape(len(records), parts, n, W)
        return records[:, 0], records[:, 1], body[:, 0], body[:, 1:] if stepper.dense else None
