"""Programmes on mechanisms: against programmes given by expressions, closed forms, and real systems under control."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import eigh

import momentree as mt
from mechanisms import four_bar

MASS, AHEAD, INERTIA = 2.0, 0.3, 0.5
SLEIGH = {
    "mass": [
        [MASS, 0, f"-{MASS * AHEAD}*sin(phi)"],
        [0, MASS, f"{MASS * AHEAD}*cos(phi)"],
        [f"-{MASS * AHEAD}*sin(phi)", f"{MASS * AHEAD}*cos(phi)", INERTIA + MASS * AHEAD**2],
    ],
    "wanted": ("cos(phi)", "sin(phi)", "0.5 + 0.2*sin(t)"),
}


def sleigh(kind: str, blade: bool = False) -> mt.Model:
    """A hull on a plane, its centre of mass ahead of its origin: by one joint, or by two slides and a turn."""
    m = mt.Model("sleigh")
    hull = m.body("hull", mass=MASS, com=(AHEAD, 0, 0), inertia=(0.1, 0.45, INERTIA))
    if kind == "planar":
        m.joint("c", mt.Planar("z"), m.ground, hull)
    else:
        beams = [m.body(name, massless=True) for name in ("first", "second")]
        m.joint("x", mt.Prismatic("x"), m.ground, beams[0])
        m.joint("y", mt.Prismatic("y"), *beams)
        m.joint("phi", mt.Revolute("z"), beams[1], hull)
    if blade:
        m.skate(hull, across="y", name="blade")
    return m


@cache
def sleigh_by_expressions() -> mt.Programme:
    return mt.programme("x y phi", ["x'*sin(phi) = y'*cos(phi)"], gain=3, **SLEIGH)


@cache
def sleigh_on(kind: str) -> mt.Programme:
    x, y, phi = ("c.x", "c.y", "c.angle") if kind == "planar" else ("x", "y", "phi")
    wanted = {x: f"cos({phi})", y: f"sin({phi})", phi: "0.5 + 0.2*sin(t)"}
    return mt.programme(sleigh(kind), [f"{x}'*sin({phi}) = {y}'*cos({phi})"], wanted=wanted, gain=3)


QUANTITIES = ("velocity", "mass_matrix", "dissipation", "decay_matrix")
MOVING = ("deviation", "accelerations", "coefficients", "inertial_forces")


@pytest.mark.parametrize("kind", ["planar", "slides"])
@pytest.mark.repeats(1)
def test_a_mechanism_has_the_fields_of_the_same_system_in_expressions(kind):
    on_mechanism, by_expressions = sleigh_on(kind), sleigh_by_expressions()
    q, qd, t = np.random.default_rng(1).uniform(-2, 2, (3, 5, 3))
    for what in QUANTITIES:
        expected = getattr(by_expressions, what)(q, t[:, 0])
        np.testing.assert_allclose(getattr(on_mechanism, what)(q, t[:, 0]), expected, rtol=0, atol=1e-11)
    for what in MOVING:
        expected = getattr(by_expressions, what)(q, qd, t[:, 0])
        np.testing.assert_allclose(getattr(on_mechanism, what)(q, qd, t[:, 0]), expected, rtol=0, atol=1e-11)


def test_a_mechanism_moves_as_the_same_system_in_expressions():
    start = ([0.1, -1, 0.2], [0.5, 0.3, -1])
    runs = [p.simulate(*start, t_end=3, every=0.1, rtol=1e-11) for p in (sleigh_on("planar"), sleigh_by_expressions())]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(runs[0].size, runs[1].size, rtol=0, atol=1e-9)


def double_pendulum(scale: float = 1.0) -> mt.Model:
    """Point masses 1 and 2 kg at 0.7 and 0.5 (times scale) m; angles are relative."""
    m = mt.Model("double pendulum", gravity=(0, 0, -9.81 * scale))
    bobs = [m.body(f"bob {i}", mass=i, com=(0, 0, -L * scale)) for i, L in ((1, 0.7), (2, 0.5))]
    m.joint("a", mt.Revolute("y"), m.ground, bobs[0])
    m.joint("b", mt.Revolute("y"), bobs[0].at((0, 0, -0.7 * scale)), bobs[1])
    m.frame("tip", bobs[1].at((0, 0, -0.5 * scale)))
    return m


COUPLED, SECOND = 2 * 0.7 * 0.5, 2 * 0.5**2
PENDULUM_MASS = [
    [f"{3 * 0.7**2 + SECOND} + {2 * COUPLED}*cos(b)", f"{SECOND} + {COUPLED}*cos(b)"],
    [f"{SECOND} + {COUPLED}*cos(b)", SECOND],
]


@cache
def pendulum_programme(scale: float = 1.0) -> mt.Programme:
    constraint = f"tip.z = {-0.9 * scale} + {0.1 * scale}*sin(2*t)"
    return mt.programme(double_pendulum(scale).build(), [constraint], wanted={"b": "0.5"}, gain=6, position_gain=2)


def test_a_rheonomic_programme_of_a_double_pendulum_is_that_of_its_expressions():
    text = "-0.7*cos(a) - 0.5*cos(a + b) = -0.9 + 0.1*sin(2*t)"
    said = {"wanted": (0, 0.5), "mass": PENDULUM_MASS, "gain": 6, "position_gain": 2}
    by_expressions, on_mechanism = mt.programme("a b", [text], **said), pendulum_programme()
    q, qd, t = np.random.default_rng(2).uniform(0.3, 1.2, (3, 5, 2))
    for what in QUANTITIES:
        expected = getattr(by_expressions, what)(q, t[:, 0])
        np.testing.assert_allclose(getattr(on_mechanism, what)(q, t[:, 0]), expected, rtol=0, atol=1e-9)
    for what in MOVING:
        expected = getattr(by_expressions, what)(q, qd, t[:, 0])
        np.testing.assert_allclose(getattr(on_mechanism, what)(q, qd, t[:, 0]), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_units_change_nothing(scale):
    q, qd, t = np.random.default_rng(3).uniform(0.3, 1.2, (3, 4, 2))
    here, there = pendulum_programme(), pendulum_programme(scale)
    for what in ("velocity", "accelerations"):
        arguments = (q, t[:, 0]) if what == "velocity" else (q, qd, t[:, 0])
        np.testing.assert_allclose(getattr(there, what)(*arguments), getattr(here, what)(*arguments), rtol=1e-9)


# --- loops ---


@cache
def four_bar_programme() -> mt.Programme:
    return mt.programme(four_bar().build(), velocity={"A": "1.5"}, gain=20, position_gain=3)


@cache
def five_bar_programme() -> mt.Programme:
    circle = ["pen.x = 0.08*cos(2*t)", "pen.z = 0.38 + 0.08*sin(2*t)"]
    return mt.programme(five_bar().build(), circle, gain=20, position_gain=5)


def five_bar() -> mt.Model:
    m = mt.Model("five-bar")
    joints = (("A", "B", -0.1), ("E", "D", 0.1))
    couplers = []
    for ground, elbow, x in joints:
        crank = m.body(f"crank {ground}", mt.rod(mass=0.5, length=0.2))
        couplers.append(m.body(f"coupler {elbow}", mt.rod(mass=0.8, length=0.35)))
        m.joint(ground, mt.Revolute("-y"), m.ground.at((x, 0, 0)), crank)
        m.joint(elbow, mt.Revolute("-y"), crank.at((0.2, 0, 0)), couplers[-1])
    m.joint("C", mt.Revolute("-y"), *(coupler.at((0.35, 0, 0)) for coupler in couplers))
    m.frame("pen", couplers[0].at((0.35, 0, 0)))
    return m


FIVE_BAR_START = {"A": 2.2, "E": 0.9, "B": -1.0, "D": 1.0}


def inverse_kinematics(x: np.ndarray, z: np.ndarray, side: float) -> np.ndarray:
    """Angles of crank and coupler of one side, elbow outwards: the triangle of 0.2 m and 0.35 m."""
    dx, r = x - side * 0.1, np.hypot(x - side * 0.1, z)
    inner = np.arccos((0.2**2 + r**2 - 0.35**2) / (0.4 * r))
    crank = np.arctan2(z, dx) - side * inner
    coupler = np.arctan2(z - 0.2 * np.sin(crank), dx - 0.2 * np.cos(crank))
    return np.stack([crank, coupler - crank], axis=-1)


def test_a_crank_turns_at_constant_speed_and_the_linkage_follows():
    p = four_bar_programme()
    start = p.system.assemble({"A": 1.0})
    run = p.simulate(start.q, t_end=2 * np.pi / 1.5, every=0.1, rtol=1e-11)
    assert abs(run["A"] - 1.0 - 1.5 * run.t).max() < 1e-9
    assert abs(p.closure_errors(run.q, run.t)).max() < 1e-10
    for k in (10, 25, 40):
        again = p.system.assemble({"A": run["A"][k]}, guess=dict(zip("ABD", run.q[k], strict=True)))
        np.testing.assert_allclose(run.q[k], again.q, rtol=0, atol=1e-9)


def test_a_coupler_point_follows_a_circle_as_inverse_kinematics_says():
    p = five_bar_programme()
    start = p.system.assemble(guess=FIVE_BAR_START)
    run = p.simulate(start.q, t_end=8, every=0.1)
    settled = run.t > 6  # errors of 0.1 m have died out: exp(-30)
    x, z = 0.08 * np.cos(2 * run.t[settled]), 0.38 + 0.08 * np.sin(2 * run.t[settled])
    both = np.concatenate([inverse_kinematics(x, z, side) for side in (-1, 1)], axis=-1)
    np.testing.assert_allclose(run.q[settled], both, rtol=0, atol=1e-9)
    assert abs(p.closure_errors(run.q, run.t)[:, :5]).max() < 1e-12  # the loop itself, at round-off throughout


def test_an_open_loop_closes_at_the_position_gain():
    p = four_bar_programme()
    q = p.system.assemble({"A": 1.0}).q + np.array([0.05, -0.03, 0.02])
    run = p.simulate(q, t_end=2, every=0.5)
    errors = np.linalg.norm(p.closure_errors(run.q, run.t), axis=1)
    np.testing.assert_allclose(errors, errors[0] * np.exp(-3 * run.t), rtol=0.02)  # rows turn, errors hardly
    gaps = np.abs(run.constraint_error)
    assert gaps.max() < 1e-9  # and the velocities are those of the programme


@cache
def driven_arm() -> mt.Programme:
    """Its middle joint moves by a law, so that masses depend on time, on a ground that moves."""
    m = mt.Model("arm")
    m.ground.moves(("0.2*sin(3*t)", 0, "0.1*t^2"))
    last = m.ground
    for name, motion in (("a", None), ("b", "0.5 + 0.8*sin(4*t)"), ("c", None)):
        link = m.body(f"link {name}", mt.rod(mass=1.0, length=0.5))
        m.joint(name, mt.Revolute("y", motion=motion), last, link)
        last = link.at((0.5, 0, 0))
    m.frame("tip", last)
    return mt.programme(m, ["tip.x' + 0.3*tip.z' = 0.2"], wanted={"a": "1 + c"}, gain=5)


def test_inertial_forces_are_those_of_inverse_dynamics_without_gravity():
    p, (q, qd) = driven_arm(), np.random.default_rng(4).uniform(-1, 1, (2, 3, 2))
    t = np.array([0.1, 0.7, 1.5])
    weightless = mt.Model(gravity=(0, 0, 0))
    vars(weightless).update({**vars(p.given.model), "gravity": (0, 0, 0)})
    expected = weightless.build().inverse_dynamics(q, qd, p.accelerations(q, qd, t), t)
    np.testing.assert_allclose(p.inertial_forces(q, qd, t), expected, rtol=1e-10, atol=1e-10)


GUESSES = {five_bar_programme: FIVE_BAR_START, pendulum_programme: {"a": 0.5, "b": 0.6}, driven_arm: {"a": 0.4}}


@pytest.mark.parametrize("which", [four_bar_programme, five_bar_programme, pendulum_programme, driven_arm])
@pytest.mark.repeats(2)
def test_the_energy_of_deviations_decays_by_the_decay_matrix(which):
    """V' = -u' S u, although reactions of loops act: they do no work on deviations that the mechanism can have."""
    p, guess = which(), GUESSES.get(which)
    start = p.system.assemble(guess=guess, velocities={p.coordinates[0]: -0.7})
    run = p.simulate(start, t_end=0.06, every=0.02, rtol=1e-12)
    assert run.size[-1] > 0.1 * run.size[0]

    def V(q, qd, t):
        u = p.deviation(q, qd, t)
        return np.einsum("ki,kij,kj->k", u, p.mass_matrix(q, t), u) / 2

    h, qdd = 1e-4, p.accelerations(run.q, run.qd, run.t)
    ahead, behind = (V(run.q + s * run.qd + s * s / 2 * qdd, run.qd + s * qdd, run.t + s) for s in (h, -h))
    expected = -np.einsum("ki,kij,kj->k", run.u, p.decay_matrix(run.q, run.t), run.u)
    np.testing.assert_allclose((ahead - behind) / (2 * h), expected, rtol=1e-5)


# --- the real system under control ---


def followed(p: mt.Programme, start, t_end: float, torques) -> np.ndarray:
    """Forward dynamics of the mechanism, its own forces and reactions included, with the torques of control."""
    n, system = len(start.q), p.system

    def right_hand_side(t, y):
        return np.concatenate([y[n:], system.forward_dynamics(y[:n], y[n:], torques(y[:n], y[n:], t), t)])

    y = np.concatenate([start.q, start.v])
    return solve_ivp(right_hand_side, (0, t_end), y, rtol=1e-9, atol=1e-10, dense_output=True).sol


def at_joints(p: mt.Programme, joints: list[str]):
    where, directions = [p.coordinates.index(joint) for joint in joints], {joint: {joint: 1} for joint in joints}

    def torques(q, qd, t):
        tau = np.zeros(len(q))
        tau[where] = [float(x) for x in p.control(q, qd, t, actuators=directions).torques.values()]
        return tau

    return torques


def certified(p: mt.Programme, run) -> float:
    """The least eigenvalue of the decay matrix on the run."""
    pairs = zip(p.decay_matrix(run.q, run.t), p.mass_matrix(run.q, run.t), strict=True)
    return min(eigh(S, m, eigvals_only=True)[0] for S, m in pairs)


@pytest.mark.parametrize(("which", "joints"), [(pendulum_programme, ["a", "b"]), (five_bar_programme, ["A", "E"])])
@pytest.mark.repeats(1)
def test_the_real_system_follows_its_programme_with_a_deviation_too(which, joints):
    p, guess = which(), GUESSES[which]
    start = p.system.assemble(guess=guess, velocities={joints[0]: -0.4, joints[1]: 0.3})
    run = p.simulate(start, t_end=0.4, every=0.1, rtol=1e-11)
    assert run.size[0] > 0.01
    real = followed(p, start, 0.4, at_joints(p, joints))(run.t).T
    np.testing.assert_allclose(real, np.concatenate([run.q, run.qd], axis=1), rtol=0, atol=1e-8)
    assert run.decay_rate() > certified(p, run)
    by_name, by_direction = (p.control(run, actuators=x) for x in (joints, {joint: {joint: 1} for joint in joints}))
    for joint in joints:
        np.testing.assert_allclose(by_name[joint], by_direction[joint], rtol=1e-8)


@cache
def cart() -> mt.Programme:
    """On a blade, pushed and steered: its nose follows a figure eight."""
    m = sleigh("planar", blade=True)
    m.frame("nose", m.bodies[0].at((0.5, 0, 0)))
    eight = ["nose.x = 2*sin(0.4*t)", "nose.y = sin(0.8*t)"]
    return mt.programme(m.build(), eight, gain=8, position_gain=1)


DRIVES = {"thrust": {"c.x": "cos(c.angle)", "c.y": "sin(c.angle)"}, "steering": {"c.angle": 1}}


@pytest.mark.long
def test_a_cart_on_a_blade_follows_a_figure_eight_by_thrust_and_steering():
    p = cart()
    start = p.system.assemble({"c": (-0.6, 0.1, 0.3)}, velocities={"c.angle": -1.0})
    run = p.simulate(start, t_end=0.5, every=0.1, rtol=1e-11)
    assert run.size[0] > 0.5

    def torques(q, qd, t):
        thrust, steering = (float(x) for x in p.control(q, qd, t, actuators=DRIVES).torques.values())
        return np.array([thrust * np.cos(q[2]), thrust * np.sin(q[2]), steering])

    real = followed(p, start, 0.5, torques)(run.t).T
    np.testing.assert_allclose(real, np.concatenate([run.q, run.qd], axis=1), rtol=0, atol=1e-8)
    assert run.decay_rate() > certified(p, run) > 0


@cache
def cart_by_expressions() -> mt.Programme:
    nose = ["x + 0.5*cos(phi) = 2*sin(0.4*t)", "y + 0.5*sin(phi) = sin(0.8*t)"]
    return mt.programme("x y phi", ["x'*sin(phi) = y'*cos(phi)", *nose], mass=(2, 2, 0.5), gain=8, position_gain=1)


def cart_by_hand(t, state):
    """Newton's law of the cart on its blade, whose side force is eliminated by hand; thrust and steering by control."""
    x, y, phi, dx, dy, w = state
    along = {"thrust": {"x": "cos(phi)", "y": "sin(phi)"}, "steering": {"phi": 1}}
    thrust, steering = cart_by_expressions().control([x, y, phi], [dx, dy, w], t, actuators=along).torques.values()
    c, s = np.cos(phi), np.sin(phi)
    side = -2 * w * (dx * c + dy * s)
    return [dx, dy, w, (thrust * c + side * s) / 2, (thrust * s - side * c) / 2, steering / 0.5]


