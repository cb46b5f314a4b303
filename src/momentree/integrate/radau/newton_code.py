"""Newton's iteration for the stages of Radau IIA in machine code: simplified, with one Jacobian for all stages."""

from __future__ import annotations

import math
from collections.abc import Sequence

from momentree.compile.emit.routine import bits
from momentree.integrate.radau.layout import Memory
from momentree.integrate.radau.step_code import RadauStepCode
from momentree.integrate.radau.step_size_code import QUICK, SHORTER
from momentree.integrate.runge_kutta.step_code import EPSILON


class NewtonCode(RadauStepCode):
    """z, the stages less y, from a guess to where the iteration leaves no more than the tolerance allows."""

    def _guess(self) -> None:
        """z from the polynomial of the step before, going on beyond its end; 0 where there is none."""
        with self.when(self._is(Memory.FIRST)), self.loop(self._all) as i:
            for name in ("z", "w"):
                self._put_chunks(["zeroinitializer"] * self.s, name, i)
        with self.when(self._is(Memory.FIRST, False)):
            ratio = self._over(self._get(Memory.H), self._get(Memory.H_BEFORE))
            nodes = [self.lines.splat(self.times(ratio, bits(c))) for c in self.radau.c]
            with self.loop(self._all) as i:
                p = self._chunks("p", i)
                z = [self._polynomial(p, s) for s in nodes]
                self._put_chunks(z, "z", i)
                self._put_chunks([self._weighted(row, z) for row in self.radau.inverse], "w", i)
        rtol, atol = (self.lines.splat(self.number("%control", index)) for index in (3, 4))
        with self.loop(self._all) as i:
            size = self.lines.intrinsic("maxnum", self.lines.intrinsic("fabs", self.chunk("%y", i)), self._floor(i))
            self.put_chunk(self.lines.fused(size, rtol, atol), "%scale", i)
        remaining = self.call("llvm.maxnum.f64", self._get(Memory.REMAINING), bits(EPSILON))
        self._set(Memory.REMAINING, self._power(remaining, 0.8))
        self._set(Memory.CONTRACTION, QUICK)
        self._set(Memory.COUNT, 0.0)

    def _polynomial(self, p: Sequence[str], s: str) -> str:
        """What it adds to y at s steps after its end: Newton's form."""
        lines, total = self.lines, p[-1]
        for coefficient, c in zip(p[-2::-1], self.radau.c, strict=False):
            total = lines.fused(lines.plus(s, lines.number(1 - c)), total, coefficient)
        return lines.times(s, total)

    def _iterate(self) -> None:
        """The change of w, in d."""
        self._slopes()
        h = self._get(Memory.H)
        gamma = self.lines.splat(self._over(-self.radau.gamma, h))
        pairs = [[self.lines.splat(self._over(-x, h)) for x in pair] for pair in self.radau.pairs]
        with self.loop(self._all) as i:
            slopes, w, fused = self._chunks("d", i), self._chunks("w", i), self.lines.fused
            right = [self._weighted(row, slopes) for row in self.radau.inverse]
            right[0] = fused(gamma, w[0], right[0])
            for k, (alpha, beta) in enumerate(pairs):
                one, two = 1 + 2 * k, 2 + 2 * k
                right[one] = fused(alpha, w[one], fused(self.lines.negative(beta), w[two], right[one]))
                right[two] = fused(alpha, w[two], fused(beta, w[one], right[two]))
            if self.uncontrolled:
                apart = self.lines.compare("oeq", self._floor(i), self.lines.number(math.inf))
                right = [self.lines.choose(apart, "zeroinitializer", x) for x in right]
            self._put_chunks(right, "d", i)
        self.do("call void @solve_1(ptr %real, ptr %pivots, ptr %d0)")
        for k in range(len(pairs)):
            self.do(f"call void @solve_2(ptr %complex{k}, ptr %pivots{k}, ptr %d{1 + 2 * k})")

    def _slopes(self) -> None:
        """f of the stages, in d: as many at once as a vector has lanes, a last one by itself."""
        stages = list(range(self.s))
        for first in range(0, self.s, self.wide):
            some = stages[first : first + self.wide]
            if len(some) > 1:
                self._slopes_in_lanes(some)
                continue
            with self.loop(self._all) as i:
                self.put_chunk(self.lines.plus(self.chunk("%y", i), self.chunk(f"%z{first}", i)), "%there", i)
            self._evaluate("%there", self._time(self.radau.c[first]), f"%d{first}")

    def _slopes_in_lanes(self, stages: Sequence[int]) -> None:
        """f of each of these stages in a lane of its own; the last one fills what is left."""
        W, n = self.wide, self.layout.n
        column, filled = self.beside(W, self.new_label("stages")), [*stages, *[stages[-1]] * (W - len(stages))]
        times = {k: self._time(self.radau.c[k]) for k in stages}
        self.do(f"store {column.type} {column.of_lanes([times[k] for k in filled])}, ptr %wide.t, align 8")
        with self.loop(n) as i:
            y = self._at("%y", i)
            states = {k: self.plus(y, self._at(f"%z{k}", i)) for k in stages}
            at = self.let(f"getelementptr {column.type}, ptr %wide, i64 {i}")
            self.do(f"store {column.type} {column.of_lanes([states[k] for k in filled])}, ptr {at}, align 8")
        parameters = self._wide_parameters()
        self.do(f"call void @columns_{W}(ptr %wide, ptr %wide.t, {parameters}ptr %wide.f, ptr %scratch)")
        self.count("%counts", 2, len(stages))
        with self.loop(n) as i:
            at = self.let(f"getelementptr {column.type}, ptr %wide.f, i64 {i}")
            slopes = self.let(f"load {column.type}, ptr {at}, align 8")
            for lane, k in enumerate(stages):
                self.do(f"store double {column.lane(slopes, lane)}, ptr {self.offset(f'%d{k}', i)}")

    def _judge_iteration(self) -> None:
        """On to `converged`, once more to `newton`, or to `retry` with a smaller step size."""
        change = self._root_mean_square([f"%d{k}" for k in range(self.s)])
        self._set(Memory.ERROR, change)
        self._set(Memory.FACTOR, 1 / SHORTER)
        self._branch(self.let(f"fcmp olt double {change}, {bits(1e300)}"), "finite", "retry")
        self.label("finite")
        self._set(Memory.COUNT, self.plus(self._get(Memory.COUNT), bits(1.0)))
        again = self.let(f"fcmp ogt double {self._get(Memory.COUNT)}, {bits(1.0)}")
        self._branch(again, "compare", "apply")
        self.label("compare")
        self._foresee(change)
        self.label("apply")
        self._set(Memory.CHANGE, self.call("llvm.maxnum.f64", change, bits(EPSILON)))
        with self.loop(self._all) as i:
            pairs = zip(self._chunks("w", i), self._chunks("d", i), strict=True)
            w = [self.lines.plus(one, other) for one, other in pairs]
            self._put_chunks(w, "w", i)
            self._put_chunks([self._weighted(row, w) for row in self.radau.transformation], "z", i)
        remaining = self.times(self._get(Memory.REMAINING), self._get(Memory.CHANGE))
        self._branch(self.let(f"fcmp ole double {remaining}, {self._goal()}"), "converged", "newton")

    def _goal(self) -> str:
        """What Newton's iteration may leave, as a part of the tolerance."""
        rtol = self.number("%control", 3)
        root = self.call("llvm.minnum.f64", self._power(rtol, self.radau.strictness), bits(0.03))
        return self.call("llvm.maxnum.f64", root, self._over(10 * EPSILON, rtol))

    def _foresee(self, change: str) -> None:
        """Whether the iteration will be done before the last but one; if not, how much smaller h has to be."""
        ratio, count = self._over(change, self._get(Memory.CHANGE)), self._get(Memory.COUNT)
        mean = self.call("llvm.sqrt.f64", self.times(ratio, self._get(Memory.RATIO)))
        second = self.let(f"fcmp oeq double {count}, {bits(2.0)}")
        contraction = self.let(f"select i1 {second}, double {ratio}, double {mean}")
        self._set(Memory.RATIO, ratio)
        self._set(Memory.CONTRACTION, contraction)
        self._set(Memory.FACTOR, 0.5)
        self._branch(self.let(f"fcmp olt double {contraction}, {bits(0.99)}"), "slow", "retry")
        self.label("slow")
        remaining = self._over(contraction, self.let(f"fsub double {bits(1.0)}, {contraction}"))
        self._set(Memory.REMAINING, remaining)
        more = self.let(f"fsub double {bits(self.radau.iterations - 1.0)}, {count}")
        end = self.times(self.times(remaining, change), self._power(contraction, more))
        excess = self._over(end, self._goal())
        root = self._over(-1.0, self.plus(more, bits(4.0)))
        self._set(Memory.FACTOR, self.times(bits(0.8), self._power(self._within(excess, 1e-4, 20.0), root)))
        self._branch(self.let(f"fcmp olt double {excess}, {bits(1.0)}"), "apply", "retry")

    def _root_mean_square(self, arrays: Sequence[str]) -> str:
        """Root mean square of what is in the arrays, over the scale."""
        self.do(f"store {self.lines.type} zeroinitializer, ptr %sum")
        with self.loop(self._all) as i:
            scale = self.chunk("%scale", i)
            for array in arrays:
                over = self.let(f"fdiv {self.lines.type} {self.chunk(array, i)}, {scale}")
                self.put_chunk(self.lines.fused(over, over, self.chunk("%sum", "0")), "%sum", "0")
        lanes = self.chunk("%sum", "0")
        total = self.lines.lane(lanes, 0)
        for lane in range(1, self.layout.chunk):
            total = self.plus(total, self.lines.lane(lanes, lane))
        return self.call("llvm.sqrt.f64", self._over(total, bits(float(max(self.controlled, 1) * len(arrays)))))
