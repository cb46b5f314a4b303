"""The explicit Euler method of order 1, with a fixed step size: Euler 1768."""

from __future__ import annotations

from momentree.integrate.method_record import explicit_method
from momentree.integrate.tableau import Interpolant, Tableau

EULER = Tableau("euler", order=1, c=(0,), a=({},), b={0: 1.0}, dense=Interpolant(1, ({0: 1.0},)))

METHOD = explicit_method(
    EULER,
    description="explicit Euler",
    use="comparison with programs that step so, lessons on step sizes",
)
