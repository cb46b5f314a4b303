"""HTML of notebooks, reports and pages: every text is escaped, and nothing is requested from elsewhere.

Nothing is a script, but for pages that play in a frame of their own, which can reach nothing outside it. `Html` is text
that has been escaped. It is made only here, so that a type checker refuses names of a model, or other
texts, that are put into a page as they are.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Sequence
from typing import NamedTuple, NewType
from urllib.parse import quote

from momentree.look.tables import LONGEST_TABLE, shortened

Html = NewType("Html", str)
LEFT = 'style="text-align:left"'
LONGEST_CODE = 300_000  # characters of a file that are shown
# what a page and the frames in it may load: what they hold themselves
POLICY = (
    "default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; font-src data: blob:; media-src data: blob:; "
    "script-src 'unsafe-inline' 'unsafe-eval' blob:; worker-src blob:; connect-src data: blob:"
)


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


def html_picture(content: bytes, description: str, kind: str = "svg+xml") -> Html:
    """A picture by its bytes: as an image, in which nothing can be run, and whose styles concern nothing else."""
    text = base64.b64encode(content).decode("ascii")
    style = "max-width:100%;background:white"
    return Html(f'<img alt="{_attribute(description)}" style="{style}" src="data:image/{kind};base64,{text}">')


def html_frame(page: str, description: str) -> Html:
    """A page in a frame of its own, loaded when it comes into view; its scripts reach neither this page nor files."""
    style = "width:100%;aspect-ratio:16/9;border:0"
    how = f'sandbox="allow-scripts" loading="lazy" style="{style}"'
    return Html(f'<iframe title="{_attribute(description)}" {how} srcdoc="{html.escape(page, quote=True)}"></iframe>')


def html_page(title: str, *parts: Html) -> str:
    """The parts under a title."""
    return f'<div class="momentree"><p><strong>{escaped(title)}</strong></p>{"".join(parts)}</div>'


def html_code(text: str, most: int = LONGEST_CODE) -> Html:
    """A file as it is, line by line; of a very long one, the beginning."""
    shown = "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text[:most])
    more = f"\n... and {len(text) - most} characters more" if len(text) > most else ""
    return Html(f"<pre>{html.escape(shown + more, quote=True)}</pre>")


# --- a page of its own ---


class Section(NamedTuple):
    """A part of a page, with the name by which it is found at the top."""

    name: str
    parts: Sequence[Html]


def html_figure(picture: Html, caption: str) -> Html:
    """A picture, a table or a player with what it shows below it."""
    return Html(f"<figure>{picture}<figcaption>{escaped(caption)}</figcaption></figure>")


def html_facts(facts: Iterable[tuple[str, str]]) -> Html:
    """Numbers that are seen first, each with its name."""
    cells = "".join(f"<div><dt>{escaped(name)}</dt><dd>{escaped(value)}</dd></div>" for name, value in facts)
    return Html(f'<dl class="facts">{cells}</dl>')


def html_note(text: str, kind: str = "note") -> Html:
    """A sentence that stands out: "note", "good" or "bad"."""
    return Html(f'<p class="{_attribute(kind)}">{escaped(text)}</p>')


def html_folded(name: str, *parts: Html) -> Html:
    """Parts that are shown where the reader asks for them."""
    return Html(f"<details><summary>{escaped(name)}</summary>{''.join(parts)}</details>")


def html_pair(*parts: Html) -> Html:
    """Parts side by side where there is room."""
    return Html(f'<div class="pair">{"".join(parts)}</div>')


def html_wide(part: Html) -> Html:
    """A part that is scrolled sideways where the screen is narrower than it."""
    return Html(f'<div class="wide">{part}</div>')


def html_links(pages: Iterable[tuple[str, str]]) -> Html:
    """Links to other pages in the same folder: what each shows, and its file."""
    links = "".join(f'<li><a href="./{_attribute(quote(file))}">{escaped(name)}</a></li>' for name, file in pages)
    return Html(f"<ul>{links}</ul>")


def html_document(title: str, style: str, top: Sequence[Html], sections: Sequence[Section], end: str) -> str:
    """A page for a file: the title, what stands at the top, the sections with links to them, and a last line.

    The browser is told to ask nobody for anything.
    """
    links = "".join(f'<a href="#s{i}">{escaped(section.name)}</a>' for i, section in enumerate(sections, 1))
    body = "".join(
        f'<section id="s{i}"><h2>{escaped(section.name)}</h2>{"".join(section.parts)}</section>'
        for i, section in enumerate(sections, 1)
    )
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{html.escape(_plain(title))}</title><style>{style}</style>"
    )
    parts = f"<header><h1>{escaped(title)}</h1>{''.join(top)}</header><nav>{links}</nav><main>{body}</main>"
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}</head>'
        f"<body>{parts}<footer>{escaped(end)}</footer></body></html>\n"
    )


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in shortened(text))


def _attribute(text: str) -> str:
    return html.escape(_plain(text), quote=True)
