"""A tape as a function of CasADi, operation by operation, for those who optimise or differentiate with it.

Numbers are those of the tape, but fmin and fmax of CasADi pass over a NaN, where minimum and maximum are NaN too.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from momentree.compile.trace.tape import Tape, edges_of
from momentree.errors import MomentreeError, suggestion

Arrays = Sequence[tuple[str, Sequence[str]]]

RESULT = "out"
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "*": operator.mul,
    "reciprocal": lambda x: 1 / x,
    "power": operator.pow,
}
_NAMES = {"absolute": "fabs", "minimum": "fmin", "maximum": "fmax"}  # where those of the tape are others


def to_casadi(tape: Tape, arrays: Arrays | None = None) -> Any:
    """The outputs of a tape, one column, as a casadi.Function of its inputs.

    | argument | meaning                                                                                            |
    |----------|----------------------------------------------------------------------------------------------------|
    | arrays   | arguments of the function: a name, and the inputs of the tape in that column; unless given, each   |
    |          | input and parameter is an argument of its own, in the order in which they were named               |
    """
    casadi, nodes = _casadi(), tape.nodes
    kinds = {node[1]: node[0] for node in nodes if node[0] in ("input", "parameter")}
    grouped = [(name, [name]) for name in kinds] if arrays is None else [(name, list(rest)) for name, rest in arrays]
    _check(casadi, grouped, kinds, {nodes[index][1] for index in tape.live() if nodes[index][0] in kinds.values()})
    columns = {name: casadi.SX.sym(name, len(inputs)) for name, inputs in grouped}
    values = {each: columns[name][place] for name, inputs in grouped for place, each in enumerate(inputs)}
    results = [casadi.SX(result) for result in _replayed(casadi, tape, values)]
    return casadi.Function("tape", list(columns.values()), [casadi.vertcat(*results)], list(columns), [RESULT])


def _casadi() -> Any:
    try:
        import casadi
    except ImportError:
        raise MomentreeError("CasADi is not installed. Get it by: pip install momentree[casadi]") from None
    return casadi


def _check(casadi: Any, arrays: Arrays, kinds: dict[str, str], needed: set[str]) -> None:
    problems, seen = [], set[str]()
    names = [name for name, _ in arrays]
    for name in dict.fromkeys(names):
        if not casadi.Function.check_name(name) or name == RESULT:
            problems.append(f"argument '{name}': CasADi takes no such name. Use letters, digits and single _.")
        if names.count(name) > 1:
            problems.append(f"argument '{name}' stands twice. Give each a name of its own.")
    for array, inputs in arrays:
        for name in inputs:
            if name not in kinds:
                problems.append(f"argument '{array}': the tape has no input '{name}'.{suggestion(name, kinds)}")
            elif name in seen:
                problems.append(f"argument '{array}': '{name}' stands in two places. Leave one of them out.")
            seen.add(name)
    missing = [name for name in kinds if name in needed - seen]
    problems += [f"{kinds[name]} '{name}' stands in no argument, but the outputs need it." for name in missing]
    if problems:
        raise MomentreeError("\n".join(problems))


def _replayed(casadi: Any, tape: Tape, values: dict[str, Any]) -> list[Any]:
    """The outputs on symbols of CasADi."""
    nodes, found = tape.nodes, dict[int, Any]()

    def at(edge: int) -> Any:
        return found[edge] if edge >= 0 else -found[-edge]

    for index in tape.live():
        edges = edges_of(nodes[index])
        if edges:
            found[index] = _function(casadi, nodes[index][0])(*map(at, edges))
        else:
            kind, content = nodes[index]
            found[index] = casadi.SX(content) if kind == "number" else values[content]
    return [at(edge) for edge in tape.kept()]


def _function(casadi: Any, op: str) -> Callable[..., Any]:
    if op == "select":
        return lambda x, a, b: casadi.if_else(x > 0, a, b)
    return _ARITHMETIC.get(op) or getattr(casadi, _NAMES.get(op, op))
