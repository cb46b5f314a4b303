"""What a caller says of a state by name: {"A": 1.0, "hull": (0, 1, 0), "hull.z": 1.2} -> one entry for each number."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from momentree.assembly.configuration import Array
from momentree.errors import MomentreeError, suggestion
from momentree.model.elements import Joint
from momentree.structure.mechanism import Loop, Mechanism, TreeBody


@dataclass(frozen=True)
class Entry:
    """One number for one coordinate or velocity of a joint.

    | field | meaning                                                                                         |
    |-------|-------------------------------------------------------------------------------------------------|
    | index | of the coordinate or velocity in the joint                                                          |
    | label | as the caller wrote it                                                                          |
    | held  | velocities of the tree that it fixes; none if the joint closes a loop or only a part of a ball is given |
    """

    joint: str
    index: int
    value: float
    label: str
    place: TreeBody | Loop
    held: tuple[int, ...] = ()

    @property
    def unit(self) -> str:
        """Of a coordinate."""
        return self.place.joint.type.units[self.index]  # type: ignore[union-attr]

    @property
    def angle(self) -> bool:
        return self.unit == "rad"


def coordinates_given(mechanism: Mechanism, given: Mapping[str, Any], what: str) -> Iterator[Entry]:
    """Entries for coordinates; quaternions are made unit."""
    for key, raw in given.items():
        name, component, place, joint = _joint(mechanism, key, what)
        kind = joint.type
        indices, values = _numbers(key, raw, component, kind.coordinates, what)
        ball = len(kind.coordinates) != len(kind.velocities)
        if ball and component.startswith("q"):
            everything = ", ".join(kind.coordinates)
            raise MomentreeError(f"{what}: '{key}' is one number of a quaternion; give all of {everything}.")
        if ball and not component:
            values[-4:] = _unit(values[-4:], key, what)
        for index, value in zip(indices, values, strict=True):
            held: tuple[int, ...] = ()
            if isinstance(place, TreeBody) and not (ball and component):
                held = tuple(range(place.v.start, place.v.stop)) if ball else (place.v.start + index,)
            label = key if len(indices) == 1 else f"{key}.{kind.coordinates[index]}"
            yield Entry(name, index, float(value), label, place, held)


def velocities_given(mechanism: Mechanism, given: Mapping[str, Any]) -> Iterator[Entry]:
    """Entries for velocities; "hull.z" and "hull.z'" mean the same here."""
    for key, raw in given.items():
        name, component, place, joint = _joint(mechanism, key, "velocities")
        names = tuple(rate.rstrip("'") for rate in joint.type.velocities)
        indices, values = _numbers(key, raw, component.rstrip("'"), names, "velocities")
        for index, value in zip(indices, values, strict=True):
            label = key if len(indices) == 1 else f"{key}.{names[index]}"
            yield Entry(name, index, float(value), label, place)


@dataclass(frozen=True)
class Column:
    """One coordinate or velocity of a joint in many states: as it was written, an entry, and its values, k or one."""

    key: str
    entry: Entry
    values: Array


def columns_given(mechanism: Mechanism, given: Mapping[str, Any], what: str) -> list[Column]:
    """Columns for coordinates, or for velocities if `what` is "velocities"; the last axis has the coordinates of a joint."""
    found = []
    for key, raw in given.items():
        _, component, _, joint = _joint(mechanism, key, what)
        kind = joint.type
        velocities = what == "velocities"
        names = tuple(name.rstrip("'") for name in kind.velocities) if velocities else kind.coordinates
        values = _table(key, raw, 1 if component else len(names), what)
        if not velocities and not component and len(kind.coordinates) != len(kind.velocities):
            values[..., -4:] = _units(values[..., -4:], key, what)
        first = values.reshape(-1, values.shape[-1])[:1].ravel() if values.size else np.zeros(values.shape[-1])
        sample = {key: first if len(first) > 1 else float(first[0])} if len(first) else {key: first}
        entries = velocities_given(mechanism, sample) if velocities else coordinates_given(mechanism, sample, what)
        found += [Column(key, entry, values[..., i]) for i, entry in enumerate(entries)]
    return found


def _table(key: str, raw: Any, count: int, what: str) -> Array:
    """k x count, or count: the numbers of one joint."""
    try:
        values = np.array(raw, dtype=float)
    except (TypeError, ValueError):
        values = np.full((1, 1, 1), np.nan)
    if count == 1 and values.ndim < 2:
        values = values[..., None]
    if isinstance(raw, (str, bool)) or values.ndim not in (1, 2) or values.shape[-1] != count:
        shape = f"{count} numbers" if count != 1 else "a number"
        raise MomentreeError(f"{what}: '{key}' is {reprlib.repr(raw)}; expected {shape}, or many rows of that.")
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row = f" in row {bad[0][0]}" if values.ndim == 2 else ""
        raise MomentreeError(f"{what}: '{key}' is {values[tuple(bad[0])]}{row}; finite numbers are expected.")
    return values


def _units(q: Array, key: str, what: str) -> Array:
    lengths = np.linalg.norm(q, axis=-1, keepdims=True)
    if (lengths < 1e-6).any():
        raise MomentreeError(f"{what}: the quaternion of '{key}' has zero length; its order is (x, y, z, w).")
    return np.asarray(q / lengths)


def _joint(mechanism: Mechanism, key: str, what: str) -> tuple[str, str, TreeBody | Loop, Joint]:
    name, component = str(key).rstrip("'"), ""
    if name not in mechanism.by_joint:
        name, _, component = str(key).partition(".")
    place = mechanism.by_joint.get(name)
    if place is None or place.joint is None:
        raise MomentreeError(f"{what}: there is no joint '{name}'.{suggestion(name, mechanism.by_joint)}")
    if isinstance(place, TreeBody) and place.laws is not None:
        raise MomentreeError(f"{what}: joint '{name}' moves as prescribed; choose the time t instead.")
    return name, component, place, place.joint


def _numbers(key: str, raw: Any, component: str, names: tuple[str, ...], what: str) -> tuple[list[int], Array]:
    if component and component not in names:
        raise MomentreeError(f"{what}: '{key}': the joint has no '{component}'.{suggestion(component, names)}")
    indices = [names.index(component)] if component else list(range(len(names)))
    try:
        values = np.atleast_1d(np.array(raw, dtype=float))
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if isinstance(raw, (str, bool)) or values.shape != (len(indices),) or not np.isfinite(values).all():
        wanted = ", ".join(names[i] for i in indices) or "nothing: the joint does not move"
        raise MomentreeError(f"{what}: '{key}' is {raw!r}; expected {len(indices)} finite numbers ({wanted}).")
    return indices, values


def _unit(q: Array, key: str, what: str) -> Array:
    length = float(np.linalg.norm(q))
    if length < 1e-6:
        raise MomentreeError(f"{what}: the quaternion of '{key}' has zero length; its order is (x, y, z, w).")
    return q / length
