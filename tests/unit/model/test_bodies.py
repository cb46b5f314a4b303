"""Bodies: shapes against integrals over the solid, inertias that exist, and the ones that do not."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation as ScipyRotation

import momentree as mt
from momentree.errors import ExpressionError
from momentree.files.model_files import dumps
from momentree.model.bodies import Body
from momentree.model.expressions.expression import Reference, as_expression
from momentree.model.frames import Frame
from momentree.model.shapes import box, cylinder, rod, sphere
from momentree.model.values import Mistake, Values
from momentree.spatial import Vector

plenty = settings(deadline=None, max_examples=30)
NOTHING = Values({})
NO_INERTIA, IDENTITY = np.zeros((3, 3)), np.eye(3)
NAMED = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1), "-x": (-1, 0, 0), "-y": (0, -1, 0), "-z": (0, 0, -1)}

masses = st.floats(0.1, 5)
lengths = st.floats(0.1, 3)
components = st.floats(-2, 2)
centres = st.tuples(*[components] * 3)
axes = st.sampled_from([*NAMED]) | centres.filter(lambda n: np.linalg.norm(n) > 0.1)


def flat(M):
    return np.array([M.mass, *M.h, *M.J], dtype=float)


def near(found, expected, tolerance=1e-11):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1, np.abs(expected).max()))


def symmetric(J):
    return [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]


def moments(mass, com, J=NO_INERTIA):
    """The ten numbers of a body from its mass, centre and inertia about the centre, by Steiner's theorem."""
    c = np.array(com, dtype=float)
    return np.array([mass, *(mass * c), *symmetric(np.array(J) + mass * (c @ c * np.eye(3) - np.outer(c, c)))])


# ---- integrals over solids: points and weights that are exact for polynomials of the second degree


def line(low, high):
    """Points and weights over an interval, the weights with the sum 1 (Gauss and Legendre, three points)."""
    nodes, weights = np.polynomial.legendre.leggauss(3)
    return (low + high) / 2 + (high - low) / 2 * nodes, weights / 2


def disc(radius):
    """Points and weights over a disc: s = r^2 is distributed evenly, the angle by equal steps."""
    squares, weights = line(0, radius**2)
    turns = np.arange(8) * math.pi / 4
    points = [(math.sqrt(s) * math.cos(a), math.sqrt(s) * math.sin(a)) for s in squares for a in turns]
    return np.array(points), np.repeat(weights / 8, 8)


def solid_cylinder(radius, low, high):
    """About z, from low to high."""
    across, w = disc(radius)
    heights, v = line(low, high)
    points = [(*p, z) for p in across for z in heights]
    return np.array(points), np.array([a * b for a in w for b in v])


def solid_box(a, b, c):
    sides = [line(-edge / 2, edge / 2) for edge in (a, b, c)]
    points = [(x, y, z) for x in sides[0][0] for y in sides[1][0] for z in sides[2][0]]
    return np.array(points), np.array([u * v * w for u in sides[0][1] for v in sides[1][1] for w in sides[2][1]])


def solid_ball(radius):
    """A pile of discs: their areas are the weights, exact with three Gauss points up to the fifth degree."""
    heights, v = line(-radius, radius)
    points, weights = [], []
    for z, share in zip(heights, v, strict=True):
        across, w = disc(math.sqrt(radius**2 - z**2))
        points += [(*p, z) for p in across]
        weights += list(w * share * (radius**2 - z**2))
    return np.array(points), np.array(weights) / sum(weights)


def integrated(mass, solid, turned=IDENTITY, centre=(0, 0, 0)):
    """Mass, first moment and inertia about the origin: sums of m, m r, m (r.r E - r r')."""
    points, weights = solid
    r, m = points @ turned.T + np.array(centre), mass * weights
    J = np.einsum("i,ij,ij", m, r, r) * np.eye(3) - np.einsum("i,ij,ik->jk", m, r, r)
    return np.array([m.sum(), *(m @ r), *symmetric(J)])


def z_turned_to(axis):
    """An orthogonal matrix whose last column is the axis."""
    n = np.array(NAMED[axis] if isinstance(axis, str) else axis, dtype=float)
    across = np.linalg.svd(n[None, :])[2][1:]
    return np.column_stack([*across, n / np.linalg.norm(n)])


