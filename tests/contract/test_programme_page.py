"""docs/programme.md: its examples run in order and print what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import momentree as mt

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


def arguments() -> list[str]:
    """The examples in the table of arguments that give some by name."""
    table = PAGE.read_text(encoding="utf-8").partition("| argument ")[2].partition("\n\n")[0]
    cells = [line.split(" | ")[-1].removesuffix("|").strip() for line in table.splitlines()[2:]]
    return [example for cell in cells for example in re.findall(r"`(\w+=[^`]*)`", cell)]


@pytest.mark.parametrize("example", arguments())
def test_the_examples_of_arguments_can_be_given(example):
    given = eval(f"dict({example})")  # our own text, not a user's
    if not given.keys() & {"velocity", "completion", "null_space", "wanted"}:
        given["velocity"] = {"x": "cos(phi)", "y": "sin(phi)", "phi": 1}
    if "wanted" in given:
        assert mt.programme("x y", ["x^2 + y^2 = 1"], **given).coordinates == ("x", "y")
        return
    if not given.keys() & {"dissipation", "potential", "gain"}:
        given["gain"] = 1
    given["parameters"] = {"v": 1, "w": 2} | given.get("parameters", {})
    programme = mt.programme("x y phi", ["x'*sin(phi) = y'*cos(phi)"], **given)
    assert abs(programme.accelerations([0.1, 0.2, 0.3], [1, 2, 3], 0.5)).max() < 100


def test_every_argument_has_its_row():
    import inspect

    page = PAGE.read_text(encoding="utf-8")
    for name in inspect.signature(mt.programme).parameters:
        assert name == "name" or f"`{name}`" in page, name