@pytest.mark.parametrize("deviating", [False, True])
@pytest.mark.repeats(1)
def test_a_cart_given_by_expressions_is_driven_along_its_programme(deviating):
    p, q = cart_by_expressions(), np.array([-0.3, -0.2, 0.6])
    qd = np.array([0.5 * np.cos(0.6), 0.5 * np.sin(0.6), -1.0]) if deviating else p.velocity(q)
    t = np.linspace(0, 1, 11)
    real = solve_ivp(cart_by_hand, (0, 1), [*q, *qd], t_eval=t, rtol=1e-9, atol=1e-10).y.T
    if not deviating:
        run = p.simulate(q, qd, t_end=1, every=0.1, rtol=1e-11)
        np.testing.assert_allclose(real, np.concatenate([run.q, run.qd], axis=1), rtol=0, atol=1e-8)
    else:  # the blade allows fewer accelerations than the programme has, but V' = -u' S u all the same
        u, m = p.deviation(real[:, :3], real[:, 3:], t), np.array([2, 2, 0.5])
        sizes, S = np.sqrt((m * u * u).sum(axis=1)), p.decay_matrix(real[:, :3], t)
        rate = min(eigh(each, np.diag(m), eigvals_only=True)[0] for each in S)
        assert rate > 0
        assert (sizes[1:] <= sizes[0] * np.exp(-rate * t[1:])).all()
        assert sizes[-1] < 1e-2 * sizes[0]
