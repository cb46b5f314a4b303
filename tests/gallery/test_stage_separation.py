"""The stage separation against an independent program in the plane, and against closed forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad

import momentree as mt
from plane_motion import Plane

MODEL = Path(__file__).parents[2] / "examples" / "07_stage_separation" / "model.toml"
M, m, J, E, L, K, S, REACH = 60e3, 4e3, 1.2e5, 1.0, 11.0, 1.2e5, 0.3, 17.0
ANGLE = np.radians(15)


def separated(weak: float, t_end: float = 8.0) -> tuple[Plane, dict[str, float]]:
    """The motion, and when each hinge lets go; x + i z is the plane, so that angles are about -y."""
    signs = {1: -1, 2: 1}  # left, right

    def loads(r, angle, v, w):
        force, moment = 0 * r, 0 * angle
        for i, sign in signs.items():
            arm = (sign * (-S - E) + 1j * (L - REACH)) * np.exp(1j * angle[i])  # from the centre of mass to the tip
            seen = (r[i] + arm - r[0]) * np.exp(-1j * angle[0])  # by the core
            depth = max(0.0, 1.25 - sign * seen.real)
            push = K * (weak if i == 1 else 1) * depth * sign * np.exp(1j * angle[0])
            force[i] += push
            force[0] -= push
            moment[i] += (arm.conjugate() * push).imag
            moment[0] -= ((r[i] + arm - r[0]).conjugate() * push).imag
        return force, moment

    plane = Plane(
        mass=np.array([M, m, m]),
        inertia=np.array([M * (3 * 1.1**2 + 26**2) / 12, J, J]),
        loads=loads,
        r=np.array([0, -1.25 - E + 6j - 1j * L, 1.25 + E + 6j - 1j * L]),
        angle=np.zeros(3),
        hinges=[(0, s * 1.25 + 6j, i, -s * E + 1j * L) for i, s in signs.items()],
    )
    hinged = {"left": 1, "right": 2}
    times = {}
    while True:
        opened = {n: lambda r, a, i=i: signs[i] * (a[i] - a[0]) - ANGLE for n, i in hinged.items()}
        name = plane.move(t_end, opened)
        if name is None:
            return plane, times
        times[name] = plane.t
        plane.hinges = [hinge for hinge in plane.hinges if hinge[2] != hinged[name]]
        del hinged[name]


@pytest.fixture(scope="module")
def system():
    return mt.load(MODEL).build(free=["weak"])


def test_the_boosters_leave_as_an_independent_program_says(system):
    plane, times = separated(0.9)
    run = system.simulate(rtol=1e-11)
    expected = {f"release of {side} hinge": t for side, t in times.items()}
    assert dict(run.end.events) == pytest.approx(expected, abs=1e-8)
    coms = [np.zeros(3), np.array([E, 0, -L]), np.array([E, 0, -L])]
    for body, (name, com) in enumerate(zip(("core", "left", "right"), coms, strict=True)):
        frame = mt.Model("any").body(name, mass=1, inertia=(1, 1, 1)).at(tuple(com))
        assert run.position(frame)[-1, ::2] == pytest.approx([plane.r[body].real, plane.r[body].imag], abs=1e-7)
    core, left, right = (run.velocity(name)[-1, 2] for name in ("core", "left", "right"))
    assert [core, core - left, core + right] == pytest.approx(-plane.w, abs=1e-9)


def test_the_hinges_let_go_when_energy_says_so(system):
    """Both pushers alike: one degree of freedom, so that an integral over the angle gives the time."""
    run = system.simulate(t_end=2.5, parameters={"weak": 1.0}, rtol=1e-11)

    def slowness(angle: float) -> float:
        depth = max(0.0, S * np.cos(angle) - REACH * np.sin(angle))
        along = E * np.cos(angle) + L * np.sin(angle)
        swung = 2 * J + 2 * m * (E**2 + L**2) - (2 * m * along) ** 2 / (M + 2 * m)
        return np.sqrt(swung / (2 * K * (S**2 - depth**2)))

    free = np.arctan(S / REACH)  # where the pushers are extended
    pushed = quad(lambda x: slowness(free * x**2) * 2 * free * x, 0, 1, epsabs=1e-12)[0]
    expected = pushed + quad(slowness, free, ANGLE, epsabs=1e-12)[0]
    assert [t for _, t in run.end.events] == pytest.approx([expected, expected], abs=1e-8)
    assert [name for name, _ in run.end.events] == ["release of left hinge", "release of right hinge"]


def test_nothing_touches_and_momentum_and_energy_are_kept(system):
    run = system.simulate(every=0.02)
    assert np.abs(run.system.momentum(run.q, run.v)).max() < 1e-8
    assert run.energy.kinetic[-1] == pytest.approx(1.9 * K * S**2 / 2, rel=1e-9)
    free = run.t > max(t for _, t in run.end.events)
    for name in ("core", "left", "right"):
        assert np.ptp(run.velocity(name)[free, 2]) < 1e-10  # nothing turns them any more
    core, above = (run.position(mt.Model("any").body("core", massless=True).at((0, 0, z))) for z in (0, 1))
    for side in ("left", "right"):
        nose = np.linalg.norm(np.cross(run.position(side) - core, above - core), axis=1)  # from the axis of the core
        assert np.all(np.diff(nose[free]) > 0)
        assert nose[~free] == pytest.approx(1.25, abs=0.01)
        assert nose.min() > 1.1
