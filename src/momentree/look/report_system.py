"""What a report says of the system: counts, drawing and graph, tables, degrees of freedom, redundant constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from momentree.errors import AssemblyError, MomentreeError
from momentree.look.graph_picture import draw_graph
from momentree.look.html import Html, Section, html_figure, html_lines, html_note, html_pair, html_picture, html_table
from momentree.look.html import html_wide as wide
from momentree.look.picture_files import picture_bytes
from momentree.look.tables import body_cells, constraint_cells, counts, headline, loop_cells, mobility_text
from momentree.structure import Structure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from momentree.analyse.mobility import Mobility
    from momentree.results.run import Run
    from momentree.system import System

MOST_DRAWN = 150  # bodies of a graph, and of a drawing
LARGEST_SVG = 400_000  # bytes; a picture of more lines is made of pixels
DPI = 150  # of these
CANNOT_BE_DRAWN = (MomentreeError, ValueError, ArithmeticError, np.linalg.LinAlgError)


def system_section(run: Run) -> Section:
    """The system that moved."""
    system, structure = run.system, run.system.structure
    _, *more = headline(structure).splitlines()
    parts = [html_lines(counts(structure).capitalize() + ".")] if more else []
    parts += [html_lines("\n".join(more))] if more else []
    return Section("System", [*parts, _pictures(run, structure), *_freedom(system), *_tables(structure)])


def system_facts(system: System) -> Iterator[tuple[str, str]]:
    """Numbers that are seen first."""
    structure, report = system.structure, mobility_of(system)
    bodies = len(structure.mechanism.bodies) - len(structure.mechanism.graph.images)
    yield "bodies, joints, loops", f"{bodies}, {len(structure.joints)}, {len(structure.loops)}"
    free = "unknown" if isinstance(report, str) else f"{report.true}"
    free += ", besides prescribed motions" * structure.mechanism.has_prescribed_motion
    yield "degrees of freedom", free
    if not isinstance(report, str) and report.rows:
        yield "redundant constraints", f"{len(report.redundant)} of {len(report.rows)}"


def mobility_of(system: System) -> Mobility | str:
    """Degrees of freedom; or, as text, why the loops do not close."""
    try:
        return system.mobility_report
    except AssemblyError as error:
        return str(error)


def report_picture(draw: Callable[[], Figure], name: str, caption: str) -> Html:
    """A figure with its caption; or why it cannot be drawn: what is wrong with a run must not cost its report."""
    try:
        with np.errstate(all="ignore"):
            figure = draw()
            content, kind = picture_bytes(figure, ".svg", 100), "svg+xml"
            if len(content) > LARGEST_SVG:
                content, kind = picture_bytes(figure, ".png", DPI), "png"
    except CANNOT_BE_DRAWN as error:
        return html_note(f"{name}: cannot be drawn. {error}")
    return html_figure(html_picture(content, name, kind), caption)


def _pictures(run: Run, structure: Structure) -> Html:
    """The mechanism as it is drawn for a paper, at the first sample, and its graph."""
    bodies, parts = len(structure.mechanism.bodies), []
    if bodies > MOST_DRAWN:
        return html_note(f"Pictures of the mechanism and of its graph are drawn of up to {MOST_DRAWN} bodies.")
    if len(run.t):
        caption = f"The mechanism at t = {run.t[0]:g} s, with the symbols of mechanism theory; the ground is hatched."
        parts.append(report_picture(lambda: run.system.draw(state=run.state(0)), "mechanism", caption))
    loops = " Dashed arcs are cut: they close loops." if structure.loops else ""
    graph = f"The graph: a node is a body, an arc a joint.{loops}"
    return html_pair(*parts, report_picture(lambda: draw_graph(structure), "graph of bodies and joints", graph))


def _freedom(system: System) -> Iterator[Html]:
    yield html_lines(mobility_text(mobility_of(system)))


def _tables(structure: Structure) -> Iterator[Html]:
    for headers, rows in (cells(structure) for cells in (body_cells, loop_cells, constraint_cells)):
        if rows:
            yield wide(html_table(headers, rows))
