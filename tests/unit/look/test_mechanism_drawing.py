"""Drawings of mechanisms: symbols stand where the system says that its joints are, and any name can be drawn."""

from __future__ import annotations

import re
import xml.dom.minidom

import numpy as np
import pytest

import momentree as mt
from momentree.errors import MomentreeError
from momentree.look.gallery import gallery
from momentree.look.mechanism_drawing import UNIT, Moment, _sheet
from momentree.look.mechanism_symbols import GROUND_ORDER, PIVOT_ORDER, SLIDER_ORDER
from momentree.look.projection import view_of
from momentree.look.scene import poses_of, scene_of

MODELS = {example.folder.name[3:]: example.model for example in gallery() if example.model.exists()}


def sheet_of(system, state, view="auto"):
    poses = poses_of(system._numeric, state.q[None], np.array([state.t]))
    seen = view_of(view, system._numeric, poses)
    return _sheet(Moment(system._numeric, scene_of(system), poses, 0, seen), UNIT * system._numeric.size, names=True)


def middles(sheet, order):
    return np.array([area.points.mean(axis=0) for area in sheet.areas if area.order == order])


def contains(points, wanted):
    return all(np.linalg.norm(points - np.asarray(one), axis=1).min() < 1e-9 for one in wanted)


def test_pivots_of_a_four_bar_are_where_its_joints_are():
    system = mt.load(MODELS["four_bar"]).build()
    state = system.assemble({"A": 1.0})
    sheet = sheet_of(system, state)
    joints = [system.position(state, "crank"), system.position(state, "coupler"), system.position(state, "rocker")]
    joints.append(system.position(state, mt.model.frames.Frame("coupler", (2, 0, 0))))
    pivots = middles(sheet, PIVOT_ORDER)
    assert len(pivots) == 4
    assert contains(pivots, np.array(joints)[:, [0, 2]])
    assert [text.text for text in sheet.texts if text.text in "ABCD"] == ["A", "B", "D", "C"]
    # two supports on the ground, below or above their pivots
    triangles = [area for area in sheet.areas if len(area.points) == 3]
    assert contains(np.array([area.points[0] for area in triangles]), np.array(joints)[[0, 2]][:, [0, 2]])
    assert len(triangles) == 2


def test_a_slider_is_a_box_on_its_guide_and_a_spring_runs_between_its_ends():
    system = mt.load(MODELS["slider_with_a_rod"]).build()
    state = system.start()
    sheet = sheet_of(system, state)
    assert contains(middles(sheet, SLIDER_ORDER), [system.position(state, "slider")[:2]])
    spring = system._model.springs[0]
    zigzag = next(one.points for one in sheet.strokes if len(one.points) > 10)
    ends = [system.position(state, frame)[:2] for frame in (spring.first, spring.second)]
    assert zigzag[[0, -1]] == pytest.approx(np.array(ends))
    assert np.linalg.norm(np.diff(zigzag, axis=0), axis=1).sum() > 1.1 * np.linalg.norm(zigzag[-1] - zigzag[0])


def test_a_link_with_three_joints_is_a_polygon():
    system = mt.load(MODELS["andrews_squeezer"]).build()
    state = system.start()
    sheet = sheet_of(system, state)
    corners = [system.position(state, mt.model.frames.Frame("K3", at))[:2] for at in ((0, 0, 0), (0.02, -0.018, 0))]
    polygons = [area.points for area in sheet.areas if area.alpha < 1 and len(area.points) == 3]
    assert any(contains(polygon, corners) for polygon in polygons)


@pytest.mark.repeats(2)
@pytest.mark.parametrize("name", MODELS)
def test_every_model_of_the_gallery_is_drawn_the_same_again(name, tmp_path):
    system = mt.load(MODELS[name]).build()
    for file in ("a.svg", "b.svg"):
        system.draw(tmp_path / file)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    xml.dom.minidom.parse(str(tmp_path / "a.svg"))
    texts = " ".join(re.findall(r">([^<]+)</text>", (tmp_path / "a.svg").read_text()))
    for body in system._model.bodies:
        assert body.name in texts


def test_states_and_views_can_be_chosen(tmp_path):
    system = mt.load(MODELS["four_bar"]).build()
    start = system.assemble({"A": 0.5})
    for i, state in enumerate((start, start.q)):
        system.draw(tmp_path / f"{i}.svg", state, view="xz")
    assert (tmp_path / "0.svg").read_bytes() == (tmp_path / "1.svg").read_bytes()
    system.draw(tmp_path / "2.svg", {"A": 1.5})
    assert (tmp_path / "0.svg").read_bytes() != (tmp_path / "2.svg").read_bytes()
    assert len(system.draw(view="space", names=False).get_axes()[0].texts) == 0
    for state, view, message in (
        ([0.1], "auto", "3 numbers"),
        (None, "xx", "no view 'xx'"),
        (None, (1, 2, 3), "no view"),
    ):
        with pytest.raises(MomentreeError, match=message):
            system.draw(state=state, view=view)
    with pytest.raises(MomentreeError, match="not a kind of picture"):
        system.draw("a.gif")


