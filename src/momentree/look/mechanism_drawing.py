"""Drawings of mechanisms for papers: in the plane or in projection, with the symbols of mechanism theory.

Bodies are lines between their joints, polygons where they have three or more, and outlines where they have a shape;
hinges, sliders, springs and wheels have their symbols, the ground is hatched.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.assembly.given_values import given_values
from momentree.assembly.state import State
from momentree.errors import MomentreeError
from momentree.look import mechanism_symbols as symbols
from momentree.look.contact_marks import FOOT
from momentree.look.graph_layout import GREY, INK
from momentree.look.graph_picture import short
from momentree.look.mechanism_symbols import Sheet, Text
from momentree.look.picture_files import check_picture, save_picture
from momentree.look.projection import JointPlace, View, joint_places, view_of
from momentree.look.run_poses import poses_at
from momentree.look.scene import THICKNESS, Poses, Scene, _own, poses_of, scene_of
from momentree.model.higher_pairs import Distance, HigherPair, Rolling
from momentree.spatial import X, Y, Z
from momentree.spatial.vector import normals
from momentree.structure.mechanism import Mechanism

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from momentree.results.run import Run
    from momentree.system import System

Array = NDArray[np.float64]
Path = str | os.PathLike[str]
MOST_NAMES, MOST_BODIES, MOST_INSTANTS, LONGEST_NAME = 40, 2000, 60, 16
UNIT = 0.026  # of the extent of a drawing: the length that symbols are made of
WIDTH, HEIGHT, LEAST = 5.5, 4.2, 1.9  # inches, of a drawing at most and at least
MARGINS = (1.0, 0.5)  # inches, for names
THIN = 0.25  # width by length of a shape that is drawn as a line
TRAVEL = 1.6  # of the largest extent at an instant: what moves in more is drawn where it is
EDGE_ON = 0.98  # cosine of the angle between the sheet and the normal of a plane that is seen as a line
FLOATING = ("Free", "Planar")  # joints that are no joints: nothing is there
SLIDING = {"Prismatic": "axis", "PinSlot": "slot", "Cylindrical": "axis"}


class Moment(NamedTuple):
    """A mechanism at one moment, as it is looked at."""

    mechanism: Mechanism
    scene: Scene
    poses: Poses
    k: int
    view: View

    def flat(self, attached: Any) -> Array:
        """The origin of a frame on the sheet."""
        return self.view.flat(self.poses.points(attached)[self.k])

    def direction(self, vector: Any) -> Array:
        """A direction in space, on the sheet."""
        return self.view.flat(vector)

    def body(self, number: int) -> int:
        """The number of a body, or of the one whose image it is."""
        return (self.mechanism.bodies[number - 1].image_of or number) if number else 0


def draw_system(
    system: System, path: Path | None = None, state: Any = None, view: Any = "auto", names: bool = True
) -> Figure:
    """The mechanism at a state, at the model's start unless given; saved if a path is given (.svg, .png, .pdf)."""
    if path is not None:
        check_picture(path)
    _refuse_crowds(len(system.mechanism.bodies))
    at = system.start(state) if state is None or isinstance(state, Mapping) else state
    if isinstance(at, State):
        system = system.at(given_values(system, at, what="draw"))
    q, t = (at.q, at.t) if hasattr(at, "q") else (np.asarray(at, dtype=float), 0.0)
    if q.shape != (system.nq,):
        raise MomentreeError(
            f"draw: q has the shape {q.shape}. Give a State, numbers by joint, or {system.nq} numbers."
        )
    poses = poses_of(system._numeric, q[None], np.array([t]))
    moment = Moment(system._numeric, scene_of(system), poses, 0, view_of(view, system._numeric, poses))
    return _saved(_figure([moment], [""], names, overlaid=False), path)


