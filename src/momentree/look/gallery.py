"""The gallery: examples that come with the package, each a model file with a story."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from momentree.errors import MomentreeError, suggestion
from momentree.files import load
from momentree.look.graph_picture import draw_graph
from momentree.look.tables import structure_report


@dataclass(frozen=True)
class Example:
    """One folder of the gallery: NN_name with a README whose first paragraph tells what it is."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name.partition("_")[2].replace("_", "-")

    @property
    def summary(self) -> str:
        lines = (self.folder / "README.md").read_text(encoding="utf-8").splitlines()
        return next((line for line in lines[1:] if line.strip() and not line.startswith("!")), "")

    @property
    def model(self) -> Path:
        return self.folder / "model.toml"


def gallery() -> list[Example]:
    """The examples, in reading order."""
    return [Example(model.parent) for model in sorted(_home().glob("*/model.toml"))]


def find(name: str) -> Example:
    """The example with this name."""
    found = {example.name: example for example in gallery()}
    if name not in found:
        raise MomentreeError(f"there is no example '{name}'.{suggestion(name, found)}")
    return found[name]


def report(example: Example, out: Path) -> Iterator[str]:
    """Show an example's structure and write it, with a picture of its graph, into a folder; yields what to print."""
    system = load(example.model).build()
    text = structure_report(system.structure, system.mobility_report)
    yield text
    folder = out / example.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "structure.txt").write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise MomentreeError(
            f"{folder}: cannot be written: {error.strerror}. Choose another folder with --out."
        ) from None
    for suffix in ("svg", "png"):
        draw_graph(system.structure, folder / f"graph.{suffix}")
    yield ""
    yield f"Report: {folder / 'structure.txt'}, {folder / 'graph.svg'}, {folder / 'graph.png'}"


def _home() -> Path:
    """The examples inside an installed package, or beside the sources in a checkout."""
    here = Path(__file__).resolve()
    installed = here.parents[1] / "gallery"
    return installed if installed.is_dir() else here.parents[3] / "examples"
