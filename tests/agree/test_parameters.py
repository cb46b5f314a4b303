"""Values of free parameters given to a call are the numbers of the model: everything is as if they stood in it."""

from __future__ import annotations

import copy
import functools
import pickle

import numpy as np
import pytest

import momentree as mt
from mechanisms import random_configuration
from momentree.compile.trace.quantities import ARGUMENTS
from parametric import FOUR_BAR, OTHER, linkage, tree

TREE = {"l": 0.4, "m": 2.6, "w": 1.1}
GUESS = {"B": 0.7, "D": 0.5}
CASES = {"linkage": (linkage, OTHER), "tree": (tree, TREE)}
of_both = pytest.mark.parametrize("case", CASES)


def near(found, expected, tolerance=1e-13):
    size = max(1.0, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * size)


@functools.cache
def pair(case, code=None):
    """The system with its parameters left free, others for them, and the system built with these."""
    make, other = CASES[case]
    return make().build(free=[*other], code=code), other, make(**other).build(code=code)


def state_of(case, system):
    """A state in which nothing is special; closed for the linkage."""
    random = np.random.default_rng(2)
    if case == "linkage":
        start = system.assemble({"A": 0.8}, velocities={"A": 1.2}, guess=GUESS)
        return start.q, start.v, random.standard_normal(system.nv)
    return random_configuration(random, system), *random.standard_normal((2, system.nv))


def arguments(what, q, v, w):
    return {"q": q, "v": v, "vdot": w, "tau": w, "t": 0.3}, ARGUMENTS[what]


@pytest.mark.repeats(1)
@of_both
@pytest.mark.parametrize(
    ("what", "code"),
    [
        *((what, "straight-line") for what in ARGUMENTS),
        ("forward_dynamics", "rolled"),
        *(pytest.param(what, "rolled", marks=pytest.mark.long) for what in ARGUMENTS if what != "forward_dynamics"),
    ],
)
def test_compiled_quantities(case, code, what):
    free, other, fixed = pair(case, code)
    values, names = arguments(what, *state_of(case, fixed))
    given = [values[name] for name in names]
    expected = getattr(fixed, what)(*given)
    assert not np.allclose(getattr(free, what)(*given), expected)  # the values matter
    near(getattr(free, what)(*given, parameters=other), expected)
    near(getattr(free.with_parameters(other), what)(*given), expected)
    # as many values as rows, in a call of any size
    for count in (3, 40) if code == "straight-line" else (3,):
        rows = {name: np.linspace(value, 1.05 * value, count) for name, value in other.items()}
        found = getattr(free, what)(*given, parameters=rows)
        for i in (0, count - 1):
            near(found[i], getattr(free, what)(*given, parameters={name: x[i] for name, x in rows.items()}), 1e-12)


@of_both
def test_other_quantities(case):
    free, other, fixed = pair(case)
    q, v, _ = state_of(case, fixed)
    frame = fixed.mechanism.bodies[-1].name
    at = mt.model.frames.Frame(frame, (OTHER["a"] if case == "linkage" else TREE["l"], 0, 0))
    named = mt.model.frames.Frame(frame, ("a" if case == "linkage" else "l", 0, 0))
    rows = {name: np.array([1.01 * value, value]) for name, value in other.items()}
    for parameters, pick in ((other, lambda x: x), (rows, lambda x: x[1])):
        near(pick(free.position(q, named, 0.3, parameters=parameters)), fixed.position(q, at, 0.3))
        near(pick(free.jacobian(q, named, 0.3, parameters=parameters)), fixed.jacobian(q, at, 0.3))
        near(pick(free.momentum(q, v, 0.3, parameters=parameters)), fixed.momentum(q, v, 0.3))
        found = free.energy(q, v, 0.3, parameters=parameters)
        near([pick(found.kinetic), pick(found.potential)], [*fixed.energy(q, v, 0.3)])


