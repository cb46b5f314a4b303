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
    """What writes the machine code of a family of methods: its memory layout, and the text of advance_1."""

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
        dense: bool = False, target: Target | None = None, projection: Projection | None = None,
        norm: ErrorNorm | None = None, least: Array | None = None, emitter: Emitter = EXPLICIT,
    ):  # fmt: skip
        target, n, controlled = target or Target.host(), len(floor), int(np.isfinite(floor).sum())
        lanes = target.lanes(0)
        layout = emitter.layout(n, 1, lanes, tableau, dense, projection)
        shape = quaternions, parameters > 0, lanes, dense, projection, norm
        text = emitter.text(code, tableau, n, controlled, *shape)
        codes = [code, *(projection[:2] if projection else ()), *([norm.velocities] if norm else [])]
        scratch = [each.scratch(layout.lanes) for each in codes if each is not None]
        parts, interpolant = (layout.record - HEAD) // layout.size, tableau.dense if dense else None
        how = interpolant, tableau.adaptive, projection is not None
        shared = {"positions": projection and projection.positions, "momenta": projection and projection.momenta}
        shared |= {"velocities": norm and norm.velocities}
        named = {name: each for name, each in shared.items() if each is not None}
        super().__init__(text, layout, n, parts, layout.size, *how, scratch, target, named)
        self._floor, self._least, self._norm = floor, floor if least is None else least, norm

    def floors(self, sized: bool) -> Array:
        """See `floors_of`."""
        return floors_of(self._floor, self._least, self._norm, self.layout.size, sized)


def floors_of(floor: Array, least: Array, norm: ErrorNorm | None, size: int, sized: bool) -> Array:
    """Floors of y, whether a number counts only as a velocity (infinite), floors of velocities: `size` numbers each.

    Then the closure error up to which loops count as closed.
    """
    n = len(floor)
    nq, nv = (norm.nq, norm.nv) if norm else (n, 0)
    parts = np.zeros((3, size))
    parts[0], parts[0, :n] = 1.0, least if sized else floor  # what fills up y has no error, and needs a scale
    parts[1, nq:n], parts[2, :nv] = np.inf, least[nq : nq + nv] if sized else 0.0
    floors = aligned(3 * size + 8)
    floors[:] = np.concatenate([parts.reshape(-1), np.full(8, OPEN)])
    return floors
