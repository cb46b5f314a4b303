"""A phase of a motion: one mechanism from beginning to end, some of its joints perhaps held by latches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.equations.formulations import FORMULATIONS
from momentree.simulate.integrators.choice import AnyStepper, error_floor, new_stepper
from momentree.simulate.integrators.explicit import NEAR, NEWTON
from momentree.simulate.integrators.rates import accounts_of, closing_kernel, velocity_kernel
from momentree.simulate.integrators.stepping import Array, Motion
from momentree.simulate.settings import Settings
from momentree.structure.locking import left_free, locked

if TYPE_CHECKING:
    from momentree.system import System


def kept(system: System, what: str, make: Callable[[], Any]) -> Any:
    """Machine code that was made for this system before, or is made now."""
    made = vars(system).setdefault("_code_of_phases", {})
    if what not in made:
        made[what] = make()
    return made[what]


def closed_states(
    close: Callable[[list[Array]], Array], arguments: list[Array], y: Array, nq: int, quaternions: Sequence[int]
) -> Array:
    """States (k, n) with q moved to where loops close; the first of the arguments of `close` is what it may change."""
    state, found = arguments[0], y.copy()
    for _ in range(NEWTON):
        new = close(arguments)
        for place in quaternions:
            new[:, place : place + 4] /= np.linalg.norm(new[:, place : place + 4], axis=1, keepdims=True)
        moved = np.abs(new - state[:, :nq]).max(initial=0.0)
        state[:, :nq] = new
        if not moved > NEAR:
            break
    found[:, :nq] = state[:, :nq]
    return found


class Phase:
    """The mechanism while so many joints are held, its code, and where its numbers belong in the whole system.

    | attribute | meaning                                                             |
    |-----------|---------------------------------------------------------------------|
    | mechanism | in floats, the held joints prescribed                               |
    | q, v      | which coordinates and rates of the system its state holds           |
    | accounts  | of each of its accounts of work, its place among the meters         |
    """

    def __init__(
        self, system: System, settings: Settings, held: Mapping[int, float], meters: Sequence[str], dense: bool
    ):
        self._system, self._settings, self.held = system, settings, dict(held)
        self._symbolic = locked(system.mechanism, held) if held else system.mechanism
        self.mechanism = locked(system._numeric, held) if held else system._numeric
        self.q, self.v = (np.array(places, dtype=int) for places in left_free(system.mechanism, held))
        names = [name for name, _ in accounts_of(self.mechanism)]
        self.accounts = np.array([meters.index(name) if name in meters else -1 for name in names], dtype=int)
        self.quaternions = error_floor(self.mechanism)[1]
        what = f"{settings.integrator} {settings.formulation} {dense} {settings.closing}"
        self.stepper = self._kept(what, lambda: self._stepper(dense))

    def _kept(self, what: str, make: Callable[[], Any]) -> Any:
        return kept(self._system, f"{what} {sorted(self.held.items())}", make)

    def _stepper(self, dense: bool) -> AnyStepper:
        settings, formulation = self._settings, FORMULATIONS[self._settings.formulation]
        what = self._symbolic, formulation, settings.integrator, self._system.code
        return new_stepper(*what, dense=dense, held=settings.held, project=settings.closure == "project")

    def motion(self, t: float, q: Array, p: Array, h: float) -> Motion:
        """From coordinates of the system, and momenta or rates of this phase."""
        y = np.concatenate([q[self.q], p, np.zeros(len(self.accounts))])
        tolerances = self._settings.tolerances(bool(self.mechanism.loops))
        return self.stepper.motion(y[:, None], t, h, *tolerances, self.parameters)

    def momenta(self, q: Array, v: Array, t: float) -> Array:
        """From rates of the system, momenta of this phase, or the rates themselves."""
        momenta = FORMULATIONS[self._settings.formulation].momenta
        if momenta is None:
            return np.asarray(v[self.v], dtype=float)
        return np.array(momenta(self.mechanism, q[self.q].tolist(), v[self.v].tolist(), t), dtype=float)

    def moves(self, t: Array, y: Array) -> tuple[Array, Array]:
        """All coordinates and rates of the system, from states (k, n) of this phase."""
        system, count = self._system, len(self.q)
        q, v = np.empty((len(t), system.nq)), np.zeros((len(t), system.nv))
        for number, value in self.held.items():
            q[:, system.mechanism.bodies[number - 1].q] = value
        y = self._closed(t, y)
        q[:, self.q] = y[:, :count]
        p = y[:, count : count + len(self.v)]
        v[:, self.v] = p if self._settings.formulation == "lagrange" else self._velocities(t, y)
        return q, v

    def _closed(self, t: Array, y: Array) -> Array:
        """The states with their loops closed, where these are projected: between steps they may have opened."""
        if not self.mechanism.loops or self._settings.closure != "project" or not len(t):
            return y
        close = self._kept("positions", lambda: closing_kernel(self._symbolic, self._system.code))
        return closed_states(close, self._arguments(t, y), y, len(self.q), self.quaternions)

    def _arguments(self, t: Array, y: Array) -> list[Array]:
        constants = [] if self.parameters is None else [np.ascontiguousarray(self.parameters[:, 0])]
        count = len(self.q) + len(self.v)
        return [np.ascontiguousarray(y[:, :count]), np.array(t, dtype=float)[:, None], *constants]

    def work(self, y: Array, before: Array) -> Array:
        """What each meter has counted, from states (k, n), where `before` was counted in earlier phases."""
        work = np.repeat(before[None], len(y), axis=0)
        known = self.accounts >= 0
        work[:, self.accounts[known]] += y[:, len(self.q) + len(self.v) :][:, known]
        return work

    def rates_from_momenta(self, q: Array, p: Array, t: float) -> Array:
        """Rates of this phase, from coordinates of the system and momenta of this phase."""
        return self._velocities(np.array([t]), np.concatenate([q[self.q], p])[None])[0]

    def _velocities(self, t: Array, y: Array) -> Array:
        if not len(t) or not len(self.v):
            return np.zeros((len(t), len(self.v)))
        return self._kernel(self._arguments(t, y))

    @cached_property
    def _kernel(self) -> Any:
        return self._kept("velocities", lambda: velocity_kernel(self._symbolic, self._system.code))

    @cached_property
    def parameters(self) -> Array | None:
        """Free parameters, at the values that the model gives them."""
        m = self._system.mechanism
        return np.array([[m.values.scalar(name)] for name in m.free], dtype=float) if m.free else None
