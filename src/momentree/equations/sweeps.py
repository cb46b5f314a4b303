"""Passes along the tree. A step is a small pure function of records; who runs it, and on which scalars, is apart.

A record holds what is known of one body. An outward step takes a body's record and its parent's and returns the fields
that it defines on the body. An inward step takes a body's record, to which its children have already added, and
returns the fields that it defines and what it adds to fields of its parent. Nothing else changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

Fields = dict[str, Any]


class Record(SimpleNamespace):
    """What is known of one body; fields appear as the steps define them."""


OutwardStep = Callable[[Record, Record], Fields]
LocalStep = Callable[[Record], Fields]
InwardStep = Callable[[Record], tuple[Fields, Fields]]


def outward(records: Sequence[Record], step: OutwardStep) -> None:
    """Run a step from the ground to the leaves; records[0] is the ground, `parent` numbers the preceding body."""
    for record in records[1:]:
        record.__dict__.update(step(record, records[record.parent]))


def locally(records: Sequence[Record], step: LocalStep) -> None:
    """Run a step on each body by itself."""
    for record in records[1:]:
        record.__dict__.update(step(record))


def inward(records: Sequence[Record], step: InwardStep) -> None:
    """Run a step from the leaves to the ground; what a body adds to the ground is dropped."""
    for record in reversed(records[1:]):
        fields, to_parent = step(record)
        record.__dict__.update(fields)
        if record.parent:
            parent = records[record.parent].__dict__
            for name, value in to_parent.items():
                parent[name] = parent[name] + value
