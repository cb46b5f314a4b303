"""`run.report("out.html")`: one page that holds everything about a run, opened by double-click, without a network.

| section    | holds                                                                                          |
|------------|------------------------------------------------------------------------------------------------|
| top        | warnings, or that there are none; the numbers that are asked for first                         |
| Motion     | the 3-D player, and the mechanism at some instants                                             |
| System     | drawing, graph, tables of bodies, loops and constraints, degrees of freedom                    |
| Plots      | what was asked for; coordinates, velocities, energy, phase portraits, closure error, reactions |
| Accuracy   | what was measured, against which limit; what was estimated; what is not known                  |
| Events     | events, impacts, singular configurations, if there are any                                     |
| Settings   | settings, steps, evaluations                                                                   |
| Model      | the model's file                                                                               |
| Versions   | of Momentree and what it is made of                                                            |
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.activity import activity
from momentree.errors import MomentreeError
from momentree.files.atomic_write import write_file
from momentree.look.html import (
    Html,
    Section,
    html_code,
    html_document,
    html_facts,
    html_figure,
    html_folded,
    html_lines,
    html_note,
    html_table,
    html_wide,
)
from momentree.look.player import MOST_BODIES, player, player_pace
from momentree.look.report_accuracy import accuracy_section, verdicts
from momentree.look.report_plots import plots_section
from momentree.look.report_style import STYLE
from momentree.look.report_system import MOST_DRAWN, report_picture, system_facts, system_section
from momentree.look.run_tables import ENDS, input_rows, is_small, stiffness_rows
from momentree.look.viewer_file import check_page

if TYPE_CHECKING:
    from momentree.results.run import Run

INSTANTS = (0, 0.19, 0.41, 0.63, 0.86)  # parts of the run at which it is drawn: uneven, for the sake of periodic ones
MOST_IMPULSES = 6  # of an impact that are named
PACKAGES = ("numpy", "scipy", "llvmlite", "matplotlib", "viser")


def save_report(
    run: Run,
    path: str | os.PathLike[str],
    title: str | None = None,
    show: Sequence[Any] = (),
    player: bool = True,
    sections: Sequence[Section] = (),
) -> None:
    """Write the report of a run; `sections` come after its motion."""
    check_page(path)
    with activity("writing the report of", run.mechanism.name):
        write_file(path, report_page(run, title, show, player, sections))


def report_page(
    run: Run,
    title: str | None = None,
    show: Sequence[Any] = (),
    player: bool = True,
    sections: Sequence[Section] = (),
) -> str:
    """The text of the page."""
    top = [*verdicts(run), html_facts(facts(run))]
    parts = [
        motion_section(run, player),
        *sections,
        system_section(run),
        plots_section(run, show),
        accuracy_section(run),
        *_events(run),
        _settings(run),
        model_section(run.model),
        versions_section(run.version),
    ]
    return html_document(title or run.mechanism.name, STYLE, top, parts, end_line())


def facts(run: Run) -> Iterator[tuple[str, str]]:
    """The numbers that are asked for first."""
    yield from system_facts(run.system)
    first, last = (run.t[0], run.t[-1]) if len(run.t) else (run.end.t, run.end.t)
    yield "time", f"{first:g} to {last:g} s, {ENDS.get(run.end.reason, run.end.reason)}"
    if len(run.t) and run.mechanism.constrained:
        yield "closure error", f"{run.closure_error.max():.1e} m, rad"
    if len(run.t):
        yield "energy out of balance", f"{run.energy.error:.1e} J of {run.energy.through:.3g} J"
    if run.error is not None:
        yield "estimated error", f"{run.error.angle:.0e} rad, {run.error.length:.0e} m"


def motion_section(run: Run, wanted: bool = True) -> Section:
    """The player, and a strip of instants, which is also printed."""
    parts = [player_figure(run)] if wanted else []
    if len(run.t) and len(run.mechanism.bodies) <= MOST_DRAWN:
        caption = "The mechanism at instants of the run."
        instants = [float(run.t[0] + part * (run.t[-1] - run.t[0])) for part in INSTANTS]
        parts.append(report_picture(lambda: run.draw(times=instants), "instants", caption))
    return Section("Motion", parts or [html_note("The run has no samples: there is no motion to show.")])


def player_figure(run: Run) -> Html:
    """The player with its caption; or why there is none."""
    try:
        pace, frame = player_pace(run), player(run)
    except MomentreeError as error:
        return html_note(f"There is no player. {error}")
    if pace is None or frame is None:
        few = f"It has no motion, more than {MOST_BODIES} bodies, or too many poses for a page of this size."
        return html_note(f"There is no player. {few} momentree look plays any run.")
    how = "Drag to turn, right button to shift, wheel to zoom; space pauses."
    return html_figure(frame, f"Played {pace}. {how}")


def _events(run: Run) -> Iterator[Section]:
    parts: list[Html] = []
    if run.end.events:
        rows = [(name, f"{t:.9g}") for name, t in run.end.events]
        parts.append(html_wide(html_table(("event", "t, s"), rows)))
    if run.impacts:
        rows_of = [(f"{i.t:.9g}", ", ".join(i.events), f"{i.lost:.4g}", _largest(i.impulses)) for i in run.impacts]
        parts.append(html_lines("Impacts: velocities change at once."))
        headers = ("t, s", "caused by", "energy lost, J", "largest impulses, N s or N m s")
        parts.append(html_wide(html_table(headers, rows_of)))
    toggles = run.system.toggles(run) if is_small(run) else ()
    if toggles:
        parts.append(html_lines("Singular configurations, where the motion could branch:"))
        parts.append(html_lines("\n".join(map(str, toggles[:24]))))
    if parts:
        yield Section("Events", parts)


def _largest(impulses: Any) -> str:
    found = sorted(impulses.items(), key=lambda one: -abs(one[1]))
    return ", ".join(f"{name}: {x:.4g}" for name, x in found[:MOST_IMPULSES] if x)


def _settings(run: Run) -> Section:
    s = run.statistics
    made = [(name, _setting(value)) for name, value in run.settings.items() if value is not None and name != "inputs"]
    made += input_rows(run)
    constant = {name: value for name, value in run.parameters.items() if name not in run.system.inputs}
    made += [(f"parameter {name}", f"{value:g}") for name, value in constant.items()]
    steps = [
        ("samples", f"{len(run.t)}"),
        ("accepted steps", f"{s.accepted}"),
        ("rejected steps", f"{s.rejected}"),
        ("evaluations of the right-hand side", f"{s.evaluations}"),
    ]
    if np.isfinite(s.shortest) and s.longest > 0:
        steps.append(("step size", f"{s.shortest:.3g} to {s.longest:.3g} s"))
    steps += stiffness_rows(run)
    tables = (html_table(("setting", ""), made), html_table(("statistics", ""), steps))
    return Section("Settings", [html_wide(table) for table in tables])


def _setting(value: Any) -> str:
    """A setting in words; events by name, with the expression that rises or falls through zero."""
    if isinstance(value, Mapping):
        of = {name: one.get("when", one) if isinstance(one, Mapping) else one for name, one in value.items()}
        return "\n".join(f"{name}: {one}" for name, one in of.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.12g}" if isinstance(value, float) else f"{value}"


def model_section(text: str) -> Section:
    """The model's file; a long one is folded."""
    if not text:
        return Section("Model", [html_note("The model holds Python functions: it has no file.")])
    code = html_code(text)
    folded = html_folded(f"{len(text.splitlines())} lines", code) if len(text.splitlines()) > 80 else code
    return Section("Model", [html_lines("Saved as a .toml file, this is the whole model:"), folded])


def versions_section(computed_by: str = "") -> Section:
    """What computed the run, and what wrote the page."""
    from momentree import __version__

    rows = [("run computed by Momentree", computed_by)] if computed_by else []
    rows += [("page written by Momentree", __version__), ("Python", platform.python_version())]
    for name in PACKAGES:
        try:
            rows.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            continue
    rows.append(("platform", platform.platform(terse=True)))
    rows.append(("processor", platform.machine()))
    return Section("Versions", [html_table((), rows)])


def end_line() -> str:
    """The last line of a page."""
    return "This page holds everything it shows and asks nobody for anything. Written by Momentree."
