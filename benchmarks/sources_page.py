"""Pages of the five sources: every numbered equation, what it says in our letters, and the call that gives it.

    python benchmarks/sources_page.py            # writes docs/sources.md and docs/sources/*.md

They are made from docs/sources/*.toml, one file for each source. `tests/contract/test_sources.py` compares the pages
with these files, runs each call, and looks up every file, function and test that they name.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forward_dynamics_page import table

DOCS = Path(__file__).parents[1] / "docs"
# as in the README: the order of the rooms that follow them
SOURCES = (
    "ivanov-2022",
    "belkov-konoplev-1997",
    "rusanov-2014",
    "yudintsev-2019",
    "kaspirovich-mukharlyamov-2019",
)
KINDS = ("equation", "unnumbered", "figure", "example", "algorithm", "statement", "definition")

BEGIN = """# Equations of the five sources

Every numbered equation, figure, example and algorithm of the five works that this library is built on: what it says in
the letters of [NOTATION](../NOTATION.md), whether it stands here as printed, and the call that gives it. A number leads
to its entry, with the whole call, the code and the tests. Numbers without a letter are the paper's; ours carry one.
What was wrong in print is listed once more in [errata](theory/errata.md).

Made by `python benchmarks/sources_page.py` from the files `docs/sources/*.toml`; `tests/contract/test_sources.py` runs
every call.
"""
STATUSES = {
    "as printed": "right as it stands in the source, and in the code; a note says what it leaves open",
    "corrected": "wrong in print, or in the text at hand; the entry says what, and the code is corrected",
    "reconstructed": "lost in the text at hand, a scan: it follows from what stands around it",
    "not confirmed": "a claim that measurements here do not bear out, or only in part",
}


@dataclass(frozen=True)
class Item:
    """An equation, or whatever else of a source has an entry.

    | field  | meaning                                                                                              |
    |--------|------------------------------------------------------------------------------------------------------|
    | number | as in the source; a place where it has none                                                          |
    | name   | a few words                                                                                          |
    | says   | what it says, in our letters                                                                         |
    | status | one of STATUSES; `wrong` says what was wrong in print, or what is not known                          |
    | code   | where it is: "room/file.py: function"                                                                |
    | call   | lines of Python: the first gives it, the last is true                                                |
    | test   | what proves it: "tests/file.py: test_name"                                                           |
    | long   | whether the call takes more than a moment                                                            |
    """

    number: str
    name: str
    says: str
    status: str
    code: tuple[str, ...] = ()
    call: str = ""
    test: tuple[str, ...] = ()
    wrong: str = ""
    kind: str = "equation"
    long: bool = False

    @property
    def heading(self) -> str:
        """The heading of its entry."""
        number = f"Equation {self.number}" if self.kind == "equation" else self.number[:1].upper() + self.number[1:]
        return f"{number}: {self.name}"

    @property
    def anchor(self) -> str:
        """The anchor of its heading."""
        return re.sub(r"[^\w\- ]", "", self.heading.lower()).replace(" ", "-")


@dataclass(frozen=True)
class Source:
    """A paper or lecture with all its items.

    `sections` says how many numbered equations each section has; `slow` sources take more than a moment to set up.
    """

    key: str
    short: str
    title: str
    where: str
    theory: tuple[str, ...]
    setup: str
    items: tuple[Item, ...]
    sections: dict[str, int]
    notes: str = ""
    slow: bool = False

    @property
    def expected(self) -> list[str]:
        """The numbers of all its equations, by the counts of its sections; one section without a name: (1) to (n)."""
        return [
            f"({section}.{i})" if section else f"({i})"
            for section, count in self.sections.items()
            for i in range(1, count + 1)
        ]


def source(key: str, folder: Path = DOCS / "sources") -> Source:
    """A source as its file describes it."""
    data: dict[str, Any] = tomllib.loads((folder / f"{key}.toml").read_text(encoding="utf-8"))
    items = tuple(
        Item(**{**item, "call": item.get("call", "").strip(), "code": tuple(item["code"]), "test": tuple(item["test"])})
        for item in data.pop("item")
    )
    return Source(
        key=key, items=items, theory=tuple(data.pop("theory")), setup=data.pop("setup").strip(), **data
    )  # fmt: skip


# --- the pages ---


def index(sources: list[Source]) -> str:
    """docs/sources.md: a table for each source."""
    lines = [BEGIN, *table(["status", "meaning"], list(STATUSES.items()))]
    for one in sources:
        lines += [f"## {one.short}", "", f"{one.title}. {one.where}.", ""]
        rows = [
            [f"[{item.number}](sources/{one.key}.md#{item.anchor})", item.name, item.status, first_line(item)]
            for item in one.items
        ]
        lines += table(["no.", "what", "status", "call"], rows)
    return "\n".join(lines).rstrip() + "\n"


def first_line(item: Item) -> str:
    """The call as a table shows it; a bar in a table is escaped."""
    line = item.call.partition("\n")[0]
    return f"`{line}`".replace("|", "\\|") if line else "not callable"


def page(one: Source) -> str:
    """docs/sources/<key>.md: every item with its call, code and tests."""
    links = ", ".join(f"[{Path(name).stem}](../{name})" for name in one.theory)
    lines = [f"# {one.short}, equation by equation", "", f"{one.title}. {one.where}.", ""]
    lines += [
        *([one.notes, ""] if one.notes else []),
        f"Derivations: {links}. All five sources: [sources](../sources.md).",
        "",
    ]
    lines += [
        "Every call below begins with this, from the root of the repository:",
        "",
        "```python",
        one.setup,
        "```",
        "",
    ]
    for item in one.items:
        lines += [*entry(item), ""]
    return "\n".join(lines).rstrip() + "\n"


def entry(item: Item) -> Iterator[str]:
    """The lines of one item."""
    yield f"## {item.heading}"
    yield ""
    yield item.says
    yield ""
    yield f"*{item.status.capitalize()}*" + (f": {item.wrong}" if item.wrong else ".")
    yield ""
    if item.call:
        yield from ("```python", item.call, "```", "")
    yield " ".join(f"{word}: {places(names)}." for word, names in (("Code", item.code), ("Tests", item.test)))


def places(names: tuple[str, ...]) -> str:
    """Files with what stands in them, each file once."""
    by_file: dict[str, list[str]] = {}
    for name in names:
        path, _, what = name.partition(": ")
        by_file.setdefault(path, []).extend([f"`{what}`"] if what else [])
    return ", ".join(f"`{path}`" + (f" ({', '.join(whats)})" if whats else "") for path, whats in by_file.items())


def pages() -> dict[Path, str]:
    """Every page and its text."""
    sources = [source(key) for key in SOURCES]
    return {DOCS / "sources.md": index(sources)} | {DOCS / "sources" / f"{one.key}.md": page(one) for one in sources}


def main() -> None:
    """Write the pages."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(DOCS.parent))


if __name__ == "__main__":
    main()
