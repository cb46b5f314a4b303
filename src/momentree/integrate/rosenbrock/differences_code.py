"""Jacobian and df/dt from central differences in machine code, for Rosenbrock methods where there is no code of them.

The order of these methods rests on the Jacobian. Differences to one side have half of the digits, which spoils steps
at tolerances of 1e-7 and less; central ones have two thirds of them.
"""

from __future__ import annotations

from momentree.compile.emit.routine import bits
from momentree.integrate.radau.layout import Memory
from momentree.integrate.radau.step import RadauStep
from momentree.integrate.runge_kutta.step_code import EPSILON

SPREAD = EPSILON ** (1 / 3)  # of an entry of y, and of h: by so much they are changed


class DifferencesCode(RadauStep):
    """Column by column of J; as many at a time as a vector has pairs of lanes."""

    autonomous = False  # df/dt is 0
    in_time = False  # df/dt is part of the code of the Jacobian

    def _differences(self) -> None:
        with self.loop(self._all * self.layout.n) as i:
            self.put_chunk("zeroinitializer", "%matrix", i)
        if self.wide > 1:
            self._wide_differences()
        else:
            self._single_differences()
        if self.in_time:  # which is not finite either
            self._difference_in_time()

    def _single_differences(self) -> None:
        t = self._get(Memory.T_JACOBIAN)
        with self.loop(self.controlled) as j:
            self._copy("%at", "%there")
            ends = []
            for share, to in ((SPREAD, "%d1"), (-SPREAD, "%d0")):
                ends.append(self._changed(j, share)[1])
                self.do(f"store double {ends[-1]}, ptr {self.offset('%there', j)}")
                self._evaluate("%there", t, to)
            inverse = self.lines.splat(self._over(1.0, self.let(f"fsub double {ends[0]}, {ends[1]}")))
            column = self.offset("%matrix", self.let(f"mul i64 {j}, {self.layout.size}"))
            with self.loop(self._all) as i:
                change = self.lines.less(self.chunk("%d1", i), self.chunk("%d0", i))
                self.put_chunk(self.lines.times(change, inverse), column, i)

    def _wide_differences(self) -> None:
        """One half of the lanes has an entry of y enlarged, the other half the same one made smaller."""
        W, n, half = self.wide, self.layout.n, self.wide // 2
        self.count("%counts", 2, 2 * self.controlled)
        for k in range(W):
            self.put(self._get(Memory.T_JACOBIAN), "%wide.t", k)
        with self.loop(-(-self.controlled // half)) as block:
            first = self.let(f"mul i64 {block}, {half}")
            with self.loop(n) as i, self.loop(W) as lane:
                x = self.let(f"load double, ptr {self.offset('%at', i)}")
                self.do(f"store double {x}, ptr {self._in_lane('%wide', i, lane)}")
            for k in range(half):
                j = self.let(f"add i64 {first}, {k}")
                with self.when(self.let(f"icmp slt i64 {j}, {self.controlled}")):
                    for share, place in ((SPREAD, k), (-SPREAD, half + k)):
                        there = self._changed(j, share)[1]
                        self.do(f"store double {there}, ptr {self._in_lane('%wide', j, str(place))}")
            parameters = self._wide_parameters()
            self.do(f"call void @columns_{W}(ptr %wide, ptr %wide.t, {parameters}ptr %wide.f, ptr %scratch)")
            for k in range(half):
                j = self.let(f"add i64 {first}, {k}")
                with self.when(self.let(f"icmp slt i64 {j}, {self.controlled}")):
                    self._put_column_of_lanes(j, str(k), str(half + k))

    def _put_column_of_lanes(self, j: str, more: str, less: str) -> None:
        """Column j of the Jacobian, from f in two lanes."""
        ends = [self._changed(j, share)[1] for share in (SPREAD, -SPREAD)]
        inverse = self._over(1.0, self.let(f"fsub double {ends[0]}, {ends[1]}"))
        column = self.offset("%matrix", self.let(f"mul i64 {j}, {self.layout.size}"))
        with self.loop(self.layout.n) as i:
            pair = [self.let(f"load double, ptr {self._in_lane('%wide.f', i, lane)}") for lane in (more, less)]
            change = self.let(f"fsub double {pair[0]}, {pair[1]}")
            self.do(f"store double {self.times(change, inverse)}, ptr {self.offset(column, i)}")

    def _difference_in_time(self) -> None:
        """df/dt from f a little later and a little earlier."""
        t, change = self.number("%control", 0), self.times(self._get(Memory.H), bits(SPREAD))
        later, earlier = self.plus(t, change), self.let(f"fsub double {t}, {change}")
        self._evaluate("%y", later, "%d1")
        self._evaluate("%y", earlier, "%d0")
        inverse = self.lines.splat(self._over(1.0, self.let(f"fsub double {later}, {earlier}")))
        with self.loop(self._all) as i:
            rise = self.lines.less(self.chunk("%d1", i), self.chunk("%d0", i))
            self.put_chunk(self.lines.times(rise, inverse), "%slope.t", i)
