"""LU factorization of dense matrices in machine code, real or complex, and the solution of linear systems.

    void factor_P(double *matrix, int64_t *pivots)                       P A = L U, in place of A
    void solve_P(const double *matrix, const int64_t *pivots, double *b)    the solution, in place of b

P is 1 for real numbers, 2 for complex ones. A column of complex numbers is `stride` real parts, then `stride`
imaginary ones; a matrix is its columns, one after the other. Gaussian elimination by columns with pivots from the rows
below (Golub and Van Loan 2013, algorithm 3.4.1); the diagonal keeps the reciprocals of its entries.
"""

from __future__ import annotations

from momentree.compile.emit.llvm_functions import Lines
from momentree.compile.emit.routine import Routine

Number = tuple[str, ...]  # the names of its parts


def algebra_texts(n: int, stride: int, lanes: int, leading: int, parts: int) -> list[str]:
    """The functions for matrices n x n; the pivots of the first `leading` columns come from as many rows."""
    return [
        _subtract_text(stride, lanes, parts),
        _Algebra(n, stride, parts).factor(leading),
        _Algebra(n, stride, parts).solve(),
    ]


class _Algebra(Routine):
    """The texts of factor_P and solve_P."""

    def __init__(self, n: int, stride: int, parts: int):
        super().__init__(1)
        self.n, self.stride, self.parts = n, stride, parts

    def factor(self, leading: int) -> str:
        self.do("%largest = alloca double")
        with self.span(0, self.n) as k:
            column, below = self._column(k), self.let(f"add i64 {k}, 1")
            end = self.let(f"select i1 {self.let(f'icmp slt i64 {k}, {leading}')}, i64 {leading}, i64 {self.n}")
            self._find_pivot(column, k, end)
            self._exchange_rows(k)
            inverse = self._reciprocal(self._at(column, k))
            self._put(inverse, column, k)
            with self.span(below, self.n) as i:
                self._put(self._product(self._at(column, i), inverse), column, i)
            with self.span(below, self.n) as j:
                other = self._column(j)
                self._subtract(other, column, self._at(other, k), below, self.n)
        return self._function(f"factor_{self.parts}(ptr %matrix, ptr %pivots)")

    def solve(self) -> str:
        with self.span(0, self.n) as k:
            self._exchange("%b", k, self._pivot(k))
        with self.span(0, self.n) as k:
            self._subtract("%b", self._column(k), self._at("%b", k), self.let(f"add i64 {k}, 1"), self.n)
        with self.span(0, self.n) as done:
            k = self.let(f"sub i64 {self.n - 1}, {done}")
            column = self._column(k)
            x = self._product(self._at("%b", k), self._at(column, k))
            self._put(x, "%b", k)
            self._subtract("%b", column, x, 0, k)
        return self._function(f"solve_{self.parts}(ptr %matrix, ptr %pivots, ptr %b)")

    # --- rows and columns ---

    def _column(self, j: str) -> str:
        return self.offset("%matrix", self.let(f"mul i64 {j}, {self.parts * self.stride}"))

    def _pivot(self, k: str) -> str:
        return self.let(f"load i64, ptr {self.let(f'getelementptr i64, ptr %pivots, i64 {k}')}")

    def _find_pivot(self, column: str, k: str, end: str) -> None:
        """The row, from k on, of the largest number in a column; of a complex one the sum of its parts counts."""
        at = self.let(f"getelementptr i64, ptr %pivots, i64 {k}")
        self.do(f"store i64 {k}, ptr {at}")
        self.do(f"store double {self.lines.number(0.0)}, ptr %largest")
        with self.span(k, end) as i:
            sizes = [self.lines.intrinsic("fabs", part) for part in self._at(column, i)]
            size = sizes[0] if len(sizes) == 1 else self.plus(*sizes)
            with self.when(self.let(f"fcmp ogt double {size}, {self.let('load double, ptr %largest')}")):
                self.do(f"store double {size}, ptr %largest")
                self.do(f"store i64 {i}, ptr {at}")

    def _exchange_rows(self, k: str) -> None:
        pivot = self._pivot(k)
        with self.when(self.let(f"icmp ne i64 {pivot}, {k}")), self.span(0, self.n) as j:
            self._exchange(self._column(j), k, pivot)

    def _exchange(self, column: str, i: str, k: str) -> None:
        one, other = self._at(column, i), self._at(column, k)
        self._put(other, column, i)
        self._put(one, column, k)

    def _subtract(self, y: str, x: str, factor: Number, begin: str | int, end: str | int) -> None:
        """y - x times factor in place of y, from begin to end; a factor 0 is skipped."""
        some = self.let(f"fcmp une double {factor[0]}, {self.lines.number(0.0)}")
        for part in factor[1:]:
            some = self.let(f"or i1 {some}, {self.let(f'fcmp une double {part}, {self.lines.number(0.0)}')}")
        with self.when(some):
            count = self.let(f"sub i64 {end}, {begin}")
            numbers = ", ".join(f"double {part}" for part in factor)
            y, x = self.offset(y, begin), self.offset(x, begin)
            self.do(f"call fastcc void @subtract_{self.parts}(ptr {y}, ptr {x}, {numbers}, i64 {count})")

    # --- numbers ---

    def _addresses(self, column: str, i: str) -> list[str]:
        at = self.offset(column, i)
        return [at, *(self.offset(at, self.stride) for _ in range(self.parts - 1))]

    def _at(self, column: str, i: str) -> Number:
        return tuple(self.let(f"load double, ptr {address}") for address in self._addresses(column, i))

    def _put(self, x: Number, column: str, i: str) -> None:
        for part, address in zip(x, self._addresses(column, i), strict=True):
            self.do(f"store double {part}, ptr {address}")

    def _product(self, a: Number, b: Number) -> Number:
        if self.parts == 1:
            return (self.times(a[0], b[0]),)
        less = self.lines.negative(self.times(a[1], b[1]))
        return self.lines.fused(a[0], b[0], less), self.lines.fused(a[0], b[1], self.times(a[1], b[0]))

    def _reciprocal(self, a: Number) -> Number:
        if self.parts == 1:
            return (self.lines.reciprocal(a[0]),)
        square = self.lines.fused(a[0], a[0], self.times(a[1], a[1]))
        inverse = self.lines.reciprocal(square)
        return self.times(a[0], inverse), self.lines.negative(self.times(a[1], inverse))

    def _function(self, head: str) -> str:
        return f"define internal void @{head} nounwind {{\nentry:\n{self.lines}\n  ret void\n}}"


