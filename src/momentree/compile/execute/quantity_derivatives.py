"""Exact derivatives of quantities by their arguments, as functions of arrays: on processors and GPUs like these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from momentree.compile.emit.llvm import compile_tape
from momentree.compile.execute.callables import Quantity
from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.functions import TracedFunction, traced_function
from momentree.compile.trace.quantities import ARGUMENTS
from momentree.errors import MomentreeError, suggestion
from momentree.structure.free_parameters import FreeParameters
from momentree.structure.mechanism import Mechanism


class QuantityDerivatives(Quantity):
    """The derivatives of a quantity by the numbers of some arguments, which stand side by side in the last axis.

    Arguments are those of the quantity; quaternions count as four numbers, whose length does not matter.
    """

    def __init__(self, mechanism: Mechanism, what: str, by: Sequence[str], free: FreeParameters | None = None):
        super().__init__(mechanism, what, f"Derivatives of {what} by {', '.join(by)}.", None, free)
        self._what, self._by, self.__name__ = what, tuple(by), f"derivatives of {what}"
        self._function = _all_entries(mechanism, what, by)
        columns = sum(len(inputs) for name, inputs in self._function.arguments if name in by)
        self._shape = (*self._shape, columns)

    def __reduce__(self) -> tuple[Any, ...]:
        return QuantityDerivatives, (self._mechanism, self._what, self._by, self._free)

    def _new_kernel(self, varied: bool, target: Target | None = None) -> Kernel:
        function = self._function
        with function.lock:
            return compile_tape(function.recorded(), function.arguments, None if target is None else 1, target)


def _all_entries(mechanism: Mechanism, what: str, by: Sequence[str]) -> TracedFunction:
    """The function of all derivatives."""
    derivative = traced_function(mechanism, what).derivative(by)
    if derivative.seeds:
        count = derivative.shape[0] * derivative.shape[1]
        message = f"derivatives of {what}: the code of all {count} of '{mechanism.name}' would be too long"
        raise MomentreeError(f"{message}. Name fewer arguments in by=, or use system.jax_function('{what}').")
    return derivative.function


def checked_arguments(what: str, by: str | Sequence[str] | None) -> tuple[str, ...]:
    """The arguments by which a quantity is differentiated, in its order; all but time if none is given."""
    if what not in ARGUMENTS:
        raise MomentreeError(f"derivatives: there is no quantity '{what}'.{suggestion(what, ARGUMENTS)}")
    names = ARGUMENTS[what]
    if by is None:
        return tuple(name for name in names if name != "t")
    wanted = [by] if isinstance(by, str) else list(by)
    for name in wanted:
        if name not in names:
            message = f"derivatives of {what}: by= names {name!r}, which is no argument of it"
            raise MomentreeError(f"{message}. Choose among {', '.join(map(repr, names))}.")
    if not wanted:
        raise MomentreeError(f"derivatives of {what}: by= is empty. Choose among {', '.join(map(repr, names))}.")
    return tuple(name for name in names if name in wanted)
