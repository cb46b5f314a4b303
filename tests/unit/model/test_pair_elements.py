"""Elements that become higher pairs: their numbers and frames, and defaults."""

import pytest

import momentree as mt
from momentree.model.expressions.expression import parse
from momentree.model.frames import Frame
from momentree.model.higher_pairs import Distance, OnSurfaces, Rolling, Skating
from momentree.model.pair_elements import PAIRS
from momentree.model.values import Mistake, Values, pending_checks
from momentree.spatial import Vector

VALUES = Values({"r": 0.5, "k": 2})


def wheel():
    m = mt.Model()
    return m, m.body("wheel", mt.sphere(mass=1, radius=0.5))


def test_a_wheel_rolls_on_the_ground_unless_told_otherwise():
    m, body = wheel()
    roll = m.roll(body, radius="r", disc=(0, 2, 0), friction=0.3)
    assert roll.ends() == (Frame("ground"), Frame("wheel"))
    assert roll.pair(VALUES) == Rolling(0.5, Vector(0, 1, 0), None, 0.3)
    assert roll.name == "roll 1"


def test_a_ball_may_roll_in_another():
    m, body = wheel()
    assert m.roll(body, m.ground.at((0, 0, 1)), 0.5, ball=-2).pair(VALUES) == Rolling(0.5, None, -2.0, None)
    with pytest.raises(Mistake, match="no room to roll"):
        m.roll(body, radius=0.5, ball=-0.5).pair(VALUES)


def test_skate_and_distance():
    m, body = wheel()
    skate = m.skate(body.at((1, 0, 0)))
    assert (skate.pair(VALUES), skate.ends()) == (Skating(Vector(0, 1, 0)), (Frame("ground"), body.at((1, 0, 0))))
    rod = m.distance(m.ground, m.frame("hub", body), "k*r")
    assert (rod.pair(VALUES), rod.ends()) == (Distance(1.0), (Frame("ground"), Frame("wheel")))


def test_surfaces_and_curves_are_equations_of_the_coordinates():
    m, body = wheel()
    assert m.on_surface(body, "x^2 + y^2 = k*z").pair(VALUES) == OnSurfaces((parse("x^2 + y^2 - 2*z"),))
    curve = m.on_curve(body, ["y = sin(x - t)", "z"], of=m.ground.at((0, 0, 1)))
    assert curve.pair(VALUES) == OnSurfaces((parse("y - sin(x - t)"), parse("z")))
    assert curve.ends()[0] == m.ground.at((0, 0, 1))


def test_a_surface_may_be_a_function_of_symbols():
    m, body = wheel()
    assert m.on_surface(body, lambda x, z: z - x**2).pair(VALUES) == OnSurfaces((parse("z - x^2"),))


def test_free_parameters_are_checked_when_they_have_values():
    m, body = wheel()
    with pending_checks() as checks:
        m.roll(body, radius="r", ball=-0.4).pair(Values({"r": 0.1}, ["r"]))
    assert any(_is_wrong(check, [n if isinstance(n, float) else 0.4 for n in numbers]) for check, numbers, _ in checks)


def _is_wrong(check, numbers):
    try:
        check(*numbers)
    except Mistake:
        return True
    return False


def test_every_pair_has_its_table_and_its_list():
    m = mt.Model()
    assert all(getattr(m, cls.collection) == [] for cls in PAIRS)
    assert all({*cls.frames.values()} <= {*cls.__dataclass_fields__} for cls in PAIRS)
