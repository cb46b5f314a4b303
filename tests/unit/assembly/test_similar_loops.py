"""Similar loops measured at once: the same bits as one after the other, and few evaluations."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import momentree as mt
from mechanisms import delta_robot, four_bars_in_a_row
from momentree.assembly import samples as samples_module
from momentree.assembly.samples import Samples
from momentree.assembly.similar_loops import MANY, similar_loops
from momentree.equations.evaluation import Evaluation
from momentree.equations.sweeps import Records
from momentree.spatial import Transform
from momentree.structure.mechanism import Mechanism


def uneven_row(n: int) -> Mechanism:
    """A row of four-bars whose numbers differ from loop to loop."""
    mechanism = four_bars_in_a_row(n).build().mechanism
    random = np.random.default_rng(n)
    loops = []
    for loop in mechanism.loops:
        placement = loop.second.placement
        moved = Transform(placement.rotation, placement.offset * random.uniform(0.9, 1.1))
        loops.append(dataclasses.replace(loop, second=loop.second._replace(placement=moved)))
    return dataclasses.replace(mechanism, loops=tuple(loops))


def measured(mechanism: Mechanism, k: int) -> list[np.ndarray]:
    random = np.random.default_rng(k)
    q, v = random.normal(size=(k, mechanism.nq)), random.normal(size=(k, mechanism.nv))
    at = Samples(mechanism, q, v, np.linspace(0.0, 1.0, k))
    return [at.closure_errors(), at.constraint_velocities(), at.openings()]


@pytest.mark.parametrize("k", [1, 2, 7])
@pytest.mark.parametrize("make", [lambda: four_bars_in_a_row(20).build().mechanism, lambda: uneven_row(20)])
def test_similar_loops_give_the_same_bits_as_single_ones(make, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = make()
    assert 0 < len(similar_loops(mechanism)) < len(mechanism.loops)
    together = measured(mechanism, k)
    monkeypatch.setattr(samples_module, "similar_loops", lambda mechanism: ())
    for one, other in zip(together, measured(mechanism, k), strict=True):
        assert one.shape == other.shape
        assert one.tobytes() == other.tobytes()
        assert np.abs(one).max() > 1e-3


def test_each_loop_is_in_one_kind_and_kinds_do_not_grow_with_the_row() -> None:
    counts = []
    for n in (MANY, 3 * MANY):
        mechanism = four_bars_in_a_row(n).build().mechanism
        kinds = similar_loops(mechanism)
        assert sorted(i for kind in kinds for i in kind.loops) == list(range(len(mechanism.loops)))
        counts.append(len(kinds))
    assert counts[0] == counts[1]


def test_evaluations_do_not_grow_with_the_number_of_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    placed, plain = list[int](), samples_module.records

    def counted(at: Evaluation, *velocities: Any) -> Records:
        placed.append(len(at.mechanism.bodies))
        return plain(at, *velocities)

    monkeypatch.setattr(samples_module, "records", counted)
    counts = []
    for n in (MANY, 4 * MANY):
        placed.clear()
        measured(four_bars_in_a_row(n).build().mechanism, 2)
        counts.append(sum(placed))
    assert counts[0] == counts[1] > 0


def test_few_loops_and_long_paths_are_left_as_they_are() -> None:
    assert similar_loops(delta_robot().build().mechanism) == ()
    ladder, before = mt.Model("ladder"), None
    for i in range(3 * MANY):  # each link of a long chain closes a loop with the ground
        link = ladder.body(f"link {i}", mt.rod(mass=1.0, length=1.0))
        ladder.joint(f"joint {i}", mt.Revolute("z"), before.at((1, 0, 0)) if before else ladder.ground, link)
        ladder.joint(f"plane {i}", mt.Planar("z"), ladder.ground, link)
        before = link
    assert similar_loops(ladder.build().mechanism) == ()
