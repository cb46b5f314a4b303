"""Error norm of a step in machine code: root mean square of the error over its scale, and its round-off."""

from __future__ import annotations

from collections.abc import Sequence

from momentree.compile.emit.routine import bits
from momentree.integrate.runge_kutta.step_code import EPSILON, StepCode
from momentree.integrate.tableau import Row

NOISE = 2 * EPSILON  # of momenta: their round-off
OF_ORDER_3 = 0.01  # of the square of the estimate of order 3, beside that of order 5


class ErrorNormCode(StepCode):
    """The error of a step, relative to what the tolerances allow."""

    def _sum(self, row: Row, i: str) -> str:
        total = ""
        for stage, weight in row.items():
            k, w = self.chunk(f"%k{stage}", i), self.lines.number(weight)
            total = self.lines.fused(k, w, total) if total else self.lines.times(k, w)
        return total

    def _error(self) -> str:
        """Root mean square of the error over the scale, of each lane."""
        lines, zero = self.lines, "zeroinitializer"
        sums = [f"%sum{k}" for k in range(len(self.tableau.errors))]
        for total in [*sums, *(["%sum.q"] if self.norm else [])]:
            self.do(f"store {lines.type} {zero}, ptr {total}")
        rtol, atol = (lines.splat(self.number("%control", index)) for index in (3, 4))
        with self.loop(self._all) as i:
            sizes = [lines.intrinsic("fabs", self.chunk(array, i)) for array in ("%y", "%next")]
            size = lines.intrinsic("maxnum", lines.intrinsic("maxnum", *sizes), self._floor(i))
            scale = lines.fused(size, rtol, atol)
            for k, (total, row) in enumerate(zip(sums, self.tableau.errors, strict=True)):
                error = self._sum(row, i)
                self._add_square(error, scale, total)
                if self.norm and k == 0:
                    self.put_chunk(error, "%there", i)
                    self._add_square(error, self._scale_of_coordinates(i, scale), "%sum.q")
        if self.norm:
            self._add_velocity_errors(["%k0", f"%k{self.tableau.stages}"])
        return self._root_mean_square_of([self._over_lanes(self.chunk(total, "0")) for total in sums])

    def _add_square(self, error: str, scale: str, total: str) -> None:
        over = self.let(f"fdiv {self.lines.type} {error}, {scale}")
        self.put_chunk(self.lines.fused(over, over, self.chunk(total, "0")), total, "0")

    def _scale_of_coordinates(self, i: str, scale: str) -> str:
        """The scale with round-off, infinite for all but coordinates: what `floor` says in its second part."""
        noise = self.lines.fused(self._wide(self._column("%memory")), self.chunk("%noise.q", i), scale)
        return self.lines.plus(noise, self._floor(i, 1))

    def _root_mean_square_of(self, totals: Sequence[str]) -> str:
        column, counted = self.column, totals[0]
        if self.norm:
            counted = column.plus(self._over_lanes(self.chunk("%sum.q", "0")), self._column("%sum.v"))
        count = column.number(float(max(self.controlled, 1)))
        mean = self.let(f"fdiv {column.type} {counted}, {count}")
        h = column.intrinsic("fabs", self._column("%memory"))
        error = column.times(h, column.intrinsic("sqrt", mean))
        if len(totals) == 1:
            return error
        # the estimate of order 5 is made smaller where that of order 3 says that it is too large
        fifth, third = totals
        both = column.plus(fifth, column.times(third, column.number(OF_ORDER_3)))
        share = column.intrinsic("sqrt", self.let(f"fdiv {column.type} {fifth}, {both}"))
        none = column.compare("oeq", both, column.number(0.0))
        return column.choose(none, error, column.times(error, share))

    def _over_lanes(self, total: str) -> str:
        """A sum over all chunks: of a single integration, whose numbers stand in the lanes, the sum over these too."""
        if self.width > 1 or self.layout.chunk == 1:
            return total
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
        with self.loop(self.norm.nq) as i:
            self._put_column(self._column("%next", i), "%there", i)
        self._put_column(self._time(1.0), "%time")
        self._call("velocities", "%there", "%velocities")
        self._put_column(self.column.number(0.0), "%sum.v")
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
        column = self.column
        self._put_column(column.number(0.0), "%velocities.size")
        with self.span(q, self.let(f"add i64 {q}, {coordinates}")) as j:
            total = self._column("%velocities.size")
            for array in changes:
                x = self._column(array, j)
                total = column.fused(x, x, total)
            self._put_column(total, "%velocities.size")
        share = column.splat(self.let(f"sitofp i64 {factor} to double"))
        half = column.times(share, column.number(1 / len(changes)))
        return column.intrinsic("sqrt", column.times(self._column("%velocities.size"), half))

    def _add_velocity(self, i: str, size: str) -> None:
        column = self.column
        least = column.splat(self._at(self.offset("%floor", 2 * self.layout.floor_size), i))
        rtol, atol = self._shared("%control", 3), self._shared("%control", 4)
        scale = column.fused(column.intrinsic("maxnum", size, least), rtol, atol)
        scale = column.plus(scale, self._column("%noise.v", i))
        over = self.let(f"fdiv {column.type} {self._column('%velocities', i)}, {scale}")
        self._put_column(column.fused(over, over, self._column("%sum.v")), "%sum.v")

    # --- round-off ---

    def _estimate_noise(self, noise_q: str = "%noise.q", noise_v: str = "%noise.v") -> None:
        """How round-off of momenta shows in velocities: no step size makes that smaller, so it is part of the scales.

        Momenta of long chains are large beside what their ends do. Two patterns of signs are enough.
        """
        assert self.norm is not None
        nq, nv, column = self.norm.nq, self.norm.nv, self.column
        with self.loop(self._all) as i:
            for array in (noise_q, noise_v):
                self.put_chunk("zeroinitializer", array, i)
        for sign in (1.0, -1.0):
            with self.loop(nq) as i:
                self._put_column(self._column("%y", i), "%there", i)
            with self.loop(nv) as j:
                odd = self.let(f"icmp eq i64 {self.let(f'and i64 {j}, 1')}, 1")
                share = self.let(f"select i1 {odd}, double {bits(sign * NOISE)}, double {bits(NOISE)}")
                row = self.let(f"add i64 {j}, {nq}")
                size = column.intrinsic("fabs", self._column("%y", row))
                self._put_column(column.times(size, column.splat(share)), "%there", row)
            self._put_column(self._column("%times"), "%time")
            self._call("velocities", "%there", "%velocities")
            with self.loop(nv) as i:
                self._add_column(column.intrinsic("fabs", self._column("%velocities", i)), noise_v, i)
        self._spread_noise(noise_q, noise_v)

    def _spread_noise(self, noise_q: str, noise_v: str) -> None:
        """To coordinates, of each group the sum of its velocities."""
        assert self.norm is not None
        with self.loop(len(self.norm.groups)) as g:
            q, coordinates, v, velocities, _ = (self._of_group(g, k) for k in range(5))
            ends = self.let(f"add i64 {q}, {coordinates}"), self.let(f"add i64 {v}, {velocities}")
            with self.span(q, ends[0]) as j, self.span(v, ends[1]) as i:
                self._add_column(self._column(noise_v, i), noise_q, j)
