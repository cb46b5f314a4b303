"""What a user says of a programme: coordinates, constraints, velocities, mass matrix, dissipation, as expressions.

A constraint is an equation affine in the velocities, a(q, t) q' = b(q, t), or holonomic, g(q, t) = 0. The latter enters
by its derivative, with an error that dies out: dg/dq q' = -dg/dt - position_gain g. Texts are parsed, never evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from momentree.errors import MomentreeError, choices, suggestion
from momentree.model.expressions.affine import not_affine
from momentree.model.expressions.expression import ONE, ZERO, Expression, Reference, as_expression, parse_equation
from momentree.model.expressions.from_function import expression_of_function
from momentree.model.expressions.functions import CONSTANTS
from momentree.spatial.scalar import FUNCTIONS

TIME = Reference("t")
MODES = ("DU", "DQ")
Row = tuple[Expression, ...]
Square = tuple[Row, ...]


@dataclass(frozen=True)
class ProgrammeConstraint:
    """a q' = b.

    | field    | meaning                                               |
    |----------|-------------------------------------------------------|
    | text     | as the user wrote it                                  |
    | a, b     | coefficients of the velocities, and the right side    |
    | position | g(q, t), where it is holonomic; otherwise None        |
    """

    text: str
    a: Row
    b: Expression
    position: Expression | None = None


@dataclass(frozen=True)
class ProgrammeDescription:
    """A programme as it was described.

    | field       | meaning                                                                       |
    |-------------|-------------------------------------------------------------------------------|
    | velocity    | the components of v that are given, by the index of the coordinate            |
    | completion  | vectors c of the cross product [a_1 .. a_m c ..], which `scale` multiplies    |
    | null_space  | vectors N with a N = 0, and `along`, their coefficients                       |
    | wanted      | velocities to which the nearest that satisfy the constraints are taken        |
    | mass        | m(q, t)                                                                       |
    | dissipation | d(q, t); None: gain m, or from potential and K, or 0                          |
    | mode        | "DU": D = 1/2 u' d u; "DQ": D = 1/2 q' d q'                                   |
    | periods     | of coordinates that are angles                                                |
    """

    name: str
    coordinates: tuple[str, ...]
    parameters: Mapping[str, float]
    constraints: tuple[ProgrammeConstraint, ...]
    velocity: Mapping[int, Expression] | None = None
    completion: tuple[Row, ...] | None = None
    scale: Expression = ONE
    null_space: tuple[Row, ...] | None = None
    along: Row = ()
    wanted: Row | None = None
    mass: Square = ()
    dissipation: Square | None = None
    gain: Expression | None = None
    potential: Expression | None = None
    K: Square | None = None
    mode: str = "DU"
    periods: Mapping[str, float] | None = None

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)

    @property
    def references(self) -> tuple[Reference, ...]:
        """The coordinates in expressions."""
        return tuple(map(Reference, self.coordinates))

    @property
    def velocities(self) -> tuple[Reference, ...]:
        """Their velocities in expressions."""
        return tuple(Reference(name, velocity=True) for name in self.coordinates)


def described(
    coordinates: str | Sequence[str],
    constraints: str | Sequence[Any] = (),
    *,
    name: str = "programme",
    parameters: Mapping[str, Any] | None = None,
    mode: str = "DU",
    position_gain: Any = 0.0,
    mass: Any = None,
    dissipation: Any = None,
    gain: Any = None,
    potential: Any = None,
    K: Any = None,
    periods: Mapping[str, Any] | None = None,
    **completing: Any,
) -> ProgrammeDescription:
    """The description from what a user wrote, or an error that says what is wrong and where."""
    names = _names(coordinates)
    numbers = _numbers(parameters or {}, names)
    scope = Scope(names, numbers)
    if mode not in MODES:
        raise MomentreeError(f"programme: mode '{mode}' is not known. Choose {choices(MODES)}.")
    if isinstance(constraints, str) or callable(constraints):
        constraints = (constraints,)
    _check_dissipation(mode, dissipation, gain, potential, K)
    rate = scope.expression(position_gain, "position_gain", of=())
    if not rate.evaluate({Reference(name): value for name, value in numbers.items()}) >= 0:
        raise MomentreeError(f"programme: position_gain is {position_gain}: errors would grow. Give 0 or more, in 1/s.")
    return ProgrammeDescription(
        name=str(name),
        coordinates=names,
        parameters=numbers,
        constraints=tuple(scope.constraint(each, i, rate) for i, each in enumerate(constraints, 1)),
        mass=scope.square(1.0 if mass is None else mass, "mass"),
        dissipation=None if dissipation is None else scope.square(dissipation, "dissipation"),
        gain=None if gain is None else scope.expression(gain, "gain"),
        potential=None if potential is None else scope.expression(potential, "potential"),
        K=None if K is None else scope.square(K, "K"),
        mode=mode,
        periods=_periods(periods or {}, names),
        **_completion(scope, len(constraints), **completing),
    )


def _check_dissipation(mode: str, dissipation: Any, gain: Any, potential: Any, K: Any) -> None:
    """One way at most says what d is."""
    ways = {"dissipation": dissipation, "gain": gain, "potential": potential}
    given = [word for word, value in ways.items() if value is not None]
    if len(given) > 1:
        raise MomentreeError(f"programme: {' and '.join(given)} both say what d is. Give one of them.")
    if (K is None) != (potential is None):
        raise MomentreeError("programme: potential and K belong together. Give both, or dissipation, or gain.")
    if potential is not None and mode != "DQ":
        message = "programme: potential and K are for mode='DQ', where d v = grad Psi"
        raise MomentreeError(f"{message}. Give dissipation= in mode 'DU'.")


def _completion(
    scope: Scope,
    count: int,
    velocity: Any = None,
    completion: Any = None,
    scale: Any = 1,
    null_space: Any = None,
    along: Any = None,
    wanted: Any = None,
) -> dict[str, Any]:
    """What completes `count` constraints to a velocity field: one way, and of the right size."""
    n = len(scope.coordinates)
    ways = {"velocity": velocity, "completion": completion, "null_space": null_space, "wanted": wanted}
    given = [word for word, value in ways.items() if value is not None]
    if len(given) > 1:
        raise MomentreeError(f"programme: {' and '.join(given)} both complete the constraints. Give one of them.")
    if (null_space is None) != (along is None):
        raise MomentreeError("programme: null_space and along belong together: v = a^+ b + sum of vectors times along.")
    if not given and count < n:
        they = "1 constraint leaves" if count == 1 else f"{count} constraints leave"
        message = f"programme: {they} {n - count} of {n} velocities open"
        raise MomentreeError(f"{message}. Give velocity=, completion=, null_space= and along=, or wanted=.")
    if velocity is not None:
        return {"velocity": _velocity(scope, velocity, count)}
    if completion is not None:
        if len(completion) != n - 1 - count:
            message = (
                f"programme: completion has {len(completion)} vectors, but the cross product of {count} constraints"
            )
            raise MomentreeError(f"{message} in {n} coordinates takes {n - 1 - count}.")
        rows = tuple(scope.row(c, f"completion vector {k}") for k, c in enumerate(completion, 1))
        return {"completion": rows, "scale": scope.expression(scale, "scale")}
    if null_space is not None:
        if not len(null_space) == len(along) == n - count:
            message = f"programme: null_space has {len(null_space)} vectors and along {len(along)} coefficients"
            raise MomentreeError(f"{message}. Give {n - count} of each: {n} coordinates less {count} constraints.")
        rows = tuple(scope.row(N, f"null_space vector {k}") for k, N in enumerate(null_space, 1))
        return {"null_space": rows, "along": tuple(scope.expression(x, "along") for x in along)}
    if wanted is not None:
        return {"wanted": scope.row(wanted, "wanted")}
    return {}


def _velocity(scope: Scope, velocity: Any, count: int) -> dict[int, Expression]:
    names = scope.coordinates
    if not isinstance(velocity, Mapping):
        velocity = dict(zip(names, scope.entries(velocity, "velocity"), strict=True))
    found = {
        names.index(_known(name, names, "velocity")): scope.expression(x, f"velocity of {name}")
        for name, x in velocity.items()
    }
    n = len(names)
    if len(found) not in (n, n - count):
        message = f"programme: velocity gives {len(found)} of {n} components; number of constraints: {count}"
        raise MomentreeError(f"{message}. Give {n - count}, and the others follow; or all {n}.")
    return found


class Scope:
    """The names that expressions of a programme may use."""

    def __init__(self, coordinates: tuple[str, ...], parameters: Mapping[str, float]):
        self.coordinates = coordinates
        self._positions = {TIME, *map(Reference, coordinates), *map(Reference, parameters)}
        self._velocities = {Reference(name, velocity=True) for name in coordinates}
        self._constants = set(map(Reference, parameters))

    def expression(self, raw: Any, what: str, of: Sequence[str] | None = None) -> Expression:
        """A function of coordinates, time and parameters; of parameters alone where `of` is empty."""
        return self._checked(_parsed(raw, what), what, self._positions if of is None else self._constants)

    def force(self, raw: Any, what: str) -> Expression:
        """A function of coordinates, velocities, time and parameters."""
        return self._checked(_parsed(raw, what), what, self._positions | self._velocities)

    def row(self, raw: Any, what: str) -> Row:
        """As many expressions as there are coordinates, in their order or by name."""
        if isinstance(raw, Mapping):
            chosen = {_known(name, self.coordinates, what): value for name, value in raw.items()}
            raw = [chosen.get(name, 0.0) for name in self.coordinates]
        return tuple(self.expression(x, what) for x in self.entries(raw, what))

    def square(self, raw: Any, what: str) -> Square:
        """A matrix: n x n expressions, n on its diagonal, or one for the whole diagonal."""
        n = len(self.coordinates)
        raw = raw.tolist() if hasattr(raw, "tolist") else raw
        if isinstance(raw, (str, float, int, Expression)):
            raw = [raw] * n
        rows = self.entries(raw, what)
        if not any(isinstance(row, (list, tuple)) or hasattr(row, "tolist") for row in rows):
            diagonal = [self.expression(x, what) for x in rows]
            return tuple(tuple(x if i == j else ZERO for j in range(n)) for i, x in enumerate(diagonal))
        return tuple(self.row(row, f"row {i} of {what}") for i, row in enumerate(rows, 1))

    def entries(self, raw: Any, what: str) -> list[Any]:
        """The entries of a list that has one for each coordinate."""
        raw = raw.tolist() if hasattr(raw, "tolist") else raw
        if not isinstance(raw, (list, tuple)) or len(raw) != len(self.coordinates):
            count = f"{len(raw)} entries" if isinstance(raw, (list, tuple)) else "no list"
            names = ", ".join(self.coordinates)
            raise MomentreeError(f"programme: {what} has {count}. Give one for each coordinate: {names}.")
        return list(raw)

    def constraint(self, raw: Any, number: int, position_gain: Expression) -> ProgrammeConstraint:
        """a q' = b from an equation."""
        what = f"constraint {number}"
        expression = _parsed(raw, what, equation=True)
        text = f"{raw}" if isinstance(raw, str) else f"{expression} = 0"
        self._checked(expression, what, self._positions | self._velocities)
        named = expression.references() & self._velocities
        if not named:
            a = tuple(expression.derivative(Reference(name)) for name in self.coordinates)
            if all(slope.value == 0 for slope in a):
                raise MomentreeError(f"programme: {what}, '{text}', names no coordinate, so nothing can satisfy it.")
            return ProgrammeConstraint(text, a, -expression.derivative(TIME) - position_gain * expression, expression)
        wrong = not_affine(expression, self._velocities)
        if wrong is not None:
            raise MomentreeError(f"programme: {what}, '{text}', is not affine in {wrong}. Give a(q, t) q' = b(q, t).")
        a = tuple(expression.derivative(Reference(name, velocity=True)) for name in self.coordinates)
        return ProgrammeConstraint(text, a, -expression.substitute(dict.fromkeys(self._velocities, 0.0)))

    def _checked(self, expression: Expression, what: str, known: set[Reference]) -> Expression:
        for reference in sorted(expression.references() - known, key=str):
            if reference in self._velocities:
                message = f"programme: {what} depends on {reference}, a velocity. Only constraints may name velocities."
                raise MomentreeError(message)
            hint = suggestion(str(reference), map(str, sorted(known, key=str)))
            raise MomentreeError(f"programme: {what} names '{reference}', which is not known.{hint}")
        return expression


