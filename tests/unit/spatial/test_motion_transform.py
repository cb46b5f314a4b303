"""Motions, forces and placements: rigid velocity fields, power, and dense 6x6 matrices written out here."""

import itertools
import math

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation as ScipyRotation

from momentree.spatial import REST, ZERO, Force, Motion, MotionSubspace, Rotation, Transform, Vector, X, Y, Z, turn
from momentree.spatial.rotation import cardan, quaternion_rotation, vector_quaternion
from scalars import on_expressions, on_symbols, same_on_a_batch

plenty = settings(deadline=None, max_examples=30)

components = st.floats(-3, 3)
threes = st.tuples(*[components] * 3)
vectors = threes.map(lambda e: Vector(*e))
motions = st.builds(Motion, vectors, vectors)
forces = st.builds(Force, vectors, vectors)
placements = st.builds(lambda angles, p: Transform(cardan(*angles), p), threes, vectors)


def near(found, expected, atol=1e-12):
    np.testing.assert_allclose(np.array([*found], dtype=float), np.array([*expected], dtype=float), rtol=0, atol=atol)


def cross_matrix(a):
    x, y, z = a
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=float)


def rotation_matrix(X_AB):
    return np.array([[*row] for row in X_AB.rotation.rows], dtype=float)


def homogeneous(X_AB):
    """The 4x4 matrix that takes points given in B to points given in A."""
    return np.block([[rotation_matrix(X_AB), np.array([[*X_AB.offset]]).T], [np.zeros((1, 3)), np.eye(1)]])


def six_matrix(X_AB):
    """C: (R'(v + w x p); R' w), as a matrix on (v; w)."""
    R, p = rotation_matrix(X_AB), cross_matrix(X_AB.offset)
    return np.block([[R.T, -R.T @ p], [np.zeros((3, 3)), R.T]])


def motion_matrix(v):
    """[v x] on motions; -[v x]' acts on forces."""
    return np.block(
        [[cross_matrix(v.angular), cross_matrix(v.linear)], [np.zeros((3, 3)), cross_matrix(v.angular)]],
    )


def velocity_at(v, r):
    """The velocity of a point r of the rigid body that moves with v."""
    return np.array([*v.linear]) + np.cross([*v.angular], [*r])


def moved(v, h):
    """Where a frame comes that leaves the origin with the motion v and keeps v in its own axes, after a short time."""
    w = v.angular * h
    turning = quaternion_rotation(vector_quaternion(w))
    # p = integral of exp([w s]) v ds, to third order
    p = v.linear * h + w.cross(v.linear) * (h / 2) + w.cross(w.cross(v.linear)) * (h / 6)
    return Transform(turning, p)


# ---- six-vectors


@plenty
@given(threes, threes, threes, threes, components)
def test_six_vectors_are_added_and_scaled_linear_part_first(a, b, c, d, s):
    for kind in (Motion, Force):
        u, v = kind(Vector(*a), Vector(*b)), kind(Vector(*c), Vector(*d))
        near(u, [*a, *b])
        near(u + v, np.add([*a, *b], [*c, *d]))
        near(u - v, np.subtract([*a, *b], [*c, *d]))
        near(-u, np.negative([*a, *b]))
        near(u * s, s * np.array([*a, *b]))
        assert s * u == u * s == np.float64(s) * u
        assert type(u + v) is type(s * u) is type(-u) is kind
        assert (u == v) is ((a, b) == (c, d))
        assert hash(u) == hash(kind(Vector(*a), Vector(*b)))


@plenty
@given(vectors, vectors)
def test_a_motion_is_never_a_force(a, b):
    assert Motion(a, b) != Force(a, b)


@plenty
@given(motions, vectors, vectors)
def test_the_power_of_a_force_is_that_at_its_point(v, r, F):
    # a force F at the point r has the moment r x F about the origin
    assert v @ Force(F, r.cross(F)) == pytest.approx(velocity_at(v, r) @ [*F], abs=1e-11)
    assert v @ Force(ZERO, F) == pytest.approx(np.dot([*v.angular], [*F]), abs=1e-12)


@plenty
@given(st.lists(motions, max_size=6), forces, st.data())
def test_the_axes_of_a_joint_are_a_matrix_by_its_columns(columns, f, data):
    u = data.draw(st.tuples(*[components] * len(columns)))
    A = MotionSubspace(columns)
    dense = np.array([[*column] for column in columns]).reshape(-1, 6).T
    near(A @ u, dense @ np.array(u))
    near(A.along(f), dense.T @ [*f])
    # the generalized forces do the same work
    assert (A @ u) @ f == pytest.approx(float(np.dot(u, A.along(f))), abs=1e-10)


