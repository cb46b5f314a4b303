"""Two tiers of code generation: the same bits, one change, and only for long modules that nobody has generated yet."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from mechanisms import four_bar
from momentree.compile.execute import machine_code, tiers
from momentree.compile.execute.machine_code import Target
from momentree.compile.execute.tiers import TieredFunction

SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
TEXT = """define void @third(ptr %x) nounwind {
entry:
  %old = load double, ptr %x
  %new = fdiv double %old, 3.0
  store double %new, ptr %x
  ret void
}

define void @other(ptr %x) nounwind {
entry:
  ret void
}
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MOMENTREE_CACHE", str(tmp_path))
    monkeypatch.delenv("MOMENTREE_OPTIMIZE", raising=False)
    return tmp_path


@pytest.fixture
def levels(monkeypatch):
    """The levels at which code is generated, in turn."""
    found, generated = [], machine_code._generated

    def noted(text, target, level=None):
        found.append(machine_code._options(level)["opt"])
        return generated(text, target, level)

    monkeypatch.setattr(machine_code, "_generated", noted)
    return found


def third() -> TieredFunction:
    return TieredFunction(TEXT, Target.host(), "third", ["other"], SIGNATURE)


def test_a_short_module_has_one_tier(levels):
    function = third()
    assert not function.quick
    assert levels == [2]


def test_a_long_module_changes_once_with_the_same_bits(levels, monkeypatch):
    monkeypatch.setattr(tiers, "LONG", 3)
    function, x = third(), np.array([1.0])
    first = function.library
    assert function.quick
    assert levels == [0]
    function(x.ctypes.data)
    assert x[0] == 1.0 / 3.0
    assert function.quick
    function._left = 0.0  # as if it had run for long
    function(x.ctypes.data)
    assert not function.quick
    assert levels == [0, 2]
    function(x.ctypes.data)
    assert x[0] == 1.0 / 3.0 / 3.0 / 3.0
    assert function.library is first
    assert first["other"]
    function.generate_well()
    assert levels == [0, 2]


def test_what_is_cached_is_not_generated_quickly(levels, monkeypatch):
    third()
    monkeypatch.setattr(tiers, "LONG", 3)
    assert not third().quick
    assert levels == [2]


def test_a_level_that_the_user_chose_is_the_only_one(levels, monkeypatch):
    monkeypatch.setattr(tiers, "LONG", 3)
    monkeypatch.setenv("MOMENTREE_OPTIMIZE", "1")
    assert not third().quick
    assert levels == [1]


def test_a_run_is_the_same_in_both_tiers(levels, monkeypatch):
    def run():
        system = four_bar().build()
        return system.simulate(system.assemble({"A": 1.0}), t_end=0.5)

    plain, levels[:] = run(), []
    monkeypatch.setenv("MOMENTREE_CACHE", "off")
    monkeypatch.setattr(tiers, "LONG", 100)
    monkeypatch.setattr(tiers, "SECONDS_PER_LINE", 0.0)  # it changes after the first steps
    tiered = run()
    assert {0, 2} <= {*levels}
    assert np.array_equal(plain.q, tiered.q)
    assert np.array_equal(plain.v, tiered.v)
