"""Vectors, rotations and quaternions against dense matrices and scipy, on floats, batches, symbols and expressions."""

import itertools
import math

import numpy as np
import pytest
import sympy
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation as ScipyRotation

from momentree.spatial import IDENTITY, ZERO, Rotation, Vector, X, Y, Z, turn
from momentree.spatial.rotation import (
    cardan,
    cardan_quaternion,
    cardan_velocity,
    normalised,
    quaternion_product,
    quaternion_rotation,
    rotation_quaternion,
    rotation_vector,
    vector_quaternion,
)
from momentree.spatial.vector import axis_name, normals
from scalars import on_expressions, on_symbols, same_on_a_batch

plenty = settings(deadline=None, max_examples=30)

components = st.floats(-3, 3)
angles = st.floats(-7, 7)
triples = st.tuples(components, components, components)
NAMED = [X, Y, Z, -X, -Y, -Z]
DIAGONAL = math.sqrt(0.5)
BOUNDARY = [(0.5, 0.5, 0.5, 0.5), (DIAGONAL, 0, 0, DIAGONAL), (DIAGONAL, DIAGONAL, 0, 0), (0, DIAGONAL, DIAGONAL, 0)]


@st.composite
def directions(draw):
    """A unit vector: often one of the axes, which have formulas of their own."""
    if draw(st.booleans()):
        return draw(st.sampled_from(NAMED))
    n = np.array(draw(triples.filter(lambda n: np.linalg.norm(n) > 0.1)))
    return Vector(*(n / np.linalg.norm(n)).tolist())


@st.composite
def quaternions(draw):
    q = np.array(draw(st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: np.linalg.norm(q) > 0.1)))
    return tuple((q / np.linalg.norm(q)).tolist())


def dense(R):
    return np.array([list(row) for row in R.rows], dtype=float)


def rotation(matrix):
    return Rotation(*(Vector(*row) for row in np.asarray(matrix).tolist()))


def cross_matrix(a):
    x, y, z = a
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def near(found, expected, atol=1e-13):
    np.testing.assert_allclose(np.array(found, dtype=float), expected, rtol=0, atol=atol)


def same_up_to_sign(p, q, atol=1e-13):
    """The two quaternions of one rotation."""
    near(np.array(p) * np.sign(np.dot(p, q)), q, atol)


# ---- vectors


@plenty
@given(triples, triples, components)
def test_vectors_are_the_vectors_of_three_dimensions(a, b, s):
    u, v, a, b = Vector(*a), Vector(*b), np.array(a), np.array(b)
    near([*(u + v)], a + b)
    near([*(u - v)], a - b)
    near([*-u], -a)
    near([*(u * s)], a * s)
    near([*(s * u)], a * s)
    near([*(u / (s * s + 1))], a / (s * s + 1))
    near(u @ v, a @ b)
    near([*u.cross(v)], cross_matrix(a) @ b)
    near(u.norm, np.linalg.norm(a))


@plenty
@given(triples, components)
def test_a_numpy_number_or_batch_times_a_vector_is_a_vector(a, s):
    v = Vector(*a)
    assert np.float64(s) * v == v * np.float64(s) == v * s
    batch = np.full(5, s) * v
    assert isinstance(batch, Vector)
    assert np.array([*batch]).shape == (3, 5)


@plenty
@given(triples, triples)
def test_equal_vectors_and_rotations_are_equal_keys(a, b):
    assert (Vector(*a) == Vector(*b)) is (a == b)
    assert hash(Vector(*a)) == hash(Vector(*a))
    assert Vector(*a) != a
    R, Q = Rotation(X, Y, Vector(*a)), Rotation(X, Y, Vector(*b))
    assert (R == Q) is (a == b)
    assert hash(R) == hash(Rotation(X, Y, Vector(*a)))
    assert hash(Vector(1, 0, 0)) == hash(Vector(1.0, -0.0, 0.0))


@plenty
@given(directions())
def test_normals_make_a_right_handed_triad(n):
    n1, n2 = normals(n)
    triad = np.array([[*n1], [*n2], [*n]], dtype=float)
    near(triad @ triad.T, np.eye(3))
    near(np.linalg.det(triad), 1)


def test_normals_of_the_axes_are_the_other_axes():
    assert normals(Z) == (X, Y)
    assert normals(X) == (Y, Z)
    assert normals(Y) == (Z, X)


def test_axes_are_called_by_their_names():
    assert [axis_name(n) for n in NAMED] == ["x", "y", "z", "-x", "-y", "-z"]
    assert axis_name(Vector(0.0, 0.0, 1.0)) == "z"
    assert axis_name(Vector(0.6, 0.0, -0.8)) == "(0.6, 0, -0.8)"


