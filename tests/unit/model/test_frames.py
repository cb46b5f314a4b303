"""Frames: the ways to say how a frame is turned mean one rotation, and what is no rotation is refused."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation as ScipyRotation

from momentree.errors import ExpressionError
from momentree.model.expressions.expression import Reference, as_expression
from momentree.model.frames import ROTATION_TOLERANCE, Frame, Turn, rotation_of, turn
from momentree.model.values import Mistake, Values
from momentree.spatial import IDENTITY, Vector

plenty = settings(deadline=None, max_examples=30)
NOTHING = Values({})
NAMED = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1), "-x": (-1, 0, 0), "-y": (0, -1, 0), "-z": (0, 0, -1)}

angles = st.floats(-7, 7)
threes = st.tuples(*[st.floats(-3, 3)] * 3)
axes = st.sampled_from([*NAMED]) | threes.filter(lambda n: np.linalg.norm(n) > 0.1)
turns = st.tuples(axes, angles)


def placed(rotation, values=NOTHING, position=(0, 0, 0)):
    return Frame("body", position, rotation).placement(values)


def matrix(rotation, values=NOTHING):
    return np.array([[*row] for row in placed(rotation, values).rotation.rows], dtype=float)


def scipy_turn(axis, angle):
    n = np.array(NAMED.get(axis) if isinstance(axis, str) else axis, dtype=float)
    return ScipyRotation.from_rotvec(n / np.linalg.norm(n) * angle)


def near(found, expected, atol=1e-13):
    np.testing.assert_allclose(np.array(found, dtype=float), expected, rtol=0, atol=atol)


# ---- one rotation, said in several ways


@plenty
@given(turns)
def test_a_turn_a_matrix_and_a_quaternion_say_the_same(one):
    R = scipy_turn(*one)
    for rotation in (
        turn(*one),
        [turn(*one)],
        R.as_matrix(),
        R.as_matrix().tolist(),
        R.as_quat(),
        tuple(R.as_quat()),
        tuple(-R.as_quat()),
    ):
        near(matrix(rotation), R.as_matrix())


@plenty
@given(st.lists(turns, min_size=1, max_size=5))
def test_turns_in_a_sequence_are_about_axes_already_turned(sequence):
    R = ScipyRotation.identity()
    for one in sequence:
        R = R * scipy_turn(*one)
    near(matrix([turn(*one) for one in sequence]), R.as_matrix())
    near(matrix(tuple(turn(*one) for one in sequence)), R.as_matrix())


@plenty
@given(angles, angles, angles)
def test_the_order_of_turns_is_intrinsic(a, b, c):
    # capital letters of scipy: each turn about an axis of the frame as the turns before have left it
    near(matrix([turn("z", a), turn("x", b), turn("z", c)]), ScipyRotation.from_euler("ZXZ", [a, b, c]).as_matrix())


@plenty
@given(turns, threes, threes)
def test_a_frame_takes_its_points_to_the_body(one, position, point):
    X_BF = placed(turn(*one), position=position)
    expected = np.array(position) + scipy_turn(*one).as_matrix() @ point
    near([*X_BF.point(Vector(*point))], expected, 1e-12)


def test_a_matrix_has_the_axes_of_the_frame_as_its_columns():
    # a frame whose x is the body's y, whose y is the body's z
    X_BF = placed([[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    assert X_BF.rotation @ Vector(1, 0, 0) == Vector(0, 1, 0)
    assert X_BF.rotation @ Vector(0, 1, 0) == Vector(0, 0, 1)


def test_without_a_rotation_the_axes_are_those_of_the_body():
    assert placed(None).rotation == IDENTITY
    assert placed((0, 0, 0, 1)).rotation == IDENTITY
    assert placed(np.eye(3)).rotation == IDENTITY
    assert Frame("body").placement(NOTHING).offset == Vector(0, 0, 0)


@plenty
@given(turns)
def test_digits_lost_in_writing_are_no_mistake(one):
    R = scipy_turn(*one)
    near(matrix(np.round(R.as_quat(), 7)), R.as_matrix(), 1e-6)
    near(matrix(np.round(R.as_matrix(), 7)), R.as_matrix(), 1e-6)


@pytest.mark.parametrize("way", ["as_quat", "as_matrix"])
def test_a_rotation_written_with_few_digits_still_keeps_lengths(way):
    R = scipy_turn((1, 2, 3), 0.7)
    found = matrix(np.round(getattr(R, way)(), 7))
    near(found @ found.T, np.eye(3))


# ---- parameters


@plenty
@given(angles, threes)
def test_angles_and_positions_may_be_expressions_of_parameters(a, p):
    values = Values({"a": a, "px": p[0]})
    frame = Frame("body", ("px", p[1], f"{p[2]!r}"), [turn("z", "2*a"), turn("x", "30*deg")])
    R = ScipyRotation.from_euler("ZX", [2 * a, math.pi / 6])
    X_BF = frame.placement(values)
    near([[*row] for row in X_BF.rotation.rows], R.as_matrix())
    near([*X_BF.offset], p)


@plenty
@given(angles)
def test_parameters_left_open_are_put_in_later(a):
    values, here = Values({"a": 1.0}, free=["a"]), {Reference("a"): a}
    ways = [
        turn((0, 3, 4), "a"),
        [turn("x", "a"), turn("z", "2*a")],
        (0, "sin(a/2)", 0, "cos(a/2)"),
        (("cos(a)", 0, "sin(a)"), (0, 1, 0), ("-sin(a)", 0, "cos(a)")),
    ]
    for rotation in ways:
        rows = placed(rotation, values).rotation.rows
        found = [[as_expression(entry).evaluate(here) for entry in row] for row in rows]
        near(found, matrix(rotation, Values({"a": a})))


# ---- what is kept


def test_a_frame_keeps_what_was_written():
    frame = Frame("body", np.array([1.0, 2.0, 3.0]), [turn("z", np.float64(0.5))])
    assert frame == Frame("body", (1.0, 2.0, 3.0), (Turn("z", 0.5),))
    assert Frame("body", [1, 2, 3], np.eye(3)) == Frame("body", (1, 2, 3), ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    assert turn([0, 0, 1], 1) == Turn((0, 0, 1), 1)


# ---- what cannot be meant

NAN, INF = math.nan, math.inf
NEITHER = r"neither a turn \(axis, angle\), a 3x3 matrix nor a quaternion"
MISTAKES = {
    "a name": ("z", NEITHER),
    "a number": (0.5, NEITHER),
    "an axis and an angle without turn": (("z", 0.5), NEITHER),
    "nothing": ((), NEITHER),
    "three numbers": ((0, 0, 1), NEITHER),
    "two by two": (((1, 0), (0, 1)), NEITHER),
    "three by two": (((1, 0), (0, 1), (0, 0)), NEITHER),
    "turns and numbers": ((turn("z", 1), 2), NEITHER),
    "quaternion too long": ((0, 0, 0, 2), r"quaternion \(0.0, 0.0, 0.0, 2.0\) has length 2, not 1"),
    "quaternion zero": ((0, 0, 0, 0), "has length 0, not 1"),
    "quaternion just off": ((0, 0, 0, 1 + 3 * ROTATION_TOLERANCE), "not 1. Its order is .x, y, z, w."),
    "quaternion not a number": ((0, 0, 0, NAN), "quaternion is nan"),
    "quaternion not finite": ((0, 0, 0, INF), "quaternion is inf"),
    "matrix stretched": (((2, 0, 0), (0, 1, 0), (0, 0, 1)), "not orthogonal: R R' differs .* by 3"),
    "matrix skewed": (((1, 0.1, 0), (0, 1, 0), (0, 0, 1)), "not orthogonal"),
    "matrix just off": (((1, 5e-6, 0), (0, 1, 0), (0, 0, 1)), "not orthogonal"),
    "matrix zero": (((0, 0, 0),) * 3, "not orthogonal"),
    "matrix reflects": (((1, 0, 0), (0, 1, 0), (0, 0, -1)), "a reflection .determinant -1."),
    "matrix not a number": (((NAN, 0, 0), (0, 1, 0), (0, 0, 1)), "row of the rotation is nan"),
    "matrix of names": (((1, 0, 0), (0, "b", 0), (0, 0, 1)), "unknown name 'b' in row of the rotation"),
    "turn about nothing": (turn((0, 0, 0), 1), "axis of the turn has zero length"),
    "turn about a wrong name": (turn("up", 1), "axis of the turn is 'up'"),
    "turn by nothing": (turn("z", None), "angle of the turn is missing"),
    "turn not a number": (turn("z", NAN), "angle of the turn is nan"),
    "turn not finite": (turn("z", INF), "angle of the turn is inf"),
    "turn by an unknown name": (turn("z", "alpha"), "unknown name 'alpha' in angle of the turn"),
    "turn in time": (turn("z", "2*t"), "'t' appears in angle of the turn"),
    "second turn wrong": ((turn("z", 1), turn("q", 1)), "axis of the turn is 'q'"),
    "axis and angle exchanged": (turn(0.5, "z"), "axis of the turn is 0.5; 3 numbers"),
}


@pytest.mark.parametrize(("rotation", "message"), MISTAKES.values(), ids=MISTAKES)
def test_what_is_no_rotation_is_said_by_name(rotation, message):
    with pytest.raises((Mistake, ExpressionError), match=message):
        placed(rotation)


@pytest.mark.parametrize(
    ("position", "message"),
    [
        ((1, 2), r"position is \(1, 2\); 3 numbers"),
        (None, "position is missing; 3 numbers"),
        (3, "position is 3; 3 numbers"),
        ((0, NAN, 0), "position is nan; a finite number"),
        ((0, "b", 0), "unknown name 'b' in position"),
    ],
)
def test_what_is_no_position_is_said_by_name(position, message):
    with pytest.raises((Mistake, ExpressionError), match=message):
        placed(None, position=position)


@plenty
@given(turns, st.integers(0, 2))
def test_a_frame_with_a_reversed_axis_is_refused(one, column):
    R = scipy_turn(*one).as_matrix()
    R[:, column] *= -1
    with pytest.raises(Mistake, match="reflection"):
        rotation_of(tuple(map(tuple, R.tolist())), NOTHING)
