"""The energy account of random hybrid systems: stops, contacts, threads, latches, switches and kinks of motions."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt

SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 8))]


def hybrid(seed: int):
    """Wheels on a common carrier and a ball on a plane, with some of everything that begins, ends, locks or jumps."""
    random = np.random.default_rng(seed)
    uniform = random.uniform
    m = mt.Model(f"hybrid {seed}")
    carrier = m.body("carrier", mt.cylinder(mass=1.0, radius=0.5, length=0.1))
    m.joint("C", mt.Revolute("z", damping=uniform(0, 0.2)), m.ground, carrier)
    law = f"0.3*abs(t - {uniform(0.2, 0.8):.3f}) + {uniform(-1, 1):.3f}*max(0, t - {uniform(0.2, 0.8):.3f})"
    options = [
        {"limits": (-0.2, 0.3), "stops": (uniform(100, 2000), uniform(1, 30))},
        {"spring": uniform(1, 5)},
        {},
        {"motion": law},
    ]
    for name, option in zip("ABDE", options, strict=True):
        wheel = m.body(name.lower(), mt.rod(mass=uniform(0.5, 2), length=0.4))
        m.joint(name, mt.Revolute("y" if name == "A" else "z", **option), carrier, wheel)
    m.latch("D", at=float(uniform(0.2, 0.6)))
    m.constrain("C' - 0.5*B'", name="clutch")
    m.constrain("D' + B' - E'", name="gear")
    m.switch("clutch", on=f"t - {uniform(0.1, 0.4):.3f}", off=f"t - {uniform(0.5, 0.8):.3f}")
    m.switch("gear", on=f"D - {uniform(0.1, 0.5):.3f}", off=f"t - {uniform(0.6, 0.9):.3f}")
    ball = m.body("ball", mt.sphere(mass=1.0, radius=0.1))
    m.joint("flight", mt.Planar("y"), m.ground.at((0, 0, 0.4)), ball)
    m.contact(ball, m.ground, radius=0.1, stiffness=uniform(1e3, 1e4), damping=uniform(1, 30), friction=uniform(0, 0.5))
    m.spring(m.ground.at((0, 0, 0.6)), ball, uniform(50, 200), rest=0.25, damping=uniform(0.1, 2), tension_only=True)
    system = m.build()
    return system, system.assemble({}, velocities={"A": 4.0, "B": -1.0, "C": 0.5, "D": 1.0, "flight": (0.2, 0.5, 3.0)})


@pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_account_is_balanced_at_every_sample_and_each_event_has_its_part(seed, formulation):
    system, start = hybrid(seed)
    run = system.simulate(start, 1.0, formulation=formulation, every=0.05)
    assert run.end.reason == "arrived"
    assert run.energy.error < 1e-8 * run.energy.through
    assert run.warnings == ()
    kinds = {"damper", "stop", "contact", "friction", "spring damping", "latch", "switch", "motion"}
    assert {term.kind for term in run.work_terms} == kinds
    acting = [term.name for term in run.work_terms if term.kind in ("latch", "switch")]
    lost = {round(impact.t, 12): impact.lost for impact in run.impacts}
    assert lost
    for i in np.flatnonzero(np.diff(run.t) == 0):
        parts = {name: run.energy.work[name][i + 1] - run.energy.work[name][i] for name in acting}
        happened = {name for name, t in run.end.events if t == run.t[i]}
        assert {name for name, part in parts.items() if part != 0} <= happened
        assert sum(parts.values()) == pytest.approx(run.energy.total[i + 1] - run.energy.total[i], abs=1e-9)
        assert -sum(parts.values()) == pytest.approx(lost.get(round(run.t[i], 12), 0.0), abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_formulation_and_every_tolerance_see_the_same_events(seed):
    system, start = hybrid(seed)
    runs = [
        system.simulate(start, 1.0, every=0.05, **settings)
        for settings in ({}, {"formulation": "lagrange"}, {"rtol": 1e-8})
    ]
    for run in runs[1:]:
        assert [name for name, _ in run.end.events] == [name for name, _ in runs[0].end.events]
        np.testing.assert_allclose([t for _, t in run.end.events], [t for _, t in runs[0].end.events], atol=1e-6)
        np.testing.assert_allclose(run.q[-1], runs[0].q[-1], atol=1e-5)
