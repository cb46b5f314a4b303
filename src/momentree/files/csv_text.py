"""Tables as comma-separated values (RFC 4180): numbers that read back equal, and texts that no spreadsheet runs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet may take for a formula


def csv_text(header: Sequence[str], rows: Iterable[Sequence[float]]) -> str:
    """One line for the names, one for each row; floats have as many digits as they need to read back equal."""
    sheet = io.StringIO()
    writer = csv.writer(sheet, lineterminator="\n")
    writer.writerow([harmless(text) for text in header])
    writer.writerows(rows)
    return sheet.getvalue()


def harmless(text: str) -> str:
    """The text, an apostrophe before it where a spreadsheet would take it for a formula."""
    return f"'{text}" if text.startswith(FORMULAS) else text
