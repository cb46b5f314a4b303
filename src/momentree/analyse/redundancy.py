"""Redundant rows and singular configurations of what closes a mechanism: the rank of Phi = J M^-1 J'.

Phi says how the rows of closure open by unit impulses along them. With M = L L' it is Z Z', Z = J L'^-1, so that its
eigenvalues are the squares of the singular values of Z, which are found without squaring them first. Rows are those of
`row_names`, constraints on rates included.

A configuration is singular where the rank is less than at others: the mechanism may go on in more ways than one there
(a toggle). The weakest direction vanishes in proportion to the distance from it, the eigenvalue to the square.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from momentree.analyse.mobility import independent_rows, nearby
from momentree.equations.aggregative import mass_matrix
from momentree.equations.closure import Array, Configuration, row_names
from momentree.errors import MomentreeError, suggestion
from momentree.simulate.assemble import integrate
from momentree.simulate.samples import Samples, in_batches
from momentree.simulate.state import State
from momentree.structure.mechanism import Mechanism

if TYPE_CHECKING:
    from momentree.simulate.run import Run

CUT_OFF = 1e-9  # eigenvalues of Phi below this part of the largest are those of redundant directions
NEAR = 0.02  # of the strength that the weakest direction has at best: nearly singular
GRID, ZOOMS = 33, 8  # points of each search between samples, and how often it is repeated around the lowest


# --- one configuration ---


@dataclass(frozen=True, eq=False)
class Redundancy:
    """The rows of closure at one configuration.

    | field       | shape | meaning                                                                               |
    |-------------|-------|---------------------------------------------------------------------------------------|
    | rows        | m     | their names                                                                           |
    | rank        |       | how many are independent there: eigenvalues above 1e-9 of the largest                  |
    | redundant   |       | names of rows that follow from the others                                              |
    | eigenvalues | m     | of Phi, the largest first                                                             |
    | condition   |       | the largest over the smallest one that counts; 1 if none does                         |
    | Phi_plus    | m, m  | the pseudo-inverse of Phi, redundant directions left out                              |
    """

    rows: tuple[str, ...]
    rank: int
    redundant: tuple[str, ...]
    eigenvalues: Array
    condition: float
    Phi_plus: Array


def redundancy(mechanism: Mechanism, q: Array, t: float = 0.0) -> Redundancy:
    """Rank, redundant rows by name, and the pseudo-inverse of Phi; the loops must be closed, to 1e-4 or better."""
    J = jacobians(mechanism, q[None], np.array([t]))[0]
    names = tuple(row_names(mechanism, on_rates=True))
    U, sizes, _ = np.linalg.svd(_weighed(mechanism, J[None], q[None], np.array([t]))[0])
    eigenvalues = np.zeros(len(names))
    eigenvalues[: len(sizes)] = sizes**2
    rank = int(_ranks(sizes[None])[0])
    kept = set(independent_rows(J, rank))
    return Redundancy(
        rows=names,
        rank=rank,
        redundant=tuple(name for i, name in enumerate(names) if i not in kept),
        eigenvalues=eigenvalues,
        condition=float(eigenvalues[0] / eigenvalues[rank - 1]) if rank else 1.0,
        Phi_plus=U[:, :rank] / eigenvalues[:rank] @ U[:, :rank].T,
    )


def least_impulses(mechanism: Mechanism, q: Array, u: Array, t: float = 0.0) -> Array:
    """The shortest eta that keeps everything closed, p = M u + J' eta, where the rates u alone would not.

    One number for each row (N s, N m s), in its direction; it acts on the first body of a loop, oppositely on the
    second. Of redundant rows only the sum of what they do has a meaning.
    """
    rows = sum(len(loop.joint.rows(loop.joint.reference())) for loop in mechanism.loops)
    on_second: Array = -redundancy(mechanism, q, t).Phi_plus @ Configuration(mechanism, q, u, t).velocities()
    return np.concatenate([-on_second[:rows], on_second[rows:]])


def singularity(
    mechanism: Mechanism, q: Array, t: float = 0.0, driven: Sequence[str] = (), rank: int | None = None
) -> float:
    """The strength of the weakest independent direction of the rows by that of the strongest: 0 where the rank drops.

    | argument | meaning                                                                                              |
    |----------|------------------------------------------------------------------------------------------------------|
    | driven   | joints whose rates are taken as given too: a dead centre is singular for the joint that drives, only |
    | rank     | at a configuration that is not singular; None: the largest that is found here and nearby             |
    """
    here = State(mechanism, q, np.zeros(mechanism.nv), t)
    if rank is None:
        states = [here, *nearby(here)]
        found = strengths(mechanism, np.stack([s.q for s in states]), np.array([s.t for s in states]), driven)
        rank = int(_ranks(found).max(initial=0))
    return float(_ratios(strengths(mechanism, q[None], np.array([t]), driven), rank)[0])


# --- along a run ---


@dataclass(frozen=True)
class Toggle:
    """An instant of a run at which the closure is singular, or nearly so.

    | field   | meaning                                                                                               |
    |---------|-------------------------------------------------------------------------------------------------------|
    | t       | time (s), between samples                                                                             |
    | ratio   | the weakest independent direction by the strongest, there                                             |
    | usual   | the largest such ratio of the run                                                                     |
    | rank    | of the rows there                                                                                     |
    | regular | the largest rank of the run: where `rank` is less, more than the usual freedoms are free for a moment |
    """

    t: float
    ratio: float
    usual: float
    rank: int
    regular: int

    @property
    def drops(self) -> bool:
        """Whether the rank drops, not only nearly."""
        return self.rank < self.regular

    def __str__(self) -> str:
        if self.drops:
            return f"singular at t = {self.t:.6g} s: the rank of the closure drops from {self.regular} to {self.rank}"
        part = f"{self.ratio:.2g} of the strongest, {self.usual:.2g} at best"
        return f"nearly singular at t = {self.t:.6g} s: the weakest direction of the closure is {part}"


def toggles(run: Run, driven: Sequence[str] = (), near: float = NEAR) -> tuple[Toggle, ...]:
    """The instants of a run at which the rank of the closure drops, or nearly drops.

    Nearly is: the ratio of `singularity` has a least value there, below `near` of its largest in the run. Between
    samples the motion is followed by cubics through the coordinates and rates of both. A stretch of time that is
    singular throughout counts as one instant. `driven` as in `singularity`.
    """
    known = np.flatnonzero(np.isfinite(run.q).all(axis=1) & np.isfinite(run.v).all(axis=1) & np.isfinite(run.t))
    t, q, v = run.t[known], run.q[known], run.v[known]
    if not len(t):
        return ()
    found = strengths(run.mechanism, q, t, driven)
    regular = int(_ranks(found).max(initial=0))
    ratios = _ratios(found, regular)
    usual = float(ratios.max())
    met: list[tuple[int, Toggle]] = []
    for i in _lowest(ratios, usual / 2):
        at, sizes = _refined(run.mechanism, t, q, v, i, lambda q, t: strengths(run.mechanism, q, t, driven), regular)
        ratio, rank = float(_ratios(sizes[None], regular)[0]), int(_ranks(sizes[None])[0])
        if ratio >= near * usual:
            continue
        toggle = Toggle(at, ratio, usual, rank, regular)
        if met and (ratios[met[-1][0] : i + 1] < near * usual).all():  # still in the same stretch
            if ratio < met[-1][1].ratio:
                met[-1] = (i, toggle)
        else:
            met.append((i, toggle))
    return tuple(toggle for _, toggle in met)


def _lowest(ratios: Array, below: float) -> Iterator[int]:
    """Samples whose neighbours are not lower."""
    around = np.concatenate([[np.inf], ratios, [np.inf]])
    lowest = (ratios <= around[:-2]) & (ratios < around[2:]) & (ratios < below)
    yield from np.flatnonzero(lowest).tolist()


def _refined(
    mechanism: Mechanism, t: Array, q: Array, v: Array, i: int, strengths_at: Callable[[Array, Array], Array], rank: int
) -> tuple[float, Array]:
    """When the ratio is least around sample i, and the strengths then: by a grid, and finer ones about its lowest."""
    first, last = max(i - 1, 0), min(i + 1, len(t) - 1)
    low, high = float(t[first]), float(t[last])
    best, sizes = float(t[i]), strengths_at(q[[i]], t[[i]])[0]
    for _ in range(ZOOMS if high > low else 0):
        times = np.linspace(low, high, GRID)
        found = strengths_at(np.stack([_between(mechanism, t, q, v, first, last, x) for x in times]), times)
        k = int(_ratios(found, rank).argmin())
        best, sizes = float(times[k]), found[k]
        low, high = float(times[max(k - 1, 0)]), float(times[min(k + 1, GRID - 1)])
    return best, sizes


def _between(mechanism: Mechanism, t: Array, q: Array, v: Array, first: int, last: int, time: float) -> Array:
    """Coordinates between samples: the cubic with their coordinates and rates, along the rates of the earlier one."""
    k = min(max(int(np.searchsorted(t, time, side="right")) - 1, first), last - 1)
    h = float(t[k + 1] - t[k])
    if h <= 0:
        return q[k]
    s = (time - float(t[k])) / h
    step = np.zeros(mechanism.nv)
    for body in mechanism.bodies:
        if body.laws is None:
            step[body.v] = body.connection.joint.difference(tuple(q[k, body.q]), tuple(q[k + 1, body.q]))
    cubic = s * (1 - s) ** 2 * h * v[k] + s**2 * (3 - 2 * s) * step - s**2 * (1 - s) * h * v[k + 1]
    return integrate(mechanism, q[k], cubic)


# --- many configurations at once ---


def strengths(mechanism: Mechanism, q: Array, t: Array, driven: Sequence[str] = ()) -> Array:
    """k x min(rows, nv): the singular values of J M^-1/2 at k configurations, the largest first."""
    joints = _known(mechanism, driven)
    found = []
    for part in in_batches(len(t)):
        J = jacobians(mechanism, q[part], t[part], joints)
        found.append(np.linalg.svd(_weighed(mechanism, J, q[part], t[part]), compute_uv=False))
    return np.concatenate(found)


def jacobians(mechanism: Mechanism, q: Array, t: Array, driven: Sequence[str] = ()) -> Array:
    """k x rows x nv: J at k configurations, constraints on rates included, with rows more for the rates of joints."""

    def velocities(v: Array) -> Array:
        at = Samples(mechanism, q, np.broadcast_to(v, (len(t), mechanism.nv)), t)
        return np.concatenate([at.velocities(), *(at.rates_of(joint) for joint in driven)], axis=1)

    still = velocities(np.zeros(mechanism.nv))
    columns = [velocities(unit) - still for unit in np.eye(mechanism.nv)]
    return np.stack(columns, axis=-1) if columns else np.zeros((*still.shape, 0))


def _weighed(mechanism: Mechanism, J: Array, q: Array, t: Array) -> Array:
    """Z = J L'^-1."""
    nv = mechanism.nv
    M = np.zeros((len(t), nv, nv))
    for i, row in enumerate(mass_matrix(mechanism, np.ascontiguousarray(q.T), t)):
        for j, entry in enumerate(row):
            M[:, i, j] = entry
    return np.swapaxes(np.linalg.solve(np.linalg.cholesky(M), np.swapaxes(J, 1, 2)), 1, 2)


def _ranks(sizes: Array) -> Array:
    """How many singular values count, in each row."""
    return np.asarray((sizes > math.sqrt(CUT_OFF) * sizes.max(axis=1, initial=0.0)[:, None]).sum(axis=1))


def _ratios(sizes: Array, rank: int) -> Array:
    """The one of the given rank by the largest, in each row; 1 where there is none that could vanish."""
    if rank == 0:
        return np.ones(len(sizes))
    largest = sizes[:, 0]
    return np.divide(sizes[:, rank - 1], largest, out=np.zeros(len(sizes)), where=largest > 0)


def _known(mechanism: Mechanism, driven: Sequence[str]) -> list[str]:
    """The joints, if all are there; a single name is one joint."""
    joints = [driven] if isinstance(driven, str) else list(driven)
    for joint in joints:
        if joint not in mechanism.by_joint:
            raise MomentreeError(f"there is no joint '{joint}'.{suggestion(joint, mechanism.by_joint)}")
    return joints
