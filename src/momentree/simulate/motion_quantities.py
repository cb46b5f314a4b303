"""Quantities of many motions at once: coordinates, reactions, closure errors, energies, positions of frames.

Each is one formula of q, v, t and parameters, in machine code for all samples of all motions on all cores. A sample has
the same bits in any group of motions. Where the code would be long, for systems of many bodies, NumPy runs the formula.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from momentree.assembly.configuration import Array
from momentree.assembly.samples import Samples, in_batches
from momentree.compile.execute.kernel import compiled_once
from momentree.compile.execute.rows_in_threads import Strided, compute_rows
from momentree.compile.trace.sample_kernels import kernel_of_samples
from momentree.equations.balance import energy
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import ends_of
from momentree.equations.joint_reactions import joint_reactions
from momentree.equations.kinematics import frame_placement, motion_over_ground, records
from momentree.equations.loops.constraint_jacobian import LoopClosure, expression_closures, loop_closures
from momentree.errors import MomentreeError, spell_checked, suggestion
from momentree.model.higher_pairs import HigherPair
from momentree.model.joint_type import Coordinates
from momentree.model.model import as_frame
from momentree.spatial import Scalar
from momentree.structure.mechanism import Loop, Mechanism, TreeBody

if TYPE_CHECKING:
    from momentree.results.run import Run
    from momentree.system import System

Measure = Callable[[Evaluation, Coordinates], Sequence[Scalar]]


@dataclass(frozen=True, eq=False)
class MotionEnergies:
    """Energies of many motions over time (J), m x k: kinetic, and potential of gravity, springs, stops and contacts."""

    kinetic: Array
    potential: Array

    @property
    def total(self) -> Array:
        """Kinetic and potential energy together."""
        return self.kinetic + self.potential


class _Sampled(Protocol):
    """What quantities are computed from: t (k), q (m, k, nq), v (m, k, nv), free parameters (m, n)."""

    system: Any
    t: Array
    q: Array
    v: Array
    parameters: Array


@spell_checked
class MotionQuantities:
    """What `Motions` say of each motion, as a `Run` does of one; NaN behind the time at which a motion failed."""

    def __getitem__(self, joint: str) -> Array:
        """The coordinates of any joint: m x k, or m x k x n where it has several.

        The angles of a joint that closes a loop are counted on from turn to turn.
        """
        motions, of = cast("_Sampled", self), _joint(cast("_Sampled", self), joint)
        if isinstance(of, TreeBody) and of.laws is None:
            return _single(motions.q[:, :, of.q].copy())
        q = _measured(motions, f"coordinates of {joint}", lambda at, v: _coordinates(at, joint))
        if isinstance(of, Loop) and of.joint is not None:
            for i, unit in enumerate(of.joint.type.units):
                if unit == "rad":
                    q[..., i] = np.unwrap(q[..., i], axis=1)
        return _single(q)

    def velocity(self, joint: str) -> Array:
        """The velocities of any joint: m x k, or m x k x n."""
        motions, of = cast("_Sampled", self), _joint(cast("_Sampled", self), joint)
        if isinstance(of, TreeBody):
            if of.laws is None:
                return _single(motions.v[:, :, of.v].copy())
            return _single(_measured(motions, f"velocities of {joint}", lambda at, v: records(at, v)[of.number].u))
        assert of.joint is not None  # by_joint holds only loops that a joint closes
        if len(of.joint.velocities) == 1:
            return _single(_measured(motions, f"velocity of {joint}", lambda at, v: [_along_axis(at, v, joint)]))
        found = _measured(motions, f"velocities of {joint}", lambda at, v: _twist_and_axes(at, v, joint))
        return _single(_along_axes(found[..., :6], found[..., 6:]))

    def reactions(self, name: str) -> Array:
        """The wrench that a joint or higher pair exerts on its second body, m x k x 6, as `run.reactions` has it."""
        motions = cast("_Sampled", self)
        mechanism = motions.system.mechanism
        pairs = [loop.name for loop in mechanism.loops if isinstance(loop.joint_type, HigherPair)]
        if name not in mechanism.by_joint and name not in pairs:
            constraints = [constraint.name for constraint in mechanism.constraints]
            if name in constraints:
                message = f"the forces of constraint '{name}' are not computed for many motions together"
                raise MomentreeError(f"{message}. Use motions.run(i).reactions('{name}') for each.")
            message = f"there is no joint '{name}'.{suggestion(name, [*mechanism.by_joint, *pairs])}"
            raise MomentreeError(message)
        return _measured(motions, f"reactions of {name}", lambda at, v: [*joint_reactions(at, v)[name]])

    def contact_force(self, contact: str) -> Array:
        """The force that a contact puts on its first body (N), m x k x 3, in inertial axes."""
        motions = cast("_Sampled", self)
        names = [each.name for each in motions.system.mechanism.contacts]
        if contact not in names:
            raise MomentreeError(f"there is no contact '{contact}'.{suggestion(contact, names)}")
        return _measured(motions, f"force of {contact}", lambda at, v: _contact_force(at, v, names.index(contact)))

    def position(self, frame: Any) -> Array:
        """The origin of a frame in inertial space (m), m x k x 3."""
        motions = cast("_Sampled", self)
        attached = motions.system.mechanism.attach(as_frame(frame))

        def origin(at: Evaluation, v: Coordinates) -> Sequence[Scalar]:
            return [*frame_placement(records(at), attached.evaluated(at.parameters or {})).offset]

        return _measured(motions, f"position of {as_frame(frame)!r}", origin)

    def frame_motion(self, frame: Any) -> Array:
        """Position (m), velocity (m/s), angular velocity (rad/s) of a frame over the ground, in its axes, m x k x 9."""
        motions = cast("_Sampled", self)
        attached = motions.system.mechanism.attach(as_frame(frame))

        def motion(at: Evaluation, v: Coordinates) -> Sequence[Scalar]:
            moved = motion_over_ground(records(at, v), attached.evaluated(at.parameters or {}))
            return [x for vector in moved for x in vector]

        return _measured(motions, f"motion of {as_frame(frame)!r}", motion)

    @property
    def energy(self) -> MotionEnergies:
        """Kinetic and potential energy (J), m x k each; the work of forces is not accounted for."""
        both = _measured(cast("_Sampled", self), "energies", lambda at, v: [*energy(at, v)])
        return MotionEnergies(np.ascontiguousarray(both[..., 0]), np.ascontiguousarray(both[..., 1]))

    @property
    def closure_error(self) -> Array:
        """The largest closure error (m, rad) of each motion in its samples, m; zeros in trees."""
        errors = self.closure_errors
        return np.asarray(np.fmax.reduce(errors, axis=1, initial=0.0))

    @property
    def closure_errors(self) -> Array:
        """The largest closure error of any loop or holonomic constraint (m, rad), m x k."""
        errors = _measured(cast("_Sampled", self), "closure errors", lambda at, v: _closure_errors(at))
        return np.asarray(np.abs(errors).max(axis=-1, initial=0.0))

    @property
    def closure_velocities(self) -> Array:
        """The largest velocity at which any loop or constraint opens (m/s, rad/s), m x k."""
        velocities = _measured(cast("_Sampled", self), "constraint velocities", _constraint_velocities)
        return np.asarray(np.abs(velocities).max(axis=-1, initial=0.0))

    def run(self, i: int) -> Run:
        """One motion as a `Run`, with all that a run can say of its samples; the work of forces was not computed."""
        from momentree.results.motion_run import run_of_motion

        return run_of_motion(self, i)


# --- formulas on any scalar ---


def _coordinates(at: Evaluation, joint: str) -> Sequence[Scalar]:
    of, bodies = at.mechanism.by_joint[joint], records(at)
    if isinstance(of, TreeBody):
        return [*bodies[of.number].q]
    return [*_closure(at.mechanism, bodies, joint).q]


def _twist_and_axes(at: Evaluation, v: Coordinates, joint: str) -> list[Scalar]:
    """The twist of the second frame of a closing joint relative to the first; the motion subspace, column by column."""
    closure = _closure(at.mechanism, records(at, v), joint)
    return [*closure.twist, *(x for column in closure.motion_subspace for x in column)]


def _along_axis(at: Evaluation, v: Coordinates, joint: str) -> Scalar:
    """The velocity of a closing joint that has one."""
    twist, axis = (_twist_and_axes(at, v, joint)[part] for part in (slice(0, 6), slice(6, 12)))
    along = sum(a * x for a, x in zip(axis, twist, strict=True))
    return along / sum(a * a for a in axis)


def _closure(mechanism: Mechanism, bodies: Any, joint: str) -> LoopClosure:
    return loop_closures(mechanism, bodies)[mechanism.loop_numbers[joint]]


def _contact_force(at: Evaluation, v: Coordinates, number: int) -> list[Scalar]:
    contact, bodies = at.mechanism.contacts[number], records(at, v)
    return [*contact.force(ends_of(contact, bodies))]


def _closure_errors(at: Evaluation) -> list[Scalar]:
    bodies = records(at)
    closures = loop_closures(at.mechanism, bodies)
    both = [pair for closure in closures for pair in zip(closure.errors, closure.rows, strict=True)]
    expressions = expression_closures(at.mechanism, bodies)
    return [*(error for error, row in both if row.holonomic), *(c.error for c in expressions if c.holonomic)]


def _constraint_velocities(at: Evaluation, v: Coordinates) -> list[Scalar]:
    bodies = records(at, v)
    velocities = [x for closure in loop_closures(at.mechanism, bodies) for x in closure.velocities]
    return [*velocities, *(c.velocity for c in expression_closures(at.mechanism, bodies))]


# --- all samples of all motions ---


def _joint(motions: _Sampled, joint: str) -> TreeBody | Loop:
    joints = motions.system.mechanism.by_joint
    if joint not in joints:
        raise MomentreeError(f"there is no joint '{joint}'.{suggestion(joint, joints)}")
    of: TreeBody | Loop = joints[joint]
    return of


def _measured(motions: _Sampled, what: str, measure: Measure) -> Array:
    """m x k x n: a measure of all samples; where these are not finite, NaN, even if it does not depend on them."""
    found = _computed(motions, what, measure)
    found[~(np.isfinite(motions.q).all(axis=2) & np.isfinite(motions.v).all(axis=2))] = np.nan
    return found


def _computed(motions: _Sampled, what: str, measure: Measure) -> Array:
    system = motions.system
    make = lambda: kernel_of_samples(system.mechanism, measure, system.code)  # noqa: E731
    kernel = compiled_once(system, f"motions: {what}", make)
    if kernel is None:
        return _by_numpy(motions, measure)
    q, v, t, parameters = map(np.ascontiguousarray, (motions.q, motions.v, motions.t, motions.parameters))
    (m, k, nq), nv, n = q.shape, v.shape[2], len(system.mechanism.free)
    found = np.empty((m, k, kernel.outputs))
    if m < k:
        for i in range(m):
            rows = [Strided(q[i], nq), Strided(v[i], nv), Strided(t, 1)]
            compute_rows(kernel, rows + ([Strided(parameters[i], 0)] if n else []), found[i])
        return found
    at_once = np.empty((m, kernel.outputs))
    for j in range(k if m else 0):
        rows = [Strided(q[0, j], k * nq), Strided(v[0, j], k * nv), Strided(t[j:], 0)]
        compute_rows(kernel, rows + ([Strided(parameters, n)] if n else []), at_once)
        found[:, j] = at_once
    return found


def _by_numpy(motions: _Sampled, measure: Measure) -> Array:
    """The same by NumPy, batch by batch; one motion after the other where they differ in parameters."""
    system: System = motions.system
    (m, k), names = motions.q.shape[:2], system.mechanism.free
    if not names:
        q, v, t = motions.q.reshape(m * k, -1), motions.v.reshape(m * k, -1), np.tile(motions.t, m)
        return _of_mechanism(system._numeric, q, v, t, measure).reshape(m, k, -1)
    own = motions.parameters.tolist()
    systems = (system.with_parameters(dict(zip(names, row, strict=True))) for row in own)
    each = [_of_mechanism(x._numeric, motions.q[i], motions.v[i], motions.t, measure) for i, x in enumerate(systems)]
    return np.stack(each) if each else _of_mechanism(system._numeric, *_none(system), measure)[None][:0]


def _none(system: System) -> tuple[Array, Array, Array]:
    return np.zeros((0, system.nq)), np.zeros((0, system.nv)), np.zeros(0)


def _of_mechanism(mechanism: Mechanism, q: Array, v: Array, t: Array, measure: Measure) -> Array:
    """rows x n: a measure of the samples of one mechanism in floats."""
    parts = []
    for part in in_batches(len(t)) or [slice(0, 0)]:
        samples = Samples(mechanism, q[part], v[part], t[part])
        with np.errstate(all="ignore"):
            parts.append(samples.table(measure(Evaluation(mechanism, samples.q, samples.t), samples.v)))
    return np.concatenate(parts)


def _along_axes(twists: Array, columns: Array) -> Array:
    """The velocities that a joint has, from its twist and its motion subspace, by least squares."""
    axes = np.swapaxes(columns.reshape(*columns.shape[:-1], -1, 6), -1, -2)
    sound = np.isfinite(axes).all((-1, -2))
    velocities = np.full((*axes.shape[:-2], axes.shape[-1]), np.nan)
    if axes.shape[-1]:
        velocities[sound] = (np.linalg.pinv(axes[sound]) @ twists[sound][..., None])[..., 0]
    return velocities


def _single(values: Array) -> Array:
    return np.ascontiguousarray(values[..., 0]) if values.shape[-1] == 1 else values