def test_axes_take_one_rate_for_each_column():
    A = MotionSubspace([Motion(X, ZERO), Motion(ZERO, Z)])
    for velocities in ((1.0,), (1.0, 2.0, 3.0), ()):
        with pytest.raises(ValueError, match="argument"):
            A @ velocities
    assert MotionSubspace([]) @ () == REST


# ---- placements


@plenty
@given(placements, placements, vectors)
def test_placements_compose_like_homogeneous_matrices(X_AB, X_BC, r):
    X_AC = X_AB @ X_BC
    near(homogeneous(X_AC).ravel(), (homogeneous(X_AB) @ homogeneous(X_BC)).ravel())
    near(homogeneous(X_AB.inverse()).ravel(), np.linalg.inv(homogeneous(X_AB)).ravel())
    near([*X_AB.point(r), 1], homogeneous(X_AB) @ [*r, 1])
    near(homogeneous(Transform() @ X_AB).ravel(), homogeneous(X_AB).ravel())


@plenty
@given(placements, placements)
def test_equal_placements_are_equal_keys(X_AB, X_BC):
    again = Transform(Rotation(*X_AB.rotation.rows), Vector(*X_AB.offset))
    assert again == X_AB
    assert hash(X_AB) == hash(again)
    assert Transform(X_AB.rotation, X_AB.offset + X) != X_AB
    assert Transform(X_AB.rotation @ turn(Y, 1.0), X_AB.offset) != X_AB
    assert X_AB.rotation != X_AB


@plenty
@given(placements, motions, vectors)
def test_a_motion_seen_from_another_frame_is_the_same_velocity_field(X_AB, v, r):
    seen = X_AB.motion(v)
    R = rotation_matrix(X_AB)
    near(R @ velocity_at(seen, r), velocity_at(v, X_AB.point(r)), 1e-11)


@plenty
@given(placements, motions, forces)
def test_motions_and_forces_transform_by_the_dense_matrices(X_AB, v, f):
    C = six_matrix(X_AB)
    near(X_AB.motion(v), C @ [*v], 1e-11)
    near(X_AB.motion_to_parent(v), np.linalg.solve(C, [*v]), 1e-11)
    near(X_AB.force_to_parent(f), C.T @ [*f], 1e-11)
    near(X_AB.force(f), np.linalg.solve(C.T, [*f]), 1e-11)


@plenty
@given(placements, motions, forces)
def test_power_does_not_depend_on_the_frame(X_AB, v, f):
    assert X_AB.motion(v) @ X_AB.force(f) == pytest.approx(v @ f, abs=1e-10)
    assert X_AB.motion_to_parent(v) @ X_AB.force_to_parent(f) == pytest.approx(v @ f, abs=1e-10)
    assert X_AB.motion(v) @ f == pytest.approx(v @ X_AB.force_to_parent(f), abs=1e-10)


@plenty
@given(placements, motions, forces)
def test_to_parent_and_back(X_AB, v, f):
    near(X_AB.motion_to_parent(X_AB.motion(v)), v, 1e-11)
    near(X_AB.motion(X_AB.motion_to_parent(v)), v, 1e-11)
    near(X_AB.force_to_parent(X_AB.force(f)), f, 1e-11)
    near(X_AB.motion_to_parent(v), X_AB.inverse().motion(v), 1e-11)
    near(X_AB.force_to_parent(f), X_AB.inverse().force(f), 1e-11)


@plenty
@given(placements, placements, motions, forces)
def test_transforms_follow_the_composition_of_placements(X_AB, X_BC, v, f):
    X_AC = X_AB @ X_BC
    near(X_AC.motion(v), X_BC.motion(X_AB.motion(v)), 1e-10)
    near(X_AC.force(f), X_BC.force(X_AB.force(f)), 1e-10)
    near(X_AC.motion_to_parent(v), X_AB.motion_to_parent(X_BC.motion_to_parent(v)), 1e-10)
    near(X_AC.force_to_parent(f), X_AB.force_to_parent(X_BC.force_to_parent(f)), 1e-10)


# ---- cross operators


@plenty
@given(motions, motions, forces)
def test_cross_operators_are_the_dense_matrices(v, m, f):
    near(v.cross(m), motion_matrix(v) @ [*m])
    near(v.cross_force(f), -motion_matrix(v).T @ [*f])


@plenty
@given(motions, motions, forces)
def test_cross_is_the_rate_of_what_is_fixed_in_a_moving_frame(v, m, f):
    h = 1e-5
    later, before = moved(v, h), moved(v, -h)
    near((later.motion_to_parent(m) - before.motion_to_parent(m)) * (1 / (2 * h)), v.cross(m), 1e-6)
    near((later.force_to_parent(f) - before.force_to_parent(f)) * (1 / (2 * h)), v.cross_force(f), 1e-6)


