"""Errors pass whole through pickle, copy and pools of processes: their messages and all that they carry."""

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import pytest

import momentree as mt
from momentree.errors import AssemblyError, ExpressionError, GraphError, ModelError, MomentreeError, Problem
from momentree.model.bodies import Impossible
from momentree.model.values import Mistake
from momentree.results.run import RunError

PROBLEMS = [Problem("body 'b'", "is wrong.", ("body", 0), "x.toml:3", ("body", "c")), Problem("", "too.")]
ERRORS = [
    MomentreeError("plain"),
    ModelError(PROBLEMS),
    ExpressionError("unexpected", "1 +* 2", 3),
    GraphError("no graph"),
    AssemblyError("joint 'C' cannot close", ("joint", "C")),
    Mistake("mass is wrong", "mass", ("name", "m")),
    Impossible("inertia is less than zero.", True),
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


def test_an_error_comes_back_from_a_pool_of_processes():
    with (
        ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool,
        pytest.raises(ModelError, match="mass is -1 kg") as caught,
    ):
        pool.submit(impossible).result(timeout=60)
    assert caught.value.problems[0].where == "body 'bob'"
