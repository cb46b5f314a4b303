"""Words of the command line that name values: each name once."""

from __future__ import annotations

import pytest
import typer

from momentree.errors import MomentreeError
from momentree.files.load import load_options
from momentree.look.command_words import named_inputs, named_numbers


def test_numbers_and_lists_by_name():
    found = named_numbers(["A=30*deg", " B = 2", "hull=0,0,1"], "--from")
    assert found == {"A": pytest.approx(0.5235987755982988), "B": 2.0, "hull": [0.0, 0.0, 1.0]}


@pytest.mark.parametrize("again", ["A=1.0", "A=2", " A =2*deg", "A=0,0,1"])
@pytest.mark.parametrize("option", ["--from", "--velocity", "--parameter"])
def test_a_name_that_is_given_twice_is_refused(option, again):
    with pytest.raises(typer.BadParameter, match=f"{option} {again}: A is given twice".replace("*", r"\*")):
        named_numbers(["A=1.0", "B=2", again], option)


def test_an_input_and_an_option_of_loading_that_are_given_twice_are_refused():
    with pytest.raises(typer.BadParameter, match="u is given twice"):
        named_inputs(["u=1", "u=2"])
    for entries in (["floating=true", "floating=false"], ["arguments=a:=1", "arguments=a:=2"]):
        with pytest.raises(MomentreeError, match="is given twice"):
            load_options(entries)
    assert load_options(["packages=a", "packages=b"]) == {"packages": ["a", "b"]}
