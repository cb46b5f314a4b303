"""Expressions of time, parameters and joint coordinates: grammar, functions, derivatives, text."""

from momentree.model.expressions.expression import Expression, Reference, as_expression, parse

__all__ = ["Expression", "Reference", "as_expression", "parse"]
