"""The picture of a mechanism's graph: the tree on the ground, joints as arrows, what closes the loops in colour.

All is laid out first, in points (1/72 inch) with y upwards from the ground, and painted at the end.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.errors import MomentreeError
from momentree.structure.graph import Graph
from momentree.structure.structure import Structure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

SUFFIXES = {".svg": {"Date": None}, ".png": {}, ".pdf": {"CreationDate": None}}  # and what makes bytes differ
MOST_NAMED, MOST_BODIES, LONGEST_NAME, MOST_PIXELS = 150, 2000, 24, 4e7
FONT = ["DejaVu Sans", "sans-serif"]  # the first comes with matplotlib: a picture is the same everywhere
INK, PAPER, GREY = "#2b3a47", "#eef2f6", "#6b7680"
LOOPS = ("#0072b2", "#d55e00", "#009e73", "#b8578b", "#332288", "#8a8a20", "#882255", "#2f8fc4")  # colour-blind safe
CUT, SPLIT, SMALL = (5.0, 2.5), (1.0, 2.2), 8.0


def draw_graph(structure: Structure | Graph, path: str | os.PathLike[str] | None = None) -> Figure:
    """The graph as a figure, saved if a path is given (.svg, .png or .pdf). The same graph gives the same bytes.

    Arrows run from i_plus to i_minus, as the joints were given. Cut joints are dashed, split bodies are joined with
    their images by dots; "rows" count the equations that close the loop. Above 150 bodies have no names, and
    above 2000 a picture is refused.
    """
    graph = structure if isinstance(structure, Graph) else structure.graph
    if path is not None and Path(path).suffix.lower() not in SUFFIXES:
        raise MomentreeError(f"{os.fspath(path)}: not a kind of picture. End the name in {', '.join(SUFFIXES)}.")
    if graph.n > MOST_BODIES:
        message = f"a picture of {graph.n} bodies would not be readable. Draw a part of at most {MOST_BODIES}."
        raise MomentreeError(f"draw_graph: {message}")
    figure = _painted(_laid_out(graph, *_labels(structure)))
    if path is not None:
        _save(figure, Path(path))
    return figure


class Style(NamedTuple):
    """Sizes: letters, half the height of a body, where an arrow bends, where it stands upright, room between bodies."""

    letters: float
    radius: float
    bend: float
    upright: float
    gap: float


NAMED, NUMBERED = Style(9.0, 9.5, 18.0, 34.0, 16.0), Style(4.5, 7.0, 10.0, 10.0, 4.0)


class Chord(NamedTuple):
    """What closes a loop: a cut joint, or the bond of a pre-image (first) and its image (second)."""

    first: int
    second: int
    label: str
    split: bool
    colour: str = INK


class Words(NamedTuple):
    x: float
    y: float
    text: str
    size: float = SMALL
    colour: str = INK
    left: bool = False  # x is the left end, else the middle

    @property
    def box(self) -> Floats:
        width, height = _width(self.text, self.size) + 4, 1.25 * self.size * (1 + self.text.count("\n")) + 2
        left, bottom = self.x - (2 if self.left else width / 2), self.y - height / 2
        return np.array([left, bottom, left + width, bottom + height])


class Line(NamedTuple):
    points: Floats
    colour: str = INK
    dash: tuple[float, float] | None = None
    head: bool = True


class Sheet(NamedTuple):
    """What is to be painted. Boxes (left, bottom, right, top) are kept clear; those of bodies 1..n come first."""

    n: int
    style: Style
    boxes: list[Floats]
    images: dict[int, str]  # their colours
    lines: list[Line]
    words: list[Words]

    def write(self, words: Words) -> None:
        self.words.append(words)
        self.boxes.append(words.box)


# the words


def _labels(structure: Structure | Graph) -> tuple[list[str], dict[int, str], list[Chord]]:
    """Names by body number, labels by number of a tree arc, and what closes the loops."""
    graph = structure if isinstance(structure, Graph) else structure.graph
    chords = [Chord(pre_image, image, "", True) for image, pre_image in graph.images]
    chords += [Chord(*graph.arcs[arc - 1].tolist(), f"arc {arc}", False) for arc in graph.cut]
    names, joints = [""] * (graph.n + 1), {arc: f"arc {arc}" for arc in graph.tree}
    if graph.n > MOST_NAMED:
        joints, chords = {}, [chord._replace(label="") for chord in chords]
    elif isinstance(structure, Structure):
        names = [_short(name) for name in structure.bodies]
        joints = {
            b.number: f"{_short(b.connection.name)}\n({b.connection.joint.kind})" for b in structure.mechanism.bodies
        }
        for i, (loop, closing) in enumerate(zip(structure.loops, structure.mechanism.loops, strict=True)):
            rows = f"{loop.rows} row{'s' * (loop.rows != 1)}"
            label = rows if closing.connection is None else f"{_short(closing.name)} ({loop.kind}), {rows}"
            chords[i] = chords[i]._replace(label=label)
    for image, pre_image in graph.images:
        names[image] = f"{names[pre_image]} (image)" if names[pre_image] else f"image of {pre_image}" * bool(joints)
    return names, joints, [chord._replace(colour=LOOPS[i % len(LOOPS)]) for i, chord in enumerate(chords)]


def _short(name: str) -> str:
    """The name as far as the font has its letters, an ellipsis for what is left out."""
    from matplotlib.font_manager import findfont, get_font

    font = get_font(findfont(FONT[0]))
    letters = [c if c.isprintable() and font.get_char_index(ord(c)) else "…" for c in " ".join(name.split())]
    text = "".join(c for c, after in itertools.pairwise([*letters, ""]) if not c == after == "…")
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1].rstrip("… ") + "…"


def _width(text: str, size: float) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=FONT, size=size)
    return max(text_to_path.get_text_width_height_descent(line, font, False)[0] for line in text.split("\n"))


# where the bodies stand


def _laid_out(graph: Graph, names: list[str], joints: dict[int, str], chords: list[Chord]) -> Sheet:
    style = NAMED if graph.n <= MOST_NAMED else NUMBERED
    labels = ["", *(joints.get(arc, "") for arc in graph.preceding.tolist())]
    half = [style.radius + (_width(name, style.letters) / 2 + 4 if name else 0) for name in names]
    reach = [
        (h + style.gap / 2, max(h, _width(text, SMALL) + 8) + style.gap / 2)
        for h, text in zip(half, labels, strict=True)
    ]
    x = _across(graph, reach, chords)
    y = _upwards(graph, x, style)
    boxes = [
        np.array([x[k] - half[k], y[k] - style.radius, x[k] + half[k], y[k] + style.radius])
        for k in range(1, graph.n + 1)
    ]
    sheet = Sheet(graph.n, style, boxes, {chord.second: chord.colour for chord in chords if chord.split}, [], [])
    for k, (box, name) in enumerate(zip(boxes[:], names[1:], strict=True), 1):
        sheet.words.append(Words(box[0] + style.radius, y[k], str(k), style.letters - 1, "white"))
        sheet.words.extend([Words(box[0] + 2 * style.radius + 3, y[k], name, style.letters, left=True)] * bool(name))
        _draw_tree_arc(sheet, k, graph.k[k - 1], labels[k], inward=graph.direction[k - 1] > 0)
    for chord in chords:
        _draw_chord(sheet, chord)
    for chord, line in zip(chords, sheet.lines[graph.n :], strict=True):
        _write_beside(sheet, line, chord.label)
    _add_ground(sheet, chords)
    return sheet


def _across(graph: Graph, reach: list[tuple[float, float]], chords: list[Chord]) -> Floats:
    """x of each body. Children stand in the order that makes the chords shortest, found by trying at each parent."""
    children: list[list[int]] = [[] for _ in range(graph.n + 1)]
    for body, parent in enumerate(graph.k, 1):
        children[parent].append(body)
    outward = (0, *graph.outward)
    ends = np.array([(c.first, c.second) for c in chords if c.first and c.second], dtype=int).reshape(-1, 2)
    x = _tidy(outward, children, reach)
    improved = len(ends) > 0 and graph.n <= MOST_NAMED
    while improved:
        improved = False
        for parent in [body for body in outward if len(children[body]) > 1]:
            for order in _orders(children[parent]):
                before, children[parent] = children[parent], order
                trial = _tidy(outward, children, reach)
                if np.abs(np.diff(trial[ends])).sum() < np.abs(np.diff(x[ends])).sum() - 1:
                    x, improved = trial, True
                else:
                    children[parent] = before
    return x


def _orders(children: list[int]) -> list[list[int]]:
    """All orders of a few children; of many, those where two neighbours change places."""
    if len(children) <= 4:
        return [list(order) for order in itertools.permutations(children)]
    return [[*children[:i], *children[i : i + 2][::-1], *children[i + 2 :]] for i in range(len(children))]


def _tidy(outward: tuple[int, ...], children: list[list[int]], reach: list[tuple[float, float]]) -> Floats:
    """Subtrees side by side, each parent below the middle of its children: x of each body."""
    left, right = (list(side) for side in zip(*reach, strict=True))
    x = np.zeros(len(reach))
    # inward: where the children stand beside their parent, and how far its subtree reaches
    for body in reversed(outward):
        for before, child in itertools.pairwise(children[body]):
            x[child] = x[before] + right[before] + left[child]
        middle = x[children[body][-1]] / 2 if children[body] else 0.0
        for child in children[body]:
            x[child] -= middle
            left[body], right[body] = max(left[body], left[child] - x[child]), max(right[body], right[child] + x[child])
    # outward: where they stand on the sheet
    for body in outward:
        x[children[body]] += x[body]
    return x


def _upwards(graph: Graph, x: Floats, style: Style) -> Floats:
    """y of each body; levels are further apart where arrows run far to the side."""
    depth, parents = np.array([0, *graph.depth]), np.array([0, *graph.parents])
    bend = np.clip(0.16 * np.abs(x - x[parents]), style.bend, 90)
    height = np.zeros(depth.max() + 1)
    np.maximum.at(height, depth, style.upright + 2 * style.radius + np.where(parents > 0, bend, 6 - style.radius))
    return np.asarray(np.cumsum(height) - height[0])[depth]


# where the lines run


def _draw_tree_arc(sheet: Sheet, body: int, parent: int, label: str, inward: bool) -> None:
    """From the parent's upper side, bent to stand upright below the body, where its label is."""
    radius, box = sheet.style.radius, sheet.boxes[body - 1]
    foot = np.array([(box[0] + box[2]) / 2, box[1] - sheet.style.upright])
    start = foot * [1, 0]
    if parent:
        left, _, right, top = sheet.boxes[parent - 1]
        flat = (right - left) / 2 - radius
        start = np.array([(left + right) / 2, top])
        start[0] += np.clip(0.08 * (foot[0] - start[0]), -flat, flat)
    t = np.linspace(0, 1, 24)[:, None]
    bent = (1 - t) ** 2 * start + 2 * t * (1 - t) * [foot[0], (2 * start[1] + foot[1]) / 3] + t**2 * foot
    points = np.concatenate([bent, foot + np.linspace(0.1, 1, 10)[:, None] * [0, sheet.style.upright]])
    sheet.lines.append(Line(points[::-1] if inward else points))
    if label:
        sheet.write(Words(foot[0] + 7, foot[1] + 0.45 * sheet.style.upright, label, left=True))


