"""`momentree convert`: a model into another format, as the ending of the file says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any

import typer

Source = Annotated[Path, typer.Argument(metavar="FILE", help="A model file, or a robot.", show_default=False)]
Target = Annotated[Path, typer.Argument(metavar="OUT", help=".toml, .urdf, .sdf, .xml or .mjcf.", show_default=False)]
Lossy = Annotated[bool, typer.Option("--lossy", help="Leave out what the format cannot express, and list it.")]
Closures = Annotated[Path | None, typer.Option("--closures", help="Write the loops of a URDF to this YAML file.")]


def convert_command(
    how_to_load: Mapping[str, Any], warning: Callable[[], AbstractContextManager[None]]
) -> Callable[..., None]:
    """The command; `how_to_load` are the options of `load` when it runs, `warning` prints warnings."""

    def convert(file: Source, out: Target, lossy: Lossy = False, closures: Closures = None) -> None:
        """Write a model into another format: TOML, URDF, SDF or MJCF, as the ending of OUT says.

        What the format cannot express is an error, or with --lossy it is left out and listed (docs/robots-export.md).
        """
        from momentree.files.save import convert

        with warning():
            convert(file, out, how_to_load, lossy, closures)

    return convert
