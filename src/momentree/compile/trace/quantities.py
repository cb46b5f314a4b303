"""Dynamics of the tree recorded on a tape, each quantity by the method that takes the fewest operations.

| quantity            | of            | methods                                                                     |
|---------------------|---------------|-----------------------------------------------------------------------------|
| mass_matrix         | q, t          | composite inertias (CRBA), on base parameters; all nv x nv entries by rows  |
| inverse_mass_matrix | q, t          | elementary factors of A = U D U', A never formed                            |
| bias                | q, v, t       | classical accelerations (RNEA), on base or shared parameters, at vdot = 0   |
| coriolis_forces     | q, v, t       | the same without gravity and other forces                                   |
| coriolis_matrix     | q, v, t       | composite inertias and Coriolis operators, on base parameters               |
| aggregative_matrix  | q, v, t       | transposed products, row by row                                             |
| gravity_forces      | q, t          | weights, gathered on base parameters                                        |
| generalized_forces  | q, v, t       | weights and forces, gathered on base parameters                             |
| generalized_momenta | q, v, t       | momenta, gathered on base parameters                                        |
| inverse_dynamics    | q, v, vdot, t | as bias, at vdot                                                            |
| forward_dynamics    | q, v, tau, t  | articulated inertias in O(n) (ABA), which close loops too; of trees with up |
|                     |               | to FEW velocities also A vdot = tau - d by U D U'                           |

Of several methods all are traced, and the tape with the fewest live operations is chosen: for an arm of six hinges the
solution of A vdot = tau - d takes about half of what articulated inertias take; for chains of more than 16 they win.
Free parameters of the mechanism are one argument more, `parameters`, in the order in which they were named.

`trace` records all bodies one after the other, `trace_rolled` each kind of body once, for systems of many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from momentree.compile.emit.rolled_llvm import Rolled
from momentree.compile.trace.formulas import Arguments, Formula, Recording, Signature
from momentree.compile.trace.tape import LEAVES, Tape
from momentree.equations import aggregative, articulated, coriolis, factors, force_terms, hamiltonian, newton_euler
from momentree.equations.base_parameters import base_parameters
from momentree.equations.evaluation import Evaluation
from momentree.equations.joint_frames import in_joint_frames
from momentree.equations.shared_parameters import shared_parameters
from momentree.errors import MomentreeError, suggestion
from momentree.model.joint_type import Coordinates
from momentree.spatial import Scalar
from momentree.spatial.symmetric import solve
from momentree.structure.mechanism import Mechanism

FEW = 16  # velocities: above, solving takes more operations also for a chain of hinges, and is not tried

ARGUMENTS = {
    "mass_matrix": ("q", "t"),
    "bias": ("q", "v", "t"),
    "inverse_dynamics": ("q", "v", "vdot", "t"),
    "forward_dynamics": ("q", "v", "tau", "t"),
    "inverse_mass_matrix": ("q", "t"),
    "coriolis_matrix": ("q", "v", "t"),
    "aggregative_matrix": ("q", "v", "t"),
    "coriolis_forces": ("q", "v", "t"),
    "gravity_forces": ("q", "t"),
    "generalized_forces": ("q", "v", "t"),
    "generalized_momenta": ("q", "v", "t"),
}
QUANTITIES = tuple(ARGUMENTS)
MATRICES = tuple(what for what in QUANTITIES if what.endswith("_matrix"))  # nv x nv, the others nv


def trace(mechanism: Mechanism, what: str, varied: bool = False) -> tuple[Tape, Arguments]:
    """The tape of a quantity, and its inputs by the arguments of a function that computes it.

    Free parameters are parameters of the tape or, where they are `varied` from row to row, inputs.
    """
    signature = _signature(mechanism, what)
    tapes = [method.tape(mechanism, signature, varied) for method in methods(mechanism, what)]
    return min(tapes, key=cost), signature.inputs


def trace_rolled(mechanism: Mechanism, what: str, varied: bool = False) -> Rolled:
    """The code of a quantity in loops over the bodies; matrices row by row, each the transpose times a unit vector."""
    signature, by_columns = _signature(mechanism, what), what in MATRICES
    if by_columns:
        signature = signature.followed_by("x", mechanism.nv)
    return Recording(mechanism, signature, varied=varied).rolled(ROLLED[what], "row" if by_columns else "")


def operation_count(mechanism: Mechanism, what: str = "inverse_dynamics") -> int:
    """How many operations a quantity takes, those on free parameters left out."""
    return len(trace(mechanism, what)[0].online())


def cost(tape: Tape) -> int:
    """Live operations; those on parameters alone count too, for a function does them at every call."""
    nodes = tape.nodes
    return sum(nodes[index][0] not in LEAVES for index in tape.live())


def _signature(mechanism: Mechanism, what: str) -> Signature:
    """The arguments of a quantity, if there is such a quantity of this mechanism."""
    if what not in QUANTITIES:
        raise MomentreeError(f"there is no quantity '{what}' to trace.{suggestion(what, QUANTITIES)}")
    columns = [(name, mechanism.nq if name == "q" else mechanism.nv) for name in ARGUMENTS[what] if name != "t"]
    return Signature.of_columns(mechanism, *columns)


# --- methods ---


class TracedMethod(NamedTuple):
    """A formula of a quantity, and the frames and inertias that it takes."""

    formula: Formula
    frames: Callable[[Mechanism], Mechanism]

    def tape(self, mechanism: Mechanism, signature: Signature, varied: bool = False) -> Tape:
        return Recording(mechanism, signature, self.frames, varied).straight_line(self.formula)


def _row_by_row(matrix: Callable[..., Sequence[Sequence[Scalar]]]) -> Formula:
    """The entries of a matrix."""

    def entries(at: Evaluation, *columns: Coordinates) -> list[Scalar]:
        return [entry for row in matrix(at, *columns) for entry in row]

    return entries


def _bias(at: Evaluation, v: Coordinates) -> Sequence[Scalar]:
    return newton_euler.inverse_dynamics(at, v, [0] * at.mechanism.nv)


def _by_solving(at: Evaluation, v: Coordinates, tau: Coordinates) -> list[Scalar]:
    """A vdot = tau - d, with A = U D U'."""
    d = _bias(at, v)
    return solve(aggregative.mass_matrix(at), [force - entry for force, entry in zip(tau, d, strict=True)])


