"""Explicit Runge-Kutta methods in machine code: many steps in one call.

The calling convention is that of methods.py. The step is written for W integrations in lanes, each with its own t and
h; here W = 1, and whole motions take more (motions.py). A step is accepted if the root mean square of the error over
its scale is at most 1 (Hairer, Norsett and Wanner 1993, II.4). The scale is atol + rtol max(|y|, |y new|, floor), and
`floor` is infinite for what is not to be controlled. Where there is an `ErrorNorm`, errors of momenta count as those of
the velocities that follow from them.

Quaternions are brought back to unit length after each step, and loops are closed where there is a `Projection`: a step
after which they cannot be closed is tried again with a smaller step size. After a rejected try it does not grow.
`y`, `floor` and `work` are filled up with zeros to whole chunks.

A record is t, h, y and, for dense output, all stages of the step that ended there and, where loops were closed after
it, y before that.
"""

from __future__ import annotations

from collections.abc import Sequence

from momentree.compile.emit.lanes import LanesCode, module
from momentree.compile.emit.routine import bits, table
from momentree.integrate.error_norm import ErrorNorm
from momentree.integrate.projection import Projection
from momentree.integrate.records import HEAD, Status, advance_function
from momentree.integrate.runge_kutta.error_norm_code import ErrorNormCode
from momentree.integrate.runge_kutta.layout import RungeKuttaLayout
from momentree.integrate.runge_kutta.projection_code import REOPENED, ProjectionCode
from momentree.integrate.runge_kutta.step_code import codes_text, tables_text
from momentree.integrate.tableau import Row, Tableau


def explicit_text(
    code: LanesCode, tableau: Tableau, n: int, controlled: int, quaternions: Sequence[int], parameters: bool,
    lanes: int, dense: bool, projection: Projection | None = None, norm: ErrorNorm | None = None,
) -> str:  # fmt: skip
    """The module of advance_1; `controlled` numbers count for the error, `quaternions` start in these columns."""
    texts, functions = codes_text(code, projection, norm)
    layout = RungeKuttaLayout(n, 1, lanes, tableau, dense, projection)
    routine = ExplicitStep(tableau, layout, 1, controlled, len(quaternions), parameters, dense, projection, norm)
    parts = [*texts, *tables_text(quaternions, projection, norm), nodes_text(tableau), routine.text()]
    return module(1, parts, functions | ({("power", 1)} if tableau.adaptive else set()))


def nodes_text(tableau: Tableau) -> str:
    """The tables of the nodes of all stages, of the weight of the stage before in each, and of their weights in b."""
    nodes = [*tableau.c, 1.0, *(c for c, _ in tableau.extra)]
    before = [row.get(i - 1, 0.0) for i, row in enumerate(tableau.a)]
    weights = [tableau.b.get(i, 0.0) for i in range(tableau.stages)]
    tables = {"nodes": nodes, "before": before, "weights": weights}
    return "\n".join(table(name, [bits(x) for x in numbers], "double") for name, numbers in tables.items())


