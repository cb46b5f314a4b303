"""Mobility, or degrees of freedom: Gruebler's count, and the true one by the rank of the constraint Jacobian."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from momentree.assembly.assemble import assemble
from momentree.assembly.closure_check import worst_violation
from momentree.assembly.configuration import Configuration, constraint_names
from momentree.assembly.nearby_configurations import constraints_at, nearby_configurations
from momentree.assembly.samples import Samples
from momentree.assembly.scaled_constraints import CUT_OFF, Scales
from momentree.assembly.state import State
from momentree.compile.execute.arrays import coordinate_array, coordinates
from momentree.errors import MomentreeError
from momentree.model.higher_pairs import HigherPair
from momentree.structure.mechanism import Mechanism

STRICT = 1e-9  # cut-off where constraints are not redundant within their tolerance
ROUND_OFF = 1e-11  # by the size of a loop: closure errors with exact lengths


@dataclass(frozen=True)
class Give:
    """A loop whose constraints are redundant within the tolerance (m) only: it stays open by `length` (m)."""

    loop: str
    length: float
    tolerance: float

    def __str__(self) -> str:
        within = f"redundant within the tolerance of {self.tolerance:.2g} m"
        return f"some count as {within}: the loop of '{self.loop}' must give {self.length:.2g} m"


@dataclass(frozen=True)
class Mobility:
    """The degrees of freedom of a mechanism, and which of its constraints are redundant.

    | field        | meaning                                                                                   |
    |--------------|-------------------------------------------------------------------------------------------|
    | true         | velocities of the tree less the rank of all constraints, where they are not singular      |
    | gruebler     | 6 bodies - sum (6 - freedom of each joint) - constraints: right only if none is redundant |
    | rows         | names of the constraints                                                                  |
    | rank         | how many of them are independent                                                          |
    | redundant    | names of constraints that follow from the others                                          |
    | singular     | the assembled configuration is singular: it has more degrees of freedom for a moment      |
    | state        | the assembled configuration                                                               |
    | give         | what a loop must give for its constraints to be redundant; None: they are, exactly        |
    | of_position  | degrees of freedom of position: velocities of the tree less the rank of the constraints   |
    |              | on positions. A rolling coin can be brought to more places than it has velocities         |
    | nonholonomic | names of the constraints on velocities only: rolling, skating, expressions of velocities  |
    """

    true: int
    gruebler: int
    rows: tuple[str, ...]
    rank: int
    redundant: tuple[str, ...]
    singular: bool
    state: State
    give: Give | None = None
    of_position: int = 0
    nonholonomic: tuple[str, ...] = ()

    @property
    def locked(self) -> bool:
        """Whether nothing can move, though there are joints, and no prescribed motion is what moves it."""
        return self.true == 0 and self.state.mechanism.nv > 0 and not self.state.mechanism.has_prescribed_motion

    def __str__(self) -> str:
        from momentree.look.tables import mobility_text

        return mobility_text(self)


def gruebler(mechanism: Mechanism) -> int:
    """The count that ignores directions (Gruebler, Kutzbach): too small where constraints are redundant."""
    joints = {body.joint.name: body.joint.type for body in mechanism.bodies}
    joints.update({loop.name: loop.joint_type for loop in mechanism.loops if loop.joint is not None})
    pairs = [loop.joint_type for loop in mechanism.loops if isinstance(loop.joint_type, HigherPair)]
    bodies = sum(1 for body in mechanism.bodies if not body.image_of)
    return 6 * bodies - sum(6 - joint.freedom for joint in (*joints.values(), *pairs)) - len(mechanism.constraints)


def mobility(mechanism: Mechanism, at: State | Any = None) -> Mobility:
    """Assemble, or take a state or q; find the independent constraints there and nearby; name the redundant ones."""
    state = assemble(mechanism) if at is None else _state_at(mechanism, at)
    here = Configuration(mechanism, state.q, t=state.t)
    probes = list(nearby_configurations(here))
    closed = [probe.at for probe in probes if probe.misfit <= 1]
    # at a finite distance, constraints that are nearly redundant may open their loop beyond its tolerance
    rows = constraints_at(here)
    cut = CUT_OFF if closed or not probes or not rows.dense else STRICT
    independent = rows.independent(cut)
    first = len(independent)
    for at in closed:
        more = constraints_at(at).independent(cut)
        if len(more) > len(independent):
            independent = more
    on_positions = rank = len(independent)
    if mechanism.nonholonomic:
        on_positions = max(Scales(mechanism).scaled(at).rank(cut) for at in (here, *closed))
    names = constraint_names(mechanism, on_velocities=True)
    return Mobility(
        true=mechanism.nv - rank,
        gruebler=gruebler(mechanism),
        rows=tuple(names),
        rank=rank,
        redundant=tuple(name for i, name in enumerate(names) if i not in independent),
        singular=first < rank,
        state=state,
        give=_give(mechanism, [here, *closed]) if rank < len(names) else None,
        of_position=mechanism.nv - on_positions,
        nonholonomic=tuple(name for name in names if name not in {*constraint_names(mechanism)}),
    )


def _state_at(mechanism: Mechanism, at: State | Any) -> State:
    """A state of the mechanism as it is, or one at rest at coordinates q, which must close all loops."""
    if isinstance(at, State):
        if at.mechanism.coordinates != mechanism.coordinates:
            raise MomentreeError("mobility_at: the state belongs to another system. Assemble this one.")
        return at
    q = coordinate_array(at, mechanism.nq, "q")
    if q.ndim > 1:
        raise MomentreeError("mobility_at: q holds several configurations; give one.")
    state = State(mechanism, np.array(coordinates(mechanism, q)), np.zeros(mechanism.nv))
    worst = worst_violation(mechanism, Samples(mechanism, q[None], state.v[None], np.zeros(1)))
    if worst is not None and worst.what != "velocity":
        name = constraint_names(mechanism)[worst.constraint]
        message = f"mobility_at: q does not close '{name}': {worst.what} {worst.value:.3g} {worst.unit}"
        raise MomentreeError(f"{message}. Take it from system.assemble(...), which closes loops.")
    return state


def _give(mechanism: Mechanism, configurations: Sequence[Configuration]) -> Give | None:
    """The loop that stays open the most by its tolerance, unless all close to round-off."""
    most: tuple[float, Give] | None = None
    for at in configurations:
        for joint, size, tolerance in zip(at.joints, mechanism.loop_sizes, mechanism.loop_tolerances, strict=True):
            closure_error = joint.closure_errors()
            lengths = [size if not any(row.direction.linear) else 1.0 for row in joint.loop.position_rows]
            length = float(np.abs(closure_error * lengths).max(initial=0.0))
            if length > ROUND_OFF * size and (most is None or length / tolerance > most[0]):
                most = length / tolerance, Give(joint.loop.name, length, tolerance)
    return most and most[1]
