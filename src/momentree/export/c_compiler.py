"""C compilers: that of this machine, and that of the package ziglang, which compiles for other platforms too."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

OPTIONS = ("-std=c99", "-O1", "-ffp-contract=off", "-shared")


class Platform(NamedTuple):
    """A platform, by its name in FMI 3.0.

    | field    | meaning                                                                      |
    |----------|------------------------------------------------------------------------------|
    | suffix   | how names of shared libraries end                                            |
    | target   | as ziglang names it; old versions of libraries, so that others find theirs   |
    | in_fmi_2 | its name in FMI 2.0, if it has one                                           |
    """

    suffix: str
    target: str
    in_fmi_2: str | None = None


PLATFORMS = {
    "x86_64-linux": Platform(".so", "x86_64-linux-gnu.2.17", "linux64"),
    "aarch64-linux": Platform(".so", "aarch64-linux-gnu.2.17"),
    "x86_64-windows": Platform(".dll", "x86_64-windows-gnu", "win64"),
    "x86_64-darwin": Platform(".dylib", "x86_64-macos", "darwin64"),
    "aarch64-darwin": Platform(".dylib", "aarch64-macos"),
}
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
_SYSTEMS = {"win32": "windows"}


def this_platform() -> str:
    """This machine as FMI 3.0 names it: "x86_64-linux"."""
    machine = platform.machine().lower()
    return f"{_MACHINES.get(machine, machine)}-{_SYSTEMS.get(sys.platform, sys.platform)}"


def compiler(wanted: str) -> list[str] | None:
    """The words that call a C compiler for one of PLATFORMS; None where there is none."""
    found = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if found is not None and wanted == this_platform():
        return [found]
    if importlib.util.find_spec("ziglang") is None:
        return None
    return [sys.executable, "-m", "ziglang", "cc", "-target", PLATFORMS[wanted].target]


def build_library(folder: Path, sources: Sequence[str], library: Path, words: Sequence[str], wanted: str) -> str:
    """Compile sources of a folder into a shared library; the compiler's first complaint, "" if it succeeded."""
    windows = wanted.endswith("windows")
    more = () if windows else ("-fPIC", "-fvisibility=hidden")
    command = [*words, *OPTIONS, *more, *sources, "-o", str(library), *(() if windows else ("-lm",))]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    return next(filter(None, map(str.strip, done.stderr.splitlines())), f"exit status {done.returncode}")
