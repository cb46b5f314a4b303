"""Prescribed motions beyond reach: which loop cannot follow, by how much, and which joint asks for it."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from momentree.assembly.assembly_search import AssemblySearch
from momentree.assembly.configuration import Array
from momentree.assembly.state import State
from momentree.errors import MomentreeError
from momentree.model.values import TIME
from momentree.structure.mechanism import Laws, Mechanism, TreeBody

FAR = 0.5  # rad, or by the length of the mechanism: a closed configuration farther away is on another branch
PARTS = tuple(10.0**k for k in range(-7, -1))  # of the duration: how far ahead loops are tried


def beyond_reach(mechanism: Mechanism, q: Array, t: float, duration: float, ahead: Iterable[float] = ()) -> str:
    """Which loop cannot be closed a little later, by how much, and which motion asks for it; "" if all close.

    It is tried by parts of the duration (s), and `ahead` by other times.
    """
    if not mechanism.loops or not _moved(mechanism):
        return ""
    times = sorted({t + part * duration for part in PARTS} | {t + part for part in ahead})
    misses = [_miss(mechanism, q, time) for time in times]
    first = next((i for i, (_, short) in enumerate(misses) if short), None)
    if first is None:
        return ""
    later = range(first, len(misses))
    worst = max((i for i in later if all(short for _, short in misses[first : i + 1])), default=first)
    loop, short = misses[worst]
    motions = _asking(mechanism, loop)
    return (
        f"at t = {t:.9g} s loops reach the end of what they can follow: {short} at t = {times[worst]:.9g} s. "
        f"{motions} more than the linkage can reach: shorten {'its' if ' asks' in motions else 'their'} range, end the "
        "simulation before, or drive the joint by a torque."
    )


def _miss(mechanism: Mechanism, q: Array, t: float) -> tuple[str, str]:
    """The loop that does not close at some time from here on, and how near it comes; empty if all close."""
    if not _finite(mechanism, t):
        return "", ""
    search = AssemblySearch(mechanism, {}, State(mechanism, q, np.zeros(mechanism.nv), t), t)
    end = search.closing.close(search.guess)
    away = search.distance(end.q, q)
    if end.misfit <= 1:
        return "", "" if away <= FAR else f"they close only {away:.2g} rad away"
    culprit, short = search.widest_opening(end.at)
    return (culprit[1] if culprit else ""), short


def _asking(mechanism: Mechanism, loop: str) -> str:
    """The prescribed motions around a loop, or all, with their laws."""
    around = _around(mechanism, loop)
    moved = [(body.joint.name, body.laws) for body in mechanism.bodies if body.laws and _changes(body.laws)]
    motions = {name: f"joint '{name}', {', '.join(map(str, laws[0]))}," for name, laws in moved}
    names = [text for name, text in motions.items() if name in around] or [*motions.values()]
    names += ["the ground"] if mechanism.ground is not None and not names else []
    ask = "The prescribed motion of" if len(names) == 1 else "The prescribed motions of"
    return f"{ask} {' and '.join(names)} {'asks for' if len(names) == 1 else 'ask for'}"


def _around(mechanism: Mechanism, name: str) -> set[str]:
    """The joints of the tree around a loop."""
    loop = next((loop for loop in mechanism.loops if loop.name == name), None)
    if loop is None:
        return set()
    first, second, _ = mechanism.paths(loop)
    bodies: list[TreeBody] = [mechanism.bodies[number - 1] for number in (*first, *second)]
    return {body.joint.name for body in bodies}


def _finite(mechanism: Mechanism, t: float) -> bool:
    """Whether all prescribed motions have finite values at a time."""
    try:
        return all(math.isfinite(float(law.evaluate({TIME: t}))) for laws in _laws(mechanism) for law in laws[0])
    except (ArithmeticError, ValueError, MomentreeError):
        return False


def _moved(mechanism: Mechanism) -> bool:
    return any(_changes(laws) for laws in _laws(mechanism))


def _laws(mechanism: Mechanism) -> list[Laws]:
    laws = [body.laws for body in mechanism.bodies if body.laws]
    return [*laws, *([mechanism.ground] if mechanism.ground else [])]


def _changes(laws: Laws) -> bool:
    """Whether a prescribed motion is one, and does not stay where it is."""
    return any(str(velocity) not in ("0", "0.0") for velocity in laws[1])
