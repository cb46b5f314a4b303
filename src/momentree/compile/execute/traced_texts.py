"""Texts of traced code in the cache on disk: a new process finds them without tracing the formulas again.

Object files are found by the text that they are made of (machine_code.py), and making that text takes most of the time:
the formulas are traced on all bodies. So the text of a function is stored too, by what determines it: a digest of the
mechanism, of the formula and its settings, of the processor, and of the source files of this package. A text is a
function of these alone.

| what is asked for           | where it is known from                                 |
|-----------------------------|--------------------------------------------------------|
| arguments, results, memory  | one entry of the cache for each formula                |
| the text of a function      | one entry for each width and name                      |
| anything else               | the formula is traced, as if there were no cache       |

Nothing is stored of a mechanism that holds what this package does not define, such as a user's joint type: how that
computes is in no digest. Nor after the source files have changed while the process runs. MOMENTREE_TEXTS=off stores
nothing at all: for those who replace functions of this package at run time.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import marshal
import os
import pickle
import types
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from momentree.compile.emit.jacobian_code import Derivatives
from momentree.compile.execute import cache
from momentree.compile.execute.kernel import WIDTHS
from momentree.compile.execute.machine_code import Target
from momentree.spatial import IDENTITY, ZERO
from momentree.structure.mechanism import Mechanism

_KNOWN = ("momentree", "numpy", "builtins")  # packages whose things are determined by their fields
_HIDDEN: dict[type, frozenset[str]] = {}  # by class: its cached properties
_PACKAGE = Path(__file__).parents[2]
Written = tuple[list[str], set[tuple[str, int]]]  # texts that define a function, and what it calls


class TracedCode(Protocol):
    """What is traced: see `Code` and `LanesCode`."""

    arrays: tuple[tuple[str, int], ...]
    constant: tuple[bool, ...]
    outputs: int

    def text(self, width: int) -> str: ...
    def lanes(self, width: int, name: str) -> Written: ...
    def scratch(self, width: int) -> int: ...


def remembered(what: tuple[Any, ...], trace: Callable[[], Any]) -> Any:
    """The code that `trace` makes of `what`, traced only where a text of it is asked for that is not in the cache."""
    digest = digest_of(*what)
    return RememberedCode(digest, trace) if digest is not None else trace()


class RememberedCode:
    """Code (kernel.py, emit/lanes.py) whose texts are in the cache, or are traced and stored there.

    | attribute | meaning                                                   |
    |-----------|-----------------------------------------------------------|
    | digest    | of all that determines its text                           |
    | calls     | linked functions that its text calls (kernel.py): none     |
    | jacobian  | the code of its derivatives, if it has one; this and the   |
    |           | next three are those of `Derivatives` (jacobian_code.py)   |
    """

    calls: Mapping[str, int] = types.MappingProxyType({})
    arrays: tuple[tuple[str, int], ...]
    constant: tuple[bool, ...]
    outputs: int
    jacobian: RememberedCode | None = None

    def __init__(self, digest: str, trace: Callable[[], TracedCode]):
        self.digest, self._trace = digest, trace
        shape = self._stored("shape", self._shape)
        self.arrays = tuple((name, count) for name, count in shape["arrays"])
        self.constant, self.outputs = tuple(shape["constant"]), shape["outputs"]
        self._scratch: dict[int, int] = dict(zip(WIDTHS, shape["scratch"], strict=True))
        self.pattern = tuple((row, column) for row, column in shape["pattern"])
        self.autonomous, self.in_time = shape["autonomous"], shape["in_time"]
        if shape["jacobian"]:
            self.jacobian = RememberedCode(f"{digest} jacobian", self._traced_jacobian)

    def lanes(self, width: int, name: str) -> Written:
        """The texts that define `name`_W, and what it calls."""
        texts, functions = self._stored(f"lanes {width} {name}", lambda: self._lanes(width, name))
        return texts, {(called, count) for called, count in functions}

    def text(self, width: int) -> str:
        """The module that defines rows_W."""
        text: str = self._stored(f"rows {width}", lambda: self._traced.text(width))
        return text

    def scratch(self, width: int) -> int:
        """How many numbers of working memory it needs."""
        return self._scratch[width]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._traced, name)

    @functools.cached_property
    def _traced(self) -> TracedCode:
        return self._trace()

    def _traced_jacobian(self) -> Any:
        return Derivatives.of(self._traced).jacobian

    def _shape(self) -> dict[str, Any]:
        code = self._traced
        scratch = [code.scratch(width) for width in WIDTHS]
        known = Derivatives.of(code)
        derivatives = known._asdict() | {"jacobian": known.jacobian is not None}
        shape = {"arrays": code.arrays, "constant": code.constant, "outputs": code.outputs, "scratch": scratch}
        return shape | derivatives

    def _lanes(self, width: int, name: str) -> tuple[list[str], list[tuple[str, int]]]:
        texts, functions = self._traced.lanes(width, name)
        return texts, sorted(functions)

    def _stored(self, part: str, make: Callable[[], Any]) -> Any:
        """A part of the code, as it is in the cache or as it is made."""
        key = cache.key_of("traced text", self.digest, part)
        content = cache.get(key)
        if content is None:
            made = make()
            cache.put(key, zlib.compress(json.dumps(made).encode(), 1))
            return made
        return json.loads(zlib.decompress(content))


# --- what determines a text ---


def digest_of(*what: Any) -> str | None:
    """Equal only where the texts are; None where that cannot be known, or nothing is to be stored."""
    if cache.folder() is None or os.environ.get("MOMENTREE_TEXTS") == "off" or _IMPORTED is None:
        return None
    if _sources() != _IMPORTED:
        return None
    parts = []
    for each in what:
        part = _digest(each)
        if part is None:
            return None
        parts.append(part)
    return cache.key_of(*parts, *Target.host(), _IMPORTED)


def _digest(thing: Any) -> str | None:
    """Of one thing; a mechanism keeps its own."""
    kept: dict[str, Any] = vars(thing) if isinstance(thing, Mechanism) else {}
    if "_digest" not in kept:
        try:
            kept["_digest"] = hashlib.sha256(_written(thing)).hexdigest()
        except (_UnknownError, pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError):
            kept["_digest"] = None
    digest: str | None = kept["_digest"]
    return digest


def _written(thing: Any) -> bytes:
    content = io.BytesIO()
    _Contents(content, protocol=5).dump(thing)
    return content.getvalue()


class _UnknownError(Exception):
    """A thing whose fields do not determine what it computes."""


class _Contents(pickle.Pickler):
    """Writes all that a thing consists of, to be compared and never read: without cached properties.

    Vectors that are ZERO and rotations that are IDENTITY are told from equal ones, as tracing does.
    """

    def persistent_id(self, thing: Any) -> Any:
        """What is in a set, in an order of its own: that of the set differs from process to process."""
        return (type(thing), sorted(map(_written, thing))) if isinstance(thing, (set, frozenset)) else None

    def reducer_override(self, thing: Any) -> Any:
        kind = type(thing)
        if thing is ZERO:
            return "ZERO"
        if thing is IDENTITY:
            return "IDENTITY"
        if kind is types.FunctionType:
            _check_known(thing.__module__)
            if "<" not in thing.__qualname__:
                return NotImplemented  # by its name, which must lead to it
            cells = tuple(cell.cell_contents for cell in thing.__closure__ or ())
            code = marshal.dumps(thing.__code__)  # several lambdas of one function have one name
            return tuple, (
                (thing.__module__, thing.__qualname__, code, cells, thing.__defaults__, thing.__kwdefaults__),
            )
        if isinstance(thing, type):
            _check_known(thing.__module__)
            return NotImplemented
        hidden = _hidden(kind)
        state = thing.__getstate__() if hidden else None
        if not isinstance(state, dict):
            return NotImplemented
        return tuple, ((kind, {name: value for name, value in state.items() if name not in hidden}),)


def _hidden(kind: type) -> frozenset[str]:
    """The cached properties of a class, which this package must define."""
    if kind not in _HIDDEN:
        _check_known(kind.__module__)
        within = [(name, value) for each in kind.__mro__ for name, value in vars(each).items()]
        _HIDDEN[kind] = frozenset(name for name, value in within if isinstance(value, functools.cached_property))
    return _HIDDEN[kind]


def _check_known(module: str | None) -> None:
    if module is None or module.partition(".")[0] not in _KNOWN:
        raise _UnknownError(module)


def _sources() -> str | None:
    """Which files this package consists of, as they are now; None if they are no files, as in an archive."""
    if not os.path.exists(__file__):
        return None
    digest = hashlib.sha256()
    for folder, _, names in sorted(os.walk(_PACKAGE)):
        for name in sorted(names):
            if name.endswith(".py"):
                status = os.stat(os.path.join(folder, name))
                digest.update(f"{folder} {name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


_IMPORTED = _sources()
