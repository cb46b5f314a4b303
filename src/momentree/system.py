"""System: the front door. A frozen mechanism, and methods that each call one room of the library in a few lines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.activity import showing
from momentree.analyse.evaluated_mechanism import EvaluatedMechanism, evaluated_mechanism
from momentree.analyse.system_quantities import SystemQuantities
from momentree.assembly.given_values import arguments_by_state_of, given_values, refuse_locked, takes_state
from momentree.compile.execute.arrays import Array, coordinates, matrix, scalars, vector
from momentree.compile.execute.compiled_methods import CODES, compiled
from momentree.equations.evaluation import Evaluation
from momentree.errors import MomentreeError, renamed, spell_checked, suggestion
from momentree.export.program_exports import ProgramExports
from momentree.look.system_views import SystemViews
from momentree.model import Model
from momentree.model.values import Values
from momentree.structure import Mechanism, Structure, freeze
from momentree.structure.free_parameters import FreeParameters, values_in
from momentree.structure.freeze import checked_tolerance
from momentree.structure.given import Given
from momentree.structure.switched_constraints import acting_where

if TYPE_CHECKING:
    from momentree.analyse.actuation import Actuation
    from momentree.analyse.mobility import Mobility
    from momentree.analyse.redundancy import Toggle
    from momentree.assembly.state import State, States
    from momentree.equations.balance import Energy
    from momentree.results.run import Run
    from momentree.simulate.many import Motions
    from momentree.symbols.equations import Equations
    from momentree.symbols.hamilton import HamiltonEquations

Named = Mapping[str, Any] | None  # numbers by name
VIEWS = 16  # systems with other values of free parameters that are remembered, at most


@spell_checked
class System(SystemViews, SystemQuantities, ProgramExports):
    """A mechanism ready for computation; it holds no state. Made by `Model.build`.

    Parameters that were left free (`m.build(free=["k"])`) have the values that the model gives them. `parameters=` of a
    method replaces some of them for this call, by name; `with_parameters` returns a system that keeps them.
    """

    def __init__(self, mechanism: Mechanism, model: Model, code: str | None = None):
        self.mechanism, self._model, self.code = mechanism, model, code

    @classmethod
    def of(cls, model: Model, free: Collection[str] = (), code: str | None = None, tolerance: Any = None) -> System:
        """The system of a model, or one error with every problem."""
        snapshot = model.copied()  # the user may change the model later
        if code is not None and code not in CODES:
            raise MomentreeError(f"build: there is no code '{code}'.{suggestion(code, CODES)}")
        free = free if isinstance(free, str) else tuple(dict.fromkeys([*free, *(said.name for said in model.inputs)]))
        mechanism = freeze(model, free, tolerance)
        if tolerance is not None:
            mechanism = mechanism.with_given(Given(tolerance=mechanism.set_tolerance))
        snapshot.bodies = [body.with_digests() for body in snapshot.bodies]
        return cls(mechanism, snapshot, code)

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.mechanism.name

    @cached_property
    def structure(self) -> Structure:
        """The graph, its proper numbering, spanning tree, matrices and loops, with names."""
        return Structure(self.mechanism)

    @property
    def nq(self) -> int:
        """Number of generalized coordinates of the spanning tree."""
        return self.mechanism.nq

    @property
    def nv(self) -> int:
        """Number of generalized velocities of the spanning tree."""
        return self.mechanism.nv

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of its inputs, which are free parameters (docs/inputs.md)."""
        return self.mechanism.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of its outputs."""
        return tuple(output.name for output in self._model.outputs)

    # --- free parameters ---

    @property
    def parameters(self) -> dict[str, float]:
        """The values of the parameters that were left free, by name."""
        return values_in(self.mechanism)

    def with_parameters(self, values: Named = None, /, **named: Any) -> System:
        """The same system with other values of free parameters, checked as those of a model; no recompilation.

        >>> stiffer = system.with_parameters(k=200.0)   # doctest: +SKIP
        """
        chosen = {**(values or {}), **named} if isinstance(values, Mapping) or values is None else values
        return self.at(Given(chosen))

    @property
    def given(self) -> Given:
        """What was given on top of the definitions of the model."""
        return self.mechanism.given

    def at(self, given: Given) -> System:
        """The same system with what is given on top of what it has; values are checked as those of a model."""
        if isinstance(given.parameters, Mapping) and not given.parameters and given.tolerance is None:
            return self
        tolerance = checked_tolerance(self.mechanism, given.tolerance)
        laid = self.given.under(Given(self._free.single(given.parameters), tolerance=tolerance))
        key = (*sorted(laid.parameters.items()), laid.tolerance)
        views: dict[Any, System] = vars(self).setdefault("_views", {})
        if key not in views:
            if len(views) >= VIEWS:
                del views[next(iter(views))]
            views[key] = self._viewed(laid)
        return views[key]

    def _viewed(self, given: Given) -> System:
        model = self._free.model_with(given.parameters)
        view = System(self.mechanism.with_given(given), model, self.code)
        if view.mechanism.set_tolerance == self.mechanism.set_tolerance:  # which code may depend on
            for made in ("_code_of_phases", "_kernels"):
                vars(view)[made] = vars(self).setdefault(made, {})
        vars(view)["_free"] = self._free.of(model)
        return view

    def _acting(self, inactive: frozenset[str] | None) -> System:
        """The same system as it acts where these constraints do not, as in a state of a run; None: as it is."""
        mechanism = acting_where(self.mechanism, inactive)
        if mechanism is self.mechanism:
            return self
        views: dict[Any, System] = vars(self).setdefault("_views", {})
        if inactive not in views:
            views[inactive] = System(mechanism, self._model, self.code)
            vars(views[inactive])["_free"] = self._free
        return views[inactive]

    @cached_property
    def _free(self) -> FreeParameters:
        return FreeParameters(self._model, self.mechanism.free)

    @property
    def mobility(self) -> int:
        """Degrees of freedom: velocities of the tree less the rank of the constraint Jacobian, that of rolling too."""
        return self.mobility_report.true

    @cached_property
    def mobility_report(self) -> Mobility:
        """Degrees of freedom, Gruebler's count, rank, redundant and nonholonomic constraints by name."""
        from momentree.analyse.mobility import mobility

        return mobility(self._numeric)

    def mobility_at(self, state: State | Any = None, *, parameters: Named = None) -> Mobility:
        """The same report for other values of free parameters, or at a state or coordinates q with closed loops."""
        from momentree.analyse.mobility import mobility

        given = given_values(self, state, parameters, what="mobility_at")
        refuse_locked(self.mechanism, given, "mobility_at")
        at = self.at(given)._acting(given.inactive)
        return at.mobility_report if state is None else mobility(at._numeric, state)

    @renamed(rates="velocities")
    def assemble(
        self,
        given: Named = None,
        velocities: Named = None,
        guess: Named | State = None,
        t: float = 0.0,
        tolerance: float | None = None,
        *,
        parameters: Named = None,
    ) -> State:
        """The state with the given coordinates and velocities at which every loop is closed, nearest to the guess.

        Without a guess, nearest to the start of the model, if it has one, or to zero within the limits of the joints.

        Redundant constraints may stay open by `tolerance` (m), the model's unless given: see `State.closure_error`.

        >>> start = system.assemble({"A": 1.0}, velocities={"A": 0.0}, guess={"D": -0.5})   # doctest: +SKIP
        """
        from momentree.assembly.assemble import assemble, own_guess

        at = self.at(given_values(self, None, parameters, tolerance=tolerance))
        near = own_guess(at._numeric, at._model) if guess is None else guess
        return assemble(at._numeric, given, velocities, near, t)

    @renamed(rates="velocities")
    def assemble_many(
        self,
        given: Named = None,
        velocities: Named = None,
        guess: Any = None,
        t: float = 0.0,
        *,
        parameters: Named = None,
        strict: bool = True,
        follow: bool | None = None,
        progress: bool | None = None,
    ) -> States:
        """Many states at once, each as `assemble` finds it: numbers may be arrays of one length, or single.

        One that cannot be closed raises an error with its index and the reason; unless `strict`, it is a row of NaN.
        A sweep, whose values go one way or along a path, stays on the branch of its first row; `States.branch` and a
        warning tell where it cannot. follow=True or False says whether rows are one; else it is seen from the values.

        >>> starts = system.assemble_many({"A": np.linspace(0, 1, 2048)}, guess={"D": 0.5})   # doctest: +SKIP
        """
        from momentree.assembly.batch_assembly import assemble_many

        with showing(progress):
            return assemble_many(self, given, velocities, guess, t, parameters or {}, strict, follow)

    @renamed(rates="velocities")
    def start(self, given: Named = None, velocities: Named = None, *, parameters: Named = None) -> State:
        """The initial state of the model, with every loop closed; arguments replace the values of the model.

        A model without a start begins where `assemble` puts it.
        """
        from momentree.assembly.assemble import initial_state

        at = self.with_parameters(parameters)
        return initial_state(at._numeric, at._model, given, velocities)

    @property
    def t_end(self) -> float | None:
        """End time of the model's motion (s); None if it has none."""
        said = self._model.start
        return None if said is None else said.times(Values(dict(self._model.parameters)))[1]

    def branches(
        self, given: Named = None, guess: Named | State = None, t: float = 0.0, *, parameters: Named = None
    ) -> list[State]:
        """All assembly branches with the given coordinates: states that close the loops, nearest to the guess first."""
        from momentree.assembly.assemble import branches, own_guess

        at = self.with_parameters(parameters)
        return branches(at._numeric, given, own_guess(at._numeric, at._model) if guess is None else guess, t)

    # --- kinematics; leading axes of q, v, ..., parameters are batches and broadcast ---

    @takes_state
    def position(self, q: State | Any, frame: Any, t: float = 0.0, *, parameters: Named = None) -> Array:
        """Forward kinematics: the origin of a frame in inertial space (m); a body stands for its own frame."""
        from momentree.equations.kinematics import frame_placement, records

        at = self._at(parameters)
        placed = records(Evaluation(at.mechanism, coordinates(self.mechanism, q), t, at.names))
        return vector([*frame_placement(placed, at.attached(frame)).offset], q, at.batch)

    @takes_state
    def jacobian(self, q: State | Any, frame: Any, t: float = 0.0, *, parameters: Named = None) -> Array:
        """Geometric Jacobian, 6 x nv: the twist of the frame (origin's velocity, angular velocity) in inertial axes."""
        from momentree.equations.kinematics import frame_jacobian, records

        at = self._at(parameters)
        placed = records(Evaluation(at.mechanism, coordinates(self.mechanism, q), t, at.names))
        columns = frame_jacobian(at.mechanism, placed, at.attached(frame))
        return np.swapaxes(matrix([[*column] for column in columns], q, at.batch), -1, -2)

    @takes_state
    def energy(self, q: State | Any, v: Any = None, t: float = 0.0, *, parameters: Named = None) -> Energy:
        """Kinetic and potential energy (J): `.kinetic`, `.potential`, `.total`."""
        from momentree.equations.balance import Energy, energy

        at = self._at(parameters)
        both = energy(Evaluation(at.mechanism, coordinates(self.mechanism, q), t, at.names), scalars(v, self.nv, "v"))
        kinetic, potential = np.moveaxis(vector(both, q, v, at.batch), -1, 0)
        return Energy(kinetic[()], potential[()])

    @takes_state
    def momentum(self, q: State | Any, v: Any = None, t: float = 0.0, *, parameters: Named = None) -> Array:
        """Linear (kg m/s) and angular (kg m2/s, about the inertial origin) momentum, in inertial axes."""
        from momentree.equations.balance import momentum

        at = self._at(parameters)
        where = Evaluation(at.mechanism, coordinates(self.mechanism, q), t, at.names)
        return vector([*momentum(where, scalars(v, self.nv, "v"))], q, v, at.batch)

    def _at(self, parameters: Named) -> EvaluatedMechanism:
        """The mechanism at values of its free parameters: in floats or, where they are many, in batches."""
        return evaluated_mechanism(self, parameters)

    # --- dynamics of the tree, with all forces of the model: M v' + bias = tau; forward dynamics closes loops too.
    # compiled at the first call; batches run on at most `threads` cores, into `out` where it is given ---

    @compiled
    def mass_matrix(
        self, q: Any, t: Any = 0.0, *, out: Array | None = None, threads: int | None = None, parameters: Named = None
    ) -> Array:
        """The joint-space mass matrix M(q) of the tree, nv x nv (CRBA)."""
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
        parameters: Named = None,
    ) -> Array:
        """Bias forces: generalized forces for v' = 0. ALL forces of the model are in it, not the inertial terms alone.

        It is `coriolis_forces` - `generalized_forces`: Coriolis and centrifugal terms, gravity, springs, dampers, laws.
        """
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
        parameters: Named = None,
    ) -> Array:
        """The generalized forces, besides those of the model, for which the tree accelerates with vdot (RNEA)."""
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
        parameters: Named = None,
    ) -> Array:
        """The accelerations v' under the forces of the model and generalized forces tau (ABA, or by solving).

        Loops keep their closure error, J v' + J' v = 0 with the constraint Jacobian J, by Lagrange multipliers from the
        Delassus matrix J M^-1 J'. So q and v must close them (`assemble`).
        """
        return self._quantity("forward_dynamics")(q, v, tau, t, out=out, threads=threads, parameters=parameters)

    @takes_state
    def actuation(
        self, q: Any, v: Any, vdot: Any, joints: Sequence[str], t: Any = 0.0, *, parameters: Named = None
    ) -> Actuation:
        """Inverse dynamics with closed loops: joint torques for a motion, and all reaction forces (`Actuation`).

        The motion must keep the loops closed, and satisfy gears, rolling and other constraints. `vdot` holds the
        derivatives of all velocities, or by name those of some joints that determine the others. Any joints may be
        actuated, those that close loops too. If they are too few, the error names the motion that nothing drives; if
        they are too many, the torques have the least norm.

        >>> result = system.actuation(start.q, start.v, {"A": 0.0}, joints=["A"])   # doctest: +SKIP
        """
        from momentree.analyse.actuation import actuation

        return actuation(self.with_parameters(parameters)._numeric, q, v, vdot, joints, t)

    def toggles(self, run: Run, driven: Sequence[str] = ()) -> tuple[Toggle, ...]:
        """The instants of a run at which its loops are singular, or nearly: the motion could branch there.

        With `driven` joints, also those at which these could not drive it: dead centers.
        """
        from momentree.analyse.redundancy import toggles

        return toggles(run, driven)

    def _quantity(self, what: str) -> Callable[..., Array]:
        """The function of a quantity, the same at every call."""
        from momentree.compile.execute.callables import Quantity

        made: dict[str, Callable[..., Array]] = vars(self).setdefault("_quantities", {})
        if what not in made:
            doc, kernels = getattr(System, what).__doc__, vars(self).setdefault("_kernels", {})
            how = (self.code, self._free, kernels, arguments_by_state_of)
            made.setdefault(what, Quantity(self.mechanism, what, doc, *how).fastest())
        return made[what]

    def __getstate__(self) -> dict[str, Any]:
        """Without machine code, which belongs to this process."""
        made = {"symbols", "_quantities", "_code_of_phases", "_kernels", "_views", *vars(self).get("_quantities", ())}
        return {name: value for name, value in vars(self).items() if name not in made}

    @renamed(closure="stabilization")
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
        events: Named = None,
        path: str | PathLike[str] | None = None,
        progress: Any = None,
        *,
        parameters: Named = None,
        inputs: Named = None,
        if_stiff: str | None = None,
        rtol_if_stiff: float | None = None,
    ) -> Run:
        """Simulate from a start to t_end (s), both the model's own unless given; `Settings` has all choices.

        The integrator is "dop853" unless given, and "radau9" goes on where the motion is found to be stiff, or begins
        if the model says so; one that is given stays, unless `if_stiff` names another. Step sizes follow from rtol and
        atol or, if they are fixed, are `step`. `stabilization` keeps loops closed: "project", "programme", "baumgarte",
        "baumgarte-velocity", "leak" or "none"; `gain` (1/s) is the decay rate of closure errors that it aims at.
        `events` are expressions by name, whose zero crossings are noted, or `Event`s, which may end the motion.
        `inputs` by name are numbers, (t, values), laws as text or `sampled` functions (docs/inputs.md).
        With `verify`, the global error is estimated by a second, more accurate simulation: `run.error`.
        With a path, samples are written there while they are computed, and are never lost (docs/results.md).

        >>> run = system.simulate(system.assemble({"A": 1.0}), t_end=10.0, every=0.01)   # doctest: +SKIP
        """
        from momentree.results.simulated_run import simulated_run

        chosen: dict[str, Any] = {"formulation": formulation, "stabilization": stabilization, "every": every}
        chosen |= {"integrator": integrator, "gain": gain, "rtol": rtol, "atol": atol, "step": step}
        chosen |= {"verify": verify, "t_end": t_end, "if_stiff": if_stiff, "rtol_if_stiff": rtol_if_stiff}
        return simulated_run(self, start, events, inputs, parameters, path, progress, **chosen)

    @renamed(closure="stabilization")
    def simulate_many(
        self,
        q: Any,
        v: Any = None,
        t_end: float | None = None,
        parameters: Named = None,
        t: float | None = None,
        threads: int | None = None,
        progress: bool | None = None,
        inputs: Named = None,
        device: str = "cpu",
        **settings: Any,
    ) -> Motions:
        """Simulate from many starts, q (m, nq) and v (m, nv), or with many values of free parameters, as one batch.

        Instead of q and v, the states of `assemble_many` or a list of states, each with its own values of parameters.
        `inputs` are constant in each motion: numbers, or one for each. All take one integrator, "radau9" if the model
        says that it is stiff, and stay with it. device="gpu", or "gpu:1" of several, gives the same bits, computed on a
        GPU (docs/gpu.md).

        >>> motions = system.simulate_many(Q, V, t_end=2.0, every=0.01)   # doctest: +SKIP
        >>> motions = system.simulate_many(system.assemble_many({"A": A}), t_end=2.0, every=0.01)   # doctest: +SKIP
        """
        from momentree.simulate.many import simulate_many

        with showing(progress):
            chosen = {"t_end": t_end, **settings}
            return simulate_many(self, q, v, chosen, parameters, t, threads, inputs, device)

    @renamed(rates="velocities")
    def equations(
        self, by: str = "energy", velocities: Mapping[str, str] | None = None, reduced: bool | Sequence[str] = False
    ) -> Equations | HamiltonEquations:
        """Equations of motion A u' + b = Q + J' lambda in symbols, by any formalism: see docs/equations.md.

        Choose "energy", "aggregative", "lagrange", "hamiltonian" or "newton_euler"; `.derivation()` shows the steps.
        With `reduced`, Lagrange multipliers and dependent velocities are eliminated; it may name those that remain.
        """
        from momentree.compile.trace.quantities import operation_count
        from momentree.symbols.equations import derive, freed

        def start() -> list[float]:
            return [float(x) for x in self.start().q]

        return derive(freed(self._model), by, velocities, reduced, start, operation_count)

    @cached_property
    def _numeric(self) -> Mechanism:
        """The mechanism in floats; free parameters have the values that the model gives them."""
        return self.mechanism.at_defaults()

    def __repr__(self) -> str:
        m = self.mechanism
        return f"System('{m.name}': {len(m.bodies)} bodies, nv={m.nv}, loops={len(m.loops)})"