def _subtract_text(stride: int, lanes: int, parts: int) -> str:
    """The function that subtracts a multiple of one column from another: whole vectors first, then single numbers."""
    factor = tuple(f"%f{k}" for k in range(parts))
    routine = Routine(1)
    whole = routine.let(f"sdiv i64 %count, {lanes}")
    wide = Lines(lanes, "once")
    spread = tuple(wide.splat(part) for part in factor)
    routine.do(str(wide).strip())
    with routine.span(0, whole) as i:
        _subtract_one(routine, Lines(lanes, "v"), routine.let(f"mul i64 {i}, {lanes}"), spread, stride)
    with routine.span(routine.let(f"mul i64 {whole}, {lanes}"), "%count") as i:
        _subtract_one(routine, Lines(1, "s"), i, factor, stride)
    numbers = ", ".join(f"double {part}" for part in factor)
    head = f"define internal fastcc void @subtract_{parts}(ptr noalias %y, ptr noalias %x, {numbers}, i64 %count)"
    return f"{head} nounwind {{\nentry:\n{routine.lines}\n  ret void\n}}"


def _subtract_one(routine: Routine, lines: Lines, i: str, factor: Number, stride: int) -> None:
    """y_i - x_i times factor, of as many numbers as the lines have lanes."""

    def addresses(array: str) -> list[str]:
        first = lines.let(f"getelementptr double, ptr {array}, i64 {i}")
        return [first, *(lines.let(f"getelementptr double, ptr {first}, i64 {stride}") for _ in factor[1:])]

    to = addresses("%y")
    x, y = ([lines.let(f"load {lines.type}, ptr {at}, align 8") for at in ats] for ats in (addresses("%x"), to))
    less = [lines.negative(part) for part in factor]
    if len(factor) == 1:
        difference = [lines.fused(x[0], less[0], y[0])]
    else:
        real = lines.fused(x[0], less[0], lines.fused(x[1], factor[1], y[0]))
        difference = [real, lines.fused(x[0], less[1], lines.fused(x[1], less[0], y[1]))]
    for at, part in zip(to, difference, strict=True):
        lines.do(f"store {lines.type} {part}, ptr {at}, align 8")
    routine.do(str(lines).strip())
