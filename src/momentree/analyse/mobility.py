"""Mobility: Gruebler's count, and the true one from the rank of the closure Jacobian."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from momentree.equations.closure import Array, Configuration, row_names
from momentree.errors import AssemblyError
from momentree.simulate.assemble import assemble, integrate
from momentree.simulate.state import State
from momentree.structure.mechanism import Mechanism

RANK = 1e-8  # a row counts as dependent when less than this part of it is new
PROBES = 2  # other configurations that are tried, in case the first is singular


@dataclass(frozen=True)
class Mobility:
    """How freely a mechanism moves.

    | field     | meaning                                                                              |
    |-----------|--------------------------------------------------------------------------------------|
    | true      | freedoms of the tree less the rank of the closure, at a configuration that is not singular |
    | gruebler  | 6 bodies - sum (6 - freedom of each joint) - constraints: right only without redundancy |
    | rows      | names of the closure rows                                                            |
    | rank      | how many of them are independent                                                     |
    | redundant | names of rows that follow from the others                                             |
    | singular  | the assembled configuration is singular: for a moment it has more freedoms           |
    | state     | the assembled configuration                                                          |
    """

    true: int
    gruebler: int
    rows: tuple[str, ...]
    rank: int
    redundant: tuple[str, ...]
    singular: bool
    state: State


def gruebler(mechanism: Mechanism) -> int:
    """The count that knows nothing of directions (Gruebler, Kutzbach): negative when rows are redundant."""
    joints = {body.connection.name: body.connection.joint for body in mechanism.bodies}
    joints.update({loop.name: loop.joint for loop in mechanism.loops if loop.connection is not None})
    bodies = sum(1 for body in mechanism.bodies if not body.image_of)
    return 6 * bodies - sum(6 - joint.freedom for joint in joints.values()) - len(mechanism.closures)


def mobility(mechanism: Mechanism, state: State | None = None) -> Mobility:
    """Assemble (or take the state given), find the independent rows there and nearby, and name the others."""
    state = state or assemble(mechanism)
    kept = independent_rows(_jacobian(state))
    first = len(kept)
    for probe in nearby(state):
        more = independent_rows(_jacobian(probe))
        if len(more) > len(kept):
            kept = more
    names = row_names(mechanism, on_rates=True)
    redundant = tuple(name for i, name in enumerate(names) if i not in set(kept))
    return Mobility(
        true=mechanism.nv - len(kept),
        gruebler=gruebler(mechanism),
        rows=tuple(names),
        rank=len(kept),
        redundant=redundant,
        singular=first < len(kept),
        state=state,
    )


def independent_rows(J: Array, rank: int | None = None) -> list[int]:
    """Rows that span all the others: QR with pivoting takes the row with the most new in it, the first among equals.

    As many as `rank` says where it is known.
    """
    if not J.size or not J.any():
        return []
    from scipy.linalg import qr

    earlier_first = 1 - 1e-9 * np.arange(len(J)) / len(J)
    R, order = qr((J * earlier_first[:, None]).T, mode="r", pivoting=True)
    new = np.abs(np.diag(R))
    count = int((new > RANK * new[0]).sum()) if rank is None else rank
    return sorted(order[:count].tolist())


def _jacobian(state: State) -> Array:
    return Configuration(state.mechanism, state.q, t=state.t).jacobian(on_rates=True)


def nearby(state: State) -> Sequence[State]:
    """Closed configurations a finite way off: a random direction that the closure lets pass, then closed again."""
    mechanism = state.mechanism
    J = _jacobian(state)
    if len(J) == 0:
        return []
    found = []
    random = np.random.default_rng(1997)
    inverse = np.linalg.pinv(J, rcond=RANK)
    for k in range(PROBES):
        step = random.standard_normal(mechanism.nv)
        step -= inverse @ (J @ step)
        step *= 0.2 * (k + 1) / max(float(np.abs(step).max(initial=0.0)), 1e-12)
        if np.abs(J @ step).max(initial=0.0) > 1e-6:
            continue
        guess = State(mechanism, integrate(mechanism, state.q, step), np.zeros(mechanism.nv), state.t)
        try:
            found.append(assemble(mechanism, guess=guess, t=state.t))
        except AssemblyError:
            continue
    return found
