"""Fixed-point iteration to round-off in machine code, from values extrapolated from the last steps."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator

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
        self._put_column(lines.intrinsic("maxnum", self._settled(), self._column("%failed")), "%done")
        self.do(f"store {lines.type} {lines.number(math.inf)}, ptr %earlier")
        self.goto(name)
        self.label(name)
        for array in ("%change", "%size"):
            self.do(f"store {lines.type} zeroinitializer, ptr {array}")
        done = self._holds(self._column("%done"))
        self._work_in(self._mask(self._not(done)))
        yield done
        change, size, earlier = (self.chunk(array, "0") for array in ("%change", "%size", "%earlier"))
        enough = lines.compare("ole", change, lines.times(size, lines.number(ENOUGH)))
        small = lines.compare("ole", change, lines.times(size, lines.number(STALLED)))
        stalled = self.let(f"and {lines.truth} {small}, {lines.compare('oge', change, earlier)}")
        done = lines.choose(enough, lines.number(1.0), self.chunk("%done", "0"))
        done = lines.choose(stalled, lines.number(1.0), done)
        self.put_chunk(done, "%done", "0")
        self.put_chunk(change, "%earlier", "0")
        self._go_on(name, "%done")
        self._work_in(lines.number(1.0))

    def _settled(self) -> str:
        """The lanes that stay as they are from the beginning: not zero."""
        return self.lines.number(0.0)

    def _go_on(self, name: str, done: str, counter: str = "%iterations", to: str = "") -> None:
        """Leave when all lanes are done; a lane fails after many iterations, or at numbers that are not finite."""
        self._branch(self._all_of(self._holds(self._column(done))), f"{name}.done", f"{name}.test")
        self.label(f"{name}.test")
        self.count(counter, 0)
        few = self.let(f"icmp slt i64 {self.integer(counter, 0)}, {MOST}")
        trying = self._both(self._finite(), self._holds(self.column.splat(self.let(f"uitofp i1 {few} to double"))))
        left = self._not(self._either(trying, self._holds(self._column(done))))
        self._fail_in(left)
        self._put_column(self.column.choose(left, self.column.number(1.0), self._column(done)), done)
        self._branch(self._all_of(self._holds(self._column(done))), f"{name}.done", to or name)
        self.label(f"{name}.done")

    def _fail_in(self, lanes: str) -> None:
        """The step cannot be done in these lanes."""
        self._put_column(self.column.choose(lanes, self.column.number(1.0), self._column("%failed")), "%failed")

    def _finite(self) -> str:
        """Whether the change of each lane is."""
        return self.lines.compare("olt", self.chunk("%change", "0"), self.lines.number(math.inf))

    def _renew(self, done: str, new: str, array: str, i: str) -> str:
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
        count = self._column("%kept", 1)
        masks = [self.column.compare("ogt", count, self.column.number(float(k))) for k in range(ORDER)]
        available = [self._mask(mask) for mask in masks]
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