# ---- rotations


@plenty
@given(directions(), angles, triples)
def test_a_turn_is_the_exponential_of_its_rotation_vector(n, angle, r):
    R = turn(n, angle)
    expected = ScipyRotation.from_rotvec(np.array([*n]) * angle).as_matrix()
    near(dense(R), expected)
    near([*(R @ Vector(*r))], expected @ r)
    near(dense(R.T), expected.T)
    near(dense(R @ R.T), np.eye(3))


@plenty
@given(directions(), angles)
def test_the_rate_of_a_turn_is_an_angular_velocity_along_its_axis(n, angle):
    h = 1e-5
    rate = (dense(turn(n, angle + h)) - dense(turn(n, angle - h))) / (2 * h)
    near(rate, cross_matrix(n) @ dense(turn(n, angle)), 1e-9)


@plenty
@given(directions(), angles, directions(), angles, triples)
def test_rotations_compose_from_right_to_left(m, a, n, b, r):
    R, Q, r = turn(m, a), turn(n, b), Vector(*r)
    near(dense(R @ Q), dense(R) @ dense(Q))
    near([*((R @ Q) @ r)], [*(R @ (Q @ r))])
    near(dense((R @ Q).T), dense(Q.T @ R.T))


def test_the_identity_turns_nothing():
    assert turn(X, 0.0) == turn(Y, 0.0) == turn(Z, 0.0) == IDENTITY
    assert IDENTITY @ IDENTITY == IDENTITY == IDENTITY.T
    assert cardan(0.0, 0.0, 0.0) == IDENTITY


@plenty
@given(angles, angles, angles)
def test_cardan_angles_are_turns_about_axes_already_turned(a, b, c):
    near(dense(cardan(a, b, c)), ScipyRotation.from_euler("XYZ", [a, b, c]).as_matrix())


@plenty
@given(angles, angles, angles, triples)
def test_the_rate_of_cardan_angles_is_the_angular_velocity_in_turned_axes(a, b, c, velocities):
    # [w x] = R' dR/dt
    h = 1e-5
    later, before = (dense(cardan(*(np.array([a, b, c]) + s * h * np.array(velocities)))) for s in (1, -1))
    w_cross = dense(cardan(a, b, c)).T @ (later - before) / (2 * h)
    near(cross_matrix(cardan_velocity(b, c, velocities)), w_cross, 5e-8)


# ---- quaternions


@plenty
@given(quaternions())
def test_the_matrix_of_a_quaternion(q):
    near(dense(quaternion_rotation(q)), ScipyRotation.from_quat(q).as_matrix())


@plenty
@given(quaternions(), quaternions())
def test_the_product_of_quaternions_is_the_product_of_rotations(p, q):
    product = quaternion_product(p, q)
    near(dense(quaternion_rotation(product)), dense(quaternion_rotation(p)) @ dense(quaternion_rotation(q)))
    same_up_to_sign(product, (ScipyRotation.from_quat(p) * ScipyRotation.from_quat(q)).as_quat())


def test_the_units_multiply_as_hamilton_wrote():
    # i j = k, j k = i, k i = j, i i = j j = k k = i j k = -1
    i, j, k, one = (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)
    assert quaternion_product(i, j) == k
    assert quaternion_product(j, k) == i
    assert quaternion_product(k, i) == j
    minus_one = tuple(-e for e in one)
    assert all(quaternion_product(unit, unit) == minus_one for unit in (i, j, k))
    assert quaternion_product(quaternion_product(i, j), k) == minus_one


@plenty
@given(angles, angles, angles)
def test_the_quaternion_of_cardan_angles(a, b, c):
    q = cardan_quaternion(a, b, c)
    near(np.linalg.norm(q), 1)
    near(dense(quaternion_rotation(q)), dense(cardan(a, b, c)))


def test_the_quaternion_of_cardan_angles_does_not_jump():
    # over two full turns it changes its sign once: the law of a prescribed ball stays smooth
    near(cardan_quaternion(2 * math.pi, 0, 0), [0, 0, 0, -1])
    near(cardan_quaternion(4 * math.pi, 0, 0), [0, 0, 0, 1])


@plenty
@given(quaternions())
@example(BOUNDARY[0])
@example(BOUNDARY[1])
@example(BOUNDARY[2])
@example(BOUNDARY[3])
def test_a_rotation_matrix_gives_its_quaternion_back(q):
    found = rotation_quaternion(quaternion_rotation(q))
    assert found[3] >= 0
    near(np.linalg.norm(found), 1)
    same_up_to_sign(found, q)


