"""Passes along the tree. A step is a small pure function of records; who runs it, and on which scalars, is apart.

A record holds what is known of one body. An outward step takes a body's record and its parent's and returns the fields
that it defines on the body; nothing else changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

Fields = dict[str, Any]


class Record(SimpleNamespace):
    """What is known of one body; fields appear as the steps define them."""


OutwardStep = Callable[[Record, Record], Fields]


def outward(records: Sequence[Record], step: OutwardStep) -> None:
    """Run a step from the ground to the leaves; records[0] is the ground, `parent` numbers the preceding body."""
    for record in records[1:]:
        record.__dict__.update(step(record, records[record.parent]))
