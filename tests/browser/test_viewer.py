"""The 3-D page in a real browser: every body is there, moves as the run says, and asks nobody outside for anything."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.look.gallery import find

HOSTILE = '</script><script>window.__bad=1</script><img src=x onerror="window.__bad=1">\'" ${1+1} /a/../b'


@pytest.fixture(scope="module")
def system():
    return four_bar().build()


@pytest.fixture(scope="module")
def run(system):
    return system.simulate(system.assemble({"A": 1.0}), t_end=2.0, every=1 / 30)


def assert_placed(page, system, state):
    """Every body is where forward kinematics puts it, and the loop is closed in the page too."""
    for body in system.mechanism.bodies:
        found = page.matrix(f"/scene/bodies/{body.name}")
        assert found[:3, 3] == pytest.approx(system.position(state, body.name), abs=1e-9)
    coupler, rocker = (page.matrix(f"/scene/bodies/{name}") for name in ("coupler", "rocker"))
    assert (coupler @ [2, 0, 0, 1])[:3] == pytest.approx((rocker @ [2, 0, 0, 1])[:3], abs=1e-9)


def test_a_slider_moves_the_model_and_its_loop_stays_closed(page, system):
    state = system.assemble({"A": 1.0})
    viewer = system.look(state=state, browser=False, wait=False)
    try:
        page.open(viewer.url)
        wanted = system.position(state, "coupler")
        assert page.until(lambda: np.abs(page.matrix("/scene/bodies/coupler")[:3, 3] - wanted).max() < 1e-9)
        assert {f"/scene/bodies/{body.name}" for body in system.mechanism.bodies} <= page.nodes()
        assert_placed(page, system, state)
        for _ in range(20):
            page.press("[role=slider]", "ArrowRight")
        assert page.until(lambda: abs(viewer.view.state["A"] - 1.02) < 1e-9)  # 20 steps of 0.001 rad
        assert viewer.view.moves.wait()
        moved = viewer.view.state
        assert moved.closure_error < 1e-9
        after = system.position(moved, "coupler")
        assert page.until(lambda: np.abs(page.matrix("/scene/bodies/coupler")[:3, 3] - after).max() < 1e-9)
        assert_placed(page, system, moved)
        assert (page.complaints, page.outside) == ([], [])
    finally:
        viewer.close()


@pytest.mark.long
def test_a_body_is_dragged_with_the_mouse(page, system):
    viewer = system.look(state=system.assemble({"A": 1.0}), browser=False, wait=False)
    try:
        page.open(viewer.url)
        crank = "/scene/bodies/crank"
        assert page.until(lambda: abs(page.matrix(crank)[0, 0] - np.cos(1.0)) < 1e-9)
        page.page.wait_for_timeout(500)
        x, y = page.seen(crank, (0.7, 0, 0))
        mouse = page.page.mouse
        mouse.move(x, y)
        mouse.down()
        for i in range(1, 9):
            mouse.move(x + 5 * i, y - 4 * i)
            page.page.wait_for_timeout(60)
        page.page.wait_for_timeout(300)
        held = page.seen(crank, (0.7, 0, 0))
        mouse.up()
        assert viewer.view.moves.wait()
        moved = viewer.view.state
        assert abs(moved["A"] - 1.0) > 0.02
        assert moved.closure_error < 1e-9
        assert np.hypot(held[0] - x - 40, held[1] - y + 32) < np.hypot(40, 32)  # towards the pointer
    finally:
        viewer.close()


def test_play_moves_bodies_to_where_the_run_says(page, run):
    viewer = run.look(browser=False, wait=False)
    try:
        page.open(viewer.url)
        page.click("play")
        assert page.until(lambda: viewer.view.index > 3)
        page.click("pause")
        assert page.until(lambda: not viewer.player.playing)
        for i in (viewer.view.index, 0, 17, len(run.t) - 1):
            viewer.player.seek(float(run.t[i]))
            assert viewer.view.index == i
            for body in ("crank", "coupler", "rocker"):
                wanted = run.position(body)[i]
                node = f"/scene/bodies/{body}"
                assert page.until(lambda: np.abs(page.matrix(node)[:3, 3] - wanted).max() < 1e-6)  # noqa: B023
        assert (page.complaints, page.outside) == ([], [])
    finally:
        viewer.close()


def test_a_saved_page_plays_by_itself(page, run, tmp_path):
    run.look(save=tmp_path / "four-bar.html", traces=True)
    page.open((tmp_path / "four-bar.html").as_uri())
    for t, i in ((1.0, 30), (0.5, 15)):  # to a later and to an earlier frame
        page.enter(f"{t:.1f}")
        for body in ("crank", "coupler", "rocker"):
            wanted, node = run.position(body)[i], f"/scene/bodies/{body}"
            assert page.until(lambda: np.abs(page.matrix(node)[:3, 3] - wanted).max() < 1e-6)  # noqa: B023
    assert page.complaints == []
    assert len(page.requests) == len([url for url in page.requests if url.startswith(("file:", "blob:", "data:"))])


@pytest.mark.long
def test_the_scene_tree_of_a_saved_page_hides_arrows(page, run, tmp_path):
    run.look(save=tmp_path / "four-bar.html", traces=True, arrows="velocities")
    page.open((tmp_path / "four-bar.html").as_uri())
    shown = "name => window.__viserMutable.nodeRefFromName[name].visible"
    assert page.page.evaluate(shown, "/scene/arrows")
    page.page.evaluate("[...document.querySelectorAll('button')].at(-1).click()")  # the last one of the bar
    middle = "box => [box.left + box.width / 2, box.top + box.height / 2]"
    for node, icon in (("/scene", 0), ("/scene/arrows", 1)):  # unfold the one, close the eye of the other
        row = f"document.querySelector('[data-scene-node=\"{node}\"]')"
        assert page.until(lambda: page.page.evaluate(f"{row} !== null")), node  # noqa: B023
        at = page.page.evaluate(f"({middle})({row}.querySelectorAll('svg')[{icon}].getBoundingClientRect())")
        page.page.mouse.click(*at)
    assert page.until(lambda: not page.page.evaluate(shown, "/scene/arrows"))
    assert page.page.evaluate(shown, "/scene/traces")
    assert page.complaints == []


@pytest.mark.long
def test_a_clicked_body_gets_its_gizmo(page, system):
    viewer = system.look(state=system.assemble({"A": 1.0}), browser=False, wait=False)
    try:
        page.open(viewer.url)
        crank = "/scene/bodies/crank"
        assert page.until(lambda: abs(page.matrix(crank)[0, 0] - np.cos(1.0)) < 1e-9)
        page.page.wait_for_timeout(500)
        page.page.mouse.click(*page.seen(crank, (0.7, 0, 0)))
        assert page.until(lambda: viewer.view.gizmo.body == 1)
        assert page.until(lambda: "/scene/gizmo" in page.nodes())
        assert page.until(lambda: "crank: position (m)" in page.page.inner_text("body"))
        passive = "Unable to preventDefault inside passive event listener invocation."  # of viser's own, by a click
        assert ([text for text in page.complaints if text != passive], page.outside) == ([], [])
    finally:
        viewer.close()


def test_a_second_reader_sees_the_same_and_the_first_may_leave(page, run):
    viewer = run.look(browser=False, wait=False)
    first = page.page.context.browser.new_page()
    try:
        first.goto(viewer.url)
        page.open(viewer.url)
        viewer.player.start()
        assert page.until(lambda: viewer.view.index > 2)
        first.close()
        at = viewer.view.index
        assert page.until(lambda: viewer.view.index not in (at, at + 1))
        viewer.player.pause()
        viewer.player.seek(float(run.t[40]))
        node, wanted = "/scene/bodies/coupler", run.position("coupler")[40]
        assert page.until(lambda: np.abs(page.matrix(node)[:3, 3] - wanted).max() < 1e-6)
        assert page.complaints == []
    finally:
        viewer.close()


@pytest.mark.long
def test_hostile_names_do_no_harm(page, tmp_path):
    m = mt.Model(HOSTILE, gravity=(0, 0, -9.81))
    first = m.body(HOSTILE, mt.rod(mass=1.0, length=1.0))
    second = m.body("x" * 10_000, mt.rod(mass=1.0, length=1.0))
    m.joint(f"j{HOSTILE}", mt.Revolute("y"), m.ground, first)
    m.joint("__proto__", mt.Revolute("y"), first.at((1, 0, 0)), second)
    system = m.build()
    viewer = system.look(browser=False, wait=False)
    try:
        page.open(viewer.url)
        viewer.view.moves.ask((None, lambda: system.assemble({HOSTILE: 1.0})))  # its message names what does not exist
        assert page.until(lambda: viewer.view.message.visible)
        page.page.wait_for_timeout(300)
        assert page.page.evaluate("window.__bad") is None
    finally:
        viewer.close()
    system.simulate(system.start(), t_end=0.1, every=0.05).look(save=tmp_path / "names.html")
    page.open((tmp_path / "names.html").as_uri())
    assert page.page.evaluate("window.__bad") is None
    assert page.outside == []


@pytest.mark.long
def test_a_minute_of_the_walker_opens_soon_and_plays_lightly(page, tmp_path):
    """Time is measured and printed; only sizes decide."""
    run = mt.load(find("walking-mechanism").model).build().simulate(t_end=60.0, every=1 / 30)
    path = tmp_path / "walker.html"
    run.look(save=path)
    assert path.stat().st_size < 5e6
    show_cost(page, path)
    found = page.matrix("/scene/bodies/hull")[:3, 3]
    assert np.abs(run.position("hull") - found).max(axis=1).min() < 1e-6 * np.abs(run.position("hull")).max()


@pytest.mark.long
def test_a_chain_of_300_bodies_plays(page, tmp_path):
    m = mt.Model("chain", gravity=(0, 0, -9.81))
    last = m.ground
    for i in range(300):
        link = m.body(f"link {i}", mt.rod(mass=0.1, length=0.1))
        m.joint(f"j{i}", mt.Revolute("y"), last if i == 0 else last.at((0.1, 0, 0)), link)
        last = link
    system = m.build()
    run = system.simulate(system.start(), t_end=1.0, every=1 / 30)
    run.look(save=tmp_path / "chain.html")
    show_cost(page, tmp_path / "chain.html")
    assert len([name for name in page.nodes() if name.startswith("/scene/bodies/link") and name.count("/") == 3]) == 300
    found = page.matrix("/scene/bodies/link 299")[:3, 3]
    assert np.abs(run.position("link 299") - found).max(axis=1).min() < 1e-5


def show_cost(page, path):
    """Print how long a page takes to open, and the time of its scripts for each frame while it plays."""
    session = page.page.context.new_cdp_session(page.page)
    session.send("Performance.enable")
    page.open(path.as_uri())
    opened = page.page.evaluate("performance.now()")

    def measured():
        values = {entry["name"]: entry["value"] for entry in session.send("Performance.getMetrics")["metrics"]}
        return values["ScriptDuration"], page.page.evaluate("window.__frames")

    page.page.evaluate("window.__frames = 0; (function f() { window.__frames++; requestAnimationFrame(f) })()")
    page.page.wait_for_timeout(500)
    (script, frames), _ = measured(), page.page.wait_for_timeout(5000)
    later, more = measured()
    size, spent, shown = path.stat().st_size / 1e6, later - script, more - frames
    each = f"{1e3 * spent / max(shown, 1):.1f} ms of script for each of {shown} frames"
    print(f"\n{path.name}: {size:.2f} MB, opens in {opened / 1e3:.2f} s, {each}, {spent / 5:.2f} s of script a second")
    assert page.complaints == []
    assert page.outside == []
