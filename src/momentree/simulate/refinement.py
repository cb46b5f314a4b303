"""A second, more accurate simulation from the same start: what the global error of a run is estimated by.

| integrator    | the second simulation                                                      | its cost, by the first |
|---------------|----------------------------------------------------------------------------|------------------------|
| adaptive      | rtol a hundredth, but not below 1e-14; where that is not even half of it,   | 1.8 of dop853,         |
|               | another formulation at 1e-14                                               | 2.5 of the others      |
| of fixed step | half the step; the difference is extrapolated by the order                 | 2                      |
"""

from __future__ import annotations

import dataclasses

from momentree.equations.formulations import FORMULATIONS
from momentree.simulate.settings import Settings

TIGHTER, TIGHTEST = 0.01, 1e-14


def refined_settings(settings: Settings, switched: bool = False) -> tuple[Settings, str, float]:
    """Settings of the second simulation, what differs in words, and the error over the difference.

    Words tell of the tolerance of stiff motions only where the first one has `switched` its integrator.
    """
    if not settings.method.adaptive:
        h = float(settings.step or 1) / 2
        rest = 1 - 2.0**-settings.method.order
        return dataclasses.replace(settings, step=h, verify=False), f"step {h:g} s instead of {2 * h:g}", 1 / rest
    rtol = max(TIGHTER * settings.rtol, TIGHTEST)
    atol = None if settings.atol is None else settings.atol * rtol / settings.rtol
    by, formulation = f"rtol {rtol:g} instead of {settings.rtol:g}", settings.formulation
    stabilization = settings.stabilization
    if rtol > settings.rtol / 2:
        formulation = "lagrange" if formulation == "hamiltonian" else "hamiltonian"
        stabilization = stabilization if stabilization in FORMULATIONS[formulation].stabilizations else "project"
        by = f"formulation {formulation} instead of {settings.formulation}, rtol {rtol:g}"
    after = settings.rtol_if_stiff and max(TIGHTER * settings.rtol_if_stiff, TIGHTEST)
    by += f", {after:g} where it is stiff" if after and switched else ""
    refined = dataclasses.replace(settings, rtol=rtol, atol=atol, formulation=formulation, verify=False)
    return dataclasses.replace(refined, stabilization=stabilization, rtol_if_stiff=after), by, 1.0
