"""Values in one place: however a value is given, every call computes with it as if it stood in the model as a number.

Calls are found by their signatures: one that is added takes part as soon as it says how it is called.
"""

from __future__ import annotations

import functools
import inspect
import pickle
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest

import momentree as mt
from momentree.results.run import Run
from momentree.simulate.simulation import Simulation

WANTED = {"k": 5.0, "l": 0.75, "r": 0.5, "w": 2.5}
OTHER = {"k": 3.0, "l": 0.5, "r": 0.25, "w": 1.0}
START, MOVING = {"x": 0.5, "A": 0.25}, {"x": 0.125, "A": 1.0}
T = 0.25
GIVEN = {"parameters", "inputs", "state", "start", "q"}


def model(values: dict[str, Any]) -> mt.Model:
    """A slider on a spring that carries a pendulum; a second one follows the first. `follows` is defined by others."""
    m = mt.Model("slider and pendulum")
    m.gravity = (0, 0, -9.81)
    for name in ("k", "l", "r"):
        m.parameter(name, values[name])
    m.parameter("follows", "2*k + 1")
    m.input("w", values["w"])
    slider, bob, other = (
        m.body("slider", mass=2.0),
        m.body("bob", mass=1.0, com=(0, 0, "-l")),
        m.body("other", mass=0.5),
    )
    m.joint("x", mt.Prismatic("x"), m.ground, slider)
    m.joint("A", mt.Revolute("y"), slider, bob)
    m.joint("y", mt.Prismatic("x"), m.ground, other)
    m.constrain("y = r*x", name="coupled")
    m.torque("x", "-k*x - follows*x' + w")
    m.force(bob.at((0, 0, "-l")), ("0.5*w", 0, 0))
    m.frame("tip", bob.at((0, 0, "-l")))
    m.output("pull", "follows*x + w", unit="N")
    m.start_at(START, MOVING, t_end=1.0)
    return m


FREE = ["k", "l", "r", "follows"]


class Way(NamedTuple):
    """A system, and what else a call is given: a state that carries the values, or arguments."""

    system: mt.System
    carries: bool = False  # the state has the values, and no argument gives them
    arguments: Mapping[str, Any] = MappingProxyType({})
    loaded: Any = None  # a run whose states are used

    def state(self) -> Any:
        if self.loaded is not None:
            return self.loaded.state(0)
        values = WANTED if self.carries else dict(self.arguments)
        return self.system.assemble(START, MOVING, t=T, parameters=values)


def as_defaults(tmp_path: Any) -> Way:
    return Way(model(WANTED).build(free=FREE))


def as_numbers(tmp_path: Any) -> Way:
    return Way(model(WANTED).build())


def as_a_view(tmp_path: Any) -> Way:
    return Way(model(OTHER).build(free=FREE).with_parameters(WANTED))


def as_a_view_of_a_view(tmp_path: Any) -> Way:
    first = model(OTHER).build(free=FREE).with_parameters(k=4.0, l=1.0).with_parameters(r=WANTED["r"], w=7.0)
    return Way(first.with_parameters(k=WANTED["k"], l=WANTED["l"], w=WANTED["w"]))


def as_definitions(tmp_path: Any) -> Way:
    """Each defined by a parameter that is given."""
    m = model({name: f"{value}*unit" for name, value in WANTED.items()})
    m.parameter("unit", 3.0)
    return Way(m.build(free=["unit", *FREE]).with_parameters(unit=1.0))


def as_arguments(tmp_path: Any) -> Way:
    return Way(model(OTHER).build(free=FREE), arguments=WANTED)


def as_arguments_over_a_view(tmp_path: Any) -> Way:
    return Way(model(OTHER).build(free=FREE).with_parameters(k=7.0, w=9.0), arguments=WANTED)


def as_states(tmp_path: Any) -> Way:
    return Way(model(OTHER).build(free=FREE), carries=True)


def as_pickled_states(tmp_path: Any) -> Way:
    system = model(OTHER).build(free=FREE)
    state = pickle.loads(pickle.dumps(system.assemble(START, MOVING, t=T, parameters=WANTED)))
    return Way(system, True, loaded=Kept(state))


def as_rows_of_states(tmp_path: Any) -> Way:
    system = model(OTHER).build(free=FREE)
    rows = {name: np.array([OTHER[name], value]) for name, value in WANTED.items()}
    return Way(system, True, loaded=Kept(system.assemble_many(START, MOVING, t=T, parameters=rows)[1]))


def as_a_file(tmp_path: Any) -> Way:
    model(WANTED).save(tmp_path / "model.toml")
    return Way(mt.load(tmp_path / "model.toml").build(free=FREE))


