"""The layout of the picture of a graph: where bodies, arrows and labels stand, in points (1/72 inch), y upwards."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.structure.graph import Graph

Floats = NDArray[np.float64]

FONT = ["DejaVu Sans", "sans-serif"]  # the first comes with matplotlib: a picture is the same everywhere
INK, GREY = "#2b3a47", "#6b7680"
CUT, SPLIT, PAIR, COUPLING = (5.0, 2.5), (1.0, 2.2), (2.5, 1.5), (6.0, 2.0, 1.0, 2.0)  # dashes
FORCE = (8.0, 4.0)
SMALL = 8.0  # letters of labels


class Style(NamedTuple):
    """Sizes: letters, half the height of a body, least height of an arrow's bend, its upright part, space between."""

    letters: float
    radius: float
    bend: float
    upright: float
    spacing: float


NAMED, NUMBERED = Style(9.0, 9.5, 20.0, 34.0, 16.0), Style(5.5, 7.0, 12.0, 10.0, 4.0)


class Chord(NamedTuple):
    """A line besides the tree: a cut joint, the bond of a pre-image (first) and its image (second), a higher pair, a
    coupling or a force; its dashes say which.
    """

    first: int
    second: int
    label: str
    colour: str
    dash: tuple[float, ...] = CUT
    directed: bool = False  # an arrow although it is no cut joint

    @property
    def split(self) -> bool:
        return self.dash == SPLIT


class Body(NamedTuple):
    name: str
    box: Floats
    colour: str
    image: bool


class Line(NamedTuple):
    points: Floats
    colour: str = INK
    dash: tuple[float, ...] | None = None
    head: bool = True
    width: float = 1.1


class Words(NamedTuple):
    x: float  # of the left end, or of the middle
    y: float
    text: str
    size: float = SMALL
    colour: str = INK
    left: bool = False

    @property
    def box(self) -> Floats:
        width, height = text_width(self.text, self.size) + 4, 1.25 * self.size * (1 + self.text.count("\n")) + 2
        left, bottom = self.x - (2 if self.left else width / 2), self.y - height / 2
        return np.array([left, bottom, left + width, bottom + height])


class Sheet(NamedTuple):
    """All that is to be painted. A box is (left, bottom, right, top)."""

    style: Style
    bodies: list[Body]
    lines: list[Line]
    words: list[Words]

    @property
    def boxes(self) -> Floats:
        """Boxes to keep clear: box 0 is all below the ground, box k is body k, those of the words follow."""
        ground = (-1e6, -1e6, 1e6, -1.0)
        return np.array([ground, *(body.box for body in self.bodies), *(words.box for words in self.words)])


@lru_cache(10_000)
def text_width(text: str, size: float) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=FONT, size=size)
    return max(text_to_path.get_text_width_height_descent(line, font, False)[0] for line in text.split("\n"))


def lay_out(
    graph: Graph,
    style: Style,
    names: list[str],
    joints: dict[int, str],
    chords: list[Chord],
    forces: Collection[int] = (),
) -> Sheet:
    """The sheet; names are by number of the body, joints by number of the tree arc; forces are dashed tree arcs."""
    labels = ["", *(joints.get(arc, "") for arc in graph.preceding.tolist())]
    half = [style.radius + (text_width(name, style.letters) / 2 + 4 if name else 0) for name in names]
    aside = [text_width(label, SMALL) + 10 if label else 0.0 for label in labels]
    reach = [(h + style.spacing / 2, max(h, a) + style.spacing / 2) for h, a in zip(half, aside, strict=True)]
    x = _across(graph, style, reach, chords)
    y = _upwards(graph, style, x)
    colours = {chord.second: chord.colour for chord in chords if chord.split}
    sheet = Sheet(style, [], [], [])
    for k in range(1, graph.n + 1):
        box = np.array([x[k] - half[k], y[k] - style.radius, x[k] + half[k], y[k] + style.radius])
        sheet.bodies.append(Body(names[k], box, colours.get(k, INK), k in colours))
    widest = np.ones(graph.n + 1)  # how far aside the children of a body stand
    np.maximum.at(widest, graph.parents, np.abs(x[1:] - x[graph.parents]))
    for k, parent in enumerate(graph.k, 1):
        _draw_tree_arc(sheet, k, parent, labels[k], graph.direction[k - 1] > 0, widest[parent])
        if graph.preceding[k - 1] in forces:
            sheet.lines[-1] = sheet.lines[-1]._replace(dash=FORCE, colour=GREY, width=1.5)
    shortest_first = sorted(chords, key=lambda chord: abs(x[chord.first] - x[chord.second]))
    for chord in shortest_first:
        _draw_chord(sheet, chord._replace(label=""))
    # again, now that all lines are drawn and some leave no room for a label
    for chord in shortest_first if style is NAMED else []:
        del sheet.lines[graph.n]
        _draw_chord(sheet, chord)
    return sheet


# where the bodies stand


