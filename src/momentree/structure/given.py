"""Given: what a view, a state or a call gives on top of the definitions of a model; numbers follow from both.

One record is made at the door of each call, by laying one over another: model < view < state < argument. The later wins
by name, and nothing else is dropped. Parameters that the model defines by others follow what is given of these.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class Given:
    """Values that were given by name, and what else differs from the model.

    | field      | meaning                                                                                      |
    |------------|----------------------------------------------------------------------------------------------|
    | parameters | of free parameters and constant inputs: numbers, or arrays with one for each row of a batch  |
    | inputs     | those that change, as they were given (simulate/inputs.py)                                   |
    | t          | time (s); None: that of the model's start, or zero                                           |
    | tolerance  | by how much imprecise loops may stay open (m); None: that of the model                       |
    | inactive   | the constraints that do not act; None: those that do not act at the start                    |
    | held       | bodies whose joints have locked, by number, and the coordinates at which they did            |
    | due        | events that happen at this very state, which is that before them                             |
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    t: float | None = None
    tolerance: float | None = None
    inactive: frozenset[str] | None = None
    held: Mapping[int, float] = field(default_factory=dict)
    due: tuple[str, ...] = ()

    def under(self, later: Given) -> Given:
        """The same, where `later` does not say something else; an input has one value, whichever way it is given."""
        replaced = {*later.parameters, *later.inputs}
        return Given(
            {**_without(self.parameters, replaced), **later.parameters},
            {**_without(self.inputs, replaced), **later.inputs},
            self.t if later.t is None else later.t,
            self.tolerance if later.tolerance is None else later.tolerance,
            self.inactive if later.inactive is None else later.inactive,
            later.held or self.held,
            later.due or self.due,
        )

    def table(self) -> dict[str, Any]:
        """All that is given but inputs and time, in numbers, texts, lists and dicts, as files keep it."""
        off = None if self.inactive is None else sorted(self.inactive)
        held = [[number, at] for number, at in self.held.items()]
        entries = {"parameters": dict(self.parameters), "tolerance": self.tolerance, "inactive": off, "held": held}
        entries["due"] = [*self.due]
        return {name: entry for name, entry in entries.items() if entry or (name == "inactive" and entry is not None)}

    @classmethod
    def of_table(cls, table: Mapping[str, Any]) -> Given:
        """From what `table` gave."""
        off = table.get("inactive")
        held = {int(number): float(at) for number, at in table.get("held", ())}
        inactive = None if off is None else frozenset(map(str, off))
        due = tuple(map(str, table.get("due", ())))
        return cls(dict(table.get("parameters", {})), {}, None, table.get("tolerance"), inactive, held, due)

    def replaced(self, **fields: Any) -> Given:
        """The same with other fields."""
        return dataclasses.replace(self, **fields)


def _without(values: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}


NOTHING = Given()
