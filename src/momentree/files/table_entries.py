"""Tables in model files: [[table]] with lists of numbers, or with the columns of a CSV file beside the model."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from momentree.errors import suggestion
from momentree.files.model_bytes import LARGEST, printed_name
from momentree.model.tables import Table
from momentree.model.values import Mistake

if TYPE_CHECKING:
    from momentree.files.model_files import _Reader

OPTIONS = ("kind", "periodic", "outside")
KEYS = ("name", "x", "y", "file", "columns", *OPTIONS)


def read_table(reader: _Reader, entry: dict[str, Any], where: str, *path: str | int) -> Table:
    """The table of an entry; what cannot be read of it is a problem."""
    entry = reader.keys(entry, KEYS, where, *path)
    name = reader.name(entry, "table", where, *path)
    options = {key: entry[key] for key in OPTIONS if key in entry}
    if "file" not in entry:
        for key in ("x", "y"):
            if entry.get(key) is None:
                reader.problem(where, f'{key} is missing. Write {key} = [...], or file = "points.csv".', *path, key)
                reader.broken.add(path)
        if "columns" in entry:
            reader.problem(where, "columns are those of a file. Leave them out, or name a file.", *path, "columns")
        return Table(name, entry.get("x"), entry.get("y"), **options)
    try:
        if "x" in entry or "y" in entry:
            raise Mistake("has a file and numbers too. Leave out x and y, or the file.", "file")
        x, y = points_in(entry["file"], reader.folder, entry.get("columns"))
        return Table(name, x, y, **options)
    except Mistake as mistake:
        reader.problem(where, str(mistake), *path, mistake.what)
        reader.broken.add(path)
        return Table(name, (0, 1, 2), (0, 0, 0))


def points_in(file: Any, folder: str | None, columns: Any = None) -> tuple[list[float], list[float]]:
    """Two columns of a CSV file, whose path is relative to the folder of the model; raises Mistake.

    The columns are the first two, or those of these names, or numbers from 1 on. Separators are commas, semicolons,
    tabs or spaces; a line of names may come first; lines that begin with # are comments.
    """
    shown = printed_name(str(file))
    rows = _rows(_text(file, folder, shown))
    line, first = next(rows, (1, []))
    if not first:
        raise Mistake(f"{shown} is empty: there are no points in it.", "file")
    header = None if all(map(_is_number, first)) else [name.strip() for name in first]
    chosen = _chosen(columns, header, len(first), f"{shown}:{line}")
    x: list[float] = []
    y: list[float] = []
    for number, row in rows if header else [(line, first), *rows]:
        at = f"{shown}:{number}"
        if len(row) <= max(chosen):
            raise Mistake(f"{at}: {len(row)} columns, but column {max(chosen) + 1} is needed.", "file")
        for column, values in zip(chosen, (x, y), strict=True):
            values.append(_number(row[column], at))
        if len(x) > 1 and not x[-1] > x[-2]:
            said = "is there twice" if x[-1] == x[-2] else f"follows {x[-2]:.9g}"
            raise Mistake(f"{at}: x must ascend, but {x[-1]:.9g} {said}. Sort the points by x.", "file")
    return x, y


def _text(file: Any, folder: str | None, shown: str) -> str:
    if not isinstance(file, str) or not file or "\0" in file:
        raise Mistake(f'file is {file!r}; the path of a CSV file is expected, such as file = "cam.csv".', "file")
    if os.path.isabs(file):
        raise Mistake(f"the path '{shown}' is absolute. Write it relative to the model file.", "file")
    if folder is None:
        raise Mistake(f"'{shown}' is relative to a model file, and this is a text. Give x and y in numbers.", "file")
    path = os.path.join(folder, file)
    if not os.path.isfile(path):
        raise Mistake(f"there is no file '{shown}' beside the model file. A path is relative to its folder.", "file")
    try:
        if os.path.getsize(path) > LARGEST:
            raise Mistake(f"'{shown}' is larger than {LARGEST // 10**6} MB. Thin it out.", "file")
        with open(path, encoding="utf-8-sig", newline="") as text:
            return text.read(LARGEST)
    except OSError as error:
        raise Mistake(f"'{shown}' cannot be read: {error.strerror}.", "file") from None
    except UnicodeDecodeError as error:
        raise Mistake(f"'{shown}' is not UTF-8 text (byte {error.start}). Save it as CSV in UTF-8.", "file") from None


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """The lines that say something: their numbers, and what stands in their columns."""
    lines = text.splitlines()
    said = [(i, line) for i, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")]
    sample = said[-1][1] if said else ""
    separator = next((sign for sign in (";", "\t", ",") if sign in sample), None)
    for i, line in said:
        yield i, line.split() if separator is None else _split(line, separator)


def _split(line: str, separator: str) -> list[str]:
    if '"' not in line:
        return line.split(separator)
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return line.split(separator)


def _chosen(columns: Any, header: list[str] | None, count: int, at: str) -> tuple[int, int]:
    """The indices of the columns of x and y."""
    if columns is None:
        if count < 2:
            raise Mistake(f"{at}: there is one column, but x and y are needed.", "file")
        return 0, 1
    if not isinstance(columns, Sequence) or isinstance(columns, str) or len(columns) != 2:
        raise Mistake(f'columns is {columns!r}; two names or numbers are expected: ["angle", "lift"].', "columns")
    found = []
    for column in columns:
        if isinstance(column, int) and not isinstance(column, bool) and 1 <= column <= count:
            found.append(column - 1)
        elif isinstance(column, str) and header and column in header:
            found.append(header.index(column))
        else:
            near = suggestion(column, header) if isinstance(column, str) and header else ""
            way_out = near or (
                f" Its columns are 1 to {count}." if not header else f" Choose from {', '.join(header)}."
            )
            raise Mistake(f"{at}: there is no column {column!r}.{way_out}", "columns")
    return found[0], found[1]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _number(text: str, at: str) -> float:
    if not _is_number(text):
        decimal = " Write decimals with a point." if "," in text else ""
        raise Mistake(f"{at}: {printed_name(text.strip()[:40])!r} is not a number.{decimal}", "file")
    number = float(text)
    if not math.isfinite(number):
        raise Mistake(f"{at}: {text.strip()[:40]} is not a finite number.", "file")
    return number
