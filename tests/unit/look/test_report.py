"""Reports of runs: what the page says is what the run holds, whatever became of the run."""

from __future__ import annotations

import base64
import dataclasses
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.errors import MomentreeError
from momentree.files import loads
from momentree.look.report import facts, report_page
from momentree.look.report_accuracy import accuracy_section, verdicts
from momentree.look.report_plots import plots_section
from momentree.look.report_style import STYLE
from momentree.look.report_system import system_facts, system_section
from momentree.simulate.blocks import Block, End, Statistics


class Text(HTMLParser):
    """The text of a page, its headings, its pictures and its links."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.texts, self.pictures, self.links = [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        values = dict(attributes)
        if tag == "a":
            self.links.append(values["href"])
        if tag == "img":
            content = base64.b64decode(values["src"].partition(",")[2])
            self.pictures.append((values["alt"], " ".join(ElementTree.fromstring(content).itertext())))

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def all(self):
        return "\n".join(self.texts)


@pytest.fixture(scope="module")
def run():
    system = four_bar().build()
    start = system.assemble({"A": 1.0}, velocities={"A": 2.0})
    return system.simulate(start, 1.0, every=0.05, events={"half": "t - 0.5"}, verify=True)


@pytest.fixture(scope="module")
def page(run):
    return Text(report_page(run, player=False))


def without_samples(run):
    return dataclasses.replace(run, samples=Block(*(part[:0] for part in (run.t, run.q, run.v, run.samples.work))))


def test_it_has_every_section_and_a_link_to_each(page):
    headings = ["Motion", "System", "Plots", "Accuracy", "Events", "Settings", "Model", "Versions"]
    assert [text for text in page.texts if text in headings] == headings * 2
    assert page.links == [f"#s{i}" for i in range(1, len(headings) + 1)]


def test_it_says_what_the_system_is(page, run):
    for words in ("degrees of freedom (mobility): 1; by Gruebler's count: -2", "C: translation along y", "joint C"):
        assert words in page.all
    pictures = dict(page.pictures)
    assert all(name in pictures["mechanism"] for name in ("crank", "coupler", "rocker"))
    assert "C (Revolute), 5 constraints" in pictures["graph of bodies and joints"]


def test_it_plots_with_units(page):
    pictures = dict(page.pictures)
    words = {
        "coordinates": "A, rad",
        "velocities": "A', rad/s",
        "energy account": "energy, J",
        "reactions": "force of C, N",
    }
    words |= {"phase portraits": "A', rad/s", "closure error": "closure error"}
    assert [name for name, text in words.items() if text not in pictures[name]] == []


def test_what_is_measured_is_what_the_run_says(page, run):
    cells = dict(zip(page.texts, page.texts[1:], strict=False))
    assert float(cells["closure error, lengths"].split()[0]) == pytest.approx(run.closure_error.max(), rel=0.01)
    assert float(cells["energy out of balance"].split()[0]) == pytest.approx(run.energy.error, rel=0.1)
    assert "BEYOND" not in page.all
    assert "No warnings. The run reached its end at t = 1 s" in page.all
    assert f"{run.error}" in page.all
    assert cells["half"] == "0.5"
    assert cells["evaluations of the right-hand side"] == f"{run.statistics.evaluations}"
    assert cells["run computed by Momentree"] == mt.__version__


def test_the_model_in_it_is_the_model(page, run):
    (text,) = [text for text in page.texts if "[[body]]" in text]
    assert loads(text, "the page") == run.system._model


@pytest.mark.long
def test_what_is_asked_for_is_plotted_first(run):
    name, text = Text("".join(plots_section(run, ["path of coupler"]).parts)).pictures[0]
    assert (name, "path of coupler" in text) == ("what was asked for", True)


def test_warnings_come_first_and_loud(run):
    bad = dataclasses.replace(run, end=End("failed", 0.7, "it broke < here"))
    vars(bad)["system"] = run.system
    said = "WARNING: the simulation failed at t = 0.7 s: it broke &lt; here"
    assert [*verdicts(bad)] == [f'<p class="bad">{said}</p>']


def test_open_loops_and_lost_energy_are_beyond_their_limits(run):
    q = run.q + np.linspace(0, 0.1, len(run.t))[:, None] * [1, 0, 0]
    bad = dataclasses.replace(run, samples=Block(run.t, q, run.v, run.samples.work))
    vars(bad)["system"] = run.system
    assert "".join(accuracy_section(bad).parts).count("BEYOND THE LIMIT") == 3  # lengths, how fast they open, energy
    assert "".join(verdicts(bad)).count("WARNING") == 2


@pytest.mark.filterwarnings("ignore:No artists")
@pytest.mark.long
def test_runs_without_samples_or_numbers_have_a_report(run):
    empty = without_samples(run)
    vars(empty)["system"] = run.system
    assert "nothing was measured" in report_page(empty)
    q = run.q.copy()
    q[3:] = np.nan
    broken = dataclasses.replace(run, samples=Block(run.t, q, run.v, run.samples.work))
    vars(broken)["system"] = run.system
    assert "BEYOND THE LIMIT" in report_page(broken)


def test_a_run_from_a_file_has_the_same_report(run, tmp_path):
    run.save(tmp_path / "run.nc")
    again = mt.load_run(tmp_path / "run.nc")
    for part in (facts, accuracy_section, system_section):
        assert [*part(again)] == [*part(run)]


@pytest.mark.long
def test_the_file_holds_a_player_and_its_name_is_checked_first(run, tmp_path):
    run.report(tmp_path / "out.html", title="A <title>")
    text = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "<h1>A &lt;title&gt;</h1>" in text
    assert text.count("<iframe") == 1
    assert len(text) < 2e6
    for wrong in ("out.pdf", "no/out.html"):
        with pytest.raises(MomentreeError, match=r"not a page|there is no folder"):
            run.report(tmp_path / wrong)


def test_nothing_is_a_script_and_nothing_is_asked_for(page):
    assert not {"script", "link", "object", "embed", "form", "base", "iframe"} & {*page.tags}


@pytest.mark.long
def test_many_bodies_make_no_large_page():
    m = mt.Model("chain", gravity=(0, 0, -9.81))
    last = m.ground
    for i in range(200):
        link = m.body(f"link {i}", mt.rod(mass=0.1, length=0.1))
        m.joint(f"j{i}", mt.Revolute("y"), last if i == 0 else last.at((0.1, 0, 0)), link)
        last = link
    system = m.build()
    samples = Block(np.array([0.0, 1.0]), np.zeros((2, 200)), np.zeros((2, 200)), np.zeros((2, 0)))
    run = mt.Run.of(system, samples, (), {}, Statistics(), End("arrived", 1.0))
    text = report_page(run)
    assert len(text) < 2e6
    assert re.search(r"The first 8 of 200 joints are shown", text)


def test_a_page_in_the_dark_is_dark_as_a_whole(page):
    (rule,) = [line for line in STYLE.splitlines() if "invert" in line]
    assert "figure img, figure iframe" in rule


def test_what_is_driven_says_so_beside_its_degrees_of_freedom(run):
    assert ("degrees of freedom", "1") in [*system_facts(run.system)]
    m = mt.Model("driven")
    m.joint("A", mt.Revolute("y", motion="2*t"), m.ground, m.body("crank", mt.rod(mass=1.0, length=1.0)))
    assert ("degrees of freedom", "0, besides prescribed motions") in [*system_facts(m.build())]
