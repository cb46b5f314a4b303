"""Passes along the tree. A step is a small pure function of records; who runs it, and on which scalars, is apart.

A record holds what is known of one body. An outward step takes a body's record and its parent's and returns the fields
that it defines on the body. A local step takes a body's record alone. An inward step takes a body's record, to which
its children have already added, and returns the fields that it defines and what it adds to fields of its parent.
Nothing else changes.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

Fields = dict[str, Any]


class Record(SimpleNamespace):
    """What is known of one body; fields appear as the steps define them."""


OutwardStep = Callable[[Record, Record], Fields]
LocalStep = Callable[[Record], Fields]
InwardStep = Callable[[Record], tuple[Fields, Fields]]


class Records(list[Record]):
    """The ground (0) and the bodies of a tree, swept by a plain loop; `parent` numbers the preceding body."""

    def outward(self, step: OutwardStep) -> None:
        """Run a step from the ground to the leaves."""
        for record in self[1:]:
            record.__dict__.update(step(record, self[record.parent]))

    def locally(self, step: LocalStep) -> None:
        """Run a step on each body by itself."""
        for record in self[1:]:
            record.__dict__.update(step(record))

    def inward(self, step: InwardStep) -> None:
        """Run a step from the leaves to the ground; what a body adds to the ground is dropped."""
        for record in reversed(self[1:]):
            fields, to_parent = step(record)
            record.__dict__.update(fields)
            if record.parent:
                parent = self[record.parent].__dict__
                for name, value in to_parent.items():
                    parent[name] = parent[name] + value


Runner = Callable[[list[Record]], Records]  # who sweeps: Records itself, or the compiled loops of compile/rolled.py
