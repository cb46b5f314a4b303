"""Reader of TOML: text to a plain dict, with the line of every key and every array element.

The values come from tomllib; the lines, which tomllib does not tell, come from a second walk over the same text.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any

from momentree.errors import ModelError
from momentree.files.model_bytes import file_error, printed_name, read_bytes

DEEPEST = 50  # parts of a path such as ("joint", 3, "axis")

TomlPath = tuple[str | int, ...]


@dataclass(frozen=True)
class Document:
    """The contents of a TOML text, with lines.

    | field | meaning                                                                              |
    |-------|--------------------------------------------------------------------------------------|
    | data  | the values, as tomllib gives them                                                    |
    | text  | what they were read from                                                             |
    """

    data: dict[str, Any]
    text: str

    @cached_property
    def lines(self) -> Mapping[TomlPath, int]:
        """1-based line of every key and array element; ("joint", 3, "axis") is in [[joint]] no. 4.

        Found only when asked for: a model without mistakes needs no lines.
        """
        return _scan(self.text)

    def line(self, path: Sequence[str | int]) -> int | None:
        """The line of the path or, where that is missing, of what should hold it; None for the whole text."""
        path = tuple(path)
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)


def read_document(path: str | os.PathLike[str]) -> Document:
    """The document in a file; whatever is wrong with the file is a ModelError with one problem."""
    return parse_document(read_text(path), printed_name(os.fsdecode(path)))


def read_text(path: str | os.PathLike[str]) -> str:
    """The text in a file."""
    name = printed_name(os.fsdecode(path))
    data = read_bytes(path, name)
    nul = data.find(b"\0")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise file_error(name, "is UTF-16 text. Save it as UTF-8.")
    if nul >= 0:
        line = data.count(b"\n", 0, nul) + 1
        raise file_error(name, f"is binary (a NUL at byte {nul}), or UTF-16. A model file is UTF-8 text.", line)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        wrong = f"0x{data[error.start]:02x} at byte {error.start}"
        raise file_error(name, f"is not UTF-8 text ({wrong}). Save it as UTF-8.", line) from None


def parse_document(text: str, name: str = "") -> Document:
    """The document in a text; `name` is what its errors call it."""
    text = text.removeprefix("\ufeff")
    if all(token == "\n" for _, token in _tokens(text)):
        raise file_error(name, "is empty: there is no model in it.")
    # before tomllib, whose recursion and whose time (quadratic in dots) depend on the nesting
    if (line := _deep_line(text)) is not None:
        raise file_error(name, _too_deep() + _other_format(text), line)
    try:
        data = tomllib.loads(text)
    except ValueError as error:  # TOMLDecodeError, or an integer of thousands of digits
        raise _syntax_error(error, text, name) from None
    document = Document(data, text)
    if _depth(data) > DEEPEST:
        raise file_error(name, _too_deep(), document.lines[max(document.lines, key=len)])
    return document


def _depth(data: dict[str, Any]) -> int:
    """How many keys and indices lead to the deepest value."""
    level: list[Any] = [data]
    depth = 0
    while inside := [part for thing in level for part in (thing.values() if isinstance(thing, dict) else thing)]:
        depth += 1
        level = [part for part in inside if isinstance(part, dict | list)]
    return depth


# what is wrong ----------------------------------------------------------------------------------------------------


def _syntax_error(error: ValueError, text: str, name: str) -> ModelError:
    """What tomllib says, with the line it speaks of."""
    reason, _, where = str(error).partition(" (at ")
    line: int | None = getattr(error, "lineno", None)  # since Python 3.14
    column: int | None = getattr(error, "colno", None)
    if match := re.match(r"line (\d+), column (\d+)", where):
        line, column = int(match[1]), int(match[2])
    elif where.startswith("end of document"):
        line, column = text.rstrip().count("\n") + 1, None
    quote = "" if line is None else _quote(text.split("\n")[line - 1], column)
    return file_error(name, f"is not TOML: {reason}{quote}.{_other_format(text)}", line)


def _quote(line: str, column: int | None) -> str:
    """The line, or 60 characters of it around the column."""
    start = 0 if column is None else max(0, column - 30)
    part = printed_name(line[start : start + 60].strip())
    shown = f"{'...' if start else ''}{part}{'...' if len(line.rstrip()) > start + 60 else ''}"
    if column is None:
        return f", at the end of the text, after `{shown}`"
    return f", at column {column} of `{shown}`" if part else f", at column {column}"


def _other_format(text: str) -> str:
    """A kind word for a text that was never meant to be TOML; judged by its first line that says something."""
    first = re.search(r"^[ \t]*([^#\s][^\n]{,200})", text, re.MULTILINE)
    head = first[1].strip() if first else ""
    if head.startswith("<"):
        kinds = {"<robot": "URDF (XML)", "<mujoco": "MJCF (XML)", "<sdf": "SDF (XML)"}
        kind = next((kinds[tag] for tag in kinds if tag in text), "XML")
        if kind.startswith("URDF"):
            return f" It looks like {kind}; let its name end in .urdf."
    elif re.match(r"\{|\[+\s*(\{|$|[^\]]*,)", head):
        kind = "JSON"
    elif re.match(r"---\s*$|%YAML|-\s|[^\s=\"'\[]+:(\s|$)", head):
        kind = "YAML"
    else:
        return ""
    return f" It looks like {kind}; a model file is TOML, with lines such as `mass = 2.0`."


def _too_deep() -> str:
    return f"is nested too deeply: more than {DEEPEST} levels."


# the lines --------------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r"""\n|\#[^\n]*|[\[\]{},=.]|["']|[^\s\[\]{},=.#"']+""")
_STRING_STOPS = {
    '"""': re.compile(r'\\.|"{3,5}', re.DOTALL),  # up to two quotes may touch the closing three
    "'''": re.compile(r"'{3,5}"),
    '"': re.compile(r'\\.|"', re.DOTALL),
    "'": re.compile(r"'"),
}


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of every newline, sign of punctuation, string and bare word; comments are omitted."""
    line, position = 1, 0
    while match := _TOKEN.search(text, position):
        token, position = match[0], match.end()
        if token in ('"', "'"):
            position = _string_end(text, match.start())
            token = text[match.start() : position]
        if token[0] != "#":
            yield line, token
        line += token.count("\n")


def _string_end(text: str, start: int) -> int:
    fence = next(fence for fence in _STRING_STOPS if text.startswith(fence, start))
    for stop in _STRING_STOPS[fence].finditer(text, start + len(fence)):
        if stop[0][0] != "\\":
            return stop.end()
    return len(text)  # never closed, as tomllib will say


def _deep_line(text: str) -> int | None:
    """The line where brackets or dotted keys nest deeper than DEEPEST; for any text, TOML or not."""
    brackets = dots = 0
    for line, token in _tokens(text):
        brackets += (token in ("[", "{")) - (token in ("]", "}"))
        dots = 0 if token in ("\n", "=", ",") else dots + (token == ".")
        if max(brackets, dots) > DEEPEST:
            return line
    return None


def _scan(text: str) -> dict[TomlPath, int]:
    """The line of every path in a valid TOML text, in one walk over its tokens."""
    lines: dict[TomlPath, int] = {}
    counts: dict[TomlPath, int] = {}  # items so far of each array of tables
    nest: list[tuple[TomlPath, bool]] = [((), False)]  # the table, and the values open in it: path, is it an array
    index: list[int] = [0]  # of the next element, for each of nest
    key: list[str] = []
    path: TomlPath = ()
    expected = "key"  # or "value", "element" (a value in an array), or "end" (of what is being read)
    tokens = _tokens(text)
    for line, token in tokens:
        if token == "\n":
            if len(nest) == 1:
                key, expected = [], "key"
        elif token in ("]", "}"):
            nest.pop()
            index.pop()
            expected = "end"
        elif token == ",":
            index[-1] += 1
            key, expected = [], "element" if nest[-1][1] else "key"
        elif expected == "key" and token == "[":
            header = [part for _, part in takewhile(lambda pair: pair[1] != "\n", tokens)]
            nest = [(_open_table(header, line, lines, counts), False)]
        elif expected == "key" and token == "=":
            path = nest[-1][0]
            for part in key:
                path = (*path, part)
                lines.setdefault(path, line)
            expected = "value"
        elif expected == "key" and token != ".":
            key.append(_key_part(token))
        elif expected in ("value", "element"):
            if expected == "element":
                path = (*nest[-1][0], index[-1])
                lines[path] = line
            expected = "end"
            if token in ("[", "{"):
                nest.append((path, token == "["))
                index.append(0)
                key, expected = [], "element" if token == "[" else "key"
    return lines


def _open_table(header: list[str], line: int, lines: dict[TomlPath, int], counts: dict[TomlPath, int]) -> TomlPath:
    """The path of the table that a header opens; `header` is what follows its first bracket."""
    names = [_key_part(token) for token in header if token not in ("[", "]", ".")]
    path: TomlPath = ()
    for depth, name in enumerate(names, start=1):
        path = (*path, name)
        lines.setdefault(path, line)
        if header[0] == "[" and depth == len(names):
            counts[path] = counts.get(path, 0) + 1
        # a name within the path that is an array of tables means its last item
        if path in counts:
            path = (*path, counts[path] - 1)
    lines[path] = line  # [a] is where a stands, also when [a.b] came before
    return path


def _key_part(token: str) -> str:
    return next(iter(tomllib.loads(f"{token} = 0"))) if token[0] in "\"'" else token
