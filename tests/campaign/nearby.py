"""Degrees of freedom of closed configurations near a given one, which may be singular, in maximal coordinates."""

from __future__ import annotations

import numpy as np

from campaign.geometry import Array, turn
from campaign.oracle import Motion, Oracle

STEP = 0.02  # of the length of the mechanism, and rad


def freedom_nearby(oracle: Oracle, random: np.random.Generator, probes: int = 2) -> int:
    """The least a little further off; as many as here where nothing moves."""
    here, found = oracle.motion, [oracle.freedom]
    for _ in range(probes):
        moved = _closed(oracle, here, random)
        if moved:
            found.append(oracle.freedom)
        oracle.moving(here)
    return min(found)


def _closed(oracle: Oracle, start: Motion, random: np.random.Generator) -> bool:
    """A step along a motion that the joints allow, then Newton steps until they are closed again."""
    oracle.moving(start)
    free = oracle.decomposed[2][oracle.rank :]
    if not len(free):
        return False
    step = free.T @ random.standard_normal(len(free))
    oracle.moving(_stepped(oracle, step * STEP / np.abs(step).max()))
    for _ in range(12):
        closure_error = _closure_error(oracle)
        if np.abs(closure_error).max(initial=0.0) < 1e-13:
            return True
        U, sizes, V = oracle.decomposed
        k = int((sizes > 1e-4).sum())  # redundant constraints look independent while they are open
        oracle.moving(_stepped(oracle, -V[:k].T @ ((U[:, :k].T @ closure_error) / sizes[:k])))
    return bool(np.abs(_closure_error(oracle)).max(initial=0.0) < 1e-10)


def _closure_error(oracle: Oracle) -> Array:
    parts = [oracle.rows_of(jm) @ oracle._scaled(jm.closure_error) for jm in oracle.joints]
    return np.concatenate([np.zeros(0), *parts])


def _stepped(oracle: Oracle, step: Array) -> Motion:
    """Every body moved by its part of a step: of its centre by L, and turned."""
    m, offsets = oracle.motion, oracle._com_offsets()
    R, r = m.R.copy(), m.r.copy()
    for i, part in enumerate(step.reshape(-1, 6)):
        angle = float(np.linalg.norm(part[3:]))
        Q = turn(part[3:] / angle, angle) if angle > 0 else np.eye(3)
        r[i + 1] = m.r[i + 1] + offsets[i] + part[:3] * oracle.L - Q @ offsets[i]
        R[i + 1] = Q @ m.R[i + 1]
    return Motion(R, r, m.w, m.v)
