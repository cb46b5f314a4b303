"""Error norm of a step in machine code: root mean square of the error over its scale, and its round-off."""

from __future__ import annotations

from collections.abc import Sequence

from momentree.compile.emit.llvm_functions import Lines
from momentree.compile.emit.routine import bits
from momentree.integrate.runge_kutta.step_code import EPSILON, StepCode
from momentree.integrate.tableau import Row

NOISE = 2 * EPSILON  # of momenta: their round-off


class ErrorNormCode(StepCode):
    """The error of a step, relative to what the tolerances allow."""

    def _sum(self, row: Row, i: str) -> str:
        total = ""
        for stage, weight in row.items():
            k, w = self.chunk(f"%k{stage}", i), self.lines.number(weight)
            total = self.lines.fused(k, w, total) if total else self.lines.times(k, w)
        return total

    def _error(self) -> str:
        """The largest of all lanes: root mean square of the error over the scale."""
        lines, zero = self.lines, "zeroinitializer"
        sums = [f"%sum{k}" for k in range(len(self.tableau.errors))]
        for total in [*sums, *(["%sum.q"] if self.norm else [])]:
            self.do(f"store {lines.type} {zero}, ptr {total}")
        rtol, atol = (lines.splat(self.number("%control", index)) for index in (3, 4))
        with self.loop(self.layout.size // self.layout.chunk) as i:
            sizes = [lines.intrinsic("fabs", self.chunk(array, i)) for array in ("%y", "%next")]
            size = lines.intrinsic("maxnum", lines.intrinsic("maxnum", *sizes), self.chunk("%floor", i))
            scale = lines.fused(size, rtol, atol)
            for k, (total, row) in enumerate(zip(sums, self.tableau.errors, strict=True)):
                error = self._sum(row, i)
                self._add_square(error, scale, total)
                if self.norm and k == 0:
                    self.put_chunk(error, "%there", i)
                    self._add_square(error, self._scale_of_coordinates(i, scale), "%sum.q")
        if self.norm:
            last = f"%k{self.tableau.stages}"
            self._add_velocity_errors(["%k0", last])
        h = self.call("llvm.fabs.f64", self.number("%memory", 0))
        lanes = [self._lane_error([self.chunk(total, "0") for total in sums], lane, h) for lane in range(self.width)]
        worst = lanes[0]
        for other in lanes[1:]:
            worst = self.call("llvm.maximum.f64", worst, other)
        return worst

    def _add_square(self, error: str, scale: str, total: str) -> None:
        over = self.let(f"fdiv {self.lines.type} {error}, {scale}")
        self.put_chunk(self.lines.fused(over, over, self.chunk(total, "0")), total, "0")

    def _scale_of_coordinates(self, i: str, scale: str) -> str:
        """The scale with round-off, infinite for all but coordinates: what `floor` says in its second part."""
        only = self.let(f"getelementptr double, ptr %floor, i64 {self.layout.size}")
        noise = self.lines.fused(self.lines.splat(self.number("%memory", 0)), self.chunk("%noise.q", i), scale)
        return self.lines.plus(noise, self.chunk(only, i))

    def _lane_error(self, sums: Sequence[str], lane: int, h: str) -> str:
        totals = [self._lane_sum(total, lane) for total in sums]
        counted = totals[0]
        if self.norm:
            v = self.let(f"getelementptr double, ptr %sum.v, i64 {lane}")
            counted = self.plus(self._lane_sum(self.chunk("%sum.q", "0"), lane), self.let(f"load double, ptr {v}"))
        count = bits(float(max(self.controlled, 1)))
        error = self.times(h, self.call("llvm.sqrt.f64", self.let(f"fdiv double {counted}, {count}")))
        if len(totals) == 1:
            return error
        # the estimate of order 5 is made smaller where that of order 3 says that it is too large
        fifth, third = totals
        both = self.plus(fifth, self.times(third, bits(0.01)))
        share = self.call("llvm.sqrt.f64", self.let(f"fdiv double {fifth}, {both}"))
        none = self.let(f"fcmp oeq double {both}, {bits(0.0)}")
        return self.let(f"select i1 {none}, double {error}, double {self.times(error, share)}")

    def _lane_sum(self, total: str, lane: int) -> str:
        if self.width > 1 or self.layout.chunk == 1:
            return self.lines.lane(total, lane)
        sum_of_lanes = self.lines.lane(total, 0)
        for k in range(1, self.layout.chunk):
            sum_of_lanes = self.plus(sum_of_lanes, self.lines.lane(total, k))
        return sum_of_lanes

    # --- errors of momenta, as errors of velocities ---

    def _add_velocity_errors(self, changes: Sequence[str]) -> None:
        """The sum over velocities of the squares of their errors, which belong to those of momenta in %there.

        Each over the scale of its group, from how quickly coordinates change in these arrays.
        """
        assert self.norm is not None
        W, nq = self.width, self.norm.nq
        with self.loop(nq * W) as i:
            self.do(f"store double {self._at('%next', i)}, ptr {self.offset('%there', i)}")
        for lane in range(W):
            self.put(self._time(1.0), "%time", lane)
        self._call("velocities", "%there", "%velocities")
        lines = Lines(W, "m.")
        self.do(f"store {lines.type} zeroinitializer, ptr %sum.v")
        with self.loop(len(self.norm.groups)) as g:
            q, coordinates, v, velocities, factor = (self._of_group(g, k) for k in range(5))
            size = self._size_of_group(changes, q, coordinates, factor)
            with self.span(v, self.let(f"add i64 {v}, {velocities}")) as i:
                self._add_velocity(i, size)

    def _of_group(self, g: str, k: int) -> str:
        index = self.let(f"add i64 {self.let(f'mul i64 {g}, 5')}, {k}")
        return self.let(f"load i64, ptr {self.let(f'getelementptr i64, ptr @groups, i64 {index}')}")

    def _size_of_group(self, changes: Sequence[str], q: str, coordinates: str, factor: str) -> str:
        """The root of the mean of squared velocities at both ends of the step."""
        lines = Lines(self.width, self.new_label("size") + ".")
        self.do(f"store {lines.type} zeroinitializer, ptr %velocities.size")
        with self.span(q, self.let(f"add i64 {q}, {coordinates}")) as j:
            inner = Lines(self.width, self.new_label("size") + ".")
            total = inner.let(f"load {inner.type}, ptr %velocities.size, align 8")
            for array in changes:
                at = inner.let(f"getelementptr {inner.type}, ptr {array}, i64 {j}")
                x = inner.let(f"load {inner.type}, ptr {at}, align 8")
                total = inner.fused(x, x, total)
            inner.do(f"store {inner.type} {total}, ptr %velocities.size, align 8")
            self.do(str(inner).strip())
        total = lines.let(f"load {lines.type}, ptr %velocities.size, align 8")
        share = lines.splat(lines.let(f"sitofp i64 {factor} to double"))
        half = lines.times(share, lines.number(1 / len(changes)))
        size = lines.intrinsic("sqrt", lines.times(total, half))
        self.do(str(lines).strip())
        return size

    def _add_velocity(self, i: str, size: str) -> None:
        rtol, atol = self.number("%control", 3), self.number("%control", 4)
        floor = self.let(f"getelementptr double, ptr %floor, i64 {2 * self.layout.size}")
        lines = Lines(self.width, self.new_label("v") + ".")
        arrays = (floor, "%velocities", "%noise.v")
        addresses = [lines.let(f"getelementptr {lines.type}, ptr {array}, i64 {i}") for array in arrays]
        least, error, noise = (lines.let(f"load {lines.type}, ptr {index}, align 8") for index in addresses)
        scale = lines.fused(lines.intrinsic("maxnum", size, least), lines.splat(rtol), lines.splat(atol))
        scale = lines.plus(scale, noise)
        over = lines.let(f"fdiv {lines.type} {error}, {scale}")
        total = lines.let(f"load {lines.type}, ptr %sum.v, align 8")
        lines.do(f"store {lines.type} {lines.fused(over, over, total)}, ptr %sum.v, align 8")
        self.do(str(lines).strip())

    # --- round-off ---

    def _estimate_noise(self) -> None:
        """How round-off of momenta shows in velocities: no step size makes that smaller, so it is part of the scales.

        Momenta of long chains are large beside what their ends do. Two patterns of signs are enough.
        """
        assert self.norm is not None
        W, nq, nv = self.width, self.norm.nq, self.norm.nv
        with self.loop(self.layout.size // self.layout.chunk) as i:
            for array in ("%noise.q", "%noise.v"):
                self.put_chunk("zeroinitializer", array, i)
        for sign in (1.0, -1.0):
            with self.loop(nq * W) as i:
                self.do(f"store double {self._at('%y', i)}, ptr {self.offset('%there', i)}")
            with self.loop(nv) as j:
                odd = self.let(f"icmp eq i64 {self.let(f'and i64 {j}, 1')}, 1")
                share = self.let(f"select i1 {odd}, double {bits(sign * NOISE)}, double {bits(NOISE)}")
                first = self.let(f"mul i64 {self.let(f'add i64 {j}, {nq}')}, {W}")
                with self.loop(W) as lane:
                    index = self.let(f"add i64 {first}, {lane}")
                    size = self.times(self.call("llvm.fabs.f64", self._at("%y", index)), share)
                    self.do(f"store double {size}, ptr {self.offset('%there', index)}")
            for k in range(W):
                self.put(self.number("%control", 0), "%time", k)
            self._call("velocities", "%there", "%velocities")
            with self.loop(nv * W) as i:
                total = self.plus(self._at("%noise.v", i), self.call("llvm.fabs.f64", self._at("%velocities", i)))
                self.do(f"store double {total}, ptr {self.offset('%noise.v', i)}")
        self._spread_noise()

    def _spread_noise(self) -> None:
        """To coordinates, of each group the sum of its velocities."""
        assert self.norm is not None
        W = self.width
        with self.loop(len(self.norm.groups)) as g:
            q, coordinates, v, velocities, _ = (self._of_group(g, k) for k in range(5))
            ends = self.let(f"add i64 {q}, {coordinates}"), self.let(f"add i64 {v}, {velocities}")
            with self.span(q, ends[0]) as j, self.span(v, ends[1]) as i, self.loop(W) as lane:
                source = self.let(f"add i64 {self.let(f'mul i64 {i}, {W}')}, {lane}")
                to = self.let(f"add i64 {self.let(f'mul i64 {j}, {W}')}, {lane}")
                total = self.plus(self._at("%noise.q", to), self._at("%noise.v", source))
                self.do(f"store double {total}, ptr {self.offset('%noise.q', to)}")
