"""A saved model loads equal, whatever it is made of."""

from __future__ import annotations

import math
import os
import pickle
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import momentree as mt
from mechanisms import four_bar
from momentree.files import dumps, loads
from momentree.model.constraint_elements import CONSTRAINT_ELEMENTS
from momentree.model.joint_types import JOINTS

numbers = st.one_of(
    st.floats(min_value=1e-3, max_value=1e3), st.integers(1, 1000), st.sampled_from(["2*k", "k + 1/3", "sqrt(k)*1e-3"])
)
letters = st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters="`")
names = st.text(letters, min_size=1, max_size=8)
vectors = st.tuples(numbers, numbers, numbers)
axes = st.one_of(st.sampled_from(["x", "y", "z", "-x", "-y", "-z"]), vectors)
rotations = st.one_of(
    st.none(),
    st.builds(mt.turn, axes, numbers),
    st.lists(st.builds(mt.turn, axes, numbers), min_size=1, max_size=3),
    st.just((0.0, 0.6, 0.0, 0.8)),
    st.just(((0, -1, 0), (1, 0, 0), (0, 0, 1.0))),
)
laws = st.sampled_from(["sin(2*t)", "k*t^2", "1 - exp(-t)", 0.5, 3])


# elements that any body can have, from a positive number and an axis
CONSTRAINTS = [
    lambda m, body, x, n: [m.frame("tip", body.at((x, 0, 0))), m.constrain("tip.x^2 = K2 + t")],
    lambda m, body, x, n: m.constrain("tip.x' = k*tip.wz", name="blade") if m.frames else None,
    lambda m, body, x, n: m.roll(body, radius=x, disc=n, friction="k"),
    lambda m, body, x, n: m.roll(body, m.ground.at((0, 0, x), mt.turn("x", x)), "k", ball="2*k", name="on a ball"),
    lambda m, body, x, n: m.skate(body.at((0, x, 0)), n),
    lambda m, body, x, n: m.distance(m.ground.at((0, 1, x)), body, x),
    lambda m, body, x, n: m.on_surface(body, "x^2 + y^2 = k*z - t"),
    lambda m, body, x, n: m.on_curve(body, ["y = sin(x)", "z"], of=m.ground.at((x, 0, 0))),
]


@st.composite
def joints(draw):
    cls = JOINTS[draw(st.sampled_from(sorted(JOINTS)))]
    joint = cls.random(np.random.default_rng(draw(st.integers(0, 2**32 - 1))))
    fields = {}
    if len(cls.axis_fields) == 1:
        fields = draw(st.just({}) | st.fixed_dictionaries({cls.axis_fields[0]: axes}))
    count = len(cls.velocities)
    plain = count == len(cls.coordinates) and count > 0

    def each(values):
        return draw(values) if count == 1 else [draw(values) for _ in range(count)]

    option = draw(st.sampled_from(["none", "motion", "spring", "damping", "limits"]))
    if option == "motion" and count:
        fields["motion"] = each(laws)
    elif option == "spring" and plain:
        fields.update(spring=each(numbers), rest=each(numbers))
    elif option == "damping" and count:
        fields["damping"] = each(numbers)
    elif option == "limits" and plain:
        fields["limits"] = each(st.sampled_from([(-1.0, 1), (-math.inf, 0.5), ("-k", math.inf)]))
        if draw(st.booleans()):
            pairs = st.sampled_from([(1e3, 0), ("k", 2.5), (5, "k")])
            fields["stops"] = draw(st.one_of(pairs, st.just(each(pairs))))
    return replace(joint, **fields)


