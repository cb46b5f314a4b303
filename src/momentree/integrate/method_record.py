"""Method: the record of one integrator, from which every list, check, error text, help text and table is made.

What an integrator is stands here once; methods.py collects the records and states the contract for new ones.
Making a record imports nothing that compiles: the machine code is written when a stepper is made.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from momentree.errors import MomentreeError
from momentree.integrate.tableau import Tableau

if TYPE_CHECKING:
    from momentree.integrate.motions.program import MotionsProgram
    from momentree.integrate.stepper import Stepper
    from momentree.integrate.steppers import OrdinaryProblem, Problem

WITHOUT_TOLERANCE = 1e-8  # rtol of a fixed step size: it only says from when on the balance of energy is called bad


class LoopTreatment(enum.Enum):
    """What becomes of loops, and of the constraint impulses eta, where stabilization is "project"."""

    PROJECTION = "projected after each step"  # q, then momenta: no impulse remains in them
    LEAK = "projected after each step, impulses leak"  # q alone: momenta must not jump between steps that look back
    WITHIN = "closed within each step"


@dataclass(frozen=True, kw_only=True)
class Method:
    """One integrator.

    | field       | meaning                                                                                        |
    |-------------|------------------------------------------------------------------------------------------------|
    | name        | as users write it: integrator="dop853"                                                          |
    | description | what it is, in a line                                                                          |
    | use         | what it is good for, in a line                                                                 |
    | order       | of convergence: the global error falls as h^order                                              |
    | error_order | up to which the estimate of the error vanishes; None: there is none, and the step size is fixed  |
    | dense_order | of dense output, the solution within a step; None: there is none                                 |
    | hamiltonian | whether it needs coordinates and momenta of the Hamiltonian formulation; otherwise it takes any   |
    | most_lanes  | how many motions are computed at a time, in the lanes of a vector; None: as many as it has       |
    | loops       | how loops are kept closed                                                                      |
    | stiff       | whether it is for stiff systems                                                                |
    | rtol        | relative tolerance unless the user gives one                                                   |
    | theory      | the page in docs/theory, if there is one                                                       |
    | tableau     | the coefficients of a Runge-Kutta method                                                       |
    | new_stepper | makes the machine code for a problem, and what calls it: see methods.py                          |
    | new_motions | makes that of many whole motions; None: it computes none together                              |
    """

    name: str
    description: str
    use: str
    order: int
    error_order: int | None
    dense_order: int | None
    new_stepper: Callable[[Any], Stepper]
    new_motions: Callable[[Any], MotionsProgram] | None = None
    hamiltonian: bool = False
    most_lanes: int | None = None
    loops: LoopTreatment = LoopTreatment.PROJECTION
    stiff: bool = False
    rtol: float = WITHOUT_TOLERANCE
    theory: str = ""
    tableau: Tableau | None = None

    def __post_init__(self) -> None:
        problems = []
        if not self.name.isidentifier():
            problems.append(f"the name '{self.name}' is not a word")
        if self.order < 1 or (self.error_order is not None and not self.error_order >= 1):
            problems.append("orders are at least 1")
        if self.adaptive and self.dense_order is None:
            problems.append("an adaptive method needs dense output: samples lie within its steps")
        if not 1e-14 <= self.rtol <= 0.1:
            problems.append(f"rtol is {self.rtol}, not between 1e-14 and 0.1")
        if problems:
            raise MomentreeError(f"integrator '{self.name}': {'; '.join(problems)}.")

    @property
    def adaptive(self) -> bool:
        """Whether the step size follows from an estimate of the error; otherwise it is fixed."""
        return self.error_order is not None

    def lanes(self, most: int) -> int:
        """How many motions are computed at a time, where a vector has so many lanes."""
        return most if self.most_lanes is None else min(most, self.most_lanes)


def explicit_method(tableau: Tableau, *, description: str, use: str, rtol: float = WITHOUT_TOLERANCE) -> Method:
    """The record of an explicit Runge-Kutta method: all that its tableau says is taken from there."""

    def new_stepper(problem: Problem | OrdinaryProblem) -> Stepper:
        from momentree.integrate.steppers import runge_kutta_stepper

        return runge_kutta_stepper(problem, tableau)

    def new_motions(problem: Problem) -> MotionsProgram:
        from momentree.integrate.motions.programs import explicit_program

        return explicit_program(problem, tableau)

    return Method(
        name=tableau.name,
        description=description,
        use=use,
        order=tableau.order,
        error_order=tableau.error_orders[0] if tableau.adaptive else None,
        dense_order=tableau.dense.order if tableau.dense else None,
        new_stepper=new_stepper,
        new_motions=new_motions,
        rtol=rtol,
        tableau=tableau,
    )
