"""Functions of a system recorded on a tape for other programs, JAX and CasADi, with exact derivatives of any order.

| function                        | arguments        | result                                                   |
|---------------------------------|------------------|----------------------------------------------------------|
| every quantity of quantities.py | as there         | nv, or nv x nv                                           |
| kinetic_energy                  | q, v, t          | a number (J)                                             |
| potential_energy                | q, t             | a number (J)                                             |
| position                        | q, t; of a frame | 3: its origin in inertial space (m)                      |
| coordinate_derivatives          | q, v, t          | nq: q', which is not v where q holds quaternions         |
| closure_errors                  | q, t             | g(q, t), one for each row of loops and constraints       |
| constraint_velocities           | q, v, t          | J v + j, one for each row                                |
| closed_coordinates              | q, t             | nq: q after one step of Newton's method toward g = 0     |
| closed_velocities               | q, v, t          | nv: the nearest velocities with which no loop opens      |

Free parameters are one argument more. Quaternions are scaled to unit length first. So a function is defined for all of
them but zero, it is constant along each, and derivatives by their four numbers have a meaning.
"""

from __future__ import annotations

import itertools
import math
import reprlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from momentree.activity import activity
from momentree.compile.emit.jacobian_code import LONGEST
from momentree.compile.emit.llvm import compile_tape
from momentree.compile.execute.arrays import quaternions
from momentree.compile.execute.choice import is_rolled, is_too_long
from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.derivatives import forward, gradient, jacobian, reverse
from momentree.compile.trace.formulas import Along, Arguments, Formula, Recording, Signature
from momentree.compile.trace.quantities import ARGUMENTS, MATRICES, ROLLED, TracedMethod, cost, methods
from momentree.compile.trace.tape import Tape, Variable
from momentree.equations import balance, lagrange
from momentree.equations.evaluation import Evaluation
from momentree.equations.joint_frames import in_joint_frames
from momentree.equations.kinematics import (
    coordinate_changes,
    coordinate_derivatives,
    frame_placement,
    move,
    moved_coordinates,
    records,
)
from momentree.equations.loops.closing_step import closing_step, loop_closure_errors
from momentree.equations.loops.constraint_rows import constraint_velocities
from momentree.errors import MomentreeError, suggestion
from momentree.model.joint_type import Coordinates
from momentree.model.model import as_frame
from momentree.spatial import Scalar
from momentree.spatial.rotation import normalised
from momentree.structure.mechanism import Mechanism
from momentree.structure.welds import without_welds

LONG = 12_000  # operations: above, LLVM takes more than a second for the code of all derivatives


