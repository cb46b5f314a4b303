"""Rows that machine code closes: the same as one by one, whatever stands beside them, in any size, near toggles."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import momentree as mt
from campaign.generator import sample
from mechanisms import MOVING, bennett, four_bar, integrate, random_loops
from momentree.assembly import batch_assembly
from momentree.assembly.batch_closing import BatchClosing, BatchOfRows
from momentree.assembly.compiled_closing import CompiledRows
from momentree.assembly.configuration import Configuration
from momentree.assembly.nearby_configurations import constraints_at, regular_rank
from momentree.assembly.scaled_constraints import CUT_OFF, column_scales
from momentree.assembly.state import State
from momentree.compile.execute import threads
from parametric import linkage


def rows_of(system, count=1):
    batch = BatchOfRows(system, np.zeros((count, 0)), 0.0)
    return batch, CompiledRows.of(batch)


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_ends_and_velocities_are_those_by_numpy(seed):
    random = np.random.default_rng(seed)
    kinds, closing = ([str(kind) for kind in random.choice(MOVING, n)] for n in (4, 1))
    model, q = random_loops(random, kinds, closing)
    system = model.build()
    nv, everything = system.nv, np.arange(5)
    guess = np.array([integrate(system.mechanism, q, 0.1 * random.standard_normal(nv)) for _ in range(5)])
    batch, compiled = rows_of(system, 5)
    expected = BatchClosing(batch, [0]).close(guess, everything)
    found, _ = compiled.close(guess, everything, np.arange(1, nv))
    np.testing.assert_allclose(found.q, expected.q, rtol=0, atol=1e-9)
    assert ((found.misfit <= 1) == (expected.misfit <= 1)).all()
    assert (found.exact == expected.exact).all()
    steps = random.standard_normal((5, nv))
    np.testing.assert_allclose(compiled.integrated(guess, steps), batch.integrated(guess, steps), atol=1e-14)
    np.testing.assert_allclose(compiled.difference(guess, found.q), batch.difference(guess, found.q), atol=1e-13)


@pytest.mark.parametrize("make", [four_bar, bennett, lambda: four_bar((1.0, 2.0, 1.0, 2.0))])
def test_regular_ranks_are_those_of_configurations_nearby(make):
    system = make().build()
    driven = system.mechanism.bodies[0].joint.name
    q = np.array([system.assemble({driven: angle}).q for angle in (0.4, 1.0, 2.0)] + [np.zeros(system.nq)])
    _, compiled = rows_of(system, len(q))
    ranks, regular = compiled.ranks(q, np.arange(len(q)))
    for i, each in enumerate(q):
        at = Configuration(system._numeric, each)
        assert ranks[i] == constraints_at(at).rank(CUT_OFF)
        assert regular[i] == regular_rank(at)


def test_a_flat_parallelogram_has_a_lower_rank_than_nearby():
    system = four_bar((1.0, 2.0, 1.0, 2.0)).build()
    _, compiled = rows_of(system)
    ranks, regular = compiled.ranks(np.zeros((1, 3)), np.arange(1))
    assert ranks.tolist() == [1]
    assert regular.tolist() == [2]


# --- neighbours ---


def assembled(system, rows, **given):
    """States of some of the rows."""
    own = {what: {name: values[rows] for name, values in each.items()} for what, each in given.items()}
    return system.assemble_many(
        own["given"], own["velocities"], own["guess"], parameters=own["parameters"], strict=False
    )


@pytest.mark.repeats(2)
@pytest.mark.parametrize("named", [("B", "D"), ("B",), ()])
def test_bits_depend_neither_on_order_nor_grouping_nor_threads(named, monkeypatch):
    system, random, n = linkage().build(free=["a", "b", "d"]), np.random.default_rng(4), 24
    given = {
        "given": {"A": random.uniform(-3, 3, n)},
        "velocities": {"A": random.uniform(-1, 1, n)},
        "guess": {name: random.uniform(-2, 2, n) for name in named},
        "parameters": {"a": random.uniform(0.5, 1.2, n), "d": random.uniform(1.5, 3.4, n)},
    }
    given["parameters"]["d"][3] = 5.5  # too long to close
    expected = assembled(system, np.arange(n), **given)
    assert 0 < sum(map(bool, expected.reasons)) < n
    monkeypatch.setenv("MOMENTREE_THREADS", "3")
    monkeypatch.setattr(threads, "FIRST", 8)
    monkeypatch.setattr(threads, "PAYS", 1e-12)
    groups = [random.permutation(n), np.arange(n)[::-3], *random.permutation(n)[:12].reshape(4, 3), np.array([7])]
    for rows in groups:
        found = assembled(system, rows, **given)
        assert np.array_equal(found.q, expected.q[rows], equal_nan=True)
        assert np.array_equal(found.v, expected.v[rows], equal_nan=True)
        assert found.reasons == tuple(expected.reasons[k] for k in rows)
    monkeypatch.setattr(batch_assembly, "MANY_ROWS", 7)
    parted = assembled(system, np.arange(n), **given)
    assert np.array_equal(parted.q, expected.q, equal_nan=True)
    assert np.array_equal(parted.v, expected.v, equal_nan=True)


def test_bits_of_rows_with_balls():
    random = np.random.default_rng(11)
    model, q = random_loops(random, ["Spherical", "Revolute", "Spherical", "Universal"], ["Cylindrical"])
    system = model.build()
    guess = np.array([integrate(system.mechanism, q, 0.4 * random.standard_normal(system.nv)) for _ in range(9)])
    expected = system.assemble_many(guess=guess, strict=False)
    order = random.permutation(9)
    assert np.array_equal(system.assemble_many(guess=guess[order], strict=False).q, expected.q[order], equal_nan=True)
    for i in (0, 5):
        one = system.assemble_many(guess=guess[i : i + 1], strict=False)
        assert np.array_equal(one.q[0], expected.q[i], equal_nan=True)


# --- sizes and places ---


LENGTHS = {"a": 1.0, "b": 2.0, "c": 2.0, "d": 2.5}


def rods(origin=(0.0, 0.0, 0.0)):
    """Three rods of lengths a, b and c on a ground of length d, as a system with free lengths."""
    m = mt.Model("rods")
    for name, length in LENGTHS.items():
        m.parameter(name, length)
    crank, coupler, rocker = (
        m.body(name, mt.rod(mass=1.0, length=length)) for name, length in zip("ABD", "abc", strict=True)
    )
    x, y, z = origin
    m.joint("A", mt.Revolute("y"), m.ground.at(origin), crank)
    m.joint("B", mt.Revolute("y"), crank.at(("a", 0, 0)), coupler)
    m.joint("D", mt.Revolute("y"), m.ground.at((f"{x} + d", y, z)), rocker)
    m.joint("C", mt.Revolute("y"), coupler.at(("b", 0, 0)), rocker.at(("c", 0, 0)))
    return m.build(free=[*LENGTHS])


@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_a_linkage_of_any_size_has_the_same_angles(size):
    system, given, guess = rods(), {"A": np.linspace(-2, 2, 9)}, {"B": 0.7, "D": 0.5}
    expected = system.assemble_many(given, {"A": 1.0}, guess)
    scaled = {name: np.full(9, size * x) for name, x in LENGTHS.items()}
    found = system.assemble_many(given, {"A": 1.0}, guess, parameters=scaled)
    np.testing.assert_allclose(found.q, expected.q, atol=1e-12)
    np.testing.assert_allclose(found.v, expected.v, atol=1e-11)
    a, b, c, d = (size * x for x in LENGTHS.values())
    (A, B, D), (vA, vB, vD) = found.q.T, found.v.T
    # the closure of the plane linkage: crank and coupler end where ground and rocker do
    np.testing.assert_allclose(a * np.cos(A) + b * np.cos(A + B) - c * np.cos(D), d, atol=1e-13 * size)
    np.testing.assert_allclose(a * np.sin(A) + b * np.sin(A + B) - c * np.sin(D), 0, atol=1e-13 * size)
    opening = a * np.cos(A) * vA + b * np.cos(A + B) * (vA + vB) - c * np.cos(D) * vD
    np.testing.assert_allclose(opening, 0, atol=1e-12 * size)


def test_far_from_the_origin_it_closes_as_well():
    given = {"A": np.linspace(0.5, 1.5, 5)}
    far, near = (rods(origin).assemble_many(given, {"A": 1.0}) for origin in ((1e5, -2e5, 3e5), (0, 0, 0)))
    # the far ends of the ground are 2.5 m apart to 1e-11 only
    np.testing.assert_allclose(far.q, near.q, atol=1e-10)
    np.testing.assert_allclose(far.v, near.v, atol=1e-9)
    assert max(far[i].closure_error for i in range(5)) < 1e-14


# --- random mechanisms ---


def agrees_with_assembly_alone(seed):
    """Compares some rows of a random mechanism with loops; how many there were."""
    drawn = sample(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system = drawn.model.build()
    m = system.mechanism
    if not m.loops or m.constraints or m.nonholonomic or len(m.bodies) > 8:
        return 0
    tree = {body.joint.name for body in m.bodies if body.laws is None}
    start = {name: list(q) if len(q) > 1 else q[0] for name, q in drawn.coordinates.items() if name in tree}
    try:
        q = system.assemble(guess=start, t=drawn.t).q
    except mt.AssemblyError:
        return 0
    random = np.random.default_rng(seed)
    steps = [0.15 * k * column_scales(system._numeric) * random.standard_normal(m.nv) for k in range(4)]
    guess = np.array([integrate(m, q, step) for step in steps])
    moved = next(body.joint for body in m.bodies if body.laws is None and body.joint.velocities)
    velocities = {moved.name: random.standard_normal(len(moved.velocities)).tolist()}
    if len(moved.velocities) == 1:
        velocities = {moved.name: velocities[moved.name][0]}
    found = system.assemble_many(velocities=velocities, guess=guess, t=drawn.t, strict=False)
    for i, each in enumerate(guess):
        try:
            near = State(system._numeric, each, np.zeros(m.nv), drawn.t)
            one = system.assemble(velocities=velocities, guess=near, t=drawn.t)
        except mt.AssemblyError:
            assert found.reasons[i], (seed, i)
            continue
        assert not found.reasons[i], (seed, i)
        np.testing.assert_allclose(found.q[i], one.q, rtol=0, atol=1e-7 * max(1.0, np.abs(one.q).max()))
        np.testing.assert_allclose(found.v[i], one.v, rtol=0, atol=1e-6 * max(1.0, np.abs(one.v).max()))
        assert found[i].closure_error <= max(10 * one.closure_error, 1e-12 * m.size)
    return len(guess)


def test_random_mechanisms():
    assert sum(agrees_with_assembly_alone(seed) for seed in (0, 3)) > 0


@pytest.mark.long
def test_many_random_mechanisms():
    assert sum(agrees_with_assembly_alone(seed) for seed in range(10, 150)) > 200


# --- near toggles, with slides, and velocities that do not fit ---


def test_near_a_toggle_rows_end_as_by_numpy():
    """A flat parallelogram, whose closure errors are small far from closed configurations."""
    system, random = four_bar((1.0, 2.0, 1.0, 2.0)).build(), np.random.default_rng(8)
    size = 10.0 ** random.uniform(-9, -1, (60, 1))
    guess, everything = size * random.standard_normal((60, 3)), np.arange(60)
    batch, compiled = rows_of(system, 60)
    for held in ([], [0]):
        expected = BatchClosing(batch, held).close(guess, everything)
        found, ranks = compiled.close(guess, everything, np.setdiff1d(np.arange(3), held))
        assert ((found.misfit <= 1) == (expected.misfit <= 1)).all()
        assert (found.exact == expected.exact).mean() > 0.9  # some stop at round-off here and there
        both = found.exact & expected.exact
        assert both.sum() > 20
        np.testing.assert_allclose(found.q[both], expected.q[both], rtol=0, atol=1e-7)
        assert (ranks[found.exact | (found.misfit > 1)] == -1).all()
        assert (ranks[~found.exact & (found.misfit <= 1)] >= 1).all()


def test_far_guesses_end_as_by_numpy():
    system, random = four_bar().build(), np.random.default_rng(9)
    guess, everything = random.uniform(-3, 3, (80, 3)), np.arange(80)
    batch, compiled = rows_of(system, 80)
    expected, (found, _) = (
        BatchClosing(batch, []).close(guess, everything),
        compiled.close(guess, everything, np.arange(3)),
    )
    same = np.abs(found.q - expected.q).max(axis=1) < 1e-8
    assert same.mean() > 0.95


@pytest.mark.parametrize("size", [1.0, 1e-3])
def test_slides_have_velocities_in_their_own_unit(size):
    """Crank r at the angle A, rod l: the slider is at x = r cos A + sqrt(l^2 - r^2 sin^2 A)."""
    m, (r, l) = mt.Model("slider"), (0.3 * size, size)
    crank, rod = (m.body(name, mt.rod(mass=1.0, length=length)) for name, length in (("crank", r), ("rod", l)))
    slider = m.body("slider", mass=1.0, inertia=(1, 1, 1))
    m.joint("A", mt.Revolute("y"), m.ground, crank)
    m.joint("B", mt.Revolute("y"), crank.at((r, 0, 0)), rod)
    m.joint("S", mt.Prismatic("x"), m.ground, slider)
    m.joint("C", mt.Revolute("y"), rod.at((l, 0, 0)), slider)
    A, w = np.linspace(0.3, 2.5, 7), 2.0
    found = m.build().assemble_many({"A": A}, {"A": w}, {"B": -0.3, "S": l})
    names = [str(name) for name in m.build().mechanism.coordinates]
    root = np.sqrt(l**2 - (r * np.sin(A)) ** 2)
    x, dx = r * np.cos(A) + root, -r * np.sin(A) * w - r**2 * np.sin(A) * np.cos(A) * w / root
    np.testing.assert_allclose(found.q[:, names.index("S")], x, atol=1e-13 * size)
    np.testing.assert_allclose(found.v[:, names.index("S")], dx, atol=1e-12 * size)
    slid = m.build().assemble_many({"S": x}, {"S": dx}, {"A": A, "B": found.q[:, names.index("B")]})
    np.testing.assert_allclose(slid.v[:, names.index("A")], w, atol=1e-10)


def test_velocities_that_do_not_fit_are_refused_as_alone():
    system = four_bar().build()
    with pytest.raises(mt.AssemblyError, match="row 0: the velocities A=1, D=5 do not fit together"):
        system.assemble_many({"A": [0.7, 0.8]}, {"A": 1.0, "D": 5.0})
    right = system.assemble({"A": 0.7}, {"A": 1.0}).velocity("D")
    assert len(system.assemble_many({"A": [0.7, 0.7]}, {"A": 1.0, "D": right})) == 2
    with pytest.raises(mt.AssemblyError, match=r"row 1: the velocities .* do not fit together"):
        system.assemble_many({"A": [0.7, 0.7]}, {"A": 1.0, "D": [right, right * (1 + 1e-6)]})
    m = four_bar()
    q = system.assemble({"A": 0.7})
    for name, law in (("A", "0.7 + t"), ("D", f"{q['D']!r}")):
        i = next(i for i, joint in enumerate(m.joints) if joint.name == name)
        joint = m.joints[i]
        m.joints[i] = mt.model.elements.Joint(name, mt.Revolute("y", motion=law), joint.first, joint.second)
    with pytest.raises(mt.AssemblyError, match="prescribed motions of joints 'A', 'D' do not fit together"):
        m.build().assemble_many(guess={"B": [q["B"], q["B"]]})
