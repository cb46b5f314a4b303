"""The inertia of a rigid body: that of a cloud of point masses, and dense 6x6 matrices written out here."""

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from momentree.spatial import ZERO, Motion, RigidInertia, Transform, Vector, Z, turn
from momentree.spatial.rotation import cardan
from scalars import on_expressions, on_symbols, same_on_a_batch

plenty = settings(deadline=None, max_examples=30)

components = st.floats(-2, 2)
threes = st.tuples(*[components] * 3)
vectors = threes.map(lambda e: Vector(*e))
motions = st.builds(Motion, vectors, vectors)
placements = st.builds(lambda angles, p: Transform(cardan(*angles), p), threes, vectors)
points = st.tuples(st.floats(0.1, 3), vectors)
clouds = st.lists(points, min_size=1, max_size=5)


def near(found, expected, atol=1e-11):
    np.testing.assert_allclose(np.array([*found], dtype=float), np.array([*expected], dtype=float), rtol=0, atol=atol)


def flat(M):
    return [M.mass, *M.h, *M.J]


def point_mass(m, r):
    return RigidInertia.about_centre(m, r, (0, 0, 0, 0, 0, 0))


def inertia_of(cloud):
    """At the origin, by the definitions: sums of m, m r, m (r.r E - r r')."""
    m = np.array([mass for mass, _ in cloud])
    r = np.array([[*position] for _, position in cloud])
    J = np.einsum("i,ij,ij", m, r, r) * np.eye(3) - np.einsum("i,ij,ik->jk", m, r, r)
    symmetric = (J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
    return RigidInertia(m.sum(), Vector(*(m @ r)), symmetric)


def moment_matrix(M):
    xx, yy, zz, xy, xz, yz = M.J
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def cross_matrix(a):
    x, y, z = a
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def mass_matrix(M):
    """[[m E, -[h x]], [[h x], J]]."""
    h = cross_matrix(M.h)
    return np.block([[M.mass * np.eye(3), -h], [h, moment_matrix(M)]])


def six_matrix(X_AB):
    R, p = np.array([[*row] for row in X_AB.rotation.rows]), cross_matrix(X_AB.offset)
    return np.block([[R.T, -R.T @ p], [np.zeros((3, 3)), R.T]])


# ---- against a cloud of point masses


@plenty
@given(clouds)
def test_bodies_add_up(cloud):
    total = point_mass(*cloud[0])
    for point in cloud[1:]:
        total = total + point_mass(*point)
    near(flat(total), flat(inertia_of(cloud)))


@plenty
@given(clouds, motions)
def test_the_momentum_is_that_of_the_points(cloud, v):
    momentum = inertia_of(cloud) @ v
    linear, angular = ZERO, ZERO
    for m, r in cloud:
        p = (v.linear + v.angular.cross(r)) * m
        linear, angular = linear + p, angular + r.cross(p)
    near(momentum, [*linear, *angular], 1e-10)


@plenty
@given(clouds, motions)
def test_the_kinetic_energy_is_that_of_the_points(cloud, v):
    speeds = [(m, v.linear + v.angular.cross(r)) for m, r in cloud]
    energy = sum(m * (u @ u) for m, u in speeds) / 2
    assert (v @ (inertia_of(cloud) @ v)) / 2 == pytest.approx(energy, abs=1e-10)


@plenty
@given(clouds, placements)
def test_a_body_seen_from_its_parent_is_the_same_points(cloud, X_AB):
    there = [(m, X_AB.point(r)) for m, r in cloud]
    near(flat(X_AB.inertia_to_parent(inertia_of(cloud))), flat(inertia_of(there)), 1e-10)


@plenty
@given(clouds, threes)
def test_turned_is_the_same_points_in_other_axes(cloud, angles):
    R = cardan(*angles)
    near(flat(inertia_of(cloud).turned(R)), flat(inertia_of([(m, R @ r) for m, r in cloud])), 1e-10)


@plenty
@given(clouds, vectors)
def test_shifted_is_the_same_points_from_another_origin(cloud, p):
    # not about the centre of mass: Steiner's theorem with the first moment
    M = inertia_of(cloud)
    near(flat(M.shifted(p)), flat(inertia_of([(m, r + p) for m, r in cloud])), 1e-10)
    near(flat(M.shifted(p).shifted(-p)), flat(M), 1e-10)


@plenty
@given(clouds, vectors)
def test_about_centre_is_steiners_theorem(cloud, centre):
    M = inertia_of(cloud)
    at_centre = M.shifted(M.h * (-1 / M.mass))
    near([*at_centre.h], [0, 0, 0], 1e-10)
    found = RigidInertia.about_centre(M.mass, centre, at_centre.J)
    c = np.array([*centre])
    near([*found.h], M.mass * c)
    near(
        moment_matrix(found).ravel(),
        (moment_matrix(at_centre) + M.mass * (c @ c * np.eye(3) - np.outer(c, c))).ravel(),
        1e-10,
    )


@plenty
@given(clouds, st.floats(0, 1))
def test_shares_of_a_body_make_it_whole(cloud, share):
    M = inertia_of(cloud)
    near(flat(M * share), share * np.array(flat(M)))
    near(flat(M * share + M * (1 - share)), flat(M))


# ---- against dense matrices


@plenty
@given(clouds, motions)
def test_the_momentum_is_the_dense_product(cloud, v):
    M = inertia_of(cloud)
    near(M @ v, mass_matrix(M) @ [*v], 1e-10)
    near([*M.turning(v.angular)], moment_matrix(M) @ [*v.angular])


@plenty
@given(clouds, placements, motions)
def test_an_inertia_at_the_parent_is_the_dense_congruence(cloud, X_AB, v):
    M = inertia_of(cloud)
    C, there = six_matrix(X_AB), X_AB.inertia_to_parent(M)
    near(mass_matrix(there).ravel(), (C.T @ mass_matrix(M) @ C).ravel(), 1e-10)
    # step by step: see the motion from the body, take its momentum, bring that to the parent
    near(there @ v, X_AB.force_to_parent(M @ X_AB.motion(v)), 1e-9)


@plenty
@given(clouds, placements, placements)
def test_inertias_follow_the_composition_of_placements(cloud, X_AB, X_BC):
    M = inertia_of(cloud)
    near(flat((X_AB @ X_BC).inertia_to_parent(M)), flat(X_AB.inertia_to_parent(X_BC.inertia_to_parent(M))), 1e-9)


@plenty
@given(clouds, clouds)
def test_equal_inertias_are_equal_keys(one, other):
    M, N = inertia_of(one), inertia_of(other)
    assert (M == N) is (flat(M) == flat(N))
    again = inertia_of(one)
    assert again == M
    assert hash(M) == hash(again)
    assert M.shifted(Vector(1.0, 0.0, 0.0)) != M


# ---- the same formulas on every kind of scalar


def body(s):
    return RigidInertia(s[0], Vector(*s[1:4]), tuple(s[4:10]))


def placement(s):
    return Transform(cardan(*s[10:13]), Vector(*s[13:16]))


FORMULAS = {
    "momentum": lambda s: [*(body(s) @ Motion(Vector(*s[10:13]), Vector(*s[13:16])))],
    "turned": lambda s: flat(body(s).turned(cardan(*s[10:13]))),
    "shifted": lambda s: flat(body(s).shifted(Vector(*s[13:16]))),
    "to parent": lambda s: flat(placement(s).inertia_to_parent(body(s))),
    "about centre": lambda s: flat(RigidInertia.about_centre(s[0], Vector(*s[1:4]), tuple(s[4:10]))),
    "sum": lambda s: flat(body(s) * s[15] + body(s[6:])),
}
every_formula = pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
sixteen = st.tuples(*[components] * 16)


@every_formula
@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_a_batch_is_the_loop_over_its_entries(formula, seed):
    same_on_a_batch(formula, 16, seed, span=2.0, atol=1e-11)


@every_formula
@settings(deadline=None, max_examples=3)
@given(values=sixteen)
def test_symbols_stay_exact_and_give_the_same_numbers(formula, values):
    near(on_symbols(formula, values), formula(values))


@every_formula
@settings(deadline=None, max_examples=3)
@given(values=sixteen)
def test_expressions_give_the_same_numbers(formula, values):
    near(on_expressions(formula, values), formula(values))


# ---- identities that hold exactly, on symbols

m, hx, hy, hz, x, y, z, angle = sympy.symbols("m hx hy hz x y z angle", real=True)
BODY = RigidInertia(m, Vector(hx, hy, hz), sympy.symbols("xx yy zz xy xz yz", real=True))


def symbolic_cross(a):
    return sympy.Matrix([[0, -a.z, a.y], [a.z, 0, -a.x], [-a.y, a.x, 0]])


def symbolic_mass(M):
    xx, yy, zz, xy, xz, yz = M.J
    h, J = symbolic_cross(M.h), sympy.Matrix([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return sympy.Matrix(sympy.BlockMatrix([[M.mass * sympy.eye(3), -h], [h, J]]))


def test_the_momentum_is_the_dense_product_exactly():
    v = sympy.symbols("v:6", real=True)
    found = sympy.Matrix([*(BODY @ Motion(Vector(*v[:3]), Vector(*v[3:])))])
    assert sympy.expand(found - symbolic_mass(BODY) * sympy.Matrix(v)) == sympy.zeros(6, 1)


def test_an_inertia_at_the_parent_is_the_dense_congruence_exactly():
    X_AB = Transform(turn(Z, angle), Vector(x, y, z))
    R = sympy.Matrix([[*row] for row in X_AB.rotation.rows])
    p = symbolic_cross(X_AB.offset)
    C = sympy.Matrix(sympy.BlockMatrix([[R.T, -R.T * p], [sympy.zeros(3), R.T]]))
    found = symbolic_mass(X_AB.inertia_to_parent(BODY))
    difference = (found - C.T * symbolic_mass(BODY) * C).applyfunc(sympy.expand)
    reduced = difference.applyfunc(lambda e: e.subs(sympy.cos(angle) ** 2, 1 - sympy.sin(angle) ** 2))
    assert not found.atoms(sympy.Float)
    assert reduced.applyfunc(sympy.expand) == sympy.zeros(6)
