"""The start of a model's motion: initial coordinates and velocities by joint, the guess, start and end times."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from momentree.errors import suggestion
from momentree.model.elements import Joint
from momentree.model.values import Mistake, Raw, Values, plain
from momentree.spatial import Scalar
from momentree.spatial.scalar import minimum, select

Entries = dict[str, Raw]
ENTRIES = ("coordinates", "velocities", "guess")
INSIDE = 0.1  # of the room between limits (at most 1 rad or 1 m), by which a joint begins inside them


@dataclass(frozen=True)
class Start:
    """The start of a model's motion; the rest follows from the loops, or is zero.

    Keys are joints, "hull", or one coordinate or velocity of theirs, "hull.z".

    | field       | meaning                                                             |
    |-------------|---------------------------------------------------------------------|
    | coordinates | m, rad, of joints: one, or a list of all that the joint has         |
    | velocities  | m/s, rad/s, likewise                                                |
    | guess       | coordinates near which to close the loops: they choose the branch   |
    | t           | s, the time of the start                                            |
    | t_end       | s, the end of the simulation; None: `simulate` gets it              |
    | stiff       | whether the equations of motion are stiff                           |
    """

    coordinates: Entries = field(default_factory=dict)
    velocities: Entries = field(default_factory=dict)
    guess: Entries = field(default_factory=dict)
    t: Raw = 0
    t_end: Raw = None
    stiff: bool = False

    def __post_init__(self) -> None:
        for name in ENTRIES:
            entries = getattr(self, name)
            if isinstance(entries, Mapping):
                object.__setattr__(self, name, {key: plain(raw) for key, raw in entries.items()})
        for name in ("t", "t_end"):
            object.__setattr__(self, name, plain(getattr(self, name)))

    def numbers(self, values: Values) -> dict[str, dict[str, Any]]:
        """Coordinates, velocities and guess in floats."""
        return {name: {key: _floats(raw, values, key) for key, raw in getattr(self, name).items()} for name in ENTRIES}

    def times(self, values: Values) -> tuple[float, float | None]:
        """t and t_end in floats."""
        t = float(values.scalar(self.t, "t"))
        t_end = None if self.t_end is None else float(values.scalar(self.t_end, "t_end"))
        if t_end is not None and t_end <= t:
            raise Mistake(f"t_end is {t_end:g} s; it must be after the start, {t:g} s.", "t_end")
        return t, t_end

    def check_stiff(self) -> None:
        """It must be true or false."""
        if not isinstance(self.stiff, bool):
            raise Mistake(f"stiff is {self.stiff!r}; write true or false.")


def joint_of(key: str, joints: Collection[str]) -> tuple[str, str]:
    """The joint that a key names, and the coordinate or velocity of it, "" for all: "hull.z" -> "hull", "z"."""
    name, component = key.rstrip("'"), ""
    if name not in joints:
        name, _, component = key.partition(".")
    return name, component.rstrip("'")


def inside_limits(low: Scalar, high: Scalar) -> Scalar:
    """0; or, where limits do not allow it, a value inside them, near the limit that is nearer to 0.

    It is only a guess: loops may move it, which is why it is not at the limit itself.
    """
    inside = INSIDE * minimum(high - low, 1.0)
    return select(low, low + inside, select(-high, high - inside, 0.0))


def check_entry(key: str, raw: Raw, what: str, joint: Joint, component: str, values: Values) -> None:
    """Check that a joint has what an entry of coordinates, velocities or guess names."""
    if joint.type.motion is not None:
        raise Mistake(f"joint '{joint.name}' has a prescribed motion. Choose the time t instead.")
    names = [name.rstrip("'") for name in (joint.type.velocities if what == "velocities" else joint.type.coordinates)]
    if component and component not in names:
        raise Mistake(f"'{key}': the joint has no '{component}'.{suggestion(component, names)}")
    if isinstance(raw, Mapping):
        raise Mistake(
            f'is a table; write one number or a list. The key of a component is in quotes: "{key}.{names[0]}".'
        )
    wanted = [component] if component else names
    numbers = raw if isinstance(raw, tuple) else (raw,)
    if len(numbers) != len(wanted):
        counted = f"{len(numbers)} number{'s' * (len(numbers) != 1)}"
        raise Mistake(f"has {counted}; it takes {len(wanted)}: {', '.join(wanted) or 'the joint does not move'}.")
    _floats(raw, values, key)


def _floats(raw: Raw, values: Values, what: str) -> float | tuple[float, ...]:
    if isinstance(raw, tuple):
        return tuple(float(values.scalar(entry, what)) for entry in raw)
    return float(values.scalar(raw, what))
