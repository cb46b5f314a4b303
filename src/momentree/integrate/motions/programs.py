"""Programs of whole motions for one mechanism, by the family of the method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from momentree.compile.emit.jacobian_code import Derivatives
from momentree.compile.emit.lanes import LanesCode, module
from momentree.compile.emit.routine import table
from momentree.compile.execute.kernel import aligned
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.right_hand_sides import closed_code, momenta_code, positions_code, velocities_code
from momentree.equations.formulations import Formulation
from momentree.errors import MomentreeError, choices
from momentree.integrate.linear_algebra import algebra_texts
from momentree.integrate.method_record import LoopTreatment
from momentree.integrate.methods import METHODS, named_method
from momentree.integrate.motions.driver import MotionsCode, Shape, codes_of_motions
from momentree.integrate.motions.program import MotionsProgram
from momentree.integrate.motions.sample_code import Sampling
from momentree.integrate.projection import closure_sizes
from momentree.integrate.radau.layout import CONTROL, RadauLayout
from momentree.integrate.radau.motions import RadauMotions
from momentree.integrate.radau.step import TOGETHER
from momentree.integrate.radau.tableau import RadauTableau
from momentree.integrate.rosenbrock.layout import RosenbrockLayout
from momentree.integrate.rosenbrock.motions import RosenbrockMotions
from momentree.integrate.rosenbrock.tableau import RosenbrockTableau
from momentree.integrate.runge_kutta.explicit import nodes_text
from momentree.integrate.runge_kutta.layout import RungeKuttaLayout
from momentree.integrate.runge_kutta.motions import ExplicitMotions
from momentree.integrate.runge_kutta.step_code import tables_text
from momentree.integrate.runge_kutta.stepper import floors_of
from momentree.integrate.stepper import Array
from momentree.integrate.steppers import Problem, RungeKuttaParts, error_floor
from momentree.integrate.tableau import Tableau
from momentree.integrate.verlet.composition import Composition
from momentree.integrate.verlet.layout import Parts, RattleLayout
from momentree.integrate.verlet.motions import RattleMotions, VerletMotions
from momentree.integrate.verlet.stepper import check_preserved, layout_of, step_codes_of, verlet_tables
from momentree.structure.mechanism import Mechanism

Pattern = Sequence[tuple[int, int]]  # row and column of each entry of a Jacobian


def motions_program(
    mechanism: Mechanism, formulation: Formulation, integrator: str, code: str | None, width: int,
    constraint_gains: Mapping[str, float] | None = None, project: bool = False, vectors: bool = False,
) -> MotionsProgram:  # fmt: skip
    """The program of an integrator, by name, for so many motions at a time; `vectors` where one is computed alone."""
    method = named_method(integrator)
    if method.new_motions is None:
        able = choices([name for name, other in METHODS.items() if other.new_motions is not None])
        raise MomentreeError(f"{integrator} does not compute many motions together. Choose {able}.")
    leak = method.loops is LoopTreatment.LEAK and "leak" in formulation.stabilizations
    what = mechanism, formulation, code, False, width, method.adaptive, constraint_gains, project, leak
    return method.new_motions(Problem(*what, vectors=vectors))


def sampling_of(problem: Problem) -> Sampling:
    """How states of a problem become samples."""
    mechanism, formulation, code = problem.mechanism, problem.formulation, problem.code
    closed = problem.project and mechanism.constrained
    positions = positions_code(mechanism, code) if closed else None
    start, velocities = None, None
    if formulation.momenta and mechanism.nv:
        start, velocities = momenta_code(mechanism, code), velocities_code(mechanism, code)
    elif closed and mechanism.nv:
        velocities = closed_code(mechanism, formulation, code)
    rows = len(closure_sizes(mechanism)) if closed else 0
    quaternions = tuple(error_floor(mechanism)[1])
    return Sampling(mechanism.nq, mechanism.nv, quaternions, rows, start, positions, velocities)


def explicit_program(problem: Problem, tableau: Tableau) -> MotionsProgram:
    """Motions by an explicit Runge-Kutta method."""
    parts, sampling, W = RungeKuttaParts.of(problem, tableau), sampling_of(problem), problem.width
    layout = RungeKuttaLayout(len(parts.floor), W, 1, tableau, tableau.adaptive, parts.projection)
    codes = step_codes(parts) | sampling.codes
    shape = _shape(problem, codes, layout.size // W, 0, layout.work)
    controlled = int(np.isfinite(parts.floor).sum())
    routine = ExplicitMotions(tableau, layout, shape, sampling, controlled, parts.projection, parts.norm)
    tables = [*tables_text(parts.quaternions, parts.projection, parts.norm), nodes_text(tableau)]
    called = {("power", W)} if tableau.adaptive else set()
    return _program(routine, codes, tables, called, _floors(parts, layout), problem.vectors)


def radau_program(problem: Problem, tableau: RadauTableau) -> MotionsProgram:
    """Motions by Radau IIA, one at a time."""
    parts, sampling = RungeKuttaParts.of(problem, tableau, jacobian=True), sampling_of(problem)
    codes, pattern = _codes_with_jacobian(parts, sampling)
    wide, n, controlled = _together(problem), len(parts.floor), int(np.isfinite(parts.floor).sum())
    layout = RadauLayout(n, 1, 1, tableau, True, parts.projection, wide)
    shape = _shape(problem, codes, layout.size, CONTROL - 2 + layout.memory, layout.work, parts.rhs.scratch(wide))
    routine = RadauMotions(layout, shape, sampling, controlled, len(pattern), parts.projection, parts.norm, wide)
    columns, called = parts.rhs.lanes(wide, "columns") if wide > 1 else ([], set())
    algebra = [text for k in (1, 2) for text in algebra_texts(controlled, layout.size, 1, controlled, k)]
    texts = [*columns, *_implicit_tables(parts, pattern, layout.size), *algebra]
    return _program(routine, codes, texts, called | {("power", 1)}, _floors(parts, layout), problem.vectors)


def rosenbrock_program(problem: Problem, tableau: RosenbrockTableau) -> MotionsProgram:
    """Motions by a Rosenbrock method, one at a time."""
    parts, sampling = RungeKuttaParts.of(problem, tableau, jacobian=True, in_time=True), sampling_of(problem)
    codes, pattern = _codes_with_jacobian(parts, sampling)
    n, controlled = len(parts.floor), int(np.isfinite(parts.floor).sum())
    wide = 1 if pattern else _together(problem)
    layout = RosenbrockLayout(n, 1, 1, tableau, True, parts.projection, wide)
    shape = _shape(problem, codes, layout.size, CONTROL - 2 + layout.memory, layout.work, parts.rhs.scratch(wide))
    routine = RosenbrockMotions(layout, shape, sampling, controlled, len(pattern), parts.projection, parts.norm, wide)
    routine.know_time(parts.rhs)
    columns, called = parts.rhs.lanes(wide, "columns") if wide > 1 else ([], set())
    texts = [*columns, *_implicit_tables(parts, pattern, layout.size)]
    texts += algebra_texts(n, layout.size, 1, controlled, 1)
    return _program(routine, codes, texts, called | {("power", 1)}, _floors(parts, layout), problem.vectors)


def _together(problem: Problem) -> int:
    """At how many states the right-hand side is evaluated at once."""
    return min(Target.host().lanes(0), TOGETHER) if problem.vectors else 1


def _codes_with_jacobian(parts: RungeKuttaParts, sampling: Sampling) -> tuple[dict[str, LanesCode], Pattern]:
    """The codes of an implicit method, with that of its Jacobian where there is one, and the places of its entries."""
    codes, derivatives = step_codes(parts) | sampling.codes, Derivatives.of(parts.rhs)
    if derivatives.jacobian is None:
        return codes, ()
    return codes | {"jacobian": derivatives.jacobian}, derivatives.pattern


def _implicit_tables(parts: RungeKuttaParts, pattern: Pattern, size: int) -> list[str]:
    tables = tables_text(parts.quaternions, parts.projection, parts.norm)
    return [*tables, table("pattern", [j * size + i for i, j in pattern])]


def verlet_program(problem: Problem, composition: Composition) -> MotionsProgram:
    """Motions by a structure-preserving method."""
    mechanism, W, weights = problem.mechanism, problem.width, composition.weights
    check_preserved(mechanism, composition.name)
    sampling, codes = sampling_of(problem), dict[str, LanesCode](step_codes_of(mechanism, problem.code, False))
    layout = layout_of(mechanism, 0, W, len(weights), False)
    codes |= sampling.codes
    shape = _shape(problem, codes, layout.size // W, layout.memory, layout.work)
    made = RattleMotions if isinstance(layout, RattleLayout) else VerletMotions
    routine = made(Parts.of(mechanism), layout, len(weights), shape, sampling)
    tables = [*verlet_tables(Parts.of(mechanism), weights), table("quaternions", sampling.quaternions)]
    return _program(routine, codes, tables, set(), (aligned(8), aligned(8)), problem.vectors)


def _shape(
    problem: Problem, codes: Mapping[str, LanesCode], columns: int, memory: int, work: int, least: int = 8
) -> Shape:
    W = problem.width
    scratch = max([8, least, *(code.scratch(W) for code in codes.values())])
    return Shape(W, len(problem.mechanism.free), columns, memory, work, scratch)


def _floors(parts: RungeKuttaParts, layout: RungeKuttaLayout) -> tuple[Array, Array]:
    what = parts.floor, parts.least, parts.norm, layout.floor_size
    return floors_of(*what, False), floors_of(*what, True)


def _program(
    routine: MotionsCode, codes: Mapping[str, LanesCode], tables: Sequence[str], called: set[tuple[str, int]],
    floors: tuple[Array, Array], vectors: bool = False,
) -> MotionsProgram:  # fmt: skip
    """The module of motions_W, and its sizes."""
    texts, functions = codes_of_motions(codes, routine.width, vectors)
    text = module(1, [*texts, *tables, *routine.functions_text(), routine.text()], functions | called)
    counts = routine.sampling.nq, routine.sampling.nv, routine.shape.parameters
    return MotionsProgram(text, routine.width, *counts, routine.room, floors)


def step_codes(parts: RungeKuttaParts) -> dict[str, LanesCode]:
    """The codes that a step of a Runge-Kutta method calls, by name."""
    codes: dict[str, LanesCode | None] = {"rhs": parts.rhs}
    codes |= {"velocities": parts.norm.velocities} if parts.norm else {}
    codes |= {"positions": parts.projection.positions, "momenta": parts.projection.momenta} if parts.projection else {}
    return {name: code for name, code in codes.items() if code is not None}
