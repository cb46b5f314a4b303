"""Steppers of structure-preserving methods: their machine code for one mechanism, a tree or one with loops."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from momentree.compile.emit.lanes import module
from momentree.compile.emit.routine import bits, table
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.right_hand_sides import (
    Traced,
    loop_codes,
    most_rows,
    physical_right_hand_side_code,
    split_code,
    work_terms_of,
)
from momentree.equations.forces import loaded_loops
from momentree.errors import MomentreeError, choices
from momentree.integrate.records import Status
from momentree.integrate.stepper import Stepper
from momentree.integrate.verlet.composition import HERMITE, VERLET, Composition
from momentree.integrate.verlet.layout import Parts, RattleLayout, VerletLayout
from momentree.integrate.verlet.rattle import RattleStep
from momentree.integrate.verlet.step import VerletStep
from momentree.structure.mechanism import Mechanism


def verlet_text(
    codes: Mapping[str, Traced],
    parts: Parts,
    layout: VerletLayout,
    weights: Sequence[float],
    width: int,
    parameters: bool,
) -> str:
    """The module of advance_W; the codes are those of `kick`, `drift`, of loops and, for dense output, `rhs`."""
    texts, functions = list[str](), set[tuple[str, int]]()
    for name, code in codes.items():
        written, called = code.lanes(width, name)
        texts += written
        functions |= called
    ends = [math.fsum(weights[:k]) for k in range(len(weights))] + [1.0]
    tables = [table("weights", [bits(w) for w in weights], "double"), table("ends", [bits(c) for c in ends], "double")]
    tables += [table(name, [x for pair in pairs for x in pair]) for name, pairs in parts._asdict().items()]
    shape = len(weights), width, parameters
    closing = isinstance(layout, RattleLayout)
    text = (RattleStep(parts, layout, *shape) if closing else VerletStep(parts, layout, *shape)).text()
    return module(1, [*texts, *tables, text], functions)


class VerletStepper(Stepper):
    """Takes steps of a structure-preserving method, towards later times or earlier ones.

    | argument    | meaning                                                                          |
    |-------------|----------------------------------------------------------------------------------|
    | mechanism   | its free parameters as they are; loops are closed at the end of every step       |
    | composition | the substeps of a step                                                           |
    | code        | "straight-line" or "rolled"; None: what suits                                    |
    | with_work   | whether work terms stand in y behind q and p (compile/trace/right_hand_sides.py) |
    | dense       | whether records hold the stages that dense output needs                          |
    """

    def __init__(
        self, mechanism: Mechanism, composition: Composition = VERLET, width: int = 1, code: str | None = None,
        with_work: bool = True, dense: bool = False, target: Target | None = None,
    ):  # fmt: skip
        _check(mechanism, composition.name)
        weights, count = composition.weights, len(work_terms_of(mechanism)) if with_work else 0
        shape = mechanism.nq, mechanism.nv, count, width, len(weights), dense
        codes = dict(zip(("kick", "drift"), split_code(mechanism, code, with_work), strict=True))
        layout = VerletLayout(*shape)
        if mechanism.constrained:
            layout = RattleLayout(*shape, most_rows(mechanism))
            codes |= loop_codes(mechanism, code)
        if dense:
            codes["rhs"] = physical_right_hand_side_code(mechanism, code, with_work)
        text = verlet_text(codes, Parts.of(mechanism), layout, weights, width, bool(mechanism.free))
        scratch = [each.scratch(width) for each in codes.values()]
        how = HERMITE if dense else None, False, False  # a fixed step size; loops close within a step, not after it
        parts = 4 if dense else 1
        super().__init__(text, layout, layout.n, width, parts, layout.n * width, *how, scratch, target or Target.host())

    def failure(self, status: Status, t: float, h: float) -> str:
        """Why the machine code went no further, where the step size is too large."""
        if status != Status.TOO_SHORT:
            return ""
        what = f"at t = {t:.9g} s the step size of {h:g} s is too large: iteration finds no solution of its equations"
        return f"{what}. Give a smaller step=, or look at the forces of the model there."


def _check(mechanism: Mechanism, integrator: str) -> None:
    from momentree.integrate.methods import names  # which collects this method too

    for name in mechanism.nonholonomic:
        message = f"constraint '{name}' is nonholonomic; {integrator} preserves the structure of holonomic systems only"
        raise MomentreeError(f"{message}. Choose {choices(names(hamiltonian=False))}.")
    for loop in loaded_loops(mechanism):
        what = "forces on it, and laws that name it"
        raise MomentreeError(f"joint '{loop.name}': closes a loop; {integrator} does not compute {what}. Cut another.")
