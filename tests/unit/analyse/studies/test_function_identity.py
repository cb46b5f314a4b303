"""What makes two functions the same: each thing that a result can depend on, and nothing else."""

from __future__ import annotations

import functools
import importlib
import re
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import momentree as mt
from momentree.analyse.studies.function_identity import Unknown, function_identity
from study_models import rotor

GAIN, TABLE = 1.0, np.array([1.0, 2.0])


class Scaled:
    """A user's object, whose method is an output."""

    offset = 0.0

    def __init__(self, gain):
        self.gain = gain

    @functools.cached_property
    def doubled(self):
        return 2 * self.gain

    def last(self, run):
        return self.gain * run["A"][-1] + self.offset

    def __call__(self, run):
        return self.gain


class Shifted(Scaled):
    offset = 1.0


@dataclass(frozen=True)
class Band:
    low: float
    high: float = 2.0

    def width(self, run):
        return self.high - self.low


def scaled(run, gain=1.0, *, power=1):
    return gain * run["A"][-1] ** power


def enclosing(helper):
    return lambda run: helper(run)


def reading_a_global(run):
    return GAIN * TABLE[0]


def calling_a_global(run):
    return reading_a_global(run) + 1


def keyword(power):
    def output(run, *, power=power):
        return power

    return output


def times(gain):
    return lambda run: gain * run["A"][-1]


@functools.lru_cache
def remembered(run):
    return GAIN


# two that differ, and one that is equal to the first
CASES = {
    "constants": (lambda run: 1.0, lambda run: 2.0, lambda run: 1.0),
    "enclosed values": (times(2), times(3), times(2)),
    "bound methods": (Scaled(1).last, Scaled(2).last, Scaled(1).last),
    "classes": (Scaled(1).last, Shifted(1).last, Scaled(1).last),
    "callable objects": (Scaled(1), Scaled(2), Scaled(1)),
    "data classes": (Band(0.0).width, Band(0.0, 3.0).width, Band(0.0).width),
    "partials": (
        functools.partial(scaled, gain=2),
        functools.partial(scaled, gain=3),
        functools.partial(scaled, gain=2),
    ),
    "enclosed helpers": (enclosing(times(2)), enclosing(times(3)), enclosing(times(2))),
    "enclosed methods": (enclosing(Scaled(2).last), enclosing(Scaled(3).last), enclosing(Scaled(2).last)),
    "keyword-only defaults": (keyword(1), keyword(2), keyword(1)),
    "arrays": (enclosing(np.array([1.0])), enclosing(np.array([1.5])), enclosing(np.array([1.0]))),
    "shapes of arrays": (enclosing(np.ones(2)), enclosing(np.ones((2, 1))), enclosing(np.ones(2))),
    "kinds of numbers": (enclosing(1), enclosing(1.0), enclosing(1)),
    "numbers of NumPy": (enclosing(np.float64(1)), enclosing(np.float64(2)), enclosing(np.float64(1))),
    "functions of libraries": (enclosing(np.max), enclosing(np.min), enclosing(np.max)),
    "bound functions of libraries": (enclosing([1].index), enclosing([2].index), enclosing([1].index)),
    "lists and dicts": (enclosing({"a": [1, 2]}), enclosing({"a": [1, 3]}), enclosing({"a": [1, 2]})),
    "sets": (enclosing({"a", "b"}), enclosing({"a", "c"}), enclosing({"b", "a"})),
    "systems": (enclosing(rotor().build()), enclosing(rotor().build(free=["r"])), enclosing(rotor().build())),
    "patterns": (enclosing(re.compile("a")), enclosing(re.compile("b")), enclosing(re.compile("a"))),
    "random numbers": tuple(enclosing(np.random.default_rng(seed)) for seed in (1, 2, 1)),
    "vectorized": (np.vectorize(times(2)), np.vectorize(times(3)), np.vectorize(times(2))),
}


@pytest.mark.parametrize("what", CASES)
def test_functions_are_one_only_if_all_that_they_depend_on_is(what):
    one, other, same = CASES[what]
    assert function_identity(one) == function_identity(same)
    assert function_identity(one) != function_identity(other)


@pytest.mark.parametrize("function", [reading_a_global, calling_a_global, remembered, Scaled(1).last])
def test_a_changed_global_or_class_makes_another_function(function, monkeypatch):
    before = function_identity(function)
    monkeypatch.setattr(sys.modules[__name__], "GAIN", 2.0)
    monkeypatch.setattr(Scaled, "offset", 2.0)
    changed = function_identity(function)
    monkeypatch.undo()
    assert before != changed
    assert function_identity(function) == before


def test_what_a_module_of_the_user_says_counts_and_what_an_object_remembers_does_not(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # that of a file of this second and size would be taken again
    found = set()
    for gain in (1, 2):
        (tmp_path / "user_helpers.py").write_text(f"def gain():\n    return {gain}\n")
        importlib.invalidate_caches()
        sys.modules.pop("user_helpers", None)
        names: dict = {}
        exec("import user_helpers\ndef of(run): return user_helpers.gain()", names)
        exec("def inside(run):\n    import user_helpers\n    return user_helpers.gain()", names)
        found |= {function_identity(names["of"]), function_identity(names["inside"])}
    assert len(found) == 4
    sys.modules.pop("user_helpers", None)
    scaled = Scaled(3)
    before = function_identity(scaled.last)
    assert scaled.doubled == 6
    assert function_identity(scaled.last) == before


def test_recursion_has_an_identity():
    def counted(n):
        return 0 if n == 0 else other(n)

    def other(n):
        return counted(n - 1)

    assert function_identity(counted) == function_identity(counted) != function_identity(other)


def test_it_is_the_same_in_every_process():
    code = "import test_function_identity as t; print({k: t.function_identity(v[0]) for k, v in t.CASES.items()})"
    paths = [str(Path(__file__).parent), *filter(None, sys.path)]
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = {paths!r}; {code}"]
    told = [subprocess.run(command, capture_output=True, text=True, env={"PYTHONHASHSEED": seed}) for seed in "12"]
    assert told[0].stdout == told[1].stdout != "", told[0].stderr


def test_what_has_no_value_is_refused_for_stores_and_named_with_the_way_out(tmp_path):
    lock = threading.Lock()

    def guarded(run):
        with lock:
            return run["A"][-1]

    with pytest.raises(Unknown, match=r"a _thread\.lock"):
        function_identity(guarded)
    study = functools.partial(mt.study, rotor(), {"r": [0.5]}, every=1.0)
    words = r"output 'end' depends on a _thread\.lock.*\(guarded, \{'identity': 'version 1'\}\)"
    with pytest.raises(mt.MomentreeError, match=words):
        study(outputs={"end": guarded}, path=tmp_path / "s.zarr")
    held = study(outputs={"end": guarded}).run()
    written = study(outputs={"end": (guarded, {"identity": "version 1"})}, path=tmp_path / "s.zarr").run()
    assert held.end.values == written.end.values
    with pytest.raises(mt.MomentreeError, match="differs in outputs end"):
        study(outputs={"end": (guarded, {"identity": "version 2"})}, path=tmp_path / "s.zarr")
