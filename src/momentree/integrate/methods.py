"""The integrators by name, and the machine code of each for one mechanism.

| name    | what it is                                            | step     | variables            |
|---------|-------------------------------------------------------|----------|----------------------|
| dop853  | Runge-Kutta of order 8, dense output of order 7       | adaptive | any                  |
| dopri5  | Runge-Kutta of order 5, dense output of order 4       | adaptive | any                  |
| radau   | Radau IIA of order 5, implicit: for stiff systems      | adaptive | any                  |
| rk4     | Runge-Kutta of order 4                                | fixed    | any                  |
| verlet  | structure-preserving, of order 2: for long runs        | fixed    | Hamiltonian          |
| verlet4 | the same, composed to order 4                          | fixed    | Hamiltonian          |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from momentree.compile.execute.arrays import quaternions
from momentree.compile.trace.right_hand_sides import accounts_of, right_hand_side_code
from momentree.equations.formulations import Formulation
from momentree.integrate import stepper, verlet_stepper
from momentree.integrate.error_norm import least_sizes, measure_of
from momentree.integrate.projection import projection_of
from momentree.integrate.stepper import Array, Stepper
from momentree.integrate.verlet_stepper import SymplecticStepper
from momentree.structure.maximal_coordinates import Angle
from momentree.structure.mechanism import Mechanism

INTEGRATORS = (*stepper.INTEGRATORS, *verlet_stepper.INTEGRATORS)
FIXED = ("rk4", *verlet_stepper.INTEGRATORS)  # with steps of a fixed length
HAMILTONIAN = tuple(verlet_stepper.INTEGRATORS)  # in Hamiltonian variables only
ORDERS = {"rk4": 4, "verlet": 2, "verlet4": 4}
ALONE = ("radau",)  # one motion at a time
LEAKING = ("radau",)  # look back at steps before: momenta must not jump from one to the next, impulses leak away
AnyStepper = Stepper | SymplecticStepper


def new_stepper(
    mechanism: Mechanism,
    formulation: Formulation,
    integrator: str,
    code: str | None = None,
    accounts: bool = True,
    width: int = 1,
    dense: bool = False,
    held: Mapping[str, float] | None = None,
    project: bool = False,
    counted: Sequence[Angle] = (),
) -> AnyStepper:
    """What takes steps of a mechanism by one of the integrators; loops are `held` closed, and projected.

    The mechanism is as the formulation tells it; angles are `counted` behind the accounts of work.
    """
    if integrator in verlet_stepper.INTEGRATORS:
        return SymplecticStepper(mechanism, integrator, width, code, accounts, dense)
    floor, starts = error_floor(mechanism)
    count = (len(accounts_of(mechanism)) if accounts else 0) + len(counted)
    floor = np.append(floor, np.full(count, np.inf))  # accounts do not shorten steps
    found = right_hand_side_code(mechanism, formulation, code, accounts, integrator == "radau", held, counted)
    leaking = integrator in LEAKING and "leak" in formulation.holds
    projection = projection_of(mechanism, formulation, code, leaking) if project and mechanism.loops else None
    method, parameters = stepper.INTEGRATORS[integrator], len(mechanism.free)
    measure = measure_of(mechanism, formulation, code, project) if method.adaptive else None
    least = np.maximum(floor, np.append(least_sizes(mechanism), np.zeros(count)))
    more = (projection, measure, least)
    return Stepper(found, method, floor, starts, parameters, width, dense, None, *more)


def error_floor(mechanism: Mechanism) -> tuple[Array, list[int]]:
    """The least size of each entry of a state for its error, and where quaternions start: their whole counts as 1."""
    starts = [place.start for place in quaternions(mechanism)]
    floor = np.zeros(mechanism.nq + mechanism.nv)
    for place in starts:
        floor[place : place + 4] = 1.0
    return floor, starts
