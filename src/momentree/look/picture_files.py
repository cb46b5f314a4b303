"""Pictures as files: .svg, .png and .pdf, written whole or not at all; the same figure gives the same bytes."""

from __future__ import annotations

import io
import os
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
    return sheet.getvalue()
