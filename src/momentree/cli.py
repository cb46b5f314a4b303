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
from typer.core import TyperCommand

from momentree.equations.stabilizations import gain_help_text
from momentree.equations.stabilizations import help_text as stabilization_help_text
from momentree.errors import AssemblyError, ExpressionError, MomentreeError, suggestion
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


# --- words of the command line ---------------------------------------------------------------------------------------

OLD_OPTIONS = {"--closure": "--stabilization", "--rate": "--velocity"}


HOW_TO_LOAD: dict[str, Any] = {}  # options of `load`, as --load says them: kept for the one command that runs
LOAD_HELP = """Robots in URDF and SDF are read like model files. --load NAME=VALUE says how, and is repeatable:
inertia_check=warn, floating=true or false, packages=FOLDER, closures=FILE.yaml."""


class Command(TyperCommand):
    """A command that answers an option's old name with the new one, and takes --load wherever it takes a file."""

    def __init__(self, *args: Any, **options: Any):
        takes_file = any(parameter.name in ("file", "files") for parameter in options.get("params") or ())
        super().__init__(*args, **(options | {"epilog": LOAD_HELP} if takes_file else options))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        from momentree.files.load import load_options

        said, args = _taken(args, "--load")
        HOW_TO_LOAD.clear()
        HOW_TO_LOAD.update(load_options(said))
        for word in args:
            old, equals, value = word.partition("=")
            if old in OLD_OPTIONS:
                ctx.fail(f"{old} is now called {OLD_OPTIONS[old]}: write {OLD_OPTIONS[old]}{equals}{value}.")
        rest: list[str] = super().parse_args(ctx, args)
        return rest


File = Annotated[Path, typer.Argument(metavar="FILE", help="A model file (TOML).", show_default=False)]
FileOrNone = Annotated[
    Path | None, typer.Argument(metavar="FILE", help="A model file (TOML); not needed with --resume.")
]
Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="Model files (TOML).")]
Json = Annotated[bool, typer.Option("--json", help="Print one machine-readable object.")]
EndTime = Annotated[
    float | None,
    typer.Option("--t-end", help="End time in seconds; as the file says, or else 10.", show_default=False),
]
Coordinates = Annotated[
    list[str] | None,
    typer.Option(
        "--from",
        metavar="NAME=VALUE",
        help="A coordinate at the start, instead of the file's: A=1.0, A=30*deg, hull=0,0,1; repeatable.",
    ),
]
Velocities = Annotated[
    list[str] | None,
    typer.Option("--velocity", metavar="NAME=VALUE", help="A velocity at the start, in m/s or rad/s; repeatable."),
]
Parameter = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter", metavar="NAME=VALUE", help="The value of a parameter, instead of the file's; repeatable."
    ),
]
Formulation = Annotated[str | None, typer.Option(help="hamiltonian (default), lagrange or absolute.")]
Stabilization = Annotated[str | None, typer.Option(help=stabilization_help_text())]
Gain = Annotated[float | None, typer.Option(help=gain_help_text())]
Integrator = Annotated[str | None, typer.Option(help=help_text())]
RelativeTolerance = Annotated[float | None, typer.Option(help=f"Relative tolerance; if not given, {tolerance_text()}.")]
AbsoluteTolerance = Annotated[float | None, typer.Option(help="Absolute tolerance.")]
StepSize = Annotated[float | None, typer.Option(help="Step size in seconds; the largest one if it is adaptive.")]
Every = Annotated[float | None, typer.Option(help="Seconds between samples; every step is one if not given.")]
Verify = Annotated[bool, typer.Option("--verify", help="Estimate the global error by a second, more accurate run.")]
RunFile = Annotated[Path | None, typer.Option("--out", "-o", help="Write the run to this NetCDF file.")]
Resume = Annotated[
    bool, typer.Option("--resume", help="Continue the run that an interrupted command left at --out, if there is one.")
]
PlotFile = Annotated[Path | None, typer.Option("--plot", help="Plot the run into this .svg, .png or .pdf file.")]
Shown = Annotated[
    list[str] | None,
    typer.Option("--show", metavar="WHAT", help="What --plot shows: A, A', energy, 'reactions of C', ...; repeatable."),
]
GraphFile = Annotated[
    Path | None, typer.Option("--picture", "-p", help="Draw the graph into this .svg, .png or .pdf file.")
]
Form = Annotated[str, typer.Option("--by", help="energy or aggregative.")]
Reduced = Annotated[bool, typer.Option("--reduced", help="Eliminate Lagrange multipliers and dependent velocities.")]
Keep = Annotated[
    list[str] | None,
    typer.Option("--keep", metavar="NAME", help="A velocity that remains in reduced equations; repeatable."),
]
LatexFile = Annotated[Path | None, typer.Option("--latex", help="Write them into this .tex file.")]