@plenty
@given(masses, lengths, axes)
def test_a_slender_rod_is_a_line_from_the_origin(mass, length, along):
    heights, weights = line(0, length)
    solid = np.array([(0, 0, z) for z in heights]), weights
    near(flat(rod(mass, length, along=along).inertia(NOTHING)), integrated(mass, solid, z_turned_to(along)))


@plenty
@given(masses, lengths, lengths, axes)
def test_a_rod_with_a_radius_is_a_cylinder_from_the_origin(mass, length, radius, along):
    expected = integrated(mass, solid_cylinder(radius, 0, length), z_turned_to(along))
    near(flat(rod(mass, length, radius, along).inertia(NOTHING)), expected)


@plenty
@given(masses, lengths, lengths, axes, centres)
def test_a_cylinder_is_a_solid_about_its_axis(mass, radius, length, axis, centre):
    expected = integrated(mass, solid_cylinder(radius, -length / 2, length / 2), z_turned_to(axis), centre)
    near(flat(cylinder(mass, radius, length, axis, centre).inertia(NOTHING)), expected)


@plenty
@given(masses, st.tuples(lengths, lengths, lengths), centres)
def test_a_box_is_a_solid_with_edges_along_the_axes(mass, size, centre):
    near(flat(box(mass, size, centre).inertia(NOTHING)), integrated(mass, solid_box(*size), centre=centre))


@plenty
@given(masses, lengths, centres)
def test_a_sphere_is_a_solid_ball(mass, radius, centre):
    near(flat(sphere(mass, radius, centre).inertia(NOTHING)), integrated(mass, solid_ball(radius), centre=centre))


# the same by the table of mass moments of inertia of common shapes:
# Beer, Johnston, Vector Mechanics for Engineers: Dynamics, inside the back cover


def test_shapes_have_the_moments_of_the_textbook():
    m, a, b, c, r, L = 3.0, 0.4, 0.7, 1.1, 0.2, 1.5
    table = {
        rod(m, L): (0, m * L**2 / 3, m * L**2 / 3),  # about its end
        box(m, (a, b, c)): (m * (b**2 + c**2) / 12, m * (c**2 + a**2) / 12, m * (a**2 + b**2) / 12),
        sphere(m, r): (2 * m * r**2 / 5,) * 3,
        cylinder(m, r, L, "x"): (m * r**2 / 2, m * (3 * r**2 + L**2) / 12, m * (3 * r**2 + L**2) / 12),
    }
    for shape, (xx, yy, zz) in table.items():
        near(np.array(shape.inertia(NOTHING).J, dtype=float), [xx, yy, zz, 0, 0, 0], 1e-15)


@plenty
@given(masses, lengths, axes)
def test_a_shape_gives_a_body_its_inertia(mass, length, along):
    shape = rod(mass, length, along=along)
    assert Body("b", shape).rigid_inertia(NOTHING) == shape.inertia(NOTHING)


# ---- inertia by numbers


@st.composite
def solids(draw):
    """Mass, centre and inertia about the centre of a body that exists: a box, turned."""
    mass, edges = draw(masses), draw(st.tuples(lengths, lengths, lengths))
    squares = np.square(edges)
    R = ScipyRotation.from_rotvec(draw(centres)).as_matrix()
    J = R @ np.diag(mass * (squares.sum() - squares) / 12) @ R.T
    return mass, draw(centres), (J + J.T) / 2


@plenty
@given(solids())
def test_six_numbers_and_a_matrix_say_the_same(solid):
    mass, com, J = solid
    expected = moments(mass, com, J)
    for inertia in (tuple(symmetric(J)), J, J.tolist(), tuple(map(tuple, J))):
        near(flat(Body("b", mass=mass, com=com, inertia=inertia).rigid_inertia(NOTHING)), expected)


@plenty
@given(masses, st.tuples(lengths, lengths, lengths), centres)
def test_three_numbers_are_the_moments_about_the_axes(mass, edges, com):
    squares = np.square(edges)
    J = mass * (squares.sum() - squares) / 12
    for inertia in (J, tuple(J), np.diag(J), (*J, 0, 0, 0)):
        found = Body("b", mass=mass, com=com, inertia=inertia).rigid_inertia(NOTHING)
        near(flat(found), moments(mass, com, np.diag(J)))


