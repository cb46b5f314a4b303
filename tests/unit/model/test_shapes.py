"""Shapes: their inertias against closed forms and against trimesh's integrals of the triangles that are drawn."""

import math
from pathlib import Path

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation as ScipyRotation

import momentree as mt
from momentree.model.bodies import Body
from momentree.model.expressions.expression import Reference, as_expression
from momentree.model.shapes import SHAPES, box, capsule, cylinder, disc, mesh, polygon, rod, sphere
from momentree.model.values import Mistake, Values, pending_checks

plenty = settings(deadline=None, max_examples=25)
NOTHING = Values({})
sizes, masses = st.floats(0.1, 3), st.floats(0.1, 5)
places = st.tuples(*[st.floats(-2, 2)] * 3)
axes = st.sampled_from(["x", "y", "-z", (1, 2, 2), (-0.3, 0.1, 0.8)])
L_SHAPE = ((0, 0), (2, 0), (2, 0.5), (0.5, 0.5), (0.5, 1.5), (0, 1.5))


def flat(M):
    return np.array([M.mass, *M.h, *M.J], dtype=float)


def near(found, expected, tolerance=1e-10):
    expected = np.asarray(expected, dtype=float)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1, np.abs(expected).max()))


def ten_numbers(mass, com, J):
    """Mass, first moment and inertia about the origin, by Steiner's theorem."""
    c = np.array(com, dtype=float)
    J = np.array(J) + mass * (c @ c * np.eye(3) - np.outer(c, c))
    return [mass, *(mass * c), J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]


def integrated(solid, density=1.0):
    """The same of a trimesh, by its own integrals."""
    assert solid.is_volume
    return np.array(ten_numbers(density * solid.volume, solid.center_mass, density * solid.moment_inertia))


def z_to(axis):
    """A rotation that takes z to an axis."""
    n = {"x": (1, 0, 0), "y": (0, 1, 0), "-z": (0, 0, -1)}.get(axis, axis)
    across = np.linalg.svd(np.array(n, dtype=float)[None, :])[2][1:]
    R = np.column_stack([*across, np.array(n) / np.linalg.norm(n)])
    return R if np.linalg.det(R) > 0 else R[:, [1, 0, 2]]


def turned(solid, R, offset):
    placed = np.eye(4)
    placed[:3, :3], placed[:3, 3] = R, offset
    return solid.apply_transform(placed)


# ---- closed forms


def test_a_disc_is_a_short_cylinder():
    near(
        flat(disc(2.0, 0.3, 0.05, "y", (1, 2, 3)).inertia(NOTHING)),
        flat(cylinder(2.0, 0.3, 0.05, "y", (1, 2, 3)).inertia(NOTHING)),
    )
    m, r = 3.0, 0.4  # a thin one: Beer and Johnston's table
    near(flat(disc(m, r).inertia(NOTHING)), [m, 0, 0, 0, m * r**2 / 4, m * r**2 / 4, m * r**2 / 2, 0, 0, 0])


@plenty
@given(masses, sizes, sizes)
def test_a_capsule_is_a_cylinder_and_two_half_balls(m, r, length):
    """A half ball: center 3 r / 8 from its flat side, 83/320 m r^2 across there (Beer and Johnston; Meriam)."""
    volumes = math.pi * r**2 * length, 2 * math.pi * r**3 / 3
    rho = m / (volumes[0] + 2 * volumes[1])
    middle, half = rho * volumes[0], rho * volumes[1]
    total = np.array(
        ten_numbers(middle, (0, 0, 0), np.diag([middle * (3 * r**2 + length**2) / 12] * 2 + [middle * r**2 / 2]))
    )
    J = np.diag([83 / 320 * half * r**2] * 2 + [2 / 5 * half * r**2])
    for side in (-1, 1):
        total += ten_numbers(half, (0, 0, side * (length / 2 + 3 * r / 8)), J)
    near(flat(capsule(m, r, length).inertia(NOTHING)), total)


@plenty
@given(
    masses, sizes, sizes, sizes, st.floats(-2, 2), st.floats(-2, 2), st.booleans(), st.sampled_from(["xy", "xz", "yz"])
)
def test_a_rectangle_is_a_box(m, a, b, t, x, y, clockwise, plane):
    outline = [(x, y), (x + a, y), (x + a, y + b), (x, y + b)]
    found = polygon(m, outline[::-1] if clockwise else outline, t, plane)
    edges, middle = {
        "xy": ((a, b, t), (x + a / 2, y + b / 2, 0)),
        "xz": ((a, t, b), (x + a / 2, 0, y + b / 2)),
        "yz": ((t, a, b), (0, x + a / 2, y + b / 2)),
    }[plane]
    near(flat(found.inertia(NOTHING)), flat(box(m, edges, middle).inertia(NOTHING)))
    assert found.volume(NOTHING) == pytest.approx(a * b * t)


