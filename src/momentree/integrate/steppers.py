"""What integrators are made for: a problem, which is a mechanism in one formulation or any equations, and a stepper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from momentree.compile.emit.lanes import LanesCode
from momentree.compile.execute.arrays import quaternions
from momentree.compile.trace.right_hand_sides import right_hand_side_code, work_terms_of
from momentree.equations.formulations import Formulation
from momentree.integrate.error_norm import ErrorNorm, error_norm_of, least_sizes
from momentree.integrate.method_record import LoopTreatment
from momentree.integrate.methods import named_method
from momentree.integrate.projection import Projection, projection_of
from momentree.integrate.runge_kutta.stepper import EXPLICIT, Emitter, RungeKuttaStepper
from momentree.integrate.stepper import Array, Stepper
from momentree.integrate.tableau import Tableau
from momentree.structure.maximal_coordinates import Angle
from momentree.structure.mechanism import Mechanism


@dataclass(frozen=True)
class Problem:
    """What a stepper is made for.

    | field            | meaning                                                                                   |
    |------------------|-------------------------------------------------------------------------------------------|
    | mechanism        | as the formulation describes it; free parameters are parameters of the machine code       |
    | code             | "straight-line" or "rolled"; None: what suits                                             |
    | with_work        | whether work terms stand in y, behind coordinates and momenta or velocities               |
    | width            | how many motions are computed at a time, in the lanes of a vector: `new_motions` alone    |
    | dense            | whether records hold the stages that dense output needs                                   |
    | constraint_gains | gains (1/s) of the stabilization of loops: Baumgarte stabilization, leak                  |
    | project          | whether loops are closed after each step                                                  |
    | leak             | whether a projection leaves constraint impulses in the momenta, from where they leak away |
    | counted          | angles whose turns are counted behind the work terms                                      |
    | vectors          | whether a single motion may use vectors, which changes no bit: `new_motions` alone        |
    """

    mechanism: Mechanism
    formulation: Formulation
    code: str | None = None
    with_work: bool = True
    width: int = 1
    dense: bool = False
    constraint_gains: Mapping[str, float] | None = None
    project: bool = False
    leak: bool = False
    counted: Sequence[Angle] = ()
    vectors: bool = False


@dataclass(frozen=True)
class OrdinaryProblem:
    """Ordinary differential equations y' = f(y, t, parameters) of any origin, for Runge-Kutta methods.

    | field      | meaning                                                                    |
    |------------|----------------------------------------------------------------------------|
    | rhs        | makes the code of f; with that of its Jacobian, where it is asked to       |
    | n          | numbers of y                                                               |
    | parameters | how many there are                                                         |
    | dense      | whether records hold the stages that dense output needs                    |
    """

    rhs: Callable[[bool], LanesCode]
    n: int
    parameters: int = 0
    dense: bool = False


def new_stepper(
    mechanism: Mechanism,
    formulation: Formulation,
    integrator: str,
    code: str | None = None,
    with_work: bool = True,
    dense: bool = False,
    constraint_gains: Mapping[str, float] | None = None,
    project: bool = False,
    counted: Sequence[Angle] = (),
) -> Stepper:
    """The stepper of one of the integrators, by name: see `Problem`."""
    method = named_method(integrator)
    leak = method.loops is LoopTreatment.LEAK and "leak" in formulation.stabilizations
    problem = Problem(mechanism, formulation, code, with_work, 1, dense, constraint_gains, project, leak, counted)
    return method.new_stepper(problem)


def runge_kutta_stepper(
    problem: Problem | OrdinaryProblem, tableau: Tableau, emitter: Emitter = EXPLICIT, jacobian: bool = False,
    in_time: bool = False,
) -> Stepper:  # fmt: skip
    """The stepper of a Runge-Kutta method; `jacobian` where its machine code takes df/dy too, `in_time` df/dt."""
    if isinstance(problem, OrdinaryProblem):
        shape = problem.parameters, problem.dense
        return RungeKuttaStepper(problem.rhs(jacobian), tableau, np.zeros(problem.n), [], *shape, emitter=emitter)
    parts = RungeKuttaParts.of(problem, tableau, jacobian, in_time)
    lanes = len(problem.mechanism.free), problem.dense, None
    return RungeKuttaStepper(
        parts.rhs, tableau, parts.floor, parts.quaternions, *lanes, parts.projection, parts.norm, parts.least, emitter
    )


class RungeKuttaParts(NamedTuple):
    """What the machine code of a Runge-Kutta method is made of, for a mechanism.

    | field       | meaning                                                                            |
    |-------------|------------------------------------------------------------------------------------|
    | rhs         | the right-hand side                                                                |
    | floor       | least size of each entry of y for the error; infinite where it does not matter     |
    | least       | the same where there is no atol                                                    |
    | quaternions | the columns where they start                                                       |
    | projection  | what closes loops after each step, if anything does                                |
    | norm        | how errors of momenta are measured; None: as they are                              |
    """

    rhs: LanesCode
    floor: Array
    least: Array
    quaternions: list[int]
    projection: Projection | None
    norm: ErrorNorm | None

    @classmethod
    def of(cls, problem: Problem, tableau: Tableau, jacobian: bool = False, in_time: bool = False) -> RungeKuttaParts:
        """For a problem; with a Jacobian for implicit methods, df/dt behind it where they are to be so `in_time`."""
        mechanism, formulation, code = problem.mechanism, problem.formulation, problem.code
        floor, starts = error_floor(mechanism)
        count = (len(work_terms_of(mechanism)) if problem.with_work else 0) + len(problem.counted)
        floor = np.append(floor, np.full(count, np.inf))  # work terms do not reduce the step size
        what = problem.with_work, jacobian, problem.constraint_gains, problem.counted, in_time
        rhs = right_hand_side_code(mechanism, formulation, code, *what)
        closed = problem.project and mechanism.constrained
        projection = projection_of(mechanism, formulation, code, problem.leak) if closed else None
        norm = error_norm_of(mechanism, formulation, code, problem.project) if tableau.adaptive else None
        least = np.maximum(floor, np.append(least_sizes(mechanism), np.zeros(count)))
        return cls(rhs, floor, least, starts, projection, norm)


def error_floor(mechanism: Mechanism) -> tuple[Array, list[int]]:
    """The least size of each entry of a state for its error, and where quaternions start: their whole counts as 1."""
    starts = [quaternion.start for quaternion in quaternions(mechanism)]
    floor = np.zeros(mechanism.nq + mechanism.nv)
    for start in starts:
        floor[start : start + 4] = 1.0
    return floor, starts
