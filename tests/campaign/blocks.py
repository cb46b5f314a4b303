"""What mechanisms are drawn from: limbs, general loops, doubled joints, classical overconstrained linkages."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from campaign.draft import Draft
from campaign.geometry import FREEDOM, Array, cross, turn, unit

KINDS = {  # how often
    "Revolute": 6,
    "Prismatic": 3,
    "Screw": 2,
    "Cylindrical": 3,
    "PinSlot": 2,
    "Universal": 3,
    "Spherical": 3,
    "Planar": 2,
    "Free": 1,
    "Fixed": 1,
}


def kind_of(draft: Draft, without: tuple[str, ...] = ()) -> str:
    names = [kind for kind in KINDS if kind not in without]
    weights = np.array([KINDS[name] for name in names], dtype=float)
    return str(draft.random.choice(names, p=weights / weights.sum()))


def limb(draft: Draft) -> None:
    """One more body on the tree."""
    base = draft.pick(["ground", *draft.bodies])
    kind = kind_of(draft)
    body = draft.body(draft.place_of(base))
    draft.connect(kind, base, body)
    draft.count([kind], 1)


def carrier(draft: Draft) -> None:
    """A body on two joints with a massless carrier between them."""
    base = draft.pick(["ground", *draft.bodies])
    between = draft.body(draft.place_of(base), massless=True)
    body = draft.body(draft.place_of(between))
    kinds = [draft.pick(("Revolute", "Prismatic")), draft.pick(("Revolute", "Revolute", "Universal", "Cylindrical"))]
    draft.connect(kinds[0], base, between)
    draft.connect(kinds[1], between, body)
    draft.count(kinds, 2)


def loop(draft: Draft) -> None:
    """A chain of any joints from one body to another, free enough to move."""
    ends = [draft.pick(["ground", *draft.bodies]) for _ in range(2)]
    kinds: list[str] = []
    while sum(FREEDOM[kind] for kind in kinds) < 7 or len(kinds) < 2:
        kinds.append(kind_of(draft, ("Free", "Fixed") if not draft.chance(0.03) else ()))
    chain(draft, ends[0], ends[1], kinds)
    draft.features.add("loop")


def chain(draft: Draft, first: str, last: str, kinds: list[str], massless: float = 0.08) -> list[str]:
    """Bodies in a row, joints of these kinds between them, both ends held."""
    before, bodies = first, []
    for i, kind in enumerate(kinds):
        light = 0 < i < len(kinds) - 1 and FREEDOM[kind] == 1 and draft.chance(massless)
        body = last if i == len(kinds) - 1 else draft.body(draft.place_of(before), massless=light)
        draft.connect(kind, before, body, loop=True)
        before = body
        bodies.append(body)
    draft.count(kinds, len(kinds) - 1)
    return bodies[:-1]


def tie(draft: Draft) -> None:
    """A joint between two bodies that are there already, if enough degrees of freedom remain."""
    free = draft.freedom
    kinds = [
        kind for kind in ("Spherical", "Planar", "Cylindrical", "Universal", "PinSlot") if 6 - FREEDOM[kind] < free
    ]
    if len(draft.bodies) < 2 or not kinds:
        return limb(draft)
    a, b = draft.random.choice(["ground", *draft.bodies], 2, replace=False)
    kind = draft.pick(kinds)
    draft.connect(kind, str(a), str(b), loop=True)
    draft.count([kind], 0)
    draft.features.add("tie")


# --- overconstrained ---


def doubled(draft: Draft) -> None:
    """A body on two joints that do the same: a door on two hinges, a drawer on two rails, a nut on two threads."""
    base = draft.pick(["ground", *draft.bodies])
    body = draft.body(draft.place_of(base))
    n, P = draft.direction(), draft._between(base, body)
    along = P + n * draft.length * draft.number(0.3, 1.5)
    aside = P + draft.point()
    pairs = {
        "hinges": (("Revolute", P), ("Revolute", along)),
        "rails": (("Prismatic", P), ("Prismatic", aside)),
        "sleeves": (("Cylindrical", P), ("Cylindrical", along)),
        "threads": (("Screw", P), ("Screw", along)),
        "planes": (("Planar", P), ("Planar", aside)),
        "hinge and sleeve": (("Revolute", P), ("Cylindrical", along)),
        "hinge and ball": (("Revolute", P), ("Spherical", along)),
        "balls": (("Spherical", P), ("Spherical", along)),
        "welds": (("Fixed", P), ("Fixed", aside)),
    }
    name = draft.pick(pairs)
    pitch = draft.length * draft.number(0.2, 1.0)
    for kind, at in pairs[name]:
        axes = [] if kind in ("Spherical", "Fixed") else [n]
        draft.connect(kind, base, body, at, axes, pitch, loop=True)
    if draft.chance(0.2) and name != "welds":
        kind, at = pairs[name][0]
        axes = [] if kind == "Spherical" else [n]
        draft.connect(kind, base, body, at - n * draft.length, axes, pitch, loop=True)
        draft.features.add("three of a kind")
    draft.features.add(f"doubled: {name}")


def planar(draft: Draft) -> None:
    """A linkage of four to six bars in a plane that lies anywhere, hinges at any height, with a slider or without."""
    base = draft.pick(["ground", *draft.bodies])
    n = draft.direction()
    e = unit(cross(n, draft.direction()))
    bars, P = int(draft.random.integers(4, 7)), draft.place_of(base) + draft.point(0.5)
    slider = draft.chance(0.3)
    corners = []
    for k in range(bars):
        angle = 2 * math.pi * (k + draft.number(-0.3, 0.3)) / bars
        corners.append(P + draft.length * draft.number(0.5, 1.2) * (turn(n, angle) @ e))
    before, bodies = base, []
    for k, corner in enumerate(corners):
        body = base if k == bars - 1 else draft.body(corner)
        if slider and k == bars - 1:
            draft.connect("Prismatic", before, body, corner, [turn(n, draft.number(0, 3)) @ e], loop=True)
        else:
            draft.connect("Revolute", before, body, corner + n * draft.point()[0], [n], loop=True)
        before = body
        bodies.append(body)
    draft.features.add("planar linkage")


def parallelograms(draft: Draft) -> None:
    """Parallel posts with bars between their tops, in a plane that lies anywhere: doubly overconstrained."""
    base = draft.pick(["ground", *draft.bodies])
    n = draft.direction()
    e = unit(cross(n, draft.direction()))
    post = turn(n, draft.number(0.5, 2.6)) @ e * draft.length * draft.number(0.5, 1.5)
    count = int(draft.random.choice([2, 3, 4, 8], p=[0.55, 0.25, 0.15, 0.05]))
    foot, tops = draft.place_of(base) + draft.point(0.5), []
    for _ in range(count):
        body = draft.body(foot)
        draft.connect("Revolute", base, body, foot + n * draft.point(0.5)[0], [n], loop=True)
        tops.append((body, foot + post))
        foot = foot + e * draft.length * draft.number(0.4, 1.2)
    one = draft.chance(0.5)  # one bar over all tops, or one from each to the next
    bar = draft.body(tops[0][1])
    draft.connect("Revolute", tops[0][0], bar, tops[0][1], [n], loop=True)
    for i, (body, top) in enumerate(tops[1:], 1):
        draft.connect("Revolute", bar, body, top + n * draft.point(0.5)[0], [n], loop=True)
        if not one and i < count - 1:
            bar = draft.body(top)
            draft.connect("Revolute", body, bar, top, [n], loop=True)
    draft.features.add("parallelogram")


def bennett(draft: Draft) -> None:
    """Bennett 1903: four hinges in space, sin(alpha) / a = sin(beta) / b."""
    base = draft.pick(["ground", *draft.bodies])
    while True:
        alpha, a, b = draft.number(0.3, 1.2), draft.number(0.6, 1.4), draft.number(0.6, 1.4)
        sine = b * math.sin(alpha) / a
        if sine < 0.98 and abs(a - b) > 0.1:
            break
    beta = math.asin(sine)
    first = draft.number(0.5, 2.4) * draft.pick((1, -1))
    # tan(first / 2) tan(second / 2) = sin((beta + alpha) / 2) / sin((beta - alpha) / 2)
    ratio = math.sin((beta + alpha) / 2) / math.sin((beta - alpha) / 2)
    second = 2 * math.atan(ratio / math.tan(first / 2))
    R, p, axes = draft.rotation(), draft.place_of(base) + draft.point(0.5), []
    links = ((first, a, alpha), (second, b, beta), (-first, a, alpha), (-second, b, beta))
    start = (R.copy(), p.copy())
    for angle, length, twist in links:
        axes.append((p, R[:, 2]))
        R = R @ turn(np.array([0.0, 0.0, 1.0]), angle)
        p = p + R @ np.array([length * draft.length, 0, 0])
        R = R @ turn(np.array([1.0, 0.0, 0.0]), twist)
    assert np.abs(R - start[0]).max() < 1e-13
    hinges(draft, base, axes)
    draft.features.add("Bennett")


def spherical(draft: Draft) -> None:
    """Four or five hinges whose axes meet in one point."""
    base = draft.pick(["ground", *draft.bodies])
    centre, n = draft.place_of(base) + draft.point(0.5), draft.direction()
    count = int(draft.random.integers(4, 6))
    e = unit(cross(n, draft.direction()))
    axes = []
    for k in range(count):
        angle = 2 * math.pi * (k + draft.number(-0.25, 0.25)) / count
        axis = unit(n + draft.number(0.5, 1.2) * (turn(n, angle) @ e))
        axes.append((centre + axis * draft.length * draft.number(0.3, 1.2), axis))
    hinges(draft, base, axes)
    draft.features.add("spherical linkage")


def sarrus(draft: Draft) -> None:
    """Two chains of three parallel hinges each, across each other: the plate goes straight (Sarrus 1853)."""
    base = draft.pick(["ground", *draft.bodies])
    up = draft.direction()
    plate = draft.body(draft.place_of(base))
    e = unit(cross(up, draft.direction()))
    spin = draft.number(0.7, 2.4)
    for n in (e, turn(up, spin) @ e):
        out = cross(n, up)
        foot = draft.place_of(base) + draft.length * draft.number(0.3, 1.0) * out
        knee = foot + draft.length * (draft.number(0.3, 0.9) * out + 0.7 * up)
        top = foot + draft.length * (draft.number(-0.3, 0.3) * out + draft.number(1.2, 1.6) * up)
        low, high = draft.body(foot), draft.body(knee)
        for a, b, P in ((base, low, foot), (low, high, knee), (high, plate, top)):
            draft.connect("Revolute", a, b, P + n * draft.point(0.5)[0], [n], loop=True)
    draft.features.add("Sarrus")


def hinges(draft: Draft, base: str, axes: list[tuple[Array, Array]]) -> None:
    """A closed ring of hinges about given axes, from a body back to it."""
    before = base
    for k, (P, n) in enumerate(axes):
        body = base if k == len(axes) - 1 else draft.body(P)
        draft.connect("Revolute", before, body, P, [n], loop=True)
        before = body


def platform(draft: Draft) -> None:
    """A plate on three to six legs, each of a universal joint, a slider and a ball."""
    base = draft.pick(["ground", *draft.bodies])
    plate = draft.body(draft.place_of(base))
    legs = int(draft.random.choice([3, 6]))
    for _ in range(legs):
        kinds = ["Universal", "Prismatic", "Spherical"]
        low, high = draft.body(draft.place_of(base)), draft.body(draft.place_of(plate))
        for kind, a, b in zip(kinds, (base, low, high), (low, high, plate), strict=True):
            draft.connect(kind, a, b, loop=True)
        draft.count(kinds, 2)
    draft.freedom += 6
    draft.features.add("platform")


BLOCKS: dict[str, tuple[float, Callable[[Draft], None]]] = {  # how often, and what is drawn
    "limb": (6.0, limb),
    "loop": (3.0, loop),
    "tie": (1.5, tie),
    "carrier": (0.7, carrier),
    "doubled": (1.5, doubled),
    "planar": (1.0, planar),
    "parallelograms": (0.6, parallelograms),
    "bennett": (0.4, bennett),
    "spherical": (0.4, spherical),
    "sarrus": (0.3, sarrus),
    "platform": (0.15, platform),
}