def draw_run(
    run: Run,
    path: Path | None = None,
    times: int | Sequence[float] = 5,
    view: Any = "auto",
    names: bool = True,
    overlaid: bool = False,
) -> Figure:
    """A run as a strip of instants, evenly spaced or at given times (s), side by side or `overlaid`."""
    if path is not None:
        check_picture(path)
    _refuse_crowds(len(run.mechanism.bodies))
    t = _instants(run, times)
    poses = poses_at(run, t)
    mechanisms = [run.mechanism_at(max(int(np.searchsorted(run.t, one, side="right")) - 1, 0)) for one in t]
    seen, scene = view_of(view, run.mechanism, poses), scene_of(run.system)
    moments = [Moment(mechanism, scene, poses, k, seen) for k, mechanism in enumerate(mechanisms)]
    return _saved(_figure(moments, [f"t = {one:.4g} s" for one in t], names, overlaid), path)


def _refuse_crowds(bodies: int) -> None:
    if bodies > MOST_BODIES:
        raise MomentreeError(f"draw: {bodies} bodies would not be readable. Draw at most {MOST_BODIES}.")


def _instants(run: Run, times: int | Sequence[float]) -> Array:
    begin, end = (float(run.t[0]), float(run.t[-1])) if len(run.t) else (0.0, 0.0)
    if isinstance(times, int) and not isinstance(times, bool):
        if not 1 <= times <= MOST_INSTANTS:
            raise MomentreeError(f"draw: times is {times}. Choose 1 to {MOST_INSTANTS} instants, or a list of times.")
        return np.linspace(begin, end, times)
    given = np.atleast_1d(np.asarray(times, dtype=float))
    if not 1 <= given.size <= MOST_INSTANTS or given.ndim != 1:
        raise MomentreeError(f"draw: there are {given.size} times. Give 1 to {MOST_INSTANTS}.")
    outside = given[~((given >= begin) & (given <= end))]
    if len(outside):
        raise MomentreeError(f"draw: t = {outside[0]:g} s is not in the run. Choose times from {begin:g} to {end:g} s.")
    return given


def _saved(figure: Figure, path: Path | None) -> Figure:
    if path is not None:
        save_picture(figure, path, dpi=200)
    return figure


# --- the sheet ---


