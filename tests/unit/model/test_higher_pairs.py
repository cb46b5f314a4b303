"""Higher pairs: errors, rows and their derivatives at any placement; what rolls, skates or is guided."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation as Turned

import momentree as mt
from momentree.model.expressions.expression import parse
from momentree.model.higher_pairs import Distance, OnSurfaces, Rolling, Skating
from momentree.model.values import TIME
from momentree.spatial import Motion, Rotation, Transform, Vector

AXIS = Vector(1 / 3, 2 / 3, 2 / 3)
PAIRS = {
    "ball on a plane": Rolling(radius=0.3),
    "disc on a plane": Rolling(radius=0.3, disc=AXIS),
    "ball on a ball": Rolling(radius=0.3, ball=0.5),
    "disc on a ball": Rolling(radius=0.3, disc=AXIS, ball=0.5),
    "ball in a hollow ball": Rolling(radius=0.3, ball=-5.0),
    "disc in a hollow ball": Rolling(radius=0.3, disc=AXIS, ball=-5.0),
    "skate": Skating(across=AXIS),
    "rod": Distance(length=1.2),
    "surface": OnSurfaces(expressions=(parse("x^2 + sin(y*t) - z + 0.3"),)),
    "curve": OnSurfaces(expressions=(parse("x^2 + sin(y*t) - z"), parse("x*y*z + t"))),
}


class Moving:
    """A placement X_FM that moves with a constant twist, in axes of F, and time."""

    def __init__(self, seed):
        random = np.random.default_rng(seed)
        self.p = random.uniform(-1, 1, 3) + np.array([0, 0, 1.5])
        self.v, self.w = random.standard_normal((2, 3))
        self.R = Turned.random(random_state=random)

    def at(self, h):
        R = (Turned.from_rotvec(self.w * h) * self.R).as_matrix()
        X = Transform(Rotation(*(Vector(*map(float, row)) for row in R)), Vector(*map(float, self.p + self.v * h)))
        return X, {TIME: 0.7 + h}

    @property
    def twist(self):
        return Motion(Vector(*self.v), Vector(*self.w))

    def of(self, function):
        """The derivative of what a function gives along the motion."""
        return (function(*self.at(1e-5)) - function(*self.at(-1e-5))) / 2e-5


def array(rows):
    return np.array([[*row.linear, *row.angular] for row in rows], dtype=float)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", PAIRS)
def test_rows_are_gradients_of_errors_and_their_derivatives_are_derivatives(name, seed):
    pair, moving = PAIRS[name], Moving(seed)
    X, names = moving.at(0.0)
    changes = array(pair.row_derivatives(X, moving.twist, names))
    np.testing.assert_allclose(changes, moving.of(lambda *at: array(pair.rows(*at))), rtol=0, atol=1e-6)
    drifts = pair.drift_derivatives(X, moving.twist, names)
    np.testing.assert_allclose(drifts, moving.of(lambda *at: np.array(pair.drifts(*at), dtype=float)), atol=1e-6)
    velocity = array(pair.rows(X, names)) @ [*moving.v, *moving.w] + pair.drifts(X, names)
    growth = moving.of(lambda *at: np.array(pair.errors(*at), dtype=float))
    if isinstance(pair, OnSurfaces):  # errors are g / |grad g|: rows are their gradients where g = 0
        growth = growth - moving.of(_over_gradient(pair)) * pair.errors(X, names) / _over_gradient(pair)(X, names)
    kept = np.array(pair.holonomic)
    np.testing.assert_allclose(growth[kept], velocity[kept], rtol=0, atol=1e-6)


def _over_gradient(pair):
    """1 / |grad g| by differences."""

    def found(X, names):
        point, sizes = np.array([*X.offset]), []
        for g in pair.expressions:
            gradient = []
            for e in 1e-5 * np.eye(3):
                values = [g.evaluate({**names, **_named(point + sign * e)}) for sign in (1, -1)]
                gradient.append((values[0] - values[1]) / 2e-5)
            sizes.append(1 / np.linalg.norm(gradient))
        return np.array(sizes)

    return found


def _named(point):
    from momentree.model.higher_pairs import POSITION

    return dict(zip(POSITION, map(float, point), strict=True))


@pytest.mark.parametrize("name", PAIRS)
def test_rows_have_names_and_are_as_large_as_typical_ones(name):
    pair = PAIRS[name]
    X, names = Moving(1).at(0.0)
    rows, typical = array(pair.rows(X, names)), array(pair.typical_rows())
    assert len(rows) == len(typical) == len(pair.row_names) == len(pair.holonomic) == 6 - pair.freedom
    np.testing.assert_allclose(np.linalg.norm(rows[:, :3], axis=1), np.linalg.norm(typical[:, :3], axis=1))
    assert [row.name for row in pair.constraint_rows(())] == list(pair.row_names)
    assert [row.holonomic for row in pair.constraint_rows(())] == list(pair.holonomic)


@pytest.mark.parametrize("name", [name for name in PAIRS if isinstance(PAIRS[name], Rolling)])
def test_the_point_in_contact_is_at_rest_where_rows_vanish(name):
    """A twist with zero velocity at the point nearest to the support, and any spin about it, keeps all three rows."""
    pair = PAIRS[name]
    X, _ = Moving(2).at(0.0)
    R, p = np.array([[*row] for row in X.rotation.rows]), np.array([*X.offset])
    # the point of the body nearest to the plane or the centre of the ball; in a hollow ball, the farthest
    angles = np.linspace(0, 2 * math.pi, 200_001)
    if pair.disc is not None:
        a = R @ [*pair.disc]
        e = np.cross(a, [1.0, 0, 0])
        e /= np.linalg.norm(e)
        rim = p + pair.radius * (np.outer(np.cos(angles), e) + np.outer(np.sin(angles), np.cross(a, e)))
        height = rim[:, 2] if pair.ball is None else np.linalg.norm(rim, axis=1)
        touching = rim[height.argmin() if pair.ball is None or pair.ball > 0 else height.argmax()]
    else:
        n = np.array([0, 0, 1.0]) if pair.ball is None else p / np.linalg.norm(p)
        touching = p - n * pair.radius * (-1 if pair.ball is not None and pair.ball < 0 else 1)
    w = np.array([0.3, -1.1, 0.7])
    v = -np.cross(w, touching - p)
    assert np.abs(array(pair.rows(X, {})) @ [*v, *w]).max() < 2e-5
    assert np.linalg.matrix_rank(array(pair.rows(X, {}))) == 3


def test_a_flat_disc_and_a_rod_without_length_have_no_direction_instead_of_an_error():
    flat = Rolling(radius=0.3, disc=Vector(0.0, 0.0, 1.0))
    X = Transform(mt.spatial.IDENTITY, Vector(0.0, 0.0, 0.2))
    assert flat.errors(X, {})[0] == pytest.approx(0.2)
    (row,) = Distance(length=1.0).rows(Transform(mt.spatial.IDENTITY, Vector(0.0, 0.0, 0.0)), {})
    assert [*row.linear] == [0, 0, 0]


def test_surfaces_name_what_they_depend_on():
    pair = OnSurfaces(expressions=(parse("x^2 + a*t - z"), parse("b*y")))
    assert [str(name) for name in pair.names] == ["a", "b", "t"]
    assert OnSurfaces(expressions=pair.expressions, still=True).drifts(*Moving(0).at(0.0)) == (0, 0)


@pytest.mark.parametrize("inside", [(0.05, 0.02, 0.1), (0.1, -0.05, -0.2), (0.0, 0.3, 0.0)])
@pytest.mark.parametrize("disc", [None, "y"])
@pytest.mark.parametrize(("radius", "ball"), [(0.5, 0.3), (0.3, 0.3), (0.3, 0.5)])
def test_what_rolls_on_a_ball_is_outside_of_it_wherever_it_is_guessed(radius, ball, disc, inside):
    m = mt.Model("outside", gravity=(0, 0, -9.81))
    rolling = m.body("rolling", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.roll(rolling, radius=radius, ball=ball, disc=disc)
    system = m.build()
    for start in (system.assemble(guess={"free rolling": (*inside, 0, 0, 0, 1)}), system.assemble()):
        p = np.array(system.position(start, "rolling"))
        if disc is None:
            assert np.linalg.norm(p) == pytest.approx(radius + ball, rel=1e-9)
            continue
        # the disc touches the ball with its rim, and no point of it is within the ball
        R = Turned.from_quat(start.q[3:]).as_matrix()
        across = R[:, 1] * (p @ R[:, 1])
        level = np.linalg.norm(p - across)
        assert math.hypot(np.linalg.norm(across), level - radius) == pytest.approx(ball, rel=1e-6)
        assert level > radius
