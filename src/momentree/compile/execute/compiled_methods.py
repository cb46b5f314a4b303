"""Methods that machine code computes: an instance gives the function itself, so that a call costs no detour."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])

CODES = ("straight-line", "rolled")  # compile/execute/choice.py


def compiled(described: Method) -> Method:
    """Of the class, the method as it is written; of an instance, what its `_quantity(name)` gives.

    That must always be the same. The method as it is written must give what that function gives.
    """
    return cast("Method", _Compiled(described))


class _Compiled:
    """Not a data descriptor: once an instance holds the function under the same name, it is found without this."""

    def __init__(self, described: Callable[..., Any]):
        self._described, self.__doc__ = described, described.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Callable[..., Any]:
        if instance is None:
            return self._described
        function: Callable[..., Any] = instance._quantity(self._name)
        if self._is_found_by(type(instance)):
            vars(instance)[self._name] = function
        return function

    def _is_found_by(self, kind: type) -> bool:
        """Whether the name leads here, and not to a method of a class derived from ours."""
        return next(vars(c)[self._name] for c in kind.__mro__ if self._name in vars(c)) is self
