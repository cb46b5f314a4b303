"""Whatever a call of a system is given for a state, coordinates or names, it answers or says what it expects."""

from __future__ import annotations

import contextlib
import inspect
from types import FunctionType

import numpy as np
import pytest

import momentree as mt
from momentree.errors import MomentreeError
from momentree.model.joint_type import JointType
from momentree.spatial import scalar


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


# --- misspelt names of arguments: of every public function, and of every method of what they give ---

MATHEMATICS = vars(scalar)  # sin(x) and others, of one argument
PUBLIC = {name: getattr(mt, name) for name in mt.__all__ if name not in MATHEMATICS}
KINDS = [kind for kind in PUBLIC.values() if isinstance(kind, type) and not issubclass(kind, (BaseException, Warning))]
KINDS += [type(thing) for thing in (SYSTEM, STATE, RUN, OTHER.ground, OTHER.bodies[0])]
KINDS += [type(SYSTEM.assemble_many({"A": [1.0]})), type(SYSTEM.simulate_many([Q], [V], 1e-3, every=1e-3))]
SPELT = {name: f for name, f in PUBLIC.items() if isinstance(f, FunctionType)}
SPELT |= {
    f"{kind.__name__}.{name}": method
    for kind in KINDS
    if not issubclass(kind, JointType)  # whose methods are called by sweeps
    for name, method in inspect.getmembers_static(kind, inspect.isfunction)
    if not name.startswith("_") and method.__module__.startswith("momentree")
}
SPELT |= {kind.__name__: kind for kind in KINDS if kind.__module__.startswith("momentree.model.joint_types")}


@pytest.mark.parametrize("name", SPELT)
def test_an_argument_that_there_is_not_is_answered(name):
    """A MomentreeError that has the name of the call as users write it, and the argument that is nearest."""
    known = inspect.signature(SPELT[name]).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in known):
        pytest.skip("any name will do")
    by_name = [one.name for one in known if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    by_name = [one for one in by_name if one != "self"]
    misspelt = f"{by_name[-1]}s" if by_name else "nothing"
    if misspelt in by_name:
        misspelt += "s"
    with pytest.raises(MomentreeError, match=rf"^{name.split('.')[-1]}: there is no argument '{misspelt}'") as caught:
        SPELT[name](**{misspelt: 1})
    assert isinstance(caught.value, TypeError)  # as Python would have it
    assert not by_name or f"Did you mean '{by_name[-1]}'?" in str(caught.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: SYSTEM.simulate(STATE, t_end=1, intergator="rk4"), "simulate: .* Did you mean 'integrator'"),
        (lambda: SYSTEM.look(prot=8080), "look: there is no argument 'prot'. Did you mean 'port'"),
        (lambda: SYSTEM.mass_matrix(Q, tt=1), "mass_matrix: there is no argument 'tt'. Did you mean 't'"),
        (lambda: SYSTEM.mass_matrix(Q, paramters={}), "there is no argument 'paramters'. Did you mean 'parameters'"),
        (lambda: SYSTEM.export("it.fmu", verison="2.0"), "export_fmu: .* Did you mean 'version'"),
        (lambda: SYSTEM.export("it.urdf", losy=True), "save: .* Did you mean 'lossy'"),
        (lambda: SYSTEM.simulate_many([Q], [V], 1e-3, stp=1), "there is no setting 'stp'. Did you mean 'step'"),
        (lambda: RUN.draw(overlayed=True), "draw: .* Did you mean 'overlaid'"),
    ],
)
def test_the_name_of_no_inner_function_is_shown(call, words):
    with pytest.raises(MomentreeError, match=words):
        call()


def test_other_mistakes_of_type_stay_what_they_are():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'frame'"):
        SYSTEM.position(Q)


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
