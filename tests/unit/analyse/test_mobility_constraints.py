"""Degrees of freedom of position and of velocity; redundant constraints by name, contradicting ones refused."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt


def rolling_body(**roll) -> mt.System:
    m = mt.Model("rolling body")
    body = m.body("body", mass=1.0, inertia=(1, 2, 1))
    m.joint("J", mt.Free(), m.ground.at((0, 0, 0.3)), body)
    m.roll(body, radius=0.3, **roll)
    return m.build()


def cart(wheels) -> mt.System:
    m = mt.Model("cart")
    body = m.body("cart", mt.box(mass=5.0, size=(1, 0.5, 0.2)))
    m.joint("J", mt.Free(), m.ground.at((0, 0, 0.1)), body)
    for i, (x, y) in enumerate(wheels, 1):
        wheel = m.body(f"wheel {i}", mass=0.5, inertia=(0.01, 0.02, 0.01))
        m.joint(f"axle {i}", mt.Revolute("y"), body.at((x, y, 0)), wheel)
        m.roll(wheel, radius=0.1, disc="y")
    return m.build()


def wheels(*joints, coupled=()) -> mt.Model:
    m = mt.Model("wheels")
    for i, name in enumerate(joints):
        m.joint(name, mt.Revolute("z"), m.ground.at((float(i), 0, 0)), m.body(name, mass=1.0, inertia=(1, 1, 1)))
    for each in coupled:
        m.constrain(*each)
    return m


@pytest.mark.parametrize("how", [{}, {"disc": "y"}])
def test_a_rolling_body_has_five_freedoms_of_position_and_three_of_velocity(how):
    report = rolling_body(**how).mobility_report
    assert (report.true, report.of_position, report.gruebler) == (3, 5, 3)
    assert report.nonholonomic == ("roll 1: no slip x", "roll 1: no slip y")
    assert report.redundant == ()


def test_a_sleigh_reaches_every_place_in_the_plane():
    m = mt.Model("sleigh")
    body = m.body("sleigh", mass=1.0, inertia=(1, 1, 1))
    m.joint("p", mt.Planar("z"), m.ground, body)
    m.skate(body, across="y")
    system = m.build()
    report = system.mobility_report
    assert (system.mobility, report.of_position, report.gruebler) == (2, 3, 2)
    assert "degrees of freedom (mobility): 2; by Gruebler's count: 2" in str(system)
    assert "3 degrees of freedom of position: 1 constraint on velocities only:\n  skate 1: no slip across" in str(
        system
    )


def test_holonomic_constraints_take_positions_and_velocities_alike():
    system = wheels("A", "B", coupled=[("A = 2*B",)]).build()
    report = system.mobility_report
    assert (report.true, report.of_position, report.nonholonomic) == (1, 1, ())
    assert "of position" not in str(system)


def test_four_wheels_of_a_cart_share_constraints():
    # one wheel more than three stands on the ground anyway, and wheels of one axle slip sideways together
    report = cart([(0.5, 0.3), (0.5, -0.3), (-0.5, 0.3), (-0.5, -0.3)]).mobility_report
    assert (report.true, report.of_position) == (1, 7)  # only straight ahead
    assert (len(report.rows), report.rank) == (12, 9)
    assert sorted(name.partition(": ")[2] for name in report.redundant) == ["contact", *["no slip y"] * 2]


def test_a_cart_on_two_wheels_steers_by_their_difference():
    report = cart([(0.0, 0.3), (0.0, -0.3)]).mobility_report
    assert (report.true, report.of_position) == (3, 6)  # ahead, turning, and pitching about the axle
    assert report.redundant in (("roll 2: no slip y",), ("roll 1: no slip y",))


def test_gears_that_say_the_same_are_redundant_by_name_and_move_all_the_same():
    m = wheels("A", "B")
    m.torque("A", "1")
    m.gear("A", "B", ratio=2.0)
    alone = m.build()
    m.gear("A", "B", radii=(0.1, 0.2))
    m.couple("B", "A", ratio=-0.5)
    system = m.build()
    report = system.mobility_report
    assert (report.true, report.rank, len(report.redundant)) == (1, 1, 2)
    assert {"gear 1", "gear 2", "couple 1"} > {*report.redundant}
    assert "2 redundant constraints" in str(system)
    start = system.assemble({"A": 0.3}, velocities={"A": 1.0})
    np.testing.assert_allclose(
        system.forward_dynamics(start.q, start.v), alone.forward_dynamics(start.q, start.v), rtol=1e-9
    )
    # only the sum of their forces is determined
    run = system.simulate(start, 0.5, every=0.1)
    along = sum(run.reactions(name)["B"] for name in ("gear 1", "gear 2", "couple 1"))
    expected = alone.simulate(alone.assemble({"A": 0.3}, velocities={"A": 1.0}), 0.5, every=0.1).reactions("gear 1")
    np.testing.assert_allclose(along, expected["B"], rtol=0, atol=1e-8)


CONTRADICTIONS = {
    "offset": ([("A = 2*B", "c 1"), ("A = 2*B + 0.1", "c 2")], {"c 1", "c 2"}),
    "three": (
        [("A = 2*B", "c 1"), ("B = 3*C", "c 2"), ("A = 6*C + 0.1", "c 3"), ("C + D = 0", "c 4")],
        {"c 1", "c 2", "c 3"},
    ),
    "velocities": ([("A' = 1", "c 1"), ("A' = 2", "c 2"), ("B' = 1", "c 3")], {"c 1", "c 2"}),
    "velocities of positions": ([("A = 2*B", "c 1"), ("A' = 2*B' + 1", "c 2")], {"c 1", "c 2"}),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
@pytest.mark.repeats(1)
def test_contradicting_constraints_are_named_and_refused(name):
    coupled, culprits = CONTRADICTIONS[name]
    system = wheels("A", "B", "C", "D", coupled=coupled).build()
    for how in ((), ({"A": 0.2}, {"B": 1.0})):
        with pytest.raises(mt.AssemblyError, match="contradict") as raised:
            system.assemble(*how)
        assert {f"c {i}" for i in range(1, 5) if f"'c {i}'" in str(raised.value)} == culprits
    assert "degrees of freedom (mobility) unknown" in str(system)


def test_a_constraint_that_cannot_hold_alone_contradicts_none():
    system = wheels("A", "B", coupled=[("A^2 + 1", "c 1"), ("A + B", "c 2")]).build()
    with pytest.raises(mt.AssemblyError, match=r"constraint 'c 1': cannot hold: it is 1 at best, not 0"):
        system.assemble()


def test_a_rod_that_is_too_short_is_named():
    m = mt.Model("rod")
    body = m.body("body", mass=1.0, inertia=(1, 1, 1))
    m.joint("A", mt.Revolute("z"), m.ground, body)
    m.distance(m.ground.at((5, 0, 0)), body.at((1, 0, 0)), length=1.0)
    with pytest.raises(mt.AssemblyError, match=r"constraint 'distance 1': cannot hold: closure error 3 m at best"):
        m.build().assemble()
