"""The records of "verlet" and "verlet4"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from momentree.integrate.method_record import LoopTreatment, Method
from momentree.integrate.verlet.composition import HERMITE, VERLET, VERLET4, Composition

if TYPE_CHECKING:
    from momentree.integrate.motions.program import MotionsProgram
    from momentree.integrate.stepper import Stepper
    from momentree.integrate.steppers import Problem


def _method(composition: Composition, description: str, use: str) -> Method:
    def new_stepper(problem: Problem) -> Stepper:
        from momentree.integrate.verlet.stepper import VerletStepper

        return VerletStepper(problem.mechanism, composition, problem.code, problem.with_work, problem.dense)

    def new_motions(problem: Problem) -> MotionsProgram:
        from momentree.integrate.motions.programs import verlet_program

        return verlet_program(problem, composition)

    return Method(
        name=composition.name,
        description=description,
        use=use,
        order=composition.order,
        error_order=None,
        dense_order=HERMITE.order,
        new_stepper=new_stepper,
        new_motions=new_motions,
        hamiltonian=True,
        loops=LoopTreatment.WITHIN,
        theory="structure-preserving.md",
    )


METHODS = (
    _method(VERLET, "structure-preserving: Verlet, RATTLE", "long runs: energy errors stay bounded, momenta are kept"),
    _method(VERLET4, "structure-preserving: five steps of `verlet`", "the same, more accurate"),
)
