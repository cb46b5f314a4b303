"""Rows of higher pairs in axes of the first body: errors, drifts and velocities of the first body less the second."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import momentree as mt
from momentree.assembly.configuration_space import integrate, reference
from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import frame_placement, records
from momentree.equations.loops.constraint_rows import constraint_velocities
from momentree.equations.loops.higher_pair_rows import (
    pair_drifts,
    pair_errors,
    pair_names,
    pair_row_derivatives,
    pair_rows,
)
from momentree.model.expressions.expression import parse
from momentree.model.frames import Frame
from momentree.model.higher_pairs import Distance, OnSurfaces, Rolling, Skating
from momentree.model.values import TIME
from momentree.spatial import Vector
from momentree.structure.mechanism import Loop

PAIRS = {
    "rolling": Rolling(radius=0.3),
    "skating": Skating(across=Vector(0.6, 0.8, 0.0)),
    "distance": Distance(length=1.0),
    "surface": OnSurfaces(expressions=(parse("x^2 + sin(y*t) - z"),)),
}


class Placed:
    """Two free bodies with the pair between them, which move with velocities u, after a time h."""

    def __init__(self, pair, h=0.0):
        m = mt.Model("two bodies")
        for name in "ab":
            m.joint(name.upper(), mt.Free(), m.ground, m.body(name, mass=1.0, inertia=(1.0, 1.0, 1.0)))
        mechanism = m.build().mechanism
        first, second = Frame("a", (0.1, 0.2, 0.3), mt.turn("x", 0.4)), Frame("b", (0, 0.5, 0), mt.turn("z", 0.2))
        self.loop = Loop("pair", pair, mechanism.attach(first), mechanism.attach(second), None)
        self.mechanism = dataclasses.replace(mechanism, loops=(self.loop,))
        random = np.random.default_rng(3)
        q = integrate(mechanism, reference(mechanism), random.uniform(-1, 1, 12))
        self.u = random.standard_normal(12)
        at = Evaluation(self.mechanism, integrate(mechanism, q, self.u * h).tolist(), 0.6 + h)
        self.bodies = records(at, self.u, closed=True)
        self.record = self.bodies.constraints[1]

    @property
    def X_FM(self):
        F, M = (frame_placement(self.bodies, frame) for frame in (self.loop.first, self.loop.second))
        return F.inverse() @ M


def array(rows):
    return np.array([[*row.linear, *row.angular] for row in rows], dtype=float)


@pytest.mark.parametrize("name", PAIRS)
def test_rows_are_those_of_the_pair_turned_to_the_first_body(name):
    placed, pair = Placed(PAIRS[name]), PAIRS[name]
    R = np.array([[*row] for row in placed.loop.first.placement.rotation.rows], dtype=float)
    own = array(pair.rows(placed.X_FM, {TIME: 0.6}))
    np.testing.assert_allclose(
        array(pair_rows(placed.record)), np.hstack([own[:, :3] @ R.T, own[:, 3:] @ R.T]), atol=1e-14
    )
    assert list(pair_errors(placed.record)) == pytest.approx([-x for x in pair.errors(placed.X_FM, {TIME: 0.6})])
    assert list(pair_drifts(placed.record)) == pytest.approx([-x for x in pair.drifts(placed.X_FM, {TIME: 0.6})])


@pytest.mark.parametrize("name", PAIRS)
def test_velocities_are_those_of_the_first_body_relative_to_the_second(name):
    placed, pair = Placed(PAIRS[name]), PAIRS[name]
    after, before = Placed(pair, 1e-6).X_FM, Placed(pair, -1e-6).X_FM
    v = np.array([*(after.offset - before.offset)], dtype=float) / 2e-6
    R = np.array([[*row] for row in placed.X_FM.rotation.rows], dtype=float)
    dR = sum(sign * np.array([[*r] for r in X.rotation.rows], dtype=float) for sign, X in ((1, after), (-1, before)))
    W = dR @ R.T / 2e-6
    w = [W[2, 1], W[0, 2], W[1, 0]]
    expected = array(pair.rows(placed.X_FM, {TIME: 0.6})) @ [*v, *w] + pair.drifts(placed.X_FM, {TIME: 0.6})
    np.testing.assert_allclose(-np.array(constraint_velocities(placed.bodies), float), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", PAIRS)
def test_derivatives_of_rows_are_those_in_axes_of_the_first_body(name):
    placed, pair = Placed(PAIRS[name]), PAIRS[name]
    after, before = (array(pair_rows(Placed(pair, h).record)) for h in (1e-6, -1e-6))
    np.testing.assert_allclose(array(pair_row_derivatives(placed.record)), (after - before) / 2e-6, rtol=0, atol=1e-8)


def test_inputs_are_given_by_name():
    assert pair_names(Placed(PAIRS["surface"]).record) == {TIME: 0.6}
    assert pair_names(Placed(PAIRS["rolling"]).record) == {}
