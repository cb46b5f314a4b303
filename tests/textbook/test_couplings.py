"""Couplings in closed form: gears, planetary sets, racks, belts, differentials, screws, mimic joints.

A coupling without losses adds inertias by the squares of their ratios. Planetary sets: Willis, Principles of Mechanism,
1841; Müller, Epicyclic Drive Trains, 1982.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import momentree as mt
from momentree.compile.trace.quantities import trace

TIGHT = 1e-12
FORMULATIONS = ("hamiltonian", "lagrange", "absolute")
G = 9.81


def shafts(inertias, torques=(), names="ABCDEFGH"):
    """Wheels on parallel axes through the ground, at rest in a row, each with its torque."""
    m = mt.Model("shafts", gravity=(0, 0, -G))
    for i, (name, inertia) in enumerate(zip(names, inertias, strict=False)):
        wheel = m.body(f"wheel {name}", mass=1.0, inertia=(0.6 * inertia, 0.6 * inertia, inertia))
        m.joint(name, mt.Revolute("z"), m.ground.at((i, 0, 0)), wheel)
    for name, torque in zip(names, torques, strict=False):
        if torque:
            m.torque(name, torque)
    return m


def accelerations(system, state=None, tau=None):
    """By name of the joint."""
    state = state or system.assemble()
    vdot = system.forward_dynamics(state.q, state.v, tau)
    return {reference.name: value for reference, value in zip(system.mechanism.velocities, vdot, strict=True)}


def solved(inertia, ratios, torques):
    """Accelerations of shafts, q = ratios x with independent x: ratios' I ratios x'' = ratios' torques."""
    ratios = np.asarray(ratios, dtype=float)
    M = ratios.T @ np.diag(inertia) @ ratios
    return ratios @ np.linalg.solve(M, ratios.T @ np.asarray(torques, dtype=float))


# --- gear pairs and trains ---


GEARS = {  # how the pair is described: turns of B for one of A
    "radii": ({"radii": (0.02, 0.05)}, -0.4),
    "teeth": ({"teeth": (17, 51)}, -1 / 3),
    "ratio": ({"ratio": 2.5}, -0.4),
    "internal": ({"teeth": (20, 50), "internal": True}, 0.4),
}


@pytest.mark.parametrize("by", GEARS)
def test_a_gear_pair_under_two_torques(by):
    # (I1 + k^2 I2) q1'' = T1 + k T2, q2 = k q1
    described, k = GEARS[by]
    m = shafts((0.03, 0.2), (0.7, -0.4))
    m.gear("A", "B", **described)
    found = accelerations(m.build())
    a = (0.7 - 0.4 * k) / (0.03 + 0.2 * k**2)
    assert found["A"] == pytest.approx(a, rel=TIGHT)
    assert found["B"] == pytest.approx(k * a, rel=TIGHT)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("by", ["teeth", "internal"])
@pytest.mark.repeats(2)
def test_a_gear_pair_turns_as_its_torques_say(by, formulation):
    # a constant and an oscillating torque: q1 = a t^2/2 + b (t - sin(t)), and the offset stays
    described, k = GEARS[by]
    m = shafts((0.03, 0.2), (0.7, "0.5*sin(t)"))
    m.gear("A", "B", **described, offset=0.25)
    system = m.build()
    start = system.assemble({"A": 0.4})
    run = system.simulate(start, t_end=2.0, every=0.1, rtol=1e-13, formulation=formulation)
    inertia = 0.03 + 0.2 * k**2
    swept = (0.7 * run.t**2 / 2 + 0.5 * k * (run.t - np.sin(run.t))) / inertia
    np.testing.assert_allclose(run["A"] - 0.4, swept, rtol=TIGHT, atol=TIGHT)
    np.testing.assert_allclose(run["B"] - run["B"][0], k * swept, rtol=TIGHT, atol=TIGHT)
    assert run.closure_error.max() < 1e-13


def test_the_offset_of_a_gear_pair_is_an_angle_of_its_first_wheel():
    # with both wheels in line where A = offset, B = 0
    m = shafts((0.03, 0.2))
    m.gear("A", "B", teeth=(17, 51), offset=0.25)
    start = m.build().assemble({"B": 0.0})
    assert start["A"] == pytest.approx(0.25, abs=1e-14)


def test_what_teeth_and_shafts_transmit():
    # the torque on B and C together is what accelerates them; on A the same force acts at a third of the radius
    m = shafts((0.03, 0.2, 0.5), (0.7,))
    m.gear("A", "B", teeth=(17, 51), name="mesh")
    m.couple("C", to="B", name="shaft")
    system = m.build()
    run = system.simulate(system.assemble(), t_end=1.0, every=0.25)
    a = 0.7 / (0.03 + 0.7 / 9)
    mesh, shaft = run.reactions("mesh"), run.reactions("shaft")
    np.testing.assert_allclose(run.velocity("A"), a * run.t, rtol=1e-11)
    np.testing.assert_allclose(mesh["B"], -0.7 * a / 3, rtol=1e-10)
    np.testing.assert_allclose(mesh["A"], mesh["B"] / 3, rtol=1e-10)
    np.testing.assert_allclose(shaft["C"], -0.5 * a / 3, rtol=1e-10)
    np.testing.assert_allclose(shaft["B"], -shaft["C"], rtol=1e-10)


def test_torques_of_a_planetary_set_are_as_its_teeth():
    # sun : ring : carrier = z_s : z_r : -(z_s + z_r), whatever moves it
    system = planetary(TORQUES, planets=1)
    run = system.simulate(system.assemble(velocities={"sun": 3.0}), t_end=1.0, every=0.25)
    exerted = run.reactions("planetary 1")
    np.testing.assert_allclose(exerted["ring"] / exerted["sun"], RING / SUN, rtol=1e-10)
    np.testing.assert_allclose(exerted["carrier"] / exerted["sun"], -(SUN + RING) / SUN, rtol=1e-10)
    assert np.abs(exerted["sun"]).min() > 1e-3


def test_a_gear_train_of_eight():
    inertias = np.array([0.03, 0.2, 0.01, 0.4, 0.15, 0.07, 0.3, 0.02])
    teeth = np.array([17, 51, 23, 64, 31, 20, 47, 19])
    torques = np.array([0.7, 0, -0.2, 0, 0.1, 0, 0, 0.4])
    m = shafts(inertias, torques)
    for i in range(7):
        m.gear("ABCDEFGH"[i], "ABCDEFGH"[i + 1], teeth=(teeth[i], teeth[i + 1]))
    system = m.build()
    found = accelerations(system)
    expected = solved(inertias, ((-1.0) ** np.arange(8) * teeth[0] / teeth)[:, None], torques)
    np.testing.assert_allclose([found[name] for name in "ABCDEFGH"], expected, rtol=TIGHT)
    assert system.mobility == 1


def test_a_gear_train_that_closes_in_itself_is_solved_all_the_same():
    # A to B to C and, by an internal ring, C to A with the ratio that fits: one row is redundant
    m = shafts((0.03, 0.2, 0.1), (0.7,))
    m.gear("A", "B", teeth=(20, 40))
    m.gear("B", "C", teeth=(40, 30))
    m.gear("A", "C", teeth=(20, 30), internal=True)
    system = m.build()
    found = accelerations(system)
    expected = solved((0.03, 0.2, 0.1), [[1], [-1 / 2], [2 / 3]], (0.7, 0, 0))
    np.testing.assert_allclose([found[name] for name in "ABC"], expected, rtol=TIGHT)
    assert system.mobility == 1
    assert len(system.mobility_report.redundant) == 1


def row_of_gears(n):
    """Gears of 20 to 29 teeth; a spring turns the first back. The exact ratio of each to the first."""
    teeth = 20 + 7 * np.arange(n) % 10
    m = mt.Model("row", gravity=(0, 0, -G))
    for i in range(n):
        wheel = m.body(f"wheel {i}", mass=1.0, inertia=(0.001, 0.001, 0.001 * teeth[i] / 20))
        m.joint(f"G{i}", mt.Revolute("z", spring=3.0 if i == 0 else 0), m.ground.at((i, 0, 0)), wheel)
    for i in range(n - 1):
        m.gear(f"G{i}", f"G{i + 1}", teeth=(teeth[i], teeth[i + 1]))
    return m.build(), (-1.0) ** np.arange(n) * teeth[0] / teeth, 0.001 * teeth / 20


def test_each_gear_in_a_row_costs_the_same():
    # operations of forward dynamics: as many more from 40 to 80 gears as from 80 to 120
    counts = [len(trace(row_of_gears(n)[0].mechanism, "forward_dynamics", False)[0].live()) for n in (40, 80, 120)]
    assert counts[2] - counts[1] == pytest.approx(counts[1] - counts[0], rel=0.02)


@pytest.mark.parametrize("n", [30, pytest.param(1000, marks=pytest.mark.long)])
def test_a_row_of_gears_swings_as_one_wheel(n):
    system, ratios, inertias = row_of_gears(n)
    start = system.assemble(dict(zip((f"G{i}" for i in range(n)), ratios, strict=True)))
    run = system.simulate(start, t_end=2.0, every=0.1)
    expected = np.cos(np.sqrt(3.0 / (inertias @ ratios**2)) * run.t)
    np.testing.assert_allclose(run.q, np.outer(expected, ratios), rtol=0, atol=1e-9)
    assert run.closure_error.max() < 1e-12


# --- planetary sets ---


SUN, RING, PLANET = 24, 72, 24  # teeth
ARM, PLANET_MASS, PLANET_INERTIA = 0.12, 0.5, 0.0008


def planetary(torques, ring=True, planets=3, by="planetary"):
    m = mt.Model("planetary", gravity=(0, 0, -G))
    for name, inertia in (("sun", 0.004), ("carrier", 0.02), *((("ring", 0.06),) if ring else ())):
        body = m.body(name, mass=1.0, inertia=(0.03, 0.03, inertia))
        m.joint(name, mt.Revolute("z"), m.ground, body)
        if name in torques:
            m.torque(name, torques[name])
    carrier = next(body for body in m.bodies if body.name == "carrier")
    names = [f"planet {i}" for i in range(planets)]
    for i, name in enumerate(names):
        angle = 2 * np.pi * i / planets
        planet = m.body(name, mass=PLANET_MASS, inertia=(0.0005, 0.0005, PLANET_INERTIA))
        m.joint(name, mt.Revolute("z"), carrier.at((ARM * np.cos(angle), ARM * np.sin(angle), 0)), planet)
    if by == "planetary":
        m.planetary("sun", "ring" if ring else None, "carrier", teeth=(SUN, RING), planets=names)
    else:
        for name in names:
            m.gear("sun", name, teeth=(SUN, PLANET), carrier="carrier")
            if ring:
                m.gear(name, "ring", teeth=(PLANET, RING), internal=True, carrier="carrier")
    return m.build()


def by_willis(torques, planets=3, ring_fixed=False):
    """Accelerations of sun, carrier, ring and planets (about the arm) from those of sun and carrier."""
    ratios = np.array([[1, 0], [0, 1], [-SUN / RING, 1 + SUN / RING], [-SUN / PLANET, SUN / PLANET]])
    absolute = ratios.copy()
    absolute[3] += (0, 1)  # the planet turns with the carrier
    inertia = [0.004, 0.02 + planets * PLANET_MASS * ARM**2, 0.06, planets * PLANET_INERTIA]
    independent = np.array([[1 + RING / SUN], [1]]) if ring_fixed else np.eye(2)
    absolute, ratios = absolute @ independent, ratios @ independent
    M = absolute.T @ np.diag(inertia) @ absolute
    Q = ratios.T @ [torques.get(name, 0) for name in ("sun", "carrier", "ring", "")]
    return ratios @ np.linalg.solve(M, Q)


TORQUES = {"sun": 0.8, "carrier": -0.3, "ring": 0.2}


@pytest.mark.parametrize("by", ["planetary", "gears"])
def test_a_planetary_set_with_two_freedoms(by):
    system = planetary(TORQUES, by=by)
    found = accelerations(system)
    expected = by_willis(TORQUES)
    for name, value in zip(("sun", "carrier", "ring", "planet 0", "planet 2"), expected[[0, 1, 2, 3, 3]], strict=True):
        assert found[name] == pytest.approx(value, rel=TIGHT), name
    assert system.mobility == 2


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.repeats(1)
def test_a_planetary_set_over_time(formulation):
    system = planetary(TORQUES)
    start = system.assemble({"sun": 0.1}, velocities={"sun": 3.0, "carrier": -1.0})
    run = system.simulate(start, t_end=2.0, every=0.1, rtol=1e-13, formulation=formulation)
    a = by_willis(TORQUES)
    for name, k, v in (("sun", 0, 3.0), ("carrier", 1, -1.0), ("ring", 2, -1 - 4 * SUN / RING)):
        swept = v * run.t + a[k] * run.t**2 / 2
        np.testing.assert_allclose(run[name] - run[name][0], swept, rtol=TIGHT, atol=TIGHT)


def test_a_planetary_set_with_its_ring_held():
    # the sun turns 1 + z_ring / z_sun times for one turn of the carrier
    torques = {"sun": 0.8, "carrier": -0.3}
    system = planetary(torques, ring=False)
    found = accelerations(system)
    expected = by_willis(torques, ring_fixed=True)
    assert found["sun"] / found["carrier"] == pytest.approx(1 + RING / SUN, rel=TIGHT)
    assert found["sun"] == pytest.approx(expected[0], rel=TIGHT)
    assert found["planet 1"] == pytest.approx(expected[3], rel=TIGHT)
    assert system.mobility == 1


# --- rack, belt, differential, screw ---


def test_a_rack_and_its_pinion():
    # m x'' = force: x = r q, (m + I / r^2) x'' = F + T / r
    m = shafts((0.003,), (0.5,))
    rack = m.body("rack", mass=4.0)
    m.joint("rack", mt.Prismatic("x"), m.ground.at((0, -0.05, 0)), rack)
    m.torque("rack", -2.0)
    m.rack("A", "rack", radius=0.05, offset=0.3)
    system = m.build()
    a = (-2.0 + 0.5 / 0.05) / (4.0 + 0.003 / 0.05**2)
    found = accelerations(system)
    assert found["rack"] == pytest.approx(a, rel=TIGHT)
    assert found["A"] == pytest.approx(a / 0.05, rel=TIGHT)
    run = system.simulate(system.assemble({"A": 0.0}), t_end=2.0, every=0.1, rtol=1e-13)
    np.testing.assert_allclose(run["rack"], 0.3 + a * run.t**2 / 2, rtol=TIGHT)


@pytest.mark.parametrize("crossed", [False, True])
def test_a_belt(crossed):
    k = (0.1 / 0.25) * (-1 if crossed else 1)
    m = shafts((0.03, 0.2), (0.7, -0.4))
    m.belt("A", "B", radii=(0.1, 0.25), crossed=crossed)
    found = accelerations(m.build())
    a = (0.7 - 0.4 * k) / (0.03 + 0.2 * k**2)
    assert found["A"] == pytest.approx(a, rel=TIGHT)
    assert found["B"] == pytest.approx(k * a, rel=TIGHT)


def test_a_differential_divides_torque_equally():
    # left + right = 2 case; each wheel gets half the torque of the case, whatever their velocities
    m = shafts((0.3, 0.5, 0.1), (0.0, -0.2, 1.6))
    m.differential("A", "B", "C")
    system = m.build()
    found = accelerations(system)
    expected = solved((0.3, 0.5, 0.1), [[1, 0], [0, 1], [0.5, 0.5]], (0, -0.2, 1.6))
    np.testing.assert_allclose([found[name] for name in "ABC"], expected, rtol=TIGHT)
    half = (1.6 - 0.1 * expected[2]) / 2
    assert 0.3 * found["A"] == pytest.approx(half, rel=TIGHT)
    assert 0.5 * found["B"] + 0.2 == pytest.approx(half, rel=TIGHT)


def test_a_screw_coupling_is_a_screw():
    # a spindle and a nut that slides, against a Screw joint: per turn the nut advances by the pitch
    m = shafts((0.003,), (0.05,))
    nut = m.body("nut", mass=2.0)
    m.joint("nut", mt.Prismatic("z"), m.ground, nut)
    m.screw("A", "nut", pitch=0.004, offset=0.1)
    system = m.build()
    advance = 0.004 / (2 * np.pi)
    a = (0.05 - 2.0 * G * advance) / (0.003 + 2.0 * advance**2)
    found = accelerations(system)
    assert found["A"] == pytest.approx(a, rel=TIGHT)
    assert found["nut"] == pytest.approx(a * advance, rel=TIGHT)
    assert system.assemble({"A": 4 * np.pi})["nut"] == pytest.approx(0.108, rel=1e-13)


# --- couplings of several coordinates ---


def test_a_coupling_of_several_coordinates():
    # C = 0.5 A - 0.3 B: three shafts, two freedoms
    m = shafts((0.03, 0.2, 0.1), (0.7, -0.4, 0.3))
    m.couple("C", to={"A": 0.5, "B": -0.3})
    found = accelerations(m.build())
    expected = solved((0.03, 0.2, 0.1), [[1, 0], [0, 1], [0.5, -0.3]], (0.7, -0.4, 0.3))
    np.testing.assert_allclose([found[name] for name in "ABC"], expected, rtol=TIGHT)


BEND = (0.8, 0.6)  # of the second and third joint of a finger for one of the first
LENGTHS, MASSES = np.array([0.05, 0.03, 0.02]), np.array([0.04, 0.02, 0.01])


def finger(mimic=True):
    """Three phalanges that hang down and bend together, driven at the first joint by a spring and a torque."""
    m = mt.Model("finger", gravity=(0, 0, -G))
    at = m.ground
    for i, name in enumerate("ABC"):
        rod = m.body(f"phalanx {name}", mt.rod(mass=MASSES[i], length=LENGTHS[i], along="-z"))
        m.joint(name, mt.Revolute("-y", spring=0.01 if name == "A" else 0), at, rod)
        at = rod.at((0, 0, -LENGTHS[i]))
    m.torque("A", "0.02*cos(3*t)")
    m.couple("B", to="A", ratio=BEND[0], offset=0.1)
    m.couple("C", to="A", ratio=BEND[1])
    return m.build()


def finger_equation(t, y):
    """One freedom A: I(A) A'' + I'(A) A'^2 / 2 = torque - spring - V'(A); absolute angles turn at constant ratios."""
    ratios = np.array([1, 1 + BEND[0], 1 + BEND[0] + BEND[1]])
    angles = ratios * y[0] + (0, 0.1, 0.1)
    down, across = np.cos(angles), np.sin(angles)

    def moved(i, k):
        """How far along rod k the centre of rod i is, as a part of the length of rod k."""
        return 1.0 if k < i else 0.5 if k == i else 0.0

    inertia = slope = force = 0.0
    for i in range(3):
        lever = np.array([moved(i, k) for k in range(3)]) * LENGTHS
        dx, dz = (lever * down) @ ratios, (lever * across) @ ratios
        ddx, ddz = -(lever * across) @ ratios**2, (lever * down) @ ratios**2
        inertia += MASSES[i] * (dx**2 + dz**2 + LENGTHS[i] ** 2 / 12 * ratios[i] ** 2)
        slope += 2 * MASSES[i] * (dx * ddx + dz * ddz)
        force -= MASSES[i] * G * dz
    force += 0.02 * np.cos(3 * t) - 0.01 * y[0]
    return [y[1], (force - slope * y[1] ** 2 / 2) / inertia]


@pytest.mark.repeats(1)
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_finger_with_mimic_joints(formulation):
    system = finger()
    run = system.simulate(system.assemble({"A": 0.5}), t_end=5.0, every=0.05, formulation=formulation)
    known = solve_ivp(finger_equation, (0, 5), [0.5, 0], "DOP853", run.t, rtol=2.3e-14, atol=1e-14).y
    np.testing.assert_allclose(run["A"], known[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["B"], BEND[0] * known[0] + 0.1, rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["C"], BEND[1] * known[0], rtol=0, atol=1e-9)
    assert system.mobility == 1
    assert run.energy.error < 1e-9
