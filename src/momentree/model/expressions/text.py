"""Expressions as text: the printer, the inverse of the parser in grammar.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from momentree.model.expressions.functions import BINDING
from momentree.model.expressions.lookup import Lookup
from momentree.spatial.scalar import FUNCTIONS

if TYPE_CHECKING:
    from momentree.model.expressions.expression import Expression


def digits(value: float) -> str:
    """A number as it is written: every digit, no empty fraction."""
    return repr(value).removesuffix(".0")


def written(expression: Expression) -> str:
    """The canonical text: parse(written(e)) == e."""
    texts: list[str] = []
    stack: list[str | Expression] = [expression]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            texts.append(item)
        else:
            stack.extend(reversed(_pieces(item)))
    return "".join(texts)


def _pieces(node: Expression) -> list[str | Expression]:
    """The text of a node around its parts, with parentheses where the parser, or a reader, would go wrong."""
    op, parts = node.op, node._parts
    if op == "number":
        return [digits(node.args[0])]
    if op == "reference":
        return [str(node.args[0])]
    if isinstance(op, Lookup) or op in FUNCTIONS:
        commas = [piece for part in parts for piece in (", ", part)]
        return [str(op), "(", *commas[1:], ")"]
    own = BINDING[op]
    if op == "negate":
        return ["-", *_parenthesized(parts[0], own + 1)]
    left, right = (own + 1, own) if op == "^" else (own, own + 1)
    sign = f" {op} " if op in "+-" else op
    return [*_parenthesized(parts[0], left), sign, *_parenthesized(parts[1], right, after_sign=True)]


def _parenthesized(part: Expression, binding: int, after_sign: bool = False) -> list[str | Expression]:
    negative = part.op == "negate" or (part.op == "number" and part.args[0] < 0)
    own = BINDING["negate"] if negative else BINDING.get(str(part.op), 5)  # all else is held tightest
    return ["(", part, ")"] if own < binding or (negative and after_sign) else [part]
