"""`load`: the model in a file, whatever its format, chosen by the ending of its name."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import PurePath
from typing import Any

from momentree.errors import ModelError, MomentreeError, all_choices, choices, spell_checked
from momentree.files import massless_links
from momentree.files.mesh_addresses import MeshAddresses
from momentree.files.model_bytes import file_error, printed_name
from momentree.files.model_files import load_toml
from momentree.files.robot_parts import FRICTION_VELOCITY, Choices
from momentree.files.robot_xml import MJCF, READ
from momentree.model import Model
from momentree.model.check import problems_of

OPTIONS = (
    *("inertia_check", "floating", "packages", "closures", "massless", "mimic", "limits", "friction_velocity", "idle"),
    *("without", "trust", "arguments"),
)
CHOICES = {"massless": massless_links.CHOICES, "mimic": ("error", "drop"), "idle": ("fix", "keep")}
CHOICES["limits"] = ("keep", "drop")
DEFAULTS = asdict(Choices())
USD = (".usd", ".usda", ".usdc", ".usdz")
TRUTHS = ("floating", "trust")  # options that are true or false


@spell_checked
def load(
    path: str | os.PathLike[str],
    *,
    packages: Sequence[str | os.PathLike[str]] = (),
    floating: bool | None = None,
    closures: str | os.PathLike[str] | None = None,
    inertia_check: str | None = None,
    massless: str = "error",
    mimic: str = "error",
    limits: str = "keep",
    friction_velocity: float = FRICTION_VELOCITY,
    idle: str = "fix",
    without: Sequence[str] = (),
    trust: bool = False,
    arguments: Mapping[str, Any] | None = None,
) -> Model:
    """The model in a file, or one error with every problem that it has, each with its line.

    A model file (TOML), or a robot in URDF, SDF, MJCF or xacro (docs/robots.md). For robots:

    | argument          | meaning                                                                                      |
    |-------------------|----------------------------------------------------------------------------------------------|
    | packages          | folders where package:// and model:// addresses of meshes are looked for                     |
    | floating          | True: the root link moves freely; False: it is fixed to the ground. None: URDF and MJCF are  |
    |                   | fixed, models of SDF float unless a joint holds them                                         |
    | closures          | the YAML file with the loops of a URDF (Extended URDF); by default the one beside it, if any |
    | inertia_check     | "warn": physically impossible inertias, as many published robots have them, are not an error |
    | massless          | links without mass whose motion nothing determines: "fix" holds those that carry nothing,    |
    |                   | which changes no other motion; "light" gives a millionth of the robot's mass to each         |
    | mimic             | "drop": leave out couplings that name no joint, or one that cannot be followed               |
    | limits            | "drop": leave out the limits of all joints                                                   |
    | friction_velocity | rad/s or m/s: joint friction f is the torque -f tanh(v / friction_velocity)                  |
    | idle              | "keep" hinges of an Extended URDF that end in a weld with others on the same axis; they are  |
    |                   | fixed by default, since two such hinges are meant as one                                     |
    | without           | names of joints of a URDF or SDF that are left out                                           |
    | trust             | True: run the Python expressions of a xacro file                                             |
    | arguments         | of a xacro file, by name                                                                     |

    What the file says and the model does not is in `model.notes`.
    """
    name, suffix = printed_name(os.fsdecode(path)), PurePath(path).suffix.lower()
    left_out = (without,) if isinstance(without, str) else tuple(without)
    how = _checked(name, Choices(massless, mimic, idle, left_out, limits, friction_velocity))
    given = {"trust": trust, "arguments": arguments, "closures": closures, "packages": packages}
    given |= {"floating": floating is not None, **{name: said != DEFAULTS[name] for name, said in asdict(how).items()}}
    _refuse_options(name, suffix, [option for option, value in given.items() if value])
    if suffix not in READ:
        return load_toml(path, inertia_check)
    model = _robot(path, suffix, packages, floating, closures, how, trust, arguments or {})
    model.inertia_check = inertia_check or model.inertia_check
    problems = [model.placed(problem) for problem in problems_of(model)]
    if problems:
        raise ModelError(problems)
    return model


def _robot(
    path: str | os.PathLike[str], suffix: str, packages: Sequence[str | os.PathLike[str]], floating: bool | None,
    closures: str | os.PathLike[str] | None, how: Choices, trust: bool, arguments: Mapping[str, Any],
) -> Model:  # fmt: skip
    """The model in a robot file; of the readers, which are large, only its own is loaded."""
    expanded = None
    if suffix == ".xacro":
        from momentree.files.xacro_files import read_xacro

        expanded = read_xacro(path, MeshAddresses(path, packages), trust, arguments)
    if suffix in MJCF:
        from momentree.files.mjcf_reader import read_mjcf

        return read_mjcf(path, packages, bool(floating), how)
    if suffix == ".sdf" or (expanded and expanded[0].tag == "sdf"):
        from momentree.files.sdf_reader import read_sdf

        return read_sdf(path, packages, floating is not False, how, *(expanded or ()))
    from momentree.files.urdf_reader import read_urdf

    return read_urdf(path, packages, bool(floating), closures, how, *(expanded or ()))


def load_options(entries: Sequence[str]) -> dict[str, Any]:
    """Options of `load` from words of a command line: "inertia_check=warn", "floating=true", "packages=FOLDER"."""
    options: dict[str, Any] = {}
    for entry in entries:
        name, equals, value = entry.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or name not in OPTIONS:
            way_out = all_choices(name, [f"{known}=..." for known in OPTIONS])
            raise MomentreeError(f"--load {entry}: write NAME=VALUE.{way_out}")
        if name in TRUTHS and value.lower() not in ("true", "false"):
            raise MomentreeError(f"--load {entry}: write {name}=true or {name}=false.")
        if name in ("packages", "without"):
            options.setdefault(name, []).append(value)
        elif name == "friction_velocity":
            try:
                options[name] = float(value)
            except ValueError:
                raise MomentreeError(f"--load {entry}: write {name}=NUMBER, in rad/s and m/s.") from None
        elif name == "arguments":
            key, colon, text = value.partition(":=")
            if not colon:
                raise MomentreeError(f"--load {entry}: write arguments=NAME:=VALUE; repeat it for several.")
            if key in options.setdefault(name, {}):
                raise MomentreeError(f"--load {entry}: {key} is given twice.")
            options[name][key] = text
        elif name in options:
            raise MomentreeError(f"--load {entry}: {name} is given twice.")
        else:
            options[name] = value.lower() == "true" if name in TRUTHS else value
    return options


def _checked(name: str, how: Choices) -> Choices:
    for option, known in CHOICES.items():
        if getattr(how, option) not in known:
            raise file_error(name, f"{option} is {getattr(how, option)!r}. Choose {choices(known)}.")
    width: object = how.friction_velocity
    if not isinstance(width, (int, float)) or not 0 < width < math.inf:
        raise file_error(name, f"friction_velocity is {width!r}. Give a positive number, in rad/s and m/s.")
    return how


def _refuse_options(name: str, suffix: str, given: Sequence[str]) -> None:
    """Options that say nothing about a file of this format."""
    if suffix in USD:
        way_out = "Export the robot as URDF, SDF or MJCF from the program that it comes from"
        raise file_error(name, f"is USD, which is not read. {way_out}, such as Isaac Sim (URDF).")
    only_xacro = [option for option in given if option in ("trust", "arguments") and suffix != ".xacro"]
    if suffix not in READ and given:
        robots = f"Robots end in {choices(READ)}"
        raise file_error(name, f"is read as a model file (TOML), which takes no {given[0]}=. {robots}.")
    loops = [option for option in ("closures", "idle") if option in given]
    if suffix in (".sdf", *MJCF) and loops:
        raise file_error(name, f"has its loops itself. Leave out {loops[0]}=.")
    wrong = [*only_xacro, *(option for option in ("mimic", "without") if option in given and suffix in MJCF)]
    if wrong:
        raise file_error(name, f"is no file that takes {wrong[0]}=. Leave it out.")
