"""Exact derivatives of quantities by their arguments, as functions of arrays: on processors and GPUs like these."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Sequence
from typing import Any

from momentree.compile.execute.callables import OfState, Quantity
from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.functions import function_of
from momentree.compile.trace.quantities import ARGUMENTS
from momentree.errors import MomentreeError, suggestion
from momentree.structure.free_parameters import FreeParameters
from momentree.structure.mechanism import Mechanism

SPACES = ("coordinates", "tangent")


class QuantityDerivatives(Quantity):
    """The derivatives of a quantity by the numbers of some arguments, which stand side by side in the last axis.

    Arguments are those of the quantity; `of_state` as there. By coordinates, quaternions count as four numbers, whose
    length does not matter; in tangent space the columns of q are along the velocities.
    """

    def __init__(
        self, mechanism: Mechanism, what: str, by: Sequence[str], free: FreeParameters | None = None,
        space: str = "coordinates", of_state: OfState | None = None,
    ):  # fmt: skip
        doc = f"Derivatives of {what} by {', '.join(by)}."
        super().__init__(mechanism, what, doc, None, free, None, of_state)
        self._by, self._space, self.__name__ = tuple(by), space, f"derivatives of {what}"
        self._derivative = function_of(mechanism, what).derivative(by, space == "tangent")
        self._shape = (*self._shape, self._derivative.shape[1])

    def __reduce__(self) -> tuple[Any, ...]:
        return QuantityDerivatives, (self._mechanism, *self._made_with, self._of_state)

    @property
    def _made_with(self) -> tuple[Any, ...]:
        return self._what, self._by, self._free, self._space

    def _of(self, mechanism: Mechanism) -> Quantity:
        return QuantityDerivatives(mechanism, *self._made_with)

    def _new_kernel(self, varied: bool, target: Target | None = None) -> Kernel:
        function, seeds, by_rows = self._derivative.function, self._derivative.seeds, self._derivative.by_rows
        gives = "" if not seeds else "row" if by_rows else "column"
        return function.kernel(target, None if target is None else 1, gives)


def checked_arguments(what: str, by: str | Sequence[str] | None, space: str) -> tuple[str, ...]:
    """The arguments by which a quantity is differentiated, in its order; all but time if none is given."""
    if not isinstance(what, str) or what not in ARGUMENTS:
        message = f"derivatives: there is no quantity {reprlib.repr(what)}"
        raise MomentreeError(f"{message}.{suggestion(str(what), ARGUMENTS)}")
    if not isinstance(space, str) or space not in SPACES:
        message = f"derivatives of {what}: there is no space {reprlib.repr(space)}"
        raise MomentreeError(f"{message}.{suggestion(str(space), SPACES)}")
    names = ARGUMENTS[what]
    if by is None:
        return tuple(name for name in names if name != "t")
    wanted = [by] if isinstance(by, str) or not isinstance(by, Iterable) else list(by)
    for name in wanted:
        if not isinstance(name, str) or name not in names:
            message = f"derivatives of {what}: by= names {reprlib.repr(name)}, which is no argument of it"
            raise MomentreeError(f"{message}. Choose among {', '.join(map(repr, names))}.")
    if not wanted:
        raise MomentreeError(f"derivatives of {what}: by= is empty. Choose among {', '.join(map(repr, names))}.")
    return tuple(name for name in names if name in wanted)
