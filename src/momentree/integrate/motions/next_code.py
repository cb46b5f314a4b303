"""Lanes that are done write how their motion ended and take the next one: the function next_W."""

from __future__ import annotations

import math

from momentree.compile.emit.routine import bits
from momentree.integrate.columns import ColumnRoutine
from momentree.integrate.motions.job import CONTROL, COUNTED, ENDING, GOING_ON, Lane, Slot
from momentree.integrate.records import Status


class NextCode(ColumnRoutine):
    """i1 next_W(job, lanes, y, parameters, begin, end, step): whether any lane has a motion.

    | argument   | meaning                                                                        |
    |------------|--------------------------------------------------------------------------------|
    | numbers    | nq + nv, of a start                                                            |
    | columns    | of y, those behind a start are set to zero                                     |
    | memory     | columns of the method behind t and h of the lanes                              |
    | parameters | how many there are                                                             |
    """

    def __init__(self, width: int, numbers: int, columns: int, memory: int, parameters: int):
        super().__init__(width, width)
        self.numbers, self.columns, self.memory, self.parameters = numbers, columns, memory, parameters

    def text(self) -> str:
        self.do("%any = alloca i64")
        self.put_integer(0, "%any", 0)
        with self.loop(self.width) as lane:
            running = self._is(Lane.RUNNING, lane)
            ended = self.let(f"fcmp une double {self._get(Lane.STATUS, lane)}, {bits(GOING_ON)}")
            with self.when(self.let(f"and i1 {running}, {ended}")):
                self._write_end(lane)
                self._set(Lane.RUNNING, lane, 0.0)
            idle = self.let(f"xor i1 {self._is(Lane.RUNNING, lane)}, true")
            with self.when(idle):
                self._take_next(lane)
            with self.when(self._is(Lane.RUNNING, lane)):
                self.put_integer(1, "%any", 0)
        found = self.let(f"icmp ne i64 {self.integer('%any', 0)}, 0")
        self.do(f"ret i1 {found}")
        arguments = "ptr %job, ptr %lanes, ptr %y, ptr %parameters, i64 %begin, i64 %end, i64 %step"
        return f"define internal i1 @next_{self.width}({arguments}) nounwind {{\nentry:\n{self.lines}\n}}"

    def _place(self, what: int, lane: str) -> str:
        return self.let(f"add i64 {lane}, {what * self.width}")

    def _get(self, what: Lane, lane: str) -> str:
        return self.let(f"load double, ptr {self.offset('%lanes', self._place(what, lane))}")

    def _set(self, what: int, lane: str, value: float | str) -> None:
        number = value if isinstance(value, str) else bits(value)
        self.do(f"store double {number}, ptr {self.offset('%lanes', self._place(what, lane))}")

    def _get_integer(self, what: Lane, lane: str) -> str:
        return self.let(f"load i64, ptr {self.offset('%lanes', self._place(what, lane))}")

    def _set_integer(self, what: Lane, lane: str, value: str | int) -> None:
        self.do(f"store i64 {value}, ptr {self.offset('%lanes', self._place(what, lane))}")

    def _is(self, what: Lane, lane: str) -> str:
        return self.let(f"fcmp une double {self._get(what, lane)}, {bits(0.0)}")

    def _slot(self, slot: Slot) -> str:
        return self.let(f"load ptr, ptr {self.offset('%job', int(slot))}")

    # --- the end of a motion ---

    def _write_end(self, lane: str) -> None:
        """How it ended; and NaN in the samples that it did not reach."""
        motion, count = self._get_integer(Lane.MOTION, lane), self.integer("%job", Slot.COUNT)
        ends = self.offset(self._slot(Slot.ENDS), motion)
        for k, what in enumerate(ENDING):
            to = self.offset(ends, self.let(f"mul i64 {count}, {k}"))
            self.do(f"store double {self._get(what, lane)}, ptr {to}")
        arrived = self.let(f"fcmp oeq double {self._get(Lane.STATUS, lane)}, {bits(float(Status.ARRIVED))}")
        with self.when(self.let(f"xor i1 {arrived}, true")):
            values = self.offset(self._slot(Slot.VALUES), motion)
            first = self.let(f"mul i64 {self._get_integer(Lane.DUE, lane)}, {self.numbers}")
            last = self.let(f"mul i64 {self.integer('%job', Slot.SAMPLES)}, {self.numbers}")
            with self.span(first, last) as i:
                self.do(f"store double {bits(math.nan)}, ptr {self.offset(values, self.let(f'mul i64 {i}, {count}'))}")

    # --- the next one ---

    def _take_next(self, lane: str) -> None:
        """The next motion, if there is one; a lane that never had one computes the first, and nobody sees it."""
        wanted = self.integer("%lanes", Lane.NEXT * self.width)
        there = self.let(f"icmp slt i64 {wanted}, %end")
        none = self.let(f"icmp slt i64 {self._get_integer(Lane.MOTION, lane)}, 0")
        motion = self.let(f"select i1 {there}, i64 {wanted}, i64 %begin")
        some = self.let("icmp slt i64 %begin, %end")
        with self.when(self.let(f"and i1 {some}, {self.let(f'or i1 {there}, {none}')}")):
            self._set_integer(Lane.MOTION, lane, motion)
            self._set(Lane.RUNNING, lane, self.let(f"uitofp i1 {there} to double"))
            self._load(lane, motion)
        with self.when(there):
            self.put_integer(self.let(f"add i64 {wanted}, %step"), "%lanes", Lane.NEXT * self.width)

    def _load(self, lane: str, motion: str) -> None:
        self._set_integer(Lane.DUE, lane, 0)
        self._set(Lane.FRESH, lane, 1.0)
        self._set(Lane.STATUS, lane, GOING_ON)
        t, h = (self.number("%job", CONTROL + k) for k in range(2))
        for what in (Lane.T, Lane.T_SHORT, Lane.T_LONG):
            self._set(what, lane, t)
        self._set(Lane.H, lane, h)
        windows = (Lane.TRIES_SHORT, Lane.REJECTED_SHORT, Lane.TRIES_LONG, Lane.REJECTED_LONG)
        for zero in (*COUNTED, *windows, *range(Lane.H + 1, Lane.H + 1 + self.memory)):
            self._set(zero, lane, 0.0)
        self._load_columns("%y", Slot.STARTS, self.numbers, lane, motion)
        self._load_columns("%parameters", Slot.PARAMETERS, self.parameters, lane, motion)
        if self.columns > self.numbers:
            with self.span(self.numbers, self.columns) as i:
                self.do(f"store double {bits(0.0)}, ptr {self.offset('%y', self._entry(i, lane))}")

    def _load_columns(self, to: str, slot: Slot, columns: int, lane: str, motion: str) -> None:
        if not columns:
            return
        count, source = self.integer("%job", Slot.COUNT), self.offset(self._slot(slot), motion)
        with self.loop(columns) as i:
            value = self.let(f"load double, ptr {self.offset(source, self.let(f'mul i64 {i}, {count}'))}")
            self.do(f"store double {value}, ptr {self.offset(to, self._entry(i, lane))}")

    def _entry(self, i: str, lane: str) -> str:
        return self.let(f"add i64 {self.let(f'mul i64 {i}, {self.width}')}, {lane}")
