"""`save`: a model into a file, in the format that the ending of its name says."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from momentree.errors import MomentreeError, choices, spell_checked
from momentree.files.atomic_write import destination, printable, write_file, write_files
from momentree.files.load import load
from momentree.files.model_files import save_toml
from momentree.files.robot_xml import WRITTEN
from momentree.model import Model

Where = str | os.PathLike[str]
ENDINGS = (".toml", *WRITTEN)


@spell_checked
def save(model: Model, path: Where, *, lossy: bool = False, closures: Where | None = None) -> None:
    """Write a model: as TOML it loads equal; as URDF, SDF or MJCF what these can express (docs/robots-export.md).

    | argument | meaning                                                                                     |
    |----------|---------------------------------------------------------------------------------------------|
    | lossy    | leave out what the format cannot express, with one warning, instead of an error             |
    | closures | the YAML file beside a URDF that gets its loops (Extended URDF)                              |
    """
    suffix = PurePath(path).suffix.lower()
    if closures is not None and suffix != ".urdf":
        raise MomentreeError(f"{printable(path)}: has its loops itself. Leave out closures=.")
    if suffix not in WRITTEN:
        save_toml(model, path)
        return
    destination(path)
    if closures is not None and os.path.abspath(closures) == os.path.abspath(path):
        raise MomentreeError(f"{printable(path)}: is named twice. Choose another name for the closures.")
    if suffix == ".urdf":
        from momentree.files.urdf_writer import urdf_text

        written = urdf_text(model, path, lossy, closures is not None)
        yaml = {} if closures is None or written.closures is None else {closures: (written.closures,)}
        write_files({path: (written.robot,), **yaml})
    elif suffix == ".sdf":
        from momentree.files.sdf_writer import sdf_text

        write_file(path, sdf_text(model, path, lossy))
    else:
        from momentree.files.mjcf_writer import mjcf_text

        write_file(path, mjcf_text(model, path, lossy))


def convert(
    source: Where, target: Where, options: Mapping[str, Any], lossy: bool = False, closures: Where | None = None
) -> None:
    """Write the model of a file into another one, which must not be the same; `options` are those of `load`."""
    suffix = PurePath(target).suffix.lower()
    if suffix not in ENDINGS:
        raise MomentreeError(f"{printable(target)}: the ending says the format. Choose {choices(ENDINGS)}.")
    for other in (target, closures):
        if other is not None and os.path.exists(other) and os.path.exists(source) and os.path.samefile(source, other):
            raise MomentreeError(f"{printable(other)}: is the file that is converted. Choose another name.")
    save(load(source, **options), target, lossy=lossy, closures=closures)
