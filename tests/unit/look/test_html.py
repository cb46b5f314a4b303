"""HTML of pages: what is put in comes out of a parser as text, whatever it is."""

from __future__ import annotations

import base64
from html.parser import HTMLParser

import pytest

from momentree.look.html import escaped, html_lines, html_page, html_picture, html_table, html_warnings


class Parsed(HTMLParser):
    """Tags, attributes and texts in order."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self.attributes = [], [], {}
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes |= dict(attributes)

    def handle_data(self, data):
        self.texts.append(data)


@pytest.mark.parametrize("text", ["<b>", "&lt;", '"', "'", "a < b & c > d", "</td></table>", "שלום"])
def test_any_text_reads_back_as_it_was(text):
    for page in (
        escaped(text),
        html_table(("x",), [(text,)]),
        html_lines(text),
        html_page(text),
        html_warnings([text]),
    ):
        parsed = Parsed(page)
        assert text in "".join(parsed.texts)
        assert {*parsed.tags} <= {"table", "thead", "tbody", "tr", "th", "td", "div", "p", "strong", "bdi"}


def test_text_of_another_direction_does_not_turn_its_neighbors():
    assert escaped("שלום") == "<bdi>שלום</bdi>"
    assert escaped("plain") == "plain"


def test_what_cannot_be_printed_is_replaced_and_what_is_long_is_shortened():
    assert escaped("a\x00b\u202ec") == "<bdi>a\ufffdb\ufffdc</bdi>"
    assert escaped("two\nlines") == "two<br>lines"
    assert len(escaped("x" * 10_000)) < 600


def test_long_tables_say_how_much_is_left_out():
    page = html_table(("a", "b"), [("1", "2")] * 100, most=10)
    assert page.count("<tr>") == 12
    assert "... and 90 more" in page


def test_a_picture_is_an_image_by_itself():
    parsed = Parsed(html_picture(b"<svg/>", 'a "picture" <of>'))
    assert parsed.tags == ["img"]
    assert parsed.attributes["alt"] == 'a "picture" <of>'
    kind, content = parsed.attributes["src"].split(",")
    assert kind == "data:image/svg+xml;base64"
    assert base64.b64decode(content) == b"<svg/>"
