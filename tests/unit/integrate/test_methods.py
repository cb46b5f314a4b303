"""All integrators, found by their records: order, dense output, lanes, calls, and agreement with one another."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import momentree as mt
from mechanisms import four_bar
from momentree.equations.formulations import FORMULATIONS
from momentree.errors import MomentreeError
from momentree.integrate import methods
from momentree.integrate.dense_output import within
from momentree.integrate.method_record import Method, explicit_method
from momentree.integrate.methods import METHODS, named_method, register
from momentree.integrate.records import Status
from momentree.integrate.steppers import new_stepper
from momentree.integrate.tableau import Interpolant, Tableau
from momentree.simulate.settings import settings_of

FIXED, ADAPTIVE = methods.names(adaptive=False), methods.names(adaptive=True)


# --- a pendulum in closed form ---


def pendulum():
    """A rod on a hinge, with small oscillations of 1 rad/s."""
    m = mt.Model("pendulum", gravity=(0, 0, -2 / 3))
    m.joint("A", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(mass=1.0, length=1.0)))
    return m.build()


def exact(t, amplitude=2.0):
    """Angle and momentum of the pendulum, which is at rest at t = 0: Landau and Lifshitz, Mechanics, section 11."""
    k = np.sin(amplitude / 2)
    sn, cn, _, _ = ellipj(ellipk(k * k) + np.asarray(t), k * k)
    return np.array([np.pi / 2 + 2 * np.arcsin(k * sn), 2 * k * cn / 3])  # inertia 1/3; angle from the horizontal


def test_the_closed_form_solves_the_equations_of_the_pendulum():
    t, d = 0.7, 1e-5
    slope = (exact(t + d) - exact(t - d)) / (2 * d)
    angle, p = exact(t)
    assert slope == pytest.approx([3 * p, np.cos(angle) / 3], abs=1e-9)


def fixed_steps(name, h, t, t_end, dense=False):
    """An integration of the pendulum by equal steps from the exact state at t, and its records."""
    stepper = new_stepper(pendulum().mechanism, FORMULATIONS["hamiltonian"], name, with_work=False, dense=dense)
    # a tolerance that accepts every step, and leaves an iteration for the stages as exact as rtol says
    atol = 0.1 * h ** (METHODS[name].error_order + 1) if METHODS[name].adaptive else None
    integration = stepper.start(exact(t)[:, None], t, h, 1e-10, atol)
    status, records = integration.advance(t_end, 100_000, longest=h)
    assert status == Status.ARRIVED
    assert integration.counts[1] == 0
    return integration, records


def slope(error, small):
    """By which power of h an error falls, from where it is small on: large step sizes have errors of other orders."""
    h = 1.0
    while (coarse := error(h)) > small:
        h /= 2
    return np.log2(coarse / error(h / 2))


# beyond order 8, round-off and what Newton's iteration leaves are larger: see the stability function of radau9
@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.order <= 8])
@pytest.mark.repeats(3)
def test_the_error_falls_with_the_order_of_the_record(name):
    def error(h):
        integration, _ = fixed_steps(name, h, 0.3, 2.3)
        return np.abs(integration.state[:, 0] - exact(2.3)).max()

    order = METHODS[name].order
    assert slope(error, 1e-9 if order > 3 else 1e-4) == pytest.approx(order, abs=0.5)


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.dense_order])
@pytest.mark.repeats(3)
def test_dense_output_is_of_the_order_of_the_record(name):
    def error(h):
        integration, records = fixed_steps(name, h, 0.3, 0.3 + h, dense=True)
        _, size, y, stages = integration.unpacked(records)
        assert len(size) == 1
        step = size, exact(0.3)[None], y[..., 0], stages[..., 0]
        found = [within(integration.interpolant, np.array([x]), *step)[0] for x in (0.3, 0.6)]
        return np.abs(np.transpose(found) - exact(0.3 + h * np.array([0.3, 0.6]))).max()

    # within one step the error is one order higher
    order = min(METHODS[name].order, METHODS[name].dense_order)
    assert slope(error, 1e-7) == pytest.approx(order + 1, abs=0.5)


# --- agreement ---


def settings_for(name, **more):
    """Settings of a simulation by one integrator, whatever it needs."""
    return {"integrator": name, **({} if METHODS[name].adaptive else {"step": 1e-3}), **more}


SYSTEMS = {
    "pendulum": (pendulum, {"A": 0.3}, {"A": 0.5}),
    "four-bar": (lambda: four_bar().build(), {"A": 1.0}, {"A": 0.5}),
}


@pytest.mark.repeats(2)
@pytest.mark.parametrize("which", SYSTEMS)
@pytest.mark.parametrize("name", METHODS)
def test_all_integrators_agree(name, which):
    make, q, v = SYSTEMS[which]
    system = make()
    start = system.assemble(q, velocities=v)
    run = system.simulate(start, 1.0, every=0.25, **settings_for(name))
    expected = system.simulate(start, 1.0, every=0.25)
    assert run.end.reason == "arrived"
    np.testing.assert_allclose(run.t, expected.t, rtol=1e-14)
    off = max(1e-5, 100 * METHODS[name].rtol) if METHODS[name].order > 1 else 1e-2
    np.testing.assert_allclose(run.q, expected.q, rtol=0, atol=off)
    np.testing.assert_allclose(run.v, expected.v, rtol=0, atol=10 * off)
    assert run.closure_error.max(initial=0.0) < 1e-8


@pytest.mark.repeats(1)
@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if not method.hamiltonian])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_any_formulation_will_do_where_the_record_says_so(name, formulation):
    system = four_bar().build()
    start = system.assemble({"A": 1.0}, velocities={"A": 0.5})
    run = system.simulate(start, 0.5, formulation=formulation, **settings_for(name))
    expected = system.simulate(start, 0.5)
    off = max(1e-5, 100 * METHODS[name].rtol) if METHODS[name].order > 1 else 1e-2
    np.testing.assert_allclose(run.q[-1], expected.q[-1], rtol=0, atol=off)


@pytest.mark.repeats(3)
@pytest.mark.parametrize("which", SYSTEMS)
@pytest.mark.parametrize("name", METHODS)
def test_many_motions_are_what_each_is_alone(name, which):
    make, q, v = SYSTEMS[which]
    system = make()
    starts = [system.assemble(q, velocities={"A": v["A"] * k}) for k in (1.0, -2.0, 0.1, 0.0, 1.5)]
    together = system.simulate_many(
        [start.q for start in starts], [start.v for start in starts], t_end=0.5, every=0.25, **settings_for(name)
    )
    assert np.isinf(together.failed).all()
    # each takes the steps that it takes alone; adaptive step sizes follow from round-off too
    off = max(1e-7, 100 * METHODS[name].rtol) if METHODS[name].adaptive else 1e-11
    for start, q_lane, v_lane in zip(starts, together.q, together.v, strict=True):
        alone = system.simulate(start, 0.5, every=0.25, **settings_for(name))
        np.testing.assert_allclose(q_lane, alone.q, rtol=0, atol=off)
        np.testing.assert_allclose(v_lane, alone.v, rtol=0, atol=10 * off)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.repeats(3)
def test_many_calls_give_what_one_gives(name):
    system = four_bar().build()
    start = system.assemble({"A": 1.0}, velocities={"A": 0.5})
    p = system.mass_matrix(start.q) @ start.v
    stepper = new_stepper(system.mechanism, FORMULATIONS["hamiltonian"], name, with_work=False, project=True)
    whole, parts = (stepper.start(np.append(start.q, p)[:, None], 0.0, 1e-2, 1e-6, None) for _ in range(2))
    assert whole.advance(0.3, 10_000)[0] == Status.ARRIVED
    while (status := parts.advance(0.3, 3)[0]) == Status.FULL:
        pass
    assert status == Status.ARRIVED
    assert parts.t == whole.t == 0.3
    # where the error norm has the round-off of momenta in it, that is estimated again in each call
    np.testing.assert_allclose(parts.state, whole.state, rtol=0, atol=1e-13 if METHODS[name].adaptive else 0)
    np.testing.assert_array_equal(parts.counts[:2], whole.counts[:2])


# --- what records say is what is done ---


@pytest.mark.parametrize("name", FIXED)
def test_a_fixed_step_size_is_asked_for_and_kept(name):
    system = pendulum()
    start = system.assemble({"A": 0.3})
    with pytest.raises(MomentreeError, match=f"{name} has a fixed step size. Give step=, in seconds."):
        system.simulate(start, 1.0, integrator=name)
    run = system.simulate(start, 1.0, integrator=name, step=0.01)
    assert (run.statistics.accepted, run.statistics.rejected) == (100, 0)
    assert settings_of(t_end=1.0, integrator=name, step=0.01).rtol == METHODS[name].rtol


@pytest.mark.parametrize("name", ADAPTIVE)
def test_an_adaptive_step_size_follows_the_tolerance(name):
    system = pendulum()
    start = system.assemble({"A": 0.3})
    steps = [system.simulate(start, 1.0, integrator=name, rtol=rtol).statistics.accepted for rtol in (1e-4, 1e-8)]
    assert 2 <= steps[0] < steps[1] < 100_000
    assert settings_of(t_end=1.0, integrator=name).rtol == METHODS[name].rtol


@pytest.mark.parametrize("name", METHODS)
def test_an_integrator_is_listed_wherever_there_is_a_choice(name):
    assert name in methods.help_text()
    assert f"\n| `{name}`" in methods.markdown_table()
    assert (name in methods.tolerance_text()) == METHODS[name].adaptive
    with pytest.raises(MomentreeError, match=name):
        named_method("unheard of")


def test_only_hamiltonian_variables_suit_some():
    system = pendulum()
    for name in methods.names(hamiltonian=True):
        with pytest.raises(MomentreeError, match=f"{name} works in Hamiltonian variables"):
            system.simulate(system.assemble({"A": 0.3}), 1.0, integrator=name, step=0.01, formulation="lagrange")


# --- new ones ---


@pytest.fixture
def heun(monkeypatch):
    """Heun's method, registered for one test: of order 2, with the step size fixed or adaptive."""
    monkeypatch.setattr(methods, "METHODS", METHODS)
    before = dict(METHODS)
    dense = Interpolant(2, ({0: 1.0}, {0: -0.5, 1: 0.5}))
    tableau = Tableau("heun", 2, (0, 1), ({}, {0: 1.0}), {0: 0.5, 1: 0.5}, dense=dense)
    pair = dataclasses.replace(tableau, name="heun21", errors=({0: -0.5, 1: 0.5},), error_orders=(1,))
    for each in (tableau, pair):
        register(explicit_method(each, description="Heun", use="a test", rtol=1e-5))
    yield tableau
    METHODS.clear()
    METHODS.update(before)


