"""The layout of q or v as a table to print, to see in a notebook, and to look up by index or name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from momentree.errors import MomentreeError, suggestion
from momentree.look.html import html_page, html_table
from momentree.look.tables import table
from momentree.structure.coordinate_rows import CoordinateRow

HEADERS = ("index", "name", "joint", "component", "unit", "what it is")


class CoordinateTable(Sequence[CoordinateRow]):
    """The entries of q or v: `table[3].unit`, `table["A"].index`, `[row.name for row in table]`."""

    def __init__(self, title: str, letter: str, rows: Sequence[CoordinateRow]):
        self.title, self.letter, self.rows = title, letter, tuple(rows)

    @overload
    def __getitem__(self, key: int | str) -> CoordinateRow: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[CoordinateRow, ...]: ...
    def __getitem__(self, key: int | str | slice) -> CoordinateRow | tuple[CoordinateRow, ...]:
        if not isinstance(key, str):
            return self.rows[key]
        names = {row.name: row for row in self.rows}
        if key not in names:
            raise MomentreeError(f"{self.letter} has no entry '{key}'.{suggestion(key, names)}")
        return names[key]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[CoordinateRow]:
        return iter(self.rows)

    def _cells(self) -> list[tuple[str, ...]]:
        each = ((f"{self.letter}[{row.index}]", row) for row in self.rows)
        return [(entry, row.name, row.joint, row.component, row.unit, row.meaning) for entry, row in each]

    def __str__(self) -> str:
        return f"{self.title}\n\n{table(HEADERS, self._cells())}" if self.rows else f"{self.title}: none"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_page(self.title, html_table(HEADERS, self._cells()))
