"""The command line: parses words, calls the front door, prints."""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from momentree.equations.stabilizations import gain_help_text
from momentree.equations.stabilizations import help_text as stabilization_help_text
from momentree.errors import AssemblyError, MomentreeError, suggestion
from momentree.export.convert_command import convert_command
from momentree.export.export_command import export_command
from momentree.integrate.methods import DEFAULT, METHODS, help_text, tolerance_text
from momentree.look.command_options import HOW_TO_LOAD, Command, Commands
from momentree.look.devices_command import devices_command
from momentree.look.standard_streams import fill_closed_streams, refuse_to_print
from momentree.look.study_command import study_command

if TYPE_CHECKING:
    from momentree.assembly.state import State
    from momentree.look.run_command import Outputs
    from momentree.results.run import Run
    from momentree.system import System

Parameters = dict[str, float | list[float]]

app = typer.Typer(
    cls=Commands,
    help="Dynamics of rigid-body mechanisms, trees and closed loops.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


# --- words of the command line ---------------------------------------------------------------------------------------

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
Input = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        metavar="NAME=VALUE",
        help="What drives an input: u=3.0, u=2*sin(t) or u=torque.csv (columns t, value), which may be followed by "
        "hold, linear (default) or cubic, and continue (beyond its ends): u=torque.csv,cubic,continue; repeatable.",
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
    typer.Option(
        "--show",
        metavar="WHAT",
        help="What --plot shows, and --report shows first: A, A', energy, 'reactions of C', ...; repeatable.",
    ),
]
ReportFile = Annotated[
    Path | None, typer.Option("--report", help="Write everything about the run into this .html file, with a player.")
]
MovieFile = Annotated[
    Path | None, typer.Option("--movie", help="Write a movie of the run into this .mp4 or .gif file.")
]
GraphFile = Annotated[
    Path | None, typer.Option("--picture", "-p", help="Draw the graph into this .svg, .png or .pdf file.")
]
Form = Annotated[str, typer.Option("--by", help="energy, aggregative, lagrange, hamiltonian or newton_euler.")]
Derivation = Annotated[bool, typer.Option("--derivation", help="Show how they are derived, step by step.")]
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
    from momentree.look.tables import counts, mobility_counts, unused_text

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
        for note in system._model.notes:  # all of them, by name; the warning names a few
            print(f"  {note}")
        if unused := unused_text(system._model):
            print(f"  {unused}")
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
def graph(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="A model file, or a file of arcs.")] = None,
    arcs: Annotated[str | None, typer.Option(help='Arcs from body to body: "0-1 1-2 1-3"; 0 is external.')] = None,
    path: Annotated[list[str] | None, typer.Option(metavar="I-J", help="Two bodies: path, order; repeatable.")] = None,
    body: Annotated[list[int] | None, typer.Option(metavar="K", help="What is at a body; repeatable.")] = None,
    arc: Annotated[list[int] | None, typer.Option(metavar="A", help="What is at an arc; repeatable.")] = None,
    walk: Annotated[list[str] | None, typer.Option(metavar="WALK", help='3-4-2 or "s3 u4 s4": which kind?')] = None,
    forces: Annotated[bool, typer.Option("--forces", help="Count springs and contacts of a model as arcs.")] = False,
    picture: GraphFile = None,
    as_json: Json = False,
) -> None:
    """Show a graph on its own: incidence, order, loops, proper numbering round by round, S0, S, T; or answer questions.

    Exit status 1 if some body has no path to the external body 0.
    """
    from momentree.look.graph_command import graph_command

    if (file is None) == (arcs is None):
        raise typer.BadParameter('give either a file or --arcs "0-1 1-2".')
    graph_command(file, arcs, (path or [], body or [], arc or [], walk or []), forces, picture, as_json, _build)


@app.command(cls=Command)
def equations(
    file: File,
    by: Form = "energy",
    reduced: Reduced = False,
    keep: Keep = None,
    derivation: Derivation = False,
    latex: LatexFile = None,
    as_json: Json = False,
) -> None:
    """Derive the equations of motion of a model in symbols, with its constraints and their Lagrange multipliers."""
    equations = _build(file).equations(by, reduced=keep or reduced)
    derived = equations.derivation() if derivation else equations
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
    input_: Input = None,
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
    report: ReportFile = None,
    movie: MovieFile = None,
    as_json: Json = False,
) -> None:
    """Simulate a model from a start at which every loop is closed, and say how accurate the result is.

    With --out, what has been computed is never lost: the same command with --resume continues the run, and its file is
    the same as if nothing had happened. Exit status 1 if the simulation failed, 130 if it was interrupted.
    """
    from momentree.look.command_words import named_inputs, named_numbers
    from momentree.look.run_command import Outputs, show_run
    from momentree.results.run import RunError

    chosen = {"t_end": t_end, "formulation": formulation, "stabilization": stabilization, "integrator": integrator}
    chosen |= {"gain": gain, "rtol": rtol, "atol": atol, "step": step, "every": every, "verify": verify or None}
    settings: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    start = (named_numbers(coordinates, "--from"), named_numbers(velocities, "--velocity"))
    parameters, inputs = named_numbers(parameter, "--parameter"), named_inputs(input_)
    if resume and out is None:
        raise typer.BadParameter("--resume needs --out: the file of the run to continue.")
    if file is None and not resume:
        raise typer.BadParameter("give a model file, or --resume and --out.")
    if show and plot is None and report is None:
        raise typer.BadParameter("--show needs --plot or --report: the file that shows it.")
    (outputs := Outputs(out, plot, tuple(show or ()), report, movie, as_json)).check_files()
    try:
        with _warnings_on_one_line():
            result = _resumed(outputs, file, start, parameters, inputs, settings) if resume else None
            if result is None:
                if file is None:
                    raise MomentreeError(f"{out}: there is nothing to continue. Give a model file to begin.")
                system, begin = _started(file, parameters, start)
                end = 10.0 if system.t_end is None else system.t_end
                outputs.check_shown(system, begin)
                result = system.simulate(begin, **{"t_end": end, **settings}, path=out, inputs=inputs)
    except RunError as error:  # it could not be kept: what was computed is in it
        outputs.write(error.run)
        raise
    if status := show_run(result, outputs):
        raise typer.Exit(status)


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
    from momentree.look.command_words import named_numbers
    from momentree.look.comparison_table import comparison_data

    given = (named_numbers(coordinates, "--from"), named_numbers(velocities, "--velocity"))
    system, start = _started(file, named_numbers(parameter, "--parameter"), given)
    end = next(t for t in (t_end, system.t_end, 10.0) if t is not None)
    settings: dict[str, Any] = {} if gain is None else {"gain": gain}
    comparison = compared(system, start, end, integrator, rtol, step=step, **settings)
    print(json.dumps(comparison_data(comparison), indent=2) if as_json else comparison)
    if all(row.failed for row in comparison.rows):
        raise typer.Exit(1)


