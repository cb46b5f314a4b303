"""Loops that lock: constraints that let nothing move, as those of a joint whose axis is wrong do."""

from __future__ import annotations

from momentree.assembly.configuration import Configuration
from momentree.assembly.nearby_configurations import constraints_at
from momentree.assembly.scaled_constraints import CUT_OFF
from momentree.assembly.state import State
from momentree.errors import ModelWarning, warn
from momentree.structure.mechanism import Mechanism

LOCKED = "Nothing can move: the constraints let no velocity pass. Check the directions of the axes around the loops."


def warn_if_locked(mechanism: Mechanism, start: State) -> None:
    """Warn of a mechanism whose constraints are as many as its velocities and independent, so that it will not move.

    It is looked at once. Latches and switches may lock it for a while.
    """
    kept = vars(mechanism)
    if "_locked" not in kept:
        may_be = bool(mechanism.nv and mechanism.constrained) and not mechanism.has_prescribed_motion
        may_be &= not (mechanism.latches or mechanism.switches)
        rows = constraints_at(Configuration(mechanism, start.q, t=start.t)) if may_be else None
        enough = rows is not None and rows.dense and len(rows.constraint_scales) >= mechanism.nv
        kept["_locked"] = enough and rows.rank(CUT_OFF) == mechanism.nv  # type: ignore[union-attr]
    if kept["_locked"]:
        warn(ModelWarning(f"{mechanism.name}: {LOCKED[0].lower()}{LOCKED[1:]}"))
