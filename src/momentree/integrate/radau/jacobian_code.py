"""Jacobian of the right-hand side in machine code, and the factors of the matrices that Newton's iteration needs."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator

from momentree.compile.emit.routine import bits
from momentree.integrate.radau.layout import Memory
from momentree.integrate.radau.step_code import RadauStepCode
from momentree.integrate.runge_kutta.step_code import EPSILON


class JacobianCode(RadauStepCode):
    """J = df/dy where it is due, by its own code or by differences; gamma / h - J and (alpha + i beta) / h - J."""

    def _renew(self) -> None:
        """A new Jacobian where one is due, new factors where h is new."""
        with self.when(self._is(Memory.STALE)):
            self._copy("%y", "%at")
            self._set(Memory.T_JACOBIAN, self.number("%control", 0))
            self._jacobian()
            self._set(Memory.FRESH, 1.0)
            self._set(Memory.STALE, 0.0)
            self._set(Memory.H_FACTORED, 0.0)
        h = self._get(Memory.H)
        with self.when(self.let(f"fcmp une double {h}, {self._get(Memory.H_FACTORED)}")):
            self._set(Memory.H_FACTORED, h)
            self._make_factors()

    def _jacobian(self) -> None:
        """d f / d y at the state and time of the last Jacobian."""
        self.count("%counts", 7)
        if not self.entries:
            self._differences()
            return
        with self.loop(self._all * self.layout.n) as i:
            self.put_chunk("zeroinitializer", "%matrix", i)
        self.put(self._get(Memory.T_JACOBIAN), "%time", 0)
        parameters = "ptr %parameters, " if self.parameters else ""
        self.do(f"call void @jacobian_1(ptr %at, ptr %time, {parameters}ptr %entries, ptr %scratch)")
        self._set(Memory.TOTAL, 0.0)
        with self.loop(self.entries) as i:
            entry = self.let(f"load i64, ptr {self.let(f'getelementptr i64, ptr @pattern, i64 {i}')}")
            value = self.let(f"load double, ptr {self.offset('%entries', i)}")
            self.do(f"store double {value}, ptr {self.offset('%matrix', entry)}")
            # 0 as long as all of them are finite
            self._set(Memory.TOTAL, self.plus(self._get(Memory.TOTAL), self.times(value, bits(0.0))))
        with self.when(self._is(Memory.TOTAL)):
            self._differences()

    def _differences(self) -> None:
        """Column by column, from a change of y by half of its digits."""
        with self.loop(self._all * self.layout.n) as i:
            self.put_chunk("zeroinitializer", "%matrix", i)
        self._evaluate("%at", self._get(Memory.T_JACOBIAN), "%d0")
        if self.wide > 1:
            self._wide_differences()
            return
        with self.loop(self.controlled) as j:
            self._copy("%at", "%there")
            x, there = self._changed(j)
            self.do(f"store double {there}, ptr {self.offset('%there', j)}")
            self._evaluate("%there", self._get(Memory.T_JACOBIAN), "%d1")
            inverse = self.lines.splat(self._over(1.0, self.let(f"fsub double {there}, {x}")))
            column = self.offset("%matrix", self.let(f"mul i64 {j}, {self.layout.size}"))
            with self.loop(self._all) as i:
                change = self.lines.less(self.chunk("%d1", i), self.chunk("%d0", i))
                self.put_chunk(self.lines.times(change, inverse), column, i)

    def _changed(self, j: str, share: float = math.sqrt(EPSILON)) -> tuple[str, str]:
        """An entry of y where the Jacobian is taken, and what it is changed to: by this share of its size."""
        least = self._over(self.number("%control", 4), self.number("%control", 3))
        least = self.call("llvm.maxnum.f64", self._at("%floor", j), least)
        x = self._at("%at", j)
        larger = self.call("llvm.maxnum.f64", self.call("llvm.fabs.f64", x), least)
        return x, self.plus(x, self.times(larger, bits(share)))

    def _wide_differences(self) -> None:
        """As many columns at a time as a vector has lanes, each with another entry of y changed."""
        W, n, parameters = self.wide, self.layout.n, self._wide_parameters()
        self.count("%counts", 2, self.controlled)
        for k in range(W):
            self.put(self._get(Memory.T_JACOBIAN), "%wide.t", k)
        with self.loop(-(-self.controlled // W)) as block:
            first = self.let(f"mul i64 {block}, {W}")
            with self.loop(n) as i:
                x = self.let(f"load double, ptr {self.offset('%at', i)}")
                with self.loop(W) as lane:
                    self.do(f"store double {x}, ptr {self._in_lane('%wide', i, lane)}")
            with self._columns(first) as (j, lane):
                self.do(f"store double {self._changed(j)[1]}, ptr {self._in_lane('%wide', j, lane)}")
            self.do(f"call void @columns_{W}(ptr %wide, ptr %wide.t, {parameters}ptr %wide.f, ptr %scratch)")
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
        index = self.let(f"add i64 {self.let(f'mul i64 {i}, {self.wide}')}, {lane}")
        return self.offset(array, index)

    def _make_factors(self) -> None:
        """gamma / h - J and (alpha + i beta) / h - J as their factors."""
        size, h, count = self.layout.size, self._get(Memory.H_FACTORED), len(self.radau.pairs)
        with self.loop(self.controlled) as j:
            first, double = (self.let(f"mul i64 {j}, {length}") for length in (size, 2 * size))
            column, real = (self.offset(array, first) for array in ("%matrix", "%real"))
            both = [self.offset(f"%complex{k}", double) for k in range(count)]
            imaginary = [self.offset(part, size) for part in both]
            with self.loop(self._all) as i:
                value = self.lines.negative(self.chunk(column, i))
                for matrix in (real, *both):
                    self.put_chunk(value, matrix, i)
                for matrix in imaginary:
                    self.put_chunk("zeroinitializer", matrix, i)
            parts = [(real, self.radau.gamma), *zip(both, (alpha for alpha, _ in self.radau.pairs), strict=True)]
            for matrix, root in (*parts, *zip(imaginary, (beta for _, beta in self.radau.pairs), strict=True)):
                at = self.offset(matrix, j)
                value = self.plus(self.let(f"load double, ptr {at}"), self._over(root, h))
                self.do(f"store double {value}, ptr {at}")
        self.do("call void @factor_1(ptr %real, ptr %pivots)")
        for k in range(count):
            self.do(f"call void @factor_2(ptr %complex{k}, ptr %pivots{k})")
