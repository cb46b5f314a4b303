"""Pictures as files: .svg, .png and .pdf, written whole or not at all; the same figure gives the same bytes."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from momentree.errors import MomentreeError
from momentree.files.atomic_write import destination, printable, write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METADATA: dict[str, dict[str, Any]] = {".svg": {"Date": None}, ".png": {}, ".pdf": {"CreationDate": None}}


def check_picture(path: str | os.PathLike[str]) -> None:
    """Refuse what no picture can be written to, before anything is computed."""
    if Path(path).suffix.lower() not in METADATA:
        raise MomentreeError(f"{printable(path)}: not a kind of picture. End the name in {', '.join(METADATA)}.")
    destination(path)


def save_picture(figure: Figure, path: str | os.PathLike[str], dpi: float) -> None:
    """Draw a figure into a file of the kind that its name ends in."""
    write_file(path, picture_bytes(figure, Path(path).suffix.lower(), dpi))


def picture_bytes(figure: Figure, suffix: str, dpi: float) -> bytes:
    """What a file of this kind holds."""
    from matplotlib import rc_context

    sheet = io.BytesIO()
    fixed: Any = {"svg.hashsalt": "momentree", "svg.fonttype": "none", "pdf.fonttype": 42, "savefig.bbox": None}
    with rc_context(fixed):
        figure.savefig(sheet, format=suffix[1:], dpi=dpi, metadata=METADATA[suffix])
    return _reproducible(sheet.getvalue()) if suffix == ".svg" else sheet.getvalue()


def _reproducible(svg: bytes) -> bytes:
    """Lengths rounded to thousandths of a point, and parts numbered in the order in which they are named.

    A constrained layout is found by iteration, and its last bits differ from process to process. They decide last
    digits, signs of zeros, and the names of clip paths, which are hashes of unrounded numbers.
    """
    number = rb"(?<![\w.-])-0(?![\w.])|(?<![\w.-])-?\d+\.\d{4,}(?![\w.])"
    tags = rb"<(?:path|text|use|rect|image|g)\b[^>]*>"
    rounded = re.sub(tags, lambda tag: re.sub(number, _rounded, tag[0]), svg)
    names = {*re.findall(rb'<(?:clipPath|path) id="([a-zA-Z][0-9a-f]{10})"', rounded)}
    seen: dict[bytes, bytes] = {}

    def numbered(match: re.Match[bytes]) -> bytes:
        if match[2] not in names:
            return match[0]
        return match[1] + seen.setdefault(match[2], match[2][:1] + str(len(seen) + 1).encode())

    return re.sub(rb'(id="|url\(#|href="#)(\w+)', numbered, rounded)


def _rounded(number: re.Match[bytes]) -> bytes:
    value = round(float(number[0]), 3)
    return f"{value:.3f}".rstrip("0").rstrip(".").encode() if value else b"0"
