"""Stabilizations with fixed steps, against the numbers of an independent prototype of the same equations.

J. Baumgarte, Stabilization of constraints and integrals of motion in dynamical systems, Computer Methods in Applied
Mechanics and Engineering 1, 1972; I. E. Kaspirovich and R. G. Mukharlyamov, On methods of constructing dynamics
equations with stabilization of constraints, 2019, who step by Euler's method of 0.01 s. The numbers are not printed
there: they come from a prototype of these equations in plain NumPy, which has no code in common with this program. The
data of its two models were found from its results.

| model    | data                                                                                                    |
|----------|---------------------------------------------------------------------------------------------------------|
| sleigh   | blade at the centre of mass, force 0.15 N/kg ahead, moment 0.2 N m / (kg m2), from (0, -1, 0) with      |
|          | 1 m/s ahead and 1 rad/s; 10 s by Euler's method, 0.01 s                                                 |
| pendulum | a particle with x^2 + y^2 = 1, gravity 9.81 m/s2 along -y, from (1, 0) at rest; 10 s by steps of 0.01 s |
"""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from momentree.compile.trace.right_hand_sides import traced_kernel
from momentree.equations import lagrange
from momentree.equations.evaluation import Evaluation
from momentree.errors import MomentreeError, RunWarning

pytestmark = pytest.mark.filterwarnings("ignore", category=RunWarning)  # coarse steps: that is the subject
STEP, T_END = 0.01, 10.0  # s


def plain_euler(system, start, compiled=True, **gains):
    """Positions and velocities (steps + 1, n) by Euler's method on the right-hand side, whatever becomes of it."""

    def formula(at, u):
        found = lagrange.right_hand_side(at, u, **gains)
        return [*found.q, *found.p]

    kernel = traced_kernel(system.mechanism, formula) if compiled else None
    states = [np.append(start.q, start.v)]
    for i in range(round(T_END / STEP)):
        y, t = states[-1], i * STEP
        if kernel:
            change = kernel([y[None], np.array([[t]])])[0]
        else:
            change = formula(Evaluation(system.mechanism, y[: system.nq].tolist(), t), y[system.nq :].tolist())
        states.append(y + STEP * np.array(change))
    return np.split(np.array(states), [system.nq], axis=1)


# --- a sleigh: one nonholonomic constraint ---

SIDEWAYS = "hull.x'*sin(hull.angle) - hull.y'*cos(hull.angle) = 0"
# stabilization, gain: x, y at the end, and the velocity across the blade there
SLEIGH = {
    ("none", 1.0): (0.8226692069895734, -0.4009649389338205, 0.03309697382599319),
    ("baumgarte-velocity", 1.0): (0.9127176081210948, -0.4257167687958035, 0.005992071107662866),
    ("baumgarte-velocity", 5.0): (0.9309615694189346, -0.4326022953781367, 0.0013787975696009092),
    ("baumgarte-velocity", 20.0): (0.93482435660647, -0.4340038962297431, 0.00035521666796589635),
    ("baumgarte-velocity", 50.0): (0.935621749831085, -0.434278625030269, 0.00014296940863656182),
    ("baumgarte-velocity", 100.0): (0.9358896911661139, -0.4343697144401008, 7.163345865923709e-05),
    ("baumgarte-velocity", 150.0): (0.9359792512264862, -0.4344000228689109, 4.778881821798642e-05),
    ("baumgarte-velocity", 199.0): (0.93602340195179, -0.43441493855506674, 3.603378789907019e-05),
    ("project", 1.0): (0.9358840660211201, -0.4343481681180037, 2.220446049250313e-16),
}
SLEIGH_EXACT = (0.7973457525724489, -0.35870381826829884, 20.0)  # x, y, angle after 10 s
DIVERGED = (40671016588131.03, -20204205400635.746, 9305382604170442.0)  # gain 205: h gain > 2


def sleigh(by="skate"):
    m = mt.Model("sleigh", gravity=(0, 0, 0))
    hull = m.body("hull", mass=2.0, com=(0, 0, 0), inertia=(1, 1, 0.5))
    m.joint("hull", mt.Planar("z"), m.ground, hull)
    m.force(hull, (0.3, 0, 0), (0, 0, 0.1), axes="body")
    if by == "skate":
        m.skate(hull, across="y")
    else:
        m.constrain(SIDEWAYS)
    system = m.build()
    velocities = {"hull.x'": 1.0, "hull.y'": 0.0, "hull.angle'": 1.0}
    return system, system.assemble({"hull": (0, -1, 0)}, velocities=velocities)


