"""Quantities of mechanics at the front door: Coriolis matrix, aggregative forms, factors, constraint Jacobian, momenta.

| equations                                    | with                                                                  |
|----------------------------------------------|-----------------------------------------------------------------------|
| M v' + C v + g = tau + Q_applied             | `coriolis_matrix`, `gravity_forces`; Q = Q_applied - g                |
| M v' + bias = tau                            | bias = `coriolis_forces` - `generalized_forces`: all forces are in it |
| M v' + bias = tau + J' lambda, J v + j = 0   | `constraint_jacobian`, `constraint_drift`, `multipliers`              |

Everything but what says so is of the spanning tree: loops are open, reactions of loops are left out. docs/quantities.md
lists all of them with the letters of the papers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from momentree.analyse.mass_matrix_factors import MassMatrixFactors
from momentree.assembly.given_values import apart, takes_state
from momentree.compile.execute.arrays import Array, check_finite, coordinates, matrix, numbers, scalars, vector
from momentree.compile.execute.compiled_methods import compiled
from momentree.equations.aggregative import AggregativeForm
from momentree.equations.evaluation import Evaluation
from momentree.equations.hamiltonian_variables import HamiltonianVariables
from momentree.equations.kinematic_matrices import KinematicMatrices
from momentree.equations.kinematics import PartialVelocities, integrated, velocities_between
from momentree.spatial import Scalar
from momentree.structure.mechanism import Mechanism

if TYPE_CHECKING:
    from momentree.assembly.state import State
    from momentree.compile.emit.jax import JaxFunction
    from momentree.compile.execute.quantity_derivatives import QuantityDerivatives
    from momentree.symbols.quantities import SymbolicQuantities
    from momentree.system import System

Named = Mapping[str, Any] | None  # numbers by name


class SystemQuantities:
    """Quantities of a system; leading axes of q, v, tau, t and parameters are batches and broadcast."""

    # --- compiled at the first call, as mass_matrix is; `out` and `threads` as there ---

    @compiled
    def inverse_mass_matrix(
        self, q: Any, t: Any = 0.0, *, out: Array | None = None, threads: int | None = None, parameters: Named = None
    ) -> Array:
        """M(q)^-1 of the tree, nv x nv, by the elementary factors of M = U D U' in O(n^2); M is never formed.

        Belkov and Konoplev 1997, section 1. Its entry i, j is the acceleration i by a unit of the generalized force j.
        """
        return self._computed("inverse_mass_matrix")(q, t, out=out, threads=threads, parameters=parameters)

    @compiled
    def coriolis_matrix(
        self, q: Any, v: Any, t: Any = 0.0, *, out: Array | None = None, threads: int | None = None,
        parameters: Named = None,
    ) -> Array:  # fmt: skip
        """The Coriolis matrix C(q, v), nv x nv: C v are the centrifugal and Coriolis terms, and M' - 2 C is skew.

        C_ij = sum of dm (partial velocity i) . d/dt (partial velocity j): the Christoffel symbols of the first kind
        times v where v = q', and M' = C + C' for all joints. B of the aggregative form differs: `aggregative_matrix`.
        With prescribed joints or a moving ground, M' is the whole derivative, that with respect to time included.
        """
        return self._computed("coriolis_matrix")(q, v, t, out=out, threads=threads, parameters=parameters)

    @compiled
    def aggregative_matrix(
        self, q: Any, v: Any, t: Any = 0.0, *, out: Array | None = None, threads: int | None = None,
        parameters: Named = None,
    ) -> Array:  # fmt: skip
        """B(q, v) of the aggregative form A q'' + B q' = Q, nv x nv: Belkov and Konoplev 1997 (1.1), dots restored.

        B v = C v, but B is not the Coriolis matrix C: M' - 2 B is not skew.
        """
        return self._computed("aggregative_matrix")(q, v, t, out=out, threads=threads, parameters=parameters)

    @compiled
    def coriolis_forces(
        self, q: Any, v: Any, t: Any = 0.0, *, out: Array | None = None, threads: int | None = None,
        parameters: Named = None,
    ) -> Array:  # fmt: skip
        """The centrifugal and Coriolis terms C v (N, N m), nv: b of the first aggregative form; no gravity, no forces.

        Prescribed joints and a moving ground add the inertial terms of their own motion: there it is more than C v.
        """
        return self._computed("coriolis_forces")(q, v, t, out=out, threads=threads, parameters=parameters)

    @compiled
    def gravity_forces(
        self, q: Any, t: Any = 0.0, *, out: Array | None = None, threads: int | None = None, parameters: Named = None
    ) -> Array:
        """g(q) of M v' + C v + g = tau (N, N m), nv: the generalized forces that hold the tree against its weight."""
        return self._computed("gravity_forces")(q, t, out=out, threads=threads, parameters=parameters)

    @compiled
    def generalized_forces(
        self, q: Any, v: Any, t: Any = 0.0, *, out: Array | None = None, threads: int | None = None,
        parameters: Named = None,
    ) -> Array:  # fmt: skip
        """Q of M v' + coriolis_forces = Q + tau (N, N m), nv: all forces of the model, the weight included.

        Q_s is the virtual power of all active forces by a unit of velocity s. `bias` = `coriolis_forces` - Q.
        """
        return self._computed("generalized_forces")(q, v, t, out=out, threads=threads, parameters=parameters)

    @compiled
    def generalized_momenta(
        self, q: Any, v: Any, t: Any = 0.0, *, out: Array | None = None, threads: int | None = None,
        parameters: Named = None,
    ) -> Array:  # fmt: skip
        """The (Poisson) momenta p conjugate to v (N s, N m s), nv: p = M v, and what prescribed motion adds.

        Ivanov 2022 (5): p = A' mu. With closed loops it is p, not p*: see `hamiltonian_variables`.
        """
        return self._computed("generalized_momenta")(q, v, t, out=out, threads=threads, parameters=parameters)

    def _computed(self, what: str) -> Callable[..., Array]:
        return cast("System", self)._quantity(what)

    # --- forms and factors ---

    @takes_state
    def first_form(self, q: State | Any, v: Any = None, t: Any = 0.0, *, parameters: Named = None) -> AggregativeForm:
        """The first aggregative form, inertia alone: V, X, Y, Z of each body, and b with A q'' + b = Q.

        Belkov and Konoplev 1997 (2.1) to (2.4), with the term of changing joint axes that (2.2) lacks.
        """
        from momentree.equations.aggregative import first_form

        at = _Point.of(self, q, t, parameters, v)
        return at.form(first_form(at.evaluation, at.v))

    @takes_state
    def second_form(self, q: State | Any, v: Any = None, t: Any = 0.0, *, parameters: Named = None) -> AggregativeForm:
        """The second aggregative form, with gravity and every force of the model: A q'' + d = tau; d is its b.

        Belkov and Konoplev 1997 (3.1) to (3.6). d is the `bias`. Gravity enters as an acceleration of the ground.
        """
        from momentree.equations.aggregative import second_form

        at = _Point.of(self, q, t, parameters, v)
        return at.form(second_form(at.evaluation, at.v))

    @takes_state
    def mass_matrix_factors(self, q: State | Any, t: Any = 0.0, *, parameters: Named = None) -> MassMatrixFactors:
        """U and D of M = U D U', and the elementary matrices (transvections) whose product U is."""
        from momentree.equations.factors import factors

        at = _Point.of(self, q, t, parameters)
        found = factors(at.evaluation)
        U, D, D_inverse = (at.matrix(part) for part in found.matrices())
        moving = [body.v for body in at.mechanism.bodies if body.v.stop > body.v.start]
        return MassMatrixFactors(U, D, D_inverse, tuple(moving))

    # --- kinematics ---

    @takes_state
    def partial_velocities(
        self, q: State | Any, frame: Any, t: Any = 0.0, *, parameters: Named = None
    ) -> PartialVelocities:
        """Partial velocities v_s, w_s of a frame, or of a body's own frame, by each velocity, in inertial axes.

        The columns of `jacobian`, and what prescribed motion adds. Rusanov 2014, (3) to (5), in their correct form.
        """
        from momentree.equations.kinematics import partial_velocities

        at = _Point.of(self, q, t, parameters)
        linear, angular, *rest = partial_velocities(at.evaluation, at.attached(frame))
        parts = at.matrix(linear, columns=3), at.matrix(angular, columns=3)
        return PartialVelocities(*parts, *map(at.vector, rest))

    @takes_state
    def kinematic_matrices(self, q: State | Any, t: Any = 0.0, *, parameters: Named = None) -> KinematicMatrices:
        """S, T, A, B, v^r and phi of Ivanov 2022 (1), (2): S v = A q' + v^r, v = B q' + phi, dense, for study."""
        from momentree.equations.kinematic_matrices import kinematic_matrices

        at = _Point.of(self, q, t, parameters)
        C, A, v_r, S, T, B, phi = kinematic_matrices(at.evaluation)
        n, nv = len(v_r), at.mechanism.nv
        flat = at.matrix([row for C_i in C for row in C_i], columns=6)
        blocks = flat.reshape((*flat.shape[:-2], n // 6, 6, 6))
        A, S, T, B = (at.matrix(part, columns=size) for part, size in ((A, nv), (S, n), (T, n), (B, nv)))
        return KinematicMatrices(blocks, A, at.vector(v_r), S, T, B, at.vector(phi))

    # --- configurations: the group of each joint ---

    @property
    def neutral(self) -> Array:
        """The reference configuration q: zeros, and quaternions (0, 0, 0, 1)."""
        from momentree.assembly.configuration_space import reference

        return reference(cast("System", self).mechanism)

    def integrate(self, q: Any, v: Any) -> Array:
        """The coordinates reached from q in a unit of time at constant velocities v: q + v where v = q'.

        It is the exponential of each joint's group: of SO(3) for a ball, of SE(3) for a free joint. Loops may open.
        """
        mechanism = cast("System", self).mechanism
        return vector(integrated(mechanism, coordinates(mechanism, q), scalars(v, mechanism.nv, "v")), q, v)

    def difference(self, q0: Any, q1: Any) -> Array:
        """The velocities with which `integrate` leads from q0 to q1, nv; rotations of a ball go the shorter way."""
        mechanism = cast("System", self).mechanism
        start, end = (coordinates(mechanism, q, name) for q, name in ((q0, "q0"), (q1, "q1")))
        return vector(velocities_between(mechanism, start, end), q0, q1)

    def interpolate(self, q0: Any, q1: Any, s: Any) -> Array:
        """The coordinates between q0 (s = 0) and q1 (s = 1), at constant velocities from one to the other."""
        share = numbers(s, "s", "a number")
        check_finite(share, "s")
        return self.integrate(q0, share[..., None] * self.difference(q0, q1))

    # --- loops and constraints ---

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """The scalar constraints of loops, higher pairs and expressions that act at the start: rows of the Jacobian."""
        from momentree.assembly.configuration import constraint_names

        return tuple(constraint_names(cast("System", self)._numeric, on_velocities=True))

    @takes_state
    def constraint_jacobian(self, q: State | Any, t: Any = 0.0, *, parameters: Named = None) -> Array:
        """The constraint Jacobian J (loop Jacobian), rows x nv: constraint velocities are J v + `constraint_drift`.

        One row for each of `constraint_names`: of a closing joint, the velocity of its second frame as seen from the
        first, in axes of the first (m/s, rad/s). Ivanov's (3) has the six rows of split bodies in inertial axes.
        """
        at = _Point.of(self, q, t, parameters)
        return at.matrix([row.J for row in at.velocity_rows()], columns=at.mechanism.nv)

    @takes_state
    def constraint_drift(self, q: State | Any, t: Any = 0.0, *, parameters: Named = None) -> Array:
        """The constraint velocities j that prescribed motion and time alone cause (m/s, rad/s), rows."""
        at = _Point.of(self, q, t, parameters)
        return at.vector([row.drift for row in at.velocity_rows()])

    @takes_state
    def delassus_matrix(self, q: State | Any, t: Any = 0.0, *, parameters: Named = None) -> Array:
        """The Delassus matrix Phi = J M^-1 J', rows x rows: constraint velocities by unit impulses. Ivanov 2022 (7).

        It is singular where constraints are redundant.
        """
        from momentree.equations.factors import factors

        at = _Point.of(self, q, t, parameters)
        rows = [row.J for row in at.velocity_rows()]
        found = factors(at.evaluation)
        responses = [found.solve(row) for row in rows]
        entries = [[sum(x * y for x, y in zip(row, response, strict=True)) for response in responses] for row in rows]
        return at.matrix(entries, columns=len(rows))

    @takes_state
    def multipliers(
        self, q: State | Any, v: Any = None, tau: Any = None, t: Any = 0.0, *, parameters: Named = None
    ) -> Array:
        """Lagrange multipliers lambda (N, N m), rows: M v' + bias = tau + J' lambda, with v' of `forward_dynamics`.

        One for each of `constraint_names`, on the second body of a closing joint. q and v must close the loops
        (`assemble`). Of redundant constraints the shortest lambda is given: only J' lambda is determined.
        """
        from momentree.equations.constraint_forces import every_multiplier

        at = _Point.of(self, q, t, parameters, v, tau)
        return at.vector(every_multiplier(at.mechanism, at.reacting()) if at.mechanism.constrained else [])

    @takes_state
    def constraint_forces(
        self, q: State | Any, v: Any = None, tau: Any = None, t: Any = 0.0, *, parameters: Named = None
    ) -> Array:
        """The generalized constraint forces J' lambda of loops and constraints (N, N m), nv: zero for a tree."""
        from momentree.equations.loops.closing_step import loop_impulses

        at = _Point.of(self, q, t, parameters, v, tau)
        if not at.mechanism.constrained:
            return at.vector([0.0] * at.mechanism.nv)
        return at.vector(loop_impulses(at.mechanism, at.reacting()))

    # --- momenta ---

    @takes_state
    def subtree_momenta(self, q: State | Any, v: Any = None, t: Any = 0.0, *, parameters: Named = None) -> Array:
        """mu of Ivanov 2022 (5), N x 6: momentum of each body and all that it carries, in its frame (N s, N m s)."""
        from momentree.equations.hamiltonian_variables import subtree_momenta

        at = _Point.of(self, q, t, parameters, v)
        return at.matrix(subtree_momenta(at.evaluation, at.v), columns=6)

    @takes_state
    def hamiltonian_variables(
        self, q: State | Any, p: Any, t: Any = 0.0, *, parameters: Named = None
    ) -> HamiltonianVariables:
        """Velocities, momenta p, mu, mu*, impulses eta and derivatives q', p*' from q and p*: Ivanov 2022 (5) to (8).

        Any p* will do: eta makes p = p* + J' eta, with which loops stay closed. `generalized_momenta` has eta = 0.
        """
        from momentree.equations.hamiltonian_variables import hamiltonian_variables

        at = _Point.of(self, q, t, parameters, p, what="p")
        found = hamiltonian_variables(at.evaluation, at.v)
        parts = {name: at.vector(getattr(found, name)) for name in ("p", "p_star", "eta", "v", "dq", "dp_star")}
        parts |= {name: at.matrix(getattr(found, name), columns=6) for name in ("mu", "mu_star", "twists")}
        return HamiltonianVariables(**parts)

    # --- with derivatives: docs/gradients.md ---

    def derivatives(
        self, what: str, by: str | Sequence[str] | None = None, space: str = "coordinates"
    ) -> QuantityDerivatives:
        """A function for the exact derivatives (Jacobian) of a quantity by some of its arguments, all but t if unsaid.

        It takes the arguments of that quantity, a state in their place, batches and arrays on GPUs too; its result has
        one axis more, for the numbers of these arguments side by side. With space="tangent", derivatives by q are along
        the velocities, nv of them, as Pinocchio's (computeABADerivatives, computeRNEADerivatives); else by coordinates,
        quaternions included.

        >>> d = system.derivatives("forward_dynamics", by=("q", "v"))   # doctest: +SKIP
        >>> d(q, v, tau).shape   # nv x (nq + nv)   # doctest: +SKIP
        """
        from momentree.compile.execute.quantity_derivatives import QuantityDerivatives, checked_arguments

        system = cast("System", self)
        chosen = checked_arguments(what, by, space)
        made: dict[Any, QuantityDerivatives] = vars(self).setdefault("_derivatives", {})
        if (what, chosen, space) not in made:
            made[what, chosen, space] = QuantityDerivatives(system.mechanism, what, chosen, system._free, space, apart)
        return made[what, chosen, space]

    def jax_function(self, what: str, frame: Any = None) -> JaxFunction:
        """A function for JAX in our machine code: jit, vmap, grad, jacfwd, jacrev; derivatives are exact.

        `what` is "forward_dynamics", "kinetic_energy", "position" (of a frame), "closure_errors", ...: see
        compile/trace/functions.py. Arguments are those of the method of that name, `parameters` a dictionary.

        >>> f = system.jax_function("forward_dynamics")   # doctest: +SKIP
        >>> A = jax.jacfwd(f)(q, v, tau)   # doctest: +SKIP
        """
        from momentree.compile.emit.jax import JaxFunction
        from momentree.compile.trace.functions import function_of

        system = cast("System", self)
        return JaxFunction(function_of(system.mechanism, what, frame), system.parameters, system._free.following)

    def casadi_function(self, what: str, frame: Any = None) -> Any:
        """The same function as a casadi.Function of q, v, ..., t and each free parameter, which CasADi differentiates.

        A free parameter that the model defines by others must be given, or the result is NaN.

        >>> f = system.casadi_function("forward_dynamics")   # doctest: +SKIP
        >>> vdot = f(q=q, v=v, tau=tau, k=100.0)["out"]   # doctest: +SKIP
        """
        from momentree.compile.emit.casadi import casadi_function
        from momentree.compile.trace.functions import traced_function

        system = cast("System", self)
        free, following = system.mechanism.free, system._free.following
        own = {name: math.nan for name in free if name in following([other for other in free if other != name])}
        return casadi_function(traced_function(system.mechanism, what, frame), {**system.parameters, **own})

    # --- in symbols ---

    @cached_property
    def symbols(self) -> SymbolicQuantities:
        """The same quantities as SymPy expressions: `system.symbols.kinetic_energy`, `.coriolis_matrix`, ...

        Every parameter of the model is a symbol. `system.equations` derives and simplifies equations of motion.
        """
        from momentree.symbols.quantities import quantities_of

        return quantities_of(cast("System", self)._model)


class _Point(NamedTuple):
    """Where quantities are evaluated, on floats or batches, and the leading axes of what was given."""

    evaluation: Evaluation
    v: Sequence[Scalar]
    tau: Sequence[Scalar]
    given: tuple[Any, ...]
    attached: Any

    @classmethod
    def of(
        cls, system: Any, q: Any, t: Any, parameters: Named, v: Any = None, tau: Any = None, what: str = "v"
    ) -> _Point:
        at, whole, nv = system._at(parameters), system.mechanism, system.nv
        time = numbers(t, "t", "a number")
        check_finite(time, "t")
        evaluation = Evaluation(at.mechanism, coordinates(whole, q), time if time.ndim else float(time), at.names)
        still: list[Scalar] = [0.0] * nv
        given = [q, at.batch, np.zeros((*time.shape, 0)), *([] if v is None else [v]), *([] if tau is None else [tau])]
        return cls(
            evaluation,
            still if v is None else scalars(v, nv, what),
            still if tau is None else scalars(tau, nv, "tau"),
            tuple(given),
            at.attached,
        )

    @property
    def mechanism(self) -> Mechanism:
        return self.evaluation.mechanism

    def vector(self, entries: Sequence[Scalar]) -> Array:
        return vector(entries, *self.given)

    def matrix(self, rows: Sequence[Sequence[Scalar]], columns: int | None = None) -> Array:
        found = matrix(rows, *self.given)
        return found if columns is None else found.reshape((*found.shape[:-1], columns))

    def velocity_rows(self) -> Any:
        from momentree.equations.loops.constraint_jacobian import velocity_rows

        return velocity_rows(self.evaluation)

    def reacting(self) -> Any:
        """The bodies with the reactions of loops."""
        from momentree.equations.articulated import reacting_bodies

        return reacting_bodies(self.evaluation, self.v, self.tau)

    def form(self, form: AggregativeForm) -> AggregativeForm:
        """An aggregative form as arrays."""
        V, X, Y, Z = (self.matrix([[*six] for six in part], columns=6) for part in form[:4])
        return AggregativeForm(V, X, Y, Z, self.vector(form.b))