def _kept_clear(sheet: Sheet) -> Floats:
    """Box k is that of body k, box 0 all below the ground; those of the words follow."""
    return np.array([(-1e6, -1e6, 1e6, -1.0), *sheet.boxes])


def _draw_chord(sheet: Sheet, chord: Chord) -> None:
    """The best of many curves: short, clear of bodies and words, not along other lines."""
    from scipy.spatial import KDTree

    p, n = _ports(sheet, chord.first, chord.second)
    r, m = _ports(sheet, chord.second, chord.first)
    pairs = np.array(list(itertools.product(range(len(p)), range(len(r)))))
    p, n, r, m = p[pairs[:, 0]], n[pairs[:, 0]], r[pairs[:, 1]], m[pairs[:, 1]]
    apart = np.linalg.norm(r - p, axis=1)[:, None]
    t = np.linspace(0, 1, 64)[:, None, None]
    reaches = [0.35 * apart, 0.7 * apart, *([np.full_like(apart, 45 * 1.7**i) for i in range(5)])]
    curves = np.concatenate(
        [
            (1 - t) ** 3 * p + 3 * t * (1 - t) ** 2 * (p + a * n) + 3 * t**2 * (1 - t) * (r + a * m) + t**3 * r
            for a in reaches[: None if sheet.style is NAMED else 1]
        ],
        axis=1,
    ).swapaxes(0, 1)
    cost = length = np.linalg.norm(np.diff(curves, axis=1), axis=2).sum(axis=1)
    if sheet.style is NAMED:
        boxes = _kept_clear(sheet) + [-5, -5, 5, 5]
        boxes[[chord.first, chord.second]] += [6, 6, -6, -6]
        inside = _inside(curves, boxes).any(axis=2).mean(axis=1)
        lines = KDTree(np.concatenate([line.points for line in sheet.lines]))
        along = np.isfinite(lines.query(curves, distance_upper_bound=6)[0]).mean(axis=1)
        cost = length * (1 + 20 * inside + 4 * along)
    dash = SPLIT if chord.split else CUT
    sheet.lines.append(Line(curves[cost.argmin()], chord.colour, dash, head=not chord.split))


