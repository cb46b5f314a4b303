"""Inputs that change in the course of a motion: laws in their place, or polynomials of time, segment by segment.

The machine code of a simulation knows a signal as u = c0 + s (c1 + s (c2 + s c3)), s = t - t0. The coefficients and t0
are parameters of the code, which change at the knots: no step reaches across one. Evaluations in floats, of samples for
example, take the signal itself as a function of time (`Mechanism.signals`).
"""

from __future__ import annotations

import bisect
import dataclasses
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentree.errors import MomentreeError
from momentree.model.expressions.expression import Expression, Reference, reference
from momentree.model.field_words import words
from momentree.model.values import TIME
from momentree.spatial.scalar import polynomial
from momentree.structure.mechanism import Mechanism
from momentree.structure.parts import laws_in, numbers_in

Array = NDArray[np.float64]
FOLLOWING = ("torques", "elements", "switches")  # fields of a mechanism whose laws follow inputs that change


@dataclass(frozen=True, eq=False)
class Signal:
    """A function of time made of polynomials, continuous from the right.

    | field        | shape  | meaning                                                                        |
    |--------------|--------|--------------------------------------------------------------------------------|
    | knots        | m      | where each segment begins (s), increasing; the first is -inf                   |
    | base         | m      | t0 of each segment (s), from which its polynomial counts                       |
    | coefficients | m, n   | c0, c1, ... of each segment                                                    |
    """

    knots: Array
    base: Array
    coefficients: Array

    @property
    def degree(self) -> int:
        """Of the polynomials."""
        return int(self.coefficients.shape[1]) - 1

    def __call__(self, t: Any) -> Any:
        """The value at a time, or at many."""
        at = np.asarray(t, dtype=float)
        i = np.searchsorted(self.knots, at, side="right") - 1
        values = polynomial(self.coefficients[i].T if at.ndim else self.coefficients[i], at - self.base[i])
        return values if at.ndim else float(values)

    def segment(self, t: float) -> int:
        """The number of the segment that begins at t, or that t lies in."""
        return int(np.searchsorted(self.knots, t, side="right")) - 1

    def next_knot(self, t: float) -> float:
        """The first knot after t (s); infinite if there is none."""
        i = self.segment(t) + 1
        return float(self.knots[i]) if i < len(self.knots) else np.inf

    def numbers(self, segment: int) -> list[float]:
        """The coefficients of a segment, and its t0 where it is not constant."""
        numbers = [float(c) for c in self.coefficients[segment]]
        return [*numbers, float(self.base[segment])] if self.degree else numbers


class HeldSignal:
    """A function of time that is held between samples that are taken while a motion is computed."""

    degree = 0

    def __init__(self, t: Collection[float] = (), values: Collection[float] = ()):
        self.t, self.values = list(t), list(values)

    def __call__(self, t: Any) -> Any:
        """The value at a time, or at many; before the first sample, that one; NaN where there is none yet."""
        at = np.asarray(t, dtype=float)
        if not self.values:
            return np.full(at.shape, np.nan) if at.ndim else math.nan
        i = np.maximum(np.searchsorted(self.t, at, side="right") - 1, 0)
        return np.array(self.values)[i] if at.ndim else self.values[int(i)]

    def append(self, t: float, value: float) -> None:
        """One more sample."""
        self.t.append(t)
        self.values.append(value)

    def segment(self, t: float) -> int:
        """The number of the sample that is held at t."""
        return bisect.bisect_right(self.t, t) - 1

    def numbers(self, segment: int) -> list[float]:
        """The coefficient of a segment."""
        return [self.values[segment]]


AnySignal = Signal | HeldSignal


# --- mechanisms with other inputs ---


def coefficient_names(mechanism: Mechanism, name: str, degree: int) -> list[str]:
    """Names of the numbers of a signal, that no parameter or joint has."""
    taken = {*mechanism.values.names, *(mechanism.whole or mechanism).by_joint}
    stem = f"{name}_c"
    while any(f"{stem}{k}" in taken for k in range(degree + 2)):
        stem += "_"
    return [f"{stem}{k}" for k in range(degree + 2 if degree else 1)]


