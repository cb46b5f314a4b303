"""How names and numbers are spelt: Greek letters, indices, dots and primes; fractions and decimals."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

import sympy as sp

_SMALL = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho"  # then a final sigma
_LAST = "sigma tau upsilon phi chi psi omega"
_LIKE_LATIN = "Alpha Beta Epsilon Zeta Eta Iota Kappa Mu Nu Omicron Rho Tau Chi omicron"
LETTERS = {name: chr(0x3B1 + i) for i, name in enumerate(_SMALL.split())}
LETTERS |= {name: chr(0x3C3 + i) for i, name in enumerate(_LAST.split())}
LETTERS |= {name.capitalize(): chr(ord(letter) - 0x20) for name, letter in LETTERS.items()}
NAMES = {letter: name for name, letter in LETTERS.items()}
COMMANDS = set(LETTERS) - set(_LIKE_LATIN.split())  # LaTeX has none for those that look like Latin letters
DIGITS, SUBSCRIPTS, SUPERSCRIPTS = "0123456789", "₀₁₂₃₄₅₆₇₈₉", "⁰¹²³⁴⁵⁶⁷⁸⁹"
PRIMES = ("", "′", "″", "‴")
VULGAR = {Fraction(unicodedata.numeric(c)).limit_denominator(20): c for c in "½⅓¼⅔¾⅙⅚⅛⅜⅝⅞"}
CONSTANTS = ("π", r"\pi")  # which no symbol may look like
PLAIN = {
    **{ord(letter): name for name, letter in LETTERS.items()},
    **{ord(low): digit for low, digit in zip(SUBSCRIPTS, DIGITS, strict=True)},
    **{ord(high): f"^{digit}" for high, digit in zip(SUPERSCRIPTS, DIGITS, strict=True)},
    **{ord(prime): "'" * dots for dots, prime in enumerate(PRIMES) if prime},
    **{ord(char): f"({value})" for value, char in VULGAR.items()},
    ord("√"): "sqrt",
}


class Name(NamedTuple):
    """What a symbol is called: theta5'' is the letter theta with the number 5 and two dots."""

    letter: str
    number: str  # or word: what stands below
    dots: int
    close: bool = False  # no line between letter and number: Jxy, Iz2
    plain: bool = False  # as it is written in the model: alpha beside α, m_1 beside m1

    @classmethod
    def of(cls, symbol: sp.Symbol) -> Name:
        """The parts of the name of a symbol."""
        plain = symbol.name.rstrip("'")
        dots = len(symbol.name) - len(plain)
        inertia = re.fullmatch(r"([A-Z])([xyz]{1,2}\d*)", plain)
        parts = inertia or re.fullmatch(r"([^\W\d_]+)_?([^_]\w*|)", plain)
        return cls(parts[1], parts[2], dots, bool(inertia)) if parts else cls(plain, "", dots)

    @property
    def text(self) -> str:
        """For a terminal: θ₅″, hull_y."""
        if self.plain:
            return self.letter + PRIMES[self.dots]
        below = (
            low(self.number) if self.close or self.number.isdecimal() else f"_{LETTERS.get(self.number, self.number)}"
        )
        return LETTERS.get(self.letter, self.letter) + (below if self.number else "") + PRIMES[self.dots]

    @property
    def latex(self) -> str:
        r"""In LaTeX: \ddot{\theta}_{5}, \mathrm{hull}_{y}."""
        letter = rf"\mathrm{{{escaped(self.letter)}}}" if self.plain else _latex_word(self.letter)
        dotted = rf"\{'d' * self.dots}ot{{{letter}}}" if self.dots else letter
        return f"{dotted}_{{{_latex_word(self.number)}}}" if self.number else dotted


def spelt_apart(symbols: Iterable[sp.Symbol]) -> dict[str, str]:
    """Names, without primes, that are spelt as they are written, because others look like them: m_1 beside m1."""
    spelt = {base: Name.of(sp.Symbol(base)) for base in {symbol.name.rstrip("'") for symbol in symbols}}
    taken, plain = {*CONSTANTS}, dict[str, str]()
    for base in sorted(spelt, key=lambda base: (spelt[base].text != base, len(base), base)):
        looks = {spelt[base].text, spelt[base].latex}
        if looks & taken:
            plain[base] = base
            while plain[base] in taken:
                plain[base] += "_"
            looks = {plain[base]}
        taken |= looks
    return plain


def low(number: str) -> str:
    """Digits below the line."""
    return number.translate(str.maketrans(DIGITS, SUBSCRIPTS))


def high(number: int) -> str:
    """A power, above the line."""
    return str(number).translate(str.maketrans(DIGITS, SUPERSCRIPTS))


def number_text(x: sp.Number) -> str:
    """A number as a person would write it: a simple fraction, a short decimal, or six digits."""
    if x.is_Integer:
        return str(x)
    if x.is_Rational:
        decimal = set(sp.factorint(x.q)) <= {2, 5}
        simple = x.q in (2, 3, 4, 6, 8, 12) and abs(x.p) <= 12
        if simple or (not decimal and abs(x.p) * x.q < 100_000):
            return f"{x.p}/{x.q}"
    exactly = f"{float(x):.9g}"
    return exactly if x.is_Rational and len(exactly) <= 8 else f"{float(x):.6g}"


def plain(text: str) -> str:
    """Text for terminals that know only ASCII."""
    return text.translate(PLAIN)


def escaped(text: str) -> str:
    """Any text in LaTeX."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(special.get(c, f"\\{c}" if c in "#$%&_{}" else c) for c in text)


def _latex_word(word: str) -> str:
    """A Greek letter, a single letter or number as it is, a word upright."""
    word = NAMES.get(word, word)
    if word in COMMANDS:
        return rf"\{word}"
    if re.fullmatch(r"[A-Za-z]|\d+|[xyz]+\d*", word):
        return word
    return rf"\mathrm{{{escaped(word)}}}" if word.isascii() else rf"\text{{{escaped(word)}}}"
