"""The page of quantities: its examples run as they are printed, and every call in its tables exists."""

from __future__ import annotations

import doctest
from pathlib import Path

import momentree as mt
from momentree.analyse.system_quantities import SystemQuantities
from momentree.look.system_views import SystemViews

PAGE = Path(__file__).parents[3] / "docs" / "quantities.md"


def test_the_examples_of_the_page_run():
    flags = doctest.NORMALIZE_WHITESPACE
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags, encoding="utf-8")
    assert tried > 30
    assert not failed


def test_the_page_has_every_quantity():
    page = PAGE.read_text(encoding="utf-8")
    public = [name for name in vars(SystemQuantities) if not name.startswith("_")]
    assert [name for name in public if f"`system.{name}" not in page] == []
    assert len(public) > 15


def test_names_collide_with_nothing_that_a_system_has():
    own = {name for name in vars(SystemQuantities) if not name.startswith("__")}
    assert not own & {*vars(mt.System)}
    assert not own & {*vars(SystemViews)}
