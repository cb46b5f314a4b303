"""Files that describe a graph: a model, or arcs alone, as text (0-1 1-2 1-3) or in TOML (arcs = "0-1 1-2 1-3")."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from momentree.errors import GraphError, suggestion
from momentree.files.toml_reader import Document, parse_document, read_text
from momentree.structure.arc_text import checked_words, read_arcs
from momentree.structure.graph import Graph

if TYPE_CHECKING:
    from momentree.structure.structure import Structure
    from momentree.system import System

KEYS = ("name", "arcs")  # of a TOML file of arcs
TOML = re.compile(r"^\s*(\[|[\w\"'.-]+\s*=)", re.MULTILINE)  # a table or a key, which no arc looks like


def graph_of_file(file: Path, build: Callable[[Path], System]) -> Graph | Structure:
    """The graph of arcs that a file lists, or the structure of the model in it."""
    text = read_text(file)
    if file.suffix.lower() != ".toml" and not TOML.search(text):
        return Graph(read_arcs(text, str(file)))
    document = parse_document(text, str(file))
    if "arcs" not in document.data:
        return build(file).structure
    return Graph(_arcs(document, str(file)))


def _arcs(document: Document, place: str) -> list[tuple[int, int]]:
    """The arcs of a TOML file: a text, or a list of pairs or of texts."""
    for key in document.data:
        if key not in KEYS:
            raise GraphError(f"{place}:{document.line((key,))}: unknown key '{key}'.{suggestion(key, KEYS)}")
    given = document.data["arcs"]
    if isinstance(given, str):
        return read_arcs(given, f"{place}: arcs")
    if not isinstance(given, list):
        how = 'Write arcs = "0-1 1-2" or arcs = [[0, 1], [1, 2]]'
        raise GraphError(f"{place}:{document.line(('arcs',))}: arcs are neither a text nor a list. {how}.")
    words = []
    for i, entry in enumerate(given):
        pair = isinstance(entry, list) and len(entry) == 2
        word = f"{entry[0]}-{entry[1]}" if pair else entry if isinstance(entry, str) else repr(entry)
        words.append((f"{place}:{document.line(('arcs', i))}", word))
    return checked_words(words, place)
