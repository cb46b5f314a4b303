"""System: the front door. A frozen mechanism, and methods that each call one room."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from momentree.compile.execute.arrays import Array, coordinates, matrix, scalars, vector
from momentree.compile.execute.compiled_methods import CODES, compiled
from momentree.equations.evaluation import Evaluation
from momentree.errors import AssemblyError, MomentreeError, suggestion
from momentree.model import Model
from momentree.model.expressions.expression import Reference
from momentree.model.model import as_frame
from momentree.model.values import Values
from momentree.structure import Mechanism, Structure, freeze
from momentree.structure.free_parameters import FreeParameters, values_in
from momentree.structure.freeze import checked_tolerance
from momentree.structure.mechanism import Attached

if TYPE_CHECKING:
    from momentree.analyse.actuation import Actuation
    from momentree.analyse.mobility import Mobility
    from momentree.analyse.redundancy import Toggle
    from momentree.assembly.batch_assembly import States
    from momentree.assembly.state import State
    from momentree.equations.balance import Energy
    from momentree.results.run import Run
    from momentree.simulate.many import Motions
    from momentree.symbols.equations import Equations


Parameters = Mapping[str, Any]
VIEWS = 16  # systems with other values of free parameters that are remembered, at most


class System:
    """A mechanism ready for work; it holds no state. Made by `Model.build`.

    Parameters that were left free (`m.build(free=["k"])`) have the values that the model gives them. `parameters=` of a
    method is other values, by name, for this call; `with_parameters` gives a system that keeps them.
    """

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
        """Number of velocities of the tree."""
        return self.mechanism.nv

    # --- free parameters ---

    @property
    def parameters(self) -> dict[str, float]:
        """The values of the parameters that were left free, by name."""
        return values_in(self.mechanism)

    def with_parameters(self, values: Parameters | None = None, /, **named: Any) -> System:
        """The same system with other values of free parameters, checked as the numbers of a model are; the same code.

        >>> stiffer = system.with_parameters(k=200.0)   # doctest: +SKIP
        """
        given = {**(values or {}), **named} if isinstance(values, Mapping) or values is None else values
        if not given and isinstance(given, Mapping):
            return self
        row = self._free.single(given)
        views: dict[tuple[float, ...], System] = vars(self).setdefault("_views", {})
        if row not in views:
            if len(views) >= VIEWS:
                del views[next(iter(views))]
            views[row] = self._viewed(row)
        return views[row]

    def _viewed(self, row: tuple[float, ...]) -> System:
        model = self._free.model_with(row)
        view = System(self.mechanism.with_values(Values(dict(model.parameters))), model, self.code)
        for made in ("_code_of_phases", "_kernels"):
            vars(view)[made] = vars(self).setdefault(made, {})
        vars(view)["_free"] = self._free.of(model)
        return view

    @cached_property
    def _free(self) -> FreeParameters:
        return FreeParameters(self._model, self.mechanism.free)

    @property
    def mobility(self) -> int:
        """The true number of freedoms, redundant rows not counted."""
        return self.mobility_report.true

    @cached_property
    def mobility_report(self) -> Mobility:
        """Gruebler's count, the true mobility, rank, and the redundant rows by name."""
        from momentree.analyse.mobility import mobility

        return mobility(self._numeric)

    def mobility_at(self, state: State | None = None, *, parameters: Parameters | None = None) -> Mobility:
        """The same report for other values of free parameters, or at a state instead of where `assemble` closes."""
        from momentree.analyse.mobility import mobility

        at = self.with_parameters(parameters)
        return at.mobility_report if state is None else mobility(at._numeric, state)

    def assemble(
        self,
        given: Mapping[str, Any] | None = None,
        velocities: Mapping[str, Any] | None = None,
        guess: Mapping[str, Any] | State | None = None,
        t: float = 0.0,
        tolerance: float | None = None,
        *,
        parameters: Parameters | None = None,
    ) -> State:
        """The state with the given coordinates and velocities that closes every loop, on the branch nearest to the guess.

        Redundant constraints may stay open by `tolerance` (m), the model's unless given: `State.closure` tells it.

        >>> start = system.assemble({"A": 1.0}, velocities={"A": 0.0}, guess={"D": -0.5})   # doctest: +SKIP
        """
        from momentree.assembly.assemble import assemble

        mechanism = self.with_parameters(parameters)._numeric
        return assemble(mechanism.with_tolerance(checked_tolerance(mechanism, tolerance)), given, velocities, guess, t)

    def assemble_many(
        self,
        given: Mapping[str, Any] | None = None,
        velocities: Mapping[str, Any] | None = None,
        guess: Any = None,
        t: float = 0.0,
        *,
        parameters: Parameters | None = None,
        strict: bool = True,
    ) -> States:
        """Many closed states at once, each as `assemble` finds it: numbers may be arrays, one or as many of each.

        One that cannot close is refused with its index and the reason; unless `strict`, it is a row of NaN.

        >>> starts = system.assemble_many({"A": np.linspace(0, 1, 2048)}, guess={"D": 0.5})   # doctest: +SKIP
        """
        from momentree.assembly.batch_assembly import assemble_many

        return assemble_many(self, given or {}, velocities or {}, guess, t, parameters or {}, strict)

    def start(
        self,
        given: Mapping[str, Any] | None = None,
        velocities: Mapping[str, Any] | None = None,
        *,
        parameters: Parameters | None = None,
    ) -> State:
        """The state at which the model says that motions begin, closed; what is given here replaces what it says.

        A model that says nothing begins where `assemble` puts it.
        """
        from momentree.assembly.assemble import begin

        at = self.with_parameters(parameters)
        return begin(at._numeric, at._model, given, velocities)

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
        *,
        parameters: Parameters | None = None,
    ) -> list[State]:
        """Every way to close the loops with the given coordinates, nearest to the guess first."""
        from momentree.assembly.assemble import branches

        return branches(self.with_parameters(parameters)._numeric, given, guess, t)

    # --- where it is and how it moves; leading axes of q, v, ..., parameters are batches and broadcast ---

    def position(self, q: State | Any, frame: Any, t: float = 0.0, *, parameters: Parameters | None = None) -> Array:
        """The origin of a frame in inertial space (m); a body stands for its own frame."""
        from momentree.assembly.state import State
        from momentree.equations.kinematics import frame_placement, records

        q, t = (q.q, q.t) if isinstance(q, State) else (q, t)
        at = self._at(parameters)
        placed = records(Evaluation(at.mechanism, coordinates(self.mechanism, q), t, at.names))
        return vector([*frame_placement(placed, at.attached(frame)).offset], q, at.batch)

    def jacobian(self, q: Any, frame: Any, t: float = 0.0, *, parameters: Parameters | None = None) -> Array:
        """6 x nv: velocity of the frame's origin, then angular velocity, in inertial axes, by each velocity."""
        from momentree.equations.kinematics import frame_jacobian, records

        at = self._at(parameters)
        placed = records(Evaluation(at.mechanism, coordinates(self.mechanism, q), t, at.names))
        columns = frame_jacobian(at.mechanism, placed, at.attached(frame))
        return np.swapaxes(matrix([[*column] for column in columns], q, at.batch), -1, -2)

    def energy(self, q: Any, v: Any, t: float = 0.0, *, parameters: Parameters | None = None) -> Energy:
        """Kinetic and potential energy (J): `.kinetic`, `.potential`, `.total`."""
        from momentree.equations.balance import Energy, energy

        at = self._at(parameters)
        found = energy(Evaluation(at.mechanism, coordinates(self.mechanism, q), t, at.names), scalars(v, self.nv, "v"))
        kinetic, potential = np.moveaxis(vector(found, q, v, at.batch), -1, 0)
        return Energy(kinetic[()], potential[()])

    def momentum(self, q: Any, v: Any, t: float = 0.0, *, parameters: Parameters | None = None) -> Array:
        """Linear (kg m/s) and angular (kg m2/s, about the inertial origin) momentum, in inertial axes."""
        from momentree.equations.balance import momentum

        at = self._at(parameters)
        found = momentum(
            Evaluation(at.mechanism, coordinates(self.mechanism, q), t, at.names), scalars(v, self.nv, "v")
        )
        return vector([*found], q, v, at.batch)

    def _at(self, parameters: Parameters | None) -> _At:
        """The mechanism at values of its free parameters: in floats or, where they are many, in batches."""
        if not parameters or all(np.ndim(value) == 0 for value in parameters.values()):
            numeric = self.with_parameters(parameters)._numeric
            return _At(numeric, {}, np.zeros(0), numeric)
        rows = self._free.rows(parameters)
        names = self._free.names_of(rows)
        opened = self.mechanism.with_values(self.mechanism.values.replaced({}, self.mechanism.free))
        return _At(self.mechanism.evaluated(names), names, rows, opened)

    # --- dynamics of the tree, with all forces of the model: M v' + bias = tau; forward dynamics closes loops too.
    # machine code, made at the first call; batches run on at most `threads` cores, into `out` where it is given ---

    @compiled
    def mass_matrix(
        self,
        q: Any,
        t: Any = 0.0,
        *,
        out: Array | None = None,
        threads: int | None = None,
        parameters: Parameters | None = None,
    ) -> Array:
        """M(q), nv x nv, of the tree (CRBA)."""
        return self._quantity("mass_matrix")(q, t, out=out, threads=threads, parameters=parameters)

    @compiled
    def bias(
        self,
        q: Any,
        v: Any,
        t: Any = 0.0,
        *,
        out: Array | None = None,
        threads: int | None = None,
        parameters: Parameters | None = None,
    ) -> Array:
        """What must act along the velocities for v' = 0: inertial terms, gravity and every force of the model."""
        return self._quantity("bias")(q, v, t, out=out, threads=threads, parameters=parameters)

    @compiled
    def inverse_dynamics(
        self,
        q: Any,
        v: Any,
        vdot: Any,
        t: Any = 0.0,
        *,
        out: Array | None = None,
        threads: int | None = None,
        parameters: Parameters | None = None,
    ) -> Array:
        """What must act along the velocities, besides the forces of the model, for the velocities to change with vdot (RNEA)."""
        return self._quantity("inverse_dynamics")(q, v, vdot, t, out=out, threads=threads, parameters=parameters)

    @compiled
    def forward_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        t: Any = 0.0,
        *,
        out: Array | None = None,
        threads: int | None = None,
        parameters: Parameters | None = None,
    ) -> Array:
        """How the velocities change under the forces of the model and tau along the velocities (ABA, or by solving).

        Loops stay as they are: J v' + J' v = 0. So q and v must close them (`assemble`).
        """
        return self._quantity("forward_dynamics")(q, v, tau, t, out=out, threads=threads, parameters=parameters)

    def actuation(
        self,
        q: Any,
        v: Any,
        vdot: Any,
        joints: Sequence[str],
        t: Any = 0.0,
        *,
        parameters: Parameters | None = None,
    ) -> Actuation:
        """The torques at some joints that make it move as given, and all reactions: inverse dynamics with loops closed.

        The motion must keep the loops closed. `vdot` holds the derivatives of all velocities, or by name those of some
        joints from which the others follow. Any joints may be actuated, those that close loops too; too few are
        refused, naming the motion that nothing drives, and of too many the shortest torques are given (`Actuation`).

        >>> found = system.actuation(start.q, start.v, {"A": 0.0}, joints=["A"])   # doctest: +SKIP
        """
        from momentree.analyse.actuation import actuation

        return actuation(self.with_parameters(parameters)._numeric, q, v, vdot, joints, t)

    def toggles(self, run: Run, driven: Sequence[str] = ()) -> tuple[Toggle, ...]:
        """The instants of a run at which its loops are singular, or nearly: it could go on in more ways than one there.

        With `driven` joints those too at which these could not drive it: dead centres.
        """
        from momentree.analyse.redundancy import toggles

        return toggles(run, driven)

    def _quantity(self, what: str) -> Callable[..., Array]:
        """The function of a quantity, the same at every call."""
        from momentree.compile.execute.callables import Quantity

        made: dict[str, Callable[..., Array]] = vars(self).setdefault("_quantities", {})
        if what not in made:
            doc, kernels = vars(System)[what].__doc__, vars(self).setdefault("_kernels", {})
            made.setdefault(what, Quantity(self.mechanism, what, doc, self.code, self._free, kernels).fastest())
        return made[what]

    def __getstate__(self) -> dict[str, Any]:
        """Without machine code, which is of this process."""
        made = {"_quantities", "_code_of_phases", "_kernels", "_views", *vars(self).get("_quantities", ())}
        return {name: value for name, value in vars(self).items() if name not in made}

    def simulate(
        self,
        start: State | None = None,
        t_end: float | None = None,
        formulation: str = "hamiltonian",
        stabilization: str = "project",
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
        *,
        parameters: Parameters | None = None,
    ) -> Run:
        """The motion from a start to t_end (s), both the model's own unless given; `Settings` tells what can be chosen.

        The integrator is "dop853" unless given, "radau" where the model says that its motion is stiff.
        `events` are expressions by name, whose passages through zero are noted, or `Event`s, which may end the motion.
        With `verify`, the error is estimated by a second, more accurate simulation: `run.error`.
        With a path, what was computed is written there while it runs, and survives whatever happens (docs/results.md).

        >>> run = system.simulate(system.assemble({"A": 1.0}), t_end=10.0, every=0.01)   # doctest: +SKIP
        """
        from momentree.integrate.methods import default_integrator
        from momentree.results.recorder import record
        from momentree.simulate.simulation import new_simulation

        at = self.with_parameters(parameters)
        said = at._model.start
        suits = default_integrator(stiff=said is not None and said.stiff)
        chosen: dict[str, Any] = {
            "formulation": formulation,
            "stabilization": stabilization,
            "integrator": integrator or suits,
        }
        chosen |= {"gain": gain, "rtol": rtol, "atol": atol, "step": step, "every": every, "verify": verify}
        chosen["t_end"] = at.t_end if t_end is None else t_end
        if chosen["t_end"] is None:
            raise MomentreeError("simulate: say when to end, t_end= in seconds; the model does not.")
        begin: Any = at.start() if start is None and said is not None else start
        if parameters is None:
            self._refuse_other_parameters(begin)
        return record(new_simulation(at, begin, events, **chosen), path, progress)

    def _refuse_other_parameters(self, start: Any) -> None:
        """A start with other values of free parameters than the run: one of the two is not what was meant."""
        theirs, ours = getattr(start, "parameters", {}), self.parameters
        other = {name: value for name, value in theirs.items() if value != ours.get(name, value)}
        if other:
            told = ", ".join(f"{name} = {value:g}, not {ours[name]:g}" for name, value in other.items())
            message = f"simulate: the start was made with {told}. Give parameters=start.parameters"
            raise MomentreeError(f"{message}, or parameters={{}} to go on with those of the system.")

    def simulate_many(
        self,
        q: Any,
        v: Any = None,
        t_end: float | None = None,
        parameters: Parameters | None = None,
        t: float | None = None,
        threads: int | None = None,
        **settings: Any,
    ) -> Motions:
        """Motions from many starts, q (m, nq) and v (m, nv), or with many values of free parameters, computed together.

        Instead of q and v, `assemble_many`'s states or a list of states, each with its own values of parameters.

        >>> motions = system.simulate_many(Q, V, t_end=2.0, every=0.01)   # doctest: +SKIP
        >>> motions = system.simulate_many(system.assemble_many({"A": A}), t_end=2.0, every=0.01)   # doctest: +SKIP
        """
        from momentree.simulate.many import simulate_many
        from momentree.simulate.settings import settings_of

        end = self.t_end if t_end is None else t_end
        if end is None:
            raise MomentreeError("simulate_many: say when to end, t_end= in seconds; the model does not.")
        return simulate_many(self, q, v, settings_of(t_end=end, **settings), parameters, t, threads)

    def export_c(
        self,
        path: str | PathLike[str],
        what: str | Iterable[str] = ("mass_matrix", "bias", "inverse_dynamics", "forward_dynamics"),
    ) -> None:
        """Write functions of the tree's dynamics in C99, `path` and a header beside it (docs/export-c.md)."""
        from momentree.compile.emit.c_files import write_c

        write_c(self.mechanism, path, what)

    def equations(self, by: str = "energy", velocities: Mapping[str, str] | None = None) -> Equations:
        """A u' + b = Q of the tree in symbols, by "energy" or "aggregative" forms: see `Equations`."""
        from momentree.symbols.equations import derive, freed

        return derive(freed(self._model), by, velocities)

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


class _At(NamedTuple):
    """A mechanism at values of its free parameters.

    | field     | meaning                                                                |
    |-----------|------------------------------------------------------------------------|
    | mechanism | in floats, or in batches                                               |
    | names     | what laws call the parameters; none in floats, whose laws have them in |
    | batch     | an array with the leading axes of the parameters                       |
    | opened    | the same mechanism before it was put into batches                      |
    """

    mechanism: Mechanism
    names: Mapping[Reference, Array]
    batch: Array
    opened: Mechanism

    def attached(self, frame: Any) -> Attached:
        """A user's frame, whose position may depend on parameters too."""
        return self.opened.attach(as_frame(frame)).evaluated(self.names)
