"""Every joint type: A is the velocity of its placement, its constraints are the complement, its fit finds it."""

import math
from dataclasses import dataclass, fields, replace

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import momentree
import momentree.spatial.rotation as rotations
from momentree.errors import ExpressionError
from momentree.model import joint_types
from momentree.model.expressions.expression import Expression, Reference, parse
from momentree.model.joint_type import STOPS, JointType
from momentree.model.joint_types import (
    JOINTS,
    Cylindrical,
    Fixed,
    Free,
    PinSlot,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from momentree.model.values import Mistake, Values
from momentree.spatial import IDENTITY, ZERO, Motion, Transform, Vector, X, Y, Z, turn
from momentree.structure.mechanism import Reversed

plenty = settings(deadline=None, max_examples=20)
NOTHING = Values({})
NAMED = ["x", "y", "z", "-x", "-y", "-z"]
every_joint = pytest.mark.parametrize("kind", JOINTS)
NEAREST = [k for k, cls in JOINTS.items() if not cls.threaded and cls.crossed_axes is JointType.crossed_axes]

components = st.floats(-2, 2)
slides = st.floats(-2, 2)
angles = st.floats(-7, 7)
threes = st.tuples(*[components] * 3)
pitches = st.floats(0.05, 2) | st.floats(-2, -0.05)


# ---- what is drawn: joints, coordinates, velocities


@st.composite
def joints(draw, kind, **fields):
    """A resolved joint as the type makes it at random, or with axes by name."""
    joint = JOINTS[kind].random(np.random.default_rng(draw(st.integers(0, 2**32 - 1))))
    letters = st.permutations("xyz").map(lambda order: dict(zip(joint.axis_fields, order, strict=False)))
    named = draw(st.just({}) | letters)
    signed = {field: draw(st.sampled_from(["", "-"])) + letter for field, letter in named.items()}
    drawn = {field: draw(values) for field, values in fields.items()}
    return replace(joint, **signed, **drawn).resolved(NOTHING)


@st.composite
def unit_quaternions(draw):
    q = np.array(draw(st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: np.linalg.norm(q) > 0.1)))
    return tuple((q / np.linalg.norm(q)).tolist())


def coordinates(joint):
    """Any coordinates: angles of more than a turn, unit quaternions."""
    numbers = {"m": slides, "rad": angles}
    plain = st.tuples(*(numbers[unit] for unit in joint.units if unit != "1"))
    if "1" not in joint.units:
        return plain
    return st.tuples(plain, unit_quaternions()).map(lambda parts: (*parts[0], *parts[1]))


def velocities(joint):
    return st.tuples(*[components] * len(joint.velocities))


@st.composite
def states(draw, kind):
    """A joint, its coordinates and velocities."""
    joint = draw(joints(kind))
    return joint, draw(coordinates(joint)), draw(velocities(joint))


# ---- what is measured


def near(found, expected, atol):
    np.testing.assert_allclose(np.array([*found], dtype=float), np.array([*expected], dtype=float), rtol=0, atol=atol)


def matrix(R):
    return np.array([[*row] for row in R.rows], dtype=float)


def placed_alike(X_FM, Y_FM, atol=1e-12):
    near(matrix(X_FM.rotation).ravel(), matrix(Y_FM.rotation).ravel(), atol)
    near(X_FM.offset, Y_FM.offset, atol)


def velocity(path, h=1e-4):
    """Of the moving frame of a path t -> X_FM at t = 0, in its own axes: (R' p'; the vector of R' R'), numerically.

    Differences of fourth order: at 20 rad/s their error is 1e-11.
    """

    def derivative(of):
        once, twice = ((of(path(k * h)) - of(path(-k * h))) / (2 * k * h) for k in (1, 2))
        return (4 * once - twice) / 3

    R = matrix(path(0.0).rotation)
    w = R.T @ derivative(lambda frame: matrix(frame.rotation))
    near((w + w.T).ravel(), np.zeros(9), 1e-9)
    return [*(R.T @ derivative(lambda frame: np.array([*frame.offset], dtype=float))), w[2, 1], w[0, 2], w[1, 0]]


def along(joint, q, u):
    """The coordinates a short time after q, at constant velocities u."""
    return lambda h: joint.integrate(q, tuple(h * rate for rate in u))


