"""The record of "radau"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from momentree.integrate.method_record import LoopTreatment, Method
from momentree.integrate.radau.tableau import RADAU

if TYPE_CHECKING:
    from momentree.integrate.stepper import Stepper
    from momentree.integrate.steppers import OrdinaryProblem, Problem


def _new_stepper(problem: Problem | OrdinaryProblem) -> Stepper:
    from momentree.integrate.radau.step import IMPLICIT
    from momentree.integrate.steppers import runge_kutta_stepper

    return runge_kutta_stepper(problem, RADAU, IMPLICIT, jacobian=True)


METHOD = Method(
    name=RADAU.name,
    description="Runge-Kutta, implicit: Radau IIA",
    use="stiff systems: strong dampers, hard and damped springs, contacts that stay closed",
    order=RADAU.order,
    error_order=RADAU.error_orders[0],
    dense_order=RADAU.dense.order if RADAU.dense else None,
    new_stepper=_new_stepper,
    most_lanes=1,
    loops=LoopTreatment.LEAK,
    stiff=True,
    rtol=1e-9,
    tableau=RADAU,
)
