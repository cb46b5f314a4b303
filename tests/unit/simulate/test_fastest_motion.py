"""The fastest motion near a state: the rate of closed forms, the joint that moves, the law that changes most."""

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.simulate.fastest_motion import fastest_motion


def block(**joint):
    m = mt.Model("two blocks", gravity=(0, 0, 0))
    for name, law in (("slow", "-x_slow"), ("quick", joint.pop("law", "0"))):
        body = m.body(name, mass=2.0, com=(0, 0, 0), inertia=(1, 1, 1))
        m.joint(f"x_{name}", mt.Prismatic("x", **(joint if name == "quick" else {})), m.ground, body)
        m.torque(f"x_{name}", law)
    return m.build()._numeric


def said(mechanism):
    return fastest_motion(mechanism, np.full(mechanism.nq, 0.1), np.zeros(mechanism.nv), 0.0)


@pytest.mark.parametrize(
    ("joint", "how"),
    [
        ({"spring": 8e6, "damping": 10.0}, "swings at 2e+03 rad/s"),  # sqrt(k / m)
        ({"damping": 6e4}, "dies out at 3e+04 1/s"),  # c / m
        ({"law": "8e6*x_quick"}, "grows at 2e+03 1/s: the torque on x_quick, 8000000*x_quick changes most"),
        ({"law": "-6e4*x_quick'"}, "dies out at 3e+04 1/s: the torque on x_quick, -60000*x_quick' changes most"),
        ({"law": "-8e6*x_quick"}, "swings at 2e+03 rad/s: the torque on x_quick, -8000000*x_quick changes most"),
    ],
)
def test_it_is_that_of_the_closed_form(joint, how):
    assert said(block(**joint)).startswith(f"the fastest motion there is that of joint 'x_quick', which {how}")


def test_it_is_found_in_loops_and_not_where_nothing_moves():
    system = four_bar().build()
    state = system.assemble({"A": 1.0}, {"A": 2.0}, guess={"D": 0.5})
    assert "the fastest motion there is that of joint" in fastest_motion(system._numeric, state.q, state.v, 0.0)
    still = mt.Model("still")
    still.joint("A", mt.Fixed(), still.ground, still.body("a", mt.rod(mass=1.0, length=1.0)))
    assert not said(still.build()._numeric)