@plenty
@given(placements, motions, motions, forces)
def test_cross_does_not_depend_on_the_frame(X_AB, v, m, f):
    near(X_AB.motion(v.cross(m)), X_AB.motion(v).cross(X_AB.motion(m)), 1e-9)
    near(X_AB.force(v.cross_force(f)), X_AB.motion(v).cross_force(X_AB.force(f)), 1e-9)


@plenty
@given(motions, motions, forces)
def test_power_of_two_things_fixed_in_a_frame_does_not_change(v, m, f):
    assert v.cross(m) @ f + m @ v.cross_force(f) == pytest.approx(0, abs=1e-10)
    near(v.cross(v), REST)


# ---- the same formulas on every kind of scalar


def placement(s):
    return Transform(cardan(*s[:3]), Vector(*s[3:6]))


def motion(s):
    return Motion(Vector(*s[6:9]), Vector(*s[9:12]))


def force(s):
    return Force(Vector(*s[12:15]), Vector(*s[15:18]))


def flat(X_AB):
    return [*itertools.chain(*X_AB.rotation.rows), *X_AB.offset]


FORMULAS = {
    "power": lambda s: [motion(s) @ force(s)],
    "cross": lambda s: [*motion(s).cross(motion(s[3:]))],
    "cross force": lambda s: [*motion(s).cross_force(force(s))],
    "axes": lambda s: [*(MotionSubspace([motion(s), motion(s[3:])]) @ s[:2])],
    "along": lambda s: [*MotionSubspace([motion(s), motion(s[3:])]).along(force(s))],
    "placement": lambda s: flat(placement(s) @ placement(s[2:])),
    "inverse": lambda s: flat(placement(s).inverse()),
    "point": lambda s: [*placement(s).point(Vector(*s[6:9]))],
    "motion": lambda s: [*placement(s).motion(motion(s))],
    "motion to parent": lambda s: [*placement(s).motion_to_parent(motion(s))],
    "force": lambda s: [*placement(s).force(force(s))],
    "force to parent": lambda s: [*placement(s).force_to_parent(force(s))],
}
every_formula = pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
eighteen = st.tuples(*[components] * 18)


@every_formula
@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_a_batch_is_the_loop_over_its_entries(formula, seed):
    same_on_a_batch(formula, 18, seed, span=3.0, atol=1e-12)


@every_formula
@settings(deadline=None, max_examples=3)
@given(values=eighteen)
def test_symbols_stay_exact_and_give_the_same_numbers(formula, values):
    near(on_symbols(formula, values), formula(values))


@every_formula
@settings(deadline=None, max_examples=3)
@given(values=eighteen)
def test_expressions_give_the_same_numbers(formula, values):
    near(on_expressions(formula, values), formula(values))


# ---- identities that hold exactly, on symbols


def symbolic(name, kind):
    e = sympy.symbols(f"{name}:6", real=True)
    return kind(Vector(*e[:3]), Vector(*e[3:]))


def test_the_commutator_of_motions_is_a_lie_bracket():
    a, b, c = (symbolic(name, Motion) for name in "abc")
    antisymmetric = a.cross(b) + b.cross(a)
    jacobi = a.cross(b.cross(c)) + b.cross(c.cross(a)) + c.cross(a.cross(b))
    assert all(sympy.expand(entry) == 0 for entry in (*antisymmetric, *jacobi))


def test_cross_on_forces_is_dual_to_cross_on_motions():
    v, m, f = symbolic("v", Motion), symbolic("m", Motion), symbolic("f", Force)
    assert sympy.expand(v.cross(m) @ f + m @ v.cross_force(f)) == 0


def test_power_does_not_depend_on_the_frame_exactly():
    angle, x, y, z = sympy.symbols("angle x y z", real=True)
    v, f = symbolic("v", Motion), symbolic("f", Force)
    for axis in (X, Y, Z):
        X_AB = Transform(turn(axis, angle), Vector(x, y, z))
        difference = sympy.expand(X_AB.motion(v) @ X_AB.force(f) - v @ f)
        assert sympy.expand(difference.subs(sympy.cos(angle) ** 2, 1 - sympy.sin(angle) ** 2)) == 0


def test_a_quarter_turn_and_an_offset_by_hand():
    # B stands one metre along x of A, turned a quarter about z: its x is A's y
    X_AB = Transform(turn(Z, math.pi / 2), X)
    spin = X_AB.motion(Motion(ZERO, Z))  # A spins about its z: B's origin moves along A's y
    near(spin, [1, 0, 0, 0, 0, 1])
    push = X_AB.force_to_parent(Force(X, ZERO))  # a unit force along B's x is along A's y, with a lever of one metre
    near(push, [0, 1, 0, 0, 0, 1])
    near(X_AB.point(X), [1, 1, 0])
    near(rotation_matrix(X_AB).ravel(), ScipyRotation.from_euler("z", 90, degrees=True).as_matrix().ravel())