@dataclass(frozen=True)
class TracedFunction:
    """A function of columns of numbers on a tape.

    | field      | meaning                                                            |
    |------------|--------------------------------------------------------------------|
    | mechanism  | of which it is a function                                          |
    | name       | of the function                                                    |
    | outputs    | its results on the tape, row by row where they are a matrix        |
    | arguments  | names, and the inputs of the tape in each                          |
    | shape      | of the result; () is a number                                      |
    | in_reverse | whether its derivatives are computed in reverse only               |
    | lock       | held while the tape, which derivatives share, is written or read   |

    Accelerations of loops are differentiated in reverse. Where constraints are redundant, their solution holds numbers
    of 1e9 that cancel; in reverse, so do their derivatives, but column by column they leave errors of 1e-6.
    """

    mechanism: Mechanism
    name: str
    tape: Tape
    outputs: tuple[Scalar, ...]
    arguments: Arguments
    shape: tuple[int, ...]
    in_reverse: bool = False
    lock: Any = field(default_factory=threading.RLock, repr=False, compare=False)

    def recorded(self) -> Tape:
        """The tape, with these outputs; hold the lock while it is read."""
        self.tape.outputs(self.outputs)
        return self.tape

    def kernel(self, target: Target | None = None, width: int | None = None, gives: str = "") -> Kernel:
        """Machine code of the function on rows of a batch; every argument may differ from row to row.

        `gives` as in `compile_tape`.
        """
        with self.lock, activity("compiling", self.name):
            return compile_tape(self.recorded(), self.arguments, width, target, gives)

    def derivative(self, by: Sequence[str], tangent: bool = False) -> Derivative:
        """The derivatives by all numbers of some arguments, which stand side by side in the columns.

        Those by q are along velocities in `tangent` space. Where the code of all entries is too long, that of one
        column (forward) or one row (reverse) is made instead.
        """
        with self.lock, activity("differentiating", self.name):
            directions = _Directions(self, by, tangent)
            columns, size = directions.columns, (len(self.outputs), directions.count)
            entries, name = self._entries(columns), f"d {self.name}"
            if entries is not None:
                return Derivative(self._with(name, directions.rows(entries), self.arguments, size), size)
            count = size[0] if self.in_reverse else size[1]
            how = f"{', '.join(by)}{' in tangent space' * tangent}"
            seeds = tuple(f"seed {k} of {self.name} by {how}" for k in range(count))
            arguments, variables = (*self.arguments, (f"seeds of {self.name}", seeds)), _inputs(self.tape, seeds)
            if self.in_reverse:
                parts = directions.rows(reverse(self.tape, self.outputs, variables, columns))
            else:
                changes = directions.changes(variables)
                parts = forward(self.tape, self.outputs, dict(zip(columns, changes, strict=True)))
            return Derivative(self._with(name, parts, arguments, (len(parts),)), size, count, self.in_reverse)

    def _entries(self, columns: Sequence[Variable]) -> list[Scalar] | None:
        """All derivatives by the columns, row by row; None where they take too many operations."""
        if len(self.outputs) == 1:
            return gradient(self.tape, self.outputs[0], columns)
        if len(self.recorded().online()) * len(columns) > LONGEST:
            return None
        if self.in_reverse:
            units = [[float(i == k) for i in range(len(self.outputs))] for k in range(len(self.outputs))]
            entries = [x for unit in units for x in reverse(self.tape, self.outputs, unit, columns)]
        else:
            entries = [x for row in jacobian(self.tape, self.outputs, columns).dense() for x in row]
        self.tape.outputs(entries)
        most = LONG // 2 if self.in_reverse else LONG  # rows are fewer than columns, and fit into lanes together
        return entries if len(self.tape.online()) <= most else None

    def _with(
        self, name: str, outputs: Sequence[Scalar], arguments: Arguments, shape: tuple[int, ...]
    ) -> TracedFunction:
        return TracedFunction(self.mechanism, name, self.tape, tuple(outputs), arguments, shape, lock=self.lock)


class _Directions:
    """The directions of a derivative: one for each number of the chosen arguments, or each velocity in place of q."""

    def __init__(self, function: TracedFunction, by: Sequence[str], tangent: bool):
        self._mechanism, self._curved = function.mechanism, tangent and function.mechanism.nq != function.mechanism.nv
        self._chosen = [(name, _inputs(function.tape, names)) for name, names in function.arguments if name in by]
        self.columns = [x for _, variables in self._chosen for x in variables]
        self.count = sum(self._counted(*each) for each in self._chosen)

    def _counted(self, name: str, variables: Sequence[Variable]) -> int:
        return self._mechanism.nv if self._curved and name == "q" else len(variables)

    def changes(self, direction: Sequence[Scalar]) -> list[Scalar]:
        """How the columns change along a direction."""
        found, numbers = list[Scalar](), iter(direction)
        for name, variables in self._chosen:
            part = [*itertools.islice(numbers, self._counted(name, variables))]
            curved = self._curved and name == "q"
            found += coordinate_changes(self._mechanism, variables, part) if curved else part
        return found

    def rows(self, entries: Sequence[Scalar]) -> list[Scalar]:
        """From derivatives by the columns, row by row, those along the directions."""
        if not self._curved:
            return list(entries)
        changes = [self.changes([int(i == k) for i in range(self.count)]) for k in range(self.count)]
        rows = (entries[i : i + len(self.columns)] for i in range(0, len(entries), len(self.columns)))
        return [sum(x * dx for x, dx in zip(row, change, strict=True)) for row in rows for change in changes]


