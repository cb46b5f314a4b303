"""Starts from which motion is not determined are refused before the first step, with the joints that are to blame."""

import numpy as np
import pytest

import momentree as mt
from momentree.errors import MomentreeError


def neck(inertia=1e-19):
    """A head, all but a point mass, beside the axes of roll, pitch and yaw: three angles for two directions."""
    m = mt.Model("neck")
    body = m.ground
    for name, axis in (("roll", "x"), ("pitch", "y"), ("yaw", "x")):
        com = (0, 0, 0.1) if name == "yaw" else (0, 0, 0)
        part = m.body(name, mass=1.0, com=com, inertia=(inertia,) * 3)
        m.joint(name, mt.Revolute(axis), body, part)
        body = part
    return m.build()


def test_joints_that_together_move_no_mass_are_named():
    words = "mass matrix is singular: joints 'roll' and 'yaw' can move together without moving any mass. Give the bod"
    with pytest.raises(MomentreeError, match=words):
        neck().simulate(t_end=1.0)


def test_with_a_little_inertia_they_move():
    assert neck(1e-9).simulate(t_end=1e-3).end.reason == "arrived"


@pytest.mark.parametrize("light", [1e-3, 1e-6, 1e-9])
def test_light_bodies_and_long_chains_are_no_such_case(light):
    m = mt.Model("chain", gravity=(0, 0, 0))
    body = m.ground
    for i in range(40):
        link = m.body(f"link{i}", mt.rod(mass=light if i % 2 else 1.0, length=0.1))
        m.joint(f"J{i}", mt.Revolute("y" if i % 3 else "z"), body, link)
        body = link.at((0.1, 0, 0))
    system = m.build()
    run = system.simulate(system.assemble(), t_end=1e-6, every=1e-6)
    assert run.end.reason == "arrived"
    assert np.isfinite(run.v).all()
