"""The operations of a tape, one table for all who read tapes: replay, operation counts, derivatives and every backend.

A new operation is one entry here, a function in spatial/scalar.py, and a spelling in each backend of emit/: a backend
whose spellings are not complete (`complete`) fails when it is loaded, not when a model happens to use the operation.

Derivative rules give w times the slope of an operation by one argument, from its result y and its arguments. A choice
passes w on or holds it back, instead of multiplying it by 1 or 0: w may be infinite where it is held back.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from momentree.errors import MomentreeError
from momentree.model.expressions.lookup import Pieces
from momentree.spatial.scalar import FUNCTIONS, Scalar, cos, cosh, floor, log, select, sign, sin, sinh, sqrt

Rule = Callable[..., Scalar]  # of a factor w, the result y and the arguments: w times one slope
Spelling = TypeVar("Spelling")


@dataclass(frozen=True)
class Operation:
    """An operation of a tape.

    | field      | meaning                                                                                       |
    |------------|-----------------------------------------------------------------------------------------------|
    | compute    | the operation on floats, arrays or symbols                                                    |
    | rules      | the derivative rule of each argument; None where the slope is 0 everywhere                    |
    | counted_as | the field of tape.Operations that counts it                                                   |
    | parity     | of a function of one argument: -1 where f(-x) = -f(x), 1 where f(-x) = f(x), else 0           |
    | listed     | how a listing writes it, with {} for each argument; unless given, as a function of its name   |
    """

    name: str
    compute: Callable[..., Scalar]
    rules: tuple[Rule | None, ...]
    counted_as: str = "other"
    parity: int = 0
    listed: str = ""

    @property
    def arity(self) -> int:
        """The number of arguments."""
        return len(self.rules)

    def text(self, *arguments: str) -> str:
        """The operation in a listing."""
        return self.listed.format(*arguments) if self.listed else f"{self.name}({', '.join(arguments)})"


def _real_power(x: Scalar, y: Scalar) -> Scalar:
    real = isinstance(x, (int, float)) and isinstance(y, (int, float))
    return math.pow(x, y) if real else x**y  # Python would go complex: (-8.0)**(1/3)


def _log_or_zero(x: Scalar) -> Scalar:
    """log x, but 0 at x = 0: the slope of 0**y by its exponent is 0."""
    if isinstance(x, (int, float)):
        return log(x) if x > 0 else 0 if x == 0 else math.nan
    return select(abs(x), log(x), 0)


def _function(name: str, *rules: Rule | None, counted_as: str = "other", parity: int = 0) -> Operation:
    """A function of the expression language, under the name that it has on a tape."""
    compute = next(function for function in FUNCTIONS.values() if function.__name__ == name)
    return Operation(name, compute, rules, counted_as, parity)


def _angle(name: str, *rules: Rule, parity: int = 0) -> Operation:
    return _function(name, *rules, counted_as="trigonometric", parity=parity)


_TABLE = (
    Operation("+", operator.add, (lambda w, y, a, b: w, lambda w, y, a, b: w), "additions", 0, "{} + {}"),
    Operation("*", operator.mul, (lambda w, y, a, b: w * b, lambda w, y, a, b: w * a), "multiplications", 0, "{} * {}"),
    Operation("reciprocal", lambda x: 1 / x, (lambda w, y, x: -w * (y * y),), "divisions", -1, "1 / {}"),
    Operation(
        "power", _real_power, (lambda w, y, x, n: w * (n * x ** (n - 1)), lambda w, y, x, n: w * (y * _log_or_zero(x)))
    ),
    _angle("sin", lambda w, y, x: w * cos(x), parity=-1),
    _angle("cos", lambda w, y, x: -w * sin(x), parity=1),
    _angle("tan", lambda w, y, x: w * (1 + y * y), parity=-1),
    _angle("asin", lambda w, y, x: w * (1 / sqrt((1 - x) * (1 + x))), parity=-1),
    _angle("acos", lambda w, y, x: -w * (1 / sqrt((1 - x) * (1 + x)))),
    _angle("atan", lambda w, y, x: w * (1 / (1 + x * x)), parity=-1),
    _angle("atan2", lambda w, y, b, a: w * (a / (a * a + b * b)), lambda w, y, b, a: -w * (b / (a * a + b * b))),
    _function("sinh", lambda w, y, x: w * cosh(x), parity=-1),
    _function("cosh", lambda w, y, x: w * sinh(x), parity=1),
    _function("tanh", lambda w, y, x: w * (1 - y * y), parity=-1),
    _function("exp", lambda w, y, x: w * y),
    _function("log", lambda w, y, x: w * (1 / x)),
    _function("sqrt", lambda w, y, x: w * (0.5 / y), counted_as="roots"),
    _function("absolute", lambda w, y, x: w * sign(x), parity=1),
    _function("sign", None, parity=-1),
    Operation("floor", floor, (None,)),
    _function("minimum", lambda w, y, a, b: select(b - a, w, 0), lambda w, y, a, b: select(b - a, 0, w)),
    _function("maximum", lambda w, y, a, b: select(a - b, w, 0), lambda w, y, a, b: select(a - b, 0, w)),
    _function("select", None, lambda w, y, x, a, b: select(x, w, 0), lambda w, y, x, a, b: select(x, 0, w)),
)
OPERATIONS: dict[str, Operation] = {operation.name: operation for operation in _TABLE}
LOOKUPS = ("locate", "entry")


@dataclass(frozen=True, eq=False)
class TableOperation(Operation):
    """One of the two operations on a table (model/expressions/lookup.py): not named by a string, since it has numbers.

    | kind     | of              | gives                                     |
    |----------|-----------------|-------------------------------------------|
    | "locate" | x               | the number of the piece that x lies in    |
    | "entry"  | that number     | the entry of this column in its row       |

    Both are piecewise constant. Backends have a spelling for each kind, a function of the operation and its argument.
    """

    kind: str = ""
    pieces: Pieces = field(kw_only=True)
    column: int = 0

    @classmethod
    def locate(cls, pieces: Pieces) -> TableOperation:
        """Of the argument of a table."""
        return cls(f"locate[{pieces.name}]", pieces.located, (None,), kind="locate", pieces=pieces)

    @classmethod
    def entry(cls, pieces: Pieces, column: int) -> TableOperation:
        """Of the number of a piece."""
        name, compute = f"entry{column}[{pieces.name}]", partial(pieces.entry, column)
        return cls(name, compute, (None,), kind="entry", pieces=pieces, column=column)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableOperation) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[str, str, int]:
        return self.kind, self.pieces.digest, self.column


def operation_of(op: str | TableOperation) -> Operation:
    """The operation of a node of a tape."""
    return op if isinstance(op, TableOperation) else OPERATIONS[op]


def complete(backend: str, spellings: Mapping[str, Spelling]) -> dict[str, Spelling]:
    """How a backend writes each operation, checked: one spelling for every operation, and none for anything else."""
    known = dict.fromkeys([*OPERATIONS, *LOOKUPS])
    missing, unknown = known.keys() - spellings.keys(), spellings.keys() - known.keys()
    if missing or unknown:
        problems = [f"no spelling of {', '.join(sorted(missing))}"] * bool(missing)
        problems += [f"no such operation as {', '.join(sorted(unknown))}"] * bool(unknown)
        message = f"backend '{backend}': {'; '.join(problems)}. Spell every operation of compile/trace/operations.py."
        raise MomentreeError(message)
    return {name: spellings[name] for name in known}
