"""C99 files of a system: quantities of its dynamics, and whole steps with its start inside."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from momentree.assembly.given_values import given_values, values_now
from momentree.assembly.state import State
from momentree.compile.emit.c_code import c_number
from momentree.compile.emit.c_files import Section, write_c
from momentree.errors import MomentreeError
from momentree.integrate.c_step import step_text, tableau_in_c
from momentree.integrate.methods import DEFAULT
from momentree.simulate.start_checks import check_closed, check_states
from momentree.structure.given import Given
from momentree.structure.mechanism import Mechanism

if TYPE_CHECKING:
    from momentree.system import System

STEP = "step"  # the word in `what` for whole steps


def export_c(
    system: System,
    path: str | os.PathLike[str],
    what: str | Iterable[str],
    integrator: str | None = None,
    start: State | None = None,
) -> None:
    """Write `path` and its header: the quantities that `what` names and, if it names "step", whole steps."""
    wanted = [what] if isinstance(what, str) else [*what]
    quantities = [name for name in wanted if name != STEP]
    if STEP not in wanted:
        if integrator is not None or start is not None:
            raise MomentreeError("export_c: integrator= and start= belong to whole steps. Add 'step' to what=.")
        write_c(system.mechanism, path, quantities)
        return
    refuse_events(system.mechanism, "C")
    tableau = tableau_in_c(DEFAULT if integrator is None else integrator)

    def section(prefix: str) -> Section:
        steps = step_text(system.mechanism, prefix, tableau)
        return with_start(steps, system, prefix, system.start() if start is None else start)

    write_c(system.mechanism, path, quantities, section)


def with_start(section: Section, system: System, prefix: str, start: State) -> Section:
    """With the function that gives the state and the parameters of a start, its loops closed, and the time."""
    parameters = parameter_values(system, start)
    numbers = {"state": [*start.q, *start.v], "parameters": [*parameters.values()]}
    arguments = ", ".join(f"double *{name}" for name in numbers if name == "state" or parameters)
    heading = f"double {prefix}_start({arguments})"
    lines = [f"    {name}[{i}] = {c_number(x)};" for name, values in numbers.items() for i, x in enumerate(values)]
    lines = [*([] if len(start.q) else ["    (void)state;"]), *lines, f"    return {c_number(start.t)};"]
    meaning = "The start of the model: the state, with its loops closed" + (", and parameters." if parameters else ".")
    return section._replace(
        prototypes=(*section.prototypes, ((meaning, "Returns its time (s)."), f"{heading};")),
        functions=(*section.functions, "\n".join([heading, "{", *lines, "}", ""])),
    )


def parameter_values(system: System, start: State) -> Mapping[str, float]:
    """The values of free parameters at a start, with what it carries; its loops must be closed with them."""
    if not isinstance(start, State):
        raise MomentreeError("export: start= must be a state, as system.assemble or system.start returns it.")
    given = given_values(system, start, what="export")
    at = system.at(given.under(Given(values_now(system, start, given))))
    check_states(at.mechanism, start.q, start.v)
    check_closed(at._numeric, start.q[None], start.v[None], np.array([start.t]), "export")
    return at.parameters


def refuse_events(mechanism: Mechanism, where: str) -> None:
    """Refuse what acts at events: steps in C do not look for them."""
    latched = [f"latch of joint '{mechanism.bodies[latch.body - 1].joint.name}'" for latch in mechanism.latches]
    switched = [f"switch of '{switch.name}'" for switch in mechanism.switches]
    if latched or switched:
        names = ", ".join(dict.fromkeys([*latched, *switched]))
        raise MomentreeError(
            f"{mechanism.name}: {names}: steps in {where} do not act at events. "
            "Remove them, or simulate in Python: system.simulate."
        )
