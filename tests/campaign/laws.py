"""Laws as the oracle reads them: a text of the model becomes a Python function, derivatives in time by jets."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import CodeType
from typing import Any

CONSTANTS = {"pi": math.pi, "deg": math.pi / 180}
_TOKEN = re.compile(r"(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?'?)|(\^)")


class Jet:
    """A function of time: its value, first and second derivative."""

    def __init__(self, a: float, b: float = 0.0, c: float = 0.0):
        self.a, self.b, self.c = a, b, c

    def __add__(self, other: Any) -> Jet:
        o = _jet(other)
        return Jet(self.a + o.a, self.b + o.b, self.c + o.c)

    def __mul__(self, other: Any) -> Jet:
        o = _jet(other)
        return Jet(self.a * o.a, self.a * o.b + self.b * o.a, self.a * o.c + 2 * self.b * o.b + self.c * o.a)

    def __neg__(self) -> Jet:
        return self * -1.0

    def __sub__(self, other: Any) -> Jet:
        return self + -_jet(other)

    def __rsub__(self, other: Any) -> Jet:
        return _jet(other) + -self

    def __truediv__(self, other: Any) -> Jet:
        return self * _jet(other).through(lambda x: 1 / x, lambda x: -1 / x**2, lambda x: 2 / x**3)

    def __rtruediv__(self, other: Any) -> Jet:
        return _jet(other) / self

    def __pow__(self, n: float) -> Jet:
        return self.through(lambda x: x**n, lambda x: n * x ** (n - 1), lambda x: n * (n - 1) * x ** (n - 2))

    __radd__, __rmul__ = __add__, __mul__

    def through(self, f: Callable[..., float], df: Callable[..., float], ddf: Callable[..., float]) -> Jet:
        """f of it, by the chain rule."""
        return Jet(f(self.a), df(self.a) * self.b, ddf(self.a) * self.b**2 + df(self.a) * self.c)


def _jet(x: Any) -> Jet:
    return x if isinstance(x, Jet) else Jet(float(x))


def _lifted(f: Callable[..., float], df: Callable[..., float], ddf: Callable[..., float]) -> Callable[[Any], Any]:
    return lambda x: x.through(f, df, ddf) if isinstance(x, Jet) else f(x)


def _sech2(x: float) -> float:
    return 1 - math.tanh(x) ** 2


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sin": _lifted(math.sin, math.cos, lambda x: -math.sin(x)),
    "cos": _lifted(math.cos, lambda x: -math.sin(x), lambda x: -math.cos(x)),
    "exp": _lifted(math.exp, math.exp, math.exp),
    "tanh": _lifted(math.tanh, _sech2, lambda x: -2 * math.tanh(x) * _sech2(x)),
    "sqrt": math.sqrt,
    "abs": abs,
    "min": min,
    "max": max,
    "atan2": math.atan2,
    "select": lambda x, a, b: a if x > 0 else b,
}


@lru_cache(maxsize=100_000)
def _compiled(text: str) -> tuple[CodeType, tuple[str, ...]]:
    names: list[str] = []

    def put(found: re.Match[str]) -> str:
        number, name, power = found.groups()
        if power:
            return "**"
        if number or name in FUNCTIONS:
            return found.group()
        names.append(name)
        return f"_[{name!r}]"

    return compile(_TOKEN.sub(put, text), text, "eval"), tuple(names)


def value(law: Any, names: Mapping[str, Any]) -> Any:
    """A number, or what a text means where its names have these values."""
    if not isinstance(law, str):
        return float(law)
    code, _ = _compiled(law)
    return eval(code, {"__builtins__": {}, **FUNCTIONS, "_": {**CONSTANTS, **names}})


def names_in(law: Any) -> tuple[str, ...]:
    """What a law calls by name."""
    return _compiled(law)[1] if isinstance(law, str) else ()


def jet(law: Any, names: Mapping[str, Any], t: float) -> Jet:
    """A law of time with its derivatives."""
    return _jet(value(law, {**names, "t": Jet(t, 1.0)}))


def parameters_of(pairs: list[tuple[str, Any]]) -> dict[str, float]:
    """The numbers of parameters that may use one another."""
    raw, found = dict(pairs), dict[str, float]()

    def settle(name: str) -> float:
        if name not in found:
            used = {other: settle(other) for other in names_in(raw[name]) if other in raw}
            found[name] = value(raw[name], used)
        return found[name]

    for name in raw:
        settle(name)
    return found
