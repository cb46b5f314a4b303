"""Laws that need no oracle: a model that is changed in a known way accelerates as the change says."""

from __future__ import annotations

import time
import traceback
import warnings
from typing import Any

import numpy as np

import momentree as mt
from campaign.changes import CHANGES, Change
from campaign.compare import ROUND_OFF, SINGULAR, TOLERANCE, Difference, Examination, Result
from campaign.families import FAMILIES
from campaign.geometry import Array
from campaign.oracle import Unanswered
from momentree.equations.articulated import forward_dynamics
from momentree.equations.evaluation import Evaluation

Values = dict[str, Array]


def obey(seed: int, family: str) -> Result:
    """Compare the mechanism of a seed with itself after every change that applies to it."""
    begun, result = time.process_time(), Result(seed)
    drawn = FAMILIES[family].sample(seed)
    result.features, result.bodies = drawn.features, len(drawn.model.bodies)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            _obey(FAMILIES[family].examination(drawn, Result(seed)), result)
        except Unanswered as reason:
            result.verdict, result.reason = "open", str(reason)
        except mt.MomentreeError as error:
            result.verdict, result.reason = "refused", f"{type(error).__name__}: {error}"
        except Exception:
            result.verdict, result.reason = "disagree", traceback.format_exc(limit=-3)
    if any(difference.counts for difference in result.differences):
        result.verdict = "disagree"
    result.seconds = time.process_time() - begun
    return result


def _obey(by: Examination, result: Result) -> None:
    """The oracle gives consistent velocities and the conditioning only."""
    velocities, coordinates = by.consistent_velocities(), by.drawn.coordinates
    conditioning = by.oracle.conditioning
    if by.oracle.least_inertia() < 1e-9 or conditioning > SINGULAR:
        raise Unanswered("its motion is not determined, or hardly")
    kinds = {joint.name: joint.kind for joint in by.plain.joints}
    result.at = "build"
    here, closing = _accelerations(by.drawn.model, coordinates, velocities, by.t)
    largest = max([by.frequency**2, *(by._size(name, x) for name, x in here.items())])
    allowed = TOLERANCE * max(1.0, by.far) + ROUND_OFF * conditioning
    for name, make in CHANGES.items():
        result.at = name
        change = make(by.drawn.model, np.random.default_rng([5, by.drawn.seed]), closing)
        if not change.applies():
            continue
        result.features = (*result.features, f"law: {name}")
        q = {joint: tuple(change.coordinates(kinds[joint], np.array(x))) for joint, x in coordinates.items()}
        u = {joint: change.velocities(kinds[joint], x) for joint, x in velocities.items()}
        there, _ = _accelerations(change.model(), q, u, by.t)
        both = sorted(here.keys() & there)
        off = [by._size(joint, _back(change, kinds[joint], there[joint]) - here[joint]) for joint in both]
        result.differences.append(Difference(f"{name}: acceleration", max(off, default=0.0) / largest, allowed))


def _back(change: Change, kind: str, x: Array) -> Array:
    """Velocities or accelerations as they were before the change."""
    return x / change.velocities(kind, np.ones(len(x)))


def _accelerations(model: mt.Model, coordinates: Any, velocities: Values, t: float) -> tuple[Values, tuple[str, ...]]:
    """Of the joints of the tree, closed at these coordinates; and which joints close loops."""
    system = model.build()
    mechanism = system._numeric
    free = [body for body in mechanism.bodies if body.v.stop > body.v.start]
    known = {body.joint.name: velocities[body.joint.name].tolist() for body in free if body.joint.name in velocities}
    start = system.assemble(guess=coordinates, velocities=known, t=t)
    at = Evaluation(mechanism, start.q.tolist(), t)
    du = np.array(forward_dynamics(at, start.v.tolist(), [0] * mechanism.nv), dtype=float)
    closing = tuple(loop.name for loop in mechanism.loops if loop.joint is not None)
    return {body.joint.name: du[body.v] for body in free}, closing