class ExplicitStep(ErrorNormCode, ProjectionCode):
    """The text of advance_1; one step of it is that of many motions too (motions.py)."""

    def text(self) -> str:
        self._begin()
        self._at_label("step")
        self._choose_step_size()
        self._try()
        if self.tableau.adaptive:
            self._test()
            self.label("good")
        if self.projection:
            self._close_or_retry()
        self._at_label("accept")
        if self.dense and self.tableau.extra:
            self._extend()
        self._accept()
        return advance_function(self.lines)

    # --- parts of a step ---

    def _begin(self) -> None:
        self.do("%times = getelementptr double, ptr %control, i64 0")
        self._name_arrays()
        self._allocate()
        self._put_column(self.column.number(0.0), "%memory", 4)
        self._put_column(self.column.number(1.0), "%memory", 5)
        if self.norm and self.tableau.adaptive:
            self._estimate_noise()

    def _name_arrays(self) -> None:
        size = self.layout.size
        names = [*(f"%k{i}" for i in range(self.layout.stages)), "%there", "%next", "%closed", "%velocities"]
        names += ["%noise.q", "%noise.v", "%moves"]
        for index, name in enumerate(names):
            self.do(f"{name} = getelementptr double, ptr %work, i64 {index * size}")
        self.do(f"%time = getelementptr double, ptr %moves, i64 {self.layout.moved}")

    def _allocate(self) -> None:
        self.do(f"%memory = alloca {self.column.type}, i64 6, align 64")
        self.do("%stage = alloca i64")
        self.do("%stage.end = alloca i64")
        for k in range(len(self.tableau.errors)):
            self.do(f"%sum{k} = alloca {self.lines.type}, align 64")
        self._allocate_of_step()

    def _allocate_of_step(self) -> None:
        """What projection and error norm need."""
        if self.projection:
            self.do("%turns = alloca i64")
            self._allocate_columns("moved", "open", "opening", "settled")
        if self.norm:
            self.do(f"%sum.q = alloca {self.lines.type}, align 64")
            self._allocate_columns("sum.v", "velocities.size")

    # --- stages: the right-hand side is called at one place ---

    def _try(self) -> None:
        """All stages, and y next; the first stage where it is not there yet. Goes on under the label `tried`."""
        tableau = self.tableau
        stale = self._any(self._holds(self._column("%memory", 5)))
        self.put_integer(self.let(f"select i1 {stale}, i64 0, i64 1"), "%stage", 0)
        self.put_integer(tableau.stages + tableau.adaptive, "%stage.end", 0)
        self._at_label("stages")
        if self._is_summed:
            self._one_summed_stage()
        else:
            self._one_stage()
        stage = self.let(f"add i64 {self.integer('%stage', 0)}, 1")
        self.put_integer(stage, "%stage", 0)
        more = self.let(f"icmp slt i64 {stage}, {self.integer('%stage.end', 0)}")
        self._branch(more, "stages", "stages.done")
        self.label("stages.done")
        if self.dense and tableau.extra:
            main = self.let(f"icmp eq i64 {self.integer('%stage.end', 0)}, {tableau.stages + 1}")
            self._branch(main, "tried", "extended")
        else:
            self.goto("tried")
        self.label("tried")
        self._put_column(self.column.number(0.0), "%memory", 5)
        if self._is_summed:
            h = self._wide(self._column("%memory"))
            with self.loop(self._all) as i:
                self.put_chunk(self.lines.fused(self.chunk("%k1", i), h, self.chunk("%y", i)), "%next", i)
        elif not tableau.adaptive:
            self._combine("%next", tableau.b)

    @property
    def _is_summed(self) -> bool:
        """Whether each stage needs only the one before: then that one is in k0, and in k1 the sum for y next so far."""
        alone = all(set(row) <= {i - 1} for i, row in enumerate(self.tableau.a))
        return alone and self.tableau.stages > 1 and not self.tableau.adaptive and not self.dense

    def _one_summed_stage(self) -> None:
        """A stage from the one before: the same operations as in `_one_stage`, with two arrays for all stages."""
        stage, lines = self.integer("%stage", 0), self.lines
        before, node, weight = (self._at(f"@{name}", stage) for name in ("before", "nodes", "weights"))
        first, h = self.let(f"icmp eq i64 {stage}, 0"), self._wide(self._column("%memory"))
        with self.loop(self._all) as i:
            y = self.chunk("%y", i)
            moved = lines.fused(lines.times(self.chunk("%k0", i), lines.splat(before)), h, y)
            self.put_chunk(self.let(f"select i1 {first}, {lines.type} {y}, {lines.type} {moved}"), "%there", i)
        self._evaluate("%there", self._time(node), "%k0")
        with self.loop(self._all) as i:
            k, share = self.chunk("%k0", i), lines.splat(weight)
            alone, total = lines.times(k, share), lines.fused(k, share, self.chunk("%k1", i))
            self.put_chunk(self.let(f"select i1 {first}, {lines.type} {alone}, {lines.type} {total}"), "%k1", i)

    def _one_stage(self) -> None:
        """Where the stage is evaluated, and its evaluation."""
        rows, size = self._rows_of_stages(), self.layout.size
        stage = self.integer("%stage", 0)
        cases = " ".join(f"i64 {i}, label %stage{i}" for i in range(1, len(rows)))
        self.do(f"switch i64 {stage}, label %stage0 [ {cases} ]")
        for i, row in enumerate(rows):
            self.label(f"stage{i}")
            if row:
                self._combine("%next" if self._is_end(i) else "%there", row)
            else:
                self._copy("%y", "%there")
            self.goto("evaluate")
        self.label("evaluate")
        node = self.let(f"load double, ptr {self.let(f'getelementptr double, ptr @nodes, i64 {stage}')}")
        at_end = self.let(f"icmp eq i64 {stage}, {self.tableau.stages}")
        y = self.let(f"select i1 {at_end}, ptr %next, ptr %there") if self.tableau.adaptive else "%there"
        to = self.offset("%k0", self.let(f"mul i64 {stage}, {size}"))
        self._evaluate(y, self._time(node), to)

    def _is_end(self, stage: int) -> bool:
        return self.tableau.adaptive and stage == self.tableau.stages

    def _rows_of_stages(self) -> list[Row]:
        """Of all stages, those of dense output behind f at the end of the step."""
        end = [self.tableau.b] if self.tableau.adaptive else []
        return [*self.tableau.a, *end, *(row for _, row in self.tableau.extra if self.dense)]

    def _extend(self) -> None:
        """The stages that only dense output needs. Goes on under the label `extended`."""
        first = self.tableau.stages + 1
        self.put_integer(first, "%stage", 0)
        self.put_integer(first + len(self.tableau.extra), "%stage.end", 0)
        self.goto("stages")
        self.label("extended")

    def _combine(self, to: str, row: Row) -> None:
        """y + h times a sum of stages."""
        h = self._wide(self._column("%memory"))
        with self.loop(self._all) as i:
            self.put_chunk(self.lines.fused(self._sum(row, i), h, self.chunk("%y", i)), to, i)

    # --- a try is rejected: one integration ---

    def _test(self) -> None:
        """Go on to `good`, or try again with a smaller step size."""
        error = self._error()
        self._put_column(error, "%memory", 3)
        self._branch(self.column.compare("ole", error, self.column.number(1.0)), "good", "reject")
        self.label("reject")
        self._retry_smaller(self._rejected_factor(error), "fail")
        self.label("fail")
        self._end(self.let(f"fptosi double {self._status_of_short_steps(error)} to i64"))

    def _retry_smaller(self, factor: str, fail: str) -> None:
        """Back to `step` with a step size by so much smaller, or to where this fails."""
        self.count("%counts", 1)
        self._put_column(self.column.number(1.0), "%memory", 4)
        h = self._smaller(factor)
        self._put_column(h, "%times", 1)
        self._branch(self._below_resolution(h), fail, "step")

    def _close_or_retry(self) -> None:
        """Where loops cannot be closed, try a smaller step size."""
        self._close()
        self._branch(self._is_closed(), "shut", "opened")
        self.label("opened")
        self._reopen()
        self.label("shut")

    def _reopen(self) -> None:
        """Try a smaller step size, or end before this step."""
        if self.tableau.adaptive:
            self._retry_smaller(self.column.number(REOPENED), "stay")
            self.label("stay")
        self._end(int(Status.OPEN))

    # --- a step is done ---

    def _accept(self) -> None:
        h, t = self._column("%memory"), self._new_time()
        self._put_column(t, "%times")
        self._copy("%closed" if self.projection else "%next", "%y")
        if not self.projection:
            self._make_unit("%y")
        self.count("%counts", 0)
        if self.tableau.adaptive:
            self._put_column(self._next_step_size(), "%times", 1)
            self._put_column(self.column.number(0.0), "%memory", 4)
        is_last = self._is_last()
        self._record(t, h, is_last)
        if self._same_as_last:
            self._copy(f"%k{self.tableau.stages}", "%k0")
        else:
            self._put_column(self.column.number(1.0), "%memory", 5)
        self._step_again_or_end(is_last)

    @property
    def _same_as_last(self) -> bool:
        """Whether f at the end is f at the next beginning: not where y was touched."""
        return self.tableau.adaptive and not self.quaternions and not self.projection

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
                self._copy(array, self.offset(start, HEAD + index * self.layout.size))
            self.count("%counts", 5)
