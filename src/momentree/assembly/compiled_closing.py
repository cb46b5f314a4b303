"""Closing the loops of many rows in machine code, on all cores (closing_code.py): what `BatchClosing` does by NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np

from momentree.assembly.batch_closing import BatchOfRows, ClosedBatch, Indices, Mask, flat_rows
from momentree.assembly.closing_code import ClosingCode, Shape
from momentree.assembly.configuration import Array
from momentree.assembly.regular_rank_code import RegularRankCode
from momentree.assembly.velocity_code import VelocityCode
from momentree.compile.emit.lanes import LanesCode
from momentree.compile.emit.llvm import StraightLine
from momentree.compile.execute.choice import is_rolled
from momentree.compile.execute.kernel import Kernel, compiled_once
from momentree.compile.execute.machine_code import Target
from momentree.compile.execute.rows_in_threads import Strided, compute_rows
from momentree.compile.trace.formulas import Formula, Recording, Signature
from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import integrated, velocities_between
from momentree.model.joint_type import Coordinates
from momentree.spatial import Scalar
from momentree.structure.mechanism import Mechanism


def _codes(mechanism: Mechanism) -> dict[str, StraightLine] | None:
    """Constraint rows at q; where a step leads from q, and the step from q to a later configuration.

    None where the code would be too long.
    """
    columns = {"constraints": (), "integrated": (("step", mechanism.nv),), "difference": (("later", mechanism.nq),)}
    formulas: dict[str, Formula] = {"constraints": flat_rows, "integrated": _integrated, "difference": _difference}
    codes: dict[str, StraightLine] = {}
    for name, formula in formulas.items():
        if is_rolled(mechanism, None):
            return None
        signature = Signature.of_columns(mechanism, ("q", mechanism.nq), *columns[name])
        tape = Recording(mechanism, signature).straight_line(formula)
        if is_rolled(mechanism, None, tape):
            return None
        codes[name] = StraightLine.of(tape, signature.inputs, Target.host())
    return codes


def _integrated(at: Evaluation, step: Coordinates) -> list[Scalar]:
    return integrated(at.mechanism, at.q, step)


def _difference(at: Evaluation, later: Coordinates) -> list[Scalar]:
    return velocities_between(at.mechanism, at.q, later)


class CompiledRows:
    """Rows of a batch, closed by machine code; None is made of those whose code would be too long."""

    def __init__(self, batch: BatchOfRows, codes: dict[str, StraightLine]):
        self.batch, self._codes = batch, codes

    @classmethod
    def of(cls, batch: BatchOfRows) -> CompiledRows | None:
        """Of a batch whose loops alone must close."""
        mechanism = batch.system.mechanism
        if not mechanism.loops:
            return None
        codes = compiled_once(batch.system, "closing of loops", lambda: _codes(mechanism))
        return None if codes is None else cls(batch, codes)

    def close(self, q: Array, rows: Indices, moving: Indices) -> tuple[ClosedBatch, Indices]:
        """The configurations that steps downhill lead to; the rank of J where a row is not closed exactly, else -1."""
        kernel = self._kernel("closing", ClosingCode, moving)
        found = self._computed(kernel, q, rows)
        nq = q.shape[1]
        closed = ClosedBatch(np.ascontiguousarray(found[:, :nq]), found[:, nq].copy(), found[:, nq + 1] > 0)
        return closed, found[:, nq + 2].astype(np.intp)

    def ranks(self, q: Array, rows: Indices) -> tuple[Array, Array]:
        """The ranks of J there, and where it is not singular."""
        moving = np.arange(self.batch.mechanism.nv)
        found = self._computed(self._kernel("regular rank", RegularRankCode, moving), q, rows)
        return found[:, 0], found[:, 1]

    def velocities(
        self, q: Array, rows: Indices, given: Sequence[int], values: Array, slopes: Array
    ) -> tuple[Array, Mask, Mask]:
        """The velocities nearest to rest with the given ones; whether they fit; whether any is asked for."""
        nv = self.batch.mechanism.nv

        def make(shape: Shape, codes: Mapping[str, LanesCode]) -> ClosingCode:
            return VelocityCode(shape, codes, tuple(given))

        kernel = self._kernel(f"velocities {list(given)}", make, np.arange(nv))
        found = self._computed(kernel, q, rows, values, slopes)
        return np.ascontiguousarray(found[:, :nv]), found[:, nv] > 0, found[:, nv + 1] > 0

    def integrated(self, q: Array, step: Array) -> Array:
        """The coordinates after steps."""
        return self._along("integrated", q, step)

    def difference(self, q: Array, later: Array) -> Array:
        """The steps that `integrated` needs from q to later."""
        return self._along("difference", q, later)

    # --- inside ---

    def _along(self, what: str, q: Array, other: Array) -> Array:
        target = Target.host()
        make = lambda: Kernel(self._codes[what], target.lanes(0), target)  # noqa: E731
        kernel: Kernel = compiled_once(self.batch.system, f"{what} in batches", make)
        others = [np.zeros(columns) for _, columns in kernel.arrays[2:]]  # time and parameters, which do not matter
        out = np.empty((len(q), kernel.outputs))
        arguments = (np.ascontiguousarray(q), np.ascontiguousarray(other), *others)
        compute_rows(kernel, [Strided.of(each) for each in arguments], out)
        return out

    def _kernel(self, what: str, make: type[ClosingCode] | Callable[..., ClosingCode], moving: Indices) -> Kernel:
        mechanism, indices = self.batch.system.mechanism, tuple(moving.tolist())
        rows = self.batch.constraint_scales.shape[1]
        shape = Shape(mechanism.nq, mechanism.nv, rows, len(mechanism.free), indices)
        made: Kernel = compiled_once(
            self.batch.system, f"{what} {list(indices)}", lambda: Kernel(make(shape, self._codes), 1, Target.host())
        )
        return made

    @cached_property
    def _given(self) -> list[Array]:
        """What each row is given but q: the order of `Shape.arguments`."""
        batch = self.batch
        parameters = [batch.parameters] if batch.system.mechanism.free else []
        scales = (batch.constraint_scales, batch.columns, batch.tolerances, batch.loop_sizes_of_rows)
        joints = np.ascontiguousarray(np.broadcast_to(batch.joints_around, batch.constraint_scales.shape))
        return [np.full((batch.count, 1), batch.t), *parameters, *scales, joints]

    def _computed(self, kernel: Kernel, q: Array, rows: Indices, *more: Array) -> Array:
        everything = len(rows) == self.batch.count
        given = [each if everything else np.ascontiguousarray(each[rows]) for each in self._given]
        arguments = [np.ascontiguousarray(q), *given, *(np.ascontiguousarray(each) for each in more)]
        out = np.empty((len(rows), kernel.outputs))
        compute_rows(kernel, [Strided.of(each) for each in arguments], out)
        return out
