"""Reports in a real browser: opened from a file, they play, complain of nothing and ask nobody for anything."""

from __future__ import annotations

import pytest

import momentree as mt
from mechanisms import four_bar

READY = "window.__viserMutable && window.__viserMutable.nodeRefFromName['/scene/axes'] !== undefined"
HOSTILE = '</script><script>window.__bad=1</script><img src=x onerror="window.__bad=1">\'" /a/../b'


def frame_of(page, path):
    """Open a report and wait for the scene of its player."""
    page.page.goto(path.as_uri())
    page.page.evaluate("document.querySelector('iframe').scrollIntoView()")  # what is not in view is not drawn
    assert page.until(lambda: len(page.page.frames) == 2)
    (frame,) = [frame for frame in page.page.frames if frame is not page.page.main_frame]
    frame.wait_for_function(READY, polling=50, timeout=60_000)
    return frame


def test_the_report_of_a_four_bar_plays_from_a_file(page, tmp_path):
    system = four_bar().build()
    run = system.simulate(system.assemble({"A": 1.0}), t_end=2.0, every=1 / 30)
    run.report(tmp_path / "out.html")
    frame = frame_of(page, tmp_path / "out.html")
    nodes = {*frame.evaluate("Object.keys(window.__viserMutable.nodeRefFromName)")}
    assert {f"/scene/bodies/{name}" for name in ("ground", "crank", "coupler", "rocker")} <= nodes
    assert frame.evaluate("window.origin") == "null"  # it reaches nothing of the page around it
    assert page.page.evaluate("[...document.images].every(image => image.naturalWidth > 0)")
    links = page.page.evaluate("[...document.querySelectorAll('nav a')].map(a => a.getAttribute('href'))")
    assert all(page.page.evaluate("at => document.querySelector(at) !== null", link) for link in links)
    wide = page.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert wide[0] <= wide[1], "nothing sticks out at the side"
    assert (page.complaints, page.outside) == ([], [])
    assert [url for url in page.requests if not url.startswith(("file:", "data:", "blob:", "about:"))] == []


@pytest.mark.long
def test_hostile_names_do_no_harm_in_reports(page, tmp_path):
    m = mt.Model(HOSTILE, gravity=(0, 0, -9.81))
    first = m.body(HOSTILE, mt.rod(mass=1.0, length=1.0))
    m.joint(f"j{HOSTILE}", mt.Revolute("y"), m.ground, first)
    m.joint("x" * 10_000, mt.Revolute("y"), first.at((1, 0, 0)), m.body("x" * 10_000, mt.rod(mass=1.0, length=1.0)))
    system = m.build()
    system.simulate(system.start(), t_end=0.1, every=0.05).report(tmp_path / "out.html", title="two\nlines " + HOSTILE)
    frame = frame_of(page, tmp_path / "out.html")
    assert page.page.evaluate("window.__bad") is frame.evaluate("window.__bad") is None
    assert page.page.evaluate("document.scripts.length") == 0
    assert (page.complaints, page.outside) == ([], [])
