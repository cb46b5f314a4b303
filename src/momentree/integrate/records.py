"""What every machine code of an integrator gives back: why a call ended, and records of its steps."""

from __future__ import annotations

import enum

HEAD = 8  # numbers before y in a record: t, h, and room that keeps y aligned


class Status(enum.IntEnum):
    """Why a call ended."""

    ARRIVED = 0  # at stop
    FULL = 1  # as many records as there was room for
    TOO_SHORT = 2  # the step size that the tolerance asks for is below the resolution of time
    NOT_FINITE = 3  # and the reason is that the derivatives are not finite
    OPEN = 4  # loops cannot be closed after a step, however small
    STALLED = 5  # so many tries remain at this pace that it would not end: many motions (motions/stall_code.py)


def advance_function(lines: object) -> str:
    """The function advance_1 of the contract (methods.py) with these lines as its body."""
    arguments = ", ".join(f"ptr %{name}" for name in ("control", "counts", "y", "parameters", "floor"))
    return f"""define void @advance_1({arguments}, ptr %work, ptr %records, ptr %scratch) nounwind {{
entry:
{lines}
}}"""
