"""Constraints in tables and in --json: kinds, ends, how many positions and velocities each rules, equations."""

from __future__ import annotations

import json

import momentree as mt
from momentree.look.constraint_list import listed_constraints
from momentree.look.tables import constraints_table, counts, structure_data, structure_report


def mixed() -> mt.System:
    m = mt.Model("mixed")
    ball = m.body("ball", mass=1.0, inertia=(1, 1, 1))
    m.joint("floating", mt.Free(), m.ground, ball)
    for i, name in enumerate("AB"):
        wheel = m.body(f"wheel {name}", mass=1.0, inertia=(1, 1, 1))
        m.joint(name, mt.Revolute("z"), m.ground.at((float(i), 0, 2)), wheel)
    m.frame("tip", ball.at((0.1, 0, 0)))
    m.roll(ball, radius=0.2)
    m.on_surface(m.bodies[1].at((1, 0, 0)), "x^2 + y^2 = 1", of=m.ground.at((0, 0, 2)))
    m.gear("A", "B", ratio=3)
    m.constrain("tip.z = 0.2*B + 0.2", "lift")
    m.constrain("tip.x' = A'", "slide")
    return m.build()


def test_every_constraint_is_listed_with_its_ends_and_rows():
    found = {each.name: each for each in listed_constraints(mixed().structure)}
    assert [*found] == ["roll 1", "surface 1", "lift", "slide", "gear 1"]
    assert found["roll 1"].between == ("ground", "ball")
    assert found["roll 1"].holonomic == (True, False, False)
    assert (found["roll 1"].kind, found["surface 1"].kind) == ("Rolling", "OnSurfaces")
    assert (found["gear 1"].kind, found["lift"].kind) == ("gear", "constraint")
    assert found["gear 1"].between == ("A", "B")
    assert found["lift"].between == ("B", "tip")
    assert (found["lift"].position_rows, found["lift"].velocity_rows) == (1, 0)
    assert (found["slide"].position_rows, found["slide"].velocity_rows) == (0, 1)
    assert [len(each.equations) for each in found.values()] == [0, 1, 1, 1, 1]


def test_the_table_says_what_each_constraint_rules():
    system = mixed()
    lines = {line.split("  ")[0]: line for line in constraints_table(system.structure).splitlines()}
    assert lines["roll 1"].split()[-2:] == ["1", "2"]
    assert "ball on ground" in lines["roll 1"]
    assert "A, B" in lines["gear 1"]
    assert lines["gear 1"].endswith("A + 3*B = 0")
    assert counts(system.structure) == "3 bodies, 3 joints, 0 loops, 5 constraints"
    text = structure_report(system.structure, system.mobility_report)
    assert "on velocities" in text
    assert "pair roll 1" not in text


def test_json_has_the_same():
    system = mixed()
    data = json.loads(json.dumps(structure_data(system.structure, system.mobility_report)))
    named = {each["name"]: each for each in data["constraints"]}
    assert named["roll 1"] == {
        "name": "roll 1",
        "kind": "Rolling",
        "between": ["ground", "ball"],
        "constraints": 3,
        "holonomic": [True, False, False],
        "equations": [],
    }
    assert named["gear 1"]["equations"] == ["A + 3*B = 0"]
    assert data["loops"] == []
    assert data["mobility"]["nonholonomic"] == ["roll 1: no slip x", "roll 1: no slip y", "slide"]
    assert data["mobility"]["of_position"] == data["mobility"]["true"] + 3
    assert sum(each["constraints"] for each in data["constraints"]) == len(data["mobility"]["constraints"])


def test_systems_without_constraints_have_no_such_table():
    m = mt.Model("pendulum")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(mass=1.0, length=1.0)))
    assert constraints_table(m.build().structure) == ""
    assert counts(m.build().structure) == "1 body, 1 joint, 0 loops"
