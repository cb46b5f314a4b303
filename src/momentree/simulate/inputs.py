"""Inputs of a simulation, as a user gives them: numbers, arrays over time, laws, Python functions at sample times.

| given                                      | what the input is                                                       |
|--------------------------------------------|-------------------------------------------------------------------------|
| 3.0                                        | constant                                                                |
| (t, values)                                | linear between the points; `signal` has other interpolations            |
| signal(t, values, "cubic", outside="hold") | "hold", "linear" or "cubic"; outside an error, or constant continuation |
| "2*sin(t) - 3*A'"                          | this law, compiled in its place                                         |
| sampled(f, every=0.01)                     | f(t) or f(t, state) at sample times, held between: a digital controller |

A function may give several inputs at once: {("u", "w"): sampled(f, every=0.01)}.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from momentree.assembly.given_values import given_values, law_of_input
from momentree.errors import ExpressionError, MomentreeError, all_choices, spell_checked, suggestion
from momentree.model.expressions.expression import Expression, parse
from momentree.model.tables import coefficients_between
from momentree.model.values import Mistake
from momentree.structure.given import Given
from momentree.structure.input_signals import AnySignal, Array, HeldSignal, Signal, refuse_elsewhere
from momentree.structure.mechanism import Mechanism

if TYPE_CHECKING:
    from momentree.system import System

INTERPOLATIONS = ("hold", "linear", "cubic")
OUTSIDE = ("error", "hold")
MOST_CALLS = 20_000_000  # of a function, in one simulation
WAYS = "a number, (t, values), a law as text, or momentree.sampled(f, every=...)"


@dataclass(frozen=True, eq=False)
class InputData:
    """Values over time: see `signal`."""

    t: Array
    values: Array
    interpolation: str = "linear"
    outside: str = "error"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, InputData):
            return NotImplemented
        same = np.array_equal(self.t, other.t) and np.array_equal(self.values, other.values)
        return same and (self.interpolation, self.outside) == (other.interpolation, other.outside)

    __hash__ = None  # type: ignore[assignment]

    def polynomials(self) -> Signal:
        """As a function of time, constant before the first and after the last point."""
        t, y = self.t, self.values
        inner = y[:-1, None] if self.interpolation == "hold" else coefficients_between(t, y, self.interpolation)
        before, after = np.zeros((2, 1, inner.shape[1]))
        before[0, 0], after[0, 0] = y[0], y[-1]
        return Signal(np.append(-np.inf, t), np.append(t[0], t), np.concatenate([before, inner, after]))


@dataclass(frozen=True, eq=False)
class SampledFunction:
    """A Python function at sample times: see `sampled`."""

    function: Callable[..., Any] | None
    every: float
    takes_state: bool = False
    name: str = "function"


class SharedCalls:
    """A function that gives several inputs: it is called once at each time."""

    def __init__(self, function: Callable[..., Any] | None, names: Sequence[str]):
        self._function, self._names, self._t = function, names, math.nan
        self._values: Sequence[Any] = ()

    def value(self, index: int, *arguments: Any) -> Any:
        """The value for one of the inputs; the first argument is the time."""
        if arguments[0] != self._t:
            assert self._function is not None
            values = list(self._function(*arguments))
            if len(values) != len(self._names):
                raise ValueError(f"it gave {len(values)} values for {len(self._names)} inputs")
            self._t, self._values = arguments[0], values
        return self._values[index]


def one_by_one(given: Mapping[Any, Any]) -> dict[Any, Any]:
    """Inputs by name, where a function may give several: {("u", "w"): sampled(f, every=0.01)}."""
    found: dict[Any, Any] = {}
    for key, one in given.items():
        names = key if isinstance(key, tuple) else (key,)
        for name in names:
            if name in found:
                raise MomentreeError(f"input '{name}': is given twice. Give it once.")
        if isinstance(key, tuple):
            if not isinstance(one, SampledFunction):
                message = f"inputs {', '.join(map(repr, key))}: several inputs are given together by a function only"
                raise MomentreeError(f"{message}: momentree.sampled(f, every=...), where f returns a value for each.")
            shared = SharedCalls(one.function, names)
            for i, name in enumerate(names):
                found[name] = dataclasses.replace(one, function=functools.partial(shared.value, i))
        else:
            found[key] = one
    return found


@spell_checked
def signal(t: Any, values: Any, interpolation: str = "linear", outside: str = "error") -> InputData:
    """An input by its values at increasing times (s): `simulate(inputs={"u": signal(t, u, "cubic")})`.

    | interpolation | between the points                                                              |
    |---------------|---------------------------------------------------------------------------------|
    | "hold"        | the value of the point before; it jumps at each point                           |
    | "linear"      | straight lines                                                                  |
    | "cubic"       | cubic polynomials, twice continuously differentiable (not-a-knot at the ends)   |

    A motion must lie within the times, unless outside="hold": then the first and last values continue.
    """
    times, numbers = _numbers(t, "t"), _numbers(values, "values")
    if len(times) != len(numbers):
        raise MomentreeError(f"signal: there are {len(times)} times and {len(numbers)} values. Give as many of each.")
    if not len(times):
        raise MomentreeError("signal: there are no points. Give at least one, or a number for a constant input.")
    back = np.flatnonzero(np.diff(times) <= 0)
    if len(back):
        i = int(back[0])
        message = f"t must increase, but t[{i}] = {times[i]:g} and t[{i + 1}] = {times[i + 1]:g}"
        raise MomentreeError(f"signal: {message}. Sort the points; for a jump, use interpolation='hold'.")
    for what, chosen, known in (("interpolation", interpolation, INTERPOLATIONS), ("outside", outside, OUTSIDE)):
        if chosen not in known:
            raise MomentreeError(f"signal: {what} {chosen!r} is not known.{all_choices(str(chosen), list(known))}")
    if interpolation != "hold" and len(times) < 2:
        raise MomentreeError(f"signal: '{interpolation}' needs at least two points. Give more, or a number.")
    data = InputData(times, numbers, interpolation, outside)
    with np.errstate(all="ignore"):
        if not np.isfinite(data.polynomials().coefficients).all():
            raise MomentreeError("signal: its slopes are too large for numbers. Give times that are further apart.")
    return data


@spell_checked
def sampled(function: Callable[..., Any], every: float) -> SampledFunction:
    """A Python function as an input: called every so many seconds, held in between, as a digital controller is.

    It takes the time, f(t), or the time and the state there, f(t, state), and returns a number: `state["A"]` is a
    joint's coordinate, `state.velocity("A")` its velocity. As the value for several inputs, by a tuple of their names,
    it returns a number for each.
    """
    name = getattr(function, "__name__", type(function).__name__)
    if not callable(function):
        raise MomentreeError(f"sampled: {reprlib.repr(function)} is not a function. Give f(t) or f(t, state).")
    good = isinstance(every, (int, float, np.number)) and not isinstance(every, bool)
    if not good or not np.isfinite(every) or every <= 0:
        raise MomentreeError(f"sampled: every is {every!r}; give a positive number of seconds between calls of {name}.")
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of what is not written in Python
        return SampledFunction(function, float(every), False, name)
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in positional if p.default is p.empty]
    several = any(p.kind == p.VAR_POSITIONAL for p in parameters)
    if len(required) > 2 or not (positional or several):
        raise MomentreeError(f"sampled: {name} takes {len(required)} arguments. Write it as f(t) or f(t, state).")
    return SampledFunction(function, float(every), len(required) == 2 or several, name)


def _numbers(values: Any, what: str) -> Array:
    try:
        array = np.asarray(values)
        right = array.dtype.kind in "iuf" and array.ndim == 1 and not np.ma.is_masked(values)
    except (TypeError, ValueError):
        right = False
    if not right:
        raise MomentreeError(f"signal: {what} is {reprlib.repr(values)}; a list or array of numbers is expected.")
    array = array.astype(float)
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise MomentreeError(f"signal: {what}[{bad[0]}] is {array[bad[0]]}; finite numbers are expected.")
    return array


# --- one input, as it is given, saved and compared ---

Varying = InputData | SampledFunction | str


def input_of(name: str, given: Any) -> float | Varying:
    """A number, values over time, a function, or the text of a law."""
    try:
        return _input_of(given)
    except (MomentreeError, ExpressionError) as error:
        raise MomentreeError(f"input '{name}': {error}") from None


def _input_of(given: Any) -> float | Varying:
    if isinstance(given, (InputData, SampledFunction)):
        return given
    if isinstance(given, Mapping):
        return _from_setting(given)
    if isinstance(given, (str, Expression)):
        constant = _constant(given)
        return str(given) if constant is None else constant
    if callable(given):
        message = "a Python function needs sample times: give momentree.sampled(f, every=0.01)"
        raise MomentreeError(f"{message}; a formula is exact as text, such as '2*sin(t) - 3*A''.")
    try:
        if isinstance(given, Sequence) and len(given) == 2 and all(np.ndim(part) == 1 for part in given):
            if isinstance(given, list) and any(isinstance(part, tuple) for part in given):
                raise MomentreeError(f"{reprlib.repr(given)} is a list of points. Give (times, values), two lists.")
            return signal(*given)
        number = np.asarray(given) if not isinstance(given, bool) else np.asarray("")
    except (TypeError, ValueError):  # lists of lists that make no array
        number = np.asarray("")
    if number.dtype.kind not in "iuf" or number.ndim:
        raise MomentreeError(f"its value is {reprlib.repr(given)}; give {WAYS}.")
    if not np.isfinite(number):
        raise MomentreeError(f"its value is {float(number)}; a finite number is expected.")
    return float(number)


def _constant(law: str | Expression) -> float | None:
    """The number that a law is, if it is one; what is wrong with a text is found where its names are known."""
    try:
        return parse(law).value if isinstance(law, str) else law.value
    except ExpressionError:
        return None


def _from_setting(setting: Mapping[str, Any]) -> Varying:
    """From what `setting_of` gave."""
    if "law" in setting:
        return str(setting["law"])
    if "function" in setting:
        return SampledFunction(None, float(setting["every"]), name=str(setting["function"]))
    if {"t", "values"} <= setting.keys() <= {"t", "values", "interpolation", "outside"}:
        return signal(**setting)
    raise MomentreeError(f"its value is {reprlib.repr(dict(setting))}; give {WAYS}.")


def setting_of(given: Varying) -> dict[str, Any]:
    """What is saved of an input with a run."""
    if isinstance(given, str):
        return {"law": given}
    if isinstance(given, SampledFunction):
        return {"function": given.name, "every": given.every}
    points = {"t": given.t.tolist(), "values": given.values.tolist()}
    return {**points, "interpolation": given.interpolation, "outside": given.outside}


def in_words(setting: Mapping[str, Any]) -> str:
    """What an input was, as reports say it."""
    if "law" in setting:
        return str(setting["law"])
    if "function" in setting:
        return f"function {setting['function']} every {setting['every']:g} s, held in between"
    t, how = setting["t"], {"hold": "held", "linear": "linear", "cubic": "cubic"}[setting["interpolation"]]
    beyond = ", constant beyond" if setting["outside"] == "hold" else ""
    return f"{len(t)} values from {t[0]:g} to {t[-1]:g} s, {how} in between{beyond}"


def split_inputs(system: System, given: Mapping[str, Any] | None) -> tuple[dict[str, float], dict[str, Varying]]:
    """The inputs that are constant, and the others, by name."""
    if given is not None and not isinstance(given, Mapping):
        raise MomentreeError(f"inputs is {reprlib.repr(given)}; give inputs={{name: ...}}, each {WAYS}.")
    names, constants, varying = system.mechanism.inputs, dict[str, float](), dict[str, Varying]()
    for name, one in one_by_one(given or {}).items():
        if name not in names:
            is_parameter = name in system.mechanism.values.names
            hint = " It is a parameter: give parameters=." if is_parameter else suggestion(str(name), names)
            hint = hint if names or is_parameter else " The model has none: declare it by m.input(name)."
            raise MomentreeError(f"there is no input '{name}'.{hint}")
        read = input_of(name, one)
        if isinstance(read, float):
            constants[name] = read
        else:
            varying[name] = read
    return constants, varying


def given_to_run(
    system: System,
    start: Any,
    parameters: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    what: str = "simulate",
) -> tuple[System, Given]:
    """The system with all that is given to a run, and what is given; constant inputs are values like others."""
    constants, varying = split_inputs(system, inputs)
    for name in (*constants, *varying):
        if name in (parameters or {}):
            raise MomentreeError(f"input '{name}': is given in parameters= too. Give it once.")
    values = {**(parameters or {}), **constants} if isinstance(parameters, Mapping) or not parameters else parameters
    given = given_values(system, start, values, varying, what=what)
    at = system.at(given)
    known = {name: one for name, one in given.inputs.items() if name in at.inputs}  # of those that a state carries
    return at, given.replaced(inputs=known)


def inputs_again(saved: Mapping[str, Any], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The inputs of a run that is continued: as saved, functions as given again; other data must be the same."""
    again: dict[str, Any] = dict(saved)
    for name, one in one_by_one(given or {}).items():
        if name not in saved:
            listed = suggestion(str(name), saved) if saved else " It had none that change."
            raise MomentreeError(f"input '{name}': the run was begun without it.{listed}")
        new, old = input_of(name, one), input_of(name, saved[name])
        if isinstance(new, SampledFunction) and isinstance(old, SampledFunction):
            if new.every != old.every:
                message = f"input '{name}': the run was begun with a function every {old.every:g} s"
                raise MomentreeError(f"{message}, not {new.every:g} s.")
            again[name] = new
        elif new != old:
            raise MomentreeError(f"input '{name}': the run was begun with other values. Omit it: it is saved.")
    return again


