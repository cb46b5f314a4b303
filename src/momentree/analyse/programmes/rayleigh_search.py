"""The search for Rayleigh coefficients that mode DQ admits, d v = grad Psi with d > 0, and why there are none.

All of them are d = g g'/(g.v) + Pi' K Pi with g = grad Psi, Pi = E - v g'/(g.v) and K symmetric; d > 0 where g.v > 0
and K > 0 on the velocities with g.q' = 0. So Psi has to increase along the programme: it cannot where the programme
has a closed orbit, unless Psi is multivalued and an angle turns along the orbit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from momentree.analyse.programmes.checks import Region
from momentree.analyse.programmes.closed_orbits import ClosedOrbit, StayingMotion
from momentree.analyse.programmes.equilibria import Equilibrium
from momentree.analyse.programmes.increasing_potential import (
    LEAST,
    Array,
    Candidate,
    IncreasingPotential,
    Points,
    VelocityField,
)
from momentree.analyse.programmes.potential_ansatz import PotentialAnsatz
from momentree.analyse.programmes.rayleigh_obstacles import Obstacles, find_obstacles
from momentree.compile.trace.programme_code import ExpressionSource
from momentree.equations.programme import admissible_dissipation
from momentree.equations.programme_fields import ExpressionProgramme
from momentree.errors import MomentreeError
from momentree.model.expressions.expression import Expression, as_expression
from momentree.model.programme_description import TIME, ProgrammeDescription, Scope, Square

GAINS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
SAMPLES = 1024


class Searched(VelocityField, Protocol):
    """What the search takes of a programme."""

    parameters: dict[str, float]

    @property
    def expressions(self) -> ExpressionProgramme:
        """Velocity field, mass matrix and dissipation as expressions."""

    @property
    def description(self) -> ProgrammeDescription:
        """What the user said."""

    def mass_matrix(self, q: Array, t: Array) -> Array:
        """m (k, n, n)."""

    def dissipation(self, q: Array, t: Array) -> Array:
        """d (k, n, n)."""

    def decay_matrix(self, q: Array, t: Array) -> Array:
        """S (k, n, n)."""


@dataclass(frozen=True, eq=False)
class RayleighSearch:
    """What a search for admissible Rayleigh coefficients found.

    | field       | meaning                                                                                  |
    |-------------|------------------------------------------------------------------------------------------|
    | region      | where d is positive definite                                                             |
    | potential   | Psi(q), which increases along the programme; None if none was found                      |
    | K           | n x n expressions; with Psi it gives d                                                   |
    | dissipation | where there is no Psi: a constant d, if one is admissible                                |
    | margin      | the least v . grad Psi in the region, met by samples and local minimizations: no proof   |
    | where       | the place of the margin                                                                  |
    | least       | the least eigenvalue of d at samples                                                     |
    | obstacles   | equilibria, closed orbits or motions that stay: why there is no Psi                      |
    | impossible  | whether they rule out every Psi of the kind searched for, not only those of the ansatz   |
    | explanation | the same in words                                                                        |
    """

    region: Region
    potential: Expression | None
    K: Square | None
    dissipation: Square | None
    margin: float
    where: Mapping[str, float]
    least: float
    obstacles: tuple[Equilibrium | ClosedOrbit | StayingMotion, ...]
    impossible: bool
    explanation: str
    of: Any = dataclasses.field(repr=False)

    @property
    def found(self) -> bool:
        """Whether an admissible d > 0 was found."""
        return self.potential is not None or self.dissipation is not None

    def programme(self) -> Any:
        """The same programme in mode DQ, with this d."""
        if not self.found:
            raise MomentreeError(f"rayleigh: no admissible d > 0 was found. {self.explanation}")
        return _in_mode_dq(self.of, potential=self.potential, K=self.K, dissipation=self.dissipation)

    def __str__(self) -> str:
        title = f"Rayleigh coefficients of {self.of.name} in mode DQ, d v = grad Psi with d > 0:"
        if not self.found:
            return f"{title} none found\n  {self.explanation.replace(chr(10), chr(10) + '  ')}"
        checked = f"d > 0: its least eigenvalue is {self.least:.4g} at {SAMPLES} samples, no proof"
        if self.potential is None:
            rows = f"  d = {_written(self.dissipation)}, constant"
            why = self.explanation.replace("\n", "\n  ")
            return f"{title} found\n{rows}\n  {checked}\n  {why}"
        place = ", ".join(f"{name} = {value:.4g}" for name, value in self.where.items())
        return "\n".join(
            [
                f"{title} found",
                f"  Psi = {self.potential}",
                f"  K = {_written(self.K)}",
                f"  v . grad Psi >= {self.margin:.4g} (at {place})",
                f"  {checked}",
            ]
        )


def search(
    programme: Searched,
    region: Mapping[str, Any] | None = None,
    *,
    degree: int = 2,
    harmonics: int = 2,
    multivalued: bool = True,
    K: Any = None,
) -> RayleighSearch:
    """Psi and K with which mode DQ is admissible in a region, or an explanation.

    | argument    | meaning                                                                                     |
    |-------------|---------------------------------------------------------------------------------------------|
    | region      | lowest and highest values by name; [-pi, pi] unless given, and a whole period of an angle   |
    | degree      | of monomials in coordinates without a period                                                |
    | harmonics   | of sines and cosines of coordinates with one                                                |
    | multivalued | whether Psi may grow with each turn of an angle                                             |
    | K           | as `mass`; the mass matrix, times a gain with which deviations die out, unless given        |
    """
    said = programme.description
    turns = {name: (-period / 2, period / 2) for name, period in (said.periods or {}).items()}
    box = Region.of(programme.coordinates, {**turns, **(region or {})})
    if not any(TIME in part.references() for part in programme.expressions.v):
        box = box._replace(limits=(*box.limits[:-1], (box.limits[-1][0],) * 2))
    ansatz = PotentialAnsatz.of(programme.coordinates, said.periods, degree, harmonics, multivalued)
    chosen = None if K is None else Scope(said.coordinates, programme.parameters).square(K, "K")
    looking = IncreasingPotential(programme, ansatz, box)
    best = looking.best()
    if best.margin > LEAST:
        return _with_potential(programme, looking, best, chosen)
    obstacles = find_obstacles(programme, box, best, len(ansatz.terms), degree, harmonics, multivalued)
    angles = bool(said.periods) and not multivalued  # a constant d may belong to a multivalued Psi
    return _without_potential(programme, box, obstacles, not angles)


# --- with a potential ---


def _with_potential(
    programme: Searched, looking: IncreasingPotential, best: Candidate, K: Square | None
) -> RayleighSearch:
    """Psi in few terms and digits, of the size that belongs to K."""
    points = Points(*looking.region.samples(SAMPLES, seed=17))
    v, m = programme.velocity(*points), programme.mass_matrix(*points)
    pruned = looking.pruned(best)
    metric = m if K is None else _evaluated(programme, K, points)
    energies = [np.einsum("ki,kij,kj->k", v, matrix, v) for matrix in (metric, m)]
    sizes = [float(np.median(energy / looking.increase(pruned, points))) for energy in energies]
    size = next(x for x in [*sizes, 1.0] if x > 0)
    found = pruned._replace(coefficients=pruned.coefficients * size, margin=pruned.margin * size)
    if K is None:
        g = np.einsum("kfn,f->kn", found.ansatz.slopes(points.q), found.coefficients)
        gain = _gain(programme, points, _admissible(v, g, m))
        found = found._replace(coefficients=found.coefficients * gain, margin=found.margin * gain)
        K = tuple(tuple(gain * entry for entry in row) for row in programme.description.mass)
    found = looking.rounded(found)
    psi = found.ansatz.potential(found.coefficients)
    d = _in_mode_dq(programme, potential=psi, K=K, dissipation=None).dissipation(*points)
    least = np.linalg.eigvalsh(d)[:, 0]
    k = int(least.argmin())
    if not least[k] > 0:
        where = looking.region.words(points.q[k], float(points.t[k]))
        message = f"rayleigh: with this K, d has the eigenvalue {least[k]:.4g} at {where}, where Psi = {psi}"
        raise MomentreeError(f"{message}. Give a K that is positive for velocities with grad Psi . q' = 0.")
    place = dict(zip(looking.region.names, [*found.lowest.q[0].tolist(), float(found.lowest.t[0])], strict=True))
    if looking.region.limits[-1][0] == looking.region.limits[-1][1]:
        place.pop("t")
    return RayleighSearch(
        looking.region, psi, K, None, found.margin, place, float(least[k]), (), False, "", of=programme
    )


def _admissible(v: Array, g: Array, K: Array) -> Array:
    """d (k, n, n) from columns of v and g (k, n), and K (k, n, n)."""
    rows = admissible_dissipation(list(v.T), list(g.T), [list(row) for row in np.moveaxis(K, 0, 2)])
    return np.moveaxis(np.array(rows), 2, 0)


def _gain(programme: Searched, points: Points, d: Array) -> float:
    """The least of round numbers k with which k d makes deviations die out at half the rate it would without v."""
    m = programme.mass_matrix(*points)
    half_lie = programme.decay_matrix(*points) - programme.dissipation(*points)
    factor = np.linalg.inv(np.linalg.cholesky(m))

    def least(matrix: Array) -> float:
        return float(np.linalg.eigvalsh(factor @ matrix @ np.swapaxes(factor, 1, 2))[:, 0].min())

    alone = least(d)
    return next((k for k in GAINS if least(k * d + half_lie) >= k * alone / 2), 1.0)


# --- without ---


def _without_potential(programme: Searched, box: Region, obstacles: Obstacles, constant: bool) -> RayleighSearch:
    """A constant d, if one may be taken and is admissible, and why there is no Psi."""
    d = constant_dissipation(programme, box) if constant and not obstacles.impossible else None
    least, rows, words = np.nan, None, obstacles.explanation
    if d is not None:
        points = Points(*box.samples(SAMPLES, seed=17))
        d = d * _gain(programme, points, np.broadcast_to(d, (SAMPLES, *d.shape)))
        least = float(np.linalg.eigvalsh(d)[0])
        rows = tuple(tuple(as_expression(float(x)) for x in row) for row in d)
        words = f"A Psi that increases everywhere was not found:\n{words}"
    return RayleighSearch(
        box, None, None, rows, np.nan, {}, least, obstacles.found, obstacles.impossible, words, of=programme
    )


def constant_dissipation(programme: Searched, box: Region) -> Array | None:
    """A constant d > 0 for which d v is a gradient: d dv/dq symmetric everywhere; the nearest to the mass matrix.

    It needs no v . grad Psi > 0, so that it also exists around equilibria, as with d = m where m v is a gradient.
    """
    points = Points(*box.samples(128, seed=19))
    at = programme.expressions.values(list(points.q.T), points.t, list(programme.parameters.values()))
    n = len(programme.coordinates)
    parts = programme.expressions.fields(at).v_q
    v_q = np.array([[np.broadcast_to(part, len(points.t)) for part in row] for row in parts], dtype=float)
    v_q = np.moveaxis(v_q, 2, 0)
    pairs = [(i, j) for i in range(n) for j in range(i, n)]
    basis = np.zeros((len(pairs), n, n))
    for k, (i, j) in enumerate(pairs):
        basis[k, i, j] = basis[k, j, i] = 1.0
    products = np.einsum("bij,kjl->bkil", basis, v_q)
    rows = (products - np.swapaxes(products, 2, 3)).reshape(len(pairs), -1).T
    _, sizes, vectors = np.linalg.svd(rows, full_matrices=True)
    rank = int((sizes > 1e-9 * max(float(sizes.max(initial=0.0)), 1e-300)).sum())
    free = vectors[rank:]
    if not len(free):
        return None
    matrices = np.einsum("fb,bij->fij", free, basis).reshape(len(free), -1)
    wanted = programme.mass_matrix(*points).mean(axis=0).reshape(-1)
    weights = np.linalg.lstsq(matrices.T, wanted, rcond=None)[0]
    d = (weights @ matrices).reshape(n, n)
    d = np.array([[float(f"{x:.10g}") if abs(x) > 1e-10 * np.abs(d).max() else 0.0 for x in row] for row in d])
    return d if np.linalg.eigvalsh(d)[0] > 1e-6 * np.abs(d).max() else None


# --- programmes and matrices ---


def _in_mode_dq(programme: Any, potential: Expression | None, K: Square | None, dissipation: Square | None) -> Any:
    said = dataclasses.replace(
        programme.description, mode="DQ", gain=None, potential=potential, K=K, dissipation=dissipation,
        parameters=programme.parameters,
    )  # fmt: skip
    return type(programme)(ExpressionSource(ExpressionProgramme(said)), programme.parameters)


def _evaluated(programme: Searched, matrix: Square, points: Points) -> Array:
    at = programme.expressions.values(list(points.q.T), points.t, list(programme.parameters.values()))
    values = [[np.broadcast_to(entry.evaluate(at), len(points.t)) for entry in row] for row in matrix]
    return np.moveaxis(np.array(values, dtype=float), 2, 0)


def _written(matrix: Square | None) -> str:
    rows = matrix or ()
    if all(entry.value == 0 for i, row in enumerate(rows) for j, entry in enumerate(row) if i != j):
        return f"diag({', '.join(str(row[i]) for i, row in enumerate(rows))})"
    return f"[{', '.join('[' + ', '.join(map(str, row)) + ']' for row in rows)}]"