@plenty
@given(solids())
def test_an_inertia_about_the_origin_is_that_about_the_centre_moved(solid):
    mass, com, J = solid
    expected = moments(mass, com, J)
    about_origin = Body("b", mass=mass, com=com, inertia=tuple(expected[4:]), about="origin")
    near(flat(about_origin.rigid_inertia(NOTHING)), expected)


@plenty
@given(masses)
def test_without_a_centre_the_origin_is_the_centre(mass):
    J = (1.0, 2.0, 2.5, 0.1, 0.2, 0.3)
    found = {Body("b", mass=mass, inertia=J, about=about).rigid_inertia(NOTHING) for about in ("com", "origin")}
    assert len(found) == 1
    near(flat(found.pop()), [mass, 0, 0, 0, *J])


@plenty
@given(masses, centres)
@example(0.7, (0.1, 0.2, 0.3))
def test_a_mass_without_an_inertia_is_a_point(mass, com):
    for about in ("com", "origin"):
        near(flat(Body("b", mass=mass, com=com, about=about).rigid_inertia(NOTHING)), moments(mass, com))


@plenty
@given(masses, centres)
@example(0.7, (0.1, 0.2, 0.3))
def test_a_point_has_an_inertia_about_the_origin(mass, com):
    expected = moments(mass, com)
    found = Body("b", mass=mass, com=com, inertia=tuple(expected[4:]), about="origin").rigid_inertia(NOTHING)
    near(flat(found), expected)


@plenty
@given(masses, lengths, centres)
@example(2.3, 0.7, (0.1, 0.2, 0.3))
def test_a_slender_rod_and_a_plate_are_at_the_edge_of_what_exists(mass, length, com):
    # a rod has no moment about itself; the moment of a plate about its normal is the sum of the two others
    J = mass * length**2 / 12
    for inertia in ((0, J, J), (J, J / 2, J / 2), (J, J, 2 * J)):
        found = Body("b", mass=mass, com=com, inertia=inertia).rigid_inertia(NOTHING)
        near(flat(found), moments(mass, com, np.diag(inertia)))


@plenty
@given(solids(), st.tuples(*[st.sampled_from([1e3, -1e5, 1e6])] * 3))
def test_a_body_may_be_far_from_its_frame(solid, com):
    # 10 cm in size, a thousand kilometres away: its inertia about its own centre is still that of a body
    mass, _, J = solid
    found = Body("b", mass=mass, com=com, inertia=tuple(1e-2 * e for e in symmetric(J))).rigid_inertia(NOTHING)
    near(flat(found), moments(mass, com, 1e-2 * J), 1e-14)


@plenty
@given(solids(), st.tuples(components, components, components))
def test_round_off_in_a_computed_inertia_is_not_a_mistake(solid, turned):
    # R J R' by NumPy is symmetric but for the last digit
    mass, com, J = solid
    R = ScipyRotation.from_rotvec(turned).as_matrix()
    found = Body("b", mass=mass, com=com, inertia=R @ J @ R.T).rigid_inertia(NOTHING)
    near(flat(found), moments(mass, com, R @ J @ R.T))


def test_a_massless_body_has_no_inertia():
    assert not flat(Body("b", massless=True).rigid_inertia(NOTHING)).any()


# ---- parameters


@plenty
@given(masses, lengths)
def test_numbers_may_be_expressions_of_parameters(m, a):
    values = Values({"m": m, "a": a, "half": "a/2"})
    pairs = [
        (rod("m", "2*a", "half", ("a", 0, "-a")), rod(m, 2 * a, a / 2, (1, 0, -1))),
        (box("m", ("a", "2*a", 1), ("half", 0, "-a")), box(m, (a, 2 * a, 1), (a / 2, 0, -a))),
        (sphere("m", "half", (0, "a", 0)), sphere(m, a / 2, (0, a, 0))),
        (cylinder("m", "half", "a", "y", ("a", 0, 0)), cylinder(m, a / 2, a, "y", (a, 0, 0))),
    ]
    for written, meant in pairs:
        near(flat(written.inertia(values)), flat(meant.inertia(NOTHING)))
    written = Body("b", mass="2*m", com=("half", 0, "a"), inertia=("m*a^2", "m*a^2", "m*a^2"))
    expected = moments(2 * m, (a / 2, 0, a), m * a**2 * np.eye(3))
    near(flat(written.rigid_inertia(values)), expected)


