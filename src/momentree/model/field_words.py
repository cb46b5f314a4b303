"""What a field of a dataclass says of itself where its type does not tell: `laws: Annotated[tuple[...], LAW]`."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any, NamedTuple, get_type_hints


class Says(NamedTuple):
    """Words of a field, for passes over all numbers, frames and laws of a thing (structure/parts.py).

    | word | meaning                                                                                           |
    |------|---------------------------------------------------------------------------------------------------|
    | law  | expressions that are evaluated where they are used, at a time, coordinates and velocities         |
    | kept | something about the thing, no part of it that passes change: a graph, settings, the user's frames |
    """

    law: bool = False
    kept: bool = False


LAW, KEPT, NOTHING = Says(law=True), Says(kept=True), Says()


@cache
def words(cls: Any) -> dict[str, Says]:
    """The words of each field of a dataclass."""
    hints = get_type_hints(cls, include_extras=True)
    extras = {field.name: getattr(hints[field.name], "__metadata__", ()) for field in dataclasses.fields(cls)}
    return {name: next((word for word in found if isinstance(word, Says)), NOTHING) for name, found in extras.items()}
