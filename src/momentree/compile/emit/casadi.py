"""A tape, or a function of a system, as a function of CasADi, operation by operation: CasADi differentiates it.

Numbers are those of the tape, but fmin and fmax of CasADi pass over a NaN, where minimum and maximum are NaN too.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from momentree.compile.emit import casadi_tables
from momentree.compile.emit.arguments import Arrays, check_arguments
from momentree.compile.emit.backends import Backend, Call
from momentree.compile.trace.operations import TableOperation
from momentree.compile.trace.tape import Tape, edges_of
from momentree.errors import MomentreeError

if TYPE_CHECKING:
    from momentree.compile.trace.functions import TracedFunction

RESULT = "out"


def _named(name: str) -> Callable[..., Any]:
    return lambda casadi, *arguments: getattr(casadi, name)(*arguments)


# of the module casadi, which is imported only where it is used, and of the arguments
SPELLINGS: dict[str, Callable[..., Any]] = {
    "+": lambda casadi, a, b: a + b,
    "*": lambda casadi, a, b: a * b,
    "reciprocal": lambda casadi, x: 1 / x,
    "power": lambda casadi, x, y: x**y,
    "select": lambda casadi, x, a, b: casadi.if_else(x > 0, a, b),
    **{f: _named(f) for f in ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh")},
    **{f: _named(f) for f in ("exp", "log", "sqrt", "sign", "floor")},
    "locate": casadi_tables.locate,
    "entry": casadi_tables.entry,
    **{f: _named(name) for f, name in (("absolute", "fabs"), ("minimum", "fmin"), ("maximum", "fmax"))},
}


def to_casadi(
    tape: Tape, arrays: Arrays | None = None, name: str = "tape", shape: tuple[int, ...] | None = None,
    defaults: Mapping[str, float] | None = None,
) -> Any:  # fmt: skip
    """The outputs of a tape as a casadi.Function of its inputs.

    | argument | meaning                                                                                            |
    |----------|----------------------------------------------------------------------------------------------------|
    | arrays   | arguments of the function: a name, and the inputs of the tape in that column; unless given, each   |
    |          | input and parameter is an argument of its own, in the order in which they were named               |
    | name     | of the function                                                                                    |
    | shape    | of the result, row by row; one column unless given                                                 |
    | defaults | of arguments that may be omitted in a call by name: the number for all of its columns              |
    """
    casadi, nodes = _casadi(), tape.nodes
    if arrays is None:
        arrays = [(node[1], [node[1]]) for node in nodes if node[0] in ("input", "parameter")]

    def objection(argument: str, kinds: set[str]) -> str | None:
        usable = casadi.Function.check_name(argument) and argument != RESULT
        return None if usable else ": CasADi does not accept this name. Use letters, digits and single _."

    positions = check_arguments(nodes, tape.live(), arrays, objection)
    columns = [casadi.SX.sym(name, len(inputs)) for name, inputs in arrays]
    values = {name: columns[k][row] for name, (k, row) in positions.items()}
    results = casadi.vertcat(*(casadi.SX(result) for result in _replayed(casadi, tape, values)))
    if shape is not None and len(shape) == 2:
        results = casadi.reshape(results, *shape[::-1]).T  # CasADi counts column by column
    default_in = [(defaults or {}).get(argument, math.nan) for argument, _ in arrays]
    options = {"default_in": default_in} if defaults else {}
    return casadi.Function(name, columns, [results], [argument for argument, _ in arrays], [RESULT], options)


def casadi_function(function: TracedFunction, parameters: Mapping[str, float]) -> Any:
    """A function of a system as a casadi.Function: q, v, ..., t, and each free parameter by its own name.

    In a call by name tau, t and free parameters may be omitted: they are 0, and as the system has them. An argument
    that must be given, but is not, is NaN.
    """
    arrays: list[tuple[str, Sequence[str]]] = [each for each in function.arguments if each[0] != "parameters"]
    inputs = dict(function.arguments).get("parameters", ())
    arrays += [(name, [column]) for name, column in zip(parameters, inputs, strict=True)]
    with function.lock:
        defaults = {"tau": 0.0, "t": 0.0, **parameters}
        return to_casadi(function.recorded(), arrays, function.name, function.shape, defaults)


def _casadi() -> Any:
    try:
        import casadi
    except ImportError:
        raise MomentreeError("CasADi is not installed. Install it with: pip install momentree[casadi]") from None
    return casadi


def _replayed(casadi: Any, tape: Tape, values: dict[str, Any]) -> list[Any]:
    """The outputs on symbols of CasADi."""
    nodes, results = tape.nodes, dict[int, Any]()

    def at(edge: int) -> Any:
        return results[edge] if edge >= 0 else -results[-edge]

    for index in tape.live():
        op, edges = nodes[index][0], edges_of(nodes[index])
        if edges:
            spelt = partial(SPELLINGS[op.kind], casadi, op) if isinstance(op, TableOperation) else None
            results[index] = (spelt or partial(SPELLINGS[op], casadi))(*map(at, edges))
        else:
            content = nodes[index][1]
            results[index] = casadi.SX(content) if op == "number" else values[content]
    return [at(edge) for edge in tape.output_edges()]


# --- the backend (backends.py) ---


def load(tape: Tape, arrays: Arrays) -> Call | None:
    """`to_casadi` on numbers, where CasADi is installed."""
    if importlib.util.find_spec("casadi") is None:
        return None
    function = to_casadi(tape, arrays)

    def call(*values: Sequence[float]) -> list[float]:
        return [float(x) for x in function(*map(list, values)).full()[:, 0]]

    return call


BACKEND = Backend("CasADi", SPELLINGS, to_casadi, load)