def test_a_triangle_has_the_moments_of_the_textbook():
    """About its base: m h^2 / 6; its center at h / 3 (Beer and Johnston, plane areas)."""
    m, base, height = 2.0, 1.2, 0.7
    M = polygon(m, ((0, 0), (base, 0), (0.4, height))).inertia(NOTHING)
    assert M.J[0] == pytest.approx(m * height**2 / 6)
    assert M.h.y == pytest.approx(m * height / 3)
    assert M.h.x == pytest.approx(m * (base + 0.4) / 3)


def test_volumes_are_those_of_trimesh_primitives():
    from trimesh import primitives

    r, length = 0.3, 1.7
    for shape, solid in {
        rod(length=length, radius=r): primitives.Cylinder(radius=r, height=length),
        cylinder(radius=r, length=length): primitives.Cylinder(radius=r, height=length),
        disc(radius=r, thickness=length): primitives.Cylinder(radius=r, height=length),
        box(size=(1, 2, 3)): primitives.Box((1, 2, 3)),
    }.items():
        assert shape.volume(NOTHING) == pytest.approx(solid.volume)
    assert sphere(radius=r).volume(NOTHING) == pytest.approx(
        primitives.Sphere(radius=r, subdivisions=5).volume, rel=1e-3
    )


# ---- against trimesh: a mesh with flat sides is exact


@plenty
@given(places, sizes)
def test_a_polygon_that_is_not_convex_has_the_integrals_of_its_boxes(place, t):
    x, y, _ = place
    outline = [(x + a, y + b) for a, b in L_SHAPE]
    boxes = [trimesh.creation.box((2, 0.5, t)), trimesh.creation.box((0.5, 1.0, t))]
    boxes[0].apply_translation((x + 1, y + 0.25, 0))
    boxes[1].apply_translation((x + 0.25, y + 1.0, 0))
    near(flat(polygon(outline=outline, thickness=t, density=1).inertia(NOTHING)), sum(map(integrated, boxes)))


@plenty
@given(sizes, sizes, axes, places, places)
def test_round_solids_have_the_integrals_of_fine_meshes(r, length, axis, centre, spin):
    R, fine = z_to(axis), 5e-3
    capsules = trimesh.creation.capsule(height=length, radius=r, count=[64, 64])
    solids = {
        disc(radius=r, thickness=length, axis=axis, centre=centre, density=3): trimesh.creation.cylinder(r, length, 96),
        capsule(radius=r, length=length, axis=axis, centre=centre, density=3): capsules,
    }
    X = ScipyRotation.from_rotvec(spin)
    quaternion = tuple(X.as_quat())
    for shape, solid in solids.items():
        expected = integrated(turned(turned(solid, R, centre), X.as_matrix(), (1, -2, 0.5)), 3)
        found = flat(shape.at((1, -2, 0.5), quaternion).inertia(NOTHING))
        near(found, expected, fine)


@plenty
@given(places, places)
def test_a_shape_is_placed_in_its_body(place, spin):
    R = ScipyRotation.from_rotvec(spin).as_matrix()
    for shape, solid in {
        box(density=7, size=(1, 2, 3), centre=(0.1, 0, 0)): turned(
            trimesh.creation.box((1, 2, 3)), np.eye(3), (0.1, 0, 0)
        ),
        polygon(density=7, outline=((0, 0), (1, 0), (0, 1)), thickness=0.2): trimesh.convex.convex_hull(
            [(x, y, z) for x, y in ((0, 0), (1, 0), (0, 1)) for z in (-0.1, 0.1)]
        ),
    }.items():
        found = flat(shape.at(place, R).inertia(NOTHING))
        near(found, integrated(turned(solid, R, place), 7), 1e-9)


# ---- meshes


@pytest.fixture
def tetrahedron(tmp_path):
    points = np.array([(0, 0, 0), (1000, 0, 0), (0, 2000, 0), (0, 0, 3000)], dtype=float)
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    solid = trimesh.Trimesh(points, faces)
    for ending in ("stl", "obj", "ply"):
        solid.export(tmp_path / f"corner.{ending}")
    solid.update_faces(np.array([True, True, True, False]))
    solid.export(tmp_path / "open.stl")
    return tmp_path


