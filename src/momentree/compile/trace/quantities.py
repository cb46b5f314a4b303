"""Dynamics of the tree recorded on a tape, each quantity by the method that takes the fewest operations.

| quantity         | of             | methods                                                                         |
|------------------|----------------|---------------------------------------------------------------------------------|
| mass_matrix      | q, t           | composite inertias (CRBA), on base parameters; all nv x nv entries, row by row  |
| bias             | q, v, t        | classical accelerations (RNEA), on base parameters, at vdot = 0                 |
| inverse_dynamics | q, v, vdot, t  | the same, at vdot                                                               |
| forward_dynamics | q, v, tau, t   | articulated inertias in O(n) (ABA), which close loops too; of trees with up to  |
|                  |                | FEW velocities also A vdot = tau - d by U D U'                                  |

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
from momentree.equations import aggregative, articulated, newton_euler
from momentree.equations.base_parameters import base_parameters
from momentree.equations.evaluation import Evaluation
from momentree.equations.joint_frames import in_joint_frames
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
}
QUANTITIES = tuple(ARGUMENTS)


def trace(mechanism: Mechanism, what: str, varied: bool = False) -> tuple[Tape, Arguments]:
    """The tape of a quantity, and its inputs by the arguments of a function that computes it.

    Free parameters are parameters of the tape or, where they are `varied` from row to row, inputs.
    """
    signature = _signature(mechanism, what)
    tapes = [method.tape(mechanism, signature, varied) for method in methods(mechanism, what)]
    return min(tapes, key=cost), signature.inputs


def trace_rolled(mechanism: Mechanism, what: str, varied: bool = False) -> Rolled:
    """The code of a quantity in loops over the bodies; the mass matrix column by column."""
    signature, by_columns = _signature(mechanism, what), what == "mass_matrix"
    if by_columns:
        signature = signature.followed_by("v", mechanism.nv)
    return Recording(mechanism, signature, varied=varied).rolled(_ROLLED[what], by_columns)


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


def _mass_matrix(at: Evaluation) -> list[Scalar]:
    return [entry for row in aggregative.mass_matrix(at) for entry in row]


def _bias(at: Evaluation, v: Coordinates) -> Sequence[Scalar]:
    return newton_euler.inverse_dynamics(at, v, [0] * at.mechanism.nv)


def _by_solving(at: Evaluation, v: Coordinates, tau: Coordinates) -> list[Scalar]:
    """A vdot = tau - d, with A = U D U'."""
    d = _bias(at, v)
    return solve(aggregative.mass_matrix(at), [force - entry for force, entry in zip(tau, d, strict=True)])


_METHODS: dict[str, tuple[TracedMethod, ...]] = {
    "mass_matrix": (TracedMethod(_mass_matrix, base_parameters),),
    "bias": (TracedMethod(_bias, base_parameters),),
    "inverse_dynamics": (TracedMethod(newton_euler.inverse_dynamics, base_parameters),),
    "forward_dynamics": (
        TracedMethod(articulated.forward_dynamics, in_joint_frames),
        TracedMethod(_by_solving, base_parameters),
    ),
}
_ROLLED: dict[str, Formula] = {
    "mass_matrix": aggregative.inertia_product,
    "bias": _bias,
    "inverse_dynamics": newton_euler.inverse_dynamics,
    "forward_dynamics": articulated.forward_dynamics,
}


def methods(mechanism: Mechanism, what: str) -> list[TracedMethod]:
    """The methods that can be the shortest for a quantity of this mechanism."""
    few = mechanism.nv <= FEW and not mechanism.constrained
    return [method for method in _METHODS[what] if few or method.formula is not _by_solving]
