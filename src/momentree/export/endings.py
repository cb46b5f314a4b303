"""Exports by the ending of a name: C, functional mock-up units, robot formats, model files."""

from __future__ import annotations

from os import PathLike
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from momentree.errors import MomentreeError, all_choices
from momentree.files.atomic_write import printable
from momentree.files.save import ENDINGS, save

if TYPE_CHECKING:
    from momentree.system import System


def export(system: System, path: str | PathLike[str], **how: Any) -> None:
    """Write a system for another program; options are those of the kind that the ending says."""
    suffix = PurePath(path).suffix.lower()
    if suffix == ".c":
        system.export_c(path, **how)
    elif suffix == ".fmu":
        system.export_fmu(path, **how)
    elif suffix in ENDINGS:
        save(system._model, path, **how)
    else:
        known = all_choices(suffix, [".c", ".fmu", *ENDINGS])
        raise MomentreeError(f"{printable(path)}: the ending says what is written.{known}")
