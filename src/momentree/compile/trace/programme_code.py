"""Programmes as machine code: velocities, deviations, accelerations, decay matrices of a programme, and motions by it.

A source of a programme gives its fields on a tape: from expressions (`ExpressionProgramme`) or from the sweeps of a
mechanism. Arguments are q, qd, t and parameters; results are flat, row after row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from momentree.compile.emit.jacobian_code import Differentiated
from momentree.compile.emit.llvm import StraightLine
from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.formulas import Arguments
from momentree.compile.trace.tape import Tape, Variable
from momentree.equations import programme
from momentree.equations.programme import Column, ProgrammeFields
from momentree.equations.programme_fields import ExpressionProgramme
from momentree.spatial import Scalar


class ProgrammeSource(Protocol):
    """What can be recorded as a programme."""

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of q."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of what may have another value at each call."""

    @property
    def constraints(self) -> tuple[str, ...]:
        """Texts or names of the rows a q' = b."""

    def on_tape(
        self, tape: Tape, q: Sequence[Variable], t: Variable, parameters: Column, differentiated: bool = True
    ) -> ProgrammeFields:
        """The fields of the programme; derivatives may be left out unless it is to be differentiated."""

    def rows_on_tape(self, tape: Tape, q: Sequence[Variable], t: Variable, parameters: Column) -> Rows:
        """a and b."""

    def accelerations_on_tape(
        self, tape: Tape, f: ProgrammeFields, q: Sequence[Variable], qd: Column, t: Variable, parameters: Column
    ) -> Column:
        """q'' of the stabilized equations, with the reactions of constraints that exist physically."""

    def inertial_on_tape(
        self, f: ProgrammeFields, q: Sequence[Variable], qd: Column, qdd: Column, t: Variable, parameters: Column
    ) -> Column:
        """m q'' + c."""

    def decay_on_tape(
        self, tape: Tape, f: ProgrammeFields, q: Sequence[Variable], t: Variable, parameters: Column
    ) -> Sequence[Column]:
        """The decay matrix, of deviations that such constraints allow."""


Rows = tuple[Sequence[Column], Column]


class ExpressionSource:
    """A programme given by expressions."""

    def __init__(self, given: ExpressionProgramme):
        self.given = given
        self.coordinates, self.parameters = given.coordinates, tuple(given.description.parameters)
        self.constraints = tuple(constraint.text for constraint in given.description.constraints)

    def on_tape(
        self, tape: Tape, q: Sequence[Variable], t: Variable, parameters: Column, differentiated: bool = True
    ) -> ProgrammeFields:
        """The expressions, evaluated."""
        return self.given.fields(self.given.values(q, t, parameters))

    def rows_on_tape(self, tape: Tape, q: Sequence[Variable], t: Variable, parameters: Column) -> Rows:
        """The expressions of constraints, evaluated."""
        return self.given.rows(self.given.values(q, t, parameters))

    def accelerations_on_tape(
        self, tape: Tape, f: ProgrammeFields, q: Sequence[Variable], qd: Column, t: Variable, parameters: Column
    ) -> Column:
        """By (5.2) alone: all constraints are those of the programme."""
        return programme.accelerations(f, qd)

    def inertial_on_tape(
        self, f: ProgrammeFields, q: Sequence[Variable], qd: Column, qdd: Column, t: Variable, parameters: Column
    ) -> Column:
        """From the kinetic energy 1/2 q' m q'."""
        return programme.inertial_forces(f, qd, qdd)

    def decay_on_tape(
        self, tape: Tape, f: ProgrammeFields, q: Sequence[Variable], t: Variable, parameters: Column
    ) -> Sequence[Column]:
        """Of all deviations."""
        return programme.decay_matrix(f)


QUANTITIES: dict[str, Callable[[ProgrammeFields, Column], Any]] = {
    "velocity": lambda f, qd: f.v,
    "deviation": programme.deviation,
    "deviation_energy": lambda f, qd: [programme.deviation_energy(f, qd)],
    "field_acceleration": programme.field_acceleration,
    "coefficients": programme.coefficients,
    "mass_matrix": lambda f, qd: f.m,
    "dissipation": lambda f, qd: f.d,
}
WITHOUT_DERIVATIVES = ("velocity", "deviation", "deviation_energy", "mass_matrix", "dissipation")


def quantity_kernel(source: ProgrammeSource, what: str) -> Kernel:
    """One of QUANTITIES as a function of q, qd, t and parameters.

    Besides, "constraints": a, row after row, then b; "accelerations", "inertial_forces" and "decay_matrix", which are
    those of the source.
    """
    tape, target = Tape(), Target.host()
    q, qd, t, parameters, arguments = _inputs(tape, source, "q", "qd")
    if what == "constraints":
        a, b = source.rows_on_tape(tape, q, t, parameters)
        results = [*_flat(a), *b]
    else:
        f = source.on_tape(tape, q, t, parameters, what not in WITHOUT_DERIVATIVES)
        if what in ("accelerations", "inertial_forces"):
            qdd = source.accelerations_on_tape(tape, f, q, qd, t, parameters)
            inertial = what == "inertial_forces"
            results = list(source.inertial_on_tape(f, q, qd, qdd, t, parameters) if inertial else qdd)
        elif what == "decay_matrix":
            results = _flat(source.decay_on_tape(tape, f, q, t, parameters))
        else:
            results = _flat(QUANTITIES[what](f, qd))
    tape.outputs(results)
    return Kernel(StraightLine.of(tape, arguments, target), target.lanes(0), target)


def motion_code(source: ProgrammeSource, differentiated: bool = False) -> StraightLine:
    """The derivatives of the state (q, q'); with those of their Jacobian, for implicit integrators."""
    tape, n = Tape(), len(source.coordinates)
    y, _, t, parameters, arguments = _inputs(tape, source, "y")
    q, qd = y[:n], y[n:]
    f = source.on_tape(tape, q, t, parameters)
    tape.outputs([*qd, *source.accelerations_on_tape(tape, f, q, qd, t, parameters)])
    return (Differentiated if differentiated else StraightLine).of(tape, arguments, Target.host())


def _inputs(
    tape: Tape, source: ProgrammeSource, *columns: str
) -> tuple[list[Variable], list[Variable], Variable, list[Variable], Arguments]:
    """Variables of q and qd, or of the state y and none; time, parameters; and how they are arguments."""
    n = len(source.coordinates)
    lengths = {"q": n, "qd": n, "y": 2 * n}
    names = {column: tuple(f"{column}_{i}" for i in range(lengths[column])) for column in columns}
    state, *more = (list(tape.inputs(*names[column])) for column in columns)
    t = tape.input("t")
    constants = tuple(f"parameter_{i}" for i in range(len(source.parameters)))
    parameters = [tape.input(name) for name in constants]
    arguments = (*names.items(), ("t", ("t",)), *([("parameters", constants)] if constants else []))
    return state, more[0] if more else [], t, parameters, arguments


def _flat(results: Any) -> list[Scalar]:
    return [x for part in results for x in (_flat(part) if isinstance(part, (list, tuple)) else [part])]
