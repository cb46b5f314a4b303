"""What makes two functions the same: a digest of all that their results can depend on.

| part of a function               | counts by                                                                         |
|----------------------------------|-----------------------------------------------------------------------------------|
| code, names of arguments         | content                                                                           |
| default arguments                | value                                                                             |
| what it encloses, globals read   | value; functions and classes by their parts, and so on                            |
| the object of a bound method     | class and attributes, cached properties left out                                  |
| parts of a partial               | value                                                                             |
| installed packages, Python       | names and versions                                                                |

What has no value that another process could find again, such as an open file, is refused.
"""

from __future__ import annotations

import builtins
import copyreg
import dis
import functools
import hashlib
import importlib.util
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from momentree.errors import MomentreeError

PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented))
# what a class has by itself, or says of itself
UNSAID = {"__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__qualname__"}
UNSAID |= {"__static_attributes__", "__firstlineno__", "__abstractmethods__", "_abc_impl"}
UNSAID |= {"__dataclass_fields__", "__dataclass_params__"}
UNSAID |= {"__annotate__", "__annotations_cache__", "__annotate_func__"}
INSTALLED = ("site-packages", "dist-packages")  # folders of packages that others wrote
SLOTS: tuple[type, ...] = (types.MemberDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType)
SLOTS += (types.MethodDescriptorType, types.ClassMethodDescriptorType)
UNBOUND = (types.ModuleType, type(None))
GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME")


class Unknown(MomentreeError):
    """Something that has no value which another process could find again."""


def function_identity(function: Callable[..., Any]) -> str:
    """The name of a function, and a digest of all that its results can depend on; raises `Unknown`."""
    name = getattr(function, "__qualname__", type(function).__name__)
    try:
        return f"function {name} ({_Digests().of(function).hex()[:16]})"
    except RecursionError:
        raise Unknown("things within things without end") from None


