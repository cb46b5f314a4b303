"""A mechanism at values of its free parameters: in floats or, where there are many values, in batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from momentree.compile.execute.arrays import Array
from momentree.model.expressions.expression import Reference
from momentree.model.model import as_frame
from momentree.structure.mechanism import Attached, Mechanism

if TYPE_CHECKING:
    from momentree.system import System


class EvaluatedMechanism(NamedTuple):
    """A mechanism at values of its free parameters.

    | field     | meaning                                                                |
    |-----------|------------------------------------------------------------------------|
    | mechanism | in floats, or in batches                                               |
    | names     | parameters by name, for laws; none in floats, whose laws have them in  |
    | batch     | an array with the leading axes of the parameters                       |
    | opened    | the same mechanism before it was evaluated                             |
    """

    mechanism: Mechanism
    names: Mapping[Reference, Array]
    batch: Array
    opened: Mechanism

    def attached(self, frame: Any) -> Attached:
        """A user's frame, whose position may depend on parameters too."""
        return self.opened.attach(as_frame(frame)).evaluated(self.names)


def evaluated_mechanism(system: System, parameters: Mapping[str, Any] | None) -> EvaluatedMechanism:
    """The mechanism of a system; `parameters` replace values that it has."""
    if not parameters or all(np.ndim(value) == 0 for value in parameters.values()):
        numeric = system.with_parameters(parameters)._numeric
        return EvaluatedMechanism(numeric, {}, np.zeros(0), numeric)
    rows = system._free.rows(parameters)
    names = system._free.names_of(rows)
    return EvaluatedMechanism(system.mechanism.evaluated(names), names, rows, system.mechanism)
