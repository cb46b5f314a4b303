"""How to simulate: what can be chosen, and what is wrong with a choice."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from momentree.equations.formulations import FORMULATIONS
from momentree.errors import MomentreeError, suggestion
from momentree.integrate.methods import FIXED, HAMILTONIAN, INTEGRATORS, LEAKING

STABILIZATIONS = ("none", "baumgarte", "leak", "project")
RTOL = {"dop853": 1e-12, "dopri5": 1e-9, "radau": 1e-9}  # unless given; of a fixed step it only tells balances from bad
NO_RTOL = 1e-8
MOST_SAMPLES = 20_000_000  # at multiples of `every`
MOST_STEPS = 10_000_000_000  # of a fixed step size


@dataclasses.dataclass(frozen=True)
class Settings:
    """How to simulate.

    | field       | meaning                                                                                   |
    |-------------|-------------------------------------------------------------------------------------------|
    | t_end       | s                                                                                         |
    | formulation | "hamiltonian" (q, p), "lagrange" (q, v) or "absolute" (places and velocities of bodies)    |
    | closure     | how loops are kept closed: "project", "leak", "baumgarte", "none"; trees have none          |
    | gain        | 1/s: how quickly "baumgarte" closes closure errors, and "leak" forgets impulses                      |
    | integrator  | "dop853", "dopri5" (adaptive), "radau" (for stiff systems), "rk4" (fixed step),           |
    |             | "verlet", "verlet4" (fixed step, structure-preserving: for long runs)                     |
    | rtol, atol  | tolerances of adaptive integrators; without atol, sizes of the mechanism count             |
    | step        | s: the fixed step; of adaptive integrators, the longest                                   |
    | every       | s between samples; None: a sample at every step                                           |
    | verify      | whether the error is estimated, by a second and more accurate simulation                  |
    """

    t_end: float
    formulation: str = "hamiltonian"
    stabilization: str = "project"
    gain: float = 5.0
    integrator: str = "dop853"
    rtol: float = RTOL["dop853"]
    atol: float | None = None
    step: float | None = None
    every: float | None = None
    verify: bool = False

    def check(self, t_start: float) -> None:
        """One error with everything that is wrong."""
        choices = {"formulation": FORMULATIONS, "stabilization": STABILIZATIONS, "integrator": INTEGRATORS}
        problems = [
            f"{name} '{getattr(self, name)}' is not known: choose {', '.join(known)}."
            + _meant(getattr(self, name), known)
            for name, known in choices.items()
            if not isinstance(getattr(self, name), str) or getattr(self, name) not in known
        ]
        if not is_number(self.t_end) or self.t_end <= t_start:
            problems.append(f"t_end is {self.t_end}; give a time after the start, {t_start:g} s.")
        if not is_number(self.rtol) or not 1e-14 <= self.rtol <= 0.1:
            problems.append(f"rtol is {self.rtol}; give a number from 1e-14 to 0.1.")
        if self.atol is not None and (not is_number(self.atol) or self.atol <= 0):
            problems.append(f"atol is {self.atol}; give a positive number, or None: then sizes of the mechanism count.")
        if not is_number(self.gain) or self.gain <= 0:
            problems.append(f"gain is {self.gain}; give a positive number, in 1/s.")
        elif not problems and self.stabilization not in FORMULATIONS[self.formulation].holds:
            message = f"closure '{self.stabilization}' does not fit formulation '{self.formulation}'"
            problems.append(f"{message}: choose {', '.join(FORMULATIONS[self.formulation].holds)}.")
        for name in ("step", "every"):
            value = getattr(self, name)
            if value is not None and (not is_number(value) or value <= 0):
                problems.append(f"{name} is {value}; give a positive number of seconds.")
        if not isinstance(self.verify, bool):
            problems.append(f"verify is {self.verify}; give True or False.")
        if self.integrator in FIXED and not problems:
            problems += self._fixed_step()
        if not problems:
            problems += self._too_many(float(self.t_end) - t_start)
        if self.integrator in HAMILTONIAN and self.formulation != "hamiltonian":
            problems.append(f"{self.integrator} works in Hamiltonian variables. Give formulation='hamiltonian'.")
        elif self.integrator in HAMILTONIAN and self.stabilization != "project":
            problems.append(f"{self.integrator} closes loops within its steps. Leave stabilization='project'.")
        if problems:
            raise MomentreeError("\n".join(problems))

    def _too_many(self, duration: float) -> list[str]:
        """What would take forever, or more memory than there is."""
        if self.every is not None and duration / self.every > MOST_SAMPLES:
            least = duration / MOST_SAMPLES
            told = f"every is {self.every:g}: that is {duration / self.every:.2g} samples, of at most {MOST_SAMPLES:,}"
            return [f"{told}. Give every of at least {least:.2g} s, or an earlier t_end."]
        if self.integrator in FIXED and self.step is not None and duration / self.step > MOST_STEPS:
            told = f"step is {self.step:g}: that is {duration / self.step:.2g} steps, of at most {MOST_STEPS:,}"
            return [f"{told}. Give a longer step, or an earlier t_end."]
        return []

    def _fixed_step(self) -> list[str]:
        if self.step is None:
            return [f"{self.integrator} takes steps of a fixed length. Give step=, in seconds."]
        steps = 1.0 if self.every is None else self.every / self.step
        if round(steps) < 1 or abs(steps - round(steps)) > 1e-6:
            return [f"every is {self.every:g}, which is no multiple of the step of {self.integrator}, {self.step:g}."]
        return []

    @property
    def held(self) -> dict[str, float]:
        """What the equations take to keep loops closed."""
        holds = FORMULATIONS[self.formulation].holds
        leaking = self.stabilization == "project" and self.integrator in LEAKING and "leak" in holds
        return holds["leak" if leaking else self.stabilization](self.gain)

    @property
    def closing(self) -> str:
        """How loops are kept closed, in words."""
        return f"{self.stabilization} {self.held}"

    @property
    def tolerances(self) -> tuple[float, float | None]:
        """rtol and atol of one step."""
        return self.rtol, self.atol


def settings_of(**settings: Any) -> Settings:
    """The settings by their names."""
    names = [field.name for field in dataclasses.fields(Settings)]
    for name in settings:
        if name not in names:
            raise MomentreeError(f"simulate: there is no setting '{name}'.{suggestion(name, names)}")
    if settings.get("rtol") is None:
        settings["rtol"] = RTOL.get(str(settings.get("integrator", Settings.integrator)), NO_RTOL)
    return Settings(**settings)


def is_number(x: Any) -> bool:
    """A finite real number."""
    return isinstance(x, (int, float, np.number)) and not isinstance(x, bool) and math.isfinite(x)


def _meant(given: Any, known: Iterable[str]) -> str:
    """The choice that comes near, if one does: all are listed already."""
    found = suggestion(str(given), known)
    return found if "Did you mean" in found else ""
