"""`mt.compare`: one row for each formulation and stabilization, none of them lost."""

from __future__ import annotations

import math

import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.equations.formulations import FORMULATIONS
from momentree.equations.stabilizations import STABILIZATIONS


@pytest.fixture(scope="module")
def linkage():
    system = four_bar().build()
    return system, system.assemble({"A": 1.0}, velocities={"A": 2.0})


@pytest.fixture(scope="module")
def compared(linkage):
    return mt.compare(*linkage, t_end=1.0, rtol=1e-9, progress=False)


@pytest.mark.long
def test_there_is_a_row_for_every_way(compared):
    ways = [(row.formulation, row.stabilization) for row in compared.rows]
    assert len(set(ways)) == len(ways)
    assert set(ways) == {(name, each) for name, found in FORMULATIONS.items() for each in found.stabilizations}
    assert ways[0] == ("hamiltonian", "project")
    order = [name for formulation, name in ways if formulation == "lagrange"]
    assert order == [name for name in STABILIZATIONS if name in order]


def test_figures_tell_closures_apart(compared):
    assert not any(row.failed for row in compared.rows)
    assert compared.rows[0].difference == 0
    for row in compared.rows:
        assert row.difference < 1e-6
        assert row.energy < 1e-6
        assert row.evaluations > row.steps > 5
        assert 0 <= row.cpu < 5
        assert row.stabilization != "project" or row.closure_error < 1e-14, row
        assert row.closure_error < 1e-6
        assert row.closure_velocity < 1e-6


def test_it_prints_as_a_table(compared):
    lines = str(compared).splitlines()
    assert lines[0] == "four-bar: 0 to 1 s by dop853, rtol 1e-09"
    assert lines[1].split()[:2] == ["formulation", "stabilization"]
    assert len(lines) == 3 + len(compared.rows)


def test_trees_have_nothing_to_close_but_in_absolute_coordinates():
    m = mt.Model("pendulum")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(1.0, 1.0)))
    system = m.build()
    rows = mt.compare(system, system.assemble({"A": 1.0}), 0.5, progress=False).rows
    in_maximal = [("absolute", name) for name in FORMULATIONS["absolute"].stabilizations]
    ways = [("hamiltonian", "none"), ("lagrange", "none"), *in_maximal]
    assert [(row.formulation, row.stabilization) for row in rows] == ways
    assert rows[0].closure_error == 0
    assert rows[-1].closure_error > rows[2].closure_error  # the hinge itself opens


@pytest.mark.long
def test_rows_that_fail_say_why(linkage):
    m = four_bar()
    m.torque("A", "0.1*sin(B)")
    system = m.build()
    found = mt.compare(system, system.assemble({"A": 1.0}), 0.2, progress=False)
    failed = [row for row in found.rows if row.failed]
    assert {row.formulation for row in failed} == {"absolute"}
    assert all("depends on the angle B" in row.failed for row in failed)
    assert all(math.isnan(row.energy) for row in failed)
    assert "absolute, project: the torque on A" in str(found)
    assert not any(row.failed for row in found.rows if row.formulation != "absolute")


def test_a_motion_that_fails_on_the_way_is_a_row_too():
    m = mt.Model("pendulum")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(1.0, 1.0)))
    m.torque("A", "1/(0.3 - t)")
    system = m.build()
    rows = mt.compare(system, system.assemble({"A": 1.0}), 0.5, progress=False).rows
    assert all("at t = 0.3" in row.failed for row in rows)
    assert all(row.steps > 0 and math.isnan(row.difference) for row in rows)


@pytest.mark.parametrize("name", ["formulation", "stabilization", "path"])
def test_what_it_chooses_itself_cannot_be_given(linkage, name):
    with pytest.raises(mt.MomentreeError, match=f"compare: {name} cannot be chosen here"):
        mt.compare(*linkage, 1.0, **{name: "x"})


def test_a_gain_that_is_unstable_fails_where_it_counts(linkage):
    rows = mt.compare(*linkage, 0.1, integrator="euler", step=0.01, gain=201.0, progress=False).rows
    assert {row.stabilization for row in rows if "is unstable with euler at step 0.01 s" in row.failed} == {
        name for name, record in STABILIZATIONS.items() if record.takes_gain
    }
    assert not any(row.failed for row in rows if row.stabilization in ("project", "none"))


def test_wrong_settings_are_told_in_every_row(linkage):
    rows = mt.compare(*linkage, 1.0, integrator="rk5", progress=False).rows
    assert all("integrator 'rk5' is not known" in row.failed for row in rows)
