"""Every list of a model: what stands in it is stored, checked, and missed where a format has no place for it.

The lists are found by the fields of `Model`; one that is new has to be filled here, and then all of this holds for it.
"""

from __future__ import annotations

import dataclasses
import re
from typing import get_origin, get_type_hints

import pytest

import momentree as mt
from momentree.model.frames import Frame

LISTS = [name for name, hint in get_type_hints(mt.Model).items() if get_origin(hint) is list]
# what a robot file expresses, or has no need of: numbers, drawings, and a tree whose loops are opened
EXPRESSED = {"parameters", "tables", "inputs", "outputs", "bodies", "joints", "frames", "shapes", "cuts", "splits"}
# and these in part: dry friction, linear equations of coordinates
IN_PART = {"torques", "constraints", "couples", "gears", "racks", "belts", "planetaries", "differentials", "screws"}


def links(hinges="ABCDE"):
    m = mt.Model("links")
    for name in hinges:
        joint = mt.Prismatic("x") if name == "E" else mt.Revolute("z")
        m.joint(name, joint, m.ground, m.body(f"link {name}", mt.box(mass=1.0, size=(1, 0.2, 0.1))))
    return m


def link(m, i=0):
    return m.bodies[i].at((0.1, 0.2, 0.3), mt.turn("x", 0.3))


def closed(m):
    """A joint that closes a loop."""
    m.joint("loop", mt.Spherical(), m.bodies[0], m.bodies[1])


# an element for each list of a model
FILL = {
    "parameters": lambda m: m.parameter("k", 2.0),
    "tables": lambda m: m.table("cam", (0, 1, 2), (0, 1, 0)),
    "inputs": lambda m: m.input("drive", 1.0),
    "outputs": lambda m: m.output("angle", "A + B"),
    "bodies": lambda m: None,
    "joints": lambda m: None,
    "torques": lambda m: m.torque("A", "sin(t)"),
    "latches": lambda m: m.latch("B", 2.0),
    "forces": lambda m: m.force(link(m), (1, 2, "t")),
    "springs": lambda m: m.spring(m.ground, link(m), 3.0),
    "contacts": lambda m: m.contact(link(m), stiffness=1e4),
    "frames": lambda m: m.frame("tip", link(m)),
    "shapes": lambda m: m.shape(m.bodies[0], mt.box(size=(1, 1, 1))),
    "constraints": lambda m: m.constrain("sin(A) = B"),
    "couples": lambda m: m.couple("A", "B", 2.0),
    "gears": lambda m: m.gear("A", "B", teeth=(20, 30)),
    "racks": lambda m: m.rack("A", "E", 0.2),
    "belts": lambda m: m.belt("A", "B", (0.1, 0.2)),
    "planetaries": lambda m: m.planetary("A", "B", "C", teeth=(20, 60)),
    "differentials": lambda m: m.differential("A", "B", "C"),
    "screws": lambda m: m.screw("A", "E", 0.01),
    "rolls": lambda m: m.roll(link(m), radius=0.3, disc="z"),
    "skates": lambda m: m.skate(link(m)),
    "distances": lambda m: m.distance(m.ground, link(m), 1.0),
    "surfaces": lambda m: m.on_surface(link(m), "x^2 + y^2 = z"),
    "curves": lambda m: m.on_curve(link(m), ["y = x", "z"]),
    "releases": lambda m: (closed(m), m.release("loop", when="t - 1")),
    "switches": lambda m: (m.constrain("A = B", name="clutch"), m.switch("clutch", on="t - 1")),
    "cuts": lambda m: (closed(m), m.cut("loop")),
    "splits": lambda m: (closed(m), m.split(m.bodies[0], "loop")),
}


def with_one(name):
    m = links()
    FILL[name](m)
    return m


def test_every_list_is_filled():
    assert {*FILL} == {*LISTS}
    assert all(getattr(with_one(name), name) for name in LISTS)


@pytest.mark.parametrize("name", LISTS)
def test_it_is_stored_in_a_model_file(name, tmp_path):
    m = with_one(name)
    m.save(tmp_path / "m.toml")
    again = mt.load(tmp_path / "m.toml")
    assert getattr(again, name) == getattr(m, name)
    assert again == m


@pytest.mark.parametrize("name", [name for name in LISTS if name not in EXPRESSED - {"frames", "splits", "inputs"}])
def test_it_is_a_part_of_the_mechanism(name):
    without, with_it = (parts_of(m.build().mechanism) for m in (links(), with_one(name)))
    assert with_it > without


def parts_of(mechanism):
    parts = (getattr(mechanism, field.name) for field in dataclasses.fields(mechanism))
    return sum(len(part) for part in parts if isinstance(part, tuple))


@pytest.mark.parametrize("name", [name for name in LISTS if name not in EXPRESSED])
@pytest.mark.parametrize("format", ["urdf", "sdf", "mjcf"])
def test_a_robot_file_loses_nothing_without_a_word(name, format, tmp_path):
    m = with_one(name)
    path = tmp_path / f"m.{format}"
    refused = saving_refused(m, path)
    if refused:
        names = [value.body if isinstance(value, Frame) else value for value in vars(getattr(m, name)[0]).values()]
        assert any(isinstance(value, str) and value and value in refused for value in [*names, name[:-1]])
        return
    assert name in IN_PART
    again = mt.load(path)
    assert len(again.build().mechanism.constraints) + len(again.torques) > 0


def saving_refused(m, path):
    """The message, where the format cannot express the model."""
    try:
        m.save(path)
    except mt.MomentreeError as error:
        return str(error)
    return ""


NAMES = {*"ABCE", "loop", "clutch", "link A"}  # what the elements above name


@pytest.mark.parametrize("name", LISTS)
def test_what_is_not_there_is_named(name):
    m = with_one(name)
    broken = [change for element in getattr(m, name) for change in misnamed(name, element)]
    for element, changed in broken:
        other = m.copied()
        getattr(other, name)[:] = [changed if each is element else each for each in getattr(m, name)]
        with pytest.raises(mt.MomentreeError, match="nobody"):
            other.build()
    assert broken or name in {"parameters", "tables", "inputs", "outputs", "bodies", "constraints"}


def misnamed(name, element):
    """The element, and the same with one of its frames, joints, bodies or constraints of another name."""
    if isinstance(element, str):
        yield element, "nobody"
    for field in dataclasses.fields(element) if dataclasses.is_dataclass(element) else ():
        value = getattr(element, field.name)
        if isinstance(value, Frame) and value.body != "ground":
            yield element, dataclasses.replace(element, **{field.name: dataclasses.replace(value, body="nobody")})
        if isinstance(value, str) and value in NAMES and (field.name != "name" or name == "switches"):
            yield element, dataclasses.replace(element, **{field.name: "nobody"})


@pytest.mark.parametrize("name", [name for name in LISTS if name in IN_PART - {"torques"} or name == "forces"])
def test_no_equation_or_force_names_a_joint_that_is_released(name):
    m = links()
    if name == "forces":
        m.force(link(m, 4), ("A", 0, 0))
    else:
        FILL[name](m)
    assert not m.check()
    m.joint("P", mt.Prismatic("y"), m.ground, m.bodies[0])
    m.release("A", when="t - 1")
    message = re.escape("joint 'A', which is switched or released")
    assert any(re.search(message, str(problem)) for problem in m.check())
