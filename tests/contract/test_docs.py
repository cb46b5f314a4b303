"""The pages: every link leads somewhere, every file that they name exists, and every name can be imported."""

from __future__ import annotations

import dataclasses
import importlib
import re
from pathlib import Path

import pytest

import momentree
from momentree.assembly.state import State
from momentree.results.run import Run
from momentree.system import System

PACKAGE = Path(momentree.__file__).parent
ROOT = Path(__file__).parents[2]
PAGES = [ROOT / name for name in ("README.md", "NOTATION.md", "CONTRIBUTING.md")]
PAGES += sorted(page for folder in ("docs", "examples", "benchmarks") for page in (ROOT / folder).rglob("*.md"))
CODE = ("src", "tests", "examples", "benchmarks")
FOLDERS = {*CODE, "docs", *(path.name for path in PACKAGE.iterdir() if path.is_dir())}
FILE_NAMES = {path.name for folder in CODE for path in (ROOT / folder).rglob("*.py")}
FORMALISMS = [
    "aggregative",
    "articulated",
    "forces",
    "hamiltonian",
    "kinematics",
    "lagrange",
    "loops",
]  # in `equations/`
TESTS = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
FENCE = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
# what pages mean by these names
CLASSES: dict[str, type] = {"System": System, "system": System, "Run": Run, "run": Run}
CLASSES |= {"State": State, "state": State}
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def prose(page: Path) -> str:
    """The text of a page without its blocks of code."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def quoted(page: Path, pattern: str) -> list[str]:
    """What stands in backquotes on a page and begins like the pattern."""
    return [match[1] for match in re.finditer(rf"(?<!`)`({pattern})[^`]*`(?!`)", prose(page))]


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page: lower case, without punctuation, hyphens for spaces."""
    headings = re.findall(r"^#+ +(.+?) *$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@every_page
def test_every_link_leads_to_a_file_and_to_a_heading_in_it(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        linked = (page.parent / name).resolve() if name else page
        assert linked.exists(), f"{target} does not exist"
        assert not anchor or anchor in anchors(linked), f"{target}: no such heading. Choose one of {anchors(linked)}."


@every_page
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    created = re.findall(r"\bfile=(\S+)", page.read_text(encoding="utf-8"))  # by a recipe of this page
    for name in quoted(page, r"(?:python )?[\w./-]+\.py\b"):
        name = name.removeprefix("python ")
        if any(path.endswith(name) for path in created):
            continue
        if "/" not in name:
            assert name in FILE_NAMES, f"no file is called {name}"
        elif name.partition("/")[0] in FOLDERS:
            assert any((root / name).exists() for root in (ROOT, PACKAGE)), f"{name} does not exist"


@every_page
def test_every_dotted_name_of_the_package_can_be_imported(page: Path) -> None:
    names = quoted(page, r"(?:momentree|mt)(?:\.[a-zA-Z]\w*)+")
    names += [
        f"momentree.equations.{name}" for name in quoted(page, rf"(?:{'|'.join(FORMALISMS)})(?:\.(?!py\b)[a-z]\w*)+\b")
    ]
    for name in names:
        if f"class {name.rpartition('.')[2]}(" in page.read_text(encoding="utf-8"):  # by a recipe of this page
            continue
        path = "momentree"
        value: object = momentree
        for part in name.split(".")[1:]:
            path += f".{part}"
            value = getattr(value, part) if hasattr(value, part) else importlib.import_module(path)


@every_page
def test_every_method_that_a_page_names_exists(page: Path) -> None:
    for name in quoted(page, rf"(?:{'|'.join(CLASSES)})\.[a-z]\w*\b"):
        owner, _, attribute = name.partition(".")
        cls = CLASSES[owner]
        fields = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
        if attribute not in ("nc", "toml", "py", "svg"):  # a file called run or model
            assert hasattr(cls, attribute) or attribute in fields, f"{cls.__name__} has no {attribute}"


@every_page
def test_every_test_that_a_page_names_exists(page: Path) -> None:
    for name in quoted(page, r"test_\w+\b(?!\.py)"):
        assert f"def {name}(" in TESTS, f"no test is called {name}"