def _across(graph: Graph, style: Style, reach: list[tuple[float, float]], chords: list[Chord]) -> Floats:
    """x of each body. Children stand in the order that makes the chords shortest, found by trying at each parent."""
    children: list[list[int]] = [[] for _ in range(graph.n + 1)]
    for body, parent in enumerate(graph.k, 1):
        children[parent].append(body)
    outward = (0, *graph.outward)
    ends = np.array([(c.first, c.second) for c in chords if c.first and c.second], dtype=int).reshape(-1, 2)
    x = _tidy(outward, children, reach)
    improved = len(ends) > 0 and style is NAMED
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
    """All orders of a few children; of many, those where two neighbours are exchanged."""
    if len(children) <= 4:
        return [list(order) for order in itertools.permutations(children)]
    return [[*children[:i], *children[i : i + 2][::-1], *children[i + 2 :]] for i in range(len(children) - 1)]


def _tidy(outward: tuple[int, ...], children: list[list[int]], reach: list[tuple[float, float]]) -> Floats:
    """Subtrees side by side, each parent below the middle of its children: x of each body."""
    left, right = (list(side) for side in zip(*reach, strict=True))
    x = [0.0] * len(reach)
    # inward: where the children stand beside their parent, and how far its subtree reaches
    for body in reversed(outward):
        for before, child in itertools.pairwise(children[body]):
            x[child] = x[before] + right[before] + left[child]
        middle = x[children[body][-1]] / 2 if children[body] else 0.0
        for child in children[body]:
            x[child] -= middle
            left[body] = max(left[body], left[child] - x[child])
            right[body] = max(right[body], right[child] + x[child])
    # outward: where they stand on the sheet
    for body in outward:
        for child in children[body]:
            x[child] += x[body]
    return np.array(x)


def _upwards(graph: Graph, style: Style, x: Floats) -> Floats:
    """y of each body; levels are further apart where arrows run far to the side."""
    depth, parents = np.array([0, *graph.depth]), np.array([0, *graph.parents])
    bend = np.where(parents > 0, np.clip(0.2 * np.abs(x - x[parents]), style.bend, 90), 6 - style.radius)
    height = np.zeros(depth.max() + 1)
    np.maximum.at(height, depth, style.upright + 2 * style.radius + bend)
    y: Floats = (np.cumsum(height) - height[0])[depth]
    return y


# where the lines run, and their labels


def _draw_tree_arc(sheet: Sheet, body: int, parent: int, label: str, inward: bool, widest: float) -> None:
    """From the parent's upper side, bent to stand upright below the body, where its label is."""
    style, box = sheet.style, sheet.bodies[body - 1].box
    foot = np.array([(box[0] + box[2]) / 2, box[1] - style.upright])
    start = np.array([foot[0], 0.0])
    if parent:
        left, _, right, top = sheet.bodies[parent - 1].box
        flat, middle = (right - left) / 2 - style.radius, (left + right) / 2
        start = np.array([middle + min(0.08, flat / widest) * (foot[0] - middle), top])
    bent = _bezier(start, start + (foot - start) * [0, 0.5], foot - (foot - start) * [0, 0.6], foot)
    points = np.concatenate([bent, foot + np.linspace(0.1, 1, 10)[:, None] * [0, style.upright]])
    sheet.lines.append(Line(points[::-1] if inward else points))
    if label:
        sheet.words.append(Words(foot[0] + 7, foot[1] + 0.45 * style.upright, label, left=True))


