"""Integrators as callables: the machine code of a tableau for one mechanism, and the arrays that it works on."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentree.compile.emit.lanes import LanesCode
from momentree.compile.execute.kernel import aligned
from momentree.compile.execute.machine_code import Target, linked, object_code
from momentree.integrate import explicit, radau
from momentree.integrate.explicit import HEAD, OPEN, Measure, Status
from momentree.integrate.projection import Projection
from momentree.integrate.tableaux import TABLEAUX, Tableau

Array = NDArray[np.float64]
INTEGRATORS = {**TABLEAUX, radau.RADAU.name: radau.RADAU}
_WRITERS = {radau.RADAU.name: radau}  # modules with a Layout and an advance_text of their own
_ADVANCE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 8)


class Stepper:
    """Takes steps of one method, of W motions at a time.

    | argument    | meaning                                                                        |
    |-------------|--------------------------------------------------------------------------------|
    | code        | the derivatives of y, of y, t and parameters (compile/trace/right_hand_sides.py)                |
    | floor       | least size of each entry of y for the error; infinite where it does not matter   |
    | quaternions | the columns of y where they start                                              |
    | parameters  | how many there are                                                             |
    | dense       | whether records hold the stages that dense output needs                         |
    | projection  | what closes loops after each step, if anything does                             |
    | measure     | in what errors of momenta are told; None: as they are                           |
    | least       | `floor` of motions without atol; behind it that of velocities                   |
    """

    def __init__(
        self, code: LanesCode, tableau: Tableau, floor: Array, quaternions: list[int], parameters: int = 0,
        width: int = 1, dense: bool = False, target: Target | None = None, projection: Projection | None = None,
        measure: Measure | None = None, least: Array | None = None,
    ):  # fmt: skip
        target = target or Target.host()
        self.n, self.width, self.tableau, self.dense = len(floor), width, tableau, dense
        controlled = int(np.isfinite(floor).sum())
        lanes = target.lanes(0)
        writer: Any = _WRITERS.get(tableau.name, explicit)
        self.projected = projection is not None
        self.layout = writer.Layout(self.n, width, lanes, tableau, dense, projection)
        shape = quaternions, parameters > 0, width, lanes, dense, projection, measure
        text = writer.advance_text(code, tableau, self.n, controlled, *shape)
        self._library = linked(object_code(text, target), f"advance_{width}", {})
        self._function = _ADVANCE(self._library[f"advance_{width}"])
        self._floor, self._least, self._measure = floor, floor if least is None else least, measure
        codes, widest = [code, *(projection[:2] if projection else ())], max(width, getattr(self.layout, "lanes", 1))
        codes += [measure.velocities] if measure else []
        self._scratch_size = max(8, *(each.scratch(widest) for each in codes if each is not None))

    def columns(self, values: Array) -> Array:
        """Values (n, W) as the columns of an array that is filled up with zeros."""
        found = aligned(self.layout.size)
        found[:] = 0
        found[: values.size] = values.reshape(-1)
        return found

    def floors(self, sized: bool) -> Array:
        """What `advance` takes as floor: of y, whether a number counts only as a velocity (infinite), of velocities.

        Then the closure error up to which loops count as closed.
        """
        nq, nv = (self._measure.nq, self._measure.nv) if self._measure else (self.n, 0)
        floor = self._least if sized else self._floor
        only, velocities = np.zeros(self.n), np.zeros(self.n)
        only[nq:], velocities[:nv] = np.inf, self._least[nq : nq + nv] if sized else 0.0
        parts = [self.columns(np.repeat(part[:, None], self.width, axis=1)) for part in (floor, only, velocities)]
        parts[0][self.n * self.width :] = 1.0  # what fills up y has no error, and needs a scale all the same
        found = aligned(3 * self.layout.size + 8)
        found[:] = np.concatenate([*parts, np.full(8, OPEN)])
        return found

    def motion(
        self, y: Array, t: float, h: float, rtol: float, atol: float | None, parameters: Array | None = None
    ) -> Integration:
        """W motions (n, W) that begin at t; parameters (count, W). Without atol, sizes of the mechanism count."""
        return Integration(self, y, t, h, rtol, atol, parameters)


class Integration:
    """Motions in progress: where they are, and what was counted."""

    def __init__(
        self, stepper: Stepper, y: Array, t: float, h: float, rtol: float, atol: float | None, parameters: Array | None
    ):
        self._stepper, layout = stepper, stepper.layout
        self.y = stepper.columns(y)
        memory = np.zeros(getattr(layout, "memory", 0))  # of methods that look back at steps before
        self.control = np.concatenate([[t, h, t, rtol, atol or 0.0, np.inf], memory])
        self._floor = stepper.floors(atol is None)
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
        arrays: list[Any] = [self.control, self.counts, self.y, self._parameters, self._floor]
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
