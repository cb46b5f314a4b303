"""A tape: the sweeps run on its variables, and what they compute is recorded as a list of distinct operations.

A node is a tuple (operation, edges), the operation by its name, or a TableOperation; an edge is the index of an earlier
node, negative where that node enters with a minus sign, so that negation costs nothing. Equal operations on equal
arguments are one node, in one normal form:

| written                        | recorded                                                                     |
|--------------------------------|------------------------------------------------------------------------------|
| a + b, b + a, a - b, b - a     | ("+", a, b) or ("+", a, -b), the earlier node first and positive             |
| a * b, b * a                   | ("*", a, b), both positive                                                   |
| x / d                          | x * ("reciprocal", d); a constant d is inverted while tracing                |
| x ** 3, x ** -2                | products; any other power is ("power", x, y)                                 |
| 2 * x                          | x + x                                                                        |
| 3 * x + 4 * x, x - x / 2       | 7 * x, 0.5 * x                                                               |
| sin(-x), cos(-x), atan2(-y, x) | -sin(x), cos(x), -atan2(y, x), and so on for all that are odd or even        |
| min(-a, -b), select(x, -a, -b) | -max(a, b), -select(x, a, b); min(x, -x) is -abs(x)                           |

Numbers on numbers are computed while tracing, and what 0, 1 or -1 leave of an operation is not an operation. A result
that is constant is a plain number, never a variable. The sign of a zero is not preserved.

Numbers and values of inputs may be infinite or NaN, and every backend (compile/emit) computes with them as floats do.
Only the rules of algebra above take all numbers to be finite: 0 * x and x - x are 0 and x / x is 1, whatever x is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy

from momentree.compile.trace.operations import OPERATIONS, Operation, TableOperation, operation_of
from momentree.errors import MomentreeError, suggestion
from momentree.model.expressions.lookup import Pieces
from momentree.spatial.scalar import Scalar

Node = tuple[Any, ...]
NormalForm = Callable[..., Scalar]  # of a tape and the edges that an operation is applied to

_ZERO, _ONE, _TWO = 0, 1, 2  # the first three nodes of a tape are these numbers
_HIGHEST_POWER = 64  # that is written as products
LEAVES = ("number", "input", "parameter")  # nodes without arguments


class Operations(NamedTuple):
    """How many operations it takes to compute the outputs of a tape.

    | field          | meaning                                                                     |
    |----------------|-----------------------------------------------------------------------------|
    | additions      | and subtractions                                                            |
    | divisions      | reciprocals; what they then multiply counts as a multiplication             |
    | trigonometric  | sin, cos, tan and their inverses, each by itself                            |
    | other          | exponentials and hyperbolic functions, logarithms, powers, abs, min, select |
    """

    multiplications: int = 0
    additions: int = 0
    divisions: int = 0
    trigonometric: int = 0
    roots: int = 0
    other: int = 0


class Tape:
    """Records what is computed with its variables.

    >>> tape = Tape()
    >>> x, y = tape.inputs("x", "y")
    >>> tape.outputs([x * y - x, -(y * x)])
    >>> print(tape.listing())
    v5 = x * y
    v6 = x - v5
    output 0 = -v6
    output 1 = -v5
    >>> tape.evaluate({"x": 3.0, "y": 2.0})
    [3.0, -6.0]
    """

    def __init__(self) -> None:
        self._known: dict[Node, int] = {("number", number): number for number in (_ZERO, _ONE, _TWO)}
        self._numbers: dict[int, float] = {number: number for number in (_ZERO, _ONE, _TWO)}  # by their nodes
        self._multiples: dict[int, tuple[float, int]] = {}  # a number times a node, by the node of the product
        self._names: dict[str, int] = {}  # of inputs and parameters
        self._inputs: dict[int, str] = {}  # the same by their nodes
        self._outputs: list[int] | None = None

    # --- what goes in and what comes out ---

    def input(self, name: str) -> Variable:
        """A value that changes from call to call."""
        return self._named("input", name)

    def inputs(self, *names: str) -> tuple[Variable, ...]:
        """Several inputs."""
        return tuple(self.input(name) for name in names)

    def parameter(self, name: str) -> Variable:
        """An input that stays as it is for many calls: what depends on parameters alone is computed once."""
        return self._named("parameter", name)

    def known_input(self, name: str) -> Variable | None:
        """The input or parameter of this name, if there is one."""
        return Variable(self, self._names[name]) if name in self._names else None

    def name_of(self, x: Scalar) -> str | None:
        """What an input or a parameter is called; nothing for anything else, such as minus an input."""
        if not isinstance(x, Variable) or x.edge not in self._inputs:
            return None
        return self._inputs[x.edge]

    def outputs(self, results: Sequence[Scalar]) -> None:
        """Choose the results, numbers or variables, in this order; whatever does not lead to one is dead."""
        self._outputs = [self.edge(result) for result in results]

    # --- what was recorded ---

    @property
    def nodes(self) -> list[Node]:
        """Every node ever recorded: ("number", value), ("input" or "parameter", name) or (operation, edges)."""
        return list(self._known)

    def __len__(self) -> int:
        """How many nodes were ever recorded."""
        return len(self._known)

    def __bool__(self) -> bool:
        return True

    def live(self) -> list[int]:
        """The nodes that the outputs need, arguments before results."""
        nodes = self.nodes
        needed = bytearray(len(nodes))
        for edge in self.output_edges():
            needed[abs(edge)] = True
        for index in range(len(nodes) - 1, -1, -1):
            if needed[index]:
                node = nodes[index]
                if node[0] not in LEAVES:
                    for edge in node[1:]:
                        needed[abs(edge)] = True
        return list(itertools.compress(range(len(nodes)), needed))

    def online(self, live: Sequence[int] | None = None) -> list[int]:
        """The live operations that depend on an input, and so are done at every call; `live` where it is known."""
        nodes, live = self.nodes, self.live() if live is None else live
        varying, online = bytearray(len(nodes)), list[int]()
        for index in live:
            node = nodes[index]
            kind = node[0]
            if kind == "input":
                varying[index] = True
            elif kind not in LEAVES:
                for edge in node[1:]:
                    if varying[abs(edge)]:
                        varying[index] = True
                        online.append(index)
                        break
        return online

    def operations(self) -> Operations:
        """Counts of the live operations; those on constants and parameters alone are done once and do not count."""
        nodes, counts = self.nodes, dict.fromkeys(Operations._fields, 0)
        for index in self.online():
            counts[operation_of(nodes[index][0]).counted_as] += 1
        return Operations(**counts)

    def evaluate(self, values: Mapping[str, Scalar]) -> list[Scalar]:
        """The outputs at scalars of any kind, by replaying the live operations on them.

        As in compiled code both branches of a select are computed, and floats outside the domain of a function give
        NaN or an infinity.
        """
        results: dict[int, Scalar] = dict(self._numbers)
        for name, value in values.items():
            if name not in self._names:
                raise MomentreeError(f"the tape has no input '{name}'.{suggestion(name, self._names)}")
            results[self._names[name]] = value

        def at(edge: int) -> Scalar:
            return results[edge] if edge >= 0 else -results[-edge]

        nodes = self.nodes
        with numpy.errstate(all="ignore"):
            for index in self.live():
                op, edges = nodes[index][0], edges_of(nodes[index])
                if edges:
                    results[index] = _replayed(op, map(at, edges))
                elif index not in results:
                    raise MomentreeError(f"{op} '{nodes[index][1]}' has no value, but the outputs of the tape need it.")
            return [at(edge) for edge in self.output_edges()]

    def listing(self) -> str:
        """The live operations as text, one on a line; those that are done once are marked."""
        texts = {index: repr(value) for index, value in self._numbers.items()}
        texts |= self._inputs

        def at(edge: int) -> str:
            return "-" * (edge < 0) + texts.get(abs(edge), f"v{abs(edge)}")

        nodes, online, lines = self.nodes, set(self.online()), []
        for index in self.live():
            op, edges = nodes[index][0], edges_of(nodes[index])
            if edges:
                formula = operation_of(op).text(*map(at, edges)).replace(" + -", " - ")
                lines.append(f"v{index} = {formula}{'' if index in online else '  (once)'}")
        lines += [f"output {k} = {at(edge)}" for k, edge in enumerate(self.output_edges())]
        return "\n".join(lines)

    def to_casadi(self, arrays: Sequence[tuple[str, Sequence[str]]] | None = None) -> Any:
        """The outputs as a casadi.Function of columns of inputs, or of each input by itself."""
        from momentree.compile.emit.casadi import to_casadi

        return to_casadi(self, arrays)

    # --- edges ---

    def edge(self, x: Scalar) -> int:
        """The edge that leads to a number or a variable."""
        if isinstance(x, Variable):
            if x.tape is not self:
                raise TypeError("variables of two tapes meet in one operation. Trace everything on one tape.")
            return x.edge
        if not isinstance(x, (float, int, Real)):
            raise TypeError(f"a tape takes numbers and its own variables, not {type(x).__name__}.")
        value = x if type(x) is float or type(x) is int else float(x)
        index = self._known.setdefault(("number", abs(value)), len(self._known))
        self._numbers.setdefault(index, abs(value))
        return -index if value < 0 else index

    def scalar(self, edge: int) -> Scalar:
        """What an edge leads to: a plain number where it is constant, else a variable."""
        value = self._numbers.get(abs(edge))
        if value is not None:
            return value if edge >= 0 else -value
        return Variable(self, edge)

    def record(self, node: Node, sign: int = 1) -> Variable:
        """The variable of a node in normal form, new or recorded before."""
        return Variable(self, self._known.setdefault(node, len(self._known)) * sign)

    def _named(self, kind: str, name: str) -> Variable:
        if name in self._names:
            raise MomentreeError(f"the tape already has an input or a parameter '{name}'. Choose another name.")
        variable = self.record((kind, name))
        self._names[name], self._inputs[variable.edge] = variable.edge, name
        return variable

    def output_edges(self) -> list[int]:
        if self._outputs is None:
            raise MomentreeError("the tape has no outputs yet, so nothing on it is needed. Call outputs([...]) first.")
        return self._outputs


def edges_of(node: Node) -> tuple[int, ...]:
    return () if node[0] in LEAVES else node[1:]


# --- the normal form of each operation, of edges ---


def _sum(tape: Tape, a: int, b: int) -> Scalar:
    if abs(a) > abs(b):
        a, b = b, a
    if a == _ZERO:
        return tape.scalar(b)
    if a == -b:
        return 0
    (factor, x), (other, y) = (tape._multiples.get(abs(edge), (1.0, abs(edge))) for edge in (a, b))
    if x == y and a != b:
        total = (factor if a > 0 else -factor) + (other if b > 0 else -other)
        return _product(tape, tape.edge(total), x)
    return tape.record(("+", a, b)) if a > 0 else tape.record(("+", -a, -b), -1)


def _difference(tape: Tape, a: int, b: int) -> Scalar:
    return _sum(tape, a, -b)


def _product(tape: Tape, a: int, b: int) -> Scalar:
    sign = 1 if (a < 0) == (b < 0) else -1
    a, b = abs(a), abs(b)
    if a > b:
        a, b = b, a
    if a == _ZERO:
        return 0
    if a == _ONE:
        return tape.scalar(sign * b)
    if a == _TWO:
        return tape.record(("+", b, b), sign)
    product = tape.record(("*", a, b), sign)
    for constant, other in ((a, b), (b, a)):
        if constant in tape._numbers:
            tape._multiples[abs(product.edge)] = tape._numbers[constant], other
    return product


def _quotient(tape: Tape, a: int, b: int) -> Scalar:
    if abs(a) == abs(b):
        return 1 if a == b else -1
    constant = tape._numbers.get(abs(b))
    inverse = tape.edge(1 / constant) if constant is not None else tape.record(("reciprocal", abs(b))).edge
    return _product(tape, a, inverse if b > 0 else -inverse)


def _power(tape: Tape, x: int, y: int) -> Scalar:
    exponent = tape.scalar(y)
    if isinstance(exponent, Variable):
        return 1 if x == _ONE else tape.record(("power", x, y))
    if exponent == 0.5:
        return tape.record(("sqrt", x))
    if exponent % 1 != 0 or abs(exponent) > _HIGHEST_POWER:
        return tape.record(("power", x, y))
    result, square, remaining = 1, tape.scalar(x), int(abs(exponent))
    while remaining:
        result = square * result if remaining % 2 else result
        remaining //= 2
        square = square * square if remaining else square
    return result if exponent >= 0 else 1 / result


def _atan2(tape: Tape, y: int, x: int) -> Scalar:
    return tape.record(("atan2", abs(y), x), 1 if y >= 0 else -1)


def _extreme(op: str, opposite: str) -> NormalForm:
    def extreme(tape: Tape, a: int, b: int) -> Scalar:
        a, b = sorted((a, b), key=lambda edge: (abs(edge), -edge))
        if a == b:
            return tape.scalar(a)
        if a == -b:
            return tape.record(("absolute", a), -1 if op == "minimum" else 1)
        return tape.record((op, a, b)) if (a or b) > 0 else tape.record((opposite, -a, -b), -1)

    return extreme


def _select(tape: Tape, x: int, a: int, b: int) -> Scalar:
    condition = tape.scalar(x)
    if a == b or not isinstance(condition, Variable):
        return tape.scalar(a if a == b or condition > 0 else b)
    return tape.record(("select", x, a, b)) if (a or b) > 0 else tape.record(("select", x, -a, -b), -1)


# --- variables ---


def _operator(normal: NormalForm, reflected: bool = False) -> Callable[[Variable, Any], Scalar]:
    def method(self: Variable, other: Any) -> Scalar:
        tape = self.tape
        if type(other) is Variable and other.tape is tape:
            others = other.edge
        elif isinstance(other, (Variable, float, int, Real)):
            others = tape.edge(other)
        else:
            return NotImplemented
        return normal(tape, others, self.edge) if reflected else normal(tape, self.edge, others)

    return method


def _function(operation: Operation) -> Callable[[Variable], Scalar]:
    name, parity = operation.name, operation.parity

    def method(self: Variable) -> Scalar:
        if self.edge < 0 and parity:
            return self.tape.record((name, -self.edge), parity)
        return self.tape.record((name, self.edge))

    return method


def _of_several(normal: NormalForm) -> Callable[..., Scalar]:
    def method(*arguments: Scalar) -> Scalar:  # the first may be a number: spatial/scalar.py
        tape: Tape = next(x.tape for x in arguments if isinstance(x, Variable))
        return normal(tape, *map(tape.edge, arguments))

    return method


def _incomparable(self: Variable, other: Any = None) -> bool:
    raise TypeError(
        "a variable of a tape is not yet a number, so it cannot be compared or stand after 'if'. "
        "Use select(x, a, b), which is a where x > 0 and b elsewhere, or minimum and maximum."
    )


class Variable:
    """A scalar that is not constant: an edge to a node of a tape, negative for minus that node.

    Variables of one node and one sign are equal; none equals a number.
    """

    __slots__ = ("edge", "tape")
    __array_ufunc__ = None  # so that a NumPy scalar on the left is left to the variable

    def __init__(self, tape: Tape, edge: int):
        self.tape, self.edge = tape, edge

    def __neg__(self) -> Variable:
        return Variable(self.tape, -self.edge)

    def __pos__(self) -> Variable:
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Variable) and self.edge == other.edge and self.tape is other.tape

    def __hash__(self) -> int:
        return hash(self.edge)

    def __float__(self) -> float:
        raise TypeError(f"{self!r} is not yet a number. Use momentree.sin, momentree.sqrt ..., not those of math.")

    def __repr__(self) -> str:
        return f"Variable({'-' * (self.edge < 0)}v{abs(self.edge)})"

    __add__ = __radd__ = _operator(_sum)
    __mul__ = __rmul__ = _operator(_product)
    __sub__, __rsub__ = _operator(_difference), _operator(_difference, reflected=True)
    __truediv__, __rtruediv__ = _operator(_quotient), _operator(_quotient, reflected=True)
    __pow__, __rpow__ = _operator(_power), _operator(_power, reflected=True)
    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = _incomparable

    __abs__ = _function(OPERATIONS["absolute"])

    def located(self, pieces: Pieces) -> Variable:
        """The piece of a table that it lies in (model/expressions/lookup.py)."""
        return self.tape.record((TableOperation.locate(pieces), self.edge))

    def entry(self, pieces: Pieces, column: int) -> Variable:
        """An entry of the row of this piece."""
        return self.tape.record((TableOperation.entry(pieces, column), self.edge))


# the functions of spatial/scalar.py as methods, by which these find them
_OF_SEVERAL: dict[str, NormalForm] = {
    "atan2": _atan2,
    "minimum": _extreme("minimum", "maximum"),
    "maximum": _extreme("maximum", "minimum"),
    "select": _select,
}
for _operation in OPERATIONS.values():
    if _operation.arity == 1:
        setattr(Variable, _operation.name, _function(_operation))
for _name, _normal_form in _OF_SEVERAL.items():
    setattr(Variable, _name, _of_several(_normal_form))


# --- replay ---


def _replayed(op: str | TableOperation, arguments: Iterable[Scalar]) -> Scalar:
    compute, arguments = operation_of(op).compute, list(arguments)
    try:
        return compute(*arguments)
    except (ArithmeticError, ValueError):  # floats outside the domain: NumPy knows what compiled code would give
        return compute(*map(numpy.asarray, arguments))
