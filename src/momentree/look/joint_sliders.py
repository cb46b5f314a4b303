"""Sliders of joints: what a slider is called, its range, and the coordinates that a state must have where it stands."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from momentree.assembly.state import State
from momentree.errors import AssemblyError, AssemblyWarning
from momentree.look.stage import shown
from momentree.model.joint_type import JointType
from momentree.model.joint_types import Spherical
from momentree.structure.mechanism import Mechanism

if TYPE_CHECKING:
    from momentree.system import System

BALL = Spherical()
TURNS = ("turn x", "turn y", "turn z")
STEPS = 1000  # of a slider


class JointSlider(NamedTuple):
    """One coordinate of a joint; of a ball, one component of its rotation vector.

    | field  | meaning                                                              |
    |--------|----------------------------------------------------------------------|
    | joint  | its name                                                             |
    | part   | name of the coordinate in the joint, "" if it is the only one        |
    | at     | index of the coordinate, or of the component of the rotation vector  |
    | unit   | "m" or "rad"                                                         |
    | turn   | a component of the rotation vector of a ball                         |
    | cyclic | an angle without limits: full turns are not told apart               |
    """

    joint: str
    part: str
    at: int
    unit: str
    low: float
    high: float
    turn: bool = False
    cyclic: bool = False

    @property
    def label(self) -> str:
        """The name and unit beside the slider."""
        return f"{shown(self.joint)}{' ' + self.part if self.part else ''} ({self.unit})"

    @property
    def step(self) -> float:
        """Its resolution: a round number."""
        return float(10.0 ** math.floor(math.log10((self.high - self.low) / STEPS)))

    def value(self, state: State) -> float:
        """Where the slider stands at a state, within its range."""
        q = np.atleast_1d(state[self.joint])
        value = float(_rotation_vector(q)[self.at] if self.turn else q[self.at])
        if self.cyclic:
            value = _wrapped(value)
        return min(max(value, self.low), self.high)

    def given(self, state: State, value: float) -> dict[str, Any]:
        """What `assemble` must be given for the slider to stand at a value, near a state."""
        q = np.atleast_1d(state[self.joint])
        if self.turn:
            vector = _rotation_vector(q)
            vector[self.at] = value
            turned = BALL.integrate(BALL.reference(), [float(x) for x in vector])
            return {self.joint: (*(float(x) for x in q[:-4]), *(float(x) for x in turned))}
        if self.cyclic:
            value = float(q[self.at]) + _wrapped(value - float(q[self.at]))
        return {self._key: value}

    @property
    def _key(self) -> str:
        return f"{self.joint}.{self.part}" if self.part else self.joint

    def moved(self, system: System, state: State, value: float) -> State:
        """The state to which a continuous motion leads, from the present one, as the slider goes to a value."""
        q, end = np.atleast_1d(state[self.joint]), self.given(state, value)
        begin = {self.joint: tuple(q)} if self.turn else {self._key: float(q[self.at])}
        way = {key: np.array([begin[key], end[key]]) for key in end}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssemblyWarning)
            states = system.assemble_many(way, guess=state, t=state.t, strict=False, follow=True, progress=False)
        if any(states.reasons):
            return system.assemble(end, guess=state, t=state.t)  # says why not, or finds it
        if states.branch[0] != states.branch[1]:
            message = f"no continuous motion leads to {self.joint} = {value:.4g} {self.unit}"
            raise AssemblyError(f"{message}: the branch ends before. Move the joint back, or another one.")
        return states[1]


def joint_sliders(mechanism: Mechanism, state: State, size: float) -> Iterator[JointSlider]:
    """The sliders of all joints that move and are not prescribed, those that close loops too."""
    for name, of in mechanism.by_joint.items():
        joint_type = of.joint.type if of.joint is not None else None
        if joint_type is None or joint_type.motion is not None:
            continue
        q = np.atleast_1d(state[name])
        single = len(joint_type.coordinates) == 1
        for i, (part, unit) in enumerate(zip(joint_type.coordinates, joint_type.units, strict=True)):
            if unit != "1":
                low, high, limited = _range(joint_type, i, unit, float(q[i]), size)
                cyclic = unit == "rad" and not limited and not joint_type.threaded
                yield JointSlider(name, "" if single else part, i, unit, low, high, cyclic=cyclic)
        if "1" in joint_type.units:
            yield from (JointSlider(name, part, i, "rad", -3.15, 3.15, True) for i, part in enumerate(TURNS))


def _range(joint_type: JointType, i: int, unit: str, value: float, size: float) -> tuple[float, float, bool]:
    """The limits of a coordinate, or a sensible range about its value; whether both limits exist."""
    low, high = -math.inf, math.inf
    if joint_type.limits is not None and len(joint_type.coordinates) == len(joint_type.velocities):
        low, high = (float(x) for x in joint_type.limits[i])
    limited = math.isfinite(low) or math.isfinite(high)
    cyclic = unit == "rad" and not limited and not joint_type.threaded
    about, half = (0.0, math.pi) if cyclic else (value, math.pi if unit == "rad" else max(size, 1e-6))
    digit = 10.0 ** (math.floor(math.log10(half)) - 2)  # ends that are no limits are short labels: 3.15, not 3.141593
    low = low if math.isfinite(low) else _round(math.floor, min(about - half, high - 2 * half), digit)
    high = high if math.isfinite(high) else _round(math.ceil, max(about + half, low + 2 * half), digit)
    return low, high, limited


def _round(whole: Callable[[float], int], x: float, digit: float) -> float:
    return float(f"{whole(x / digit) * digit:.12g}")


def _rotation_vector(q: Any) -> Any:
    turned = BALL.difference(BALL.reference(), [float(x) for x in q[-4:]])
    return np.array([float(x) for x in turned])


def _wrapped(angle: float) -> float:
    """The same angle from -pi to pi."""
    return math.remainder(angle, 2 * math.pi)
