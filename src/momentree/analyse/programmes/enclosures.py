"""Enclosures: interval numbers with the slopes of a function, as scalars on which the formulas of equations/ run.

An enclosure holds all values that a function has on a box of coordinates, and all its partial derivatives there
(automatic differentiation, forward). Both are intervals of mpmath with 80 bits, rounded outward; functions that mpmath
rounds without a guarantee are widened by 2^-70 of their size. What a function is not everywhere defined on is
UNDEFINED, and so is all that is computed from it: no statement is made there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from mpmath.ctx_iv import MPIntervalContext
from mpmath.ctx_mp import MPContext

Interval = Any  # of mpmath
BITS = 80
iv, mp = MPIntervalContext(), MPContext()  # of their own: the precision of others stays as it is
iv.prec = mp.prec = BITS
WHOLE = iv.mpf(["-inf", "inf"])
_ZERO, _ONE = iv.mpf(0), iv.mpf(1)
_WIDER = _ONE + iv.mpf([-1, 1]) * iv.mpf(2) ** -70


def interval(low: float, high: float) -> Interval:
    """All numbers from one double to another."""
    return iv.mpf([low, high])


def hull(x: Interval, y: Interval) -> Interval:
    """The least interval that holds both."""
    return iv.mpf([x.a if x.a <= y.a else y.a, x.b if x.b >= y.b else y.b])


def intersection(x: Interval, y: Interval) -> Interval:
    """What is in both; they are known to have something in common."""
    return iv.mpf([x.a if x.a >= y.a else y.a, x.b if x.b <= y.b else y.b])


class Enclosure:
    """A function on a box.

    | field  | meaning                                                                                           |
    |--------|---------------------------------------------------------------------------------------------------|
    | value  | holds all its values                                                                              |
    | slopes | hold all its partial derivatives; empty for a constant; WHOLE where it need not be continuous     |
    """

    __slots__ = ("_known", "slopes", "value")

    def __init__(self, value: Interval, slopes: Sequence[Interval] = ()):
        self.value, self.slopes = value, tuple(slopes)
        self._known: dict[str, Enclosure] = {}  # functions of it, each computed once

    # --- operators ---

    def __add__(self, other: Any) -> Enclosure:
        y = _lifted(other)
        if _undefined(self, y):
            return UNDEFINED
        return Enclosure(self.value + y.value, _combined((self.slopes, None), (y.slopes, None)))

    def __mul__(self, other: Any) -> Enclosure:
        y = _lifted(other)
        if _undefined(self, y):
            return UNDEFINED
        if y is self:
            return _power(self, constant(2.0))
        if self.is_zero or y.is_zero:
            return ZERO
        return Enclosure(self.value * y.value, _combined((self.slopes, y.value), (y.slopes, self.value)))

    def __neg__(self) -> Enclosure:
        return self if self is UNDEFINED else Enclosure(-self.value, [-s for s in self.slopes])

    def __sub__(self, other: Any) -> Enclosure:
        return self + -_lifted(other)

    def __truediv__(self, other: Any) -> Enclosure:
        y = _lifted(other)
        return self * y._of("reciprocal", lambda: _reciprocal(y))

    def __pow__(self, other: Any) -> Enclosure:
        y = _lifted(other)
        return UNDEFINED if _undefined(self, y) else _power(self, y)

    def __rsub__(self, other: Any) -> Enclosure:
        return _lifted(other) - self

    def __rtruediv__(self, other: Any) -> Enclosure:
        return _lifted(other) / self

    def __rpow__(self, other: Any) -> Enclosure:
        return _lifted(other) ** self

    __radd__, __rmul__ = __add__, __mul__

    @property
    def is_zero(self) -> bool:
        """Whether it is the number 0."""
        return not self.slopes and self.value._mpi_ == _ZERO._mpi_

    # --- functions, by the names of spatial/scalar.py ---

    def sin(self) -> Enclosure:
        return self._of("sin", lambda: self._chain(_wider(iv.sin(self.value)), lambda y: _wider(iv.cos(self.value))))

    def cos(self) -> Enclosure:
        return self._of("cos", lambda: self._chain(_wider(iv.cos(self.value)), lambda y: -_wider(iv.sin(self.value))))

    def tan(self) -> Enclosure:
        return self.sin() / self.cos()

    def exp(self) -> Enclosure:
        return self._of("exp", lambda: self._chain(_wider(iv.exp(self.value)), lambda y: y))

    def log(self) -> Enclosure:
        inside = self is not UNDEFINED and self.value.a > 0
        return self._chain(_wider(iv.log(self.value)), lambda y: _ONE / self.value) if inside else UNDEFINED

    def sqrt(self) -> Enclosure:
        if self is UNDEFINED or not self.value.a >= 0:
            return UNDEFINED
        return self._of("sqrt", lambda: self._chain(_wider(iv.sqrt(self.value)), lambda y: _ONE / (2 * y)))

    def asin(self) -> Enclosure:
        return self._inside_unit(lambda: self._monotone(mp.asin, lambda y: _ONE / _root(_ONE - self.value**2)))

    def acos(self) -> Enclosure:
        return self._inside_unit(lambda: self._monotone(mp.acos, lambda y: -_ONE / _root(_ONE - self.value**2)))

    def atan(self) -> Enclosure:
        return self._monotone(mp.atan, lambda y: _ONE / (_ONE + self.value**2))

    def sinh(self) -> Enclosure:
        return (self.exp() - (-self).exp()) / 2

    def cosh(self) -> Enclosure:
        return (self.exp() + (-self).exp()) / 2

    def tanh(self) -> Enclosure:
        return self._monotone(mp.tanh, lambda y: _ONE - y**2)

    def atan2(self, other: Any) -> Enclosure:
        """The angle of (x, y), this being y; not defined on a box that touches the cut x <= 0, y = 0."""
        x = _lifted(other)
        if _undefined(self, x) or not (x.value.a > 0 or self.value.a > 0 or self.value.b < 0):
            return UNDEFINED
        if x.value.a > 0:
            return (self / x).atan()
        quarter = Enclosure(_wider(iv.mpf(iv.pi)) / (2 if self.value.a > 0 else -2))
        return quarter - (x / self).atan()

    def absolute(self) -> Enclosure:
        if self is UNDEFINED or self.value.a >= 0:
            return self
        if self.value.b <= 0:
            return -self
        return Enclosure(abs(self.value), [hull(s, -s) for s in self.slopes])

    __abs__ = absolute

    def sign(self) -> Enclosure:
        if self is UNDEFINED or self.is_zero:
            return self
        if self.value.a > 0 or self.value.b < 0:
            return Enclosure(_ONE if self.value.a > 0 else -_ONE)
        return Enclosure(iv.mpf([-1, 1]), [WHOLE] * len(self.slopes))

    def minimum(self, other: Any) -> Enclosure:
        return -(-self).maximum(-_lifted(other))

    def maximum(self, other: Any) -> Enclosure:
        second = _lifted(other)
        if _undefined(self, second):
            return UNDEFINED
        x, y = self.value, second.value
        if x.a >= y.b:
            return self
        if y.a >= x.b:
            return second
        value = iv.mpf([x.a if x.a >= y.a else y.a, x.b if x.b >= y.b else y.b])
        return Enclosure(value, [hull(*pair) for pair in _paired(self.slopes, second.slopes)])

    def select(self, a: Any, b: Any) -> Enclosure:
        """a where this is positive, b elsewhere."""
        first, second = _lifted(a), _lifted(b)
        if self is UNDEFINED:
            return UNDEFINED
        if self.value.a > 0 or self.value.b <= 0:
            return first if self.value.a > 0 else second
        if _undefined(first, second):
            return UNDEFINED
        count = max(len(self.slopes), len(first.slopes), len(second.slopes))
        return Enclosure(hull(first.value, second.value), [WHOLE] * count)  # it may jump

    # --- rules ---

    def _of(self, name: str, compute: Callable[[], Enclosure]) -> Enclosure:
        if self is UNDEFINED:
            return UNDEFINED
        if name not in self._known:
            self._known[name] = compute()
        return self._known[name]

    def _chain(self, value: Interval, slope: Callable[[Interval], Interval]) -> Enclosure:
        """f(x) from the interval of f, and f'(x) from that."""
        by = slope(value) if self.slopes else None
        return Enclosure(value, [by * s for s in self.slopes])

    def _monotone(self, f: Callable[[Any], Any], slope: Callable[[Interval], Interval]) -> Enclosure:
        """A function that rises everywhere, or falls everywhere, from its values at both ends."""
        if self is UNDEFINED:
            return UNDEFINED
        first, last = (_wider(iv.mpf(f(mp.make_mpf(end)))) for end in self.value._mpi_)
        return self._chain(hull(first, last), slope)

    def _inside_unit(self, compute: Callable[[], Enclosure]) -> Enclosure:
        return compute() if self is not UNDEFINED and self.value.a >= -1 and self.value.b <= 1 else UNDEFINED


