"""`momentree look`: pages from the command line, and quiet ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from command_line import command
from mechanisms import four_bar
from momentree.errors import MomentreeError
from momentree.look.look_command import traced
from momentree.model.frames import Frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("look")
    model = four_bar()
    model.save(folder / "four-bar.toml")
    system = model.build()
    system.simulate(system.assemble({"A": 1.0}), t_end=0.3, every=0.1).save(folder / "run.nc")
    return folder


def test_a_model_and_a_run_become_pages(folder):
    for file in ("four-bar.toml", "run.nc"):
        done = command("look", file, "--save", "page.html", cwd=folder)
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr.strip() == "page written to page.html"
        assert (folder / "page.html").read_text(encoding="utf-8").count("four-bar") == 1
        (folder / "page.html").unlink()


def test_a_run_is_followed_traced_and_has_arrows(folder):
    words = ["--follow", "rocker", "--trace", "coupler@1,0,0", "--trace", "crank", "--arrows", "velocities"]
    done = command("look", "run.nc", "--save", "page.html", *words, cwd=folder)
    assert (done.returncode, done.stderr.strip()) == (0, "page written to page.html")
    with_all = (folder / "page.html").stat().st_size
    command("look", "run.nc", "--save", "page.html", cwd=folder)
    assert with_all > (folder / "page.html").stat().st_size
    (folder / "page.html").unlink()


def test_traces_are_bodies_or_points_of_them():
    assert traced("a@1,-2,0.5", ["a"]) == Frame("a", (1.0, -2.0, 0.5))
    assert traced("a@1,2,3", ["a", "a@1,2,3"]) == Frame("a@1,2,3", (0.0, 0.0, 0.0))
    for text, message in {"b": "no body 'b' to trace", "a@1,2": "is no trace", "a@nan,0,0": "is no trace"}.items():
        with pytest.raises(MomentreeError, match=message):
            traced(text, ["a"])


def test_mistakes_are_explained(folder):
    wrong = {
        ("look", "four-bar.toml", "--save", "page.txt"): "End the name in .html",
        ("look", "four-bar.toml", "--ghost", "run.nc"): "is a model, which has no ghost",
        ("look", "four-bar.toml", "--arrows", "forces"): "is a model, which has no arrows",
        ("look", "run.nc", "--save", "p.html", "--follow", "rokcer"): "Did you mean 'rocker'?",
        ("look", "run.nc", "--save", "p.html", "--arrows", "winds"): "there are no arrows 'winds'",
        ("look", "run.nc", "--save", "p.html", "--trace", "rokcer"): "Did you mean 'rocker'?",
        ("look", "missing.nc"): "missing.nc",
        ("look", "missing.toml"): "missing.toml",
        ("look", "run.nc", "--port", "0", "--no-browser"): "there is no port 0",
    }
    for words, message in wrong.items():
        done = command(*words, cwd=folder)
        assert done.returncode == 1, words
        assert message in done.stderr
        assert "Traceback" not in done.stderr


def test_help_says_what_it_does():
    done = command("look", "--help")
    assert done.returncode == 0
    for word in ("--save", "--ghost", "--follow", "--trace", "--arrows", "--port", "--no-browser", "3-D", "Ctrl-C"):
        assert word in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is another thing there")
@pytest.mark.long
def test_an_interrupt_ends_it_quietly(folder):
    words = [sys.executable, "-m", "momentree", "look", "run.nc", "--no-browser"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        words, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    line = process.stderr.readline()
    assert line.startswith("http://127.0.0.1:")
    assert "shows run.nc; Ctrl-C ends it" in line
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert (process.returncode, out, error) == (0, "", "")