@pytest.mark.parametrize("ending", ["stl", "obj", "ply"])
def test_a_mesh_has_the_inertia_of_its_solid(tetrahedron, ending):
    """A tetrahedron with edges a, b, c along the axes: V = a b c / 6, center at a quarter, K_xx = m a^2 / 10."""
    a, b, c = 1.0, 2.0, 3.0
    m = 5.0 * a * b * c / 6
    K = m / 20 * (np.outer((a, b, c), (a, b, c)) + np.diag(np.square((a, b, c))))
    J = np.trace(K) * np.eye(3) - K
    expected = [m, m * a / 4, m * b / 4, m * c / 4, J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]
    file = tetrahedron / f"corner.{ending}"
    near(flat(mesh(file, scale=0.001, density=5).inertia(NOTHING)), expected, 1e-6)  # STL has single precision
    near(flat(mesh(str(file), 0.001, mass=m).inertia(NOTHING)), expected, 1e-6)


def test_triangles_that_are_seen_clockwise_enclose_the_same_solid(tetrahedron):
    inside_out = trimesh.load_mesh(tetrahedron / "corner.ply")
    inside_out.invert()
    inside_out.export(tetrahedron / "inverted.ply")
    found, expected = (mesh(tetrahedron / f"{name}.ply", density=1).inertia(NOTHING) for name in ("inverted", "corner"))
    np.testing.assert_allclose(flat(found), flat(expected), rtol=1e-12)


def test_an_open_mesh_has_no_inertia_but_that_of_its_hull(tetrahedron):
    opened = tetrahedron / "open.stl"
    with pytest.raises(Mistake, match=r"'.*open.stl' is not closed \(watertight\).*hull = true.*numbers"):
        mesh(opened, density=1).inertia(NOTHING)
    hull, closed = mesh(opened, density=1, hull=True), mesh(tetrahedron / "corner.stl", density=1)
    np.testing.assert_allclose(flat(hull.inertia(NOTHING)), flat(closed.inertia(NOTHING)), rtol=1e-6)
    mesh(opened).check(NOTHING)  # drawn


def test_a_mesh_may_have_a_free_scale(tetrahedron):
    shape = mesh(tetrahedron / "corner.ply", scale="s", density="2*s")
    M = shape.inertia(Values({"s": 1.0}, free=["s"]))
    found = [as_expression(entry).evaluate({Reference("s"): 0.5}) for entry in (M.mass, *M.h, *M.J)]
    np.testing.assert_allclose(found, flat(shape.inertia(Values({"s": 0.5}))), rtol=1e-12)


def test_a_file_that_changed_is_read_again(tetrahedron):
    file = tetrahedron / "corner.ply"
    before = mesh(file, density=1).inertia(NOTHING).mass
    trimesh.creation.box((1, 1, 1)).export(file)
    assert mesh(file, density=1).inertia(NOTHING).mass == pytest.approx(1) != before


# ---- parameters


@plenty
@given(masses, sizes)
def test_parameters_left_open_are_put_in_later(m, a):
    free, here = Values({"m": 1.0, "a": 1.0}, free=["m", "a"]), {Reference("m"): m, Reference("a"): a}
    shapes = [
        disc("m", "a", "a/9", (1, 2, 2)),
        capsule(density="m", radius="a", length="2*a", axis="y", centre=("a", 0, 0)),
        polygon(density="m", outline=((0, 0), (0, "a"), ("2*a", 0)), thickness="a"),  # clockwise
        rod(density="m", length="a", radius=0.1),
        sphere(density="m", radius="a").at(("a", 0, 0), mt.turn("z", "a")),
        cylinder(density="m", radius="a", length=1),
        box(density="m", size=("a", 1, 1)),
    ]
    for shape in shapes:
        M = shape.inertia(free)
        found = [as_expression(entry).evaluate(here) for entry in (M.mass, *M.h, *M.J)]
        near(found, flat(shape.inertia(Values({"m": m, "a": a}))))


def test_an_outline_with_free_parameters_is_checked_when_they_have_values():
    plate = polygon(mass=1, outline=((0, 0), (1, 0), (1, 1), ("a", 1)))
    with pending_checks() as checks:
        plate.inertia(Values({"a": 0.0}, free=["a"]))
    check = next(one for one in checks if len(one.numbers) == 8)
    check.check(0, 0, 1, 0, 1, 1, 0, 1)
    with pytest.raises(Mistake, match="crosses"):
        check.check(0, 0, 1, 0, 1, 1, 0.5, -1)


# ---- bodies of several shapes


def test_the_inertias_of_shapes_add_up_and_the_others_are_only_drawn():
    parts = [box(density=100, size=(1, 1, 1)), sphere(2.0, 0.3).at((0, 0, 1)), capsule(radius=1, length=1)]
    found = Body("b", parts).rigid_inertia(NOTHING)
    near(flat(found), flat(parts[0].inertia(NOTHING)) + flat(parts[1].inertia(NOTHING)))


