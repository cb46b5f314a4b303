"""The grammar of expressions: a small Pratt parser, so that no text is ever run as Python; text.py is its inverse.

| written                   | means                                                             |
|---------------------------|-------------------------------------------------------------------|
| 1  2.5  .5  1e-3  pi  deg | numbers; deg is pi/180                                            |
| t                         | time                                                              |
| alpha   alpha'            | a parameter or a joint coordinate, and its velocity               |
| hull.y  hull.y'           | a component of a joint with several coordinates, and its velocity |
| tip.x   tip.x'  tip.wx    | in constraints: of a named frame, in axes of the ground, position |
|                           | (x, y, z), velocity (x', y', z'), angular velocity (wx, wy, wz)   |
| `left hip`.x'             | names that are not identifiers are in backquotes                  |
| + - * / ^ or **           | as in Python: ^ binds tightest and to the right, -x^2 is -(x^2)   |
| sin(x)  atan2(y, x)  ...  | the functions of FUNCTIONS; min and max take two or more          |
| select(x, a, b)           | a where x > 0, b elsewhere                                        |
| cam(x)  cam'(x)           | a table of the model, and its derivatives; `left cam`(x)          |
| a = b                     | where equations are expected (constraints, surfaces): a - b       |

What a dot means is decided by the name before it: a joint and a named frame have different names.
What is constant has to be a finite number. It is kept as it is written, but for pi, deg and signs of numbers.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any, NamedTuple, NoReturn

from momentree.errors import ExpressionError, suggestion
from momentree.model.expressions.expression import Expression
from momentree.model.expressions.functions import BINDING, CONSTANTS
from momentree.model.expressions.lookup import LookedUp, Lookup
from momentree.model.expressions.references import APOSTROPHES, Reference, continues_name
from momentree.spatial.scalar import FUNCTIONS

MAX_LENGTH = 10_000  # characters
MAX_DEPTH = 100
_NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_PUNCTUATION = re.compile(r"\*\*|[-+*/^(),]")
_CALL = re.compile(rf"([{APOSTROPHES}]*)\s*\(")
_STARTS_OPERAND = ("number", "name", "reference", "table", "(")
UNITS = (
    *("kg", "g", "m", "mm", "cm", "km", "s", "ms", "h", "rad", "rpm", "Hz"),
    *("N", "kN", "Nm", "J", "W", "Pa", "MPa", "GPa"),
)
NO_UNITS = "Numbers have no units: they are in m, kg, s, rad, N"
_NO_COMPARISON = "there are no comparisons: select(x, a, b) is a where x > 0 and b elsewhere"
_HINTS = {
    "=": "an equation a = b is written as a - b",
    **dict.fromkeys("<>≤≥!≠", _NO_COMPARISON),
    **dict.fromkeys('"“”', "quoted strings have no meaning here; unusual names are written in backquotes: `left hip`"),
    **dict.fromkeys(APOSTROPHES, "an apostrophe follows a name directly, once, and means its velocity: alpha'"),
    ".": "a name has one component at most, right after it: hull.y",
    **dict.fromkeys("[]{}", "use parentheses ( )"),
    **dict.fromkeys("·×∙⋅", "write * for a product"),
    "÷": "write / for a quotient",
    "−": "write - for a minus sign",
    "²": "write ^2",
    "³": "write ^3",
    "√": "write sqrt(x)",
    "°": "write 30*deg",
}


def parse(text: str, tables: Mapping[str, LookedUp]) -> Expression:
    """The expression that a text means, or an ExpressionError with the position of the mistake."""
    return _Parser(_checked(text), tables).whole()


def parse_equation(text: str, tables: Mapping[str, LookedUp]) -> Expression:
    """The expression that is zero where an equation holds: a - b for "a = b", a for "a = 0" or for "a" alone."""
    return _Parser(_checked(text), tables, equation=True).equation()


def _checked(text: str) -> str:
    if not isinstance(text, str):
        raise ExpressionError(f"expressions must be strings, not {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        message = f"an expression of {len(text)} characters is too long; the limit is {MAX_LENGTH}"
        raise ExpressionError(message, position=MAX_LENGTH)
    return text


class _Token(NamedTuple):
    kind: str  # "number", "name" (plain, perhaps of a function), "reference", "table", "end", or the sign itself
    text: str
    position: int
    content: Any = None  # float, Reference or Lookup


def _fail(message: str, text: str, position: int) -> NoReturn:
    raise ExpressionError(message, text, position)


# ---- text to tokens


def _tokens(text: str, tables: Mapping[str, LookedUp], equation: bool) -> Iterator[_Token]:
    """One token after the other, each read only when it is asked for, so that the first mistake is reported first."""
    at = 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        token = _Token("=", "=", at) if equation and text[at : at + 1] == "=" else _token(text, at, tables)
        yield token
        at += len(token.text)


def _token(text: str, at: int, tables: Mapping[str, LookedUp]) -> _Token:
    if at == len(text):
        return _Token("end", "", at)
    if number := _NUMBER.match(text, at):
        if math.isinf(float(number[0])):
            _fail(f"{reprlib.repr(number[0])[1:-1]} is too large: not a finite number", text, at)
        return _Token("number", number[0], at, float(number[0]))
    if text[at] == "`" or text[at].isidentifier():
        return _table(text, at, tables) or _name(text, at)
    if sign := _PUNCTUATION.match(text, at):
        return _Token("^" if sign[0] == "**" else sign[0], sign[0], at)
    hint = _HINTS.get(text[at])
    _fail(f"unexpected character {text[at]!r}{': ' + hint if hint else ''}", text, at)


def _table(text: str, start: int, tables: Mapping[str, LookedUp]) -> _Token | None:
    """The name of a table with an apostrophe for each derivative, where an argument follows."""
    name, at = _word(text, start) if tables else ("", start)
    called = _CALL.match(text, at)
    if name not in tables or called is None:
        return None
    table, order = tables[name], len(called[1])
    if order > table.degree:
        _fail(f"table '{name}' has at most {table.degree} derivatives: write {name}'(...)", text, at + table.degree)
    return _Token("table", text[start : called.end(1)], start, Lookup(table, order))


def _name(text: str, start: int) -> _Token:
    """A name with its component and its apostrophe, without spaces in between."""
    name, at = _word(text, start)
    component, velocity = "", False
    if text[at : at + 1] == ".":
        if not (text[at + 1 : at + 2] == "`" or text[at + 1 : at + 2].isidentifier()):
            _fail("the name of a component is missing after '.', as in hull.y", text, at)
        component, at = _word(text, at + 1)
    if text[at : at + 1] and text[at] in APOSTROPHES:
        velocity, at = True, at + 1
    written = text[start:at]
    if written == name:
        return _Token("name", name, start, Reference(name))
    if text[start] != "`" and name in CONSTANTS:
        _fail(f"'{name}' is a number: it has no components and no velocity", text, start)
    if text[start] != "`" and name in FUNCTIONS:
        _fail(f"'{name}' is a function: write {name}(...)", text, start)
    return _Token("reference", written, start, Reference(name, component, velocity))


def _word(text: str, start: int) -> tuple[str, int]:
    """An identifier, or whatever stands between backquotes; and where it ends."""
    if text[start] != "`":
        end = start + 1
        while end < len(text) and continues_name(text[end]):
            end += 1
        return text[start:end], end
    end = text.find("`", start + 1)
    if end < 0:
        _fail("the backquote that ends this name is missing", text, start)
    if end == start + 1:
        _fail("there is no name between these backquotes", text, start)
    return text[start + 1 : end], end + 1


# ---- tokens to tree


class _Parser:
    def __init__(self, text: str, tables: Mapping[str, LookedUp], equation: bool = False):
        self.text, self.tables = text, tables
        self.tokens = _tokens(text, tables, equation)
        self.previous = self.token = next(self.tokens)

    def whole(self) -> Expression:
        result = self.expression(0, 0)
        if self.token.kind != "end":
            self.refuse(self.token)
        return result

    def equation(self) -> Expression:
        """One side, or two with a sign of equality between them."""
        left = self.expression(0, 0)
        if self.token.kind != "=":
            return left if self.token.kind == "end" else self.refuse(self.token)
        sign = self.advance()
        right = self.expression(0, 0)
        if self.token.kind != "end":
            self.refuse(self.token)
        return left if right.value == 0 else self.node("-", (left, right), sign)

    def expression(self, binding: int, depth: int) -> Expression:
        """An operand and all operators after it that bind more tightly than `binding`."""
        left = self.operand(depth)
        while BINDING.get(self.token.kind, 0) > binding:
            sign = self.advance()
            if sign.kind == "^":  # to the right: a^b^c is a^(b^c)
                right = self.expression(BINDING["^"] - 1, self.deeper(depth, sign))
            else:
                right = self.expression(BINDING[sign.kind], depth)
            left = self.node(sign.kind, (left, right), sign)
        return left

    def operand(self, depth: int) -> Expression:
        token = self.advance()
        match token.kind:
            case "number" | "reference":
                return self.node(token.kind, (token.content,), token)
            case "name" | "table":
                return self.call(token, depth) if self.token.kind == "(" else self.name(token)
            case "+":
                return self.expression(BINDING["negate"], self.deeper(depth, token))
            case "-":
                return self.node("negate", (self.expression(BINDING["negate"], self.deeper(depth, token)),), token)
            case "(":
                inside = self.expression(0, self.deeper(depth, token))
                self.close(token)
                return inside
            case "end":
                expected = "expected a number, a name or '('" if self.text.strip() else "the expression is empty"
                _fail(f"unexpected end: {expected}", self.text, token.position)
        _fail(f"unexpected '{token.text}': expected a number, a name or '('", self.text, token.position)

    def name(self, token: _Token) -> Expression:
        if token.text in FUNCTIONS:
            _fail(f"'{token.text}' is a function: write {token.text}(...)", self.text, token.position)
        if token.text in CONSTANTS:
            return self.node("number", (CONSTANTS[token.text],), token)
        if token.text in self.tables:
            _fail(f"'{token.text}' is a table: write {token.text}(...)", self.text, token.position)
        return self.node("reference", (token.content,), token)

    def call(self, function: _Token, depth: int) -> Expression:
        """A function and its arguments in parentheses."""
        name = function.text
        if function.kind != "table" and name not in FUNCTIONS:
            near = suggestion(name, [*FUNCTIONS, *self.tables])
            _fail(f"unknown function '{name}'.{near} A product is written {name}*(...).", self.text, function.position)
        depth = self.deeper(depth, function)
        opening = self.advance()
        arguments = [] if self.token.kind == ")" else [self.expression(0, depth)]
        while self.token.kind == ",":
            self.advance()
            arguments.append(self.expression(0, depth))
        self.close(opening)
        if name in ("min", "max") and len(arguments) >= 2:
            return reduce(lambda a, b: self.node(name, (a, b), function), arguments)
        if name in ("min", "max") and function.kind != "table":
            _fail(f"'{name}' takes 2 or more arguments, not {len(arguments)}", self.text, function.position)
        return self.node(function.content if function.kind == "table" else name, tuple(arguments), function)

    def close(self, opening: _Token) -> None:
        if self.token.kind == "end":
            message = f"missing ')' that closes the '(' at position {opening.position}"
            _fail(message, self.text, self.token.position)
        if self.token.kind != ")":
            self.refuse(self.token)
        self.advance()

    def advance(self) -> _Token:
        self.previous, self.token = self.token, next(self.tokens) if self.token.kind != "end" else self.token
        return self.previous

    def deeper(self, depth: int, token: _Token) -> int:
        if depth == MAX_DEPTH:
            _fail(f"nested too deeply: the limit is {MAX_DEPTH} levels", self.text, token.position)
        return depth + 1

    def refuse(self, token: _Token) -> NoReturn:
        """A token that cannot follow a complete operand."""
        if token.kind in _STARTS_OPERAND:
            before = self.previous.text
            message = f"an operator is missing between '{before}' and '{token.text}': write {before}*{token.text}"
            if self.previous.kind == "number" and token.text in UNITS:
                message += f", or {before} alone if '{token.text}' is a unit. {NO_UNITS}"
        elif token.kind == ")":
            message = "unexpected ')': no '(' is open here"
        elif token.kind == "=":
            message = "unexpected '=': an equation a = b has one sign of equality, outside of all parentheses"
        else:
            message = f"unexpected '{token.text}': a comma stands only between the arguments of a function"
        _fail(message, self.text, token.position)

    def node(self, op: str | Lookup, args: tuple[Any, ...], token: _Token) -> Expression:
        """The node, or what is wrong with it and where."""
        try:
            return Expression(op, args)
        except ExpressionError as error:
            _fail(error.message, self.text, token.position)
