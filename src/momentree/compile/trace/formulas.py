"""Formulas of a mechanism recorded on a tape: straight-line, all bodies in turn, or rolled, each kind of body once.

A formula is any function of an `Evaluation` (equations/evaluation.py) and of further columns of scalars, such as
`hamiltonian.momenta(at, u)` or `articulated.forward_dynamics(at, u, tau)`. Its signature says how many numbers stand in
each column, and in which argument of the emitted function.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from momentree.activity import activity
from momentree.compile.emit.rolled_llvm import Rolled
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.field_layout import FormTable, dual_leaf
from momentree.compile.trace.rolled import RolledRecords
from momentree.compile.trace.tape import Tape
from momentree.equations.evaluation import Evaluation
from momentree.equations.joint_frames import in_joint_frames
from momentree.equations.kinematics import coordinate_changes
from momentree.equations.sweeps import Record, Records, Runner
from momentree.model.expressions.expression import Reference
from momentree.spatial import Scalar
from momentree.spatial.dual import Dual, derivative
from momentree.structure.mechanism import Mechanism

Formula = Callable[..., Sequence[Scalar]]  # of an Evaluation, and of the columns of its signature but q, t, parameters
Arguments = tuple[tuple[str, tuple[str, ...]], ...]  # names, and the inputs of the tape that stand in each


class Signature(NamedTuple):
    """The arguments of an emitted function, with the name and length of each column: ("y", (("q", 3), ("p", 3)))."""

    arguments: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]

    @classmethod
    def of_columns(cls, mechanism: Mechanism, *columns: tuple[str, int]) -> Signature:
        """Each column an argument of its own, then time and free parameters."""
        return cls((*((name, ((name, count),)) for name, count in columns), *_time_and_parameters(mechanism)))

    @classmethod
    def of_state(cls, mechanism: Mechanism, *columns: tuple[str, int]) -> Signature:
        """All columns in one argument, the state y, then time and free parameters."""
        return cls((("y", columns), *_time_and_parameters(mechanism)))

    def followed_by(self, column: str, count: int) -> Signature:
        """With one argument more at the end."""
        return Signature((*self.arguments, (column, ((column, count),))))

    @property
    def inputs(self) -> Arguments:
        """The names of the inputs in each argument."""
        return tuple(
            (argument, tuple(name for column in columns for name in _input_names(*column)))
            for argument, columns in self.arguments
        )


def _time_and_parameters(mechanism: Mechanism) -> list[tuple[str, tuple[tuple[str, int], ...]]]:
    parameters = ("parameters", (("parameters", len(mechanism.free)),))
    return [("t", (("t", 1),)), *([parameters] if mechanism.free else [])]


def _input_names(column: str, count: int) -> tuple[str, ...]:
    return ("t",) if column == "t" else tuple(f"{column.removesuffix('s')}{i}" for i in range(count))


class Along(NamedTuple):
    """A direction of a derivative: the column with its numbers, and the columns that move, one after the other.

    With `tangent`, q moves by velocities of the tree.
    """

    direction: str
    moved: tuple[str, ...]
    tangent: bool = False


class Recording(NamedTuple):
    """How a formula is recorded.

    | field     | meaning                                                                                     |
    |-----------|---------------------------------------------------------------------------------------------|
    | mechanism | as the user describes it                                                                    |
    | signature | the columns of the formula                                                                  |
    | frames    | what describes the mechanism in other frames; the state does not notice                     |
    | varied    | whether free parameters may differ from row to row; if not, they are parameters of the tape |
    | along     | the directions of the derivatives that are recorded in place of the results, by dual        |
    |           | numbers; each is differentiated by the next                                                 |
    """

    mechanism: Mechanism
    signature: Signature
    frames: Callable[[Mechanism], Mechanism] = in_joint_frames
    varied: bool = True
    along: tuple[Along, ...] = ()

    def straight_line(self, formula: Formula) -> Tape:
        """The tape of a formula, one operation after the other for all bodies."""
        tape = Tape()
        with activity("tracing"):
            tape.outputs(self._results(tape, formula, Records))
        return tape

    def rolled(self, formula: Formula, gives: str = "") -> Rolled:
        """The code of a formula in loops over the bodies.

        Where the results are linear in the last column, a unit vector of it `gives` a "row" or a "column" of the matrix
        that is wanted instead; "columns of rows": one for each unit vector of the column before it.
        """
        tape, swept = Tape(), list[RolledRecords]()

        def results(run: Runner) -> Sequence[Scalar]:
            def kept(records: Iterable[Record], order: Sequence[int] | None = None) -> Records:
                sweep = run(records, order)
                assert isinstance(sweep, RolledRecords)
                swept.append(sweep)
                return sweep

            return self._results(tape, formula, kept)

        leaf = functools.reduce(lambda inner, _: dual_leaf(inner), self.along, None)
        known: dict[int, FormTable] = vars(self.mechanism).setdefault("_forms", {})  # for all that is traced of it
        forms = known.setdefault(len(self.along), FormTable(leaf))
        with activity("tracing"):
            code = Rolled.of(tape, self.signature.inputs, results, gives, forms, Target.host().lanes(0))
        for sweep in swept:
            sweep.forget()
        return code

    def _results(self, tape: Tape, formula: Formula, run: Runner) -> Sequence[Scalar]:
        """What the formula gives on inputs of a tape, swept by the runner."""
        columns: dict[str, list[Scalar]] = {}
        for _, group in self.signature.arguments:
            for column, count in group:
                new = tape.parameter if column == "parameters" and not self.varied else tape.input
                columns[column] = [new(name) for name in _input_names(column, count)]
        for along in reversed(self.along):
            self._moved(columns, along)
        free = map(Reference, self.mechanism.free)
        parameters = dict(zip(free, columns.pop("parameters", ()), strict=True))
        on_tape = self.mechanism.evaluated(parameters) if parameters else self.mechanism
        q, (t,) = columns.pop("q"), columns.pop("t")
        results = formula(Evaluation(self.frames(on_tape), q, t, parameters, run), *columns.values())
        for _ in self.along:
            results = [derivative(result) for result in results]
        return results

    def _moved(self, columns: dict[str, list[Scalar]], along: Along) -> None:
        """Make the columns dual numbers that move in a direction, whose column is taken out."""
        direction = iter(columns.pop(along.direction))
        for name in along.moved:
            along_velocities = along.tangent and name == "q"
            count = self.mechanism.nv if along_velocities else len(columns[name])
            changes: Sequence[Scalar] = [*itertools.islice(direction, count)]
            if along_velocities:
                changes = coordinate_changes(self.mechanism, columns["q"], changes)
            columns[name] = [Dual(x, change) for x, change in zip(columns[name], changes, strict=True)]
        for name in columns.keys() - along.moved:  # dual numbers inside of dual ones are never met alone
            columns[name] = [Dual(x) if isinstance(x, Dual) else x for x in columns[name]]
