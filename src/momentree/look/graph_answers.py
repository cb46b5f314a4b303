"""Answers to questions about a graph: about two bodies, a body, an arc, a walk; as text and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

from momentree.look.graph_tables import arcs, vertices, walk_data, walk_text
from momentree.look.tables import LARGEST_MATRIX
from momentree.structure.graph import Graph
from momentree.structure.walks import Walk

MOST_PATHS = 12  # that are listed


class Questions(NamedTuple):
    """What is asked: pairs of bodies, bodies, arcs, and walks as text."""

    paths: Sequence[tuple[int, int]] = ()
    bodies: Sequence[int] = ()
    arcs: Sequence[int] = ()
    walks: Sequence[str] = ()


class Answer(NamedTuple):
    """Lines of text, and the same as plain data."""

    lines: list[str]
    data: dict[str, Any]

    def __str__(self) -> str:
        return "\n  ".join(self.lines)


def answers(graph: Graph, questions: Questions) -> list[Answer]:
    """An answer to each question, in the order: pairs, bodies, arcs, walks."""
    found = [about_pair(graph, i, j) for i, j in questions.paths]
    found += [about_body(graph, body) for body in questions.bodies]
    found += [about_arc(graph, arc) for arc in questions.arcs]
    return found + [about_walk(graph, text) for text in questions.walks]


def about_pair(graph: Graph, i: int, j: int) -> Answer:
    """Are two bodies adjacent, is one before the other, which path and which other paths join them?"""
    adjacent = graph.are_adjacent(i, j)
    shared = sorted({*graph.incident_arcs(i)} & {*graph.incident_arcs(j)}) if i != j else []
    data: dict[str, Any] = {"from": i, "to": j, "adjacent": adjacent, "connected": graph.are_connected(i, j)}
    beside = f"s{i} and s{j} are {f'adjacent, joined by {arcs(shared)}' if adjacent else 'not adjacent'}"
    if not data["connected"]:
        return Answer([f"no path from s{i} to s{j}: they are not connected", beside], data)
    path = graph.path_between(i, j) if graph.is_connected else next(graph.all_paths(i, j))
    tree = " through the spanning tree" if graph.cut and graph.is_connected else ""
    lines = [f"path from s{i} to s{j}{tree}: {walk_text(path)}", _passed(path), beside]
    data["path"] = walk_data(path)
    if graph.is_connected:
        data["order"] = "=" if i == j else "<" if graph.before(i, j) else ">" if graph.before(j, i) else None
        lines.append(_order(i, j, data["order"]))
    if graph.cut and graph.n <= LARGEST_MATRIX:
        others = [*islice((other for other in graph.all_paths(i, j) if other != path), MOST_PATHS + 1)]
        lines += [f"another path: {walk_text(other)}" for other in others[:MOST_PATHS]]
        lines += ["... and more"] * (len(others) > MOST_PATHS)
        data["other_paths"] = [walk_data(other) for other in others[:MOST_PATHS]]
    return Answer(lines, data)


def _passed(path: Walk) -> str:
    against = [arc for arc, sign in zip(path.arcs, path.signs, strict=True) if sign < 0]
    along = f"; against their direction: {arcs(against)}" if against else ""
    return f"{len(path)} arc{'s' * (len(path) != 1)}{along}"


def _order(i: int, j: int, order: str | None) -> str:
    if order is None:
        return f"neither s{i} < s{j} nor s{j} < s{i}"
    if order == "=":
        return f"s{i} <= s{j}, one and the same body"
    first, second = (i, j) if order == "<" else (j, i)
    return f"s{first} < s{second}: s{first} lies on the path from s{second} to s0"


def about_body(graph: Graph, body: int) -> Answer:
    """What is incident with a body, adjacent to it, before and after it, reachable from it?"""
    data: dict[str, Any] = {
        "body": body,
        "incident_arcs": list(graph.incident_arcs(body)),
        "adjacent_bodies": list(graph.adjacent_bodies(body)),
        "reachable": list(graph.reachable(body)),
    }
    lines = [
        f"s{body}",
        f"incident with {arcs(data['incident_arcs']) or 'no arc'}",
        f"adjacent to {vertices(data['adjacent_bodies']) or 'no body'}",
        f"reachable from it: {vertices(data['reachable'])}",
    ]
    if graph.is_connected:
        data["followers"] = list(graph.followers(body))
        if body:
            data["preceding_arc"], data["preceding_body"] = (
                int(of[body - 1]) for of in (graph.preceding, graph.parents)
            )
            data["path"] = walk_data(graph.path_between(body, 0))
            lines.append(f"preceded by arc u{data['preceding_arc']} and body s{data['preceding_body']}")
            lines.append(f"path to s0: {walk_text(graph.path_between(body, 0))}")
        followers = vertices(data["followers"])
        lines.append(f"s{body} < {followers}" if followers else "a leaf: it lies before no other body")
    return Answer(lines, data)


def about_arc(graph: Graph, arc: int) -> Answer:
    """Which bodies does an arc join, which arcs are adjacent to it, is it in the tree?"""
    beside = graph.adjacent_arcs(arc)
    leaves, enters = graph.arcs[arc - 1].tolist()
    data = {"arc": arc, "i_plus": leaves, "i_minus": enters, "adjacent_arcs": list(beside), "cut": arc in graph.cut}
    lines = [f"u{arc} leaves s{leaves} (i+) and enters s{enters} (i-), and is incident with both"]
    lines.append(f"adjacent to {arcs(beside) or 'no arc'}")
    lines.append("cut: it closes a loop" if data["cut"] else "in the spanning tree")
    return Answer(lines, data)


def about_walk(graph: Graph, text: str) -> Answer:
    """Is it a walk, and is it a trail, a path, closed, a cycle?"""
    walk = graph.walk(text)
    bodies = walk.bodies[:-1] if walk.is_closed else walk.bodies
    twice = {
        "u": sorted({arc for arc in walk.arcs if walk.arcs.count(arc) > 1}),
        "s": sorted({body for body in bodies if bodies.count(body) > 1}),
    }
    lines = [f"{walk_text(walk)}: a {walk.kind}"]
    lines.append(f"arcs that come twice: {arcs(twice['u'])}" if twice["u"] else "no arc comes twice: it is a trail")
    if twice["s"]:
        lines.append(f"bodies that come twice: {vertices(twice['s'])}")
    elif not walk.is_closed:
        lines.append("no body comes twice: it is a path (a simple trail)")
    if walk.is_closed:
        word = ": a closed trail, which the lecture calls a cycle" if walk.is_circuit else ""
        lines.append(f"it ends where it begins{word}")
    return Answer(lines, walk_data(walk))
