"""The system that a simulation steps: the user's, with laws and polynomials of time in place of inputs that change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from momentree.errors import MomentreeError
from momentree.model.expressions.expression import Reference
from momentree.simulate.events import Watched
from momentree.simulate.inputs import Inputs
from momentree.structure.input_signals import acting, driven
from momentree.structure.mechanism import Mechanism

if TYPE_CHECKING:
    from momentree.system import System


def driven_system(system: System, inputs: Inputs) -> System:
    """The same system where no input changes. Machine code is kept with the user's system, for other values too."""
    if not inputs.given:
        return system
    from momentree.system import System

    degrees = {name: signal.degree for name, signal in inputs.signals.items()}
    made = System(driven(system.mechanism, inputs.laws, degrees), system._model, system.code)
    key = f"inputs {sorted((name, str(law)) for name, law in inputs.laws.items())} {sorted(degrees.items())}"
    vars(made)["_code_of_phases"] = vars(system).setdefault("_code_of_phases", {}).setdefault(key, {})
    vars(made)["_numeric"] = acting(system.mechanism, inputs.laws, inputs.signals)
    return made


def events_with_inputs(mechanism: Mechanism, events: Sequence[Watched], inputs: Inputs) -> list[Watched]:
    """Events that may name inputs; a jump of an input has no moment at which an expression is zero."""
    laws = acting_laws(mechanism, inputs)
    found = [event._replace(expression=event.expression.substitute(laws)) for event in events] if laws else [*events]
    for event in found:
        for name in sorted({one.name for one in event.expression.references()} & inputs.jumping):
            raise MomentreeError(
                f"event '{event.name}': names input '{name}', which jumps. Use coordinates and velocities, or an input "
                "that is a law or interpolated linearly."
            )
    return found


def acting_laws(mechanism: Mechanism, inputs: Inputs) -> dict[Reference, object]:
    """Laws in place of inputs, parameters put in."""
    values = {Reference(name): value for name, value in mechanism.parameters}
    return {Reference(name): law.substitute(values) for name, law in inputs.laws.items()}
