"""Passes along the tree: steps, the records that they read and fill, and the plain loop that runs them.

A step is a small pure function of records; who runs it, and on which scalars, is a separate matter.

| step    | takes                                                          | returns                                 |
|---------|----------------------------------------------------------------|-----------------------------------------|
| outward | the records of a body and of its parent                        | fields of the body                      |
| local   | the record of a body                                           | fields of the body                      |
| inward  | the record of a body, to which its children have already added | fields of the body, and what it adds to |
|         |                                                                | fields of its parent                    |

Nothing else changes. Every field is declared in fields.py, and given once in an evaluation or as declared there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any, Protocol, Self

from momentree.equations.fields import DECLARED, REVISED, SUMMED, FieldError, declared, given_twice

Fields = dict[str, Any]


class Record(SimpleNamespace):
    """The quantities of one body or loop; fields appear as the steps give them (fields.py)."""

    def __init__(self, **fields: Any):
        for name in fields:
            if name not in DECLARED:
                declared(name, "a new record")
        super().__init__(**fields)

    def __setattr__(self, name: str, value: Any) -> None:
        self.give({name: value}, "an assignment")

    def give(self, fields: Fields, giver: object) -> None:
        """Add fields that a step has made; `giver` is named where that is an error."""
        fields_so_far = self.__dict__
        for name in fields:
            if name not in DECLARED:
                declared(name, giver)
            if name in fields_so_far and DECLARED[name].kind is not REVISED:
                raise given_twice(name, giver)
        fields_so_far.update(fields)

    def having(self, **fields: Any) -> Self:
        """A copy with other values of some fields, as another step is to see them."""
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.__dict__.update(fields)
        return copy


OutwardStep = Callable[[Record, Record], Fields]
LocalStep = Callable[[Record], Fields]
InwardStep = Callable[[Record], tuple[Fields, Fields]]


def check_summed(to_parent: Fields, step: InwardStep) -> None:
    """Refuse additions to fields of the parent that are not declared as sums."""
    for name in to_parent:
        if declared(name, step).kind is not SUMMED:
            step_name = getattr(step, "__qualname__", step)
            raise FieldError(f"the step '{step_name}' adds to the field '{name}', which is not declared SUMMED.")


class Records(list[Record]):
    """The ground (0) and the bodies of a tree, swept by a plain loop; `parent` numbers the preceding body.

    `order` has parents before children, where the numbers do not. A field of a record may be another record, of these
    or of other ones: a step reads it, and changes only its own. `constraints` are the records of closed loops, then of
    expression constraints; `names` are the values of time and free parameters.
    """

    constraints: Records
    names: dict[Any, Any]
    has_joint_coordinates: bool  # of constraints: set with the coordinates and velocities of closing joints

    def __init__(self, records: Iterable[Record], order: Sequence[int] | None = None):
        super().__init__(records)
        self.order = range(1, len(self)) if order is None else order

    def outward(self, step: OutwardStep) -> None:
        """Run a step from the ground to the leaves."""
        for number in self.order:
            record = self[number]
            record.give(step(record, self[record.parent]), step)

    def locally(self, step: LocalStep) -> None:
        """Run a step on each body by itself."""
        for record in self[1:]:
            record.give(step(record), step)

    def inward(self, step: InwardStep) -> None:
        """Run a step from the leaves to the ground; additions to the ground are dropped."""
        for number in reversed(self.order):
            record = self[number]
            fields, to_parent = step(record)
            record.give(fields, step)
            check_summed(to_parent, step)
            if record.parent:
                parent = self[record.parent].__dict__
                for name, value in to_parent.items():
                    parent[name] = parent[name] + value


class Runner(Protocol):
    """Who sweeps: Records itself, or the compiled loops of compile/trace/rolled.py."""

    def __call__(self, records: Iterable[Record], order: Sequence[int] | None = None, /) -> Records: ...
