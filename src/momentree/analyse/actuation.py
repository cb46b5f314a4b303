"""Actuation: the torques at chosen joints that make a mechanism move as given, its loops closed, its gears in mesh.

With d the inverse dynamics of the opened tree (RNEA), S the generalized forces of the chosen joints for unit torques, J
the constraint Jacobian and lambda the Lagrange multipliers,

    S tau + J' lambda = d ,                  so with N, a basis of the motions that J allows,     N' S tau = N' d

The torques are the shortest that do it, forces by the size of the mechanism. With them the loops are closed as
`forward_dynamics` and `Run.reactions` close them, by the same solve: so lambda is the same for the same motion. Ranks
are those of scaled rows and columns (assembly/scaled_constraints.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from momentree.assembly.configuration import Array, Block, ClosingJoint, Configuration, constraint_names
from momentree.assembly.named_values import names_given
from momentree.assembly.samples import Samples
from momentree.assembly.scaled_constraints import (
    WITHIN,
    ScaledConstraints,
    Scales,
    constraint_scale,
    constraint_tolerances,
    cut_off,
)
from momentree.compile.execute.arrays import coordinate_array, coordinates, numbers, scalars
from momentree.equations.aggregative import inverse_dynamics
from momentree.equations.articulated import reacting_bodies
from momentree.equations.constraint_forces import multipliers_of
from momentree.equations.evaluation import Evaluation
from momentree.equations.joint_reactions import reactions_of
from momentree.equations.kinematics import records
from momentree.equations.loops.constraint_rows import acceleration_bias, find_constraint_accelerations
from momentree.equations.loops.expression_constraints import share_velocities
from momentree.equations.loops.records import loops_with_records
from momentree.equations.loops.wrenches import wrenches_of
from momentree.errors import MomentreeError, suggestion
from momentree.model.higher_pairs import HigherPair
from momentree.spatial import Force, Vector
from momentree.structure.mechanism import Mechanism, TreeBody

CLOSED = 1e-6  # of the size of a loop and of the velocities: tolerated openings, and tolerated residuals of forces
DRIVES = 1e-9  # scaled: a joint that moves less along a motion does not drive it
TINY = 1e-12  # of the weight: round-off of forces that cancel
SHOWN = 6  # velocities shown of a motion


@dataclass(frozen=True, eq=False)
class Actuation:
    """The torques at the chosen joints, and the reactions of all joints. The leading axes are those of the arguments.

    | field       | shape         | meaning                                                                           |
    |-------------|---------------|-----------------------------------------------------------------------------------|
    | torques     | ... or ..., n | by chosen joint: generalized forces (N m, N), besides the forces of the model     |
    | reactions   | ..., 6        | by joint and higher pair: the wrench that it transmits, as `Run.reactions` has it |
    | multipliers | ..., rows     | by closing joint, higher pair and constraint: as `Run.multipliers` has them       |
    | vdot        | ..., nv       | the derivatives of the velocities of the tree                                     |
    | redundant   | ...           | number of directions of the torques that the motion does not determine            |
    | missing     |               | motions that no chosen joint drives, and that need no torque                      |
    | notes       |               | the last two in words                                                             |
    """

    torques: Mapping[str, Array]
    reactions: Mapping[str, Array]
    multipliers: Mapping[str, Array]
    vdot: Array
    redundant: Any
    missing: tuple[str, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{joint}: {np.array2string(torque, precision=6)}" for joint, torque in self.torques.items()]
        return "\n".join([*lines, *self.notes])


def actuation(mechanism: Mechanism, q: Any, v: Any, vdot: Any, joints: Sequence[str], t: Any = 0.0) -> Actuation:
    """The torques at joints, and all reactions, of a motion; `vdot` may be given by some joints (see `System`)."""
    chosen = _chosen(mechanism, joints)
    motion = _Motion.of(mechanism, q, v, vdot, t)
    where = (f" in row {k}" if motion.batch else "" for k in range(len(motion.t)))
    rows = [_Row(mechanism, *each) for each in zip(where, motion.q, motion.v, motion.t, strict=True)]
    if mechanism.constrained and rows:
        _check_closed(mechanism, motion, rows)
    accelerations = motion.vdot
    if motion.by_joint is not None:
        parts = [{joint: x[k] for joint, x in motion.by_joint.items()} for k in range(len(rows))]
        completed = [row.completed(part) for row, part in zip(rows, parts, strict=True)]
        accelerations = np.array(completed).reshape(len(rows), mechanism.nv)
    if mechanism.constrained and rows:
        _check_stays_closed(mechanism, motion, rows, accelerations)
    solved = [row.solved(a, chosen) for row, a in zip(rows, accelerations, strict=True)]

    def stacked(entries: Sequence[Array], *shape: int) -> Array:
        return np.array(entries, dtype=float).reshape((*motion.batch, *shape))

    torques = {}
    for joint in chosen:
        n = len(_joint_of(mechanism, joint).velocities)
        torques[joint] = stacked([one.torques[joint] for one in solved], *([n] if n > 1 else []))
    pairs = [loop.name for loop in mechanism.loops if isinstance(loop.joint_type, HigherPair)]
    reactions = {name: stacked([one.reactions[name] for one in solved], 6) for name in (*mechanism.by_joint, *pairs)}
    multipliers = {
        name: stacked([one.multipliers[name] for one in solved], count) for name, count in _row_counts(mechanism)
    }
    redundant = np.array([one.redundant for one in solved], dtype=int).reshape(motion.batch)
    missing = max((one.missing for one in solved), key=len, default=())
    notes = tuple(_notes(redundant, missing))
    shaped = accelerations.reshape((*motion.batch, mechanism.nv))
    return Actuation(torques, reactions, multipliers, shaped, redundant[()], missing, notes)


def _row_counts(mechanism: Mechanism) -> list[tuple[str, int]]:
    """Closing joints, higher pairs and constraints by name, and how many rows each has."""
    named = [loop for loop in mechanism.loops if loop.joint is not None or isinstance(loop.joint_type, HigherPair)]
    return [(loop.name, len(loop.rows)) for loop in named] + [(c.name, 1) for c in mechanism.constraints]


def _notes(redundant: Array, missing: Sequence[str]) -> Iterator[str]:
    most = int(redundant.max(initial=0))
    if most:
        directions = "one direction" if most == 1 else f"{most} directions"
        yield f"the actuation is redundant: the motion leaves {directions} of the torques open; the shortest are given."
    for motion in missing:
        yield f"not actuated, and nothing has to act along it: the motion {motion}."


# --- the arguments ---


class _Motion(NamedTuple):
    """Rows of a batch; accelerations of all velocities, or by joint."""

    batch: tuple[int, ...]
    q: Array
    v: Array
    t: Array
    vdot: Array
    by_joint: dict[str, Array] | None

    @classmethod
    def of(cls, mechanism: Mechanism, q: Any, v: Any, vdot: Any, t: Any) -> _Motion:
        coordinates(mechanism, q)
        scalars(v, mechanism.nv, "v")
        nv, by_joint = mechanism.nv, dict[str, Array]()
        is_named = isinstance(vdot, Mapping)
        if is_named:
            for joint, value in vdot.items():
                n = len(_tree_joint(mechanism, joint, "vdot").joint.velocities)
                array = numbers(value, f"vdot of '{joint}'")
                by_joint[joint] = array[..., None] if n == 1 else coordinate_array(array, n, f"vdot of '{joint}'")
                scalars(by_joint[joint], n, f"vdot of '{joint}'")
        else:
            scalars(vdot, nv, "vdot")
        times = numbers(t, "t", "a number")[..., None]
        scalars(times, 1, "t")
        arrays = [np.asarray(x, dtype=float) for x in (q, v, np.zeros(nv) if is_named else vdot)]
        try:
            batch = np.broadcast_shapes(*(x.shape[:-1] for x in (*arrays, times, *by_joint.values())))
        except ValueError:
            shapes = ", ".join("x".join(map(str, x.shape)) for x in arrays)
            message = f"actuation: the leading axes of q, v, vdot do not fit together: their shapes are {shapes}."
            raise MomentreeError(f"{message} Give each the same, or 1 where one serves all.") from None

        def flat(x: Array) -> Array:
            return np.broadcast_to(x, (*batch, x.shape[-1])).reshape(math.prod(batch), x.shape[-1])

        at = [flat(x) for x in arrays]
        named = {joint: flat(x) for joint, x in by_joint.items()} if is_named else None
        return cls(batch, at[0], at[1], flat(times)[:, 0], at[2], named)

    def speed(self, scales: Scales) -> Array:
        """The largest velocity of each row, scaled, 1/s at least; a column."""
        return np.asarray(np.maximum(1.0, np.abs(self.v / scales.columns).max(axis=1, initial=0.0))[:, None])

    def refuse_open(
        self, openings: Array, scales: Array, names: Sequence[str], what: str, unit: str, limit: Any, advice: str
    ) -> None:
        """Refuse openings (rows of the batch by names) that exceed the limit, scaled by the size of the loop."""
        if not openings.size:
            return
        relative = np.abs(openings) / scales / limit
        k, worst = np.unravel_index(int(relative.argmax()), relative.shape)
        if not relative[k, worst] <= 1:
            where = f" in row {k}" if self.batch else ""
            message = (
                f"the motion opens '{names[int(worst)]}'{where}: {what} {abs(float(openings[k, worst])):.3g} {unit}"
            )
            raise MomentreeError(f"actuation: {message}. {advice}.")


def _chosen(mechanism: Mechanism, joints: Sequence[str]) -> tuple[str, ...]:
    joints = names_given(joints, "actuation: joints")
    for joint in joints:
        if joint not in mechanism.by_joint:
            raise MomentreeError(f"actuation: there is no joint '{joint}'.{suggestion(joint, mechanism.by_joint)}")
        body_or_loop = mechanism.by_joint[joint]
        if isinstance(body_or_loop, TreeBody) and body_or_loop.laws:
            message = f"actuation: joint '{joint}' has a prescribed motion, whatever torque that takes"
            raise MomentreeError(f"{message}. Do not name it: what drives it is part of its reaction.")
        if not _joint_of(mechanism, joint).velocities:
            raise MomentreeError(f"actuation: joint '{joint}' has no freedom to drive. Name joints that move.")
    if len({*joints}) < len(joints):
        raise MomentreeError(f"actuation: a joint is named twice among {', '.join(joints)}. Name each once.")
    return tuple(joints)


def _joint_of(mechanism: Mechanism, name: str) -> Any:
    joint = mechanism.by_joint[name].joint
    assert joint is not None  # by_joint holds only loops that a joint closes
    return joint.type


def _tree_joint(mechanism: Mechanism, name: str, what: str) -> TreeBody:
    free = {body.joint.name: body for body in mechanism.bodies if body.v.stop > body.v.start}
    if name not in free:
        names = ", ".join(f"'{joint}'" for joint in free)
        raise MomentreeError(f"{what}: '{name}' is not a free joint of the spanning tree; choose among {names}.")
    return free[name]


def _check_closed(mechanism: Mechanism, motion: _Motion, rows: Sequence[_Row]) -> None:
    """Loops must be closed, constraints must hold, and stay so."""
    at, speed = Samples(mechanism, *motion[1:4]), motion.speed(Scales(mechanism))
    advice = "Make q and v by system.assemble(...)"
    for on_velocities, openings, what, unit in (
        (False, at.closure_errors(), "closure error", "m or rad"),
        (True, at.constraint_velocities(), "velocity", "m/s or rad/s"),
    ):
        scales = np.stack([row.row_scales(on_velocities) for row in rows])
        tolerances = constraint_tolerances(mechanism, on_velocities)
        within = np.full(scales.shape[1], CLOSED)
        within[: len(tolerances)] = np.maximum(CLOSED, tolerances)
        # redundant constraints of imprecise lengths open a little
        limit = WITHIN * within * speed if on_velocities else within
        motion.refuse_open(openings, scales, constraint_names(mechanism, on_velocities), what, unit, limit, advice)


def _check_stays_closed(mechanism: Mechanism, motion: _Motion, rows: Sequence[_Row], vdot: Array) -> None:
    """Accelerations must not open loops or violate constraints either."""
    at = Samples(mechanism, *motion[1:4])
    changes = _opening_accelerations(mechanism, at.q, at.v, vdot.T, at.t)
    openings = np.concatenate([at.table(change) for change in changes], axis=1)
    scales = Scales(mechanism)
    fastest = np.abs(vdot / scales.columns).max(axis=1, initial=0.0)[:, None]
    limit = WITHIN * CLOSED * np.maximum(motion.speed(scales) ** 2, fastest)
    advice = "Give vdot of some joints by name, and the others follow"
    every = [loop.name for loop in mechanism.loops] + [constraint.name for constraint in mechanism.constraints]
    names = [name for name, change in zip(every, changes, strict=True) for _ in change]
    by_row = np.stack([row.acceleration_scales() for row in rows])
    motion.refuse_open(openings, by_row, names, "acceleration", "m/s2 or rad/s2", limit, advice)


def _closing_scales(mechanism: Mechanism) -> Array:
    """The scales of the rows that close loops in the sweeps: of those in its plane only, where a loop has one."""
    scales = []
    for number, rows in enumerate(mechanism.loop_constraints):
        scales += [constraint_scale(mechanism, number, row) for row in rows]
    return np.array(scales, dtype=float)


def _opening_accelerations(mechanism: Mechanism, q: Any, v: Any, vdot: Any, t: Any) -> list[tuple[Any, ...]]:
    """Of each loop and constraint, the constraint accelerations."""
    moving = records(Evaluation(mechanism, q, t), v, vdot, closed=True)
    moving.locally(share_velocities)
    moving.constraints.locally(acceleration_bias(0))
    moving.constraints.locally(find_constraint_accelerations)
    return [record.constraint_acceleration for record in moving.constraints[1:]]


# --- one row of a batch ---


class _Solved(NamedTuple):
    torques: dict[str, Array]
    reactions: dict[str, Array]
    multipliers: dict[str, Array]
    redundant: int
    missing: tuple[str, ...]


class _Row:
    """One configuration with its velocities."""

    def __init__(self, mechanism: Mechanism, where: str, q: Array, v: Array, t: float):
        self.mechanism, self.where, self.q, self.v, self.t = mechanism, where, q, v, float(t)
        self.configuration, self.scales = Configuration(mechanism, q, v, self.t), Scales(mechanism)
        closure_errors = self.configuration.closure_errors() / self.row_scales(on_velocities=False)
        self.cut_off = cut_off(float(np.linalg.norm(closure_errors)))

    def row_scales(self, on_velocities: bool) -> Array:
        """Of each constraint; those on velocities only if asked for."""
        return self.scales.scaled(self.configuration, on_velocities).constraint_scales

    def acceleration_scales(self) -> Array:
        """Of the rows that close loops in the sweeps, and of expression constraints."""
        count = len(self.mechanism.constraints)
        own = self.row_scales(on_velocities=True)
        return np.concatenate([_closing_scales(self.mechanism), own[len(own) - count :]])

    def completed(self, by_joint: Mapping[str, Array]) -> Array:
        """Accelerations of all velocities from those of some joints: loops stay closed."""
        mechanism, n = self.mechanism, self.mechanism.nv
        probes = [np.append(row, 0.0) for row in np.eye(n)]  # one at a time, and none
        changes = _opening_accelerations(mechanism, self.q, self.v, probes, self.t) if mechanism.constrained else []
        rows = np.array([np.broadcast_to(x, n + 1) for change in changes for x in change]).reshape(-1, n + 1)
        J, bias = rows[:, :n] - rows[:, n:], rows[:, n]
        prescribed = [i for joint in by_joint for i in range(n)[_tree_joint(mechanism, joint, "vdot").v]]
        wanted = np.concatenate([np.zeros(0), *by_joint.values()])
        everything, columns = np.arange(n, dtype=np.intp), self.scales.columns
        closing = _closing_scales(mechanism)
        others = (*J[len(closing) :], *np.eye(n)[prescribed])  # constraints and joints: a block of one row each
        blocks: list[Block] = [(everything, J[: len(closing)]), *((everything, row[None]) for row in others)]
        G = ScaledConstraints(blocks, closing, columns)
        N = self._allowed_motions(G)
        if N.shape[1]:
            message = f"actuation: vdot leaves the motion {'; '.join(self._in_words(N))} open"
            raise MomentreeError(f"{message}. Give vdot of more joints.")
        vdot = G.shortest(G.scaled(np.concatenate([-bias, wanted])), self.cut_off)
        missed = np.abs(vdot[prescribed] - wanted) / columns[prescribed]
        if missed.max(initial=0.0) > CLOSED * np.abs(vdot / columns).max(initial=0.0):
            names = ", ".join(f"'{joint}'" for joint in by_joint)
            raise MomentreeError(f"actuation: vdot of {names} together would open the loops. Give fewer of them.")
        return vdot

    def solved(self, vdot: Array, chosen: Sequence[str]) -> _Solved:
        mechanism, at = self.mechanism, self.configuration
        d = np.array(inverse_dynamics(Evaluation(mechanism, self.q, self.t), self.v, vdot), dtype=float)
        N = self._allowed_motions(self.scales.scaled(at, on_velocities=True))
        shares = [at.velocity_slopes(joint) for joint in chosen]
        S = np.concatenate([np.zeros((0, mechanism.nv)), *shares]).T
        units = [unit for joint in chosen for unit in _joint_of(mechanism, joint).velocity_units]
        levers = np.array([mechanism.size if unit == "m" else 1.0 for unit in units])  # a force by a length: a moment
        U, sizes, V = np.linalg.svd(N.T @ S / levers)
        rank = int((sizes > max(DRIVES, self.cut_off**2)).sum())
        tau = V[:rank].T @ (U[:, :rank].T @ (N.T @ d) / sizes[:rank]) / levers
        undriven = N @ U[:, rank:]  # motions that no chosen joint drives
        missing = self._in_words(undriven)
        needed = undriven.T @ d
        if np.abs(needed).max(initial=0.0) > self._tolerance(d, vdot):
            self._refuse(undriven @ needed, d, chosen)
        parts = np.split(tau, np.cumsum([len(share) for share in shares])[:-1]) if shares else []
        torques = dict(zip(chosen, parts, strict=True))
        return _Solved(torques, *self._reactions(vdot, S @ tau, torques), len(tau) - rank, missing)

    def _allowed_motions(self, rows: ScaledConstraints) -> Array:
        """A basis of the motions that constraints allow, as columns; orthonormal in scaled columns."""
        _, sizes, V = np.linalg.svd(rows.J)
        rank = int((sizes > self.cut_off).sum())
        return np.asarray(rows.column_scales[:, None] * V[rank:].T)

    def _tolerance(self, d: Array, vdot: Array) -> float:
        """Generalized forces below it count as zero; forces by the size of the mechanism."""
        bodies, g = self.mechanism.bodies, self.mechanism.gravity.norm
        weight = sum(body.inertia.mass for body in bodies) * g * self.mechanism.size
        still = np.array(inverse_dynamics(Evaluation(self.mechanism, self.q, self.t), self.v, 0 * vdot), dtype=float)
        largest = max(np.abs(x * self.scales.columns).max(initial=0.0) for x in (d, still, d - still))
        return float(CLOSED * largest + TINY * weight)

    def _refuse(self, z: Array, d: Array, chosen: Sequence[str]) -> None:
        """z is a motion that needs a generalized force, and that no chosen joint drives."""
        (motion,) = self._in_words(z[:, None])
        needed = abs(float(z @ d)) / float(np.linalg.norm(z))
        moved = [
            joint
            for joint in self.mechanism.by_joint
            if joint not in chosen
            and np.abs(self.configuration.velocity_slopes(joint) @ z).max(initial=0.0) > CLOSED * np.abs(z).max()
        ]
        names = ", ".join(f"'{joint}'" for joint in chosen) or "no joints"
        message = f"actuation by {names} is not sufficient{self.where}: nothing drives the motion {motion}"
        advice = f"Actuate {' or '.join(map(repr, moved))} too, or let it move as forward_dynamics says."
        raise MomentreeError(f"{message}, along which {needed:.3g} N m (N where it slides) must act. {advice}")

    def _in_words(self, motions: Array) -> tuple[str, ...]:
        """Motions, the columns, in words: their velocities, one of them 1 and zero in all other motions."""
        rows, pivots = motions.T.copy(), list[int]()
        for i in range(len(rows)):
            pivots.append(int(np.abs(rows[i]).argmax()))
            rows[i] /= rows[i, pivots[i]]
            for k in range(len(rows)):
                if k != i:
                    rows[k] -= rows[k, pivots[i]] * rows[i]
        return tuple(self._velocities_of(row) for row in rows)

    def _velocities_of(self, row: Array) -> str:
        named = [(x, name) for x, name in zip(row, self.mechanism.velocities, strict=True) if abs(x) > CLOSED]
        named.sort(key=lambda entry: -abs(entry[0]))
        shown = [f"{name} = {x:.4g}" for x, name in named[:SHOWN]]
        return ", ".join(shown) + (", ..." if len(named) > SHOWN else "")

    def _reactions(
        self, vdot: Array, tau: Array, torques: Mapping[str, Array]
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Wrenches and Lagrange multipliers with generalized forces tau on the tree.

        Torques at closing joints are part of their wrenches.
        """
        mechanism = self.mechanism
        reacting = reacting_bodies(Evaluation(mechanism, self.q.tolist(), self.t), self.v.tolist(), tau.tolist())
        found = {name: multipliers_of(mechanism, reacting, name) for name, _ in _row_counts(mechanism)}
        for joint, (_, record) in zip(self.configuration.joints, loops_with_records(mechanism, reacting), strict=True):
            wrench, R = _wrench(joint, torques), record.first_frame.rotation
            forces = wrenches_of(record, -Force(R @ Vector(*wrench[:3]), R @ Vector(*wrench[3:])))
            vars(record).update({name: getattr(record, name) + force for name, force in forces.items()})
        wrenches = reactions_of(Evaluation(mechanism, self.q, self.t), reacting, self.v, vdot)
        reactions, multipliers = (
            {name: np.array([*numbers], dtype=float) for name, numbers in each.items()} for each in (wrenches, found)
        )
        return reactions, multipliers


def _wrench(joint: ClosingJoint, torques: Mapping[str, Array]) -> Array:
    """The wrench of torques at a closing joint on its second body, in axes of its first frame."""
    torque = torques.get(joint.loop.name) if joint.loop.joint is not None else None
    wrench: Array = np.zeros(6) if torque is None else np.linalg.pinv(joint.axes).T @ torque
    return wrench
