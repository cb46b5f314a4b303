"""The symbols of mechanism theory: pivots, supports, sliders on guides, springs, wheels, as strokes and areas.

Every symbol is drawn on a `Sheet` in the coordinates of the sheet (m); `unit` is the length that symbols are made of.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.look.graph_layout import FONT, GREY, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]
ROUND = 2 * np.pi * np.arange(49) / 48
RADIUS = 0.42  # of a pivot, in units
LINK, THIN = 2.8, 1.1  # points
GROUND_ORDER, SHAPE_ORDER, LINK_ORDER, SLIDER_ORDER, PIVOT_ORDER, TEXT_ORDER = 1, 2, 3, 4, 5, 6
LETTERS = 8  # points
PLAIN: Any = {"parse_math": False, "usetex": False, "family": FONT}  # no sign in a name has a meaning
MOST_STROKES = 200  # of hatching along one line


class Stroke(NamedTuple):
    """A line through points on the sheet."""

    points: Array
    color: str
    width: float
    order: float
    dashes: Any = "-"


class Area(NamedTuple):
    """A polygon on the sheet; its edge has a width of 0 if there is none."""

    points: Array
    fill: str
    color: str
    width: float
    order: float
    alpha: float = 1.0


class Text(NamedTuple):
    """A name beside a point of the sheet."""

    at: Array
    text: str
    color: str


@dataclass
class Sheet:
    """What has been drawn so far; `unit` (m) is the length that symbols are made of."""

    unit: float
    strokes: list[Stroke] = field(default_factory=list)
    areas: list[Area] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)

    def stroke(self, points: Any, color: str = INK, width: float = THIN, order: float = LINK_ORDER, **how: Any) -> None:
        """Draw a line."""
        self.strokes.append(Stroke(np.asarray(points, dtype=float), color, width, order, **how))

    def area(self, points: Any, fill: str, color: str = INK, width: float = THIN, order: float = 1, **how: Any) -> None:
        """Draw a polygon."""
        self.areas.append(Area(np.asarray(points, dtype=float), fill, color, width, order, **how))

    @property
    def points(self) -> Array:
        """Everything that must be seen."""
        drawn = [*(one.points for one in self.strokes), *(one.points for one in self.areas)]
        return np.concatenate(drawn) if drawn else np.zeros((1, 2))


def pivot(sheet: Sheet, at: Array, color: str = INK) -> None:
    """A hinge seen along its axis: a small circle."""
    sheet.area(at + RADIUS * sheet.unit * circle(), "white", color, 1.3, PIVOT_ORDER)


def support(sheet: Sheet, at: Array, up: bool = False) -> None:
    """A fixed pivot: a triangle on hatched ground below it, or above."""
    u = sheet.unit * (-1 if up else 1)
    corners = at + u * np.array([(0, 0), (-0.75, -1.3), (0.75, -1.3)])
    sheet.area(corners, "white", INK, THIN, GROUND_ORDER + 0.5)
    hatched(sheet, at + u * np.array([-1.25, -1.3]), at + u * np.array([1.25, -1.3]), -1)


def hatched(sheet: Sheet, begin: Array, end: Array, side: int = -1, color: str = INK) -> None:
    """Ground: a line with short strokes at its left (1) or its right (-1), seen from begin to end."""
    sheet.stroke([begin, end], color, 1.3, GROUND_ORDER)
    length = float(np.linalg.norm(end - begin))
    if not length:
        return
    along = (end - begin) / length
    slant = 0.42 * sheet.unit * (side * np.array([-along[1], along[0]]) - along)
    apart = max(0.42 * sheet.unit, length / MOST_STROKES)
    for start in np.arange(apart, length * (1 + 1e-9), apart):
        foot = begin + along * start
        sheet.stroke([foot, foot + slant], GREY, 0.8, GROUND_ORDER)


def slider(sheet: Sheet, at: Array, along: Array, color: str = INK) -> None:
    """A box that slides along a direction; a square if it is seen along it."""
    half = sheet.unit * np.array([1.1 if np.linalg.norm(along) > 0.3 else 0.7, 0.65])
    sheet.area(at + _frame(along, half), "white", color, 1.5, SLIDER_ORDER)


def guide(sheet: Sheet, begin: Array, end: Array, ground: bool, color: str = INK) -> None:
    """What a box slides along: a line through it or, on the ground, a hatched line below it."""
    if not ground:
        sheet.stroke([begin, end], color, 1.6, LINK_ORDER - 0.2)
        return
    along = end - begin
    normal = np.array([-along[1], along[0]]) / max(float(np.linalg.norm(along)), 1e-300)
    below = -0.65 * sheet.unit * normal * (1 if normal[1] > -1e-9 else -1)
    hatched(sheet, begin + below, end + below, -1 if normal[1] > -1e-9 else 1)


def hinge_from_aside(sheet: Sheet, at: Array, along: Array, color: str = INK, fill: str = "white") -> None:
    """A hinge whose axis is not the line of sight: a sleeve along the axis, and the axis through it."""
    reach = sheet.unit * along
    sheet.stroke([at - 1.7 * reach, at + 1.7 * reach], INK, 0.9, PIVOT_ORDER - 0.1, dashes=(0, (6, 1.5, 1, 1.5)))
    half = np.array([max(0.95 * float(np.linalg.norm(along)), 0.45), 0.45]) * sheet.unit
    sheet.area(at + _frame(along, half), fill, color, 1.3, PIVOT_ORDER)


def ball_joint(sheet: Sheet, at: Array, color: str = INK) -> None:
    """A ball in its socket."""
    sheet.area(at + RADIUS * sheet.unit * circle(), color, color, 0.8, PIVOT_ORDER)
    open_at_top = np.linspace(0.83 * np.pi, 2.17 * np.pi, 25)
    socket = 0.72 * sheet.unit * np.stack([np.cos(open_at_top), np.sin(open_at_top)], axis=1)
    sheet.stroke(at + socket, INK, 1.5, PIVOT_ORDER)


def crossed(sheet: Sheet, at: Array, color: str = INK) -> None:
    """A universal joint: a circle with a cross."""
    pivot(sheet, at, color)
    for angle in (np.pi / 4, 3 * np.pi / 4):
        arm = RADIUS * sheet.unit * np.array([np.cos(angle), np.sin(angle)])
        sheet.stroke([at - arm, at + arm], INK, 1.0, PIVOT_ORDER + 0.1)


def weld(sheet: Sheet, at: Array) -> None:
    """A rigid connection: a small filled square."""
    sheet.area(at + _frame(np.array([1.0, 0.0]), np.full(2, 0.3 * sheet.unit)), INK, INK, 0.5, PIVOT_ORDER)


def mass(sheet: Sheet, at: Array, color: str) -> None:
    """The center of mass of a body that ends nowhere else."""
    sheet.area(at + 0.55 * sheet.unit * circle(), color, color, 0.5, LINK_ORDER + 0.1)


def coil(sheet: Sheet, begin: Array, end: Array, thread: bool = False) -> None:
    """A spring as a zigzag between straight ends; a thread, which only pulls, as a dashed line."""
    length = float(np.linalg.norm(end - begin))
    if thread or length < 0.5 * sheet.unit:
        sheet.stroke([begin, end], INK, THIN, LINK_ORDER + 0.2, dashes=(0, (4, 2)))
        return
    sheet.stroke(zigzag(begin, end, sheet.unit), INK, 1.2, LINK_ORDER + 0.2)


def zigzag(begin: Array, end: Array, unit: float) -> Array:
    """The points of a spring between two points."""
    length = float(np.linalg.norm(end - begin))
    if not length:
        return np.array([begin, end])
    along = (end - begin) / length
    normal = np.array([-along[1], along[0]])
    straight = min(0.18 * length, 1.5 * unit)
    turns = int(np.clip(length / (1.1 * unit), 4, 16))
    between = np.linspace(straight, length - straight, 2 * turns + 2)[1:-1]
    places = np.concatenate([[0, straight], between, [length - straight, length]])
    sides = np.concatenate([[0, 0], np.tile([1.0, -1.0], turns), [0, 0]]) * 0.65 * unit
    return np.asarray(begin + places[:, None] * along + sides[:, None] * normal)


def anchor(sheet: Sheet, at: Array, towards: Array) -> None:
    """Where a spring or rod is fixed to the ground: a hatched line across it."""
    length = float(np.linalg.norm(towards - at))
    along = (towards - at) / length if length else np.array([0.0, 1.0])
    normal = 0.9 * sheet.unit * np.array([-along[1], along[0]])
    hatched(sheet, at - normal, at + normal, 1)


def outline(sheet: Sheet, points: Array, color: str, order: float = SHAPE_ORDER, alpha: float = 0.18) -> None:
    """The shape of a body: its outline, filled faintly; that of a cylinder or ball is round."""
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    radii = np.linalg.norm(points - middle, axis=1)
    if len(points) > 15 and np.ptp(radii) < 0.03 * radii.max():
        points = middle + radii.max() * circle()
    sheet.area(points, color, color, 0, order, alpha=alpha)
    sheet.stroke(np.concatenate([points, points[:1]]), color, 1.3, order + 0.1)


def link(sheet: Sheet, points: Sequence[Array], color: str) -> None:
    """A body: a line through two points or points in a row, a filled polygon through others."""
    ring = convex_hull(np.array(points))
    if len(ring) > 2 and width_of(ring) > 0.5 * sheet.unit:
        outline(sheet, ring, color, LINK_ORDER - 0.5, alpha=0.3)
        sheet.stroke(np.concatenate([ring, ring[:1]]), color, LINK, LINK_ORDER)
        for inner in points:
            if not np.any(np.all(np.isclose(ring, inner, atol=1e-9 * sheet.unit), axis=1)):
                nearest = ring[np.linalg.norm(ring - inner, axis=1).argmin()]
                sheet.stroke([inner, nearest], color, LINK, LINK_ORDER)
    else:
        spread = np.array(points)
        farthest = spread[np.linalg.norm(spread - spread[0], axis=1).argmax()]
        order = np.argsort((spread - spread[0]) @ (farthest - spread[0]))
        sheet.stroke(spread[order], color, LINK, LINK_ORDER)


def convex_hull(points: Array) -> Array:
    """The corners of the convex hull, counterclockwise (Andrew's monotone chain)."""
    ordered = [tuple(point) for point in np.unique(np.asarray(points, dtype=float), axis=0)]
    if len(ordered) < 3:
        return np.array(ordered)

    def half(sequence: Sequence[tuple[float, ...]]) -> list[tuple[float, ...]]:
        chain: list[tuple[float, ...]] = []
        for x, y in sequence:
            while len(chain) > 1:
                (ax, ay), (bx, by) = chain[-2:]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                    break
                chain.pop()
            chain.append((x, y))
        return chain[:-1]

    return np.array(half(ordered) + half(ordered[::-1]))


def width_of(ring: Array) -> float:
    """The least width of a convex polygon."""
    edges = np.roll(ring, -1, axis=0) - ring
    normals = np.stack([-edges[:, 1], edges[:, 0]], axis=1) / np.linalg.norm(edges, axis=1, keepdims=True)
    return float((np.ptp(ring @ normals.T, axis=0)).min())


def circle() -> Array:
    """Points around the origin, 1 away from it."""
    return np.stack([np.cos(ROUND), np.sin(ROUND)], axis=1)[:-1]


def _frame(along: Array, half: Array) -> Array:
    """The corners of a rectangle along a direction."""
    length = float(np.linalg.norm(along))
    ex = along / length if length > 1e-9 else np.array([1.0, 0.0])
    ey = np.array([-ex[1], ex[0]])
    return np.array([sx * half[0] * ex + sy * half[1] * ey for sx, sy in ((-1, -1), (1, -1), (1, 1), (-1, 1))])


# --- ink on paper ---


def paint(axes: Axes, sheet: Sheet, alpha: float = 1.0) -> None:
    """Draw a sheet into axes; the scales must be set by the caller."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Polygon

    for area in sheet.areas:
        edge = area.color if area.width else "none"
        how: Any = {"facecolor": area.fill, "edgecolor": edge, "linewidth": area.width, "zorder": area.order}
        axes.add_patch(Polygon(area.points, alpha=alpha * area.alpha, joinstyle="round", **how))
    for one in sheet.strokes:
        look: Any = {"color": one.color, "linewidth": one.width, "linestyle": one.dashes, "alpha": alpha}
        look |= {"solid_capstyle": "round", "solid_joinstyle": "round"}
        axes.add_line(Line2D(one.points[:, 0], one.points[:, 1], zorder=one.order, **look))


def write(axes: Axes, sheet: Sheet, per_letter: float) -> None:
    """The names, each beside its point where it covers least; `per_letter` is the width of a letter (m)."""
    taken, edges = _dense(sheet), np.array([axes.get_xlim(), axes.get_ylim()])
    for text in sheet.texts:
        half = per_letter * np.array([0.5 * len(text.text) + 0.2, 0.95])
        places = _places(text.at, half, sheet.unit)
        covered = [np.all(np.abs(taken - place) < half, axis=1).sum() for place in places]
        away = np.linalg.norm((places - text.at) / (half + sheet.unit), axis=1)
        outside = ((places - half < edges[:, 0]) | (places + half > edges[:, 1])).any(axis=1)
        best = places[(np.array(covered) + 0.25 * away + 1e3 * outside).argmin()]
        how: Any = {"fontsize": LETTERS, "color": text.color, "ha": "center", "va": "center_baseline", **PLAIN}
        axes.text(best[0], best[1], text.text, zorder=TEXT_ORDER, **how)
        spread = np.stack(np.meshgrid(np.linspace(-1, 1, 9), (-0.7, 0.0, 0.7)), axis=-1).reshape(-1, 2)
        taken = np.concatenate([taken, np.repeat(best + spread * half, 3, axis=0)])


def _dense(sheet: Sheet) -> Array:
    """Points along all lines, half a unit apart at most."""
    found = [np.zeros((0, 2))]
    lines = [*(one.points for one in sheet.strokes), *(area.points for area in sheet.areas if area.width)]
    for points in lines:
        for a, b in itertools.pairwise(points):
            count = min(int(np.linalg.norm(b - a) / (0.4 * sheet.unit)) + 2, 200)
            found.append(a + np.linspace(0, 1, count)[:, None] * (b - a))
    return np.concatenate(found)


def _places(at: Array, half: Array, unit: float) -> Array:
    """Where a name may stand around a point."""
    angles = np.arange(16) * np.pi / 8 + np.pi / 4
    rings = [np.stack([np.cos(angles), np.sin(angles)], axis=1) * (half + gap * unit) for gap in (0.75, 1.6, 2.8)]
    return at + np.concatenate(rings)
