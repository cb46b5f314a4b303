"""A phase of a simulation: one mechanism from beginning to end, some joints perhaps locked, some constraints off."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from momentree.assembly.samples import Samples
from momentree.compile.execute.kernel import compiled_once
from momentree.compile.execute.rows_of_lanes import SamplesKernel
from momentree.compile.trace.right_hand_sides import closing_kernel, holding_kernel, velocity_kernel, work_terms_of
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import names_of
from momentree.equations.formulations import FORMULATIONS
from momentree.equations.hamiltonian import momenta
from momentree.equations.kinematics import records
from momentree.equations.work_terms import powers, stored_energies, storing_terms, work_terms
from momentree.errors import MomentreeError
from momentree.integrate.dense_output import at_fraction
from momentree.integrate.error_norm import at_rest
from momentree.integrate.motions.sample_code import ROUND_OFF
from momentree.integrate.projection import NEAR, NEWTON
from momentree.integrate.stepper import Array, Integration, Stepper
from momentree.integrate.steppers import error_floor, new_stepper
from momentree.simulate.motion_kinks import impact_work
from momentree.simulate.settings import Settings
from momentree.structure.locked_joints import free_indices, locked
from momentree.structure.maximal_coordinates import separated_bodies
from momentree.structure.switched_constraints import switched

if TYPE_CHECKING:
    from momentree.system import System

Moment = tuple[Array, Array, Array]  # times, coordinates and velocities of the system
Within = Callable[[NDArray[np.intp], Array], Moment]  # those at parts x of steps


def closed_states(
    close: Callable[[list[Array]], Array],
    project: Callable[[list[Array]], Array] | None,
    arguments: list[Array],
    y: Array,
    nq: int,
    quaternions: Sequence[int],
) -> Array:
    """States (k, n) projected onto the constraints: q to where loops close, velocities to where they stay closed.

    The first of the arguments of `close` and `project` is the state, which they may change. Momenta need no `project`:
    the velocities that follow from them keep loops closed.
    """
    state, closed = arguments[0], y.copy()
    for _ in range(NEWTON):
        new = close(arguments)[:, :nq]
        for first in quaternions:
            new[:, first : first + 4] /= np.linalg.norm(new[:, first : first + 4], axis=1, keepdims=True)
        moves = np.abs(new - state[:, :nq])
        unmoved = (moves <= ROUND_OFF * np.abs(state[:, :nq])).all(axis=1)  # these stay as they are
        moved, new[unmoved] = moves.max(initial=0.0), state[unmoved, :nq]
        state[:, :nq] = new
        if not moved > NEAR:
            break
    closed[:, :nq] = state[:, :nq]
    if project is not None:
        velocities = project(arguments)
        closed[:, nq : nq + velocities.shape[1]] = velocities
    return closed


class Phase:
    """The mechanism while some joints are locked and some constraints do not act, its code, and its numbers.

    | attribute     | meaning                                                                              |
    |---------------|--------------------------------------------------------------------------------------|
    | locked_joints | the bodies whose joints are locked, by number, and the coordinates at which they are |
    | inactive      | the constraints that do not act, by name                                             |
    | active        | the mechanism in floats, without them                                                |
    | mechanism     | the same, the locked joints prescribed                                               |
    | formulated    | the same in the variables of the formulation: coordinates, and momenta or velocities |
    | q, v          | which coordinates and velocities of the system those of the mechanism are            |
    | work_indices  | of each of its work terms, the index among the work terms of the system              |
    | counted       | angles whose turns are counted, behind the work terms                                |
    """

    def __init__(
        self,
        system: System,
        settings: Settings,
        locked_joints: Mapping[int, float],
        inactive: Collection[str],
        accounts: Sequence[str],
        dense: bool,
    ):
        self._system, self._settings, self.locked_joints = system, settings, dict(locked_joints)
        self._formulation = FORMULATIONS[settings.formulation]
        maximal = self._formulation.maximal
        self.inactive = frozenset(inactive)
        self._tree, self.active = (switched(each, inactive) for each in (system.mechanism, system._numeric))
        self._tree = locked(self._tree, locked_joints) if locked_joints else self._tree
        self._symbolic = maximal.maximal_mechanism(self._tree) if maximal else self._tree
        self.mechanism = locked(self.active, locked_joints) if locked_joints else self.active
        self.formulated = self._symbolic.at_defaults() if maximal else self.mechanism
        self.counted = maximal.counted_angles(self._tree, self._symbolic) if maximal else []
        self.q, self.v = (np.array(indices, dtype=int) for indices in free_indices(system.mechanism, locked_joints))
        self._work_names = [name for name, _ in work_terms_of(self._symbolic)]  # no value decides on one
        self._storing = {name: self._work_names.index(name) for name in storing_terms(self._symbolic)}
        self.work_indices = np.array(
            [accounts.index(name) if name in accounts else -1 for name in self._work_names], dtype=int
        )
        self.quaternions = error_floor(self.formulated)[1]
        what = f"{settings.integrator} {settings.formulation} {dense} {settings.closing}"
        self.stepper: Stepper = self._code(what, lambda: self._stepper(dense))

    def _code(self, what: str, make: Callable[[], Any]) -> Any:
        # which bodies a formulation separates may depend on the values of free parameters
        separate = [body.joint.name for body in self._symbolic.bodies] if self._formulation.maximal else ""
        without = f" without {sorted(self.inactive)}" if self.inactive else ""
        return compiled_once(self._system, f"{what} {separate} {sorted(self.locked_joints.items())}{without}", make)

    def _stepper(self, dense: bool) -> Stepper:
        settings, closing = self._settings, (self._settings.constraint_gains, self._settings.projects)
        what = self._symbolic, self._formulation, settings.integrator, self._system.code
        return new_stepper(*what, True, dense, *closing, self.counted)

    def integration(self, t: float, q: Array, v: Array, h: float) -> Integration:
        """One that begins at coordinates and velocities of the system, with the first step size h."""
        at, velocities = q[self.q].tolist(), v[self.v].tolist()
        turns = [at[i] for i in self._turning]
        self._refuse_turns(np.array([t]), np.round(np.array([turns]) / (2 * np.pi)))
        if self._formulation.maximal:
            at, velocities = self._formulation.maximal.maximal_state(
                Evaluation(self.mechanism, at, t), self.formulated, velocities
            )
        if self._formulation.momenta:
            velocities = self._formulation.momenta(Evaluation(self.formulated, at, t), velocities)
        y = np.concatenate([at, velocities, -self._stored(np.array([t]), q[None])[0], turns])
        tolerances = self._settings.tolerances
        return self.stepper.start(y[:, None], t, h, *tolerances, self.parameters)

    def moves(self, t: Array, y: Array) -> tuple[Array, Array]:
        """All coordinates and velocities of the system, from states (k, n) of this phase."""
        system, formulated = self._system, self.formulated
        q, v = np.empty((len(t), system.nq)), np.zeros((len(t), system.nv))
        for number, value in self.locked_joints.items():
            q[:, system.mechanism.bodies[number - 1].q] = value
        y = self._closed(t, y)
        at, velocities = y[:, : formulated.nq], y[:, formulated.nq : formulated.nq + formulated.nv]
        if self._formulation.momenta:
            velocities = self._velocities(t, y)
        q[:, self.q], v[:, self.v] = (
            self._tree_motion(t, at, velocities, y) if self._formulation.maximal else (at, velocities)
        )
        return q, v

    def moments_within(self, integration: Integration, records: Array, y_before: Array) -> Within:
        """Times, coordinates and velocities of the system at parts of the steps of these records."""
        t, h, _, _ = integration.unpacked(records)

        def within(step: NDArray[np.intp], x: Array) -> Moment:
            times = t[step] - (1 - x) * h[step]
            states = at_fraction(integration, records, y_before, step, x, self.quaternions)[..., 0]
            return (times, *self.moves(times, states))

        return within

    def openings(self, t: Array, y: Array) -> Array:
        """Largest closure errors (m, rad) and velocities in states (k, n), of joints that the formulation closes."""
        if not self._formulation.maximal or not len(t):
            return np.zeros(4)
        y, nq, nv = self._closed(t, y), self.formulated.nq, self.formulated.nv
        with np.errstate(all="ignore"):
            return np.asarray(Samples(self.formulated, y[:, :nq], y[:, nq : nq + nv], t).openings().max(axis=0))

    def _tree_motion(self, t: Array, q: Array, u: Array, y: Array) -> tuple[Array, Array]:
        """Coordinates and velocities of the tree, angles with the turns that were counted."""
        assert self._formulation.maximal is not None
        with np.errstate(all="ignore"):
            tree = self._formulation.maximal.tree_state(Evaluation(self.formulated, [*q.T], t), self.mechanism, [*u.T])
        at, velocities = (
            np.array([np.broadcast_to(x, t.shape) for x in part]).reshape(len(part), len(t)).T for part in tree
        )
        turns = np.round((y[:, y.shape[1] - len(self.counted) :] - at[:, self._turning]) / (2 * np.pi))
        self._refuse_turns(t, turns)
        at[:, self._turning] += 2 * np.pi * turns
        return at, velocities

    def _refuse_turns(self, t: Array, turns: Array) -> None:
        """Springs and limits do not see turns, so joints that have them must not make any."""
        for angle, column in zip(self.counted, turns.T, strict=True):
            loop = self.formulated.loops[angle.loop]
            if (loop.joint_type.spring or loop.joint_type.limits) and (column[np.isfinite(column)] != 0).any():
                raise MomentreeError(
                    f"joint '{loop.name}': turns beyond pi at t = {t[np.flatnonzero(column)[0]]:g} s, where its spring "
                    "or limits would jump in absolute coordinates. Use formulation='hamiltonian' or 'lagrange'."
                )

    @cached_property
    def _turning(self) -> list[int]:
        """Where the angles that are counted stand among the coordinates of the mechanism."""
        starts = [body.q.start for body in separated_bodies(self._tree, self._symbolic)]
        return [starts[angle.loop] + angle.coordinate for angle in self.counted]

    def _closed(self, t: Array, y: Array) -> Array:
        """The states with their loops closed, where these are projected: between steps they may have opened."""
        if not self.formulated.constrained or not self._settings.projects or not len(t):
            return y
        what = f"positions {self._settings.formulation}" if self._formulation.maximal else "positions"
        close = self._code(what, lambda: self._shared("positions") or closing_kernel(self._symbolic, self._system.code))
        formulation, project = self._formulation, None
        if not formulation.momenta and self.formulated.nv:
            what = f"projected velocities {formulation.name}"
            own = self._symbolic, formulation, self._system.code
            project = self._code(what, lambda: self._shared("momenta") or holding_kernel(*own))
        arguments = self._arguments(t, y, self.formulated.nq + self.formulated.nv)
        return closed_states(close, project, arguments, y, self.formulated.nq, self.quaternions)

    def _arguments(self, t: Array, y: Array, count: int) -> list[Array]:
        constants = [] if self.parameters is None else [np.ascontiguousarray(self.parameters[:, 0])]
        return [np.ascontiguousarray(y[:, :count]), np.array(t, dtype=float)[:, None], *constants]

    def work(self, t: Array, q: Array, y: Array, before: Array) -> Array:
        """What each work term has come to, from states (k, n) whose coordinates in the system are q.

        `before` is from earlier phases.
        """
        work, done = np.repeat(before[None], len(y), axis=0), y[:, self.work_columns] + self._stored(t, q)
        named = self.work_indices >= 0
        work[:, self.work_indices[named]] += done[:, named]
        return work

    @property
    def work_columns(self) -> slice:
        """Of a state."""
        first = self.formulated.nq + self.formulated.nv
        return slice(first, first + len(self.work_indices))

    def powers(self, t: Array, q: Array, v: Array) -> Array:
        """The power of each work term, as machine code integrates it; NaN where it takes accelerations to know it."""
        found = np.full((len(t), len(self.work_indices)), np.nan)
        samples = Samples(self.active, q, v, t)
        with np.errstate(all="ignore"):
            names = names_of(Evaluation(self.active, samples.q, t), samples.bodies)
            terms = zip(work_terms(self.active), powers(self.active, samples.bodies, names), strict=True)
        for (name, _), power in terms:
            found[:, self._work_names.index(name)] = power
        return found

    def _stored(self, t: Array, q: Array) -> Array:
        """What stops, threads and contacts store (J), for each work term.

        In y is the work of their whole force, less this at first: it is smooth where the motion is.
        """
        stored = np.zeros((len(t), len(self.work_indices)))
        if self._storing and len(t):
            with np.errstate(all="ignore"):
                energies = stored_energies(self.active, records(Evaluation(self.active, np.ascontiguousarray(q.T), t)))
            for name, i in self._storing.items():
                stored[:, i] = energies[name]
        return stored

    def closed_configuration(self, q: Array, t: float) -> Array:
        """Coordinates of the system with all loops closed, the nearest ones."""
        close = self._code("positions of the tree", lambda: closing_kernel(self._tree, self._system.code))
        nq, nv = self.mechanism.nq, self.mechanism.nv
        y, q = np.concatenate([q[self.q], np.zeros(nv)])[None], q.copy()
        arguments = self._arguments(np.array([t]), y, nq + nv)
        q[self.q] = closed_states(close, None, arguments, y, nq, error_floor(self.mechanism)[1])[0, :nq]
        return q

    def velocities_from_momenta(self, q: Array, p: Array, t: float) -> Array:
        """Velocities of the system, from coordinates of the system and momenta of the mechanism."""
        v = np.zeros(self._system.nv)
        v[self.v] = self._velocities(np.array([t]), np.concatenate([q[self.q], p])[None])[0]
        return v

    def after_jump(self, q: Array, v: Array, t: float, t_after: float) -> tuple[Array, dict[str, float]]:
        """Velocities of the system where prescribed ones have jumped, and the work of each prescribed motion."""
        own, u = q[self.q], v[self.v]
        p = np.array(momenta(Evaluation(self.mechanism, own.tolist(), t), u.tolist()), dtype=float)
        after = self.velocities_from_momenta(q, p, t_after)
        return after, impact_work(self.mechanism, own, (u, t), (after[self.v], t_after))

    def _velocities(self, t: Array, y: Array) -> Array:
        if not len(t) or not len(self.v):
            return np.zeros((len(t), len(self.v)))
        return np.asarray(self._kernel(self._arguments(t, y, len(self.q) + len(self.v))))

    @cached_property
    def _kernel(self) -> Any:
        # the error norm of an integrator takes the velocities of momenta with nothing else moving
        same = self._tree is self._symbolic and at_rest(self._tree) is self._tree
        shared = self._shared("velocities") if same and self._formulation.momenta else None
        return self._code("velocities", lambda: shared or velocity_kernel(self._tree, self._system.code))

    def _shared(self, name: str) -> SamplesKernel | None:
        """A function of the integrator that samples need too."""
        return self.stepper.kernel(name)

    @cached_property
    def parameters(self) -> Array | None:
        """Free parameters, at the values of the system."""
        m = self._system.mechanism
        return np.array([[m.values.scalar(name)] for name in m.free], dtype=float) if m.free else None
