"""Standard output and error that are closed: files are written all the same, and nothing else is in them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import momentree as mt
from mechanisms import four_bar


@pytest.mark.skipif(sys.platform == "win32", reason="a shell closes the streams")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_run_is_written_where_streams_are_closed(tmp_path, closed):
    four_bar().save(tmp_path / "model.toml")
    words = "run model.toml --from A=1 --t-end 0.1 --json -o run.nc --plot run.svg"
    command = f"{sys.executable} -m momentree {words} {closed}"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=dict(os.environ), capture_output=True, text=True)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert "written" not in done.stdout  # which belongs to standard error
    assert mt.load_run(tmp_path / "run.nc").t[-1] == 0.1
    assert sorted(os.listdir(tmp_path)) == ["model.toml", "run.nc", "run.svg"]
    assert (tmp_path / "run.svg").read_text().endswith("</svg>\n")
