"""`load`: the model in a file, whatever its format, chosen by the ending of its name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import PurePath

from momentree.errors import ModelError
from momentree.files.model_bytes import file_error, printed_name
from momentree.files.model_files import load_toml
from momentree.files.urdf_reader import read_urdf
from momentree.model import Model
from momentree.model.check import problems_of


def load(
    path: str | os.PathLike[str],
    *,
    packages: Sequence[str | os.PathLike[str]] = (),
    floating: bool = False,
    inertia_check: str | None = None,
) -> Model:
    """The model in a file, or one error with every problem that it has, each with its line.

    A model file (TOML), or a robot in URDF. For robots:

    | argument      | meaning                                                                                         |
    |---------------|-------------------------------------------------------------------------------------------------|
    | packages      | folders where package:// addresses of meshes are looked for, besides $ROS_PACKAGE_PATH          |
    | floating      | the root link moves freely, instead of being fixed to the ground                                |
    | inertia_check | "warn": physically impossible inertias, as many published robots have them, are not an error    |
    """
    if PurePath(path).suffix.lower() != ".urdf":
        _refuse_options(path, packages=packages, floating=floating)
        return load_toml(path, inertia_check)
    model = read_urdf(path, packages, floating)
    model.inertia_check = inertia_check or model.inertia_check
    problems = [model.placed(problem) for problem in problems_of(model)]
    if problems:
        raise ModelError(problems)
    return model


def _refuse_options(path: str | os.PathLike[str], **options: object) -> None:
    given = [name for name, value in options.items() if value]
    if given:
        name = printed_name(os.fsdecode(path))
        raise file_error(name, f"is read as a model file (TOML), which takes no {given[0]}=. Robots end in .urdf.")
