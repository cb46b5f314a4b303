"""Values by name, as callers give coordinates and velocities: {"A": "30*deg", "hull": (0, 1, 0), "hull.z": 1.2}.

Each number becomes one entry. Texts are expressions of the parameters of the model, as in models: "30*deg", "2*h".
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from momentree.assembly.configuration import Array
from momentree.errors import AssemblyWarning, MomentreeError, suggestion, warn
from momentree.model.elements import Joint
from momentree.model.expressions.expression import Expression, Reference
from momentree.model.values import Mistake, Values, plain
from momentree.structure.mechanism import Loop, Mechanism, TreeBody

TURNS = 4 * np.pi  # rad: a larger angle that is a whole number is taken for degrees


@dataclass(frozen=True)
class Entry:
    """One number for one coordinate or velocity of a joint.

    | field        | meaning                                                                                     |
    |--------------|---------------------------------------------------------------------------------------------|
    | index        | of the coordinate or velocity in the joint                                                  |
    | label        | as the caller wrote it                                                                      |
    | body_or_loop | what the joint moves: a body of the tree, or a loop that it closes                          |
    | held         | velocities of the tree that it fixes; none if the joint closes a loop, or if only a part of |
    |              | a ball is given                                                                             |
    """

    joint: str
    index: int
    value: float
    label: str
    body_or_loop: TreeBody | Loop
    held: tuple[int, ...] = ()

    @property
    def unit(self) -> str:
        """Of a coordinate."""
        return self.body_or_loop.joint.type.units[self.index]  # type: ignore[union-attr]

    @property
    def velocity_unit(self) -> str:
        """Of a velocity, times seconds."""
        return self.body_or_loop.joint.type.velocity_units[self.index]  # type: ignore[union-attr]

    @property
    def angle(self) -> bool:
        return self.unit == "rad"


def by_name(given: Any, what: str) -> Mapping[str, Any]:
    """What was given by name; nothing for None. Arrays, states and other things are refused."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise MomentreeError(f"{what} is {reprlib.repr(given)}; names and numbers are expected, such as {{'A': 1.0}}.")
    return given


def names_given(names: Any, what: str) -> list[str]:
    """Names in a list, or a single one."""
    given = [names] if isinstance(names, str) else names
    try:
        found = list(given)
    except TypeError:
        found = [None]
    if not all(isinstance(name, str) for name in found):
        raise MomentreeError(f"{what} is {reprlib.repr(names)}; a list of names is expected, such as ['A'].")
    return found


def coordinates_given(mechanism: Mechanism, given: Mapping[str, Any], what: str) -> Iterator[Entry]:
    """Entries for coordinates; quaternions are made unit."""
    for key, raw in given.items():
        name, component, body_or_loop, joint = _joint(mechanism, key, what)
        kind = joint.type
        raw = numbers_of(raw, mechanism.values, key, what)
        indices, values = _numbers(key, raw, component, kind.coordinates, what)
        ball = len(kind.coordinates) != len(kind.velocities)
        if ball and component.startswith("q"):
            everything = ", ".join(kind.coordinates)
            raise MomentreeError(f"{what}: '{key}' is one number of a quaternion; give all of {everything}.")
        if ball and not component:
            values[-4:] = _unit_quaternions(values[-4:], key, what)
        for index, value in zip(indices, values, strict=True):
            held: tuple[int, ...] = ()
            if isinstance(body_or_loop, TreeBody) and not (ball and component):
                v = body_or_loop.v
                held = tuple(range(v.start, v.stop)) if ball else (v.start + index,)
            label = key if len(indices) == 1 else f"{key}.{kind.coordinates[index]}"
            yield Entry(name, index, float(value), label, body_or_loop, held)


def velocities_given(mechanism: Mechanism, given: Mapping[str, Any]) -> Iterator[Entry]:
    """Entries for velocities; "hull.z" and "hull.z'" mean the same here, where a joint has no names for velocities."""
    for key, raw in given.items():
        name, component, body_or_loop, joint = _joint(mechanism, key, "velocities")
        names = tuple(velocity.rstrip("'") for velocity in joint.type.velocities)
        raw = numbers_of(raw, mechanism.values, key, "velocities")
        indices, values = _numbers(key, raw, component.rstrip("'"), names, "velocities")
        for index, value in zip(indices, values, strict=True):
            label = key if len(indices) == 1 else f"{key}.{names[index]}"
            yield Entry(name, index, float(value), label, body_or_loop)


def warn_of_degrees(what: str, entries: Iterable[tuple[Entry, Any]]) -> None:
    """Angles of more than two turns that are whole numbers: 30 and 360 look like degrees, 29.8 and 10*pi do not.

    Whole radians are rare beyond that: angles that were measured or computed are not whole, and those of a thread turn
    many times.
    """
    for entry, values in entries:
        several = np.atleast_1d(values)
        if entry.angle and not entry.body_or_loop.joint.type.threaded:  # type: ignore[union-attr]
            suspect = several[(np.abs(several) > TURNS) & (several == np.round(several))]
            if suspect.size:
                x = f"{suspect[0]:g}"
                says = f"'{entry.label}' is {x} rad, {abs(suspect[0]) / (2 * np.pi):.1f} turns"
                warn(AssemblyWarning(f"{what}: {says}. Angles are in radians; for {x} degrees write '{x}*deg'."))
                return


@dataclass(frozen=True)
class Column:
    """One coordinate or velocity of a joint in many states: as it was written, an entry, and its values, k or one."""

    key: str
    entry: Entry
    values: Array


