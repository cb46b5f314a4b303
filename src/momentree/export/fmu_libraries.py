"""Libraries of an FMU: its sources compiled for this machine, or for the platforms that are asked for."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from momentree.errors import MomentreeError, choices
from momentree.export.c_compiler import PLATFORMS, build_library, compiler, this_platform
from momentree.export.fmu_description import Description

AUTO, REQUIRED, NONE = BINARIES = ("auto", "required", "none")
SOURCES = "sources/"


class ExportWarning(UserWarning):
    """An export that is less than it could be: an FMU without a library for this machine."""


def checked_binary(binary: str | Sequence[str]) -> tuple[str, ...]:
    """The platforms whose libraries are wanted: none, this one, or those that are named."""
    if isinstance(binary, str) and binary in BINARIES:
        return () if binary == NONE else (this_platform(),)
    named = (binary,) if isinstance(binary, str) else tuple(binary)
    if any(name not in PLATFORMS for name in named):
        known = choices([*BINARIES, *PLATFORMS])
        raise MomentreeError(f"export_fmu: binary is {binary!r}. Choose {known}, or a list of platforms.")
    return named


def libraries(
    files: Mapping[str, str], about: Description, path: str | os.PathLike[str], binary: str | Sequence[str]
) -> dict[str, bytes]:
    """The libraries by their names in the FMU; where "auto" can make none, a warning says why."""
    made: dict[str, bytes] = {}
    for platform in checked_binary(binary):
        problem = _problem(platform, about.version)
        if not problem:
            problem, content = _compiled(files, about, platform)
            if not problem:
                folder = PLATFORMS[platform].in_fmi_2 if about.version == "2.0" else platform
                made[f"binaries/{folder}/{about.identifier}{PLATFORMS[platform].suffix}"] = content
        if problem and binary == AUTO:
            warnings.warn(f"{path}: has sources only, no library: {problem}.", ExportWarning, stacklevel=4)
        elif problem:
            raise MomentreeError(f"{path}: {problem}. Give binary='none' for an FMU with sources only.")
    return made


def _problem(platform: str, version: str) -> str:
    """Why there can be no library for a platform; "" if there can be one."""
    known = PLATFORMS.get(platform)
    if known is None or (version == "2.0" and known.in_fmi_2 is None):
        return f"FMI {version} has no name for {platform}"
    if compiler(platform) is None:
        here = platform == this_platform()
        lacking = "C compiler here (cc, gcc, clang, or pip install ziglang)" if here else f"compiler for {platform}"
        return f"there is no {lacking}" + ("" if here else " here: pip install ziglang")
    return ""


def _compiled(files: Mapping[str, str], about: Description, platform: str) -> tuple[str, bytes]:
    """What went wrong, "" if nothing did; and the bytes of the library."""
    words = compiler(platform) or []
    with tempfile.TemporaryDirectory() as place:
        for name, text in files.items():
            if name.startswith(SOURCES):
                Path(place, name.removeprefix(SOURCES)).write_text(text, encoding="utf-8")
        library = Path(place, f"library{PLATFORMS[platform].suffix}")
        problem = build_library(Path(place), about.sources, library, words, platform)
        return (f"{Path(words[0]).name} failed: {problem}", b"") if problem else ("", library.read_bytes())
