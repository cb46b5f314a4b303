"""Redundant constraints and singular configurations: the rank of J, and of the Delassus matrix Phi = J M^-1 J'.

Ranks are those of the constraint Jacobian J in scaled rows and columns, whose singular values (`strengths`) are pure
numbers, whatever the units and masses (assembly/scaled_constraints.py). Constraints on velocities are included.

A configuration is singular where the rank is less than at others: the motion may continue on more than one branch there
(a toggle). The weakest direction vanishes in proportion to the distance from it.

`redundancy`, `constraint_impulses` and `singularity` are for studies of one configuration:

>>> import momentree as mt
>>> from momentree.analyse.redundancy import redundancy
>>> m = mt.Model("a door on two hinges")
>>> door = m.body("door", mt.rod(mass=10.0, length=1.0))
>>> for name, height in (("lower", 0.3), ("upper", 1.7)):
...     hinge = m.joint(name, mt.Revolute("z"), m.ground.at((0, 0, height)), door.at((0, 0, height)))
>>> system = m.build()
>>> study = redundancy(system.mechanism, system.assemble().q)
>>> study.rank, len(study.redundant)
(0, 5)
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from momentree.assembly.configuration import Array, Configuration, constraint_names
from momentree.assembly.configuration_space import difference, integrate
from momentree.assembly.named_values import names_given
from momentree.assembly.nearby_configurations import nearby_configurations
from momentree.assembly.samples import Samples, in_batches
from momentree.assembly.scaled_constraints import ScaledConstraints, Scales, cut_off
from momentree.equations.aggregative import mass_matrix
from momentree.equations.evaluation import Evaluation
from momentree.errors import MomentreeError, suggestion
from momentree.structure.mechanism import Mechanism
from momentree.structure.switched_constraints import switched

if TYPE_CHECKING:
    from momentree.results.run import Run
    from momentree.simulate.blocks import Block

NEAR = 0.02  # of the strength that the weakest direction has at best: nearly singular
GRID, ZOOMS = 33, 8  # points of each search between samples, and how often it is repeated around the lowest


# --- one configuration ---


@dataclass(frozen=True, eq=False)
class Redundancy:
    """The constraints at one configuration.

    | field       | shape | meaning                                                                         |
    |-------------|-------|---------------------------------------------------------------------------------|
    | rows        | m     | their names                                                                     |
    | rank        |       | how many are independent there: strengths above the cut-off                     |
    | redundant   |       | names of constraints that follow from the others                                |
    | eigenvalues | m     | of J J' in scaled rows and columns, the largest first: squares of the strengths |
    | condition   |       | the largest over the smallest one that counts; 1 if none does                   |
    | Phi_plus    | m, m  | the pseudo-inverse of the Delassus matrix Phi, redundant directions left out    |
    """

    rows: tuple[str, ...]
    rank: int
    redundant: tuple[str, ...]
    eigenvalues: Array
    condition: float
    Phi_plus: Array


def redundancy(mechanism: Mechanism, q: Array, t: float = 0.0) -> Redundancy:
    """Rank, redundant constraints by name, and the pseudo-inverse of Phi; loops must be closed, to 1e-2 or better."""
    at = Configuration(mechanism, q, t=t)
    rows = Scales(mechanism).scaled(at, on_velocities=True)
    names = tuple(constraint_names(mechanism, on_velocities=True))
    sizes = rows.strengths
    eigenvalues = np.zeros(len(names))
    eigenvalues[: len(sizes)] = sizes**2
    rank = int((sizes > cut_off(_closure_error(mechanism, q[None], np.array([t]))[0])).sum())
    independent = set(rows.independent(0.0, rank))
    return Redundancy(
        rows=names,
        rank=rank,
        redundant=tuple(name for i, name in enumerate(names) if i not in independent),
        eigenvalues=eigenvalues,
        condition=float(eigenvalues[0] / eigenvalues[rank - 1]) if rank else 1.0,
        Phi_plus=_pseudo_inverse(mechanism, rows, rank, q, t),
    )


def _pseudo_inverse(mechanism: Mechanism, rows: ScaledConstraints, rank: int, q: Array, t: float) -> Array:
    """Of Phi = J M^-1 J', on the range that J has in scaled rows: Q (Q' Phi Q)^-1 Q', Q an orthonormal basis of it."""
    Q = np.linalg.qr(rows.constraint_scales[:, None] * rows.directions[:, :rank])[0]
    J = (rows.J / rows.column_scales) * rows.constraint_scales[:, None]
    Phi = (Q.T @ J) @ np.linalg.solve(_mass_matrices(mechanism, q[None], np.array([t]))[0], J.T @ Q)
    return np.asarray(Q @ np.linalg.solve(Phi, Q.T))


