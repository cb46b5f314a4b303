"""Dual numbers: a scalar of any kind and its derivative along a motion, by the rules of differentiation.

    x + eps x' ,   eps^2 = 0 ,   f(x + eps x') = f(x) + eps f'(x) x'

Whatever runs on scalars runs on these, and the parts with eps are exact derivatives (automatic differentiation in
forward mode). Value and derivative are floats, variables of a tape or any other scalars; a plain number or scalar among
dual numbers is a constant. Where a function has no derivative, as abs at 0, it is that of one side, or zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from momentree.spatial import scalar
from momentree.spatial.motion import Force, Motion
from momentree.spatial.scalar import Scalar
from momentree.spatial.vector import Vector


class Dual:
    """A value and its derivative."""

    __slots__ = ("derivative", "value")
    __array_ufunc__ = None  # so that a NumPy scalar on the left is left to the dual number
    includes_scalars = True  # functions of several scalars take this class for all of them: spatial/scalar.py

    def __init__(self, value: Scalar, derivative: Scalar = 0):
        self.value, self.derivative = value, derivative

    def __repr__(self) -> str:
        return f"Dual({self.value!r}, {self.derivative!r})"

    def __pos__(self) -> Dual:
        return self

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.derivative)

    def __add__(self, other: Any) -> Dual:
        x = _dual(other)
        return Dual(self.value + x.value, self.derivative + x.derivative)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Dual:
        return self + -_dual(other)

    def __rsub__(self, other: Any) -> Dual:
        return _dual(other) + -self

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, (Vector, Motion, Force)):
            return NotImplemented  # a vector times a scalar is left to the vector
        x = _dual(other)
        return Dual(self.value * x.value, self.value * x.derivative + self.derivative * x.value)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Dual:
        x = _dual(other)
        quotient = self.value / x.value
        return Dual(quotient, (self.derivative - quotient * x.derivative) / x.value)

    def __rtruediv__(self, other: Any) -> Dual:
        return _dual(other) / self

    def __pow__(self, other: Any) -> Dual:
        y = _dual(other)
        power = _power(self.value, y.value)
        slope = Dual(0) if _is_zero(y.value) else self._chain(power, lambda: y.value * _power(self.value, y.value - 1))
        if _is_zero(y.derivative):
            return Dual(power, slope.derivative)
        return Dual(power, slope.derivative + power * scalar.log(self.value) * y.derivative)

    def __rpow__(self, other: Any) -> Dual:
        return _dual(other) ** self

    def __abs__(self) -> Dual:
        return self.absolute()

    def _chain(self, value: Scalar, slope: Callable[[], Scalar]) -> Dual:
        """f(x) with its slope, which is not needed where x is constant."""
        return Dual(value, 0 if _is_zero(self.derivative) else slope() * self.derivative)

    # --- the functions of spatial/scalar.py, which find them by these names ---

    def sin(self) -> Dual:
        return self._chain(scalar.sin(self.value), lambda: scalar.cos(self.value))

    def cos(self) -> Dual:
        return self._chain(scalar.cos(self.value), lambda: -scalar.sin(self.value))

    def tan(self) -> Dual:
        value = scalar.tan(self.value)
        return self._chain(value, lambda: 1 + value * value)

    def asin(self) -> Dual:
        return self._chain(scalar.asin(self.value), lambda: 1 / scalar.sqrt(1 - self.value * self.value))

    def acos(self) -> Dual:
        return self._chain(scalar.acos(self.value), lambda: -1 / scalar.sqrt(1 - self.value * self.value))

    def atan(self) -> Dual:
        return self._chain(scalar.atan(self.value), lambda: 1 / (1 + self.value * self.value))

    def sinh(self) -> Dual:
        return self._chain(scalar.sinh(self.value), lambda: scalar.cosh(self.value))

    def cosh(self) -> Dual:
        return self._chain(scalar.cosh(self.value), lambda: scalar.sinh(self.value))

    def tanh(self) -> Dual:
        value = scalar.tanh(self.value)
        return self._chain(value, lambda: 1 - value * value)

    def floor(self) -> Dual:
        return Dual(scalar.floor(self.value))

    def located(self, pieces: Any) -> Scalar:
        """The piece of a table that the value lies in (model/expressions/lookup.py): it does not change with it."""
        return pieces.located(self.value)

    def exp(self) -> Dual:
        value = scalar.exp(self.value)
        return self._chain(value, lambda: value)

    def log(self) -> Dual:
        return self._chain(scalar.log(self.value), lambda: 1 / self.value)

    def sqrt(self) -> Dual:
        value = scalar.sqrt(self.value)
        return self._chain(value, lambda: 0.5 / value)

    def absolute(self) -> Dual:
        return self._chain(scalar.absolute(self.value), lambda: scalar.sign(self.value))

    def sign(self) -> Dual:
        return Dual(scalar.sign(self.value))

    @staticmethod
    def atan2(y: Any, x: Any) -> Dual:
        y, x = _dual(y), _dual(x)
        value = scalar.atan2(y.value, x.value)
        if _is_zero(y.derivative) and _is_zero(x.derivative):
            return Dual(value)
        turned = x.value * y.derivative - y.value * x.derivative
        return Dual(value, turned / (x.value * x.value + y.value * y.value))

    @staticmethod
    def minimum(a: Any, b: Any) -> Dual:
        a, b = _dual(a), _dual(b)
        derivative = scalar.select(a.value - b.value, b.derivative, a.derivative)
        return Dual(scalar.minimum(a.value, b.value), derivative)

    @staticmethod
    def maximum(a: Any, b: Any) -> Dual:
        return -Dual.minimum(-_dual(a), -_dual(b))

    @staticmethod
    def select(x: Any, a: Any, b: Any) -> Dual:
        x, a, b = _dual(x).value, _dual(a), _dual(b)
        return Dual(scalar.select(x, a.value, b.value), scalar.select(x, a.derivative, b.derivative))


def derivative(x: Scalar) -> Scalar:
    """The derivative of a dual number; zero of any other scalar, which is a constant."""
    return x.derivative if isinstance(x, Dual) else 0


def dual_or_plain(value: Scalar, derivative: Scalar) -> Scalar:
    """A dual number; the value alone where that is no dual number itself and its derivative is the number 0."""
    return value if _is_zero(derivative) and not isinstance(value, Dual) else Dual(value, derivative)


def parts(x: Scalar) -> tuple[Scalar, Scalar]:
    """Value and derivative of a dual number, or of any other scalar, which is a constant."""
    return (x.value, x.derivative) if isinstance(x, Dual) else (x, 0)


def _dual(x: Any) -> Dual:
    return x if isinstance(x, Dual) else Dual(x)


def _power(x: Scalar, y: Scalar) -> Scalar:
    real = isinstance(x, (int, float)) and isinstance(y, (int, float))
    return math.pow(x, y) if real else x**y  # Python would go complex: (-8.0)**(1/3)


def _is_zero(x: Scalar) -> bool:
    """Whether it is the number zero, whatever the values of variables."""
    return isinstance(x, (int, float)) and x == 0
