"""Fields of a programme on a mechanism on a tape: derivatives against differences, free parameters as arguments."""

from __future__ import annotations

import numpy as np
import pytest

from mechanisms import four_bar
from momentree.compile.trace.mechanism_programme_code import MechanismSource
from momentree.compile.trace.programme_code import quantity_kernel
from momentree.compile.trace.tape import Tape
from momentree.structure.programme_mechanism import programme_mechanism

H = 1e-6


@pytest.fixture(scope="module")
def source() -> MechanismSource:
    m = four_bar()
    m.frame("tip", m.bodies[1].at((0.7, 0, 0.2)))
    said = {"wanted": {"A": "k*B"}, "gain": "k", "position_gain": 2, "parameters": {"k": 3}}
    return MechanismSource(programme_mechanism(m, None, ["tip.x^2 + 0.1*t = 1"], **said))


def called(source, what, q, qd, t, k=3.0):
    return quantity_kernel(source, what)([q[None], qd[None], np.array([[t]]), np.array([k])])[0]


def test_derivatives_of_the_velocity_field_and_of_the_masses(source):
    q, qd, t = *np.random.default_rng(6).uniform(0.2, 0.9, (2, 3)), 0.3
    ahead, behind = (called(source, "velocity", q + s * qd, qd, t + s) for s in (H, -H))
    np.testing.assert_allclose(called(source, "field_acceleration", q, qd, t), (ahead - behind) / (2 * H), rtol=1e-6)
    v, m = called(source, "velocity", q, qd, t), called(source, "mass_matrix", q, qd, t).reshape(3, 3)
    u = qd - v
    p = -3 * m
    for i, step in enumerate(H * np.eye(3)):
        v_i, m_i = (
            (called(source, what, q + step, qd, t) - called(source, what, q - step, qd, t)) / (2 * H)
            for what in ("velocity", "mass_matrix")
        )
        p[i] += m_i.reshape(3, 3) @ u / 2 - m @ v_i
    np.testing.assert_allclose(called(source, "coefficients", q, qd, t).reshape(3, 3), p, rtol=1e-6, atol=1e-6)


def test_parameters_are_arguments(source):
    q, qd = np.array([0.4, -0.2, 0.7]), np.zeros(3)
    once, twice = (called(source, "dissipation", q, qd, 0.0, k) for k in (3.0, 6.0))
    np.testing.assert_allclose(twice, 2 * once)
    assert source.parameters == ("k",)
    assert source.coordinates == ("A", "B", "D")
    assert source.constraints == ("C: row 1 in its plane", "C: row 2 in its plane", "tip.x^2 + 0.1*t = 1")


def test_derivatives_are_left_out_where_nothing_needs_them(source):
    tape = Tape()
    *q, t, k = tape.inputs("A", "B", "D", "t", "k")
    before = source.on_tape(tape, q, t, [k], differentiated=False)
    short = len(tape.nodes)
    whole = source.on_tape(tape, q, t, [k])
    assert (before.v_q, before.m_q) == ((), ())
    assert len(whole.m_q) == len(whole.v_q) == 3
    assert len(tape.nodes) > 2 * short
