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
from momentree.equations.aggregative import mass_matrix
from momentree.equations.evaluation import Evaluation
from momentree.errors import MomentreeError, RunWarning, choices, warn
from momentree.model.joint_type import beyond
from momentree.simulate.settings import is_number
from momentree.structure.mechanism import Mechanism
from momentree.structure.switched_constraints import acting_where

FEW = 3  # joints that a warning names
MOST_WEIGHED = 60  # velocities of systems whose mass matrix is looked at
MASSLESS = 1e-13  # of the largest kinetic energy that such velocities could have: round-off is all that is left
SEEN = 0.1  # part of a motion from which on a joint is named


def checked_start(mechanism: Mechanism, start: State) -> State:
    """A copy of the start, which must be finite, with unit quaternions, and closed."""
    if not isinstance(start, State):
        raise MomentreeError(f"simulate: the start is a {type(start).__name__}. Create it with system.assemble(...).")
    mechanism = acting_where(mechanism, start.mechanism.given.inactive)
    check_states(mechanism, start.q, start.v)
    if np.ndim(start.q) != 1 or np.ndim(start.v) != 1:
        raise MomentreeError("simulate: the start holds several states. Use system.simulate_many for them.")
    check_time(start.t)
    q, v, t = np.array(start.q, dtype=float), np.array(start.v, dtype=float), float(start.t)
    check_closed(mechanism, q[None], v[None], np.array([t]))
    _check_masses(mechanism, q, t)
    warn_if_locked(mechanism, start)
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
        together = f"joints {choices(names, last='and')} can move together"
        who = together if len(names) > 1 else f"joint '{names[0]}' can move"
        message = f"the mass matrix is singular: {who} without moving any mass"
        raise MomentreeError(f"simulate: {message}. Give the bodies behind moments of inertia, or lock a joint.")


def check_time(t: Any) -> None:
    """A start is at a finite time."""
    if not is_number(t):
        raise MomentreeError(f"the start has t = {t}; give a finite time.")


def check_closed(mechanism: Mechanism, q: Array, v: Array, t: Array, what: str = "simulate") -> None:
    """Starts (k, n) must close all loops and keep them closed."""
    if not mechanism.constrained or not len(t):
        return
    samples = Samples(mechanism, q, v, t)
    worst = worst_violation(mechanism, samples)
    if worst is not None:
        name = constraint_names(mechanism, on_velocities=worst.what == "velocity")[worst.constraint]
        message = f"the start does not close '{name}': {worst.what} {worst.value:.3g} {worst.unit}"
        raise MomentreeError(
            f"{what}: {message}. Create it with system.assemble(...), which closes coordinates and velocities."
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
