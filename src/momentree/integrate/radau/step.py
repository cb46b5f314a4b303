"""Radau IIA of order 5 in machine code: the implicit Runge-Kutta method for stiff systems, one integration at a time.

    z_i = h sum_j a_ij f(t + c_j h, y + z_j),   y next = y + z_3

after RADAU5 (Hairer and Wanner, Solving Ordinary Differential Equations II, 1996, IV.8). Newton's iteration is done for
w = T^-1 z, which parts the 3n equations into n real and n complex ones, with one Jacobian J for all of them:

    (gamma / h - J) dw_1 = ...,   ((alpha + i beta) / h - J) (dw_2 + i dw_3) = ...

J is kept while the iteration converges quickly, the factors of the matrices as long as h stays the same too. J is the
code of the tape's derivatives (compile/emit/jacobian_code.py). Where there is none, or where it is not finite, it comes
from differences, several columns at a time in the lanes of a vector. What is not controlled, such as work terms,
does not act back on the rest: its columns are zero.

The calling convention is that of methods.py. A record for dense output holds the slopes f(t + c_i h, y + z_i) of the
step. What a step needs of earlier steps stands in `control` after the six numbers: see `Memory`. Set to zero, these are
forgotten.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from momentree.compile.emit.jacobian_code import Differentiated
from momentree.compile.emit.lanes import LanesCode, module
from momentree.compile.emit.routine import bits, table
from momentree.integrate.error_norm import ErrorNorm
from momentree.integrate.linear_algebra import algebra_texts
from momentree.integrate.projection import Projection
from momentree.integrate.radau.jacobian_code import JacobianCode
from momentree.integrate.radau.layout import CONTROL, MEMORY, VECTORS, Memory, RadauLayout
from momentree.integrate.radau.newton_code import NewtonCode
from momentree.integrate.radau.step_size_code import RadauStepSizeCode
from momentree.integrate.radau.tableau import A_INVERSE, A, C, E
from momentree.integrate.records import Status, advance_function
from momentree.integrate.runge_kutta.step_code import codes_text, tables_text
from momentree.integrate.runge_kutta.stepper import Emitter
from momentree.integrate.tableau import Tableau


def radau_text(
    code: LanesCode, tableau: Tableau, n: int, controlled: int, quaternions: Sequence[int], parameters: bool,
    width: int, lanes: int, dense: bool, projection: Projection | None = None, norm: ErrorNorm | None = None,
) -> str:  # fmt: skip
    """The module of advance_1; the first `controlled` numbers count for the error."""
    layout = RadauLayout(n, width, lanes, tableau, dense, projection)
    texts, functions = codes_text(code, projection, norm, 1)
    pattern: Sequence[tuple[int, int]] = ()
    wide = lanes if lanes > 1 and not parameters else 1
    if isinstance(code, Differentiated) and code.jacobian is not None:
        more, others = code.jacobian.lanes(1, "jacobian")
        texts, functions, pattern, wide = [*texts, *more], functions | others, code.pattern, 1
    if wide > 1:
        more, others = code.lanes(wide, "columns")
        texts, functions = [*texts, *more], functions | others
    routine = RadauStep(layout, controlled, len(quaternions), parameters, dense, len(pattern), projection, norm, wide)
    tables = tables_text(quaternions, projection, norm)
    tables.append(table("pattern", [j * layout.size + i for i, j in pattern]))
    algebra = [text for parts in (1, 2) for text in algebra_texts(n, layout.size, lanes, controlled, parts)]
    return module(1, [*texts, *tables, *algebra, routine.text()], functions | {("power", 1)})


class RadauStep(JacobianCode, NewtonCode, RadauStepSizeCode):
    """The text of advance_1."""

    def text(self) -> str:
        self._begin()
        self._at_label("step")
        self._choose_step_size()
        self._renew()
        self._guess()
        self._at_label("newton")
        self._iterate()
        self._judge_iteration()
        self._at_label("converged")
        self._test()
        self._write_retry()
        self.label("good")
        if self.uncontrolled:
            self._settle(self._get(Memory.H))
        if self.projection:
            self._close()
        self._at_label("accept")
        self._accept()
        return advance_function(1, self.lines)

    # --- where a call begins ---

    def _begin(self) -> None:
        self._name_arrays()
        self.do(f"%sum = alloca {self.lines.type}, align 64")
        self._allocate()
        if self.norm:
            self._estimate_noise()
        self._evaluate("%y", self.number("%control", 0), "%slope")
        with self.when(self._is(Memory.BEGUN, False)):
            for what in (Memory.BEGUN, Memory.FIRST, Memory.STALE, Memory.REMAINING):
                self._set(what, 1.0)
        # the matrices are not kept from call to call, but made again from what they were made of
        with self.when(self._is(Memory.STALE, False)):
            self._jacobian()
            with self.when(self._is(Memory.H_FACTORED)):
                self._make_factors()

    def _name_arrays(self) -> None:
        layout, n, size = self.layout, self.layout.n, self.layout.size
        self.do(f"%memory = getelementptr double, ptr %control, i64 {CONTROL}")
        for k, name in enumerate(("at", "p0", "p1", "p2")):
            self.do(f"%{name} = getelementptr double, ptr %memory, i64 {MEMORY + k * size}")
        lengths = [(name, size) for name in VECTORS]
        lengths += [("time", 8), ("pivots1", size), ("pivots2", size)]
        lengths += [("matrix", size * n), ("real", size * n), ("complex", 2 * size * n), ("entries", size * n)]
        lengths += [("moves", layout.moved)]
        lengths += [("wide", size * layout.lanes), ("wide.f", size * layout.lanes), ("wide.t", layout.lanes)]
        start = 0
        for name, length in lengths:
            self.do(f"%{name} = getelementptr double, ptr %work, i64 {start}")
            start += length
        assert start == layout.work

    # --- the error ---

    def _test(self) -> None:
        """Go on to `accept`, or to `retry`."""
        self._rescale()
        inverse = self.lines.splat(self._over(1.0, self._get(Memory.H)))
        with self.loop(self._all) as i:
            z = self._chunks("z", i)
            self.put_chunk(self.lines.times(self._weighted(E, z), inverse), "%d1", i)
            if self.norm:
                self.put_chunk(self.lines.times(self._weighted(A_INVERSE[2], z), inverse), "%k2", i)
        self._filter("%slope")
        # where h is far from what it should be, a stiff component spoils the first estimate: filtered once more
        unsure = self.let(f"or i1 {self._is(Memory.FIRST)}, {self._is(Memory.REJECTED)}")
        large = self.let(f"fcmp uge double {self._get(Memory.ERROR)}, {bits(1.0)}")
        with self.when(self.let(f"and i1 {unsure}, {large}")):
            with self.loop(self._all) as i:
                self.put_chunk(self.lines.plus(self.chunk("%y", i), self.chunk("%d0", i)), "%there", i)
            self._evaluate("%there", self.number("%control", 0), "%d2")
            self._filter("%d2")
        self._set(Memory.FACTOR, self._over(1.0, self._quotient()))
        good = self.let(f"fcmp olt double {self._get(Memory.ERROR)}, {bits(1.0)}")
        self._branch(good, "good", "retry")

    def _rescale(self) -> None:
        """y next, and the scale that it too is part of."""
        rtol, atol = (self.lines.splat(self.number("%control", index)) for index in (3, 4))
        with self.loop(self._all) as i:
            y, most = self.chunk("%y", i), "maxnum"
            after = self.lines.plus(y, self.chunk("%z2", i))
            self.put_chunk(after, "%next", i)
            size = self.lines.intrinsic(most, *(self.lines.intrinsic("fabs", x) for x in (y, after)))
            size = self.lines.intrinsic(most, size, self._floor(i))
            self.put_chunk(self.lines.fused(size, rtol, atol), "%scale", i)

    def _filter(self, slope: str) -> None:
        """The error, in d0."""
        with self.loop(self._all) as i:
            self.put_chunk(self.lines.plus(self.chunk(slope, i), self.chunk("%d1", i)), "%d0", i)
        self.do("call void @solve_1(ptr %real, ptr %pivots1, ptr %d0)")
        error = self._measured_norm() if self.norm else self._root_mean_square(("%d0",))
        self._set(Memory.ERROR, self.call("llvm.maximum.f64", error, bits(1e-10)))

    def _measured_norm(self) -> str:
        """Root mean square of the error in d0, that of momenta measured in velocities."""
        self.do(f"store {self.lines.type} zeroinitializer, ptr %sum.q")
        with self.loop(self._all) as i:
            error = self.chunk("%d0", i)
            self.put_chunk(error, "%there", i)
            self._add_square(error, self._scale_of_coordinates(i, self.chunk("%scale", i)), "%sum.q")
        self._add_velocity_errors(["%slope", "%k2"])
        total = self.plus(self._lane_sum(self.chunk("%sum.q", "0"), 0), self.let("load double, ptr %sum.v"))
        return self.call("llvm.sqrt.f64", self._over(total, bits(float(max(self.controlled, 1)))))

    # --- a step is done ---

    def _accept(self) -> None:
        h, is_last = self._get(Memory.H), self._is(Memory.LAST)
        t = self.let(f"select i1 {is_last}, double {self.number('%control', 2)}, double {self._time(1.0)}")
        self._remember(h)
        self.put(t, "%control", 0)
        self._copy("%closed" if self.projection else "%next", "%y")
        if self.quaternions and not self.projection:
            self._make_unit("%y")
        self.count("%counts", 0)
        self._set_next_step_size(h, is_last)
        self._record(t, h, is_last)
        if self.uncontrolled and not self.quaternions and not self.projection:
            self._copy("%d2", "%slope")
        else:
            self._evaluate("%y", t, "%slope")
        self._branch(is_last, "arrived", "more")
        self.label("arrived")
        self.put_integer(int(Status.ARRIVED), "%counts", 3)
        self.do("ret void")
        self.label("more")
        full = self.let(f"icmp sge i64 {self.integer('%counts', 5)}, {self.integer('%counts', 4)}")
        self._branch(full, "full", "step")
        self.label("full")
        self.put_integer(int(Status.FULL), "%counts", 3)
        self.do("ret void")

    def _settle(self, h: str) -> None:
        """What is not controlled, such as work terms, from the others as they are now.

        Newton's iteration did not wait for it: what it has is off by the square of the last change.
        """
        self._slopes()
        length, infinite = self.lines.splat(h), self.lines.number(math.inf)
        with self.loop(self._all) as i:
            slopes, z = self._chunks("d", i), self._chunks("z", i)
            apart = self.lines.compare("oeq", self._floor(i), infinite)
            sums = [self.lines.times(self._weighted(row, slopes), length) for row in A]
            z = [self.lines.choose(apart, total, old) for total, old in zip(sums, z, strict=True)]
            self._put_chunks(z, "z", i)
            self.put_chunk(self.lines.plus(self.chunk("%y", i), z[2]), "%next", i)

    def _remember(self, h: str) -> None:
        """The polynomial through 0 and z, by differences; and the slopes, A^-1 z / h."""
        inverse = self.lines.splat(self._over(1.0, h))
        with self.loop(self._all) as i:
            z, lines = self._chunks("z", i), self.lines
            late = self._slope(lines.less(z[2], z[1]), C[2] - C[1])
            middle = self._slope(lines.less(z[1], z[0]), C[1] - C[0])
            early = self._slope(z[0], C[0])
            bend = self._slope(lines.less(late, middle), C[2] - C[0])
            before = self._slope(lines.less(middle, early), C[1])
            self._put_chunks([late, bend, lines.less(bend, before)], "p", i)
            if self.dense:
                self._put_chunks([lines.times(self._weighted(row, z), inverse) for row in A_INVERSE], "k", i)

    def _slope(self, rise: str, run: float) -> str:
        return self.lines.times(rise, self.lines.number(1 / run))


IMPLICIT = Emitter(RadauLayout, radau_text)
