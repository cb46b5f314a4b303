"""What drives and hinders a random mechanism: springs, dampers, stops, laws, forces, contacts, prescribed motion."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from campaign.draft import GRAVITY, Draft, Drawn
from campaign.geometry import ANGLES, FREEDOM

BALLS = ("Spherical", "Free")  # their orientation has no single angle


def drive(draft: Draft) -> float:
    """Add what acts on it, and say the time at which it is looked at."""
    t = draft.number(0, 2) / draft.frequency if draft.chance(0.5) else 0.0
    for joint in draft.joints:
        for p, put in ((0.10, sprung), (0.10, damped), (0.06, stopped)):
            if draft.chance(p) and not joint.prescribed and joint.kind != "Fixed":
                put(draft, joint)
        if draft.chance(0.12) and joint.kind != "Fixed":
            torque(draft, joint)
    if draft.chance(0.2):
        prescribe(draft, t)
    for p, put in OTHERS:
        while draft.chance(p):
            put(draft)
    if draft.chance(0.08):
        shake(draft)
    return t


def _with(draft: Draft, joint: Drawn, **options: Any) -> None:
    """Give a joint of the model more options."""
    at = next(i for i, c in enumerate(draft.model.joints) if c.name == joint.name)
    c = draft.model.joints[at]
    draft.model.joints[at] = dataclasses.replace(c, type=dataclasses.replace(c.type, **options))


def _strengths(draft: Draft, joint: Drawn) -> np.ndarray:
    """For each velocity of a joint the force (N, N m) that is much to it."""
    mass = max([draft.masses.get(end, 0.0) for end in joint.ends]) or draft.mass
    n = FREEDOM[joint.kind]
    turns = [True] * n if joint.kind == "Screw" else [i in ANGLES.get(joint.kind, ()) for i in range(n)]
    if joint.kind in BALLS:
        turns = [False] * (n - 3) + [True] * 3
    return mass * GRAVITY * np.where(turns, draft.length, 1.0)


def _lengths(draft: Draft, joint: Drawn) -> np.ndarray:
    n = FREEDOM[joint.kind]
    if joint.kind in BALLS:
        slides = [True] * (n - 3) + [False] * 3
    elif joint.kind == "Screw":
        slides = [False]
    else:
        slides = [i not in ANGLES.get(joint.kind, ()) for i in range(n)]
    return np.where(slides, draft.length, 1.0)


def _one(values: Any) -> Any:
    """A single value by itself."""
    values = tuple(float(x) if not isinstance(x, (str, tuple)) else x for x in values)
    return values[0] if len(values) == 1 else values


def sprung(draft: Draft, joint: Drawn) -> None:
    if joint.kind in BALLS:
        return
    lengths = _lengths(draft, joint)
    k = _strengths(draft, joint) / lengths * draft.random.uniform(0.1, 3, len(lengths))
    rest = draft.random.uniform(-1, 1, len(lengths)) * lengths
    _with(draft, joint, spring=_one(k), **({"rest": _one(rest)} if draft.chance(0.7) else {}))
    draft.features.add("joint spring")


def damped(draft: Draft, joint: Drawn) -> None:
    c = _strengths(draft, joint) / (_lengths(draft, joint) * draft.frequency)
    _with(draft, joint, damping=_one(c * draft.random.uniform(0.01, 0.5, len(c))))
    draft.features.add("damping")


def stopped(draft: Draft, joint: Drawn) -> None:
    """Limits that the joint is inside of, or a little beyond."""
    if joint.kind in BALLS:
        return
    lengths = _lengths(draft, joint)
    k = _strengths(draft, joint) / lengths * 10
    limits, stops = [], []
    for i, q in enumerate(joint.q):
        beyond = draft.number(-0.5, 0.05) * lengths[i]  # how far it is past its upper limit
        high = q - beyond
        limits.append((float(high - 2 * lengths[i]) if draft.chance(0.8) else float("-inf"), float(high)))
        stops.append((float(k[i]), float(0.1 * k[i] / draft.frequency)))
    single = len(limits) == 1
    _with(draft, joint, limits=limits[0] if single else tuple(limits), stops=stops[0] if single else tuple(stops))
    draft.features.add("stop")


def torque(draft: Draft, joint: Drawn) -> None:
    """A law along each velocity: of time, of the joint itself, of another joint."""
    if joint.prescribed:
        return
    strengths, lengths = _strengths(draft, joint).tolist(), _lengths(draft, joint).tolist()
    c = next(c for c in draft.model.joints if c.name == joint.name)
    names = [str(reference) for reference in c.velocities]
    laws: list[Any] = []
    for i in range(len(strengths)):
        s = strengths[i] * draft.number(-1, 1)
        form = int(draft.random.integers(4))
        if form == 0:
            laws.append(f"{s!r}*sin({draft.frequency!r}*t + {draft.number(0, 6)!r})")
        elif form == 1:
            laws.append(f"{s!r} - {abs(s) / (lengths[i] * draft.frequency)!r}*{names[i]}")
        elif form == 2:
            laws.append(f"{s!r}*tanh({names[i]}/{lengths[i] * draft.frequency!r})")
        else:
            laws.append(_coupled(draft, s))
    draft.model.torque(joint.name, _one(laws))
    draft.features.add("torque law")


def _coupled(draft: Draft, s: float) -> str:
    """A law that follows another joint, one of a loop perhaps."""
    other = draft.pick(draft.joints)
    c = next(c for c in draft.model.joints if c.name == other.name)
    if other.kind in (*BALLS, "Fixed") or other.prescribed:
        return repr(s)
    i = int(draft.random.integers(FREEDOM[other.kind]))
    length = float(_lengths(draft, other)[i])
    draft.features.add("coupled law")
    return f"{s!r}*({c.coordinates[i]}/{length!r} - 0.3*{c.velocities[i]}/{length * draft.frequency!r})"


def prescribe(draft: Draft, t: float) -> None:
    """Prescribe a joint by a law of time that agrees with its position: in loops only if degrees of freedom remain."""
    bound = {torque.joint for torque in draft.model.torques}
    hindered = [c.name for c in draft.model.joints if c.type.spring or c.type.damping or c.type.limits]
    free = [
        joint
        for joint in draft.joints
        if joint.name not in bound
        and joint.name not in hindered
        and joint.kind != "Fixed"
        and (not joint.loop or FREEDOM[joint.kind] == 1)
    ]
    named = " ".join(str(law) for torque in draft.model.torques for law in np.atleast_1d(np.array(torque.law, object)))
    free = [joint for joint in free if f"{joint.name}" not in named]
    if not free:
        return
    joint = draft.pick(free)
    if joint.kind in BALLS:
        positions = [(x, draft.length) for x in joint.q[:-4]]
        parts = positions + [(x, 1.0) for x in draft.random.uniform(-1, 1, 3)]
        if joint.loop or _carries(draft, joint):
            return
    else:
        parts = list(zip(joint.q, _lengths(draft, joint), strict=True))
    laws = []
    for value, length in parts:
        a, w, phase = (
            0.3 * float(length) * draft.number(-1, 1),
            draft.frequency * draft.number(0.3, 1.5),
            draft.number(0, 6),
        )
        laws.append(f"{float(value - a * np.sin(w * t + phase))!r} + {a!r}*sin({w!r}*t + {phase!r})")
    _with(draft, joint, motion=_one(laws))
    joint.prescribed = True
    draft.features.add("prescribed")
    if joint.loop:
        draft.features.add("prescribed in a loop")


def _carries(draft: Draft, joint: Drawn) -> bool:
    """Whether other joints would not fit if a ball stood elsewhere: it then has to stay where it is."""
    return any(other.loop for other in draft.joints)


# --- between and on bodies ---


def spring(draft: Draft) -> None:
    if not draft.bodies:
        return
    a, b = draft.random.choice(["ground", *draft.bodies], 2, replace=False)
    mass = max(draft.masses.get(str(end), 0.0) for end in (a, b)) or draft.mass
    k = mass * GRAVITY / draft.length * draft.number(0.1, 3)
    damping = k / draft.frequency * draft.number(0, 0.2) if draft.chance(0.5) else 0.0
    rest = draft.length * draft.number(0.1, 1.5) if draft.chance(0.7) else 0.0
    ends = draft.frame(str(a)), draft.frame(str(b))
    draft.model.spring(*ends, k, damping, rest, tension_only=draft.chance(0.2))
    draft.features.add("spring")


def force(draft: Draft) -> None:
    heavy = [name for name in draft.bodies if draft.masses[name] > 0]
    body = draft.pick(heavy)
    strength = draft.masses[body] * GRAVITY
    laws: list[Any] = [draft.number(-1, 1) * strength for _ in range(3)]
    laws[0] = f"{laws[0]!r}*cos({draft.frequency!r}*t)"
    moments = [draft.number(-1, 1) * strength * draft.length * 0.3 for _ in range(3)]
    laws[1] = _coupled(draft, laws[1]) if draft.chance(0.3) else laws[1]
    axes = draft.pick(("ground", "body"))
    draft.model.force(draft.frame(body), tuple(laws), moment=tuple(moments), axes=axes)
    draft.features.add("force")


def contact(draft: Draft) -> None:
    """A ball, disc or point that is in or just outside of a plane or ball of another body."""
    heavy = [name for name in draft.bodies if draft.masses[name] > 0]
    body = draft.pick(heavy)
    other = draft.pick(["ground", *[name for name in draft.bodies if name != body]])
    L = draft.length
    radius = 0.0 if draft.chance(0.2) else L * draft.number(0.05, 0.3)
    ball = L * draft.number(0.1, 0.4) if draft.chance(0.3) else None
    P = draft.placements[body][1] + draft.point(0.5)
    depth = L * draft.number(-0.01, 0.02)
    up = draft.direction()
    R = _upright(draft, up)
    disc = None
    if radius > 0 and draft.chance(0.3):
        disc = tuple(map(float, draft.direction()))
    at = draft._frame(body, P, draft.rotation())
    centre = P - up * (radius - depth + (ball or 0.0))
    linear = draft.chance(0.6)
    k = draft.masses[body] * GRAVITY / L * 50
    numbers: dict[str, Any] = {"radius": radius, "ball": ball, "disc": disc, "stiffness": k}
    if linear:
        numbers |= {"damping": 0.1 * k / draft.frequency, "ramp": L * 1e-3}
    else:
        numbers |= {"law": "hunt-crossley", "stiffness": k / L**0.5, "damping": 0.3 / (L * draft.frequency)}
    if draft.chance(0.6):
        numbers |= {"friction": draft.number(0.1, 1.0), "slip": 0.05 * L * draft.frequency}
    draft.model.contact(at, draft._frame(other, centre, R), **numbers)
    draft.features.add("contact")


def _upright(draft: Draft, up: np.ndarray) -> np.ndarray:
    """Axes whose third is this direction."""
    R = draft.rotation()
    x = R[:, 0] - up * (up @ R[:, 0])
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(up, x), up])


def parameter(draft: Draft) -> None:
    """Numbers by name: gravity by an expression of parameters."""
    name = f"p{len(draft.model.parameters)}"
    draft.model.parameter(name, draft.number(0.5, 2))
    g = draft.model.gravity
    draft.model.gravity = (f"{g[0]!r}*{name}", *g[1:]) if not isinstance(g[0], str) else (f"{g[0]}*{name}", *g[1:])
    draft.features.add("parameter")


def shake(draft: Draft) -> None:
    """A ground that moves."""
    L, w = draft.length, draft.frequency
    position = [f"{0.2 * L * draft.number(-1, 1)!r}*sin({w * draft.number(0.3, 1.5)!r}*t)" for _ in range(3)]
    rotation = [f"{draft.number(-1, 1)!r}*sin({w * draft.number(0.3, 1)!r}*t + {draft.number(0, 6)!r})" for _ in "xyz"]
    if draft.chance(0.3):
        rotation = [0, 0, f"{0.5 * w!r}*t"]
    draft.model.ground.moves(tuple(position), tuple(rotation) if draft.chance(0.7) else (0, 0, 0))
    draft.features.add("moving ground")


OTHERS: tuple[tuple[float, Callable[[Draft], None]], ...] = (  # each again with this chance
    (0.15, spring),
    (0.15, force),
    (0.12, contact),
    (0.06, parameter),
)
