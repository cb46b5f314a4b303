"""How a state changes, as code for columns of lanes: what integrators call.

The state y is the coordinates q, then the momenta or velocities of a formulation, then accounts of work, one column each;
other arguments are t and the free parameters. The mechanism is told in joint frames: the state does not notice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from momentree.compile.emit.jacobian_code import Differentiated
from momentree.compile.emit.llvm import StraightLine
from momentree.compile.emit.rolled_llvm import Rolled
from momentree.compile.execute.choice import MANY, is_rolled
from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.quantities import Arguments
from momentree.compile.trace.tape import Tape
from momentree.equations import hamiltonian
from momentree.equations.articulated import reacting_bodies
from momentree.equations.evaluation import Evaluation, Names
from momentree.equations.forces import generalized, names_of
from momentree.equations.formulations import Formulation
from momentree.equations.joint_frames import in_joint_frames
from momentree.equations.kinematics import coordinate_derivatives, move, moved_coordinates
from momentree.equations.lie_group import forces_on_group, velocities_on_group
from momentree.equations.loops.constraints import forces_of_loops, openings
from momentree.equations.sweeps import Records, Runner
from momentree.equations.work_terms import motion_powers, movers, powers, work_terms
from momentree.model.expressions.expression import Reference
from momentree.spatial import Scalar
from momentree.structure.maximal_coordinates import Angle
from momentree.structure.mechanism import Mechanism

Traced = StraightLine | Rolled
ROWS = 6  # of a loop, at most
_OfState = Callable[[Mechanism, Sequence[Scalar], Scalar, Names, Runner], list[Scalar]]


def arguments_of(mechanism: Mechanism, accounts: int = 0) -> Arguments:
    """The state, with so many accounts of work behind it; time, and free parameters."""
    return _arguments(mechanism, ("q", mechanism.nq), ("p", mechanism.nv), ("w", accounts))


def _arguments(mechanism: Mechanism, *names: tuple[str, int]) -> Arguments:
    """y, so many numbers of each name; time, and free parameters."""
    found = [("y", tuple(f"{name}{i}" for name, count in names for i in range(count))), ("t", ("t",))]
    if mechanism.free:
        found.append(("parameters", tuple(f"parameter{i}" for i in range(len(mechanism.free)))))
    return tuple(found)


def accounts_of(mechanism: Mechanism) -> tuple[tuple[str, str], ...]:
    """Name and kind of everything whose work is accounted for.

    What prescribed motions do takes the accelerations too, which are not traced for systems of many bodies.
    """
    return (*work_terms(mechanism), *(movers(mechanism) if len(mechanism.bodies) <= MANY else ()))


def right_hand_side_code(
    mechanism: Mechanism, formulation: Formulation, code: str | None = None, accounts: bool = True,
    differentiated: bool = False, held: Mapping[str, float] | None = None, counted: Sequence[Angle] = (),
) -> Traced:  # fmt: skip
    """The code of the derivatives of a state; `code` is "straight-line" or "rolled", unless given what suits.

    Straight-line code comes with that of its Jacobian where it is to be `differentiated`, for implicit integrators.
    `held` is what the formulation takes to keep loops closed; angles are `counted` behind the accounts.
    """
    count = len(accounts_of(mechanism)) if accounts else 0

    def rhs(told: Mechanism, y: Sequence[Scalar], t: Scalar, parameters: Names, run: Runner) -> list[Scalar]:
        q, p = y[: told.nq], y[told.nq : told.nq + told.nv]
        moving = formulation.bodies(Evaluation(told, q, t, parameters, run), p, **(held or {}))
        found = [*coordinate_derivatives(told, moving), *generalized(told, moving, formulation.change)]
        alpha = (held or {}).get("alpha", 0)
        found += _powers(told, moving, q, t, parameters, alpha) if count else []
        return found + (
            formulation.maximal.angle_derivatives(told, moving, counted) if formulation.maximal and counted else []
        )

    straight = Differentiated if differentiated else StraightLine
    return _code(mechanism, rhs, arguments_of(mechanism, count + len(counted)), code, straight)


def _powers(
    told: Mechanism, moving: Records, q: Sequence[Scalar], t: Scalar, parameters: Names, alpha: float = 0,
    felt: Mechanism | None = None,
) -> list[Scalar]:  # fmt: skip
    """Of each account; loops are held closed by the reactions to which alpha belongs.

    `felt` is the mechanism whose forces move the bodies, where that is without loops.
    """
    feels = felt or told
    found = powers(feels, moving, names_of(Evaluation(feels, q, t, parameters), moving))
    if len(found) < len(accounts_of(told)):
        u = generalized(told, moving, "u")
        reacting = reacting_bodies(Evaluation(told, q, t, parameters), u, [0] * told.nv, alpha=alpha)
        du, reactions = generalized(told, reacting, "du"), forces_of_loops(told, reacting)
        found += motion_powers(Evaluation(told, q, t, parameters), u, du, reactions)
    return found


def closed_code(mechanism: Mechanism, formulation: Formulation, code: str | None = None) -> Traced:
    """Momenta or velocities with which loops do not open, from those of a state with its loops closed."""

    def closed(told: Mechanism, y: Sequence[Scalar], t: Scalar, parameters: Names, run: Runner) -> list[Scalar]:
        return list(formulation.closed(Evaluation(told, y[: told.nq], t, parameters, run), y[told.nq :]))

    return traced_code(mechanism, closed, code)


def positions_code(mechanism: Mechanism, code: str | None = None) -> Traced:
    """Coordinates moved to where loops close, by one step of Newton's method; behind them, closure errors before it."""

    def positions(told: Mechanism, y: Sequence[Scalar], t: Scalar, parameters: Names, run: Runner) -> list[Scalar]:
        moving = hamiltonian.closing_step(Evaluation(told, y[: told.nq], t, parameters, run))
        moved = moved_coordinates(told, moving)
        return [*moved, *(closure_error for loop in moving.loops[1:] for closure_error in loop.closure_error)]

    return _code(mechanism, positions, arguments_of(mechanism), code)


