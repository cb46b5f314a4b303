"""Checks of starts: finite, quaternions of unit length, joints within their limits, loops closed."""

from __future__ import annotations

from typing import Any

import numpy as np

from momentree.assembly.closure_check import worst_violation
from momentree.assembly.configuration import Array, constraint_names
from momentree.assembly.locked_loops import warn_if_locked
from momentree.assembly.samples import Samples
from momentree.assembly.state import State
from momentree.compile.execute.arrays import coordinates, scalars
from momentree.errors import MomentreeError
from momentree.model.joint_type import JointType
from momentree.simulate.settings import is_number
from momentree.structure.mechanism import Mechanism


def checked_start(mechanism: Mechanism, start: State) -> State:
    """A copy of the start, which must be finite, with unit quaternions, within the limits of the joints, and closed."""
    if not isinstance(start, State):
        raise MomentreeError(f"simulate: the start is a {type(start).__name__}. Create it with system.assemble(...).")
    check_states(mechanism, start.q, start.v)
    if np.ndim(start.q) != 1 or np.ndim(start.v) != 1:
        raise MomentreeError("simulate: the start holds several states. Use system.simulate_many for them.")
    check_time(start.t)
    q, v, t = np.array(start.q, dtype=float), np.array(start.v, dtype=float), float(start.t)
    check_closed(mechanism, q[None], v[None], np.array([t]))
    warn_if_locked(mechanism, start)
    return State(start.mechanism, q, v, t)


def check_time(t: Any) -> None:
    """A start is at a finite time."""
    if not is_number(t):
        raise MomentreeError(f"the start has t = {t}; give a finite time.")


def check_closed(mechanism: Mechanism, q: Array, v: Array, t: Array) -> None:
    """Starts (k, n) must close all loops and keep them closed."""
    if not mechanism.constrained or not len(t):
        return
    samples = Samples(mechanism, q, v, t)
    worst = worst_violation(mechanism, samples)
    if worst is not None:
        name = constraint_names(mechanism, on_velocities=worst.what == "velocity")[worst.constraint]
        message = f"the start does not close '{name}': {worst.what} {worst.value:.3g} {worst.unit}"
        raise MomentreeError(
            f"simulate: {message}. Create it with system.assemble(...), which closes coordinates and velocities."
        )
    for loop in mechanism.loops:
        if loop.joint is not None and loop.joint_type.limits:
            _check_limits(loop.name, loop.joint_type, samples.coordinates_of(loop.name).T)


def check_states(mechanism: Mechanism, q: Any, v: Any) -> None:
    """Coordinates and velocities (batches too) must be finite, quaternions of unit length, all within limits."""
    coordinates(mechanism, q)
    scalars(v, mechanism.nv, "v")
    for body in mechanism.bodies:
        if not body.laws:
            columns = np.moveaxis(np.asarray(q, dtype=float), -1, 0)[body.q]
            _check_limits(body.joint.name, body.joint.type, columns)


def _check_limits(name: str, joint: JointType, columns: Array) -> None:
    for coordinate, column, (low, high) in zip(joint.coordinates, columns, joint.limits or (), strict=False):
        outside = np.extract(~((low <= column) & (column <= high)), column)
        if len(outside):
            message = f"joint '{name}': the start has {coordinate} = {outside[0]:g}, outside its limits"
            raise MomentreeError(f"{message} ({low:g}, {high:g}). Start within them.")
