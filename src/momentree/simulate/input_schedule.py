"""The schedule of inputs in a simulation: where steps must end, and which polynomials act from there on.

No step reaches across a knot, so that no method ever sees a kink or a jump within a step. At each knot the coefficients
of the new segment become parameters of the machine code, and Python functions are called at their sample times.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from momentree.assembly.state import State
from momentree.errors import MomentreeError
from momentree.integrate.stepper import Array, Integration
from momentree.simulate.inputs import MOST_CALLS, InputData, Inputs, SampledFunction
from momentree.simulate.settings import Settings
from momentree.structure.input_signals import HeldSignal, Signal

NEAR = 64 * np.finfo(float).eps  # of the time: knots nearer to each other are one
STEP = 1e-6  # of a fixed step: knots must be as near to the end of one


class InputSchedule:
    """The signals of one simulation, and the segment that each of them is in."""

    def __init__(self, inputs: Inputs, settings: Settings, t_start: float):
        self._inputs, self._t_start, self._t_end = inputs, t_start, float(settings.t_end)
        self._size = max(abs(t_start), abs(self._t_end))
        self._entered = dict.fromkeys(inputs.signals, -1)
        if settings.verify and inputs.functions:
            name = next(iter(inputs.functions))
            message = f"input '{name}': a Python function may remember what it was called with"
            raise MomentreeError(f"{message}, so that the error is not estimated. Omit verify, and compare two runs.")
        self._check_range()
        if not settings.method.adaptive and settings.step is not None:
            self._check_steps(settings.integrator, float(settings.step))

    def __bool__(self) -> bool:
        return bool(self._inputs.signals)

    @property
    def cubic(self) -> bool:
        """Whether a signal is a cubic polynomial of time between its knots."""
        return any(signal.degree > 2 for signal in self._inputs.signals.values())

    # --- checks ---

    def _check_range(self) -> None:
        for name, given in self._inputs.given.items():
            if isinstance(given, InputData) and given.outside == "error":
                first, last, slack = float(given.t[0]), float(given.t[-1]), 1e-9 * (self._t_end - self._t_start)
                if first > self._t_start + slack or last < self._t_end - slack:
                    span = f"from t = {first:g} to {last:g} s, and the motion from {self._t_start:g} to {self._t_end:g}"
                    message = f"input '{name}': its values are given {span}"
                    raise MomentreeError(f"{message}. Give more of them, or outside='hold' to continue the end values.")
        for name, function in self._inputs.functions.items():
            if function.function is None:
                message = f"input '{name}': was the Python function '{function.name}', which is not saved with a run"
                way_out = f"inputs={{'{name}': momentree.sampled({function.name}, every={function.every:g})}}"
                raise MomentreeError(f"{message}. Give it again: {way_out}.")
            if (self._t_end - self._t_start) / function.every > MOST_CALLS:
                message = f"input '{name}': every is {function.every:g} s, more than {MOST_CALLS:,} calls"
                raise MomentreeError(f"{message}. Give a longer time between them.")

    def _check_steps(self, integrator: str, step: float) -> None:
        """Steps of fixed size must end at knots."""
        for name, signal in self._inputs.signals.items():
            given = self._inputs.given[name]
            if isinstance(given, SampledFunction):
                knots = np.array([self._t_start + given.every])
            else:
                assert isinstance(signal, Signal)
                inside = (signal.knots > self._t_start) & (signal.knots < self._t_end)
                knots = signal.knots[inside]
            steps = (knots - self._t_start) / step
            off = np.flatnonzero(np.abs(steps - np.round(steps)) > STEP)
            if len(off) and knots[off[0]] < self._t_end:
                message = f"input '{name}': changes at t = {knots[off[0]]:g} s, within a step of {integrator}"
                raise MomentreeError(f"{message} ({step:g} s). Choose steps that end there, or an adaptive integrator.")

    # --- in progress ---

    def stop(self, t: float) -> float:
        """Where the integration from t has to stop: the next knot, or the end."""
        after, stops = t + NEAR * self._size, [self._t_end]
        for name, signal in self._inputs.signals.items():
            stops.append(self._due(name) if isinstance(signal, HeldSignal) else signal.next_knot(after))
        stop = min(stops)
        return stop if stop < self._t_end - NEAR * self._size else self._t_end

    def _due(self, name: str) -> float:
        """When a function is called next."""
        held = self._inputs.signals[name]
        assert isinstance(held, HeldSignal)
        return self._t_start + len(held.t) * self._inputs.functions[name].every

    def enter(self, t: float, state: Callable[[], State]) -> bool:
        """Let the segments that begin at t act; whether any is another than before."""
        near, changed = t + NEAR * self._size, False
        for name, signal in self._inputs.signals.items():
            if isinstance(signal, HeldSignal) and self._due(name) <= near:
                signal.append(t, called(name, self._inputs.functions[name], t, state))
            segment = len(signal.t) - 1 if isinstance(signal, HeldSignal) else signal.segment(near)
            changed |= segment != self._entered[name]
            self._entered[name] = segment
        return changed

    def apply(self, integration: Integration) -> None:
        """Give the coefficients of the segments to the machine code."""
        if self and min(self._entered.values()) >= 0:
            signals = self._inputs.signals
            numbers = [number for name, i in self._entered.items() for number in signals[name].numbers(i)]
            integration.change_last_parameters(np.array(numbers))

    # --- stopping and continuing ---

    def checkpoint(self) -> dict[str, Array]:
        """What is needed to go on, besides the time: the values that functions gave."""
        return {name_in_checkpoint(name): self._held(name) for name in self._inputs.functions}

    def _held(self, name: str) -> Array:
        held = self._inputs.signals[name]
        assert isinstance(held, HeldSignal)
        return np.array([held.t, held.values])

    def restore(self, checkpoint: dict[str, Array]) -> None:
        """Go on from there."""
        self._entered = dict.fromkeys(self._entered, -1)
        for name in self._inputs.functions:
            held = self._inputs.signals[name]
            assert isinstance(held, HeldSignal)
            t, values = checkpoint[name_in_checkpoint(name)].reshape(2, -1).tolist()
            held.t[:], held.values[:] = t, values


def name_in_checkpoint(name: str) -> str:
    """Under which a checkpoint has the values of a function."""
    return f"input {name}"


def called(name: str, function: SampledFunction, t: float, state: Callable[[], State]) -> float:
    """The value that a user's function gives; what goes wrong in it is an error with the input and the time."""
    assert function.function is not None
    arguments: list[Any] = [t, state()] if function.takes_state else [t]
    try:
        value = function.function(*arguments)
    except Exception as error:
        message = f"input '{name}': its function '{function.name}' failed at t = {t:.9g} s"
        raise MomentreeError(f"{message}: {type(error).__name__}: {error}.") from error
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        message = f"input '{name}': its function '{function.name}' gave {value!r} at t = {t:.9g} s"
        raise MomentreeError(f"{message}; a finite number is expected.")
    return number
