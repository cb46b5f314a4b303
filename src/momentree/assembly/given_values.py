"""The door: what a call is given, laid over what a state and a view carry. Every room takes what comes out of here."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from momentree.assembly.state import State, States
from momentree.errors import MomentreeError
from momentree.model.elements import known_references
from momentree.model.expressions.expression import Expression, Reference
from momentree.model.values import TIME
from momentree.structure.free_parameters import FreeParameters
from momentree.structure.given import Given
from momentree.structure.input_signals import acting
from momentree.structure.mechanism import Mechanism
from momentree.structure.same_mechanism import first_difference
from momentree.structure.switched_constraints import switched

if TYPE_CHECKING:
    from momentree.system import System

Method = TypeVar("Method", bound=Callable[..., Any])
MANY = "simulate_many"
JACOBIAN = ("constraint_jacobian", "constraint_drift", "delassus_matrix")
BY_CONSTRAINTS = {"forward_dynamics", "actuation", "multipliers", "constraint_forces", *JACOBIAN}


def given_values(
    system: System,
    state: Any = None,
    parameters: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    t: float | None = None,
    tolerance: float | None = None,
    what: str = "simulate",
) -> Given:
    """What is given on top of a system (the model, or a view of it) by a state and, over that, by arguments.

    A state of another mechanism, and one whose values are not those of the system, are refused.
    """
    arguments = Given({} if parameters is None else parameters, inputs or {}, t, tolerance)
    if not isinstance(state, State):
        return arguments
    named = {*arguments.parameters, *arguments.inputs} if isinstance(parameters, Mapping) or not parameters else set()
    return carried_by(system, state, named, what).under(arguments)


def carried_by(system: System, state: State, named: Collection[str], what: str) -> Given:
    """What a state carries; `named` parameters have other values in this call."""
    if state.mechanism.coordinates != system.mechanism.coordinates:
        raise MomentreeError(f"{what}: the state belongs to another system. Create it with assemble(...) of this one.")
    carried, free = state.given, system.mechanism.free
    if state.mechanism.graph is not system.mechanism.graph:
        carried = carried.replaced(parameters={k: x for k, x in carried.parameters.items() if k in free})
        _refuse_another(system, state, carried, named, what)
    else:
        own = system.given.parameters
        both = {name for name in carried.parameters if name in own and name not in named}
        _refuse_values(what, {name: (carried.parameters[name], own[name]) for name in sorted(both)})
    return carried


def carried_by_states(system: System, states: Any, named: Collection[str], t: float | None) -> Given:
    """What many states carry, `States` or a list: numbers, or an array of values where they differ."""
    if isinstance(states, States):
        one = carried_by(system, State(states.system._numeric, states.q[:1], states.v[:1], states.t), named, MANY)
        theirs, ours = (of.given.parameters for of in (states.system, system))
        for name in sorted({*states.given} & {*ours} - {*named}):
            values = np.atleast_1d(states.given[name])
            for value in values[values != ours[name]][:1].tolist() if theirs.get(name) != ours[name] else ():
                _refuse_values(MANY, {name: (value, ours[name])})
        return one.under(Given(states.given, t=states.t, tolerance=states.system.given.tolerance))
    each = []
    for i, state in enumerate(states):
        if state.mechanism.coordinates != system.mechanism.coordinates:
            raise MomentreeError(f"{MANY}: state {i} belongs to another system. Make it by assemble(...) of this one.")
        each.append(carried_by(system, state, named, MANY))
    times = sorted({float(state.t) for state in states})
    if t is None and len(times) > 1:
        message = f"the states are of different times, {times[0]:g} to {times[-1]:g} s"
        raise MomentreeError(f"{MANY}: {message}. Motions begin together: give t=, or states of one time.")
    names = dict.fromkeys(name for one in each for name in one.parameters)
    both = [*zip(states, each, strict=True)]
    own = {
        name: np.array([one.parameters.get(name, state.parameters.get(name)) for state, one in both]) for name in names
    }
    tolerances = {one.tolerance for one in each if one.tolerance is not None}
    inputs = {name: value for one in each for name, value in one.inputs.items()}
    return Given(own, inputs, times[0], max(tolerances, default=None))


def bound(state: State, system: System, given: Given) -> State:
    """A state as it is in the system with everything that is given, which it then carries."""
    numeric = system._numeric if given.inactive is None else switched(system._numeric, given.inactive)
    carried = system.given.replaced(inactive=given.inactive, held=given.held, due=given.due, inputs=given.inputs)
    return State(dataclasses.replace(numeric, given=carried), state.q, state.v, state.t)


def _refuse_another(system: System, state: State, carried: Given, named: Collection[str], what: str) -> None:
    """Refuse a state that was made with another mechanism, or with other values, whether they are free or not."""
    free = system.mechanism.free
    values = {name: _value(state, name) for name in free if name in state.mechanism.values.names}
    known = {name: x for name, x in values.items() if x is not None}
    numeric = _driven_as(system.at(Given(known)).mechanism, state, carried.inputs)
    difference = first_difference(numeric.whole or numeric, state.mechanism.whole or state.mechanism)
    if difference:
        message = f"{what}: the state belongs to another mechanism: {difference}"
        raise MomentreeError(f"{message}. Create it with system.assemble(guess=...) of this one.")
    ours = system.at(carried).parameters
    _refuse_values(what, {name: (x, ours[name]) for name, x in known.items() if name not in named})


def _driven_as(mechanism: Mechanism, state: State, inputs: Mapping[str, Any]) -> Mechanism:
    """The mechanism in floats, with the inputs that change in the run that a state is of."""
    changing = {name: one for name, one in inputs.items() if name in mechanism.inputs}
    laws = {name: law_of_input(mechanism, one) for name, one in changing.items() if isinstance(one, str)}
    signals: dict[str, Any] = {name: signal for name, signal in state.mechanism.signals if name in changing}
    return acting(mechanism, laws, signals) if changing else mechanism.at_defaults()


def law_of_input(mechanism: Mechanism, text: str) -> Expression:
    """The law that is an input; free parameters stay symbols. What is wrong with it is a Mistake."""
    whole = mechanism.whole or mechanism
    known = known_references(one.joint for one in whole.by_joint.values() if one.joint is not None)
    return mechanism.open_values.law(text, known, "its law")


def _value(state: State, name: str) -> float | None:
    """The number that a parameter has in a state; None where it is a function of time there."""
    if name in state.parameters:
        return state.parameters[name]
    value = state.mechanism.values.scalar(name)
    return float(value) if isinstance(value, (int, float)) else None


def _refuse_values(what: str, pairs: Mapping[str, tuple[float, float]]) -> None:
    """Refuse a state with other values than the system: one of the two is a mistake."""
    other = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    if other:
        differences = ", ".join(f"{name} = {theirs:g}, not {ours:g}" for name, (theirs, ours) in other.items())
        instead = ", ".join(f"'{name}': {theirs:g}" for name, (theirs, _) in other.items())
        message = f"{what}: the state was made with {differences}. Give parameters={{{instead}}}"
        raise MomentreeError(f"{message}, or the values that are wanted.")


# --- states in the place of coordinates and velocities ---


def takes_state(method: Method) -> Method:
    """A method of a system whose first argument is q, and which takes a state instead of q, v, t and parameters."""
    every = inspect.signature(method).parameters.values()
    names = [one.name for one in every if one.kind is one.POSITIONAL_OR_KEYWORD and one.name != "self"]

    @functools.wraps(method)
    def called(self: System, *arguments: Any, **named: Any) -> Any:
        found = arguments_by_state(self, method.__name__, names, arguments, named)
        if found is None and "v" in names and len(arguments) < 2 and named.get("v") is None:
            raise MomentreeError(f"{method.__name__}: give q and v, or a state instead of both.")
        if found is None:
            return method(self, *arguments, **named)
        state = arguments[0] if arguments else named["q"]
        return method(self._acting(state.given.inactive), **found)

    return cast("Method", called)


def arguments_by_state_of(
    mechanism: Mechanism, free: FreeParameters, code: str | None, what: str, names: Sequence[str], *given: Any
) -> dict[str, Any] | None:
    """The same for a function that may outlive its system, by what is left of that."""
    from momentree.system import System

    system = System(mechanism, free.model, code)
    vars(system)["_free"] = free
    return arguments_by_state(system, what, names, *given)


def arguments_by_state(
    system: System, what: str, names: Sequence[str], arguments: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, Any] | None:
    """All arguments by name, where the first is a state; None where it is none. The others follow it in their order."""
    state = arguments[0] if arguments else named.get("q")
    if not isinstance(state, State):
        return None
    rest = [name for name in names if name not in ("q", "v")]
    found = {**dict(zip(rest, arguments[1:], strict=False)), **named}
    if len(arguments) - 1 > len(rest) or np.ndim(found.get("t", 0.0)) or "v" in named:
        raise MomentreeError(f"{what}: a state has q, v, t and the values of parameters. Give no v beside it.")
    given = given_values(system, state, found.get("parameters"), t=found.get("t"), what=what)
    if what in BY_CONSTRAINTS:
        refuse_locked(system.mechanism, given, what)
    own = {"q": state.q, "v": state.v, "t": given.t}
    found |= {name: x for name, x in own.items() if name in names and (name == "q" or found.get(name) is None)}
    values = {**given.parameters, **values_now(system, state, given)}
    return {**found, "parameters": values} if values else found


def refuse_locked(mechanism: Mechanism, given: Given, what: str) -> None:
    """Refuse what depends on constraints where joints have locked, which only a run knows of."""
    names = [mechanism.bodies[number - 1].joint.name for number in given.held]
    if names:
        message = f"at this state {'joint' if len(names) == 1 else 'joints'} {', '.join(map(repr, names))} locked"
        raise MomentreeError(f"{what}: {message}, which only runs heed. Simulate from it, or give its q and v.")


def values_now(system: System, state: State, given: Given) -> dict[str, Any]:
    """The values that inputs, which change in the run that a state is of, have there, with all that is given."""
    signals, found = dict(state.mechanism.signals), dict[str, Any]()
    at = dataclasses.replace(state, t=state.t if given.t is None else given.t)
    for name, one in given.inputs.items():
        if name in system.inputs:
            found[name] = _law_at(system, at, given, one) if isinstance(one, str) else signals[name](at.t)
            if not np.isfinite(found[name]).all():
                message = f"input '{name}': is a Python function, whose value at this state is not known"
                raise MomentreeError(f"{message}. Give parameters={{'{name}': ...}}.")
    return found


def _law_at(system: System, state: State, given: Given, text: str) -> Any:
    whole = state.mechanism.whole or state.mechanism
    law = law_of_input(system.mechanism, text)
    names: dict[Reference, Any] = {TIME: state.t, **system._free.names_of(system._free.rows(given.parameters))}
    for name in sorted({one.name for one in law.references()} & whole.by_joint.keys()):
        joint: Any = whole.by_joint[name].joint
        for listed, values in ((joint.coordinates, state[name]), (joint.velocities, state.velocity(name))):
            names.update(zip(listed, np.atleast_1d(values).tolist(), strict=True))
    return np.asarray(law.evaluate(names), dtype=float)
