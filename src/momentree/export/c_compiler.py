"""The C compiler of this machine, or that of the package ziglang: shared libraries, and names of platforms."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

OPTIONS = ("-std=c99", "-O1", "-ffp-contract=off", "-shared")
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
_SYSTEMS = {"linux": ("linux", ".so"), "darwin": ("darwin", ".dylib"), "win32": ("windows", ".dll")}
_FMI_2 = {"x86_64-linux": "linux64", "x86_64-windows": "win64"} | dict.fromkeys(
    ("x86_64-darwin", "aarch64-darwin"), "darwin64"
)


def compiler() -> list[str] | None:
    """The words that call a C compiler; None where there is none."""
    found = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if found is not None:
        return [found]
    return [sys.executable, "-m", "ziglang", "cc"] if importlib.util.find_spec("ziglang") else None


def platform_tuple() -> str:
    """This machine as FMI 3.0 names it: "x86_64-linux"."""
    machine = platform.machine().lower()
    return f"{_MACHINES.get(machine, machine)}-{_SYSTEMS.get(sys.platform, (sys.platform, ''))[0]}"


def library_folder(version: str) -> str | None:
    """The folder of this machine's libraries in an FMU; None where the version has no name for it."""
    here = platform_tuple()
    return _FMI_2.get(here) if version == "2.0" else here


def library_suffix() -> str:
    """How names of shared libraries end here."""
    return _SYSTEMS.get(sys.platform, ("", ".so"))[1]


def build_library(folder: Path, sources: Sequence[str], library: Path, words: Sequence[str]) -> str:
    """Compile sources of a folder into a shared library; what the compiler complained about, "" if it succeeded."""
    system = () if sys.platform == "win32" else ("-fPIC", "-fvisibility=hidden")
    command = [*words, *OPTIONS, *system, *sources, "-o", str(library), *([] if sys.platform == "win32" else ["-lm"])]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr or f"exit status {done.returncode}"
