"""Models written as robot files and read again: random robots, and one system in coordinates of another, by names.

    q_theirs = map of q,   v_theirs = G v,   M = G' M_theirs G,   bias = G' bias_theirs

Coordinates of joints that a format takes apart have the name of joint and coordinate, "hull_x".
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import momentree as mt
from mechanisms import random_configuration
from momentree.files.counterparts import FileNotes
from momentree.model.expressions.expression import Reference

SCALES = ((1.0, 1.0), (1e-3, 1e-3), (1e3, 1e5))  # m and kg: robots, watches, cranes


def random_robot(random: np.random.Generator, kinds: list[str], length: float = 1.0, mass: float = 1.0) -> mt.Model:
    """A tree of joints in general frames, some of them reversed; bodies with general inertias, of this size."""
    m = mt.Model("random robot")
    bodies: list[Any] = [m.ground]
    for i, kind in enumerate(kinds):
        com, L = tuple(random.standard_normal(3) * length), random.standard_normal((3, 3)) * length
        K = mass * (L @ L.T)  # second moments of the mass
        J = np.trace(K) * np.eye(3) - K
        body = m.body(f"b{i}", mass=mass * random.uniform(0.5, 2), com=com, inertia=(J + J.T) / 2)
        parent = bodies[random.integers(len(bodies))] if kind != "Free" else m.ground
        joint = getattr(mt, kind).random(random)
        if kind == "Screw":
            joint = mt.Screw(joint.axis, joint.pitch * length)
        first, second = (general_frame(random, end, length) for end in (parent, body))
        if kind == "Free":
            first = m.ground
        elif random.uniform() < 0.3 and kind != "Spherical":
            first, second = second, first
        m.joint(f"j{i}", joint, first, second)
        bodies.append(body)
    return m


def general_frame(random: np.random.Generator, body: Any, length: float) -> Any:
    turned = Rotation.random(random_state=int(random.integers(2**31))).as_quat()
    return body.at(tuple(random.standard_normal(3) * length), tuple(turned))


def trip(model: mt.Model, path: Path, **how: Any) -> mt.Model:
    """The model that is read from the file into which it was written."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reading = {key: how.pop(key) for key in ("floating", "inertia_check") if key in how}
        model.save(path, **how)
        return mt.load(path, **reading)


def names_of(reference: Reference, floating: set[str]) -> Iterator[Reference]:
    """What a coordinate or velocity may be called in the other model."""
    yield reference
    if reference.component:
        yield Reference(f"{reference.name}_{reference.component}", "", reference.velocity)
    if reference.name in floating:  # as SDF has it
        yield Reference("root", reference.component, reference.velocity)


def layout(ours: mt.System, theirs: mt.System) -> tuple[list[int], np.ndarray]:
    """The place of each coordinate of theirs in ours, and G; the slides of screws follow their turns."""
    mine, other = ours.mechanism, theirs.mechanism
    floating = {body.joint.name for body in mine.bodies if body.joint.type.kind == "Free"}
    q_at = {name: i for i, r in enumerate(mine.coordinates) for name in names_of(r, floating)}
    v_at = {name: i for i, r in enumerate(mine.velocities) for name in names_of(r, floating)}
    slides = {body.joint.name: body.joint.type for body in mine.bodies if body.joint.type.kind == "Screw"}
    place, G = [], np.zeros((theirs.nv, ours.nv))
    for r in other.coordinates:
        place.append(q_at.get(r, -1) if r in q_at else q_at[Reference(r.name.removesuffix("_slide"))])
    for i, r in enumerate(other.velocities):
        if r in v_at:
            G[i, v_at[r]] = 1.0
        else:
            screw = r.name.removesuffix("_slide")
            G[i, v_at[Reference(screw, "", True)]] = slides[screw].advance
    return place, G


def random_state(random: np.random.Generator, system: mt.System, length: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and velocities, slides as long as the bodies of the robot."""
    q, v = random_configuration(random, system), random.standard_normal(system.nv)
    units = [unit for body in system.mechanism.bodies for unit in body.joint.type.units]
    of_velocities = [unit for body in system.mechanism.bodies for unit in body.joint.type.velocity_units]
    q *= [length if unit == "m" else 1.0 for unit in units]
    v *= [length if unit == "m" else 1.0 for unit in of_velocities]
    return q, v


def differences(
    random: np.random.Generator, ours: mt.System, theirs: mt.System, length: float = 1.0
) -> tuple[float, float]:
    """Relative differences of the mass matrices and of the bias forces at a random state."""
    place, G = layout(ours, theirs)
    q, v = random_state(random, ours, length)
    q_theirs = q[place]
    for i, r in enumerate(theirs.mechanism.coordinates):
        if r.name.endswith("_slide") and r not in ours.mechanism.coordinates and not r.component:
            row = G[[str(s).rstrip("'") for s in theirs.mechanism.velocities].index(str(r))]
            if not np.isin(row, (0.0, 1.0)).all():
                q_theirs[i] *= row[np.flatnonzero(row)[0]]
    M = G.T @ theirs.mass_matrix(q_theirs) @ G
    bias = G.T @ theirs.bias(q_theirs, G @ v)
    return relative(ours.mass_matrix(q), M), relative(ours.bias(q, v), bias)


def relative(one: np.ndarray, other: np.ndarray) -> float:
    """The largest difference, in units of the rows and columns."""
    if one.ndim == 2:
        scale = np.sqrt(np.outer(one.diagonal(), one.diagonal()))
        return float(np.abs((one - other) / scale).max())
    return float(np.abs(one - other).max() / np.abs(one).max())


def body(m: mt.Model, name: str) -> Any:
    """A body whose inertia has a product."""
    return m.body(name, mass=1.0, com=(0.1, 0, 0), inertia=(1, 1.1, 1.2, 0.1, 0, 0))


def warned(model: mt.Model, path: Path, **how: Any) -> str:
    """What is said when a model is written."""
    with pytest.warns(FileNotes) as notes:
        model.save(path, **how)
    return str(notes[0].message)
