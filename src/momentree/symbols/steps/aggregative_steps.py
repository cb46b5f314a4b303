"""The aggregative forms on the board, after Belkov and Konoplev 1997: V, X outward, Y and Z inward, projection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy as sp

from momentree.equations.aggregative import AggregativeForm, first_form, second_form
from momentree.symbols.layout import title_of
from momentree.symbols.steps.energy_steps import of_velocity, write_coordinates, write_equations
from momentree.symbols.steps.page import DerivationSteps, Page

if TYPE_CHECKING:
    from momentree.symbols.equations import Equations

GREEK = {"ω": r"\boldsymbol\omega", "ξ": r"\boldsymbol\xi"}


def aggregative_steps(equations: Equations) -> DerivationSteps:
    """The derivation by one sweep outward and one inward."""
    s = equations.symbols
    assert s is not None
    page = Page(s, equations.ranks)
    first, second = (form(s.evaluation, s.u) for form in (first_form, second_form))
    write_coordinates(page)
    page.step("Outward: velocities", "V = C V_parent + A u, in axes of each body, at the origin of its joint: V and ω")
    _write(page, first, "V", ("V", "ω"))
    page.step("Outward: accelerations without u′", "X = C X_parent - (A u)×(C V_parent) + A′ u: linear X, angular ξ")
    _write(page, first, "X", ("X", "ξ"))
    page.step("Inertial force of each body", "Y = M X + Φ(V) M V: force Y, moment y")
    _write(page, first, "Y", ("Y", "y"))
    page.step(
        "Inward: of each body and all that it carries", "Z = Y + sum of C′ Z of the next bodies: force Z, moment z"
    )
    _write(page, first, "Z", ("Z", "z"))
    page.step("Projection on the joints", "b = A′ Z; the same with weight and active forces gives d = b - Q")
    for u, b, d in zip(s.u, first.b, second.b, strict=True):
        page.line(of_velocity(page, "b", u), page.short(b))
        page.line(of_velocity(page, "d", u), page.short(d))
    write_equations(page, equations)
    return page.done(f"{title_of(equations)}, step by step")


def _write(page: Page, form: AggregativeForm, field: str, letters: tuple[str, str]) -> None:
    for body, six in zip(page.s.mechanism.bodies, getattr(form, field), strict=True):
        for letter, part in zip(letters, (six.linear, six.angular), strict=True):
            v = page.by_velocities(part)
            if v != 0:
                page.line(page.of_body(letter, GREEK.get(letter, rf"\mathbf{{{letter}}}"), body.name), sp.S(v))
