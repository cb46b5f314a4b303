"""RATTLE: the steps of step.py with loops closed at the end of every step, both positions and velocities.

    B(-a r0) pi0 = s0 = p0 + a F(q0, pi0, t0) + J(q0, t0)' lam          lam such that g(q1, t1) = 0             (V12)
    p1 = s1 + a F(q1, pi1, t1) + J(q1, t1)' mu                          mu such that loops do not open          (V13)

r and F are those of the tree (docs/theory/structure-preserving.md). A simplified Newton's method finds the Lagrange
multipliers lam, each step after (V5) and (V6) were solved with the last ones: `closure_errors` gives g, and
`constraint_push` what closes it,

    lam <- lam - w Phi^+ g(q1, t1) / h ,   r1 <- r1 + w c ,   c = -M^-1 J' Phi^+ g / h                         (V14)
    w <- w c'(c' - c) / |c' - c|^2 ,   c' the last c ,   w = 1 at first                                        (V15)

with the Delassus matrix Phi = J M^-1 J' at q0, redundant rows or not. (V13) is linear: `velocity_projection` gives
J' mu.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from momentree.integrate.verlet.fixed_point import ENOUGH, STALLED
from momentree.integrate.verlet.layout import RattleLayout
from momentree.integrate.verlet.step import VerletStep


class RattleStep(VerletStep):
    """The text of advance_1 where loops are closed."""

    layout: RattleLayout

    def _name_arrays(self) -> None:
        super()._name_arrays()
        nq, nv = self.layout.nq * self.width, self.layout.nv * self.width
        self.do(f"%closure_errors = getelementptr double, ptr %wanted, i64 {nq}")
        self.do(f"%impulse = getelementptr double, ptr %push, i64 {nv}")
        self.do(f"%opening = getelementptr double, ptr %push, i64 {2 * nv}")
        self.do("%turns = alloca i64")
        for name in ("settled", "last", "share", "along", "square"):
            self.do(f"%{name} = alloca {self.lines.type}, align 64")

    def _halves(self, differences: Sequence[str]) -> None:
        """lam of (V12) with pi0 and r1; the first guesses come from the `differences` of all three."""
        again = self.new_label("close")
        self._guess(differences)
        self._guess_lam(differences[2])
        self.do("store i64 0, ptr %turns")
        self._put_column(self._column("%failed"), "%settled")
        self.put_chunk(self.lines.number(math.inf), "%last", "0")
        self.goto(again)
        self.label(again)
        self._first_half()
        self._second_half()
        self._work_in(self._mask(self._not(self._holds(self._column("%settled")))))
        self._find_push()
        self._judge(again)
        self.goto(f"{again}.learn")
        self.label(f"{again}.correct")
        self._correct()
        self.goto(again)
        self.label(f"{again}.learn")
        self._work_in(self.column.number(1.0))
        self._kicked()
        self._learn_gain(differences[0], "%guess")
        with self._momenta() as i:
            self._learn(self.chunk("%velocity1", i), differences[1], i)
        scale = self.lines.reciprocal(self._a())
        with self.loop(self.layout.rows) as i:
            self._learn(self.lines.times(scale, self.chunk("%opened", i)), differences[2], i, self.layout.rows)

    def _guess_lam(self, differences: str) -> None:
        """From the openings that it would make: so it is a combination of rows at q0, whatever the guess."""
        minus = self.lines.negative(self._a())
        self._extrapolate(differences, "%closure_errors", self.layout.rows)
        with self.loop(self.layout.rows) as i:
            self.put_chunk(self.lines.times(minus, self.chunk("%closure_errors", i)), "%closure_errors", i)
        self._copy("%y", "%wanted", self.layout.nq)
        self._call("constraint_push", 3, "%wanted", "%push")
        self._copy("%impulse", "%lam", self.layout.nv)
        self._copy("%opening", "%opened", self.layout.rows)

    def _find_push(self) -> None:
        """What would close the loops at q1 in a whole step."""
        self._call("closure_errors", 4, to="%closure_errors")
        scale = self.lines.times(self.lines.number(0.5), self.lines.reciprocal(self._a()))
        with self.loop(self.layout.rows) as i:
            self.put_chunk(self.lines.times(scale, self.chunk("%closure_errors", i)), "%closure_errors", i)
        self._call("constraint_push", 3, "%wanted", "%push")

    def _judge(self, again: str) -> None:
        """Leave when in all lanes q1 would move by no more than round-off; give up after many turns."""
        lines, h = self.lines, self.lines.times(self.lines.number(2.0), self._a())
        for array in ("%change", "%size"):
            self.do(f"store {lines.type} zeroinitializer, ptr {array}")
        with self._momenta() as i:
            self._enlarge("%change", lines.times(h, self.chunk("%push", i)))
        with self.loop(max(self.layout.nq, 1)) as i:
            self._enlarge("%size", self.chunk("%there", i))
        change, size, before = (self.chunk(array, "0") for array in ("%change", "%size", "%last"))
        enough = lines.compare("ole", change, lines.times(size, lines.number(ENOUGH)))
        little = lines.times(lines.plus(size, lines.number(1.0)), lines.number(STALLED))
        less = lines.compare("olt", lines.plus(change, change), before)
        small = lines.choose(less, lines.number(0.0), lines.number(1.0))
        stalled = lines.choose(lines.compare("ole", change, little), small, lines.number(0.0))
        settled = lines.intrinsic("maxnum", self.chunk("%settled", "0"), stalled)
        self.put_chunk(lines.choose(enough, lines.number(1.0), settled), "%settled", "0")
        self.put_chunk(change, "%last", "0")
        self._go_on(again, "%settled", "%turns", f"{again}.correct")

    def _correct(self) -> None:
        """lam and r1 by (V14), then pi0; lanes that are settled stay as they are."""
        lines = self.lines
        self._relax()
        settled = lines.compare("one", self.chunk("%settled", "0"), lines.number(0.0))
        columns = {"%lam": self.layout.nv, "%velocity1": self.layout.nv, "%opened": self.layout.rows}
        for array, more in (("%lam", "%impulse"), ("%velocity1", "%push"), ("%opened", "%opening")):
            with self.loop(max(columns[array], 1)) as i:
                new = lines.fused(self.chunk("%share", "0"), self.chunk(more, i), self.chunk(array, i))
                self._renew(settled, new, array, i)
        self._kicked()
        self._copy("%guess", "%pi", self.layout.nv)

    def _relax(self) -> None:
        """The share of a correction c that is taken, by (V15) from the one before; at first all of it."""
        lines = self.lines
        for array in ("%along", "%square"):
            self.do(f"store {lines.type} zeroinitializer, ptr {array}")
        with self._momenta() as i:
            old, new = self.chunk("%former", i), self.chunk("%push", i)
            d = lines.less(old, new)
            for array, factor in (("%along", old), ("%square", d)):
                self.put_chunk(lines.fused(factor, d, self.chunk(array, "0")), array, "0")
            self.put_chunk(new, "%former", i)
        share, square = self.chunk("%share", "0"), self.chunk("%square", "0")
        ratio = self.let(f"fdiv {lines.type} {lines.times(share, self.chunk('%along', '0'))}, {square}")
        first = self.let(f"icmp eq i64 {self.integer('%turns', 0)}, 1")
        is_first = lines.splat(self.let(f"uitofp i1 {first} to double"))
        whole = lines.compare("one", is_first, lines.number(0.0))
        moved = lines.compare("ogt", square, lines.number(0.0))
        relaxed = lines.choose(moved, ratio, lines.number(1.0))
        self.put_chunk(lines.choose(whole, lines.number(1.0), relaxed), "%share", "0")

    def _settled(self) -> str:
        return self.chunk("%settled", "0")

    def _pushed(self, s: str, i: str) -> str:
        lam = self.chunk("%lam", i)
        self._enlarge("%size", lam)  # where it and a F cancel, their sum is round-off
        return self.lines.plus(s, lam)

    def _begin_more(self) -> None:
        super()._begin_more()
        with self._momenta() as i:
            self.put_chunk(self.lines.plus(self.chunk("%more.p", i), self.chunk("%lam", i)), "%more.p", i)

    def _kick_again(self) -> None:
        """p1 - p0 by (V13)."""
        super()._kick_again()
        with self._momenta() as i:
            column = self._next(i, self.layout.nq)
            more = self.lines.plus(self.chunk("%more.p", i), self.chunk("%lost", column))
            self.put_chunk(self.lines.plus(self.chunk("%p", i), more), "%pi", i)
        self._call("velocity_projection", 4, to="%push")
        with self._momenta() as i:
            self.put_chunk(self.lines.plus(self.chunk("%more.p", i), self.chunk("%push", i)), "%more.p", i)
