"""In what errors of a step are told: velocities, whatever the masses and the unit of length; and how h follows."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import random_tree
from momentree.equations.formulations import FORMULATIONS
from momentree.integrate.error_norm import at_rest, error_norm_of, least_sizes
from momentree.integrate.steppers import new_stepper

pytestmark = pytest.mark.filterwarnings("ignore::momentree.RunWarning")


def slider_crank(mass=1.0, length=1.0):
    """A slider-crank, all masses and lengths larger by so much, and gravity with the lengths: it moves alike."""
    m = mt.Model("slider-crank", gravity=(0, 0, -9.81 * length))

    def body(name, share, at, inertia):
        turned = tuple(x * mass * length**2 for x in inertia)
        return m.body(name, mass=share * mass, com=(at * length, 0, 0), inertia=turned)

    crank = body("crank", 1.0, 0.25, (0.02, 0.02, 0.02))
    rod = body("rod", 2.0, 0.75, (0.1, 0.4, 0.4))
    slider = body("slider", 0.5, 0.0, (0.1, 0.1, 0.1))
    m.joint("A", mt.Revolute("y"), m.ground, crank)
    m.joint("B", mt.Revolute("y"), crank.at((0.5 * length, 0, 0)), rod)
    m.joint("S", mt.Prismatic("x"), m.ground, slider)
    m.joint("C", mt.Revolute("y"), rod.at((1.5 * length, 0, 0)), slider)
    system = m.build()
    return system, system.assemble({"A": 0.5}, velocities={"A": 5.0}, guess={"S": 1.9 * length})


@pytest.mark.long
@pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange"])
@pytest.mark.parametrize("integrator", ["dop853", "dopri5", "radau"])
def test_masses_and_units_do_not_matter(formulation, integrator):
    found = []
    for mass, length in ((1.0, 1.0), (1e-6, 1.0), (1e6, 1.0), (1.0, 1e-3), (1.0, 1e4)):
        system, start = slider_crank(mass, length)
        run = system.simulate(start, 1.0, integrator=integrator, formulation=formulation, rtol=1e-8)
        found.append((run["A"][-1], run.statistics.accepted))
    angles, steps = np.array(found).T
    assert np.ptp(steps) <= max(2, 0.02 * steps.max())
    assert np.ptp(angles) < 1e-7


def test_trees_and_loops_mean_the_same():
    # a pendulum, and the same one as a parallelogram of massless bars: errors by rtol are alike
    def error(system, start, joint, rtol):
        run, tight = (system.simulate(start, 5.0, every=0.5, rtol=x) for x in (rtol, 1e-13))
        return np.abs(run[joint] - tight[joint]).max()

    m = mt.Model("rod")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(mass=1.0, length=1.0, along="-z")))
    tree = m.build()
    m = mt.Model("parallelogram")
    one, other, coupler = (m.body(name, mt.rod(mass=1.0, length=1.0, along=a)) for name, a in
                           (("one", "-z"), ("other", "-z"), ("coupler", "x")))  # fmt: skip
    m.joint("A", mt.Revolute("y"), m.ground, one)
    m.joint("D", mt.Revolute("y"), m.ground.at((1, 0, 0)), other)
    m.joint("B", mt.Revolute("y"), one.at((0, 0, -1)), coupler)
    m.joint("C", mt.Revolute("y"), coupler.at((1, 0, 0)), other.at((0, 0, -1)))
    loop = m.build()
    for rtol in (1e-6, 1e-8, 1e-10):
        of_tree = error(tree, tree.assemble({"A": 1.0}), "A", rtol)
        of_loop = error(loop, loop.assemble({"A": 1.0}), "A", rtol)
        assert 0.05 < of_loop / of_tree < 20
        assert max(of_loop, of_tree) < 100 * rtol


def test_errors_of_momenta_are_told_as_velocities():
    random = np.random.default_rng(3)
    system = random_tree(random, ["Free", "Revolute", "Prismatic", "Spherical"]).build()
    found = error_norm_of(system.mechanism, FORMULATIONS["hamiltonian"])
    assert sum(group.velocities for group in found.groups) == system.nv
    assert sum(group.coordinates for group in found.groups) == system.nq
    assert error_norm_of(system.mechanism, FORMULATIONS["lagrange"]) is None  # where they are what is integrated


def test_prescribed_motions_have_no_part_in_errors():
    m = mt.Model("arm", gravity=(0, 0, 0))
    cart, arm = m.body("cart", mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1)), m.body("arm", mt.rod(mass=1.0, length=1.0))
    m.joint("P", mt.Prismatic("x", motion="3*t"), m.ground, cart)
    m.joint("A", mt.Revolute("y"), cart, arm)
    mechanism = m.build().mechanism
    still = at_rest(mechanism)
    assert [str(rate) for rate in still.bodies[0].laws[1]] == ["0"]
    assert still.bodies[0].laws[0] == mechanism.bodies[0].laws[0]
    assert least_sizes(mechanism).tolist() == [0.01, 0.01]


@pytest.mark.parametrize("integrator", ["dop853", "dopri5"])
def test_no_step_is_longer_after_one_that_was_rejected(integrator):
    m = mt.Model("double pendulum")
    upper, lower = (m.body(name, mt.rod(mass=1.0, length=1.0, along="-z")) for name in ("upper", "lower"))
    m.joint("A", mt.Revolute("y"), m.ground, upper)
    m.joint("B", mt.Revolute("y"), upper.at((0, 0, -1)), lower)
    system = m.build()
    stepper = new_stepper(system.mechanism, FORMULATIONS["hamiltonian"], integrator, with_work=False)
    integration = stepper.start(np.array([2.0, 1.0, 0.0, 0.0])[:, None], 0.0, 1e-3, 1e-8, None)
    rejections = 0
    while integration.t < 9.0:
        before = int(integration.counts[1])
        _, records = integration.advance(10.0, 1)
        if integration.counts[1] > before:
            rejections += 1
            assert integration.control[1] <= records[0, 1]
    assert rejections > 10


@pytest.mark.repeats(1)
@pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange", "absolute"])
def test_samples_between_steps_are_closed_to_round_off(formulation):
    system, start = slider_crank()
    run = system.simulate(start, 2.0, every=0.003, rtol=1e-6, formulation=formulation)
    assert run.closure_error.max() < 1e-13
    assert run.closure_velocity.max() < 1e-12 * np.abs(run.v).max()


@pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange"])
@pytest.mark.repeats(1)
def test_round_off_of_long_chains_does_not_shorten_steps(formulation):
    # momenta near the ground are a million times those of the last rods: their last digits move these by 1e-9 rad/s
    m, parent = mt.Model("chain"), None
    for i in range(80):
        rod = m.body(f"rod {i}", mt.rod(mass=1.0, length=0.1, along="-z"))
        m.joint(f"J{i}", mt.Revolute("y"), parent.at((0, 0, -0.1)) if parent else m.ground, rod)
        parent = rod
    system = m.build()
    run = system.simulate(system.assemble({"J0": 0.5}), 0.2, rtol=1e-12, formulation=formulation)
    assert run.end.reason == "arrived"
    assert run.statistics.accepted < 600
