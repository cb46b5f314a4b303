"""Tables: against SciPy's splines, beyond the ends, in laws and motions, and everything that can be wrong with them."""

import math
import pickle

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import momentree as mt
from momentree.errors import ExpressionError, ModelError, MomentreeError
from momentree.model.expressions.expression import Reference, parse
from momentree.model.tables import Table

RANDOM = np.random.default_rng(5)
X = np.cumsum(RANDOM.uniform(0.2, 1.0, 14))
Y = RANDOM.normal(size=14)
HERE = np.sort(np.concatenate([RANDOM.uniform(X[0], X[-1], 400), X]))
KINDS = ("cubic", "linear")


def near(found, expected, tolerance=1e-13):
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


# --- values ---


@pytest.mark.parametrize("order", range(4))
def test_cubic_tables_are_the_splines_of_scipy(order):
    near(Table("f", X, Y)(HERE, order), CubicSpline(X, Y)(HERE, order))


@pytest.mark.parametrize("order", range(4))
def test_periodic_tables_are_the_periodic_splines_of_scipy(order):
    y = [*Y[:-1], Y[0]]
    around = np.concatenate([HERE, HERE + 3 * (X[-1] - X[0]), HERE - 7 * (X[-1] - X[0])])
    inside = np.abs((around - X[0]) / (X[-1] - X[0]) % 1 - 0.5) < 0.499999  # the third derivative jumps at the seam
    knots = np.min(np.abs((around[:, None] - X) - np.round((around[:, None] - X) / np.ptp(X)) * np.ptp(X)), axis=1)
    at = around[inside & (knots > 1e-9)]
    near(Table("f", X, y, periodic=True)(at, order), CubicSpline(X, y, bc_type="periodic")(at, order), 1e-12)


def test_linear_tables_are_straight_lines():
    near(Table("f", X, Y, "linear")(HERE), np.interp(HERE, X, Y))
    i = np.clip(np.searchsorted(X, HERE, side="right") - 1, 0, len(X) - 2)
    near(Table("f", X, Y, "linear")(HERE, 1), np.diff(Y)[i] / np.diff(X)[i])


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_passes_through_its_points_in_every_bit_but_the_last_point(kind):
    table = Table("f", X, Y, kind)
    assert [table(float(x)) for x in X[:-1]] == list(Y[:-1])
    assert table(float(X[-1])) == pytest.approx(Y[-1], abs=1e-13)


@pytest.mark.parametrize("order", range(3))
def test_derivatives_are_limits_of_differences(order):
    table, h = Table("f", X, Y), 1e-4
    at = HERE[(np.abs(HERE[:, None] - X) > 2 * h).all(axis=1)]
    near((table(at + h, order) - table(at - h, order)) / (2 * h), table(at, order + 1), 1e-6)


def test_the_error_of_a_cubic_table_is_of_fourth_order():
    def error(count):
        x = np.linspace(0, 3, count)
        at = np.linspace(0, 3, 5001)
        return np.abs(Table("f", x, np.sin(x))(at) - np.sin(at)).max()

    rates = [math.log2(error(count) / error(2 * count - 1)) for count in (21, 41, 81)]
    assert all(3.7 < rate < 4.6 for rate in rates), rates


# --- beyond the ends ---


