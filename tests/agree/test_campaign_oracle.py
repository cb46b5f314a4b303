"""The oracle of the campaign is right by itself: closed forms, Pinocchio, mobility known from books, energy kept."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import expm

import momentree as mt
from agree.peers import DIRECTIONS, Pinocchio, agree, sample
from campaign.geometry import FREEDOM, allowed_motion, fitted, placed, skew, turn, unit
from campaign.laws import jet
from campaign.nearby import freedom_nearby
from campaign.oracle import Oracle
from campaign.reading import read
from mechanisms import bennett, four_bar, hexapod

G = 9.81


def door(hinges: int) -> mt.Model:
    """A plate of 2 kg that hangs from one or two hinges about the same horizontal axis, in frames anywhere."""
    m = mt.Model("door")
    plate = m.body("plate", mass=2.0, com=(0, 0, -0.4), inertia=(0.3, 0.3, 0.3))
    for i, x in enumerate((0.0, 0.7)[:hinges]):
        R = turn(unit((1, 2, 3 + i)), 0.7)
        frames = ((end.at((x, 0, 0), R)) for end in (m.ground, plate))
        m.joint(f"hinge{i}", mt.Revolute(tuple(R.T @ (1.0, 0.0, 0.0))), *frames)
    return m


@pytest.mark.parametrize("hinges", [1, 2])
def test_a_door_swings_as_a_pendulum_and_its_hinges_bear_its_weight(hinges):
    angle, w, m, l, J = 0.6, 1.3, 2.0, 0.4, 0.3
    o = Oracle(read(door(hinges)), 0.0).place({"hinge0": angle}, {"hinge0": w})
    answer = o.answer()
    du = -m * G * l * math.sin(angle) / (J + m * l * l)
    assert answer.du["hinge0"] == pytest.approx([du], rel=1e-13)
    centre = np.array([0, l * math.sin(angle), -l * math.cos(angle)])
    along = np.array([0, math.cos(angle), math.sin(angle)])
    borne = m * (l * du * along - w * w * centre + [0, 0, G])
    total = sum(answer.reactions.values())[:3]
    assert total == pytest.approx(borne, abs=1e-11)
    determined = [answer.known[f"hinge{i}"].shape[1] for i in range(hinges)]
    assert determined == ([6] if hinges == 1 else [1] * 2)  # the moment about their axis alone


def test_a_drawer_on_two_parallel_rails_slides_as_on_one():
    n = unit((1, 2, 3))
    m = mt.Model("drawer")
    box = m.body("box", mt.box(mass=3.0, size=(0.4, 0.5, 0.1)))
    for i, p in enumerate(((0.0, 0.2, 0.0), (0.3, -0.2, 0.1))):
        m.joint(f"rail{i}", mt.Prismatic((1, 2, 3)), m.ground.at(p), box.at(p))
    o = Oracle(read(m), 0.0).place({"rail0": 0.2})
    assert o.answer().du["rail1"] == pytest.approx([-G * n[2]], rel=1e-13)
    assert o.freedom == 1


@pytest.mark.parametrize(("model", "freedom"), [(bennett, 1), (four_bar, 1), (hexapod, 6), (lambda: door(2), 1)])
def test_mobility_known_from_books(model, freedom):
    system = model().build()
    state = system.assemble(guess={"R2": 1.0} if model is bennett else {})
    coordinates = {body.joint.name: state.q[body.q] for body in system.mechanism.bodies}
    o = Oracle(read(model()), 0.0).place(coordinates)
    assert max(o.closure_errors().values()) < 1e-12
    assert freedom_nearby(o, np.random.default_rng(1)) == freedom


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_trees_accelerate_as_in_pinocchio(direction, seed):
    pytest.importorskip("pinocchio", reason="Pinocchio is not installed: pip install 'momentree[test]'")
    at = sample(direction, seed)
    theirs = Pinocchio(at.system.mechanism).forward_dynamics(at.q, at.v, at.tau)
    bodies = at.system.mechanism.bodies
    q, v, tau = (
        {body.joint.name: x[getattr(body, part)] for body in bodies}
        for part, x in (("q", at.q), ("v", at.v), ("v", at.tau))
    )
    answer = Oracle(read(at.model), 0.0).place(q, v).answer(tau)
    assert agree(np.concatenate([answer.du[body.joint.name] for body in bodies]), theirs, 1e-10)


@pytest.mark.parametrize("kind", FREEDOM)
def test_the_motion_subspace_is_the_derivative_of_the_placement(kind):
    random = np.random.default_rng(7)
    axes = [unit(random.standard_normal(3)) for _ in range({"Universal": 2, "PinSlot": 2}.get(kind, 1))]
    u = random.standard_normal(FREEDOM[kind])

    def moved(h):
        """M in F after a time h, its velocities constant."""
        if kind not in ("Spherical", "Free"):
            return placed(kind, axes, 0.3, q + u * h)
        x, R = placed(kind, axes, 0.3, q)
        W = np.zeros((4, 4))
        W[:3, :3] = skew(u[-3:])
        W[:3, 3] = u[:3] if kind == "Free" else 0
        E = expm(W * h)
        return x + R @ E[:3, 3], R @ E[:3, :3]

    q = random.uniform(-0.5, 0.5, {"Spherical": 4, "Free": 7}.get(kind, FREEDOM[kind]))
    x, R = placed(kind, axes, 0.3, q)
    S, rest = allowed_motion(kind, axes, 0.3, R, q, u)
    h = 1e-3
    (x1, R1), (x0, R0) = moved(h), moved(-h)
    turning = (R1 - R0) @ R.T / (2 * h)
    seen = np.array([*(x1 - x0) / (2 * h), turning[2, 1], turning[0, 2], turning[1, 0]])
    assert S @ u == pytest.approx(seen, abs=1e-5)
    fit = placed(kind, axes, 0.3, fitted(kind, axes, 0.3, x, R))
    assert np.abs(fit[0] - x).max() < 1e-14
    assert np.abs(fit[1] - R).max() < 1e-14
    if kind in ("Universal", "Free"):
        assert np.abs(rest).max() > 0.01
        accelerated = (x1 - 2 * x + x0) / h**2
        assert rest[:3] == pytest.approx(accelerated, abs=1e-4)


def test_laws_know_their_derivatives():
    law, t = "2*sin(3*t + 1)/(1 + t^2) - exp(-t)*tanh(t)", 0.4
    x = [jet(law, {}, t + h).a for h in (-1e-4, 0, 1e-4)]
    found = jet(law, {}, t)
    assert found.b == pytest.approx((x[2] - x[0]) / 2e-4, rel=1e-6)
    assert found.c == pytest.approx((x[2] - 2 * x[1] + x[0]) / 1e-8, rel=1e-5)
