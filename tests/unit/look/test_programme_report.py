"""Reports of motions by programmes: path, certificate and equations; in 3-D where a mechanism moves."""

from __future__ import annotations

import pickle
from xml.etree import ElementTree

import numpy as np
import pytest

import momentree as mt
from momentree.look.path_animation import FRAMES, path_animation
from momentree.look.programme_report import programme_report_page
from programme_cart import cart


@pytest.fixture(scope="module")
def run():
    return cart().simulate([0, -1, 0], [1.3, -0.2, 0.8], t_end=1, every=0.05)


@pytest.mark.long
def test_it_says_what_the_run_and_the_programme_hold(run):
    certificate = run.programme.certify({"phi": (-np.pi, np.pi)})
    page = programme_report_page(run, certificate=certificate)
    for words in (
        "The motion reached its end at t = 1 s",
        f"{certificate.rate:.4g} 1/s",
        f"{run.decay_rate():.4g} 1/s",
    ):
        assert words in page
    assert "sin(phi)" in page
    assert "equations of motion built from constraints" in page
    assert page.count("<img") == 2  # the moving picture and the plot


def test_one_from_a_file_or_another_process_knows_no_programme(run, tmp_path):
    run.save(tmp_path / "run.nc")
    again = mt.load_programme_run(tmp_path / "run.nc")
    assert again.programme is pickle.loads(pickle.dumps(run)).programme is None
    assert "equations of motion" not in programme_report_page(again)


def test_a_mechanism_is_played(tmp_path):
    m = mt.Model("crank")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("crank", mt.rod(mass=1.0, length=0.5)))
    run = mt.programme(m, velocity={"A": 2}, gain=5).simulate([0.0], [0.0], t_end=2, every=0.1)
    run.report(tmp_path / "out.html", title="crank < shaft")
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert page.count("<iframe") == 1
    assert "crank &lt; shaft" in page
    assert "[[body]]" in page


def test_one_that_stopped_says_so(run):
    lost = mt.ProgrammeRun("lost", ("x",), (), run.t, *(run.q[:, :1],) * 3, run.size, run.q[:, :0], "it <stopped>")
    assert "WARNING: it ended before its time: it &lt;stopped&gt;" in programme_report_page(lost)


def test_the_mark_is_where_the_path_is():
    t = np.linspace(0, 2, 41)
    picture = ElementTree.fromstring(path_animation(t, np.cos(t), np.sin(t), t, speed=0.5))
    (motion,) = picture.iter("{http://www.w3.org/2000/svg}animateMotion")
    (turning,) = picture.iter("{http://www.w3.org/2000/svg}animateTransform")
    assert motion.get("dur") == turning.get("dur") == "4.000s"
    places = np.array([[float(x) for x in pair.split(",")] for pair in motion.get("values").split(";")])
    angles = [float(x) for x in turning.get("values").split(";")]
    assert len(places) == len(angles) == FRAMES
    assert (angles[0], angles[-1]) == pytest.approx((0, -np.degrees(2)), abs=0.1)  # y points down in a picture
    first, middle, last = (places[i] for i in (0, FRAMES // 2, -1))
    scale = (first[0] - last[0]) / (1 - np.cos(2))
    assert (first[1] - last[1]) / scale == pytest.approx(np.sin(2), rel=1e-3)
    assert (first[1] - middle[1]) / scale == pytest.approx(np.sin(1), rel=1e-2)