def test_assembly_branches_start_mobility_and_actuation():
    free, other, fixed = pair("linkage")
    given = {"given": {"A": 0.8}, "guess": GUESS}
    found, expected = (
        free.assemble(**given, velocities={"A": 1.2}, parameters=other),
        fixed.assemble(**given, velocities={"A": 1.2}),
    )
    near(found.q, expected.q)
    near(found.v, expected.v)
    assert found.parameters == {name: other[name] for name in found.parameters}
    near(free.start(parameters=other).q, fixed.start().q)  # where the model says: A = a
    assert free.start(parameters=other)["A"] == OTHER["a"]
    near(free.mobility_at(parameters=other).state.q, fixed.mobility_report.state.q)
    torques = free.actuation(expected.q, expected.v, {"A": 0.5}, ["D"], parameters=other)
    wanted = fixed.actuation(expected.q, expected.v, {"A": 0.5}, ["D"])
    near(torques.torques["D"], wanted.torques["D"], 1e-11)
    near(torques.reactions["B"], wanted.reactions["B"], 1e-11)


@pytest.mark.long
def test_branches():
    free, other, fixed = pair("linkage")
    found, expected = (
        system.branches({"A": 0.8}, **more) for system, more in ((free, {"parameters": other}), (fixed, {}))
    )
    for one, two in zip(found, expected, strict=True):
        near(one.q, two.q, 1e-12)


def test_mobility_depends_on_parameters():
    # a parallelogram of three cranks moves only if they are equally long
    m = mt.Model("three cranks")
    m.parameter("l", 1.0)
    bar = m.body("bar", mt.rod(mass=1.0, length=2.0))
    for i, length in enumerate((1.0, "l", 1.0)):
        crank = m.body(f"crank{i}", mt.rod(mass=1.0, length=length, along="y"))
        m.joint(f"G{i}", mt.Revolute("z"), m.ground.at((i, 0, 0)), crank)
        m.joint(f"B{i}", mt.Revolute("z"), crank.at((0, length, 0)), bar.at((i, 0, 0)))
    system = m.build(free=["l"])
    assert system.mobility == 1
    straight = {f"{joint}{i}": 0.0 for joint in "GB" for i in range(3)}
    with pytest.raises(mt.AssemblyError, match="closes a loop, but cannot"):
        system.mobility_at(system.assemble(straight, parameters={"l": 1.2}), parameters={"l": 1.2})
    assert system.with_parameters(l=1.0).mobility == 1


@pytest.mark.parametrize(
    ("formulation", "integrator"),
    [
        ("hamiltonian", "dop853"),
        ("lagrange", "dopri5"),
        pytest.param("hamiltonian", "radau", marks=pytest.mark.long),
        pytest.param("hamiltonian", "verlet", marks=pytest.mark.long),
        pytest.param("absolute", "dop853", marks=pytest.mark.long),
    ],
)
@pytest.mark.repeats(1)
def test_runs(formulation, integrator):
    free, other, fixed = pair("linkage")
    settings = {"t_end": 0.5, "every": 0.1, "formulation": formulation, "integrator": integrator}
    settings |= {"step": 0.01} if integrator == "verlet" else {}
    given = {"given": {"A": 0.8}, "guess": GUESS}
    found = free.simulate(free.assemble(**given, parameters=other), **settings, parameters=other)
    expected = fixed.simulate(fixed.assemble(**given), **settings)
    near(found.q, expected.q, 1e-9)
    near(found.v, expected.v, 1e-9)
    near(found.reactions("C"), expected.reactions("C"), 1e-7)
    near(found.energy.total, expected.energy.total, 1e-9)
    assert found.parameters == {**other, **{name: FOUR_BAR[name] for name in found.parameters if name not in other}}
    assert found.energy.error < 1e-2


def test_the_model_begins_and_ends_as_its_parameters_say():
    free, other, fixed = pair("linkage")
    found, expected = free.simulate(every=0.5, parameters=other), fixed.simulate(every=0.5)
    assert found.t[-1] == expected.t[-1] == OTHER["w"]
    near(found.q, expected.q, 1e-9)


