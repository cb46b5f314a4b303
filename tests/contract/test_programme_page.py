"""docs/programme.md: its examples run in order and print what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "programme.md"
EXAMPLE = re.compile(r"```python\n(.*?)```\n```\n(.*?)```", re.S)
# places of equal minima, round-off, and how often something was halved: they may differ between machines
VARIES = (
    r"(?<== )-?[\d.]+(e[+-]\d+)?",
    r"-?\d[\d.]*e-\d+",
    r"\d+(?= (boxes|points|samples))",
    r"(?<=at least )[\d.]+(?= 1/s, proven)",
    r"-?0\.677",
)


def lasting(text: str) -> str:
    for pattern in VARIES:
        text = re.sub(pattern, "#", text)
    return text.strip()


def test_the_examples_of_the_page_print_what_it_shows(capsys):
    text = PAGE.read_text(encoding="utf-8")
    examples = EXAMPLE.findall(text)
    assert len(examples) == text.count("```python\n") >= 13
    names: dict[str, object] = {}
    for code, printed in examples:
        exec(compile(code, str(PAGE), "exec"), names)  # our own text, not a user's
        assert lasting(capsys.readouterr().out) == lasting(printed)
