"""The command line: parses words, calls the front door, prints."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from momentree.errors import AssemblyError, MomentreeError

if TYPE_CHECKING:
    from momentree.system import System

app = typer.Typer(
    help="Dynamics of rigid-body mechanisms, trees and closed loops.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="A model file (TOML).", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one machine-readable object.")]


@app.command()
def check(files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Model files (TOML).")]) -> None:
    """Report every problem of a model at once, with lines; exit status 1 if there is any."""
    from momentree.look.tables import counts

    failed = False
    for file in files:
        try:
            system = _build(file)
            report = system.mobility_report
        except MomentreeError as error:
            failed = True
            print(error, file=sys.stderr)
            continue
        redundant = f", {len(report.redundant)} redundant rows" if report.redundant else ""
        print(f"{file}: fine. {counts(system.structure)}, mobility {report.true}{redundant}")
    if failed:
        raise typer.Exit(1)


@app.command()
def structure(
    file: File,
    picture: Annotated[
        Path | None, typer.Option("--picture", "-p", help="Draw the graph into this .svg, .png or .pdf file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the numbering, S0, S, T, the loops, the mobility and the redundant rows of a model."""
    from momentree.look.tables import structure_data, structure_report

    system = _build(file)
    if picture is not None:
        from momentree.look.graph_picture import draw_graph

        draw_graph(system.structure, picture)
        print(f"picture written to {picture}", file=sys.stderr)
    if as_json:
        print(json.dumps(structure_data(system.structure, system.mobility_report), indent=2))
    else:
        print(structure_report(system.structure, system.mobility_report))


@app.command()
def equations(
    file: File,
    by: Annotated[str, typer.Option("--by", help="energy or aggregative.")] = "energy",
    latex: Annotated[Path | None, typer.Option("--latex", help="Write them into this .tex file.")] = None,
    as_json: Json = False,
) -> None:
    """Derive the equations of motion of a model in symbols."""
    found = _build(file).equations(by)
    if latex is not None:
        found.latex(latex)
        print(f"LaTeX written to {latex}", file=sys.stderr)
    if as_json:
        print(json.dumps(found.data(), indent=2))
    else:
        found.show()


@app.command()
def demo(
    name: Annotated[str | None, typer.Argument(help="Which example; all are listed without it.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for its report.")] = Path("demo-report"),
) -> None:
    """List the gallery, or run one example and write its report."""
    from momentree.look.gallery import find, gallery, report

    if name is None:
        for example in gallery():
            print(f"{example.name:<24} {example.summary}")
        return
    for line in report(find(name), out):
        print(line)


def _build(file: Path) -> System:
    """The system in a file, closed once, so that a loop that cannot close is an error with its line."""
    from momentree.files import load

    model = load(file)
    system = model.build()
    try:
        _ = system.mobility_report
    except AssemblyError as error:
        place = model.place_of(*error.culprit) if error.culprit else ""
        raise MomentreeError(f"{place or file}: {error}") from None
    return system


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        from momentree import __version__

        print(f"momentree {__version__}")
        raise typer.Exit


def main() -> None:
    """Exit status: 0 done, 1 the model is bad (message on stderr), 2 the command line is wrong."""
    try:
        app()
    except MomentreeError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:  # the reader went away, as `head` does
        sys.stderr.close()
        sys.exit(0)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
