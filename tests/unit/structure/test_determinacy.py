"""Every freedom must move inertia: what moves none is named, whatever the units; what loops determine is computed."""

import dataclasses

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.model import Body

SCALES = [(1e-7, 1e-15), (1e-3, 1e-3), (1.0, 1.0), (1e3, 1e3), (1e5, 1e9)]  # m, kg


def chain(*links, size=1.0, mass=1.0):
    """Joints one after the other, `size` apart across all axes; a link is its joint and whether it has a mass."""
    m = mt.Model("chain")
    body = m.ground
    for i, (joint, heavy) in enumerate(links, 1):
        cube = mt.box(mass=mass, size=(size, 2 * size, 3 * size), centre=(0.2 * size, 0.3 * size, 0.1 * size))
        new = m.body(f"b{i}", cube) if heavy else m.body(f"b{i}", massless=True)
        m.joint(f"j{i}", joint, body if i == 1 else body.at((size, 0.5 * size, 0.25 * size)), new)
        body = new
    return m


def refused(m):
    """The bodies that `check` blames; `build` says the same."""
    found = m.check()
    if found:
        with pytest.raises(mt.ModelError) as caught:
            m.build()
        assert list(caught.value.problems) == found
    assert all("not determined" in problem.message and "Give it" in problem.message for problem in found)
    return [problem.where for problem in found]


@pytest.mark.parametrize(("size", "mass"), SCALES)
@pytest.mark.parametrize(
    ("links", "blamed"),
    [
        ([(mt.Revolute("x"), False)] * 3, ["body 'b1'", "body 'b2'", "body 'b3'"]),
        ([(mt.Prismatic("x"), False), (mt.Prismatic("x"), True)], ["body 'b1'"]),
        ([(mt.Planar("z"), False), (mt.Prismatic("y"), True)], ["body 'b1'"]),
        ([(mt.Revolute("z"), False), (mt.Free(), True)], ["body 'b1'"]),
        ([(mt.Spherical(), False), (mt.Spherical(), True)], ["body 'b1'"]),
        ([(mt.Revolute("z"), True), (mt.Prismatic("x"), False)], ["body 'b2'"]),
        ([(mt.Revolute("z"), False), (mt.Revolute("z"), True)], []),
        ([(mt.Prismatic("x"), False), (mt.Prismatic("y"), False), (mt.Prismatic("z"), True)], []),
        ([(mt.Revolute("x"), False), (mt.Revolute("y"), False), (mt.Revolute("z"), True)], []),
        ([(mt.Universal("x", "y"), False), (mt.Prismatic("z"), True)], []),
    ],
)
def test_massless_bodies_are_refused_where_nothing_determines_their_motion(links, blamed, size, mass):
    assert refused(chain(*links, size=size, mass=mass)) == blamed


def test_two_hinges_on_one_axis_and_no_mass_between_them():
    """The inertia that is carried does not help: it can stay where it is."""
    m = mt.Model("coaxial")
    m.body("ring", massless=True)
    m.body("wheel", mt.sphere(mass=1.0, radius=1.0))
    m.joint("A", mt.Revolute("z"), "ground", "ring")
    m.joint("B", mt.Revolute("z"), "ring", m.bodies[1].at((0, 0, 0)))
    assert refused(m) == ["body 'ring'"]
    assert "joint 'A'" in m.check()[0].message


@pytest.mark.parametrize(("size", "mass"), SCALES)
@pytest.mark.parametrize("far", [0.0, 100.0])
def test_a_rod_that_spins_about_itself(size, mass, far):
    """Slender, skew, on a joint whose frame may stand far away along the axis: named; with a radius: built."""
    for radius, wrong in ((0.0, ["body 'needle'"]), (1e-4 * size, [])):
        m = mt.Model("needle")
        along = (0.36, 0.48, 0.8)
        needle = m.body("needle", mt.rod(mass=mass, length=size, radius=radius, along=along))
        place = needle.at(np.array(along) * far * size)
        m.joint("A", mt.Revolute(along), m.ground.at(np.array(along) * far * size), place)
        assert refused(m) == wrong


@pytest.mark.parametrize("massless", [True, False])
def test_a_rod_between_two_balls_in_a_loop(massless):
    m = mt.Model("RSSR")
    m.body("crank", mt.rod(mass=1.0, length=1.0, radius=0.01))
    m.body("rod", massless=True) if massless else m.body("rod", mt.rod(mass=1.0, length=2.0))
    m.body("rocker", mt.rod(mass=1.0, length=2.0, radius=0.01, along="z"))
    m.joint("A", mt.Revolute("z"), "ground", "crank")
    m.joint("S1", mt.Spherical(), m.bodies[0].at((1, 0, 0)), "rod")
    m.joint("S2", mt.Spherical(), m.bodies[1].at((2, 0, 0)), m.bodies[2].at((0, 0, 2)))
    m.joint("D", mt.Revolute("x"), m.ground.at((2, 0, 0)), "rocker")
    assert refused(m) == ["body 'rod'"]
    assert "make one of them universal" in m.check()[0].message
    m.joints[1] = dataclasses.replace(m.joints[1], type=mt.Universal("y", "z"))
    assert m.build().mobility == 1


MASSLESS = [["crank"], ["coupler"], ["rocker"], ["crank", "coupler"], ["coupler", "rocker"], ["crank", "rocker"]]


def weightless(names, m=None):
    """A four-bar, some of whose rods have no mass."""
    m = m or four_bar()
    m.bodies = [Body(body.name, massless=True) if body.name in names else body for body in m.bodies]
    return m


@pytest.mark.repeats(1)
@pytest.mark.parametrize("names", MASSLESS, ids=", ".join)
def test_massless_rods_in_a_loop_move_as_the_energy_of_the_others_says(names):
    """The loop has one freedom, so that the balance of power determines its acceleration: grad E . (v, v') = 0."""
    system = weightless(names).build()
    start = system.assemble({"A": 1.0}, velocities={"A": 0.7})
    dv = system.forward_dynamics(start.q, start.v)
    h = 1e-6
    later = [system.assemble({"A": 1.0 + 0.7 * h * s}, velocities={"A": 0.7}, guess=start) for s in (1, -1)]
    energies = [system.energy(each.q, each.v).total for each in later]
    by_position = (energies[0] - energies[1]) / (2 * h)
    by_velocity = 2 * system.energy(start.q, start.v).kinetic / 0.7  # kinetic energy is quadratic in the velocity of A
    expected = -by_position / by_velocity
    moved = system.simulate(start, t_end=1e-4, every=1e-4)
    assert (moved.velocity("A")[-1] - 0.7) / 1e-4 == pytest.approx(expected, rel=1e-3)
    assert np.isfinite(dv).all()
    assert system.mobility == 1


def test_a_loop_without_any_mass_is_refused():
    assert refused(weightless(["crank", "coupler", "rocker"])) == ["body 'crank'", "body 'coupler'", "body 'rocker'"]


def test_a_cut_of_the_user_stays_and_is_named_as_the_way_out():
    m = weightless(["coupler"])
    m.cut("C")
    (problem,) = m.check()
    assert "Or cut another joint of its loop than 'C'" in problem.message


def test_free_parameters_are_looked_at_where_the_model_puts_them():
    m = mt.Model("needle")
    m.parameter("r", 0.0)
    m.body("needle", mt.rod(mass=1.0, length=1.0, radius="r"))
    m.joint("A", mt.Revolute("x"), "ground", "needle")
    with pytest.raises(mt.ModelError, match="without moving any inertia"):
        m.build(free=["r"])
