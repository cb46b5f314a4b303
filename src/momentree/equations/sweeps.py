"""Passes along the tree. A step is a small pure function of records; who runs it, and on which scalars, is apart.

A record holds what is known of one body. An outward step takes a body's record and its parent's and returns the fields
that it defines on the body. A local step takes a body's record alone. An inward step takes a body's record, to which
its children have already added, and returns the fields that it defines and what it adds to fields of its parent.
Nothing else changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any, Protocol

Fields = dict[str, Any]


class Record(SimpleNamespace):
    """What is known of one body; fields appear as the steps define them."""


OutwardStep = Callable[[Record, Record], Fields]
LocalStep = Callable[[Record], Fields]
InwardStep = Callable[[Record], tuple[Fields, Fields]]


class Records(list[Record]):
    """The ground (0) and the bodies of a tree, swept by a plain loop; `parent` numbers the preceding body.

    `order` has parents before children, where the numbers do not. A record may know others by its fields, of these
    records or of others: a step reads them, and changes only its own. `loops` are the records of closed loops.
    """

    loops: Records
    related: bool  # of loops: whether the coordinates and velocities of their joints are known

    def __init__(self, records: Iterable[Record], order: Sequence[int] | None = None):
        super().__init__(records)
        self.order = range(1, len(self)) if order is None else order

    def outward(self, step: OutwardStep) -> None:
        """Run a step from the ground to the leaves."""
        for number in self.order:
            record = self[number]
            record.__dict__.update(step(record, self[record.parent]))

    def locally(self, step: LocalStep) -> None:
        """Run a step on each body by itself."""
        for record in self[1:]:
            record.__dict__.update(step(record))

    def inward(self, step: InwardStep) -> None:
        """Run a step from the leaves to the ground; what a body adds to the ground is dropped."""
        for number in reversed(self.order):
            record = self[number]
            fields, to_parent = step(record)
            record.__dict__.update(fields)
            if record.parent:
                parent = self[record.parent].__dict__
                for name, value in to_parent.items():
                    parent[name] = parent[name] + value


class Runner(Protocol):
    """Who sweeps: Records itself, or the compiled loops of compile/trace/rolled.py."""

    def __call__(self, records: Iterable[Record], order: Sequence[int] | None = None, /) -> Records: ...
