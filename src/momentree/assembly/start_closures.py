"""Which of many starts are surely closed, and which are within limits, in machine code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from momentree.assembly.batch_closing import BatchOfRows, Mask
from momentree.assembly.closure_check import CLOSED, row_scales
from momentree.assembly.configuration import Array
from momentree.assembly.samples import Samples, in_batches
from momentree.assembly.scaled_constraints import column_factors, row_divisors
from momentree.compile.execute.kernel import compiled_once
from momentree.compile.execute.rows_in_threads import Strided, compute_rows
from momentree.compile.trace.sample_kernels import kernel_of_samples
from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import records
from momentree.equations.loops.constraint_jacobian import LoopClosure, expression_closures, loop_closures
from momentree.equations.sweeps import Records
from momentree.model.joint_type import Coordinates, beyond
from momentree.spatial import Scalar
from momentree.spatial.scalar import absolute, maximum, select, sqrt
from momentree.structure.mechanism import Mechanism, TreeBody
from momentree.structure.size import loop_sizes, mechanism_size

if TYPE_CHECKING:
    from momentree.system import System

SURE = 0.9 * CLOSED  # scaled: closure errors, and velocities of constraints, up to which a start is surely closed


class Doubts(NamedTuple):
    """Starts that are not surely closed, to be looked at one by one; starts outside the limits of joints."""

    open: Mask
    outside: Mask


def doubtful_starts(system: System, q: Array, v: Array, parameters: Array, t: float) -> Doubts:
    """Of starts q (m, nq), v (m, nv) with parameters (m, n)."""
    if not system.mechanism.constrained and not _limited(system):
        return Doubts(np.zeros(len(q), dtype=bool), np.zeros(len(q), dtype=bool))
    kernel = compiled_once(system, "closure of starts", lambda: kernel_of_samples(system.mechanism, largest_opening))
    if kernel is None:
        parts = [_by_numpy(system, q[part], v[part], parameters[part], t) for part in in_batches(len(q))]
        none = np.zeros(0, dtype=bool)
        return Doubts(
            *(np.concatenate([none, *masks]) for masks in zip(*parts, strict=True)) if parts else (none, none)
        )
    rows = [np.ascontiguousarray(each) for each in (q, v)] + [np.array([t])]
    rows += [np.ascontiguousarray(parameters)] if system.mechanism.free else []
    out = np.empty((len(q), 2))
    compute_rows(kernel, [Strided.of(each) for each in rows], out)
    return Doubts(~(out[:, 0] <= 1.0), ~(out[:, 1] <= 0.0))


def _limited(system: System) -> bool:
    joints = (of.joint for of in system.mechanism.by_joint.values())
    return any(joint is not None and joint.type.limits for joint in joints)


def largest_opening(at: Evaluation, v: Coordinates) -> list[Scalar]:
    """The largest closure error or constraint velocity of a start, by what is surely closed; how far beyond limits."""
    mechanism = at.mechanism
    if at.parameters:  # sizes by these parameters, not by those of the model
        vars(mechanism).update(loop_sizes=loop_sizes(mechanism))
        vars(mechanism).update(size=mechanism_size(mechanism))
    columns = column_factors(mechanism)
    speed: Scalar = 1.0
    for u, scale in zip(v, columns, strict=True):
        speed = maximum(absolute(u / scale), speed)
    bodies, largest = records(at, v), list[Scalar]()
    closures = loop_closures(mechanism, bodies)
    both = [pair for closure in closures for pair in zip(closure.errors, closure.rows, strict=True)]
    errors = [error for error, row in both if row.holonomic]
    velocities = [velocity for closure in closures for velocity in closure.velocities]
    largest += [e / s for e, s in zip(errors, row_divisors(mechanism), strict=True)]
    scales = row_divisors(mechanism, on_velocities=True)
    largest += [e / (s * speed) for e, s in zip(velocities, scales, strict=True)]
    for expression in expression_closures(mechanism, bodies):
        norm = sqrt(sum((x * columns[i]) * (x * columns[i]) for i, x in expression.entries.items()))
        scale = select(norm, norm, 1.0)
        largest += [expression.error / scale] if expression.holonomic else []
        largest.append(expression.velocity / (scale * speed))
    worst: Scalar = 0.0
    for x in largest:
        worst = maximum(absolute(x / SURE), worst)
    outside: Scalar = 0.0
    for limits, q in _limited_coordinates(mechanism, bodies, closures):
        for excess in beyond(limits, q):
            outside = maximum(outside, excess)
    return [worst, outside]


def _limited_coordinates(
    mechanism: Mechanism, bodies: Records, closures: list[LoopClosure]
) -> Iterator[tuple[tuple[Scalar, Scalar], Scalar]]:
    """The limits of each coordinate that has them, and itself, of joints of the tree and of those that close loops."""
    for name, of in mechanism.by_joint.items():
        limits = of.joint.type.limits if of.joint is not None else None
        if limits:
            q = bodies[of.number].q if isinstance(of, TreeBody) else closures[mechanism.loop_numbers[name]].q
            yield from zip(limits, q, strict=False)


def _by_numpy(system: System, q: Array, v: Array, parameters: Array, t: float) -> Doubts:
    """The same where code would be long."""
    names, batch = system._free.names_of(parameters), BatchOfRows(system, parameters, t)
    at = Samples(batch.batched, q, v, np.full(len(q), t), names)
    with np.errstate(all="ignore"):
        speed = np.maximum(1.0, np.abs(at.v.T / batch.columns).max(axis=1, initial=0.0))[:, None]
        by_position = row_scales(at, batch.constraint_scales, batch.columns)
        by_velocity = row_scales(at, batch.velocity_scales, batch.columns, on_velocities=True)
        sure = (np.abs(at.closure_errors() / by_position) <= SURE).all(axis=1)
        sure &= (np.abs(at.constraint_velocities() / by_velocity) <= SURE * speed).all(axis=1)
    outside = np.zeros(len(q), dtype=bool)
    for name, of in at.mechanism.by_joint.items():
        limits = of.joint.type.limits if of.joint is not None else None
        for column, pair in zip(at.coordinates_of(name).T if limits else (), limits or (), strict=False):
            outside |= np.any([excess > 0 for excess in beyond(pair, column)], axis=0)
    return Doubts(~sure, outside)
