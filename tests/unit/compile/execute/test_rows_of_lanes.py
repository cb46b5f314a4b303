"""Samples computed by functions of the integrator: what they are, and that nothing is compiled for them."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.compile.execute import machine_code, rows_of_lanes
from momentree.compile.trace.right_hand_sides import closing_kernel, velocity_kernel
from momentree.equations.formulations import FORMULATIONS
from momentree.integrate.steppers import new_stepper


def stepper_of(mechanism, formulation="hamiltonian"):
    return new_stepper(mechanism, FORMULATIONS[formulation], "dop853", project=True)


@pytest.fixture
def mechanism():
    return four_bar().build().mechanism


def states(mechanism, rows):
    random = np.random.default_rng(3)
    return random.uniform(-1, 1, (rows, mechanism.nq + mechanism.nv))


@pytest.mark.parametrize(("name", "make"), [("positions", closing_kernel), ("velocities", velocity_kernel)])
@pytest.mark.parametrize("rows", [0, 1, 7, 64])
def test_rows_are_those_of_a_kernel_of_its_own(mechanism, name, make, rows):
    shared, own, y = stepper_of(mechanism).kernel(name), make(mechanism), states(mechanism, rows)
    for t in (np.zeros((1, 1)), np.zeros(1), np.zeros((rows, 1))):
        assert np.array_equal(shared([y, t]), own([y, t]))
    into = np.empty_like(own([y, t]))
    assert shared([y, t], into) is into
    assert np.array_equal(into, own([y, t]))


def test_many_rows_are_computed_in_lanes_with_the_same_bits(mechanism, monkeypatch):
    monkeypatch.setattr(rows_of_lanes, "MANY_ROWS", 100)
    shared, y, t = stepper_of(mechanism).kernel("positions"), states(mechanism, 60), np.zeros((1, 1))
    first = shared([y, t])
    assert shared._kernel.width == 1
    second = shared([y, t])
    assert shared._kernel.width == machine_code.Target.host().lanes(0)
    assert np.array_equal(first, second)


def test_there_is_no_kernel_of_what_the_integrator_has_not(mechanism):
    assert stepper_of(mechanism).kernel("energy") is None
    tree = mt.load("examples/04_double_pendulum/model.toml").build().mechanism
    assert stepper_of(tree).kernel("positions") is None
    assert stepper_of(tree, "lagrange").kernel("velocities") is None


@pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange", "absolute"])
def test_a_run_compiles_the_integrator_alone(formulation, monkeypatch, tmp_path):
    monkeypatch.setenv("MOMENTREE_CACHE", str(tmp_path))
    sizes, generated = [], machine_code._generated
    monkeypatch.setattr(
        machine_code, "_generated", lambda text, *rest: sizes.append(len(text)) or generated(text, *rest)
    )
    system = four_bar().build()
    system.simulate(system.assemble({"A": 1.0}), t_end=0.1, formulation=formulation)
    assert sum(size > 5000 for size in sizes) == 1


def test_prescribed_motion_is_no_part_of_the_error_norm_but_of_samples():
    m = mt.Model("driven")
    arm = m.body("arm", mt.rod(mass=1.0, length=1.0))
    m.joint("A", mt.Revolute("z", motion="t**2"), m.ground, arm)
    bob = m.body("bob", mt.rod(mass=1.0, length=1.0))
    m.joint("B", mt.Revolute("z"), arm.at((1, 0, 0)), bob)
    system = m.build()
    run = system.simulate(system.start(), t_end=1.0, rtol=1e-10)
    step = np.gradient(run["B"], run.t)[5:-5]
    assert np.abs(step - run.velocity("B")[5:-5]).max() < 1e-2 * np.abs(run.velocity("B")).max()
