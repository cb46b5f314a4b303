"""HTML of notebooks and pages: every text is escaped, nothing is a script, nothing is requested from elsewhere.

`Html` is text that has been escaped. It is made only here, so that a type checker refuses names of a model, or other
texts, that are put into a page as they are.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Sequence
from typing import NewType

from momentree.look.tables import LONGEST_TABLE, shortened

Html = NewType("Html", str)
LEFT = 'style="text-align:left"'


def escaped(text: object) -> Html:
    """A text as a reader sees it: very long ones shortened, unprintable characters replaced, its direction its own."""
    shown = "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in shortened(str(text)))
    plain = html.escape(shown, quote=True).replace("\n", "<br>")
    return Html(plain if shown.isascii() else f"<bdi>{plain}</bdi>")


def html_table(headers: Sequence[str], rows: Sequence[Sequence[object]], most: int = LONGEST_TABLE) -> Html:
    """A table; of many rows, the first ones and how many more there are."""
    head = "".join(f"<th {LEFT}>{escaped(header)}</th>" for header in headers)
    lines = ["".join(f"<td {LEFT}>{escaped(cell)}</td>" for cell in row) for row in rows[:most]]
    if len(rows) > most:
        lines.append(f'<td colspan="{len(rows[0])}" {LEFT}>... and {len(rows) - most} more</td>')
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return Html(f"<table>{f'<thead><tr>{head}</tr></thead>' if headers else ''}<tbody>{body}</tbody></table>")


def html_lines(text: str) -> Html:
    """Lines of text, each a paragraph that keeps its spaces."""
    return Html("".join(f'<div style="white-space:pre-wrap">{escaped(line)}</div>' for line in text.splitlines()))


def html_warnings(messages: Iterable[str]) -> Html:
    """Messages that must not be overlooked."""
    return Html("".join(f"<div><strong>WARNING:</strong> {escaped(message)}</div>" for message in messages))


def html_picture(svg: bytes, description: str) -> Html:
    """A picture by its bytes: as an image, in which nothing can be run, and whose styles concern nothing else."""
    content = base64.b64encode(svg).decode("ascii")
    style = "max-width:100%;background:white"
    return Html(f'<img alt="{_attribute(description)}" style="{style}" src="data:image/svg+xml;base64,{content}">')


def html_page(title: str, *parts: Html) -> str:
    """The parts under a title."""
    return f'<div class="momentree"><p><strong>{escaped(title)}</strong></p>{"".join(parts)}</div>'


def _attribute(text: str) -> str:
    return html.escape("".join(c if c.isprintable() else " " for c in shortened(text)), quote=True)