@plenty
@given(directions(), st.sampled_from([0, 1e-15, 1e-9, -1e-9, 1e-4]))
def test_half_turns_about_any_axis_have_a_quaternion(n, missing):
    # w is (nearly) zero there: one of the three other components has to lead
    R = turn(n, math.pi - missing)
    found = rotation_quaternion(R)
    assert found[3] >= 0
    near(dense(quaternion_rotation(found)), dense(R), 1e-12)
    same_up_to_sign(found, [*(np.array([*n]) * math.cos(missing / 2)), math.sin(missing / 2)], 1e-12)


@pytest.mark.parametrize("leading", range(4))
@plenty
@given(small=st.tuples(*[st.floats(-0.4, 0.4)] * 3), sign=st.sampled_from([1, -1]))
def test_every_component_of_a_quaternion_can_lead(leading, small, sign):
    q = normalised((*small[:leading], sign, *small[leading:]))
    assert abs(q[leading]) == max(map(abs, q))
    same_up_to_sign(rotation_quaternion(quaternion_rotation(q)), q)


@plenty
@given(st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: np.linalg.norm(q) > 1e-3))
def test_a_normalised_quaternion_has_unit_length_along_the_given_one(q):
    found = np.array(normalised(q))
    near(np.linalg.norm(found), 1)
    near(found * np.linalg.norm(q), q)


@plenty
@given(directions(), st.floats(-20, 20))
@example(X, 0.0)
@example(Vector(0.6, 0.0, 0.8), 1e-200)
@example(Vector(0.6, 0.0, 0.8), 0.99e-9)
@example(Vector(0.6, 0.0, 0.8), 1.01e-9)
@example(Vector(0.6, 0.0, 0.8), 9e-3)
def test_the_quaternion_of_a_rotation_vector(n, angle):
    # (n sin(angle/2), cos(angle/2)), of a tiny vector too
    found = vector_quaternion(n * angle)
    expected = [*(np.array([*n]) * math.sin(angle / 2)), math.cos(angle / 2)]
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15 * abs(angle) + 1e-300)


@plenty
@given(directions(), st.floats(0, math.pi - 1e-6))
@example(Vector(0.6, 0.0, 0.8), math.pi - 1e-9)
@example(Z, math.pi - 1e-9)
def test_the_rotation_vector_of_a_turn_is_axis_times_angle(n, angle):
    near([*rotation_vector(turn(n, angle))], np.array([*n]) * angle, 1e-12)


@pytest.mark.parametrize("angle", [1e-3, 1e-6, 1e-9, 1e-12, 1e-15, 1e-100, 1e-160, 1e-170, 1e-300])
@pytest.mark.parametrize("n", [X, -Y, Vector(2 / 3, -1 / 3, 2 / 3)])
def test_the_rotation_vector_of_a_tiny_turn_keeps_its_digits(n, angle):
    found = rotation_vector(turn(n, angle))
    np.testing.assert_allclose([*(found / angle)], [*n], rtol=1e-12, atol=1e-12)


def test_the_rotation_vector_of_no_turn_is_zero():
    assert rotation_vector(IDENTITY) == ZERO
    assert rotation_vector(turn(Y, 0.0)) == ZERO


@plenty
@given(directions())
def test_the_rotation_vector_of_a_half_turn_is_pi_long_either_way(n):
    r = np.array([*rotation_vector(turn(n, math.pi))])
    near(np.linalg.norm(r), math.pi)
    near(r * np.sign(r @ [*n]), np.array([*n]) * math.pi, 1e-12)


@plenty
@given(triples)
def test_rotation_vector_matrix_and_quaternion_agree(r):
    r = np.array(r) / 2
    near([*rotation_vector(quaternion_rotation(vector_quaternion(Vector(*r))))], r, 1e-12)


@plenty
@given(quaternions(), st.sampled_from([1e-12, 1e-9]))
def test_a_matrix_with_round_off_still_has_a_unit_quaternion(q, error):
    matrix = dense(quaternion_rotation(q)) + error * np.sin(np.arange(9)).reshape(3, 3)
    found = rotation_quaternion(rotation(matrix))
    near(np.linalg.norm(found), 1)
    same_up_to_sign(found, q, 10 * error)


# ---- the same formulas on every kind of scalar

