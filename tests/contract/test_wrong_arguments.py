"""Whatever a call of a system is given for a state, coordinates or names, it answers or says what it expects."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import momentree as mt
from momentree.errors import MomentreeError


def four_bar() -> mt.Model:
    m = mt.Model("four-bar")
    crank, rod, rocker = (m.body(name, mt.rod(mass=1.0, length=x)) for name, x in (("a", 0.3), ("b", 0.6), ("c", 0.5)))
    m.joint("A", mt.Revolute("y"), m.ground, crank)
    m.joint("B", mt.Revolute("y"), crank.at((0.3, 0, 0)), rod)
    m.joint("C", mt.Revolute("y"), m.ground.at((0.6, 0, 0)), rocker)
    m.joint("D", mt.Revolute("y"), rod.at((0.6, 0, 0)), rocker.at((0.5, 0, 0)))
    return m


SYSTEM = four_bar().build()
STATE = SYSTEM.assemble({"A": 1.0}, velocities={"A": 1.0})
RUN = SYSTEM.simulate(STATE, t_end=0.02)
OTHER = mt.Model("other")
OTHER.joint("A", mt.Revolute("y"), OTHER.ground, OTHER.body("a", mt.rod(mass=1.0, length=1.0)))
Q, V = STATE.q, STATE.v
OF_Q = ["mass_matrix", "gravity_forces", "inverse_mass_matrix", "mass_matrix_factors", "kinematic_matrices"]
OF_Q += ["constraint_jacobian", "constraint_drift", "delassus_matrix"]
OF_Q_AND_V = ["energy", "momentum", "bias", "forward_dynamics", "coriolis_matrix", "aggregative_matrix"]
OF_Q_AND_V += ["coriolis_forces", "generalized_forces", "generalized_momenta", "first_form", "second_form"]
OF_Q_AND_V += ["multipliers", "constraint_forces", "subtree_momenta", "hamiltonian_variables"]
BY_NAME = ["assemble", "assemble_many", "start", "branches"]
CALLS = {
    **{name: lambda x, name=name: getattr(SYSTEM, name)(x) for name in OF_Q + BY_NAME},
    **{name: lambda x, name=name: getattr(SYSTEM, name)(x, V) for name in OF_Q_AND_V},
    **{f"{name} v": lambda x, name=name: getattr(SYSTEM, name)(Q, x) for name in OF_Q_AND_V},
    "mobility_at": lambda x: SYSTEM.mobility_at(x),
    "position": lambda x: SYSTEM.position(x, "a"),
    "jacobian": lambda x: SYSTEM.jacobian(x, "a"),
    "partial_velocities": lambda x: SYSTEM.partial_velocities(x, "a"),
    "inverse_dynamics": lambda x: SYSTEM.inverse_dynamics(x, V, V),
    "integrate": lambda x: SYSTEM.integrate(x, V),
    "integrate v": lambda x: SYSTEM.integrate(Q, x),
    "difference": lambda x: SYSTEM.difference(x, Q),
    "difference q1": lambda x: SYSTEM.difference(Q, x),
    "interpolate": lambda x: SYSTEM.interpolate(x, Q, 0.5),
    "interpolate s": lambda x: SYSTEM.interpolate(Q, Q, x),
    "derivatives": lambda x: SYSTEM.derivatives(x),
    "derivatives by": lambda x: SYSTEM.derivatives("bias", x),
    "derivatives space": lambda x: SYSTEM.derivatives("bias", space=x),
    "derivatives at": lambda x: SYSTEM.derivatives("bias", space="tangent")(x, V),
    "actuation": lambda x: SYSTEM.actuation(x, V, {"A": 0.0}, ["A"]),
    "actuation vdot": lambda x: SYSTEM.actuation(Q, V, x, ["A"]),
    "actuation joints": lambda x: SYSTEM.actuation(Q, V, {"A": 0.0}, x),
    "toggles": lambda x: SYSTEM.toggles(x),
    "toggles driven": lambda x: SYSTEM.toggles(RUN, x),
    "assemble velocities": lambda x: SYSTEM.assemble({"A": 1.0}, velocities=x),
    "assemble guess": lambda x: SYSTEM.assemble({"A": 1.0}, guess=x),
    "start velocities": lambda x: SYSTEM.start({"A": 1.0}, velocities=x),
    "simulate": lambda x: SYSTEM.simulate(x, t_end=1e-3),
    "simulate_many": lambda x: SYSTEM.simulate_many(x, t_end=1e-3),
    "compare": lambda x: mt.compare(SYSTEM, x, t_end=1e-3),
}
THINGS = {
    "a list": list(Q),
    "several": np.stack([Q, Q]),
    "too few": Q[:1],
    "NaN": Q * np.nan,
    "a text": "none of these",
    "None": None,
    "a number": 1.0,
    "names": {"A": 1.0},
    "a run": RUN,
    "an object": object(),
    "a state of another system": OTHER.build().assemble(),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_answer_or_say_what_they_expect(name):
    for thing in THINGS.values():
        with contextlib.suppress(MomentreeError):
            CALLS[name](thing)


@pytest.mark.parametrize("at", [Q, list(Q), STATE, None])
def test_mobility_is_found_at_a_state_or_at_coordinates(at):
    report = SYSTEM.mobility_at(at)
    assert (report.true, report.singular) == (1, False)
    if at is not None:
        np.testing.assert_array_equal(report.state.q, Q)


@pytest.mark.parametrize(
    ("at", "message"),
    [
        (Q + np.array([0.1, 0, 0]), "q does not close 'D"),
        (np.stack([Q, Q]), "several configurations"),
        (Q[:1], "its last axis must have length 3"),
        (THINGS["a state of another system"], "belongs to another system"),
    ],
)
def test_mobility_is_not_found_elsewhere(at, message):
    with pytest.raises(MomentreeError, match=message):
        SYSTEM.mobility_at(at)
