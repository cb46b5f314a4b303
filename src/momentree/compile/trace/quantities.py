"""The dynamics of the tree recorded on a tape, each quantity in the way that takes the fewest operations.

| quantity         | of             | ways                                                                            |
|------------------|----------------|---------------------------------------------------------------------------------|
| mass_matrix      | q, t           | composite inertias, on base parameters; all nv x nv entries, row by row          |
| bias             | q, v, t        | classical accelerations, on base parameters, at vdot = 0                         |
| inverse_dynamics | q, v, vdot, t  | the same, at vdot                                                                |
| forward_dynamics | q, v, tau, t   | articulated inertias in O(n), which close loops too; of trees up to FEW velocities    |
|                  |                | also A vdot = tau - d by U D U'                                                 |

Of several ways all are traced, and the tape with the fewest live operations is kept: for an arm of six hinges the solve
takes about half of what articulated inertias take; for chains of more than 16 they win. Free parameters of the
mechanism are one argument more, `parameters`, in the order in which they were named.

`trace` records all bodies one after the other, `trace_rolled` each kind of body once, for systems of many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from momentree.compile.emit.rolled_llvm import Rolled
from momentree.compile.trace.tape import Tape
from momentree.equations import aggregative, articulated, newton_euler
from momentree.equations.base_parameters import base_parameters
from momentree.equations.evaluation import Evaluation, Names
from momentree.equations.joint_frames import in_joint_frames
from momentree.equations.sweeps import Records, Runner
from momentree.errors import MomentreeError, suggestion
from momentree.model.expressions.expression import Reference
from momentree.spatial import Scalar
from momentree.spatial.symmetric import solve
from momentree.structure.mechanism import Mechanism

Arguments = tuple[tuple[str, tuple[str, ...]], ...]  # names, and the inputs of the tape that stand in each
FEW = 16  # velocities: above, solving takes more operations also for a chain of hinges, and is not tried

_TAKES = {
    "mass_matrix": ("q", "t"),
    "bias": ("q", "v", "t"),
    "inverse_dynamics": ("q", "v", "vdot", "t"),
    "forward_dynamics": ("q", "v", "tau", "t"),
}
QUANTITIES = tuple(_TAKES)


def trace(mechanism: Mechanism, what: str, varied: bool = False) -> tuple[Tape, Arguments]:
    """The tape of a quantity, and its inputs by the arguments of a function that computes it.

    Free parameters are parameters of the tape or, where they are `varied` from row to row, inputs.
    """
    _check(mechanism, what)
    arguments = _arguments(mechanism, what)
    few = mechanism.nv <= FEW and not mechanism.loops
    paths = [way for way in _WAYS[what] if way is not _by_solving or few]
    return min((_traced(mechanism, way, arguments, varied) for way in paths), key=_cost), arguments


def _check(mechanism: Mechanism, what: str) -> None:
    if what not in QUANTITIES:
        raise MomentreeError(f"there is no quantity '{what}' to trace.{suggestion(what, QUANTITIES)}")
    if what == "forward_dynamics" and mechanism.constraints:
        names = ", ".join(f"'{constraint.name}'" for constraint in mechanism.constraints)
        message = f"forward_dynamics: motion under the constraints {names} is not computed yet. Use joints instead"
        raise MomentreeError(f"{message}, or ask for the other quantities only: {', '.join(QUANTITIES[:3])}.")


def _arguments(mechanism: Mechanism, what: str) -> Arguments:
    counts = {"q": mechanism.nq, "v": mechanism.nv, "vdot": mechanism.nv, "tau": mechanism.nv}
    found = [(name, _numbered(name, counts[name]) if name in counts else (name,)) for name in _TAKES[what]]
    if mechanism.free:
        found.append(("parameters", _numbered("parameter", len(mechanism.free))))
    return tuple(found)


def _numbered(name: str, count: int) -> tuple[str, ...]:
    return tuple(f"{name}{i}" for i in range(count))


def _cost(tape: Tape) -> int:
    """Live operations; those on parameters alone count too, for a function does them at every call."""
    nodes = tape.nodes
    return sum(nodes[index][0] not in ("number", "input", "parameter") for index in tape.live())


class _Given(NamedTuple):
    """The inputs of a tape, as the sweeps take them."""

    t: Scalar
    q: Sequence[Scalar]
    v: Sequence[Scalar]
    vdot: Sequence[Scalar]
    tau: Sequence[Scalar]
    parameters: Names
    run: Runner


def _traced(
    mechanism: Mechanism,
    way: Callable[[Mechanism, _Given], Sequence[Scalar]],
    arguments: Arguments,
    varied: bool = False,
) -> Tape:
    tape = Tape()
    tape.outputs(way(*_given(tape, mechanism, arguments, varied)))
    return tape


def _given(
    tape: Tape, mechanism: Mechanism, arguments: Arguments, varied: bool, run: Runner = Records
) -> tuple[Mechanism, _Given]:
    """The mechanism in scalars of the tape, and the inputs of the tape."""
    inputs: dict[str, list[Scalar]] = {"q": [], "v": [], "tau": [], "vdot": [0] * mechanism.nv, "parameters": []}
    for argument, names in arguments:
        new = tape.parameter if argument == "parameters" and not varied else tape.input
        inputs[argument] = [new(name) for name in names]
    parameters = dict(zip(map(Reference, mechanism.free), inputs.pop("parameters"), strict=True))
    (t,) = inputs.pop("t")
    on_tape = mechanism.evaluated(parameters) if parameters else mechanism
    return on_tape, _Given(t=t, parameters=parameters, run=run, **inputs)


# --- the ways ---


def _mass_matrix(mechanism: Mechanism, given: _Given) -> list[Scalar]:
    return [entry for row in _rows(mechanism, given) for entry in row]


def _rows(mechanism: Mechanism, given: _Given) -> list[list[Scalar]]:
    return aggregative.mass_matrix(Evaluation(base_parameters(mechanism), given.q, given.t, given.parameters))


def _inverse(mechanism: Mechanism, given: _Given) -> Sequence[Scalar]:
    at = Evaluation(base_parameters(mechanism), given.q, given.t, given.parameters)
    return newton_euler.inverse_dynamics(at, given.v, given.vdot)


def _by_solving(mechanism: Mechanism, given: _Given) -> list[Scalar]:
    """A vdot = tau - d, with A = U D U'."""
    d = _inverse(mechanism, given)
    return solve(_rows(mechanism, given), [tau - entry for tau, entry in zip(given.tau, d, strict=True)])