# --- commands --------------------------------------------------------------------------------------------------------


@app.command(cls=Command)
def check(files: Files) -> None:
    """Report every problem of a model at once, with line numbers; exit status 1 if there is any."""
    from momentree.look.tables import counts, mobility_counts

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
        print(f"{file}: fine. {counts(system.structure)}, {mobility_counts(report)}")
    if failed:
        raise typer.Exit(1)


@app.command(cls=Command)
def structure(file: File, picture: GraphFile = None, as_json: Json = False) -> None:
    """Show the numbering, S0, S, T, the loops, the degrees of freedom and the redundant constraints of a model."""
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


@app.command(cls=Command)
def equations(
    file: File,
    by: Form = "energy",
    reduced: Reduced = False,
    keep: Keep = None,
    latex: LatexFile = None,
    as_json: Json = False,
) -> None:
    """Derive the equations of motion of a model in symbols, with its constraints and their Lagrange multipliers."""
    derived = _build(file).equations(by, reduced=keep or reduced)
    if latex is not None:
        derived.latex(latex)
        print(f"LaTeX written to {latex}", file=sys.stderr)
    if as_json:
        print(json.dumps(derived.data(), indent=2))
    else:
        derived.show()


@app.command(cls=Command)
def run(
    file: FileOrNone = None,
    t_end: EndTime = None,
    coordinates: Coordinates = None,
    velocities: Velocities = None,
    parameter: Parameter = None,
    formulation: Formulation = None,
    stabilization: Stabilization = None,
    gain: Gain = None,
    integrator: Integrator = None,
    rtol: RelativeTolerance = None,
    atol: AbsoluteTolerance = None,
    step: StepSize = None,
    every: Every = None,
    verify: Verify = False,
    out: RunFile = None,
    resume: Resume = False,
    plot: PlotFile = None,
    show: Shown = None,
    as_json: Json = False,
) -> None:
    """Simulate a model from a start at which every loop is closed, and say how accurate the result is.

    With --out, what has been computed is never lost: the same command with --resume continues the run, and its file is
    the same as if nothing had happened. Exit status 1 if the simulation failed, 130 if it was interrupted.
    """
    settings: dict[str, Any] = {
        **{"t_end": t_end, "formulation": formulation, "stabilization": stabilization, "integrator": integrator},
        **{"gain": gain, "rtol": rtol, "atol": atol, "step": step, "every": every, "verify": verify or None},
    }
    settings = {name: value for name, value in settings.items() if value is not None}
    start = (_numbers(coordinates, "--from"), _numbers(velocities, "--velocity"))
    parameters = _numbers(parameter, "--parameter")
    if resume and out is None:
        raise typer.BadParameter("--resume needs --out: the file of the run to continue.")
    if file is None and not resume:
        raise typer.BadParameter("give a model file, or --resume and --out.")
    if show and plot is None:
        raise typer.BadParameter("--show needs --plot: the file of the picture.")
    if plot is not None:
        from momentree.look.picture_files import check_picture

        check_picture(plot)
    with _warnings_on_one_line():
        result = _resumed(out, file, start, parameters, settings) if resume and out is not None else None
        if result is None:
            if file is None:
                raise MomentreeError(f"{out}: there is nothing to continue. Give a model file to begin.")
            system = _build(file, parameters)
            end = 10.0 if system.t_end is None else system.t_end
            result = system.simulate(system.start(*start), **{"t_end": end, **settings}, path=out)
    _show_run(result, out, plot, show or [], as_json)


