"""The picture of a mechanism's graph: the spanning tree on the ground, joints as arrows, closures in color, forces."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.errors import MomentreeError
from momentree.look.constraint_list import listed_constraints
from momentree.look.graph_layout import (
    COUPLING,
    CUT,
    FONT,
    FORCE,
    GREY,
    INK,
    NAMED,
    NUMBERED,
    PAIR,
    SMALL,
    SPLIT,
    Body,
    Chord,
    Line,
    Sheet,
    Words,
    lay_out,
    text_width,
)
from momentree.look.picture_files import check_picture, save_picture
from momentree.structure.force_arcs import NamedGraph, by_pair, united_name
from momentree.structure.graph import Graph
from momentree.structure.structure import Structure

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.transforms import Transform

MOST_NAMED, MOST_BODIES, LONGEST_NAME = 150, 2000, 24
MOST_PIXELS, LONGEST_SIDE = 4e7, 60_000  # of a PNG
LOOPS = ("#0072b2", "#d55e00", "#009e73", "#b8578b", "#332288", "#8a8a20", "#882255", "#2f8fc4")  # colour-blind safe
PAPER = "#eef2f6"


def draw_graph(structure: Structure | NamedGraph | Graph, path: str | os.PathLike[str] | None = None) -> Figure:
    """The graph as a figure, saved if a path is given (.svg, .png or .pdf). The same graph gives the same bytes.

    Arrows run from i_plus to i_minus, as the joints were defined. Cut joints are dashed, split bodies are joined with
    their images by dots; labels count the constraints that close each loop. Lines of short dashes are higher pairs,
    rolling for example; dashes and dots join the bodies whose joints or frames a coupling names. Long gray dashes are
    springs and contacts; they are arrows in a graph that counts them as arcs. Above 150 bodies only numbers are
    written, above 2000 the picture is refused.
    """
    graph = structure if isinstance(structure, Graph) else structure.graph
    if path is not None:
        check_picture(path)
    if graph.n > MOST_BODIES:
        message = f"a picture of {graph.n} bodies would not be readable. Draw a part of at most {MOST_BODIES}."
        raise MomentreeError(f"draw_graph: {message}")
    style = NAMED if graph.n <= MOST_NAMED else NUMBERED
    names, joints, chords = _labels(structure, graph)
    forces = structure.forces if isinstance(structure, NamedGraph) else ()
    sheet = lay_out(graph, style, names, joints, chords, forces)
    _draw_ground(sheet)
    drawn = {chord.dash for chord in chords} | {FORCE for arc in forces if arc in joints}
    _write_legend(sheet, drawn, "force arc" if isinstance(structure, NamedGraph) else "spring or contact")
    figure = _painted(sheet)
    if path is not None:
        save_picture(figure, path, _resolution(figure))
    return figure


def _labels(structure: Structure | NamedGraph | Graph, graph: Graph) -> tuple[list[str], dict[int, str], list[Chord]]:
    """Names by number of the body, labels by number of the tree arc, and the chords that close the loops."""
    names, joints = [""] * (graph.n + 1), dict.fromkeys(graph.tree, "")
    ends = [(pre_image, image) for image, pre_image in graph.images] + [graph.arcs[a - 1].tolist() for a in graph.cut]
    closing = [""] * len(ends)
    if graph.n <= MOST_NAMED:
        names, arcs = _names(structure, graph)
        joints = {arc: arcs[arc - 1] for arc in graph.tree}
        closing[len(graph.images) :] = [arcs[arc - 1].replace("\n", " ") for arc in graph.cut]
    if graph.n <= MOST_NAMED and isinstance(structure, Structure):
        for i, (loop, opened) in enumerate(zip(structure.loops, structure.mechanism.loops[: len(ends)], strict=False)):
            joint = f"{short(opened.name)} ({loop.kind}), " if opened.joint else ""
            closing[i] = f"{joint}{loop.rows} constraint{'s' * (loop.rows != 1)}"
    dashes = [SPLIT] * len(graph.images) + [CUT] * len(graph.cut)
    chords = [
        Chord(first, second, label, LOOPS[i % len(LOOPS)], dash)
        for i, ((first, second), label, dash) in enumerate(zip(ends, closing, dashes, strict=True))
    ]
    if isinstance(structure, NamedGraph):
        for i, arc in enumerate(graph.cut, len(graph.images)):
            if arc in structure.forces:
                chords[i] = chords[i]._replace(colour=GREY, dash=FORCE, directed=True)
    if isinstance(structure, Structure):
        chords += _constraint_chords(structure, len(chords))
        chords += _force_chords(structure)
    return names, joints, chords


def _names(structure: Structure | NamedGraph | Graph, graph: Graph) -> tuple[list[str], list[str]]:
    """Names of the bodies by number, and labels of the arcs by number less one."""
    if isinstance(structure, Graph):
        names, arcs = [""] * (graph.n + 1), [f"u{arc}" for arc in range(1, graph.m + 1)]
        for image, pre_image in graph.images:
            names[image] = f"image of {pre_image}"
        return names, arcs
    named = structure.named_graph() if isinstance(structure, Structure) else structure
    names = [short(name) for name in named.bodies]
    for image, pre_image in graph.images:
        names[image] = f"{names[pre_image]} (image)"
    arcs = [short(name) for name in named.arcs]
    if isinstance(structure, NamedGraph):  # not numbered properly, perhaps
        arcs = [f"u{arc}: {name}" for arc, name in enumerate(arcs, 1)]
    both = zip(arcs, named.kinds, strict=True)
    return names, [name if kind == "force" else f"{name}\n({kind})" for name, kind in both]


def _force_chords(structure: Structure) -> Iterator[Chord]:
    """A line for all springs and contacts between the same two bodies."""
    for arcs in by_pair(structure.force_arcs):
        label = short(united_name(arcs)) if structure.graph.n <= MOST_NAMED else ""
        yield Chord(arcs[0].first, arcs[0].second, label, GREY, FORCE)


def _constraint_chords(structure: Structure, before: int) -> Iterator[Chord]:
    """Lines of higher pairs and couplings; one of many bodies runs from each to the next, its name at the first."""
    for i, constraint in enumerate(listed_constraints(structure), before):
        bodies = constraint.bodies if len(constraint.bodies) > 1 else (0, *constraint.bodies)
        count = len(constraint.holonomic)
        kind = f" ({constraint.kind}), {count} constraint{'s' * (count != 1)}" if constraint.pair else ""
        label = f"{short(constraint.name)}{kind}" if structure.graph.n <= MOST_NAMED else ""
        for first, second in itertools.pairwise(bodies):
            if first != second:
                dash = PAIR if constraint.pair else COUPLING
                yield Chord(first, second, label, LOOPS[i % len(LOOPS)], dash)
                label = ""


def short(name: str, longest: int = LONGEST_NAME) -> str:
    """The name as far as the font has its letters, an ellipsis for what is omitted."""
    from matplotlib.font_manager import findfont, get_font

    font = get_font(findfont(FONT[0]))
    letters = [c if c.isprintable() and font.get_char_index(ord(c)) else "…" for c in " ".join(name.split())]
    text = "".join(c for c, after in itertools.pairwise([*letters, ""]) if not c == after == "…")
    return text if len(text) <= longest else text[: longest - 1].rstrip("… ") + "…"


# below the ground


def _draw_ground(sheet: Sheet) -> None:
    ends = [point[0] for line in sheet.lines for point in line.points[[0, -1]] if abs(point[1]) < 1e-9]
    left, right = min(ends, default=0.0) - 40, max(ends, default=0.0) + 40
    sheet.lines.append(Line(np.array([[left, 0], [right, 0]]), head=False, width=1.6))
    for x in np.arange(left, right - 5, 6):
        sheet.lines.append(Line(np.array([[x, -6], [x + 6, 0]]), GREY, head=False, width=0.8))
    sheet.words.append(Words((left + right) / 2, -16, "0 ground", max(sheet.style.letters, SMALL)))


def _write_legend(sheet: Sheet, drawn: set[tuple[float, ...]], force: str) -> None:
    """What the lines mean, below the middle of the ground; nothing if there are only joints of the tree."""
    if not drawn:
        return
    entries: list[tuple[str, str, tuple[float, ...] | None, bool]] = [("joint of the tree", INK, None, True)]
    entries += [("cut joint", GREY, CUT, True)] * (CUT in drawn)
    entries += [("split body and its image", GREY, SPLIT, False)] * (SPLIT in drawn)
    entries += [("higher pair", GREY, PAIR, False)] * (PAIR in drawn)
    entries += [("coupling or expression", GREY, COUPLING, False)] * (COUPLING in drawn)
    entries += [(force, GREY, FORCE, False)] * (FORCE in drawn)
    widths = [text_width(text, SMALL) + 46 for text, *_ in entries]
    x, y = sheet.words[-1].x - (sum(widths) - 18) / 2, -40.0
    for (text, colour, dash, head), width in zip(entries, widths, strict=True):
        sheet.lines.append(Line(np.linspace([x, y], [x + 24, y], 12), colour, dash, head, width=1.5 if dash else 1.1))
        sheet.words.append(Words(x + 29, y, text, SMALL, colour, left=True))
        x += width


# ink on paper


def _painted(sheet: Sheet) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.transforms import Affine2D

    from momentree.look.shown_figure import ShownFigure as Figure

    points = np.concatenate([*(line.points for line in sheet.lines), sheet.boxes[1:].reshape(-1, 2)])
    lower, upper = points.min(axis=0) - 10, points.max(axis=0) + 10
    width, height = (upper - lower) / 72
    figure = Figure(figsize=(width, height), dpi=100, facecolor="white")
    FigureCanvasAgg(figure)
    to_figure = Affine2D().translate(*-lower).scale(1 / 72) + figure.dpi_scale_trans
    for line in sheet.lines:
        _paint_line(figure, to_figure, line, 0.75 * sheet.style.radius)
    for number, body in enumerate(sheet.bodies, 1):
        _paint_body(figure, to_figure, body, number, sheet.style.letters)
    for words in sheet.words:
        halo = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.5}
        align = "left" if words.left else "center"
        _write(figure, to_figure, (words.x, words.y), words.text, words.size, color=words.colour, ha=align, bbox=halo)
    return figure


def _write(figure: Figure, to_figure: Transform, at: tuple[float, float], text: str, size: float, **how: Any) -> None:
    """Text as it is: no dollar starts a formula."""
    plain: dict[str, Any] = {
        "parse_math": False,
        "usetex": False,
        "family": FONT,
        "va": "center_baseline",
        "linespacing": 1.1,
    }
    x, y = at
    figure.text(x, y, text, fontsize=size, transform=to_figure, zorder=5, **plain, **how)


def _paint_line(figure: Figure, to_figure: Transform, line: Line, head: float) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Polygon

    points, tip = line.points, line.points[-1]
    if line.head:
        away = np.linalg.norm(points - tip, axis=1)
        points = points[: np.flatnonzero(away > 0.8 * head)[-1] + 1]
        back = (points[-1] - tip) * head / np.linalg.norm(points[-1] - tip)
        side = 0.36 * np.array([-back[1], back[0]])
        corners = np.array([tip, tip + back + side, tip + back - side])
        figure.add_artist(Polygon(corners, facecolor=line.colour, linewidth=0, transform=to_figure, zorder=3))
        points = np.concatenate([points, [tip + 0.7 * back]])
    dashes: Any = (0, line.dash) if line.dash else "-"
    how = {"color": line.colour, "linewidth": line.width, "linestyle": dashes, "dash_capstyle": "butt"}
    figure.add_artist(Line2D(points[:, 0], points[:, 1], transform=to_figure, zorder=2, **how))


def _paint_body(figure: Figure, to_figure: Transform, body: Body, number: int, letters: float) -> None:
    """A pill with the number in a disc at its left end, then the name; dashed for an image."""
    from matplotlib.patches import Circle, Polygon

    left, bottom, right, top = body.box
    y, radius = (bottom + top) / 2, (top - bottom) / 2
    angle = np.linspace(np.pi / 2, 3 * np.pi / 2, 33)
    around = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    outline = np.concatenate([np.add((left + radius, y), around), np.subtract((right - radius, y), around)])
    fill, dashes = ("white", (0, (3, 1.5))) if body.image else (PAPER, "-")
    how: dict[str, Any] = {"facecolor": fill, "edgecolor": body.colour, "linewidth": 1.1, "linestyle": dashes}
    figure.add_artist(Polygon(outline, transform=to_figure, zorder=4, **how))
    disc = Circle(
        (left + radius, y), 0.84 * radius, facecolor=body.colour, linewidth=0, transform=to_figure, zorder=4.5
    )
    figure.add_artist(disc)
    _write(figure, to_figure, (left + radius, y), str(number), letters - 1.5, color="white", ha="center")
    if body.name:
        _write(figure, to_figure, (left + 2 * radius + 3, y), body.name, letters, color=body.colour, ha="left")


def _resolution(figure: Figure) -> float:
    """Dots per inch; fewer of a large picture."""
    size = figure.get_size_inches()
    return float(min(200, LONGEST_SIDE / size.max(), (MOST_PIXELS / size.prod()) ** 0.5))