@plenty
@given(masses, lengths)
def test_parameters_left_open_are_put_in_later(m, a):
    values, here = Values({"m": 1.0, "a": 1.0}, free=["m", "a"]), {Reference("m"): m, Reference("a"): a}
    bodies = [
        Body("b", rod("m", "a", "a/2", (1, 2, 2))),
        Body("b", box("m", ("a", "2*a", 1), ("a", 0, 1))),
        Body("b", sphere("m", "a", (0, "a", 0))),
        Body("b", cylinder("m", "a", "2*a", "y", ("a", 0, 0))),
        Body("b", mass="m", com=("a", 0, 1), inertia=("m*a^2", "m*a^2", "m*a^2")),
        Body("b", mass="m", com=("a", 0, 0), inertia=("m", "m*a^2 + m", "m*a^2 + m"), about="origin"),
        Body("b", mass="m", com=(0, 0, 1), inertia=(("a", 0, "a/9"), (0, "a", 0), ("a/9", 0, "a"))),
    ]
    for body in bodies:
        M = body.rigid_inertia(values)
        found = [as_expression(entry).evaluate(here) for entry in (M.mass, *M.h, *M.J)]
        near(np.array(found), flat(body.rigid_inertia(Values({"m": m, "a": a}))))


def test_numbers_of_numpy_are_numbers():
    assert rod(np.float64(2), np.array(3.0)) == rod(2.0, 3.0)
    plain = Body("b", mass=2.0, com=(0.0, 1.0, 2.0), inertia=(1.0, 1.0, 1.0))
    assert Body("b", mass=np.float64(2), com=np.arange(3.0), inertia=np.ones(3)) == plain


def test_a_frame_of_a_body_is_called_by_its_name():
    assert Body("link", massless=True).at((1, "a", 0)) == Frame("link", (1, "a", 0))


# ---- what cannot be meant

