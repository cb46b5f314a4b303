"""Shared inertial parameters: the same generalized forces, whatever the tree; fewer numbers, none of them large."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import momentree as mt
from mechanisms import random_tree
from momentree.equations import newton_euler
from momentree.equations.evaluation import Evaluation
from momentree.equations.shared_parameters import FAR, shared_parameters

spec = importlib.util.spec_from_file_location(
    "operation_counts", Path(__file__).parents[3] / "benchmarks" / "operation_counts.py"
)
counts = importlib.util.module_from_spec(spec)
spec.loader.exec_module(counts)


INERTIA = [[1, 0.1, 0.2], [0.1, 1.2, 0.1], [0.2, 0.1, 0.9]]


def check(mechanism, seed=0):
    random = np.random.default_rng(seed)
    q = (
        mechanism.random_coordinates(random)
        if hasattr(mechanism, "random_coordinates")
        else random.normal(size=mechanism.nq)
    )
    u, du = random.normal(size=(2, mechanism.nv))
    given, shared = (
        np.array(newton_euler.inverse_dynamics(Evaluation(m, q.tolist()), u.tolist(), du.tolist()), dtype=float)
        for m in (mechanism, shared_parameters(mechanism))
    )
    np.testing.assert_allclose(shared, given, rtol=0, atol=1e-11 * max(1.0, np.abs(given).max()))


@pytest.mark.parametrize("kind", counts.ARMS)
@pytest.mark.parametrize("seed", range(3))
def test_arms(kind, seed):
    check(counts.arm(kind, 6, seed), seed)


@pytest.mark.parametrize("seed", range(12))
def test_random_trees_of_hinges_and_slides(seed):
    random = np.random.default_rng(seed)
    kinds = random.choice(["Revolute", "Revolute", "Revolute", "Prismatic"], size=8).tolist()
    check(random_tree(random, kinds).build().mechanism, seed)


def test_a_force_on_the_last_link_keeps_its_frame():
    m = mt.Model("pushed")
    body = m.ground
    for i in range(3):
        link = m.body(
            f"link{i}", mass=1.0 + i, com=(0.1, 0.2, 0.3), inertia=[[1, 0.1, 0.2], [0.1, 1.2, 0.1], [0.2, 0.1, 0.9]]
        )
        m.joint(f"hinge{i}", mt.Revolute("z"), body.at((0.3, 0.1, 0.2), mt.turn("x", 0.7)), link)
        body = link
    m.force(body.at((0.1, 0.4, 0.2)), (1.0, 2.0, 3.0))
    check(m.build().mechanism)


def test_numbers_do_not_grow_where_offsets_nearly_vanish():
    m = mt.Model("short")
    body = m.ground
    for i, a in enumerate((0.3, 1e-9, 1e-5, 0.2)):
        link = m.body(
            f"link{i}", mass=1.0, com=(0.1, 0.2, 0.3), inertia=[[1, 0.1, 0.2], [0.1, 1.2, 0.1], [0.2, 0.1, 0.9]]
        )
        m.joint(f"hinge{i}", mt.Revolute("z"), body.at((a, 0, 0), mt.turn("x", 0.7 if i != 2 else 1e-8)), link)
        body = link
    mechanism = m.build().mechanism
    check(mechanism)
    shared = shared_parameters(mechanism)
    assert all(abs(body.inertia.mass) <= 2 * FAR * 4.0 for body in shared.bodies)


def test_what_is_to_vanish_vanishes():
    bodies = shared_parameters(counts.arm("mdh")).bodies
    assert [body.inertia.h.x for body in bodies[1:]] == [0] * 5
    assert [body.inertia.h.z for body in bodies] == [0] * 6
    assert [body.inertia.pseudo[5] for body in bodies[1:-1]] == [0] * 4
    assert all(body.inertia.mass != 0 for body in bodies[2:])
