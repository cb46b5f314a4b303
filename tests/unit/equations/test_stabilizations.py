"""The records of stabilizations: what is made of them, and the decay rates that they promise."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from command_line import command
from mechanisms import four_bar
from momentree.equations import hamiltonian, lagrange, stabilizations
from momentree.equations.evaluation import Evaluation
from momentree.equations.formulations import FORMULATIONS
from momentree.equations.loops.closing_step import loop_closure_errors
from momentree.equations.stabilizations import STABILIZATIONS, ClosureLevel, stabilizations_at
from momentree.errors import MomentreeError

GAIN = 7.0  # 1/s
ACCELERATIONS = stabilizations_at(ClosureLevel.ACCELERATIONS)


# --- what is made of the records ---


@pytest.mark.parametrize("name", STABILIZATIONS)
def test_a_stabilization_is_listed_wherever_there_is_a_choice(name):
    record = STABILIZATIONS[name]
    assert record.name == name
    assert name in stabilizations.help_text()
    assert (name in stabilizations.gain_help_text()) == record.takes_gain
    assert f'\n| `"{name}"`' in stabilizations.markdown_table()
    assert any(name in formulation.stabilizations for formulation in FORMULATIONS.values())


def test_help_texts_name_them():
    told = " ".join(command("run", "--help").stdout.split())
    for name in STABILIZATIONS:
        assert name in told


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"missing": {}}, "give either gains or a reason in missing at the level of velocities"),
        ({"eigenvalues": ()}, "eigenvalues belong to one that takes a gain"),
    ],
)
def test_a_record_checks_itself(change, message):
    with pytest.raises(MomentreeError, match=message):
        dataclasses.replace(STABILIZATIONS["programme"], **change)


# --- decay rates: closure errors g and their velocities along a linear motion near the closed configuration ---


def four_bar_nearby(offset):
    """A four-bar at rest, without gravity, this far off a closed configuration along one coordinate."""
    m = four_bar()
    m.gravity = (0, 0, 0)
    system = m.build()
    start = system.assemble({"A": 1.0})
    return system, start.q + offset * np.eye(system.nq)[-1]


def closure_errors(system, q):
    return np.array(loop_closure_errors(Evaluation(system.mechanism, q.tolist(), 0.0)))


def closure_accelerations(system, q, u, gains):
    """g'' at a state, by differences of g along the motion."""
    du = lagrange.right_hand_side(Evaluation(system.mechanism, q.tolist(), 0.0), u.tolist(), **gains).p
    h = 1e-4
    moved = [closure_errors(system, q + s * u + 0.5 * s * s * np.array(du)) for s in (-h, 0, h)]
    return (moved[0] - 2 * moved[1] + moved[2]) / h**2


@pytest.mark.parametrize("name", ACCELERATIONS)
def test_small_errors_have_the_eigenvalues_of_the_record(name):
    # g'' = c1 g' + c0 g, to first order in the errors: the roots of x^2 = c1 x + c0 are the eigenvalues
    system, q = four_bar_nearby(1e-4)
    gains, zero = ACCELERATIONS[name](GAIN), np.zeros(system.nv)
    g = closure_errors(system, q)
    c0 = np.vdot(g, closure_accelerations(system, q, zero, gains)) / (g @ g)
    system, closed = four_bar_nearby(0.0)
    u = 1e-4 * np.eye(system.nv)[-1]
    dg = (closure_errors(system, closed + 1e-4 * u) - closure_errors(system, closed - 1e-4 * u)) / 2e-4
    c1 = np.vdot(dg, closure_accelerations(system, closed, u, gains)) / (dg @ dg)
    expected = np.array(STABILIZATIONS[name].eigenvalues or (0, 0)) * GAIN
    # two free motions of g besides: without stabilization both roots vanish
    assert [c1, -c0] == pytest.approx([expected.sum(), expected.prod()], abs=0.02 * GAIN**2)


def test_impulses_make_errors_decay_at_the_gain():
    system, q = four_bar_nearby(1e-4)
    gains = stabilizations_at(ClosureLevel.VELOCITIES)["baumgarte"](GAIN)
    dq = hamiltonian.right_hand_side(Evaluation(system.mechanism, q.tolist(), 0.0), [0.0] * system.nv, **gains).q
    h = 1e-4
    ahead, behind = (closure_errors(system, q + s * np.array(dq)) for s in (h, -h))
    np.testing.assert_allclose((ahead - behind) / (2 * h), -GAIN * closure_errors(system, q), rtol=1e-3)


def test_the_leak_changes_no_motion():
    system, q = four_bar_nearby(0.0)
    at, p = Evaluation(system.mechanism, q.tolist(), 0.0), [0.1, -0.2, 0.3]
    plain, leaking = (hamiltonian.right_hand_side(at, p, kappa=kappa) for kappa in (0.0, GAIN))
    assert leaking.q == plain.q
    assert max(abs(a - b) for a, b in zip(plain.p, leaking.p, strict=True)) > 1e-3
