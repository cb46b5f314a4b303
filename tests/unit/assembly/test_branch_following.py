"""Sweeps stay on their branch: closed forms of linkages, ends of branches, change points, and what is no sweep."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import momentree as mt
from mechanisms import bennett, four_bar, four_bars_in_a_row, slider_crank
from parametric import linkage


@pytest.fixture(scope="module")
def system():
    return four_bar().build()


def rocker(lengths, A, turn):
    """The angle D of the rocker of a four-bar by the cosine rule; angles about y turn x towards -z."""
    a, b, c, d = lengths
    dx, dz = d - a * np.cos(A), a * np.sin(A)
    reach = np.hypot(dx, dz)
    inner = np.arccos(np.clip((reach**2 + c**2 - b**2) / (2 * reach * c), -1, 1))
    return -(np.arctan2(-dz, -dx) + turn * inner)


def on_one_branch(lengths, A, D):
    """Whether all angles of the rocker are those of one branch."""
    return any(np.abs(np.exp(1j * D) - np.exp(1j * rocker(lengths, A, turn))).max() < 1e-9 for turn in (1, -1))


@pytest.mark.parametrize("rows", [3, 13, 40, 700])
@pytest.mark.parametrize(("low", "high"), [(0, 2 * math.pi), (3, -8), (0.2, 2.6), (-12, 12)])
def test_a_crank_that_turns_stays_on_its_branch(system, rows, low, high):
    A = np.linspace(low, high, rows)
    states = system.assemble_many({"A": A}, {"A": 1.0})
    assert on_one_branch((1.0, 2.0, 2.0, 2.5), A, states.q[:, 2])
    assert (states.q[:, 0] == A).all()
    assert (states.branch == 0).all()
    for i in (0, 1, rows - 1):
        assert max(states[i].closure_error, states[i].closure_velocity) < 1e-12
        assert states.v[i, 0] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("seed", [3, 5, 13, 18, 21, 34])
def test_a_sweep_of_few_rows_is_a_part_of_one_of_many(seed):
    random = np.random.default_rng(seed)
    system = four_bar(tuple(random.uniform(0.5, 3, 4))).build()
    first = system.assemble(guess={"A": 1.0, "D": random.uniform(-3, 3)})
    end, rows = first["A"] + random.uniform(0.5, 8) * random.choice([-1, 1]), int(random.integers(3, 20))
    few, many = (
        system.assemble_many({"A": np.linspace(first["A"], end, n)}, guess=first, strict=False, follow=True)
        for n in (rows, 16 * (rows - 1) + 1)
    )
    there = few.branch == 0
    assert np.array_equal(there, many.branch[::16] == 0)
    assert there.sum() >= 9
    assert np.abs(few.q[there] - many.q[::16][there]).max() < 1e-9  # full turns too


def test_without_following_rows_are_those_of_assemble(system):
    # the documented four-bar: six of its 13 rows are on the branch of the others only if they are followed
    A = np.linspace(0, 2 * math.pi, 13)
    alone, followed = system.assemble_many({"A": A}, follow=False), system.assemble_many({"A": A})
    assert np.allclose(alone.q, [system.assemble({"A": each}).q for each in A], rtol=0, atol=1e-12)
    assert (alone.branch == -1).all()
    assert not on_one_branch((1.0, 2.0, 2.0, 2.5), A, alone.q[:, 2])
    assert on_one_branch((1.0, 2.0, 2.0, 2.5), A, followed.q[:, 2])


def test_rows_that_did_not_jump_keep_their_bits(system):
    A = np.linspace(0.2, 2.5, 50)
    alone, followed = (
        system.assemble_many({"A": A}, {"A": 1.0}, follow=False),
        system.assemble_many({"A": A}, {"A": 1.0}),
    )
    stayed = np.abs(alone.q - followed.q).max(axis=1) < 0.1
    assert stayed.sum() >= 45
    assert np.array_equal(alone.q[stayed], followed.q[stayed])
    assert np.array_equal(alone.v[stayed], followed.v[stayed])


def test_a_sweep_of_a_parameter_stays_on_its_branch():
    system = linkage().build(free=["a", "d"])
    d = np.linspace(2.9, 1.2, 60)
    states = system.assemble_many({"A": 0.4}, guess={"D": -2.0}, parameters={"d": d})
    D = states.q[:, 2]
    assert any(
        max(
            abs(np.exp(1j * x) - np.exp(1j * rocker((1.0, 2.0, 2.0, one), 0.4, turn)))
            for x, one in zip(D, d, strict=True)
        )
        < 1e-9
        for turn in (1, -1)
    )


def test_angles_go_on_without_full_turns(system):
    A = np.linspace(0, 4 * math.pi, 200)
    q = system.assemble_many({"A": A}).q
    assert np.abs(np.diff(q, axis=0)).max() < 0.3
    assert abs(q[-1, 1] - q[0, 1]) == pytest.approx(4 * math.pi, abs=1e-9)  # the coupler hinge turns with the crank


def test_what_a_joint_that_closes_a_loop_is_given_is_followed():
    C = np.linspace(0.9, 1.1, 7)
    states = linkage().build().assemble_many({"C": C}, guess={"A": 1.0, "B": 0.7, "D": 0.5})
    assert np.abs(np.diff(states.q, axis=0)).max() < 0.3
    assert (states.branch == 0).all()


def fold():
    """Two sliders with x = y^3 - 3 y: a branch for each y below -1, between, and above 1."""
    m = mt.Model("fold")
    for name in ("x", "y"):
        m.joint(name, mt.Prismatic(name), m.ground, m.body(f"b{name}", mt.box(mass=1.0, size=(1, 1, 1))))
    m.constrain("x - y^3 + 3*y")
    return m.build()


def test_where_a_branch_ends_rows_on_another_are_said():
    x = np.array([-4, -3, -1.9, -1, 0, 1, 1.9, 3, 4])  # the branch in between, on which y = 0 is, ends at x = 2 and -2
    with pytest.warns(mt.AssemblyWarning, match=r"no continuous motion leads to rows 2, 7 from the row before"):
        states = fold().assemble_many({"x": x})
    y = states.q[:, 1]
    assert (states.branch == np.digitize(x, [-2, 2])).all()
    assert (np.sign(y) * (np.abs(y) > 1) == np.digitize(x, [-2, 2]) - 1).all()


def test_a_sweep_may_begin_and_end_at_dead_centers():
    # the slider goes from r + l to l - r and the crank half round
    D = np.linspace(4.0, 2.0, 21)
    system = slider_crank().build()
    with pytest.warns(mt.AssemblyWarning, match="branches meet at row 0, at row 20"):
        states = system.assemble_many({"D": D}, guess=system.assemble({"A": 0.5}))
    assert (states.branch == 0).all()
    A = np.array([states[i]["A"] for i in range(21)])
    assert np.cos(A) == pytest.approx((D**2 + 1 - 9) / (2 * D), abs=1e-9)  # the cosine rule
    assert (np.diff(A) > 0.09).all()
    assert np.ptp(A) == pytest.approx(math.pi, abs=1e-6)


def test_a_wide_step_is_told_from_the_end_of_a_branch():
    # from x = -4 to 1.9 the branch bends as it comes near its end, but goes on
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        states = fold().assemble_many({"x": [-4.0, 1.9]}, guess={"y": -2.2}, follow=True)
    assert (states.branch == 0).all()
    assert states.q[1, 1] < -1


def test_rows_that_do_not_close_part_the_branches():
    A = np.linspace(-1.5, 1.5, 31)  # closes up to A = arccos((1 + 4 - 1.96) / 4) = 0.707
    states = four_bar((1.0, 0.7, 0.7, 2.0)).build().assemble_many({"A": np.r_[A, A]}, strict=False, follow=True)
    closed = np.abs(np.r_[A, A]) < math.acos((1 + 4 - 1.96) / 4)
    assert (np.isfinite(states.q).all(axis=1) == closed).all()
    assert (states.branch[~closed] == -1).all()
    assert (states.branch[closed] == np.repeat([0, 1], closed.sum() // 2)).all()


@pytest.mark.long
def test_rows_that_do_not_close_alone_are_reached_from_their_neighbours():
    m = mt.Model("gears")
    for name in ("alpha", "beta"):
        m.joint(name, mt.Revolute("z"), m.ground, m.body(f"wheel {name}", mt.cylinder(1.0, radius=0.1, length=0.02)))
    m.constrain("alpha - 40*beta")
    system = m.build()
    with pytest.raises(mt.AssemblyError):
        system.assemble({"beta": 4.5})  # 28 turns away
    states = system.assemble_many({"beta": [0, 1.5, 3.0, 4.5]})
    assert not any(states.reasons)
    assert states.q[:, 0] == pytest.approx(40 * states.q[:, 1])
    assert (states.branch == 0).all()


def test_rows_that_cannot_be_reached_are_refused_as_alone():
    system = four_bar((1.0, 0.7, 0.7, 2.0)).build()
    with pytest.raises(
        mt.AssemblyError, match=r"row 3: joint 'C': closes a loop, but cannot: .* The nearest that closes"
    ):
        system.assemble_many({"A": np.linspace(0, 2, 8)})


@pytest.mark.parametrize("guess", [{"D": 0.3}, {"D": -0.8}])
@pytest.mark.parametrize("A", [np.linspace(0.3, 6.0, 20), np.linspace(0.3, 0.3 + math.pi, 17), np.linspace(1, 6, 4)])
def test_change_points_are_said_and_passed_straight_on(guess, A):
    system = four_bar((1.0, 2.0, 1.0, 2.0)).build()  # it lies flat at A = pi: parallel and crossed cranks meet
    with pytest.warns(mt.AssemblyWarning, match=r"branches meet between rows \d+ and \d+ \(change points"):
        states = system.assemble_many({"A": A}, guess=system.assemble({"A": A[0]}, guess=guess))
    parallel = np.abs(np.exp(1j * states.q[:, 2]) - np.exp(1j * A)) < 1e-9
    assert parallel.all() or not parallel.any()
    assert parallel[0] == (guess["D"] > 0)
    assert (states.branch == 0).all()


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("rows", [12, 57])
def test_change_points_of_several_loops_at_once(count, rows):
    # posts that stay parallel, and lie flat at 90 and 270 degrees
    A = np.linspace(0.3, 6.0, rows)
    before = (np.searchsorted(A, [math.pi / 2, 3 * math.pi / 2]) - 1).tolist()
    told = ", ".join(f"between rows {k} and {k + 1}" for k in before)
    with pytest.warns(mt.AssemblyWarning, match=f"branches meet {told} "):
        states = four_bars_in_a_row(count).build().assemble_many({"G0": A})
    posts = np.array([[states[i][f"G{k}"] for k in range(count + 1)] for i in range(rows)])
    assert np.abs(posts - A[:, None]).max() < 1e-9


def test_a_row_at_a_change_point_is_passed_straight_on():
    system = four_bar((1.0, 2.0, 1.0, 2.0)).build()
    A = np.linspace(math.pi / 4, math.pi * 7 / 4, 13)
    with pytest.warns(mt.AssemblyWarning, match="branches meet at row 6 "):
        states = system.assemble_many({"A": A}, guess=system.assemble({"A": A[0]}, guess={"D": -0.8}))
    crossed = np.abs(np.exp(1j * states.q[:, 2]) - np.exp(1j * A)) > 1e-3
    assert (crossed == (np.arange(13) != 6)).all()


@pytest.mark.parametrize("model", [slider_crank(), bennett(), four_bar((1.0, 2.5, 2.0, 2.5))])
def test_sweeps_of_other_linkages_are_continuous(model):
    system = model.build()
    first = system.structure.joints[0]
    states = system.assemble_many({first: np.linspace(0.3, 5.9, 90)})
    steps = np.diff(states.q, axis=0)
    assert np.abs(steps).max() < 0.7
    assert np.abs(np.diff(steps, axis=0)).max() < 0.3
    assert (states.branch == 0).all()


def test_freedom_that_is_left_is_no_jump():
    m = mt.Model("five-bar")
    bars = [m.body(f"bar{i}", mt.rod(mass=1.0, length=1.0)) for i in range(4)]
    ends = [m.ground, *(bar.at((1, 0, 0)) for bar in bars)]
    for name, first, second in zip("ABCDE", ends, [*bars, m.ground.at((1.2, 0, 0))], strict=True):
        m.joint(name, mt.Revolute("z"), first, second)
    system, A = m.build(), np.linspace(0.5, 1.5, 25)
    states = system.assemble_many({"A": A}, guess={"B": -1.0, "C": -1.5})
    alone = system.assemble_many({"A": A}, guess={"B": -1.0, "C": -1.5}, follow=False)
    assert np.array_equal(states.q, alone.q)
    assert (states.branch == 0).all()


@pytest.mark.parametrize(
    ("given", "guess", "is_sweep"),
    [
        ({"A": np.linspace(0, 1, 9)}, None, True),
        ({"A": np.sort(np.random.default_rng(1).uniform(0.2, 2, 9))}, None, True),
        ({"A": 1 + 0.5 * np.sin(np.linspace(0, 6, 20))}, None, True),  # back and forth, in small steps
        ({"A": np.random.default_rng(1).uniform(0.2, 2, 9)}, None, False),
        ({"A": np.tile(np.linspace(0.2, 2, 5), 3)}, None, False),  # several sweeps, one after the other
        ({"A": np.full(5, 1.0)}, None, False),
        ({"A": np.linspace(0.2, 1, 5)}, {"D": np.linspace(1, 2, 5)}, False),  # each row has a guess of its own
    ],
)
def test_what_a_sweep_is(system, given, guess, is_sweep):
    states = system.assemble_many(given, guess=guess)
    assert (states.branch == (0 if is_sweep else -1)).all()
    assert (system.assemble_many(given, guess=guess, follow=not is_sweep).branch >= 0).all() != is_sweep


def test_one_row_and_none(system):
    assert system.assemble_many({"A": 0.5}, follow=True).branch.tolist() == [-1]
    assert system.assemble_many({"A": np.zeros(0)}, follow=True).branch.tolist() == []
