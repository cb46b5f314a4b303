"""The force elements of a model, frozen: frames attached to bodies of the tree, and values in numbers.

`FROZEN` has every list of a model that holds force elements, and how one of them is frozen, in the order in which
they act. A new kind is added here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from momentree.model import Model
from momentree.model import elements as said_as
from momentree.model.expressions.expression import Reference
from momentree.model.frames import Frame
from momentree.model.values import Values
from momentree.structure.contact import Contact
from momentree.structure.force_element import ForceElement, PointForce
from momentree.structure.parts import Attached
from momentree.structure.spring import Spring


class Freezing(NamedTuple):
    """What it takes to freeze an element.

    | field  | meaning                                                           |
    |--------|-------------------------------------------------------------------|
    | values | the parameters                                                    |
    | known  | "coordinate" or "velocity", of every reference that laws may name |
    | attach | a user's frame -> in the body of the tree                         |
    | bodies | their names by number; entry 0 is the ground                      |
    """

    values: Values
    known: dict[Reference, str]
    attach: Callable[[Frame], Attached]
    bodies: tuple[str, ...]

    def between(self, first: Attached, second: Attached) -> str:
        """The bodies of two frames, as the name of an element has them."""
        return f"between {self.bodies[first.body]} and {self.bodies[second.body]}"


def force_elements(model: Model, freezing: Freezing) -> Iterator[ForceElement]:
    """All of a model, each numbered in its list."""
    for collection, frozen in FROZEN.items():
        for number, said in enumerate(getattr(model, collection), 1):
            yield frozen(said, number, freezing)


def _force(said: said_as.PointForce, number: int, freezing: Freezing) -> PointForce:
    laws, frame = said.laws(freezing.values, freezing.known), freezing.attach(said.frame)
    where = f"on {freezing.bodies[frame.body]}"
    return PointForce(f"force {number}", where, frame, laws[:3], laws[3:], said.axes == "body")


def _spring(said: said_as.Spring, number: int, freezing: Freezing) -> Spring:
    ends = freezing.attach(said.first), freezing.attach(said.second)
    stiffness, damping, rest = said.numbers(freezing.values)
    where = freezing.between(*ends)
    return Spring(f"spring {number}", where, *ends, stiffness, damping, rest, said.tension_only)


def _contact(said: said_as.Contact, number: int, freezing: Freezing) -> Contact:
    ends = freezing.attach(said.frame), freezing.attach(said.against)
    name = f"contact {number} of {said.frame.body}"
    return Contact(name, "", *ends, said.law, **said.numbers(freezing.values))


FROZEN: Mapping[str, Callable[[Any, int, Freezing], ForceElement]] = {
    "forces": _force,
    "springs": _spring,
    "contacts": _contact,
}
