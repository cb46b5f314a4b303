"""Panels: what of a run can be plotted, chosen by name, as curves over time and curves in a plane."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.errors import MomentreeError, suggestion
from momentree.look.graph_picture import short
from momentree.model.bodies import Body
from momentree.model.frames import Frame, NamedFrame

if TYPE_CHECKING:
    from momentree.results.run import Run

Array = NDArray[np.float64]
MOST_WORK_TERMS = 6  # that are drawn
LONGEST = 60  # letters of a name in a legend
FLAT = 1e-6  # of the extent of a path: what is thinner lies in a plane
AXES = "xyz"
WRENCH = (("force", "N"), ("moment", "N m"))


class Panel(NamedTuple):
    """Curves over time on the same axes.

    | field  | meaning                                                 |
    |--------|---------------------------------------------------------|
    | label  | what is drawn, with its unit where all have the same    |
    | curves | k numbers each, by label; one alone needs none          |
    | height | relative to that of others                              |
    | log    | the axis is logarithmic                                 |
    """

    label: str
    curves: dict[str, Array]
    height: float = 1.0
    log: bool = False


class Portrait(NamedTuple):
    """A curve in a plane: a phase portrait, the path of a point (`equal` scales).

    The first of `labels` belongs to the horizontal axis.
    """

    title: str
    labels: tuple[str, str]
    x: Array
    y: Array
    equal: bool = False


def panels_of(run: Run, what: Any) -> list[Panel | Portrait]:
    """The panels of one thing that can be plotted, by name; a frame stands for its path (docs/pictures.md)."""
    if isinstance(what, (Frame, NamedFrame, Body)):
        return [*_path(run, what, "frame" if isinstance(what, Frame) else what.name)]
    if not isinstance(what, str):
        raise MomentreeError(f"plot: {what!r} cannot be plotted. Give names, such as 'A' or 'energy', or frames.")
    if what in _quantities(run):
        return [_quantity(run, what)]
    if what in WHOLE:
        return [*WHOLE[what](run)]
    for prefix, make in PARTS.items():
        if what.startswith(f"{prefix} of "):
            return [*make(run, what.removeprefix(f"{prefix} of "))]
    words = what.split(" against ")
    for i in range(1, len(words)):
        vertical, horizontal = " against ".join(words[:i]), " against ".join(words[i:])
        if {vertical, horizontal} <= _quantities(run).keys():
            return [*_portraits(run, vertical, horizontal)]
    hint = suggestion(what, [*_quantities(run), *WHOLE, *_named_parts(run), *_phases(run)])
    raise MomentreeError(f"plot: there is nothing called '{short(what, LONGEST)}' to plot.{hint}")


def energy_panels(run: Run) -> Iterator[Panel]:
    """The energy account, and its balance on an axis of its own."""
    energy = run.energy
    drawn = {"kinetic": energy.kinetic, "potential": energy.potential, "total": energy.total}
    largest = sorted(energy.work, key=lambda name: -float(np.abs(energy.work[name]).max(initial=0.0)))
    drawn.update({f"work of {name}": energy.work[name] for name in largest[:MOST_WORK_TERMS]})
    yield Panel("energy, J", drawn, height=2.0)
    yield Panel("balance, J", {"": energy.balance})


# --- coordinates and velocities ---


def _quantities(run: Run) -> dict[str, tuple[str, int | None, bool]]:
    """Joint, index of a component or None for all, and whether it is a velocity: "A", "A'", "hull.y", "hull.y'".

    Inputs and outputs stand there by their names, too.
    """
    joints = {name: element.joint for name, element in run._whole.by_joint.items() if element.joint is not None}
    found: dict[str, tuple[str, int | None, bool]] = {}
    for name, joint in joints.items():
        for components, velocity in ((joint.type.coordinates, False), (joint.type.velocities, True)):
            if len(components) > 1:
                found.update({f"{name}.{one}": (name, i, velocity) for i, one in enumerate(components)})
    moving = [name for name, joint in joints.items() if joint.type.coordinates]
    named = {name: (name, None, False) for name in (*moving, *run.system.inputs, *run.system.outputs)}
    return {**found, **{f"{name}'": (name, None, True) for name in moving}, **named}


def _quantity(run: Run, what: str) -> Panel:
    values, names, units = _values(run, what)
    if values.shape[1] == 1:
        return Panel(_with_unit(short(what), units[0]), {"": values[:, 0]})
    labels = [_with_unit(*both) for both in zip(names, units, strict=True)]
    return Panel(short(what), dict(zip(labels, values.T, strict=True)))


def _values(run: Run, what: str) -> tuple[Array, Sequence[str], Sequence[str]]:
    """Columns, their names and units."""
    joint, index, velocity = _quantities(run)[what]
    if joint not in run._whole.by_joint:  # an input or output
        columns = [column for listed in run.named_columns().values() for column in listed]
        return run[joint][:, None], [joint], [next(one.unit for one in columns if one.name == joint) or "1"]
    element = run._whole.by_joint[joint].joint
    assert element is not None
    kind = element.type
    values = np.asarray(run.velocity(joint) if velocity else run[joint]).reshape(len(run.t), -1)
    names = kind.velocities if velocity else kind.coordinates
    units = [f"{unit}/s" for unit in kind.velocity_units] if velocity else list(kind.units)
    which = slice(None) if index is None else slice(index, index + 1)
    return values[:, which], names[which], units[which]


def _with_unit(name: str, unit: str) -> str:
    return name if unit == "1" else f"{name}, {unit}"


def _portraits(run: Run, vertical: str, horizontal: str) -> Iterator[Portrait]:
    """One for each component."""
    (y, y_names, y_units), (x, x_names, x_units) = _values(run, vertical), _values(run, horizontal)
    if x.shape != y.shape:
        sizes = f"'{short(vertical)}' has {y.shape[1]} components and '{short(horizontal)}' has {x.shape[1]}"
        raise MomentreeError(f"plot: {sizes}. Name one of each, such as '{_phases(run)[0]}'.")
    several = x.shape[1] > 1
    for i in range(x.shape[1]):
        labels = [
            _with_unit(short(name) + f" {names[i]}" * several, units[i])
            for name, names, units in ((horizontal, x_names, x_units), (vertical, y_names, y_units))
        ]
        yield Portrait("", (labels[0], labels[1]), x[:, i], y[:, i])


def _phases(run: Run) -> list[str]:
    """The phase portraits that there are: "A' against A", "hull.y' against hull.y"."""
    names = _quantities(run)
    known = [name for name, (_, _, velocity) in names.items() if not velocity and f"{name}'" in names]
    return [f"{name}' against {name}" for name in known] or ["A' against A"]


def _phase(run: Run, name: str) -> Iterator[Portrait]:
    if name not in _quantities(run) or f"{name}'" not in _quantities(run):
        known = [phase.split("' against ", 1)[1] for phase in _phases(run)]
        raise MomentreeError(f"plot: there is no joint '{short(name, LONGEST)}'.{suggestion(name, known)}")
    return _portraits(run, f"{name}'", name)


# --- diagnostics ---


def _closure_error(run: Run) -> Iterator[Panel]:
    yield _openings(run, "closure error", ("m", "rad"), 0)


def _closure_velocity(run: Run) -> Iterator[Panel]:
    yield _openings(run, "closure velocity", ("m/s", "rad/s"), 2)


def _openings(run: Run, label: str, units: tuple[str, str], column: int) -> Panel:
    if not run.mechanism.constrained:
        raise MomentreeError(f"plot: there is no {label}: the system has no loop and no constraint.")
    both = {f"lengths, {units[0]}": run.openings[:, column], f"angles, {units[1]}": run.openings[:, column + 1]}
    drawn = {name: values for name, values in both.items() if np.any(values)} or both
    log = all(np.any(values > 0) for values in drawn.values())
    return Panel(label if len(drawn) > 1 else f"{label} of {next(iter(drawn))}", drawn, log=log)


# --- forces ---


def _reactions(run: Run, name: str) -> Iterator[Panel]:
    forces = run.reactions(name)
    if isinstance(forces, np.ndarray):
        yield from _wrench(forces, name)
        return
    for joint, along in forces.joints.items():
        values = np.asarray(along).reshape(len(run.t), -1)
        type_of = run._whole.by_joint[joint].joint
        units = ["N m" if unit == "rad" else "N" for unit in type_of.type.velocity_units] if type_of else []
        labels = [f"{v}, {unit}" for v, unit in zip(type_of.type.velocities, units, strict=True)] if type_of else []
        title = f"{short(name)} on {short(joint)}"
        single = values.shape[1] == 1
        yield Panel(f"{title}, {units[0]}" if single else title, dict(zip(labels, values.T, strict=True)))
    for frame, wrench in forces.frames.items():
        yield from _wrench(wrench, f"{name} at {frame}")


def _wrench(wrench: Array, name: str) -> Iterator[Panel]:
    for i, (kind, unit) in enumerate(WRENCH):
        curves = {axis: wrench[:, 3 * i + j] for j, axis in enumerate(AXES)}
        yield Panel(f"{kind} of {short(name)}, {unit}", curves)


def _multipliers(run: Run, name: str) -> Iterator[Panel]:
    values = np.asarray(run.multipliers(name)).reshape(len(run.t), -1)
    rows = next((loop.rows for loop in run._whole.loops if loop.name == name), ())
    labels = [f"{row.name}, {'N m' if not any(row.direction.linear) else 'N'}" for row in rows] or [""]
    yield Panel(f"multipliers of {short(name)}", dict(zip(labels, values.T, strict=True)))


def _power(run: Run, name: str) -> Iterator[Panel]:
    yield Panel(f"power of {short(name)}, W", {"": run.constraint_power(name)})


def _contact_force(run: Run, name: str) -> Iterator[Panel]:
    yield Panel(f"force of {short(name)}, N", dict(zip(AXES, run.contact_force(name).T, strict=True)))


def _friction(run: Run, name: str) -> Iterator[Panel]:
    needed = run.friction_needed(name)
    yield Panel(f"friction needed by {short(name)}", {"": np.where(np.isfinite(needed), needed, np.nan)})


# --- paths ---


def _path_of(run: Run, name: str) -> Iterator[Portrait]:
    named = {frame.name: frame for frame in run.system._model.frames}
    bodies = [body.name for body in run.mechanism.bodies if not body.image_of]
    if name not in named and name not in bodies:
        hint = suggestion(name, [*bodies, *named])
        raise MomentreeError(f"plot: there is no body or frame '{short(name, LONGEST)}'.{hint}")
    return _path(run, named.get(name, name), name)


def _path(run: Run, frame: Any, name: str) -> Iterator[Portrait]:
    """In the plane in which it lies; one in space from above and from the side."""
    points = run.position(frame)
    extent = np.ptp(points[np.isfinite(points).all(axis=1)], axis=0)
    flat = extent <= FLAT * max(float(extent.max()), 1e-300)
    planes = [(i, j) for i, j in itertools.combinations(range(3), 2) if flat[3 - i - j]]
    for i, j in sorted(planes, key=lambda plane: -float(extent[list(plane)].sum()))[:1] or [(0, 1), (0, 2)]:
        labels = (f"{AXES[i]}, m", f"{AXES[j]}, m")
        yield Portrait(f"path of {short(name)}", labels, points[:, i], points[:, j], equal=True)


WHOLE: Mapping[str, Callable[[Run], Iterator[Panel]]] = {
    "energy": energy_panels,
    "closure error": _closure_error,
    "closure velocity": _closure_velocity,
}
PARTS: Mapping[str, Callable[[Run, str], Iterator[Panel | Portrait]]] = {
    "reactions": _reactions,
    "multipliers": _multipliers,
    "power": _power,
    "force": _contact_force,
    "friction": _friction,
    "path": _path_of,
    "phase": _phase,
}


def _named_parts(run: Run) -> Iterator[str]:
    """Those that are there, for suggestions."""
    yield from (f"reactions of {name}" for name in run._whole.by_joint)
    yield from (f"path of {body.name}" for body in run.mechanism.bodies)
    yield from (f"force of {contact.name}" for contact in run.mechanism.contacts)
    yield from (f"multipliers of {loop.name}" for loop in run._whole.loops)
    yield from (f"multipliers of {constraint.name}" for constraint in run._whole.constraints)
