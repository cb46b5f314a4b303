"""A programme given by expressions: its velocity field, mass matrix, dissipation, and their exact derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from momentree.equations.programme import ProgrammeFields, admissible_dissipation, completed, cross_product, nearest
from momentree.errors import ExpressionError, MomentreeError
from momentree.model.expressions.expression import ZERO, Expression, Reference, as_expression
from momentree.model.programme_description import TIME, ProgrammeDescription, Row, Square
from momentree.spatial import Scalar

Values = Mapping[Reference, Scalar]


@dataclass(frozen=True)
class ExpressionProgramme:
    """What is described, as expressions of coordinates, time and parameters."""

    description: ProgrammeDescription

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Their names."""
        return self.description.coordinates

    @property
    def a(self) -> tuple[Row, ...]:
        """The rows of constraints."""
        return tuple(constraint.a for constraint in self.description.constraints)

    @property
    def b(self) -> Row:
        """The right sides of constraints."""
        return tuple(constraint.b for constraint in self.description.constraints)

    @cached_property
    def v(self) -> Row:
        """The velocity field: constraints, completed."""
        try:
            return self._completed
        except ExpressionError:  # a determinant is 0 everywhere
            message = "programme: the constraints and what completes them do not determine the velocities"
            raise MomentreeError(f"{message}. Give other components, or leave out dependent constraints.") from None

    @property
    def _completed(self) -> Row:
        said, m = self.description, self.description.mass
        if said.velocity is not None:
            return _row(completed(self.a, self.b, dict(said.velocity)) if len(said.velocity) < said.n else
                        [said.velocity[i] for i in range(said.n)])  # fmt: skip
        if said.completion is not None:
            for constraint in said.constraints:
                if constraint.b.value != 0:
                    message = f"programme: '{constraint.text}' is not homogeneous, as a cross product is"
                    raise MomentreeError(f"{message}. Give velocity=, wanted=, or null_space= and along=.")
            return _row(said.scale * x for x in cross_product([*self.a, *said.completion]))
        if said.null_space is not None:
            least = nearest(self.a, self.b, [ZERO] * said.n, m)
            terms = zip(said.null_space, said.along, strict=True)
            parts = [[N[i] * x for i in range(said.n)] for N, x in terms]
            return _row(sum((part[i] for part in parts), start=least[i]) for i in range(said.n))
        if said.wanted is not None:
            return _row(nearest(self.a, self.b, said.wanted, m))
        return _row(completed(self.a, self.b, {}))

    @cached_property
    def gradient(self) -> Row | None:
        """grad Psi, where a potential is given."""
        potential = self.description.potential
        return None if potential is None else tuple(map(potential.derivative, self.description.references))

    @cached_property
    def d(self) -> Square:
        """Dissipation."""
        said, n = self.description, range(self.description.n)
        if said.dissipation is not None:
            return said.dissipation
        if said.gain is not None:
            return tuple(tuple(said.gain * said.mass[i][j] for j in n) for i in n)
        if self.gradient is not None and said.K is not None:
            return tuple(map(_row, admissible_dissipation(self.v, self.gradient, said.K)))
        return tuple(tuple(ZERO for _ in n) for _ in n)

    def values(self, q: Sequence[Any], t: Any, parameters: Sequence[Any] | None = None) -> dict[Reference, Any]:
        """Scalars by reference; parameters at their own values unless others are given, in their order."""
        said = self.description
        numbers = said.parameters.values() if parameters is None else parameters
        names = map(Reference, said.parameters)
        return {TIME: t, **dict(zip(said.references, q, strict=True)), **dict(zip(names, numbers, strict=True))}

    def fields(self, at: Values) -> ProgrammeFields:
        """v, m, d and their derivatives, on any scalar."""
        return ProgrammeFields(*(_evaluated(part, at) for part in self._parts))

    def rows(self, at: Values) -> tuple[list[list[Scalar]], list[Scalar]]:
        """a and b."""
        return _evaluated(self.a, at), _evaluated(self.b, at)

    @cached_property
    def _parts(self) -> tuple[Any, ...]:
        names, v, m = self.description.references, self.v, self.description.mass
        v_q = tuple(tuple(x.derivative(name) for name in names) for x in v)
        m_q = tuple(tuple(tuple(x.derivative(name) for x in row) for row in m) for name in names)
        v_t, m_t = tuple(x.derivative(TIME) for x in v), tuple(tuple(x.derivative(TIME) for x in row) for row in m)
        return v, v_q, v_t, m, m_q, m_t, self.d


def _row(scalars: Any) -> Row:
    return tuple(map(as_expression, scalars))


def _evaluated(part: Any, at: Values) -> Any:
    return part.evaluate(at) if isinstance(part, Expression) else [_evaluated(inner, at) for inner in part]
