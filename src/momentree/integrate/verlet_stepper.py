"""Structure-preserving integrators as callables: "verlet", "verlet4", for trees and for systems with loops."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from typing import cast

from momentree.compile.emit.lanes import module
from momentree.compile.emit.llvm_functions import Lines
from momentree.compile.execute.kernel import aligned
from momentree.compile.execute.machine_code import Target, linked, object_code
from momentree.compile.trace.right_hand_sides import (
    ROWS,
    Traced,
    accounts_of,
    loop_codes,
    physical_right_hand_side_code,
    split_code,
)
from momentree.equations.forces import loaded_loops
from momentree.errors import MomentreeError, suggestion
from momentree.integrate.explicit import HEAD, Status
from momentree.integrate.rattle import ClosingAdvance, ClosingLayout
from momentree.integrate.stepper import Array, Integration, Stepper
from momentree.integrate.tableaux import Row, Tableau
from momentree.integrate.verlet import Advance, Layout, Parts
from momentree.structure.mechanism import Mechanism

_S = 1 / (4 - 4 ** (1 / 3))  # Suzuki 1990
INTEGRATORS: dict[str, tuple[float, ...]] = {"verlet": (1.0,), "verlet4": (_S, _S, 1 - 4 * _S, _S, _S)}
HERMITE: tuple[Row, ...] = ({0: 1.0}, {0: -2.0, 1: -1.0, 2: 3.0}, {0: 1.0, 1: 1.0, 2: -2.0})  # of the three stages
_ADVANCE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 8)


def advance_text(
    codes: Mapping[str, Traced], parts: Parts, layout: Layout, weights: Sequence[float], width: int, parameters: bool
) -> str:
    """The module of advance_W; the codes are those of `kick`, `drift`, of loops and, for dense output, `velocities`."""
    texts, functions = list[str](), set[tuple[str, int]]()
    for name, code in codes.items():
        written, called = code.lanes(width, name)
        texts += written
        functions |= called
    ends = [math.fsum(weights[:k]) for k in range(len(weights))] + [1.0]
    tables = [_table("weights", "double", [Lines(1).number(w) for w in weights])]
    tables += [_table("ends", "double", [Lines(1).number(c) for c in ends])]
    tables += [_table(name, "i64", [x for pair in pairs for x in pair]) for name, pairs in parts._asdict().items()]
    shape = len(weights), width, parameters
    closing = isinstance(layout, ClosingLayout)
    text = (ClosingAdvance(parts, layout, *shape) if closing else Advance(parts, layout, *shape)).text()
    return module(1, [*texts, *tables, text], functions)


def _table(name: str, kind: str, values: Sequence[object]) -> str:
    return f"@{name} = internal constant [{len(values)} x {kind}] [{', '.join(f'{kind} {x}' for x in values)}]"


class SymplecticStepper:
    """Takes steps of "verlet" or "verlet4", of W motions at a time: what Stepper (stepping.py) does.

    | argument   | meaning                                                                          |
    |------------|----------------------------------------------------------------------------------|
    | mechanism  | its free parameters as they are; loops are closed at the end of every step       |
    | integrator | one of INTEGRATORS                                                               |
    | code       | "straight-line" or "rolled", unless given what suits                             |
    | accounts   | whether the accounts of work stand in y behind q and p (compile/trace/right_hand_sides.py)        |
    | dense      | whether records hold the stages that dense output needs                          |
    """

    def __init__(
        self, mechanism: Mechanism, integrator: str = "verlet", width: int = 1, code: str | None = None,
        accounts: bool = True, dense: bool = False, target: Target | None = None,
    ):  # fmt: skip
        _check(mechanism, integrator)
        target, weights = target or Target.host(), INTEGRATORS[integrator]
        count = len(accounts_of(mechanism)) if accounts else 0
        self.n, self.width, self.dense = mechanism.nq + mechanism.nv + count, width, dense
        self.projected = False  # loops close within a step, not after it
        self.tableau = Tableau(integrator, order=2 if len(weights) == 1 else 4, c=(), a=(), b={}, dense=HERMITE)
        shape = mechanism.nq, mechanism.nv, count, width, len(weights), dense
        codes = dict(zip(("kick", "drift"), split_code(mechanism, code, accounts), strict=True))
        self.layout = Layout(*shape)
        if mechanism.loops:
            self.layout = ClosingLayout(*shape, ROWS * len(mechanism.loops))
            codes |= loop_codes(mechanism, code)
        if dense:
            codes["rhs"] = physical_right_hand_side_code(mechanism, code, accounts)
        text = advance_text(codes, Parts.of(mechanism), self.layout, weights, width, bool(mechanism.free))
        self._library = linked(object_code(text, target), f"advance_{width}", {})
        self._function = _ADVANCE(self._library[f"advance_{width}"])
        self._scratch_size = max(8, *(one.scratch(width) for one in codes.values()))

    def columns(self, values: Array) -> Array:
        """Values (n, W) as columns; nothing lost yet, no differences known."""
        found = aligned(self.layout.size)
        found[:] = 0
        found[: values.size] = values.reshape(-1)
        return found

    def floors(self, sized: bool) -> Array:
        """None is read."""
        return aligned(8)

    def motion(
        self,
        y: Array,
        t: float,
        h: float,
        rtol: float = 0.0,
        atol: float | None = None,
        parameters: Array | None = None,
    ) -> SymplecticIntegration:
        """W motions (n, W) that begin at t, in steps of h; tolerances play no part."""
        as_others = cast(Stepper, self)  # it has all that a motion asks for
        return SymplecticIntegration(as_others, y, t, h, rtol, atol, parameters)


class SymplecticIntegration(Integration):
    """Motions in progress, towards later times or earlier ones."""

    def unpacked(self, records: Array) -> tuple[Array, Array, Array, Array | None]:
        """t, h, y (records, n, W) and, for dense output, the stages (records, 3, n, W)."""
        stepper = self._stepper
        parts = 4 if stepper.dense else 1
        body = records[:, HEAD:].reshape(len(records), parts, stepper.n, stepper.width)
        return records[:, 0], records[:, 1], body[:, 0], body[:, 1:] if stepper.dense else None

    def reason(self, status: Status) -> str:
        """Why it went no further, where steps are too long, and the way out."""
        if status != Status.TOO_SHORT:
            return ""
        t, h = self.t, abs(float(self.control[1]))
        what = f"at t = {t:.9g} s a step of {h:g} s is too long: its equations have no solution that iteration finds"
        return f"{what}. Take a shorter step, or look at the forces of the model there."


def _check(mechanism: Mechanism, integrator: str) -> None:
    if integrator not in INTEGRATORS:
        known = ", ".join(INTEGRATORS)
        message = f"there is no structure-preserving integrator '{integrator}': choose {known}."
        raise MomentreeError(message + suggestion(integrator, INTEGRATORS))
    if mechanism.constraints:
        raise MomentreeError(f"{integrator}: this system has constraints, which it does not solve for yet.")
    for loop in loaded_loops(mechanism):
        what = "forces on it, and laws that name it"
        raise MomentreeError(f"joint '{loop.name}': closes a loop; {integrator} does not compute {what}. Cut another.")
