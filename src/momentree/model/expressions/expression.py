"""Expression: an immutable tree of operations on time, parameters and joint coordinates, computed on any scalar.

Its parts may be shared. It comes from a text (grammar.py), from Python operators, or from a Python function of symbols
(from_function.py). What is constant in it is a finite number, always, and `parse(str(e)) == e` (for texts as short as
the parser accepts).
Every algorithm walks a list of distinct parts: no recursion, and a part that is shared is visited once.
"""

from __future__ import annotations

import math
import operator
import reprlib
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from types import MappingProxyType
from typing import Any, cast

from momentree.errors import ExpressionError, suggestion
from momentree.model.expressions.functions import ARITY, OPERATORS, arity
from momentree.model.expressions.lookup import LookedUp, Lookup
from momentree.model.expressions.references import Reference as Reference
from momentree.model.expressions.text import digits, written
from momentree.spatial.scalar import FUNCTIONS

_NO_TABLES: Mapping[str, LookedUp] = MappingProxyType({})
_BRIEF = 200  # parts of an expression that a message still shows
_WRITTEN = 100_000  # parts of an expression that is still written out: shared parts are written again and again


def _function(op: str) -> Callable[..., Expression]:
    return lambda *args: fold(op, *map(as_expression, args))


def _operator(op: str, reflected: bool = False) -> Callable[[Expression, Any], Expression]:
    def method(self: Expression, other: Any) -> Expression:
        if not isinstance(other, (Expression, Real)) or isinstance(other, bool):
            return cast(Expression, NotImplemented)
        other = as_expression(other)
        return fold(op, other, self) if reflected else fold(op, self, other)

    return method


def _incomparable(self: Expression, other: Any) -> bool:
    raise TypeError(
        "an expression has no value yet, so it cannot be compared or stand after 'if'. "
        "Use select(x, a, b), which is a where x > 0 and b elsewhere, or minimum and maximum."
    )


