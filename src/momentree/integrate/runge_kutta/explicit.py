"""Explicit Runge-Kutta methods in machine code: many steps in one call, several integrations at a time in the lanes.

The calling convention is that of methods.py. Arrays are columns of W numbers, one for each lane; the lanes share t and
h. A step is accepted if, in every lane, the root mean square of the error over its scale is at most 1 (Hairer, Norsett
and Wanner 1993, II.4). The scale is atol + rtol max(|y|, |y new|, floor), and `floor` is infinite for what is not to be
controlled. Where there is an `ErrorNorm`, errors of momenta count as those of the velocities that follow from them.

Quaternions are brought back to unit length after each step, and loops are closed where there is a `Projection`: a step
after which they cannot be closed is tried again with a smaller step size. After a rejected try it does not grow.
`y`, `floor` and `work` are filled up with zeros to whole chunks.

A record is t, h, y and, for dense output, all stages of the step that ended there and, where loops were closed after
it, y before that.
"""

from __future__ import annotations

from collections.abc import Sequence

from momentree.compile.emit.lanes import LanesCode, module
from momentree.compile.emit.llvm_functions import Lines
from momentree.compile.emit.routine import bits
from momentree.integrate.error_norm import ErrorNorm
from momentree.integrate.projection import Projection
from momentree.integrate.records import HEAD, Status, advance_function
from momentree.integrate.runge_kutta.error_norm_code import ErrorNormCode
from momentree.integrate.runge_kutta.layout import RungeKuttaLayout
from momentree.integrate.runge_kutta.projection_code import ProjectionCode
from momentree.integrate.runge_kutta.step_code import codes_text, tables_text
from momentree.integrate.runge_kutta.step_size_code import LEAST
from momentree.integrate.tableau import Row, Tableau


def explicit_text(
    code: LanesCode, tableau: Tableau, n: int, controlled: int, quaternions: Sequence[int], parameters: bool,
    width: int, lanes: int, dense: bool, projection: Projection | None = None, norm: ErrorNorm | None = None,
) -> str:  # fmt: skip
    """The module of advance_W; `controlled` numbers count for the error, `quaternions` start in these columns."""
    texts, functions = codes_text(code, projection, norm, width)
    layout = RungeKuttaLayout(n, width, lanes, tableau, dense, projection)
    routine = ExplicitStep(tableau, layout, width, controlled, len(quaternions), parameters, dense, projection, norm)
    parts = [*texts, *tables_text(quaternions, projection, norm), routine.text()]
    return module(1, parts, functions | ({("power", 1)} if tableau.adaptive else set()))


