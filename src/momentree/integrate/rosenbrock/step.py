"""Rosenbrock methods in machine code: stiff systems without Newton's iteration, one integration at a time.

A step takes the Jacobian J = df/dy where it begins, factors 1 / (gamma h) - J once, and solves one linear system for
each stage (tableau.py). There is nothing to iterate, and nothing to look back at: what a step computes depends on y, t
and h alone. So loops may be projected after it, momenta and all, and every step of every integration is the same
sequence of operations.

J and df/dt are the code of the tape's derivatives (compile/emit/jacobian_code.py). Where there is none, or where it is
not finite, they come from differences. The order of the method rests on J: it is that of this very y. A try that was
rejected leaves it as it is.

The calling convention is that of methods.py. A record for dense output holds the polynomial of the step.
"""

from __future__ import annotations

from collections.abc import Sequence

from momentree.compile.emit.jacobian_code import Derivatives
from momentree.compile.emit.lanes import LanesCode, module
from momentree.compile.emit.routine import bits, table
from momentree.integrate.error_norm import ErrorNorm
from momentree.integrate.linear_algebra import algebra_texts
from momentree.integrate.projection import Projection
from momentree.integrate.radau.layout import Memory
from momentree.integrate.radau.step import TOGETHER
from momentree.integrate.rosenbrock.differences_code import DifferencesCode
from momentree.integrate.rosenbrock.layout import RosenbrockLayout
from momentree.integrate.rosenbrock.step_size_code import RosenbrockStepSizeCode
from momentree.integrate.rosenbrock.tableau import RosenbrockTableau
from momentree.integrate.runge_kutta.step_code import codes_text, tables_text
from momentree.integrate.runge_kutta.stepper import Emitter


def rosenbrock_text(
    code: LanesCode, tableau: RosenbrockTableau, n: int, controlled: int, quaternions: Sequence[int],
    parameters: bool, lanes: int, dense: bool, projection: Projection | None = None,
    norm: ErrorNorm | None = None,
) -> str:  # fmt: skip
    """The module of advance_1; the first `controlled` numbers count for the error."""
    layout = RosenbrockLayout(n, 1, lanes, tableau, dense, projection)
    texts, functions = codes_text(code, projection, norm)
    derivatives = Derivatives.of(code)
    wide = 1 if parameters else min(lanes, TOGETHER)
    if derivatives.jacobian is not None:
        more, others = derivatives.jacobian.lanes(1, "jacobian")
        texts, functions, wide = [*texts, *more], functions | others, 1
    if wide > 1:
        more, others = code.lanes(wide, "columns")
        texts, functions = [*texts, *more], functions | others
    counts = controlled, len(quaternions), parameters, dense, len(derivatives.pattern)
    routine = RosenbrockStep(layout, *counts, projection, norm, wide)
    routine.know_time(code)
    tables = tables_text(quaternions, projection, norm)
    tables.append(table("pattern", [j * layout.size + i for i, j in derivatives.pattern]))
    algebra = algebra_texts(n, layout.size, lanes, controlled, 1)
    return module(1, [*texts, *tables, *algebra, routine.text()], functions | {("power", 1)})