def test_a_tableau_needs_nothing_but_its_coefficients(heun):
    system = four_bar().build()
    start = system.assemble({"A": 1.0}, velocities={"A": 0.5})
    expected = system.simulate(start, 1.0, every=0.25)
    with pytest.raises(MomentreeError, match="heun has a fixed step size"):
        system.simulate(start, 1.0, integrator="heun")
    fixed = system.simulate(start, 1.0, every=0.25, integrator="heun", step=0.001)
    adaptive = system.simulate(start, 1.0, every=0.25, integrator="heun21")
    assert fixed.statistics.accepted == 1000
    for run in (fixed, adaptive):
        np.testing.assert_allclose(run.q, expected.q, rtol=0, atol=1e-4)
    assert "heun, heun21" in methods.help_text()


def test_a_name_is_taken_once():
    with pytest.raises(MomentreeError, match="there is an integrator 'rk4' already"):
        register(METHODS["rk4"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "two words"}, "is not a word"),
        ({"order": 0}, "orders are at least 1"),
        ({"error_order": 2, "dense_order": None}, "an adaptive method needs dense output"),
        ({"rtol": 0.0}, "rtol is 0.0"),
    ],
)
def test_a_record_checks_itself(change, message):
    fields = {field.name: getattr(METHODS["rk4"], field.name) for field in dataclasses.fields(Method)}
    with pytest.raises(MomentreeError, match=message):
        Method(**{**fields, **change})
