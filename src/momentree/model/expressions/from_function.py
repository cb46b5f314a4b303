"""A law as a Python function of symbols: called once, with a symbol for each argument."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable
from functools import partial
from typing import Any

from momentree.errors import ExpressionError
from momentree.model.expressions.expression import Expression, as_expression, reference


def expression_of_function(function: Callable[..., Any]) -> Expression:
    """The expression that a Python function makes of symbols named like its arguments.

    `t` is time, `alpha_rate` the velocity of `alpha`, any other name a parameter or a coordinate.
    An argument with a default keeps the default.
    """
    name = f"function '{getattr(function, '__name__', None) or reprlib.repr(function)}'"
    try:
        arguments = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise ExpressionError(
            f"{name} has a signature that cannot be read. Write it as def law(alpha, alpha_rate, t)."
        ) from None
    positional, named = [], {}
    for argument in arguments:
        if argument.kind in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD):
            raise ExpressionError(f"{name} takes {argument}. Name its arguments: def law(alpha, alpha_rate, t).")
        if argument.default is not argument.empty:
            continue
        stem = argument.name.removesuffix("_rate")
        symbol = reference(stem or argument.name, velocity=bool(stem) and stem != argument.name)
        if argument.kind is argument.KEYWORD_ONLY:
            named[argument.name] = symbol
        else:
            positional.append(symbol)
    return _result(name, partial(function, *positional, **named))


def _result(name: str, call: Callable[[], Any]) -> Expression:
    try:
        result = call()
    except Exception as error:  # whatever the function of a user may raise
        raise ExpressionError(
            f"{name} cannot be called with symbols: {error} "
            "(in it, use momentree.sin ... instead of math.sin ..., and momentree.select instead of 'if')"
        ) from error
    if result is None:
        raise ExpressionError(f"{name} returns nothing. Let it end in 'return', followed by the expression.")
    try:
        return as_expression(result)
    except ExpressionError as error:
        raise ExpressionError(f"{name} returns no expression: {error.message}", error.text, error.position) from None