@dataclass(frozen=True)
class RolledFunction:
    """The same of a mechanism of many bodies, in loops over them; its derivatives are those of dual numbers.

    | field     | meaning                                                                      |
    |-----------|------------------------------------------------------------------------------|
    | recording | of what, on which arguments, along which directions it is differentiated     |
    | formula   | with the results, or their derivatives along these; of a matrix, a row of it |
    |           | by a unit vector of one column more                                          |
    | shape     | of the results                                                               |
    """

    name: str
    recording: Recording
    formula: Formula
    shape: tuple[int, ...]

    @property
    def arguments(self) -> Arguments:
        """Names, and the inputs of the tape in each."""
        return self.recording.signature.inputs

    def kernel(self, target: Target | None = None, width: int | None = None, gives: str = "") -> Kernel:
        """Machine code, as that of a TracedFunction."""
        target, recording = target or Target.host(), self.recording
        if len(self.shape) == 2:  # by unit vectors of x, before the directions whose unit vectors are wanted too
            *others, last = recording.signature.arguments
            x = ("x", (("x", self.shape[1]),))
            signature = Signature((*others, x, last) if gives else (*others, last, x))
            recording, gives = recording._replace(signature=signature), "columns of rows" if gives else "row"
        with activity("compiling", self.name):
            return Kernel(recording.rolled(self.formula, gives), width or target.lanes(0), target)

    def derivative(self, by: Sequence[str], tangent: bool = False) -> Derivative:
        """The derivative along a direction, by which its k-th unit vector gives the k-th column."""
        mechanism, seeds = self.recording.mechanism, f"seeds of {self.name}"
        sizes = {name: len(inputs) for name, inputs in self.arguments if name in by}
        count = sum(mechanism.nv if tangent and name == "q" else size for name, size in sizes.items())
        recording = self.recording._replace(
            signature=self.recording.signature.followed_by(seeds, count),
            along=(*self.recording.along, Along(seeds, tuple(sizes), tangent)),
        )
        function = RolledFunction(f"d {self.name}", recording, self.formula, self.shape)
        return Derivative(function, (math.prod(self.shape), count), count)


def _inputs(tape: Tape, names: Sequence[str]) -> list[Variable]:
    """Inputs of a tape, those that it has not yet among them."""
    known = {name: tape.known_input(name) for name in names}
    return [tape.input(name) if variable is None else variable for name, variable in known.items()]


class Derivative(NamedTuple):
    """The derivatives of a function, themselves a function that has derivatives.

    | field    | meaning                                                                                      |
    |----------|----------------------------------------------------------------------------------------------|
    | function | of the same arguments: all entries, row by row; or, with `seeds`, of one argument more       |
    | shape    | number of results, number of columns                                                         |
    | seeds    | 0; or the size of that argument: by its k-th unit vector the function gives the k-th column  |
    |          | or, where `by_rows`, the k-th row                                                            |
    """

    function: Function
    shape: tuple[int, int]
    seeds: int = 0
    by_rows: bool = False


Function = TracedFunction | RolledFunction


def function_of(mechanism: Mechanism, what: str, frame: Any = None) -> Function:
    """A function of a mechanism by its name, straight-line or rolled; `position` takes a frame, a body or its name."""
    if not is_too_long(merged := without_welds(mechanism)):
        function = traced_function(mechanism, what, frame)
        if function.in_reverse or not is_rolled(merged, None, function.recorded()):
            return function
    return rolled_function(mechanism, what, frame)


def rolled_function(mechanism: Mechanism, what: str, frame: Any = None) -> RolledFunction:
    """A function of a mechanism in loops over its bodies."""
    merged = without_welds(mechanism)
    _check(merged, what, frame)
    if what in ARGUMENTS:
        method = TracedMethod(_on_unit_quaternions(ROLLED[what], merged), in_joint_frames)
    else:
        method = _methods(merged, what, frame)[0]
    formula, recording = method.formula, Recording(merged, _signature(merged, what), method.frames)
    sizes = dict.fromkeys(("coordinate_derivatives", "closed_coordinates"), merged.nq)
    sizes |= {**dict.fromkeys((*ARGUMENTS, "closed_velocities"), merged.nv), "position": 3}
    shape = (merged.nv,) * 2 if what in MATRICES else () if what in _NUMBERS else (sizes.get(what, 0),)
    return RolledFunction(what, recording, formula, shape if 0 not in shape else (recording.rolled(formula).outputs,))


def traced_function(mechanism: Mechanism, what: str, frame: Any = None) -> TracedFunction:
    """A function of a mechanism by its name, in straight-line code; `position` takes a frame, a body or its name."""
    mechanism = without_welds(mechanism)
    _check(mechanism, what, frame)
    signature = _signature(mechanism, what)
    tapes = [method.tape(mechanism, signature, varied=True) for method in _methods(mechanism, what, frame)]
    tape = min(tapes, key=cost)
    outputs = tuple(map(tape.scalar, tape.output_edges()))
    shape = (mechanism.nv,) * 2 if what in MATRICES else () if what in _NUMBERS else (len(outputs),)
    in_reverse = mechanism.constrained and what in _SOLVED
    return TracedFunction(mechanism, what, tape, outputs, signature.inputs, shape, in_reverse)


