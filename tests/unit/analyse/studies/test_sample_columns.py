"""Columns of a batch of motions against those of single runs, and against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from momentree.analyse.studies.sample_columns import known_columns, motion_columns, parameter_values, run_columns
from momentree.model.expressions.expression import Reference
from study_models import four_bar, rotor


@pytest.fixture(scope="module")
def motions():
    system = four_bar().build(free=["a", "b"])
    parameters = {"a": np.array([0.9, 1.0, 1.1]), "b": np.array([2.0, 2.1, 1.9])}
    states = system.assemble_many({"A": 1.0}, velocities={"A": 10.0}, parameters=parameters)
    return system, states, system.simulate_many(states, t_end=0.5, every=0.05)


def test_every_column_of_many_motions_is_that_of_the_run_alone(motions):
    system, states, many = motions
    known = known_columns(system)
    together = motion_columns(many, known)
    for i in range(3):
        own = {name: float(x[i]) for name, x in states.parameters.items()}
        run = system.simulate(states[i], t_end=0.5, every=0.05, parameters=own)
        alone = run_columns(run, known)
        for one in known:
            size = max(float(np.abs(alone[one]).max()), 1.0)
            assert np.abs(together[one][i] - alone[one][0]).max() < 1e-6 * size, one


def test_a_motion_has_the_same_bits_in_any_batch(motions):
    system, states, many = motions
    known = known_columns(system)
    together = motion_columns(many, known)
    for i in range(3):
        parameters = {name: x[i : i + 1] for name, x in states.parameters.items()}
        one_motion = system.simulate_many(states.q[i : i + 1], states.v[i : i + 1], 0.5, parameters, every=0.05)
        alone = motion_columns(one_motion, known)
        for one in known:
            assert np.array_equal(together[one][i], alone[one][0]), one


def test_columns_of_a_turning_arm_have_their_closed_forms():
    system = rotor().build(free=["r"])
    run = system.simulate(every=0.25, parameters={"r": 0.5})
    known = known_columns(system)
    w, r, mass, t = 1.0, 0.5, 2.0, run.t
    found = {str(one): column[0] for one, column in run_columns(run, known).items()}
    expected = {
        "A": 0.25 + w * t,
        "A'": w + 0 * t,
        "A.force": mass * r * w**2 + 0 * t,
        "A.fx": -mass * r * w**2 * np.cos(0.25 + w * t),
        "tip.y": r * np.sin(0.25 + w * t),
        "tip.y'": r * w * np.cos(0.25 + w * t),
        "tip.wz": w + 0 * t,
        "energy.kinetic": 0.5 * (0.1 + mass * r**2) * w**2 + 0 * t,
        "closure_error": 0 * t,
    }
    many = system.simulate_many(system.start().q[None], system.start().v[None], 2.0, every=0.25)
    together = {str(one): column[0] for one, column in motion_columns(many, known).items()}
    for name, column in expected.items():
        assert np.abs(found[name] - column).max() < 1e-12, name
        assert np.abs(together[name] - column).max() < 1e-12, name


def test_parameters_that_follow_from_free_ones_are_expressions_of_them():
    values = parameter_values(rotor().build(free=["r"]))
    assert values[Reference("mass")] == 2.0
    assert str(values[Reference("double")]) == "2*r"