UNDEFINED = Enclosure(WHOLE)
ZERO = Enclosure(_ZERO)


def variables(box: Sequence[Interval]) -> list[Enclosure]:
    """The coordinates of a box, each with slope 1 by itself."""
    n = len(box)
    return [Enclosure(x, [_ONE if i == k else _ZERO for i in range(n)]) for k, x in enumerate(box)]


@functools.lru_cache(maxsize=4096)
def constant(x: float) -> Enclosure:
    """A number, exactly."""
    return Enclosure(iv.mpf(float(x)))


def _lifted(x: Any) -> Enclosure:
    return x if isinstance(x, Enclosure) else constant(x)


def _undefined(*parts: Enclosure) -> bool:
    return any(part is UNDEFINED for part in parts)


def _paired(x: Sequence[Interval], y: Sequence[Interval]) -> list[tuple[Interval, Interval]]:
    """Slopes of two functions, where one may be a constant."""
    count = max(len(x), len(y))
    return list(zip(x or [_ZERO] * count, y or [_ZERO] * count, strict=True))


def _combined(*parts: tuple[Sequence[Interval], Interval | None]) -> list[Interval]:
    """The sum of two rows of slopes, each times a factor."""
    rows = [slopes if factor is None else [s * factor for s in slopes] for slopes, factor in parts if slopes]
    return list(rows[0]) if len(rows) == 1 else [x + y for x, y in zip(*rows, strict=True)] if rows else []