def _run(tmp_path: Any) -> Run:
    system = model(OTHER).build(free=FREE)
    return system.simulate(system.assemble(START, MOVING, t=T, parameters=WANTED), T + 0.01, path=tmp_path / "run.nc")


def as_a_loaded_run(tmp_path: Any) -> Way:
    _run(tmp_path)
    return Way(mt.load_run(tmp_path / "run.nc").system)


def as_the_states_of_a_loaded_run(tmp_path: Any) -> Way:
    _run(tmp_path)
    loaded = mt.load_run(tmp_path / "run.nc")
    return Way(loaded.system, True, loaded=loaded)


def as_the_states_of_a_run(tmp_path: Any) -> Way:
    run = _run(tmp_path)
    return Way(run.system, True, loaded=run)


def as_a_pickled_view(tmp_path: Any) -> Way:
    return Way(pickle.loads(pickle.dumps(as_a_view(tmp_path).system)))


class Kept(NamedTuple):
    """A state as a run would give it."""

    only: Any

    def state(self, index: int) -> Any:
        return self.only


WAYS = [
    as_defaults, as_a_view, as_a_view_of_a_view, as_definitions, as_arguments, as_arguments_over_a_view, as_states,
    as_pickled_states, as_rows_of_states, as_a_file, as_a_loaded_run, as_the_states_of_a_loaded_run,
    as_the_states_of_a_run, as_a_pickled_view,
]  # fmt: skip

# --- calls: what each gives, as numbers, of a system, a state and arguments ---

Call = Callable[[mt.System, Any, dict[str, Any]], Any]
CALLS: dict[str, Call] = {}


def call(name: str) -> Callable[[Call], Call]:
    def added(function: Call) -> Call:
        CALLS[name] = function
        return function

    return added


def _of_state(name: str, *more: Any) -> None:
    CALLS[f"System.{name}"] = lambda system, state, given: getattr(system, name)(state, *more, **given)


for name in (
    "aggregative_matrix", "bias", "coriolis_forces", "coriolis_matrix", "energy", "first_form", "forward_dynamics",
    "generalized_forces", "generalized_momenta", "gravity_forces", "inverse_mass_matrix", "kinematic_matrices",
    "mass_matrix", "mass_matrix_factors", "momentum", "second_form", "constraint_drift", "constraint_forces",
    "constraint_jacobian", "delassus_matrix", "multipliers", "subtree_momenta",
):  # fmt: skip
    _of_state(name)
_of_state("position", mt.Model("other").body("bob").at((0, 0, "-l")))
_of_state("jacobian", mt.Model("other").body("bob").at((0, 0, "-l")))
_of_state("partial_velocities", mt.Model("other").body("bob").at((0, 0, "-l")))
_of_state("inverse_dynamics", np.array([0.5, 0.25, 1.0]))
_of_state("hamiltonian_variables", np.array([0.5, 0.25, 1.0]))


@call("System.actuation")
def _(system: mt.System, state: Any, given: dict[str, Any]) -> Any:
    return system.actuation(state, {"x": 0.5, "A": 0.25}, ["x", "A"], **given).torques


@call("System.integrate")
def _(system: mt.System, state: Any, given: dict[str, Any]) -> Any:
    return system.integrate(state.q, state.v)


@call("System.assemble")
def _(system: mt.System, state: Any, given: dict[str, Any]) -> Any:
    found = system.assemble(START, MOVING, guess=state, t=T, **given)
    return found.q, found.v, *(found.parameters.get(name, value) for name, value in WANTED.items())


@call("System.assemble_many")
def _(system: mt.System, state: Any, given: dict[str, Any]) -> Any:
    found = system.assemble_many({"x": np.array([0.5, 1.0]), "A": 0.25}, MOVING, t=T, **given)
    return found.q, found.v, [found[i].parameters.get(name, x) for i in range(2) for name, x in WANTED.items()]


@call("System.branches")
def _(system: mt.System, state: Any, given: dict[str, Any]) -> Any:
    return [branch.q for branch in system.branches(START, t=T, **given)]


@call("System.start")
def _(system: mt.System, state: Any, given: dict[str, Any]) -> Any:
    return system.start(**given).q


@call("System.mobility_at")
def _(system: mt.System, state: Any, given: dict[str, Any]) -> Any:
    return system.mobility_at(state, **given).true


@call("System.simulate")
def _(system: mt.System, state: Any, given: dict[str, Any]) -> Any:
    run = system.simulate(state, 0.5, every=0.125, progress=False, **given)
    return run.t, run.q, run.v, run.energy.total, run["pull"], run.position("tip"), run.reactions("A")