def _bezier(a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
    """64 points of each cubic; the last two axes are the points and x, y."""
    t = np.linspace(0, 1, 64)[:, None]
    a, b, c, d = (corner[..., None, :] for corner in (a, b, c, d))
    return (1 - t) ** 3 * a + 3 * t * (1 - t) ** 2 * b + 3 * t**2 * (1 - t) * c + t**3 * d


def _draw_chord(sheet: Sheet, chord: Chord) -> None:
    """The best of many curves: short, gently bent, clear of bodies and words, not along other lines, easy to label."""
    (a, leaving), (d, entering) = _ports(sheet, chord.first, chord.second), _ports(sheet, chord.second, chord.first)
    i, j = (side.ravel() for side in np.indices((len(a), len(d))))
    a, leaving, d, entering = a[i], leaving[i], d[j], entering[j]
    near = 0.35 * np.linalg.norm(d - a, axis=1)[:, None]
    reaches = [(near, near), (2 * near, 2 * near), (2 * near, near), (near, 2 * near)]
    reaches += [(0 * near + reach,) * 2 for reach in (45, 80, 130, 220, 380)]
    curves = np.array([_bezier(a, a + f * leaving, d + g * entering, d) for f, g in reaches])
    cost = _costs(sheet, chord, curves)
    dash, candidates = chord.dash, []
    # the best curve of each pair of ports; of these, the one with the best position of the label
    for k in cost.min(axis=0).argsort()[: 8 if chord.label else 1]:
        line = Line(curves[cost[:, k].argmin(), k], chord.colour, dash, head=dash == CUT or chord.directed, width=1.5)
        price, words = _beside(sheet, line, chord.label) if chord.label else (0.0, None)
        candidates.append((cost[:, k].min() + price, line, words))
    _, line, words = min(candidates, key=lambda choice: choice[0])
    sheet.lines.append(line)
    sheet.words.extend([words] if words else [])


def _costs(sheet: Sheet, chord: Chord, curves: Floats) -> Floats:
    """How bad each curve is, in points of length."""
    from scipy.spatial import KDTree

    steps = np.diff(curves, axis=-2)
    step = np.linalg.norm(steps, axis=-1) + 1e-9
    length = step.sum(axis=-1)
    bending = (np.linalg.norm(np.diff(steps / step[..., None], axis=-2), axis=-1) ** 2 / step[..., 1:]).sum(axis=-1)
    boxes = sheet.boxes + np.array([-3, -3, 3, 3])
    boxes[[chord.first, chord.second]] += [4, 4, -4, -4]  # it may touch its own bodies
    inside = _inside(curves[..., ::2, :], boxes).any(axis=-1).mean(axis=-1)
    cost: Floats = length * (1 + 30 * inside) + 400 * bending + 10 * np.maximum(40 - length, 0)
    if sheet.style is NUMBERED:
        return cost
    lines, ends = KDTree(_ink(sheet.lines)), KDTree(np.concatenate([line.points[[0, -1]] for line in sheet.lines]))
    along = np.isfinite(lines.query(curves[..., ::2, :], distance_upper_bound=6)[0]).mean(axis=-1)
    meeting = np.isfinite(ends.query(curves[..., [0, -1], :], distance_upper_bound=6)[0]).sum(axis=-1)
    cost = cost + 4 * length * along + 150 * meeting
    return cost


def _ports(sheet: Sheet, body: int, other: int) -> tuple[Floats, Floats]:
    """Where a chord may meet a body, and the directions outwards there: round its ends, or up from the ground."""
    if body == 0:
        left, _, right, _ = sheet.bodies[other - 1].box
        outer = sheet.boxes[1:]
        x = np.array([left - 50, left - 12, right + 12, right + 50, outer[:, 0].min() - 20, outer[:, 2].max() + 20])
        return np.stack([x, 0 * x], axis=1), np.tile([0.0, 1.0], (6, 1))
    left, bottom, right, top = sheet.bodies[body - 1].box
    bearings = [180, 0, 140, 40, 90, 90, 220, 320]  # degrees, of the left and the right end in turn
    radius, angle = sheet.style.radius, np.radians(bearings if sheet.style is NAMED else bearings[:2])
    out = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    ends = np.tile([[left + radius, (bottom + top) / 2], [right - radius, (bottom + top) / 2]], (len(out) // 2, 1))
    return ends + radius * out, out


def _ink(lines: list[Line]) -> Floats:
    """Points on the lines, dense enough that none slips through a box or past a neighbour."""
    t = np.linspace(0, 1, 4)[:, None, None]
    return np.concatenate([((1 - t) * p[:-1] + t * p[1:]).reshape(-1, 2) for p in (line.points for line in lines)])


def _inside(points: Floats, boxes: Floats) -> NDArray[np.bool_]:
    """Which points lie in which boxes; the last axis is that of the boxes."""
    x, y = points[..., 0, None], points[..., 1, None]
    return (x > boxes[:, 0]) & (x < boxes[:, 2]) & (y > boxes[:, 1]) & (y < boxes[:, 3])


def _beside(sheet: Sheet, line: Line, label: str) -> tuple[float, Words]:
    """The label of a chord and the cost of its position: beside the line, clear of words and, if possible, of lines."""
    around = np.array([[*line.points.min(axis=0) - 150, *line.points.max(axis=0) + 150]])
    boxes, lines = sheet.boxes, _ink([line, *sheet.lines])
    lines = lines[_inside(lines, around)[:, 0]]
    points, along = line.points[8:-8], np.gradient(line.points, axis=0)[8:-8]
    normal = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.linalg.norm(along, axis=1)[:, None]
    for distance, text in itertools.product(1.5 ** np.arange(1, 30), (label, ",\n".join(label.rsplit(", ", 1)))):
        half = Words(0, 0, text).box[2:]
        aside = normal * (np.abs(normal) @ half + distance)[:, None]
        middles = np.concatenate([points + aside, points - aside])
        free = ~_inside(middles, boxes + np.concatenate([-half, half])).any(axis=1)
        crossed = _inside(lines, np.concatenate([middles - half, middles + half], axis=1)).sum(axis=0)
        off_middle = np.abs(np.arange(len(middles)) % len(points) - len(points) / 2)
        cost = np.where(free, 100 * crossed + off_middle, np.inf)
        if free.any() and (cost.min() < 100 or distance > 40):
            break
    x, y = middles[cost.argmin()]
    return 2 * distance + cost.min(), Words(x, y, text, SMALL, line.colour)
