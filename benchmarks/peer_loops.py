"""Loops over a batch inside the peers' own libraries, compiled here with g++ against the headers of their wheels.

A row of a batch then costs what it costs a user who writes C++; nothing of Python is in it. Pinocchio is built thrice:
with the library of its wheel, and from its headers alone with -O3, and with -O3 -march=native. Eigen, which the wheel
does not hold, is looked for beside it, and else downloaded (wheel cmeel-eigen). What cannot be built is left out, and
the reason given.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

_HERE = Path(__file__).parent
_DEFINED = (
    "NDEBUG",
    # as Pinocchio's CMake files have it
    "BOOST_MPL_LIMIT_LIST_SIZE=30",
    "BOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "BOOST_FUSION_INVOKE_MAX_ARITY=12",
)
_OF_THE_WHEEL = ("-DPINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION", "-DPINOCCHIO_WITH_COLLISION")
WHEEL, NATIVE, HEADERS = "wheel's library", "headers, -O3 -march=native", "headers, -O3"


class Loops:
    """The shared libraries that could be built, and why others could not.

    | attribute | meaning                                             |
    |-----------|-----------------------------------------------------|
    | pinocchio | libraries of pinocchio_loop.cpp, by how it was built |
    | mujoco    | that of mujoco_loop.cpp, or None                     |
    | missing   | reasons, in words                                   |
    """

    def __init__(self) -> None:
        self.pinocchio: dict[str, ctypes.CDLL] = {}
        self.mujoco: ctypes.CDLL | None = None
        self.missing: list[str] = []


def build_loops(peers: list[str], folder: Path) -> Loops:
    """Compile all side by side; this takes a minute or two."""
    loops = Loops()
    if shutil.which("g++") is None:
        loops.missing.append("no g++ was found, so there are no loops in C++")
        return loops
    commands = {}
    if "pinocchio" in peers:
        try:
            commands |= _for_pinocchio(folder)
        except FileNotFoundError as error:
            loops.missing.append(f"no loop of Pinocchio in C++: {error}")
    if "mujoco" in peers:
        commands["mujoco"] = _for_mujoco(folder)
    running = {name: _started(command, folder / f"{name}.log") for name, command in commands.items()}
    for name, process in running.items():
        if process.wait():
            loops.missing.append(f"{name}: {(folder / f'{name}.log').read_text()[-300:]}")
        elif name == "mujoco":
            loops.mujoco = _loaded(folder, name)
        else:
            loops.pinocchio[name] = _loaded(folder, name)
    return loops


def _started(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as out:
        return subprocess.Popen(command, stdout=out, stderr=out)


def _loaded(folder: Path, name: str) -> ctypes.CDLL:
    return ctypes.CDLL(str(_library(folder, name)))


def _library(folder: Path, name: str) -> Path:
    return folder / f"{name}.so"


def _compiler(source: str, to: Path, includes: list[Path]) -> list[str]:
    """The options that all builds share; warnings are the peers' affair."""
    found = [part for include in includes for part in ("-isystem", str(include))]
    return ["g++", "-std=c++17", "-O3", "-w", "-shared", "-fPIC", *found, str(_HERE / source), "-o", str(to)]


def _for_pinocchio(folder: Path) -> dict[str, list[str]]:
    prefix = _package("pinocchio", "cmeel.prefix")
    includes = [prefix / "include", _eigen(prefix, folder)]
    libraries = [f"-L{prefix / 'lib'}", f"-Wl,-rpath,{prefix / 'lib'}", "-lboost_serialization"]
    common = [*(f"-D{name}" for name in _DEFINED), *libraries]
    options = {
        WHEEL: [*_OF_THE_WHEEL, "-lpinocchio_default"],
        # -Bsymbolic: with its own functions, not those of the wheel's library, which is in the process too
        NATIVE: ["-march=native", "-Wl,-Bsymbolic"],
        HEADERS: ["-Wl,-Bsymbolic"],
    }
    source = "pinocchio_loop.cpp"
    return {
        build: [*_compiler(source, _library(folder, build), includes), *common, *own] for build, own in options.items()
    }


def _for_mujoco(folder: Path) -> list[str]:
    include = _package("mujoco", "mujoco") / "include"
    return [*_compiler("mujoco_loop.cpp", _library(folder, "mujoco"), [include]), "-march=native"]


def _package(module: str, wanted: str) -> Path:
    """A folder among those that hold a module."""
    spec = find_spec(module)
    for above in Path(spec.origin).parents if spec and spec.origin else ():
        if (above / wanted).is_dir():
            return above / wanted
    raise FileNotFoundError(f"the package of {module} has no folder {wanted}.")


def _eigen(prefix: Path, folder: Path) -> Path:
    """Where Eigen's headers are."""
    casadi = find_spec("casadi")
    beside = [Path(casadi.origin).parent / "include" / "eigen3"] if casadi and casadi.origin else []
    system = [Path("/usr/include/eigen3"), Path("/usr/local/include/eigen3")]
    for include in [prefix / "include" / "eigen3", *system, *beside]:
        if (include / "Eigen").is_dir():
            return include
    return _downloaded_eigen(folder)


def _downloaded_eigen(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), "cmeel-eigen"]
    subprocess.run(command, check=False, capture_output=True)
    for wheel in folder.glob("cmeel_eigen-*.whl"):
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(folder / "eigen")
    for found in (folder / "eigen").rglob("eigen3"):
        if (found / "Eigen").is_dir():
            return found
    raise FileNotFoundError("Eigen's headers were not found and could not be downloaded.")