def driven(mechanism: Mechanism, laws: Mapping[str, Expression], degrees: Mapping[str, int]) -> Mechanism:
    """The mechanism whose machine code has laws, and polynomials of time, in place of inputs.

    Numbers of the polynomials are its last free parameters, in the order of `degrees`.
    """
    instead, names = {Reference(name): law for name, law in laws.items()}, list[str]()
    for name, degree in degrees.items():
        own = coefficient_names(mechanism, name, degree)
        c = [reference(one) for one in own]
        s = Expression("reference", (TIME,)) - c[-1]
        instead[Reference(name)] = polynomial(c[:-1], s) if degree else c[0]
        names += own
    values = mechanism.values.replaced(dict.fromkeys(names, 0.0))

    def with_polynomials(one: Mechanism) -> Mechanism:
        changed = one.with_laws(lambda law: law.substitute(instead))
        return dataclasses.replace(changed, free=(*one.free, *names), values=values)

    return _whole_too(mechanism, with_polynomials)


def acting(mechanism: Mechanism, laws: Mapping[str, Expression], signals: Mapping[str, AnySignal]) -> Mechanism:
    """The mechanism in floats, other free parameters at their values, with laws and signals in place of inputs."""

    def with_signals(one: Mechanism) -> Mechanism:
        changed = one.with_laws(lambda law: law.substitute({Reference(name): law for name, law in laws.items()}))
        return dataclasses.replace(changed, free=tuple(name for name in one.free if name not in signals))

    fixed = _whole_too(mechanism, with_signals).at_defaults()
    parameters = tuple(pair for pair in fixed.parameters if pair[0] not in laws)
    values = fixed.values.replaced({}, [*laws, *signals])  # what names these inputs is not constant
    kept: dict[str, Any] = {"signals": (*signals.items(),), "parameters": parameters, "values": values}
    return _whole_too(fixed, lambda one: dataclasses.replace(one, **kept))


def _whole_too(mechanism: Mechanism, change: Callable[[Mechanism], Mechanism]) -> Mechanism:
    """A change of a mechanism, and of the one with the constraints that do not act now."""
    return dataclasses.replace(change(mechanism), whole=mechanism.whole and change(mechanism.whole))


# --- where an input may change ---


def refuse_elsewhere(mechanism: Mechanism, names: Collection[str]) -> None:
    """Only torques, forces and conditions of switches follow an input that changes."""
    for where, law in _other_uses(mechanism.whole or mechanism):
        for name in sorted({one.name for one in law.references()} & {*names}):
            raise MomentreeError(
                f"input '{name}': {where} depends on it, and so it has to be constant: only torques and forces follow "
                "an input that changes. Give a number, or write the law of t itself into the model."
            )


def _other_uses(mechanism: Mechanism) -> Iterator[tuple[str, Expression]]:
    """What depends on parameters besides torques, forces and switches, and what messages call it."""
    for name in mechanism.free:
        if name not in mechanism.inputs:  # it keeps its value in a motion, whatever defines it
            free = mechanism.values.replaced({}, mechanism.inputs).scalar(name)
            yield from ((f"the free parameter '{name}'", one) for one in (free,) if isinstance(one, Expression))
    for field, said in words(Mechanism).items():
        part = () if said.kept else getattr(mechanism, field)
        for thing in part if type(part) is tuple else (part,):
            laws = () if field in FOLLOWING else laws_in(thing)
            yield from ((_place(field, thing, True), law) for law in laws)
            numbers = (number for number in numbers_in(thing) if isinstance(number, Expression))
            yield from ((_place(field, thing, False), number) for number in numbers)


def _place(field: str, thing: Any, law: bool) -> str:
    """What messages call a part of a mechanism: its laws, or its numbers."""
    match field, law:
        case "bodies", True:
            return f"the motion of joint '{thing.joint.name}'"
        case "bodies", False:
            return f"body '{thing.name}' or joint '{thing.joint.name}'"
        case "loops", False:
            return f"what closes loop '{thing.name}'"
        case (("loops" | "constraints"), _):
            return f"constraint '{thing.name}'"
        case "ground", _:
            return "the motion of the ground"
        case "latches", _:
            return "a latch"
        case "elements", _:
            return str(thing.title)
        case "frames", _:
            return f"frame '{thing[0]}'"
    return field
