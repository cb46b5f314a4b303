"""Xacro: robots that are written by macros, expanded by the package `xacro` to the URDF or SDF that is then read.

Expanding runs the Python expressions of the file, and may read other files: whoever wrote it can do on this machine
whatever its user can. So it is done only when the caller says `trust=True`.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

from momentree.files.mesh_addresses import MeshAddresses
from momentree.files.model_bytes import file_error, printed_name
from momentree.files.robot_xml import Element, parse_xml, read_xml

EXPANDED = " (expanded)"  # after the name of the file: lines are those of the text that xacro made


def read_xacro(
    path: str | os.PathLike[str], addresses: MeshAddresses, trust: bool, arguments: Mapping[str, Any]
) -> tuple[Element, list[str]]:
    """The <robot> or <sdf> that a file expands to, and what xacro warns of."""
    name = printed_name(os.fsdecode(path))
    read_xml(path, None)  # well-formed, without a document type, of bearable size
    if trust is not True:
        message = "is expanded by running the Python expressions that are in it, which can do whatever you can."
        raise file_error(name, f"{message} If you trust its authors, load it with trust=True.", 1)
    try:
        import xacro
    except ImportError:
        raise file_error(name, "needs the package xacro: pip install 'momentree[xacro]'.") from None
    said = io.StringIO()
    try:
        with _packages_found(addresses), contextlib.redirect_stderr(said):
            mappings = {str(key): str(value) for key, value in arguments.items()}
            text = xacro.process_file(os.fspath(path), mappings=mappings).toprettyxml(indent="  ")
    except Exception as raised:  # of the file's own expressions: any
        inner = getattr(raised, "exc", None)  # xacro puts those of expressions into its own
        error = inner if isinstance(inner, PackageMissing) else raised
        raise file_error(name, f"cannot be expanded: {_reason(error)}{_way_out(error)}", 1) from None
    found = parse_xml(text.encode(), name + EXPANDED, None)
    if found.tag not in ("robot", "sdf"):
        raise found.error("is what it expands to; <robot> or <sdf> is expected.")
    return found, [printed_name(line.strip()) for line in said.getvalue().splitlines() if line.strip()]


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return printed_name(text[:300]).rstrip(".") + "."


def _way_out(error: Exception) -> str:
    """The option that helps where an argument or a package is missing."""
    if "substitution argument" in str(error):
        return ' Give it: arguments={"NAME": VALUE}.'
    if isinstance(error, PackageMissing) or "package://" in str(error):
        return " Name the folder that it is in: packages=[FOLDER]."
    return ""


class PackageMissing(LookupError):
    """A package that $(find ...) names and nobody knows."""


@contextlib.contextmanager
def _packages_found(addresses: MeshAddresses) -> Iterator[None]:
    """$(find NAME) asks the index of ROS: for a while, that is the search path of meshes, then ROS, if it is here."""
    before = {name: sys.modules.get(name) for name in ("ament_index_python", "ament_index_python.packages")}
    try:
        from ament_index_python.packages import get_package_share_directory as of_ros
    except ImportError:
        of_ros = None

    def found(package: str) -> str:
        folder = addresses.package(package)
        if folder is not None:
            return folder
        if of_ros is not None:
            return str(of_ros(package))
        raise PackageMissing(f"there is no package '{package}'")

    index, packages = types.ModuleType("ament_index_python"), types.ModuleType("ament_index_python.packages")
    packages.get_package_share_directory = found  # type: ignore[attr-defined]
    sys.modules |= {"ament_index_python": index, "ament_index_python.packages": packages}
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