def _figure(moments: Sequence[Moment], captions: Sequence[str], names: bool, overlaid: bool) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from momentree.look.shown_figure import ShownFigure

    rough = [_sheet(moment, UNIT * moment.scene.size, names=False).points for moment in moments]
    if overlaid:
        rough = [np.concatenate(rough)]
    extent = np.max([np.ptp(points, axis=0) for points in rough], axis=0)
    unit = UNIT * max(float(np.hypot(*extent)), 0.5 * moments[0].scene.size)
    named = names and len(moments[0].mechanism.bodies) <= MOST_NAMES
    if overlaid:  # the last is drawn on top: its ground is that of all
        supported: list[Array] = []
        last = [_sheet(moment, unit, named and moment is moments[-1], supported) for moment in reversed(moments)]
        sheets = last[::-1]
    else:
        sheets = [_sheet(moment, unit, named) for moment in moments]
    boxes = _boxes(sheets, overlaid)
    size = np.maximum(np.max([high - low for low, high in boxes], axis=0), 4 * unit)
    columns = min(len(boxes), 5)
    rows = -(-len(boxes) // columns)
    inches = float(min(np.divide((WIDTH, HEIGHT) if columns == 1 else (2.2, 2.6), size)))
    size = np.maximum(size + np.array(MARGINS if named else (0.2, 0.2)) / inches, np.array([LEAST, 1.0]) / inches)
    width, height = columns * size[0] * inches, rows * (size[1] * inches + 0.25) + 0.35
    figure = ShownFigure(figsize=(width, height), dpi=100, facecolor="white")
    FigureCanvasAgg(figure)
    for i, (low, high) in enumerate(boxes):
        place = [(i % columns) / columns, 1 - ((i // columns) + 1) * (size[1] * inches + 0.25) / height]
        axes = figure.add_axes((*place, 1 / columns, size[1] * inches / height))
        axes.set_axis_off()
        middle = (low + high) / 2
        axes.set(xlim=middle[0] + size[0] * np.array([-0.5, 0.5]), ylim=middle[1] + size[1] * np.array([-0.5, 0.5]))
        own = sheets if overlaid else [sheets[i]]
        for j, sheet in enumerate(own):
            symbols.paint(axes, sheet, alpha=0.25 + 0.75 * (j + 1) / len(own) if overlaid and j < len(own) - 1 else 1)
        symbols.write(axes, own[-1], per_letter=0.62 * symbols.LETTERS / 72 / inches)
        caption = "" if overlaid else captions[i]
        axes.set_title(caption, fontsize=8, color=INK, pad=2)
    _write_scale(figure, moments[0].view, inches, (width, height))
    return figure


def _boxes(sheets: Sequence[Sheet], overlaid: bool) -> list[tuple[Array, Array]]:
    """What each instant shows, lower left and upper right: the same of all, unless the mechanism travels far."""
    boxes = [(sheet.points.min(axis=0), sheet.points.max(axis=0)) for sheet in sheets]
    low, high = np.min([low for low, _ in boxes], axis=0), np.max([high for _, high in boxes], axis=0)
    if overlaid:
        return [(low, high)]
    largest = np.max([high - low for low, high in boxes], axis=0)
    return [(low, high)] * len(boxes) if np.all(high - low < TRAVEL * largest) else boxes


def _write_scale(figure: Figure, view: View, inches: float, size: tuple[float, float]) -> None:
    """A bar of a round length at the lower left, and the axes of the sheet."""
    from matplotlib.lines import Line2D

    wanted = 0.9 / inches
    power = 10 ** np.floor(np.log10(wanted))
    length = max(step * power for step in (1, 2, 5) if step * power <= wanted)
    left, level, tick = 0.12 / size[0], 0.16 / size[1], 0.04 / size[1]
    right = left + length * inches / size[0]
    bar = (
        [left, left, left, right, right, right],
        [level - tick, level + tick, level, level, level + tick, level - tick],
    )
    figure.add_artist(Line2D(*bar, color=INK, linewidth=1))
    sides = ((view.name_of(view.right), "right"), (view.name_of(view.up), "up"))
    axes = ", ".join(f"{name} {side}" for name, side in sides if name)
    text, plain = f"{length:g} m" + f"   {axes}" * bool(axes), symbols.PLAIN
    figure.text(right + 0.08 / size[0], level, text, fontsize=7, color=INK, va="center_baseline", **plain)


def _sheet(moment: Moment, unit: float, names: bool, supported: list[Array] | None = None) -> Sheet:
    """Everything that is drawn at a moment, without the ground where it is drawn already."""
    sheet = Sheet(unit)
    places = [*joint_places(moment.mechanism)]
    ends = _ends_by_body(moment, places)
    for number, points in ends.items():
        _draw_body(sheet, moment, number, points, names)
    for place in places:
        _draw_joint(sheet, moment, place)
    _draw_supports(sheet, moment, places, ends, [] if supported is None else supported)
    for spring in moment.mechanism.springs:
        pair = [_own(moment.mechanism, end) for end in (spring.first, spring.second)]
        a, b = (moment.flat(end) for end in pair)
        symbols.coil(sheet, a, b, spring.tension_only)
        for end, at, other in zip(pair, (a, b), (b, a), strict=True):
            if not end.body:
                symbols.anchor(sheet, at, other)
    _draw_contacts(sheet, moment)
    if names:
        _name_joints(sheet, moment, places)
    return sheet


# --- bodies ---


def _ends_by_body(moment: Moment, places: Sequence[JointPlace]) -> dict[int, list[Array]]:
    """The points of each body at which something is attached to it, on the sheet."""
    found: dict[int, list[Array]] = {body.number: [] for body in moment.mechanism.bodies if not body.image_of}
    frames = [end for place in places if place.type.kind not in FLOATING for end in (place.first, place.second)]
    frames += [
        _own(moment.mechanism, end) for spring in moment.mechanism.springs for end in (spring.first, spring.second)
    ]
    frames += [_own(moment.mechanism, contact.frame) for contact in moment.mechanism.contacts]
    for frame in frames:
        if moment.body(frame.body):
            _add(found[moment.body(frame.body)], moment.flat(frame), 1e-6 * moment.scene.size)
    return found


def _add(points: list[Array], point: Array, near: float) -> None:
    if all(np.linalg.norm(point - other) > near for other in points):
        points.append(point)


def _draw_body(sheet: Sheet, moment: Moment, number: int, ends: list[Array], names: bool) -> None:
    """A line or polygon through its ends and its center of mass, and the outline of its shape."""
    color = _color(moment, number)
    points, outlines = ends, []
    for ring in _silhouettes(moment, number):
        axis, length, width = _longest(ring)
        if length <= 2 * sheet.unit or _is_between(ring, points, 2 * THICKNESS * moment.scene.size):
            continue
        if width > THIN * length:
            outlines.append(ring)
        else:
            for end in axis:
                _add(points, end, max(1.2 * width, 0.04 * length))
    center = _center_of_mass(moment, number)
    if len(points) < 2 and center is not None and not outlines:
        _add(points, center, 1e-6 * moment.scene.size)
        symbols.mass(sheet, center, color)
    for ring in outlines:
        symbols.outline(sheet, ring, color)
    if len(points) > 1:
        symbols.link(sheet, points, color)
    if names:
        at = np.mean(points, axis=0) if points else center
        if at is not None:
            name = moment.mechanism.bodies[number - 1].name
            sheet.texts.append(Text(at, short(name, LONGEST_NAME), color))


def _is_between(ring: Array, points: Sequence[Array], near: float) -> bool:
    """Whether an outline hardly exceeds the polygon through the points of its body: its rods between joints."""
    if len(points) < 3:
        return False
    hull = symbols.convex_hull(np.array(points))
    return len(hull) > 2 and bool(np.all(np.ptp(ring, axis=0) - np.ptp(hull, axis=0) < 2 * near))


def _color(moment: Moment, number: int) -> str:
    """The body's own, darkened until it can be seen on white."""
    piece = next(piece for piece in moment.scene.pieces if piece.kind == "body" and piece.body == number)
    rgb = np.array(piece.color[:3], dtype=float)
    bright = float(rgb @ (0.2126, 0.7152, 0.0722))
    rgb = rgb * min(1.0, 150 / max(bright, 1.0))
    return "#" + "".join(f"{int(part):02x}" for part in rgb)


def _silhouettes(moment: Moment, number: int) -> Iterator[Array]:
    """The convex outlines of the shapes of a body on the sheet."""
    position, R = moment.poses.positions[moment.k, number], moment.poses.rotations[moment.k, number]
    for piece in moment.scene.pieces:
        if piece.kind == "body" and piece.body == number:
            yield symbols.convex_hull(np.round(moment.view.flat(piece.mesh.vertices @ R.T + position), 12))


def _longest(ring: Array) -> tuple[Array, float, float]:
    """The middle line of an outline along its longest direction, its length and width."""
    spread = ring - ring.mean(axis=0)
    _, _, directions = np.linalg.svd(spread, full_matrices=False)
    (low, across_low), (high, across_high) = ((spread @ directions.T).min(axis=0), (spread @ directions.T).max(axis=0))
    across = (across_low + across_high) / 2
    middle = ring.mean(axis=0) + across * directions[1]
    width = float(across_high - across_low)
    ends = np.array([middle + low * directions[0], middle + high * directions[0]])
    return ends, float(high - low), width


def _center_of_mass(moment: Moment, number: int) -> Array | None:
    body = moment.mechanism.bodies[number - 1]
    if not body.inertia.mass:
        return None
    com = np.array([*body.own.inverse().point(body.inertia.h / body.inertia.mass)], dtype=float)
    at = moment.poses.positions[moment.k, number] + moment.poses.rotations[moment.k, number] @ com
    return moment.view.flat(at)


# --- joints ---


def _draw_joint(sheet: Sheet, moment: Moment, place: JointPlace) -> None:
    kind, at = place.type.kind, moment.flat(place.second)
    if isinstance(place.type, HigherPair):
        _draw_pair(sheet, moment, place)
        return
    axes = {name: moment.direction(axis) for name, axis in place.axes(moment.poses, moment.k).items()}
    body = place.second.body or place.first.body
    color = _color(moment, moment.body(body)) if body else INK
    if kind in SLIDING:
        _draw_slider(sheet, moment, place, axes[SLIDING[kind]], color)
    if kind == "PinSlot" or (kind in ("Revolute", "Screw") and np.linalg.norm(axes["axis"]) < 0.05):
        symbols.pivot(sheet, at)
    elif kind in ("Revolute", "Screw"):
        symbols.hinge_from_aside(sheet, at, axes["axis"], fill="#d0d0d0" if kind == "Screw" else "white")
    elif kind == "Spherical":
        symbols.ball_joint(sheet, at)
    elif kind == "Universal":
        symbols.crossed(sheet, at)
    elif kind == "Fixed":
        symbols.weld(sheet, at)


def _draw_slider(sheet: Sheet, moment: Moment, place: JointPlace, along: Array, color: str) -> None:
    """A box on the body that slides, a guide on the other: the one that is the ground, else the first."""
    guided, other = (place.second, place.first) if place.second.body else (place.first, place.second)
    at, origin = moment.flat(guided), moment.flat(other)
    symbols.slider(sheet, at, along, color)
    length = float(np.linalg.norm(along))
    if length < 0.3:
        return
    ex, reach = along / length, 3.2 * sheet.unit
    places = [float((point - at) @ ex) for point in (at, origin)] if other.body else [0.0]
    begin, end = at + (min(places) - reach) * ex, at + (max(places) + reach) * ex
    guide_color = _color(moment, moment.body(other.body)) if other.body else INK
    symbols.guide(sheet, begin, end, ground=not other.body, color=guide_color)


def _draw_supports(
    sheet: Sheet, moment: Moment, places: Sequence[JointPlace], ends: Mapping[int, Sequence[Array]], done: list[Array]
) -> None:
    """Hatched ground at every point at which a hinge, ball or weld is on it, once; above it if links hang from it."""
    for place in places:
        on_ground = not place.first.body or not place.second.body
        if not on_ground or place.type.kind in (*FLOATING, *SLIDING) or isinstance(place.type, HigherPair):
            continue
        body = moment.body(place.first.body or place.second.body)
        at, before = moment.flat(place.second if place.first.body else place.first), len(done)
        _add(done, at, 0.5 * sheet.unit)
        if len(done) > before:
            away = np.sum([point - at for point in ends.get(body, ())], axis=0) if ends.get(body) else np.zeros(2)
            symbols.support(sheet, at, up=bool(away[1] < -0.35 * np.linalg.norm(away)))


def _draw_pair(sheet: Sheet, moment: Moment, place: JointPlace) -> None:
    """A wheel and what it rolls on, a rod without mass, or the point that is guided."""
    first, second = moment.flat(place.first), moment.flat(place.second)
    if isinstance(place.type, Distance):
        sheet.stroke([first, second], INK, 1.4, symbols.LINK_ORDER)
        for at in (first, second):
            symbols.pivot(sheet, at)
    elif isinstance(place.type, Rolling):
        color = _color(moment, moment.body(place.second.body)) if place.second.body else INK
        _draw_wheel(sheet, moment, place.second, float(place.type.radius), place.type.disc, color)
        if place.type.ball is None:
            _draw_plane(sheet, moment, place.first, place.second, float(place.type.radius))
        else:
            _draw_wheel(sheet, moment, place.first, abs(float(place.type.ball)), None, GREY)
    else:
        symbols.weld(sheet, second)


def _draw_contacts(sheet: Sheet, moment: Moment) -> None:
    """The points, rims and balls that touch, and the ground that they touch."""
    for contact in moment.mechanism.contacts:
        frame, against = (_own(moment.mechanism, end) for end in (contact.frame, contact.against))
        color = _color(moment, moment.body(frame.body)) if frame.body else INK
        radius, at = float(contact.radius), moment.flat(frame)
        if radius > FOOT * moment.scene.size and frame.body:
            _draw_foot(sheet, moment, frame, radius, color)
        elif radius:
            _draw_wheel(sheet, moment, frame, radius, contact.disc, color, spoke=False)
        else:
            sheet.area(at + 0.3 * sheet.unit * symbols.circle(), color, color, 0.5, symbols.PIVOT_ORDER)
        if contact.ball is None:
            _draw_plane(sheet, moment, against, frame, radius)
        else:
            _draw_wheel(sheet, moment, against, float(contact.ball), None, GREY, spoke=False)


def _draw_foot(sheet: Sheet, moment: Moment, frame: Any, radius: float, color: str) -> None:
    """The part of a large rim on which a body stands: on the side of its center of mass; and a line to it."""
    at, center = moment.flat(frame), _center_of_mass(moment, moment.body(frame.body))
    down = center - at if center is not None else np.zeros(2)
    if np.linalg.norm(down) < 0.05 * radius:
        down = np.array([0.0, -1.0])
    middle = np.arctan2(down[1], down[0])
    angles = middle + np.linspace(-0.16, 0.16, 17)
    arc = at + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    sheet.stroke(arc, color, symbols.LINK, symbols.LINK_ORDER)
    sheet.stroke([at, arc[8]], color, symbols.LINK, symbols.LINK_ORDER)


def _draw_wheel(
    sheet: Sheet, moment: Moment, frame: Any, radius: float, disc: Any, color: str, spoke: bool = True
) -> None:
    """The rim of a disc, or the outline of a ball, with a diameter that turns with it."""
    center, R = moment.poses.points(frame)[moment.k], moment.poses.rotations[moment.k, frame.body]
    across = (X, Y) if disc is None else normals(disc)
    local = [R @ np.array([*(frame.placement.rotation @ axis)], dtype=float) for axis in across]
    e1, e2 = local if disc is not None else (moment.view.right, moment.view.up)
    rim = center + radius * (np.cos(symbols.ROUND)[:, None] * e1 + np.sin(symbols.ROUND)[:, None] * e2)
    sheet.stroke(moment.view.flat(rim), color, 1.8, symbols.SHAPE_ORDER)
    if spoke:
        ends = [center - radius * local[0], center + radius * local[0]]
        sheet.stroke(moment.view.flat(ends), color, 0.8, symbols.SHAPE_ORDER)


def _draw_plane(sheet: Sheet, moment: Moment, plane: Any, near: Any, radius: float) -> None:
    """Ground to roll or stand on: a hatched line if it is seen edge on, else a patch of it."""
    if plane.body:
        return
    R, origin = moment.poses.rotations[moment.k, plane.body], moment.poses.points(plane)[moment.k]
    n = R @ np.array([*(plane.placement.rotation @ Z)], dtype=float)
    over = moment.poses.points(near)[moment.k]
    foot = over - ((over - origin) @ n) * n
    reach = max(min(1.2 * radius, 0.6 * moment.scene.size), 6 * sheet.unit)
    flat = moment.direction(n)
    if np.linalg.norm(flat) > EDGE_ON:
        along = reach * np.array([flat[1], -flat[0]]) / np.linalg.norm(flat)
        symbols.hatched(sheet, moment.view.flat(foot) - along, moment.view.flat(foot) + along, -1)
    elif np.linalg.norm(flat) > 0.05:
        right = moment.view.right - (moment.view.right @ n) * n
        right = right / np.linalg.norm(right)
        corners = [foot + reach * (i * right + j * np.cross(n, right)) for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
        sheet.area(moment.view.flat(corners), GREY, GREY, 0.5, symbols.GROUND_ORDER, alpha=0.15)


def _name_joints(sheet: Sheet, moment: Moment, places: Sequence[JointPlace]) -> None:
    """The names of joints; of several at one point, one after the other."""
    named: list[tuple[Array, list[str]]] = []
    for place in places:
        if place.type.kind in FLOATING:
            continue
        at = moment.flat(place.second)
        there = next((names for point, names in named if np.linalg.norm(point - at) < 0.5 * sheet.unit), None)
        if there is None:
            named.append((at, [place.name]))
        else:
            there.append(place.name)
    sheet.texts[:0] = [Text(at, ", ".join(short(name, LONGEST_NAME) for name in names[:4]), INK) for at, names in named]
