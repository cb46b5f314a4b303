"""The models that are measured, and random states of them: the same numbers in every run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import momentree as mt

Array = NDArray[np.float64]
CHAINS = (1, 2, 3, 5, 7, 10, 20, 30, 50, 100, 200, 300, 500, 1000)

# of each link of the aligned arm: axis, offset from the last hinge (m), mass (kg), height of its centre (m), inertia
_ARM: tuple[tuple[str, tuple[float, float, float], float, float, tuple[float, float, float]], ...] = (
    ("z", (0.0, 0.0, 0.16), 4.0, 0.10, (0.028, 0.026, 0.012)),
    ("y", (0.0, 0.0, 0.20), 4.1, 0.08, (0.030, 0.027, 0.011)),
    ("z", (0.0, 0.0, 0.21), 3.2, 0.12, (0.021, 0.020, 0.008)),
    ("y", (0.08, 0.0, 0.21), 2.8, 0.07, (0.017, 0.016, 0.006)),
    ("z", (-0.08, 0.0, 0.19), 2.0, 0.11, (0.011, 0.010, 0.004)),
    ("y", (0.0, 0.0, 0.21), 1.7, 0.03, (0.005, 0.006, 0.003)),
    ("z", (0.09, 0.0, 0.08), 0.5, 0.04, (0.001, 0.0012, 0.0009)),
)


def aligned_arm() -> mt.Model:
    """Seven hinges about z and y in turn, frames parallel, centres on the z axes: like the arms one can buy."""
    m = mt.Model("aligned arm")
    body: Any = m.ground
    for i, (axis, offset, mass, height, inertia) in enumerate(_ARM):
        link = m.body(f"link{i}", mass=mass, com=(0, 0, height), inertia=inertia)
        m.joint(f"hinge{i}", mt.Revolute(axis), body.at(offset), link)
        body = link
    return m


def random_chain(n: int) -> mt.Model:
    """Hinges about z of frames that are turned and offset at random, full inertias."""
    random = np.random.default_rng(n)
    m = mt.Model(f"chain of {n}")
    body: Any = m.ground
    for i in range(n):
        frame = body.at(random.uniform(-0.1, 0.1, 3), random_rotation(random).tolist())
        body = random_body(random, m, f"link{i}")
        m.joint(f"hinge{i}", mt.Revolute("z"), frame, body)
    return m


def humanoid() -> mt.Model:
    """35 dof: a free pelvis, two legs of 6 hinges, a waist of 1, two arms of 7 and a neck of 2; full inertias."""
    random = np.random.default_rng(35)
    m = mt.Model("humanoid")
    pelvis = random_body(random, m, "pelvis", 8.0)
    m.joint("flight", mt.Free(), m.ground, pelvis)
    for side, y in (("left", 0.1), ("right", -0.1)):
        _limb(random, m, f"{side} leg", pelvis.at((0, y, -0.1)), "zxyyyx", -0.2)
    chest = _limb(random, m, "waist", pelvis.at((0, 0, 0.2)), "z", 0.2)
    for side, y in (("left", 0.2), ("right", -0.2)):
        _limb(random, m, f"{side} arm", chest.at((0, y, 0.3)), "yxzyzyx", -0.15)
    _limb(random, m, "neck", chest.at((0, 0, 0.4)), "zy", 0.1)
    return m


def _limb(random: np.random.Generator, m: mt.Model, name: str, start: Any, axes: str, length: float) -> Any:
    """A chain of hinges from a frame on, links along z; its last body."""
    body: Any = None
    for i, axis in enumerate(axes):
        frame = start if body is None else body.at((0, 0, length))
        body = random_body(random, m, f"{name} {i}")
        m.joint(f"{name} hinge {i}", mt.Revolute(axis), frame, body)
    return body


def random_body(random: np.random.Generator, m: mt.Model, name: str, mass: float | None = None) -> Any:
    """A body with a full inertia and a centre of mass anywhere."""
    R = random_rotation(random)
    J = R @ np.diag(random.uniform(0.1, 0.19, 3)) @ R.T  # no moment exceeds the sum of the others
    mass = random.uniform(0.5, 2) if mass is None else mass
    return m.body(name, mass=mass, com=random.uniform(-0.1, 0.1, 3), inertia=(J + J.T) / 2)


def random_rotation(random: np.random.Generator) -> Array:
    """A rotation matrix, uniform over all."""
    x, y, z, w = _unit(random.standard_normal(4))
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * K + 2 * K @ K


def _unit(x: Array) -> Array:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


MODELS: dict[str, Callable[[], mt.Model]] = {
    "aligned": aligned_arm,
    "random": lambda: random_chain(7),
    "humanoid": humanoid,
    **{f"chain-{n}": (lambda n=n: random_chain(n)) for n in CHAINS},
}
TITLES = {
    "aligned": "7-dof arm, aligned axes",
    "random": "7R, random geometry",
    "humanoid": "35-dof humanoid, random inertias",
    **{f"chain-{n}": f"chain of {n}" for n in CHAINS},
}


class States(NamedTuple):
    """Rows of coordinates, velocities, and generalized forces."""

    q: Array
    v: Array
    tau: Array

    def rows(self, count: int) -> list[tuple[Array, Array, Array]]:
        """The first of them, each as arrays of its own."""
        return [tuple(array[i].copy() for array in self) for i in range(count)]


def random_states(system: mt.System, rows: int) -> States:
    """Angles all around, quaternions of length 1."""
    random = np.random.default_rng(1)
    q = random.uniform(-np.pi, np.pi, (rows, system.nq))
    for body in system.mechanism.bodies:
        if body.joint.type.kind == "Free":
            turned = slice(body.q.start + 3, body.q.stop)
            q[:, turned] = _unit(random.standard_normal((rows, 4)))
    v, tau = random.standard_normal((2, rows, system.nv))
    return States(q, np.ascontiguousarray(v), np.ascontiguousarray(tau))
