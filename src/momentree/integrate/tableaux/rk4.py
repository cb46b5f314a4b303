"""The classical Runge-Kutta method of order 4, with a fixed step size: Kutta 1901."""

from __future__ import annotations

from momentree.integrate.method_record import explicit_method
from momentree.integrate.tableau import Interpolant, Tableau

RK4 = Tableau(
    "rk4",
    order=4,
    c=(0, 1 / 2, 1 / 2, 1),
    a=({}, {0: 1 / 2}, {1: 1 / 2}, {2: 1.0}),
    b={0: 1 / 6, 1: 1 / 3, 2: 1 / 3, 3: 1 / 6},
    dense=Interpolant(
        3, ({0: 1.0}, {0: -3 / 2, 1: 1.0, 2: 1.0, 3: -1 / 2}, {0: 2 / 3, 1: -2 / 3, 2: -2 / 3, 3: 2 / 3})
    ),
)

METHOD = explicit_method(
    RK4,
    description="Runge-Kutta, classical",
    use="comparison with programs that step so",
)
