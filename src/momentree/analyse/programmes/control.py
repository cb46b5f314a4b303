"""Programme control: the forces at chosen actuators that make a system follow a programme, and its reactions.

The stabilized equations have accelerations q''. The system must then be subject to F = m q'' + c - Q besides its own
forces Q, and F is shared between the reactions of constraints that exist physically and the actuators:

    F = a' lambda + B tau         so with N, the velocities that a allows,         N' B tau = N' F                   (1)

What N' B does not reach is an error that names the motion. Without actuators F is split by the metric of the masses,

    lambda = (a m^-1 a')^-1 a m^-1 F ,   F = a' lambda + rest ,   a m^-1 rest = 0                                    (2)

which is what actuators at all coordinates would have to do besides the reactions. Where the passive constraints do not
allow q'', the system accelerates as nearly as they do (Gauss): for a u = 0 this changes nothing of V' = -u' S u.
docs/theory/programme-mechanisms.md, there (M5) and (M6).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.analyse.actuation import actuation
from momentree.assembly.state import State
from momentree.compile.execute.arrays import numbers
from momentree.equations.programme_fields import ExpressionProgramme
from momentree.errors import MomentreeError, spell_checked, suggestion
from momentree.files.atomic_write import write_file
from momentree.model.expressions.expression import Expression, Reference
from momentree.model.programme_description import Scope
from momentree.results.programme_run import ProgrammeRun
from momentree.structure.programme_mechanism import names_of

if TYPE_CHECKING:
    from momentree.system import System

Array = NDArray[np.float64]
INDEPENDENT = 1e-9  # of unit rows and columns in the metric of the masses: what counts as independent
REACHED = 1e-7  # of the forces: what may stay without an actuator
TINY = 1e-6  # of a motion: velocities that are not shown


@spell_checked
@dataclass(frozen=True, eq=False)
class Control:
    """Forces by which a system follows a programme. Leading axes are those of the arguments; k samples of a run.

    | field       | shape     | meaning                                                                                |
    |-------------|-----------|----------------------------------------------------------------------------------------|
    | t           | k         | time (s)                                                                               |
    | forces      | k, n      | F = m q'' + c - Q: all that must act besides the system's own forces, by coordinate    |
    | torques     | k         | by actuator: its force or torque; (k, m) where a joint has several velocities          |
    | multipliers | k or k, m | by passive constraint: Lagrange multipliers                                            |
    | reactions   | k, 6      | by joint of a mechanism: the wrench that it transmits; none of other programmes        |
    | rest        | k, n      | what is neither reaction nor control, by coordinate: 0 where actuators are given       |
    | units       |           | by actuator: "N m", "N"; "" where coordinates have none                                |
    | redundant   | k         | number of directions of the torques that the motion does not determine                 |
    | notes       |           | what else is worth knowing                                                             |
    """

    name: str
    coordinates: tuple[str, ...]
    t: Array
    forces: Array
    torques: Mapping[str, Array]
    multipliers: Mapping[str, Array]
    reactions: Mapping[str, Array]
    rest: Array
    units: Mapping[str, str]
    redundant: Any
    notes: tuple[str, ...] = ()

    def __getitem__(self, actuator: str) -> Array:
        """The force or torque of an actuator."""
        if actuator not in self.torques:
            raise MomentreeError(f"control: there is no actuator '{actuator}'.{suggestion(actuator, self.torques)}")
        return self.torques[actuator]

    @property
    def columns(self) -> dict[str, Array]:
        """All results as columns of numbers over the samples, by name."""
        found = {"t": self.t}
        for table in (self.torques, {f"multiplier of {name}": x for name, x in self.multipliers.items()}):
            for name, values in table.items():
                several = values.reshape(len(np.atleast_1d(self.t).ravel()), -1)
                names = [name] if several.shape[1] == 1 else [f"{name} {i}" for i in range(1, several.shape[1] + 1)]
                found |= dict(zip(names, several.T, strict=True))
        every = (("force", self.forces), ("rest", self.rest))
        for word, values in every:
            flat = values.reshape(-1, len(self.coordinates)).T
            found |= {f"{word} {name}": x for name, x in zip(self.coordinates, flat, strict=True)}
        return {name: np.atleast_1d(values).ravel() for name, values in found.items()}

    @property
    def data(self) -> Any:
        """Everything as an xarray.Dataset over t."""
        import xarray

        columns = self.columns
        found = {name: ("t", values) for name, values in columns.items() if name != "t"}
        for joint, wrench in self.reactions.items():
            found[f"reaction of {joint}"] = (("t", "component"), wrench.reshape(-1, 6))  # type: ignore[assignment]
        components = {"component": ["fx", "fy", "fz", "mx", "my", "mz"]} if self.reactions else {}
        return xarray.Dataset(found, coords={"t": columns["t"], **components}, attrs={"name": self.name})

    def to_csv(self, path: str | Path) -> None:
        """Write time, torques, multipliers, forces and rest, one line for each sample."""
        columns = self.columns
        rows = np.column_stack(list(columns.values())).tolist()
        quoted = (f'"{name}"' if "," in name else name for name in columns)
        write_file(Path(path), "\n".join([",".join(quoted), *(",".join(map(repr, row)) for row in rows)]) + "\n")

    def __str__(self) -> str:
        def line(word: str, values: Array, unit: str) -> str:
            low, high = float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))
            return f"  {word}: {low + 0.0:.4g} to {high + 0.0:.4g}{unit and ' ' + unit}"

        count = np.size(self.t)
        lines = [f"control of {self.name}, {count} sample{'s' if count > 1 else ''}"]
        lines += [line(name, values, self.units.get(name, "")) for name, values in self.torques.items()]
        lines += [line(f"reaction of '{name}'", values, "") for name, values in self.multipliers.items()]
        if not self.torques:
            columns = np.moveaxis(self.rest, -1, 0)
            lines += [line(f"rest of {name}", x, "") for name, x in zip(self.coordinates, columns, strict=True)]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])


def control(
    programme: Any,
    at: Any,
    qd: Any = None,
    t: Any = 0.0,
    *,
    actuators: Any = None,
    forces: Mapping[str, Any] | None = None,
    passive: Any = None,
) -> Control:
    """The forces that make a system follow a programme, at the samples of a run, or at q, q' (None: v) and t.

    | argument  | meaning                                                                                            |
    |-----------|----------------------------------------------------------------------------------------------------|
    | at        | a run of the programme; a state; or q, with leading axes                                           |
    | actuators | names of coordinates, of a mechanism names of joints; or {name: direction}, the generalized forces |
    |           | of its unit force, {"x": "cos(phi)", "y": "sin(phi)"}. None: the split into reactions and rest     |
    | forces    | Q by coordinate, expressions of coordinates, velocities and time; a mechanism has its own          |
    | passive   | the constraints that exist physically, texts or numbers from 1; None: those on velocities without  |
    |           | a right side. Of a mechanism: always the loops and constraints of its model                        |
    """
    motion = _Motion.of(programme, at, qd, t)
    if not (actuators is None or isinstance(actuators, (str, Mapping, Sequence))):
        raise MomentreeError(f"control: actuators is {actuators!r}. Give a list of names, or directions by name.")
    if hasattr(programme, "system"):
        for word, value in (("forces", forces), ("passive", passive)):
            if value is not None:
                message = f"control: {word} of a mechanism are those of its model"
                raise MomentreeError(f"{message}. Leave {word} out, or change the model.")
        return _of_mechanism(programme, motion, actuators)
    return _of_expressions(programme, motion, actuators, forces or {}, passive)


# --- the motion ---


class _Motion(NamedTuple):
    """Rows of a batch."""

    batch: tuple[int, ...]
    t: Array
    q: Array
    qd: Array

    @classmethod
    def of(cls, programme: Any, at: Any, qd: Any, t: Any) -> _Motion:
        if isinstance(at, ProgrammeRun):
            if at.coordinates != programme.coordinates:
                names = ", ".join(programme.coordinates)
                raise MomentreeError(f"control: the run has other coordinates than the programme: {names}.")
            return cls(at.t.shape, at.t, at.q, at.qd)
        if isinstance(at, State):
            at, qd, t = at.q, at.v if qd is None else qd, at.t
        q, times = numbers(at, "q"), numbers(t, "t", "a number")
        qd = programme.velocity(q, times) if qd is None else numbers(qd, "qd")
        u = programme.deviation(q, qd, times)  # which checks the shapes
        if not (np.isfinite(u).all() and np.isfinite(q).all() and np.isfinite(times).all()):
            raise MomentreeError("control: q, qd or t hold NaN or infinity, or the programme is not defined there.")
        batch, n = u.shape[:-1], u.shape[-1]
        flat = [np.broadcast_to(x, (*batch, n)).reshape(math.prod(batch), n) for x in (q, qd)]
        return cls(batch, np.broadcast_to(times, batch).reshape(-1), *flat)

    def shaped(self, rows: Any, *shape: int) -> Array:
        """Results by rows, with the leading axes of the arguments."""
        return np.asarray(rows, dtype=float).reshape((*self.batch, *shape))


# --- programmes given by expressions ---


def _of_expressions(
    programme: Any, motion: _Motion, actuators: Any, forces: Mapping[str, Any], passive: Any
) -> Control:
    given: ExpressionProgramme = programme.expressions
    names, k = programme.coordinates, len(motion.t)
    scope = Scope(names, given.description.parameters)
    values = given.values(list(motion.q.T), motion.t, list(programme.parameters.values()))
    directions = _directions(actuators, scope.row)
    values |= dict(zip(given.description.velocities, motion.qd.T, strict=True))
    if not isinstance(forces, Mapping):
        raise MomentreeError(f"control: forces is {forces!r}. Give them by the names of coordinates: {{'x': '-2*x'}}.")
    for name in forces:
        if name not in names:
            raise MomentreeError(f"control: forces: there is no coordinate '{name}'.{suggestion(str(name), names)}")
    Q = _evaluated([scope.force(forces.get(name, 0.0), f"force of {name}") for name in names], values, k)
    F = programme.inertial_forces(motion.q, motion.qd, motion.t) - Q
    return _shared(programme, motion, _Forces(F, np.abs(Q)), _passive(given, passive), directions, values)


class _Forces(NamedTuple):
    """F (k, n), and the sizes of forces that may have canceled in it."""

    F: Array
    sizes: Array


def _shared(
    programme: Any,
    motion: _Motion,
    forces: _Forces,
    passive: Sequence[int],
    directions: dict[str, Any] | None,
    values: Mapping[Reference, Any],
) -> Control:
    """Forces at each sample, shared by (1), or by (2) where there are no directions."""
    names, k, shaped = programme.coordinates, len(motion.t), motion.shaped
    rows = programme.constraint_rows(motion.q, motion.t)[0][:, passive]
    m = programme.mass_matrix(motion.q, motion.t)
    columns = [_evaluated(row, values, k) for row in (directions or {}).values()]
    B = np.stack(columns, axis=-1) if columns else np.zeros((k, len(names), 0))
    shares = []
    for i in range(k):
        at = _Share(names, f" in row {i}" if motion.batch else "", m[i], rows[i])
        F, sizes = forces.F[i], forces.sizes[i]
        shares.append(at.split(F) if directions is None else at.solved(F, sizes, B[i], list(directions)))
    redundant = shaped([share.redundant for share in shares]).astype(int)
    texts = [programme.constraints[i] for i in passive]
    return Control(
        name=programme.name,
        coordinates=names,
        t=shaped(motion.t),
        forces=shaped(forces.F, len(names)),
        torques={name: shaped([share.tau[j] for share in shares]) for j, name in enumerate(directions or ())},
        multipliers={text: shaped([share.multipliers[j] for share in shares]) for j, text in enumerate(texts)},
        reactions={},
        rest=shaped([share.rest for share in shares], len(names)),
        units=dict.fromkeys(directions or (), ""),
        redundant=redundant[()],
        notes=_notes(redundant),
    )


def _evaluated(row: Sequence[Expression], values: Mapping[Reference, Any], k: int) -> Array:
    """(k, n) of n expressions."""
    return np.stack([np.broadcast_to(np.asarray(x.evaluate(values), dtype=float), k) for x in row], axis=-1)


def _passive(given: ExpressionProgramme, passive: Any) -> list[int]:
    """The indices of constraints that exist physically."""
    constraints = given.description.constraints
    if passive is None:
        return [i for i, c in enumerate(constraints) if c.position is None and c.b.value == 0]
    texts, found = [c.text for c in constraints], []
    for each in [passive] if isinstance(passive, (str, int)) else passive:
        if isinstance(each, str) and each in texts:
            found.append(texts.index(each))
        elif isinstance(each, int) and 1 <= each <= len(texts):
            found.append(each - 1)
        else:
            known = "; ".join(f"{i}: '{text}'" for i, text in enumerate(texts, 1)) or "none"
            raise MomentreeError(f"control: passive: there is no constraint {each!r}. There are {known}.")
    return sorted({*found})


def _directions(actuators: Any, row: Callable[[Any, str], tuple[Expression, ...]]) -> dict[str, Any] | None:
    """By actuator, the generalized forces of its unit force; None where there are no actuators."""
    if actuators is None:
        return None
    if isinstance(actuators, str):
        actuators = [actuators]
    if not isinstance(actuators, Mapping):
        actuators = {name: {name: 1.0} for name in actuators}
    return {str(name): row(given, f"actuator '{name}'") for name, given in actuators.items()}


class _Shared(NamedTuple):
    """How forces are shared: torques, multipliers, rest; how many directions of the torques are open."""

    tau: Array
    multipliers: Array
    rest: Array
    redundant: int


class _Share:
    """Passive constraints a (m, n) at one sample, in the metric of the masses, where all directions compare."""

    def __init__(self, names: Sequence[str], where: str, m: Array, a: Array):
        self.names, self.where, self.a = names, where, a
        self.L = np.linalg.cholesky(m)
        self.rows = np.linalg.solve(self.L, a.T).T  # a L'^-1
        sizes = np.linalg.norm(self.rows, axis=1)
        unit = self.rows / np.where(sizes > 0, sizes, 1.0)[:, None]
        _, strengths, V = np.linalg.svd(unit) if len(a) else (None, np.zeros(0), np.eye(len(m)))
        self.N = V[int((strengths > INDEPENDENT).sum()) :].T  # allowed motions, orthonormal

    def split(self, F: Array) -> _Shared:
        """(2)."""
        multipliers = self._multipliers(np.linalg.solve(self.L, F))
        return _Shared(np.zeros(0), multipliers, F - self.a.T @ multipliers, 0)

    def solved(self, F: Array, canceled: Array, B: Array, actuators: Sequence[str]) -> _Shared:
        """(1): the shortest torques in the metric of the masses."""
        force, columns, own = (np.linalg.solve(self.L, x) for x in (F, B, canceled))
        sizes = np.linalg.norm(columns, axis=0)
        sizes = np.where(sizes > 0, sizes, 1.0)
        U, strengths, V = np.linalg.svd(self.N.T @ columns / sizes)
        rank = int((strengths > INDEPENDENT).sum())
        tau = V[:rank].T @ (U[:, :rank].T @ (self.N.T @ force) / strengths[:rank]) / sizes
        undriven = self.N @ U[:, rank:]
        needed = undriven.T @ force
        if np.abs(needed).max(initial=0.0) > REACHED * (np.linalg.norm(force) + np.linalg.norm(own)):
            self._refuse(np.linalg.solve(self.L.T, undriven @ needed), F, actuators)
        multipliers = self._multipliers(force - columns @ tau)
        return _Shared(tau, multipliers, F - self.a.T @ multipliers - B @ tau, B.shape[1] - rank)

    def _multipliers(self, force: Array) -> Array:
        if not len(self.a):
            return np.zeros(0)
        return np.asarray(np.linalg.lstsq(self.rows.T, force, rcond=INDEPENDENT)[0])

    def _refuse(self, z: Array, F: Array, actuators: Sequence[str]) -> None:
        """z is a motion that needs a force, and that no actuator drives."""
        z = z / z[int(np.abs(z).argmax())]
        moved = [(x, name) for x, name in zip(z, self.names, strict=True) if abs(x) > TINY]
        words = ", ".join(f"{name}' = {x:.4g}" for x, name in moved)
        chosen = ", ".join(f"'{name}'" for name in actuators) or "no actuators"
        message = f"control by {chosen} is not sufficient{self.where}: nothing drives the motion {words}"
        names = " or ".join(f"'{name}'" for _, name in moved)
        advice = f"Actuate {names} too, name passive constraints, or leave out actuators to see the split"
        raise MomentreeError(f"{message}, along which a force of {abs(float(z @ F)):.3g} must act. {advice}.")


def _notes(redundant: Array) -> tuple[str, ...]:
    most = int(redundant.max(initial=0))
    if not most:
        return ()
    directions = "one direction" if most == 1 else f"{most} directions"
    return (f"redundant: the motion leaves {directions} of the torques open; the shortest are given.",)


# --- mechanisms ---


def _of_mechanism(programme: Any, motion: _Motion, actuators: Any) -> Control:
    system: System = programme.system
    mechanism, given = system._numeric, programme.given
    qdd = programme.accelerations(motion.q, motion.qd, motion.t)
    F = np.asarray(system.inverse_dynamics(motion.q, motion.qd, qdd, motion.t))
    if actuators is None or isinstance(actuators, Mapping):
        own = [i for i, name in enumerate(programme.constraints) if name not in given.texts]
        parameters = {Reference(name): value for name, value in programme.parameters.items()}
        values = names_of(given.whole, list(motion.q.T), motion.t, parameters)
        inertial = programme.inertial_forces(motion.q, motion.qd, motion.t)
        directions = _directions(actuators, given.direction)
        return _shared(programme, motion, _Forces(F, np.abs(inertial)), own, directions, values)
    try:
        found = actuation(mechanism, motion.q, motion.qd, qdd, actuators, motion.t)
    except MomentreeError as error:
        raise MomentreeError(f"control: {error}") from None
    kinds = {joint: mechanism.by_joint[joint].joint.type for joint in found.torques}  # type: ignore[union-attr]
    shaped, n = motion.shaped, len(programme.coordinates)
    return Control(
        name=programme.name,
        coordinates=programme.coordinates,
        t=shaped(motion.t),
        forces=shaped(F, n),
        torques={joint: shaped(torque, *torque.shape[1:]) for joint, torque in found.torques.items()},
        multipliers={name: shaped(each, each.shape[1]) for name, each in found.multipliers.items()},
        reactions={joint: shaped(wrench, 6) for joint, wrench in found.reactions.items()},
        rest=shaped(np.zeros_like(F), n),
        units={joint: "N" if {*kind.velocity_units} == {"m"} else "N m" for joint, kind in kinds.items()},
        redundant=shaped(found.redundant).astype(int)[()],
        notes=tuple(found.notes),
    )