_METHODS: dict[str, tuple[TracedMethod, ...]] = {
    "mass_matrix": (TracedMethod(_row_by_row(aggregative.mass_matrix), base_parameters),),
    "inverse_mass_matrix": (TracedMethod(_row_by_row(factors.inverse_mass_matrix), in_joint_frames),),
    "coriolis_matrix": (TracedMethod(_row_by_row(coriolis.coriolis_matrix), base_parameters),),
    "aggregative_matrix": (TracedMethod(_row_by_row(coriolis.aggregative_matrix), in_joint_frames),),
    "coriolis_forces": (TracedMethod(newton_euler.inertial_terms, base_parameters),),
    "gravity_forces": (TracedMethod(force_terms.gravity_forces, base_parameters),),
    "generalized_forces": (TracedMethod(force_terms.generalized_forces, base_parameters),),
    "generalized_momenta": (TracedMethod(hamiltonian.momenta, base_parameters),),
    "bias": (TracedMethod(_bias, base_parameters), TracedMethod(_bias, shared_parameters)),
    "inverse_dynamics": (
        TracedMethod(newton_euler.inverse_dynamics, base_parameters),
        TracedMethod(newton_euler.inverse_dynamics, shared_parameters),
    ),
    "forward_dynamics": (
        TracedMethod(articulated.forward_dynamics, in_joint_frames),
        TracedMethod(_by_solving, base_parameters),
    ),
}
ROLLED: dict[str, Formula] = {  # of matrices, the transpose times a vector
    "mass_matrix": aggregative.inertia_product,
    "inverse_mass_matrix": articulated.inverse_inertia_product,
    "coriolis_matrix": coriolis.coriolis_transposed_product,
    "aggregative_matrix": coriolis.aggregative_transposed_product,
    "coriolis_forces": newton_euler.inertial_terms,
    "gravity_forces": force_terms.gravity_forces,
    "generalized_forces": force_terms.generalized_forces,
    "generalized_momenta": hamiltonian.momenta,
    "bias": _bias,
    "inverse_dynamics": newton_euler.inverse_dynamics,
    "forward_dynamics": articulated.forward_dynamics,
}


def methods(mechanism: Mechanism, what: str) -> list[TracedMethod]:
    """The methods that can be the shortest for a quantity of this mechanism."""
    few = mechanism.nv <= FEW and not mechanism.constrained
    return [method for method in _METHODS[what] if few or method.formula is not _by_solving]