@call("System.simulate_many")
def _(system: mt.System, state: Any, given: dict[str, Any]) -> Any:
    motions = system.simulate_many([state, state], t_end=0.5, every=0.125, **given)
    bob = mt.Model("other").body("bob").at((0, 0, "-l"))
    return motions.q[1], motions.v[1], motions.position(bob)[1], motions.frame_motion(bob)[1], motions.energy.total[1]


@call("compare")
def _(system: mt.System, state: Any, given: dict[str, Any]) -> Any:
    comparison = mt.compare(system, state, 0.5, progress=False, **given)
    return [(row.steps, row.evaluations, row.closure_error, row.energy, row.failed) for row in comparison.rows]


@call("System.draw")
def _(system: mt.System, state: Any, given: dict[str, Any]) -> Any:
    if given:
        system, given = system.with_parameters(given["parameters"]), {}
    axes = system.draw(state=state, names=False).axes[0]
    return [line.get_xydata() for line in axes.lines], [patch.get_path().vertices for patch in axes.patches]


@call("System.export_c")
def _(system: mt.System, state: Any, given: dict[str, Any]) -> Any:
    import tempfile
    from pathlib import Path

    if given:
        system = system.with_parameters(given["parameters"])
    with tempfile.TemporaryDirectory() as folder:
        system.export_c(Path(folder) / "model.c", ["step"], integrator="rk4", start=state)
        text = (Path(folder) / "model.c").read_text()
    start = text[text.rindex("_start(") :]
    numbers = dict(re.findall(r"(state\[\d\]|parameters\[\d\]) = ([^;]*);", start))
    values = [numbers[name] for name in sorted(numbers) if name.startswith("state")]
    own = dict(
        zip(system.mechanism.free, [numbers[f"parameters[{i}]"] for i in range(len(system.parameters))], strict=True)
    )
    return [_of_c(x) for x in values], [_of_c(own.get(name, str(x))) for name, x in WANTED.items()]


def _of_c(number: str) -> float:
    return float.fromhex(number) if "x" in number else float(number)


def _study(together: bool) -> Call:
    def studied(system: mt.System, state: Any, given: dict[str, Any]) -> Any:
        values = {**state.given.parameters, **given.get("parameters", {})} or WANTED
        values = {name: value for name, value in values.items() if name in system.mechanism.free}
        k = values.pop("k", WANTED["k"])
        over = {"k": [OTHER["k"], k]} if "k" in system.mechanism.free else {"x'": [0.0, MOVING["x"]]}
        outputs = {"x": "last(x)", "tip": "last(tip.z)", "pull": "last(pull)", "same": "last(follows*x + w)"}
        started = {"given": START, "velocities": {name: v for name, v in MOVING.items() if f"{name}'" not in over}}
        settings = {"t_end": 0.5, "every": 0.125, "together": together, "progress": False}
        found = mt.study(system, over, outputs, parameters=values, **started, **settings).run()
        assert list(found.pull.values) == list(found.same.values)  # an output of the model is what it says
        return [found[name].values[1] for name in outputs]

    return studied


MOTIONS = {"System.simulate", "System.simulate_many", "compare", "study", "study one by one"}
CALLS["study"] = _study(together=True)
CALLS["study one by one"] = _study(together=False)

# what takes states, coordinates or values of something else than a system
APART = {
    "helmholtz": "equations",
    "programme": "a programme",
    "resume_run": "a run that was begun with all it needs: as_the_states_of_a_run, and tests/contract/test_kill.py",
    "ivanov_iteration": "split bodies alone",
    "System.look": "the scene that System.draw draws",
    "System.export_fmu": "the start that System.export_c writes",
}


def _found() -> Iterator[tuple[str, set[str]]]:
    """Public calls of systems that take values or states."""
    for name in mt.__all__:
        thing = getattr(mt, name)
        if inspect.isfunction(thing):
            yield name, GIVEN & {*inspect.signature(thing).parameters}
    for name, method in inspect.getmembers(mt.System):
        if not name.startswith("_") and callable(method) and not inspect.isclass(method):
            yield f"System.{name}", GIVEN & {*inspect.signature(method).parameters}


def test_every_call_that_takes_values_is_here():
    found = {name for name, given in _found() if given}
    assert found - {*CALLS} - {*APART} == set()
    assert {name for name in CALLS if name not in found} == {"study one by one"}


def _numbers(thing: Any) -> list[float]:
    """All numbers of a result, in order."""
    if isinstance(thing, dict):
        return [x for value in thing.values() for x in _numbers(value)]
    if isinstance(thing, (str, bytes)) or thing is None:
        return [float(len(thing or ""))]
    if isinstance(thing, (int, float, np.ndarray, np.generic)):
        return np.asarray(thing, dtype=float).ravel().tolist()
    if isinstance(thing, slice):
        return [float(thing.start), float(thing.stop)]
    if isinstance(thing, (list, tuple)):
        return [x for value in thing for x in _numbers(value)]
    return [x for value in vars(thing).values() for x in _numbers(value)]


