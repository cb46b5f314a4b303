"""What `system.simulate` does: settings, start and inputs of a simulation, which is recorded to its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from momentree.activity import showing
from momentree.equations.stabilizations import DEFAULT as DEFAULT_STABILIZATION
from momentree.errors import MomentreeError
from momentree.integrate.methods import FOR_STIFF, METHODS, default_integrator
from momentree.model.switches import named_in
from momentree.results.recorder import record
from momentree.results.run import Run
from momentree.simulate.inputs import given_to_run, inputs_of
from momentree.simulate.settings import is_number, settings_of
from momentree.simulate.simulation import Simulation
from momentree.simulate.start_checks import warn_of_stops

if TYPE_CHECKING:
    from momentree.system import System

Named = Mapping[str, Any] | None
LEAST_RTOL = 1e-12  # below, an implicit method meets the round-off of its iteration


def simulated_run(
    system: System, start: Any, events: Named, inputs: Named, parameters: Named, path: Any, progress: Any, **chosen: Any
) -> Run:
    """Simulate a system at values of its parameters and constant inputs, from a start, its own where it is None."""
    at, given = given_to_run(system, start, parameters, inputs)
    said = at._model.start
    if start is None and said is not None:
        for name in sorted(named_in(list(vars(said).values()), {}) & {*given.inputs}):
            message = "the start of the model depends on it, and so it has to be constant"
            raise MomentreeError(f"input '{name}': {message}. Give a number, or another start.")
    chosen = with_default_integrator(chosen, stiff=said is not None and said.stiff)
    chosen["t_end"] = at.t_end if chosen["t_end"] is None else chosen["t_end"]
    if chosen["t_end"] is None:
        raise MomentreeError("simulate: the model has no end time. Give t_end= in seconds.")
    with showing(progress):
        begin: Any = at.start() if start is None else start
        driven = inputs_of(at.mechanism, given.inputs)
        simulation = Simulation(at, begin, settings_of(**chosen), events or {}, inputs=driven)
        warn_of_stops(simulation.mechanism, simulation.start)
        return record(simulation, path, progress)


def with_default_integrator(chosen: dict[str, Any], stiff: bool) -> dict[str, Any]:
    """The settings with an integrator; where the user chooses none, another one goes on if the motion is stiff."""
    if chosen["integrator"] is not None:
        return chosen
    chosen = {**chosen, "integrator": default_integrator(stiff)}
    rtol, once_stiff, after = chosen["rtol"], chosen["rtol_if_stiff"], METHODS[FOR_STIFF]
    if stiff and once_stiff is not None:  # it is from the beginning
        return {**chosen, "rtol": once_stiff, "rtol_if_stiff": None}
    exact = is_number(rtol) and rtol < LEAST_RTOL
    if stiff or exact or chosen["if_stiff"] is not None or chosen["stabilization"] != DEFAULT_STABILIZATION:
        return chosen
    once_stiff = after.rtol if once_stiff is None and rtol is None else once_stiff
    return {**chosen, "if_stiff": FOR_STIFF, "rtol_if_stiff": once_stiff}