NAN, INF = math.nan, math.inf
UNIT = (1, 1, 1)
MISTAKES = {
    "mass zero": (Body("b", mass=0), "mass is 0 kg; it must be positive"),
    "mass negative": (Body("b", mass=-2.5), "mass is -2.5 kg; it must be positive"),
    "mass not a number": (Body("b", mass=NAN), "mass is nan; a finite number"),
    "mass not finite": (Body("b", mass=INF), "mass is inf; a finite number"),
    "mass a truth": (Body("b", mass=True), "mass is True"),
    "mass of a list": (Body("b", mass=(1, 2)), r"mass is \(1, 2\)"),
    "mass a text of nothing": (Body("b", mass=""), "empty|expected"),
    "unknown parameter": (Body("b", mass="2*masss"), "unknown name 'masss' in mass"),
    "mass of time": (Body("b", mass="1 + t"), "'t' appears in mass"),
    "no mass": (Body("b"), "has no mass. Give mass="),
    "an inertia without a mass": (Body("b", inertia=UNIT), "has no mass"),
    "massless with a mass": (Body("b", mass=1, massless=True), "is massless and has a mass"),
    "massless with a shape": (Body("b", rod(1, 1), massless=True), "is massless and has a mass"),
    "massless with a centre": (Body("b", com=(0, 0, 1), massless=True), "is massless and has a mass"),
    "mass twice": (Body("b", rod(1, 1), mass=2), "mass is given twice"),
    "centre twice": (Body("b", rod(1, 1), com=(1, 0, 0)), "com is given twice"),
    "inertia twice": (Body("b", rod(1, 1), inertia=UNIT), "inertia is given twice"),
    "centre of two": (Body("b", mass=1, com=(1, 2)), r"com is \(1, 2\); 3 numbers"),
    "centre not finite": (Body("b", mass=1, com=(1, INF, 2)), "com is inf"),
    "about nothing": (Body("b", mass=1, inertia=UNIT, about="centre"), "about is 'centre'; use 'com' or 'origin'"),
    "inertia of one": (Body("b", mass=1, inertia=1), "inertia has the wrong shape"),
    "inertia of four": (Body("b", mass=1, inertia=(1, 1, 1, 0)), "inertia has the wrong shape"),
    "inertia two by two": (Body("b", mass=1, inertia=((1, 0), (0, 1))), "inertia has the wrong shape"),
    "inertia with a short row": (
        Body("b", mass=1, inertia=((1, 0, 0), (0, 1), (0, 0, 1))),
        r"inertia is \(0, 1\); 3 numbers",
    ),
    "inertia half a matrix": (Body("b", mass=1, inertia=((1, 0, 0), 1, 1)), r"inertia is \(1, 0, 0\)"),
    "inertia not a number": (Body("b", mass=1, inertia=(1, NAN, 1)), "inertia is nan"),
    "not symmetric": (Body("b", mass=1, inertia=((1, 0.1, 0), (0, 1, 0), (0, 0, 1))), "not symmetric"),
    "not symmetric below": (Body("b", mass=1, inertia=((1, 0, 0), (0, 1, 0), (0, 0.1, 1))), "not symmetric"),
    "not positive": (Body("b", mass=1, inertia=(-1, 1, 1)), "inertia is not positive: .* -1 kg m2"),
    "not positive by a product": (Body("b", mass=1, inertia=(1, 1, 1, 2, 0, 0)), "inertia is not positive"),
    "all negative": (Body("b", mass=1, inertia=(-1, -1, -1)), "inertia is not positive"),
    "triangle": (Body("b", mass=1, inertia=(1, 1, 2.1)), r"triangle inequality: .* 1 \+ 1 < 2.1 kg m2"),
    "triangle in any order": (Body("b", mass=1, inertia=(2.1, 1, 1)), "triangle inequality"),
    "triangle by a product": (Body("b", mass=1, inertia=(1.5, 1.5, 1, 1.4, 0, 0)), "triangle inequality"),
    "too small about the origin": (
        Body("b", mass=1, com=(2, 0, 0), inertia=UNIT, about="origin"),
        "not positive .moved from the origin to the centre of mass.",
    ),
    "triangle about the centre": (
        Body("b", mass=1, com=(0, 1, 0), inertia=(3.1, 1, 2), about="origin"),
        "triangle inequality .moved from the origin to the centre of mass.",
    ),
    "rod without a length": (Body("b", rod(1, 0)), "length is 0 m; it must be positive"),
    "rod with a negative radius": (Body("b", rod(1, 1, -0.1)), "radius is -0.1 m; it may not be negative"),
    "rod along nothing": (Body("b", rod(1, 1, along=(0, 0, 0))), "along has zero length"),
    "rod along a wrong name": (Body("b", rod(1, 1, along="up")), "along is 'up'"),
    "rod without a mass": (Body("b", rod(0, 1)), "mass is 0 kg"),
    "rod not a number": (Body("b", rod(1, NAN)), "length is nan"),
    "box with a flat side": (Body("b", box(1, (1, 0, 1))), "size is 0 m; it must be positive"),
    "box of one number": (Body("b", box(1, 2)), "size is 2; 3 numbers"),
    "box without a place": (Body("b", box(1, (1, 1, 1), (1, 2))), r"centre is \(1, 2\); 3 numbers"),
    "box of negative mass": (Body("b", box(-1, (1, 1, 1))), "mass is -1 kg"),
    "sphere without a radius": (Body("b", sphere(1, 0)), "radius is 0 m; it must be positive"),
    "sphere of no finite size": (Body("b", sphere(1, INF)), "radius is inf"),
    "sphere of no mass": (Body("b", sphere(0, 1)), "mass is 0 kg"),
    "cylinder without a radius": (Body("b", cylinder(1, 0, 1)), "radius is 0 m; it must be positive"),
    "cylinder of negative length": (Body("b", cylinder(1, 1, -1)), "length is -1 m; it must be positive"),
    "cylinder about nothing": (Body("b", cylinder(1, 1, 1, (0, 0, 0))), "axis has zero length"),
    "cylinder of unknown mass": (
        Body("b", cylinder(None, 1, 1)),
        "has no mass. Give mass=, a shape with mass or density",
    ),
}


@pytest.mark.parametrize(("body", "message"), MISTAKES.values(), ids=MISTAKES)
def test_what_cannot_be_meant_is_said_by_name(body, message):
    with pytest.raises((Mistake, ExpressionError), match=message):
        body.rigid_inertia(NOTHING)


