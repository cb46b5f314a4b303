"""Lagrange's equations of the second kind on the board: velocities, T, V, and the derivatives of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy as sp

from momentree.equations.energy import energy_form
from momentree.symbols.lagrangian import Lagrangian, lagrangian
from momentree.symbols.layout import title_of
from momentree.symbols.scalars import Symbolic
from momentree.symbols.steps.energy_steps import (
    Bodies,
    index_of,
    of_velocity,
    write_coordinates,
    write_equations,
    write_kinetic_energy,
    write_velocities,
)
from momentree.symbols.steps.page import DerivationSteps, Page, Spelling
from momentree.symbols.writing import Latex, Text

if TYPE_CHECKING:
    from momentree.symbols.equations import Equations


POTENTIAL, PI = "Π", r"\Pi"  # V are velocities here


def begin(page: Page, s: Symbolic) -> Lagrangian:
    """Coordinates, velocities, kinetic and potential energy."""
    of, zero, L = Bodies(s, page), [sp.Integer(0)] * len(s.u), lagrangian(s)
    moving, still = (energy_form(s.evaluation, u, zero) for u in (s.u, zero))
    write_coordinates(page)
    write_velocities(page, of, moving, still)
    write_kinetic_energy(page, moving)
    page.step("Potential energy", "of gravity and springs")
    page.line(page.label(Spelling(POTENTIAL, PI)), page.short(L.potential))
    if any(x != 0 for x in L.forces):
        page.step("Other generalized forces", "those without a potential: laws, dampers, contacts, threads, stops")
        for u, Q in zip(s.u, L.forces, strict=True):
            if Q != 0:
                page.line(of_velocity(page, "Q", u), page.short(Q))
    return L


def derivative(page: Page, above: str, below: sp.Symbol, dot: bool = False) -> sp.Symbol:
    """dT/dx, or its time derivative."""
    text, tex = Text(page.ranks).write(below), Latex(page.ranks).write(below)
    fraction = rf"\frac{{\partial {above.replace(POTENTIAL, PI)}}}{{\partial {tex}}}"
    spelling = Spelling(f"∂{above}/∂{text}", fraction)
    return page.label(Spelling(f"d/dt {spelling.text}", rf"\frac{{d}}{{dt}} {fraction}") if dot else spelling)


def lagrange_steps(equations: Equations) -> DerivationSteps:
    """The derivation by differentiation of the Lagrangian."""
    s = equations.symbols
    assert s is not None
    page = Page(s, equations.ranks)
    L = begin(page, s)
    page.step("Derivatives of T and Π", "L = T - Π")
    T, V, turned = L.along(L.kinetic), L.along(L.potential), L.rotation_terms
    for n, u in enumerate(s.u):
        p, q = L.momenta[n], index_of(s, u)
        change = sp.Add(*(p.diff(v) * a for v, a in zip(s.u, s.du, strict=True)), s.total_derivative(p))
        page.line(derivative(page, "T", u), page.short(p))
        page.line(derivative(page, "T", u, dot=True), page.short(change))
        page.line(_along(page, "T", q), page.short(T[n]))
        page.line(_along(page, POTENTIAL, q), page.short(V[n]))
        if turned[n] != 0:
            page.line(of_velocity(page, "H", u), page.short(turned[n]))
    page.step(
        "Lagrange's equations", "d/dt ∂T/∂u - ∂T/∂q + H = -∂Π/∂q + Q; H, of Boltzmann and Hamel, is zero where u = q′"
    )
    write_equations(page, equations)
    return page.done(f"{title_of(equations)}, step by step")


def _along(page: Page, above: str, q: sp.Symbol) -> sp.Symbol:
    """dT/dq; along a velocity that is no derivative, X(T)."""
    if q in page.s.q:
        return derivative(page, above, q)
    text, tex = Text(page.ranks).write(q), Latex(page.ranks).write(q)
    return page.label(Spelling(f"X_{text}({above})", rf"X_{{{tex}}}({above.replace(POTENTIAL, PI)})"))
