"""Right-hand sides of the equations of motion, and the other functions of integrators, as code for columns of lanes.

The state y is the coordinates q, then the momenta or velocities of a formulation, then work terms, one column
each; other arguments are t and the free parameters. The mechanism is described in joint frames, on which the
state does not depend.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from momentree.compile.emit.jacobian_code import Differentiated, DifferentiatedInTime
from momentree.compile.emit.llvm import StraightLine
from momentree.compile.emit.rolled_llvm import Rolled
from momentree.compile.execute.choice import is_rolled, is_too_long
from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import Target
from momentree.compile.execute.traced_texts import remembered
from momentree.compile.trace.formulas import Arguments, Formula, Recording, Signature
from momentree.compile.trace.tape import Tape
from momentree.equations import hamiltonian
from momentree.equations.articulated import REACTION_GAINS, reacting_bodies
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import generalized, names_of
from momentree.equations.formulations import Formulation
from momentree.equations.kinematics import coordinate_derivatives, move, moved_coordinates
from momentree.equations.lie_group import forces_on_group, velocities_on_group
from momentree.equations.loops.closing_step import closing_step, loop_closure_errors, loop_impulses, opening_step
from momentree.equations.loops.constraint_rows import constraint_velocities
from momentree.equations.loops.wrenches import constraint_joint_forces, constraint_wrenches
from momentree.equations.sweeps import Records
from momentree.equations.work_terms import constraint_powers, motion_powers, motion_terms, powers, work_terms
from momentree.model.joint_type import Coordinates
from momentree.spatial import Scalar
from momentree.structure.maximal_coordinates import Angle
from momentree.structure.mechanism import Mechanism

Traced = StraightLine | Rolled
ROWS = 6  # of a loop, at most


# --- formulas as code ---


def traced_code(mechanism: Mechanism, formula: Formula, code: str | None = None) -> Traced:
    """The code of a formula of a state, formula(at, p), without work terms."""
    return _code(mechanism, formula, _state(mechanism), code)


def traced_kernel(mechanism: Mechanism, formula: Formula, code: str | None = None) -> Kernel:
    """The same as a function of arrays: y, t and parameters."""
    return _kernel(traced_code(mechanism, formula, code))


def state_tape(mechanism: Mechanism, formula: Formula) -> tuple[Tape, Arguments]:
    """The tape of a formula of a state, formula(at, p), for text in other languages; and its inputs by argument."""
    signature = _state(mechanism)
    return Recording(mechanism, signature).straight_line(formula), signature.inputs


def kernel_of_configuration(mechanism: Mechanism, formula: Formula) -> Kernel | None:
    """The kernel of a formula of a configuration, formula(at); None where its code would be too long."""
    signature = _configuration(mechanism)
    if is_too_long(mechanism):
        return None
    tape = Recording(mechanism, signature).straight_line(formula)
    if is_too_long(mechanism, tape):
        return None
    return _kernel(StraightLine.of(tape, signature.inputs, Target.host()))


def _code(
    mechanism: Mechanism, formula: Formula, signature: Signature, code: str | None = None,
    straight: type[StraightLine] = StraightLine,
) -> Traced:  # fmt: skip
    """The code of a formula; its texts are found in the cache, if they are there."""

    def trace() -> Traced:
        recording = Recording(mechanism, signature)
        if is_rolled(mechanism, code):
            return recording.rolled(formula)
        tape = recording.straight_line(formula)
        if is_rolled(mechanism, code, tape):
            return recording.rolled(formula)
        return straight.of(tape, signature.inputs, Target.host())

    made: Traced = remembered((mechanism, formula, signature, code, straight), trace)
    return made


def _kernel(code: Traced) -> Kernel:
    target = Target.host()
    return Kernel(code, target.lanes(0), target)


def _configuration(mechanism: Mechanism) -> Signature:
    return Signature.of_state(mechanism, ("q", mechanism.nq))


def _state(mechanism: Mechanism, with_work: int = 0) -> Signature:
    """The state, followed by so many work terms; time, and free parameters."""
    work = [("w", with_work)] if with_work else []
    return Signature.of_state(mechanism, ("q", mechanism.nq), ("p", mechanism.nv), *work)


# --- right-hand sides ---


def right_hand_side_code(
    mechanism: Mechanism, formulation: Formulation, code: str | None = None, with_work: bool = True,
    differentiated: bool = False, constraint_gains: Mapping[str, float] | None = None, counted: Sequence[Angle] = (),
    in_time: bool = False,
) -> Traced:  # fmt: skip
    """The code of the derivatives of a state; `code` is "straight-line" or "rolled"; None: chosen by size.

    Straight-line code comes with that of its Jacobian where it is to be `differentiated`, for implicit integrators;
    with df/dt behind it where it is to be so `in_time`.
    `constraint_gains` (1/s) are those of the stabilization of loops; `counted` angles follow the work terms.
    """
    count, constraint_gains = len(work_terms_of(mechanism)) if with_work else 0, constraint_gains or {}

    def rhs(at: Evaluation, p: Coordinates, *_: Coordinates) -> list[Scalar]:
        moving = formulation.bodies(at, p, **constraint_gains)
        derivatives = _derivatives(at.mechanism, moving, formulation)
        reaction_gains = {name: gain for name, gain in constraint_gains.items() if name in REACTION_GAINS}
        derivatives += _powers(at, moving, reaction_gains) if count else []
        if formulation.maximal and counted:
            derivatives += formulation.maximal.angle_derivatives(at.mechanism, moving, counted)
        return derivatives

    straight = (DifferentiatedInTime if in_time else Differentiated) if differentiated else StraightLine
    return _code(mechanism, rhs, _state(mechanism, count + len(counted)), code, straight)


def derivatives_formula(formulation: Formulation, constraint_gains: Mapping[str, float] | None = None) -> Formula:
    """The derivatives of q and p alone, as a formula of a state."""

    def derivatives(at: Evaluation, p: Coordinates) -> list[Scalar]:
        return _derivatives(at.mechanism, formulation.bodies(at, p, **(constraint_gains or {})), formulation)

    return derivatives


def _derivatives(mechanism: Mechanism, moving: Records, formulation: Formulation) -> list[Scalar]:
    return [*coordinate_derivatives(mechanism, moving), *generalized(mechanism, moving, formulation.change)]


def physical_right_hand_side_code(mechanism: Mechanism, code: str | None = None, with_work: bool = True) -> Traced:
    """The code of the derivatives of q, of p itself (not of p*), by the reactions of loops, and of work terms."""
    count = len(work_terms_of(mechanism)) if with_work else 0

    def rhs(at: Evaluation, p: Coordinates, *_: Coordinates) -> list[Scalar]:
        mechanism, tree = at.mechanism, _of_tree(at)
        moving = hamiltonian.changing_bodies(tree, p)
        dq, dp = list(coordinate_derivatives(mechanism, moving)), list(generalized(mechanism, moving, "dp"))
        u = generalized(mechanism, moving, "u")
        if mechanism.constrained:
            reacting = reacting_bodies(at._replace(run=Records), u, [0] * mechanism.nv)
            reactions = loop_impulses(mechanism, reacting)
            dp = [change + force for change, force in zip(dp, reactions, strict=True)]
        return [*dq, *dp, *(_powers(at, moving, felt=tree.mechanism) if count else [])]

    return _code(mechanism, rhs, _state(mechanism, count), code)


def work_terms_of(mechanism: Mechanism) -> tuple[tuple[str, str], ...]:
    """Name and kind of each work term, of forces and of prescribed motions."""
    return (*work_terms(mechanism), *motion_terms(mechanism))


def _powers(
    at: Evaluation, moving: Records, gains: Mapping[str, float] | None = None, felt: Mechanism | None = None
) -> list[Scalar]:
    """The power of each work term; loops are closed by reactions, which also stabilize them by these gains (1/s).

    `felt` is the mechanism whose forces move the bodies, where that is without loops.
    """
    mechanism = at.mechanism
    feels = at._replace(mechanism=felt or mechanism)
    results = powers(feels.mechanism, moving, names_of(feels, moving))
    if len(results) < len(work_terms_of(mechanism)):
        u = generalized(mechanism, moving, "u")
        reacting = reacting_bodies(at, u, [0] * mechanism.nv, **(gains or {}))
        du, reactions = generalized(mechanism, reacting, "du"), constraint_wrenches(mechanism, reacting)
        forces = constraint_joint_forces(mechanism, reacting) if mechanism.constraints else {}
        results += motion_powers(at, u, du, reactions, forces)
        results += constraint_powers(mechanism, reacting)
    return results


# --- states with closed loops ---


def closed_code(mechanism: Mechanism, formulation: Formulation, code: str | None = None) -> Traced:
    """Momenta or velocities projected onto the constraints, from those of a state with its loops closed."""
    return traced_code(mechanism, formulation.closed, code)


def holding_kernel(mechanism: Mechanism, formulation: Formulation, code: str | None = None) -> Kernel:
    """`closed_code` as a function of arrays: y, t and parameters."""
    return _kernel(closed_code(mechanism, formulation, code))


def closing_positions(at: Evaluation, p: Coordinates) -> list[Scalar]:
    """Coordinates moved to where loops close, by one step of Newton's method; behind them, closure errors before it."""
    moving = closing_step(at)
    errors = [error for each in moving.constraints[1:] for error in each.closure_error]
    return [*moved_coordinates(at.mechanism, moving), *errors]


