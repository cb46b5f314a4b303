"""Values: numbers, expressions and parameters as the user writes them, and how they become scalars.

A model keeps numbers and strings as they were written; `Values` makes scalars of them once the parameters have values.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import ChainMap
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from momentree.errors import MOST_HINTS, MOST_NAMES, ExpressionError, MomentreeError, choices, suggestion
from momentree.model.expressions.expression import Expression, Reference, parse, parse_equation
from momentree.model.expressions.from_function import expression_of_function
from momentree.model.expressions.grammar import MAX_LENGTH, NO_UNITS, UNITS
from momentree.model.expressions.lookup import LookedUp, Lookup
from momentree.spatial import Scalar, Vector, X, Y, Z

Raw = Any  # a number, an expression text, or tuples of these
TIME = Reference("t")
LARGEST_LENGTH = 1e100  # m; powers of larger ones overflow
FRAME_AXES = ("x", "y", "z")  # positions of a named frame in expressions
FRAME_VELOCITIES = ("x'", "y'", "z'", "wx", "wy", "wz")
MOST_UNKNOWN = 8  # names of one expression that are answered
AXES = {"x": X, "y": Y, "z": Z, "-x": -X, "-y": -Y, "-z": -Z}


class Mistake(MomentreeError):
    """A mistake of the user; becomes a Problem once its place in the model is known.

    | field   | meaning                                                                      |
    |---------|------------------------------------------------------------------------------|
    | what    | the field that it is about, "mass"; "" if none                               |
    | missing | kind and name of what does not exist; kind "name" in an expression           |
    """

    def __init__(self, message: str, what: str = "", missing: tuple[str, str] | None = None):
        self.what, self.missing = what, missing
        super().__init__(message)


def plain(value: Any, depth: int = 0) -> Raw:
    """The plain form that a model keeps: numbers, texts, None, tuples; functions and expressions become their text."""
    if depth > 10:
        raise Mistake("is nested too deeply; numbers, strings and short lists are expected.")
    if isinstance(value, Expression):
        if value.value is None and value.size > MAX_LENGTH:
            message = (
                f"is an expression of {value.size} parts; a model stores strings of at most {MAX_LENGTH} characters."
            )
            raise Mistake(f"{message} Define parameters for parts of it.")
        return value.value if value.value is not None else str(value)
    if isinstance(value, (str, bool, int, float)) or value is None:
        return value
    if hasattr(value, "tolist"):  # NumPy arrays and scalars
        return plain(value.tolist(), depth)
    if isinstance(value, (list, tuple, Vector)):
        return tuple(plain(entry, depth + 1) for entry in value)
    if callable(value):
        return plain(expression_of_function(value))
    return value


# --- checks that are postponed until free parameters have values ---


class Pending(NamedTuple):
    """A postponed check: raises Mistake for floats that are wrong; `numbers` are expressions or floats.

    `surely` says of arrays of such numbers, where it can, which ones pass: for many values at once.
    """

    check: Callable[..., object]
    numbers: tuple[Scalar, ...]
    surely: Callable[..., Any] | None = None


_pending: ContextVar[list[Pending] | None] = ContextVar("pending", default=None)


@contextmanager
def pending_checks() -> Iterator[list[Pending]]:
    """Collect the checks that resolvers leave out, within, because a number depends on free parameters."""
    checks: list[Pending] = []
    token = _pending.set(checks)
    try:
        yield checks
    finally:
        _pending.reset(token)


def check_later(check: Callable[..., object], *numbers: Scalar, surely: Callable[..., Any] | None = None) -> None:
    """Postpone a check of numbers that depend on free parameters, inside `pending_checks`."""
    checks = _pending.get()
    if checks is not None:
        checks.append(Pending(check, numbers, surely))


class Values:
    """The parameters of a model, and every other number in terms of them.

    | argument   | meaning                                                                        |
    |------------|--------------------------------------------------------------------------------|
    | parameters | name -> number or expression text in other parameters                           |
    | free       | names that stay symbols: what depends on them comes out as an Expression        |
    | frames     | names of frames, which constraints alone may use                                |
    | tables     | by name; laws and constraints may use them                                      |
    """

    def __init__(
        self,
        parameters: Mapping[str, Raw],
        free: Collection[str] = (),
        frames: Collection[str] = (),
        tables: Mapping[str, LookedUp] | None = None,
    ):
        self.frames, self.tables = frozenset(frames), dict(tables or {})
        self.names, self._raw = tuple(parameters), dict(parameters)
        self._parameters = frozenset(map(Reference, self.names))
        self.mistakes: dict[str, Mistake] = {}
        self._known: dict[Reference, Scalar] = {}
        self._resolve(parameters, free)

    def replaced(self, instead: Mapping[str, Raw], free: Collection[str] = ()) -> Values:
        """The same parameters, some of them with other values; those that are defined by them follow."""
        return Values({**self._raw, **instead}, free, self.frames, self.tables)

    def scalar(self, raw: Raw, what: str = "value") -> Scalar:
        """A finite number, or an Expression in free parameters."""
        if isinstance(raw, (int, float)) and not isinstance(raw, bool):
            return _finite(raw, what)
        if not isinstance(raw, str):
            raise Mistake(f"{what} is {_shown(raw)}; a number or an expression of parameters is expected.", what)
        expression = self._parsed(raw, (), what, "parameters")
        if expression.value is not None:
            return _finite(expression.value, what)
        check_later(lambda value: _finite(value, what), expression, surely=lambda values: values - values == 0)
        return expression

    def length(self, raw: Raw, what: str) -> float:
        """A positive length (m) that depends on no free parameter."""
        return float(positive(self.scalar(raw, what), what, "m"))

    def vector(self, raw: Raw, what: str = "vector") -> Vector:
        """Three scalars."""
        return Vector(*self.scalars(raw, 3, what))

    def scalars(self, raw: Raw, count: int, what: str) -> tuple[Scalar, ...]:
        """That many scalars."""
        if not isinstance(raw, tuple) or len(raw) != count:
            raise Mistake(f"{what} is {_shown(raw)}; {count} numbers are expected.", what)
        return tuple(self.scalar(entry, what) for entry in raw)

    def axis(self, raw: Raw, what: str = "axis") -> Vector:
        """A unit vector: "x", "-z", or three numbers of any length but zero."""
        if isinstance(raw, str):
            if raw not in AXES:
                raise Mistake(f"{what} is {_shown(raw)}; use 'x', 'y', 'z', '-x', '-y', '-z' or three numbers.", what)
            return AXES[raw]
        n = self.vector(raw, what)
        if any(isinstance(component, Expression) for component in n):
            message = f"{what} depends on a free parameter; the directions of a system are fixed when it is built."
            raise Mistake(message, what)
        largest = max(abs(component) for component in n)
        if largest == 0:
            raise Mistake(f"{what} has zero length; give it a direction such as 'z' or (0, 0, 1).", what)
        n = n / largest  # so that neither huge nor tiny components overflow
        n = n / n.norm
        return next((axis for axis in AXES.values() if axis == n), n)

    def law(
        self, raw: Raw, known: Mapping[Reference, str], what: str = "law", kinds: str = "", equation: bool = False
    ) -> Expression:
        """An expression of time, parameters and the `known` references, with the fixed parameters put in.

        `kinds` are what a message calls these references. An equation a = b is a - b.
        """
        if isinstance(raw, (int, float)) and not isinstance(raw, bool):
            return Expression("number", (_finite(raw, what),))
        if not isinstance(raw, str):
            raise Mistake(f"{what} is {_shown(raw)}; a number, an expression or a function is expected.", what)
        kinds = kinds or ("t, parameters and joint coordinates" if known else "t and parameters")
        changing: Collection[Reference] = ChainMap({TIME: "time"}, known)  # type: ignore[arg-type]
        law = self._parsed(raw, changing, what, kinds, equation)
        for part in _of_parameters(law, changing):
            check_later(lambda value: _finite(value, what), part)
        return law

    def motion(self, raw: Raw, what: str = "motion") -> Expression:
        """A law of time alone that has a velocity and an acceleration."""
        law = self.law(raw, {}, what)
        return law if not self.tables else differentiable(law, 2, what)

    def _parsed(
        self, text: str, others: Collection[Reference], what: str, kinds: str, equation: bool = False
    ) -> Expression:
        """The expression that a text means, of parameters and others only, with the fixed parameters put in."""
        try:
            expression = (parse_equation if equation else parse)(text, self.tables)
        except ExpressionError as error:
            quoted = self._without_backquotes(text, others)
            raise Mistake(f"{what}: {quoted or error}", what) from None
        if not others and (table := _first_table(expression)):
            raise Mistake(f"table '{table}' in {what}, which is one number. Only laws can use tables.", what)
        used = expression.references()
        unknown = {r.name: r for r in sorted(used, reverse=True) if r not in self._parameters and r not in others}
        ordered = sorted(unknown.values(), key=lambda r: text.find(r.name))[:MOST_UNKNOWN]
        if ordered:
            where = f" in {what} (only {kinds} are allowed here)"
            first, *more = (self._reason(r, others, what, where) for r in ordered)
            reason = " ".join([first, *(again.replace(where, " too") for again in more)])
            pointed = str(ExpressionError(reason, text, max(text.find(ordered[0].name), 0)))
            raise Mistake(self._without_backquotes(text, others) or pointed, what, ("name", ordered[0].name))
        try:
            return expression.substitute({r: self._known[r] for r in used if r in self._known})
        except ExpressionError as error:
            raise Mistake(f"{what}: '{text}' cannot be computed: {error.message}", what) from None

    def _reason(self, reference: Reference, others: Collection[Reference], what: str, where: str) -> str:
        """What is wrong with a name that is not known, and the way out."""
        if reference == TIME:
            return f"'t' appears in {what}, which must be constant."
        if reference.name in self.frames:
            return _wrong_frame(reference, others, where)
        near = f"{self._near(reference, others)}{f' {NO_UNITS}.' if str(reference) in UNITS else ''}"
        return f"unknown name '{reference}'{where}.{near}"

    def _without_backquotes(self, text: str, others: Collection[Reference]) -> str:
        """The way out where a name that is no identifier stands in a text as it is; "" where none does."""
        names = itertools.islice(itertools.chain(self.names, (one.name for one in others)), MOST_NAMES)
        plain = re.sub(r"`[^`]*`", "", text)
        found = max((name for name in names if name in plain and _is_taken_apart(name)), key=len, default="")
        if not found:
            return ""
        quoted = Reference(found)
        return str(
            ExpressionError(f"'{found}' is no identifier: write {quoted}, in backquotes", text, text.find(found))
        )

    def _near(self, reference: Reference, others: Collection[Reference]) -> str:
        """The way out of an unknown name; only as long as mistakes are few enough to be read."""
        if len(self.mistakes) > MOST_HINTS:
            return ""
        own = Reference(reference.name, f"v{reference.component}")  # c.x' of a Free joint is called c.vx
        if reference.velocity and own in others:
            return f" Did you mean '{own}'?"
        if reference.velocity and isinstance(others, Mapping):
            named = [str(one) for one, kind in others.items() if one.name == reference.name and kind == "velocity"]
            if named:
                return f" Choose {choices(named)}."
        allowed = itertools.islice(itertools.chain(map(Reference, self.names), others), MOST_NAMES)
        return suggestion(str(reference), sorted(str(one) for one in allowed))

    def _resolve(self, parameters: Mapping[str, Raw], free: Collection[str]) -> None:
        # a parameter may use others, in any order: resolve what it uses first
        done: set[str] = set()
        for name in parameters:
            trail, stack = {name: None}, [iter(self._uses(name, parameters))]
            while stack:
                used = next(stack[-1], None)
                if used is None:
                    stack.pop()
                    last, _ = trail.popitem()
                    if last not in done:
                        self._settle(last, parameters[last], last in free)
                        done.add(last)
                elif used in trail:
                    self.mistakes[next(reversed(trail))] = _circular([*trail], used)
                elif used not in done:
                    trail[used] = None
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
            value = self.scalar(raw, "its value")
            self._known[reference] = Expression("reference", (reference,)) if free else value
        except Mistake as error:
            self.mistakes[name] = error


def _is_taken_apart(name: str) -> bool:
    """Whether the grammar does not read a name as one, where it stands without backquotes."""
    return not name.isidentifier() and any(c.isalpha() for c in name)


def _wrong_frame(reference: Reference, others: Collection[Reference], where: str) -> str:
    """What is wrong with the name of a frame: its component, or that it is named at all."""
    name = Reference(reference.name)
    if Reference(reference.name, "x") not in others:
        return f"frame '{name}'{where}: only constraints may name frames."
    said = f"frame '{name}' has no '{str(reference)[len(str(name)) + 1 :]}'"
    if name == reference:
        said = f"frame '{name}' has components"
    elif not reference.component:
        said = f"frame '{name}' has no velocity without a component"
    position, velocity, angular = (
        ", ".join(f"{name}.{axis}" for axis in axes)
        for axes in (FRAME_AXES, FRAME_VELOCITIES[:3], FRAME_VELOCITIES[3:])
    )
    return f"{said}. Write {position} (position), {velocity} (velocity) or {angular} (angular velocity)."


def differentiable(law: Expression, times: int, what: str) -> Expression:
    """The law, which must have derivatives of that order by everything that it depends on."""
    derived = [law]
    try:
        for _ in range(times):
            derived = [f.derivative(r) for f in derived for r in sorted(f.references())]
    except ExpressionError as error:
        raise Mistake(f"{what}: {error.message}", what) from None
    return law


def _first_table(expression: Expression) -> str:
    """The name of a table in an expression; "" if there is none."""
    return next((part.op.table.name for part in expression._parts_first() if isinstance(part.op, Lookup)), "")


def _circular(trail: list[str], used: str) -> Mistake:
    """A parameter that depends on itself."""
    around = [*trail[trail.index(used) :], used]
    shown = around if len(around) <= 12 else [*around[:5], "...", *around[-5:]]
    return Mistake(f"depends on itself: {' -> '.join(shown)}. Give one of them a number.")


def checked(value: Scalar, right: Callable[[float], bool], what: str, unit: str, rule: str) -> Scalar:
    """The value, unless it is a number that breaks the rule; an expression in free parameters passes."""
    if isinstance(value, Expression):
        check_later(lambda number: checked(number, right, what, unit, rule), value, surely=right)
    elif isinstance(value, (int, float)) and not right(value):
        raise Mistake(f"{what} is {value:g}{unit and ' ' + unit}; {rule}.", what)
    return value


def positive(value: Scalar, what: str, unit: str = "") -> Scalar:
    """The value, which must be more than zero."""
    return checked(value, lambda v: v > 0, what, unit, "it must be positive")


def not_negative(value: Scalar, what: str, unit: str = "") -> Scalar:
    """The value, which may be zero but not less."""
    return checked(value, lambda v: v >= 0, what, unit, "it may not be negative")


def _of_parameters(law: Expression, changing: Collection[Reference]) -> list[Expression]:
    """The largest parts of a law that depend on free parameters alone: they have one value in a motion."""
    if _pending.get() is None:
        return []
    parts, stack = [], [law]
    while stack:
        part = stack.pop()
        names = part.references()
        if names and not any(name in changing for name in names):
            parts.append(part)
        elif names:
            stack.extend(entry for entry in part.args if isinstance(entry, Expression))
    return parts


def _finite(value: float, what: str) -> float:
    try:
        number = float(value)
    except OverflowError:  # an integer that no float can hold
        number = math.inf
    if not math.isfinite(number):
        raise Mistake(f"{what} is {number}; a finite number is expected.", what)
    return number


def _shown(raw: Raw) -> str:
    text = repr(raw) if raw is not None else "missing"
    return text if len(text) <= 60 else f"{text[:57]}..."
