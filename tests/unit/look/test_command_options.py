"""Words of all commands: values of plain types are what Typer makes of them, and so is what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
import typer

from command_line import command
from momentree.look.command_options import Command

ONE = Annotated[float | None, typer.Option("--one")]
WHOLE = Annotated[int | None, typer.Option("--whole")]
MANY = Annotated[list[int] | None, typer.Option("--many")]
WORDS = Annotated[list[str] | None, typer.Option("--word")]
FLAG = Annotated[bool, typer.Option("--flag")]
NAME = Annotated[str, typer.Option("--name")]
FILES = Annotated[list[Path], typer.Argument()]
LINES = [
    "file",
    "one two --one 1e-3 --whole -3 --many 1 --many 2 --word a --word b --flag --name x",
    "file --one inf --name=",
    "'' --one 1_0 --word=",
    "",  # the file is missing
    "file --one 1,5",
    "file --one",
    "file --whole 1.5",
    "file --whole 2.0",
    "file --many 1 --many x",
    "file --flag=x",
    "--help",
]


def taken(line: str, cls: Any, capsys: pytest.CaptureFixture[str]) -> tuple[Any, str]:
    """The values that a command gets, and what is printed."""
    got: list[Any] = []
    app = typer.Typer(add_completion=False, rich_markup_mode=None)

    @app.command(cls=cls, epilog="x")
    def run(
        files: FILES, one: ONE = None, whole: WHOLE = None, many: MANY = None, word: WORDS = None, flag: FLAG = False,
        name: NAME = "no",
    ) -> None:  # fmt: skip
        got.append((files, one, whole, many, word, flag, name))

    try:
        app([word.strip("'") for word in line.split()], standalone_mode=True)
    except SystemExit as end:
        got.append(end.code)
    said = capsys.readouterr()
    return got, said.out + said.err


@pytest.mark.parametrize("line", LINES)
def test_values_and_refusals_are_those_of_typer(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    got, said = taken(line, Command, capsys)
    expected, told = taken(line, typer.core.TyperCommand, capsys)
    assert repr(got) == repr(expected)
    if "--help" not in line:  # which ends with how files are loaded
        assert said == told


def test_old_names_of_options_are_answered_with_the_new_ones() -> None:
    done = command("run", "model.toml", "--closure", "none")
    assert done.returncode == 2
    assert "--closure is now called --stabilization" in done.stderr
