"""The registry of elements that constrain: everything loops over it that reads, writes, checks or freezes them."""

from __future__ import annotations

from momentree.model.couplings import COUPLINGS, Coupling
from momentree.model.elements import Constraint, ConstraintElement
from momentree.model.pair_elements import PAIRS

# in the order of the mechanism: what the user wrote as expressions, then couplings
EQUATIONS: tuple[type[Constraint] | type[Coupling], ...] = (Constraint, *COUPLINGS)
CONSTRAINT_ELEMENTS: tuple[type[ConstraintElement], ...] = (*EQUATIONS, *PAIRS)
