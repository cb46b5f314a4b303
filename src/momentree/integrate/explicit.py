"""Explicit Runge-Kutta methods in machine code: many steps in one call, several motions at a time in the lanes.

    void advance_W(double *control, int64_t *counts, double *y, const double *parameters, const double *floor,
                   double *work, double *records, double *scratch)

Arrays are columns of W numbers, one for each lane; the lanes share t and h. A step is accepted if, in every lane, the
root mean square of the error over its scale is at most 1 (Hairer, Norsett and Wanner 1993, II.4). The scale is
atol + rtol max(|y|, |y new|, floor), and `floor` is infinite for what is not to be controlled. Where there is a
`Measure`, errors of momenta count as those of the velocities that follow from them, on the scale of these.

Quaternions are brought back to unit length after each step, and loops are closed where there is a `Projection`: a step
after which they cannot be closed is tried again, shorter. The step after one that was rejected is not longer.
`y`, `floor` and `work` are filled up with zeros to whole chunks.

| control | 0 t | 1 h | 2 stop | 3 rtol | 4 atol | 5 longest h                                                     |
| counts  | 0 accepted | 1 rejected | 2 evaluations | 3 status | 4 room for records | 5 records | 6 steps in a record |

A record is t, h, y and, for dense output, all stages of the step that ended there and, where loops were closed after
it, y before that. The call ends at `stop`, when the
records are full, or when something is wrong: see `Status`.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple

from momentree.compile.emit.lanes import LanesCode, module
from momentree.compile.emit.llvm_functions import Lines, libm_symbol
from momentree.compile.emit.routine import Routine, bits
from momentree.integrate.projection import NEWTON, Projection
from momentree.integrate.tableaux import Row, Tableau

HEAD = 8  # numbers before y in a record: t, h, and room that keeps y aligned
SAFETY, LEAST, MOST = 0.8, 0.2, 10.0  # factors of the step size
EPSILON = 2.0**-52
NOISE = 2 * EPSILON  # of momenta: their round-off
OPEN = 2e-6  # closure error, by the size of the mechanism, up to which loops count as closed after twice as many steps
CLOSED = 1e-9  # the same of linkages that close but for round-off
REOPENED = 0.25  # factor of the step size where loops could not be closed


class Status(enum.IntEnum):
    """Why a call ended."""

    ARRIVED = 0  # at stop
    FULL = 1  # as many records as there was room for
    TOO_SHORT = 2  # the step length that the tolerance asks for is below the resolution of t
    NOT_FINITE = 3  # and the reason is that the derivatives are not finite
    OPEN = 4  # loops cannot be closed after a step, however short


class Group(NamedTuple):
    """Velocities of one joint that have a common scale: sqrt(factor) times the rate of change of some coordinates."""

    q: int
    coordinates: int
    v: int
    velocities: int
    factor: int


class Measure(NamedTuple):
    """In what errors of momenta are told: code of the velocities that belong to momenta, nothing else moving."""

    velocities: LanesCode
    nq: int
    nv: int
    groups: tuple[Group, ...]


class Layout:
    """How many numbers stand where, for states of n numbers, W of them at a time, in chunks of V."""

    def __init__(
        self, n: int, width: int, lanes: int, tableau: Tableau, dense: bool, projection: Projection | None = None
    ):
        self.chunk = width if width > 1 else lanes
        self.size = max(-(-n * width // self.chunk), 1) * self.chunk  # numbers of y, filled up to whole chunks
        self.stages = tableau.stages + tableau.adaptive + (len(tableau.extra) if dense else 0)
        self.record = HEAD + self.size * (1 + (self.stages + (projection is not None) if dense else 0))
        # what `positions` gives, filled up so that what follows is aligned
        self.moved = -(-(projection.nq + len(projection.sizes)) // 8) * 8 * width if projection else 0
        self.work = self.size * (self.stages + 6) + max(width, 8) + self.moved


def advance_text(
    code: LanesCode, tableau: Tableau, n: int, controlled: int, quaternions: Sequence[int], parameters: bool,
    width: int, lanes: int, dense: bool, projection: Projection | None = None, measure: Measure | None = None,
) -> str:  # fmt: skip
    """The module of advance_W; `controlled` numbers count for the error, `quaternions` start in these columns."""
    texts, functions = codes_text(code, projection, measure, width)
    layout = Layout(n, width, lanes, tableau, dense, projection)
    routine = Advance(tableau, layout, width, controlled, len(quaternions), parameters, dense, projection, measure)
    parts = [*texts, *tables_text(quaternions, projection, measure), routine.text()]
    return module(1, parts, functions | ({("power", 1)} if tableau.adaptive else set()))


def codes_text(
    code: LanesCode, projection: Projection | None, measure: Measure | None, width: int
) -> tuple[list[str], set[tuple[str, int]]]:
    """The texts of rhs_W, of positions_W and momenta_W where loops are closed, of velocities_W; and what they call.

    An argument that is None has none.
    """
    texts, functions = code.lanes(width, "rhs")
    more: dict[str, LanesCode | None] = {"velocities": measure.velocities} if measure else {}
    more |= {"positions": projection.positions, "momenta": projection.momenta} if projection else {}
    for name, other in more.items():
        if other is not None:
            written, called = other.lanes(width, name)
            texts, functions = [*texts, *written], functions | called
    return texts, functions


def tables_text(quaternions: Sequence[int], projection: Projection | None, measure: Measure | None) -> list[str]:
    """The constants that the routine looks up."""
    groups = [number for group in (measure.groups if measure else ()) for number in group]
    shares = [bits(1 / size) for size in (projection.sizes if projection else ())]
    return [table("quaternions", quaternions), table("groups", groups), table("shares", shares, "double")]


def table(name: str, values: Sequence[object], kind: str = "i64") -> str:
    """A constant array."""
    return f"@{name} = internal constant [{len(values)} x {kind}] [{', '.join(f'{kind} {x}' for x in values)}]"


class Advance(Routine):
    """The text of advance_W."""

    def __init__(
        self, tableau: Tableau, layout: Layout, width: int, controlled: int, quaternions: int, parameters: bool,
        dense: bool, projection: Projection | None = None, measure: Measure | None = None,
    ):  # fmt: skip
        super().__init__(layout.chunk)
        self.tableau, self.layout, self.width, self.controlled = tableau, layout, width, controlled
        self.quaternions, self.parameters, self.dense = quaternions, parameters, dense
        self.projection, self.measure = projection, measure

    def text(self) -> str:
        self._begin()
        self.goto("step")
        self.label("step")
        self._choose_length()
        self._stages()
        if self.tableau.adaptive:
            self._test()
            self.label("good")
        if self.projection:
            self._close()
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
        names = [*(f"%k{i}" for i in range(self.layout.stages)), "%there", "%next", "%closed", "%velocities"]
        names += ["%noise.q", "%noise.v", "%moves"]
        for place, name in enumerate(names):
            self.do(f"{name} = getelementptr double, ptr %work, i64 {place * size}")
        self.do(f"%time = getelementptr double, ptr %moves, i64 {self.layout.moved}")
        # h of this step, whether it is the last, h before it was cut, error, whether the last try was rejected
        self.do("%kept = alloca double, i64 5")
        self.put(bits(0.0), "%kept", 4)
        for k in range(len(self.tableau.errors)):
            self.do(f"%sum{k} = alloca {self.lines.type}, align 64")
        self._remember_more()
        if self.measure and self.tableau.adaptive:
            self._estimate_noise()
        self._velocities("%y", self.number("%control", 0), "%k0")

    def _estimate_noise(self) -> None:
        """How round-off of momenta shows in velocities: no shorter step makes that smaller, so that scales hold it.

        Momenta of long chains are large beside what their ends do. Two patterns of signs are enough.
        """
        assert self.measure is not None
        W, nq, nv = self.width, self.measure.nq, self.measure.nv
        with self.loop(self.layout.size // self.layout.chunk) as i:
            for array in ("%noise.q", "%noise.v"):
                self.put_chunk("zeroinitializer", array, i)
        for sign in (1.0, -1.0):
            with self.loop(nq * W) as i:
                self.do(f"store double {self._at('%y', i)}, ptr {self.offset('%there', i)}")
            with self.loop(nv) as j:
                odd = self.let(f"icmp eq i64 {self.let(f'and i64 {j}, 1')}, 1")
                share = self.let(f"select i1 {odd}, double {bits(sign * NOISE)}, double {bits(NOISE)}")
                first = self.let(f"mul i64 {self.let(f'add i64 {j}, {nq}')}, {W}")
                with self.loop(W) as lane:
                    place = self.let(f"add i64 {first}, {lane}")
                    size = self.times(self.call("llvm.fabs.f64", self._at("%y", place)), share)
                    self.do(f"store double {size}, ptr {self.offset('%there', place)}")
            for k in range(W):
                self.put(self.number("%control", 0), "%time", k)
            self._call("velocities", "%there", "%velocities")
            with self.loop(nv * W) as i:
                total = self.plus(self._at("%noise.v", i), self.call("llvm.fabs.f64", self._at("%velocities", i)))
                self.do(f"store double {total}, ptr {self.offset('%noise.v', i)}")
        self._spread_noise()

    def _spread_noise(self) -> None:
        """To coordinates, of each group the sum of its velocities."""
        assert self.measure is not None
        W = self.width
        with self.loop(len(self.measure.groups)) as g:
            q, coordinates, v, velocities, _ = (self._of_group(g, k) for k in range(5))
            ends = self.let(f"add i64 {q}, {coordinates}"), self.let(f"add i64 {v}, {velocities}")
            with self.span(q, ends[0]) as j, self.span(v, ends[1]) as i, self.loop(W) as lane:
                source = self.let(f"add i64 {self.let(f'mul i64 {i}, {W}')}, {lane}")
                to = self.let(f"add i64 {self.let(f'mul i64 {j}, {W}')}, {lane}")
                total = self.plus(self._at("%noise.q", to), self._at("%noise.v", source))
                self.do(f"store double {total}, ptr {self.offset('%noise.q', to)}")

    def _remember_more(self) -> None:
        if self.projection:
            self.do("%turns = alloca i64")
            self.do("%moved = alloca double")
            self.do("%open = alloca double")
        if self.measure:
            self.do(f"%sum.q = alloca {self.lines.type}, align 64")
            for name in ("%sum.v", "%velocities.size"):
                self.do(f"{name} = alloca {Lines(self.width).type}, align 64")

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
            self._velocities("%there", self._time(self.tableau.c[i]), f"%k{i}")
        self._combine("%next", self.tableau.b)
        if self.tableau.adaptive:
            self._velocities("%next", self._time(1.0), f"%k{self.tableau.stages}")

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

    def _velocities(self, y: str, t: str, to: str) -> None:
        for lane in range(self.width):
            self.put(t, "%time", lane)
        self._call("rhs", y, to)
        self.count("%counts", 2)

    def _call(self, name: str, y: str, to: str) -> None:
        parameters = "ptr %parameters, " if self.parameters else ""
        self.do(f"call void @{name}_{self.width}(ptr {y}, ptr %time, {parameters}ptr {to}, ptr %scratch)")

    # --- the error ---

    def _test(self) -> None:
        """Go on to `good`, or try again with a shorter step."""
        error = self._error()
        self.put(error, "%kept", 3)
        good = self.let(f"fcmp ole double {error}, {bits(1.0)}")
        self.do(f"br i1 {good}, label %good, label %reject")
        self.label("reject")
        # a NaN has no factor of its own: the least
        self._shorten(self.call("llvm.maxnum.f64", self._factor(error), bits(LEAST)), "fail")
        self.label("fail")
        known = self.let(f"fcmp ord double {error}, {error}")
        finite = self.let(f"fcmp olt double {error}, {bits(1e300)}")
        status = self.let(f"select i1 {self.let(f'and i1 {known}, {finite}')}, i64 2, i64 3")
        self.put_integer(status, "%counts", 3)
        self.do("ret void")

    def _shorten(self, factor: str, fail: str) -> None:
        """Back to `step` with a step size by so much smaller, or to where this fails."""
        self.count("%counts", 1)
        self.put(bits(1.0), "%kept", 4)
        h = self.times(self.number("%kept", 0), factor)
        self.put(h, "%control", 1)
        self.do(f"br i1 {self._too_short(h)}, label %{fail}, label %step")

    def _too_short(self, h: str) -> str:
        """Whether a step size is below the resolution of time."""
        size = self.call("llvm.fabs.f64", self.number("%control", 0))
        least = self.call("llvm.maxnum.f64", self.times(size, bits(16 * EPSILON)), bits(1e-300))
        return self.let(f"fcmp olt double {h}, {least}")

    def _factor(self, error: str) -> str:
        power = bits(-1 / self.tableau.order)
        return self.times(bits(SAFETY), self.call(libm_symbol("power"), error, power))

    def _error(self) -> str:
        """The largest of all lanes: root mean square of the error over the scale."""
        lines, zero = self.lines, "zeroinitializer"
        sums = [f"%sum{k}" for k in range(len(self.tableau.errors))]
        for total in [*sums, *(["%sum.q"] if self.measure else [])]:
            self.do(f"store {lines.type} {zero}, ptr {total}")
        rtol, atol = (lines.splat(self.number("%control", place)) for place in (3, 4))
        with self.loop(self.layout.size // self.layout.chunk) as i:
            sizes = [lines.intrinsic("fabs", self.chunk(array, i)) for array in ("%y", "%next")]
            size = lines.intrinsic("maxnum", lines.intrinsic("maxnum", *sizes), self.chunk("%floor", i))
            scale = lines.fused(size, rtol, atol)
            for k, (total, row) in enumerate(zip(sums, self.tableau.errors, strict=True)):
                error = self._sum(row, i)
                self._add_square(error, scale, total)
                if self.measure and k == 0:
                    self.put_chunk(error, "%there", i)
                    self._add_square(error, self._scale_of_coordinates(i, scale), "%sum.q")
        if self.measure:
            last = f"%k{self.tableau.stages}"
            self._measure(["%k0", last])
        h = self.call("llvm.fabs.f64", self.number("%kept", 0))
        lanes = [self._lane_error([self.chunk(total, "0") for total in sums], lane, h) for lane in range(self.width)]
        worst = lanes[0]
        for other in lanes[1:]:
            worst = self.call("llvm.maximum.f64", worst, other)
        return worst

    def _add_square(self, error: str, scale: str, total: str) -> None:
        over = self.let(f"fdiv {self.lines.type} {error}, {scale}")
        self.put_chunk(self.lines.fused(over, over, self.chunk(total, "0")), total, "0")

    def _scale_of_coordinates(self, i: str, scale: str) -> str:
        """The scale with round-off, infinite for all but coordinates: what `floor` says in its second part."""
        only = self.let(f"getelementptr double, ptr %floor, i64 {self.layout.size}")
        noise = self.lines.fused(self.lines.splat(self.number("%kept", 0)), self.chunk("%noise.q", i), scale)
        return self.lines.plus(noise, self.chunk(only, i))

    def _measure(self, changes: Sequence[str]) -> None:
        """The sum over velocities of the squares of their errors, which belong to those of momenta in %there.

        Each over the scale of its group, from how quickly coordinates change in these arrays.
        """
        assert self.measure is not None
        W, nq = self.width, self.measure.nq
        with self.loop(nq * W) as i:
            self.do(f"store double {self._at('%next', i)}, ptr {self.offset('%there', i)}")
        for lane in range(W):
            self.put(self._time(1.0), "%time", lane)
        self._call("velocities", "%there", "%velocities")
        lines = Lines(W, "m.")
        self.do(f"store {lines.type} zeroinitializer, ptr %sum.v")
        with self.loop(len(self.measure.groups)) as g:
            q, coordinates, v, velocities, factor = (self._of_group(g, k) for k in range(5))
            size = self._size_of_group(changes, q, coordinates, factor)
            with self.span(v, self.let(f"add i64 {v}, {velocities}")) as i:
                self._add_velocity(i, size)

    def _of_group(self, g: str, k: int) -> str:
        place = self.let(f"add i64 {self.let(f'mul i64 {g}, 5')}, {k}")
        return self.let(f"load i64, ptr {self.let(f'getelementptr i64, ptr @groups, i64 {place}')}")

    def _size_of_group(self, changes: Sequence[str], q: str, coordinates: str, factor: str) -> str:
        """The root of the mean of squared velocities at both ends of the step."""
        lines = Lines(self.width, self.new_label("size") + ".")
        self.do(f"store {lines.type} zeroinitializer, ptr %velocities.size")
        with self.span(q, self.let(f"add i64 {q}, {coordinates}")) as j:
            inner = Lines(self.width, self.new_label("size") + ".")
            total = inner.let(f"load {inner.type}, ptr %velocities.size, align 8")
            for array in changes:
                at = inner.let(f"getelementptr {inner.type}, ptr {array}, i64 {j}")
                x = inner.let(f"load {inner.type}, ptr {at}, align 8")
                total = inner.fused(x, x, total)
            inner.do(f"store {inner.type} {total}, ptr %velocities.size, align 8")
            self.do(str(inner).strip())
        total = lines.let(f"load {lines.type}, ptr %velocities.size, align 8")
        share = lines.splat(lines.let(f"sitofp i64 {factor} to double"))
        half = lines.times(share, lines.number(1 / len(changes)))
        size = lines.intrinsic("sqrt", lines.times(total, half))
        self.do(str(lines).strip())
        return size

    def _add_velocity(self, i: str, size: str) -> None:
        rtol, atol = self.number("%control", 3), self.number("%control", 4)
        floor = self.let(f"getelementptr double, ptr %floor, i64 {2 * self.layout.size}")
        lines = Lines(self.width, self.new_label("v") + ".")
        arrays = (floor, "%velocities", "%noise.v")
        places = [lines.let(f"getelementptr {lines.type}, ptr {array}, i64 {i}") for array in arrays]
        least, error, noise = (lines.let(f"load {lines.type}, ptr {place}, align 8") for place in places)
        scale = lines.fused(lines.intrinsic("maxnum", size, least), lines.splat(rtol), lines.splat(atol))
        scale = lines.plus(scale, noise)
        over = lines.let(f"fdiv {lines.type} {error}, {scale}")
        total = lines.let(f"load {lines.type}, ptr %sum.v, align 8")
        lines.do(f"store {lines.type} {lines.fused(over, over, total)}, ptr %sum.v, align 8")
        self.do(str(lines).strip())

    def _lane_error(self, sums: Sequence[str], lane: int, h: str) -> str:
        totals = [self._lane_sum(total, lane) for total in sums]
        counted = totals[0]
        if self.measure:
            v = self.let(f"getelementptr double, ptr %sum.v, i64 {lane}")
            counted = self.plus(self._lane_sum(self.chunk("%sum.q", "0"), lane), self.let(f"load double, ptr {v}"))
        count = bits(float(max(self.controlled, 1)))
        error = self.times(h, self.call("llvm.sqrt.f64", self.let(f"fdiv double {counted}, {count}")))
        if len(totals) == 1:
            return error
        # the estimate of order 5 is made smaller where that of order 3 says that it is too large
        fifth, third = totals
        both = self.plus(fifth, self.times(third, bits(0.01)))
        share = self.call("llvm.sqrt.f64", self.let(f"fdiv double {fifth}, {both}"))
        none = self.let(f"fcmp oeq double {both}, {bits(0.0)}")
        return self.let(f"select i1 {none}, double {error}, double {self.times(error, share)}")

    def _lane_sum(self, total: str, lane: int) -> str:
        if self.width > 1 or self.layout.chunk == 1:
            return self.lines.lane(total, lane)
        found = self.lines.lane(total, 0)
        for k in range(1, self.layout.chunk):
            found = self.plus(found, self.lines.lane(total, k))
        return found

    # --- a step is done ---

    def _accept(self) -> None:
        if self.dense:
            for place, (c, row) in enumerate(self.tableau.extra):
                self._combine("%there", row)
                self._velocities("%there", self._time(c), f"%k{self.tableau.stages + 1 + place}")
        h, last = self.number("%kept", 0), self.number("%kept", 1)
        is_last = self.let(f"fcmp one double {last}, {bits(0.0)}")
        t = self.let(f"select i1 {is_last}, double {self.number('%control', 2)}, double {self._time(1.0)}")
        self.put(t, "%control", 0)
        with self.loop(self.layout.size // self.layout.chunk) as i:
            self.put_chunk(self.chunk("%closed" if self.projection else "%next", i), "%y", i)
        if self.quaternions and not self.projection:
            self._make_unit("%y")
        self.count("%counts", 0)
        if self.tableau.adaptive:
            self._lengthen(h, is_last)
        self._record(t, h, is_last)
        # f at the end is f at the next beginning, but where y was touched
        if self.tableau.adaptive and not self.quaternions and not self.projection:
            with self.loop(self.layout.size // self.layout.chunk) as i:
                self.put_chunk(self.chunk(f"%k{self.tableau.stages}", i), "%k0", i)
        else:
            self._velocities("%y", t, "%k0")
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
        """The next step; one that was cut at stop does not shorten it, and after a rejected try it is not longer."""
        factor = self._factor(self.number("%kept", 3))
        rejected = self.let(f"fcmp une double {self.number('%kept', 4)}, {bits(0.0)}")
        most = self.let(f"select i1 {rejected}, double {bits(1.0)}, double {bits(MOST)}")
        factor = self.call("llvm.minnum.f64", self.call("llvm.maxnum.f64", factor, bits(LEAST)), most)
        self.put(bits(0.0), "%kept", 4)
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

    def _close(self) -> None:
        """Close the loops of %next, in %closed; where they cannot be closed, try a shorter step."""
        with self.loop(self.layout.size // self.layout.chunk) as i:
            self.put_chunk(self.chunk("%next", i), "%closed", i)
        if self.quaternions:
            self._make_unit("%closed")
        self._project(self._time(1.0))
        self.do(f"br i1 {self._is_closed()}, label %shut, label %opened")
        self.label("opened")
        self._reopen()
        self.label("shut")

    def _reopen(self) -> None:
        """Try a shorter step, or end before this one."""
        if self.tableau.adaptive:
            self._shorten(bits(REOPENED), "stay")
            self.label("stay")
        self.put_integer(int(Status.OPEN), "%counts", 3)
        self.do("ret void")

    def _is_closed(self) -> str:
        """Whether closure errors are below what stands behind the parts of %floor."""
        most = self.number("%floor", 3 * self.layout.size)
        return self.let(f"fcmp ole double {self.number('%open', 0)}, {most}")

    def _project(self, t: str) -> None:
        """q of %closed by Newton's method, then momenta (or velocities) there, with no impulse left over.

        The largest closure error that was left before the last move is in %open.
        """
        assert self.projection is not None
        nq, nv, name = self.projection.nq * self.width, self.projection.nv * self.width, self.new_label("project")
        for lane in range(self.width):
            self.put(t, "%time", lane)
        self.put_integer(0, "%turns", 0)
        self.goto(name)
        self.label(name)
        self._call("positions", "%closed", "%moves")
        self.put(bits(0.0), "%moved", 0)
        with self.loop(nq) as i:
            x, old = self._at("%moves", i), self._at("%closed", i)
            self._enlarge("%moved", self.let(f"fsub double {x}, {old}"))
            self.do(f"store double {x}, ptr {self.offset('%closed', i)}")
        self._find_largest()
        if self.quaternions:
            self._make_unit("%closed")
        self.count("%turns", 0)
        far = self.let(f"fcmp ogt double {self.number('%moved', 0)}, {bits(self.projection.near)}")
        turns = self.integer("%turns", 0)
        few, some = (self.let(f"icmp slt i64 {turns}, {most}") for most in (NEWTON, 2 * NEWTON))
        still = self.let(f"and i1 {self.let(f'xor i1 {self._is_closed()}, true')}, {some}")
        again = self.let(f"or i1 {self.let(f'and i1 {far}, {few}')}, {still}")
        self.do(f"br i1 {again}, label %{name}, label %{name}.done")
        self.label(f"{name}.done")
        if self.projection.momenta is None:
            return
        self._call("momenta", "%closed", "%there")
        with self.loop(nv) as i:
            place = self.let(f"add i64 {i}, {nq}")
            self.do(f"store double {self._at('%there', i)}, ptr {self.offset('%closed', place)}")

    def _find_largest(self) -> None:
        """The closure errors behind the moved q, by their sizes."""
        assert self.projection is not None
        W, count = self.width, len(self.projection.sizes)
        self.put(bits(0.0), "%open", 0)
        if not count:
            return
        with self.loop(count) as i:
            share = self.let(f"load double, ptr {self.let(f'getelementptr double, ptr @shares, i64 {i}')}")
            first = self.let(f"add i64 {self.let(f'mul i64 {i}, {W}')}, {self.projection.nq * W}")
            with self.loop(W) as lane:
                error = self._at("%moves", self.let(f"add i64 {first}, {lane}"))
                self._enlarge("%open", self.times(error, share))

    def _enlarge(self, array: str, x: str) -> None:
        """The larger of a number in memory and the size of x; a NaN stays."""
        size = self.call("llvm.fabs.f64", x)
        self.put(self.call("llvm.maximum.f64", size, self.number(array, 0)), array, 0)

    def _at(self, array: str, i: str) -> str:
        return self.let(f"load double, ptr {self.offset(array, i)}")

    def _make_unit(self, y: str) -> None:
        lines = Lines(self.width, self.new_label("unit") + ".")  # it is written more than once, so names must differ
        with self.loop(self.quaternions) as i:
            first = self.let(f"load i64, ptr {self.let(f'getelementptr i64, ptr @quaternions, i64 {i}')}")
            start = self.let(f"getelementptr {lines.type}, ptr {y}, i64 {first}")
            ats = [lines.let(f"getelementptr {lines.type}, ptr {start}, i64 {k}") for k in range(4)]
            parts = [lines.let(f"load {lines.type}, ptr {at}, align 8") for at in ats]
            square = lines.times(parts[0], parts[0])
            for part in parts[1:]:
                square = lines.fused(part, part, square)
            scale = lines.reciprocal(lines.intrinsic("sqrt", square))
            for at, part in zip(ats, parts, strict=True):
                lines.do(f"store {lines.type} {lines.times(part, scale)}, ptr {at}, align 8")
            self.do(str(lines).strip())
