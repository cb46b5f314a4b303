"""docs/gradients.md: its examples run in order and print what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from momentree.compile.trace.functions import FUNCTIONS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "gradients.md"
EXAMPLE = re.compile(r"```python\n(.*?)```\n```\n(.*?)```", re.S)


def test_the_examples_of_the_page_print_what_it_shows(capsys, monkeypatch):
    jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'momentree[jax]'")
    pytest.importorskip("casadi", reason="CasADi is not installed: pip install 'momentree[casadi]'")
    monkeypatch.chdir(ROOT)
    text = PAGE.read_text(encoding="utf-8")
    examples = EXAMPLE.findall(text)
    assert len(examples) == text.count("```python\n") == 6
    names: dict[str, object] = {}
    try:
        for code, printed in examples:
            exec(compile(code, str(PAGE), "exec"), names)  # our own text, not a user's
            assert capsys.readouterr().out.splitlines()[-1] == printed.strip()
    finally:
        jax.config.update("jax_enable_x64", False)


def test_the_page_names_functions_that_there_are():
    table = PAGE.read_text(encoding="utf-8").partition("## Functions")[2].partition("## What")[0]
    named = re.findall(r"`(\w+)`", table)
    assert set(named) <= set(FUNCTIONS)
    assert {name for name in FUNCTIONS if name not in named} <= {
        "aggregative_matrix", "coriolis_forces", "generalized_forces", "generalized_momenta",
    }  # fmt: skip
