"""The record of "rodas5p"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from momentree.integrate.method_record import LoopTreatment, Method
from momentree.integrate.rosenbrock.rodas5p import RODAS5P

if TYPE_CHECKING:
    from momentree.integrate.motions.program import MotionsProgram
    from momentree.integrate.stepper import Stepper
    from momentree.integrate.steppers import OrdinaryProblem, Problem


def _new_stepper(problem: Problem | OrdinaryProblem) -> Stepper:
    from momentree.integrate.rosenbrock.step import ROSENBROCK
    from momentree.integrate.steppers import runge_kutta_stepper

    return runge_kutta_stepper(problem, RODAS5P, ROSENBROCK, jacobian=True, in_time=True)


def _new_motions(problem: Problem) -> MotionsProgram:
    from momentree.integrate.motions.programs import rosenbrock_program

    return rosenbrock_program(problem, RODAS5P)


METHOD = Method(
    name=RODAS5P.name,
    description="Rosenbrock (linearly implicit): Rodas5P",
    use="stiff systems at loose tolerances: no iteration, every step the same operations",
    order=RODAS5P.order,
    error_order=RODAS5P.error_orders[0],
    dense_order=RODAS5P.dense.order if RODAS5P.dense else None,
    new_stepper=_new_stepper,
    new_motions=_new_motions,
    most_lanes=1,
    loops=LoopTreatment.PROJECTION,
    stiff=True,
    rtol=1e-9,
    theory="stiff-motions.md",
)