@app.command(cls=Command)
def compare(
    file: File,
    t_end: EndTime = None,
    coordinates: Coordinates = None,
    velocities: Velocities = None,
    parameter: Parameter = None,
    integrator: Annotated[str, typer.Option(help=f"{', '.join(METHODS)}.")] = DEFAULT,
    rtol: Annotated[float, typer.Option(help="Relative tolerance.")] = 1e-8,
    step: StepSize = None,
    gain: Gain = None,
    as_json: Json = False,
) -> None:
    """Simulate a model by every formulation and stabilization: closure and energy errors, steps, time side by side.

    A combination that fails is shown with its reason. Exit status 1 if all of them fail.
    """
    from momentree.analyse.compare import compare as compared
    from momentree.look.comparison_table import comparison_data

    system = _build(file, _numbers(parameter, "--parameter"))
    start = system.start(_numbers(coordinates, "--from"), _numbers(velocities, "--velocity"))
    end = next(t for t in (t_end, system.t_end, 10.0) if t is not None)
    settings: dict[str, Any] = {} if gain is None else {"gain": gain}
    comparison = compared(system, start, end, integrator, rtol, step=step, **settings)
    print(json.dumps(comparison_data(comparison), indent=2) if as_json else comparison)
    if all(row.failed for row in comparison.rows):
        raise typer.Exit(1)


def _resumed(out: Path, file: Path | None, start: Any, parameters: Parameters, settings: dict[str, Any]) -> Run | None:
    """The run at `out`, finished; None if there is none. The command must ask for what the run was begun with."""
    from momentree.results.recorder import begun, resume_run
    from momentree.results.run import text_of

    before = begun(out)
    if before is None:
        return None
    before_it = {name: before.settings.get(name) for name in settings}
    changed = [f"{name} = {value}" for name, value in before_it.items() if value != settings[name]]
    if parameters and file is None:
        raise MomentreeError(f"{out}: the run continues with the parameters it was begun with. Omit --parameter.")
    if file is not None:
        system = _build(file, parameters)
        if before.model != text_of(system):
            changed.append(f"another model than {file}" + (" with these parameters" if parameters else ""))
        elif any(start) and not before.starts_at(system.start(*start)):
            changed.append("another start")
    if changed:
        raise MomentreeError(f"{out}: was begun with {', '.join(changed)}. Omit what differs, or choose another --out.")
    return resume_run(out)


def _show_run(result: Run, out: Path | None, plot: Path | None, show: list[str], as_json: bool) -> None:
    from momentree.look.run_tables import run_data
    from momentree.results.recorder import how_to_continue

    print(json.dumps(run_data(result), indent=2) if as_json else result)
    for toggle in result.system.toggles(result) if _is_small(result) and not as_json else ():
        print(f"  {toggle}")
    if plot is not None:
        result.plot(*show, path=plot)
        print(f"picture written to {plot}", file=sys.stderr)
    if result.end.reason == "interrupted":
        way_out = f"continue with {how_to_continue(out)}" if out else "nothing was saved: give --out to continue later"
        print(f"interrupted at t = {result.end.t:g} s; {way_out}", file=sys.stderr)
        raise typer.Exit(130)
    if out is not None:
        print(f"run written to {out}", file=sys.stderr)
    if result.end.reason == "failed":
        print(f"failed at t = {result.end.t:g} s: {result.end.message}", file=sys.stderr)
        raise typer.Exit(1)


def _is_small(run: Run) -> bool:
    """Whether the search for singular configurations of its constraints is quick."""
    return run.mechanism.constrained and run.mechanism.nv <= 20 and len(run.t) <= 50_000


def _numbers(entries: list[str] | None, option: str) -> dict[str, float | list[float]]:
    """ "A=1.0", "A=30*deg" and "hull=0,0,1" by name."""
    values: dict[str, float | list[float]] = {}
    for entry in entries or ():
        name, _, text = entry.rpartition("=")
        numbers = [_number(number) for number in text.split(",")]
        if not name or None in numbers:
            raise typer.BadParameter(f"{option} {entry}: write NAME=VALUE, such as A=1.0, A=30*deg or hull=0,0,1.")
        values[name.strip()] = numbers[0] if len(numbers) == 1 else numbers  # type: ignore[assignment]
    return values


