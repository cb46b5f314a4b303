"""Assembly: states that close every loop, from given and guessed coordinates (initial conditions, branches)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from momentree.activity import activity
from momentree.assembly.assembly_search import AssemblySearch
from momentree.assembly.closed_velocities import closed_velocities
from momentree.assembly.configuration import Array
from momentree.assembly.named_values import by_name, warn_of_degrees
from momentree.assembly.state import State
from momentree.errors import AssemblyError, MomentreeError
from momentree.model import Model
from momentree.model.start import joint_of
from momentree.model.values import Values
from momentree.structure.mechanism import Mechanism

BRANCH_STARTS = 80  # starts when all branches are wanted


def assemble(
    mechanism: Mechanism,
    given: Mapping[str, Any] | None = None,
    velocities: Mapping[str, Any] | None = None,
    guess: Mapping[str, Any] | State | None = None,
    t: float = 0.0,
) -> State:
    """The state that has the given coordinates and velocities, closes everything, and is nearest to the guess."""
    with activity("assembling", mechanism.name):
        search = AssemblySearch(mechanism, by_name(given, "given"), guess, t)
        warn_of_degrees("assemble", ((entry, entry.value) for entry in (*search.given, *search.hints)))
        return searched_state(search, velocities)


def searched_state(search: AssemblySearch, velocities: Mapping[str, Any] | None) -> State:
    """The state that a search leads to."""
    moving, q = by_name(velocities, "velocities"), search.solve()
    mechanism, t = search.mechanism, search.t
    return State(mechanism, q, closed_velocities(mechanism, q, moving, t, search.unmoved(q)), t)


def branches(
    mechanism: Mechanism,
    given: Mapping[str, Any] | None = None,
    guess: Mapping[str, Any] | State | None = None,
    t: float = 0.0,
) -> list[State]:
    """Every closed configuration found with the given coordinates, nearest to the guess first; velocities at rest."""
    search = AssemblySearch(mechanism, by_name(given, "given"), guess, t)
    warn_of_degrees("branches", ((entry, entry.value) for entry in (*search.given, *search.hints)))
    configurations: list[Array] = []
    for start in search.starts(BRANCH_STARTS):
        at, misfit, _ = search.closing.close(start)
        q = search.unwound(at.q)
        if misfit <= 1 and all(search.distance(q, other) > 1e-6 for other in configurations):
            configurations.append(q)
            remaining = search.freedom(q)
            if remaining:
                raise AssemblyError(
                    f"with these coordinates {remaining} degrees of freedom remain, so that there is a continuum of "
                    "configurations, not branches. Give as many more coordinates."
                )
    if not configurations:
        search.solve()  # says why not
    configurations.sort(key=search.miss)
    return [State(mechanism, q, closed_velocities(mechanism, q, {}, t), t) for q in configurations]


def own_guess(mechanism: Mechanism, model: Model) -> State | Mapping[str, Any] | None:
    """Where assemblies of a model begin unless a guess is given: its start, or the guess of one that does not close.

    None of a model without a start: at the reference, within limits. It is found once for a mechanism.
    """
    if model.start is None or not (model.start.coordinates or model.start.guess):
        return None
    kept = vars(mechanism)
    if "_own_guess" not in kept:
        values = Values(dict(model.parameters))
        start, t = model.start.numbers(values), model.start.times(values)[0]
        guess = start["guess"] or None
        try:
            kept["_own_guess"] = assemble(mechanism, start["coordinates"], None, guess, t)
        except MomentreeError:
            kept["_own_guess"] = guess
    found: State | Mapping[str, Any] | None = kept["_own_guess"]
    return found


def initial_state(
    mechanism: Mechanism,
    model: Model,
    given: Mapping[str, Any] | None = None,
    velocities: Mapping[str, Any] | None = None,
) -> State:
    """The initial state of a model; given values replace those of the model for the same joints."""
    given, velocities = by_name(given, "given"), by_name(velocities, "velocities")
    if model.start is None:
        return assemble(mechanism, given, velocities)
    values = Values(dict(model.parameters))
    start, t = model.start.numbers(values), model.start.times(values)[0]
    guess = own_guess(mechanism, model) if given else start["guess"] or None
    joints = mechanism.by_joint
    for what, instead in (("coordinates", given), ("velocities", velocities)):
        replaced = {joint_of(str(key), joints)[0] for key in instead}
        others = {key: value for key, value in start[what].items() if joint_of(key, joints)[0] not in replaced}
        start[what] = {**others, **instead}
    try:
        return assemble(mechanism, start["coordinates"], start["velocities"], guess, t)
    except MomentreeError as error:
        if given or velocities:
            raise
        source = f"{model.source(('start',))}: " if model.source else ""
        raise AssemblyError(f"{source}start: {error}") from None