def _inside(points: Floats, boxes: Floats) -> NDArray[np.bool_]:
    """Which points lie in which boxes; the last axis is that of the boxes."""
    x, y = points[..., 0, None], points[..., 1, None]
    return (x > boxes[:, 0]) & (x < boxes[:, 2]) & (y > boxes[:, 1]) & (y < boxes[:, 3])


def _ports(sheet: Sheet, body: int, other: int) -> tuple[Floats, Floats]:
    """Where a chord may leave a body, and its direction there: round the ends, or up from the ground."""
    if body == 0:
        left, _, right, _ = sheet.boxes[other - 1]
        bounds = np.array(sheet.boxes)
        x = np.array([left - 50, left - 12, right + 12, right + 50, bounds[:, 0].min() - 20, bounds[:, 2].max() + 20])
        return np.stack([x, 0 * x], axis=1), np.tile([0.0, 1.0], (6, 1))
    left, bottom, right, top = sheet.boxes[body - 1]
    radius, angle = sheet.style.radius, np.radians([180, 0, 140, 40, 220, 320])
    out = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    ends = np.tile([[left + radius, (bottom + top) / 2], [right - radius, (bottom + top) / 2]], (3, 1))
    return ends + radius * out, out


def _write_beside(sheet: Sheet, line: Line, text: str) -> None:
    """The label of a chord: near its middle, clear of all words and, if that is possible nearby, of all lines."""
    if not text:
        return
    half = np.array(Words(0, 0, text).box[2:])
    boxes, lines = _kept_clear(sheet), np.concatenate([line.points for line in sheet.lines])
    along = np.gradient(line.points, axis=0)[8:-8]
    normal = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.linalg.norm(along, axis=1)[:, None]
    for gap in 1.5 ** np.arange(1, 30):
        aside = normal * (np.abs(normal) @ half + gap)[:, None]
        middles = np.concatenate([line.points[8:-8] + aside, line.points[8:-8] - aside])
        grown = boxes + np.concatenate([-half, half])
        free = ~_inside(middles, grown).any(axis=1)
        around = np.concatenate([middles - half, middles + half], axis=1)
        crossed = _inside(lines, around).sum(axis=0)
        cost = np.where(free, 100 * crossed + np.abs(np.tile(np.arange(len(along)), 2) - len(along) / 2), np.inf)
        best = cost.argmin()
        if free[best] and (crossed[best] == 0 or gap > 30):
            sheet.write(Words(*middles[best], text, SMALL, line.colour))
            return