class Expression:
    """One operation on parts that are expressions too; equal and hashed by structure.

    | field | meaning                                                                            |
    |-------|------------------------------------------------------------------------------------|
    | op    | "number", "reference", "+", "-", "*", "/", "^", "negate", the name of a function,  |
    |       | or a Lookup in a table                                                             |
    | args  | (float,) of a number, (Reference,) of a reference, else the parts                  |
    | value | the number, where the expression is a constant; else None                          |

    The constructor keeps its arguments, but the negative of a number becomes a number.
    """

    __slots__ = ("_hash", "_size", "args", "op", "value")
    op: str | Lookup
    args: tuple[Any, ...]
    value: float | None
    _hash: int
    _size: int

    def __new__(cls, op: str | Lookup, args: Sequence[Any]) -> Expression:
        args = _checked(op, args)
        if op == "negate" and args[0].op == "number":
            op, args = "number", (_finite(-args[0].args[0]),)
        self = super().__new__(cls)
        fields = {"op": op, "args": args, "value": _constant(op, args), "_hash": hash((op, args))}
        size = 1 + sum(part._size for part in args) if arity(op) else 1
        for field, content in (fields | {"_size": min(size, 10**9)}).items():
            object.__setattr__(self, field, content)
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"an expression does not change; make a new one instead of setting '{name}'.")

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    def __reduce__(self) -> tuple[Any, ...]:
        order = self._parts_first()
        index = {id(node): i for i, node in enumerate(order)}
        flat = [(node.op, [index[id(part)] for part in node._parts] or node.args) for node in order]
        return _from_flat, (flat,)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expression):
            return NotImplemented
        stack, seen = [(self, other)], set()
        while stack:
            a, b = stack.pop()
            if a is b or (id(a), id(b)) in seen:
                continue
            seen.add((id(a), id(b)))
            if hash(a) != hash(b) or a.op != b.op or (not arity(a.op) and a.args != b.args):
                return False
            stack.extend(zip(a._parts, b._parts, strict=True))
        return True

    # ---- Python operators, and functions by the names of spatial/scalar.py

    __add__, __radd__ = _operator("+"), _operator("+", reflected=True)
    __sub__, __rsub__ = _operator("-"), _operator("-", reflected=True)
    __mul__, __rmul__ = _operator("*"), _operator("*", reflected=True)
    __truediv__, __rtruediv__ = _operator("/"), _operator("/", reflected=True)
    __pow__, __rpow__ = _operator("^"), _operator("^", reflected=True)
    __neg__ = _function("negate")
    __lt__ = __le__ = __gt__ = __ge__ = _incomparable

    sin, cos, tan = _function("sin"), _function("cos"), _function("tan")
    asin, acos, atan, atan2 = _function("asin"), _function("acos"), _function("atan"), _function("atan2")
    sinh, cosh, tanh = _function("sinh"), _function("cosh"), _function("tanh")
    exp, log, sqrt, sign = _function("exp"), _function("log"), _function("sqrt"), _function("sign")
    minimum, maximum, select = _function("min"), _function("max"), _function("select")
    absolute = __abs__ = _function("abs")

    def looked_up(self, lookup: Lookup) -> Expression:
        """A table at this expression."""
        return fold(lookup, self)

    arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2  # what NumPy asks of the entries of an array

    def __pos__(self) -> Expression:
        return self

    def __bool__(self) -> bool:
        return _incomparable(self, None)

    def __float__(self) -> float:
        if self.value is None:
            shown = self._brief()
            raise TypeError(f"'{shown}' has no value yet. Use momentree.sin, momentree.sqrt ..., not those of math.")
        return self.value

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        action = _UFUNCS.get(ufunc.__name__)
        if action is None or method != "__call__" or options:
            return NotImplemented
        import numpy

        # as entries of arrays, so that NumPy broadcasts them and does not ask here again
        entries = [numpy.asarray(x, dtype=object) for x in inputs]
        return numpy.frompyfunc(action, len(entries), 1)(*entries)

    # ---- walks over the parts

    @property
    def _parts(self) -> tuple[Expression, ...]:
        return self.args if arity(self.op) else ()

    def _parts_first(self) -> list[Expression]:
        """Every distinct part once, after the parts that it is made of; this expression is the last."""
        order, seen, stack = [], set(), [(self, False)]
        while stack:
            node, parts_are_done = stack.pop()
            if parts_are_done:
                order.append(node)
            elif id(node) not in seen:
                seen.add(id(node))
                stack.append((node, True))
                stack.extend((part, False) for part in reversed(node._parts))
        return order

    def _computed(self, leaf: Callable[[Expression], Any], combine: Callable[[Expression, list[Any]], Any]) -> Any:
        """The value of the expression from those of its leaves; a branch that is not chosen is not computed."""
        done: dict[int, Any] = {}
        stack = [self]
        while stack:
            node = stack[-1]
            needed = _needed(node, done)
            waiting = [part for part in needed if id(part) not in done]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            stack.pop()
            if id(node) in done:
                continue
            values = [done[id(part)] for part in needed]
            if not arity(node.op):
                done[id(node)] = leaf(node)
            else:
                done[id(node)] = combine(node, values) if len(values) == len(node.args) else values[-1]
        return done[id(self)]

    def references(self) -> frozenset[Reference]:
        """Everything that the expression depends on; time is Reference("t")."""
        return frozenset(node.args[0] for node in self._parts_first() if node.op == "reference")

    def evaluate(
        self, values: Mapping[Reference, Any], functions: Mapping[str, Callable[..., Any]] | None = None
    ) -> Any:
        """The value at given scalars of any kind.

        A branch of `select` is computed only if it is chosen, where the condition is a number.

        | argument  | meaning                                                                            |
        |-----------|------------------------------------------------------------------------------------|
        | values    | a scalar for every reference                                                       |
        | functions | by their names in the language; "number", if given, makes a scalar from each float |
        """
        table = {**OPERATORS, **(FUNCTIONS if functions is None else functions)}
        make_number = table.get("number", float)

        def leaf(node: Expression) -> Any:
            if node.op == "number":
                return make_number(node.args[0])
            if node.args[0] not in values:
                raise ExpressionError(f"'{node}' has no value.{suggestion(str(node), map(str, values))}")
            return values[node.args[0]]

        def combine(node: Expression, parts: list[Any]) -> Any:
            try:
                return node.op(*parts) if isinstance(node.op, Lookup) else table[node.op](*parts)
            except (ArithmeticError, ValueError) as error:
                if isinstance(node.op, Lookup):
                    raise ExpressionError(str(error)) from error
                at = ", ".join(map(reprlib.repr, parts))
                raise ExpressionError(f"'{node._brief()}' has no value where its parts are {at}: {error}") from error

        return self._computed(leaf, combine)

    def substitute(self, values: Mapping[Reference, Any]) -> Expression:
        """The expression with numbers or expressions put in for some references, and what becomes constant computed."""
        replacements = {_as_reference(key): as_expression(value) for key, value in values.items()}

        def leaf(node: Expression) -> Expression:
            return replacements.get(node.args[0], node) if node.op == "reference" else node

        result: Expression = self._computed(leaf, lambda node, parts: fold(node.op, *parts))
        return result

    def derivative(self, by: Reference) -> Expression:
        """The exact partial derivative; a velocity does not depend on its coordinate, nor a coordinate on time."""
        from momentree.model.expressions.derivative import differential

        by = _as_reference(by)
        done: dict[int, Expression] = {}
        for node in self._parts_first():
            if arity(node.op):
                done[id(node)] = differential(node, [done[id(part)] for part in node.args])
            else:
                done[id(node)] = ONE if node.args[0] == by else ZERO
        return done[id(self)]

    def __str__(self) -> str:
        return written(self) if self._size <= _WRITTEN else self._brief()

    @property
    def size(self) -> int:
        """How many parts it has, each counted as often as it would be written; 10^9 where there are more."""
        return self._size

    def __repr__(self) -> str:
        return f"Expression({self._brief()!r})"

    def _brief(self) -> str:
        return str(self) if self._size <= _BRIEF else f"an expression of {self._size} parts"


