"""The code of derivatives of a state together with that of their Jacobian: what implicit integrators ask for."""

from __future__ import annotations

from typing import Any, NamedTuple

from momentree.compile.emit.arguments import Arrays
from momentree.compile.emit.lanes import LanesCode
from momentree.compile.emit.llvm import StraightLine
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.derivatives import jacobian
from momentree.compile.trace.tape import Tape

LONGEST = 30_000  # operations times columns: above, LLVM takes longer for the Jacobian than differences ever cost


class Derivatives(NamedTuple):
    """What is known of the derivatives that code computes: attributes of `Differentiated`, or of what remembers it."""

    jacobian: LanesCode | None = None
    pattern: tuple[tuple[int, int], ...] = ()
    autonomous: bool = False
    in_time: bool = False

    @classmethod
    def of(cls, code: LanesCode) -> Derivatives:
        """Of any code: nothing is known of most."""
        known: dict[str, Any] = {name: getattr(code, name, default) for name, default in cls._field_defaults.items()}
        return cls(**known)


class Differentiated(StraightLine):
    """The code of a tape, and of the derivatives of its outputs by the columns of its first argument.

    | attribute  | meaning                                                                              |
    |------------|--------------------------------------------------------------------------------------|
    | jacobian   | the code of the derivatives that are not 0 everywhere; None where that were too long |
    | pattern    | row and column of each of them                                                       |
    | autonomous | the second argument, the time, leads to no output                                    |
    """

    in_time = False  # whether the second argument, the time, is one more column

    jacobian: StraightLine | None = None
    pattern: tuple[tuple[int, int], ...] = ()
    autonomous: bool = False

    @classmethod
    def of(cls, tape: Tape, arrays: Arrays, target: Target) -> Differentiated:
        """The code of a tape as it is now; its outputs stay what they are."""
        made = super().of(tape, arrays, target)
        assert isinstance(made, cls)
        columns, time = list(arrays[0][1]), tape.known_input(arrays[1][1][0])
        made.autonomous = time is None or abs(time.edge) not in tape.live()
        columns += arrays[1][1] if cls.in_time and not made.autonomous else []
        if len(tape.online()) * len(columns) <= LONGEST:
            outputs = [tape.scalar(edge) for edge in tape.output_edges()]
            derivatives = jacobian(tape, outputs, [x for x in map(tape.known_input, columns) if x is not None])
            tape.outputs(derivatives.values)
            made.jacobian = StraightLine.of(tape, arrays, target)
            made.pattern = tuple(zip(derivatives.rows, derivatives.columns, strict=True))
            tape.outputs(outputs)
        return made


class DifferentiatedInTime(Differentiated):
    """The same with the derivatives by the second argument, the time, as one more column: for Rosenbrock methods."""

    in_time = True
