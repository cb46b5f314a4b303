"""The viewer without a browser: what the server shows, drags, plays and writes."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.errors import MomentreeError
from momentree.look.motion_frames import motion_frames
from momentree.look.stage import close_server, open_server
from momentree.look.viewer import _server
from momentree.look.viewer_model import ModelView
from momentree.look.viewer_run import RunView
from momentree.simulate.blocks import Block


@pytest.fixture(scope="module")
def system():
    return four_bar().build()


@pytest.fixture(scope="module")
def run(system):
    return system.simulate(system.assemble({"A": 1.0}), t_end=1.0, every=1 / 30)


@pytest.fixture
def viewer(system):
    viewer = system.look(state=system.assemble({"A": 1.0}), browser=False, wait=False)
    yield viewer
    viewer.close()


def slider_of(view, joint):
    return next((slider, handle) for slider, handle in view.sliders if slider.joint == joint)


def test_it_prints_nothing_and_only_this_machine_reaches_it(viewer, capfd):
    assert viewer.url.startswith("http://127.0.0.1:")
    assert viewer._server.get_host() == "127.0.0.1"
    assert repr(viewer) == f"Viewer('{viewer.url}')"
    assert capfd.readouterr().out == ""


def test_a_value_beyond_reach_is_explained_and_taken_back(viewer):
    view, (slider, handle) = viewer.view, slider_of(viewer.view, "D")
    before = view.state
    handle.value = 1.5  # the rocker never comes there
    view.moves.ask((slider, lambda: view._with(slider, 1.5)))
    assert view.moves.wait()
    assert view.message.visible
    assert "cannot" in view.message.value
    assert view.state is before
    assert handle.value == pytest.approx(before["D"], abs=1e-3)
    view.moves.ask((slider, lambda: view._with(slider, float(before["D"]) - 0.01)))
    assert view.moves.wait()
    assert not view.message.visible
    assert view.state.closure_error < 1e-9


def test_a_dragged_body_follows_the_pointer_and_the_loop_stays_closed(viewer, system):
    """The tip of the crank is drawn to a point on its circle, the middle of the rocker to one off its path."""
    view = viewer.view
    target = np.array([np.cos(0.7), 0, -np.sin(0.7)])
    for _ in range(5):
        view.state = view.dragged(1, np.array([1.0, 0, 0]), target)
        assert view.state.closure_error < 1e-9
    crank = mt.model.frames.Frame("crank", (1.0, 0.0, 0.0))
    assert system.position(view.state, crank) == pytest.approx(target, abs=1e-3)
    rocker = mt.model.frames.Frame("rocker", (1.0, 0.0, 0.0))
    number = 1 + [body.name for body in system.mechanism.bodies].index("rocker")
    away = system.position(view.state, rocker) + np.array([-0.1, 0.3, 0])
    moved = view.dragged(number, np.array([1.0, 0, 0]), away)
    assert np.linalg.norm(system.position(moved, rocker) - away) < 0.305  # 0.3 cannot be bridged
    assert moved.closure_error < 1e-9


def test_a_prescribed_joint_follows_the_time():
    m = mt.Model("driven")
    arm = m.body("arm", mt.rod(mass=1.0, length=1.0))
    m.joint("A", mt.Revolute("y", motion="2*t"), m.ground, arm)
    viewer = m.build().look(browser=False, wait=False)
    try:
        assert viewer.view.sliders == []
    finally:
        viewer.close()


def test_a_run_plays_loops_and_stops_at_its_end(run):
    viewer = run.look(browser=False, wait=False)
    player, view = viewer.player, viewer.view
    try:
        player.start()
        deadline = time.monotonic() + 20
        while view.index < 5 and time.monotonic() < deadline:
            time.sleep(0.02)
        player.pause()
        assert view.index >= 5
        handle = view.stage.main.bodies[2]
        assert handle.position == pytest.approx(run.position(run.mechanism.bodies[1].name)[view.index], abs=1e-12)
        player.seek(0.99)
        player.playing = True
        player._advance(0.2)
        assert view.frames.t[view.index] < 0.5  # once more from the beginning
        player.again.value = False
        player._advance(2.0)
        assert (view.index, player.playing) == (len(view.frames.t) - 1, False)
    finally:
        viewer.close()


@pytest.mark.filterwarnings("error")
def test_a_page_may_be_closed_while_it_plays(run):
    viewer = run.look(browser=False, wait=False)
    viewer.player.start()
    time.sleep(0.1)
    viewer.close()
    assert not viewer.player._thread.is_alive()


def test_arrows_traces_ghost_and_a_followed_body(system, run):
    other = system.simulate(system.assemble({"A": 1.2}), t_end=0.5, every=1 / 30)
    viewer = run.look(ghost=other, arrows=["velocities", "reactions"], follow="rocker", browser=False, wait=False)
    view = viewer.view
    try:
        view.show(9)
        assert view.stage.ghost.bodies[1].position == pytest.approx(other.position("crank")[9], abs=1e-12)
        view.show(30)
        name = run.mechanism.bodies[-1].name
        number = len(run.mechanism.bodies)
        assert view.stage.ghost.bodies[number].position == pytest.approx(other.position(name)[-1], abs=1e-12)
        assert {*view.arrows} == {"velocities", "reactions"}
        with pytest.raises(MomentreeError, match="there are no arrows 'winds'"):
            view.add_arrows("winds")
        with pytest.raises(MomentreeError, match=r"no body 'rokcer' to follow.*'rocker'"):
            view.follow("rokcer")
    finally:
        viewer.close()


def test_a_ghost_of_another_system_is_refused(run):
    m = mt.Model("other")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("arm", mt.rod(mass=1.0, length=1.0)))
    system = m.build()
    other = system.simulate(system.assemble(), t_end=0.1)
    with pytest.raises(MomentreeError, match="another system"):
        run.look(ghost=other, browser=False, wait=False)


def test_pages_are_files(system, run, tmp_path):
    system.look(save=tmp_path / "system.html")
    run.look(save=tmp_path / "run.html", arrows="forces", traces=["coupler"])
    for name in ("system.html", "run.html"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "<title>four-bar</title>" in text
        assert len(text) < 1.2e6
    assert sorted(os.listdir(tmp_path)) == ["run.html", "system.html"]
    with pytest.raises(MomentreeError, match=r"End the name in \.html"):
        run.look(save=tmp_path / "run.mp4")


def test_bad_ports_are_refused(system):
    with pytest.raises(MomentreeError, match="there is no port 99999"):
        system.look(port=99999, browser=False, wait=False)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"port": "x"}, "there is no port x"),
        ({"port": 8080.5}, r"there is no port 8080\.5"),
        ({"rate": "fast"}, "a rate of fast"),
        ({"rate": -1}, "a rate of -1"),
        ({"ghost": "other.nc"}, "the ghost is a str"),
        ({"arrows": 3}, "there are no arrows '3'"),
        ({"traces": 3}, "3 is not a frame"),
        ({"traces": "cuopler"}, "there is no body 'cuopler'"),
        ({"follow": 3}, "there is no body '3'"),
    ],
)
def test_wrong_arguments_are_explained(run, tmp_path, wrong, message):
    with pytest.raises(MomentreeError, match=message):
        run.look(save=tmp_path / "run.html", **wrong)
    assert os.listdir(tmp_path) == []


def test_a_state_of_another_system_is_refused(system, tmp_path):
    other = two_links().build().assemble()
    for state in (other, 3, system.assemble().q):
        with pytest.raises(MomentreeError, match="the state belongs to another system"):
            system.look(state=state, save=tmp_path / "x.html")


def two_links(scale=1.0):
    m = mt.Model("two links", gravity=(0, 0, -9.81))
    one, two = (m.body(name, mt.rod(mass=1.0, length=scale)) for name in ("one", "two"))
    m.joint("A", mt.Revolute("y"), m.ground, one)
    m.joint("B", mt.Revolute("y"), one.at((scale, 0, 0)), two)
    return m


def with_samples(run, order, t=None):
    """The run with some of its samples, at other times if given."""
    samples = run.samples
    picked = {name: getattr(samples, name)[order] for name in ("t", "q", "v", "work")}
    return replace(run, samples=Block(**{**picked, "t": picked["t"] if t is None else t}))


@pytest.mark.long
def test_pages_of_nothing_of_little_and_of_much(tmp_path):
    """No bodies; a body without shapes and joints to others; a run of two samples; one of a million."""
    path = tmp_path / "page.html"
    empty = mt.Model("nothing").build()
    empty.look(save=path)
    empty.simulate(empty.assemble(), t_end=0.1).look(save=path)
    m = mt.Model("free")
    m.joint("x", mt.Free(), m.ground, m.body("point", mass=1.0, inertia=(1, 1, 1)))
    free = m.build()
    free.look(save=path)
    free.simulate(free.assemble(), t_end=1.0, every=1.0).look(save=path, traces=True, arrows=["velocities", "forces"])
    system = two_links().build()
    run = system.simulate(system.assemble(), t_end=0.01, every=0.005)
    with_samples(run, np.arange(10**6) % 3, np.linspace(0, 1000, 10**6)).look(save=path, traces=True, rate=0.5)
    assert path.stat().st_size < 5e6


def test_events_of_a_run_are_frames_like_others(tmp_path):
    """Two samples at one time, before and after an event."""
    system = two_links().build()
    run = system.simulate(system.assemble(), t_end=0.1, every=0.05)
    twice = with_samples(run, np.array([0, 1, 1, 2]))
    frames = motion_frames(twice)
    assert np.isfinite(frames.positions).all()
    assert frames.positions[-1] == pytest.approx(motion_frames(run).positions[-1], abs=1e-12)
    twice.look(save=tmp_path / "page.html")


def test_a_port_in_use_two_pages_and_a_second_end(system, run):
    first = system.look(port=18080, browser=False, wait=False)
    second = run.look(port=18080, browser=False, wait=False)
    try:
        assert first.url != second.url
    finally:
        second.close()
        first.close()
        first.close()


@pytest.mark.parametrize("name", ["16_rolling_disc", "05_heavy_top_and_flipping_body", "09_slider_crank"])
def test_models_of_the_gallery_are_shown(name):
    from momentree.look.gallery import gallery

    example = next(example for example in gallery() if example.model.parent.name == name)
    server = open_server()
    try:
        view = ModelView(server, mt.load(example.model).build())
        view.add_controls()
        bodies = [body for body in view.mechanism.bodies if not body.image_of]
        assert {body.number for body in bodies} <= {*view.stage.main.bodies}
    finally:
        close_server(server)


def test_the_camera_sees_all_that_the_bodies_pass_through():
    m = mt.Model("slider", gravity=(0, 0, 0))
    m.joint("x", mt.Prismatic("x"), m.ground, m.body("block", mt.box(1.0, (1, 1, 1))))
    system = m.build()
    run = system.simulate(system.assemble(velocities={"x": 1.0}), t_end=2.5, every=0.5)
    with _server(None, "slider", lasting=False) as server:
        view = RunView(server, run, motion_frames(run, None))
        assert view.traveller() is None
        camera = server.initial_camera
        eye, middle = np.array(camera.position), np.array(camera.look_at)
        seen = np.linalg.norm(eye - middle) / 2.2  # the radius of what it takes in
        for x in (run["x"].min() - 0.5, run["x"].max() + 0.5):
            corner = view.stage.on_page(np.array([[x, 0.5, 0.5]]))[0]
            assert np.linalg.norm(corner - middle) <= seen * (1 + 1e-9)
