"""What a run gives is read-only or a copy: whatever is done to it, the run stays as it was computed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar

WRONG = 777.0


def one_joint() -> mt.Model:
    m = mt.Model("slider")
    m.input("u", 0.5)
    m.joint("x", mt.Prismatic("z"), m.ground, m.body("block", mass=1.0, inertia=(1, 1, 1)))
    m.torque("x", "u-0.1*x'")
    m.output("twice", "2*x")
    return m


def rolling() -> mt.Model:
    m = mt.Model("wheel")
    wheel = m.body("wheel", mt.disc(2.0, 0.5, axis="y"))
    m.joint("X", mt.Planar("y"), m.ground.at((0, 0, 0.5)), wheel)
    m.roll(wheel, radius=0.5, disc="y")
    return m


def runs() -> Iterator[tuple[str, Any]]:
    bar = four_bar().build()
    yield "loops", lambda path: bar.simulate(bar.assemble({"A": 1.0}), t_end=0.3, verify=True)
    yield "one joint", lambda path: one_joint().build().simulate(t_end=0.3, inputs={"u": mt.signal([0, 1], [0, 1])})
    yield "loaded", lambda path: loaded(one_joint().build().simulate(t_end=0.3), path)
    yield "rolling", lambda path: rolling().build().simulate(t_end=0.1)
    yield "of many", lambda path: one_joint().build().simulate_many([[0.0]], [[1.0]], 0.3, every=0.1).run(0)


def loaded(run: mt.Run, path: Any) -> mt.Run:
    run.save(path)
    return mt.load_run(path)


def arrays(thing: Any, where: str, depth: int = 0) -> Iterator[tuple[str, np.ndarray]]:
    """All arrays that can be reached from it without a private name."""
    if isinstance(thing, np.ndarray):
        yield where, thing
    elif hasattr(thing, "variables") and hasattr(thing, "dims"):  # of xarray
        for name, one in thing.variables.items():
            yield f"{where}[{name!r}]", one.values
    elif isinstance(thing, Mapping):
        for key, one in thing.items():
            yield from arrays(one, f"{where}[{key!r}]", depth)
    elif isinstance(thing, (tuple, list)):
        for i, one in enumerate(thing):
            yield from arrays(one, f"{where}[{i}]", depth)
    elif dataclasses.is_dataclass(thing) and type(thing).__module__.startswith("momentree.") and depth < 2:
        for name in dir(type(thing)) + [field.name for field in dataclasses.fields(thing)]:
            member = getattr(type(thing), name, None)
            if not name.startswith("_") and not callable(member):
                yield from arrays(getattr(thing, name), f"{where}.{name}", depth + 1)


LEFT = {"system", "mechanism", "model", "settings", "statistics", "end", "version", "warnings", "free", "work_terms"}


def given(run: mt.Run) -> Iterator[tuple[str, np.ndarray]]:
    """All arrays that a run gives, by what is written to get them."""
    for name in sorted({*dir(type(run)), *(field.name for field in dataclasses.fields(run))} - LEFT):
        if not name.startswith("_") and not callable(getattr(type(run), name, None)):
            yield from arrays(getattr(run, name), name)
    for joint in run.system.mechanism.by_joint:
        yield f"[{joint}]", run[joint]
        for method in ("velocity", "reactions"):
            yield f"{method}({joint})", getattr(run, method)(joint)
    for name in (*run.system.inputs, *run.system.outputs):
        yield f"[{name}]", run[name]
    for body in run.system._model.bodies:
        yield f"position({body.name})", run.position(body)
    for loop in run.mechanism.loops:
        yield f"multipliers({loop.name})", run.multipliers(loop.name)
    state = run.state(0)
    yield from (("state.q", state.q), ("state.v", state.v))


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in runs()])
def test_nothing_that_is_done_to_what_a_run_gives_changes_it(make, tmp_path):
    run = make(tmp_path / "run.nc")
    before = {where: array.copy() for where, array in given(run)}
    assert {"t", "q", "v", "samples.work", "energy.kinetic", "energy.balance", "data['q']"} <= {*before}
    assert len(before) > 25
    for where, array in given(run):
        if array.flags.writeable and array.dtype.kind == "f":
            array[...] = WRONG
            assert not array.size or (array == WRONG).all(), where
    after = dict(given(run))
    for where, array in before.items():
        assert np.array_equal(array, after[where], equal_nan=array.dtype.kind == "f"), where
    run.save(tmp_path / "again.nc")
    assert (mt.load_run(tmp_path / "again.nc").q == before["q"]).all()


def test_columns_of_many_samples_are_read_only():
    run = one_joint().build().simulate(t_end=0.3)
    for array in (run.t, run.q, run.v, run.energy.kinetic, run.energy.work["torque on x"], run.samples.work):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = WRONG
