"""XML text of robot files: elements inside each other, names escaped, numbers with all their digits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\t": "&#9;", "\r": "&#13;"}
HEADER = '<?xml version="1.0" encoding="utf-8"?>'


@dataclass
class Tag:
    """An element to be written: its tag, attributes in their order, and a text or elements inside."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    text: str = ""
    children: list[Tag] = field(default_factory=list)

    def add(self, tag: str, text: str = "", /, **attributes: str | None) -> Tag:
        """A new element inside; attributes that are None are left out."""
        said = {key.rstrip("_"): value for key, value in attributes.items() if value is not None}
        self.children.append(Tag(tag, said, text))
        return self.children[-1]

    def document(self) -> str:
        """The text of a file whose outermost element this is."""
        return "\n".join([HEADER, *self._lines(), ""])

    def _lines(self) -> Iterator[str]:
        waiting: list[tuple[Tag | str, str]] = [(self, "")]  # elements to begin and tags to end, the next one last
        while waiting:
            here, indent = waiting.pop()
            if isinstance(here, str):
                yield f"{indent}</{here}>"
                continue
            said = "".join(f' {key}="{escaped(value)}"' for key, value in here.attributes.items())
            if here.children:
                yield f"{indent}<{here.tag}{said}>"
                waiting.append((here.tag, indent))
                waiting += [(child, indent + "  ") for child in reversed(here.children)]
            elif here.text:
                yield f"{indent}<{here.tag}{said}>{escaped(here.text)}</{here.tag}>"
            else:
                yield f"{indent}<{here.tag}{said}/>"

    def inside(self, tag: str) -> Iterator[Tag]:
        """The elements with a tag inside it, in the order of the text."""
        waiting = [self]
        while waiting:
            here = waiting.pop()
            if here.tag == tag:
                yield here
            waiting += reversed(here.children)


def escaped(text: str) -> str:
    """A text as XML has it, in attributes and between tags."""
    return "".join(ESCAPES.get(character, character) for character in text)


def digits(*numbers: Any) -> str:
    """Numbers with all their digits, separated by blanks: they are read as the same floats."""
    return " ".join(_digits(float(number)) for number in numbers)


def _digits(number: float) -> str:
    return repr(number + 0.0).removesuffix(".0") if number else "0"
