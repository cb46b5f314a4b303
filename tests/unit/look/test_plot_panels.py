"""What a run can be asked to plot, by name: the curves are those that the run itself gives."""

from __future__ import annotations

import itertools
import xml.dom.minidom

import numpy as np
import pytest

import momentree as mt
from momentree.errors import MomentreeError
from momentree.look.gallery import gallery
from momentree.look.plot_panels import panels_of
from momentree.look.run_picture import CURVES, DASHES


def example(name):
    return mt.load(next(one.model for one in gallery() if name in one.folder.name)).build()


@pytest.fixture(scope="module")
def run():
    system = example("08_four_bar")
    return system.simulate(system.assemble({"A": 1.0}), t_end=0.4, every=0.02)


def curves(run, what):
    return [values for panel in panels_of(run, what) for values in panel.curves.values()]


def test_coordinates_velocities_and_forces_are_those_of_the_run(run):
    assert np.array_equal(curves(run, "C"), [run["C"]])
    assert np.array_equal(curves(run, "C'"), [run.velocity("C")])
    assert np.array_equal(curves(run, "reactions of C"), run.reactions("C").T)
    assert np.array_equal(curves(run, "multipliers of C"), run.multipliers("C").T)
    assert np.array_equal(curves(run, "power of C"), [run.constraint_power("C")])
    assert np.array_equal(curves(run, "energy")[2], run.energy.total)
    assert np.max(curves(run, "closure error"), axis=0) == pytest.approx(run.closure_error)
    assert np.max(curves(run, "closure velocity"), axis=0) == pytest.approx(run.closure_velocity)
    units = [panel.label for what in ("A", "A'", "reactions of C") for panel in panels_of(run, what)]
    assert units == ["A, rad", "A', rad/s", "force of C, N", "moment of C, N m"]


def test_a_portrait_has_the_first_name_upwards(run):
    for what in ("A' against A", "phase of A"):
        (portrait,) = panels_of(run, what)
        assert portrait.labels == ("A, rad", "A', rad/s")
        assert np.array_equal(portrait.x, run["A"])
        assert np.array_equal(portrait.y, run.velocity("A"))


def test_a_path_is_drawn_in_its_plane_or_from_above_and_from_the_side(run):
    (portrait,) = panels_of(run, "path of coupler")
    assert (portrait.labels, portrait.equal) == (("x, m", "z, m"), True)
    assert np.array_equal(np.stack([portrait.x, portrait.y], axis=1), run.position("coupler")[:, ::2])
    tip = mt.model.frames.Frame("coupler", (1, 0, 0.5))
    assert np.array_equal(panels_of(run, tip)[0].y, run.position(tip)[:, 2])
    m = mt.Model("thrown", gravity=(0, 0, -9.81))
    m.joint("free", mt.Free(), "ground", m.body("ball", mt.sphere(mass=1.0, radius=0.1)))
    system = m.build()
    start = system.assemble(velocities={"free": (1, 2, 3, 0, 0, 1)})
    thrown = system.simulate(start, t_end=0.2, every=0.1)
    assert [one.labels for one in panels_of(thrown, "path of ball")] == [("x, m", "y, m"), ("x, m", "z, m")]
    assert np.array_equal(panels_of(thrown, "free.z")[0].curves[""], thrown["free"][:, 2])
    assert panels_of(thrown, "free.wz")[0].label == "free.wz, rad/s"
    assert [*panels_of(thrown, "free'")[0].curves][-1] == "wz, rad/s"
    with pytest.raises(MomentreeError, match="has 6 components and 'free' has 7"):
        panels_of(thrown, "phase of free")


@pytest.mark.long
def test_contacts_rolling_and_couplings(run):
    walker = example("walking").simulate(t_end=0.01, every=0.01)
    contact = walker.mechanism.contacts[0].name
    assert np.array_equal(curves(walker, f"force of {contact}"), walker.contact_force(contact).T)
    train = example("gear_train")
    turned = train.simulate(t_end=0.02, every=0.01)
    name = train.mechanism.constraints[0].name
    forces = turned.reactions(name)
    assert np.array_equal(curves(turned, f"reactions of {name}"), [*forces.joints.values()])
    assert np.array_equal(curves(turned, f"multipliers of {name}")[0], turned.multipliers(name)[:, 0])
    disc = example("rolling_disc").simulate(t_end=0.01, every=0.01)
    assert np.array_equal(curves(disc, "friction of roll 1"), [disc.friction_needed("roll 1")])


@pytest.mark.parametrize(
    ("what", "answer"),
    [
        ("Energy", "Did you mean 'energy'?"),
        ("reaction of C", "Did you mean 'reactions of C'?"),
        ("path of copler", "no body or frame 'copler'. Did you mean 'coupler'?"),
        ("A' agaisnt A", "Did you mean 'A' against A'?"),
        ("reactions of X", "there is no joint 'X'"),
        ("phase of X", "there is no joint 'X'"),
        (3, "Give names"),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest(run, what, answer):
    with pytest.raises(MomentreeError) as error:
        run.plot(what)
    assert answer in str(error.value)


def test_a_tree_has_no_closure_error():
    system = example("01_pendulum")
    pendulum = system.simulate(system.assemble({"phi": 1.0}), t_end=0.01, every=0.01)
    with pytest.raises(MomentreeError, match="no loop and no constraint"):
        pendulum.plot("closure error")


def test_one_picture_of_several_things(run, tmp_path):
    figure = run.plot("A", "A'", "phase of A", "path of coupler", path=tmp_path / "run.svg")
    labels = [axes.get_ylabel() for axes in figure.get_axes()]
    assert labels == ["A, rad", "A', rad/s", "A', rad/s", "z, m"]
    assert figure.get_axes()[1].get_xlabel() == "t, s"
    xml.dom.minidom.parse(str(tmp_path / "run.svg"))
    run.plot(str(tmp_path / "same.svg"), "A", "A'", "phase of A", "path of coupler")
    assert (tmp_path / "same.svg").read_bytes() == (tmp_path / "run.svg").read_bytes()
    assert len(run.plot("A", joints=["B"]).get_axes()) == 2
    with pytest.raises(MomentreeError, match="two files"):
        run.plot("a.svg", "b.svg")
    with pytest.raises(MomentreeError, match="not a kind of picture"):
        run.plot("a.gif")
    with pytest.raises(MomentreeError, match="do not fit"):
        run.plot(*["reactions of C"] * 30)


def test_no_two_curves_of_a_panel_look_the_same(run):
    looks = [(CURVES[i % len(CURVES)], DASHES[i % len(DASHES)]) for i in range(20)]
    assert len(set(looks)) == len(looks)
    assert all(one != other for one, other in itertools.pairwise(look[1] for look in looks))
    drawn = [(line.get_color(), str(line.get_linestyle())) for line in run.plot("energy").get_axes()[0].lines]
    assert len(set(drawn)) == len(drawn) == 3
