"""What a notebook shows of models, systems, states, runs, graphs and programmes: tables and pictures as HTML."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.errors import AssemblyError, MomentreeError
from momentree.look.graph_tables import graph_headline
from momentree.look.html import Html, html_lines, html_page, html_picture, html_table, html_warnings
from momentree.look.picture_files import picture_bytes
from momentree.look.run_tables import summary_rows
from momentree.look.tables import body_cells, constraint_cells, counts, headline, loop_cells, mobility_text
from momentree.structure import Structure
from momentree.structure.coordinate_rows import CoordinateRow, joint_coordinates, joint_velocities

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from momentree.assembly.state import State
    from momentree.model.model import Model
    from momentree.results.programme_run import ProgrammeRun
    from momentree.results.run import Run
    from momentree.structure.graph import Graph
    from momentree.system import System

MOST_DRAWN = 150  # bodies of a graph


def model_html(model: Model) -> str:
    """The picture of its graph; or, of a model that cannot be built, every problem."""
    title = f"{model.name}: {len(model.bodies)} bodies, {len(model.joints)} joints"
    try:
        structure = model.build().structure
    except MomentreeError as error:
        return html_page(title, html_warnings(["it cannot be built."]), html_lines(str(error)))
    return html_page(f"{model.name}: {counts(structure)}", *_drawn_graph(structure))


def graph_html(graph: Graph) -> str:
    """Its picture; its parts if it is not connected."""
    return html_page(repr(graph), *(_drawn_graph(graph) if graph.is_connected else [html_lines(graph_headline(graph))]))


def system_html(system: System) -> str:
    """Structure, loops, constraints, degrees of freedom, redundant constraints."""
    structure = system.structure
    try:
        mobility = mobility_text(system.mobility_report)
    except AssemblyError as error:
        mobility = mobility_text(str(error))
    title, *more = headline(structure).splitlines()
    tables = [
        html_table(*cells(structure)) for cells in (body_cells, loop_cells, constraint_cells) if cells(structure)[1]
    ]
    return html_page(title, html_lines("\n".join(more)), *tables, html_lines(mobility))


def state_html(state: State) -> str:
    """Coordinates and velocities of all joints, with units."""
    title = f"{state.mechanism.name} at t = {state.t:g} s, largest closure error {state.closure_error:.1e}"
    rows: list[tuple[object, ...]] = []
    for name, of in state.mechanism.by_joint.items():
        if of.joint is None:
            continue
        q = _cells(joint_coordinates(of.joint), state[name])
        v = _cells(joint_velocities(of.joint), state.velocity(name))
        pairs = itertools.zip_longest(q, v, fillvalue=("", "", ""))
        rows += [(name if i == 0 else "", *left, *right) for i, (left, right) in enumerate(pairs)]
    return html_page(title, html_table(("joint", "coordinate", "value", "unit", "velocity", "value", "unit"), rows))


def run_html(run: Run) -> str:
    """The summary, the plot and the player."""
    title, table = f"{run.mechanism.name}: run", html_table((), summary_rows(run))
    picture = [_picture(run.plot(), f"plot of {run.mechanism.name}")] if len(run.t) else []
    return html_page(title, html_warnings(run.warnings), table, *picture, *_player(run))


def programme_html(programme: Any) -> str:
    """Its coordinates, constraints and parameters."""
    rows = [("coordinates", ", ".join(programme.coordinates))]
    rows += [(f"constraint {i}", str(text)) for i, text in enumerate(programme.constraints, 1)]
    rows += [(name, f"{value:g}") for name, value in programme.parameters.items()]
    return html_page(f"{programme.name}: programme", html_table((), rows))


def programme_run_html(run: ProgrammeRun) -> str:
    """The summary and the plot."""
    picture = [_picture(run.plot(), f"plot of {run.name}")] if len(run.t) else []
    title, *lines = str(run).splitlines() if len(run.t) else [f"{run.name}: no samples"]
    return html_page(title, html_lines("\n".join(line.strip() for line in lines)), *picture)


def _drawn_graph(graph: Structure | Graph) -> list[Html]:
    from momentree.look.graph_picture import draw_graph

    bodies = (graph.graph if isinstance(graph, Structure) else graph).n
    return [_picture(draw_graph(graph), "graph of bodies and joints")] if bodies <= MOST_DRAWN else []


def _player(run: Run) -> list[Html]:
    """The player of a run that is not too long or too large for a cell, unless it is switched off."""
    from momentree.look.player import MOST_POSES_OF_A_CELL, player, player_wanted

    if not player_wanted():
        return []
    try:
        found = player(run, MOST_POSES_OF_A_CELL)
    except MomentreeError:  # no port, or no finite sample: the rest of the page says what is wrong with the run
        return []
    return [found] if found is not None else []


def _picture(figure: Figure, description: str) -> Html:
    return html_picture(picture_bytes(figure, ".svg", 100), description)


def _cells(rows: Iterable[CoordinateRow], values: Any) -> list[tuple[str, str, str]]:
    both = zip(rows, np.atleast_1d(values), strict=True)
    return [(row.component, f"{x:.6g}", row.unit) for row, x in both]
