"""How a state changes, as code for columns of lanes: what integrators call.

The state y is the coordinates q, then the momenta or rates of a formulation, one column each; other arguments are t and
the free parameters. The mechanism is told in joint frames: the state does not notice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from momentree.compile.choice import LONG, MANY
from momentree.compile.kernel import Kernel
from momentree.compile.llvm import StraightLine
from momentree.compile.machine_code import Target
from momentree.compile.rolled import RolledRecords
from momentree.compile.rolled_text import Rolled
from momentree.compile.tape import Tape
from momentree.compile.tracing import Arguments
from momentree.equations import hamiltonian, lagrange
from momentree.equations.forces import Names, along_rates
from momentree.equations.joint_frames import in_joint_frames
from momentree.equations.kinematics import Rates
from momentree.equations.sweeps import Record, Records, Runner
from momentree.model.expressions import Expression, Reference
from momentree.spatial import Scalar
from momentree.structure.mechanism import Mechanism

Formula = Callable[..., Rates]
Traced = StraightLine | Rolled
_OfState = Callable[[Mechanism, Sequence[Scalar], Scalar, Names, Runner], list[Scalar]]
FORMULATIONS: dict[str, Formula] = {"hamiltonian": hamiltonian.rates, "lagrange": lagrange.rates}


def arguments_of(mechanism: Mechanism) -> Arguments:
    """The state, time, and free parameters."""
    y = (*(f"q{i}" for i in range(mechanism.nq)), *(f"p{i}" for i in range(mechanism.nv)))
    found = [("y", y), ("t", ("t",))]
    if mechanism.free:
        found.append(("parameters", tuple(f"parameter{i}" for i in range(len(mechanism.free)))))
    return tuple(found)


def rates_code(mechanism: Mechanism, formula: Formula, code: str | None = None) -> Traced:
    """The code of the derivatives of a state; `code` is "straight-line" or "rolled", unless given what suits."""

    def rates(told: Mechanism, y: Sequence[Scalar], t: Scalar, parameters: Names, run: Runner) -> list[Scalar]:
        found = formula(told, y[: told.nq], y[told.nq :], t, parameters, run)
        return [entry for part in found for entry in part]

    return _code(mechanism, rates, arguments_of(mechanism), code)


def velocity_kernel(mechanism: Mechanism, code: str | None = None) -> Kernel:
    """Rates from coordinates and momenta, as a function of arrays: y, t and parameters."""

    def velocities(told: Mechanism, y: Sequence[Scalar], t: Scalar, parameters: Names, run: Runner) -> list[Scalar]:
        moving = hamiltonian.moving_bodies(told, y[: told.nq], y[told.nq :], t, parameters, run)
        return list(along_rates(told, moving, "u"))

    target = Target.host()
    return Kernel(_code(mechanism, velocities, arguments_of(mechanism), code), target.lanes(0), target)


def momentum_kernel(mechanism: Mechanism, code: str | None = None) -> Kernel:
    """Momenta from coordinates and rates, as a function of arrays: (q, v), t and parameters."""

    def found(told: Mechanism, y: Sequence[Scalar], t: Scalar, parameters: Names, run: Runner) -> list[Scalar]:
        return list(hamiltonian.momenta(told, y[: told.nq], y[told.nq :], t, parameters, run))

    target = Target.host()
    return Kernel(_code(mechanism, found, arguments_of(mechanism), code), target.lanes(0), target)


def _code(mechanism: Mechanism, formula: _OfState, arguments: Arguments, code: str | None) -> Traced:
    if code == "rolled" or (code is None and len(mechanism.bodies) > MANY):
        return _rolled(mechanism, formula, arguments)
    tape = Tape()
    tape.outputs(_traced(tape, mechanism, formula, arguments, Records))
    if code is None and len(tape.online()) > LONG and len(mechanism.bodies) > 1:
        return _rolled(mechanism, formula, arguments)
    return StraightLine.of(tape, arguments, Target.host())


def _rolled(mechanism: Mechanism, formula: _OfState, arguments: Arguments) -> Rolled:
    tape, swept = Tape(), list[RolledRecords]()

    def run(bodies: list[Record]) -> Records:
        swept.append(RolledRecords(bodies, tape))
        return swept[0]

    results = _traced(tape, mechanism, formula, arguments, run)
    return Rolled(swept[0], results, arguments)


def _traced(tape: Tape, mechanism: Mechanism, formula: _OfState, arguments: Arguments, run: Runner) -> list[Scalar]:
    inputs = {name: [tape.input(column) for column in columns] for name, columns in arguments}
    parameters = dict(zip(map(Reference, mechanism.free), inputs.get("parameters", ()), strict=True))
    if parameters:
        mechanism = mechanism.mapped(lambda x: x.evaluate(parameters) if isinstance(x, Expression) else x)
    return formula(in_joint_frames(mechanism), inputs["y"], inputs["t"][0], parameters, run)
