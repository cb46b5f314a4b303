"""The front door of Ivanov's iteration: eta against the constraint impulses of the passes, and its mistakes."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar

P_STAR = np.array([1.0, 2.0, -0.5])


def split():
    m = four_bar()
    m.split("coupler", "C")
    return m.build()


@pytest.mark.parametrize("method", ["iteration", "differences", "conjugate gradients"])
def test_every_method_finds_the_impulses_that_close_the_loop(method):
    system = split()
    start = system.assemble({"A": 1.0})
    p = np.resize(P_STAR, system.nv)
    study = mt.ivanov_iteration(system, start, p=p, method=method)
    assert study.converged
    assert study.method == method
    assert study.iterations == len(study.history) - 1
    assert (study.differences is not None) == (method == "differences")
    found = system.hamiltonian_variables(start.q, p)  # by elimination on the passes
    np.testing.assert_allclose(study.velocities, found.v, atol=1e-8 * np.abs(found.v).max())
    # (7): grad f = Phi eta + b, and Phi is the Delassus matrix of six rows in inertial axes
    np.testing.assert_allclose(study.Phi @ study.eta, -study.b, atol=1e-8 * np.abs(study.b).max())
    J = system.constraint_jacobian(start.q)
    np.testing.assert_allclose(np.trace(study.Phi), np.trace(J @ np.linalg.solve(system.mass_matrix(start.q), J.T)))
    assert (study.eigenvalues <= 1 + 1e-9).all()


def test_momenta_of_velocities_that_keep_loops_closed_need_no_impulse():
    system = split()
    study = mt.ivanov_iteration(system, system.assemble({"A": 1.0}, velocities={"A": 0.7}))
    np.testing.assert_allclose(study.b, 0, atol=1e-12)


def cut_joint():
    system = four_bar().build()
    return mt.ivanov_iteration(system, system.assemble({"A": 1.0}))


MISTAKES = {
    "method": (lambda s, at: mt.ivanov_iteration(s, at, method="iterate"), "no method 'iterate'. Choose 'iteration'"),
    "momenta": (lambda s, at: mt.ivanov_iteration(s, at, p=[1.0]), "p has the shape 1"),
    "cut joint": (lambda s, at: cut_joint(), r"joint 'C'.*m\.split"),
}


@pytest.mark.parametrize(("call", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_named(call, message):
    system = split()
    with pytest.raises(mt.MomentreeError, match=message):
        call(system, system.assemble({"A": 1.0}))


def test_a_tree_has_nothing_to_split():
    m = mt.Model("pendulum")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(mass=1.0, length=1.0)))
    system = m.build()
    with pytest.raises(mt.MomentreeError, match=r"no split body\. Split one"):
        mt.ivanov_iteration(system, system.assemble())