# ---- making expressions


def parse(text: str, tables: Mapping[str, LookedUp] = _NO_TABLES) -> Expression:
    """The expression that a text means, which may use these tables; grammar.py has the language."""
    from momentree.model.expressions.grammar import parse as parse_text

    return parse_text(text, tables)


def parse_equation(text: str, tables: Mapping[str, LookedUp] = _NO_TABLES) -> Expression:
    """What is zero where an equation holds, "a = b" or an expression alone; grammar.py has the language."""
    from momentree.model.expressions.grammar import parse_equation as parse_text

    return parse_text(text, tables)


def number(value: Any) -> Expression:
    """A finite real number."""
    return Expression("number", (value,))


def reference(name: str, component: str = "", velocity: bool = False) -> Expression:
    """A parameter or a joint coordinate, or its velocity."""
    return Expression("reference", (Reference(name, component, velocity),))


def as_expression(value: Any) -> Expression:
    """An expression from a number, a text, a Reference or an expression."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, str):
        return parse(value)
    if isinstance(value, Reference):
        return Expression("reference", (value,))
    return number(value.item() if getattr(value, "shape", None) == () else value)


def fold(op: str | Lookup, *args: Expression) -> Expression:
    """The operation on the parts, with constants computed and neutral zeros and ones omitted."""
    node = Expression(op, args)
    if node.value is not None:
        return number(node.value)
    if op == "negate" and args[0].op == "negate":
        return cast(Expression, args[0].args[0])
    if op == "select" and args[0].value is not None:
        return args[1] if args[0].value > 0 else args[2]
    return _shorter(node) if len(args) == 2 else node


def _shorter(node: Expression) -> Expression:
    a: Expression
    b: Expression
    a, b = node.args
    match node.op, a.value, b.value:
        case ("*", 0, _) | ("*", _, 0) | ("/", 0, _):
            return ZERO
        case "^", _, 0:
            return ONE
        case ("+" | "-", _, 0) | ("*" | "/" | "^", _, 1):
            return a
        case ("+", 0, _) | ("*", 1, _):
            return b
        case "-", 0, _:
            return -b
    return node


# ---- what the parts of an expression have to be


def _checked(op: str | Lookup, args: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments of a node, if they are such that it can be computed and printed."""
    if arity(op):
        if len(args) != arity(op):
            raise ExpressionError(f"'{op}' takes {_arguments(arity(op))}, not {len(args)}")
        return tuple(map(as_expression, args))
    if len(args) != 1 or op not in ("number", "reference"):
        raise ExpressionError(f"unknown operation '{op}' of {len(args)} parts.{suggestion(str(op), ARITY)}")
    return (_finite(args[0]),) if op == "number" else (_writable(args[0]),)


