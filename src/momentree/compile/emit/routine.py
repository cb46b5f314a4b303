"""LLVM text with loops and conditions, in which the integrators are written."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from momentree.compile.emit.llvm_functions import Lines


def bits(x: float) -> str:
    """A number as LLVM writes it."""
    return Lines(1).number(x)


def table(name: str, values: Sequence[object], kind: str = "i64") -> str:
    """A constant array."""
    return f"@{name} = internal constant [{len(values)} x {kind}] [{', '.join(f'{kind} {x}' for x in values)}]"


class Routine:
    """LLVM text with loops and conditions; variables are in memory."""

    def __init__(self, chunk: int):
        self.lines = Lines(chunk, "r")
        self.block = "entry"
        self._labels = 0

    def beside(self, width: int, prefix: str) -> Lines:
        """What writes values of another width into the same text."""
        other = Lines(width, prefix)
        other._lines = self.lines._lines
        return other

    def let(self, instruction: str) -> str:
        return self.lines.let(instruction)

    def do(self, instruction: str) -> None:
        self.lines.do(instruction)

    def goto(self, label: str) -> None:
        self.do(f"br label %{label}")

    def label(self, name: str) -> None:
        self.lines.label(name)
        self.block = name

    def new_label(self, hint: str) -> str:
        self._labels += 1
        return f"{hint}{self._labels}"

    @contextlib.contextmanager
    def loop(self, count: int) -> Iterator[str]:
        """Runs its body for 0, 1, ... count - 1."""
        name, before = self.new_label("loop"), self.block
        self.goto(name)
        self.label(name)
        self.do(f"%{name}.i = phi i64 [ 0, %{before} ], [ %{name}.next, %{name}.end ]")
        yield f"%{name}.i"
        self.goto(f"{name}.end")
        self.label(f"{name}.end")
        self.do(f"%{name}.next = add i64 %{name}.i, 1")
        more = self.let(f"icmp ult i64 %{name}.next, {count}")
        self.do(f"br i1 {more}, label %{name}, label %{name}.done")
        self.label(f"{name}.done")

    @contextlib.contextmanager
    def span(self, begin: str | int, end: str | int) -> Iterator[str]:
        """Runs its body for begin, begin + 1, ... end - 1, or not at all."""
        name, before = self.new_label("span"), self.block
        self.goto(name)
        self.label(name)
        self.do(f"%{name}.i = phi i64 [ {begin}, %{before} ], [ %{name}.next, %{name}.end ]")
        more = self.let(f"icmp slt i64 %{name}.i, {end}")
        self.do(f"br i1 {more}, label %{name}.body, label %{name}.done")
        self.label(f"{name}.body")
        yield f"%{name}.i"
        self.goto(f"{name}.end")
        self.label(f"{name}.end")
        self.do(f"%{name}.next = add i64 %{name}.i, 1")
        self.goto(name)
        self.label(f"{name}.done")

    @contextlib.contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """Runs its body if the condition holds."""
        name = self.new_label("when")
        self.do(f"br i1 {condition}, label %{name}, label %{name}.done")
        self.label(name)
        yield
        self.goto(f"{name}.done")
        self.label(f"{name}.done")

    # --- numbers in memory ---

    def offset(self, array: str, count: str | int) -> str:
        return self.let(f"getelementptr double, ptr {array}, i64 {count}")

    def number(self, array: str, index: int) -> str:
        at = self.let(f"getelementptr double, ptr {array}, i64 {index}")
        return self.let(f"load double, ptr {at}")

    def put(self, value: str, array: str, index: int) -> None:
        at = self.let(f"getelementptr double, ptr {array}, i64 {index}")
        self.do(f"store double {value}, ptr {at}")

    def integer(self, array: str, index: int) -> str:
        at = self.let(f"getelementptr i64, ptr {array}, i64 {index}")
        return self.let(f"load i64, ptr {at}")

    def put_integer(self, value: str | int, array: str, index: int) -> None:
        at = self.let(f"getelementptr i64, ptr {array}, i64 {index}")
        self.do(f"store i64 {value}, ptr {at}")

    def count(self, array: str, index: int, more: int = 1) -> None:
        self.put_integer(self.let(f"add i64 {self.integer(array, index)}, {more}"), array, index)

    # --- arrays, chunk by chunk ---

    def chunk(self, array: str, i: str) -> str:
        at = self.let(f"getelementptr {self.lines.type}, ptr {array}, i64 {i}")
        return self.let(f"load {self.lines.type}, ptr {at}, align 8")

    def put_chunk(self, value: str, array: str, i: str) -> None:
        at = self.let(f"getelementptr {self.lines.type}, ptr {array}, i64 {i}")
        self.do(f"store {self.lines.type} {value}, ptr {at}, align 8")

    def times(self, a: str, b: str) -> str:
        return self.let(f"fmul double {a}, {b}")

    def plus(self, a: str, b: str) -> str:
        return self.let(f"fadd double {a}, {b}")

    def call(self, function: str, *arguments: str) -> str:
        typed = ", ".join(f"double {x}" for x in arguments)
        return self.let(f"call double @{function}({typed})")