def columns_given(
    mechanism: Mechanism,
    given: Mapping[str, Any],
    what: str,
    parameters: Mapping[Reference, Array] | None = None,
) -> list[Column]:
    """Columns for coordinates, or for velocities if `what` is "velocities"; the last axis is that of a joint's numbers.

    `parameters` are the values of free parameters, which texts may use.
    """
    columns = []
    for key, raw in given.items():
        _, component, _, joint = _joint(mechanism, key, what)
        kind = joint.type
        velocities = what == "velocities"
        names = tuple(name.rstrip("'") for name in kind.velocities) if velocities else kind.coordinates
        raw = numbers_of(raw, mechanism.values, key, what, parameters)
        values = _table(key, raw, 1 if component else len(names), what)
        if not velocities and not component and len(kind.coordinates) != len(kind.velocities):
            values[..., -4:] = _unit_quaternions(values[..., -4:], key, what)
        first = values.reshape(-1, values.shape[-1])[:1].ravel() if values.size else np.zeros(values.shape[-1])
        sample = {key: first if len(first) > 1 else float(first[0])} if len(first) else {key: first}
        entries = velocities_given(mechanism, sample) if velocities else coordinates_given(mechanism, sample, what)
        columns += [Column(key, entry, values[..., i]) for i, entry in enumerate(entries)]
    return columns


def columns_of(columns: Sequence[Column], rows: Any) -> list[Column]:
    """Those of some of many rows; single values stay."""
    return [column if column.values.size == 1 else replace(column, values=column.values[rows]) for column in columns]


def values_of_row(columns: Sequence[Column], k: int) -> dict[str, Any]:
    """The values of one row by name, as `assemble` takes them."""
    values: dict[str, list[float]] = {}
    for column in columns:
        value = column.values if not column.values.ndim else column.values[k if len(column.values) > 1 else 0]
        values.setdefault(column.key, []).append(float(value))
    return {key: numbers if len(numbers) > 1 else numbers[0] for key, numbers in values.items()}


def numbers_of(
    raw: Any, values: Values, key: str, what: str, parameters: Mapping[Reference, Array] | None = None
) -> Any:
    """What a caller gives, its texts and expressions in numbers; with many values of free parameters, arrays."""
    if isinstance(raw, (list, tuple)) and any(isinstance(entry, (str, Expression)) for entry in raw):
        entries = [numbers_of(entry, values, key, what, parameters) for entry in raw]
        if any(np.ndim(entry) for entry in entries):
            return np.stack(np.broadcast_arrays(*entries), axis=-1)
        return entries
    if not isinstance(raw, (str, Expression)):
        return raw
    try:
        free = [reference.name for reference in parameters or ()]
        number = (values.replaced({}, free) if free else values).scalar(plain(raw), f"'{key}'")
        return number.evaluate(parameters or {}) if isinstance(number, Expression) else number
    except Mistake as mistake:
        raise MomentreeError(f"{what}: {mistake}") from None


def _table(key: str, raw: Any, count: int, what: str) -> Array:
    """k x count, or count: the numbers of one joint."""
    try:
        values = np.array(raw, dtype=float)
    except (TypeError, ValueError):
        values = np.full((1, 1, 1), np.nan)
    if count == 1 and values.ndim < 2:
        values = values[..., None]
    if isinstance(raw, bool) or values.ndim not in (1, 2) or values.shape[-1] != count:
        shape = f"{count} numbers" if count != 1 else "a number"
        raise MomentreeError(f"{what}: '{key}' is {reprlib.repr(raw)}; expected {shape}, or many rows of that.")
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row = f" in row {bad[0][0]}" if values.ndim == 2 else ""
        raise MomentreeError(f"{what}: '{key}' is {values[tuple(bad[0])]}{row}; finite numbers are expected.")
    return values


def _joint(mechanism: Mechanism, key: str, what: str) -> tuple[str, str, TreeBody | Loop, Joint]:
    name, component = str(key).rstrip("'"), ""
    if name not in mechanism.by_joint:
        name, _, component = str(key).partition(".")
    body_or_loop = mechanism.by_joint.get(name)
    if body_or_loop is None or body_or_loop.joint is None:
        raise MomentreeError(f"{what}: there is no joint '{name}'.{suggestion(name, mechanism.by_joint)}")
    if isinstance(body_or_loop, TreeBody) and body_or_loop.laws is not None:
        raise MomentreeError(f"{what}: joint '{name}' has a prescribed motion; choose the time t instead.")
    return name, component, body_or_loop, body_or_loop.joint


def _numbers(key: str, raw: Any, component: str, names: tuple[str, ...], what: str) -> tuple[list[int], Array]:
    if component and component not in names:
        near = f" Did you mean 'v{component}'?" if f"v{component}" in names else suggestion(component, names)
        raise MomentreeError(f"{what}: '{key}': the joint has no '{component}'.{near}")
    indices = [names.index(component)] if component else list(range(len(names)))
    try:
        values = np.atleast_1d(np.array(raw, dtype=float))
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if isinstance(raw, bool) or values.shape != (len(indices),) or not np.isfinite(values).all():
        wanted = ", ".join(names[i] for i in indices) or "nothing: the joint does not move"
        raise MomentreeError(f"{what}: '{key}' is {raw!r}; expected {len(indices)} finite numbers ({wanted}).")
    return indices, values


def _unit_quaternions(q: Array, key: str, what: str) -> Array:
    lengths = np.linalg.norm(q, axis=-1, keepdims=True)
    if (lengths < 1e-6).any():
        raise MomentreeError(f"{what}: the quaternion of '{key}' has zero length; its order is (x, y, z, w).")
    return np.asarray(q / lengths)
