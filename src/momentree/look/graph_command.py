"""`momentree graph`: the lecture's graph on its own, of bare arcs, of a file of arcs or of a model."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from momentree.errors import MomentreeError
from momentree.look.graph_answers import Questions, answers
from momentree.look.graph_file import graph_of_file
from momentree.look.graph_tables import graph_data, graph_headline, graph_report
from momentree.look.picture_files import check_picture
from momentree.look.tables import LARGEST_MATRIX
from momentree.structure.arc_checks import checked_arc, checked_body
from momentree.structure.arc_text import read_arcs, read_pair
from momentree.structure.force_arcs import NamedGraph
from momentree.structure.graph import Graph

if TYPE_CHECKING:
    from momentree.structure.structure import Structure
    from momentree.system import System


def graph_command(
    file: Path | None,
    text: str | None,
    asked: tuple[Sequence[str], Sequence[int], Sequence[int], Sequence[str]],
    forces: bool,
    picture: Path | None,
    as_json: bool,
    build: Callable[[Path], System],
) -> None:
    """Print the tables of a graph, or the answers to questions (pairs of bodies, bodies, arcs, walks) if there are any.

    Of a graph that is not connected, what exists without a tree is printed before the error.
    """
    if picture is not None:
        check_picture(picture)
    given: Graph | Structure = (
        graph_of_file(file, build) if file is not None else Graph(read_arcs(text or "", "--arcs"))
    )
    if forces and isinstance(given, Graph):
        raise MomentreeError(f"{file or '--arcs'}: bare arcs have no forces. Give a model file, or omit --forces.")
    shown = given if isinstance(given, Graph) else given.named_graph(force_arcs=forces)
    graph = shown if isinstance(shown, Graph) else shown.graph
    pairs, bodies, arcs, walks = asked
    bodies = [checked_body(body, graph.n, "--body") for body in bodies]
    arcs = [checked_arc(arc, graph.m, "--arc") for arc in arcs]
    found = answers(graph, Questions([_pair(pair, shown) for pair in pairs], bodies, arcs, walks))
    if as_json:
        data = graph_data(shown) | ({"answers": [answer.data for answer in found]} if found else {})
        print(json.dumps(data, indent=2 if graph.n <= LARGEST_MATRIX else None))
    elif found:
        print("\n\n".join([graph_headline(graph), *map(str, found)]))
    else:
        print(graph_report(shown))
    if not graph.is_connected:
        sys.stdout.flush()
        _ = graph.parents  # the error says which bodies have no path to 0
    if picture is not None:
        from momentree.look.graph_picture import draw_graph

        draw_graph(shown if forces else given, picture)
        print(f"picture written to {picture}", file=sys.stderr)


def _pair(text: str, shown: Graph | NamedGraph) -> tuple[int, int]:
    """Two bodies, by numbers or, in a model, by names: "crank-rocker" or "crank, rocker"."""
    if isinstance(shown, NamedGraph):
        number = {name: k for k, name in reversed([*enumerate(shown.bodies)])}
        for i, c in enumerate(text):
            first, second = text[:i].strip(), text[i + 1 :].strip()
            if c in "-," and first in number and second in number:
                return number[first], number[second]
    n = (shown if isinstance(shown, Graph) else shown.graph).n
    first_body, second_body = (checked_body(body, n, f"--path {text}") for body in read_pair(text, "--path"))
    return first_body, second_body
