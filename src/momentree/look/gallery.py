"""The gallery: examples that come with the package, each a model file, or a script, with a story.

Where the model says where its motion begins and when it ends, the demo simulates it. What the motion comes to is the
example's own matter: `report(run, folder)` in its report.py yields lines and writes pictures into the folder. Otherwise
the demo runs run.py there, and takes the runs that it leaves in its variables. Each run gets a report, report.html.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import runpy
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from momentree.errors import MomentreeError, suggestion
from momentree.files import load
from momentree.files.atomic_write import printable, real_path, reason_of, write_file
from momentree.look.graph_picture import draw_graph
from momentree.look.html import (
    Html,
    Section,
    html_code,
    html_document,
    html_figure,
    html_lines,
    html_links,
    html_picture,
)
from momentree.look.report_style import STYLE
from momentree.look.report_system import LARGEST_SVG
from momentree.look.tables import structure_report

if TYPE_CHECKING:
    from momentree.results.programme_run import ProgrammeRun
    from momentree.results.run import Run
    from momentree.system import System

    AnyRun = Run | ProgrammeRun


@dataclass(frozen=True)
class Example:
    """One folder of the gallery: NN_name, with a README whose first paragraph is the summary."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name.partition("_")[2].replace("_", "-")

    @property
    def title(self) -> str:
        """The heading of its story."""
        story = self.folder / "README.md"
        lines = story.read_text(encoding="utf-8").splitlines() if story.exists() else []
        return lines[0].removeprefix("# ") if lines else self.name

    @property
    def summary(self) -> str:
        story = self.folder / "README.md"
        lines = story.read_text(encoding="utf-8").splitlines() if story.exists() else []
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
    """Show an example's structure and its motion, and write its report into a folder; yields what to print."""
    folder = out / example.name
    _make(folder)
    system = load(example.model).build() if example.model.exists() else None
    if system is not None:
        text = structure_report(system.structure, system.mobility_report)
        yield text
        yield ""
        write_file(folder / "structure.txt", text, "\n")
        for suffix in ("svg", "png"):
            draw_graph(system.structure, folder / f"graph.{suffix}")
    runs: dict[str, AnyRun] = {}
    lines = []
    for line in _motion(example, system, folder, runs) if _begins(system) else _of_script(example, folder, runs):
        yield line
        lines.append(line)
    write_file(folder / "summary.txt", "\n".join(lines), "\n")
    pictures = sorted(path for path in real_path(folder).glob("*.svg") if path.name != "graph.svg")
    pages = _write_pages(example, folder, runs, "\n".join(lines), pictures)
    yield ""
    yield f"Report in {printable(folder)}: {', '.join(sorted(path.name for path in real_path(folder).iterdir()))}"
    yield f"open {' and '.join(printable(page) for page in pages)} in a browser"


def report_all(examples: Sequence[Example], out: Path) -> Iterator[str]:
    """Write the reports of examples, and a page with links to them; yields a line for each."""
    failed = []
    for example in examples:
        try:
            *_, last = report(example, out)
        except MomentreeError as error:
            failed.append(example.name)
            last = str(error)
        yield f"{example.name}: {last}"
    links = [(f"{e.title}: {e.summary}", f"{e.name}/report.html") for e in examples if e.name not in failed]
    write_file(out / "index.html", html_document("Gallery", STYLE, [], [Section("Examples", [html_links(links)])], ""))
    yield f"open {printable(out / 'index.html')} in a browser"
    if failed:
        raise MomentreeError(f"these examples have no report: {', '.join(failed)}.")


def _begins(system: System | None) -> bool:
    """Whether the model says where its motion begins and when it ends."""
    return system is not None and system.t_end is not None


def _of_script(example: Example, folder: Path, runs: dict[str, AnyRun]) -> Iterator[str]:
    """Run the script of an example in the folder, where it writes its picture; what it prints, and the runs it made."""
    from momentree.results.programme_run import ProgrammeRun
    from momentree.results.run import Run

    printed = io.StringIO()
    sys.path.insert(0, str(example.folder))
    try:
        with contextlib.chdir(real_path(folder)), contextlib.redirect_stdout(printed):
            names = runpy.run_path(str(example.folder / "run.py"), run_name="__main__")
    except (Exception, SystemExit) as error:
        last = (f"{type(error).__name__}: {error}".strip().splitlines() or ["it ended without a word"])[-1]
        raise MomentreeError(f"the example '{example.name}' does not run: {last}") from None
    finally:
        sys.path.remove(str(example.folder))
    for name, value in names.items():
        if isinstance(value, (Run, ProgrammeRun)) and not any(value is run for run in runs.values()):
            runs[name] = value
    yield printed.getvalue().rstrip("\n")


def _make(folder: Path) -> None:
    try:
        real_path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MomentreeError(
            f"{printable(folder)}: cannot be written: {reason_of(error)}. Choose another folder with --out."
        ) from None


def _motion(example: Example, system: System | None, folder: Path, runs: dict[str, AnyRun]) -> Iterator[str]:
    """Simulate what the model says, and summarize the run."""
    assert system is not None
    began = time.process_time()
    run = runs["run"] = system.simulate()
    spent = time.process_time() - began
    yield str(run)
    yield f"  {'CPU time':<13} {spent:.1f} s"
    if example.report is None:
        run.plot(folder / "run.svg")
        return
    yield ""
    yield from example.report(run, folder)


def _write_pages(
    example: Example, folder: Path, runs: dict[str, AnyRun], text: str, pictures: Sequence[Path]
) -> list[Path]:
    """The report of each run; the first has what the example says, its pictures, and links to the others."""
    from momentree.look.programme_report import save_programme_report
    from momentree.look.report import save_report, versions_section
    from momentree.results.run import Run

    files = {name: f"report-{name}.html" if i else "report.html" for i, name in enumerate(runs)}
    links = [html_links([(f"{name}: another run", files[name]) for name in [*runs][1:]])] if len(runs) > 1 else []
    shown = [_picture(path) for path in pictures]
    said = Section("Result", [html_lines(example.summary), html_code(text), *shown, *links])
    if not runs:
        page = html_document(example.title, STYLE, [], [said, versions_section()], "")
        write_file(folder / "report.html", page)
        return [folder / "report.html"]
    for i, (name, run) in enumerate(runs.items()):
        title, sections = (f"{example.title}: {name}", ()) if i else (example.title, (said,))
        save = save_report if isinstance(run, Run) else save_programme_report
        save(run, folder / files[name], title, sections=sections)  # type: ignore[arg-type]
    return [folder / file for file in files.values()]


def _picture(path: Path) -> Html:
    """A picture of the example; its pixels, if it has very many lines."""
    pixels = path.with_suffix(".png")
    chosen = pixels if path.stat().st_size > LARGEST_SVG and pixels.exists() else path
    kind = "png" if chosen is pixels else "svg+xml"
    return html_figure(html_picture(chosen.read_bytes(), path.stem, kind), path.stem)


def _home() -> Path:
    """The examples inside an installed package, or beside the sources in a checkout."""
    here = Path(__file__).resolve()
    installed = here.parents[1] / "gallery"
    return installed if installed.is_dir() else here.parents[3] / "examples"
