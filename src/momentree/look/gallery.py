"""The gallery: examples that come with the package, each a model file, or a script, with a story.

Where the model says where its motion begins and when it ends, the demo simulates it. What the motion comes to is the
example's own matter: `report(run, folder)` in its report.py yields lines and writes pictures into the folder. Without a
model file, the demo runs run.py there.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from momentree.errors import MomentreeError, suggestion
from momentree.files import load
from momentree.files.atomic_write import printable, real_path, reason_of, write_file
from momentree.look.graph_picture import draw_graph
from momentree.look.tables import structure_report

if TYPE_CHECKING:
    from momentree.results.run import Run
    from momentree.system import System


@dataclass(frozen=True)
class Example:
    """One folder of the gallery: NN_name, with a README whose first paragraph is the summary."""

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

    @property
    def thumbnail(self) -> Path:
        """A small picture of it, 480 x 320 pixels."""
        return self.folder / "thumbnail.png"

    @property
    def report(self) -> Callable[[Run, Path], Iterator[str]] | None:
        """What its report.py does with a run; None where it has none."""
        path = self.folder / "report.py"
        spec = importlib.util.spec_from_file_location(path.stem, path) if path.exists() else None
        if spec is None or spec.loader is None:
            return None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        function: Callable[[Run, Path], Iterator[str]] = module.report
        return function


def gallery() -> list[Example]:
    """The examples, in reading order."""
    return [Example(script.parent) for script in sorted(_home().glob("*/run.py"))]


def listing() -> Iterator[str]:
    """Each example with its summary and, where it has one, the path of its thumbnail."""
    examples = gallery()
    width = max(len(example.name) for example in examples)
    here = Path.cwd()
    for example in examples:
        yield f"{example.name:<{width}} {example.summary}"
        picture = example.thumbnail
        if picture.exists():
            yield f"{'':<{width}} {printable(picture.relative_to(here) if picture.is_relative_to(here) else picture)}"


def find(name: str) -> Example:
    """The example with this name."""
    examples = {example.name: example for example in gallery()}
    if name not in examples:
        raise MomentreeError(f"there is no example '{name}'.{suggestion(name, examples)}")
    return examples[name]


def report(example: Example, out: Path) -> Iterator[str]:
    """Show an example's structure and its motion, and write them with pictures into a folder; yields what to print."""
    folder = out / example.name
    if example.model.exists():
        yield from _of_model(example, folder)
    else:
        text = _of_script(example, folder)
        yield text
        write_file(folder / "summary.txt", text, "\n")
    yield ""
    yield f"Report in {folder}: {', '.join(sorted(path.name for path in folder.iterdir()))}"


def _of_script(example: Example, folder: Path) -> str:
    """Run the script of an example in the folder, where it writes its picture; what it prints."""
    _make(folder)
    command = [sys.executable, str(example.folder / "run.py")]
    done = subprocess.run(command, cwd=real_path(folder), capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]
        raise MomentreeError(f"the example '{example.name}' does not run: {last}")
    return done.stdout.rstrip("\n")


def _make(folder: Path) -> None:
    try:
        real_path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MomentreeError(
            f"{printable(folder)}: cannot be written: {reason_of(error)}. Choose another folder with --out."
        ) from None


def _of_model(example: Example, folder: Path) -> Iterator[str]:
    system = load(example.model).build()
    text = structure_report(system.structure, system.mobility_report)
    yield text
    _make(folder)
    write_file(folder / "structure.txt", text, "\n")
    for suffix in ("svg", "png"):
        draw_graph(system.structure, folder / f"graph.{suffix}")
    if system.t_end is not None:
        yield ""
        lines = []
        for line in _motion(example, system, folder):
            yield line
            lines.append(line)
        write_file(folder / "summary.txt", "\n".join(lines), "\n")


def _motion(example: Example, system: System, folder: Path) -> Iterator[str]:
    """Simulate what the model says, and summarize the run."""
    began = time.process_time()
    run = system.simulate()
    spent = time.process_time() - began
    yield str(run)
    yield f"  {'CPU time':<13} {spent:.1f} s"
    run.look(save=folder / "look.html")
    yield f"  {'3-D page':<13} {printable(folder / 'look.html')}: open it in a browser, it plays by itself"
    if example.report is None:
        run.plot(folder / "run.svg")
        return
    yield ""
    yield from example.report(run, folder)


def _home() -> Path:
    """The examples inside an installed package, or beside the sources in a checkout."""
    here = Path(__file__).resolve()
    installed = here.parents[1] / "gallery"
    return installed if installed.is_dir() else here.parents[3] / "examples"