def constraint_impulses(mechanism: Mechanism, q: Array, u: Array, t: float = 0.0) -> Array:
    """The shortest eta that keeps everything closed, p = M u + J' eta, where the velocities u alone would not.

    One number for each constraint (N s, N m s), in its direction; it acts on the first body of a loop, oppositely on
    the second. Of redundant constraints only the sum of their wrenches is meaningful.
    """
    of_loops = sum(len(loop.rows) for loop in mechanism.loops)
    on_second: Array = -redundancy(mechanism, q, t).Phi_plus @ Configuration(mechanism, q, u, t).constraint_velocities()
    return np.concatenate([-on_second[:of_loops], on_second[of_loops:]])


def singularity(
    mechanism: Mechanism, q: Array, t: float = 0.0, driven: Sequence[str] = (), rank: int | None = None
) -> float:
    """The weakest independent direction of the constraints by the strongest: 0 where the rank drops.

    | argument | meaning                                                                                          |
    |----------|--------------------------------------------------------------------------------------------------|
    | driven   | joints whose velocities are prescribed too: a dead center is singular for the driving joint only |
    | rank     | at a configuration that is not singular; None: the largest here and nearby                       |
    """
    if rank is None:
        places = np.stack(
            [q, *(near.q for near in nearby_configurations(Configuration(mechanism, q, t=t)) if near.misfit <= 1)]
        )
        times = np.full(len(places), t)
        rank = int(
            _ranks(strengths(mechanism, places, times, driven), _closure_error(mechanism, places, times)).max(initial=0)
        )
    return float(_ratios(strengths(mechanism, q[None], np.array([t]), driven), rank)[0])


# --- along a run ---


