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
    codes: Mapping[str, Traced], parts: Parts, layout: VerletLayout, weights: Sequence[float], parameters: bool
) -> str:
    """The module of advance_1; the codes are those of `kick`, `drift`, of loops and, for dense output, `rhs`."""
    texts, functions = list[str](), set[tuple[str, int]]()
    for name, code in codes.items():
        written, called = code.lanes(1, name)
        texts += written
        functions |= called
    shape = len(weights), 1, parameters
    closing = isinstance(layout, RattleLayout)
    text = (RattleStep(parts, layout, *shape) if closing else VerletStep(parts, layout, *shape)).text()
    return module(1, [*texts, *verlet_tables(parts, weights), text], functions)


def verlet_tables(parts: Parts, weights: Sequence[float]) -> list[str]:
    """The constants that a step looks up."""
    ends = [math.fsum(weights[:k]) for k in range(len(weights))] + [1.0]
    tables = [table("weights", [bits(w) for w in weights], "double"), table("ends", [bits(c) for c in ends], "double")]
    return tables + [table(name, [x for pair in pairs for x in pair]) for name, pairs in parts._asdict().items()]


def step_codes_of(mechanism: Mechanism, code: str | None, with_work: bool) -> dict[str, Traced]:
    """The codes that a step calls, by name."""
    codes = dict(zip(("kick", "drift"), split_code(mechanism, code, with_work), strict=True))
    return codes | (loop_codes(mechanism, code) if mechanism.constrained else {})


def layout_of(mechanism: Mechanism, work_terms: int, width: int, substeps: int, dense: bool) -> VerletLayout:
    """The memory of a step, with or without loops."""
    shape = mechanism.nq, mechanism.nv, work_terms, width, substeps, dense
    return RattleLayout(*shape, most_rows(mechanism)) if mechanism.constrained else VerletLayout(*shape)


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
        self, mechanism: Mechanism, composition: Composition = VERLET, code: str | None = None,
        with_work: bool = True, dense: bool = False, target: Target | None = None,
    ):  # fmt: skip
        check_preserved(mechanism, composition.name)
        weights, count = composition.weights, len(work_terms_of(mechanism)) if with_work else 0
        codes, layout = step_codes_of(mechanism, code, with_work), layout_of(mechanism, count, 1, len(weights), dense)
        if dense:
            codes["rhs"] = physical_right_hand_side_code(mechanism, code, with_work)
        text = verlet_text(codes, Parts.of(mechanism), layout, weights, bool(mechanism.free))
        scratch = [each.scratch(1) for each in codes.values()]
        how = HERMITE if dense else None, False, False  # a fixed step size; loops close within a step, not after it
        parts = 4 if dense else 1
        super().__init__(text, layout, layout.n, parts, layout.n, *how, scratch, target or Target.host())

    def failure(self, status: Status, t: float, h: float) -> str:
        """Why the machine code went no further, where the step size is too large."""
        if status != Status.TOO_SHORT:
            return ""
        what = f"at t = {t:.9g} s the step size of {h:g} s is too large: iteration finds no solution of its equations"
        return f"{what}. Give a smaller step=, or look at the forces of the model there."


def check_preserved(mechanism: Mechanism, integrator: str) -> None:
    """Raise an error where a method would not preserve the structure of the equations."""
    from momentree.integrate.methods import names  # which collects this method too

    for name in mechanism.nonholonomic:
        message = f"constraint '{name}' is nonholonomic; {integrator} preserves the structure of holonomic systems only"
        raise MomentreeError(f"{message}. Choose {choices(names(hamiltonian=False))}.")
    for loop in loaded_loops(mechanism):
        what = "forces on it, and laws that name it"
        raise MomentreeError(f"joint '{loop.name}': closes a loop; {integrator} does not compute {what}. Cut another.")
