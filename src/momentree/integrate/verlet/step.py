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

from momentree.compile.emit.llvm_functions import Lines
from momentree.compile.emit.routine import bits
from momentree.integrate.records import HEAD, Status, advance_function
from momentree.integrate.verlet.columns import two_sum
from momentree.integrate.verlet.fixed_point import FixedPointCode
from momentree.integrate.verlet.layout import ORDER
from momentree.integrate.verlet.rotations import RotationCode

_SLACK = 1 + 1e-6  # a fixed step meets stop but for round-off


class VerletStep(RotationCode, FixedPointCode):
    """The text of advance_W; a column holds one number for each lane."""

    def text(self) -> str:
        self._begin()
        self.goto("step")
        self.label("step")
        self._choose_step_size()
        self._copy("%y", "%before", 2 * self.layout.n)
        if self.layout.dense:
            self._copy("%ended", "%begun", self.layout.n)
        with self.loop(self.substeps) as k:
            self._substep(k)
        self._accept()
        self.label("fail")
        self._fail()
        return advance_function(self.width, self.lines)

    # --- parts of a step ---

    def _begin(self) -> None:
        layout, column = self.layout, 0
        for name, columns in layout.arrays.items():
            self.do(f"%{name} = getelementptr double, ptr %work, i64 {column * self.width}")
            column += max(columns, 1)
        for name, base, columns in (
            ("p", "y", layout.nq), ("lost", "y", layout.n), ("pi", "there", layout.nq), ("F", "out", layout.nv),
            ("more.p", "more", layout.nq),
        ):  # fmt: skip
            self.do(f"%{name} = getelementptr double, ptr %{base}, i64 {columns * self.width}")
        self.do("%scalars = alloca double, i64 8")  # 0 h | 1 whether it is the last | 2 a | 3 t0 | 4 t1
        self.do("%iterations = alloca i64")
        for name in ("change", "size", "earlier", "done"):
            self.do(f"%{name} = alloca {self.lines.type}, align 64")
        if layout.dense:
            self.put(self.number("%control", 0), "%scalars", 3)
            self._call("rhs", 3, "%y", "%ended")

    def _choose_step_size(self) -> None:
        """h towards stop, and or what remains if that is not more."""
        t, wanted, stop = (self.number("%control", index) for index in range(3))
        remaining = self.let(f"fsub double {stop}, {t}")
        length = self.call("llvm.minnum.f64", self.call("llvm.fabs.f64", wanted), self.number("%control", 5))
        size = self.call("llvm.fabs.f64", remaining)
        last = self.let(f"fcmp oge double {self.times(length, bits(_SLACK))}, {size}")
        h = self.call("llvm.copysign.f64", length, remaining)
        self.put(self.let(f"select i1 {last}, double {remaining}, double {h}"), "%scalars", 0)
        self.put(self.let(f"uitofp i1 {last} to double"), "%scalars", 1)
        there = self.let(f"fcmp oeq double {remaining}, {bits(0.0)}")
        self.do(f"br i1 {there}, label %arrived, label %begin")
        self.label("begin")

    def _substep(self, k: str) -> None:
        t, h = self.number("%control", 0), self.number("%scalars", 0)
        self.put(self.times(self.times(h, self._entry("weights", "double", k)), bits(0.5)), "%scalars", 2)
        self.put(self.plus(t, self.times(h, self._entry("ends", "double", k))), "%scalars", 3)
        later = self._entry("ends", "double", self.let(f"add i64 {k}, 1"))
        self.put(self.plus(t, self.times(h, later)), "%scalars", 4)
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
                self._take(done, self.chunk("%F", i), "%F0", i)
            with self._momenta() as i:
                self._take(done, self.chunk("%out", i), "%velocity0", i)
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
                self._compare(self._take(done, self.chunk("%out", i), "%velocity1", i), old)
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
        checked = self.new_label("add")
        self.do(f"store {self.lines.type} zeroinitializer, ptr %change")
        with self._kicks() as i:
            self._compare(self.chunk("%more.p", i), self.lines.number(0.0))
        self._when_all(self._finite(), checked, "fail")
        self.label(checked)
        with self.loop(max(self.layout.n, 1)) as i:
            more = self.lines.plus(self.chunk("%more", i), self.chunk("%lost", i))
            total, lost = two_sum(self.lines, self.chunk("%y", i), more)
            self.put_chunk(total, "%y", i)
            self.put_chunk(lost, "%lost", i)

    # --- a step is done, or cannot be ---

    def _accept(self) -> None:
        h, last = self.number("%scalars", 0), self.number("%scalars", 1)
        is_last = self.let(f"fcmp one double {last}, {bits(0.0)}")
        single = Lines(1, "end")
        total, lost = two_sum(single, self.number("%control", 0), self.plus(h, self.number("%control", 6)))
        self.do(str(single).strip())
        t = self.let(f"select i1 {is_last}, double {self.number('%control', 2)}, double {total}")
        self.put(t, "%control", 0)
        self.put(self.let(f"select i1 {is_last}, double {bits(0.0)}, double {lost}"), "%control", 6)
        self.put(self.plus(self.number("%control", 7), bits(1.0)), "%control", 7)
        self.count("%counts", 0)
        if self.layout.dense:
            self._differentiate(t, h)
        self._record(t, h, is_last)
        self.do(f"br i1 {is_last}, label %arrived, label %more.steps")
        self._end("arrived", int(Status.ARRIVED))
        self.label("more.steps")
        full = self.let(f"icmp sge i64 {self.integer('%counts', 5)}, {self.integer('%counts', 4)}")
        self.do(f"br i1 {full}, label %full, label %step")
        self._end("full", int(Status.FULL))

    def _differentiate(self, t: str, h: str) -> None:
        """y' at the end of the step, and its mean."""
        self.put(t, "%scalars", 3)
        self._call("rhs", 3, "%y", "%ended")
        scale = self.lines.reciprocal(self.lines.splat(h))
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
        """Back to the beginning of the step: are forces finite there, now and at its end? Then it is too long."""
        self._copy("%before", "%y", 2 * self.layout.n)
        self._copy("%y", "%there", self.layout.nq + self.layout.nv)
        t = self.number("%control", 0)
        self.put(t, "%scalars", 3)
        self.put(self.plus(t, self.number("%scalars", 0)), "%scalars", 4)
        self.do(f"store {self.lines.type} zeroinitializer, ptr %change")
        for time in (3, 4):
            self._call("kick", time)
            with self.loop(max(self.layout.nv + self.layout.kicks, 1)) as i:
                self._compare(self.chunk("%out", i), self.lines.number(0.0))
        self._when_all(self._finite(), "long", "broken")
        self._end("long", int(Status.TOO_SHORT))
        self._end("broken", int(Status.NOT_FINITE))

    def _end(self, label: str, status: int) -> None:
        self.label(label)
        self.put_integer(status, "%counts", 3)
        self.do("ret void")
