"""Whole motions by Rosenbrock methods in machine code, one at a time: the step is that of advance_1 (step.py)."""

from __future__ import annotations

from momentree.integrate.error_norm import ErrorNorm
from momentree.integrate.motions.driver import Shape
from momentree.integrate.motions.sample_code import Sampling
from momentree.integrate.projection import Projection
from momentree.integrate.radau.motions import RadauMotions
from momentree.integrate.rosenbrock.layout import RosenbrockLayout
from momentree.integrate.rosenbrock.step import RosenbrockStep


class RosenbrockMotions(RosenbrockStep, RadauMotions):
    """The text of motions_1: what surrounds the step is that of Radau IIA."""

    def __init__(
        self, layout: RosenbrockLayout, shape: Shape, sampling: Sampling, controlled: int, entries: int,
        projection: Projection | None, norm: ErrorNorm | None, wide: int = 1,
    ):  # fmt: skip
        RadauMotions.__init__(self, layout, shape, sampling, controlled, entries, projection, norm, wide)  # type: ignore[arg-type]
        self._take_method(layout)
