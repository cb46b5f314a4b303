"""Constraints whose slopes vanish wherever they hold, such as (x - 2 y)^2 = 0: they would constrain no velocity."""

from __future__ import annotations

import math
import random

from momentree.errors import MomentreeError
from momentree.model.expressions.expression import Expression, Reference
from momentree.model.values import TIME, Mistake

STARTS, ITERATIONS = 5, 100
NEAR = 1e-2  # of a coordinate: steps below which Newton's method is near a solution
ROUND_OFF = 1e-12  # of coordinates: smaller steps are it
SLOW, MOST_SLOW = 0.4, 8  # steps that shrink less than this, and how many there are at a simple solution at most


def check_slopes(expression: Expression) -> None:
    """Raises Mistake if no slope is left at the solutions that Newton's method finds from several places.

    At a simple solution its steps shrink faster and faster; where slopes vanish, by the same factor, a half or more.
    """
    references = sorted(expression.references() - {TIME})
    try:
        slopes = {reference: expression.derivative(reference) for reference in references}
        if all(slope.value is not None for slope in slopes.values()):
            return  # linear
        generator = random.Random(1)
        found = [_slowly(expression, slopes, generator) for _ in range(STARTS)]
    except MomentreeError:
        return  # not differentiable, or too large: not for this check
    known = [slow for slow in found if slow is not None]
    if len(known) > STARTS // 2 and all(known):
        message = "its slopes vanish wherever it holds, as those of x^2 = 0 do, so that it constrains no velocity."
        raise Mistake(f"{message} Write it so that it passes through zero: x - 2*y = 0 for (x - 2*y)^2 = 0.")


def _slowly(expression: Expression, slopes: dict[Reference, Expression], generator: random.Random) -> bool | None:
    """Whether Newton's method comes to a solution by steps that shrink slowly; None if it comes to none."""
    at = {reference: generator.uniform(0.2, 1.0) * generator.choice((-1, 1)) for reference in slopes}
    last, slow = math.inf, 0
    for _ in range(ITERATIONS):
        try:
            now = {**at, TIME: 0.7}
            error = float(expression.evaluate(now))
            gradient = {reference: float(slope.evaluate(now)) for reference, slope in slopes.items()}
            size = sum(slope * slope for slope in gradient.values())
            if not math.isfinite(error) or not math.isfinite(size):
                return None
            if error == 0 or size == 0:
                return slow > MOST_SLOW if error == 0 or slow > MOST_SLOW else None
            step = abs(error) / math.sqrt(size)
        except (ArithmeticError, ValueError):
            return None
        at = {reference: x - error * gradient[reference] / size for reference, x in at.items()}
        slow += SLOW * last < step < last < NEAR
        if step < ROUND_OFF * max(1.0, *map(abs, at.values())) or slow > MOST_SLOW:
            return slow > MOST_SLOW
        last = step
    return None
