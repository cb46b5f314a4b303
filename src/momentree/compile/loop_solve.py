"""The solution of Phi x = b on a tape, as closed loops need it: Phi symmetric, positive semi-definite, of any rank."""

from __future__ import annotations

from momentree.compile.tape import Tape
from momentree.compile.tracing import Arguments
from momentree.errors import MomentreeError
from momentree.spatial.symmetric import solve_semidefinite


def trace_loop_solve(rows: int) -> tuple[Tape, Arguments]:
    """The tape of x with Phi x = b, and its inputs by the arguments of a function that computes it.

    | argument | length                | entries                                                        |
    |----------|-----------------------|----------------------------------------------------------------|
    | Phi      | rows * (rows + 1) / 2 | the lower triangle, row by row: Phi_00, Phi_10, Phi_11, Phi_20 |
    | b        | rows                  | in the range of Phi                                            |
    """
    if rows < 1:
        raise MomentreeError(f"rows is {rows}: a system to solve has one row or more.")
    tape = Tape()
    lower = {(i, j): f"Phi{i}_{j}" for i in range(rows) for j in range(i + 1)}
    names = tuple(f"b{i}" for i in range(rows))
    entries = dict(zip(lower, tape.inputs(*lower.values()), strict=True))
    Phi = [[entries[max(i, j), min(i, j)] for j in range(rows)] for i in range(rows)]
    tape.outputs(solve_semidefinite(Phi, tape.inputs(*names)))
    return tape, (("Phi", tuple(lower.values())), ("b", names))
