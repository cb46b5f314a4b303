"""Newton's iteration for the stages of Radau IIA in machine code: simplified, with one Jacobian for all stages."""

from __future__ import annotations

from collections.abc import Sequence

from momentree.compile.emit.routine import bits
from momentree.integrate.radau.layout import Memory
from momentree.integrate.radau.step_code import RadauStepCode
from momentree.integrate.radau.step_size_code import ITERATIONS, QUICK, SHORTER
from momentree.integrate.radau.tableau import ALPHA, BETA, GAMMA, T_INVERSE, C, T
from momentree.integrate.runge_kutta.step_code import EPSILON


class NewtonCode(RadauStepCode):
    """z, the stages less y, from a guess to where the iteration leaves no more than the tolerance allows."""

    def _guess(self) -> None:
        """z from the polynomial of the step before, going on beyond its end; 0 where there is none."""
        with self.when(self._is(Memory.FIRST)), self.loop(self._all) as i:
            for name in ("z", "w"):
                self._put_chunks(["zeroinitializer"] * 3, name, i)
        with self.when(self._is(Memory.FIRST, False)):
            ratio = self._over(self._get(Memory.H), self._get(Memory.H_BEFORE))
            nodes = [self.lines.splat(self.times(ratio, bits(c))) for c in C]
            with self.loop(self._all) as i:
                p = self._chunks("p", i)
                z = [self._polynomial(p, s) for s in nodes]
                self._put_chunks(z, "z", i)
                self._put_chunks([self._weighted(row, z) for row in T_INVERSE], "w", i)
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
        inner = self.lines.fused(self.lines.plus(s, self.lines.number(1 - C[0])), p[2], p[1])
        outer = self.lines.fused(self.lines.plus(s, self.lines.number(1 - C[1])), inner, p[0])
        return self.lines.times(s, outer)

    def _iterate(self) -> None:
        """The change of w, in d."""
        self._slopes()
        h = self._get(Memory.H)
        gamma, alpha, beta = (self.lines.splat(self._over(-x, h)) for x in (GAMMA, ALPHA, BETA))
        minus_beta = self.lines.negative(beta)
        with self.loop(self._all) as i:
            slopes, w, fused = self._chunks("d", i), self._chunks("w", i), self.lines.fused
            right = [self._weighted(row, slopes) for row in T_INVERSE]
            right[0] = fused(gamma, w[0], right[0])
            right[1] = fused(alpha, w[1], fused(minus_beta, w[2], right[1]))
            right[2] = fused(alpha, w[2], fused(beta, w[1], right[2]))
            self._put_chunks(right, "d", i)
        self.do("call void @solve_1(ptr %real, ptr %pivots1, ptr %d0)")
        self.do("call void @solve_2(ptr %complex, ptr %pivots2, ptr %d1)")

    def _slopes(self) -> None:
        """f of the stages, in d."""
        for k in range(3):
            with self.loop(self._all) as i:
                self.put_chunk(self.lines.plus(self.chunk("%y", i), self.chunk(f"%z{k}", i)), "%there", i)
            self._evaluate("%there", self._time(C[k]), f"%d{k}")

    def _judge_iteration(self) -> None:
        """On to `converged`, once more to `newton`, or to `retry` with a smaller step size."""
        change = self._root_mean_square(("%d0", "%d1", "%d2"))
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
            self._put_chunks([self._weighted(row, w) for row in T], "z", i)
        remaining = self.times(self._get(Memory.REMAINING), self._get(Memory.CHANGE))
        self._branch(self.let(f"fcmp ole double {remaining}, {self._goal()}"), "converged", "newton")

    def _goal(self) -> str:
        """What Newton's iteration may leave, as a part of the tolerance."""
        rtol = self.number("%control", 3)
        root = self.call("llvm.minnum.f64", self.call("llvm.sqrt.f64", rtol), bits(0.03))
        return self.call("llvm.maxnum.f64", root, self._over(10 * EPSILON, rtol))

    def _foresee(self, change: str) -> None:
        """Whether the iteration will be done after ITERATIONS - 1 of them; if not, how much smaller h has to be."""
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
        more = self.let(f"fsub double {bits(ITERATIONS - 1.0)}, {count}")
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
