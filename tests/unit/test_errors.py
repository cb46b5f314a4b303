"""Errors survive pickle, copy and process pools; misspelt and old names are answered with the right ones."""

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.analyse.studies.function_identity import Unknown
from momentree.compile.execute.gpu_driver import GpuError, OutOfGpuMemory
from momentree.errors import (
    ArgumentError,
    AssemblyError,
    ExpressionError,
    GraphError,
    ModelError,
    MomentreeError,
    Problem,
    choices,
    listed,
    suggestion,
)
from momentree.model.bodies import Impossible
from momentree.model.values import Mistake
from momentree.results.run import RunError
from momentree.symbols.trigonometry import TooManyTerms

PROBLEMS = [Problem("body 'b'", "is wrong.", ("body", 0), "x.toml:3", ("body", "c")), Problem("", "too.")]
ERRORS = [
    MomentreeError("plain"),
    ModelError(PROBLEMS),
    ExpressionError("unexpected", "1 +* 2", 3),
    ArgumentError("look: there is no argument 'prot'."),
    GraphError("no graph"),
    AssemblyError("joint 'C' cannot close", ("joint", "C")),
    Mistake("mass is wrong", "mass", ("name", "m")),
    Impossible("inertia is less than zero.", True),
    TooManyTerms("more than 10 products"),
    Unknown("an open file"),
    GpuError("the driver is too old", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
    OutOfGpuMemory("not enough memory", "CUDA_ERROR_OUT_OF_MEMORY"),
]
WAYS = {"pickle": lambda error: pickle.loads(pickle.dumps(error)), "copy": copy.copy, "deepcopy": copy.deepcopy}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_keeps_its_message_and_its_fields(error, way):
    error.add_note("seen on the way")
    found = WAYS[way](error)
    assert type(found) is type(error)
    assert (str(found), found.args, vars(found)) == (str(error), error.args, vars(error))


def test_every_error_of_the_library_is_tried():
    def kinds(cls):
        return {cls}.union(*(kinds(sub) for sub in cls.__subclasses__()))

    ours = {kind for kind in kinds(MomentreeError) if kind.__module__.startswith("momentree")}
    assert ours == {type(error) for error in ERRORS} | {RunError}


@pytest.mark.parametrize("way", WAYS)
def test_an_error_of_a_run_keeps_the_run(way, tmp_path):
    m = mt.Model("pendulum")
    m.body("bob", mt.rod(mass=1.0, length=0.5))
    m.joint("hinge", mt.Revolute("y"), "ground", "bob")
    system = m.build()
    run = system.simulate(system.assemble({"hinge": 0.3}), t_end=0.1)
    with pytest.raises(RunError) as caught:
        run.save(tmp_path)
    found = WAYS[way](caught.value)
    assert str(found) == str(caught.value)
    assert (found.run["hinge"] == run["hinge"]).all()


def impossible():
    mt.Model("nothing").constrain("1 +")
    m = mt.Model("bad")
    m.body("bob", mass=-1.0)
    m.build()


@pytest.mark.long
def test_an_error_comes_back_from_a_pool_of_processes():
    with (
        ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool,
        pytest.raises(ModelError, match="mass is -1 kg") as caught,
    ):
        pool.submit(impossible).result(timeout=60)
    assert caught.value.problems[0].where == "body 'bob'"


# --- names ---


def test_a_misspelt_name_is_answered_with_the_nearest_or_with_the_choices():
    assert suggestion("cuopler", ["crank", "coupler"]) == " Did you mean 'coupler'?"
    assert suggestion("x", ["energy", "aggregative"]) == " Choose 'energy' or 'aggregative'."
    assert suggestion("x", ["A", "B", "C"]) == " Choose 'A', 'B' or 'C'."
    assert suggestion("zz", ["A"]) == " Choose 'A'."
    assert suggestion("x", []) == " None is defined yet."
    assert choices([f"b{i}" for i in range(20)]).endswith("'b7' or another of 20")


def test_names_are_listed_and_of_many_the_first_few():
    assert choices(["A", "B", "C"], last="and") == "'A', 'B' and 'C'"
    words = [f"s{i}" for i in range(12)]
    assert listed(words[:3]) == "s0, s1, s2"
    assert listed(words, 2) == listed(words[:2], 2, count=12) == "s0, s1 and 10 more"


def test_choices_are_listed_once():
    with pytest.raises(MomentreeError) as caught:
        four_bar().build(code="fast")
    assert str(caught.value) == "build: there is no code 'fast'. Choose 'straight-line' or 'rolled'."


OLD_ARGUMENTS = {
    "simulate": (lambda s: s.simulate(s.start(), 1.0, closure="leak"), "simulate(..., stabilization='leak')"),
    "simulate_many": (lambda s: s.simulate_many([], closure="leak"), "simulate_many(..., stabilization='leak')"),
    "compare": (lambda s: mt.compare(s, s.start(), 1.0, closure="leak"), "compare(..., stabilization='leak')"),
    "assemble": (lambda s: s.assemble({"A": 1.0}, rates={"A": 2.0}), "assemble(..., velocities={'A': 2.0})"),
    "assemble_many": (lambda s: s.assemble_many(rates={"A": 2.0}), "assemble_many(..., velocities={'A': 2.0})"),
    "start": (lambda s: s.start(rates={"A": 2.0}), "start(..., velocities={'A': 2.0})"),
    "start_at": (lambda s: four_bar().start_at(rates={"A": 2.0}), "start_at(..., velocities={'A': 2.0})"),
    "equations": (lambda s: s.equations(rates={"A": "u"}), "equations(..., velocities={'A': 'u'})"),
}


@pytest.mark.parametrize(("call", "new"), OLD_ARGUMENTS.values(), ids=OLD_ARGUMENTS)
def test_an_old_argument_is_answered_with_the_new_one(call, new):
    with pytest.raises(MomentreeError) as caught:
        call(four_bar().build())
    old, name = ("closure", "stabilization") if "stabilization" in new else ("rates", "velocities")
    assert str(caught.value) == f"{old} is now called {name}: {new}."


@pytest.mark.parametrize("kind", ["state", "run"])
def test_an_old_attribute_is_answered_with_the_new_one(kind):
    system = four_bar().build()
    start = system.assemble({"A": 1.0})
    thing = start if kind == "state" else system.simulate(start, t_end=0.01)
    for old, new in (("rate", "velocity"), ("closure", "closure_error"), ("closure_rate", "closure_velocity")):
        with pytest.raises(AttributeError, match=f"{old} is now called {new}: {kind}.{new}"):
            getattr(thing, old)
        assert hasattr(thing, new)
    with pytest.raises(AttributeError, match="has no attribute 'speed'"):
        _ = thing.speed


def test_a_velocity_with_a_name_of_its_own_is_answered_with_that_name():
    m = mt.Model("hull")
    hull = m.body("hull", mt.sphere(mass=1.0, radius=0.1))
    m.joint("c", mt.Free(), m.ground, hull)
    m.force(hull, ("-c.x'", 0, 0))
    with pytest.raises(ModelError, match=r"unknown name 'c.x'' in law .* Did you mean 'c.vx'"):
        m.build()


def test_a_warning_points_to_the_line_of_the_user():
    m = mt.Model("slider")
    m.joint("A", mt.Prismatic("x"), m.ground, m.body("b", mt.sphere(mass=1.0, radius=0.1)))
    m.torque("A", "1/(0.01 - t)")
    system = m.build()
    with pytest.warns(mt.RunWarning) as caught:
        system.simulate(system.start(), 1.0)
    with pytest.warns(mt.RunWarning) as by_keyword:
        mt.System.simulate(system, start=system.start(), t_end=1.0)
    assert {warning.filename for warning in [*caught, *by_keyword]} == {__file__}
