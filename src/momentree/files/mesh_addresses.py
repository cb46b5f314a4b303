"""Where the meshes of a robot file are: package:// and model:// addresses, file:// ones, and plain paths."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from momentree.files.model_bytes import is_regular
from momentree.model.mesh_files import FORMATS

SCHEMES = ("package://", "model://")
VARIABLES = ("ROS_PACKAGE_PATH", "GAZEBO_MODEL_PATH", "SDF_PATH")


class MeshAddresses:
    """Finds files that a robot file names: beside it, in the folders above it, or in a search path."""

    def __init__(self, file: str | os.PathLike[str], packages: Sequence[str | os.PathLike[str]] = ()):
        self.folder = Path(os.path.abspath(file)).parent
        said = [folder for name in VARIABLES for folder in os.environ.get(name, "").split(os.pathsep) if folder]
        self.search = [Path(folder) for folder in [*packages, *said]]

    def find(self, address: str) -> str | None:
        """The path of a file, or None; never leaves this machine."""
        scheme = next((scheme for scheme in SCHEMES if address.startswith(scheme)), "")
        if not scheme and "://" in address:
            if not address.startswith("file://"):
                return None
            address = unquote(address.removeprefix("file://"))
        for path in self._candidates(address.removeprefix(scheme), bool(scheme)):
            if is_regular(path):
                return str(path)
        return None

    def package(self, name: str) -> str | None:
        """The folder of a package, or None."""
        for folder in [*self.search, self.folder, *self.folder.parents]:
            for path in (folder / name, folder) if folder.name == name else (folder / name,):
                with contextlib.suppress(OSError, ValueError):  # a name that no folder can have
                    if path.is_dir():
                        return str(path)
        return None

    def drawable(self, address: str) -> bool:
        """Whether the format of the mesh can be read."""
        return PurePosixPath(address).suffix.lower().lstrip(".") in FORMATS

    def _candidates(self, path: str, in_package: bool) -> Iterator[Path]:
        if not in_package:
            yield self.folder / path
            return
        path = path.lstrip("/")  # package:///x.stl is beside the file
        package, _, rest = path.partition("/")
        for folder in [*self.search, self.folder, *self.folder.parents]:
            yield folder / path
            if folder.name == package:
                yield folder / rest
