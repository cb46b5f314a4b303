"""Radau IIA of order 5 in machine code: the implicit Runge-Kutta method for stiff systems, one motion at a time.

    z_i = h sum_j a_ij f(t + c_j h, y + z_j),   y next = y + z_3

after RADAU5 (Hairer and Wanner, Solving Ordinary Differential Equations II, 1996, IV.8). Newton's iteration is done for
w = T^-1 z, which parts the 3n equations into n real and n complex ones, with one Jacobian J for all of them:

    (gamma / h - J) dw_1 = ...,   ((alpha + i beta) / h - J) (dw_2 + i dw_3) = ...

J is kept while the iteration converges quickly, the factors of the matrices as long as h too stays what it was. It is
the code of the tape's derivatives (differentiated.py), and differences where there is none, several columns at a time
in the lanes of a vector, or where it is not finite. What is not controlled, such as accounts of work, does not act back
on the rest: its columns are zero.

`advance_1`, `control`, `counts` and records are those of explicit.py, with one more count, 7: Jacobians. A
record for dense output holds the slopes f(t + c_i h, y + z_i) of the step. What a step needs to know of those before
it stands in `control` after the six numbers: see `Kept`. It is forgotten where these are set to zero.
"""

from __future__ import annotations

import contextlib
import enum
import math
from collections.abc import Iterator, Sequence

from momentree.compile.emit.jacobian_code import Differentiated
from momentree.compile.emit.lanes import LanesCode, module
from momentree.compile.emit.llvm_functions import libm_symbol
from momentree.compile.emit.routine import bits
from momentree.errors import MomentreeError
from momentree.integrate import explicit
from momentree.integrate.explicit import (
    EPSILON,
    HEAD,
    REOPENED,
    Advance,
    Measure,
    Status,
    codes_text,
    table,
    tables_text,
)
from momentree.integrate.linear_algebra import algebra_texts
from momentree.integrate.projection import Projection
from momentree.integrate.tableaux import Row, Tableau

# --- coefficients: Hairer and Wanner 1996, IV.5 table 5.6 and IV.8 ---

_S = math.sqrt(6)
C = ((4 - _S) / 10, (4 + _S) / 10, 1.0)
A = (
    ((88 - 7 * _S) / 360, (296 - 169 * _S) / 1800, (-2 + 3 * _S) / 225),
    ((296 + 169 * _S) / 1800, (88 + 7 * _S) / 360, (-2 - 3 * _S) / 225),
    ((16 - _S) / 36, (16 + _S) / 36, 1 / 9),
)
A_INVERSE = (
    (2 + _S / 2, -6 / 5 + 29 * _S / 30, 2 / 5 - 4 * _S / 15),
    (-6 / 5 - 29 * _S / 30, 2 - _S / 2, 2 / 5 + 4 * _S / 15),
    (-1 + 8 * _S / 3, -1 - 8 * _S / 3, 5.0),
)
# T^-1 A^-1 T is gamma beside the block (alpha, -beta; beta, alpha)
GAMMA = 3 + 3 ** (2 / 3) - 3 ** (1 / 3)
ALPHA = 3 + (3 ** (1 / 3) - 3 ** (2 / 3)) / 2
BETA = (3 ** (5 / 6) + 3 ** (7 / 6)) / 2
T = (
    (0.09443876248897524, -0.14125529502095421, -0.03002919410514742),
    (0.25021312296533332, 0.20412935229379994, 0.38294211275726192),
    (1.0, 1.0, 0.0),
)
T_INVERSE = (
    (4.17871859155190428, 0.32768282076106237, 0.52337644549944951),
    (-4.17871859155190428, -0.32768282076106237, 0.47662355450055044),
    (-0.50287263494578682, 2.57192694985560522, -0.59603920482822492),
)
# the error, filtered: (gamma / h - J)^-1 (f(t, y) + sum_i e_i z_i / h)
E = ((-13 - 7 * _S) / 3, (-13 + 7 * _S) / 3, -1 / 3)

