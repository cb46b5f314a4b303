"""Programmes on a mechanism as a source of machine code: fields by sweeps, their derivatives on the same tape."""

from __future__ import annotations

from collections.abc import Sequence

from momentree.compile.trace.derivatives import forward
from momentree.compile.trace.programme_code import Rows
from momentree.compile.trace.tape import Tape, Variable
from momentree.equations import programme
from momentree.equations.aggregative import first_form, mass_matrix
from momentree.equations.evaluation import Evaluation
from momentree.equations.joint_frames import in_joint_frames
from momentree.equations.mechanism_programme import (
    allowed_decay,
    allowed_deviations,
    constraint_rows,
    held_accelerations,
    programme_velocity,
    row_names,
)
from momentree.equations.programme import Column, ProgrammeFields
from momentree.model.expressions.expression import Reference
from momentree.spatial import Scalar
from momentree.spatial.symmetric import product
from momentree.structure.mechanism import Mechanism
from momentree.structure.programme_mechanism import ProgrammeMechanism, names_of, unloaded


class MechanismSource:
    """A programme on a mechanism."""

    def __init__(self, given: ProgrammeMechanism):
        self.given = given
        self.coordinates, self.parameters = given.coordinates, given.whole.free
        self.constraints = row_names(given.whole)

    def on_tape(
        self, tape: Tape, q: Sequence[Variable], t: Variable, parameters: Column, differentiated: bool = True
    ) -> ProgrammeFields:
        """v and m by sweeps; their derivatives forward, a column for each coordinate and for time."""
        given, n = self.given, range(len(q))
        at = self._at(given.whole, q, t, parameters)
        names = names_of(given.whole, q, t, dict(at.parameters or {}))
        v = programme_velocity(at, [law.evaluate(names) for law in given.wanted], given.position_gain)
        m = mass_matrix(at)
        d = self._dissipation(m, names)
        if not differentiated:
            return ProgrammeFields(v, (), (), m, (), (), d)
        pairs = [(i, j) for i in n for j in range(i + 1)]
        outputs = [*v, *(m[i][j] for i, j in pairs)]
        slopes = [forward(tape, outputs, {by: 1}) for by in (*q, t)]
        v_q, v_t = [[slope[i] for slope in slopes[:-1]] for i in n], slopes[-1][: len(q)]
        by_pair = [dict(zip(pairs, slope[len(q) :], strict=True)) for slope in slopes]
        m_q = [[[entries[max(i, j), min(i, j)] for j in n] for i in n] for entries in by_pair]
        return ProgrammeFields(v, v_q, v_t, m, m_q[:-1], m_q[-1], d)

    def _dissipation(self, m: Sequence[Column], names: dict[Reference, Scalar]) -> list[list[Scalar]]:
        given, n = self.given, range(len(m))
        if given.dissipation is not None:
            return [[x.evaluate(names) for x in row] for row in given.dissipation]
        if given.gain is None:
            return [[0 for _ in n] for _ in n]
        k = given.gain.evaluate(names)
        return [[k * x for x in row] for row in m]

    def rows_on_tape(self, tape: Tape, q: Sequence[Variable], t: Variable, parameters: Column) -> Rows:
        """The rows of loops, of the model and of the programme."""
        return constraint_rows(self._at(self.given.whole, q, t, parameters), self.given.position_gain)

    def accelerations_on_tape(
        self, tape: Tape, f: ProgrammeFields, q: Sequence[Variable], qd: Column, t: Variable, parameters: Column
    ) -> Column:
        """Those of the programme that loops and constraints of the model allow."""
        at = self._at(unloaded(self.given.own), q, t, parameters)
        return held_accelerations(at, qd, programme.accelerations(f, qd), self.given.position_gain)

    def inertial_on_tape(
        self, f: ProgrammeFields, q: Sequence[Variable], qd: Column, qdd: Column, t: Variable, parameters: Column
    ) -> Column:
        """Of the tree, the motion of prescribed joints and of the ground included."""
        c = first_form(self._at(self.given.own, q, t, parameters), qd).b
        return [x + y for x, y in zip(product(f.m, qdd), c, strict=True)]

    def decay_on_tape(
        self, tape: Tape, f: ProgrammeFields, q: Sequence[Variable], t: Variable, parameters: Column
    ) -> Sequence[Column]:
        """Of deviations that loops and constraints of the model allow."""
        S, P = programme.decay_matrix(f), allowed_deviations(self._at(self.given.own, q, t, parameters))
        return S if P is None else allowed_decay(S, f.m, P)

    def _at(self, mechanism: Mechanism, q: Sequence[Variable], t: Variable, parameters: Column) -> Evaluation:
        names = dict(zip(map(Reference, self.parameters), parameters, strict=True))
        on_tape = mechanism.evaluated(names) if names else mechanism
        return Evaluation(in_joint_frames(on_tape), q, t, names)
