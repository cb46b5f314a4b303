"""Newton's and Euler's equations on the board: coordinates of each body, constraints f(q) = 0, forces, reactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy as sp

from momentree.equations.energy import energy_form
from momentree.symbols.layout import title_of
from momentree.symbols.steps.energy_steps import (
    Bodies,
    reactions,
    write_constraints,
    write_coordinates,
    write_forces,
    write_names,
)
from momentree.symbols.steps.page import DerivationSteps, Page

if TYPE_CHECKING:
    from momentree.symbols.equations import Equations


def newton_euler_steps(equations: Equations) -> DerivationSteps:
    """The derivation body by body."""
    s = equations.symbols
    assert s is not None
    page = Page(s, equations.ranks)
    of = Bodies(s, page)
    write_coordinates(page)
    write_constraints(page, equations)
    write_forces(page, of, energy_form(s.evaluation, s.u, [sp.Integer(0)] * len(s.u)))
    for body in s.mechanism.bodies:
        if body.v.start == body.v.stop:
            continue
        page.step(f"Body '{body.name}'", "mass times acceleration, and moment of inertia times angular acceleration")
        for i in range(body.v.start, body.v.stop):
            row = equations.A[i, :].tolist()[0]
            left = [x * a for x, a in zip(row, equations.accelerations, strict=True)]
            page.line([*left, equations.b[i]], [equations.Q[i], *reactions(equations, i)])
    write_names(page, equations)
    return page.done(f"{title_of(equations)}, step by step")