ITERATIONS = 7  # of Newton, at most
QUICK = 1e-3  # contraction up to which the Jacobian is kept
KEPT_RATIO = 1.2  # up to so much longer a step is not worth new factors
SAFETY, SHORTER, LONGER = 0.9, 5.0, 8.0  # factors of the step length


def _integrals() -> tuple[Row, ...]:
    """b_j(x), the integrals of Lagrange's polynomials to the nodes c: by the power of x, then by the stage."""
    rows: tuple[Row, ...] = ({}, {}, {})
    for j, c in enumerate(C):
        a, b = (other for other in C if other != c)
        below = (c - a) * (c - b)
        rows[0][j], rows[1][j], rows[2][j] = a * b / below, -(a + b) / 2 / below, 1 / 3 / below
    return rows


RADAU = Tableau(
    "radau",
    order=5,
    c=C,
    a=tuple(dict(enumerate(row)) for row in A),
    b=dict(enumerate(A[2])),
    # besides f at the beginning, which is no stage of this method
    errors=({j: sum(E[i] * A[i][j] for i in range(3)) for j in range(3)},),
    dense=_integrals(),
)


# --- what stands where ---


class Kept(enum.IntEnum):
    """Numbers from step to step and from call to call; after them y and the polynomial of the step before."""

    H = 0
    LAST = 1  # whether the step ends at stop
    WANTED = 2  # h before it was cut there
    ERROR = 3
    BEGUN = 4
    FIRST = 5  # no step was accepted yet
    REJECTED = 6  # the last try was
    FRESH = 7  # the Jacobian is that of this very y
    STALE = 8  # a new one is due
    T_JACOBIAN = 9  # where it was taken
    H_FACTORED = 10  # for which h the factors are
    H_BEFORE = 11
    ERROR_BEFORE = 12
    CONTRACTION = 13  # of the iteration
    REMAINING = 14  # what is left of the next change, as a part of it
    CHANGE = 15  # the last one
    RATIO = 16  # of the last two
    COUNT = 17  # iterations
    FACTOR = 18  # for a shorter step
    TOTAL = 19
    OPENED = 20  # loops could not be closed after a try


KEPT, CONTROL = 24, 6  # numbers, filled up; numbers of control before them
# vectors of y's size in `work`: each as many numbers
VECTORS = (
    *("z0", "z1", "z2", "w0", "w1", "w2", "d0", "d1", "d2", "slope", "there", "next", "scale", "k0", "k1", "k2"),
    *("closed", "velocities", "noise.q", "noise.v"),
)


class Layout(explicit.Layout):
    """How many numbers stand where, for states of n numbers, in chunks of as many lanes as a vector has."""

    def __init__(
        self, n: int, width: int, lanes: int, tableau: Tableau, dense: bool, projection: Projection | None = None
    ):
        if width != 1:
            raise MomentreeError(f"radau computes one motion at a time, not {width}. Choose dop853 for many at once.")
        super().__init__(n, width, lanes, tableau, dense, projection)
        self.n, self.stages = n, tableau.stages
        self.record = HEAD + self.size * (1 + (self.stages + (projection is not None) if dense else 0))
        self.memory = KEPT + 4 * self.size  # behind `control`
        self.vectors = len(VECTORS) * self.size
        # vectors, t, pivots of both matrices, J, the real and the complex matrix, entries of J before they are in place
        self.work = self.vectors + 8 + 2 * self.size + self.size * n * 4 + self.size * n
        # y, f and t of as many columns as a vector has lanes, for differences
        self.lanes, self.wide = lanes, 2 * self.size * lanes + lanes
        self.work += self.wide + self.moved