def velocity_kernel(mechanism: Mechanism, code: str | None = None) -> Kernel:
    """Velocities from coordinates and momenta, as a function of arrays: y, t and parameters."""

    def velocities(told: Mechanism, y: Sequence[Scalar], t: Scalar, parameters: Names, run: Runner) -> list[Scalar]:
        moving = hamiltonian.moving_bodies(Evaluation(told, y[: told.nq], t, parameters, run), y[told.nq :])
        return list(generalized(told, moving, "u"))

    target = Target.host()
    return Kernel(_code(mechanism, velocities, arguments_of(mechanism), code), target.lanes(0), target)


def closing_kernel(mechanism: Mechanism, code: str | None = None) -> Kernel:
    """`positions_code` as a function of arrays: y, t and parameters."""
    target = Target.host()
    return Kernel(positions_code(mechanism, code), target.lanes(0), target)


def holding_kernel(mechanism: Mechanism, formulation: Formulation, code: str | None = None) -> Kernel:
    """The momenta or velocities with which loops do not open, as a function of arrays: y, t and parameters."""
    target = Target.host()
    return Kernel(closed_code(mechanism, formulation, code), target.lanes(0), target)


def momentum_kernel(mechanism: Mechanism, code: str | None = None) -> Kernel:
    """Momenta from coordinates and velocities, as a function of arrays: (q, v), t and parameters."""

    def found(told: Mechanism, y: Sequence[Scalar], t: Scalar, parameters: Names, run: Runner) -> list[Scalar]:
        return list(hamiltonian.momenta(Evaluation(told, y[: told.nq], t, parameters, run), y[told.nq :]))

    target = Target.host()
    return Kernel(_code(mechanism, found, arguments_of(mechanism), code), target.lanes(0), target)


def kernel_of_configuration(mechanism: Mechanism, formula: _OfState) -> Kernel | None:
    """Any formula of q, t and parameters as a function of arrays; None where its code would be too long."""
    tape, arguments, target = Tape(), _arguments(mechanism, ("q", mechanism.nq)), Target.host()
    if is_rolled(mechanism, None):
        return None
    tape.outputs(_traced(tape, mechanism, formula, arguments, Records))
    if is_rolled(mechanism, None, tape):
        return None
    return Kernel(StraightLine.of(tape, arguments, target), target.lanes(0), target)


# --- for integrate/verlet.py ---


def drift(told: Mechanism, y: Sequence[Scalar], t: Scalar, parameters: Names, run: Runner = Records) -> list[Scalar]:
    """The velocities on the group, loops not closed: one for each momentum."""
    moving = hamiltonian.moving_bodies(Evaluation(_tree(told), y[: told.nq], t, parameters, run), y[told.nq :])
    moving.locally(move)
    return _velocities_on_group(told, moving)


def kick(told: Mechanism, y: Sequence[Scalar], t: Scalar, parameters: Names, run: Runner = Records) -> list[Scalar]:
    """The velocities on the group, then the forces that change the momenta, loops not closed."""
    return _kick(told, y, t, parameters, run)[0]


def split_code(mechanism: Mechanism, code: str | None = None, accounts: bool = True) -> tuple[Traced, Traced]:
    """The codes of `kick`, powers of accounts behind it, and of `drift`."""
    arguments, working = arguments_of(mechanism), accounts and bool(accounts_of(mechanism))

    def kicked(told: Mechanism, y: Sequence[Scalar], t: Scalar, parameters: Names, run: Runner) -> list[Scalar]:
        found, moving = _kick(told, y, t, parameters, run)
        return found + (_powers(told, moving, y[: told.nq], t, parameters, felt=_tree(told)) if working else [])

    return _code(mechanism, kicked, arguments, code), _code(mechanism, drift, arguments, code)


def _kick(
    told: Mechanism, y: Sequence[Scalar], t: Scalar, parameters: Names, run: Runner
) -> tuple[list[Scalar], Records]:
    moving = hamiltonian.changing_bodies(Evaluation(_tree(told), y[: told.nq], t, parameters, run), y[told.nq :])
    rhs = _velocities_on_group(told, moving)
    moving.locally(forces_on_group)
    return [*rhs, *generalized(told, moving, "group_force")], moving


