"""Quantities of a mechanism as SymPy expressions: energies, mass and Coriolis matrices, forces, momenta, Jacobians.

They come from the same sweeps as the numbers, run on symbols, and are then written as short as can be; expressions of
too many terms, such as those of free bodies, stay as the sweeps give them. `inverse_mass_matrix` and `factors` are
quotients of long expressions for more than two or three velocities.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from math import prod
from typing import Any, NamedTuple

import sympy as sp

from momentree.equations.aggregative import AggregativeForm, first_form, mass_matrix, second_form
from momentree.equations.balance import energy
from momentree.equations.coriolis import aggregative_matrix, coriolis_matrix
from momentree.equations.factors import factors, inverse_mass_matrix
from momentree.equations.force_terms import generalized_forces, gravity_forces
from momentree.equations.hamiltonian import momenta
from momentree.equations.hamiltonian_variables import subtree_momenta
from momentree.equations.kinematic_matrices import KinematicMatrices, kinematic_matrices
from momentree.equations.kinematics import PartialVelocities, frame_placement, partial_velocities, records
from momentree.errors import MomentreeError
from momentree.model import Model
from momentree.model.model import as_frame
from momentree.spatial import Scalar
from momentree.structure.parts import Attached, with_numbers
from momentree.symbols.constraints import ScalarConstraint, constraints_of
from momentree.symbols.equations import freed
from momentree.symbols.parallel import carriers
from momentree.symbols.scalars import Symbolic, symbolic
from momentree.symbols.shortest import simplified

MANY_TERMS = 5000  # of an expression written out: above, it stays as the sweeps give it


class Factors(NamedTuple):
    """U and D of M = U D U', and D^-1."""

    U: sp.ImmutableMatrix
    D: sp.ImmutableMatrix
    D_inverse: sp.ImmutableMatrix


