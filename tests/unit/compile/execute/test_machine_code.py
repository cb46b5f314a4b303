"""Machine code: every level of code generation computes the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.compile.execute import machine_code
from momentree.look.gallery import find


def loop():
    return four_bar().build()


def walker():  # contacts and a stiff integrator
    return mt.load(find("walking-mechanism").model).build()


def bennett():
    return mt.load(find("bennett-linkage").model).build()


def results(system, t_end):
    """What compiled code computes: a run, accelerations of a batch in lanes, a mass matrix."""
    run = system.simulate(system.start(), t_end=t_end)
    batch = np.repeat(run.q[-1:], 11, axis=0), np.repeat(run.v[-1:], 11, axis=0)
    values = [run.t, run.q, run.v, run.energy.total, system.forward_dynamics(*batch), system.mass_matrix(run.q)]
    return [np.array(value) for value in values]


@pytest.mark.parametrize(
    ("make", "t_end"),
    [(loop, 1.0), *(pytest.param(*each, marks=pytest.mark.long) for each in ((bennett, 0.5), (walker, 0.2)))],
)
def test_the_bits_do_not_depend_on_the_level(monkeypatch, make, t_end):
    codes, found, counts = [], [], [0]
    generated = machine_code._generated
    monkeypatch.setattr(machine_code, "_generated", lambda *given: codes.append(generated(*given)) or codes[-1])
    monkeypatch.setenv("MOMENTREE_CACHE", "off")
    for level in "02":
        monkeypatch.setenv("MOMENTREE_OPTIMIZE", level)
        found.append(results(make(), t_end))
        counts.append(len(codes))
    assert min(np.diff(counts)) >= 3  # new code at each level,
    assert not {*codes[: counts[1]]} & {*codes[counts[1] :]}  # and other code
    for quick, optimized in zip(*found, strict=True):
        assert np.array_equal(quick, optimized)


def test_a_level_that_llvm_has_not_is_refused(monkeypatch):
    monkeypatch.setenv("MOMENTREE_OPTIMIZE", "fast")
    with pytest.raises(mt.MomentreeError, match="MOMENTREE_OPTIMIZE is 'fast'; give a whole number from 0 to 3"):
        loop().mass_matrix(np.zeros(3))
