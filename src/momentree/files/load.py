"""`load`: the model in a file, whatever its format, chosen by the ending of its name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from momentree.errors import ModelError, MomentreeError, all_choices
from momentree.files.mjcf_reader import read_mjcf
from momentree.files.model_bytes import file_error, printed_name
from momentree.files.model_files import load_toml
from momentree.files.sdf_reader import read_sdf
from momentree.files.urdf_reader import read_urdf
from momentree.model import Model
from momentree.model.check import problems_of

OPTIONS = ("inertia_check", "floating", "packages", "closures")


def load(
    path: str | os.PathLike[str],
    *,
    packages: Sequence[str | os.PathLike[str]] = (),
    floating: bool | None = None,
    closures: str | os.PathLike[str] | None = None,
    inertia_check: str | None = None,
) -> Model:
    """The model in a file, or one error with every problem that it has, each with its line.

    A model file (TOML), or a robot in URDF, SDF or MJCF (docs/robots.md). For robots:

    | argument      | meaning                                                                                         |
    |---------------|-------------------------------------------------------------------------------------------------|
    | packages      | folders where package:// and model:// addresses of meshes are looked for                        |
    | floating      | True: the root link moves freely; False: it is fixed to the ground. None: URDF and MJCF are     |
    |               | fixed, models of SDF float unless a joint holds them                                            |
    | closures      | the YAML file with the loops of a URDF (Extended URDF); by default the one beside it, if any    |
    | inertia_check | "warn": physically impossible inertias, as many published robots have them, are not an error    |
    """
    suffix = PurePath(path).suffix.lower()
    if suffix in (".sdf", ".xml", ".mjcf") and closures is not None:
        raise file_error(printed_name(os.fsdecode(path)), "has its loops itself. Leave out closures=.")
    if suffix == ".urdf":
        model = read_urdf(path, packages, bool(floating), closures)
    elif suffix == ".sdf":
        model = read_sdf(path, packages, floating is not False)
    elif suffix in (".xml", ".mjcf"):
        model = read_mjcf(path, packages, bool(floating))
    else:
        _refuse_options(path, packages=packages, floating=floating is not None, closures=closures)
        return load_toml(path, inertia_check)
    model.inertia_check = inertia_check or model.inertia_check
    problems = [model.placed(problem) for problem in problems_of(model)]
    if problems:
        raise ModelError(problems)
    return model


def load_options(entries: Sequence[str]) -> dict[str, Any]:
    """Options of `load` from words of a command line: "inertia_check=warn", "floating=true", "packages=FOLDER"."""
    options: dict[str, Any] = {}
    for entry in entries:
        name, equals, value = entry.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or name not in OPTIONS:
            way_out = all_choices(name, [f"{known}=..." for known in OPTIONS])
            raise MomentreeError(f"--load {entry}: write NAME=VALUE.{way_out}")
        if name == "floating" and value not in ("true", "false"):
            raise MomentreeError(f"--load {entry}: write floating=true or floating=false.")
        if name == "packages":
            options.setdefault(name, []).append(value)
        else:
            options[name] = value == "true" if name == "floating" else value
    return options


def _refuse_options(path: str | os.PathLike[str], **options: object) -> None:
    given = [name for name, value in options.items() if value]
    if given:
        name = printed_name(os.fsdecode(path))
        robots = "Robots end in .urdf, .sdf, .xml or .mjcf"
        raise file_error(name, f"is read as a model file (TOML), which takes no {given[0]}=. {robots}.")
