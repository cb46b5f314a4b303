"""Printed equations read back: text as a terminal shows it, to numbers, by a parser that knows nothing of SymPy."""

from __future__ import annotations

import math
import re
import unicodedata

HIGH = "⁰¹²³⁴⁵⁶⁷⁸⁹"
VULGAR = "½⅓¼⅔¾⅙⅚⅛⅜⅝⅞"
TOKEN = re.compile(
    rf"\s*(?:(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?)|(?P<vulgar>[{VULGAR}])|(?P<high>[{HIGH}]+)"
    rf"|(?P<name>[^\W\d{HIGH}{VULGAR}][^\W{HIGH}{VULGAR}]*[′″‴]*)|(?P<sign>[-+/(),|√^*]))"
)
NAMES = ["sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp", "log"]
FUNCTIONS = {name: getattr(math, name) for name in NAMES}
FUNCTIONS |= {"sqrt": math.sqrt, "sign": lambda x: math.copysign(1.0, x) if x else 0.0, "max": max, "min": min}


def value(text, names):
    """The value of a printed expression."""
    parser = _Parser(text, names)
    found = parser.sum()
    assert parser.at == len(parser.tokens), f"{text!r}: {parser.tokens[parser.at :]} is left"
    return found


class _Parser:
    """Sums of products; a product is what stands side by side."""

    def __init__(self, text, names):
        self.names, self.at, self.tokens, end = names, 0, [], 0
        while text[end:].strip():
            found = TOKEN.match(text, end)
            assert found, f"{text[end:]!r} cannot be read"
            self.tokens.append((found.lastgroup, found[found.lastgroup], found.start(found.lastgroup)))
            end = found.end()

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "", -1)

    def take(self, wanted=None):
        kind, text, _ = self.peek()
        assert wanted is None or text == wanted, f"{wanted!r} was expected, not {text!r}"
        self.at += 1
        return kind, text

    def sum(self):
        total = 0.0
        sign = self.take()[1] if self.peek()[1] in ("-", "+") else "+"
        while True:
            total += self.product() if sign == "+" else -self.product()
            if self.peek()[1] not in ("-", "+"):
                return total
            sign = self.take()[1]

    def product(self):
        found = self.power()
        while True:
            kind, text, _ = self.peek()
            if text == "/":
                self.take()
                found /= self.power()
            elif kind in ("number", "vulgar", "name") or text in ("(", "√") or (text == "|" and not self.inside):
                found *= self.power()
            else:
                return found

    inside = False  # of bars

    def power(self):
        found = self.atom()
        kind, text, _ = self.peek()
        if kind == "high":
            self.take()
            return found ** int("".join(str(HIGH.index(c)) for c in text))
        if text == "^":
            self.take()
            return found ** self.atom()
        return found

    def atom(self):
        kind, text = self.take()
        if kind == "number":
            return float(text)
        if kind == "vulgar":
            return unicodedata.numeric(text)
        if kind == "name":
            return self.called(text)
        if text == "√":
            return math.sqrt(self.bracket())
        if text == "|":
            self.inside = True
            found = abs(self.sum())
            self.take("|")
            self.inside = False
            return found
        assert text == "(", f"{text!r} begins nothing"
        self.at -= 1
        return self.bracket()

    def bracket(self):
        self.take("(")
        before, self.inside = self.inside, False
        found = self.sum()
        self.inside = before
        self.take(")")
        return found

    def called(self, name):
        """A symbol, or a function, whose bracket follows at once, perhaps after a power."""
        if name not in FUNCTIONS or name in self.names:
            return self.names[name]
        power = 1
        if self.peek()[0] == "high":
            power = int("".join(str(HIGH.index(c)) for c in self.take()[1]))
        self.take("(")
        before, self.inside = self.inside, False
        parts = [self.sum()]
        while self.peek()[1] == ",":
            self.take()
            parts.append(self.sum())
        self.inside = before
        self.take(")")
        return FUNCTIONS[name](*parts) ** power


def sections(text):
    """Title -> pairs of what stands left and right of the signs of equality; the equations have the title ""."""
    found, title = {"": []}, ""
    for line in text.splitlines()[1:]:
        if not line.strip():
            continue
        if not line.startswith(" "):
            title = line
            found[title] = []
        elif line.startswith("     "):
            found[title][-1] += " " + line.strip()
        else:
            found[title].append(line.strip())
    return {title: [line.split(" = ") for line in lines if " = " in line] for title, lines in found.items()}
