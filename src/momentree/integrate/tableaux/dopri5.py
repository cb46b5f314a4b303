"""Dormand and Prince's pair of order 5(4), with dense output of order 4.

Dormand and Prince 1980; dense output: Shampine 1986.
"""

from __future__ import annotations

from momentree.integrate.method_record import explicit_method
from momentree.integrate.tableau import Interpolant, Tableau

DOPRI5 = Tableau(
    "dopri5",
    order=5,
    c=(0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1),
    a=(
        {},
        {0: 1 / 5},
        {0: 3 / 40, 1: 9 / 40},
        {0: 44 / 45, 1: -56 / 15, 2: 32 / 9},
        {0: 19372 / 6561, 1: -25360 / 2187, 2: 64448 / 6561, 3: -212 / 729},
        {0: 9017 / 3168, 1: -355 / 33, 2: 46732 / 5247, 3: 49 / 176, 4: -5103 / 18656},
    ),
    b={0: 35 / 384, 2: 500 / 1113, 3: 125 / 192, 4: -2187 / 6784, 5: 11 / 84},
    errors=({0: -71 / 57600, 2: 71 / 16695, 3: -71 / 1920, 4: 17253 / 339200, 5: -22 / 525, 6: 1 / 40},),
    error_orders=(4,),
    dense=Interpolant(
        4,
        (
            {0: 1.0},
            {
                0: -8048581381 / 2820520608,
                2: 131558114200 / 32700410799,
                3: -1754552775 / 470086768,
                4: 127303824393 / 49829197408,
                5: -282668133 / 205662961,
                6: 40617522 / 29380423,
            },
            {
                0: 8663915743 / 2820520608,
                2: -68118460800 / 10900136933,
                3: 14199869525 / 1410260304,
                4: -318862633887 / 49829197408,
                5: 2019193451 / 616988883,
                6: -110615467 / 29380423,
            },
            {
                0: -12715105075 / 11282082432,
                2: 87487479700 / 32700410799,
                3: -10690763975 / 1880347072,
                4: 701980252875 / 199316789632,
                5: -1453857185 / 822651844,
                6: 69997945 / 29380423,
            },
        ),
    ),
)

METHOD = explicit_method(
    DOPRI5,
    description="Runge-Kutta, Dormand and Prince 5(4)",
    use="loose tolerances, forces with kinks",
    rtol=1e-9,
)