@pytest.mark.parametrize("kind", KINDS)
def test_beyond_the_ends_there_is_no_value_unless_it_is_asked_for(kind):
    table = Table("f", X, Y, kind)
    for x in (X[0] - 1e-9, X[-1] + 1e-9, 100.0):
        with pytest.raises(MomentreeError, match=r"table 'f' is given from .* to .*, and its argument"):
            table(float(x))
    assert np.isnan(table(np.array([X[0] - 1, X[-1] + 1]))).all()
    assert np.isnan(table(np.array([X[0] - 1, X[-1] + 1]), 1)).all()
    assert np.isfinite(table(np.array([X[0], X[-1]]))).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_may_go_on_as_a_constant(kind):
    table = Table("f", X, Y, kind, outside="constant")
    near(table(np.array([X[0] - 3, X[-1] + 2])), [Y[0], Y[-1]])
    near(table(np.array([X[0] - 3, X[-1] + 2]), 1), [0, 0])
    near(table(HERE), Table("f", X, Y, kind)(HERE), 0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_may_go_on_as_a_line(kind):
    table, inner = Table("f", X, Y, kind, outside="linear"), Table("f", X, Y, kind)
    slopes = inner(np.array([X[0], X[-1]]), 1)
    near(table(np.array([X[0] - 3, X[-1] + 2])), [Y[0] - 3 * slopes[0], Y[-1] + 2 * slopes[1]])
    near(table(np.array([X[0] - 3, X[-1] + 2]), 1), slopes)
    near(table(HERE, 1), inner(HERE, 1), 0)


@pytest.mark.parametrize("options", [{}, {"outside": "constant"}, {"outside": "linear"}, {"periodic": True}])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_number_has_no_value(kind, options):
    table = Table("f", X, [*Y[:-1], Y[0]], kind, **options)
    for x in (math.nan, math.inf, -math.inf):
        with pytest.raises(MomentreeError, match=r"the argument of table 'f' is|not finite"):
            table(x)
        with np.errstate(all="ignore"):
            assert not np.isfinite(table(np.array([x])))
    assert np.isnan(table(np.array([math.nan]), 1))


def test_the_two_zeros_are_one():
    table = Table("f", [-1, 0, 1], [0, 3, 1], "linear")
    assert table(-0.0) == table(0.0) == 3
    assert table(-0.0, 1) == table(0.0, 1) == -2
    assert Table("f", [0, 1], [3, 1])(-0.0) == 3


# --- odd tables ---


def test_two_points_are_a_line_and_three_a_parabola():
    for kind in KINDS:
        near(Table("f", [1, 3], [2, -2], kind)(np.array([1.0, 1.5, 3.0])), [2, 1, -2])
    at = np.linspace(0, 3, 9)
    near(Table("f", [0, 1, 3], [0, 1, 9])(at), at**2)


@pytest.mark.parametrize("scale", [1e-60, 1e-30, 1e30, 1e60])
def test_scales_do_not_matter(scale):
    table = Table("f", X * scale, Y / scale)
    near(table(HERE * scale) * scale, Table("f", X, Y)(HERE), 1e-12)


def test_many_knots():
    x = np.linspace(0, 100, 100_001)
    near(Table("f", x, np.sin(x))(x[:-1] + 0.0004), np.sin(x[:-1] + 0.0004), 1e-12)


# --- what is wrong ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [0, 1, 2]), "x has 2 numbers, but y has 3"),
        (([0], [1]), "1 point is too few; give at least 2"),
        (([], []), "0 points are too few"),
        (([0, 2, 1], [0, 0, 0]), "x must ascend, but 1, its number 3, follows 2"),
        (([0, 1, 1], [0, 0, 0]), "x must ascend, but 1, its number 3, is there twice"),
        (([0, -0.0], [0, 0]), "is there twice"),
        (([0, math.nan, 1], [0, 0, 0]), "x has nan as its number 2; finite numbers"),
        (([0, 1], [0, math.inf]), "y has inf as its number 2"),
        (([0, 1], [0, 10**400]), "as its number 2; finite numbers"),
        (([0, "k"], [0, 1]), "x has 'k' as its number 2; numbers alone"),
        (([0, True], [0, 1]), "x has 'True' as its number 2"),
        (([[0, 1], [2, 3]], [0, 1]), "numbers alone are expected"),
        ((3, [0, 1]), "x is 3; a list of numbers"),
        ((None, [0, 1]), "x is missing"),
        (([0, 1], [0, 1], "quintic"), r"kind is 'quintic'\. Choose 'linear' or 'cubic'"),
        (([0, 1], [0, 1], ["cubic"]), "kind is"),
        (([0, 1], [0, 1], "cubic", False, "zero"), "outside is 'zero'"),
        (([0, 1], [0, 1], "cubic", "yes"), "periodic is 'yes'; use true or false"),
        (([0, 1, 2], [0, 1, 0], "cubic", True, "constant"), "a periodic table has no outside"),
        (([0, 1, 2], [0, 1, 0.1], "cubic", True), "ends as it begins, but y is 0 at first and 0.1 at last"),
        (([0, 1], [0, 0], "linear", True), "2 points are too few; give at least 3"),
        (([0, 1e-320, 1], [0, 1, 0]), "too large or its knots too close"),
        (([0, 1e-200, 1], [0, 1e200, 0]), "too large or its knots too close"),
        (([-1.7e308, 1.7e308], [0, 1], "linear"), "too large"),
        ((1e100 * X, 1e-100 * Y), "too large"),
        ((1e-150 * X, 1e150 * Y), "too large"),
    ],
)
def test_what_is_wrong_with_a_table_is_said_when_the_model_is_built(arguments, message):
    m = pendulum()
    m.table("f", *arguments)
    with pytest.raises(ModelError, match="^table 'f': .*" + message):
        m.build()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sin", "means a function"),
        ("t", "means time"),
        ("A", "same name as a joint"),
        ("k", "same name as a parameter"),
        ("a`b", "without backquotes"),
        (3, "name is 3"),
    ],
)
def test_names_of_tables(name, message):
    m = pendulum()
    m.parameter("k", 1.0)
    m.table(name, [0, 1], [0, 1])
    with pytest.raises(ModelError, match=message):
        m.build()


def test_two_tables_of_one_name_are_refused():
    m = pendulum()
    m.table("f", [0, 1], [0, 1])
    m.table("f", [0, 2], [0, 1])
    with pytest.raises(ModelError, match="the name is used 2 times"):
        m.build()


# --- in expressions ---


