"""Inputs and outputs of a run over time: columns by name, with units."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from momentree.assembly.configuration import Array
from momentree.errors import spell_checked
from momentree.model.check import known_references
from momentree.model.expressions.expression import Expression, Reference
from momentree.model.inputs import Input, Output
from momentree.model.switches import frame_references
from momentree.model.values import TIME
from momentree.simulate.blocks import read_only
from momentree.simulate.driven_system import acting_laws
from momentree.simulate.events import frame_motion
from momentree.simulate.input_schedule import name_in_checkpoint
from momentree.simulate.inputs import NO_INPUTS, Inputs, input_of, inputs_of
from momentree.structure.input_signals import HeldSignal, acting
from momentree.structure.mechanism import Mechanism
from momentree.structure.switched_constraints import switched

if TYPE_CHECKING:
    from momentree.model.model import Model
    from momentree.results.run import Run


class NamedColumn(NamedTuple):
    """An input or output over time."""

    name: str
    unit: str
    values: Array


def output_laws(mechanism: Mechanism, model: Model) -> dict[str, Expression]:
    """The expression of each output of a model, by name, with the parameters put in that are not free."""
    joints = (one.joint for one in mechanism.by_joint.values())
    known = known_references((joint for joint in joints if joint is not None), model.frames)
    return {output.name: mechanism.open_values.law(output.expression, known, "expression") for output in model.outputs}


@spell_checked
class RunInputs:
    """What a run was driven by, and what of it has a name of its own."""

    @cached_property
    def inputs(self) -> dict[str, Array]:
        """Each input over time, k, by name; at a knot, where it may jump, the value from then on."""
        run = cast("Run", self)
        return {name: self._column(Expression("reference", (Reference(name),))) for name in run.system.inputs}

    @cached_property
    def outputs(self) -> dict[str, Array]:
        """Each output of the model over time, k, by name."""
        run = cast("Run", self)
        return {name: self._column(law) for name, law in output_laws(run._whole, run.system._model).items()}

    def named_columns(self) -> dict[str, list[NamedColumn]]:
        """Inputs and outputs, where there are any, with units: "input" and "output"."""
        model = cast("Run", self).system._model
        kinds: dict[str, tuple[Sequence[Input | Output], dict[str, Array]]] = {}
        if model.inputs:
            kinds["input"] = model.inputs, self.inputs
        if model.outputs:
            kinds["output"] = model.outputs, self.outputs
        return {
            kind: [NamedColumn(one.name, one.unit, columns[one.name]) for one in listed]
            for kind, (listed, columns) in kinds.items()
        }

    @cached_property
    def _inputs(self) -> Inputs:
        """Those that are not constant."""
        run = cast("Run", self)
        return saved_inputs(run.system.mechanism, run.settings.get("inputs"))

    def _column(self, expression: Expression) -> Array:
        """An expression of time, parameters, inputs, coordinates, velocities and frames, at every sample."""
        run = cast("Run", self)
        expression = expression.substitute(acting_laws(run.mechanism, self._inputs))
        values = {Reference(name): value for name, value in run.mechanism.parameters}
        expression = expression.substitute(values)
        references = expression.references()
        names: dict[Reference, Any] = {TIME: run.t}
        names.update({Reference(name): signal(run.t) for name, signal in run.mechanism.signals})
        for name in sorted({one.name for one in references}):
            of = run._whole.by_joint.get(name)
            if of is not None and of.joint is not None:
                for listed, columns in ((of.joint.coordinates, run[name]), (of.joint.velocities, run.velocity(name))):
                    names.update(zip(listed, np.asarray(columns).reshape(len(run.t), -1).T, strict=True))
            elif name in dict(run.mechanism.frames):
                names.update(zip(frame_references(name), self._frame_columns(name), strict=True))
        with np.errstate(all="ignore"):
            column = np.asarray(expression.evaluate(names), dtype=float)
        return read_only(np.array(np.broadcast_to(column, run.t.shape)))

    def _frame_columns(self, name: str) -> list[Array]:
        """Position, velocity and angular velocity of a frame of the model, relative to the ground, in its axes."""
        run = cast("Run", self)
        frame = dict(run.mechanism.frames)[name]
        return [*run._each(lambda samples: np.stack(frame_motion(samples, frame), axis=-1)).T]


def saved_inputs(mechanism: Mechanism, settings: Any) -> Inputs:
    """The inputs with which a run was made; functions are what they gave."""
    if not settings:
        return NO_INPUTS
    varying = {name: input_of(name, setting) for name, setting in settings.items()}
    found = inputs_of(mechanism, {name: one for name, one in varying.items() if not isinstance(one, float)})
    held = {name: HeldSignal(settings[name].get("t", ()), settings[name].get("values", ())) for name in found.functions}
    return found._replace(signals={**found.signals, **held})


def with_values_so_far(settings: Mapping[str, Any], checkpoint: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a run that is not finished, with what functions have given up to a checkpoint."""
    inputs = {name: dict(setting) for name, setting in settings.get("inputs", {}).items()}
    for name, setting in inputs.items():
        if "function" in setting:
            setting["t"], setting["values"] = checkpoint[name_in_checkpoint(name)].reshape(2, -1).tolist()
    return {**settings, **({"inputs": inputs} if inputs else {})}


def mechanism_of_run(mechanism: Mechanism, inputs: Inputs, inactive: Collection[str] | None = None) -> Mechanism:
    """The mechanism in floats, with the inputs of a run, and without what did not act when it began."""
    numeric = acting(mechanism, inputs.laws, inputs.signals) if inputs.given else mechanism.at_defaults()
    return numeric if inactive is None else switched(numeric, inactive)