def _arguments(count: int) -> str:
    return "1 argument" if count == 1 else f"{count} arguments"


def _finite(value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise ExpressionError(f"{reprlib.repr(value)} is not a number, a string or an expression")
    try:
        result = float(value) + 0.0  # there is one zero only, without a sign
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise ExpressionError(f"{reprlib.repr(value)} is not a finite number")
    return result


def _writable(symbol: Any) -> Reference:
    if not isinstance(symbol, Reference) or not isinstance(symbol.name, str) or not isinstance(symbol.component, str):
        raise ExpressionError(f"{reprlib.repr(symbol)} is not a Reference")
    if not symbol.name or "`" in symbol.name + symbol.component:
        raise ExpressionError(
            f"the name '{symbol.name}' is empty or has a backquote in it, so no expression can use it"
        )
    if symbol.name == "t" and symbol != Reference("t"):
        raise ExpressionError("t is time, which has no velocity and no components")
    return symbol


def _constant(op: str | Lookup, args: tuple[Any, ...]) -> float | None:
    """The number that a node is, if all its parts are numbers: a finite one."""
    if not arity(op):
        return args[0] if op == "number" else None
    values = [part.value for part in args]
    if op == "/" and values[1] == 0:
        raise ExpressionError("division by zero")
    if None in values:
        return None
    try:
        result = (op if isinstance(op, Lookup) else OPERATORS.get(op) or FUNCTIONS[op])(*values)
    except (ArithmeticError, ValueError):
        result = math.nan
    if not math.isfinite(result):
        texts = [digits(value) for value in values]
        shown = f" {op} ".join(texts) if op in OPERATORS else f"{op}({', '.join(texts)})"
        why = op.table.beyond(*values) if isinstance(op, Lookup) else ""
        raise ExpressionError(f"{shown} is not a finite real number{why and ': '}{why}")
    return float(result) + 0.0


def _needed(node: Expression, done: Mapping[int, Any]) -> tuple[Expression, ...]:
    """The parts that have to be computed for a node: of a select, its condition tells which."""
    if node.op != "select":
        return node._parts
    condition = node.args[0]
    if id(condition) not in done:
        return (condition,)
    value = done[id(condition)]
    value = value.value if isinstance(value, Expression) else value
    return (condition, node.args[1 if float(value) > 0 else 2]) if isinstance(value, Real) else node.args


def _as_reference(key: Any) -> Reference:
    key = key.args[0] if isinstance(key, Expression) and key.op == "reference" else key
    if not isinstance(key, Reference):
        raise ExpressionError(f"{reprlib.repr(key)} is not a Reference, such as Reference('alpha', velocity=True)")
    return key


def _from_flat(flat: Sequence[tuple[str, Sequence[Any]]]) -> Expression:
    nodes: list[Expression] = []
    for op, args in flat:
        nodes.append(Expression(op, [nodes[i] for i in args] if arity(op) else args))
    return nodes[-1]


# ---- constants, and the functions of NumPy that know expressions

time: Expression = reference("t")
ZERO: Expression = number(0.0)
ONE: Expression = number(1.0)
_ARITHMETIC = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "^", "negative": "negate"}
_RENAMED = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2"}
_EXTREMES = {"absolute": "abs", "minimum": "min", "maximum": "max"}
_UFUNCS: dict[str, Callable[..., Any]] = {
    **{name: _function(name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "sqrt", "sign")},
    **{name: _function(op) for name, op in (_ARITHMETIC | _RENAMED | _EXTREMES).items()},
    **{"positive": operator.pos, "equal": operator.eq, "not_equal": operator.ne},
    **{"less": operator.lt, "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge},
}