def _velocities_on_group(told: Mechanism, moving: Records) -> list[Scalar]:
    moving.locally(velocities_on_group)
    return list(generalized(told, moving, "group_velocity"))


def _tree(mechanism: Mechanism) -> Mechanism:
    """The same with its loops open."""
    return dataclasses.replace(mechanism, loops=()) if mechanism.loops else mechanism


def closure_errors(
    told: Mechanism, y: Sequence[Scalar], t: Scalar, parameters: Names, run: Runner = Records
) -> list[Scalar]:
    """The closure error of each row of all loops, and zeros up to ROWS of each."""
    return _filled(told, hamiltonian.closure_errors(Evaluation(told, y[: told.nq], t, parameters, run)))


def shove(told: Mechanism, y: Sequence[Scalar], t: Scalar, parameters: Names, run: Runner = Records) -> list[Scalar]:
    """Velocities on the group by which loops open with minus what stands behind q; impulses J' lam that do it; openings."""
    moving = hamiltonian.opening_step(Evaluation(told, y[: told.nq], t, parameters, run), y[told.nq :])
    rhs, opened = _velocities_on_group(told, moving), _filled(told, openings(moving))
    return [*rhs, *hamiltonian.loop_impulses(told, moving), *opened]


def _filled(told: Mechanism, rows: Sequence[Scalar]) -> list[Scalar]:
    return [*rows, *[0] * (ROWS * len(told.loops) - len(rows))]


def hold(told: Mechanism, y: Sequence[Scalar], t: Scalar, parameters: Names, run: Runner = Records) -> list[Scalar]:
    """The impulses J' mu after which loops do not open."""
    moving = hamiltonian.moving_bodies(Evaluation(told, y[: told.nq], t, parameters, run), y[told.nq :])
    return list(hamiltonian.loop_impulses(told, moving))


def loop_codes(mechanism: Mechanism, code: str | None = None) -> dict[str, Traced]:
    """The codes of `closure errors`, `shove` and `hold`, by name."""
    rows = _arguments(mechanism, ("q", mechanism.nq), ("g", ROWS * len(mechanism.loops)))
    formulas = (
        (closure_errors, _arguments(mechanism, ("q", mechanism.nq))),
        (shove, rows),
        (hold, arguments_of(mechanism)),
    )
    return {formula.__name__: _code(mechanism, formula, arguments, code) for formula, arguments in formulas}


def physical_right_hand_side_code(mechanism: Mechanism, code: str | None = None, accounts: bool = True) -> Traced:
    """The code of the derivatives of q, of p itself (not of p*), by the reactions of loops, and of accounts."""
    count = len(accounts_of(mechanism)) if accounts else 0

    def rhs(told: Mechanism, y: Sequence[Scalar], t: Scalar, parameters: Names, run: Runner) -> list[Scalar]:
        q, p = y[: told.nq], y[told.nq : told.nq + told.nv]
        moving = hamiltonian.changing_bodies(Evaluation(_tree(told), q, t, parameters, run), p)
        found, u = (
            [*coordinate_derivatives(told, moving), *generalized(told, moving, "dp")],
            generalized(told, moving, "u"),
        )
        if told.loops:
            held = reacting_bodies(Evaluation(told, q, t, parameters), u, [0] * told.nv)
            for i, force in enumerate(hamiltonian.loop_impulses(told, held), told.nq):
                found[i] = found[i] + force
        return found + (_powers(told, moving, q, t, parameters, felt=_tree(told)) if count else [])

    return _code(mechanism, rhs, arguments_of(mechanism, count), code)


def traced_code(mechanism: Mechanism, formula: _OfState, code: str | None = None) -> Traced:
    """The code of a formula of q, of what stands behind it, of t and free parameters."""
    return _code(mechanism, formula, arguments_of(mechanism), code)


def _code(
    mechanism: Mechanism, formula: _OfState, arguments: Arguments, code: str | None,
    straight: type[StraightLine] = StraightLine,
) -> Traced:  # fmt: skip
    if is_rolled(mechanism, code):
        return _rolled(mechanism, formula, arguments)
    tape = Tape()
    tape.outputs(_traced(tape, mechanism, formula, arguments, Records))
    if is_rolled(mechanism, code, tape):
        return _rolled(mechanism, formula, arguments)
    return straight.of(tape, arguments, Target.host())


def _rolled(mechanism: Mechanism, formula: _OfState, arguments: Arguments) -> Rolled:
    tape = Tape()
    return Rolled.of(tape, arguments, lambda run: _traced(tape, mechanism, formula, arguments, run))


def _traced(tape: Tape, mechanism: Mechanism, formula: _OfState, arguments: Arguments, run: Runner) -> list[Scalar]:
    inputs = {name: [tape.input(column) for column in columns] for name, columns in arguments}
    parameters = dict(zip(map(Reference, mechanism.free), inputs.get("parameters", ()), strict=True))
    if parameters:
        mechanism = mechanism.evaluated(parameters)
    return formula(in_joint_frames(mechanism), inputs["y"], inputs["t"][0], parameters, run)
