"""The job of a call that computes whole motions: what its slots hold, and what each lane remembers.

    void motions_W(const job *job, int64 begin, int64 end, int64 step, double *work)

computes the motions begin, begin + step, ... < end, W at a time; a lane that is done takes the next one. Each lane has
its own t and h, accepts or rejects its own steps and fails alone: the bits of a motion do not depend on its neighbours.

A job is an array of 64-bit slots (`Slot`). Number i of motion m stands at base[i * count + m].
"""

from __future__ import annotations

import enum


class Slot(enum.IntEnum):
    """What stands in the slots of a job; from CONTROL on as in `control` of advance_1 (methods.py)."""

    COUNT = 0  # motions in the arrays
    SAMPLES = 1  # k, that at the start included
    STARTS = 2  # nq + nv columns: coordinates and velocities
    PARAMETERS = 3  # a column for each free parameter
    TIMES = 4  # k numbers, the same for all
    VALUES = 5  # k (nq + nv) columns: coordinates and velocities, loops closed; NaN behind a failure
    ENDS = 6  # eight columns
    FLOOR = 7  # as advance_1 has it, in chunks of one number
    T_START = 8  # CONTROL
    FIRST = 9  # h of the first step, or of all
    STOP = 10
    RTOL = 11
    ATOL = 12
    LONGEST = 13
    MOST = 14  # tries of one motion, beyond which it is STALLED
    EACH = 15  # as a whole number: a fixed step size has a sample after so many steps


class End(enum.IntEnum):
    """The columns of `ends`."""

    T = 0  # reached
    H = 1
    STATUS = 2  # number of a Status
    ACCEPTED = 3
    REJECTED = 4
    EVALUATIONS = 5
    OPENED = 6  # the largest closure error before loops were closed after a step, by the size of the mechanism
    JACOBIANS = 7


CONTROL = Slot.T_START
SLOTS, ENDS = len(Slot), len(End)


class Lane(enum.IntEnum):
    """Columns of the array `lanes`: what every lane remembers, whatever the method."""

    MOTION = 0  # whole number: which motion it computes; -1: none as yet
    DUE = 1  # whole number: the next sample
    RUNNING = 2  # mask
    FRESH = 3  # mask: it has just taken a motion
    STATUS = 4  # number of a Status; -1 while it goes on
    DUE_NOW = 5  # mask: its sample is being written
    ACCEPTED = 6
    REJECTED = 7
    EVALUATIONS = 8
    OPENED = 9
    JACOBIANS = 10
    TRIES_SHORT = 11  # when the shorter window of the stall detection began: tries, rejected tries, t
    REJECTED_SHORT = 12
    T_SHORT = 13
    TRIES_LONG = 14
    REJECTED_LONG = 15
    T_LONG = 16
    NEXT = 17  # whole number in the first lane: the motion that is taken next
    T = 18  # t, h, and columns of the method, zero at first
    H = 19


COUNTED = (Lane.ACCEPTED, Lane.REJECTED, Lane.EVALUATIONS, Lane.OPENED, Lane.JACOBIANS)
# the columns that go to `ends`, in its order
ENDING = (Lane.T, Lane.H, Lane.STATUS, *COUNTED)
GOING_ON = -1.0  # status
