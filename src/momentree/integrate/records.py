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