def _number(text: str) -> float | None:
    """A number, or an expression of numbers; None if it is neither."""
    from momentree.model.expressions import parse

    try:
        return float(text)
    except ValueError:
        pass
    try:
        return parse(text).value
    except ExpressionError:
        return None


@contextlib.contextmanager
def _warnings_on_one_line() -> Iterator[None]:
    """Print warnings on standard error, without the line of code that they come from."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *where, **how: print(f"warning: {message}", file=sys.stderr)
        yield


@app.command(cls=Command)
def look(
    file: Annotated[Path, typer.Argument(metavar="FILE|RUN.nc", help="A model file, or the file of a run.")],
    save: Annotated[Path | None, typer.Option(help="Write one .html file that plays by itself, open nothing.")] = None,
    ghost: Annotated[Path | None, typer.Option(help="Another run of the same bodies (.nc), drawn pale.")] = None,
    follow: Annotated[str | None, typer.Option(metavar="BODY", help="Stay with this body; '' for none.")] = None,
    trace: Annotated[
        list[str] | None,
        typer.Option(metavar="BODY[@X,Y,Z]", help="Draw the path of its origin or point, or of 'all'; repeatable."),
    ] = None,
    arrows: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="velocities, forces or reactions; repeatable.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Where the page is served; the next free one from 8080 on.")] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in the web browser.")] = True,
) -> None:
    """Show a model or a run in 3-D, in the web browser of this machine; nothing leaves it.

    In a model, sliders and the mouse move joints and bodies, and its loops stay closed. A run is played, paused and
    scrubbed, with traces, arrows and the ghost of another run. Ctrl-C ends it.
    """
    from momentree.look.look_command import look_command

    look_command(file, save, _build, port, browser, ghost=ghost, follow=follow, trace=trace, arrows=arrows)


@app.command(cls=Command)
def demo(
    name: Annotated[str | None, typer.Argument(help="The name of an example; lists all of them if omitted.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder for its report.")] = Path("demo-report"),
) -> None:
    """List the gallery, or run one example and write its report."""
    from momentree.look.gallery import find, gallery, report

    if name is None:
        examples = gallery()
        width = max(len(example.name) for example in examples)
        for example in examples:
            print(f"{example.name:<{width}} {example.summary}")
        return
    for line in report(find(name), out):
        print(line)


def _taken(args: list[str], option: str) -> tuple[list[str], list[str]]:
    """The values of a repeatable option, and the other words."""
    values, rest, words = [], [], iter(args)
    for word in words:
        if word == option:
            values.append(next(words, ""))
        elif word.startswith(f"{option}="):
            values.append(word.removeprefix(f"{option}="))
        else:
            rest.append(word)
    return values, rest


def _build(file: Path, parameters: Parameters | None = None) -> System:
    """The system in a file; a loop that cannot be closed is an error with its line."""
    from momentree.files import load

    with _warnings_on_one_line():
        model = load(file, **HOW_TO_LOAD)
    names = {name for name, _ in model.parameters}
    for name in parameters or {}:
        if name not in names:
            raise MomentreeError(f"{file}: there is no parameter '{name}'.{suggestion(name, names)}")
    with _warnings_on_one_line():
        system = model.build(free=[*(parameters or {})]).with_parameters(parameters)
    try:
        _ = system.mobility_report
    except AssemblyError as error:
        origin = model.place_of(*error.culprit) if error.culprit else ""
        raise MomentreeError(f"{origin or file}: {error}") from None
    return system


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        from momentree import __version__

        print(f"momentree {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line. Exit status: 0 done, 1 the model or the run is bad, 2 the command line is wrong."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except MomentreeError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:  # the reader is gone, as `head` is
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:  # of standard output: files have errors of their own
        _refuse_to_print(error)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)


def _refuse_to_print(error: OSError) -> None:
    """Say why nothing can be printed, and exit; the rest of the output is lost."""
    with contextlib.suppress(OSError):
        reason = f"{error.filename or 'standard output'}: cannot be written: {error.strerror or error}"
        print(f"{reason}. Choose another file.", file=sys.stderr, flush=True)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(1)
