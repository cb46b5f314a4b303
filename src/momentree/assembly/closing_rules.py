"""The rules by which loops are closed: damping, step sizes, and when to stop. The same for one configuration and many.

Levenberg-Marquardt steps go downhill, Newton steps polish (closing_search.py, batch_closing.py). Sizes are norms of
scaled closure errors; all arguments are numbers, arrays with one number for each configuration, or numbers of machine
code (closing_code.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from momentree.assembly.scaled_constraints import CUT_OFF
from momentree.spatial.scalar import maximum, minimum, sqrt

EPS = float(np.finfo(float).eps)
CLOSED = 1e-11  # scaled: constraints and given coordinates that are not simply held must fit so well
EXACT = 100.0  # times the round-off of closure errors: a loop with a larger error is not closed exactly
DOWNHILL_STEPS, NEWTON_STEPS = 200, 16  # at most
FIRST_DAMPING, LARGEST_DAMPING = 1e-3, 1e8
CREEPING = 12  # steps that together reduce closure errors by less than 1e-5 lead nowhere
LONGEST = 0.6  # rad, or of the size: a longer step would leave the branch
NEAR = 0.5  # likewise, of a Newton step: a solution is not near
STRICT = 1e-10  # cut-off of the steps that may close a loop near a toggle
STRICT_DISTANCE = 10.0  # such steps may go so many times the root of the closure error


def round_off(joints: Any, slides: Any, size: Any) -> Any:
    """The round-off of closure errors: some units in the last place of the lengths around a loop, slides included."""
    return 4 * EPS * (joints + 1) * (1 + slides / size)


def regularization(damping: Any, size: Any) -> Any:
    """The term added to J J' in a damped step (Levenberg-Marquardt)."""
    return damping * size**2 + CUT_OFF**2


def is_smaller(size: Any, before: Any) -> Any:
    """Whether a step made closure errors smaller."""
    return size**2 < before**2 * (1 - 1e-12)


def is_worthwhile(size: Any, before: Any) -> Any:
    """Whether a step made them so much smaller that another is tried."""
    return before**2 - size**2 > 1e-6 * before**2


def next_damping(damping: Any, smaller: Any) -> Any:
    """Less damping after a step that made closure errors smaller, more after one that did not."""
    less, more = maximum(damping / 5, 1e-12), maximum(damping * 8, 1e-9)
    return smaller.select(less, more) if hasattr(smaller, "select") else np.where(smaller, less, more)


def creeps(size: Any, earlier: Any, count: Any) -> Any:
    """Whether the last steps hardly reduced closure errors: `earlier` is the first of the last `count` sizes."""
    return (size > (1 - 1e-5) * earlier) & (count > CREEPING)


def shortening(length: Any) -> Any:
    """The factor of a step that keeps it on the branch."""
    return minimum(LONGEST / maximum(length, LONGEST), 1.0)


def is_polished(size: Any, exact: Any) -> Any:
    """Whether no Newton step can improve closure errors; `exact` is the norm of their round-off."""
    return size <= 0.1 * exact


def is_strictly_closed(size: Any, exact: Any, distance: Any, size_before: Any) -> Any:
    """Whether steps along weak directions closed a loop to round-off, and not far from where they began."""
    return (size <= 2 * exact) & (distance <= STRICT_DISTANCE * sqrt(size_before))