def advance_text(
    code: LanesCode, tableau: Tableau, n: int, controlled: int, quaternions: Sequence[int], parameters: bool,
    width: int, lanes: int, dense: bool, projection: Projection | None = None, measure: Measure | None = None,
) -> str:  # fmt: skip
    """The module of advance_1; the first `controlled` numbers count for the error."""
    layout = Layout(n, width, lanes, tableau, dense, projection)
    texts, functions = codes_text(code, projection, measure, 1)
    places: Sequence[tuple[int, int]] = ()
    wide = lanes if lanes > 1 and not parameters else 1
    if isinstance(code, Differentiated) and code.jacobian is not None:
        more, others = code.jacobian.lanes(1, "jacobian")
        texts, functions, places, wide = [*texts, *more], functions | others, code.places, 1
    if wide > 1:
        more, others = code.lanes(wide, "columns")
        texts, functions = [*texts, *more], functions | others
    routine = _Radau(layout, controlled, len(quaternions), parameters, dense, len(places), projection, measure, wide)
    tables = tables_text(quaternions, projection, measure)
    tables.append(table("places", [j * layout.size + i for i, j in places]))
    algebra = [text for parts in (1, 2) for text in algebra_texts(n, layout.size, lanes, controlled, parts)]
    return module(1, [*texts, *tables, *algebra, routine.text()], functions | {("power", 1)})


# --- the text ---


