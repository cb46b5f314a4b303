"""MJCF files through MuJoCo's own compiler: checked before it reads them, and its errors with file and line.

MuJoCo reads the files that a file includes, and its meshes. Here they may lie anywhere, but must be regular files of
bearable size, and XML without a document type. Numbers that would copy elements a million times are refused. Pictures
of textures are not read. A mesh that is not found is left out where no inertia depends on it.
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections import deque
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from momentree.errors import ModelError
from momentree.files.counterparts import Notes
from momentree.files.mjcf_values import placement
from momentree.files.model_bytes import file_error, printed_name, read_bytes
from momentree.files.robot_xml import Element, parse_xml
from momentree.model.mesh_files import LARGEST_FILE
from momentree.spatial import Transform

MOST_COPIES = 10_000  # elements that <replicate>, <composite> and <flexcomp> may make
MOST_NUMBERS = 10**7  # of a height field, a texture, a size
COPYING = ("replicate", "composite", "flexcomp")
# attributes whose product is how many numbers an element needs
SIZES = {"hfield": ("nrow", "ncol"), "texture": ("width", "height"), "numeric": ("size",)}
TEXTS = ("name", "class", "childclass", "file", "model", "prefix", "info", "data")  # attributes that hold no numbers


class MjcfText:
    """The elements of an MJCF file and of those that it includes.

    | field    | meaning                                                          |
    |----------|------------------------------------------------------------------|
    | data     | the bytes of the file                                            |
    | root     | the <mujoco> element                                             |
    | elements | all elements, with those of included files where they stand last |
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = os.fsdecode(path)
        self.name = printed_name(os.fsdecode(path))
        self.folder = Path(os.path.abspath(self.path)).parent
        self.data = read_bytes(path, self.name)
        self.root = parse_xml(self.data, self.name, "mujoco")
        self.elements = [self.root, *self.root.inside()]
        self.folders = {self.name: self.folder}  # where each file is: a model in it looks for meshes there
        self._include()
        compilers = [element for element in self.elements if element.tag == "compiler"]
        said = {"", *(element.attributes.get(key, "") for element in compilers for key in _FOLDERS)}
        folders = {folder / inner for folder in self.folders.values() for inner in said}
        for element in self.elements:
            _check_numbers(element)
            self._check_file(element, folders)
        _check_copies(self.root)
        self._by_name: dict[tuple[str, str], Element] = {}
        for element in self.elements:
            self._by_name.setdefault((element.tag, element.attributes.get("name", "")), element)

    def _include(self) -> None:
        """Add the elements of included files; what MuJoCo cannot find, it says itself."""
        seen, waiting = {os.path.realpath(self.path)}, deque(self.elements)
        while waiting:
            element = waiting.popleft()
            file = element.attributes.get("file", "")
            if not file or element.tag not in ("include", "model"):
                continue
            path = self.folders[element.file] / file if element.tag == "model" else self.folder / file
            if not path.exists() or os.path.realpath(path) in seen:
                continue
            seen.add(os.path.realpath(path))
            name = printed_name(os.path.relpath(path, self.folder) if not Path(file).is_absolute() else file)
            shown = printed_name(os.path.join(os.path.dirname(self.name), name))
            plain = element.tag == "model" and "content_type" not in element.attributes
            root = parse_xml(read_bytes(path, shown), shown, "mujoco" if plain else None)
            self.folders[root.file] = path.parent if element.tag == "model" else self.folders[element.file]
            _check_copies(root)
            found = [root, *root.inside()]
            self.elements += found
            waiting += found

    def _check_file(self, element: Element, folders: Collection[Path]) -> None:
        """No pipes, no devices, nothing that takes minutes to read; "filename" is that of a mesh in a URDF."""
        file = element.attributes.get("file", "") or element.attributes.get("filename", "")
        for folder in folders if file else ():
            try:
                status = os.stat(folder / file)
            except (OSError, ValueError):
                continue
            if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_FILE:
                limit = f"{LARGEST_FILE // 2**20} MB"
                raise element.error(f"'{printed_name(file)}' is not a regular file of at most {limit}.")

    def find(self, tag: str, name: str) -> Element | None:
        """The element of a name."""
        return self._by_name.get((tag, name)) if name else None

    def error(self, message: str) -> ModelError:
        """An error of MuJoCo as one of ours, at its line, in the file that has such an element there."""
        line = re.search(r"\bline (\d+)", message)
        element = re.search(r"Element (?:name )?'([^']*)'", message)
        first = message.strip().splitlines()[0] if message.strip() else "MuJoCo gives no reason"
        said = re.sub(r"^((XML )?Error: )+", "", first).rstrip(".")
        if "mjMINVAL" in said:  # all that MuJoCo says of bodies without mass
            said += '; give it mass, or write <compiler boundmass="1e-6" boundinertia="1e-8"/>'
        named = element.group(1) if element else ""
        who = f"'{printed_name(named[:80])}': " if named else ""
        at = int(line.group(1)) if line is not None else self.root.line
        place = self._place(at, named, re.findall("'([^']*)'", said))
        return file_error(place.file, f"{who}MuJoCo cannot compile it: {printed_name(said)}.", place.line)

    def _place(self, line: int, named: str, words: list[str]) -> Element:
        """The element with a tag or name in a line; line 0 is that of a file that is included, whichever it is."""
        like = [element for element in self.elements if named in (element.tag, element.attributes.get("name", ""))]
        here = [element for element in like if element.line == line]
        included = [element for element in like if element.file != self.name]
        told = [element for element in included if any(word in element.attributes for word in words)]
        other = Element("", {}, line or 1, self.name)
        return [*here, *told, *included, other][0] if named else other


