"""The command line: parses words, calls the front door, prints."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from momentree.errors import AssemblyError, MomentreeError, suggestion
from momentree.integrate.methods import DEFAULT, METHODS, help_text, tolerance_text

if TYPE_CHECKING:
    from momentree.results.run import Run
    from momentree.system import System

Parameters = dict[str, float | list[float]]

app = typer.Typer(
    help="Dynamics of rigid-body mechanisms, trees and closed loops.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="A model file (TOML).", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one machine-readable object.")]
Parameter = Annotated[
    list[str] | None,
    typer.Option("--parameter", metavar="NAME=VALUE", help="A parameter, instead of what the file says; repeatable."),
]


@app.command()
def check(files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Model files (TOML).")]) -> None:
    """Report every problem of a model at once, with lines; exit status 1 if there is any."""
    from momentree.look.tables import counts

    failed = False
    for file in files:
        try:
            system = _build(file)
            report = system.mobility_report
            system.start()
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
def run(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A model file (TOML); not needed with --resume.")
    ] = None,
    t_end: Annotated[
        float | None, typer.Option("--t-end", help="When to end, in seconds; the file's, or else 10.")
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="NAME=VALUE",
            help="A coordinate at the start: A=1.0, hull=0,0,1; instead of what the file says of it; repeatable.",
        ),
    ] = None,
    rate: Annotated[
        list[str] | None, typer.Option("--velocity", metavar="NAME=VALUE", help="A velocity at the start; repeatable.")
    ] = None,
    parameter: Parameter = None,
    formulation: Annotated[str | None, typer.Option(help="hamiltonian (default), lagrange or absolute.")] = None,
    stabilization: Annotated[str | None, typer.Option(help="none, baumgarte, leak or project (default).")] = None,
    gain: Annotated[float | None, typer.Option(help="Of baumgarte and leak, in 1/s; 5 if not given.")] = None,
    integrator: Annotated[str | None, typer.Option(help=help_text())] = None,
    rtol: Annotated[float | None, typer.Option(help=f"Relative tolerance; if not given, {tolerance_text()}.")] = None,
    atol: Annotated[float | None, typer.Option(help="Absolute tolerance.")] = None,
    step: Annotated[float | None, typer.Option(help="Fixed step size, or the largest, in seconds.")] = None,
    every: Annotated[float | None, typer.Option(help="Seconds between samples; each step is one if not given.")] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Estimate the error by a second, more accurate simulation.")
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the run to this NetCDF file.")] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with what an interrupted command left at --out; begin if it left none."),
    ] = False,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw it into this .svg, .png or .pdf file.")] = None,
    as_json: Json = False,
) -> None:
    """Simulate a model from a start that closes every loop, and say how far the result can be trusted.

    With --out, what was computed survives whatever happens: the same command with --resume goes on, and the file is
    the same as if nothing had happened. Exit status 1 if the simulation failed, 130 if it was interrupted.
    """
    chosen: dict[str, Any] = {
        **{"t_end": t_end, "formulation": formulation, "stabilization": stabilization, "integrator": integrator},
        **{"gain": gain, "rtol": rtol, "atol": atol, "step": step, "every": every, "verify": verify or None},
    }
    chosen = {name: value for name, value in chosen.items() if value is not None}
    start = (_numbers(given or [], "--from"), _numbers(rate or [], "--velocity"))
    parameters = _numbers(parameter or [], "--parameter")
    if resume and out is None:
        raise typer.BadParameter("--resume needs --out: the file whose run is to go on.")
    if file is None and not resume:
        raise typer.BadParameter("give a model file, or --resume and --out.")
    if plot is not None:
        from momentree.look.picture_files import check_picture

        check_picture(plot)
    with _told_plainly():
        found = _resumed(out, file, start, parameters, chosen) if resume and out is not None else None
        if found is None:
            if file is None:
                raise MomentreeError(f"{out}: there is nothing to continue. Give a model file to begin.")
            system = _build(file, parameters)
            t_end = 10.0 if system.t_end is None else system.t_end
            found = system.simulate(system.start(*start), **{"t_end": t_end, **chosen}, path=out)
    _show_run(found, out, plot, as_json)


@app.command()
def compare(
    file: File,
    t_end: Annotated[
        float | None, typer.Option("--t-end", help="How long, in seconds; as the file says, or 10.", show_default=False)
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option("--from", metavar="NAME=VALUE", help="A coordinate at the start: A=1.0, hull=0,0,1; repeatable."),
    ] = None,
    rate: Annotated[
        list[str] | None, typer.Option("--velocity", metavar="NAME=VALUE", help="A velocity at the start; repeatable.")
    ] = None,
    parameter: Parameter = None,
    integrator: Annotated[str, typer.Option(help=f"{', '.join(METHODS)}.")] = DEFAULT,
    rtol: Annotated[float, typer.Option(help="Relative tolerance.")] = 1e-8,
    step: Annotated[float | None, typer.Option(help="Fixed step size, or the largest, in seconds.")] = None,
    as_json: Json = False,
) -> None:
    """Simulate a model by every formulation and closure: closure errors, balance of energy, steps, time, side by side.

    A way that fails is shown with its reason. Exit status 1 if all of them fail.
    """
    from momentree.analyse.compare import compare as compared
    from momentree.look.comparison_table import comparison_data

    system = _build(file, _numbers(parameter or [], "--parameter"))
    start = system.start(_numbers(given or [], "--from"), _numbers(rate or [], "--velocity"))
    end = next(t for t in (t_end, system.t_end, 10.0) if t is not None)
    found = compared(system, start, end, integrator, rtol, step=step)
    print(json.dumps(comparison_data(found), indent=2) if as_json else found)
    if all(row.failed for row in found.rows):
        raise typer.Exit(1)


def _resumed(out: Path, file: Path | None, start: Any, parameters: Parameters, chosen: dict[str, Any]) -> Run | None:
    """The run at `out`, finished; None if there is nothing. What the words say must be what it was begun with."""
    from momentree.results.recorder import begun, resume_run
    from momentree.results.run import text_of

    before = begun(out)
    if before is None:
        return None
    settings = {name: before.settings.get(name) for name in chosen}
    changed = [f"{name} = {value}" for name, value in settings.items() if value != chosen[name]]
    if parameters and file is None:
        raise MomentreeError(f"{out}: goes on with the parameters that it was begun with. Leave out --parameter.")
    if file is not None:
        system = _build(file, parameters)
        if before.model != text_of(system):
            changed.append(f"another model than {file}" + (" with these parameters" if parameters else ""))
        elif any(start) and not before.starts_at(system.start(*start)):
            changed.append("another start")
    if changed:
        raise MomentreeError(
            f"{out}: was begun with {', '.join(changed)}. Leave out what differs, or choose another --out."
        )
    return resume_run(out)


def _show_run(found: Run, out: Path | None, plot: Path | None, as_json: bool) -> None:
    from momentree.look.run_tables import run_data
    from momentree.results.recorder import how_to_continue

    print(json.dumps(run_data(found), indent=2) if as_json else found)
    for toggle in found.system.toggles(found) if _is_small(found) and not as_json else ():
        print(f"  {toggle}")
    if plot is not None:
        found.plot(plot)
        print(f"picture written to {plot}", file=sys.stderr)
    if found.end.reason == "interrupted":
        way_on = f"continue with {how_to_continue(out)}" if out else "nothing is kept: give --out to be able to go on"
        print(f"interrupted at t = {found.end.t:g} s; {way_on}", file=sys.stderr)
        raise typer.Exit(130)
    if out is not None:
        print(f"run written to {out}", file=sys.stderr)
    if found.end.reason == "failed":
        print(f"failed at t = {found.end.t:g} s: {found.end.message}", file=sys.stderr)
        raise typer.Exit(1)


def _is_small(run: Run) -> bool:
    """Whether singular configurations of its loops are found at once."""
    return bool(run.mechanism.loops) and run.mechanism.nv <= 20 and len(run.t) <= 50_000


def _numbers(entries: list[str], option: str) -> dict[str, float | list[float]]:
    """ "A=1.0" and "hull=0,0,1" by name."""
    found: dict[str, float | list[float]] = {}
    for entry in entries:
        name, _, text = entry.rpartition("=")
        try:
            numbers = [float(number) for number in text.split(",")]
        except ValueError:
            numbers = []
        if not name or not numbers:
            raise typer.BadParameter(f"{option} {entry}: write NAME=VALUE, such as A=1.0 or hull=0,0,1.")
        found[name.strip()] = numbers[0] if len(numbers) == 1 else numbers
    return found


@contextlib.contextmanager
def _told_plainly() -> Iterator[None]:
    """Warnings as a line on standard error, without the place in the code."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *where, **how: print(f"warning: {message}", file=sys.stderr)
        yield


