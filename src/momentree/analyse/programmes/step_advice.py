"""Step sizes for programmes: up to which an integrator is stable, and which deviation it leaves.

Near the programme, deviations obey m u' = (p - m') u, with p_ij of u = 0. Its eigenvalues mu, sampled in a region, must
lie in the stability region of the integrator (integrate/stability.py), as if the coefficients were constant:

    |R(h mu)| <= 1 for all mu with Re mu < 0                                                                      (1)

For real mu that is h <= limit / max |mu|, limit = 2 for Euler's method and 2.785 for the classical one of order 4. A
simpler estimate leaves out the motion of the programme itself: h <= limit / max lambda(d, m).

An integrator does not follow the programme exactly: a step from u = 0 ends at a deviation delta = O(h^(order + 1)).
Deviations decay by R(-rate h) in the next one, so that in the long run about

    |u| = delta / (1 - R(-rate h)) = O(h^order) / rate                                                            (2)

is left. For Euler's method delta = h^2/2 |w|, and |u| = h/2 |w| / rate, where w is the second derivative of the field v
by time along the straight line q + v s, t + s.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from momentree.analyse.programmes.checks import Region
from momentree.analyse.programmes.decay_rate import (
    Certifiable,
    closed_samples,
    decay_rate,
    dependence,
    depends_on,
    relevant_limits,
)
from momentree.equations.programme import coefficients
from momentree.errors import MomentreeError
from momentree.integrate.methods import named_method
from momentree.integrate.stability import real_stability_limit, stability_function

Array = NDArray[np.float64]
SAMPLES = 1024
STEPS = 64  # points from which one step is taken
RAY = 256  # points on a ray in the complex plane


class Movable(Certifiable, Protocol):
    """What is asked of a programme."""

    def velocity(self, q: Any, t: Any = 0.0) -> Array:
        """v."""

    def coefficients(self, q: Any, qd: Any, t: Any = 0.0) -> Array:
        """p_ij."""

    def dissipation(self, q: Any, t: Any = 0.0) -> Array:
        """d."""

    def simulate(self, q: Any, *, t_end: float, t_start: float, integrator: str, step: float | None) -> Any:
        """A motion on the programme."""


@dataclass(frozen=True)
class StepAdvice:
    """Which step sizes suit a programme; by samples of the region, which is no proof.

    | field          | meaning                                                                                  |
    |----------------|------------------------------------------------------------------------------------------|
    | integrator     | its name                                                                                 |
    | limit          | the largest decay rate times step size that it stands                                    |
    | largest        | s: the largest stable step size by (1)                                                   |
    | by_dissipation | s: limit / max lambda(d, m), an estimate                                                 |
    | fastest        | 1/s: the largest \\|mu\\| of a deviation that decays                                       |
    | where          | where the largest step size is so small                                                  |
    | step           | s: the step size that was asked about; None if none was                                  |
    | stable         | whether it is                                                                            |
    | expected       | \\|u\\| by (2) that this step size leaves; None if it is not known (`reason` says why)     |
    """

    integrator: str
    limit: float
    largest: float
    by_dissipation: float
    fastest: float
    where: dict[str, float]
    step: float | None = None
    stable: bool | None = None
    expected: float | None = None
    reason: str = ""

    def __str__(self) -> str:
        words = f"{self.integrator}: stable at every step size"
        if math.isfinite(self.largest):
            place = ", ".join(f"{name} = {value:.4g}" for name, value in self.where.items())
            at = f", at {place}" if place else ""
            words = f"{self.integrator}: stable up to a step size of {self.largest:.4g} s"
            words += f" (deviations decay with up to {self.fastest:.4g} 1/s{at})"
        if self.step is None:
            return words
        words += f"; {self.step:g} s is {'stable' if self.stable else 'too large'}"
        if self.expected is not None:
            return f"{words}, and leaves a deviation of about {self.expected:.2g}"
        return f"{words}; {self.reason}" if self.reason else words


def step_advice(
    programme: Movable, region: Mapping[str, Any] | None, integrator: str = "rk4", step: float | None = None
) -> StepAdvice:
    """The largest step size with which an integrator is stable, and whether a given one is; what it leaves of |u|."""
    method, limit = named_method(integrator), real_stability_limit(integrator)
    if step is not None and not (isinstance(step, (int, float)) and 0 < step < math.inf):
        raise MomentreeError(f"step_advice: step is {step!r}. Give a positive number of seconds.")
    names = _linear_dependence(programme)
    limits = relevant_limits(programme, names, region)
    box = Region.of(programme.coordinates, {**(region or {}), **limits})
    q, t = closed_samples(programme, box, SAMPLES, limits)
    mu, dissipated = _eigenvalues(programme, q, t)
    lengths = np.array([math.inf])
    if math.isfinite(limit) and method.tableau is not None:
        lengths = _stable_steps(mu, limit, *stability_function(method.tableau))
    k = int(np.argmin(lengths)) // mu.shape[1]
    at = dict(zip(box.names, [*q[k].tolist(), float(t[k])], strict=True))
    largest = float(lengths.min())
    found = StepAdvice(
        integrator=integrator,
        limit=limit,
        largest=largest,
        by_dissipation=limit / dissipated if dissipated > 0 else math.inf,
        fastest=float(np.abs(mu[mu.real < 0]).max(initial=0.0)),
        where={name: at[name] for name in names} if math.isfinite(largest) else {},
    )
    if step is None:
        return found
    stable = bool(step <= found.largest)
    expected, reason = (None, "") if not stable else _expected(programme, region, integrator, float(step))
    return StepAdvice(**{**vars(found), "step": step, "stable": stable, "expected": expected, "reason": reason})


def _linear_dependence(programme: Movable) -> tuple[str, ...]:
    """What the linear equations of deviations depend on."""
    by_p = depends_on(
        programme,
        lambda f: coefficients(f, f.v),
        lambda q, t: programme.coefficients(q, programme.velocity(q, t), t),
    )
    used = {*dependence(programme), *by_p}
    return tuple(name for name in (*programme.coordinates, "t") if name in used)


def _eigenvalues(programme: Movable, q: Array, t: Array) -> tuple[NDArray[np.complex128], float]:
    """mu at each point (k, n), and the largest lambda(d, m) of all.

    V' = -u' S u says that m' = p + p' + 2 S on the programme, so that p - m' = -(p' + 2 S), p' being the transpose.
    """
    p = programme.coefficients(q, programme.velocity(q, t), t)
    S, m, d = programme.decay_matrix(q, t), programme.mass_matrix(q, t), programme.dissipation(q, t)
    checked = {"coefficients of deviations are": p, "decay matrix is": S, "mass matrix is": m, "dissipation is": d}
    for what, A in checked.items():
        finite = np.isfinite(A).all(axis=(1, 2))
        if not finite.all():
            k = int(np.argmin(finite))
            where = Region.of(programme.coordinates, None).words(q[k], float(t[k]))
            raise MomentreeError(f"programme: the {what} not finite at {where}. Give a region without that point.")
    mu = np.linalg.eigvals(np.linalg.solve(m, -(np.swapaxes(p, 1, 2) + 2 * S)))
    L_inv = np.linalg.inv(np.linalg.cholesky(m))
    dissipated = np.linalg.eigvalsh(L_inv @ d @ np.swapaxes(L_inv, 1, 2))
    return mu.astype(complex), float(dissipated.max())


def _stable_steps(mu: NDArray[np.complex128], limit: float, P: Array, Q: Array) -> Array:
    """For each mu the largest h with |R(s mu)| <= 1 for all s up to it; infinite where deviations do not decay."""
    flat = mu.ravel()
    size = np.abs(flat)
    decaying = flat.real < -1e-12 * size.max(initial=0.0)
    unit = flat[decaying] / size[decaying]

    def stable(s: Array) -> NDArray[np.bool_]:
        z = unit * s if s.ndim == 1 else unit[:, None] * s
        above, below = (np.polynomial.polynomial.polyval(z, coefs) for coefs in (P, Q))
        return np.asarray(np.abs(above) <= np.abs(below) * (1 + 1e-14))

    grid = np.linspace(0, 2 * limit, RAY + 1)[1:]
    first = np.argmin(np.column_stack([stable(grid[None, :]), np.zeros(len(unit), dtype=bool)]), axis=1)
    low, high = np.concatenate([[0.0], grid])[first], np.concatenate([grid, grid[-1:]])[first]
    for _ in range(60):
        middle = (low + high) / 2
        inside = stable(middle)
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    steps = np.full(len(flat), math.inf)
    steps[decaying] = low / size[decaying]
    return steps


def _expected(
    programme: Movable, region: Mapping[str, Any] | None, integrator: str, step: float
) -> tuple[float | None, str]:
    """|u| by (2), from single steps of the integrator; or why it is not known."""
    method = named_method(integrator)
    if method.adaptive or method.tableau is None:
        return None, "its tolerance, not the step size, says which deviation is left"
    known = {**_periods(programme), **(region or {})}
    missing = [name for name in depends_on(programme, lambda f: [f.v], programme.velocity) if name not in known]
    if missing:
        return None, f"to see which deviation is left, give the region of {', '.join(missing)}, too"
    rate = decay_rate(programme, region).rate
    if not rate > 0:
        return None, "deviations do not decay everywhere, and no bound is known for what is left"
    box = Region.of(programme.coordinates, known)
    q, t = closed_samples(programme, box, STEPS, box.limits_of(known))
    ends = [
        programme.simulate(x, t_start=s, t_end=s + step, integrator=integrator, step=step).size[-1]
        for x, s in zip(q, t.tolist(), strict=True)
    ]
    P, Q = (np.polynomial.polynomial.polyval(-rate * step, coefs) for coefs in stability_function(method.tableau))
    return float(max(ends) / (1 - P / Q)), ""


def _periods(programme: Movable) -> dict[str, tuple[float, float]]:
    """One period of each coordinate that has one."""
    try:
        periods = programme.expressions.description.periods or {}
    except MomentreeError:
        return {}
    return {name: (-period / 2, period / 2) for name, period in periods.items()}
