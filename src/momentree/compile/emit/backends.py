"""The backends of a tape: each emits its outputs in another language, and is one file here and one name in `FILES`.

What the author of a backend writes, in a file of its own:

1. SPELLINGS: how each operation of trace/operations.py is written. `Backend` checks that none is missing.
2. emit(tape, arrays): the function of these arguments, as text or as an object of another library. `arguments.py`
   finds each input in them, and reports those that do not fit the tape; `text.py` writes operations as statements.
3. load(tape, arrays): the same as something that can be called here, with one sequence of numbers for each argument;
   None where this machine cannot run it.
4. BACKEND = Backend(name, SPELLINGS, emit, load).

tests/unit/compile/emit/test_backends.py then runs it on every operation, at ordinary numbers, zeros and infinities.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from momentree.compile.emit.arguments import Arrays
from momentree.compile.trace.operations import complete
from momentree.compile.trace.tape import Tape
from momentree.errors import MomentreeError, suggestion

FILES = ("c_code", "casadi", "llvm")  # in this folder

Call = Callable[..., Sequence[float]]


@dataclass(frozen=True)
class Backend:
    """A language that a tape can be emitted in; the four fields are points 1 to 4 above."""

    name: str
    spellings: Mapping[str, Any]
    emit: Callable[[Tape, Arrays], Any]
    load: Callable[[Tape, Arrays], Call | None]

    def __post_init__(self) -> None:
        complete(self.name, self.spellings)


def backends() -> dict[str, Backend]:
    """All backends, by name."""
    files = (importlib.import_module(f"momentree.compile.emit.{file}") for file in FILES)
    return {file.BACKEND.name: file.BACKEND for file in files}


def backend(name: str) -> Backend:
    """The backend of this name."""
    available = backends()
    if name not in available:
        raise MomentreeError(f"there is no backend '{name}'.{suggestion(name, available)}")
    return available[name]