def pendulum(**options):
    m = mt.Model("pendulum")
    bob = m.body("bob", mass=1.0, com=(0, 0, -1), inertia=(0.1, 0.1, 0.1))
    m.joint("A", mt.Revolute("y", **options), m.ground, bob)
    return m


TABLES = {"cam": Table("cam", X, Y), "left cam": Table("left cam", X, Y), "bent": Table("bent", X, Y, "linear")}


@pytest.mark.parametrize(
    "text", ["cam(t)", "cam'(2*t)", "cam''(t)*cam'''(t)", "`left cam`'(A')", "-cam(t)^2", "bent'(t)"]
)
def test_texts_with_tables_read_and_write(text):
    e = parse(text, TABLES)
    assert str(e) == text
    assert parse(str(e), TABLES) == e
    assert pickle.loads(pickle.dumps(e)) == e
    assert hash(parse(text, TABLES)) == hash(e)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cam", "'cam' is a table: write cam"),
        ("camm(t)", "unknown function 'camm'. Did you mean 'cam'"),
        ("cam(t, 2)", "takes 1 argument, not 2"),
        ("cam()", "takes 1 argument, not 0"),
        ("cam''''(t)", "at most 3 derivatives"),
        ("bent''(t)", "at most 1 derivatives"),
        ("cam(-1)", r"cam\(-1\) is not a finite real number: table 'cam' is given from"),
        ("cam.x(t)", "an operator is missing"),
    ],
)
def test_texts_with_tables_that_mean_nothing(text, message):
    with pytest.raises(ExpressionError, match=message):
        parse(text, TABLES)


def test_a_table_and_a_table_of_other_numbers_are_not_equal():
    other = Table("cam", X, -Y)
    assert parse("cam(t)", TABLES) != parse("cam(t)", {"cam": other})
    assert parse("cam(t)", TABLES) == parse("cam(t)", {"cam": Table("cam", list(X), tuple(Y))})
    assert parse("cam(t)", TABLES) != parse("cam'(t)", TABLES)


def test_expressions_with_tables_have_derivatives():
    e, at = parse("cam(2*t)^2 + t*bent(t)", TABLES), {Reference("t"): float(X[2] + 0.1)}
    t, f, g = at[Reference("t")], CubicSpline(X, Y), Table("bent", X, Y, "linear")
    assert e.evaluate(at) == pytest.approx(f(2 * t) ** 2 + t * g(t), rel=1e-12)
    slope = e.derivative(Reference("t"))
    assert slope.evaluate(at) == pytest.approx(4 * f(2 * t) * f(2 * t, 1) + g(t) + t * g(t, 1), rel=1e-12)
    with pytest.raises(ExpressionError, match="table 'bent' has no derivative of order 2"):
        slope.derivative(Reference("t"))


def test_a_table_is_called_in_python():
    m = pendulum()
    cam = m.table("cam", X, Y)
    theta = mt.Model().parameter("A", 0)
    assert str(cam(2 * theta)) == "cam(2*A)"
    assert str(cam("A - 1", order=1)) == "cam'(A - 1)"
    assert cam(float(X[3])) == Y[3]
    assert repr(cam).startswith("Table('cam': cubic, 14 knots from ")
    with pytest.raises(MomentreeError, match="order is 4; it has derivatives 0 to 3"):
        cam(theta, 4)
    m.torque("A", lambda A, A_rate: -cam(A) - A_rate)
    assert m.torques[0].law == "-cam(A) - A'"
    m.build()


def test_tables_stand_in_laws_alone():
    m = pendulum()
    m.table("cam", X, Y)
    m.parameter("k", "cam(3)")
    with pytest.raises(ModelError, match="parameter 'k': table 'cam' in its value, which is one number"):
        m.build()


@pytest.mark.parametrize("what", ["joint", "ground", "constraint", "surface"])
def test_a_linear_table_is_refused_where_a_second_derivative_is_needed(what):
    m = pendulum(motion="bent(t)") if what == "joint" else pendulum()
    m.table("bent", [0, 1, 2], [0, 1, 0], "linear")
    slider = m.body("slider", mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    m.joint("z", mt.Prismatic("z"), m.ground, slider)
    if what == "ground":
        m.ground.moves(("bent(t)", 0, 0))
    elif what == "constraint":
        m.constrain("z = bent(A)")
    elif what == "surface":
        m.on_surface(slider, "z = bent(x)")
    with pytest.raises(ModelError, match=r"table 'bent' has no derivative of order 2.*Use kind='cubic'"):
        m.build()


def test_a_linear_table_may_be_the_coefficient_of_a_velocity():
    m = pendulum()
    m.table("bent", [-9, 1, 9], [1, 2, 1], "linear")
    slider = m.body("slider", mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    m.joint("z", mt.Prismatic("z"), m.ground, slider)
    m.constrain("z' = bent(A)*A'")
    assert m.build().mobility == 1