class _Radau(Advance):
    """The text of advance_1."""

    layout: Layout

    def __init__(
        self, layout: Layout, controlled: int, quaternions: int, parameters: bool, dense: bool, entries: int,
        projection: Projection | None = None, measure: Measure | None = None, wide: int = 1,
    ):  # fmt: skip
        super().__init__(RADAU, layout, 1, controlled, quaternions, parameters, dense, projection, measure)
        self.entries, self.accounts, self.wide = entries, layout.n - controlled, wide

    def text(self) -> str:
        self._begin()
        self._at_label("step")
        self._choose_length()
        self._renew()
        self._guess()
        self._at_label("newton")
        self._iterate()
        self._judge_iteration()
        self._at_label("converged")
        self._test()
        self._write_retry()
        self.label("good")
        if self.accounts:
            self._settle(self._get(Kept.H))
        if self.projection:
            self._close()
        self._at_label("accept")
        self._accept()
        given = ", ".join(f"ptr %{name}" for name in ("control", "counts", "y", "parameters", "floor"))
        return f"""define void @advance_1({given}, ptr %work, ptr %records, ptr %scratch) nounwind {{
entry:
{self.lines}
}}"""

    # --- words of this text ---

    def _at_label(self, name: str) -> None:
        self.goto(name)
        self.label(name)

    def _branch(self, condition: str, yes: str, no: str) -> None:
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")

    def _get(self, what: Kept) -> str:
        return self.number("%kept", what)

    def _set(self, what: Kept, value: str | float) -> None:
        self.put(bits(value) if isinstance(value, (int, float)) else value, "%kept", what)

    def _is(self, what: Kept, holds: bool = True) -> str:
        return self.let(f"fcmp {'une' if holds else 'oeq'} double {self._get(what)}, {bits(0.0)}")

    def _over(self, a: str | float, b: str) -> str:
        return self.let(f"fdiv double {bits(a) if isinstance(a, (int, float)) else a}, {b}")

    def _within(self, x: str, least: float, most: float) -> str:
        """x, but not beyond these; a NaN is the most."""
        return self.call("llvm.maxnum.f64", self.call("llvm.minnum.f64", x, bits(most)), bits(least))

    def _power(self, x: str, exponent: str | float) -> str:
        return self.call(libm_symbol("power"), x, bits(exponent) if isinstance(exponent, (int, float)) else exponent)

    def _weighted(self, row: Sequence[float], chunks: Sequence[str]) -> str:
        """The sum of chunks times numbers."""
        total = ""
        for weight, x in zip(row, chunks, strict=True):
            w = self.lines.number(weight)
            total = self.lines.fused(x, w, total) if total else self.lines.times(x, w)
        return total

    def _chunks(self, name: str, i: str) -> list[str]:
        """Of the three arrays of one name."""
        return [self.chunk(f"%{name}{k}", i) for k in range(3)]

    def _put_chunks(self, values: Sequence[str], name: str, i: str) -> None:
        for k, value in enumerate(values):
            self.put_chunk(value, f"%{name}{k}", i)

    @property
    def _all(self) -> int:
        return self.layout.size // self.layout.chunk

    # --- where a call begins ---

    def _begin(self) -> None:
        self._name_arrays()
        self.do(f"%sum = alloca {self.lines.type}, align 64")
        self._remember_more()
        if self.measure:
            self._estimate_noise()
        self._velocities("%y", self.number("%control", 0), "%slope")
        with self.when(self._is(Kept.BEGUN, False)):
            for what in (Kept.BEGUN, Kept.FIRST, Kept.STALE, Kept.REMAINING):
                self._set(what, 1.0)
        # the matrices are not kept from call to call, but made again from what they were made of
        with self.when(self._is(Kept.STALE, False)):
            self._jacobian()
            with self.when(self._is(Kept.H_FACTORED)):
                self._make_factors()

    def _name_arrays(self) -> None:
        layout, n, size = self.layout, self.layout.n, self.layout.size
        self.do(f"%kept = getelementptr double, ptr %control, i64 {CONTROL}")
        for k, name in enumerate(("at", "p0", "p1", "p2")):
            self.do(f"%{name} = getelementptr double, ptr %kept, i64 {KEPT + k * size}")
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

    # --- the Jacobian, and the matrices made of it ---

    def _renew(self) -> None:
        """A new Jacobian where one is due, new factors where h is new."""
        with self.when(self._is(Kept.STALE)):
            self._copy("%y", "%at")
            self._set(Kept.T_JACOBIAN, self.number("%control", 0))
            self._jacobian()
            self._set(Kept.FRESH, 1.0)
            self._set(Kept.STALE, 0.0)
            self._set(Kept.H_FACTORED, 0.0)
        h = self._get(Kept.H)
        with self.when(self.let(f"fcmp une double {h}, {self._get(Kept.H_FACTORED)}")):
            self._set(Kept.H_FACTORED, h)
            self._make_factors()

    def _copy(self, array: str, to: str) -> None:
        with self.loop(self._all) as i:
            self.put_chunk(self.chunk(array, i), to, i)

    def _jacobian(self) -> None:
        """d f / d y at the place and time that are kept."""
        self.count("%counts", 7)
        if not self.entries:
            self._differences()
            return
        with self.loop(self._all * self.layout.n) as i:
            self.put_chunk("zeroinitializer", "%matrix", i)
        self.put(self._get(Kept.T_JACOBIAN), "%time", 0)
        parameters = "ptr %parameters, " if self.parameters else ""
        self.do(f"call void @jacobian_1(ptr %at, ptr %time, {parameters}ptr %entries, ptr %scratch)")
        self._set(Kept.TOTAL, 0.0)
        with self.loop(self.entries) as i:
            place = self.let(f"load i64, ptr {self.let(f'getelementptr i64, ptr @places, i64 {i}')}")
            value = self.let(f"load double, ptr {self.offset('%entries', i)}")
            self.do(f"store double {value}, ptr {self.offset('%matrix', place)}")
            # 0 as long as all of them are finite
            self._set(Kept.TOTAL, self.plus(self._get(Kept.TOTAL), self.times(value, bits(0.0))))
        with self.when(self._is(Kept.TOTAL)):
            self._differences()

    def _differences(self) -> None:
        """Column by column, from a change of y by half of its digits."""
        with self.loop(self._all * self.layout.n) as i:
            self.put_chunk("zeroinitializer", "%matrix", i)
        self._velocities("%at", self._get(Kept.T_JACOBIAN), "%d0")
        if self.wide > 1:
            self._wide_differences()
            return
        with self.loop(self.controlled) as j:
            self._copy("%at", "%there")
            x, there = self._changed(j)
            self.do(f"store double {there}, ptr {self.offset('%there', j)}")
            self._velocities("%there", self._get(Kept.T_JACOBIAN), "%d1")
            inverse = self.lines.splat(self._over(1.0, self.let(f"fsub double {there}, {x}")))
            column = self.offset("%matrix", self.let(f"mul i64 {j}, {self.layout.size}"))
            with self.loop(self._all) as i:
                change = self.lines.less(self.chunk("%d1", i), self.chunk("%d0", i))
                self.put_chunk(self.lines.times(change, inverse), column, i)

    def _changed(self, j: str) -> tuple[str, str]:
        """An entry of y where the Jacobian is taken, and what it is changed to."""
        least = self._over(self.number("%control", 4), self.number("%control", 3))
        least = self.call("llvm.maxnum.f64", self._at("%floor", j), least)
        x = self._at("%at", j)
        larger = self.call("llvm.maxnum.f64", self.call("llvm.fabs.f64", x), least)
        return x, self.plus(x, self.times(larger, bits(math.sqrt(EPSILON))))

    def _wide_differences(self) -> None:
        """As many columns at a time as a vector has lanes, each with another entry of y changed."""
        W, n = self.wide, self.layout.n
        for place in range(W):
            self.put(self._get(Kept.T_JACOBIAN), "%wide.t", place)
        with self.loop(-(-self.controlled // W)) as block:
            first = self.let(f"mul i64 {block}, {W}")
            with self.loop(n) as i:
                x = self.let(f"load double, ptr {self.offset('%at', i)}")
                with self.loop(W) as lane:
                    self.do(f"store double {x}, ptr {self._in_lane('%wide', i, lane)}")
            with self._columns(first) as (j, lane):
                self.do(f"store double {self._changed(j)[1]}, ptr {self._in_lane('%wide', j, lane)}")
            self.do(f"call void @columns_{W}(ptr %wide, ptr %wide.t, ptr %wide.f, ptr %scratch)")
            self.count("%counts", 2, W)
            with self._columns(first) as (j, lane):
                x, there = self._changed(j)
                inverse = self._over(1.0, self.let(f"fsub double {there}, {x}"))
                column = self.offset("%matrix", self.let(f"mul i64 {j}, {self.layout.size}"))
                with self.loop(n) as i:
                    f = self.let(f"load double, ptr {self._in_lane('%wide.f', i, lane)}")
                    before = self.let(f"load double, ptr {self.offset('%d0', i)}")
                    change = self.let(f"fsub double {f}, {before}")
                    self.do(f"store double {self.times(change, inverse)}, ptr {self.offset(column, i)}")

    @contextlib.contextmanager
    def _columns(self, first: str) -> Iterator[tuple[str, str]]:
        """The columns of a block, those that there are, each with its lane."""
        with self.loop(self.wide) as lane:
            j = self.let(f"add i64 {first}, {lane}")
            with self.when(self.let(f"icmp slt i64 {j}, {self.controlled}")):
                yield j, lane

    def _in_lane(self, array: str, i: str, lane: str) -> str:
        place = self.let(f"add i64 {self.let(f'mul i64 {i}, {self.wide}')}, {lane}")
        return self.offset(array, place)

    def _make_factors(self) -> None:
        """gamma / h - J and (alpha + i beta) / h - J as their factors."""
        size, h = self.layout.size, self._get(Kept.H_FACTORED)
        with self.loop(self.layout.n) as j:
            first = self.let(f"mul i64 {j}, {size}")
            column, real = (self.offset(array, first) for array in ("%matrix", "%real"))
            both = self.offset("%complex", self.let(f"mul i64 {j}, {2 * size}"))
            imaginary = self.offset(both, size)
            with self.loop(self._all) as i:
                value = self.lines.negative(self.chunk(column, i))
                self.put_chunk(value, real, i)
                self.put_chunk(value, both, i)
                self.put_chunk("zeroinitializer", imaginary, i)
            for matrix, root in ((real, GAMMA), (both, ALPHA), (imaginary, BETA)):
                at = self.offset(matrix, j)
                value = self.plus(self.let(f"load double, ptr {at}"), self._over(root, h))
                self.do(f"store double {value}, ptr {at}")
        self.do("call void @factor_1(ptr %real, ptr %pivots1)")
        self.do("call void @factor_2(ptr %complex, ptr %pivots2)")

    # --- Newton's iteration ---

    def _guess(self) -> None:
        """z from the polynomial of the step before, going on beyond its end; 0 where there is none."""
        with self.when(self._is(Kept.FIRST)), self.loop(self._all) as i:
            for name in ("z", "w"):
                self._put_chunks(["zeroinitializer"] * 3, name, i)
        with self.when(self._is(Kept.FIRST, False)):
            ratio = self._over(self._get(Kept.H), self._get(Kept.H_BEFORE))
            places = [self.lines.splat(self.times(ratio, bits(c))) for c in C]
            with self.loop(self._all) as i:
                p = self._chunks("p", i)
                z = [self._polynomial(p, s) for s in places]
                self._put_chunks(z, "z", i)
                self._put_chunks([self._weighted(row, z) for row in T_INVERSE], "w", i)
        rtol, atol = (self.lines.splat(self.number("%control", place)) for place in (3, 4))
        with self.loop(self._all) as i:
            size = self.lines.intrinsic("maxnum", self.lines.intrinsic("fabs", self.chunk("%y", i)), self._floor(i))
            self.put_chunk(self.lines.fused(size, rtol, atol), "%scale", i)
        remaining = self.call("llvm.maxnum.f64", self._get(Kept.REMAINING), bits(EPSILON))
        self._set(Kept.REMAINING, self._power(remaining, 0.8))
        self._set(Kept.CONTRACTION, QUICK)
        self._set(Kept.COUNT, 0.0)

    def _floor(self, i: str) -> str:
        return self.chunk("%floor", i)

    def _polynomial(self, p: Sequence[str], s: str) -> str:
        """What it adds to y at s steps after its end: Newton's form."""
        inner = self.lines.fused(self.lines.plus(s, self.lines.number(1 - C[0])), p[2], p[1])
        outer = self.lines.fused(self.lines.plus(s, self.lines.number(1 - C[1])), inner, p[0])
        return self.lines.times(s, outer)

    def _iterate(self) -> None:
        """The change of w, in d."""
        self._slopes()
        h = self._get(Kept.H)
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
            self._velocities("%there", self._time(C[k]), f"%d{k}")

    def _judge_iteration(self) -> None:
        """On to `converged`, once more to `newton`, or to `retry` with a shorter step."""
        change = self._norm(("%d0", "%d1", "%d2"))
        self._set(Kept.ERROR, change)
        self._set(Kept.FACTOR, 1 / SHORTER)
        self._branch(self.let(f"fcmp olt double {change}, {bits(1e300)}"), "finite", "retry")
        self.label("finite")
        self._set(Kept.COUNT, self.plus(self._get(Kept.COUNT), bits(1.0)))
        again = self.let(f"fcmp ogt double {self._get(Kept.COUNT)}, {bits(1.0)}")
        self._branch(again, "compare", "apply")
        self.label("compare")
        self._foresee(change)
        self.label("apply")
        self._set(Kept.CHANGE, self.call("llvm.maxnum.f64", change, bits(EPSILON)))
        with self.loop(self._all) as i:
            pairs = zip(self._chunks("w", i), self._chunks("d", i), strict=True)
            w = [self.lines.plus(one, other) for one, other in pairs]
            self._put_chunks(w, "w", i)
            self._put_chunks([self._weighted(row, w) for row in T], "z", i)
        left = self.times(self._get(Kept.REMAINING), self._get(Kept.CHANGE))
        self._branch(self.let(f"fcmp ole double {left}, {self._goal()}"), "converged", "newton")

    def _goal(self) -> str:
        """What Newton's iteration may leave, as a part of the tolerance."""
        rtol = self.number("%control", 3)
        root = self.call("llvm.minnum.f64", self.call("llvm.sqrt.f64", rtol), bits(0.03))
        return self.call("llvm.maxnum.f64", root, self._over(10 * EPSILON, rtol))

    def _foresee(self, change: str) -> None:
        """Whether the iteration will be done after ITERATIONS - 1 of them; if not, how much shorter h has to be."""
        ratio, count = self._over(change, self._get(Kept.CHANGE)), self._get(Kept.COUNT)
        mean = self.call("llvm.sqrt.f64", self.times(ratio, self._get(Kept.RATIO)))
        second = self.let(f"fcmp oeq double {count}, {bits(2.0)}")
        contraction = self.let(f"select i1 {second}, double {ratio}, double {mean}")
        self._set(Kept.RATIO, ratio)
        self._set(Kept.CONTRACTION, contraction)
        self._set(Kept.FACTOR, 0.5)
        self._branch(self.let(f"fcmp olt double {contraction}, {bits(0.99)}"), "slow", "retry")
        self.label("slow")
        remaining = self._over(contraction, self.let(f"fsub double {bits(1.0)}, {contraction}"))
        self._set(Kept.REMAINING, remaining)
        more = self.let(f"fsub double {bits(ITERATIONS - 1.0)}, {count}")
        end = self.times(self.times(remaining, change), self._power(contraction, more))
        excess = self._over(end, self._goal())
        root = self._over(-1.0, self.plus(more, bits(4.0)))
        self._set(Kept.FACTOR, self.times(bits(0.8), self._power(self._within(excess, 1e-4, 20.0), root)))
        self._branch(self.let(f"fcmp olt double {excess}, {bits(1.0)}"), "apply", "retry")

    def _norm(self, arrays: Sequence[str]) -> str:
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

    # --- the error ---

    def _test(self) -> None:
        """Go on to `accept`, or to `retry`."""
        self._rescale()
        inverse = self.lines.splat(self._over(1.0, self._get(Kept.H)))
        with self.loop(self._all) as i:
            z = self._chunks("z", i)
            self.put_chunk(self.lines.times(self._weighted(E, z), inverse), "%d1", i)
            if self.measure:
                self.put_chunk(self.lines.times(self._weighted(A_INVERSE[2], z), inverse), "%k2", i)
        self._filter("%slope")
        # where h is far from what it should be, a stiff component spoils the first estimate: filtered once more
        unsure = self.let(f"or i1 {self._is(Kept.FIRST)}, {self._is(Kept.REJECTED)}")
        large = self.let(f"fcmp uge double {self._get(Kept.ERROR)}, {bits(1.0)}")
        with self.when(self.let(f"and i1 {unsure}, {large}")):
            with self.loop(self._all) as i:
                self.put_chunk(self.lines.plus(self.chunk("%y", i), self.chunk("%d0", i)), "%there", i)
            self._velocities("%there", self.number("%control", 0), "%d2")
            self._filter("%d2")
        self._set(Kept.FACTOR, self._over(1.0, self._quotient()))
        good = self.let(f"fcmp olt double {self._get(Kept.ERROR)}, {bits(1.0)}")
        self._branch(good, "good", "retry")

    def _rescale(self) -> None:
        """y next, and the scale that it too is part of."""
        rtol, atol = (self.lines.splat(self.number("%control", place)) for place in (3, 4))
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
        error = self._measured_norm() if self.measure else self._norm(("%d0",))
        self._set(Kept.ERROR, self.call("llvm.maximum.f64", error, bits(1e-10)))

    def _measured_norm(self) -> str:
        """Root mean square of the error in d0, that of momenta told in velocities."""
        self.do(f"store {self.lines.type} zeroinitializer, ptr %sum.q")
        with self.loop(self._all) as i:
            error = self.chunk("%d0", i)
            self.put_chunk(error, "%there", i)
            self._add_square(error, self._scale_of_coordinates(i, self.chunk("%scale", i)), "%sum.q")
        self._measure(["%slope", "%k2"])
        total = self.plus(self._lane_sum(self.chunk("%sum.q", "0"), 0), self.let("load double, ptr %sum.v"))
        return self.call("llvm.sqrt.f64", self._over(total, bits(float(max(self.controlled, 1)))))

    def _quotient(self) -> str:
        """h over the next h, which the error allows; many iterations make it larger."""
        few = self._over(SAFETY * (2 * ITERATIONS + 1), self.plus(self._get(Kept.COUNT), bits(2.0 * ITERATIONS)))
        safety = self.call("llvm.minnum.f64", few, bits(SAFETY))
        return self._within(self._over(self._power(self._get(Kept.ERROR), 0.25), safety), 1 / LONGER, SHORTER)

    def _write_retry(self) -> None:
        """Once more with a shorter step, and a Jacobian of this place; or the end."""
        self.label("retry")
        self.count("%counts", 1)
        h = self.times(self._get(Kept.H), self._get(Kept.FACTOR))
        self.put(h, "%control", 1)
        self._set(Kept.REJECTED, 1.0)
        with self.when(self._is(Kept.FRESH, False)):
            self._set(Kept.STALE, 1.0)
        self._branch(self._too_short(h), "fail", "step")
        self.label("fail")
        finite = self.let(f"fcmp olt double {self._get(Kept.ERROR)}, {bits(1e300)}")
        short, none = int(Status.TOO_SHORT), int(Status.NOT_FINITE)
        status = self.let(f"select i1 {finite}, i64 {short}, i64 {none}")
        status = self.let(f"select i1 {self._is(Kept.OPENED)}, i64 {int(Status.OPEN)}, i64 {status}")
        self.put_integer(status, "%counts", 3)
        self.do("ret void")

    def _reopen(self) -> None:
        self._set(Kept.OPENED, 1.0)
        self._set(Kept.FACTOR, REOPENED)
        self.goto("retry")

    # --- a step is done ---

    def _accept(self) -> None:
        h, is_last = self._get(Kept.H), self._is(Kept.LAST)
        t = self.let(f"select i1 {is_last}, double {self.number('%control', 2)}, double {self._time(1.0)}")
        self._remember(h)
        self.put(t, "%control", 0)
        self._copy("%closed" if self.projection else "%next", "%y")
        if self.quaternions and not self.projection:
            self._make_unit("%y")
        self.count("%counts", 0)
        self._lengthen(h, is_last)
        self._record(t, h, is_last)
        if self.accounts and not self.quaternions and not self.projection:
            self._copy("%d2", "%slope")
        else:
            self._velocities("%y", t, "%slope")
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
        """What is not controlled, such as accounts of work, from the others as they are now.

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

    def _lengthen(self, h: str, is_last: str) -> None:
        """The next step; one that was cut at stop does not shorten it. What is known of this one is kept."""
        wanted = self._over(h, self._predicted(h))
        shorter = self.call("llvm.minnum.f64", wanted, h)
        wanted = self.let(f"select i1 {self._is(Kept.REJECTED)}, double {shorter}, double {wanted}")
        # a Jacobian that serves well is kept, and so are its factors where h would be little longer
        quick = self.let(f"fcmp ole double {self._get(Kept.CONTRACTION)}, {bits(QUICK)}")
        above = self.let(f"fcmp oge double {wanted}, {h}")
        below = self.let(f"fcmp ole double {wanted}, {self.times(h, bits(KEPT_RATIO))}")
        same = self.let(f"and i1 {quick}, {self.let(f'and i1 {above}, {below}')}")
        wanted = self.let(f"select i1 {same}, double {h}, double {wanted}")
        longer = self.call("llvm.maxnum.f64", wanted, self._get(Kept.WANTED))
        self.put(self.let(f"select i1 {is_last}, double {longer}, double {wanted}"), "%control", 1)
        self._set(Kept.STALE, self.let(f"uitofp i1 {self.let(f'xor i1 {quick}, true')} to double"))
        self._set(Kept.H_BEFORE, h)
        self._set(Kept.ERROR_BEFORE, self.call("llvm.maxnum.f64", self._get(Kept.ERROR), bits(1e-2)))
        for what in (Kept.FIRST, Kept.REJECTED, Kept.FRESH, Kept.OPENED):
            self._set(what, 0.0)

    def _predicted(self, h: str) -> str:
        """h over the next h, also from how the error has grown: Gustafsson 1994."""
        plain, error = self._quotient(), self._get(Kept.ERROR)
        growth = self._power(self._over(self.times(error, error), self._get(Kept.ERROR_BEFORE)), 0.25)
        ratio = self._over(self._get(Kept.H_BEFORE), h)
        foreseen = self._within(self._over(self.times(ratio, growth), bits(SAFETY)), 1 / LONGER, SHORTER)
        both = self.call("llvm.maxnum.f64", plain, foreseen)
        return self.let(f"select i1 {self._is(Kept.FIRST)}, double {plain}, double {both}")
