"""docs/graph.md: its commands and examples print what the page shows, and its pictures are those of its graphs."""

from __future__ import annotations

import re
import shlex
import xml.etree.ElementTree as ET
from pathlib import Path

import momentree as mt
from command_line import command

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "graph.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_commands_print_what_the_page_shows():
    shown = re.findall(r"```\n\$ momentree ([^\n]*)\n(.*?)```", TEXT, re.S)
    assert len(shown) == TEXT.count("$ momentree") >= 7
    for line, printed in shown:
        done = command(*shlex.split(line), cwd=ROOT)
        assert (done.stdout + done.stderr).rstrip() == printed.rstrip(), line


def test_examples_print_what_the_page_shows(capsys):
    examples = re.findall(r"```python\n(.*?)```\n```\n(.*?)```", TEXT, re.S)
    assert len(examples) == TEXT.count("```python\n") >= 5
    names: dict[str, object] = {}
    for code, printed in examples:
        exec(compile(code, str(PAGE), "exec"), names)  # our own text, not a user's
        assert capsys.readouterr().out.strip() == printed.strip()


def test_every_call_in_the_table_of_words_exists():
    graph = mt.Graph("0-1 1-2 1-3 3-4")
    calls = {*re.findall(r"`g\.(\w+)", TEXT)}
    assert len(calls) > 30
    assert [name for name in calls if not hasattr(graph, name)] == []
    assert all(hasattr(graph.walk("0-1"), name) for name in re.findall(r"`\.(is_\w+)`", TEXT))


def words_of(picture):
    return sorted("".join(text.itertext()) for text in ET.parse(picture).iter("{http://www.w3.org/2000/svg}text"))


def test_pictures_are_those_of_the_graphs(tmp_path):
    walker = ROOT / "examples" / "13_walking_mechanism" / "model.toml"
    made = {"graph-lecture.svg": ["--arcs", "0-1 1-2 1-3 3-4"], "graph-walk.svg": [walker, "--forces"]}
    for name, words in made.items():
        assert f"]({name})" in TEXT
        assert command("graph", *words, "--picture", tmp_path / name).returncode == 0
        assert words_of(ROOT / "docs" / name) == words_of(tmp_path / name)
