"""XML text: any parser reads back the names and the numbers that were written."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from momentree.files.robot_xml import parse_xml
from momentree.files.xml_text import Tag, digits

NAMES = st.text(st.characters(exclude_categories=("Cc", "Cs", "Cn", "Co"), include_characters="\n\t"), max_size=20)


@given(NAMES, NAMES)
def test_parsers_read_back_any_text(name, text):
    root = Tag("robot", {"name": name})
    root.add("link", text, name=name, left_out=None)
    document = root.document()
    there = ElementTree.fromstring(document.encode())
    assert there.attrib == {"name": name}
    assert there[0].attrib == {"name": name}
    assert (there[0].text or "") == text
    assert parse_xml(document.encode(), "x", "robot").attributes["name"] == name


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=4))
def test_numbers_have_all_their_digits(numbers):
    assert [float(word) for word in digits(*numbers).split()] == numbers


def test_numbers_are_readable():
    assert digits(1, 0.1, -0.0, 1e-7, math.pi, -3.0) == "1 0.1 0 1e-07 3.141592653589793 -3"


def test_elements_are_indented_and_in_order():
    root = Tag("a")
    root.add("b", x="1").add("c", "text")
    root.add("d")
    body = "".join(root.document().splitlines(keepends=True)[1:])
    assert body == '<a>\n  <b x="1">\n    <c>text</c>\n  </b>\n  <d/>\n</a>\n'
    assert [tag.tag for name in "abcd" for tag in root.inside(name)] == [*"abcd"]


@pytest.mark.parametrize("depth", [5000])
def test_deep_elements_are_no_problem(depth):
    inner = root = Tag("a")
    for _ in range(depth):
        inner = inner.add("a")
    assert root.document().count("<a") == depth + 1