FORMULAS = {
    "vector sum": lambda s: [*(Vector(*s[:3]) + Vector(*s[3:6]) * s[6] - Vector(*s[1:4]) / (s[0] * s[0] + 1))],
    "cross": lambda s: [*Vector(*s[:3]).cross(Vector(*s[3:6]))],
    "dot": lambda s: [Vector(*s[:3]) @ Vector(*s[3:6])],
    "norm": lambda s: [Vector(*s[:3]).norm],
    "turn x": lambda s: entries(turn(X, s[0])),
    "turn y": lambda s: entries(turn(Y, s[0])),
    "turn z": lambda s: entries(turn(Z, s[0])),
    "turn n": lambda s: entries(turn(Vector(2 / 3, -1 / 3, 2 / 3), s[0])),
    "product": lambda s: entries(turn(X, s[0]) @ turn(Z, s[1]).T),
    "turned": lambda s: [*(turn(Y, s[0]) @ Vector(*s[1:4]))],
    "cardan": lambda s: entries(cardan(*s[:3])),
    "cardan velocity": lambda s: [*cardan_velocity(s[0], s[1], tuple(s[2:5]))],
    "quaternion": lambda s: entries(quaternion_rotation(tuple(s[:4]))),
    "quaternion product": lambda s: quaternion_product(tuple(s[:4]), tuple(s[3:7])),
    "cardan quaternion": lambda s: cardan_quaternion(*s[:3]),
}
every_formula = pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
seven = st.tuples(*[components] * 7)


def entries(R):
    return [*itertools.chain(*R.rows)]


@every_formula
@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_a_batch_is_the_loop_over_its_entries(formula, seed):
    same_on_a_batch(formula, 7, seed)


@every_formula
@settings(deadline=None, max_examples=5)
@given(values=seven)
def test_symbols_stay_exact_and_give_the_same_numbers(formula, values):
    exact = formula is not FORMULAS["turn n"]  # whose axis is of floats
    near(on_symbols(formula, values, exact), formula(values))


@every_formula
@settings(deadline=None, max_examples=5)
@given(values=seven)
def test_expressions_give_the_same_numbers(formula, values):
    near(on_expressions(formula, values), formula(values))


# ---- identities that hold exactly, on symbols

a, b, c, t = sympy.symbols("a b c t", real=True)
RATIONAL = Vector(sympy.Rational(2, 3), -sympy.Rational(1, 3), sympy.Rational(2, 3))


def matrix(R):
    return sympy.Matrix([[*row] for row in R.rows])


def vanishes(expression):
    """Whether a polynomial in sines and cosines is zero: written in exponentials, its terms cancel."""
    return sympy.expand(sympy.expand(sympy.sympify(expression).rewrite(sympy.exp)), power_exp=True) == 0


@pytest.mark.repeats(1)
@pytest.mark.parametrize("axis", [X, Y, Z, -X, RATIONAL], ids=str)
def test_turns_about_one_axis_add_up(axis):
    difference = matrix(turn(axis, a) @ turn(axis, b)) - matrix(turn(axis, a + b))
    assert sympy.simplify(difference) == sympy.zeros(3)
    assert sympy.simplify(matrix(turn(axis, a) @ turn(axis, a).T)) == sympy.eye(3)


def test_cardan_velocities_are_exact():
    angles = [sympy.Function(name)(t) for name in "abc"]
    velocities = [angle.diff(t) for angle in angles]
    R = matrix(cardan(*angles))
    w = cardan_velocity(angles[1], angles[2], tuple(velocities))
    w_cross = R.T * R.diff(t)
    found = [w_cross[2, 1], w_cross[0, 2], w_cross[1, 0]]
    assert all(vanishes(left - right) for left, right in zip(w, found, strict=True))


def test_the_quaternion_of_cardan_angles_is_exact():
    difference = matrix(quaternion_rotation(cardan_quaternion(a, b, c))) - matrix(cardan(a, b, c))
    assert all(vanishes(entry) for entry in difference)


def test_the_product_of_quaternions_is_exact():
    p, q = (sympy.symbols(f"{name}:4", real=True) for name in "pq")
    # |p q| = |p| |q|, for quaternions of any length
    squares = [sum(e**2 for e in one) for one in (quaternion_product(p, q), p, q)]
    assert sympy.expand(squares[0] - squares[1] * squares[2]) == 0


def test_a_quaternion_of_fractions_is_a_rotation_of_fractions():
    half = sympy.Rational(1, 2)
    # a third of a turn about (1, 1, 1) moves x to y, y to z, z to x
    R = quaternion_rotation((half, half, half, half))
    assert (R @ X, R @ Y, R @ Z) == (Y, Z, X)
