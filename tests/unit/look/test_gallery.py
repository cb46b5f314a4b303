"""The gallery: examples of a model file, and those of a script alone."""

from __future__ import annotations

import pytest

from momentree.errors import MomentreeError
from momentree.look.gallery import Example, find, gallery, listing, report, report_all


def example(folder, script):
    (folder / "07_some_cart").mkdir()
    (folder / "07_some_cart" / "run.py").write_text(script)
    return Example(folder / "07_some_cart")


def test_every_example_is_listed_with_its_summary():
    names = [example.name for example in gallery()]
    assert names[0] == "pendulum"
    assert "cart-of-kaspirovich-and-mukharlyamov" in names
    assert all(example.summary for example in gallery())


def test_the_list_has_a_thumbnail_for_each_relative_where_it_is_below(monkeypatch, tmp_path):
    monkeypatch.chdir(gallery()[0].folder.parent)
    lines = [*listing()]
    assert len(lines) == 2 * len(gallery())
    for example, line, path in zip(gallery(), lines[::2], lines[1::2], strict=True):
        assert line.split() == [example.name, *example.summary.split()]
        assert path.strip() == f"{example.folder.name}/thumbnail.png"
    monkeypatch.chdir(tmp_path)
    assert [*listing()][1].strip() == str(gallery()[0].thumbnail)


def test_an_example_without_a_model_is_its_script(tmp_path):
    script = "from pathlib import Path; Path('run.svg').write_text('<svg/>'); print('two'); print('lines')"
    told = list(report(example(tmp_path, script), tmp_path / "out"))
    assert told[0] == "two\nlines"
    assert told[-2].endswith("some-cart: report.html, run.svg, summary.txt")
    assert told[-1] == f"open {tmp_path / 'out' / 'some-cart' / 'report.html'} in a browser"
    assert (tmp_path / "out" / "some-cart" / "summary.txt").read_text().strip() == "two\nlines"


TWO_RUNS = """
import numpy as np
from momentree import ProgrammeRun
t = np.linspace(0, 1, 50)[:, None]
first, second = (ProgrammeRun(name, ("x", "y"), (), t[:, 0], *(np.hstack([t, t**k]),) * 3, t[:, 0], t[:, :0])
                 for k, name in enumerate(("line", "curve")))
again = second
"""


@pytest.mark.long
def test_the_runs_of_a_script_have_reports_that_are_linked(tmp_path):
    told = list(report(example(tmp_path, TWO_RUNS), tmp_path / "out"))
    folder = tmp_path / "out" / "some-cart"
    assert told[-1] == f"open {folder / 'report.html'} and {folder / 'report-second.html'} in a browser"
    first, second = ((folder / name).read_text(encoding="utf-8") for name in ("report.html", "report-second.html"))
    assert '<a href="./report-second.html">' in first
    assert "<h1>some-cart: second</h1>" in second


def test_all_reports_are_linked_and_failures_are_named(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    good, bad = example(tmp_path / "a", "print(1)"), example(tmp_path / "b", "raise ValueError('no wheels')")
    with pytest.raises(MomentreeError, match="these examples have no report: some-cart"):
        list(report_all([bad], tmp_path / "out"))
    assert [*report_all([good], tmp_path / "out")][-1].startswith("open ")
    assert './some-cart/report.html"' in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


def test_a_script_that_fails_is_an_error_with_its_last_line(tmp_path):
    with pytest.raises(MomentreeError, match="'some-cart' does not run: ValueError: no wheels"):
        list(report(example(tmp_path, "raise ValueError('no wheels')"), tmp_path / "out"))


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(MomentreeError, match=r"cannot be written: .* Choose another folder with --out"):
        list(report(example(tmp_path, ""), tmp_path / "out"))


def test_a_name_that_is_not_there_is_suggested():
    with pytest.raises(MomentreeError, match="Did you mean 'pendulum'"):
        find("pendulm")