def positions_code(mechanism: Mechanism, code: str | None = None) -> Traced:
    """The code of `closing_positions`."""
    return traced_code(mechanism, closing_positions, code)


def closing_kernel(mechanism: Mechanism, code: str | None = None) -> Kernel:
    """`positions_code` as a function of arrays: y, t and parameters."""
    return _kernel(positions_code(mechanism, code))


# --- velocities and momenta ---


def velocities_code(mechanism: Mechanism, code: str | None = None) -> Traced:
    """Velocities from coordinates and momenta."""

    def velocities(at: Evaluation, p: Coordinates) -> Sequence[Scalar]:
        return generalized(at.mechanism, hamiltonian.moving_bodies(at, p), "u")

    return traced_code(mechanism, velocities, code)


def velocity_kernel(mechanism: Mechanism, code: str | None = None) -> Kernel:
    """`velocities_code` as a function of arrays: y, t and parameters."""
    return _kernel(velocities_code(mechanism, code))


def momenta_code(mechanism: Mechanism, code: str | None = None) -> Traced:
    """Momenta from coordinates and velocities."""
    return traced_code(mechanism, hamiltonian.momenta, code)


# --- structure-preserving steps: integrate/verlet/ ---


def drift(at: Evaluation, p: Coordinates) -> list[Scalar]:
    """The velocities on the group, loops not closed: one for each momentum."""
    moving = hamiltonian.moving_bodies(_of_tree(at), p)
    moving.locally(move)
    return _velocities_on_group(at.mechanism, moving)


