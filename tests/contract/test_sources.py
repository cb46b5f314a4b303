"""docs/sources.md and the pages of the sources: no equation is missing, every call runs, everything named exists."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from functools import reduce
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import sources_page as pages  # noqa: E402

DOCS, PACKAGE = ROOT / "docs", ROOT / "src" / "momentree"
SOURCES = [pages.source(key) for key in pages.SOURCES]
every_source = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.key)
# pages that number some displayed equations as the paper that they follow: those, and a letter for all others
OF_A_PAPER = {
    "theory/hamiltonian.md": r"1|5|6",
    "theory/programme.md": r"\d\.\d+",
    "programme.md": r"\d\.\d+",
}
DISPLAYED = re.compile(r"^    .*\s\(([\w.]+)\)$", re.MULTILINE)


@pytest.mark.parametrize("path", pages.pages(), ids=lambda path: path.name)
def test_the_page_is_what_its_file_says(path):
    assert path.read_text(encoding="utf-8") == pages.pages()[path], "run: python benchmarks/sources_page.py"


@every_source
def test_no_equation_is_missing(source):
    numbered = [item.number for item in source.items if item.kind == "equation"]
    assert numbered == source.expected
    assert len({item.number for item in source.items}) == len(source.items)
    assert len({item.anchor for item in source.items}) == len(source.items)


def test_how_many_there_are():
    assert [len(source.expected) for source in SOURCES] == [12, 20, 13, 0, 37]


@every_source
def test_every_item_is_whole(source):
    for item in source.items:
        assert item.kind in pages.KINDS, item.number
        assert item.status in pages.STATUSES, item.number
        assert item.status == "as printed" or item.wrong, f"{item.number}: what is wrong?"
        assert item.code, f"{item.number}: where is it?"
        assert item.test, f"{item.number}: what proves it?"
        assert item.call, f"{item.number}: which call gives it?"


@every_source
def test_every_function_exists(source):
    for item in source.items:
        for place in item.code:
            path, _, name = place.partition(": ")
            module = importlib.import_module("momentree." + path.removesuffix(".py").replace("/", "."))
            reduce(getattr, name.split(".") if name else [], module)
            text = (PACKAGE / path).read_text(encoding="utf-8")
            *_, last = name.split(".")
            assert not name or re.search(rf"^ *(def|class) {last}\b|^ *{last}\b.* = ", text, re.MULTILINE), place


@every_source
def test_every_test_exists(source):
    for item in source.items:
        for place in item.test:
            path, _, name = place.partition(": ")
            text = (ROOT / path).read_text(encoding="utf-8")
            assert not name or f"def {name}(" in text, f"{item.number}: {place}"


# --- calls ---


def run_calls(source, items, monkeypatch):
    """Every call in a copy of the names that the page begins with; its last line must be true."""
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    exec(compile(source.setup, source.key, "exec"), names)  # our own text, not a user's
    for item in items:
        where = f"{source.short} {item.number}"
        *first, last = ast.parse(item.call, where).body
        assert isinstance(last, ast.Expr), f"{where}: the last line is no expression"
        here = dict(names)
        exec(compile(ast.Module(first, []), where, "exec"), here)
        assert eval(compile(ast.Expression(last.value), where, "eval"), here), f"{where}: the last line is not true"


@pytest.mark.parametrize("source", [x for x in SOURCES if not x.slow], ids=lambda source: source.key)
def test_the_calls_run(source, monkeypatch):
    run_calls(source, [item for item in source.items if not item.long], monkeypatch)


@every_source
@pytest.mark.long
def test_the_slower_calls_run(source, monkeypatch):
    run_calls(source, [item for item in source.items if item.long or source.slow], monkeypatch)


# --- numbers ---


def test_equations_of_our_pages_carry_a_letter():
    found = 0
    for path in sorted(DOCS.rglob("*.md")):
        page = path.relative_to(DOCS).as_posix()
        for number in DISPLAYED.findall(path.read_text(encoding="utf-8")):
            found += 1
            of_a_paper = page in OF_A_PAPER and re.fullmatch(OF_A_PAPER[page], number)
            assert of_a_paper or re.fullmatch(r"[A-Z]\d+[a-d]?", number), f"{page}: ({number})"
    assert found > 80


def test_pages_have_letters_of_their_own():
    letters: dict[str, set[str]] = {}
    for path in sorted(DOCS.rglob("*.md")):
        for number in DISPLAYED.findall(path.read_text(encoding="utf-8")):
            if number[0].isalpha():
                letters.setdefault(number[0], set()).add(path.name)
    shared = {letter: names for letter, names in letters.items() if len(names) > 1}
    assert not shared


def listed(text: str) -> set[str]:
    """The numbers of equations that a text names, ranges such as (3.2)-(3.5) and (2) to (4) included."""
    numbers = set(re.findall(r"\((\d+(?:\.\d+)?)\)", text))
    for begin, first, end, last in re.findall(r"\((\d+\.)?(\d+)\)(?:-| to )\((\d+\.)?(\d+)\)", text):
        if begin == end:
            numbers |= {f"{begin}{i}" for i in range(int(first), int(last) + 1)}
    return numbers


@every_source
def test_every_correction_is_among_the_errata(source):
    errata = (DOCS / "theory" / "errata.md").read_text(encoding="utf-8")
    section = re.split(rf"^## {re.escape(source.short)}$", errata, flags=re.MULTILINE)[1]
    named = listed(re.split(r"^## ", section, flags=re.MULTILINE)[0])
    equations = [item for item in source.items if item.kind == "equation"]
    corrected = {item.number.strip("()") for item in equations if item.status == "corrected"}
    assert corrected <= named, corrected - named
