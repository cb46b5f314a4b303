"""The tables of a graph as a lecturer shows them: arcs, bodies, order, loops, peeling, matrices; and for --json."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from momentree.errors import listed
from momentree.look.tables import LARGEST_MATRIX, LONGEST_TABLE, matrix_text, side_by_side, table
from momentree.structure.force_arcs import NamedGraph
from momentree.structure.graph import Graph
from momentree.structure.walks import Walk, around

MOST_LINES = 12  # chains of bodies, parts and the like
LONGEST_WALK = 12  # arcs that are written out
MOST_COLUMNS = 100  # arcs up to which matrices are printed
LARGEST_DATA = 1000  # bodies up to which --json has matrices


def graph_report(shown: Graph | NamedGraph) -> str:
    """All that the lecture asks of a graph; of one that is not connected, what exists without a tree."""
    graph = shown if isinstance(shown, Graph) else shown.graph
    parts = [graph_headline(graph), arcs_table(shown), vertices_table(shown)]
    if graph.is_connected and graph.n:
        parts += [order_text(graph), cycles_table(graph), peeling_text(graph), matrices_text(graph)]
        if not graph.is_proper:
            new = graph.renumbered()
            arcs = " ".join(f"{i}-{j}" for i, j in new.arcs.tolist())
            written = f": {arcs}" if new.n <= LARGEST_MATRIX else ""
            parts += [f"the same graph, numbered properly{written}", matrices_text(new)]
    return "\n\n".join(part for part in parts if part)


# --- words ----------------------------------------------------------------------------------------------------------


def graph_headline(graph: Graph) -> str:
    """How many bodies and arcs; whether it is connected, a tree, numbered properly; parallel arcs, images."""
    bodies = f"{graph.n} {'body' if graph.n == 1 else 'bodies'} and the external body s0"
    first = f"{bodies}, {graph.m} arc{'s' * (graph.m != 1)}"
    if not graph.is_connected:
        loops = f", with {_loops(graph)}" if graph.cut else ""
        lines = [f"{first}: not connected{loops}, {graph.components} parts"]
        lines += _few((0, *graph.first_floating), lambda body: f"  {vertices(graph.reachable(body))}")
    else:
        kind = "a tree" if graph.is_tree else f"connected, {_loops(graph)}"
        proper = "numbered properly" if graph.is_proper else "not numbered properly"
        lines = [f"{first}: {kind}, {proper}"]
    if graph.cut and graph.is_connected:
        lines.append(f"spanning tree: {arcs(graph.tree)}; cut: {arcs(graph.cut)}")
    closing = "join the same two bodies, so each after the first closes a loop"
    lines += _few(graph.parallel, lambda group: f"{arcs(group)} {closing}")
    lines += _few(graph.images, lambda pair: f"s{pair[0]} is the image of s{pair[1]}")
    return "\n".join(lines)


def _loops(graph: Graph) -> str:
    return f"{graph.number_of_loops} loop{'s' * (graph.number_of_loops != 1)}"


def _few(things: Sequence[Any], line: Callable[[Any], str]) -> list[str]:
    """A line of each of the first, and how many more there are."""
    more = len(things) - MOST_LINES
    return [line(thing) for thing in things[:MOST_LINES]] + [f"... and {more} more"] * (more > 0)


def vertices(numbers: Iterable[int]) -> str:
    """ "s1, s2, s4"; of many, the first."""
    return listed([f"s{number}" for number in numbers])


def arcs(numbers: Iterable[int]) -> str:
    """ "u1, u2, u4"; of many, the first."""
    return listed([f"u{number}" for number in numbers])


def walk_text(walk: Walk) -> str:
    """ "s3, u4, s4, u5, s2"; of a long one, its beginning and its end."""
    if len(walk) <= LONGEST_WALK:
        return str(walk)
    words = str(walk).split(", ")
    return ", ".join([*words[:LONGEST_WALK], "...", *words[-5:]])


# --- tables ---------------------------------------------------------------------------------------------------------


def arcs_table(shown: Graph | NamedGraph) -> str:
    """Each arc: the bodies i+ and i-, the arcs adjacent to it, and whether it is cut."""
    graph = shown if isinstance(shown, Graph) else shown.graph
    columns: dict[str, Callable[[int], str]] = {"arc": lambda a: f"u{a}"}
    if isinstance(shown, NamedGraph):
        columns["name"] = lambda a: shown.arcs[a - 1]
        columns["type"] = lambda a: shown.kinds[a - 1]
    columns["leaves, i+"] = lambda a: f"s{graph.i_plus[a - 1]}"
    columns["enters, i-"] = lambda a: f"s{graph.i_minus[a - 1]}"
    columns["adjacent arcs"] = lambda a: arcs(graph.adjacent_arcs(a)) or "-"
    if graph.cut:
        cut = {*graph.cut}
        columns["in the tree"] = lambda a: "cut" if a in cut else "yes"
    return _columns(columns, range(1, graph.m + 1))


def vertices_table(shown: Graph | NamedGraph) -> str:
    """Each body: incident arcs, adjacent bodies and, if there is a path to s0, preceding arc and body, and the path."""
    graph = shown if isinstance(shown, Graph) else shown.graph
    columns: dict[str, Callable[[int], str]] = {"body": lambda k: f"s{k}"}
    if isinstance(shown, NamedGraph):
        columns["name"] = lambda k: shown.bodies[k]
    columns["incident arcs"] = lambda k: arcs(graph.incident_arcs(k)) or "-"
    columns["adjacent bodies"] = lambda k: vertices(graph.adjacent_bodies(k)) or "-"
    if graph.is_connected:
        columns["preceding arc"] = lambda k: f"u{graph.preceding[k - 1]}" if k else "-"
        columns["preceding body"] = lambda k: f"s{graph.parents[k - 1]}" if k else "-"
        columns["path to s0"] = lambda k: walk_text(graph.path_between(k, 0))
    return _columns(columns, range(graph.n + 1))


def _columns(columns: dict[str, Callable[[int], str]], numbers: Sequence[int]) -> str:
    """A cell of each column for each number; those after the longest table are only counted."""
    if not numbers:
        return ""
    rows = [[cell(number) for cell in columns.values()] for number in numbers[:LONGEST_TABLE]]
    return table([*columns], rows + rows[-1:] * (len(numbers) - len(rows)))


def order_text(graph: Graph) -> str:
    """The weak order of the bodies, as a chain to each leaf."""

    def chain_to(leaf: int) -> str:
        chain = [f"s{body}" for body in graph.path_between(0, leaf).bodies]
        if len(chain) > LONGEST_WALK:
            chain = [*chain[:6], "...", *chain[-3:]]
        return f"  {' < '.join(chain)}"

    return "\n".join(["order (s_i < s_j: s_i lies on the path from s_j to s0)", *_few(graph.leaves, chain_to)])


def cycles_table(graph: Graph) -> str:
    """The cycle that each cut arc closes, walked along it."""

    def cycle(i: int) -> str:
        (closed,) = graph._rooting.cycles(graph.arcs, [graph.cut[i - 1]])  # only those that are shown
        return walk_text(around(closed))

    def cut(i: int) -> str:
        return f"u{graph.cut[i - 1]}"

    return _columns({"loop": str, "cut arc": cut, "cycle": cycle}, range(1, len(graph.cut) + 1))


def peeling_text(graph: Graph) -> str:
    """The construction of a proper numbering, round by round."""
    rows = []
    for i, each in enumerate(graph.peeling, 1):
        numbers = listed([str(number) for number in each.numbers])
        rows.append((str(i), vertices(each.bodies), arcs(each.arcs), numbers))
    lines = [
        "proper numbering: in each round the leaves, with their arcs, get the largest numbers left and are cut off",
        table(("round", "leaves", "their arcs", "new numbers"), rows),
    ]
    if graph.is_proper:
        lines.append("The present numbering is proper already and is kept.")
    elif graph.cut:
        _, new = graph.peel()
        listing = listed([f"u{arc} becomes u{new[arc - 1]}" for arc in graph.cut])
        lines.append(f"Cut arcs come last: {listing}.")
    return "\n".join(lines)


# --- matrices -------------------------------------------------------------------------------------------------------


def matrices_text(graph: Graph) -> str:
    """The functions i+ and i-, S0, S and T by their definitions, T as the inverse of S, and what the lecture proves."""
    if graph.n > LARGEST_MATRIX or graph.m > MOST_COLUMNS:
        most = f"; --json has them up to {LARGEST_DATA} bodies" if graph.n <= LARGEST_DATA else ""
        what = f"{graph.n} bodies" if graph.n > LARGEST_MATRIX else f"{graph.m} arcs"
        return f"S0, S and T of {what} are too large to print{most}."
    functions = [("i+", graph.i_plus), ("i-", graph.i_minus)]
    parts = ["\n".join(f"{name} = {{{', '.join(map(str, values.tolist()))}}}" for name, values in functions)]
    if graph.cut:
        parts.append(matrix_text("S_full", graph.S_full))
        parts.append(f"S0, S and T are those of the tree, with a column or row for each of {arcs(graph.tree)}.")
    parts.append(matrix_text("S0", graph.S0.reshape(1, -1)))
    parts.append(side_by_side(matrix_text("S", graph.S), matrix_text("T", graph.T)))
    if graph.cut:
        parts.append(matrix_text("Phi'", graph.Phi.T))
    return "\n\n".join([*parts, "\n".join(identities(graph))])


def identities(graph: Graph) -> list[str]:
    """What holds between the matrices, each computed, and said only if it holds."""
    S, T, S0, E = graph.S, graph.T, graph.S0, np.eye(graph.n, dtype=int)
    holds = {
        "T by its definition (paths to s0) equals S^-1 by elimination": (graph.T_by_inversion == T).all(),
        "S T = T S = E": (S @ T == E).all() and (T @ S == E).all(),
        "T' S0' = -1": (T.T @ S0 == -1).all(),
        "every column of S_full sums to zero": not graph.S_full.sum(axis=0).any(),
        "S_full Phi = 0": bool(graph.cut) and not (graph.S_full @ graph.Phi).any(),
    }
    if graph.is_proper and list(graph.k).count(0) == 1:
        only_first = not S0[1:].any() and (T[0] == -S0[0]).all()
        holds["one body on s0, numbered 1: only S01 differs from zero, and the first row of T is -S01"] = only_first
    return [law for law, it_holds in holds.items() if it_holds]


# --- plain data -----------------------------------------------------------------------------------------------------


def graph_data(shown: Graph | NamedGraph) -> dict[str, Any]:
    """The graph as plain data, for --json; matrices up to 1000 bodies, nothing of the tree if it is not connected."""
    graph = shown if isinstance(shown, Graph) else shown.graph
    data: dict[str, Any] = {"n": graph.n, "m": graph.m, "arcs": graph.arcs.tolist()}
    if isinstance(shown, NamedGraph):
        data["names"] = {"bodies": list(shown.bodies), "arcs": list(shown.arcs), "types": list(shown.kinds)}
        data["force_arcs"] = list(shown.forces)
    data |= {
        "i_plus": graph.i_plus.tolist(),
        "i_minus": graph.i_minus.tolist(),
        "connected": graph.is_connected,
        "acyclic": graph.is_acyclic,
        "tree": graph.is_tree,
        "parts": [list(graph.reachable(body)) for body in (0, *graph.first_floating)],
        "parallel_arcs": [list(group) for group in graph.parallel],
        "spanning_tree": list(graph.tree),
        "cut": list(graph.cut),
        "images": [list(pair) for pair in graph.images],
        "bodies": [
            {
                "body": k,
                "incident_arcs": list(graph.incident_arcs(k)),
                "adjacent_bodies": list(graph.adjacent_bodies(k)),
            }
            for k in range(graph.n + 1)
        ],
    }
    return data | (_rooted_data(graph) if graph.is_connected else {})


def _rooted_data(graph: Graph) -> dict[str, Any]:
    body, arc = graph.numbering
    data: dict[str, Any] = {
        "proper": graph.is_proper,
        "preceding_arcs": graph.preceding.tolist(),
        "preceding_bodies": graph.parents.tolist(),
        "leaves": list(graph.leaves),
        "cycles": [walk_data(around(cycle)) for cycle in graph.cycles],
        "peeling": [
            {"leaves": list(each.bodies), "arcs": list(each.arcs), "new_numbers": list(each.numbers)}
            for each in graph.peeling
        ],
        "proper_numbering": {"bodies": body.tolist(), "arcs": arc.tolist()},
        "proper_arcs": graph.renumbered().arcs.tolist(),
    }
    if graph.n <= LARGEST_DATA:
        data |= {name: getattr(graph, name).tolist() for name in ("S_full", "S0", "S", "T", "Phi")}
        data["identities"] = identities(graph)
    return data


def walk_data(walk: Walk) -> dict[str, Any]:
    """A walk as plain data."""
    return {
        "kind": walk.kind,
        "bodies": list(walk.bodies),
        "arcs": list(walk.arcs),
        "signs": list(walk.signs),
    }