def _check(mechanism: Mechanism, what: str, frame: Any) -> None:
    if not isinstance(what, str) or what not in FUNCTIONS:
        raise MomentreeError(f"there is no function {reprlib.repr(what)}.{suggestion(str(what), FUNCTIONS)}")
    if (frame is not None) != (what == "position"):
        raise MomentreeError(f"{what}: give frame= to position, and to nothing else.")
    if what in _OF_CONSTRAINTS and not mechanism.constrained:
        raise MomentreeError(f"{what}: '{mechanism.name}' is a tree, without loops and constraints.")


def _signature(mechanism: Mechanism, what: str) -> Signature:
    columns = [(name, mechanism.nq if name == "q" else mechanism.nv) for name in FUNCTIONS[what] if name != "t"]
    return Signature.of_columns(mechanism, *columns)


def _methods(mechanism: Mechanism, what: str, frame: Any) -> list[TracedMethod]:
    """The formulas that can be the shortest, on quaternions of unit length."""
    if what in ARGUMENTS:
        found = methods(mechanism, what)
    elif what == "position":
        found = [TracedMethod(_position(mechanism, frame), lambda mechanism: mechanism)]
    else:
        found = [TracedMethod(_FORMULAS[what], in_joint_frames)]
    return [method._replace(formula=_on_unit_quaternions(method.formula, mechanism)) for method in found]


def _on_unit_quaternions(formula: Formula, mechanism: Mechanism) -> Formula:
    starts = [each.start for each in quaternions(mechanism)]

    def scaled(at: Evaluation, *columns: Coordinates) -> Sequence[Scalar]:
        q = list(at.q)
        for start in starts:
            q[start : start + 4] = normalised(tuple(q[start : start + 4]))
        return formula(at._replace(q=q), *columns)

    return scaled if starts else formula


# --- formulas ---


def _kinetic_energy(at: Evaluation, v: Coordinates) -> list[Scalar]:
    return [balance.energy(at, v).kinetic]


def _potential_energy(at: Evaluation) -> list[Scalar]:
    return [balance.energy(at, [0] * at.mechanism.nv).potential]


def _coordinate_derivatives(at: Evaluation, v: Coordinates) -> Sequence[Scalar]:
    moving = records(at, v)
    moving.locally(move)
    return coordinate_derivatives(at.mechanism, moving)


def _constraint_velocities(at: Evaluation, v: Coordinates) -> list[Scalar]:
    return constraint_velocities(records(at, v, closed=True))


def _closed_coordinates(at: Evaluation) -> list[Scalar]:
    return moved_coordinates(at.mechanism, closing_step(at))


def _position(mechanism: Mechanism, frame: Any) -> Formula:
    """The origin of a frame, which may depend on free parameters."""
    attached = mechanism.attach(as_frame(frame))

    def position(at: Evaluation) -> list[Scalar]:
        own = attached.evaluated(at.parameters or {})
        return [*frame_placement(records(at), own).offset]

    return position


_FORMULAS: dict[str, Callable[..., Sequence[Scalar]]] = {
    "kinetic_energy": _kinetic_energy,
    "potential_energy": _potential_energy,
    "coordinate_derivatives": _coordinate_derivatives,
    "closure_errors": loop_closure_errors,
    "constraint_velocities": _constraint_velocities,
    "closed_coordinates": _closed_coordinates,
    "closed_velocities": lagrange.closed_velocities,
}
_NUMBERS = ("kinetic_energy", "potential_energy")
_OF_CONSTRAINTS = ("closure_errors", "constraint_velocities", "closed_coordinates", "closed_velocities")
_SOLVED = ("forward_dynamics", "closed_coordinates", "closed_velocities")  # by the elimination of constraints
_AT_REST = ("potential_energy", "position", "closure_errors", "closed_coordinates")
_MOVING = ("kinetic_energy", "coordinate_derivatives", "constraint_velocities", "closed_velocities")
FUNCTIONS: dict[str, tuple[str, ...]] = {
    **ARGUMENTS,
    **dict.fromkeys(_AT_REST, ("q", "t")),
    **dict.fromkeys(_MOVING, ("q", "v", "t")),
}