class SymbolicQuantities:
    """Quantities of the spanning tree in symbols; each is derived when it is first asked for.

    | attribute                                | meaning, as the method of a system of this name gives numbers         |
    |------------------------------------------|-----------------------------------------------------------------------|
    | q, v, t, parameters                      | the symbols; a velocity is called theta', with a prime in its name    |
    | kinetic_energy, potential_energy         | T and V (J); `lagrangian` is T - V                                    |
    | mass_matrix, inverse_mass_matrix         | M, M^-1                                                               |
    | factors                                  | U, D, D_inverse of M = U D U'                                         |
    | coriolis_matrix, aggregative_matrix      | C with M' - 2 C skew; B of Belkov and Konoplev                        |
    | coriolis_forces, gravity_forces          | b (C v where nothing is prescribed), g                                |
    | generalized_forces, virtual_work         | Q; sum of Q_s delta_s, with `virtual_displacements` delta_s           |
    | bias                                     | b - Q: all forces of the model                                        |
    | generalized_momenta, subtree_momenta     | p; mu of each body                                                    |
    | first_form, second_form                  | V, X, Y, Z of each body, and b or d                                   |
    | kinematic_matrices                       | S, T, B, ... of Ivanov's (1), (2)                                     |
    | constraints                              | scalar constraints: `of`, `meaning`, `position`, `J`, `j`             |
    | constraint_jacobian, constraint_drift    | J and j of these; rows as `system.equations` has them                 |
    | delassus_matrix                          | J M^-1 J'                                                             |
    | position(frame), jacobian(frame)         | origin in inertial space; twist by velocities, 6 x nv                 |
    | partial_velocities(frame)                | v_s, w_s, v_t, w_t                                                    |
    """

    def __init__(self, symbols: Symbolic):
        self._s = symbols
        self._carried = carriers(symbols.numeric, symbols)

    def __repr__(self) -> str:
        names = ", ".join(map(str, self.q))
        return f"SymbolicQuantities('{self._s.numeric.name}': {names})"

    # --- symbols ---

    @property
    def q(self) -> tuple[sp.Symbol, ...]:
        """Coordinates."""
        return self._s.q

    @property
    def v(self) -> tuple[sp.Symbol, ...]:
        """Velocities."""
        return self._s.u

    @property
    def t(self) -> sp.Symbol:
        """Time."""
        return self._s.t

    @property
    def parameters(self) -> tuple[sp.Symbol, ...]:
        """Parameters of the model, those excepted that decide a direction."""
        return self._s.parameters

    @cached_property
    def virtual_displacements(self) -> tuple[sp.Symbol, ...]:
        """delta_s, one for each velocity: the virtual displacement along it."""
        return tuple(sp.Symbol(f"delta_{str(velocity).rstrip(chr(39))}", real=True) for velocity in self.v)

    # --- energy ---

    @cached_property
    def _energy(self) -> tuple[sp.Expr, sp.Expr]:
        kinetic, potential = map(self._short, energy(self._s.evaluation, self.v))
        return kinetic, potential

    @property
    def kinetic_energy(self) -> sp.Expr:
        """T."""
        return self._energy[0]

    @property
    def potential_energy(self) -> sp.Expr:
        """V: gravity, springs, stops, contacts."""
        return self._energy[1]

    @property
    def lagrangian(self) -> sp.Expr:
        """T - V."""
        return self.kinetic_energy - self.potential_energy

    # --- matrices and forces ---

    @cached_property
    def mass_matrix(self) -> sp.ImmutableMatrix:
        """M(q)."""
        return self._matrix(mass_matrix(self._s.evaluation))

    @cached_property
    def inverse_mass_matrix(self) -> sp.ImmutableMatrix:
        """M(q)^-1, by the elementary factors."""
        return self._matrix(inverse_mass_matrix(self._s.evaluation))

    @cached_property
    def factors(self) -> Factors:
        """Of the mass matrix."""
        U, D, D_inverse = map(self._matrix, factors(self._s.evaluation).matrices())
        return Factors(U, D, D_inverse)

    @cached_property
    def coriolis_matrix(self) -> sp.ImmutableMatrix:
        """C(q, v), M' - 2 C skew."""
        return self._matrix(coriolis_matrix(self._s.evaluation, self.v))

    @cached_property
    def aggregative_matrix(self) -> sp.ImmutableMatrix:
        """B(q, v) of the aggregative form."""
        return self._matrix(aggregative_matrix(self._s.evaluation, self.v))

    @cached_property
    def coriolis_forces(self) -> sp.ImmutableMatrix:
        """b(q, v)."""
        return self._column(first_form(self._s.evaluation, self.v).b)

    @cached_property
    def gravity_forces(self) -> sp.ImmutableMatrix:
        """g(q), on the side of inertia."""
        return self._column(gravity_forces(self._s.evaluation))

    @cached_property
    def generalized_forces(self) -> sp.ImmutableMatrix:
        """Q(q, v, t), all forces of the model."""
        return self._column(generalized_forces(self._s.evaluation, self.v))

    @property
    def virtual_work(self) -> sp.Expr:
        """sum of Q_s delta_s."""
        return sp.Add(
            *(Q * delta for Q, delta in zip(self.generalized_forces, self.virtual_displacements, strict=True))
        )

    @cached_property
    def bias(self) -> sp.ImmutableMatrix:
        """b - Q."""
        return self._column(second_form(self._s.evaluation, self.v).b)

    @cached_property
    def generalized_momenta(self) -> sp.ImmutableMatrix:
        """p = dT/dv."""
        return self._column(momenta(self._s.evaluation, self.v))

    @cached_property
    def subtree_momenta(self) -> tuple[sp.ImmutableMatrix, ...]:
        """mu of each body, 6 x 1."""
        return tuple(map(self._column, subtree_momenta(self._s.evaluation, self.v)))

    @cached_property
    def first_form(self) -> AggregativeForm:
        """V, X, Y, Z of each body, 6 x 1, and b."""
        return self._form(first_form(self._s.evaluation, self.v))

    @cached_property
    def second_form(self) -> AggregativeForm:
        """The same with gravity and all forces; its b is d."""
        return self._form(second_form(self._s.evaluation, self.v))

    @cached_property
    def kinematic_matrices(self) -> KinematicMatrices:
        """S, T, A, B, v^r, phi, and C of each body."""
        C, A, v_r, S, T, B, phi = kinematic_matrices(self._s.evaluation)
        A, S, T, B = (self._matrix(part) for part in (A, S, T, B))
        return KinematicMatrices(tuple(map(self._matrix, C)), A, self._column(v_r), S, T, B, self._column(phi))

    # --- constraints ---

    @cached_property
    def constraints(self) -> tuple[ScalarConstraint, ...]:
        """Those of loops and of the model, as a textbook writes them; none out of the plane of planar loops."""
        return tuple(constraints_of(self._s.numeric, self._s))

    @cached_property
    def constraint_jacobian(self) -> sp.ImmutableMatrix:
        """J, a row for each of `constraints`."""
        return self._matrix([constraint.J for constraint in self.constraints], len(self.v))

    @cached_property
    def constraint_drift(self) -> sp.ImmutableMatrix:
        """j of J v + j = 0."""
        return self._column([constraint.j for constraint in self.constraints])

    @cached_property
    def delassus_matrix(self) -> sp.ImmutableMatrix:
        """J M^-1 J', not simplified."""
        J = self.constraint_jacobian
        return sp.ImmutableMatrix(J * self.inverse_mass_matrix * J.T)

    # --- frames ---

    def position(self, frame: Any) -> sp.ImmutableMatrix:
        """The origin of a frame, or of a body's own frame, in inertial space."""
        return self._column(frame_placement(records(self._s.evaluation), self._attached(frame)).offset)

    def jacobian(self, frame: Any) -> sp.ImmutableMatrix:
        """6 x nv: the twist of the frame by each velocity, in inertial axes."""
        linear, angular, *_ = partial_velocities(self._s.evaluation, self._attached(frame))
        return self._matrix([[*v, *w] for v, w in zip(linear, angular, strict=True)], 6).T

    def partial_velocities(self, frame: Any) -> PartialVelocities:
        """v_s and w_s as rows, v_t and w_t as columns."""
        linear, angular, linear_t, angular_t = partial_velocities(self._s.evaluation, self._attached(frame))
        both = self._matrix(linear, 3), self._matrix(angular, 3)
        return PartialVelocities(*both, self._column(linear_t), self._column(angular_t))

    def _attached(self, frame: Any) -> Attached:
        attached: Attached = with_numbers(self._s.numeric.attach(as_frame(frame)), self._s.scalar)
        return attached

    # --- short forms ---

    def _short(self, x: Scalar) -> sp.Expr:
        expression = sp.S(x)
        if terms(expression) > MANY_TERMS:
            return expression
        return simplified(expression, self._carried, self._s.quaternions)

    def _column(self, entries: Iterable[Scalar]) -> sp.ImmutableMatrix:
        short = [self._short(x) for x in entries]
        return sp.ImmutableMatrix(len(short), 1, short)

    def _matrix(self, rows: Sequence[Sequence[Scalar]], columns: int | None = None) -> sp.ImmutableMatrix:
        width = len(rows[0]) if columns is None else columns
        return sp.ImmutableMatrix(len(rows), width, [self._short(x) for row in rows for x in row])

    def _form(self, form: AggregativeForm) -> AggregativeForm:
        V, X, Y, Z = (tuple(map(self._column, part)) for part in form[:4])
        return AggregativeForm(V, X, Y, Z, self._column(form.b))


@lru_cache(100_000)
def terms(x: sp.Expr) -> int:
    """How many terms an expression has when its brackets are multiplied out, those below fractions as well."""
    if x.is_Add:
        return sum(map(terms, x.args))
    if x.is_Mul:
        return prod(map(terms, x.args))
    power = abs(int(x.exp)) if x.is_Pow and x.exp.is_Integer else 0
    return int(terms(x.base) ** min(power, 8)) if power else 1


def quantities_of(model: Model) -> SymbolicQuantities:
    """The quantities of a model with every parameter a symbol, but for those that decide a direction."""
    mechanism = freed(model)
    if not mechanism.nv:
        raise MomentreeError(f"symbols: nothing in '{mechanism.name}' is free to move.")
    return SymbolicQuantities(symbolic(mechanism))
