"""docs/studies.md: its examples run in order and print what the page shows, and its file is a study."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import momentree as mt
from momentree.analyse.studies.reductions import REDUCTIONS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "studies.md"
EXAMPLE = re.compile(r"```python\n(.*?)```\n```\n(.*?)```", re.S)


def test_the_examples_of_the_page_print_what_it_shows(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "examples" / "26_ten_thousand_four_bars" / "model.toml", "four-bar.toml")
    text = PAGE.read_text(encoding="utf-8")
    examples = EXAMPLE.findall(text)
    assert len(examples) == text.count("```python\n") == 5
    names: dict[str, object] = {}
    for code, printed in examples:
        exec(compile(code, str(PAGE), "exec"), names)  # our own text, not a user's
        assert capsys.readouterr().out.replace(f"{tmp_path}/", "").strip() == printed.strip()
    (written,) = re.findall(r"```toml\n(.*?)```", text, re.S)
    Path("study.toml").write_text(f'model = "four-bar.toml"\n{written}', encoding="utf-8")
    study = mt.load_study("study.toml")
    assert (len(study), study.design.names, study.path) == (20, ("a", "b"), tmp_path / "tolerances.zarr")


def test_the_page_lists_all_reductions():
    listed = re.findall(r"^\| `([a-z_ ]+)` +\|", PAGE.read_text(encoding="utf-8"), re.M)
    assert {word for words in listed for word in words.split()} >= {*REDUCTIONS}
