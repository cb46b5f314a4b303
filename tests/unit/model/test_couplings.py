"""Couplings: their equations against the kinematics of rolling pitch circles and the tables of gear sets in books."""

import math

import pytest

import momentree as mt
from momentree.model.couplings import COUPLINGS
from momentree.model.elements import Scope, known_references
from momentree.model.expressions.expression import Reference
from momentree.model.values import Mistake, Values, pending_checks


def train():
    """Three shafts in the ground, an arm with a planet on it, and a slider."""
    m = mt.Model("train")
    bodies = {
        name: m.body(name, mt.cylinder(mass=1, radius=0.1, length=0.1)) for name in ("a", "b", "c", "arm", "p", "s")
    }
    for name in ("a", "b", "c", "arm"):
        m.joint(name.upper(), mt.Revolute("z"), m.ground, bodies[name])
    m.joint("P", mt.Revolute("z"), bodies["arm"].at((1, 0, 0)), bodies["p"])
    m.joint("S", mt.Prismatic("x"), m.ground, bodies["s"])
    return m


def scope(m, free=()):
    return Scope(Values(dict(m.parameters), free), {j.name: j for j in m.joints}, known_references(m.joints))


def residuals(m, element, **q):
    """What the equations of a coupling give at these coordinates."""
    at = {Reference(name): value for name, value in q.items()}
    return [expression.evaluate(at) for _, expression in element.equations(scope(m))]


def test_external_gears_have_one_speed_where_they_touch():
    m = train()
    r1, r2 = 0.3, 0.2
    gear = m.gear("A", "B", radii=(r1, r2))
    # gear a about (0, 0), gear b about (r1 + r2, 0): at (r1, 0) both rims move by r1 a upwards and -r2 b
    for a in (0.7, -1.3):
        assert residuals(m, gear, A=a, B=-r1 * a / r2) == [pytest.approx(0, abs=1e-15)]
    assert residuals(m, gear, A=1.0, B=r1 / r2)[0] != 0


def test_internal_gears_have_one_speed_where_they_touch():
    m = train()
    ring = m.gear("A", "B", teeth=(80, 20), internal=True)
    assert residuals(m, ring, A=0.5, B=0.5 * 80 / 20) == [pytest.approx(0, abs=1e-15)]


def test_the_ratio_counts_turns_of_the_first_for_one_of_the_second():
    m = train()
    for how in ({"ratio": 2.5}, {"teeth": (20, 50)}, {"radii": (0.2, 0.5)}):
        gear = m.gear("A", "B", **how, offset=0.1)
        assert residuals(m, gear, A=-2.5 * math.tau + 0.1, B=math.tau) == [pytest.approx(0, abs=1e-14)]


def test_a_planetary_set_is_its_three_pairs_of_gears():
    """Willis' formula follows from sun-planet (external) and planet-ring (internal), seen from the arm."""
    m = train()
    z_s, z_r = 24, 72
    z_p = (z_r - z_s) / 2
    inner = m.gear("A", "P", teeth=(z_s, z_p), carrier="ARM")
    outer = m.gear("B", "P", teeth=(z_r, z_p), carrier="ARM", internal=True)
    whole = m.planetary("A", "B", "ARM", (z_s, z_r), planets=["P"])
    arm, planet = 0.4, 1.7
    q = {"A": arm - z_p / z_s * planet, "B": arm + z_p / z_r * planet, "ARM": arm, "P": planet}
    assert residuals(m, inner, **q) + residuals(m, outer, **q) == [pytest.approx(0, abs=1e-15)] * 2
    assert residuals(m, whole, **q) == [pytest.approx(0, abs=1e-13)] * 2
    names = [name for name, _ in whole.equations(scope(m))]
    assert names == ["planetary 1", "planetary 1: planet P"]


@pytest.mark.parametrize(
    ("sun", "ring", "q"),
    [
        ("A", None, {"A": 4.0, "ARM": 1.0}),  # 1 + z_r / z_s turns of the sun for one of the carrier
        (None, "B", {"B": 4 / 3, "ARM": 1.0}),
        ("A", "B", {"A": -3.0, "B": 1.0, "ARM": 0.0}),
        ("A", "B", {"A": 0.8, "B": 0.8, "ARM": 0.8}),  # locked, it turns as a whole
    ],
)
def test_a_planetary_set_of_20_and_60_teeth(sun, ring, q):
    m = train()
    assert residuals(m, m.planetary(sun, ring, "ARM", (20, 60)), **q) == [pytest.approx(0, abs=1e-13)]