def _resumed(
    outputs: Outputs,
    file: Path | None,
    start: Any,
    parameters: Parameters,
    inputs: dict[str, Any],
    settings: dict[str, Any],
) -> Run | None:
    """The run at `out`, finished; None if there is none. The command must ask for what the run was begun with."""
    from momentree.results.recorder import begun, resume_run
    from momentree.results.run import load_run, text_of
    from momentree.simulate.inputs import split_inputs

    out = outputs.out
    before = begun(out) if out is not None else None
    if out is None or before is None:
        return None
    before_it = {name: before.settings.get(name) for name in settings}
    changed = [f"{name} = {value}" for name, value in before_it.items() if value != settings[name]]
    if (parameters or inputs) and file is None:
        what = "parameters" if parameters else "inputs"
        raise MomentreeError(f"{out}: the run continues with the {what} it was begun with. Omit --{what[:-1]}.")
    if file is not None:
        system = _build(file, parameters)
        constants, inputs = split_inputs(system, inputs)
        system = system.with_parameters(constants)
        if before.model != text_of(system):
            changed.append(f"another model than {file}" + (" with these parameters" if parameters else ""))
        elif any(start) and not before.starts_at(system.start(*start)):
            changed.append("another start")
    if changed:
        raise MomentreeError(f"{out}: was begun with {', '.join(changed)}. Omit what differs, or choose another --out.")
    if outputs.show:
        so_far = load_run(out)
        outputs.check_shown(so_far.system, so_far.state(0) if len(so_far.t) else so_far.system.start())
    return resume_run(out, inputs=inputs)


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
    every: Annotated[bool, typer.Option("--all", help="Run all examples; a page with links to them.")] = False,
) -> None:
    """List the gallery, or run one example and write its report, a page that plays in a browser."""
    from momentree.look.gallery import find, gallery, listing, report, report_all

    if every and name is not None:
        raise typer.BadParameter("give the name of an example, or --all.")
    lines = report(find(name), out) if name is not None else report_all(gallery(), out) if every else listing()
    with _warnings_on_one_line():
        for line in lines:
            print(line, flush=True)


def _build(file: Path, parameters: Parameters | None = None) -> System:
    """The system in a file; a loop that cannot be closed is an error with its line."""
    system = _loaded(file, parameters)
    _check_loops(system, file)
    return system


def _started(file: Path, parameters: Parameters, given: tuple[Parameters, Parameters]) -> tuple[System, State]:
    """The same with its start, which is one more way to close its loops."""
    system = _loaded(file, parameters)
    try:
        return system, system.start(*given)
    except AssemblyError:
        _check_loops(system, file)
        raise


def _loaded(file: Path, parameters: Parameters | None) -> System:
    from momentree.files import load

    with _warnings_on_one_line():
        model = load(file, **HOW_TO_LOAD)
    names = {name for name, _ in model.parameters}
    for name in parameters or {}:
        if name not in names:
            raise MomentreeError(f"{file}: there is no parameter '{name}'.{suggestion(name, names)}")
    with _warnings_on_one_line():
        return model.build(free=[*(parameters or {})]).with_parameters(parameters)


def _check_loops(system: System, file: Path) -> None:
    try:
        _ = system.mobility_report
    except AssemblyError as error:
        origin = system._model.place_of(*error.culprit) if error.culprit else ""
        raise MomentreeError(f"{origin or file}: {error}") from None


app.command("convert", cls=Command)(convert_command(HOW_TO_LOAD, _warnings_on_one_line))
app.command("study", cls=Command)(study_command(HOW_TO_LOAD, _warnings_on_one_line))
app.command("export", cls=Command)(export_command(_build, _warnings_on_one_line))
app.command("devices", cls=Command)(devices_command)


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        from momentree import __version__

        print(f"momentree {__version__}")
        raise typer.Exit


@functools.cache
def _command() -> Any:
    """The command, for which Typer looks at all options of all commands."""
    gc.freeze()  # what was imported stays: without it, the collector would look through all of it again and again
    return typer.main.get_command(app)


def main() -> None:
    """Run the command line. Exit status: 0 done, 1 the model or the run is bad, 2 the command line is wrong."""
    fill_closed_streams()
    try:
        try:
            _command()()
        finally:
            sys.stdout.flush()
    except MomentreeError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:  # the reader is gone, as `head` is
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:  # of standard output: files have errors of their own
        refuse_to_print(error)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