# ink on paper


def _painted(sheet: Sheet) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Circle, FancyBboxPatch, Polygon
    from matplotlib.transforms import Affine2D

    points = np.concatenate([*(line.points for line in sheet.lines), *(box.reshape(2, 2) for box in sheet.boxes)])
    lower, upper = points.min(axis=0) - 10, points.max(axis=0) + 10
    figure = Figure(figsize=tuple((upper - lower) / 72), dpi=100, facecolor="white")
    FigureCanvasAgg(figure)
    place = Affine2D().translate(*-lower).scale(1 / 72) + figure.dpi_scale_trans
    for line in sheet.lines:
        points, width = line.points, 1.1 if line.colour == INK else 1.5
        if line.head:
            along = np.linalg.norm(points - points[-1], axis=1)
            back = points[-1] - points[np.flatnonzero(along > 4)[-1]]
            back *= sheet.style.radius * 0.75 / np.linalg.norm(back)
            side = 0.35 * np.array([-back[1], back[0]])
            tip = points[-1]
            figure.add_artist(
                Polygon([tip, tip - back - side, tip - back + side], fc=line.colour, lw=0, transform=place, zorder=3)
            )
            points = np.concatenate([points[along > np.linalg.norm(back)], [tip - 0.8 * back]])
        dashes = (0, line.dash) if line.dash else "-"
        figure.add_artist(
            Line2D(*points.T, color=line.colour, lw=width, ls=dashes, transform=place, zorder=2, dash_capstyle="butt")
        )
    for k, box in enumerate(sheet.boxes[: sheet.n], 1):
        r = sheet.style.radius
        c = sheet.images.get(k, INK)
        figure.add_artist(
            FancyBboxPatch(
                box[:2],
                *(box[2:] - box[:2]),
                boxstyle=f"round,pad=0,rounding_size={r}",
                fc="white" if k in sheet.images else PAPER,
                ec=c,
                lw=1.1,
                ls=(0, (3, 1.5)) if k in sheet.images else "-",
                transform=place,
                zorder=4,
            )
        )
        figure.add_artist(
            Circle((box[0] + r, box[1] + r), r - (1.5 if r > 8 else 0), fc=c, lw=0, transform=place, zorder=5)
        )
    for w in sheet.words:
        figure.text(
            w.x,
            w.y,
            w.text,
            fontsize=w.size,
            color=w.colour,
            ha="left" if w.left else "center",
            va="center",
            family=FONT,
            transform=place,
            zorder=6,
            parse_math=False,
            usetex=False,
            linespacing=1.15,
            va_=0,
        ) if 0 else figure.text(
            w.x,
            w.y,
            w.text,
            fontsize=w.size,
            color=w.colour,
            ha="left" if w.left else "center",
            va="center_baseline",
            family=FONT,
            transform=place,
            zorder=6,
            parse_math=False,
            usetex=False,
            linespacing=1.1,
        )
    return figure


