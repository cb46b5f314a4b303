"""State: coordinates and velocities of a mechanism at one time, by name; and many of them."""

from __future__ import annotations

import itertools
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from momentree.assembly.configuration import Array, Configuration, Indices
from momentree.errors import MomentreeError, renamed_attributes, spell_checked, suggestion
from momentree.structure.free_parameters import values_in
from momentree.structure.given import Given
from momentree.structure.mechanism import Mechanism


@spell_checked
@dataclass(frozen=True, eq=False)
class State:
    """Where a mechanism is and how it moves: `state["A"]` is a joint's coordinate, `state.velocity("A")` its velocity.

    | field | shape | meaning                             |
    |-------|-------|-------------------------------------|
    | q     | nq    | coordinates of the tree (m, rad)    |
    | v     | nv    | velocities of the tree (m/s, rad/s) |
    | t     |       | time (s)                            |
    """

    mechanism: Mechanism = field(repr=False)
    q: Array
    v: Array
    t: float = 0.0

    if not TYPE_CHECKING:
        __getattr__ = renamed_attributes(rate="velocity", closure="closure_error", closure_rate="closure_velocity")

    @property
    def parameters(self) -> dict[str, float]:
        """The free parameters of the system, and the values with which this state was made."""
        return values_in(self.mechanism)

    @property
    def given(self) -> Given:
        """What was given when it was made, on top of what the model defines; its time."""
        return self.mechanism.given.replaced(t=self.t)

    @cached_property
    def _configuration(self) -> Configuration:
        return Configuration(self.mechanism, self.q, self.v, self.t)

    def __getitem__(self, joint: str) -> float | Array:
        """The coordinates of any joint, one that closes a loop included; a single one as a number."""
        return _single(self._configuration.coordinates_of(self._checked_joint(joint)))

    def velocity(self, joint: str) -> float | Array:
        """The velocities of any joint; a single one as a number."""
        return _single(self._configuration.velocities_of(self._checked_joint(joint)))

    @property
    def closure_error(self) -> float:
        """The largest closure error of any loop or constraint (m, rad)."""
        return float(np.abs(self._configuration.closure_errors()).max(initial=0.0))

    @property
    def closure_velocity(self) -> float:
        """The largest velocity at which any loop or constraint opens (m/s, rad/s)."""
        return float(np.abs(self._configuration.constraint_velocities()).max(initial=0.0))

    def _checked_joint(self, joint: str) -> str:
        if joint not in self.mechanism.by_joint:
            raise MomentreeError(f"there is no joint '{joint}'.{suggestion(joint, self.mechanism.by_joint)}")
        return joint

    def _repr_html_(self) -> str:
        from momentree.look.notebook import state_html

        return state_html(self)

    def __str__(self) -> str:
        lines = [f"{self.mechanism.name} at t = {self.t:g} s, largest closure error {self.closure_error:.1e}"]
        for name, body_or_loop in self.mechanism.by_joint.items():
            joint = body_or_loop.joint.type  # type: ignore[union-attr]
            if joint.coordinates:
                q, v = np.atleast_1d(self[name]), np.atleast_1d(self.velocity(name))
                units = [f"{unit}/s" for unit in joint.velocity_units]
                lines.append(f"  {name:<12} {_with_units(q, joint.units)}, velocity {_with_units(v, units)}")
        return "\n".join(lines)


@spell_checked
@dataclass(frozen=True, eq=False)
class States:
    """Many states of one system: `states[i]` is one of them, `states[2:5]` and `states[[0, 3]]` are some.

    | field      | shape | meaning                                                             |
    |------------|-------|---------------------------------------------------------------------|
    | q, v       | m, n  | coordinates and velocities of the tree; NaN where it does not close |
    | t          |       | time (s)                                                            |
    | parameters | m     | by name, the values of free parameters                              |
    | reasons    | m     | why a state does not close; "" where it does                        |
    | branch     | m     | in a sweep, the number of the branch, which changes where no        |
    |            |       | continuous motion leads on; -1 in rows that do not close, and in    |
    |            |       | all where rows are independent                                      |
    | given      |       | by name, what was given of them: a number, or m                     |
    """

    system: Any = field(repr=False)
    q: Array
    v: Array
    t: float
    parameters: Mapping[str, Array]
    reasons: tuple[str, ...]
    branch: Indices
    given: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.q)

    def __iter__(self) -> Iterator[State]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, i: int) -> State: ...
    @overload
    def __getitem__(self, i: slice | Sequence[int] | Array) -> States: ...

    def __getitem__(self, i: Any) -> State | States:
        chosen = _chosen(i, len(self))
        if chosen.ndim:
            own_of_each = {name: values[chosen] for name, values in self.parameters.items()}
            reasons = tuple(self.reasons[k] for k in chosen.tolist())
            given = {name: values if np.ndim(values) == 0 else values[chosen] for name, values in self.given.items()}
            return States(
                self.system, self.q[chosen], self.v[chosen], self.t, own_of_each, reasons, self.branch[chosen], given
            )
        i = int(chosen)
        own = {name: float(values if np.ndim(values) == 0 else values[i]) for name, values in self.given.items()}
        return State(self.system.with_parameters(own)._numeric, self.q[i].copy(), self.v[i].copy(), self.t)


def _chosen(i: Any, count: int) -> NDArray[np.int64]:
    """The number of one of so many states, or those of some."""
    try:
        chosen = np.asarray(np.arange(count)[i if isinstance(i, (slice, np.ndarray)) else np.asarray(i)])
        if chosen.ndim > 1:
            raise IndexError
    except (IndexError, TypeError, ValueError):
        message = f"there is no state {reprlib.repr(i)}; there are {count}"
        raise MomentreeError(f"states: {message}. Give a number, a slice or a list of numbers.") from None
    return chosen


def _with_units(values: Array, units: Sequence[str]) -> str:
    """Neighbors of one unit together, "0 0 1 m"; a quaternion, whose numbers have none, in parentheses."""
    texts = []
    for unit, group in itertools.groupby(zip(values, units, strict=True), key=lambda pair: pair[1]):
        numbers = " ".join(f"{x:.6g}" for x, _ in group)
        texts.append(f"quaternion ({numbers.replace(' ', ', ')})" if unit == "1" else f"{numbers} {unit}")
    return ", ".join(texts)


def _single(values: tuple[float, ...]) -> float | Array:
    return float(values[0]) if len(values) == 1 else np.array(values, dtype=float)