@dataclass(frozen=True)
class Toggle:
    """An instant of a run at which the constraints are singular, or nearly so.

    | field   | meaning                                                                                              |
    |---------|------------------------------------------------------------------------------------------------------|
    | t       | time (s), between samples                                                                            |
    | ratio   | the weakest independent direction by the strongest, there                                            |
    | usual   | the largest such ratio of the run                                                                    |
    | rank    | of the constraints there                                                                             |
    | regular | the largest rank of the run: where `rank` is less, there are more degrees of freedom for a moment    |
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
            return (
                f"singular at t = {self.t:.6g} s: the rank of the constraints drops from {self.regular} to {self.rank}"
            )
        part = f"{self.ratio:.2g} of the strongest, {self.usual:.2g} at best"
        return f"nearly singular at t = {self.t:.6g} s: the weakest direction of the constraints is {part}"


def toggles(run: Run, driven: Sequence[str] = (), near: float = NEAR) -> tuple[Toggle, ...]:
    """The instants of a run at which the rank of the constraints drops, or nearly drops.

    Nearly is: the ratio of `singularity` has a least value there, below `near` of its largest in the run. Between
    samples the motion is followed by cubics through the coordinates and velocities of both. A stretch of time that is
    singular throughout counts as one instant. `driven` as in `singularity`. Only constraints that act count: where
    joints are released or constraints switched, each part of the run is looked at on its own.
    """
    if not hasattr(run, "phases"):
        raise MomentreeError(f"toggles: {reprlib.repr(run)} is not a run. Give what system.simulate returned.")
    parts = [(phase.part, phase.inactive) for phase in run.phases()]
    if len({inactive for _, inactive in parts}) == 1:
        parts = [(slice(0, len(run.t)), parts[0][1])]
    met: list[Toggle] = []
    for part, inactive in parts:
        met += _toggles(switched(run.mechanism, inactive), run.samples.part(part), driven, near)
    return tuple(met)


def _toggles(mechanism: Mechanism, samples: Block, driven: Sequence[str], near: float) -> tuple[Toggle, ...]:
    finite = np.isfinite(samples.q).all(axis=1) & np.isfinite(samples.v).all(axis=1) & np.isfinite(samples.t)
    t, q, v = samples.t[finite], samples.q[finite], samples.v[finite]
    if not len(t):
        return ()
    sizes_of_samples = strengths(mechanism, q, t, driven)
    regular = int(_ranks(sizes_of_samples, _closure_error(mechanism, q, t)).max(initial=0))
    ratios = _ratios(sizes_of_samples, regular)
    usual = float(ratios.max())
    met: list[tuple[int, Toggle]] = []
    for i in _lowest(ratios, usual / 2):
        at, sizes = _refined(mechanism, t, q, v, i, lambda q, t: strengths(mechanism, q, t, driven), regular)
        ratio, rank = float(_ratios(sizes[None], regular)[0]), int(_ranks(sizes[None], np.zeros(1))[0])
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
        tried = strengths_at(np.stack([_between(mechanism, t, q, v, first, last, x) for x in times]), times)
        k = int(_ratios(tried, rank).argmin())
        best, sizes = float(times[k]), tried[k]
        low, high = float(times[max(k - 1, 0)]), float(times[min(k + 1, GRID - 1)])
    return best, sizes


def _between(mechanism: Mechanism, t: Array, q: Array, v: Array, first: int, last: int, time: float) -> Array:
    """Coordinates between samples: the cubic with their coordinates and velocities, from the earlier one."""
    k = min(max(int(np.searchsorted(t, time, side="right")) - 1, first), last - 1)
    h = float(t[k + 1] - t[k])
    if h <= 0:
        return np.asarray(q[k])
    s = (time - float(t[k])) / h
    step = difference(mechanism, q[k], q[k + 1])
    cubic = s * (1 - s) ** 2 * h * v[k] + s**2 * (3 - 2 * s) * step - s**2 * (1 - s) * h * v[k + 1]
    return integrate(mechanism, q[k], cubic)


# --- many configurations at once ---


def strengths(mechanism: Mechanism, q: Array, t: Array, driven: Sequence[str] = ()) -> Array:
    """k x min(rows, nv): the singular values of J in scaled rows and columns at k configurations, the largest first."""
    joints, scales = _checked_joints(mechanism, driven), Scales(mechanism)
    kinds = [mechanism.by_joint[joint].joint.type for joint in joints]  # type: ignore[union-attr]
    last = np.array([scales.of_unit(unit) for kind in kinds for unit in kind.velocity_units])
    singular_values = []
    for part in in_batches(len(t)):
        J = jacobians(mechanism, q[part], t[part], joints) * scales.columns
        constraints = slice(len(scales.velocity_rows), J.shape[1] - len(last))
        norms = np.linalg.norm(J[:, constraints], axis=2)
        several = [
            np.tile(scales.velocity_rows, (len(J), 1)),
            np.where(norms > 0, norms, 1.0),
            np.tile(last, (len(J), 1)),
        ]
        rows = np.concatenate(several, axis=1)
        singular_values.append(np.linalg.svd(J / rows[..., None], compute_uv=False))
    return np.concatenate(singular_values)


def jacobians(mechanism: Mechanism, q: Array, t: Array, driven: Sequence[str] = ()) -> Array:
    """k x rows x nv: J at k configurations, constraints on velocities included, and the velocities of joints."""

    def velocities(v: Array) -> Array:
        at = Samples(mechanism, q, np.broadcast_to(v, (len(t), mechanism.nv)), t)
        return np.concatenate([at.constraint_velocities(), *(at.velocities_of(joint) for joint in driven)], axis=1)

    still = velocities(np.zeros(mechanism.nv))
    columns = [velocities(unit) - still for unit in np.eye(mechanism.nv)]
    return np.stack(columns, axis=-1) if columns else np.zeros((*still.shape, 0))


def _closure_error(mechanism: Mechanism, q: Array, t: Array) -> Array:
    """By how much the loops are open at k configurations, scaled."""
    rows = Scales(mechanism).rows
    closure_errors = Samples(mechanism, q, np.zeros((len(t), mechanism.nv)), t).closure_errors()[:, : len(rows)]
    return np.asarray(np.linalg.norm(closure_errors / rows, axis=1))


def _mass_matrices(mechanism: Mechanism, q: Array, t: Array) -> Array:
    """k x nv x nv."""
    nv = mechanism.nv
    M = np.zeros((len(t), nv, nv))
    for i, row in enumerate(mass_matrix(Evaluation(mechanism, np.ascontiguousarray(q.T), t))):
        for j, entry in enumerate(row):
            M[:, i, j] = entry
    return M


def _ranks(sizes: Array, closure_errors: Array) -> Array:
    """How many singular values count at each configuration, where loops are open by closure errors."""
    cut_offs = np.array([cut_off(closure_error) for closure_error in closure_errors])
    return np.asarray((sizes > cut_offs[:, None]).sum(axis=1))


def _ratios(sizes: Array, rank: int) -> Array:
    """At each configuration, the singular value of this rank by the largest; 1 where none could vanish."""
    if rank == 0:
        return np.ones(len(sizes))
    largest = sizes[:, 0]
    return np.divide(sizes[:, rank - 1], largest, out=np.zeros(len(sizes)), where=largest > 0)


def _checked_joints(mechanism: Mechanism, driven: Sequence[str]) -> list[str]:
    """The joints, if all are there; a single name is one joint."""
    joints = names_given(driven, "driven")
    for joint in joints:
        if joint not in mechanism.by_joint:
            raise MomentreeError(f"there is no joint '{joint}'.{suggestion(joint, mechanism.by_joint)}")
    return joints
