"""Structure-preserving integrators in machine code: "verlet" of order 2, "verlet4" composed of it to order 4.

One step of size h, a = h/2, in Hamiltonian variables; r and F are `drift` and `kick` of right_hand_sides.py. For joints
with a quaternion docs/theory/structure-preserving.md derives o, C and B; for all others o is a sum, C and B are 1.

    B(-a r0) pi0 = s0 = p0 + a F(q0, pi0, t0)                            r0 = r(q0, pi0, t0)                   (V5)
    q1 = q0 o a r0 o a r1 ,   s1 = C s0 ,   B(a r1) pi1 = s1             r1 = r(q1, pi1, t1)                   (V6)
    p1 = s1 + a F(q1, pi1, t1)                                                                                 (V7)

(V5) and (V6) are solved by iterating to round-off, from values extrapolated from the last steps. What rounding takes
off the sums of q and p is kept and added later (Kahan), so that it does not pile up. Loops join in rattle.py. Accounts
of work w gain a (P0 + P1) of their powers P.

The calling convention is that of methods.py; `floor` is not read. For dense output, a cubic polynomial, a
record holds y' at both ends of the step and its mean. Behind q and p the array y goes on:

| columns of y         | hold                                                                                 |
|----------------------|--------------------------------------------------------------------------------------|
| n                    | q, p, w                                                                              |
| n                    | what rounding took off them                                                          |
| 2 nv ORDER a substep | differences of the last values of (pi0 - p0) / a and of r1, from which the next follow |

Where loops are closed, those of J r_lam / a (rattle.py) follow.

| control | 6 what rounding took off t | 7 how many differences there are |
"""

from __future__ import annotations

from collections.abc import Sequence

from momentree.integrate.records import HEAD, Status, advance_function
from momentree.integrate.verlet.columns import two_sum
from momentree.integrate.verlet.fixed_point import FixedPointCode
from momentree.integrate.verlet.layout import ORDER
from momentree.integrate.verlet.rotations import RotationCode

_SLACK = 1 + 1e-6  # a fixed step meets stop but for round-off