@st.composite
def models(draw):
    m = mt.Model(draw(st.text(letters, max_size=10)), gravity=draw(vectors))
    m.parameter("k", draw(st.one_of(st.floats(0.1, 100), st.integers(1, 5))))
    m.parameter("K2", "2*k")
    if draw(st.booleans()):
        m.ground.moves([draw(laws) for _ in range(3)], [draw(laws) for _ in range(3)])
    shapes = st.one_of(
        st.builds(mt.rod, numbers, numbers, numbers, axes),
        st.builds(mt.box, numbers, vectors, vectors),
        st.builds(mt.sphere, numbers, numbers),
        st.builds(mt.cylinder, numbers, numbers, numbers, axes, vectors),
    )
    bodies = []
    for name in draw(st.lists(names.filter(lambda n: n != "ground"), min_size=1, max_size=5, unique=True)):
        if draw(st.booleans()):
            bodies.append(m.body(name, draw(shapes)))
        else:
            J = draw(st.sampled_from([(1, 1.5, 1.2), (1.0, 1.0, 1.0, 0.1, 0, 0), ((1, 0, 0), (0, 1.5, 0), (0, 0, 1))]))
            bodies.append(m.body(name, mass=draw(numbers), com=draw(vectors), inertia=J, about="com"))
    for i, body in enumerate(bodies):
        before = draw(st.sampled_from([m.ground, *bodies[:i]]))
        ends = [before.at(draw(vectors), draw(rotations)), draw(st.sampled_from([body, body.at(draw(vectors))]))]
        m.joint(f"j{i}", draw(joints()), *draw(st.permutations(ends)))
    last = bodies[-1]
    elements = draw(st.sets(st.sampled_from(["force", "spring", "contact", "torque", "constraint"])))
    if "force" in elements:
        axes_of = draw(st.sampled_from(["ground", "body"]))
        m.force(last.at((1, 0, 0)), (0, "k*t", 1.5), moment=(0, 0, "sin(t)"), axes=axes_of)
    if "spring" in elements:
        m.spring(m.ground, last, draw(numbers), draw(numbers), rest=0.5, tension_only=draw(st.booleans()))
    if "contact" in elements:
        hunt_crossley = {"law": "hunt-crossley"}
        law = draw(st.sampled_from([{}, {"ramp": 2e-3}, hunt_crossley, {**hunt_crossley, "exponent": 2}]))
        shape = draw(st.sampled_from([{}, {"radius": "k"}, {"radius": "k", "disc": "x"}, {"ball": 0.5}]))
        m.contact(last, stiffness=1e5, damping="k", friction=0.3, slip=0.02, **law, **shape)
    for constrain in draw(st.sets(st.sampled_from(CONSTRAINTS))):
        constrain(m, last, draw(numbers), draw(axes))
    if draw(st.booleans()):
        free = [joint for joint in m.joints if joint.type.motion is None]
        said = [
            {joint.name: draw(entries(joint.type, what)) for joint in free if draw(st.booleans())}
            for what in ("coordinates", "velocities", "coordinates")
        ]
        times = {"t": draw(st.sampled_from([0, 0.0, "-k"])), "t_end": draw(st.sampled_from([None, 2000, "2000*k"]))}
        m.start_at(*said, **times, stiff=draw(st.booleans()))
    return m


def entries(joint, what):
    """What a start may say of a joint."""
    count = len(getattr(joint, what))
    return numbers if count == 1 else st.lists(numbers, min_size=count, max_size=count)


@given(models())
@settings(max_examples=150, deadline=None)
@pytest.mark.long
def test_what_is_saved_loads_equal(m):
    text = dumps(m)
    again = loads(text)
    assert again == m
    assert dumps(again) == text


def test_every_kind_of_entry_survives(tmp_path):
    m = four_bar()
    m.parameter("k", 100.0)
    m.torque("A", lambda t, A, A_rate: -6000 * (A - 2 * t) - mt.sin(A_rate))
    m.force("coupler", (0, 0, "-k"), axes="body")
    m.spring(m.ground, "coupler", "k", tension_only=True)
    m.contact("rocker", "ground", stiffness=1e4, ball=None)
    m.constrain("A' - 2*B'")
    m.constrain("A - 2*B", name="gears")
    m.cut("C")
    constrain_in_every_way(m)
    m.save(tmp_path / "m.toml")
    again = mt.load(tmp_path / "m.toml")
    assert again == m
    m.splits.clear()
    m.cuts.clear()
    m.split("coupler", "C", share=0.3)
    assert loads(dumps(m)) == m
    assert loads(dumps(m)) != again


def constrain_in_every_way(m):
    """Every element that constrains, with and without its defaults; there need not be a motion that fits."""
    arm, planet, slider = (m.body(name, mt.box(mass=1, size=(1, 1, 1))) for name in ("arm", "planet", "slider"))
    m.joint("carrier", mt.Revolute("z"), m.ground, arm)
    m.joint("P", mt.Revolute("z"), arm.at((1, 0, 0)), planet)
    m.joint("S", mt.Prismatic("x"), m.ground, slider)
    tip = m.frame("tip", arm.at((1, 0, 0), mt.turn("z", 0.5)))
    m.frame("middle", planet)
    m.constrain("tip.x^2 + tip.y^2 = k*t", name="circle")
    m.couple("A", "B", ratio="-k", offset=1)
    m.couple("A", {"B": 0.5, "S": "k"}, name="cable")
    m.gear("A", "B", teeth=(20, 40))
    m.gear("A", "P", radii=(1, "k"), internal=True, carrier="carrier", offset=0.1, name="inner")
    m.gear("carrier", "P", ratio=2)
    m.rack("A", "S", radius=0.1)
    m.belt("A", "B", (1, 2))
    m.belt("A", "B", (1, 2), crossed=True, offset=1, name="crossed")
    m.planetary("A", None, "carrier", (20, 60), planets=["P"])
    m.planetary(None, "A", "carrier", ("k/10", 60))
    m.differential("A", "D", "carrier")
    m.screw("A", "S", pitch=-0.01, offset="k")
    m.roll(planet, radius=1)
    m.roll(planet, tip, 1, disc=(0, 1, 0), ball=-2.5, friction=0.5)
    m.skate(slider)
    m.skate(slider.at((1, 0, 0)), across="x", on=arm, name="blade")
    m.distance(tip, slider, "2*k")
    m.on_surface(slider, lambda x, y, z: z - x * y)
    m.on_surface(slider, "x = z", of=tip)
    m.on_curve(slider, ("y = sin(x)", "z = 0"), of=arm)