class _Digests:
    """Digests of values; of one that contains itself, by how far above it stands."""

    def __init__(self) -> None:
        self._done: dict[int, tuple[Any, bytes]] = {}  # with the value, so that no other takes its place in memory
        self._above: list[int] = []

    def of(self, value: Any) -> bytes:
        """Equal for equal values."""
        if type(value) in PLAIN:
            return _joined([type(value).__name__, repr(value)])
        if id(value) in self._above:
            return _joined(["above", str(len(self._above) - self._above.index(id(value)))])
        if id(value) not in self._done:
            self._above.append(id(value))
            try:
                self._done[id(value)] = value, _joined(self._parts(value))
            finally:
                self._above.pop()
        return self._done[id(value)][1]

    def all_of(self, values: Any) -> list[bytes]:
        """Of each."""
        return [self.of(value) for value in values]

    def _parts(self, value: Any) -> Sequence[str | bytes]:
        """What it consists of, its kind first."""
        match value:
            case types.CodeType():
                return ["code", *self._code(value)]
            case types.ModuleType():
                return ["module", _version(value.__name__)]
            case types.FunctionType() if not _is_installed(value) or "<" in value.__qualname__:
                return ["function", *self._function(value)]
            case types.MethodType():
                return ["method", *self.all_of([value.__func__, value.__self__])]
            case types.BuiltinFunctionType() | types.MethodWrapperType() if not isinstance(value.__self__, UNBOUND):
                return ["method", value.__name__, self.of(value.__self__)]
            case type() if not _is_installed(value):
                return ["class", *self._class(value)]
            case types.FunctionType() | type() | types.BuiltinFunctionType():
                return ["installed", _version(value.__module__ or ""), value.__qualname__]
            case staticmethod() | classmethod():
                return [type(value).__name__, self.of(value.__func__)]
            case property():
                return ["property", *self.all_of([value.fget, value.fset, value.fdel])]
            case functools.cached_property():
                return ["cached property", self.of(value.func)]
            case np.ndarray() if value.dtype.kind != "O":
                return ["array", str(value.dtype.descr), str(value.shape), value.tobytes()]
        return self._parts_of_data(value)

    def _parts_of_data(self, value: Any) -> Sequence[str | bytes]:
        kind = type(value)
        if kind in (tuple, list):
            return [kind.__name__, *self.all_of(value)]
        if kind in (set, frozenset):
            return [kind.__name__, *sorted(self.all_of(value))]
        if kind in (dict, types.MappingProxyType):
            return [kind.__name__, *self.all_of(one for pair in value.items() for one in pair)]
        if kind in SLOTS:
            return ["slot", kind.__name__, str(value.__name__)]
        return ["object", *self._object(value)]

    def _function(self, function: types.FunctionType) -> Iterator[bytes]:
        yield self.of(function.__code__)
        yield self.of(function.__defaults__)
        yield self.of(function.__kwdefaults__)
        yield self._attributes({name: one for name, one in vars(function).items() if name != "__wrapped__"})
        for cell in function.__closure__ or ():
            yield self.of(_content(cell))
        yield from self._read(function.__code__, function.__globals__)

    def _code(self, code: types.CodeType) -> Iterator[str | bytes]:
        yield code.co_code
        yield code.co_exceptiontable
        arguments = code.co_argcount + code.co_kwonlyargcount
        yield repr((code.co_names, code.co_varnames[:arguments], code.co_posonlyargcount, code.co_kwonlyargcount))
        yield repr((code.co_flags, code.co_freevars, code.co_cellvars))
        yield from self.all_of(code.co_consts)

    def _read(self, code: types.CodeType, names: Mapping[str, Any]) -> Iterator[bytes]:
        """The globals that code reads, and what it reads of modules that are not installed, or imports itself."""
        for instruction in dis.get_instructions(code):
            name = instruction.argval
            if instruction.opname == "IMPORT_NAME":
                yield _file_digest(name)
            elif instruction.opname in GLOBALS:
                value = names.get(name, getattr(builtins, name, None))
                yield _joined([name, self.of(value)])
                if isinstance(value, types.ModuleType):
                    yield from self._members(value, code.co_names)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                yield from self._read(constant, names)

    def _members(self, module: types.ModuleType, names: Sequence[str]) -> Iterator[bytes]:
        """What code that reads these names can read of a module."""
        if _is_installed_module(module.__name__) or id(module) in self._above:
            return
        self._above.append(id(module))
        for name in names:
            if name in vars(module):
                value = vars(module)[name]
                yield _joined([name, self.of(value)])
                if isinstance(value, types.ModuleType):
                    yield from self._members(value, names)
        self._above.pop()

    def _class(self, kind: type) -> Iterator[str | bytes]:
        yield kind.__qualname__
        yield from self.all_of(kind.__bases__)
        yield self._attributes({name: one for name, one in vars(kind).items() if name not in UNSAID})

    def _object(self, value: Any) -> Iterator[bytes]:
        """As it is pickled."""
        try:
            reducer = copyreg.dispatch_table.get(type(value))
            reduced = reducer(value) if reducer is not None else value.__reduce_ex__(4)
        except Exception:  # whatever an object does that cannot be pickled
            raise Unknown(_described(value)) from None
        if isinstance(reduced, str):  # by its name
            if not hasattr(value, "__wrapped__") and not _is_installed(value):
                raise Unknown(_described(value))
            yield _joined([reduced, self.of(getattr(value, "__wrapped__", None))])
            return
        make, arguments, state, listed, pairs = (*reduced, None, None, None)[:5]
        yield from self.all_of([make, arguments])
        yield self._state(type(value), state)
        yield from self.all_of(listed or ())
        yield from self.all_of(one for pair in pairs or () for one in pair)

    def _state(self, kind: type, state: Any) -> bytes:
        if not isinstance(state, dict):
            return self.of(state)
        return self._attributes({name: one for name, one in state.items() if name not in _cached(kind)})

    def _attributes(self, named: Mapping[Any, Any]) -> bytes:
        """In whichever order they were set."""
        return _joined(sorted(_joined([self.of(name), self.of(value)]) for name, value in named.items()))


def _joined(parts: Sequence[str | bytes]) -> bytes:
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(b"%d:" % len(data) + data)
    return total.digest()


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not set yet
        return NotImplemented


def _cached(kind: type) -> set[str]:
    members = [pair for each in kind.__mro__ for pair in vars(each).items()]
    return {name for name, member in members if isinstance(member, functools.cached_property)}


def _described(value: Any) -> str:
    kind = type(value)
    return f"a {kind.__qualname__}" if kind.__module__ == "builtins" else f"a {kind.__module__}.{kind.__qualname__}"


# --- installed packages ---


def _is_installed(thing: Any) -> bool:
    """Whether a function or class is known by its name and the version of its package."""
    return _is_installed_module(getattr(thing, "__module__", None) or "")


@functools.cache
def _is_installed_module(name: str) -> bool:
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or top == "momentree":
        return True
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    return any(folder in Path(file).parts for folder in INSTALLED)


def _version(module: str) -> str:
    top = module.partition(".")[0]
    version = ".".join(map(str, sys.version_info[:2])) if top in sys.stdlib_module_names else ""
    return f"{module} {version or getattr(sys.modules.get(top), '__version__', '')}"


def _file_digest(module: str) -> bytes:
    """Of a module that a function imports while it runs: of its file, where it is not installed."""
    if module == "__main__" or module.partition(".")[0] in sys.stdlib_module_names:
        return _joined([module])
    try:
        found = importlib.util.find_spec(module)
        origin = Path(found.origin) if found is not None and found.origin else None
        if origin is None or any(folder in origin.parts for folder in INSTALLED) or module.startswith("momentree"):
            return _joined([_version(module)])
        return _joined([module, origin.read_bytes()])
    except (ImportError, ValueError, OSError):
        return _joined([module])
