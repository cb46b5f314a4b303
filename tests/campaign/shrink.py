"""A disagreeing model made small: parts left out and numbers made plain, as long as it still disagrees."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import momentree as mt
from campaign.compare import Result, compare, pattern
from campaign.generator import Sample, sample
from campaign.oracle import Oracle
from campaign.reading import read

LISTS = ("contacts", "springs", "forces", "torques", "splits", "cuts", "parameters")
ROUNDS = 6


def shrink(seed: int, folder: Path, methods: Sequence[tuple[str, str]] = ()) -> Path:
    """The smallest model that was found for a seed, as a file with its start; prints how to see the difference."""
    drawn = sample(seed)
    compiled = not _kind(drawn, (), False)
    wanted = _kind(drawn, methods, compiled)
    if wanted:
        drawn = smallest(drawn, lambda other: _kind(other, methods, compiled) == wanted)
    path = folder / f"seed-{seed}.toml"
    drawn.model.start_at(guess=drawn.coordinates, t=drawn.t)
    drawn.model.save(path)
    counted = f"{len(drawn.model.bodies)} bodies, {len(drawn.model.joints)} joints"
    print(f"seed {seed}: {counted}, {wanted or 'agrees'}\n  python -m campaign.replay {path}", flush=True)
    return path


def _kind(drawn: Sample, methods: Sequence[tuple[str, str]], compiled: bool) -> str:
    """What disagrees: "acceleration", "mobility", an error ...; "" where nothing does."""
    result = compare(drawn, Result(drawn.seed), methods, compiled)
    if result.verdict != "disagree":
        return ""
    worst = result.worst
    return worst.what.split(" of ")[0].split(" ")[0] if worst and worst.counts else pattern(result.reason)


def smallest(drawn: Sample, wrong: Callable[[Sample], bool]) -> Sample:
    """Try every simplification in turn, and again until none is left that keeps it wrong."""
    for _ in range(ROUNDS):
        smaller = False
        for simpler in _simpler(drawn):
            trial = simpler(drawn)
            if trial is not None and _sound(trial) and wrong(trial):
                drawn, smaller = trial, True
        if not smaller:
            break
    return drawn


def _sound(drawn: Sample) -> bool:
    """It still fits together, and every body is held."""
    try:
        oracle = Oracle(read(drawn.model), drawn.t).place(drawn.coordinates)
        return bool(drawn.model.bodies) and max(oracle.closure_errors().values(), default=0.0) < 1e-6
    except Exception:
        return False


def _simpler(drawn: Sample) -> Iterator[Callable[[Sample], Sample | None]]:
    """Simplifications of a model, by name of what they change, so that they apply to what remains of it."""
    for name in LISTS:
        for k in reversed(range(len(getattr(drawn.model, name)))):
            yield lambda d, name=name, k=k: _without(d, name, k)
    yield _at_rest
    yield _still_ground
    for body in [body.name for body in drawn.model.bodies]:
        yield lambda d, body=body: _without_body(d, body)
    for joint in [c.name for c in drawn.model.joints]:
        yield lambda d, joint=joint: _without_joint(d, joint)
        for option in ("limits", "spring", "damping", "motion"):
            yield lambda d, joint=joint, option=option: _without_option(d, joint, option)
    for body in [body.name for body in drawn.model.bodies]:
        yield lambda d, body=body: _plain_body(d, body)
    yield _rounded


def _copy(drawn: Sample) -> Sample:
    model = copy.deepcopy(drawn.model)
    return dataclasses.replace(drawn, model=model, coordinates=dict(drawn.coordinates))


def _without(drawn: Sample, name: str, k: int) -> Sample | None:
    other = _copy(drawn)
    things = getattr(other.model, name)
    if k >= len(things):
        return None
    del things[k]
    return other


def _at_rest(drawn: Sample) -> Sample | None:
    """At the time zero."""
    return dataclasses.replace(_copy(drawn), t=0.0) if drawn.t else None


def _still_ground(drawn: Sample) -> Sample | None:
    if drawn.model.ground.position is None and drawn.model.ground.rotation is None:
        return None
    other = _copy(drawn)
    other.model.ground.position = other.model.ground.rotation = None
    return other


def _without_body(drawn: Sample, name: str) -> Sample | None:
    """Without the body, its joints and what acts on it."""
    other = _copy(drawn)
    m = other.model
    m.bodies = [body for body in m.bodies if body.name != name]
    gone = [c.name for c in m.joints if name in (c.first.body, c.second.body)]
    for joint in gone:
        _drop_joint(other, joint)
    m.springs = [s for s in m.springs if name not in (s.first.body, s.second.body)]
    m.forces = [f for f in m.forces if f.frame.body != name]
    m.contacts = [c for c in m.contacts if name not in (c.frame.body, c.against.body)]
    return other


def _without_joint(drawn: Sample, name: str) -> Sample | None:
    if name not in [c.name for c in drawn.model.joints]:
        return None
    other = _copy(drawn)
    _drop_joint(other, name)
    return other


def _drop_joint(drawn: Sample, name: str) -> None:
    m = drawn.model
    m.joints = [c for c in m.joints if c.name != name]
    m.torques = [torque for torque in m.torques if torque.joint != name]
    m.splits = [split for split in m.splits if split.joint != name]
    m.cuts = [cut for cut in m.cuts if cut != name]
    drawn.coordinates.pop(name, None)


def _without_option(drawn: Sample, joint: str, option: str) -> Sample | None:
    """Without limits, a spring, damping or a prescribed motion; a freed joint stays where it is."""
    at = next((i for i, c in enumerate(drawn.model.joints) if c.name == joint), None)
    if at is None or getattr(drawn.model.joints[at].type, option) is None:
        return None
    other = _copy(drawn)
    c = other.model.joints[at]
    fields: dict[str, Any] = {option: None}
    fields |= {"stops": None} if option == "limits" else {"rest": None} if option == "spring" else {}
    if option == "motion":
        oracle = Oracle(read(drawn.model), drawn.t).place(drawn.coordinates)
        other.coordinates[joint] = next(jm.q for jm in oracle.joints if jm.joint.name == joint)
    other.model.joints[at] = dataclasses.replace(c, type=dataclasses.replace(c.type, **fields))
    return other


def _plain_body(drawn: Sample, name: str) -> Sample | None:
    """A ball of the same size in its place."""
    at = next((i for i, body in enumerate(drawn.model.bodies) if body.name == name), None)
    if at is None or drawn.model.bodies[at].massless:
        return None
    plain = read(drawn.model).bodies[at]
    radius = float(f"{np.sqrt(np.trace(plain.J) / plain.mass):.1g}")
    shape = mt.sphere(mass=float(f"{plain.mass:.1g}"), radius=radius)
    other = _copy(drawn)
    if other.model.bodies[at].shape == shape:
        return None
    other.model.bodies[at] = type(other.model.bodies[at])(name, shape)
    return other


def _rounded(drawn: Sample) -> Sample | None:
    """Gravity along z."""
    if drawn.model.gravity == (0, 0, -10):
        return None
    other = _copy(drawn)
    other.model.gravity = (0, 0, -10)
    return other
