"""Explicit Runge-Kutta methods in machine code: many steps in one call, several motions at a time in the lanes.

    void advance_W(double *control, int64_t *counts, double *y, const double *parameters, const double *floor,
                   double *work, double *records, double *scratch)

Arrays are columns of W numbers, one for each lane; the lanes share t and h. A step is accepted if, in every lane, the
error over atol + rtol max(|y|, |y new|, floor) is at most 1 (Hairer, Norsett and Wanner 1993, II.4); `floor` is
infinite for what is not to be controlled. Quaternions are brought back to unit length after each step, and loops are
closed where there is a `Projection`. `y`, `floor` and `work` are filled up with zeros to whole chunks.

| control | 0 t | 1 h | 2 stop | 3 rtol | 4 atol | 5 longest h                                                     |
| counts  | 0 accepted | 1 rejected | 2 evaluations | 3 status | 4 room for records | 5 records | 6 steps in a record |

A record is t, h, y and, for dense output, all stages of the step that ended there and, where loops were closed after
it, y before that. The call ends at `stop`, when the
records are full, or when something is wrong: see `Status`.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from momentree.compile.functions import Lines, libm_symbol
from momentree.compile.rows import module
from momentree.simulate.integrators.routine import Routine, bits
from momentree.simulate.integrators.tableaux import Row, Tableau

HEAD = 8  # numbers before y in a record: t, h, and room that keeps y aligned
SAFETY, LEAST, MOST = 0.9, 0.2, 10.0  # factors of the step length
EPSILON = 2.0**-52
NEWTON, NEAR = 4, 1e-7  # steps of Newton's method that close loops, at most; the last is one that moved q by less


class Status(enum.IntEnum):
    """Why a call ended."""

    ARRIVED = 0  # at stop
    FULL = 1  # as many records as there was room for
    TOO_SHORT = 2  # the step length that the tolerance asks for is below the resolution of t
    NOT_FINITE = 3  # and the reason is that the derivatives are not finite


class LanesCode(Protocol):
    """Code that can be written for columns of lanes: of a tape, or rolled."""

    def lanes(self, width: int, name: str) -> tuple[list[str], set[tuple[str, int]]]:
        """The texts that define `name`_W, and the functions that it calls."""
        ...

    def scratch(self, width: int) -> int:
        """How many numbers it needs to write."""
        ...


class Projection(NamedTuple):
    """What closes loops after a step: codes of q moved towards where they close, and of what stands behind q then."""

    positions: LanesCode
    momenta: LanesCode
    nq: int
    nv: int


class Layout:
    """How many numbers stand where, for states of n numbers, W of them at a time, in chunks of V."""

    def __init__(self, n: int, width: int, lanes: int, tableau: Tableau, dense: bool, projected: bool = False):
        self.chunk = width if width > 1 else lanes
        self.size = max(-(-n * width // self.chunk), 1) * self.chunk  # numbers of y, filled up to whole chunks
        self.stages = tableau.stages + tableau.adaptive + (len(tableau.extra) if dense else 0)
        self.record = HEAD + self.size * (1 + (self.stages + projected if dense else 0))
        self.work = self.size * (self.stages + 2) + max(width, 8)


def advance_text(
    code: LanesCode, tableau: Tableau, n: int, controlled: int, quaternions: Sequence[int], parameters: bool,
    width: int, lanes: int, dense: bool, projection: Projection | None = None,
) -> str:  # fmt: skip
    """The module of advance_W; `controlled` numbers count for the error, `quaternions` start in these columns."""
    texts, functions = codes_text(code, projection, width)
    layout = Layout(n, width, lanes, tableau, dense, projection is not None)
    routine = Advance(tableau, layout, width, controlled, len(quaternions), parameters, dense, projection)
    starts = ", ".join(f"i64 {q}" for q in quaternions)
    table = f"@quaternions = internal constant [{len(quaternions)} x i64] [{starts}]"
    parts = [*texts, table, routine.text()]
    return module(1, parts, functions | ({("power", 1)} if tableau.adaptive else set()))


def codes_text(code: LanesCode, projection: Projection | None, width: int) -> tuple[list[str], set[tuple[str, int]]]:
    """The texts of rates_W and, where loops are closed, of positions_W and momenta_W; and what they call."""
    texts, functions = code.lanes(width, "rates")
    for name in ("positions", "momenta") if projection else ():
        more, others = getattr(projection, name).lanes(width, name)
        texts, functions = [*texts, *more], functions | others
    return texts, functions


class Advance(Routine):
    """The text of advance_W."""

    def __init__(
        self, tableau: Tableau, layout: Layout, width: int, controlled: int, quaternions: int, parameters: bool,
        dense: bool, projection: Projection | None = None,
    ):  # fmt: skip
        super().__init__(layout.chunk)
        self.tableau, self.layout, self.width, self.controlled = tableau, layout, width, controlled
        self.quaternions, self.parameters, self.dense, self.projection = quaternions, parameters, dense, projection

    def text(self) -> str:
        self._begin()
        self.goto("step")
        self.label("step")
        self._choose_length()
        self._stages()
        if self.tableau.adaptive:
            self._test()
        self.goto("accept")
        self.label("accept")
        self._accept()
        given = ", ".join(f"ptr %{name}" for name in ("control", "counts", "y", "parameters", "floor"))
        return f"""define void @advance_{self.width}({given}, ptr %work, ptr %records, ptr %scratch) nounwind {{
entry:
{self.lines}
}}"""

    # --- parts of a step ---

    def _begin(self) -> None:
        size = self.layout.size
        names = [*(f"%k{i}" for i in range(self.layout.stages)), "%there", "%next", "%time"]
        for place, name in enumerate(names):
            self.do(f"{name} = getelementptr double, ptr %work, i64 {place * size}")
        self.do("%kept = alloca double, i64 4")  # h of this step, whether it is the last, h before it was cut, error
        for k in range(len(self.tableau.errors)):
            self.do(f"%sum{k} = alloca {self.lines.type}, align 64")
        self._remember_turns()
        self._rates("%y", self.number("%control", 0), "%k0")

    def _remember_turns(self) -> None:
        if self.projection:
            self.do("%turns = alloca i64")
            self.do("%moved = alloca double")

    def _choose_length(self) -> None:
        """h, but not beyond stop: then what is left, or half of it where that would leave a very short step."""
        t, wanted, stop = (self.number("%control", place) for place in range(3))
        h = self.call("llvm.minnum.f64", wanted, self.number("%control", 5))
        left = self.let(f"fsub double {stop}, {t}")
        slack = bits(1 + (1e-10 if self.tableau.adaptive else 1e-6))  # a fixed step meets stop but for round-off
        last = self.let(f"fcmp oge double {self.times(h, slack)}, {left}")
        if self.tableau.adaptive:
            near = self.let(f"fcmp oge double {self.times(h, bits(2.0))}, {left}")
            half = self.times(left, bits(0.5))
            h = self.let(f"select i1 {near}, double {half}, double {h}")
        h = self.let(f"select i1 {last}, double {left}, double {h}")
        self.put(h, "%kept", 0)
        self.put(self.let(f"uitofp i1 {last} to double"), "%kept", 1)
        self.put(wanted, "%kept", 2)

    def _stages(self) -> None:
        for i in range(1, self.tableau.stages):
            self._combine("%there", self.tableau.a[i])
            self._rates("%there", self._time(self.tableau.c[i]), f"%k{i}")
        self._combine("%next", self.tableau.b)
        if self.tableau.adaptive:
            self._rates("%next", self._time(1.0), f"%k{self.tableau.stages}")

    def _time(self, c: float) -> str:
        return self.plus(self.number("%control", 0), self.times(self.number("%kept", 0), bits(c)))

    def _combine(self, to: str, row: Row) -> None:
        """y + h times a sum of stages."""
        h = self.lines.splat(self.number("%kept", 0))
        with self.loop(self.layout.size // self.layout.chunk) as i:
            self.put_chunk(self.lines.fused(self._sum(row, i), h, self.chunk("%y", i)), to, i)

    def _sum(self, row: Row, i: str) -> str:
        total = ""
        for stage, weight in row.items():
            k, w = self.chunk(f"%k{stage}", i), self.lines.number(weight)
            total = self.lines.fused(k, w, total) if total else self.lines.times(k, w)
        return total

    def _rates(self, y: str, t: str, to: str) -> None:
        for lane in range(self.width):
            self.put(t, "%time", lane)
        self._call("rates", y, to)
        self.count("%counts", 2)

    def _call(self, name: str, y: str, to: str) -> None:
        parameters = "ptr %parameters, " if self.parameters else ""
        self.do(f"call void @{name}_{self.width}(ptr {y}, ptr %time, {parameters}ptr {to}, ptr %scratch)")

    # --- the error ---

    def _test(self) -> None:
        """Go on to `accept`, or try again with a shorter step."""
        error = self._error()
        self.put(error, "%kept", 3)
        good = self.let(f"fcmp ole double {error}, {bits(1.0)}")
        self.do(f"br i1 {good}, label %accept, label %reject")
        self.label("reject")
        self.count("%counts", 1)
        # a NaN has no factor of its own: the least
        factor = self.call("llvm.maxnum.f64", self._factor(error), bits(LEAST))
        h = self.times(self.number("%kept", 0), factor)
        self.put(h, "%control", 1)
        size = self.call("llvm.fabs.f64", self.number("%control", 0))
        least = self.call("llvm.maxnum.f64", self.times(size, bits(16 * EPSILON)), bits(1e-300))
        short = self.let(f"fcmp olt double {h}, {least}")
        self.do(f"br i1 {short}, label %fail, label %step")
        self.label("fail")
        known = self.let(f"fcmp ord double {error}, {error}")
        finite = self.let(f"fcmp olt double {error}, {bits(1e300)}")
        status = self.let(f"select i1 {self.let(f'and i1 {known}, {finite}')}, i64 2, i64 3")
        self.put_integer(status, "%counts", 3)
        self.do("ret void")

    def _factor(self, error: str) -> str:
        power = bits(-1 / self.tableau.order)
        return self.times(bits(SAFETY), self.call(libm_symbol("power"), error, power))

    def _error(self) -> str:
        """The largest of all lanes: root mean square of the error over the scale."""
        lines, zero = self.lines, "zeroinitializer"
        sums = [f"%sum{k}" for k in range(len(self.tableau.errors))]
        for total in sums:
            self.do(f"store {lines.type} {zero}, ptr {total}")
        rtol, atol = (lines.splat(self.number("%control", place)) for place in (3, 4))
        with self.loop(self.layout.size // self.layout.chunk) as i:
            sizes = [lines.intrinsic("fabs", self.chunk(array, i)) for array in ("%y", "%next")]
            size = lines.intrinsic("maxnum", lines.intrinsic("maxnum", *sizes), self.chunk("%floor", i))
            scale = lines.fused(size, rtol, atol)
            for total, row in zip(sums, self.tableau.errors, strict=True):
                over = self.let(f"fdiv {lines.type} {self._sum(row, i)}, {scale}")
                self.put_chunk(lines.fused(over, over, self.chunk(total, "0")), total, "0")
        h = self.call("llvm.fabs.f64", self.number("%kept", 0))
        lanes = [self._lane_error([self.chunk(total, "0") for total in sums], lane, h) for lane in range(self.width)]
        worst = lanes[0]
        for other in lanes[1:]:
            worst = self.call("llvm.maximum.f64", worst, other)
        return worst

    def _lane_error(self, sums: Sequence[str], lane: int, h: str) -> str:
        totals = []
        for total in sums:
            if self.width > 1 or self.layout.chunk == 1:
                totals.append(self.lines.lane(total, lane))
            else:
                each = [self.lines.lane(total, k) for k in range(self.layout.chunk)]
                totals.append(each[0])
                for other in each[1:]:
                    totals[-1] = self.plus(totals[-1], other)
        count = bits(float(max(self.controlled, 1)))
        if len(totals) == 1:
            return self.times(h, self.call("llvm.sqrt.f64", self.let(f"fdiv double {totals[0]}, {count}")))
        fifth, third = totals
        both = self.plus(fifth, self.times(third, bits(0.01)))
        below = self.call("llvm.sqrt.f64", self.times(count, both))
        error = self.times(h, self.let(f"fdiv double {fifth}, {below}"))
        none = self.let(f"fcmp oeq double {both}, {bits(0.0)}")
        return self.let(f"select i1 {none}, double {bits(0.0)}, double {error}")

    # --- a step is done ---

    def _accept(self) -> None:
        if self.dense:
            for place, (c, row) in enumerate(self.tableau.extra):
                self._combine("%there", row)
                self._rates("%there", self._time(c), f"%k{self.tableau.stages + 1 + place}")
        h, last = self.number("%kept", 0), self.number("%kept", 1)
        is_last = self.let(f"fcmp one double {last}, {bits(0.0)}")
        t = self.let(f"select i1 {is_last}, double {self.number('%control', 2)}, double {self._time(1.0)}")
        self.put(t, "%control", 0)
        with self.loop(self.layout.size // self.layout.chunk) as i:
            self.put_chunk(self.chunk("%next", i), "%y", i)
        if self.quaternions:
            self._make_unit()
        if self.projection:
            self._project(t)
        self.count("%counts", 0)
        if self.tableau.adaptive:
            self._lengthen(h, is_last)
        self._record(t, h, is_last)
        # f at the end is f at the next beginning, but where y was touched
        if self.tableau.adaptive and not self.quaternions and not self.projection:
            with self.loop(self.layout.size // self.layout.chunk) as i:
                self.put_chunk(self.chunk(f"%k{self.tableau.stages}", i), "%k0", i)
        else:
            self._rates("%y", t, "%k0")
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

    def _lengthen(self, h: str, is_last: str) -> None:
        """The next step; one that was cut at stop does not shorten it."""
        factor = self._factor(self.number("%kept", 3))
        factor = self.call("llvm.minnum.f64", self.call("llvm.maxnum.f64", factor, bits(LEAST)), bits(MOST))
        wanted = self.times(h, factor)
        longer = self.call("llvm.maxnum.f64", wanted, self.number("%kept", 2))
        self.put(self.let(f"select i1 {is_last}, double {longer}, double {wanted}"), "%control", 1)

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
            for place, array in enumerate(arrays):
                to = self.let(f"getelementptr double, ptr {start}, i64 {HEAD + place * self.layout.size}")
                with self.loop(self.layout.size // self.layout.chunk) as i:
                    self.put_chunk(self.chunk(array, i), to, i)
            self.count("%counts", 5)

    def _project(self, t: str) -> None:
        """Close the loops of %y: q by Newton's method, then momenta (or rates) there, with no impulse left over."""
        assert self.projection is not None
        nq, nv, name = self.projection.nq * self.width, self.projection.nv * self.width, self.new_label("project")
        for lane in range(self.width):
            self.put(t, "%time", lane)
        self.put_integer(0, "%turns", 0)
        self.goto(name)
        self.label(name)
        self._call("positions", "%y", "%there")
        self.put(bits(0.0), "%moved", 0)
        with self.loop(nq) as i:
            old, new = (self.let(f"getelementptr double, ptr {array}, i64 {i}") for array in ("%y", "%there"))
            x = self.let(f"load double, ptr {new}")
            way = self.call("llvm.fabs.f64", self.let(f"fsub double {x}, {self.let(f'load double, ptr {old}')}"))
            self.put(self.call("llvm.maxnum.f64", way, self.number("%moved", 0)), "%moved", 0)
            self.do(f"store double {x}, ptr {old}")
        self.count("%turns", 0)
        far = self.let(f"fcmp ogt double {self.number('%moved', 0)}, {bits(NEAR)}")
        few = self.let(f"icmp slt i64 {self.integer('%turns', 0)}, {NEWTON}")
        self.do(f"br i1 {self.let(f'and i1 {far}, {few}')}, label %{name}, label %{name}.done")
        self.label(f"{name}.done")
        if self.quaternions:
            self._make_unit()
        self._call("momenta", "%y", "%there")
        with self.loop(nv) as i:
            x = self.let(f"load double, ptr {self.let(f'getelementptr double, ptr %there, i64 {i}')}")
            place = self.let(f"add i64 {i}, {nq}")
            self.do(f"store double {x}, ptr {self.let(f'getelementptr double, ptr %y, i64 {place}')}")

    def _make_unit(self) -> None:
        lines = Lines(self.width, f"{self.new_label('unit')}.")
        with self.loop(self.quaternions) as i:
            first = self.let(f"load i64, ptr {self.let(f'getelementptr i64, ptr @quaternions, i64 {i}')}")
            start = self.let(f"getelementptr {lines.type}, ptr %y, i64 {first}")
            ats = [lines.let(f"getelementptr {lines.type}, ptr {start}, i64 {k}") for k in range(4)]
            parts = [lines.let(f"load {lines.type}, ptr {at}, align 8") for at in ats]
            square = lines.times(parts[0], parts[0])
            for part in parts[1:]:
                square = lines.fused(part, part, square)
            scale = lines.reciprocal(lines.intrinsic("sqrt", square))
            for at, part in zip(ats, parts, strict=True):
                lines.do(f"store {lines.type} {lines.times(part, scale)}, ptr {at}, align 8")
            self.do(str(lines).strip())
