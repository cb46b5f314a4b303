"""Mesh files: the triangles in STL, OBJ and PLY files, and the volume integrals of those that enclose a solid."""

from __future__ import annotations

import hashlib
import io
import math
import os
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.errors import choices
from momentree.model.values import Mistake

FORMATS = ("stl", "obj", "ply")
LARGEST_FILE = 256 * 2**20  # bytes
Array = NDArray[np.float64]


class Triangles(NamedTuple):
    """Vertices (V, 3) in units of the file, and faces (F, 3), three indices of vertices each."""

    vertices: Array
    faces: NDArray[np.int64]


class Integrals(NamedTuple):
    """Of a solid of density 1, in units of its file.

    | field  | meaning                                                        |
    |--------|----------------------------------------------------------------|
    | volume |                                                                |
    | com    | center of mass                                                 |
    | J      | inertia about it, for mass 1: xx, yy, zz, xy, xz, yz           |
    """

    volume: float
    com: tuple[float, float, float]
    J: tuple[float, ...]


def check_file(path: Any) -> str:
    """The path, if a mesh can be read there; raises Mistake."""
    if not isinstance(path, str) or not path:
        said = "is missing" if path is None or path == "" else f"is {path!r}"
        raise Mistake(f'file {said}; the path of a mesh is expected, such as file = "link.stl".', "file")
    if _format(path) not in FORMATS:
        listed = choices([f".{ending}" for ending in FORMATS])
        raise Mistake(f"the file '{_shown(path)}' is not a mesh that can be read. Choose {listed}.", "file")
    try:
        size = os.stat(path).st_size
    except (OSError, ValueError):
        way_out = "A path is relative to the model file or, in Python, to the working directory"
        raise Mistake(f"there is no file '{_shown(path)}'. {way_out}.", "file") from None
    if not os.path.isfile(path):
        raise Mistake(f"'{_shown(path)}' is not a file.", "file")
    if size > LARGEST_FILE:
        limit = f"{LARGEST_FILE // 2**20} MB"
        raise Mistake(f"the file '{_shown(path)}' is larger than {limit}. Use a coarser mesh.", "file")
    return path


def triangles_of(path: Any) -> Triangles:
    """The triangles in a file; raises Mistake."""
    mesh = _mesh(path)
    return Triangles(np.array(mesh.vertices, dtype=float), np.array(mesh.faces, dtype=np.int64))


def integrals_of(path: Any, hull: bool = False, digest: Any = None) -> Integrals:
    """Volume, center and inertia of the solid that a mesh encloses, or of its convex hull; raises Mistake.

    By the divergence theorem (trimesh), exact for triangles. It has a meaning only if they are closed. With a digest,
    a file that has another is refused.
    """
    if digest is not None and digest_of(path) != digest:
        message = f"the file '{_shown(path)}' is not the one that gave the inertia: it has another SHA-256"
        raise Mistake(f"{message}. Restore it, or compute again with the one that is there.", "file")
    return _integrals(*_version(check_file(path)), hull)


def digest_of(path: Any) -> str:
    """SHA-256 of the content of a file; raises Mistake."""
    return _digest(*_version(check_file(path)))


def _mesh(path: Any) -> Any:
    return _read(*_version(check_file(path)))


def _version(path: str) -> tuple[str, int, int]:
    """A file and what changes when it is written again."""
    state = os.stat(path)
    return path, state.st_mtime_ns, state.st_size


@lru_cache(maxsize=64)
def _read(path: str, changed: int, size: int) -> Any:
    import trimesh

    try:
        with open(path, "rb") as file:
            data = io.BytesIO(file.read())  # without a path: materials and pictures that it names are not opened
        options = {"skip_materials": True} if _format(path) == "obj" else {}
        with np.errstate(all="ignore"):  # triangles with corners that are not finite are left out
            mesh = trimesh.load_mesh(data, file_type=_format(path), process=True, **options)
    except MemoryError:
        raise
    except Exception as error:  # whatever a parser of a broken file raises
        reason = type(error).__name__ if not isinstance(error, OSError) else error.strerror
        raise Mistake(f"the file '{_shown(path)}' cannot be read as a mesh ({reason}).", "file") from None
    if not isinstance(mesh, trimesh.Trimesh) or not len(mesh.faces):
        raise Mistake(f"the file '{_shown(path)}' has no triangles.", "file")
    return mesh


@lru_cache(maxsize=64)
def _digest(path: str, changed: int, size: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@lru_cache(maxsize=64)
def _integrals(path: str, changed: int, size: int, hull: bool) -> Integrals:
    mesh = _read(path, changed, size)
    try:
        solid = mesh.convex_hull if hull else mesh
    except Exception:  # Qhull, of points in a plane
        raise Mistake(f"the mesh '{_shown(path)}' is flat: it has no volume. Give the body numbers.", "file") from None
    if not (solid.is_watertight and solid.is_winding_consistent):
        message = f"the mesh '{_shown(path)}' is not closed (watertight), so it has no inertia"
        way_out = "Take that of its convex hull (hull = true), or give the body a mass and an inertia in numbers"
        raise Mistake(f"{message}. {way_out}.", "file")
    with np.errstate(all="ignore"):
        volume, inertia = float(solid.volume), np.asarray(solid.moment_inertia, dtype=float)
    # triangles seen clockwise enclose a negative volume; the ratios below do not change
    if not 0 < abs(volume) < math.inf or not np.isfinite(inertia).all():
        raise Mistake(f"the mesh '{_shown(path)}' encloses no volume. Give the body numbers.", "file")
    J = inertia / volume
    if np.linalg.eigvalsh(np.trace(J) / 2 * np.eye(3) - J).min() <= 0:
        message = f"the mesh '{_shown(path)}' has parts that are inside out, so that their volumes are subtracted"
        raise Mistake(f"{message}. Reverse their triangles, or give the body numbers.", "file")
    entries = (J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
    x, y, z = (float(e) for e in solid.center_mass)
    return Integrals(abs(volume), (x, y, z), tuple(map(float, entries)))


def _format(path: str) -> str:
    return os.path.splitext(path)[1][1:].lower()


def _shown(path: str) -> str:
    """As short as a reader can find it, and printable."""
    try:
        relative = os.path.relpath(path)
    except ValueError:  # on another drive
        relative = path
    shown = relative if len(relative) < len(path) and not relative.startswith("..") else path
    return ascii(shown)[1:-1] if not shown.isprintable() else shown
