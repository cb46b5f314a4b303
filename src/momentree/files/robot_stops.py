"""Stops of joints whose file gives limits and the largest effort of the motor, but no stiffness.

With the effort f of the motor and the inertia I (kg m2, or kg) of all that hangs on the joint, where the file draws it,

    k = max(min(f / d, 1e4), 1e4 I / s^2) ,    c = sqrt(k I) ,    d = 0.05 rad or 5 mm :

the motor presses the joint by d beyond its limit (further only where that takes more than `STOPS`), and impacts take
some hundredths of a second or less. 1 kg or 1 kg m2 gets `STOPS`; everything else rebounds with the same part of its
speed. With `STOPS` a finger of 1e-5 kg m2 would swing at 5000 Hz. They remain where the motor has no limit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from momentree.errors import ModelError
from momentree.files.counterparts import Notes
from momentree.model import Model
from momentree.model.elements import Joint
from momentree.model.frames import GROUND
from momentree.model.joint_type import STOPS
from momentree.model.values import Mistake, Values
from momentree.spatial import RigidInertia, Transform

PER_EFFORT = {"rad": 20.0, "m": 200.0}  # 1/rad, 1/m: a motor presses by 0.05 rad or 5 mm beyond the limit
UNLIMITED = 1e10  # N or N m: so large an effort is not limited
NUMBERS = Values({})  # robot files have no parameters


def choose_stops(model: Model, efforts: Mapping[str, Sequence[float]], notes: Notes) -> None:
    """Give stops to joints with limits that have none; `efforts` of their velocities, by name (N or N m)."""
    inertias = carried_inertias(model)
    for number, joint in enumerate(model.joints):
        of_motor, carried = efforts.get(joint.name, ()), inertias.get(joint.name, ())
        if joint.type.limits is None or joint.type.stops is not None or not any(f < UNLIMITED for f in of_motor):
            continue
        if len(of_motor) == len(carried) == len(joint.type.units) and all(carried):
            each = tuple(map(stop_of, of_motor, carried, joint.type.units))
            type = replace(joint.type, stops=each[0] if len(each) == 1 else each)
            model.joints[number] = replace(joint, type=type)
            notes.add("stops as stiff as inertia and effort ask for", joint.name, quiet=True)


def effort_of(text: str) -> float:
    """The effort of a motor as files write it; a negative one, and what is no number, is without limit."""
    try:
        effort = float(text)
    except ValueError:
        return math.inf
    return effort if effort >= 0 else math.inf


def stop_of(effort: float, inertia: float, unit: str) -> tuple[float, float]:
    """Stiffness and damping of a stop, for a coordinate in "rad" or "m"."""
    if effort >= UNLIMITED:
        return STOPS
    stiffness = max(min(effort * PER_EFFORT[unit], STOPS[0]), STOPS[0] * inertia)
    return stiffness, STOPS[1] / math.sqrt(STOPS[0]) * math.sqrt(stiffness * inertia)


def efforts_of_stops(model: Model) -> dict[str, tuple[float, ...]]:
    """With which efforts `choose_stops` would choose the stops that joints have, by name; they are never smaller."""
    inertias = carried_inertias(model)
    found = {joint.name: _efforts(joint, inertias.get(joint.name, ())) for joint in model.joints}
    return {name: efforts for name, efforts in found.items() if efforts}


def _efforts(joint: Joint, inertias: Sequence[float]) -> tuple[float, ...]:
    stops, units = joint.type.stops, joint.type.units
    pairs = stops if isinstance(stops, tuple) and isinstance(stops[0], tuple) else (stops,)
    if not all(isinstance(pair, tuple) and all(isinstance(x, float) for x in pair) for pair in pairs):
        return ()
    if not len(pairs) == len(inertias) == len(units):
        return ()
    each = list(zip(pairs, inertias, units, strict=True))
    efforts = tuple(k / PER_EFFORT[unit] if k < STOPS[0] else UNLIMITED / 2 for (k, _), _, unit in each)
    again = [stop_of(effort, inertia, unit) for effort, (_, inertia, unit) in zip(efforts, each, strict=True)]
    numbers = [(x, y) for pair, other in zip(pairs, again, strict=True) for x, y in zip(pair, other, strict=True)]
    return efforts if all(math.isclose(x, y, rel_tol=1e-9) for x, y in numbers) else ()


def carried_inertias(model: Model) -> dict[str, tuple[float, ...]]:
    """Of all that hangs on each joint of the tree: its inertia along each velocity, where all joints are at zero.

    Loops are open. None where a number is not plain, or an inertia cannot be: building the model refuses that.
    """
    try:
        return _carried_inertias(model)
    except (Mistake, ModelError):
        return {}


def _carried_inertias(model: Model) -> dict[str, tuple[float, ...]]:
    X_WB, found, carriers = {GROUND: Transform()}, dict[str, tuple[float, ...]](), list[tuple[Joint, str, str]]()
    waiting, before = list(model.joints), math.inf
    while len(waiting) < before:
        before, left = len(waiting), []
        for joint in waiting:
            first, second = joint.first, joint.second
            parent, child = (first, second) if first.body in X_WB else (second, first)
            if parent.body not in X_WB:
                left.append(joint)
            elif child.body not in X_WB:
                X_WB[child.body] = X_WB[parent.body] @ parent.placement(NUMBERS) @ child.placement(NUMBERS).inverse()
                carriers.append((joint, parent.body, child.body))
        waiting = left
    M = {name: RigidInertia(0.0, X.offset * 0.0, (0.0,) * 6) for name, X in X_WB.items()}
    for body in model.bodies:
        if body.name in M:
            M[body.name] = X_WB[body.name].inertia_to_parent(body.rigid_inertia(NUMBERS, "warn"))
    for joint, carrier, carried in reversed(carriers):
        type, X_WM = joint.type.resolved(NUMBERS), X_WB[joint.second.body] @ joint.second.placement(NUMBERS)
        columns = [X_WM.motion_to_parent(a) for a in type.motion_subspace(type.reference()).columns]
        found[joint.name] = tuple(max(float(a @ (M[carried] @ a)), 0.0) for a in columns)
        M[carrier] = M[carrier] + M[carried]
    return found