def _parsed(raw: Any, what: str, equation: bool = False) -> Expression:
    try:
        if callable(raw) and not isinstance(raw, Expression):
            return expression_of_function(raw)
        return parse_equation(raw) if equation and isinstance(raw, str) else as_expression(raw)
    except MomentreeError as error:
        raise MomentreeError(f"programme: {what}: {error}") from None


def _names(coordinates: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(coordinates, str):
        coordinates = coordinates.replace(",", " ").split()
    names = tuple(coordinates)
    for name in names:
        taken = name == "t" or name in CONSTANTS or name in FUNCTIONS
        if not isinstance(name, str) or not name.isidentifier() or taken:
            message = f"programme: {name!r} cannot name a coordinate"
            raise MomentreeError(f"{message}. Use words such as 'x' and 'phi', but not 't', 'pi' or 'sin'.")
    if not names or len({*names}) < len(names):
        raise MomentreeError(f"programme: coordinates are {names}. Give one name or more, each once.")
    return names


def _numbers(parameters: Mapping[str, Any], coordinates: Sequence[str]) -> dict[str, float]:
    for name in parameters:
        if name in coordinates or name == "t" or not str(name).isidentifier():
            message = f"programme: '{name}' cannot name a parameter: it is a coordinate, time, or no word"
            raise MomentreeError(f"{message}. Use another name.")
    return {name: _number(value, f"parameter '{name}'") for name, value in parameters.items()}


def _periods(periods: Mapping[str, Any], names: Sequence[str]) -> dict[str, float]:
    found = {_known(name, names, "periods"): _number(x, f"the period of {name}") for name, x in periods.items()}
    for name, period in found.items():
        if period <= 0:
            raise MomentreeError(
                f"programme: the period of {name} is {period:g}. Give a positive number, such as 2*pi."
            )
    return found


def _number(value: Any, what: str) -> float:
    found = _parsed(value, what).value
    if found is None:
        raise MomentreeError(f"programme: {what} is {value!r}. Give a number.")
    return found


def _known(name: str, names: Sequence[str], what: str) -> str:
    if name not in names:
        raise MomentreeError(f"programme: {what}: there is no coordinate '{name}'.{suggestion(str(name), names)}")
    return name