def kick(at: Evaluation, p: Coordinates) -> list[Scalar]:
    """The velocities on the group, then the forces that change the momenta, loops not closed."""
    return _kick(at, p)[0]


def split_code(mechanism: Mechanism, code: str | None = None, with_work: bool = True) -> tuple[Traced, Traced]:
    """The codes of `kick`, powers of work terms behind it, and of `drift`."""
    working = with_work and bool(work_terms_of(mechanism))

    def kicked(at: Evaluation, p: Coordinates) -> list[Scalar]:
        results, moving = _kick(at, p)
        return results + (_powers(at, moving, felt=_of_tree(at).mechanism) if working else [])

    return traced_code(mechanism, kicked, code), traced_code(mechanism, drift, code)


def _kick(at: Evaluation, p: Coordinates) -> tuple[list[Scalar], Records]:
    moving = hamiltonian.changing_bodies(_of_tree(at), p)
    velocities = _velocities_on_group(at.mechanism, moving)
    moving.locally(forces_on_group)
    return [*velocities, *generalized(at.mechanism, moving, "group_force")], moving


def _velocities_on_group(mechanism: Mechanism, moving: Records) -> list[Scalar]:
    moving.locally(velocities_on_group)
    return list(generalized(mechanism, moving, "group_velocity"))


def _of_tree(at: Evaluation) -> Evaluation:
    """The same with its loops open."""
    mechanism = at.mechanism
    return (
        at._replace(mechanism=dataclasses.replace(mechanism, loops=(), constraints=())) if mechanism.constrained else at
    )


def closure_errors(at: Evaluation) -> list[Scalar]:
    """The closure error of each row of all constraints, and zeros up to `most_rows`."""
    return _filled(at.mechanism, loop_closure_errors(at))


def constraint_push(at: Evaluation, g: Sequence[Scalar]) -> list[Scalar]:
    """Velocities on the group by which loops open with -g; the impulses J' lam that cause them; the openings."""
    moving = opening_step(at, g)
    velocities = _velocities_on_group(at.mechanism, moving)
    opened = _filled(at.mechanism, constraint_velocities(moving))
    return [*velocities, *loop_impulses(at.mechanism, moving), *opened]


def velocity_projection(at: Evaluation, p: Coordinates) -> list[Scalar]:
    """The generalized impulses J' mu after which constraint velocities are zero."""
    return list(loop_impulses(at.mechanism, hamiltonian.moving_bodies(at, p)))


def _filled(mechanism: Mechanism, rows: Sequence[Scalar]) -> list[Scalar]:
    return [*rows, *[0] * (most_rows(mechanism) - len(rows))]


def most_rows(mechanism: Mechanism) -> int:
    """How many rows its constraints have at most."""
    return ROWS * len(mechanism.loops) + len(mechanism.constraints)


def loop_codes(mechanism: Mechanism, code: str | None = None) -> dict[str, Traced]:
    """The codes of `closure_errors`, `constraint_push` and `velocity_projection`, by name."""
    rows = Signature.of_state(mechanism, ("q", mechanism.nq), ("g", most_rows(mechanism)))
    formulas = (
        (closure_errors, _configuration(mechanism)),
        (constraint_push, rows),
        (velocity_projection, _state(mechanism)),
    )
    return {formula.__name__: _code(mechanism, formula, signature, code) for formula, signature in formulas}
