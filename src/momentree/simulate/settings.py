"""Settings of a simulation: formulation, integrator, stabilization, tolerances, step size; defaults and checks."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection
from typing import Any

import numpy as np

from momentree.equations.formulations import FORMULATIONS
from momentree.equations.stabilizations import DEFAULT as DEFAULT_STABILIZATION
from momentree.equations.stabilizations import DEFAULT_GAIN, STABILIZATIONS
from momentree.errors import MomentreeError, all_choices, choices, renamed, suggestion
from momentree.integrate.method_record import LoopTreatment, Method
from momentree.integrate.methods import DEFAULT, FOR_STIFF, METHODS, named_method
from momentree.integrate.stability import real_stability_limit

MOST_SAMPLES = 20_000_000  # at multiples of `every`
MOST_STEPS = 10_000_000_000  # of a fixed step size


@dataclasses.dataclass(frozen=True)
class Settings:
    """How to simulate.

    | field         | meaning                                                                                     |
    |---------------|---------------------------------------------------------------------------------------------|
    | t_end         | s                                                                                           |
    | formulation   | "hamiltonian" (q, p), "lagrange" (q, v) or "absolute" (placements and velocities of bodies) |
    | stabilization | what keeps loops closed: one of equations.stabilizations.STABILIZATIONS; trees need nothing |
    | gain          | 1/s: the wanted decay rate of closure errors, or of what else the stabilization reduces     |
    | integrator    | one of integrate.methods.METHODS                                                            |
    | rtol, atol    | tolerances of adaptive integrators; None: atol follows from the size of the mechanism       |
    | step          | s: the step size where it is fixed; the largest one where it is adaptive                    |
    | every         | s between samples; None: a sample at every step                                             |
    | verify        | whether the error is estimated, by a second and more accurate simulation                    |
    | if_stiff      | the integrator that goes on where steps are found to be much shorter than the motion needs  |
    |               | (stiffness.py); None: the same                                                              |
    | rtol_if_stiff | its rtol; None: the same                                                                    |
    """

    t_end: float
    formulation: str = "hamiltonian"
    stabilization: str = DEFAULT_STABILIZATION
    gain: float = DEFAULT_GAIN
    integrator: str = DEFAULT
    rtol: float = METHODS[DEFAULT].rtol
    atol: float | None = None
    step: float | None = None
    every: float | None = None
    verify: bool = False
    if_stiff: str | None = None
    rtol_if_stiff: float | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            object.__setattr__(self, name, of_python(value))

    @property
    def method(self) -> Method:
        """The record of the integrator."""
        return named_method(self.integrator)

    def check(self, t_start: float) -> None:
        """Raise one error with everything that is wrong."""
        problems = [*self._unknown(), *self._bad_numbers(t_start)]
        if not problems:
            problems += [
                *self._bad_combination(),
                *self._bad_fixed_step(),
                *self._unstable(),
                *self._too_many(float(self.t_end) - t_start),
            ]
        if problems:
            raise MomentreeError("\n".join(problems))

    def _unknown(self) -> list[str]:
        known: dict[str, Collection[str]] = {
            "formulation": FORMULATIONS,
            "stabilization": STABILIZATIONS,
            "integrator": METHODS,
            **({} if self.if_stiff is None else {"if_stiff": [name for name in METHODS if METHODS[name].stiff]}),
        }
        return [
            f"{name} '{getattr(self, name)}' is not known.{all_choices(str(getattr(self, name)), list(names))}"
            for name, names in known.items()
            if not isinstance(getattr(self, name), str) or getattr(self, name) not in names
        ]

    def _bad_numbers(self, t_start: float) -> list[str]:
        problems = []
        if not is_number(self.t_end) or self.t_end <= t_start:
            problems.append(f"t_end is {self.t_end}; give a time after the start, {t_start:g} s.")
        for name, rtol in (("rtol", self.rtol), ("rtol_if_stiff", self.rtol_if_stiff)):
            if (name == "rtol" or rtol is not None) and (not is_number(rtol) or not 1e-14 <= rtol <= 0.1):  # type: ignore[operator]
                problems.append(f"{name} is {rtol}; give a number from 1e-14 to 0.1.")
        if self.atol is not None and (not is_number(self.atol) or self.atol <= 0):
            problems.append(
                f"atol is {self.atol}; give a positive number, or None: it then follows from the size of the mechanism."
            )
        if not is_number(self.gain) or self.gain <= 0:
            problems.append(f"gain is {self.gain}; give a positive number, in 1/s.")
        for name in ("step", "every"):
            value = getattr(self, name)
            if value is not None and (not is_number(value) or value <= 0):
                problems.append(f"{name} is {value}; give a positive number of seconds.")
        if not isinstance(self.verify, bool):
            problems.append(f"verify is {self.verify}; give True or False.")
        return problems

    def _bad_combination(self) -> list[str]:
        """Choices that exclude each other."""
        formulation = FORMULATIONS[self.formulation]
        if self.method.hamiltonian and self.formulation != "hamiltonian":
            return [f"{self.integrator} works in Hamiltonian variables. Give formulation='hamiltonian'."]
        if self.stabilization not in formulation.stabilizations:
            message = f"stabilization '{self.stabilization}' is not available in formulation '{self.formulation}'"
            reason = STABILIZATIONS[self.stabilization].missing[formulation.level]
            return [f"{message}: {reason}. Choose {choices(list(formulation.stabilizations))}."]
        if self.method.loops is LoopTreatment.WITHIN and not self.projects:
            return [f"{self.integrator} closes loops within its steps. Leave stabilization='{DEFAULT_STABILIZATION}'."]
        if self.rtol_if_stiff is not None and self.if_stiff is None:
            message = f"rtol_if_stiff is given, but {self.integrator} stays where the motion is stiff"
            return [f"{message}. Name the integrator that is to go on: if_stiff='{FOR_STIFF}'."]
        return []

    def _bad_fixed_step(self) -> list[str]:
        if self.method.adaptive:
            return []
        if self.step is None:
            return [f"{self.integrator} has a fixed step size. Give step=, in seconds."]
        steps = 1.0 if self.every is None else self.every / self.step
        if round(steps) < 1 or abs(steps - round(steps)) > 1e-6:
            return [
                f"every is {self.every:g}, which is not a multiple of the step of {self.integrator}, {self.step:g}."
            ]
        return []

    def _unstable(self) -> list[str]:
        """A gain with which fixed steps are unstable: |R(-gain step)| > 1 (integrate/stability.py)."""
        fastest = STABILIZATIONS[self.stabilization].fastest
        if self.method.adaptive or self.method.tableau is None or self.step is None or not fastest:
            return []
        limit = real_stability_limit(self.integrator) / fastest  # of the gain times the step size
        if self.gain * self.step < limit:
            return []
        what = f"{self.stabilization} with gain {self.gain:g} 1/s is unstable with {self.integrator}"
        limits = f"the limit is {limit / self.step:.3g} 1/s"
        advice = f"a step below {limit / self.gain:.3g} s or stabilization='{DEFAULT_STABILIZATION}'"
        return [f"{what} at step {self.step:g} s: {limits}. Give a smaller gain, {advice}."]

    def _too_many(self, duration: float) -> list[str]:
        """Too many samples or steps for the memory or the time of any computer."""
        if self.every is not None and duration / self.every > MOST_SAMPLES:
            samples = f"{duration / self.every:.2g} samples, of at most {MOST_SAMPLES:,}"
            advice = f"Give every of at least {duration / MOST_SAMPLES:.2g} s, or an earlier t_end."
            return [f"every is {self.every:g}: that is {samples}. {advice}"]
        if not self.method.adaptive and self.step is not None and duration / self.step > MOST_STEPS:
            steps = f"{duration / self.step:.2g} steps, of at most {MOST_STEPS:,}"
            return [f"step is {self.step:g}: that is {steps}. Give a larger step, or an earlier t_end."]
        return []

    @property
    def once_stiff(self) -> Settings:
        """Those with which a motion goes on once it is found to be stiff."""
        if self.if_stiff is None:
            return self
        rtol = self.rtol if self.rtol_if_stiff is None else self.rtol_if_stiff
        return dataclasses.replace(self, integrator=self.if_stiff, rtol=rtol, if_stiff=None, rtol_if_stiff=None)

    @property
    def projects(self) -> bool:
        """Whether loops are closed after each step."""
        return STABILIZATIONS[self.stabilization].projected

    @property
    def constraint_gains(self) -> dict[str, float]:
        """Gains (1/s) of the stabilization of loops, as the equations take them."""
        stabilizations = FORMULATIONS[self.formulation].stabilizations
        leaking = self.projects and self.method.loops is LoopTreatment.LEAK and "leak" in stabilizations
        return stabilizations["leak" if leaking else self.stabilization](self.gain)

    @property
    def closing(self) -> str:
        """How loops are kept closed, in words."""
        return f"{self.stabilization} {self.constraint_gains}"

    @property
    def tolerances(self) -> tuple[float, float | None]:
        """rtol and atol of one step."""
        return self.rtol, self.atol


@renamed(closure="stabilization")
def settings_of(**settings: Any) -> Settings:
    """The settings by their names."""
    names = [field.name for field in dataclasses.fields(Settings)]
    for name in settings:
        if name not in names:
            raise MomentreeError(f"simulate: there is no setting '{name}'.{suggestion(name, names)}")
    if settings.get("rtol") is None:
        integrator = settings.get("integrator", DEFAULT)
        exists = isinstance(integrator, str) and integrator in METHODS  # `check` rejects all others
        settings["rtol"] = METHODS[integrator if exists else DEFAULT].rtol
    return Settings(**settings)


def of_python(x: Any) -> Any:
    """A number, truth value or text of NumPy as one of Python; anything else as it is."""
    if isinstance(x, np.longdouble):  # which stays one by `item`
        return float(x)
    return x.item() if isinstance(x, np.generic) or (isinstance(x, np.ndarray) and not x.ndim) else x


def is_number(x: Any) -> bool:
    """A finite real number."""
    return isinstance(x, (int, float, np.number)) and not isinstance(x, bool) and math.isfinite(x)