def same_coordinates(joint, found, expected, atol=1e-9):
    """Equal but for full turns, and for the sign of a quaternion; a screw's turns count."""
    assert len(found) == len(expected) == len(joint.coordinates)
    found, expected = np.array(found, dtype=float), np.array(expected, dtype=float)
    units = np.array(joint.units)
    whole = np.isin(np.arange(len(units)), joint.turning)
    closure_error = found - expected
    near(closure_error[(units != "1") & ~whole], np.zeros(np.sum((units != "1") & ~whole)), atol)
    near(np.sin(closure_error[whole] / 2), np.zeros(np.sum(whole)), atol)
    ball = units == "1"
    if ball.any():
        near(found[ball] * np.sign(found[ball] @ expected[ball]), expected[ball], atol)


# ---- the kinematics


def test_every_joint_is_proved_here():
    assert [cls.__name__ for cls in JOINTS.values()] == list(JOINTS)
    freedoms = {kind: len(cls.velocities) for kind, cls in JOINTS.items()}
    assert (
        freedoms.items()
        >= {
            **{"Revolute": 1, "Prismatic": 1, "Screw": 1},
            **{"Cylindrical": 2, "PinSlot": 2, "Universal": 2},
            **{"Spherical": 3, "Planar": 3, "Free": 6, "Fixed": 0},
        }.items()
    )


def test_every_type_is_in_the_table_and_public():
    assert {cls for cls in vars(joint_types).values() if isinstance(cls, type) and issubclass(cls, JointType)} == {
        JointType,
        *JOINTS.values(),
    }
    assert JOINTS.keys() <= {*momentree.__all__}