def _wider(x: Interval) -> Interval:
    return x * _WIDER


def _root(x: Interval) -> Interval:
    """The root of an interval that is known to hold no negative value of interest."""
    return _wider(iv.sqrt(iv.mpf([x.a if x.a >= 0 else 0, x.b])))


def _reciprocal(x: Enclosure) -> Enclosure:
    if x.value.a <= 0 <= x.value.b:
        return UNDEFINED
    return x._chain(_ONE / x.value, lambda y: -(y**2))


def _power(x: Enclosure, y: Enclosure) -> Enclosure:
    exponent = float(y.value.mid) if not y.slopes and y.value.a == y.value.b else None
    if exponent is not None and exponent.is_integer() and abs(exponent) < 2**31:
        k = int(exponent)
        if k < 0:
            return _reciprocal(_power(x, constant(float(-k))))
        return x._chain(x.value**k, lambda _: k * x.value ** (k - 1)) if k else constant(1.0)
    if x.value.a > 0:
        return (x.log() * y).exp()
    if x.value.a >= 0 and exponent is not None and exponent > 0:  # 0 to a power that is no whole number
        top = _wider(iv.exp(_wider(iv.log(iv.mpf(x.value.b))) * y.value)) if x.value.b > 0 else _ZERO
        return Enclosure(hull(_ZERO, top), [WHOLE] * len(x.slopes))
    return UNDEFINED
