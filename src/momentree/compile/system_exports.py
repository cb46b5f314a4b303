"""What a system is written as for other programs, chosen by the ending of a name: C, robot formats, model files."""

from __future__ import annotations

from os import PathLike
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, cast

from momentree.errors import MomentreeError, all_choices
from momentree.files.atomic_write import printable
from momentree.files.save import ENDINGS, save

if TYPE_CHECKING:
    from momentree.system import System

C_CODE = (".c",)  # another kind of export adds its endings here, and a line to `export`


class SystemExports:
    """The front door of all exports."""

    def export(self, path: str | PathLike[str], **how: Any) -> None:
        """Write the system for another program; the ending of the name says which.

        | ending                     | what                                                 | options          |
        |----------------------------|------------------------------------------------------|------------------|
        | .c                         | C99 functions, as `export_c` (docs/export-c.md)      | what             |
        | .urdf, .sdf, .xml or .mjcf | a robot (docs/robots-export.md)                      | lossy, closures  |
        | .toml                      | the model file, with the values of free parameters   |                  |
        """
        system, suffix = cast("System", self), PurePath(path).suffix.lower()
        if suffix in C_CODE:
            system.export_c(path, **how)
        elif suffix in ENDINGS:
            save(system._model, path, **how)
        else:
            known = all_choices(suffix, [*C_CODE, *ENDINGS])
            raise MomentreeError(f"{printable(path)}: the ending says what is written.{known}")