def _add_ground(sheet, chords):
    ends = [line.points[i, 0] for line in sheet.lines for i in (0, -1) if abs(line.points[i, 1]) < 1e-9]
    left, right = min(ends, default=0) - 40, max(ends, default=0) + 40
    sheet.lines.append(Line(np.array([[left, 0], [right, 0]]), head=False))
    for x in np.arange(left, right - 5, 6):
        sheet.lines.append(Line(np.array([[x, -7], [x + 6, 0]]), GREY, head=False))
    sheet.write(Words((left + right) / 2, -17, "0 ground", sheet.style.letters))
    at = left
    kinds = (
        [("joint of the tree", None, True)]
        + [("cut joint", CUT, True)] * any(not c.split for c in chords)
        + [("split body and its image", SPLIT, False)] * any(c.split for c in chords)
    )
    if chords:
        for text, dash, head in kinds:
            sheet.lines.append(Line(np.linspace([at, -40], [at + 24, -40], 12), GREY, dash, head))
            w = Words(at + 29, -40, text, SMALL, GREY, left=True)
            sheet.write(w)
            at = w.box[2] + 14


def _save(figure: Figure, path: Path) -> None:
    from matplotlib import rc_context

    suffix = path.suffix.lower()
    dpi = min(200, (MOST_PIXELS / np.prod(figure.get_size_inches())) ** 0.5)
    with rc_context({"svg.hashsalt": "momentree", "svg.fonttype": "none", "pdf.fonttype": 42, "savefig.bbox": None}):
        figure.savefig(path, format=suffix[1:], dpi=dpi, metadata=SUFFIXES[suffix])
