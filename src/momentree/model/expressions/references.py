"""References: the names in expressions, of parameters, joint coordinates and velocities, and how they are written."""

from __future__ import annotations

import math
from dataclasses import dataclass

from momentree.spatial.scalar import FUNCTIONS

CONSTANTS = {"pi": math.pi, "deg": math.pi / 180}
APOSTROPHES = "'′’"


@dataclass(frozen=True, order=True, slots=True)
class Reference:
    """What a name in an expression stands for: a parameter, a joint coordinate or component of it, or a velocity."""

    name: str
    component: str = ""
    velocity: bool = False

    def __str__(self) -> str:
        reserved = self.name in FUNCTIONS or self.name in CONSTANTS
        name = f"`{self.name}`" if reserved else _quoted(self.name)
        component = f".{_quoted(self.component)}" if self.component else ""
        return name + component + ("'" if self.velocity else "")


def continues_name(character: str) -> bool:
    """Whether a character may stand inside a name that has no backquotes."""
    return f"_{character}".isidentifier() and character not in "\u00b7\u0387"  # a reader takes these for products


def _quoted(name: str) -> str:
    return name if name[:1].isidentifier() and all(map(continues_name, name)) else f"`{name}`"
