"""Parameters and inputs that nothing in a model uses: a name misspelt elsewhere, or a law that was forgotten."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from momentree.model.model import Model

_WORD = re.compile(r"[^\W\d]\w*")
_SILENT = ("name", "notes", "source", "parameters", "inputs")  # of a model: fields that use no parameter


def unused_parameters(model: Model) -> list[str]:
    """Their names, in the order of the model; a parameter that only another one uses is used."""
    said = [value for name, value in vars(model).items() if name not in _SILENT]
    said += [value for _, value in model.parameters]  # those of inputs too, their defaults
    used = set(_words(said))
    return [name for name, _ in model.parameters if name not in used]


def _words(said: Any) -> Iterator[str]:
    """All words of all texts in it."""
    if isinstance(said, str):
        yield from _WORD.findall(said)
    elif isinstance(said, Mapping):
        yield from _words([*said, *said.values()])
    elif isinstance(said, (list, tuple)):
        for part in said:
            yield from _words(part)
    elif hasattr(said, "__dict__"):
        yield from _words([*vars(said).values()])
