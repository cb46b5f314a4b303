"""Radau IIA of order 5 in machine code: the implicit Runge-Kutta method for stiff systems, one integration at a time.

    z_i = h sum_j a_ij f(t + c_j h, y + z_j),   y next = y + z_3

after RADAU5 (Hairer and Wanner, Solving Ordinary Differential Equations II, 1996, IV.8). Newton's iteration is done for
w = T^-1 z, which parts the 3n equations into n real and n complex ones, with one Jacobian J for all of them:

    (gamma / h - J) dw_1 = ...,   ((alpha + i beta) / h - J) (dw_2 + i dw_3) = ...

J is kept while the iteration converges quickly, the factors of the matrices as long as h stays the same too. J is the
code of the tape's derivatives (compile/emit/jacobian_code.py). Where there is none, or where it is not finite, it comes
from differences, several columns at a time in the lanes of a vector. What is not controlled, such as work terms,
does not act back on the rest: the matrices are without it, and it follows from the slopes when the rest is known.

The calling convention is that of methods.py. A record for dense output holds the slopes f(t + c_i h, y + z_i) of the
step. What a step needs of earlier steps stands in `control` after the six numbers: see `Memory`. Set to zero, these are
forgotten.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from momentree.compile.emit.jacobian_code import Derivatives
from momentree.compile.emit.lanes import LanesCode, module
from momentree.compile.emit.routine import bits, table
from momentree.integrate.error_norm import ErrorNorm
from momentree.integrate.linear_algebra import algebra_texts
from momentree.integrate.projection import Projection
from momentree.integrate.radau.jacobian_code import JacobianCode
from momentree.integrate.radau.layout import CONTROL, MEMORY, Memory, RadauLayout
from momentree.integrate.radau.newton_code import NewtonCode
from momentree.integrate.radau.step_size_code import RadauStepSizeCode
from momentree.integrate.radau.tableau import RadauTableau
from momentree.integrate.records import advance_function
from momentree.integrate.runge_kutta.step_code import codes_text, tables_text
from momentree.integrate.runge_kutta.stepper import Emitter

TOGETHER = 4  # states at which f is evaluated at once: all stages, or so many columns of the Jacobian


def radau_text(
    code: LanesCode, tableau: RadauTableau, n: int, controlled: int, quaternions: Sequence[int], parameters: bool,
    lanes: int, dense: bool, projection: Projection | None = None, norm: ErrorNorm | None = None,
) -> str:  # fmt: skip
    """The module of advance_1; the first `controlled` numbers count for the error."""
    layout = RadauLayout(n, 1, lanes, tableau, dense, projection)
    texts, functions = codes_text(code, projection, norm)
    derivatives = Derivatives.of(code)
    wide = 1 if parameters else min(lanes, TOGETHER)
    if derivatives.jacobian is not None:
        more, others = derivatives.jacobian.lanes(1, "jacobian")
        texts, functions = [*texts, *more], functions | others
    if wide > 1:
        more, others = code.lanes(wide, "columns")
        texts, functions = [*texts, *more], functions | others
    routine = RadauStep(
        layout, controlled, len(quaternions), parameters, dense, len(derivatives.pattern), projection, norm, wide
    )
    tables = tables_text(quaternions, projection, norm)
    tables.append(table("pattern", [j * layout.size + i for i, j in derivatives.pattern]))
    algebra = [text for parts in (1, 2) for text in algebra_texts(controlled, layout.size, lanes, controlled, parts)]
    return module(1, [*texts, *tables, *algebra, routine.text()], functions | {("power", 1)})


class RadauStep(JacobianCode, NewtonCode, RadauStepSizeCode):
    """The text of advance_1."""

    def text(self) -> str:
        self._begin()
        self._write_step()
        self._at_label("accept")
        self._accept()
        return advance_function(self.lines)

    def _write_step(self) -> None:
        """From `step` on until a step is done; where it cannot be, another try."""
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
            self._close_or_retry()

    # --- where a call begins ---

    def _begin(self) -> None:
        self.do("%times = getelementptr double, ptr %control, i64 0")
        self._name_arrays()
        self._allocate()
        self._begin_here()
        self._restore_matrices()

    def _restore_matrices(self) -> None:
        """They are not kept from call to call, but made again from what they were made of."""
        with self.when(self._is(Memory.STALE, False)):
            self._jacobian()
            with self.when(self._is(Memory.H_FACTORED)):
                self._make_factors()

    def _begin_here(self) -> None:
        """What a call, or a motion, begins with."""
        if self.norm:
            self._estimate_noise()
        self._evaluate("%y", self.number("%control", 0), "%slope")
        with self.when(self._is(Memory.BEGUN, False)):
            for what in (Memory.BEGUN, Memory.FIRST, Memory.STALE, Memory.REMAINING):
                self._set(what, 1.0)

    def _allocate(self) -> None:
        self.do(f"%sum = alloca {self.lines.type}, align 64")
        self._allocate_of_step()

    def _name_arrays(self) -> None:
        self.do(f"%memory = getelementptr double, ptr %control, i64 {CONTROL}")
        self._name_kept()
        start = 0
        seconds = {f"d{k}": f"d{k - 1}" for k in range(2, self.s, 2)}  # parts of complex numbers stay together
        for name, length in self.layout.arrays:
            base, offset = (seconds[name], self.layout.size) if name in seconds else ("work", start)
            self.do(f"%{name} = getelementptr double, ptr %{base}, i64 {offset}")
            start += length

    def _name_kept(self) -> None:
        """y where the Jacobian was taken, and the polynomial of the step before."""
        for k, name in enumerate(("at", *(f"p{k}" for k in range(self.s)))):
            self.do(f"%{name} = getelementptr double, ptr %memory, i64 {MEMORY + k * self.layout.size}")

    # --- the error ---

    def _test(self) -> None:
        """Go on to `accept`, or to `retry`."""
        self._rescale()
        inverse = self.lines.splat(self._over(1.0, self._get(Memory.H)))
        with self.loop(self._all) as i:
            z = self._chunks("z", i)
            self.put_chunk(self.lines.times(self._weighted(self.radau.error, z), inverse), "%d1", i)
            if self.norm:
                self.put_chunk(
                    self.lines.times(self._weighted(self.radau.a_inverse[-1], z), inverse), f"%k{self.s - 1}", i
                )
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
            after = self.lines.plus(y, self.chunk(f"%z{self.s - 1}", i))
            self.put_chunk(after, "%next", i)
            size = self.lines.intrinsic(most, *(self.lines.intrinsic("fabs", x) for x in (y, after)))
            size = self.lines.intrinsic(most, size, self._floor(i))
            self.put_chunk(self.lines.fused(size, rtol, atol), "%scale", i)

    def _filter(self, slope: str) -> None:
        """The error, in d0."""
        with self.loop(self._all) as i:
            self.put_chunk(self.lines.plus(self.chunk(slope, i), self.chunk("%d1", i)), "%d0", i)
        self.do("call void @solve_1(ptr %real, ptr %pivots, ptr %d0)")
        error = self._measured_norm(f"%k{self.s - 1}") if self.norm else self._root_mean_square(("%d0",))
        self._set(Memory.ERROR, self.call("llvm.maximum.f64", error, bits(1e-10)))

    def _measured_norm(self, end: str) -> str:
        """Root mean square of the error in d0, that of momenta measured in velocities; `end` is f where it ends."""
        self.do(f"store {self.lines.type} zeroinitializer, ptr %sum.q")
        with self.loop(self._all) as i:
            error = self.chunk("%d0", i)
            self.put_chunk(error, "%there", i)
            self._add_square(error, self._scale_of_coordinates(i, self.chunk("%scale", i)), "%sum.q")
        self._add_velocity_errors(["%slope", end])
        total = self.plus(self._over_lanes(self.chunk("%sum.q", "0")), self._column("%sum.v"))
        return self.call("llvm.sqrt.f64", self._over(total, bits(float(max(self.controlled, 1)))))

    # --- a step is done ---

    def _accept(self) -> None:
        h, t, is_last = self._get(Memory.H), self._new_time(), self._is_last()
        self._remember(h)
        self._move_on(t, h, is_last)
        self._record(t, h, is_last)
        self._renew_slope(t)
        self._step_again_or_end(is_last)

    def _move_on(self, t: str, h: str, is_last: str) -> None:
        """The new t, y and step size."""
        self.put(t, "%control", 0)
        self._copy("%closed" if self.projection else "%next", "%y")
        if not self.projection:
            self._make_unit("%y")
        self.count("%counts", 0)
        self._set_next_step_size(h, is_last)

    def _renew_slope(self, t: str) -> None:
        """f at the beginning of the next step."""
        if self.uncontrolled and not self.quaternions and not self.projection:
            self._copy(f"%d{self.s - 1}", "%slope")
        else:
            self._evaluate("%y", t, "%slope")

    def _settle(self, h: str) -> None:
        """What is not controlled, such as work terms, from the others as they are now: the iteration left it alone."""
        self._slopes()
        length, infinite = self.lines.splat(h), self.lines.number(math.inf)
        with self.loop(self._all) as i:
            slopes, z = self._chunks("d", i), self._chunks("z", i)
            apart = self.lines.compare("oeq", self._floor(i), infinite)
            sums = [self.lines.times(self._weighted(row, slopes), length) for row in self.radau.a]
            z = [self.lines.choose(apart, total, old) for total, old in zip(sums, z, strict=True)]
            self._put_chunks(z, "z", i)
            self.put_chunk(self.lines.plus(self.chunk("%y", i), z[-1]), "%next", i)

    def _remember(self, h: str) -> None:
        """The polynomial through 0 and z, by differences; and the slopes, A^-1 z / h."""
        inverse = self.lines.splat(self._over(1.0, h))
        with self.loop(self._all) as i:
            z, lines = self._chunks("z", i), self.lines
            nodes, values, slopes = [*reversed(self.radau.c), 0.0], [*reversed(z), ""], []
            for k in range(1, self.s + 1):  # divided differences, from the end of the step backwards
                pairs = zip(values, values[1:], nodes, nodes[k:], strict=False)
                values = [self._slope(lines.less(a, b) if b else a, x - y) for a, b, x, y in pairs]
                slopes.append(values[0])
            self._put_chunks(slopes, "p", i)
            if self.dense:
                self._put_chunks([lines.times(self._weighted(row, z), inverse) for row in self.radau.a_inverse], "k", i)

    def _slope(self, rise: str, run: float) -> str:
        return rise if run == 1 else self.lines.times(rise, self.lines.number(1 / run))


IMPLICIT = Emitter(RadauLayout, radau_text)
