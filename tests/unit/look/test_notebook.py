"""What a notebook shows: pages with the numbers of what they show, and figures that are pictures."""

from __future__ import annotations

import base64
import dataclasses
import re
import struct
from xml.etree import ElementTree

import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.look.notebook import MOST_DRAWN
from momentree.simulate.blocks import Block
from programme_cart import cart


@pytest.fixture(scope="module")
def run():
    m = four_bar()
    system = m.build()
    return system.simulate(system.assemble({"A": 1.0}, velocities={"A": 2.0}), 0.2, every=0.05)


def picture(page):
    (content,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', page)
    return " ".join(ElementTree.fromstring(base64.b64decode(content)).itertext())


def test_a_model_is_the_picture_of_its_graph():
    page = four_bar()._repr_html_()
    assert "four-bar: 3 bodies, 4 joints, 1 loop" in page
    assert all(name in picture(page) for name in ("crank", "coupler", "rocker", "Revolute"))


def test_a_model_that_cannot_be_built_says_why():
    m = four_bar()
    m.joint("E", mt.Revolute("y"), m.ground, "crnk")
    page = m._repr_html_()
    assert "it cannot be built" in page
    assert "Did you mean &#x27;crank&#x27;?" in page


def test_a_system_has_its_tables_and_redundant_constraints(run):
    page = run.system._repr_html_()
    for words in (
        "coupler",
        "joint C",
        "degrees of freedom (mobility): 1",
        "3 redundant constraints",
        "translation along y",
    ):
        assert words in page
    assert page.count("<table>") == 2


def test_a_system_that_does_not_close_says_so():
    page = four_bar((1.0, 1.0, 1.0, 9.0)).build()._repr_html_()
    assert "degrees of freedom (mobility) unknown" in page


def test_a_state_has_every_joint_with_units(run):
    page = run.state(0)._repr_html_()
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", page)
    rows = [cells[i : i + 7] for i in range(0, len(cells), 7)]
    assert rows[0] == ["A", "angle", "1", "rad", "angle&#x27;", "2", "rad/s"]
    assert [row[0] for row in rows] == ["A", "B", "D", "C"]
    assert float(rows[3][2]) == pytest.approx(run["C"][0], rel=1e-5)


def test_a_run_has_its_summary_plot_and_player(run, monkeypatch):
    page = run._repr_html_()
    assert "0 to 0.2 s, arrived" in page
    assert "energy, J" in picture(page)
    assert page.count('<iframe title="3-D player of four-bar" sandbox="allow-scripts"') == 1
    assert len(page) < 1.2e6
    monkeypatch.setenv("MOMENTREE_PLAYER", "off")
    assert "<iframe" not in run._repr_html_()


def test_a_run_without_samples_has_warnings_but_no_plot(run):
    empty = dataclasses.replace(run, samples=Block(*(part[:0] for part in (run.t, run.q, run.v, run.samples.work))))
    page = empty.with_measures(warnings=("loops < open",))._repr_html_()
    assert "<strong>WARNING:</strong> loops &lt; open" in page
    assert "<img" not in page


def test_a_graph_is_its_picture_unless_it_is_large():
    assert "u2" in picture(mt.Graph([(0, 1), (1, 2), (0, 2)])._repr_html_())
    large = mt.Graph([(i, i + 1) for i in range(MOST_DRAWN + 1)])._repr_html_()
    assert f"n={MOST_DRAWN + 1}" in large
    assert "<img" not in large


def test_a_graph_that_is_not_connected_shows_its_parts():
    page = mt.Graph("0-1 2-3")._repr_html_()
    assert "not connected, 2 parts" in page
    assert "<img" not in page


def test_a_programme_has_its_coordinates_and_constraints():
    programme = cart()
    page = programme._repr_html_()
    assert f"{programme.name}: programme" in page
    assert "sin(phi)" in page


def test_a_plot_shows_itself(run):
    figure = run.plot(joints=["A"])
    content, size = figure._repr_png_()
    assert content.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", content[16:24])
    assert (width, height) == pytest.approx((2 * size["width"], 2 * size["height"]), abs=1)
    assert (size["width"], size["height"]) == pytest.approx(100 * figure.get_size_inches(), abs=1)


def test_ipython_shows_pages_and_pictures(run):
    pytest.importorskip("IPython", reason="IPython is not installed: pip install ipython")
    from IPython.core.formatters import DisplayFormatter

    shown = DisplayFormatter().format
    for thing in (run, run.system, run.state(), run.system.coordinates, run.system.structure.graph):
        assert {*shown(thing)[0]} == {"text/plain", "text/html"}
    assert {*shown(run.plot())[0]} == {"text/plain", "image/png"}
    assert {*shown(run.system.equations())[0]} == {"text/plain", "text/latex"}
