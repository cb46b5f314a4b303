"""The records of "radau" and "radau9"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from momentree.integrate.method_record import LoopTreatment, Method
from momentree.integrate.radau.tableau import RADAU, RADAU9, RadauTableau

if TYPE_CHECKING:
    from momentree.integrate.motions.program import MotionsProgram
    from momentree.integrate.stepper import Stepper
    from momentree.integrate.steppers import OrdinaryProblem, Problem


def _method(tableau: RadauTableau, description: str, use: str, rtol: float) -> Method:
    def new_stepper(problem: Problem | OrdinaryProblem) -> Stepper:
        from momentree.integrate.radau.step import IMPLICIT
        from momentree.integrate.steppers import runge_kutta_stepper

        return runge_kutta_stepper(problem, tableau, IMPLICIT, jacobian=True)

    def new_motions(problem: Problem) -> MotionsProgram:
        from momentree.integrate.motions.programs import radau_program

        return radau_program(problem, tableau)

    return Method(
        name=tableau.name,
        description=description,
        use=use,
        order=tableau.order,
        error_order=tableau.error_orders[0],
        dense_order=tableau.dense.order if tableau.dense else None,
        new_stepper=new_stepper,
        new_motions=new_motions,
        most_lanes=1,
        loops=LoopTreatment.LEAK,
        stiff=True,
        rtol=rtol,
        theory="stiff-motions.md",
        tableau=tableau,
    )


METHODS = (
    _method(
        RADAU,
        "Runge-Kutta, implicit: Radau IIA of 3 stages",
        "stiff systems: the same with fewer stages, for comparison and small memory",
        rtol=1e-9,
    ),
    _method(
        RADAU9,
        "Runge-Kutta, implicit: Radau IIA of 5 stages",
        "stiff systems: strong dampers, hard and damped springs, contacts that stay closed",
        rtol=3e-10,  # where its errors are those of radau at 1e-9
    ),
)