@plenty
@given(solids(), st.floats(0.01, 1))
def test_what_breaks_the_triangle_inequality_is_no_body_in_any_axes(solid, excess):
    mass, com, _ = solid
    R = ScipyRotation.from_rotvec(com).as_matrix()
    J = R @ np.diag([1, 1, 2 + excess]) @ R.T
    with pytest.raises(Mistake, match="triangle inequality"):
        Body("b", mass=mass, com=com, inertia=tuple(symmetric(J))).rigid_inertia(NOTHING)
    J = R @ np.diag([1, 1, -excess]) @ R.T
    with pytest.raises(Mistake, match="not positive"):
        Body("b", mass=mass, com=com, inertia=tuple(symmetric(J))).rigid_inertia(NOTHING)


def test_a_vector_is_as_good_as_three_numbers():
    assert Body("b", mass=1, com=Vector(1, 2, 3)) == Body("b", mass=1, com=(1, 2, 3))


# --- inertias of published files that no body has ---

PUBLISHED = {"triangle": (1.0, 1.0, 3.0), "negative": (-0.1, 1.0, 1.0)}


def with_published(inertia, axis="z", body=None, model="error"):
    m = mt.Model("published", inertia_check=model)
    m.body("link", mass=1.0, com=(0.1, 0, 0), inertia=inertia, inertia_check=body)
    m.joint("A", mt.Revolute(axis), "ground", "link")
    return m


@pytest.mark.parametrize("inertia", PUBLISHED.values(), ids=PUBLISHED)
def test_an_impossible_inertia_is_an_error_that_names_the_way_out(inertia):
    (problem,) = with_published(inertia).check()
    assert 'inertia_check = "warn" for the body, the model, load or build' in problem.message
    assert with_published(inertia, body="error", model="warn").check()


@pytest.mark.parametrize("inertia", PUBLISHED.values(), ids=PUBLISHED)
@pytest.mark.parametrize("where", ["body", "model", "build"])
def test_an_impossible_inertia_is_used_as_it_is_where_asked_for(inertia, where):
    m = with_published(inertia, **({where: "warn"} if where != "build" else {}))
    with pytest.warns(mt.ModelWarning, match="body 'link': inertia .*\n.*computed all the same"):
        system = m.build(inertia_check="warn" if where == "build" else None)
    assert system.mass_matrix([0.0])[0, 0] == pytest.approx(inertia[2] + 0.01)
    if where != "build":
        assert mt.loads(dumps(m)) == m


def test_an_inertia_that_makes_the_mass_matrix_indefinite_is_always_an_error():
    m = with_published(PUBLISHED["negative"], axis="x", model="warn")
    with pytest.raises(mt.ModelError, match=r"joint 'A' moves a negative inertia .* mass matrix indefinite"):
        m.build()
    m = with_published((-0.5, 1, 1), model="warn")  # about z it is fine, but the carrier turns it about x
    m.joints.clear()
    m.body("carrier", massless=True)
    m.joint("A", mt.Revolute("x"), "ground", "carrier")
    m.joint("B", mt.Revolute("z"), "carrier", "link")
    with pytest.raises(mt.ModelError, match="joint 'A' moves a negative inertia"):
        m.build()


@pytest.mark.parametrize(("mass", "inertia"), [(-1.0, UNIT), (0.0, None), (0.0, (0, 0, 0)), (float("nan"), UNIT)])
def test_impossible_masses_stay_errors(mass, inertia):
    m = mt.Model("negative", inertia_check="warn")
    m.body("link", mass=mass, inertia=inertia)
    m.joint("A", mt.Revolute("z"), "ground", "link")
    (problem,) = m.check()
    assert "mass is" in problem.message


def test_a_possible_inertia_gives_no_warning(recwarn):
    with_published((1.0, 1.0, 1.0), model="warn").build()
    assert not recwarn.list


def test_a_rotor_has_inertia_and_no_mass():
    M = Body("rotor", mass=0, com=(1, 2, 3), inertia=(0.2, 0.3, 0.4)).rigid_inertia(Values({}))
    assert (M.mass, *M.h, *M.J) == (0, 0, 0, 0, 0.2, 0.3, 0.4, 0, 0, 0)
    with pytest.raises(Mistake, match="inertia is larger than"):
        Body("rotor", mass=0, inertia=(1e200, 1e200, 1e200)).rigid_inertia(Values({}))
