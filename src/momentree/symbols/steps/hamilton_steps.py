"""Hamilton's equations on the board: T, momenta, velocities by momenta, H, and how momenta change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy as sp

from momentree.symbols.layout import title_of
from momentree.symbols.steps.energy_steps import write_constraints, write_names
from momentree.symbols.steps.lagrange_steps import begin, derivative
from momentree.symbols.steps.page import DerivationSteps, Page, Spelling

if TYPE_CHECKING:
    from momentree.symbols.hamilton import HamiltonEquations


def hamilton_steps(equations: HamiltonEquations) -> DerivationSteps:
    """The derivation by momenta."""
    s, form = equations.symbols, equations.form
    page = Page(s, equations.ranks)
    L = begin(page, s)
    page.step("Momenta", "p = ∂T/∂u" + ("; constraint impulses η are in them too" if form.multipliers else ""))
    for u, p, x in zip(s.u, equations.momenta, L.momenta, strict=True):
        page.line(derivative(page, "T", u), page.short(x))
        if not form.multipliers:
            page.line(p, derivative(page, "T", u))
    if form.multipliers:
        for i, p in enumerate(equations.momenta):
            impulses = [x * y for x, y in zip(form.J[:, i], form.multipliers, strict=True)]
            page.line(derivative(page, "T", s.u[i]), [p, *impulses])
        write_constraints(page, form)
    if equations.solved:
        page.step("Velocities by momenta", "u = A⁻¹ (p - a)")
        for u, x in equations.solved:
            page.line(u, x)
        page.step("Hamiltonian", "H = p·u - T + Π")
        page.line(page.label(Spelling("H", "H")), equations.hamiltonian)
    page.step("How momenta change", _remark(equations))
    for p, x in zip(equations.momenta, equations.changes, strict=True):
        page.line(sp.Symbol(f"{p}'", real=True), x)
    write_names(page, form)
    return page.done(f"{title_of(equations)}, step by step")


def _remark(equations: HamiltonEquations) -> str:
    if equations.multipliers:
        return "p′ = (A″ - A′Ω) μ + Q - (dJ/dt)′ η"
    return "p′ = ∂T/∂q - ∂Π/∂q + Q, by velocities; that is -∂H/∂q + Q where u = q′"
