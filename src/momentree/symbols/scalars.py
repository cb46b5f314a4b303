"""A mechanism on SymPy scalars: parameters, coordinates and velocities become symbols, numbers become exact.

Names: a coordinate is called as its joint (`theta5`), or joint and component (`hull_y`); its velocity has a prime
(`theta5'`, in LaTeX a dot) unless the caller names it, and the derivative of a velocity one prime more.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from momentree.equations.evaluation import Evaluation
from momentree.errors import MomentreeError, suggestion
from momentree.model.expressions.expression import Expression, Reference
from momentree.spatial import RigidInertia, Scalar, Vector
from momentree.spatial.scalar import FUNCTIONS
from momentree.structure.mechanism import Mechanism
from momentree.structure.parts import with_laws

SHORT_DECIMAL = 9  # significant digits up to which a number is taken for exactly what it says
LARGEST_DENOMINATOR = 1000  # of fractions that are recognised in a float: 0.08333333333333333 is 1/12
ROUND_OFF = 4 * 2.0**-52
RESIDUE = 1e-14  # of directions and lengths (m); of moments of inertia, relative to the largest of the body


@dataclass(frozen=True)
class Symbolic:
    """The mechanism on symbols.

    | field       | meaning                                                                 |
    |-------------|-------------------------------------------------------------------------|
    | numeric     | the mechanism before, with numbers for directions                       |
    | q, u, du, t | symbols of the coordinates, the velocities, their derivatives, and time |
    | parameters  | symbols of the free parameters, in the order of the model               |
    | inertial    | those that are masses and moments of inertia                            |
    | gravity     | those that make the acceleration of gravity                             |
    | derivatives | time derivative of each coordinate, by the velocities                   |
    """

    mechanism: Mechanism
    numeric: Mechanism
    q: tuple[sp.Symbol, ...]
    u: tuple[sp.Symbol, ...]
    du: tuple[sp.Symbol, ...]
    t: sp.Symbol
    parameters: tuple[sp.Symbol, ...]
    inertial: frozenset[sp.Symbol]
    gravity: frozenset[sp.Symbol]
    derivatives: Mapping[sp.Symbol, sp.Expr]

    @property
    def free(self) -> dict[Reference, sp.Symbol]:
        """The free parameters by reference."""
        return {Reference(symbol.name): symbol for symbol in self.parameters}

    @property
    def quaternions(self) -> list[tuple[sp.Symbol, ...]]:
        """The unit quaternions among the coordinates."""
        bodies = [body for body in self.mechanism.bodies if body.laws is None]
        return [self.q[body.q][-4:] for body in bodies if len(self.q[body.q]) != len(self.u[body.v])]

    @property
    def evaluation(self) -> Evaluation:
        """Where equations are evaluated: at all the symbols."""
        return Evaluation(self.mechanism, self.q, self.t, self.free)

    def scalar(self, x: Scalar) -> sp.Expr:
        """A number or an expression of free parameters on symbols."""
        return _scalar(x, self.free)

    def total_derivative(self, x: sp.Expr) -> sp.Expr:
        """The time derivative of an expression of coordinates and time, velocities constant."""
        terms = [x.diff(q) * change for q, change in self.derivatives.items()]
        return sp.Add(x.diff(self.t), *terms)


def symbolic(mechanism: Mechanism, velocities: Mapping[str, str] | None = None) -> Symbolic:
    """The mechanism with a symbol for each free parameter, coordinate and velocity; `velocities` renames velocities."""
    free = {Reference(name): _symbol(name) for name in mechanism.free}
    taken = {"t", *mechanism.free}
    q = [unused(_spelt(r), taken) for r in mechanism.coordinates]
    u = _velocity_names(mechanism, q, velocities or {}, taken)
    on_symbols = mechanism.mapped(lambda x: _scalar(x, free))
    both = zip(mechanism.bodies, on_symbols.bodies, strict=True)
    bodies = tuple(dataclasses.replace(new, inertia=_inertia(old.inertia, free)) for old, new in both)
    on_symbols = dataclasses.replace(on_symbols, bodies=bodies)
    inertias = [body.inertia for body in on_symbols.bodies]
    q_symbols, u_symbols = tuple(map(_symbol, q)), tuple(map(_symbol, u))
    derivatives = {
        coordinate: sp.S(change)
        for body in on_symbols.bodies
        if body.laws is None
        for coordinate, change in zip(
            q_symbols[body.q],
            body.joint.type.coordinate_derivatives(q_symbols[body.q], u_symbols[body.v]),
            strict=True,
        )
    }
    return Symbolic(
        mechanism=_with_laws(on_symbols, lambda law: ExactLaw(law, free)),
        numeric=mechanism,
        q=q_symbols,
        u=u_symbols,
        du=tuple(_symbol(f"{name}'") for name in u),
        t=_symbol("t"),
        parameters=tuple(free.values()),
        inertial=frozenset(_single(x for inertia in inertias for x in (inertia.mass, *inertia.J))),
        gravity=frozenset(symbol for x in on_symbols.gravity for symbol in sp.S(x).free_symbols),
        derivatives=derivatives,
    )


class ExactLaw:
    """A law of time, parameters and coordinates that gives exact scalars; it stands in for an Expression."""

    def __init__(self, law: Expression, parameters: Mapping[Reference, sp.Symbol]):
        self.law, self.parameters = law, parameters

    def evaluate(self, names: Mapping[Reference, Scalar]) -> Scalar:
        """The law at given scalars; free parameters are symbols."""
        return self.law.evaluate({**self.parameters, **names}, {**FUNCTIONS, "number": exact})

    def derivative(self, by: Reference) -> ExactLaw:
        """The partial derivative."""
        return ExactLaw(self.law.derivative(by), self.parameters)

    def references(self) -> frozenset[Reference]:
        """Everything that the law depends on."""
        return self.law.references()


def exact(value: float, least: float = RESIDUE) -> sp.Expr:
    """The number that a float stands for: a short decimal, a fraction, a root or a part of pi; else the float itself.

    What is less than `least` is the round-off of something that was one, such as cos(90 deg).

    >>> exact(0.5), exact(9.81), exact(1 / 12), exact(3**0.5 / 2), exact(6.123233995736766e-17)
    (1/2, 981/100, 1/12, sqrt(3)/2, 0)
    """
    if value == 0 or not math.isfinite(value):
        return sp.Integer(0) if value == 0 else sp.Float(value)
    digits = repr(float(value)).lower().partition("e")[0].replace(".", "").strip("-0")
    if len(digits) <= SHORT_DECIMAL:
        return sp.Rational(repr(float(value)))
    if abs(value) < least:
        return sp.Integer(0)
    for power in (0, 1, -1, -2):  # of pi
        fraction = _fraction(value / math.pi**power, LARGEST_DENOMINATOR)
        if fraction is not None:
            return fraction * sp.pi**power
    square = _fraction(value * value, 100)
    return sp.Float(value) if square is None else sp.sqrt(square) * (1 if value > 0 else -1)


def _fraction(value: float, largest: int) -> sp.Rational | None:
    near = Fraction(value).limit_denominator(largest)
    return sp.Rational(near) if near and abs(float(near) - value) <= ROUND_OFF * abs(value) else None


def _scalar(x: Scalar, free: Mapping[Reference, sp.Symbol], least: float = RESIDUE) -> sp.Expr:
    """A number or an expression in free parameters; in factors, so that a first moment can be divided by its mass."""
    if isinstance(x, Expression):
        return sp.factor(x.evaluate(free, {**FUNCTIONS, "number": exact}))
    return exact(x, least)


def _inertia(inertia: RigidInertia, free: Mapping[Reference, sp.Symbol]) -> RigidInertia:
    """An inertia on symbols, however small the body is: round-off is measured by its own size."""
    m, *numbers = (abs(x) if isinstance(x, float) else 0.0 for x in (inertia.mass, *inertia.J))
    J = max(numbers)
    of_h, of_J = (
        RESIDUE * max(math.sqrt(m * J), *(abs(x) if isinstance(x, float) else 0.0 for x in inertia.h)),
        RESIDUE * J,
    )
    h = Vector(*(_scalar(x, free, of_h) for x in inertia.h))
    return RigidInertia(_scalar(inertia.mass, free, 0.0), h, tuple(_scalar(x, free, of_J) for x in inertia.J))


def _with_laws(mechanism: Mechanism, exact_law: Callable[[Expression], Any]) -> Mechanism:
    """The mechanism with each of its laws replaced."""

    bodies = tuple(dataclasses.replace(body, laws=with_laws(body.laws, exact_law)) for body in mechanism.bodies)
    return dataclasses.replace(
        mechanism,
        ground=with_laws(mechanism.ground, exact_law),
        bodies=bodies,
        torques=with_laws(mechanism.torques, exact_law),
        elements=with_laws(mechanism.elements, exact_law),
    )


def _single(entries: Iterable[sp.Expr]) -> Iterator[sp.Symbol]:
    """Symbols that stand alone, but for a number, in a sum: m1 and m2 in m1 + m2; of I + m r^2 only I."""
    for entry in entries:
        for term in sp.Add.make_args(sp.expand(entry)):
            _, symbol = term.as_coeff_Mul()
            if symbol.is_Symbol:
                yield symbol


# --- names -----------------------------------------------------------------------------------------------------------


def _symbol(name: str) -> sp.Symbol:
    return sp.Symbol(name, real=True)


def _spelt(reference: Reference) -> str:
    name = f"{reference.name}_{reference.component}" if reference.component else reference.name
    return re.sub(r"\W", "_", name)


def unused(name: str, taken: set[str]) -> str:
    """The name, with a line behind it while it is taken; it is taken from now on."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _velocity_names(
    mechanism: Mechanism, coordinates: Sequence[str], velocities: Mapping[str, str], taken: set[str]
) -> list[str]:
    """The coordinate's name and a prime, or the caller's name; a ball's velocities have their own names."""
    by_key = {f"{r.name}.{r.component}".rstrip("."): r for r in mechanism.velocities}
    wanted = {key.rstrip("'").replace("`", ""): name for key, name in velocities.items()}
    for key, name in wanted.items():
        if key not in by_key:
            raise MomentreeError(f"velocities: there is no velocity '{key}'.{suggestion(key, by_key)}")
        if not isinstance(name, str) or not name.isidentifier() or name in taken:
            raise MomentreeError(f"velocities: '{key}' cannot be called {name!r}: that is not a name, or it is in use.")
        taken.add(name)
    primed = {
        dataclasses.replace(r, velocity=True): f"{name}'"
        for r, name in zip(mechanism.coordinates, coordinates, strict=True)
    }
    own = {key: primed[r] if r.velocity else unused(_spelt(r), taken) for key, r in by_key.items()}
    return list({**own, **wanted}.values())
