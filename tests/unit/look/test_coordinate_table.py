"""The tables of q and v: entries by index and by name, as text and as HTML."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.errors import MomentreeError


@pytest.fixture(scope="module")
def system():
    return four_bar().build()


def test_entries_are_those_of_q_and_v(system):
    state = system.assemble({"A": 1.0}, velocities={"A": 2.0})
    for table, values, of in (
        (system.coordinates, state.q, state.__getitem__),
        (system.velocities, state.v, state.velocity),
    ):
        assert len(table) == len(values) == 3
        assert [of(row.joint) for row in table] == pytest.approx(values.tolist())
    assert system.coordinates["D"].index == 2
    assert system.velocities["D'"] is not None
    assert system.coordinates[-1].name == "D"
    assert [row.name for row in system.coordinates[:2]] == ["A", "B"]
    q = np.zeros(system.nq)
    q[system.coordinates["B"].index] = 1.0
    assert q.tolist() == [0, 1, 0]


def test_a_misspelt_name_is_answered(system):
    with pytest.raises(MomentreeError, match=r"q has no entry 'C'. Choose 'A', 'B' or 'D'"):
        system.coordinates["C"]


def test_tables_print(system):
    lines = str(system.coordinates).splitlines()
    assert lines[0] == "coordinates q of four-bar"
    assert lines[2].split() == ["index", "name", "joint", "component", "unit", "what", "it", "is"]
    assert lines[4].split(maxsplit=5) == [
        "q[0]",
        "A",
        "A",
        "angle",
        "rad",
        "rotation about y; of crank relative to ground",
    ]
    assert repr(system.velocities).count("rad/s") == 3
    assert system.coordinates._repr_html_().count("<tr>") == 4


def test_a_system_without_coordinates_has_empty_tables():
    m = mt.Model("driven")
    m.joint("A", mt.Revolute("y", motion="t"), m.ground, m.body("arm", mt.rod(mass=1.0, length=1.0)))
    assert str(m.build().coordinates) == "coordinates q of driven: none"
    assert len(m.build().velocities) == 0
    assert "<table>" in m.build().velocities._repr_html_()


def test_the_table_of_a_system_with_free_parameters():
    m = mt.Model("free")
    l = m.parameter("l", 1.0)
    m.joint("A", mt.Revolute("y"), m.ground.at((l, 0, 0)), m.body("arm", mt.rod(mass=1.0, length=1.0)))
    assert m.build(free=["l"]).coordinates["A"].unit == "rad"
