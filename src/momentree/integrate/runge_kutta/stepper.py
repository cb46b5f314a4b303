"""Steppers of Runge-Kutta methods, explicit or implicit: their machine code for one right-hand side."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from momentree.compile.emit.lanes import LanesCode
from momentree.compile.execute.kernel import aligned
from momentree.compile.execute.machine_code import Target
from momentree.integrate.error_norm import ErrorNorm
from momentree.integrate.projection import OPEN, Projection
from momentree.integrate.records import HEAD
from momentree.integrate.runge_kutta.explicit import explicit_text
from momentree.integrate.runge_kutta.layout import RungeKuttaLayout
from momentree.integrate.stepper import Array, Stepper
from momentree.integrate.tableau import Tableau


class Emitter(NamedTuple):
    """What writes the machine code of a family of methods: its memory layout, and the text of advance_W."""

    layout: Callable[..., RungeKuttaLayout]
    text: Callable[..., str]


EXPLICIT = Emitter(RungeKuttaLayout, explicit_text)


class RungeKuttaStepper(Stepper):
    """Takes steps of one Runge-Kutta method.

    | argument    | meaning                                                                             |
    |-------------|-------------------------------------------------------------------------------------|
    | code        | the right-hand side: derivatives of y, of y, t and parameters                         |
    | floor       | least size of each entry of y for the error; infinite where it does not matter        |
    | quaternions | the columns of y where they start                                                   |
    | parameters  | how many there are                                                                  |
    | dense       | whether records hold the stages that dense output needs                              |
    | projection  | what closes loops after each step, if anything does                                  |
    | norm        | how errors of momenta are measured; None: as they are                                |
    | least       | `floor` where there is no atol; behind it that of velocities                          |
    """

    def __init__(
        self, code: LanesCode, tableau: Tableau, floor: Array, quaternions: list[int], parameters: int = 0,
        width: int = 1, dense: bool = False, target: Target | None = None, projection: Projection | None = None,
        norm: ErrorNorm | None = None, least: Array | None = None, emitter: Emitter = EXPLICIT,
    ):  # fmt: skip
        target, n, controlled = target or Target.host(), len(floor), int(np.isfinite(floor).sum())
        lanes = target.lanes(0)
        layout = emitter.layout(n, width, lanes, tableau, dense, projection)
        shape = quaternions, parameters > 0, width, lanes, dense, projection, norm
        text = emitter.text(code, tableau, n, controlled, *shape)
        codes = [code, *(projection[:2] if projection else ()), *([norm.velocities] if norm else [])]
        scratch = [each.scratch(max(width, layout.lanes)) for each in codes if each is not None]
        parts, interpolant = (layout.record - HEAD) // layout.size, tableau.dense if dense else None
        how = interpolant, tableau.adaptive, projection is not None
        super().__init__(text, layout, n, width, parts, layout.size, *how, scratch, target)
        self._floor, self._least, self._norm = floor, floor if least is None else least, norm

    def floors(self, sized: bool) -> Array:
        """Floors of y, whether a number counts only as a velocity (infinite), floors of velocities.

        Then the closure error up to which loops count as closed.
        """
        nq, nv = (self._norm.nq, self._norm.nv) if self._norm else (self.n, 0)
        floor = self._least if sized else self._floor
        only, velocities = np.zeros(self.n), np.zeros(self.n)
        only[nq:], velocities[:nv] = np.inf, self._least[nq : nq + nv] if sized else 0.0
        parts = [self.columns(np.repeat(part[:, None], self.width, axis=1)) for part in (floor, only, velocities)]
        parts[0][self.n * self.width :] = 1.0  # what fills up y has no error, and needs a scale all the same
        floors = aligned(3 * self.layout.size + 8)
        floors[:] = np.concatenate([*parts, np.full(8, OPEN)])
        return floors