@pytest.fixture(scope="module")
def expected() -> Callable[[str], list[float]]:
    way = as_numbers(None)
    state = way.state()
    return functools.cache(lambda name: _numbers(CALLS[name](way.system, state, {})))


@pytest.fixture(scope="module")
def among_free() -> Callable[[str], list[float]]:
    way = as_defaults(None)
    state = way.state()
    return functools.cache(lambda name: _numbers(CALLS[name](way.system, state, {})))


@pytest.fixture(scope="module")
def ways(tmp_path_factory: Any) -> Callable[[Any], Way]:
    made: dict[Any, Way] = {}

    def of(way: Any) -> Way:
        if way not in made:
            made[way] = way(tmp_path_factory.mktemp("way"))
        return made[way]

    return of


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("name", CALLS)
def test_a_value_is_the_same_however_it_is_given(name, way, expected, among_free, ways):
    of = ways(way)
    if of.carries and name == "System.start":
        pytest.skip("takes no state")
    carried_by_guess = of.carries and name in ("System.assemble", "System.assemble_many", "System.branches")
    arguments = {"parameters": WANTED} if carried_by_guess else {"parameters": of.arguments} if of.arguments else {}
    found = _numbers(CALLS[name](of.system, of.state(), arguments))
    assert len(found) > 0
    if name in MOTIONS:  # code for free parameters adds in another order than code for numbers: the same to round-off,
        np.testing.assert_allclose(found, expected(name), rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(found, among_free(name))  # and the same bits wherever values come from
    else:
        np.testing.assert_array_equal(found, expected(name))


# --- what else is given: inputs, time, tolerance, what acts, and whose a state is ---


@pytest.mark.parametrize("name", ["System.simulate", "System.simulate_many", "compare"])
def test_an_input_that_is_a_number_is_a_value_like_others(name, among_free):
    system = model({**WANTED, "w": OTHER["w"]}).build(free=FREE)
    found = CALLS[name](system, system.assemble(START, MOVING, t=T), {"inputs": {"w": WANTED["w"]}})
    np.testing.assert_array_equal(_numbers(found), among_free(name))


def test_what_is_given_stays_with_the_states_of_a_run():
    """A run goes on as it was, by whichever call: one by one, together, or from a file."""
    system = model(OTHER).build(free=FREE)
    run = system.simulate(system.assemble(START, MOVING), 0.25, inputs={"w": 4.0}, parameters={"k": 7.0})
    on = system.simulate(run.state(), 0.5)
    assert on.parameters == {**run.parameters, "k": 7.0, "w": 4.0}
    together = system.simulate_many([run.state()], t_end=0.5, every=0.25)
    np.testing.assert_allclose(together.q[0, -1], on.q[-1], rtol=1e-10)
    assert (
        system.forward_dynamics(run.state())[0]
        == system.forward_dynamics(run.q[-1], run.v[-1], parameters={"k": 7.0, "w": 4.0})[0]
    )


@pytest.mark.parametrize("changing", ["2*sin(t) - A'", ([0.0, 1.0], [1.0, 3.0])], ids=["law", "values"])
def test_an_input_that_changes_stays_with_the_states_of_a_run(changing):
    m = model(OTHER)
    system = m.build(free=["k"])
    whole = system.simulate(system.start(), 0.5, inputs={"w": changing}, every=0.25, rtol=1e-12)
    half = system.simulate(system.start(), 0.25, inputs={"w": changing}, every=0.25, rtol=1e-12)
    on = system.simulate(half.state(), 0.5, every=0.25, rtol=1e-12)
    np.testing.assert_allclose(on.q[-1], whole.q[-1], rtol=0, atol=1e-9)
    state = half.state()
    w = 2 * np.sin(0.25) - state.velocity("A") if isinstance(changing, str) else 1.5
    found = system.forward_dynamics(state)
    np.testing.assert_allclose(found, system.forward_dynamics(state.q, state.v, parameters={"w": w}), rtol=1e-13)
    assert system.simulate(half.state(), 0.5, inputs={"w": 0.0}).parameters["w"] == 0.0
    with pytest.raises(mt.MomentreeError, match="input 'w': many motions are computed together with constant inputs"):
        system.simulate_many([half.state()], t_end=0.5, every=0.25)


@pytest.mark.parametrize("changing", ["2*sin(t) - A' - k*x", ([0.0, 1.0], [1.0, 3.0])], ids=["law", "values"])
def test_an_input_that_changes_goes_with_states_to_the_mechanism_built_again(changing, tmp_path):
    system, again = model(OTHER).build(free=["k"]), model(OTHER).build(free=["k"])
    run = system.simulate(system.start(), 0.25, inputs={"w": changing}, parameters={"k": 4.0}, every=0.25)
    run.save(tmp_path / "run.nc")
    state, loaded = run.state(), mt.load_run(tmp_path / "run.nc")
    on = system.simulate(state, 0.5, every=0.25)
    for at, of in ((again, state), (system, loaded.state()), (loaded.system, state)):
        np.testing.assert_array_equal(at.simulate(of, 0.5, every=0.25).q, on.q)
        np.testing.assert_array_equal(at.forward_dynamics(of), system.forward_dynamics(state))
        assert at.simulate(of, 0.3, inputs={"w": 0.0}).parameters["w"] == 0.0


@pytest.mark.parametrize("changing", ["k*sin(t) - A'", ([0.0, 1.0], [1.0, 3.0])], ids=["law", "values"])
def test_an_input_that_changes_follows_what_else_is_given(changing):
    """Its law names a parameter, and the time: other ones that are given count, in arrays too."""
    system = model(OTHER).build(free=["k"])
    state = system.simulate(system.start(), 0.25, inputs={"w": changing}, every=0.25).state()
    k = np.array([4.0, 6.0])
    for t in (0.25, 0.5):
        w = k * np.sin(t) - state.velocity("A") if isinstance(changing, str) else np.full(2, 1 + 2 * t)
        expected = system.forward_dynamics(state.q, state.v, t=t, parameters={"k": k, "w": w})
        together = system.forward_dynamics(state, t=t, parameters={"k": k})
        one_by_one = [system.forward_dynamics(state, t=t, parameters={"k": each}) for each in k]
        np.testing.assert_allclose(together, expected, rtol=1e-13)
        np.testing.assert_allclose(one_by_one, expected, rtol=1e-13)


def test_the_time_of_a_state_counts_unless_another_is_given():
    m = mt.Model("moving")
    carriage, bob = m.body("carriage", mass=1.0), m.body("bob", mass=1.0)
    m.joint("lift", mt.Prismatic("z", motion="0.5*t"), m.ground, carriage)
    m.joint("x", mt.Prismatic("x"), carriage, bob)
    system = m.build()
    state = system.assemble({"x": 1.0}, t=2.0)
    assert system.position(state, "bob")[2] == 1.0
    assert system.position(state, "bob", t=4.0)[2] == system.position(state, "bob", 4.0)[2] == 2.0


def test_a_state_stands_for_q_and_v_and_nothing_else():
    system = model(OTHER).build(free=FREE)
    state = system.assemble(START, MOVING)
    with pytest.raises(mt.MomentreeError, match=r"energy: give q and v, or a state instead of both"):
        system.energy(state.q)
    for beside in ((state.v,), (state.v, 0.0)):
        with pytest.raises(mt.MomentreeError, match=r"a state has q, v, t and the values of parameters"):
            system.energy(state, *beside)


def pendulum(**values: Any) -> mt.Model:
    m = mt.Model("pendulum")
    for name, value in ({"l": 0.8, "m": 1.0} | values).items():
        m.parameter(name, value)
    m.joint("A", mt.Revolute("y"), m.ground, m.body("bob", mass="m", com=(0, 0, "-l")))
    return m


USES = {
    "simulate": lambda system, state: system.simulate(state, 0.1),
    "simulate_many": lambda system, state: system.simulate_many([state], t_end=0.1, every=0.1),
    "simulate_many of States": lambda system, state: system.simulate_many(
        model_of(state).assemble_many({"A": [0.1, 0.2]}), t_end=0.1, every=0.1
    ),
    "forward_dynamics": lambda system, state: system.forward_dynamics(state),
    "position": lambda system, state: system.position(state, "bob"),
    "mobility_at": lambda system, state: system.mobility_at(state),
    "compare": lambda system, state: mt.compare(system, state, 0.1),
}


def model_of(state: Any) -> mt.System:
    """A system as the one that a state belongs to."""
    return pendulum(l=float(state.mechanism.values.scalar("l"))).build()


@pytest.mark.parametrize("use", USES)
def test_a_state_of_another_mechanism_is_refused_by_name(use):
    theirs, ours = pendulum(l=0.4), pendulum()
    with pytest.raises(mt.MomentreeError, match=r"another mechanism: parameter 'l' is 0\.4 there, and 0\.8 here"):
        USES[use](ours.build(), theirs.build().assemble({"A": 0.1}))


@pytest.mark.parametrize("change", [
    lambda m: m.spring(m.bodies[0].at((0, 0, -0.3)), m.ground, 5.0),
    lambda m: m.torque("A", "-0.1*A'"),
    lambda m: setattr(m, "gravity", (0, 0, -1.62)),
], ids=["spring", "torque", "gravity"])  # fmt: skip
def test_a_state_of_a_mechanism_with_other_forces_is_refused(change):
    other = pendulum()
    change(other)
    with pytest.raises(mt.MomentreeError, match=r"the state belongs to another mechanism: its .* differ"):
        pendulum().build().simulate(other.build().assemble({"A": 0.1}), 0.1)


def test_a_state_of_the_same_mechanism_built_again_is_accepted():
    first, again = pendulum().build(free=["l"]), pendulum().build()
    assert again.simulate(first.assemble({"A": 0.1}), 0.1).t[-1] == 0.1
    assert first.simulate(again.assemble({"A": 0.1}), 0.1).t[-1] == 0.1
    other = pendulum(l=0.5).build(free=["l"])  # its length is free: one of the two is a mistake
    with pytest.raises(mt.MomentreeError, match=r"the state was made with l = 0\.5, not 0\.8"):
        first.simulate(other.assemble({"A": 0.1}), 0.1)
    assert first.simulate(other.assemble({"A": 0.1}), 0.1, parameters={"l": 0.5}).parameters["l"] == 0.5


def test_the_end_of_many_motions_follows_their_values():
    m = pendulum()
    m.parameter("T", 1.0)
    m.start_at({"A": 0.1}, t_end="T")
    system = m.build(free=["T", "l"])
    q, v = np.full((2, 1), 0.1), np.zeros((2, 1))
    assert system.simulate_many(q, v, parameters={"T": 2.0}, every=0.5).t[-1] == 2.0
    with pytest.raises(mt.MomentreeError, match="t_end of the model's start is 1 to 2 s, but motions end together"):
        system.simulate_many(q, v, parameters={"T": [1.0, 2.0]}, every=0.5)


def imprecise() -> tuple[mt.Model, float]:
    """A planar four-bar whose hinges are not quite parallel: it closes within a tolerance only."""
    m = mt.Model("imprecise four-bar")
    a, b, c = (m.body(name, mt.rod(1.0, length, 0.02)) for name, length in (("a", 0.3), ("b", 1.0), ("c", 0.8)))
    m.joint("A", mt.Revolute("y"), m.ground, a)
    m.joint("B", mt.Revolute("y"), a.at((0.3, 0, 0)), b)
    m.joint("C", mt.Revolute((1e-5, 1, 0)), b.at((1.0, 0, 0)), c.at((0.8, 0, 0)))
    m.joint("D", mt.Revolute("y"), m.ground.at((1.0, 0, 0)), c)
    m.start_at({"A": 0.8}, {"A": 1.0}, guess={"B": -0.5, "D": 1.5}, t_end=0.2)
    return m, 1e-4


@pytest.mark.parametrize("given", ["build", "assemble"])
def test_a_tolerance_goes_with_systems_states_runs_and_files(given, tmp_path, monkeypatch):
    m, tolerance = imprecise()
    system = m.build(tolerance=tolerance if given == "build" else None)
    how = {"tolerance": tolerance} if given == "assemble" else {}
    start = system.assemble({"A": 0.8}, {"A": 1.0}, {"B": -0.5, "D": 1.5}, **how)
    whole = system.simulate(start, 0.2, every=0.05, path=tmp_path / "whole.nc")
    assert whole.end.reason == "arrived"
    loaded = mt.load_run(tmp_path / "whole.nc")
    assert loaded.system.mechanism.set_tolerance == tolerance
    assert loaded.system.simulate(loaded.state(), 0.3).end.reason == "arrived"
    many = system.simulate_many([start, start], t_end=0.2, every=0.05)
    assert many.reasons == ("", "")
    np.testing.assert_allclose(many.q[1], whole.q, rtol=0, atol=1e-2 * tolerance)

    advance, count = Simulation.advance, iter(range(100))

    def cut_short(self: Any) -> Any:
        if next(count) == 1:
            raise KeyboardInterrupt
        return advance(self)

    monkeypatch.setattr(Simulation, "advance", cut_short)
    cut = system.simulate(start, 40.0, every=0.05, path=tmp_path / "cut.nc")
    assert cut.end.reason == "interrupted"
    resumed = mt.resume_run(tmp_path / "cut.nc", progress=False)
    monkeypatch.undo()
    whole = system.simulate(start, 40.0, every=0.05)
    assert resumed.end.reason == whole.end.reason
    np.testing.assert_array_equal(resumed.q, whole.q)


def test_a_run_goes_on_with_the_constraints_that_act(tmp_path):
    """A slider is held between 0.5 and 1.2 s; it goes on freely from a state at 1.5 s, and held from one at 0.8 s."""
    m = mt.Model("held")
    m.joint("x", mt.Prismatic("z"), m.ground, m.body("b", mass=1.0))
    m.constrain("x' = 0", name="brake")
    m.switch("brake", on="t - 0.5", off="t - 1.2")
    system = m.build()
    whole = system.simulate(system.assemble({"x": 0.0}), 2.0, every=0.1, path=tmp_path / "whole.nc")
    loaded = mt.load_run(tmp_path / "whole.nc")
    for run in (whole, loaded):
        for t in (0.3, 0.8, 1.5):
            state = run.state(int(np.searchsorted(run.t, t + 1e-9)) - 1)
            on = system.simulate(state, 2.0, every=0.1) if run is whole else run.system.simulate(state, 2.0, every=0.1)
            np.testing.assert_allclose(on.q[-1], whole.q[-1], rtol=0, atol=1e-8)
            np.testing.assert_allclose(
                on.reactions("x")[0], whole.reactions("x")[np.argmin(np.abs(whole.t - t))], atol=1e-9
            )


def test_a_run_goes_on_with_the_joints_that_have_locked():
    m = mt.Model("latched")
    m.joint("x", mt.Prismatic("x"), m.ground, m.body("b", mass=1.0))
    m.latch("x", 0.5)
    system = m.build()
    run = system.simulate(system.assemble({"x": 0.0}, {"x": 1.0}), 1.0, every=0.25)
    assert run.velocity("x")[-1] == 0
    on = system.simulate(run.state(), 2.0, every=0.25)
    assert on.end.events == ()
    np.testing.assert_array_equal(on["x"], 0.5)


def test_a_run_goes_on_from_the_sample_before_an_event(tmp_path):
    """Two hinges lock one after the other: from the samples before and after each instant the same motion follows."""
    m = mt.Model("latches")
    first, second = (m.body(name, mt.box(mass=1.0, size=(1.0, 0.1, 0.1))) for name in ("first", "second"))
    m.joint("A", mt.Revolute("z"), m.ground, first)
    m.joint("B", mt.Revolute("z"), first.at((1, 0, 0)), second)
    m.latch("B", at=0.5)
    m.latch("A", at=1.0)
    system = m.build()
    run = system.simulate(system.assemble({}, {"A": 0.7, "B": 1.1}), 3.0, every=0.1)
    assert len(run.end.events) == 2
    run.save(tmp_path / "run.nc")
    for i in np.flatnonzero(np.diff(run.t) == 0):
        for state in (run.state(i), run.state(i - len(run.t)), mt.load_run(tmp_path / "run.nc").state(i)):
            on = system.simulate(state, 3.0, every=0.1)
            assert [name for name, _ in on.end.events] == [name for name, t in run.end.events if t >= state.t]
            np.testing.assert_allclose(on.q[-1], run.q[-1], rtol=0, atol=1e-8)
            on.save(tmp_path / "on.nc")
            again = mt.load_run(tmp_path / "on.nc")
            assert [phase.begun_by for phase in again.phases()] == [phase.begun_by for phase in on.phases()]
            assert np.abs(again.energy.balance).max() < 1e-8
        elsewhere = system.simulate(system.assemble({"B": 0.3}, {"B": 1.0}, guess=run.state(i)), 0.1)
        assert elsewhere.end.events == ()


def test_a_run_goes_on_from_states_behind_a_release_and_quantities_follow_what_acts(tmp_path):
    """A rod that comes off its hinge falls freely: whatever takes its states knows that the hinge does not act."""
    m = mt.Model("falling", gravity=(0, 0, -9.81))
    rod = m.body("rod", mt.box(mass=2.0, size=(1.0, 0.1, 0.1)))
    m.joint("A", mt.Revolute("y", spring=3.0), m.ground.at((0, 0, 1)), rod.at((-0.5, 0, 0)))
    m.release("A", at=0.3)
    system, again = m.build(), m.build()
    run = system.simulate(system.assemble({"A": 0.0}), 1.0, every=0.05)
    run.save(tmp_path / "run.nc")
    state, held = mt.load_run(tmp_path / "run.nc").state(-4), run.state(0)
    for at in (system, again):
        np.testing.assert_allclose(at.simulate(state, 1.0).q[-1], run.q[-1], rtol=0, atol=1e-8)
        assert abs(at.forward_dynamics(state)[4]) < 1e-12  # about y no moment acts
        assert at.mobility_at(state).true == 6
        assert at.mobility_at(held).true == 1
        assert len(at.constraint_jacobian(state)) == 0
        assert len(at.constraint_jacobian(held)) == 5
        assert at.energy(state).potential == pytest.approx(run.energy.potential[-4], abs=1e-12)
        assert at.energy(held).total == pytest.approx(run.energy.total[0], abs=1e-12)


@pytest.mark.parametrize("use", ["forward_dynamics", "constraint_jacobian", "mobility_at"])
def test_what_does_not_know_of_locked_joints_refuses_their_states(use):
    m = mt.Model("latched")
    m.joint("x", mt.Prismatic("x"), m.ground, m.body("b", mass=1.0))
    m.latch("x", 0.5)
    m.torque("x", 2.0)
    system = m.build()
    run = system.simulate(system.assemble({"x": 0.0}, {"x": 1.0}), 1.0, every=0.25)
    with pytest.raises(mt.MomentreeError, match=rf"{use}: at this state joint 'x' locked, which only runs heed"):
        getattr(system, use)(run.state())
    getattr(system, use)(run.state(0))
    assert system.mass_matrix(run.state())[0, 0] == 1.0


def test_a_programme_of_a_view_follows_what_the_model_defines():
    m = mt.Model("cart")
    for name, value in (("a", 1.0), ("b", "2*a")):
        m.parameter(name, value)
    m.joint("x", mt.Prismatic("x"), m.ground, m.body("cart", mass="b"))
    made = mt.programme(m.build(free=["a", "b"]), ["x' = 1"], gain=2.0)
    other = made.with_parameters(a=3.0)
    assert other.parameters == {"a": 3.0, "b": 6.0}
    assert other.system.mass_matrix([0.0])[0, 0] == 6.0
    assert made.with_parameters(b=5.0).with_parameters(a=7.0).parameters == {"a": 7.0, "b": 5.0}


def test_a_list_of_points_is_no_input():
    system = model(OTHER).build()
    with pytest.raises(mt.MomentreeError, match=r"input .w.: .* is a list of points. Give \(times, values\)"):
        system.simulate(system.start(), 1.0, inputs={"w": [(0, 5), (1, 7)]})


def test_a_start_that_is_given_frees_an_input_that_the_start_of_the_model_names():
    m = pendulum()
    m.input("u", 0.5)
    m.torque("A", "u")
    m.start_at({"A": "u"}, t_end=0.1)
    system = m.build()
    assert system.simulate(system.assemble({"A": 0.2}), inputs={"u": "sin(t)"}).t[-1] == 0.1
    with pytest.raises(mt.MomentreeError, match="the start of the model depends on it"):
        system.simulate(inputs={"u": "sin(t)"})


def test_a_function_that_may_remember_is_not_compared():
    m = pendulum()
    m.input("u", 0.5)
    m.torque("A", "u")
    system = m.build()
    with pytest.raises(mt.MomentreeError, match="compare: input 'u': a Python function may remember"):
        mt.compare(system, system.assemble({"A": 0.1}), 0.1, inputs={"u": mt.sampled(lambda t: t, 0.01)})


def test_a_motion_of_many_follows_what_the_model_defines():
    system = model(OTHER).build(free=FREE)
    start = system.assemble(START, MOVING)
    motions = system.simulate_many([start, start], t_end=0.25, every=0.25, parameters={"k": np.array([3.0, 5.0])})
    state = motions.run(1).state()
    assert state.parameters["follows"] == 11.0
    assert system.simulate(state, 0.5, parameters={"k": 7.0}).parameters["follows"] == 15.0


def test_a_function_for_jax_or_casadi_asks_for_what_follows_from_others():
    jax = pytest.importorskip("jax")
    pytest.importorskip("casadi")
    jax.config.update("jax_enable_x64", True)
    system = model(OTHER).build(free=FREE)
    state = system.assemble(START, MOVING, parameters={"k": 5.0})
    wanted, follows = system.forward_dynamics(state), state.parameters["follows"]
    f = system.jax_function("forward_dynamics")
    with pytest.raises(mt.MomentreeError, match="the model defines 'follows' by others, of which some are given"):
        f(state.q, state.v, parameters={"k": 5.0})
    found = f(state.q, state.v, parameters={"k": 5.0, "follows": follows})
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    g = system.casadi_function("forward_dynamics")
    assert np.isnan(np.array(g(q=state.q, v=state.v, k=5.0)["out"])).any()
    np.testing.assert_allclose(
        np.array(g(q=state.q, v=state.v, k=5.0, follows=follows)["out"]).ravel(), wanted, rtol=1e-12
    )
