"""How expressions are written: as text for a terminal, and in LaTeX.

The order is that of textbooks: number, masses, gravity, other parameters, coordinates, sums, velocities, accelerations,
and functions last: m l phi'' cos(phi). SymPy's own printers sort by the alphabet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar

import sympy as sp

from momentree.model.expressions.table_symbols import TableFunction
from momentree.symbols.names import PRIMES, VULGAR, Name, high, number_text, spelt_apart

Rank = tuple[int, int]
Term = tuple[bool, str]  # whether it is subtracted, and what
INERTIAL, GRAVITY, OTHER, COORDINATE, SUM, VELOCITY, ACCELERATION, MOMENTUM, MULTIPLIER = range(1, 10)
FUNCTION, BASIS = 10, 11  # names of ours: 0


class Writer:
    """What text and LaTeX have in common: the order of factors and terms, signs, fractions, powers."""

    def __init__(self, ranks: Mapping[sp.Symbol, Rank]):
        self.ranks = ranks
        self.plain = spelt_apart(ranks)

    def name_of(self, symbol: sp.Symbol) -> Name:
        """How a symbol is spelt: unlike all others."""
        base = symbol.name.rstrip("'")
        if base not in self.plain:
            return Name.of(symbol)
        return Name(self.plain[base], "", len(symbol.name) - len(base), plain=True)

    def write(self, x: sp.Expr) -> str:
        """An expression."""
        return joined(self.terms(x))

    def terms(self, x: sp.Expr) -> list[Term]:
        """The terms of a sum, each with whether it is subtracted; a positive one comes first if there is one."""
        split = [_signed(term) for term in sorted(sp.Add.make_args(x), key=self._term_order)]
        first = next((i for i, (number, _) in enumerate(split) if number > 0), 0)
        split.insert(0, split.pop(first))
        shared = {abs(number) for number, _ in split}
        if len(split) > 1 and len(shared) == 1 and not next(iter(shared)).is_Integer:
            # SymPy multiplies a number into a sum: take it out again
            minus = split[0][0] < 0
            inside = joined([(bool(number < 0) != minus, self._product(sp.Integer(1), rest)) for number, rest in split])
            return [(bool(minus), self.times([self.number(*shared), self.BRACKETS.format(inside)]))]
        return [(bool(number < 0), self._product(abs(number), rest)) for number, rest in split]

    def _product(self, number: sp.Number, x: sp.Expr) -> str:
        above: list[str] = []
        below: list[str] = []
        factors = sorted((factor for factor in sp.Mul.make_args(x) if factor != 1), key=self._rank)
        for factor in factors:
            base, power = factor.args if factor.is_Pow else (factor, sp.Integer(1))
            if not (power.is_Rational and power < 0):
                above.append(self._power(base, power))
            elif base.is_Add and power == -1 and len(factors) == len(above) + 1:
                below.append(self.BOTTOM.format(self.write(base)))  # the only one below
            else:
                below.append(self._power(base, -power))
        if number != 1 or not above:
            above.insert(0, self.number(number, alone=not factors))
        top = self.times(above)
        return self.fraction(top, below) if below else top

    def _power(self, base: sp.Expr, power: sp.Expr) -> str:
        if power == sp.Rational(1, 2):
            return self.ROOT.format(self.write(base))
        if power == 1:
            return self._atom(base)
        if isinstance(base, (sp.sin, sp.cos, sp.tan)) and power.is_Integer:
            return self.function(base, self.write(base.args[0]), int(power))
        return self.power(self._atom(base), power)

    def _atom(self, x: sp.Expr) -> str:
        """Something that can be multiplied and raised as it stands."""
        if x.is_Symbol:
            return self.symbol(self.name_of(x))
        if x == sp.pi:
            return self.symbol(Name("pi", "", 0))
        if x.is_Number:
            return self.number(x) if x >= 0 else self.BRACKETS.format(f"-{self.number(-x)}")
        if isinstance(x, sp.Abs):
            return self.ABSOLUTE.format(self.write(x.args[0]))
        if isinstance(x, sp.exp):
            return self.exponential(self.write(x.args[0]))
        if isinstance(x, sp.Piecewise):
            return self.cases([(self.write(value), self.condition(condition)) for value, condition in x.args])
        if isinstance(x, TableFunction):
            return self.table(Name.of(sp.Symbol(x.lookup.table.name)), x.lookup.order, self.write(x.args[0]))
        if x.is_Function or isinstance(x, (sp.Max, sp.Min)):
            return self.function(x, ", ".join(map(self.write, x.args)), 1)
        return self.BRACKETS.format(self.write(x))

    def condition(self, x: sp.Basic) -> str:
        """When a case holds; an empty text stands for all other cases."""
        if x == sp.true:
            return ""
        return f"{self.write(x.lhs)} {self.RELATIONS.get(x.rel_op, x.rel_op)} {self.write(x.rhs)}"

    # --- order -----------------------------------------------------------------------------------------------------

    def _rank(self, x: sp.Expr) -> tuple[Rank, str]:
        base = x.args[0] if x.is_Pow else x
        if base.is_number:
            return (-1, 0), str(base)
        if base.is_Symbol:
            return self.ranks.get(base, (0, 0)), base.name
        if base.is_Add:
            own = max((self._rank(factor)[0] for factor in base.atoms(sp.Symbol)), default=(0, 0))
            # a sum of masses stands where a mass stands
            return (own if own[0] <= INERTIAL and not base.has(sp.Function) else (SUM, 0)), str(base)
        return (FUNCTION, 0 if base.is_Pow else 1), f"{base.args} {isinstance(base, sp.cos)}"

    def _term_order(self, x: sp.Expr) -> tuple[bool, int, list[tuple[Rank, str]], str]:
        """Terms without functions first, short ones first: J + m r^2; a negative number last."""
        if x.is_Number and x < 0:
            return True, 3, [], ""
        factors = sorted(self._rank(factor) for factor in sp.Mul.make_args(x) if not factor.is_Number)
        return x.has(sp.Function), min(len(factors), 2), factors, str(x)

    # --- where text and LaTeX differ ----------------------------------------------------------------------------------

    BRACKETS, BOTTOM, ABSOLUTE, ROOT, EXP = "({})", "({})", "|{}|", "√({})", "exp({})"
    PRIMES = PRIMES
    RELATIONS: ClassVar[Mapping[str, str]] = {}

    def symbol(self, name: Name) -> str:
        """A letter with its index and dots."""
        raise NotImplementedError

    def number(self, x: sp.Number, alone: bool = False) -> str:
        """A number that is not negative; alone, or before a product."""
        raise NotImplementedError

    def times(self, factors: list[str]) -> str:
        """A product."""
        return " ".join(factors)

    def fraction(self, top: str, bottom: list[str]) -> str:
        """A quotient of products."""
        raise NotImplementedError

    def power(self, base: str, power: sp.Expr) -> str:
        """A power that is no root."""
        raise NotImplementedError

    def function(self, x: sp.Expr, inside: str, power: int) -> str:
        """A function, or a power of it."""
        raise NotImplementedError

    def exponential(self, inside: str) -> str:
        """e to a power."""
        return self.EXP.format(inside)

    def table(self, name: Name, order: int, inside: str) -> str:
        """A table, or a derivative of it."""
        return f"{self.symbol(name)}{self.PRIMES[order]}{self.BRACKETS.format(inside)}"

    def cases(self, cases: list[tuple[str, str]]) -> str:
        """Values and when they hold; the condition of the last may be empty."""
        raise NotImplementedError


class Text(Writer):
    """For a terminal: 2 m₁ r₁² θ₅′² cos(θ₅)."""

    def symbol(self, name: Name) -> str:
        return name.text

    def number(self, x: sp.Number, alone: bool = False) -> str:
        text = number_text(x)
        if "/" not in text:
            return text
        return VULGAR.get(Fraction(text), text if alone else f"({text})")

    def fraction(self, top: str, bottom: list[str]) -> str:
        return f"{top}/{bottom[0]}" if len(bottom) == 1 else f"{top}/({' '.join(bottom)})"

    def power(self, base: str, power: sp.Expr) -> str:
        if power.is_Integer:
            return base + high(int(power))
        return f"{base}^{self.write(power)}" if power.is_Symbol else f"{base}^({self.write(power)})"

    def function(self, x: sp.Expr, inside: str, power: int) -> str:
        return f"{x.func.__name__.lower()}{high(power) if power != 1 else ''}({inside})"

    def cases(self, cases: list[tuple[str, str]]) -> str:
        return "{" + "; ".join(f"{value} if {when}" if when else f"{value} otherwise" for value, when in cases) + "}"


class Latex(Writer):
    r"""In LaTeX: 2 m_{1} r_{1}^{2} \dot{\theta}_{5}^{2} \cos \theta_{5}."""

    BRACKETS, BOTTOM, ABSOLUTE = r"\left({}\right)", "{}", r"\left|{}\right|"
    ROOT, EXP = r"\sqrt{{{}}}", r"e^{{{}}}"
    PRIMES = ("", "'", "''", "'" * 3)
    RELATIONS: ClassVar[Mapping[str, str]] = {"<=": r"\le", ">=": r"\ge", "!=": r"\ne", "==": "="}
    COMMANDS = "sin cos tan arcsin arccos arctan sinh cosh tanh ln max min"
    NAMES: ClassVar[Mapping[str, str]] = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "log": "ln"}

    def symbol(self, name: Name) -> str:
        return name.latex

    def number(self, x: sp.Number, alone: bool = False) -> str:
        top, bar, bottom = number_text(x).partition("/")
        if bar:
            return rf"\frac{{{top}}}{{{bottom}}}"
        digits, e, exponent = top.partition("e")
        return rf"{digits} \cdot 10^{{{int(exponent)}}}" if e else top

    def times(self, factors: list[str]) -> str:
        words = any("\\mathrm" in factor or "\\text" in factor for factor in factors)
        return (r" \, " if words else " ").join(factors)

    def fraction(self, top: str, bottom: list[str]) -> str:
        return rf"\frac{{{top}}}{{{self.times(bottom)}}}"

    def power(self, base: str, power: sp.Expr) -> str:
        return f"{base}^{{{self.write(power)}}}"

    def function(self, x: sp.Expr, inside: str, power: int) -> str:
        name = x.func.__name__.lower()
        name = self.NAMES.get(name, name)
        command = rf"\{name}" if name in self.COMMANDS.split() else rf"\operatorname{{{name}}}"
        raised = f"^{{{power}}}" if power != 1 else ""
        simple = len(x.args) == 1 and x.args[0].is_Symbol
        return f"{command}{raised} {inside}" if simple else f"{command}{raised}{self.BRACKETS.format(inside)}"

    def exponential(self, inside: str) -> str:
        taken = any(symbol.name.rstrip("'") == "e" for symbol in self.ranks)
        return rf"\exp{self.BRACKETS.format(inside)}" if taken else super().exponential(inside)

    def cases(self, cases: list[tuple[str, str]]) -> str:
        lines = (rf"{value} & {when or chr(92) + 'text{otherwise}'}" for value, when in cases)
        return r"\begin{cases} " + r" \\ ".join(lines) + r" \end{cases}"


def _signed(term: sp.Expr) -> tuple[sp.Number, sp.Expr]:
    """Number and rest of a term; a factor that is a sum takes or gives a sign or number where that saves ink.

    -(b - a) x is (a - b) x; (2 a + 2 b) x, into which SymPy multiplies the number, is 2 (a + b) x.
    """
    number, rest = term.as_coeff_Mul()
    factors = list(sp.Mul.make_args(rest))
    for i, factor in enumerate(factors):
        if not factor.is_Add or len(factors) == 1:
            continue
        numbers = [part.as_coeff_Mul()[0] for part in factor.args]
        shared = abs(numbers[0]) if len({abs(n) for n in numbers}) == 1 else sp.Integer(1)
        negative = sum(1 for n in numbers if n < 0)
        if negative == len(numbers) or (number < 0 and 2 * negative >= len(numbers)):
            shared = -shared
        number, factors[i] = number * shared, sp.Add(*(part / shared for part in factor.args))
    return number, sp.Mul(*factors)


def joined(terms: Sequence[Term]) -> str:
    """Terms with their signs between them."""
    (negative, first), *rest = terms
    return ("-" if negative else "") + first + "".join(f" {'-' if minus else '+'} {term}" for minus, term in rest)
