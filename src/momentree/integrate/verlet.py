"""Structure-preserving integrators in machine code: "verlet" of order 2, "verlet4" composed of it to order 4.

One step of length h, a = h/2, in Hamiltonian variables; r and F are `drift` and `kick` of rates.py. For joints
with a quaternion docs/theory/structure-preserving.md derives o, C and B; for all others o is a sum, C and B are 1.

    B(-a r0) pi0 = s0 = p0 + a F(q0, pi0, t0)                            r0 = r(q0, pi0, t0)                    (5)
    q1 = q0 o a r0 o a r1 ,   s1 = C s0 ,   B(a r1) pi1 = s1             r1 = r(q1, pi1, t1)                    (6)
    p1 = s1 + a F(q1, pi1, t1)                                                                                  (7)

(5) and (6) are solved by iterating to round-off, from values extrapolated from the last steps. What rounding takes off
the sums of q and p is kept and added later (Kahan), so that it does not pile up. Loops join in rattle.py. Accounts of
work w gain a (P0 + P1) of their powers P.

The calling convention is that of explicit.py; `floor` is not read. For dense output, a cubic polynomial, a
record holds y' at both ends of the step and its mean. Behind q and p the array y goes on:

| columns of y         | hold                                                                                 |
|----------------------|--------------------------------------------------------------------------------------|
| n                    | q, p, w                                                                              |
| n                    | what rounding took off them                                                          |
| 2 nv ORDER a substep | differences of the last values of (pi0 - p0) / a and of r1, from which the next follow |

Where loops are closed, those of J r_lam / a (rattle.py) follow.

| control | 6 what rounding took off t | 7 how many differences are known |
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from momentree.compile.emit.llvm_functions import Lines
from momentree.compile.emit.routine import Routine, bits
from momentree.integrate.explicit import HEAD, Status
from momentree.structure.mechanism import Mechanism

ORDER = 8  # how many of the last values are extrapolated
MOST = 50  # iterations
ENOUGH = 2.0**-53  # a change of what is iterated, relative to its size: no further iteration would be seen
STALLED = 2.0**-30  # below, a change that is no longer smaller than the last one is round-off
_SLACK = 1 + 1e-6  # a fixed step meets stop but for round-off

Triple = list[str]  # names of three values


class Parts(NamedTuple):
    """The columns of q and of the momenta that belong together.

    | field   | meaning                                                                         |
    |---------|---------------------------------------------------------------------------------|
    | plain   | a coordinate and its momentum                                                   |
    | balls   | a quaternion and the momentum of its rotation: the first of four, and of three   |
    | carried | three momenta that a rotation carries along, and the momentum of that rotation   |
    """

    plain: tuple[tuple[int, int], ...]
    balls: tuple[tuple[int, int], ...]
    carried: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, mechanism: Mechanism) -> Parts:
        found = cls((), (), ())
        for body in mechanism.bodies:
            q, v = range(body.q.start, body.q.stop), range(body.v.start, body.v.stop)
            if len(q) == len(v):
                found = found._replace(plain=(*found.plain, *zip(q, v, strict=True)))
            else:
                straight, moved, w = zip(q[:-4], v[:-3], strict=True), v[:-3:3], v[-3]
                balls, carried = (*found.balls, (q[-4], w)), (*found.carried, *((i, w) for i in moved))
                found = cls((*found.plain, *straight), balls, carried)
        return found


class Layout:
    """How many numbers stand where, for W motions at a time."""

    memory = 2  # numbers of control beyond those of all integrators

    def __init__(self, nq: int, nv: int, accounts: int, width: int, substeps: int, dense: bool, rows: int = 0):
        self.nq, self.nv, self.kicks, self.n = nq, nv, nv + accounts, nq + nv + accounts
        self.guessed = (nv, nv, rows)  # columns that are extrapolated
        self.table = sum(self.guessed) * ORDER  # columns of the differences of a substep
        self.size = (2 * self.n + substeps * self.table + 1) * width  # and room for loops over no column
        self.width, self.dense, self.record = width, dense, HEAD + (4 if dense else 1) * self.n * width
        self.arrays = {"before": 2 * self.n, "there": nq + nv, "out": nv + self.kicks, "more": self.n}
        self.arrays |= dict.fromkeys(("rate0", "s0", "rate1", "guess"), nv) | {"F0": self.kicks, "time": 1}
        self.add(dict.fromkeys(("begun", "ended", "mean") if dense else (), self.n))

    def add(self, arrays: dict[str, int]) -> None:
        """So many columns of room to work in."""
        self.arrays |= arrays
        self.work = sum(max(columns, 1) for columns in self.arrays.values()) * self.width


class Advance(Routine):
    """The text of advance_W; a column holds one number for each lane."""

    def __init__(self, parts: Parts, layout: Layout, substeps: int, width: int, parameters: bool):
        super().__init__(width)
        self.parts, self.layout, self.substeps, self.width, self.parameters = parts, layout, substeps, width, parameters

    def text(self) -> str:
        self._begin()
        self.goto("step")
        self.label("step")
        self._choose_length()
        self._copy("%y", "%before", 2 * self.layout.n)
        if self.layout.dense:
            self._copy("%ended", "%begun", self.layout.n)
        with self.loop(self.substeps) as k:
            self._substep(k)
        self._accept()
        self.label("fail")
        self._fail()
        given = ", ".join(f"ptr %{name}" for name in ("control", "counts", "y", "parameters", "floor"))
        return f"""define void @advance_{self.width}({given}, ptr %work, ptr %records, ptr %scratch) nounwind {{
entry:
{self.lines}
}}"""

    # --- parts of a step ---

    def _begin(self) -> None:
        layout, place = self.layout, 0
        for name, columns in layout.arrays.items():
            self.do(f"%{name} = getelementptr double, ptr %work, i64 {place * self.width}")
            place += max(columns, 1)
        for name, base, columns in (
            ("p", "y", layout.nq), ("lost", "y", layout.n), ("pi", "there", layout.nq), ("F", "out", layout.nv),
            ("more.p", "more", layout.nq),
        ):  # fmt: skip
            self.do(f"%{name} = getelementptr double, ptr %{base}, i64 {columns * self.width}")
        self.do("%kept = alloca double, i64 8")  # 0 h | 1 whether it is the last | 2 a | 3 t0 | 4 t1
        self.do("%iterations = alloca i64")
        for name in ("change", "size", "earlier", "done"):
            self.do(f"%{name} = alloca {self.lines.type}, align 64")
        if layout.dense:
            self.put(self.number("%control", 0), "%kept", 3)
            self._call("rhs", 3, "%y", "%ended")

    def _choose_length(self) -> None:
        """h towards stop, and what is left if that is not more."""
        t, wanted, stop = (self.number("%control", place) for place in range(3))
        left = self.let(f"fsub double {stop}, {t}")
        length = self.call("llvm.minnum.f64", self.call("llvm.fabs.f64", wanted), self.number("%control", 5))
        size = self.call("llvm.fabs.f64", left)
        last = self.let(f"fcmp oge double {self.times(length, bits(_SLACK))}, {size}")
        h = self.call("llvm.copysign.f64", length, left)
        self.put(self.let(f"select i1 {last}, double {left}, double {h}"), "%kept", 0)
        self.put(self.let(f"uitofp i1 {last} to double"), "%kept", 1)
        there = self.let(f"fcmp oeq double {left}, {bits(0.0)}")
        self.do(f"br i1 {there}, label %arrived, label %begin")
        self.label("begin")

    def _substep(self, k: str) -> None:
        t, h = self.number("%control", 0), self.number("%kept", 0)
        self.put(self.times(self.times(h, self._entry("weights", "double", k)), bits(0.5)), "%kept", 2)
        self.put(self.plus(t, self.times(h, self._entry("ends", "double", k))), "%kept", 3)
        later = self._entry("ends", "double", self.let(f"add i64 {k}, 1"))
        self.put(self.plus(t, self.times(h, later)), "%kept", 4)
        first = self.let(f"mul i64 {k}, {self.layout.table * self.width}")
        known = self.let(f"getelementptr double, ptr %lost, i64 {self.layout.n * self.width}")
        known = self.let(f"getelementptr double, ptr {known}, i64 {first}")
        starts = [sum(self.layout.guessed[:i]) * ORDER * self.width for i in range(len(self.layout.guessed))]
        self._halves([self.let(f"getelementptr double, ptr {known}, i64 {start}") for start in starts])
        self._kick_again()
        self._add()

    def _halves(self, known: Sequence[str]) -> None:
        """pi0, r0 and s0 of (5), then r1 of (6); what is known of pi0 and r1 gives the first guess of them."""
        self._guess(known)
        self._first_half()
        self._learn_gain(known[0])
        self._second_half()
        with self._momenta() as i:
            self._learn(self.chunk("%rate1", i), known[1], i)

    def _guess(self, known: Sequence[str]) -> None:
        a = self._a()
        self._extrapolate(known[0])
        with self._momenta() as i:
            self.put_chunk(self.lines.fused(a, self.chunk("%guess", i), self.chunk("%p", i)), "%pi", i)
        self._extrapolate(known[1])
        self._copy("%guess", "%rate1", self.layout.nv)

    def _learn_gain(self, known: str, begun: str = "%pi") -> None:
        """(pi0 - p0) / a."""
        scale = self.lines.reciprocal(self._a())
        with self._momenta() as i:
            gained = self.lines.less(self.chunk(begun, i), self.chunk("%p", i))
            self._learn(self.lines.times(gained, scale), known, i)

    def _first_half(self) -> None:
        """pi0, r0 and s0 of (5), from the guess in %pi."""
        self._copy("%y", "%there", self.layout.nq)
        with self._iterated() as done:
            self._call("kick", 3)
            with self._kicks() as i:
                self._take(done, self.chunk("%F", i), "%F0", i)
            with self._momenta() as i:
                self._take(done, self.chunk("%out", i), "%rate0", i)
            self._kicked()
            with self._momenta() as i:
                self._compare(self.chunk("%guess", i), self.chunk("%pi", i))
                self.put_chunk(self.chunk("%guess", i), "%pi", i)

    def _kicked(self) -> None:
        """s0, and pi0 in %guess, from F0 and r0: (5)."""
        a = self._a()
        with self._momenta() as i:
            s = self._pushed(self.lines.fused(a, self.chunk("%F0", i), self.chunk("%p", i)), i)
            self.put_chunk(s, "%s0", i)
            self.put_chunk(s, "%guess", i)
        for _, w in self._each("balls"):
            self._put_triple(self._trivialised("%s0", "%rate0", w, -0.5), "%guess", w)

    def _pushed(self, s: str, i: str) -> str:
        """s0, and what loops add to it."""
        return s

    def _second_half(self) -> None:
        """r1 of (6), from the guess in %rate1; then q1 - q0 and s1 - p0 are in %more, q1 and pi1 in %there."""
        with self._iterated() as done:
            self._reach()
            self._call("drift", 4)
            with self._momenta() as i:
                old = self.chunk("%rate1", i)
                self._compare(self._take(done, self.chunk("%out", i), "%rate1", i), old)
        self._reach()

    def _reach(self) -> None:
        """q1 and pi1 from r1, by (6)."""
        lines, a = self.lines, self._a()
        self._begin_more()
        self._copy("%s0", "%pi", self.layout.nv)
        for q, v in self._each("plain"):
            self._move(q, lines.times(a, lines.plus(self.chunk("%rate0", v), self.chunk("%rate1", v))))
        for v, w in self._each("carried"):
            self._put_triple(self._carried(v, self._turn(w)), "%pi", v)
        for q, w in self._each("balls"):
            z = self._turn(w)
            self._rotate(q, z)
            self._put_triple(self._carried(w, z), "%pi", w)
            self._put_triple(self._trivialised("%pi", "%rate1", w, 0.5), "%pi", w)

    def _begin_more(self) -> None:
        """s0 - p0."""
        a = self._a()
        with self._kicks() as i:
            self.put_chunk(self.lines.times(a, self.chunk("%F0", i)), "%more.p", i)

    def _move(self, q: str, way: str) -> None:
        """A coordinate by its way: to where the sum of the step will have it, what was lost before added too."""
        self.put_chunk(way, "%more", q)
        more = self.lines.plus(way, self.chunk("%lost", q))
        self.put_chunk(self.lines.plus(self.chunk("%y", q), more), "%there", q)

    def _kick_again(self) -> None:
        """p1 - p0 by (7)."""
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
            total, lost = _two_sum(self.lines, self.chunk("%y", i), more)
            self.put_chunk(total, "%y", i)
            self.put_chunk(lost, "%lost", i)

    # --- rotations: structure-preserving.md (8)-(11) ---

    def _turn(self, w: str) -> Triple:
        """x0 o x1 = (x0 + x1 + x0 x x1 / 2) / (1 - x0.x1 / 4) of x = a r."""
        lines, a = self.lines, self._a()
        x0, x1 = ([lines.times(a, r) for r in self._triple(array, w)] for array in ("%rate0", "%rate1"))
        below = lines.fused(lines.number(-0.25), _dot(lines, x0, x1), lines.number(1.0))
        scale = lines.reciprocal(below)
        both = [lines.plus(x, y) for x, y in zip(x0, x1, strict=True)]
        return [lines.times(scale, z) for z in _fused(lines, lines.number(0.5), _cross(lines, x0, x1), both)]

    def _trivialised(self, array: str, velocities: str, w: str, half: float) -> Triple:
        """B(x)^-1 s = (s + x x s / 2) / (1 + x.x / 4); minus x where half is -1/2."""
        lines, a, s = self.lines, self._a(), self._triple(array, w)
        x = [lines.times(a, r) for r in self._triple(velocities, w)]
        scale = self._one_over(x)
        return [lines.times(scale, e) for e in _fused(lines, lines.number(half), _cross(lines, x, s), s)]

    def _carried(self, v: str, z: Triple) -> Triple:
        """C s: s - z x (s - z x s / 2) / (1 + z.z / 4); what it adds goes to %more."""
        lines, s = self.lines, self._triple("%s0", v)
        inner = _fused(lines, lines.number(-0.5), _cross(lines, z, s), s)
        scale = lines.negative(self._one_over(z))
        added = [lines.times(scale, e) for e in _cross(lines, z, inner)]
        kicked = self._triple("%more.p", v)
        self._put_triple([lines.plus(x, y) for x, y in zip(added, kicked, strict=True)], "%more.p", v)
        return [lines.plus(x, y) for x, y in zip(s, added, strict=True)]

    def _rotate(self, q: str, z: Triple) -> None:
        """q (z/2, 1) / r, r^2 = 1 + z.z/4, less q: q (z/2, 0) / r + q (1/r - 1); and q is brought to unit length."""
        lines = self.lines
        places = [q, *(self.let(f"add i64 {q}, {k}") for k in (1, 2, 3))]
        old = [self.chunk("%y", place) for place in places]
        quarter = lines.times(lines.number(0.25), _dot(lines, z, z))
        r = lines.intrinsic("sqrt", lines.plus(lines.number(1.0), quarter))
        fall = lines.times(quarter, lines.reciprocal(lines.times(r, lines.plus(r, lines.number(1.0)))))
        excess = lines.less(lines.number(1.0), _dot(lines, old, old))
        along = lines.less(lines.times(lines.number(0.5), excess), fall)
        half = lines.times(lines.number(0.5), lines.reciprocal(r))
        x, w = [lines.times(half, e) for e in z], old[3]
        turned = _fused(lines, w, x, _cross(lines, old[:3], x))
        turned.append(lines.negative(_dot(lines, old[:3], x)))
        for place, e, across in zip(places, old, turned, strict=True):
            self._move(place, lines.fused(along, e, across))

    def _one_over(self, x: Triple) -> str:
        """1 / (1 + x.x / 4)."""
        lines = self.lines
        return lines.reciprocal(lines.fused(lines.number(0.25), _dot(lines, x, x), lines.number(1.0)))

    # --- iterations ---

    @contextlib.contextmanager
    def _iterated(self) -> Iterator[str]:
        """Repeats what stands in it until no lane changes any more; gives the lanes that are done, to be left alone."""
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
        """The lanes that are to be left alone from the beginning: not zero."""
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

    def _when_all(self, truth: str, then: str, otherwise: str) -> None:
        if self.width > 1:
            bits = self.let(f"bitcast {self.lines.truth} {truth} to i{self.width}")
            truth = self.let(f"icmp eq i{self.width} {bits}, -1")
        self.do(f"br i1 {truth}, label %{then}, label %{otherwise}")

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

    def _extrapolate(self, known: str, to: str = "%guess", columns: int | None = None) -> None:
        """What follows, of the momenta unless told of how many columns; zero where nothing is known yet."""
        columns = self.layout.nv if columns is None else columns
        count = self.number("%control", 7)
        masks = [self.let(f"fcmp ogt double {count}, {bits(float(k))}") for k in range(ORDER)]
        kept = [self.lines.splat(self.let(f"uitofp i1 {mask} to double")) for mask in masks]
        with self.loop(max(columns, 1)) as i:
            total = self.lines.times(kept[0], self.chunk(known, i))
            for k in range(1, ORDER):
                total = self.lines.fused(kept[k], self.chunk(known, self._next(i, k * columns)), total)
            self.put_chunk(total, to, i)

    def _learn(self, value: str, known: str, i: str, columns: int | None = None) -> None:
        columns = self.layout.nv if columns is None else columns
        for k in range(ORDER):
            place = self._next(i, k * columns)
            old = self.chunk(known, place)
            self.put_chunk(value, known, place)
            value = self.lines.less(value, old)

    # --- a step is done, or cannot be ---

    def _accept(self) -> None:
        h, last = self.number("%kept", 0), self.number("%kept", 1)
        is_last = self.let(f"fcmp one double {last}, {bits(0.0)}")
        single = Lines(1, "end")
        total, lost = _two_sum(single, self.number("%control", 0), self.plus(h, self.number("%control", 6)))
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
        self.put(t, "%kept", 3)
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
                place = HEAD + k * self.layout.n * self.width
                self._copy(array, self.let(f"getelementptr double, ptr {start}, i64 {place}"), self.layout.n)
            self.count("%counts", 5)

    def _fail(self) -> None:
        """Back to the beginning of the step: are forces finite there, now and at its end? Then it is too long."""
        self._copy("%before", "%y", 2 * self.layout.n)
        self._copy("%y", "%there", self.layout.nq + self.layout.nv)
        t = self.number("%control", 0)
        self.put(t, "%kept", 3)
        self.put(self.plus(t, self.number("%kept", 0)), "%kept", 4)
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

    # --- columns ---

    def _a(self) -> str:
        return self.lines.splat(self.number("%kept", 2))

    def _momenta(self) -> contextlib.AbstractContextManager[str]:
        return self.loop(max(self.layout.nv, 1))

    def _kicks(self) -> contextlib.AbstractContextManager[str]:
        """Forces, and powers behind them."""
        return self.loop(max(self.layout.kicks, 1))

    def _each(self, table: str) -> Iterator[tuple[str, str]]:
        """What stands in a `for` over it is written once, in a loop over the pairs of a table, if it has any."""
        pairs = getattr(self.parts, table)
        if not pairs:
            return
        with self.loop(len(pairs)) as k:
            first = self.let(f"mul i64 {k}, 2")
            yield self._entry(table, "i64", first), self._entry(table, "i64", self.let(f"add i64 {first}, 1"))

    def _entry(self, table: str, kind: str, place: str) -> str:
        return self.let(f"load {kind}, ptr {self.let(f'getelementptr {kind}, ptr @{table}, i64 {place}')}")

    def _triple(self, array: str, i: str) -> Triple:
        return [self.chunk(array, place) for place in (i, self._next(i, 1), self._next(i, 2))]

    def _put_triple(self, values: Triple, array: str, i: str) -> None:
        for k, value in enumerate(values):
            self.put_chunk(value, array, self._next(i, k))

    def _next(self, i: str, k: int) -> str:
        return i if k == 0 else self.let(f"add i64 {i}, {k}")

    def _copy(self, array: str, to: str, columns: int) -> None:
        with self.loop(max(columns, 1)) as i:
            self.put_chunk(self.chunk(array, i), to, i)

    def _call(self, function: str, time: int, state: str = "%there", to: str = "%out") -> None:
        """`kick`, `drift` or `rates` of a state at t0 or t1."""
        self.put_chunk(self.lines.splat(self.number("%kept", time)), "%time", "0")
        parameters = "ptr %parameters, " if self.parameters else ""
        given = f"ptr {state}, ptr %time, {parameters}ptr {to}, ptr %scratch"
        self.do(f"call void @{function}_{self.width}({given})")
        self.count("%counts", 2)


def _dot(lines: Lines, a: Sequence[str], b: Sequence[str]) -> str:
    total = lines.times(a[0], b[0])
    for x, y in zip(a[1:], b[1:], strict=True):
        total = lines.fused(x, y, total)
    return total


def _cross(lines: Lines, a: Sequence[str], b: Sequence[str]) -> Triple:
    pairs = ((1, 2), (2, 0), (0, 1))
    return [lines.less(lines.times(a[i], b[j]), lines.times(a[j], b[i])) for i, j in pairs]


def _fused(lines: Lines, factor: str, a: Sequence[str], b: Sequence[str]) -> Triple:
    """factor a + b."""
    return [lines.fused(factor, x, y) for x, y in zip(a, b, strict=True)]


def _two_sum(lines: Lines, a: str, b: str) -> tuple[str, str]:
    """a + b as rounded, and what rounding took off (Knuth)."""
    total = lines.plus(a, b)
    second = lines.less(total, a)
    first = lines.less(total, second)
    return total, lines.plus(lines.less(a, first), lines.less(b, second))