def _articulated(mechanism: Mechanism, given: _Given) -> Sequence[Scalar]:
    at = Evaluation(in_joint_frames(mechanism), given.q, given.t, given.parameters, given.run)
    return articulated.forward_dynamics(at, given.v, given.tau)


def _inverse_in_frames(mechanism: Mechanism, given: _Given) -> Sequence[Scalar]:
    at = Evaluation(in_joint_frames(mechanism), given.q, given.t, given.parameters, given.run)
    return newton_euler.inverse_dynamics(at, given.v, given.vdot)


def _inertia_product(mechanism: Mechanism, given: _Given) -> Sequence[Scalar]:
    """A times what is given as velocities."""
    at = Evaluation(in_joint_frames(mechanism), given.q, given.t, given.parameters, given.run)
    return aggregative.inertia_product(at, given.v)


_WAYS: dict[str, tuple[Callable[[Mechanism, _Given], Sequence[Scalar]], ...]] = {
    "mass_matrix": (_mass_matrix,),
    "bias": (_inverse,),
    "inverse_dynamics": (_inverse,),
    "forward_dynamics": (_articulated, _by_solving),
}
_ROLLED = {
    "mass_matrix": _inertia_product,
    "bias": _inverse_in_frames,
    "inverse_dynamics": _inverse_in_frames,
    "forward_dynamics": _articulated,
}


def trace_rolled(mechanism: Mechanism, what: str, varied: bool = False) -> Rolled:
    """The code of a quantity in loops over the bodies; the mass matrix column by column."""
    _check(mechanism, what)
    by_columns = what == "mass_matrix"
    arguments = _arguments(mechanism, what)
    if by_columns:
        arguments = (*arguments, ("v", _numbered("v", mechanism.nv)))
    tape = Tape()
    given = (tape, mechanism, arguments, varied)
    return Rolled.of(tape, arguments, lambda run: _ROLLED[what](*_given(*given, run)), by_columns)
