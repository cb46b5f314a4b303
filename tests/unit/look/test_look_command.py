"""`momentree look`: pages from the command line, and quiet ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from command_line import command
from mechanisms import four_bar


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


def test_mistakes_are_explained(folder):
    wrong = {
        ("look", "four-bar.toml", "--save", "page.txt"): "End the name in .html",
        ("look", "four-bar.toml", "--ghost", "run.nc"): "is a model, which has no ghost",
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
    for word in ("--save", "--ghost", "--port", "--no-browser", "3-D", "Ctrl-C"):
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
