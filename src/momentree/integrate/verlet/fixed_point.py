"""Fixed-point iteration to round-off in machine code, from values extrapolated from the last steps."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator

from momentree.compile.emit.routine import bits
from momentree.integrate.verlet.columns import ColumnCode
from momentree.integrate.verlet.layout import ORDER

MOST = 50  # iterations
ENOUGH = 2.0**-53  # a change of what is iterated, relative to its size: no further iteration would be seen
STALLED = 2.0**-30  # below, a change that is no longer smaller than the last one is round-off


class FixedPointCode(ColumnCode):
    """Iterations that go on until no lane changes any more."""

    @contextlib.contextmanager
    def _iterated(self) -> Iterator[str]:
        """Repeats its body until no lane changes any more; yields the lanes that are done, which stay as they are."""
        lines, name = self.lines, self.new_label("iterate")
        self.do("store i64 0, ptr %iterations")
        self.put_chunk(self._settled(), "%done", "0")
        self.do(f"store {lines.type} {lines.number(math.inf)}, ptr %earlier")
        self.goto(name)
        self.label(name)
        for array in ("%change", "%size"):
            self.do(f"store {lines.type} zeroinitializer, ptr {array}")
        yield lines.compare("one", self.chunk("%done", "0"), lines.number(0.0))
        change, size, earlier = (self.chunk(array, "0") for array in ("%change", "%size", "%earlier"))
        enough = lines.compare("ole", change, lines.times(size, lines.number(ENOUGH)))
        small = lines.compare("ole", change, lines.times(size, lines.number(STALLED)))
        stalled = self.let(f"and {lines.truth} {small}, {lines.compare('oge', change, earlier)}")
        done = lines.choose(enough, lines.number(1.0), self.chunk("%done", "0"))
        done = lines.choose(stalled, lines.number(1.0), done)
        self.put_chunk(done, "%done", "0")
        self.put_chunk(change, "%earlier", "0")
        self._go_on(name, done)

    def _settled(self) -> str:
        """The lanes that stay as they are from the beginning: not zero."""
        return self.lines.number(0.0)

    def _go_on(self, name: str, done: str, counter: str = "%iterations", to: str = "") -> None:
        """Leave when all lanes are done; give up after many iterations, or at numbers that are not finite."""
        self._when_all(self.lines.compare("one", done, self.lines.number(0.0)), f"{name}.done", f"{name}.test")
        self.label(f"{name}.test")
        self._when_all(self._finite(), f"{name}.count", "fail")
        self.label(f"{name}.count")
        self.count(counter, 0)
        few = self.let(f"icmp slt i64 {self.integer(counter, 0)}, {MOST}")
        self.do(f"br i1 {few}, label %{to or name}, label %fail")
        self.label(f"{name}.done")

    def _finite(self) -> str:
        """Whether the change of each lane is."""
        return self.lines.compare("olt", self.chunk("%change", "0"), self.lines.number(math.inf))

    def _take(self, done: str, new: str, array: str, i: str) -> str:
        """A new value, but in lanes that are done the old one."""
        value = self.lines.choose(done, self.chunk(array, i), new)
        self.put_chunk(value, array, i)
        return value

    def _compare(self, new: str, old: str) -> None:
        """Add to the change and to the size of what is iterated."""
        self._enlarge("%change", self.lines.less(new, old))
        self._enlarge("%size", new)

    def _enlarge(self, array: str, value: str) -> None:
        total = self.lines.plus(self.chunk(array, "0"), self.lines.intrinsic("fabs", value))
        self.put_chunk(total, array, "0")

    # --- extrapolation: the sum of the differences of the last values, each made from the one before ---

    def _extrapolate(self, differences: str, to: str = "%guess", columns: int | None = None) -> None:
        """The next values, of so many columns, or of the momenta; zero where there are no earlier ones."""
        columns = self.layout.nv if columns is None else columns
        count = self.number("%control", 7)
        masks = [self.let(f"fcmp ogt double {count}, {bits(float(k))}") for k in range(ORDER)]
        available = [self.lines.splat(self.let(f"uitofp i1 {mask} to double")) for mask in masks]
        with self.loop(max(columns, 1)) as i:
            total = self.lines.times(available[0], self.chunk(differences, i))
            for k in range(1, ORDER):
                total = self.lines.fused(available[k], self.chunk(differences, self._next(i, k * columns)), total)
            self.put_chunk(total, to, i)

    def _learn(self, value: str, differences: str, i: str, columns: int | None = None) -> None:
        columns = self.layout.nv if columns is None else columns
        for k in range(ORDER):
            column = self._next(i, k * columns)
            old = self.chunk(differences, column)
            self.put_chunk(value, differences, column)
            value = self.lines.less(value, old)