@app.command()
def demo(
    name: Annotated[str | None, typer.Argument(help="Which example; all are listed without it.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for its report.")] = Path("demo-report"),
) -> None:
    """List the gallery, or run one example and write its report."""
    from momentree.look.gallery import find, gallery, report

    if name is None:
        for example in gallery():
            print(f"{example.name:<28} {example.summary}")
        return
    for line in report(find(name), out):
        print(line)


def _build(file: Path, parameters: Parameters | None = None) -> System:
    """The system in a file, closed once, so that a loop that cannot close is an error with its line."""
    from momentree.files import load

    model = load(file)
    known = {name for name, _ in model.parameters}
    for name in parameters or {}:
        if name not in known:
            raise MomentreeError(f"{file}: there is no parameter '{name}'.{suggestion(name, known)}")
    with _told_plainly():
        system = model.build(free=[*(parameters or {})]).with_parameters(parameters)
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
        try:
            app()
        finally:
            sys.stdout.flush()
    except MomentreeError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:  # the reader went away, as `head` does
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:  # of standard output: files have errors of their own
        _refuse_to_print(error)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)


def _refuse_to_print(error: OSError) -> None:
    """Say why nothing can be printed, and end; what is still to be printed is given up."""
    with contextlib.suppress(OSError):
        reason = f"{error.filename or 'standard output'}: cannot be written: {error.strerror or error}"
        print(f"{reason}. Choose another file.", file=sys.stderr, flush=True)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(1)
