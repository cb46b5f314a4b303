"""Tables of the numbers of a model, beside the machine code: models that differ in numbers alone share the code.

A number on a tape, other than 0, 1 and -1, is not written into the instructions but read from a table of its
function. The text of a module holds the tables with their numbers; the code generator gets it without them
(`separated`), so that its result, which is cached by the text, is the same for all models with the same operations.
After linking the numbers are written into the tables (`filled`). A processor reads constants of the instructions from
memory too, so this costs no operation.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence

import numpy as np

from momentree.compile.emit.llvm_functions import Lines
from momentree.compile.trace.operations import TableOperation

PLAIN = (0.0, 1.0, -1.0)  # numbers that tapes know by themselves: models in which others become these differ
_TABLE = re.compile(r"^(@(\S+\.numbers) = dso_local global \[\d+ x double\]) \[(.+)\], (align \d+)$", re.MULTILINE)
_TABLE_MARK = ".numbers = dso_local global ["
INVARIANT = "!invariant.load !{}"  # a table does not change while code runs


class NumberTable:
    """The numbers that a function reads, each once."""

    def __init__(self, function: str):
        self._name = f"{function}.numbers"
        self._places: dict[str, int] = {}
        self._tables: dict[tuple[str, str], tuple[str, Sequence[str]]] = {}

    def load(self, lines: Lines, value: float) -> str:
        """A number in every lane: read from the table, or written as it is."""
        if value in PLAIN:
            return lines.number(value)
        place = self._places.setdefault(Lines(1).number(value), len(self._places))
        at = f"getelementptr (double, ptr @{self._name}, i64 {place})"
        return lines.splat(lines.let(f"load double, ptr {at}, align 8, {INVARIANT}"))

    def table(self, operation: TableOperation) -> str:
        """The address of the breaks or the rows of a table of the model."""
        pieces, which = operation.pieces, "breaks" if operation.kind == "locate" else "rows"
        key = which, pieces.digest
        if key not in self._tables:
            digits = np.ascontiguousarray(getattr(pieces, which)).astype(">f8").tobytes().hex().upper()
            name = f"{self._name.removesuffix('.numbers')}.{which}{len(self._tables)}.numbers"
            self._tables[key] = name, [f"0x{digits[i : i + 16]}" for i in range(0, len(digits), 16)]
        return f"@{self._tables[key][0]}"

    @property
    def text(self) -> str:
        """The tables, if there is anything in them."""
        own = [(self._name, list(self._places))] if self._places else []
        return "".join(f"{table_text(name, numbers)}\n\n" for name, numbers in [*own, *self._tables.values()])


def table_text(name: str, numbers: Sequence[str], alignment: int = 8) -> str:
    """A table of numbers, which are written as LLVM does; its name ends in ".numbers"."""
    entries = ", ".join(f"double {number}" for number in numbers)
    return f"@{name} = dso_local global [{len(numbers)} x double] [{entries}], align {alignment}"


def separated(text: str) -> tuple[str, dict[str, bytes]]:
    """The text of a module with empty tables, and what belongs in them, by name."""
    contents, alike, end = dict[str, bytes](), list[str](), 0
    while (at := text.find(_TABLE_MARK, end)) >= 0:  # a search for the pattern in the whole text takes much longer
        start = text.rfind("\n", 0, at) + 1
        table = _TABLE.match(text, start)
        if table is None:
            start = at + len(_TABLE_MARK)
            alike.append(text[end:start])
            end = start
            continue
        head, name, entries, aligned = table.groups()
        numbers = np.frombuffer(bytes.fromhex(entries.replace("double 0x", "").replace(",", "")), ">u8")
        contents[name] = numbers.astype("=u8").tobytes()
        alike += text[end:start], f"{head} zeroinitializer, {aligned}"
        end = table.end()
    return "".join([*alike, text[end:]]), contents


def filled(addresses: Mapping[str, int], contents: Mapping[str, bytes]) -> None:
    """Write the numbers into the tables of a linked module."""
    for name, content in contents.items():
        ctypes.memmove(addresses[name], content, len(content))
