"""Values of an input over time, from a file of comma-separated values: columns t and value, a header if it likes."""

from __future__ import annotations

import csv
import os
from pathlib import Path

from momentree.errors import MomentreeError, suggestion
from momentree.files.atomic_write import printable, reason_of

LARGEST = 200_000_000  # bytes


def read_input_csv(path: str | os.PathLike[str], name: str) -> tuple[list[float], list[float]]:
    """Times and values of the input of this name: the second column, or the one that a header calls so.

    Names in a header may have units, "t [s]", as in the file that `run.to_csv` writes.
    """
    shown = printable(path)
    rows = _rows(path, shown)
    column = 1
    if rows and not _all_numbers(rows[0][1]):
        header = [cell.lstrip("'").partition(" [")[0].strip() for cell in rows.pop(0)[1]]
        if name in header[1:]:
            column = header.index(name, 1)
        elif len(header) != 2:
            message = f"{shown}: has no column '{name}'.{suggestion(name, header[1:])}"
            raise MomentreeError(f"{message} Columns are t and value, or t and columns by name.")
    if not rows:
        raise MomentreeError(f"{shown}: has no numbers. Write a line 't, value' for each time.")
    times, values = [], []
    for line, cells in rows:
        if len(cells) <= column or not _all_numbers([cells[0], cells[column]]):
            raise MomentreeError(f"{shown}:{line}: {', '.join(cells)[:60]!r} is not a time and a value.")
        times.append(float(cells[0]))
        values.append(float(cells[column]))
    return times, values


def _rows(path: str | os.PathLike[str], shown: str) -> list[tuple[int, list[str]]]:
    """The lines that are not empty, with their numbers."""
    try:
        if Path(path).stat().st_size > LARGEST:
            raise MomentreeError(f"{shown}: is larger than {LARGEST / 1e6:g} MB. Give fewer values.")
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            return [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except OSError as error:
        raise MomentreeError(f"{shown}: cannot be read: {reason_of(error)}.") from None
    except (csv.Error, UnicodeDecodeError):
        raise MomentreeError(f"{shown}: is not a text of comma-separated values.") from None


def _all_numbers(cells: list[str]) -> bool:
    try:
        return bool([float(cell) for cell in cells])
    except ValueError:
        return False
