"""Which derivation belongs to which formalism."""

from __future__ import annotations

from typing import Any

from momentree.symbols.steps.aggregative_steps import aggregative_steps
from momentree.symbols.steps.energy_steps import energy_steps
from momentree.symbols.steps.hamilton_steps import hamilton_steps
from momentree.symbols.steps.lagrange_steps import lagrange_steps
from momentree.symbols.steps.newton_euler_steps import newton_euler_steps
from momentree.symbols.steps.page import DerivationSteps

STEPS: dict[str, Any] = {
    "energy": energy_steps,
    "aggregative": aggregative_steps,
    "lagrange": lagrange_steps,
    "hamiltonian": hamilton_steps,
    "newton_euler": newton_euler_steps,
}


def steps_of(equations: Any) -> DerivationSteps:
    """The derivation of equations, by the formalism that derived them."""
    steps: DerivationSteps = STEPS[equations.by](equations)
    return steps