def test_rack_belt_differential_and_screw():
    m = train()
    assert residuals(m, m.rack("A", "S", 0.05, offset=1), A=2, S=1.1) == [pytest.approx(0, abs=1e-15)]
    assert residuals(m, m.belt("A", "B", (0.1, 0.3)), A=3, B=1) == [pytest.approx(0, abs=1e-15)]
    assert residuals(m, m.belt("A", "B", (0.1, 0.3), crossed=True), A=-3, B=1) == [pytest.approx(0, abs=1e-15)]
    assert residuals(m, m.differential("A", "B", "C"), A=1.5, B=0.5, C=1) == [0]
    assert residuals(m, m.screw("A", "S", 0.02), A=math.tau, S=0.02) == [pytest.approx(0, abs=1e-15)]
    assert residuals(m, m.screw("A", "S", -0.02), A=math.tau, S=-0.02) == [pytest.approx(0, abs=1e-15)]


def test_a_couple_follows_one_coordinate_or_several():
    m = train()
    m.parameter("k", 3)
    assert residuals(m, m.couple("A", "B", ratio="-k", offset=0.5), A=-5.5, B=2) == [0]
    assert residuals(m, m.couple("S", {"A": 0.5, "B": "k/2"}), S=3.5, A=1, B=2) == [0]


def test_components_are_named_as_in_expressions():
    m = train()
    m.joint("left hip", mt.Cylindrical("z"), m.ground, m.body("leg", mt.sphere(mass=1, radius=1)))
    ((_, expression),) = m.couple("A", "left hip.slide").equations(scope(m))
    assert expression.references() == {Reference("A"), Reference("left hip", "slide")}
    assert m.couple("A", "`left hip`.slide").equations(scope(m))[0][1] == expression


def test_names_count_each_kind():
    m = train()
    names = [m.gear("A", "B", ratio=1).name, m.couple("A", "B").name, m.gear("A", "C", ratio=1).name]
    assert [*names, m.gear("A", "B", ratio=2, name="main").name] == ["gear 1", "couple 1", "gear 2", "main"]


def test_joints_stand_for_their_names():
    m = train()
    a, b, c = m.joints[:3]
    assert m.gear(a, b, ratio=2, name="x") == m.gear("A", "B", ratio=2, name="x")
    assert m.couple(a, {b: 1, c: 2}, name="x") == m.couple("A", {"B": 1, "C": 2}, name="x")


@pytest.mark.parametrize(
    ("value", "make"),
    [
        (0.0, lambda m: m.gear("A", "B", ratio="k")),
        (-1.0, lambda m: m.gear("A", "B", radii=("k", 2))),
        (1.0, lambda m: m.gear("A", "B", ratio="k", internal=True)),
        (0.0, lambda m: m.couple("A", "B", ratio="k")),
        (0.0, lambda m: m.rack("A", "S", "k")),
        (0.0, lambda m: m.screw("A", "S", "k")),
        (70.0, lambda m: m.planetary("A", "B", "ARM", ("k", 60))),
    ],
)
def test_numbers_that_depend_on_free_parameters_are_checked_when_these_have_values(value, make):
    m = train()
    m.parameter("k", 2)
    element = make(m)
    with pending_checks() as checks:
        ((_, expression),) = element.equations(scope(m, ["k"]))
    assert Reference("k") in expression.references()
    wrong = 0
    for check, numbers, _ in checks:
        try:
            check(*(n.substitute({Reference("k"): value}).value if hasattr(n, "op") else n for n in numbers))
        except Mistake:
            wrong += 1
    assert wrong == 1


def test_every_coupling_has_its_table_and_its_list():
    m = mt.Model()
    assert all(getattr(m, cls.collection) == [] for cls in COUPLINGS)
    assert len({cls.kind for cls in COUPLINGS}) == len(COUPLINGS)