def test_numbers_and_shapes_that_are_only_drawn():
    m = mt.Model("arm")
    arm = m.body("arm", mass=2.0, inertia=(1, 1, 1), shapes=[mt.box(size=(1, 1, 1)), mt.disc(radius=1).at((0, 0, 1))])
    assert flat(arm.rigid_inertia(NOTHING)).tolist() == [2, 0, 0, 0, 1, 1, 1, 0, 0, 0]
    carrier = m.body("carrier", mt.box(size=(1, 1, 1)), massless=True)
    assert not flat(carrier.rigid_inertia(NOTHING)).any()
    assert m.body("one", mt.rod(1, 1)) == m.body("one", shapes=[mt.rod(1, 1)])
    assert len(m.body("two", mt.rod(1, 1), shapes=[mt.rod(1, 1)]).shapes) == 2


MISTAKES = {
    "mass twice": (Body("b", box(1, (1, 1, 1)), mass=1), "mass is given twice: by the box, a shape"),
    "no mass": (Body("b", box(size=(1, 1, 1))), "has no mass. Give mass=, a shape with mass or density"),
    "mass and density": (Body("b", sphere(1, 1, density=3)), "mass and density are both given"),
    "density zero": (Body("b", sphere(radius=1, density=0)), "density is 0 kg/m3; it must be positive"),
    "a line with a density": (Body("b", rod(length=1, density=1)), "has no volume, so its density gives no mass"),
    "an area with a density": (Body("b", disc(radius=1, density=1)), "has no volume"),
    "capsule of no length": (Body("b", capsule(1, 1, 0)), "length is 0 m; it must be positive"),
    "capsule without a radius": (Body("b", capsule(1, length=1)), "radius is missing"),
    "disc of a negative thickness": (Body("b", disc(1, 1, -1)), "thickness is -1 m; it may not be negative"),
    "outline missing": (Body("b", polygon(1)), "outline is missing; at least three corners"),
    "outline of two": (Body("b", polygon(1, ((0, 0), (1, 0)))), "at least three corners"),
    "outline in space": (Body("b", polygon(1, ((0, 0, 0), (1, 0, 0), (0, 1, 0)))), "2 numbers are expected"),
    "plane": (Body("b", polygon(1, L_SHAPE, plane="zx")), "plane is 'zx'; use 'xy', 'xz' or 'yz'"),
    "rotation": (Body("b", sphere(1, 1).at((0, 0, 0), (1, 1))), "rotation is neither a turn"),
    "position": (Body("b", sphere(1, 1).at((0, 0))), "3 numbers"),
    "mesh that is not there": (Body("b", mesh("nowhere.stl", mass=1)), "there is no file 'nowhere.stl'"),
    "mesh in another format": (Body("b", mesh("link.step", mass=1)), r"Choose '.stl', '.obj' or '.ply'"),
    "mesh that is a folder": (Body("b", mesh("nowhere/", mass=1)), "not a mesh that can be read"),
    "mesh without a file": (Body("b", mesh("", mass=1)), "file is missing"),
    "mesh with a wrong hull": (Body("b", mesh("a.stl", mass=1, hull="yes")), "hull is 'yes'; use true or false"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "message"), MISTAKES.values(), ids=MISTAKES)
def test_what_cannot_be_meant_is_said_by_name(body, message):
    with pytest.raises(Mistake, match=message):
        body.rigid_inertia(NOTHING)


def test_what_is_only_drawn_is_checked_too():
    m = mt.Model("drawn")
    m.shape(m.ground, box(size=(1, 0, 1), color="bleu"))
    m.shape("ground", sphere(2.0, 1))
    m.shape("nobody", sphere(radius=1), color="red")
    m.body("bob", mass=1, inertia=(1, 1, 1), shapes=[capsule(radius=-1, length=1), "box"])
    said = sorted(str(problem) for problem in m.check())
    assert len(said) == 6
    for words in (
        "shape 1 on 'ground': there is no color 'bleu'. Did you mean 'blue'?",
        "shape 1 on 'ground': size is 0 m",
        "shape 2 on 'ground': has a mass, but is only drawn",
        "shape 3 on 'nobody': there is no body 'nobody'",
        "body 'bob', shape 1 (capsule): radius is -1 m",
        "body 'bob': shape is 'box'; use mt.box",
    ):
        assert any(words in one for one in said), (words, said)


def test_every_kind_of_shape_can_be_made_by_its_name():
    assert all(
        isinstance(getattr(mt, kind)("link.stl") if kind == "mesh" else getattr(mt, kind)(), cls)
        for kind, cls in SHAPES.items()
    )


def test_a_mesh_is_found_wherever_python_goes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Path(mesh("link.stl").file) == tmp_path / "link.stl"
