"""Checks of starts: finite, quaternions of unit length, joints within their limits, loops closed."""

from __future__ import annotations

from typing import Any

import numpy as np

from momentree.assembly.closure_check import worst_violation
from momentree.assembly.configuration import Array, constraint_names
from momentree.assembly.samples import Samples
from momentree.assembly.state import State
from momentree.compile.execute.arrays import coordinates, scalars
from momentree.equations.aggregative import mass_matrix
from momentree.equations.evaluation import Evaluation
from momentree.errors import MomentreeError, choices
from momentree.model.joint_type import JointType
from momentree.simulate.settings import is_number
from momentree.structure.mechanism import Mechanism

MOST_WEIGHED = 60  # velocities of systems whose mass matrix is looked at
MASSLESS = 1e-13  # of the largest kinetic energy that such velocities could have: round-off is all that is left
SEEN = 0.1  # part of a motion from which on a joint is named


def checked_start(mechanism: Mechanism, start: State) -> State:
    """A copy of the start, which must be finite, with unit quaternions, within the limits of the joints, and closed."""
    if not isinstance(start, State):
        raise MomentreeError(f"simulate: the start is a {type(start).__name__}. Create it with system.assemble(...).")
    if start.mechanism.coordinates != mechanism.coordinates:
        raise MomentreeError("simulate: the start belongs to another system. Create it with assemble(...) of this one.")
    check_states(mechanism, start.q, start.v)
    if np.ndim(start.q) != 1 or np.ndim(start.v) != 1:
        raise MomentreeError("simulate: the start holds several states. Use system.simulate_many for them.")
    check_time(start.t)
    q, v, t = np.array(start.q, dtype=float), np.array(start.v, dtype=float), float(start.t)
    check_closed(mechanism.with_tolerance(start.mechanism.set_tolerance), q[None], v[None], np.array([t]))
    _check_masses(mechanism, q, t)
    return State(start.mechanism, q, v, t)


def _check_masses(mechanism: Mechanism, q: Array, t: float) -> None:
    """No joints may move without moving any mass: their accelerations would not be determined."""
    if not 0 < mechanism.nv <= MOST_WEIGHED:
        return
    M = np.array(mass_matrix(Evaluation(mechanism, q.tolist(), t)), dtype=float)
    if not np.isfinite(M).all():
        return  # a prescribed motion has no value: the first step says so
    scale = np.sqrt(np.where(M.diagonal() > 0, M.diagonal(), 1.0))
    shares, motions = np.linalg.eigh(M / np.outer(scale, scale))
    if shares[0] < MASSLESS:
        moving = np.abs(motions[:, 0]) > SEEN
        names = [body.joint.name for body in mechanism.bodies if moving[body.v].any()]
        who = f"joint '{names[0]}' can move" if len(names) == 1 else f"joints {choices(names)} can move together"
        message = f"the mass matrix is singular: {who.replace(' or ', ' and ')} without moving any mass"
        raise MomentreeError(f"simulate: {message}. Give the bodies behind moments of inertia, or lock a joint.")


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
