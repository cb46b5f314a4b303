"""Constraints at extremes: masses, lengths, places, redundancy, shared joints and bodies, lanes, every integrator."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.equations.formulations import FORMULATIONS


def chain(n, masses=(), length=1.0, at=(0, 0, 0), **first):
    """Rods on hinges A, B, C, ... about y."""
    m = mt.Model("chain")
    end = m.ground.at(at)
    for i in range(n):
        rod = m.body(f"rod{i}", mt.rod(mass=masses[i] if masses else 1.0, length=length))
        m.joint("ABCDEF"[i], mt.Revolute("y", **(first if i == 0 else {})), end, rod)
        end = rod.at((length, 0, 0))
    return m


def tip_of(m, length=1.0):
    return m.bodies[-1].at((length, 0, 0))


def named_tip(m, length=1.0):
    m.frame("tip", tip_of(m, length))
    return m


def with_constraints(m, *texts):
    for text in texts:
        m.constrain(text)
    return m


def small_and_large(length):
    m = with_constraints(named_tip(chain(3, length=length), length), f"tip.x - 0.3*tip.z = {1.2 * length}")
    return m, {"A": 0.4}, {}, 0.5 * length**0.5


def a_rod(length):
    m = chain(3, length=length)
    m.distance(m.ground.at((2 * length, 0, 0)), tip_of(m, length), length)
    return m, {"A": 0.4}, {}, 0.5 * length**0.5


def far_away():
    place = (1e4, 2e4, -1e4)
    m = chain(3, at=place)
    m.on_surface(tip_of(m), "x^2 + z^2 = 2", of=m.ground.at(place))
    return m, {"A": 0.4}, {"B": 0.5}, 1.0


def far_from_the_ground():
    return with_constraints(named_tip(chain(3, at=(1e4, 2e4, -1e4))), "tip.x = 10001.5"), {"A": 0.4}, {"B": 0.5}, 1.0


def geared_four_bar():
    """A loop whose crank and rocker drive wheels, one of them on the coupler."""
    m = four_bar()
    wheels = [m.body(name, mt.cylinder(mass=1.0, radius=0.2, length=0.1, axis="y")) for name in ("hub", "planet")]
    m.joint("H", mt.Revolute("y"), m.ground.at((0, 0, 1)), wheels[0])
    m.joint("P", mt.Revolute("y"), m.bodies[1].at((0.5, 0, 0)), wheels[1])
    with_constraints(m, "H = 2*A + 0.3*sin(D)", "P' = 0.5*B' + cos(H)*D'")
    return m, {"A": 1.0}, {"A": 2.0}, 1.0


def carried_frames():
    """Frames on the ground, which moves, and two on one body."""
    m = chain(3)
    m.ground.moves(("0.3*sin(t)", 0, 0), (0, "0.4*t", 0))
    for name, frame in {
        "g": m.ground.at((0.3, 0, 0.2)),
        "one": tip_of(m),
        "two": m.bodies[2].at((0.2, 0.1, 0)),
    }.items():
        m.frame(name, frame)
    with_constraints(m, "one.x*two.z + 0.5*one.z = g.x - 0.2", "one.x' + two.wy*g.z = 0.1*t + 0.3*A'")
    return m, {"A": 0.4}, {"A": 0.5}, 1.0


def of(m, given, velocities, t_end=1.0):
    return lambda: (m(), given, velocities, t_end)


START = {"A": 0.4}, {"A": 1.0}
CASES = {
    "a light body before a heavy one": of(
        lambda: with_constraints(chain(3, (1e-3, 1e3, 1.0)), "A + 2*B + 0.3*sin(C)"), *START, 0.3
    ),
    "a heavy body before a light one": of(lambda: with_constraints(chain(3, (1e6, 1e-3, 1.0)), "B = 3*C"), *START),
    "millimetres": lambda: small_and_large(1e-3),
    "kilometres": lambda: small_and_large(1e3),
    "a rod of a millimetre": lambda: a_rod(1e-3),
    "a rod of a kilometre": lambda: a_rod(1e3),
    "far away": far_away,
    "far from the ground": far_from_the_ground,
    "rows three times": of(
        lambda: with_constraints(chain(3), "sin(A) + 2*B", "2*sin(A) + 4*B", "cos(A)*A' + 2*B'"),
        {"A": 0.4},
        {"A": 1.0, "C": 1.0},
    ),
    "a parent and its child": of(lambda: with_constraints(chain(2), "A*B + B = 0.3"), {"A": 0.4}, {"A": 1.0}),
    "a joint named often": of(lambda: with_constraints(chain(2), "A*A - sin(A)*B + A = 0.3"), {"A": 0.2}, {"A": 1.0}),
    "joints of one chain": of(
        lambda: with_constraints(chain(4), "A + B + C + D", "A*B = C*D + 0.1"), {"A": 0.6, "B": -0.3}, {"A": 1.0}
    ),
    "a frame far out": of(
        lambda: with_constraints(named_tip(chain(6)), "tip.z' = 0", "tip.x = 4.5"), {"A": 0.4}, {"A": 0.5}, 0.5
    ),
    "a prescribed joint": of(
        lambda: with_constraints(chain(3, motion="0.5*sin(2*t)"), "B = 2*A + 0.1", "C' = A*B'"), {}, {}
    ),
    "loops with gears": geared_four_bar,
    "frames": carried_frames,
}


@pytest.mark.repeats(1)
@pytest.mark.parametrize("name", CASES)
def test_formulations_agree_and_constraints_are_kept(name):
    m, given, velocities, t_end = CASES[name]()
    system = m.build()
    start = system.assemble(given, velocities=velocities)
    runs = [system.simulate(start, t_end, formulation=each, rtol=1e-11) for each in FORMULATIONS]
    ends = [np.concatenate([run.q[-1], run.v[-1]]) for run in runs]
    for run, end in zip(runs, ends, strict=True):
        assert run.end.reason == "arrived"
        assert run.closure_error.max() < 1e-14 * max(1.0, system.mechanism.size) + (1e-11 if "far" in name else 0)
        np.testing.assert_allclose(end, ends[0], rtol=0, atol=1e-8 * max(1.0, np.abs(ends[0]).max()))
        assert np.abs(run.energy.balance).max() < 1e-8 * run.energy.through
    assert np.abs(ends[0][: system.nq] - start.q).max() > 0.01  # it does move


def test_lanes_are_single_runs():
    m = with_constraints(named_tip(chain(3)), "sin(A) + 2*B", "tip.z' = 0.3*A'")
    system = m.build()
    starts = [system.assemble({"A": x}, velocities={"A": 1.0}) for x in (0.1, 0.3, 0.5, 0.7, 0.9)]
    many = system.simulate_many([s.q for s in starts], [s.v for s in starts], 1.0, every=0.5, rtol=1e-10)
    for q, start in zip(many.q, starts, strict=True):
        np.testing.assert_allclose(q[-1], system.simulate(start, 1.0, rtol=1e-10).q[-1], rtol=0, atol=1e-8)


def geared(k, **build):
    m = chain(3)
    m.parameter("k", k)
    m.parameter("L", 1.5)
    m.distance(m.ground.at((1.5, 0, 0.3)), tip_of(m), "L")
    with_constraints(m, "A - k*B - 0.3")
    return m.build(**build)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_free_parameters_may_be_ratios_and_lengths(formulation):
    free = geared(0.5, free=["k", "L"])
    for k in (0.5, 1.2):
        fixed = geared(k)
        start = fixed.assemble({"B": 0.6})
        expected = fixed.simulate(start, 0.5, formulation=formulation, rtol=1e-11).q[-1]
        begun = free.assemble({"B": 0.6}, parameters={"k": k})
        run = free.simulate(begun, 0.5, formulation=formulation, rtol=1e-11, parameters={"k": k})
        np.testing.assert_allclose(run.q[-1], expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("integrator", "flat"), [("verlet", 1e-3), ("verlet4", 1e-8)])
@pytest.mark.repeats(1)
def test_structure_preserving_steps_keep_the_energy_flat_and_constraints_closed(integrator, flat):
    m = with_constraints(named_tip(chain(4)), "B = A + 0.5*sin(2*A)", "tip.z = 0.3*tip.x^2 - 1.5")
    m.distance(m.ground.at((1.5, 0, 0.5)), m.bodies[2].at((1, 0, 0)), 2.0)
    system = m.build()
    start = system.assemble({"A": 0.9})
    run = system.simulate(start, 5.0, integrator=integrator, step=2e-3, every=0.1)
    energies = np.array([system.energy(q, v).total for q, v in zip(run.q, run.v, strict=True)])
    assert np.ptp(energies) < flat
    assert run.closure_error.max() < 1e-13
    fine = system.simulate(start, 0.5, rtol=1e-11).q[-1]
    np.testing.assert_allclose(run.q[5], fine, rtol=0, atol={"verlet": 1e-4, "verlet4": 1e-8}[integrator])


SETTINGS = [
    {"integrator": "radau"},
    {"integrator": "radau", "formulation": "lagrange"},
    {"integrator": "dopri5"},
    {"integrator": "rk4", "step": 1e-3, "rtol": None},
    {"stabilization": "none"},
    {"stabilization": "baumgarte"},
    {"stabilization": "leak"},
    {"stabilization": "baumgarte", "formulation": "lagrange"},
    {"stabilization": "baumgarte-velocity", "formulation": "lagrange"},
    {"stabilization": "programme", "formulation": "lagrange"},
    {"stabilization": "programme", "formulation": "lagrange", "integrator": "radau"},
    {"stabilization": "none", "formulation": "absolute"},
    {"stabilization": "programme", "formulation": "absolute"},
]


@pytest.mark.repeats(1)
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: " ".join(map(str, settings.values())))
def test_every_integrator_and_stabilization_gives_one_motion(settings):
    texts = "B = A + 0.5*sin(2*A) + 0.1*t", "tip.z' = 0.3*tip.x*A' - 0.2*C'"
    system = with_constraints(named_tip(chain(3)), *texts).build()
    start = system.assemble({"A": 0.9}, velocities={"A": 1.0})
    expected = system.simulate(start, 1.0, rtol=1e-11).q[-1]
    run = system.simulate(start, 1.0, **{"rtol": 1e-9, **settings})
    np.testing.assert_allclose(run.q[-1], expected, rtol=0, atol=2e-7)
    assert run.closure_error.max() < (1e-8 if "stabilization" in settings else 1e-13)


def test_structure_preserving_steps_refuse_constraints_on_velocities():
    system = with_constraints(chain(2), "A' = B*B'").build()
    with pytest.raises(mt.MomentreeError, match=r"constraint 'constraint 1' is nonholonomic.*Choose 'dop853'"):
        system.simulate(system.assemble({"B": 0.3}, velocities={"B": 1.0}), 1.0, integrator="verlet", step=1e-3)
