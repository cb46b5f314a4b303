"""Rolled code closes loops as straight-line code does, however they are coupled."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import bennett, four_bar, four_bars_in_a_row, hexapod, slider_crank
from momentree.assembly.configuration import Configuration
from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.right_hand_sides import positions_code, right_hand_side_code
from momentree.equations import hamiltonian, lagrange
from momentree.equations.evaluation import Evaluation
from momentree.equations.formulations import FORMULATIONS
from momentree.integrate.projection import projection_of


def stacked_four_bars(n):
    """Four-bars on top of each other: the coupler of one carries the next."""
    m = mt.Model(f"{n} stacked four-bars")
    base = m.ground
    for i in range(n):
        bars = [m.body(f"{name}{i}", mt.rod(mass=1.0, length=1.0)) for name in ("left", "right", "top")]
        left, right, top = bars
        m.joint(f"A{i}", mt.Revolute("y"), base, left)
        m.joint(f"B{i}", mt.Revolute("y"), base.at((1.1, 0, 0)), right)
        m.joint(f"C{i}", mt.Revolute("y"), left.at((1.0, 0, 0)), top)
        m.joint(f"D{i}", mt.Revolute("y"), top.at((0.9, 0, 0)), right.at((1.0, 0, 0)))
        base = top
    return m


def driven_four_bar():
    """On a ground that moves, its crank turned by a law, cut inside the coupler."""
    m = four_bar()
    m.joints[0] = type(m.joints[0])(m.joints[0].name, mt.Revolute("y", motion="1 + 0.3*sin(t)"), *_ends(m.joints[0]))
    m.ground.moves(("0.2*sin(t)", 0, "t^2"), (0, "0.1*t", "0.3*t"))
    m.split("coupler", "C")
    return m


def _ends(joint):
    return joint.first, joint.second


LINKAGES = {
    "four-bar": (four_bar, {"A": 1.0}),
    "driven four-bar": (driven_four_bar, {}),
    "slider-crank": (slider_crank, {"A": 1.0}),
    "Bennett": (bennett, {"R1": 1.0}),
    "hexapod": (hexapod, {}),
    "four-bars in a row": (lambda: four_bars_in_a_row(9), {"G0": 0.5}),
    "stacked four-bars": (lambda: stacked_four_bars(4), {f"A{i}": -1.2 for i in range(4)}),
}


def after_impulse(name):
    """A closed configuration, momenta as after an arbitrary impulse, and a time."""
    build, given = LINKAGES[name]
    system = build().build()
    start = system.assemble(given, t=0.7) if name == "driven four-bar" else system.assemble(given)
    return system, start.q, np.random.default_rng(5).standard_normal(system.nv), start.t


def kernels(system, formulation, code):
    target, made = Target.host(), FORMULATIONS[formulation]
    projection = projection_of(system.mechanism, made, code)
    constraint_gains = made.stabilizations["baumgarte"](3.0)
    velocities = right_hand_side_code(system.mechanism, made, code, with_work=False, constraint_gains=constraint_gains)
    return [Kernel(each, target.lanes(0), target) for each in (velocities, projection.positions, projection.momenta)]


@pytest.mark.repeats(2)
@pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange"])
@pytest.mark.parametrize("name", LINKAGES)
def test_right_hand_sides_and_projections_are_the_same(name, formulation):
    system, q, p, t = after_impulse(name)
    if formulation == "lagrange":
        p = np.array(lagrange.closed_velocities(Evaluation(system.mechanism, q.tolist(), t), p.tolist()))
    near = q + 1e-6 * np.random.default_rng(6).standard_normal(len(q))
    tolerance = 1e-8 if name == "Bennett" else 2e-10  # off closure, redundant constraints look almost independent
    arrays = [np.array([[*q, *p], [*near, *p]]), np.full((2, 1), t)]
    for straight, rolled in zip(*(kernels(system, formulation, c) for c in ("straight-line", "rolled")), strict=True):
        expected = straight(arrays)
        assert np.isfinite(expected).all()
        np.testing.assert_allclose(rolled(arrays), expected, rtol=0, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("name", LINKAGES)
def test_loops_answer_an_impulse_by_constraint_impulses_alone(name):
    # u nearest to M^-1 p in the metric of M that keeps loops closed: a dense KKT system, redundant constraints too
    system, q, p, t = after_impulse(name)
    moving = hamiltonian.moving_bodies(Evaluation(system.mechanism, q.tolist(), t), p.tolist())
    u = np.concatenate([moving[b.number].u for b in system.mechanism.bodies if b.laws is None])
    still = Configuration(system.mechanism, q, np.zeros(system.nv), t)
    M, J, known = system.mass_matrix(q, t=t), still.jacobian(), still.constraint_velocities()
    p_0 = np.array(hamiltonian.momenta(Evaluation(system.mechanism, q.tolist(), t), [0.0] * system.nv))
    K = np.block([[M, J.T], [J, np.zeros((len(J), len(J)))]])
    expected = np.linalg.lstsq(K, np.concatenate([p - p_0, -known]), rcond=1e-11)[0][: system.nv]
    np.testing.assert_allclose(u, expected, rtol=0, atol=1e-10 * max(1.0, np.abs(expected).max()))
    assert np.abs(Configuration(system.mechanism, q, u, t).constraint_velocities()).max() < 1e-11 * max(
        1.0, np.abs(u).max()
    )


@pytest.mark.parametrize("name", LINKAGES)
def test_velocities_that_keep_loops_closed_are_not_changed(name):
    system, q, p, t = after_impulse(name)
    closed = lagrange.closed_velocities(Evaluation(system.mechanism, q.tolist(), t), p.tolist())
    again = lagrange.closed_velocities(Evaluation(system.mechanism, q.tolist(), t), closed)
    np.testing.assert_allclose(again, closed, rtol=0, atol=1e-11 * np.abs(closed).max())


@pytest.mark.repeats(2)
@pytest.mark.parametrize("name", LINKAGES)
def test_newtons_method_reduces_closure_errors_to_round_off(name):
    system, q, _, t = after_impulse(name)
    near = q + 1e-3 * np.random.default_rng(6).standard_normal(len(q))
    close = kernels(system, "hamiltonian", "rolled")[1]
    for _ in range(4):
        near = close([np.array([*near, *np.zeros(system.nv)]), np.array([t])])[: system.nq]  # closure errors follow
        for body in system.mechanism.bodies:
            if not body.laws and body.q.stop - body.q.start > body.v.stop - body.v.start:
                part = slice(body.q.stop - 4, body.q.stop)
                near[part] /= np.linalg.norm(near[part])
    assert np.abs(Configuration(system.mechanism, near, np.zeros(system.nv), t).closure_errors()).max() < 1e-13


def test_the_code_of_many_loops_is_as_long_as_that_of_few_but_for_its_tables():
    """Nothing is written out body by body: what LLVM has to read grows by numbers in tables only."""

    def lengths(n):
        mechanism = four_bars_in_a_row(n).build().mechanism
        velocities = right_hand_side_code(mechanism, FORMULATIONS["hamiltonian"], "rolled")
        codes = {"velocities": velocities, "positions": positions_code(mechanism, "rolled")}
        texts = {name: "\n".join(code.lanes(1, "lanes")[0]) for name, code in codes.items()}
        return {name: sum("constant" not in line for line in text.split("\n")) for name, text in texts.items()}

    few, many = lengths(30), lengths(60)
    assert many == few