def test_every_element_that_constrains_was_tried():
    m = four_bar()
    m.parameter("k", 100.0)
    constrain_in_every_way(m)
    assert all(getattr(m, cls.collection) for cls in CONSTRAINT_ELEMENTS)
    assert m.frames
    for cls in CONSTRAINT_ELEMENTS:
        other = loads(dumps(m))
        getattr(other, cls.collection).pop()
        assert other != m


def test_a_name_may_be_left_out_of_a_file():
    m = four_bar()
    m.gear("A", "B", ratio=2)
    m.gear("A", "D", ratio=3)
    text = dumps(m)
    assert 'name = "gear 2"' in text
    assert loads(text.replace('name = "gear 1"\n', "").replace('name = "gear 2"\n', "")) == m


def test_the_line_of_every_constraint_is_known():
    m = four_bar()
    m.parameter("k", 100.0)
    constrain_in_every_way(m)
    text = dumps(m)
    lines, again = text.split("\n"), loads(text, "m")
    for cls in CONSTRAINT_ELEMENTS:
        for element in getattr(m, cls.collection):
            place = again.place_of("constraint", element.name)
            assert lines[int(place.removeprefix("m:")) - 1] == f"[[{cls.kind}]]"
    assert again.place_of("constraint", "planetary 1: planet P") == again.place_of("joint", "planetary 1") != ""


def test_names_with_dashes_and_blanks_are_quoted_in_expressions():
    m = mt.Model("limbs")
    m.joint("left-hip", mt.Revolute("y"), m.ground, m.body("left thigh", mt.rod(mass=1.0, length=0.4)))
    m.torque("left-hip", "-3*`left-hip` - 0.1*`left-hip`'")
    assert loads(dumps(m)) == m
    assert m.check() == []


def test_a_model_differs_from_a_changed_one():
    for change in (
        lambda m: m.parameter("k", 1),
        lambda m: m.cut("A"),
        lambda m: m.ground.moves(("t", 0, 0)),
        lambda m: m.constrain("A"),
        lambda m: m.bodies.reverse(),
        lambda m: setattr(m, "gravity", (0, 0, 1)),
        lambda m: m.start_at({"A": 1}),
    ):
        m = four_bar()
        change(m)
        assert m != four_bar()
    assert four_bar() == four_bar()


def test_numbers_keep_every_digit_and_their_kind():
    m = mt.Model("digits", gravity=(0.1, 1e-300, 1 / 3))
    m.body("b", mass=5e-324 + 1e-5, inertia=(1, 1.0, 1))
    again = loads(dumps(m))
    assert again.gravity == (0.1, 1e-300, 1 / 3)
    assert [type(x) for x in again.bodies[0].inertia] == [int, float, int]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_saving_where_nobody_may_write_is_a_clear_error(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(mt.ModelError, match="cannot be written"):
        four_bar().save(tmp_path / "m.toml")


def test_saving_into_a_folder_that_is_not_there_is_a_clear_error(tmp_path):
    with pytest.raises(mt.ModelError, match="cannot be written: No such file or directory"):
        four_bar().save(tmp_path / "nowhere" / "m.toml")


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "m.toml"
    four_bar().save(path)
    before = path.read_bytes()
    bad = four_bar()
    bad.parameters.append(("k", object()))  # what no file can hold
    with pytest.raises(mt.MomentreeError):
        bad.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_length_tolerance_is_kept():
    m = four_bar()
    assert "tolerance" not in dumps(m)
    for tolerance in (1e-5, "2*play"):
        m.parameters = [("play", 1e-4)]
        m.tolerance = tolerance
        again = loads(dumps(m))
        assert again == m
        assert again.build().mechanism.tolerance == (1e-5 if tolerance == 1e-5 else 2e-4)


def test_a_start_with_rates_as_older_files_have_it_is_read_and_written_as_velocities():
    model = four_bar()
    model.start_at({"A": 1.0}, velocities={"A": 2.0})
    text = dumps(model)
    assert "\nvelocities = { A = 2.0 }" in text
    assert loads(text.replace("\nvelocities =", "\nrates =")) == model
    with pytest.raises(mt.ModelError, match="unknown key 'rates'"):
        loads(text.replace("\nvelocities =", "\nrates = { A = 1.0 }\nvelocities ="))


def test_a_model_from_a_file_is_pickled_with_its_lines(tmp_path):
    four_bar().save(tmp_path / "four-bar.toml")
    model = mt.load(tmp_path / "four-bar.toml")
    again = pickle.loads(pickle.dumps(model))
    assert again == model
    assert again.place_of("joint", "C") == model.place_of("joint", "C") != ""
    assert pickle.loads(pickle.dumps(model.build())).nv == 3