class ExplicitStep(ErrorNormCode, ProjectionCode):
    """The text of advance_W."""

    def text(self) -> str:
        self._begin()
        self.goto("step")
        self.label("step")
        self._choose_step_size()
        self._stages()
        if self.tableau.adaptive:
            self._test()
            self.label("good")
        if self.projection:
            self._close()
        self.goto("accept")
        self.label("accept")
        self._accept()
        return advance_function(self.width, self.lines)

    # --- parts of a step ---

    def _begin(self) -> None:
        size = self.layout.size
        names = [*(f"%k{i}" for i in range(self.layout.stages)), "%there", "%next", "%closed", "%velocities"]
        names += ["%noise.q", "%noise.v", "%moves"]
        for index, name in enumerate(names):
            self.do(f"{name} = getelementptr double, ptr %work, i64 {index * size}")
        self.do(f"%time = getelementptr double, ptr %moves, i64 {self.layout.moved}")
        # h of this step, whether it is the last, h before it was cut, error, whether the last try was rejected
        self.do("%memory = alloca double, i64 5")
        self.put(bits(0.0), "%memory", 4)
        for k in range(len(self.tableau.errors)):
            self.do(f"%sum{k} = alloca {self.lines.type}, align 64")
        self._allocate()
        if self.norm and self.tableau.adaptive:
            self._estimate_noise()
        self._evaluate("%y", self.number("%control", 0), "%k0")

    def _allocate(self) -> None:
        if self.projection:
            self.do("%turns = alloca i64")
            self.do("%moved = alloca double")
            self.do("%open = alloca double")
        if self.norm:
            self.do(f"%sum.q = alloca {self.lines.type}, align 64")
            for name in ("%sum.v", "%velocities.size"):
                self.do(f"{name} = alloca {Lines(self.width).type}, align 64")

    def _stages(self) -> None:
        for i in range(1, self.tableau.stages):
            self._combine("%there", self.tableau.a[i])
            self._evaluate("%there", self._time(self.tableau.c[i]), f"%k{i}")
        self._combine("%next", self.tableau.b)
        if self.tableau.adaptive:
            self._evaluate("%next", self._time(1.0), f"%k{self.tableau.stages}")

    def _combine(self, to: str, row: Row) -> None:
        """y + h times a sum of stages."""
        h = self.lines.splat(self.number("%memory", 0))
        with self.loop(self.layout.size // self.layout.chunk) as i:
            self.put_chunk(self.lines.fused(self._sum(row, i), h, self.chunk("%y", i)), to, i)

    def _test(self) -> None:
        """Go on to `good`, or try again with a smaller step size."""
        error = self._error()
        self.put(error, "%memory", 3)
        good = self.let(f"fcmp ole double {error}, {bits(1.0)}")
        self.do(f"br i1 {good}, label %good, label %reject")
        self.label("reject")
        # a NaN has no factor of its own: the least
        self._retry_smaller(self.call("llvm.maxnum.f64", self._factor(error), bits(LEAST)), "fail")
        self.label("fail")
        ordered = self.let(f"fcmp ord double {error}, {error}")
        finite = self.let(f"fcmp olt double {error}, {bits(1e300)}")
        status = self.let(f"select i1 {self.let(f'and i1 {ordered}, {finite}')}, i64 2, i64 3")
        self.put_integer(status, "%counts", 3)
        self.do("ret void")

    # --- a step is done ---

    def _accept(self) -> None:
        if self.dense:
            for index, (c, row) in enumerate(self.tableau.extra):
                self._combine("%there", row)
                self._evaluate("%there", self._time(c), f"%k{self.tableau.stages + 1 + index}")
        h, last = self.number("%memory", 0), self.number("%memory", 1)
        is_last = self.let(f"fcmp one double {last}, {bits(0.0)}")
        t = self.let(f"select i1 {is_last}, double {self.number('%control', 2)}, double {self._time(1.0)}")
        self.put(t, "%control", 0)
        with self.loop(self.layout.size // self.layout.chunk) as i:
            self.put_chunk(self.chunk("%closed" if self.projection else "%next", i), "%y", i)
        if self.quaternions and not self.projection:
            self._make_unit("%y")
        self.count("%counts", 0)
        if self.tableau.adaptive:
            self._set_next_step_size(h, is_last)
        self._record(t, h, is_last)
        # f at the end is f at the next beginning, but where y was touched
        if self.tableau.adaptive and not self.quaternions and not self.projection:
            with self.loop(self.layout.size // self.layout.chunk) as i:
                self.put_chunk(self.chunk(f"%k{self.tableau.stages}", i), "%k0", i)
        else:
            self._evaluate("%y", t, "%k0")
        self.do(f"br i1 {is_last}, label %arrived, label %more")
        self.label("arrived")
        self.put_integer(int(Status.ARRIVED), "%counts", 3)
        self.do("ret void")
        self.label("more")
        full = self.let(f"icmp sge i64 {self.integer('%counts', 5)}, {self.integer('%counts', 4)}")
        self.do(f"br i1 {full}, label %full, label %step")
        self.label("full")
        self.put_integer(int(Status.FULL), "%counts", 3)
        self.do("ret void")

    def _record(self, t: str, h: str, is_last: str) -> None:
        rest = self.let(f"srem i64 {self.integer('%counts', 0)}, {self.integer('%counts', 6)}")
        due = self.let(f"or i1 {is_last}, {self.let(f'icmp eq i64 {rest}, 0')}")
        with self.when(due):
            before = self.let(f"mul i64 {self.integer('%counts', 5)}, {self.layout.record}")
            start = self.let(f"getelementptr double, ptr %records, i64 {before}")
            self.put(t, start, 0)
            self.put(h, start, 1)
            arrays = ["%y", *(f"%k{i}" for i in range(self.layout.stages))] if self.dense else ["%y"]
            arrays += ["%next"] if self.dense and self.projection else []
            for index, array in enumerate(arrays):
                to = self.let(f"getelementptr double, ptr {start}, i64 {HEAD + index * self.layout.size}")
                with self.loop(self.layout.size // self.layout.chunk) as i:
                    self.put_chunk(self.chunk(array, i), to, i)
            self.count("%counts", 5)