@every_joint
def test_a_type_makes_a_random_joint_of_itself(kind):
    made = [JOINTS[kind].random(np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert all(type(joint) is JOINTS[kind] for joint in made)
    assert made[0] == made[1]
    # all that it is made of differs from joint to joint
    for name in (field.name for field in fields(made[0]) if not field.kw_only):
        assert getattr(made[0], name) != getattr(made[2], name)


def test_a_type_with_parameters_says_that_it_chooses_them_itself():
    @dataclass(frozen=True)
    class Geared(JointType):
        axis_fields = ("axis",)
        axis: str = "z"
        ratio: float = 1.0

    with pytest.raises(NotImplementedError, match="joint type Geared needs its own `random`, to choose ratio"):
        Geared.random(np.random.default_rng(1))


@every_joint
@plenty
@given(data=st.data())
@pytest.mark.repeats(4)
def test_what_loops_assume_of_every_joint(kind, data):
    joint, q, _ = data.draw(states(kind))
    # rows fixed in F, but for the last one where two axes are crossed
    fixed = len(joint.constraint_rows(q)) - (joint.crossed_axes is not None)
    here, there = (joint.constraint_rows(at)[:fixed] for at in (q, joint.reference()))
    for a, b in zip(here, there, strict=True):
        near(a.direction, b.direction, 1e-12)
    # A' A is the same everywhere
    A, A0 = (np.array([[*c] for c in joint.motion_subspace(at).columns]) for at in (q, joint.reference()))
    near((A @ A.T).ravel(), (A0 @ A0.T).ravel(), 1e-12)
    if joint.coaxial:
        near(A.ravel(), A0.ravel(), 1e-12)
        R = joint.placement(q).rotation
        near(R @ joint.axis, joint.axis, 1e-12)
        near(joint.placement(q).offset.cross(joint.axis), ZERO, 1e-12)
    if joint.crossed_axes is not None:
        a, b = joint.crossed_axes
        n = a.cross(joint.placement(q).rotation @ b)
        near(joint.constraint_rows(q)[-1].direction.angular, n / n.norm, 1e-12)


@every_joint
@plenty
@given(data=st.data())
@pytest.mark.repeats(4)
def test_the_axes_are_the_velocity_of_the_placement(kind, data):
    joint, q, u = data.draw(states(kind))
    path = along(joint, q, u)
    near(joint.motion_subspace(q) @ u, velocity(lambda h: joint.placement(path(h))), 1e-9)
    assert len(joint.motion_subspace(q).columns) == len(joint.velocities)


@every_joint
@plenty
@given(data=st.data())
@pytest.mark.repeats(4)
def test_a_reversed_joint_moves_its_first_frame_as_seen_from_its_second(kind, data):
    joint, q, u = data.draw(states(kind))
    back = Reversed(joint)
    path = along(joint, q, u)
    near(back.motion_subspace(q) @ u, velocity(lambda h: back.placement(path(h))), 1e-9)
    placed_alike(joint.placement(q) @ back.placement(q), Transform())


@every_joint
@plenty
@given(data=st.data())
@pytest.mark.repeats(4)
def test_the_rows_are_all_that_the_axes_leave_out(kind, data):
    joint, q, _ = data.draw(states(kind))
    rows = joint.constraint_rows(q)
    assert len(rows) == 6 - len(joint.velocities)
    assert len({row.name for row in rows}) == len(rows)
    assert all(row.name for row in rows)
    # at the origin of M, in axes of F
    R = joint.placement(q).rotation
    columns = [Motion(R @ column.linear, R @ column.angular) for column in joint.motion_subspace(q).columns]
    lengths = [math.hypot(*row.direction) for row in rows]
    for row, length in zip(rows, lengths, strict=True):
        near([column @ row.direction / length for column in columns], np.zeros(len(columns)), 1e-12)
    # together they span all six directions
    rays = [np.array([*row.direction], dtype=float) / length for row, length in zip(rows, lengths, strict=True)]
    motions = [np.array([*column], dtype=float) / math.hypot(*column) for column in columns]
    assert np.linalg.svd(np.array(rays + motions), compute_uv=False)[-1] > 1e-2


def test_rows_are_named_for_what_they_hold():
    assert [row.name for row in Revolute("x").resolved(NOTHING).constraint_rows((0.3,))] == [
        *("translation along x", "translation along y", "translation along z"),
        *("rotation about y", "rotation about z"),
    ]
    assert [row.name for row in Planar("z").resolved(NOTHING).constraint_rows((0, 0, 0))] == [
        *("translation along z", "rotation about x", "rotation about y"),
    ]


@every_joint
@plenty
@given(data=st.data())
@pytest.mark.repeats(4)
def test_a_fit_of_a_reached_placement_finds_its_coordinates(kind, data):
    joint, q, _ = data.draw(states(kind))
    same_coordinates(joint, joint.fit(joint.placement(q)), q)


@plenty
@given(joints("Screw", pitch=pitches), st.floats(-60, 60))
def test_the_fit_of_a_screw_counts_its_turns(joint, angle):
    near(joint.fit(joint.placement((angle,))), [angle], 1e-11)


@pytest.mark.parametrize("kind", NEAREST)
@plenty
@given(data=st.data())
@pytest.mark.repeats(3)
def test_a_fit_is_the_nearest_placement(kind, data):
    # nearest in |p - p'|^2 + |R - R'|^2; a step along the joint in any direction only leads away
    joint, q, u = data.draw(states(kind))
    off = Transform(rotations.cardan(*data.draw(threes.map(lambda a: [e / 5 for e in a]))), Vector(*data.draw(threes)))
    X_FM = joint.placement(q) @ off

    def distance(coordinates):
        near_one = joint.placement(coordinates)
        closure_error = near_one.offset - X_FM.offset
        return float(closure_error @ closure_error) + float(
            np.sum((matrix(near_one.rotation) - matrix(X_FM.rotation)) ** 2)
        )

    best = joint.fit(X_FM)
    for step in (1e-3, -1e-3, 0.3, -0.3):
        moved = joint.integrate(best, tuple(step * rate for rate in u))
        assert distance(moved) >= distance(best) - 1e-12


@every_joint
@plenty
@given(data=st.data())
@pytest.mark.repeats(4)
def test_a_fit_of_a_nearly_reached_placement_is_near(kind, data):
    joint, q, _ = data.draw(states(kind))
    e = 1e-9
    off = Transform(rotations.cardan(e, -e, e), Vector(-e, e, e))
    same_coordinates(joint, joint.fit(joint.placement(q) @ off), q, 1e-6)


def test_the_fit_of_a_fixed_joint_has_nothing_to_find():
    assert Fixed().fit(Transform(turn(X, 1.0), Y)) == ()


@every_joint
@plenty
@given(data=st.data())
@pytest.mark.repeats(4)
def test_a_fit_at_any_placement_is_a_configuration(kind, data):
    # where nothing is near, too: finite numbers, unit quaternions
    joint = data.draw(joints(kind))
    X_FM = Transform(rotations.cardan(*data.draw(st.tuples(angles, angles, angles))), Vector(*data.draw(threes)))
    q = joint.fit(X_FM)
    assert len(q) == len(joint.coordinates)
    assert all(math.isfinite(e) for e in q)
    R = matrix(joint.placement(q).rotation)
    near((R @ R.T).ravel(), np.eye(3).ravel(), 1e-12)


# ---- coordinates and velocities


@every_joint
@plenty
@given(data=st.data())
def test_at_the_reference_both_frames_coincide(kind, data):
    joint = data.draw(joints(kind))
    assert len(joint.reference()) == len(joint.coordinates) == len(joint.units)
    placed_alike(joint.placement(joint.reference()), Transform(IDENTITY, ZERO))


@every_joint
@plenty
@given(data=st.data())
@pytest.mark.repeats(4)
def test_the_difference_after_a_step_is_the_step(kind, data):
    joint, q, u = data.draw(states(kind))
    step = tuple(0.85 * rate for rate in u)  # a ball's step stays within half a turn: 0.85 * 2 * sqrt(3) < pi
    later = joint.integrate(q, step)
    assert len(later) == len(q)
    near(joint.difference(q, later), step, 1e-12)
    near(joint.difference(q, q), np.zeros(len(u)), 1e-14)


@every_joint
@plenty
@given(data=st.data())
@pytest.mark.repeats(4)
def test_a_step_by_the_difference_arrives(kind, data):
    joint = data.draw(joints(kind))
    q, later = data.draw(coordinates(joint)), data.draw(coordinates(joint))
    arrived = joint.integrate(q, joint.difference(q, later))
    same_coordinates(joint, arrived, later, 1e-10)
    placed_alike(joint.placement(arrived), joint.placement(later), 1e-10)


@every_joint
@plenty
@given(data=st.data())
@pytest.mark.repeats(4)
def test_steps_at_constant_rates_add_up(kind, data):
    # a ball turns about a fixed axis, a free body moves along a screw: two halves make the whole
    joint, q, u = data.draw(states(kind))
    half = tuple(rate / 2 for rate in u)
    near(joint.integrate(joint.integrate(q, half), half), joint.integrate(q, u), 1e-12)


@every_joint
@plenty
@given(data=st.data())
@pytest.mark.repeats(4)
def test_coordinates_change_at_the_coordinate_rates(kind, data):
    joint, q, u = data.draw(states(kind))
    path, h = along(joint, q, u), 1e-5
    numerical = (np.array(path(h)) - np.array(path(-h))) / (2 * h)
    near(joint.coordinate_derivatives(q, u), numerical, 1e-8)


@pytest.mark.parametrize("kind", [kind for kind in JOINTS if "1" in JOINTS[kind].units])
@plenty
@given(data=st.data())
def test_a_step_keeps_the_quaternion_of_unit_length(kind, data):
    joint, q, u = data.draw(states(kind))
    stretched = (*q[:-4], *(1.001 * e for e in q[-4:]))
    for start in (q, stretched):
        assert math.hypot(*joint.integrate(start, u)[-4:]) == pytest.approx(1, abs=1e-15)
    # and its velocity does not stretch it
    assert np.dot(q[-4:], joint.coordinate_derivatives(q, u)[-4:]) == pytest.approx(0, abs=1e-14)


# ---- prescribed motion


@every_joint
@plenty
@given(data=st.data())
@pytest.mark.repeats(4)
def test_a_prescribed_motion_moves_with_its_axes(kind, data):
    joint = data.draw(joints(kind))
    numbers = st.tuples(*[components] * len(joint.velocities))
    a, b, c = (np.array(data.draw(numbers)) for _ in range(3))

    def law(t):
        return a + b * t + c * np.sin(t), b + c * np.cos(t), -c * np.sin(t)

    q, u, du = joint.prescribed(*law(0.3))
    assert len(q) == len(joint.coordinates)
    assert len(u) == len(du) == len(joint.velocities)
    near(joint.motion_subspace(q) @ u, velocity(lambda h: joint.placement(joint.prescribed(*law(0.3 + h))[0])), 1e-8)
    ahead, behind = (np.array(joint.prescribed(*law(0.3 + h))[1]) for h in (1e-5, -1e-5))
    near(du, (ahead - behind) / 2e-5, 1e-6)


@every_joint
@plenty
@given(data=st.data())
@pytest.mark.repeats(4)
def test_the_axes_change_at_their_rate(kind, data):
    joint, q, u = data.draw(states(kind))
    for one in (joint, Reversed(joint)):
        ahead, behind = (one.motion_subspace(joint.integrate(q, [h * e for e in u])).columns for h in (1e-6, -1e-6))
        for rate, a, b in zip(one.motion_subspace_derivative(q, u).columns, ahead, behind, strict=True):
            near([*rate], (np.array([*a]) - np.array([*b])) / 2e-6, 1e-6)


@plenty
@given(threes, threes)
def test_the_laws_of_a_ball_are_turns_about_x_then_y_then_z(turns, position):
    R = turn(X, turns[0]) @ turn(Y, turns[1]) @ turn(Z, turns[2])
    q = Spherical().prescribed(turns, (0, 0, 0), (0, 0, 0)).q
    placed_alike(Spherical().placement(q), Transform(R))
    q = Free().prescribed((*position, *turns), (0,) * 6, (0,) * 6).q
    placed_alike(Free().placement(q), Transform(R, Vector(*position)))


def test_a_prescribed_joint_leaves_no_freedom():
    assert Revolute("z").freedom == 1
    assert Revolute("z", motion="sin(t)").freedom == 0
    assert Free().freedom == 6
    assert Free(motion=("t", 0, 0, 0, 0, 0)).freedom == 0
    assert Fixed().freedom == 0


# ---- other kinds of scalars


def numbers_of(joint, q):
    X_FM = joint.placement(q)
    moved = [entry for column in joint.motion_subspace(q).columns for entry in column]
    return [*(entry for row in X_FM.rotation.rows for entry in row), *X_FM.offset, *moved]


@every_joint
@settings(deadline=None, max_examples=5)
@given(data=st.data())
@pytest.mark.repeats(3)
def test_symbols_give_the_same_numbers(kind, data):
    joint, q, _ = data.draw(states(kind))
    symbols = sympy.symbols([f"q{i}" for i in range(len(q))], real=True)
    found = sympy.lambdify(symbols, numbers_of(joint, symbols), "math")(*q)
    near(found, numbers_of(joint, q), 1e-12)


@every_joint
@settings(deadline=None, max_examples=5)
@given(data=st.data())
def test_expressions_give_the_same_numbers(kind, data):
    joint, q, _ = data.draw(states(kind))
    names = [f"q{i}" for i in range(len(q))]
    here = {Reference(name): value for name, value in zip(names, q, strict=True)}
    found = numbers_of(joint, [parse(name) for name in names])
    near([e.evaluate(here) if isinstance(e, Expression) else e for e in found], numbers_of(joint, q), 1e-12)


@every_joint
@settings(deadline=None, max_examples=10)
@given(data=st.data())
def test_a_batch_is_the_loop_over_its_entries(kind, data):
    joint = data.draw(joints(kind))
    batch = np.array([data.draw(coordinates(joint)) for _ in range(5)]).reshape(5, -1)
    found = np.array([np.broadcast_to(entry, 5) for entry in numbers_of(joint, batch.T)], dtype=float)
    np.testing.assert_allclose(found.T, np.array([numbers_of(joint, q) for q in batch], dtype=float), atol=1e-13)


# coordinates that are numbers of their own, and no parameters but the axes, which would be floats
EXACT = [kind for kind, cls in JOINTS.items() if len(cls.coordinates) == len(cls.velocities) and not cls.threaded]


@pytest.mark.parametrize("kind", EXACT)
@pytest.mark.parametrize("axis", ["x", "y", "z"])
@pytest.mark.repeats(5)
def test_the_axes_are_the_exact_derivatives_of_the_placement(kind, axis):
    # column i is (R' dp/dq_i; the vector of R' dR/dq_i)
    names = ["x", "y", "z", "x"]
    chosen = dict(zip(JOINTS[kind].axis_fields, names[names.index(axis) :], strict=False))
    joint = replace(JOINTS[kind].random(np.random.default_rng(1)), **chosen).resolved(NOTHING)
    if {field.name for field in fields(joint) if not field.kw_only} != {*chosen}:
        pytest.skip("its parameters are floats")
    symbols = sympy.symbols([f"q{i}" for i in range(len(joint.coordinates))], real=True)
    X_FM = joint.placement(symbols)
    R = sympy.Matrix([[*row] for row in X_FM.rotation.rows])
    p = sympy.Matrix([*X_FM.offset])
    for symbol, column in zip(symbols, joint.motion_subspace(symbols).columns, strict=True):
        w = R.T * R.diff(symbol)
        exact = [*(R.T * p.diff(symbol)), w[2, 1], w[0, 2], w[1, 0]]
        assert all(sympy.simplify(a - b) == 0 for a, b in zip(column, exact, strict=True))
        assert not any(sympy.sympify(entry).atoms(sympy.Float) for entry in column)


# ---- what the user wrote

AXES = {"x": X, "y": Y, "z": Z, "-x": -X, "-y": -Y, "-z": -Z}


@pytest.mark.parametrize("kind", [kind for kind in JOINTS if JOINTS[kind].axis_fields])
@plenty
@given(data=st.data())
def test_axes_are_made_of_unit_length(kind, data):
    drawn = JOINTS[kind].random(np.random.default_rng(data.draw(st.integers(0, 2**32 - 1))))
    size = data.draw(st.sampled_from([1, 1e-200, 1e200]))
    axes = {name: np.array(getattr(drawn, name)) for name in drawn.axis_fields}
    joint = replace(drawn, **{name: tuple((n * size).tolist()) for name, n in axes.items()}).resolved(NOTHING)
    for name, n in axes.items():
        near(np.array([*getattr(joint, name)]), n / np.linalg.norm(n), 1e-14)


@pytest.mark.parametrize("name", NAMED)
def test_a_direction_by_its_name_or_by_numbers_is_one_joint(name):
    numbers = tuple(2.5 * component for component in AXES[name])
    for cls in (Revolute, Prismatic, Cylindrical):
        assert cls(numbers).resolved(NOTHING) == cls(name).resolved(NOTHING) == cls([*numbers]).resolved(NOTHING)
    assert PinSlot(numbers, name).resolved(NOTHING) == PinSlot(name, np.array(numbers)).resolved(NOTHING)
    assert Revolute(name).resolved(NOTHING).axis == AXES[name]


@pytest.mark.parametrize(("normal", "plane"), [("x", (Y, Z)), ("y", (Z, X)), ("z", (X, Y))])
def test_a_plane_has_coordinates_named_for_the_axes_they_run_along(normal, plane):
    joint = Planar(normal).resolved(NOTHING)
    names = [name for axis in plane for name in "xyz" if AXES[name] == axis]
    assert joint.coordinates == (*names, "angle")
    assert joint.velocities == (*(f"{name}'" for name in names), "angle'")
    assert joint.placement((1.0, 0.0, 0.0)).offset == plane[0]
    assert joint.placement((0.0, 1.0, 0.0)).offset == plane[1]


@pytest.mark.parametrize("normal", [*NAMED, (0, 0, 1), (3.0, 0.0, 0.0), (0, -1, 0), (1.0, 2.0, 2.0)])
def test_coordinates_keep_their_names_when_a_joint_is_resolved(normal):
    # expressions name them before the numbers are known
    joint = Planar(normal)
    assert joint.resolved(NOTHING).coordinates == joint.coordinates
    assert joint.resolved(NOTHING).velocities == joint.velocities


def test_options_are_resolved_to_one_value_for_each_rate():
    values = Values({"k": 3.0, "a": "2*k"})
    hinge = Revolute("z", spring="k", damping=0.5, rest="-a/12", limits=(-math.inf, "a")).resolved(values)
    assert (hinge.spring, hinge.damping, hinge.rest) == ((3.0,), (0.5,), (-0.5,))
    assert hinge.limits == ((-math.inf, 6.0),)
    assert hinge.stops == (STOPS,)
    assert Revolute("z").resolved(values).stops is None
    plane = Planar("z", spring=(1, 2, "k"), limits=((-1, 1), (0, "k"), (-math.inf, math.inf))).resolved(values)
    assert plane.spring == (1.0, 2.0, 3.0)
    assert plane.limits == ((-1.0, 1.0), (0.0, 3.0), (-math.inf, math.inf))
    ball = Spherical(damping=(0.1, 0.2, "k")).resolved(values)
    assert ball.damping == (0.1, 0.2, 3.0)
    assert Screw(pitch="k/100").resolved(values).pitch == pytest.approx(0.03)


def test_a_parameter_left_open_stays_an_expression():
    values = Values({"k": 3.0}, free=["k"])
    k = parse("k")
    hinge = Revolute("z", spring="k", damping="k", rest="k", limits=(0, "k")).resolved(values)
    assert (hinge.spring, hinge.damping, hinge.rest, hinge.limits) == ((k,), (k,), (k,), ((0.0, k),))


def test_a_screw_with_an_open_pitch_moves():
    screw = Screw("x", pitch="p").resolved(Values({"p": 0.3}, free=["p"]))
    here = {Reference("p"): 0.3}
    expected = Screw("x", pitch=0.3).resolved(NOTHING)
    assert screw.placement((2.0,)).offset.x.evaluate(here) == pytest.approx(expected.placement((2.0,)).offset.x)
    assert screw.motion_subspace((2.0,)).columns[0].linear.x.evaluate(here) == pytest.approx(0.3 / (2 * math.pi))


def test_motion_laws_become_expressions_of_time():
    values = Values({"w": 5.0})
    (law,) = Revolute("z", motion="sin(w*t)").resolved(values).motion
    assert law.derivative(Reference("t")).evaluate({Reference("t"): 0.2}) == pytest.approx(5 * math.cos(1))
    laws = Spherical(motion=(0, "t", lambda t: t * t)).resolved(values).motion
    assert [one.evaluate({Reference("t"): 3.0}) for one in laws] == [0, 3, 9]


NAN, INF = math.nan, math.inf
MISTAKES = {
    "zero axis": (Revolute((0, 0, 0)), "axis has zero length"),
    "zero slot": (PinSlot((0, 0, 0), "z"), "slot has zero length"),
    "zero normal": (Planar((0.0, 0.0, 0.0)), "normal has zero length"),
    "wrong axis name": (Prismatic("w"), "axis is 'w'"),
    "wrong name of the second axis": (Universal("x", "up"), "second is 'up'"),
    "axis not a number": (Revolute((NAN, 0, 1)), "axis is nan; a finite number"),
    "axis not finite": (Cylindrical((INF, 0, 1)), "axis is inf; a finite number"),
    "axis of two numbers": (Revolute((0, 1)), r"axis is \(0, 1\); 3 numbers"),
    "axis of one number": (Revolute(3), "axis is 3; 3 numbers"),
    "axis missing": (Revolute(None), "axis is missing"),
    "unknown parameter in an axis": (Revolute((0, "lenght", 1)), "unknown name 'lenght' in axis"),
    "time in an axis": (Revolute(("t", 0, 1)), "'t' appears in axis"),
    "parallel axes": (Universal("x", "x"), "axes are parallel"),
    "opposite axes": (Universal("x", (-2, 0, 0)), "axes are parallel"),
    "pitch zero": (Screw("z", 0), "pitch is 0 m"),
    "pitch missing": (Screw("z"), "pitch is missing"),
    "pitch not a number": (Screw("z", NAN), "pitch is nan"),
    "spring on a ball": (Spherical(spring=(1, 1, 1)), "a Spherical joint takes no spring"),
    "rest of a ball": (Spherical(rest=(1, 1, 1)), "a Spherical joint takes no rest"),
    "limits of a ball": (Spherical(limits=((0, 1),) * 3), "a Spherical joint takes no limits"),
    "spring on a free body": (Free(spring=1), "a Free joint takes no spring"),
    "limits reversed": (Revolute(limits=(1, -1)), r"limits \(1, -1\) leave no room"),
    "limits equal": (Prismatic(limits=(0.5, 0.5)), r"limits \(0.5, 0.5\) leave no room"),
    "limits reversed and open": (Revolute(limits=(INF, -INF)), r"limits \(inf, -inf\) leave no room"),
    "limits one number": (Revolute(limits=1), "limits are a pair"),
    "limits three numbers": (Revolute(limits=(0, 1, 2)), "limits are a pair"),
    "limits not a number": (Revolute(limits=(NAN, 1)), "limits is nan"),
    "limits not pairs": (Cylindrical(limits=(-1, 1)), "limits are a pair"),
    "limits of one velocity of two": (
        Cylindrical(limits=((-1, 1),)),
        "limits has 1 value; a Cylindrical joint takes 2",
    ),
    "stops without limits": (Revolute(stops=(1e4, 1)), "stops but no limits"),
    "stops one number": (Revolute(limits=(0, 1), stops=1e4), "stops are a pair"),
    "stops three numbers": (Revolute(limits=(0, 1), stops=(1, 2, 3)), "stops are a pair"),
    "stops of two velocities of three": (
        Planar("z", limits=((0, 1),) * 3, stops=((1, 2), (1, 2))),
        "stops has 2 values; .* takes 3: x', y', angle'",
    ),
    "stops without stiffness": (Revolute(limits=(0, 1), stops=(0, 1)), "stops is 0; the stiffness must be positive"),
    "stops that push on": (Revolute(limits=(0, 1), stops=(1, -1)), "stops is -1; the damping may not be negative"),
    "stops not a number": (Revolute(limits=(0, 1), stops=(NAN, 1)), "stops is nan"),
    "stops of a ball": (Spherical(stops=(1, 1)), "a Spherical joint takes no stops"),
    "stops of a weld": (Fixed(stops=(1, 1)), "a Fixed joint does not move and takes no stops"),
    "motion and stops": (Revolute(motion="t", stops=(1, 1)), "prescribed motion"),
    "spring of one velocity of two": (Cylindrical(spring=1), "spring has 1 value; a Cylindrical joint takes 2: slide'"),
    "two springs at one velocity": (Revolute(spring=(1, 2)), "spring has 2 values; a Revolute joint takes 1: angle'"),
    "damping of two velocities of three": (
        Planar("z", damping=(1, 1)),
        "damping has 2 values; .* takes 3: x', y', angle'",
    ),
    "no damping": (Revolute(damping=()), "damping has 0 values"),
    "negative damping": (Revolute(damping=-0.1), "damping is -0.1; it may not be negative"),
    "negative damping of one velocity": (Planar("z", damping=(0, -2, 0)), "damping is -2"),
    "negative spring": (Prismatic(spring=-3), "spring is -3; it may not be negative"),
    "spring not a number": (Prismatic(spring=NAN), "spring is nan"),
    "spring a truth": (Prismatic(spring=True), "spring is True"),
    "unknown parameter in a spring": (Revolute(spring="kk"), "unknown name 'kk' in spring"),
    "time in a spring": (Revolute(spring="1 + t"), "'t' appears in spring"),
    "motion and spring": (Revolute(motion="t", spring=1), "prescribed motion: a spring"),
    "motion and damping": (Revolute(motion="t", damping=1), "prescribed motion: .*damping"),
    "motion and limits": (Revolute(motion="t", limits=(0, 1)), "prescribed motion: .*limits"),
    "motion and rest": (Revolute(motion="t", rest=1), "rest position but no spring"),
    "motion of a weld": (Fixed(motion="t"), "a Fixed joint does not move and takes no motion"),
    "spring on a weld": (Fixed(spring=1), "a Fixed joint does not move and takes no spring"),
    "limits of a weld": (Fixed(limits=(0, 1)), "a Fixed joint does not move and takes no limits"),
    "motion of one velocity of two": (Universal(motion="t"), "motion has 1 value; a Universal joint takes 2"),
    "motion of a ball by a quaternion": (Spherical(motion=(0, 0, 0, 1)), "motion has 4 values; .* takes 3: wx, wy, wz"),
    "motion of unknown things": (Revolute(motion="speed*t"), "unknown name 'speed' in motion"),
    "motion not finite": (Revolute(motion=INF), "motion is inf"),
    "rest without spring": (Revolute(rest=0.3), "rest position but no spring"),
}


@pytest.mark.parametrize(("joint", "message"), MISTAKES.values(), ids=MISTAKES)
def test_what_cannot_be_meant_is_said_by_name(joint, message):
    with pytest.raises((Mistake, ExpressionError), match=message):
        joint.resolved(NOTHING)


def test_a_direction_may_not_depend_on_an_open_parameter():
    values = Values({"a": 1.0}, free=["a"])
    with pytest.raises(Mistake, match="axis depends on a free parameter"):
        Revolute((0, "a", 1)).resolved(values)
