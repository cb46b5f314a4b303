"""Run: a computed motion by names, its energy account, closure errors, reactions, and diagnostics."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from momentree.assembly.configuration import Array
from momentree.assembly.samples import Samples, in_batches
from momentree.assembly.state import State
from momentree.errors import MomentreeError, renamed_attributes, spell_checked, suggestion
from momentree.files import dumps, loads
from momentree.model.higher_pairs import HigherPair
from momentree.results.constraint_forces import (
    RollingForces,
    constraint_of,
    exerted,
    exerted_width,
    joint_wrench,
    multipliers,
    named_forces,
    pair_wrench,
    power,
    rolling_forces,
    rolling_multipliers,
    rolling_pairs,
)
from momentree.results.energy_account import EnergyAccount
from momentree.results.frame_motion import FrameMotion
from momentree.results.run_export import RunExport
from momentree.results.run_inputs import RunInputs, mechanism_of_run
from momentree.results.run_momenta import RunMomenta
from momentree.results.run_states import state_of_run
from momentree.results.run_views import RunViews
from momentree.simulate.blocks import Block, End, Setting, Statistics, WorkTerm, read_only
from momentree.simulate.events import acting_events
from momentree.structure.given import Given
from momentree.structure.locked_joints import free_indices, locked
from momentree.structure.mechanism import Loop, Mechanism
from momentree.structure.switched_constraints import inactive_at_start, switched

if TYPE_CHECKING:
    import xarray

    from momentree.results.global_error import ErrorEstimate
    from momentree.results.impacts import Impact
    from momentree.system import System


class RunError(MomentreeError):
    """A run could not be completed or kept; what was computed until then is in `run`."""

    def __init__(self, message: str, run: Run):
        self.run = run
        super().__init__(message)


class RunPhase(NamedTuple):
    """Consecutive samples of one mechanism.

    | field    | meaning                                                                        |
    |----------|--------------------------------------------------------------------------------|
    | part     | which samples                                                                  |
    | held     | the bodies whose joints are locked, by number, and the coordinates there       |
    | inactive | the constraints that do not act, by name                                       |
    | begun_by | the events at which it begins                                                  |
    """

    part: slice
    held: dict[int, float]
    inactive: frozenset[str]
    begun_by: tuple[str, ...]


@spell_checked
@dataclass(frozen=True, eq=False)
class Run(FrameMotion, RunMomenta, RunInputs, RunExport, RunViews):
    """A motion over time: `run["A"]` is a joint's coordinate, `run.velocity("A")` its velocity, `run.energy` energy.

    | field      | meaning                                                          |
    |------------|------------------------------------------------------------------|
    | samples    | t, q, v and work as they were computed                           |
    | work_terms | whose work is accounted for                                      |
    | settings   | what the simulation was made with                                |
    | statistics | steps, evaluations                                               |
    | end        | when and why it ended                                            |
    | model      | the text of the model's file, with the parameters of this run     |
    | free       | parameters that were left open when the model was built          |
    | version    | of the Momentree that computed it                                |
    | given      | what its start carried on top of the model: `Given.table`        |
    """

    samples: Block = field(repr=False)
    work_terms: tuple[WorkTerm, ...]
    settings: Mapping[str, Setting]
    statistics: Statistics
    end: End
    model: str = field(repr=False)
    free: tuple[str, ...] = ()
    version: str = ""
    given: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "samples", self.samples.read_only())

    if not TYPE_CHECKING:
        __getattr__ = renamed_attributes(rate="velocity", closure="closure_error", closure_rate="closure_velocity")

    @property
    def t(self) -> Array:
        """Time (s), k."""
        return self.samples.t

    @property
    def q(self) -> Array:
        """Coordinates of the tree (m, rad), k x nq."""
        return self.samples.q

    @property
    def v(self) -> Array:
        """Velocities of the tree (m/s, rad/s), k x nv."""
        return self.samples.v

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters that were left free, and the values with which it was simulated; those that are constant."""
        return {name: value for name, value in self.system.parameters.items() if name not in self._inputs.given}

    @cached_property
    def system(self) -> System:
        """The system that moved, built again from the model's text where the run came from a file."""
        if not self.model:
            raise MomentreeError("the run has no model: its model could not be written as text.")
        return loads(self.model, "the model of the run").build(free=self.free).at(Given.of_table(self.given))

    @cached_property
    def mechanism(self) -> Mechanism:
        """The same in floats, free parameters at the values of this run."""
        return mechanism_of_run(self.system.mechanism, self._inputs, Given.of_table(self.given).inactive)

    # --- by name ---

    def __getitem__(self, joint: str) -> Array:
        """The coordinates of any joint over time: k, or k x n where it has several; or an input or output, k.

        The angles of a joint that closes a loop are counted on from turn to turn.
        """
        if joint not in self._whole.by_joint and joint in (*self.system.inputs, *self.system.outputs):
            return (self.inputs if joint in self.system.inputs else self.outputs)[joint].copy()
        name = self._checked_joint(joint)
        q = self._of_all_joints(lambda samples: samples.coordinates_of(name))
        body_or_loop = self._whole.by_joint[name]
        if body_or_loop.joint is not None and body_or_loop in self._whole.loops:
            for i, unit in enumerate(body_or_loop.joint.type.units):
                if unit == "rad":
                    q[:, i] = np.unwrap(q[:, i])
        return _single(q)

    def velocity(self, joint: str) -> Array:
        """The velocities of any joint over time: k, or k x n."""
        name = self._checked_joint(joint)
        return _single(self._of_all_joints(lambda samples: samples.velocities_of(name)))

    def state(self, index: int = -1) -> State:
        """The state at one sample, the last by default: the start of another run."""
        if not -len(self.t) <= index < len(self.t):
            raise MomentreeError(f"the run has {len(self.t)} samples; there is no sample {index}.")
        return state_of_run(self, index)

    def reactions(self, name: str) -> Any:
        """The wrench that a joint exerts on its second body, k x 6: force (N) and moment (N m), in inertial axes.

        | name of                  | gives                                                                             |
        |--------------------------|-----------------------------------------------------------------------------------|
        | a joint                  | all that it transmits: constraint forces, drives, its springs and dampers, forces |
        |                          | of couplings along it; the moment is about the origin of its second frame         |
        | a higher pair, "roll 1"  | the same on the guided body, about the origin of its frame                        |
        | an expression constraint | `ConstraintForces`: the generalized forces along each joint, and the wrench at    |
        | or coupling, "gear 1"    | each frame, that it names                                                         |

        Where constraints are redundant, some of it is undetermined, and the shortest Lagrange multipliers of each loop
        are taken (docs/results.md).
        """
        mechanism = self._whole
        pairs = [loop.name for loop in mechanism.loops if isinstance(loop.joint_type, HigherPair)]
        if name in mechanism.by_joint:
            return self._in_phases(lambda samples: joint_wrench(samples, name), locking=True)
        if name in pairs:
            return self._in_phases(lambda samples: pair_wrench(samples, name), locking=True)
        constraints = [constraint.name for constraint in mechanism.constraints]
        if name in constraints:
            width = exerted_width(mechanism, name)
            forces = self._in_phases(lambda samples: exerted(samples, name, width), locking=True)
            return named_forces(mechanism, name, forces)
        choices = [*mechanism.by_joint, *pairs, *constraints]
        what = "joint or constraint" if mechanism.constraints or pairs else "joint"
        raise MomentreeError(f"there is no {what} '{name}'.{suggestion(name, choices)}")

    def multipliers(self, name: str) -> Array:
        """The Lagrange multipliers lambda of a closing joint, higher pair or expression constraint, k x rows.

        | of                       | a row is                              | unit                                      |
        |--------------------------|---------------------------------------|-------------------------------------------|
        | a closing joint          | each constraint that `print(system)`  | N along it, N m about it, on the joint's  |
        |                          | names                                 | second body                               |
        | a higher pair            | contact, no slip, distance, ...       | N on the guided body                      |
        | an expression constraint | the expression, one                   | J for each unit of the expression, W for  |
        |                          |                                       | each unit of one on velocities            |

        M u' + d = Q + J' lambda with the constraint Jacobian J; ideal constraints do no work: `constraint_power`.
        Of redundant constraints the shortest lambda is given: only the sum of their forces is determined.
        """
        of = constraint_of(self._whole, name)
        rows = len(of.rows) if isinstance(of, Loop) else 1
        return self._in_phases(lambda samples: multipliers(samples, name, rows), locking=True)

    def constraint_power(self, name: str) -> Array:
        """The power (W) of the forces of a closing joint, higher pair or expression constraint, k.

        Zero, to round-off, unless it depends on time itself; the work of one that does is in the energy account, as
        "motion of" its name.
        """
        constraint_of(self._whole, name)
        return self._in_phases(lambda samples: power(samples, name), locking=True)

    def friction_needed(self, name: str) -> Array:
        """The coefficient of friction that a rolling contact, "roll 1", needs not to slip: |T| / N, k.

        Infinite where the normal force N would have to pull: there the wheel lifts off, or nothing presses it on.
        """
        return self.rolling_forces(name).friction

    def rolling_forces(self, name: str) -> RollingForces:
        """The normal force and the force along the surface of a rolling contact (N), k each."""
        if name not in self.rolling:
            raise MomentreeError(f"there is no rolling contact '{name}'.{suggestion(name, self.rolling)}")
        return self.rolling[name]

    @cached_property
    def rolling(self) -> dict[str, RollingForces]:
        """The same of all rolling contacts, by name."""
        pairs = rolling_pairs(self._whole)
        if not pairs:
            return {}
        found = self._in_phases(lambda samples: rolling_multipliers(samples, [*pairs]), locking=True)
        each = enumerate(pairs.items())
        return {name: rolling_forces(pair, found[:, 3 * i : 3 * i + 3]) for i, (name, pair) in each}

    def contact_force(self, contact: str) -> Array:
        """The force that a contact, "contact 1 of leg 1", puts on its first body (N), k x 3, in inertial axes."""
        touches = {contact.name: contact for contact in self.mechanism.contacts}
        if contact not in touches:
            raise MomentreeError(f"there is no contact '{contact}'.{suggestion(contact, touches)}")
        return self._each(lambda samples: samples.contact_force(touches[contact]))

    # --- diagnostics ---

    @cached_property
    def energy(self) -> EnergyAccount:
        """Kinetic, potential and total energy, the work of each work term, and the balance (J)."""
        parts = self._in_phases(lambda samples: np.stack(samples.energy(), axis=-1)).reshape(-1, 2)
        return self._account(parts[:, 0], parts[:, 1])

    @cached_property
    def closure_error(self) -> Array:
        """The largest closure error of any loop or holonomic constraint (m, rad), k."""
        return read_only(self.openings[:, :2].max(axis=1))

    @cached_property
    def closure_velocity(self) -> Array:
        """The largest velocity at which any loop or constraint opens (m/s, rad/s), k."""
        return read_only(self.openings[:, 2:].max(axis=1))

    @cached_property
    def openings(self) -> Array:
        """The largest closure errors (m; rad) and their velocities (m/s; rad/s), of loops and constraints; k x 4."""
        return read_only(self._in_phases(lambda samples: samples.openings()))

    @cached_property
    def impacts(self) -> tuple[Impact, ...]:
        """Where joints locked and constraints started to act: impulses, and the energy that was lost."""
        from momentree.results.impacts import impacts_of

        return tuple(impacts_of(self))

    @cached_property
    def error(self) -> ErrorEstimate | None:
        """An estimate of the global error, of a run that was made with `verify=True`; None of others."""
        return None

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Everything that is wrong with it, nothing where its diagnostics are good (docs/results.md has the limits)."""
        from momentree.results.diagnostics import warnings_of

        return tuple(warnings_of(self))

    # --- onwards ---

    @property
    def data(self) -> xarray.Dataset:
        """Everything with names and units: dims time, coordinate, velocity, work_term (docs/results.md)."""
        return self._data.copy()

    @cached_property
    def _data(self) -> xarray.Dataset:
        from momentree.results.run_files import dataset

        return dataset(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a NetCDF file, from which `load_run` gives it back to the last bit."""
        from momentree.results.run_files import save

        save(self, Path(path))

    def __str__(self) -> str:
        from momentree.look.run_tables import run_summary

        return run_summary(self)

    def _repr_html_(self) -> str:
        from momentree.look.notebook import run_html

        return run_html(self)

    # --- inside ---

    @classmethod
    def of(
        cls,
        system: System,
        samples: Block,
        work_terms: tuple[WorkTerm, ...],
        settings: Mapping[str, Setting],
        statistics: Statistics,
        end: End,
        given: Mapping[str, Any] | None = None,
    ) -> Run:
        """The run of a system at hand, which has all values; `given` is what its start carried besides."""
        from momentree import __version__

        about = (work_terms, dict(settings), statistics, end, text_of(system))
        run = cls(samples, *about, system.mechanism.free, __version__, given or system.given.table())
        vars(run)["system"] = system
        return run

    def with_measures(self, **measured: Any) -> Run:
        """The same run with measures that need not be computed again."""
        vars(self).update({name: read_only(x) if isinstance(x, np.ndarray) else x for name, x in measured.items()})
        return self

    @property
    def _whole(self) -> Mechanism:
        """The mechanism with the joints that do not act at the start, too."""
        return self.mechanism.whole or self.mechanism

    def _of_all_joints(self, measure: Callable[[Samples], Array]) -> Array:
        whole = self._whole
        return (
            self._each(measure) if whole is self.mechanism else self._measured(measure, whole, self.q, self.v, self.t)
        )

    def _account(self, kinetic: Array, potential: Array) -> EnergyAccount:
        names = distinct_names([work_term.name for work_term in self.work_terms])
        return EnergyAccount(kinetic, potential, dict(zip(names, self.samples.work.T, strict=True)))

    def _each(self, measure: Callable[[Samples], Array]) -> Array:
        """A measure of all samples, batch by batch; where they are not finite, neither is it."""
        with np.errstate(all="ignore"):
            if len(in_batches(len(self.t))) <= 1:
                return measure(self._all)
        return self._measured(measure, self.mechanism, self.q, self.v, self.t)

    def _in_phases(self, measure: Callable[[Samples], Array], locking: bool = False) -> Array:
        """The same with the constraints that act at each sample; where `locking`, locked joints are not free."""
        phases = list(self.phases())
        if all(phase.inactive == phases[0].inactive and not (locking and phase.held) for phase in phases):
            return self._each(measure)
        parts = []
        for phase in phases:
            mechanism, held = switched(self.mechanism, phase.inactive), phase.held if locking else {}
            q, v, t = (each[phase.part] for each in (self.q, self.v, self.t))
            if held:
                coordinates, velocities = free_indices(mechanism, held)
                mechanism, q, v = locked(mechanism, held), q[:, coordinates], v[:, velocities]
            parts.append(self._measured(measure, mechanism, q, v, t))
        return np.concatenate(parts)

    def _measured(
        self, measure: Callable[[Samples], Array], mechanism: Mechanism, q: Array, v: Array, t: Array
    ) -> Array:
        parts = in_batches(len(t)) or [slice(0, 0)]
        with np.errstate(all="ignore"):
            return np.concatenate([measure(Samples(mechanism, q[part], v[part], t[part])) for part in parts])

    @cached_property
    def _all(self) -> Samples:
        """All samples, for a run that is not long: results for one measure serve the next."""
        return Samples(self.mechanism, self.q, self.v, self.t)

    def phases(self) -> Iterator[RunPhase]:
        """Samples between events that change the mechanism, and what is locked or does not act there.

        Such an event has two samples at the same time, before and after it.
        """
        acting = {event.name: event for event in acting_events(self.mechanism)}
        again = np.flatnonzero(self.t[1:] == self.t[:-1]) + 1
        begun_with = Given.of_table(self.given)
        off = inactive_at_start(self.mechanism) if begun_with.inactive is None else begun_with.inactive
        phase = RunPhase(slice(0, len(self.t)), dict(begun_with.held), off, ())
        for name, at in self.end.events:
            after = again[self.t[again] >= at]
            if name not in acting or not len(after):
                continue
            begun, event, causes = int(after[0]), acting[name], phase.begun_by
            if begun > phase.part.start:
                yield phase._replace(part=slice(phase.part.start, begun))
                causes = ()
            held = {**phase.held, event.latch: event.at} if event.latch else phase.held
            inactive = phase.inactive
            if event.switched:
                inactive = inactive - {event.switched} if event.turns_on else inactive | {event.switched}
            phase = RunPhase(slice(begun, len(self.t)), held, inactive, (*causes, name))
        yield phase

    def mechanism_at(self, index: int) -> Mechanism:
        """The mechanism in floats, with the constraints that act at a sample."""
        return switched(self.mechanism, self.phase_at(index).inactive)

    def phase_at(self, index: int) -> RunPhase:
        """The phase that a sample belongs to."""
        index %= max(len(self.t), 1)
        return [phase for phase in self.phases() if phase.part.start <= index][-1]

    def due_at(self, index: int) -> tuple[str, ...]:
        """The events that happen right after a sample, at the same time, and change the mechanism."""
        after = index % max(len(self.t), 1) + 1
        return next((phase.begun_by for phase in self.phases() if phase.part.start == after), ())

    def _checked_joint(self, joint: str) -> str:
        if joint not in self._whole.by_joint:
            known = [*self._whole.by_joint, *self.system.inputs, *self.system.outputs]
            raise MomentreeError(f"there is no joint '{joint}'.{suggestion(joint, known)}")
        return joint


@spell_checked
def load_run(path: str | os.PathLike[str]) -> Run:
    """The run in a NetCDF file, as it was saved; of one that was not finished, what is there so far."""
    from momentree.results.run_files import load

    return load(Path(path))


def text_of(system: System) -> str:
    """The model's file as text; "" if it holds what no text can."""
    try:
        return dumps(system._model)
    except (TypeError, ValueError):
        return ""


def distinct_names(names: Sequence[str]) -> list[str]:
    """The names, those that come again with their number: "force", "force (2)"."""
    seen: dict[str, int] = {}
    distinct = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        distinct.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return distinct


def _single(values: Array) -> Array:
    return values[:, 0] if values.shape[1] == 1 else values