class RosenbrockStep(DifferencesCode, RosenbrockStepSizeCode):
    """The text of advance_1; the error norm, records, projection and other tries are those of the Radau step."""

    layout: RosenbrockLayout  # type: ignore[assignment]

    def __init__(
        self, layout: RosenbrockLayout, controlled: int, quaternions: int, parameters: bool, dense: bool, entries: int,
        projection: Projection | None = None, norm: ErrorNorm | None = None, wide: int = 1,
    ):  # fmt: skip
        super().__init__(layout, controlled, quaternions, parameters, dense, entries, projection, norm, wide)  # type: ignore[arg-type]
        self._take_method(layout)

    def _take_method(self, layout: RosenbrockLayout) -> None:
        self.method, self.uncontrolled = layout.tableau.used, 0  # what is not controlled needs no care of its own

    def know_time(self, code: LanesCode) -> None:
        """Whether f depends on time, and the code of its Jacobian has df/dt."""
        known = Derivatives.of(code)
        self.autonomous, self.in_time = known.autonomous, known.in_time and known.jacobian is not None

    def _write_step(self) -> None:
        """From `step` on until a step is done; where it cannot be, another try."""
        self._at_label("step")
        self._choose_step_size()
        self._renew()
        for i in range(self.method.stages):
            self._stage(i)
        self._test()
        self._write_retry()
        self.label("good")
        if self.projection:
            self._close_or_retry()

    # --- where a call begins ---

    def _begin_here(self) -> None:
        """What a call, or a motion, begins with."""
        super()._begin_here()
        self._set(Memory.STALE, 1.0)

    def _restore_matrices(self) -> None:
        """There are none: every step takes a new Jacobian."""

    def _name_kept(self) -> None:
        """Only y, where the Jacobian is taken."""
        self.do("%at = getelementptr double, ptr %y, i64 0")

    # --- the Jacobian, and df/dt behind it ---

    def _renew(self) -> None:
        """The Jacobian of this y where it is not there yet, and factors for this h."""
        with self.when(self._is(Memory.STALE)):
            self._set(Memory.T_JACOBIAN, self.number("%control", 0))
            with self.loop(self._all) as i:
                self.put_chunk("zeroinitializer", "%slope.t", i)
            self._jacobian()
            if not self.in_time and not self.autonomous:
                self._difference_in_time()
            self._set(Memory.FRESH, 1.0)
            self._set(Memory.STALE, 0.0)
        self._make_factors()

    def _make_factors(self) -> None:
        """1 / (gamma h) - J as its factors."""
        size, diagonal = self.layout.size, self._over(1 / self.method.gamma, self._get(Memory.H))
        with self.loop(self.layout.n) as j:
            first = self.let(f"mul i64 {j}, {size}")
            column, real = (self.offset(array, first) for array in ("%matrix", "%real"))
            with self.loop(self._all) as i:
                self.put_chunk(self.lines.negative(self.chunk(column, i)), real, i)
            at = self.offset(real, j)
            self.do(f"store double {self.plus(self.let(f'load double, ptr {at}'), diagonal)}, ptr {at}")
        self.do("call void @factor_1(ptr %real, ptr %pivots)")

    # --- stages ---

    def _stage(self, i: int) -> None:
        """u_i, from those before it."""
        k, before = self.method, [f"%u{j}" for j in range(i)]
        if i:
            self._add_weighted("%y", k.a[i - 1], before, "%there")
            self._evaluate("%there", self._time(k.nodes[i]), f"%u{i}")
        if i == k.stages - 1:
            self._copy(f"%u{i}", "%end")  # f where the step ends
        h = self._get(Memory.H)
        inverse = self.lines.splat(self._over(1.0, h))
        late = self.lines.splat(self.times(h, bits(k.times[i]))) if k.times[i] and not self.autonomous else ""
        with self.loop(self._all) as at:
            total = self.chunk(f"%u{i}" if i else "%slope", at)
            if i:
                earlier = self._weighted(k.c[i - 1], [self.chunk(u, at) for u in before])
                total = self.lines.fused(earlier, inverse, total)
            if late:
                total = self.lines.fused(self.chunk("%slope.t", at), late, total)
            self.put_chunk(total, f"%u{i}", at)
        self.do(f"call void @solve_1(ptr %real, ptr %pivots, ptr %u{i})")

    def _add_weighted(self, y: str, row: Sequence[float], arrays: Sequence[str], to: str) -> None:
        """y and a sum of arrays times numbers."""
        pairs = [(x, array) for x, array in zip(row, arrays, strict=True) if x]
        with self.loop(self._all) as i:
            total = self._weighted([x for x, _ in pairs], [self.chunk(array, i) for _, array in pairs])
            self.put_chunk(self.lines.plus(self.chunk(y, i), total), to, i)

    # --- the error ---

    def _test(self) -> None:
        """Go on to `good`, or to `retry`."""
        self._rescale()
        error = self._measured_norm("%end") if self.norm else self._root_mean_square(("%d0",))
        self._set(Memory.ERROR, self.call("llvm.maximum.f64", error, bits(1e-10)))
        self._set(Memory.FACTOR, self._over(1.0, self._quotient()))
        good = self.let(f"fcmp ole double {self._get(Memory.ERROR)}, {bits(1.0)}")
        self._branch(good, "good", "retry")

    def _rescale(self) -> None:
        """y next, which is where the last stage was taken but for that stage, the error; and the scale of the error."""
        rtol, atol = (self.lines.splat(self.number("%control", index)) for index in (3, 4))
        with self.loop(self._all) as i:
            y, most, error = self.chunk("%y", i), "maxnum", self.chunk(f"%u{self.method.stages - 1}", i)
            after = self.lines.plus(self.chunk("%there", i), error)
            self.put_chunk(after, "%next", i)
            self.put_chunk(error, "%d0", i)
            size = self.lines.intrinsic(most, *(self.lines.intrinsic("fabs", x) for x in (y, after)))
            size = self.lines.intrinsic(most, size, self._floor(i))
            self.put_chunk(self.lines.fused(size, rtol, atol), "%scale", i)

    # --- a step is done ---

    def _remember(self, h: str) -> None:
        """The polynomial of the step over h, for dense output."""
        if not self.dense:
            return
        inverse, stages = self.lines.splat(self._over(1.0, h)), range(self.method.stages)
        with self.loop(self._all) as i:
            u = [self.lines.times(self.chunk(f"%u{j}", i), inverse) for j in stages]
            for j, row in enumerate(self.method.polynomial):
                self.put_chunk(self._weighted([float(x) for x in row], u), f"%k{j}", i)


ROSENBROCK = Emitter(RosenbrockLayout, rosenbrock_text)
