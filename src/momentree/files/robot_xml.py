"""XML of robot files, with the line of every element: no document type, no entities, nothing fetched from anywhere."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from momentree.errors import ModelError, suggestion
from momentree.files.model_bytes import file_error, printed_name, read_bytes

MJCF = (".xml", ".mjcf")  # endings of robot files
WRITTEN = (".urdf", ".sdf", *MJCF)
READ = (*WRITTEN, ".xacro")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)  # not all that Python takes: no 1_0
DEEPEST = 200  # elements inside each other
MOST = 1_000_000  # elements of a file


@dataclass
class Element:
    """An element of a file: its tag, attributes, what is inside, and its line.

    | field | meaning                                                    |
    |-------|------------------------------------------------------------|
    | text  | characters between its tags, without those of its children |
    | file  | the name of the file, for messages                         |
    """

    tag: str
    attributes: dict[str, str]
    line: int
    file: str
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, *tags: str) -> list[Element]:
        """The children with one of these tags."""
        return [child for child in self.children if child.tag in tags]

    def first(self, tag: str) -> Element | None:
        """The first child with a tag."""
        return next((child for child in self.children if child.tag == tag), None)

    def inside(self) -> Iterator[Element]:
        """All elements inside it, outer ones first."""
        waiting = list(reversed(self.children))
        while waiting:
            element = waiting.pop()
            yield element
            waiting.extend(reversed(element.children))

    def error(self, message: str) -> ModelError:
        """A mistake in it, with its line."""
        name = self.attributes.get("name", "")
        who = f"<{self.tag}>" if not name else f"<{self.tag} name='{printed_name(name[:80])}'>"
        return file_error(self.file, f"{who}: {message}", self.line)

    def get(self, attribute: str) -> str:
        """An attribute that must be there."""
        if attribute not in self.attributes:
            raise self.error(f"{attribute} is missing.{suggestion(attribute, self.attributes)}")
        if attribute == "name" and not self.attributes[attribute]:
            raise self.error("name is empty. Give it one.")
        return self.attributes[attribute]

    def number(self, attribute: str, default: float | None = None) -> float:
        """A number in an attribute."""
        if attribute not in self.attributes and default is not None:
            return default
        (number,) = self._numbers(self.get(attribute), attribute, 1)
        return number

    def vector(self, attribute: str, default: tuple[float, ...] | None = None, count: int = 3) -> tuple[float, ...]:
        """Several numbers in an attribute, separated by blanks."""
        if attribute not in self.attributes and default is not None:
            return default
        return self._numbers(self.get(attribute), attribute, count)

    def numbers(self, count: int) -> tuple[float, ...]:
        """The numbers between its tags."""
        return self._numbers(self.text, "its text", count)

    def _numbers(self, text: str, what: str, count: int) -> tuple[float, ...]:
        words = text.replace(",", " ").split()
        numbers = tuple(map(float, words)) if all(map(NUMBER.fullmatch, words)) else ()
        if len(numbers) != count or not all(map(math.isfinite, numbers)):
            wanted = "a number is" if count == 1 else f"{count} numbers are"
            raise self.error(f"{what} is '{printed_name(text.strip()[:60])}'; {wanted} expected.")
        return numbers


def read_xml(path: str | os.PathLike[str], root: str | None) -> Element:
    """The outermost element of a file, which must have the tag `root`, if one is given."""
    name = printed_name(os.fsdecode(path))
    return parse_xml(read_bytes(path, name), name, root)


def parse_xml(data: bytes, name: str, root: str | None) -> Element:
    """The outermost element of a text, of any tag if `root` is None; `name` is what errors call the file.

    Blank lines before <?xml, which XML forbids and other readers bear, are left out.
    """
    begun = data.lstrip(b" \t\r\n")
    tree = _Tree(name, data[: len(data) - len(begun)].count(b"\n"))
    try:
        tree.parser.Parse(begun, True)
    except expat.ExpatError as error:
        reason = expat.errors.messages[error.code] if error.code in expat.errors.messages else str(error)
        raise file_error(name, f"is not XML: {reason}.", error.lineno + tree.blank) from None
    except (ValueError, LookupError) as error:  # of encodings
        raise file_error(name, f"is not XML: {error}.", 1) from None
    found = tree.root
    if found is None or root not in (found.tag, None):
        said = "is empty" if found is None else f"begins with <{printed_name(found.tag[:60])}>"
        raise file_error(name, f"{said}; <{root}> is expected.", 1 if found is None else found.line)
    return found


class _Tree:
    """Collects elements as expat finds them; prefixes of names are left out."""

    def __init__(self, name: str, blank: int):
        """`blank` lines of the file come before what is parsed."""
        self.name, self.blank, self.root, self.count = name, blank, None, 0
        self.open: list[Element] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.StartDoctypeDeclHandler = self.refuse

    root: Element | None

    @property
    def line(self) -> int:
        return self.blank + self.parser.CurrentLineNumber

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        line = self.line
        if len(self.open) >= DEEPEST or self.count > MOST:
            raise file_error(self.name, f"has more than {DEEPEST} elements inside each other, or {MOST} in all.", line)
        plain = {key.rpartition(":")[2]: value for key, value in attributes.items()}
        element = Element(tag.rpartition(":")[2], plain, line, self.name)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def end(self, tag: str) -> None:
        self.open.pop()

    def characters(self, text: str) -> None:
        if self.open:
            self.open[-1].text += text

    def refuse(self, *_: object) -> None:
        message = "has a document type (<!DOCTYPE>), by which files are fetched and texts multiplied. Remove it."
        raise file_error(self.name, message, self.line)
