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
    """The functions for matrices n x n; the pivots of the first `leading` columns come from as many rows.

    The other columns have nothing but their diagonal: what else stands there is not read. Columns are filled up with
    zeros to whole vectors of so many lanes.
    """
    sizes = n, stride, lanes, leading, parts
    return [_Algebra(*sizes).factor(), _Algebra(*sizes).solve()]


class _Algebra(Routine):
    """The texts of factor_P and solve_P: whole vectors of a column at a time, but only rows that count."""

    def __init__(self, n: int, stride: int, lanes: int, leading: int, parts: int):
        super().__init__(1)
        self.n, self.stride, self.lanes, self.leading, self.parts = n, stride, lanes, leading, parts
        self.wide = self.beside(lanes, "w")

    def factor(self) -> str:
        self.do("%largest = alloca double")
        with self.span(0, self.leading) as k:
            column, below = self._column(k), self.let(f"add i64 {k}, 1")
            self._find_pivot(column, k)
            self._exchange_rows(k)
            inverse = self._reciprocal(self._at(column, k))
            self._put(inverse, column, k)
            with self.span(self._chunk_of(below), self.stride // self.lanes) as c:
                below_k, old = self._rows(c, k, self.n), self._chunk_at(column, c)
                multipliers = self._product(self.wide, old, self._everywhere(inverse))
                self._put_chunk(self._where(below_k, multipliers, old), column, c)
                with self.span(below, self.leading) as j:
                    other = self._column(j)
                    self._subtract(other, multipliers, self._at(other, k), c, below_k)
        with self.span(self.leading, self.n) as k:
            column = self._column(k)
            self._put(self._reciprocal(self._at(column, k)), column, k)
        return self._function(f"factor_{self.parts}(ptr %matrix, ptr %pivots)")

    def solve(self) -> str:
        with self.span(0, self.leading) as k:
            self._exchange("%b", k, self._pivot(k))
        with self.span(0, self.leading) as k:
            column, x = self._column(k), self._at("%b", k)
            with self.span(self._chunk_of(self.let(f"add i64 {k}, 1")), self.stride // self.lanes) as c:
                self._subtract("%b", self._chunk_at(column, c), x, c, self._rows(c, k, self.n))
        with self.span(self.leading, self.n) as k:
            self._divide(self._column(k), k)
        with self.span(0, self.leading) as done:
            k = self.let(f"sub i64 {self.leading - 1}, {done}")
            column = self._column(k)
            x = self._divide(column, k)
            with self.span(0, self._chunk_of(self.let(f"add i64 {k}, {self.lanes - 1}"))) as c:
                self._subtract("%b", self._chunk_at(column, c), x, c, self._rows(c, -1, k))
        return self._function(f"solve_{self.parts}(ptr %matrix, ptr %pivots, ptr %b)")

    def _divide(self, column: str, k: str) -> Number:
        """A number of b by the entry of a column on the diagonal."""
        x = self._product(self.lines, self._at("%b", k), self._at(column, k))
        self._put(x, "%b", k)
        return x

    # --- vectors of a column ---

    def _chunk_of(self, row: str) -> str:
        return self.let(f"sdiv i64 {row}, {self.lanes}")

    def _rows(self, c: str, above: str | int, below: str | int) -> str:
        """Which rows of a vector lie between these; what fills up a column stays zero, whatever the numbers are."""
        first, integer, places = self.let(f"mul i64 {c}, {self.lanes}"), self.wide.integer, "0"
        if self.lanes > 1:
            places = f"<{', '.join(f'i64 {row}' for row in range(self.lanes))}>"
        sides = []
        for relation, row in (("sgt", above), ("slt", below)):
            bound = self.let(f"sub i64 {row}, {first}")
            if self.lanes > 1:
                start = self.let(f"insertelement {integer} poison, i64 {bound}, i64 0")
                spread = f"shufflevector {integer} {start}, {integer} poison, <{self.lanes} x i32> zeroinitializer"
                bound = self.let(spread)
            sides.append(self.let(f"icmp {relation} {integer} {places}, {bound}"))
        return self.let(f"and {self.wide.truth} {sides[0]}, {sides[1]}")

    def _chunk_at(self, column: str, c: str) -> Number:
        addresses = self._addresses(column, self.let(f"mul i64 {c}, {self.lanes}"))
        return tuple(self.let(f"load {self.wide.type}, ptr {address}, align 8") for address in addresses)

    def _put_chunk(self, x: Number, column: str, c: str) -> None:
        addresses = self._addresses(column, self.let(f"mul i64 {c}, {self.lanes}"))
        for part, address in zip(x, addresses, strict=True):
            self.do(f"store {self.wide.type} {part}, ptr {address}, align 8")

    def _everywhere(self, x: Number) -> Number:
        return tuple(self.wide.splat(part) for part in x)

    def _where(self, truth: str, x: Number, other: Number) -> Number:
        return tuple(self.wide.choose(truth, one, two) for one, two in zip(x, other, strict=True))

    def _subtract(self, column: str, x: Number, factor: Number, c: str, rows: str) -> None:
        """x times factor is subtracted from these rows of a vector of a column."""
        y, wide, less = self._chunk_at(column, c), self.wide, [self.wide.negative(f) for f in self._everywhere(factor)]
        if self.parts == 1:
            difference: Number = (wide.fused(x[0], less[0], y[0]),)
        else:
            real = wide.fused(x[0], less[0], wide.fused(x[1], wide.splat(factor[1]), y[0]))
            difference = real, wide.fused(x[0], less[1], wide.fused(x[1], less[0], y[1]))
        self._put_chunk(self._where(rows, difference, y), column, c)

    # --- rows and columns ---

    def _column(self, j: str) -> str:
        return self.offset("%matrix", self.let(f"mul i64 {j}, {self.parts * self.stride}"))

    def _pivot(self, k: str) -> str:
        return self.let(f"load i64, ptr {self.let(f'getelementptr i64, ptr %pivots, i64 {k}')}")

    def _find_pivot(self, column: str, k: str) -> None:
        """The row, from k on, of the largest number in a column; of a complex one the sum of its parts counts."""
        at = self.let(f"getelementptr i64, ptr %pivots, i64 {k}")
        self.do(f"store i64 {k}, ptr {at}")
        self.do(f"store double {self.lines.number(0.0)}, ptr %largest")
        with self.span(k, self.leading) as i:
            sizes = [self.lines.intrinsic("fabs", part) for part in self._at(column, i)]
            size = sizes[0] if len(sizes) == 1 else self.plus(*sizes)
            with self.when(self.let(f"fcmp ogt double {size}, {self.let('load double, ptr %largest')}")):
                self.do(f"store double {size}, ptr %largest")
                self.do(f"store i64 {i}, ptr {at}")

    def _exchange_rows(self, k: str) -> None:
        pivot = self._pivot(k)
        with self.when(self.let(f"icmp ne i64 {pivot}, {k}")), self.span(0, self.leading) as j:
            self._exchange(self._column(j), k, pivot)

    def _exchange(self, column: str, i: str, k: str) -> None:
        one, other = self._at(column, i), self._at(column, k)
        self._put(other, column, i)
        self._put(one, column, k)

    # --- numbers ---

    def _addresses(self, column: str, i: str) -> list[str]:
        at = self.offset(column, i)
        return [at, *(self.offset(at, self.stride) for _ in range(self.parts - 1))]

    def _at(self, column: str, i: str) -> Number:
        return tuple(self.let(f"load double, ptr {address}") for address in self._addresses(column, i))

    def _put(self, x: Number, column: str, i: str) -> None:
        for part, address in zip(x, self._addresses(column, i), strict=True):
            self.do(f"store double {part}, ptr {address}")

    def _product(self, lines: Lines, a: Number, b: Number) -> Number:
        if self.parts == 1:
            return (lines.times(a[0], b[0]),)
        less = lines.negative(lines.times(a[1], b[1]))
        return lines.fused(a[0], b[0], less), lines.fused(a[0], b[1], lines.times(a[1], b[0]))

    def _reciprocal(self, a: Number) -> Number:
        if self.parts == 1:
            return (self.lines.reciprocal(a[0]),)
        square = self.lines.fused(a[0], a[0], self.times(a[1], a[1]))
        inverse = self.lines.reciprocal(square)
        return self.times(a[0], inverse), self.lines.negative(self.times(a[1], inverse))

    def _function(self, head: str) -> str:
        return f"define internal void @{head} nounwind {{\nentry:\n{self.lines}\n  ret void\n}}"
