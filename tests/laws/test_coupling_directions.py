"""Gears, belts, racks, planetary sets: how bodies turn, in whatever order and direction the joints are written."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import momentree as mt

FLIPPED = mt.turn("x", np.pi)
# how a joint is written: from the wheel to what carries it, about the opposite axis, between frames turned over
WAYS = list(itertools.product((False, True), repeat=3))
WRITTEN = [WAYS[k] for k in (0, 1, 2, 4, 7)]
TWO = [*itertools.product(WRITTEN, repeat=2)]
THREE = [*itertools.product([WAYS[k] for k in (0, 4, 6)], repeat=3)]
ORDERS = [(False, False, False), (True, False, False)]


def write(m, name, kind, first, second, at, way, axis="z"):
    """A joint between a point of a body and the origin of another, written in one of these ways."""
    against, opposite, turned = way
    frame = FLIPPED if turned else None
    ends = first.at(at, frame), second.at((0, 0, 0), frame)
    direction = f"-{axis}" if opposite else axis
    m.joint(name, getattr(mt, kind)(direction), *(ends[::-1] if against else ends))


def bodies(m, names):
    return [m.body(name, mt.cylinder(mass=1.0, radius=0.1, length=0.1)) for name in names.split()]


def allowed(m):
    """Velocities of all bodies in the allowed motions, by name: of the origin, then angular; one column for each."""
    system = m.build()
    start = system.assemble()
    q = np.array(start.q)
    J = system.constraint_jacobian(q)
    _, sizes, rows = np.linalg.svd(J)
    free = rows[int((sizes > 1e-9).sum()) :].T
    assert free.shape[1] == system.nv - len(J), "each constraint takes one freedom"
    return {body.name: system.jacobian(q, body.name) @ free for body in system.mechanism.bodies} | {
        "ground": 0 * free[:1]
    }


def turning(found, name):
    return found[name][5] if name != "ground" else found[name][0]


def check_wheels(m, sizes, carrier):
    """The sum of sizes times angular velocities relative to the carrier vanishes."""
    found = allowed(m)
    total = sum(size * (turning(found, name) - turning(found, carrier)) for name, size in sizes.items())
    np.testing.assert_allclose(total, 0, atol=1e-10)


def on_a_base(m, base):
    """The ground, or a body that turns."""
    if base == "ground":
        return m.ground
    (body,) = bodies(m, base)
    m.joint(base, mt.Revolute("z"), m.ground.at((0.7, 0.3, 0)), body)
    return body


PAIRS = {
    "gear": (lambda m: m.gear("A", "B", teeth=(20, 30)), {"a": 20, "b": 30}),
    "internal gear": (lambda m: m.gear("A", "B", teeth=(20, 30), internal=True), {"a": 20, "b": -30}),
    "belt": (lambda m: m.belt("A", "B", radii=(0.2, 0.3)), {"a": 20, "b": -30}),
    "crossed belt": (lambda m: m.belt("A", "B", radii=(0.2, 0.3), crossed=True), {"a": 20, "b": 30}),
    "differential": (lambda m: m.differential("A", "B", "C"), {"a": 1, "b": 1, "c": -2}),
}


@pytest.mark.parametrize("ways", TWO)
@pytest.mark.parametrize("base", ["ground", "arm"])
@pytest.mark.parametrize("kind", PAIRS)
@pytest.mark.repeats(3, of="kind")
def test_wheels_on_one_body(kind, base, ways):
    m = mt.Model(kind)
    support = on_a_base(m, base)
    for i, (name, body) in enumerate(zip("ABC", bodies(m, "a b c"), strict=True)):
        write(m, name, "Revolute", support, body, (0.1 * i, 0, 0), (*ways, WRITTEN[0])[i])
    couple, sizes = PAIRS[kind]
    couple(m)
    check_wheels(m, sizes, base)


@pytest.mark.parametrize("ways", THREE)
@pytest.mark.parametrize("kind", ["named", "inferred", "belt", "welded"])
@pytest.mark.parametrize("base", ["ground", "housing"])
@pytest.mark.repeats(6, of="kind")
@pytest.mark.filterwarnings("ignore::momentree.ModelWarning")
def test_a_planet_on_an_arm(kind, base, ways):
    m = mt.Model(kind)
    housing = on_a_base(m, base)
    sun, arm, planet = bodies(m, "sun arm planet")
    write(m, "S", "Revolute", housing, sun, (0, 0, 0.1), ways[0])
    write(m, "C", "Revolute", housing, arm, (0, 0, -0.1), ways[1])
    carrying = arm
    if kind == "welded":
        (carrying,) = bodies(m, "bracket")
        m.joint("weld", mt.Fixed(), carrying.at((0, 0, 0.3)), arm.at((0.2, 0, 0), FLIPPED))
    write(m, "P", "Revolute", carrying, planet, (0.5, 0, 0), ways[2])
    if kind == "belt":
        m.belt("S", "P", radii=(0.2, 0.3))
    else:
        m.gear("S", "P", teeth=(20, 30), carrier="C" if kind == "named" else None)
    check_wheels(m, {"sun": 20, "planet": -30 if kind == "belt" else 30}, "arm")


@pytest.mark.parametrize("ways", THREE)
@pytest.mark.parametrize("held", ["none", "sun", "ring"])
@pytest.mark.parametrize("base", ["ground", "housing"])
@pytest.mark.repeats(6, of="held")
def test_a_planetary_set(held, base, ways):
    m = mt.Model(held)
    housing = on_a_base(m, base)
    sun, ring, arm, planet = bodies(m, "sun ring arm planet")
    if held != "sun":
        write(m, "S", "Revolute", housing, sun, (0, 0, 0.1), ways[0])
    if held != "ring":
        write(m, "R", "Revolute", housing, ring, (0, 0, 0.2), ways[0])
    write(m, "C", "Revolute", housing, arm, (0, 0, -0.1), ways[1])
    write(m, "P", "Revolute", arm, planet, (0.5, 0, 0), ways[2])
    m.bodies[:] = [body for body in m.bodies if body.name != held]
    m.planetary(None if held == "sun" else "S", None if held == "ring" else "R", "C", (24, 72), ["P"])
    found = allowed(m)
    arm_turns = turning(found, "arm")
    s, r = (turning(found, base if held == name else name) - arm_turns for name in ("sun", "ring"))
    np.testing.assert_allclose(24 * s + 72 * r, 0, atol=1e-10)
    np.testing.assert_allclose(24 * s + 24 * (turning(found, "planet") - arm_turns), 0, atol=1e-10)


@pytest.mark.parametrize("way", ORDERS)
@pytest.mark.parametrize("other", WRITTEN)
@pytest.mark.parametrize("on", ["ground", "arm", "in line"])
@pytest.mark.repeats(3, of="on")
def test_a_rack_follows_its_pinion(on, other, way):
    """A turn about its axis moves the rack along its own; written about the opposite one, the rack is on that side."""
    m = mt.Model("rack")
    arm = on_a_base(m, "ground" if on == "ground" else "arm")
    pinion, rack = bodies(m, "pinion rack")
    held, at = (m.ground, (0.7, 0.3, 0)) if on == "in line" else (arm, (0, 0, 0))
    write(m, "P", "Revolute", held, pinion, at, way)
    write(m, "R", "Prismatic", arm, rack, (0, -0.05, 0), (other[0], False, False), axis="x")
    m.rack("P", "R", radius=0.05)
    found = allowed(m)
    base = turning(found, arm.name if on != "ground" else "ground")
    # of the point of the rack's body, less that of the arm there: (0, -0.05) from its axis
    slides = found["rack"][0] - 0.05 * base
    np.testing.assert_allclose(slides, 0.05 * (turning(found, "pinion") - base), atol=1e-12)


@pytest.mark.parametrize("ways", TWO)
@pytest.mark.repeats(4)
def test_a_nut_follows_its_spindle(ways):
    m = mt.Model("screw")
    spindle, nut = bodies(m, "spindle nut")
    write(m, "T", "Revolute", m.ground, spindle, (0, 0, 0), ways[0])
    write(m, "N", "Prismatic", m.ground, nut, (0, 0, 0), ways[1])
    m.screw("T", "N", pitch=0.02)
    found = allowed(m)
    np.testing.assert_allclose(found["nut"][2], 0.02 / (2 * np.pi) * turning(found, "spindle"), atol=1e-12)


def test_an_inferred_carrier_is_told():
    m = mt.Model("told")
    sun, arm, planet = bodies(m, "sun arm planet")
    m.joint("S", mt.Revolute("z"), m.ground, sun)
    m.joint("C", mt.Revolute("z"), m.ground, arm)
    m.joint("P", mt.Revolute("z"), arm.at((0.5, 0, 0)), planet)
    m.gear("S", "P", teeth=(20, 30))
    with pytest.warns(mt.ModelWarning, match=r"gear 'gear 1': its axes meet on the arm of 'C'.*carrier='C'"):
        m.build()


def test_axes_that_no_body_carries_are_refused():
    m = mt.Model("apart")
    cart, wheel, other = bodies(m, "cart wheel other")
    m.joint("x", mt.Prismatic("x"), m.ground, cart)
    m.joint("A", mt.Revolute("z"), cart, wheel)
    m.joint("B", mt.Revolute("z"), m.ground.at((1, 0, 0)), other)
    m.belt("A", "B", radii=(0.1, 0.2))
    with pytest.raises(mt.ModelError, match=r"no body carries the axes of 'A' and 'B': 'A' is between 'cart' and 'whe"):
        m.build()


def test_an_arm_that_nothing_tells_is_refused():
    m = mt.Model("which")
    base, arm, sun, planet = bodies(m, "base arm sun planet")
    m.joint("x", mt.Prismatic("x"), m.ground, base)
    m.joint("C", mt.Revolute("z"), arm, base)
    m.joint("S", mt.Revolute("z"), base.at((0.1, 0, 0)), sun)
    m.joint("P", mt.Revolute("z"), arm.at((0.5, 0, 0)), planet)
    m.gear("S", "P", teeth=(20, 30), carrier="C")
    with pytest.raises(mt.ModelError, match=r"neither axis tells which of 'arm' or 'base' is the arm.*in line"):
        m.build()
