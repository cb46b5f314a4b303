"""States of a run, which carry on: what was given, the inputs, and which joints are locked and constraints act."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from momentree.assembly.state import State
from momentree.structure.switched_constraints import switched

if TYPE_CHECKING:
    from momentree.results.run import Run
    from momentree.system import System


def state_of_run(run: Run, index: int) -> State:
    """The state at a sample: the start of another run, which goes on as this one would."""
    phase, mechanism = run.phase_at(index), run.mechanism
    carried = run.system.given.replaced(inputs=run._inputs.given)
    if mechanism.switches or mechanism.latches:
        carried = carried.replaced(inactive=phase.inactive, held=phase.held, due=run.due_at(index))
    mechanism = dataclasses.replace(switched(mechanism, phase.inactive), given=carried)
    return State(mechanism, run.q[index].copy(), run.v[index].copy(), float(run.t[index]))


def given_to_begin(system: System, start: State) -> dict[str, Any]:
    """What a run is given on top of its model, by a view and by its start, as files keep it."""
    carried = start.mechanism.given
    return system.given.replaced(inactive=carried.inactive, held=carried.held, due=carried.due).table()
