"""Functions of one scalar of any kind: float, NumPy array (a batch), SymPy expression, model expression, tape variable.

Any other kind takes part by having methods of these names (`x.sin()`, `y.atan2(x)`, `a.select(b, c)`). One that is made
of other scalars, as a dual number is, says so by `includes_scalars`: its methods then take these among its own.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from typing import Any

Scalar = Any


def _on_any(name: str, on_float: Callable[..., Scalar], numpy_name: str, sympy_name: str) -> Callable[..., Scalar]:
    def function(*arguments: Scalar) -> Scalar:
        for x in arguments:  # not by all(...): it is called millions of times
            if type(x) is not float and not isinstance(x, (float, int)):
                break
        else:
            return on_float(*arguments)
        for x in arguments:
            if getattr(type(x), "includes_scalars", False):
                return getattr(type(x), name)(*arguments)
        for index, x in enumerate(arguments):
            method = getattr(type(x), name, None)
            if method is not None and index == 0:
                return method(*arguments)
            if method is not None:  # a plain number stands before it: lift that number to the same kind
                return method(arguments[0] + 0 * x, *arguments[1:])
        sympy = sys.modules.get("sympy")
        if sympy is not None and any(isinstance(x, sympy.Basic) for x in arguments):
            return (_SYMPY.get(name) or getattr(sympy, sympy_name))(*arguments)
        import numpy

        return (_NUMPY.get(name) or getattr(numpy, numpy_name))(*arguments)

    function.__name__ = name
    function.__doc__ = f"{name} of scalars of any kind."
    return function


def _sign(x: float) -> float:
    return math.copysign(1.0, x) if x < 0 or x > 0 else x * 0.0


def _floor(x: float) -> float:
    return float(math.floor(x)) if math.isfinite(x) else float(x)


def _minimum(x: float, y: float) -> float:
    return x + y if math.isnan(x) or math.isnan(y) else min(x, y)


def _maximum(x: float, y: float) -> float:
    return x + y if math.isnan(x) or math.isnan(y) else max(x, y)


def _sympy_select(x: Scalar, a: Scalar, b: Scalar) -> Scalar:
    import sympy

    return sympy.Piecewise((a, x > 0), (b, True))


def _numpy_select(x: Scalar, a: Scalar, b: Scalar) -> Scalar:
    import numpy

    return numpy.where(x > 0, a, b)


_SYMPY: dict[str, Callable[..., Scalar]] = {"select": _sympy_select}
_NUMPY: dict[str, Callable[..., Scalar]] = {"select": _numpy_select}

sin = _on_any("sin", math.sin, "sin", "sin")
cos = _on_any("cos", math.cos, "cos", "cos")
tan = _on_any("tan", math.tan, "tan", "tan")
asin = _on_any("asin", math.asin, "arcsin", "asin")
acos = _on_any("acos", math.acos, "arccos", "acos")
atan = _on_any("atan", math.atan, "arctan", "atan")
atan2 = _on_any("atan2", math.atan2, "arctan2", "atan2")
sinh = _on_any("sinh", math.sinh, "sinh", "sinh")
cosh = _on_any("cosh", math.cosh, "cosh", "cosh")
tanh = _on_any("tanh", math.tanh, "tanh", "tanh")
exp = _on_any("exp", math.exp, "exp", "exp")
log = _on_any("log", math.log, "log", "log")
sqrt = _on_any("sqrt", math.sqrt, "sqrt", "sqrt")
absolute = _on_any("absolute", abs, "abs", "Abs")
sign = _on_any("sign", _sign, "sign", "sign")
minimum = _on_any("minimum", _minimum, "minimum", "Min")
maximum = _on_any("maximum", _maximum, "maximum", "Max")
floor = _on_any("floor", _floor, "floor", "floor")  # not in expression texts: of tables
select = _on_any("select", lambda x, a, b: a if x > 0 else b, "where", "Piecewise")


def polynomial(coefficients: Iterable[Scalar], x: Scalar) -> Scalar:
    """c0 + x (c1 + x (c2 + ...)), by Horner's scheme."""
    *others, value = coefficients
    for c in reversed(others):
        value = c + x * value
    return value


# the functions by the names they have in expression texts
FUNCTIONS: dict[str, Callable[..., Scalar]] = {
    **{f.__name__: f for f in (sin, cos, tan, asin, acos, atan, atan2, sinh, cosh, tanh, exp, log, sqrt, sign, select)},
    "abs": absolute,
    "min": minimum,
    "max": maximum,
}
