"""Tables on symbols: functions of SymPy without a formula, whose derivatives are the next ones: cam, cam', cam''."""

from __future__ import annotations

import functools
import hashlib
from typing import Any

import sympy as sp

from momentree.model.expressions.lookup import Lookup


class TableFunction(sp.Function):  # type: ignore[misc]  # SymPy has no types
    """A table or a derivative of it; each is a subclass with its own `lookup`."""

    lookup: Lookup
    nargs = 1
    is_real = True

    def fdiff(self, argindex: int = 1) -> Any:
        """The derivative: the next function."""
        return function_of(self.lookup.derivative())(self.args[0])

    def _sympystr(self, printer: Any) -> str:
        return f"{self.lookup}({printer._print(self.args[0])})"


@functools.cache
def function_of(lookup: Lookup) -> Any:
    """The function of SymPy that stands for a table or a derivative of it; it has values at numbers.

    SymPy writes Python code with the names of functions and runs it, so this name has nothing of the user's in it.
    """
    digest = hashlib.sha256(f"{lookup.table.name} {lookup.table.identity}".encode()).hexdigest()[:16]
    value = staticmethod(lambda x: float(lookup(float(x))))
    return type(f"table_{digest}_{lookup.order}", (TableFunction,), {"lookup": lookup, "_imp_": value})
