"""Machine code that closes the loops of one row after the other: the steps of closing_search.py, by its rules.

Each row takes its own number of steps and depends on no other. A function works on arrays with names in one working
memory; `here` is where the row is, `there` where a step leads, `kept` what it may come back to.

| function | does                                                                                       |
|----------|--------------------------------------------------------------------------------------------|
| measure  | closure errors and the constraint Jacobian, scaled, at there.q                             |
| move     | there.q, from here.q by a step against `step`, none longer than a branch is wide            |
| downhill | Levenberg-Marquardt steps                                                                  |
| polish   | Newton steps along directions stronger than `cut`                                          |
| strictly | the same along weak directions, if they close the loop to round-off not far from here      |
| close    | all of these, from there.q on                                                              |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from momentree.assembly import closing_rules as rules
from momentree.assembly.closing_rules import CREEPING, EXACT, STRICT
from momentree.assembly.scaled_constraints import CUT_OFF
from momentree.compile.emit.dense_solves import DampedSteps, SingularValues
from momentree.compile.emit.lanes import ROWS_ARGUMENTS, LanesCode
from momentree.compile.emit.llvm_definitions import definitions
from momentree.compile.emit.routine import table
from momentree.compile.emit.scalar_code import Number, ScalarCode, Truth, Vector, function_text, places_of

POINTS = ("here", "there", "kept")
_LISTED = ("size", "exact_size", "misfit", "closed", "sound", "q", "g", "exact", "J")


class Shape(NamedTuple):
    """How many coordinates, velocities, constraints of loops and parameters there are; which velocities may change."""

    nq: int
    nv: int
    rows: int
    parameters: int
    moving: tuple[int, ...]

    @property
    def arguments(self) -> dict[str, int]:
        """What each row is given, and how many numbers: scales are those of assembly/scaled_constraints.py."""
        scales = {"row_scales": self.rows, "columns": self.nv, "tolerances": self.rows, "sizes": self.rows}
        return {"t": 1, **({"parameters": self.parameters} if self.parameters else {}), **scales, "joints": self.rows}


class ClosingCode:
    """The text of rows_1 (execute/kernel.py) around the functions of a module.

    | argument | meaning                                                                       |
    |----------|-------------------------------------------------------------------------------|
    | shape    | sizes of the mechanism                                                        |
    | codes    | of constraint rows (q), of steps (q, step) and differences (q, later)         |
    """

    def __init__(self, shape: Shape, codes: Mapping[str, LanesCode]):
        self.shape, self._codes = shape, codes
        n, r = len(shape.moving), shape.rows
        self.singular = SingularValues("closing", "here.J", r, n)
        self.damped = DampedSteps("damped", "here.J", "here.g", r, n)
        self.sizes = {"q": shape.nq, **shape.arguments, **self.more_arguments}
        self.sizes |= {"table": r * (shape.nv + 3), "whole": shape.nv, "step": n, "cut": 1, "damping": 1}
        self.sizes |= {"earlier": CREEPING + 1, "nothing": 1, **self.rooms()}
        self.sizes |= {f"{point}.{name}": size for point in POINTS for name, size in self._point.items()}
        for part in self.solvers:
            self.sizes |= part.sizes()
        self.places, self._room = places_of(self.sizes)
        self.arrays = (("q", shape.nq), *shape.arguments.items(), *self.more_arguments.items())
        self.constant, self.outputs = (False,) * len(self.arrays), self.results

    @property
    def solvers(self) -> Sequence[SingularValues | DampedSteps]:
        return (self.singular, self.damped)

    @property
    def more_arguments(self) -> dict[str, int]:
        """What rows are given besides."""
        return {}

    def rooms(self) -> dict[str, int]:
        """Arrays besides."""
        return {}

    @property
    def results(self) -> int:
        """q, misfit, whether it is closed exactly, and the rank of J where it is closed otherwise."""
        return self.shape.nq + 3

    @property
    def _point(self) -> dict[str, int]:
        r = self.shape.rows
        sizes = {"q": self.shape.nq, "g": r, "exact": r, "J": r * len(self.shape.moving)}
        return {name: sizes.get(name, 1) for name in _LISTED}

    # --- the module ---

    def scratch(self, width: int) -> int:
        """The working memory."""
        return self._room

    def text(self, width: int) -> str:
        """The module that defines rows_1."""
        assert width == 1, "rows are closed one at a time"
        texts, called = [table("moving", self.shape.moving or (0,))], set[tuple[str, int]]()
        for name, code in self._codes.items():
            written, functions = code.lanes(1, name)
            texts, called = [*texts, *written], called | functions
        for part in self.solvers:
            texts += part.texts(self.places)
        texts += [function_text(name, self.places, write) for name, write in self.functions().items()]
        return "\n\n".join([*texts, self._rows(), definitions(called)]) + "\n"

    def functions(self) -> dict[str, Callable[[ScalarCode], None]]:
        """What writes each function."""
        written = (self.measure, self.move, self.downhill, self.polish, self.strictly, self.close)
        return {write.__name__: write for write in written}

    def _rows(self) -> str:
        """Rows one after the other: arguments into the working memory, results out of it."""
        code = ScalarCode(self.places)
        starts = []
        for k in range(len(self.arrays)):
            start = code.let(f"load ptr, ptr {code.let(f'getelementptr ptr, ptr %arguments, i64 {k}')}")
            starts.append((start, code.integer("%strides", k)))
        with code.span("%begin", "%end") as row:
            for (name, count), (start, stride) in zip(self.arrays, starts, strict=True):
                first = code.let(f"getelementptr double, ptr {start}, i64 {code.let(f'mul i64 {row}, {stride}')}")
                code.copy(Vector(code, first), code.vector(name), count)
            out = code.let(f"getelementptr double, ptr %out, i64 {code.let(f'mul i64 {row}, {self.outputs}')}")
            self.row(code, Vector(code, out))
        arguments = ROWS_ARGUMENTS.replace("%scratch", "%work")
        return f"define void @rows_1{arguments} nounwind {{\nentry:\n{code.lines}\n  ret void\n}}"

    def row(self, code: ScalarCode, out: Vector) -> None:
        """What is done with a row."""
        nq, here = self.shape.nq, self._at(code, "here")
        code.copy(code.vector("q"), self._at(code, "there")("q"), nq)
        code.run("close")
        code.copy(here("q"), out, nq)
        out[nq] = here("misfit")[0]
        exact = self._within(code, here, EXACT)
        out[nq + 1], out[nq + 2] = exact, -1.0
        with code.if_((here("misfit")[0] <= 1.0) & (exact <= 0.0)):
            code.vector("cut")[0] = CUT_OFF
            code.run("closing_factor")
            code.run("closing_rank")
            out[nq + 2] = code.vector("closing.rank")[0]

    # --- functions ---

    @staticmethod
    def _at(code: ScalarCode, point: str) -> Callable[[str], Vector]:
        return lambda name: code.vector(f"{point}.{name}")

    def _take(self, code: ScalarCode, source: str, to: str) -> None:
        code.copy(code.vector(f"{source}.size"), code.vector(f"{to}.size"), sum(self._point.values()))

    def _within(self, code: ScalarCode, at: Callable[[str], Vector], times: float) -> Number:
        """1 where all closure errors are within so many times their round-off, else 0."""

        def within(i: Any, so_far: Number) -> Number:
            return (at("g")[i].absolute() <= times * at("exact")[i]).select(so_far, 0.0)

        return code.total(0, self.shape.rows, 1.0, within)

    def _evaluated(self, code: ScalarCode, name: str, *arguments: Vector) -> None:
        """One of the codes: its arguments, time and parameters, then where results stand."""
        *given, to = arguments
        more = [code.vector("t"), *([code.vector("parameters")] if self.shape.parameters else [])]
        scratch = code.vector("nothing")
        code.run(f"{name}_1", *given, *more, to, scratch)

    def _moving(self, code: ScalarCode, k: Any) -> Any:
        """Which velocity of the tree column k of J is."""
        return self.shape.moving[k] if isinstance(k, int) else code.integers("moving", k)

    def measure(self, code: ScalarCode) -> None:
        """Closure errors and Jacobian at there.q."""
        there, measured = self._at(code, "there"), code.vector("table")
        r, n, width = self.shape.rows, len(self.shape.moving), self.shape.nv + 3
        row_scales, columns, joints, sizes, tolerances = (
            code.vector(name) for name in ("row_scales", "columns", "joints", "sizes", "tolerances")
        )
        self._evaluated(code, "constraints", there("q"), measured)
        for i in code.each(0, r):
            row, scale = measured.part(i * width), row_scales[i]
            there("g")[i] = row[0] / scale
            there("exact")[i] = rules.round_off(joints[i], row[2], sizes[i])
            for k in code.each(0, n):
                column = self._moving(code, k)
                there("J")[i * n + k] = row[column + 3] * columns[column] / scale
        for norm, of in (("size", "g"), ("exact_size", "exact")):
            there(norm)[0] = code.dot(there(of), there(of), r).sqrt()
        there("misfit")[0] = code.total(
            0, r, 0.0, lambda i, largest: largest.maximum(there("g")[i].absolute() / tolerances[i])
        )
        # NaN where an entry is not finite
        there("sound")[0] = code.total(0, r * n, 0.0, lambda i, total: total + 0.0 * there("J")[i])
        there("closed")[0] = self._within(code, there, 1.0)

    def move(self, code: ScalarCode) -> None:
        """A step of scaled velocities."""
        step, whole, columns = (code.vector(name) for name in ("step", "whole", "columns"))
        n = len(self.shape.moving)
        share = rules.shortening(code.largest(step, n))
        for i in code.each(0, self.shape.nv):
            whole[i] = 0.0
        for k in code.each(0, n):
            column = self._moving(code, k)
            whole[column] = -(step[k] * share) * columns[column]
        self._evaluated(code, "integrated", code.vector("here.q"), whole, code.vector("there.q"))

    def downhill(self, code: ScalarCode) -> None:
        """Until all closure errors are within tolerance, or no step makes them smaller."""
        here, there = self._at(code, "here"), self._at(code, "there")
        damping, earlier = code.vector("damping"), code.vector("earlier")
        damping[0] = rules.FIRST_DAMPING
        for i in code.each(0, CREEPING):
            earlier[i] = here("size")[0]
        accepted = earlier.part(CREEPING)
        accepted[0] = 1.0
        with code.repeated(rules.DOWNHILL_STEPS) as leave:
            leave(~(here("misfit")[0] > 1.0))
            before, tried = here("size")[0], damping[0]
            code.vector("damped.d")[0] = rules.regularization(tried, before)
            code.run("damped")
            code.copy(code.vector("damped.x"), code.vector("step"), len(self.shape.moving))
            code.run("move")
            code.run("measure")
            new = there("size")[0]
            smaller: Truth = rules.is_smaller(new, before)
            damping[0] = rules.next_damping(tried, smaller)
            with code.if_(smaller):
                self._take(code, "there", "here")
                code.copy(earlier.part(1), earlier, CREEPING - 1)
                earlier[CREEPING - 1] = new
                accepted[0] = accepted[0] + 1.0
            goes_on = (smaller & rules.is_worthwhile(new, before)) | (~smaller & (tried <= rules.LARGEST_DAMPING))
            leave(~goes_on | rules.creeps(here("size")[0], earlier[0], accepted[0]))

    def polish(self, code: ScalarCode) -> None:
        """For as long as the closure errors shrink, and a solution is near."""
        here, there, n = self._at(code, "here"), self._at(code, "there"), len(self.shape.moving)
        with code.repeated(rules.NEWTON_STEPS) as leave:
            leave(rules.is_polished(here("size")[0], here("exact_size")[0]))
            leave(~(here("sound")[0] >= 0.0))
            code.copy(here("g"), code.vector("closing.g"), self.shape.rows)
            code.run("closing_factor")
            code.run("closing_solve")
            code.copy(code.vector("closing.x"), code.vector("step"), n)
            leave(~(code.largest(code.vector("step"), n) <= rules.NEAR))
            code.run("move")
            code.run("measure")
            leave(~(there("size")[0] < here("size")[0]))
            self._take(code, "there", "here")

    def strictly(self, code: ScalarCode) -> None:
        """Near a toggle."""
        here, kept = self._at(code, "here"), self._at(code, "kept")
        self._take(code, "here", "kept")
        code.vector("cut")[0] = STRICT
        code.run("polish")
        whole, step, n = code.vector("whole"), code.vector("step"), len(self.shape.moving)
        self._evaluated(code, "difference", kept("q"), here("q"), whole)
        for k in code.each(0, n):
            column = self._moving(code, k)
            step[k] = whole[column] / code.vector("columns")[column]
        distance = code.largest(step, n)
        size, exact, before = here("size")[0], here("exact_size")[0], kept("size")[0]
        with code.if_(~rules.is_strictly_closed(size, exact, distance, before)):
            self._take(code, "kept", "here")

    def close(self, code: ScalarCode) -> None:
        """The configuration that steps downhill lead to; one that is closed exactly does not move."""
        code.run("measure")
        self._take(code, "there", "here")
        closed = code.vector("here.closed")
        with code.if_(closed[0] <= 0.0):
            code.run("downhill")
            code.vector("cut")[0] = CUT_OFF
            code.run("polish")
            with code.if_(closed[0] <= 0.0):
                code.run("strictly")