_FOLDERS = ("meshdir", "texturedir", "assetdir")


def _numbers(element: Element, attribute: str) -> list[float]:
    words = element.attributes.get(attribute, "").split()
    try:
        return [float(word) for word in words]
    except ValueError:
        return []


def _check_numbers(element: Element) -> None:
    for attribute, text in element.attributes.items():
        if attribute not in TEXTS and any(word.lower().lstrip("+-") in ("nan", "inf") for word in text.split()):
            raise element.error(f"{attribute} is '{printed_name(text.strip()[:60])}'; finite numbers are expected.")
    products = [SIZES[element.tag]] if element.tag in SIZES else []
    if element.tag == "size":
        products = [(attribute,) for attribute in element.attributes]
    for factors in products:
        if math.prod(abs(number) for key in factors for number in _numbers(element, key)) > MOST_NUMBERS:
            raise element.error(f"needs more than {MOST_NUMBERS:.0e} numbers. Make it smaller.")


def _check_copies(root: Element) -> None:
    """That the elements which are multiplied do not become too many."""
    total = 0.0
    waiting: list[tuple[Element, float]] = [(root, 1.0)]
    while waiting:
        element, times = waiting.pop()
        if element.tag in COPYING:
            times *= math.prod(max(abs(count), 1.0) for count in _numbers(element, "count"))
        if times > 1:
            total += times
        if total > MOST_COPIES:
            raise element.error(f"makes more than {MOST_COPIES} elements. Make fewer.")
        waiting += [(child, times) for child in element.children]


class Compiled(NamedTuple):
    """What MuJoCo makes of a file.

    | field      | meaning                                                                               |
    |------------|---------------------------------------------------------------------------------------|
    | mj         | its model, mjModel                                                                    |
    | references | by mesh: where refpos and refquat put the origin of the file, in units of the file    |
    """

    mj: Any
    references: dict[int, Transform]


def compiled(text: MjcfText, notes: Notes) -> Compiled:
    """MuJoCo's model of a file."""
    try:
        import mujoco
    except ImportError:
        message = "MJCF is read by MuJoCo's own compiler, which is not installed: pip install 'momentree[mjcf]'."
        raise file_error(text.name, message) from None
    warnings: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(warnings.append)  # else they go to a file in the working folder
    try:
        spec, model = _specified(text, notes)
        references = {int(mesh.id): placement(mesh.refpos, mesh.refquat) for mesh in spec.meshes}
    except ModelError:
        raise
    except Exception as error:  # ValueError and FatalError of MuJoCo, errors of texts in other encodings
        raise text.error(str(error)) from None
    finally:
        mujoco.set_mju_user_warning(before)
    for warning in dict.fromkeys(warnings):
        notes.add("MuJoCo warns", printed_name(warning.strip().rstrip(".")))
    return Compiled(model, references)


def _specified(text: MjcfText, notes: Notes) -> tuple[Any, Any]:
    """What MuJoCo reads (mjSpec) and compiles; once more without the meshes that it cannot find."""
    spec = _without_pictures(text)
    try:
        return spec, spec.compile()
    except ValueError as error:
        if "opening file" not in str(error):
            raise
        spec = _without_pictures(text)
        missing = {mesh.name: mesh for mesh in spec.meshes if mesh.file and not _is_there(spec, mesh, text)}
        if not missing:
            raise
    _leave_out(missing, spec, text, notes)
    return spec, spec.compile()


def _without_pictures(text: MjcfText) -> Any:
    import mujoco

    if text.path.endswith(".xml"):
        spec = mujoco.MjSpec.from_file(text.path)
    else:  # MuJoCo goes by the ending, and looks for other files beside this one
        name = os.path.abspath(text.path) + ".xml"
        spec = mujoco.MjSpec.from_file(name, include={name: text.data})
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    for texture in list(spec.textures):
        spec.delete(texture)
    return spec


def _leave_out(missing: dict[str, Any], spec: Any, text: MjcfText, notes: Notes) -> None:
    """Remove meshes, unless the inertia of a body comes from one; their geoms stay, as points, for what names them."""
    import mujoco

    from_geoms = spec.compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    for geom in [geom for geom in spec.geoms if geom.meshname in missing]:
        body, file = geom.parent.name, os.path.basename(missing[geom.meshname].file)
        if body != "world" and (from_geoms or not geom.parent.explicitinertial):
            named = [e for e in text.elements if e.tag == "mesh" and e.attributes.get("file", "").endswith(file)]
            message = f"there is no file '{printed_name(file)}', which gives body '{printed_name(body)}' its inertia"
            raise [*named, text.root][0].error(f"{message}. Put it there, or give the body an <inertial>.")
        geom.type, geom.meshname, geom.mass = mujoco.mjtGeom.mjGEOM_SPHERE, "", 0.0
        geom.size, geom.rgba = [1e-3, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]
    for mesh in missing.values():
        notes.add("meshes not found", printed_name(os.path.basename(mesh.file)))
        spec.delete(mesh)


def _is_there(spec: Any, mesh: Any, text: MjcfText) -> bool:
    file = os.path.basename(mesh.file.replace("\\", "/")) if spec.strippath else mesh.file
    folders: Iterator[Path] = (text.folder / folder for folder in (str(spec.meshdir or ""), ""))
    return any((folder / file).is_file() for folder in folders)