@pytest.fixture(scope="module", params=["skate", "constraint"])
def ice(request):
    return sleigh(request.param)


def across(q, v):
    return v[..., 0] * np.sin(q[..., 2]) - v[..., 1] * np.cos(q[..., 2])


@pytest.mark.parametrize(("stabilization", "gain"), SLEIGH)
@pytest.mark.repeats(3)
def test_the_sleigh_by_eulers_method(ice, stabilization, gain):
    system, start = ice
    fixed = {"formulation": "lagrange", "integrator": "euler", "step": STEP}
    run = system.simulate(start, T_END, stabilization=stabilization, gain=gain, **fixed)
    x, y, slip = SLEIGH[stabilization, gain]
    assert run.q[-1] == pytest.approx([x, y, 19.99], abs=1e-11)
    assert abs(across(run.q, run.v)[-1]) == pytest.approx(slip, abs=1e-14)
    assert abs(across(run.q, run.v)).max() == pytest.approx(slip, abs=1e-14)  # it grows with the velocity


@pytest.mark.long
def test_a_gain_beyond_the_limit_of_eulers_method_is_refused_and_would_diverge():
    system, start = sleigh()
    fixed = {"formulation": "lagrange", "integrator": "euler", "step": STEP}
    with pytest.raises(
        MomentreeError, match=r"gain 205 1/s is unstable with euler at step 0.01 s: the limit is 200 1/s"
    ):
        system.simulate(start, T_END, stabilization="baumgarte-velocity", gain=205.0, **fixed)
    # machine code orders operations otherwise, and round-off of velocities of 1e16 m/s would turn the sleigh
    q, v = plain_euler(system, start, compiled=False, velocity_gain=205.0)
    x, y, slip = DIVERGED
    assert q[-1, :2] == pytest.approx([x, y], rel=1e-9)
    assert abs(across(q, v)[-1]) == pytest.approx(slip, rel=1e-9)


@pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange"])
def test_the_sleigh_where_it_really_is(formulation):
    system, start = sleigh()
    run = system.simulate(start, T_END, formulation=formulation)
    assert run.q[-1] == pytest.approx(SLEIGH_EXACT, abs=1e-9)


def test_the_programme_of_the_sleigh_is_baumgarte_velocity():
    # one row whose Delassus matrix is constant: J M^-1 J' = 1 / m, and the constraint has no closure error
    system, start = sleigh()
    fixed = {"formulation": "lagrange", "integrator": "euler", "step": STEP, "gain": 5.0}
    run = system.simulate(start, T_END, stabilization="programme", **fixed)
    assert run.q[-1, :2] == pytest.approx(SLEIGH["baumgarte-velocity", 5.0][:2], abs=1e-11)


# --- a pendulum in Cartesian coordinates: one holonomic constraint ---

PENDULUM_EXACT = (0.27508746257634153, -0.9614192050990608)  # x, y after 10 s
# stabilization, gain: largest |x^2 + y^2 - 1|, largest error of the energy (J), distance from the exact end, by rk4
PENDULUM = {
    ("none", 1.0): (7.176592935009829e-05, 0.0004744840238046777, 9.524349349409246e-05),
    ("baumgarte", 1.0): (1.3913051472025373e-06, 1.0067431410097665e-05, 1.965136847216369e-06),
    ("baumgarte", 5.0): (2.012032962461774e-07, 1.9559334002606924e-06, 4.592029390458678e-06),
    ("baumgarte", 10.0): (7.125783678674225e-07, 2.2669560791170197e-05, 2.132862582449501e-05),
    ("baumgarte", 20.0): (2.4217138268056715e-06, 8.347657805388508e-05, 6.998478519286453e-05),
    ("baumgarte", 50.0): (1.6607500625598348e-05, 0.00025860268707530505, 0.0002766152596207942),
    ("baumgarte", 100.0): (9.645190624407718e-05, 0.0007168749410251252, 0.0009309743874648274),
    ("baumgarte", 195.0): (0.0012521168538315308, 0.02839378602342968, 0.008290953029480132),
    ("baumgarte", 250.0): (0.034626976703755474, 10.593315914648032, 1.239748945749029),
    ("project", 1.0): (2.220446049250313e-16, 1.6943408924774417e-06, 4.103138088174128e-07),
}
# by Euler's method, as far as numbers stay finite
BY_EULER = {
    ("none", 0.0): (1.6442670589007817, 4.835735239814948, 2.240989462195229),
    ("baumgarte", 1.0): (0.4459814047765063, 15.577508402209382, 1.00975245234262),
    ("baumgarte", 195.0): (0.42189328998079567, 918.8908390386548, 0.3038272138365877),
}
EULER_PROJECTED = (88.3645514407306, 1.787757798504391)  # energy (J), distance


