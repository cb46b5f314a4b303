"""Checks of starts: finite, quaternions of unit length, loops closed; a warning where they are beyond limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from momentree.assembly.closure_check import worst_violation
from momentree.assembly.configuration import Array, constraint_names
from momentree.assembly.locked_loops import warn_if_locked
from momentree.assembly.samples import Samples
from momentree.assembly.state import State
from momentree.compile.execute.arrays import coordinates, scalars
from momentree.errors import MomentreeError, RunWarning, warn
from momentree.model.joint_type import beyond
from momentree.simulate.settings import is_number
from momentree.structure.mechanism import Mechanism

FEW = 3  # joints that a warning names


def checked_start(mechanism: Mechanism, start: State) -> State:
    """A copy of the start, which must be finite, with unit quaternions, and closed."""
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


def check_states(mechanism: Mechanism, q: Any, v: Any) -> None:
    """Coordinates and velocities (batches too) must be finite, and quaternions of unit length."""
    coordinates(mechanism, q)
    scalars(v, mechanism.nv, "v")


def warn_of_stops(mechanism: Mechanism, start: State, more: str = "") -> None:
    """A start beyond the limits of joints is where their stops push back; `more` says which other starts are."""
    samples, found = Samples(mechanism, start.q[None], start.v[None], np.array([start.t])), []
    limited = {name: of.joint.type for name, of in mechanism.by_joint.items() if of.joint and of.joint.type.limits}
    for name, joint in limited.items():
        for coordinate, x, (low, high) in zip(
            joint.coordinates, samples.coordinates_of(name)[0], joint.limits, strict=True
        ):
            if any(excess > 0 for excess in beyond((low, high), x)):
                found.append(f"joint '{name}': {coordinate} = {x:g} is outside its limits ({low:g}, {high:g})")
    if found:
        others = f"; {len(found) - FEW} more" if len(found) > FEW else ""
        message = f"at the start, {'; '.join(found[:FEW])}{others}{more}. Stops push back there"
        warn(RunWarning(f'{mechanism.name}: {message}. Start within, or load a robot with limits="drop".'))
