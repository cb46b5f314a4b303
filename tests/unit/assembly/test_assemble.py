"""Assembly: every loop closed to round-off, on the branch nearest to the guess, or a reason why not."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import momentree as mt
from mechanisms import (
    EVERY_JOINT,
    MOVING,
    bennett,
    bennett_off,
    delta_robot,
    four_bar,
    hexapod,
    joint_pair,
    random_loops,
    slider_crank,
)
from momentree.assembly.configuration import Configuration
from momentree.assembly.configuration_space import integrate
from momentree.assembly.scaled_constraints import Scales
from momentree.assembly.state import State
from momentree.simulate.start_checks import checked_start

ROUND_OFF = 1e-13


def test_four_bar_closes_to_round_off_in_position_and_rate():
    start = four_bar().build().assemble({"A": 1.0}, velocities={"A": 2.0})
    assert start["A"] == 1.0
    assert start.velocity("A") == pytest.approx(2.0, abs=1e-14)
    assert start.closure_error < 1e-14
    assert start.closure_velocity < 1e-13


def test_slider_crank_against_its_closed_form():
    # x = r cos a + sqrt(l^2 - r^2 sin^2 a); x' = -r a' (sin a + r sin a cos a / sqrt(l^2 - r^2 sin^2 a))
    a, w, r, l = 0.7, 3.0, 1.0, 3.0
    state = slider_crank().build().assemble({"A": a}, velocities={"A": w})
    root = math.sqrt(l * l - (r * math.sin(a)) ** 2)
    assert state["D"] == pytest.approx(r * math.cos(a) + root, abs=1e-14)
    speed = -r * w * (math.sin(a) + r * math.sin(a) * math.cos(a) / root)
    assert state.velocity("D") == pytest.approx(speed, abs=1e-13)


@pytest.mark.parametrize("closing", [kind for kind in EVERY_JOINT if kind != "Free"])
@pytest.mark.parametrize("seed", range(4))
def test_a_mechanism_torn_apart_a_little_closes_again(closing, seed):
    random = np.random.default_rng(seed)
    kinds = list(random.choice(MOVING, 4))
    m, q = random_loops(random, kinds, [closing])
    system = m.build()
    torn = integrate(system.mechanism, q, 0.15 * random.standard_normal(system.nv))
    start = system.assemble(guess=State(system.mechanism, torn, np.zeros(system.nv)))
    assert start.closure_error < ROUND_OFF * 10
    # it went to a near configuration, not to a far one
    assert np.abs(start.q - torn).max() < 2.0


def test_two_coupled_spatial_loops_close():
    random = np.random.default_rng(11)
    m, q = random_loops(
        random, ["Revolute", "Universal", "Spherical", "Cylindrical", "Free"], ["Revolute", "Universal"]
    )
    system = m.build()
    torn = integrate(system.mechanism, q, 0.2 * random.standard_normal(system.nv))
    assert system.assemble(guess=State(system.mechanism, torn, np.zeros(system.nv))).closure_error < ROUND_OFF * 10


def test_redundant_loops_close_to_round_off():
    assert bennett().build().assemble({"R1": 0.8}).closure_error < ROUND_OFF
    assert hexapod().build().assemble({}).closure_error < ROUND_OFF


def test_the_branch_nearest_to_the_guess_is_kept():
    system = four_bar().build()
    up, down = system.branches({"A": 1.0}, guess={"D": 1.5})
    # the triangle D, B, C by the cosine rule; an angle about y turns x towards -z
    dx, dz = 2.5 - math.cos(1.0), math.sin(1.0)
    to_B, half = math.atan2(-dz, -dx), math.acos(math.hypot(dx, dz) / 4)
    assert up["D"] == pytest.approx(-(to_B + half), abs=1e-13)
    assert math.remainder(down["D"] + to_B - half, 2 * math.pi) == pytest.approx(0, abs=1e-13)
    assert system.assemble({"A": 1.0}, guess={"D": 1.5})["D"] == pytest.approx(up["D"], abs=1e-12)
    other = system.assemble({"A": 1.0}, guess={"D": -2.4, "B": -2.2})["D"]
    assert other == pytest.approx(down["D"] - 2 * math.pi, abs=1e-12)  # the turn nearest to the guess, too
    assert system.assemble({"A": 1.0}, guess=down)["D"] == pytest.approx(down["D"], abs=1e-12)


def test_following_a_branch_round_and_round():
    # each start is the guess of the next, so the branch never changes: the coupler point's path is continuous
    system = four_bar((1.0, 2.5, 2.0, 2.5)).build()
    state = system.assemble({"A": 0.0}, guess={"D": 1.5})
    begin, last = state["C"], state["C"]
    for k in range(1, 121):
        state = system.assemble({"A": k * 2 * math.pi / 120}, guess=state)
        assert abs(state["C"] - last) < 0.2
        last = state["C"]
    assert last == pytest.approx(begin, abs=1e-12)


def test_a_coordinate_of_the_closing_joint_may_be_given():
    state = four_bar().build().assemble({"C": 1.0}, velocities={"C": 0.5})
    assert state["C"] == pytest.approx(1.0, abs=1e-13)
    assert state.velocity("C") == pytest.approx(0.5, abs=1e-13)
    assert state.closure_error < ROUND_OFF


def test_components_whole_joints_and_balls_may_be_given():
    m = mt.Model("buggy")
    hull = m.body("hull", mt.box(mass=2.0, size=(1, 1, 1)))
    arm = m.body("arm", mt.rod(mass=1.0, length=1.0, radius=0.1))
    m.joint("base", mt.Free(), m.ground, hull)
    m.joint("ball", mt.Spherical(), hull, arm)
    system = m.build()
    state = system.assemble(
        {"base.z": 1.5, "ball": (0, 0, 2, 2)}, velocities={"ball.wx": 3.0, "base": (1, 2, 3, 0, 0, 0.5)}
    )
    assert state["base"][2] == pytest.approx(1.5)
    assert state["ball"] == pytest.approx([0, 0, math.sqrt(0.5), math.sqrt(0.5)])
    assert state.velocity("ball") == pytest.approx([3, 0, 0])
    assert state.velocity("base") == pytest.approx([1, 2, 3, 0, 0, 0.5])


def test_a_given_height_of_a_floating_body_is_kept_while_its_loop_closes():
    m = mt.Model("platform on a strut")
    plate = m.body("plate", mt.box(mass=2.0, size=(1, 1, 0.1)))
    strut = m.body("strut", mt.rod(mass=1.0, length=2.0, radius=0.05, along="z"))
    m.joint("base", mt.Free(), m.ground, plate)
    m.joint("foot", mt.Spherical(), m.ground.at((1, 0, 0)), strut)
    m.joint("top", mt.Spherical(), strut.at((0, 0, 2)), plate)
    m.cut("top")
    state = m.build().assemble({"base.z": 1.2})
    x, y, z = state["base"][:3]
    assert z == pytest.approx(1.2, abs=1e-13)
    assert math.dist((x, y, z), (1, 0, 0)) == pytest.approx(2.0, abs=1e-13)


def test_prescribed_motion_drives_the_loop():
    m = four_bar()
    last = m.joints[0]
    m.joints[0] = type(last)(last.name, mt.Revolute("y", motion="1 + 2*t"), last.first, last.second)
    system = m.build()
    assert (system.nv, system.mobility) == (2, 0)
    driven, free = system.assemble(t=0.1), four_bar().build().assemble({"A": 1.2}, velocities={"A": 2.0})
    assert driven["A"] == pytest.approx(1.2)
    assert driven["D"] == pytest.approx(free["D"], abs=1e-12)
    assert driven.velocity("D") == pytest.approx(free.velocity("D"), abs=1e-12)


def test_the_rate_of_a_closing_joint_counts_what_prescribed_motion_adds():
    # a five-bar with one driven crank: give the velocity of the hinge where the loop is cut
    m = mt.Model("five-bar")
    bars = [m.body(f"bar{i}", mt.rod(mass=1.0, length=1.0)) for i in range(4)]
    m.joint("A", mt.Revolute("z", motion="2 + 3*t"), m.ground, bars[0])
    m.joint("B", mt.Revolute("z"), bars[0].at((1, 0, 0)), bars[1])
    m.joint("C", mt.Revolute("z"), bars[1].at((1, 0, 0)), bars[2])
    m.joint("D", mt.Revolute("z"), bars[2].at((1, 0, 0)), bars[3])
    m.joint("E", mt.Revolute("z"), bars[3].at((1, 0, 0)), m.ground.at((1.2, 0, 0)))
    m.cut("E")
    state = m.build().assemble(velocities={"E": 0.7})
    assert state.velocity("E") == pytest.approx(0.7, abs=1e-12)
    assert state.velocity("A") == 3.0
    assert state.closure_velocity < ROUND_OFF * 10
    # around a closed loop the turning adds up to nothing
    assert sum(state.velocity(name) for name in "ABCDE") == pytest.approx(0, abs=1e-12)


def test_angles_come_without_full_turns_unless_turns_matter():
    for state in four_bar().build().branches({"A": 1.0}):
        assert abs(state["D"]) <= math.pi
        assert abs(state["B"]) <= math.pi
    m = mt.Model("gears")
    for name in ("alpha", "beta"):
        m.joint(name, mt.Revolute("z"), m.ground, m.body(f"wheel {name}", mt.cylinder(1.0, radius=0.1, length=0.02)))
    m.constrain("alpha - 40*beta")
    assert m.build().assemble({"beta": 1.0})["alpha"] == pytest.approx(40.0)


def test_constraints_hold_in_the_assembled_state():
    m = mt.Model("gears and a rolling wheel")
    for name in ("alpha", "beta"):
        m.joint(name, mt.Revolute("z"), m.ground, m.body(f"wheel {name}", mt.cylinder(1.0, radius=0.1, length=0.02)))
    m.constrain("alpha + 2*beta - 0.1*t")
    state = m.build().assemble({"alpha": 0.5}, velocities={"alpha": 1.0}, t=2.0)
    assert state["beta"] == pytest.approx((0.2 - 0.5) / 2, abs=1e-15)
    assert state.velocity("beta") == pytest.approx((0.1 - 1.0) / 2, abs=1e-15)


def test_a_system_with_free_parameters_assembles_at_their_defaults():
    m = mt.Model("four-bar")
    length = m.parameter("length", 2.0)
    crank, coupler, rocker = (
        m.body(n, mt.rod(mass=1.0, length=l)) for n, l in (("a", 1.0), ("b", length), ("c", length))
    )
    m.joint("A", mt.Revolute("y"), m.ground, crank)
    m.joint("B", mt.Revolute("y"), crank.at((1.0, 0, 0)), coupler)
    m.joint("D", mt.Revolute("y"), m.ground.at((2.5, 0, 0)), rocker)
    m.joint("C", mt.Revolute("y"), coupler.at((length, 0, 0)), rocker.at((length, 0, 0)))
    free = m.build(free=["length"])
    assert free.mobility == 1
    assert free.assemble({"A": 1.0})["D"] == pytest.approx(four_bar().build().assemble({"A": 1.0})["D"], abs=1e-13)


# --- where it begins ---


def started(**start):
    m = four_bar()
    m.start_at(**start)
    return m.build()


def test_without_arguments_it_is_the_start_of_the_model_at_rest():
    system = started(coordinates={"A": 0.6}, velocities={"A": 1.0}, guess={"D": -2.0, "B": -2.0})
    start = system.start()
    assert start["D"] < 0
    assert np.array_equal(system.assemble().q, start.q)
    assert not system.assemble().v.any()
    assert np.array_equal(system.assemble_many().q, [start.q])


@pytest.mark.parametrize("guess", [{"D": -2.0, "B": -2.0}, {"D": 1.7, "B": 0.0}])
def test_coordinates_are_closed_near_the_start_of_the_model(guess):
    system = started(coordinates={"A": 0.6}, guess=guess)
    found = system.assemble({"A": 0.8})
    assert abs(found["D"] - system.start()["D"]) < 0.3
    for other in (system.start({"A": 0.8}), system.branches({"A": 0.8})[0], system.assemble_many({"A": [0.8]})[0]):
        assert other.q == pytest.approx(found.q, abs=1e-12)
    # what the caller gives goes before it
    assert system.assemble({"A": 0.8}, guess={"D": -guess["D"]})["D"] == pytest.approx(-guess["D"], abs=1.0)


def test_a_start_that_does_not_close_leaves_its_guess():
    system = started(coordinates={"A": 0.6, "D": 3.0}, guess={"B": -2.0})
    with pytest.raises(mt.AssemblyError, match="start"):
        system.start()
    assert system.assemble({"A": 0.8})["B"] == pytest.approx(
        four_bar().build().assemble({"A": 0.8}, guess={"B": -2.0})["B"]
    )


def limited(*limits):
    m = mt.Model("arm")
    arm = m.body("arm", mt.rod(mass=1.0, length=1.0, radius=0.1))
    m.parameter("low", limits[0])
    m.joint("A", mt.Revolute("y", limits=("low", limits[1])), m.ground, arm)
    return m


@pytest.mark.parametrize("limits", [(0.5, 2.0), (-3.0, -2.9), (0.1, math.inf), (-1.0, 1.0)])
def test_joints_begin_within_their_limits(limits):
    system = limited(*limits).build()
    A = system.assemble()["A"]
    assert limits[0] < A < limits[1]
    assert A == 0 or limits[0] * limits[1] > 0
    assert system.simulate(system.assemble(), t_end=0.01).end.reason == "arrived"
    low = np.array([limits[0], min(limits[0] + 0.05, limits[1] - 0.01)])
    many = limited(*limits).build(free=["low"]).assemble_many(parameters={"low": low})
    expected = [limited(one, limits[1]).build().assemble().q for one in low]
    assert many.q == pytest.approx(np.array(expected), abs=1e-15)


def test_many_begin_where_each_of_them_would():
    m = four_bar()
    m.parameter("turn", 0.6)
    m.start_at({"A": "turn"}, guess={"D": -2.0, "B": -2.0})
    system, turn = m.build(free=["turn"]), np.array([0.4, 1.1])
    many = system.assemble_many({"A": [0.5, 1.0]}, parameters={"turn": turn})
    for i, A in enumerate((0.5, 1.0)):
        assert many.q[i] == pytest.approx(system.assemble({"A": A}, parameters={"turn": turn[i]}).q, abs=1e-12)
        assert many.q[i, 2] < 0


# --- when it cannot ---


@pytest.mark.parametrize("count", [1, 2, 7])
def test_all_open_loops_are_counted_and_some_are_named(count):
    m = mt.Model("bars")
    for i in range(count):
        bars = [m.body(f"{name}{i}", mass=1.0, inertia=(1, 1, 1)) for name in ("left", "right")]
        for bar, x in zip(bars, (0.0, 2.0 + i), strict=True):
            m.joint(bar.name, mt.Revolute("y"), m.ground.at((x, i, 0)), bar)
        m.joint(f"C{i}", mt.Revolute("y"), m.bodies[-2].at((0.5, 0, 0)), m.bodies[-1].at((0.5, 0, 0)))
    with pytest.raises(mt.AssemblyError) as caught:
        m.build().assemble()
    told = str(caught.value)
    assert f"joint 'C{count - 1}': closes a loop, but cannot: closure error {count}" in told
    others = {
        1: "",
        2: "; 1 other loop stays open: 'C0'.",
        7: "; 6 other loops stay open: 'C0', 'C1', 'C2', 'C3' and 2 more.",
    }
    assert others[count] in told
    assert ("stay" in told) == (count > 1)


def test_a_loop_out_of_reach_names_itself_the_gap_and_the_nearest_way_to_close():
    # triangle inequality at B-D: |BD| = 1 + 2.5 > 0.7 + 0.7 at A = pi; at A = 0 it is 1.5 > 1.4
    system = four_bar((1.0, 0.7, 0.7, 2.3)).build()
    with pytest.raises(mt.AssemblyError) as caught:
        system.assemble({"A": 1.0})
    text = str(caught.value)
    closure_error = math.dist((math.cos(1), -math.sin(1)), (2.3, 0)) - 1.4
    assert f"joint 'C': closes a loop, but cannot: closure error {closure_error:.4g} m" in text
    assert "A=1" in text
    reach = math.acos((1 + 2.3**2 - 1.4**2) / (2 * 2.3))
    near = float(re.search(r"The nearest that closes has A=([-\d.]+\d)\.", text).group(1))
    assert 0.8 * reach < near <= reach + 1e-4


def test_a_loop_that_closes_nowhere_says_so():
    with pytest.raises(mt.AssemblyError, match=r"joint 'C'.*closure error 0\.9 m at best.*Check the lengths"):
        four_bar((1.0, 0.3, 0.3, 2.5)).build().assemble()
    with pytest.raises(mt.AssemblyError, match="No configuration closes it"):
        four_bar((1.0, 0.3, 0.3, 2.5)).build().assemble({"A": 0.1})


def test_too_much_given_is_told_apart_from_wrong_lengths():
    with pytest.raises(mt.AssemblyError, match="give fewer coordinates"):
        four_bar().build().assemble({"A": 1.0, "D": 0.3})


def test_rates_that_contradict_each_other():
    system = four_bar().build()
    with pytest.raises(mt.AssemblyError, match="A=1, D=5 do not fit together"):
        system.assemble({"A": 1.0}, velocities={"A": 1.0, "D": 5.0})


def test_branches_need_all_freedoms_given():
    with pytest.raises(mt.AssemblyError, match="continuum"):
        four_bar().build().branches()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"given": {"Q": 1.0}}, "given: there is no joint 'Q'. Choose 'A', 'B', 'D' or 'C'"),
        ({"given": {"A": float("nan")}}, "'A' is nan"),
        ({"given": {"A": (1.0, 2.0)}}, "expected 1 finite"),
        ({"given": {"A": "30 deg"}}, "given: 'A': an operator is missing"),
        ({"given": {"A": "30*dge"}}, "unknown name 'dge' in 'A' (only parameters are allowed here)"),
        ({"given": {"A": "t"}}, "'t' appears in 'A', which must be constant"),
        ({"given": {"A.x": 1.0}}, "the joint has no 'x'. Choose 'angle'"),
        ({"velocities": {"A": None}}, "velocities: 'A' is None"),
        ({"velocities": {"crank": 1.0}}, "velocities: there is no joint 'crank'"),
        ({"guess": {"B": float("inf")}}, "guess: 'B' is inf"),
    ],
)
def test_wrong_words_are_named(arguments, words):
    with pytest.raises(mt.MomentreeError) as caught:
        four_bar().build().assemble(**arguments)
    assert words in str(caught.value)


def test_a_quaternion_of_zero_length_or_in_parts_is_refused():
    m = mt.Model("ball")
    m.joint("ball", mt.Spherical(), m.ground, m.body("b", mt.sphere(mass=1.0, radius=1.0)))
    system = m.build()
    with pytest.raises(mt.MomentreeError, match="zero length"):
        system.assemble({"ball": (0, 0, 0, 0)})
    with pytest.raises(mt.MomentreeError, match="give all of qx, qy, qz, qw"):
        system.assemble({"ball.qx": 0.5})


def test_a_state_reads_by_name_and_prints_units():
    state = four_bar().build().assemble({"A": 1.0})
    assert " 1 rad, velocity 0 rad/s" in str(state)
    assert "largest closure error" in str(state)
    with pytest.raises(mt.MomentreeError, match="Did you mean 'A'"):
        state["a"]


def test_position_of_a_frame():
    m = four_bar()
    system = m.build()
    state = system.assemble({"A": 1.0})
    crank, coupler, rocker = m.bodies
    assert system.position(state, crank.at((1, 0, 0))) == pytest.approx([math.cos(1), 0, -math.sin(1)], abs=1e-15)
    ends = [system.position(state, frame) for frame in (coupler.at((2, 0, 0)), rocker.at((2, 0, 0)))]
    assert ends[0] == pytest.approx(ends[1], abs=1e-14)
    assert system.position(state.q, "ground") == pytest.approx([0, 0, 0])
    with pytest.raises(mt.ModelError, match="Did you mean 'rocker'"):
        system.position(state, "rokcer")


# --- sizes, places and tolerances ---


@pytest.mark.parametrize(("scale", "far"), [(1, 0), (1e-7, 0), (1e5, 0), (1, 5e6)])
@pytest.mark.parametrize("kind", ["Revolute", "Prismatic", "Cylindrical", "Screw"])
def test_what_is_closed_comes_back_unchanged(kind, scale, far):
    for seed in range(10):
        system = joint_pair(kind, np.random.default_rng(seed), scale, far).build()
        assert (system.assemble().q == 0).all(), seed


@pytest.mark.long
@pytest.mark.parametrize("scale", [1e-7, 1e-3, 1e5])
def test_mechanisms_of_any_size_close_alike(scale):
    usual = bennett().build().assemble({"R1": 0.8}, velocities={"R1": 2.0})
    start = bennett_off(scale=scale).build().assemble({"R1": 0.8}, velocities={"R1": 2.0})
    np.testing.assert_allclose(start.q, usual.q, rtol=0, atol=1e-13)
    np.testing.assert_allclose(start.v, usual.v, rtol=0, atol=1e-12)
    with pytest.raises(mt.AssemblyError, match="closure error"):
        bennett_off(length=0.1 * scale, scale=scale).build().assemble({"R1": 0.8})


def test_far_from_the_origin_loops_close_as_well():
    m = mt.Model("four-bar on the other side of the earth")
    x = 5e6
    crank, coupler, rocker = (m.body(n, mt.rod(mass=1.0, length=l)) for n, l in (("a", 1.0), ("b", 2.0), ("c", 2.0)))
    m.joint("A", mt.Revolute("y"), m.ground.at((x, x, 0)), crank)
    m.joint("B", mt.Revolute("y"), crank.at((1, 0, 0)), coupler)
    m.joint("D", mt.Revolute("y"), m.ground.at((x + 2.5, x, 0)), rocker)
    m.joint("C", mt.Revolute("y"), coupler.at((2, 0, 0)), rocker.at((2, 0, 0)))
    system = m.build()
    start = system.assemble({"A": 1.0}, velocities={"A": 1.0})
    assert start.closure_error < ROUND_OFF
    np.testing.assert_allclose(start.q, four_bar().build().assemble({"A": 1.0}).q, rtol=0, atol=1e-13)
    # a start that is open by 3 cm is none
    open_q = start.q + np.array([0.0, 0.02, 0.0])
    with pytest.raises(mt.MomentreeError, match=r"does not close 'C: .*: closure error 0\.0"):
        system.simulate(State(system.mechanism, open_q, 0 * start.v), t_end=0.01)


@pytest.mark.parametrize("off", [{"length": 1e-10}, {"length": 1e-6}, {"axis": 1e-6}])
def test_redundant_constraints_stay_open_within_the_tolerance_and_are_not_chased(off):
    (error,) = off.values()
    system = bennett_off(**off).build()
    start = system.assemble({"R1": 0.8}, velocities={"R1": 1.0})
    assert (start["R1"], start.velocity("R1")) == (0.8, pytest.approx(1.0, abs=1e-12))
    assert 0.1 * error < start.closure_error < 2 * error
    # what motions could close is closed to round-off
    rows = Scales(system.mechanism).scaled(Configuration(system.mechanism, start.q))
    closure_errors = rows.scaled(Configuration(system.mechanism, start.q).closure_errors())
    assert np.abs(rows.directions[:, :2].T @ closure_errors).max() < 1e-6 * np.abs(closure_errors).max() + 1e-15
    # and from there nothing slides on along the motion
    np.testing.assert_allclose(system.assemble(guess=start).q, start.q, rtol=0, atol=1e-12)
    # such a start may be simulated
    checked_start(start.mechanism, start)  # it carries the tolerance


def test_assembly_may_be_given_a_tolerance_of_its_own():
    system = bennett_off(length=1e-4).build()
    start = system.assemble({"R1": 0.8}, velocities={"R1": 1.0}, tolerance=1e-3)
    assert 1e-5 < start.closure_error < 2e-4
    assert start["R1"] == 0.8
    checked_start(start.mechanism, start)  # it carries the tolerance


# --- guesses and toggles ---


@pytest.mark.parametrize("angle", [-0.3, 0.0, 0.3, 0.8])
def test_what_was_not_guessed_is_no_guess_of_zero(angle):
    system = delta_robot().build()
    start = system.assemble(guess={f"M{i}": angle for i in range(3)})
    assert [start[f"M{i}"] for i in range(3)] == pytest.approx([angle] * 3, abs=1e-12)
    assert start.closure_error < ROUND_OFF
    assert system.assemble(guess={"M1": angle})["M1"] == pytest.approx(angle, abs=1e-12)


def test_a_joint_that_closes_a_loop_may_be_guessed():
    system = four_bar().build()
    up, down = system.branches({"A": 1.0})
    for branch in (up, down):
        found = system.assemble({"A": 1.0}, guess={"C": branch["C"] + 0.2})
        assert math.remainder(found["D"] - branch["D"], 2 * math.pi) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("angle", [1e-3, 1e-6, 1e-9, 1e-11])
@pytest.mark.parametrize("sign", [1, -1])
def test_near_a_toggle_the_motion_asked_for_is_kept(angle, sign):
    # a parallelogram, flat at 0, goes on as one (B = -A, D = A) or crossed, at first with B = D = -3 A:
    # A + 2 (A + B) = D and A^2 + 2 (A + B)^2 = D^2
    system = four_bar((1.0, 2.0, 1.0, 2.0)).build()
    tangent = {"A": 1.0, "B": -1.0, "D": 1.0} if sign > 0 else {"A": 1.0, "B": -3.0, "D": -3.0}
    start = system.assemble({"A": angle}, velocities={"A": 1.0}, guess={j: angle * x for j, x in tangent.items()})
    assert start["A"] == angle
    assert [start.velocity(joint) for joint in tangent] == pytest.approx(
        [*tangent.values()], abs=max(1e-6, 10 * angle**2)
    )
    assert start.closure_velocity < 1e-12


def test_a_saddle_between_two_branches_is_not_taken_for_closed():
    # there the closure error, 1e-6 m, is within the tolerance and no small step makes it less; it closes on either side
    system = four_bar((1.0, 2.0, 1.0, 2.0)).build()
    start = system.assemble({"A": 1e-3}, guess={"B": -2e-3, "D": -1e-3})
    assert start.closure_error < ROUND_OFF


@pytest.mark.parametrize("angle", [1e-9, 0.0])
def test_at_a_toggle_an_ambiguous_motion_is_refused_and_one_that_is_said_is_kept(angle):
    system = four_bar((1.0, 2.0, 1.0, 2.0)).build()
    with pytest.raises(mt.AssemblyError, match=r"toggle.*ambiguous\. Give one velocity more, of B' or D'"):
        system.assemble({"A": angle}, velocities={"A": 1.0})
    start = system.assemble({"A": angle}, velocities={"A": 1.0, "B": -1.0})
    assert [start.velocity(name) for name in "ABD"] == pytest.approx([1, -1, 1], abs=1e-8)
    assert not system.assemble({"A": angle}).v.any()


@pytest.mark.parametrize("joint", [mt.Fixed(), mt.Revolute((1, 2, 3), motion="0.3*sin(t)")])
def test_round_off_of_prescribed_motion_does_not_open_redundant_joints(joint):
    m = mt.Model("held twice")
    m.ground.moves(("sin(3*t)", "0.7*cos(2*t)", "t"), ("t", "0.4*t", "sin(t)"))
    door = m.body("door", mass=1.0, inertia=(1, 1, 1))
    other = joint if joint.kind == "Fixed" else mt.Revolute((1, 2, 3))
    for i, at in enumerate(((0.1, 0.3, -0.2), (0.1 + 0.7, 0.3 + 1.4, -0.2 + 2.1))):
        m.joint(f"held{i}", (joint, other)[i], m.ground.at(at), door.at(at))
    system = m.build()
    for t in np.linspace(0.1, 3.0, 30):
        assert system.assemble(t=float(t)).closure_velocity < 1e-14


@pytest.mark.parametrize(
    "text", ["tip.x*tip.y + 0.3*tip.z = {}", "tip.x*tip.y' + 0.3*tip.z' - tip.wx + 0.2*tip.wy = 0"]
)
def test_round_off_of_a_moving_ground_does_not_open_constraints_on_frames(text):
    """At rest as seen from the ground: the velocity of the frame is round-off of that of the ground."""
    for seed in range(20):
        random = np.random.default_rng(seed)
        m = mt.Model("carried along")
        m.ground.moves(tuple(f"{v}*t" for v in random.uniform(-3, 3, 3)), tuple(random.uniform(-3, 3, 3)))
        arm, p = m.body("arm", mass=1.0, inertia=(1, 1, 1)), random.uniform(-1, 1, 3)
        m.joint("ball", mt.Spherical(), m.ground, arm)
        m.frame("tip", arm.at(p))
        m.constrain(text.format(p[0] * p[1] + 0.3 * p[2]))
        start = m.build().assemble({"ball": (0, 0, 0, 1)}, velocities={"ball": (0, 0, 0)}, t=1.0)
        assert np.abs(start.v).max() < 1e-14