def test_comparison():
    def pendulum(l=1.0):
        m = mt.Model("pendulum")
        m.parameter("l", l)
        m.joint("A", mt.Revolute("y"), m.ground, m.body("bob", mass=1.0, com=("l", 0, 0)))
        return m

    free, fixed = pendulum().build(free=["l"]), pendulum(0.3).build()
    start = fixed.assemble({"A": 0.8})
    found, expected = mt.compare(free, start, 1.0, parameters={"l": 0.3}), mt.compare(fixed, start, 1.0)
    for one, two in zip(found.rows, expected.rows, strict=True):
        assert (one.steps, one.evaluations, one.failed) == (two.steps, two.evaluations, two.failed)
    carried = mt.compare(free, free.assemble({"A": 0.8}, parameters={"l": 0.3}), 1.0)
    assert [row.evaluations for row in carried.rows] == [row.evaluations for row in found.rows]
    with pytest.raises(mt.MomentreeError, match=r"the state was made with l = 0\.3, not 1"):
        mt.compare(free.with_parameters(l=1.0), free.assemble({"A": 0.8}, parameters={"l": 0.3}), 1.0)


def test_a_run_keeps_its_parameters_in_files_and_copies(tmp_path):
    free, other, _ = pair("linkage")
    start = free.assemble({"A": 0.8}, guess=GUESS, parameters=other)
    run = free.simulate(start, 0.3, every=0.1, parameters=other)
    run.save(tmp_path / "run.nc")
    wanted = run.reactions("C")
    for same in (mt.load_run(tmp_path / "run.nc"), pickle.loads(pickle.dumps(run)), copy.deepcopy(run)):
        assert same.parameters == run.parameters
        assert same.parameters["a"] == OTHER["a"]
        near(same.reactions("C"), wanted)
        near(same.system.mass_matrix(run.q[1]), free.mass_matrix(run.q[1], parameters=other))
        near(same.closure_error, run.closure_error)
    state = pickle.loads(pickle.dumps(start))
    assert state.parameters == start.parameters
    # systems with parameters go to other processes as they are
    again = pickle.loads(pickle.dumps(free.with_parameters(other)))
    near(again.bias(start.q, start.v), free.bias(start.q, start.v, parameters=other))
    function = pickle.loads(pickle.dumps(free.mass_matrix))
    near(function(start.q, parameters=other), free.mass_matrix(start.q, parameters=other))


def test_an_interrupted_run_goes_on_with_its_parameters(tmp_path):
    free, other, _ = pair("linkage")
    start = free.assemble({"A": 0.8}, guess=GUESS, parameters=other)
    whole = free.simulate(start, 1.0, parameters=other)
    calls = []

    def stop(t, closure_error):
        calls.append(t)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        free.simulate(
            start, 1.0, step=1e-4, integrator="rk4", path=tmp_path / "run.nc", progress=stop, parameters=other
        )
    run = mt.resume_run(tmp_path / "run.nc", progress=False)
    assert run.parameters == whole.parameters
    near(run.q[-1], whole.q[-1], 1e-7)


def test_parameters_defined_by_others_follow():
    m = linkage(b="2*a")
    free, fixed = m.build(free=["a", "b"]), linkage(a=1.2, b="2*a").build()
    q = np.array([0.1, 0.2, 0.3])
    near(free.mass_matrix(q, parameters={"a": 1.2}), fixed.mass_matrix(q))
    near(free.mass_matrix(q, parameters={"a": [1.0, 1.2]})[1], fixed.mass_matrix(q))
    assert free.with_parameters(a=1.2).parameters == {"a": 1.2, "b": 2.4}
    assert free.with_parameters(a=1.2, b=2.0).parameters == {"a": 1.2, "b": 2.0}


def test_code_is_made_once():
    free, other = linkage().build(free=[*OTHER]), OTHER
    q = np.array([0.1, 0.2, 0.3])
    free.mass_matrix(q)
    view = free.with_parameters(other)
    view.mass_matrix(q)
    assert view._kernels is free._kernels
    assert [*free._kernels] == ["mass_matrix"]
    start = free.assemble({"A": 0.8}, guess=GUESS, parameters=other)
    free.simulate(start, 0.1, parameters=other)
    made = {**free._code_of_phases}
    free.simulate(free.assemble({"A": 0.8}, guess=GUESS), 0.1)
    assert made == free._code_of_phases
