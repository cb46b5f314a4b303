"""Variables of an FMU: names, value references, units and roles, in the order that fmu_sources/instance.h has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import frame_placement, records
from momentree.equations.loops.residual import measure_closure_error
from momentree.errors import MomentreeError, suggestion
from momentree.model.joint_type import Coordinates
from momentree.spatial import Scalar
from momentree.structure.coordinate_rows import coordinate_rows, velocity_rows
from momentree.structure.mechanism import Attached, Mechanism, TreeBody

if TYPE_CHECKING:
    from momentree.assembly.state import State
    from momentree.system import System

DERIVED = {"m": "m/s", "rad": "rad/s", "1": "1/s", "m/s": "m/s2", "rad/s": "rad/s2"}


@dataclass(frozen=True)
class Variable:
    """A variable of an FMU; its value reference is its place among all of them.

    | field       | meaning                                                                           |
    |-------------|-----------------------------------------------------------------------------------|
    | causality   | "independent", "output", "local", "parameter" or "input"                          |
    | variability | "continuous" or "tunable"                                                         |
    | initial     | "exact", "approx" or "calculated"; "" for inputs and time                         |
    | start       | its start value, if it has one                                                    |
    | unit        | "" for none                                                                       |
    | state       | of a derivative: the value reference of the state; else None                      |
    """

    name: str
    description: str
    causality: str
    variability: str = "continuous"
    initial: str = ""
    start: float | None = None
    unit: str = ""
    state: int | None = None


def input_names(system: System, chosen: Sequence[str] | None = None) -> tuple[str, ...]:
    """The free parameters that are inputs: as chosen, or else as the model says."""
    free, names = system.parameters, system.inputs if chosen is None else tuple(chosen)
    for name in names:
        if name not in free:
            what = f"export_fmu: inputs= names '{name}', which is no free parameter"
            raise MomentreeError(f"{what}.{suggestion(name, free)} Free parameters are those of build(free=[...]).")
    return names


def variables_of(
    system: System, start: State, values: Mapping[str, float], inputs: Sequence[str]
) -> tuple[Variable, ...]:
    """All variables, each name once."""
    listed = [Variable("time", "time", "independent", unit="s")]
    listed += _states(system, start)
    listed += [_derivative(state, i) for i, state in enumerate(listed) if i]
    for name, value in values.items():
        role = ("input", "continuous", "") if name in inputs else ("parameter", "tunable", "exact")
        listed.append(Variable(name, f"{role[0]} of the model", *role, start=value))
    for body in named_bodies(system.mechanism):
        for axis in "xyz":
            what = f"{axis} of the origin of body {body.name} in inertial space"
            listed.append(Variable(f"{body.name}.position.{axis}", what, "output", initial="calculated", unit="m"))
    if system.mechanism.constrained:
        what = "largest closure error of any loop or constraint (m, rad)"
        listed.append(Variable("closure_error", what, "local", initial="calculated"))
    return tuple(_each_name_once(listed))


def _states(system: System, start: State) -> Iterator[Variable]:
    """Coordinates, then velocities; where loops are closed from the start values, these are a guess."""
    mechanism = system.mechanism.at_defaults()
    initial = "approx" if mechanism.constrained else "exact"
    rows = zip((*coordinate_rows(mechanism), *velocity_rows(mechanism)), (*start.q, *start.v), strict=True)
    for row, value in rows:
        unit = "" if row.unit == "1" else row.unit
        yield Variable(row.name, row.meaning, "output", "continuous", initial, float(value), unit)


def _derivative(state: Variable, reference: int) -> Variable:
    unit, what = DERIVED[state.unit or "1"], f"derivative of {state.name}"
    return Variable(f"der({state.name})", what, "local", initial="calculated", unit=unit, state=reference)


def _each_name_once(variables: Sequence[Variable]) -> Iterator[Variable]:
    seen: set[str] = set()
    for variable in variables:
        name, k = variable.name, 1
        while name in seen:
            k += 1
            name = f"{variable.name} ({k})"
        seen.add(name)
        yield replace(variable, name=name)


def named_bodies(mechanism: Mechanism) -> list[TreeBody]:
    """The bodies whose positions are outputs; a split body once."""
    return [body for body in mechanism.bodies if not body.image_of]


def outputs_formula(at: Evaluation, v: Coordinates) -> list[Scalar]:
    """The origins of bodies in inertial space, then the closure errors of all constraints."""
    mechanism = at.mechanism
    placed = records(at, closed=mechanism.constrained)
    results: list[Scalar] = []
    for body in named_bodies(mechanism):
        results += [*frame_placement(placed, Attached(body.number, body.own)).offset]
    if mechanism.constrained:
        placed.constraints.locally(measure_closure_error)
        results += [error for loop in placed.constraints[1:] for error in loop.closure_error]
    return results
