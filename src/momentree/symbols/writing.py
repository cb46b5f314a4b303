"""How expressions are written: as text for a terminal, and in LaTeX.

The order is that of textbooks: number, masses, gravity, other parameters, coordinates, sums, rates, accelerations, and
functions last: m l phi'' cos(phi). SymPy's own printers sort by the alphabet.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar, NamedTuple

import sympy as sp

Rank = tuple[int, int]
SUM, FUNCTION, UNKNOWN = 40, 90, (35, 0)  # symbols of a model rank from 10 to 80, see ranks()
GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho final sigma tau upsilon "
    "phi chi psi omega"
).split()
LETTERS = {name: chr(0x3B1 + i) for i, name in enumerate(GREEK)} | {
    name.capitalize(): chr(0x391 + i) for i, name in enumerate(GREEK)
}
COMMANDS = "sin cos tan arcsin arccos arctan sinh cosh tanh ln max min".split()
LIKE_LATIN = "Alpha Beta Epsilon Zeta Eta Iota Kappa Mu Nu Omicron Rho Tau Chi omicron".split()  # LaTeX has no commands
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
VULGAR = {Fraction(unicodedata.numeric(c)).limit_denominator(20): c for c in "½⅓¼⅔¾⅙⅚⅛⅜⅝⅞"}
PLAIN = {ord(char): name for name, char in LETTERS.items()} | {ord("′"): "'", ord("√"): "sqrt"}
PLAIN |= {ord(s): d for s, d in zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True)}
PLAIN |= {ord(s): f"^{d}" for s, d in zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True)}
PLAIN |= {ord(char): f"({value})" for value, char in VULGAR.items()}


class Name(NamedTuple):
    """What a symbol is called: theta5'' is the letter theta with the index 5 and two dots."""

    letter: str
    index: str
    dots: int
    inertia: bool = False  # the index needs no line before it: Jxy, Iz2

    @classmethod
    def of(cls, symbol: sp.Symbol) -> Name:
        plain = symbol.name.rstrip("'")
        dots = len(symbol.name) - len(plain)
        inertia = re.fullmatch(r"([A-Z])([xyz]{1,2}\d*)", plain)
        parts = inertia or re.fullmatch(r"([^\W\d_]+)_?([^_]\w*|)", plain)
        return cls(*parts.groups(), dots, bool(inertia)) if parts else cls(plain, "", dots)


class Writer:
    """What text and LaTeX have in common: the order of factors and terms, signs, fractions, powers."""

    def __init__(self, ranks: Mapping[sp.Symbol, Rank]):
        self.ranks = ranks

    def write(self, x: sp.Expr) -> str:
        """An expression."""
        return joined(self.terms(x))

    def terms(self, x: sp.Expr) -> list[tuple[bool, str]]:
        """The terms of a sum, each with whether it is subtracted; a positive one comes first if there is one."""
        terms = sorted(sp.Add.make_args(x), key=self._term_order)
        split = [term.as_coeff_Mul() for term in terms]
        first = next((i for i, (number, _) in enumerate(split) if number > 0), 0)
        split.insert(0, split.pop(first))
        return [(bool(number < 0), self._product(abs(number), rest)) for number, rest in split]

    def _product(self, number: sp.Number, x: sp.Expr) -> str:
        above, below = [], []
        for factor in sorted(sp.Mul.make_args(x), key=self._rank):
            base, power = factor.as_base_exp()
            if factor == 1:
                continue
            if power.is_Rational and power < 0:
                below.append(self._power(base, -power))
            else:
                above.append(self._power(base, power))
        if number != 1 or not above:
            above.insert(0, self.number(number))
        top = self.TIMES.join(above)
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
            return self.symbol(Name.of(x))
        if x == sp.pi:
            return self.symbol(Name("pi", "", 0))
        if x.is_Number:
            return self.number(x) if x >= 0 else self.BRACKETS.format(f"-{self.number(-x)}")
        if isinstance(x, sp.Abs):
            return self.ABSOLUTE.format(self.write(x.args[0]))
        if isinstance(x, sp.exp):
            return self.EXP.format(self.write(x.args[0]))
        if isinstance(x, sp.Piecewise):
            return self.cases([(self.write(value), self.condition(told)) for value, told in x.args])
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
        base = x.as_base_exp()[0]
        if base.is_Symbol:
            return self.ranks.get(base, UNKNOWN), base.name
        if base.is_Add:
            own = max((self._rank(factor)[0] for factor in base.atoms(sp.Symbol)), default=(0, 0))
            # a sum of masses stands where a mass stands
            return (own if own[0] < 20 and not base.has(sp.Function) else (SUM, 0)), str(base)
        return ((FUNCTION, 0) if base.args else (0, 0)), str(base)

    def _term_order(self, x: sp.Expr) -> tuple[bool, list[tuple[Rank, str]], str]:
        factors = sorted(self._rank(factor) for factor in sp.Mul.make_args(x) if not factor.is_Number)
        return x.has(sp.Function), factors, str(x)

    # --- what text and LaTeX do in their own ways --------------------------------------------------------------------

    BRACKETS, ABSOLUTE, TIMES, ROOT, EXP = "({})", "|{}|", " ", "√({})", "exp({})"
    RELATIONS: ClassVar[Mapping[str, str]] = {}

    def symbol(self, name: Name) -> str:
        """A letter with its index and dots."""
        raise NotImplementedError

    def number(self, x: sp.Number) -> str:
        """A number that is not negative."""
        raise NotImplementedError

    def fraction(self, top: str, bottom: list[str]) -> str:
        """A quotient of products."""
        raise NotImplementedError

    def power(self, base: str, power: sp.Expr) -> str:
        """A power that is no root."""
        raise NotImplementedError

    def function(self, x: sp.Expr, inside: str, power: int) -> str:
        """A function, or a power of it."""
        raise NotImplementedError

    def cases(self, cases: list[tuple[str, str]]) -> str:
        """Values and when they hold; the condition of the last may be empty."""
        raise NotImplementedError


class Text(Writer):
    """For a terminal: 2 m₁ r₁² θ₅′² cos(θ₅)."""

    def symbol(self, name: Name) -> str:
        letter = LETTERS.get(name.letter, name.letter)
        index = name.index.translate(SUBSCRIPTS) if name.index.isdecimal() or name.inertia else f"_{name.index}"
        return letter + (index if name.index else "") + "′" * name.dots

    def number(self, x: sp.Number) -> str:
        text = number_text(x)
        return VULGAR.get(Fraction(text), f"({text})") if "/" in text else text

    def fraction(self, top: str, bottom: list[str]) -> str:
        return f"{top}/{bottom[0]}" if len(bottom) == 1 else f"{top}/({' '.join(bottom)})"

    def power(self, base: str, power: sp.Expr) -> str:
        whole = power.is_Integer
        return base + (str(power).translate(SUPERSCRIPTS) if whole else f"^({self.write(power)})")

    def function(self, x: sp.Expr, inside: str, power: int) -> str:
        raised = str(power).translate(SUPERSCRIPTS) if power != 1 else ""
        return f"{x.func.__name__.lower()}{raised}({inside})"

    def cases(self, cases: list[tuple[str, str]]) -> str:
        return "{" + "; ".join(f"{value} if {when}" if when else f"{value} else" for value, when in cases) + "}"


class Latex(Writer):
    r"""In LaTeX: 2 m_{1} r_{1}^{2} \dot{\theta}_{5}^{2} \cos \theta_{5}."""

    BRACKETS, ABSOLUTE = r"\left({}\right)", r"\left|{}\right|"
    TIMES, ROOT, EXP = r" \, ", r"\sqrt{{{}}}", r"e^{{{}}}"
    RELATIONS: ClassVar[Mapping[str, str]] = {"<=": r"\le", ">=": r"\ge", "!=": r"\ne", "==": "="}
    NAMES: ClassVar[Mapping[str, str]] = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "log": "ln"}

    def symbol(self, name: Name) -> str:
        letter = _latex_word(name.letter)
        dotted = rf"\{'d' * name.dots}ot{{{letter}}}" if name.dots else letter
        return f"{dotted}_{{{_latex_word(name.index)}}}" if name.index else dotted

    def number(self, x: sp.Number) -> str:
        top, bar, bottom = number_text(x).partition("/")
        if bar:
            return rf"\frac{{{top}}}{{{bottom}}}"
        digits, e, exponent = top.partition("e")
        return rf"{digits} \cdot 10^{{{int(exponent)}}}" if e else top

    def fraction(self, top: str, bottom: list[str]) -> str:
        return rf"\frac{{{top}}}{{{self.TIMES.join(bottom)}}}"

    def power(self, base: str, power: sp.Expr) -> str:
        return f"{base}^{{{self.write(power)}}}"

    def function(self, x: sp.Expr, inside: str, power: int) -> str:
        name = x.func.__name__.lower()
        name = self.NAMES.get(name, name)
        command = rf"\{name}" if name in COMMANDS else rf"\operatorname{{{name}}}"
        raised = f"^{{{power}}}" if power != 1 else ""
        simple = len(x.args) == 1 and x.args[0].is_Symbol
        return f"{command}{raised} {inside}" if simple else f"{command}{raised}{self.BRACKETS.format(inside)}"

    def cases(self, cases: list[tuple[str, str]]) -> str:
        lines = (rf"{value} & {when or chr(92) + 'text{else}'}" for value, when in cases)
        return r"\begin{cases} " + r" \\ ".join(lines) + r" \end{cases}"


def joined(terms: list[tuple[bool, str]]) -> str:
    """Terms with their signs between them."""
    (negative, first), *rest = terms
    return ("-" if negative else "") + first + "".join(f" {'-' if minus else '+'} {term}" for minus, term in rest)


def number_text(x: sp.Number) -> str:
    """A number as a person would write it: a simple fraction, a short decimal, or six digits."""
    if x.is_Integer:
        return str(x)
    if x.is_Rational:
        decimal = set(sp.factorint(x.q)) <= {2, 5}
        simple = x.q in (2, 3, 4, 6, 8, 12) and abs(x.p) <= 12
        if simple or (not decimal and max(abs(x.p), x.q) < 1000):
            return f"{x.p}/{x.q}"
    return f"{float(x):.9g}" if x.is_Rational and len(f"{float(x):.9g}") <= 8 else f"{float(x):.6g}"


def plain(text: str) -> str:
    """Text for terminals that know only ASCII."""
    return text.translate(PLAIN)


def escaped(text: str) -> str:
    """Any text in LaTeX."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(special.get(c, f"\\{c}" if c in "#$%&_{}" else c) for c in text)


def _latex_word(word: str) -> str:
    """A letter or index: a Greek letter, a single letter or number as it is, a word upright."""
    word = {char: name for name, char in LETTERS.items()}.get(word, word)
    if word in LETTERS and word not in LIKE_LATIN:
        return rf"\{word}"
    if len(word) == 1 and word.isascii() or word.isdecimal() or re.fullmatch(r"[xyz]+\d*", word):
        return escaped(word)
    return rf"\mathrm{{{escaped(word)}}}" if word.isascii() else rf"\text{{{escaped(word)}}}"