# --- all inputs of one simulation ---


class Inputs(NamedTuple):
    """Inputs that are not constant, of one mechanism.

    | field     | meaning                                                                    |
    |-----------|----------------------------------------------------------------------------|
    | laws      | expressions in place of inputs                                             |
    | signals   | functions of time                                                          |
    | functions | those of the signals that Python functions give                            |
    | given     | as they were given                                                         |
    """

    laws: Mapping[str, Expression]
    signals: Mapping[str, AnySignal]
    functions: Mapping[str, SampledFunction]
    given: Mapping[str, Varying]

    @property
    def settings(self) -> dict[str, Any]:
        """What is saved with a run; of functions, the values so far."""
        saved = {name: setting_of(one) for name, one in self.given.items()}
        for name in self.functions:
            held = self.signals[name]
            assert isinstance(held, HeldSignal)
            saved[name] |= {"t": list(held.t), "values": list(held.values)}
        return saved

    @property
    def jumping(self) -> set[str]:
        """The inputs that may jump at knots."""
        held = {n for n, one in self.given.items() if isinstance(one, InputData) and one.interpolation == "hold"}
        return {*self.functions, *held}


NO_INPUTS = Inputs({}, {}, {}, {})


def inputs_of(mechanism: Mechanism, varying: Mapping[str, Varying]) -> Inputs:
    """The inputs of a mechanism; what is wrong with one is an error that names it."""
    if not varying:
        return NO_INPUTS
    laws, signals, functions = dict[str, Expression](), dict[str, AnySignal](), dict[str, SampledFunction]()
    refuse_elsewhere(mechanism, varying)
    for name, one in varying.items():
        if isinstance(one, str):
            laws[name] = _law(mechanism, name, one, varying)
        elif isinstance(one, SampledFunction):
            signals[name], functions[name] = HeldSignal(), one
        else:
            signals[name] = one.polynomials()
    return Inputs(laws, signals, functions, dict(varying))


def _law(mechanism: Mechanism, name: str, text: str, varying: Mapping[str, Any]) -> Expression:
    """The law in place of an input; other free parameters stay symbols."""
    whole = mechanism.whole or mechanism
    try:
        law = law_of_input(mechanism, text)
    except Mistake as mistake:
        raise MomentreeError(f"input '{name}': {mistake}") from None
    named = {one.name for one in law.references()}
    for other in sorted(named & {name, *varying}):
        what = "itself" if other == name else f"input '{other}', which is not constant"
        raise MomentreeError(f"input '{name}': its law names {what}. Use coordinates, velocities, t and parameters.")
    for switch in mechanism.switches:
        if switch.name in named & whole.by_joint.keys():
            message = f"its law names joint '{switch.name}', which is switched or released"
            raise MomentreeError(f"input '{name}': {message}. Use coordinates of other joints.")
    return law
