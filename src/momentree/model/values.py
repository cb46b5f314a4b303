"""What a user may write where a number is expected, and how it becomes one.

A model keeps numbers and texts as they were written; `Values` turns them into scalars once the parameters are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

from momentree.errors import ExpressionError, MomentreeError, suggestion
from momentree.model.expression_function import expression_of_function
from momentree.model.expressions import Expression, Reference, parse
from momentree.spatial import Scalar, Vector, X, Y, Z

Raw = Any  # a number, an expression text, or tuples of these
TIME = Reference("t")
AXES = {"x": X, "y": Y, "z": Z, "-x": -X, "-y": -Y, "-z": -Z}


class Mistake(MomentreeError):
    """Something a user wrote that cannot be meant; becomes a Problem once it is known where it stands."""


def plain(value: Any) -> Raw:
    """The plain form that a model keeps: numbers, texts, None, tuples; functions and expressions become their text."""
    if isinstance(value, Expression):
        return value.value if value.value is not None else str(value)
    if isinstance(value, (str, bool, int, float)) or value is None:
        return value
    if hasattr(value, "tolist"):  # NumPy arrays and scalars
        return plain(value.tolist())
    if isinstance(value, (list, tuple, Vector)):
        return tuple(plain(entry) for entry in value)
    if callable(value):
        return plain(expression_of_function(value))
    return value


class Values:
    """The parameters of a model, and every other number in terms of them.

    | argument   | meaning                                                                        |
    |------------|--------------------------------------------------------------------------------|
    | parameters | name -> number or expression text in other parameters                           |
    | free       | names that stay symbols: what depends on them comes out as an Expression        |
    """

    def __init__(self, parameters: Mapping[str, Raw], free: Collection[str] = ()):
        self.names = tuple(parameters)
        self.mistakes: dict[str, str] = {}
        self._known: dict[Reference, Scalar] = {}
        self._resolve(parameters, free)

    def scalar(self, raw: Raw, what: str = "value") -> Scalar:
        """A finite number, or an Expression in free parameters."""
        if isinstance(raw, (int, float)) and not isinstance(raw, bool):
            return _finite(float(raw), what)
        if not isinstance(raw, str):
            raise Mistake(f"{what} is {_shown(raw)}; a number or an expression of parameters is expected.")
        expression = parse(raw)
        self._only(expression, {Reference(name) for name in self.names}, raw, what, "parameters")
        resolved = self._substituted(expression, raw)
        return _finite(resolved.value, what) if resolved.value is not None else resolved

    def vector(self, raw: Raw, what: str = "vector") -> Vector:
        """Three scalars."""
        return Vector(*self.scalars(raw, 3, what))

    def scalars(self, raw: Raw, count: int, what: str) -> tuple[Scalar, ...]:
        if not isinstance(raw, tuple) or len(raw) != count:
            raise Mistake(f"{what} is {_shown(raw)}; {count} numbers are expected.")
        return tuple(self.scalar(entry, what) for entry in raw)

    def axis(self, raw: Raw, what: str = "axis") -> Vector:
        """A unit vector: "x", "-z", or three numbers of any length but zero."""
        if isinstance(raw, str):
            if raw not in AXES:
                raise Mistake(f"{what} is '{raw}'; use 'x', 'y', 'z', '-x', '-y', '-z' or three numbers.")
            return AXES[raw]
        n = self.vector(raw, what)
        if any(isinstance(component, Expression) for component in n):
            raise Mistake(f"{what} depends on a free parameter; the directions of a system are fixed when it is built.")
        largest = max(abs(component) for component in n)
        if largest == 0:
            raise Mistake(f"{what} has zero length; give it a direction such as 'z' or (0, 0, 1).")
        n = n / largest  # so that neither huge nor tiny components overflow
        n = n / n.norm
        return next((axis for axis in AXES.values() if axis == n), n)

    def law(self, raw: Raw, known: Mapping[Reference, str], what: str = "law") -> Expression:
        """An expression of time, parameters and the `known` references, with the fixed parameters put in."""
        if isinstance(raw, (int, float)) and not isinstance(raw, bool):
            return Expression("number", (_finite(float(raw), what),))
        if not isinstance(raw, str):
            raise Mistake(f"{what} is {_shown(raw)}; a number, an expression text or a function is expected.")
        expression = parse(raw)
        parameters = {Reference(name) for name in self.names}
        self._only(expression, parameters | {TIME} | set(known), raw, what, "t, parameters and joint coordinates")
        return self._substituted(expression, raw)

    def _substituted(self, expression: Expression, text: str) -> Expression:
        try:
            return expression.substitute(self._known)
        except ExpressionError as error:
            raise Mistake(f"'{text}' cannot be computed: {error.message}") from None

    def _only(self, used: Expression, allowed: set[Reference], text: str, what: str, kinds: str) -> None:
        for reference in sorted(used.references() - allowed, key=lambda r: text.find(r.name)):
            if reference == TIME:
                reason = f"'t' stands in {what}, which may not change with time."
            else:
                near = suggestion(str(reference), [str(one) for one in allowed])
                reason = f"unknown name '{reference}' in {what} (only {kinds} may stand here).{near}"
            raise ExpressionError(reason, text, max(text.find(reference.name), 0))

    def _resolve(self, parameters: Mapping[str, Raw], free: Collection[str]) -> None:
        # a parameter may use others, in any order: resolve what it uses first
        done: set[str] = set()
        for name in parameters:
            trail, stack = [name], [iter(self._uses(name, parameters))]
            while stack:
                used = next(stack[-1], None)
                if used is None:
                    stack.pop()
                    last = trail.pop()
                    if last not in done:
                        self._settle(last, parameters[last], last in free)
                        done.add(last)
                elif used in trail:
                    circle = " -> ".join([*trail[trail.index(used) :], used])
                    self.mistakes[trail[-1]] = f"is defined by itself: {circle}. Give one of them a number."
                elif used not in done:
                    trail.append(used)
                    stack.append(iter(self._uses(used, parameters)))

    def _uses(self, name: str, parameters: Mapping[str, Raw]) -> list[str]:
        raw = parameters[name]
        if not isinstance(raw, str):
            return []
        try:
            return sorted(r.name for r in parse(raw).references() if r.name in parameters and r == Reference(r.name))
        except ExpressionError:
            return []  # reported when the parameter is settled

    def _settle(self, name: str, raw: Raw, free: bool) -> None:
        reference = Reference(name)
        self._known[reference] = Expression("number", (1.0,))  # so that one wrong parameter is one problem, not many
        if name in self.mistakes:
            return
        try:
            value = self.scalar(raw, f"parameter '{name}'")
            self._known[reference] = Expression("reference", (reference,)) if free else value
        except (Mistake, ExpressionError) as error:
            self.mistakes[name] = str(error)


def checked(value: Scalar, right: Callable[[float], bool], complaint: str) -> Scalar:
    """The value, unless it is a number that is not right; an expression in free parameters passes."""
    if isinstance(value, (int, float)) and not right(value):
        raise Mistake(complaint.format(value=f"{value:g}"))
    return value


def _finite(value: float, what: str) -> float:
    if not math.isfinite(value):
        raise Mistake(f"{what} is {value}; a finite number is expected.")
    return value


def _shown(raw: Raw) -> str:
    text = repr(raw) if raw is not None else "missing"
    return text if len(text) <= 60 else f"{text[:57]}..."
