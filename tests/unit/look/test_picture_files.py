"""Picture files: what differs from process to process does not reach them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.dom.minidom
from pathlib import Path

import pytest

import momentree as mt
from momentree.look.picture_files import _reproducible

DRAW = """
import sys, numpy as np, momentree as mt
from momentree.look.picture_files import save_picture
import pytest
from matplotlib.figure import Figure
blocks = [bytearray(int(sys.argv[2]) * 1000) for _ in range(50)]     # other addresses
figure = Figure(layout="constrained")
for half in figure.subfigures(1, 2):
    for axes in half.subplots(3):
        axes.plot(np.arange(5), marker="o")
save_picture(figure, sys.argv[1], 100)
"""


@pytest.mark.long
def test_another_process_writes_the_same_bytes(tmp_path):
    where = {**os.environ, "PYTHONPATH": str(Path(mt.__file__).parents[1])}
    for i in (1, 2, 3):
        subprocess.run([sys.executable, "-c", DRAW, str(tmp_path / f"{i}.svg"), str(i)], check=True, env=where)
    assert len({(tmp_path / f"{i}.svg").read_bytes() for i in (1, 2, 3)}) == 1
    page = (tmp_path / "1.svg").read_text()
    xml.dom.minidom.parseString(page)
    used = {*re.findall(r"url\(#(\w+)\)", page), *re.findall(r'xlink:href="#(\w+)"', page)}
    assert used <= {*re.findall(r' id="(\w+)"', page)}


def test_only_names_of_parts_and_numbers_are_changed():
    text = b'<text>-0 id="m012" url(#x) 0.123456</text>'
    svg = b'<path id="m0123456789" d="M -0 1 L -0.5 -0.00001 L 2.123456 -0 "/><use href="#m0123456789"/>'
    other = b'<path id="m1" d="M 0 1 L -0.5 0 L 2.123 0 "/><use href="#m1"/>'
    assert _reproducible(svg + text) == other + text