def test_a_strip_of_instants_shows_the_run_at_these_times():
    system = mt.load(MODELS["four_bar"]).build()
    run = system.simulate(system.assemble({"A": 1.0}), t_end=0.4, every=0.1)
    figure = run.draw(times=[0.1, 0.3])
    assert [axes.get_title() for axes in figure.get_axes()] == ["t = 0.1 s", "t = 0.3 s"]
    for axes, index in zip(figure.get_axes(), (1, 3), strict=True):
        drawn = np.array([patch.get_xy()[:-1].mean(axis=0) for patch in axes.patches if len(patch.get_xy()) == 49])
        assert contains(drawn, [run.position("coupler")[index, [0, 2]]])
    assert len(run.draw(times=4, overlaid=True).get_axes()) == 1
    assert len(run.draw().get_axes()) == 5
    for times in (0, 1000, [], [0.7], [float("nan")]):
        with pytest.raises(MomentreeError, match="draw: "):
            run.draw(times=times)


def test_a_joint_that_was_released_is_not_drawn_any_more():
    system = mt.load(MODELS["hinge_that_releases"]).build()
    run = system.simulate(every=0.5)
    first, last = run.draw(times=2, names=False).get_axes()
    assert len(first.patches) > len(last.patches)


NAMES = ["<script>alert(1)</script>", "\"';--", "$x^2$", r"$\undefinedmacro$", "]]>&amp;", "x" * 10_000, "日本"]


@pytest.mark.filterwarnings("error")
@pytest.mark.long
def test_names_do_no_harm(tmp_path):
    m = mt.Model("<script>$")
    last = m.ground
    for name in NAMES:
        link = m.body(name, mt.rod(mass=1.0, length=1.0))
        m.joint(name, mt.Revolute("y"), last, link)
        last = link.at((1, 0, 0))
    system = m.build()
    system.draw(tmp_path / "a.svg")
    run = system.simulate(system.assemble(), t_end=0.02, every=0.01)
    both = [what for name in NAMES for what in (name, f"phase of {name}")]
    run.plot(*both, f"path of {NAMES[0]}", f"reactions of {NAMES[-2]}", path=tmp_path / "b.svg")
    run.draw(tmp_path / "c.png", times=2)
    for picture in ("a.svg", "b.svg"):
        page = xml.dom.minidom.parse(str(tmp_path / picture))
        assert not page.getElementsByTagName("script")
        assert "x" * 100 not in (tmp_path / picture).read_text()


def pendulum() -> mt.Model:
    m = mt.Model("pendulum")
    m.parameter("l", 0.8)
    bob = m.body("bob", mass=1.0, com=(0, 0, "-l"), inertia=(0.1, 0.1, 0.1), shapes=[mt.rod(length="l", along="-z")])
    m.joint("A", mt.Revolute("y"), m.ground.at(("l", 0, 0)), bob)
    return m


@pytest.mark.parametrize("way", ["draw", "look"])
def test_a_state_is_shown_with_the_values_that_it_carries(way, tmp_path):
    system = pendulum().build(free=["l"])
    short = system.assemble({"A": 0.5}, parameters={"l": 0.4})
    own, at = system.assemble({"A": 0.5}), system.with_parameters(l=0.4)
    shown = []
    for number, (of, state) in enumerate(((system, short), (at, short), (at, at.assemble({"A": 0.5})), (system, own))):
        path = tmp_path / f"{number}.{'svg' if way == 'draw' else 'html'}"
        getattr(of, way)(path, state=state)
        shown.append(path.read_bytes())
    assert shown[0] == shown[1] == shown[2] != shown[3]


@pytest.mark.parametrize("way", ["draw", "look"])
def test_a_run_s_state_is_shown_with_its_values_and_one_of_another_system_refused(way, tmp_path):
    system, name = pendulum().build(free=["l"]), f"x.{'svg' if way == 'draw' else 'html'}"
    run = system.simulate(system.assemble({"A": 0.5}), t_end=0.2, parameters={"l": 0.4})
    getattr(system, way)(tmp_path / name, state=run.state())
    shown = (tmp_path / name).read_bytes()
    getattr(run.system, way)(tmp_path / name, state=run.state())
    assert (tmp_path / name).read_bytes() == shown
    with pytest.raises(MomentreeError, match=f"{way}: the state belongs to another system"):
        getattr(mt.load(MODELS["four_bar"]).build(), way)(tmp_path / name, state=run.state())


def test_the_ground_of_overlaid_drawings_is_drawn_once():
    system = mt.load(MODELS["four_bar"]).build()
    run = system.simulate(system.assemble({"A": 1.0}, velocities={"A": 6.0}), t_end=1.0, every=0.05)
    for figure in (run.draw(times=[1.0]), run.draw(times=5, overlaid=True)):
        assert sum(patch.get_zorder() == GROUND_ORDER + 0.5 for patch in figure.get_axes()[0].patches) == 2