@pytest.fixture(scope="module")
def pendulum():
    m = mt.Model("pendulum in Cartesian coordinates", gravity=(0, -9.81, 0))
    rail, bob = m.body("rail", massless=True), m.body("bob", mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    m.joint("x", mt.Prismatic("x"), m.ground, rail)
    m.joint("y", mt.Prismatic("y"), rail, bob)
    m.constrain("x^2 + y^2 = 1")
    system = m.build()
    return system, system.assemble({"x": 1.0, "y": 0.0})


def figures(q, v):
    """The largest closure error and error of energy, and the distance from the exact end."""
    x, y = q.T
    energy = 0.5 * (v**2).sum(axis=1) + 9.81 * y
    return abs(x * x + y * y - 1).max(), abs(energy).max(), np.hypot(*(q[-1] - PENDULUM_EXACT))


@pytest.mark.parametrize(("stabilization", "gain"), PENDULUM)
def test_the_pendulum_by_rk4(pendulum, stabilization, gain):
    system, start = pendulum
    fixed = {"formulation": "lagrange", "integrator": "rk4", "step": STEP}
    run = system.simulate(start, T_END, stabilization=stabilization, gain=gain, **fixed)
    error, energy, distance = figures(run.q, run.v)
    assert error == pytest.approx(PENDULUM[stabilization, gain][0], rel=1e-7, abs=1e-15)
    assert energy == pytest.approx(PENDULUM[stabilization, gain][1], rel=1e-7)
    assert distance == pytest.approx(PENDULUM[stabilization, gain][2], abs=2e-11)  # to which the exact end is known


def test_the_programme_closes_the_pendulum_as_well(pendulum):
    system, start = pendulum
    fixed = {"formulation": "lagrange", "integrator": "rk4", "step": STEP, "gain": 5.0}
    run = system.simulate(start, T_END, stabilization="programme", **fixed)
    error, _, distance = figures(run.q, run.v)
    assert error < 2 * PENDULUM["baumgarte", 5.0][0]
    assert distance < PENDULUM["none", 1.0][2]


@pytest.mark.parametrize(("stabilization", "gain"), BY_EULER)
def test_the_pendulum_by_eulers_method_comes_apart(pendulum, stabilization, gain):
    system, start = pendulum
    found = figures(*plain_euler(system, start, alpha=gain))
    assert found == pytest.approx(BY_EULER[stabilization, gain], rel=1e-6)
    fixed = {"formulation": "lagrange", "integrator": "euler", "step": STEP, "gain": gain or 1.0}
    run = system.simulate(start, T_END, stabilization=stabilization, **fixed)
    assert "loops have come apart" in run.end.message


@pytest.mark.parametrize("gain", [5.0, 10.0, 20.0, 50.0, 100.0])
def test_no_gain_makes_up_for_a_method_of_order_1(pendulum, gain):
    # the energy grows, whatever the gain: "stabilization is no substitute for order"
    system, start = pendulum
    fixed = {"formulation": "lagrange", "integrator": "euler", "step": STEP}
    run = system.simulate(start, T_END, stabilization="baumgarte", gain=gain, **fixed)
    assert run.end.reason == "failed"
    assert "loops have come apart" in run.end.message or "no longer finite" in run.end.message


def test_the_pendulum_by_eulers_method_and_projection(pendulum):
    system, start = pendulum
    run = system.simulate(start, T_END, formulation="lagrange", integrator="euler", step=STEP)
    error, energy, distance = figures(run.q, run.v)
    assert error < 1e-14
    assert (energy, distance) == pytest.approx(EULER_PROJECTED, rel=1e-9)


@pytest.mark.parametrize(("integrator", "gain"), [("euler", 250.0), ("rk4", 280.0)])
def test_gains_beyond_the_limit_are_refused(pendulum, integrator, gain):
    system, start = pendulum
    fixed = {"formulation": "lagrange", "integrator": integrator, "step": STEP}
    with pytest.raises(MomentreeError, match=f"baumgarte with gain {gain:g} 1/s is unstable with {integrator}"):
        system.simulate(start, T_END, stabilization="baumgarte", gain=gain, **fixed)