class VerletStep(RotationCode, FixedPointCode):
    """The text of advance_1; one step of it is that of many motions too (motions.py)."""

    def text(self) -> str:
        self._begin()
        self._at_label("step")
        self._choose_step_size()
        there = self._all_of(self.column.compare("oeq", self._remaining(), self.column.number(0.0)))
        self._branch(there, "arrived", "begin")
        self.label("begin")
        self._take_step()
        self._branch(self._any(self._holds(self._column("%failed"))), "fail", "accept")
        self.label("accept")
        self._accept()
        self.label("fail")
        self._fail()
        return advance_function(self.lines)

    def _take_step(self) -> None:
        """All substeps; lanes in which they cannot be done have failed."""
        self._copy("%y", "%before", 2 * self.layout.n)
        if self.layout.dense:
            self._copy("%ended", "%begun", self.layout.n)
        self._put_column(self.column.number(0.0), "%failed")
        with self.loop(self.substeps) as k:
            self._substep(k)

    # --- parts of a step ---

    def _begin(self) -> None:
        self.do("%times = getelementptr double, ptr %control, i64 0")
        self.do("%kept = getelementptr double, ptr %control, i64 6")
        self._name_arrays()
        if self.layout.dense:
            self._put_column(self._column("%times"), "%scalars", 3)
            self._call("rhs", 3, "%y", "%ended")

    def _name_arrays(self) -> None:
        layout, column = self.layout, 0
        for name, columns in layout.arrays.items():
            self.do(f"%{name} = getelementptr double, ptr %work, i64 {column * self.width}")
            column += max(columns, 1)
        for name, base, columns in (
            ("p", "y", layout.nq), ("lost", "y", layout.n), ("pi", "there", layout.nq), ("F", "out", layout.nv),
            ("more.p", "more", layout.nq),
        ):  # fmt: skip
            self.do(f"%{name} = getelementptr double, ptr %{base}, i64 {columns * self.width}")
        # columns: 0 h | 1 whether it is the last | 2 a | 3 t0 | 4 t1
        self.do(f"%scalars = alloca {self.column.type}, i64 5, align 64")
        self.do("%iterations = alloca i64")
        self._allocate_columns("change", "size", "earlier", "done", "failed")

    def _remaining(self) -> str:
        return self.column.less(self._shared("%control", 2), self._column("%times"))

    def _choose_step_size(self) -> None:
        """h, with the sign of what remains, and not beyond stop."""
        column, remaining = self.column, self._remaining()
        length = column.intrinsic("fabs", self._column("%times", 1))
        length = column.intrinsic("minnum", length, self._shared("%control", 5))
        size = column.intrinsic("fabs", remaining)
        last = column.compare("oge", column.times(length, column.number(_SLACK)), size)
        h = column.intrinsic("copysign", length, remaining)
        self._put_column(column.choose(last, remaining, h), "%scalars", 0)
        self._put_column(self._mask(last), "%scalars", 1)

    def _substep(self, k: str) -> None:
        column, t, h = self.column, self._column("%times"), self._column("%scalars")
        weight, earlier = (column.splat(self._entry(table, "double", k)) for table in ("weights", "ends"))
        self._put_column(column.times(column.times(h, weight), column.number(0.5)), "%scalars", 2)
        self._put_column(column.plus(t, column.times(h, earlier)), "%scalars", 3)
        later = column.splat(self._entry("ends", "double", self.let(f"add i64 {k}, 1")))
        self._put_column(column.plus(t, column.times(h, later)), "%scalars", 4)
        first = self.let(f"mul i64 {k}, {self.layout.table * self.width}")
        differences = self.let(f"getelementptr double, ptr %lost, i64 {self.layout.n * self.width}")
        differences = self.let(f"getelementptr double, ptr {differences}, i64 {first}")
        starts = [sum(self.layout.guessed[:i]) * ORDER * self.width for i in range(len(self.layout.guessed))]
        self._halves([self.let(f"getelementptr double, ptr {differences}, i64 {start}") for start in starts])
        self._kick_again()
        self._add()

    def _halves(self, differences: Sequence[str]) -> None:
        """pi0, r0 and s0 of (V5), then r1 of (V6); their first guesses come from `differences`."""
        self._guess(differences)
        self._first_half()
        self._learn_gain(differences[0])
        self._second_half()
        with self._momenta() as i:
            self._learn(self.chunk("%velocity1", i), differences[1], i)

    def _guess(self, differences: Sequence[str]) -> None:
        a = self._a()
        self._extrapolate(differences[0])
        with self._momenta() as i:
            self.put_chunk(self.lines.fused(a, self.chunk("%guess", i), self.chunk("%p", i)), "%pi", i)
        self._extrapolate(differences[1])
        self._copy("%guess", "%velocity1", self.layout.nv)

    def _learn_gain(self, differences: str, begun: str = "%pi") -> None:
        """(pi0 - p0) / a."""
        scale = self.lines.reciprocal(self._a())
        with self._momenta() as i:
            gained = self.lines.less(self.chunk(begun, i), self.chunk("%p", i))
            self._learn(self.lines.times(gained, scale), differences, i)

    def _first_half(self) -> None:
        """pi0, r0 and s0 of (V5), from the guess in %pi."""
        self._copy("%y", "%there", self.layout.nq)
        with self._iterated() as done:
            self._call("kick", 3)
            with self._kicks() as i:
                self._renew(done, self.chunk("%F", i), "%F0", i)
            with self._momenta() as i:
                self._renew(done, self.chunk("%out", i), "%velocity0", i)
            self._kicked()
            with self._momenta() as i:
                self._compare(self.chunk("%guess", i), self.chunk("%pi", i))
                self.put_chunk(self.chunk("%guess", i), "%pi", i)

    def _kicked(self) -> None:
        """s0, and pi0 in %guess, from F0 and r0: (V5)."""
        a = self._a()
        with self._momenta() as i:
            s = self._pushed(self.lines.fused(a, self.chunk("%F0", i), self.chunk("%p", i)), i)
            self.put_chunk(s, "%s0", i)
            self.put_chunk(s, "%guess", i)
        for _, w in self._each("balls"):
            self._put_triple(self._trivialised("%s0", "%velocity0", w, -0.5), "%guess", w)

    def _pushed(self, s: str, i: str) -> str:
        """s0, and what loops add to it."""
        return s

    def _second_half(self) -> None:
        """r1 of (V6), from the guess in %velocity1; then q1 - q0 and s1 - p0 are in %more, q1 and pi1 in %there."""
        with self._iterated() as done:
            self._reach()
            self._call("drift", 4)
            with self._momenta() as i:
                old = self.chunk("%velocity1", i)
                self._compare(self._renew(done, self.chunk("%out", i), "%velocity1", i), old)
        self._reach()

    def _reach(self) -> None:
        """q1 and pi1 from r1, by (V6)."""
        lines, a = self.lines, self._a()
        self._begin_more()
        self._copy("%s0", "%pi", self.layout.nv)
        for q, v in self._each("plain"):
            self._move(q, lines.times(a, lines.plus(self.chunk("%velocity0", v), self.chunk("%velocity1", v))))
        for v, w in self._each("carried"):
            self._put_triple(self._carried(v, self._turn(w)), "%pi", v)
        for q, w in self._each("balls"):
            z = self._turn(w)
            self._rotate(q, z)
            self._put_triple(self._carried(w, z), "%pi", w)
            self._put_triple(self._trivialised("%pi", "%velocity1", w, 0.5), "%pi", w)

    def _begin_more(self) -> None:
        """s0 - p0."""
        a = self._a()
        with self._kicks() as i:
            self.put_chunk(self.lines.times(a, self.chunk("%F0", i)), "%more.p", i)

    def _kick_again(self) -> None:
        """p1 - p0 by (V7)."""
        a = self._a()
        self._call("kick", 4)
        with self._kicks() as i:
            self.put_chunk(self.lines.fused(a, self.chunk("%F", i), self.chunk("%more.p", i)), "%more.p", i)

    def _add(self) -> None:
        """q and p at the end of the substep; what rounding takes off is kept (Knuth's two-sum)."""
        self._put_column(self.column.number(0.0), "%change")
        with self._kicks() as i:
            self._compare(self.chunk("%more.p", i), self.lines.number(0.0))
        self._fail_in(self._not(self._finite()))
        with self.loop(max(self.layout.n, 1)) as i:
            more = self.lines.plus(self.chunk("%more", i), self.chunk("%lost", i))
            total, lost = two_sum(self.lines, self.chunk("%y", i), more)
            self.put_chunk(total, "%y", i)
            self.put_chunk(lost, "%lost", i)

    # --- a step is done, or cannot be ---

    def _is_last(self) -> str:
        return self._holds(self._column("%scalars", 1))

    def _pass_time(self, where: str) -> None:
        """t at the end of the step, and what rounding took off it, in lanes where a condition holds."""
        column, is_last = self.column, self._is_last()
        more = column.plus(self._column("%scalars"), self._column("%kept"))
        total, lost = two_sum(column, self._column("%times"), more)
        t = column.choose(is_last, self._shared("%control", 2), total)
        later = (
            t,
            column.choose(is_last, column.number(0.0), lost),
            column.plus(self._column("%kept", 1), column.number(1.0)),
        )
        for value, array, k in zip(later, ("%times", "%kept", "%kept"), (0, 0, 1), strict=True):
            self._put_column(column.choose(where, value, self._column(array, k)), array, k)

    def _accept(self) -> None:
        self._pass_time(self._not(self._holds(self._column("%failed"))))
        t, h, is_last = self._column("%times"), self._column("%scalars"), self._is_last()
        self.count("%counts", 0)
        if self.layout.dense:
            self._differentiate(t, h)
        self._record(t, h, is_last)
        self._branch(is_last, "arrived", "more.steps")
        self._end("arrived", int(Status.ARRIVED))
        self.label("more.steps")
        full = self.let(f"icmp sge i64 {self.integer('%counts', 5)}, {self.integer('%counts', 4)}")
        self._branch(full, "full", "step")
        self._end("full", int(Status.FULL))

    def _differentiate(self, t: str, h: str) -> None:
        """y' at the end of the step, and its mean."""
        self._put_column(t, "%scalars", 3)
        self._call("rhs", 3, "%y", "%ended")
        scale = self.lines.reciprocal(h)
        with self.loop(max(self.layout.n, 1)) as i:
            rise = self.lines.less(self.chunk("%y", i), self.chunk("%before", i))
            self.put_chunk(self.lines.times(rise, scale), "%mean", i)

    def _record(self, t: str, h: str, is_last: str) -> None:
        rest = self.let(f"srem i64 {self.integer('%counts', 0)}, {self.integer('%counts', 6)}")
        with self.when(self.let(f"or i1 {is_last}, {self.let(f'icmp eq i64 {rest}, 0')}")):
            before = self.let(f"mul i64 {self.integer('%counts', 5)}, {self.layout.record}")
            start = self.let(f"getelementptr double, ptr %records, i64 {before}")
            self.put(t, start, 0)
            self.put(h, start, 1)
            for k, array in enumerate(("%y", "%begun", "%ended", "%mean") if self.layout.dense else ("%y",)):
                offset = HEAD + k * self.layout.n * self.width
                self._copy(array, self.let(f"getelementptr double, ptr {start}, i64 {offset}"), self.layout.n)
            self.count("%counts", 5)

    def _fail(self) -> None:
        """Back to the beginning of the step, and the end of the call."""
        status = self._status_of_failure()
        self.put_integer(self.let(f"fptosi double {status} to i64"), "%counts", 3)
        self.do("ret void")

    def _status_of_failure(self) -> str:
        """Failed lanes back to the beginning of the step: are forces finite there, and at its end? Then it is too long.

        Of all lanes a column of numbers.
        """
        column, n = self.column, self.layout.n
        self._take(self._holds(self._column("%failed")), "%before", "%y", 2 * n)
        self._copy("%y", "%there", self.layout.nq + self.layout.nv)
        t = self._column("%times")
        self._put_column(t, "%scalars", 3)
        self._put_column(column.plus(t, self._column("%scalars")), "%scalars", 4)
        self._put_column(column.number(0.0), "%change")
        for time in (3, 4):
            self._call("kick", time)
            with self.loop(max(self.layout.nv + self.layout.kicks, 1)) as i:
                self._compare(self.chunk("%out", i), self.lines.number(0.0))
        long, broken = (column.number(float(status)) for status in (Status.TOO_SHORT, Status.NOT_FINITE))
        return column.choose(self._finite(), long, broken)

    def _end(self, label: str, status: int) -> None:
        self.label(label)
        self.put_integer(status, "%counts", 3)
        self.do("ret void")
