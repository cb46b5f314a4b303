"""System: the front door. A frozen mechanism, and methods that each call one room."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.compile.methods import CODES, compiled
from momentree.equations.batches import Array, coordinates, matrix, scalars, vector
from momentree.errors import AssemblyError, MomentreeError, suggestion
from momentree.model import Model
from momentree.model.model import as_frame
from momentree.model.values import Values
from momentree.structure import Mechanism, Structure, freeze
from momentree.structure.freeze import checked_tolerance

if TYPE_CHECKING:
    from momentree.analyse.actuation import Actuation
    from momentree.analyse.mobility import Mobility
    from momentree.analyse.redundancy import Toggle
    from momentree.equations.balance import Energy
    from momentree.simulate.many import Motions
    from momentree.simulate.run import Run
    from momentree.simulate.state import State
    from momentree.symbols.equations import Equations


class System:
    """A mechanism ready for work; it holds no state. Made by `Model.build`."""

    def __init__(self, mechanism: Mechanism, model: Model, code: str | None = None):
        self.mechanism, self._model, self.code = mechanism, model, code

    @classmethod
    def of(cls, model: Model, free: Collection[str] = (), code: str | None = None, tolerance: Any = None) -> System:
        """The system of a model, or one error with every problem."""
        kept = copy.copy(model)
        vars(kept).update({name: copy.copy(part) for name, part in vars(model).items()})  # it may change later
        if code is not None and code not in CODES:
            raise MomentreeError(f"code '{code}': choose 'straight-line' or 'rolled'.{suggestion(code, CODES)}")
        return cls(freeze(model, free, tolerance), kept, code)

    @property
    def name(self) -> str:
        """What the model is called."""
        return self.mechanism.name

    @cached_property
    def structure(self) -> Structure:
        """The graph, its proper numbering, matrices and loops, with names."""
        return Structure(self.mechanism)

    @property
    def nq(self) -> int:
        """Number of coordinates of the tree."""
        return self.mechanism.nq

    @property
    def nv(self) -> int:
        """Number of rates of the tree."""
        return self.mechanism.nv

    @property
    def mobility(self) -> int:
        """The true number of freedoms, redundant rows not counted."""
        return self.mobility_report.true

    @cached_property
    def mobility_report(self) -> Mobility:
        """Gruebler's count, the true mobility, rank, and the redundant rows by name."""
        from momentree.analyse.mobility import mobility

        return mobility(self._numeric)

    def assemble(
        self,
        given: Mapping[str, Any] | None = None,
        rates: Mapping[str, Any] | None = None,
        guess: Mapping[str, Any] | State | None = None,
        t: float = 0.0,
        tolerance: float | None = None,
    ) -> State:
        """The state with the given coordinates and rates that closes every loop, on the branch nearest to the guess.

        Redundant constraints may stay open by `tolerance` (m), the model's unless given: `State.closure` tells it.

        >>> start = system.assemble({"A": 1.0}, rates={"A": 0.0}, guess={"D": -0.5})   # doctest: +SKIP
        """
        from momentree.simulate.assemble import assemble

        mechanism = self._numeric
        return assemble(mechanism.with_tolerance(checked_tolerance(mechanism, tolerance)), given, rates, guess, t)

    def start(self, given: Mapping[str, Any] | None = None, rates: Mapping[str, Any] | None = None) -> State:
        """The state at which the model says that motions begin, closed; what is given here replaces what it says.

        A model that says nothing begins where `assemble` puts it.
        """
        from momentree.simulate.assemble import begin

        return begin(self._numeric, self._model, given, rates)

    @property
    def t_end(self) -> float | None:
        """When the model says that motions end (s); None where it says nothing."""
        said = self._model.start
        return None if said is None else said.times(Values(dict(self._model.parameters)))[1]

    def branches(
        self,
        given: Mapping[str, Any] | None = None,
        guess: Mapping[str, Any] | State | None = None,
        t: float = 0.0,
    ) -> list[State]:
        """Every way to close the loops with the given coordinates, nearest to the guess first."""
        from momentree.simulate.assemble import branches

        return branches(self._numeric, given, guess, t)

    # --- where it is and how it moves; leading axes of q, v, ... are batches and broadcast ---

    def position(self, q: State | Any, frame: Any, t: float = 0.0) -> Array:
        """The origin of a frame in inertial space (m); a body stands for its own frame."""
        from momentree.equations.kinematics import frame_placement, records
        from momentree.simulate.state import State

        q, t = (q.q, q.t) if isinstance(q, State) else (q, t)
        placed = records(self._numeric, coordinates(self.mechanism, q), t=t)
        return vector([*frame_placement(placed, self._numeric.attach(as_frame(frame))).offset], q)

    def jacobian(self, q: Any, frame: Any, t: float = 0.0) -> Array:
        """6 x nv: velocity of the frame's origin, then angular velocity, in inertial axes, by each rate."""
        from momentree.equations.kinematics import frame_jacobian, records

        placed = records(self._numeric, coordinates(self.mechanism, q), t=t)
        columns = frame_jacobian(self._numeric, placed, self._numeric.attach(as_frame(frame)))
        return np.swapaxes(matrix([[*column] for column in columns], q), -1, -2)

    def energy(self, q: Any, v: Any, t: float = 0.0) -> Energy:
        """Kinetic and potential energy (J): `.kinetic`, `.potential`, `.total`."""
        from momentree.equations.balance import Energy, energy

        found = energy(self._numeric, coordinates(self.mechanism, q), scalars(v, self.nv, "v"), t)
        kinetic, potential = np.moveaxis(vector(found, q, v), -1, 0)
        return Energy(kinetic[()], potential[()])

    def momentum(self, q: Any, v: Any, t: float = 0.0) -> Array:
        """Linear (kg m/s) and angular (kg m2/s, about the inertial origin) momentum, in inertial axes."""
        from momentree.equations.balance import momentum

        found = momentum(self._numeric, coordinates(self.mechanism, q), scalars(v, self.nv, "v"), t)
        return vector([*found], q, v)

    # --- dynamics of the tree, with all forces of the model: M v' + bias = tau; forward dynamics closes loops too.
    # machine code, made at the first call; batches run on at most `threads` cores, into `out` where it is given ---

    @compiled
    def mass_matrix(self, q: Any, t: Any = 0.0, *, out: Array | None = None, threads: int | None = None) -> Array:
        """M(q), nv x nv, of the tree (CRBA)."""
        return self._quantity("mass_matrix")(q, t, out=out, threads=threads)

    @compiled
    def bias(self, q: Any, v: Any, t: Any = 0.0, *, out: Array | None = None, threads: int | None = None) -> Array:
        """What must act along the rates for v' = 0: inertial terms, gravity and every force of the model."""
        return self._quantity("bias")(q, v, t, out=out, threads=threads)

    @compiled
    def inverse_dynamics(
        self, q: Any, v: Any, vdot: Any, t: Any = 0.0, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """What must act along the rates, besides the forces of the model, for the rates to change with vdot (RNEA)."""
        return self._quantity("inverse_dynamics")(q, v, vdot, t, out=out, threads=threads)

    @compiled
    def forward_dynamics(
        self, q: Any, v: Any, tau: Any = None, t: Any = 0.0, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """How the rates change under the forces of the model and tau along the rates (ABA, or by solving).

        Loops stay as they are: J v' + J' v = 0. So q and v must close them (`assemble`).
        """
        return self._quantity("forward_dynamics")(q, v, tau, t, out=out, threads=threads)

    def actuation(self, q: Any, v: Any, vdot: Any, joints: Sequence[str], t: Any = 0.0) -> Actuation:
        """The torques at some joints that make it move as given, and all reactions: inverse dynamics with loops closed.

        The motion must keep the loops closed. `vdot` holds the derivatives of all rates, or by name those of some
        joints from which the others follow. Any joints may be actuated, those that close loops too; too few are
        refused, naming the motion that nothing drives, and of too many the shortest torques are given (`Actuation`).

        >>> found = system.actuation(start.q, start.v, {"A": 0.0}, joints=["A"])   # doctest: +SKIP
        """
        from momentree.analyse.actuation import actuation

        return actuation(self._numeric, q, v, vdot, joints, t)

    def toggles(self, run: Run, driven: Sequence[str] = ()) -> tuple[Toggle, ...]:
        """The instants of a run at which its loops are singular, or nearly: it could go on in more ways than one there.

        With `driven` joints those too at which these could not drive it: dead centres.
        """
        from momentree.analyse.redundancy import toggles

        return toggles(run, driven)

    def _quantity(self, what: str) -> Callable[..., Array]:
        """The function of a quantity, the same at every call."""
        from momentree.compile.callables import quantity

        made: dict[str, Callable[..., Array]] = vars(self).setdefault("_quantities", {})
        if what not in made:
            made.setdefault(what, quantity(self.mechanism, what, vars(System)[what].__doc__, self.code))
        return made[what]

    def __getstate__(self) -> dict[str, Any]:
        """Without machine code, which is of this process."""
        made = {"_quantities", "_code_of_phases", *vars(self).get("_quantities", ())}
        return {name: value for name, value in vars(self).items() if name not in made}

    def simulate(
        self,
        start: State | None = None,
        t_end: float | None = None,
        formulation: str = "hamiltonian",
        closure: str = "project",
        integrator: str | None = None,
        rtol: float | None = None,
        atol: float | None = None,
        step: float | None = None,
        every: float | None = None,
        gain: float = 5.0,
        verify: bool = False,
        events: Mapping[str, Any] | None = None,
        path: str | PathLike[str] | None = None,
        progress: Any = None,
    ) -> Run:
        """The motion from a start to t_end (s), both the model's own unless given; `Settings` tells what can be chosen.

        The integrator is "dop853" unless given, "radau" where the model says that its motion is stiff.
        `events` are expressions by name, whose passages through zero are noted, or `Event`s, which may end the motion.
        With `verify`, the error is estimated by a second, more accurate simulation: `run.error`.
        With a path, what was computed is written there while it runs, and survives whatever happens (docs/results.md).

        >>> run = system.simulate(system.assemble({"A": 1.0}), t_end=10.0, every=0.01)   # doctest: +SKIP
        """
        from momentree.simulate.recorder import record
        from momentree.simulate.simulate import simulation

        said = self._model.start
        suits = "radau" if said is not None and said.stiff else "dop853"
        chosen: dict[str, Any] = {"formulation": formulation, "closure": closure, "integrator": integrator or suits}
        chosen |= {"gain": gain, "rtol": rtol, "atol": atol, "step": step, "every": every, "verify": verify}
        chosen["t_end"] = self.t_end if t_end is None else t_end
        if chosen["t_end"] is None:
            raise MomentreeError("simulate: say when to end, t_end= in seconds; the model does not.")
        begin: Any = self.start() if start is None and said is not None else start
        return record(simulation(self, begin, events, **chosen), path, progress)

    def simulate_many(
        self,
        q: Any,
        v: Any,
        t_end: float,
        parameters: Mapping[str, Any] | None = None,
        t: float = 0.0,
        threads: int | None = None,
        **settings: Any,
    ) -> Motions:
        """Motions from many starts, q (m, nq) and v (m, nv), or with many values of free parameters, computed together.

        >>> motions = system.simulate_many(Q, V, t_end=2.0, every=0.01)   # doctest: +SKIP
        """
        from momentree.simulate.many import simulate_many
        from momentree.simulate.settings import settings_of

        return simulate_many(self, q, v, settings_of(t_end=t_end, **settings), parameters, t, threads)

    def export_c(
        self,
        path: str | PathLike[str],
        what: str | Iterable[str] = ("mass_matrix", "bias", "inverse_dynamics", "forward_dynamics"),
    ) -> None:
        """Write functions of the tree's dynamics in C99, `path` and a header beside it (docs/export-c.md)."""
        from momentree.compile.c_files import write_c

        write_c(self.mechanism, path, what)

    def equations(self, by: str = "energy", rates: Mapping[str, str] | None = None) -> Equations:
        """A u' + b = Q of the tree in symbols, by "energy" or "aggregative" forms: see `Equations`."""
        from momentree.symbols.equations import derive, freed

        return derive(freed(self._model), by, rates)

    @cached_property
    def _numeric(self) -> Mechanism:
        """The mechanism in floats; free parameters have the values that the model gives them."""
        return self.mechanism.at_defaults()

    def __str__(self) -> str:
        from momentree.look.tables import system_summary

        try:
            return system_summary(self.structure, self.mobility_report)
        except AssemblyError as error:
            return system_summary(self.structure, str(error))

    def __repr__(self) -> str:
        m = self.mechanism
        return f"System('{m.name}': {len(m.bodies)} bodies, nv={m.nv}, loops={len(m.loops)})"
